#include "mpi/triggered/device_table.hpp"

#include <cstddef>
#include <cstring>
#include <limits>

namespace dunnage::mpi {

static_assert(dng_most_levels == transport::gpu::GpuSource::most_levels);

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

namespace {

/// Bytes that will stand at an address. They grow.
class TableBytes {
 public:
  explicit TableBytes(std::uintptr_t address) : address_(address) {}
  /// Returns where the values will stand.
  template <class T>
  T* add(const std::vector<T>& values) {
    const auto begin =
        (all_.size() + alignof(std::max_align_t) - 1) / alignof(std::max_align_t) * alignof(std::max_align_t);
    all_.resize(begin + values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(all_.data() + begin, values.data(), values.size() * sizeof(T));
    return reinterpret_cast<T*>(address_ + begin);
  }
  template <class T>
  void replace(const T* at, const T& value) {
    std::memcpy(all_.data() + (reinterpret_cast<std::uintptr_t>(at) - address_), &value, sizeof value);
  }
  std::vector<char> take() { return std::move(all_); }

 private:
  const std::uintptr_t address_;
  std::vector<char> all_;
};

dng_stamps stamps_of(const DeviceTable& table, TableBytes& bytes) {
  dng_stamps all{};
  all.request = bytes.add(table.stamps);
  all.comes = bytes.add(table.comes);
  all.wait = bytes.add(table.waits);
  all.comings = static_cast<unsigned>(table.comes.size());
  all.waits = static_cast<unsigned>(table.waits.size());
  for (std::size_t i = 0; i < table.requests.size(); ++i)
    if (table.requests[i].kind == dng_receive && table.stamps[i].word == 0) all.buffers = 1;
  return all;
}

}  // namespace

std::vector<char> DeviceTable::bytes_at(std::uintptr_t address) const {
  TableBytes bytes(address);
  auto head = header;
  const auto* const at = bytes.add(std::vector{head});
  head.request = bytes.add(requests);
  head.requests = static_cast<unsigned>(requests.size());
  head.open = reinterpret_cast<char* const*>(bytes.add(opens));
  head.opens = static_cast<unsigned>(opens.size());
  if (!stamps.empty()) {
    const auto* const all = bytes.add(std::vector{stamps_of(*this, bytes)});
    head.stamps = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(all) - address);
  }
  bytes.replace(at, head);
  return bytes.take();
}

}  // namespace dunnage::mpi
