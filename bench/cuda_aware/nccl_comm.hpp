// NCCL, for comparison, if it is installed. Nothing is linked, and NCCL's header is not needed.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "device/cuda_driver_api.h"

namespace bench {

/// A communicator of all ranks of MPI_COMM_WORLD. Its functions put work into a stream. They throw
/// std::runtime_error.
class NcclComm {
 public:
  /// Collective. If a rank cannot use NCCL, throws std::runtime_error on all ranks. Each rank needs
  /// a GPU of its own.
  NcclComm(const std::string& library, int rank, int ranks);
  NcclComm(const NcclComm&) = delete;
  NcclComm& operator=(const NcclComm&) = delete;
  ~NcclComm();
  void send(const void* from, std::size_t bytes, int peer, CUstream stream) const;
  void recv(void* to, std::size_t bytes, int peer, CUstream stream) const;
  void broadcast(void* buffer, std::size_t bytes, int root, CUstream stream) const;
  void all_gather(const void* from, void* to, std::size_t bytes, CUstream stream) const;
  /// Sums of doubles. `count` is that of each rank's result.
  void all_reduce(const void* from, void* to, std::size_t count, CUstream stream) const;
  void reduce(const void* from, void* to, std::size_t count, int root, CUstream stream) const;
  void reduce_scatter(const void* from, void* to, std::size_t count, CUstream stream) const;
  void group_start() const;
  void group_end() const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace bench
