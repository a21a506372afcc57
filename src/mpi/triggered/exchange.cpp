#include "mpi/triggered/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "device/memory_operation.hpp"
#include "mpi/completion/calls.hpp"
#include "mpi/hooks/nonblocking.hpp"
#include "mpi/partitioned/partitions.hpp"
#include "mpi/process/failure.hpp"
#include "mpi/triggered/upload.hpp"
#include "pack/gpu/signal.hpp"

namespace dunnage::mpi {
namespace {

using device::wait_of;
using device::write_of;
using pack::cuda::Signal;

int failure(CUresult code, const std::string& text) { return code_of(device::Error(code, text)); }

/// Whether a stream is captured. Of the legacy default stream the driver may not tell.
bool captured(const device::Driver& driver, CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return driver.cuStreamIsCapturing && driver.cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

}  // namespace

Exchange::~Exchange() { unwatch(*this); }

int Exchange::error() const {
  if (!broken()) return MPI_SUCCESS;
  const int lost = lost_ < 0 && proxied ? proxied->lost() : lost_.load();
  if (lost < 0) return proxied ? proxied->error() : MPI_ERR_OTHER;
  return failure(CUDA_ERROR_UNKNOWN, fmt::format("rank {} of MPI_COMM_WORLD has ended, or has given up the exchange: "
                                                 "free the exchange, and the communicators with that rank",
                                                 lost));
}

/// Work that is captured can run many times, and a kernel of the program can start an exchange. The
/// host then no longer knows the epoch, so memory operations can never be used again. The peers
/// need not know: their slots get the epoch either way.
bool Exchange::change_to_kernels() {
  if (how == TriggerWay::memory_operations && may_change && guarded([&] { tell_device(); }) == MPI_SUCCESS) {
    how = TriggerWay::kernels;
    changed_ = true;
  }
  return how == TriggerWay::kernels;
}

void Exchange::tell_device() const {
  const auto& driver = gpu->driver();
  const device::Scope scope(driver, context);
  upload(driver, *gpu, reinterpret_cast<CUdeviceptr>(tell_ready.epoch), &epoch_, sizeof epoch_);
}

/// A call of this exchange is captured.
int Exchange::check_capture() {
  if (!mpi_requests.empty())
    return failure(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                   "the stream is captured, but messages of the exchange go through the MPI: " + reason);
  if (direct() && !change_to_kernels())
    return failure(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                   "the stream is captured, but the exchange goes by memory operations, which have the number of an "
                   "exchange in them: " +
                       reason);
  return MPI_SUCCESS;
}

int Exchange::check_stream(const Queue& queue) {
  if (direct() && queue.context != context)
    return failure(CUDA_ERROR_INVALID_CONTEXT,
                   "the queue's stream is of another CUDA context than the buffers of the exchange");
  const auto* driver = device::driver();
  return driver && captured(*driver, queue.stream) ? check_capture() : MPI_SUCCESS;
}

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
    if (before.waits + before.advance > 0) pack::gpu::put(*gpu, stream, before);
    prepared.put(*gpu, stream);
    if (after.puts + after.waits > 0) pack::gpu::put(*gpu, stream, after);
    return;
  }
  write_and_wait(stream, {}, reinterpret_cast<std::uintptr_t>(before.wait), before.waits);
  prepared.put(*gpu, stream);
  write_and_wait(stream, told, reinterpret_cast<std::uintptr_t>(after.wait), after.waits);
}

void Exchange::put_ready(CUstream stream) {
  ++epoch_;
  try {
    // A launch in a graph takes a microsecond. The device's number is needed in pull() first, if
    // nobody is told of the start, and no kernel sends a partition.
    advances_later_ = how == TriggerWay::kernels && tell_ready.puts == 0 && packs.empty() && stamped_out.entries == 0 &&
                      messages && !table_on_device;
    if (advances_later_) return;
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
  } catch (...) {
    --epoch_;  // nobody was told of it
    throw;
  }
}

/// Data of GPUs that reach each other come first, because their senders wait for that, whatever the
/// proxy waits for.
void Exchange::pull(CUstream stream, bool last) {
  pulled_ = true;
  auto before = wait_ready, after = tell_done;
  before.advance = std::exchange(advances_later_, false);
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
  if (last && !together) finish(stream);
}

