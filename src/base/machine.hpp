// The properties that tell one kind of machine from another. Times that were measured on one kind
// of machine are of no use on another.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dunnage::base {

struct Machine {
  std::string processor;  // the processor's own name
  int cores = 0;          // configured cores, also those that this process may not use
  std::int64_t second_level_cache = 0;
  bool operator==(const Machine&) const = default;
};

/// Returns this machine's properties, which are found out once. This is on the path of a program's
/// first MPI call, so no file is read whose size grows with the machine. Thread-safe.
const Machine& this_machine();

/// For example "AMD EPYC, 2 cores, 1 MiB of second-level cache".
std::string describe(const Machine& machine);

/// Returns eight characters for a file name. Every version of Dunnage returns the same for the same
/// machine.
std::string short_hash(const Machine& machine);

}  // namespace dunnage::base
