// Doubles in some kind of memory, which a program fills and reads by way of host memory.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "cuda_memory.hpp"

/// Doubles in some kind of memory.
class Doubles {
 public:
  Doubles(Kind kind, int n) : memory_(kind, std::size_t(n) * sizeof(double)), host_(std::size_t(n)) {}
  double* data() { return reinterpret_cast<double*>(memory_.data()); }
  void fill(double value) {
    std::fill(host_.begin(), host_.end(), value);
    memory_.write(host_.data());
  }
  /// Value i is `number` + i / 8192.
  void count_from(double number) {
    for (std::size_t i = 0; i < host_.size(); ++i) host_[i] = number + double(i) / 8192;
    memory_.write(host_.data());
  }
  const std::vector<double>& read() {
    const auto bytes = memory_.read();
    std::memcpy(host_.data(), bytes.data(), bytes.size());
    return host_;
  }

 private:
  CudaMemory memory_;
  std::vector<double> host_;
};
