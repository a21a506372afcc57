// Two processes, and what goes through the shared memory between them.
#include <unistd.h>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <sys/select.h>
#include <algorithm>
#include <fstream>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "processes.hpp"
#include "transport/peers/descriptor_socket.hpp"

namespace dunnage::transport::peers {
namespace {

std::vector<unsigned char> numbers(std::int64_t size, unsigned seed) {
  std::vector<unsigned char> bytes(static_cast<std::size_t>(size));
  std::mt19937_64 random(seed);
  for (std::size_t at = 0; at < bytes.size(); at += 8) {  // with sanitizers, byte by byte would take a minute
    const std::uint64_t word = random();
    std::memcpy(bytes.data() + at, &word, std::min<std::size_t>(8, bytes.size() - at));
  }
  return bytes;
}

void pack(const Outgoing& out, const std::vector<unsigned char>& bytes) {
  out.run(
      true,
      [&](char* to, std::int64_t begin, std::int64_t end) {
        std::copy(bytes.begin() + begin, bytes.begin() + end, to);
      },
      [] {});
}
/// Returns whether the ticket is recognised, and what it does not carry is as in `want`.
bool fetched(World& world, const Ticket& ticket, const std::vector<unsigned char>& want) {
  const auto in = world.rendezvous.recognise(ticket, host_lengths.of(ticket.slot));
  if (!in || in->size() != static_cast<std::int64_t>(want.size())) return false;
  bool right = true;
  auto next = in->carried();
  const bool all = in->fetch([&](const char* from, std::int64_t begin, std::int64_t end) {
    right = right && begin == next &&
            std::equal(want.begin() + begin, want.begin() + end, reinterpret_cast<const unsigned char*>(from));
    next = end;
  });
  return all && right && next == in->size();
}

TEST(SharedMemory, RanksMeet) {
  const auto job = new_job();
  Child child(job, [](World& w, int from, int) { return be_met(w, from), true; });
  const auto world = World::join({job, 0, 2}, 1 << 20, 1 << 20);
  ASSERT_TRUE(world);
  EXPECT_FALSE(world->peers.reaches(0)) << "itself";
  EXPECT_FALSE(world->peers.reaches(2)) << "not a rank";
  meet(*world, child);
  EXPECT_TRUE(world->peers.reaches(1));
}

TEST(SharedMemory, RanksAreFoundWhereTheySayTheyAre) {
  const auto job = new_job();
  Child child(job, [](World& w, int from, int to) {
    say(to, w.peers.whereabouts());
    return hear<char>(from) == '.';
  });
  auto theirs = hear<Whereabouts>(child.from());
  const auto world = World::join({job, 0, 2}, 1 << 20, 1 << 20);
  ASSERT_TRUE(world);
  EXPECT_EQ(world->peers.memory_of_learned(1), nullptr) << "nothing was learned";
  auto wrong = theirs;
  ++wrong.file;
  EXPECT_FALSE(world->peers.learn({world->peers.whereabouts(), wrong}));
  EXPECT_EQ(world->peers.memory_of_learned(1), nullptr);
  EXPECT_TRUE(world->peers.learn({world->peers.whereabouts(), theirs}));
  ASSERT_NE(world->peers.memory(1), nullptr);
  EXPECT_EQ(world->peers.memory_of_learned(1), world->peers.memory(1));
  say(child.to(), '.');
}

TEST(SharedMemory, OtherJobsAndOtherUsersOfTheNameAreNotMet) {
  const auto job = new_job();
  Child child(job + 1, [](World&, int from, int) { return hear<char>(from) == '.'; });
  const auto world = World::join({job, 0, 2}, 1 << 20, 1 << 20);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(world->peers.reaches(1));
  say(child.to(), '.');
}

/// A process of that user makes the memory of rank 1. Returns whether this process finds it.
bool finds_memory_of(uid_t user) {
  const auto job = new_job();
  int up[2], down[2];
  if (pipe(up) != 0 || pipe(down) != 0) abort();
  const auto process = fork();
  if (process == 0) {
    close(down[1]);
    const auto memory = setuid(user) == 0 ? shm::Memory::make({job, 1, 2}) : nullptr;
    say(up[1], memory != nullptr);
    char ignored;
    _exit(read(down[0], &ignored, 1) == 0 ? 0 : 1);
  }
  EXPECT_TRUE(hear<bool>(up[0]));
  const bool found = shm::Memory::find({job, 1, 2}) != nullptr;
  for (const int file : {up[0], up[1], down[0], down[1]}) close(file);
  waitpid(process, nullptr, 0);
  return found;
}

TEST(SharedMemory, WhatAnotherUserHasMadeIsNotMet) {
  EXPECT_TRUE(finds_memory_of(getuid()));
  if (geteuid() != 0) GTEST_SKIP() << "only root could open another user's memory";
  EXPECT_FALSE(finds_memory_of(65534));
}

/// For how many files the kernel has made room in this process.
std::string room_for_files() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("FDSize:")) return line;
  return "";
}

