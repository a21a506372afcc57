#include "mpi/neighbours/exchange.hpp"

#include <algorithm>
#include <limits>

#include "mpi/hooks/completion.hpp"
#include "mpi/message/buffer.hpp"
#include "mpi/process/gpu_use.hpp"
#include "mpi/process/types.hpp"
#include "mpi/ways/receive.hpp"
#include "mpi/ways/send.hpp"

namespace dunnage::mpi {
namespace {

constexpr std::int64_t most_int = std::numeric_limits<int>::max();

/// The most elements of one message. A library that has large-count collectives has large-count
/// messages too.
std::int64_t most_elements() {
  const auto& own = process->own;
  return own.Isend_c && own.Irecv_c ? std::numeric_limits<std::int64_t>::max() : most_int;
}

int begin_receive_from(Hook hook, const EdgeData& data, const Edge& edge, MPI_Comm comm, MPI_Request* request) {
  const auto& own = process->own;
  return begin_receive({hook, const_cast<void*>(data.buffer), data.count, data.type, edge.peer, comm, most_elements()},
                       false, request, [&](void* buffer, std::int64_t count, MPI_Datatype type) {
                         return count > most_int ? own.Irecv_c(buffer, count, type, edge.peer, edge.tag, comm, request)
                                                 : own.Irecv(buffer, static_cast<int>(count), type, edge.peer, edge.tag,
                                                             comm, request);
                       });
}

int begin_send_to(Hook hook, const EdgeData& data, const Edge& edge, MPI_Comm comm, MPI_Request* request) {
  const auto& own = process->own;
  return begin_send({hook, data.buffer, data.count, data.type, edge.peer, edge.tag, comm, most_elements()}, request,
                    [&](const void* buffer, std::int64_t count, MPI_Datatype type) {
                      return count > most_int
                                 ? own.Isend_c(buffer, count, type, edge.peer, edge.tag, comm, request)
                                 : own.Isend(buffer, static_cast<int>(count), type, edge.peer, edge.tag, comm, request);
                    });
}

/// Arguments that the MPI itself is to refuse.
bool wrong(const std::vector<EdgeData>& data) {
  for (const auto& one : data)
    if (one.count < 0 || one.count > most_elements() || one.type == MPI_DATATYPE_NULL) return true;
  return false;
}

/// After a call has failed: takes back what can be taken back, and waits for the rest.
void give_up(std::vector<MPI_Request>& requests, std::size_t receives) {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (requests[i] == MPI_REQUEST_NULL) continue;
    if (i < receives) cancel(Hook::MPI_Cancel, process->own.Cancel, &requests[i]);
    wait(Hook::MPI_Wait, process->own.Wait, &requests[i], MPI_STATUS_IGNORE);
  }
}

/// The error of the first message that failed.
int first_error(const std::vector<MPI_Status>& statuses) {
  for (const auto& status : statuses)
    if (status.MPI_ERROR != MPI_SUCCESS && status.MPI_ERROR != MPI_ERR_PENDING) return status.MPI_ERROR;
  return MPI_ERR_OTHER;
}

}  // namespace

MPI_Aint NeighbourExchange::extent(MPI_Datatype type) {
  MPI_Count begin = 0, extent = 0;
  if (type == MPI_DATATYPE_NULL || process->own.Type_get_extent_x(type, &begin, &extent) != MPI_SUCCESS) return 0;
  return static_cast<MPI_Aint>(extent);
}

bool NeighbourExchange::begin() {
  hood_ = neighbourhood(comm_);
  if (hood_) turn_ = next_turn(*hood_);
  return turn_ != Turn::theirs;
}

bool NeighbourExchange::uses_gpu(const std::vector<EdgeData>& data) try {
  if (gpu_use().seen.load(std::memory_order_acquire)) return true;
  return std::any_of(data.begin(), data.end(), [](const EdgeData& one) {
    return one.count > 0 && one.type != MPI_DATATYPE_NULL &&
           on_gpu(one.buffer, one.count, one.type, known_type(one.type));
  });
} catch (const std::exception&) {
  return false;
}

void NeighbourExchange::run(const std::vector<EdgeData>& sends, const std::vector<EdgeData>& receives) {
  if (wrong(sends) || wrong(receives)) return;
  std::vector<MPI_Request> requests(receives.size() + sends.size(), MPI_REQUEST_NULL);
  int code = MPI_SUCCESS;
  auto request = requests.begin();
  for (std::size_t i = 0; i < receives.size() && code == MPI_SUCCESS; ++i)
    code = begin_receive_from(hook_, receives[i], hood_->sources[i], hood_->messages, &*request++);
  for (std::size_t i = 0; i < sends.size() && code == MPI_SUCCESS; ++i)
    code = begin_send_to(hook_, sends[i], hood_->targets[i], hood_->messages, &*request++);
  if (code != MPI_SUCCESS) {
    give_up(requests, receives.size());
  } else {
    std::vector<MPI_Status> statuses(requests.size());
    code = waitall(Hook::MPI_Waitall, process->own.Waitall, static_cast<int>(requests.size()), requests.data(),
                   statuses.data());
    if (code == MPI_ERR_IN_STATUS) code = first_error(statuses);
  }
  code_ = code == MPI_SUCCESS ? MPI_SUCCESS : raise(comm_, code);
}

}  // namespace dunnage::mpi
