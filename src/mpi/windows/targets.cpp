#include "mpi/windows/targets.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "mpi/message/buffer.hpp"
#include "mpi/message/gpu_shared.hpp"
#include "mpi/process/gpu_use.hpp"

namespace dunnage::mpi {

using transport::gpu::AttachedMemory;

namespace {

using device::Exported;

/// What a rank tells the others of its memory. Plain bytes.
struct Card {
  Target::Kind kind;
  std::uint32_t unused;
  std::int64_t size, unit;
  std::int64_t at;  // of the memory, from the beginning of the allocation
  Exported allocation;
};

bool read_by_all(const Seats& seats, const device::Place& place) {
  bool all = true;  // all are asked, because the first to be asked answers later
  for (std::uint32_t rank = 0; rank < seats.ranks(); ++rank)
    if (rank != seats.rank()) all &= reads_memory_at(seats.world_rank(rank), place);
  return all;
}

/// Waits until all ranks have answered whether they read this rank's memory. They are in this call
/// too. Some may never answer, so the wait ends after half a second.
bool becomes_read_by_all(const Seats& seats, const device::Place& place) {
  if (!others_read_memory()) return false;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  bool all = false;
  return seats.wait_until([&] {
    all = read_by_all(seats, place);
    return all || std::chrono::steady_clock::now() >= end;
  }) && all;
}

Card card_of(Seats& seats, void* base, std::int64_t size, std::int64_t unit) try {
  Card card{};
  card.size = size;
  card.unit = unit;
  if (!base) return card;
  card.kind = Target::Kind::copied;
  const auto& driver = *device::driver();
  const auto place = device::known_place(driver, base);
  if (place.memory != device::Memory::device || place.address + static_cast<std::uintptr_t>(size) > place.end)
    return card;
  see_gpu(base);
  if (seats.ranks() > 1) {
    const auto exported = device::export_of(driver, place, process->rank);
    if (!exported || !becomes_read_by_all(seats, place)) return card;
    card.allocation = *exported;
    card.at = static_cast<std::int64_t>(place.address - place.begin);
  } else if (process->settings.gpu_path == base::GpuPath::staged) {
    return card;
  }
  card.kind = Target::Kind::direct;
  return card;
} catch (const std::exception&) {
  Card card{};
  card.kind = Target::Kind::copied;
  card.size = size;
  card.unit = unit;
  return card;
}

/// Finds this rank's own memory.
void find_own(Target& target, const void* base) {
  target.place = device::known_place(*device::driver(), base);
  target.base = target.place.address;
}

/// Finds the memory of another rank for this process' kernels. Throws device::Error.
void map(Target& target, const Exported& allocation, std::int64_t at) {
  const auto& driver = *device::driver();
  const device::Scope scope(driver, device::context_for(driver, any_place(driver)));
  auto& gpu = device::Gpu::current(driver);
  target.mapping = gpu.imports().open(driver, allocation);
  target.base = target.mapping->begin() + static_cast<std::uintptr_t>(at);
  CUdevice device = 0;
  device::check(driver, driver.cuCtxGetDevice(&device), "cuCtxGetDevice");
  // This device's kernels use the mapped memory as they use their own.
  target.place = {device::Memory::device,  device,
                  gpu.context(),           target.base,
                  target.mapping->begin(), target.mapping->begin() + allocation.size};
}

}  // namespace

std::vector<Target> agree_on_targets(MPI_Comm comm, Seats& seats, void* base, std::int64_t size, std::int64_t unit) {
  const auto ranks = seats.ranks();
  if (!base) see_current_gpu();
  const auto mine = card_of(seats, base, size, unit);
  seats.meet();  // those that wait for answers get them from ranks that wait here
  std::vector<Card> cards(ranks);
  constexpr int bytes = sizeof(Card);
  process->own.Allgather(&mine, bytes, MPI_BYTE, cards.data(), bytes, MPI_BYTE, comm);
  std::vector<Target> targets(ranks);
  std::vector<int> lost(ranks), lost_somewhere(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    auto& target = targets[rank];
    target.kind = cards[rank].kind;
    target.size = cards[rank].size;
    target.unit = cards[rank].unit;
    if (!target.direct()) continue;
    try {
      if (rank == seats.rank())
        find_own(target, base);
      else
        map(target, cards[rank].allocation, cards[rank].at);
    } catch (const std::exception&) {
      lost[rank] = 1;
    }
  }
  process->own.Allreduce(lost.data(), lost_somewhere.data(), static_cast<int>(ranks), MPI_INT, MPI_MAX, comm);
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    if (lost_somewhere[rank]) targets[rank].kind = Target::Kind::copied;
  return targets;
}

bool may_attach(Seats& seats) {
  bool all = false;
  see_current_gpu();
  try {
    const auto* driver = device::driver();
    if (driver && seats.ranks() == 1)
      all = true;
    else if (driver && gpu_use().seen.load(std::memory_order_acquire))
      all = becomes_read_by_all(seats, any_place(*driver));
  } catch (const std::exception&) {  // then they do not
  }
  return seats.meet() && all;
}

std::optional<AttachedMemory> attachable(const Seats& seats, void* base, std::int64_t size) {
  const auto& driver = *device::driver();
  const auto place = device::known_place(driver, base);
  AttachedMemory memory{static_cast<std::uint64_t>(place.address), static_cast<std::uint64_t>(size), 0, {}};
  if (place.memory != device::Memory::device || place.address + static_cast<std::uintptr_t>(size) > place.end)
    return std::nullopt;
  if (seats.ranks() == 1) return memory;
  const auto exported = device::export_of(driver, place, process->rank);
  if (!exported || !read_by_all(seats, place)) return std::nullopt;
  memory.allocation = *exported;
  memory.at = static_cast<std::int64_t>(place.address - place.begin);
  return memory;
}

std::optional<Target> find_attached(Seats& seats, std::uint32_t rank, Reach& reach) {
  const auto extent = extent_of({nullptr, reach.count, reach.type}, known_type(reach.type), nullptr);
  const auto first = static_cast<std::uint64_t>(type::plus(reach.disp, extent ? extent->first : 0));
  const auto memory = seats.of(rank).attached().find(first);
  if (!memory) return std::nullopt;
  Target target;
  target.kind = Target::Kind::direct;
  target.size = static_cast<std::int64_t>(memory->size);
  if (rank == seats.rank())
    find_own(target, reinterpret_cast<const void*>(memory->begin));
  else
    map(target, memory->allocation, memory->at);
  reach.disp -= static_cast<std::int64_t>(memory->begin);
  return target;
}

int buffer_in(const Target& target, const Reach& reach, memory::Buffer& buffer) {
  const auto& driver = *device::driver();
  const auto offset = type::times(reach.disp, target.unit);
  const Elements there{reinterpret_cast<const void*>(target.base + static_cast<std::uintptr_t>(offset)), reach.count,
                       reach.type};
  const auto extent = placed_on_gpu(driver, there, target.place, buffer);
  if (!extent) return MPI_SUCCESS;
  if (type::plus(offset, extent->low) < 0 || type::plus(offset, extent->high) > target.size) return MPI_ERR_RMA_RANGE;
  return MPI_SUCCESS;
}

}  // namespace dunnage::mpi
