#include "sim/api/call.hpp"

#include "sim/capture.hpp"
#include "sim/context.hpp"
#include "sim/work.hpp"

namespace dunnage::sim {
namespace {

const char* name_of(Class c) {
  switch (c) {
    case Class::alloc: return "alloc";
    case Class::copy: return "copy";
    case Class::launch: return "launch";
    case Class::ipc: return "ipc";
    case Class::other: break;
  }
  return "";
}

}  // namespace

Call::Call(const Entry& entry) {
  auto& d = driver();
  require(!d.forked, CUDA_ERROR_NOT_INITIALIZED);
  // A thread's first look at its stack takes a lock of the dynamic linker. Another thread may hold
  // that lock while it loads the kernels, which then wait for the lock below.
  context_stack();
  lock = std::unique_lock(d.lock);
  d.calls.count(entry.name);
  const auto fault = d.faults.due(entry.name, name_of(entry.in));
  if (fault) {
    if (const auto current = fault->sticky ? current_context() : nullptr) current->fail(fault->code);
    throw Error{fault->code};
  }
  if (entry.needs == Needs::nothing) return;
  require(d.initialised, CUDA_ERROR_NOT_INITIALIZED);
  if (entry.needs == Needs::context) {
    context = need_current_context();
    context->check();
  }
  if (entry.captures == Captures::forbid) forbid_in_captures();
  if (entry.kernels == Kernels::wait && context) wait_for_kernels(context, lock);
}

}  // namespace dunnage::sim
