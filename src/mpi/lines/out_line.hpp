// The sender's part of a line: the edges of an operation that go to one rank of this host.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "mpi/lines/edge_buffers.hpp"
#include "mpi/message/device_landing.hpp"
#include "mpi/process/hook.hpp"
#include "pack/gpu/short_blocks.hpp"
#include "plan/gpu_way.hpp"
#include "transport/gpu/line.hpp"
#include "transport/shm/publications.hpp"

namespace dunnage::mpi {

/// Not thread-safe. No member function throws or calls an error handler.
class OutLine {
 public:
  using Published = transport::shm::Publications::Published;
  /// `receiver`: its rank in MPI_COMM_WORLD. `edges`: places in the list of sends, in the order in
  /// which the receiver has them. `memory`: line_size() bytes of shared memory, where a line is
  /// made. `end`: of a line whose words stand elsewhere.
  OutLine(std::uint32_t receiver, std::vector<std::size_t> edges, void* memory, transport::gpu::LineEnd end = {})
      : receiver_(receiver), edges_(std::move(edges)), line_(memory, edges_.size(), end) {}
  OutLine(const OutLine&) = delete;
  OutLine& operator=(const OutLine&) = delete;
  ~OutLine();

  const std::vector<std::size_t>& edges() const { return edges_; }
  /// Takes the buffers of the exchanges to come. Returns an MPI error code.
  int take(std::span<const EdgeData> sends);
  int take(const memory::Buffer& buffer, std::uint64_t keeper);
  /// If the next exchange goes by a packed copy in device memory, begins to make it. So several
  /// lines make their copies at the same time. To be called before begin(), which waits for it.
  void begin_packing(std::uint64_t exchange);
  bool packing() const { return packing_ != nullptr; }
  /// Begins an exchange. Returns whether the data have been announced. If not, each of them is to
  /// be sent as a message.
  bool begin(std::uint64_t exchange);
  /// Counts what has been announced last, for the report: a call for each message, and their ways.
  void count(Hook hook) const;
  /// The ways alone, of a call that is counted elsewhere.
  void count_ways(Hook hook) const;
  /// Before the first exchange, which is to go by the line if it can.
  void watch_first();

  // Of a line that the receiver watches for each exchange that it is told of by other means:
  void watch_always() { line_.use_messages(0, true); }
  /// Whether the line tells where the data are: in buffers that the receiver's GPU can read, or in
  /// the line, where put() has packed them. To be called right after take(). False if announce()
  /// makes a copy.
  bool ready(std::uint64_t exchange) { return put(exchange) || (!packs() && prepare(exchange, true)); }
  /// The exchange that is ready() has been announced by other means.
  void rung() {
    announced_ = put_ != exchange_;
    if (!announced_) return;
    way_ = plan::GpuWay::direct_line;
    late_.reset();
    line_.rung(exchange_);
  }
  /// Announces an exchange, which the receiver waits for: in place if its GPU can read the buffers,
  /// and reads them fast, else by a copy. To be called right after take(). Returns an MPI error
  /// code; then the receiver hears of an error, too.
  int announce(std::uint64_t exchange);
  /// Announces an exchange by a copy: then this rank waits for nobody.
  int announce_copy(std::uint64_t exchange);
  /// Whether the receiver has what was announced. This rank waits for that. If the receiver is
  /// late, makes a copy for it.
  bool ended();
  /// Whether an exchange has ended, though there may have been others since.
  bool ended(std::uint64_t exchange) { return exchange != exchange_ || ended(); }
  /// ended() is about to be called.
  void prefetch() const { line_.prefetch(); }
  /// Whether something is announced that has not ended().
  bool under_way() const { return announced_; }
  /// Whether the receiver still needs what was announced. Costs one load.
  bool quiet() const { return !line_.read(exchange_); }
  std::uint32_t receiver() const { return receiver_; }

 private:
  /// A packed copy in device memory that is being made.
  struct Copying {
    std::shared_ptr<const device::Arena::Block> block;
    std::vector<transport::gpu::GpuSource> sources;  // where the parts of the copy are
    ScopedTransfers transfers;
  };
  /// Packs data in host memory, of a line of one edge that the receiver has ended, into memory that
  /// stays with the line. Returns whether it did, or has done so before. The receiver needs no
  /// buffer of this rank then.
  bool put(std::uint64_t exchange);
  /// Memory for so many packed bytes. Null if there is none.
  char* standing(std::int64_t bytes);
  /// Whether the line is free and tells where the buffers are. `there`: the buffers are still those
  /// of the last take().
  bool prepare(std::uint64_t exchange, bool there);
  /// Says where the buffers are. Returns whether the receiver's GPU can read them there.
  bool describe(std::uint64_t exchange);
  std::optional<std::vector<transport::gpu::GpuSource>> sources() const;
  void took(bool changed);
  /// Whether the receiver's GPU reads memory of this kind, wherever the buffers are.
  bool read_by_receiver() const;
  /// Whether the receiver's GPU reads packed copies of the buffers faster than the buffers.
  bool packs() const;
  /// Announces a copy in device memory, by a line that is free. If there is no memory, returns
  /// false and announces nothing.
  bool announce_packed(std::uint64_t exchange, std::unique_ptr<Copying> copying);
  /// Tells the bytes of the data, of which a copy is about to be announced.
  void describe_copy(std::uint64_t exchange);
  bool copy();
  /// Begins a copy, in memory that earlier copies may have left. Null if that cannot be done.
  std::unique_ptr<Copying> begin_copy();
  /// Waits for the copy and offers it. Returns false if that failed, or the receiver reads already.
  bool offer(Copying& copying);
  /// Throws device::Error, std::bad_alloc.
  std::unique_ptr<Copying> begin_copy_in_arena();
  bool copy_to_host();
  bool replace(const Published& published, std::int64_t size, bool on_device);

  const std::uint32_t receiver_;
  const std::vector<std::size_t> edges_;
  transport::gpu::LineSender line_;
  EdgeBuffers buffers_;
  std::uint64_t exchange_ = 0;
  std::uint64_t put_ = 0;  // the exchange that was put() last
  std::optional<Published> standing_;
  std::int64_t standing_size_ = 0;
  bool described_ = false;  // the line tells of buffers_
  bool announced_ = false;
  std::unique_ptr<Copying> packing_;       // from begin_packing() to begin()
  pack::gpu::ShortBlocks short_blocks_;    // of buffers_; nothing if packed copies are no better
  plan::GpuWay way_ = plan::GpuWay::none;  // of what was announced last
  /// From then on the receiver is late. Nothing until this rank waits for it.
  std::optional<std::chrono::steady_clock::time_point> late_;
};

}  // namespace dunnage::mpi
