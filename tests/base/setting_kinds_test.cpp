#include "base/setting_kinds.hpp"

#include <gtest/gtest.h>

using namespace dunnage::base;

TEST(SettingKinds, Flag) {
  bool on = false;
  for (auto text : {"on", "1", "true", "yes"}) EXPECT_TRUE(parse_flag(text, on) && on) << text;
  for (auto text : {"off", "0", "false", "no"}) EXPECT_TRUE(parse_flag(text, on) && !on) << text;
  on = true;
  for (auto text : {"", "2", "ON ", "offf"}) EXPECT_FALSE(parse_flag(text, on)) << text;
  EXPECT_TRUE(on);
}

TEST(SettingKinds, Size) {
  const std::pair<const char*, std::uint64_t> good[] = {{"0", 0},
                                                        {"17", 17},
                                                        {"1K", 1024},
                                                        {"1k", 1024},
                                                        {"64KiB", 64 << 10},
                                                        {"1MiB", 1 << 20},
                                                        {"3M", 3 << 20},
                                                        {"2G", std::uint64_t{2} << 30},
                                                        {"5T", std::uint64_t{5} << 40},
                                                        {"18446744073709551615", ~std::uint64_t{0}}};
  for (auto [text, expected] : good) {
    std::uint64_t size = 99;
    EXPECT_TRUE(parse_size(text, size)) << text;
    EXPECT_EQ(size, expected) << text;
    std::uint64_t again = 99;
    EXPECT_TRUE(parse_size(show_size(size), again)) << text;
    EXPECT_EQ(again, size) << text;
  }
  for (auto text :
       {"", "K", "-1", "+1", "1.5G", "1GB", "1Gib", "1iB", "1B", "1 G", "0x10", "18446744073709551616", "16777216T"}) {
    std::uint64_t size = 99;
    EXPECT_FALSE(parse_size(text, size)) << text;
    EXPECT_EQ(size, 99u) << text;
  }
}

TEST(SettingKinds, Count) {
  int count = 99;
  for (auto text : {"", "0", "-1", "1025", "2x", " 2", "1K", "99999999999"})
    EXPECT_FALSE(parse_count(text, count)) << text;
  EXPECT_EQ(count, 99);
  EXPECT_TRUE(parse_count("1024", count));
  EXPECT_EQ(show_count(count), "1024");
}

TEST(SettingKinds, Output) {
  Output to;
  EXPECT_TRUE(parse_output("1", to));
  EXPECT_EQ(to, (Output{Output::text, ""}));
  EXPECT_TRUE(parse_output("report.json", to));
  EXPECT_EQ(to, (Output{Output::file, "report.json"}));
  EXPECT_TRUE(parse_output("/tmp/report", to));
  EXPECT_EQ(to, (Output{Output::file, "/tmp/report"}));
  EXPECT_FALSE(parse_output("report", to));
  EXPECT_FALSE(parse_output("2", to));
  EXPECT_EQ(show_output(to), "/tmp/report");
  EXPECT_TRUE(parse_output("off", to));
  EXPECT_EQ(to, Output{});
  EXPECT_EQ(show_output(to), "0");
}

TEST(SettingKinds, Enum) {
  enum class Colour { red, green };
  constexpr std::string_view names[] = {"red", "green"};
  Colour colour = Colour::red;
  EXPECT_TRUE(parse_enum("green", colour, names));
  EXPECT_EQ(colour, Colour::green);
  EXPECT_FALSE(parse_enum("Green", colour, names));
  EXPECT_EQ(show_enum(colour, names), "green");
}
