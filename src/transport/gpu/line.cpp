#include "transport/gpu/line.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace dunnage::transport::gpu {

namespace {

LineEnd end_of(Line& line, const LineEnd& elsewhere) {
  return elsewhere.taken ? elsewhere : LineEnd{&line.taken, &line.done};
}

}  // namespace

LineSender::LineSender(void* memory, std::size_t edges, LineEnd end)
    : line_(new (memory) Line), end_(end_of(*line_, end)), edges_(edges) {}

LineReceiver::LineReceiver(void* memory, std::size_t edges, LineEnd end)
    : line_(static_cast<Line*>(memory)), end_(end_of(*line_, end)), edges_(edges) {}

void LineSender::describe(std::uint64_t exchange, std::span<const GpuSource> sources) {
  std::copy(sources.begin(), sources.end(), reinterpret_cast<GpuSource*>(line_ + 1));
  line_->described = exchange;
}

bool LineSender::replace(std::uint64_t exchange, const Line::Copy& copy) {
  auto taken = end_.taken->load(std::memory_order_relaxed);
  if (taken >= 2 * exchange) return false;
  line_->copy = copy;
  return end_.taken->compare_exchange_strong(taken, 2 * exchange + 1, std::memory_order_acq_rel);
}

void LineSender::put(std::uint64_t exchange, std::int64_t bytes, const Line::Copy* copy) {
  std::memcpy(static_cast<void*>(line_ + 1), &bytes, sizeof bytes);
  if (copy && (line_->copy.begin != copy->begin || line_->copy.serial != copy->serial)) line_->copy = *copy;
  line_->put = exchange;
}

LineReceiver::Put LineReceiver::put() const {
  const auto* behind = reinterpret_cast<const char*>(line_ + 1);
  Put put{0, behind + sizeof put.bytes, line_->copy};
  std::memcpy(&put.bytes, behind, sizeof put.bytes);
  if (put.bytes > line_room) put.here = nullptr;
  return put;
}

LineReceiver::News LineReceiver::news(std::uint64_t exchange) const {
  // In this order: a sender that is ahead has rung for this exchange before it moves `direct_from`
  // for a later one.
  const auto from = line_->direct_from.load(std::memory_order_acquire);
  const auto rung = line_->rung.load(std::memory_order_acquire);
  return rung == exchange ? News::rung : from > exchange ? News::messages : News::none;
}

std::optional<Line::Copy> LineReceiver::take(std::uint64_t exchange) {
  auto taken = end_.taken->load(std::memory_order_acquire);
  if (taken < 2 * exchange && end_.taken->compare_exchange_strong(taken, 2 * exchange, std::memory_order_acq_rel))
    return std::nullopt;
  return line_->copy;
}

}  // namespace dunnage::transport::gpu
