// Memory of the device and of the host behind one interface.
#pragma once

#include <cstddef>
#include <utility>

#include "common/cuda_driver.hpp"

namespace bench {

enum class Where { device, host };

/// An address, and where it is.
struct Place {
  std::byte* at = nullptr;
  Where where = Where::host;

  Place operator+(std::size_t bytes) const { return {at + bytes, where}; }
  CUdeviceptr device() const { return reinterpret_cast<CUdeviceptr>(at); }
};

/// These functions return when the work is done.
void put(Place to, const std::byte* from, std::size_t bytes);
void get(std::byte* to, Place from, std::size_t bytes);
void set(Place to, unsigned char value, std::size_t bytes);

/// Owns memory. Every page of host memory has been touched, so that no page is made while something
/// is timed.
class Memory {
 public:
  Memory() = default;
  Memory(Where where, std::size_t bytes);
  Memory(Memory&& other) noexcept : place_(std::exchange(other.place_, {})), bytes_(std::exchange(other.bytes_, 0)) {}
  Memory& operator=(Memory&& other) noexcept {
    std::swap(place_, other.place_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Memory();
  Place place() const { return place_; }
  std::size_t bytes() const { return bytes_; }

 private:
  Place place_;
  std::size_t bytes_ = 0;
};

/// Pins host memory for as long as it lives.
class Pinned {
 public:
  explicit Pinned(const Memory& memory) : at_(memory.place().at) {
    BENCH_CU(cuMemHostRegister, at_, memory.bytes(), 0);
  }
  ~Pinned() { driver().cuMemHostUnregister(at_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  void* at_;
};

}  // namespace bench
