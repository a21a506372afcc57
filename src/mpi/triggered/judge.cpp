#include "mpi/triggered/judge.hpp"

#include <algorithm>

#include "mpi/triggered/stamped.hpp"
#include "mpi/triggered/stamped_partitions.hpp"
#include "transport/gpu/remote.hpp"

namespace dunnage::mpi {
namespace {

bool parse(MatchSide& side) {
  std::size_t at = 0;
  if (!mpi::take(side.in, at, side.opening) || side.opening.version != MatchOpening().version) return false;
  side.told_sends.resize(std::min<std::size_t>(side.opening.sends, side.in.size() / sizeof(MatchSend)));
  side.told_receives.resize(std::min<std::size_t>(side.opening.receives, side.in.size() / sizeof(MatchReceive)));
  for (auto& told : side.told_sends)
    if (!mpi::take(side.in, at, told)) return false;
  for (auto& told : side.told_receives)
    if (!mpi::take(side.in, at, told)) return false;
  return at == side.in.size() && side.told_sends.size() == side.opening.sends &&
         side.told_receives.size() == side.opening.receives;
}

constexpr const char* not_possible =
    "a message that is not in device memory on both sides, or whose "
    "partitions are no nests of loops over blocks";
constexpr const char* shared_gpu = "uses this rank's GPU without MPS, and there are no memory operations";
constexpr const char* another_version = "has another version of Dunnage";
constexpr const char* no_counterparts = "has not the sends and receives that belong to those of this rank";

bool corresponds(const MatchSide& side) {
  return side.told_sends.size() == side.receives.size() && side.told_receives.size() == side.sends.size();
}

void match_sends(const device::Driver& driver, MatchSide& side) {
  const auto counterpart = counterparts(side.sends, side.told_receives);
  std::int64_t flag = 0;
  for (std::size_t s = 0; s < side.sends.size(); ++s) {
    const auto& send = side.sends[s];
    const auto size = size_of(send.what);
    if (!counterpart[s]) return void(side.objection = "receives none of the messages with a tag");
    const auto& told = *counterpart[s];
    if (!side.sends_out[s].possible || !told.possible)
      return void(side.objection = fmt::format("gets {}", not_possible));
    if (told.capacity < size) return void(side.objection = "has too small a buffer");
    if (send.what.partitions < 0) continue;
    Nest to{told.target, 0};
    if (size > 0) {
      const transport::gpu::Remote remote(driver, told.target);
      to.first = remote.described().place.address;
      side.mappings.push_back(remote.mapping());
    }
    side.partitions_out.push_back({&send, flag, told.partitions, size, to});
    flag += send.what.partitions;
  }
}

/// Whether the peer uses another GPU than this rank.
bool far(const Draft& draft, const MatchSide& side) { return side.opening.device != draft.means.identity; }

void match_receives(const device::Driver& driver, const Draft& draft, MatchSide& side) {
  const auto counterpart = counterparts(side.receives, side.told_sends);
  std::vector<std::int64_t> flags;
  std::int64_t flag = 0;
  for (const auto& told : side.told_sends)
    flags.push_back(std::exchange(flag, flag + std::max<std::int64_t>(told.partitions, 0)));
  if (flag != static_cast<std::int64_t>(side.incoming)) return void(side.objection = "has other partitions");
  for (std::size_t r = 0; r < side.receives.size(); ++r) {
    const auto& receive = side.receives[r];
    if (!counterpart[r]) return void(side.objection = "sends none of the messages with a tag");
    const auto& told = *counterpart[r];
    const auto i = static_cast<std::size_t>(&told - side.told_sends.data());
    if (!receive.what.on_device || !told.possible) return void(side.objection = fmt::format("sends {}", not_possible));
    if (size_of(receive.what) < told.size) return void(side.objection = "sends more than there is room for");
    if (told.partitions >= 0) {
      side.partitions_in.push_back({&receive, flags[i], told.partitions, told.size, {}});
      continue;
    }
    if (told.source.size == 0) continue;
    const transport::gpu::Remote remote(driver, far(draft, side) && told.packed.size > 0 ? told.packed : told.source);
    side.sources.emplace_back(remote.described(), &receive);
    side.sizes.push_back(told.source.size);
    side.mappings.push_back(remote.mapping());
  }
}

std::int64_t own_flag(const MatchSide& own, std::size_t send) {
  std::int64_t flag = 0;
  for (std::size_t i = 0; i < send; ++i) flag += std::max<std::int64_t>(own.sends[i].what.partitions, 0);
  return flag;
}

}  // namespace

void judge(Draft& draft, int rank, MatchSide& side) {
  side.understood = parse(side);
  side.shares_gpu = draft.prepared && side.understood && side.opening.device == draft.means.identity &&
                    !(draft.means.mps && side.opening.mps) && process->world &&
                    process->world->peers.near(static_cast<std::uint32_t>(rank));
  if (!side.objection.empty()) return;
  if (side.understood && side.opening.usable)
    if (auto found = process->world->published(static_cast<std::uint32_t>(rank), side.opening.board,
                                               side.opening.board_serial, sizeof(Board)))
      side.peer.board = std::make_unique<transport::shm::Reading>(std::move(*found));
  if (!side.understood) return void(side.objection = another_version);
  if (!draft.prepared) return void(side.objection = draft.objection);
  if (!side.opening.usable) return void(side.objection = "cannot take part, and knows why");
  if (!side.peer.board) return void(side.objection = "has shared memory that this rank cannot read");
  if (!corresponds(side)) return void(side.objection = no_counterparts);
  if (side.shares_gpu && !draft.means.operations) return void(side.objection = shared_gpu);
  const auto& driver = *device::driver();
  const device::Scope scope(driver, draft.context);
  auto& gpu = device::Gpu::current(driver);
  side.peer.block = gpu.imports().open(driver, side.opening.block);
  std::uint64_t nonce = ~side.opening.nonce;
  const transport::gpu::Remote there(driver, transport::gpu::describe(side.opening.block, sizeof nonce));
  there.pack(&nonce, device::Place(), process->settings.device_piece, 0, sizeof nonce);
  if (nonce != side.opening.nonce) return void(side.objection = "has memory that this rank's GPU cannot read");
  match_sends(driver, side);
  if (side.objection.empty()) match_receives(driver, draft, side);
  if (!side.objection.empty()) return;
  for (auto& copy : std::exchange(side.copies, {})) {
    if (!far(draft, side)) break;
    side.packs.push_back(std::move(copy.pack));
    draft.made->room.push_back(std::move(copy.block));
  }
  match_stamped(draft.slots, side);
  match_stamped_partitions(side);
}

void judge_proxied(const Draft& draft, int rank, MatchSide& side) {
  const auto no = [&](const char* why) { side.proxy_objection = why; };
  if (!corresponds(side)) return no(no_counterparts);
  const auto sent = counterparts(side.sends, side.told_receives);
  const auto received = counterparts(side.receives, side.told_sends);
  constexpr const char* unsuitable = "a message is partitioned, not in device memory, or of 2 GiB or more";
  for (std::size_t s = 0; s < sent.size(); ++s) {
    if (!sent[s]) return no("it receives none of the messages with a tag");
    if (!suits_proxy(side.sends[s].what)) return no(unsuitable);
    if (sent[s]->capacity < size_of(side.sends[s].what)) return no("it has too small a buffer");
  }
  for (std::size_t r = 0; r < received.size(); ++r) {
    if (!received[r]) return no("it sends none of the messages with a tag");
    if (!suits_proxy(side.receives[r].what)) return no(unsuitable);
    if (size_of(side.receives[r].what) < received[r]->size) return no("it sends more than there is room for");
  }
  if (!draft.prepared) return no("this rank cannot send for its streams");
  if (!side.opening_out.proxy) return no("with MPI_THREAD_MULTIPLE, a thread of this rank could do the messages");
  if (!side.opening.proxy) return no("it has no thread that could do the messages");
  if (side.shares_gpu && !draft.means.operations) return no(shared_gpu);
  const auto& driver = *device::driver();
  const device::Scope scope(driver, draft.context);
  auto& gpu = device::Gpu::current(driver);
  const auto memory_of = [&](const ProxiedMessage& message, std::int64_t size) {
    return transport::gpu::contiguous_at(message.memory(), size,
                                         device::known_place(driver, reinterpret_cast<const void*>(message.memory())));
  };
  for (std::size_t s = 0; s < sent.size(); ++s) {
    const auto& what = side.sends[s].what;
    const auto size = size_of(what);
    if (!side.proxy_tags[s] || !sent[s]->proxy) return no(unsuitable);
    const auto& made =
        side.proxied.emplace_back(ProxiedMessage::to(gpu, rank, std::move(side.proxy_tags[s]), size, what.synchronous));
    if (size > 0) side.proxy_packs.push_back({*what.buffer.device(), memory_of(made, size), size});
  }
  for (std::size_t r = 0; r < received.size(); ++r) {
    const auto size = received[r]->size;
    if (received[r]->proxy_tag < 0) return no(unsuitable);
    const auto& made =
        side.proxied.emplace_back(ProxiedMessage::from(gpu, rank, static_cast<int>(received[r]->proxy_tag), size));
    if (size > 0) side.proxy_unpacks.push_back({memory_of(made, size), *side.receives[r].what.buffer.device(), size});
  }
  side.farewell =
      std::make_shared<Farewell>(rank, std::move(*side.farewell_tags), static_cast<int>(side.opening.farewell_tag));
}

bool judge_own(Draft& draft) {
  if (draft.own.sends.empty() && draft.own.receives.empty()) return true;
  const auto no = [&](const char* why) {
    draft.own_moves.clear();
    draft.own.partitions_out.clear();
    draft.own.partitions_in.clear();
    if (draft.reason.empty()) draft.reason = fmt::format("a message of the rank to itself {}", why);
    return false;
  };
  if (draft.own.sends.size() != draft.own.receives.size()) return no("is not received in this exchange");
  std::vector<bool> taken(draft.own.sends.size());
  for (const auto& receive : draft.own.receives) {
    std::size_t i = 0;
    while (i < taken.size() && (taken[i] || !belong(receive.what, draft.own.sends[i].what))) ++i;
    if (i == taken.size()) return no("is not sent in this exchange");
    taken[i] = true;
    const auto& send = draft.own.sends[i].what;
    if (!send.on_device || !receive.what.on_device) return no("is not in device memory");
    if (size_of(receive.what) < size_of(send)) return no("has too small a buffer");
    if (send.partitions >= 0) {
      const auto to = send.nothing ? Nest{} : nest_of(*receive.what.buffer.device());
      if (!to || (!send.nothing && !nest_of(*send.buffer.device())))
        return no("has partitions that are no nests of loops over blocks");
      const auto flag = own_flag(draft.own, i);
      draft.own.partitions_out.push_back({&draft.own.sends[i], flag, receive.what.partitions, size_of(send), *to});
      draft.own.partitions_in.push_back({&receive, flag, send.partitions, size_of(send), {}});
      continue;
    }
    if (send.nothing) continue;
    draft.own_moves.push_back({*send.buffer.device(), *receive.what.buffer.device(), send.buffer.size()});
  }
  if (draft.made->how == TriggerWay::kernels) match_own_stamped_partitions(draft.own);
  return true;
}

}  // namespace dunnage::mpi
