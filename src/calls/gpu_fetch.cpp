#include <algorithm>
#include <cstring>

#include "calls/content.hpp"
#include "calls/gpu_landing.hpp"
#include "calls/gpu_own.hpp"
#include "calls/gpu_pack.hpp"
#include "calls/gpu_tickets.hpp"
#include "calls/tickets.hpp"
#include "engine/gpu_remote.hpp"

namespace dunnage::calls {

using device::Driver;
using engine::GpuSource;

namespace {

thread_local FetchBatch* batch = nullptr;

/// Under way at a time: one that moves data, and one that is being begun. What comes meanwhile goes together in the next; so much of it that moving
/// it takes longer than beginning with it does not wait for one of them to end.
constexpr std::size_t few_flights = 2, most_flights = 6;
constexpr std::int64_t worth_a_flight = 2 << 20;

/// Data that take longer than an MPI may be left alone: what this process has sent may need its help to arrive.
constexpr std::int64_t long_fetch = 256 << 10;

}  // namespace

struct FetchBatch::Pending {
  transport::shm::Incoming incoming;
  CUcontext context;
  std::shared_ptr<const engine::Remote> remote;
  engine::Described to;
  int index;
};

/// Of one context.
struct FetchBatch::Flight {
  std::vector<Pending> messages;
  ScopedTransfers transfers;
};

FetchBatch::FetchBatch() : outer_(batch) { batch = this; }
FetchBatch::~FetchBatch() {
  finish();
  batch = outer_;
}

std::int64_t FetchBatch::bytes_of(const std::vector<Pending>& group) {
  std::int64_t bytes = 0;
  for (const auto& message : group) bytes += message.remote->size();
  return bytes;
}

void FetchBatch::end(const std::vector<Pending>& group, int code) {
  for (const auto& message : group) {
    message.incoming.discard();
    if (code != MPI_SUCCESS) failures_.push_back({message.index, code});
  }
}

void FetchBatch::go_on() {
  std::erase_if(flights_, [&](const auto& flight) {
    bool done = true;
    const int code = guarded([&] { done = flight->transfers.done(); });
    if (done) end(flight->messages, code);
    return done;
  });
  while (!pending_.empty() && (flights_.size() < few_flights || (flights_.size() < most_flights && bytes_of(pending_) >= worth_a_flight))) {
    const auto first = pending_.front().context;
    const auto others = std::stable_partition(pending_.begin(), pending_.end(), [&](const auto& p) { return p.context == first; });
    std::vector<Pending> messages(std::make_move_iterator(pending_.begin()), std::make_move_iterator(others));
    pending_.erase(pending_.begin(), others);
    try {
      std::vector<engine::Transfers::Move> moves;
      for (const auto& p : messages) moves.push_back({p.remote, p.to});
      flights_.reserve(flights_.size() + 1);
      auto flight = std::make_unique<Flight>(Flight{{}, ScopedTransfers(first, moves)});
      flight->messages = std::move(messages);
      flights_.push_back(std::move(flight));
    } catch (const std::exception&) {
      end(messages, code_of_current_exception());
    }
  }
}

std::vector<FetchBatch::Failure> FetchBatch::finish() {
  if (pending_.empty() && flights_.empty()) return std::exchange(failures_, {});
  auto bytes = bytes_of(pending_);
  for (const auto& flight : flights_) bytes += bytes_of(flight->messages);
  const base::Range range("fetch from other GPUs", bytes);
  // No context of ours is current here: the MPI may have its own affairs with devices.
  transport::shm::Patience patience;
  for (int round = 1; !flights_.empty() || !pending_.empty(); ++round, patience.wait()) {
    go_on();
    if (bytes >= long_fetch && round % rounds_between == 0) let_mpi_progress();
  }
  return std::exchange(failures_, {});
}

int gpu_fetch(const transport::shm::Incoming& incoming, std::int64_t size, Landing& landing) try {
  GpuSource source;
  if (const auto* head = incoming.head())
    std::memcpy(&source, head, sizeof source);
  else
    landing.read(&source, 0, sizeof source);
  if (!incoming.claim()) {
    if (incoming.failed()) {
      incoming.discard();
      return MPI_ERR_OTHER;
    }
    const bool all = landing.content().device()
                         ? with_pipe(engine::Direction::unpack, landing.content(), incoming.gpu_ring(), [&](auto&& pipe) { return incoming.fetch_by(pipe); })
                         : incoming.fetch([&](const char* from, std::int64_t begin, std::int64_t end) { landing.place(from, begin, end); });
    landing.finish();
    return all ? MPI_SUCCESS : MPI_ERR_OTHER;
  }
  const auto* driver = device::driver();
  if (!driver || source.size != size) throw std::bad_alloc();
  const auto [to, place] = destination(*driver, landing, source);
  std::shared_ptr<const engine::Remote> remote;
  {
    const device::Scope scope(*driver, place);
    remote = std::make_shared<const engine::Remote>(*driver, source);
    if (!to) {
      fetch_to_host(*driver, *remote, landing);
      landing.finish();
      incoming.discard();
      return MPI_SUCCESS;
    }
    if (!batch && size < long_fetch) {
      const base::Range range("fetch from another GPU", size);
      engine::Transfers transfers({{remote, *to}}, device_piece());
      for (transport::shm::Patience patience; !transfers.done();) patience.wait();
      incoming.discard();
      return MPI_SUCCESS;
    }
  }
  if (batch) {
    batch->pending_.push_back({incoming, place, remote, *to, batch->index_});
    return MPI_SUCCESS;
  }
  FetchBatch alone;
  alone.pending_.push_back({incoming, place, remote, *to, 0});
  const auto failures = alone.finish();
  return failures.empty() ? MPI_SUCCESS : failures.front().code;
} catch (const std::exception&) {
  incoming.discard();
  return code_of_current_exception();
}

}  // namespace dunnage::calls
