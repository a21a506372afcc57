#include "mpi/hooks/completion.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "device/looks.hpp"
#include "mpi/message/attach.hpp"
#include "mpi/message/handle.hpp"
#include "mpi/message/message_turn.hpp"
#include "mpi/message/persistent.hpp"
#include "mpi/message/progress.hpp"
#include "mpi/message/unfinished.hpp"
#include "mpi/process/arrivals.hpp"
#include "mpi/process/gpu_use.hpp"
#include "mpi/process/status.hpp"
#include "mpi/process/world_returns_errors.hpp"
#include "transport/shm/patience.hpp"

namespace dunnage::mpi {
namespace {

/// Nothing of ours behind any request.
bool nothing_of_ours() {
  return process->requests.empty() && !process->attention.load(std::memory_order_relaxed) &&
         unfinished_sends.load(std::memory_order_acquire) == 0;
}

/// Whether a call that only tests may ask the MPI first and look for our operations afterwards,
/// among those requests that have ended. No other thread can get the handle of one meanwhile, and
/// the MPI is asked about the program's own requests.
bool may_ask_first() { return special_requests.load() == 0 && nobody_looks_after(); }

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

/// Our operations among the requests of one call, by index; empty if there are none.
///
/// While a call is about them they are not in the table: once the MPI has completed a request its
/// handle may be another thread's new one before the call has returned to us. Operations that were
/// not completed are put back. The handle of a persistent request stays until it is freed, so its
/// operation stays in the table.
class Ours {
 public:
  /// `nothing`: sends are not finished, and the MPI is shown nothing, before the caller asks for
  /// that.
  enum class First { finish_and_show, nothing };
  Ours(int count, MPI_Request* requests, First first = First::finish_and_show) : requests_(requests) {
    device::Looks::forget();
    progress_orphans();
    if (first == First::finish_and_show) finish_sends();
    if (process->requests.empty() || !requests) return;
    const auto alone = no_progress();
    for (int i = 0; i < count; ++i) {
      auto* operation = process->requests.find(key_of(requests[i]));
      if (!operation) continue;
      if (operations_.empty()) operations_.resize(static_cast<std::size_t>(count));
      operations_[static_cast<std::size_t>(i)] = operation;
    }
    if (none()) return;
    take_out([](const Request& o) { return !o.persistent && !o.stays; });
    watched_.emplace(operations_, requests_);
    if (first == First::finish_and_show) show();
  }
  /// Shows the MPI its own requests in place of the program's.
  void show() {
    all_shown_ = true;
    take_out([](const Request& o) { return o.stays; });
    for (auto* operation : operations_)
      if (operation) operation->stays = false;
    for (std::size_t i = 0; i < operations_.size(); ++i) show(i);
  }
  /// Likewise, but for those of which the MPI need not be asked. They are hidden while it is asked
  /// about the others.
  void show_others() {
    for (std::size_t i = 0; i < operations_.size(); ++i)
      if (!alone(operations_[i])) show(i);
  }
  void hide() {
    for (std::size_t i = 0; i < operations_.size(); ++i)
      if (alone(operations_[i])) requests_[i] = MPI_REQUEST_NULL;
  }
  /// The MPI has been asked, and has returned `rc`. The hidden requests have ended. For the MPI
  /// they were null requests, which have empty statuses.
  void show_hidden(int rc, MPI_Status* statuses) {
    show_hidden();
    for (std::size_t i = 0; rc == MPI_ERR_IN_STATUS && i < operations_.size(); ++i)
      if (alone(operations_[i])) statuses[i].MPI_ERROR = MPI_SUCCESS;
  }
  /// Likewise, for a call that tells of some requests only.
  void show_hidden() {
    for (std::size_t i = 0; i < operations_.size(); ++i)
      if (alone(operations_[i])) requests_[i] = handle_of<MPI_Request>(operations_[i]->key);
  }
  /// Whether the MPI need not be asked about any of the requests. There may be null requests among
  /// them.
  bool without_mpi() const {
    for (std::size_t i = 0; i < operations_.size(); ++i)
      if (operations_[i] ? !alone(operations_[i]) : requests_[i] != MPI_REQUEST_NULL) return false;
    return !none();
  }
  /// Whether one of the requests is under way that the MPI need not be asked about. Such requests
  /// are hidden from the MPI.
  bool some_under_way_alone() const {
    return std::any_of(operations_.begin(), operations_.end(),
                       [&](const Request* o) { return under_way(o) && alone(o); });
  }
  /// Among requests that the MPI has been asked about. `before`: as they were then.
  Ours(const Asking& asking, int count, MPI_Request* before) : requests_(before) {
    device::Looks::forget();
    for (int i = 0; i < count; ++i) {
      auto operation = asking.taken_out(key_of(before[i]));
      if (!operation) continue;
      if (operations_.empty()) operations_.resize(static_cast<std::size_t>(count));
      operations_[static_cast<std::size_t>(i)] = operation.release();
    }
  }
  Ours(const Ours&) = delete;
  Ours& operator=(const Ours&) = delete;
  ~Ours() {
    restore();
    forget_freed();
    watched_.reset();
    const auto was_taken_out = [](const Request& o) { return !o.persistent && !o.stays; };
    if (some(was_taken_out)) process->requests.put_back(operations_, was_taken_out);
    for (const auto* operation : operations_)
      if (operation && !operation->delivered) look_after(*operation);
    progress_orphans();
  }
  bool none() const { return operations_.empty(); }
  /// Moves operations of several messages on. Returns the places of those that have ended.
  std::vector<int> go_on() {
    std::vector<int> ended;
    fetch_parts();
    FetchBatch batch(FetchBatch::Outer::join);
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      batch.about(static_cast<int>(i));
      auto* operation = operations_[i];
      if (under_way(operation) && (alone(operation) ? operation->go_on_alone() : operation->go_on()))
        ended.push_back(static_cast<int>(i));
    }
    for (const auto& failure : batch.finish())
      operations_[static_cast<std::size_t>(failure.index)]->failed_later(failure.code);
    return ended;
  }
  /// For a call that only tests: whether all operations of several messages have ended. If not, the
  /// MPI need not be asked.
  bool all_ended() {
    const auto ended = go_on();
    const bool all = std::count_if(operations_.begin(), operations_.end(), under_way) == std::ssize(ended);
    let_mpi_progress_after(all);
    return all;
  }
  /// For a call that completes some requests, of which some_under_way_alone(). Returns the places
  /// of requests that have ended without the MPI. If there are other requests, ask() asks the MPI
  /// about those, and returns whether the MPI has completed one, or failed. `asked`: what ask()
  /// returned last. If the call `waits`, returns when one has ended or `asked`.
  template <class Ask>
  std::vector<int> some_ended(bool waits, bool& asked, Ask&& ask) {
    const bool nobody_to_ask = without_mpi();
    show_others();
    asked = false;
    unsigned rounds = 0;
    for (transport::shm::Patience patience;; patience.wait()) {
      auto ended = go_on();
      std::erase_if(ended, [&](int i) { return !alone(operations_[static_cast<std::size_t>(i)]); });
      if (!nobody_to_ask) {
        hide();
        asked = ask();
        show_hidden();
      }
      if (!ended.empty() || asked || !waits) {
        restore();
        if (nobody_to_ask && !waits) let_mpi_progress_after(!ended.empty());
        return ended;
      }
      progress_others();
      if (nobody_to_ask && ++rounds % polls_between == 0) let_mpi_progress();
    }
  }
  /// Returns when all operations of several messages have ended. `without_mpi`: the MPI is not
  /// asked afterwards.
  void finish(bool without_mpi) {
    std::optional<WorldReturnsErrors> guard;  // one for all requests of several messages
    if (some([](const Request& o) { return o.has_parts(); })) guard.emplace();
    for (const auto* operation : operations_)
      if (under_way(operation)) operation->prefetch();
    for (auto* operation : operations_)
      if (under_way(operation))
        alone(operation) && operation->stands_alone() ? operation->finish_alone() : operation->finish();
    if (without_mpi) let_mpi_progress_after(true);
  }
  /// A request that the MPI has already completed without telling the program, and takes for
  /// inactive.
  std::optional<int> ended_ahead() const {
    const auto found = std::find_if(operations_.begin(), operations_.end(),
                                    [](const Request* o) { return o && o->active && o->ended_ahead(); });
    return found == operations_.end() ? std::nullopt : std::optional(static_cast<int>(found - operations_.begin()));
  }
  /// Calls ask(), which asks the MPI and returns whether it has completed something, while an
  /// operation of several messages is under way and none has ended. Returns whether ask() did.
  template <class Ask>
  bool asked(Ask&& ask) {
    if (std::none_of(operations_.begin(), operations_.end(), under_way)) return false;
    for (transport::shm::Patience patience; go_on().empty(); patience.wait()) {
      if (ask()) return true;
      progress_others();
    }
    return false;
  }
  /// After the MPI's call: the requests that the MPI was shown in place of the program's are the
  /// program's again.
  void restore() {
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      auto* operation = operations_[i];
      if (!operation || operation->inner == MPI_REQUEST_NULL || key_of(requests_[i]) == operation->key) continue;
      const auto asked = std::exchange(operation->inner, requests_[i]);
      if (requests_[i] == MPI_REQUEST_NULL)
        (operation->gone(asked) ? freed_persistent_ : freed_).push_back(static_cast<int>(i));
      requests_[i] = handle_of<MPI_Request>(operation->key);
    }
  }
  Request* operator[](int i) const { return operations_[static_cast<std::size_t>(i)]; }
  /// Open MPI frees all requests of a call that have failed, those too of which the call does not
  /// tell. Nothing of such a receive may reach the program's buffer any more, whose handle may be
  /// another operation's next. Open MPI 4.1 also frees persistent requests.
  void forget_freed() {
    for (std::size_t i = 0; i < operations_.size(); ++i)
      if (const auto* o = operations_[i]; o && requests_[i] == MPI_REQUEST_NULL)
        (o->persistent ? freed_persistent_ : freed_).push_back(static_cast<int>(i));
    for (const int i : std::exchange(freed_, {})) end_untold(i);
    for (const int i : std::exchange(freed_persistent_, {})) forget_persistent_at(i);
  }
  /// The MPI has freed the program's persistent request, or the one that stood for it. Then the
  /// program's handle becomes null too, as without Dunnage. An inactive request must not stay in
  /// its place: beside one that fails, Open MPI 4.1 raises what the inactive one's memory holds.
  void forget_persistent_at(int i) {
    end_untold(i);
    const std::unique_ptr<Request> operation(std::exchange(operations_[static_cast<std::size_t>(i)], nullptr));
    {
      const auto alone = no_progress();
      process->requests.erase(operation->key);
    }
    forget_persistent(handle_of<MPI_Request>(operation->key));
    if (requests_[i] != MPI_REQUEST_NULL) process->next.MPI_Request_free(&requests_[i]);
  }
  /// Nobody has told how request i ended.
  void end_untold(int i) {
    MPI_Status unknown{};
    set_empty(unknown);
    complete(i, unknown, MPI_ERR_OTHER);
  }

