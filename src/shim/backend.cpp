// A backend: the hooks for one MPI ABI. Compiled once per mpi.h; loaded by front.c at the first MPI call.
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

#include "calls/ibcast.hpp"
#include "calls/blocking.hpp"
#include "calls/completion.hpp"
#include "calls/finalize.hpp"
#include "calls/narrowed.hpp"
#include "calls/nonblocking.hpp"
#include "calls/one_sided.hpp"
#include "calls/pack.hpp"
#include "calls/split.hpp"
#include "calls/staged_call.hpp"
#include "calls/tickets.hpp"
#include "plan/machine_model.hpp"
#include "shim/caller.hpp"

namespace dunnage::calls {
Context* context = nullptr;
}

extern "C" __attribute__((visibility("default"))) void* const* dunnage_backend(const dunnage_front* front);

namespace {

using dunnage::calls::context;
using dunnage::calls::Hook;
using dunnage::shim::Caller;
using dunnage::shim::caller;
namespace calls = dunnage::calls;


/// What stands behind one exported name.
struct Exported {
  const char* name;
  void* hook;
  void* forwarder;    // for an MPI that lacks the function but has it without large counts; or null
  bool left_to_mpi;   // the hook does nothing but count, and stage what is in a GPU's memory
};

#define next calls::context->next
#define below calls::context->below
#include "shim/hooks.inc"
#undef next
#undef below

bool start(const dunnage_front& front) {
  std::vector<std::string> complaints;
  const auto settings = dunnage::base::Settings::from_environment(environ, complaints);
  if (front.speaks)
    for (const auto& line : complaints) std::fprintf(stderr, "dunnage: %s\n", line.c_str());
  if (!settings.enabled) return false;

  auto made = std::make_unique<calls::Context>(settings);
  made->reporting = settings.report.kind != dunnage::base::Output::off;
  made->attention = made->reporting;
  std::string missing;
  const auto fill = [&](const char* name, auto& function, bool needed) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(front.next(name));
    if (!function && needed) missing = name;
  };
  each(made->next, fill);
  each(made->below, [&](const char* name, auto& function, bool) { fill((std::string("P") + name).c_str(), function, false); });
  each(made->own, fill);
  made->query_cuda_support = reinterpret_cast<int (*)()>(front.next("MPIX_Query_cuda_support"));
  if (!missing.empty()) {
    if (front.speaks) std::fprintf(stderr, "dunnage: this MPI has no %s; calls are passed through\n", missing.c_str());
    return false;
  }
  made->library = dunnage::plan::identify(calls::library_version(made->own));
  made->behaviour = dunnage::plan::behaviour_of(made->library);
  const auto figures = dunnage::plan::machine_model(settings.model);
  if (front.speaks && !figures.complaint.empty()) std::fprintf(stderr, "dunnage: %s\n", figures.complaint.c_str());
  made->model = figures.of(made->library);
  if (settings.nvtx && !dunnage::base::show_ranges() && front.speaks) std::fputs("dunnage: DUNNAGE_NVTX=on, but built without NVTX: install CUDA's header nvtx3/nvToolsExt.h and build again\n", stderr);
  constexpr const char* simd_names[] = {"auto", "scalar", "sse4", "avx2", "avx512"};
  dunnage::pack::limit_simd(simd_names[static_cast<int>(settings.simd)]);
#ifdef DUNNAGE_CUDA
  made->settings.device_piece = std::max<std::uint64_t>(made->settings.device_piece, 4096);
  constexpr dunnage::device::Source sources[] = {dunnage::device::Source::automatic, dunnage::device::Source::off, dunnage::device::Source::sim};
  Dl_info self;
  std::string folder;
  if (dladdr(reinterpret_cast<void*>(&dunnage_backend), &self)) folder = self.dli_fname;
  dunnage::device::look_for_driver(sources[static_cast<int>(settings.device)], folder.substr(0, folder.rfind('/') + 1));
#endif
  context = made.release();
  calls::know_predefined_types();
  return true;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void* const* dunnage_backend(const dunnage_front* front) try {
  if (!start(*front)) return nullptr;
#ifdef DUNNAGE_CUDA
  const bool staging = context->settings.device != dunnage::base::Device::off;
#else
  constexpr bool staging = false;
#endif
  static void* table[std::size(exported)];
  for (std::size_t i = 0; i < std::size(exported); ++i) {
    const auto& entry = exported[i];
    const auto has = [&](const std::string& name) { return front->next(name.c_str()) != nullptr; };
    if (has(entry.name))
      table[i] = entry.left_to_mpi && !staging && !context->reporting ? nullptr : entry.hook;
    else if (entry.forwarder && has(std::string(entry.name, std::strlen(entry.name) - 2)))
      // Our exporting the symbols of large counts makes programs that look for them (mpi4py does) believe that they are
      // there, so they must work where the MPI lacks them.
      table[i] = entry.forwarder;
  }
  return table;
} catch (const std::exception& e) {
  std::fprintf(stderr, "dunnage: cannot start, calls are passed through: %s\n", e.what());
  return nullptr;
}
