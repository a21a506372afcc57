#include "mpi/lines/in_line.hpp"

#include <cstring>

#include "mpi/message/fetch_batch.hpp"
#include "mpi/process/failure.hpp"
#include "mpi/process/process.hpp"

namespace dunnage::mpi {

using transport::gpu::GpuSource;

InLine::~InLine() {
  if (!process->world) (void)standing_.release();  // the sender's memory is no longer mapped
}

void InLine::begin(std::uint64_t exchange) {
  begin_again(exchange);
  line_.done(exchange - 1);  // also if that exchange failed here
}

void InLine::begin_again(std::uint64_t exchange) {
  exchange_ = exchange;
  news_ = News::none;
  copy_.reset();
  fetching_ = 0;
  ended_ = false;
}

std::int64_t InLine::size() {
  if (line_.has_put(exchange_)) return line_.put().bytes;
  // The description is far away, in the memory of another process, and most often as before.
  if (!known_ || known_->described != line_.described())
    known_.emplace(Known{line_.described(), line_.sources().front().size});
  return known_->size;
}

bool InLine::fetch_known(const std::function<void(int)>& note) {
  if (!known_ || !known_->move || known_->described != line_.described()) return false;
  auto mapping = known_->mapping.lock();
  if (!mapping) return false;
  ++fetching_;
  const int code = fetch_to_device({known_->context, known_->move, [this] { came(); }, std::move(mapping)});
  if (code != MPI_SUCCESS) note(code);
  return true;
}

InLine::News InLine::news() {
  if (news_ == News::none) news_ = line_.news(exchange_);
  if (news_ == News::messages) ended_ = true;
  return news_;
}

bool InLine::take_in_place() {
  if (line_.has_put(exchange_)) return true;
  copy_ = line_.take(exchange_);
  return !copy_;
}

int InLine::fetch_one(std::size_t i, GpuSource source, std::shared_ptr<const void> keep) {
  if (static_cast<int>(sender_) == process->rank) source.allocation.way = device::Exported::own;
  if (source.size > buffers_.bytes(i)) return MPI_ERR_TRUNCATE;
  int code = MPI_SUCCESS;
  const int failed = guarded([&] {
    const auto& driver = *device::driver();
    const memory::Landing landing{buffers_[i]};
    landing.restart();
    const auto there = destination(driver, landing, source);
    const device::Scope scope(driver, there.context);
    auto remote = std::make_shared<const transport::gpu::Remote>(driver, source);
    if (there.to && edges_.size() == 1 && !copy_) {
      auto move = transport::gpu::Transfers::move(remote, *there.to);
      move.keep = nullptr;
      known_ = Known{line_.described(), source.size, there.context, std::make_shared<const Move>(std::move(move)),
                     remote->mapping()};
    }
    if (!there.to) {
      fetch_to_host(driver, *remote, landing);
      landing.finish();
      return;
    }
    ++fetching_;
    auto move = std::make_shared<const Move>(transport::gpu::Transfers::move(std::move(remote), *there.to));
    code = fetch_to_device({there.context, std::move(move), [this] { came(); }, std::move(keep)});
  });
  return failed != MPI_SUCCESS ? failed : code;
}

int InLine::place_one(std::size_t i, const char* from, std::int64_t size) {
  if (size > buffers_.bytes(i)) return MPI_ERR_TRUNCATE;
  return guarded([&] {
    const memory::Landing landing{buffers_[i]};
    landing.restart();
    landing.place(from, 0, size);
    landing.finish();
  });
}

void InLine::fetch_put(const std::function<void(int)>& note) {
  const auto put = line_.put();
  const char* from = put.here;
  if (!from) {
    if (standing_serial_ != put.copy.serial) {
      auto found = process->world->published(sender_, put.copy.begin, put.copy.serial, put.copy.size);
      standing_ = found ? std::make_unique<transport::shm::Reading>(std::move(*found)) : nullptr;
      standing_serial_ = standing_ ? put.copy.serial : 0;
    }
    from = standing_ ? standing_->data() : nullptr;
  }
  const int code = !from ? MPI_ERR_OTHER : put.bytes > 0 ? place_one(0, from, put.bytes) : MPI_SUCCESS;
  if (code != MPI_SUCCESS) note(code);
  end();
}

void InLine::fetch(const std::function<void(int)>& note) {
  const auto each = [&](auto&& bring, const GpuSource* sources) {
    for (std::size_t i = 0; i < edges_.size(); ++i) {
      GpuSource source;
      std::memcpy(&source, sources + i, sizeof source);
      if (source.size == 0) continue;
      if (const int code = bring(i, source); code != MPI_SUCCESS) note(code);
    }
  };
  if (buffers_.count() != edges_.size()) {
    note(MPI_ERR_NO_MEM);
    return end();
  }
  if (line_.has_put(exchange_)) return fetch_put(note);
  if (!copy_ && fetch_known(note)) return;
  ++fetching_;  // until all have been begun
  if (!copy_) {
    each([&](std::size_t i, const GpuSource& source) { return fetch_one(i, source, nullptr); }, line_.sources().data());
  } else if (auto found = process->world->published(sender_, copy_->begin, copy_->serial, copy_->size)) {
    const auto copy = std::make_shared<const transport::shm::Reading>(std::move(*found));
    const auto* sources = reinterpret_cast<const GpuSource*>(copy->data());
    const char* from = copy->data() + edges_.size() * sizeof(GpuSource);
    if (copy_->on_device)
      each([&](std::size_t i, const GpuSource& source) { return fetch_one(i, source, copy); }, sources);
    else
      each(
          [&](std::size_t i, const GpuSource& source) {
            const auto* at = from;
            from += source.size;
            return place_one(i, at, source.size);
          },
          sources);
  } else {
    note(MPI_ERR_OTHER);
  }
  came();
}

}  // namespace dunnage::mpi
