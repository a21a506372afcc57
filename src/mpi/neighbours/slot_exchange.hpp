// One nonblocking exchange of host memory within a host. A rank packs its data into shared memory
// when the exchange begins. In calls that complete the exchange it unpacks what the others have
// packed.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "mpi/neighbours/exchange_slots.hpp"
#include "mpi/neighbours/exchange_way.hpp"
#include "mpi/process/hook.hpp"

namespace dunnage::mpi {

/// Not thread-safe. Several may be under way, and end in any order.
class SlotExchange final : public ExchangeWay {
 public:
  /// `number`: by ExchangeSlots::next().
  SlotExchange(Hook hook, std::shared_ptr<ExchangeSlots> slots, std::uint64_t number);
  ~SlotExchange() override { slots_->give_back(std::move(buffers_)); }

  /// What fails is told when the exchange has ended, because the other ranks wait for this one.
  void begin(const Edges& edges);
  int start() override { return MPI_ERR_OTHER; }  // it is not persistent
  bool test() override;
  int code() const override { return code_; }
  int wait() override;
  void free() override {}
  bool orphaned() const override { return slots_->orphaned().load(std::memory_order_relaxed); }

 private:
  /// Packs what other ranks get. `posts`: by row.
  void pack(std::span<transport::shm::PostedExchange> posts);
  /// Unpacks the data of a row, if they are there. Returns whether they were.
  bool read(std::size_t row);
  void unpack(std::size_t row, const char* part);
  void note(int code) {
    if (code_ == MPI_SUCCESS) code_ = code;
  }
  /// Whether a rank is gone for which this exchange waits. Asks the kernel.
  bool forsaken() const;

  const Hook hook_;
  const std::shared_ptr<ExchangeSlots> slots_;
  const std::uint64_t number_;
  std::unique_ptr<ExchangeSlots::Buffers> buffers_;
  std::vector<bool> read_;  // by row of receives
  std::size_t unread_;      // how many have not been read
  int code_ = MPI_SUCCESS;
};

}  // namespace dunnage::mpi
