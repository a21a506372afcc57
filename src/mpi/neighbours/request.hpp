// A nonblocking or persistent neighbour collective that is under way.
#pragma once

#include "mpi/message/request.hpp"
#include "mpi/neighbours/exchange_way.hpp"

namespace dunnage::mpi {

/// The program's request is a handle of ours (mpi/message/handle.hpp), or, if the operation is
/// persistent, a persistent handle of ours with another behind it (`inner`) after each start.
class NeighbourRequest : public Request {
 public:
  NeighbourRequest(std::unique_ptr<ExchangeWay> way, MPI_Comm comm, MPI_Request handle = MPI_REQUEST_NULL)
      : Request(errors_of_comm(comm)), way_(std::move(way)), handle_(handle) {}
  ~NeighbourRequest() override {
    if (persistent_) way_->free();
  }

  bool several() const override { return true; }
  bool collective() const override { return true; }
  bool go_on() override;
  void finish() override;
  /// The operation is persistent.
  void keep_way() { persistent = persistent_ = true; }

 protected:
  Start begin(int& code) override;
  int arrive(MPI_Status&) override { return code_; }

 private:
  void end(int code);

  const std::unique_ptr<ExchangeWay> way_;
  MPI_Request handle_;  // of what is under way
  bool ended_ = false;
  bool persistent_ = false;  // other than Request::persistent, also when the program has freed it
  int code_ = MPI_SUCCESS;
};

}  // namespace dunnage::mpi
