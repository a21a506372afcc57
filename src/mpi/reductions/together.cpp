#include "mpi/reductions/together.hpp"

#include <cstring>
#include <limits>

#include "device/ipc.hpp"
#include "memory/host_memory.hpp"
#include "mpi/message/device_landing.hpp"
#include "mpi/message/gpu_shared.hpp"
#include "mpi/message/progress.hpp"
#include "mpi/process/arrivals.hpp"
#include "mpi/process/failure.hpp"
#include "mpi/process/gpu_use.hpp"
#include "mpi/reductions/kinds.hpp"
#include "pack/cuda/handshake.hpp"
#include "pack/cuda/plan_reduction.hpp"
#include "transport/gpu/reduction.hpp"
#include "transport/shm/patience.hpp"

namespace dunnage::mpi {
namespace {

using collective::ReductionKind;
using collective::ReductionPlan;
using collective::ReductionShape;
using pack::cuda::Handshake;
using transport::gpu::GpuReduction;
using transport::gpu::Meeting;
using transport::gpu::ReductionOffer;

/// Another rank is gone.
struct Forsaken {};

class Together {
 public:
  /// `slots`: for handshakes; null if there are none. `hosts`: null if all ranks are on one host.
  Together(GroupMeeting& group, HandshakeSlots* slots, Hosts* hosts, const ReductionArguments& arguments)
      : group_(group), meeting_(group.meeting()), slots_(slots), hosts_(hosts), arguments_(arguments) {}

  std::optional<int> run() try {
    meet();
    if (on_hosts() && !tell_hosts(!offers_.empty())) return std::nullopt;
    if (offers_.empty()) return std::nullopt;
    for (const auto& one : offers_) shape_.any_in_place |= one.in_place != 0;
    shape_.handshake = shakes_hands();
    plan_ = collective::plan_reduction(shape_);
    return reduce();
  } catch (const Forsaken&) {
    return MPI_ERR_OTHER;
  }

 private:
  bool on_hosts() const { return hosts_ != nullptr; }

  void meet() try {
    wait_until([&] { return meeting_.may_announce(); });
    std::optional<ReductionOffer> own;
    if (guarded([&] { own = offer(); }) != MPI_SUCCESS) own.reset();
    call_ = meeting_.announce(own);
    wait_until([&] { return meeting_.all_announced(); });
    offers_ = meeting_.take_offers();
  } catch (const Forsaken&) {
    if (on_hosts()) tell_hosts(false);
    throw;
  }
  /// Tells the other hosts whether all ranks of this one have made offers. Returns whether those of
  /// all hosts have.
  bool tell_hosts(bool offered) const {
    enum : int { no_offer, offered_but_shared, offered_alone };
    const int here = !offered ? no_offer : some_share_a_gpu() ? offered_but_shared : offered_alone;
    int least = no_offer;
    if (process->own.Allreduce(&here, &least, 1, MPI_INT, MPI_MIN, hosts_->across()) != MPI_SUCCESS) return false;
    if (least == offered_but_shared) hosts_->share_gpus();
    return least != no_offer;
  }
  /// Whether the kernels of two ranks wait for each other.
  bool some_share_a_gpu() const {
    for (std::size_t i = 0; i < offers_.size(); ++i)
      for (std::size_t k = 0; k < i; ++k)
        if (offers_[i].gpu != 0 && offers_[i].gpu == offers_[k].gpu) return true;
    return false;
  }

  /// Waits, and lets the MPI and the other ranks go on meanwhile.
  template <class F>
  void wait_until(F&& f) {
    constexpr int spins = 100;
    transport::shm::Patience patience(spins);
    for (int round = 1; !f(); ++round, patience.wait()) {
      if (process->world) process->world->answer();
      if (round % polls_between == 0) {
        let_mpi_progress();
        progress_receives();
      }
      if (patience.doubts() && group_.ranks() > 1 && group_.forsaken()) throw Forsaken();
    }
  }

  const pack::cuda::ElementFacts& facts() const { return facts_of(kernel_.element); }
  std::int64_t bytes_of(std::int64_t count) const { return count * facts().extent; }
  /// Elements that this rank gets. If there are none, its buffer for them means nothing.
  std::int64_t results() const {
    switch (arguments_.kind) {
      case ReductionKind::reduce_scatter: return arguments_.count;
      case ReductionKind::reduce: return shape_.rank == shape_.root ? arguments_.total : 0;
      case ReductionKind::exscan: return shape_.rank > 0 ? arguments_.total : 0;
      default: return arguments_.total;
    }
  }