void Exchange::finish(CUstream stream) {
  if (!table.comes.empty()) return pack::gpu::put_wait(*gpu, stream, {table_on_device, 0, 0});
  for (const auto* wait : {&wait_done, &wait_sent}) {
    if (how == TriggerWay::memory_operations)
      write_and_wait(stream, {}, reinterpret_cast<std::uintptr_t>(wait->wait), wait->waits);
    else if (wait->waits > 0)
      pack::gpu::put(*gpu, stream, *wait);
  }
}

int Exchange::start(Queue& queue) {
  if (broken()) return error();
  if (active()) return MPI_ERR_REQUEST;
  if (const int code = check_stream(queue); code != MPI_SUCCESS) return code;
  const auto* driver = device::driver();
  used_ = true;
  last_stream_ = queue.stream;
  const int code = guarded([&] {
    if (!direct()) return;
    const device::Scope scope(*driver, context);
    put_ready(queue.stream);
  });
  if (code != MPI_SUCCESS) return code;
  // The peers of direct messages have been told that the exchange has begun.
  const auto give_up = [&](int failed) {
    int none = -1;
    lost_.compare_exchange_strong(none, process->rank);
    if (direct()) poison();
    return failed;
  };
  if (!mpi_requests.empty()) {
    const int waited = guarded([&] {
      if (!driver) return;
      const device::Scope scope(*driver, queue.context);
      device::check(*driver, driver->cuStreamSynchronize(queue.stream), "cuStreamSynchronize");
    });
    if (waited != MPI_SUCCESS) return give_up(waited);
    // One after the other: MPI_Startall has no order, in which messages with one tag are matched.
    for (auto& request : mpi_requests)
      if (const int started = mpi::start(Hook::MPI_Start, process->next.MPI_Start, &request); started != MPI_SUCCESS)
        return give_up(started);
  }
  queue_ = &queue;
  ++queue.active;
  // Partitions are moved by their sender, at any time, so no other exchange waits for them.
  pulled_ = !direct() || !messages;
  if (!pulled_) queue.started.push_back(this);
  return MPI_SUCCESS;
}

