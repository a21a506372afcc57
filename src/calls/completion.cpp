#include "calls/completion.hpp"

#include "calls/accept.hpp"
#include "calls/orphans.hpp"
#include "calls/status.hpp"

namespace dunnage::calls {
namespace {

using engine::Operation;

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
  Ours(int count, const MPI_Request* requests) {
    progress_orphans();
    if (context->operations.empty() || !requests) return;
    for (int i = 0; i < count; ++i) {
      auto* operation = context->operations.find(key_of(requests[i]));
      if (!operation) continue;
      if (operations_.empty()) operations_.resize(static_cast<std::size_t>(count));
      operations_[static_cast<std::size_t>(i)] = operation;
    }
    if (!none()) context->operations.take_out(operations_, [](const Operation& o) { return !o.persistent; });
  }
  Ours(const Ours&) = delete;
  Ours& operator=(const Ours&) = delete;
  ~Ours() {
    if (!none()) context->operations.put_back(operations_, [](const Operation& o) { return !o.persistent; });
    progress_orphans();
  }
  bool none() const { return operations_.empty(); }
  Operation* operator[](int i) const { return operations_[static_cast<std::size_t>(i)]; }

  /// The MPI has completed request i. `status` is null where it ended in an error: then nothing is delivered.
  void complete(int i, const MPI_Status* status) {
    auto*& operation = operations_[static_cast<std::size_t>(i)];
    if (!operation || !operation->active) return;
    if (status && operation->kind == Operation::Kind::receive) operation->deliver(received_bytes(*status));
    operation->active = false;
    if (operation->persistent) return;
    delete operation;
    operation = nullptr;
  }
  /// Request i, after a call about one request.
  void settle_one(int i, int rc, MPI_Request request, const MPI_Status& status) {
    auto* operation = (*this)[i];
    if (rc == MPI_SUCCESS)
      complete(i, &status);
    else if (operation && (operation->persistent || request == MPI_REQUEST_NULL))
      complete(i, nullptr);
  }
  /// Request i, after a call about several that returned `rc`.
  void settle_listed(int i, int rc, const MPI_Status& status) {
    if (rc == MPI_SUCCESS)
      complete(i, &status);
    else if (rc == MPI_ERR_IN_STATUS && status.MPI_ERROR != MPI_ERR_PENDING)
      complete(i, status.MPI_ERROR == MPI_SUCCESS ? &status : nullptr);
  }

 private:
  std::vector<Operation*> operations_;
};

}  // namespace

int wait(Hook, decltype(NextTable::MPI_Wait) next, MPI_Request* request, MPI_Status* users) {
  if (nothing_of_ours()) return next(request, users);
  Ours operation(1, request);
  if (operation.none()) return next(request, users);
  StatusOr status(users);
  const int rc = next(request, status.get());
  operation.settle_one(0, rc, *request, *status);
  return rc;
}

int test(Hook, decltype(NextTable::MPI_Test) next, MPI_Request* request, int* flag, MPI_Status* users) {
  if (nothing_of_ours()) return next(request, flag, users);
  Ours operation(1, request);
  if (operation.none() || !flag) return next(request, flag, users);
  StatusOr status(users);
  const int rc = next(request, flag, status.get());
  if (rc != MPI_SUCCESS || *flag) operation.settle_one(0, rc, *request, *status);
  return rc;
}

int waitall(Hook, decltype(NextTable::MPI_Waitall) next, int count, MPI_Request* requests, MPI_Status* users) {
  if (nothing_of_ours()) return next(count, requests, users);
  Ours operations(count, requests);
  if (operations.none()) return next(count, requests, users);
  StatusesOr statuses(count, users);
  const int rc = next(count, requests, statuses.get());
  for (int i = 0; i < count; ++i) operations.settle_listed(i, rc, statuses[i]);
  return rc;
}

int testall(Hook, decltype(NextTable::MPI_Testall) next, int count, MPI_Request* requests, int* flag, MPI_Status* users) {
  if (nothing_of_ours()) return next(count, requests, flag, users);
  Ours operations(count, requests);
  if (operations.none() || !flag) return next(count, requests, flag, users);
  StatusesOr statuses(count, users);
  *flag = 0;  // a call that fails may leave it
  const int rc = next(count, requests, flag, statuses.get());
  if (*flag || rc == MPI_ERR_IN_STATUS)
    for (int i = 0; i < count; ++i) operations.settle_listed(i, rc, statuses[i]);
  return rc;
}

