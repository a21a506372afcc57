#include "mpi/reductions/hosts.hpp"

#include <atomic>
#include <map>
#include <mutex>

#include "mpi/process/attribute.hpp"
#include "mpi/process/communicators.hpp"
#include "pack/cuda/reduction.hpp"
#include "transport/peers/job.hpp"

namespace dunnage::mpi {
namespace {

/// MPI_Finalize has begun. While it runs no communicator can be freed; the MPI ends those.
std::atomic<bool> ending{false};

/// Where this rank stands if all hosts have as many ranks: at least two, and not more than one
/// kernel reads the data of.
struct Standing {
  int host = 0;                     // a number of this rank's host
  std::uint32_t index = 0;          // this rank's number there
  std::vector<std::uint32_t> here;  // the ranks there, by their numbers in MPI_COMM_WORLD
};

/// All ranks call it at a time, and all or none get an answer.
std::optional<Standing> standing(MPI_Comm comm, const std::vector<std::uint32_t>& world, std::uint32_t rank) {
  const std::uint64_t mine = transport::peers::host_key();
  std::vector<std::uint64_t> keys(world.size());
  constexpr int size = sizeof mine;
  if (process->own.Allgather(&mine, size, MPI_BYTE, keys.data(), size, MPI_BYTE, comm) != MPI_SUCCESS)
    return std::nullopt;
  std::map<std::uint64_t, std::vector<std::uint32_t>> hosts;
  Standing standing;
  for (std::size_t other = 0; other < keys.size(); ++other) {
    if (other == rank) standing.index = static_cast<std::uint32_t>(hosts[mine].size());
    hosts[keys[other]].push_back(world[other]);
  }
  const auto each = hosts[mine].size();
  if (hosts.size() < 2 || each < 2 || each > pack::cuda::Reduction::most_sources) return std::nullopt;
  for (const auto& [key, ranks] : hosts)
    if (ranks.size() != each) return std::nullopt;
  standing.host = static_cast<int>(std::distance(hosts.begin(), hosts.find(mine)));
  standing.here = hosts[mine];
  return standing;
}

/// Null if the MPI cannot make it.
MPI_Comm split(MPI_Comm comm, int color, std::uint32_t rank) {
  const auto& own = process->own;
  // Not a duplicate, which would call the program's attribute functions.
  MPI_Comm fresh = MPI_COMM_NULL;
  if (own.Comm_split(comm, color, static_cast<int>(rank), &fresh) != MPI_SUCCESS) return MPI_COMM_NULL;
  own.Comm_set_errhandler(fresh, MPI_ERRORS_RETURN);
  return fresh;
}

}  // namespace

std::unique_ptr<Hosts> Hosts::make(MPI_Comm comm, const std::vector<std::uint32_t>& world, std::uint32_t rank) {
  static std::once_flag once;
  std::call_once(once, [] { end_at_finalize([] { ending = true; }); });
  const auto standing_here = standing(comm, world, rank);
  if (!standing_here) return nullptr;
  const auto& [host, index, here] = *standing_here;
  std::unique_ptr<Hosts> hosts(new Hosts);
  hosts->across_ = split(comm, static_cast<int>(index), rank);
  auto of_host = split(comm, host, rank);
  // An MPI that reaches GPUs has ways between hosts that need no host memory (decision 14).
  const bool well = hosts->across_ != MPI_COMM_NULL && of_host != MPI_COMM_NULL && !process->passes_gpus();
  const bool all = all_agree(comm, well);
  if (all) hosts->here_ = GroupMeeting::make(of_host, here, index);
  if (of_host != MPI_COMM_NULL) process->own.Comm_free(&of_host);
  return all && all_agree(comm, hosts->here_ != nullptr) ? std::move(hosts) : nullptr;
}

Hosts::~Hosts() {
  if (across_ != MPI_COMM_NULL && !ending.load(std::memory_order_relaxed)) process->own.Comm_free(&across_);
}

}  // namespace dunnage::mpi
