#include <fcntl.h>
#include <unistd.h>

#include "gpu.hpp"

namespace dunnage::device {
namespace {

class Virtual : public Gpu {
 protected:
  void SetUp() override {
    Gpu::SetUp();
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    ASSERT_EQ(cuMemGetAllocationGranularity(&unit, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM), CUDA_SUCCESS);
  }
  CUmemGenericAllocationHandle create(std::size_t size) const {
    CUmemGenericAllocationHandle made = 0;
    EXPECT_EQ(cuMemCreate(&made, size, &properties, 0), CUDA_SUCCESS);
    return made;
  }
  static CUdeviceptr reserve(std::size_t size) {
    CUdeviceptr made = 0;
    EXPECT_EQ(cuMemAddressReserve(&made, size, 0, 0, 0), CUDA_SUCCESS);
    return made;
  }
  static void give_access(CUdeviceptr address, std::size_t size) {
    const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    EXPECT_EQ(cuMemSetAccess(address, size, &access, 1), CUDA_SUCCESS);
  }
  template <class Value>
  static Value about(CUdeviceptr address, CUpointer_attribute attribute) {
    Value value{};
    EXPECT_EQ(cuPointerGetAttribute(&value, attribute, address), CUDA_SUCCESS);
    return value;
  }
  static char byte_at(CUdeviceptr address) { return read(address, 1)[0]; }
  static void fill(CUdeviceptr address, int value, std::size_t size) {
    EXPECT_EQ(cuMemsetD8(address, static_cast<unsigned char>(value), size), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  }
  CUmemAllocationProp properties{};
  std::size_t unit = 0;
};

TEST_F(Virtual, IsMappedUsedAndUnmapped) {
  const auto memory = create(unit);
  const auto range = reserve(3 * unit);
  EXPECT_EQ(range % unit, 0u);
  ASSERT_EQ(cuMemMap(range + unit, unit, 0, memory, 0), CUDA_SUCCESS);
  give_access(range + unit, unit);
  EXPECT_EQ(cuMemRelease(memory), CUDA_SUCCESS);  // mapped, it lives on
  fill(range + unit, 5, unit);
  EXPECT_EQ(byte_at(range + 2 * unit - 1), 5);
  EXPECT_EQ(cuMemUnmap(range + unit, unit), CUDA_SUCCESS);
  char byte;
  EXPECT_EQ(cuMemcpyDtoH(&byte, range + unit, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressFree(range, 3 * unit), CUDA_SUCCESS);
}

TEST_F(Virtual, AttributesAreOfTheMapping) {
  const auto memory = create(unit), more = create(unit);
  const auto range = reserve(2 * unit), second = range + unit;
  ASSERT_EQ(cuMemMap(range, unit, 0, memory, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemMap(second, unit, 0, more, 0), CUDA_SUCCESS);
  give_access(range, 2 * unit);
  EXPECT_EQ(about<unsigned>(second + 7, CU_POINTER_ATTRIBUTE_MEMORY_TYPE), unsigned{CU_MEMORYTYPE_DEVICE});
  EXPECT_EQ(about<CUcontext>(second, CU_POINTER_ATTRIBUTE_CONTEXT), nullptr);
  EXPECT_EQ(about<int>(second, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL), 0);
  EXPECT_EQ(about<unsigned>(second, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE), 0u);
  EXPECT_EQ(about<unsigned long long>(second, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES), 1u);
  EXPECT_EQ(about<CUdeviceptr>(second + 7, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR), second);
  EXPECT_EQ(about<std::size_t>(second + 7, CU_POINTER_ATTRIBUTE_MAPPING_SIZE), unit);
  // but for the range, which is all that was reserved
  EXPECT_EQ(about<CUdeviceptr>(second, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR), range);
  EXPECT_EQ(about<std::size_t>(second, CU_POINTER_ATTRIBUTE_RANGE_SIZE), 2 * unit);
  EXPECT_EQ(about<void*>(second, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE), nullptr);
  const auto id = about<unsigned long long>(second, CU_POINTER_ATTRIBUTE_BUFFER_ID);
  EXPECT_NE(id, about<unsigned long long>(range, CU_POINTER_ATTRIBUTE_BUFFER_ID));
  // The same memory, mapped there again, is another buffer.
  ASSERT_EQ(cuMemUnmap(second, unit), CUDA_SUCCESS);
  ASSERT_EQ(cuMemMap(second, unit, 0, more, 0), CUDA_SUCCESS);
  EXPECT_NE(id, about<unsigned long long>(second, CU_POINTER_ATTRIBUTE_BUFFER_ID));
  EXPECT_EQ(cuMemUnmap(range, 2 * unit), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(more), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressFree(range, 2 * unit), CUDA_SUCCESS);
}

TEST_F(Virtual, CopiesGoAcrossMappings) {
  const auto memory = create(unit), more = create(unit);
  const auto range = reserve(3 * unit);
  ASSERT_EQ(cuMemMap(range, unit, 0, memory, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemMap(range + unit, unit, 0, more, 0), CUDA_SUCCESS);
  give_access(range, 2 * unit);
  fill(range, 3, 2 * unit);
  EXPECT_EQ(read(range + unit - 10, 20), std::vector<char>(20, 3));
  std::vector<char> bytes(20);
  EXPECT_EQ(cuMemcpyDtoH(bytes.data(), range + 2 * unit - 10, 20), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemUnmap(range, 2 * unit), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(more), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressFree(range, 3 * unit), CUDA_SUCCESS);
}

TEST_F(Virtual, GoesByDescriptor) {
  const auto memory = create(2 * unit);
  const auto first = reserve(2 * unit), second = reserve(2 * unit);
  ASSERT_EQ(cuMemMap(first, 2 * unit, 0, memory, 0), CUDA_SUCCESS);
  give_access(first, 2 * unit);
  CUmemGenericAllocationHandle same = 0, imported = 0;
  ASSERT_EQ(cuMemRetainAllocationHandle(&same, reinterpret_cast<void*>(first + 9)), CUDA_SUCCESS);
  EXPECT_EQ(same, memory);
  CUmemAllocationProp told{};
  EXPECT_EQ(cuMemGetAllocationPropertiesFromHandle(&told, same), CUDA_SUCCESS);
  EXPECT_EQ(told.requestedHandleTypes, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  int file = -1;
  ASSERT_EQ(cuMemExportToShareableHandle(&file, same, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), CUDA_SUCCESS);
  auto* by = reinterpret_cast<void*>(static_cast<std::intptr_t>(file));
  ASSERT_EQ(cuMemImportFromShareableHandle(&imported, by, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR), CUDA_SUCCESS);
  close(file);
  EXPECT_EQ(cuMemMap(second, unit, 0, imported, 0), CUDA_ERROR_NOT_SUPPORTED) << "less than all of it";
  ASSERT_EQ(cuMemMap(second, 2 * unit, 0, imported, 0), CUDA_SUCCESS);
  give_access(second, 2 * unit);
  EXPECT_EQ(about<unsigned long long>(second, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES), 0u)
      << "not the importer's to export";
  for (const auto handle : {memory, same, imported}) EXPECT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
  fill(first, 9, 2 * unit);
  EXPECT_EQ(cuMemUnmap(first, 2 * unit), CUDA_SUCCESS);
  EXPECT_EQ(byte_at(second + 2 * unit - 1), 9) << "lives while it is mapped anywhere";
  EXPECT_EQ(cuMemUnmap(second, 2 * unit), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressFree(first, 2 * unit), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressFree(second, 2 * unit), CUDA_SUCCESS);
}

TEST_F(Virtual, WithoutAccessNothingIsReached) {
  const auto memory = create(unit);
  const auto range = reserve(unit);
  ASSERT_EQ(cuMemMap(range, unit, 0, memory, 0), CUDA_SUCCESS);
  char byte;
  EXPECT_NE(cuMemcpyDtoH(&byte, range, 1), CUDA_SUCCESS);
  give_access(range, unit);
  EXPECT_EQ(cuMemcpyDtoH(&byte, range, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuMemUnmap(range, unit), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressFree(range, unit), CUDA_SUCCESS);
}

TEST_F(Virtual, WrongArguments) {
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr address = 0;
  EXPECT_NE(cuMemCreate(&handle, unit + 1, &properties, 0), CUDA_SUCCESS);
  EXPECT_NE(cuMemCreate(&handle, 0, &properties, 0), CUDA_SUCCESS);
  EXPECT_NE(cuMemAddressReserve(&address, unit + 1, 0, 0, 0), CUDA_SUCCESS);
  const auto memory = create(unit), other = create(unit);
  const auto range = reserve(2 * unit), plain = device_memory(100);
  EXPECT_NE(cuMemMap(range, unit, unit, memory, 0), CUDA_SUCCESS) << "from the middle";
  ASSERT_EQ(cuMemMap(range, unit, 0, memory, 0), CUDA_SUCCESS);
  EXPECT_NE(cuMemMap(range, unit, 0, other, 0), CUDA_SUCCESS) << "where something is";
  EXPECT_NE(cuMemAddressFree(range, 2 * unit), CUDA_SUCCESS) << "while something is there";
  EXPECT_NE(cuMemUnmap(range, unit / 2), CUDA_SUCCESS) << "part of a mapping";
  EXPECT_NE(cuMemFree(range), CUDA_SUCCESS);
  EXPECT_NE(cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(plain)), CUDA_SUCCESS);
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
  const auto secret = create(unit);
  int file = -1;
  EXPECT_NE(cuMemExportToShareableHandle(&file, secret, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemUnmap(range, unit), CUDA_SUCCESS);
  for (const auto h : {memory, other, secret}) EXPECT_EQ(cuMemRelease(h), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressFree(range, 2 * unit), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(plain), CUDA_SUCCESS);
}

}  // namespace
}  // namespace dunnage::device
