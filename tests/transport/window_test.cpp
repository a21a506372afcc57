// A window that several processes, or threads, share.
#include "transport/shm/window.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace dunnage::transport::shm {
namespace {

unsigned char byte_of(unsigned operation, std::int64_t at) { return static_cast<unsigned char>(operation * 131u + static_cast<unsigned>(at) * 7u + static_cast<unsigned>(at >> 8)); }

/// Of some operations every other process but the root offers something to the one behind it, which sees just that. Whether this one does. What is wrong ends the process.
bool ask_the_next(Window& window, std::uint32_t root, std::uint64_t at, unsigned operation) {
  const auto self = window.self(), before = (self + window.processes() - 1) % window.processes();
  const auto offers = [&](std::uint32_t process) { return (operation + process) % 2 == 0; };
  const std::uint32_t head[] = {operation, self};
  window.offer(at, {reinterpret_cast<const char*>(head), offers(self) ? sizeof head : 0});
  window.post(self).there.store(static_cast<std::int64_t>(operation), std::memory_order_release);
  if (before == root) return offers(self);
  const auto* theirs = window.offered(before, at, [] {});
  const std::uint32_t expected[] = {operation, before};
  const bool right = offers(before) ? theirs && std::memcmp(theirs, expected, sizeof expected) == 0 : !theirs;
  if (!right) _exit(201);
  while (offers(before) && window.post(before).there.load(std::memory_order_acquire) != static_cast<std::int64_t>(operation)) usleep(1);
  return offers(self);
}

/// The same operations in all processes: random roots and sizes, some of several windows, some that find readers late. Returns what is wrong.
int take_part(Window& window, std::uint32_t self, std::uint32_t processes, unsigned seed, int operations, std::int64_t most) {
  std::mt19937 random(seed), own(seed + self + 1);
  int waits = 0;
  for (int i = 0; i < operations; ++i) {
    const auto root = static_cast<std::uint32_t>(random() % processes);
    const auto bytes = static_cast<std::int64_t>(random() % 4 == 0 ? random() % 100 : random() % static_cast<unsigned>(most));
    const auto operation = static_cast<unsigned>(i) + seed;
    if (own() % 8 == 0) usleep(static_cast<useconds_t>(own() % 300));
    std::int64_t next = 0;
    bool right = true;
    const bool elsewhere = bytes > 0 && operation % 5 == 0;
    if (self == root && elsewhere) {
      window.tell({reinterpret_cast<const char*>(&operation), sizeof operation}, operation % Window::words, [&] { ++waits; });
      next = bytes;
    } else if (self == root) {
      window.write(bytes, operation % Window::words, [&](char* to, std::int64_t begin, std::int64_t end) {
        right = right && begin == next;
        for (auto at = begin; at < end; ++at) to[at - begin] = static_cast<char>(byte_of(operation, at));
        next = end;
        return true;
      }, [&] { ++waits; });
    } else {
      const auto received = window.receive(bytes, [&](const char* from, std::int64_t begin, std::int64_t end) {
        right = right && begin == next;
        for (auto at = begin; at < end; ++at) right = right && static_cast<unsigned char>(from[at - begin]) == byte_of(operation, at);
        next = end;
      }, [&](const char* head, std::uint64_t at) {
        right = right && elsewhere && std::memcmp(head, &operation, sizeof operation) == 0;
        next = bytes;
        return ask_the_next(window, root, at, operation);
      }, [&] { ++waits; });
      right = right && received.all && (bytes == 0 || received.word == operation % Window::words);
    }
    if (!right || next != bytes) return 1 + i % 100;
  }
  return 0;
}

bool nobody(const char*, std::uint64_t) {
  ADD_FAILURE() << "nothing was told";
  return false;
}

TEST(Window, ProcessesInRandomOperations) {
  unsigned seed = 1;
  for (const std::uint32_t processes : {2u, 3u, 5u})
    for (const std::uint32_t cells : {1u, 2u, 16u})
      for (const std::uint64_t cell : {64u, 4096u}) {
        ++seed;
        const auto window = Window::make({processes, cells, cell});
        ASSERT_TRUE(window);
        std::vector<pid_t> children;
        for (std::uint32_t p = 1; p < processes; ++p) {
          children.push_back(fork());
          if (children.back() == 0) {
            const auto mine = Window::open(window->name(), p);
            _exit(mine ? take_part(*mine, p, processes, seed, 40, 20000) : 200);
          }
        }
        EXPECT_EQ(take_part(*window, 0, processes, seed, 40, 20000), 0);
        for (const auto child : children) {
          int status = 0;
          waitpid(child, &status, 0);
          EXPECT_EQ(status, 0) << processes << " processes, " << cells << " cells of " << cell;
        }
      }
}

// For ThreadSanitizer.
TEST(Window, ThreadsInRandomOperations) {
  const auto made = Window::make({3, 4, 256});
  ASSERT_TRUE(made);
  std::vector<std::thread> threads;
  for (std::uint32_t p = 1; p < 3; ++p)
    threads.emplace_back([&, p] {
      const auto mine = Window::open(made->name(), p);
      ASSERT_TRUE(mine);
      EXPECT_EQ(take_part(*mine, p, 3, 7, 100, 3000), 0);
    });
  EXPECT_EQ(take_part(*made, 0, 3, 7, 100, 3000), 0);
  for (auto& thread : threads) thread.join();
}

// The writer is done as soon as all is in the window: it waits for nobody, while there is room.
TEST(Window, WriterDoesNotWaitWhileThereIsRoom) {
  const auto window = Window::make({2, 8, 64});
  int filled = 0;
  const auto fill = [&](char*, std::int64_t, std::int64_t) { return ++filled > 0; };
  for (int i = 0; i < 4; ++i) window->write(128, 0, fill, [] { FAIL() << "waits"; });
  EXPECT_EQ(filled, 8);
  const auto reader = Window::open(window->name(), 1);
  for (int i = 0; i < 4; ++i) reader->receive(128, [](const char*, std::int64_t, std::int64_t) {}, nobody, [] { FAIL() << "waits"; });
  window->write(512, 0, fill, [] { FAIL() << "waits"; });
  EXPECT_EQ(filled, 16);
}

// What the writer could not read is missed by all, and what follows is not.
TEST(Window, LostCells) {
  const auto window = Window::make({2, 8, 64});
  const auto reader = Window::open(window->name(), 1);
  window->write(192, 0, [](char*, std::int64_t begin, std::int64_t) { return begin != 64; }, [] {});
  window->write(64, 0, [](char*, std::int64_t, std::int64_t) { return true; }, [] {});
  int drained = 0;
  const auto drain = [&](const char*, std::int64_t, std::int64_t) { ++drained; };
  EXPECT_FALSE(reader->receive(192, drain, nobody, [] {}).all);
  EXPECT_EQ(drained, 2);
  EXPECT_TRUE(reader->receive(64, drain, nobody, [] {}).all);
}

TEST(Window, Notes) {
  const auto window = Window::make({3, 2, 64});
  const auto other = Window::open(window->name(), 2);
  for (std::size_t i = 0; i < Window::notes; ++i) EXPECT_EQ(other->note(1, i), 0u);
  window->note(0, 5) = 7;
  other->note(2, Window::notes - 1) = 8;
  EXPECT_EQ(other->note(0, 5), 7u);
  EXPECT_EQ(window->note(2, Window::notes - 1), 8u);
}

TEST(Window, OnlyTheRightOneIsOpened) {
  const auto window = Window::make({2, 4, 64});
  auto name = window->name();
  EXPECT_TRUE(Window::open(name, 1));
  EXPECT_FALSE(Window::open(name, 2)) << "a process that is none of its";
  name.key ^= 1;
  EXPECT_FALSE(Window::open(name, 1)) << "another host's";
  name = window->name();
  name.shape.cells = 8;
  EXPECT_FALSE(Window::open(name, 1)) << "another shape";
  name = window->name();
  name.file = 0;
  EXPECT_FALSE(Window::open(name, 1)) << "another file";
  window->forget_name();
  EXPECT_FALSE(Window::open(name, 1));
}

}  // namespace
}  // namespace dunnage::transport::shm
