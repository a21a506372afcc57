// MPI_Put, MPI_Get and their kin, if the origin's GPU reaches the target's memory.
#pragma once

#include <optional>

#include "mpi/windows/window.hpp"

namespace dunnage::mpi {

/// One call. The constructor decides whether the call is Dunnage's, and does it then.
class DirectAccess {
 public:
  static bool possible() { return window_count.load(std::memory_order_relaxed) != 0; }

  template <class Count>
  DirectAccess(Hook hook, const void* origin, Count count, MPI_Datatype type, int target, MPI_Aint disp,
               Count target_count, MPI_Datatype target_type, MPI_Win win, MPI_Request* request = nullptr) {
    run(hook, {origin, count, type}, target, {disp, target_count, target_type}, win, request);
  }
  DirectAccess(const DirectAccess&) = delete;
  DirectAccess& operator=(const DirectAccess&) = delete;

  /// Whether it has been done, and its result.
  bool done() const { return code_.has_value(); }
  int code() const { return *code_; }

 private:
  void run(Hook hook, const Elements& origin, int target, Reach reach, MPI_Win win, MPI_Request* request);

  std::optional<int> code_;
};

/// Whether the arguments are for the MPI to judge.
inline bool for_mpi_to_judge(const Elements& origin, const Reach& reach) {
  return origin.count < 0 || reach.count < 0 || origin.type == MPI_DATATYPE_NULL || reach.type == MPI_DATATYPE_NULL;
}

/// The end of an operation whose data are in their places, or that has failed with `code`.
/// `checked` is what the MPI returned for the operation without data, which gave the request.
/// Returns what the call is to return.
int ended(MPI_Win win, int checked, int code, MPI_Request* request);

}  // namespace dunnage::mpi
