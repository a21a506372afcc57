// Dunnage's operations among the requests of one call that completes requests.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory_resource>
#include <optional>
#include <vector>

#include "base/function_ref.hpp"
#include "mpi/message/attach.hpp"
#include "mpi/message/fetch_batch.hpp"
#include "mpi/message/progress.hpp"
#include "mpi/message/unfinished.hpp"
#include "mpi/process/status.hpp"

namespace dunnage::mpi {

/// Whether there is nothing of ours behind any request.
inline bool nothing_of_ours() {
  return process->requests.empty() && !process->attention.load(std::memory_order_relaxed) &&
         unfinished_sends.load(std::memory_order_acquire) == 0;
}

/// Our operations among the requests of one call, by index; empty if there are none.
///
/// While a call is about them they are not in the table: once the MPI has completed a request its
/// handle may be another thread's new one before the call has returned to us. Operations that were
/// not completed are put back. The handle of a persistent request stays until it is freed, so its
/// operation stays in the table.
class OwnOperations {
 public:
  /// The MPI is shown nothing before the caller asks for that.
  OwnOperations(int count, MPI_Request* requests);
  /// Takes those among requests that the MPI has been asked about. `before`: as they were then.
  OwnOperations(const Asking& asking, int count, MPI_Request* before);
  OwnOperations(const OwnOperations&) = delete;
  OwnOperations& operator=(const OwnOperations&) = delete;
  ~OwnOperations();

  bool none() const { return operations_.empty(); }
  /// Whether all operations are receives that the MPI does, of which only the status has to be
  /// looked at. Then the MPI may be asked at once, and is shown the requests as they are.
  bool status_only() const { return status_only_ && !none(); }
  Request* operator[](int i) const { return operations_[static_cast<std::size_t>(i)]; }

  // What the MPI is shown (own_operations.cpp):

  /// Shows the MPI its own requests in place of the program's.
  void show();
  /// Likewise, but for those of which the MPI need not be asked. They are hidden while it is asked
  /// about the others.
  void show_others();
  void hide();
  /// The MPI has been asked, and has returned `rc`. The hidden requests have ended. For the MPI
  /// they were null requests, which have empty statuses.
  void show_hidden(int rc, MPI_Status* statuses);
  /// Likewise, for a call that tells of some requests only.
  void show_hidden();
  /// After the MPI's call: the requests that the MPI was shown in place of the program's are the
  /// program's again.
  void restore();
  /// Whether the MPI need not be asked about any of the requests. There may be null requests among
  /// them.
  bool without_mpi() const;
  /// Whether one of the requests is under way that the MPI need not be asked about. Such requests
  /// are hidden from the MPI.
  bool some_under_way_alone() const;
  /// A request that the MPI has already completed without telling the program, and takes for
  /// inactive.
  std::optional<int> ended_ahead() const;

  // How operations go on (going_on.cpp):

  /// Moves operations of several messages on. Returns the places of those that have ended.
  std::vector<int> go_on();
  /// For a call that only tests: whether all operations of several messages have ended. If not, the
  /// MPI need not be asked.
  bool all_ended();
  /// For a call that completes some requests, of which some_under_way_alone(). Returns the places
  /// of requests that have ended without the MPI. If there are other requests, ask() asks the MPI
  /// about those, and returns whether the MPI has completed one, or failed. `asked`: what ask()
  /// returned last. If the call `waits`, returns when one has ended or `asked`.
  std::vector<int> some_ended(bool waits, bool& asked, base::FunctionRef<bool()> ask);
  /// Returns when all operations of several messages have ended. `without_mpi`: the MPI is not
  /// asked afterwards.
  void finish(bool without_mpi);
  /// Calls ask(), which asks the MPI and returns whether it has completed something, while an
  /// operation of several messages is under way and none has ended. Returns whether ask() did.
  bool asked(base::FunctionRef<bool()> ask);
  /// Delivers receives while others are still under way, so that no sender waits for them. Returns
  /// true when all have come if data of GPUs may be among them, else false at once. What a device
  /// fetches may still be under way: the time is for settle_listed().
  bool receive_as_they_come();
  /// Waits for what is still under way.
  void finish_arriving();

