// Memory that processes of one host share, in which one of them writes and all others read: a
// broadcast inside a host.
//
// The memory is a ring of cells. All processes go through the same operations in the same order, so
// each process knows which cells an operation uses. The writer may be another process in each
// operation. One word publishes a cell. The writer writes a cell again when all processes have read
// it; it asks for a whole ring of cells at a time. The data are copied twice, and no message is
// sent.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "transport/shm/patience.hpp"

namespace dunnage::transport::shm {

/// One process' view of the ring. Not thread-safe: each process, or thread, has its own.
class BroadcastRing {
 public:
  struct Shape {
    std::uint32_t processes = 0;  // 2 and more
    std::uint32_t cells = 0;      // a power of two
    std::uint64_t cell = 0;       // bytes, a multiple of 64
  };
  /// Where others find a ring. Plain bytes: it travels in a message.
  struct Name {
    Shape shape;
    std::uint64_t key = 0;  // a nonce
    std::int32_t process = 0, file = -1;
  };

  /// Makes a ring, of which the caller is process 0. Returns null if there is no memory or no file
  /// for it.
  static std::unique_ptr<BroadcastRing> make(const Shape& shape);
  /// Maps a ring that another process of this host has made, as process `self`. Returns null if the
  /// name does not lead to it any more, or has led elsewhere.
  static std::unique_ptr<BroadcastRing> open(const Name& name, std::uint32_t self);
  /// The name of a ring that was made here. Others can open it until forget_name().
  const Name& name() const { return name_; }
  /// To be called when all have opened the ring: closes its file.
  void forget_name();
  BroadcastRing(const BroadcastRing&) = delete;
  BroadcastRing& operator=(const BroadcastRing&) = delete;
  ~BroadcastRing();

  /// Words in which the processes tell each other something. At first all are 0.
  static constexpr std::size_t notes = 32;
  std::atomic<std::uint64_t>& note(std::uint32_t process, std::size_t i) const {
    return notes_of_all()[process * notes + i];
  }
  std::uint32_t processes() const { return name_.shape.processes; }
  std::uint32_t self() const { return self_; }

  static constexpr std::size_t most_offered = 512;
  /// What a process tells the others in operations in which tell() replaces write().
  struct alignas(64) Post {
    static constexpr std::int64_t lost = -1;
    std::atomic<std::uint64_t> device{0};  // which GPU its buffer was in; 0 for host memory
    std::atomic<std::int64_t> there{0};    // how many bytes from the beginning others can read from it; or `lost`

   private:
    friend class BroadcastRing;
    std::atomic<std::uint64_t> said{0};  // twice the number of the operation, plus 1 if there is an offer
    char head[most_offered];
  };
  Post& post(std::uint32_t process) const { return reinterpret_cast<Post*>(base_ + posts_begin(name_.shape))[process]; }
  /// In operation `at`, tells the others that they may read the data from where `head` says.
  /// Nothing is there yet: post().there will tell. An empty `head` tells them that they may not.
  void offer(std::uint64_t at, std::span<const char> head) {
    auto& mine = post(self_);
    std::copy(head.begin(), head.end(), mine.head);
    mine.there.store(0, std::memory_order_relaxed);
    mine.said.store(2 * at + (head.empty() ? 0 : 1), std::memory_order_release);
  }
  /// Waits for what another process tells in operation `at`, and returns its `head`. Returns null
  /// if it offers nothing.
  template <class LetGoOn>
  const char* offered(std::uint32_t process, std::uint64_t at, LetGoOn&& let_go_on) const {
    const auto& theirs = post(process);
    std::uint64_t said = 0;
    wait([&] { return (said = theirs.said.load(std::memory_order_acquire)) >= 2 * at; }, let_go_on);
    return said == 2 * at + 1 ? theirs.head
                              : nullptr;  // a process that offers nothing may already be in a later operation
  }

  // For each operation one process calls write() or tell(), and all others call receive(). All call
  // let_go_on() again and again while they wait.

