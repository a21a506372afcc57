#pragma once

#include <mpi.h>

#include <cstddef>
#include <span>

#include "common/evict.hpp"
#include "pack/buffer.hpp"
#include "pack/datatype.hpp"
#include "pack/layout.hpp"

namespace bench::regressions {

/// One rank's buffers of a layout: what is packed or sent, what is unpacked or received, and packed
/// bytes. Both ranks have equal bytes in `from`.
class Subject {
 public:
  explicit Subject(Layout layout);

  std::size_t payload() const { return payload_; }
  MPI_Datatype type() const { return type_; }
  int count() const { return layout_.count; }
  std::byte* from() { return from_.data() + layout_.origin; }
  std::byte* to() { return to_.data() + layout_.origin; }
  std::byte* packed() { return packed_.data(); }

  /// Poisons what a call writes.
  void poison();
  /// Return whether a hand-written loop leaves equal bytes. Gaps count too.
  bool right_packed();
  bool right_to();

  void evict(const Evictor& evictor) const;

 private:
  Layout layout_;
  Buffer from_, to_, packed_;
  Datatype type_;
  std::size_t payload_ = 0;
};

}  // namespace bench::regressions
