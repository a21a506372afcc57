#include "calls/progress.hpp"

#include <set>
#include <vector>

#include "calls/arrival.hpp"

namespace dunnage::calls {
namespace {

/// Keys of their requests. Never destroyed.
std::set<std::uint64_t>& watched() {
  static auto* all = new std::set<std::uint64_t>;
  return *all;
}

bool one_thread_at_a_time() {
  static const bool one = [] {
    int level = MPI_THREAD_MULTIPLE;
    return context->own.Query_thread(&level) == MPI_SUCCESS && level != MPI_THREAD_MULTIPLE;
  }();
  return one;
}

}  // namespace

void look_after(const engine::Operation& operation) {
  if (gpu_tickets() && operation.receives() && operation.active && one_thread_at_a_time()) watched().insert(operation.key);
}

void progress_receives() {
  static bool inside = false;  // by way of what it delivers
  if (!one_thread_at_a_time() || inside || watched().empty()) return;
  inside = true;
  FetchBatch batch;
  std::vector<engine::Operation*> arrived;
  std::erase_if(watched(), [&](std::uint64_t key) {
    auto* operation = context->operations.find(key);
    if (!operation || !operation->active || operation->delivered) return true;
    if (!arrive_if_there(*operation, handle_of<MPI_Request>(key), batch, static_cast<int>(arrived.size()))) return false;
    arrived.push_back(operation);  // a failure is told when the request ends
    return true;
  });
  for (const auto& failure : batch.finish()) arrived[static_cast<std::size_t>(failure.index)]->error = failure.code;
  inside = false;
}

}  // namespace dunnage::calls
