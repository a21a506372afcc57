// Calls about partitions of a request: one of ours, one on a copy in host memory, or the MPI's own.
#pragma once

#include <span>

#include "mpi/copies/held_partitions.hpp"
#include "mpi/message/orphans.hpp"
#include "mpi/partitioned/receive_request.hpp"
#include "mpi/partitioned/send_request.hpp"

namespace dunnage::mpi {

/// Null if the request is not ours.
PartitionedRequest* partitioned(MPI_Request request);

// Each returns what the call returns. Thread-safe.
/// Partitions first, ..., last.
int make_ready(PartitionedRequest& request, std::int64_t first, std::int64_t last);
int make_ready(PartitionedRequest& request, std::span<const int> partitions);
int make_ready(HeldPartitions& held, MPI_Request request, std::int64_t first, std::int64_t last);
int make_ready(HeldPartitions& held, MPI_Request request, std::span<const int> partitions);
int look_for(PartitionedRequest& request, std::int64_t partition, int* flag);

template <class Fn>
int ready(Hook, Fn next, int partition, MPI_Request request) {
  if (auto* const ours = partitioned(request)) return make_ready(*ours, partition, partition);
  if (auto* const held = held_partitions(request)) return make_ready(*held, request, partition, partition);
  return next(partition, request);
}

template <class Fn>
int ready_range(Hook, Fn next, int low, int high, MPI_Request request) {
  if (auto* const ours = partitioned(request)) return make_ready(*ours, low, high);
  if (auto* const held = held_partitions(request)) return make_ready(*held, request, low, high);
  return next(low, high, request);
}

template <class Fn>
int ready_list(Hook, Fn next, int length, const int* partitions, MPI_Request request) {
  if (length < 0 || (!partitions && length > 0)) return next(length, partitions, request);
  const std::span list{partitions, static_cast<std::size_t>(length)};
  if (auto* const ours = partitioned(request)) return make_ready(*ours, list);
  if (auto* const held = held_partitions(request)) return make_ready(*held, request, list);
  return next(length, partitions, request);
}

template <class Fn>
int arrived(Hook, Fn next, MPI_Request request, int partition, int* flag) {
  if (auto* const ours = flag ? partitioned(request) : nullptr) return look_for(*ours, partition, flag);
  if (auto* const held = held_partitions(request))
    return held->arrived(partition, flag, [&](int one, int* here) { return next(request, one, here); });
  return next(request, partition, flag);
}

}  // namespace dunnage::mpi
