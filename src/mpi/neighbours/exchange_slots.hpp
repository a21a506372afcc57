// What the ranks of a communicator with a topology need for nonblocking exchanges of host memory
// within a host. Each rank has slots for each rank that it sends to
// (transport/shm/exchange_slot.hpp).
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
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
    std::shared_ptr<ExchangeSlots> slots;  // null on all ranks if one of them has no memory for them
    bool gpu = true;                       // a rank uses a GPU, or nobody knows
  };
  /// All ranks of `comm` call it at a time. `gpu`: whether this rank uses a GPU.
  static Found connect(const Neighbourhood& hood, MPI_Comm comm, bool gpu);
  ExchangeSlots(const ExchangeSlots&) = delete;
  ExchangeSlots& operator=(const ExchangeSlots&) = delete;
  ~ExchangeSlots();

  /// The number of the exchange that begins now; nothing if it is the MPI's. All ranks get one
  /// answer. Counts the call.
  std::optional<std::uint64_t> next(const Edges& edges);
  /// Whether all exchanges to come are the MPI's.
  bool left() const { return is_left_; }

  /// Whether this rank has not found what others have published. Its exchanges fail.
  bool broken() const { return broken_; }
  const std::vector<Row>& out() const { return out_; }
  const std::vector<Row>& in() const { return in_; }
  // Edges from this rank to itself, by their places in the lists of sends and of receives.
  const std::vector<std::size_t>& own_targets() const { return own_targets_; }
  const std::vector<std::size_t>& own_sources() const { return own_sources_; }
  const std::atomic<bool>& orphaned() const { return *orphaned_; }

  // Rows have the numbers of out(), or of in(). Exchanges of a row are posted and seen in the order
  // of their numbers. Each of these calls goes on with the other exchanges of its row. Thread-safe.
  void post(std::size_t row, std::uint64_t exchange, const transport::shm::PostedExchange& what);
  bool is_posted(std::size_t row, std::uint64_t exchange);
  /// What has been posted for this rank, once. Returns false if it is not there yet.
  bool take(std::size_t row, std::uint64_t exchange, transport::shm::PostedExchange& what);

  // Those of the last exchange that has ended, which most often come again. Thread-safe.
  std::unique_ptr<Buffers> take_buffers();
  void give_back(std::unique_ptr<Buffers> buffers) { delete last_.exchange(buffers.release()); }

 private:
  struct Board;
  struct Place;
  explicit ExchangeSlots(const Neighbourhood& hood);
  Place publish(const Neighbourhood& hood, MPI_Comm comm);
  void find(const Neighbourhood& hood, MPI_Comm comm, const std::vector<Place>& places);

  std::shared_ptr<const std::atomic<bool>> orphaned_;
  std::optional<transport::shm::Publications::Published> published_;
  std::uint32_t readers_ = 0;  // of that
  std::vector<std::unique_ptr<transport::shm::Reading>> found_;
  bool broken_ = false;
  transport::shm::Agreement* left_ = nullptr;  // from which call on the MPI does all; null: from none
  std::vector<Row> out_, in_;
  /// What has no slot yet, because the reader has not seen earlier exchanges.
  struct Outbox {
    transport::shm::ExchangeSlot* slots;
    std::deque<std::pair<std::uint64_t, transport::shm::PostedExchange>> waiting;
    void flush();
  };
  /// What has been seen, but not been taken.
  struct Inbox {
    transport::shm::ExchangeSlot* slots;
    std::uint64_t next = 1;
    std::map<std::uint64_t, transport::shm::PostedExchange> seen;
  };
  std::mutex mutex_;  // guards these two
  std::vector<Outbox> outboxes_;
  std::vector<Inbox> inboxes_;
  std::vector<std::size_t> own_targets_, own_sources_;
  std::atomic<Buffers*> last_{nullptr};
  std::uint64_t calls_ = 0, questions_ = 0;
  bool is_left_ = false;
};

}  // namespace dunnage::mpi
