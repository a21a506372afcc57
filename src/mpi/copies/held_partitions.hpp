// Partitioned messages in device memory that the MPI does by itself, on a copy in host memory. The
// partitions are held back: the MPI is told that they are ready when the last one is, and the
// program is told that one has arrived when all have. That is how MPICH sends them.
#pragma once

#include <iterator>
#include <memory>
#include <mutex>
#include <vector>

#include "base/function_ref.hpp"
#include "mpi/message/request.hpp"

namespace dunnage::mpi {

/// The program's request is the MPI's. Functions return what the call returns. Thread-safe.
class HeldPartitions : public Request {
 public:
  HeldPartitions(int partitions, bool sends, const ErrorsOf& errors, std::shared_ptr<Copies> copies)
      : Request(errors), ready_(static_cast<std::size_t>(partitions)), sends_(sends), copy_(std::move(copies)) {}

  /// MPI_Pready of partitions first, ..., last. `of_mpi` does that for one partition.
  int ready(std::int64_t first, std::int64_t last, base::FunctionRef<int(int)> of_mpi);
  /// MPI_Parrived. `of_mpi` asks the MPI about one partition.
  int arrived(int partition, int* flag, base::FunctionRef<int(int, int*)> of_mpi);

  bool receives() const override { return !sends_; }

 protected:
  Start begin(int& code) override;
  int arrive(MPI_Status&) override { return sends_ ? MPI_SUCCESS : deliver(); }

 private:
  bool has(std::int64_t partition) const { return partition >= 0 && partition < std::ssize(ready_); }
  int deliver();

  std::mutex mutex_;
  std::vector<bool> ready_;
  std::size_t number_ready_ = 0;
  bool delivered_ = false;
  const bool sends_;
  const std::shared_ptr<Copies> copy_;
};

/// Null if the MPI has the program's own buffer, or the request is not partitioned.
HeldPartitions* held_partitions(MPI_Request request);

}  // namespace dunnage::mpi
