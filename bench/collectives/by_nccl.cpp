#include "collectives/by_nccl.hpp"

#include <utility>
#include <vector>

namespace bench::collectives {
namespace {

constexpr int nccl_root = 0;

/// Pairs of a sender and a receiver, whose blocks have the number of the other rank.
using Pairs = std::vector<std::pair<int, int>>;

Pairs pairs_of(const std::string& operation, int ranks) {
  Pairs pairs;
  for (int a = 0; a < ranks; ++a) {
    if (operation == "alltoall")
      for (int b = 0; b < ranks; ++b) pairs.emplace_back(a, b);
    if (operation == "alltoallv, one peer") pairs.emplace_back(a, (a + 1) % ranks);
    if (operation == "gather") pairs.emplace_back(a, nccl_root);
    if (operation == "scatter") pairs.emplace_back(nccl_root, a);
  }
  return pairs;
}

void exchange(const Nccl& nccl, const Pairs& pairs, Blocks& from, Blocks& to) {
  const auto at = [](const Blocks& blocks, int peer) {
    return static_cast<std::byte*>(blocks.at()) + peer * blocks.extent();
  };
  const auto bytes = static_cast<std::size_t>(from.extent());
  nccl.comm.group_start();
  for (const auto& [sender, receiver] : pairs) {
    if (sender == nccl.rank) nccl.comm.send(at(from, receiver), bytes, receiver, nccl.stream.get());
    if (receiver == nccl.rank) nccl.comm.recv(at(to, sender), bytes, sender, nccl.stream.get());
  }
  nccl.comm.group_end();
}

}  // namespace

std::function<void(Blocks&, Blocks&)> by_nccl(const Nccl& nccl, const std::string& operation) {
  if (operation == "allgather")
    return [nccl](Blocks& from, Blocks& to) {
      nccl.comm.all_gather(from.at(), to.at(), static_cast<std::size_t>(from.extent()), nccl.stream.get());
      nccl.stream.wait();
    };
  const auto pairs = pairs_of(operation, nccl.ranks);
  if (pairs.empty()) return {};
  return [nccl, pairs](Blocks& from, Blocks& to) {
    exchange(nccl, pairs, from, to);
    nccl.stream.wait();
  };
}

std::function<void(double*, double*, int)> sum_by_nccl(const Nccl& nccl, const std::string& reduction) {
  const auto waited = [nccl](auto&& call) {
    return [nccl, call](double* from, double* to, int count) {
      call(from, to, static_cast<std::size_t>(count));
      nccl.stream.wait();
    };
  };
  if (reduction == "allreduce" || reduction == "iallreduce")
    return waited(
        [nccl](double* from, double* to, std::size_t n) { nccl.comm.all_reduce(from, to, n, nccl.stream.get()); });
  if (reduction == "allreduce in place")
    return waited([nccl](double*, double* to, std::size_t n) { nccl.comm.all_reduce(to, to, n, nccl.stream.get()); });
  if (reduction == "reduce")
    return waited([nccl](double* from, double* to, std::size_t n) {
      nccl.comm.reduce(from, to, n, nccl_root, nccl.stream.get());
    });
  if (reduction == "reduce_scatter_block")
    return waited([nccl](double* from, double* to, std::size_t n) {
      nccl.comm.reduce_scatter(from, to, n / static_cast<std::size_t>(nccl.ranks), nccl.stream.get());
    });
  return {};
}

}  // namespace bench::collectives
