// Exchanges of host memory through rings in shared memory: one from each rank to each neighbour on
// its host. A rank packs its data into the rings to its neighbours, and unpacks what stands in
// theirs. There are no messages.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "mpi/neighbours/edges.hpp"
#include "mpi/neighbours/exchange_way.hpp"
#include "mpi/neighbours/in_ring.hpp"
#include "mpi/neighbours/neighbourhood.hpp"
#include "mpi/neighbours/out_ring.hpp"
#include "mpi/process/hook.hpp"

namespace dunnage::mpi {

/// Not thread-safe: exchanges of one operation come one after the other.
class Rings final : public ExchangeWay {
 public:
  /// Whether rings can lead to all neighbours of this rank. Looks for them.
  static bool possible(const Neighbourhood& hood, MPI_Comm comm);
  /// Makes the rings of one operation. All ranks of `comm` call it at a time. `persistent`: the
  /// buffers of all exchanges; null if each exchange brings its own. Returns null on all ranks if
  /// one of them could not make its rings, or needs more memory than allowed.
  static std::unique_ptr<Rings> connect(Hook hook, Neighbourhood& hood, MPI_Comm comm, const Edges* persistent);
  ~Rings() override;

  /// Does one exchange. Returns an MPI error code.
  int exchange(Hook hook, const Edges& edges);

  int start() override;
  bool test() override;
  int code() const override { return code_; }
  int wait() override;
  void free() override {}
  bool orphaned() const override { return orphaned_->load(std::memory_order_relaxed); }

 private:
  using Published = transport::shm::Publications::Published;
  using Reading = transport::shm::Reading;
  struct Parts;  // connect() works on them
  Rings(Hook hook, const Neighbourhood& hood, int tags);

  bool publish(Parts& parts, MPI_Comm comm, const Edges* persistent);
  bool find(Parts& parts, MPI_Comm comm, const Edges* persistent);
  void take_sends(const Edges& edges);
  void take_receives(const Edges& edges);
  /// Of all data that this rank sends in an exchange.
  std::int64_t bytes() const;
  void begin();
  /// What this rank brings to itself.
  void move();
  void note(int code) {
    if (code_ == MPI_SUCCESS) code_ = code;
  }
  /// Whether a rank is gone for which this exchange waits. Asks the kernel.
  bool forsaken() const;

  Hook hook_;
  std::shared_ptr<const std::atomic<bool>> orphaned_;
  std::optional<Published> published_;
  std::vector<std::unique_ptr<Reading>> found_;
  std::vector<std::unique_ptr<OutRing>> out_;
  std::vector<std::unique_ptr<InRing>> in_;
  RingMessages messages_;
  // Edges from this rank to itself, by their places in the lists of sends and of receives.
  std::vector<std::size_t> own_targets_, own_sources_;
  EdgeBuffers own_out_, own_in_;
  int own_taken_ = MPI_SUCCESS;
  std::uint64_t exchange_ = 0;
  bool moved_ = true;
  int code_ = MPI_SUCCESS;
};

}  // namespace dunnage::mpi
