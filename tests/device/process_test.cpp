// What shows between processes, and what the environment changes. The process of the tests never
// calls cuInit: each test does so in children.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu.hpp"
#include "sim/sim.h"

namespace dunnage::device {
namespace {

// Runs `body` in a child; true where nothing in it failed.
class Child {
 public:
  explicit Child(const std::function<void()>& body) : id_(fork()) {
    if (id_ != 0) return;
    body();
    // By way of exit: the end of a process is tested with it.
    std::exit(testing::Test::HasFailure() ? 1 : 0);
  }
  bool succeeded() const {
    int status = 0;
    return waitpid(id_, &status, 0) == id_ && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

 private:
  pid_t id_;
};

bool in_child(const std::function<void()>& body) { return Child(body).succeeded(); }

void use_first_device() {
  CUcontext context{};
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
}

struct Pipe {
  Pipe() { EXPECT_EQ(pipe(ends), 0); }
  template <class Value>
  void send(const Value& value) const {
    ASSERT_EQ(write(ends[1], &value, sizeof value), static_cast<ssize_t>(sizeof value));
  }
  template <class Value>
  Value receive() const {
    Value value{};
    EXPECT_EQ(::read(ends[0], &value, sizeof value), static_cast<ssize_t>(sizeof value));
    return value;
  }
  int ends[2];
};

CUresult open(CUdeviceptr* address, const CUipcMemHandle& handle) {
  return cuIpcOpenMemHandle(address, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
}

char byte_at(CUdeviceptr address) {
  char byte = 0;
  EXPECT_EQ(cuMemcpyDtoH(&byte, address, 1), CUDA_SUCCESS);
  return byte;
}

TEST(Process, HandlesOfMemoryGoToAnother) {
  const Pipe there, back;
  const Child exporter([&] {
    use_first_device();
    CUdeviceptr before{}, memory{}, own{};
    ASSERT_EQ(cuMemAlloc(&before, 300), CUDA_SUCCESS);  // so that it does not start with a page
    ASSERT_EQ(cuMemAlloc(&memory, 10000), CUDA_SUCCESS);
    ASSERT_EQ(cuMemsetD8(memory, 1, 10000), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    CUipcMemHandle handle;
    ASSERT_EQ(cuIpcGetMemHandle(&handle, memory + 500), CUDA_SUCCESS);  // of the whole allocation
    EXPECT_EQ(open(&own, handle), CUDA_ERROR_INVALID_CONTEXT);
    there.send(handle);
    EXPECT_EQ(back.receive<char>(), 'w');
    EXPECT_EQ(byte_at(memory + 9999), 2);
    EXPECT_EQ(byte_at(memory + 9998), 1);
    EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
    there.send('f');
    EXPECT_EQ(back.receive<char>(), 'e');
  });
  const Child importer([&] {
    use_first_device();
    const auto handle = there.receive<CUipcMemHandle>();
    CUdeviceptr memory{}, again{};
    ASSERT_EQ(open(&memory, handle), CUDA_SUCCESS);
    ASSERT_EQ(open(&again, handle), CUDA_SUCCESS);
    EXPECT_EQ(again, memory);
    EXPECT_EQ(byte_at(memory), 1);
    unsigned type = 0, capable = 1;
    EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory + 9999), CUDA_SUCCESS);
    EXPECT_EQ(type, unsigned{CU_MEMORYTYPE_DEVICE});
    EXPECT_EQ(cuPointerGetAttribute(&capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, memory), CUDA_SUCCESS);
    EXPECT_EQ(capable, 0u);
    EXPECT_DEATH(*reinterpret_cast<volatile char*>(memory) = 1, "");
    EXPECT_EQ(cuMemFree(memory), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuIpcCloseMemHandle(memory + 1), CUDA_ERROR_INVALID_VALUE);
    ASSERT_EQ(cuMemsetD8(memory + 9999, 2, 1), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    back.send('w');
    EXPECT_EQ(there.receive<char>(), 'f');
    EXPECT_EQ(cuIpcCloseMemHandle(memory), CUDA_SUCCESS);
    byte_at(memory);  // freed over there, and still mapped here: it is open once more
    EXPECT_EQ(cuIpcCloseMemHandle(memory), CUDA_SUCCESS);
    EXPECT_EQ(cuIpcCloseMemHandle(memory), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory), CUDA_ERROR_INVALID_VALUE);
    back.send('e');
  });
  EXPECT_TRUE(exporter.succeeded());
  EXPECT_TRUE(importer.succeeded());
}

TEST(Process, VirtualMemoryGoesToAnotherByDescriptor) {
  constexpr std::size_t size = 4 << 20;
  const auto mapped = [](CUmemGenericAllocationHandle memory) {
    const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdeviceptr address{};
    EXPECT_EQ(cuMemAddressReserve(&address, size, 0, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuMemMap(address, size, 0, memory, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuMemSetAccess(address, size, &access, 1), CUDA_SUCCESS);
    EXPECT_EQ(cuMemRelease(memory), CUDA_SUCCESS);
    return address;
  };
  const Pipe there, back;
  const Child exporter([&] {
    use_first_device();
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CUmemGenericAllocationHandle memory{};
    int file = -1;
    ASSERT_EQ(cuMemCreate(&memory, size, &properties, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuMemExportToShareableHandle(&file, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), CUDA_SUCCESS);
    const auto address = mapped(memory);
    EXPECT_DEATH(*reinterpret_cast<volatile char*>(address) = 1, "");
    ASSERT_EQ(cuMemsetD8(address, 1, size), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    there.send(getpid());
    there.send(file);
    EXPECT_EQ(back.receive<char>(), 'w');
    EXPECT_EQ(byte_at(address + size - 1), 2);
    EXPECT_EQ(cuMemUnmap(address, size), CUDA_SUCCESS);
    there.send('f');
    EXPECT_EQ(back.receive<char>(), 'e');
  });
  const Child importer([&] {
    use_first_device();
    const auto process = there.receive<pid_t>();
    const auto number = there.receive<int>();
    // The way of the simulated device only: descriptors of a real one go through a socket.
    const int file =
        ::open(("/proc/" + std::to_string(process) + "/fd/" + std::to_string(number)).c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_GE(file, 0);
    CUmemGenericAllocationHandle memory{};
    const auto by = [](int f) { return reinterpret_cast<void*>(static_cast<std::intptr_t>(f)); };
    EXPECT_EQ(cuMemImportFromShareableHandle(&memory, by(there.ends[0]), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
              CUDA_ERROR_INVALID_VALUE);
    ASSERT_EQ(cuMemImportFromShareableHandle(&memory, by(file), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
              CUDA_SUCCESS);
    ::close(file);
    const auto address = mapped(memory);
    EXPECT_EQ(byte_at(address), 1);
    ASSERT_EQ(cuMemsetD8(address + size - 1, 2, 1), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    back.send('w');
    EXPECT_EQ(there.receive<char>(), 'f');
    EXPECT_EQ(byte_at(address + size - 1), 2) << "lives while it is mapped anywhere";
    back.send('e');
  });
  EXPECT_TRUE(exporter.succeeded());
  EXPECT_TRUE(importer.succeeded());
}

TEST(Process, HandlesOfAProcessThatHasEnded) {
  const Pipe there;
  EXPECT_TRUE(in_child([&] {
    use_first_device();
    CUdeviceptr memory{};
    CUipcMemHandle handle;
    ASSERT_EQ(cuMemAlloc(&memory, 16), CUDA_SUCCESS);
    ASSERT_EQ(cuIpcGetMemHandle(&handle, memory), CUDA_SUCCESS);
    there.send(handle);
  }));
  EXPECT_TRUE(in_child([&] {
    use_first_device();
    CUdeviceptr memory{};
    EXPECT_EQ(open(&memory, there.receive<CUipcMemHandle>()), CUDA_ERROR_MAP_FAILED);
    EXPECT_EQ(open(&memory, CUipcMemHandle{}), CUDA_ERROR_INVALID_VALUE);
  }));
}

TEST(Process, BeforeCuInit) {
  EXPECT_TRUE(in_child([] {
    EXPECT_EQ(dunnageSimCalls(nullptr), 0u);
    CUdeviceptr memory{};
    CUcontext context{};
    int count = 0;
    EXPECT_EQ(cuMemAlloc(&memory, 16), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(cuCtxGetCurrent(&context), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(cuPointerGetAttribute(&count, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 16), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(cuDriverGetVersion(&count), CUDA_SUCCESS);
    EXPECT_EQ(count, CUDA_VERSION);
    EXPECT_EQ(dunnageSimCalls(nullptr), 5u);
    EXPECT_EQ(cuInit(1), CUDA_ERROR_INVALID_VALUE);
  }));
}

TEST(Process, AfterAFork) {
  EXPECT_TRUE(in_child([] {
    use_first_device();
    CUstream stream{};
    ASSERT_EQ(cuStreamCreate(&stream, 0), CUDA_SUCCESS);
    Gate gate;
    gate.put_into(stream);      // work under way when it forks
    gate.wait_until_reached();  // or its thread may hold a lock of the sanitizer's allocator for ever in the child
    EXPECT_TRUE(in_child([] {
      CUdeviceptr memory{};
      EXPECT_EQ(cuMemAlloc(&memory, 16), CUDA_ERROR_NOT_INITIALIZED);
      EXPECT_EQ(cuInit(0), CUDA_ERROR_NOT_INITIALIZED);
      EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_NOT_INITIALIZED);
    }));
    gate.open();
    EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
  }));
}

TEST(Process, EndsWithWorkUnderWay) {
  EXPECT_TRUE(in_child([] {
    use_first_device();
    static auto& gate = *new Gate;  // never opened
    gate.put_into(nullptr);
    gate.wait_until_reached();
    CUdeviceptr memory{};
    ASSERT_EQ(cuMemAlloc(&memory, 16), CUDA_SUCCESS);
    ASSERT_EQ(cuMemsetD8(memory, 1, 16), CUDA_SUCCESS);
  }));
}

TEST(Process, DevicesAreASetting) {
  EXPECT_TRUE(in_child([] {
    setenv("DUNNAGE_SIM_DEVICES", "3", 1);
    use_first_device();
    int count = 0;
    EXPECT_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
    EXPECT_EQ(count, 3);
  }));
  EXPECT_TRUE(in_child([] {
    setenv("DUNNAGE_SIM_DEVICES", "0", 1);
    EXPECT_EQ(cuInit(0), CUDA_ERROR_NO_DEVICE);
    int count = 0;
    EXPECT_EQ(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
  }));
}

TEST(Process, MemoryIsASetting) {
  EXPECT_TRUE(in_child([] {
    setenv("DUNNAGE_SIM_MEMORY", "1000000", 1);
    use_first_device();
    CUdeviceptr memory{}, more{};
    EXPECT_EQ(cuMemAlloc(&memory, 1000001), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(cuMemAlloc(&memory, 600000), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAlloc(&more, 600000), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAlloc(&more, 600000), CUDA_SUCCESS);
  }));
}

// Sleeping takes at least as long as it was meant to: of 20 delays up to 10 ms, 5 in all is little.
TEST(Process, DelayIsASetting) {
  EXPECT_TRUE(in_child([] {
    setenv("DUNNAGE_SIM_DELAY", "10000", 1);
    use_first_device();
    CUstream stream{};
    CUevent from{}, to{};
    ASSERT_EQ(cuStreamCreate(&stream, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuEventCreate(&from, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuEventCreate(&to, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuEventRecord(from, stream), CUDA_SUCCESS);
    for (int i = 0; i < 20; ++i)
      ASSERT_EQ(cuLaunchHostFunc(
                    stream, [](void*) {}, nullptr),
                CUDA_SUCCESS);
    ASSERT_EQ(cuEventRecord(to, stream), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
    float milliseconds = 0;
    ASSERT_EQ(cuEventElapsedTime(&milliseconds, from, to), CUDA_SUCCESS);
    EXPECT_GE(milliseconds, 5);
  }));
}

// Kernels of two streams: one runs until the gate opens, the other one ends at once.
struct TwoKernels {
  TwoKernels() {
    dunnageSimRegisterKernel(
        "until_open", [](const dunnageSimLaunch* launch) { (*static_cast<Gate* const*>(launch->params[0]))->pass(); },
        one_pointer, 1);
    dunnageSimRegisterKernel(
        "short", [](const dunnageSimLaunch*) {}, nullptr, 0);
    CUmodule module{};
    EXPECT_EQ(cuModuleLoadData(&module, ""), CUDA_SUCCESS);
    EXPECT_EQ(cuModuleGetFunction(&until_open, module, "until_open"), CUDA_SUCCESS);
    EXPECT_EQ(cuModuleGetFunction(&at_once, module, "short"), CUDA_SUCCESS);
    for (auto& stream : streams) EXPECT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  }
  CUresult launch_until_open() {
    auto* const pointer = &gate;
    void* params[] = {const_cast<Gate**>(&pointer)};
    return cuLaunchKernel(until_open, 1, 1, 1, 1, 1, 1, 0, streams[0], params, nullptr);
  }
  CUresult launch_at_once() { return cuLaunchKernel(at_once, 100, 1, 1, 1, 1, 1, 0, streams[1], nullptr, nullptr); }
  static constexpr std::size_t one_pointer[] = {sizeof(Gate*)};
  Gate gate;
  CUfunction until_open{}, at_once{};
  CUstream streams[2] = {};
};

TEST(Process, BlocksAreASetting) {
  for (const bool room : {false, true})
    EXPECT_TRUE(in_child([&] {
      setenv("DUNNAGE_SIM_BLOCKS", room ? "2" : "1", 1);
      use_first_device();
      TwoKernels two;
      ASSERT_EQ(two.launch_until_open(), CUDA_SUCCESS);
      two.gate.wait_until_reached();
      ASSERT_EQ(two.launch_at_once(), CUDA_SUCCESS);
      if (room) {
        EXPECT_EQ(cuStreamSynchronize(two.streams[1]), CUDA_SUCCESS);
      } else {
        usleep(50000);
        EXPECT_EQ(cuStreamQuery(two.streams[1]), CUDA_ERROR_NOT_READY);
      }
      two.gate.open();
      EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    }));
}

TEST(Process, CallsThatWaitForKernelsAreASetting) {
  EXPECT_TRUE(in_child([] {
    setenv("DUNNAGE_SIM_BLOCKING", "1", 1);
    use_first_device();
    TwoKernels two;
    std::atomic<bool> opened{false};
    ASSERT_EQ(two.launch_until_open(), CUDA_SUCCESS);
    two.gate.wait_until_reached();
    std::thread opener([&] {
      usleep(50000);
      opened = true;
      two.gate.open();
    });
    EXPECT_EQ(two.launch_at_once(), CUDA_SUCCESS);  // loads the kernel first
    EXPECT_TRUE(opened);
    opener.join();
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  }));
}

TEST(Process, TheTimeOfKernelsIsASetting) {
  EXPECT_TRUE(in_child([] {
    setenv("DUNNAGE_SIM_KERNEL_TIME", "20000", 1);
    use_first_device();
    TwoKernels two;
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_EQ(two.launch_at_once(), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(20));
  }));
}

TEST(Process, FaultsAreASetting) {
  EXPECT_TRUE(in_child([] {
    setenv("DUNNAGE_SIM_FAIL", "cuMemAlloc:1:2,nonsense,copy:0:719:sticky", 1);
    use_first_device();
    CUdeviceptr memory{}, more{};
    EXPECT_EQ(cuMemAlloc(&memory, 16), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAlloc(&more, 16), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(cuMemAlloc(&more, 16), CUDA_SUCCESS);
    EXPECT_EQ(cuMemsetD8(memory, 0, 16), CUDA_ERROR_LAUNCH_FAILED);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  }));
}

}  // namespace
}  // namespace dunnage::device
