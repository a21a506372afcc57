// The broadcasts that are compared.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <mpi.h>

#include "collective/run.hpp"

namespace bench {

/// A way to broadcast `bytes` bytes from `root`'s data to the data of all other ranks.
class Way {
 public:
  virtual ~Way() = default;
  /// Called before a series of that length. Collective.
  virtual void prepare(std::int64_t bytes) { (void)bytes; }
  virtual void run(char* data, std::int64_t bytes, int root) = 0;
  /// Returns what this rank has sent and received so far with schedules of its own, or null if the
  /// way does not tell.
  virtual const dunnage::collective::Traffic* traffic() const { return nullptr; }
};

struct NamedWay {
  std::string name;
  std::unique_ptr<Way> way;
};

/// Returns the ways whose names `wanted` accepts and that are possible with this number of ranks.
/// Collective. The names are:
///   plain, dunnage                MPI_Bcast past the preloaded library and through it
///   plain-ibcast, dunnage-ibcast  MPI_Ibcast and MPI_Wait
///   native, tuned                 the two broadcasts of the paper, written with the MPI's messages
///   copy                          all ranks copy the message at once from memory that they share; this is
///                                 no broadcast, but shows what one copy takes
///   and the other schedules by their names.
std::vector<NamedWay> ways(const std::function<bool(const std::string&)>& wanted, bool dunnage);

}  // namespace bench
