#include "mpi/message/stage.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "memory/host_memory.hpp"
#include "mpi/process/gpu_use.hpp"

namespace dunnage::mpi {
namespace {

using transport::Ticket;

/// Whether the host puts the two pieces of a parcel together: data that a device takes nearly as
/// long to begin with as to bring.
bool worth_joining(const memory::Parcel& parcel, const memory::Buffer& buffer, std::int64_t bytes) {
  constexpr auto most = std::int64_t{128} << 10;
  return !parcel.on_device() && parcel.divided() && buffer.device() && bytes > parcel.first && bytes <= most;
}

memory::Parcel parcel_of(std::int64_t length) { return parcel_for({}, plan::Operation::send, length); }

}  // namespace

memory::Staging device_staging_for(const memory::Buffer& buffer, std::int64_t size) try {
  const auto* data = buffer.device();
  if (!data) return {};
  const auto& driver = *device::driver();
  const device::Scope scope(driver, context_of(driver, data->place));
  const auto block = take_block(driver, size);
  if (!block) return {};
  return {block, reinterpret_cast<char*>(block->address), true};
} catch (const std::exception&) {
  return {};
}

memory::Staging staging_for(const memory::Buffer& buffer, std::int64_t size, bool in_device) {
  const auto* data = buffer.device();
  if (in_device && data && size >= process->model.gpu.passed)
    if (auto memory = device_staging_for(buffer, size)) return memory;
  if (data) try {
      const auto memory = std::make_shared<const memory::HostMemory>(
          *device::driver(), data->place, static_cast<std::size_t>(size), process->settings.staging_pool);
      return {memory, memory->data()};
    } catch (const std::exception&) {  // ordinary memory will do
    }
  return process->staging.take(size);
}

memory::Parcel parcel_for(const memory::Buffer& buffer, plan::Operation operation, std::int64_t size, bool both,
                          bool in_device) {
  using plan::Operation;
  const auto one_piece = [&](Operation what) { return plan::contiguous(process->model, what, size); };
  const bool huge = size > std::numeric_limits<int>::max();
  const bool divided =
      size >= 2 &&
      (huge || !(both ? one_piece(Operation::send) && one_piece(Operation::receive) : one_piece(operation)));
  if (!divided) return {staging_for(buffer, size, in_device), size, size};
  const auto first = memory::Parcel::middle(size);
  memory::Parcel parcel{staging_for(buffer, size + memory::Parcel::gap, in_device), size, first};
  if (parcel && !Shown(parcel)) return {};
  return parcel;
}

int gather(const memory::Parcel& parcel, const memory::Buffer& buffer, std::int64_t bytes) {
  const base::Range range("pack", bytes);
  return guarded([&] {
    const auto joined = worth_joining(parcel, buffer, bytes) ? staging_for(buffer, bytes) : memory::Staging();
    if (!joined) return parcel.gather(buffer, bytes);
    buffer.pack(joined.data(), 0, bytes);
    parcel.write(joined.data(), 0, bytes);
  });
}

int deliver(const memory::Parcel& parcel, const memory::Buffer& buffer, std::int64_t bytes) {
  const base::Range range("unpack", bytes);
  return guarded([&] {
    bytes = std::min(bytes, parcel.size);
    const auto joined = worth_joining(parcel, buffer, bytes) ? staging_for(buffer, bytes) : memory::Staging();
    if (!joined) return parcel.deliver(buffer, bytes);
    parcel.read(joined.data(), 0, bytes);
    buffer.unpack(joined.data(), 0, bytes);
  });
}

memory::Parcel announce_ticket(const Ticket& ticket, std::int64_t length, const memory::Buffer& data,
                               std::int64_t carried) {
  auto parcel = parcel_of(length);
  if (!parcel) return parcel;
  parcel.gather(data, carried);
  parcel.write(&ticket, carried, length);
  return parcel;
}

memory::Parcel announce_ticket(const Ticket& ticket, std::int64_t length, std::span<const char> head) {
  auto parcel = parcel_of(length);
  if (!parcel) return parcel;
  std::vector<char> bytes(static_cast<std::size_t>(length));
  std::copy(head.begin(), head.end(), bytes.begin());
  std::memcpy(bytes.data() + bytes.size() - sizeof ticket, &ticket, sizeof ticket);
  parcel.write(bytes.data(), 0, length);
  return parcel;
}

memory::Parcel announce_token(std::uint64_t token, std::int64_t length) {
  auto parcel = parcel_of(length);
  if (!parcel) return parcel;
  std::vector<char> bytes(static_cast<std::size_t>(length));
  std::memcpy(bytes.data(), &token, sizeof token);
  parcel.write(bytes.data(), 0, length);
  return parcel;
}

}  // namespace dunnage::mpi
