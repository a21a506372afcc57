#include "plan/host.hpp"

#include <algorithm>
#include <limits>

namespace dunnage::plan {

namespace {

void price_open_mpi(Model& m, int major) {
  m.library_pack = {25, 1.7, 0.018, 0.13};
  // Staging memory and an extra pass over the payload, while the MPI's own packing overlaps its transfer.
  const SideCosts same_host{{60, 0.3, 0.012, 0.03}, {0, 1.35, 0, 0}, 0.01, 2.2};
  // Over TCP that is so for all messages: what is sent at once takes long enough by itself.
  const SideCosts other_host{{60, 0.3, 0.012, 0.07}, {0, 0, 0, 0}, 0.01, 0};
  m.messages = {MessageCosts{same_host, same_host, 4096}, MessageCosts{other_host, other_host, 0}};
  if (major >= 5) {
    // Its packing is fast but for messages that travel at once.
    m.messages[0].send.library.block = m.messages[0].receive.library.block = 0.3;
    m.messages[0].eager_limit = 4000;
    m.least_ticket = 1 << 20;
  }
}

void price_mpich(Model& m, Library::Kind kind) {
  m.library_pack = {25, 1.7, 0.03, 0.13};
  // Here the packed message also gives up the pipeline through shared memory for the single copy of contiguous data.
  const SideCosts same_host{{60, 0.3, 0.04, 0.11}, {60, 7.9, 0, 0}, 0.01, 1.1};
  auto other_host = same_host;
  other_host.library_eager_block = 0;
  if (kind == Library::Kind::intel) other_host.library.block = 0;  // packs while it sends
  m.messages = {MessageCosts{same_host, same_host, 8192}, MessageCosts{other_host, other_host, 8192}};
}

}  // namespace

Model default_model(const Library& library) {
  Model m{};
  m.engine_pack = {45, 1.0, 0.018, 0.075};
  m.far_message = 512 << 10;
  m.least_ticket = 128 << 10;
  m.least_stream = 256 << 10;
  m.trusted_mixed = !behaviour_of(library).truncates_bytes_into_mixed;
  if (library.kind == Library::Kind::open_mpi) {
    m.least_stream = std::numeric_limits<std::int64_t>::max();  // its own packing overlaps
    price_open_mpi(m, library.major);
    // Between ranks of one host Open MPI 4.1 copies a message of more than its eager limit in full, past the end of a
    // contiguous receive buffer that is too short, before it reports the truncation. Data with a gap is not copied so
    // on either side, as the user's data would not have been.
    m.most_contiguous_send = 4000;
    m.contiguous_receives = false;
    m.copies_buffered = false;
  } else {
    price_mpich(m, library.kind);
    m.most_contiguous_send = std::numeric_limits<std::int64_t>::max();
    m.contiguous_receives = true;
    m.copies_buffered = true;
  }
  return m;
}

Prediction predict(const Model& m, const Shape& shape, Operation operation, Peers peers) {
  if (operation == Operation::pack || operation == Operation::unpack)
    return {m.engine_pack.time(shape, shape.streamed), m.library_pack.time(shape, shape.streamed)};
  const auto& costs = m.message(peers);
  const auto& side = operation == Operation::receive ? costs.receive : costs.send;
  auto engine = side.engine, library = side.library;
  if (shape.size <= costs.eager_limit) {
    engine.byte = side.engine_eager_byte;
    library.block = side.library_eager_block;
  }
  const bool far = shape.size >= m.far_message;
  return {engine.time(shape, far), library.time(shape, far)};
}

bool choose_ticket(const Model& m, const Shape& shape) {
  if (shape.size < m.least_ticket) return false;
  if (shape.blocks <= 1) return true;  // by ticket for the sake of the receiver, which has asked for it
  const auto other = predict(m, shape, Operation::send, Peers::same_host);
  return margin * m.ticket.time(shape, shape.size >= m.far_message) <= std::min(other.engine, other.library);
}

bool choose_stream(const Model& m, const Shape& shape) { return shape.size >= m.least_stream; }

Reason choose(const Model& m, const Shape& shape, Operation operation, Peers peers) {
  if (!predict(m, shape, operation, peers).gain() || (operation == Operation::buffered_send && m.copies_buffered)) return Reason::no_gain;
  const bool message = operation != Operation::pack && operation != Operation::unpack, sends = message && operation != Operation::receive;
  const bool untrusted = (sends && shape.mixed && !m.trusted_mixed) ||
                         (message && shape.size < 2 && !contiguous(m, operation, shape.size));
  return untrusted ? Reason::untrusted : Reason::accelerated;
}

}  // namespace dunnage::plan
