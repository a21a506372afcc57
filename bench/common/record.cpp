#include "common/record.hpp"

#include <dlfcn.h>
#include <mpi.h>

#include <iostream>

#include "common/statistics.hpp"

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

nlohmann::json to_json(const std::vector<double>& samples) {
  const Summary summary = summarize(samples);
  return {{"median", summary.median},
          {"trimean", summary.trimean},
          {"p10", summary.p10},
          {"p90", summary.p90},
          {"samples", samples}};
}

void print(const nlohmann::json& record) { std::cout << record.dump() << std::endl; }

}  // namespace bench
