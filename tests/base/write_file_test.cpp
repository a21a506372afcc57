#include "base/write_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

namespace dunnage::base {
namespace {

class WriteFile : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/write_file_test.XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    path_ = folder_ + "/file";
  }
  void TearDown() override {
    unlink(path_.c_str());
    rmdir(folder_.c_str());
  }
  void make_pipe() const { ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0); }
  std::string read_all() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string folder_, path_;
  const std::string large_ = std::string(1 << 20, 'x');  // more than a pipe holds
};

TEST_F(WriteFile, ReplacesWhatWasThere) {
  EXPECT_TRUE(write_file(path_, large_));
  EXPECT_TRUE(write_file(path_, "text"));
  EXPECT_EQ(read_all(), "text");
}

TEST_F(WriteFile, WithoutAFolderOrRoomItFails) {
  EXPECT_FALSE(write_file(folder_ + "/missing/file", "text"));
  EXPECT_FALSE(write_file(folder_, "text"));
  EXPECT_FALSE(write_file("/dev/full", "text"));
}

TEST_F(WriteFile, LinksAreFollowedThatOthersCannotReplace) {
  const auto link = folder_ + "/link";
  ASSERT_TRUE(write_file(path_, "before"));
  ASSERT_EQ(symlink(path_.c_str(), link.c_str()), 0);
  const auto follows = [&](mode_t mode) {
    EXPECT_EQ(chmod(folder_.c_str(), mode), 0);
    EXPECT_TRUE(write_file(path_, "before"));
    const bool written = write_file(link, "after");
    EXPECT_EQ(read_all(), written ? "after" : "before");
    return written;
  };
  EXPECT_TRUE(follows(0700));
  EXPECT_TRUE(follows(01777));
  EXPECT_FALSE(follows(0777));
  EXPECT_FALSE(follows(0770));
  if (geteuid() == 0) {
    constexpr uid_t nobody = 65534;
    ASSERT_EQ(lchown(link.c_str(), nobody, nobody), 0);
    EXPECT_FALSE(follows(01777)) << "another user's link";
  }
  unlink(link.c_str());
}

TEST_F(WriteFile, APipeIsReadWhileItIsWritten) {
  make_pipe();
  const int reader = open(path_.c_str(), O_RDONLY | O_NONBLOCK);
  std::string read;
  std::thread thread([&] {
    char bytes[4096];
    for (;;) {
      const auto n = ::read(reader, bytes, sizeof bytes);
      if (n > 0) read.append(bytes, static_cast<std::size_t>(n));
      if (read.size() == large_.size()) return;
      std::this_thread::yield();
    }
  });
  EXPECT_TRUE(write_file(path_, large_, std::chrono::minutes(1)));
  thread.join();
  EXPECT_EQ(read, large_);
  close(reader);
}

TEST_F(WriteFile, APipeThatNobodyReadsFails) {
  make_pipe();
  EXPECT_FALSE(write_file(path_, "text"));
  const int reader = open(path_.c_str(), O_RDONLY | O_NONBLOCK);
  EXPECT_FALSE(write_file(path_, large_, std::chrono::milliseconds(10)));  // the reader does not read
  close(reader);
}

TEST_F(WriteFile, AReaderThatGoesAwaySendsNoSignal) {
  make_pipe();
  const int reader = open(path_.c_str(), O_RDONLY | O_NONBLOCK);
  std::thread thread([&] {
    char byte;
    while (::read(reader, &byte, 1) != 1) std::this_thread::yield();
    close(reader);
  });
  EXPECT_FALSE(write_file(path_, large_, std::chrono::minutes(1)));
  thread.join();
}

TEST(NoSigpipe, ASignalOfTheProgramsOwnStays) {
  sigset_t set, before;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &set, &before), 0);
  pthread_kill(pthread_self(), SIGPIPE);
  { const NoSigpipe guard; }
  sigpending(&set);
  EXPECT_EQ(sigismember(&set, SIGPIPE), 1);
  int caught = 0;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  EXPECT_EQ(sigwait(&set, &caught), 0);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace
}  // namespace dunnage::base
