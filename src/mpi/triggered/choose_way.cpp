#include "mpi/triggered/choose_way.hpp"

#include <fmt/format.h>

#include "device/memory_operation.hpp"
#include "mpi/triggered/waiting_times.hpp"
#include "pack/gpu/partition.hpp"
#include "pack/gpu/signal.hpp"

namespace dunnage::mpi {
namespace {

/// Tries a memory operation, because no attribute tells reliably whether they are there.
bool memory_operations_work(const device::Driver& driver, device::Gpu& gpu, const SlotBlock& slots) {
  if (!driver.cuStreamBatchMemOp) return false;
  auto write = device::write_of(slots.block->address, slots.nonce);
  device::Borrowed lane(gpu);
  lane.busy();
  if (driver.cuStreamBatchMemOp(lane->stream, 1, &write, 0) != CUDA_SUCCESS) return false;
  lane.synchronize();
  return true;
}

}  // namespace

TriggerMeans means_of(const device::Driver& driver, device::Gpu& gpu, const SlotBlock& slots) {
  TriggerMeans means;
  CUdevice device = 0;
  device::check(driver, driver.cuCtxGetDevice(&device), "cuCtxGetDevice");
  means.identity = device::identity_of(driver, device);
  means.mps = device::uses_mps(driver, device);
  means.operations = memory_operations_work(driver, gpu, slots);
  pack::gpu::prepare_signals(gpu);
  pack::gpu::prepare_partitions(gpu);
  return means;
}

namespace {

std::optional<WaitingTimes> times_of(const device::Driver& driver, device::Gpu& gpu, const Draft& draft) try {
  return waiting_times(driver, gpu, draft.means.identity);
} catch (const device::Error&) {
  return std::nullopt;
}

/// The way that takes less time here. Either way suits any exchange, and peers may choose
/// otherwise.
std::string choose_by_time(const device::Driver& driver, device::Gpu& gpu, Draft& draft) {
  const auto times = times_of(driver, gpu, draft);
  auto& e = *draft.made;
  if (!times) {
    e.how = TriggerWay::memory_operations;
    return "streams wait by memory operations: kernels could not be measured, because the GPU is busy or has failed";
  }
  const auto figures = fmt::format(
      "an exchange with itself takes the GPU {:.1f} us by memory operations and {:.1f} us "
      "by kernels",
      times->operations, times->kernels);
  if (times->operations < times->kernels) e.how = TriggerWay::memory_operations;
  return (e.how == TriggerWay::kernels ? "kernels wait: " : "streams wait by memory operations: ") + figures;
}

}  // namespace

void choose_way(Draft& draft) {
  const auto& driver = *device::driver();
  const device::Scope scope(driver, draft.context);
  auto& gpu = device::Gpu::current(driver);
  auto& e = *draft.made;
  const auto wanted = process->settings.trigger;
  e.how = TriggerWay::kernels;
  std::string why = "kernels wait: DUNNAGE_TRIGGER=kernels";
  if (draft.shares) {
    e.how = TriggerWay::memory_operations;
    why = "ranks share a GPU without MPS, so a kernel that polls would keep the other rank from running";
  } else if (!draft.means.operations) {
    why = "kernels wait: the device has no memory operations";
  } else if (wanted == base::Trigger::memory_operations) {
    e.how = TriggerWay::memory_operations;
    why = "DUNNAGE_TRIGGER=memory-operations";
  } else if (wanted == base::Trigger::automatic || wanted == base::Trigger::proxy) {
    why = choose_by_time(driver, gpu, draft);
    e.may_change = true;
  }
  e.reason_of_change = "kernels wait since a stream was captured or kernels took part; before, " + why;
  draft.waiting_reason = why;
}

}  // namespace dunnage::mpi
