// What is timed: messages between two ranks. Each class moves them in one way.
#pragma once

#include <memory>
#include <string>

#include "cuda_aware/buffers.hpp"
#include "cuda_aware/nccl_comm.hpp"

namespace bench {

enum class Operation {
  latency,   ///< a message there and one back; a sample is half of the time
  one_way,   ///< a window of messages from rank 0 to rank 1, and a short answer
  both_ways  ///< a window in each direction at once, and a short answer in each direction
};

std::string name(Operation operation);

class Exchange {
 public:
  Exchange(Operation o, int r, const Buffers& b, const Window& w) : operation(o), rank(r), buffers(b), window(w) {}
  virtual ~Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// Does the exchange. Call it on both ranks. When it returns on rank 0, everything has arrived.
  virtual void run() = 0;

  bool sends() const { return operation != Operation::one_way || rank == 0; }
  bool receives() const { return operation != Operation::one_way || rank == 1; }

  const Operation operation;
  const int rank;
  const Buffers& buffers;
  const Window window;
};

/// Makes an exchange through MPI_ calls: Send and Recv for the latency; Isend, Irecv and Waitall
/// for windows.
std::unique_ptr<Exchange> mpi_exchange(Operation operation, int rank, const Buffers& buffers, const Window& window);

/// Exchanges with NCCL between the ranks' GPUs, for contiguous device memory only.
class Nccl {
 public:
  /// Throws std::runtime_error on both ranks if the library `path` cannot be used.
  Nccl(const std::string& path, int rank) : comm_(path, rank, 2), rank_(rank) {}
  std::unique_ptr<Exchange> exchange(Operation operation, const Buffers& buffers, const Window& window);

 private:
  const NcclComm comm_;
  const int rank_;
};

}  // namespace bench
