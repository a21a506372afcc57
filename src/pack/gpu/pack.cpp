#include "pack/gpu/pack.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "device/launches.hpp"
#include "pack/gpu/launch.hpp"

namespace dunnage::pack::gpu {
namespace {

using device::check;
using device::Driver;
using device::Memory;
using device::Place;

/// A range of packed bytes whose bytes in the user's buffer are all in one kind of memory.
struct Stretch {
  std::int64_t begin, end;
  Place user;            // the place of the first byte
  std::uintptr_t first;  // the address of the first byte as the program gave it
};

std::uintptr_t address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }
CUdeviceptr device_pointer(std::uintptr_t address) { return static_cast<CUdeviceptr>(address); }

/// Throws device::Error if [low, high) leaves the device memory that `place` is in. Virtual memory
/// may join several allocations, so both ends are looked up if they lie outside the allocation.
void check_end(const Driver& driver, const Place& place, std::uintptr_t low, std::uintptr_t high) {
  if (place.memory != Memory::device || (low >= place.begin && high <= place.end)) return;
  for (const auto byte : {low, high - 1}) {
    const auto other = known_place(driver, reinterpret_cast<const void*>(byte));
    if (other.memory != Memory::device || other.device != place.device)
      throw device::Error(
          CUDA_ERROR_INVALID_VALUE,
          fmt::format("the data reaches {:#x}, outside the device memory [{:#x}, {:#x}) that it begins in", byte,
                      place.begin, place.end));
  }
}

class Work {
 public:
  Work(const Driver& driver, Direction direction, const Described& user, void* packed, const Place& packed_place,
       std::size_t piece)
      : driver_(driver),
        direction_(direction),
        user_(user),
        packed_(static_cast<char*>(packed)),
        piece_(piece),
        packed_place_(packed_place) {}

  /// Moves bytes [begin, end) of the packed stream.
  void run(std::int64_t begin, std::int64_t end) {
    check_end(driver_, packed_place_, address_of(packed_) + static_cast<std::uintptr_t>(begin),
              address_of(packed_) + static_cast<std::uintptr_t>(end));
    const auto& parts = user_.recipe->recipe.parts();
    if (parts.size() > 1) {
      for (const auto& range : ranges()) run_part(range, begin, end);
      return;
    }
    const auto buffer = address_of(user_.buffer);
    check_end(driver_, user_.place, buffer + static_cast<std::uintptr_t>(parts[0].low),
              buffer + static_cast<std::uintptr_t>(parts[0].high));
    run_part({0, parts[0].size, user_.place, buffer + static_cast<std::uintptr_t>(parts[0].offset)}, begin, end);
  }

 private:
  bool packing() const { return direction_ == Direction::pack; }

  std::vector<Stretch> ranges() const {
    std::vector<Stretch> ranges;
    for (const auto& part : user_.recipe->recipe.parts()) {
      const auto buffer = address_of(user_.buffer);
      const auto first = buffer + static_cast<std::uintptr_t>(part.offset),
                 low = buffer + static_cast<std::uintptr_t>(part.low),
                 high = buffer + static_cast<std::uintptr_t>(part.high);
      if (!ranges.empty()) {
        auto& last = ranges.back();
        if (last.user.memory != Memory::host && low >= last.user.begin && high <= last.user.end) {
          last.end = part.begin + part.size;
          continue;
        }
      }
      const auto place = ranges.empty() ? user_.place : device::place_of(driver_, reinterpret_cast<const void*>(first));
      check_end(driver_, place, low, high);
      if (!ranges.empty() && ranges.back().user.memory == place.memory && ranges.back().user.device == place.device &&
          place.address - first == ranges.back().user.address - ranges.back().first)
        ranges.back().end = part.begin + part.size;
      else
        ranges.push_back({part.begin, part.begin + part.size, place, first});
    }
    return ranges;
  }

  void run_part(Stretch range, std::int64_t begin, std::int64_t end) {
    range.begin = std::max(range.begin, begin);
    range.end = std::min(range.end, end);
    if (range.begin < range.end) run(range);
  }

  void run(const Stretch& range) {
    const auto &user = range.user, &packed = packed_place_;
    if (!user.on_gpu() && !packed.on_gpu()) return on_host(range);
    // Managed memory moves to the device that uses it, so device memory decides if there is some.
    const auto& place =
        user.memory == Memory::device || (user.on_gpu() && packed.memory != Memory::device) ? user : packed;
    const device::Scope scope(driver_, device::context_for(driver_, place));
    gpu_ = &device::Gpu::current(driver_);
    if (contiguous(range) && !shifted(range)) return copy(range);
    if (!user.on_gpu()) return from_host(range);
    if (packed.memory == Memory::host) return through_pinned(range);
    if (user.memory == Memory::device && packed.memory == Memory::device && user.device != packed.device)
      return between_devices(range);
    device::Borrowed lane(*gpu_);
    launch(lane, range, range.begin, range.end, packed.address + static_cast<std::uintptr_t>(range.begin));
    lane.synchronize();
  }

