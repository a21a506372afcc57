// Memory of every kind that CUDA knows, behind one face. The driver API alone: the programs run
// with the real driver and with the simulated one.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "contract.hpp"
#include "device/cuda_driver_api.h"

inline void cuda(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const char* name = "?";
  cuGetErrorName(result, &name);
  std::fprintf(stderr, "FAIL contract=cuda rank=%d check=\"%s\" %s\n", contract().rank, what, name);
  std::_Exit(5);
}

enum class Kind { host, pinned, registered, device, other_device, managed, pool, mapped };
/// But for mapped virtual memory, which is to a kernel what a pool's is.
inline const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {Kind::host,         Kind::pinned,  Kind::registered, Kind::device,
                                        Kind::other_device, Kind::managed, Kind::pool};
  return all;
}
inline const char* name_of(Kind kind) {
  static const char* const names[] = {"host",         "pinned",  "registered", "device",
                                      "other device", "managed", "pool",       "mapped"};
  return names[static_cast<int>(kind)];
}
inline bool on_gpu(Kind kind) {
  return kind == Kind::device || kind == Kind::other_device || kind == Kind::managed || kind == Kind::pool ||
         kind == Kind::mapped;
}

// The primary contexts of up to two devices; the first is current. With CONTRACT_GPU_EACH the first
// is another one on each rank, if there are enough.
struct Devices {
  int count = 0;
  CUcontext context[2] = {};
  Devices() {
    cuda(cuInit(0), "cuInit");
    cuda(cuDeviceGetCount(&count), "cuDeviceGetCount");
    const int first = std::getenv("CONTRACT_GPU_EACH") ? contract().rank : 0;
    for (int i = 0; i < count && i < 2; ++i)
      cuda(cuDevicePrimaryCtxRetain(&context[i], (first + i) % count), "cuDevicePrimaryCtxRetain");
    cuda(cuCtxSetCurrent(context[0]), "cuCtxSetCurrent");
  }
};
inline Devices& devices() {
  static Devices all;
  return all;
}

// Makes the primary context of a device current: another one on each rank, if there are enough.
inline void use_own_device() {
  int count = 0;
  CUcontext context{};
  devices();
  cuda(cuDeviceGetCount(&count), "cuDeviceGetCount");
  cuda(cuDevicePrimaryCtxRetain(&context, contract().rank % count), "cuDevicePrimaryCtxRetain");
  cuda(cuCtxSetCurrent(context), "cuCtxSetCurrent");
}

// The same for functions that are made to fail once: that is not for the program.
template <class Call>
void cuda_in_the_end(Call&& call, const char* what) {
  if (call() != CUDA_SUCCESS) cuda(call(), what);
}

// Memory by the virtual memory functions: a range with `parts` allocations in it, one after the
// other.
class VirtualMemory {
 public:
  /// `passable`: whether descriptors of it can be had.
  explicit VirtualMemory(std::size_t part, std::size_t parts = 1, bool passable = true) : parts_(parts) {
    devices();
    properties_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    cuda(cuCtxGetDevice(&properties_.location.id), "cuCtxGetDevice");
    properties_.requestedHandleTypes = passable ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE;
    std::size_t unit = 0;
    cuda(cuMemGetAllocationGranularity(&unit, &properties_, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
         "cuMemGetAllocationGranularity");
    part_ = (part + unit - 1) / unit * unit;
    cuda_in_the_end([&] { return cuMemAddressReserve(&address_, parts_ * part_, 0, 0, 0); }, "cuMemAddressReserve");
    map();
  }
  ~VirtualMemory() {
    unmap();
    cuda_in_the_end([&] { return cuMemAddressFree(address_, parts_ * part_); }, "cuMemAddressFree");
  }
  VirtualMemory(const VirtualMemory&) = delete;
  VirtualMemory& operator=(const VirtualMemory&) = delete;
  /// Other memory at the same addresses.
  void remap() {
    unmap();
    map();
  }
  CUdeviceptr address() const { return address_; }
  std::size_t part() const { return part_; }
  std::size_t size() const { return parts_ * part_; }

 private:
  void map() {
    for (std::size_t i = 0; i < parts_; ++i) {
      CUmemGenericAllocationHandle memory = 0;
      cuda(cuMemCreate(&memory, part_, &properties_, 0), "cuMemCreate");
      cuda_in_the_end([&] { return cuMemMap(address_ + i * part_, part_, 0, memory, 0); }, "cuMemMap");
      cuda_in_the_end([&] { return cuMemRelease(memory); }, "cuMemRelease");  // mapped, it lives on
    }
    const CUmemAccessDesc access{properties_.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    cuda_in_the_end([&] { return cuMemSetAccess(address_, parts_ * part_, &access, 1); }, "cuMemSetAccess");
  }
  void unmap() {
    cuda(cuCtxSynchronize(), "cuCtxSynchronize");
    cuda_in_the_end([&] { return cuMemUnmap(address_, parts_ * part_); }, "cuMemUnmap");
  }
  CUmemAllocationProp properties_{};
  const std::size_t parts_;
  std::size_t part_ = 0;
  CUdeviceptr address_ = 0;
};

// Such memory as frameworks have it, who keep what they do not need for the next one.
class VirtualPool {
 public:
  CUdeviceptr take(std::size_t size) {
    for (auto& piece : pieces())
      if (!piece.taken && piece.memory->size() >= size + offset) return use(piece);
    pieces().push_back({std::make_unique<VirtualMemory>(size + offset)});
    return use(pieces().back());
  }
  void give(CUdeviceptr address) {
    for (auto& piece : pieces())
      if (piece.memory->address() + offset == address) piece.taken = false;
  }

 private:
  static constexpr std::size_t offset = 768;
  struct Piece {
    std::unique_ptr<VirtualMemory> memory;
    bool taken = false;
  };
  static CUdeviceptr use(Piece& piece) {
    piece.taken = true;
    return piece.memory->address() + offset;
  }
  static std::vector<Piece>& pieces() {
    static auto* all = new std::vector<Piece>;  // left to the end of the process
    return *all;
  }
};

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
      case Kind::mapped: device = VirtualPool().take(size); break;
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
      case Kind::mapped: VirtualPool().give(device); break;
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
