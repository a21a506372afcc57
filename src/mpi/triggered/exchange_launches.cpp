// What the calls of an exchange put into streams, and how that is recorded.
#include <algorithm>

#include "device/memory_operation.hpp"
#include "mpi/process/failure.hpp"
#include "mpi/triggered/exchange.hpp"
#include "mpi/triggered/slot_block.hpp"
#include "pack/gpu/signal.hpp"

namespace dunnage::mpi {

using device::wait_of;
using device::write_of;
using pack::cuda::Signal;

/// All writes, and then all waits, of one point of an exchange.
void Exchange::write_and_wait(CUstream stream, const std::vector<std::uintptr_t>& targets, std::uintptr_t first,
                              std::size_t count) {
  std::vector<CUstreamBatchMemOpParams> operations;
  for (const auto target : targets) operations.push_back(write_of(target, epoch_));
  for (std::size_t i = 0; i < count; ++i) operations.push_back(wait_of(first + i * pack::cuda::slot_stride, epoch_));
  constexpr std::size_t most = 128;  // the driver takes 256
  const auto& driver = gpu->driver();
  for (std::size_t i = 0; i < operations.size(); i += most)
    device::check(driver,
                  driver.cuStreamBatchMemOp(stream, static_cast<unsigned>(std::min(most, operations.size() - i)),
                                            operations.data() + i, 0),
                  "cuStreamBatchMemOp");
}

/// Puts moves into the stream, what is waited for `before`, and what is told and waited for
/// `after`. `told`: the slots of others that `after` names.
void Exchange::move(CUstream stream, pack::gpu::Prepared& prepared, const Signal& before, const Signal& after,
                    const std::vector<std::uintptr_t>& told) {
  if (how == TriggerWay::kernels) {
    if (auto all = prepared.small(before, after)) {
      if (all->blocks + before.advance + before.waits + after.puts + after.waits > 0)
        pack::gpu::put(*gpu, stream, *all);
      return;
    }
    auto first = before, last = after;
    if (before.waits > 0 && !(waiting_blocks && &prepared == &moves)) {
      pack::gpu::put(*gpu, stream, before);
      first = {};
    }
    last.advance += std::exchange(first.advance, 0);  // moves do not need the epoch
    const bool signals = first.waits + last.puts + last.waits + last.advance > 0;
    if (signals && prepared.put(*gpu, stream, first, last, SlotBlock::finished(last.epoch))) return;
    prepared.put(*gpu, stream);
    if (signals) pack::gpu::put(*gpu, stream, last);
    return;
  }
  write_and_wait(stream, {}, reinterpret_cast<std::uintptr_t>(before.wait), before.waits);
  prepared.put(*gpu, stream);
  write_and_wait(stream, told, reinterpret_cast<std::uintptr_t>(after.wait), after.waits);
}

/// A launch takes microseconds. If nobody is told of the start, and no kernel sends a partition,
/// the device's number is first needed when data are moved.
bool Exchange::start_tells_nobody() const {
  return how == TriggerWay::kernels && tell_ready.puts == 0 && packs.empty() && stamped_out.entries == 0 && messages &&
         !table_on_device;
}

void Exchange::put_start(CUstream stream) {
  if (stamped_out.entries > 0) {
    packs.put(*gpu, stream);
    auto launch = stamped_out;
    launch.advance = 1;
    launch.after = tell_ready;
    return pack::gpu::put(*gpu, stream, launch);
  }
  if (packs.empty() && how == TriggerWay::kernels) return pack::gpu::put(*gpu, stream, tell_ready);
  Signal before, after = tell_ready;
  before.epoch = after.epoch;
  before.advance = std::exchange(after.advance, 0);
  move(stream, packs, before, after, ready_targets);
}

/// Data of GPUs that reach each other come first, because their senders wait for that, whatever the
/// proxy waits for. `advances`: the device's number was not advanced by the start.
void Exchange::put_pull(CUstream stream, bool advances, bool last) {
  auto before = wait_ready, after = tell_done;
  before.advance = advances;
  if (last && !proxied) after.wait = wait_done.wait, after.waits = wait_done.waits;
  if (stamped_in.entries > 0) {
    auto launch = stamped_in;
    launch.advance = std::exchange(before.advance, 0);
    const bool alone = moves.empty() && before.waits == 0 && !proxied;
    if (alone) launch.after = after;
    pack::gpu::put(*gpu, stream, launch);
    if (alone) return;
  }
  move(stream, moves, before, after, done_targets);
  if (!proxied) return;
  const bool together = last && wait_done.waits == 0;
  Signal none;
  none.epoch = wait_sent.epoch;
  move(stream, unpacks, wait_received, together ? wait_sent : none, {});
  if (last && !together) put_finish(stream);
}

void Exchange::put_finish(CUstream stream) {
  if (!table.comes.empty()) return pack::gpu::put_wait(*gpu, stream, {table_on_device, 0, 0});
  for (const auto* wait : {&wait_done, &wait_sent}) {
    if (how == TriggerWay::memory_operations)
      write_and_wait(stream, {}, reinterpret_cast<std::uintptr_t>(wait->wait), wait->waits);
    else if (wait->waits > 0)
      pack::gpu::put(*gpu, stream, *wait);
  }
}

void Exchange::record() {
  if (how != TriggerWay::kernels) return;
  const bool advances = start_tells_nobody();
  // Without recordings the calls launch kernels.
  const int recorded = guarded([&] {
    device::Borrowed recorder(*gpu);
    recorder.busy();
    const auto stream = recorder->stream;
    const auto recording = [&](auto&& put) { return device::RecordedGraph(gpu->driver(), stream, put); };
    if (!advances) recorded_.start = recording([&] { put_start(stream); });
    recorded_.pull = recording([&] { put_pull(stream, advances, false); });
    recorded_.pull_last = recording([&] { put_pull(stream, advances, true); });
    recorded_.finish = recording([&] { put_finish(stream); });
    recorder.synchronize();  // fails if a recording has not ended
  });
  if (recorded != MPI_SUCCESS) recorded_ = {};
}

void Exchange::put_partition(CUstream stream, const dng_request& request, pack::cuda::PartitionCall call) {
  const auto bytes = static_cast<std::int64_t>(request.size * request.word);
  if (how == TriggerWay::kernels && bytes <= pack::cuda::most_of_one_block)
    return pack::gpu::put_pready(*gpu, stream, call);
  const auto flag = call.partition * std::uint64_t{pack::cuda::slot_stride};
  const auto open = reinterpret_cast<std::uintptr_t>(request.open);
  const std::uintptr_t told[] = {reinterpret_cast<std::uintptr_t>(request.arrived) + flag,
                                 reinterpret_cast<std::uintptr_t>(request.sent) + flag};
  if (how == TriggerWay::kernels) {
    Signal before, after;
    before.epoch = after.epoch = wait_done.epoch;
    before.wait = request.open;
    before.waits = 1;
    after.puts = 2;
    std::copy_n(told, 2, after.put);
    pack::gpu::put(*gpu, stream, before);
    pack::gpu::put_partition(*gpu, stream, call, bytes);
    pack::gpu::put(*gpu, stream, after);
    return;
  }
  write_and_wait(stream, {}, open, 1);
  pack::gpu::put_partition(*gpu, stream, call, bytes);
  write_and_wait(stream, {told, told + 2}, 0, 0);
}

}  // namespace dunnage::mpi
