// Device memory for the handshakes of reductions (pack/cuda/reduction.hpp), in which other ranks
// write.
#pragma once

#include <memory>

#include "device/arena.hpp"
#include "device/place.hpp"

namespace dunnage::mpi {

struct SlotsInMemory;

/// This rank's slots for the handshakes of one communicator. Not thread-safe.
class HandshakeSlots {
 public:
  HandshakeSlots();
  HandshakeSlots(const HandshakeSlots&) = delete;
  HandshakeSlots& operator=(const HandshakeSlots&) = delete;
  ~HandshakeSlots();

  /// Whether the slots are in a context. The first call makes them there. False too after
  /// end_waits(). Throws device::Error.
  bool ready(const device::Driver& driver, CUcontext context);

  // After ready() has returned true:
  std::uintptr_t address() const;
  /// The allocation as others open it, and where the slots begin in it.
  const device::Exported& exported() const;
  std::int64_t at() const;
  device::Place place(const device::Driver& driver) const;
  /// Whether the other ranks know them. False the first time.
  bool told = false;

  /// Ends what waits for the slots, now and for ever. Does what it can if the device has failed.
  void end_waits(const device::Driver& driver) noexcept;

 private:
  std::shared_ptr<const SlotsInMemory> slots_;
  unsigned long long context_id_ = 0;  // device::id_of the context
  bool ended_ = false;
};

/// A process takes part in one handshake at a time. With two, the kernels of two threads could wait
/// in one hardware queue, in another order than on another rank.
class HandshakeTurn {
 public:
  HandshakeTurn() = default;
  HandshakeTurn(const HandshakeTurn&) = delete;
  HandshakeTurn& operator=(const HandshakeTurn&) = delete;
  ~HandshakeTurn();
  /// Takes the turn until this object ends. False if another thread has it.
  bool take();

 private:
  bool mine_ = false;
};

}  // namespace dunnage::mpi
