#include "base/read_file.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

namespace dunnage::base {
namespace {

TEST(ReadFile, AllOfAFileOfAnyLength) {
  char name[] = "/tmp/read_file_test.XXXXXX";
  const int file = mkstemp(name);
  ASSERT_GE(file, 0);
  close(file);
  for (const std::size_t length : {0, 1, 4095, 4096, 4097, 100000}) {
    std::string text(length, 'a');
    for (std::size_t i = 0; i < length; ++i) text[i] = static_cast<char>(i % 251);
    std::ofstream(name, std::ios::binary) << text;
    EXPECT_EQ(read_file(name), text) << length;
  }
  unlink(name);
}

TEST(ReadFile, AFileThatDoesNotSayHowLongItIs) {
  EXPECT_TRUE(read_file("/proc/self/stat").starts_with(std::to_string(getpid()) + ' '));
}

TEST(ReadFile, NothingWhereNothingCanBeRead) {
  EXPECT_EQ(read_file("/nowhere/file"), "");
  EXPECT_EQ(read_file("/proc"), "") << "a folder";
}

}  // namespace
}  // namespace dunnage::base
