#include "common/cores.hpp"

#include <sched.h>

#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace bench {

int bind_to_core(int rank) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return -1;
  std::vector<int> cores;
  std::set<std::string> seen;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    std::string siblings = "only " + std::to_string(cpu);  // if the system does not tell
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
    std::getline(file, siblings);
    if (seen.insert(siblings).second) cores.push_back(cpu);
  }
  // If there is a single core, the launcher has chosen it.
  const std::size_t index = cores.size() == 1 ? 0 : static_cast<std::size_t>(rank);
  if (index >= cores.size()) return -1;
  const int core = cores[index];
  cpu_set_t mine;
  CPU_ZERO(&mine);
  CPU_SET(core, &mine);
  return sched_setaffinity(0, sizeof mine, &mine) == 0 ? core : -1;
}

int take_half_of_cores(int rank) {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) CPU_SET(cpu, &all);
  // The system leaves out cores that do not exist or are forbidden.
  if (sched_setaffinity(0, sizeof all, &all) != 0 || sched_getaffinity(0, sizeof all, &all) != 0) return 0;
  const int count = CPU_COUNT(&all);
  if (count < 2) return 0;
  cpu_set_t mine;
  CPU_ZERO(&mine);
  for (int cpu = 0, seen = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &all) && seen++ / (count / 2) == rank % 2) CPU_SET(cpu, &mine);
  return sched_setaffinity(0, sizeof mine, &mine) == 0 ? CPU_COUNT(&mine) : 0;
}

}  // namespace bench
