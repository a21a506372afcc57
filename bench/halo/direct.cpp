// The limit: one launch reads the neighbours' cells where they are. Two empty messages with each
// peer say that the cells are ready, and that they have been read.
//
// Device memory of other ranks is reached by CUDA IPC, which needs one host. In host memory the
// loop reads this rank's own cells in place of the neighbours', without messages. That is what the
// copy alone takes. With more than one rank its bytes are wrong.
#include <algorithm>
#include <map>
#include <stdexcept>

#include "halo/exchange.hpp"

namespace bench::halo {
namespace {

class Direct : public Exchange {
 public:
  Direct(Domain& domain, Mover& mover) : comm_(domain.comm()), mover_(mover) {
    const bool device = mover.where() == Where::device;
    int self, ranks;
    MPI_Comm_rank(comm_, &self);
    MPI_Comm_size(comm_, &ranks);
    std::map<int, double*> first{{self, domain.at(0, {0, 0, 0})}};
    if (device && ranks > 1) {
      CUipcMemHandle mine;
      BENCH_CU(cuIpcGetMemHandle, &mine, domain.place().device());
      std::vector<CUipcMemHandle> all(static_cast<std::size_t>(ranks));
      MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, comm_);
      for (const auto& region : domain.regions()) {
        if (first.count(region.peer)) continue;
        CUdeviceptr address = 0;
        BENCH_CU(cuIpcOpenMemHandle, &address, all[static_cast<std::size_t>(region.peer)],
                 CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
        opened_.push_back(address);
        first[region.peer] = reinterpret_cast<double*>(address);
        peers_.push_back(region.peer);
      }
    }
    std::vector<BoxMove> moves;
    const long y = domain.sides()[0], z = y * domain.sides()[1];
    for (const auto& region : domain.regions()) {
      // What comes from there went from the peer in the opposite direction.
      const auto sent = std::find_if(domain.regions().begin(), domain.regions().end(),
                                     [&](const Region& other) { return other.send_tag == region.receive_tag; });
      for (int v = 0; v < domain.variables(); ++v) {
        const auto offset = domain.at(v, sent->inner.begin) - domain.at(0, {0, 0, 0});
        auto* const from = device ? first.at(region.peer) : first.at(self);
        moves.push_back({from + offset,
                         domain.at(v, region.ghost.begin),
                         {region.ghost.length[0], region.ghost.length[1], region.ghost.length[2]},
                         {y, z},
                         {y, z}});
      }
    }
    moves_ = std::make_unique<Moves>(mover.where(), std::move(moves));
  }
  ~Direct() override {
    for (const auto address : opened_) driver().cuIpcCloseMemHandle(address);
  }

  void exchange(Phases& phases) override {
    meet(ready_tag);
    phases.end("ready");
    mover_.begin(*moves_);
    mover_.wait();
    phases.end("move");
    meet(read_tag);
    phases.end("read");
  }

 private:
  // No way sends cells with these tags: a message shares nothing with theirs.
  static constexpr int ready_tag = 20000, read_tag = 20001;
  void meet(int tag) {
    std::vector<MPI_Request> requests;
    for (const int peer : peers_) {
      MPI_Irecv(nullptr, 0, MPI_BYTE, peer, tag, comm_, &requests.emplace_back());
      MPI_Isend(nullptr, 0, MPI_BYTE, peer, tag, comm_, &requests.emplace_back());
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }
  MPI_Comm comm_;
  Mover& mover_;
  std::vector<int> peers_;
  std::vector<CUdeviceptr> opened_;
  std::unique_ptr<Moves> moves_;
};

}  // namespace

std::unique_ptr<Exchange> make_direct(Domain& domain, Mover& mover) { return std::make_unique<Direct>(domain, mover); }

}  // namespace bench::halo
