#include "mpi/reductions/group.hpp"

#include "device/driver.hpp"
#include "mpi/process/attribute.hpp"
#include "mpi/process/communicators.hpp"
#include "pack/cuda/reduction.hpp"

namespace dunnage::mpi {
namespace {

using transport::gpu::Meeting;
using transport::gpu::Seat;

Attribute<ReductionGroup> reduction_groups;

/// Incremented when a group ends, so that threads drop what they remember of communicators.
std::atomic<std::uint64_t> ended_groups{0};

/// By which others find a rank's seat.
struct SeatPlace {
  std::uint64_t begin = 0, serial = 0;  // serial 0: there is none
};

bool all_well(MPI_Comm comm, bool well) {
  const int here = well;
  int everywhere = 0;
  return process->own.Allreduce(&here, &everywhere, 1, MPI_INT, MPI_MIN, comm) == MPI_SUCCESS && everywhere;
}

}  // namespace

std::unique_ptr<GroupMeeting> GroupMeeting::make(MPI_Comm comm, const std::vector<std::uint32_t>& world_ranks,
                                                 std::uint32_t rank) {
  std::unique_ptr<GroupMeeting> group(new GroupMeeting);
  group->world_ = world_ranks;
  group->rank_ = rank;
  std::vector<const Seat*> seats(world_ranks.size());
  if (seats.size() == 1) {
    group->alone_ = std::make_unique<Seat>();
    group->meeting_.emplace(group->alone_.get(), rank, seats);
    return group;
  }
  auto* world = process->world.get();
  bool well = world != nullptr;
  for (const auto other : world_ranks) well = well && (other == world_ranks[rank] || world->peers.near(other));
  SeatPlace place;
  if (well) {
    group->own_ = world->publications.publish(sizeof(Seat), static_cast<std::uint32_t>(seats.size() - 1), nullptr,
                                              transport::shm::Publications::Stay::standing);
    well = group->own_.has_value();
  }
  if (well) {
    new (group->own_->data) Seat;
    place = {group->own_->begin, group->own_->serial};
  }
  std::vector<SeatPlace> places(seats.size());
  constexpr int size = sizeof(SeatPlace);
  well = process->own.Allgather(&place, size, MPI_BYTE, places.data(), size, MPI_BYTE, comm) == MPI_SUCCESS && well;
  for (std::uint32_t other = 0; well && other < seats.size(); ++other) {
    if (other == rank) continue;
    auto found = places[other].serial == 0
                     ? std::nullopt
                     : world->published(world_ranks[other], places[other].begin, places[other].serial, sizeof(Seat));
    well = found.has_value();
    if (!well) break;
    group->others_.push_back(std::make_unique<transport::shm::Reading>(std::move(*found)));
    seats[other] = reinterpret_cast<const Seat*>(group->others_.back()->data());
  }
  if (!all_well(comm, well)) return nullptr;
  group->meeting_.emplace(group->own_->data, rank, seats);
  return group;
}

GroupMeeting::~GroupMeeting() {
  if (process->world) {
    if (own_) process->world->publications.end(*own_);
    return;
  }
  for (auto& other : others_) (void)other.release();  // the others' memory is no longer mapped
}

bool GroupMeeting::forsaken() const {
  for (std::uint32_t rank = 0; rank < world_.size(); ++rank) {
    if (rank == rank_) continue;
    const auto* memory = process->world->peers.memory(world_[rank]);
    if (!memory || !memory->alive()) return true;
  }
  return false;
}

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
  fresh->possible_ = count > 0 && count <= pack::cuda::Reduction::most_sources;
  for (int other = 0; fresh->possible_ && other < count; ++other) {
    const int there = world_rank(comm, other);
    fresh->possible_ = there >= 0;
    fresh->world_.push_back(static_cast<std::uint32_t>(there));
  }
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

bool ReductionGroup::ask(MPI_Comm comm, Kind& kind, bool on_device) {
  const int here[] = {device::driver() != nullptr, on_device};
  int somewhere[] = {0, 0};
  if (process->own.Allreduce(here, somewhere, 2, MPI_INT, MPI_MAX, comm) != MPI_SUCCESS) return false;
  gpus_ = gpus_ || somewhere[0];
  kind.ours = false;
  if (!somewhere[1]) return false;
  if (!meeting_) meeting_ = GroupMeeting::make(comm, world_, rank_);
  possible_ = kind.ours = meeting_ != nullptr;
  return kind.ours;
}

}  // namespace dunnage::mpi
