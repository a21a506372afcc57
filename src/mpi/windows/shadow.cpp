#include "mpi/windows/shadow.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "device/place.hpp"
#include "mpi/process/process.hpp"
#include "pack/gpu/pack.hpp"

namespace dunnage::mpi {
namespace {

using Ints = std::vector<std::int64_t>;

/// Bytes that are compared at a time.
constexpr std::int64_t piece = 4 << 20;
constexpr std::int64_t cache_line = 64;
/// So few runs of bytes are copied one by one. More are unpacked by one kernel.
constexpr std::size_t few_runs = 4;

/// Calls f(begin, end) for each run of bytes in which `a` and `b` differ. Most lines are equal.
template <class F>
void each_difference(const char* a, const char* b, std::int64_t size, F&& f) {
  for (std::int64_t at = 0; at < size;) {
    if (const auto n = std::min(cache_line, size - at); std::memcmp(a + at, b + at, static_cast<std::size_t>(n)) == 0) {
      at += n;
      continue;
    }
    while (at < size && a[at] == b[at]) ++at;
    auto end = at;
    while (end < size && a[end] != b[end]) ++end;
    if (at < end) f(at, end);
    at = end;
  }
}

}  // namespace

std::unique_ptr<Shadow> Shadow::make(void* device, std::int64_t size) {
  std::unique_ptr<Shadow> shadow(new Shadow(device, size));
  shadow->mapped_size_ = static_cast<std::size_t>(size + cache_line);
  void* there =
      mmap(nullptr, shadow->mapped_size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (there == MAP_FAILED) return nullptr;
  shadow->mapped_ = there;
  // Elements are as aligned as the program has them.
  shadow->public_ = static_cast<char*>(there) + reinterpret_cast<std::uintptr_t>(device) % cache_line;
  return shadow;
}

Shadow::~Shadow() {
  if (mapped_) munmap(mapped_, mapped_size_);
}

void Shadow::begin() {
  const std::lock_guard lock(mutex_);
  pack::gpu::gpu_copy(*device::driver(), public_, private_, static_cast<std::size_t>(size_));
  equal_.assign(public_, public_ + size_);
}

void Shadow::publish() {
  const std::lock_guard lock(mutex_);
  if (equal_.empty()) return;
  std::vector<char> stored(static_cast<std::size_t>(std::min(piece, size_)));
  for (std::int64_t at = 0; at < size_; at += piece) {
    const auto n = std::min(piece, size_ - at);
    pack::gpu::gpu_copy(*device::driver(), stored.data(), private_ + at, static_cast<std::size_t>(n));
    each_difference(stored.data(), equal_.data() + at, n, [&](std::int64_t begin, std::int64_t end) {
      std::copy(stored.data() + begin, stored.data() + end, public_ + at + begin);
      std::copy(stored.data() + begin, stored.data() + end, equal_.data() + at + begin);
    });
  }
}

void Shadow::fetch() {
  const std::lock_guard lock(mutex_);
  if (equal_.empty()) return;
  Ints offsets, lengths;
  std::vector<char> packed;
  each_difference(public_, equal_.data(), size_, [&](std::int64_t begin, std::int64_t end) {
    // Another rank may be changing these bytes now. Both copies get the values that are read here.
    packed.insert(packed.end(), public_ + begin, public_ + end);
    offsets.push_back(begin);
    lengths.push_back(end - begin);
  });
  if (offsets.empty()) return;
  write(packed, offsets, lengths);
  // Not before the device has them: else the next publish() would take back what others have put.
  const auto* from = packed.data();
  for (std::size_t i = 0; i < offsets.size(); from += lengths[i++])
    std::copy(from, from + lengths[i], equal_.data() + offsets[i]);
}

void Shadow::write(const std::vector<char>& packed, const Ints& offsets, const Ints& lengths) const {
  const auto& driver = *device::driver();
  if (offsets.size() <= few_runs) {
    const auto* from = packed.data();
    for (std::size_t i = 0; i < offsets.size(); from += lengths[i++])
      pack::gpu::gpu_copy(driver, private_ + offsets[i], from, static_cast<std::size_t>(lengths[i]));
    return;
  }
  const auto layout = type::layout_of(type::list(offsets, lengths));
  const auto recipe = std::make_shared<const pack::gpu::GpuRecipe>(layout, 1);
  const pack::Program program(layout, 1);
  const pack::gpu::Described there{private_, recipe, &program,
                                   device::place_of(driver, private_ + recipe->recipe.first())};
  pack::gpu::gpu_pack(driver, pack::gpu::Direction::unpack, there, const_cast<char*>(packed.data()),
                      device::known_place(driver, packed.data()), process->settings.device_piece);
}

}  // namespace dunnage::mpi
