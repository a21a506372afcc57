#include "tool/gpu_paths.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <utility>

#include "device/cuda_driver_api.h"

namespace dunnage::tool {
namespace {

constexpr std::size_t bytes = 2 << 20;
constexpr auto patience = std::chrono::seconds(30);

#define DUNNAGE_PATH_FUNCTIONS(X) \
  X(cuInit)                       \
  X(cuDeviceGetCount)             \
  X(cuDevicePrimaryCtxRetain)     \
  X(cuCtxSetCurrent)              \
  X(cuCtxSynchronize)             \
  X(cuMemAlloc)                   \
  X(cuMemcpyHtoD)                 \
  X(cuMemcpyDtoH)                 \
  X(cuMemcpyDtoD)                 \
  X(cuIpcGetMemHandle)            \
  X(cuIpcOpenMemHandle)           \
  X(cuMemHostRegister)            \
  X(cuGetErrorName)

/// The driver in a child process. An error of the driver is thrown.
struct Driver {
#define DUNNAGE_MEMBER(function) decltype(&::function) function = nullptr;
  DUNNAGE_PATH_FUNCTIONS(DUNNAGE_MEMBER)
#undef DUNNAGE_MEMBER

  explicit Driver(const std::string& file) {
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) throw std::runtime_error(file + " cannot be loaded");
#define DUNNAGE_TEXT_OF(name) #name
#define DUNNAGE_TEXT(name) DUNNAGE_TEXT_OF(name)
#define DUNNAGE_RESOLVE(function)                                                          \
  function = reinterpret_cast<decltype(function)>(dlsym(library, DUNNAGE_TEXT(function))); \
  if (!function) throw std::runtime_error(file + " has no " DUNNAGE_TEXT(function));
    DUNNAGE_PATH_FUNCTIONS(DUNNAGE_RESOLVE)
#undef DUNNAGE_RESOLVE
    check(cuInit(0), "cuInit");
  }
  void check(CUresult code, const char* what) const {
    if (code == CUDA_SUCCESS) return;
    const char* name = nullptr;
    cuGetErrorName(code, &name);
    throw std::runtime_error(fmt::format("{}: {}", what, name ? name : "an unknown error"));
  }
  int devices() const {
    int count = 0;
    check(cuDeviceGetCount(&count), "cuDeviceGetCount");
    return count;
  }
  void use(int device) const {
    CUcontext context = nullptr;
    check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  }
  CUdeviceptr allocate() const {
    CUdeviceptr address = 0;
    check(cuMemAlloc(&address, bytes), "cuMemAlloc");
    return address;
  }
};

// What a child reports, in records of one size. A record that is written to a pipe is not divided.
struct Answer {
  char failure[160] = "";
  std::int32_t number = 0;
  std::uint64_t value = 0;
  CUipcMemHandle handle{};
};
static_assert(sizeof(Answer) <= PIPE_BUF);

/// A child process that sends answers and lives until its parent closes the pipe.
class Child {
 public:
  explicit Child(const std::function<void(const std::function<void(const Answer&)>& tell)>& body) {
    int answers[2], life[2];
    if (pipe(answers) != 0) throw std::runtime_error("no pipe");
    if (pipe(life) != 0) throw std::runtime_error("no pipe");
    process_ = fork();
    if (process_ == 0) {
      close(answers[0]);
      close(life[1]);
      body([&](const Answer& answer) { (void)!write(answers[1], &answer, sizeof answer); });
      char none;
      (void)!read(life[0], &none, 1);
      _exit(0);
    }
    close(answers[1]);
    close(life[0]);
    answers_ = answers[0];
    life_ = life[1];
  }
  Child(Child&& other) noexcept
      : process_(std::exchange(other.process_, -1)), answers_(other.answers_), life_(other.life_), end_(other.end_) {}
  ~Child() {
    if (process_ <= 0) return;
    close(answers_);
    close(life_);
    kill(process_, SIGKILL);  // the child has sent all answers, or it hangs
    waitpid(process_, nullptr, 0);
  }
  Answer next() {
    Answer answer;
    pollfd ready{answers_, POLLIN, 0};
    using std::chrono::milliseconds;
    const auto left = std::chrono::duration_cast<milliseconds>(end_ - std::chrono::steady_clock::now()).count();
    const bool there = poll(&ready, 1, static_cast<int>(std::max<std::int64_t>(left, 0))) == 1;
    if (!there)
      std::strcpy(answer.failure, "no answer within half a minute");
    else if (read(answers_, &answer, sizeof answer) != sizeof answer)
      std::strcpy(answer.failure, "the process that tried it died");
    return answer;
  }

