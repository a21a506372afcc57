#include "mpi/hooks/nonblocking.hpp"

#include <vector>

#include "device/looks.hpp"
#include "mpi/message/progress.hpp"

namespace dunnage::mpi {
namespace {

/// A persistent operation has been started. `request`: as the MPI has left it. Some MPIs give
/// another handle for an operation that is still under way inside.
void note_start(Request* operation, MPI_Request request) {
  if (!operation) return;
  operation->started();
  if (operation->inner == MPI_REQUEST_NULL && key_of(request) != operation->key) {
    process->requests.erase(operation->key);
    operation->key = key_of(request);
    delete process->requests.insert(operation->key, operation);
  }
  look_after(*operation);
}

/// For starts: each of them begins operations on the buffers that it looks at.
device::Looks::Span span_of_looks() {
  return one_thread_at_a_time() ? device::Looks::Span::operations : device::Looks::Span::call;
}

}  // namespace

// A program may make no other calls in which senders get to know this rank, so starts answer them.
int start(Hook, decltype(NextTable::MPI_Start) next, MPI_Request* request) {
  const InExchange in_exchange;
  progress_orphans();
  answer_letters();
  if (process->requests.empty()) return next(request);
  auto* operation = request ? process->requests.find(key_of(*request)) : nullptr;
  int rc = MPI_SUCCESS;
  const device::Looks looks(span_of_looks());
  const auto how = operation ? operation->start(rc) : Request::Start::by_mpi;
  if (how == Request::Start::by_mpi) rc = next(request);
  if (rc == MPI_SUCCESS)
    note_start(operation, request ? *request : MPI_REQUEST_NULL);
  else if (operation)
    operation->not_started();
  if (rc != MPI_SUCCESS) device::Looks::forget();
  return rc;
}

int startall(Hook, decltype(NextTable::MPI_Startall) next, int count, MPI_Request* requests) {
  const InExchange in_exchange;
  progress_orphans();
  answer_letters();
  if (process->requests.empty() || !requests || count <= 0) return next(count, requests);
  std::vector<Request*> operations(static_cast<std::size_t>(count));
  std::vector<int> later;   // the MPI lets them start in any order
  std::vector<int> others;  // requests that the MPI is to start
  int rc = MPI_SUCCESS;
  const device::Looks looks(span_of_looks());
  const auto start_one = [&](int i) {
    auto* operation = operations[static_cast<std::size_t>(i)];
    const auto how = operation ? operation->start(rc) : Request::Start::by_mpi;
    if (how == Request::Start::by_mpi)
      others.push_back(i);
    else if (rc == MPI_SUCCESS)
      note_start(operation, requests[i]);
  };
  for (int i = 0; rc == MPI_SUCCESS && i < count; ++i) {
    auto*& operation = operations[static_cast<std::size_t>(i)];
    operation = process->requests.find(key_of(requests[i]));
    operation && operation->better_later() ? later.push_back(i) : start_one(i);
  }
  for (const int i : later)
    if (rc == MPI_SUCCESS) start_one(i);
  const auto not_started = [&](Request* operation) {
    if (operation && !operation->active) operation->not_started();
  };
  if (rc != MPI_SUCCESS) {
    device::Looks::forget();
    for (auto* operation : operations) not_started(operation);
  }
  if (rc != MPI_SUCCESS || others.empty()) return rc;
  if (static_cast<int>(others.size()) == count) {
    rc = next(count, requests);
  } else {
    std::vector<MPI_Request> some;
    for (const int i : others) some.push_back(requests[i]);
    rc = next(static_cast<int>(some.size()), some.data());
    for (std::size_t k = 0; k < others.size(); ++k) requests[others[k]] = some[k];
  }
  for (const int i : others) {
    auto* operation = operations[static_cast<std::size_t>(i)];
    rc == MPI_SUCCESS ? note_start(operation, requests[i]) : not_started(operation);
  }
  if (rc != MPI_SUCCESS) device::Looks::forget();
  return rc;
}

}  // namespace dunnage::mpi
