#include "collective/reduction.hpp"

#include <algorithm>

namespace dunnage::collective {
namespace {

/// A second step of an allreduce costs a launch and a wait for the slowest rank. In that time a
/// GPU reads so many bytes of another (an H200 over NVLink).
constexpr std::int64_t bytes_in_a_step = 2 << 20;

/// Whether all ranks read all data. If not, each reads its part of them, and then the others' parts
/// of the result.
bool at_once(const ReductionShape& shape) {
  if (shape.ranks == 1 || shape.copied) return true;
  if (shape.on_hosts) return false;
  // Without a handshake a result would overwrite what others still read.
  if (shape.any_in_place && !shape.handshake) return false;
  const std::int64_t others = shape.ranks - 1, bytes = shape.total * shape.element;
  return others * bytes - 2 * others * (bytes / shape.ranks) <= bytes_in_a_step;
}

}  // namespace

ReductionPart reduced_by(std::uint32_t rank, const ReductionShape& shape) {
  constexpr std::int64_t aligned = 256;
  const auto unit = std::max<std::int64_t>(1, aligned / shape.element);
  const auto units = (shape.total + unit - 1) / unit;
  const auto per_rank = (units + shape.ranks - 1) / shape.ranks * unit;
  const auto begin = std::min(shape.total, rank * per_rank);
  return {begin, std::min(shape.total - begin, per_rank)};
}

ReductionPlan plan_reduction(const ReductionShape& shape) {
  const ReductionPart all{0, shape.total};
  ReductionPlan plan{all, shape.ranks, 0, false, false};
  switch (shape.kind) {
    case ReductionKind::allreduce:
      plan.gathers = !at_once(shape);
      if (plan.gathers) plan.own = reduced_by(shape.rank, shape);
      plan.to = plan.own.begin;
      break;
    case ReductionKind::reduce:
      if (shape.rank != shape.root) plan.own = {};
      break;
    case ReductionKind::reduce_scatter:
      plan.own = {shape.begin, shape.count};
      plan.apart = shape.in_place && !shape.copied && shape.ranks > 1;
      break;
    case ReductionKind::scan:
      plan.sources = shape.rank + 1;
      plan.apart = shape.in_place && !shape.copied && shape.ranks > 1;
      break;
    case ReductionKind::exscan:
      plan.sources = shape.rank;
      if (shape.rank == 0) plan.own = {};
      plan.apart = shape.in_place && !shape.copied && shape.rank > 0;
      break;
  }
  return plan;
}

}  // namespace dunnage::collective
