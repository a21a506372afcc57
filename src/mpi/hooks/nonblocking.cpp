#include "mpi/hooks/nonblocking.hpp"

#include <algorithm>
#include <vector>

#include "device/looks.hpp"
#include "mpi/channels/start_call.hpp"
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

/// A request of MPI_Startall that is in the table.
struct Known {
  int place;  // among the call's requests
  Request* operation;
  bool late;    // a start some moments later would probably cost less
  bool by_mpi;  // the MPI is to start it
};

/// Lets the MPI start all requests of a call but those of `known` that it is not to start.
int start_by_mpi(decltype(NextTable::MPI_Startall) next, int count, MPI_Request* requests,
                 const std::vector<Known>& known) {
  if (std::ranges::all_of(known, &Known::by_mpi)) return next(count, requests);
  std::vector<int> places;
  auto one = known.begin();
  for (int i = 0; i < count; ++i) {
    const bool ours = one != known.end() && one->place == i;
    if (!ours || one->by_mpi) places.push_back(i);
    if (ours) ++one;
  }
  if (places.empty()) return MPI_SUCCESS;
  std::vector<MPI_Request> some;
  for (const int i : places) some.push_back(requests[i]);
  const int rc = next(static_cast<int>(some.size()), some.data());
  for (std::size_t k = 0; k < places.size(); ++k) requests[places[k]] = some[k];
  return rc;
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
  const StartCall starting;
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
  std::vector<Known> known;  // the requests of ours, in order; others are the MPI's
  for (int i = 0; i < count; ++i)
    if (auto* operation = process->requests.find(key_of(requests[i])))
      known.push_back({i, operation, operation->better_later(), true});
  if (known.empty()) return next(count, requests);
  const StartCall starting;
  int rc = MPI_SUCCESS;
  const device::Looks looks(span_of_looks());
  const auto start_one = [&](Known& one) {
    const auto how = one.operation->start(rc);
    one.by_mpi = how == Request::Start::by_mpi;
    if (how == Request::Start::done && rc == MPI_SUCCESS) note_start(one.operation, requests[one.place]);
  };
  for (const bool late : {false, true})  // the standard lets them start in any order
    for (auto& one : known)
      if (rc == MPI_SUCCESS && one.late == late) start_one(one);
  if (rc == MPI_SUCCESS) {
    rc = start_by_mpi(next, count, requests, known);
    for (const auto& one : known)
      if (rc == MPI_SUCCESS && one.by_mpi) note_start(one.operation, requests[one.place]);
  }
  if (rc == MPI_SUCCESS) return rc;
  device::Looks::forget();
  for (const auto& one : known)
    if (!one.operation->active) one.operation->not_started();
  return rc;
}

}  // namespace dunnage::mpi
