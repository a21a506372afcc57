// How the partitions of a sender and of a receiver fit together. Both have the bytes of one message
// in partitions of their own, and need not have equally many.
#pragma once

#include <cstdint>
#include <vector>

namespace dunnage::plan {

/// The numbers begin, begin + 1, ..., end - 1.
struct Span {
  std::int64_t begin, end;
  bool operator==(const Span&) const = default;
};

/// How a sender cuts its message: into pieces of whole partitions. Each piece is a message of its
/// own. Plain numbers: they travel from the sender to the receiver.
struct Pieces {
  std::int64_t partitions = 0;
  std::int64_t bytes = 0;     // of a partition
  std::int64_t together = 1;  // partitions of a piece; the last piece may have fewer

  std::int64_t count() const { return (partitions + together - 1) / together; }
  std::int64_t total() const { return partitions * bytes; }
  /// The piece of a partition.
  std::int64_t of(std::int64_t partition) const { return partition / together; }
  Span partitions_of(std::int64_t piece) const;
  Span bytes_of(std::int64_t piece) const;
};

/// A piece for each partition or, if there were more than `most` pieces, for some neighbours
/// together.
Pieces cut(std::int64_t partitions, std::int64_t bytes, std::int64_t most);

/// Which partitions of a receiver have come. Not thread-safe.
class Arrivals {
 public:
  Arrivals() = default;
  /// The receiver has `partitions` of `bytes` bytes each.
  Arrivals(const Pieces& pieces, std::int64_t partitions, std::int64_t bytes);

  /// Nothing has come.
  void start();
  /// A piece has come, for the first time since start(). Calls f(partition) for each partition
  /// whose last byte came with it.
  template <class F>
  void come(std::int64_t piece, F&& f) {
    --left_;
    const auto touched = touched_by(piece);
    for (auto p = touched.begin; p < touched.end; ++p)
      if (--missing_[static_cast<std::size_t>(p)] == 0) f(p);
  }
  bool all() const { return left_ == 0; }
  /// Whether all bytes of a partition have come. One that is empty, or for which the sender has too
  /// few bytes, comes with the last piece.
  bool has(std::int64_t partition) const;
  /// The pieces that bring a partition.
  Span pieces_of(std::int64_t partition) const;

 private:
  /// The partitions into which a piece brings bytes.
  Span touched_by(std::int64_t piece) const;
  bool complete_alone(std::int64_t partition) const;

  Pieces pieces_;
  std::int64_t partitions_ = 0, bytes_ = 0;
  std::int64_t left_ = 0;              // pieces that have not come
  std::vector<std::int64_t> missing_;  // by partition: pieces that have not come
};

}  // namespace dunnage::plan
