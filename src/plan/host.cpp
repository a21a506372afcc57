#include "plan/host.hpp"

namespace dunnage::plan {

Model default_model(bool open_mpi) {
  Model model{};
  model.engine = {30, 0.7, 0.06};
  model.library = open_mpi ? Cost{60, 2.5, 0.06} : Cost{70, 1.5, 0.06};
  model.staging = 60;
  return model;
}

Prediction predict(const Model& model, const Shape& shape, Operation operation) {
  const bool message = operation == Operation::send || operation == Operation::receive;
  return {model.engine.time(shape) + (message ? model.staging : 0), model.library.time(shape)};
}

}  // namespace dunnage::plan