  /// The place of a buffer that kernels reduce, and in which they write. Nothing if it is in other
  /// memory.
  std::optional<device::Place> place_of_buffer(const void* buffer, std::int64_t count) const {
    const auto place = device::known_place(*device::driver(), buffer);
    if (place.memory != device::Memory::device || place.id == 0) return std::nullopt;
    const auto end = place.address + static_cast<std::uintptr_t>(bytes_of(count));
    if (end > place.end || place.address % static_cast<std::uintptr_t>(facts().alignment) != 0) return std::nullopt;
    return place;
  }
  /// Whether all other ranks read the memory. They are asked all, because the first to be asked
  /// answers later.
  bool read_by_all(const device::Place& place) const {
    bool all = true;
    for (std::uint32_t rank = 0; rank < group_.ranks(); ++rank)
      if (rank != group_.rank()) all &= reads_memory_at(group_.world_rank(rank), place);
    return all;
  }

  /// As read_by_all(), but the first calls wait for the answers, which come while the other ranks
  /// are in this call too. A process waits half a second in all, because some ranks may never
  /// answer.
  bool becomes_read_by_all(const device::Place& place) const {
    using Clock = std::chrono::steady_clock;
    static std::atomic<std::int64_t> left{std::chrono::nanoseconds(std::chrono::milliseconds(500)).count()};
    if (read_by_all(place)) return true;
    const auto begin = Clock::now();
    const auto end = begin + std::chrono::nanoseconds(left.load(std::memory_order_relaxed));
    bool all = false;
    constexpr int spins = 100;
    transport::shm::Patience patience(spins);
    for (int round = 1; !all && others_read_memory() && Clock::now() < end; ++round, patience.wait()) {
      process->world->answer();
      if (round % polls_between == 0) let_mpi_progress();
      all = read_by_all(place);
    }
    left.fetch_sub((Clock::now() - begin).count(), std::memory_order_relaxed);
    return all;
  }

