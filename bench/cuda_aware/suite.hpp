// All the series of one kind of memory.
#pragma once

#include <functional>

#include "cuda_aware/options.hpp"

namespace bench {

/// Prints a record for each series, and for each that is left out with the reason.
class Suite {
 public:
  using Make = std::function<std::unique_ptr<Exchange>(Operation, const Buffers&, const Window&)>;

  /// `most`: bytes of one side's window, the same on both ranks.
  Suite(const Options& options, int rank, std::size_t most) : options_(options), rank_(rank), most_(most) {}

  void contiguous(const std::string& memory, Kind kind, const Make& make);
  void strided(Kind kind, const Make& make);
  void fresh(Kind kind, const Make& make);
  void skip(const std::string& memory, const std::string& reason) const;
  bool right() const { return right_; }

 private:
  struct Name {
    std::string memory;
    Operation operation;
    Window window;
    bool fresh = false;
  };

  /// What a step of a series took, to foretell the next: seconds for each unit (a byte or a block).
  struct Pace {
    double unit = 0;
    bool fits(const Options& options, double units) const;
  };

  int window_length(const Shape& shape) const;
  void one(const Name& name, Buffers& buffers, const Make& make, Pace& pace, double units);

  const Options& options_;
  const int rank_;
  const std::size_t most_;
  Pattern pattern_;
  bool right_ = true;
};

}  // namespace bench