  /// The program does not want the statuses.
  void ignore_statuses() { told_ = false; }
  /// Request i has ended, or the MPI has completed it, perhaps with an error `of_mpi`; then nothing
  /// is delivered. Returns an error of our own; failed_ then names whose handler is to be called.
  int complete(int i, MPI_Status& status, int of_mpi) {
    auto*& operation = operations_[static_cast<std::size_t>(i)];
    if (!operation || !operation->active) return MPI_SUCCESS;
    if (of_mpi != MPI_SUCCESS) operation->abandon(of_mpi, status);
    const int error = of_mpi == MPI_SUCCESS ? operation->complete(status, told_) : MPI_SUCCESS;
    if (error != MPI_SUCCESS) failed_ = operation->errors();
    operation->active = false;
    operation->inner = MPI_REQUEST_NULL;
    if (operation->persistent) return error;
    if (operation->stands_alone()) requests_[i] = MPI_REQUEST_NULL;
    const bool stays = operation->stays;
    if (!stays || !operation->rest()) {
      if (stays) process->requests.erase(operation->key);
      delete operation;
    }
    operation = nullptr;
    return error;
  }
  /// Ends request i after a call that completes one request. `in_array`: the call takes several.
  /// Returns what the call is to return.
  int settle_one(int i, int rc, MPI_Request request, MPI_Status& status, bool in_array) {
    auto* operation = (*this)[i];
    if (rc == MPI_SUCCESS) {
      // Alone, a persistent request has its error raised on its own communicator, by any MPI.
      const bool on_its_own = operation && (operation->collective() || (operation->persistent && !in_array));
      if (const int error = complete(i, status, rc); error != MPI_SUCCESS)
        return on_its_own && failed_.object == ErrorsOf::Object::comm
                   ? raise_ended(handle_of<MPI_Comm>(failed_.key), error)
                   : raise_completed(failed_, error, in_array);
    } else if (operation && (operation->persistent || request == MPI_REQUEST_NULL)) {
      complete(i, status, rc);
    }
    return rc;
  }
  /// Ends requests that a call about several has completed. `rc`: what the MPI returned. `index(k)`
  /// is the request of status k. received() is called when all receives have ended. Returns what
  /// the call is to return.
  template <class Index, class Received>
  int settle_listed(int count, int rc, MPI_Status* statuses, Index&& index, Received&& received) {
    int result = rc;
    const bool listed = rc == MPI_ERR_IN_STATUS;
    int first = count, first_error = MPI_SUCCESS;
    ErrorsOf first_errors;
    const auto fail = [&](int k, int error) {
      if (k < first) first = k, first_error = error, first_errors = failed_;
      if (result == MPI_SUCCESS)  // now every status tells
        for (int j = 0; j < count; ++j) statuses[j].MPI_ERROR = MPI_SUCCESS;
      statuses[k].MPI_ERROR = error;
      result = MPI_ERR_IN_STATUS;
    };
    std::vector<ErrorsOf> errors(fetches_later() ? static_cast<std::size_t>(count) : 0);
    // Sends last: they may wait for a receiver that waits for what this process receives.
    for (const bool receives : {true, false}) {
      std::optional<FetchBatch> own;
      auto& batch = receives && arriving_ ? *arriving_ : own.emplace(FetchBatch::Outer::join);
      for (int k = 0; k < count; ++k) {
        const auto& status = statuses[k];
        const auto* operation = (*this)[index(k)];
        const bool ended = rc == MPI_SUCCESS || (listed && status.MPI_ERROR != MPI_ERR_PENDING);
        if (!operation || operation->receives() != receives || !ended) continue;
        batch.about(k);
        if (!errors.empty()) errors[static_cast<std::size_t>(k)] = operation->errors();
        const int of_mpi = listed ? status.MPI_ERROR : MPI_SUCCESS;
        if (const int error = complete(index(k), statuses[k], of_mpi); error != MPI_SUCCESS) fail(k, error);
      }
      for (const auto& failure : batch.finish()) {
        auto* const operation = (*this)[index(failure.index)];
        if (operation && operation->active) {  // a part of what has not ended yet
          operation->failed_later(failure.code);
          continue;
        }
        failed_ = errors[static_cast<std::size_t>(failure.index)];
        fail(failure.index, failure.code);
      }
      if (!receives) continue;
      arriving_.reset();
      received();
    }
    return result == rc ? rc : raise_in_status(first_errors, first_error);
  }
  template <class Index>
  int settle_listed(int count, int rc, MPI_Status* statuses, Index&& index) {
    return settle_listed(count, rc, statuses, index, [] {});
  }
  /// Ends all requests, which are without_mpi() and have ended, or of which the receives have come
  /// and received() waits for the others.
  template <class Received>
  int settle_all_alone(int count, MPI_Status* users, Received&& received) {
    StatusesOr statuses(count, users);
    if (users == MPI_STATUSES_IGNORE) ignore_statuses();
    for (int k = 0; users != MPI_STATUSES_IGNORE && k < count; ++k) set_empty(users[k]);
    const auto index = [](int k) { return k; };
    return settle_listed(count, MPI_SUCCESS, statuses.get(), index, received);
  }
  /// Ends requests of a call that completes some of them: `count` that the MPI has completed, and
  /// `ended` without the MPI, which are added to `indices`. `rc`: what the MPI returned.
  int settle_some(int rc, int count, const std::vector<int>& ended, int* indices, int& outcount, MPI_Status* statuses) {
    outcount = count;
    for (const int i : ended) {
      set_empty(statuses[outcount]);
      if (rc == MPI_ERR_IN_STATUS) statuses[outcount].MPI_ERROR = MPI_SUCCESS;
      indices[outcount++] = i;
    }
    return settle_listed(outcount, rc, statuses, [&](int k) { return indices[k]; });
  }
  /// Likewise ends request i in a call that completes one. `in_array`: the call takes several.
  int settle_alone(int i, MPI_Status* users, StatusOr& status, bool in_array) {
    users == MPI_STATUS_IGNORE ? ignore_statuses() : set_empty(*users);
    return settle_one(i, MPI_SUCCESS, requests_[i], *status.get(), in_array);
  }
  /// Ends one request of a call that completes any, of which some_under_way_alone(). ask() is as
  /// above, and sets `index` and `rc`. Returns what the call is to return. If the call does not
  /// wait, and none has ended, `index` is MPI_UNDEFINED.
  template <class Ask>
  int settle_any(bool waits, int* index, MPI_Status* users, StatusOr& status, int& rc, Ask&& ask) {
    *index = MPI_UNDEFINED;  // a call that fails may leave it
    bool asked = false;
    const auto ended = some_ended(waits, asked, ask);
    if (asked) return *index >= 0 ? settle_one(*index, rc, requests_[*index], *status.get(), true) : rc;
    *index = ended.empty() ? MPI_UNDEFINED : ended.front();
    return ended.empty() ? MPI_SUCCESS : settle_alone(*index, users, status, true);
  }
  /// Open MPI 4.1 tells an error of a persistent receive only in its status, if it is given
  /// statuses. Calls the error handler for a program that gives none. Returns what the MPI would
  /// have returned.
  int raise_what_statuses_tell(int count, const MPI_Status* statuses) {
#if defined(OPEN_MPI)
    for (int k = 0; k < count; ++k)
      if (const auto* operation = (*this)[k]; operation && statuses[k].MPI_ERROR != MPI_SUCCESS)
        return raise_in_status(operation->errors(), statuses[k].MPI_ERROR);
#else
    (void)count, (void)statuses;
#endif
    return MPI_SUCCESS;
  }
  /// Delivers receives while others are still under way, so that no sender waits for them. Returns
  /// true when all have come if data of GPUs may be among them, else false at once. What a device
  /// fetches may still be under way: the time is for settle_listed().
  bool receive_as_they_come() {
    if (!gpu_announcements()) return false;
    // The sender of a partitioned message may wait for a collective of this call first.
    const bool parts = !some([](const Request& o) { return o.active && o.collective(); });
    std::vector<int> waiting;
    for (std::size_t i = 0; i < operations_.size(); ++i)
      if (const auto* o = operations_[i];
          o && o->active && (o->receives() ? !o->delivered : parts && o->several() && o->has_parts())) {
        waiting.push_back(static_cast<int>(i));
        o->prefetch();
      }
    const WorldReturnsErrors guard;  // the MPI's call afterwards tells the errors
    auto& batch = arriving_.emplace(FetchBatch::Outer::join);
    const auto there = [&](std::size_t k) {
      const int i = waiting[k];
      if (!deliver_if_there(*(*this)[i], requests_[i], batch, i)) return false;
      waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(k));
      return true;
    };
    std::size_t turn = 0;
    unsigned rounds = 0;
    auto last = std::chrono::steady_clock::now();
    for (transport::shm::Patience patience; !waiting.empty();) {
      // Receives that wait for channels do not ask the MPI. The MPI may have to move what others
      // need.
      if (++rounds % polls_between == 0) let_mpi_progress();
      // Most often the receive that was begun first is the first to come. The others have their
      // turns: asking for all of them would take longer than a message. What has come goes
      // together. If no more is there at the moment, and it takes longer to move than to launch, it
      // goes at once.
      bool come = false;
      while (!waiting.empty() && there(0)) come = true;
      if (come && batch.worth_a_launch()) batch.go_on();
      if (waiting.size() > 1) come |= there(1 + turn++ % (waiting.size() - 1));
      const auto now = std::chrono::steady_clock::now();
      if (come) last = now;
      if (waiting.empty() || now - last > moment) batch.go_on();
      if (!come && rounds % rounds_between == 0) progress_others();
      if (come)
        patience.rest();
      else if (waiting.size() <= 2 || turn % (waiting.size() - 1) == 0)
        patience.wait();
    }
    return true;
  }
  /// Waits for what is still under way.
  void finish_arriving() {
    if (!arriving_) return;
    for (const auto& failure : arriving_->finish()) (*this)[failure.index]->failed_later(failure.code);
    arriving_.reset();
  }

 private:
  /// Once in so many rounds without news a call looks at receives that it is not about.
  static constexpr unsigned rounds_between = 8;
  /// What comes within that long goes together.
  static constexpr std::chrono::microseconds moment{3};

  /// So many calls complete requests without the MPI before one lets it make progress.
  static constexpr unsigned calls_between = 16;
  inline static std::atomic<unsigned> calls_without_mpi{0};

  /// After a call without the MPI, which may have to move what other ranks wait for. `done`: the
  /// call has completed what the program asks for, and need not come again.
  static void let_mpi_progress_after(bool done) {
    if (!done || calls_without_mpi.fetch_add(1, std::memory_order_relaxed) % calls_between == 0) let_mpi_progress();
  }

  /// What has come of different operations goes together.
  void fetch_parts() {
    const auto has_parts = [](const Request* o) { return under_way(o) && o->has_parts(); };
    if (std::none_of(operations_.begin(), operations_.end(), has_parts)) return;
    FetchBatch batch(FetchBatch::Outer::join);
    for (std::size_t i = 0; i < operations_.size(); ++i)
      if (has_parts(operations_[i])) operations_[i]->fetch_parts(batch, static_cast<int>(i));
    for (const auto& failure : batch.finish())
      operations_[static_cast<std::size_t>(failure.index)]->failed_later(failure.code);
  }

  template <class F>
  bool some(F&& wanted) const {
    return std::any_of(operations_.begin(), operations_.end(), [&](const auto* o) { return o && wanted(*o); });
  }
  template <class F>
  void take_out(F&& wanted) {
    if (some(wanted)) process->requests.take_out(operations_, wanted);
  }

  /// Whether the MPI need not be asked about a request: it stands alone, or it is persistent, and
  /// not started or started without the MPI.
  bool alone(const Request* o) const {
    if (!o || all_shown_) return false;
    if (!o->persistent) return o->stands_alone();
    if (o->ended_ahead()) return true;
    return o->inner == MPI_REQUEST_NULL && !o->shown() && (!o->active || o->several());
  }
  void show(std::size_t i) {
    auto* operation = operations_[i];
    if (!operation) return;
    if (operation->active) operation->show();
    if (operation->inner != MPI_REQUEST_NULL) requests_[i] = operation->inner;
  }
  static bool under_way(const Request* operation) {
    return operation && operation->active && (operation->several() || operation->ended_ahead());
  }
  /// Whether a FetchBatch may bring data later than complete() returns.
  static bool fetches_later() { return gpu_announcements() || process->sends_to_self.load(std::memory_order_relaxed); }
  /// Delivers receives that this call is not about.
  void progress_others() {
    watched_.reset();
    progress_receives();
    watched_.emplace(operations_, requests_);
  }

  MPI_Request* requests_;
  std::vector<Request*> operations_;
  std::optional<AlsoWatched> watched_;
  std::optional<FetchBatch> arriving_;  // what receive_as_they_come() has begun to fetch
  std::vector<int> freed_;              // the MPI has set the request that stood there to null
  std::vector<int> freed_persistent_;
  bool told_ = true, all_shown_ = false;
  ErrorsOf failed_{};
};