TEST(SharedMemory, NeedsNoMoreRoomForFiles) {
  const auto process = fork();  // its room is as large as its open files need
  if (process == 0) {
    for (int file = 20; file < 1000; ++file) close(file);
    const auto child = fork();
    if (child == 0) {
      const auto before = room_for_files();
      const auto memory = shm::Memory::make({new_job(), 0, 2});
      const auto socket = DescriptorSocket::open();
      _exit(memory && socket && !before.empty() && room_for_files() == before ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    _exit(WEXITSTATUS(status));
  }
  int status = 0;
  waitpid(process, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(SharedMemory, IsFoundWithoutItsUsualNumbers) {
  std::vector<int> taken;
  while (taken.empty() || taken.back() < 64) taken.push_back(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 60));
  const auto job = new_job();
  const auto memory = shm::Memory::make({job, 1, 2});
  for (const int file : taken) close(file);
  ASSERT_TRUE(memory);
  EXPECT_GE(memory->file(), 64u);
  EXPECT_TRUE(shm::Memory::find({job, 1, 2}));
}

/// Three operations of each size.
Child::Body fetches_all(std::span<const std::int64_t> sizes) {
  return [sizes](World& w, int from, int to) {
    be_met(w, from);
    bool right = true;
    for (const auto size : sizes)
      for (unsigned i = 0; i < 3; ++i) {
        right = fetched(w, hear<Ticket>(from), numbers(size, i)) && right;
        say(to, 'x');
      }
    return right;
  };
}

TEST(SharedMemory, DataOfAllSizesWhileBothAreAtWork) {
  const auto job = new_job();
  const std::int64_t sizes[] = {16 << 10, (16 << 10) + 1, 100000, 1 << 20, 3333333, 40 << 20};
  Child child(job, fetches_all(sizes));
  const auto world = World::join({job, 0, 2}, std::uint64_t{256} << 20, 64 << 20);
  meet(*world, child);
  for (const auto size : sizes)
    for (unsigned i = 0; i < 3; ++i) {
      const auto out = world->rendezvous.offer(1, size, 7);
      ASSERT_TRUE(out);
      EXPECT_EQ(out->size(), size);
      EXPECT_TRUE(ticket_length(out->length()));
      const auto bytes = numbers(size, i);
      say(child.to(), out->ticket());
      pack(*out, bytes);
      hear<char>(child.from());
    }
}

TEST(SharedMemory, RingsOfDataFromGpus) {
  const auto job = new_job();
  const std::int64_t sizes[] = {70000, 1 << 20, 5 << 20, 16 << 20, (16 << 20) + 1, (40 << 20) + 12345};
  Child child(job, fetches_all(sizes));
  const auto world = World::join({job, 0, 2}, std::uint64_t{256} << 20, 64 << 20);
  meet(*world, child);
  for (const auto size : sizes)
    for (unsigned i = 0; i < 3; ++i) {
      const auto out = world->rendezvous.offer(1, size, 7, true);
      ASSERT_TRUE(out);
      out->pack_always();
      ASSERT_TRUE(world->rendezvous.make_room(*out));
      const auto bytes = numbers(size, i);
      // In turn: the receiver has come before, comes meanwhile, and comes when all is packed.
      if (i == 0) say(child.to(), out->ticket());
      out->run(
          i != 2,
          [&](char* to, std::int64_t begin, std::int64_t end) {
            ASSERT_LE(end - begin, size > (16 << 20) ? 2 << 20 : 1 << 20);
            std::copy(bytes.begin() + begin, bytes.begin() + end, to);
          },
          [] {});
      if (i != 0) say(child.to(), out->ticket());
      hear<char>(child.from());
    }
}

TEST(SharedMemory, SenderEndsThoughNobodyReceivesAndMemoryIsBounded) {
  const auto job = new_job();
  constexpr std::int64_t size = 5 << 20;
  Child child(job, [&](World& w, int from, int to) {
    be_met(w, from);
    bool right = true;
    for (int n = hear<int>(from), i = 0; i < n; ++i)
      right = fetched(w, hear<Ticket>(from), numbers(size, static_cast<unsigned>(i))) && right;
    say(to, 'x');
    return right && hear<char>(from) == '.';
  });
  const auto world = World::join({job, 0, 2}, 40 << 20, 4 << 20);
  meet(*world, child);
  std::vector<Ticket> tickets;
  for (unsigned i = 0;; ++i) {
    const auto out = world->rendezvous.offer(1, size, 7);
    if (!out) break;
    pack(*out, numbers(size, i));
    tickets.push_back(out->ticket());
  }
  EXPECT_GE(tickets.size(), 4u);
  EXPECT_LE(tickets.size(), 16u);
  say(child.to(), static_cast<int>(tickets.size()));
  for (const auto& ticket : tickets) say(child.to(), ticket);
  hear<char>(child.from());
  EXPECT_TRUE(world->rendezvous.offer(1, size, 7)) << "there is room again";
  say(child.to(), '.');
}

TEST(SharedMemory, OperationsAreBounded) {
  const auto job = new_job();
  Child child(job, [](World& w, int from, int) { return be_met(w, from), hear<char>(from) == '.'; });
  const auto world = World::join({job, 0, 2}, std::uint64_t{16} << 30, 1 << 20);
  meet(*world, child);
  world->rendezvous.avoid(1, host_lengths.of(5));
  // Data in a GPU's memory, which need no room here.
  std::map<std::int64_t, std::uint32_t> seen;
  std::uint32_t operations = 0;
  while (const auto out = world->rendezvous.offer(1, 20000, 7, true)) {
    ++seen[out->length()], ++operations;
    // Half of the lengths, and the avoided one, are not shared as long as there are others.
    if (operations < length_count / 2) {
      EXPECT_EQ(seen.size(), operations);
    }
  }
  EXPECT_EQ(seen.size(), length_count - 1u);
  EXPECT_EQ(operations, slots - rows);
  EXPECT_FALSE(seen.contains(host_lengths.of(5)));
  say(child.to(), '.');
}

// The receiver sees lengths, and is to tell sizes and take each operation once.
TEST(SharedMemory, ThousandsOfOperationsOfTwoSizes) {
  const auto job = new_job();
  constexpr std::uint32_t count = 3000;
  const auto size_of = [](std::uint32_t i) { return std::int64_t{20000} + 8 * (i % 2); };
  Child child(job, [&](World& w, int from, int to) {
    be_met(w, from);
    bool right = true;
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto ticket = hear<Ticket>(from);
      const auto length = host_lengths.of(ticket.slot);
      right = right && w.rendezvous.expects(length) && w.rendezvous.size_of(0, length, 7) == size_of(i);
      // If several tickets have the length, nobody can tell which of them the MPI has truncated.
      right = right && (i != 0 || !w.rendezvous.truncated(0, length, 7));
      const auto in = w.rendezvous.recognise(ticket, length);
      right = right && in && in->size() == size_of(i) && in->claim();
      if (in) in->discard();
      right = right && !w.rendezvous.recognise(ticket, length);
    }
    say(to, right);
    return hear<char>(from) == '.' && right;
  });
  const auto world = World::join({job, 0, 2}, 1 << 20, 1 << 20);
  meet(*world, child);
  std::vector<Outgoing> operations;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto out = world->rendezvous.offer(1, size_of(i), 7, true);
    ASSERT_TRUE(out);
    out->ready();
    operations.push_back(*out);
  }
  for (const auto& out : operations) say(child.to(), out.ticket());
  EXPECT_TRUE(hear<bool>(child.from()));
  for (const auto& out : operations) EXPECT_TRUE(out.await(std::chrono::seconds(0), [] {}));
  // Offers look from time to time which operations are over. In the end all slots are free again,
  // and one row is enough for the next operations.
  for (std::uint32_t i = 0; i < count; ++i)
    if (const auto out = world->rendezvous.offer(1, 20000, 7, true)) out->cancel();
  std::set<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < length_count; ++i) {
    const auto out = world->rendezvous.offer(1, 20000 + 8 * i, 7, true);
    ASSERT_TRUE(out);
    numbers.insert(out->ticket().slot);
  }
  EXPECT_EQ(numbers.size(), length_count);
  EXPECT_EQ(*numbers.rbegin(), length_count - 1);
  say(child.to(), '.');
}

