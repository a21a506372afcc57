#include "calls/gpu_tickets.hpp"

#include <chrono>

#include "calls/content.hpp"
#include "calls/gpu_own.hpp"
#include "calls/progress.hpp"

namespace dunnage::calls {
namespace {

/// How long a receiver that has the ticket may take to come: as long as the data take by way of host memory, so that waiting for it in vain
/// costs no more than twice what is best (the rule of ski rental).
std::chrono::nanoseconds patience(std::int64_t bytes) {
  return std::chrono::microseconds(transport::token_length(bytes) ? 10 : 100) + std::chrono::nanoseconds(bytes / 4);
}

}  // namespace

int gpu_ready(const transport::shm::Outgoing& outgoing, const engine::Content& content, const GpuOffer& offer) try {
  if (offer.address) content.pack(reinterpret_cast<char*>(offer.address), 0, content.size());
  outgoing.ready();
  return MPI_SUCCESS;
} catch (const std::exception&) {
  outgoing.fail();
  return code_of_current_exception();
}

int gpu_pack_shared(const transport::shm::Outgoing& outgoing, const engine::Content& content, MPI_Request request) try {
  const base::Range range("pack into shared memory", content.size());
  bool travels = request != MPI_REQUEST_NULL;
  const auto let_go_on = [&] {
    int done = 0;
    MPI_Status status;
    if (travels && (context->own.Request_get_status(request, &done, &status) != MPI_SUCCESS || done)) travels = false;
  };
  with_pipe(engine::Direction::pack, content, outgoing.gpu_ring(), [&](auto&& pipe) { outgoing.run(pipe, travels, let_go_on); });
  return MPI_SUCCESS;
} catch (const std::exception&) {
  outgoing.fail();
  return code_of_current_exception();
}

int gpu_finish(const transport::shm::Outgoing& outgoing, const engine::Content& content) {
  const base::Range range("wait for the receiver", content.size());
  // Without room the receiver is waited for, which has the ticket or will have it; but it may be in a call that waits for us.
  constexpr int long_enough = 10;
  for (int times = 0, room = 0; !outgoing.await(patience(content.size()), progress_receives); ++times) {
    room = room || context->world->make_room(outgoing, times >= long_enough);
    if (room && outgoing.take_over()) return gpu_pack_shared(outgoing, content, MPI_REQUEST_NULL);
  }
  return MPI_SUCCESS;
}

}  // namespace dunnage::calls
