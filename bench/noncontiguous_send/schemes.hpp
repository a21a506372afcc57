// The ways to send every other double, after "Performance of MPI sends of non-contiguous data", and some beyond it.
#pragma once

#include <memory>
#include <vector>

#include "noncontiguous_send/buffers.hpp"
#include "noncontiguous_send/functions.hpp"

namespace bench {

/// One payload: the arrays of both ranks, and the datatypes that describe every other double of one.
class Payload {
 public:
  Payload(int rank, int count);
  ~Payload();
  Payload(const Payload&) = delete;
  Payload& operator=(const Payload&) = delete;

  const int rank, count;   // of doubles
  const Array from, to;    // of twice as many: sent on rank 0, received on rank 1
  const Array packed;      // rank 0: what copying and packing write into
  const Array attached;    // rank 0: what buffered sends use
  MPI_Datatype vector, subarray;
};

/// One scheme, set up on both ranks for one payload and by one set of functions.
class Exchange {
 public:
  Exchange(const Payload& p, const Functions& f) : payload(p), mpi(f) {}
  virtual ~Exchange() = default;
  virtual void before() {}  // of each exchange, not timed
  virtual void run() = 0;   // timed on rank 0
  virtual void after() {}

 protected:
  const Payload& payload;
  const Functions& mpi;
};

/// What bounds a scheme besides time.
enum class Effort {
  usual,
  by_element,  // a call for each element: not for large payloads
  one_sided,   // an MPI may send each element by itself, and the target queue them without a limit
};

struct Scheme {
  const char* name;
  Shape sent, taken;
  std::unique_ptr<Exchange> (*make)(const Payload&, const Functions&);
  Effort effort = Effort::usual;
};

/// The reference comes first.
const std::vector<Scheme>& schemes();

}  // namespace bench
