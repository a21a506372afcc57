#include "mpi/completion/own_operations.hpp"

#include <algorithm>
#include <utility>

#include "device/looks.hpp"
#include "mpi/message/handle.hpp"
#include "mpi/message/orphans.hpp"
#include "mpi/message/persistent.hpp"

namespace dunnage::mpi {

OwnOperations::OwnOperations(int count, MPI_Request* requests) : requests_(requests) {
  device::Looks::forget();
  progress_orphans();
  if (process->requests.empty() || !requests) return;
  const auto alone = no_progress();
  for (int i = 0; i < count; ++i)
    if (auto* operation = process->requests.find(key_of(requests[i])); operation && operation->in_call != this)
      add(i, count, operation);
  if (none()) return;
  take_out([](const Request& o) { return !o.persistent && !o.stays; });
  watched_.emplace(operations_, requests_);
}

OwnOperations::OwnOperations(const Asking& asking, int count, MPI_Request* before) : requests_(before) {
  device::Looks::forget();
  for (int i = 0; i < count; ++i)
    if (auto operation = asking.taken_out(key_of(before[i]))) add(i, count, operation.release());
}

void OwnOperations::add(int place, int count, Request* operation) {
  if (operations_.empty()) {
    operations_.resize(static_cast<std::size_t>(count));
    places_.reserve(static_cast<std::size_t>(count - place));
  }
  places_.push_back(static_cast<std::size_t>(place));
  operations_[places_.back()] = operation;
  operation->in_call = this;
  // Open MPI 4.1 must not see an inactive request beside one that fails (forget_persistent_at()).
  status_only_ = status_only_ && operation->status_only && !operation->ended_ahead() &&
                 (operation->active || !operation->persistent);
}

OwnOperations::~OwnOperations() {
  restore();
  forget_freed();
  watched_.reset();
  each([](std::size_t, Request* operation) { operation->in_call = nullptr; });
  const auto was_taken_out = [](const Request& o) { return !o.persistent && !o.stays; };
  if (some(was_taken_out))
    for (auto* const late : process->requests.put_back(operations_, was_taken_out)) {
      // A send that an error handler has begun has its handle. Both were complete at once.
      std::replace(operations_.begin(), operations_.end(), late, static_cast<Request*>(nullptr));
      delete late;
    }
  each([](std::size_t, const Request* operation) {
    if (!operation->delivered) look_after(*operation);
  });
  progress_orphans();
}

void OwnOperations::show() {
  all_shown_ = true;
  take_out([](const Request& o) { return o.stays; });
  each([&](std::size_t i, Request* operation) {
    operation->stays = false;
    show(i, *operation);
  });
}

void OwnOperations::show(std::size_t i, Request& operation) {
  if (operation.active) operation.show();
  if (operation.inner != MPI_REQUEST_NULL) requests_[i] = operation.inner;
}

void OwnOperations::show_others() {
  each([&](std::size_t i, Request* operation) {
    if (!alone(*operation)) show(i, *operation);
  });
}

void OwnOperations::hide() {
  each([&](std::size_t i, const Request* operation) {
    if (alone(*operation)) requests_[i] = MPI_REQUEST_NULL;
  });
}

void OwnOperations::show_hidden(int rc, MPI_Status* statuses) {
  show_hidden();
  if (rc != MPI_ERR_IN_STATUS) return;
  each([&](std::size_t i, const Request* operation) {
    if (alone(*operation)) statuses[i].MPI_ERROR = MPI_SUCCESS;
  });
}

void OwnOperations::show_hidden() {
  each([&](std::size_t i, const Request* operation) {
    if (alone(*operation)) requests_[i] = handle_of<MPI_Request>(operation->key);
  });
}

void OwnOperations::restore() {
  each([&](std::size_t i, Request* operation) {
    if (operation->inner == MPI_REQUEST_NULL || key_of(requests_[i]) == operation->key) return;
    const auto asked = std::exchange(operation->inner, requests_[i]);
    if (requests_[i] == MPI_REQUEST_NULL)
      (operation->gone(asked) ? freed_persistent_ : freed_).push_back(static_cast<int>(i));
    requests_[i] = handle_of<MPI_Request>(operation->key);
  });
}

/// Whether the MPI need not be asked about a request: it stands alone, or it is persistent, and
/// not started or started without the MPI.
bool OwnOperations::alone(const Request& o) const {
  if (all_shown_) return false;
  if (!o.persistent) return o.stands_alone();
  if (o.ended_ahead()) return true;
  return o.inner == MPI_REQUEST_NULL && !o.shown() && (!o.active || o.several());
}

bool OwnOperations::without_mpi() const {
  for (std::size_t i = 0; i < operations_.size(); ++i)
    if (operations_[i] ? !alone(*operations_[i]) : requests_[i] != MPI_REQUEST_NULL) return false;
  return !none();
}

bool OwnOperations::some_under_way_alone() const {
  return some([&](const Request& o) { return under_way(o) && alone(o); });
}

std::optional<int> OwnOperations::ended_ahead() const {
  for (const auto place : places_)
    if (const auto* o = operations_[place]; o && o->active && o->ended_ahead()) return static_cast<int>(place);
  return std::nullopt;
}

/// Open MPI frees all requests of a call that have failed, those too of which the call does not
/// tell. Nothing of such a receive may reach the program's buffer any more, whose handle may be
/// another operation's next. Open MPI 4.1 also frees persistent requests.
void OwnOperations::forget_freed() {
  each([&](std::size_t i, const Request* operation) {
    if (requests_[i] == MPI_REQUEST_NULL)
      (operation->persistent ? freed_persistent_ : freed_).push_back(static_cast<int>(i));
  });
  for (const int i : std::exchange(freed_, {})) end_untold(i);
  for (const int i : std::exchange(freed_persistent_, {})) forget_persistent_at(i);
}

/// The MPI has freed the program's persistent request, or the one that stood for it. Then the
/// program's handle becomes null too, as without Dunnage. An inactive request must not stay in
/// its place: beside one that fails, Open MPI 4.1 raises what the inactive one's memory holds.
void OwnOperations::forget_persistent_at(int i) {
  end_untold(i);
  const std::unique_ptr<Request> operation(std::exchange(operations_[static_cast<std::size_t>(i)], nullptr));
  {
    const auto alone = no_progress();
    process->requests.erase(operation->key);
  }
  forget_persistent(handle_of<MPI_Request>(operation->key));
  if (requests_[i] != MPI_REQUEST_NULL) process->next.MPI_Request_free(&requests_[i]);
}

}  // namespace dunnage::mpi
