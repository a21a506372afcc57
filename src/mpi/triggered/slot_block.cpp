#include "mpi/triggered/slot_block.hpp"

#include <sys/random.h>

#include <algorithm>
#include <cstring>

#include "mpi/process/gpu_use.hpp"
#include "mpi/triggered/upload.hpp"

namespace dunnage::mpi {

namespace {

/// Bytes in whole cache lines.
constexpr std::uint64_t lines(std::uint64_t bytes) {
  return (bytes + pack::cuda::slot_stride - 1) / pack::cuda::slot_stride * pack::cuda::slot_stride;
}

}  // namespace

void make_slot_block(const device::Driver& driver, device::Gpu& gpu, MatchSides& sides, MatchSide& own,
                     SlotBlock& made) {
  std::vector<MatchSide*> lists{&own};
  for (auto& [rank, side] : sides) lists.push_back(&side);
  const auto peers = sides.size();
  auto place = 2 * peers;
  for (auto* side : lists) side->arrived = std::exchange(place, place + side->incoming);
  for (auto* side : lists) side->sent = std::exchange(place, place + side->outgoing);
  made.waited = place;
  for (auto* side : lists) side->open = place++;
  made.broken = place++;
  made.count = place;
  made.cells_begin = lines(SlotBlock::offset(made.count) + (3 * peers + 1) * sizeof(std::uint64_t));
  const auto size = made.cell(made.cells);
  made.block = take_block(driver, static_cast<std::int64_t>(size));
  if (!made.block) return;
  std::vector<char> start(size);
  if (getrandom(&made.nonce, sizeof made.nonce, 0) != sizeof made.nonce) made.nonce = made.block->exported.id;
  std::memcpy(start.data(), &made.nonce, sizeof made.nonce);
  upload(driver, gpu, made.block->address, start.data(), size);
}

pack::cuda::Signal SlotBlock::telling(const std::vector<std::uintptr_t>& targets, std::size_t place,
                                      std::uint32_t advance) const {
  pack::cuda::Signal signal;
  signal.epoch = epoch();
  signal.puts = static_cast<std::uint32_t>(targets.size());
  signal.puts_at = reinterpret_cast<const std::uint64_t*>(tables()) + place;
  std::copy_n(targets.begin(), std::min<std::size_t>(targets.size(), pack::cuda::Signal::near), signal.put);
  signal.advance = advance;
  return signal;
}

pack::cuda::Signal SlotBlock::waiting(std::size_t first, std::size_t number) const {
  pack::cuda::Signal signal;
  signal.epoch = epoch();
  signal.wait = reinterpret_cast<const char*>(at(first));
  signal.waits = static_cast<std::uint32_t>(number);
  return signal;
}

void retire_slots(const device::Driver& driver, device::Gpu& gpu, std::uintptr_t first, std::uint64_t count) {
  if (count == 0) return;
  constexpr std::uint64_t stride = pack::cuda::slot_stride;
  std::vector<char> slots(count * stride);
  for (std::uint64_t i = 0; i < count; ++i) std::memcpy(slots.data() + i * stride, &unused_epoch, sizeof unused_epoch);
  upload(driver, gpu, static_cast<CUdeviceptr>(first), slots.data(), slots.size());
}

}  // namespace dunnage::mpi
