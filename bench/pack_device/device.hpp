// The GPU that is measured: its context, memory and kernels.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/cuda_driver.hpp"

namespace bench {

/// A kernel of kernels.cu. It is empty if the driver does not know the kernel, as a replacement for
/// the driver may not.
class Kernel {
 public:
  Kernel() = default;
  explicit Kernel(CUfunction function) : function_(function) {}
  explicit operator bool() const { return function_ != nullptr; }

  using Dim = std::array<unsigned, 3>;
  template <class... Parameters>
  void launch(CUstream stream, Dim grid, Dim block, Parameters... parameters) const {
    std::array<void*, sizeof...(parameters) + 1> addresses{&parameters...};
    BENCH_CU(cuLaunchKernel, function_, grid[0], grid[1], grid[2], block[0], block[1], block[2], 0, stream,
             addresses.data(), nullptr);
  }

 private:
  CUfunction function_ = nullptr;
};

/// Device 0, and a stream of this program on it.
class Device {
 public:
  Device();
  const std::string& name() const { return name_; }
  unsigned processors() const { return processors_; }
  CUstream stream() const { return stream_; }
  Kernel kernel(const char* name) const;
  /// Waits for all work of the device, as cudaDeviceSynchronize does.
  void wait() const { BENCH_CU(cuCtxSynchronize); }

  /// Launches a kernel that strides over its work: enough blocks of 256 threads to fill the device,
  /// but no more than there is work.
  template <class... Parameters>
  void launch_over(const Kernel& kernel, std::uint64_t work, Parameters... parameters) const {
    constexpr unsigned block = 256;
    const std::uint64_t blocks = std::min<std::uint64_t>((work + block - 1) / block, std::uint64_t{32} * processors_);
    const Kernel::Dim grid{static_cast<unsigned>(std::max<std::uint64_t>(blocks, 1)), 1, 1};
    kernel.launch(stream_, grid, {block, 1, 1}, parameters...);
  }

 private:
  std::string name_;
  unsigned processors_ = 1;
  CUstream stream_ = nullptr;
  CUmodule module_ = nullptr;
};

/// Owns device memory.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  explicit DeviceMemory(std::size_t bytes) : bytes_(bytes) {
    BENCH_CU(cuMemAlloc, &address_, std::max<std::size_t>(bytes, 1));
  }
  DeviceMemory(DeviceMemory&& other) noexcept
      : address_(std::exchange(other.address_, 0)), bytes_(std::exchange(other.bytes_, 0)) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~DeviceMemory() {
    if (address_) driver().cuMemFree(address_);
  }
  CUdeviceptr address() const { return address_; }
  std::size_t bytes() const { return bytes_; }

  /// Returns memory that has a copy of host data.
  template <class T>
  static DeviceMemory of(const std::vector<T>& values) {
    DeviceMemory memory(values.size() * sizeof(T));
    if (!values.empty()) upload(memory.address_, values.data(), values.size() * sizeof(T));
    return memory;
  }

 private:
  CUdeviceptr address_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace bench
