#include "mpi/message/matched.hpp"

#include <mutex>
#include <unordered_map>

#include "mpi/process/attribute.hpp"

namespace dunnage::mpi {
namespace {

/// By the message's handle. Messages on MPI_COMM_WORLD are not kept. Never destroyed: calls may
/// come from destructors at exit.
struct Matched {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, MPI_Comm> comms;
};
Matched& matched() {
  static auto* all = new Matched;
  return *all;
}

/// Ends with a communicator, whose handle no error may then be raised on.
struct UntilFreed {
  explicit UntilFreed(MPI_Comm of) : comm(of) {}
  UntilFreed(const UntilFreed&) = delete;
  UntilFreed& operator=(const UntilFreed&) = delete;
  ~UntilFreed() {
    auto& all = matched();
    const std::lock_guard lock(all.mutex);
    std::erase_if(all.comms, [&](const auto& entry) { return entry.second == comm; });
  }
  const MPI_Comm comm;
};

Attribute<UntilFreed> until_freed;
std::mutex attribute_mutex;

bool ends_with(MPI_Comm comm) {
  const std::lock_guard lock(attribute_mutex);
  UntilFreed* known = nullptr;
  if (!until_freed.find(comm, known)) return false;
  return known || until_freed.put(comm, std::make_unique<UntilFreed>(comm));
}

}  // namespace

void note_matched(MPI_Message message, MPI_Comm comm) try {
  if (comm == MPI_COMM_WORLD || message == MPI_MESSAGE_NULL || message == MPI_MESSAGE_NO_PROC) return;
  if (!ends_with(comm)) return;
  auto& all = matched();
  const std::lock_guard lock(all.mutex);
  all.comms[key_of(message)] = comm;
} catch (const std::bad_alloc&) {
  // The message is received as one of MPI_COMM_WORLD.
}

MPI_Comm comm_of_matched(const MPI_Message* message) {
  if (!message) return MPI_COMM_WORLD;
  auto& all = matched();
  const std::lock_guard lock(all.mutex);
  const auto found = all.comms.find(key_of(*message));
  if (found == all.comms.end()) return MPI_COMM_WORLD;
  const auto comm = found->second;
  all.comms.erase(found);
  return comm;
}

}  // namespace dunnage::mpi
