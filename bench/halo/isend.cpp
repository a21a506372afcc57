// MPI_Irecv and MPI_Isend of datatypes.
#include "halo/exchange.hpp"
#include "halo/requests.hpp"

namespace bench::halo {
namespace {

class Isend : public Exchange {
 public:
  Isend(Domain& domain, const std::vector<Region>& regions, const Order& order)
      : comm_(domain.comm()),
        order_(order),
        messages_(domain, regions, order.joined),
        receives_(messages_.receives().size()),
        sends_(messages_.sends().size()) {}

  void exchange(Phases& phases) override {
    if (order_.post == "sends first") send(phases);
    auto receive = receives_.begin();
    for (const auto& m : messages_.receives()) MPI_Irecv(m.at, 1, m.type, m.peer, m.tag, comm_, &*receive++);
    phases.end("post-recv");
    if (order_.post != "sends first") send(phases);
    if (order_.wait == "all") {  // as most programs do: one call for both
      both_ = receives_;
      both_.insert(both_.end(), sends_.begin(), sends_.end());
      wait_for(both_, "all");
      phases.end("wait");
      return;
    }
    wait_for(receives_, order_.wait);
    phases.end("wait-recv");
    wait_for(sends_, order_.wait);
    phases.end("wait-send");
  }

 private:
  void send(Phases& phases) {
    auto request = sends_.begin();
    for (const auto& m : messages_.sends()) MPI_Isend(m.at, 1, m.type, m.peer, m.tag, comm_, &*request++);
    phases.end("post-send");
  }
  MPI_Comm comm_;
  const Order order_;
  const Messages messages_;
  std::vector<MPI_Request> receives_, sends_, both_;
};

/// Three steps of two faces each.
class Implicit : public Exchange {
 public:
  Implicit(Domain& domain, const Order& order) {
    for (std::size_t k = 0; k < 3; ++k) {
      const std::vector<Region> pair(domain.faces().begin() + static_cast<std::ptrdiff_t>(2 * k),
                                     domain.faces().begin() + static_cast<std::ptrdiff_t>(2 * k + 2));
      steps_.push_back(std::make_unique<Isend>(domain, pair, order));
    }
  }
  void exchange(Phases& phases) override {
    for (auto& step : steps_) step->exchange(phases);
  }

 private:
  std::vector<std::unique_ptr<Isend>> steps_;
};

}  // namespace

std::unique_ptr<Exchange> make_isend(Domain& domain, const Order& order) {
  return std::make_unique<Isend>(domain, domain.regions(), order);
}
std::unique_ptr<Exchange> make_implicit(Domain& domain, const Order& order) {
  return std::make_unique<Implicit>(domain, order);
}

}  // namespace bench::halo
