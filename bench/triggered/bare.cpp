#include "bare.hpp"

#include <algorithm>

#include "device/memory_operation.hpp"
#include "image.hpp"
#include "plan.hpp"

namespace triggered {

using namespace bench;
using dunnage::device::wait_of;
using dunnage::device::write_of;

namespace {

/// The memory in which the other rank receives, as this rank's GPU sees it.
class Target {
 public:
  explicit Target(const Legs& legs) {
    const auto own = reinterpret_cast<CUdeviceptr>(legs.in());
    if (ranks == 1) {
      address_ = own;
      return;
    }
    CUipcMemHandle mine{}, others{};
    BENCH_CU(cuIpcGetMemHandle, &mine, own);
    MPI_Sendrecv(&mine, sizeof mine, MPI_BYTE, Legs::other(), 3, &others, sizeof others, MPI_BYTE, Legs::other(), 3,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    BENCH_CU(cuIpcOpenMemHandle, &address_, others, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  }
  ~Target() {
    driver().cuCtxSynchronize();
    if (ranks > 1) driver().cuIpcCloseMemHandle(address_);
    MPI_Barrier(MPI_COMM_WORLD);  // nobody frees what another one has mapped
  }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  CUdeviceptr address() const { return address_; }

 private:
  CUdeviceptr address_ = 0;
};

}  // namespace

void trips_by_bare_operations(const Legs& legs, int rounds) {
  constexpr int legs_each = 20;
  const Shape& shape = legs.shape();
  const Target target(legs);
  const auto own_flag = reinterpret_cast<CUdeviceptr>(legs.in()) + legs.flag_offset();
  const auto flag = target.address() + legs.flag_offset();
  const auto bytes = static_cast<std::size_t>(shape.blocks) * static_cast<std::size_t>(shape.block);
  std::uint64_t epoch = 0;  // of the latest leg
  const auto leg_by = [&](auto&& put, auto&& wait) {
    return [&, put, wait] {
      for (int i = 0; i < legs_each; ++i) {
        ++epoch;
        if (Legs::sends(i % 2)) put();
        if (Legs::receives(i % 2)) wait();
      }
      BENCH_CU(cuStreamSynchronize, stream);
    };
  };
  if (shape.block == shape.stride && driver().cuStreamBatchMemOp) {
    measure(legs, "bare memory operations", "", rounds, legs_each,
            leg_by(
                [&] {
                  auto write = write_of(flag, epoch);
                  BENCH_CU(cuMemcpyDtoDAsync, target.address(), reinterpret_cast<CUdeviceptr>(legs.out()), bytes,
                           stream);
                  BENCH_CU(cuStreamBatchMemOp, stream, 1, &write, 0);
                },
                [&] {
                  auto wait = wait_of(own_flag, epoch);
                  BENCH_CU(cuStreamBatchMemOp, stream, 1, &wait, 0);
                }));
  }
  const auto put_kernel = kernel_of("bare_put"), wait_kernel = kernel_of("bare_wait");
  if (!put_kernel || !wait_kernel || !own_device) return;
  CUdeviceptr ended = 0;  // how many blocks of bare_put have ended
  BENCH_CU(cuMemAlloc, &ended, sizeof(unsigned));
  BENCH_CU(cuMemsetD8, ended, 0, sizeof(unsigned));
  BENCH_CU(cuCtxSynchronize);
  constexpr std::size_t of_a_block = 4096, most_blocks = 264;  // two for each of an H200's processors
  const auto blocks = static_cast<unsigned>(std::clamp(bytes / of_a_block, std::size_t{1}, most_blocks));
  const auto launch = [&](CUfunction kernel, unsigned number, unsigned threads, CUdeviceptr to_flag) {
    Bare plan{static_cast<const char*>(legs.out()), reinterpret_cast<char*>(target.address()),
              reinterpret_cast<char*>(to_flag),     epoch,
              reinterpret_cast<unsigned*>(ended),   static_cast<unsigned>(shape.blocks),
              static_cast<unsigned>(shape.block),   static_cast<unsigned>(shape.stride)};
    void* parameters[] = {&plan};
    BENCH_CU(cuLaunchKernel, kernel, number, 1, 1, threads, 1, 1, 0, stream, parameters, nullptr);
  };
  measure(legs, "bare kernels", "", rounds, legs_each,
          leg_by([&] { launch(put_kernel, blocks, 256, flag); }, [&] { launch(wait_kernel, 1, 1, own_flag); }));
  BENCH_CU(cuMemFree, ended);
}

}  // namespace triggered
