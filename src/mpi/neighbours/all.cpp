#include "mpi/neighbours/all.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>

#include "device/driver.hpp"
#include "mpi/neighbours/messages.hpp"
#include "mpi/neighbours/unasked.hpp"
#include "mpi/process/attribute.hpp"
#include "mpi/process/communicators.hpp"
#include "mpi/process/failure.hpp"

namespace dunnage::mpi {

using collective::AskedTrial;

/// Collectives that the ranks decide about together.
struct DecidedKind {
  AskedTrial trial;  // alike on all ranks
  // Of this rank's data, if no other rank knows their size:
  std::uint64_t width = 0;       // of the bytes in the call with the last question
  bool steady = false;           // no timed call since then had another width
  std::uint64_t times_left = 0;  // how often the ranks have found no device memory
};

/// What is kept with a communicator for these collectives. All ranks have the same, but for the
/// neighbourhoods.
struct AllRanks {
  Neighbourhood hood;                               // of collectives without a root
  std::map<int, Neighbourhood> to_root, from_root;  // by the root, and sharing the messages of `hood`
  unsigned calls = 0;                               // before `gpus`
  bool gpus = false;                                // a rank has loaded the driver
  std::map<std::uint64_t, DecidedKind> kinds;
  UnaskedKinds unasked;
};

namespace {

Attribute<AllRanks> all_ranks;

AllRanks* all_ranks_of(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return nullptr;
  AllRanks* all = nullptr;
  if (!all_ranks.find(comm, all) || all) return all;
  auto fresh = std::make_unique<AllRanks>();
  int between = 0;
  if (process->own.Comm_test_inter(comm, &between) != MPI_SUCCESS) return nullptr;
  auto& hood = fresh->hood;
  hood.possible = !between && all_in_this_world(comm);
  if (hood.possible)
    for (int rank = 0; rank < members(comm); ++rank) hood.targets.push_back({rank, 0});
  hood.sources = hood.targets;
  pair_loops(comm, hood);
  return all_ranks.put(comm, std::move(fresh));
}

/// Bytes that this rank sends or receives, whichever are more.
float bytes_of(const Edges& edges) {
  float most = 0;
  for (const auto* all : {&edges.sends, &edges.receives}) {
    float bytes = 0;
    for (const auto& one : *all) {
      MPI_Count size = 0;
      if (one.type != MPI_DATATYPE_NULL && process->own.Type_size_x(one.type, &size) == MPI_SUCCESS)
        bytes += static_cast<float>(one.count) * static_cast<float>(size);
    }
    most = std::max(most, bytes);
  }
  return most;
}

/// Binary digits of a number of bytes.
std::uint64_t width_of(float bytes) {
  constexpr float most = 1e18f;
  return static_cast<std::uint64_t>(std::bit_width(static_cast<std::uint64_t>(std::min(bytes, most))));
}

/// The MPI gets copies in host memory. A copy takes at least so long, in seconds, and so many bytes
/// a second go to a GPU at most. Both are better than what GPUs of today have.
constexpr float copy_latency = 10e-6f, copy_bandwidth = 100e9f;
/// The MPI is not tried with more bytes, because it would need as much host memory.
constexpr float most_tried = 16 << 20;

/// Of a collective with a root: this rank and the root are neighbours.
Neighbourhood& star_of(AllRanks& all, MPI_Comm comm, Hook hook, int root) {
  const bool to_root = gathers(hook);
  const auto [place, fresh] = (to_root ? all.to_root : all.from_root).try_emplace(root);
  auto& star = place->second;
  if (fresh) {
    star.possible = true;
    star.operations = all.hood.operations;
    (to_root ? star.targets : star.sources).push_back({root, 0});
    const auto& self = all.hood.targets[all.hood.loops.front().target];
    if (self.peer == root) (to_root ? star.sources : star.targets) = all.hood.targets;
    pair_loops(comm, star);
  }
  star.messages = all.hood.messages;
  return star;
}

/// Null if the call is not ours. Then all ranks get null.
Neighbourhood* hood_of(AllRanks* all, MPI_Comm comm, Hook hook, const AllKind& kind) {
  if (!all || !all->hood.possible) return nullptr;
  if (!kind.has_root()) return &all->hood;
  const auto ranks = static_cast<int>(all->hood.targets.size());
  return kind.root >= 0 && kind.root < ranks ? &star_of(*all, comm, hook, kind.root) : nullptr;
}

}  // namespace

AllCall::AllCall(Hook hook, MPI_Comm comm, const AllKind& kind)
    : AllCall(hook, comm, kind, kind.collective == AllKind::Collective::none ? nullptr : all_ranks_of(comm)) {}

AllCall::AllCall(Hook hook, MPI_Comm comm, const AllKind& kind, AllRanks* all)
    : ExchangeCall(hook, comm, hood_of(all, comm, hook, kind)), all_(all), kind_(kind.number()) {}

Turn AllCall::next_turn(bool waits) {
  if (!hood()) return Turn::theirs;
  if (!all_->gpus) return std::has_single_bit(++all_->calls) ? Turn::asked : Turn::theirs;
  auto& trial = all_->kinds[kind_].trial;
  const auto turn = trial.next(waits);
  if (turn.measured) {
    measured_ = &trial;
    measured_who_ = turn.who;
    begin_ = Clock::now();
  }
  if (turn.asked) return Turn::asked;
  return turn.who == AskedTrial::ours ? Turn::ours : Turn::theirs;
}

void AllCall::end_turn() {
  if (measured_) measured_->took(measured_who_, std::chrono::duration<float>(Clock::now() - begin_).count());
}

void AllCall::look_at(const Edges& edges) {
  auto& kind = all_->kinds[kind_];
  if (kind.width != width_of(bytes_of(edges))) kind.steady = false;
  begin_ = Clock::now();  // that was no part of the call
}

bool AllCall::asked(const Edges& edges) {
  auto& kind = all_->kinds[kind_];
  auto& trial = kind.trial;
  const auto bytes = bytes_of(edges);
  const auto before = std::exchange(kind.width, width_of(bytes));
  const bool steady = std::exchange(kind.steady, true) && before == kind.width;
  const bool refuses = !process->settings.trials || bytes > most_tried || !(AllKind::has_width(kind_) || steady);
  const auto note = trial.note(copy_latency + bytes / copy_bandwidth, refuses);
  const int here[] = {
      device::driver() != nullptr, in_device_memory(edges), note.ours, note.theirs, note.least, note.refuses};
  int somewhere[std::size(here)] = {};
  if (process->own.Allreduce(here, somewhere, std::size(here), MPI_INT, MPI_MAX, comm()) != MPI_SUCCESS) return false;
  all_->gpus = all_->gpus || somewhere[0];
  const bool possible = somewhere[1] && (all_->hood.messages || make_message_comm(all_->hood, comm()));
  hood()->messages = all_->hood.messages;
  trial.learn(possible, {somewhere[2], somewhere[3], somewhere[4], somewhere[5]});
  if (!possible) {  // nonblocking calls are the MPI's until a rank has device memory in one
    ++kind.times_left;
    all_->unasked.erase(kind_);
  }
  if (trial.compared())
    process->collective_trials.tell(
        {hook(), AllKind::has_width(kind_), AllKind::has_width(kind_) ? AllKind::width_of_number(kind_) : kind.width,
         static_cast<int>(all_->hood.targets.size())},
        {trial.chosen() == AskedTrial::ours, trial.latest(AskedTrial::ours), trial.latest(AskedTrial::theirs)});
  return trial.chosen() == AskedTrial::ours;
}

std::shared_ptr<MessageComm> AllCall::agreed_without_waiting(std::optional<Edges>& made,
                                                             base::FunctionRef<Edges()> edges) {
  if (!hood()) return nullptr;
  std::uint64_t times_left = 0;
  if (const auto known = all_->kinds.find(kind_); known != all_->kinds.end()) {
    const auto& trial = known->second.trial;
    if (trial.chosen() == AskedTrial::ours && hood()->messages) return hood()->messages;
    if (trial.compared()) return nullptr;  // the MPI is faster
    times_left = known->second.times_left;
  }
  constexpr std::uint64_t more_than_kinds = 1 << 20;
  auto& kind = all_->unasked.try_emplace(kind_, comm(), kind_ + more_than_kinds * times_left).first->second;
  return ExchangeCall::agreed_without_waiting(kind, made, edges);
}

}  // namespace dunnage::mpi