/// Likewise, after a call about the program's own requests that has returned `rc`, and before what
/// it tells of is settled. `told(i)`: whether it tells of request i.
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

}  // namespace

int wait(Hook, decltype(NextTable::MPI_Wait) next, MPI_Request* request, MPI_Status* users) {
  if (nothing_of_ours()) return looked_at(next(request, users));
  const InExchange call;
  Ours operation(1, request, Ours::First::nothing);
  const bool without_mpi = operation.without_mpi();
  if (!without_mpi) {
    finish_sends();
    operation.show();
  }
  if (operation.none()) return next(request, users);
  StatusOr status(users);
  operation.finish(without_mpi);
  if (without_mpi) {
    finish_sends();
    return operation.settle_alone(0, users, status, false);
  }
  const int rc = next(request, status.get());
  operation.restore();
  return operation.settle_one(0, rc, *request, *status.get(), false);
}

int test(Hook, decltype(NextTable::MPI_Test) next, MPI_Request* request, int* flag, MPI_Status* users) {
  if (nothing_of_ours()) return looked_at(next(request, flag, users));
  const InExchange call;
  Ours operation(1, request, Ours::First::nothing);
  const bool without_mpi = flag && operation.without_mpi();
  finish_sends();
  if (!without_mpi) operation.show();
  if (operation.none() || !flag) return next(request, flag, users);
  StatusOr status(users);
  if (without_mpi) {
    *flag = operation.all_ended();
    return *flag ? operation.settle_alone(0, users, status, false) : MPI_SUCCESS;
  }
  operation.go_on();
  const int rc = next(request, flag, status.get());
  operation.restore();
  return rc != MPI_SUCCESS || *flag ? operation.settle_one(0, rc, *request, *status.get(), false) : rc;
}

