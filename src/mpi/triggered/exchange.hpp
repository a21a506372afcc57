// Exchanges whose messages streams start and wait for: what DNG_Match makes, and what the calls
// that enqueue put into a stream.
//
// Of each exchange, the sender's stream makes its number, the epoch, the value of a slot in the
// receiver's device memory. The receiver's stream waits for the slots of all its senders, moves all
// data from their memory, and tells them by slots in theirs. The sender's stream waits for those.
// Where a GPU does not reach the other's memory, proxies stand between the streams (proxy.hpp).
#pragma once

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "device/gpu.hpp"
#include "memory/budget.hpp"
#include "mpi/process/process.hpp"
#include "mpi/process/proxy.hpp"
#include "mpi/process/watchdog.hpp"
#include "mpi/triggered/device_table.hpp"
#include "pack/cuda/stamped.hpp"
#include "pack/gpu/partition.hpp"
#include "pack/gpu/prepared.hpp"
#include "transport/shm/publications.hpp"

namespace dunnage::mpi {

/// The values of DNG_WAY_*.
enum class TriggerWay { mpi, memory_operations, kernels, proxy };

/// Greater than all epochs, so that it ends all waits.
inline constexpr std::uint64_t error_epoch = dng_broken;
static_assert(ProxiedExchange::broken == error_epoch);
/// Likewise, of slots that nobody waits for.
inline constexpr std::uint64_t unused_epoch = error_epoch / 2;

/// Plain shared memory, which one rank writes and another reads.
struct Board {
  std::atomic<std::uint32_t> poisoned{0};  // the writer gives the exchange up
};

/// A rank with which an exchange has messages that go directly.
struct TriggerPeer {
  int world_rank = -1;
  std::shared_ptr<const device::Import> block;
  transport::shm::Publications::Published own_board{};
  std::unique_ptr<transport::shm::Reading> board;  // of the peer
};

class Exchange;

/// A stream of the program's. Not thread-safe.
struct Queue {
  CUstream stream = nullptr;
  CUcontext context = nullptr;
  std::vector<Exchange*> started;  // whose data have not been moved yet, in the order of their starts
  int active = 0;                  // exchanges that were started, and not waited for
  bool captured = false;           // whether the stream was captured at the latest call
};

/// Not thread-safe, but for what the watchdog uses.
class Exchange : public Watched {
 public:
  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() override;

  /// Each returns an MPI error code and calls no handler.
  int start(Queue& queue);
  int wait(Queue& queue);
  /// Marks a partition as ready. `request` is a place in `requests`.
  int pready(int partition, int request, Queue& queue);
  /// The exchange as kernels know it.
  int device(const void*& handle);
  /// Waits until nothing of it is under way, and frees the requests.
  int close();

  /// Makes the device's number of the latest exchange, which kernels read, that of the host. Memory
  /// operations do not, because each takes a microsecond. Waits for the device. Throws
  /// device::Error.
  void tell_device() const;

  /// If kernels wait: records what the calls put into streams, so that each call is one launch. To
  /// be called when the exchange is complete. The context must be current.
  void record();

  TriggerWay way() const { return !mpi_requests.empty() ? TriggerWay::mpi : proxied ? TriggerWay::proxy : how; }
  const char* why() const { return changed_ ? reason_of_change.c_str() : reason.c_str(); }
  /// The error of an exchange that another rank's end has broken, else MPI_SUCCESS.
  int error() const;
  bool active() const { return queue_ != nullptr; }
  /// Whether it was given up by any rank, or the MPI has failed.
  bool broken() const { return poisoned_ || (proxied && proxied->error() != MPI_SUCCESS); }

  // For the watchdog, in its thread:
  /// Whether a peer is gone, or has given the exchange up.
  bool forsaken() override;
  /// Ends all waits of this exchange, now and from now on, and tells the peers.
  void poison() override;

