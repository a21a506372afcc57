// Runs one rank's schedule over an MPI's own messages.
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

/// A schedule under way. `Mpi` has Isend, Issend, Irecv, Testall and Waitall. Not thread-safe.
template <class Mpi>
class Run {
 public:
  /// Its parts travel as bytes on `comm` with one tag: messages from one rank to another stay in order. Ranges are of `data`, each of less than 2 GiB.
  /// `ranks`: of the schedule's peers, where these have other numbers in `comm`. `there`: bytes from the beginning that are in `data` already. All must outlive the run.
  Run(const Mpi& mpi, const Schedule& schedule, char* data, MPI_Comm comm, int tag, std::int64_t there, std::span<const int> ranks = {})
      : mpi_(mpi), schedule_(schedule), data_(data), comm_(comm), tag_(tag), ranks_(ranks), prefix_(there) {}

  /// Goes on as far as it can be without waiting. Returns whether all is done.
  bool advance() {
    return go_on([&](int n, MPI_Request* requests, int& done) { return mpi_.Testall(n, requests, &done, MPI_STATUSES_IGNORE); });
  }
  /// Returns when all is done.
  void wait() {
    go_on([&](int n, MPI_Request* requests, int& done) {
      done = 1;
      return mpi_.Waitall(n, requests, MPI_STATUSES_IGNORE);
    });
  }
  /// So many bytes from the beginning have come, or were there.
  std::int64_t prefix() const { return prefix_; }
  /// The MPI's first error. After it nothing more is done, and what had been begun may still be under way: the data must stay.
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
                        : (t.kind == Transfer::Kind::send ? mpi_.Isend : mpi_.Issend)(at, length, MPI_BYTE, peer, tag_, comm_, &request));
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
    // What has come out of order waits for what is before it.
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
