// The one place that receives: blocking, nonblocking and persistent calls alike.
#pragma once

#include <optional>

#include "base/function_ref.hpp"
#include "mpi/channels/posting.hpp"
#include "mpi/message/accept.hpp"
#include "mpi/message/message_turn.hpp"
#include "mpi/message/stage.hpp"
#include "mpi/ways/receive_call.hpp"

namespace dunnage::mpi {

/// Calls the function that the program called, with another buffer.
using Take = base::FunctionRef<int(void* buffer, std::int64_t count, MPI_Datatype type, MPI_Status* status)>;
using Begin = base::FunctionRef<int(void* buffer, std::int64_t count, MPI_Datatype type)>;

// Each takes a call that does not go straight through, and returns what the call is to return.
int receive(const ReceiveCall& call, MPI_Status* status, Take take);
/// Likewise, if the MPI does the receive, and its message may only be an announcement. Else it does
/// nothing and returns nothing. `take` may do more, such as to send.
std::optional<int> receive_by_mpi(const ReceiveCall& call, MPI_Status* status, Take take);
int begin_receive(const ReceiveCall& call, bool persistent, MPI_Request* request, Begin begin);

/// A receive that the MPI does in a call of its own (MPI_Sendrecv): what the MPI is to be given in
/// place of the program's buffer.
class ReceiveInside {
 public:
  explicit ReceiveInside(const ReceiveCall& call);
  int error() const { return accepted_.error; }
  explicit operator bool() const { return static_cast<bool>(parcel_); }
  const memory::Parcel& parcel() const { return parcel_; }
  std::int64_t bytes() const { return parcel_ ? parcel_.size : 0; }
  /// After the MPI's call, which returned `rc`: puts what came where the user wants it. Returns
  /// what the call is to return.
  int settle(int rc, MPI_Status& status) const;

 private:
  const ReceiveCall call_;
  const std::unique_ptr<Posting> posting_;
  MessageTurn turn_;
  Accepted accepted_;
  memory::Parcel parcel_;
};

}  // namespace dunnage::mpi
