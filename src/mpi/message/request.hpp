// A nonblocking or persistent operation that has something to do when the MPI completes its
// request.
//
// The program's request is the MPI's own. A Request stands beside it in process->requests.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "base/counter.hpp"
#include "mpi/process/error.hpp"
#include "plan/exchange_timer.hpp"

namespace dunnage::mpi {

class FetchBatch;

/// Host memory that the MPI was given in place of the program's buffers. Functions return an MPI
/// error code and call no handler.
class Copies {
 public:
  virtual ~Copies() = default;
  /// Before the MPI begins: copies what the MPI reads.
  virtual int gather() = 0;
  /// After gather(): the MPI has begun, or has failed to.
  virtual void begun(bool well) { (void)well; }
  /// After the operation has ended: what the MPI wrote goes where the program wants it.
  virtual int deliver() = 0;
  /// Whether the communicator is gone on which errors would be raised.
  virtual bool orphaned() const { return false; }
};

/// Requests that are persistent or consist of several messages. The MPI may have to be asked about
/// other requests in their place.
extern base::Counter special_requests;

/// Hears how a receive has ended that the MPI does.
class Ending {
 public:
  virtual ~Ending() = default;
  /// `status` is null if nobody knows what was received.
  virtual void ended(const MPI_Status* status) = 0;
};

/// Not thread-safe: MPI lets one thread at a time complete a request.
class Request {
 public:
  explicit Request(ErrorsOf errors = {}) : errors_(errors) {}
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  virtual ~Request();

  /// Whether this is a receive, which is completed before sends of one call are.
  virtual bool receives() const { return false; }
  /// Whether a message of that length is too long for this receive. False if that is not known.
  virtual bool has_no_room_for(std::int64_t bytes) const { return (void)bytes, false; }
  /// Whether completion may wait for the receiver of this send.
  virtual bool waits_for_receiver() const { return false; }
  /// Whether this is a collective operation. MPIs raise its errors on its own communicator, where
  /// some raise those of messages elsewhere.
  virtual bool collective() const { return false; }
  /// Whether the operation consists of several messages, which the MPI does not know as one. A call
  /// about such a request first calls go_on() or finish().
  virtual bool several() const { return false; }
  /// The call is about to look at such an operation: the processor is to bring what another rank
  /// has written.
  virtual void prefetch() const {}
  /// Whether arrive() writes the status of such an operation.
  virtual bool tells_status() const { return false; }
  /// Whether the program has been told that the operation is complete, so that MPI_Finalize waits
  /// for its end however long that takes.
  virtual bool promised() const { return false; }
  /// Moves such an operation on without waiting. Returns whether it has ended, of which the MPI has
  /// then been told. What it fetches goes with the thread's FetchBatch, if there is one.
  virtual bool go_on() { return true; }
  /// Begins to fetch what has come of such an operation, by a batch and as request `index` of it.
  /// What is fetched counts as come when the batch has finished. Returns whether nothing more can
  /// be fetched before go_on().
  virtual bool fetch_parts(FetchBatch& batch, int index) { return (void)batch, (void)index, true; }
  /// Whether fetch_parts() has something to do.
  virtual bool has_parts() const { return false; }
  /// Returns when such an operation has ended and the MPI has been told.
  virtual void finish() {}
  /// Whether finish_alone() may be called in place of finish(), and go_on_alone() in place of
  /// go_on(): the MPI need not be told.
  virtual bool stands_alone() const { return false; }
  virtual void finish_alone() {}
  virtual bool go_on_alone() { return go_on(); }
  /// The operation, which stays in the table, is complete, and the program knows it. Returns
  /// whether somebody keeps it, who lets it serve again.
  virtual bool rest() { return false; }
  /// It rests from now on, or no longer.
  void rests(bool yes);
  /// The MPI is about to be asked about such an operation: makes `inner`, if the operation has been
  /// started and has none. If the MPI has no memory, the operation ends first.
  virtual void show() {}
  /// Whether ask() has ended the MPI's persistent request, which the MPI now takes for inactive. So
  /// the MPI must not be asked about it.
  bool ended_ahead() const { return ended_ahead_; }
  /// Whether show() has started the MPI's own persistent request, which the MPI must then complete.
  virtual bool shown() const { return false; }
  /// Whether the operation is complete. `handle`: what the MPI knows it by.
  enum class News { none, complete, failed };
  virtual News ask(MPI_Request handle, MPI_Status& status);
  /// The MPI has set that request to null, about which it was asked in place of the program's.
  /// Open MPI 4.1 does so with all persistent requests of a call that have failed. Returns whether
  /// this was one.
  virtual bool gone(MPI_Request request) { return (void)request, false; }
  /// MPI_Cancel. Returns false if the MPI is to do it.
  virtual bool cancel() { return inner != MPI_REQUEST_NULL; }
  /// Whether there is something to do for the program when the MPI has completed the request: data
  /// must be put into its buffer, or its status is not the MPI's.
  bool brings() const { return receives() || copies_ || tells_status(); }

