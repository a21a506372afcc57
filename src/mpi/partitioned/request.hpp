// A partitioned operation: the program's persistent request, and what both sides have in common.
#pragma once

#include <mutex>

#include "mpi/message/request.hpp"
#include "mpi/partitioned/kept_type.hpp"
#include "mpi/process/lineage.hpp"
#include "mpi/process/private_world.hpp"

namespace dunnage::mpi {

/// The arguments of MPI_Psend_init or MPI_Precv_init.
struct PartitionedCall {
  Hook hook;
  char* buffer;
  std::int64_t partitions, count;  // elements of a partition
  MPI_Datatype type;
  int peer, tag;
  MPI_Comm comm;
};

/// The program's request is one of the MPI: a receive from this rank itself. It is started when the
/// MPI is to be asked about it. When the operation has ended, this rank then sends itself the empty
/// message for it. So the handle never changes while threads use it.
///
/// Calls that complete requests come from one thread at a time. Calls about partitions may come
/// from several threads meanwhile.
class PartitionedRequest : public Request {
 public:
  /// Makes the program's request. Returns an MPI error code.
  int make_handle(MPI_Request* handle);

  bool several() const final { return true; }
  bool tells_status() const final { return true; }
  bool cancel() final { return true; }  // MPI lets nobody cancel it, so it succeeds
  bool go_on() final;
  bool fetch_parts(FetchBatch& batch, int index) final;
  void failed_later(int code) final { note(code); }
  void finish() final;
  void show() final;
  bool shown() const final { return shown_; }
  /// An MPI error code, if data may not be where they should: a partition that has arrived may be
  /// wrong.
  int failure() const { return failed_.load(std::memory_order_relaxed); }
  /// Whether a partition has this number.
  bool has(std::int64_t partition) const { return partition >= 0 && partition < call_.partitions; }

 protected:
  /// `call.type` is `type`, which lives as long as the operation does.
  PartitionedRequest(const PartitionedCall& call, std::shared_ptr<const KeptType> type, const Origin& origin)
      : Request(errors_of_comm(call.comm)), call_(call), type_(std::move(type)), gone_(origin.gone()) {}

  /// Holds the operation's lock. Calls that this thread makes meanwhile must not come back to
  /// partitioned operations: what is begun or tested lets orphans go on, which may be such.
  class Step {
   public:
    explicit Step(PartitionedRequest& request)
        : lock_(request.mutex_), outer_(std::exchange(under_way_in_thread, true)) {}
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;
    ~Step() { under_way_in_thread = outer_; }

   private:
    const std::lock_guard<std::mutex> lock_;
    const bool outer_;
  };

  // In a Step:
  /// Begins a start, which go_on() then moves. Returns an MPI error code.
  virtual int restart() = 0;
  /// As fetch_parts().
  virtual bool fetch(FetchBatch& batch, int index) { return (void)batch, (void)index, true; }
  /// Goes a step. Returns whether everything has ended.
  virtual bool move_on() = 0;
  bool ended() const { return ended_; }

  bool to_nobody() const { return call_.peer == MPI_PROC_NULL; }
  std::int64_t partition_bytes() const { return call_.count * type_->bytes(); }
  char* element(std::int64_t number) const { return call_.buffer + number * type_->extent(); }
  const PartitionedCall& call() const { return call_; }
  /// Keeps the first error, for the call that completes the operation. Thread-safe.
  void note(int code);
  /// Whether a message of this operation has ended, which lets it go on. Notes its error.
  bool message_ended(MPI_Request& request);
  void tell_status(MPI_Status& status, int source, int tag, std::int64_t bytes) const;
  int code() const { return code_.load(std::memory_order_relaxed); }
  /// What the call that completes the operation returns. After the communicator has gone, errors go
  /// elsewhere.
  int end();
  /// From now until end_looking_after(), every call that waits for a partitioned operation lets
  /// this one go on too: a sender may wait for this process to fetch its data.
  void look_after_always();
  /// In the destructor.
  void end_looking_after();

 private:
  Start begin(int& code) final;
  void complete_handle();

  static thread_local bool under_way_in_thread;
  const PartitionedCall call_;
  const std::shared_ptr<const KeptType> type_;
  const std::shared_ptr<const std::atomic<bool>> gone_;
  std::optional<Tags> tag_;  // of the empty message
  MPI_Request handle_ = MPI_REQUEST_NULL;
  bool shown_ = false;  // `handle_` has been started since the operation was
  std::mutex mutex_;
  bool ended_ = true;  // since the start
  std::atomic<int> code_{MPI_SUCCESS};
  std::atomic<int> failed_{MPI_SUCCESS};  // the first error that is no truncation
};

}  // namespace dunnage::mpi
