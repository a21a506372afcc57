// NCCL, which a benchmark compares with where it is there. Nothing is linked, and its header is not needed.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <memory>
#include <string>

namespace bench {

/// A communicator of all ranks of MPI_COMM_WORLD. Calls put work into a stream; they throw std::runtime_error.
class NcclComm {
 public:
  /// By all ranks. Throws std::runtime_error on all where one cannot: each needs a GPU of its own.
  NcclComm(const std::string& library, int rank, int ranks);
  NcclComm(const NcclComm&) = delete;
  NcclComm& operator=(const NcclComm&) = delete;
  ~NcclComm();
  void send(const void* from, std::size_t bytes, int peer, CUstream stream) const;
  void recv(void* to, std::size_t bytes, int peer, CUstream stream) const;
  void broadcast(void* buffer, std::size_t bytes, int root, CUstream stream) const;
  void group_start() const;
  void group_end() const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace bench
