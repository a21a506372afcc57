#include "base/recycled.hpp"

#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace dunnage::base {
namespace {

struct Small : Recycled<Small, 4> {
  explicit Small(int v) : value(v) {}
  int value;
};
struct Larger : Small {
  Larger() : Small(7) {}
  char more[100]{};
};

TEST(Recycled, ObjectsKeepTheirValues) {
  std::vector<std::unique_ptr<Small>> all;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 10; ++i) all.push_back(std::make_unique<Small>(i));
    for (int i = 0; i < 10; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)]->value, i);
    all.clear();
  }
}

#if !defined(__SANITIZE_ADDRESS__)
TEST(Recycled, MemoryIsUsedAgain) {
  auto first = std::make_unique<Small>(1);
  const void* const at = first.get();
  first.reset();
  EXPECT_EQ(std::make_unique<Small>(2).get(), at);
}
#endif

TEST(Recycled, AnObjectOfAnotherSizeHasMemoryOfItsOwn) {
  std::make_unique<Small>(1).reset();
  const auto larger = std::make_unique<Larger>();
  const auto small = std::make_unique<Small>(2);
  EXPECT_NE(static_cast<const void*>(larger.get()), small.get());
  EXPECT_EQ(larger->value, 7);
}

TEST(Recycled, AnotherThreadMayDestroyAnObject) {
  auto object = std::make_unique<Small>(3);
  std::thread([&] { object.reset(); }).join();
  EXPECT_EQ(std::make_unique<Small>(4)->value, 4);
}

}  // namespace
}  // namespace dunnage::base
