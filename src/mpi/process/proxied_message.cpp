#include "mpi/process/proxied_message.hpp"

namespace dunnage::mpi {
namespace {

void check_made(int code) {
  if (code != MPI_SUCCESS) throw device::Error(CUDA_ERROR_UNKNOWN, "the MPI makes no request for the proxy");
}

}  // namespace

ProxiedMessage::ProxiedMessage(device::Gpu& gpu, Tags tags, std::int64_t bytes)
    : gpu_(gpu), tags_(std::move(tags)), sends_(tags_), bytes_(bytes), memory_(gpu.proxy_memory().take(room())) {
  if (!memory_) throw device::Error(CUDA_ERROR_OUT_OF_MEMORY, "no page-locked memory for a message of the proxy");
}

ProxiedMessage ProxiedMessage::to(device::Gpu& gpu, int rank, Tags tags, std::int64_t bytes, bool synchronous) {
  ProxiedMessage made(gpu, std::move(tags), bytes);
  const auto init = synchronous ? process->own.Ssend_init : process->own.Send_init;
  check_made(
      init(made.memory_, static_cast<int>(bytes), MPI_BYTE, rank, made.tags_.first(), private_world(), &made.request_));
  return made;
}

ProxiedMessage ProxiedMessage::from(device::Gpu& gpu, int rank, int tag, std::int64_t bytes) {
  ProxiedMessage made(gpu, {}, bytes);
  check_made(process->own.Recv_init(made.memory_, static_cast<int>(bytes), MPI_BYTE, rank, tag, private_world(),
                                    &made.request_));
  return made;
}

ProxiedMessage::ProxiedMessage(ProxiedMessage&& other) noexcept
    : gpu_(other.gpu_),
      tags_(std::move(other.tags_)),
      sends_(other.sends_),
      bytes_(other.bytes_),
      memory_(std::exchange(other.memory_, nullptr)),
      request_(std::exchange(other.request_, MPI_REQUEST_NULL)) {}

ProxiedMessage::~ProxiedMessage() {
  end();
  if (memory_) gpu_.proxy_memory().give(memory_, room());
}

void ProxiedMessage::end() {
  if (request_ == MPI_REQUEST_NULL) return;
  // An inactive request must not be cancelled.
  int over = 0;
  if (process->own.Request_get_status(request_, &over, MPI_STATUS_IGNORE) != MPI_SUCCESS || !over) {
    process->own.Cancel(&request_);
    memory_ = nullptr;
    tags_.keep();
  }
  process->own.Request_free(&request_);
}

}  // namespace dunnage::mpi
