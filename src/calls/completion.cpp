#include "calls/completion.hpp"

#include "calls/arrival.hpp"
#include "calls/orphans.hpp"
#include "calls/progress.hpp"
#include "calls/status.hpp"

namespace dunnage::calls {
namespace {

/// Nothing of ours behind any request.
bool nothing_of_ours() {
  return context->operations.empty() && !context->attention.load(std::memory_order_relaxed);
}

/// Our operations among some requests, by index; empty where there are none.
///
/// While a call is about them they are not in the table: once the MPI has completed a request its handle may be another
/// thread's new one before the call has returned to us. What was not completed is put back. A persistent request's
/// handle stays what it is until it is freed, so its operation stays too.
class Ours {
 public:
  Ours(int count, MPI_Request* requests) : requests_(requests) {
    progress_orphans();
    if (context->operations.empty() || !requests) return;
    const auto alone = no_progress();
    for (int i = 0; i < count; ++i) {
      auto* operation = context->operations.find(key_of(requests[i]));
      if (!operation) continue;
      if (operations_.empty()) operations_.resize(static_cast<std::size_t>(count));
      operations_[static_cast<std::size_t>(i)] = operation;
    }
    if (none()) return;
    context->operations.take_out(operations_, [](const engine::Operation& o) { return !o.persistent; });
    for (int i = 0; i < count; ++i)
      if (auto* operation = (*this)[i]; operation && operation->by_ticket) requests[i] = handle_of<MPI_Request>(operation->inner);
  }
  Ours(const Ours&) = delete;
  Ours& operator=(const Ours&) = delete;
  ~Ours() {
    restore();
    if (!none()) context->operations.put_back(operations_, [](const engine::Operation& o) { return !o.persistent; });
    for (const auto* operation : operations_)
      if (operation && !operation->delivered) look_after(*operation);
    progress_orphans();
  }
  bool none() const { return operations_.empty(); }
  /// After the MPI's call: the requests that it was shown in place of the user's are the user's again.
  void restore() {
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      auto* operation = operations_[i];
      if (!operation || !operation->by_ticket || key_of(requests_[i]) == operation->key) continue;
      if (requests_[i] == MPI_REQUEST_NULL) operation->by_ticket = false;
      requests_[i] = handle_of<MPI_Request>(operation->key);
    }
  }
  engine::Operation* operator[](int i) const { return operations_[static_cast<std::size_t>(i)]; }

