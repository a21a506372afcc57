// Runs one rank's schedule with the MPI's own messages.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "collective/schedule.hpp"

namespace dunnage::collective {

/// What a rank has sent and received.
struct Traffic {
  std::int64_t sends = 0, receives = 0, bytes_received = 0;
};

/// A schedule in progress. `Mpi` has Isend, Issend, Irecv, Testall and Waitall. Not thread-safe.
template <class Mpi>
class Run {
 public:
  /// The transfers travel as bytes on `comm` with one tag, because messages from one rank to
  /// another stay in order. Ranges are ranges of `data`, each shorter than 2 GiB. `there` is the
  /// number of bytes from the beginning that `data` already has. `ranks` translates the schedule's
  /// peers to ranks of `comm`; it is empty if they are equal. All arguments must outlive the run.
  Run(const Mpi& mpi, const Schedule& schedule, char* data, MPI_Comm comm, int tag, std::int64_t there,
      std::span<const int> ranks = {})
      : mpi_(mpi), schedule_(schedule), data_(data), comm_(comm), tag_(tag), ranks_(ranks), prefix_(there) {}

  /// Continues as far as possible without waiting. Returns whether the schedule is done.
  bool advance() {
    return go_on(
        [&](int n, MPI_Request* requests, int& done) { return mpi_.Testall(n, requests, &done, MPI_STATUSES_IGNORE); });
  }
  /// Waits until the schedule is done.
  void wait() {
    go_on([&](int n, MPI_Request* requests, int& done) {
      done = 1;
      return mpi_.Waitall(n, requests, MPI_STATUSES_IGNORE);
    });
  }
  /// Returns the number of bytes from the beginning of the data that have arrived or were there.
  std::int64_t prefix() const { return prefix_; }
  /// Returns the MPI's first error. After an error the run begins no more transfers. Transfers that
  /// were begun may still be in progress, so the data must stay.
  int code() const { return code_; }
  const Traffic& traffic() const { return traffic_; }

 private:
  template <class Complete>
  bool go_on(Complete&& complete) {
    while (code_ == MPI_SUCCESS && (next_ < schedule_.steps() || !requests_.empty())) {
      if (requests_.empty()) {
        begin(schedule_.step(next_++));
      }
      int done = 0;
      note(complete(static_cast<int>(requests_.size()), requests_.data(), done));
      if (code_ != MPI_SUCCESS) return true;
      if (!done) return false;
      requests_.clear();
      end(schedule_.step(next_ - 1));
    }
    return true;
  }
  void begin(std::span<const Transfer> step) {
    for (const auto& t : step) {
      MPI_Request request = MPI_REQUEST_NULL;
      auto* const at = data_ + t.range.begin;
      const auto length = static_cast<int>(t.range.size());
      const int peer = ranks_.empty() ? t.peer : ranks_[static_cast<std::size_t>(t.peer)];
      note(t.receives() ? mpi_.Irecv(at, length, MPI_BYTE, peer, tag_, comm_, &request)
                        : (t.kind == Transfer::Kind::send ? mpi_.Isend : mpi_.Issend)(at, length, MPI_BYTE, peer, tag_,
                                                                                      comm_, &request));
      requests_.push_back(request);
    }
  }
  void end(std::span<const Transfer> step) {
    for (const auto& t : step) {
      (t.receives() ? traffic_.receives : traffic_.sends) += 1;
      if (!t.receives()) continue;
      traffic_.bytes_received += t.range.size();
      come_.push_back(t.range);
    }
    // A range that has arrived out of order waits for the ranges before it.
    for (bool longer = true; longer;) {
      longer = false;
      for (auto& range : come_)
        if (range.begin <= prefix_ && range.end > prefix_) prefix_ = range.end, longer = true;
      std::erase_if(come_, [&](const Range& range) { return range.end <= prefix_; });
    }
  }
  void note(int code) {
    if (code_ == MPI_SUCCESS) code_ = code;
  }

  const Mpi& mpi_;
  const Schedule& schedule_;
  char* const data_;
  const MPI_Comm comm_;
  const int tag_;
  const std::span<const int> ranks_;
  std::size_t next_ = 0;
  std::vector<MPI_Request> requests_;
  std::vector<Range> come_;
  std::int64_t prefix_;
  int code_ = MPI_SUCCESS;
  Traffic traffic_;
};

}  // namespace dunnage::collective
