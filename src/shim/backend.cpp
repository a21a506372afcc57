// A backend: the hooks for one MPI ABI. It is compiled once for each mpi.h, and front.c loads it at
// the first MPI call.
#include "shim/backend.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>
#include <type_traits>

#include <mpi.h>
#include <unistd.h>

#include "mpi/broadcast/ibcast.hpp"
#include "mpi/completion/calls.hpp"
#include "mpi/copies/split.hpp"
#include "mpi/copies/staged_call.hpp"
#include "mpi/hooks/attached_buffer.hpp"
#include "mpi/hooks/blocking.hpp"
#include "mpi/hooks/comm_free.hpp"
#include "mpi/hooks/commit.hpp"
#include "mpi/hooks/communicators.hpp"
#include "mpi/hooks/finalize.hpp"
#include "mpi/hooks/gpu_support.hpp"
#include "mpi/hooks/init.hpp"
#include "mpi/hooks/memory_kinds.hpp"
#include "mpi/hooks/narrowed.hpp"
#include "mpi/hooks/nonblocking.hpp"
#include "mpi/hooks/one_sided.hpp"
#include "mpi/hooks/pack.hpp"
#include "mpi/hooks/probe.hpp"
#include "mpi/neighbours/all.hpp"
#include "mpi/neighbours/exchange.hpp"
#include "mpi/nonblocking_reductions/calls.hpp"
#include "mpi/partitioned/call.hpp"
#include "mpi/partitioned/partitions.hpp"
#include "mpi/process/default_stream.hpp"
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
using dunnage::shim::NotedCall;
namespace mpi = dunnage::mpi;

/// The functions behind one exported name.
struct Exported {
  void* hook;
  void* counted;     // the hook, which also notes the call site
  void* forwarder;   // for an MPI that has only the function without large counts; else null
  bool left_to_mpi;  // the hook only counts the call, and stages buffers in a GPU's memory
  bool extension;    // the hook runs even if the MPI lacks the function
};

#define next mpi::process->next
#define below mpi::process->below
#include "shim/hooks.inc"
#undef next
#undef below

/// Takes the functions of the hooks' names, in the order of these.
void take_all(mpi::NextTable& table, void* const* found) {
  static_assert(sizeof table == mpi::hook_count * sizeof *found && std::is_trivially_copyable_v<mpi::NextTable>);
  std::memcpy(static_cast<void*>(&table), found, sizeof table);
}

bool start(const dunnage_front& front) {
  std::vector<std::string> complaints;
  const auto settings = dunnage::base::Settings::from_environment(environ, complaints);
  if (front.speaks)
    for (const auto& line : complaints) std::fprintf(stderr, "dunnage: %s\n", line.c_str());
  if (!settings.enabled) return false;

  auto made = std::make_unique<mpi::Process>(settings);
  made->reporting = settings.report.kind != dunnage::base::Output::off;
  if (made->reporting) {
    made->counts = std::make_unique<std::array<mpi::Count, mpi::hook_count>>();
    made->breakdown = std::make_unique<mpi::Breakdown>();
  }
  made->attention = made->reporting;
  std::string missing;
  const auto* const below = front.found + dunnage::mpi::hook_count;
  take_all(made->next, front.found);
  take_all(made->below, below);
  each(made->own, [&](const char* name, int place, auto& function, bool needed) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(place < 0 ? front.next(name) : below[place]);
    if (!function && needed) missing = name;
  });
  made->query_cuda_support = reinterpret_cast<int (*)()>(front.next("MPIX_Query_cuda_support"));
  if (!missing.empty()) {
    if (front.speaks) std::fprintf(stderr, "dunnage: this MPI has no %s; calls are passed through\n", missing.c_str());
    return false;
  }
  made->library = dunnage::plan::identify(mpi::library_version(made->own));
  made->behaviour = dunnage::plan::behaviour_of(made->library);
  const auto figures = dunnage::plan::machine_model_if_any(settings.model);
  if (front.speaks && !figures.complaint.empty()) std::fprintf(stderr, "dunnage: %s\n", figures.complaint.c_str());
  made->model = figures.of(made->library);
  if (settings.nvtx && !dunnage::base::show_ranges() && front.speaks)
    std::fputs(
        "dunnage: DUNNAGE_NVTX=on, but built without NVTX: install CUDA's header nvtx3/nvToolsExt.h and build again\n",
        stderr);
  constexpr const char* simd_names[] = {"auto", "scalar", "sse4", "avx2", "avx512", "neon", "sve"};
  dunnage::pack::limit_simd(simd_names[static_cast<int>(settings.simd)]);
  made->settings.device_piece = std::max<std::uint64_t>(made->settings.device_piece, 4096);
  using dunnage::device::Source;
  const auto source = settings.device == dunnage::base::Device::off ? Source::off
                      : settings.test == dunnage::base::Test::sim   ? Source::sim
                                                                    : Source::automatic;
  using dunnage::device::KernelGraphs;
  KernelGraphs::use(settings.launch == dunnage::base::Launch::automatic ? KernelGraphs::Use::automatic
                    : settings.launch == dunnage::base::Launch::graphs  ? KernelGraphs::Use::always
                                                                        : KernelGraphs::Use::never);
  const std::string folder = front.path;
  dunnage::device::look_for_driver(source, folder.substr(0, folder.rfind('/') + 1));
  process = made.release();
  mpi::know_predefined_types();
  return true;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void* const* dunnage_backend(const dunnage_front* front) try {
  if (!start(*front)) return nullptr;
  const bool staging = process->settings.device != dunnage::base::Device::off;
  const bool waits = process->settings.default_stream == dunnage::base::DefaultStream::wait;
  static void* table[std::size(exported)];
  for (std::size_t i = 0; i < std::size(exported); ++i) {
    const auto& entry = exported[i];
    void* const hook = process->reporting || waits ? entry.counted : entry.hook;
    if (entry.extension)
      table[i] = hook;
    else if (front->found[i])
      table[i] = entry.left_to_mpi && !staging && !process->reporting ? nullptr : hook;
    else if (entry.forwarder && front->found[i - 1])
      // Dunnage exports the functions with large counts, so programs that look for them (mpi4py
      // does) find them. They must therefore work even if the MPI lacks them.
      table[i] = entry.forwarder;
  }
  return table;
} catch (const std::exception& e) {
  std::fprintf(stderr, "dunnage: cannot start, calls are passed through: %s\n", e.what());
  return nullptr;
}
