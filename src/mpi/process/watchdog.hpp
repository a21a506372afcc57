// A thread that looks after what streams wait for while the program waits for a stream. If a rank
// ends, the waits in the streams of its peers must end too, and the driver ends none of them.
#pragma once

namespace dunnage::mpi {

/// Something that depends on other ranks. Its members are called in the watchdog's thread, in which
/// no function of the MPI may be called.
class Watched {
 public:
  virtual ~Watched() = default;
  /// Whether another rank is gone, or has given it up.
  virtual bool forsaken() = 0;
  /// Ends what waits for other ranks. Called again and again once forsaken() was true.
  virtual void poison() = 0;
};

/// Looks after it, until unwatch(). Throws std::system_error. Thread-safe.
void watch(Watched& watched);
/// It is not looked at any more when this returns. Thread-safe.
void unwatch(Watched& watched);
/// In MPI_Finalize: ends the thread.
void stop_watchdog();

}  // namespace dunnage::mpi
