// The one place that receives: blocking, nonblocking and persistent calls alike.
#pragma once

#include <optional>

#include "base/function_ref.hpp"
#include "mpi/channels/posting.hpp"
#include "mpi/message/accept.hpp"
#include "mpi/message/request.hpp"
#include "mpi/message/stage.hpp"

namespace dunnage::mpi {

/// A receiving call, with all integers of the widest type. `comm` is whose error handler is called.
struct ReceiveCall {
  Hook hook;
  void* buffer;
  std::int64_t count;
  MPI_Datatype type;
  int source, tag;
  MPI_Comm comm;
  std::int64_t most;   // the largest value of the call's count type
  bool apart = false;  // channels do not matter: the message has been matched by a probe, or is Dunnage's own
};

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

/// After the MPI has put a message into the program's buffer: fetches the data if it is an
/// announcement, and corrects the status. `posting` hears of its channel. Returns what the call is
/// to return.
int settle_in_place(void* user, std::int64_t count, MPI_Datatype type, MPI_Status& status, MPI_Comm comm,
                    Posting* posting = nullptr);
/// After the MPI has put a message into a parcel: puts the data where the user wants them. Returns
/// what the call is to return.
int settle_staged(const memory::Parcel& parcel, const memory::Buffer& buffer, MPI_Status& status, MPI_Comm comm,
                  Posting* posting = nullptr);

/// For a receive into the program's buffer that may meet an announcement, or of which channels must
/// know; else null.
std::unique_ptr<Request> watch_receive(const ReceiveCall& call, std::unique_ptr<Posting> posting = nullptr);
/// Of a receive that is about to begin and will not wait for a channel. Null if it does not matter
/// to channels.
std::unique_ptr<Posting> posting_of(int source, int tag, MPI_Comm comm);
/// After the MPI has begun what may have to be watched. Returns `rc`.
int watch(int rc, MPI_Request* request, std::unique_ptr<Request> watched);

/// After a probe that found a message: corrects the size in its status.
void correct_probe(MPI_Comm comm, MPI_Status* status);

}  // namespace dunnage::mpi
