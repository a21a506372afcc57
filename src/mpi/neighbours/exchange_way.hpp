// How the data of one neighbour collective travel: by messages, or through rings.
#pragma once

namespace dunnage::mpi {

/// A nonblocking or persistent exchange, as its request needs it. Codes are MPI error codes.
class ExchangeWay {
 public:
  ExchangeWay() = default;
  ExchangeWay(const ExchangeWay&) = delete;
  ExchangeWay& operator=(const ExchangeWay&) = delete;
  virtual ~ExchangeWay() = default;

  /// Begins a persistent exchange. If the code is not MPI_SUCCESS, the exchange has ended.
  virtual int start() = 0;
  /// Moves the exchange on without waiting. Returns whether it has ended.
  virtual bool test() = 0;
  /// After test() has returned true: how it has ended.
  virtual int code() const = 0;
  /// Returns how it has ended when it has.
  virtual int wait() = 0;
  /// Frees persistent requests, which must be inactive.
  virtual void free() = 0;
  /// Whether the program's communicator is gone.
  virtual bool orphaned() const = 0;
};

}  // namespace dunnage::mpi
