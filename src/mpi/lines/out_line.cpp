#include "mpi/lines/out_line.hpp"

#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "device/ipc.hpp"
#include "mpi/message/gpu_shared.hpp"
#include "mpi/process/failure.hpp"

namespace dunnage::mpi {

using transport::gpu::GpuSource;

namespace {

/// How long this rank waits for the receiver before it makes a copy. On hosts with more ranks than
/// cores a shorter time made more copies than it saved.
std::chrono::nanoseconds patience(std::int64_t bytes) {
  return std::chrono::milliseconds(1) + std::chrono::nanoseconds(bytes / 64);
}

/// Of all lines together.
std::uint64_t all_standing = 0;

}  // namespace

OutLine::~OutLine() {
  all_standing -= static_cast<std::uint64_t>(standing_size_);
  if (standing_ && process->world) process->world->publications.end(*standing_);
}

char* OutLine::standing(std::int64_t bytes) {
  if (bytes > transport::gpu::most_put) return nullptr;
  if (bytes <= standing_size_) return standing_->data;
  const auto size = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(bytes)));
  const auto more = static_cast<std::uint64_t>(size - standing_size_);
  if (all_standing + more > process->settings.ticket_memory) return nullptr;
  auto& publications = process->world->publications;
  const auto fresh = publications.publish(size, 1, nullptr, transport::shm::Publications::Stay::standing);
  if (!fresh) return nullptr;
  if (standing_) publications.end(*standing_);
  standing_ = fresh;
  standing_size_ = size;
  all_standing += more;
  return standing_->data;
}

bool OutLine::put(std::uint64_t exchange) {
  if (put_ == exchange) return true;
  if (buffers_.count() != 1 || buffers_[0].device()) return false;
  const auto bytes = buffers_.bytes();
  const bool here = bytes <= transport::gpu::line_room;
  const int code = guarded([&] {
    auto* to = here ? line_.room() : standing(bytes);
    if (!to) throw std::bad_alloc();
    if (bytes > 0) buffers_[0].pack(to, 0, bytes);
  });
  if (code != MPI_SUCCESS) return false;
  transport::gpu::Line::Copy copy;
  if (!here) copy = {standing_->begin, standing_->serial, standing_size_, false};
  line_.put(exchange, bytes, here ? nullptr : &copy);
  announced_ = described_ = false;
  exchange_ = put_ = exchange;
  return true;
}

void OutLine::took(bool changed) {
  if (!changed) return;
  described_ = false;
  short_blocks_ = {};
  if (buffers_.bytes() < pack::gpu::ShortBlocks::least) return;
  bool on_device = true;
  for (std::size_t i = 0; i < buffers_.count(); ++i) {
    if (buffers_.bytes(i) == 0) continue;
    const auto* data = buffers_[i].device();
    on_device = on_device && data;
    if (data) short_blocks_ += pack::gpu::short_blocks_of(*data);
  }
  // Copies are made of all buffers.
  if (!on_device || short_blocks_.bytes < buffers_.bytes() / 2) short_blocks_ = {};
}

bool OutLine::read_by_receiver() const {
  bool read = buffers_.bytes() > 0;
  const int code = guarded([&] {
    for (std::size_t i = 0; read && i < buffers_.count(); ++i) {
      const auto* data = buffers_[i].device();
      read = buffers_.bytes(i) == 0 || (data && read_in_place_by(receiver_, *data, buffers_.bytes()));
    }
  });
  return code == MPI_SUCCESS && read;
}

bool OutLine::packs() const { return better_packed_for(receiver_, short_blocks_) && read_by_receiver(); }

int OutLine::take(std::span<const EdgeData> sends) {
  bool changed = true;  // also after an error
  const int code = guarded([&] { changed = buffers_.take(sends, edges_); });
  took(changed);
  return code;
}

int OutLine::take(const memory::Buffer& buffer, std::uint64_t keeper) {
  bool changed = true;  // also after an error
  const int code = guarded([&] { changed = buffers_.take(buffer, keeper); });
  took(changed);
  return code;
}

std::optional<std::vector<GpuSource>> OutLine::sources() const {
  std::vector<GpuSource> all;
  for (std::size_t i = 0; i < buffers_.count(); ++i) {
    auto& source = all.emplace_back();
    if (buffers_.bytes(i) == 0) continue;
    const auto* data = buffers_[i].device();
    if (!data || !read_in_place_by(receiver_, *data, buffers_.bytes())) return std::nullopt;
    const auto exported = device::export_of(*device::driver(), data->place, process->rank);
    const auto described = exported ? transport::gpu::describe(*data, *exported) : std::nullopt;
    if (!described) return std::nullopt;
    source = *described;
  }
  return all;
}

