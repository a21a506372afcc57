#include "plan/processor_figures.hpp"

#include <gtest/gtest.h>

#include "libraries.hpp"

namespace dunnage::plan {
namespace {

TEST(ProcessorFigures, Kinds) {
  EXPECT_EQ(processor_kind({"GenuineIntel", 6, 0x8f}), ProcessorKind::intel);
  EXPECT_EQ(processor_kind({"AuthenticAMD", 0x17, 0x31}), ProcessorKind::other);  // Zen 2
  EXPECT_EQ(processor_kind({"AuthenticAMD", 0x19, 0x01}), ProcessorKind::zen3);   // EPYC 7003
  EXPECT_EQ(processor_kind({"AuthenticAMD", 0x19, 0x21}), ProcessorKind::zen3);   // Ryzen 5000
  EXPECT_EQ(processor_kind({"AuthenticAMD", 0x19, 0x11}), ProcessorKind::zen4);   // EPYC 9004
  EXPECT_EQ(processor_kind({"AuthenticAMD", 0x19, 0x61}), ProcessorKind::zen4);   // Ryzen 7000
  EXPECT_EQ(processor_kind({"AuthenticAMD", 0x19, 0xa0}), ProcessorKind::zen4);   // EPYC 97x4
  EXPECT_EQ(processor_kind({"AuthenticAMD", 0x1a, 0x02}), ProcessorKind::zen5);   // EPYC 9005
  EXPECT_EQ(processor_kind({"HygonGenuine", 0x18, 0x00}), ProcessorKind::other);
  EXPECT_EQ(processor_kind({}), ProcessorKind::other);
}

TEST(ProcessorFigures, ThisProcessorHasAVendor) {
#if defined(__x86_64__)
  EXPECT_EQ(base::this_processor().vendor.size(), 12u);
#else
  EXPECT_EQ(base::this_processor().vendor.size(), std::string_view("implementer 0x41").size());
#endif
}

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
