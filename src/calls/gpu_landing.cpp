#include "calls/gpu_landing.hpp"

#include <algorithm>

#include "calls/content.hpp"
#include "calls/gpu_own.hpp"
#include "calls/gpu_pack.hpp"

namespace dunnage::calls {

using device::Driver;

namespace {

/// Host memory that is no contiguous buffer is filled by way of so many bytes at a time.
constexpr std::int64_t host_piece = 4 << 20;

/// Whether the device of such data reads those. Only the first one of this process has been proved to.
bool reads_from(const Driver& driver, const engine::Described& to, const engine::GpuSource& source) try {
  const device::Scope scope(driver, device::context_for(driver, to.place));
  const engine::Remote remote(driver, source);
  return true;
} catch (const std::exception&) {
  return false;
}

}  // namespace

const engine::Described* on_device(const Landing& landing) {
  const auto* to = landing.content().device();
  return to && in_one_piece(*to) && to->place.memory == device::Memory::device ? to : nullptr;
}

Destination destination(const Driver& driver, const Landing& landing, const engine::GpuSource& source) {
  const auto* to = on_device(landing);
  if (to && to->place.device != own().place.device && !reads_from(driver, *to, source)) to = nullptr;
  return {to, device::context_for(driver, to ? to->place : any_place(driver))};
}

void fetch_to_host(const Driver& driver, const engine::Remote& remote, Landing& landing) {
  const auto piece = context->settings.device_piece;
  if (auto* to = landing.contiguous()) return remote.pack(to, device::known_place(driver, to), piece, 0, remote.size());
  const auto buffer = context->staging.take(std::min(remote.size(), host_piece));
  if (!buffer) throw std::bad_alloc();
  for (std::int64_t begin = 0; begin < remote.size(); begin += host_piece) {
    const auto end = std::min(begin + host_piece, remote.size());
    remote.pack(reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(buffer.data()) - static_cast<std::uintptr_t>(begin)), device::Place(), piece, begin, end);
    landing.place(buffer.data(), begin, end);
  }
}

ScopedTransfers::ScopedTransfers(CUcontext context, const std::vector<engine::Transfers::Move>& moves) : context_(context) {
  const device::Scope scope(*device::driver(), context_);
  transfers_ = std::make_unique<engine::Transfers>(moves, device_piece());
}

ScopedTransfers::~ScopedTransfers() {
  if (!transfers_) return;
  try {
    const device::Scope scope(*device::driver(), context_);
    transfers_.reset();
  } catch (const std::exception&) {
    (void)transfers_.release();  // the context has gone, and all of it with it
  }
}

bool ScopedTransfers::done() {
  const device::Scope scope(*device::driver(), context_);
  return transfers_->done();
}

}  // namespace dunnage::calls