  // What the program is told (settling.cpp). An int is what the call is to return:

  /// The program does not want the statuses.
  void ignore_statuses() { told_ = false; }
  /// Ends request i after a call that completes one request. `in_array`: the call takes several.
  int settle_one(int i, int rc, MPI_Request request, MPI_Status& status, bool in_array);
  /// Ends requests that a call about several has completed. `rc`: what the MPI returned. `index(k)`
  /// is the request of status k. received() is called when all receives have ended.
  int settle_listed(
      int count, int rc, MPI_Status* statuses, base::FunctionRef<int(int)> index = [](int k) { return k; },
      base::FunctionRef<void()> received = [] {});
  /// Ends all requests, which are without_mpi() and have ended, or of which the receives have come
  /// and received() waits for the others.
  int settle_all_alone(
      int count, MPI_Status* users, base::FunctionRef<void()> received = [] {});
  /// Ends requests of a call that completes some of them: `count` that the MPI has completed, and
  /// `ended` without the MPI, which are added to `indices`. `rc`: what the MPI returned.
  int settle_some(int rc, int count, const std::vector<int>& ended, int* indices, int& outcount, MPI_Status* statuses);
  /// Ends request i, which has ended without the MPI, in a call that completes one. `in_array`: the
  /// call takes several.
  int settle_alone(int i, MPI_Status* users, StatusOr& status, bool in_array);
  /// Ends one request of a call that completes any, of which some_under_way_alone(). ask() is as in
  /// some_ended(), and sets `index` and `rc`. If the call does not wait, and none has ended,
  /// `index` is MPI_UNDEFINED.
  int settle_any(bool waits, int* index, MPI_Status* users, StatusOr& status, int& rc, base::FunctionRef<bool()> ask);
  /// Open MPI 4.1 tells an error of a persistent receive only in its status, if it is given
  /// statuses. Calls the error handler for a program that gives none. Returns what the MPI would
  /// have returned.
  int raise_what_statuses_tell(const MPI_Status* statuses);

 private:
  /// An operation of ours, which stands at that place among the requests.
  void add(int place, int count, Request* operation);
  /// Calls f(place, operation) for each operation of ours that is still there, in the order of the
  /// requests. Most requests of a call may be the MPI's, so nobody looks at all places.
  template <class F>
  void each(F&& f) const {
    for (const auto place : places_)
      if (auto* operation = operations_[place]) f(place, operation);
  }
  template <class F>
  bool some(F&& wanted) const {
    return std::any_of(places_.begin(), places_.end(),
                       [&](auto place) { return operations_[place] && wanted(*operations_[place]); });
  }
  template <class F>
  void take_out(F&& wanted) {
    if (some(wanted)) process->requests.take_out(operations_, wanted);
  }
  static bool under_way(const Request& operation) {
    return operation.active && (operation.several() || operation.ended_ahead());
  }
  bool alone(const Request& operation) const;
  void show(std::size_t i, Request& operation);
  void forget_freed();
  void forget_persistent_at(int i);
  void end_untold(int i);
  void fetch_parts();
  void progress_others();
  int complete(int i, MPI_Status& status, int of_mpi);

  // Memory for the lists of most calls. They are made and freed in each call that waits.
  std::array<std::byte, 256> room_;
  std::pmr::monotonic_buffer_resource memory_{room_.data(), room_.size()};
  MPI_Request* requests_;
  std::pmr::vector<Request*> operations_{&memory_};  // by place; null where a request is the MPI's, or has ended
  std::pmr::vector<std::size_t> places_{&memory_};   // where operations of ours stood at first
  std::optional<AlsoWatched> watched_;
  std::optional<FetchBatch> arriving_;  // what receive_as_they_come() has begun to fetch
  std::vector<int> freed_;              // the MPI has set the request that stood there to null
  std::vector<int> freed_persistent_;
  bool told_ = true, all_shown_ = false, status_only_ = true;
  ErrorsOf failed_{};  // whose handler is to be called for what complete() has returned
};

}  // namespace dunnage::mpi
