// Messages between the same ranks with the same tags, again and again, most of them with data in
// device memory, so that ranks of one host come to do without messages of the MPI. Every message
// must come to the receive that MPI's order gives it.
//
//   gpu_channels                parts that are the same each time, and traffic of a few seeds
//   gpu_channels SEED ROUNDS    traffic of one seed
//
// With CONTRACT_HOST_MEMORY all buffers are in host memory, for an MPI that knows no other.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <tuple>

#include "cuda_memory.hpp"

namespace channels_contract {

using Word = std::uint32_t;
constexpr Word nothing = 0x5A5A5A5A, gap = 0xA5A5A5A5, gone = 0xEEEEEEEE;

bool host_only() { return std::getenv("CONTRACT_HOST_MEMORY") != nullptr; }
Kind kind_of(bool device) { return device && !host_only() ? Kind::device : Kind::host; }

// --- what a message looks like -------------------------------------------------------------------

#ifdef OMPI_MAJOR_VERSION
// Open MPI 4.1 sends rubbish by MPI_Bsend_init, and writes past a buffer that is too small.
constexpr bool all_modes = false;
#else
constexpr bool all_modes = true;
#endif
/// Whether messages may be too long for their receives.
bool too_long_allowed() { return all_modes && !std::getenv("CONTRACT_NOT_TOO_LONG"); }

/// MPICH 4.0 does not fill the status of MPI_Isendrecv.
bool isendrecv_tells() {
#if MPI_VERSION >= 4 && (!defined MPICH_NUMVERSION || MPICH_NUMVERSION >= 40100000)
  return true;
#else
  return std::getenv("CONTRACT_ISENDRECV") != nullptr;
#endif
}

/// How the words of a message lie in memory.
struct Layout {
  enum Form { contiguous, bytes, vector, indexed };
  Form form = contiguous;
  int n = 0;
  auto operator<=>(const Layout&) const = default;
};

/// Where each word lies, and how many words it all spans.
struct Places {
  std::vector<int> at;
  int span = 0;
  std::vector<int> lengths, begins;  // of an indexed type
};

const Places& places_of(const Layout& layout) {
  static std::map<Layout, Places> all;
  auto [found, fresh] = all.try_emplace(layout);
  auto& places = found->second;
  if (!fresh) return places;
  if (layout.form == Layout::indexed) {
    for (int i = 0, at = 0, block = 0; i < layout.n; ++block) {
      const int length = std::min(layout.n - i, std::max(1, layout.n / 40) + block % 3);
      places.begins.push_back(at);
      places.lengths.push_back(length);
      for (int k = 0; k < length; ++k, ++i) places.at.push_back(at++);
      places.span = at;
      at += 1 + block % 5;
    }
  } else {
    const int stride = layout.form == Layout::vector ? 2 : 1;
    for (int i = 0; i < layout.n; ++i) places.at.push_back(i * stride);
    places.span = layout.n ? places.at.back() + 1 : 0;
  }
  return places;
}

/// A datatype with its count.
struct Typed {
  MPI_Datatype type = MPI_INT;
  int count = 0;
};

bool derived(const Layout& layout) { return layout.form == Layout::vector || layout.form == Layout::indexed; }

Typed make_type(Layout layout) {
  if (layout.form == Layout::contiguous) return {MPI_INT, layout.n};
  if (layout.form == Layout::bytes) return {MPI_BYTE, 4 * layout.n};
  Typed typed{MPI_DATATYPE_NULL, layout.n ? 1 : 0};
  if (!layout.n) layout.n = 8;
  const auto& places = places_of(layout);
  if (layout.form == Layout::vector)
    MPI_Type_vector(layout.n, 1, 2, MPI_INT, &typed.type);
  else
    MPI_Type_indexed(int(places.begins.size()), places.lengths.data(), places.begins.data(), MPI_INT, &typed.type);
  MPI_Type_commit(&typed.type);
  return typed;
}

/// A type that comes again, or one that is made for a single call.
class Type {
 public:
  Type(const Layout& layout, bool fresh) : fresh_(fresh && derived(layout)) {
    if (fresh_) {
      typed_ = make_type(layout);
      return;
    }
    auto [found, made] = kept().try_emplace(layout);
    if (made) found->second = make_type(layout);
    typed_ = found->second;
  }
  ~Type() {
    if (fresh_) MPI_Type_free(&typed_.type);
  }
  Type(const Type&) = delete;
  Type& operator=(const Type&) = delete;
  int count() const { return typed_.count; }
  MPI_Datatype type() const { return typed_.type; }
  static void forget() {
    for (auto& [layout, typed] : kept())
      if (derived(layout)) MPI_Type_free(&typed.type);
    kept().clear();
  }

 private:
  static std::map<Layout, Typed>& kept() {
    static std::map<Layout, Typed> all;
    return all;
  }
  Typed typed_;
  const bool fresh_;
};

/// Word i of the message of that number. No two messages have the same number.
Word word_of(Word message, int i) {
  Word x = (message + 1) * 0x9E3779B1u + Word(i) * 0x85EBCA6Bu;
  return x ^ x >> 15;
}

/// What a message was, as far as its first words tell.
std::string guess(const std::vector<Word>& words, const Places& places, Word last) {
  if (places.at.empty()) return "nothing";
  const auto found = words[std::size_t(places.at[0])];
  if (found == nothing) return "nothing";
  if (found == gone) return "a buffer that was sent and used again";
  for (Word message = 0; message <= last; ++message)
    if (word_of(message, 0) == found) return "message " + std::to_string(message);
  return "rubbish";
}

// --- memory --------------------------------------------------------------------------------------

/// Buffers that come again. Each is larger than what lies in it.
class Memory {
 public:
  struct Buffer {
    std::unique_ptr<CudaMemory> memory;
    Kind kind;
    int words;
  };
  using Taken = std::shared_ptr<Buffer>;

  static Taken take(Kind kind, int words, bool fresh) {
    int size = 64;
    while (size < words) size *= 2;
    auto& free = all()[{kind, size}];
    if (fresh && !free.empty()) free.pop_front();  // this one is freed, another comes in its place
    if (free.empty() || fresh)
      return std::make_shared<Buffer>(
          Buffer{std::make_unique<CudaMemory>(kind, std::size_t(size) * sizeof(Word)), kind, size});
    auto taken = std::move(free.back());
    free.pop_back();
    return taken;
  }
  static void give(Taken& taken) {
    if (taken) all()[{taken->kind, taken->words}].push_back(std::move(taken));
    taken.reset();
  }
  static void forget() { all().clear(); }
  static std::vector<Word> read(const Taken& taken) {
    const auto bytes = taken->memory->read();
    std::vector<Word> words(std::size_t(taken->words));
    std::memcpy(words.data(), bytes.data(), bytes.size());
    return words;
  }
  static void fill(const Taken& taken, Word word) {
    const std::vector<Word> words(std::size_t(taken->words), word);
    taken->memory->write(words.data());
  }

 private:
  static std::map<std::pair<Kind, int>, std::deque<Taken>>& all() {
    static auto* all = new std::map<std::pair<Kind, int>, std::deque<Taken>>;
    return *all;
  }
};

void write_message(const Memory::Taken& buffer, const Layout& layout, Word message) {
  std::vector<Word> words(std::size_t(buffer->words), gap);
  const auto& places = places_of(layout);
  for (int i = 0; i < layout.n; ++i) words[std::size_t(places.at[std::size_t(i)])] = word_of(message, i);
  buffer->memory->write(words.data());
}

// --- the plan of an episode, the same on all ranks -----------------------------------------------

enum class Send {
  isend,
  issend,
  ibsend,
  freed,
  persistent,
  persistent_ssend,
  persistent_bsend,
  bsend,
  send,
  ssend,
  rsend
};
enum class Recv { irecv, persistent, recv, probe, iprobe, mprobe, mprobe_imrecv, improbe };
enum class Both { none, sendrecv, replace, isendrecv };
enum class End { wait, waitall, waitany, waitsome, test, testall, testany, testsome, status };
constexpr int ends = 9;

struct Step {
  enum What { send, receive, cancel_nobody, complete, poll, nap, barrier, exchange };
  What what = nap;
  int rank = 0;  // whose
  int op = -1;
  // a message:
  Send send_by = Send::isend;
  Recv receive_by = Recv::irecv;
  Both both = Both::none;
  int comm = 0, peer = 0, tag = 0;  // wildcards for receives too
  Layout layout;
  bool device = true, fresh_type = false, fresh_buffer = false;
  Word message = 0;        // of a send
  int expected = -1;       // of a receive: the message, if it is known
  bool truncated = false;  // of a receive
  int matched_at = -1;     // where in the plan both are there
  // completion:
  std::vector<int> ops;
  End end = End::waitall;
  int micros = 0;
  int room = 0;  // of an exchange: words that fit
};

Step step_of(Step::What what, int rank) {
  Step step;
  step.what = what;
  step.rank = rank;
  return step;
}

struct Message {
  int comm, source, dest, tag, n;
  int by = -1;  // Send, or 100 and Both
};
std::string way_of(int by) { return by >= 100 ? "exchange " + std::to_string(by - 100) : "send " + std::to_string(by); }

bool fits(int want, int tag) { return want == MPI_ANY_TAG || want == tag; }

class Planner {
 public:
  Planner(unsigned seed, int ranks) : random_(seed), selves_(seed), ranks_(ranks) {}

