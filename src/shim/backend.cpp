// A backend: the hooks for one MPI ABI. Compiled once per mpi.h; loaded by front.c at the first MPI call.
#include "shim/backend.h"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>

#include <mpi.h>
#include <unistd.h>

#include "calls/blocking.hpp"
#include "calls/completion.hpp"
#include "calls/finalize.hpp"
#include "calls/nonblocking.hpp"
#include "calls/pack.hpp"

namespace dunnage::calls {
Context* context = nullptr;
}

namespace {

using dunnage::calls::context;
using dunnage::calls::Hook;
namespace calls = dunnage::calls;

/// A large count for an MPI without them.
[[maybe_unused]] int narrow(MPI_Count count) { return count < 0 || count > INT_MAX ? -1 : static_cast<int>(count); }

#define next calls::context->next
#include "shim/hooks.inc"
#undef next

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
  static void* table[calls::hook_count];
  for (int i = 0; i < calls::hook_count; ++i) {
    const std::string name = calls::hook_names[i];
    const bool there = front->next(name.c_str()) != nullptr;
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
