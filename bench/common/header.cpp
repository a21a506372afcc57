#include <dlfcn.h>
#include <mpi.h>

#include "common/record.hpp"

namespace bench {

nlohmann::json header() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  return {{"record", "header"},
          {"mpi", DUNNAGE_MPI_FLAVOUR},
          // Not by length, because Open MPI counts the closing zero.
          {"library_version", static_cast<const char*>(text)},
          {"dunnage", dlsym(RTLD_DEFAULT, "dunnage_version") != nullptr}};
}

}  // namespace bench
