// The calls of include/dunnage.h. Each takes the function of the same name in dunnage-api, which it
// does not need.
#pragma once

#include "mpi/process/process.hpp"

namespace dunnage::mpi {

/// `stamps`: whether the program's kernels know stamped partitions.
int match_exchange(int count, MPI_Request* requests, void** exchange, bool stamps);
int free_exchange(void** exchange);
int create_queue(void* stream, void** queue);
int free_queue(void** queue);
int start_enqueue(void* exchange, void* queue);
int wait_enqueue(void* exchange, void* queue);
int pready_enqueue(int partition, int request, void* exchange, void* queue);
int device_of_exchange(void* exchange, const void** device);
int query_exchange(void* exchange, int* way, const char** why);
int error_of_exchange(void* exchange, int* code);

// As the hooks call them.
template <class Next>
int match_exchange(Hook, Next, int count, MPI_Request* requests, void** exchange) {
  return match_exchange(count, requests, exchange, false);
}
template <class Next>
int match_stamped_exchange(Hook, Next, int count, MPI_Request* requests, void** exchange) {
  return match_exchange(count, requests, exchange, true);
}
template <class Next>
int free_exchange(Hook, Next, void** exchange) {
  return free_exchange(exchange);
}
template <class Next>
int create_queue(Hook, Next, void* stream, void** queue) {
  return create_queue(stream, queue);
}
template <class Next>
int free_queue(Hook, Next, void** queue) {
  return free_queue(queue);
}
template <class Next>
int start_enqueue(Hook, Next, void* exchange, void* queue) {
  return start_enqueue(exchange, queue);
}
template <class Next>
int wait_enqueue(Hook, Next, void* exchange, void* queue) {
  return wait_enqueue(exchange, queue);
}
template <class Next>
int pready_enqueue(Hook, Next, int partition, int request, void* exchange, void* queue) {
  return pready_enqueue(partition, request, exchange, queue);
}
template <class Next>
int device_of_exchange(Hook, Next, void* exchange, const void** device) {
  return device_of_exchange(exchange, device);
}
template <class Next>
int query_exchange(Hook, Next, void* exchange, int* way, const char** why) {
  return query_exchange(exchange, way, why);
}
template <class Next>
int error_of_exchange(Hook, Next, void* exchange, int* code) {
  return error_of_exchange(exchange, code);
}

}  // namespace dunnage::mpi
