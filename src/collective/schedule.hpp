// What one rank does in a collective operation: an ordered list of sends and receives of ranges of
// the packed message.
//
// A schedule is a pure function of the operation: its ranks, root, bytes and segments. It uses no
// MPI and no clock. A step has any number of transfers. The transfers of a step are begun together,
// and the step ends when all of them have ended. Data that is sent in a step was there before the
// step.
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

/// One send or receive.
struct Transfer {
  enum class Kind : std::uint8_t {
    receive,
    send,
    /// Ends when the receiver has begun to receive, so that ranks that only send do not run far
    /// ahead.
    synchronous_send,
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

  /// Adds a transfer to the step that is being made. Empty ranges are left out, on both sides
  /// alike.
  void add(Transfer::Kind kind, std::int32_t peer, Range range) {
    if (!range.empty()) transfers_.push_back({kind, peer, range});
  }
  /// Ends the step that is being made. A step without transfers is left out.
  void end_step() {
    const auto n = static_cast<std::uint32_t>(transfers_.size());
    if (n != (ends_.empty() ? 0 : ends_.back())) ends_.push_back(n);
  }
  bool operator==(const Schedule&) const = default;

 private:
  std::vector<Transfer> transfers_;
  std::vector<std::uint32_t> ends_;  // where each step ends in transfers_
};

/// Returns the schedule in reverse: the last step comes first, receives become sends, and sends
/// become receives. No send is synchronous.
inline Schedule reversed(const Schedule& there) {
  Schedule back;
  for (auto i = there.steps(); i-- > 0; back.end_step())
    for (const auto& t : there.step(i))
      back.add(t.receives() ? Transfer::Kind::send : Transfer::Kind::receive, t.peer, t.range);
  return back;
}

}  // namespace dunnage::collective
