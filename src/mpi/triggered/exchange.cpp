#include "mpi/triggered/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mpi/completion/calls.hpp"
#include "mpi/hooks/nonblocking.hpp"
#include "mpi/partitioned/partitions.hpp"
#include "mpi/process/failure.hpp"
#include "mpi/triggered/upload.hpp"

namespace dunnage::mpi {
namespace {

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

int Exchange::check_stream(Queue& queue) {
  if (direct() && queue.context != context)
    return failure(CUDA_ERROR_INVALID_CONTEXT,
                   "the queue's stream is of another CUDA context than the buffers of the exchange");
  const auto* driver = device::driver();
  queue.captured = driver && captured(*driver, queue.stream);
  return queue.captured ? check_capture() : MPI_SUCCESS;
}

template <class Put>
void Exchange::replay(const device::RecordedGraph& recording, CUstream stream, bool captured, Put&& put) const {
  if (recording && how == TriggerWay::kernels && !captured) return gpu->launch(recording, stream);
  put();
}

void Exchange::start_exchange(const Queue& queue) {
  ++epoch_;
  try {
    advances_later_ = start_tells_nobody();
    if (!advances_later_) replay(recorded_.start, queue.stream, queue.captured, [&] { put_start(queue.stream); });
  } catch (...) {
    --epoch_;  // nobody was told of it
    throw;
  }
}

void Exchange::pull(const Queue& queue, bool last) {
  pulled_ = true;
  const bool advances = std::exchange(advances_later_, false);
  // An exchange that has just changed to kernels has advanced before. A recording does not know.
  const bool usual = advances == start_tells_nobody();
  replay(last ? recorded_.pull_last : recorded_.pull, queue.stream, queue.captured || !usual,
         [&] { put_pull(queue.stream, advances, last); });
}

void Exchange::finish(const Queue& queue) {
  replay(recorded_.finish, queue.stream, queue.captured, [&] { put_finish(queue.stream); });
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
    start_exchange(queue);
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
  if (pulled_ || !queue.captured) return MPI_SUCCESS;
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
    if (pulled_) return finish(queue);
    // In the order of their starts, which all ranks have in common: otherwise two ranks could wait
    // for each other.
    while (!pulled_) {
      auto* const first = queue.started.front();
      queue.started.erase(queue.started.begin());
      first->pull(queue, first == this);
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
    recorded_ = {};
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
