// The caller's statuses, or our own where the caller wants none: we need the number of bytes.
#pragma once

#include <vector>

#include "mpi/process/process.hpp"

namespace dunnage::mpi {

/// The bytes of a received message, read off its status without a call where the ABI tells where
/// they stand; of a cancelled one anything.
inline std::int64_t told_bytes(const MPI_Status& status) {
#if defined(OPEN_MPI)
  return static_cast<std::int64_t>(status._ucount);
#elif defined(MPICH_NUMVERSION)
  // MPICH ABI Compatibility Initiative: 63 bits of the count around the bit of a cancelled message.
  return static_cast<std::int64_t>(
      (static_cast<std::uint64_t>(static_cast<unsigned>(status.count_hi_and_cancelled)) >> 1) << 32 |
      static_cast<unsigned>(status.count_lo));
#else
  MPI_Count bytes = 0;
  return process->own.Get_elements_x(&status, MPI_BYTE, &bytes) == MPI_SUCCESS ? bytes : 0;
#endif
}

class StatusOr {
 public:
  explicit StatusOr(MPI_Status* users) : status_(users == MPI_STATUS_IGNORE ? &own_ : users) {}
  StatusOr(const StatusOr&) = delete;
  StatusOr& operator=(const StatusOr&) = delete;
  MPI_Status* get() { return status_; }
  const MPI_Status& operator*() const { return *status_; }

 private:
  MPI_Status own_;
  MPI_Status* status_;
};

/// Our own tell of no error before the MPI writes them: MPI_SUCCESS is 0.
class StatusesOr {
 public:
  StatusesOr(int count, MPI_Status* users) : statuses_(users) {
    if (users != MPI_STATUSES_IGNORE) return;
    statuses_ = few_;
    if (count <= most_few) return;
    many_.resize(static_cast<std::size_t>(count));
    statuses_ = many_.data();
  }
  StatusesOr(const StatusesOr&) = delete;
  StatusesOr& operator=(const StatusesOr&) = delete;
  MPI_Status* get() { return statuses_; }
  const MPI_Status& operator[](int i) const { return statuses_[i]; }

 private:
  static constexpr int most_few = 8;
  MPI_Status few_[most_few]{};  // of most calls, which then need no memory
  std::vector<MPI_Status> many_;
  MPI_Status* statuses_;
};

}  // namespace dunnage::mpi
