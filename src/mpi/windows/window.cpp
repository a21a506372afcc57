#include "mpi/windows/window.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>

#include "mpi/process/failure.hpp"

namespace dunnage::mpi {

using Call = Synchronization::Call;

Window::Window(Parts parts) : parts_(std::move(parts)) {
  const auto& targets = parts_.targets;
  const auto ranks = parts_.seats ? parts_.seats->ranks() : 0;
  held_.resize(ranks);
  starts_.resize(ranks);
  const auto any = [&](Target::Kind kind) {
    return std::any_of(targets.begin(), targets.end(), [&](const Target& target) { return target.kind == kind; });
  };
  ordered_ = parts_.seats && (parts_.dynamic || any(Target::Kind::direct));
  separate_ = parts_.copied || any(Target::Kind::copied);
}

Window::~Window() {
  auto group = parts_.group;
  if (group != MPI_GROUP_NULL && process->initialized.load(std::memory_order_relaxed)) process->own.Group_free(&group);
}

int Window::before(const Synchronization& how) {
  const int code = order_before(how), copied = copy_before(how);
  return code == MPI_SUCCESS ? copied : code;
}

int Window::after(const Synchronization& how) {
  const int code = order_after(how), copied = copy_after(how);
  return code == MPI_SUCCESS ? copied : code;
}

// MPI 4.1, section 12.7, rules 4 to 6: at which calls of the owner an update of one copy becomes
// visible in the other.
int Window::copy_before(const Synchronization& how) {
  if (!parts_.shadow) return MPI_SUCCESS;
  switch (how.call) {
    case Call::unlock:
      if (how.rank != parts_.rank) return MPI_SUCCESS;
      [[fallthrough]];
    case Call::fence:
    case Call::post:
    case Call::unlock_all:
    case Call::sync: return guarded([&] { parts_.shadow->publish(); });
    default: return MPI_SUCCESS;
  }
}

int Window::copy_after(const Synchronization& how) {
  if (!parts_.shadow) return MPI_SUCCESS;
  switch (how.call) {
    case Call::lock:
    case Call::unlock:
      if (how.rank != parts_.rank) return MPI_SUCCESS;
      [[fallthrough]];
    case Call::fence:
    case Call::wait:
    case Call::lock_all:
    case Call::unlock_all:
    case Call::sync:
    case Call::free: return guarded([&] { parts_.shadow->fetch(); });
    default: return MPI_SUCCESS;
  }
}

std::vector<std::uint32_t> Window::ranks_of(MPI_Group group) const {
  int n = 0;
  if (process->own.Group_size(group, &n) != MPI_SUCCESS || n <= 0) return {};
  std::vector<int> all(static_cast<std::size_t>(n)), there(all.size());
  std::iota(all.begin(), all.end(), 0);
  if (process->own.Group_translate_ranks(group, n, all.data(), parts_.group, there.data()) != MPI_SUCCESS) return {};
  std::erase_if(there, [](int rank) { return rank < 0; });
  return {there.begin(), there.end()};
}

// The data of direct operations are in their places before the MPI is called, so the MPI orders
// these operations as it orders its own. But an MPI may delay the beginning of an epoch until an
// operation of its own needs it. So the ranks also wait for each other in shared memory. Locks are
// taken there only: with two kinds of locks, two ranks could wait for each other.
int Window::order_before(const Synchronization& how) {
  if (!ordered_) return MPI_SUCCESS;
  switch (how.call) {
    case Call::fence: {
      const int code = moves_.complete();
      return parts_.seats->meet() ? code : MPI_ERR_OTHER;
    }
    case Call::complete:
    case Call::unlock:
    case Call::unlock_all:
    case Call::flush:
    case Call::free: return moves_.complete();
    default: return MPI_SUCCESS;
  }
}

int Window::order_after(const Synchronization& how) {
  if (!ordered_) return MPI_SUCCESS;
  const auto ranks = parts_.seats->ranks(), me = parts_.seats->rank();
  const bool checked = !(how.assertion & MPI_MODE_NOCHECK);
  int code = MPI_SUCCESS;
  switch (how.call) {
    case Call::post:
      for (const auto origin : ranks_of(how.group)) parts_.seats->own().post_to(origin);
      break;
    case Call::start:
      for (const auto target : ranks_of(how.group)) {
        auto& seat = parts_.seats->of(target);
        const auto times = ++starts_[target];
        if (!parts_.seats->wait_until([&] { return seat.has_posted_to(me, times); })) code = MPI_ERR_OTHER;
      }
      break;
    case Call::lock:
      if (checked && is_there(how.rank)) code = lock(static_cast<std::uint32_t>(how.rank), how.exclusive);
      break;
    case Call::lock_all:
      for (std::uint32_t rank = 0; checked && rank < ranks && code == MPI_SUCCESS; ++rank) code = lock(rank, false);
      break;
    case Call::unlock:
      if (is_there(how.rank)) unlock(static_cast<std::uint32_t>(how.rank));
      break;
    case Call::unlock_all:
      for (std::uint32_t rank = 0; rank < ranks; ++rank) unlock(rank);
      break;
    default: break;
  }
  return code;
}

int Window::assertion_for_mpi(const Synchronization& how) const {
  const bool locks = how.call == Call::lock || how.call == Call::lock_all;
  return ordered_ && locks ? how.assertion | MPI_MODE_NOCHECK : how.assertion;
}

std::optional<Target> Window::direct(int rank, Reach& reach) const {
  if (!ordered_ || !is_there(rank)) return std::nullopt;
  const auto there = static_cast<std::uint32_t>(rank);
  if (parts_.dynamic) return find_attached(*parts_.seats, there, reach);
  const auto& target = parts_.targets[there];
  return target.direct() ? std::optional(target) : std::nullopt;
}

int Window::attach(void* base, std::int64_t size) {
  const std::lock_guard lock(mutex_);
  const auto memory = attachable(*parts_.seats, base, size);
  if (!memory)
    throw device::Error(CUDA_ERROR_INVALID_VALUE,
                        "the other ranks do not reach this memory: attach memory of cuMemAlloc or cudaMalloc");
  return parts_.seats->own().attached().add(*memory) ? MPI_SUCCESS : MPI_ERR_RMA_ATTACH;
}

bool Window::detach(const void* base) {
  const std::lock_guard lock(mutex_);
  return parts_.attaches && parts_.seats->own().attached().remove(reinterpret_cast<std::uintptr_t>(base));
}

int Window::lock(std::uint32_t rank, bool exclusive) {
  auto& seat = parts_.seats->of(rank);
  if (!parts_.seats->wait_until([&] { return seat.try_lock(exclusive); })) return MPI_ERR_OTHER;
  const std::lock_guard lock(mutex_);
  held_[rank] = exclusive ? Lock::exclusive : Lock::shared;
  return MPI_SUCCESS;
}

void Window::unlock(std::uint32_t rank) {
  const std::lock_guard lock(mutex_);
  const auto held = std::exchange(held_[rank], Lock::none);
  if (held != Lock::none) parts_.seats->of(rank).unlock(held == Lock::exclusive);
}

int Window::updating(int rank, base::FunctionRef<int()> update) {
  auto& seat = parts_.seats->of(static_cast<std::uint32_t>(rank));
  if (!parts_.seats->wait_until([&] { return seat.try_update(); })) return MPI_ERR_OTHER;
  const int code = update();
  seat.end_update();
  return code;
}

int synchronize_window(const Synchronization& how, MPI_Win win, base::FunctionRef<int(int)> call) {
  const auto window = find_window(win);
  if (!window) return call(how.assertion);
  // Other ranks wait for this one in the MPI, so the MPI is called whatever fails here.
  int code = window->before(how);
  const int rc = call(window->assertion_for_mpi(how));
  if (rc != MPI_SUCCESS) return rc;
  if (const int failed = window->after(how); failed != MPI_SUCCESS) code = failed;
  return code == MPI_SUCCESS ? rc : raise(errors_of_win(win), code);
}

void correct_attribute(MPI_Win win, int keyval, void* value) {
  const auto window = find_window(win);
  if (!window) return;
  if (keyval == MPI_WIN_BASE && window->base()) *static_cast<void**>(value) = window->base();
  static int separate = MPI_WIN_SEPARATE;
  if (keyval == MPI_WIN_MODEL && window->separate()) *static_cast<int**>(value) = &separate;
}

}  // namespace dunnage::mpi
