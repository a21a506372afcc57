// The messages of one neighbour collective: a receive from each source, a send to each target.
// Edges from this rank to itself need none, and those on lines (lines.hpp) seldom need one.
#pragma once

#include <array>
#include <cstddef>
#include <memory_resource>
#include <vector>

#include "mpi/neighbours/exchange_way.hpp"
#include "mpi/neighbours/lines.hpp"
#include "mpi/neighbours/local_moves.hpp"
#include "mpi/neighbours/snapshot.hpp"

namespace dunnage::mpi {

/// Arguments that the MPI itself is to refuse. `persistent`: of an _init call.
bool wrong(const Edges& edges, bool persistent);
/// Whether one of the buffers is in a GPU's memory.
bool in_device_memory(const Edges& edges);

/// The requests of all messages. Those that complete become MPI_REQUEST_NULL unless they are
/// persistent.
class Messages final : public ExchangeWay {
 public:
  Messages(Hook hook, const Neighbourhood& hood, std::shared_ptr<MessageComm> by)
      : hook_(hook), comm_(std::move(by)), orphaned_(hood.orphaned) {}

  // These functions return an MPI error code. If it is not MPI_SUCCESS, all messages have ended.
  /// `waits`: the caller calls wait() next, with the neighbourhood and the edges still there.
  int begin(Neighbourhood& hood, const Edges& edges, bool waits);
  /// Makes persistent requests. `tags` is added to the tag of each edge.
  int init(const Neighbourhood& hood, const Edges& edges, int tags);
  int start() override;
  int wait() override;

  bool test() override;
  int code() const override { return code_; }
  void free() override;
  bool orphaned() const override { return orphaned_->load(std::memory_order_relaxed); }

 private:
  /// Makes room for the requests. Throws std::bad_alloc; what follows does not.
  void make_room(const Neighbourhood& hood);
  /// Finds out which edges need messages.
  void lay_out(const Neighbourhood& hood);
  int begin_receive(std::size_t source);
  int begin_send(std::size_t target);
  /// Begins the exchange. `edges`: its buffers; null if they are persistent.
  int begin_all(const Edges* edges);
  /// The edges that messages are for: if the exchange is in place, with sends from a copy. `last`:
  /// that of the last exchange, if nobody uses it; else null. Without memory for the copy, what is
  /// sent is undefined, and this rank fails. The others must not wait for it.
  const Edges& from_snapshot(const Neighbourhood& hood, const Edges& edges, std::shared_ptr<Snapshot> last);
  void take_snapshot();
  /// What this rank brings to itself, of the last collective or anew.
  int find_moves(const Edges& edges);
  /// This rank could not begin all messages: takes back what can be taken back, and waits for the
  /// rest. Returns the code.
  int take_back(int code);
  /// What this rank brings to itself, once after each start.
  void begin_moves();
  /// Goes on with what comes by lines.
  void go_on_by_lines();
  int wait_with_lines();
  bool test_one(std::size_t i);
  /// Keeps the first error.
  void note(int code) {
    if (code_ == MPI_SUCCESS) code_ = code;
  }
  void note(const std::vector<FetchBatch::Failure>& failures) {
    if (!failures.empty()) note(failures.front().code);
  }
  int count() const { return static_cast<int>(requests_.size()); }
  /// Where the request of a source stands. The first one belongs to the next rank, if sources are
  /// in the order of ranks. If all ranks read from the lowest rank first, they share its link.
  std::size_t place_of(std::size_t source) const {
    return source >= first_ ? source - first_ : source + sources_ - first_;
  }

  const Hook hook_;
  std::shared_ptr<MessageComm> comm_;
  std::shared_ptr<const std::atomic<bool>> orphaned_;
  std::shared_ptr<Lines> lines_;        // null if there are none
  std::shared_ptr<Snapshot> snapshot_;  // null unless the exchange is in place
  int without_snapshot_ = MPI_SUCCESS;  // why an exchange in place has none
  // Of begin(), until wait() has ended:
  Neighbourhood* hood_ = nullptr;
  const Edges* edges_ = nullptr;
  bool waits_ = false;  // else its messages may go by channels: there are no lines
  bool persistent_ = false;
  std::array<std::byte, 256> room_;
  std::pmr::monotonic_buffer_resource memory_{room_.data(), room_.size()};
  std::pmr::vector<MPI_Request> requests_{&memory_};                 // of the sources, then of the targets
  std::pmr::vector<bool> loops_ = std::pmr::vector<bool>(&memory_);  // by request: an edge from this rank to itself
  std::pmr::vector<bool> ended_ = std::pmr::vector<bool>(&memory_);  // by request, since the start
  std::size_t sources_ = 0, first_ = 0;
  bool receives_ = false;              // a source is not this rank
  bool by_messages_ = false;           // a message to another rank, or from one, has been begun
  bool alone_ = false;                 // all edges are from this rank to itself
  std::shared_ptr<LocalMoves> moves_;  // null if there are none
  bool moved_ = false;                 // since the start
  int code_ = MPI_SUCCESS;             // since the start
};

}  // namespace dunnage::mpi
