#pragma once

#include <mpi.h>

#include <functional>
#include <string>
#include <vector>

namespace bench {

/// A function that makes a datatype that is not committed yet.
struct Constructor {
  std::string name;
  bool list;    // whether it takes a list of any length; the others are small
  int entries;  // entries of the list, or blocks of the outermost constructor
  std::function<MPI_Datatype()> make;
};

/// Returns the small constructors, then those with lists of 10, 100, ... entries up to `most`.
std::vector<Constructor> constructors(int most);

}  // namespace bench
