// Built-in figures by kind of processor. They apply if no model file has others.
#pragma once

#include "base/processor_kind.hpp"
#include "plan/host.hpp"

namespace dunnage::plan {

/// Returns the figures that apply on this processor if no model file has others.
Model built_in_model(const Library& library);

/// Returns default_model() with the figures of a kind of processor. Pure. Where they come from:
/// - Intel: those of default_model(), from Xeons.
/// - Zen 4: packing was measured on an EPYC (docs/measurements). Messages have Xeon figures,
///   because the measured ones were too noisy. There the MPIs' own packing in messages costs more
///   than on Xeons, so Dunnage declines too often rather than too rarely.
/// - Zen 5: as Zen 4, with packing measured on an EPYC of Zen 5.
/// - Zen 3: not measured. It has the figures of Zen 4.
/// - Others: not measured. Dunnage's own work is taken to cost a third more than on a Xeon, so that
///   Dunnage declines where the candidates are close.
Model model_for(const Library& library, base::ProcessorKind kind);

}  // namespace dunnage::plan
