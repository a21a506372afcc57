#include "windows/buffer.hpp"

#include <algorithm>

namespace bench::windows {

Buffer::Buffer(Where where, std::int64_t bytes, bool strided)
    : strided_(strided),
      piece_((strided ? std::min<std::int64_t>(128, bytes) : bytes) / 8),
      host_(static_cast<std::size_t>(bytes / 8 * (strided ? 2 : 1))),
      memory_(where, host_.size() * sizeof(double)) {
  const auto count = static_cast<int>(bytes / 8 / piece_), length = static_cast<int>(piece_);
  MPI_Type_vector(count, length, strided ? 2 * length : length, MPI_DOUBLE, &type_);
  MPI_Type_commit(&type_);
}

void Buffer::fill(const std::function<double(std::int64_t)>& value) {
  for (std::size_t i = 0; i < host_.size(); ++i) host_[i] = value(static_cast<std::int64_t>(i));
  put(memory_.place(), reinterpret_cast<const std::byte*>(host_.data()), host_.size() * sizeof(double));
}

bool Buffer::holds(const std::function<double(std::int64_t)>& value, const std::function<double(std::int64_t)>& gaps) {
  get(reinterpret_cast<std::byte*>(host_.data()), memory_.place(), host_.size() * sizeof(double));
  for (std::size_t i = 0; i < host_.size(); ++i) {
    const auto place = static_cast<std::int64_t>(i);
    if (host_[i] != (in_gap(place) ? gaps : value)(place)) return false;
  }
  return true;
}

}  // namespace bench::windows
