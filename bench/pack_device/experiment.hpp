#pragma once

#include <nlohmann/json.hpp>

#include "ways.hpp"

namespace bench {

/// What is done with each case. main() chooses the cases.
class Experiment {
 public:
  Experiment(const Device& device, std::uint64_t allocation);

  std::vector<std::string> operations{"pack", "unpack"};
  std::vector<std::string> modes{"cold", "warm"};
  Repetitions repetitions;
  Possible possible;

  /// Returns the bytes read and written per second by the faster of two copies. The copies are far
  /// larger than any cache.
  double copy_bandwidth();

  /// Prints a record for each operation and mode, or one record that says why there is none.
  /// Returns whether all bytes were right.
  bool run(const Case& subject);

  /// Returns whether one small MPI_Pack on device memory packs the right bytes. It uses the
  /// function that is `possible`.
  bool try_pack();

 private:
  void verify(Ways& ways, const Case& subject, const Slot& slot, bool packing);
  void learn(const Ways& ways, const Case& subject);

  const Device& device_;
  Arena arena_;
  double plain_per_block_ = 0;  ///< seconds for each block, of the slowest case so far
};

}  // namespace bench