  /// The MPI has completed request i. `status` is null where it ended in an error: then nothing is delivered. Returns an error of
  /// our own; whose handler is to be called is then in failed_.
  int complete(int i, MPI_Status* status) {
    auto*& operation = operations_[static_cast<std::size_t>(i)];
    if (!operation || !operation->active) return MPI_SUCCESS;
    MPI_Status none;
    // A send that failed may have a receiver all the same, which reads its data.
    if (!status && operation->kind == engine::Operation::Kind::ticket && context->own.Status_set_cancelled(&none, 0) == MPI_SUCCESS) arrive(*operation, none);
    const int error = status ? arrive(*operation, *status) : MPI_SUCCESS;
    if (error != MPI_SUCCESS) failed_ = errors_of(*operation);
    operation->active = false;
    if (operation->persistent) return error;
    delete operation;
    operation = nullptr;
    return error;
  }
  /// Request i, after a call about one request. Returns what the call is to return.
  int settle_one(int i, int rc, MPI_Request request, MPI_Status& status) {
    auto* operation = (*this)[i];
    if (rc == MPI_SUCCESS) {
      if (const int error = complete(i, &status); error != MPI_SUCCESS) return raise(failed_, error);
    } else if (operation && (operation->persistent || request == MPI_REQUEST_NULL)) {
      complete(i, nullptr);
    }
    return rc;
  }
  /// Requests that a call about several has completed, and returned `rc`: `index(k)` is the one of status k. Returns what the call is
  /// to return.
  template <class Index>
  int settle_listed(int count, int rc, MPI_Status* statuses, Index&& index) {
    int result = rc;
    const bool listed = rc == MPI_ERR_IN_STATUS;
    const auto fail = [&](int k, int error) {
      if (result == MPI_SUCCESS)  // now every status tells
        for (int j = 0; j < count; ++j) statuses[j].MPI_ERROR = MPI_SUCCESS;
      statuses[k].MPI_ERROR = error;
      result = MPI_ERR_IN_STATUS;
    };
    std::vector<ErrorsOf> errors(gpu_tickets() ? static_cast<std::size_t>(count) : 0);
    // Sends last: they may wait for a receiver that waits for what this process receives.
    for (const bool receives : {true, false}) {
      FetchBatch batch;
      for (int k = 0; k < count; ++k) {
        const auto& status = statuses[k];
        const auto* operation = (*this)[index(k)];
        if (!operation || operation->receives() != receives || (rc != MPI_SUCCESS && !(listed && status.MPI_ERROR != MPI_ERR_PENDING))) continue;
        const bool well = !listed || status.MPI_ERROR == MPI_SUCCESS;
        batch.about(k);
        if (!errors.empty()) errors[static_cast<std::size_t>(k)] = errors_of(*operation);
        if (const int error = complete(index(k), well ? &statuses[k] : nullptr); error != MPI_SUCCESS) fail(k, error);
      }
      for (const auto& failure : batch.finish()) {
        failed_ = errors[static_cast<std::size_t>(failure.index)];
        fail(failure.index, failure.code);
      }
    }
    return result == rc ? rc : raise(failed_, result);
  }
  /// Of receives: what comes is put where it belongs while the others are still under way, so that no sender waits for them. Returns when all are
  /// there, where data of GPUs may be among them; else at once.
  void receive_as_they_come() {
    if (!gpu_tickets()) return;
    std::vector<int> waiting;
    for (std::size_t i = 0; i < operations_.size(); ++i)
      if (const auto* o = operations_[i]; o && o->receives() && o->active && !o->delivered) waiting.push_back(static_cast<int>(i));
    FetchBatch batch;
    const auto there = [&](std::size_t k) {
      const int i = waiting[k];
      if (!arrive_if_there(*(*this)[i], requests_[i], batch, i)) return false;
      waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(k));
      return true;
    };
    std::size_t turn = 0;
    for (transport::shm::Patience patience; !waiting.empty();) {
      // Most often the first that was begun is the first to come. The others have their turns: asking for all of them would take longer than a message.
      // What has come is begun with at once where nothing is under way, else a few at a time.
      bool come = false;
      for (int n = 0; !waiting.empty() && there(0); come = true)
        if (++n % 4 == 0 || batch.rests()) batch.go_on();
      if (waiting.size() > 1) come |= there(1 + turn++ % (waiting.size() - 1));
      batch.go_on();
      progress_receives();  // others: these are in no table now
      if (come)
        patience.rest();
      else if (waiting.size() <= 2 || turn % (waiting.size() - 1) == 0)
        patience.wait();
    }
    for (const auto& failure : batch.finish()) (*this)[failure.index]->error = failure.code;
  }

 private:
  MPI_Request* requests_;
  std::vector<engine::Operation*> operations_;
  ErrorsOf failed_{};
};

}  // namespace

int wait(Hook, decltype(NextTable::MPI_Wait) next, MPI_Request* request, MPI_Status* users) {
  if (nothing_of_ours()) return next(request, users);
  Ours operation(1, request);
  if (operation.none()) return next(request, users);
  StatusOr status(users);
  const int rc = next(request, status.get());
  operation.restore();
  return operation.settle_one(0, rc, *request, *status.get());
}

int test(Hook, decltype(NextTable::MPI_Test) next, MPI_Request* request, int* flag, MPI_Status* users) {
  if (nothing_of_ours()) return next(request, flag, users);
  Ours operation(1, request);
  if (operation.none() || !flag) return next(request, flag, users);
  StatusOr status(users);
  const int rc = next(request, flag, status.get());
  operation.restore();
  return rc != MPI_SUCCESS || *flag ? operation.settle_one(0, rc, *request, *status.get()) : rc;
}

