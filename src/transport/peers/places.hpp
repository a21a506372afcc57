// Which memory of this process stands at which place of its mailbox at one receiver.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "transport/shm/layout.hpp"

namespace dunnage::transport::peers {

using shm::Mailbox;

/// Some memory of this process. `id` tells it from all other memory, also from later memory at the
/// same addresses.
struct Allocation {
  std::uint64_t begin, size, id;
  bool operator==(const Allocation&) const = default;
};

/// As long as somebody has it, the receiver goes on holding the memory that it stands for. Null:
/// the receiver does not hold that memory.
using Hold = std::shared_ptr<const void>;

/// Not thread-safe, except that a Hold may be dropped in any thread.
class Places {
 public:
  /// A hold of memory that the receiver has accepted, else null.
  Hold held(const Allocation& memory, const Mailbox& mailbox);

  /// The place whose descriptor is to be sent now, so that the receiver will hold that memory.
  /// Returns nothing if none is to be sent. finish() must follow. Until then the place keeps its
  /// memory.
  std::optional<std::uint32_t> begin(const Allocation& memory, const Mailbox& mailbox);
  enum class Sent { not_now, being_sent, yes, never };
  /// What became of it: any but being_sent. After not_now, begin() tries again, ever more rarely.
  void finish(std::uint32_t place, Sent sent) { places_[place].sent = sent; }

 private:
  struct Place {
    Allocation memory;
    std::shared_ptr<const char> users = std::make_shared<const char>();  // each Hold is a copy of it
    std::uint64_t used = 0;                                              // the turn of its last use
    unsigned tried = 0;
    Sent sent = Sent::not_now;
  };
  Place* find(const Allocation& memory);
  Place* make(const Allocation& memory, const Mailbox& mailbox);

  std::vector<Place> places_;
  std::uint64_t turn_ = 0;  // how often begin() was called
};

}  // namespace dunnage::transport::peers
