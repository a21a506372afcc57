#include "mpi/message/unfinished.hpp"

#include <mutex>
#include <utility>
#include <vector>

#include "mpi/message/progress.hpp"

namespace dunnage::mpi {

std::atomic<std::size_t> unfinished_sends{0};

namespace {

struct Unfinished {
  std::unique_ptr<transport::Sending> sending;
  ErrorsOf errors;
};

/// Held while sends are finished: another thread that asks about one must wait for its end.
std::mutex finishing_mutex;
std::mutex unfinished_mutex;
/// Never destroyed: calls may come from destructors at exit.
auto& all_unfinished() {
  static auto* all = new std::vector<Unfinished>;
  return *all;
}

}  // namespace

void finish_later(std::unique_ptr<transport::Sending> sending, const ErrorsOf& errors) {
  const std::lock_guard lock(unfinished_mutex);
  all_unfinished().push_back({std::move(sending), errors});
  unfinished_sends.fetch_add(1, std::memory_order_relaxed);
}

void finish_all_sends() {
  std::vector<std::pair<ErrorsOf, int>> failures;
  {
    const std::lock_guard alone(finishing_mutex);
    progress_receives();
    std::vector<Unfinished> sends;
    {
      const std::lock_guard lock(unfinished_mutex);
      sends = std::exchange(all_unfinished(), {});
    }
    for (auto& send : sends)
      if (const int code = send.sending->finish(); code != MPI_SUCCESS) failures.emplace_back(send.errors, code);
    // Only now: until then other threads must not take the fast way past these sends.
    unfinished_sends.fetch_sub(sends.size(), std::memory_order_release);
  }
  // An error handler is the program's and may call MPI.
  for (const auto& [errors, code] : failures) raise(errors, code);
}

}  // namespace dunnage::mpi
