#include "mpi/hooks/attached_buffer.hpp"

#include <map>
#include <mutex>
#include <utility>

#include "mpi/process/failure.hpp"

namespace dunnage::mpi {
namespace {

struct Attached {
  void* buffer;  // the program's
  std::unique_ptr<char[]> host;
};
std::mutex all_attached_mutex;
/// By the address that the MPI has.
std::map<const void*, Attached>& all_attached() {
  static auto* all = new std::map<const void*, Attached>;  // never destroyed: the MPI may use the memory until the end
  return *all;
}

}  // namespace

AttachedBuffer::AttachedBuffer(Hook hook, void* buffer, MPI_Count size) : buffer_(buffer) {
  if (size <= 0 || process->settings.force == base::Force::never || !on_device(buffer) || process->mpi_knows_gpus())
    return;
  code_ = guarded([&] { host_ = std::make_unique_for_overwrite<char[]>(static_cast<std::size_t>(size)); });
  process->count(hook, code_ == MPI_SUCCESS ? plan::Reason::through_host : plan::Reason::device_error);
}

int AttachedBuffer::attached(int rc) {
  if (rc != MPI_SUCCESS || !host_) return rc;
  const std::lock_guard lock(all_attached_mutex);
  const void* const at = host_.get();
  all_attached()[at] = {buffer_, std::move(host_)};
  return rc;
}

void AttachedBuffer::give_back(void** buffer) {
  if (!buffer) return;
  const std::lock_guard lock(all_attached_mutex);
  const auto found = all_attached().find(*buffer);
  if (found == all_attached().end()) return;
  *buffer = found->second.buffer;
  all_attached().erase(found);
}

}  // namespace dunnage::mpi
