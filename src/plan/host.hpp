// The plan for data in host memory: predicted times, and whether our engine or the MPI's is faster.
//
// Everything here is a pure function of its arguments, so that a golden table tests it and `dunnage
// explain` prints it. Times are in nanoseconds. The figures of default_model() are those of one
// machine; their ratio is what matters. Dunnage does a call only if the predicted gain exceeds the
// model's own error.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "plan/bcast_figures.hpp"
#include "plan/gpu_way.hpp"
#include "plan/library.hpp"
#include "plan/reason.hpp"

namespace dunnage::plan {

/// What the choice depends on.
struct Shape {
  std::int64_t size = 0;    // packed bytes
  std::int64_t blocks = 0;  // contiguous blocks
  // too large for the caches, so that our engine packs with stores past the caches
  bool streamed = false;
  bool mixed = false;  // elements of more than one basic type
};

/// The cost of one operation: call + blocks * block + bytes * byte. If the data is far, that is too
/// large for the caches, `far_byte` replaces `byte`.
struct Cost {
  double call, block, byte, far_byte;
  constexpr double time(const Shape& s, bool far) const {
    return call + block * static_cast<double>(s.blocks) + (far ? far_byte : byte) * static_cast<double>(s.size);
  }
};

/// Between which processes a message travels.
enum class Peers { same_host, other_host };
inline constexpr int peer_classes = 2;

/// What one side of a message costs in addition to a contiguous message of the same size.
struct SideCosts {
  Cost engine, library;
  double engine_eager_byte, library_eager_block;  // for messages up to the eager limit
};

/// What a message between two processes costs.
struct MessageCosts {
  SideCosts send, receive;
  std::int64_t eager_limit;  // bytes
};

/// The figures and properties of one machine with one MPI.
struct Model {
  Cost engine_pack, library_pack;
  std::array<MessageCosts, peer_classes> messages;  // indexed by Peers
  /// The length, in bytes, from which staging memory no longer stays in the caches.
  std::int64_t far_message;
  /// The length, in bytes, from which a message that is not contiguous may go by ticket between
  /// ranks of one host.
  std::int64_t least_ticket;
  /// What a ticket costs the sender. A message goes by ticket if the other ways cost the sender
  /// more.
  Cost ticket;
  GpuSizes gpu;
  BcastFigures bcast;
  // The members below say what the MPI does, not what it costs.
  /// In bytes. A larger packed message must not look contiguous to this MPI.
  std::int64_t most_contiguous_send;
  /// Whether this MPI never writes past the end of a contiguous receive buffer.
  bool contiguous_receives;
  /// Whether a buffered send of packed bytes costs a copy that a buffered send of the user's data
  /// does not.
  bool copies_buffered;
  /// Whether the MPI itself can receive elements of several types that were sent as packed bytes.
  bool trusted_mixed;

  const MessageCosts& message(Peers peers) const { return messages[static_cast<std::size_t>(peers)]; }
};

/// Returns the figures that apply if no model file has others (plan/model_file.hpp). They were
/// fitted to the measurements in docs/measurements. Open MPI has the figures of Open MPI 4.1, with
/// some prices of its own for Open MPI 5. Every other MPI has the figures of MPICH 4.0.
Model default_model(const Library& library);

enum class Operation { pack, unpack, send, receive, buffered_send };
inline constexpr int operations = 5;
inline constexpr std::array<std::string_view, operations> operation_text = {"pack", "unpack", "send", "receive",
                                                                            "buffered send"};
constexpr std::string_view text(Operation operation) { return operation_text[static_cast<std::size_t>(operation)]; }
constexpr bool is_message(Operation operation) {
  return operation != Operation::pack && operation != Operation::unpack;
}

/// By which factor a prediction must be better than the other one. The model may be wrong by that
/// much.
inline constexpr double margin = 1.1;

struct Prediction {
  double engine, library;  // ns
  bool gain() const { return margin * engine < library; }
};

/// Returns whether a message between ranks of one host should go by ticket, so that packing and
/// unpacking overlap.
bool choose_ticket(const Model& model, const Shape& shape);

/// Predicts the times of both engines for one call. If data is only packed or unpacked, `peers` has
/// no effect.
Prediction predict(const Model& model, const Shape& shape, Operation operation, Peers peers = Peers::same_host);

/// Returns whether our packing can gain anything in a nonblocking message. It needs a request of
/// ours, which costs more than the MPI's packing of few blocks.
bool may_gain_nonblocking(const Model& model, const Shape& shape, Operation operation, Peers peers = Peers::same_host);

/// Returns whether such a message is predicted to gain much, all of its time considered, and not
/// only what packing costs.
bool gains_much(const Model& model, const Shape& shape, Operation operation);

/// Returns whether the staging memory of a message of `size` bytes may be one piece
/// (memory/parcel.hpp).
constexpr bool contiguous(const Model& model, Operation operation, std::int64_t size) {
  return operation == Operation::receive ? model.contiguous_receives : size <= model.most_contiguous_send;
}

/// Returns whether packing by our engine can be of use at all in such a message. It cannot if the
/// MPI has a defect that only packed messages meet, or if it would copy the data once more.
bool may_pack(const Model& model, const Shape& shape, Operation operation);

/// Returns whether the MPI itself may do its part whatever the other side does. Data in device
/// memory are sent as packed bytes, and some MPIs receive those wrongly into elements of several
/// types.
bool may_leave(const Shape& shape, Operation operation);

/// Returns the choice: accelerated, no_gain, or untrusted. The MPI is untrusted if it has a defect
/// that only packed messages meet.
Reason choose(const Model& model, const Shape& shape, Operation operation, Peers peers = Peers::same_host);

}  // namespace dunnage::plan
