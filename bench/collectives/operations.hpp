// The collectives that are measured.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "collectives/blocks.hpp"
#include "collectives/busiest.hpp"

namespace bench::collectives {

/// `call` moves blocks from one buffer to the other. `number(from, to)`: of the block that rank
/// `from` has for rank `to`; blocks that nobody sends keep the number `untouched`.
struct Operation {
  std::string name;
  bool strided;
  std::function<void(Blocks& from, Blocks& to)> call;
  std::function<unsigned(int from, int to)> number;
  bool in_place = false;  // what is sent lies in the buffer of what comes
};

/// All of them, for a number of ranks.
std::vector<Operation> operations(int rank, int ranks);

}  // namespace bench::collectives
