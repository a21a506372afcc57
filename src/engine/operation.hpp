// A nonblocking or persistent operation that has something to be done when its request is complete.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/parcel.hpp"

namespace dunnage::engine {

/// Host memory that the MPI was given in place of the program's buffers. Both return an error code of the MPI; no handler is called.
class Copies {
 public:
  virtual ~Copies() = default;
  /// Before the MPI begins: what it reads.
  virtual int gather() = 0;
  /// After gather(), when the MPI has begun, or has failed to.
  virtual void begun(bool well) { (void)well; }
  /// After it has ended: what it wrote goes where the program wants it.
  virtual int deliver() = 0;
  /// Whether the communicator has gone whose errors these would be.
  virtual bool orphaned() const { return false; }
};

/// Lives beside the MPI's own request. Not thread-safe: MPI lets one thread complete a request.
struct Operation {
  enum class Kind {
    send,      // from the parcel
    ticket,    // by ticket, or if persistent perhaps; `kept` tells the rest
    receive,   // into the parcel
    in_place,  // a receive into the user's buffer that may meet a ticket; `kept` tells how to put things right
    memory,    // `kept` is only kept until the request ends
  } kind;
  bool persistent = false;
  bool active = false;     // started and not completed
  bool delivered = false;  // the data is where the user wants it
  Content content;
  void* user = nullptr;  // the buffer of what is not in the parcel
  Parcel parcel;
  std::shared_ptr<void> kept;
  std::shared_ptr<Copies> copies;  // null where the MPI has the program's own buffers
  int sender = -1;         // of a receive, in MPI_COMM_WORLD, where it is to be told something (the communicator may be gone by then)
  std::uint64_t comm = 0;  // the handle of what errors are raised on: most often a communicator
  enum class Object { comm, win, file } object = Object::comm;
  std::uint64_t key = 0;  // of the request
  std::uint64_t inner = 0;  // of the request that stands behind it while a persistent send goes by ticket
  bool by_ticket = false;   // whether one does
  // Of a ticket that was redeemed before its request ended: its true size, and what the receive returns.
  std::int64_t bytes = -1;
  int error = 0;

  bool receives() const { return kind == Kind::receive || kind == Kind::in_place; }
  /// Whether there is something to be done for the program when it is complete.
  bool brings() const { return receives() || copies; }
};

}  // namespace dunnage::engine