  int chance(int n) { return int(random_() % unsigned(n)); }
  std::vector<Step> episode();
  /// All messages there have been.
  const std::vector<Message>& messages() const { return messages_; }
  /// Whether the last episode had receives that could have got messages of the next one.
  bool open_ended() const { return open_ended_; }

 private:
  enum class Mode { exact, single, any };
  struct Half {
    int step, tag;
    int n;  // how many words are sent or fit
  };
  struct Stream {  // from one source to one dest on one communicator
    std::deque<Half> sends, receives;
  };
  struct AnyPlan {
    std::deque<Step> sends, receives;
    int order = 0, room = 0;
    bool receives_first() const { return order == 0; }
    bool sends_first() const { return order == 1; }
    bool there() const { return !sends.empty() || !receives.empty(); }
  };

  int some_size() {
    static constexpr int sizes[] = {0, 1, 2, 2, 16, 64, 250, 250, 1024, 1024, 4096, 20000, 75000};
    return sizes[chance(chance(4) ? 11 : 13)];
  }
  int some_tag() { return chance(10) < 8 ? 1 : 2 + chance(2); }
  Layout some_layout(int n) {
    static constexpr Layout::Form forms[] = {Layout::contiguous, Layout::contiguous, Layout::bytes, Layout::vector,
                                             Layout::indexed};
    return {forms[chance(5)], n};
  }
  void common(Step& step) {
    step.device = chance(100) < device_;
    step.fresh_type = chance(4) == 0;
    step.fresh_buffer = chance(40) == 0;
    step.op = ops_++;
  }
  Send some_send(bool matched, bool posted) {
    const int k = chance(matched ? 30 : 14);
    if (k < 7) return Send::isend;
    if (k < 8) return Send::issend;
    if (k < 9) return Send::ibsend;
    if (k < 10) return Send::freed;
    if (k < 12) return Send::persistent;
    if (k < 13) return chance(2) || !all_modes ? Send::persistent_ssend : Send::persistent_bsend;
    if (k < 14) return Send::bsend;
    if (posted && k < 18) return Send::rsend;
    return k < 25 ? Send::send : Send::ssend;
  }
  static bool at_once(Send by) {
    return by == Send::send || by == Send::ssend || by == Send::rsend || by == Send::bsend || by == Send::freed;
  }
  static bool at_once(Recv by) { return by != Recv::irecv && by != Recv::persistent && by != Recv::mprobe_imrecv; }
  Recv some_receive(bool matched) {
    const int k = chance(matched ? 16 : 6);
    if (k < 4) return Recv::irecv;
    if (k < 6) return Recv::persistent;
    if (k < 11) return Recv::recv;
    return std::array{Recv::probe, Recv::iprobe, Recv::mprobe, Recv::mprobe_imrecv, Recv::improbe}[std::size_t(k - 11)];
  }

  Stream& stream(int comm, int source, int dest) {
    return streams_[std::size_t((comm * ranks_ + source) * ranks_ + dest)];
  }
  /// Both halves of a message are known from step `now` on.
  void match(int send, int receive) {
    const int now = int(std::max(send, receive));
    auto &s = steps_[std::size_t(send)], &r = steps_[std::size_t(receive)];
    s.matched_at = r.matched_at = now;
    r.expected = int(s.message);
  }
  int push(Step step) {
    if (step.what == Step::send) messages_[step.message].by = int(step.send_by);
    if (step.what == Step::exchange) messages_[step.message].by = 100 + int(step.both);
    steps_.push_back(std::move(step));
    return int(steps_.size()) - 1;
  }
  Word new_message(int comm, int source, int dest, int tag, int n) {
    messages_.push_back({comm, source, dest, tag, n});
    return Word(messages_.size() - 1);
  }
  void begun(const Step& step) { outstanding_[std::size_t(step.rank)].push_back(int(&step - steps_.data())); }

  void send(int comm, int source, int dest, int tag);
  void receive(int comm, int source, int dest, int tag);
  void exchange(int comm, int a, int b);
  void complete(int rank, bool all);
  void poll(int rank);
  void plan_any(int comm, int dest);
  void any_step(AnyPlan& plan);
  void drain();

  std::mt19937 random_, selves_;
  const int ranks_;
  int device_ = 90, ops_ = 0, last_barrier_ = -1;
  bool open_ended_ = false;
  std::vector<Step> steps_;
  std::vector<Stream> streams_;
  std::vector<std::vector<Mode>> mode_;
  std::vector<std::vector<int>> only_;  // the single source
  std::map<std::pair<int, int>, AnyPlan> any_;
  std::vector<std::vector<int>> outstanding_;
  std::vector<Message> messages_;
};

void Planner::send(int comm, int source, int dest, int tag) {
  auto& s = stream(comm, source, dest);
  const auto found =
      std::find_if(s.receives.begin(), s.receives.end(), [&](const Half& r) { return fits(r.tag, tag); });
  const bool matched = found != s.receives.end();
  if (!matched && s.sends.size() > 60) return;
  Step step;
  step.what = Step::send;
  step.rank = source;
  step.comm = comm;
  step.peer = dest;
  step.tag = tag;
  common(step);
  int n = some_size();
  if (matched && n > found->n) n = found->n;
  if (matched && chance(3)) n = found->n;
  const bool long_one = matched && found->n >= 2 && found->n < 5000 && chance(120) == 0 && too_long_allowed() &&
                        steps_[std::size_t(found->step)].receive_by == Recv::irecv;
  if (long_one) n = 2 * found->n;
  step.layout = some_layout(n);
  step.send_by = some_send(matched, matched && found->step < last_barrier_);
  step.message = new_message(comm, source, dest, tag, n);
  const int at = push(step);
  if (!at_once(step.send_by)) begun(steps_.back());
  if (matched) {
    steps_[std::size_t(found->step)].truncated = long_one;
    match(at, found->step);
    s.receives.erase(found);
  } else {
    s.sends.push_back({at, tag, n});
  }
}

void Planner::receive(int comm, int source, int dest, int tag) {
  auto& s = stream(comm, source, dest);
  const auto found = std::find_if(s.sends.begin(), s.sends.end(), [&](const Half& h) { return fits(tag, h.tag); });
  const bool matched = found != s.sends.end();
  if (!matched && s.receives.size() > 60) return;
  Step step;
  step.what = Step::receive;
  step.rank = dest;
  step.comm = comm;
  step.peer = mode_[std::size_t(comm)][std::size_t(dest)] == Mode::single && chance(4) == 0 ? MPI_ANY_SOURCE : source;
  step.tag = tag;
  common(step);
  step.receive_by = some_receive(matched);
  int n = some_size();
  if (matched) n = chance(4) ? found->n : std::max(n, found->n);
  step.truncated = matched && found->n >= 2 && chance(120) == 0 && too_long_allowed() &&
                   (step.receive_by == Recv::irecv || step.receive_by == Recv::recv);
  if (step.truncated) n = found->n / 2;
  step.layout = some_layout(n);
  const int at = push(step);
  if (!at_once(step.receive_by)) begun(steps_.back());
  if (matched) {
    match(found->step, at);
    s.sends.erase(found);
  } else {
    s.receives.push_back({at, tag, n});
  }
}

/// MPI_Sendrecv and its like, at both ranks at once.
void Planner::exchange(int comm, int a, int b) {
  const int tag = some_tag();
  for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
    if (mode_[std::size_t(comm)][std::size_t(to)] == Mode::any) return;
    if (mode_[std::size_t(comm)][std::size_t(to)] == Mode::single && only_[std::size_t(comm)][std::size_t(to)] != from)
      return;
    auto& s = stream(comm, from, to);
    for (const auto& r : s.receives)
      if (fits(r.tag, tag)) return;
    for (const auto& h : s.sends)
      if (h.tag == tag) return;
  }
  Step steps[2];
  const int n[2] = {some_size(), some_size()};
  for (int i = 0; i < 2; ++i) {
    auto& step = steps[i];
    step.what = Step::exchange;
    step.rank = i ? b : a;
    step.peer = i ? a : b;
    step.comm = comm;
    step.tag = tag;
    common(step);
    step.both =
        std::array{Both::sendrecv, Both::replace, Both::isendrecv}[std::size_t(chance(isendrecv_tells() ? 3 : 2))];
    step.layout = some_layout(n[i]);
    step.message = new_message(comm, step.rank, step.peer, tag, n[i]);
  }
  for (int i = 0; i < 2; ++i) {
    steps[i].expected = int(steps[1 - i].message);
    steps[i].room = n[1 - i];
    if (steps[i].both == Both::replace && n[i] < n[1 - i]) steps[i].both = Both::sendrecv;
    if (steps[i].both == Both::isendrecv) steps[i].layout.form = Layout::contiguous;  // MPICH 4.0 knows no other
  }
  for (auto& step : steps) {
    step.matched_at = int(steps_.size());
    push(step);
    if (step.both == Both::isendrecv) begun(steps_.back());
  }
}

