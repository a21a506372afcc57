#pragma once

#include <mpi.h>

#include <functional>
#include <string>
#include <vector>

namespace bench {

/// A way to make a datatype that is not committed yet.
struct Constructor {
  std::string name;
  bool list;    // takes a list of any length; the others are small
  int entries;  // of the list, or blocks of the outermost constructor
  std::function<MPI_Datatype()> make;
};

/// The small ones, then lists of 10, 100, ... entries up to `most`.
std::vector<Constructor> constructors(int most);

}  // namespace bench
