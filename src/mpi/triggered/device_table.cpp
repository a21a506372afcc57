#include "mpi/triggered/device_table.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace dunnage::mpi {
namespace {

static_assert(dng_most_levels == transport::gpu::GpuSource::most_levels);

/// Whatever all words must be aligned to, in one number.
std::uint64_t alignment_of(const Nest& nest) {
  auto all = static_cast<std::uint64_t>(nest.first) | static_cast<std::uint64_t>(nest.shape.block);
  for (int i = 0; i < nest.shape.levels; ++i) all |= static_cast<std::uint64_t>(nest.shape.stride[i]);
  return all;
}

dng_layout layout_of(const Nest& nest, unsigned word) {
  dng_layout layout{};
  layout.first = reinterpret_cast<char*>(nest.first);
  layout.block = static_cast<dng_word>(nest.shape.block) / word;
  layout.levels = nest.shape.levels;
  for (int i = 0; i < layout.levels; ++i) {
    const auto outer = layout.levels - 1 - i;
    layout.count[i] = static_cast<dng_word>(nest.shape.count[outer]);
    layout.stride[i] = nest.shape.stride[outer];
  }
  return layout;
}

}  // namespace

std::optional<Nest> nest_of(const pack::gpu::Described& data) {
  device::Exported everything{};
  everything.size = std::numeric_limits<std::int64_t>::max();
  auto shape = transport::gpu::describe(data, everything);
  if (!shape) return std::nullopt;
  return Nest{*shape, data.place.address};
}

dng_request send_between(const Nest& from, const Nest& to, std::int64_t partitions, std::int64_t bytes) {
  const auto all = alignment_of(from) | alignment_of(to) | static_cast<std::uint64_t>(bytes) | 16;
  dng_request request{};
  request.kind = dng_send;
  request.word = static_cast<unsigned>(all & (~all + 1));  // the lowest bit
  request.partitions = static_cast<unsigned>(partitions);
  request.size = static_cast<dng_word>(bytes) / request.word;
  request.from = layout_of(from, request.word);
  request.to = layout_of(to, request.word);
  return request;
}

std::size_t DeviceTable::size() const {
  return sizeof header + requests.size() * sizeof requests[0] + opens.size() * sizeof opens[0];
}

std::vector<char> DeviceTable::bytes_at(std::uintptr_t address) const {
  auto head = header;
  const auto requests_at = sizeof head, opens_at = requests_at + requests.size() * sizeof(dng_request);
  head.request = reinterpret_cast<const dng_request*>(address + requests_at);
  head.requests = static_cast<unsigned>(requests.size());
  head.open = reinterpret_cast<char* const*>(address + opens_at);
  head.opens = static_cast<unsigned>(opens.size());
  std::vector<char> bytes(size());
  std::memcpy(bytes.data(), &head, sizeof head);
  if (!requests.empty())
    std::memcpy(bytes.data() + requests_at, requests.data(), requests.size() * sizeof(dng_request));
  if (!opens.empty()) std::memcpy(bytes.data() + opens_at, opens.data(), opens.size() * sizeof(std::uintptr_t));
  return bytes;
}

}  // namespace dunnage::mpi
