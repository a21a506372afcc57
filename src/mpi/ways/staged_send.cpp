#include "mpi/ways/staged_send.hpp"

#include "mpi/message/gpu_shared.hpp"

namespace dunnage::mpi {

using plan::Operation;
using plan::Reason;
using transport::Outbound;

namespace {

/// The reason for the report why data in device memory were not announced.
plan::GpuWay staged_way(const SendCall& call, const std::optional<Outbound>& message, const Accepted& accepted) {
  if (mode_of(call.hook) == Mode::buffered) return plan::GpuWay::staged_mode;
  if (accepted.passed && accepted.buffer.device()) return plan::passed_way(process->model.gpu, accepted.bytes(), false);
  if (!message) return plan::GpuWay::staged_alone;
  const auto way = message->gpu_way == plan::GpuWay::none ? plan::GpuWay::staged_full : message->gpu_way;
  return way == plan::GpuWay::direct || by_rings(way) ? plan::GpuWay::staged_full : way;
}

/// False if sends that have not ended have too much data in staging memory, or if the data are in
/// device memory.
memory::Budget::Part part_of_staging(const memory::Buffer& buffer) {
  if (buffer.packer()) return {};
  return process->staged_sends.take(static_cast<std::uint64_t>(buffer.size()), process->settings.staging_memory);
}

}  // namespace

memory::Parcel parcel_of(Hook hook, const memory::Buffer& buffer, bool in_device, Reason& why) {
  why = Reason::too_much_waits;
  auto part = part_of_staging(buffer);
  if (!part && !buffer.packer()) return {};
  why = Reason::no_memory;
  auto parcel = parcel_for(buffer, operation_of(hook), buffer.size(), false, in_device);
  if (parcel) parcel.staging.count_as(std::move(part));
  return parcel;
}

Staged stage(const SendCall& call, MessageTurn& turn, const std::optional<Outbound>& message) {
  const auto operation = operation_of(call.hook);
  Staged staged{
      accept_message(call.hook, operation, turn, call.buffer, call.count, call.type, call.most, call.dest, call.comm),
      {}};
  auto& accepted = staged.accepted;
  if (!accepted) {
    if (turn.is_ours()) turn.give_up();
    return staged;
  }
  if (process->reporting && accepted.buffer.packer()) process->count(call.hook, staged_way(call, message, accepted));
  const bool in_device = accepted.passed && operation != Operation::buffered_send;  // the host copies buffered sends
  Reason why;
  staged.parcel = parcel_of(call.hook, accepted.buffer, in_device, why);
  if (staged.parcel) return staged;
  process->count(call.hook, why);
  if (accepted.buffer.device()) accepted.error = MPI_ERR_NO_MEM;
  accepted.buffer = {};
  turn.give_up();
  return staged;
}

StagedPersistent stage_persistent(const SendCall& call, const std::optional<Outbound>& message) {
  const auto operation = operation_of(call.hook);
  if (auto* trial = trial_at_starts(call.hook, operation, call.buffer, call.count, call.type, call.dest)) {
    auto accepted = accept_message(call.hook, operation, MessageTurn(plan::Packer::cached), call.buffer, call.count,
                                   call.type, call.most, call.dest, call.comm);
    return {accepted, {}, accepted ? trial : nullptr};
  }
  MessageTurn by_model;
  auto [accepted, parcel] = stage(call, by_model, message);
  return {std::move(accepted), std::move(parcel)};
}

}  // namespace dunnage::mpi
