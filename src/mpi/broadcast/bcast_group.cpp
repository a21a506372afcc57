#include "mpi/broadcast/bcast_group.hpp"

#include <link.h>

#include <algorithm>
#include <atomic>
#include <string_view>

#include "mpi/process/attribute.hpp"
#include "mpi/process/communicators.hpp"
#include "transport/peers/job.hpp"

namespace dunnage::mpi {
namespace {

using transport::shm::BroadcastRing;

constexpr std::uint32_t cells = 32;
constexpr std::uint64_t cell = 64 << 10;
/// Communicators of a process that have what it takes: programs with more communicators than that
/// broadcast on the others as the MPI does.
constexpr int most_windows = 64;
std::atomic<int> windows{0};

std::atomic<bool> ending{false};  // communicators of ours are left to MPI_Finalize: while it runs, none can be freed

Attribute<BcastGroup> groups;
std::atomic<std::uint64_t> groups_ended{0};  // groups: what a thread remembers of one may be of these

bool all_of_this_world(MPI_Comm comm, int ranks) {
  for (int rank = 0; rank < ranks; ++rank)
    if (world_rank(comm, rank) < 0) return false;
  return true;
}

/// What fails here the others hear of.
template <class F>
void try_to(F&& f) {
  try {
    f();
  } catch (const std::exception&) {
  }
}

}  // namespace

BcastGroup::~BcastGroup() {
  groups_ended.fetch_add(1, std::memory_order_release);
  gone->store(true, std::memory_order_relaxed);
  if (counted) windows.fetch_sub(1, std::memory_order_relaxed);
  if (between != MPI_COMM_NULL && !ending.load(std::memory_order_relaxed)) process->own.Comm_free(&between);
}

std::int64_t broadcast_bytes(std::int64_t count, MPI_Datatype type, MPI_Comm comm) {
  MPI_Count size = 0;
  std::int64_t bytes = 0;
  const bool told = count > 0 && type != MPI_DATATYPE_NULL && comm != MPI_COMM_NULL &&
                    process->own.Type_size_x(type, &size) == MPI_SUCCESS;
  return told && size > 0 && !__builtin_mul_overflow(static_cast<std::int64_t>(size), count, &bytes) ? bytes : 0;
}

BcastGroup* bcast_group(MPI_Comm comm) {
  const auto& own = process->own;
  if (ending.load(std::memory_order_relaxed)) return nullptr;
  // Asking the MPI takes more than all the rest of a broadcast that is left to it.
  struct Last {
    MPI_Comm comm{};
    std::uint64_t ended = 0;
    BcastGroup* group = nullptr;
  };
  thread_local Last last;
  const auto ended_now = groups_ended.load(std::memory_order_acquire);
  if (last.group && last.comm == comm && last.ended == ended_now) return last.group;
  BcastGroup* found = nullptr;
  if (!groups.find(comm, found)) return nullptr;
  if (found) {
    last = {comm, ended_now, found};
    return found;
  }
  auto group = std::make_unique<BcastGroup>();
  if (own.Comm_size(comm, &group->ranks) != MPI_SUCCESS || own.Comm_rank(comm, &group->rank) != MPI_SUCCESS)
    return nullptr;
  group->possible = group->ranks > 1 && all_of_this_world(comm, group->ranks);
  return groups.put(comm, std::move(group));
}

bool foreign_gpus() {
  // What was loaded when last looked at, how many objects had been by then, and whether one of them
  // was such a runtime.
  static std::atomic<unsigned long long> looked_at{0};
  static std::atomic<bool> found{false};
  unsigned long long now = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* adds) {
        *static_cast<unsigned long long*>(adds) = object->dlpi_adds;
        return 1;
      },
      &now);
  if (now != 0 && looked_at.load(std::memory_order_acquire) == now) return found.load(std::memory_order_relaxed);
  const bool some = dl_iterate_phdr(
                        [](dl_phdr_info* object, std::size_t, void*) {
                          const std::string_view name(object->dlpi_name);
                          for (const std::string_view runtime : {
                                   "libamdhip64.so",
                                   "libhsa-runtime64.so",
                                   "libze_loader.so",
                               })
                            if (name.find(runtime) != name.npos) return 1;
                          return 0;
                        },
                        nullptr) != 0;
  found.store(some, std::memory_order_relaxed);
  looked_at.store(now, std::memory_order_release);
  return some;
}

