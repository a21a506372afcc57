// Persistent requests on datatypes.
#include "halo/exchange.hpp"
#include "halo/requests.hpp"

namespace bench::halo {
namespace {

class Persistent : public Exchange {
 public:
  Persistent(Domain& domain, const Order& order) : order_(order), messages_(domain, domain.regions(), order.joined) {
    const auto add_receives = [&] {
      for (const auto& m : messages_.receives())
        MPI_Recv_init(m.at, 1, m.type, m.peer, m.tag, domain.comm(), &requests_.emplace_back());
    };
    if (order.post != "sends first") add_receives();
    for (const auto& m : messages_.sends())
      MPI_Send_init(m.at, 1, m.type, m.peer, m.tag, domain.comm(), &requests_.emplace_back());
    if (order.post == "sends first") add_receives();
  }
  ~Persistent() override {
    for (auto& request : requests_) MPI_Request_free(&request);
  }

  void exchange(Phases& phases) override {
    if (order_.start_each)
      for (auto& request : requests_) MPI_Start(&request);
    else
      MPI_Startall(static_cast<int>(requests_.size()), requests_.data());
    phases.end("start");
    wait_for(requests_, order_.wait);
    phases.end("wait");
  }

 private:
  const Order order_;
  const Messages messages_;
  std::vector<MPI_Request> requests_;
};

}  // namespace

std::unique_ptr<Exchange> make_persistent(Domain& domain, const Order& order) {
  return std::make_unique<Persistent>(domain, order);
}

}  // namespace bench::halo