int waitany(Hook, decltype(NextTable::MPI_Waitany) next, int count, MPI_Request* requests, int* index, MPI_Status* users) {
  if (nothing_of_ours()) return next(count, requests, index, users);
  Ours operations(count, requests);
  if (operations.none() || !index) return next(count, requests, index, users);
  StatusOr status(users);
  *index = MPI_UNDEFINED;  // a call that fails may leave it
  const int rc = next(count, requests, index, status.get());
  if (*index >= 0 && *index < count) operations.settle_one(*index, rc, requests[*index], *status);
  return rc;
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
  if (*flag && *index >= 0 && *index < count) operations.settle_one(*index, rc, requests[*index], *status);
  return rc;
}

int waitsome(Hook, decltype(NextTable::MPI_Waitsome) next, int incount, MPI_Request* requests, int* outcount, int* indices,
             MPI_Status* users) {
  if (nothing_of_ours()) return next(incount, requests, outcount, indices, users);
  Ours operations(incount, requests);
  if (operations.none() || !outcount || !indices) return next(incount, requests, outcount, indices, users);
  StatusesOr statuses(incount, users);
  *outcount = MPI_UNDEFINED;  // a call that fails may leave it
  const int rc = next(incount, requests, outcount, indices, statuses.get());
  if ((rc == MPI_SUCCESS || rc == MPI_ERR_IN_STATUS) && *outcount != MPI_UNDEFINED)
    for (int k = 0; k < *outcount; ++k) operations.settle_listed(indices[k], rc, statuses[k]);
  return rc;
}

int testsome(Hook hook, decltype(NextTable::MPI_Testsome) next, int incount, MPI_Request* requests, int* outcount,
             int* indices, MPI_Status* users) {
  return waitsome(hook, next, incount, requests, outcount, indices, users);  // alike but for the waiting
}

int request_free(Hook, decltype(NextTable::MPI_Request_free) next, MPI_Request* request) {
  progress_orphans();
  std::unique_ptr<Operation> operation(request ? context->operations.erase(key_of(*request)) : nullptr);
  if (!operation || !operation->active) return next(request);
  adopt_orphan(*request, std::move(operation));
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}

namespace {

/// Complete means usable: the data must be in the user's buffer though the request lives on.
void bring(MPI_Request request, const MPI_Status& status) {
  auto* operation = context->operations.find(key_of(request));
  if (operation && operation->active && operation->kind == Operation::Kind::receive) operation->deliver(received_bytes(status));
}

}  // namespace

int request_get_status(Hook, decltype(NextTable::MPI_Request_get_status) next, MPI_Request request, int* flag,
                       MPI_Status* users) {
  if (nothing_of_ours()) return next(request, flag, users);
  progress_orphans();
  StatusOr status(users);
  const int rc = next(request, flag, status.get());
  if (rc == MPI_SUCCESS && *flag) bring(request, *status);
  return rc;
}

int request_get_status_all(Hook, decltype(NextTable::MPI_Request_get_status_all) next, int count,
                           const MPI_Request* requests, int* flag, MPI_Status* users) {
  if (nothing_of_ours()) return next(count, requests, flag, users);
  progress_orphans();
  StatusesOr statuses(count, users);
  const int rc = next(count, requests, flag, statuses.get());
  for (int i = 0; rc == MPI_SUCCESS && *flag && i < count; ++i) bring(requests[i], statuses[i]);
  return rc;
}

int request_get_status_any(Hook, decltype(NextTable::MPI_Request_get_status_any) next, int count,
                           const MPI_Request* requests, int* index, int* flag, MPI_Status* users) {
  if (nothing_of_ours()) return next(count, requests, index, flag, users);
  progress_orphans();
  StatusOr status(users);
  const int rc = next(count, requests, index, flag, status.get());
  if (rc == MPI_SUCCESS && *flag && *index >= 0 && *index < count) bring(requests[*index], *status);
  return rc;
}

int request_get_status_some(Hook, decltype(NextTable::MPI_Request_get_status_some) next, int incount,
                            const MPI_Request* requests, int* outcount, int* indices, MPI_Status* users) {
  if (nothing_of_ours()) return next(incount, requests, outcount, indices, users);
  progress_orphans();
  StatusesOr statuses(incount, users);
  const int rc = next(incount, requests, outcount, indices, statuses.get());
  if (rc == MPI_SUCCESS && *outcount != MPI_UNDEFINED)
    for (int k = 0; k < *outcount; ++k) bring(requests[indices[k]], statuses[k]);
  return rc;
}

}  // namespace dunnage::calls
