// MPI_Pack and MPI_Unpack where one of the buffers is in a GPU's memory.
#pragma once

#include <optional>

#include "calls/context.hpp"

#ifdef DUNNAGE_CUDA
#include "device/driver.hpp"
#endif

namespace dunnage::calls {

/// A packing call, with all integers of the widest type.
struct PackingCall {
  Hook hook;
  bool pack;  // or unpack
  const void* user;
  std::int64_t count;
  MPI_Datatype type;
  const void* packed;
  std::int64_t size;      // bytes of the packed buffer
  std::int64_t* position;
  MPI_Comm comm;
};

#ifdef DUNNAGE_CUDA
/// The call's result, where one of the buffers is a GPU's; else nothing, and nothing is done. Errors go through the
/// communicator's error handler.
std::optional<int> pack_on_gpu(const device::Driver& driver, const PackingCall& call);
/// Gives back what we have on devices.
void forget_gpus();
#endif

#ifdef DUNNAGE_CUDA
/// The end of the heap, as the C library knows it. Asking by sbrk(0) costs a system call where UCX is loaded, which replaces it.
extern "C" __attribute__((weak)) void* __curbrk;

/// The end of the calling thread's stack, once it has been asked for; what lies beyond it may be anything.
extern constinit thread_local std::uintptr_t stack_end;
void find_stack_end();
#endif

/// Whether an address is certainly the host's, told without asking anyone: in the heap that grows from the program's end, or in
/// the frames above this one; or there is no driver. Others may be the host's too. A few nanoseconds.
inline bool surely_host(const void* address) {
#ifdef DUNNAGE_CUDA
  if (device::surely_no_driver()) return true;
  if (!&__curbrk) return false;
  static const auto heap = reinterpret_cast<std::uintptr_t>(__curbrk);  // what was there before cannot be a device's either
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  constexpr std::uintptr_t before = 16 << 20;
  if (at >= heap - before && at < reinterpret_cast<std::uintptr_t>(__curbrk)) return true;
  if (stack_end == 0) find_stack_end();
  return at >= reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) && at < stack_end;
#else
  (void)address;
  return true;
#endif
}

template <class Count>
std::optional<int> gpu_packing(Hook hook, bool pack, const void* user, Count count, MPI_Datatype type, const void* packed, Count size,
                               Count* position, MPI_Comm comm) {
#ifdef DUNNAGE_CUDA
  const auto* driver = device::driver();
  if (!driver || !position || context->settings.force == base::Force::never) return std::nullopt;
  std::int64_t at = *position;
  const auto result = pack_on_gpu(*driver, {hook, pack, user, count, type, packed, size, &at, comm});
  if (result) *position = static_cast<Count>(at);
  return result;
#else
  (void)hook, (void)pack, (void)user, (void)count, (void)type, (void)packed, (void)size, (void)position, (void)comm;
  return std::nullopt;
#endif
}

}  // namespace dunnage::calls
