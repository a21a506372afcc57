#include "filler.hpp"

#include "image.hpp"

namespace triggered {

using namespace bench;

namespace {
constexpr unsigned blocks = 10'000'000, threads = 256;
}  // namespace

Filler* Filler::get() {
  static Filler filler;
  return filler.kernel_ ? &filler : nullptr;
}

Filler::Filler() {
  kernel_ = kernel_of("fill");
  if (!kernel_) return;
  BENCH_CU(cuStreamCreate, &stream_, CU_STREAM_NON_BLOCKING);
  BENCH_CU(cuStreamCreate, &beside_, CU_STREAM_NON_BLOCKING);
  BENCH_CU(cuMemAlloc, &stop_, sizeof(int));
}

void Filler::begin() const {
  if (runs()) return;
  static const int go_on = 0;
  auto* stop = reinterpret_cast<int*>(stop_);
  void* parameters[] = {&stop};
  BENCH_CU(cuMemcpyHtoDAsync, stop_, &go_on, sizeof go_on, stream_);
  BENCH_CU(cuLaunchKernel, kernel_, blocks, 1, 1, threads, 1, 1, 0, stream_, parameters, nullptr);
}

bool Filler::runs() const { return driver().cuStreamQuery(stream_) != CUDA_SUCCESS; }

void Filler::end() const {
  static const int stop = 1;
  BENCH_CU(cuMemcpyHtoDAsync, stop_, &stop, sizeof stop, beside_);
  BENCH_CU(cuStreamSynchronize, beside_);
  BENCH_CU(cuStreamSynchronize, stream_);
}

}  // namespace triggered
