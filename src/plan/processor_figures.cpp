#include "plan/processor_figures.hpp"

namespace dunnage::plan {

namespace {

void price_zen(Model& m, const Library& library) {
  m.engine_pack = {61, 0.08, 0.016, 0.063};
  m.library_pack = library.kind == Library::Kind::open_mpi ? Cost{21, 1.9, 0.012, 0.108} : Cost{83, 0, 0.04, 0.12};
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
    case ProcessorKind::zen4:
    case ProcessorKind::zen5: price_zen(m, library); break;
    case ProcessorKind::other: price_unknown(m); break;
  }
  return m;
}

}  // namespace dunnage::plan