void Planner::complete(int rank, bool all) {
  auto& mine = outstanding_[std::size_t(rank)];
  Step step;
  step.what = Step::complete;
  step.rank = rank;
  std::vector<int> left, alone;
  for (const int at : mine) {
    const auto& one = steps_[std::size_t(at)];
    if (!all && (one.matched_at < 0 || chance(3) == 0)) {
      left.push_back(at);
    } else if (one.truncated) {
      alone.push_back(one.op);
    } else {
      step.ops.push_back(one.op);
    }
  }
  mine = left;
  std::shuffle(step.ops.begin(), step.ops.end(), random_);
  for (const int op : alone) {
    Step single = step;
    single.ops = {op};
    single.end = chance(2) ? End::wait : End::test;
    push(single);
  }
  while (!step.ops.empty()) {
    Step part = step;
    const auto k = step.ops.size() < 4 || chance(2) ? step.ops.size() : 1 + std::size_t(chance(int(step.ops.size())));
    part.ops.assign(step.ops.begin(), step.ops.begin() + std::ptrdiff_t(k));
    step.ops.erase(step.ops.begin(), step.ops.begin() + std::ptrdiff_t(k));
    part.end = End(chance(ends));
    push(part);
  }
}

void Planner::poll(int rank) {
  Step step;
  step.what = Step::poll;
  step.rank = rank;
  for (const int at : outstanding_[std::size_t(rank)]) {
    if (chance(2)) step.ops.push_back(steps_[std::size_t(at)].op);
  }
  step.end = std::array{End::test, End::testany, End::testsome, End::testall}[std::size_t(chance(4))];
  if (!step.ops.empty()) push(step);
}

/// Several sources, and receives from any of them: how many receives name what is such that all
/// messages find one, in whatever order they come.
void Planner::plan_any(int comm, int dest) {
  AnyPlan plan;
  plan.order = chance(3);
  plan.room = some_size();
  std::map<std::pair<int, int>, int> of;
  for (int i = 2 + chance(20); i > 0; --i) {
    int source = chance(ranks_ - 1);
    if (source >= dest) ++source;
    Step step;
    step.what = Step::send;
    step.rank = source;
    step.comm = comm;
    step.peer = dest;
    step.tag = some_tag();
    ++of[{source, step.tag}];
    plan.sends.push_back(step);
  }
  std::vector<std::pair<int, int>> receives;
  std::map<int, int> tags;
  int left = 0;
  for (const auto& [which, n] : of) {
    const int named = chance(3) ? 0 : chance(n + 1);
    receives.insert(receives.end(), std::size_t(named), which);
    tags[which.second] += n - named;
  }
  std::shuffle(receives.begin(), receives.end(), random_);
  const bool tags_named = chance(2);
  for (const auto& [tag, n] : tags) {
    const int named = tags_named ? n : chance(n + 1);
    receives.insert(receives.end(), std::size_t(named), {MPI_ANY_SOURCE, tag});
    left += n - named;
  }
  receives.insert(receives.end(), std::size_t(left), {MPI_ANY_SOURCE, MPI_ANY_TAG});
  for (const auto& [source, tag] : receives) {
    Step step;
    step.what = Step::receive;
    step.rank = dest;
    step.comm = comm;
    step.peer = source;
    step.tag = tag;
    plan.receives.push_back(step);
  }
  any_[{comm, dest}] = std::move(plan);
}

void Planner::any_step(AnyPlan& plan) {
  const bool sends =
      plan.receives.empty() || (!plan.sends.empty() && (plan.sends_first() || (!plan.receives_first() && chance(2))));
  auto& from = sends ? plan.sends : plan.receives;
  Step step = from.front();
  from.pop_front();
  common(step);
  step.layout = some_layout(step.what == Step::send ? std::min(some_size(), plan.room) : plan.room);
  bool later = true;
  if (step.what == Step::send) {
    step.send_by = some_send(plan.receives_first() && plan.receives.empty(), false);
    step.message = new_message(step.comm, step.rank, step.peer, step.tag, step.layout.n);
    later = !at_once(step.send_by);
  } else {
    step.receive_by = some_receive(plan.sends_first() && plan.sends.empty());
    later = !at_once(step.receive_by);
  }
  push(step);
  if (later) begun(steps_.back());
}

/// What has no other half gets one.
void Planner::drain() {
  for (int comm = 0; comm < 2; ++comm)
    for (int source = 0; source < ranks_; ++source)
      for (int dest = 0; dest < ranks_; ++dest) {
        auto& s = stream(comm, source, dest);
        while (!s.sends.empty()) receive(comm, source, dest, s.sends[std::size_t(chance(int(s.sends.size())))].tag);
        while (!s.receives.empty()) {
          const int tag = s.receives[std::size_t(chance(int(s.receives.size())))].tag;
          send(comm, source, dest, tag == MPI_ANY_TAG ? some_tag() : tag);
        }
      }
}

std::vector<Step> Planner::episode() {
  steps_.clear();
  ops_ = 0;
  last_barrier_ = -1;
  open_ended_ = false;
  outstanding_.assign(std::size_t(ranks_), {});
  streams_.assign(std::size_t(2 * ranks_ * ranks_), {});
  mode_.assign(2, std::vector<Mode>(std::size_t(ranks_), Mode::exact));
  only_.assign(2, std::vector<int>(std::size_t(ranks_), 0));
  any_.clear();
  device_ = chance(6) ? 92 : 60;
  const bool wild = chance(3) == 0, any_tags = chance(3) == 0;
  for (int comm = 0; comm < 2; ++comm)
    for (int dest = 0; dest < ranks_; ++dest) {
      auto& mode = mode_[std::size_t(comm)][std::size_t(dest)];
      int source = chance(ranks_ - 1);
      if (source >= dest) ++source;
      only_[std::size_t(comm)][std::size_t(dest)] = source;
      if (!wild || chance(2)) continue;
      open_ended_ = true;
      mode = chance(2) ? Mode::single : Mode::any;
      if (mode == Mode::any) plan_any(comm, dest);
    }
  const int length = 10 + chance(100), early = chance(4) ? 3 + chance(5) : 9;
  const bool naps = chance(3) == 0, polls = chance(2);
  for (int i = 0; i < length; ++i) {
    const int comm = chance(10) < 7 ? 0 : 1, dest = chance(ranks_), rank = chance(ranks_);
    int source = chance(ranks_ - 1);
    if (source >= dest) ++source;
    const auto mode = mode_[std::size_t(comm)][std::size_t(dest)];
    if (mode == Mode::single) source = only_[std::size_t(comm)][std::size_t(dest)];
    if (mode == Mode::exact && selves_() % 8 == 0) source = dest;
    const int what = chance(40);
    if (what == 0) {
      if (source == dest) continue;
      exchange(comm, source, dest);
    } else if (what == 1 && chance(3) == 0) {
      last_barrier_ = push(step_of(Step::barrier, rank));
    } else if (what == 2) {
      Step step = step_of(Step::cancel_nobody, rank);
      step.comm = comm;
      step.peer = chance(6) ? source == rank ? dest : source : MPI_ANY_SOURCE;
      push(step);
    } else if (what < 8) {
      complete(rank, false);
    } else if (what < 11 && polls) {
      poll(rank);
    } else if (what == 11 && naps) {
      Step step = step_of(Step::nap, rank);
      step.micros = chance(3000);
      push(step);
    } else if (mode == Mode::any) {
      if (auto& plan = any_[{comm, dest}]; plan.there()) any_step(plan);
    } else {
      // Often several at once: receives before their sends, or sends first.
      const bool receives = chance(10) < early;
      for (int k = chance(3) ? 1 : 1 + chance(12); k > 0; --k)
        receives ? receive(comm, source, dest, any_tags && chance(8) == 0 ? MPI_ANY_TAG : some_tag())
                 : send(comm, source, dest, some_tag());
    }
  }
  for (auto& [which, plan] : any_)
    while (plan.there()) any_step(plan);
  drain();
  for (int rank = 0; rank < ranks_; ++rank) complete(rank, true);
  return std::move(steps_);
}