  /// Whether a start some moments later would probably cost less: the receive has not begun.
  virtual bool better_later() const { return false; }
  enum class Start {
    by_mpi,  // the MPI's request is to be started
    done,    // a request of ours, inner(), was started in its place
    failed,
  };
  /// Before MPI_Start starts the MPI's persistent request. `code` tells what failed; the error
  /// handler has then been called.
  Start start(int& code);
  /// The operation has been started; `key` is of the request as the MPI has left it.
  void started();
  /// The operation was not started.
  void not_started();

  /// The MPI has completed the request: puts data in place, gives memory back, corrects the status.
  /// Further calls for one start return the first result again. Returns an MPI error code and calls
  /// no handler. `told`: whether the program wants the status.
  int complete(MPI_Status& status, bool told = true);
  /// The MPI has ended the request with an error, of which the status tells.
  void abandon(int error, const MPI_Status& status);
  /// A failure of a fetch that complete() or fetch_parts() had only begun.
  virtual void failed_later(int code) { code_ = code; }
  /// An error that complete() found before the program asked: the call that ends the request
  /// returns it.
  void keep_error(int code) { kept_error_ = code; }

  /// Whose error handler is to be called.
  ErrorsOf errors() const { return copies_ && copies_->orphaned() ? errors_of_comm(MPI_COMM_WORLD) : errors_; }
  void raise_on(const ErrorsOf& errors) { errors_ = errors; }
  void attach_copies(std::shared_ptr<Copies> copies) { copies_ = std::move(copies); }
  /// Before the request is found in the table.
  void count_if_special() {
    if (counted_ || !(persistent || several())) return;
    counted_ = true;
    special_requests.add(1);
  }
  bool has_copies() const { return copies_ != nullptr; }
  /// The operation is a receive by the MPI, whose end somebody wants to hear of.
  void tell_end(std::unique_ptr<Ending> ending) { ending_ = std::move(ending); }
  /// Nobody wants to hear of it any more. Returns who did.
  std::unique_ptr<Ending> end_untold() { return std::move(ending_); }
  /// The operation is a message of an exchange that is measured.
  void measure(plan::ExchangeTimer::Message message) { measured_ = std::move(message); }
  void measure_no_more() { measured_.give_up(); }
  /// Keeps something until the request ends.
  void keep(std::shared_ptr<void> kept) { kept_ = std::move(kept); }

  bool persistent = false;
  /// The MPI does this receive, and only its status has to be looked at.
  bool status_only = false;
  /// The handle stays the operation's own when it is complete, so the operation stays in the table.
  bool stays = false;
  bool active = false;     // started and not completed
  bool delivered = false;  // complete() has been called since the start
  /// The call that has this operation among its requests. Sends that were complete when they began
  /// may have one handle. So an array of requests may name one operation several times.
  const void* in_call = nullptr;
  /// A call that is under way looks itself whether this receive has come: its data are to go with
  /// others. Only progress_receives() asks for that.
  bool awaited = false;
  std::uint64_t key = 0;  // of the program's request
  /// The request that the MPI is asked about in place of the program's while a persistent operation
  /// goes by a way of ours; else MPI_REQUEST_NULL. Of an operation by a channel, show() makes it.
  MPI_Request inner = MPI_REQUEST_NULL;

 protected:
  virtual Start begin(int& code) { return (void)code, Start::by_mpi; }
  virtual int arrive(MPI_Status& status) { return (void)status, MPI_SUCCESS; }
  /// Whether arrive() leaves the status to tell(), which is called if the program wants it.
  virtual bool tells_later() const { return false; }
  virtual void tell(MPI_Status& status) const { (void)status; }
  /// The MPI has ended a receive with an error.
  virtual void lost(int error, const MPI_Status& status) { (void)error, (void)status; }

 private:
  ErrorsOf errors_;
  bool counted_ = false, resting_ = false, ended_ahead_ = false;
  std::shared_ptr<Copies> copies_;  // null if the MPI has the program's own buffers
  std::shared_ptr<void> kept_;
  std::unique_ptr<Ending> ending_;
  plan::ExchangeTimer::Message measured_;
  MPI_Status status_{};  // of the first complete(), which later calls return again
  int code_ = MPI_SUCCESS;
  int kept_error_ = MPI_SUCCESS;
};

/// Calls the error handler of the request's object. Returns the code.
inline int raise(const Request& request, int code) { return raise(request.errors(), code); }

}  // namespace dunnage::mpi