bool OutLine::describe(std::uint64_t exchange) {
  if (buffers_.count() != edges_.size() || buffers_.bytes() == 0) return false;
  std::optional<std::vector<GpuSource>> all;
  if (guarded([&] { all = sources(); }) != MPI_SUCCESS || !all) return false;
  line_.describe(exchange, *all);
  return true;
}

void OutLine::watch_first() {
  described_ = describe(1);
  line_.use_messages(0, described_);
}

bool OutLine::prepare(std::uint64_t exchange, bool there) {
  exchange_ = exchange;
  const bool free = line_.free();
  // What was announced before must not change while the receiver may read it.
  if (!described_ || !there) described_ = free && there && describe(exchange);
  return free && described_;
}

void OutLine::begin_packing(std::uint64_t exchange) {
  if (packs() && line_.free() && line_.watched(exchange) && buffers_.there()) packing_ = begin_copy();
}

bool OutLine::begin(std::uint64_t exchange) {
  if (announce_packed(exchange, std::exchange(packing_, nullptr))) return true;
  announced_ = prepare(exchange, buffers_.there()) && line_.watched(exchange);
  if (announced_) {
    way_ = plan::GpuWay::direct_line;
    late_.reset();
    line_.ring(exchange);
  } else {
    line_.use_messages(exchange, described_ || !line_.free());
  }
  return announced_;
}

int OutLine::announce(std::uint64_t exchange) {
  if (put(exchange)) {
    line_.ring(exchange);
    return MPI_SUCCESS;
  }
  if (packs() && announce_packed(exchange, begin_copy())) return MPI_SUCCESS;
  announced_ = prepare(exchange, true);
  if (!announced_) return announce_copy(exchange);
  way_ = plan::GpuWay::direct_line;
  late_.reset();
  line_.ring(exchange);
  return MPI_SUCCESS;
}

void OutLine::describe_copy(std::uint64_t exchange) {
  exchange_ = exchange;
  announced_ = described_ = false;
  std::vector<GpuSource> sizes(edges_.size());
  for (std::size_t i = 0; i < buffers_.count(); ++i) sizes[i].size = buffers_.bytes(i);
  line_.describe(exchange, sizes);
}

bool OutLine::announce_packed(std::uint64_t exchange, std::unique_ptr<Copying> copying) {
  if (!copying) return false;
  const base::Range range("pack short blocks for another GPU", buffers_.bytes());
  describe_copy(exchange);
  if (!offer(*copying)) return false;
  way_ = plan::GpuWay::direct_packed;
  line_.ring(exchange);
  return true;
}

int OutLine::announce_copy(std::uint64_t exchange) {
  if (put(exchange)) {
    line_.ring(exchange);
    return MPI_SUCCESS;
  }
  describe_copy(exchange);
  const auto copying = read_by_receiver() ? begin_copy() : nullptr;
  bool done = copying && offer(*copying);
  way_ = done ? plan::GpuWay::direct_packed : plan::GpuWay::staged_unread;
  int code = MPI_SUCCESS;
  if (!done) code = guarded([&] { done = buffers_.count() == edges_.size() && copy_to_host(); });
  if (code == MPI_SUCCESS && !done) code = MPI_ERR_NO_MEM;
  if (code != MPI_SUCCESS) line_.replace(exchange, {});  // the receiver finds nothing there
  line_.ring(exchange);
  return code;
}

void OutLine::count(Hook hook) const {
  for (std::size_t i = 0; i < buffers_.count(); ++i)
    if (buffers_.bytes(i) > 0) const Accelerated counted(hook, buffers_.bytes(i), false, static_cast<int>(receiver_));
  count_ways(hook);
}

