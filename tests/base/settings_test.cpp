#include "base/settings.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <set>

using namespace dunnage::base;

namespace {

struct Read {
  Settings settings;
  std::vector<std::string> complaints;

  explicit Read(std::initializer_list<const char*> entries) {
    std::vector<const char*> env(entries);
    env.push_back(nullptr);
    settings = Settings::from_environment(env.data(), complaints);
  }
};

}  // namespace

TEST(Settings, Defaults) {
  const Read read{"PATH=/bin", "DUNNAGEX=1", "DUNNAGE_FORCE", "DUNNAGE_SIMD="};
  EXPECT_TRUE(read.complaints.empty());
  EXPECT_TRUE(read.settings.enabled);
  EXPECT_EQ(read.settings.report, Output{});
  EXPECT_EQ(read.settings.force, Force::automatic);
  EXPECT_EQ(read.settings.staging_limit, std::uint64_t{1} << 30);
  EXPECT_EQ(read.settings.staging_pool, std::uint64_t{256} << 20);
  EXPECT_EQ(read.settings.simd, Simd::automatic);
  EXPECT_EQ(read.settings.home, "");
}

TEST(Settings, NoEnvironment) {
  std::vector<std::string> complaints;
  EXPECT_TRUE(Settings::from_environment(nullptr, complaints).enabled);
  EXPECT_TRUE(complaints.empty());
}

TEST(Settings, EveryKind) {
  const Read read{"DUNNAGE=off",       "DUNNAGE_REPORT=out.json", "DUNNAGE_FORCE=always", "DUNNAGE_STAGING_LIMIT=64K",
                  "DUNNAGE_SIMD=avx2", "DUNNAGE_STAGING_POOL=0",  "DUNNAGE_HOME=/opt/a=b"};
  EXPECT_TRUE(read.complaints.empty());
  EXPECT_FALSE(read.settings.enabled);
  EXPECT_EQ(read.settings.report, (Output{Output::file, "out.json"}));
  EXPECT_EQ(read.settings.force, Force::always);
  EXPECT_EQ(read.settings.staging_limit, 64u * 1024);
  EXPECT_EQ(read.settings.staging_pool, 0u);
  EXPECT_EQ(read.settings.simd, Simd::avx2);
  EXPECT_EQ(read.settings.home, "/opt/a=b");
}

TEST(Settings, BadValueKeepsTheDefaultAndNamesTheAllowed) {
  const Read read{"DUNNAGE_FORCE=sometimes", "DUNNAGE_STAGING_LIMIT=lots"};
  EXPECT_EQ(read.settings.force, Force::automatic);
  EXPECT_EQ(read.settings.staging_limit, std::uint64_t{1} << 30);
  ASSERT_EQ(read.complaints.size(), 2u);
  EXPECT_EQ(read.complaints[0],
            "DUNNAGE_FORCE=sometimes: not an allowed value; allowed: auto, always, never; using the default, auto");
  EXPECT_EQ(read.complaints[1],
            "DUNNAGE_STAGING_LIMIT=lots: not an allowed value; allowed: a number of bytes, for example 64KiB or "
            "1M (powers of 1024); using the default, 1G");
}

TEST(Settings, UnknownNameSuggestsTheNearest) {
  const Read read{"DUNNAGE_FROCE=always", "DUNNAGE_STAGING=1G", "DUNNAGE_COFFEE=black"};
  EXPECT_EQ(read.settings.force, Force::automatic);
  ASSERT_EQ(read.complaints.size(), 3u);
  EXPECT_EQ(read.complaints[0], "DUNNAGE_FROCE: there is no such setting, it is ignored (did you mean DUNNAGE_FORCE?)");
  EXPECT_NE(read.complaints[1].find("the settings are DUNNAGE, DUNNAGE_REPORT,"), std::string::npos);
  EXPECT_EQ(read.complaints[2].find("did you mean"), std::string::npos);
}

TEST(Settings, AComplaintIsOneShortLine) {
  const std::string entry = "DUNNAGE_SIMD=a\nb\x1b[31m" + std::string(5000, 'x');
  const Read read{entry.c_str()};
  ASSERT_EQ(read.complaints.size(), 1u);
  EXPECT_EQ(read.complaints[0].find_first_of("\n\x1b"), std::string::npos);
  EXPECT_LT(read.complaints[0].size(), 300u);
}

TEST(Settings, TheTableAgreesWithTheFields) {
  const Settings defaults;
  std::set<std::string_view> names;
  for (const Setting& setting : setting_table()) {
    EXPECT_TRUE(names.insert(setting.name).second) << setting.name;
    EXPECT_EQ(setting.show(defaults), setting.fallback) << setting.name;
    EXPECT_FALSE(setting.doc.empty()) << setting.name;
    if (setting.fallback.empty()) continue;
    Settings parsed;
    EXPECT_TRUE(setting.parse(parsed, setting.fallback)) << setting.name;
    EXPECT_EQ(setting.show(parsed), setting.fallback) << setting.name;
  }
}
