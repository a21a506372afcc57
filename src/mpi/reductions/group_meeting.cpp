#include "mpi/reductions/group_meeting.hpp"

#include "mpi/process/communicators.hpp"

namespace dunnage::mpi {

using transport::gpu::Meeting;
using transport::gpu::Seat;

namespace {

/// By which others find a rank's seat.
struct SeatPlace {
  std::uint64_t begin = 0, serial = 0;  // serial 0: there is none
};

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
  if (!all_agree(comm, well)) return nullptr;
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

}  // namespace dunnage::mpi
