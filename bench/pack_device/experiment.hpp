#pragma once

#include <nlohmann/json.hpp>

#include "ways.hpp"

namespace bench {

/// What is done with each case; which ones, main chooses.
class Experiment {
 public:
  Experiment(const Device& device, std::uint64_t allocation);

  std::vector<std::string> operations{"pack", "unpack"};
  std::vector<std::string> modes{"cold", "warm"};
  Repetitions repetitions;
  Possible possible;

  /// Bytes read and written per second by the faster of two copies, far larger than any cache.
  double copy_bandwidth();

  /// Prints a record for each operation and mode, or one that says why there is none. Returns whether all bytes were right.
  bool run(const Case& subject);

  /// Whether one small MPI_Pack on device memory, through what is `possible`, packs the right bytes.
  bool try_pack();

 private:
  void verify(Ways& ways, const Case& subject, const Slot& slot, bool packing);
  void learn(const Ways& ways, const Case& subject);

  const Device& device_;
  Arena arena_;
  double plain_per_block_ = 0;  ///< seconds, of the slowest case so far
};

}  // namespace bench
