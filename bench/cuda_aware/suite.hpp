// All the series of one kind of memory.
#pragma once

#include <functional>

#include "cuda_aware/options.hpp"

namespace bench {

/// Prints a record for each series. If a series is left out, its record has the reason.
class Suite {
 public:
  using Make = std::function<std::unique_ptr<Exchange>(Operation, const Buffers&, const Window&)>;

  /// `most` is the most bytes of one side's window. It must be the same on both ranks.
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

  /// The pace of a series' last step, to predict the next step: seconds for each unit, which is a
  /// byte or a block.
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
