#include "mpi/broadcast/ibcast.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "collective/choose.hpp"
#include "mpi/broadcast/bcast_data.hpp"
#include "mpi/broadcast/gpu_broadcast.hpp"
#include "mpi/message/attach.hpp"
#include "mpi/message/buffer.hpp"
#include "mpi/message/orphans.hpp"
#include "mpi/process/arrivals.hpp"
#include "transport/peers/job.hpp"

namespace dunnage::mpi {
namespace {

/// What the MPI broadcasts in place of the data.
struct Bulletin {
  std::uint64_t begin = 0, serial = 0;  // no serial: there are no data
  std::int64_t bytes = 0;
  std::int32_t publisher = -1;  // its rank in MPI_COMM_WORLD
  std::int32_t on_gpu = 0;      // what stands there tells of a copy in its GPU's memory; how many bytes, else 0
};

/// Bytes that the root writes before it says so: the others read them while they are in a cache.
/// What goes to and from devices goes in longer pieces, each of which is waited for.
constexpr std::int64_t near_piece = 128 << 10, far_piece = 8 << 20;
std::int64_t piece_of(const memory::Landing& landing) { return landing.buffer.packer() ? far_piece : near_piece; }

/// One rank's part. What fails here is told when the operation ends: the others wait for the
/// bulletin, and for this rank to pass it on.
class Published : public Copies {
 public:
  Published(const BcastGroup& group, int root, std::int64_t bytes)
      : bytes_(bytes), root_(group.rank == root), gone_(group.gone) {
    if (root_) readers_ = group.others;
  }
  bool orphaned() const override { return gone_->load(std::memory_order_relaxed); }
  void take(void* buffer, std::int64_t count, MPI_Datatype type) {
    landing_.buffer = broadcast_buffer(buffer, count, type, foreign_gpus(), failed_);
  }
  Bulletin* bulletin() { return &bulletin_; }

  /// The root's room for its data. They are there after begun().
  int gather() override {
    if (!root_) return MPI_SUCCESS;
    bulletin_ = {};
    code_ = guarded([&] {
      const auto readers = static_cast<std::uint32_t>(readers_.size());
      if (failed_ == MPI_SUCCESS)
        if (auto offer = gpu_publish(landing_.buffer, readers_, Publish::copy)) {
          head_ = std::move(offer->head);
          room_ = process->world->publications.publish(static_cast<std::int64_t>(head_.size()), readers,
                                                       std::move(offer->memory));
        }
      if (!room_) {
        head_.clear();
        room_ = process->world->publications.publish(bytes_, readers);
      }
      if (!room_) throw std::bad_alloc();
      bulletin_ = {room_->begin, room_->serial, bytes_, process->rank, static_cast<std::int32_t>(head_.size())};
    });
    return MPI_SUCCESS;
  }

  void begun(bool well) override {
    const auto room = std::exchange(room_, std::nullopt);
    if (!room) return;
    code_ = well ? failed_ : MPI_ERR_OTHER;  // then some may have heard of it all the same
    if (!head_.empty() && well) {
      std::copy(head_.begin(), head_.end(), room->data);
      room->written->store(static_cast<std::int64_t>(head_.size()), std::memory_order_release);
    } else {
      Reader read(landing_, bytes_, code_);
      const auto piece = piece_of(landing_);
      for (std::int64_t begin = 0; begin < bytes_ && code_ == MPI_SUCCESS; begin += piece) {
        const auto end = std::min(begin + piece, bytes_);
        if (read(room->data + begin, begin, end)) room->written->store(end, std::memory_order_release);
      }
    }
    if (code_ != MPI_SUCCESS) room->written->store(transport::shm::Publication::lost, std::memory_order_release);
    process->world->publications.end(*room);
  }

  int deliver() override {
    if (root_) return code_;
    answer_letters();
    if (bulletin_.serial == 0) return MPI_ERR_OTHER;
    landing_.restart();
    const auto reading =
        process->world->published(static_cast<std::uint32_t>(bulletin_.publisher), bulletin_.begin, bulletin_.serial,
                                  bulletin_.on_gpu ? bulletin_.on_gpu : bulletin_.bytes);
    if (!reading) return MPI_ERR_OTHER;
    int code = failed_ == MPI_SUCCESS && bulletin_.bytes > bytes_ ? MPI_ERR_TRUNCATE : failed_;
    if (bulletin_.on_gpu)
      return code != MPI_SUCCESS ? code
             : reading->more_than(bulletin_.on_gpu - 1)
                 ? gpu_read_published(reading->data(), landing_, let_mpi_progress)
                 : MPI_ERR_OTHER;
    thread_local std::array<pack::StoreChoice, BcastGroup::classes> stores;
    Placer place(landing_, bulletin_.bytes, stores[BcastGroup::class_of(bytes_)], code);
    const auto piece = piece_of(landing_);
    for (std::int64_t at = 0; at < bulletin_.bytes && code == MPI_SUCCESS;) {
      const auto there = reading->more_than(at);
      if (there) {
        for (const auto end = *there; at < end; at = std::min(at + piece, end))
          place(reading->data() + at, at, std::min(at + piece, end));
      } else {
        code = MPI_ERR_OTHER;
      }
    }
    place.finish();
    return code;
  }

