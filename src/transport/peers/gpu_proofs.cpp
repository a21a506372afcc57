#include "transport/peers/gpu_proofs.hpp"

#include <utility>

namespace dunnage::transport::peers {

bool GpuProofs::read_by(std::uint32_t rank, const std::function<std::optional<Proof>()>& make) {
  const auto& memory = *peers_.memory(rank);
  auto& mailbox = memory.mailbox(peers_.self().rank);
  auto state = mailbox.gpu.load(std::memory_order_acquire);
  if (state != Mailbox::none) return state == Mailbox::accepted || state == Mailbox::accepted_far;
  // One thread makes the proof. Others see that it is being made.
  if (!mailbox.gpu.compare_exchange_strong(state, Mailbox::preparing, std::memory_order_acq_rel)) return false;
  std::optional<Proof> proof;
  try {
    proof = make();
  } catch (...) {
    mailbox.gpu.store(Mailbox::refused, std::memory_order_release);
    throw;
  }
  if (proof) mailbox.proof = *proof;
  mailbox.gpu.store(proof ? Mailbox::asked : Mailbox::refused, std::memory_order_release);
  if (proof) memory.header().requests.fetch_add(1, std::memory_order_release);
  return false;
}

bool GpuProofs::read_from_another_gpu(std::uint32_t rank) const {
  const auto* memory = peers_.memory(rank);
  return memory && memory->mailbox(peers_.self().rank).gpu.load(std::memory_order_acquire) == Mailbox::accepted_far;
}

void GpuProofs::check_with(Check check) {
  const std::lock_guard lock(mutex_);
  if (check_) return;
  check_ = std::move(check);
  own_.header().requests.fetch_add(1, std::memory_order_release);  // those who asked before are to be answered too
}

void GpuProofs::answer(std::uint32_t rank) {
  auto& mailbox = own_.mailbox(rank);
  if (mailbox.gpu.load(std::memory_order_acquire) != Mailbox::asked) return;
  Check check;
  {
    const std::lock_guard lock(mutex_);
    check = check_;
  }
  if (check) mailbox.gpu.store(check(mailbox.proof), std::memory_order_release);
}

}  // namespace dunnage::transport::peers
