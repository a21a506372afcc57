// Where the memory of typed buffers is: in the host's, or, in programs that are built with
// CONTRACT_GPU, in every kind that CUDA knows, by turns, so that ranks and arguments of one call
// differ.
#pragma once

#include "typemap.hpp"

// While this is true, new buffers are in ordinary device memory.
inline bool in_device_alone = false;

#ifdef CONTRACT_GPU
#include <optional>

#include "cuda_memory.hpp"

// A buffer that the program looks at as bytes in host memory, `model`, and gives to the MPI
// elsewhere.
class Elsewhere {
 public:
  explicit Elsewhere(Bytes& model) : model_(model) {}
  unsigned char* data() { return memory_->data(); }
  void made(bool host) {
    static unsigned turn = unsigned(contract().rank);
    static constexpr Kind turns[] = {Kind::device, Kind::managed, Kind::device,       Kind::host,
                                     Kind::pool,   Kind::device,  Kind::other_device, Kind::pinned};
    const Kind kind = host ? Kind::host : in_device_alone ? Kind::device : turns[turn++ % std::size(turns)];
    memory_.emplace(kind == Kind::other_device && devices().count < 2 ? Kind::device : kind, model_.size());
  }
  void written() { memory_->write(model_.data()); }
  void look() {
    const Bytes now = memory_->read();
    std::copy(now.begin(), now.end(), model_.begin());  // which stays where it is
  }

 private:
  Bytes& model_;
  std::optional<CudaMemory> memory_;
};
#else
class Elsewhere {
 public:
  explicit Elsewhere(Bytes& model) : model_(model) {}
  unsigned char* data() { return model_.data(); }
  void made(bool) {}
  void written() {}
  void look() {}

 private:
  Bytes& model_;
};
#endif