int waitall(Hook, decltype(NextTable::MPI_Waitall) next, int count, MPI_Request* requests, MPI_Status* users) {
  if (nothing_of_ours()) return next(count, requests, users);
  Ours operations(count, requests);
  if (operations.none()) return next(count, requests, users);
  operations.receive_as_they_come();
  StatusesOr statuses(count, users);
  const int rc = next(count, requests, statuses.get());
  operations.restore();
  return operations.settle_listed(count, rc, statuses.get(), [](int k) { return k; });
}

int testall(Hook, decltype(NextTable::MPI_Testall) next, int count, MPI_Request* requests, int* flag, MPI_Status* users) {
  if (nothing_of_ours()) return next(count, requests, flag, users);
  Ours operations(count, requests);
  if (operations.none() || !flag) return next(count, requests, flag, users);
  StatusesOr statuses(count, users);
  *flag = 0;  // a call that fails may leave it
  const int rc = next(count, requests, flag, statuses.get());
  operations.restore();
  return *flag || rc == MPI_ERR_IN_STATUS ? operations.settle_listed(count, rc, statuses.get(), [](int k) { return k; }) : rc;
}

int waitany(Hook, decltype(NextTable::MPI_Waitany) next, int count, MPI_Request* requests, int* index, MPI_Status* users) {
  if (nothing_of_ours()) return next(count, requests, index, users);
  Ours operations(count, requests);
  if (operations.none() || !index) return next(count, requests, index, users);
  StatusOr status(users);
  *index = MPI_UNDEFINED;  // a call that fails may leave it
  const int rc = next(count, requests, index, status.get());
  operations.restore();
  return *index >= 0 && *index < count ? operations.settle_one(*index, rc, requests[*index], *status.get()) : rc;
}

int testany(Hook, decltype(NextTable::MPI_Testany) next, int count, MPI_Request* requests, int* index, int* flag,
            MPI_Status* users) {
  if (nothing_of_ours()) return next(count, requests, index, flag, users);
  Ours operations(count, requests);
  if (operations.none() || !index || !flag) return next(count, requests, index, flag, users);
  StatusOr status(users);
  *index = MPI_UNDEFINED;  // a call that fails may leave them
  *flag = 0;
  const int rc = next(count, requests, index, flag, status.get());
  operations.restore();
  return *flag && *index >= 0 && *index < count ? operations.settle_one(*index, rc, requests[*index], *status.get()) : rc;
}

int waitsome(Hook, decltype(NextTable::MPI_Waitsome) next, int incount, MPI_Request* requests, int* outcount, int* indices,
             MPI_Status* users) {
  if (nothing_of_ours()) return next(incount, requests, outcount, indices, users);
  Ours operations(incount, requests);
  if (operations.none() || !outcount || !indices) return next(incount, requests, outcount, indices, users);
  StatusesOr statuses(incount, users);
  *outcount = MPI_UNDEFINED;  // a call that fails may leave it
  const int rc = next(incount, requests, outcount, indices, statuses.get());
  operations.restore();
  if ((rc != MPI_SUCCESS && rc != MPI_ERR_IN_STATUS) || *outcount == MPI_UNDEFINED) return rc;
  return operations.settle_listed(*outcount, rc, statuses.get(), [&](int k) { return indices[k]; });
}

int testsome(Hook hook, decltype(NextTable::MPI_Testsome) next, int incount, MPI_Request* requests, int* outcount,
             int* indices, MPI_Status* users) {
  return waitsome(hook, next, incount, requests, outcount, indices, users);  // alike but for the waiting
}

int cancel(Hook, decltype(NextTable::MPI_Cancel) next, MPI_Request* request) {
  const auto* operation = request ? context->operations.find(key_of(*request)) : nullptr;
  // The MPI's own request has not been started. A cancelled send may still succeed, and this one does.
  return operation && operation->by_ticket ? MPI_SUCCESS : next(request);
}

