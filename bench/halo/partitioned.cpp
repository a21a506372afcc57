// Partitioned messages: a partition for each variable.
#include "halo/exchange.hpp"

#ifdef BENCH_HALO_PARTITIONED
namespace bench::halo {
namespace {

class Partitioned : public Exchange {
 public:
  explicit Partitioned(Domain& domain) : variables_(domain.variables()) {
    const auto resized = [&](const Box& box) {
      MPI_Datatype one = type_of(domain, box, false), type;
      MPI_Type_create_resized(one, 0, domain.variable_bytes(), &type);
      MPI_Type_free(&one);
      MPI_Type_commit(&type);
      types_.push_back(type);
      return type;
    };
    void* const at = domain.at(0, {0, 0, 0});
    for (const auto& region : domain.regions())
      MPI_Precv_init(at, variables_, 1, resized(region.ghost), region.peer, region.receive_tag, domain.comm(),
                     MPI_INFO_NULL, &requests_.emplace_back());
    for (const auto& region : domain.regions())
      MPI_Psend_init(at, variables_, 1, resized(region.inner), region.peer, region.send_tag, domain.comm(),
                     MPI_INFO_NULL, &requests_.emplace_back());
  }
  ~Partitioned() override {
    for (auto& request : requests_) MPI_Request_free(&request);
    for (auto& type : types_) MPI_Type_free(&type);
  }

  void exchange(Phases& phases) override {
    const auto count = static_cast<int>(requests_.size());
    MPI_Startall(count, requests_.data());
    phases.end("start");
    for (auto send = requests_.begin() + count / 2; send != requests_.end(); ++send)
      MPI_Pready_range(0, variables_ - 1, *send);
    phases.end("post-send");
    MPI_Waitall(count, requests_.data(), MPI_STATUSES_IGNORE);
    phases.end("wait");
  }

 private:
  const int variables_;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Datatype> types_;
};

}  // namespace

std::unique_ptr<Exchange> make_partitioned(Domain& domain) {
#ifdef OPEN_MPI
  // Open MPI by itself looks for the partitions of strided types in wrong places, and may hang.
  if (domain.variables() > 1) return nullptr;
#endif
  return std::make_unique<Partitioned>(domain);
}

}  // namespace bench::halo
#endif
