// What tells one kind of machine from another: figures that were measured on one are of no use on another.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dunnage::base {

struct Machine {
  std::string processor;  // as it names itself
  int cores = 0;          // configured, whether this process may use them or not
  std::int64_t second_level_cache = 0;
  bool operator==(const Machine&) const = default;
};

/// Asked once. Reads no file of the size of the machine: this is on the way of a program's first MPI call.
const Machine& this_machine();

std::string describe(const Machine& machine);  // "AMD EPYC, 2 cores, 1 MiB of second-level cache"

/// Eight characters for a file's name. The same in every version of Dunnage.
std::string short_hash(const Machine& machine);

}  // namespace dunnage::base
