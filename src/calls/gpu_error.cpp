#include "calls/gpu_error.hpp"

#include <map>
#include <mutex>

namespace dunnage::calls {
namespace {

// So many different texts become codes of their own; later ones have their class only.
constexpr std::size_t most_codes = 64;

int class_of(CUresult code) {
  switch (code) {
    case CUDA_ERROR_OUT_OF_MEMORY: return MPI_ERR_NO_MEM;
    case CUDA_ERROR_INVALID_VALUE: return MPI_ERR_BUFFER;
    default: return MPI_ERR_OTHER;
  }
}

int code_of(const device::Error& error) {
  static std::mutex mutex;
  static auto* codes = new std::map<std::string, int>;  // never destroyed: calls may come from destructors at exit
  const auto error_class = class_of(error.code);
  const auto text = "on device memory: " + std::string(error.what()).substr(0, MPI_MAX_ERROR_STRING - 32);
  const std::lock_guard lock(mutex);
  if (const auto known = codes->find(text); known != codes->end()) return known->second;
  int code = error_class;
  if (codes->size() >= most_codes || !context->own.Add_error_code || !context->own.Add_error_string ||
      context->own.Add_error_code(error_class, &code) != MPI_SUCCESS || context->own.Add_error_string(code, text.c_str()) != MPI_SUCCESS)
    return error_class;
  return codes->emplace(text, code).first->second;
}

}  // namespace

int raise(MPI_Comm comm, int code) {
  context->own.Comm_call_errhandler(comm, code);
  return code;
}
int raise(MPI_Comm comm, const device::Error& error) { return raise(comm, code_of(error)); }

}  // namespace dunnage::calls