 private:
  pid_t process_;
  int answers_ = -1, life_ = -1;
  std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + patience;
};

/// Returns what f finds out, or what went wrong.
template <class F>
Answer answer_of(F&& f) {
  Answer answer;
  try {
    f(answer);
  } catch (const std::exception& e) {
    std::strncpy(answer.failure, e.what(), sizeof answer.failure - 1);
  }
  return answer;
}

std::uint64_t value_of(int device) {
  return 0x64756e6e61676500u + static_cast<std::uint64_t>(device) + (static_cast<std::uint64_t>(getpid()) << 8);
}

}  // namespace

GpuPaths try_gpu_paths(const std::string& library) {
  const auto count_devices = [&](Answer& a) { a.number = Driver(library).devices(); };
  const auto count = Child([&](const auto& tell) { tell(answer_of(count_devices)); }).next();
  const int devices = count.failure[0] ? 0 : count.number;
  std::vector<Child> owners;
  for (int device = 0; device < devices; ++device)
    owners.emplace_back([&, device](const auto& tell) {
      tell(answer_of([&](Answer& a) {
        static const Driver driver(library);
        driver.use(device);
        const auto memory = driver.allocate();
        a.value = value_of(device);
        driver.check(driver.cuMemcpyHtoD(memory, &a.value, sizeof a.value), "cuMemcpyHtoD");
        // The copy may return before the device has the bytes.
        driver.check(driver.cuCtxSynchronize(), "cuCtxSynchronize");
        driver.check(driver.cuIpcGetMemHandle(&a.handle, memory), "cuIpcGetMemHandle");
      }));
    });
  std::vector<Answer> exported;
  for (auto& owner : owners) exported.push_back(owner.next());
  std::vector<Child> readers;
  for (int device = 0; device < devices; ++device)
    readers.emplace_back([&, device](const auto& tell) {
      const Driver* driver = nullptr;
      const auto begun = answer_of([&](Answer&) {
        static const Driver ours(library);
        ours.use(device);
        driver = &ours;
      });
      tell(answer_of([&](Answer&) {
        if (!driver) throw std::runtime_error(begun.failure);
        void* shared = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (shared == MAP_FAILED) throw std::runtime_error("no shared memory");
        driver->check(driver->cuMemHostRegister(shared, bytes, CU_MEMHOSTREGISTER_PORTABLE), "cuMemHostRegister");
      }));
      for (const auto& owner : exported)
        tell(answer_of([&](Answer&) {
          if (!driver) throw std::runtime_error(begun.failure);
          if (owner.failure[0]) throw std::runtime_error(owner.failure);
          CUdeviceptr theirs = 0;
          constexpr auto lazily = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;
          driver->check(driver->cuIpcOpenMemHandle(&theirs, owner.handle, lazily), "cuIpcOpenMemHandle");
          const auto own = driver->allocate();
          std::uint64_t value = 0;
          driver->check(driver->cuMemcpyDtoD(own, theirs, sizeof value), "cuMemcpyDtoD");
          driver->check(driver->cuMemcpyDtoH(&value, own, sizeof value), "cuMemcpyDtoH");
          if (value != owner.value) throw std::runtime_error("the copy succeeds but brings wrong bytes");
        }));
    });
  GpuPaths paths;
  for (auto& reader : readers) {
    paths.rings.push_back(reader.next().failure);
    paths.direct.emplace_back();
    for (int owner = 0; owner < devices; ++owner) paths.direct.back().push_back(reader.next().failure);
  }
  return paths;
}

}  // namespace dunnage::tool
