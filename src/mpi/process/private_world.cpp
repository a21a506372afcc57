#include "mpi/process/private_world.hpp"

#include <dlfcn.h>

#include <array>
#include <map>
#include <mutex>

#include "base/block_pool.hpp"
#include "device/driver.hpp"

namespace dunnage::mpi {
namespace {

MPI_Comm duplicate = MPI_COMM_NULL;
int most = 0;  // the largest tag

std::uint64_t wanted = 0;  // for what it was made
const transport::shm::Memory* agreements_ = nullptr;

/// Whether ranks surely agree. Nothing that may differ between ranks is asked.
bool all_agree() {
  return process->everyone || process->alone || process->settings.partitioned == base::Partitioned::on ||
         process->settings.collectives == base::Collectives::on;
}

constexpr std::uint64_t wants_partitioned = 1, wants_triggered = 2, wants_collectives = 4;

/// The memory of the first rank, if all ranks are on its host.
const transport::shm::Memory* memory_of_all() {
  return process->world && process->shares && !process->several_hosts ? process->world->memory(0) : nullptr;
}

/// By the ranks that messages go to. Never destroyed: requests may outlive other statics.
struct Pools {
  std::mutex mutex;
  std::map<int, base::BlockPool> by_dest;
};
Pools& pools() {
  static auto* all = new Pools;
  return *all;
}

}  // namespace

MPI_Comm private_world() { return duplicate; }
int largest_tag() { return most; }

bool private_world_serves_partitioned() { return (wanted & wants_partitioned) != 0; }
bool private_world_serves_matching() { return (wanted & (wants_partitioned | wants_triggered)) != 0; }
int match_tag() { return most + 1; }
int agreed_tag(std::uint32_t number) { return most + 2 + few_tags * static_cast<int>(number); }
const transport::shm::Memory* agreements() { return agreements_; }

/// Partitioned messages gain on Open MPI, which takes partitions of strided types from the wrong
/// places, and on device memory, which no MPI takes. Otherwise the MPI is faster if all partitions
/// become ready together. Exchanges that streams start are for programs that are linked with
/// dunnage-api. Nonblocking collectives gain in device memory, which the program may use later.
std::uint64_t private_world_wants() {
  const auto how = process->settings.partitioned;
  const bool possible = how != base::Partitioned::off && process->own.Psend_init && process->own.Precv_init;
  const bool partitioned = possible && (how == base::Partitioned::on || device::driver() ||
                                        process->library.kind == plan::Library::Kind::open_mpi);
  const bool triggered = dlsym(RTLD_DEFAULT, "DNG_api_version") != nullptr;
  const bool collectives = (process->settings.collectives != base::Collectives::off ||
                            process->settings.neighbours != base::Neighbours::off) &&
                           (device::driver() || device::gpus_probable());
  return (partitioned ? wants_partitioned : 0) | (triggered ? wants_triggered : 0) |
         (collectives ? wants_collectives : 0);
}

void make_private_world(std::optional<std::uint64_t> somewhere) {
  if (!all_agree()) return;
  const auto& own = process->own;
  if (!somewhere) {
    const std::uint64_t here = private_world_wants();
    if (own.Allreduce(&here, &somewhere.emplace(0), 1, MPI_UINT64_T, MPI_BOR, MPI_COMM_WORLD) != MPI_SUCCESS) return;
  }
  if (process->several_hosts) *somewhere &= ~wants_collectives;
  if ((*somewhere & (wants_partitioned | wants_triggered | wants_collectives)) == 0) return;
  void* value = nullptr;
  int there = 0;
  MPI_Comm fresh = MPI_COMM_NULL;
  const bool made = own.Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &there) == MPI_SUCCESS && there &&
                    own.Comm_dup(MPI_COMM_WORLD, &fresh) == MPI_SUCCESS &&
                    own.Comm_set_errhandler(fresh, MPI_ERRORS_RETURN) == MPI_SUCCESS;
  const auto* memory = memory_of_all();
  const int here[] = {made, memory != nullptr};
  int everywhere[] = {0, 0};
  if (own.Allreduce(here, everywhere, 2, MPI_INT, MPI_MIN, MPI_COMM_WORLD) == MPI_SUCCESS && everywhere[0]) {
    most = *static_cast<int*>(value) - 1 - few_tags * static_cast<int>(transport::shm::agreements);
    duplicate = fresh;
    wanted = *somewhere;
    if (everywhere[1] && (wanted & wants_collectives)) agreements_ = memory;
  } else if (fresh != MPI_COMM_NULL) {
    own.Comm_free(&fresh);
  }
}

void free_private_world() {
  if (duplicate == MPI_COMM_NULL) return;
  // Introductions of operations that were never started: UCX complains about what nobody receives.
  const auto& own = process->own;
  int there = 0;
  MPI_Status status;
  std::array<char, 256> unwanted;
  while (own.Iprobe(MPI_ANY_SOURCE, introduction_tag, duplicate, &there, &status) == MPI_SUCCESS && there)
    if (own.Recv(unwanted.data(), static_cast<int>(unwanted.size()), MPI_PACKED, status.MPI_SOURCE, introduction_tag,
                 duplicate, MPI_STATUS_IGNORE) != MPI_SUCCESS)
      break;
  own.Comm_free(&duplicate);
  agreements_ = nullptr;
}

Tags::Tags(int dest, int count) : dest_(dest) {
  auto& all = pools();
  const std::lock_guard lock(all.mutex);
  auto& pool = all.by_dest.try_emplace(dest, introduction_tag + 1, std::int64_t{most} + 1).first->second;
  first_ = static_cast<int>(pool.take(count).value_or(-1));
}

Tags::~Tags() {
  if (first_ < 0) return;
  auto& all = pools();
  const std::lock_guard lock(all.mutex);
  all.by_dest.at(dest_).give_back(first_);
}

}  // namespace dunnage::mpi
