// How ranks agree on an exchange. Each tells each of its peers, by messages on the private world,
// what it sends and receives and where its memory is. A receiver tries to map that. Then each tells
// whether it can; if both can, the messages between the two go directly. If not, they agree
// likewise whether the proxy of each does the messages.
#include <algorithm>
#include <cstring>
#include <functional>
#include <span>

#include "mpi/message/gpu_shared.hpp"
#include "mpi/process/failure.hpp"
#include "mpi/process/private_world.hpp"
#include "mpi/process/proxy.hpp"
#include "mpi/triggered/assemble.hpp"
#include "mpi/triggered/choose_way.hpp"
#include "mpi/triggered/describe.hpp"
#include "mpi/triggered/judge.hpp"
#include "mpi/triggered/stamped.hpp"
#include "mpi/triggered/stamped_partitions.hpp"

namespace dunnage::mpi {
namespace {

/// Sends some bytes to each peer that takes part, and receives some from it.
int exchange_bytes(
    std::map<int, MatchSide>& sides, const std::function<std::span<char>(MatchSide&)>& out,
    const std::function<std::span<char>(MatchSide&)>& in,
    const std::function<bool(const MatchSide&)>& take_part = [](const MatchSide&) { return true; }) {
  const auto& own = process->own;
  std::vector<MPI_Request> requests;
  requests.reserve(2 * sides.size());
  int code = MPI_SUCCESS;
  const auto note = [&](int rc) {
    if (code == MPI_SUCCESS) code = rc;
  };
  for (auto& [rank, side] : sides) {
    if (!take_part(side)) continue;
    const auto to = in(side);
    note(own.Irecv(to.data(), static_cast<int>(to.size()), MPI_BYTE, rank, match_tag(), private_world(),
                   &requests.emplace_back(MPI_REQUEST_NULL)));
  }
  for (auto& [rank, side] : sides) {
    if (!take_part(side)) continue;
    const auto from = out(side);
    note(own.Isend(from.data(), static_cast<int>(from.size()), MPI_BYTE, rank, match_tag(), private_world(),
                   &requests.emplace_back(MPI_REQUEST_NULL)));
  }
  note(own.Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
  return code;
}
template <class T>
std::span<char> bytes_of(T& value) {
  return {reinterpret_cast<char*>(&value), sizeof value};
}

/// Sorts the requests by their peers.
int sort(Draft& draft) {
  for (std::size_t i = 0; i < draft.count; ++i) {
    if (draft.requests[i] == MPI_REQUEST_NULL) return MPI_ERR_REQUEST;
    auto message = !private_world_serves_matching() ? std::nullopt : persistent_message(draft.requests[i]);
    if (!message) {
      draft.by_mpi.insert(i);
      if (private_world_serves_matching() && draft.reason.empty())
        draft.reason = "a request is no persistent send or receive of a point-to-point message";
      continue;
    }
    if (message->peer == MPI_ANY_SOURCE) return MPI_ERR_RANK;
    if (message->peer == MPI_PROC_NULL) {
      if (message->sends && message->partitions >= 0) draft.made->to_nobody.insert(i);
      continue;
    }
    if (!message->sends && message->tag == MPI_ANY_TAG) return MPI_ERR_TAG;
    if (message->world_peer < 0) {
      draft.by_mpi.insert(i);
      draft.reason = "a message goes to another world";
      continue;
    }
    auto& list = message->world_peer == process->rank ? draft.own : draft.sides[message->world_peer];
    (message->sends ? list.sends : list.receives).push_back({std::move(*message), i});
  }
  return MPI_SUCCESS;
}

/// Each rank needs a flag for each partition that it gets.
int count_partitions(Draft& draft) {
  for (auto* side : draft.all_sides()) side->outgoing = partitions_of(side->sends);
  draft.own.incoming = draft.own.outgoing;
  return exchange_bytes(
      draft.sides, [](MatchSide& side) { return bytes_of(side.outgoing); },
      [](MatchSide& side) { return bytes_of(side.incoming); });
}

void note_context(const device::Driver& driver, Draft& draft, const PersistentMessage& message) {
  const auto* data = message.buffer.device();
  if (!data) return;
  const auto context = context_of(driver, data->place);
  if (draft.context && context != draft.context) draft.object("the buffers are in several CUDA contexts");
  draft.context = context;
}

/// Whether kernels may poll, or else memory operations may be used, and in which context.
void prepare(Draft& draft) {
  const auto* driver = device::driver();
  if (process->settings.trigger == base::Trigger::mpi) return draft.object("DUNNAGE_TRIGGER=mpi");
  if (!driver) return draft.object("no device memory that other ranks read");
  if (launches_wait()) return draft.object("CUDA_LAUNCH_BLOCKING is set: a kernel that waits would hold the host up");
  for (auto* list : draft.all_sides()) {
    for (const auto* messages : {&list->sends, &list->receives})
      for (const auto& message : *messages) note_context(*driver, draft, message.what);
  }
  if (!draft.objection.empty()) return;
  if (!draft.context) {
    CUcontext current = nullptr;
    if (driver->cuCtxGetCurrent(&current) != CUDA_SUCCESS || !current) return draft.object("there is no CUDA context");
    draft.context = current;
  }
  const device::Scope scope(*driver, draft.context);
  auto& gpu = device::Gpu::current(*driver);
  offer_stamped(draft);
  offer_stamped_partitions(draft);
  make_slot_block(*driver, gpu, draft.sides, draft.own, draft.slots);
  if (!draft.slots.block) return draft.object("no device memory that other processes could read");
  draft.means = means_of(*driver, gpu, draft.slots);
  for (auto& [rank, side] : draft.sides) describe_to(*driver, draft, rank, side);
  draft.prepared = draft.objection.empty();
}

int agree(Draft& draft) {
  for (auto& [rank, side] : draft.sides) {
    if (!draft.prepared) side.opening_out.usable = side.opening_out.proxy = 0;
    side.sends_out.resize(side.sends.size());
    side.receives_out.resize(side.receives.size());
    side.opening_out.sends = side.sends.size();
    side.opening_out.receives = side.receives.size();
    append(side.out, side.opening_out);
    for (const auto& told : side.sends_out) append(side.out, told);
    for (const auto& told : side.receives_out) append(side.out, told);
    side.out_size = side.out.size();
  }
  int code = exchange_bytes(
      draft.sides, [](MatchSide& side) { return bytes_of(side.out_size); },
      [](MatchSide& side) { return bytes_of(side.in_size); });
  if (code != MPI_SUCCESS) return code;
  for (auto& [rank, side] : draft.sides) side.in.resize(side.in_size);
  code = exchange_bytes(
      draft.sides, [](MatchSide& side) { return std::span<char>(side.out); },
      [](MatchSide& side) { return std::span<char>(side.in); });
  if (code != MPI_SUCCESS) return code;
  for (auto& [rank, side] : draft.sides) {
    if (guarded([&] { judge(draft, rank, side); }) != MPI_SUCCESS) side.objection = "its memory could not be mapped";
    side.answer.direct = side.objection.empty();
    side.answer.has_board = side.peer.board != nullptr;
  }
  return exchange_bytes(
      draft.sides, [](MatchSide& side) { return bytes_of(side.answer); },
      [](MatchSide& side) { return bytes_of(side.answered); });
}

bool directly(const MatchSide& side) { return side.answer.direct && side.answered.direct; }

/// After agree(): chooses how this rank's streams wait, and makes promises that depend on the
/// answers. A rank of another version does not know of them.
int exchange_promises(Draft& draft) {
  for (auto& [rank, side] : draft.sides) {
    if (!side.understood || directly(side)) continue;
    if (guarded([&] { judge_proxied(draft, rank, side); }) != MPI_SUCCESS)
      side.proxy_objection = "page-locked memory for the messages could not be had";
    side.promise.proxy = side.proxy_objection.empty();
  }
  bool without_mpi = !draft.own.sends.empty();
  for (const auto& [rank, side] : draft.sides) {
    const bool possible = directly(side) || side.promise.proxy;
    without_mpi |= possible;
    draft.shares |= possible && side.shares_gpu;
  }
  if (draft.prepared && without_mpi) draft.failure = guarded([&] { choose_way(draft); });
  if (draft.failure == MPI_SUCCESS)
    for (auto& [rank, side] : draft.sides) side.promise.kernels = draft.made->how == TriggerWay::kernels;
  return exchange_bytes(
      draft.sides, [](MatchSide& side) { return bytes_of(side.promise); },
      [](MatchSide& side) { return bytes_of(side.promised); }, [](const MatchSide& side) { return side.understood; });
}

void leave_all_to_mpi(Draft& draft) {
  for (std::size_t i = 0; i < draft.count; ++i) draft.by_mpi.insert(i);
}
void leave_to_mpi(Draft& draft, const MatchSide& side) {
  for (const auto* messages : {&side.sends, &side.receives})
    for (const auto& message : *messages) draft.by_mpi.insert(message.request);
}

/// The messages with a peer do not go directly.
void settle_indirect(Draft& draft, int rank, MatchSide& side) {
  auto& board = side.peer.own_board;
  const bool proxied = side.promise.proxy && side.promised.proxy;
  const auto* const why = side.objection.empty() ? "cannot have messages directly" : side.objection.c_str();
  if (side.promise.proxy && !proxied) side.proxy_objection = "its proxy cannot do the messages";
  auto& reason = proxied ? draft.proxied_reason : draft.reason;
  if (reason.empty())
    reason = fmt::format("rank {} of MPI_COMM_WORLD: {}{}{}", rank, why, side.understood ? "; " : "",
                         proxied ? "a thread of the host does the messages" : side.proxy_objection);
  proxied ? draft.proxied.push_back(&side) : leave_to_mpi(draft, side);
  side.peer.board.reset();
  if (!board.data) return;
  auto& publications = process->world->publications;
  side.answered.has_board ? publications.end(board) : publications.withdraw(board);
}

/// After all have answered: makes the exchange.
int settle(Draft& draft) {
  for (auto& [rank, side] : draft.sides)
    directly(side) ? draft.peers.push_back(&side) : settle_indirect(draft, rank, side);
  if (!draft.prepared || !judge_own(draft)) leave_to_mpi(draft, draft.own);
  if (!draft.prepared ||
      (draft.peers.empty() && draft.proxied.empty() && draft.own_moves.empty() && draft.own.partitions_out.empty()))
    return MPI_SUCCESS;
  for (auto* side : draft.peers)
    if (!(side->promise.kernels && side->promised.kernels)) {
      side->stamped_out.clear(), side->stamped_in.clear();
      forget_stamped_partitions(*side);
    }
  // The peers count on this rank from here on, so a failure ends the exchange for them as well.
  const int code = draft.failure == MPI_SUCCESS ? guarded([&] { assemble(draft); }) : draft.failure;
  if (code == MPI_SUCCESS) return code;
  for (auto* side : draft.peers)
    reinterpret_cast<Board*>(side->peer.own_board.data)->poisoned.store(1, std::memory_order_release);
  for (auto* side : draft.proxied) side->farewell->say();
  return code;
}

}  // namespace

int match(int count, MPI_Request* requests, bool stamps, std::unique_ptr<Exchange>& exchange) {
  Draft draft(count, requests, stamps);
  if (const int code = sort(draft); code != MPI_SUCCESS) return code;
  if (private_world_serves_matching()) {
    if (process->world) process->world->answer();
    if (const int code = count_partitions(draft); code != MPI_SUCCESS) return code;
    // What fails here makes messages go by the MPI. The peers must be told in any case.
    if (guarded([&] { prepare(draft); }) != MPI_SUCCESS) draft.object("memory for the exchange could not be had");
    if (const int code = agree(draft); code != MPI_SUCCESS) return code;
    if (const int code = exchange_promises(draft); code != MPI_SUCCESS) return code;
    if (const int code = settle(draft); code != MPI_SUCCESS) return code;
  } else {
    draft.object(
        "it is not known whether all ranks have Dunnage: start the job by `dunnage run`, or set "
        "DUNNAGE_PARTITIONED=on for all ranks");
    leave_all_to_mpi(draft);
  }
  auto& made = *draft.made;
  if (made.stamped_out.entries + made.stamped_in.entries > 0)
    draft.waiting_reason += "; short messages go by stamped words";
  if (std::any_of(draft.peers.begin(), draft.peers.end(), [](const auto* side) { return !side->packs.empty(); }))
    draft.waiting_reason += "; some data are packed before others read them";
  if (!made.table.stamps.empty()) draft.waiting_reason += "; short partitions go by stamped words";
  made.reason = !draft.reason.empty()           ? draft.reason
                : !draft.proxied_reason.empty() ? draft.proxied_reason + "; " + draft.waiting_reason
                                                : draft.waiting_reason;
  made.requests.assign(requests, requests + count);
  for (const auto place : draft.by_mpi) made.mpi_requests.push_back(requests[place]);
  std::fill_n(requests, count, MPI_REQUEST_NULL);
  exchange = std::move(draft.made);
  return MPI_SUCCESS;
}

}  // namespace dunnage::mpi
