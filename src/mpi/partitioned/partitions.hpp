// Calls about partitions of a request. Requests that are not ours go to the MPI.
#pragma once

#include <span>

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
int look_for(PartitionedRequest& request, std::int64_t partition, int* flag);

template <class Fn>
int ready(Hook, Fn next, int partition, MPI_Request request) {
  auto* const ours = partitioned(request);
  return ours ? make_ready(*ours, partition, partition) : next(partition, request);
}

template <class Fn>
int ready_range(Hook, Fn next, int low, int high, MPI_Request request) {
  auto* const ours = partitioned(request);
  return ours ? make_ready(*ours, low, high) : next(low, high, request);
}

template <class Fn>
int ready_list(Hook, Fn next, int length, const int* partitions, MPI_Request request) {
  auto* const ours = partitioned(request);
  if (!ours || length < 0 || (!partitions && length > 0)) return next(length, partitions, request);
  return make_ready(*ours, {partitions, static_cast<std::size_t>(length)});
}

template <class Fn>
int arrived(Hook, Fn next, MPI_Request request, int partition, int* flag) {
  auto* const ours = partitioned(request);
  return ours && flag ? look_for(*ours, partition, flag) : next(request, partition, flag);
}

}  // namespace dunnage::mpi
