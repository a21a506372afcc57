// Ranks in pairs, and the ways to send.
#pragma once

#include "samples.hpp"

// Even ranks send to the odd rank after them; with an odd number of ranks the last one looks on.
struct Pair {
  int rank = contract().rank;
  int peer = rank ^ 1;
  bool active = peer < contract().ranks;
  bool sends = active && rank % 2 == 0;
  bool receives = active && rank % 2 == 1;
};

// A buffer attached for MPI_Bsend, large enough for `messages` of `bytes` each.
class Attached {
 public:
  explicit Attached(std::size_t bytes, int messages = 1) : memory_(messages * (bytes + MPI_BSEND_OVERHEAD + 64)) {
    MPI_Buffer_attach(memory_.data(), int(memory_.size()));
  }
  ~Attached() {
    void* at;
    int size;
    MPI_Buffer_detach(&at, &size);
  }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;

 private:
  Bytes memory_;
};

using Send = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
using Isend = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

struct Mode {
  const char* name;
  Send send;
  Isend isend;
  Isend init;  // the persistent form has the same arguments
  bool ready = false, buffered = false;
};

inline const Mode modes[] = {
    {"Send", MPI_Send, MPI_Isend, MPI_Send_init},
    {"Ssend", MPI_Ssend, MPI_Issend, MPI_Ssend_init},
    {"Rsend", MPI_Rsend, MPI_Irsend, MPI_Rsend_init, true, false},
    {"Bsend", MPI_Bsend, MPI_Ibsend, MPI_Bsend_init, false, true},
};

// "Your receive is posted": what a ready send needs to know, and what tells two ranks apart in
// time.
constexpr int kToken = 4242;
inline void give_token(int peer) { MPI_Send(nullptr, 0, MPI_BYTE, peer, kToken, MPI_COMM_WORLD); }
inline void take_token(int peer) { MPI_Recv(nullptr, 0, MPI_BYTE, peer, kToken, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }

inline void check_status(const MPI_Status& status, int source, int tag, const Region& r, const std::string& what) {
  check_equal(status.MPI_SOURCE, source, what + ", status source");
  check_equal(status.MPI_TAG, tag, what + ", status tag");
  int count = -1, bytes = -1;
  MPI_Get_count(&status, r.type, &count);
  check_equal(count, r.count, what + ", count");
  MPI_Get_count(&status, MPI_PACKED, &bytes);
  check_equal(bytes, r.size(), what + ", count of bytes");
}

inline MPI_Status blank_status() {
  MPI_Status s;
  std::memset(&s, 0x5A, sizeof s);
  return s;
}

// The status of something that did not communicate.
inline void check_empty(const MPI_Status& status, const std::string& what) {
  int count = -1, cancelled = 1;
  MPI_Get_count(&status, MPI_BYTE, &count);
  MPI_Test_cancelled(&status, &cancelled);
  check(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG && count == 0 && !cancelled,
        what + ", empty status");
}
