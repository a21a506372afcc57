#include "mpi/ways/from_channel.hpp"

#include <algorithm>

#include "mpi/channels/streams.hpp"
#include "mpi/message/buffer.hpp"
#include "mpi/message/fetch_batch.hpp"
#include "mpi/message/progress.hpp"
#include "mpi/process/arrivals.hpp"
#include "mpi/process/types.hpp"
#include "transport/shm/patience.hpp"

namespace dunnage::mpi {

bool surely_right(const ReceiveCall& call) {
  const auto* known = known_type(call.type);
  return known && call.count >= 0 && (call.buffer || known->layout().true_lb != 0 || call.count * known->bytes() == 0);
}

bool waits_for_channel(Posting& posting, const ReceiveCall& call) {
  if (!surely_right(call)) return posting.begin(nullptr);
  const Side side(EdgeData{call.buffer, call.count, call.type});
  return posting.begin(&side, call.count * known_type(call.type)->bytes());
}

std::unique_ptr<Posting> posting_of(const ReceiveCall& call) {
  if (call.apart) return nullptr;
  const bool hears = channels_possible() && call.count > 0 && !surely_host(call.buffer);
  if (!hears && !channel_counts_receive(call.comm, call.source, call.tag)) return nullptr;
  return Posting::on(call.comm, call.source, call.tag);
}

std::unique_ptr<Posting> posting_of(int source, int tag, MPI_Comm comm) {
  auto posting = posting_of({{}, nullptr, 0, MPI_BYTE, source, tag, comm, 0});
  if (posting) posting->begin(nullptr);
  return posting;
}

std::int64_t bytes_of(InLine& line) { return std::min(line.size(), line.buffers().bytes()); }

void tell_status(std::int64_t bytes, int source, int tag, MPI_Status& status) {
  process->own.Status_set_elements_x(&status, MPI_BYTE, bytes);
  process->own.Status_set_cancelled(&status, 0);
  status.MPI_SOURCE = source;
  status.MPI_TAG = tag;
}

int fetch_from(InLine& line) {
  int code = MPI_SUCCESS;
  line.take_in_place();
  line.fetch([&](int failed) {
    if (code == MPI_SUCCESS) code = failed;
  });
  return code;
}

int receive_by_channel(const ReceiveCall& call, Posting& posting, MPI_Status* users) {
  auto& line = *posting.wait().line;
  const EdgeData data{call.buffer, call.count, call.type};
  guarded([&] { line.take({&data, 1}); });  // after an error fetch_from() tells it
  unsigned rounds = 0;
  for (transport::shm::Patience patience; !posting.has_come(); patience.wait()) {
    progress_receives();
    if (++rounds % polls_between == 0) let_mpi_progress();
  }
  posting.end_wait();
  if (users != MPI_STATUS_IGNORE) tell_status(bytes_of(line), call.source, call.tag, *users);
  const Accelerated counted(call.hook, line.size());
  FetchBatch batch;
  int code = fetch_from(line);
  for (const auto& failure : batch.finish())
    if (code == MPI_SUCCESS) code = failure.code;
  return raise_ended(call.comm, code);
}

}  // namespace dunnage::mpi
