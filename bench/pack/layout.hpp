#pragma once

#include <cstddef>
#include <functional>

#include "datatype.hpp"

namespace bench {

/// A layout of data in a user's buffer: as an MPI datatype, and as the loops that an application
/// programmer would write instead. Both must give the same bytes.
struct Layout {
  using Loop = std::function<void(std::byte* user, std::byte* packed)>;

  std::size_t buffer_bytes = 0;  ///< bytes of the user's buffer
  /// The byte of the buffer that is the call's address, and the loops' first.
  std::size_t origin = 0;
  int count = 1;  ///< elements of the datatype in one call
  std::function<Datatype()> datatype;
  Loop pack;
  Loop unpack;
  Loop pack_past_caches, unpack_past_caches;  ///< past_caches.hpp; may be empty
};

}  // namespace bench
