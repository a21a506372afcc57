// What is kept with a communicator for its reductions.
//
// A reduction is Dunnage's only if a rank has device memory in it. No rank knows that alone. So the
// ranks ask each other at calls 1, 2, 4, 8 and so on, as they do for MPI_Alltoall
// (mpi/neighbours/all.hpp). All ranks count alike, and a call costs little in between.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "collective/reduction.hpp"
#include "mpi/process/process.hpp"
#include "mpi/reductions/group_meeting.hpp"
#include "mpi/reductions/handshake_slots.hpp"
#include "mpi/reductions/hosts.hpp"
#include "pack/cuda/reduction.hpp"

namespace dunnage::mpi {

/// All ranks have the same, but for `rank`. Not thread-safe: a communicator's collectives come one
/// at a time.
class ReductionGroup {
 public:
  ~ReductionGroup();
  /// That of a communicator. Null if there can be none. Costs some nanoseconds if the thread asks
  /// for the same communicator again.
  static ReductionGroup* of(MPI_Comm comm);

  std::uint32_t rank() const { return rank_; }
  std::uint32_t ranks() const { return static_cast<std::uint32_t>(world_.size()); }
  /// The meeting of all ranks. Not null after a call that was Dunnage's, if they are on one host.
  GroupMeeting& meeting() { return *meeting_; }
  HandshakeSlots& slots() { return slots_; }
  /// Not null after a call that was Dunnage's, if the ranks are on several hosts.
  Hosts* hosts() const { return hosts_.get(); }
  /// Whether any may be Dunnage's by a meeting of all ranks. All ranks get one answer.
  bool on_one_host() const { return reach_ == Reach::one_host || (reach_ == Reach::unknown && few()); }
  /// Whether such reductions were Dunnage's when the ranks last asked. Waits for nobody.
  bool was_ours(collective::ReductionKind kind, std::int64_t count) {
    return reach_ == Reach::one_host && count > 0 && kind_of(kind, count).ours;
  }
  /// The number of reductions of one kind and of similar lengths, in elements: to ask the MPI for a
  /// type's size would take longer than all else that a call in host memory does here.
  static std::size_t number_of(collective::ReductionKind kind, std::int64_t count) {
    return static_cast<std::size_t>(kind) * widths +
           static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(count)));
  }
  /// True the first time, and false after that.
  bool first_time() { return !std::exchange(done_before_, true); }

  /// Whether the next call is Dunnage's. It reduces `count` elements, as all ranks know.
  /// `on_device()`: whether this rank has device memory in it.
  template <class OnDevice>
  bool is_ours(MPI_Comm comm, collective::ReductionKind kind, std::int64_t count, OnDevice&& on_device) {
    if (!may_be_ours(kind) || count <= 0) return false;
    if (!gpus_) return is_power_of_2(++calls_) && ask(comm, kind, count, on_device());
    auto& known = kind_of(kind, count);
    return is_power_of_2(++known.calls) ? ask(comm, kind, count, on_device()) : known.ours;
  }

 private:
  struct Kind {
    unsigned calls = 0;
    bool ours = false;
  };
  static constexpr bool is_power_of_2(unsigned n) { return (n & (n - 1)) == 0; }
  Kind& kind_of(collective::ReductionKind kind, std::int64_t count) { return kinds_[number_of(kind, count)]; }
  bool ask(MPI_Comm comm, collective::ReductionKind kind, std::int64_t count, bool on_device);

  /// Where the ranks are, as far as reductions can be Dunnage's there. All ranks know the same.
  enum class Reach : std::uint8_t { none, unknown, one_host, several_hosts };
  Reach find_reach(MPI_Comm comm);
  /// Whether a kernel can read the data of all ranks.
  bool few() const { return ranks() <= pack::cuda::Reduction::most_sources; }
  bool may_be_ours(collective::ReductionKind kind) const {
    return reach_ != Reach::none && (reach_ != Reach::several_hosts || kind == collective::ReductionKind::allreduce);
  }

  static constexpr std::size_t kinds = 5, widths = 65;
  Reach reach_ = Reach::none;
  bool done_before_ = false;
  bool gpus_ = false;   // a rank has loaded the driver
  unsigned calls_ = 0;  // before that
  std::vector<std::uint32_t> world_;
  std::uint32_t rank_ = 0;
  std::array<Kind, kinds * widths> kinds_;
  std::unique_ptr<GroupMeeting> meeting_;
  HandshakeSlots slots_;
  std::unique_ptr<Hosts> hosts_;

  static ReductionGroup* make(MPI_Comm comm);
};

}  // namespace dunnage::mpi
