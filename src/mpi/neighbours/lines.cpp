#include "mpi/neighbours/lines.hpp"

#include <algorithm>
#include <map>

#include "mpi/process/arrivals.hpp"
#include "mpi/process/communicators.hpp"
#include "mpi/process/failure.hpp"
#include "transport/shm/patience.hpp"

namespace dunnage::mpi {
namespace {

using Stay = transport::shm::Publications::Stay;
using transport::gpu::line_size;

/// No edge and no operation has this tag (Neighbourhood::next_tags).
constexpr int line_tag = 32767;

/// By which a receiver finds a line.
struct Invitation {
  std::uint64_t begin = 0, serial = 0;
  std::uint64_t edges = 0;  // 0: there is no line
};

/// Sends one T to each target and receives one from each source.
template <class T>
bool tell(MPI_Comm comm, const std::map<int, T>& out, std::map<int, T>& in) {
  const auto& own = process->own;
  std::vector<MPI_Request> requests;
  requests.reserve(out.size() + in.size());
  constexpr int size = sizeof(T);
  bool well = true;
  for (auto& [peer, value] : in)
    well &= own.Irecv(&value, size, MPI_BYTE, peer, line_tag, comm, &requests.emplace_back()) == MPI_SUCCESS;
  for (const auto& [peer, value] : out)
    well &= own.Isend(&value, size, MPI_BYTE, peer, line_tag, comm, &requests.emplace_back()) == MPI_SUCCESS;
  return well && own.Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE) == MPI_SUCCESS;
}

}  // namespace

PublishedLine::~PublishedLine() {
  if (!process->world) return;
  auto& publications = process->world->publications;
  refused_ ? publications.withdraw(place_) : publications.end(place_);
}

FoundLine::~FoundLine() {
  if (!process->world) (void)place_.release();  // the sender's memory is no longer mapped
}

std::shared_ptr<Lines> Lines::connect(const Neighbourhood& hood, MPI_Comm messages, const Edges* persistent) {
  auto lines = std::make_shared<Lines>();
  lines->announced_.resize(hood.targets.size());
  lines->watched_.resize(hood.sources.size());
  int self = MPI_PROC_NULL;
  process->own.Comm_rank(messages, &self);
  auto* world = process->world.get();
  const auto near = [&](int rank) { return world && world->peers.near(static_cast<std::uint32_t>(rank)); };

  std::map<int, std::unique_ptr<PublishedLine>> out;
  std::map<int, Invitation> invitations, invited;
  for (auto& [peer, places] : by_peer(hood.targets, self)) {
    auto& invitation = invitations[peer];
    const int rank = world_rank(messages, peer);
    if (!near(rank)) continue;
    const auto published = world->publications.publish(line_size(places.size()), 1, nullptr, Stay::standing);
    if (!published) continue;
    invitation = {published->begin, published->serial, places.size()};
    out[peer] = std::make_unique<PublishedLine>(static_cast<std::uint32_t>(rank), std::move(places), *published);
    if (!persistent) continue;
    out[peer]->take(persistent->sends);
    out[peer]->watch_first();
  }
  const auto sources = by_peer(hood.sources, self);
  for (const auto& [peer, places] : sources) invited[peer];
  bool well = tell(messages, invitations, invited);

  std::ptrdiff_t lower = 0;  // lines from ranks below this one
  std::map<int, int> accepted, answers;
  for (const auto& [peer, invitation] : invitations) answers[peer] = 0;
  for (auto& [peer, invitation] : invited) {
    auto& answer = accepted[peer] = 0;
    const auto& places = sources.at(peer);
    const int rank = world_rank(messages, peer);
    if (!well || invitation.edges != places.size() || !near(rank)) continue;
    auto found = world->published(static_cast<std::uint32_t>(rank), invitation.begin, invitation.serial,
                                  line_size(places.size()));
    if (!found) continue;
    answer = 1;
    if (peer < self) ++lower;
    lines->in_.push_back(std::make_unique<FoundLine>(static_cast<std::uint32_t>(rank), places, std::move(*found)));
  }
  well = tell(messages, accepted, answers) && well;
  // If all ranks read from the lowest rank first, and so on, they share its link.
  std::rotate(lines->in_.begin(), lines->in_.begin() + lower, lines->in_.end());
  for (auto& [peer, line] : out) {
    if (well && answers[peer])
      lines->out_.push_back(std::move(line));
    else if (well)
      line->refused();
  }
  if (persistent)
    for (auto& line : lines->in_)
      guarded([&] { line->take(persistent->receives); });  // after an error fetch() tells it
  lines->find_moment();
  return lines->in_.empty() && lines->out_.empty() ? nullptr : lines;
}

