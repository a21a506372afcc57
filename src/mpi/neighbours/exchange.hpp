// Neighbour collectives by Dunnage's own messages: a receive from each source, a send to each
// target, and one wait for all of them, in which the data of all neighbours share launches.
//
// Whether a collective is ours is decided alike by all ranks: by the setting, the communicator's
// topology, and by what its ranks have agreed on (neighbourhood.hpp). Buffers and datatypes may
// differ from rank to rank.
#pragma once

#include <optional>
#include <vector>

#include "mpi/neighbours/neighbourhood.hpp"

namespace dunnage::mpi {

/// What goes along one edge, or comes.
struct EdgeData {
  const void* buffer;
  std::int64_t count;
  MPI_Datatype type;
};

/// One blocking call. The constructor does it, if it is ours.
class NeighbourExchange {
 public:
  /// Whether any may be ours. Nothing that may differ between ranks is asked.
  static bool possible() {
    const auto how = process->settings.neighbours;
    return how != base::Neighbours::off && (how == base::Neighbours::on || process->everyone || process->alone) &&
           process->initialized.load(std::memory_order_relaxed);
  }

  /// MPI_Neighbor_allgather and MPI_Neighbor_alltoall.
  template <class Count>
  NeighbourExchange(Hook hook, const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                    Count recvcount, MPI_Datatype recvtype, MPI_Comm comm)
      : hook_(hook), comm_(comm) {
    if (!begin()) return;
    const MPI_Aint out = hook == Hook::MPI_Neighbor_allgather || hook == Hook::MPI_Neighbor_allgather_c
                             ? 0
                             : sendcount * extent(sendtype);
    const MPI_Aint in = recvcount * extent(recvtype);
    exchange(
        [&](std::size_t i) {
          return EdgeData{at(sendbuf, MPI_Aint(i) * out), sendcount, sendtype};
        },
        [&](std::size_t i) {
          return EdgeData{at(recvbuf, MPI_Aint(i) * in), recvcount, recvtype};
        });
  }
  /// MPI_Neighbor_allgatherv.
  template <class Count, class Place>
  NeighbourExchange(Hook hook, const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                    const Count* recvcounts, const Place* displs, MPI_Datatype recvtype, MPI_Comm comm)
      : hook_(hook), comm_(comm) {
    if (!begin()) return;
    const MPI_Aint unit = extent(recvtype);
    exchange(
        [&](std::size_t) {
          return EdgeData{sendbuf, sendcount, sendtype};
        },
        [&](std::size_t i) {
          return EdgeData{at(recvbuf, displs[i] * unit), recvcounts[i], recvtype};
        });
  }
  /// MPI_Neighbor_alltoallv.
  template <class Count, class Place>
  NeighbourExchange(Hook hook, const void* sendbuf, const Count* sendcounts, const Place* sdispls,
                    MPI_Datatype sendtype, void* recvbuf, const Count* recvcounts, const Place* rdispls,
                    MPI_Datatype recvtype, MPI_Comm comm)
      : hook_(hook), comm_(comm) {
    if (!begin()) return;
    const MPI_Aint out = extent(sendtype), in = extent(recvtype);
    exchange(
        [&](std::size_t i) {
          return EdgeData{at(sendbuf, sdispls[i] * out), sendcounts[i], sendtype};
        },
        [&](std::size_t i) {
          return EdgeData{at(recvbuf, rdispls[i] * in), recvcounts[i], recvtype};
        });
  }
  /// MPI_Neighbor_alltoallw.
  template <class Count>
  NeighbourExchange(Hook hook, const void* sendbuf, const Count* sendcounts, const MPI_Aint* sdispls,
                    const MPI_Datatype* sendtypes, void* recvbuf, const Count* recvcounts, const MPI_Aint* rdispls,
                    const MPI_Datatype* recvtypes, MPI_Comm comm)
      : hook_(hook), comm_(comm) {
    if (!begin()) return;
    exchange(
        [&](std::size_t i) {
          return EdgeData{at(sendbuf, sdispls[i]), sendcounts[i], sendtypes[i]};
        },
        [&](std::size_t i) {
          return EdgeData{at(recvbuf, rdispls[i]), recvcounts[i], recvtypes[i]};
        });
  }
  NeighbourExchange(const NeighbourExchange&) = delete;
  NeighbourExchange& operator=(const NeighbourExchange&) = delete;

  /// Whether it has been done, and its result.
  bool done() const { return code_.has_value(); }
  int code() const { return *code_; }

 private:
  /// Addresses may be MPI_BOTTOM plus a displacement, which is no offset into an object.
  static const void* at(const void* base, MPI_Aint bytes) {
    return reinterpret_cast<const void*>(reinterpret_cast<MPI_Aint>(base) + bytes);
  }
  static MPI_Aint extent(MPI_Datatype type);
  /// Whether this call may be ours.
  bool begin();
  template <class Out, class In>
  void exchange(Out&& out, In&& in) {
    std::vector<EdgeData> sends, receives;
    for (std::size_t i = 0; i < hood_->targets.size(); ++i) sends.push_back(out(i));
    for (std::size_t i = 0; i < hood_->sources.size(); ++i) receives.push_back(in(i));
    if (turn_ == Turn::ours || agree(*hood_, comm_, uses_gpu(sends) || uses_gpu(receives))) run(sends, receives);
  }
  static bool uses_gpu(const std::vector<EdgeData>& data);
  void run(const std::vector<EdgeData>& sends, const std::vector<EdgeData>& receives);

  const Hook hook_;
  const MPI_Comm comm_;
  Neighbourhood* hood_ = nullptr;
  Turn turn_ = Turn::theirs;
  std::optional<int> code_;
};

}  // namespace dunnage::mpi
