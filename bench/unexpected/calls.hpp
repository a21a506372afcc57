// The calls that send and receive the messages.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "unexpected/messages.hpp"

namespace bench::unexpected {

/// Seconds that a rank was blocked.
struct Blocked {
  double calls = 0;  ///< in the calls that send, or that begin to send
  double wait = 0;   ///< in MPI_Waitall
};

/// One way to move all messages from one rank to another, or both ways.
class Exchange {
 public:
  virtual ~Exchange() = default;
  /// What the rank calls that is on time.
  virtual Blocked on_time() = 0;
  /// What the rank calls that was late.
  virtual void late() = 0;
  /// Whether the late rank sends too.
  virtual bool both_ways() const { return false; }
};

/// Names the calls: send, isend, persistent, sendrecv.
const std::vector<std::string>& call_names();

/// `sends`: whether this rank is the one on time. Throws std::invalid_argument for another name.
std::unique_ptr<Exchange> make_exchange(const std::string& name, const Messages& messages, int peer, bool sends);

}  // namespace bench::unexpected
