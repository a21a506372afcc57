// What one process passes to another as descriptors, so that operations can name it.
//
// The sender says which allocation stands at which place of its letter in the receiver's memory, and sends the descriptor; the receiver takes it
// when it next looks at its letters, and says that it holds the memory, or that it cannot. Only then does an operation name it: no message depends on
// a descriptor that may not come. The receiver holds it until the sender puts something else at that place.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "transport/shm/layout.hpp"

namespace dunnage::transport::shm {

/// Some memory of this process: no other has that number, not even at the same addresses later.
struct Allocation {
  std::uint64_t begin, size, id;
  bool operator==(const Allocation&) const = default;
};

/// The sender's side, to one receiver. Not thread-safe.
class Passing {
 public:
  /// The place of memory that the receiver holds.
  std::optional<std::uint32_t> held(const Allocation& memory, const Letter& letter);

  enum class Sent { yes, not_now, never };
  /// Goes a step towards that. `busy(place)`: whether an operation names what stands there. `send(place)` sends the descriptor, labelled with that
  /// serial. True where the receiver is to look at its letters.
  bool ask(const Allocation& memory, Letter& letter, std::uint64_t serial, const std::function<bool(std::uint32_t)>& busy,
           const std::function<Sent(std::uint32_t)>& send);

 private:
  struct Place {
    Allocation memory;
    std::uint64_t used = 0;  // the later the larger
    unsigned tried = 0;
    Sent sent = Sent::not_now;
  };
  Place* find(const Allocation& memory);
  Place* make_place(const Allocation& memory, const Letter& letter, const std::function<bool(std::uint32_t)>& busy);
  std::vector<Place> places_;
  std::uint64_t turn_ = 0;
};

}  // namespace dunnage::transport::shm
