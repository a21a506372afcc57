#include "calls/progress.hpp"

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <map>
#include <optional>
#include <thread>
#include <vector>

#include "calls/arrival.hpp"
#ifdef DUNNAGE_CUDA
#include "device/place.hpp"
#endif

namespace dunnage::calls {
namespace {

/// How long our thread rests when nothing has come.
constexpr auto rest = std::chrono::microseconds(20);

std::atomic<bool> thread_runs{false};

/// The context that was current where a receive was begun: data of memory that has none of its own (of pools, virtual memory) belong there.
struct Begun {
#ifdef DUNNAGE_CUDA
  static Begun here() {
    Begun begun;
    const auto* driver = device::driver();
    if (driver && driver->cuCtxGetCurrent(&begun.context) == CUDA_SUCCESS && begun.context) begun.id = device::id_of(*driver, begun.context);
    return begun;
  }
  /// Makes it current again, if it still is there.
  std::optional<device::Scope> again() const {
    const auto* driver = device::driver();
    if (!driver || !context || device::id_of(*driver, context) != id) return std::nullopt;
    return std::optional<device::Scope>(std::in_place, *driver, context);
  }
  CUcontext context = nullptr;
  unsigned long long id = 0;
#else
  static Begun here() { return {}; }
  std::optional<int> again() const { return std::nullopt; }
#endif
};

/// Never destroyed: the thread may outlive the statics of a program that does not end its MPI.
struct Progress {
  std::map<std::uint64_t, Begun> watched;  // by the keys of their requests
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

bool one_thread_at_a_time() {
  static const bool one = [] {
    int level = MPI_THREAD_MULTIPLE;
    return context->own.Query_thread(&level) == MPI_SUCCESS && level != MPI_THREAD_MULTIPLE;
  }();
  return one;
}

/// With several threads in the MPI persistent requests are not looked after: they stay in the table while calls are about them.
bool watchable(const engine::Operation& operation) {
  return operation.receives() && operation.active && (one_thread_at_a_time() || !operation.persistent);
}

/// Whether anything has come.
bool look_at_watched() {
  FetchBatch batch;
  std::vector<engine::Operation*> arrived;
  std::erase_if(progress().watched, [&](const auto& one) {
    const auto& [key, begun] = one;
    auto* operation = context->operations.find(key);
    // The handle of a receive that has ended may be another operation's by now.
    if (!operation || !watchable(*operation) || operation->delivered) return true;
    const auto current = thread_runs.load(std::memory_order_relaxed) ? begun.again() : std::nullopt;
    if (!arrive_if_there(*operation, handle_of<MPI_Request>(key), batch, static_cast<int>(arrived.size()))) return false;
    arrived.push_back(operation);  // a failure is told when the request ends
    return true;
  });
  for (const auto& failure : batch.finish()) arrived[static_cast<std::size_t>(failure.index)]->error = failure.code;
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
  sigset_t every, before;  // signals are for the program's own threads
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  try {
    p.thread = std::thread(run_thread);
    thread_runs.store(true, std::memory_order_release);
  } catch (const std::system_error&) {
    p.stop = true;  // there are no more threads to be had
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

void look_after(const engine::Operation& operation) {
  if (!watchable(operation)) return;
  auto& p = progress();
  if (one_thread_at_a_time()) {
    if (gpu_tickets()) p.watched.try_emplace(operation.key);
    return;
  }
  if (!context->settings.progress_thread) return;
  const std::lock_guard lock(p.mutex);
  start_thread();
  if (p.stop) return;
  p.watched.insert_or_assign(operation.key, Begun::here());
  p.wake.notify_one();
}

void progress_receives() {
  static bool inside = false;  // by way of what it delivers
  if (!one_thread_at_a_time() || inside || progress().watched.empty()) return;
  inside = true;
  look_at_watched();
  inside = false;
}

std::unique_lock<std::mutex> no_progress() {
  return thread_runs.load(std::memory_order_acquire) ? std::unique_lock(progress().mutex) : std::unique_lock<std::mutex>();
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

}  // namespace dunnage::calls
