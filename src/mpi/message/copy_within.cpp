#include "mpi/message/copy_within.hpp"

#include <algorithm>

#include "mpi/message/stage.hpp"
#include "mpi/process/gpu_use.hpp"

namespace dunnage::mpi {
namespace {

/// Two layouts in host memory are copied by way of pieces that stay in the nearest caches.
constexpr std::int64_t near_bytes = 32 << 10;
/// Between host and device memory pieces are as long as a device needs to reach its speed.
constexpr std::int64_t device_host_piece = 4 << 20;

}  // namespace

std::optional<CUcontext> common_context(const memory::Buffer& from, const memory::Buffer& to) {
  const auto* source = from.device();
  const auto* target = to.device();
  if (!source || !target || !in_one_piece(*source) || !in_one_piece(*target)) return std::nullopt;
  const auto in_device = [](const pack::gpu::Described& data) { return data.place.memory == device::Memory::device; };
  if (in_device(*source) && in_device(*target) && source->place.device != target->place.device) return std::nullopt;
  return context_of(*device::driver(), in_device(*target) ? target->place : source->place);
}

void copy_by_host(const memory::Buffer& from, const memory::Landing& landing, std::int64_t bytes) {
  const auto& to = landing.buffer;
  if (auto* target = to.contiguous_host()) return from.pack(target, 0, bytes);
  if (const auto* source = from.contiguous_host()) return landing.place(source, 0, bytes);
  const bool whole = (from.packer() && from.packer()->whole()) || (to.packer() && to.packer()->whole());
  const auto piece = whole ? bytes : std::min(bytes, from.packer() || to.packer() ? device_host_piece : near_bytes);
  const auto& on_device = from.device() ? from : to;
  const auto staging = staging_for(on_device, piece);
  if (!staging) throw std::bad_alloc();
  for (std::int64_t begin = 0; begin < bytes; begin += piece) {
    const auto end = std::min(begin + piece, bytes);
    from.pack(staging.data(), begin, end);
    landing.place(staging.data(), begin, end);
  }
}

int copy_within(const memory::Buffer& from, const memory::Landing& landing, std::int64_t bytes,
                std::function<void()> ended) {
  int code = MPI_SUCCESS;
  bool begun = false;  // whoever fetches calls ended()
  const int failed = guarded([&] {
    if (const auto context = common_context(from, landing.buffer)) {
      begun = true;
      using Move = ScopedTransfers::Move;
      const Move move{*from.device(), *landing.buffer.device(), bytes, nullptr};
      code = fetch_to_device({*context, std::make_shared<const Move>(move), ended});
      return;
    }
    copy_by_host(from, landing, bytes);
    landing.finish();
  });
  if (!begun) ended();
  return failed != MPI_SUCCESS ? failed : code;
}

}  // namespace dunnage::mpi
