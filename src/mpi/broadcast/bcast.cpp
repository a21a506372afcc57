#include "mpi/broadcast/bcast.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "collective/choose.hpp"
#include "collective/gather.hpp"
#include "collective/run.hpp"
#include "mpi/broadcast/bcast_data.hpp"
#include "mpi/broadcast/gpu_broadcast.hpp"
#include "mpi/message/buffer.hpp"
#include "mpi/message/progress.hpp"
#include "mpi/process/arrivals.hpp"

namespace dunnage::mpi {
namespace {

using collective::Trial;
using transport::shm::BroadcastRing;

/// DUNNAGE_BCAST=window: of a communicator's broadcasts so many are left to the MPI, communicators
/// that live for a few need no window.
constexpr int left_alone = 3;
enum Tag : int { data_tag, word_tag, note_tag };

/// Of a communicator's first size so many are not measured when they are ours: ranks meet, and GPUs
/// find out whose memory they can read.
constexpr int first_warm_ups = 8;

/// One broadcast, on one rank.
struct Part {
  Hook hook;
  BcastGroup& group;
  memory::Landing& landing;
  std::int64_t bytes;
  std::size_t size_class;
  int root;
  int code;  // what is wrong here, or MPI_SUCCESS. Whatever it is, the others go through all cells
  Trial::Verdict verdict = Trial::Verdict::none;
};

/// What others need of this process while it waits.
void let_others_go_on() {
  let_mpi_progress();
  progress_receives();
  answer_letters();
}

/// What all ranks of this host have measured.
Trial::Judge judge(const BcastGroup& group, std::size_t size_class) {
  Trial::Judge judge;
  if (!group.window) judge.hear(group.trials[size_class].note());
  for (std::uint32_t p = 0; group.window && p < group.window->processes(); ++p)
    judge.hear(group.window->note(p, size_class).load(std::memory_order_relaxed));
  return judge;
}

WindowRanks ranks_of(const BcastGroup& group) { return {*group.window, group.others}; }

int receive_here(Part& part) {
  Placer place(part.landing, part.bytes, part.group.stores[part.size_class], part.code);
  const auto fetch = [&](const char* head, std::uint64_t at) {
    const auto fetched = gpu_receive_told(head, at, ranks_of(part.group), part.landing, let_others_go_on);
    if (part.code == MPI_SUCCESS) part.code = fetched.code;
    if (fetched.along) process->count(part.hook, plan::GpuWay::direct_chain);
    return fetched.read_from;
  };
  // As MPI's own broadcasts do: less than expected is well, more is not.
  const auto drain = [&](const char* from, std::int64_t begin, std::int64_t end, std::int64_t bytes) {
    if (bytes > part.bytes && part.code == MPI_SUCCESS) part.code = MPI_ERR_TRUNCATE;
    place(from, begin, end);
  };
  const auto received = part.group.window->receive(drain, fetch, let_others_go_on);
  part.verdict = static_cast<Trial::Verdict>(received.word);
  if (!received.all) return MPI_ERR_OTHER;
  place.finish();
  return part.code;
}

int on_one_host(Part& part) {
  auto& group = part.group;
  if (group.rank != part.root) return receive_here(part);
  auto& trial = group.trials[part.size_class];
  if (trial.undecided()) part.verdict = judge(group, part.size_class).verdict();
  if (part.code == MPI_SUCCESS)
    if (const auto offer = gpu_publish(part.landing.buffer, group.others, Publish::anyhow)) {
      if (const auto head = gpu_tell(part.landing.buffer, *offer, ranks_of(group)); !head.empty()) {
        process->count(part.hook, offer->memory ? plan::GpuWay::direct_packed : plan::GpuWay::direct);
        group.window->tell(head, static_cast<unsigned>(part.verdict), let_others_go_on);
        return part.code;
      }
    }
  group.window->write(part.bytes, static_cast<unsigned>(part.verdict), Reader(part.landing, part.bytes, part.code),
                      let_others_go_on);
  return part.code;
}

/// What goes from the root to one rank of each other host before the data are given to anybody.
struct Word {
  std::int64_t code;     // the root's
  std::int64_t verdict;  // a Trial::Verdict
};

/// The rank of a host that sends and receives for it gives to the others of its host what has come.
/// While nobody has judged, what the hosts have measured comes to the root up the tree that the
/// word goes down.
int on_several_hosts(Part& part) {
  auto& group = part.group;
  const auto root_host = group.host_of[static_cast<std::size_t>(part.root)];
  auto leaders = group.leaders;
  leaders[static_cast<std::size_t>(root_host)] = part.root;
  if (leaders[static_cast<std::size_t>(group.my_host())] != group.rank) return receive_here(part);

  const bool root = group.rank == part.root;
  std::vector<char> packed;
  char* data = part.landing.contiguous();
  if (!data || part.code != MPI_SUCCESS) {
    packed.resize(static_cast<std::size_t>(part.bytes));
    data = packed.data();
    if (root) Reader(part.landing, part.bytes, part.code)(data, 0, part.bytes);
  }
  collective::Bcast among{static_cast<std::int32_t>(group.hosts()), root_host, part.bytes, 0};
  const auto choice = collective::choose_bcast(among, collective::network(process->bcast.other_host));
  among.segment = choice.segment;
  struct Small {
    Word word;
    std::vector<std::uint64_t> notes;  // of the hosts from the root's on
  };
  auto small = std::make_unique<Small>(Small{{part.code, 0}, {}});
  auto& [word, notes] = *small;
  collective::Schedule note_schedule;
  if (group.trials[part.size_class].undecided()) {
    notes.resize(leaders.size());
    notes[static_cast<std::size_t>(group.my_host() - root_host + group.hosts()) % leaders.size()] =
        judge(group, part.size_class).note();
    note_schedule = collective::gather({among.ranks, among.root, sizeof notes[0], 0}, group.my_host());
  }
  const auto word_schedule = collective::bcast(collective::BcastAlgorithm::binomial,
                                               {among.ranks, among.root, sizeof word, 0}, group.my_host());
  const auto data_schedule = collective::bcast(choice.algorithm, among, group.my_host());
  using Run = collective::Run<OwnTable>;
  Run gathered(process->own, note_schedule, reinterpret_cast<char*>(notes.data()), group.between, note_tag, 0, leaders);
  Run words(process->own, word_schedule, reinterpret_cast<char*>(&word), group.between, word_tag,
            root ? sizeof word : 0, leaders);
  Run run(process->own, data_schedule, data, group.between, data_tag, root ? part.bytes : 0, leaders);
  bool done = run.advance();
  const auto until = [&](auto&& enough) {
    while (!enough()) {
      done = run.advance();
      let_others_go_on();
    }
  };
  until([&] { return gathered.advance(); });
  if (root && !notes.empty()) {
    Trial::Judge all;
    for (const auto note : notes) all.hear(note);
    word.verdict = static_cast<std::int64_t>(all.verdict());
  }
  until([&] { return words.advance(); });
  part.verdict = static_cast<Trial::Verdict>(word.verdict);
  if (group.window)
    group.window->write(
        part.bytes, static_cast<unsigned>(part.verdict),
        [&](char* to, std::int64_t begin, std::int64_t end) {
          until([&] { return done || run.prefix() >= end; });
          const bool good = word.code == MPI_SUCCESS && words.code() == MPI_SUCCESS && run.code() == MPI_SUCCESS &&
                            run.prefix() >= end;
          if (good) std::memcpy(to, data + begin, static_cast<std::size_t>(end - begin));
          if (!done) done = run.advance();
          return good;
        },
        [&] {
          if (!done) done = run.advance();
          let_others_go_on();
        });
  until([&] { return done; });
  // Never freed: the MPI may still be at it.
  if (run.code() != MPI_SUCCESS && !packed.empty()) new std::vector<char>(std::move(packed));
  if (words.code() != MPI_SUCCESS || gathered.code() != MPI_SUCCESS) (void)small.release();
  if (root) return part.code;
  if (part.code == MPI_SUCCESS)
    part.code = run.code() != MPI_SUCCESS     ? run.code()
                : words.code() != MPI_SUCCESS ? words.code()
                : word.code != MPI_SUCCESS    ? MPI_ERR_OTHER
                                              : MPI_SUCCESS;
  if (part.code == MPI_SUCCESS && !packed.empty())
    part.code = guarded([&] {
      part.landing.place(packed.data(), 0, part.bytes);
      part.landing.finish();
    });
  return part.code;
}

}  // namespace

Broadcast::Broadcast(Hook hook, MPI_Comm comm, void* buffer, std::int64_t count, MPI_Datatype type, int root) {
  const auto bytes = broadcast_bytes(count, type, comm);
  if (bytes == 0 || bytes > collective::most_bytes) return;
  auto* group = bcast_group(comm);
  if (!group || !group->possible || root < 0 || root >= group->ranks ||
      (group->hosts() > 1 && bytes < collective::least_between_hosts))
    return;
  const auto size_class = BcastGroup::class_of(bytes);
  auto& trial = group->trials[size_class];
  const bool tried = process->settings.bcast != base::Bcast::window;
  if (tried && bytes < process->bcast.least_window) return;
  if (tried) {
    if (!std::exchange(group->tried, true)) trial.warm_up(first_warm_ups);
    turn_ = trial.next();
    if (turn_ == Trial::Turn::theirs) return;
    if (turn_ == Trial::Turn::measured_theirs) {
      trial_ = &trial;
      start_ = Clock::now();
      return;
    }
  } else if (!group->ready && group->seen++ < left_alone) {
    return;
  }
  if (!group->ready) {
    set_up(*group, comm);
    if (!group->possible || (group->hosts() > 1 && bytes < collective::least_between_hosts)) return;
  }
  start_ = Clock::now();
  answer_letters();  // a rank that never waits long would not answer otherwise
  const bool several = group->hosts() > 1;

  memory::Landing landing;
  Part part{hook, *group, landing, bytes, size_class, root, MPI_SUCCESS};
  landing.buffer = broadcast_buffer(buffer, count, type, false, part.code);
  const Accelerated counted(hook, bytes);
  int code = MPI_SUCCESS;
  const int failed = guarded([&] { code = several ? on_several_hosts(part) : on_one_host(part); });
  if (failed != MPI_SUCCESS) code = failed;
  if (tried) {
    trial.decide(part.verdict);
    if (turn_ == Trial::Turn::measured_ours) {
      trial.took(turn_, std::chrono::duration<float>(Clock::now() - start_).count());
      if (group->window)
        group->window->note(group->window->self(), size_class).store(trial.note(), std::memory_order_relaxed);
    }
  }
  code_ = code == MPI_SUCCESS ? MPI_SUCCESS : raise(comm, code);
}

Broadcast::~Broadcast() {
  if (trial_) trial_->took(turn_, std::chrono::duration<float>(Clock::now() - start_).count());
}

}  // namespace dunnage::mpi
