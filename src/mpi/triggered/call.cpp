#include "mpi/triggered/call.hpp"

#include "mpi/process/failure.hpp"
#include "mpi/triggered/exchange.hpp"

namespace dunnage::mpi {
namespace {

Exchange* exchange_of(void* handle) { return static_cast<Exchange*>(handle); }
Queue* queue_of(void* handle) { return static_cast<Queue*>(handle); }

}  // namespace

int match_exchange(int count, MPI_Request* requests, void** exchange, bool stamps) {
  if (count < 0) return MPI_ERR_COUNT;
  if (!exchange || (count > 0 && !requests)) return MPI_ERR_ARG;
  std::unique_ptr<Exchange> made;
  int code = MPI_SUCCESS;
  const int thrown = guarded([&] { code = match(count, requests, stamps, made); });
  if (thrown != MPI_SUCCESS) return thrown;
  if (code != MPI_SUCCESS) return code;
  *exchange = made.release();
  return MPI_SUCCESS;
}

int free_exchange(void** exchange) {
  if (!exchange || !*exchange) return MPI_ERR_ARG;
  std::unique_ptr<Exchange> one(exchange_of(*exchange));
  const int code = one->close();
  if (code == MPI_ERR_REQUEST && one->active()) {
    (void)one.release();  // it is under way, and stays
    return code;
  }
  *exchange = nullptr;
  return code;
}

int create_queue(void* stream, void** queue) {
  if (!queue) return MPI_ERR_ARG;
  return guarded([&] {
    auto made = std::make_unique<Queue>();
    made->stream = static_cast<CUstream>(stream);
    if (const auto* driver = device::driver())
      device::check(*driver, driver->cuCtxGetCurrent(&made->context), "cuCtxGetCurrent");
    *queue = made.release();
  });
}

int free_queue(void** queue) {
  if (!queue || !*queue) return MPI_ERR_ARG;
  if (queue_of(*queue)->active > 0) return MPI_ERR_REQUEST;
  delete queue_of(*queue);
  *queue = nullptr;
  return MPI_SUCCESS;
}

int start_enqueue(void* exchange, void* queue) {
  if (!exchange || !queue) return MPI_ERR_ARG;
  return exchange_of(exchange)->start(*queue_of(queue));
}

int wait_enqueue(void* exchange, void* queue) {
  if (!exchange || !queue) return MPI_ERR_ARG;
  return exchange_of(exchange)->wait(*queue_of(queue));
}

int pready_enqueue(int partition, int request, void* exchange, void* queue) {
  if (!exchange || !queue) return MPI_ERR_ARG;
  return exchange_of(exchange)->pready(partition, request, *queue_of(queue));
}

int device_of_exchange(void* exchange, const void** device) {
  if (!exchange || !device) return MPI_ERR_ARG;
  return exchange_of(exchange)->device(*device);
}

int query_exchange(void* exchange, int* way, const char** why) {
  if (!exchange) return MPI_ERR_ARG;
  if (way) *way = static_cast<int>(exchange_of(exchange)->way());
  if (why) *why = exchange_of(exchange)->why();
  return MPI_SUCCESS;
}

int error_of_exchange(void* exchange, int* code) {
  if (!exchange || !code) return MPI_ERR_ARG;
  *code = exchange_of(exchange)->error();
  return MPI_SUCCESS;
}

}  // namespace dunnage::mpi
