#include "tool/info_devices.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include "device/cuda_driver_api.h"
#include "device/kernels.hpp"
#include "tool/gpu_paths.hpp"
#include "tool/listing.hpp"

namespace dunnage::tool {
namespace {

// The functions of the driver that this file needs. It uses no other part of Dunnage to call the
// driver.
#define DUNNAGE_INFO_FUNCTIONS(X) \
  X(cuInit)                       \
  X(cuDriverGetVersion)           \
  X(cuDeviceGetCount)             \
  X(cuDeviceGetName)              \
  X(cuDeviceGetAttribute)         \
  X(cuDeviceTotalMem)             \
  X(cuDeviceCanAccessPeer)        \
  X(cuGetErrorName)

struct Functions {
#define DUNNAGE_MEMBER(function) decltype(&::function) function = nullptr;
  DUNNAGE_INFO_FUNCTIONS(DUNNAGE_MEMBER)
#undef DUNNAGE_MEMBER
};

std::string version(int number) { return fmt::format("CUDA {}.{}", number / 1000, number % 1000 / 10); }

int attribute(const Functions& f, CUdevice_attribute which, CUdevice device) {
  int value = 0;
  return f.cuDeviceGetAttribute(&value, which, device) == CUDA_SUCCESS ? value : 0;
}

void print_device(Listing& list, const Functions& f, CUdevice device) {
  char name[256] = "unknown";
  std::size_t bytes = 0;
  f.cuDeviceGetName(name, sizeof name, device);
  f.cuDeviceTotalMem(&bytes, device);
  list.line(fmt::format("device {}", device),
            fmt::format("{}, compute capability {}.{}, {:.1f} GiB", name,
                        attribute(f, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device),
                        attribute(f, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device),
                        static_cast<double>(bytes) / (std::size_t{1} << 30)));
}

void print_peers(Listing& list, const Functions& f, int devices) {
  for (CUdevice device = 0; devices > 1 && device < devices; ++device) {
    std::vector<int> reached;
    for (CUdevice peer = 0; peer < devices; ++peer) {
      int can = 0;
      if (peer != device && f.cuDeviceCanAccessPeer(&can, device, peer) == CUDA_SUCCESS && can) reached.push_back(peer);
    }
    list.line(fmt::format("peers of device {}", device),
              reached.empty() ? "none" : fmt::format("{}", fmt::join(reached, ", ")));
  }
}

void print_paths(Listing& list, const GpuPaths& paths) {
  if (paths.direct.empty()) return;
  list.section("paths of messages between GPUs, tried between processes");
  for (std::size_t reader = 0; reader < paths.direct.size(); ++reader)
    for (std::size_t owner = 0; owner < paths.direct.size(); ++owner) {
      const auto& why = paths.direct[reader][owner];
      list.line(fmt::format("from {} to {}", owner, reader),
                why.find("CUDA_ERROR_DEVICE_UNAVAILABLE") != why.npos
                    ? "not tried: the GPU admits one process at a time (its compute mode)"
                : why.empty() ? "direct: the receiver's GPU reads the sender's"
                : paths.rings[reader].empty() && paths.rings[owner].empty()
                    ? fmt::format("rings in shared memory, not direct ({})", why)
                    : fmt::format("staged in host memory, not direct ({})", why));
    }
  for (std::size_t device = 0; device < paths.rings.size(); ++device)
    if (!paths.rings[device].empty())
      list.line(fmt::format("rings of device {}", device),
                fmt::format("shared memory cannot be page-locked: {}", paths.rings[device]));
  list.line(
      "between hosts",
      "staged in host memory, or passed to an MPI that reaches GPUs (its MPIX_Query_cuda_support; DUNNAGE_MPI_CUDA)");
}

/// `folder`: where the kernels are installed, ending in '/'.
void print_kernels(Listing& list, bool simulated, const std::string& folder) {
  if (simulated) {
    const auto file = folder + "sim/libdunnage-kernels-sim.so";
    return list.line("kernels", std::filesystem::exists(file) ? file : fmt::format("{} is missing", file));
  }
  const auto file = device::kernels_file(folder);
  list.line("kernels",
            device::has_kernels(folder) ? file : fmt::format("{} ({} is missing)", device::without_kernels, file));
}

}  // namespace

void print_devices(Listing& list, const base::Settings& settings, const std::filesystem::path& backends) {
  list.section("devices");
  if (settings.device == base::Device::off) return list.line("driver", "not looked for (DUNNAGE_DEVICE=off)");
  const bool simulated = settings.test == base::Test::sim;
  const std::string file = simulated ? (backends / "sim" / "libcuda.so.1").string() : "libcuda.so.1";
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return list.line("driver", fmt::format("none ({} cannot be loaded)", file));
  // The paths are tried before this process uses the driver. A child cannot use the driver if its
  // parent has used it.
  const auto paths = try_gpu_paths(file);
  Functions f;
#define DUNNAGE_TEXT_OF(name) #name
#define DUNNAGE_TEXT(name) DUNNAGE_TEXT_OF(name)
#define DUNNAGE_RESOLVE(function)                                                              \
  f.function = reinterpret_cast<decltype(f.function)>(dlsym(library, DUNNAGE_TEXT(function))); \
  if (!f.function) return list.line("driver", fmt::format("{} has no {}", file, DUNNAGE_TEXT(function)));
  DUNNAGE_INFO_FUNCTIONS(DUNNAGE_RESOLVE)
#undef DUNNAGE_RESOLVE
  int driver = 0, devices = 0;
  if (const CUresult code = f.cuInit(0); code != CUDA_SUCCESS) {
    const char* name = nullptr;
    f.cuGetErrorName(code, &name);
    return list.line("driver", fmt::format("{}: cuInit says {}", file, name ? name : "nothing known"));
  }
  f.cuDriverGetVersion(&driver);
  list.line("driver", fmt::format("{}{}{}", version(driver), simulated ? ", simulated" : "",
                                  driver < CUDA_VERSION
                                      ? fmt::format("; too old for the kernels, which need {}", version(CUDA_VERSION))
                                      : ""));
  print_kernels(list, simulated, backends.string() + '/');
  f.cuDeviceGetCount(&devices);
  if (devices == 0) list.line("devices", "none");
  for (CUdevice device = 0; device < devices; ++device) print_device(list, f, device);
  print_peers(list, f, devices);
  print_paths(list, paths);
}

}  // namespace dunnage::tool
