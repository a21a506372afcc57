#include "noncontiguous_send/buffers.hpp"

#include <algorithm>
#include <new>

namespace bench {

namespace {

constexpr std::size_t alignment = 64;
constexpr double poisoned = -1;

// The value is exact in a double, because arrays have fewer than 2^32 elements.
double value(std::size_t place, int salt) { return static_cast<double>(salt) * 0x1p32 + static_cast<double>(place); }

std::size_t place(Shape shape, std::size_t i) { return shape == Shape::strided ? 2 * i : i; }

}  // namespace

Array::Array(std::size_t count) : count_(count) {
  const std::size_t bytes = (count * sizeof(double) + alignment - 1) / alignment * alignment;
  data_.reset(static_cast<double*>(std::aligned_alloc(alignment, std::max(bytes, alignment))));
  if (!data_) throw std::bad_alloc();
  std::fill_n(data(), count, 0.0);
}

void fill(const Array& from, int salt) {
  for (std::size_t i = 0; i < from.size(); ++i) from.data()[i] = value(i, salt);
}

void poison(const Array& to) { std::fill_n(to.data(), to.size(), poisoned); }

bool received(const Array& to, Shape sent, Shape taken, int salt) {
  const std::size_t n = to.size() / 2;
  const double* at = to.data();
  for (std::size_t i = 0; i < n; ++i) {
    const double gap = at[taken == Shape::strided ? 2 * i + 1 : n + i];
    if (at[place(taken, i)] != value(place(sent, i), salt) || gap != poisoned) return false;
  }
  return true;
}

void Flush::operator()() const {
  for (std::size_t i = 0; i < array_.size(); ++i) array_.data()[i] += 1;
}

}  // namespace bench
