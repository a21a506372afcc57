#include "mpi/partitioned/receive_request.hpp"

#include <algorithm>

#include "mpi/message/buffer.hpp"
#include "mpi/message/fetch_batch.hpp"
#include "mpi/process/world_returns_errors.hpp"
#include "mpi/ways/own_message.hpp"

namespace dunnage::mpi {

PartitionedReceive::~PartitionedReceive() {
  end_looking_after();
  if (name_) forget_introduction(*name_);
}

void PartitionedReceive::expect_from(int source, Origin& origin) {
  name_ = {origin.lineage(), source, call().tag, origin.next_message(false, source, call().tag)};
}

int PartitionedReceive::restart() {
  begun_ = false;
  waiting_.clear();
  if (!to_nobody() && know_sender()) begin_receives();
  return MPI_SUCCESS;
}

bool PartitionedReceive::know_sender() {
  if (sender_) return true;
  sender_ = introduction_of(*name_);
  if (!sender_) return false;
  name_.reset();
  const auto& pieces = sender_->pieces;
  const auto element = partition_bytes() == 0 ? 0 : partition_bytes() / call().count;
  in_place_ = pieces.total() == room() && (element == 0 || pieces.bytes % element == 0);
  arrivals_ = plan::Arrivals(pieces, call().partitions, partition_bytes());
  return true;
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
  ReceiveCall message{call().hook,
                      nullptr,
                      end - begin,
                      MPI_PACKED,
                      sender_->name.source,
                      sender_->first_tag + static_cast<int>(piece),
                      private_world(),
                      most_elements(false),
                      true};
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

template <class F>
void PartitionedReceive::look(F&& wanted) {
  std::vector<std::int64_t> come;
  FetchBatch batch;
  std::erase_if(waiting_, [&](auto& one) {
    auto& [piece, request] = one;
    if (!wanted(piece) || !message_ended(request)) return false;
    come.push_back(piece);
    return true;
  });
  for (const auto& failure : batch.finish()) note(failure.code);
  for (const auto piece : come)
    arrivals_.come(piece, [&](std::int64_t partition) { note(in_place_ ? MPI_SUCCESS : deliver(partition)); });
}

int PartitionedReceive::deliver(std::int64_t partition) {
  if (code() != MPI_SUCCESS && code() != MPI_ERR_TRUNCATE) return MPI_SUCCESS;  // the bytes may not be there
  return guarded([&] {
    const auto bytes = partition_bytes();
    const auto place = buffer_of(element(partition * call().count), call().count, call().type);
    place.unpack(packed_.data() + partition * bytes, 0, bytes);
  });
}

bool PartitionedReceive::move_on() {
  if (to_nobody()) return true;
  if (!begun_ && !know_sender()) return false;
  if (!begun_) begin_receives();
  look([](std::int64_t) { return true; });
  return arrivals_.all();
}

bool PartitionedReceive::arrived(std::int64_t partition) {
  const Step step(*this);
  if (ended() || to_nobody()) return true;
  if (!begun_ && !know_sender()) return false;
  if (!begun_) begin_receives();
  const auto [begin, end] = arrivals_.pieces_of(partition);
  const WorldReturnsErrors guard;
  look([begin = begin, end = end](std::int64_t piece) { return begin <= piece && piece < end; });
  return arrivals_.has(partition);
}

int PartitionedReceive::arrive(MPI_Status& status) {
  if (to_nobody())
    tell_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
  else
    tell_status(status, call().peer, call().tag, std::min(sender_->pieces.total(), room()));
  return end();
}

}  // namespace dunnage::mpi
