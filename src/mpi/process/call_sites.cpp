#include "mpi/process/call_sites.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <climits>

namespace dunnage::mpi {

thread_local const void* call_site = nullptr;

CallSite* CallSites::of(const void* address, Hook hook) {
  if (!address) return nullptr;
  CallSite* const site = places_.of(reinterpret_cast<std::uintptr_t>(address));
  int none = -1;
  if (site) site->hook.compare_exchange_strong(none, static_cast<int>(hook), std::memory_order_relaxed);
  return site;
}

namespace {

/// The program itself has no name in the list of loaded files.
std::string path_of(const link_map& file) {
  if (*file.l_name) return file.l_name;
  char path[PATH_MAX];
  const auto length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : "";
}

}  // namespace

CodePlace code_place(std::uintptr_t return_address) {
  const auto address = return_address - 1;  // within the call, which may be the last of its line
  Dl_info info;
  link_map* map = nullptr;
  if (!dladdr1(reinterpret_cast<void*>(address), &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) || !map)
    return {};
  return {path_of(*map), address - map->l_addr, info.dli_sname ? info.dli_sname : ""};
}

}  // namespace dunnage::mpi