TEST(SharedMemory, ReceiverThatWantsNothing) {
  const auto job = new_job();
  Child child(job, [](World& w, int from, int to) {
    be_met(w, from);
    const auto ticket = hear<Ticket>(from);
    const auto in = w.rendezvous.recognise(ticket, host_lengths.of(ticket.slot));
    if (in) in->discard();
    say(to, 'x');
    return in.has_value() && !w.rendezvous.recognise(ticket, host_lengths.of(ticket.slot)) && hear<char>(from) == '.';
  });
  const auto world = World::join({job, 0, 2}, 100 << 20, 1 << 20);
  meet(*world, child);
  const auto out = world->rendezvous.offer(1, 64 << 20, 7);
  ASSERT_TRUE(out);
  say(child.to(), out->ticket());
  hear<char>(child.from());
  int chunks = 0;
  out->run(
      true, [&](char*, std::int64_t, std::int64_t) { ++chunks; }, [] {});
  EXPECT_EQ(chunks, 0);
  EXPECT_TRUE(world->rendezvous.offer(1, 64 << 20, 7)) << "the room is free";
  say(child.to(), '.');
}

TEST(SharedMemory, OnlyWhatIsOfferedIsATicket) {
  const auto job = new_job();
  Child child(job, [](World& w, int from, int) {
    be_met(w, from);
    const auto ticket = hear<Ticket>(from);
    const auto refused = [&](auto change) {
      auto other = ticket;
      std::int64_t length = host_lengths.of(ticket.slot);
      change(other, length);
      return !w.rendezvous.recognise(other, length);
    };
    const bool size =
        w.rendezvous.size_of(0, host_lengths.of(ticket.slot), 7) == ticket.size &&
        w.rendezvous.size_of(0, host_lengths.of(ticket.slot), 8) == host_lengths.of(ticket.slot) &&
        w.rendezvous.size_of(0, host_lengths.of(ticket.slot) + step, 7) == host_lengths.of(ticket.slot) + step &&
        w.rendezvous.size_of(0, 100, 7) == 100;
    if (!w.rendezvous.expects(host_lengths.of(ticket.slot)) || w.rendezvous.expects(host_lengths.of(ticket.slot + 1)))
      return false;
    return size && refused([](Ticket& t, auto&) { ++t.serial; }) && refused([](Ticket& t, auto&) { ++t.size; }) &&
           refused([](Ticket& t, auto&) { ++t.slot; }) && refused([](Ticket& t, auto&) { t.slot = 1u << 31; }) &&
           refused([](Ticket& t, auto&) { t.magic ^= 1; }) && refused([](Ticket& t, auto&) { t.receiver = 0; }) &&
           refused([](Ticket& t, auto&) { t.sender = 1; }) && refused([](Ticket& t, auto&) { t.sender = 77; }) &&
           refused([](Ticket&, auto& length) { ++length; }) &&
           w.rendezvous.recognise(ticket, host_lengths.of(ticket.slot));
  });
  const auto world = World::join({job, 0, 2}, 1 << 24, 1 << 20);
  meet(*world, child);
  const auto out = world->rendezvous.offer(1, 20000, 7);
  say(child.to(), out->ticket());
  EXPECT_EQ(child.wait(), 0);
}

