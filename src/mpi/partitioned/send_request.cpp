#include "mpi/partitioned/send_request.hpp"

#include "mpi/message/unfinished.hpp"
#include "mpi/partitioned/background.hpp"
#include "mpi/partitioned/introduction.hpp"
#include "mpi/ways/own_message.hpp"

namespace dunnage::mpi {
namespace {

/// The most tags of one message: a part of those that there are.
std::int64_t most_partition_pieces() {
  constexpr int messages = 64;
  return std::max(1, largest_tag() / messages);
}

}  // namespace

PartitionedSend::PartitionedSend(const PartitionedCall& call, std::shared_ptr<const KeptType> type,
                                 const Origin& origin, int dest)
    : PartitionedRequest(call, std::move(type), origin),
      dest_(dest),
      pieces_(plan::cut(call.partitions, partition_bytes(), most_partition_pieces())),
      tags_(to_nobody() || pieces_.count() == 0 ? Tags() : Tags(dest, static_cast<int>(pieces_.count()))),
      partitions_(static_cast<std::size_t>(call.partitions)),
      all_(to_nobody() ? 0 : static_cast<std::size_t>(pieces_.count())) {}

PartitionedSend::~PartitionedSend() {
  if (tags_) end_own_sends({dest_, tags_.first(), static_cast<int>(pieces_.count()), private_world()});
}

int PartitionedSend::introduce_to(int dest, Origin& origin) {
  if (!all_.empty() && !tags_) return MPI_ERR_OTHER;
  if (pieces_.together * call().count > most_elements(false)) return MPI_ERR_COUNT;
  const auto number = origin.next_message(true, dest, call().tag);
  return introduce({{origin.lineage(), process->rank, call().tag, number}, pieces_, tags_.first()}, dest);
}

int PartitionedSend::restart() {
  first_start_ = !std::exchange(started_, true);
  for (auto& partition : partitions_) partition.ready.store(false, std::memory_order_relaxed);
  under_way_.clear();
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const auto [begin, end] = pieces_.partitions_of(static_cast<std::int64_t>(i));
    all_[i].left.store(end - begin, std::memory_order_relaxed);
    all_[i].begun.store(false, std::memory_order_relaxed);
    under_way_.push_back(i);
  }
  return MPI_SUCCESS;
}

int PartitionedSend::ready(std::int64_t begin, std::int64_t end) {
  int code = MPI_SUCCESS;
  for (auto p = begin; p < end; ++p) {
    if (partitions_[static_cast<std::size_t>(p)].ready.exchange(true, std::memory_order_relaxed)) return MPI_ERR_ARG;
    if (all_.empty()) continue;
    const auto piece = pieces_.of(p);
    // Whoever makes the last partition of a piece ready sends what other threads have written.
    if (all_[static_cast<std::size_t>(piece)].left.fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
    if (const int failed = send(piece); code == MPI_SUCCESS) code = failed;
  }
  return code;
}

int PartitionedSend::send(std::int64_t number) {
  auto& piece = all_[static_cast<std::size_t>(number)];
  const auto [begin, end] = pieces_.partitions_of(number);
  const SendCall message{call().hook,
                         element(begin * call().count),
                         (end - begin) * call().count,
                         call().type,
                         dest_,
                         tags_.first() + static_cast<int>(number),
                         private_world(),
                         most_elements(false)};
  int code = MPI_SUCCESS;
  // The receiver may have started before it knew of this message, and wait for something else now.
  // MPI lets it, so this send must not wait for the receiver. Later starts meet receives that have
  // begun.
  const bool copied = first_start_ && pieces_.bytes > 0 && send_copy(message, code);
  if (!copied) code = begin_own_send(message, &piece.request);
  if (code != MPI_SUCCESS) piece.request = MPI_REQUEST_NULL;
  piece.begun.store(true, std::memory_order_release);
  return code;
}

bool PartitionedSend::move_on() {
  finish_sends();  // messages to this rank itself
  std::erase_if(under_way_, [&](std::size_t i) {
    auto& piece = all_[i];
    return piece.begun.load(std::memory_order_acquire) && message_ended(piece.request);
  });
  return under_way_.empty();
}

int PartitionedSend::arrive(MPI_Status& status) {
  tell_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
  return end();
}

}  // namespace dunnage::mpi
