#include "regressions/subject.hpp"

#include <algorithm>
#include <utility>

namespace bench::regressions {
namespace {

constexpr std::uint64_t data = 1, poison_of_packed = 2, poison_of_to = 3;
constexpr std::size_t guard = 64;  // bytes after the payload that no call may touch

void evict(const Evictor& evictor, const Buffer& buffer) { evictor.line_range(buffer.data(), buffer.size()); }

}  // namespace

Subject::Subject(Layout layout)
    : layout_(std::move(layout)),
      from_(layout_.buffer_bytes, 1),
      to_(layout_.buffer_bytes, 29),
      packed_(0, 0),
      type_(layout_.datatype()) {
  int size = 0;
  MPI_Type_size(type_, &size);
  payload_ = static_cast<std::size_t>(size) * static_cast<std::size_t>(layout_.count);
  packed_ = Buffer(payload_ + guard, 17);
  fill(from_.bytes(), data);
  poison();
}

void Subject::poison() {
  fill(to_.bytes(), poison_of_to);
  fill(packed_.bytes(), poison_of_packed);
}

bool Subject::right_packed() {
  Buffer expected(packed_.size(), 0);
  fill(expected.bytes(), poison_of_packed);
  layout_.pack(from(), expected.data());
  return std::ranges::equal(expected.bytes(), packed_.bytes());
}

bool Subject::right_to() {
  Buffer expected(to_.size(), 0), between(payload_, 0);
  fill(expected.bytes(), poison_of_to);
  layout_.pack(from(), between.data());
  layout_.unpack(expected.data() + layout_.origin, between.data());
  return std::ranges::equal(expected.bytes(), to_.bytes());
}

void Subject::evict(const Evictor& evictor) const {
  for (const auto* buffer : {&from_, &to_, &packed_}) regressions::evict(evictor, *buffer);
  evictor.finish();
}

}  // namespace bench::regressions
