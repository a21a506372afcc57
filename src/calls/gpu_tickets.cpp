#include "calls/gpu_tickets.hpp"

#include <sys/random.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>

#include "calls/accept.hpp"
#include "calls/communicators.hpp"
#include "calls/content.hpp"
#include "calls/gpu_pack.hpp"
#include "calls/gpu_passing.hpp"
#include "calls/progress.hpp"
#include "device/passed.hpp"
#include "device/pins.hpp"
#include "engine/gpu_pipe.hpp"
#include "engine/gpu_remote.hpp"

namespace dunnage::calls {
namespace {

using device::Driver;
using engine::GpuSource;
using plan::GpuWay;
using transport::gpu_lengths;
using Proof = transport::shm::Letter::Proof;

static_assert(sizeof(GpuSource) + sizeof(transport::Ticket) <= static_cast<std::size_t>(gpu_lengths.least));
static_assert(sizeof(device::Exported) <= sizeof Proof::memory);

/// How long a receiver that has the ticket may take to come: as long as the data take by way of host memory, so that waiting for it in vain
/// costs no more than twice what is best (the rule of ski rental).
std::chrono::nanoseconds patience(std::int64_t bytes) { return std::chrono::microseconds(500) + std::chrono::nanoseconds(bytes / 4); }
/// Staging memory between two layouts on one device: large enough for the link, small enough that the kernels of neighbouring pieces overlap.
std::size_t device_piece() { return 8 * context->settings.device_piece; }

/// Host memory that is no contiguous buffer is filled by way of so many bytes at a time.
constexpr std::int64_t host_piece = 4 << 20;

/// What this process knows of its own use of GPUs. Never destroyed.
struct Own {
  std::mutex mutex;
  std::atomic<bool> seen{false};
  device::Place place;  // some device memory of the program's: where we work if the data say nothing
  unsigned long long context_id = 0;
  std::shared_ptr<const device::Arena::Block> proof;
  int proved = -1;  // the device whose memory others have been asked to read
};
Own& own() {
  static auto* all = new Own;
  return *all;
}

/// Where to work if the data do not say.
device::Place any_place(const Driver& driver) {
  auto place = own().place;
  if (place.context && device::id_of(driver, place.context) != own().context_id) place.context = nullptr;  // it has been destroyed
  return place;
}

std::int32_t self() {
  static const int rank = [] {
    int r = -1;
    context->own.Comm_rank(MPI_COMM_WORLD, &r);
    return r;
  }();
  return rank;
}

/// A buffer of which all bytes are in one allocation.
bool in_one_piece(const engine::Described& data) {
  const auto& recipe = data.recipe->recipe;
  const auto address = reinterpret_cast<std::uintptr_t>(data.buffer);
  const auto low = address + static_cast<std::uintptr_t>(recipe.low()), high = address + static_cast<std::uintptr_t>(recipe.high());
  return data.place.on_gpu() && low >= data.place.begin && high <= data.place.end;
}

std::optional<Proof> make_proof(const Driver& driver, const device::Place& place) try {
  auto& o = own();
  const std::lock_guard lock(o.mutex);
  const device::Scope scope(driver, device::context_for(driver, place));
  auto& gpu = device::Gpu::current(driver);
  if (!o.proof) {
    o.proof = gpu.arena().take(sizeof(std::uint64_t), context->settings.device_arena, self());
    if (!o.proof) return std::nullopt;
    o.proved = place.device;
  }
  if (o.proved != place.device) return std::nullopt;
  static const auto value = [] {  // all receivers look at the same
    std::uint64_t chance = 0;
    return getrandom(&chance, sizeof chance, 0) == sizeof chance ? chance : 0;
  }();
  if (value == 0) return std::nullopt;
  Proof proof{};
  proof.value = value;
  engine::gpu_copy(driver, reinterpret_cast<void*>(o.proof->address), &value, sizeof value);
  std::memcpy(proof.memory, &o.proof->exported, sizeof o.proof->exported);
  return proof;
} catch (const std::exception&) {
  return std::nullopt;
}

bool check_proof(const Proof& proof) try {
  const auto* driver = device::driver();
  if (!driver) return false;
  const device::Scope scope(*driver, device::context_for(*driver, any_place(*driver)));
  device::Exported exported;
  std::memcpy(&exported, proof.memory, sizeof exported);
  const engine::Remote remote(*driver, engine::describe(exported, sizeof(std::uint64_t)));
  std::uint64_t value = ~proof.value;
  remote.pack(&value, device::Place(), context->settings.device_piece, 0, sizeof value);
  return value == proof.value;
} catch (const std::exception&) {
  return false;
}

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

/// Calls f with what moves the data of a content between its place and shared memory, `ring` being the part of that which is used again and again.
template <class F>
auto with_pipe(engine::Direction direction, const engine::Content& content, std::span<char> ring, F&& f) {
  const auto* data = content.device();
  const auto* driver = device::driver();
  if (!driver || !data || !in_one_piece(*data)) {
    const auto move = [&](const char* memory, std::int64_t begin, std::int64_t end) {
      direction == engine::Direction::pack ? content.pack(const_cast<char*>(memory), begin, end) : content.unpack(memory, begin, end);
    };
    return f(transport::shm::AtOnce<decltype(move)>{move});
  }
  engine::GpuPipe pipe(*driver, direction, *data, context->settings.device_piece);
  device::pin(*driver, ring.data(), ring.size(), context->settings.ticket_memory);
  return f(pipe);
}

/// Whether that is by rings in shared memory.
bool shared(GpuWay way) { return way == GpuWay::shared_forced || way == GpuWay::shared_unread; }

/// The way of data to a rank of MPI_COMM_WORLD, if there is room for it; goes a step towards a better one.
GpuWay way_to(const engine::Content& content, std::uint32_t receiver) {
  const auto path = context->settings.gpu_path;
  auto& world = *context->world;
  if (path == base::GpuPath::pass || !world.reaches(receiver)) return GpuWay::staged_alone;
  if (!gpu_tickets() || content.size() < world.gpu_ticket(receiver).least_size()) return GpuWay::staged_small;
  const auto* data = content.device();
  if (!data || !in_one_piece(*data)) return GpuWay::staged_scattered;
  const auto& driver = *device::driver();
  const bool forced = path == base::GpuPath::staged;
  if (!forced && world.reads_gpu(receiver, [&] { return make_proof(driver, data->place); }) &&
      (data->place.memory != device::Memory::device || data->place.device == own().proved))
    return GpuWay::direct;
  const bool rings = content.size() >= plan::least_shared && static_cast<std::uint64_t>(content.size()) <= context->settings.ticket_memory;
  return rings ? forced ? GpuWay::shared_forced : GpuWay::shared_unread : forced ? GpuWay::staged_forced : GpuWay::staged_unread;
}

thread_local FetchBatch* batch = nullptr;

/// Where the data are to go if that is device memory in one piece.
const engine::Described* on_device(const Landing& landing) {
  const auto* to = landing.content().device();
  return to && in_one_piece(*to) && to->place.memory == device::Memory::device ? to : nullptr;
}

}  // namespace

void see_gpu(const void* address) {
  auto& o = own();
  if (o.seen.load(std::memory_order_acquire) || !context->world) return;
  const auto* driver = device::driver();
  if (!driver) return;
  const auto place = device::known_place(*driver, address);
  if (place.memory != device::Memory::device) return;
  {
    const std::lock_guard lock(o.mutex);
    if (o.seen.load(std::memory_order_relaxed)) return;
    o.place = place;
    o.context_id = place.context ? device::id_of(*driver, place.context) : 0;
    // From now on the lengths of ordinary messages are looked at.
    context->tickets_from = std::min(context->tickets_from.load(), gpu_lengths.least);
    o.seen.store(true, std::memory_order_release);
  }
  // These take locks of their own.
  context->world->check_proofs(check_proof);
  if (!device::passes_memory(*driver)) return;
  context->world->take_passed([](std::uint32_t rank, std::uint32_t at, const transport::shm::Post::Letter& letter) {
    return take_passed(*device::driver(), any_place(*device::driver()), rank, at, letter);
  });
}

GpuRoute gpu_route(const void* buffer, std::int64_t count, MPI_Datatype type, const KnownType* known, std::uint32_t receiver) try {
  if (surely_host(buffer)) return {};
  auto content = on_gpu(buffer, count, type, known);
  if (!content) return {};
  const auto way = way_to(*content, receiver);
  return way == GpuWay::direct || shared(way) ? GpuRoute{std::move(*content), way} : GpuRoute();
} catch (const std::exception&) {
  return {};
}

plan::GpuWay way_without_ticket(Hook hook, const engine::Content& content, int peer, MPI_Comm comm) try {
  if (operation_of(hook) == plan::Operation::buffered_send || hook == Hook::MPI_Sendrecv_replace || hook == Hook::MPI_Sendrecv_replace_c) return GpuWay::staged_mode;
  if (context->passes_gpus() && content.device()) return content.size() < plan::least_passed ? GpuWay::staged_small : GpuWay::passed_packed;
  const auto rank = context->world ? world_rank(comm, peer) : -1;
  const auto way = rank < 0 ? GpuWay::staged_alone : way_to(content, static_cast<std::uint32_t>(rank));
  return way == GpuWay::direct || shared(way) ? GpuWay::staged_full : way;
} catch (const std::exception&) {
  return GpuWay::staged_full;
}

std::shared_ptr<const device::Arena::Block> gpu_block(const engine::Content& content, std::int64_t size) try {
  const auto& driver = *device::driver();
  const auto& place = content.device()->place;
  const device::Scope scope(driver, device::context_for(driver, place.memory == device::Memory::device ? place : any_place(driver)));
  return device::Gpu::current(driver).arena().take(static_cast<std::uint64_t>(size), context->settings.device_arena, self());
} catch (const std::exception&) {
  return nullptr;
}

GpuOffer gpu_offer(const engine::Content& content, std::uint32_t receiver) try {
  const auto& driver = *device::driver();
  const auto& data = *content.device();
  std::optional<GpuSource> source;
  GpuOffer offer;
  const auto& where = data.place.memory == device::Memory::device ? data.place : any_place(driver);
  const device::Scope scope(driver, device::context_for(driver, where));
  if (const auto exported = device::export_of(driver, data.place, self())) {
    source = engine::describe(data, *exported);
  } else if (const auto mapping = device::mapping_of(driver, data.place, self())) {
    source = engine::describe(data, *mapping);
    if (source && holds(receiver, driver, *mapping))
      offer.named = passed_as(*mapping);
    else
      source.reset();
  }
  if (!source) {
    const auto block = device::Gpu::current(driver).arena().take(static_cast<std::uint64_t>(content.size()), context->settings.device_arena, self());
    if (!block) return {};
    source = engine::describe(block->exported, content.size());
    offer.address = static_cast<std::uintptr_t>(block->address);
    offer.memory = block;
  }
  offer.head.resize(sizeof *source);
  std::memcpy(offer.head.data(), &*source, sizeof *source);
  return offer;
} catch (const std::exception&) {
  return {};
}

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
  for (bool room = false; !outgoing.await(patience(content.size()), progress_receives);) {
    // Without room the receiver is waited for: it has the ticket, or will have it.
    room = room || context->world->make_room(outgoing);
    if (room && outgoing.take_over()) return gpu_pack_shared(outgoing, content, MPI_REQUEST_NULL);
  }
  return MPI_SUCCESS;
}

