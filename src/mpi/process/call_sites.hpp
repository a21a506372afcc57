// Where in the program the calls are made that the report counts.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "mpi/process/hook.hpp"
#include "plan/portion.hpp"
#include "plan/reason.hpp"

namespace dunnage::mpi {

/// Calls of one place in the program. Relaxed, as all counters of the report.
struct CallSite {
  std::atomic<int> hook{-1};  // what was counted there first
  plan::Portion portion;
  std::array<std::atomic<std::uint64_t>, plan::reasons> by_reason{};

  void count(plan::Reason reason) {
    by_reason[static_cast<std::size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
  }
};

/// Thread-safe. Those that come when all places are taken are not counted.
class CallSites {
 public:
  static constexpr std::size_t most = 256;
  /// By the address to which the call returns.
  using Places = plan::Places<std::uintptr_t, 0, CallSite, most>;

  /// Returns the calls of a place in the program, or null.
  CallSite* of(const void* address, Hook hook);
  const auto& sites() const { return places_.all(); }

 private:
  Places places_;
};

/// To where the MPI call of this thread returns. Null outside of calls, and if no report is wanted.
/// Calls within a call are made by that call's site.
extern thread_local const void* call_site;

/// A place in a file, as `addr2line -e FILE OFFSET` takes it.
struct CodePlace {
  std::string file;
  std::uint64_t offset;
  std::string function;  // empty if the file does not export it
};
/// Returns the place of the call that returns to an address. The file is empty if it is not known.
CodePlace code_place(std::uintptr_t return_address);

}  // namespace dunnage::mpi
