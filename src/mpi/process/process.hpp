// What all calls share in one process: the MPI's functions, the settings, the tables and the
// report's counters.
#pragma once

#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/handle_table.hpp"
#include "base/range.hpp"
#include "base/settings.hpp"
#include "memory/staging.hpp"
#include "mpi/process/breakdown.hpp"
#include "mpi/process/collective_trials.hpp"
#include "mpi/process/hook.hpp"
#include "mpi/process/mpi_table.hpp"
#include "mpi/process/pack_trials.hpp"
#include "plan/exchange_timer.hpp"
#include "plan/host.hpp"
#include "plan/library.hpp"
#include "transport/peers/world.hpp"

namespace dunnage::mpi {

/// A handle of the MPI as a key of a HandleTable: an int in the MPICH ABI, a pointer in the others.
template <class Handle>
std::uint64_t key_of(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>)
    return reinterpret_cast<std::uintptr_t>(handle);
  else
    return static_cast<std::uint32_t>(handle);
}

/// The handle that key_of() was made from.
template <class Handle>
Handle handle_of(std::uint64_t key) {
  if constexpr (std::is_pointer_v<Handle>)
    return reinterpret_cast<Handle>(static_cast<std::uintptr_t>(key));
  else
    return static_cast<Handle>(static_cast<std::uint32_t>(key));
}

class KnownType;
class Request;

/// What MPI_Get_library_version says. May be asked before MPI_Init.
std::string library_version(const OwnTable& own);

/// Counters of one call. Relaxed: they are summed at the end.
struct Count {
  std::array<std::atomic<std::uint64_t>, plan::reasons> calls{};
  std::atomic<std::uint64_t> bytes{0};                                // accelerated
  std::atomic<std::uint64_t> nanoseconds{0};                          // in accelerated calls
  std::atomic<std::uint64_t> tickets{0};                              // accelerated sends that went by ticket
  std::atomic<std::uint64_t> rings{0};                                // accelerated calls that went through rings
  std::atomic<std::uint64_t> channels{0};                             // accelerated sends of host memory by channels
  std::array<std::atomic<std::uint64_t>, plan::gpu_ways> gpu_ways{};  // sends of device memory
};

/// What came into device memory by kernels and copies of this process. What begins at one time is a
/// group: it shares launches where the layouts allow that. Relaxed, as Count.
struct FetchCounts {
  std::atomic<std::uint64_t> messages{0}, groups{0};
  std::atomic<std::uint64_t> later{0};  // groups of data that came when an earlier group of that call had begun
  void group(std::uint64_t of_messages, bool is_later) {
    messages.fetch_add(of_messages, std::memory_order_relaxed);
    groups.fetch_add(1, std::memory_order_relaxed);
    if (is_later) later.fetch_add(1, std::memory_order_relaxed);
  }
};

using base::monotonic_nanoseconds;

struct Process {
  NextTable next;
  NextTable below;  // the same under their PMPI names: what comes after us for who calls those
  OwnTable own;
  base::Settings settings;
  plan::Library library;
  plan::Behaviour behaviour;
  plan::Model model{};
  int (*query_cuda_support)() = nullptr;  // the MPI's own, where it has one
  bool reporting = false;
  std::unique_ptr<Breakdown> breakdown;  // there if `reporting`
  std::atomic<bool> initialized{false};  // between MPI_Init and MPI_Finalize
  int rank = -1;                         // in MPI_COMM_WORLD; before MPI_Init has ended, -1
  bool alone = false;                    // the only rank of MPI_COMM_WORLD
  bool everyone = false;  // all ranks of MPI_COMM_WORLD are known to have Dunnage; the same on all of them
  /// What broadcasts cost. All ranks choose by these figures. They are those of the first rank's
  /// model if all ranks have met in MPI_Init, and built-in figures otherwise.
  plan::BcastFigures bcast;
  bool shares = false;         // all have shared memory that the others of their hosts read; the same on all of them
  bool several_hosts = false;  // the ranks of MPI_COMM_WORLD may be on several; false before MPI_Init
  /// Whether even a contiguous call has something to do for us: to be counted, or to let orphans go
  /// on.
  std::atomic<bool> attention{false};
  std::atomic<bool> channels{false};  // there is a channel (mpi/channels), so every message is to be looked at
  std::unique_ptr<std::array<Count, hook_count>> counts;  // there if `reporting`
  FetchCounts fetches;
  std::atomic<std::uint64_t> tokens{0};          // tokens that have come
  std::atomic<std::uint32_t> tokens_to_self{0};  // tokens that this process has sent to itself and not received
  std::atomic<bool> sends_to_self{false};        // this process has sent a message to itself by the way `self`
  std::atomic<bool> scatters_to_self{false};     // contiguous messages to itself were received into other layouts
  bool brief = false;                            // all receives since MPI_Init were looked at for the short tickets
  std::atomic<bool> takes_tokens{false};         // all receives since MPI_Init were looked at, and still are
  memory::StagingPool staging;
  memory::Budget waiting_blocks;                   // thread blocks of GPUs that may wait for other ranks
  memory::Budget staged_sends;                     // packed bytes of host data that wait in staging memory
  std::unique_ptr<transport::peers::World> world;  // the ranks of this host that take tickets; null where none can
  /// Bytes from which a receive may meet a ticket, and a send must look at the length of its
  /// message.
  std::atomic<std::int64_t> tickets_from{std::numeric_limits<std::int64_t>::max()};
  base::HandleTable<Request> requests;
  base::HandleTable<KnownType> types;
  PackTrials pack_trials;
  CollectiveTrials collective_trials;
  plan::ExchangeTimer exchanges{monotonic_nanoseconds};