  /// Puts the kernels for bytes [begin, end) into a stream. `packed` is the address of byte
  /// `begin`.
  void launch(device::Borrowed& lane, const Stretch& range, std::int64_t begin, std::int64_t end,
              std::uintptr_t packed) {
    pack::gpu::launch(
        *gpu_, lane,
        {direction_, user_.recipe, address_of(user_.buffer) + (range.user.address - range.first), packed, begin, end});
  }

  void on_host(const Stretch& range) const {
    auto* at = packed_ + range.begin;
    auto* user = const_cast<void*>(user_.buffer);
    if (user_.program)
      packing() ? user_.program->pack(user, at, range.begin, range.end)
                : user_.program->unpack(at, user, range.begin, range.end);
    else if (packing())
      std::memcpy(at, reinterpret_cast<const void*>(*contiguous(range)),
                  static_cast<std::size_t>(range.end - range.begin));
    else
      std::memcpy(reinterpret_cast<void*>(*contiguous(range)), at, static_cast<std::size_t>(range.end - range.begin));
  }

  /// The address of a range in the user's buffer, if the range is contiguous there.
  std::optional<std::uintptr_t> contiguous(const Stretch& range) const {
    const auto at = user_.recipe->recipe.contiguous(range.begin, range.end);
    return at ? std::optional(address_of(user_.buffer) + static_cast<std::uintptr_t>(*at)) : std::nullopt;
  }

  /// Whether a kernel copies these contiguous bytes faster than the copy engine: both addresses are
  /// on one device and differ in alignment.
  bool shifted(const Stretch& range) const {
    if (range.user.memory != Memory::device || packed_place_.memory != Memory::device ||
        range.user.device != packed_place_.device)
      return false;
    for (const auto& part : user_.recipe->recipe.parts())
      if (part.begin == range.begin)
        return pack::cuda::choose(part, direction_, range.user.address - static_cast<std::uintptr_t>(part.offset),
                                  packed_place_.address + static_cast<std::uintptr_t>(range.begin), 0, part.size)
                   .family != pack::cuda::KernelId::Family::none;
    return false;
  }

  void copy(const Stretch& range) {
    device::Borrowed lane(*gpu_);
    const auto user = device_pointer(*contiguous(range)),
               packed = device_pointer(address_of(packed_) + static_cast<std::uintptr_t>(range.begin));
    const auto to = packing() ? packed : user, from = packing() ? user : packed;
    const auto size = static_cast<std::size_t>(range.end - range.begin);
    lane.busy();
    if (range.user.memory == Memory::device && packed_place_.memory == Memory::device &&
        range.user.device != packed_place_.device) {
      // A context reaches the memory pools of other devices only if the call names both contexts.
      const auto users = device::context_for(driver_, range.user),
                 packeds = device::context_for(driver_, packed_place_);
      check(driver_,
            driver_.cuMemcpyPeerAsync(to, packing() ? packeds : users, from, packing() ? users : packeds, size,
                                      lane->stream),
            "cuMemcpyPeerAsync");
      device::launches.copy();
    } else {
      check(driver_, driver_.cuMemcpyAsync(to, from, size, lane->stream), "cuMemcpyAsync");
      device::launches.copy();
    }
    lane.synchronize();
  }

  /// Calls f(begin, end, i) for the pieces of a range. i is 0 or 1, the piece of staging memory to
  /// use.
  template <class F>
  void pieces(const Stretch& range, F&& f) const {
    int i = 0;
    for (auto begin = range.begin; begin < range.end; i ^= 1) {
      // Pieces end at multiples of 16 bytes of the packed stream, because kernels move words of up
      // to 16 bytes.
      const auto end = std::min(range.end, (begin + static_cast<std::int64_t>(piece_)) / 16 * 16);
      f(begin, end, i);
      begin = end;
    }
  }

  void record(device::Borrowed& lane, int i) const {
    check(driver_, driver_.cuEventRecord(lane->done[i], lane->stream), "cuEventRecord");
  }
  void wait(device::Borrowed& lane, int i) const {
    check(driver_, driver_.cuEventSynchronize(lane->done[i]), "cuEventSynchronize");
  }