// --- one rank's part -----------------------------------------------------------------------------

/// What has been begun and has not ended.
struct Live {
  const Step* step = nullptr;
  MPI_Request own = MPI_REQUEST_NULL;
  MPI_Request* request = nullptr;  // own, or that of a persistent request
  Memory::Taken out, in;
  Layout in_layout;
  bool ended = false;
};

struct Persistent {
  int what, by, comm, peer, tag;
  Layout layout;
  bool device;
  Memory::Taken buffer;
  MPI_Request request = MPI_REQUEST_NULL;
  bool active = false;
};

class Traffic {
 public:
  Traffic(unsigned seed) : plan_(seed, contract().ranks), what_("traffic " + std::to_string(seed)) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comms_[1]);
    MPI_Comm_set_errhandler(comms_[1], MPI_ERRORS_RETURN);
    MPI_Buffer_attach(attached_.data(), int(attached_.size()));
  }
  ~Traffic() {
    MPI_Barrier(MPI_COMM_WORLD);
    for (auto& one : persistent_)
      if (one.what >= 0) MPI_Request_free(&one.request);
    void* at;
    int size;
    MPI_Buffer_detach(&at, &size);
    MPI_Comm_free(&comms_[1]);
    Type::forget();
    freed_.clear();
    Memory::forget();
  }
  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;
  void episode(int number);

 private:
  void run(const Step& step);
  void begin_send(const Step& step);
  void begin_receive(const Step& step);
  void exchange(const Step& step);
  void cancel_nobody(const Step* step);
  Persistent& persistent(const Step& step);
  void complete(const Step& step);
  void poll(const Step& step);
  void ended(Live& live, const MPI_Status& status, int code);
  void received(const Step& step, const Layout& layout, Memory::Taken& buffer, const MPI_Status& status, int code);
  void look(const Step& step, const Layout& layout, const std::vector<Word>& words, const MPI_Status& status,
            int message);
  void in_order();

  struct Got {
    const Step* step;
    Layout layout;
    std::vector<Word> words;
    MPI_Status status;
  };
  Planner plan_;
  const std::string what_;
  std::string where_;
  MPI_Comm comms_[2] = {MPI_COMM_WORLD, MPI_COMM_NULL};
  std::vector<char> attached_ = std::vector<char>(64 << 20);
  std::vector<Step> steps_;
  std::map<int, Live> live_;
  std::deque<Persistent> persistent_;
  std::vector<Memory::Taken> freed_;  // of sends whose requests were freed
  std::map<int, Got> got_;            // by op: of receives whose messages must be found out
  MPI_Request nobody_ = MPI_REQUEST_NULL;
  int nobody_buffer_ = 0;
};

void Traffic::look(const Step& step, const Layout& layout, const std::vector<Word>& words, const MPI_Status& status,
                   int message) {
  const auto& sent = plan_.messages()[std::size_t(message)];
  const auto& places = places_of(layout);
  const auto name = where_ + ", message " + std::to_string(message) + " from " + std::to_string(sent.source) + " tag " +
                    std::to_string(sent.tag) + " comm " + std::to_string(sent.comm) + ", " + way_of(sent.by) + " to " +
                    (step.what == Step::exchange ? "exchange " + std::to_string(int(step.both))
                                                 : "receive " + std::to_string(int(step.receive_by))) +
                    " form " + std::to_string(int(layout.form));
  const bool told = step.both != Both::isendrecv;  // MPICH 4.0 leaves this status as it is
  if (told) check_equal(status.MPI_SOURCE, sent.source, name + ", source");
  if (told) check_equal(status.MPI_TAG, sent.tag, name + ", tag");
  if (step.truncated) {
    std::vector<char> inside(words.size());
    for (const int at : places.at) inside[std::size_t(at)] = 1;
    for (std::size_t i = 0; i < words.size(); ++i)
      if (!inside[i] && words[i] != nothing) return check(false, name + ", around a message that was too long");
    return;
  }
  int count = -1, elements = -1;
  MPI_Get_count(&status, MPI_BYTE, &count);
  MPI_Get_elements(&status, MPI_INT, &elements);
  if (told) check_equal(count, 4 * sent.n, name + ", count");
  if (told) check_equal(elements, sent.n, name + ", elements");
  std::vector<Word> expected(words.size(), nothing);
  for (int i = 0; i < std::min(sent.n, layout.n); ++i)
    expected[std::size_t(places.at[std::size_t(i)])] = word_of(Word(message), i);
  if (step.both == Both::replace) {  // what lies behind the message is not looked at
    for (int i = 0; i < std::min(sent.n, layout.n); ++i) {
      const auto at = std::size_t(places.at[std::size_t(i)]);
      if (words[at] != expected[at])
        return check(false, name + ", replaced", guess(words, places, Word(plan_.messages().size())));
    }
    return;
  }
  if (words == expected) return check(true, name);
  const auto wrong = std::size_t(std::mismatch(words.begin(), words.end(), expected.begin()).first - words.begin());
  check(false, name,
        "got " + guess(words, places, Word(plan_.messages().size())) + ", first at word " + std::to_string(wrong) +
            " of " + std::to_string(sent.n));
}

void Traffic::received(const Step& step, const Layout& layout, Memory::Taken& buffer, const MPI_Status& status,
                       int code) {
  check_class(code, step.truncated ? MPI_ERR_TRUNCATE : MPI_SUCCESS, where_ + ", receive");
  int cancelled = 0;
  if (step.both != Both::isendrecv) PMPI_Test_cancelled(&status, &cancelled);
  check(!cancelled, where_ + ", cancelled");
  if (step.truncated) {
    MPI_Status as_if = status;  // not all MPIs tell it
    as_if.MPI_SOURCE = plan_.messages()[std::size_t(step.expected)].source;
    as_if.MPI_TAG = plan_.messages()[std::size_t(step.expected)].tag;
    look(step, layout, Memory::read(buffer), as_if, step.expected);
  } else if (step.expected >= 0) {
    look(step, layout, Memory::read(buffer), status, step.expected);
  } else {
    got_[step.op] = {&step, layout, Memory::read(buffer), status};
  }
}

/// Receives from anybody: in the order in which they were begun they have got each sender's
/// messages in theirs.
void Traffic::in_order() {
  std::map<std::tuple<int, int, int>, std::deque<int>> streams;
  for (const auto& step : steps_)
    if (step.what == Step::send && step.peer == contract().rank)
      streams[{step.comm, step.rank, step.tag}].push_back(int(step.message));
  for (const auto& [op, got] : got_) {  // ops are numbered in the order of the plan
    auto& stream = streams[{got.step->comm, got.status.MPI_SOURCE, got.status.MPI_TAG}];
    check(!stream.empty(), where_ + ", from nobody");
    if (stream.empty()) continue;
    look(*got.step, got.layout, got.words, got.status, stream.front());
    stream.pop_front();
  }
  got_.clear();
}