  explicit Process(const base::Settings& s) : settings(s), staging(s.staging_pool) {}

  /// Whether the MPI reaches devices by itself.
  bool mpi_knows_gpus() const {
    if (settings.mpi_cuda != base::MpiCuda::automatic) return settings.mpi_cuda == base::MpiCuda::yes;
    return query_cuda_support && query_cuda_support() == 1;
  }
  /// Whether it may be given data there; messages: as passes_to() in mpi/process/peers.hpp has it.
  bool passes_gpus() const {
    return settings.gpu_path != base::GpuPath::staged && settings.gpu_path != base::GpuPath::direct && mpi_knows_gpus();
  }

  /// To be asked if `reporting`.
  Count& count_of(Hook hook) { return (*counts)[static_cast<std::size_t>(hook)]; }
  void count(Hook hook, plan::Reason reason) {
    if (!reporting) return;
    count_of(hook).calls[static_cast<std::size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
    if (auto* site = breakdown->by_site(hook)) site->count(reason);
  }
  /// As above, of a call whose bytes are known. `peer` is the receiver of a send, as a rank of
  /// MPI_COMM_WORLD, or -1.
  void count_declined(Hook hook, plan::Reason reason, std::int64_t bytes, int peer) {
    if (!reporting) return;
    count(hook, reason);
    if (bytes > 0) breakdown->by_size(hook, static_cast<std::uint64_t>(bytes)).decline();
    if (peer >= 0) breakdown->sends.of(peer).decline();
  }
  void count(Hook hook, plan::GpuWay way) {
    if (reporting) count_of(hook).gpu_ways[static_cast<std::size_t>(way)].fetch_add(1, std::memory_order_relaxed);
  }
};

/// The process' one context. Made by the shim before the first hook can run, and never destroyed:
/// MPI calls may come from destructors at exit.
extern Process* process;

/// Whether a call goes to the MPI from here: else a profiling tool is between, sees it first, and
/// makes it again by its PMPI name.
template <class Next, class Own>
bool nothing_between(Next next, Own own) {
  return reinterpret_cast<void*>(next) == reinterpret_cast<void*>(own);
}

/// Counts one accelerated call and its time, where a report is wanted, and shows it on a timeline.
/// `peer` is the receiver of a send, in MPI_COMM_WORLD, or -1; `sent` is how many of the bytes are
/// sent, if the call receives too.
class Accelerated {
 public:
  Accelerated(Hook hook, std::int64_t bytes, bool by_ticket = false, int peer = -1,
              std::optional<std::int64_t> sent = std::nullopt)
      : range_(hook_names[static_cast<std::size_t>(hook)], bytes) {
    if (!process->reporting) return;
    count_ = &process->count_of(hook);
    if (by_ticket) count_->tickets.fetch_add(1, std::memory_order_relaxed);
    count_->bytes.fetch_add(static_cast<std::uint64_t>(bytes), std::memory_order_relaxed);
    process->count(hook, plan::Reason::accelerated);
    const auto size = static_cast<std::uint64_t>(bytes);
    if (bytes > 0) (size_ = &process->breakdown->by_size(hook, size))->accelerate(size);
    if (peer >= 0)
      (peer_ = &process->breakdown->sends.of(peer))->accelerate(static_cast<std::uint64_t>(sent.value_or(bytes)));
    if (auto* site = process->breakdown->by_site(hook)) (site_ = &site->portion)->accelerate(size);
    start_ = std::chrono::steady_clock::now();
  }
  Accelerated(const Accelerated&) = delete;
  Accelerated& operator=(const Accelerated&) = delete;
  ~Accelerated() {
    if (!count_) return;
    const auto spent =
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start_).count();
    const auto nanoseconds = static_cast<std::uint64_t>(spent);
    count_->nanoseconds.fetch_add(nanoseconds, std::memory_order_relaxed);
    if (size_) size_->spend(nanoseconds);
    if (peer_) peer_->spend(nanoseconds);
    if (site_) site_->spend(nanoseconds);
  }

 private:
  const base::Range range_;
  Count* count_ = nullptr;
  plan::Portion *size_ = nullptr, *peer_ = nullptr, *site_ = nullptr;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace dunnage::mpi
