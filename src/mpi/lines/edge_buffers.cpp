#include "mpi/lines/edge_buffers.hpp"

#include <algorithm>
#include <atomic>

#include "device/looks.hpp"
#include "mpi/message/buffer.hpp"

namespace dunnage::mpi {

Side::Side(const EdgeData& data) : buffer(data.buffer), count(data.count), type(0) {
  const auto* known = known_type(data.type);
  if (known && (known->reason() == plan::Reason::accelerated || known->reason() == plan::Reason::contiguous))
    type = known->number();
}

std::uint64_t next_keeper() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

bool Allocations::add(const memory::Buffer& buffer) {
  const auto* data = buffer.device();
  if (!data || data->place.id == 0) return false;
  const auto id = data->place.id;
  if (std::none_of(all_.begin(), all_.end(), [&](const Allocation& one) { return one.id == id; }))
    all_.push_back({reinterpret_cast<const void*>(data->place.address), id});
  return true;
}

bool Allocations::there() const {
  if (all_.empty()) return true;
  const auto* driver = device::driver();
  return driver && std::all_of(all_.begin(), all_.end(), [&](const Allocation& one) {
           return device::Looks::id_at(*driver, one.address) == one.id;
         });
}

bool EdgeBuffers::take(std::span<const EdgeData> data, const std::vector<std::size_t>& places) {
  const auto as_before = [&] {
    if (all_.size() != places.size() || !there()) return false;
    for (std::size_t i = 0; i < places.size(); ++i)
      if (!all_[i].side.told() || !(all_[i].side == Side(data[places[i]]))) return false;
    return true;
  };
  if (as_before()) return false;
  all_.clear();  // also if what follows throws
  allocations_.clear();
  std::vector<One> all;
  Allocations allocations;
  for (const auto place : places) {
    const auto& one = data[place];
    auto buffer = one.count == 0 ? memory::Buffer() : buffer_of(const_cast<void*>(one.buffer), one.count, one.type);
    allocations.add(buffer);
    all.push_back({one, std::move(buffer)});
  }
  all_ = std::move(all);
  allocations_ = std::move(allocations);
  return true;
}

bool EdgeBuffers::take(const memory::Buffer& buffer, std::uint64_t keeper) {
  if (all_.size() == 1 && all_.front().side == Side(keeper) && there()) return false;
  all_.clear();  // also if what follows throws
  allocations_.clear();
  allocations_.add(buffer);
  all_.push_back({Side(keeper), buffer});
  return true;
}

std::int64_t EdgeBuffers::bytes() const {
  std::int64_t all = 0;
  for (std::size_t i = 0; i < count(); ++i) all += bytes(i);
  return all;
}

}  // namespace dunnage::mpi