/// The wait moves the data of exchanges that were started before, too.
int Exchange::check_started_before(const Queue& queue) const {
  const auto* driver = device::driver();
  if (pulled_ || !driver || !captured(*driver, queue.stream)) return MPI_SUCCESS;
  for (auto* before : queue.started) {
    if (before == this) break;
    if (const int code = before->check_capture(); code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

int Exchange::wait(Queue& queue) {
  if (queue_ != &queue) return MPI_ERR_REQUEST;
  if (const int code = check_stream(queue); code != MPI_SUCCESS) return code;
  if (const int code = check_started_before(queue); code != MPI_SUCCESS) return code;
  int code = guarded([&] {
    if (!direct()) return;
    const device::Scope scope(*device::driver(), context);
    if (pulled_) return finish(queue.stream);
    // In the order of their starts, which all ranks have in common: otherwise two ranks could wait
    // for each other.
    while (!pulled_) {
      auto* const first = queue.started.front();
      queue.started.erase(queue.started.begin());
      first->pull(queue.stream, first == this);
    }
  });
  --queue_->active;
  queue_ = nullptr;
  if (!mpi_requests.empty()) {
    const int waited = mpi::waitall(Hook::MPI_Waitall, process->next.MPI_Waitall, static_cast<int>(mpi_requests.size()),
                                    mpi_requests.data(), MPI_STATUSES_IGNORE);
    if (code == MPI_SUCCESS) code = waited;
  }
  return broken() ? error() : code;
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

int Exchange::pready(int partition, int request, Queue& queue) {
  if (broken()) return error();
  if (!active() || request < 0 || request >= static_cast<int>(requests.size())) return MPI_ERR_REQUEST;
  if (const int code = check_stream(queue); code != MPI_SUCCESS) return code;
  const auto place = static_cast<std::size_t>(request);
  if (std::find(mpi_requests.begin(), mpi_requests.end(), requests[place]) != mpi_requests.end()) {
    const auto* driver = device::driver();
    const int waited = guarded([&] {
      if (!driver) return;
      const device::Scope scope(*driver, queue.context);
      device::check(*driver, driver->cuStreamSynchronize(queue.stream), "cuStreamSynchronize");
    });
    return waited == MPI_SUCCESS ? ready(Hook::MPI_Pready, process->next.MPI_Pready, partition, requests[place])
                                 : waited;
  }
  if (to_nobody.contains(place)) return MPI_SUCCESS;
  if (!table_on_device) return MPI_ERR_REQUEST;
  const auto& what = table.requests[place];
  if (what.kind != dng_send) return MPI_ERR_REQUEST;
  if (partition < 0 || partition >= static_cast<int>(what.partitions)) return MPI_ERR_ARG;
  return guarded([&] {
    const device::Scope scope(*device::driver(), context);
    put_partition(queue.stream, what,
                  {table_on_device, static_cast<std::uint32_t>(request), static_cast<std::uint32_t>(partition)});
  });
}

int Exchange::device(const void*& handle) {
  if (broken()) return error();
  const auto no = [&](const std::string& why) { return failure(CUDA_ERROR_NOT_SUPPORTED, "kernels cannot " + why); };
  if (!mpi_requests.empty())
    return no("send by themselves, because messages of the exchange go through the MPI: " + reason);
  if (messages) return no("start messages that are not partitioned (MPI_Psend_init, MPI_Precv_init)");
  if (direct() && !change_to_kernels())
    return no("send by themselves, because the exchange goes by memory operations: " + reason);
  handle = table_on_device;
  return MPI_SUCCESS;
}

int Exchange::close() {
  if (active() && !broken()) return MPI_ERR_REQUEST;
  if (active()) {
    std::erase(queue_->started, this);
    --queue_->active;
    queue_ = nullptr;
  }
  if (direct() && used_)
    guarded([&] {
      const auto& driver = *device::driver();
      const device::Scope scope(driver, context);
      device::check(driver, driver.cuStreamSynchronize(last_stream_), "cuStreamSynchronize");
    });
  unwatch(*this);
  if (process->world)
    for (const auto& peer : peers)
      if (peer.own_board.data) process->world->publications.end(peer.own_board);
  if (!process->world)
    for (auto& peer : peers) (void)peer.board.release();  // the peer's memory is no longer mapped
  guarded([&] {
    if (!direct()) return;
    const device::Scope scope(*device::driver(), context);
    lane.reset();
    proxied.reset();
    imports.clear();
    for (auto& peer : peers) peer.block.reset();
    block.reset();
    room.clear();
  });
  int code = MPI_SUCCESS;
  for (auto& request : requests) {
    if (request == MPI_REQUEST_NULL) continue;
    const int freed = mpi::request_free(Hook::MPI_Request_free, process->next.MPI_Request_free, &request);
    if (code == MPI_SUCCESS) code = freed;
  }
  return code;
}

bool Exchange::forsaken() {
  for (const auto& peer : peers) {
    const auto* memory = process->world->peers.memory(static_cast<std::uint32_t>(peer.world_rank));
    const bool gave_up =
        peer.board && reinterpret_cast<const Board*>(peer.board->data())->poisoned.load(std::memory_order_acquire) != 0;
    if (memory && memory->alive() && !gave_up) continue;
    int none = -1;
    lost_.compare_exchange_strong(none, peer.world_rank);
    return true;
  }
  return broken();
}

void Exchange::poison() {
  const bool first = !poisoned_.exchange(true);
  if (proxied) proxied->give_up();
  if (first)
    for (const auto& peer : peers)
      if (peer.own_board.data)
        reinterpret_cast<Board*>(peer.own_board.data)->poisoned.store(1, std::memory_order_release);
  // Each time, because a peer that has not heard of it yet may have written a slot since.
  guarded([&] {
    const auto& driver = gpu->driver();
    const device::Scope scope(driver, context);
    for (std::size_t i = 0; i < slots; ++i) {
      const auto slot = static_cast<CUdeviceptr>(first_slot + i * pack::cuda::slot_stride);
      const auto by_operation = driver.cuStreamWriteValue64
                                    ? driver.cuStreamWriteValue64((*lane)->stream, slot, error_epoch, 0)
                                    : CUDA_ERROR_NOT_SUPPORTED;
      if (by_operation == CUDA_SUCCESS) continue;
      device::check(
          driver,
          driver.cuMemcpyAsync(slot, reinterpret_cast<CUdeviceptr>(&error_epoch), sizeof error_epoch, (*lane)->stream),
          "cuMemcpyAsync");
    }
  });
}

}  // namespace dunnage::mpi
