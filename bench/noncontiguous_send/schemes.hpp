// The ways to send every other double: those of V. Eijkhout, "Performance of MPI sends of
// non-contiguous data", and some more.
#pragma once

#include <memory>
#include <vector>

#include "noncontiguous_send/buffers.hpp"
#include "noncontiguous_send/functions.hpp"

namespace bench {

/// One payload: the arrays of both ranks, and datatypes that describe every other double of an
/// array.
class Payload {
 public:
  Payload(int rank, int count);
  ~Payload();
  Payload(const Payload&) = delete;
  Payload& operator=(const Payload&) = delete;

  const int rank, count;  // count: number of doubles
  const Array from, to;   // twice as many doubles: sent on rank 0, received on rank 1
  const Array packed;     // rank 0: the destination of copying and packing
  const Array attached;   // rank 0: the buffer of buffered sends
  MPI_Datatype vector, subarray;
};

/// One scheme, set up on both ranks for one payload and one set of functions.
class Exchange {
 public:
  Exchange(const Payload& p, const Functions& f) : payload(p), mpi(f) {}
  virtual ~Exchange() = default;
  virtual void before() {}  // before each exchange, not timed
  virtual void run() = 0;   // timed on rank 0
  virtual void after() {}

 protected:
  const Payload& payload;
  const Functions& mpi;
};

/// What limits a scheme besides time.
enum class Effort {
  usual,
  by_element,  // makes a call for each element, so it is not for large payloads
  one_sided,   // an MPI may send each element by itself, and the target may queue any number of them
};

struct Scheme {
  const char* name;
  Shape sent, taken;
  std::unique_ptr<Exchange> (*make)(const Payload&, const Functions&);
  Effort effort = Effort::usual;
};

/// Returns all schemes. The reference comes first.
const std::vector<Scheme>& schemes();

}  // namespace bench
