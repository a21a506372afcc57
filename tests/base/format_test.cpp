#include "base/format.hpp"

#include <gtest/gtest.h>

using namespace dunnage::base;

TEST(Format, Bytes) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(4096), "4 KiB");
  EXPECT_EQ(format_bytes(1500), "1.46 KiB");
  EXPECT_EQ(format_bytes(1023 * 1024), "1023 KiB");
  EXPECT_EQ(format_bytes(std::uint64_t{3} << 40), "3 TiB");
  EXPECT_EQ(format_bytes(~std::uint64_t{0}), "16 EiB");
}

TEST(Format, Seconds) {
  EXPECT_EQ(format_seconds(0), "0 s");
  EXPECT_EQ(format_seconds(5e-8), "50 ns");
  EXPECT_EQ(format_seconds(1.25e-5), "12.5 us");
  EXPECT_EQ(format_seconds(0.25), "250 ms");
  EXPECT_EQ(format_seconds(90), "90 s");
  EXPECT_EQ(format_seconds(4000), "4000 s");
}

TEST(Format, Rate) {
  EXPECT_EQ(format_rate(1.25e10), "12.5 GB/s");
  EXPECT_EQ(format_rate(3.3e7), "33 MB/s");
  EXPECT_EQ(format_rate(5e3), "5 kB/s");
}

TEST(Format, SizeSettingIsExact) {
  EXPECT_EQ(format_size_setting(0), "0");
  EXPECT_EQ(format_size_setting(1023), "1023");
  EXPECT_EQ(format_size_setting(1024), "1K");
  EXPECT_EQ(format_size_setting(1536), "1536");
  EXPECT_EQ(format_size_setting(std::uint64_t{256} << 20), "256M");
  EXPECT_EQ(format_size_setting(std::uint64_t{1} << 30), "1G");
}

TEST(Format, OneLineOfWhatOthersWrote) {
  EXPECT_EQ(one_line("a\nb\x1b[2J"), "a?b?[2J");
  EXPECT_EQ(one_line(std::string(100, 'x')), std::string(80, 'x') + "...");
  EXPECT_EQ(one_line(std::string(99, 'x') + '\n', longest_path), std::string(99, 'x') + "?");
}
