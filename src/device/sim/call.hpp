// What every function of the driver does first: count the call, fail where that was asked for, refuse where the driver, the
// context or a capture is not in a state for it.
#pragma once

#include <memory>
#include <mutex>
#include <new>

#include <cuda.h>

#include "device/sim/driver.hpp"
#include "device/sim/error.hpp"

namespace dunnage::sim {

enum class Class { other, alloc, copy, launch, ipc };
enum class Needs { nothing, driver, context };      // context: a current one that is alive
enum class Captures { allow, forbid };              // forbid: what CUDA calls potentially unsafe during a capture

struct Entry {
  const char* name;
  Class in = Class::other;
  Needs needs = Needs::context;
  Captures captures = Captures::allow;
};

struct Call {
  explicit Call(const Entry& entry);

  std::unique_lock<std::mutex> lock;
  std::shared_ptr<Context> context;  // the current one, where it is needed
};

template <class Body>
CUresult call(const Entry& entry, Body&& body) noexcept {
  try {
    Call the_call(entry);
    body(the_call);
    return CUDA_SUCCESS;
  } catch (const Error& error) {
    return error.code;
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (...) {
    return CUDA_ERROR_OPERATING_SYSTEM;  // no thread to be had
  }
}

}  // namespace dunnage::sim
