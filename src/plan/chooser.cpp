#include "plan/chooser.hpp"

namespace dunnage::plan {

constexpr auto relaxed = std::memory_order_relaxed;

void Chooser::choose(Packer packer, bool clearly, std::int32_t calls) {
  const bool asks = packer == Packer::library && !clearly && place_;
  choice_.store(packer, relaxed);
  left_by_it_.store(0, relaxed);
  pause_.store(calls, relaxed);
  asks_.store(asks ? most_asked : 0, relaxed);
  if (!asks) tell(packer == Packer::library ? Told::library : Told::ours);
  left_.store(asks ? 0 : calls, relaxed);
}

void Chooser::forget_choice(Packer packer) {
  choice_.store(packer, relaxed);
  asks_.store(0, relaxed);
  tell(Told::nothing);
}

Packer Chooser::agree(Packer own, Told other) {
  if (own == Packer::library) {
    const bool last = asks_.fetch_sub(1, relaxed) <= 1;
    if (other == Told::ours)
      choose(Packer::cached, true, pause_.load(relaxed));
    else if (other == Told::library || last)
      choose(Packer::library, true, pause_.load(relaxed));
    return choice();
  }
  if (other != Told::library) {
    if (left_by_it_.load(relaxed) != 0) left_by_it_.store(0, relaxed);
    return own;
  }
  if (left_by_it_.fetch_add(1, relaxed) + 1 >= most_left && settled()) choose(Packer::library, true, rest);
  return Packer::library;
}

}  // namespace dunnage::plan
