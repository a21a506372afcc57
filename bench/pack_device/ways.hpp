// The series: every way to do one operation of one case.
#pragma once

#include "measure.hpp"

namespace bench {

/// What may be measured here.
struct Possible {
  bool dunnage = false;  ///< whether MPI_Pack is Dunnage's and takes device memory
  bool plain = false;    ///< whether the MPI's own MPI_Pack takes device memory
  /// A call of plain MPI is left out if it would take longer, as far as its time per block is
  /// known.
  double plain_seconds = 2;
};

/// The committed datatypes of a case.
class Types {
 public:
  explicit Types(const Case& subject);
  MPI_Datatype operator[](std::size_t description) const { return types_[description]; }

 private:
  std::vector<Datatype> types_;
};

/// What everything is compared with: the launch of an empty kernel, and a probe that touches each
/// needed sector once.
class Probes {
 public:
  Probes(const Device& device, const Sectors& touched);
  void add(Ways& ways, bool packing) const;

 private:
  const Device& device_;
  const Sectors& touched_;
  DeviceMemory list_, sink_;
};

/// Adds what moves the bytes: MPI's functions with every description, the blog post's kernel, and
/// CUDA's own copy.
void add_moves(Ways& ways, const Device& device, const Case& subject, const Types& types, bool packing,
               const Possible& possible, double plain_per_block);

}  // namespace bench