Persistent& Traffic::persistent(const Step& step) {
  const int by = step.what == Step::send ? int(step.send_by) : 0;
  for (auto& one : persistent_)
    if (!one.active && one.what == step.what && one.by == by && one.comm == step.comm && one.peer == step.peer &&
        one.tag == step.tag && one.layout == step.layout && one.device == step.device)
      return one;
  if (persistent_.size() > 60)
    for (auto one = persistent_.begin(); one != persistent_.end(); ++one)
      if (!one->active && one->what >= 0 && step.fresh_type) {
        MPI_Request_free(&one->request);
        Memory::give(one->buffer);
        one->what = -1;
        break;
      }
  auto& one = persistent_.emplace_back(
      Persistent{step.what, by, step.comm, step.peer, step.tag, step.layout, step.device, nullptr});
  const Type type(step.layout, step.fresh_type);
  one.buffer = Memory::take(kind_of(step.device), places_of(step.layout).span + 8, step.fresh_buffer);
  const auto comm = comms_[step.comm];
  auto* data = one.buffer->memory->data();
  int code = MPI_SUCCESS;
  if (step.what == Step::receive) {
    code = MPI_Recv_init(data, type.count(), type.type(), step.peer, step.tag, comm, &one.request);
  } else {
    const auto init = step.send_by == Send::persistent         ? MPI_Send_init
                      : step.send_by == Send::persistent_ssend ? MPI_Ssend_init
                                                               : MPI_Bsend_init;
    code = init(data, type.count(), type.type(), step.peer, step.tag, comm, &one.request);
  }
  check_ok(code, where_ + ", persistent");
  return one;
}

void Traffic::begin_send(const Step& step) {
  const auto comm = comms_[step.comm];
  Live live;
  live.step = &step;
  if (step.send_by == Send::persistent || step.send_by == Send::persistent_ssend ||
      step.send_by == Send::persistent_bsend) {
    auto& one = persistent(step);
    write_message(one.buffer, step.layout, step.message);
    one.active = true;
    auto& kept = live_[step.op] = live;
    kept.request = &one.request;
    check_ok(MPI_Start(&one.request), where_ + ", Start");
    return;
  }
  live.out = Memory::take(kind_of(step.device), places_of(step.layout).span + 8, step.fresh_buffer);
  write_message(live.out, step.layout, step.message);
  const Type type(step.layout, step.fresh_type);
  auto* data = live.out->memory->data();
  using Blocking = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
  const Blocking blocking = step.send_by == Send::send    ? MPI_Send
                            : step.send_by == Send::ssend ? MPI_Ssend
                            : step.send_by == Send::rsend ? MPI_Rsend
                            : step.send_by == Send::bsend ? MPI_Bsend
                                                          : nullptr;
  if (blocking) {
    check_ok(blocking(data, type.count(), type.type(), step.peer, step.tag, comm), where_ + ", blocking send");
    Memory::fill(live.out, gone);
    return Memory::give(live.out);
  }
  const auto begin = step.send_by == Send::issend ? MPI_Issend : step.send_by == Send::ibsend ? MPI_Ibsend : MPI_Isend;
  auto& kept = live_[step.op] = live;
  check_ok(begin(data, type.count(), type.type(), step.peer, step.tag, comm, &kept.own), where_ + ", nonblocking send");
  if (step.send_by == Send::freed) {
    MPI_Request_free(&kept.own);
    freed_.push_back(std::move(kept.out));
    live_.erase(step.op);
    return;
  }
  kept.request = &kept.own;
}

void Traffic::begin_receive(const Step& step) {
  const auto comm = comms_[step.comm];
  Live live;
  live.step = &step;
  live.in_layout = step.layout;
  if (step.receive_by == Recv::persistent) {
    auto& one = persistent(step);
    Memory::fill(one.buffer, nothing);
    one.active = true;
    auto& kept = live_[step.op] = live;
    kept.request = &one.request;
    check_ok(MPI_Start(&one.request), where_ + ", Start");
    return;
  }
  live.in = Memory::take(kind_of(step.device), places_of(step.layout).span + 8, step.fresh_buffer);
  Memory::fill(live.in, nothing);
  const Type type(step.layout, step.fresh_type);
  auto* data = live.in->memory->data();
  const int count = type.count();
  MPI_Status status, probed;
  MPI_Message message = MPI_MESSAGE_NULL;
  int code = MPI_SUCCESS, flag = 0;
  switch (step.receive_by) {
    case Recv::recv: code = MPI_Recv(data, count, type.type(), step.peer, step.tag, comm, &status); break;
    case Recv::probe:
    case Recv::iprobe:
      if (step.receive_by == Recv::probe) MPI_Probe(step.peer, step.tag, comm, &probed);
      while (step.receive_by == Recv::iprobe && !flag) {
        MPI_Iprobe(step.peer, step.tag, comm, &flag, &probed);
        if (!flag) sched_yield();
      }
      code = MPI_Recv(data, count, type.type(), probed.MPI_SOURCE, probed.MPI_TAG, comm, &status);
      break;
    case Recv::mprobe:
    case Recv::mprobe_imrecv: MPI_Mprobe(step.peer, step.tag, comm, &message, &probed); break;
    case Recv::improbe:
      while (!flag) {
        MPI_Improbe(step.peer, step.tag, comm, &flag, &message, &probed);
        if (!flag) sched_yield();
      }
      break;
    default: break;
  }
  if (step.receive_by == Recv::mprobe || step.receive_by == Recv::improbe)
    code = MPI_Mrecv(data, count, type.type(), &message, &status);
  if (step.receive_by == Recv::irecv || step.receive_by == Recv::mprobe_imrecv) {
    auto& kept = live_[step.op] = live;
    kept.request = &kept.own;
    code = step.receive_by == Recv::irecv ? MPI_Irecv(data, count, type.type(), step.peer, step.tag, comm, &kept.own)
                                          : MPI_Imrecv(data, count, type.type(), &message, &kept.own);
    return check_ok(code, where_ + ", begin a receive");
  }
  if (step.receive_by != Recv::recv) {
    int sent = -1, got = -2;
    MPI_Get_count(&probed, MPI_BYTE, &sent);
    MPI_Get_count(&status, MPI_BYTE, &got);
    if (!step.truncated) check_equal(got, sent, where_ + ", count of the probe");
  }
  received(step, step.layout, live.in, status, code);
  Memory::give(live.in);
}

void Traffic::exchange(const Step& step) {
  const auto comm = comms_[step.comm];
  Live live;
  live.step = &step;
  live.out = Memory::take(kind_of(step.device), places_of(step.layout).span + 8, step.fresh_buffer);
  write_message(live.out, step.layout, step.message);
  const Type out(step.layout, step.fresh_type);
  auto* data = live.out->memory->data();
  MPI_Status status;
  if (step.both == Both::replace) {
    const int code =
        MPI_Sendrecv_replace(data, out.count(), out.type(), step.peer, step.tag, step.peer, step.tag, comm, &status);
    received(step, step.layout, live.out, status, code);
    return Memory::give(live.out);
  }
  live.in_layout = {step.layout.form, step.room};
  live.in = Memory::take(kind_of(step.device), places_of(live.in_layout).span + 8, false);
  Memory::fill(live.in, nothing);
  const Type in(live.in_layout, step.fresh_type);
  auto* to = live.in->memory->data();
  auto& kept = live_[step.op] = live;
#if MPI_VERSION >= 4
  if (step.both == Both::isendrecv) {
    kept.request = &kept.own;
    return check_ok(MPI_Isendrecv(data, out.count(), out.type(), step.peer, step.tag, to, in.count(), in.type(),
                                  step.peer, step.tag, comm, &kept.own),
                    where_ + ", Isendrecv");
  }
#endif
  const int code = MPI_Sendrecv(data, out.count(), out.type(), step.peer, step.tag, to, in.count(), in.type(),
                                step.peer, step.tag, comm, &status);
  ended(kept, status, code);
}

/// A receive that nobody sends to is begun, or cancelled.
void Traffic::cancel_nobody(const Step* step) {
  if (nobody_ == MPI_REQUEST_NULL) {
    if (step) MPI_Irecv(&nobody_buffer_, 1, MPI_INT, step->peer, 77, comms_[step->comm], &nobody_);
    return;
  }
  MPI_Status status;
  int cancelled = 0;
  check_ok(MPI_Cancel(&nobody_), where_ + ", Cancel");
  check_ok(MPI_Wait(&nobody_, &status), where_ + ", Wait of a cancelled receive");
  MPI_Test_cancelled(&status, &cancelled);
  check(cancelled, where_ + ", a receive from nobody is cancelled");
}

