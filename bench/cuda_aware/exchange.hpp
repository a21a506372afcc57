// What is timed: messages between two ranks, one way of moving them for each class.
#pragma once

#include <memory>
#include <string>

#include "cuda_aware/buffers.hpp"
#include "cuda_aware/nccl_comm.hpp"

namespace bench {

enum class Operation {
  latency,   ///< a message there and one back; a sample is half of it
  one_way,   ///< a window of messages from rank 0 to rank 1, and a short answer
  both_ways  ///< a window each way at once, and a short answer each way
};

std::string name(Operation operation);

class Exchange {
 public:
  Exchange(Operation o, int r, const Buffers& b, const Window& w) : operation(o), rank(r), buffers(b), window(w) {}
  virtual ~Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// On both ranks. Everything has arrived when it returns on rank 0.
  virtual void run() = 0;

  bool sends() const { return operation != Operation::one_way || rank == 0; }
  bool receives() const { return operation != Operation::one_way || rank == 1; }

  const Operation operation;
  const int rank;
  const Buffers& buffers;
  const Window window;
};

/// Through MPI_ calls: Send and Recv for the latency, Isend, Irecv and Waitall for windows.
std::unique_ptr<Exchange> mpi_exchange(Operation operation, int rank, const Buffers& buffers, const Window& window);

/// NCCL between the ranks' GPUs. Contiguous device memory only.
class Nccl {
 public:
  /// Throws std::runtime_error where the library `path` cannot be used, on both ranks.
  Nccl(const std::string& path, int rank) : comm_(path, rank, 2), rank_(rank) {}
  std::unique_ptr<Exchange> exchange(Operation operation, const Buffers& buffers, const Window& window);

 private:
  const NcclComm comm_;
  const int rank_;
};

}  // namespace bench
