#include "mpi/neighbours/messages.hpp"

#include <algorithm>
#include <optional>

#include "base/relax.hpp"
#include "mpi/completion/calls.hpp"
#include "mpi/hooks/nonblocking.hpp"
#include "mpi/message/buffer.hpp"
#include "mpi/message/progress.hpp"
#include "mpi/process/arrivals.hpp"
#include "mpi/process/world_returns_errors.hpp"
#include "mpi/ways/own_message.hpp"
#include "transport/shm/patience.hpp"

namespace dunnage::mpi {
namespace {

SendCall send_call(Hook hook, const EdgeData& data, const Edge& edge, int tags, MPI_Comm comm, bool persistent,
                   bool apart) {
  return {hook, data.buffer, data.count, data.type, edge.peer, edge.tag + tags, comm, most_elements(persistent), apart};
}
ReceiveCall receive_call(Hook hook, const EdgeData& data, const Edge& edge, int tags, MPI_Comm comm, bool persistent,
                         bool apart) {
  return {hook, const_cast<void*>(data.buffer), data.count, data.type, edge.peer, edge.tag + tags,
          comm, most_elements(persistent),      apart};
}

int first_error(const std::vector<MPI_Status>& statuses) {
  const auto bad = std::find_if(statuses.begin(), statuses.end(), [](const MPI_Status& status) {
    return status.MPI_ERROR != MPI_SUCCESS && status.MPI_ERROR != MPI_ERR_PENDING;
  });
  return bad != statuses.end() ? bad->MPI_ERROR : MPI_ERR_OTHER;
}

}  // namespace

bool wrong(const Edges& edges, bool persistent) {
  const auto bad = [most = most_elements(persistent)](const EdgeData& one) {
    return one.count < 0 || one.count > most || one.type == MPI_DATATYPE_NULL;
  };
  return std::any_of(edges.sends.begin(), edges.sends.end(), bad) ||
         std::any_of(edges.receives.begin(), edges.receives.end(), bad);
}

bool in_device_memory(const Edges& edges) try {
  const auto there = [](const EdgeData& one) {
    return one.count > 0 && one.type != MPI_DATATYPE_NULL &&
           on_gpu(one.buffer, one.count, one.type, known_type(one.type));
  };
  return std::any_of(edges.sends.begin(), edges.sends.end(), there) ||
         std::any_of(edges.receives.begin(), edges.receives.end(), there);
} catch (const std::exception&) {
  return false;
}

void Messages::make_room(const Neighbourhood& hood) {
  const auto requests = hood.sources.size() + hood.targets.size();
  requests_.reserve(requests);
  loops_.reserve(requests);
  ended_.reserve(requests);
}

void Messages::lay_out(const Neighbourhood& hood) {
  sources_ = hood.sources.size();
  requests_.assign(sources_ + hood.targets.size(), MPI_REQUEST_NULL);
  loops_.assign(requests_.size(), false);
  const auto next =
      std::find_if(hood.sources.begin(), hood.sources.end(), [&](const Edge& edge) { return edge.peer > comm_->rank; });
  first_ = next == hood.sources.end() ? 0 : static_cast<std::size_t>(next - hood.sources.begin());
  for (const auto& loop : hood.loops) loops_[place_of(loop.source)] = loops_[sources_ + loop.target] = true;
  const auto all_loops = [](auto begin, auto end) { return std::all_of(begin, end, [](bool loop) { return loop; }); };
  const auto targets = loops_.begin() + static_cast<std::ptrdiff_t>(sources_);
  receives_ = !all_loops(loops_.begin(), targets);
  alone_ = !receives_ && all_loops(targets, loops_.end());
}

int Messages::begin_receive(std::size_t source) {
  auto& request = requests_[place_of(source)];
  ended_[place_of(source)] = false;
  by_messages_ = true;
  if (persistent_) return mpi::start(Hook::MPI_Start, process->own.Start, &request);
  return begin_own_receive(receive_call(hook_, edges_->receives[source], comm_->ends_of(hood_->sources[source]), 0,
                                        comm_->comm, false, waits_),
                           &request);
}

int Messages::begin_send(std::size_t target) {
  auto& request = requests_[sources_ + target];
  ended_[sources_ + target] = false;
  by_messages_ = true;
  if (persistent_) return mpi::start(Hook::MPI_Start, process->own.Start, &request);
  return begin_own_send(
      send_call(hook_, edges_->sends[target], comm_->ends_of(hood_->targets[target]), 0, comm_->comm, false, waits_),
      &request);
}

int Messages::begin_all(const Edges* edges) {
  // First, because other ranks wait for that.
  int code = lines_ ? lines_->begin(hook_, edges) : MPI_SUCCESS;
  if (edges) lay_out(*hood_);
  ended_.assign(requests_.size(), true);
  by_messages_ = false;
  if (code == MPI_SUCCESS && edges) code = find_moves(*edges);
  for (std::size_t i = 0; i < sources_ && code == MPI_SUCCESS; ++i)
    if (!loops_[place_of(i)] && !(lines_ && lines_->watched(i))) code = begin_receive(i);
  for (std::size_t i = 0; i < requests_.size() - sources_ && code == MPI_SUCCESS; ++i)
    if (!loops_[sources_ + i] && !(lines_ && lines_->announced(i))) code = begin_send(i);
  return code == MPI_SUCCESS ? code : take_back(code);
}

int Messages::find_moves(const Edges& edges) {
  if (!LocalMoves::needed(hood_->loops, edges)) return MPI_SUCCESS;
  auto& last = hood_->last_moves;
  const int code = guarded([&] {
    if (!last || !last->fits(hood_->loops, edges)) last = std::make_shared<LocalMoves>(hood_->loops, edges);
  });
  moves_ = last;
  return code;
}

const Edges& Messages::from_snapshot(const Neighbourhood& hood, const Edges& edges, std::shared_ptr<Snapshot> last) {
  if (!edges.in_place) return edges;
  int code = guarded(
      [&] { snapshot_ = last && last->fits(edges) ? std::move(last) : std::make_shared<Snapshot>(hood.loops, edges); });
  if (code == MPI_SUCCESS && wrong(snapshot_->edges(), persistent_)) code = MPI_ERR_COUNT;
  if (code == MPI_SUCCESS) return snapshot_->edges();
  snapshot_ = nullptr;
  without_snapshot_ = code;
  return edges;
}

void Messages::take_snapshot() {
  note(without_snapshot_);
  if (snapshot_) note(snapshot_->take());
}

int Messages::begin(Neighbourhood& hood, const Edges& edges, bool waits) {
  make_room(hood);
  waits_ = waits;
  hood_ = &hood;
  if (waits) lines_ = hood.lines;
  edges_ = &edges;
  if (edges.in_place) {
    auto last = std::exchange(hood.last_snapshot, nullptr);
    if (last && last.use_count() > 1) last.reset();  // a call that is under way sends from it
    edges_ = &from_snapshot(hood, edges, std::move(last));
    if (snapshot_ && snapshot_->bytes() < most_prepared) hood.last_snapshot = snapshot_;
    take_snapshot();
  }
  return begin_all(edges_);
}

int Messages::init(const Neighbourhood& hood, const Edges& given, int tags) {
  persistent_ = true;
  const auto& edges = from_snapshot(hood, given, nullptr);
  // All ranks connect, whatever happens below.
  int code = guarded([&] {
    lines_ = Lines::connect(hood, comm_->comm, &edges);
    if (LocalMoves::needed(hood.loops, edges)) moves_ = std::make_shared<LocalMoves>(hood.loops, edges);
  });
  if (code != MPI_SUCCESS) return code;
  make_room(hood);
  lay_out(hood);
  for (std::size_t i = 0; i < hood.sources.size() && code == MPI_SUCCESS; ++i)
    if (!loops_[place_of(i)])
      code = init_own_receive(receive_call(hook_, edges.receives[i], hood.sources[i], tags, comm_->comm, true, true),
                              &requests_[place_of(i)]);
  for (std::size_t i = 0; i < hood.targets.size() && code == MPI_SUCCESS; ++i)
    if (!loops_[sources_ + i])
      code = init_own_send(send_call(hook_, edges.sends[i], hood.targets[i], tags, comm_->comm, true, true),
                           &requests_[sources_ + i]);
  if (code != MPI_SUCCESS) free();
  return code;
}

int Messages::start() {
  moved_ = false;
  code_ = MPI_SUCCESS;
  take_snapshot();
  return begin_all(nullptr);
}

void Messages::begin_moves() {
  if (!moves_ || std::exchange(moved_, true)) return;
  std::optional<Accelerated> counted;
  if (const auto bytes = moves_->bytes()) counted.emplace(hook_, bytes);
  // They go with what comes from others, and let messages go on meanwhile.
  const auto done = receives_ || by_messages_ ? std::nullopt : moves_->run();
  note(done ? *done : moves_->begin());
}

void Messages::go_on_by_lines() {
  const auto receive = [&](std::size_t source) {
    if (const int code = begin_receive(source); code != MPI_SUCCESS) note(code);
  };
  const auto state = lines_->go_on(moved_ ? nullptr : moves_, receive, [&](int code) { note(code); });
  if (state == Lines::Moves::done) moved_ = true;
  if (state == Lines::Moves::begin) begin_moves();
}

int Messages::wait_with_lines() {
  // A look at lines and messages takes a microsecond, and one at quiet lines less than a tenth of
  // that. A round with looks at quiet lines takes longer, so the MPI makes progress after fewer
  // rounds.
  constexpr int spins = 50;
  const int looks = transport::shm::Patience::crowded() ? 0 : 32;
  const int rounds_between = looks > 0 ? polls_between / 4 : polls_between;
  transport::shm::Patience patience(spins);
  for (int round = 1; !test(); ++round, patience.wait()) {
    for (int look = 0; look < looks && !by_messages_ && lines_->quiet(); ++look) base::relax();
    if (round % rounds_between == 0) {
      let_mpi_progress();
      progress_receives();
    }
    if (patience.doubts() && lines_->forsaken()) return MPI_ERR_OTHER;
  }
  return code_;
}

int Messages::wait() {
  if (lines_ && lines_->in_use()) return wait_with_lines();
  FetchBatch batch(FetchBatch::Outer::leave, FetchBatch::When::together);
  batch.about(count());  // last, because the link to others is busy longer than this rank's memory
  begin_moves();
  if (!alone_) {
    const WorldReturnsErrors guard;
    std::vector<MPI_Status> statuses(requests_.size());
    const int code = waitall(Hook::MPI_Waitall, process->own.Waitall, count(), requests_.data(), statuses.data());
    if (code != MPI_SUCCESS) note(code == MPI_ERR_IN_STATUS ? first_error(statuses) : code);
    // After an error MPICH may have left some under way. The neighbours send their messages all the
    // same, and a later collective must not receive them.
    for (auto& request : requests_)
      if (code != MPI_SUCCESS) mpi::wait(Hook::MPI_Wait, process->own.Wait, &request, MPI_STATUS_IGNORE);
  }
  note(batch.finish());
  return code_;
}

bool Messages::test_one(std::size_t i) {
  if (ended_[i]) return true;
  int flag = 0;
  const int code = mpi::test(Hook::MPI_Test, process->own.Test, &requests_[i], &flag, MPI_STATUS_IGNORE);
  if (code != MPI_SUCCESS) note(code);
  ended_[i] = flag || code != MPI_SUCCESS;
  return ended_[i];
}

bool Messages::test() {
  std::optional<WorldReturnsErrors> guard;
  const auto guard_messages = [&] {
    if (by_messages_ && !guard) guard.emplace();
  };
  guard_messages();
  bool ended = true;
  {
    FetchBatch batch;  // what has come goes together
    if (lines_) go_on_by_lines();
    guard_messages();  // a line may have told that messages come
    for (std::size_t i = 0; i < sources_; ++i) ended &= test_one(i);
    if (!lines_) begin_moves();
    note(batch.finish());
  }
  if (lines_) ended &= lines_->received();
  // Sends may wait for a receiver that waits for what this process receives.
  if (ended && lines_) ended = lines_->sent();
  for (std::size_t i = sources_; ended && i < requests_.size(); ++i) ended &= test_one(i);
  return ended;
}

void Messages::free() {
  for (auto& request : requests_)
    if (request != MPI_REQUEST_NULL) request_free(Hook::MPI_Request_free, process->own.Request_free, &request);
}

int Messages::take_back(int code) {
  const WorldReturnsErrors guard;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    auto& request = requests_[i];
    if (request == MPI_REQUEST_NULL || ended_[i]) continue;
    if (i < sources_) cancel(Hook::MPI_Cancel, process->own.Cancel, &request);
    mpi::wait(Hook::MPI_Wait, process->own.Wait, &request, MPI_STATUS_IGNORE);
  }
  if (lines_) lines_->give_up();
  return code;
}

}  // namespace dunnage::mpi
