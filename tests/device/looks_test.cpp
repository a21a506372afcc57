// With a driver that counts the questions it is asked, and knows two allocations.
#include "device/looks.hpp"

#include <gtest/gtest.h>

namespace dunnage::device {
namespace {

int questions = 0;
unsigned long long first_id = 0;

CUresult attributes(unsigned count, CUpointer_attribute* which, void** values, CUdeviceptr address) {
  ++questions;
  const bool known = address >= 0x10000 && address < 0x30000;
  const bool first = address < 0x20000;
  for (unsigned i = 0; i < count; ++i) switch (which[i]) {
      case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *static_cast<unsigned*>(values[i]) = known ? CU_MEMORYTYPE_DEVICE : 0;
        break;
      case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *static_cast<unsigned long long*>(values[i]) = !known ? 0 : first ? first_id : first_id + 1;
        break;
      case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *static_cast<CUdeviceptr*>(values[i]) = first ? 0x10000 : 0x20000;
        break;
      case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *static_cast<std::size_t*>(values[i]) = 0x10000; break;
      case CU_POINTER_ATTRIBUTE_CONTEXT: *static_cast<CUcontext*>(values[i]) = nullptr; break;
      case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *static_cast<int*>(values[i]) = 0; break;
      default: *static_cast<unsigned*>(values[i]) = 0;
    }
  return CUDA_SUCCESS;
}

class LooksTest : public testing::Test {
 protected:
  LooksTest() {
    driver.cuPointerGetAttributes = attributes;
    first_id += 10;
    // The driver is asked more about an allocation that is new.
    for (const std::uintptr_t address : {0x10000, 0x20000}) known_place(driver, reinterpret_cast<const void*>(address));
    questions = 0;
  }
  unsigned long long id(std::uintptr_t address) { return Looks::id_at(driver, reinterpret_cast<const void*>(address)); }
  Driver driver{};
};

TEST_F(LooksTest, WithoutAnObjectEachCallAsks) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(id(0x10008), first_id);
  EXPECT_EQ(questions, 3);
}

TEST_F(LooksTest, EachAllocationIsAskedForOnce) {
  const Looks looks;
  for (std::uintptr_t i = 0; i < 5; ++i) {
    EXPECT_EQ(id(0x10000 + i), first_id);
    EXPECT_EQ(id(0x2FFFF - i), first_id + 1);
  }
  EXPECT_EQ(questions, 2);
}

TEST_F(LooksTest, ALaterObjectAsksAnew) {
  {
    const Looks looks;
    EXPECT_EQ(id(0x10000), first_id);
  }
  first_id += 10;  // the program has freed both allocations and made others
  const Looks looks;
  EXPECT_EQ(id(0x10000), first_id);
}

TEST_F(LooksTest, WhatOperationsKeepIsNotAskedForAgain) {
  Looks::forget();
  for (int i = 0; i < 3; ++i) {
    const Looks looks(Looks::Span::operations);
    EXPECT_EQ(id(0x10000), first_id);
  }
  EXPECT_EQ(questions, 1);
  {
    const Looks looks;  // a call that begins no operation
    EXPECT_EQ(id(0x10000), first_id);
    EXPECT_EQ(questions, 2);
  }
  first_id += 10;  // the operations have ended, and the program has made other allocations
  Looks::forget();
  const Looks looks(Looks::Span::operations);
  EXPECT_EQ(id(0x10000), first_id);
}

TEST_F(LooksTest, MemoryThatTheDriverDoesNotKnowIsNotKept) {
  const Looks looks;
  EXPECT_EQ(id(0x40000), 0u);
  EXPECT_EQ(id(0x40000), 0u);
  EXPECT_EQ(questions, 2);
}

}  // namespace
}  // namespace dunnage::device
