// Functions by their names. The CUDA runtime finds the whole driver in this way.
#include <dlfcn.h>

#include <string>
#include <string_view>

#include "sim/api/call.hpp"

namespace dunnage::sim {
namespace {

/// The CUDA version that brought a symbol. Only symbols that differ from an older version in their
/// parameters are listed.
int first_version(std::string_view symbol) {
  if (symbol == "cuCtxCreate_v4") return 12050;
  if (symbol == "cuGetProcAddress_v2") return 12000;
  return 0;
}

void* symbol(const std::string& name) {
  static void* const self = [] {
    Dl_info here;
    return dladdr(reinterpret_cast<void*>(&symbol), &here) ? dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD) : nullptr;
  }();
  return self ? dlsym(self, name.c_str()) : nullptr;
}

/// The newest version of a function that programs built for `version` know. Null if there is none.
void* find(std::string_view name, int version) {
  if (!name.starts_with("cu")) return nullptr;
  for (const char* suffix : {"_v4", "_v3", "_v2", ""}) {
    const auto versioned = std::string(name) + suffix;
    if (first_version(versioned) > version) continue;
    if (auto* found = symbol(versioned)) return found;
  }
  return nullptr;
}

CUresult get(const char* name, void** function, int version, CUdriverProcAddressQueryResult* result) {
  // The dynamic linker has a lock of its own, under which kernels are registered. So find() comes
  // before the driver's lock.
  void* const found = name ? find(name, version) : nullptr;
  return call({"cuGetProcAddress", Class::other, Needs::nothing}, [&](Call&) {
    require(name != nullptr && version <= CUDA_VERSION, CUDA_ERROR_INVALID_VALUE);
    *given(function) = found;
    if (result) *result = found ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  });
}

}  // namespace
}  // namespace dunnage::sim

// `flags` choose between the default streams of a thread and of a context. The driver gives the
// latter's functions if there are no others, and the simulator has no others.
CUresult cuGetProcAddress(const char* name, void** function, int version, uint64_t,
                          CUdriverProcAddressQueryResult* result) {
  return dunnage::sim::get(name, function, version, result);
}

// The version of CUDA 11.3, under the name that has no suffix.
#undef cuGetProcAddress
extern "C" CUresult cuGetProcAddress(const char* name, void** function, int version, uint64_t) {
  return dunnage::sim::get(name, function, version, nullptr);
}
