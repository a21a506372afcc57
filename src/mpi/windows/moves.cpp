#include "mpi/windows/moves.hpp"

#include "mpi/message/copy_within.hpp"
#include "mpi/process/failure.hpp"
#include "transport/shm/patience.hpp"

namespace dunnage::mpi {

namespace {

/// What must live until the data have been moved.
struct KeptMove {
  memory::Buffer from, to;
  std::shared_ptr<const void> mapping;
};

}  // namespace

int WindowMoves::add(const memory::Buffer& from, const memory::Buffer& to, std::int64_t bytes,
                     std::shared_ptr<const void> mapping) {
  return guarded([&] {
    if (const auto context = common_context(from, to)) {
      const std::lock_guard lock(mutex_);
      if (*context != context_) launch();
      context_ = *context;
      waiting_.push_back({*from.device(), *to.device(), bytes,
                          std::make_shared<const KeptMove>(KeptMove{from, to, std::move(mapping)})});
      waiting_bytes_ += bytes;
      if (waiting_bytes_ >= worth_a_launch || waiting_.size() >= most_together) launch();
      return;
    }
    const memory::Landing landing{to};
    landing.restart();
    copy_by_host(from, landing, bytes);
    landing.finish();
  });
}

void WindowMoves::launch() {
  const auto moves = std::exchange(waiting_, {});
  waiting_bytes_ = 0;
  if (!moves.empty()) flights_.emplace_back(context_, moves);
}

int WindowMoves::complete() {
  const std::lock_guard lock(mutex_);
  int code = guarded([&] { launch(); });
  for (auto& flight : flights_) {
    const int failed = guarded([&] {
      for (transport::shm::Patience patience; !flight.done();) patience.wait();
    });
    if (failed != MPI_SUCCESS) code = failed;
  }
  flights_.clear();
  return code;
}

}  // namespace dunnage::mpi
