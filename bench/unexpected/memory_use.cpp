#include "unexpected/memory_use.hpp"

#include <fstream>
#include <string>

namespace bench::unexpected {
namespace {

/// Returns the value in bytes of a line "NAME: N kB". Returns 0 if there is none.
std::int64_t value_in(const char* path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name + ":")) return std::stoll(line.substr(name.size() + 1)) * 1024;
  return 0;
}

}  // namespace

bool forget_peak() {
  std::ofstream file("/proc/self/clear_refs");
  file << 5 << std::flush;  // proc_pid_clear_refs(5): resets the peak resident set size
  return file.good();
}

std::int64_t peak_bytes() { return value_in("/proc/self/status", "VmHWM"); }

std::int64_t shared_part_bytes() { return value_in("/proc/self/smaps_rollup", "Pss_Shmem"); }

}  // namespace bench::unexpected
