#include "plan/processor_figures.hpp"

#include <gtest/gtest.h>

#include "libraries.hpp"

namespace dunnage::plan {
namespace {

using base::ProcessorKind;

TEST(ProcessorFigures, AnUnknownProcessorDeclinesWhereCandidatesAreClose) {
  // On a Xeon this is predicted to gain a little. Far better predictions are still believed.
  const Shape close{65536, 1024}, clear{65536, 8192};
  const auto xeon = model_for(open_mpi, ProcessorKind::intel), unknown = model_for(open_mpi, ProcessorKind::other);
  for (const auto operation : {Operation::send, Operation::receive}) {
    EXPECT_EQ(choose(xeon, close, operation), Reason::accelerated);
    EXPECT_EQ(choose(unknown, close, operation), Reason::no_gain);
    EXPECT_EQ(choose(unknown, clear, operation), Reason::accelerated);
  }
}

TEST(ProcessorFigures, ZenStreamsBlocksOfALine) {
  const Shape lines{4 << 20, 65536, true};
  for (const auto& library : {open_mpi, mpich})
    for (const auto kind : {ProcessorKind::zen3, ProcessorKind::zen4, ProcessorKind::zen5})
      EXPECT_EQ(choose(model_for(library, kind), lines, Operation::pack), Reason::accelerated);
}

}  // namespace
}  // namespace dunnage::plan
