#include "mpi/message/progress.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/quiet_thread.hpp"
#include "device/place.hpp"
#include "mpi/process/arrivals.hpp"
#include "mpi/process/gpu_use.hpp"
#include "mpi/process/world_returns_errors.hpp"

namespace dunnage::mpi {
namespace {

/// How long our thread rests when nothing has come.
constexpr auto rest = std::chrono::microseconds(20);

std::atomic<bool> thread_runs{false};

/// The context that was current when a receive was begun. Memory of pools and virtual memory have
/// no context of their own; their data belong to this one.
struct Begun {
  static Begun here() {
    Begun begun;
    const auto* driver = device::driver();
    if (driver && driver->cuCtxGetCurrent(&begun.context) == CUDA_SUCCESS && begun.context)
      begun.id = device::id_of(*driver, begun.context);
    return begun;
  }
  /// Makes the context current again, if it still exists.
  std::optional<device::Scope> again() const {
    const auto* driver = device::driver();
    if (!driver || !context || device::id_of(*driver, context) != id) return std::nullopt;
    return std::optional<device::Scope>(std::in_place, *driver, context);
  }
  CUcontext context = nullptr;
  unsigned long long id = 0;
};

/// A receive, by the key of its request, and the context in which it was begun.
struct WatchedReceive {
  std::uint64_t key;
  Begun begun;
};

/// The receives that are looked after. A receive that has ended stays until somebody looks.
class Watch {
 public:
  bool empty() const { return all_.empty(); }
  void add(std::uint64_t key, const Begun& begun = {}) {
    if (all_.size() == all_.capacity()) tidy();
    all_.push_back({key, begun});
  }
  /// `ended` may begin receives.
  template <class F>
  void drop_if(F&& ended) {
    auto all = std::exchange(all_, {});
    std::erase_if(all, ended);
    all.insert(all.end(), all_.begin(), all_.end());
    all_.swap(all);
  }