  // Made by match(), and constant afterwards, but for `how`:
  std::vector<MPI_Request> requests;      // all that do not go directly, and those that do
  std::vector<MPI_Request> mpi_requests;  // those that the MPI does
  TriggerWay how = TriggerWay::mpi;       // of those that go directly; may change from memory operations to kernels
  bool may_change = false;                // from memory operations to kernels
  std::string reason, reason_of_change;
  std::vector<TriggerPeer> peers;            // those on this host
  std::unique_ptr<ProxiedExchange> proxied;  // null if there are none
  device::Gpu* gpu = nullptr;                // null if all messages go by the MPI
  CUcontext context = nullptr;
  std::shared_ptr<const device::Arena::Block> block;              // this rank's slots, and tables of slots of others
  std::vector<std::shared_ptr<const device::Arena::Block>> room;  // packed copies and scratch memory
  std::vector<std::shared_ptr<const device::Import>> imports;
  std::unique_ptr<device::Borrowed> lane;     // the watchdog's
  pack::gpu::Prepared packs, moves, unpacks;  // `unpacks`: of what the proxy has received
  memory::Budget::Part waiting_blocks;        // the blocks of `moves`, if they wait for other ranks themselves
  pack::cuda::Signal tell_ready, wait_ready, tell_done, wait_done;
  pack::cuda::Signal wait_received, wait_sent;  // for the proxy
  pack::cuda::StampedExchange stamped_out, stamped_in;
  std::vector<std::uintptr_t> ready_targets, done_targets;  // slots of others
  DeviceTable table;                                        // of partitioned messages that go directly
  DNG_Device table_on_device = nullptr;                     // null if there are none
  std::set<std::size_t> to_nobody;                          // places of partitioned sends to MPI_PROC_NULL
  bool messages = false;                                    // some are not partitioned
  std::size_t slots = 0;                                    // of this rank
  std::uintptr_t first_slot = 0;

 private:
  bool direct() const { return gpu != nullptr; }
  int check_stream(Queue& queue);
  int check_capture();
  int check_started_before(const Queue& queue) const;
  bool change_to_kernels();
  // What the calls put into a stream:
  void put_start(CUstream stream);
  void put_pull(CUstream stream, bool advances, bool last);
  void put_finish(CUstream stream);
  /// Launches the recording, or calls `put()` if there is none or if the stream is captured.
  template <class Put>
  void replay(const device::RecordedGraph& recording, CUstream stream, bool captured, Put&& put) const;
  bool start_tells_nobody() const;
  void start_exchange(const Queue& queue);
  void move(CUstream stream, pack::gpu::Prepared& moves, const pack::cuda::Signal& before,
            const pack::cuda::Signal& after, const std::vector<std::uintptr_t>& told);
  /// Moves the data in the stream. `last`: waits there for this rank's receivers too.
  void pull(const Queue& queue, bool last);
  void finish(const Queue& queue);
  void put_partition(CUstream stream, const dng_request& request, pack::cuda::PartitionCall call);
  void write_and_wait(CUstream stream, const std::vector<std::uintptr_t>& targets, std::uintptr_t slots,
                      std::size_t count);

  struct Recordings {
    device::RecordedGraph start, pull, pull_last, finish;
  } recorded_;
  Queue* queue_ = nullptr;  // since it was started
  CUstream last_stream_ = nullptr;
  bool used_ = false, pulled_ = false;
  bool changed_ = false;         // from memory operations to kernels, for ever
  bool advances_later_ = false;  // pull() makes the device's number that of the exchange that was started
  std::uint64_t epoch_ = 0;      // as the host counts it; graphs and kernels that start an exchange are not in it
  std::atomic<bool> poisoned_{false};
  std::atomic<int> lost_{-1};  // the rank that was lost first
};

/// Makes an exchange of persistent requests, together with the ranks with which they communicate.
/// Returns an MPI error code and calls no handler. The requests then belong to the exchange.
/// `stamps`: whether the program's kernels know stamped partitions.
int match(int count, MPI_Request* requests, bool stamps, std::unique_ptr<Exchange>& exchange);

}  // namespace dunnage::mpi
