#include "collectives/blocks.hpp"

#include <algorithm>

namespace bench::collectives {
namespace {

std::byte byte_of(std::int64_t i, unsigned number) {
  return static_cast<std::byte>((static_cast<std::uint64_t>(i) * 2654435761u >> 8 ^ number * 40503u) & 0xff);
}

}  // namespace

Blocks::Blocks(Where where, int count, std::int64_t bytes, bool strided)
    : bytes_(bytes),
      strided_(strided),
      piece_(strided ? std::min<std::int64_t>(128, bytes) : bytes),
      extent_(strided ? 2 * bytes : bytes),
      image_(static_cast<std::size_t>(count * extent_)),
      memory_(where, image_.size()) {
  MPI_Datatype pieces;
  MPI_Type_vector(static_cast<int>(bytes_ / piece_), static_cast<int>(piece_),
                  static_cast<int>(strided ? 2 * piece_ : piece_), MPI_BYTE, &pieces);
  MPI_Type_create_resized(pieces, 0, extent_, &type_);
  MPI_Type_free(&pieces);
  MPI_Type_commit(&type_);
}

void Blocks::fill(const std::vector<unsigned>& numbers) {
  for (std::size_t block = 0; block < numbers.size(); ++block)
    for (std::int64_t i = 0; i < extent_; ++i)
      image_[block * static_cast<std::size_t>(extent_) + static_cast<std::size_t>(i)] = byte_of(i, numbers[block]);
  put(memory_.place(), image_.data(), image_.size());
}

bool Blocks::holds(const std::vector<unsigned>& numbers, unsigned gaps) {
  get(image_.data(), memory_.place(), image_.size());
  for (std::size_t block = 0; block < numbers.size(); ++block)
    for (std::int64_t i = 0; i < extent_; ++i)
      if (image_[block * static_cast<std::size_t>(extent_) + static_cast<std::size_t>(i)] !=
          byte_of(i, in_gap(i) ? gaps : numbers[block]))
        return false;
  return true;
}

}  // namespace bench::collectives
