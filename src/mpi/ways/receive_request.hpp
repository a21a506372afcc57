// A nonblocking or persistent receive of Dunnage's, or one that channels are to hear of.
#pragma once

#include <memory>

#include "base/recycled.hpp"
#include "memory/landing.hpp"
#include "mpi/channels/posting.hpp"
#include "mpi/message/handle.hpp"
#include "mpi/message/message_turn.hpp"
#include "mpi/message/request.hpp"
#include "mpi/message/stage.hpp"
#include "mpi/process/comm_gone.hpp"
#include "mpi/ways/receive_call.hpp"

namespace dunnage::mpi {

/// A receive by the MPI or, if its message is the channel's next one, by a channel.
class ReceiveRequest : public Request, public base::Recycled<ReceiveRequest> {
 public:
  /// `parcel`: empty if the MPI receives into the program's buffer.
  ReceiveRequest(const ReceiveCall& call, memory::Buffer buffer, memory::Parcel parcel,
                 std::unique_ptr<Posting> posting);
  ~ReceiveRequest() override { drop_parcel(); }
  const memory::Parcel& parcel() const { return parcel_; }
  /// Of a persistent receive into host memory: each start asks who unpacks, we or the MPI.
  void ask_at_starts(plan::ExchangeTrial& trial, const ReceiveCall& call);
  /// Channels are to hear of it.
  void tell(std::unique_ptr<Posting> posting);

  // Of a receive that waits for a channel:
  /// Makes the handle that stands for it.
  int begin_wait(const ReceiveCall& call, MPI_Request* request);
  /// A receive that has rested serves again. Returns whether it waits for the channel; else its
  /// posting has begun all the same.
  bool begin_again(const ReceiveCall& call, std::shared_ptr<Streams> streams, MPI_Request* request);
  std::unique_ptr<Posting> give_posting();

  bool receives() const override { return true; }
  bool has_no_room_for(std::int64_t bytes) const override { return landing_.buffer && bytes > landing_.capacity(); }
  bool gone(MPI_Request request) override;
  bool rest() override;
  bool several() const override { return waits_; }
  bool stands_alone() const override { return !persistent && handle_; }
  void prefetch() const override {
    if (waits_) posting_->prefetch();
  }
  bool go_on() override;
  bool go_on_alone() override { return persistent ? go_on() : has_come(); }
  void finish() override;
  void finish_alone() override;
  News ask(MPI_Request handle, MPI_Status& status) override;
  void show() override;
  bool cancel() override;

 protected:
  Start begin(int& code) override;
  int arrive(MPI_Status& status) override { return waits_ ? arrive_by_channel() : arrive_by_mpi(status); }
  bool tells_later() const override { return waits_; }
  void tell(MPI_Status& status) const override;
  void lost(int error, const MPI_Status& status) override;

 private:
  /// Of a persistent receive into host memory that channels are to hear of.
  void look_for_channel(const MessageTurn& turn);
  /// Of a persistent receive that channels are to hear of. Returns whether it waits for a channel.
  bool begin_by_channel(MessageTurn& turn);
  /// Into the program's buffer by the MPI's request, if it is the MPI's turn. Else a persistent
  /// receive of our own stands behind the program's request. It must be persistent: some MPIs raise
  /// the errors of such receives on another communicator than those of nonblocking ones.
  Start begin_by_mpi(MessageTurn& turn, int& code);
  int make_stand_in();
  /// The stand-in is not active.
  void drop_parcel();
  Start left_to_mpi(plan::Reason why) const;
  /// Whether the MPI tells of tickets for which there is no room.
  bool may_truncate_tickets() const;
  int arrive_by_mpi(MPI_Status& status);
  // Of a receive that waits for a channel:
  int arrive_by_channel();
  void take_buffer(const ReceiveCall& call) const;
  bool has_come();

  const int source_, tag_;
  Posting* posting_ = nullptr;  // null if channels do not matter
  memory::Parcel parcel_;
  int sender_;  // to be asked for announcements; the communicator may be gone by then
  memory::Landing landing_;
  // Of a persistent receive of which each start asks who unpacks; else `trial_` is null:
  plan::ExchangeTrial* trial_ = nullptr;
  MPI_Comm comm_ = MPI_COMM_NULL;
  CommGone comm_gone_;
  Hook hook_{};
  MPI_Request stand_in_ = MPI_REQUEST_NULL;  // receives into the parcel
  const bool of_world_;                      // on MPI_COMM_WORLD
  const int of_ticket_;                      // the rank there whose tickets may be truncated; -1 if not known
  std::uint64_t keeper_ = 0;                 // of the buffer, from the first start by a channel on
  // Of a receive that waits for a channel:
  KeptHandle handle_;
  std::int64_t come_ = 0;  // bytes
  bool waits_ = false;
  bool cancelled_ = false;
};

}  // namespace dunnage::mpi
