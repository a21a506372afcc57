#include "plan/host.hpp"

#include <algorithm>
#include <limits>

namespace dunnage::plan {

namespace {

void price_open_mpi(Model& m, int major) {
  m.library_pack = {25, 1.7, 0.018, 0.13};
  // Our engine needs staging memory and one more pass over the data, while the MPI's own packing
  // overlaps its transfer.
  const SideCosts same_host{{60, 0.3, 0.012, 0.03}, {0, 1.35, 0, 0}, 0.01, 2.2};
  // Over TCP the MPI's packing overlaps its transfer in all messages. Even the transfer of an eager
  // message takes longer than its packing.
  const SideCosts other_host{{60, 0.3, 0.012, 0.07}, {0, 0, 0, 0}, 0.01, 0};
  m.messages = {MessageCosts{same_host, same_host, 4096}, MessageCosts{other_host, other_host, 0}};
  if (major >= 5) {
    // Open MPI 5 packs fast, except in eager messages.
    m.messages[0].send.library.block = m.messages[0].receive.library.block = 0.3;
    m.messages[0].eager_limit = 4000;
    m.least_ticket = 1 << 20;
  }
}

void price_mpich(Model& m, Library::Kind kind) {
  m.library_pack = {25, 1.7, 0.03, 0.13};
  // On MPICH a packed message also loses the pipeline through shared memory: MPICH sends contiguous
  // data with a single copy.
  const SideCosts same_host{{60, 0.3, 0.04, 0.11}, {60, 7.9, 0, 0}, 0.01, 1.1};
  auto other_host = same_host;
  other_host.library_eager_block = 0;
  if (kind == Library::Kind::intel) other_host.library.block = 0;  // Intel MPI packs while it sends
  m.messages = {MessageCosts{same_host, same_host, 8192}, MessageCosts{other_host, other_host, 8192}};
}

}  // namespace

Model default_model(const Library& library) {
  Model m{};
  m.engine_pack = {45, 1.0, 0.018, 0.075};
  m.far_message = 512 << 10;
  m.least_ticket = 128 << 10;
  m.trusted_mixed = !behaviour_of(library).truncates_bytes_into_mixed;
  if (library.kind == Library::Kind::open_mpi) {
    price_open_mpi(m, library.major);
    // Between ranks of one host, Open MPI 4.1 copies a message longer than its eager limit in full
    // before it reports a truncation. If the receive buffer is contiguous and too short, the copy
    // goes past its end. Data with a gap on either side is not copied in this way, so the user's
    // data would have been safe.
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
  if (!is_message(operation))
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

bool may_gain_nonblocking(const Model& m, const Shape& shape, Operation operation, Peers peers) {
  constexpr double own_request = 500;  // nanoseconds: to stage, to keep and to complete it
  return predict(m, shape, operation, peers).library >= own_request;
}

bool gains_much(const Model& m, const Shape& shape, Operation operation) {
  constexpr double call = 1000, byte = 0.15, much = 1.5;  // nanoseconds of a contiguous message, about
  const auto contiguous = call + byte * static_cast<double>(shape.size);
  const auto predicted = predict(m, shape, operation);
  return contiguous + predicted.library > much * (contiguous + predicted.engine);
}

bool choose_ticket(const Model& m, const Shape& shape) {
  if (shape.size < m.least_ticket) return false;
  if (shape.blocks <= 1) return true;  // the receiver gains, and has asked for a ticket
  const auto other = predict(m, shape, Operation::send, Peers::same_host);
  return margin * m.ticket.time(shape, shape.size >= m.far_message) <= std::min(other.engine, other.library);
}

namespace {

bool copied(const Model& m, Operation operation) { return operation == Operation::buffered_send && m.copies_buffered; }

bool untrusted(const Model& m, const Shape& shape, Operation operation) {
  if (!is_message(operation)) return false;
  return (operation != Operation::receive && shape.mixed && !m.trusted_mixed) ||
         (shape.size < 2 && !contiguous(m, operation, shape.size));
}

}  // namespace

bool may_pack(const Model& m, const Shape& shape, Operation operation) {
  return !copied(m, operation) && !untrusted(m, shape, operation);
}

bool may_leave(const Shape& shape, Operation operation) { return !is_message(operation) || !shape.mixed; }

Reason choose(const Model& m, const Shape& shape, Operation operation, Peers peers) {
  if (copied(m, operation) || !predict(m, shape, operation, peers).gain()) return Reason::no_gain;
  return untrusted(m, shape, operation) ? Reason::untrusted : Reason::accelerated;
}

}  // namespace dunnage::plan
