#include "mpi/broadcast/bcast_data.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "mpi/message/buffer.hpp"
#include "pack/cpu/kernels.hpp"

namespace dunnage::mpi {

/// Bytes from which it may pay to store past the caches.
constexpr std::int64_t least_streamed = 256 << 10;

namespace {

/// What is somewhere else than the host can go, and that no kernel of ours packs: the MPI packs all
/// of it, whatever is asked for.
bool all_at_once(const memory::Landing& landing) { return landing.buffer.packer() && !landing.buffer.device(); }

/// Whether the first byte of such data is at the buffer's address.
bool begins_at_buffer(MPI_Datatype type) {
  if (const auto* known = known_type(type)) return known->layout().true_lb == 0;
  MPI_Count low = 0, extent = 0;
  return process->own.Type_get_true_extent_x(type, &low, &extent) != MPI_SUCCESS || low == 0;
}

}  // namespace

memory::Buffer broadcast_buffer(void* buffer, std::int64_t count, MPI_Datatype type, bool by_mpi, int& code) {
  memory::Buffer found;
  if (!buffer && begins_at_buffer(type))
    code = MPI_ERR_BUFFER;
  else
    code = guarded([&] { found = by_mpi ? buffer_by_mpi(buffer, count, type) : buffer_of(buffer, count, type); });
  return found;
}

bool Reader::operator()(char* to, std::int64_t begin, std::int64_t end) {
  if (code_ != MPI_SUCCESS) return false;
  code_ = guarded([&] {
    if (!all_at_once(landing_)) return landing_.read(to, begin, end);
    if (packed_.empty()) {  // what the MPI packs it packs at once
      packed_.resize(static_cast<std::size_t>(bytes_));
      landing_.read(packed_.data(), 0, bytes_);
    }
    std::copy(packed_.begin() + begin, packed_.begin() + end, to);
  });
  return code_ == MPI_SUCCESS;
}

Placer::Placer(const memory::Landing& landing, std::int64_t bytes, pack::StoreChoice& stores, int& code)
    : landing_(landing), stores_(stores), code_(code), streams_(bytes >= least_streamed && landing.contiguous()) {}

Placer::~Placer() {
  if (streams_) pack::kernels().fence();
}

void Placer::operator()(const char* from, std::int64_t begin, std::int64_t end) {
  if (code_ != MPI_SUCCESS) return;
  if (all_at_once(landing_)) {
    code_ = guarded([&] { packed_.insert(packed_.end(), from, from + (end - begin)); });
    return;
  }
  if (!streams_) {
    code_ = guarded([&] { landing_.place(from, begin, end); });
    return;
  }
  const bool streamed = stores_.next();
  const auto start = std::chrono::steady_clock::now();
  auto* const to = landing_.contiguous() + begin;
  if (streamed)
    pack::kernels().stream(to, from, end - begin);
  else
    std::memcpy(to, from, static_cast<std::size_t>(end - begin));
  stores_.learn(streamed, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
                              static_cast<double>(end - begin));
}

void Placer::finish() {
  if (code_ != MPI_SUCCESS) return;
  code_ = guarded([&] {
    if (!packed_.empty()) landing_.place(packed_.data(), 0, static_cast<std::int64_t>(packed_.size()));
    landing_.finish();
  });
}

}  // namespace dunnage::mpi
