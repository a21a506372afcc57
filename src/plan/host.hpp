// The plan for data in host memory: predicted times, and whether our engine or the MPI's is the faster.
//
// Everything here is a pure function of its arguments, so that a golden table tests it and `dunnage explain`
// prints it. Times are in nanoseconds.
#pragma once

#include <cstdint>

#include "plan/reason.hpp"

namespace dunnage::plan {

/// What the choice depends on.
struct Shape {
  std::int64_t size = 0;    // packed bytes
  std::int64_t blocks = 0;  // contiguous blocks
  bool streamed = false;    // too large for the caches, so that our engine stores past them
};

/// The cost of a pack engine: t = call + blocks * block + bytes * byte, with another price per byte where the data
/// is too large for the caches.
struct Cost {
  double call, block, byte, far_byte;
  constexpr double time(const Shape& s) const {
    return call + block * static_cast<double>(s.blocks) + (s.streamed ? far_byte : byte) * static_cast<double>(s.size);
  }
};

/// One machine and MPI.
struct Model {
  Cost engine;   // ours
  Cost library;  // the MPI's
  double staging;  // extra cost of a message through staging memory, ns
};

/// Defaults, from `dunnage bench pack --memory host` (docs/measurements).
Model default_model(bool open_mpi);

enum class Operation { pack, unpack, send, receive };

struct Prediction {
  double engine, library;  // ns
  bool gain() const { return engine < library; }
};

/// Predicts both engines for one call.
Prediction predict(const Model& model, const Shape& shape, Operation operation);

}  // namespace dunnage::plan
