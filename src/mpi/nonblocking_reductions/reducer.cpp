#include "mpi/nonblocking_reductions/reducer.hpp"

#include <algorithm>

#include "mpi/message/buffer.hpp"
#include "mpi/message/copy_within.hpp"
#include "pack/cuda/reduce_on_host.hpp"
#include "transport/gpu/reduction.hpp"
#include "transport/shm/patience.hpp"

namespace dunnage::mpi {
namespace {

std::uintptr_t address_of(const void* at) { return reinterpret_cast<std::uintptr_t>(at); }

/// A context in which kernels reduce an array in its place. Null if they do not.
CUcontext context_on_device(const device::Driver& driver, const void* at, std::int64_t bytes, std::int64_t alignment) {
  const auto place = device::known_place(driver, at);
  const bool there = place.memory == device::Memory::device &&
                     place.address + static_cast<std::uintptr_t>(bytes) <= place.end &&
                     place.address % static_cast<std::uintptr_t>(alignment) == 0;
  return there ? context_of(driver, place) : nullptr;
}

/// Where a kernel reads the data of a fetch. Nothing if they are not in one piece.
std::optional<std::uintptr_t> source_of(const DeviceFetch& fetch) {
  const auto& from = fetch.move->from;
  const auto first = from.recipe->recipe.contiguous(0, fetch.move->size);
  if (!first) return std::nullopt;
  return address_of(from.buffer) + static_cast<std::uintptr_t>(*first);
}

bool on_host(const void* at) {
  const auto* driver = device::driver();
  return !driver || !device::known_place(*driver, at).on_gpu();
}

}  // namespace

Reducer::Reducer(const Data& data)
    : data_(data), bytes_(data.count * facts_of(data.kernel.element).extent), step_((bytes_ + 255) / 256 * 256) {
  if (data_.sources > 0 && bytes_ > 0) choose_memory();
}

void Reducer::choose_memory() {
  if (const auto* driver = device::driver()) {
    const auto alignment = facts_of(data_.kernel.element).alignment;
    auto context = context_on_device(*driver, data_.result, bytes_, alignment);
    if (has_own() && context && context_on_device(*driver, data_.own, bytes_, alignment) != context) context = nullptr;
    if (context) {
      const device::Scope scope(*driver, context);
      block_ = take_block(*driver, (others() + (has_own() && overlaps() ? 1 : 0)) * step_);
    }
    if (block_) {
      context_ = context;
      room_ = reinterpret_cast<char*>(block_->address);
      return;
    }
  }
  host_ = std::make_unique_for_overwrite<char[]>(static_cast<std::size_t>((others() + 1) * step_));
  room_ = host_.get();
}

bool Reducer::overlaps() const {
  const auto own = address_of(data_.own), result = address_of(data_.result);
  const auto bytes = static_cast<std::uintptr_t>(bytes_);
  return own != result && own < result + bytes && result < own + bytes;
}

std::vector<std::uintptr_t> Reducer::sources(std::uintptr_t own) const {
  std::vector<std::uintptr_t> all;
  for (std::uint32_t rank = 0; rank < data_.sources; ++rank)
    all.push_back(rank == data_.rank ? own : address_of(room_for(rank)));
  return all;
}

bool Reducer::needs(const DeviceFetch& fetch) const {
  if (!context_ || !data_.apart || fetch.context != context_) return false;
  const auto& move = *fetch.move;
  const auto at = address_of(move.to.buffer), first = address_of(room_);
  if (at < first || at >= first + others() * static_cast<std::uintptr_t>(step_)) return false;
  const auto source = source_of(fetch);
  const auto alignment = static_cast<std::uintptr_t>(facts_of(data_.kernel.element).alignment);
  return source && *source % alignment == 0 && move.size == bytes_;
}

std::unique_ptr<DeviceWork> Reducer::begin(std::span<const DeviceFetch* const> fetches) {
  if (fetches.size() != others()) return nullptr;
  const base::Range range("reduce data of other ranks in place", bytes_);
  auto all = sources(address_of(data_.own));
  for (const auto* fetch : fetches) {
    const auto slot = std::find(all.begin(), all.end(), address_of(fetch->move->to.buffer));
    if (slot == all.end()) return nullptr;
    *slot = *source_of(*fetch);
  }
  using transport::gpu::GpuReduction;
  auto work = std::make_unique<ScopedWork<GpuReduction>>(context_, [&] {
    auto reduction = std::make_unique<GpuReduction>(*device::driver());
    reduction->reduce(data_.kernel.element, data_.kernel.operation, all, address_of(data_.result), data_.count);
    return reduction;
  });
  reduced_ = true;
  return work;
}

int Reducer::reduce() const {
  if (!room_ || reduced_) return MPI_SUCCESS;
  const base::Range range("reduce", bytes_);
  if (!context_) return reduce_on_host();
  reduce_on_device();
  return MPI_SUCCESS;
}

void Reducer::reduce_on_device() const {
  const auto& [element, operation] = data_.kernel;
  const auto& driver = *device::driver();
  const device::Scope scope(driver, context_);
  transport::gpu::GpuReduction work(driver);
  auto own = address_of(data_.own);
  if (has_own() && overlaps()) {
    work.copy(element, operation, own, address_of(spare()), data_.count);
    own = address_of(spare());
  }
  work.reduce(element, operation, sources(own), address_of(data_.result), data_.count);
  for (transport::shm::Patience patience; !work.done(); patience.wait())
    if (process->world) process->world->answer();
}

int Reducer::reduce_on_host() const {
  auto* own = const_cast<void*>(data_.own);
  int code = MPI_SUCCESS;
  if (has_own() && (!on_host(own) || overlaps())) {
    code = copy(own, spare());
    own = spare();
  }
  if (code != MPI_SUCCESS) return code;
  // Gaps in the result's elements are the program's, so they come to the spare slot first.
  const bool in_place = on_host(data_.result);
  void* const to = in_place ? data_.result : spare();
  pack::cuda::reduce_on_host(data_.kernel.element, data_.kernel.operation, sources(address_of(own)), address_of(to),
                             data_.count);
  return in_place ? code : copy(to, data_.result);
}

int Reducer::copy(const void* from, void* to) const {
  const auto source = buffer_of(const_cast<void*>(from), data_.count, data_.type);
  const memory::Landing landing{buffer_of(to, data_.count, data_.type)};
  FetchBatch batch;
  const int code = copy_within(source, landing, source.size(), [] {});
  const auto failures = batch.finish();
  return code == MPI_SUCCESS && !failures.empty() ? failures.front().code : code;
}

}  // namespace dunnage::mpi