int waitall(Hook, decltype(NextTable::MPI_Waitall) next, int count, MPI_Request* requests, MPI_Status* users) {
  if (nothing_of_ours()) return looked_at(next(count, requests, users));
  const InExchange call;
  // What this call receives goes with what other messages bring, so sends are finished after it.
  Ours operations(count, requests, Ours::First::nothing);
  const bool without_mpi = operations.without_mpi();
  if (!without_mpi) operations.show_others();
  const bool come = !operations.none() && operations.receive_as_they_come();
  const auto finish_others = [&] {
    if (!operations.none()) operations.finish(without_mpi);
    finish_sends();
  };
  // The receives are settled while a device fetches their data.
  if (without_mpi && come) return operations.settle_all_alone(count, users, finish_others);
  operations.finish_arriving();
  finish_others();
  if (operations.none()) return next(count, requests, users);
  if (without_mpi) return operations.settle_all_alone(count, users, [] {});
  StatusesOr statuses(count, users);
  if (users == MPI_STATUSES_IGNORE)
    for (int k = 0; k < count; ++k) statuses.get()[k].MPI_ERROR = MPI_SUCCESS;
  operations.hide();
  int rc = next(count, requests, statuses.get());
  operations.show_hidden(rc, statuses.get());
  operations.restore();
  if (rc == MPI_SUCCESS && users == MPI_STATUSES_IGNORE)
    rc = operations.raise_what_statuses_tell(count, statuses.get());
  return operations.settle_listed(count, rc, statuses.get(), [](int k) { return k; });
}

