#include "mpi/copies/held_partitions.hpp"

#include <algorithm>
#include <utility>

#include "mpi/process/process.hpp"

namespace dunnage::mpi {

Request::Start HeldPartitions::begin(int&) {
  const std::lock_guard lock(mutex_);
  std::fill(ready_.begin(), ready_.end(), false);
  number_ready_ = 0;
  delivered_ = false;
  return Start::by_mpi;
}

int HeldPartitions::ready(std::int64_t first, std::int64_t last, base::FunctionRef<int(int)> of_mpi) {
  const std::lock_guard lock(mutex_);
  if (!active || !sends_) return of_mpi(static_cast<int>(first));  // for the MPI to report
  if (!has(first) || !has(last) || first > last) return raise(*this, MPI_ERR_ARG);
  const auto from = ready_.begin() + first, to = ready_.begin() + last + 1;
  if (std::find(from, to, true) != to) return raise(*this, MPI_ERR_ARG);
  std::fill(from, to, true);
  number_ready_ += static_cast<std::size_t>(last - first + 1);
  if (number_ready_ < ready_.size()) return MPI_SUCCESS;
  if (const int failed = copy_->gather(); failed != MPI_SUCCESS) return raise(*this, failed);
  int code = MPI_SUCCESS;
  for (int i = 0; code == MPI_SUCCESS && i < std::ssize(ready_); ++i) code = of_mpi(i);
  return code;
}

int HeldPartitions::arrived(int partition, int* flag, base::FunctionRef<int(int, int*)> of_mpi) {
  const std::lock_guard lock(mutex_);
  if (!active || sends_ || !flag || !has(partition)) return of_mpi(partition, flag);
  for (int i = 0; i < std::ssize(ready_) && !delivered_; ++i) {
    const int code = of_mpi(i, flag);
    if (code != MPI_SUCCESS || !*flag) return code;
  }
  *flag = 1;
  const int failed = deliver();
  return failed == MPI_SUCCESS ? failed : raise(*this, failed);
}

/// Once: the program may use what has arrived.
int HeldPartitions::deliver() { return std::exchange(delivered_, true) ? MPI_SUCCESS : copy_->deliver(); }

HeldPartitions* held_partitions(MPI_Request request) {
  return process->requests.empty() ? nullptr : dynamic_cast<HeldPartitions*>(process->requests.find(key_of(request)));
}

}  // namespace dunnage::mpi
