#include "plan/host.hpp"

#include <limits>

namespace dunnage::plan {

Model default_model(Library library) {
  Model m{};
  m.engine_pack = {45, 1.0, 0.018, 0.075};
  // Staging memory, an extra pass over the payload, and beyond the caches three where the MPI's pipeline has two.
  m.engine_message = {100, 1.0, 0.054, 0.2};
  m.eager_limit = 4096;
  m.far_message = 512 << 10;
  if (library == Library::open_mpi) {
    m.library_pack = {25, 1.7, 0.018, 0.13};
    m.library_message = {0, 2.2, 0.04, 0.04};
    m.library_eager_block = 2.2;
    // Between ranks of one host Open MPI 4.1 copies a message of more than its eager limit in full, past the end of a
    // contiguous receive buffer that is too short, before it reports the truncation. Strided data is not copied so.
    m.most_trusted_send = 4000;
    m.trusted_receives = false;
    m.trusted_mixed = true;
  } else {
    m.library_pack = {25, 1.7, 0.03, 0.13};
    m.library_message = {0, 9, 0.04, 0.04};
    m.library_eager_block = 1.1;
    m.eager_limit = 8192;
    // MPICH 4.0 reports a truncation where bytes of more than a few KiB are received into a type of mixed elements.
    m.most_trusted_send = std::numeric_limits<std::int64_t>::max();
    m.trusted_receives = true;
    m.trusted_mixed = false;
  }
  return m;
}

Prediction predict(const Model& m, const Shape& shape, Operation operation) {
  if (operation == Operation::pack || operation == Operation::unpack)
    return {m.engine_pack.time(shape, shape.streamed), m.library_pack.time(shape, shape.streamed)};
  const bool far = shape.size >= m.far_message;
  auto library = m.library_message;
  if (shape.size <= m.eager_limit) library.block = m.library_eager_block;
  return {m.engine_message.time(shape, far), library.time(shape, far)};
}

Reason choose(const Model& m, const Shape& shape, Operation operation) {
  if (!predict(m, shape, operation).gain()) return Reason::no_gain;
  const bool untrusted = (operation == Operation::send && (shape.size > m.most_trusted_send || (shape.mixed && !m.trusted_mixed))) ||
                         (operation == Operation::receive && !m.trusted_receives);
  return untrusted ? Reason::untrusted : Reason::accelerated;
}

}  // namespace dunnage::plan