 private:
  /// Of the entries with one key, which the MPI has used again and again, only the last is needed.
  void tidy() {
    std::reverse(all_.begin(), all_.end());
    std::stable_sort(all_.begin(), all_.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
    const auto repeated = std::ranges::unique(all_, std::equal_to<>(), &WatchedReceive::key);
    all_.erase(repeated.begin(), repeated.end());
    all_.reserve(std::max<std::size_t>(64, 2 * all_.size()));
  }
  std::vector<WatchedReceive> all_;
};

/// Never destroyed: the thread may outlive the statics of a program that does not end its MPI.
struct Progress {
  Watch watched;
  // Of our thread.
  std::mutex mutex;
  std::condition_variable wake;
  std::thread thread;
  bool stop = false;
};
Progress& progress() {
  static auto* all = new Progress;
  return *all;
}

/// With several threads in the MPI, persistent requests are not looked after: they stay in the
/// table while calls are about them.
bool watchable(const Request& request) {
  return request.receives() && request.active && (one_thread_at_a_time() || !request.persistent);
}

thread_local AlsoWatched* also_watched = nullptr;

/// Returns whether anything has come.
bool look_at_watched() {
  const WorldReturnsErrors guard;  // the call that ends a request tells its error
  FetchBatch batch;
  std::vector<Request*> arrived;
  progress().watched.drop_if([&](const auto& one) {
    const auto& [key, begun] = one;
    auto* request = process->requests.find(key);
    // The handle of a receive that has ended may be another operation's by now.
    if (!request || !watchable(*request) || request->delivered) return true;
    if (request->awaited) return false;
    const auto current = thread_runs.load(std::memory_order_relaxed) ? begun.again() : std::nullopt;
    if (!deliver_if_there(*request, handle_of<MPI_Request>(key), batch, static_cast<int>(arrived.size()))) return false;
    arrived.push_back(request);  // the call that ends the request tells a failure
    return true;
  });
  for (const auto& failure : batch.finish())
    arrived[static_cast<std::size_t>(failure.index)]->failed_later(failure.code);
  return !arrived.empty();
}

void run_thread() {
  auto& p = progress();
  std::unique_lock lock(p.mutex);
  while (!p.stop) {
    if (p.watched.empty()) {
      p.wake.wait(lock);
      continue;
    }
    const bool some = look_at_watched();
    lock.unlock();  // whoever wants to complete something comes now
    std::this_thread::sleep_for(some ? std::chrono::microseconds(0) : rest);
    lock.lock();
  }
}

/// The lock is held.
void start_thread() {
  auto& p = progress();
  if (thread_runs.load(std::memory_order_relaxed) || p.stop) return;
  try {
    p.thread = base::quiet_thread(run_thread);
    thread_runs.store(true, std::memory_order_release);
  } catch (const std::system_error&) {
    p.stop = true;  // there are no more threads to be had
  }
}

}  // namespace

bool one_thread_at_a_time() {
  static const bool one = [] {
    int level = MPI_THREAD_MULTIPLE;
    return process->own.Query_thread(&level) == MPI_SUCCESS && level != MPI_THREAD_MULTIPLE;
  }();
  return one;
}

bool nobody_looks_after() {
  return one_thread_at_a_time() && !gpu_announcements() && !process->sends_to_self.load(std::memory_order_relaxed) &&
         progress().watched.empty();
}

bool deliver_if_there(Request& request, MPI_Request handle, FetchBatch& batch, int index) {
  if (request.has_parts()) return request.fetch_parts(batch, index);
  // The program's persistent request is inactive while one of ours stands in its place.
  if (request.inner != MPI_REQUEST_NULL) handle = request.inner;
  MPI_Status status;
  const auto news = request.ask(handle, status);
  if (news == Request::News::none) return false;
  batch.about(index);
  if (news == Request::News::complete) request.complete(status, false);
  return true;
}

AlsoWatched::AlsoWatched(std::span<Request* const> requests, const MPI_Request* handles)
    : requests_(requests), handles_(handles), outer_(std::exchange(also_watched, this)) {}
AlsoWatched::~AlsoWatched() { also_watched = outer_; }

void AlsoWatched::deliver_what_is_there() {
  const WorldReturnsErrors guard;
  FetchBatch batch;
  for (std::size_t i = 0; i < requests_.size(); ++i)
    if (auto* request = requests_[i];
        request && handles_[i] != MPI_REQUEST_NULL && request->receives() && request->active && !request->delivered)
      deliver_if_there(*request, handles_[i], batch, static_cast<int>(i));
  for (const auto& failure : batch.finish())
    requests_[static_cast<std::size_t>(failure.index)]->failed_later(failure.code);
}

void look_after(const Request& request) {
  if (!watchable(request)) return;
  auto& p = progress();
  if (one_thread_at_a_time()) {
    if (gpu_announcements() || process->sends_to_self.load(std::memory_order_relaxed)) p.watched.add(request.key);
    return;
  }
  if (!process->settings.progress_thread) return;
  const std::lock_guard lock(p.mutex);
  start_thread();
  if (p.stop) return;
  p.watched.add(request.key, Begun::here());
  p.wake.notify_one();
}

void progress_receives() {
  static thread_local bool inside = false;  // what is delivered may come here again
  if (inside) return;
  inside = true;
  if (also_watched) also_watched->deliver_what_is_there();
  if (one_thread_at_a_time() && !progress().watched.empty()) look_at_watched();
  inside = false;
}

std::unique_lock<std::mutex> no_progress() {
  return thread_runs.load(std::memory_order_acquire) ? std::unique_lock(progress().mutex)
                                                     : std::unique_lock<std::mutex>();
}

void stop_progress_thread() {
  auto& p = progress();
  {
    const std::lock_guard lock(p.mutex);
    p.stop = true;
    p.wake.notify_one();
  }
  if (p.thread.joinable()) p.thread.join();
  thread_runs.store(false, std::memory_order_release);
}

}  // namespace dunnage::mpi