 private:
  const std::int64_t bytes_;
  const bool root_;
  const std::shared_ptr<const std::atomic<bool>> gone_;
  std::vector<std::uint32_t> readers_;  // the root's, in MPI_COMM_WORLD
  std::vector<char> head_;              // of a copy in a GPU's memory
  memory::Landing landing_;
  std::optional<transport::shm::Publications::Published> room_;
  int failed_ = MPI_SUCCESS;  // here, from the beginning
  int code_ = MPI_SUCCESS;    // the root's
  Bulletin bulletin_;
};

/// The packed bytes of a broadcast that is to be ours; 0 where it is the MPI's.
std::int64_t bytes_of(std::int64_t count, MPI_Datatype type, int root, MPI_Comm comm, BcastGroup*& group) {
  const auto bytes = broadcast_bytes(count, type, comm);
  if (bytes == 0 || bytes > collective::most_published) return 0;
  const bool forced = process->settings.bcast == base::Bcast::window;
  if (!forced && bytes < collective::least_published) return 0;
  group = bcast_group(comm);
  if (!group || !group->possible || root < 0 || root >= group->ranks || !on_one_host(*group, comm)) return 0;
  if (!forced && group->trials[BcastGroup::class_of(bytes)].verdict() == collective::Trial::Verdict::theirs) return 0;
  // Now and then the MPI's, so that a root does not run ahead of the others for ever.
  if (group->published > collective::most_published) return group->published = 0;
  group->published += bytes;
  return bytes;
}

}  // namespace

void share_memory(int ranks) {
  using Whereabouts = transport::peers::Whereabouts;
  struct Introduction {
    Whereabouts where;
    plan::BcastFigures figures;
  };
  Introduction mine{process->world ? process->world->peers.whereabouts() : Whereabouts(), process->model.bcast};
  mine.where.host = transport::peers::host_key();
  std::vector<Introduction> all(static_cast<std::size_t>(ranks));
  const auto& own = process->own;
  const bool heard =
      own.Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, MPI_COMM_WORLD) == MPI_SUCCESS;
  std::vector<Whereabouts> where;
  for (const auto& one : all) where.push_back(one.where);
  const int here[] = {heard,
                      process->world && process->world->peers.learn(std::move(where)) && heard && !foreign_gpus()};
  int everywhere[] = {0, 0};
  if (own.Allreduce(here, everywhere, 2, MPI_INT, MPI_MIN, MPI_COMM_WORLD) != MPI_SUCCESS) return;
  if (everywhere[0]) process->bcast = all.front().figures;
  process->shares = everywhere[1] != 0;
}

void share_memory(const plan::BcastFigures& figures, const std::vector<transport::Place>& places, bool foreign) {
  process->bcast = figures;
  process->shares = !foreign;
  std::vector<transport::peers::Whereabouts> where;
  for (const auto& place : places) where.push_back({transport::peers::host_key(), place.process, place.file});
  // Whoever told its place knew that others can go there. If one cannot be gone to now, that is
  // tried again when it is needed.
  if (process->world) process->world->peers.learn(std::move(where));
}

template <class Begin>
void NonblockingBroadcast::begin(Hook hook, void* buffer, std::int64_t count, MPI_Datatype type, int root,
                                 MPI_Comm comm, MPI_Request* request, bool persistent, Begin&& begin) {
  BcastGroup* group = nullptr;
  const auto bytes = bytes_of(count, type, root, comm, group);
  if (bytes == 0) return;
  progress_orphans();
  answer_letters();
  const auto published = std::make_shared<Published>(*group, root, bytes);
  published->take(buffer, count, type);
  const Accelerated counted(hook, bytes);
  if (!persistent) published->gather();
  const int rc = begin(published->bulletin(), static_cast<int>(sizeof(Bulletin)));
  if (!persistent) published->begun(rc == MPI_SUCCESS);
  if (published->bulletin()->on_gpu) process->count(hook, plan::GpuWay::direct_packed);
  code_ = rc == MPI_SUCCESS ? follow(published, errors_of_comm(comm), request, persistent) : rc;
}

NonblockingBroadcast::NonblockingBroadcast(Hook hook, MPI_Comm comm, MPI_Request* request, void* buffer,
                                           std::int64_t count, MPI_Datatype type, int root) {
  begin(hook, buffer, count, type, root, comm, request, false, [&](void* bulletin, int length) {
    return process->own.Ibcast(bulletin, length, MPI_BYTE, root, comm, request);
  });
}

NonblockingBroadcast::NonblockingBroadcast(Hook hook, MPI_Comm comm, MPI_Info info, MPI_Request* request, void* buffer,
                                           std::int64_t count, MPI_Datatype type, int root) {
  if (process->own.Bcast_init)
    begin(hook, buffer, count, type, root, comm, request, true, [&](void* bulletin, int length) {
      return process->own.Bcast_init(bulletin, length, MPI_BYTE, root, comm, info, request);
    });
}

}  // namespace dunnage::mpi
