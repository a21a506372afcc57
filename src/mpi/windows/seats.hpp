// The seats of a window's ranks, which are all on one host.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/function_ref.hpp"
#include "mpi/process/process.hpp"
#include "transport/gpu/window_seat.hpp"
#include "transport/shm/publications.hpp"

namespace dunnage::mpi {

/// Thread-safe, but for meet().
class Seats {
 public:
  /// All ranks call it at a time. `world`: the ranks in MPI_COMM_WORLD, -1 for one that is not in
  /// it. Returns null on all ranks if one of them cannot take part.
  static std::unique_ptr<Seats> make(MPI_Comm comm, const std::vector<int>& world, std::uint32_t rank);
  Seats(const Seats&) = delete;
  Seats& operator=(const Seats&) = delete;
  ~Seats();

  using Seat = transport::gpu::WindowSeat;
  std::uint32_t rank() const { return rank_; }
  std::uint32_t ranks() const { return static_cast<std::uint32_t>(seats_.size()); }
  std::uint32_t world_rank(std::uint32_t rank) const { return static_cast<std::uint32_t>(world_[rank]); }
  Seat& of(std::uint32_t rank) { return *seats_[rank]; }
  Seat& own() { return of(rank_); }

  /// Waits, and lets the MPI and the other ranks go on meanwhile. Returns false if a rank is gone.
  bool wait_until(base::FunctionRef<bool()> there) const;
  /// Waits until all ranks have come here. Returns false if a rank is gone.
  bool meet();

 private:
  Seats() = default;
  bool forsaken() const;

  std::vector<int> world_;
  std::uint32_t rank_ = 0;
  std::vector<Seat*> seats_;
  std::unique_ptr<char[]> alone_;  // the seat of a rank that is alone
  std::optional<transport::shm::Publications::Published> own_;
  std::vector<std::unique_ptr<transport::shm::Reading>> others_;
  std::uint64_t met_ = 0;
};

}  // namespace dunnage::mpi
