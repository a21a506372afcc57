#include "sim/context.hpp"

namespace dunnage::sim {

std::vector<CUcontext>& context_stack() {
  thread_local std::vector<CUcontext> stack;
  return stack;
}

std::shared_ptr<Context> current_context() {
  const auto& stack = context_stack();
  return stack.empty() ? nullptr : driver().contexts.find(stack.back());
}

std::shared_ptr<Context> need_current_context() {
  const auto& stack = context_stack();
  require(!stack.empty() && stack.back(), CUDA_ERROR_INVALID_CONTEXT);
  auto found = current_context();
  require(found != nullptr, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  return found;
}

std::shared_ptr<Context> context_of(CUcontext handle) {
  auto found = driver().contexts.find(handle);
  require(found != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  return found;
}

}  // namespace dunnage::sim
