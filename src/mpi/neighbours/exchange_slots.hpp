// What the ranks of a communicator with a topology need for nonblocking exchanges of host memory
// within a host. Each rank has slots for each rank that it sends to
// (transport/shm/exchange_slot.hpp).
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "mpi/lines/edge_buffers.hpp"
#include "mpi/neighbours/edges.hpp"
#include "transport/shm/exchange_slot.hpp"
#include "transport/shm/publications.hpp"

namespace dunnage::mpi {

class ExchangeSlots {
 public:
  /// The edges between this rank and another one.
  struct Row {
    std::uint32_t rank;              // in MPI_COMM_WORLD
    std::vector<std::size_t> edges;  // places in the list of sends, or of receives
  };
  /// The buffers of an exchange: of each row, and of the edges from this rank to itself.
  struct Buffers {
    std::vector<EdgeBuffers> out, in;
    EdgeBuffers own_out, own_in;
  };

  /// Whether ranks can have slots. All ranks get one answer.
  static bool possible();
  struct Found {
    std::shared_ptr<ExchangeSlots> slots;  // null on all ranks if one of them cannot have them
    bool gpu = false;                      // a rank uses a GPU
  };
  /// All ranks of `comm` call it at a time. `gpu`: whether this rank uses a GPU.
  static Found connect(const Neighbourhood& hood, MPI_Comm comm, bool gpu);
  ExchangeSlots(const ExchangeSlots&) = delete;
  ExchangeSlots& operator=(const ExchangeSlots&) = delete;
  ~ExchangeSlots();

  /// The number of the exchange that begins now. Returns nothing if the MPI does it. All ranks get
  /// one answer. Counts the call.
  std::optional<std::uint64_t> next(const Edges& edges);
  /// Whether the MPI does all exchanges to come.
  bool left() const { return is_left_; }

  const std::vector<Row>& out() const { return out_; }
  const std::vector<Row>& in() const { return in_; }
  // Edges from this rank to itself, by their places in the lists of sends and of receives.
  const std::vector<std::size_t>& own_targets() const { return own_targets_; }
  const std::vector<std::size_t>& own_sources() const { return own_sources_; }
  const std::atomic<bool>& orphaned() const { return *orphaned_; }

  // Rows have the numbers of out(), or of in(). Thread-safe.
  /// Returns an MPI error code. Exchanges are posted in the order of their numbers.
  int post(std::size_t row, std::uint64_t exchange, const transport::shm::PostedExchange& what);
  /// What has been posted for this rank, once. Returns false if it is not there yet.
  bool take(std::size_t row, std::uint64_t exchange, transport::shm::PostedExchange& what);

  // Those of the last exchange that has ended, which most often come again. Thread-safe.
  std::unique_ptr<Buffers> take_buffers();
  void give_back(std::unique_ptr<Buffers> buffers) { delete last_.exchange(buffers.release()); }

 private:
  using Published = transport::shm::Publications::Published;
  using Reading = transport::shm::Reading;
  struct Board;
  struct Place;
  /// Where this rank posts.
  struct Outbox {
    Published block;
    std::uint64_t first = 1;  // exchange in that block
    bool lost = false;
    void go_on();
  };
  /// Where this rank looks.
  struct Inbox {
    std::uint32_t rank;  // in MPI_COMM_WORLD
    std::unique_ptr<Reading> block;
    std::uint64_t first = 1;  // exchange in that block
    bool lost = false;
    std::uint64_t next = 1;                                          // that has not been seen
    std::map<std::uint64_t, transport::shm::PostedExchange> seen{};  // and not been taken
    bool look(transport::shm::PostedExchange& what);
  };
  explicit ExchangeSlots(const Neighbourhood& hood);
  Place publish(const Neighbourhood& hood, MPI_Comm comm);
  bool find(const Neighbourhood& hood, MPI_Comm comm, const std::vector<Place>& places);
  void give_up();

  std::shared_ptr<const std::atomic<bool>> orphaned_;
  std::optional<Published> board_;
  std::uint32_t readers_ = 0;                  // of the board
  std::unique_ptr<Reading> first_board_;       // the first rank's, for the agreement there
  transport::shm::Agreement* left_ = nullptr;  // from which call on the MPI does all; null: from none
  std::uint64_t calls_ = 0, questions_ = 0;
  bool is_left_ = false;
  std::vector<Row> out_, in_;
  std::vector<std::size_t> own_targets_, own_sources_;
  std::mutex mutex_;  // guards these two
  std::vector<Outbox> outboxes_;
  std::vector<Inbox> inboxes_;
  std::atomic<Buffers*> last_{nullptr};
};

}  // namespace dunnage::mpi
