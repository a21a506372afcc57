#include "mpi/broadcast/bcast_data.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "mpi/process/failure.hpp"
#include "pack/cpu/kernels.hpp"

namespace dunnage::mpi {

/// Bytes from which it may pay to store past the caches.
constexpr std::int64_t least_streamed = 256 << 10;

namespace {

/// What is somewhere else than the host can go, and that no kernel of ours packs: the MPI packs all
/// of it, whatever is asked for.
bool all_at_once(const memory::Landing& landing) { return landing.buffer.packer() && !landing.buffer.device(); }

}  // namespace

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
    : landing_(landing),
      bytes_(bytes),
      stores_(stores),
      code_(code),
      streams_(bytes >= least_streamed && landing.contiguous()) {}

Placer::~Placer() {
  if (streams_) pack::kernels().fence();
}

void Placer::operator()(const char* from, std::int64_t begin, std::int64_t end) {
  if (code_ != MPI_SUCCESS) return;
  if (all_at_once(landing_)) {
    code_ = guarded([&] {
      packed_.insert(packed_.end(), from, from + (end - begin));
      if (end == bytes_) landing_.place(packed_.data(), 0, bytes_);
    });
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

}  // namespace dunnage::mpi
