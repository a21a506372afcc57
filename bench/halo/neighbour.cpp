// MPI_Neighbor_alltoallw on a graph of the 26 neighbours, with one type for all variables of a
// region.
#include "halo/exchange.hpp"

namespace bench::halo {
namespace {

class Neighbour : public Exchange {
 public:
  Neighbour(Domain& domain, Call call) : at_(domain.at(0, {0, 0, 0})), nonblocking_(call == Call::nonblocking) {
    const auto& regions = domain.regions();
    const auto count = regions.size();
    std::vector<int> peers;
    // Several regions may have one peer. The first of its messages comes to the first of its
    // places, so the places are in the order in which the peer sends: by opposite direction,
    // backwards.
    for (const auto& region : regions) peers.push_back(region.peer);
    const std::vector<int> sources(peers.rbegin(), peers.rend());
    MPI_Dist_graph_create_adjacent(domain.comm(), static_cast<int>(count), sources.data(), MPI_UNWEIGHTED,
                                   static_cast<int>(count), peers.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph_);
    counts_.assign(count, 1);
    places_.assign(count, 0);
    for (std::size_t i = 0; i < count; ++i) {
      send_types_.push_back(type_of(domain, regions[i].inner, true));
      receive_types_.push_back(type_of(domain, regions[count - 1 - i].ghost, true));
    }
#if MPI_VERSION >= 4
    if (call == Call::persistent)
      MPI_Neighbor_alltoallw_init(at_, counts_.data(), places_.data(), send_types_.data(), at_, counts_.data(),
                                  places_.data(), receive_types_.data(), graph_, MPI_INFO_NULL, &request_);
#endif
  }
  ~Neighbour() override {
    if (request_ != MPI_REQUEST_NULL) MPI_Request_free(&request_);
    for (auto& type : send_types_) MPI_Type_free(&type);
    for (auto& type : receive_types_) MPI_Type_free(&type);
    MPI_Comm_free(&graph_);
  }

  void exchange(Phases& phases) override {
    if (request_ != MPI_REQUEST_NULL) {
      MPI_Start(&request_);
      phases.end("start");
      MPI_Wait(&request_, MPI_STATUS_IGNORE);
      phases.end("wait");
      return;
    }
    if (!nonblocking_) {
      MPI_Neighbor_alltoallw(at_, counts_.data(), places_.data(), send_types_.data(), at_, counts_.data(),
                             places_.data(), receive_types_.data(), graph_);
      return phases.end("call");
    }
    MPI_Request request;
    MPI_Ineighbor_alltoallw(at_, counts_.data(), places_.data(), send_types_.data(), at_, counts_.data(),
                            places_.data(), receive_types_.data(), graph_, &request);
    phases.end("begin");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    phases.end("wait");
  }

 private:
  void* const at_;
  const bool nonblocking_;
  MPI_Comm graph_;
  std::vector<int> counts_;
  std::vector<MPI_Aint> places_;
  std::vector<MPI_Datatype> send_types_, receive_types_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace

std::unique_ptr<Exchange> make_neighbour(Domain& domain, Call call) {
  return std::make_unique<Neighbour>(domain, call);
}

}  // namespace bench::halo
