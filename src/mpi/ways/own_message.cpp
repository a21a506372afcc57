#include "mpi/ways/own_message.hpp"

#include <limits>

#include "mpi/channels/streams.hpp"

namespace dunnage::mpi {
namespace {

constexpr std::int64_t most_int = std::numeric_limits<int>::max();

/// Calls the function that takes so many elements.
template <class Large, class Small, class Buffer, class... Rest>
int by_count(Large large, Small small, Buffer buffer, std::int64_t count, Rest... rest) {
  return count > most_int ? large(buffer, count, rest...) : small(buffer, static_cast<int>(count), rest...);
}

}  // namespace

std::int64_t most_elements(bool persistent) {
  const auto& own = process->own;
  const bool large = persistent ? own.Send_init_c && own.Recv_init_c : own.Isend_c && own.Irecv_c;
  return large ? std::numeric_limits<std::int64_t>::max() : most_int;
}

int begin_own_send(const SendCall& call, MPI_Request* request) {
  const auto& own = process->own;
  return begin_send(call, request, [&](const void* buffer, std::int64_t count, MPI_Datatype type) {
    return by_count(own.Isend_c, own.Isend, buffer, count, type, call.dest, call.tag, call.comm, request);
  });
}

int begin_own_receive(const ReceiveCall& call, MPI_Request* request) {
  const auto& own = process->own;
  return begin_receive(call, false, request, [&](void* buffer, std::int64_t count, MPI_Datatype type) {
    return by_count(own.Irecv_c, own.Irecv, buffer, count, type, call.source, call.tag, call.comm, request);
  });
}

int init_own_send(const SendCall& call, MPI_Request* request) {
  const auto& own = process->own;
  return init_send(call, request, [&](const void* buffer, std::int64_t count, MPI_Datatype type) {
    return by_count(own.Send_init_c, own.Send_init, buffer, count, type, call.dest, call.tag, call.comm, request);
  });
}

int init_own_receive(const ReceiveCall& call, MPI_Request* request) {
  const auto& own = process->own;
  return begin_receive(call, true, request, [&](void* buffer, std::int64_t count, MPI_Datatype type) {
    return by_count(own.Recv_init_c, own.Recv_init, buffer, count, type, call.source, call.tag, call.comm, request);
  });
}

void end_own_sends(const TagsOfPeer& tags) {
  if (const auto streams = Streams::of(tags.comm, false))
    for (int i = 0; i < tags.count; ++i) streams->forget_to(tags.peer, tags.first + i);
}

void end_own_receives(const TagsOfPeer& tags) {
  if (const auto streams = Streams::of(tags.comm, false))
    for (int i = 0; i < tags.count; ++i) streams->forget_from(tags.peer, tags.first + i);
}

}  // namespace dunnage::mpi
