#include "mpi/process/comm_gone.hpp"

#include "mpi/process/attribute.hpp"

namespace dunnage::mpi {
namespace {

using Flag = std::shared_ptr<std::atomic<bool>>;

/// The MPI deletes it when the communicator is freed, or when the last request on the communicator
/// has ended.
struct UntilGone {
  UntilGone() = default;
  UntilGone(const UntilGone&) = delete;
  UntilGone& operator=(const UntilGone&) = delete;
  ~UntilGone() { gone->store(true, std::memory_order_release); }
  const Flag gone = std::make_shared<std::atomic<bool>>(false);
};

Attribute<UntilGone> until_gone;
std::mutex gone_mutex;

Flag flag_of(MPI_Comm comm) try {
  const std::lock_guard lock(gone_mutex);
  UntilGone* known = nullptr;
  if (!until_gone.find(comm, known)) return nullptr;
  if (!known) known = until_gone.put(comm, std::make_unique<UntilGone>());
  return known ? known->gone : nullptr;
} catch (const std::bad_alloc&) {
  return nullptr;
}

}  // namespace

CommGone::CommGone(MPI_Comm comm)
    : always_(comm == MPI_COMM_WORLD || comm == MPI_COMM_SELF), gone_(always_ ? nullptr : flag_of(comm)) {}

}  // namespace dunnage::mpi
