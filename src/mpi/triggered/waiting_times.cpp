#include "mpi/triggered/waiting_times.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <mutex>

#include "mpi/process/gpu_use.hpp"
#include "mpi/triggered/slot_block.hpp"
#include "mpi/triggered/upload.hpp"
#include "transport/gpu/remote.hpp"

namespace dunnage::mpi {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int exchanges_of_a_round = 8, most_rounds = 5;
constexpr std::chrono::milliseconds enough{1}, patience_with_trips{50};

double microseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

/// A message of 64 bytes from this rank to itself, which nobody is told of. Null without memory.
std::unique_ptr<Exchange> exchange_with_oneself(const device::Driver& driver, device::Gpu& gpu) {
  constexpr std::int64_t bytes = 64;
  SlotBlock slots;
  slots.count = 4;  // `ready` and `done`, and room for the data on both sides
  const auto size = SlotBlock::offset(slots.count) + 2 * sizeof(std::uint64_t);
  slots.block = take_block(driver, static_cast<std::int64_t>(size));
  if (!slots.block) return nullptr;
  auto made = std::make_unique<Exchange>();
  made->ready_targets = {slots.at(0)};
  made->done_targets = {slots.at(1)};
  std::vector<std::uint64_t> start(size / sizeof(std::uint64_t));
  start.end()[-2] = slots.at(0);
  start.end()[-1] = slots.at(1);
  upload(driver, gpu, slots.block->address, start.data(), size);
  made->tell_ready = slots.telling(made->ready_targets, 0, 1);
  made->tell_done = slots.telling(made->done_targets, 1, 0);
  made->wait_ready = slots.waiting(0, 1);
  made->wait_done = slots.waiting(1, 1);
  const auto data = [&](std::size_t place) {
    const auto at = slots.at(place);
    return transport::gpu::contiguous_at(at, bytes, device::known_place(driver, reinterpret_cast<const void*>(at)));
  };
  const auto from = data(2), to = data(3);
  const pack::gpu::MoveRange moves[] = {{from, to, bytes}};
  made->moves = pack::gpu::Prepared(gpu, moves, 0);
  made->messages = true;
  made->block = slots.block;
  made->context = gpu.context();
  made->gpu = &gpu;
  made->how = TriggerWay::kernels;
  made->record();
  return made;
}

/// Microseconds of one exchange. Throws device::Error. Nothing if the stream does not get through.
std::optional<double> time_round(Exchange& exchange, Queue& queue, device::Borrowed& lane, TriggerWay how) {
  exchange.how = how;
  if (how == TriggerWay::kernels) exchange.tell_device();
  lane.busy();
  const auto begin = Clock::now();
  for (int i = 0; i < exchanges_of_a_round; ++i)
    if (exchange.start(queue) != MPI_SUCCESS || exchange.wait(queue) != MPI_SUCCESS)
      throw device::Error(CUDA_ERROR_UNKNOWN, "an exchange of a rank with itself failed");
  while (!lane.done())
    if (Clock::now() - begin > patience_with_trips) return std::nullopt;
  return microseconds_since(begin) / exchanges_of_a_round;
}

std::optional<WaitingTimes> measure(const device::Driver& driver, device::Gpu& gpu) {
  // Both stay for ever if their kernels may run later: kernels need the memory, and to give the
  // lane back is to wait for them.
  auto* const exchange = exchange_with_oneself(driver, gpu).release();
  if (!exchange) return std::nullopt;
  auto* const lane = new device::Borrowed(gpu);
  Queue queue;
  queue.stream = (*lane)->stream;
  queue.context = gpu.context();
  constexpr double never = std::numeric_limits<double>::infinity();
  WaitingTimes best{never, never};
  const auto begin = Clock::now();
  // The first round warms up. The ways take turns, so that what else goes on disturbs both.
  for (int round = 0; round < 2 || (round <= most_rounds && Clock::now() - begin < enough); ++round) {
    const auto kernels = time_round(*exchange, queue, *lane, TriggerWay::kernels);
    const auto operations = kernels ? time_round(*exchange, queue, *lane, TriggerWay::memory_operations) : std::nullopt;
    if (!operations) return std::nullopt;
    if (round == 0) continue;
    best.kernels = std::min(best.kernels, *kernels);
    best.operations = std::min(best.operations, *operations);
  }
  exchange->close();
  delete exchange;
  delete lane;
  return best;
}

}  // namespace

std::optional<WaitingTimes> waiting_times(const device::Driver& driver, device::Gpu& gpu, std::uint64_t device) {
  static std::mutex mutex;
  static auto& known = *new std::map<std::uint64_t, std::optional<WaitingTimes>>;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(device); found != known.end()) return found->second;
  // What could not be measured is not tried again, because each try may leave memory behind.
  known.emplace(device, std::nullopt);
  return known[device] = measure(driver, gpu);
}

}  // namespace dunnage::mpi
