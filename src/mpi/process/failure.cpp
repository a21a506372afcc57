#include "mpi/process/failure.hpp"

#include <map>
#include <mutex>

namespace dunnage::mpi {
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

/// Whether a code has the text that it was given. MPICH takes codes that are added to its own
/// classes for some of its own.
bool says(int code, const std::string& text) {
  char buffer[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  return process->own.Error_string(code, buffer, &length) == MPI_SUCCESS && text == buffer;
}

/// A new code of that class which says so, or else one of a class of its own; the class alone where
/// neither can be had.
int new_code(int error_class, const std::string& text) {
  const auto& own = process->own;
  if (!own.Add_error_class || !own.Add_error_code || !own.Add_error_string || !own.Error_string) return error_class;
  for (const bool own_class : {false, true}) {
    int code = MPI_SUCCESS;
    const int rc = own_class ? own.Add_error_class(&code) : own.Add_error_code(error_class, &code);
    if (rc == MPI_SUCCESS && own.Add_error_string(code, text.c_str()) == MPI_SUCCESS && says(code, text)) return code;
  }
  return error_class;
}

}  // namespace

int code_of(const device::Error& error) {
  static std::mutex mutex;
  static auto* codes = new std::map<std::string, int>;  // never destroyed: calls may come from destructors at exit
  const auto text = ("on device memory: " + std::string(error.what())).substr(0, MPI_MAX_ERROR_STRING - 1);
  const std::lock_guard lock(mutex);
  if (const auto known = codes->find(text); known != codes->end()) return known->second;
  if (codes->size() >= most_codes) return class_of(error.code);
  return codes->emplace(text, new_code(class_of(error.code), text)).first->second;
}

int code_of_current_exception() {
  try {
    throw;
  } catch (const device::Error& error) {
    return code_of(error);
  } catch (const std::bad_alloc&) {
    return MPI_ERR_NO_MEM;
  } catch (const std::exception&) {
    return MPI_ERR_OTHER;
  }
}

int raise(MPI_Comm comm, const device::Error& error) { return raise(comm, code_of(error)); }

}  // namespace dunnage::mpi
