#include "mpi/nonblocking_reductions/reduction_way.hpp"

#include "mpi/process/failure.hpp"

namespace dunnage::mpi {
namespace {

using collective::ReductionKind;
using collective::ReductionPlan;

/// What a rank reduces.
ReductionPlan plan_of(const ReductionCall& call, const KernelOf& kernel, std::uint32_t rank, std::uint32_t ranks) {
  const auto& a = call.arguments;
  collective::ReductionShape shape{
      a.kind, rank, ranks, static_cast<std::uint32_t>(a.root), facts_of(kernel.element).extent, a.total};
  if (!call.blocks.empty()) shape.begin = call.blocks[rank].begin, shape.count = call.blocks[rank].count;
  shape.copied = true;
  return collective::plan_reduction(shape);
}

const void* element(const void* buffer, std::int64_t i, const KernelOf& kernel) {
  return beyond(buffer, static_cast<MPI_Aint>(i * facts_of(kernel.element).extent));
}

/// Whether a result of `count` elements is outside the memory that other ranks read.
bool is_apart(const ReductionArguments& a, const KernelOf& kernel, const void* result, std::int64_t count) {
  const auto bytes = [&](std::int64_t n) { return static_cast<std::uintptr_t>(n * facts_of(kernel.element).extent); };
  const auto at = reinterpret_cast<std::uintptr_t>(result), input = reinterpret_cast<std::uintptr_t>(a.input());
  return !a.in_place() && (at + bytes(count) <= input || input + bytes(a.total) <= at);
}

Reducer::Data data_of(const ReductionCall& call, const KernelOf& kernel, std::uint32_t rank, std::uint32_t ranks) {
  const auto& a = call.arguments;
  const auto plan = plan_of(call, kernel, rank, ranks);
  const bool reduces = plan.own.count > 0;
  const auto* own = element(a.input(), plan.own.begin, kernel);
  void* const result = reduces ? a.receive : nullptr;
  return {kernel,
          a.type,
          own,
          result,
          plan.own.count,
          reduces ? plan.sources : 0,
          rank,
          is_apart(a, kernel, result, plan.own.count)};
}

Edges edges_of(const ReductionCall& call, const KernelOf& kernel, const Neighbourhood& hood, const Reducer& reducer,
               std::uint32_t rank, std::uint32_t ranks) {
  const auto& a = call.arguments;
  const auto own = plan_of(call, kernel, rank, ranks);
  return edges_by(
      hood,
      [&](std::size_t i) {
        const auto theirs = plan_of(call, kernel, static_cast<std::uint32_t>(hood.targets[i].peer), ranks).own;
        return EdgeData{element(a.input(), theirs.begin, kernel), theirs.count, a.type};
      },
      [&](std::size_t i) {
        const auto from = static_cast<std::uint32_t>(hood.sources[i].peer);
        return EdgeData{own.own.count > 0 ? reducer.room_for(from) : nullptr, own.own.count, a.type};
      });
}

}  // namespace

ReductionWay::ReductionWay(const ReductionCall& call, const KernelOf& kernel, Neighbourhood& hood,
                           std::shared_ptr<MessageComm> by, std::uint32_t rank, std::uint32_t ranks)
    : hood_(hood),
      reducer_(data_of(call, kernel, rank, ranks)),
      edges_(edges_of(call, kernel, hood, reducer_, rank, ranks)),
      messages_(call.arguments.hook, hood, std::move(by)) {}

int ReductionWay::start() {
  code_ = MPI_SUCCESS;
  reducer_.restart();
  return messages_.start();
}

bool ReductionWay::test() {
  const JointFetch::Scope scope(reducer_);
  if (!messages_.test()) return false;
  end(messages_.code());
  return true;
}

int ReductionWay::wait() {
  const JointFetch::Scope scope(reducer_);
  end(messages_.wait());
  return code_;
}

void ReductionWay::end(int code) {
  code_ = code;
  if (code_ != MPI_SUCCESS) return;
  const int thrown = guarded([&] { code_ = reducer_.reduce(); });
  if (thrown != MPI_SUCCESS) code_ = thrown;
}

}  // namespace dunnage::mpi
