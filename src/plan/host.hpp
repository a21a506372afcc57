// The plan for data in host memory: predicted times, and whether our engine or the MPI's is the faster.
//
// Everything here is a pure function of its arguments, so that a golden table tests it and `dunnage explain`
// prints it. Times are in nanoseconds. The figures of default_model() are those of one machine; what matters is
// their ratio. A call is ours only where the gain is clear of the model's own error.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "plan/bcast_figures.hpp"
#include "plan/gpu_way.hpp"
#include "plan/library.hpp"
#include "plan/reason.hpp"

namespace dunnage::plan {

/// What the choice depends on.
struct Shape {
  std::int64_t size = 0;    // packed bytes
  std::int64_t blocks = 0;  // contiguous blocks
  bool streamed = false;    // too large for the caches, so that our engine stores past them when packing
  bool mixed = false;       // elements of more than one basic type
};

/// t = call + blocks * block + bytes * byte; other prices where the data is far: too large for the caches.
struct Cost {
  double call, block, byte, far_byte;
  constexpr double time(const Shape& s, bool far) const {
    return call + block * static_cast<double>(s.blocks) + (far ? far_byte : byte) * static_cast<double>(s.size);
  }
};

/// Between which processes a message travels.
enum class Peers { same_host, other_host };
inline constexpr int peer_classes = 2;

/// What one side of a message costs, beyond what it would in a contiguous one of the same size.
struct SideCosts {
  Cost engine, library;
  double engine_eager_byte, library_eager_block;  // of a message up to the eager limit
};

/// What messages between such processes cost.
struct MessageCosts {
  SideCosts send, receive;
  std::int64_t eager_limit;  // bytes
};

/// One machine and one MPI.
struct Model {
  Cost engine_pack, library_pack;
  std::array<MessageCosts, peer_classes> messages;  // by Peers
  std::int64_t far_message;   // bytes from which staging memory no longer stays cached
  std::int64_t least_ticket;  // bytes from which a message that is not contiguous may go by ticket between ranks of one host;
  Cost ticket;                // it does where the other ways cost the sender more than this
  std::int64_t least_stream;  // bytes from which one gains by a ticket between hosts
  GpuSizes gpu;               // of messages on device memory
  BcastFigures bcast;
  // What the MPI does, not what it costs.
  std::int64_t most_contiguous_send;  // bytes; a larger packed message must not look contiguous to this MPI
  bool contiguous_receives;           // whether this MPI never writes past the end of a contiguous receive buffer
  bool copies_buffered;               // whether a buffered send of packed bytes costs a copy that one of the user's data does not
  bool trusted_mixed;                 // whether packed mixed elements can be received by the MPI itself

  const MessageCosts& message(Peers peers) const { return messages[static_cast<std::size_t>(peers)]; }
};

/// The figures where no model file has others (plan/model_file.hpp), fitted to the measurements in docs/measurements: of
/// Open MPI 4.1, with prices of its own for Open MPI 5, and for all others of MPICH 4.0.
Model default_model(const Library& library);

enum class Operation { pack, unpack, send, receive, buffered_send };
inline constexpr int operations = 5;

/// By how much better a prediction must be than the model is likely to be wrong.
inline constexpr double margin = 1.1;

struct Prediction {
  double engine, library;  // ns
  bool gain() const { return margin * engine < library; }
};

/// Whether a message between ranks of one host is to travel by ticket, packed and unpacked at the same time.
bool choose_ticket(const Model& model, const Shape& shape);
/// The same between hosts.
bool choose_stream(const Model& model, const Shape& shape);

/// Predicts both engines for one call. `peers` says nothing where data is only packed.
Prediction predict(const Model& model, const Shape& shape, Operation operation, Peers peers = Peers::same_host);

/// Whether the staging memory of a message of `size` bytes may be one piece (engine/parcel.hpp).
constexpr bool contiguous(const Model& model, Operation operation, std::int64_t size) {
  return operation == Operation::receive ? model.contiguous_receives : size <= model.most_contiguous_send;
}

/// The choice: accelerated, no_gain, or untrusted where the MPI has a defect that only packed messages meet.
Reason choose(const Model& model, const Shape& shape, Operation operation, Peers peers = Peers::same_host);

}  // namespace dunnage::plan
