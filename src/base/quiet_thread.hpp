// Threads of Dunnage's own inside a program.
#pragma once

#include <csignal>

#include <thread>
#include <utility>

namespace dunnage::base {

/// Starts a thread in which no signal handler of the program runs. Throws std::system_error if
/// there are no more threads to be had.
template <class Function>
std::thread quiet_thread(Function&& function) {
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  struct Restore {
    const sigset_t& mask;
    ~Restore() { pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
  } const restore{before};
  return std::thread(std::forward<Function>(function));
}

}  // namespace dunnage::base
