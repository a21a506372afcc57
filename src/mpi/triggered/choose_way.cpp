#include "mpi/triggered/choose_way.hpp"

#include "pack/gpu/partition.hpp"
#include "pack/gpu/signal.hpp"

namespace dunnage::mpi {
namespace {

/// Tries a memory operation, because no attribute tells reliably whether they are there.
bool memory_operations_work(const device::Driver& driver, device::Gpu& gpu, const SlotBlock& slots) {
  if (!driver.cuStreamBatchMemOp) return false;
  CUstreamBatchMemOpParams write{};
  write.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
  write.writeValue.address = slots.block->address;
  write.writeValue.value64 = slots.nonce;
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
  int mps = 0;
  means.mps = driver.cuDeviceGetAttribute &&
              driver.cuDeviceGetAttribute(&mps, CU_DEVICE_ATTRIBUTE_MPS_ENABLED, device) == CUDA_SUCCESS && mps == 1;
  means.operations = memory_operations_work(driver, gpu, slots);
  pack::gpu::prepare_signals(gpu);
  pack::gpu::prepare_partitions(gpu);
  return means;
}

/// A kernel waits where it is allowed to poll.
void choose_way(Draft& draft) {
  auto& e = *draft.made;
  const auto wanted = process->settings.trigger;
  e.how = TriggerWay::kernels;
  std::string why = "kernels wait: they take the least time, and can be captured";
  if (draft.shares) {
    e.how = TriggerWay::memory_operations;
    why = "ranks share a GPU without MPS, so a kernel that polls would keep the other rank from running";
  } else if (wanted == base::Trigger::memory_operations && draft.means.operations) {
    e.how = TriggerWay::memory_operations;
    why = "DUNNAGE_TRIGGER=memory-operations";
  } else if (wanted == base::Trigger::memory_operations) {
    why = "the device has no memory operations";
  }
  if (draft.reason.empty()) draft.reason = why;
}

}  // namespace dunnage::mpi