TEST(SharedMemory, TokensAreWhatTheirSendersOffer) {
  const auto job = new_job();
  constexpr std::string_view head = "where the data are";
  Child child(
      job,
      [&](World& w, int from, int to) {
        be_met(w, from);
        const auto token = hear<std::uint64_t>(from);
        if (!w.tokens.expected() || w.tokens.recognise(token + 1, 100) ||
            w.tokens.recognise(token ^ (std::uint64_t{1} << 50), 100) || w.tokens.recognise(token, 99) ||
            w.tokens.recognise(0, 100))
          return false;
        const auto in = w.tokens.recognise(token, 100);
        if (!in || w.tokens.expected() || !in->head() || std::memcmp(in->head(), head.data(), head.size()) != 0 ||
            w.tokens.recognise(token, 1000))
          return false;
        if (!in->claim() || w.tokens.recognise(token, 100)) return false;
        in->discard();
        if (w.tokens.recognise(token, 100)) return false;
        say(to, 'a');
        hear<char>(from);  // one has been cancelled, another is under way
        if (!w.tokens.refuse()) return false;
        say(to, 'b');
        const auto last = w.tokens.recognise(hear<std::uint64_t>(from), 8);
        if (!last || w.tokens.refuse()) return false;
        last->discard();
        return true;
      },
      true);
  const auto world = World::join({job, 0, 2}, 1 << 24, 1 << 20, true);
  meet(*world, child);
  EXPECT_TRUE(world->tokens.taken_by(1));
  const auto out = world->tokens.offer(1, 100, 7, {head.data(), head.size()});
  ASSERT_TRUE(out && out->token() && out->length() == 100);
  out->ready();
  say(child.to(), out->token());
  EXPECT_EQ(hear<char>(child.from()), 'a');
  const auto none = world->tokens.offer(1, 100, 7, {head.data(), head.size()}),
             last = world->tokens.offer(1, 8, 7, {head.data(), head.size()});
  ASSERT_TRUE(none && last);
  EXPECT_NE(none->token(), last->token());
  none->cancel();
  say(child.to(), '.');
  EXPECT_EQ(hear<char>(child.from()), 'b');
  EXPECT_FALSE(world->tokens.taken_by(1));
  EXPECT_FALSE(world->tokens.offer(1, 100, 7, {head.data(), head.size()}));
  say(child.to(), last->token());
  EXPECT_EQ(child.wait(), 0);
  EXPECT_FALSE(world->rendezvous.offer(1, 20000, 7, true)->token());
}

