// A way: how the bytes of one message travel from a sender's buffer to a receiver's.
//
// The MPI always matches messages. Ways differ in what the MPI carries. Some ways let the MPI carry
// the data (packed, or as they are). Others let the MPI carry an announcement, a short message that
// matches in place of the data; the receiver recognises the announcement and fetches the data.
//
// mpi/ways has one file for each way and the registry of all of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/function_ref.hpp"
#include "memory/landing.hpp"
#include "plan/gpu_way.hpp"
#include "transport/ticket.hpp"

namespace dunnage::transport {

/// One message that is about to be sent.
struct Outbound {
  memory::Buffer buffer;       // the data
  std::uint32_t receiver = 0;  // rank in MPI_COMM_WORLD
  int tag = 0;
  std::int64_t bytes = 0;   // packed size of the data
  bool contiguous = false;  // the data lie in one piece
  bool pays = false;        // host memory: the plan predicts a gain over packing, sending and unpacking
  ChannelStamp stamp{};     // of its channel, if it has one
  plan::GpuWay gpu_way = plan::GpuWay::none;  // device memory: the way between two ranks, if the plan chose one
};

/// The sender's end of one message. The destructor of a message that was never moved takes it back.
class Sending {
 public:
  Sending() = default;
  Sending(const Sending&) = delete;
  Sending& operator=(const Sending&) = delete;
  virtual ~Sending() = default;

  /// What the MPI carries: the announcement.
  const memory::Parcel& parcel() const { return parcel_; }
  /// Packed bytes of the message.
  virtual std::int64_t bytes() const = 0;
  /// Whether the MPI must tell when the announcement has been matched (MPI_Issend). `blocking`: the
  /// program's call does not return before finish().
  virtual bool synchronous(bool blocking) const { return (void)blocking, false; }
  /// Of data in device memory: what the report counts.
  virtual plan::GpuWay gpu_way() const { return plan::GpuWay::none; }
  /// Makes the data available. `travels`: the MPI has the announcement already; otherwise it gets
  /// the announcement after this call. `let_go_on` lets the MPI move it. Returns an MPI error code.
  virtual int move(bool travels, base::FunctionRef<void()> let_go_on) = 0;
  /// Whether the data are still in the user's buffer, so that finish() has something to do.
  virtual bool holds_buffer() const { return false; }
  /// Whether finish() needs no other process.
  virtual bool finishes_alone() const { return false; }
  /// Returns when the user may change the buffer: to be called when the announcement's request has
  /// completed. Returns an MPI error code.
  virtual int finish() { return 0; }
  /// The announcement was cancelled: nobody will fetch the data.
  virtual void cancel() = 0;

 protected:
  memory::Parcel parcel_;
};

/// The receiver's end of one announced message.
class Arrival {
 public:
  virtual ~Arrival() = default;
  /// Packed bytes of the message.
  virtual std::int64_t size() const = 0;
  /// The channel of the message, if it has one.
  virtual ChannelStamp stamp() const { return {}; }
  /// Brings the data to their place, at once or, if the calling thread has a FetchBatch, by the
  /// batch. Returns an MPI error code; may throw what the memory throws.
  virtual int fetch(const memory::Landing& landing) = 0;
  /// The data are not wanted.
  virtual void discard() = 0;
};

class Way {
 public:
  virtual ~Way() = default;
  virtual const char* name() const = 0;
  /// Whether this way can take a message to that rank from that buffer, and is expected to be the
  /// fastest that can. May go a step towards being able to.
  virtual bool takes(const Outbound& message) = 0;
  /// Begins to send a message. Null if there is no room for it now.
  virtual std::unique_ptr<Sending> begin(const Outbound& message) = 0;

  // Announcements. A ticket is recognised by the message's length and its last bytes, a token by
  // its first bytes (transport/ticket.hpp).
  /// Whether a message of that length may be a ticket of this way. Looks at no message.
  virtual bool expects(std::int64_t length) { return (void)length, false; }
  virtual std::unique_ptr<Arrival> recognise(const Ticket& ticket, std::int64_t length) {
    return (void)ticket, (void)length, nullptr;
  }
  /// Whether a message may begin with a token of this way.
  virtual bool expects_token() { return false; }
  virtual std::unique_ptr<Arrival> recognise(std::uint64_t token, std::int64_t length) {
    return (void)token, (void)length, nullptr;
  }
  /// The size of the data that a ticket of that length announces, if this way has sent one from
  /// that rank with that tag that has not been received.
  virtual std::optional<std::int64_t> size_of(std::uint32_t sender, std::int64_t length, int tag) {
    return (void)sender, (void)length, (void)tag, std::nullopt;
  }
  /// An ordinary message of that length goes to that rank: no ticket to that rank may have it.
  virtual void avoid(std::uint32_t receiver, std::int64_t length) { (void)receiver, (void)length; }
  /// The MPI has truncated a message of that length from that rank with that tag. If the message
  /// was surely a ticket of this way, gives back what it announced.
  virtual void truncated(std::uint32_t sender, std::int64_t length, int tag) { (void)sender, (void)length, (void)tag; }
};

}  // namespace dunnage::transport
