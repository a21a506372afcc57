#include "mpi/partitioned/partitions.hpp"

#include <algorithm>

namespace dunnage::mpi {
namespace {

/// Null after an error, which `code` then tells: no send, or not started.
PartitionedSend* started_send(PartitionedRequest& request, int& code) {
  auto* const send = dynamic_cast<PartitionedSend*>(&request);
  code = send && send->active ? MPI_SUCCESS : MPI_ERR_REQUEST;
  return code == MPI_SUCCESS ? send : nullptr;
}

int raised(const PartitionedRequest& request, int code) {
  return code == MPI_SUCCESS ? code : raise(request.errors(), code);
}

}  // namespace

PartitionedRequest* partitioned(MPI_Request request) {
  progress_orphans();
  return process->requests.empty() ? nullptr
                                   : dynamic_cast<PartitionedRequest*>(process->requests.find(key_of(request)));
}

int make_ready(PartitionedRequest& request, std::int64_t first, std::int64_t last) {
  int code = MPI_SUCCESS;
  auto* const send = started_send(request, code);
  if (send) code = send->has(first) && send->has(last) && first <= last ? send->ready(first, last + 1) : MPI_ERR_ARG;
  return raised(request, code);
}

int make_ready(PartitionedRequest& request, std::span<const int> partitions) {
  int code = MPI_SUCCESS;
  auto* const send = started_send(request, code);
  if (send && !std::all_of(partitions.begin(), partitions.end(), [&](int p) { return send->has(p); }))
    code = MPI_ERR_ARG;
  for (const int p : partitions)
    if (code == MPI_SUCCESS) code = send->ready(p, std::int64_t{p} + 1);
  return raised(request, code);
}

int make_ready(HeldPartitions& held, MPI_Request request, std::int64_t first, std::int64_t last) {
  return held.ready(first, last, [&](int one) { return process->own.Pready(one, request); });
}

int make_ready(HeldPartitions& held, MPI_Request request, std::span<const int> partitions) {
  int code = MPI_SUCCESS;
  for (const int p : partitions)
    if (code == MPI_SUCCESS) code = make_ready(held, request, p, p);
  return code;
}

int look_for(PartitionedRequest& request, std::int64_t partition, int* flag) {
  auto* const receive = dynamic_cast<PartitionedReceive*>(&request);
  if (!receive) return raised(request, MPI_ERR_REQUEST);
  if (!receive->has(partition)) return raised(request, MPI_ERR_ARG);
  *flag = receive->arrived(partition);
  return raised(request, *flag && receive->active ? receive->failure() : MPI_SUCCESS);
}

}  // namespace dunnage::mpi
