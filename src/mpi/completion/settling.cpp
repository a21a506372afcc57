// What a call tells the program of the operations that have ended.
#include <algorithm>
#include <utility>

#include "mpi/completion/own_operations.hpp"
#include "mpi/message/handle.hpp"
#include "mpi/process/error.hpp"
#include "mpi/process/gpu_use.hpp"

namespace dunnage::mpi {
namespace {

/// Whether a FetchBatch may bring data later than complete() returns.
bool fetches_later() { return gpu_announcements() || process->sends_to_self.load(std::memory_order_relaxed); }

}  // namespace

/// Request i has ended, or the MPI has completed it, perhaps with an error `of_mpi`; then nothing
/// is delivered. Returns an error of our own; failed_ then names whose handler is to be called.
int OwnOperations::complete(int i, MPI_Status& status, int of_mpi) {
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
  operation->in_call = nullptr;
  if (!stays || !operation->rest()) {
    if (stays) process->requests.erase(operation->key);
    delete operation;
  }
  operation = nullptr;
  return error;
}

/// Nobody has told how request i ended.
void OwnOperations::end_untold(int i) {
  MPI_Status unknown{};
  set_empty(unknown);
  complete(i, unknown, MPI_ERR_OTHER);
}

int OwnOperations::settle_one(int i, int rc, MPI_Request request, MPI_Status& status, bool in_array) {
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

int OwnOperations::settle_listed(int count, int rc, MPI_Status* statuses, base::FunctionRef<int(int)> index,
                                 base::FunctionRef<void()> received) {
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
  const bool later = fetches_later();
  std::vector<ErrorsOf> errors(later ? static_cast<std::size_t>(count) : 0);
  // Sends last: they may wait for a receiver that waits for what this process receives.
  for (const bool receives : {true, false}) {
    std::optional<FetchBatch> own;
    auto* const batch = receives && arriving_ ? &*arriving_ : later ? &own.emplace(FetchBatch::Outer::join) : nullptr;
    for (int k = 0; k < count; ++k) {
      const auto* operation = (*this)[index(k)];
      if (!operation || operation->receives() != receives) continue;
      const int of_mpi = listed ? statuses[k].MPI_ERROR : MPI_SUCCESS;
      if ((rc != MPI_SUCCESS && !listed) || of_mpi == MPI_ERR_PENDING) continue;  // it has not ended
      if (batch) batch->about(k);
      if (later) errors[static_cast<std::size_t>(k)] = operation->errors();
      if (const int error = complete(index(k), statuses[k], of_mpi); error != MPI_SUCCESS) fail(k, error);
    }
    for (const auto& failure : batch ? batch->finish() : std::vector<FetchBatch::Failure>()) {
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

int OwnOperations::settle_all_alone(int count, MPI_Status* users, base::FunctionRef<void()> received) {
  StatusesOr statuses(count, users);
  if (users == MPI_STATUSES_IGNORE) ignore_statuses();
  for (int k = 0; users != MPI_STATUSES_IGNORE && k < count; ++k) set_empty(users[k]);
  const auto index = [](int k) { return k; };
  return settle_listed(count, MPI_SUCCESS, statuses.get(), index, received);
}

int OwnOperations::settle_some(int rc, int count, const std::vector<int>& ended, int* indices, int& outcount,
                               MPI_Status* statuses) {
  outcount = count;
  for (const int i : ended) {
    set_empty(statuses[outcount]);
    if (rc == MPI_ERR_IN_STATUS) statuses[outcount].MPI_ERROR = MPI_SUCCESS;
    indices[outcount++] = i;
  }
  return settle_listed(outcount, rc, statuses, [&](int k) { return indices[k]; });
}

int OwnOperations::settle_alone(int i, MPI_Status* users, StatusOr& status, bool in_array) {
  users == MPI_STATUS_IGNORE ? ignore_statuses() : set_empty(*users);
  return settle_one(i, MPI_SUCCESS, requests_[i], *status.get(), in_array);
}

int OwnOperations::settle_any(bool waits, int* index, MPI_Status* users, StatusOr& status, int& rc,
                              base::FunctionRef<bool()> ask) {
  *index = MPI_UNDEFINED;  // a call that fails may leave it
  bool asked = false;
  const auto ended = some_ended(waits, asked, ask);
  if (asked) return *index >= 0 ? settle_one(*index, rc, requests_[*index], *status.get(), true) : rc;
  *index = ended.empty() ? MPI_UNDEFINED : ended.front();
  return ended.empty() ? MPI_SUCCESS : settle_alone(*index, users, status, true);
}

int OwnOperations::raise_what_statuses_tell(const MPI_Status* statuses) {
#if defined(OPEN_MPI)
  for (const auto k : places_)
    if (const auto* operation = operations_[k]; operation && statuses[k].MPI_ERROR != MPI_SUCCESS)
      return raise_in_status(operation->errors(), statuses[k].MPI_ERROR);
#else
  (void)statuses;
#endif
  return MPI_SUCCESS;
}

}  // namespace dunnage::mpi
