#include "memory/parcel.hpp"

#include <cstring>
#include <numeric>

#include <gtest/gtest.h>

#include "type/layout.hpp"

namespace dunnage::memory {
namespace {

// One byte of two, so that a byte in the wrong place shows.
std::shared_ptr<const pack::Program> every_other(std::int64_t size) {
  const auto byte = type::named("byte", {{0, 1}}, 1, 1);
  return std::make_shared<const pack::Program>(type::layout_of(*type::vector(size, 1, 2, byte)), 1);
}

class Sizes : public testing::TestWithParam<std::int64_t> {};

TEST_P(Sizes, DividedOrNotTheBytesAreTheSame) {
  const auto size = GetParam();
  const auto shared = every_other(size);
  std::vector<unsigned char> user(static_cast<std::size_t>(2 * size));
  std::iota(user.begin(), user.end(), static_cast<unsigned char>(1));
  StagingPool pool(1 << 20);
  for (const auto first : {size, Parcel::middle(size)}) {
    Parcel parcel{pool.take(size + Parcel::gap), size, first};
    std::memset(parcel.data(), 0, static_cast<std::size_t>(size + Parcel::gap));
    parcel.gather(Buffer(shared, user.data()), size);
    for (std::int64_t i = 0; i < size; ++i)
      ASSERT_EQ(static_cast<unsigned char>(parcel.data()[i < first ? i : i + Parcel::gap]),
                user[static_cast<std::size_t>(2 * i)]);
    for (std::int64_t i = first; parcel.divided() && i < first + Parcel::gap; ++i) {
      ASSERT_EQ(parcel.data()[i], 0) << "wrote into the gap";
    }
    for (const auto arrived : {std::int64_t{0}, first / 2, first, (first + size) / 2, size, size + 9}) {
      std::vector<unsigned char> back(user.size(), 0);
      parcel.deliver(Buffer(shared, back.data()), arrived);
      for (std::int64_t i = 0; i < size; ++i) {
        ASSERT_EQ(back[static_cast<std::size_t>(2 * i)], i < arrived ? user[static_cast<std::size_t>(2 * i)] : 0);
        ASSERT_EQ(back[static_cast<std::size_t>(2 * i + 1)], 0);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Parcel, Sizes, testing::Values(2, 3, 127, 256, 257, 5000, 70001));

TEST(Parcel, BothPartsHaveSome) {
  for (std::int64_t size = 2; size < 2000; ++size) {
    ASSERT_GT(Parcel::middle(size), 0);
    ASSERT_LT(Parcel::middle(size), size);
  }
}

}  // namespace
}  // namespace dunnage::memory
