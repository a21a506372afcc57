#include "mpi/copies/split.hpp"

#include <atomic>
#include <mutex>
#include <unordered_map>

#include "mpi/process/error.hpp"

namespace dunnage::mpi {
namespace {

std::atomic<std::size_t> count{0};
std::mutex split_mutex;
/// Never destroyed: calls may come from destructors at exit.
auto& by_file() {
  static auto* all = new std::unordered_map<std::uint64_t, std::shared_ptr<Copies>>;
  return *all;
}

}  // namespace

void keep_until_end(MPI_File file, std::shared_ptr<Copies> copies) {
  const std::lock_guard lock(split_mutex);
  by_file()[key_of(file)] = std::move(copies);
  count.store(by_file().size(), std::memory_order_relaxed);
}

std::shared_ptr<Copies> take_kept(MPI_File file) {
  if (count.load(std::memory_order_relaxed) == 0) return nullptr;
  const std::lock_guard lock(split_mutex);
  auto node = by_file().extract(key_of(file));
  count.store(by_file().size(), std::memory_order_relaxed);
  return node ? std::move(node.mapped()) : nullptr;
}

int deliver_kept(MPI_File file, Copies& copies) {
  const int failed = copies.deliver();
  return failed == MPI_SUCCESS ? failed : raise(errors_of_file(file), failed);
}

}  // namespace dunnage::mpi
