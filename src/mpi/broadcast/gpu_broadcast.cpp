#include "mpi/broadcast/gpu_broadcast.hpp"

#include <algorithm>
#include <cstring>
#include <deque>

#include "collective/readers.hpp"
#include "mpi/message/device_landing.hpp"
#include "mpi/process/failure.hpp"
#include "transport/shm/patience.hpp"

namespace dunnage::mpi {

using transport::gpu::GpuSource;
using transport::gpu::Transfers;
using transport::shm::BroadcastRing;

static_assert(sizeof(GpuSource) <= BroadcastRing::most_offered);

namespace {

/// What the root tells. Behind it, for each process of the window, whom it reads from.
struct Plan {
  GpuSource source;
  std::int64_t segment;
  std::uint64_t processes;
};

GpuSource source_of(const std::vector<char>& head) {
  GpuSource source;
  std::memcpy(&source, head.data(), sizeof source);
  return source;
}

/// Under way at a time: one that moves data, and one that is being begun.
constexpr std::size_t most_pieces = 2;

/// Where data come from: how many bytes of them are there, which becomes more, or Post::lost.
struct From {
  GpuSource source;
  const std::atomic<std::int64_t>* there = nullptr;  // null: all are there
  std::int64_t bytes() const { return there ? there->load(std::memory_order_acquire) : source.size; }
};

/// Contiguous device memory for all of the data; the address of their first byte.
std::optional<std::uintptr_t> contiguous(const pack::gpu::Described& to, std::int64_t size) {
  const auto at = to.recipe->recipe.contiguous(0, size);
  return at ? std::optional(reinterpret_cast<std::uintptr_t>(to.buffer) + static_cast<std::uintptr_t>(*at))
            : std::nullopt;
}

/// Brings the data from `begun` on to device memory, in pieces of `segment` bytes where both sides
/// are contiguous, else at once. `came` hears how many are there. Returns that: fewer than all
/// where their source has lost them. Throws device::Error.
template <class Came>
std::int64_t read(const From& from, const Destination& destination, std::int64_t begun, std::int64_t segment,
                  Came&& came, const LetGoOn& let_go_on) {
  struct Flight {
    std::int64_t end;
    ScopedTransfers transfers;
  };
  const auto& driver = *device::driver();
  const auto& to = *destination.to;
  const auto size = from.source.size;
  const auto address = from.source.contiguous() ? contiguous(to, size) : std::nullopt;
  if (!address || segment == 0) segment = size;
  const auto begin = [&](std::int64_t end) {
    const device::Scope scope(driver, destination.context);
    if (!address)
      return ScopedTransfers(
          destination.context,
          {Transfers::move(std::make_shared<const transport::gpu::Remote>(driver, from.source), to)});
    auto piece =
        std::make_shared<const transport::gpu::Remote>(driver, transport::gpu::part_of(from.source, begun, end));
    return ScopedTransfers(
        destination.context,
        {Transfers::move(std::move(piece), transport::gpu::contiguous_at(*address + static_cast<std::uintptr_t>(begun),
                                                                         end - begun, to.place))});
  };
  std::deque<Flight> flights;
  std::int64_t come = begun;
  transport::shm::Patience patience;
  for (int round = 1; come < size; ++round, patience.wait()) {
    if (round % polls_between == 0) let_go_on();
    if (!flights.empty() && flights.front().transfers.done()) {
      came(come = flights.front().end);
      flights.pop_front();
      patience.rest();
    }
    if (begun == size || flights.size() == most_pieces) continue;
    const auto there = from.bytes();
    const auto end = std::min(begun + segment, size);
    if (there >= end) {
      flights.push_back({end, begin(end)});
      begun = end;
    } else if (there == BroadcastRing::Post::lost && flights.empty()) {
      return come;
    }
  }
  return come;
}

void read_by_host(const GpuSource& source, const Destination& there, const memory::Landing& landing) {
  const auto& driver = *device::driver();
  const device::Scope scope(driver, there.context);
  fetch_to_host(driver, transport::gpu::Remote(driver, source), landing);
  landing.finish();
}

/// To wherever the data are to go, of what has all its bytes.
int read_all(const GpuSource& source, const memory::Landing& landing, const LetGoOn& let_go_on) {
  const auto* driver = device::driver();
  if (!driver) throw std::bad_alloc();
  if (source.size > landing.capacity()) return MPI_ERR_TRUNCATE;
  const base::Range range("fetch a broadcast from another GPU", source.size);
  const auto there = destination(*driver, landing, source);
  if (there.to) {
    read(
        {source}, there, 0, 0, [](std::int64_t) {}, let_go_on);
    return MPI_SUCCESS;
  }
  read_by_host(source, there, landing);
  return MPI_SUCCESS;
}

/// What tells others where this rank's buffer is; empty where they cannot read the data there.
std::vector<char> offer_of(const memory::Landing& landing, const GpuSource& source,
                           const std::vector<std::uint32_t>& readers) {
  const auto* to = in_device(landing);
  if (!to || landing.capacity() != source.size || !source.contiguous() || !contiguous(*to, source.size)) return {};
  auto offer = gpu_publish(landing.buffer, readers, Publish::in_place);
  return offer ? std::move(offer->head) : std::vector<char>();
}

/// From another rank as it gets them; what that one loses, or cannot be read there, from the root.
void read_along(const Plan& plan, const From& from, const Destination& there, const memory::Landing& landing,
                std::atomic<std::int64_t>& mine, const LetGoOn& let_go_on) {
  const base::Range range("fetch a broadcast from GPU to GPU", plan.source.size);
  std::int64_t come = 0;
  const auto came = [&](std::int64_t bytes) { mine.store(come = bytes, std::memory_order_release); };
  try {
    read(from, there, 0, plan.segment, came, let_go_on);
  } catch (const device::Error&) {
    if (!from.there) throw;
  }
  if (come == plan.source.size) return;
  const auto rest = destination(*device::driver(), landing, plan.source);
  if (rest.to)
    read({plan.source}, rest, come, plan.segment, came, let_go_on);
  else
    read_by_host(plan.source, rest, landing);
}

}  // namespace

std::optional<GpuOffer> gpu_publish(const memory::Buffer& content, std::span<const std::uint32_t> receivers,
                                    Publish how) try {
  const auto* data = content.device();
  const auto path = process->settings.gpu_path;
  if (!data || !in_one_piece(*data) || !gpu_announcements() || path == base::GpuPath::pass ||
      path == base::GpuPath::staged || content.size() < process->model.gpu.direct)
    return std::nullopt;
  const auto& driver = *device::driver();
  auto& world = *process->world;
  bool all = true;  // every one of them is to be asked, that they find out at the same time
  for (const auto receiver : receivers)
    all &= world.peers.reaches(receiver) &&
           world.gpu_proofs.read_by(receiver, [&] { return make_proof(driver, data->place); });
  if (!all || (data->place.memory == device::Memory::device && data->place.device != gpu_use().proved))
    return std::nullopt;
  const device::Scope scope(driver, context_of(driver, data->place));
  GpuOffer offer;
  const auto exported = how == Publish::copy ? std::nullopt : device::export_of(driver, data->place, process->rank);
  if (const auto source = exported ? transport::gpu::describe(*data, *exported) : std::nullopt) {
    say(offer, *source);
    return offer;
  }
  if (how == Publish::in_place) return std::nullopt;
  if (!offer_block(driver, offer, content.size())) return std::nullopt;
  content.pack(reinterpret_cast<char*>(offer.address), 0, content.size());
  return offer;
} catch (const std::exception&) {
  return std::nullopt;
}

int gpu_read_published(const char* head, const memory::Landing& landing, const LetGoOn& let_go_on) try {
  GpuSource source;
  std::memcpy(&source, head, sizeof source);
  return read_all(source, landing, let_go_on);
} catch (const std::exception&) {
  return code_of_current_exception();
}

std::vector<char> gpu_tell(const memory::Buffer& content, const GpuOffer& offer, const WindowRanks& ranks) try {
  const auto& window = ranks.window;
  const auto& place = content.device()->place;
  std::vector<std::uint64_t> devices;
  for (std::uint32_t p = 0; p < window.processes(); ++p)
    devices.push_back(window.post(p).device.load(std::memory_order_relaxed));
  auto& mine = devices[window.self()] = device::identity_of(
      *device::driver(), place.memory == device::Memory::device ? place.device : gpu_use().place.device);
  window.post(window.self()).device.store(mine, std::memory_order_relaxed);

  Plan plan{source_of(offer.head), 0, window.processes()};
  if (!plan.source.contiguous()) mine = 0;  // all from the root: nobody could begin before the one before has all of it
  const auto readers = collective::readers(devices, window.self(), plan.source.size, collective::between_gpus);
  plan.segment = readers.segment;
  std::vector<char> head(sizeof plan + readers.source.size() * sizeof readers.source[0]);
  std::memcpy(head.data(), &plan, sizeof plan);
  std::memcpy(head.data() + sizeof plan, readers.source.data(), head.size() - sizeof plan);
  return head;
} catch (const std::exception&) {
  return {};
}

Fetched gpu_receive_told(const char* head, std::uint64_t at, const WindowRanks& ranks, const memory::Landing& landing,
                         const LetGoOn& let_go_on) {
  auto& window = ranks.window;
  const auto self = window.self();
  auto& mine = window.post(self);
  Plan plan;
  std::memcpy(&plan, head, sizeof plan);
  const auto reads_from = [&](std::uint64_t process) {
    std::uint16_t source;
    std::memcpy(&source, head + sizeof plan + process * sizeof source, sizeof source);
    return source;
  };

  Fetched fetched{MPI_SUCCESS};
  bool awaited = false;  // by some who read from here, and wait for a word whatever becomes of the rest
  for (std::uint32_t p = 0; p < plan.processes; ++p) awaited = awaited || (p != self && reads_from(p) == self);
  if (awaited) {
    std::vector<char> offered;
    fetched.code = guarded([&] {
      std::vector<std::uint32_t> readers;
      for (std::uint32_t p = 0; p < plan.processes; ++p)
        if (p != self && reads_from(p) == self) readers.push_back(ranks.in_world(p));
      offered = offer_of(landing, plan.source, readers);
    });
    window.offer(at, offered);
    fetched.read_from = !offered.empty();
  }
  int code = MPI_SUCCESS;
  if (fetched.code == MPI_SUCCESS)
    fetched.code = guarded([&] {
      const auto* driver = device::driver();
      if (!driver) throw std::bad_alloc();
      const auto* to = in_device(landing);
      const bool readable = to && to->place.context && contiguous(*to, plan.source.size);  // pools have no context
      mine.device.store(readable ? device::identity_of(*driver, to->place.device) : 0, std::memory_order_relaxed);
      const auto from = reads_from(self);
      From source{plan.source};
      if (reads_from(from) != from)  // it is not the root
        if (const auto* theirs = window.offered(from, at, let_go_on)) {
          std::memcpy(&source.source, theirs, sizeof source.source);
          source.there = &window.post(from).there;
        }
      const auto there = destination(*driver, landing, source.source);
      const bool along = there.to && landing.capacity() >= plan.source.size && (source.there || fetched.read_from);
      fetched.along = along && source.there;
      if (along)
        read_along(plan, source, there, landing, mine.there, let_go_on);
      else
        code = read_all(plan.source, landing, let_go_on);
    });
  if (fetched.code == MPI_SUCCESS) fetched.code = code;
  if (fetched.read_from)
    mine.there.store(fetched.code == MPI_SUCCESS ? plan.source.size : BroadcastRing::Post::lost,
                     std::memory_order_release);
  return fetched;
}

}  // namespace dunnage::mpi
