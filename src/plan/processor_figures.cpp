#include "plan/processor_figures.hpp"

namespace dunnage::plan {

namespace {

void price_zen(Model& m, const Library& library) {
  m.engine_pack = {61, 0.08, 0.016, 0.063};
  m.library_pack = library.kind == Library::Kind::open_mpi ? Cost{21, 1.9, 0.012, 0.108} : Cost{83, 0, 0.04, 0.12};
}

/// MPICH 4 and 5 differ little there. Intel MPI was not fitted apart.
void price_zen5(Model& m, const Library& library) {
  m.engine_pack = {47, 0.027, 0.0084, 0.039};
  m.library_pack = {58, 0, 0.035, 0.085};
  if (library.kind == Library::Kind::open_mpi)
    m.library_pack = library.major >= 5 ? Cost{18, 0.2, 0.0088, 0.05} : Cost{13, 1.26, 0.0076, 0.048};
}

void make_dearer(Cost& cost) {
  constexpr double factor = 4.0 / 3;
  cost = {factor * cost.call, factor * cost.block, factor * cost.byte, factor * cost.far_byte};
}

void price_unknown(Model& m) {
  make_dearer(m.engine_pack);
  for (auto& message : m.messages)
    for (auto* side : {&message.send, &message.receive}) {
      make_dearer(side->engine);
      side->engine_eager_byte *= 4.0 / 3;
    }
}

}  // namespace

Model model_for(const Library& library, base::ProcessorKind kind) {
  using base::ProcessorKind;
  auto m = default_model(library);
  switch (kind) {
    case ProcessorKind::intel: break;
    case ProcessorKind::zen3:
    case ProcessorKind::zen4: price_zen(m, library); break;
    case ProcessorKind::zen5: price_zen5(m, library); break;
    case ProcessorKind::other: price_unknown(m); break;
  }
  return m;
}

Model built_in_model(const Library& library) { return model_for(library, base::this_processor_kind()); }

}  // namespace dunnage::plan
