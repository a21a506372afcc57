#include "mpi/process/proxy.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include "base/quiet_thread.hpp"
#include "pack/cuda/signal.hpp"
#include "transport/shm/patience.hpp"

namespace dunnage::mpi {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t words_size = 2 * pack::cuda::slot_stride;

/// After so long without a message the thread sleeps between two looks, and leaves its core to
/// others.
constexpr std::chrono::milliseconds until_sleep{2};
constexpr std::chrono::microseconds sleep_between{20};

struct Proxy {
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<int> others{0};  // threads that want the mutex, which the proxy would take again and again
  std::vector<ProxiedMessages*> all;
  std::thread thread;
  bool stop = false;
};
Proxy& proxy() {
  static auto* one = new Proxy;  // never destroyed: a program may end without MPI_Finalize
  return *one;
}

/// Calls f with the mutex locked.
template <class F>
void with_lock(F&& f) {
  auto& p = proxy();
  p.others.fetch_add(1);
  const std::lock_guard lock(p.mutex);
  p.others.fetch_sub(1);
  f(p);
}

void serve() {
  auto& p = proxy();
  prctl(PR_SET_TIMERSLACK, 1000);  // nanoseconds; 50,000 otherwise
  transport::shm::Patience patience;
  auto last = Clock::now();
  for (;;) {
    bool busy = false;
    {
      std::unique_lock lock(p.mutex);
      if (p.all.empty() && !p.stop) {
        p.changed.wait(lock);
        last = Clock::now();
      }
      if (p.stop) return;
      for (auto* messages : p.all) busy |= messages->look();
    }
    while (p.others.load() > 0) sched_yield();
    if (busy) {
      last = Clock::now();
      patience.rest();
    } else if (Clock::now() - last > until_sleep) {
      std::this_thread::sleep_for(sleep_between);
    } else {
      patience.wait();
    }
  }
}

std::atomic_ref<std::uint64_t> word_at(std::uintptr_t address) {
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(address));
}

}  // namespace

bool proxy_possible() {
  static const bool possible = [] {
    int level = MPI_THREAD_SINGLE;
    return process->own.Query_thread(&level) == MPI_SUCCESS && level == MPI_THREAD_MULTIPLE;
  }();
  return possible;
}

ProxiedMessages::ProxiedMessages(device::Gpu& gpu, std::vector<ProxiedMessage> messages)
    : gpu_(gpu), words_(gpu.pinned().take(words_size)), messages_(std::move(messages)) {
  if (!words_) throw device::Error(CUDA_ERROR_OUT_OF_MEMORY, "no page-locked memory for the words of the proxy");
  std::memset(words_, 0, words_size);
  for (const auto& message : messages_) requests_.push_back(message.request());
  with_lock([&](Proxy& p) {
    if (!p.thread.joinable()) p.thread = base::quiet_thread(serve);
    p.all.push_back(this);
    p.changed.notify_one();
  });
}

ProxiedMessages::~ProxiedMessages() {
  with_lock([&](Proxy& p) {
    if (std::erase(p.all, this) > 0) end();
  });
  gpu_.pinned().give(words_, words_size);
}

std::uintptr_t ProxiedMessages::completed() const { return started() + pack::cuda::slot_stride; }

void ProxiedMessages::fail(int code) {
  int none = MPI_SUCCESS;
  error_.compare_exchange_strong(none, code);
  word_at(completed()).store(broken, std::memory_order_release);
}

bool ProxiedMessages::look() {
  if (error() != MPI_SUCCESS) return false;
  if (given_up_.load(std::memory_order_acquire)) return fail(MPI_ERR_OTHER), false;
  int code = MPI_SUCCESS;
  if (under_way_ == 0) {
    const auto wanted = word_at(started()).load(std::memory_order_acquire);
    if (wanted <= done_) return false;
    under_way_ = wanted;
    for (auto& request : requests_)
      if (code == MPI_SUCCESS) code = process->own.Start(&request);
  }
  int complete = 0;
  if (code == MPI_SUCCESS)
    code = process->own.Testall(static_cast<int>(requests_.size()), requests_.data(), &complete, MPI_STATUSES_IGNORE);
  if (code != MPI_SUCCESS) return fail(code), false;
  if (complete) {
    done_ = std::exchange(under_way_, 0);
    word_at(completed()).store(done_, std::memory_order_release);
  }
  return true;
}

void ProxiedMessages::end() {
  for (auto& message : messages_) message.end(under_way_ != 0);
}

void stop_proxy() {
  std::thread thread;
  with_lock([&](Proxy& p) {
    p.stop = true;
    for (auto* messages : p.all) messages->end();
    p.all.clear();
    thread.swap(p.thread);
    p.changed.notify_one();
  });
  if (thread.joinable()) thread.join();
}

}  // namespace dunnage::mpi
