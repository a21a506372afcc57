// Modules. Every module has all kernels that were registered, whatever its image is.
#include <memory>
#include <string_view>

#include "sim/api/call.hpp"
#include "sim/context.hpp"
#include "sim/module.hpp"

namespace dunnage::sim {
namespace {

CUresult load(const char* name, CUmodule* module, const void* image) {
  return call({name, Class::other, Needs::context, Captures::forbid, Kernels::wait}, [&](Call& c) {
    require(image != nullptr, CUDA_ERROR_INVALID_VALUE);
    const auto made = std::make_shared<Module>();
    made->owner = c.context->id;
    *given(module) = driver().modules.add(made);
  });
}

std::shared_ptr<Module> module_of(const Call& c, CUmodule handle) {
  auto found = driver().modules.find(handle);
  require(found && found->owner == c.context->id, CUDA_ERROR_INVALID_HANDLE);
  return found;
}

}  // namespace
}  // namespace dunnage::sim

using namespace dunnage::sim;

CUresult cuModuleLoadData(CUmodule* module, const void* image) { return load("cuModuleLoadData", module, image); }

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
  return load("cuModuleLoadDataEx", module, image);
}

CUresult cuModuleUnload(CUmodule handle) {
  return call({"cuModuleUnload", Class::other, Needs::context, Captures::forbid}, [&](Call& c) {
    for (const auto& [name, function] : module_of(c, handle)->functions) driver().functions.erase(function);
    driver().modules.erase(handle);
  });
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule handle, const char* name) {
  return call({"cuModuleGetFunction"}, [&](Call& c) {
    const auto module = module_of(c, handle);
    const auto kernel = driver().kernels.find(std::string_view(given(name)));
    require(kernel != driver().kernels.end(), CUDA_ERROR_NOT_FOUND);
    auto& known = module->functions[name];
    if (!known) known = driver().functions.add(std::make_shared<Function>(Function{c.context->id, kernel->second}));
    *given(function) = known;
  });
}
