// The receiver's part of a line: the edges of an operation that come from one rank of this host.
#pragma once

#include <functional>
#include <memory>

#include "mpi/neighbours/edge_buffers.hpp"
#include "transport/gpu/line.hpp"
#include "transport/shm/publications.hpp"

namespace dunnage::mpi {

/// Not thread-safe.
class InLine {
 public:
  using News = transport::gpu::LineReceiver::News;
  /// `sender`: its rank in MPI_COMM_WORLD. `edges`: places in Edges::receives, in the order in
  /// which the sender has them.
  InLine(std::uint32_t sender, std::vector<std::size_t> edges, transport::shm::Reading line);
  InLine(const InLine&) = delete;
  InLine& operator=(const InLine&) = delete;
  ~InLine();

  const std::vector<std::size_t>& edges() const { return edges_; }
  /// Takes the buffers. Returns whether one has changed. Throws device::Error, std::bad_alloc.
  bool take(const Edges& edges) { return buffers_.take(edges.receives, edges_); }
  const EdgeBuffers& buffers() const { return buffers_; }

  void begin(std::uint64_t exchange);
  /// Looks at the line. What it tells of an exchange does not change once it is not `none`.
  News news();
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
  /// Nothing more of the exchange is needed.
  void end() {
    line_.done(exchange_);
    ended_ = true;
  }

 private:
  int fetch_one(std::size_t i, const transport::gpu::GpuSource& source, std::shared_ptr<const void> keep);
  int place_one(std::size_t i, const char* from, std::int64_t size);

  const std::uint32_t sender_;
  const std::vector<std::size_t> edges_;
  std::unique_ptr<transport::shm::Reading> memory_;
  transport::gpu::LineReceiver line_;
  EdgeBuffers buffers_;
  std::uint64_t exchange_ = 0;
  News news_ = News::none;
  std::optional<transport::gpu::Line::Copy> copy_;
  std::size_t fetching_ = 0;
  bool ended_ = true;
};

}  // namespace dunnage::mpi
