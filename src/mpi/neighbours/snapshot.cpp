#include "mpi/neighbours/snapshot.hpp"

#include <algorithm>
#include <new>

#include "mpi/message/buffer.hpp"
#include "mpi/message/copy_within.hpp"
#include "mpi/message/stage.hpp"

namespace dunnage::mpi {
namespace {

/// Each rank's data begin where kernels move the widest words.
constexpr std::int64_t aligned(std::int64_t bytes) { return (bytes + 255) / 256 * 256; }

/// Memory for so many bytes of buffers.
memory::Staging memory_for(const std::vector<memory::Buffer>& buffers, std::int64_t size) {
  const auto& first = buffers.front();
  const bool together = std::all_of(buffers.begin(), buffers.end(),
                                    [&](const auto& buffer) { return common_context(first, buffer).has_value(); });
  auto memory = together ? device_staging_for(first, size) : memory::Staging();
  return memory ? std::move(memory) : staging_for(first, size);
}

}  // namespace

Snapshot::Snapshot(LocalMoves::Loops loops, const Edges& in_place) : edges_(in_place) {
  std::vector<memory::Buffer> buffers;
  std::vector<std::size_t> targets;
  std::int64_t size = 0;
  for (std::size_t i = 0; i < edges_.sends.size(); ++i) {
    const auto& send = edges_.sends[i];
    const bool own = std::any_of(loops.begin(), loops.end(), [&](const auto& loop) { return loop.target == i; });
    if (own || send.count == 0) continue;
    auto buffer = buffer_of(const_cast<void*>(send.buffer), send.count, send.type);
    if (buffer.size() == 0) continue;
    size += aligned(buffer.size());
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
    send = {at, buffers[i].size(), MPI_BYTE};
    copies.receives.push_back(send);
    moves.push_back({i, i});
    at += aligned(buffers[i].size());
  }
  moves_ = std::make_unique<LocalMoves>(moves, copies);
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
