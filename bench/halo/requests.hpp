// Lists of messages of regions, as Irecv, Isend and their persistent forms take them.
#pragma once

#include <vector>

#include "halo/domain.hpp"

namespace bench::halo {

/// One message: a region of one variable, or of all.
struct Message {
  void* at;
  MPI_Datatype type;
  int peer, tag;
};

/// Both sides' messages of some regions. Owns the types.
class Messages {
 public:
  Messages(const Domain& domain, const std::vector<Region>& regions, bool joined);
  ~Messages();
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  const std::vector<Message>& sends() const { return sends_; }
  const std::vector<Message>& receives() const { return receives_; }

 private:
  std::vector<Message> sends_, receives_;
  std::vector<MPI_Datatype> types_;
};

}  // namespace bench::halo
