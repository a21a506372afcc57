#include "device/driver.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <mutex>

#include <fmt/format.h>

#include "device/kernels.hpp"

namespace dunnage::device {
namespace {

Source source = Source::automatic;
std::string installation;
std::mutex looking;
std::atomic<const Driver*> without_our_kernels{nullptr};

bool resolve(Driver& driver, void* library) {
  bool all = true;
  // Macros give many functions the name of a later version, such as cuMemAlloc_v2.
#define DUNNAGE_TEXT_OF(name) #name
#define DUNNAGE_TEXT(name) DUNNAGE_TEXT_OF(name)
#define DUNNAGE_RESOLVE(function) \
  driver.function = reinterpret_cast<decltype(driver.function)>(dlsym(library, DUNNAGE_TEXT(function)));
#define DUNNAGE_REQUIRE(function) DUNNAGE_RESOLVE(function) all = all && driver.function;
  DUNNAGE_DRIVER_FUNCTIONS(DUNNAGE_REQUIRE)
  DUNNAGE_NEWER_DRIVER_FUNCTIONS(DUNNAGE_RESOLVE)
  return all;
}

/// Tells the simulated device what our kernels do (sim/kernels.cpp), because it cannot run device
/// code. False if the library is a real driver.
bool teach(void* library) {
  return dlsym(library, "dunnageSimRegisterKernel") &&
         dlopen((installation + "sim/libdunnage-kernels-sim.so").c_str(), RTLD_NOW | RTLD_LOCAL);
}

/// The driver that the program has loaded. For a library that is not loaded, dlopen() looks into
/// each folder of the search path, which takes 100 us. So dlopen() is asked only if something of
/// that name is loaded.
void* loaded_driver() {
  const bool is_there = dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void*) { return std::strstr(object->dlpi_name, "libcuda.so") ? 1 : 0; },
      nullptr);
  return is_there ? dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) : nullptr;
}

const Driver* look() {
  static Driver driver;
  void* library = source == Source::sim ? dlopen((installation + "sim/libcuda.so.1").c_str(), RTLD_NOW | RTLD_GLOBAL)
                                        : loaded_driver();
  if (!library) return nullptr;
  if (!resolve(driver, library)) {
    source = Source::off;  // the driver lacks functions, and will not get them later
    return nullptr;
  }
  driver.simulated = teach(library);
  if (!driver.simulated && !has_kernels(installation)) {
    without_our_kernels.store(&driver, std::memory_order_release);
    source = Source::off;
    return nullptr;
  }
  return &driver;
}

}  // namespace

void look_for_driver(Source where, std::string folder) {
  without_our_kernels = nullptr;
  source = where;
  installation = std::move(folder);
}
const std::string& folder() { return installation; }

const Driver* driver_without_kernels() { return without_our_kernels.load(std::memory_order_acquire); }

bool may_lack_kernels() {
  const std::lock_guard lock(looking);
  return source == Source::automatic && !has_kernels(installation);
}

bool gpus_probable() {
  // The driver's device file, and that of Windows Subsystem for Linux.
  return access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
}

const char* why_driver_is_unused() { return driver_without_kernels() ? without_kernels : nullptr; }

std::atomic<const Driver*> found_driver{nullptr};

const Driver* find_driver() {
  if (nothing_loaded()) return nullptr;
  const std::lock_guard lock(looking);
  if (const auto* there = found_driver.load(std::memory_order_relaxed)) return there;
  // Loads are counted before the search. A driver that another thread loads during the search is
  // then found by the next call.
  const auto before = loads();
  const auto* there = source == Source::off ? nullptr : look();
  found_driver.store(there, std::memory_order_release);
  watch_loads(installation, there ? loads() : before);
  return there;
}

void settle_driver() {
  if (surely_nothing_loaded()) return;
  expect_questions();
  (void)driver();
}

bool could_handle_devices(const std::string& folder, const char* node) {
  return has_kernels(folder) && access(node, F_OK) == 0;
}

bool can_handle_devices() {
  constexpr const char* node = "/dev/nvidiactl";
  if (const auto* there = driver()) {
    unsigned flags = 0;
    int active = 0;
    const auto result = there->cuDevicePrimaryCtxGetState(0, &flags, &active);
    // The program need not have called cuInit yet.
    if (result == CUDA_ERROR_NOT_INITIALIZED) return there->simulated || could_handle_devices(installation, node);
    return result == CUDA_SUCCESS;
  }
  const std::lock_guard lock(looking);
  return source == Source::automatic && could_handle_devices(installation, node);
}

Error::Error(const Driver& driver, CUresult code, const char* what)
    : std::runtime_error([&] {
        const char* name = nullptr;
        driver.cuGetErrorName(code, &name);
        return fmt::format("{}: {}", what, name ? name : "unknown CUDA error");
      }()),
      code(code) {}

}  // namespace dunnage::device
