#include "device/completion_flags.hpp"

#include <cstring>

namespace dunnage::device {

void CompletionFlags::make() {
  if (counts_) return;
  const bool made = driver_.cuMemAlloc(&counts_, most * count_bytes) == CUDA_SUCCESS &&
                    driver_.cuMemAllocHost(&told_, most * cache_line) == CUDA_SUCCESS;
  if (made)
    std::memset(told_, 0, most * cache_line);
  else
    release();
}

CompletionFlag CompletionFlags::take(CUstream stream) {
  if (!told_ || taken_ == most) return {};
  const auto count = counts_ + taken_ * count_bytes;
  auto* told = static_cast<char*>(told_) + taken_ * cache_line;
  // It has only zeros until the first kernel that comes after the copy.
  if (driver_.cuMemcpyAsync(count, reinterpret_cast<CUdeviceptr>(told), count_bytes, stream) != CUDA_SUCCESS) return {};
  ++taken_;
  return {count, reinterpret_cast<std::uint64_t*>(told)};
}

void CompletionFlags::release() {
  if (counts_) driver_.cuMemFree(counts_);
  if (told_) driver_.cuMemFreeHost(told_);
  counts_ = 0;
  told_ = nullptr;
  taken_ = 0;
}

}  // namespace dunnage::device
