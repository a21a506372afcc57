#include <dlfcn.h>

#include "gpu.hpp"

namespace dunnage::device {
namespace {

void* function_of(const char* name, int version = CUDA_VERSION) {
  void* function = &function;
  auto result = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
  EXPECT_EQ(cuGetProcAddress(name, &function, version, CU_GET_PROC_ADDRESS_DEFAULT, &result), CUDA_SUCCESS);
  EXPECT_EQ(result, function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND) << name;
  return function;
}

TEST(ProcAddress, IsThatOfTheFunction) {
  EXPECT_EQ(function_of("cuInit"), reinterpret_cast<void*>(&cuInit));
  EXPECT_EQ(function_of("cuMemAlloc"), reinterpret_cast<void*>(&cuMemAlloc)) << "the newest version";
  EXPECT_EQ(function_of("cuMemAllocHost"), reinterpret_cast<void*>(&cuMemAllocHost));
  EXPECT_EQ(function_of("cuGetProcAddress"), reinterpret_cast<void*>(&cuGetProcAddress));
  int version = 0;
  const auto get_version = reinterpret_cast<CUresult (*)(int*)>(function_of("cuDriverGetVersion"));
  ASSERT_NE(get_version, nullptr);
  EXPECT_EQ(get_version(&version), CUDA_SUCCESS);
  EXPECT_EQ(version, CUDA_VERSION);
}

TEST(ProcAddress, IsNullForAnUnknownName) {
  EXPECT_EQ(function_of("cuNoSuchFunction"), nullptr);
  EXPECT_EQ(function_of("dunnageSimCalls"), nullptr) << "not one of the driver's";
  EXPECT_EQ(function_of(""), nullptr);
}

TEST(ProcAddress, RefusesWrongArguments) {
  void* function = nullptr;
  EXPECT_EQ(cuGetProcAddress(nullptr, &function, CUDA_VERSION, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGetProcAddress("cuInit", nullptr, CUDA_VERSION, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGetProcAddress("cuInit", &function, CUDA_VERSION + 1000, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGetProcAddress("cuInit", &function, CUDA_VERSION, 0, nullptr), CUDA_SUCCESS) << "the result is optional";
}

// CUDA 12.0 creates contexts with three arguments, CUDA 13.0 with four.
TEST(ProcAddress, DependsOnTheProgramsVersion) {
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  const auto create = reinterpret_cast<CUresult (*)(CUcontext*, unsigned, CUdevice)>(function_of("cuCtxCreate", 12000));
  ASSERT_NE(create, nullptr);
  EXPECT_NE(reinterpret_cast<void*>(create), function_of("cuCtxCreate"));
  CUcontext made{};
  CUdevice device = -1;
  ASSERT_EQ(create(&made, 0, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxGetDevice(&device), CUDA_SUCCESS);
  EXPECT_EQ(device, 1);
  EXPECT_EQ(cuCtxDestroy(made), CUDA_SUCCESS);
}

TEST(ProcAddress, HasItsOwnOldVersion) {
  const auto old =
      reinterpret_cast<CUresult (*)(const char*, void**, int, std::uint64_t)>(function_of("cuGetProcAddress", 11030));
  ASSERT_NE(old, nullptr);
  EXPECT_EQ(reinterpret_cast<void*>(old), dlsym(RTLD_DEFAULT, "cuGetProcAddress"));
  void* function = nullptr;
  EXPECT_EQ(old("cuInit", &function, 11030, 0), CUDA_SUCCESS);
  EXPECT_EQ(function, reinterpret_cast<void*>(&cuInit));
}

}  // namespace
}  // namespace dunnage::device