int request_free(Hook, decltype(NextTable::MPI_Request_free) next, MPI_Request* request) {
  progress_orphans();
  const auto alone = no_progress();
  std::unique_ptr<engine::Operation> operation(request ? context->operations.erase(key_of(*request)) : nullptr);
  if (!operation || !operation->active) return next(request);
  if (operation->by_ticket) {  // the MPI's persistent request has not been started
    operation->persistent = operation->by_ticket = false;
    const auto inner = handle_of<MPI_Request>(operation->inner);
    adopt_orphan(inner, std::move(operation));
    return next(request);
  }
  adopt_orphan(*request, std::move(operation));
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}

namespace {

/// A request as the MPI is to be asked about it.
MPI_Request shown(MPI_Request request) {
  const auto* operation = context->operations.find(key_of(request));
  return operation && operation->by_ticket ? handle_of<MPI_Request>(operation->inner) : request;
}
std::vector<MPI_Request> shown(int count, const MPI_Request* requests) {
  std::vector<MPI_Request> all(requests, requests + std::max(count, 0));
  for (auto& request : all) request = shown(request);
  return all;
}

/// Complete means usable: the data must be in the user's buffer though the request lives on. What went wrong is told when it ends.
void bring(MPI_Request request, MPI_Status& status) {
  auto* operation = context->operations.find(key_of(request));
  if (!operation || !operation->active) return;
  auto* ticket = ticket_of(*operation);
  if (operation->brings()) {
    const auto alone = no_progress();
    arrive(*operation, status);
  }
  if (ticket && ticket->gpu) ticket->error = arrive(*operation, status);
}

}  // namespace

int request_get_status(Hook, decltype(NextTable::MPI_Request_get_status) next, MPI_Request request, int* flag,
                       MPI_Status* users) {
  if (nothing_of_ours()) return next(request, flag, users);
  progress_orphans();
  StatusOr status(users);
  const int rc = next(shown(request), flag, status.get());
  if (rc == MPI_SUCCESS && *flag) bring(request, *status.get());
  return rc;
}

int request_get_status_all(Hook, decltype(NextTable::MPI_Request_get_status_all) next, int count,
                           const MPI_Request* requests, int* flag, MPI_Status* users) {
  if (nothing_of_ours()) return next(count, requests, flag, users);
  progress_orphans();
  StatusesOr statuses(count, users);
  const int rc = next(count, shown(count, requests).data(), flag, statuses.get());
  for (int i = 0; rc == MPI_SUCCESS && *flag && i < count; ++i) bring(requests[i], statuses.get()[i]);
  return rc;
}

int request_get_status_any(Hook, decltype(NextTable::MPI_Request_get_status_any) next, int count,
                           const MPI_Request* requests, int* index, int* flag, MPI_Status* users) {
  if (nothing_of_ours()) return next(count, requests, index, flag, users);
  progress_orphans();
  StatusOr status(users);
  const int rc = next(count, shown(count, requests).data(), index, flag, status.get());
  if (rc == MPI_SUCCESS && *flag && *index >= 0 && *index < count) bring(requests[*index], *status.get());
  return rc;
}

int request_get_status_some(Hook, decltype(NextTable::MPI_Request_get_status_some) next, int incount,
                            const MPI_Request* requests, int* outcount, int* indices, MPI_Status* users) {
  if (nothing_of_ours()) return next(incount, requests, outcount, indices, users);
  progress_orphans();
  StatusesOr statuses(incount, users);
  const int rc = next(incount, shown(incount, requests).data(), outcount, indices, statuses.get());
  if (rc == MPI_SUCCESS && *outcount != MPI_UNDEFINED)
    for (int k = 0; k < *outcount; ++k) bring(requests[indices[k]], statuses.get()[k]);
  return rc;
}

}  // namespace dunnage::calls