TEST(SharedMemory, ReceiverThatDies) {
  const auto job = new_job();
  Child child(job, [](World& w, int from, int to) {
    be_met(w, from);
    const auto ticket = hear<Ticket>(from);
    int chunks = 0;
    w.rendezvous.recognise(ticket, host_lengths.of(ticket.slot))->fetch([&](auto...) {
      if (++chunks == 3) say(to, 'x'), pause();
    });
    return false;
  });
  const auto world = World::join({job, 0, 2}, 100 << 20, 1 << 20);
  meet(*world, child);
  const auto out = world->rendezvous.offer(1, 20 << 20, 7);
  say(child.to(), out->ticket());
  bool killed = false;
  out->run(
      true,
      [&](char* to, std::int64_t begin, std::int64_t end) {
        std::fill(to, to + (end - begin), 'a');
        if (begin > (1 << 20) && !killed) {
          hear<char>(child.from());
          child.kill_it();
          killed = true;
        }
      },
      [] {});
  EXPECT_TRUE(killed);
  world->leave([] {});
}

TEST(SharedMemory, SenderThatDies) {
  const auto job = new_job();
  // Here the child, rank 1, sends: it asks to be let in.
  Child child(job, [](World& w, int, int to) {
    while (!w.peers.reaches(0)) usleep(1000);
    const auto out = w.rendezvous.offer(0, 20 << 20, 7);
    say(to, out->ticket());
    int chunks = 0;
    out->run(
        true,
        [&](auto...) {
          if (++chunks == 4) say(to, 'x'), pause();
        },
        [] {});
    return false;
  });
  const auto world = World::join({job, 0, 2}, 1 << 20, 1 << 20);
  std::optional<Incoming> in;
  std::atomic<bool> heard = false;
  Ticket ticket{};
  for (std::atomic<bool>* done = &heard; !*done;) {
    world->answer();
    fd_set set;
    FD_ZERO(&set);
    FD_SET(child.from(), &set);
    timeval soon{0, 1000};
    if (select(child.from() + 1, &set, nullptr, nullptr, &soon) == 1) ticket = hear<Ticket>(child.from()), *done = true;
  }
  in = world->rendezvous.recognise(ticket, host_lengths.of(ticket.slot));
  ASSERT_TRUE(in);
  hear<char>(child.from());
  child.kill_it();
  int chunks = 0;
  EXPECT_FALSE(in->fetch([&](auto...) { ++chunks; }));
  EXPECT_EQ(chunks, 3);
}

