// For calls that ask the MPI first, and look for our operations among what has ended afterwards.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "mpi/message/attach.hpp"
#include "mpi/message/handle.hpp"
#include "mpi/message/progress.hpp"
#include "mpi/message/request.hpp"

namespace dunnage::mpi {

/// Whether a call that only tests may ask the MPI first and look for our operations afterwards,
/// among those requests that have ended. No other thread can get the handle of one meanwhile, and
/// the MPI is asked about the program's own requests.
inline bool may_ask_first() { return special_requests.load() == 0 && nobody_looks_after(); }

/// Requests as they were before the MPI's call.
class Before {
 public:
  Before(int count, const MPI_Request* requests) : requests_(std::move(kept)) {
    requests_.assign(requests, requests + std::max(count, 0));
  }
  Before(const Before&) = delete;
  Before& operator=(const Before&) = delete;
  ~Before() { kept = std::move(requests_); }
  MPI_Request* data() { return requests_.data(); }
  MPI_Request operator[](int i) const { return requests_[static_cast<std::size_t>(i)]; }
  const Asking asking;

 private:
  inline static std::vector<MPI_Request> kept;  // memory for the next call: programs test in a loop
  std::vector<MPI_Request> requests_;
};

/// Open MPI frees all requests of a call that have failed. To be called after a call about the
/// program's own requests that has returned `rc`, and before what it tells of is settled.
/// `told(i)`: whether it tells of request i.
template <class Told>
void forget_freed(const Before& before, int rc, int count, const MPI_Request* requests, Told&& told) {
  if (rc == MPI_SUCCESS) return;
  for (int i = 0; i < count; ++i) {
    if (requests[i] != MPI_REQUEST_NULL || before[i] == MPI_REQUEST_NULL || told(i)) continue;
    MPI_Status unknown{};
    set_empty(unknown);
    if (const auto operation = before.asking.taken_out(key_of(before[i]))) operation->abandon(MPI_ERR_OTHER, unknown);
  }
}

}  // namespace dunnage::mpi
