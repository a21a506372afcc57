#include <algorithm>
#include <cstring>

#include "calls/content.hpp"
#include "calls/gpu_own.hpp"
#include "calls/gpu_pack.hpp"
#include "calls/gpu_tickets.hpp"
#include "calls/tickets.hpp"
#include "engine/gpu_remote.hpp"

namespace dunnage::calls {

using device::Driver;
using engine::GpuSource;

namespace {

/// Host memory that is no contiguous buffer is filled by way of so many bytes at a time.
constexpr std::int64_t host_piece = 4 << 20;

/// By way of host memory: what the receiver's layout is is its own affair.
void fetch_to_host(const Driver& driver, const engine::Remote& remote, Landing& landing) {
  const auto piece = context->settings.device_piece;
  if (auto* to = landing.contiguous()) return remote.pack(to, device::known_place(driver, to), piece, 0, remote.size());
  const auto buffer = context->staging.take(std::min(remote.size(), host_piece));
  if (!buffer) throw std::bad_alloc();
  for (std::int64_t begin = 0; begin < remote.size(); begin += host_piece) {
    const auto end = std::min(begin + host_piece, remote.size());
    remote.pack(reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(buffer.data()) - static_cast<std::uintptr_t>(begin)), device::Place(), piece, begin, end);
    landing.place(buffer.data(), begin, end);
  }
}

thread_local FetchBatch* batch = nullptr;

/// Under way at a time: one that moves data, and one that is being begun. What comes meanwhile goes together in the next; so much of it that moving
/// it takes longer than beginning with it does not wait for one of them to end.
constexpr std::size_t few_flights = 2, most_flights = 6;
constexpr std::int64_t worth_a_flight = 2 << 20;

/// Data that take longer than an MPI may be left alone: what this process has sent may need its help to arrive.
constexpr std::int64_t long_fetch = 256 << 10;
constexpr int rounds_between = 64;  // a look into the MPI takes 8 us where messages have come, one at our own flights less than 1 us


/// Where the data are to go if that is device memory in one piece.
const engine::Described* on_device(const Landing& landing) {
  const auto* to = landing.content().device();
  return to && in_one_piece(*to) && to->place.memory == device::Memory::device ? to : nullptr;
}

/// Whether the device of such data reads those. Only the first one of this process has been proved to.
bool reads_from(const Driver& driver, const engine::Described& to, const GpuSource& source) try {
  const device::Scope scope(driver, device::context_for(driver, to.place));
  const engine::Remote remote(driver, source);
  return true;
} catch (const std::exception&) {
  return false;
}

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
  CUcontext context;
  std::unique_ptr<engine::Transfers> transfers;
  ~Flight() {
    try {
      const device::Scope scope(*device::driver(), context);
      transfers.reset();
    } catch (const std::exception&) {
      (void)transfers.release();  // the context has gone, and all of it with it
    }
  }
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
    const int code = guarded([&] {
      const device::Scope scope(*device::driver(), flight->context);
      done = flight->transfers->done();
    });
    if (done) end(flight->messages, code);
    return done;
  });
  while (!pending_.empty() && (flights_.size() < few_flights || (flights_.size() < most_flights && bytes_of(pending_) >= worth_a_flight))) {
    const auto first = pending_.front().context;
    const auto others = std::stable_partition(pending_.begin(), pending_.end(), [&](const auto& p) { return p.context == first; });
    auto flight = std::make_unique<Flight>();
    flight->context = first;
    flight->messages.assign(std::make_move_iterator(pending_.begin()), std::make_move_iterator(others));
    pending_.erase(pending_.begin(), others);
    try {
      const device::Scope scope(*device::driver(), first);
      std::vector<engine::Transfers::Move> moves;
      for (const auto& p : flight->messages) moves.push_back({p.remote, p.to});
      flight->transfers = std::make_unique<engine::Transfers>(moves, device_piece());
      flights_.push_back(std::move(flight));
    } catch (const std::exception&) {
      end(flight->messages, code_of_current_exception());
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

int gpu_read_published(const char* head, Landing& landing, const std::function<void()>& let_go_on) try {
  GpuSource source;
  std::memcpy(&source, head, sizeof source);
  const auto* driver = device::driver();
  if (!driver) throw std::bad_alloc();
  if (source.size > landing.capacity()) return MPI_ERR_TRUNCATE;
  const base::Range range("fetch a broadcast from another GPU", source.size);
  const auto* to = on_device(landing);
  if (to && to->place.device != own().place.device && !reads_from(*driver, *to, source)) to = nullptr;
  const auto place = device::context_for(*driver, to ? to->place : any_place(*driver));
  std::unique_ptr<engine::Transfers> transfers;
  {
    const device::Scope scope(*driver, place);
    const auto remote = std::make_shared<const engine::Remote>(*driver, source);
    if (!to) {
      fetch_to_host(*driver, *remote, landing);
      landing.finish();
      return MPI_SUCCESS;
    }
    transfers = std::make_unique<engine::Transfers>(std::vector<engine::Transfers::Move>{{remote, *to}}, device_piece());
  }
  int code = MPI_SUCCESS;
  const auto done = [&] {
    const device::Scope scope(*driver, place);
    bool there = true;
    code = guarded([&] { there = transfers->done(); });
    if (there) transfers.reset();
    return there;
  };
  transport::shm::Patience patience;
  for (int round = 1; !done(); ++round, patience.wait())
    if (round % rounds_between == 0) let_go_on();
  return code;
} catch (const std::exception&) {
  return code_of_current_exception();
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
  const auto* to = on_device(landing);
  if (to && to->place.device != own().place.device && !reads_from(*driver, *to, source)) to = nullptr;
  const auto place = device::context_for(*driver, to ? to->place : any_place(*driver));
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
