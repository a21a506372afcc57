// The names of errors.
#include <algorithm>
#include <iterator>

#include "sim/api/call.hpp"

namespace dunnage::sim {
namespace {

struct Name {
  CUresult code;
  const char* text;
};

constexpr Name names[] = {
#define DUNNAGE_NAME(name, code) {name, #name},
    DUNNAGE_CUDA_ERRORS(DUNNAGE_NAME)
#undef DUNNAGE_NAME
};

// The simulator describes an error by its name.
CUresult give_name(const char* function, CUresult code, const char** text) {
  return call({function, Class::other, Needs::nothing}, [&](Call&) {
    const auto found = std::find_if(std::begin(names), std::end(names), [&](const Name& n) { return n.code == code; });
    *given(text) = found == std::end(names) ? nullptr : found->text;
    require(found != std::end(names), CUDA_ERROR_INVALID_VALUE);
  });
}

}  // namespace
}  // namespace dunnage::sim

CUresult cuGetErrorName(CUresult code, const char** text) {
  return dunnage::sim::give_name("cuGetErrorName", code, text);
}
CUresult cuGetErrorString(CUresult code, const char** text) {
  return dunnage::sim::give_name("cuGetErrorString", code, text);
}
