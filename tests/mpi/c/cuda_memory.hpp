// Memory of every kind that CUDA knows, behind one face. The driver API alone: the programs run with the real driver and with
// the simulated one.
#pragma once

#include <cuda.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "contract.hpp"

inline void cuda(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const char* name = "?";
  cuGetErrorName(result, &name);
  std::fprintf(stderr, "FAIL contract=cuda rank=%d check=\"%s\" %s\n", contract().rank, what, name);
  std::_Exit(5);
}

enum class Kind { host, pinned, registered, device, other_device, managed, pool };
inline const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {Kind::host, Kind::pinned, Kind::registered, Kind::device, Kind::other_device, Kind::managed, Kind::pool};
  return all;
}
inline const char* name_of(Kind kind) {
  static const char* const names[] = {"host", "pinned", "registered", "device", "other device", "managed", "pool"};
  return names[static_cast<int>(kind)];
}
inline bool on_gpu(Kind kind) { return kind == Kind::device || kind == Kind::other_device || kind == Kind::managed || kind == Kind::pool; }

// The primary contexts of up to two devices; the first is current.
struct Devices {
  int count = 0;
  CUcontext context[2] = {};
  Devices() {
    cuda(cuInit(0), "cuInit");
    cuda(cuDeviceGetCount(&count), "cuDeviceGetCount");
    for (int i = 0; i < count && i < 2; ++i) cuda(cuDevicePrimaryCtxRetain(&context[i], i), "cuDevicePrimaryCtxRetain");
    cuda(cuCtxSetCurrent(context[0]), "cuCtxSetCurrent");
  }
};
inline Devices& devices() {
  static Devices all;
  return all;
}

class CudaMemory {
 public:
  CudaMemory(Kind kind, std::size_t size) : kind_(kind), size_(size) {
    devices();
    CUdeviceptr device = 0;
    switch (kind) {
      case Kind::host: at_ = std::malloc(size); break;
      case Kind::pinned: cuda(cuMemAllocHost(&at_, size), "cuMemAllocHost"); break;
      case Kind::registered:
        at_ = std::aligned_alloc(4096, (size + 4095) / 4096 * 4096);
        cuda(cuMemHostRegister(at_, (size + 4095) / 4096 * 4096, 0), "cuMemHostRegister");
        break;
      case Kind::other_device: cuda(cuCtxPushCurrent(devices().context[1]), "cuCtxPushCurrent"); [[fallthrough]];
      case Kind::device: cuda(cuMemAlloc(&device, size), "cuMemAlloc"); break;
      case Kind::managed: cuda(cuMemAllocManaged(&device, size, CU_MEM_ATTACH_GLOBAL), "cuMemAllocManaged"); break;
      case Kind::pool:
        cuda(cuMemAllocAsync(&device, size, nullptr), "cuMemAllocAsync");
        cuda(cuStreamSynchronize(nullptr), "cuStreamSynchronize");
        break;
    }
    if (kind == Kind::other_device) cuCtxPopCurrent(nullptr);
    if (!at_) at_ = reinterpret_cast<void*>(device);
  }
  ~CudaMemory() {
    const auto device = reinterpret_cast<CUdeviceptr>(at_);
    switch (kind_) {
      case Kind::host: std::free(at_); break;
      case Kind::pinned: cuMemFreeHost(at_); break;
      case Kind::registered:
        cuMemHostUnregister(at_);
        std::free(at_);
        break;
      case Kind::other_device:
        cuCtxPushCurrent(devices().context[1]);
        cuMemFree(device);
        cuCtxPopCurrent(nullptr);
        break;
      case Kind::device:
      case Kind::managed: cuMemFree(device); break;
      case Kind::pool: cuMemFreeAsync(device, nullptr); break;
    }
  }
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;

  unsigned char* data() const { return static_cast<unsigned char*>(at_); }
  std::size_t size() const { return size_; }

  void write(const void* from) { copy(at_, from); }
  std::vector<unsigned char> read() const {
    std::vector<unsigned char> bytes(size_);
    copy(bytes.data(), at_);
    return bytes;
  }

 private:
  void copy(void* to, const void* from) const {
    if (kind_ == Kind::host) {
      std::memcpy(to, from, size_);
      return;
    }
    cuda(cuMemcpy(reinterpret_cast<CUdeviceptr>(to), reinterpret_cast<CUdeviceptr>(from), size_), "cuMemcpy");
    cuda(cuStreamSynchronize(nullptr), "cuStreamSynchronize");
  }
  Kind kind_;
  std::size_t size_;
  void* at_ = nullptr;
};

inline int error_class(int code) {
  int cls = MPI_SUCCESS;
  if (code != MPI_SUCCESS) PMPI_Error_class(code, &cls);
  return cls;
}

// Some MPIs have no codes with texts in their own classes; there the class is one of Dunnage's.
inline void check_error(int code, int expected, const std::string& what) {
  const int cls = error_class(code);
  check(cls == expected || (code != MPI_SUCCESS && cls > MPI_ERR_LASTCODE), what, "class " + std::to_string(cls));
}
