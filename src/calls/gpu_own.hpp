// What this process knows of its own use of GPUs, and what the messages on device memory (calls/gpu_tickets.hpp) have in common.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "calls/context.hpp"
#include "calls/gpu_tickets.hpp"
#include "device/arena.hpp"
#include "device/pins.hpp"
#include "engine/gpu_pipe.hpp"
#include "engine/gpu_remote.hpp"

namespace dunnage::calls {

/// What this process knows of its own use of GPUs. Never destroyed.
struct Own {
  std::mutex mutex;
  std::atomic<bool> seen{false};
  device::Place place;  // some device memory of the program's: where we work if the data say nothing
  unsigned long long context_id = 0;
  std::shared_ptr<const device::Arena::Block> proof;
  int proved = -1;  // the device whose memory others have been asked to read
};
Own& own();

/// Where to work if the data do not say.
device::Place any_place(const device::Driver& driver);

/// Where to work on what is there. Throws device::Error.
CUcontext context_of(const device::Driver& driver, const device::Place& place);

/// Device memory of ours, of the current context; null where there is none.
std::shared_ptr<const device::Arena::Block> take_block(const device::Driver& driver, std::int64_t size);
/// The offer's head says where the data are.
void say(GpuOffer& offer, const engine::GpuSource& source);
/// Takes device memory of ours for an offer, that says so and keeps it. Whether there is some.
bool offer_block(const device::Driver& driver, GpuOffer& offer, std::int64_t size);

/// A buffer of which all bytes are in one allocation.
bool in_one_piece(const engine::Described& data);

/// What another process is to read, to find out whether it can; nothing where there is none to be had.
std::optional<transport::shm::Letter::Proof> make_proof(const device::Driver& driver, const device::Place& place);

/// Staging memory between two layouts on one device: large enough for the link, small enough that the kernels of neighbouring pieces overlap.
inline std::size_t device_piece() { return 8 * context->settings.device_piece; }

/// Calls f with what moves the data of a content between its place and shared memory, `ring` being the part of that which is used again and again.
template <class F>
auto with_pipe(engine::Direction direction, const engine::Content& content, std::span<char> ring, F&& f) {
  const auto* data = content.device();
  const auto* driver = device::driver();
  if (!driver || !data || !in_one_piece(*data)) {
    const auto move = [&](const char* memory, std::int64_t begin, std::int64_t end) {
      direction == engine::Direction::pack ? content.pack(const_cast<char*>(memory), begin, end) : content.unpack(memory, begin, end);
    };
    return f(transport::shm::AtOnce<decltype(move)>{move});
  }
  engine::GpuPipe pipe(*driver, direction, *data, context->settings.device_piece);
  device::pin(*driver, ring.data(), ring.size(), context->settings.ticket_memory);
  return f(pipe);
}

}  // namespace dunnage::calls
