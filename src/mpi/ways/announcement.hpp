// The message that the MPI carries in place of data: built by senders, read by receivers.
#pragma once

#include <span>

#include "mpi/message/stage.hpp"
#include "transport/ticket.hpp"

namespace dunnage::mpi {

// Each returns a parcel with the announcement, empty if there is no memory.
/// A ticket behind the first `carried` bytes of the data.
memory::Parcel announce_ticket(const transport::Ticket& ticket, std::int64_t length, const memory::Buffer& data,
                               std::int64_t carried);
/// A ticket behind `head`, without data.
memory::Parcel announce_ticket(const transport::Ticket& ticket, std::int64_t length, std::span<const char> head);
/// A token at the beginning of a message that is as long as the data.
memory::Parcel announce_token(std::uint64_t token, std::int64_t length);

}  // namespace dunnage::mpi