void OutLine::count_ways(Hook hook) const {
  if (put_ == exchange_) {
    process->count_of(hook).channels.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  for (std::size_t i = 0; i < buffers_.count(); ++i) {
    const bool scattered = way_ == plan::GpuWay::staged_unread && !buffers_[i].device();
    if (buffers_.bytes(i) > 0 && buffers_[i].packer())  // else it is in host memory
      process->count(hook, scattered ? plan::GpuWay::staged_scattered : way_);
  }
}

bool OutLine::ended() {
  if (!announced_) return true;
  announced_ = !line_.read(exchange_);
  if (!announced_ || line_.taken(exchange_)) return !announced_;
  const auto now = std::chrono::steady_clock::now();
  if (!late_) late_ = now + patience(buffers_.bytes());
  if (now < *late_) return false;
  announced_ = !copy();
  late_.reset();
  return !announced_;
}

bool OutLine::copy() {
  const base::Range range("copy for a late receiver", buffers_.bytes());
  if (const auto copying = begin_copy(); copying && offer(*copying)) return true;
  bool done = false;
  if (line_.taken(exchange_) || static_cast<std::uint64_t>(buffers_.bytes()) > process->settings.ticket_memory)
    return false;
  return guarded([&] { done = copy_to_host(); }) == MPI_SUCCESS && done;
}

std::unique_ptr<OutLine::Copying> OutLine::begin_copy() {
  process->world->publications.collect();  // copies that have been read
  std::unique_ptr<Copying> copying;
  guarded([&] { copying = begin_copy_in_arena(); });
  return copying;
}

std::unique_ptr<OutLine::Copying> OutLine::begin_copy_in_arena() {
  std::int64_t size = 0;
  CUcontext context = nullptr;
  const auto& driver = *device::driver();
  for (std::size_t i = 0; i < buffers_.count(); ++i) {
    size += with_gap(buffers_.bytes(i));
    if (!context && buffers_.bytes(i) > 0) context = context_of(driver, buffers_[i].device()->place);
  }
  std::shared_ptr<const device::Arena::Block> block;
  device::Place there;
  {
    const device::Scope scope(driver, context);
    block = take_block(driver, size);
    if (!block) return nullptr;
    there = device::known_place(driver, reinterpret_cast<const void*>(block->address));
  }
  const auto whole = transport::gpu::describe(block->exported, size);
  std::vector<GpuSource> sources(buffers_.count());
  std::vector<ScopedTransfers::Move> moves;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < buffers_.count(); ++i) {
    const auto bytes = buffers_.bytes(i);
    if (bytes == 0) continue;
    sources[i] = transport::gpu::part_of(whole, begin, begin + bytes);
    const auto to = static_cast<std::uintptr_t>(block->address) + static_cast<std::uintptr_t>(begin);
    moves.push_back({*buffers_[i].device(), transport::gpu::contiguous_at(to, bytes, there), bytes, block});
    begin += with_gap(bytes);
  }
  return std::make_unique<Copying>(std::move(block), std::move(sources), ScopedTransfers(context, std::move(moves)));
}

bool OutLine::offer(Copying& copying) {
  bool done = false;
  const int code = guarded([&] {
    for (transport::shm::Patience patience; !copying.transfers.done();) patience.wait();
    const auto bytes = static_cast<std::int64_t>(copying.sources.size() * sizeof(GpuSource));
    const auto published = process->world->publications.publish(bytes, 1, copying.block);
    if (!published) return;
    std::memcpy(published->data, copying.sources.data(), static_cast<std::size_t>(bytes));
    done = replace(*published, bytes, true);
  });
  return code == MPI_SUCCESS && done;
}

bool OutLine::copy_to_host() {
  const auto head = static_cast<std::int64_t>(buffers_.count() * sizeof(GpuSource));
  const auto published = process->world->publications.publish(head + buffers_.bytes(), 1);
  if (!published) return false;
  auto* source = reinterpret_cast<GpuSource*>(published->data);
  auto* to = published->data + head;
  const int code = guarded([&] {
    for (std::size_t i = 0; i < buffers_.count(); ++i) {
      const auto bytes = buffers_.bytes(i);
      GpuSource packed{};
      packed.size = bytes;
      std::memcpy(source++, &packed, sizeof packed);
      if (bytes > 0) buffers_[i].pack(to, 0, bytes);
      to += bytes;
    }
  });
  if (code == MPI_SUCCESS) return replace(*published, head + buffers_.bytes(), false);
  process->world->publications.withdraw(*published);
  return false;
}

bool OutLine::replace(const Published& published, std::int64_t size, bool on_device) {
  auto& publications = process->world->publications;
  if (line_.replace(exchange_, {published.begin, published.serial, size, on_device})) {
    publications.end(published);
    return true;
  }
  publications.withdraw(published);  // the receiver has come meanwhile
  return false;
}

}  // namespace dunnage::mpi
