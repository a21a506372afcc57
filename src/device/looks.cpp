#include "device/looks.hpp"

#include <algorithm>
#include <utility>

namespace dunnage::device {
namespace {

thread_local Looks* innermost = nullptr;

}  // namespace

Looks::Looks() : outer_(std::exchange(innermost, this)) {}
Looks::~Looks() { innermost = outer_; }

unsigned long long Looks::id_at(const Driver& driver, const void* address) {
  if (!innermost) return known_place(driver, address).id;
  auto& seen = innermost->seen_;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto found = std::find_if(seen.begin(), seen.end(), [&](const Seen& s) { return s.begin <= at && at < s.end; });
  if (found != seen.end()) return found->id;
  const auto place = known_place(driver, address);
  if (place.id != 0) seen.push_back({place.begin, place.end, place.id});
  return place.id;
}

}  // namespace dunnage::device
