// A ring that several processes, or threads, share.
#include "transport/shm/broadcast_ring.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "transport/shm/memory.hpp"

namespace dunnage::transport::shm {
namespace {

unsigned char byte_of(unsigned operation, std::int64_t at) {
  return static_cast<unsigned char>(operation * 131u + static_cast<unsigned>(at) * 7u + static_cast<unsigned>(at >> 8));
}

/// In some operations every second process offers something to the process after it. Checks that
/// each process sees what the process before it offers, and ends the process if not. Returns
/// whether this process offers something.
bool ask_the_next(BroadcastRing& ring, std::uint32_t root, std::uint64_t at, unsigned operation) {
  const auto self = ring.self(), before = (self + ring.processes() - 1) % ring.processes();
  const auto offers = [&](std::uint32_t process) { return (operation + process) % 2 == 0; };
  const std::uint32_t head[] = {operation, self};
  ring.offer(at, {reinterpret_cast<const char*>(head), offers(self) ? sizeof head : 0});
  ring.post(self).there.store(static_cast<std::int64_t>(operation), std::memory_order_release);
  if (before == root) return offers(self);
  const auto* theirs = ring.offered(before, at, [] {});
  const std::uint32_t expected[] = {operation, before};
  const bool right = offers(before) ? theirs && std::memcmp(theirs, expected, sizeof expected) == 0 : !theirs;
  if (!right) _exit(201);
  while (offers(before) &&
         ring.post(before).there.load(std::memory_order_acquire) != static_cast<std::int64_t>(operation))
    usleep(1);
  return offers(self);
}

/// Takes part in operations that are random, and the same in all processes. Some data are longer
/// than the ring, and some readers come late. Returns 0, or which operation went wrong.
int take_part(BroadcastRing& ring, std::uint32_t self, std::uint32_t processes, unsigned seed, int operations,
              std::int64_t most) {
  std::mt19937 random(seed), own(seed + self + 1);
  int waits = 0;
  for (int i = 0; i < operations; ++i) {
    const auto root = static_cast<std::uint32_t>(random() % processes);
    const auto bytes =
        static_cast<std::int64_t>(1 + (random() % 4 == 0 ? random() % 100 : random() % static_cast<unsigned>(most)));
    const auto operation = static_cast<unsigned>(i) + seed;
    if (own() % 8 == 0) usleep(static_cast<useconds_t>(own() % 300));
    std::int64_t next = 0;
    bool right = true;
    const bool elsewhere = operation % 5 == 0;
    if (self == root && elsewhere) {
      ring.tell({reinterpret_cast<const char*>(&operation), sizeof operation}, operation % BroadcastRing::words,
                [&] { ++waits; });
      next = bytes;
    } else if (self == root) {
      ring.write(
          bytes, operation % BroadcastRing::words,
          [&](char* to, std::int64_t begin, std::int64_t end) {
            right = right && begin == next;
            for (auto at = begin; at < end; ++at) to[at - begin] = static_cast<char>(byte_of(operation, at));
            next = end;
            return true;
          },
          [&] { ++waits; });
    } else {
      const auto received = ring.receive(
          [&](const char* from, std::int64_t begin, std::int64_t end, std::int64_t all) {
            right = right && begin == next && all == bytes;
            for (auto at = begin; at < end; ++at)
              right = right && static_cast<unsigned char>(from[at - begin]) == byte_of(operation, at);
            next = end;
          },
          [&](const char* head, std::uint64_t at) {
            right = right && elsewhere && std::memcmp(head, &operation, sizeof operation) == 0;
            next = bytes;
            return ask_the_next(ring, root, at, operation);
          },
          [&] { ++waits; });
      right = right && received.all && received.word == operation % BroadcastRing::words;
    }
    if (!right || next != bytes) return 1 + i % 100;
  }
  return 0;
}

bool nobody(const char*, std::uint64_t) {
  ADD_FAILURE() << "nothing was told";
  return false;
}

TEST(BroadcastRing, ProcessesInRandomOperations) {
  unsigned seed = 1;
  for (const std::uint32_t processes : {2u, 3u, 5u})
    for (const std::uint32_t cells : {1u, 2u, 16u})
      for (const std::uint64_t cell : {64u, 4096u}) {
        ++seed;
        const auto ring = BroadcastRing::make({processes, cells, cell});
        ASSERT_TRUE(ring);
        std::vector<pid_t> children;
        for (std::uint32_t p = 1; p < processes; ++p) {
          children.push_back(fork());
          if (children.back() == 0) {
            const auto mine = BroadcastRing::open(ring->name(), p);
            _exit(mine ? take_part(*mine, p, processes, seed, 40, 20000) : 200);
          }
        }
        EXPECT_EQ(take_part(*ring, 0, processes, seed, 40, 20000), 0);
        for (const auto child : children) {
          int status = 0;
          waitpid(child, &status, 0);
          EXPECT_EQ(status, 0) << processes << " processes, " << cells << " cells of " << cell;
        }
      }
}

// Threads in place of processes, because ThreadSanitizer sees one process only.
TEST(BroadcastRing, ThreadsInRandomOperations) {
  const auto made = BroadcastRing::make({3, 4, 256});
  ASSERT_TRUE(made);
  std::vector<std::thread> threads;
  for (std::uint32_t p = 1; p < 3; ++p)
    threads.emplace_back([&, p] {
      const auto mine = BroadcastRing::open(made->name(), p);
      ASSERT_TRUE(mine);
      EXPECT_EQ(take_part(*mine, p, 3, 7, 100, 3000), 0);
    });
  EXPECT_EQ(take_part(*made, 0, 3, 7, 100, 3000), 0);
  for (auto& thread : threads) thread.join();
}

// While there is room in the ring, the writer waits for nobody.
TEST(BroadcastRing, WriterDoesNotWaitWhileThereIsRoom) {
  const auto ring = BroadcastRing::make({2, 8, 64});
  int filled = 0;
  const auto fill = [&](char*, std::int64_t, std::int64_t) { return ++filled > 0; };
  for (int i = 0; i < 4; ++i) ring->write(128, 0, fill, [] { FAIL() << "waits"; });
  EXPECT_EQ(filled, 8);
  const auto reader = BroadcastRing::open(ring->name(), 1);
  for (int i = 0; i < 4; ++i) reader->receive([](auto&&...) {}, nobody, [] { FAIL() << "waits"; });
  ring->write(512, 0, fill, [] { FAIL() << "waits"; });
  EXPECT_EQ(filled, 16);
}

// A cell that the writer could not fill is missing in all readers. The next cells are not.
TEST(BroadcastRing, OnlyThisUserCanOpenTheMemory) {
  const auto mode = [](int file) {
    struct stat about;
    return fstat(file, &about) == 0 ? about.st_mode & 0777 : 0;
  };
  const auto ring = BroadcastRing::make({2, 4, 4096});
  ASSERT_TRUE(ring);
  EXPECT_EQ(mode(ring->name().file), 0600u);
  const auto memory = Memory::make({1, 0, 2});
  ASSERT_TRUE(memory);
  EXPECT_EQ(mode(static_cast<int>(memory->file())), 0600u);
}

TEST(BroadcastRing, LostCells) {
  const auto ring = BroadcastRing::make({2, 8, 64});
  const auto reader = BroadcastRing::open(ring->name(), 1);
  ring->write(
      192, 0, [](char*, std::int64_t begin, std::int64_t) { return begin != 64; }, [] {});
  ring->write(
      64, 0, [](char*, std::int64_t, std::int64_t) { return true; }, [] {});
  int drained = 0;
  const auto drain = [&](auto&&...) { ++drained; };
  EXPECT_FALSE(reader->receive(drain, nobody, [] {}).all);
  EXPECT_EQ(drained, 2);
  EXPECT_TRUE(reader->receive(drain, nobody, [] {}).all);
}

// Each receiver hears how long the data are, and is ready for the next operation.
TEST(BroadcastRing, TheWriterTellsTheLength) {
  const auto ring = BroadcastRing::make({2, 8, 64});
  const auto reader = BroadcastRing::open(ring->name(), 1);
  for (const std::int64_t bytes : {1, 64, 65, 300})
    for (int again = 0; again < 3; ++again) {
      ring->write(
          bytes, 0, [](char*, std::int64_t, std::int64_t) { return true; }, [] { FAIL() << "waits"; });
      std::int64_t next = 0;
      const auto drain = [&](const char*, std::int64_t begin, std::int64_t end, std::int64_t told) {
        EXPECT_EQ(begin, next);
        EXPECT_EQ(told, bytes);
        next = end;
      };
      reader->receive(drain, nobody, [] { FAIL() << "waits"; });
      EXPECT_EQ(next, bytes);
    }
}

TEST(BroadcastRing, Notes) {
  const auto ring = BroadcastRing::make({3, 2, 64});
  const auto other = BroadcastRing::open(ring->name(), 2);
  for (std::size_t i = 0; i < BroadcastRing::notes; ++i) EXPECT_EQ(other->note(1, i), 0u);
  ring->note(0, 5) = 7;
  other->note(2, BroadcastRing::notes - 1) = 8;
  EXPECT_EQ(other->note(0, 5), 7u);
  EXPECT_EQ(ring->note(2, BroadcastRing::notes - 1), 8u);
}

TEST(BroadcastRing, OnlyTheRightOneIsOpened) {
  const auto ring = BroadcastRing::make({2, 4, 64});
  auto name = ring->name();
  EXPECT_TRUE(BroadcastRing::open(name, 1));
  EXPECT_FALSE(BroadcastRing::open(name, 2)) << "a process that is none of its";
  name.key ^= 1;
  EXPECT_FALSE(BroadcastRing::open(name, 1)) << "another host's";
  name = ring->name();
  name.shape.cells = 8;
  EXPECT_FALSE(BroadcastRing::open(name, 1)) << "another shape";
  name = ring->name();
  name.file = 0;
  EXPECT_FALSE(BroadcastRing::open(name, 1)) << "another file";
  ring->forget_name();
  EXPECT_FALSE(BroadcastRing::open(name, 1));
}

}  // namespace
}  // namespace dunnage::transport::shm
