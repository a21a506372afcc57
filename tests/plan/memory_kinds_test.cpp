#include "plan/memory_kinds.hpp"

#include <gtest/gtest.h>

namespace dunnage::plan {
namespace {

TEST(MemoryKinds, AreAddedOnce) {
  EXPECT_EQ(with_cuda_kinds(default_memory_kinds), "mpi,system,cuda,cuda:host,cuda:device,cuda:managed");
  EXPECT_EQ(with_cuda_kinds(""), "cuda,cuda:host,cuda:device,cuda:managed");
  EXPECT_EQ(with_cuda_kinds("cuda:device,system"), "cuda:device,system,cuda,cuda:host,cuda:managed");
  EXPECT_EQ(with_cuda_kinds("system,cuda:hosts"), "system,cuda:hosts,cuda,cuda:host,cuda:device,cuda:managed");
  const auto all = with_cuda_kinds(default_memory_kinds);
  EXPECT_EQ(with_cuda_kinds(all), all);
}

}  // namespace
}  // namespace dunnage::plan