  /// What this rank offers. Nothing if the MPI has to do the call. Throws device::Error.
  std::optional<ReductionOffer> offer() {
    const auto* driver = device::driver();
    const auto kernel = driver ? kernel_of(arguments_.type, arguments_.op) : std::nullopt;
    if (!kernel) return std::nullopt;
    kernel_ = *kernel;
    shape_ = {arguments_.kind,      group_.rank(),    group_.ranks(),   static_cast<std::uint32_t>(arguments_.root),
              facts().extent,       arguments_.total, arguments_.begin, arguments_.count,
              arguments_.in_place()};
    shape_.on_hosts = on_hosts();
    const auto input = place_of_buffer(arguments_.input(), arguments_.total);
    if (!input) return std::nullopt;
    see_gpu(arguments_.input());
    context_ = context_of(*driver, *input);
    ReductionOffer offer{};
    if (!expose(*input, arguments_.total, offer.input, offer.input_at, input_room_)) return std::nullopt;
    input_ = input->address;
    if (results() > 0) {
      const auto result = place_of_buffer(arguments_.receive, results());
      if (!result || context_of(*driver, *result) != context_) return std::nullopt;
      if (arguments_.kind == ReductionKind::allreduce &&
          !expose(*result, results(), offer.result, offer.result_at, room_))
        return std::nullopt;
      result_ = result->address;
      const auto plan = collective::plan_reduction(shape_);
      if (on_hosts() && !make_host_copy(*result, plan.own.count)) return std::nullopt;
      if (plan.apart && !make_room(results(), room_)) return std::nullopt;
    }
    if (input_room_) fill_input_room();
    offer.count = arguments_.total;
    offer.kind = static_cast<std::uint32_t>(arguments_.kind);
    offer.root = static_cast<std::uint32_t>(arguments_.root);
    offer.element = static_cast<std::uint32_t>(kernel_.element);
    offer.operation = static_cast<std::uint32_t>(kernel_.operation);
    offer.in_place = arguments_.in_place();
    if (on_hosts() && !device::uses_mps(*driver, input->device))
      offer.gpu = device::identity_of(*driver, input->device);
    offer_handshake(*driver, input->device, offer);
    return offer;
  }
  /// Offers a handshake, if this rank can take part in one.
  void offer_handshake(const device::Driver& driver, int gpu, ReductionOffer& offer) {
    if (arguments_.kind != ReductionKind::allreduce || !arguments_.in_place() || group_.ranks() < 2 || !slots_ ||
        group_.ranks() > Handshake::most_ranks ||
        pack::cuda::reduction_blocks(kernel_.element, arguments_.total, true) > Handshake::most_blocks ||
        launches_wait() || !turn_.take())
      return;
    if (!slots_->ready(driver, context_)) return;
    if (!slots_->told) {
      const auto identity = device::identity_of(driver, gpu);
      if (identity == 0 || !read_by_all(slots_->place(driver))) return;
      meeting_.tell_slots({slots_->exported(), slots_->at(), identity, blocks_at_once(driver, gpu)});
      slots_->told = true;
    }
    offer.handshake = (input_ | result_) % pack::cuda::reduction_chunk == 0 ? transport::gpu::wide_handshake
                                                                            : transport::gpu::narrow_handshake;
  }
  /// Blocks of a reduction that surely run at once: a kernel's registers are enough for two of them
  /// on a multiprocessor.
  static std::uint64_t blocks_at_once(const device::Driver& driver, int gpu) {
    const auto processors = static_cast<std::uint64_t>(device::multiprocessors(driver, gpu));
    return std::min<std::uint64_t>(Handshake::most_blocks, 2 * processors);
  }
  /// For the elements of this rank's part.
  bool make_host_copy(const device::Place& place, std::int64_t count) {
    host_copy_ = memory::HostMemory(*device::driver(), place, static_cast<std::size_t>(bytes_of(count)),
                                    process->settings.staging_pool);
    return host_copy_.data() != nullptr || count == 0;
  }
  using Room = std::shared_ptr<const device::Arena::Block>;
  bool make_room(std::int64_t count, Room& room) {
    const device::Scope scope(*device::driver(), context_);
    room = take_block(*device::driver(), bytes_of(count));
    return room != nullptr;
  }
  /// Where others read a buffer: in its place, or in memory of the arena if its own cannot be
  /// exported. Returns false if others read neither.
  bool expose(const device::Place& place, std::int64_t count, device::Exported& allocation, std::int64_t& at,
              Room& room) {
    if (group_.ranks() == 1) return true;
    if (const auto exported = device::export_of(*device::driver(), place, process->rank)) {
      allocation = *exported;
      at = static_cast<std::int64_t>(place.address - place.begin);
      return becomes_read_by_all(place);
    }
    if (!others_read_memory() || !make_room(count, room)) return false;
    allocation = room->exported;
    at = 0;
    return becomes_read_by_all(device::known_place(*device::driver(), address_of(room)));
  }
  static void* address_of(const Room& room) { return reinterpret_cast<void*>(room->address); }
  void fill_input_room() {
    const device::Scope scope(*device::driver(), context_);
    GpuReduction work(*device::driver());
    const auto room = static_cast<std::uintptr_t>(input_room_->address);
    work.copy(kernel_.element, kernel_.operation, input_, room, arguments_.total);
    wait_for(work);
    input_ = room;
  }

  /// Whether this reduction has a handshake. All ranks find the same. Ranks that share a GPU have
  /// none: without MPS the kernel of one keeps that of the other from running.
  bool shakes_hands() {
    wide_ = bytes_of(arguments_.total) % pack::cuda::reduction_chunk == 0 &&
            facts().category != pack::cuda::Category::located;
    for (const auto& one : offers_) {
      if (one.handshake == transport::gpu::no_handshake) return false;
      wide_ = wide_ && one.handshake == transport::gpu::wide_handshake;
    }
    std::uint64_t most = Handshake::most_blocks;
    for (std::uint32_t rank = 0; rank < group_.ranks(); ++rank) {
      const auto& slots = meeting_.slots_of(rank);
      most = std::min(most, slots.blocks);
      for (std::uint32_t other = 0; other < rank; ++other)
        if (meeting_.slots_of(other).gpu == slots.gpu) return false;
    }
    return pack::cuda::reduction_blocks(kernel_.element, arguments_.total, wide_) <= most;
  }
  Handshake handshake(GpuReduction& work) {
    Handshake h;
    h.number = call_;
    h.ranks = shape_.ranks;
    h.wide = wide_;
    h.slots = reinterpret_cast<const char*>(slots_->address());
    for (std::uint32_t rank = 0; rank < shape_.ranks; ++rank) {
      const auto& theirs = meeting_.slots_of(rank);
      const auto slots = rank == shape_.rank ? slots_->address() : work.map(theirs.memory, theirs.at);
      h.put[rank] = slots + pack::cuda::slot_offset(0, shape_.rank);
    }
    return h;
  }

