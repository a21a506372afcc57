#include "mpi/windows/seats.hpp"

#include "mpi/message/device_landing.hpp"
#include "mpi/message/progress.hpp"
#include "mpi/process/arrivals.hpp"
#include "mpi/process/communicators.hpp"
#include "transport/shm/patience.hpp"

namespace dunnage::mpi {
namespace {

/// By which others find a rank's seat.
struct PlaceInWindow {
  std::uint64_t begin = 0, serial = 0;  // serial 0: there is none
};

}  // namespace

std::unique_ptr<Seats> Seats::make(MPI_Comm comm, const std::vector<int>& world_ranks, std::uint32_t rank) {
  std::unique_ptr<Seats> seats(new Seats);
  seats->world_ = world_ranks;
  seats->rank_ = rank;
  const auto ranks = static_cast<std::uint32_t>(world_ranks.size());
  seats->seats_.resize(ranks);
  const auto size = static_cast<std::int64_t>(Seat::size(ranks));
  if (ranks == 1) {
    seats->alone_ = std::make_unique<char[]>(static_cast<std::size_t>(size) + alignof(Seat));
    const auto at = reinterpret_cast<std::uintptr_t>(seats->alone_.get());
    seats->seats_[0] = Seat::make(seats->alone_.get() + (alignof(Seat) - at % alignof(Seat)), 1);
    return seats;
  }
  auto* world = process->world.get();
  bool well = world != nullptr;
  for (const auto other : world_ranks)
    well = well && other >= 0 && (other == process->rank || world->peers.near(static_cast<std::uint32_t>(other)));
  PlaceInWindow place;
  if (well) {
    seats->own_ = world->publications.publish(size, ranks - 1, nullptr, transport::shm::Publications::Stay::standing);
    well = seats->own_.has_value();
  }
  if (well) {
    seats->seats_[rank] = Seat::make(seats->own_->data, ranks);
    place = {seats->own_->begin, seats->own_->serial};
  }
  std::vector<PlaceInWindow> places(ranks);
  constexpr int bytes = sizeof(PlaceInWindow);
  well = process->own.Allgather(&place, bytes, MPI_BYTE, places.data(), bytes, MPI_BYTE, comm) == MPI_SUCCESS && well;
  for (std::uint32_t other = 0; well && other < ranks; ++other) {
    if (other == rank) continue;
    auto found = places[other].serial == 0
                     ? std::nullopt
                     : world->published(seats->world_rank(other), places[other].begin, places[other].serial, size);
    well = found.has_value();
    if (!well) break;
    seats->others_.push_back(std::make_unique<transport::shm::Reading>(std::move(*found)));
    seats->seats_[other] = reinterpret_cast<Seat*>(const_cast<char*>(seats->others_.back()->data()));
  }
  return all_agree(comm, well) ? std::move(seats) : nullptr;
}

Seats::~Seats() {
  if (process->world) {
    if (own_) process->world->publications.end(*own_);
    return;
  }
  for (auto& other : others_) (void)other.release();  // the others' memory is no longer mapped
}

bool Seats::forsaken() const {
  for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
    if (rank == rank_) continue;
    const auto* memory = process->world->peers.memory(world_rank(rank));
    if (!memory || !memory->alive()) return true;
  }
  return false;
}

bool Seats::wait_until(base::FunctionRef<bool()> there) const {
  constexpr int spins = 100;
  transport::shm::Patience patience(spins);
  for (int round = 1; !there(); ++round, patience.wait()) {
    if (process->world) process->world->answer();
    if (round % polls_between == 0) {
      let_mpi_progress();
      progress_receives();
    }
    if (patience.doubts() && ranks() > 1 && forsaken()) return false;
  }
  return true;
}

bool Seats::meet() {
  own().arrive();
  ++met_;
  for (std::uint32_t rank = 0; rank < ranks(); ++rank)
    if (rank != rank_ && !wait_until([&] { return of(rank).has_arrived(met_); })) return false;
  return true;
}

}  // namespace dunnage::mpi
