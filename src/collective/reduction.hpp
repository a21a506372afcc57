// Who reduces what, if every rank of a host reads the other ranks' data where they are.
//
// The order of a reduction is that of the ranks, for each element of the result. So every rank gets
// the same bits, in every run, whatever is chosen here.
#pragma once

#include <cstdint>

namespace dunnage::collective {

enum class ReductionKind : std::uint8_t { allreduce, reduce, reduce_scatter, scan, exscan };

/// One reduction, as one rank sees it. Counts are in elements.
struct ReductionShape {
  ReductionKind kind = ReductionKind::allreduce;
  std::uint32_t rank = 0, ranks = 1, root = 0;
  std::int64_t element = 1;           // bytes
  std::int64_t total = 0;             // of each rank's data
  std::int64_t begin = 0, count = 0;  // reduce_scatter: what this rank gets
  bool in_place = false;              // this rank's data are where its result goes
  bool any_in_place = false;          // those of some rank are; the same on all ranks
  bool handshake = false;             // results wait until all ranks have read; the same on all ranks
  bool on_hosts = false;              // each part is then reduced with those of other hosts; the same on all ranks
  bool copied = false;                // ranks reduce copies of all data: in place is nothing special, nor are parts
};

/// A range of elements.
struct ReductionPart {
  std::int64_t begin = 0, count = 0;
  bool operator==(const ReductionPart&) const = default;
};

struct ReductionPlan {
  ReductionPart own;          // what this rank reduces
  std::uint32_t sources = 0;  // it reads the data of so many ranks, from rank 0 on
  std::int64_t to = 0;        // the first element of the result buffer that it writes
  bool gathers = false;       // then every rank reads the parts that the others have reduced
  bool apart = false;         // the result must not be in its place before all ranks have read
};

/// The part of an allreduce that a rank reduces for all. Parts begin at multiples of 256 bytes.
ReductionPart reduced_by(std::uint32_t rank, const ReductionShape& shape);

/// A pure function. If ranks have equal shapes but for rank, begin, count and in_place, they choose
/// alike.
ReductionPlan plan_reduction(const ReductionShape& shape);

}  // namespace dunnage::collective
