// The simulated driver, as a table of functions. A test can replace some.
#pragma once

#include "device/driver.hpp"

namespace dunnage::device {

inline Driver simulated_driver() {
  Driver all;
#define FUNCTION(name) all.name = &::name;
  DUNNAGE_DRIVER_FUNCTIONS(FUNCTION)
  DUNNAGE_NEWER_DRIVER_FUNCTIONS(FUNCTION)
#undef FUNCTION
  all.simulated = true;
  return all;
}

}  // namespace dunnage::device
