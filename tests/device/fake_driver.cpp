// A library that has every function of the driver that Dunnage requires, and no other. All of them
// fail.
#include "device/driver.hpp"

extern "C" __attribute__((used, visibility("default"))) CUresult dunnage_fake_function() {
  return CUDA_ERROR_NOT_SUPPORTED;
}

// Each name becomes one more name of that function. Definitions in C++ would need every function's
// parameters.
#define FAKE_TEXT_OF(name) #name
#define FAKE_TEXT(name) FAKE_TEXT_OF(name)
#define FAKE(name) __asm__(".globl " FAKE_TEXT(name) "\n.set " FAKE_TEXT(name) ", dunnage_fake_function");
DUNNAGE_DRIVER_FUNCTIONS(FAKE)