TEST(SharedMemory, LeavingWaitsForWhatWasSent) {
  const auto job = new_job();
  constexpr std::int64_t size = 1 << 20;
  Child child(job, [&](World& w, int from, int) {
    be_met(w, from);
    const auto ticket = hear<Ticket>(from);
    usleep(100000);
    const bool right = fetched(w, ticket, numbers(size, 3));
    w.leave([] {});  // the parent has one more message, which the child does not want
    return right;
  });
  const auto world = World::join({job, 0, 2}, 100 << 20, 1 << 20);
  meet(*world, child);
  const auto out = world->rendezvous.offer(1, size, 7), unwanted = world->rendezvous.offer(1, size, 7);
  pack(*out, numbers(size, 3));
  pack(*unwanted, numbers(size, 4));
  say(child.to(), out->ticket());
  world->leave([] {});
}

// A message of a ticket's length was sent to that rank: no later ticket to it has the length.
TEST(SharedMemory, LaterTicketsAvoidTheLengthOfAMessage) {
  const auto job = new_job();
  constexpr std::int64_t size = 20000;
  Child child(job, [](World& w, int from, int) {
    be_met(w, from);
    const auto ticket = hear<Ticket>(from);
    return fetched(w, ticket, numbers(size, 1));
  });
  const auto world = World::join({job, 0, 2}, 1 << 24, 1 << 20);
  meet(*world, child);
  const auto out = world->rendezvous.offer(1, size, 7);
  world->rendezvous.avoid(1, out->length());
  pack(*out, numbers(size, 1));
  say(child.to(), out->ticket());
  EXPECT_EQ(child.wait(), 0);
  std::set<std::int64_t> later;
  for (std::uint32_t i = 0; i < 2 * length_count; ++i) {
    const auto next = world->rendezvous.offer(1, size, 7);
    ASSERT_TRUE(next);
    later.insert(next->length());
    next->cancel();
  }
  EXPECT_FALSE(later.contains(out->length()));
  EXPECT_EQ(later.size(), length_count - 1u);
}

/// The child gets lengths of truncated messages, and tells which were surely tickets.
TEST(SharedMemory, TruncatedTicketsAreToldFromOrdinaryMessages) {
  const auto job = new_job();
  constexpr std::int64_t size = 20000;
  Child child(job, [](World& w, int from, int to) {
    be_met(w, from);
    for (int i = 0; i < 4; ++i) {
      const auto length = hear<std::int64_t>(from);
      const auto incoming = w.rendezvous.truncated(0, length, 7);
      if (incoming) incoming->discard();
      say(to, incoming.has_value());
    }
    return true;
  });
  const auto world = World::join({job, 0, 2}, 1 << 24, 1 << 20);
  meet(*world, child);
  const auto is_ticket = [&](std::int64_t length) {
    say(child.to(), length);
    return hear<bool>(child.from());
  };
  const auto ticket = *world->rendezvous.offer(1, size, 7), other = *world->rendezvous.offer(1, size, 8),
             shares = *world->rendezvous.offer(1, size, 7);
  for (const auto& out : {ticket, other, shares}) pack(out, numbers(size, 1));
  world->rendezvous.avoid(1, shares.length());
  EXPECT_TRUE(is_ticket(ticket.length()));
  EXPECT_FALSE(is_ticket(ticket.length()));  // no longer
  EXPECT_FALSE(is_ticket(other.length()));   // of another tag
  EXPECT_FALSE(is_ticket(shares.length()));  // perhaps the later ordinary message
  EXPECT_EQ(child.wait(), 0);
}

}  // namespace
}  // namespace dunnage::transport::peers
