// Messages as the ways see them that may announce them (transport/way.hpp).
#pragma once

#include <memory>
#include <optional>

#include "mpi/message/message_turn.hpp"
#include "mpi/ways/send_call.hpp"
#include "transport/way.hpp"

namespace dunnage::mpi {

/// A message from device memory to that rank of MPI_COMM_WORLD.
transport::Outbound from_device(const SendCall& call, std::uint32_t receiver, std::int64_t bytes,
                                memory::Buffer buffer);
/// When a persistent request is made, its receiver may not have told yet what it can read.
void ask_again(transport::Outbound& message);

/// The message as the ways see it. Nothing if it is none for them: too short, to nobody or to
/// another world, or packed by the MPI's own rules. `stamp`: of its channel; null if the message is
/// not about to be sent.
std::optional<transport::Outbound> outbound(const SendCall& call, const transport::ChannelStamp* stamp = nullptr);
/// The message as the ways see it, if one of them may have it.
std::optional<transport::Outbound> outbound(const SendCall& call, const MessageTurn& turn,
                                            const transport::ChannelStamp& stamp);

/// Whether one of the ways takes the message.
bool taken(const transport::Outbound& message);
/// Begins to send by the first way that takes the message. Null if no way does.
std::unique_ptr<transport::Sending> announce(Hook hook, const transport::Outbound& message);
/// The announcement as a message of the MPI's, begun.
int start_send(const transport::Sending& sending, const SendCall& call, bool blocking, MPI_Request* request);

/// An ordinary message is about to go to `dest`: if it has a ticket's length, no ticket to that
/// rank may have that length.
void avoid_length(std::int64_t count, MPI_Datatype type, int dest, MPI_Comm comm);

/// Whether the MPI has completed a request, or cannot tell. Lets the MPI move it.
bool mpi_ended(MPI_Request request);

/// Lets the MPI move a request while it is under way.
class Travels {
 public:
  explicit Travels(MPI_Request request) : request_(request) {}
  void operator()() {
    if (travels_) travels_ = !mpi_ended(request_);
  }

 private:
  const MPI_Request request_;
  bool travels_ = true;
};

}  // namespace dunnage::mpi
