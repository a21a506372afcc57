#include "mpi/process/watchdog.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "base/quiet_thread.hpp"

namespace dunnage::mpi {
namespace {

/// A look asks the kernel about each peer, which takes some microseconds.
constexpr std::chrono::milliseconds between_looks{100};

struct Watchdog {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Watched*> all;
  std::thread thread;
  bool stop = false;
};
Watchdog& watchdog() {
  static auto* one = new Watchdog;  // never destroyed: a program may end without MPI_Finalize
  return *one;
}

void look() {
  auto& dog = watchdog();
  std::unique_lock lock(dog.mutex);
  while (!dog.stop) {
    for (auto* one : dog.all)
      if (one->forsaken()) one->poison();
    dog.changed.wait_for(lock, between_looks);
  }
}

}  // namespace

void watch(Watched& watched) {
  auto& dog = watchdog();
  const std::lock_guard lock(dog.mutex);
  if (!dog.thread.joinable()) dog.thread = base::quiet_thread(look);
  dog.all.push_back(&watched);
}

void unwatch(Watched& watched) {
  auto& dog = watchdog();
  const std::lock_guard lock(dog.mutex);
  std::erase(dog.all, &watched);
}

void stop_watchdog() {
  auto& dog = watchdog();
  {
    const std::lock_guard lock(dog.mutex);
    dog.stop = true;
    dog.all.clear();
  }
  dog.changed.notify_all();
  if (dog.thread.joinable()) dog.thread.join();
}

}  // namespace dunnage::mpi
