#include "mpi/process/call_sites.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

namespace dunnage::mpi {
namespace {

const void* address(std::uintptr_t value) { return reinterpret_cast<const void*>(value); }

TEST(CallSites, EachAddressKeepsItsPlace) {
  const auto sites = std::make_unique<CallSites>();
  CallSite* one = sites->of(address(4096), Hook::MPI_Isend);
  CallSite* other = sites->of(address(4096 + CallSites::most), Hook::MPI_Irecv);  // begins at one's place
  ASSERT_TRUE(one && other);
  EXPECT_NE(one, other);
  EXPECT_EQ(sites->of(address(4096), Hook::MPI_Recv), one);
  EXPECT_EQ(sites->of(address(4096 + CallSites::most), Hook::MPI_Recv), other);
  EXPECT_EQ(one->hook, static_cast<int>(Hook::MPI_Isend));
  EXPECT_EQ(other->hook, static_cast<int>(Hook::MPI_Irecv));
}

TEST(CallSites, NoneOutsideOfCallsAndNoneWithoutRoom) {
  const auto sites = std::make_unique<CallSites>();
  EXPECT_EQ(sites->of(nullptr, Hook::MPI_Send), nullptr);
  for (std::uintptr_t i = 1; i <= CallSites::most; ++i) EXPECT_NE(sites->of(address(i), Hook::MPI_Send), nullptr);
  EXPECT_EQ(sites->of(address(CallSites::most + 1), Hook::MPI_Send), nullptr);
  EXPECT_NE(sites->of(address(7), Hook::MPI_Send), nullptr);
}

TEST(CallSites, ThreadsAgreeAboutPlaces) {
  constexpr int threads = 4, places = 100, rounds = 500;
  const auto sites = std::make_unique<CallSites>();
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&sites, t] {
      for (int i = 0; i < rounds * places; ++i)
        sites->of(address(static_cast<std::uintptr_t>((i + t) % places + 1) * 64), Hook::MPI_Send)
            ->count(plan::Reason::accelerated);
    });
  for (auto& thread : all) thread.join();
  int used = 0;
  for (const auto& site : sites->sites()) {
    used += site.key != 0;
    EXPECT_EQ(site.value.by_reason[0], site.key ? std::uint64_t{threads} * rounds : 0);
  }
  EXPECT_EQ(used, places);
}

TEST(CallSites, ThePlaceOfACallIsInItsFile) {
  const auto here = code_place(reinterpret_cast<std::uintptr_t>(&address) + 1);
  EXPECT_NE(here.file.find("mpi_test"), std::string::npos) << here.file;
  EXPECT_GT(here.offset, 0u);
  const auto library = code_place(reinterpret_cast<std::uintptr_t>(&std::malloc) + 1);
  EXPECT_FALSE(library.function.empty());
  EXPECT_EQ(library.file.front(), '/');
  EXPECT_TRUE(code_place(1).file.empty());
}

}  // namespace
}  // namespace dunnage::mpi