void Traffic::ended(Live& live, const MPI_Status& status, int code) {
  const auto& step = *live.step;
  if (live.ended) return check(false, where_ + ", ended twice");
  live.ended = true;
  Persistent* kept = nullptr;
  for (auto& one : persistent_)
    if (live.request == &one.request) kept = &one;
  if (kept) kept->active = false;
  if (step.what != Step::send) {
    auto& in = kept ? kept->buffer : live.in;
    received(step, live.in_layout, in, status, code);
  } else {
    check_ok(code, where_ + ", send");
  }
  if (kept) {
    if (step.what == Step::send) Memory::fill(kept->buffer, gone);
  } else {
    if (live.out) Memory::fill(live.out, gone);
    Memory::give(live.out);
    Memory::give(live.in);
  }
}

/// MPICH 5 takes a persistent request for inactive that MPI_Request_get_status has found complete.
End end_of(const Step& step) {
  static const bool asks = std::getenv("CONTRACT_ASKS_NO_STATUS") == nullptr;
  return step.end == End::status && !asks ? End::wait : step.end;
}

void Traffic::complete(const Step& step) {
  const auto how = end_of(step);
  std::vector<Live*> all;
  std::vector<MPI_Request> requests;
  for (const int op : step.ops) {
    const auto found = live_.find(op);
    if (found == live_.end() || found->second.ended) continue;
    all.push_back(&found->second);
    requests.push_back(*found->second.request);
  }
  const int n = int(all.size());
  if (n == 0) return;
  std::vector<MPI_Status> statuses(static_cast<std::size_t>(n));
  std::vector<int> indices(static_cast<std::size_t>(n));
  const auto end_one = [&](int i, const MPI_Status& status, int code) {
    *all[std::size_t(i)]->request = requests[std::size_t(i)];
    ended(*all[std::size_t(i)], status, code);
  };
  MPI_Status status;
  int flag = 0, some = 0, left = n, code = MPI_SUCCESS;
  std::vector<char> over(static_cast<std::size_t>(n));
  switch (how) {
    case End::wait:
      for (int i = 0; i < n; ++i) {
        code = MPI_Wait(&requests[std::size_t(i)], &status);
        end_one(i, status, code);
      }
      break;
    case End::test:
      for (; left; sched_yield())
        for (int i = 0; i < n; ++i) {
          if (over[std::size_t(i)]) continue;
          code = MPI_Test(&requests[std::size_t(i)], &flag, &status);
          if (!flag && code == MPI_SUCCESS) continue;
          over[std::size_t(i)] = 1;
          --left;
          end_one(i, status, code);
        }
      break;
    case End::status:
      for (int i = 0; i < n; ++i) {
        MPI_Status before;
        for (flag = 0; !flag;) {
          MPI_Request_get_status(requests[std::size_t(i)], &flag, &before);
          if (!flag) sched_yield();
        }
        code = MPI_Wait(&requests[std::size_t(i)], &status);
        if (all[std::size_t(i)]->step->what == Step::receive) {
          check_equal(before.MPI_SOURCE, status.MPI_SOURCE, where_ + ", Request_get_status, source");
          check_equal(before.MPI_TAG, status.MPI_TAG, where_ + ", Request_get_status, tag");
        }
        end_one(i, status, code);
      }
      break;
    case End::waitall:
    case End::testall:
      if (how == End::waitall) code = MPI_Waitall(n, requests.data(), statuses.data());
      while (how == End::testall && !flag) {
        code = MPI_Testall(n, requests.data(), &flag, statuses.data());
        if (!flag) sched_yield();
      }
      check_ok(code, where_ + ", Waitall or Testall");
      for (int i = 0; i < n; ++i) end_one(i, statuses[std::size_t(i)], MPI_SUCCESS);
      break;
    case End::waitany:
    case End::testany:
      while (left) {
        int i = MPI_UNDEFINED;
        if (how == End::waitany) {
          code = MPI_Waitany(n, requests.data(), &i, &status);
        } else {
          code = MPI_Testany(n, requests.data(), &i, &flag, &status);
          if (!flag) {
            sched_yield();
            continue;
          }
        }
        check(i != MPI_UNDEFINED, where_ + ", Waitany or Testany, index");
        if (i == MPI_UNDEFINED) return;
        --left;
        end_one(i, status, code);
      }
      break;
    case End::waitsome:
    case End::testsome:
      while (left > 0) {
        code = how == End::waitsome ? MPI_Waitsome(n, requests.data(), &some, indices.data(), statuses.data())
                                    : MPI_Testsome(n, requests.data(), &some, indices.data(), statuses.data());
        check(code == MPI_SUCCESS && some != MPI_UNDEFINED, where_ + ", Waitsome or Testsome");
        if (some == MPI_UNDEFINED) return;
        if (some == 0) sched_yield();
        left -= some;
        for (int k = 0; k < some; ++k) end_one(indices[std::size_t(k)], statuses[std::size_t(k)], MPI_SUCCESS);
      }
      break;
  }
}

/// Asks once whether something has ended.
void Traffic::poll(const Step& step) {
  std::vector<Live*> all;
  std::vector<MPI_Request> requests;
  for (const int op : step.ops) {
    const auto found = live_.find(op);
    if (found == live_.end() || found->second.ended || found->second.step->truncated) continue;
    all.push_back(&found->second);
    requests.push_back(*found->second.request);
  }
  const int n = int(all.size());
  if (n == 0) return;
  std::vector<MPI_Status> statuses(static_cast<std::size_t>(n));
  std::vector<int> indices(static_cast<std::size_t>(n));
  int some = 0, flag = 0;
  if (step.end == End::test) {
    check_ok(MPI_Test(&requests[0], &flag, &statuses[0]), where_ + ", Test");
    some = flag ? 1 : 0;
  } else if (step.end == End::testany) {
    check_ok(MPI_Testany(n, requests.data(), &indices[0], &flag, &statuses[0]), where_ + ", Testany");
    some = flag && indices[0] != MPI_UNDEFINED ? 1 : 0;
  } else if (step.end == End::testsome) {
    check_ok(MPI_Testsome(n, requests.data(), &some, indices.data(), statuses.data()), where_ + ", Testsome");
    if (some == MPI_UNDEFINED) some = 0;
  } else {
    check_ok(MPI_Testall(n, requests.data(), &flag, statuses.data()), where_ + ", Testall");
    some = flag ? n : 0;
    std::iota(indices.begin(), indices.end(), 0);
  }
  for (int i = 0; i < n; ++i) *all[std::size_t(i)]->request = requests[std::size_t(i)];
  for (int k = 0; k < some; ++k)
    ended(*all[std::size_t(indices[std::size_t(k)])], statuses[std::size_t(k)], MPI_SUCCESS);
}

void Traffic::run(const Step& step) {
  if (step.what == Step::barrier) {
    MPI_Barrier(MPI_COMM_WORLD);
    return;
  }
  if (step.rank != contract().rank) return;
  switch (step.what) {
    case Step::send: return begin_send(step);
    case Step::receive: return begin_receive(step);
    case Step::cancel_nobody: return cancel_nobody(&step);
    case Step::complete: return complete(step);
    case Step::poll: return poll(step);
    case Step::nap: usleep(useconds_t(step.micros)); return;
    case Step::exchange: return exchange(step);
    default: return;
  }
}

