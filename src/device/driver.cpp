#include "device/driver.hpp"

#include <dlfcn.h>

#include <atomic>
#include <mutex>

#include <fmt/format.h>

namespace dunnage::device {
namespace {

Source source = Source::automatic;
std::string installation;
std::mutex looking;

bool resolve(Driver& driver, void* library) {
  bool all = true;
  // A macro of cuda.h gives many functions the name of their newest version.
#define DUNNAGE_TEXT_OF(name) #name
#define DUNNAGE_TEXT(name) DUNNAGE_TEXT_OF(name)
#define DUNNAGE_RESOLVE(function)                                                                    \
  driver.function = reinterpret_cast<decltype(driver.function)>(dlsym(library, DUNNAGE_TEXT(function)));
#define DUNNAGE_REQUIRE(function) DUNNAGE_RESOLVE(function) all = all && driver.function;
  DUNNAGE_DRIVER_FUNCTIONS(DUNNAGE_REQUIRE)
  DUNNAGE_NEWER_DRIVER_FUNCTIONS(DUNNAGE_RESOLVE)
  return all;
}

/// The simulated device has no compiler: what a kernel does there, this tells it (sim/kernels.cpp).
bool teach(void* library) {
  return dlsym(library, "dunnageSimRegisterKernel") && dlopen((installation + "sim/libdunnage-kernels-sim.so").c_str(), RTLD_NOW | RTLD_LOCAL);
}

const Driver* look() {
  static Driver driver;
  void* library = source == Source::sim ? dlopen((installation + "sim/libcuda.so.1").c_str(), RTLD_NOW | RTLD_GLOBAL)
                                        : dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (!library) return nullptr;
  if (!resolve(driver, library)) {
    source = Source::off;  // too old: it will not get newer
    return nullptr;
  }
  driver.simulated = teach(library);
  return &driver;
}

}  // namespace

void look_for_driver(Source where, std::string folder) {
  source = where;
  installation = std::move(folder);
}
const std::string& folder() { return installation; }

std::atomic<const Driver*> found_driver{nullptr};

const Driver* find_driver() {
  if (nothing_loaded()) return nullptr;
  const std::lock_guard lock(looking);
  if (const auto* there = found_driver.load(std::memory_order_relaxed)) return there;
  // Others may say that there is none only once we have looked.
  const auto before = loads();
  const auto* there = source == Source::off ? nullptr : look();
  found_driver.store(there, std::memory_order_release);
  watch_loads(installation, there ? loads() : before);
  return there;
}

Error::Error(const Driver& driver, CUresult code, const char* what)
    : std::runtime_error([&] {
        const char* name = nullptr;
        driver.cuGetErrorName(code, &name);
        return fmt::format("{}: {}", what, name ? name : "unknown CUDA error");
      }()),
      code(code) {}

}  // namespace dunnage::device
