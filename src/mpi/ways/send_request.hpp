// A nonblocking or persistent send of Dunnage's.
#pragma once

#include <memory>
#include <optional>

#include "base/recycled.hpp"
#include "mpi/message/request.hpp"
#include "mpi/message/stage.hpp"
#include "mpi/process/comm_gone.hpp"
#include "mpi/ways/by_channel.hpp"
#include "mpi/ways/send_call.hpp"
#include "transport/way.hpp"

namespace dunnage::mpi {

/// A send whose announcement, or whose packed data, the MPI carries.
class SendRequest : public Request, public base::Recycled<SendRequest> {
 public:
  SendRequest(const SendCall& call, std::unique_ptr<transport::Sending> sending);
  SendRequest(const SendCall& call, memory::Buffer buffer, memory::Parcel parcel,
              std::optional<transport::Outbound> message);
  /// Of a persistent send, whose communicator may be freed before the request.
  void watch_comm() { comm_gone_ = CommGone(call_.comm); }
  /// Of a persistent send of host memory: each start asks who packs, we or the MPI.
  void ask_at_starts(plan::ExchangeTrial* trial) { trial_ = trial; }
  /// Of a persistent send: channels are to know of it.
  void tell(std::shared_ptr<Streams> streams) { streams_ = std::move(streams); }

  bool several() const override { return by_.has_value(); }
  void prefetch() const override;
  bool go_on() override;
  void finish() override;
  void show() override;
  bool cancel() override;

  bool waits_for_receiver() const override { return sending_ && sending_->holds_buffer(); }

  bool better_later() const override;

 protected:
  Start begin(int& code) override;
  int arrive(MPI_Status& status) override;

 private:
  /// A persistent send that the MPI's request does with the program's buffer, if it is the MPI's
  /// turn. Else a nonblocking send of our own stands behind the program's request.
  Start begin_by_turn(MessageTurn& turn, int& code);
  void offer_channel();
  Start left_to_mpi(plan::Reason why);
  int take_buffer(OutLine& line);
  std::optional<ByChannel> find_channel(transport::ChannelStamp& stamp);
  Start begin_by_channel(int& code);
  /// Of a persistent send: a nonblocking send of our own stands behind the program's request.
  Start begin_announced(std::unique_ptr<transport::Sending> sending, int& code);

  const SendCall call_;
  std::optional<transport::Outbound> message_;  // of a persistent send that may be announced
  const memory::Buffer buffer_;
  memory::Parcel parcel_;
  plan::ExchangeTrial* trial_ = nullptr;
  CommGone comm_gone_;
  std::unique_ptr<transport::Sending> sending_;
  int moved_ = MPI_SUCCESS;
  std::shared_ptr<Streams> streams_;  // of a persistent send, if channels are allowed
  std::uint64_t keeper_ = 0;          // of the buffer, from the first start by a channel on
  std::optional<ByChannel> by_;       // how it goes since it was started last
  MPI_Request handle_ = MPI_REQUEST_NULL;
  bool ended_ = false;
};

}  // namespace dunnage::mpi