bool on_one_host(BcastGroup& group, MPI_Comm comm) {
  if (!group.one_host) {
    const auto in_world = [&](int rank) { return static_cast<std::uint32_t>(world_rank(comm, rank)); };
    group.one_host = true;
    for (int rank = 1; rank < group.ranks; ++rank)
      group.one_host = *group.one_host && process->world->peers.on_one_host(in_world(0), in_world(rank));
    for (int rank = 0; *group.one_host && !group.ready && rank < group.ranks; ++rank)
      if (rank != group.rank) group.others.push_back(in_world(rank));
  }
  return *group.one_host;
}

void set_up(BcastGroup& group, MPI_Comm comm) {
  const auto& own = process->own;
  const auto n = static_cast<std::size_t>(group.ranks);
  group.ready = true;
  group.others.clear();
  std::vector<std::uint64_t> keys(n);
  std::uint64_t mine = transport::peers::host_key();
  bool good = own.Allgather(&mine, sizeof mine, MPI_BYTE, keys.data(), sizeof mine, MPI_BYTE, comm) == MPI_SUCCESS;
  std::uint32_t here = 0, before = 0;
  std::vector<std::uint64_t> hosts;
  for (std::size_t r = 0; r < n; ++r) {
    const auto host = static_cast<std::size_t>(std::find(hosts.begin(), hosts.end(), keys[r]) - hosts.begin());
    if (host == hosts.size()) {
      hosts.push_back(keys[r]);
      group.leaders.push_back(static_cast<int>(r));
    }
    group.host_of.push_back(static_cast<int>(host));
    if (keys[r] != mine) continue;
    ++here;
    if (static_cast<int>(r) < group.rank) ++before;
    if (static_cast<int>(r) != group.rank)
      group.others.push_back(static_cast<std::uint32_t>(world_rank(comm, static_cast<int>(r))));
  }

  std::vector<BroadcastRing::Name> names(n);
  BroadcastRing::Name name{};
  try_to([&] {
    if (before == 0 && here > 1 && (group.window = BroadcastRing::make({here, cells, cell})))
      name = group.window->name();
  });
  good = own.Allgather(&name, sizeof name, MPI_BYTE, names.data(), sizeof name, MPI_BYTE, comm) == MPI_SUCCESS && good;
  try_to([&] {
    const auto& theirs = names[static_cast<std::size_t>(group.leaders[static_cast<std::size_t>(group.my_host())])];
    if (before != 0 && theirs.key != 0) group.window = BroadcastRing::open(theirs, before);
  });
  group.possible = all_agree(comm, good && !foreign_gpus() && (here == 1 || group.window) &&
                                       windows.load(std::memory_order_relaxed) < most_windows);
  if (group.possible && group.hosts() > 1) {
    // Not a duplicate, which would call the program's attribute functions.
    group.possible = own.Comm_split(comm, 0, group.rank, &group.between) == MPI_SUCCESS;
    if (group.between != MPI_COMM_NULL) own.Comm_set_errhandler(group.between, MPI_ERRORS_RETURN);
  }
  if (!group.possible) group.window.reset();
  if (group.window) group.window->forget_name();
  if (group.possible) windows.fetch_add(1, std::memory_order_relaxed);
  group.counted = group.possible;
}

void forget_bcast_groups() {
  ending = true;
  groups.end();
}

}  // namespace dunnage::mpi
