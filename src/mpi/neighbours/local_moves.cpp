#include "mpi/neighbours/local_moves.hpp"

#include <algorithm>

#include "mpi/message/buffer.hpp"
#include "mpi/message/copy_within.hpp"
#include "mpi/process/arrivals.hpp"

namespace dunnage::mpi {
namespace {

memory::Buffer buffer_at(const EdgeData& data) {
  return buffer_of(const_cast<void*>(data.buffer), data.count, data.type);
}

/// The arguments are compared, because of some types no more is known.
bool in_its_place(const EdgeData& out, const EdgeData& in) {
  return out.count == 0 || (out.buffer == in.buffer && out.count == in.count && out.type == in.type);
}

}  // namespace

bool LocalMoves::needed(Loops loops, const Edges& edges) {
  return std::any_of(loops.begin(), loops.end(), [&](const auto& loop) {
    return !in_its_place(edges.sends[loop.target], edges.receives[loop.source]);
  });
}

LocalMoves::LocalMoves(Loops loops, const Edges& edges) {
  for (const auto& loop : loops) {
    const auto &out = edges.sends[loop.target], &in = edges.receives[loop.source];
    auto from = buffer_at(out);
    memory::Landing to{buffer_at(in)};
    const auto bytes = in_its_place(out, in) ? 0 : from.size();
    const bool too_long = bytes > (in.count == 0 ? 0 : to.buffer.size());
    moves_.push_back({out, in, std::move(from), std::move(to), bytes, too_long});
  }
  prepare();
}

void LocalMoves::prepare() {
  for (const auto& move : moves_) {
    // Of a type without a number it cannot be told later whether it is still that type.
    if (!move.from_side.told() || !move.to_side.told()) return;
    if (move.bytes == 0) continue;
    if (move.too_long || move.bytes >= most_prepared) return;
    if (!memory_.add(move.from) || !memory_.add(move.to.buffer)) return;
    const auto context = common_context(move.from, move.to.buffer);
    if (!context || (context_ && *context != context_)) return;
    context_ = *context;
    ranges_.push_back({*move.from.device(), *move.to.buffer.device(), move.bytes});
    if (!pack::gpu::fuses(ranges_.back())) return;
  }
  if (!ranges_.empty()) prepared_.emplace(ranges_);
}

bool LocalMoves::fits(Loops loops, const Edges& edges) const {
  if (!planned() || moves_.size() != loops.size()) return false;
  for (std::size_t i = 0; i < moves_.size(); ++i) {
    const auto& loop = loops[i];
    if (!(moves_[i].from_side == edges.sends[loop.target]) || !(moves_[i].to_side == edges.receives[loop.source]))
      return false;
  }
  return true;
}

std::int64_t LocalMoves::bytes() const {
  std::int64_t all = 0;
  for (const auto& move : moves_) all += move.bytes;
  return all;
}

int LocalMoves::begin() {
  int code = MPI_SUCCESS;
  for (const auto& move : moves_) {
    if (move.bytes == 0) continue;
    move.to.restart();
    const int failed = move.too_long ? MPI_ERR_TRUNCATE : copy_within(move.from, move.to, move.bytes, [] {});
    if (code == MPI_SUCCESS) code = failed;
  }
  return code;
}

std::optional<int> LocalMoves::run() {
  if (!prepared_) return std::nullopt;
  return guarded([&] { mpi::run(context_, *prepared_, [] {}); });
}

}  // namespace dunnage::mpi
