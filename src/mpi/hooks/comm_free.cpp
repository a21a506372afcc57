#include "mpi/hooks/comm_free.hpp"

#include <chrono>
#include <vector>

#include "mpi/message/progress.hpp"
#include "mpi/message/request.hpp"
#include "mpi/message/unfinished.hpp"
#include "mpi/process/error.hpp"
#include "mpi/process/world_returns_errors.hpp"
#include "transport/shm/patience.hpp"

namespace dunnage::mpi {
namespace {

/// A program may cancel a receive later, and no message for it ever comes.
constexpr std::chrono::seconds longest{10};

/// The requests of the communicator that are under way and wanted.
template <class Wanted>
std::vector<std::uint64_t> under_way_on(MPI_Comm comm, Wanted&& wanted) {
  return process->requests.keys([&, key = key_of(comm)](const Request& o) {
    const auto errors = o.errors();
    return o.active && wanted(o) && errors.object == ErrorsOf::Object::comm && errors.key == key;
  });
}

/// Returns when the receivers have begun to take all announced sends of this process.
void await_receivers(MPI_Comm comm) {
  transport::shm::Patience patience;
  for (const auto key : under_way_on(comm, [](const Request& o) { return o.waits_for_receiver(); }))
    for (;; patience.wait()) {
      auto* const send = process->requests.find(key);  // another thread may complete it
      if (!send || !send->active) break;
      MPI_Status status;
      const auto asked = send->inner != MPI_REQUEST_NULL ? send->inner : handle_of<MPI_Request>(key);
      if (send->ask(asked, status) != Request::News::none) break;
      finish_sends();
      progress_receives();
    }
}

/// Takes what is announced to this process.
void await_senders(MPI_Comm comm) {
  const WorldReturnsErrors guard;  // the call that ends a request tells its error
  const auto deadline = std::chrono::steady_clock::now() + longest;
  transport::shm::Patience patience;
  for (const auto key : under_way_on(comm, [](const Request& o) { return o.receives() && !o.delivered; }))
    for (; std::chrono::steady_clock::now() < deadline; patience.wait()) {
      auto* const receive = process->requests.find(key);
      if (!receive || receive->delivered) break;
      FetchBatch batch;
      const bool there = deliver_if_there(*receive, handle_of<MPI_Request>(key), batch, 0);
      for (const auto& failure : batch.finish()) receive->failed_later(failure.code);
      if (there) break;
      finish_sends();
      progress_receives();
    }
}

}  // namespace

void await_peers_on(MPI_Comm comm) {
  await_receivers(comm);
  if (one_thread_at_a_time()) await_senders(comm);
}

}  // namespace dunnage::mpi
