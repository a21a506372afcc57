#include "mpi/message/device_landing.hpp"

#include <algorithm>

#include "mpi/message/buffer.hpp"
#include "mpi/process/gpu_use.hpp"
#include "transport/shm/patience.hpp"

namespace dunnage::mpi {

using device::Driver;

namespace {

/// Host memory that is not contiguous is filled by way of pieces of so many bytes.
constexpr std::int64_t host_piece = 4 << 20;

/// Whether the device of a buffer reads a source. Only the first device of this process was proved
/// to.
bool reads_from(const Driver& driver, const pack::gpu::Described& to, const transport::gpu::GpuSource& source) try {
  if (source.allocation.way == device::Exported::own) return false;  // nobody has let one device read the other
  const device::Scope scope(driver, device::context_for(driver, to.place));
  const transport::gpu::Remote remote(driver, source);
  return true;
} catch (const std::exception&) {
  return false;
}

}  // namespace

const pack::gpu::Described* in_device(const memory::Landing& landing) {
  const auto* to = landing.buffer.device();
  return to && in_one_piece(*to) && to->place.memory == device::Memory::device ? to : nullptr;
}

Destination destination(const Driver& driver, const memory::Landing& landing, const transport::gpu::GpuSource& source) {
  const auto* to = in_device(landing);
  if (to && to->place.device != gpu_use().place.device && !reads_from(driver, *to, source)) to = nullptr;
  return {to, device::context_for(driver, to ? to->place : any_place(driver))};
}

void fetch_to_host(const Driver& driver, const transport::gpu::Remote& remote, const memory::Landing& landing) {
  const auto piece = process->settings.device_piece;
  if (auto* to = landing.contiguous()) return remote.pack(to, device::known_place(driver, to), piece, 0, remote.size());
  const auto staging = process->staging.take(std::min(remote.size(), host_piece));
  if (!staging) throw std::bad_alloc();
  for (std::int64_t begin = 0; begin < remote.size(); begin += host_piece) {
    const auto end = std::min(begin + host_piece, remote.size());
    const auto first = reinterpret_cast<std::uintptr_t>(staging.data()) - static_cast<std::uintptr_t>(begin);
    remote.pack(reinterpret_cast<void*>(first), device::Place(), piece, begin, end);
    landing.place(staging.data(), begin, end);
  }
}

void run(CUcontext context, pack::gpu::PreparedMoves& moves, base::FunctionRef<void()> moved) {
  const auto& driver = *device::driver();
  const device::Scope scope(driver, context);
  auto& gpu = device::Gpu::of(driver, context);
  device::Borrowed lane(gpu);
  moves.launch(gpu, lane);
  process->fetches.group(moves.messages(), false);
  for (transport::shm::Patience patience; !lane.done();) patience.wait();
  moved();
}

namespace {

ScopedWork<transport::gpu::Transfers> begun(CUcontext context, transport::gpu::Transfers::Moves moves) {
  return {context, [&] {
            auto& gpu = device::Gpu::current(*device::driver());
            return std::make_unique<transport::gpu::Transfers>(gpu, moves, device_piece());
          }};
}

ScopedWork<transport::gpu::Transfers> begun(CUcontext context, const std::vector<ScopedTransfers::Move>& moves) {
  std::vector<const ScopedTransfers::Move*> all;
  all.reserve(moves.size());
  for (const auto& move : moves) all.push_back(&move);
  return begun(context, all);
}

}  // namespace

ScopedTransfers::ScopedTransfers(CUcontext context, transport::gpu::Transfers::Moves moves)
    : work_(begun(context, moves)) {}

ScopedTransfers::ScopedTransfers(CUcontext context, std::vector<Move> moves)
    : moves_(std::move(moves)), work_(begun(context, moves_)) {}

}  // namespace dunnage::mpi