  /// fill(to, begin, end) writes ranges of the data into the ring, in order, and returns whether it
  /// could. Returns when all `bytes` (1 or more) are in the ring. `word` is less than `words`: the
  /// receivers get it too.
  static constexpr unsigned words = 4;
  template <class Fill, class LetGoOn>
  void write(std::int64_t bytes, unsigned word, Fill&& fill, LetGoOn&& let_go_on) {
    const auto size = static_cast<std::int64_t>(name_.shape.cell);
    for (std::int64_t begin = 0; begin < bytes; begin += size) {
      const auto at = next_++;
      wait_for_room(at, let_go_on);
      const bool lost = !fill(cell(at), begin, std::min(begin + size, bytes));
      publish(at, word, lost ? lost_data : data, bytes);
    }
    read(self_).store(next_, std::memory_order_release);
  }
  /// Replaces write() if the data go another way: the others get `head` in place of the data, at
  /// most a cell. Returns when all others have the data.
  template <class LetGoOn>
  void tell(std::span<const char> head, unsigned word, LetGoOn&& let_go_on) {
    const auto at = next_++;
    wait_for_room(at, let_go_on);
    std::copy(head.begin(), head.end(), cell(at));
    publish(at, word, told, 0);
    read(self_).store(next_, std::memory_order_release);
    wait([&] { return slowest() >= next_; }, let_go_on);
  }
  struct Received {
    bool all = true;  // false: fill() failed for some ranges, which are missing
    unsigned word = 0;
  };
  /// After write(), drain(from, begin, end, bytes) reads ranges of the writer's `bytes` from the
  /// ring, in order. The writer tells how many they are, so that a receiver that expects another
  /// number stays in step. After tell(), fetch(head, at) gets all data from where `head` says, in
  /// operation `at`. It returns whether others may still be reading from this process: then
  /// receive() waits until all others have the data.
  template <class Drain, class Fetch, class LetGoOn>
  Received receive(Drain&& drain, Fetch&& fetch, LetGoOn&& let_go_on) {
    Received received;
    const auto size = static_cast<std::int64_t>(name_.shape.cell);
    std::int64_t begin = 0, bytes = 0;
    do {
      const auto at = next_++;
      const auto& published = cell_mark(at);
      std::uint64_t found = 0;
      wait([&] { return (found = published.value.load(std::memory_order_acquire)) >= mark(at); }, let_go_on);
      received.word = static_cast<unsigned>((found - mark(at)) / kinds);
      const auto kind = (found - mark(at)) % kinds;
      bytes = published.bytes;
      bool read_from = false;
      if (kind == data)
        drain(static_cast<const char*>(cell(at)), begin, std::min(begin + size, bytes), bytes);
      else if (kind == told)
        read_from = fetch(static_cast<const char*>(cell(at)), at + 1);
      else
        received.all = false;
      read(self_).store(at + 1, std::memory_order_release);
      if (read_from) wait([&] { return slowest() > at; }, let_go_on);
      begin += size;
    } while (begin < bytes);
    return received;
  }

 private:
  struct alignas(64) Mark {
    std::atomic<std::uint64_t> value{0};
    std::int64_t bytes = 0;  // of a cell: how long the operation's data are; 0 after tell()
  };
  struct Head {
    std::uint64_t key;
    Shape shape;
  };
  /// What publishes cell `at`, plus a word and a kind.
  static std::uint64_t mark(std::uint64_t at) { return (at + 1) * words * kinds; }
  enum Kind : std::uint64_t { data, lost_data, told, kinds = 4 };

  BroadcastRing(char* base, const Name& name, std::uint32_t self) : base_(base), name_(name), self_(self) {}
  static std::size_t marks_begin() { return (sizeof(Head) + 63) / 64 * 64; }
  static std::size_t notes_begin(const Shape& s) { return marks_begin() + (s.processes + s.cells) * sizeof(Mark); }
  static std::size_t posts_begin(const Shape& s) {
    return (notes_begin(s) + s.processes * notes * sizeof(std::uint64_t) + 63) / 64 * 64;
  }
  static std::size_t data_begin(const Shape& s) {
    return (posts_begin(s) + s.processes * sizeof(Post) + 4095) / 4096 * 4096;
  }
  static std::size_t size_of(const Shape& s) { return data_begin(s) + s.cells * s.cell; }
  static char* map(int file, std::size_t size);

  Mark* marks() const { return reinterpret_cast<Mark*>(base_ + marks_begin()); }
  std::atomic<std::uint64_t>* notes_of_all() const {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(base_ + notes_begin(name_.shape));
  }
  std::atomic<std::uint64_t>& read(std::uint32_t process) const { return marks()[process].value; }
  Mark& cell_mark(std::uint64_t at) const { return marks()[name_.shape.processes + at % name_.shape.cells]; }
  void publish(std::uint64_t at, unsigned word, Kind kind, std::int64_t bytes) const {
    auto& published = cell_mark(at);
    published.bytes = bytes;
    published.value.store(mark(at) + word * kinds + kind, std::memory_order_release);
  }
  char* cell(std::uint64_t at) const {
    return base_ + data_begin(name_.shape) + at % name_.shape.cells * name_.shape.cell;
  }
  std::uint64_t slowest() const {
    auto least = ~std::uint64_t{0};
    for (std::uint32_t p = 0; p < name_.shape.processes; ++p)
      if (p != self_) least = std::min(least, read(p).load(std::memory_order_acquire));
    return least;
  }
  /// Calls ready() 32 times for each let_go_on(), which takes longer.
  template <class Ready, class LetGoOn>
  static void wait(Ready&& ready, LetGoOn&& let_go_on) {
    constexpr int often = 32, long_wait = 2048;
    if (ready()) return;
    Patience patience;
    for (int turn = 1; !ready(); turn = std::min(turn + 1, long_wait)) {
      patience.wait();
      if (turn % often == 0) let_go_on();
    }
  }
  /// Waits until cell `at` may be written.
  template <class LetGoOn>
  void wait_for_room(std::uint64_t at, LetGoOn&& let_go_on) {
    wait([&] { return at < free_until_ || at < (free_until_ = slowest() + name_.shape.cells); }, let_go_on);
  }

  char* const base_;
  Name name_;
  const std::uint32_t self_;
  std::uint64_t next_ = 0;        // how many cells all operations so far have used
  std::uint64_t free_until_ = 0;  // cells before this one may be written, as far as this process knows
};

}  // namespace dunnage::transport::shm
