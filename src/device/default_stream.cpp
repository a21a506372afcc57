#include "device/default_stream.hpp"

#include "device/launches.hpp"

namespace dunnage::device {

void DefaultStream::wait() {
  if (driver_.cuStreamQuery(CU_STREAM_LEGACY) == CUDA_SUCCESS) return;
  // Only that stream's work is to be waited for. The answer was also about the blocking streams.
  const std::lock_guard lock(mutex_);
  constexpr std::size_t word = 8;
  if (!behind_) check(driver_, driver_.cuStreamCreate(&behind_, CU_STREAM_DEFAULT), "cuStreamCreate");
  if (!words_) check(driver_, driver_.cuMemAlloc(&words_, 2 * word), "cuMemAlloc");
  // Real work: a mark (cuEventRecord) does not wait for the default stream.
  check(driver_, driver_.cuMemcpyAsync(words_, words_ + word, word, behind_), "cuMemcpyAsync");
  if (driver_.cuStreamQuery(behind_) == CUDA_SUCCESS) return;
  launches.wait();
  check(driver_, driver_.cuStreamSynchronize(behind_), "cuStreamSynchronize");
}

void DefaultStream::release() {
  if (words_) driver_.cuMemFree(words_);
  if (behind_) driver_.cuStreamDestroy(behind_);
  words_ = 0;
  behind_ = nullptr;
}

}  // namespace dunnage::device
