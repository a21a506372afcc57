#include "mpi/ways/watched_receive.hpp"

#include "base/recycled.hpp"
#include "mpi/message/accept.hpp"
#include "mpi/message/attach.hpp"
#include "mpi/message/begun.hpp"
#include "mpi/message/buffer.hpp"
#include "mpi/message/message_turn.hpp"
#include "mpi/process/arrivals.hpp"
#include "mpi/process/status.hpp"
#include "mpi/ways/announcement.hpp"
#include "mpi/ways/from_channel.hpp"
#include "mpi/ways/receive_request.hpp"

namespace dunnage::mpi {

using plan::Operation;

namespace {

/// A receive into host memory that is left to the MPI, and whose message may be an announcement.
class WatchedReceive : public Request, public base::Recycled<WatchedReceive> {
 public:
  WatchedReceive(const ReceiveCall& call, memory::Buffer buffer)
      : Request(errors_of_comm(call.comm)), buffer_(std::move(buffer)) {
    status_only = true;
  }
  bool receives() const override { return true; }
  bool has_no_room_for(std::int64_t bytes) const override { return bytes > buffer_.size(); }

 protected:
  int arrive(MPI_Status& status) override {
    if (!may_be_announcement(told_bytes(status))) return MPI_SUCCESS;
    auto bytes = received_bytes(status);
    return redeem({buffer_}, bytes, status, nullptr).value_or(MPI_SUCCESS);
  }

 private:
  const memory::Buffer buffer_;
};

}  // namespace

std::unique_ptr<Request> watch_only(const ReceiveCall& call) {
  if (process->attention.load(std::memory_order_relaxed) || process->exchanges.open()) return nullptr;
  if (call.apart || call.source == MPI_PROC_NULL || !surely_host(call.buffer)) return nullptr;
  const auto* known = known_type(call.type);
  std::int64_t bytes = 0;
  if (!known || __builtin_mul_overflow(call.count, known->bytes(), &bytes) ||
      bytes < transport::host_lengths.least_size() || channel_counts_receive(call.comm, call.source, call.tag))
    return nullptr;
  if (known->reason() == plan::Reason::contiguous)
    return std::make_unique<WatchedReceive>(call, memory::Buffer::contiguous(call.buffer, bytes));
  const auto* variant = known->find(call.count);
  if (!variant) return nullptr;
  auto* trial = trial_of(call.hook, Operation::receive, *variant);
  const bool left =
      trial ? trial->leaves_to_library()
            : gains_too_little(call.hook, Operation::receive, *variant) || variant->declines(Operation::receive);
  return left ? std::make_unique<WatchedReceive>(call, memory::Buffer(variant->program, call.buffer)) : nullptr;
}

std::unique_ptr<Request> watch_receive(const ReceiveCall& call, std::unique_ptr<Posting> posting) try {
  const auto may_be_announced = [&] {
    if (!announcements_possible() || call.source == MPI_PROC_NULL || call.count <= 0) return false;
    if (call.type == MPI_DATATYPE_NULL) return false;
    const auto* known = known_type(call.type);
    MPI_Count size = known ? known->bytes() : 0;
    if (size == 0 && process->own.Type_size_x(call.type, &size) != MPI_SUCCESS) return false;
    std::int64_t bytes = 0;
    return __builtin_mul_overflow(call.count, static_cast<std::int64_t>(size), &bytes) || tickets_concern(bytes);
  };
  const bool announced = may_be_announced();
  if (!announced && !posting) return nullptr;
  auto buffer =
      announced || (posting && surely_right(call)) ? buffer_of(call.buffer, call.count, call.type) : memory::Buffer();
  return std::make_unique<ReceiveRequest>(call, std::move(buffer), memory::Parcel(), std::move(posting));
} catch (const std::exception&) {
  return nullptr;  // without memory nothing can be done if an announcement comes
}

int watch(int rc, MPI_Request* request, std::unique_ptr<Request> watched) {
  if (watched && mpi_began(rc, request))
    attach(*request, std::move(watched));
  else
    forget_request(rc, request);
  return rc;
}

}  // namespace dunnage::mpi
