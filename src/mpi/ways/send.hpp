// The one place that sends: blocking, nonblocking and persistent calls alike.
#pragma once

#include <optional>

#include "base/function_ref.hpp"
#include "mpi/message/accept.hpp"
#include "mpi/message/message_turn.hpp"
#include "mpi/message/stage.hpp"
#include "mpi/ways/send_call.hpp"
#include "transport/way.hpp"

namespace dunnage::mpi {

/// Calls the function that the program called, with another buffer.
using Carry = base::FunctionRef<int(const void* buffer, std::int64_t count, MPI_Datatype type)>;

// Each takes a call that does not go straight through, and returns what the call is to return.
int send(const SendCall& call, Carry carry);
int begin_send(const SendCall& call, MPI_Request* request, Carry carry);
int init_send(const SendCall& call, MPI_Request* request, Carry carry);

struct ByChannel;

/// A message that goes to `dest` while the MPI is in a call of its own (MPI_Sendrecv): what the MPI
/// is to be given in place of the program's buffer.
class SendInside {
 public:
  explicit SendInside(const SendCall& call);
  SendInside(const SendInside&) = delete;
  SendInside& operator=(const SendInside&) = delete;
  ~SendInside();
  /// An MPI error code, if the MPI has refused the call.
  int refused() const { return refused_; }
  /// An MPI error code, if the MPI cannot be given the data: the error handler is still to be
  /// called.
  int error() const { return error_; }
  /// To whom the MPI is to send: to nobody, if the message goes by a channel.
  int dest() const { return by_channel_ ? MPI_PROC_NULL : call_.dest; }
  /// Whether the MPI gets something else than the program's buffer.
  explicit operator bool() const { return sending_ || parcel_; }
  bool announced() const { return sending_ != nullptr; }
  /// For the report, whether we carry the message, and how many bytes it has then.
  bool counts() const { return by_channel_ || *this; }
  std::int64_t bytes() const;
  /// Packs the data. Returns an MPI error code if the MPI must not be called; finish() returns
  /// others.
  int pack();
  const memory::Parcel& parcel() const { return sending_ ? sending_->parcel() : parcel_; }
  /// After the MPI's call: returns when the buffer is the program's again. Returns an MPI error
  /// code.
  int finish();

 private:
  const SendCall call_;
  MessageTurn turn_;
  std::unique_ptr<ByChannel> by_channel_;
  std::unique_ptr<transport::Sending> sending_;
  memory::Buffer buffer_;
  memory::Parcel parcel_;
  int error_ = MPI_SUCCESS;
  int moved_ = MPI_SUCCESS;
  int refused_ = MPI_SUCCESS;
};

}  // namespace dunnage::mpi
