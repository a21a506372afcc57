// The receiver's part of a line: the edges of an operation that come from one rank of this host.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "mpi/lines/edge_buffers.hpp"
#include "transport/gpu/line.hpp"
#include "transport/shm/publications.hpp"

namespace dunnage::mpi {

/// Not thread-safe.
class InLine {
 public:
  using News = transport::gpu::LineReceiver::News;
  /// `sender`: its rank in MPI_COMM_WORLD. `edges`: places in the list of receives, in the order in
  /// which the sender has them. `memory`: the line in the sender's shared memory. `end`: of a line
  /// whose words stand elsewhere.
  InLine(std::uint32_t sender, std::vector<std::size_t> edges, const void* memory, transport::gpu::LineEnd end = {})
      : sender_(sender), edges_(std::move(edges)), line_(const_cast<void*>(memory), edges_.size(), end) {}
  InLine(const InLine&) = delete;
  InLine& operator=(const InLine&) = delete;
  ~InLine();

  const std::vector<std::size_t>& edges() const { return edges_; }
  /// Takes the buffers. Returns whether one has changed. Throws device::Error, std::bad_alloc.
  bool take(std::span<const EdgeData> receives) { return took(buffers_.take(receives, edges_)); }
  void take(const memory::Buffer& buffer, std::uint64_t keeper) { took(buffers_.take(buffer, keeper)); }
  /// Exchanges the buffers of two lines.
  void swap_buffers(InLine& other) {
    std::swap(buffers_, other.buffers_);
    known_.reset();
    other.known_.reset();
  }
  const EdgeBuffers& buffers() const { return buffers_; }

  void begin(std::uint64_t exchange);
  /// Begins the exchange of a line that this rank ends each time by fetch().
  void begin_again(std::uint64_t exchange);
  /// Of a line with one edge that has rung: bytes of the data.
  std::int64_t size();
  /// Looks at the line. What it tells of an exchange does not change once it is not `none`.
  News news();
  /// Whether nothing has been told yet, and a look would find nothing. Costs two loads.
  bool quiet() const { return news_ == News::none && line_.news(exchange_) == News::none; }
  /// The line is told by other means that the exchange has been announced.
  void rung() { news_ = News::rung; }
  /// news() is about to be called.
  void prefetch_news() const { line_.prefetch(); }
  /// take_in_place() is about to be called.
  void prefetch_taken() const { line_.prefetch_taken(); }
  /// What it told last.
  News told() const { return news_; }
  std::uint32_t sender() const { return sender_; }
  /// After it has rung: takes the data where they are. Returns false if the sender has made a copy.
  bool take_in_place();
  /// After take_in_place(): brings the data, or begins to. What a device fetches goes with other
  /// data of the thread's FetchBatch, which there must be. Calls note(code) for each error.
  void fetch(const std::function<void(int)>& note);
  const transport::gpu::LineReceiver& line() const { return line_; }
  /// Whether fetch() has been called, and has not ended.
  bool fetched() const { return fetching_ > 0; }
  /// Whether the exchange needs nothing more from the line.
  bool ended() const { return ended_; }
  /// The number of the exchange that was begun last; 0 if none was.
  std::uint64_t exchange() const { return exchange_; }
  /// The exchange will not take place.
  void forget() { ended_ = true; }
  /// Nothing more of the exchange is needed.
  void end() {
    line_.done(exchange_);
    ended_ = true;
  }

 private:
  using Move = transport::gpu::Transfers::Move;
  /// What brings the data of a line with one edge, as long as the sender describes them no more.
  struct Known {
    std::uint64_t described;
    std::int64_t size;
    CUcontext context = nullptr;
    std::shared_ptr<const Move> move{};  // without what it keeps
    std::weak_ptr<const device::Import> mapping{};
  };
  /// The data of one edge have come.
  void came() {
    if (--fetching_ == 0) end();
  }
  bool took(bool changed) {
    if (changed) known_.reset();
    return changed;
  }
  /// The data that the sender has put().
  void fetch_put(const std::function<void(int)>& note);
  bool fetch_known(const std::function<void(int)>& note);
  int fetch_one(std::size_t i, transport::gpu::GpuSource source, std::shared_ptr<const void> keep);
  int place_one(std::size_t i, const char* from, std::int64_t size);

  const std::uint32_t sender_;
  const std::vector<std::size_t> edges_;
  transport::gpu::LineReceiver line_;
  EdgeBuffers buffers_;
  std::optional<Known> known_;
  std::uint64_t exchange_ = 0;
  News news_ = News::none;
  std::optional<transport::gpu::Line::Copy> copy_;
  std::unique_ptr<transport::shm::Reading> standing_;  // where the sender puts long data
  std::uint64_t standing_serial_ = 0;
  std::size_t fetching_ = 0;
  bool ended_ = true;
};

}  // namespace dunnage::mpi
