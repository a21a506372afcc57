#include "mpi/neighbours/exchange.hpp"

#include "mpi/neighbours/exchange_slots.hpp"
#include "mpi/neighbours/messages.hpp"
#include "mpi/neighbours/rings.hpp"
#include "mpi/neighbours/unasked.hpp"
#include "mpi/process/gpu_use.hpp"

namespace dunnage::mpi {
namespace {

/// All ranks of the communicator call it at a time. Returns whether its collectives go by messages
/// from now on. `uses_gpu`: of this rank. `far`: this rank has a neighbour without a ring. Sets it
/// if a rank has.
bool agree(Neighbourhood& hood, MPI_Comm comm, bool uses_gpu, bool& far) {
  const int here[] = {uses_gpu, far};
  int somewhere[] = {0, 1};
  const int code = process->own.Allreduce(here, somewhere, 2, MPI_INT, MPI_MAX, comm);
  far = code != MPI_SUCCESS || somewhere[1];
  return code == MPI_SUCCESS && somewhere[0] && make_message_comm(hood, comm);
}

}  // namespace

bool NeighbourCall::asked(const Edges& edges) {
  auto& by_rings = hood()->by_rings;
  bool far = !by_rings && !Rings::possible(*hood(), comm());
  if (agree(*hood(), comm(), gpu_use().seen.load(std::memory_order_acquire) || in_device_memory(edges), far))
    return true;
  if (!by_rings) by_rings = !far;
  return hood()->possible && *by_rings;
}

std::shared_ptr<MessageComm> NeighbourCall::agreed_without_waiting(std::optional<Edges>& made,
                                                                   base::FunctionRef<Edges()> edges) {
  if (!hood() || !hood()->possible) return nullptr;
  if (hood()->messages) return hood()->messages;
  constexpr std::uint64_t neighbour_collectives = 1 << 17;  // no other kind has that number
  auto& kind = hood()->unasked;
  if (!kind) kind = std::make_shared<UnaskedKind>(comm(), neighbour_collectives);
  return ExchangeCall::agreed_without_waiting(*kind, made, edges);
}

Edges NeighbourCall::refused() const {
  const auto none = [](std::size_t) { return EdgeData{nullptr, 0, MPI_DATATYPE_NULL}; };
  return edges_by(*hood(), none, none);
}

void see_topology(MPI_Comm comm) {
  auto* hood = neighbourhood(comm);
  if (!hood || !hood->possible) return;
  const bool gpu = device::driver() != nullptr;
  if (ExchangeSlots::possible()) {
    auto found = ExchangeSlots::connect(*hood, comm, gpu);
    hood->slots = std::move(found.slots);
    if (found.gpu) make_message_comm(*hood, comm);
  } else {
    bool far = true;  // that is found out when rings are needed
    agree(*hood, comm, gpu, far);
  }
}

}  // namespace dunnage::mpi