  /// Two pieces of page-locked memory take turns: the host works on one while the device works on
  /// the other. If the device produces the bytes (`device_first`), `host` runs one piece behind
  /// `device`.
  template <class Device, class Host>
  void staged(const Stretch& range, bool device_first, Device&& device, Host&& host) {
    device::Borrowed lane(*gpu_, piece_, true);
    struct Piece {
      std::int64_t begin = 0, end = 0;
    } used[2];
    pieces(range, [&](std::int64_t begin, std::int64_t end, int i) {
      if (device_first) {
        device(lane, begin, end, lane->pinned[i]);
        record(lane, i);
        used[i] = {begin, end};
        if (const auto before = used[i ^ 1]; before.end)
          wait(lane, i ^ 1), host(before.begin, before.end, lane->pinned[i ^ 1]);
        used[i ^ 1] = {};
      } else {
        if (used[i].end) wait(lane, i);
        host(begin, end, lane->pinned[i]);
        device(lane, begin, end, lane->pinned[i]);
        record(lane, i);
        used[i] = {begin, end};
      }
    });
    lane.synchronize();
    if (device_first)
      for (int i = 0; i < 2; ++i)
        if (used[i].end) host(used[i].begin, used[i].end, lane->pinned[i]);
  }

  /// For a user's buffer on the device and a packed buffer in pageable memory.
  void through_pinned(const Stretch& range) {
    staged(
        range, packing(),
        [&](device::Borrowed& lane, std::int64_t begin, std::int64_t end, char* pinned) {
          launch(lane, range, begin, end, address_of(pinned));
        },
        [&](std::int64_t begin, std::int64_t end, char* pinned) {
          const auto size = static_cast<std::size_t>(end - begin);
          packing() ? std::memcpy(packed_ + begin, pinned, size) : std::memcpy(pinned, packed_ + begin, size);
        });
  }

  /// For a user's buffer in host memory and a packed buffer on the device: the host packs or
  /// unpacks.
  void from_host(const Stretch& range) {
    staged(
        range, !packing(),
        [&](device::Borrowed& lane, std::int64_t begin, std::int64_t end, char* pinned) {
          const auto packed = device_pointer(address_of(packed_) + static_cast<std::uintptr_t>(begin)),
                     staging = device_pointer(address_of(pinned));
          lane.busy();
          check(driver_,
                driver_.cuMemcpyAsync(packing() ? packed : staging, packing() ? staging : packed,
                                      static_cast<std::size_t>(end - begin), lane->stream),
                "cuMemcpyAsync");
          device::launches.copy();
        },
        [&](std::int64_t begin, std::int64_t end, char* pinned) {
          auto* user = const_cast<void*>(user_.buffer);
          packing() ? user_.program->pack(user, pinned, begin, end) : user_.program->unpack(pinned, user, begin, end);
        });
  }

  void between_devices(const Stretch& range) {
    device::Borrowed lane(*gpu_, piece_, false, true);
    CUcontext here = nullptr;
    check(driver_, driver_.cuCtxGetCurrent(&here), "cuCtxGetCurrent");
    const auto there = device::context_for(driver_, packed_place_);
    const auto scratch = lane->scratch;
    pieces(range, [&](std::int64_t begin, std::int64_t end, int) {
      const auto packed = device_pointer(packed_place_.address + static_cast<std::uintptr_t>(begin));
      const auto size = static_cast<std::size_t>(end - begin);
      if (packing()) {
        launch(lane, range, begin, end, static_cast<std::uintptr_t>(scratch));
        check(driver_, driver_.cuMemcpyPeerAsync(packed, there, scratch, here, size, lane->stream),
              "cuMemcpyPeerAsync");
        device::launches.copy();
      } else {
        lane.busy();
        check(driver_, driver_.cuMemcpyPeerAsync(scratch, here, packed, there, size, lane->stream),
              "cuMemcpyPeerAsync");
        device::launches.copy();
        launch(lane, range, begin, end, static_cast<std::uintptr_t>(scratch));
      }
    });
    lane.synchronize();
  }

  const Driver& driver_;
  const Direction direction_;
  const Described& user_;
  char* const packed_;
  const std::size_t piece_;
  const Place packed_place_;
  device::Gpu* gpu_ = nullptr;
};

}  // namespace

void gpu_pack(const Driver& driver, Direction direction, const Described& user, void* packed, const Place& packed_place,
              std::size_t piece) {
  gpu_pack(driver, direction, user, packed, packed_place, piece, 0, user.recipe->recipe.size());
}

void gpu_pack(const Driver& driver, Direction direction, const Described& user, void* packed, const Place& packed_place,
              std::size_t piece, std::int64_t begin, std::int64_t end) {
  Work(driver, direction, user, packed, packed_place, piece).run(begin, end);
}

void gpu_copy(const Driver& driver, void* to, const void* from, std::size_t size) {
  const auto target = device::place_of(driver, to), source = device::place_of(driver, from);
  if (!target.on_gpu() && !source.on_gpu()) {
    std::memcpy(to, from, size);
    return;
  }
  const device::Scope scope(driver, device::context_for(driver, source.on_gpu() ? source : target));
  device::Borrowed lane(device::Gpu::current(driver));
  lane.busy();
  check(driver,
        driver.cuMemcpyAsync(device_pointer(address_of(to)), device_pointer(address_of(from)), size, lane->stream),
        "cuMemcpyAsync");
  device::launches.copy();
  lane.synchronize();
}

}  // namespace dunnage::pack::gpu
