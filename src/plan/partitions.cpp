#include "plan/partitions.hpp"

#include <algorithm>

namespace dunnage::plan {

Span Pieces::partitions_of(std::int64_t piece) const {
  return {piece * together, std::min((piece + 1) * together, partitions)};
}

Span Pieces::bytes_of(std::int64_t piece) const {
  const auto [begin, end] = partitions_of(piece);
  return {begin * bytes, end * bytes};
}

Pieces cut(std::int64_t partitions, std::int64_t bytes, std::int64_t most) {
  return {partitions, bytes, std::max<std::int64_t>(1, (partitions + most - 1) / most)};
}

Arrivals::Arrivals(const Pieces& pieces, std::int64_t partitions, std::int64_t bytes)
    : pieces_(pieces), partitions_(partitions), bytes_(bytes), missing_(static_cast<std::size_t>(partitions)) {}

void Arrivals::start() {
  left_ = pieces_.count();
  for (std::int64_t p = 0; p < partitions_; ++p) {
    const auto [begin, end] = complete_alone(p) ? pieces_of(p) : Span{0, 0};
    missing_[static_cast<std::size_t>(p)] = end - begin;
  }
}

bool Arrivals::complete_alone(std::int64_t partition) const {
  return bytes_ > 0 && (partition + 1) * bytes_ <= pieces_.total();
}

bool Arrivals::has(std::int64_t partition) const {
  return complete_alone(partition) ? missing_[static_cast<std::size_t>(partition)] == 0 : all();
}

Span Arrivals::pieces_of(std::int64_t partition) const {
  if (!complete_alone(partition)) return {0, pieces_.count()};
  const auto last_byte = (partition + 1) * bytes_ - 1;
  return {pieces_.of(partition * bytes_ / pieces_.bytes), pieces_.of(last_byte / pieces_.bytes) + 1};
}

Span Arrivals::touched_by(std::int64_t piece) const {
  if (bytes_ == 0) return {0, 0};
  const auto [begin, end] = pieces_.bytes_of(piece);
  if (begin == end) return {0, 0};
  const auto whole = pieces_.total() / bytes_;  // partitions that can be complete
  return {begin / bytes_, std::min({(end - 1) / bytes_ + 1, partitions_, whole})};
}

}  // namespace dunnage::plan
