#include "cuda_aware/buffers.hpp"

namespace bench {

std::string name(Kind kind) {
  switch (kind) {
    case Kind::device: return "device";
    case Kind::host: return "host";
    case Kind::staged: return "staged by the program";
  }
  return "";
}

Buffers::Buffers(Kind kind, std::size_t bytes)
    : kind_(kind), bytes_(bytes), send_(where(), bytes), recv_(where(), bytes) {
  if (kind != Kind::staged) return;
  host_send_.emplace(Where::host, bytes);
  host_recv_.emplace(Where::host, bytes);
  pinned_send_.emplace(*host_send_);
  pinned_recv_.emplace(*host_recv_);
}

void Buffers::renew() {
  // The old memory is freed last, so that the new memory lies elsewhere. The next memory may lie at
  // the old place.
  Memory send(where(), bytes_), recv(where(), bytes_);
  send_ = std::move(send);
  recv_ = std::move(recv);
}

void Buffers::stage_out(const Window& window, int k) const {
  if (kind_ == Kind::staged)
    BENCH_CU(cuMemcpyDtoH, mpi_send(window, k), to_send(window, k).device(), window.shape.bytes);
}

void Buffers::stage_in(const Window& window, int k) const {
  if (kind_ == Kind::staged)
    BENCH_CU(cuMemcpyHtoD, received(window, k).device(), mpi_recv(window, k), window.shape.bytes);
}

void Buffers::fill(const Pattern& pattern, const Window& window, std::size_t salt) const {
  for (int k = 0; k < window.length; ++k)
    pattern.fill(to_send(window, k), window.shape, salt + static_cast<std::size_t>(k));
}

void Buffers::poison(const Window& window) const { set(recv_.place(), Pattern::poison, window.bytes()); }

bool Buffers::arrived(Pattern& pattern, const Window& window, std::size_t salt) const {
  bool right = true;
  for (int k = 0; k < window.length; ++k)
    right = pattern.arrived(received(window, k), window.shape, salt + static_cast<std::size_t>(k)) && right;
  return right;
}

}  // namespace bench