int testall(Hook, decltype(NextTable::MPI_Testall) next, int count, MPI_Request* requests, int* flag,
            MPI_Status* users) {
  if (nothing_of_ours()) return looked_at(next(count, requests, flag, users));
  const InExchange call;
  if (may_ask_first() && count > 0 && requests && flag) {
    progress_orphans();
    finish_sends();
    Before before(count, requests);
    StatusesOr statuses(count, users);
    *flag = 0;  // a call that fails may leave it
    const int rc = next(count, requests, flag, statuses.get());
    if (!*flag && rc != MPI_ERR_IN_STATUS) return rc;
    forget_freed(before, rc, count, requests, [&](int i) { return statuses.get()[i].MPI_ERROR != MPI_ERR_PENDING; });
    Ours operations(before.asking, count, before.data());
    return operations.none() ? rc : operations.settle_listed(count, rc, statuses.get(), [](int k) { return k; });
  }
  Ours operations(count, requests, Ours::First::nothing);
  finish_sends();
  const bool without_mpi = operations.without_mpi();
  operations.show_others();
  if (operations.none() || !flag) {
    operations.show();
    return next(count, requests, flag, users);
  }
  *flag = operations.all_ended();
  if (!*flag) {
    operations.restore();
    return MPI_SUCCESS;
  }
  if (without_mpi) return operations.settle_all_alone(count, users, [] {});
  StatusesOr statuses(count, users);
  *flag = 0;  // a call that fails may leave it
  operations.hide();
  const int rc = next(count, requests, flag, statuses.get());
  operations.show_hidden(rc, statuses.get());
  operations.restore();
  return *flag || rc == MPI_ERR_IN_STATUS ? operations.settle_listed(count, rc, statuses.get(), [](int k) { return k; })
                                          : rc;
}

