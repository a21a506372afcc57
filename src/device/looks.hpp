// What the driver has said about allocations during one call.
#pragma once

#include <vector>

#include "device/place.hpp"

namespace dunnage::device {

/// While one lives, its thread asks the driver about each allocation once. A program frees no
/// buffer during a call that is about the buffer.
class Looks {
 public:
  Looks();
  Looks(const Looks&) = delete;
  Looks& operator=(const Looks&) = delete;
  ~Looks();
  /// Place::id of the allocation of an address. 0 if the driver gives none.
  static unsigned long long id_at(const Driver& driver, const void* address);

 private:
  struct Seen {
    std::uintptr_t begin, end;
    unsigned long long id;
  };
  Looks* const outer_;
  std::vector<Seen> seen_;
};

}  // namespace dunnage::device
