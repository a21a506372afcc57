#include "unexpected/messages.hpp"

#include <algorithm>
#include <cstring>
#include <random>

namespace bench::unexpected {
namespace {

constexpr std::size_t alignment = 256;       // messages share no cache line
constexpr std::size_t beginnings = 1048573;  // places in the pattern where a message can begin; a prime
constexpr unsigned char poison_value = 0xff;

}  // namespace

Messages::Messages(Where where, int count, std::size_t bytes, std::size_t block)
    : count_(count),
      bytes_(bytes),
      block_(block),
      extent_(block ? 2 * bytes - block : bytes),
      step_((extent_ + alignment - 1) / alignment * alignment),
      send_(where, offset(count)),
      receive_(where, offset(count)),
      type_(MPI_BYTE),
      pattern_(beginnings + extent_),
      poison_(extent_, std::byte{poison_value}),
      image_(where == Where::device ? offset(count) : 0) {
  std::mt19937_64 random(20261123);
  for (auto& byte : pattern_) byte = static_cast<std::byte>(random() % poison_value);
  if (block_ == 0) return;
  MPI_Type_vector(static_cast<int>(bytes_ / block_), static_cast<int>(block_), static_cast<int>(2 * block_), MPI_BYTE,
                  &type_);
  MPI_Type_commit(&type_);
}

Messages::~Messages() {
  if (block_) MPI_Type_free(&type_);
}

const std::byte* Messages::pattern(int rank, int iteration, int k) const {
  const auto salt =
      (static_cast<std::size_t>(iteration) * 64 + static_cast<std::size_t>(rank)) * 1009 + static_cast<std::size_t>(k);
  return pattern_.data() + salt * 7919 % beginnings;
}

void Messages::fill(int rank, int iteration) {
  for (int k = 0; k < count_; ++k) put(send_.place() + offset(k), pattern(rank, iteration, k), extent_);
}

void Messages::poison() { set(receive_.place(), poison_value, offset(count_)); }

bool Messages::arrived(int rank, int iteration) {
  const std::byte* at = receive_.place().at;
  if (!image_.empty()) {
    get(image_.data(), receive_.place(), image_.size());
    at = image_.data();
  }
  for (int k = 0; k < count_; ++k)
    if (!right(at + offset(k), pattern(rank, iteration, k))) return false;
  return true;
}

bool Messages::right(const std::byte* received, const std::byte* sent) const {
  if (block_ == 0) return std::memcmp(received, sent, bytes_) == 0;
  for (std::size_t at = 0; at < extent_; at += 2 * block_) {
    if (std::memcmp(received + at, sent + at, block_) != 0) return false;
    const std::size_t gap = at + block_;
    if (gap < extent_ && std::memcmp(received + gap, poison_.data(), block_) != 0) return false;
  }
  return true;
}

}  // namespace bench::unexpected
