// What this process knows of its own use of GPUs, and memory of ours on them.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include "device/arena.hpp"
#include "device/place.hpp"
#include "mpi/process/process.hpp"
#include "pack/gpu/pack.hpp"
#include "transport/peers/world.hpp"

namespace dunnage::mpi {

/// One for each process; never destroyed, since calls may come from destructors at exit.
struct GpuUse {
  std::mutex mutex;
  std::atomic<bool> seen{false};  // the program has used device memory in a message
  device::Place place;            // some device memory of the program's: where we work if the data do not say
  unsigned long long context_id = 0;
  std::shared_ptr<const device::Arena::Block> proof;  // memory that others have been asked to read
  int proved = -1;                                    // the device of that memory
};
GpuUse& gpu_use();

/// The program uses device memory, of which this is an address: from now on announcements of data
/// in device memory may come. Thread-safe.
void see_gpu(const void* address);
/// Likewise for a program that has a context and may use device memory of other ranks. Needs some
/// memory of the arena.
void see_current_gpu();
/// Whether such announcements may come. Costs one load.
inline bool gpu_announcements() {
  return process->tickets_from.load(std::memory_order_relaxed) <= transport::gpu_lengths.least;
}

/// Where to work if the data do not say.
device::Place any_place(const device::Driver& driver);
/// The context to work in on data at a place. Throws device::Error.
CUcontext context_of(const device::Driver& driver, const device::Place& place);
/// Device memory of ours in the current context. Null if there is none.
std::shared_ptr<const device::Arena::Block> take_block(const device::Driver& driver, std::int64_t size);
/// Whether a launch returns only when the kernel has ended (CUDA_LAUNCH_BLOCKING): the host cannot
/// look after a kernel that waits then.
bool launches_wait();
/// Whether all bytes of a buffer are in one allocation of device or managed memory.
bool in_one_piece(const pack::gpu::Described& data);
/// Bytes of a piece of staging memory between two layouts on one device: large enough for the link,
/// small enough that the kernels of neighbouring pieces overlap.
inline std::size_t device_piece() { return 8 * process->settings.device_piece; }

/// Memory for another process to read, to find out whether it can. Nothing if there is none.
std::optional<transport::shm::Mailbox::Proof> make_proof(const device::Driver& driver, const device::Place& place);

/// Gives back what the functions above keep, before devices are given back.
void forget_gpu_use();

}  // namespace dunnage::mpi
