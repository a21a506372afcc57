// What every function of the driver does first: count the call, fail if a test asked for a failure,
// and refuse the call if the state of the driver, the context or a capture forbids the call.
#pragma once

#include <memory>
#include <mutex>
#include <new>
#include <type_traits>

#include "device/cuda_driver_api.h"
#include "sim/driver.hpp"
#include "sim/error.hpp"

namespace dunnage::sim {

enum class Class { other, alloc, copy, launch, ipc };
enum class Needs { nothing, driver, context };  // context: a current context that is alive
enum class Captures { allow, forbid };          // forbid: CUDA says "potentially unsafe" during a capture
enum class Kernels { ignore, wait };            // wait: the driver may wait there for kernels that run

struct Entry {
  const char* name;
  Class in = Class::other;
  Needs needs = Needs::context;
  Captures captures = Captures::allow;
  Kernels kernels = Kernels::ignore;
};

struct Call {
  explicit Call(const Entry& entry);

  std::unique_lock<std::mutex> lock;
  std::shared_ptr<Context> context;  // the current context, if the function needs one
};

/// `body` returns nothing, or a code that is no failure, and therefore no exception.
template <class Body>
CUresult call(const Entry& entry, Body&& body) noexcept {
  try {
    Call the_call(entry);
    if constexpr (std::is_void_v<std::invoke_result_t<Body, Call&>>) {
      body(the_call);
      return CUDA_SUCCESS;
    } else {
      return body(the_call);
    }
  } catch (const Error& error) {
    return error.code;
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (...) {
    return CUDA_ERROR_OPERATING_SYSTEM;  // no thread could be started
  }
}

}  // namespace dunnage::sim
