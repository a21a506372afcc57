// A backend: the hooks for one MPI ABI. It is compiled once for each mpi.h, and front.c loads it at
// the first MPI call.
#include "shim/backend.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>
#include <type_traits>

#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>

#include "mpi/broadcast/ibcast.hpp"
#include "mpi/copies/split.hpp"
#include "mpi/copies/staged_call.hpp"
#include "mpi/hooks/blocking.hpp"
#include "mpi/hooks/communicators.hpp"
#include "mpi/hooks/completion.hpp"
#include "mpi/hooks/finalize.hpp"
#include "mpi/hooks/gpu_support.hpp"
#include "mpi/hooks/init.hpp"
#include "mpi/hooks/memory_kinds.hpp"
#include "mpi/hooks/narrowed.hpp"
#include "mpi/hooks/nonblocking.hpp"
#include "mpi/hooks/one_sided.hpp"
#include "mpi/hooks/pack.hpp"
#include "mpi/neighbours/all.hpp"
#include "mpi/neighbours/exchange.hpp"
#include "mpi/nonblocking_reductions/calls.hpp"
#include "mpi/partitioned/call.hpp"
#include "mpi/partitioned/partitions.hpp"
#include "mpi/reductions/reduction.hpp"
#include "mpi/triggered/call.hpp"
#include "mpi/windows/update.hpp"
#include "plan/machine_model.hpp"
#include "shim/caller.hpp"

namespace dunnage::mpi {
Process* process = nullptr;
}

extern "C" __attribute__((visibility("default"))) void* const* dunnage_backend(const dunnage_front* front);
extern "C" __attribute__((visibility("default"))) const char dunnage_hook_list_id[] = DUNNAGE_HOOK_LIST_ID;

namespace {

using dunnage::mpi::Hook;
using dunnage::mpi::process;
using dunnage::shim::Caller;
using dunnage::shim::caller;
namespace mpi = dunnage::mpi;

/// The functions behind one exported name.
struct Exported {
  const char* name;
  void* hook;
  void* forwarder;   // for an MPI that has only the function without large counts; else null
  bool left_to_mpi;  // the hook only counts the call, and stages buffers in a GPU's memory
  bool extension;    // the hook runs even if the MPI lacks the function
};

#define next mpi::process->next
#define below mpi::process->below
#include "shim/hooks.inc"
#undef next
#undef below

bool start(const dunnage_front& front) {
  std::vector<std::string> complaints;
  const auto settings = dunnage::base::Settings::from_environment(environ, complaints);
  if (front.speaks)
    for (const auto& line : complaints) std::fprintf(stderr, "dunnage: %s\n", line.c_str());
  if (!settings.enabled) return false;

  auto made = std::make_unique<mpi::Process>(settings);
  made->reporting = settings.report.kind != dunnage::base::Output::off;
  if (made->reporting) made->breakdown = std::make_unique<dunnage::mpi::Breakdown>();
  made->attention = made->reporting;
  std::string missing;
  const auto fill = [&](const char* name, auto& function, bool needed) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(front.next(name));
    if (!function && needed) missing = name;
  };
  each(made->next, fill);
  each(made->below, [&](const char* name, auto& function, bool) {
    std::string profiled = "P";
    fill((profiled += name).c_str(), function, false);
  });
  each(made->own, fill);
  made->query_cuda_support = reinterpret_cast<int (*)()>(front.next("MPIX_Query_cuda_support"));
  if (!missing.empty()) {
    if (front.speaks) std::fprintf(stderr, "dunnage: this MPI has no %s; calls are passed through\n", missing.c_str());
    return false;
  }
  made->library = dunnage::plan::identify(mpi::library_version(made->own));
  made->behaviour = dunnage::plan::behaviour_of(made->library);
  const auto figures = dunnage::plan::machine_model(settings.model);
  if (front.speaks && !figures.complaint.empty()) std::fprintf(stderr, "dunnage: %s\n", figures.complaint.c_str());
  made->model = figures.of(made->library);
  if (settings.nvtx && !dunnage::base::show_ranges() && front.speaks)
    std::fputs(
        "dunnage: DUNNAGE_NVTX=on, but built without NVTX: install CUDA's header nvtx3/nvToolsExt.h and build again\n",
        stderr);
  constexpr const char* simd_names[] = {"auto", "scalar", "sse4", "avx2", "avx512"};
  dunnage::pack::limit_simd(simd_names[static_cast<int>(settings.simd)]);
  made->settings.device_piece = std::max<std::uint64_t>(made->settings.device_piece, 4096);
  using dunnage::device::Source;
  const auto source = settings.device == dunnage::base::Device::off ? Source::off
                      : settings.test == dunnage::base::Test::sim   ? Source::sim
                                                                    : Source::automatic;
  Dl_info self;
  std::string folder;
  if (dladdr(reinterpret_cast<void*>(&dunnage_backend), &self)) folder = self.dli_fname;
  dunnage::device::look_for_driver(source, folder.substr(0, folder.rfind('/') + 1));
  process = made.release();
  mpi::know_predefined_types();
  return true;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void* const* dunnage_backend(const dunnage_front* front) try {
  if (!start(*front)) return nullptr;
  const bool staging = process->settings.device != dunnage::base::Device::off;
  static void* table[std::size(exported)];
  for (std::size_t i = 0; i < std::size(exported); ++i) {
    const auto& entry = exported[i];
    const auto has = [&](const std::string& name) { return front->next(name.c_str()) != nullptr; };
    if (entry.extension)
      table[i] = entry.hook;
    else if (has(entry.name))
      table[i] = entry.left_to_mpi && !staging && !process->reporting ? nullptr : entry.hook;
    else if (entry.forwarder && has(std::string(entry.name, std::strlen(entry.name) - 2)))
      // Dunnage exports the functions with large counts, so programs that look for them (mpi4py
      // does) find them. They must therefore work even if the MPI lacks them.
      table[i] = entry.forwarder;
  }
  return table;
} catch (const std::exception& e) {
  std::fprintf(stderr, "dunnage: cannot start, calls are passed through: %s\n", e.what());
  return nullptr;
}
