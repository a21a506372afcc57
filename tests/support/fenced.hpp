// A buffer between two pages that nobody may touch: what reads or writes there dies.
#pragma once

#include <cstdint>
#include <cstring>
#include <new>
#include <span>

#include <sys/mman.h>
#include <unistd.h>

namespace dunnage::tests {

class Fenced {
 public:
  /// A buffer of n bytes. If `at_end`, it ends `shift` bytes before the second fence; if not, it
  /// begins `shift` bytes behind the first one.
  Fenced(std::int64_t n, std::int64_t shift, bool at_end) : page_(sysconf(_SC_PAGESIZE)) {
    inside_ = (n + shift + page_ - 1) / page_ * page_;
    mapped_ = static_cast<unsigned char*>(mmap(nullptr, length(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (mapped_ == MAP_FAILED) throw std::bad_alloc();
    if (mprotect(mapped_ + page_, static_cast<std::size_t>(inside_), PROT_READ | PROT_WRITE)) throw std::bad_alloc();
    data_ = mapped_ + page_ + (at_end ? inside_ - shift - n : shift);
    n_ = n;
  }
  ~Fenced() { munmap(mapped_, length()); }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;

  unsigned char* data() { return data_; }
  /// Returns all bytes between the fences.
  std::span<unsigned char> all() { return {mapped_ + page_, static_cast<std::size_t>(inside_)}; }
  void fill(unsigned char value) { std::memset(all().data(), value, all().size()); }
  /// Different values everywhere, so that a misplaced byte shows.
  void number() {
    unsigned x = 1;
    for (auto& b : all()) b = static_cast<unsigned char>((x = x * 1664525u + 1013904223u) >> 24);
  }
  /// Returns whether all bytes outside the buffer have this value.
  bool margins_are(unsigned char value) {
    for (auto* p = all().data(); p != all().data() + all().size(); ++p)
      if ((p < data_ || p >= data_ + n_) && *p != value) return false;
    return true;
  }

 private:
  std::size_t length() const { return static_cast<std::size_t>(inside_ + 2 * page_); }
  std::int64_t page_, inside_ = 0, n_ = 0;
  unsigned char *mapped_ = nullptr, *data_ = nullptr;
};

}  // namespace dunnage::tests
