#include "base/siphash.hpp"

#include <string>

#include <gtest/gtest.h>

namespace dunnage::base {
namespace {

// The key, the message and some of the results of the paper and its reference code.
TEST(SipHash, ResultsOfItsAuthors) {
  const SipKey key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
  std::string message;
  for (char c = 0; c < 15; ++c) message += c;
  EXPECT_EQ(siphash(key, ""), 0x726fdb47dd0e0e31u);
  EXPECT_EQ(siphash(key, message.substr(0, 1)), 0x74f839c593dc67fdu);
  EXPECT_EQ(siphash(key, message.substr(0, 8)), 0x93f5f5799a932462u);
  EXPECT_EQ(siphash(key, message), 0xa129ca6149be45e5u);
}

TEST(SipHash, DependsOnTheKey) {
  EXPECT_NE(siphash({1, 2}, "message"), siphash({1, 3}, "message"));
  EXPECT_NE(siphash({1, 2}, "message"), siphash({0, 2}, "message"));
}

}  // namespace
}  // namespace dunnage::base
