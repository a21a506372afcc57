// The series: every way of doing one operation of one case.
#pragma once

#include <map>

#include "measure.hpp"

namespace bench {

/// What may be measured here.
struct Possible {
  bool dunnage = false;  ///< MPI_Pack is Dunnage's, and takes device memory
  bool plain = false;    ///< the MPI's own takes device memory
  double plain_seconds = 2;  ///< a call of plain MPI that would take longer by what is known of its time per block is left out
};

/// The ways of one operation, and the reasons for those that there are not.
struct Ways {
  std::vector<Series> series;
  std::map<std::string, std::string> skipped;
};

/// The committed datatypes of a case.
class Types {
 public:
  explicit Types(const Case& subject);
  MPI_Datatype operator[](std::size_t description) const { return types_[description]; }

 private:
  std::vector<Datatype> types_;
};

/// What everything is measured against: the launch of an empty kernel, and a probe that touches each needed sector once.
class Probes {
 public:
  Probes(const Device& device, const Sectors& touched);
  void add(Ways& ways, bool packing) const;

 private:
  const Device& device_;
  const Sectors& touched_;
  DeviceMemory list_, sink_;
};

/// What moves the bytes: MPI's functions through every description, the document's kernel and CUDA's own copy.
void add_moves(Ways& ways, const Device& device, const Case& subject, const Types& types, bool packing,
               const Possible& possible, double plain_per_block);

}  // namespace bench
