#include "mpi/reductions/group.hpp"

#include "device/driver.hpp"
#include "mpi/process/attribute.hpp"
#include "mpi/process/communicators.hpp"

namespace dunnage::mpi {
namespace {

Attribute<ReductionGroup> reduction_groups;

/// Incremented when a group ends, so that threads drop what they remember of communicators.
std::atomic<std::uint64_t> ended_groups{0};

}  // namespace

ReductionGroup::~ReductionGroup() { ended_groups.fetch_add(1, std::memory_order_release); }

ReductionGroup* ReductionGroup::make(MPI_Comm comm) {
  ReductionGroup* group = nullptr;
  if (!reduction_groups.find(comm, group) || group) return group;
  auto fresh = std::make_unique<ReductionGroup>();
  int between = 0, rank = 0;
  const auto& own = process->own;
  if (own.Comm_test_inter(comm, &between) != MPI_SUCCESS || own.Comm_rank(comm, &rank) != MPI_SUCCESS) return nullptr;
  const int count = between ? 0 : members(comm);
  fresh->rank_ = static_cast<std::uint32_t>(rank);
  bool known = count > 0;
  for (int other = 0; known && other < count; ++other) {
    const int there = world_rank(comm, other);
    known = there >= 0;
    fresh->world_.push_back(static_cast<std::uint32_t>(there));
  }
  if (known) fresh->reach_ = Reach::unknown;
  return reduction_groups.put(comm, std::move(fresh));
}

ReductionGroup* ReductionGroup::of(MPI_Comm comm) {
  struct Last {
    std::uint64_t ended = ~std::uint64_t{0};
    MPI_Comm comm = MPI_COMM_NULL;
    ReductionGroup* group = nullptr;
  };
  thread_local Last last;
  const auto ended = ended_groups.load(std::memory_order_acquire);
  if (last.ended == ended && last.comm == comm) return last.group;
  if (comm == MPI_COMM_NULL) return nullptr;
  auto* group = make(comm);
  if (group) last = {ended, comm, group};
  return group;
}

ReductionGroup::Reach ReductionGroup::find_reach(MPI_Comm comm) {
  if (few()) meeting_ = GroupMeeting::make(comm, world_, rank_);
  if (meeting_) return Reach::one_host;
  hosts_ = Hosts::make(comm, world_, rank_);
  return hosts_ ? Reach::several_hosts : Reach::none;
}

bool ReductionGroup::ask(MPI_Comm comm, collective::ReductionKind kind, std::int64_t count, bool on_device) {
  const int here[] = {device::driver() != nullptr, on_device};
  int somewhere[] = {0, 0};
  if (process->own.Allreduce(here, somewhere, 2, MPI_INT, MPI_MAX, comm) != MPI_SUCCESS) return false;
  gpus_ = gpus_ || somewhere[0];
  auto& known = kind_of(kind, count);
  known.ours = false;
  if (!somewhere[1]) return false;
  if (reach_ == Reach::unknown) reach_ = find_reach(comm);
  return known.ours = may_be_ours(kind);
}

}  // namespace dunnage::mpi
