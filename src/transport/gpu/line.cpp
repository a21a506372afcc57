#include "transport/gpu/line.hpp"

#include <algorithm>
#include <new>

namespace dunnage::transport::gpu {

LineSender::LineSender(void* memory, std::size_t edges) : line_(new (memory) Line), edges_(edges) {}

void LineSender::describe(std::uint64_t exchange, std::span<const GpuSource> sources) {
  std::copy(sources.begin(), sources.end(), reinterpret_cast<GpuSource*>(line_ + 1));
  line_->described = exchange;
}

bool LineSender::replace(std::uint64_t exchange, const Line::Copy& copy) {
  auto taken = line_->taken.load(std::memory_order_relaxed);
  if (taken >= 2 * exchange) return false;
  line_->copy = copy;
  return line_->taken.compare_exchange_strong(taken, 2 * exchange + 1, std::memory_order_acq_rel);
}

LineReceiver::News LineReceiver::news(std::uint64_t exchange) const {
  // In this order: a sender that is ahead has rung for this exchange before it moves `direct_from`
  // for a later one.
  const auto from = line_->direct_from.load(std::memory_order_acquire);
  const auto rung = line_->rung.load(std::memory_order_acquire);
  return rung == exchange ? News::rung : from > exchange ? News::messages : News::none;
}

std::optional<Line::Copy> LineReceiver::take(std::uint64_t exchange) {
  auto taken = line_->taken.load(std::memory_order_acquire);
  if (taken < 2 * exchange && line_->taken.compare_exchange_strong(taken, 2 * exchange, std::memory_order_acq_rel))
    return std::nullopt;
  return line_->copy;
}

}  // namespace dunnage::transport::gpu