  int reduce() {
    const Accelerated counted(arguments_.hook, bytes_of(arguments_.total));
    process->count(arguments_.hook, on_hosts()         ? plan::GpuWay::direct_reduced_on_hosts
                                    : plan_.gathers    ? plan::GpuWay::direct_reduced_in_parts
                                    : shape_.handshake ? plan::GpuWay::direct_reduced_over
                                                       : plan::GpuWay::direct_reduced);
    bool lost = false;
    int code = guarded([&] { lost = !reduce_own(); });
    if (code == MPI_SUCCESS && lost) code = MPI_ERR_OTHER;
    if (on_hosts()) code = reduce_with_hosts(code);
    code == MPI_SUCCESS ? meeting_.reduced() : meeting_.fail();
    if (code == MPI_SUCCESS && plan_.gathers) {
      code = guarded([&] { lost = !gather(); });
      if (code == MPI_SUCCESS && lost) code = MPI_ERR_OTHER;
    }
    meeting_.finished();
    wait_until([&] { return meeting_.all_finished(); });
    if (code == MPI_SUCCESS && in_room()) code = guarded([&] { bring_result(); });
    return code;
  }
  /// Waits for the GPU. No other rank is needed, but some may need this one's answers.
  void wait_for(GpuReduction& work) {
    for (transport::shm::Patience patience; !work.done(); patience.wait())
      if (process->world) process->world->answer();
  }
  /// Whether this rank's part of the result is not written to its place at once.
  bool in_room() const { return room_ && (plan_.apart || plan_.gathers); }
  std::uintptr_t result_at(std::int64_t element) const {
    return (in_room() ? static_cast<std::uintptr_t>(room_->address) : result_) +
           static_cast<std::uintptr_t>(bytes_of(element));
  }
  bool reduce_own() {
    if (plan_.own.count == 0) return true;
    const base::Range range("reduce", bytes_of(plan_.own.count));
    const device::Scope scope(*device::driver(), context_);
    GpuReduction work(*device::driver());
    const auto first = static_cast<std::uintptr_t>(bytes_of(plan_.own.begin));
    std::vector<std::uintptr_t> sources;
    for (std::uint32_t rank = 0; rank < plan_.sources; ++rank) {
      const auto& theirs = offers_[rank];
      sources.push_back(first + (rank == shape_.rank ? input_ : work.map(theirs.input, theirs.input_at)));
    }
    if (shape_.handshake && !plan_.gathers) return reduce_with_handshake(work, sources);
    work.reduce(kernel_.element, kernel_.operation, sources, result_at(plan_.to), plan_.own.count);
    wait_for(work);
    return true;
  }
  /// Reduces this rank's part with those of the ranks of other hosts, which wait for it. `code`:
  /// what this rank's part has come to. Returns an error on all of them if one has an error.
  int reduce_with_hosts(int code) {
    if (plan_.own.count == 0) return code;
    if (code == MPI_SUCCESS) code = guarded([&] { copy_part(result_at(plan_.to), address_of_host_copy()); });
    if (code != MPI_SUCCESS) std::memset(host_copy_.data(), 0, host_copy_.size());  // any numbers would do
    const auto& own = process->own;
    const int failed = code != MPI_SUCCESS;
    int any_failed = 0;
    MPI_Request told = MPI_REQUEST_NULL;
    int rc = own.Iallreduce(&failed, &any_failed, 1, MPI_INT, MPI_MAX, hosts_->across(), &told);
    const int reduced = own.Allreduce(MPI_IN_PLACE, host_copy_.data(), static_cast<int>(plan_.own.count),
                                      arguments_.type, arguments_.op, hosts_->across());
    if (rc == MPI_SUCCESS) rc = own.Wait(&told, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) return code;
    if (reduced != MPI_SUCCESS || rc != MPI_SUCCESS) return reduced != MPI_SUCCESS ? reduced : rc;
    if (any_failed) return MPI_ERR_OTHER;
    return guarded([&] { copy_part(address_of_host_copy(), result_at(plan_.to)); });
  }
  std::uintptr_t address_of_host_copy() const { return reinterpret_cast<std::uintptr_t>(host_copy_.data()); }
  void copy_part(std::uintptr_t from, std::uintptr_t to) {
    const device::Scope scope(*device::driver(), context_);
    GpuReduction work(*device::driver());
    work.copy(kernel_.element, kernel_.operation, from, to, plan_.own.count);
    wait_for(work);
  }
  /// Returns false if another rank's kernel will not come.
  bool reduce_with_handshake(GpuReduction& work, std::span<const std::uintptr_t> sources) try {
    work.reduce(kernel_.element, kernel_.operation, sources, result_, plan_.own.count, handshake(work));
    bool all_come = true;
    for (transport::shm::Patience patience; !work.done(); patience.wait()) {
      if (process->world) process->world->answer();
      if (!all_come || !(meeting_.any_has_failed() || (patience.doubts() && group_.forsaken()))) continue;
      all_come = false;
      slots_->end_waits(*device::driver());
    }
    return all_come;
  } catch (...) {
    slots_->end_waits(*device::driver());  // the kernel may have begun, and `work` waits for it
    throw;
  }
  /// Returns false if another rank's part will not come.
  bool gather() {
    const base::Range range("read the parts of others", bytes_of(arguments_.total - plan_.own.count));
    const device::Scope scope(*device::driver(), context_);
    GpuReduction work(*device::driver());
    // Each rank begins with the one behind it, so that not all read from one.
    for (std::uint32_t i = 1; i < shape_.ranks; ++i) {
      const auto rank = (shape_.rank + i) % shape_.ranks;
      const auto part = collective::reduced_by(rank, shape_);
      wait_until([&] { return meeting_.has_reduced(rank); });
      if (meeting_.has_failed(rank)) return false;
      if (part.count == 0) continue;
      const auto from = work.map(offers_[rank].result, offers_[rank].result_at);
      const auto at = static_cast<std::uintptr_t>(bytes_of(part.begin));
      work.copy(kernel_.element, kernel_.operation, from + at, result_ + at, part.count);
    }
    wait_for(work);
    return true;
  }
  void bring_result() {
    const device::Scope scope(*device::driver(), context_);
    GpuReduction work(*device::driver());
    const auto to = result_ + static_cast<std::uintptr_t>(bytes_of(plan_.to));
    work.copy(kernel_.element, kernel_.operation, result_at(plan_.to), to, plan_.own.count);
    wait_for(work);
  }

