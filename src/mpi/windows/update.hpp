// MPI_Accumulate, MPI_Get_accumulate, MPI_Fetch_and_op, MPI_Compare_and_swap and their kin, if the
// origin's GPU reaches the target's memory.
#pragma once

#include <optional>

#include "mpi/windows/access.hpp"

namespace dunnage::mpi {

/// The arguments of a call.
struct Update {
  Hook hook;
  Elements origin;
  int target;
  Reach reach;
  MPI_Op op;
  Elements result{nullptr, 0, MPI_DATATYPE_NULL};  // the buffer is null if nothing is fetched
  bool fetches = false;
  const void* compare = nullptr;  // MPI_Compare_and_swap
};

/// One call. The constructor decides whether the call is Dunnage's, and does it then.
class DirectUpdate {
 public:
  static bool possible() { return DirectAccess::possible(); }

  // Accumulate.
  template <class Count>
  DirectUpdate(Hook hook, const void* origin, Count count, MPI_Datatype type, int target, MPI_Aint disp,
               Count target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win, MPI_Request* request = nullptr) {
    run({hook, {origin, count, type}, target, {disp, target_count, target_type}, op}, win, request);
  }
  // Get_accumulate.
  template <class Count>
  DirectUpdate(Hook hook, const void* origin, Count count, MPI_Datatype type, void* result, Count result_count,
               MPI_Datatype result_type, int target, MPI_Aint disp, Count target_count, MPI_Datatype target_type,
               MPI_Op op, MPI_Win win, MPI_Request* request = nullptr) {
    run({hook,
         {origin, count, type},
         target,
         {disp, target_count, target_type},
         op,
         {result, result_count, result_type},
         true},
        win, request);
  }
  // Fetch_and_op.
  DirectUpdate(Hook hook, const void* origin, void* result, MPI_Datatype type, int target, MPI_Aint disp, MPI_Op op,
               MPI_Win win) {
    run({hook, {origin, 1, type}, target, {disp, 1, type}, op, {result, 1, type}, true}, win, nullptr);
  }
  // Compare_and_swap.
  DirectUpdate(Hook hook, const void* origin, const void* compare, void* result, MPI_Datatype type, int target,
               MPI_Aint disp, MPI_Win win) {
    run({hook, {origin, 1, type}, target, {disp, 1, type}, MPI_REPLACE, {result, 1, type}, true, compare}, win,
        nullptr);
  }
  DirectUpdate(const DirectUpdate&) = delete;
  DirectUpdate& operator=(const DirectUpdate&) = delete;

  /// Whether it has been done, and its result.
  bool done() const { return code_.has_value(); }
  int code() const { return *code_; }

 private:
  void run(Update update, MPI_Win win, MPI_Request* request);

  std::optional<int> code_;
};

}  // namespace dunnage::mpi
