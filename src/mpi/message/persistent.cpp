#include "mpi/message/persistent.hpp"

#include <mutex>
#include <unordered_map>

#include "mpi/message/begun.hpp"
#include "mpi/message/buffer.hpp"
#include "mpi/process/communicators.hpp"
#include "mpi/process/private_world.hpp"

namespace dunnage::mpi {
namespace {

struct PersistentMessages {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, PersistentMessage> by_request;
};
PersistentMessages& messages() {
  static auto* all = new PersistentMessages;  // never destroyed, because destructors that run at exit may still call us
  return *all;
}

/// Fills in what is only needed of data in device memory.
void describe(PersistentMessage& message, const void* buffer, std::int64_t count, MPI_Datatype type, MPI_Comm comm) {
  message.world_peer = world_rank(comm, message.peer);
  if (const auto* origin = origin_of(comm)) message.comm = origin->lineage();
  MPI_Count size = 0;
  message.nothing = count == 0 || (process->own.Type_size_x(type, &size) == MPI_SUCCESS && size == 0);
  if (message.nothing) {
    message.on_device = true;
    return;
  }
  if (auto data = on_gpu(buffer, count, type, known_type(type))) message.buffer = std::move(*data);
  message.on_device = message.buffer.device() != nullptr;
}

int note(int rc, PersistentMessage message, const void* buffer, std::int64_t count, MPI_Datatype type, MPI_Comm comm,
         const MPI_Request* request) {
  if (!mpi_began(rc, request) || !private_world_serves_matching()) return rc;
  guarded([&] {
    if (message.peer >= 0) describe(message, buffer, count, type, comm);
    auto& all = messages();
    const std::lock_guard lock(all.mutex);
    all.by_request.insert_or_assign(key_of(*request), std::move(message));
  });
  return rc;
}

}  // namespace

int note_persistent(int rc, Hook hook, const void* buffer, std::int64_t count, MPI_Datatype type, int peer, int tag,
                    MPI_Comm comm, const MPI_Request* request) {
  PersistentMessage message;
  message.sends = hook != Hook::MPI_Recv_init && hook != Hook::MPI_Recv_init_c;
  message.synchronous = hook == Hook::MPI_Ssend_init || hook == Hook::MPI_Ssend_init_c;
  message.peer = peer;
  message.tag = tag;
  return note(rc, std::move(message), buffer, count, type, comm, request);
}

int note_partitioned(int rc, bool sends, const void* buffer, std::int64_t partitions, std::int64_t count,
                     MPI_Datatype type, int peer, int tag, MPI_Comm comm, const MPI_Request* request) {
  PersistentMessage message;
  message.sends = sends;
  message.peer = peer;
  message.tag = tag;
  message.partitions = partitions;
  return note(rc, std::move(message), buffer, count, type, comm, request);
}

void forget_persistent(MPI_Request request) {
  if (!private_world_serves_matching()) return;
  auto& all = messages();
  const std::lock_guard lock(all.mutex);
  all.by_request.erase(key_of(request));
}

std::optional<PersistentMessage> persistent_message(MPI_Request request) {
  auto& all = messages();
  const std::lock_guard lock(all.mutex);
  const auto found = all.by_request.find(key_of(request));
  return found == all.by_request.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace dunnage::mpi
