#include "sim/space.hpp"

#include <atomic>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/error.hpp"

namespace dunnage::sim {
namespace {

constexpr std::uint64_t grain = 256;  // CUDA's alignment of allocations

std::uint64_t up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }
std::uint64_t down(std::uint64_t value, std::uint64_t unit) { return value / unit * unit; }

// The range is reserved once. The numbers are not members of Space, because dunnageSimTranslate
// reads them without a lock.
std::atomic<std::uintptr_t> range_start{0};
std::atomic<std::uintptr_t> range_size{0};  // also the distance from an address to its shadow
bool host_reaches = false;

void* shadow(CUdeviceptr address) { return Space::translate(reinterpret_cast<void*>(address)); }

}  // namespace

std::optional<std::uint64_t> FreeList::take(std::uint64_t size) {
  for (auto at = pieces_.begin(); at != pieces_.end(); ++at) {
    const auto [start, there] = *at;
    if (there < size) continue;
    pieces_.erase(at);
    if (there > size) pieces_.emplace(start + size, there - size);
    bytes_ -= size;
    return start;
  }
  return std::nullopt;
}

FreeList::Piece FreeList::give(std::uint64_t at, std::uint64_t size) {
  bytes_ += size;
  auto next = pieces_.lower_bound(at);
  if (next != pieces_.end() && at + size == next->first) {
    size += next->second;
    next = pieces_.erase(next);
  }
  if (next != pieces_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == at) {
      before->second += size;
      return {before->first, before->second};
    }
  }
  pieces_.emplace(at, size);
  return {at, size};
}

void Space::reserve(int devices, std::uint64_t memory_of_each, bool reachable) {
  const auto own = static_cast<std::uint64_t>(devices) * memory_of_each;
  const auto foreign = 4 * own;  // room for memory of several other processes
  const auto size = own + foreign;
  void* const start = mmap(nullptr, 2 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  require(start != MAP_FAILED, CUDA_ERROR_OUT_OF_MEMORY);
  const auto first = reinterpret_cast<std::uintptr_t>(start);
  range_start = first;
  range_size = size;
  host_reaches = reachable;
  for (int device = 0; device < devices; ++device) {
    const auto at = first + static_cast<std::uint64_t>(device) * memory_of_each;
    const int file = memfd_create("dunnage-simulated-device", MFD_CLOEXEC);
    require(file >= 0 && ftruncate(file, static_cast<off_t>(memory_of_each)) == 0, CUDA_ERROR_OPERATING_SYSTEM);
    const auto mapped = mmap(shadow(at), memory_of_each, PROT_NONE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file, 0);
    require(mapped != MAP_FAILED, CUDA_ERROR_OPERATING_SYSTEM);
    if (reachable) {
      const auto own_address = reinterpret_cast<void*>(at);
      require(mmap(own_address, memory_of_each, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file,
                   0) != MAP_FAILED,
              CUDA_ERROR_OPERATING_SYSTEM);
    }
    parts_.push_back({at, file, FreeList(memory_of_each)});
  }
  parts_.push_back({first + own, -1, FreeList(foreign)});
}

std::optional<CUdeviceptr> Space::take(CUdevice device, std::size_t size) {
  auto& p = part(device);
  if (size > p.free.bytes()) return std::nullopt;  // larger sizes would overflow below
  const auto offset = p.free.take(up(size, grain));
  if (!offset) return std::nullopt;
  const auto first = p.start + down(*offset, page), last = p.start + up(*offset + size, page);
  if (mprotect(shadow(first), last - first, PROT_READ | PROT_WRITE) != 0) {
    p.free.give(*offset, up(size, grain));
    return std::nullopt;
  }
  return p.start + *offset;
}

void Space::give(CUdevice device, CUdeviceptr address, std::size_t size) {
  auto& p = part(device);
  const auto free = p.free.give(address - p.start, up(size, grain));
  // Pages that hold nothing any more are freed. A kernel that still uses them crashes.
  const auto first = up(free.at, page), last = down(free.at + free.size, page);
  if (first >= last) return;
  mprotect(shadow(p.start + first), last - first, PROT_NONE);
  fallocate(p.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(first),
            static_cast<off_t>(last - first));
}

std::uint64_t Space::free_bytes(CUdevice device) const { return part(device).free.bytes(); }
int Space::file(CUdevice device) const { return part(device).file; }
std::uint64_t Space::offset(CUdevice device, CUdeviceptr address) const { return address - part(device).start; }

std::optional<CUdeviceptr> Space::map_foreign(int file, std::uint64_t offset, std::size_t size) {
  auto& p = parts_.back();
  const auto from = down(offset, page), length = up(offset + size, page) - from;
  const auto at = p.free.take(length);
  if (!at) return std::nullopt;
  const auto flags = MAP_SHARED | MAP_FIXED | MAP_NORESERVE;
  if (mmap(shadow(p.start + *at), length, PROT_READ | PROT_WRITE, flags, file, static_cast<off_t>(from)) ==
      MAP_FAILED) {
    p.free.give(*at, length);
    return std::nullopt;
  }
  return p.start + *at + (offset - from);
}

void Space::unmap_foreign(CUdeviceptr address, std::size_t size) {
  auto& p = parts_.back();
  const auto from = down(address, page), length = up(address + size, page) - from;
  hide(from, length);
  p.free.give(from - p.start, length);
}

std::optional<CUdeviceptr> Space::reserve_range(std::size_t size, std::size_t unit) {
  auto& p = parts_.back();
  if (size > p.free.bytes() || unit > p.free.bytes()) return std::nullopt;  // larger sizes would overflow below
  const auto at = p.free.take(size + unit);
  if (!at) return std::nullopt;
  const CUdeviceptr address = up(p.start + *at, unit);
  const auto before = address - (p.start + *at);
  if (before > 0) p.free.give(*at, before);
  p.free.give(*at + before + size, unit - before);
  return address;
}

void Space::give_range(CUdeviceptr address, std::size_t size) {
  parts_.back().free.give(address - parts_.back().start, size);
}

bool Space::show(CUdeviceptr address, int file, std::size_t size) {
  const auto at = [&](void* where) {
    return mmap(where, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file, 0) != MAP_FAILED;
  };
  return at(shadow(address)) && (!host_reaches || at(reinterpret_cast<void*>(address)));
}

void Space::hide(CUdeviceptr address, std::size_t size) {
  for (void* where : {shadow(address), reinterpret_cast<void*>(address)})
    mmap(where, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

bool Space::holds(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) - range_start.load(std::memory_order_relaxed) <
         range_size.load(std::memory_order_relaxed);
}

void* Space::translate(const void* address) {
  auto* const bytes = static_cast<char*>(const_cast<void*>(address));
  return holds(address) ? bytes + range_size.load(std::memory_order_relaxed) : bytes;
}

}  // namespace dunnage::sim
