// Memory for objects of one class that come and go in large numbers, as requests do.
#pragma once

#include <array>
#include <cstddef>
#include <new>

namespace dunnage::base {

/// A base of T. Each thread keeps the memory of up to `most` destroyed objects for later ones. The
/// allocator of the C library keeps only seven blocks of a size at hand, and takes several times as
/// long for the others. With AddressSanitizer nothing is kept, so that it sees each use of an
/// object that is gone.
template <class T, std::size_t most = 256>
class Recycled {
 public:
  static void* operator new(std::size_t size) {
    auto& here = kept();
    if (size != sizeof(T) || here.count == 0) return ::operator new(size);
    return here.memory[--here.count];
  }
  static void operator delete(void* memory, std::size_t size) {
    auto& here = kept();
    if (size != sizeof(T) || here.ended || here.count == here.memory.size()) return ::operator delete(memory, size);
    here.memory[here.count++] = memory;
  }

 protected:
  Recycled() = default;
  ~Recycled() = default;

 private:
#if defined(__SANITIZE_ADDRESS__)
  static constexpr std::size_t places = 0;
#else
  static constexpr std::size_t places = most;
#endif
  struct Kept {
    ~Kept() {
      ended = true;
      while (count > 0) ::operator delete(memory[--count], sizeof(T));
    }
    std::array<void*, places> memory{};
    std::size_t count = 0;
    bool ended = false;  // the thread is at its end
  };
  /// In a function, because g++ 12 fails on static members of several classes in one file.
  static Kept& kept() {
    thread_local Kept kept;
    return kept;
  }
};

}  // namespace dunnage::base
