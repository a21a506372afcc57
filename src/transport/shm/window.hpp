// Memory that processes of one host share, in which one of them writes and all others read: the inside of a host of a broadcast.
//
// The window is a ring of cells. All processes go through the same operations in the same order, so that everyone knows which cells an operation
// takes without being told; who writes may be another one each time. A cell is published by one word, and written again when all have
// read it, which the writer asks for a whole window at a time. Two copies, and no message.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "transport/shm/patience.hpp"

namespace dunnage::transport::shm {

class Window {
 public:
  struct Shape {
    std::uint32_t processes = 0;  // 2 and more
    std::uint32_t cells = 0;      // a power of two
    std::uint64_t cell = 0;       // bytes, a multiple of 64
  };
  /// Where others find a window that has been made: plain bytes, for a message.
  struct Name {
    Shape shape;
    std::uint64_t key = 0;  // chance
    std::int32_t process = 0, file = -1;
  };

  /// Makes one. Null where there is no memory or no file for it. The caller is process 0 of the shape.
  static std::unique_ptr<Window> make(const Shape& shape);
  /// Maps one that another process of this host has made, and which still has its name. Null where that cannot be.
  static std::unique_ptr<Window> open(const Name& name, std::uint32_t self);
  /// Of one that was made here, until forget_name().
  const Name& name() const { return name_; }
  /// When all have opened it.
  void forget_name();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window();

  /// Words that the processes leave for each other; 0 at first.
  static constexpr std::size_t notes = 32;
  std::atomic<std::uint64_t>& note(std::uint32_t process, std::size_t i) const { return notes_of_all()[process * notes + i]; }
  std::uint32_t processes() const { return name_.shape.processes; }
  std::uint32_t self() const { return self_; }

  /// What a process lets others know in operations that are told, beside the root. `device`: which GPU its buffer was in, or 0. `there`: how many bytes from the beginning can be read from it.
  static constexpr std::size_t most_offered = 512;
  struct alignas(64) Post {
    static constexpr std::int64_t lost = -1;
    std::atomic<std::uint64_t> device{0};
    std::atomic<std::int64_t> there{0};

   private:
    friend class Window;
    std::atomic<std::uint64_t> said{0};  // of which operation, twice, and 1 where there is an offer
    char head[most_offered];
  };
  Post& post(std::uint32_t process) const { return reinterpret_cast<Post*>(base_ + posts_begin(name_.shape))[process]; }
  /// This process says in operation `at` that others may read the data where `head` tells, of which nothing is there yet; or, with an empty head, that they may not.
  void offer(std::uint64_t at, std::span<const char> head) {
    auto& mine = post(self_);
    std::copy(head.begin(), head.end(), mine.head);
    mine.there.store(0, std::memory_order_relaxed);
    mine.said.store(2 * at + (head.empty() ? 0 : 1), std::memory_order_release);
  }
  /// What another process has said, when it has. Null: not to be read from there.
  template <class LetGoOn>
  const char* offered(std::uint32_t process, std::uint64_t at, LetGoOn&& let_go_on) const {
    const auto& theirs = post(process);
    std::uint64_t said = 0;
    wait([&] { return (said = theirs.said.load(std::memory_order_acquire)) >= 2 * at; }, let_go_on);
    return said == 2 * at + 1 ? theirs.head : nullptr;  // it may be further where it has offered nothing
  }

