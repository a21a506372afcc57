#include "mpi/partitioned/call.hpp"

#include "mpi/message/attach.hpp"
#include "mpi/message/persistent.hpp"
#include "mpi/partitioned/receive_request.hpp"
#include "mpi/partitioned/send_request.hpp"
#include "mpi/process/communicators.hpp"
#include "mpi/process/failure.hpp"

namespace dunnage::mpi {
namespace {

/// Arguments that the MPI itself is to refuse.
bool wrong(const PartitionedCall& call, const MPI_Request* request) {
  const bool peer_is_there = call.peer == MPI_PROC_NULL || (call.peer >= 0 && call.peer < members(call.comm));
  return call.partitions < 0 || call.count < 0 || call.type == MPI_DATATYPE_NULL || !peer_is_there || call.tag < 0 ||
         call.tag > largest_tag() || !request;
}

bool too_large(const PartitionedCall& call, const KeptType& type) {
  std::int64_t bytes = 0;
  return __builtin_mul_overflow(call.count, type.bytes(), &bytes) ||
         __builtin_mul_overflow(call.partitions, bytes, &bytes);
}

/// Returns an MPI error code. Without an error `made` has the operation.
int make(const PartitionedCall& call, std::shared_ptr<const KeptType> type, Origin& origin, bool sends,
         MPI_Request* request, std::unique_ptr<PartitionedRequest>& made) {
  const bool to_nobody = call.peer == MPI_PROC_NULL;
  const int peer = to_nobody ? MPI_PROC_NULL : world_rank(call.comm, call.peer);
  int code = MPI_SUCCESS;
  if (sends) {
    auto operation = std::make_unique<PartitionedSend>(call, std::move(type), origin, peer);
    code = operation->make_handle(request);
    if (code == MPI_SUCCESS && !to_nobody) code = operation->introduce_to(peer, origin);
    made = std::move(operation);
  } else {
    auto operation = std::make_unique<PartitionedReceive>(call, std::move(type), origin);
    code = operation->make_handle(request);
    if (code == MPI_SUCCESS && !to_nobody) operation->expect_from(peer, origin);
    made = std::move(operation);
  }
  return code;
}

}  // namespace

void PartitionedInit::init(PartitionedCall call, bool sends, MPI_Request* request) {
  auto* origin = origin_of(call.comm);
  if (!origin || wrong(call, request)) return;
  MPI_Request handle = MPI_REQUEST_NULL;
  std::unique_ptr<PartitionedRequest> operation;
  int code = MPI_SUCCESS;
  const int thrown = guarded([&] {
    auto type = std::make_shared<const KeptType>(call.type);
    code = type->code() == MPI_SUCCESS && too_large(call, *type) ? MPI_ERR_COUNT : type->code();
    if (code != MPI_SUCCESS) return;
    call.type = type->handle();
    code = make(call, std::move(type), *origin, sends, &handle, operation);
    if (code != MPI_SUCCESS) return;
    operation->persistent = true;
    attach(handle, std::move(operation));
    *request = handle;
  });
  if (thrown != MPI_SUCCESS) code = thrown;
  if (code != MPI_SUCCESS && handle != MPI_REQUEST_NULL) process->own.Request_free(&handle);
  note_partitioned(code, sends, call.buffer, call.partitions, call.partitions * call.count, call.type, call.peer,
                   call.tag, call.comm, request);
  code_ = raise_failure(call.comm, code);
}

}  // namespace dunnage::mpi
