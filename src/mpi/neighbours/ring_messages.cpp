#include "mpi/neighbours/ring_messages.hpp"

#include <algorithm>

#include "memory/landing.hpp"
#include "mpi/process/failure.hpp"
#include "mpi/process/world_returns_errors.hpp"

namespace dunnage::mpi {

int RingMessages::send(const Partner& to, const memory::Buffer& buffer) {
  return guarded([&] {
    messages_.push_back({MPI_REQUEST_NULL, to.rank, nullptr, {}, 0});
    note(process->own.Isend(buffer.contiguous_host(), static_cast<int>(buffer.size()), MPI_BYTE, to.peer,
                            tags_ + static_cast<int>(to.edge), comm_->comm, &messages_.back().request));
  });
}

int RingMessages::receive(const Partner& from, const memory::Buffer& buffer, std::int64_t bytes) {
  return guarded([&] {
    Message message{MPI_REQUEST_NULL, from.rank, nullptr, {}, bytes};
    const bool fits = buffer && bytes <= buffer.size();
    char* place = fits ? buffer.contiguous_host() : nullptr;
    if (!place) {
      // For overwriting: nothing is set to zero first.
      message.staged.reset(new char[static_cast<std::size_t>(bytes)]);
      place = message.staged.get();
      if (fits) message.buffer = buffer;
    }
    messages_.push_back(std::move(message));
    note(process->own.Irecv(place, static_cast<int>(bytes), MPI_BYTE, from.peer, tags_ + static_cast<int>(from.edge),
                            comm_->comm, &messages_.back().request));
  });
}

bool RingMessages::test() {
  if (messages_.empty()) return true;
  const WorldReturnsErrors guard;
  std::erase_if(messages_, [&](Message& message) {
    int ended = 0;
    const int code = process->own.Test(&message.request, &ended, MPI_STATUS_IGNORE);
    note(code);
    if (!ended && code == MPI_SUCCESS) return false;
    end(message);
    return true;
  });
  return messages_.empty();
}

void RingMessages::end(const Message& message) {
  if (!message.buffer) return;
  const memory::Landing landing{message.buffer};
  note(guarded([&] {
    landing.restart();
    landing.place(message.staged.get(), 0, message.bytes);
    landing.finish();
  }));
}

}  // namespace dunnage::mpi
