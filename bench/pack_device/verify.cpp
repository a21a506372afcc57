#include "verify.hpp"

namespace bench {
namespace {

// The seeds of what the buffers hold before a call.
constexpr std::uint64_t source = 1, poison = 2;

std::vector<unsigned char> contents(CUdeviceptr address, std::uint64_t bytes) {
  std::vector<unsigned char> copy(bytes);
  BENCH_CU(cuMemcpyDtoH, copy.data(), address, bytes);
  return copy;
}

std::uint64_t differing(const std::vector<unsigned char>& bytes, std::uint64_t first, std::uint64_t end,
                        std::uint64_t seed) {
  std::uint64_t different = 0;
  for (std::uint64_t i = first; i < end; ++i) different += bytes[i] != pattern(i, seed);
  return different;
}

}  // namespace

Verifier::Verifier(const Device& device, const Arena& arena, const Case& subject)
    : device_(device),
      arena_(arena),
      subject_(subject),
      fill_(device.kernel("fill")),
      differ_(device.kernel("differ")),
      differ_packed_(device.kernel("differ_packed")),
      differ_user_(device.kernel("differ_user")),
      restore_(device.kernel("restore")),
      geometry_(subject.geometry),
      offsets_(DeviceMemory::of(subject.offsets)),
      starts_(DeviceMemory::of(subject.starts)),
      count_(sizeof(std::uint64_t)) {
  if (geometry_.offsets) geometry_.offsets = reinterpret_cast<const std::uint64_t*>(offsets_.address());
  if (geometry_.starts) geometry_.starts = reinterpret_cast<const std::uint64_t*>(starts_.address());
}

bool Verifier::pack(const Slot& slot, const Call& call) { return verify(slot, call, true); }
bool Verifier::unpack(const Slot& slot, const Call& call) { return verify(slot, call, false); }

// The whole user's buffer is checked from its begin, and the packed bytes with their guards. Both
// are numbered from their begin, so `slot` must be the arena's first slot.
bool Verifier::verify(const Slot& slot, const Call& call, bool packing) {
  const std::uint64_t packed = payload(subject_.geometry);
  fill(arena_.user.address(), arena_.user.bytes(), packing ? source : poison);
  fill(slot.packed - guard, packed + 2 * guard, poison);
  if (!packing) fill(slot.packed, packed, source);
  device_.wait();
  call(slot);
  device_.wait();
  return (fill_ ? differences_on_device(slot, packing) : differences_on_host(slot, packing)) == 0;
}

void Verifier::fill(CUdeviceptr address, std::uint64_t bytes, std::uint64_t seed) const {
  if (fill_) return device_.launch_over(fill_, bytes / 8, address, bytes, seed);
  std::vector<unsigned char> values(bytes);
  for (std::uint64_t i = 0; i < bytes; ++i) values[i] = pattern(i, seed);
  upload(address, values.data(), bytes);
}

std::uint64_t Verifier::differences_on_device(const Slot& slot, bool packing) {
  const std::uint64_t packed = payload(subject_.geometry), whole = arena_.user.bytes();
  const CUdeviceptr user = arena_.user.address(), begin = slot.packed - guard, count = count_.address();
  std::uint64_t different = 0;
  upload(count, &different, sizeof different);
  const auto differ = [&](CUdeviceptr at, std::uint64_t first, std::uint64_t bytes, std::uint64_t seed) {
    device_.launch_over(differ_, bytes, at, first, bytes, seed, count);
  };
  differ(begin, 0, guard, poison);
  differ(begin, guard + packed, guard, poison);
  if (packing) {
    device_.launch_over(differ_packed_, packed, slot.packed, geometry_, source, count);
  } else {
    differ(slot.packed, 0, packed, source);
    device_.launch_over(differ_user_, packed, user, geometry_, source, count);
    device_.launch_over(restore_, packed, user, geometry_, poison);
  }
  differ(user, 0, whole, packing ? source : poison);
  device_.wait();
  BENCH_CU(cuMemcpyDtoH, &different, count, sizeof different);
  return different;
}

std::uint64_t Verifier::differences_on_host(const Slot& slot, bool packing) {
  const Geometry& g = subject_.geometry;
  const std::uint64_t packed = payload(g);
  std::vector<unsigned char> user = contents(arena_.user.address(), arena_.user.bytes());
  const std::vector<unsigned char> stream = contents(slot.packed - guard, packed + 2 * guard);
  std::uint64_t different =
      differing(stream, 0, guard, poison) + differing(stream, guard + packed, stream.size(), poison);
  std::uint64_t at = 0;
  for_each_block(g, [&](std::uint64_t offset, std::uint64_t length) {
    for (const std::uint64_t end = offset + length; offset < end; ++offset, ++at) {
      const unsigned char expected = packing ? pattern(offset, source) : pattern(at, source);
      different += stream[guard + at] != expected;
      if (packing) continue;
      different += user[offset] != expected;
      user[offset] = pattern(offset, poison);
    }
  });
  return different + differing(user, 0, user.size(), packing ? source : poison);
}

}  // namespace bench