int waitany(Hook, decltype(NextTable::MPI_Waitany) next, int count, MPI_Request* requests, int* index,
            MPI_Status* users) {
  if (nothing_of_ours()) return looked_at(next(count, requests, index, users));
  const InExchange call;
  Ours operations(count, requests, Ours::First::nothing);
  finish_sends();
  StatusOr status(users);
  int rc = MPI_SUCCESS, found = 0;
  const auto ask = [&] {
    rc = process->own.Testany(count, requests, index, &found, status.get());
    return rc != MPI_SUCCESS || (found && *index != MPI_UNDEFINED);
  };
  if (index && operations.some_under_way_alone()) return operations.settle_any(true, index, users, status, rc, ask);
  operations.show();
  if (operations.none() || !index) return next(count, requests, index, users);
  *index = MPI_UNDEFINED;  // a call that fails may leave it
  if (!operations.asked([&] { return ask() || found; })) {
    if (const auto ahead = operations.ended_ahead()) {
      operations.restore();
      *index = *ahead;
      return operations.settle_alone(*index, users, status, true);
    }
    rc = next(count, requests, index, status.get());
  }
  operations.restore();
  return *index >= 0 && *index < count ? operations.settle_one(*index, rc, requests[*index], *status.get(), true) : rc;
}

int testany(Hook, decltype(NextTable::MPI_Testany) next, int count, MPI_Request* requests, int* index, int* flag,
            MPI_Status* users) {
  if (nothing_of_ours()) return looked_at(next(count, requests, index, flag, users));
  const InExchange call;
  if (may_ask_first() && count > 0 && requests && index && flag) {
    progress_orphans();
    finish_sends();
    Before before(count, requests);
    StatusOr status(users);
    *index = MPI_UNDEFINED;  // a call that fails may leave them
    *flag = 0;
    const int rc = next(count, requests, index, flag, status.get());
    if (!*flag || *index < 0 || *index >= count) return rc;
    forget_freed(before, rc, count, requests, [&](int i) { return i == *index; });
    Ours operation(before.asking, 1, before.data() + *index);
    return operation.none() ? rc : operation.settle_one(0, rc, requests[*index], *status.get(), true);
  }
  Ours operations(count, requests, Ours::First::nothing);
  finish_sends();
  StatusOr status(users);
  if (index && flag && operations.some_under_way_alone()) {
    int rc = MPI_SUCCESS;
    const int result = operations.settle_any(false, index, users, status, rc, [&] {
      rc = next(count, requests, index, flag, status.get());
      return rc != MPI_SUCCESS || (*flag && *index != MPI_UNDEFINED);
    });
    *flag = *index != MPI_UNDEFINED;
    return result;
  }
  operations.show();
  if (operations.none() || !index || !flag) return next(count, requests, index, flag, users);
  operations.go_on();
  *index = MPI_UNDEFINED;  // a call that fails may leave them
  *flag = 0;
  const int rc = next(count, requests, index, flag, status.get());
  operations.restore();
  return *flag && *index >= 0 && *index < count
             ? operations.settle_one(*index, rc, requests[*index], *status.get(), true)
             : rc;
}

