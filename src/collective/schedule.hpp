// What one rank does in a collective operation: an ordered list of sends and receives of ranges of the packed message.
//
// A schedule is a pure function of the operation (ranks, root, bytes, segments): no MPI, no clock. Any number of transfers make a step; they are
// begun together, and the step ends when all of them have. What is sent in a step was there before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dunnage::collective {

/// Bytes [begin, end) of the packed message.
struct Range {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
  bool empty() const { return begin >= end; }
  bool operator==(const Range&) const = default;
};

struct Transfer {
  enum class Kind : std::uint8_t {
    receive,
    send,
    synchronous_send,  // that ends when the receiver has begun to receive: so senders that only send do not run far ahead
  };
  Kind kind;
  std::int32_t peer;
  Range range;
  bool receives() const { return kind == Kind::receive; }
  bool operator==(const Transfer&) const = default;
};

class Schedule {
 public:
  std::size_t steps() const { return ends_.size(); }
  std::span<const Transfer> step(std::size_t i) const {
    const auto begin = i == 0 ? 0 : ends_[i - 1];
    return std::span(transfers_).subspan(begin, ends_[i] - begin);
  }
  std::span<const Transfer> transfers() const { return transfers_; }

  /// To the step that is being made. Empty ranges are left out, on both sides alike.
  void add(Transfer::Kind kind, std::int32_t peer, Range range) {
    if (!range.empty()) transfers_.push_back({kind, peer, range});
  }
  void end_step() {
    if (const auto n = static_cast<std::uint32_t>(transfers_.size()); n != (ends_.empty() ? 0 : ends_.back())) ends_.push_back(n);
  }
  bool operator==(const Schedule&) const = default;

 private:
  std::vector<Transfer> transfers_;
  std::vector<std::uint32_t> ends_;  // of the steps
};

/// The way back: what has been received is sent, and the other way round, the last step first. No send is synchronous.
inline Schedule reversed(const Schedule& there) {
  Schedule back;
  for (auto i = there.steps(); i-- > 0; back.end_step())
    for (const auto& t : there.step(i)) back.add(t.receives() ? Transfer::Kind::send : Transfer::Kind::receive, t.peer, t.range);
  return back;
}

}  // namespace dunnage::collective
