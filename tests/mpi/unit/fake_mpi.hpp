// An MPI without processes, for unit tests of src/mpi. This process is rank 0, and the test plays
// all other ranks: it takes what rank 0 sent, and lets messages of other ranks arrive.
//
// The fake MPI has the handles and statuses of MPICH's mpi.h, which need no library. It does what
// the standard says of matching, order, truncation and requests. Where a real MPI would wait for
// ever, the test fails at once. Errors are returned, as MPI_ERRORS_RETURN has it.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "fake_types.hpp"

namespace fake {

inline constexpr int ranks = 3;

/// What real MPIs do within the standard, or against it. All off after reset().
struct Habits {
  /// MPICH: all sends that are complete when they begin have one handle.
  bool one_handle_for_ended_sends = false;
  /// MPICH 5: MPI_Request_get_status makes a completed persistent request inactive.
  bool forgets_ended_persistent = false;
  /// MPICH 5: a call that fails returns success if the program's error handler has it so.
  bool hides_errors = false;
  /// Sends to other ranks complete when the test takes their messages.
  bool sends_wait = false;
  /// Sends, receives and starts take 2 ms of now() longer with such data.
  enum class Slow { none, strided, contiguous } slow = Slow::none;
};
extern Habits habits;

/// Forgets messages, requests, faults and what was counted. Datatypes stay.
void reset();
/// The function of that name, which may begin with a P. Null if this MPI lacks it.
void* find(const char* name);

/// A clock in nanoseconds that goes on when it is read, and when a call is slow.
std::int64_t now();
/// So many nanoseconds pass.
void pass(std::int64_t nanoseconds);

/// A message that another rank sends to rank 0.
void arrive(int source, int tag, const std::string& data, MPI_Comm comm = MPI_COMM_WORLD);

struct Message {
  int tag;
  std::string data;
  bool operator==(const Message&) const = default;
};
/// Takes all messages that rank 0 has sent to another rank, the oldest first. Sends that wait for a
/// receiver complete.
std::vector<Message> taken_by(int dest);

/// The next call of that function returns `code` and does nothing else.
void fail(const std::string& function, int code);

/// How often a function was called, by its name without MPI_.
int calls(const std::string& function);
/// The buffer and bytes that the MPI was given for the last message that was sent.
const void* last_send_buffer();
const void* last_receive_buffer();  // of a receive or a start; of all receives but matched ones
std::int64_t last_send_bytes();
/// Whether MPI_COMM_WORLD has its first error handler.
bool errors_are_fatal();
/// The codes with which Dunnage has called error handlers. Clears them.
std::vector<int> errors();
/// Requests that exist, active or not, and messages of rank 0 to itself that nobody received.
std::size_t requests();
std::size_t unreceived();

/// The bytes of a message, by its status.
std::int64_t bytes_of(const MPI_Status& status);
bool cancelled(const MPI_Status& status);

}  // namespace fake
