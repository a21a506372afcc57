// How ranks agree on an exchange. Each tells each of its peers, by messages on the private world,
// what it sends and receives and where its memory is. A receiver tries to map that. Then each tells
// whether it can; if both can, the messages between the two go directly.
#include <sys/random.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "device/ipc.hpp"
#include "mpi/message/gpu_shared.hpp"
#include "mpi/message/persistent.hpp"
#include "mpi/process/private_world.hpp"
#include "mpi/triggered/exchange.hpp"
#include "pack/gpu/pack.hpp"
#include "pack/gpu/signal.hpp"
#include "transport/gpu/remote.hpp"

namespace dunnage::mpi {
namespace {

using pack::gpu::Described;
using pack::gpu::MoveRange;
using transport::gpu::GpuSource;
constexpr std::uint64_t stride = pack::cuda::slot_stride;

// What travels. Plain bytes.
struct Opening {
  std::uint64_t version = 1;
  std::uint64_t usable = 0;           // whether this rank can have direct messages at all
  std::uint64_t device = 0, mps = 0;  // which device it uses, and whether by MPS
  std::uint64_t sends = 0, receives = 0;
  std::uint64_t nonce = 0;  // the first word of the block
  device::Exported block{};
  // The receiver of this writes there, from the beginning of the block. `arrived` is the first of
  // the flags of all partitions that the receiver of this sends.
  std::uint64_t ready = 0, done = 0, open = 0, arrived = 0;
  std::uint64_t board = 0, board_serial = 0;
};
struct SendTold {
  Lineage comm{};
  std::int64_t tag = 0, possible = 0, partitions = -1, size = 0;
  GpuSource source{};  // if not partitioned
};
struct ReceiveTold {
  Lineage comm{};
  std::int64_t tag = 0, possible = 0, partitions = -1, capacity = 0;
  GpuSource target{};  // if partitioned
};
struct Answer {
  std::uint64_t direct = 0, has_board = 0;
};

/// One message of this rank.
struct Message {
  PersistentMessage what;
  std::size_t request = 0;
};

/// One partitioned message, as one of its ranks knows it.
struct Partitions {
  const Message* message = nullptr;
  std::int64_t flag = 0;        // the place of its first flag among those of all partitions between the two ranks
  std::int64_t partitions = 0;  // of the other rank
  std::int64_t size = 0;        // bytes of all that is sent
  Nest to{};                    // if this rank sends
};

/// Partitions between two ranks, in one direction.
std::uint64_t partitions_of(const std::vector<Message>& sends) {
  std::uint64_t all = 0;
  for (const auto& send : sends)
    if (send.what.partitions > 0) all += static_cast<std::uint64_t>(send.what.partitions);
  return all;
}

/// This rank's view of a peer.
struct MatchSide {
  std::vector<Message> sends, receives;
  std::vector<char> out, in;
  Opening opening_out;
  std::vector<SendTold> sends_out;
  std::vector<ReceiveTold> receives_out;
  std::uint64_t out_size = 0, in_size = 0;
  std::uint64_t outgoing = 0, incoming = 0;  // partitions
  std::vector<Partitions> partitions_out, partitions_in;
  std::size_t arrived = 0, sent = 0, open = 0;  // places of slots
  Opening opening;                              // of the peer
  std::vector<SendTold> told_sends;
  std::vector<ReceiveTold> told_receives;
  TriggerPeer peer;
  std::vector<std::pair<Described, const Message*>> sources;  // of receives, in the peer's memory
  std::vector<std::int64_t> sizes;
  std::vector<std::shared_ptr<const device::Import>> mappings;
  std::string objection;
  Answer answer, answered;
};

template <class T>
void append(std::vector<char>& to, const T& value) {
  const auto* bytes = reinterpret_cast<const char*>(&value);
  to.insert(to.end(), bytes, bytes + sizeof value);
}
template <class T>
bool take(const std::vector<char>& from, std::size_t& at, T& value) {
  if (from.size() - at < sizeof value) return false;
  std::memcpy(static_cast<void*>(&value), from.data() + at, sizeof value);
  at += sizeof value;
  return true;
}

/// Sends some bytes to each peer and receives some from each.
int exchange_bytes(std::map<int, MatchSide>& sides, const std::function<std::span<char>(MatchSide&)>& out,
                   const std::function<std::span<char>(MatchSide&)>& in) {
  const auto& own = process->own;
  std::vector<MPI_Request> requests;
  requests.reserve(2 * sides.size());
  int code = MPI_SUCCESS;
  const auto note = [&](int rc) {
    if (code == MPI_SUCCESS) code = rc;
  };
  for (auto& [rank, side] : sides) {
    const auto to = in(side);
    note(own.Irecv(to.data(), static_cast<int>(to.size()), MPI_BYTE, rank, match_tag(), private_world(),
                   &requests.emplace_back(MPI_REQUEST_NULL)));
  }
  for (auto& [rank, side] : sides) {
    const auto from = out(side);
    note(own.Isend(from.data(), static_cast<int>(from.size()), MPI_BYTE, rank, match_tag(), private_world(),
                   &requests.emplace_back(MPI_REQUEST_NULL)));
  }
  note(own.Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
  return code;
}
template <class T>
std::span<char> bytes_of(T& value) {
  return {reinterpret_cast<char*>(&value), sizeof value};
}

class Match {
 public:
  Match(int count, MPI_Request* requests) : count_(static_cast<std::size_t>(count)), requests_(requests) {}

  int run(std::unique_ptr<Exchange>& result) {
    made_ = std::make_unique<Exchange>();
    const int sorted = sort();
    if (sorted != MPI_SUCCESS) return sorted;
    if (private_world() != MPI_COMM_NULL) {
      if (process->world) process->world->answer();
      if (const int code = count_partitions(); code != MPI_SUCCESS) return code;
      // What fails here makes messages go by the MPI. The peers must be told in any case.
      if (guarded([&] { prepare(); }) != MPI_SUCCESS) object("memory for the exchange could not be had");
      if (const int code = agree(); code != MPI_SUCCESS) return code;
      settle();
      if (failed_ != MPI_SUCCESS) return failed_;
    } else {
      object(
          "it is not known whether all ranks have Dunnage: start the job by `dunnage run`, or set "
          "DUNNAGE_PARTITIONED=on for all ranks");
      leave_all_to_mpi();
    }
    made_->reason = reason_;
    made_->requests.assign(requests_, requests_ + count_);
    for (std::size_t i = 0; i < count_; ++i)
      if (by_mpi_.contains(i)) made_->mpi_requests.push_back(requests_[i]);
    for (std::size_t i = 0; i < count_; ++i) requests_[i] = MPI_REQUEST_NULL;
    result = std::move(made_);
    return MPI_SUCCESS;
  }

 private:
  void object(const std::string& why) {
    if (objection_.empty()) objection_ = why;
    if (reason_.empty()) reason_ = why;
  }

  /// Sorts the requests by their peers.
  int sort() {
    for (std::size_t i = 0; i < count_; ++i) {
      if (requests_[i] == MPI_REQUEST_NULL) return MPI_ERR_REQUEST;
      auto message = private_world() == MPI_COMM_NULL ? std::nullopt : persistent_message(requests_[i]);
      if (!message) {
        by_mpi_.insert(i);
        if (private_world() != MPI_COMM_NULL && reason_.empty())
          reason_ = "a request is no persistent send or receive of a point-to-point message";
        continue;
      }
      if (message->peer == MPI_ANY_SOURCE) return MPI_ERR_RANK;
      if (message->peer == MPI_PROC_NULL) {
        if (message->sends && message->partitions >= 0) made_->to_nobody.insert(i);
        continue;
      }
      if (!message->sends && message->tag == MPI_ANY_TAG) return MPI_ERR_TAG;
      if (message->world_peer < 0) {
        by_mpi_.insert(i);
        reason_ = "a message goes to another world";
        continue;
      }
      auto& list = message->world_peer == process->rank ? own_ : sides_[message->world_peer];
      (message->sends ? list.sends : list.receives).push_back({std::move(*message), i});
    }
    return MPI_SUCCESS;
  }

  /// Each rank needs a flag for each partition that it gets.
  int count_partitions() {
    for (auto* side : all_lists()) side->outgoing = partitions_of(side->sends);
    own_.incoming = own_.outgoing;
    return exchange_bytes(
        sides_, [](MatchSide& side) { return bytes_of(side.outgoing); }, [](MatchSide& side) { return bytes_of(side.incoming); });
  }

  /// Whether kernels may poll, or else memory operations may be used, and in which context.
  void prepare() {
    const auto* driver = device::driver();
    const auto* blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
    if (process->settings.trigger == base::Trigger::mpi) return object("DUNNAGE_TRIGGER=mpi");
    if (!driver || (!sides_.empty() && !others_read_memory())) return object("no device memory that other ranks read");
    if (blocking && *blocking && std::strcmp(blocking, "0") != 0)
      return object("CUDA_LAUNCH_BLOCKING is set: a kernel that waits would hold the host up");
    for (auto* list : all_lists()) {
      for (const auto* messages : {&list->sends, &list->receives})
        for (const auto& message : *messages) note_context(*driver, message.what);
    }
    if (!objection_.empty()) return;
    if (!context_) {
      CUcontext current = nullptr;
      if (driver->cuCtxGetCurrent(&current) != CUDA_SUCCESS || !current) return object("there is no CUDA context");
      context_ = current;
    }
    const device::Scope scope(*driver, context_);
    auto& gpu = device::Gpu::current(*driver);
    make_block(*driver, gpu);
    if (!block_) return object("no device memory that other processes could read");
    choose(*driver, gpu);
    for (auto& [rank, side] : sides_) tell_about(*driver, gpu, rank, side);
    prepared_ = objection_.empty();
  }

  std::vector<MatchSide*> all_lists() {
    std::vector<MatchSide*> all{&own_};
    for (auto& [rank, side] : sides_) all.push_back(&side);
    return all;
  }

  void note_context(const device::Driver& driver, const PersistentMessage& message) {
    const auto* data = message.buffer.device();
    if (!data) return;
    const auto context = context_of(driver, data->place);
    if (context_ && context != context_) object("the buffers are in several CUDA contexts");
    context_ = context;
  }

  /// The block: a word by which others see that they have mapped the right memory, the epoch, the
  /// slots, and tables of the slots of others. The slots: `ready` of each peer, `done` of each
  /// peer, a flag of each partition that comes, a flag of each partition that was sent, `open` of
  /// each peer and of this rank.
  void make_block(const device::Driver& driver, device::Gpu& gpu) {
    const auto peers = sides_.size();
    auto place = 2 * peers;
    for (auto* side : all_lists()) side->arrived = std::exchange(place, place + side->incoming);
    for (auto* side : all_lists()) side->sent = std::exchange(place, place + side->outgoing);
    waited_slots_ = place;
    for (auto* side : all_lists()) side->open = place++;
    slots_ = place;
    const auto size = slot_offset(slots_) + (3 * peers + 1) * sizeof(std::uint64_t);
    block_ = take_block(driver, static_cast<std::int64_t>(size));
    if (!block_) return;
    std::vector<char> start(size);
    if (getrandom(&nonce_, sizeof nonce_, 0) != sizeof nonce_) nonce_ = block_->exported.id;
    std::memcpy(start.data(), &nonce_, sizeof nonce_);
    upload(driver, gpu, block_->address, start.data(), size);
  }
  static void upload(const device::Driver& driver, device::Gpu& gpu, CUdeviceptr to, const void* from,
                     std::size_t size) {
    device::Borrowed lane(gpu);
    lane.busy();
    device::check(driver, driver.cuMemcpyAsync(to, reinterpret_cast<CUdeviceptr>(from), size, lane->stream),
                  "cuMemcpyAsync");
    lane.synchronize();
  }

  /// Tries a memory operation, because no attribute tells reliably whether they are there.
  bool memory_operations_work(const device::Driver& driver, device::Gpu& gpu) const {
    if (!driver.cuStreamBatchMemOp) return false;
    CUstreamBatchMemOpParams write{};
    write.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    write.writeValue.address = block_->address;
    write.writeValue.value64 = nonce_;
    device::Borrowed lane(gpu);
    lane.busy();
    if (driver.cuStreamBatchMemOp(lane->stream, 1, &write, 0) != CUDA_SUCCESS) return false;
    lane.synchronize();
    return true;
  }

  void choose(const device::Driver& driver, device::Gpu& gpu) {
    CUdevice device = 0;
    device::check(driver, driver.cuCtxGetDevice(&device), "cuCtxGetDevice");
    identity_ = device::identity_of(driver, device);
    int mps = 0;
    mps_ = driver.cuDeviceGetAttribute &&
           driver.cuDeviceGetAttribute(&mps, CU_DEVICE_ATTRIBUTE_MPS_ENABLED, device) == CUDA_SUCCESS && mps == 1;
    operations_ = memory_operations_work(driver, gpu);
    pack::gpu::prepare_signals(gpu);
    pack::gpu::prepare_partitions(gpu);
  }

  static std::uint64_t slot_offset(std::size_t place) { return (2 + place) * stride; }
  std::uintptr_t slot(std::size_t place) const {
    return static_cast<std::uintptr_t>(block_->address) + slot_offset(place);
  }

  /// Where the data of a send are, which are packed first if others cannot read them in place.
  std::optional<GpuSource> source_of(const device::Driver& driver, const PersistentMessage& message) {
    const auto& data = *message.buffer.device();
    if (const auto exported = device::export_of(driver, data.place, process->rank); exported && in_one_piece(data))
      if (const auto there = transport::gpu::describe(data, *exported)) return there;
    const auto size = message.buffer.size();
    auto copy = take_block(driver, size);
    if (!copy) return std::nullopt;
    const auto place = device::known_place(driver, reinterpret_cast<const void*>(copy->address));
    copies_.push_back(
        {data, transport::gpu::contiguous_at(static_cast<std::uintptr_t>(copy->address), size, place), size});
    auto there = transport::gpu::describe(copy->exported, size);
    made_->room.push_back(std::move(copy));
    return there;
  }

  void tell_about(const device::Driver& driver, device::Gpu&, int rank, MatchSide& side) {
    const auto place = static_cast<std::size_t>(std::distance(sides_.begin(), sides_.find(rank)));
    side.peer.world_rank = rank;
    if (!process->world->peers.near(static_cast<std::uint32_t>(rank)))
      side.objection = "is not on this host, or has no Dunnage";
    if (side.objection.empty())
      if (const auto board = process->world->publications.publish(sizeof(Board), 1, nullptr,
                                                                  transport::shm::Publications::Stay::standing)) {
        new (board->data) Board;
        side.peer.own_board = *board;
      }
    side.opening_out.usable = side.peer.own_board.data != nullptr;
    side.opening_out.device = identity_;
    side.opening_out.mps = mps_;
    side.opening_out.nonce = nonce_;
    side.opening_out.block = block_->exported;
    side.opening_out.ready = slot_offset(place);
    side.opening_out.done = slot_offset(sides_.size() + place);
    side.opening_out.arrived = slot_offset(side.arrived);
    side.opening_out.open = slot_offset(side.open);
    side.opening_out.board = side.peer.own_board.begin;
    side.opening_out.board_serial = side.peer.own_board.serial;
    for (const auto& send : side.sends) {
      SendTold told{send.what.comm, send.what.tag, send.what.on_device, send.what.partitions, size_of(send.what), {}};
      if (told.partitions >= 0) {
        told.possible = told.possible && (send.what.nothing || nest_of(*send.what.buffer.device()));
      } else if (told.possible && !send.what.nothing) {
        const auto source = source_of(driver, send.what);
        told.possible = source.has_value();
        if (source) told.source = *source;
      }
      side.sends_out.push_back(told);
    }
    for (const auto& receive : side.receives) side.receives_out.push_back(told_of(driver, receive.what));
  }

  static std::int64_t size_of(const PersistentMessage& message) { return message.buffer ? message.buffer.size() : 0; }

  /// The sender writes partitions into the receiver's buffer.
  static ReceiveTold told_of(const device::Driver& driver, const PersistentMessage& receive) {
    ReceiveTold told{receive.comm, receive.tag, receive.on_device, receive.partitions, size_of(receive), {}};
    if (told.partitions < 0 || !told.possible || receive.nothing) return told;
    const auto& data = *receive.buffer.device();
    const auto exported = device::export_of(driver, data.place, process->rank);
    const auto target = exported && in_one_piece(data) ? transport::gpu::describe(data, *exported) : std::nullopt;
    told.possible = target.has_value();
    if (target) told.target = *target;
    return told;
  }

  int agree() {
    for (auto& [rank, side] : sides_) {
      if (!prepared_) side.opening_out.usable = 0;
      side.sends_out.resize(side.sends.size());
      side.receives_out.resize(side.receives.size());
      side.opening_out.sends = side.sends.size();
      side.opening_out.receives = side.receives.size();
      append(side.out, side.opening_out);
      for (const auto& told : side.sends_out) append(side.out, told);
      for (const auto& told : side.receives_out) append(side.out, told);
      side.out_size = side.out.size();
    }
    int code = exchange_bytes(
        sides_, [](MatchSide& side) { return bytes_of(side.out_size); },
        [](MatchSide& side) { return bytes_of(side.in_size); });
    if (code != MPI_SUCCESS) return code;
    for (auto& [rank, side] : sides_) side.in.resize(side.in_size);
    code = exchange_bytes(
        sides_, [](MatchSide& side) { return std::span<char>(side.out); },
        [](MatchSide& side) { return std::span<char>(side.in); });
    if (code != MPI_SUCCESS) return code;
    for (auto& [rank, side] : sides_) {
      if (guarded([&] { judge(rank, side); }) != MPI_SUCCESS) side.objection = "its memory could not be mapped";
      side.answer.direct = side.objection.empty();
      side.answer.has_board = side.peer.board != nullptr;
    }
    return exchange_bytes(
        sides_, [](MatchSide& side) { return bytes_of(side.answer); },
        [](MatchSide& side) { return bytes_of(side.answered); });
  }

  bool parse(MatchSide& side) const {
    std::size_t at = 0;
    if (!mpi::take(side.in, at, side.opening) || side.opening.version != Opening().version) return false;
    side.told_sends.resize(std::min<std::size_t>(side.opening.sends, side.in.size() / sizeof(SendTold)));
    side.told_receives.resize(std::min<std::size_t>(side.opening.receives, side.in.size() / sizeof(ReceiveTold)));
    for (auto& told : side.told_sends)
      if (!mpi::take(side.in, at, told)) return false;
    for (auto& told : side.told_receives)
      if (!mpi::take(side.in, at, told)) return false;
    return at == side.in.size() && side.told_sends.size() == side.opening.sends &&
           side.told_receives.size() == side.opening.receives;
  }

  /// Finds out whether this rank can have the messages with a peer directly. If not, says why.
  void judge(int rank, MatchSide& side) {
    if (!side.objection.empty()) return;
    const bool understood = parse(side);
    if (understood && side.opening.usable)
      if (auto found = process->world->published(static_cast<std::uint32_t>(rank), side.opening.board,
                                                 side.opening.board_serial, sizeof(Board)))
        side.peer.board = std::make_unique<transport::shm::Reading>(std::move(*found));
    if (!understood) return void(side.objection = "has another version of Dunnage");
    if (!prepared_) return void(side.objection = objection_);
    if (!side.opening.usable) return void(side.objection = "cannot take part, and knows why");
    if (!side.peer.board) return void(side.objection = "has shared memory that this rank cannot read");
    if (side.told_sends.size() != side.receives.size() || side.told_receives.size() != side.sends.size())
      return void(side.objection = "has not the sends and receives that belong to those of this rank");
    const bool shared = side.opening.device == identity_ && !(mps_ && side.opening.mps);
    if (shared && !operations_)
      return void(side.objection = "uses this rank's GPU without MPS, and there are no memory operations");
    const auto& driver = *device::driver();
    const device::Scope scope(driver, context_);
    auto& gpu = device::Gpu::current(driver);
    side.peer.block = gpu.imports().open(driver, side.opening.block);
    std::uint64_t nonce = ~side.opening.nonce;
    const transport::gpu::Remote there(driver, transport::gpu::describe(side.opening.block, sizeof nonce));
    there.pack(&nonce, device::Place(), process->settings.device_piece, 0, sizeof nonce);
    if (nonce != side.opening.nonce) return void(side.objection = "has memory that this rank's GPU cannot read");
    match_sends(driver, side);
    if (side.objection.empty()) match_receives(driver, side);
    shares_ |= shared && side.objection.empty();
  }

  template <class Told>
  static bool belong(const PersistentMessage& own, const Told& told) {
    return own.comm == told.comm && own.comm != Lineage{} && own.tag == told.tag &&
           (own.partitions >= 0) == (told.partitions >= 0);
  }
  static constexpr const char* not_possible =
      "a message that is not in device memory on both sides, or whose "
      "partitions are no nests of loops over blocks";
  /// The peer's receives, which are matched in the order of their requests.
  static void match_sends(const device::Driver& driver, MatchSide& side) {
    std::vector<bool> taken(side.told_receives.size());
    std::int64_t flag = 0;
    for (std::size_t s = 0; s < side.sends.size(); ++s) {
      const auto& send = side.sends[s];
      const auto size = size_of(send.what);
      std::size_t i = 0;
      while (i < taken.size() && (taken[i] || !belong(send.what, side.told_receives[i]))) ++i;
      if (i == taken.size()) return void(side.objection = "receives none of the messages with a tag");
      taken[i] = true;
      const auto& told = side.told_receives[i];
      if (!side.sends_out[s].possible || !told.possible)
        return void(side.objection = fmt::format("gets {}", not_possible));
      if (told.capacity < size) return void(side.objection = "has too small a buffer");
      if (send.what.partitions < 0) continue;
      Nest to{told.target, 0};
      if (size > 0) {
        const transport::gpu::Remote remote(driver, told.target);
        to.first = remote.described().place.address;
        side.mappings.push_back(remote.mapping());
      }
      side.partitions_out.push_back({&send, flag, told.partitions, size, to});
      flag += send.what.partitions;
    }
  }
  static void match_receives(const device::Driver& driver, MatchSide& side) {
    std::vector<bool> taken(side.told_sends.size());
    std::vector<std::int64_t> flags;
    std::int64_t flag = 0;
    for (const auto& told : side.told_sends)
      flags.push_back(std::exchange(flag, flag + std::max<std::int64_t>(told.partitions, 0)));
    if (flag != static_cast<std::int64_t>(side.incoming)) return void(side.objection = "has other partitions");
    for (const auto& receive : side.receives) {
      std::size_t i = 0;
      while (i < taken.size() && (taken[i] || !belong(receive.what, side.told_sends[i]))) ++i;
      if (i == taken.size()) return void(side.objection = "sends none of the messages with a tag");
      taken[i] = true;
      const auto& told = side.told_sends[i];
      if (!receive.what.on_device || !told.possible)
        return void(side.objection = fmt::format("sends {}", not_possible));
      if (size_of(receive.what) < told.size) return void(side.objection = "sends more than there is room for");
      if (told.partitions >= 0) {
        side.partitions_in.push_back({&receive, flags[i], told.partitions, told.size, {}});
        continue;
      }
      if (told.source.size == 0) continue;
      const transport::gpu::Remote remote(driver, told.source);
      side.sources.emplace_back(remote.described(), &receive);
      side.sizes.push_back(told.source.size);
      side.mappings.push_back(remote.mapping());
    }
  }

  void leave_all_to_mpi() {
    for (std::size_t i = 0; i < count_; ++i) by_mpi_.insert(i);
  }
  void leave_to_mpi(const MatchSide& side) {
    for (const auto* messages : {&side.sends, &side.receives})
      for (const auto& message : *messages) by_mpi_.insert(message.request);
  }

  /// After all have answered: makes the exchange.
  void settle() {
    for (auto& [rank, side] : sides_) {
      auto& board = side.peer.own_board;
      if (!(side.answer.direct && side.answered.direct)) {
        if (side.objection.empty()) side.objection = "cannot take part, and knows why";
        if (reason_.empty()) reason_ = fmt::format("rank {} of MPI_COMM_WORLD: {}", rank, side.objection);
        leave_to_mpi(side);
        side.peer.board.reset();
        if (board.data) {
          auto& publications = process->world->publications;
          side.answered.has_board ? publications.end(board) : publications.withdraw(board);
        }
        continue;
      }
      peers_.push_back(&side);
    }
    if (!prepared_ || !settle_own()) leave_to_mpi(own_);
    if (!prepared_ || (peers_.empty() && own_moves_.empty() && own_.partitions_out.empty())) return;
    // The peers count on this rank from here on, so a failure ends the exchange for them as well.
    const int code = guarded([&] { make(); });
    if (code == MPI_SUCCESS) return;
    for (auto* side : peers_)
      reinterpret_cast<Board*>(side->peer.own_board.data)->poisoned.store(1, std::memory_order_release);
    failed_ = code;
  }

  std::int64_t own_flag(std::size_t send) const {
    std::int64_t flag = 0;
    for (std::size_t i = 0; i < send; ++i) flag += std::max<std::int64_t>(own_.sends[i].what.partitions, 0);
    return flag;
  }

  /// Messages of this rank to itself. Returns false if they are for the MPI.
  bool settle_own() {
    if (own_.sends.empty() && own_.receives.empty()) return true;
    const auto no = [&](const char* why) {
      own_moves_.clear();
      own_.partitions_out.clear();
      own_.partitions_in.clear();
      if (reason_.empty()) reason_ = fmt::format("a message of the rank to itself {}", why);
      return false;
    };
    if (own_.sends.size() != own_.receives.size()) return no("is not received in this exchange");
    std::vector<bool> taken(own_.sends.size());
    for (const auto& receive : own_.receives) {
      std::size_t i = 0;
      while (i < taken.size() && (taken[i] || !belong(receive.what, own_.sends[i].what))) ++i;
      if (i == taken.size()) return no("is not sent in this exchange");
      taken[i] = true;
      const auto& send = own_.sends[i].what;
      if (!send.on_device || !receive.what.on_device) return no("is not in device memory");
      if (size_of(receive.what) < size_of(send)) return no("has too small a buffer");
      if (send.partitions >= 0) {
        const auto to = send.nothing ? Nest{} : nest_of(*receive.what.buffer.device());
        if (!to || (!send.nothing && !nest_of(*send.buffer.device())))
          return no("has partitions that are no nests of loops over blocks");
        const auto flag = own_flag(i);
        own_.partitions_out.push_back({&own_.sends[i], flag, receive.what.partitions, size_of(send), *to});
        own_.partitions_in.push_back({&receive, flag, send.partitions, size_of(send), {}});
        continue;
      }
      if (send.nothing) continue;
      own_moves_.push_back({*send.buffer.device(), *receive.what.buffer.device(), send.buffer.size()});
    }
    return true;
  }

  /// A kernel waits where it is allowed to poll.
  void choose_how() {
    auto& e = *made_;
    const auto wanted = process->settings.trigger;
    e.how = TriggerWay::kernels;
    std::string why = "kernels wait: they take the least time, and can be captured";
    if (shares_) {
      e.how = TriggerWay::memory_operations;
      why = "ranks share a GPU without MPS, so a kernel that polls would keep the other rank from running";
    } else if (wanted == base::Trigger::memory_operations && operations_) {
      e.how = TriggerWay::memory_operations;
      why = "DUNNAGE_TRIGGER=memory-operations";
    } else if (wanted == base::Trigger::memory_operations) {
      why = "the device has no memory operations";
    }
    if (reason_.empty()) reason_ = why;
  }

  void make() {
    auto& e = *made_;
    const auto& driver = *device::driver();
    const device::Scope scope(driver, context_);
    auto& gpu = device::Gpu::current(driver);
    choose_how();
    std::vector<MoveRange> copies, moves;
    for (const auto& copy : copies_) copies.push_back({copy.from, copy.to, copy.size});
    for (const auto& move : own_moves_) moves.push_back({move.from, move.to, move.size});
    for (auto* side : peers_) {
      for (std::size_t i = 0; i < side->sources.size(); ++i)
        moves.push_back({side->sources[i].first, *side->sources[i].second->what.buffer.device(), side->sizes[i]});
      e.imports.insert(e.imports.end(), side->mappings.begin(), side->mappings.end());
    }
    const auto room = [&](std::int64_t size) -> CUdeviceptr {
      if (size == 0) return 0;
      auto taken = take_block(driver, size);
      if (!taken) throw device::Error(CUDA_ERROR_OUT_OF_MEMORY, "no device memory for messages between two layouts");
      e.room.push_back(taken);
      return taken->address;
    };
    e.packs = pack::gpu::Prepared(gpu, copies, room(pack::gpu::Prepared::scratch_size(copies)));
    e.moves = pack::gpu::Prepared(gpu, moves, room(pack::gpu::Prepared::scratch_size(moves)));
    e.lane = std::make_unique<device::Borrowed>(gpu);
    e.block = block_;
    e.context = context_;
    make_signals(driver, gpu);
    e.gpu = &gpu;
    for (auto* side : peers_) e.peers.push_back(std::move(side->peer));
    if (!e.peers.empty()) watch(e);
  }

  /// Slots for which nobody waits get a great epoch at once.
  void make_signals(const device::Driver& driver, device::Gpu& gpu) {
    auto& e = *made_;
    const auto base = static_cast<std::uintptr_t>(block_->address);
    const auto all = sides_.size();
    e.first_slot = slot(0);
    e.slots = slots_;
    const auto retire = [&](std::size_t first, std::uint64_t count) { retire_slots(driver, gpu, slot(first), count); };
    std::vector<std::uintptr_t> opens;
    std::size_t place = 0;
    for (auto& [rank, side] : sides_) {
      const bool direct = std::find(peers_.begin(), peers_.end(), &side) != peers_.end();
      const bool to = direct && side.partitions_out.size() < side.sends.size();
      const bool from = direct && side.partitions_in.size() < side.receives.size();
      const auto there = [&](std::uint64_t offset) {
        return static_cast<std::uintptr_t>(side.peer.block->begin()) + offset;
      };
      if (to) e.ready_targets.push_back(there(side.opening.ready));
      if (from) e.done_targets.push_back(there(side.opening.done));
      if (direct && !side.partitions_in.empty()) opens.push_back(there(side.opening.open));
      if (direct) add_partitions(side, there(side.opening.arrived));
      // A peer may have written the others already.
      if (!from) retire(place, 1);
      if (!to) retire(all + place, 1);
      if (!direct) retire(side.arrived, side.incoming), retire(side.sent, side.outgoing);
      e.messages = e.messages || to || from;
      ++place;
    }
    e.messages = e.messages || !own_moves_.empty();
    if (own_.partitions_out.empty())
      retire(own_.arrived, own_.incoming), retire(own_.sent, own_.outgoing);
    else
      opens.push_back(slot(own_.open)), add_partitions(own_, slot(own_.arrived));
    const auto ready = e.ready_targets.size();
    e.ready_targets.insert(e.ready_targets.end(), opens.begin(), opens.end());
    std::vector<std::uint64_t> table(e.ready_targets.begin(), e.ready_targets.end());
    table.insert(table.end(), e.done_targets.begin(), e.done_targets.end());
    const auto tables = slot(slots_);
    if (!table.empty())
      upload(driver, gpu, static_cast<CUdeviceptr>(tables), table.data(), table.size() * sizeof table[0]);
    auto* const epoch = reinterpret_cast<std::uint64_t*>(base + stride);
    const auto tell = [&](const std::vector<std::uintptr_t>& targets, std::size_t first, std::uint32_t advance) {
      pack::cuda::Signal signal;
      signal.epoch = epoch;
      signal.puts = static_cast<std::uint32_t>(targets.size());
      signal.puts_at = reinterpret_cast<const std::uint64_t*>(tables) + first;
      std::copy_n(targets.begin(), std::min<std::size_t>(targets.size(), pack::cuda::Signal::near), signal.put);
      signal.advance = advance;
      return signal;
    };
    const auto wait = [&](std::size_t first, std::size_t count) {
      pack::cuda::Signal signal;
      signal.epoch = epoch;
      signal.wait = reinterpret_cast<const char*>(slot(first));
      signal.waits = static_cast<std::uint32_t>(count);
      return signal;
    };
    e.tell_ready = tell(e.ready_targets, 0, 1);
    e.tell_done = tell(e.done_targets, e.ready_targets.size(), 0);
    e.wait_ready = wait(0, e.done_targets.empty() ? 0 : all);
    e.wait_done = wait(all, ready > 0 || waited_slots_ > 2 * all ? waited_slots_ - all : 0);
    if (!e.table.requests.empty()) make_table(driver, gpu, std::move(opens));
  }
  static void retire_slots(const device::Driver& driver, device::Gpu& gpu, std::uintptr_t first, std::uint64_t count) {
    if (count == 0) return;
    std::vector<char> slots(count * stride);
    for (std::uint64_t i = 0; i < count; ++i)
      std::memcpy(slots.data() + i * stride, &unused_epoch, sizeof unused_epoch);
    upload(driver, gpu, static_cast<CUdeviceptr>(first), slots.data(), slots.size());
  }

  /// `flags`: the first of this rank's flags in the peer's memory.
  void add_partitions(const MatchSide& side, std::uintptr_t flags) {
    auto& requests = made_->table.requests;
    if (side.partitions_out.empty() && side.partitions_in.empty()) return;
    requests.resize(count_);
    const auto at = [](std::uintptr_t address) { return reinterpret_cast<char*>(address); };
    for (const auto& out : side.partitions_out) {
      const auto& what = out.message->what;
      const auto from = what.nothing ? Nest{} : *nest_of(*what.buffer.device());
      const auto first = static_cast<std::uint64_t>(out.flag) * stride;
      auto& request = requests[out.message->request];
      request = send_between(from, out.to, what.partitions, what.partitions ? out.size / what.partitions : 0);
      request.others = static_cast<unsigned>(out.partitions);
      request.open = at(slot(side.open));
      request.arrived = at(flags + first);
      request.sent = at(slot(side.sent) + first);
    }
    for (const auto& in : side.partitions_in) {
      const auto& what = in.message->what;
      auto& request = requests[in.message->request];
      request.kind = dng_receive;
      request.partitions = static_cast<unsigned>(what.partitions);
      request.others = static_cast<unsigned>(in.partitions);
      request.size = static_cast<dng_word>(what.partitions ? size_of(what) / what.partitions : 0);
      request.other_size = static_cast<dng_word>(in.partitions ? in.size / in.partitions : 0);
      request.arrived = at(slot(side.arrived) + static_cast<std::uint64_t>(in.flag) * stride);
    }
  }

  /// After the signals.
  void make_table(const device::Driver& driver, device::Gpu& gpu, std::vector<std::uintptr_t> opens) {
    auto& e = *made_;
    e.table.opens = std::move(opens);
    e.table.header.epoch = reinterpret_cast<dng_word*>(e.wait_done.epoch);
    e.table.header.wait = reinterpret_cast<char*>(slot(sides_.size()));
    e.table.header.waits = e.wait_done.waits;
    auto room = take_block(driver, static_cast<std::int64_t>(e.table.size()));
    if (!room) throw device::Error(CUDA_ERROR_OUT_OF_MEMORY, "no device memory for the partitions of an exchange");
    const auto bytes = e.table.bytes_at(static_cast<std::uintptr_t>(room->address));
    upload(driver, gpu, room->address, bytes.data(), bytes.size());
    e.table_on_device = reinterpret_cast<DNG_Device>(room->address);
    e.room.push_back(std::move(room));
  }

  struct Copy {
    Described from, to;
    std::int64_t size;
  };
  const std::size_t count_;
  MPI_Request* const requests_;
  std::unique_ptr<Exchange> made_;
  std::map<int, MatchSide> sides_;  // by ranks of MPI_COMM_WORLD
  MatchSide own_;                   // messages of this rank to itself
  std::vector<MatchSide*> peers_;   // with which messages go directly
  std::set<std::size_t> by_mpi_;
  std::string reason_;     // why messages go as they do
  std::string objection_;  // why this rank can have no direct messages
  bool prepared_ = false;
  CUcontext context_ = nullptr;
  std::shared_ptr<const device::Arena::Block> block_;
  std::uint64_t nonce_ = 0, identity_ = 0;
  std::size_t slots_ = 0, waited_slots_ = 0;  // this rank's slots, and those for which exchanges wait
  bool mps_ = false, operations_ = false;
  bool shares_ = false;  // this rank's GPU with a peer, without MPS
  std::vector<Copy> copies_, own_moves_;
  int failed_ = MPI_SUCCESS;
};

}  // namespace

int match(int count, MPI_Request* requests, std::unique_ptr<Exchange>& exchange) {
  return Match(count, requests).run(exchange);
}

}  // namespace dunnage::mpi
