// The broadcasts that are compared.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <mpi.h>

#include "collective/run.hpp"

namespace bench {

/// Of `bytes` bytes from `root`'s data to all others'.
class Way {
 public:
  virtual ~Way() = default;
  /// Before a series of that length. Collective.
  virtual void prepare(std::int64_t bytes) { (void)bytes; }
  virtual void run(char* data, std::int64_t bytes, int root) = 0;
  /// What this rank has sent and received with schedules of its own so far; null for ways that do not tell.
  virtual const dunnage::collective::Traffic* traffic() const { return nullptr; }
};

struct NamedWay {
  std::string name;
  std::unique_ptr<Way> way;
};

/// Those of the names that `wanted` takes, and that can be with so many ranks: `plain` and `dunnage` (MPI_Bcast past the preload and through it), `plain-ibcast` and `dunnage-ibcast` (MPI_Ibcast and MPI_Wait), `native` and `tuned` (the seed
/// document's two, written with the MPI's messages), the other schedules by their names, and `copy`: all ranks copy the message from
/// memory that they share at once, which is no broadcast but what one copy takes. Collective.
std::vector<NamedWay> ways(const std::function<bool(const std::string&)>& wanted, bool dunnage);

}  // namespace bench
