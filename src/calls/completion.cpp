#include "calls/completion.hpp"

#include "calls/accept.hpp"
#include "calls/orphans.hpp"

namespace dunnage::calls {
namespace {

using engine::Operation;

Operation* ours(const MPI_Request* request) {
  progress_orphans();
  return request ? context->operations.find(key_of(*request)) : nullptr;
}

/// Our operations among some requests, by index; empty where there are none.
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
  }
  bool none() const { return operations_.empty(); }
  Operation* operator[](int i) const { return operations_[static_cast<std::size_t>(i)]; }

 private:
  std::vector<Operation*> operations_;
};

/// The caller's statuses, or as many of our own.
class StatusesOr {
 public:
  StatusesOr(int count, MPI_Status* users) : statuses_(users) {
    if (users != MPI_STATUSES_IGNORE) return;
    own_.resize(static_cast<std::size_t>(std::max(count, 1)));
    statuses_ = own_.data();
  }
  MPI_Status* get() { return statuses_; }
  const MPI_Status& operator[](int i) const { return statuses_[i]; }

 private:
  std::vector<MPI_Status> own_;
  MPI_Status* statuses_;
};

/// The MPI has completed the request. `status` is null where it ended in an error: then nothing is delivered.
void complete(Operation* operation, const MPI_Status* status) {
  if (!operation || !operation->active) return;
  if (status && operation->kind == Operation::Kind::receive) operation->deliver(received_bytes(*status));
  operation->active = false;
  if (!operation->persistent) delete context->operations.erase(operation->key);
}

/// One request, after a call that completed it if `request` or `done` says so.
void complete_one(Operation* operation, int rc, bool done, MPI_Request request, const MPI_Status& status) {
  if (rc == MPI_SUCCESS && done)
    complete(operation, &status);
  else if (rc != MPI_SUCCESS && (operation->persistent || request == MPI_REQUEST_NULL))
    complete(operation, nullptr);
}

/// All or some requests, after a call that returned `rc` with `status` for this one.
void complete_listed(Operation* operation, int rc, const MPI_Status& status) {
  if (rc == MPI_SUCCESS)
    complete(operation, &status);
  else if (rc == MPI_ERR_IN_STATUS && status.MPI_ERROR != MPI_ERR_PENDING)
    complete(operation, status.MPI_ERROR == MPI_SUCCESS ? &status : nullptr);
}

}  // namespace

int wait(Hook, decltype(NextTable::MPI_Wait) next, MPI_Request* request, MPI_Status* users) {
  auto* operation = ours(request);
  if (!operation) return next(request, users);
  StatusesOr status(1, users == MPI_STATUS_IGNORE ? MPI_STATUSES_IGNORE : users);
  const int rc = next(request, status.get());
  complete_one(operation, rc, true, *request, status[0]);
  return rc;
}

int test(Hook, decltype(NextTable::MPI_Test) next, MPI_Request* request, int* flag, MPI_Status* users) {
  auto* operation = ours(request);
  if (!operation) return next(request, flag, users);
  StatusesOr status(1, users == MPI_STATUS_IGNORE ? MPI_STATUSES_IGNORE : users);
  const int rc = next(request, flag, status.get());
  complete_one(operation, rc, *flag != 0, *request, status[0]);
  return rc;
}

int waitall(Hook, decltype(NextTable::MPI_Waitall) next, int count, MPI_Request* requests, MPI_Status* users) {
  const Ours operations(count, requests);
  if (operations.none()) return next(count, requests, users);
  StatusesOr statuses(count, users);
  const int rc = next(count, requests, statuses.get());
  for (int i = 0; i < count; ++i)
    if (operations[i]) complete_listed(operations[i], rc, statuses[i]);
  return rc;
}

int testall(Hook, decltype(NextTable::MPI_Testall) next, int count, MPI_Request* requests, int* flag, MPI_Status* users) {
  const Ours operations(count, requests);
  if (operations.none()) return next(count, requests, flag, users);
  StatusesOr statuses(count, users);
  const int rc = next(count, requests, flag, statuses.get());
  if (*flag || rc == MPI_ERR_IN_STATUS)
    for (int i = 0; i < count; ++i)
      if (operations[i]) complete_listed(operations[i], rc, statuses[i]);
  return rc;
}

int waitany(Hook, decltype(NextTable::MPI_Waitany) next, int count, MPI_Request* requests, int* index, MPI_Status* users) {
  const Ours operations(count, requests);
  if (operations.none()) return next(count, requests, index, users);
  StatusesOr status(1, users == MPI_STATUS_IGNORE ? MPI_STATUSES_IGNORE : users);
  const int rc = next(count, requests, index, status.get());
  if (*index != MPI_UNDEFINED && *index >= 0 && *index < count && operations[*index])
    complete_one(operations[*index], rc, true, requests[*index], status[0]);
  return rc;
}

int testany(Hook, decltype(NextTable::MPI_Testany) next, int count, MPI_Request* requests, int* index, int* flag,
            MPI_Status* users) {
  const Ours operations(count, requests);
  if (operations.none()) return next(count, requests, index, flag, users);
  StatusesOr status(1, users == MPI_STATUS_IGNORE ? MPI_STATUSES_IGNORE : users);
  const int rc = next(count, requests, index, flag, status.get());
  if (*flag && *index != MPI_UNDEFINED && *index >= 0 && *index < count && operations[*index])
    complete_one(operations[*index], rc, true, requests[*index], status[0]);
  return rc;
}

int waitsome(Hook, decltype(NextTable::MPI_Waitsome) next, int incount, MPI_Request* requests, int* outcount, int* indices,
             MPI_Status* users) {
  const Ours operations(incount, requests);
  if (operations.none()) return next(incount, requests, outcount, indices, users);
  StatusesOr statuses(incount, users);
  const int rc = next(incount, requests, outcount, indices, statuses.get());
  if ((rc == MPI_SUCCESS || rc == MPI_ERR_IN_STATUS) && *outcount != MPI_UNDEFINED)
    for (int k = 0; k < *outcount; ++k)
      if (operations[indices[k]]) complete_listed(operations[indices[k]], rc, statuses[k]);
  return rc;
}

int testsome(Hook hook, decltype(NextTable::MPI_Testsome) next, int incount, MPI_Request* requests, int* outcount,
             int* indices, MPI_Status* users) {
  return waitsome(hook, next, incount, requests, outcount, indices, users);  // alike but for the waiting
}

int request_free(Hook, decltype(NextTable::MPI_Request_free) next, MPI_Request* request) {
  auto* operation = ours(request);
  if (!operation) return next(request);
  context->operations.erase(operation->key);
  std::unique_ptr<Operation> own(operation);
  if (!own->active) return next(request);
  adopt_orphan(*request, std::move(own));
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}

int request_get_status(Hook, decltype(NextTable::MPI_Request_get_status) next, MPI_Request request, int* flag,
                       MPI_Status* users) {
  auto* operation = ours(&request);
  if (!operation) return next(request, flag, users);
  StatusesOr status(1, users == MPI_STATUS_IGNORE ? MPI_STATUSES_IGNORE : users);
  const int rc = next(request, flag, status.get());
  // Complete means usable: the data must be in the user's buffer though the request lives on.
  if (rc == MPI_SUCCESS && *flag && operation->active && operation->kind == Operation::Kind::receive)
    operation->deliver(received_bytes(status[0]));
  return rc;
}

}  // namespace dunnage::calls