namespace {

/// MPI_Waitsome and MPI_Testsome. `waits`: the former.
template <class Next>
int complete_some(Next next, bool waits, int incount, MPI_Request* requests, int* outcount, int* indices,
                  MPI_Status* users) {
  if (nothing_of_ours()) return looked_at(next(incount, requests, outcount, indices, users));
  const InExchange call;
  if (!waits && may_ask_first() && incount > 0 && requests && outcount && indices) {
    progress_orphans();
    finish_sends();
    Before before(incount, requests);
    StatusesOr statuses(incount, users);
    *outcount = MPI_UNDEFINED;  // a call that fails may leave it
    const int rc = next(incount, requests, outcount, indices, statuses.get());
    if ((rc != MPI_SUCCESS && rc != MPI_ERR_IN_STATUS) || *outcount == MPI_UNDEFINED || *outcount <= 0) return rc;
    std::vector<MPI_Request> ended;
    for (int k = 0; k < *outcount; ++k) ended.push_back(before.data()[indices[k]]);
    const auto told = [&](int i) { return std::find(indices, indices + *outcount, i) != indices + *outcount; };
    forget_freed(before, rc, incount, requests, told);
    Ours operations(before.asking, *outcount, ended.data());
    return operations.none() ? rc : operations.settle_listed(*outcount, rc, statuses.get(), [](int k) { return k; });
  }
  Ours operations(incount, requests, Ours::First::nothing);
  finish_sends();
  StatusesOr statuses(incount, users);
  int rc = MPI_SUCCESS;
  const auto ask = [&] {
    *outcount = MPI_UNDEFINED;  // a call that fails may leave it
    rc = process->own.Testsome(incount, requests, outcount, indices, statuses.get());
    return rc != MPI_SUCCESS || *outcount != 0;
  };
  if (outcount && indices && operations.some_under_way_alone()) {
    bool asked = false;
    const auto ended =
        operations.some_ended(waits, asked, [&] { return ask() && (rc != MPI_SUCCESS || *outcount != MPI_UNDEFINED); });
    if (rc != MPI_SUCCESS && rc != MPI_ERR_IN_STATUS) return rc;
    if (!asked && users == MPI_STATUSES_IGNORE) operations.ignore_statuses();
    return operations.settle_some(rc, asked ? *outcount : 0, ended, indices, *outcount, statuses.get());
  }
  operations.show();
  if (operations.none() || !outcount || !indices) return next(incount, requests, outcount, indices, users);
  *outcount = MPI_UNDEFINED;  // a call that fails may leave it
  if (!waits) operations.go_on();
  if (!waits || !operations.asked(ask)) {
    if (const auto ahead = operations.ended_ahead()) {
      operations.restore();
      return operations.settle_some(MPI_SUCCESS, 0, {*ahead}, indices, *outcount, statuses.get());
    }
    rc = next(incount, requests, outcount, indices, statuses.get());
  }
  operations.restore();
  if ((rc != MPI_SUCCESS && rc != MPI_ERR_IN_STATUS) || *outcount == MPI_UNDEFINED) return rc;
  return operations.settle_listed(*outcount, rc, statuses.get(), [&](int k) { return indices[k]; });
}

}  // namespace

int waitsome(Hook, decltype(NextTable::MPI_Waitsome) next, int incount, MPI_Request* requests, int* outcount,
             int* indices, MPI_Status* users) {
  return complete_some(next, true, incount, requests, outcount, indices, users);
}

int testsome(Hook, decltype(NextTable::MPI_Testsome) next, int incount, MPI_Request* requests, int* outcount,
             int* indices, MPI_Status* users) {
  return complete_some(next, false, incount, requests, outcount, indices, users);
}

std::optional<int> end_without_mpi(MPI_Request& request) {
  auto* const operation = process->requests.find(key_of(request));
  if (!operation || operation->persistent || !operation->stands_alone() || !operation->go_on_alone())
    return std::nullopt;
  device::Looks::forget();
  MPI_Status unwanted;
  const int code = operation->complete(unwanted, false);
  operation->active = false;
  if (!operation->rest()) delete process->requests.erase(operation->key);
  request = MPI_REQUEST_NULL;
  return code;
}

int cancel(Hook, decltype(NextTable::MPI_Cancel) next, MPI_Request* request) {
  auto* operation = request ? process->requests.find(key_of(*request)) : nullptr;
  // The MPI's own request has not been started. A cancelled send may still succeed, and this one
  // does.
  return operation && (operation->ended_ahead() || operation->cancel()) ? MPI_SUCCESS : next(request);
}

