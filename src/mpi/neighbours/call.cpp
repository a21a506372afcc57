#include "mpi/neighbours/call.hpp"

#include "device/driver.hpp"
#include "device/looks.hpp"
#include "mpi/message/attach.hpp"
#include "mpi/message/handle.hpp"
#include "mpi/neighbours/messages.hpp"
#include "mpi/neighbours/request.hpp"
#include "mpi/neighbours/rings.hpp"
#include "mpi/neighbours/slot_exchange.hpp"
#include "mpi/neighbours/unasked.hpp"
#include "mpi/process/failure.hpp"

namespace dunnage::mpi {

std::optional<Edges> ExchangeCall::agreed(Turn turn, base::FunctionRef<Edges()> edges,
                                          base::FunctionRef<bool(const Edges&)> asked) const {
  if (turn == Turn::theirs) return std::nullopt;
  auto made = edges();
  if (turn == Turn::asked && !asked(made)) return std::nullopt;
  return made;
}

std::shared_ptr<MessageComm> ExchangeCall::agreed_without_waiting(UnaskedKind& kind, std::optional<Edges>& made,
                                                                  base::FunctionRef<Edges()> edges) const {
  return kind.begin([&] {
    bool there = false;
    guarded([&] {
      if (!device::driver()) return;
      made = edges();
      there = in_device_memory(*made);
    });
    return there;
  });
}

void ExchangeCall::exchange(const Edges& edges) {
  if (!hood_->messages) return exchange_by_rings(edges);
  // Not before: a graph need not be symmetric until it is used.
  if (!std::exchange(hood_->connected, true))
    guarded([&] { hood_->lines = Lines::connect(*hood_, hood_->messages->comm, nullptr); });
  if (wrong(edges, false)) {
    if (hood_->lines) hood_->lines->skip();
    return;
  }
  int code = MPI_SUCCESS;
  {
    const device::Looks looks;  // not while an error handler runs
    Messages messages(hook_, *hood_, hood_->messages);
    code = messages.begin(*hood_, edges, true);
    if (code == MPI_SUCCESS) code = messages.wait();
  }
  code_ = raise_failure(comm_, code);
}

/// If the ranks cannot make their rings, the collective is left to the MPI, and so are those to
/// come.
void ExchangeCall::exchange_by_rings(const Edges& edges) {
  if (!hood_->rings) hood_->rings = Rings::connect(hook_, *hood_, comm_, nullptr);
  if (!hood_->rings) hood_->by_rings = false;
  if (!hood_->rings || wrong(edges, false)) return;
  code_ = raise_failure(comm_, hood_->rings->exchange(hook_, edges));
}

void ExchangeCall::begin(const Edges& edges, MPI_Request* request, const std::shared_ptr<MessageComm>& by) {
  if (wrong(edges, false) || new_handle(request) != MPI_SUCCESS) return;
  auto messages = std::make_unique<Messages>(hook_, *hood_, by);
  const int code = messages->begin(*hood_, edges, false);
  if (code == MPI_SUCCESS) {
    attach(*request, std::make_unique<NeighbourRequest>(std::move(messages), comm_, *request));
  } else {
    end_handle(*request);
    process->own.Wait(request, MPI_STATUS_IGNORE);
  }
  code_ = raise_failure(comm_, code);
}

void ExchangeCall::begin_by_slots(const Edges& edges, MPI_Request* request) {
  if (wrong(edges, false)) return;  // the MPI refuses the call, and nobody counts it
  const auto number = hood_->slots->next(edges);
  if (!number) return;
  // Before the handle, so that the other ranks do not wait if there is none.
  auto exchange = std::make_unique<SlotExchange>(hook_, hood_->slots, *number);
  exchange->begin(edges);
  code_ = new_handle(request);
  if (*code_ == MPI_SUCCESS) attach(*request, std::make_unique<NeighbourRequest>(std::move(exchange), comm_, *request));
}

void ExchangeCall::init(const Edges& edges, MPI_Request* request) {
  if (!hood_->messages) return init_by_rings(edges, request);
  const int tags = hood_->next_tags();
  if (wrong(edges, true) || new_persistent_handle(request) != MPI_SUCCESS) {
    guarded([&] { Lines::connect(*hood_, hood_->messages->comm, nullptr); });  // as the neighbours do
    return;
  }
  auto messages = std::make_unique<Messages>(hook_, *hood_, hood_->messages);
  const int code = messages->init(*hood_, edges, tags);
  if (code == MPI_SUCCESS)
    attach_persistent(std::move(messages), request);
  else
    process->own.Request_free(request);
  code_ = raise_failure(comm_, code);
}

/// If one rank cannot, all leave this operation to the MPI.
void ExchangeCall::init_by_rings(const Edges& edges, MPI_Request* request) {
  const bool bad = wrong(edges, true);
  auto rings = Rings::connect(hook_, *hood_, comm_, bad ? nullptr : &edges);
  if (!rings || bad || new_persistent_handle(request) != MPI_SUCCESS) return;
  attach_persistent(std::move(rings), request);
  code_ = MPI_SUCCESS;
}

void ExchangeCall::attach_persistent(std::unique_ptr<ExchangeWay> way, MPI_Request* request) {
  auto operation = std::make_unique<NeighbourRequest>(std::move(way), comm_);
  operation->keep_way();
  attach(*request, std::move(operation));
}

bool make_message_comm(Neighbourhood& hood, MPI_Comm comm) {
  hood.messages = split_message_comm(hood, comm);
  if (!hood.messages) hood.possible = false;
  return hood.messages != nullptr;
}

}  // namespace dunnage::mpi
