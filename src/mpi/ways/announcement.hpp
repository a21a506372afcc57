// Messages that announce data in place of bringing them, as their receivers meet them.
#pragma once

#include <optional>

#include "memory/landing.hpp"
#include "mpi/channels/posting.hpp"
#include "mpi/message/stage.hpp"
#include "mpi/process/process.hpp"

namespace dunnage::mpi {

/// Fetches what an announcement stands for and corrects the status. `bytes`: of the message as it
/// came; then the true size. Returns an MPI error code, or nothing if the message is no
/// announcement. `posting` hears of the message's channel.
std::optional<int> redeem(const memory::Landing& landing, std::int64_t& bytes, MPI_Status& status, Posting* posting);

/// After the MPI has ended a receive with an error: gives back what a truncated ticket announced.
/// `sender`: a rank of MPI_COMM_WORLD, or -1.
void give_back_truncated(int error, std::int64_t length, int sender, int tag);
/// Likewise for a call that the MPI has ended with `rc`, which is returned.
int ended_by_mpi(int rc, const MPI_Status& status, MPI_Comm comm);

/// After a message that came the MPI's way and was unpacked: asks its sender, a rank of
/// MPI_COMM_WORLD, for announcements of contiguous messages too.
void tell_scatters(std::int64_t bytes, int sender);
/// The rank of MPI_COMM_WORLD that such a receive may ask; -1 if none.
int sender_to_ask(std::int64_t bytes, int source, MPI_Comm comm);

/// After the MPI has put a message into the program's buffer: fetches the data if it is an
/// announcement, and corrects the status. `posting` hears of its channel. Returns what the call is
/// to return.
int settle_in_place(void* user, std::int64_t count, MPI_Datatype type, MPI_Status& status, MPI_Comm comm,
                    Posting* posting = nullptr);
/// After the MPI has put a message into a parcel: puts the data where the user wants them. Returns
/// what the call is to return.
int settle_staged(const memory::Parcel& parcel, const memory::Buffer& buffer, MPI_Status& status, MPI_Comm comm,
                  Posting* posting = nullptr);

/// After a probe that found a message: corrects the size in its status.
void correct_probe(MPI_Comm comm, MPI_Status* status);

}  // namespace dunnage::mpi