  GroupMeeting& group_;
  Meeting& meeting_;
  HandshakeSlots* const slots_;
  Hosts* const hosts_;
  const ReductionArguments& arguments_;
  KernelOf kernel_{};
  ReductionShape shape_;
  ReductionPlan plan_;
  CUcontext context_ = nullptr;
  std::uintptr_t input_ = 0, result_ = 0;
  Room input_room_;               // a copy of the data, if others cannot read them in their place
  Room room_;                     // for the part of the result that others read, or that must not be in its place yet
  memory::HostMemory host_copy_;  // of this rank's part, for the ranks of other hosts
  HandshakeTurn turn_;
  std::uint64_t call_ = 0;  // the number of this call in the meeting
  bool wide_ = false;       // in a handshake all ranks read chunks
  std::vector<ReductionOffer> offers_;
};

}  // namespace

std::optional<int> reduce_together(ReductionGroup& group, const ReductionArguments& arguments) {
  return Together(group.meeting(), &group.slots(), nullptr, arguments).run();
}

std::optional<int> reduce_together(Hosts& hosts, const ReductionArguments& arguments) {
  const auto kernel = kernel_of(arguments.type, arguments.op);
  if (!kernel || arguments.total > std::numeric_limits<int>::max()) return std::nullopt;
  const auto& facts = facts_of(kernel->element);
  // The MPI may change the gaps of elements.
  if (facts.gaps() || arguments.total * facts.extent < hosts.least()) return std::nullopt;
  return Together(hosts.here(), nullptr, &hosts, arguments).run();
}

}  // namespace dunnage::mpi
