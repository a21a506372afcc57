// The trials of this process: which data are of one kind, so that one trial is about all of them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "plan/host.hpp"
#include "plan/pack_trial.hpp"

namespace dunnage::pack {
class Program;
}

namespace dunnage::mpi {

/// Thread-safe.
class PackTrials {
 public:
  /// Returns the trial of data with that program, or null if there are too many kinds of data.
  /// `operation`: pack or unpack. The trial lives as long as this object.
  plan::PackTrial* of(const pack::Program& program, bool mixed, plan::Operation operation, const plan::Model& model);

  struct Told {
    std::string data;
    plan::Operation operation;
    plan::PackTrial::Found found;
  };
  /// What all trials have found, in the order in which they began.
  std::vector<Told> told() const;

 private:
  /// Data of one kind: the kernel, the mean length of a block, and to a factor of two the size and
  /// the part of the user's memory that it fills.
  struct Kind {
    plan::Operation operation;
    std::string kernel;
    std::int64_t block;
    int size, spread;
    bool mixed;
    auto operator<=>(const Kind&) const = default;
  };
  static constexpr std::size_t most = 1024;

  mutable std::mutex mutex_;
  std::map<Kind, plan::PackTrial*> kinds_;
  std::deque<std::pair<Kind, plan::PackTrial>> trials_;
};

}  // namespace dunnage::mpi