void Traffic::episode(int number) {
  where_ = what_ + ", episode " + std::to_string(number);
  contract().section(where_);
  steps_ = plan_.episode();
  for (const auto& step : steps_) run(step);
  cancel_nobody(nullptr);
  for (const auto& [op, live] : live_) check(live.ended, where_ + ", all has ended");
  live_.clear();
  in_order();
  const int after = plan_.chance(12);
  if (after == 0) {
    int one = 1, all = 0;
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    check_equal(all, contract().ranks, where_ + ", Allreduce");
  } else if (after < 3 || plan_.open_ended()) {
    MPI_Barrier(MPI_COMM_WORLD);
  } else if (after > 3) {
    return;
  }
  if (after == 3) {
    const bool first = plan_.chance(2);
    MPI_Comm old = comms_[1];
    if (first) MPI_Comm_free(&old);
    for (auto& one : persistent_)
      if (one.comm == 1 && one.what >= 0) {
        MPI_Request_free(&one.request);
        Memory::give(one.buffer);
        one.what = -1;
      }
    if (!first) MPI_Comm_free(&old);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms_[1]);
    MPI_Comm_set_errhandler(comms_[1], MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  for (auto& buffer : freed_) Memory::give(buffer);  // all messages have come
  freed_.clear();
  std::erase_if(persistent_, [](const Persistent& one) { return one.what < 0; });
}

// --- parts that are the same each time -----------------------------------------------------------

/// Rank 0 sends to rank 1 on a communicator of their own; others look on.
class Two {
 public:
  explicit Two(const char* what) : what_(what) {
    contract().section(what);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (auto& buffer : buffers_) buffer = Memory::take(kind_of(true), n, false);
    host_ = Memory::take(Kind::host, n, false);
    // Then the ranks know the channel: receives are there before the sends, again and again.
    for (int i = 0; i < 20; ++i) {
      MPI_Request request = MPI_REQUEST_NULL;
      if (receives) request = begin(i % 100);
      MPI_Barrier(comm);
      if (sends) send();
      if (receives) end(request, i % 100);
    }
  }
  ~Two() {
    MPI_Barrier(MPI_COMM_WORLD);
    if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
    for (auto& buffer : buffers_) Memory::give(buffer);
  }
  Two(const Two&) = delete;
  Two& operator=(const Two&) = delete;

  static constexpr int n = 256, tag = 1;
  const bool sends = contract().rank == 0, receives = contract().rank == 1;
  MPI_Comm comm;
  unsigned char* at(int i) { return buffers_[std::size_t(i)]->memory->data(); }
  /// Receives into buffer i.
  MPI_Request begin(int i, int source = 0, int with = tag, int count = n) {
    Memory::fill(buffers_[std::size_t(i)], nothing);
    MPI_Request request;
    check_ok(MPI_Irecv(at(i), count, MPI_INT, source, with, comm, &request), what_);
    return request;
  }
  /// The next message has come into buffer i.
  void end(MPI_Request& request, int i) {
    MPI_Status status;
    check_ok(MPI_Wait(&request, &status), what_);
    look(i, status);
  }
  void look(int i, const MPI_Status& status) {
    int count = -1;
    MPI_Get_count(&status, MPI_INT, &count);
    check_equal(count, n, what_ + ", count");
    check_equal(status.MPI_SOURCE, 0, what_ + ", source");
    check_equal(status.MPI_TAG, tag, what_ + ", tag");
    const auto words = Memory::read(buffers_[std::size_t(i)]);
    for (int k = 0; k < n; ++k)
      if (words[std::size_t(k)] != word_of(received_, k)) {
        check(false, what_,
              "message " + std::to_string(received_) + " expected, got " +
                  guess(words, places_of({Layout::contiguous, n}), 2 * received_ + 200));
        break;
      }
    ++received_;
  }
  void skip_one() { ++received_; }
  /// The next message, from a buffer that is used again.
  void send(decltype(&MPI_Send) by = MPI_Send, bool host = false) {
    const auto& buffer = host ? host_ : buffers_[0];
    write_message(buffer, {Layout::contiguous, n}, sent_++);
    check_ok(by(buffer->memory->data(), n, MPI_INT, 1, tag, comm), what_);
  }
  void quiet() { check_ok(MPI_Barrier(comm), what_); }
  const std::string& what() const { return what_; }

 private:
  const std::string what_;
  std::array<Memory::Taken, 100> buffers_;
  Memory::Taken host_;
  Word sent_ = 0, received_ = 0;
};

/// Receives from there on until the order is sure to be right again.
void go_on(Two& two, int times = 6) {
  for (int i = 0; i < times; ++i) {
    MPI_Request requests[3];
    for (int k = 0; two.receives && k < 3; ++k) requests[k] = two.begin(k);
    if (i % 2) two.quiet();
    for (int k = 0; two.sends && k < 3; ++k) two.send(k == 1 ? MPI_Ssend : MPI_Send, k == 2 && i == 2);
    for (int k = 0; two.receives && k < 3; ++k) two.end(requests[k], k);
  }
}

void first_wildcard() {
  Two two("first wildcard");
  for (const auto& [source, tag] :
       {std::pair(MPI_ANY_SOURCE, 1), std::pair(0, MPI_ANY_TAG), std::pair(MPI_ANY_SOURCE, MPI_ANY_TAG)}) {
    MPI_Request requests[3];
    if (two.receives) {
      requests[0] = two.begin(0);
      requests[1] = two.begin(1, source, tag);
      requests[2] = two.begin(2);
    }
    two.quiet();
    for (int k = 0; two.sends && k < 3; ++k) two.send();
    for (int k = 2; two.receives && k >= 0; --k) MPI_Wait(&requests[k], MPI_STATUS_IGNORE);
    MPI_Status as_if;
    as_if.MPI_SOURCE = 0;
    as_if.MPI_TAG = Two::tag;
    MPI_Status_set_elements(&as_if, MPI_INT, Two::n);
    for (int k = 0; two.receives && k < 3; ++k) two.look(k, as_if);
    go_on(two);
  }
}

void probes() {
  Two two("probe in between");
  for (int i = 0; i < 6; ++i) {
    if (two.sends) {
      if (i % 2) usleep(1000);
      two.send(MPI_Bsend);
      two.send(MPI_Bsend);
    }
    if (two.receives) {
      MPI_Status status;
      MPI_Message message;
      MPI_Mprobe(i % 3 ? 0 : MPI_ANY_SOURCE, Two::tag, two.comm, &message, &status);
      auto later = two.begin(1);
      check_ok(MPI_Mrecv(two.at(0), Two::n, MPI_INT, &message, &status), two.what());
      two.look(0, status);
      two.end(later, 1);
    }
    go_on(two, 2);
  }
}

/// `posted`: receives of one stream. Some in the middle are cancelled.
void cancel(int posted) {
  Two two("cancel");
  const int middle = posted / 2;
  std::vector<MPI_Request> requests(static_cast<std::size_t>(posted));
  int cancelled = 0;
  if (two.receives) {
    for (int k = 0; k < posted; ++k) requests[std::size_t(k)] = two.begin(k);
    MPI_Status status;
    check_ok(MPI_Cancel(&requests[std::size_t(middle)]), two.what());
    check_ok(MPI_Wait(&requests[std::size_t(middle)], &status), two.what());
    MPI_Test_cancelled(&status, &cancelled);
    check(cancelled, two.what() + ", cancelled");
  }
  two.quiet();
  for (int k = 1; two.sends && k < posted; ++k) two.send();
  for (int k = 0; two.receives && k < posted; ++k)
    if (k != middle) two.end(requests[std::size_t(k)], k);
  go_on(two);
}

/// Each receive of several may be cancelled while messages come. What was not cancelled gets them
/// in order, and so do as many others that begin later.
void cancel_while_they_come() {
  Two two("cancel while they come");
  constexpr int posted = 12;
  for (int round = 0; round < 40; ++round) {
    two.quiet();
    if (two.sends) {
      usleep(useconds_t(round % 4 * 50));
      for (int k = 0; k < posted; ++k) two.send(MPI_Bsend);
    }
    if (!two.receives) continue;
    MPI_Request requests[posted];
    for (int k = 0; k < posted; ++k) requests[k] = two.begin(k);
    int left = 0;
    bool gone_[posted] = {};
    for (int k = (round * 5) % posted; k < posted; k += 3) {
      MPI_Cancel(&requests[k]);
      gone_[k] = true;
    }
    for (int k = 0; k < posted; ++k) {
      int cancelled = 0;
      MPI_Status status;
      check_ok(MPI_Wait(&requests[k], &status), two.what());
      if (gone_[k]) MPI_Test_cancelled(&status, &cancelled);
      cancelled ? void(++left) : two.look(k, status);
    }
    for (; left > 0; --left) {
      auto request = two.begin(50);
      two.end(request, 50);
    }
  }
}

void a_hundred_receives() {
  Two two("a hundred receives");
  for (int round = 0; round < 3; ++round) {
    std::vector<MPI_Request> requests;
    for (int k = 0; two.receives && k < 100; ++k) requests.push_back(two.begin(k));
    if (round) two.quiet();
    for (int k = 0; two.sends && k < 100; ++k) two.send(k % 7 == 3 ? MPI_Bsend : MPI_Send, k % 10 == 5);
    for (int k = 0; two.receives && k < 100; ++k) two.end(requests[std::size_t(k)], k);
  }
  go_on(two);
}

/// The message is too long, once for a receive that was there before and once for one that was not,
/// in device memory and in host memory.
void too_long() {
  if (!too_long_allowed()) return;
  for (const bool early : {true, false})
    for (const bool host : {false, true})
      for (const bool blocking : {false, true}) {
        Two two("too long");
        MPI_Request request = MPI_REQUEST_NULL;
        if (early && two.receives && !blocking) request = two.begin(0, 0, Two::tag, 100);
        if (early) two.quiet();
        if (two.sends) two.send(MPI_Bsend, host);
        if (!early) two.quiet();
        if (two.receives) {
          if (!early && !blocking) request = two.begin(0, 0, Two::tag, 100);
          check_class(blocking ? MPI_Recv(two.at(0), 100, MPI_INT, 0, Two::tag, two.comm, MPI_STATUS_IGNORE)
                               : MPI_Wait(&request, MPI_STATUS_IGNORE),
                      MPI_ERR_TRUNCATE, two.what());
          two.skip_one();
        }
        go_on(two);
      }
}

/// A communicator is freed while receives and sends on it are under way.
void freed_communicator() {
  for (const bool late : {false, true}) {
    Two two("freed communicator");
    MPI_Request requests[4];
    if (two.receives)
      for (int k = 0; k < 4; ++k) requests[k] = two.begin(k);
    if (late) two.quiet();
    std::vector<MPI_Request> sent(4);
    for (int k = 0; two.sends && k < 4; ++k) {
      static Memory::Taken buffers[4];
      if (!buffers[k]) buffers[k] = Memory::take(kind_of(true), Two::n, false);
      write_message(buffers[k], {Layout::contiguous, Two::n}, Word(20 + k));
      MPI_Isend(buffers[k]->memory->data(), Two::n, MPI_INT, 1, Two::tag, two.comm, &sent[std::size_t(k)]);
    }
    MPI_Comm_free(&two.comm);
    if (two.receives) {
      usleep(5000);
      for (int k = 0; k < 4; ++k) two.end(requests[k], k);
    }
    if (two.sends) MPI_Waitall(4, sent.data(), MPI_STATUSES_IGNORE);
  }
}

/// Persistent requests, with the receives first and the sends first by turns.
void persistent_by_turns() {
  Two two("persistent");
  MPI_Request request = MPI_REQUEST_NULL;
  const auto buffer = Memory::take(kind_of(true), Two::n, false);
  if (two.sends) MPI_Send_init(buffer->memory->data(), Two::n, MPI_INT, 1, Two::tag, two.comm, &request);
  if (two.receives) MPI_Recv_init(two.at(7), Two::n, MPI_INT, 0, Two::tag, two.comm, &request);
  for (int i = 0; i < 20; ++i) {
    const bool first = i % 2 ? two.sends : two.receives;
    if (two.sends) write_message(buffer, {Layout::contiguous, Two::n}, Word(20 + i));
    if (first && request != MPI_REQUEST_NULL) check_ok(MPI_Start(&request), two.what());
    two.quiet();
    if (!first && request != MPI_REQUEST_NULL) check_ok(MPI_Start(&request), two.what());
    if (two.receives) two.end(request, 7);
    if (two.sends) check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), two.what());
  }
  if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
}

