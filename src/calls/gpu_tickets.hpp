// Messages between GPUs of one host, by ticket: the receiver's GPU reads the data where they are.
//
// The sender depends on its receiver for no longer than a moment: where that has the ticket but does not come for the data, they are packed
// into shared memory, as data in host memory are, and the send is complete. What must not be read there (memory of pools, managed memory, layouts
// that are no nest, virtual memory that the receiver does not hold yet) is packed into device memory of our own first.
#pragma once

#include <memory>
#include <span>
#include <optional>

#include "calls/landing.hpp"
#include "calls/types.hpp"
#include "transport/shm/world.hpp"

#ifdef DUNNAGE_CUDA
#include "device/arena.hpp"
#endif

namespace dunnage::calls {

/// Whether tickets of such data may come. One load.
inline bool gpu_tickets() { return context->tickets_from.load(std::memory_order_relaxed) <= transport::gpu_lengths.least; }

/// The program uses device memory, which this is an address of: from now on such messages may come. Thread-safe.
void see_gpu(const void* address);

/// The data of a message in a GPU's memory, where it is to go to that rank of MPI_COMM_WORLD by ticket.
struct GpuRoute {
  engine::Content content;  // empty: it is not
  plan::GpuWay way = plan::GpuWay::none;
  /// Else they are packed into shared memory.
  bool direct() const { return way == plan::GpuWay::direct; }
};
GpuRoute gpu_route(const void* buffer, std::int64_t count, MPI_Datatype type, const KnownType* known, std::uint32_t receiver);
/// The way of data in a GPU's memory that could not be sent by ticket, for the report.
plan::GpuWay way_without_ticket(Hook hook, const engine::Content& content, int peer, MPI_Comm comm);

#ifdef DUNNAGE_CUDA
/// Device memory for so many packed bytes of that content; null where there is none.
std::shared_ptr<const device::Arena::Block> gpu_block(const engine::Content& content, std::int64_t size);
#endif

/// What such a ticket begins with, and what must live until the receiver has the data.
struct GpuOffer {
  std::vector<char> head;  // empty: it must go the MPI's way
  std::shared_ptr<const void> memory;
  std::uintptr_t address = 0;  // of that memory, into which the data must be packed
  std::optional<transport::shm::Allocation> named;  // of the program's, which the receiver must go on holding
};
GpuOffer gpu_offer(const engine::Content& content, std::uint32_t receiver);
/// When the ticket is on its way: from now on the data can be read. Returns an error code of the MPI; then there is nothing to finish.
int gpu_ready(const transport::shm::Outgoing& outgoing, const engine::Content& content, const GpuOffer& offer);
/// Packs them into shared memory, which World::make_room() has made room in. `request`: the ticket's, or null. The same.
int gpu_pack_shared(const transport::shm::Outgoing& outgoing, const engine::Content& content, MPI_Request request);
/// When the ticket has been received, or may have been: returns when the program may have its buffer back. Returns an error code of the MPI.
int gpu_finish(const transport::shm::Outgoing& outgoing, const engine::Content& content);

#ifdef DUNNAGE_CUDA
/// While one lives, data that the thread fetches into device memory may come later: they are there after finish(). They are brought with as few
/// launches as can be, several of which may be under way.
class FetchBatch {
 public:
  FetchBatch();
  FetchBatch(const FetchBatch&) = delete;
  FetchBatch& operator=(const FetchBatch&) = delete;
  ~FetchBatch();
  /// Which request what is fetched from now on belongs to.
  void about(int index) { index_ = index; }
  struct Failure {
    int index, code;  // the MPI's
  };
  /// Begins what has been fetched since the last time, and lets go of senders whose data have come.
  void go_on();
  /// Whether something has been fetched and nothing is under way.
  bool rests() const { return flights_.empty() && !pending_.empty(); }
  std::vector<Failure> finish();

 private:
  friend int gpu_fetch(const transport::shm::Incoming&, std::int64_t, Landing&);
  struct Pending;
  struct Flight;
  static std::int64_t bytes_of(const std::vector<Pending>& group);
  void end(const std::vector<Pending>& group, int code);
  std::vector<Pending> pending_;
  std::vector<std::unique_ptr<Flight>> flights_;
  std::vector<Failure> failures_;
  FetchBatch* const outer_;
  int index_ = 0;
};

#else
class FetchBatch {
 public:
  void about(int) {}
  void go_on() {}
  bool rests() const { return false; }
  struct Failure {
    int index, code;
  };
  std::vector<Failure> finish() { return {}; }
};
#endif

/// Brings the data of a ticket, whose first bytes the landing has, to their place. Returns an error code of the MPI.
int gpu_fetch(const transport::shm::Incoming& incoming, std::int64_t size, Landing& landing);

/// Before devices are given back.
void forget_gpu_tickets();

}  // namespace dunnage::calls
