// What the driver has said about allocations, during one call or as long as operations keep them.
#pragma once

#include <array>
#include <cstddef>
#include <memory_resource>
#include <vector>

#include "device/place.hpp"

namespace dunnage::device {

/// While one lives, its thread asks the driver about each allocation once. A program frees no
/// buffer during a call that is about the buffer.
class Looks {
 public:
  /// `operations`: for calls that begin an operation on each buffer that they look at. What the
  /// driver says is kept until forget(): MPI forbids to free a buffer before a call has ended its
  /// operation. Such calls come one at a time.
  enum class Span { call, operations };
  explicit Looks(Span span = Span::call);
  Looks(const Looks&) = delete;
  Looks& operator=(const Looks&) = delete;
  ~Looks();
  /// Place::id of the allocation of an address. 0 if the driver gives none.
  static unsigned long long id_at(const Driver& driver, const void* address);
  /// An operation may end, or one has not begun on a buffer that was looked at.
  static void forget() { kept().clear(); }

 private:
  struct Seen {
    std::uintptr_t begin, end;
    unsigned long long id;
  };
  using All = std::pmr::vector<Seen>;
  static All& kept();  // of operations

  Looks* const outer_;
  std::array<std::byte, 8 * sizeof(Seen)> room_;
  std::pmr::monotonic_buffer_resource memory_{room_.data(), room_.size()};
  All own_{&memory_};
  All& seen_;
};

}  // namespace dunnage::device