int request_free(Hook, decltype(NextTable::MPI_Request_free) next, MPI_Request* request) {
  progress_orphans();
  device::Looks::forget();  // nobody will tell when the operation ends
  std::unique_ptr<Request> operation;
  if (request) {
    forget_persistent(*request);
    const auto alone = no_progress();
    operation.reset(process->requests.erase(key_of(*request)));
  }
  if (!operation || !operation->active) return next(request);
  operation->measure_no_more();  // nobody waits for its end
  operation->show();
  if (operation->inner != MPI_REQUEST_NULL) {  // the MPI's persistent request has not been started
    operation->persistent = false;
    const auto inner = std::exchange(operation->inner, MPI_REQUEST_NULL);
    adopt_orphan(inner, std::move(operation));
    return next(request);
  }
  adopt_orphan(*request, std::move(operation));
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}

namespace {

/// The request that the MPI is to be asked about. Moves an operation of several messages on.
MPI_Request shown(MPI_Request request) {
  device::Looks::forget();  // the operation may have ended
  auto* operation = process->requests.find(key_of(request));
  if (operation && operation->active) operation->show();
  if (operation && operation->several() && operation->active) operation->go_on();
  return operation && operation->inner != MPI_REQUEST_NULL ? operation->inner : request;
}
std::vector<MPI_Request> shown(int count, const MPI_Request* requests) {
  std::vector<MPI_Request> all(requests, requests + std::max(count, 0));
  for (auto& request : all) request = shown(request);
  return all;
}

/// The places of requests that are complete, and that the MPI takes for inactive.
std::vector<int> ended_ahead(int count, const MPI_Request* requests) {
  std::vector<int> found;
  if (!process->behaviour.asking_ends_persistent) return found;
  for (int i = 0; i < count; ++i) {
    const auto* operation = process->requests.find(key_of(requests[i]));
    if (operation && operation->active && operation->ended_ahead()) found.push_back(i);
  }
  return found;
}

/// Complete means usable: the data must be in place though the request lives on. The call that ends
/// the request tells what went wrong.
void bring(MPI_Request request, MPI_Status& status) {
  auto* operation = process->requests.find(key_of(request));
  if (!operation || !operation->active) return;
  if (operation->brings()) {
    const auto alone = no_progress();
    operation->complete(status);
  } else if (operation->waits_for_receiver()) {
    operation->keep_error(operation->complete(status));
  }
}

}  // namespace

int request_get_status(Hook, decltype(NextTable::MPI_Request_get_status) next, MPI_Request request, int* flag,
                       MPI_Status* users) {
  if (nothing_of_ours()) return next(request, flag, users);
  progress_orphans();
  finish_sends();
  StatusOr status(users);
  const int rc = next(shown(request), flag, status.get());
  if (rc == MPI_SUCCESS && *flag) bring(request, *status.get());
  return rc;
}

int request_get_status_all(Hook, decltype(NextTable::MPI_Request_get_status_all) next, int count,
                           const MPI_Request* requests, int* flag, MPI_Status* users) {
  if (nothing_of_ours()) return next(count, requests, flag, users);
  progress_orphans();
  finish_sends();
  StatusesOr statuses(count, users);
  const int rc = next(count, shown(count, requests).data(), flag, statuses.get());
  for (int i = 0; rc == MPI_SUCCESS && *flag && i < count; ++i) bring(requests[i], statuses.get()[i]);
  return rc;
}

int request_get_status_any(Hook, decltype(NextTable::MPI_Request_get_status_any) next, int count,
                           const MPI_Request* requests, int* index, int* flag, MPI_Status* users) {
  if (nothing_of_ours()) return next(count, requests, index, flag, users);
  progress_orphans();
  finish_sends();
  StatusOr status(users);
  if (const auto ahead = ended_ahead(count, requests); !ahead.empty()) {
    *flag = 1;
    *index = ahead.front();
    set_empty(*status.get());
    bring(requests[*index], *status.get());
    return MPI_SUCCESS;
  }
  const int rc = next(count, shown(count, requests).data(), index, flag, status.get());
  if (rc == MPI_SUCCESS && *flag && *index >= 0 && *index < count) bring(requests[*index], *status.get());
  return rc;
}

int request_get_status_some(Hook, decltype(NextTable::MPI_Request_get_status_some) next, int incount,
                            const MPI_Request* requests, int* outcount, int* indices, MPI_Status* users) {
  if (nothing_of_ours()) return next(incount, requests, outcount, indices, users);
  progress_orphans();
  finish_sends();
  StatusesOr statuses(incount, users);
  if (const auto ahead = ended_ahead(incount, requests); !ahead.empty()) {
    std::copy(ahead.begin(), ahead.end(), indices);
    *outcount = static_cast<int>(ahead.size());
    for (int k = 0; k < *outcount; ++k) {
      set_empty(statuses.get()[k]);
      bring(requests[indices[k]], statuses.get()[k]);
    }
    return MPI_SUCCESS;
  }
  const int rc = next(incount, shown(incount, requests).data(), outcount, indices, statuses.get());
  if (rc == MPI_SUCCESS && *outcount != MPI_UNDEFINED)
    for (int k = 0; k < *outcount; ++k) bring(requests[indices[k]], statuses.get()[k]);
  return rc;
}

}  // namespace dunnage::mpi
