#include "mpi/nonblocking_reductions/calls.hpp"

#include <algorithm>
#include <map>

#include "device/driver.hpp"
#include "mpi/message/attach.hpp"
#include "mpi/message/handle.hpp"
#include "mpi/neighbours/call.hpp"
#include "mpi/neighbours/request.hpp"
#include "mpi/neighbours/unasked.hpp"
#include "mpi/process/attribute.hpp"
#include "mpi/process/failure.hpp"
#include "mpi/process/private_world.hpp"
#include "mpi/ways/own_message.hpp"

namespace dunnage::mpi {
namespace {

using collective::ReductionKind;

/// Who exchanges data in the reductions of a communicator. All neighbourhoods share one
/// communicator for the messages, which is null until connect_reductions().
struct ReductionHoods {
  Neighbourhood all;                     // every other rank
  Neighbourhood scan;                    // from the ranks before, to the ranks behind
  std::map<int, Neighbourhood> to_root;  // by the root
  UnaskedKinds unasked;
};
Attribute<ReductionHoods> reduction_hoods;

/// The kinds of a communicator's reductions have numbers from here on. Those of AllKind are below.
constexpr std::uint64_t first_of_reductions = 1 << 16;

/// Null if the MPI has no attributes to give. Waits for nobody.
ReductionHoods* hoods_of(MPI_Comm comm, const ReductionGroup& group) {
  ReductionHoods* there = nullptr;
  if (!reduction_hoods.find(comm, there) || there) return there;
  auto hoods = std::make_unique<ReductionHoods>();
  for (std::uint32_t rank = 0; rank < group.ranks(); ++rank) {
    const Edge edge{static_cast<int>(rank), 0};
    if (rank == group.rank()) continue;
    hoods->all.sources.push_back(edge);
    (rank < group.rank() ? hoods->scan.sources : hoods->scan.targets).push_back(edge);
  }
  hoods->all.targets = hoods->all.sources;
  hoods->scan.possible = true;
  hoods->scan.operations = hoods->all.operations;
  return reduction_hoods.put(comm, std::move(hoods));
}

Neighbourhood& to_root(ReductionHoods& hoods, const ReductionGroup& group, int root) {
  const auto [place, fresh] = hoods.to_root.try_emplace(root);
  auto& hood = place->second;
  if (!fresh) return hood;
  hood.possible = true;
  hood.operations = hoods.all.operations;
  if (static_cast<std::uint32_t>(root) == group.rank())
    hood.sources = hoods.all.sources;
  else
    hood.targets.push_back({root, 0});
  return hood;
}

Neighbourhood& hood_of(ReductionHoods& hoods, const ReductionGroup& group, const ReductionArguments& arguments) {
  const auto choose = [&]() -> Neighbourhood& {
    switch (arguments.kind) {
      case ReductionKind::scan:
      case ReductionKind::exscan: return hoods.scan;
      case ReductionKind::reduce: return to_root(hoods, group, arguments.root);
      default: return hoods.all;
    }
  };
  auto& hood = choose();
  hood.messages = hoods.all.messages;
  return hood;
}

/// Arguments that Dunnage takes. All ranks get one answer, unless the arguments are wrong.
bool takes(const ReductionGroup& group, const ReductionCall& call, const std::optional<KernelOf>& kernel,
           bool persistent) {
  const auto& a = call.arguments;
  const bool has_root = a.kind == ReductionKind::reduce;
  if (!kernel || a.total <= 0 || a.total > most_elements(persistent)) return false;
  if (has_root && (a.root < 0 || static_cast<std::uint32_t>(a.root) >= group.ranks())) return false;
  if (has_root && a.in_place() && static_cast<std::uint32_t>(a.root) != group.rank()) return false;
  std::int64_t most = call.blocks.empty() ? a.total : 0;  // that a rank reduces
  for (const auto& block : call.blocks) {
    if (block.count < 0) return false;
    most = std::max(most, block.count);
  }
  // The data of the others should have room beside other things. The setting is that of all ranks.
  const auto bytes = static_cast<double>(most) * static_cast<double>(facts_of(kernel->element).extent);
  return bytes * (group.ranks() - 1) <= static_cast<double>(process->settings.device_arena) / 2;
}

}  // namespace

void BlockingReduction::connect(MPI_Comm comm) {
  auto* const group = ReductionGroup::of(comm);
  if (!group->on_one_host()) return;
  if (code() != MPI_SUCCESS && group->meeting().forsaken()) return;  // connecting would wait for a rank that is gone
  if (group->first_time()) connect_reductions(comm);
}

void connect_reductions(MPI_Comm comm) {
  auto* hoods = hoods_of(comm, *ReductionGroup::of(comm));
  if (hoods && !hoods->all.messages) make_message_comm(hoods->all, comm);
}

void UnderWayReduction::begin(const ReductionCall& call, MPI_Request* request) {
  const auto& a = call.arguments;
  const auto kernel = kernel_of(a.type, a.op);
  if (!takes(*group_, call, kernel, false)) return;
  const bool was_ours = group_->was_ours(a.kind, a.total);
  if (!was_ours && (private_world() == MPI_COMM_NULL || !group_->on_one_host())) return;
  auto* hoods = hoods_of(comm_, *group_);
  if (!hoods) return;
  auto by = was_ours ? hoods->all.messages : nullptr;
  const auto number = first_of_reductions + ReductionGroup::number_of(a.kind, a.total);
  if (!by)
    by = hoods->unasked.try_emplace(number, comm_, number).first->second.begin([&] {
      return device::driver() && uses_device(a, group_->rank());
    });
  if (!by || new_handle(request) != MPI_SUCCESS) return;
  std::unique_ptr<ReductionWay> way;
  int code = guarded([&] {
    way =
        std::make_unique<ReductionWay>(call, *kernel, hood_of(*hoods, *group_, a), by, group_->rank(), group_->ranks());
  });
  if (code == MPI_SUCCESS) code = way->begin();
  if (code == MPI_SUCCESS) {
    attach(*request, std::make_unique<NeighbourRequest>(std::move(way), comm_, *request));
  } else {
    end_handle(*request);
    process->own.Wait(request, MPI_STATUS_IGNORE);
  }
  code_ = raise_failure(comm_, code);
}

void UnderWayReduction::init(const ReductionCall& call, MPI_Request* request) {
  const auto& a = call.arguments;
  const auto kernel = kernel_of(a.type, a.op);
  if (!takes(*group_, call, kernel, true)) return;
  if (!group_->is_ours(comm_, a.kind, a.total, [&] { return uses_device(a, group_->rank()); })) return;
  if (!group_->on_one_host()) return;
  if (group_->first_time()) connect_reductions(comm_);
  auto* hoods = hoods_of(comm_, *group_);
  if (!hoods || !hoods->all.messages) return;
  auto& hood = hood_of(*hoods, *group_, a);
  const int tags = hood.next_tags();
  std::unique_ptr<ReductionWay> way;
  int code = guarded([&] {
    way = std::make_unique<ReductionWay>(call, *kernel, hood, hood.messages, group_->rank(), group_->ranks());
  });
  if (code != MPI_SUCCESS)
    guarded([&] { Lines::connect(hood, hood.messages->comm, nullptr); });  // as the other ranks do
  else
    code = way->init(tags);
  if (code == MPI_SUCCESS) code = new_persistent_handle(request);
  if (code == MPI_SUCCESS) {
    auto operation = std::make_unique<NeighbourRequest>(std::move(way), comm_);
    operation->keep_way();
    attach(*request, std::move(operation));
  }
  code_ = raise_failure(comm_, code);
}

}  // namespace dunnage::mpi
