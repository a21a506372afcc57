#include "mpi/neighbours/snapshot.hpp"

#include <algorithm>
#include <new>

#include "mpi/message/buffer.hpp"
#include "mpi/message/copy_within.hpp"
#include "mpi/message/stage.hpp"

namespace dunnage::mpi {
namespace {

/// So many bytes at an address, by as few elements as possible: some MPIs take counts of 32 bits
/// only. No MPI compares the datatypes of both sides of a message.
EdgeData bytes_at(const char* at, std::int64_t size) {
  if (size % 8 == 0) return {at, size / 8, MPI_INT64_T};
  if (size % 4 == 0) return {at, size / 4, MPI_INT32_T};
  return {at, size, MPI_BYTE};
}

/// Memory for so many bytes of buffers.
memory::Staging memory_for(const std::vector<memory::Buffer>& buffers, std::int64_t size) {
  const auto& first = buffers.front();
  const bool together = std::all_of(buffers.begin(), buffers.end(),
                                    [&](const auto& buffer) { return common_context(first, buffer).has_value(); });
  auto memory = together ? device_staging_for(first, size) : memory::Staging();
  return memory ? std::move(memory) : staging_for(first, size);
}

}  // namespace

Snapshot::Snapshot(LocalMoves::Loops loops, const Edges& in_place)
    : sides_(in_place.sends.begin(), in_place.sends.end()), edges_(in_place) {
  std::vector<memory::Buffer> buffers;
  std::vector<std::size_t> targets;
  std::int64_t size = 0;
  for (std::size_t i = 0; i < edges_.sends.size(); ++i) {
    const auto& send = edges_.sends[i];
    const bool own = std::any_of(loops.begin(), loops.end(), [&](const auto& loop) { return loop.target == i; });
    if (own || send.count == 0) continue;
    auto buffer = buffer_of(const_cast<void*>(send.buffer), send.count, send.type);
    if (buffer.size() == 0) continue;
    size += with_gap(buffer.size());
    buffers.push_back(std::move(buffer));
    targets.push_back(i);
  }
  if (buffers.empty()) return;
  memory_ = memory_for(buffers, size);
  if (!memory_) throw std::bad_alloc();
  Edges copies;
  std::vector<Neighbourhood::Loop> moves;
  const char* at = memory_.data();
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    auto& send = edges_.sends[targets[i]];
    copies.sends.push_back(send);
    send = bytes_at(at, buffers[i].size());
    copies.receives.push_back(send);
    moves.push_back({i, i});
    at += with_gap(buffers[i].size());
  }
  moves_ = std::make_unique<LocalMoves>(moves, copies);
}

bool Snapshot::fits(const Edges& in_place) const {
  return moves_ && moves_->planned() &&
         std::equal(sides_.begin(), sides_.end(), in_place.sends.begin(), in_place.sends.end(),
                    [](const Side& side, const EdgeData& data) { return side == Side(data); });
}

int Snapshot::take() {
  if (!moves_) return MPI_SUCCESS;
  if (const auto done = moves_->run()) return *done;
  FetchBatch batch;
  const int code = moves_->begin();
  const auto failures = batch.finish();
  return code == MPI_SUCCESS && !failures.empty() ? failures.front().code : code;
}

}  // namespace dunnage::mpi
