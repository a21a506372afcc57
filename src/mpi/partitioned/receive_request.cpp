#include "mpi/partitioned/receive_request.hpp"

#include <algorithm>
#include <mutex>

#include "mpi/message/buffer.hpp"
#include "mpi/message/fetch_batch.hpp"
#include "mpi/message/progress.hpp"
#include "mpi/process/arrivals.hpp"
#include "mpi/process/world_returns_errors.hpp"
#include "mpi/ways/own_message.hpp"

namespace dunnage::mpi {
namespace {

/// Receives that know their senders. Never destroyed: requests may outlive other statics.
struct Known {
  std::mutex mutex;
  std::vector<PartitionedReceive*> all;
};
Known& known_receives() {
  static auto* all = new Known;
  return *all;
}

/// Begins to fetch the message of a receive if it is there. Returns whether it may have ended.
bool fetch_one(MPI_Request request, FetchBatch& batch, int index) {
  if (!one_thread_at_a_time()) return true;  // our own thread may look at it too; MPI_Test knows how
  auto* const receive = process->requests.find(key_of(request));
  return !receive || receive->delivered || deliver_if_there(*receive, request, batch, index);
}

}  // namespace

PartitionedReceive::~PartitionedReceive() {
  end_looking_after();
  if (known_ && !tags_passed_on_) forget_channels();
  auto& known = known_receives();
  const std::lock_guard lock(known.mutex);
  std::erase(known.all, this);
  if (name_) forget_introduction(*name_);
}

void PartitionedReceive::forget_channels() {
  const auto pieces = static_cast<int>(sender_->pieces.count());
  end_own_receives({sender_->name.source, sender_->first_tag, pieces, private_world()});
}

void PartitionedReceive::expect_from(int source, Origin& origin) {
  name_ = {origin.lineage(), source, call().tag, origin.next_message(false, source, call().tag)};
}

int PartitionedReceive::restart() {
  begun_ = false;
  waiting_.clear();
  if (!to_nobody()) begin_if_known();
  return MPI_SUCCESS;
}

bool PartitionedReceive::take_tags() {
  auto& known = known_receives();
  const std::lock_guard lock(known.mutex);
  const auto overlaps = [&](const PartitionedReceive* other) {
    const auto &a = *sender_, &b = *other->sender_;
    return a.name.source == b.name.source && a.first_tag < b.first_tag + b.pieces.count() &&
           b.first_tag < a.first_tag + a.pieces.count();
  };
  for (const auto* other : known.all)
    if (overlaps(other) && other->active) return false;
  for (auto* other : known.all)
    if (overlaps(other)) other->tags_passed_on_ = true;
  known.all.push_back(this);
  return true;
}

bool PartitionedReceive::know_sender() {
  if (known_) return true;
  if (!sender_) sender_ = introduction_of(*name_);
  if (!sender_) return false;
  name_.reset();
  if (!take_tags()) return false;
  known_ = true;
  forget_channels();
  const auto& pieces = sender_->pieces;
  const auto element = partition_bytes() == 0 ? 0 : partition_bytes() / call().count;
  in_place_ = pieces.total() == room() && (element == 0 || pieces.bytes % element == 0);
  arrivals_ = plan::Arrivals(pieces, call().partitions, partition_bytes());
  return true;
}

bool PartitionedReceive::begin_if_known() {
  if (!begun_ && know_sender()) begin_receives();
  return begun_;
}

void PartitionedReceive::begin_receives() {
  begun_ = true;
  arrivals_.start();
  const auto& pieces = sender_->pieces;
  if (pieces.total() > room()) note(MPI_ERR_TRUNCATE);
  if (!in_place_ && !packed_) packed_ = process->staging.take(std::max<std::int64_t>(pieces.total(), 1));
  for (std::int64_t piece = 0; piece < pieces.count(); ++piece) {
    waiting_.emplace_back(piece, MPI_REQUEST_NULL);
    note(in_place_ || packed_ ? begin_receive(piece) : MPI_ERR_NO_MEM);
  }
}

int PartitionedReceive::begin_receive(std::int64_t piece) {
  const auto [begin, end] = sender_->pieces.bytes_of(piece);
  ReceiveCall message{call().hook,          nullptr,
                      end - begin,          MPI_PACKED,
                      sender_->name.source, sender_->first_tag + static_cast<int>(piece),
                      private_world(),      most_elements(false)};
  if (!in_place_) {
    message.buffer = packed_.data() + begin;
  } else if (begin == end) {
    message.buffer = call().buffer;
    message.type = call().type;
  } else {
    const auto bytes = partition_bytes() / call().count;
    message.buffer = element(begin / bytes);
    message.count = (end - begin) / bytes;
    message.type = call().type;
  }
  if (message.count > message.most) return MPI_ERR_COUNT;
  return begin_own_receive(message, &waiting_.back().second);
}

bool PartitionedReceive::fetch(FetchBatch& batch, int index) {
  if (to_nobody()) return true;
  if (!begin_if_known()) return false;
  bool all = true;
  for (const auto& [piece, request] : waiting_) all &= fetch_one(request, batch, index);
  return all;
}

template <class F>
void PartitionedReceive::look(F&& wanted) {
  FetchBatch batch;
  std::vector<std::int64_t> there, come;
  for (const auto& [piece, request] : waiting_)
    if (wanted(piece) && fetch_one(request, batch, 0)) there.push_back(piece);
  for (const auto& failure : batch.finish()) note(failure.code);
  auto next = there.begin();  // pieces have one order in both lists
  std::erase_if(waiting_, [&](auto& one) {
    auto& [piece, request] = one;
    if (next == there.end() || *next != piece) return false;
    ++next;
    if (!message_ended(request)) return false;
    come.push_back(piece);
    return true;
  });
  for (const auto& failure : batch.finish()) note(failure.code);
  for (const auto piece : come)
    arrivals_.come(piece, [&](std::int64_t partition) { note(in_place_ ? MPI_SUCCESS : deliver(partition)); });
}

int PartitionedReceive::deliver(std::int64_t partition) {
  if (failure() != MPI_SUCCESS) return MPI_SUCCESS;  // the bytes may not be there
  return guarded([&] {
    const auto bytes = partition_bytes();
    const auto place = buffer_of(element(partition * call().count), call().count, call().type);
    place.unpack(packed_.data() + partition * bytes, 0, bytes);
  });
}

bool PartitionedReceive::move_on() {
  if (to_nobody()) return true;
  if (!begin_if_known()) return false;
  look([](std::int64_t) { return true; });
  return arrivals_.all();
}

bool PartitionedReceive::arrived(std::int64_t partition) {
  const Step step(*this);
  if (ended() || to_nobody()) return true;
  if (!begin_if_known()) return false;
  const auto [begin, end] = arrivals_.pieces_of(partition);
  const WorldReturnsErrors guard;
  look([begin = begin, end = end](std::int64_t piece) { return begin <= piece && piece < end; });
  const bool has = arrivals_.has(partition);
  // Pieces that come by channels need no call of the MPI, but other ranks may.
  if (!has && ++looks_in_vain_ % polls_between == 0) let_mpi_progress();
  return has;
}

int PartitionedReceive::arrive(MPI_Status& status) {
  if (to_nobody())
    tell_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
  else
    tell_status(status, call().peer, call().tag, std::min(sender_->pieces.total(), room()));
  return end();
}

}  // namespace dunnage::mpi