namespace {

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
  ~Flight() try {
    const device::Scope scope(*device::driver(), context);
    transfers.reset();
  } catch (const std::exception&) {
    (void)transfers.release();  // the context has gone, and all of it with it
  }
};

FetchBatch::FetchBatch() : outer_(batch) { batch = this; }
FetchBatch::~FetchBatch() {
  finish();
  batch = outer_;
}

void FetchBatch::end(const std::vector<Pending>& group, int code) {
  for (const auto& message : group) {
    message.incoming.discard();
    if (code != MPI_SUCCESS) failures_.push_back({message.index, code});
  }
}

void FetchBatch::go_on() {
  while (!pending_.empty()) {
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
  std::erase_if(flights_, [&](const auto& flight) {
    bool done = true;
    const int code = guarded([&] {
      const device::Scope scope(*device::driver(), flight->context);
      done = flight->transfers->done();
    });
    if (done) end(flight->messages, code);
    return done;
  });
}

std::vector<FetchBatch::Failure> FetchBatch::finish() {
  if (pending_.empty() && flights_.empty()) return std::exchange(failures_, {});
  const base::Range range("fetch from other GPUs", 0);
  go_on();
  for (const auto& flight : flights_) {
    end(flight->messages, guarded([&] {
          const device::Scope scope(*device::driver(), flight->context);
          flight->transfers->wait();
        }));
  }
  flights_.clear();
  return std::exchange(failures_, {});
}

int gpu_fetch(const transport::shm::Incoming& incoming, std::int64_t size, Landing& landing) try {
  GpuSource source;
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
  const device::Scope scope(*driver, place);
  const auto remote = std::make_shared<const engine::Remote>(*driver, source);
  if (!to) {
    fetch_to_host(*driver, *remote, landing);
    landing.finish();
    incoming.discard();
    return MPI_SUCCESS;
  }
  if (batch) {
    batch->pending_.push_back({incoming, place, remote, *to, batch->index_});
    return MPI_SUCCESS;
  }
  const base::Range range("fetch from another GPU", size);
  engine::Transfers({{remote, *to}}, device_piece()).wait();
  incoming.discard();
  return MPI_SUCCESS;
} catch (const std::exception&) {
  incoming.discard();
  return code_of_current_exception();
}

void forget_gpu_tickets() {
  if (const auto* driver = device::driver()) device::unpin_all(*driver);
  device::all_passed().clear();
  const std::lock_guard lock(own().mutex);
  own().proof.reset();
}

}  // namespace dunnage::calls
