#include "mpi/partitioned/request.hpp"

#include <vector>

#include "mpi/completion/calls.hpp"
#include "mpi/message/progress.hpp"
#include "mpi/process/arrivals.hpp"
#include "mpi/process/world_returns_errors.hpp"
#include "transport/shm/patience.hpp"

namespace dunnage::mpi {
namespace {

/// Never destroyed: requests may outlive other statics.
struct LookedAfter {
  std::mutex mutex;
  std::vector<PartitionedRequest*> all;
};
LookedAfter& looked_after() {
  static auto* all = new LookedAfter;
  return *all;
}

/// Lets all go on.
void look_after_all() {
  auto& requests = looked_after();
  const std::lock_guard lock(requests.mutex);
  for (auto* request : requests.all) request->go_on();
}

}  // namespace

thread_local bool PartitionedRequest::under_way_in_thread = false;

void PartitionedRequest::look_after_always() {
  auto& requests = looked_after();
  const std::lock_guard lock(requests.mutex);
  requests.all.push_back(this);
}

void PartitionedRequest::end_looking_after() {
  auto& requests = looked_after();
  const std::lock_guard lock(requests.mutex);
  std::erase(requests.all, this);
}

int PartitionedRequest::make_handle(MPI_Request* handle) {
  tag_.emplace(process->rank, 1);
  if (!*tag_) return MPI_ERR_OTHER;
  const int code =
      process->own.Recv_init(nullptr, 0, MPI_BYTE, process->rank, tag_->first(), private_world(), &handle_);
  *handle = handle_;
  return code;
}

void PartitionedRequest::show() {
  if (shown_) return;
  if (process->own.Start(&handle_) != MPI_SUCCESS) return finish();  // the MPI takes it for complete
  const Step step(*this);
  shown_ = true;
  if (ended_) complete_handle();
}

void PartitionedRequest::complete_handle() {
  process->own.Send(nullptr, 0, MPI_BYTE, process->rank, tag_->first(), private_world());
}

Request::Start PartitionedRequest::begin(int& code) {
  const Step step(*this);
  ended_ = false;
  shown_ = false;  // the MPI has completed it since
  code_.store(MPI_SUCCESS, std::memory_order_relaxed);
  failed_.store(MPI_SUCCESS, std::memory_order_relaxed);
  code = restart();
  return code == MPI_SUCCESS ? Start::done : Start::failed;
}

bool PartitionedRequest::go_on() {
  if (under_way_in_thread) return false;
  const Step step(*this);
  if (ended_) return true;
  const WorldReturnsErrors guard;
  if (!move_on()) return false;
  ended_ = true;
  if (shown_) complete_handle();
  return true;
}

bool PartitionedRequest::fetch_parts(FetchBatch& batch, int index) {
  // Another thread may ask for a partition, and must not take one for complete that is on its way.
  if (under_way_in_thread || !one_thread_at_a_time()) return true;
  const Step step(*this);
  const WorldReturnsErrors guard;
  return ended_ || fetch(batch, index);
}

void PartitionedRequest::finish() {
  const WorldReturnsErrors guard;  // once for all rounds
  constexpr int spins = 100;       // a look at messages takes a microsecond
  transport::shm::Patience patience(spins);
  for (int round = 1; !go_on(); ++round, patience.wait()) {
    if (round % polls_between != 0) continue;
    let_mpi_progress();
    progress_receives();
    look_after_all();
  }
}

void PartitionedRequest::note(int code) {
  int expected = MPI_SUCCESS;
  if (code == MPI_SUCCESS) return;
  code_.compare_exchange_strong(expected, code, std::memory_order_relaxed);
  expected = MPI_SUCCESS;
  if (code != MPI_ERR_TRUNCATE) failed_.compare_exchange_strong(expected, code, std::memory_order_relaxed);
}

bool PartitionedRequest::message_ended(MPI_Request& request) {
  if (request == MPI_REQUEST_NULL) return true;  // it could not begin, or nobody waits for it
  if (const auto code = end_without_mpi(request)) {
    note(*code);
    return true;
  }
  int flag = 0;
  const bool known = process->requests.find(key_of(request));
  const int failed = known ? test(Hook::MPI_Test, process->own.Test, &request, &flag, MPI_STATUS_IGNORE)
                           : process->own.Test(&request, &flag, MPI_STATUS_IGNORE);
  note(failed);
  return flag || failed != MPI_SUCCESS;
}

int PartitionedRequest::end() {
  if (gone_->load(std::memory_order_relaxed)) raise_on(errors_of_comm(MPI_COMM_WORLD));
  return code();
}

void PartitionedRequest::tell_status(MPI_Status& status, int source, int tag, std::int64_t bytes) const {
  process->own.Status_set_elements_x(&status, MPI_BYTE, bytes);
  process->own.Status_set_cancelled(&status, 0);
  status.MPI_SOURCE = source;
  status.MPI_TAG = tag;
}

}  // namespace dunnage::mpi
