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

constexpr std::size_t words_size = 3 * pack::cuda::slot_stride;

/// If no message has begun or ended for so long, the thread sleeps between two looks, and leaves
/// its core to others.
constexpr std::chrono::milliseconds until_sleep{2};
constexpr std::chrono::microseconds sleep_between{20};
/// Once in so many looks the thread looks whether a rank has given up.
constexpr unsigned looks_between = 64;

struct Proxy {
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<int> others{0};  // threads that want the mutex, which the proxy would take again and again
  std::vector<ProxiedExchange*> all;
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
    auto most = ProxiedExchange::Progress::none;
    {
      std::unique_lock lock(p.mutex);
      if (p.all.empty() && !p.stop) {
        p.changed.wait(lock);
        last = Clock::now();
      }
      if (p.stop) return;
      for (auto* exchange : p.all) most = std::max(most, exchange->progress());
    }
    while (p.others.load() > 0) sched_yield();
    if (most == ProxiedExchange::Progress::some) {
      last = Clock::now();
      patience.rest();
    } else if (Clock::now() - last > until_sleep) {
      std::this_thread::sleep_for(sleep_between);
    } else {
      patience.wait();
    }
  }
}

}  // namespace

bool proxy_possible() {
  static const bool possible = [] {
    int level = MPI_THREAD_SINGLE;
    return process->own.Query_thread(&level) == MPI_SUCCESS && level == MPI_THREAD_MULTIPLE;
  }();
  return possible;
}

ProxiedExchange::ProxiedExchange(device::Gpu& gpu, std::vector<ProxiedMessage> messages,
                                 std::vector<std::shared_ptr<Farewell>> farewells)
    : gpu_(gpu),
      messages_(std::move(messages)),
      farewells_(std::move(farewells)),
      words_(gpu.proxy_memory().take(words_size)) {
  if (!words_) throw device::Error(CUDA_ERROR_OUT_OF_MEMORY, "no page-locked memory for the words of the proxy");
  std::memset(words_, 0, words_size);
  for (const bool sends : {false, true}) {
    if (sends) sends_from_ = requests_.size();
    for (const auto& message : messages_)
      if (message.sends() == sends) requests_.push_back(message.request());
  }
  try {
    with_lock([&](Proxy& p) {
      if (!p.thread.joinable()) p.thread = base::quiet_thread(serve);
      p.all.push_back(this);
      p.changed.notify_one();
    });
  } catch (...) {
    gpu_.proxy_memory().give(words_, words_size);
    throw;
  }
}

ProxiedExchange::~ProxiedExchange() {
  with_lock([&](Proxy& p) {
    if (std::erase(p.all, this) > 0) end();
  });
  gpu_.proxy_memory().give(words_, words_size);
}

std::uintptr_t ProxiedExchange::word(std::size_t i) const {
  return reinterpret_cast<std::uintptr_t>(words_) + i * pack::cuda::slot_stride;
}

void ProxiedExchange::write(std::uintptr_t word, std::uint64_t number) const {
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(word)).store(number, std::memory_order_release);
}

void ProxiedExchange::fail(int code) {
  if (error() != MPI_SUCCESS) return;
  error_.store(code, std::memory_order_release);  // whoever finds the data undefined finds the error
  for (const auto& farewell : farewells_)
    if (farewell->rank() != lost()) farewell->say();
  write(received(), broken);
  write(sent(), broken);
}

void ProxiedExchange::look_for_farewells() {
  for (const auto& farewell : farewells_) {
    if (!farewell->came()) continue;
    lost_.store(farewell->rank(), std::memory_order_release);
    return fail(MPI_ERR_OTHER);
  }
}

int ProxiedExchange::start() {
  all_received_ = !receives();
  all_sent_ = !sends();
  for (auto& request : requests_)
    if (const int code = process->own.Start(&request); code != MPI_SUCCESS) return code;
  return MPI_SUCCESS;
}

int ProxiedExchange::test() {
  const auto test_part = [&](std::size_t begin, std::size_t end, bool& all, std::uintptr_t word) -> int {
    if (all) return MPI_SUCCESS;
    int complete = 0;
    const int code =
        process->own.Testall(static_cast<int>(end - begin), requests_.data() + begin, &complete, MPI_STATUSES_IGNORE);
    all = code == MPI_SUCCESS && complete;
    if (all) write(word, under_way_);
    return code;
  };
  const int code = test_part(0, sends_from_, all_received_, received());
  return code == MPI_SUCCESS ? test_part(sends_from_, requests_.size(), all_sent_, sent()) : code;
}

ProxiedExchange::Progress ProxiedExchange::progress() {
  if (error() != MPI_SUCCESS) return Progress::none;
  if (given_up_.load(std::memory_order_acquire)) fail(MPI_ERR_OTHER);
  if (++looks_ % looks_between == 0) look_for_farewells();
  if (error() != MPI_SUCCESS) return Progress::some;
  const bool starts = under_way_ == 0;
  if (starts) {
    const auto wanted = std::atomic_ref(*reinterpret_cast<std::uint64_t*>(started())).load(std::memory_order_acquire);
    if (wanted <= done_) return Progress::none;
    under_way_ = wanted;
    if (const int code = start(); code != MPI_SUCCESS) return fail(code), Progress::some;
  }
  if (const int code = test(); code != MPI_SUCCESS) return fail(code), Progress::some;
  if (!all_received_ || !all_sent_) return starts ? Progress::some : Progress::waiting;
  done_ = std::exchange(under_way_, 0);
  return Progress::some;
}

void ProxiedExchange::end() {
  if (under_way_ != 0) fail(MPI_ERR_OTHER);
  for (auto& message : messages_) {
    // The other rank may have started a broken exchange that this rank has not started.
    if (error() != MPI_SUCCESS) message.keep_tags();
    message.end();
  }
  for (auto& farewell : farewells_) farewell->end();
}

void stop_proxy() {
  std::thread thread;
  with_lock([&](Proxy& p) {
    p.stop = true;
    for (auto* exchange : p.all) exchange->end();
    p.all.clear();
    thread.swap(p.thread);
    p.changed.notify_one();
  });
  if (thread.joinable()) thread.join();
}

}  // namespace dunnage::mpi