int Lines::begin(Hook hook, const Edges* edges) {
  ++exchange_;
  in_use_ = fetching_ = false;
  for (const auto& line : in_) line->prefetch_news();
  // While the neighbours hear of the data, this rank gets ready for theirs.
  begin_sends(hook, edges);
  begun_ = std::chrono::steady_clock::now();
  return begin_receives(edges);
}

void Lines::begin_sends(Hook hook, const Edges* edges) {
  const auto begin = [&](PublishedLine& line) {
    const bool announced = line.begin(exchange_);
    for (const auto edge : line.edges()) announced_[edge] = announced;
    in_use_ |= announced;
    if (announced && process->reporting) line.count(hook);
  };
  for (auto& line : out_) {
    if (edges) line->take(edges->sends);
    line->begin_packing(exchange_);
    if (!line->packing()) begin(*line);
  }
  for (auto& line : out_)
    if (line->packing()) begin(*line);
}

int Lines::begin_receives(const Edges* edges) {
  int code = MPI_SUCCESS;
  if (edges)
    code = guarded([&] {
      bool changed = false;
      for (auto& line : in_) changed |= line->take(edges->receives);
      if (!changed) return;
      plan_.reset();
      find_moment();
    });
  for (auto& line : in_) {
    line->begin(exchange_);
    const bool watched = line->news() != InLine::News::messages;
    for (const auto edge : line->edges()) watched_[edge] = watched;
    in_use_ |= watched;
  }
  return code;
}

bool Lines::all_rung() const {
  return !in_.empty() &&
         std::all_of(in_.begin(), in_.end(), [](const auto& line) { return line->told() == InLine::News::rung; });
}

Lines::Moves Lines::bring(const std::shared_ptr<LocalMoves>& moves, bool all_told,
                          const std::function<void(int)>& note) {
  auto local = moves ? Moves::begin : Moves::done;
  const bool begun_alone = !moves && plan_ && plan_->moves;
  const bool together = all_told && !fetching_ && !begun_alone && all_rung() && planned(moves);
  bool in_place = true;
  rung_.clear();
  for (auto& line : in_) {
    if (line->ended() || line->fetched() || line->told() != InLine::News::rung) continue;
    rung_.push_back(line.get());
    in_place &= line->take_in_place();
  }
  if (rung_.empty()) return local;
  fetching_ = true;
  if (together && in_place) {
    const auto end = [&] {
      mappings_.clear();  // before a sender may free its memory
      for (auto* line : rung_) line->end();
    };
    if (const int code = guarded([&] { run_plan(end); }); code != MPI_SUCCESS) {
      end();
      note(code);
    }
    return Moves::done;
  }
  mappings_.clear();
  for (auto* line : rung_) line->fetch(note);
  return local;
}

bool Lines::plan_fits(const std::shared_ptr<LocalMoves>& moves) const {
  if (!plan_ || plan_->moves != moves) return false;
  for (std::size_t i = 0; i < in_.size(); ++i)
    if (plan_->described[i] != in_[i]->line().described() || !in_[i]->buffers().there()) return false;
  return true;
}

bool Lines::keep_mappings() {
  mappings_.clear();
  for (const auto& mapping : plan_->mappings) {
    mappings_.push_back(mapping.lock());
    if (!mappings_.back()) return false;
  }
  return true;
}

