#include "mpi/process/attribute.hpp"

#include <vector>

namespace dunnage::mpi {
namespace {

std::mutex mutex;
std::vector<std::function<void()>> endings;

}  // namespace

void end_at_finalize(std::function<void()> end) {
  const std::lock_guard lock(mutex);
  endings.push_back(std::move(end));
}

void end_attributes() {
  std::vector<std::function<void()>> all;
  {
    const std::lock_guard lock(mutex);
    all.swap(endings);
  }
  for (const auto& end : all) end();
}

}  // namespace dunnage::mpi
