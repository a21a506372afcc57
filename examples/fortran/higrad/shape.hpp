// What the kernels are told of the mesh. shape.F90 has the same layouts.
#pragma once

namespace higrad {

/// Cells along each dimension without ghost cells, how many ghost cells deep, and variables.
struct Shape {
  int cells[3], ghost, variables;
};

/// Places count from 0 and begin with the ghost cells.
struct Box {
  int first[3], length[3];
};

}  // namespace higrad