/// Completes requests by one kind of call. There may be null requests among them. `statuses` gets
/// those of the first requests, unless the calls are told to ignore them.
void complete_all(End by, std::vector<MPI_Request> requests, std::span<MPI_Status> statuses, bool ignored,
                  const std::string& what) {
  const int n = int(requests.size());
  std::vector<MPI_Status> all(requests.size());
  std::vector<int> indices(requests.size());
  const auto active = [&] {
    return std::any_of(requests.begin(), requests.end(), [](auto r) { return r != MPI_REQUEST_NULL; });
  };
  int flag = 0, some = 0, index = MPI_UNDEFINED;
  MPI_Status one;
  const auto keep = [&](int i, const MPI_Status& status) {
    if (std::size_t(i) < statuses.size()) statuses[std::size_t(i)] = status;
  };
  for (; active(); sched_yield()) switch (by) {
      case End::test:
        for (int i = 0; i < n; ++i) {
          if (requests[std::size_t(i)] == MPI_REQUEST_NULL) continue;
          check_ok(MPI_Test(&requests[std::size_t(i)], &flag, ignored ? MPI_STATUS_IGNORE : &one), what);
          if (flag) keep(i, one);
        }
        break;
      case End::testall:
        check_ok(MPI_Testall(n, requests.data(), &flag, ignored ? MPI_STATUSES_IGNORE : all.data()), what);
        for (int i = 0; flag && i < n; ++i) keep(i, all[std::size_t(i)]);
        break;
      case End::testany:
      case End::waitany:
        flag = 1;
        check_ok(by == End::testany ? MPI_Testany(n, requests.data(), &index, &flag, ignored ? MPI_STATUS_IGNORE : &one)
                                    : MPI_Waitany(n, requests.data(), &index, ignored ? MPI_STATUS_IGNORE : &one),
                 what);
        check((index != MPI_UNDEFINED) == bool(flag), what, "the index");
        if (flag && index != MPI_UNDEFINED) keep(index, one);
        break;
      case End::testsome:
      case End::waitsome: {
        const auto call = by == End::testsome ? MPI_Testsome : MPI_Waitsome;
        check_ok(call(n, requests.data(), &some, indices.data(), ignored ? MPI_STATUSES_IGNORE : all.data()), what);
        for (int k = 0; k < some; ++k) keep(indices[std::size_t(k)], all[std::size_t(k)]);
        break;
      }
      default:
        check_ok(MPI_Waitall(n, requests.data(), ignored ? MPI_STATUSES_IGNORE : all.data()), what);
        for (int i = 0; i < n; ++i) keep(i, all[std::size_t(i)]);
    }
}

/// Messages that are completed by every call, with and without statuses.
void every_completing_call() {
  Two two("every completing call");
  std::array<Memory::Taken, 3> from;
  for (auto& buffer : from) buffer = Memory::take(kind_of(true), Two::n, false);
  Word sent = 20;
  for (const auto by :
       {End::test, End::testall, End::testany, End::waitany, End::testsome, End::waitsome, End::waitall})
    for (int round = 0; round < 6; ++round) {
      std::vector<MPI_Request> requests;
      for (int k = 0; two.receives && k < 3; ++k) requests.push_back(two.begin(k));
      two.quiet();
      for (int k = 0; two.sends && k < 3; ++k) {
        auto& buffer = from[std::size_t(k)];
        write_message(buffer, {Layout::contiguous, Two::n}, sent++);
        check_ok(MPI_Isend(buffer->memory->data(), Two::n, MPI_INT, 1, Two::tag, two.comm, &requests.emplace_back()),
                 two.what());
      }
      if (requests.empty()) continue;
      requests.push_back(MPI_REQUEST_NULL);
      std::array<MPI_Status, 3> statuses;
      const bool ignored = round % 3 == 2;
      complete_all(by, requests, statuses, ignored, two.what());
      for (int k = 0; two.receives && k < 3; ++k) {
        if (ignored) {
          statuses[0].MPI_SOURCE = 0;
          statuses[0].MPI_TAG = Two::tag;
          MPI_Status_set_elements(&statuses[0], MPI_INT, Two::n);
        }
        two.look(k, statuses[ignored ? 0 : std::size_t(k)]);
      }
    }
  for (auto& buffer : from) Memory::give(buffer);
}

void parts() {
  std::vector<char> attached(8 << 20);
  MPI_Buffer_attach(attached.data(), int(attached.size()));
  first_wildcard();
  probes();
  cancel(3);
  cancel(40);
  cancel_while_they_come();
  a_hundred_receives();
  too_long();
  freed_communicator();
  persistent_by_turns();
  every_completing_call();
  void* at;
  int size;
  MPI_Buffer_detach(&at, &size);
}

CONTRACT_PROGRAM(channels) {
  Contract contract("channels", &argc, &argv);
  if (contract.ranks < 2) return contract.finish();
  const auto traffic = [](unsigned seed, int episodes) {
    Traffic all(seed);
    for (int i = 0; i < episodes; ++i) all.episode(i);
  };
  if (argc > 2) {
    traffic(unsigned(std::atoi(argv[1])), std::atoi(argv[2]));
  } else {
    parts();
    for (const unsigned seed : {1u, 2u, 3u}) traffic(seed, 15);
  }
  return contract.finish();
}

}  // namespace channels_contract
