// A backend: the hooks for one MPI ABI. Compiled once per mpi.h; loaded by front.c at the first MPI call.
#include "shim/backend.h"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>

#include <mpi.h>
#include <unistd.h>

#include "calls/blocking.hpp"
#include "calls/completion.hpp"
#include "calls/finalize.hpp"
#include "calls/nonblocking.hpp"
#include "calls/pack.hpp"
#include "shim/caller.hpp"

namespace dunnage::calls {
Context* context = nullptr;
}

namespace {

using dunnage::calls::context;
using dunnage::calls::Hook;
using dunnage::shim::Caller;
using dunnage::shim::caller;
namespace calls = dunnage::calls;

/// A large count for an MPI without them.
[[maybe_unused]] int narrow(MPI_Count count) { return count < 0 || count > INT_MAX ? -1 : static_cast<int>(count); }

#define next calls::context->next
#define below calls::context->below
#include "shim/hooks.inc"
#undef next
#undef below

constexpr const char* exported[] = {
#define DUNNAGE_HOOK(name) #name,
#include "shim/hook_list.inc"
};

/// The settings' complaints are wanted once, not once a rank. Before MPI_Init only the launcher knows the rank.
bool speaks_for_the_job() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const char* rank = std::getenv(name)) return std::string(rank) == "0";
  return true;
}

bool start(const dunnage_front& front) {
  std::vector<std::string> complaints;
  const auto settings = dunnage::base::Settings::from_environment(environ, complaints);
  if (speaks_for_the_job())
    for (const auto& line : complaints) std::fprintf(stderr, "dunnage: %s\n", line.c_str());
  if (!settings.enabled) return false;

  auto made = std::make_unique<calls::Context>(settings);
  made->reporting = settings.report.kind != dunnage::base::Output::off;
  made->attention = made->reporting;
#if defined(OPEN_MPI)
  made->model = dunnage::plan::default_model(dunnage::plan::Library::open_mpi);
#else
  made->model = dunnage::plan::default_model(dunnage::plan::Library::mpich);
#endif
  std::string missing;
  const auto fill = [&](const char* name, auto& function, bool needed) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(front.next(name));
    if (!function && needed) missing = name;
  };
  each(made->next, [&](const char* name, auto& function) { fill(name, function, false); });
  each(made->below, [&](const char* name, auto& function) { fill((std::string("P") + name).c_str(), function, false); });
  each(made->own, [&](const char* name, auto& function) { fill(name, function, true); });
  if (!missing.empty()) {
    std::fprintf(stderr, "dunnage: this MPI has no %s; calls are passed through\n", missing.c_str());
    return false;
  }
  constexpr const char* simd_names[] = {"auto", "scalar", "sse4", "avx2", "avx512"};
  dunnage::pack::limit_simd(simd_names[static_cast<int>(settings.simd)]);
  context = made.release();
  calls::know_predefined_types();
  return true;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void* const* dunnage_backend(const dunnage_front* front) try {
  if (!start(*front)) return nullptr;
  static void* table[std::size(exported)];
  for (std::size_t i = 0; i < std::size(exported); ++i) {
    const std::string_view name = exported[i];
    const bool there = front->next(exported[i]) != nullptr;
    // Large-count hooks of a backend for an MPI without large counts only forward. Our exporting the symbols makes
    // programs that look for them (mpi4py does) believe that they are there, so they must work; but an MPI that
    // brings its own is called itself.
    const bool forwards = MPI_VERSION < 4 && name.ends_with("_c");
    table[i] = there != forwards ? hooks[i] : nullptr;
  }
  return table;
} catch (const std::exception& e) {
  std::fprintf(stderr, "dunnage: cannot start, calls are passed through: %s\n", e.what());
  return nullptr;
}
