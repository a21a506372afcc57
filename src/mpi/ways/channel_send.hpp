// A nonblocking send whose receiver waits for it by a channel.
#pragma once

#include "base/recycled.hpp"
#include "mpi/message/handle.hpp"
#include "mpi/message/request.hpp"
#include "mpi/ways/by_channel.hpp"

namespace dunnage::mpi {

/// A nonblocking send that goes by a channel.
class ChannelSend : public Request, public base::Recycled<ChannelSend> {
 public:
  ChannelSend(const SendCall& call, ByChannel by) : Request(errors_of_comm(call.comm)), by_(std::move(by)) {}
  /// Makes the handle that stands for it. Returns an MPI error code.
  int take_handle(MPI_Request* request) {
    const int code = handle_.take();
    if (code != MPI_SUCCESS) return code;
    stays = true;
    *request = handle_.get();
    return MPI_SUCCESS;
  }
  /// A send that has rested serves again.
  void begin_again(ByChannel by, MPI_Request* request) {
    by_ = std::move(by);
    ended_ = false;
    started();
    *request = handle_.get();
  }
  bool rest() override {
    if (!handle_) return false;
    const auto streams = std::move(by_.streams);
    return by_.channel->resting.put(this);
  }
  bool several() const override { return true; }
  void prefetch() const override { by_.prefetch(); }
  bool go_on() override {
    if (go_on_alone()) handle_.end();
    return ended_;
  }
  bool go_on_alone() override { return ended_ = ended_ || by_.ended(); }
  void finish() override {
    finish_alone();
    handle_.end();
  }
  bool stands_alone() const override { return static_cast<bool>(handle_); }
  void finish_alone() override {
    if (!ended_) by_.wait();
    ended_ = true;
  }
  bool cancel() override { return true; }  // its receive has begun, or a copy is on its way, so it succeeds

 private:
  ByChannel by_;
  KeptHandle handle_;
  bool ended_ = false;
};

}  // namespace dunnage::mpi
