#include "bcast/ways.hpp"

#include <algorithm>
#include <cstring>

#include "bcast/functions.hpp"
#include "collective/bcast.hpp"
#include "collective/cost.hpp"

namespace bench {
namespace {

using namespace dunnage::collective;

constexpr int tag = 1;
/// A machine of no particular kind, from which the lengths of segments follow.
constexpr LogGP machine{1e-6, 0.3e-6, 1 / 6e9};

int size_of_world() {
  int ranks;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return ranks;
}

int rank_in_world() {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

class OfMpi : public Way {
 public:
  explicit OfMpi(decltype(&MPI_Bcast) function) : function_(function) {}
  void run(char* data, std::int64_t bytes, int root) override {
    function_(data, static_cast<int>(bytes), MPI_BYTE, root, MPI_COMM_WORLD);
  }

 private:
  const decltype(&MPI_Bcast) function_;
};

/// MPI_Ibcast, and MPI_Wait immediately after it.
class Nonblocking : public Way {
 public:
  Nonblocking(decltype(&MPI_Ibcast) begin, decltype(&MPI_Wait) wait) : begin_(begin), wait_(wait) {}
  void run(char* data, std::int64_t bytes, int root) override {
    MPI_Request request = MPI_REQUEST_NULL;
    begin_(data, static_cast<int>(bytes), MPI_BYTE, root, MPI_COMM_WORLD, &request);
    wait_(&request, MPI_STATUS_IGNORE);
  }

 private:
  const decltype(&MPI_Ibcast) begin_;
  const decltype(&MPI_Wait) wait_;
};

class Scheduled : public Way {
 public:
  explicit Scheduled(BcastAlgorithm algorithm) : algorithm_(algorithm) { MPI_Comm_dup(MPI_COMM_WORLD, &comm_); }
  ~Scheduled() override { MPI_Comm_free(&comm_); }
  void run(char* data, std::int64_t bytes, int root) override {
    Bcast b{size_of_world(), root, bytes, 0};
    b.segment = best_segment(algorithm_, b, machine);
    if (bytes != made_for_.bytes || root != made_for_.root) {  // mostly the same from call to call
      made_ = bcast(algorithm_, b, rank_in_world());
      made_for_ = b;
    }
    Run<Functions> run(past(), made_, data, comm_, tag, rank_in_world() == root ? bytes : 0);
    run.wait();
    traffic_.sends += run.traffic().sends;
    traffic_.receives += run.traffic().receives;
    traffic_.bytes_received += run.traffic().bytes_received;
  }
  const Traffic* traffic() const override { return &traffic_; }

 private:
  const BcastAlgorithm algorithm_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  Bcast made_for_{0, -1, 0, 0};
  Schedule made_;
  Traffic traffic_;
};

class Copy : public Way {
 public:
  ~Copy() override { free_window(); }
  void prepare(std::int64_t bytes) override {
    free_window();
    char* own = nullptr;
    MPI_Win_allocate_shared(rank_in_world() == 0 ? bytes : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window_);
    MPI_Aint size = 0;
    int unit = 0;
    MPI_Win_shared_query(window_, 0, &size, &unit, &shared_);
    if (rank_in_world() == 0) std::memset(shared_, 1, static_cast<std::size_t>(bytes));
    past().Barrier(MPI_COMM_WORLD);
  }
  void run(char* data, std::int64_t bytes, int root) override {
    if (rank_in_world() != root) std::memcpy(data, shared_, static_cast<std::size_t>(bytes));
  }

 private:
  void free_window() {
    if (window_ != MPI_WIN_NULL) MPI_Win_free(&window_);
  }
  MPI_Win window_ = MPI_WIN_NULL;
  char* shared_ = nullptr;
};

std::string name_of(BcastAlgorithm a) {
  if (a == BcastAlgorithm::scatter_ring) return "native";
  if (a == BcastAlgorithm::scatter_open_ring) return "tuned";
  return std::string(text(a));
}

}  // namespace

std::vector<NamedWay> ways(const std::function<bool(const std::string&)>& wanted, bool dunnage) {
  std::vector<NamedWay> made;
  if (wanted("plain")) made.push_back({"plain", std::make_unique<OfMpi>(past().Bcast)});
  if (dunnage && wanted("dunnage")) made.push_back({"dunnage", std::make_unique<OfMpi>(MPI_Bcast)});
  if (wanted("plain-ibcast"))
    made.push_back({"plain-ibcast", std::make_unique<Nonblocking>(past().Ibcast, past().Wait)});
  if (dunnage && wanted("dunnage-ibcast"))
    made.push_back({"dunnage-ibcast", std::make_unique<Nonblocking>(MPI_Ibcast, MPI_Wait)});
  for (const auto a : all_bcast_algorithms)
    if (wanted(name_of(a)) && possible(a, {size_of_world(), 0, 1, 0}))
      made.push_back({name_of(a), std::make_unique<Scheduled>(a)});
  if (wanted("copy")) made.push_back({"copy", std::make_unique<Copy>()});
  return made;
}

}  // namespace bench
