#include "transport/gpu/pipe.hpp"

#include "pack/gpu/launch.hpp"

namespace dunnage::transport::gpu {

using pack::gpu::launch;

GpuPipe::GpuPipe(const device::Driver& driver, Direction direction, const Described& data, std::size_t piece)
    : driver_(driver),
      direction_(direction),
      data_(data),
      piece_(piece),
      scope_(driver, device::context_for(driver, data.place)),
      gpu_(device::Gpu::current(driver)) {}

GpuPipe::~GpuPipe() {
  lanes_.clear();  // before scope_ makes another context current
}

void GpuPipe::begin(const char* memory, std::int64_t begin, std::int64_t end) {
  const auto place = device::known_place(driver_, memory);
  if (place.memory == device::Memory::host) {  // not page-locked: no kernel reaches it
    while (!lanes_.empty()) pop();
    auto base = place;
    base.address -= static_cast<std::uintptr_t>(begin);
    gpu_pack(driver_, direction_, data_, reinterpret_cast<void*>(base.address), base, piece_, begin, end);
    ++ended_;
    return;
  }
  if (lanes_.size() == most) pop();
  auto& lane = *lanes_.emplace_back(std::make_unique<device::Borrowed>(gpu_));
  launch(gpu_, lane,
         {direction_, data_.recipe, reinterpret_cast<std::uintptr_t>(data_.buffer), place.address, begin, end});
}

std::uint64_t GpuPipe::ended() {
  while (!lanes_.empty() && lanes_.front()->done()) pop();
  return ended_;
}

void GpuPipe::pop() {
  if (!lanes_.front()->done()) lanes_.front()->synchronize();
  lanes_.pop_front();
  ++ended_;
}

}  // namespace dunnage::transport::gpu
