#include "plan/host.hpp"

#include <limits>

namespace dunnage::plan {

Model default_model(Library::Kind library, int major) {
  Model m{};
  m.engine_pack = {45, 1.0, 0.018, 0.075};
  m.engine_eager_byte = 0.01;
  m.eager_limit = 4096;
  m.far_message = 512 << 10;
  m.least_ticket = 128 << 10;
  if (library == Library::Kind::open_mpi) {
    m.library_pack = {25, 1.7, 0.018, 0.13};
    // Staging memory and an extra pass over the payload, while the MPI's own packing overlaps its transfer.
    m.engine_message = {60, 0.3, 0.012, 0.03};
    m.library_message = {0, 1.35, 0, 0};
    m.library_eager_block = 2.2;
    // Between ranks of one host Open MPI 4.1 copies a message of more than its eager limit in full, past the end of a
    // contiguous receive buffer that is too short, before it reports the truncation. Data with a gap is not copied so
    // on either side, as the user's data would not have been.
    m.most_contiguous_send = 4000;
    m.contiguous_receives = false;
    m.trusted_mixed = true;
    if (major >= 5) {
      // Its packing is fast but for messages that travel at once.
      m.library_message.block = 0.3;
      m.eager_limit = 4000;
      m.least_ticket = 1 << 20;
    }
  } else {
    m.library_pack = {25, 1.7, 0.03, 0.13};
    // Here the packed message also gives up the pipeline through shared memory for the single copy of contiguous data.
    m.engine_message = {60, 0.3, 0.04, 0.11};
    m.library_message = {60, 7.9, 0, 0};
    m.library_eager_block = 1.1;
    m.eager_limit = 8192;
    // MPICH 4.0 reports a truncation where bytes of more than a few KiB are received into a type of mixed elements.
    m.trusted_mixed = false;
    m.most_contiguous_send = std::numeric_limits<std::int64_t>::max();
    m.contiguous_receives = true;
  }
  return m;
}

Prediction predict(const Model& m, const Shape& shape, Operation operation) {
  if (operation == Operation::pack || operation == Operation::unpack)
    return {m.engine_pack.time(shape, shape.streamed), m.library_pack.time(shape, shape.streamed)};
  const bool far = shape.size >= m.far_message;
  auto engine = m.engine_message, library = m.library_message;
  if (shape.size <= m.eager_limit) {
    engine.byte = m.engine_eager_byte;
    library.block = m.library_eager_block;
  }
  return {engine.time(shape, far), library.time(shape, far)};
}

bool choose_ticket(const Model& m, const Shape& shape) { return shape.size >= m.least_ticket; }

Reason choose(const Model& m, const Shape& shape, Operation operation) {
  if (!predict(m, shape, operation).gain()) return Reason::no_gain;
  const bool message = operation == Operation::send || operation == Operation::receive;
  const bool untrusted = (operation == Operation::send && shape.mixed && !m.trusted_mixed) ||
                         (message && shape.size < 2 && !contiguous(m, operation, shape.size));
  return untrusted ? Reason::untrusted : Reason::accelerated;
}

}  // namespace dunnage::plan
