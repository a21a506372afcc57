// The arrays of one payload: every other double is the data.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace bench {

/// An array of doubles at an address that is a multiple of 64. Every page has been touched.
class Array {
 public:
  explicit Array(std::size_t count);
  double* data() const { return data_.get(); }
  std::size_t size() const { return count_; }

 private:
  struct Free {
    void operator()(double* p) const { std::free(p); }
  };
  std::size_t count_;
  std::unique_ptr<double, Free> data_;
};

/// Where data lies in an array of twice its size: in every other double, or in the first half.
enum class Shape { contiguous, strided };

/// Writes values that differ from place to place and from salt to salt.
void fill(const Array& from, int salt);

/// Writes a value that fill() never writes.
void poison(const Array& to);

/// Returns whether `to` has received the data of an array that was filled with `salt`. What lies
/// between and behind the data must still be the poison.
bool received(const Array& to, Shape sent, Shape taken, int salt);

/// An array that leaves nothing else in the caches when it is rewritten.
class Flush {
 public:
  explicit Flush(std::size_t bytes) : array_(bytes / sizeof(double)) {}
  void operator()() const;

 private:
  Array array_;
};

}  // namespace bench
