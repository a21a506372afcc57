// A second process beside that of the test. Its exit status tells the test that something went
// wrong in it.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <future>
#include <random>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "transport/peers/world.hpp"

namespace dunnage::transport::peers {

inline std::uint64_t new_job() { return std::random_device{}() * 0x9E3779B97F4A7C15u; }

/// The child is rank 1 of 2. There is a pipe each way, for say() and hear().
class Child {
 public:
  using Body = std::function<bool(World&, int from_parent, int to_parent)>;
  Child(std::uint64_t job, const Body& body, bool brief = false) {
    int down[2], up[2];
    if (pipe(down) != 0 || pipe(up) != 0) abort();
    process_ = fork();
    if (process_ == 0) {
      close(down[1]), close(up[0]);
      const auto world = World::join({job, 1, 2}, std::uint64_t{256} << 20, 64 << 20, brief);
      _exit(world && body(*world, down[0], up[1]) ? 0 : 1);
    }
    close(down[0]), close(up[1]);
    to_ = down[1], from_ = up[0];
  }
  ~Child() {
    close(to_), close(from_);
    EXPECT_EQ(wait(), 0);
  }
  int wait() {
    if (process_ < 0) return 0;
    int status = 0;
    waitpid(process_, &status, 0);
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  }
  void kill_it() {
    ::kill(process_, SIGKILL);
    process_ = -1;
  }
  int to() const { return to_; }
  int from() const { return from_; }

 private:
  pid_t process_;
  int to_, from_;
};

template <class T>
void say(int pipe, const T& value) {
  if (write(pipe, &value, sizeof value) != sizeof value) abort();
}
template <class T>
T hear(int pipe) {
  T value{};
  if (read(pipe, &value, sizeof value) != sizeof value) _exit(2);
  return value;
}

/// The child's side of meet().
inline void be_met(World& world, int from) {
  while (hear<char>(from) == 'm') world.answer();
}
/// Returns when this process may send the child tickets.
inline void meet(World& world, const Child& child) {
  while (!world.peers.reaches(1)) {
    say(child.to(), 'm');
    usleep(1000);
  }
  say(child.to(), '.');
}

/// Runs f in another thread, and returns whether it ends within 10 s.
template <class F>
bool ends_in_another_thread(F f) {
  std::packaged_task<void()> task(std::move(f));
  auto done = task.get_future();
  std::thread(std::move(task)).detach();
  return done.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
}

}  // namespace dunnage::transport::peers
