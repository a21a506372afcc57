#include "plan/host.hpp"

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
  } else {
    m.library_pack = {25, 1.7, 0.03, 0.13};
    m.library_message = {0, 9, 0.04, 0.04};
    m.library_eager_block = 1.1;
    m.eager_limit = 8192;
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

}  // namespace dunnage::plan
