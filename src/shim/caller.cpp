#include "shim/caller.hpp"

#include <algorithm>
#include <new>
#include <string_view>
#include <utility>

#include <dlfcn.h>
#include <link.h>
#include <unwind.h>

#include "mpi/process/call_sites.hpp"
#include "mpi/process/process.hpp"

namespace dunnage::shim {

std::atomic<const Module*> modules{nullptr};

namespace {

/// Returns the address at which the loaded file with this code begins; null if the code is in no
/// file.
const void* base_of(const void* address) {
  Dl_info info;
  return dladdr(address, &info) ? info.dli_fbase : nullptr;
}

/// Returns whether a library has symbols that only the MPIs' Fortran libraries define. In Open MPI
/// one library has the functions of mpif.h and another those of mpi_f08. Tools define mpi_send_,
/// but not its PMPI form.
bool has_fortran_interface(void* library, const void* base) {
  return std::ranges::any_of(std::initializer_list{"pmpi_send_", "mpi_wait_f08_"}, [&](const char* name) {
    // Also finds symbols of the libraries that this library needs.
    const void* symbol = dlsym(library, name);
    return symbol && base_of(symbol) == base;
  });
}

int find_segments(dl_phdr_info* info, std::size_t, void* data) {
  auto& [code, module] = *static_cast<std::pair<const void*, Module>*>(data);
  std::uintptr_t begin = UINTPTR_MAX, end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    begin = std::min(begin, info->dlpi_addr + segment.p_vaddr);
    end = std::max(end, info->dlpi_addr + segment.p_vaddr + segment.p_memsz);
  }
  const auto address = reinterpret_cast<std::uintptr_t>(code);
  if (address < begin || address >= end) return 0;
  module.begin = begin;
  module.size = end - begin;
  return 1;
}

/// To where the function returns that notes the call.
thread_local const void* noted = nullptr;

/// A walk from Dunnage's frames through those of the wrappers.
struct Walk {
  const void* wrapper;  // to where the hook returns
  bool in_wrappers = false;
  int frames = 0;
  const void* program = nullptr;
};

_Unwind_Reason_Code look_at_frame(_Unwind_Context* context, void* data) {
  auto& walk = *static_cast<Walk*>(data);
  constexpr int deepest = 24;
  if (++walk.frames > deepest) return _URC_NORMAL_STOP;
  const auto* const code = reinterpret_cast<const void*>(_Unwind_GetIP(context));
  walk.in_wrappers = walk.in_wrappers || code == walk.wrapper;
  if (!walk.in_wrappers || owner(code) != Caller::other) return _URC_NO_REASON;
  walk.program = code;
  return _URC_NORMAL_STOP;
}

/// Returns to where the MPI's wrappers return that have made a call; where they make it if that is
/// not known.
const void* past_the_wrappers(const void* wrapper) {
  Walk walk{wrapper};
  _Unwind_Backtrace(look_at_frame, &walk);
  return walk.program ? walk.program : wrapper;
}

}  // namespace

Caller find_owner(const void* code) {
  Dl_info info;
  if (!dladdr(code, &info)) return Caller::other;
  const void* mpi = base_of(reinterpret_cast<const void*>(mpi::process->own.Get_library_version));
  const void* dunnage = base_of(reinterpret_cast<const void*>(&find_owner));
  const std::string_view path = info.dli_fname, file = path.substr(path.rfind('/') + 1);
  // A component of Open MPI.
  const bool is_component = file.starts_with("mca_") && file.ends_with(".so");
  Caller is = info.dli_fbase == mpi || is_component ? Caller::mpi
              : info.dli_fbase == dunnage           ? Caller::dunnage
                                                    : Caller::other;
  if (void* library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)) {
    if (has_fortran_interface(library, info.dli_fbase)) is = Caller::fortran;
    dlclose(library);
  }
  std::pair<const void*, Module> found{code, {0, 0, is, nullptr}};
  if (dl_iterate_phdr(find_segments, &found))
    if (auto* module = new (std::nothrow) Module(found.second)) {
      module->next = modules.load(std::memory_order_acquire);
      while (!modules.compare_exchange_weak(module->next, module, std::memory_order_acq_rel)) {
      }
    }
  return is;
}

NotedCall::NotedCall(const void* return_address) : outer_(noted) {
  noted = return_address;
  if (!outer_) mpi::call_site = owner(noted) == Caller::other ? noted : past_the_wrappers(noted);
}

NotedCall::~NotedCall() {
  noted = outer_;
  if (!outer_) mpi::call_site = nullptr;
}

Caller noted_caller() { return owner(noted); }

}  // namespace dunnage::shim