  /// Every process calls one of the two for each operation, all with the same `bytes`, one of them write(). They call let_go_on() while they wait.
  ///
  /// `fill(to, begin, end)` puts ranges of the data into the window, in order, and returns whether it could. Returns when all is in the window.
  /// `word`, less than `words`, goes with it.
  static constexpr unsigned words = 4;
  template <class Fill, class LetGoOn>
  void write(std::int64_t bytes, unsigned word, Fill&& fill, LetGoOn&& let_go_on) {
    each_cell(bytes, [&](std::uint64_t at, std::int64_t begin, std::int64_t end) {
      wait_for_room(at, let_go_on);
      const bool lost = !fill(cell(at), begin, end);
      written(at).store(mark(at) + word * kinds + (lost ? lost_data : data), std::memory_order_release);
      return true;
    });
    read(self_).store(next_, std::memory_order_release);
  }
  /// In place of write(), where the data go another way: the others get `head`, of a cell at most, instead of them. Returns when all have got what it tells of.
  template <class LetGoOn>
  void tell(std::span<const char> head, unsigned word, LetGoOn&& let_go_on) {
    const auto at = next_++;
    wait_for_room(at, let_go_on);
    std::copy(head.begin(), head.end(), cell(at));
    written(at).store(mark(at) + word * kinds + told, std::memory_order_release);
    read(self_).store(next_, std::memory_order_release);
    wait([&] { return slowest() >= next_; }, let_go_on);
  }
  struct Received {
    bool all = true;  // false: some of it could not be put into the window, and was left out
    unsigned word = 0;
  };
  /// `drain(from, begin, end)` takes ranges of the data out of the window, in order; or `fetch(head, at)` all of them from where that says, in operation `at`, and returns whether others
  /// may still be reading from here: then all wait for each other.
  template <class Drain, class Fetch, class LetGoOn>
  Received receive(std::int64_t bytes, Drain&& drain, Fetch&& fetch, LetGoOn&& let_go_on) {
    Received received;
    each_cell(bytes, [&](std::uint64_t at, std::int64_t begin, std::int64_t end) {
      std::uint64_t found = 0;
      wait([&] { return (found = written(at).load(std::memory_order_acquire)) >= mark(at); }, let_go_on);
      received.word = static_cast<unsigned>((found - mark(at)) / kinds);
      const auto kind = (found - mark(at)) % kinds;
      bool read_from = false;
      if (kind == data)
        drain(static_cast<const char*>(cell(at)), begin, end);
      else if (kind == told)
        read_from = fetch(static_cast<const char*>(cell(at)), at + 1);
      else
        received.all = false;
      read(self_).store(at + 1, std::memory_order_release);
      if (read_from) wait([&] { return slowest() > at; }, let_go_on);
      return kind != told;
    });
    return received;
  }

 private:
  struct alignas(64) Mark {
    std::atomic<std::uint64_t> value{0};
  };
  struct Head {
    std::uint64_t key;
    Shape shape;
  };
  /// A cell's number, with room for what is said of it.
  static std::uint64_t mark(std::uint64_t at) { return (at + 1) * words * kinds; }
  enum Kind : std::uint64_t { data, lost_data, told, kinds = 4 };

  Window(char* base, const Name& name, std::uint32_t self) : base_(base), name_(name), self_(self) {}
  static std::size_t marks_begin() { return (sizeof(Head) + 63) / 64 * 64; }
  static std::size_t notes_begin(const Shape& s) { return marks_begin() + (s.processes + s.cells) * sizeof(Mark); }
  static std::size_t posts_begin(const Shape& s) { return (notes_begin(s) + s.processes * notes * sizeof(std::uint64_t) + 63) / 64 * 64; }
  static std::size_t data_begin(const Shape& s) { return (posts_begin(s) + s.processes * sizeof(Post) + 4095) / 4096 * 4096; }
  static std::size_t size_of(const Shape& s) { return data_begin(s) + s.cells * s.cell; }
  static char* map(int file, std::size_t size);

  Mark* marks() const { return reinterpret_cast<Mark*>(base_ + marks_begin()); }
  std::atomic<std::uint64_t>* notes_of_all() const { return reinterpret_cast<std::atomic<std::uint64_t>*>(base_ + notes_begin(name_.shape)); }
  std::atomic<std::uint64_t>& read(std::uint32_t process) const { return marks()[process].value; }
  std::atomic<std::uint64_t>& written(std::uint64_t at) const { return marks()[name_.shape.processes + at % name_.shape.cells].value; }
  char* cell(std::uint64_t at) const { return base_ + data_begin(name_.shape) + at % name_.shape.cells * name_.shape.cell; }
  std::uint64_t slowest() const {
    auto least = ~std::uint64_t{0};
    for (std::uint32_t p = 0; p < name_.shape.processes; ++p)
      if (p != self_) least = std::min(least, read(p).load(std::memory_order_acquire));
    return least;
  }
  /// What is looked for is asked much more often than others are let go on, which takes longer.
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
  /// Until that cell may be written.
  template <class LetGoOn>
  void wait_for_room(std::uint64_t at, LetGoOn&& let_go_on) {
    wait([&] { return at < free_until_ || at < (free_until_ = slowest() + name_.shape.cells); }, let_go_on);
  }
  /// Until f() says that there is no more.
  template <class F>
  void each_cell(std::int64_t bytes, F&& f) {
    const auto size = static_cast<std::int64_t>(name_.shape.cell);
    for (std::int64_t begin = 0; begin < bytes && f(next_++, begin, std::min(begin + size, bytes)); begin += size) {
    }
  }

  char* const base_;
  Name name_;
  const std::uint32_t self_;
  std::uint64_t next_ = 0;        // cells that have been used by all operations so far
  std::uint64_t free_until_ = 0;  // cells before that one may be written, as far as is known
};

}  // namespace dunnage::transport::shm
