// The start of the driver, and its version.
#include "sim/driver.hpp"
#include "sim/api/call.hpp"

using namespace dunnage::sim;

CUresult cuInit(unsigned flags) {
  return call({"cuInit", Class::other, Needs::nothing}, [&](Call&) {
    require(flags == 0, CUDA_ERROR_INVALID_VALUE);
    if (!driver().initialised) initialise(driver());
  });
}

CUresult cuDriverGetVersion(int* version) {
  return call({"cuDriverGetVersion", Class::other, Needs::nothing}, [&](Call&) { *given(version) = CUDA_VERSION; });
}