bool Lines::planned(const std::shared_ptr<LocalMoves>& moves) {
  if (!plan_fits(moves) || !keep_mappings()) {
    plan_.reset();
    mappings_.clear();
    if (guarded([&] { make_plan(moves); }) != MPI_SUCCESS) plan_.reset();
  }
  return plan_ && plan_->prepared;
}

void Lines::make_plan(const std::shared_ptr<LocalMoves>& moves) {
  plan_.emplace();
  plan_->moves = moves;
  for (const auto& line : in_) plan_->described.push_back(line->line().described());
  const bool moves_too = moves && moves->bytes() > 0;
  if (moves_too) {
    if (!moves->ranges()) return;
    plan_->context = moves->context();
    plan_->bytes = moves->bytes();
  }
  for (const auto& line : in_)
    if (!add_to_plan(*line)) return;
  std::vector<pack::gpu::MoveRange> ranges;
  for (const auto& range : plan_->ranges) {
    ranges.push_back({range.from, range.to, range.size});
    if (!pack::gpu::fuses(ranges.back())) return;
  }
  // Last: a GPU's blocks begin in this order, and data of others take longer.
  if (moves_too)
    for (const auto& range : *moves->ranges()) ranges.push_back(range);
  if (!ranges.empty()) plan_->prepared.emplace(ranges);
}

bool Lines::add_to_plan(const InLine& line) {
  const auto& driver = *device::driver();
  const auto sources = line.line().sources();
  if (line.buffers().count() != sources.size()) return false;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto& source = sources[i];
    if (source.size == 0) continue;
    if (source.size > line.buffers().bytes(i) || source.size >= most_prepared) return false;
    const auto there = destination(driver, memory::Landing{line.buffers()[i]}, source);
    if (!there.to || (plan_->context && plan_->context != there.context)) return false;
    plan_->context = there.context;
    const device::Scope scope(driver, there.context);
    const transport::gpu::Remote remote(driver, source);
    plan_->ranges.push_back({remote.described(), *there.to, source.size});
    plan_->mappings.push_back(remote.mapping());
    mappings_.push_back(remote.mapping());
    plan_->bytes += source.size;
  }
  return true;
}

void Lines::run_plan(base::FunctionRef<void()> moved) {
  const base::Range range("exchange in one launch", plan_->bytes);
  run(plan_->context, *plan_->prepared, moved);
}

void Lines::find_moment() {
  std::int64_t bytes = 0;
  for (const auto& line : in_) bytes += line->buffers().bytes();
  moment_ = std::chrono::microseconds(10) + FetchBatch::worth_waiting(bytes);
}

bool Lines::quiet() const {
  bool waits = false;
  for (const auto& line : in_) {
    if (line->ended()) continue;
    if (line->fetched()) return false;
    if (line->told() != InLine::News::none) continue;
    if (!line->quiet()) return false;
    waits = true;
  }
  if (waits) return true;
  for (const auto& line : out_) {
    if (!line->under_way()) continue;
    if (!line->quiet()) return false;
    waits = true;
  }
  return waits;
}

bool Lines::received() const {
  return std::all_of(in_.begin(), in_.end(), [](const auto& line) { return line->ended(); });
}

bool Lines::sent() {
  bool all = true;
  for (auto& line : out_) all &= line->ended();
  return all;
}

bool Lines::forsaken() const {
  const auto gone = [](std::uint32_t rank) {
    const auto* memory = process->world->peers.memory(rank);
    return !memory || !memory->alive();
  };
  return std::any_of(in_.begin(), in_.end(),
                     [&](const auto& line) { return !line->ended() && gone(line->sender()); }) ||
         std::any_of(out_.begin(), out_.end(),
                     [&](const auto& line) { return line->under_way() && gone(line->receiver()); });
}

void Lines::give_up() {
  for (transport::shm::Patience patience; !sent(); patience.wait())
    if (patience.doubts() && forsaken()) return;
}

}  // namespace dunnage::mpi
