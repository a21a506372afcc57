// Which instruction sets Highway's dispatch may choose from.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <hwy/targets.h>

namespace {

using Targets = decltype(hwy::SupportedTargets());

TEST(Targets, AreThoseOfHighwaysLibrary) {
  void* library = dlopen("libhwy.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) GTEST_SKIP() << "no libhwy.so.1 here";
  const auto theirs = reinterpret_cast<Targets (*)()>(dlsym(library, "_ZN3hwy16SupportedTargetsEv"));
  ASSERT_NE(theirs, nullptr);
  // A later version may know more sets than the headers that this was compiled with.
  EXPECT_EQ(hwy::SupportedTargets() & HWY_TARGETS, theirs() & HWY_TARGETS)
      << hwy::SupportedTargets() << " and " << theirs();
}

TEST(Targets, CanBeDisabledButForTheBaseline) {
  const auto all = hwy::SupportedTargets();
  hwy::DisableTargets(HWY_AVX3 | HWY_AVX3_DL);
  EXPECT_EQ(hwy::SupportedTargets(), all & ~Targets{HWY_AVX3 | HWY_AVX3_DL});
  hwy::DisableTargets(~Targets{0});
  EXPECT_EQ(hwy::SupportedTargets() & ~Targets{HWY_ENABLED_BASELINE}, 0);
  EXPECT_NE(hwy::SupportedTargets(), 0);
  hwy::DisableTargets(0);
  EXPECT_EQ(hwy::SupportedTargets(), all);
}

}  // namespace
