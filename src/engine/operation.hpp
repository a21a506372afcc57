// A nonblocking or persistent operation whose message goes through staging memory.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/parcel.hpp"

namespace dunnage::engine {

/// Lives beside the MPI's own request. Not thread-safe: MPI lets one thread complete a request.
struct Operation {
  enum class Kind { send, receive, memory } kind;  // memory: only kept until the request ends
  bool persistent = false;
  bool active = false;     // started and not completed
  bool delivered = false;  // the data is where the user wants it
  std::shared_ptr<const pack::Program> program;  // keeps the plan alive after MPI_Type_free
  void* user = nullptr;
  Parcel parcel;
  std::shared_ptr<void> kept;  // memory
  std::uint64_t key = 0;  // of the request

  /// Packs the user's buffer, before the MPI starts the operation.
  void gather() const { parcel.gather(*program, user); }
  /// Unpacks what arrived, once.
  void deliver(std::int64_t bytes) {
    if (delivered) return;
    delivered = true;
    parcel.deliver(*program, user, bytes);
  }
};

}  // namespace dunnage::engine
