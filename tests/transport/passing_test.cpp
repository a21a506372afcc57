// Descriptors between processes, and what the processes agree on before an operation names memory.
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <set>
#include <stdexcept>
#include <string>

#include "processes.hpp"

namespace dunnage::transport::peers {
namespace {

/// A file with a number in it.
base::Descriptor file_with(int number) {
  base::Descriptor file(memfd_create("passed", MFD_CLOEXEC));
  EXPECT_EQ(pwrite(file.get(), &number, sizeof number, 0), static_cast<ssize_t>(sizeof number));
  return file;
}
int number_in(const base::Descriptor& file) {
  int number = -1;
  return pread(file.get(), &number, sizeof number, 0) == sizeof number ? number : -1;
}

Label label(std::uint32_t sender, std::uint32_t place, std::uint64_t serial) {
  Label made{sender, place, serial, {}};
  made.bytes.fill(static_cast<unsigned char>(serial));
  return made;
}

int open_files() {
  int count = 0;
  DIR* files = opendir("/proc/self/fd");
  while (readdir(files)) ++count;
  closedir(files);
  return count;
}
std::set<int> open_sockets() {
  std::set<int> found;
  struct stat status;
  for (int file = 0; file < 1024; ++file)
    if (fstat(file, &status) == 0 && S_ISSOCK(status.st_mode)) found.insert(file);
  return found;
}

const auto self = static_cast<std::uint32_t>(getpid());

TEST(DescriptorSocket, BringsDescriptorsToAnotherProcess) {
  const auto parent = self;
  Child child(new_job(), [&](World&, int from, int to) {
    const auto own = DescriptorSocket::open();
    say(to, own->name());
    hear<char>(from);
    const bool others = own->take(parent, 0, 7, 1) || own->take(parent, 0, 8, 1) || own->take(parent, 1, 7, 2) ||
                        own->take(parent + 1, 0, 7, 2);
    const auto second = own->take(parent, 0, 8, 3), first = own->take(parent, 0, 7, 2);
    const bool again = own->take(parent, 0, 7, 2).has_value();
    return !others && !again && first && second && number_in(first->file) == 20 && number_in(second->file) == 30 &&
           first->label.bytes == label(0, 7, 2).bytes;
  });
  const auto own = DescriptorSocket::open();
  ASSERT_TRUE(own);
  const auto name = hear<DescriptorSocket::Name>(child.from());
  EXPECT_TRUE(own->send(name, label(0, 7, 2), file_with(20)));
  EXPECT_TRUE(own->send(name, label(0, 8, 3), file_with(30)));
  say(child.to(), '.');
}

TEST(DescriptorSocket, NeverWaitsForOneWhoTakesNothing) {
  const auto own = DescriptorSocket::open(), idle = DescriptorSocket::open();
  const auto file = file_with(1);
  std::uint64_t sent = 0;
  while (sent < 100000 && own->send(idle->name(), label(0, 0, sent), file)) ++sent;
  EXPECT_GT(sent, 0u);
  ASSERT_LT(sent, 100000u) << "the queue has an end";
  EXPECT_FALSE(own->send(idle->name(), label(0, 0, sent), file));
  EXPECT_TRUE(idle->take(self, 0, 0, sent - 1));
  EXPECT_TRUE(own->send(idle->name(), label(0, 0, sent), file)) << "there is room again";
}

TEST(DescriptorSocket, KeepsNoMoreThanSome) {
  const auto own = DescriptorSocket::open(), other = DescriptorSocket::open();
  const auto file = file_with(1);
  const int before = open_files();
  for (std::uint64_t i = 0; i < 300; ++i) {
    ASSERT_TRUE(own->send(other->name(), label(0, 0, i), file));
    EXPECT_FALSE(other->take(self, 0, 1, i)) << "but looks at what has come";
  }
  EXPECT_LE(open_files(), before + 64);
  EXPECT_FALSE(other->take(self, 0, 0, 0)) << "the oldest was thrown away";
  EXPECT_TRUE(other->take(self, 0, 0, 299));
}

TEST(DescriptorSocket, SendsNothingToWhomIsNotThere) {
  const auto own = DescriptorSocket::open();
  EXPECT_FALSE(own->send({1, 2}, label(0, 0, 1), file_with(1)));
  DescriptorSocket::Name name;
  {
    Child child(new_job(), [](World&, int from, int to) {
      const auto other = DescriptorSocket::open();
      say(to, other->name());
      return hear<char>(from) == '.';
    });
    name = hear<DescriptorSocket::Name>(child.from());
    EXPECT_TRUE(own->send(name, label(0, 0, 1), file_with(1)));
    say(child.to(), '.');
  }
  EXPECT_FALSE(own->send(name, label(0, 0, 2), file_with(1)));
  EXPECT_FALSE(own->send(own->name(), label(0, 0, 3), base::Descriptor())) << "nothing to send";
}

TEST(DescriptorSocket, WhatItDoesNotKnowIsThrownAway) {
  const auto before = open_sockets();
  const auto own = DescriptorSocket::open();
  auto sockets = open_sockets();
  for (const int other : before) sockets.erase(other);
  ASSERT_EQ(sockets.size(), 1u);
  sockaddr_un address{};
  socklen_t size = sizeof address;
  ASSERT_EQ(getsockname(*sockets.begin(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const base::Descriptor stranger(socket(AF_UNIX, SOCK_DGRAM, 0));
  ASSERT_EQ(sendto(stranger.get(), "?", 1, 0, reinterpret_cast<sockaddr*>(&address), size), 1);
  const Label plain = label(0, 0, 5);  // without a descriptor
  ASSERT_EQ(sendto(stranger.get(), &plain, sizeof plain, 0, reinterpret_cast<sockaddr*>(&address), size),
            static_cast<ssize_t>(sizeof plain));
  EXPECT_FALSE(own->take(self, 0, 0, 5));
  EXPECT_TRUE(own->send(own->name(), plain, file_with(4)));
  const auto taken = own->take(self, 0, 0, 5);
  ASSERT_TRUE(taken);
  EXPECT_EQ(number_in(taken->file), 4);
}

TEST(DescriptorSocket, AProgramMayCloseItsSocketAndTakeTheNumber) {
  const auto before = open_sockets();
  auto ours = DescriptorSocket::open();
  auto sockets = open_sockets();
  for (const int other : before) sockets.erase(other);
  ASSERT_EQ(sockets.size(), 1u);
  const int number = *sockets.begin();
  const auto own = file_with(6);
  ASSERT_EQ(dup2(own.get(), number), number);
  EXPECT_FALSE(ours->send({1, 2}, label(0, 0, 1), file_with(1)));
  EXPECT_FALSE(ours->take(self, 0, 0, 1));
  ours.reset();
  const base::Descriptor still(number);
  EXPECT_EQ(number_in(still), 6);
}

constexpr std::int64_t size = 1 << 20;

/// The child looks whenever it is told to, and takes what is passed to it, except memory with an
/// odd number.
bool take_all(World& world, int from, int to) {
  int taken = 0;
  world.passing.take_with([&](std::uint32_t rank, std::uint32_t place, DescriptorSocket::Message message) {
    const int number = number_in(message.file);
    ++taken;
    return rank == 0 && place < Mailbox::places && number % 2 == 0 &&
           message.label.bytes[0] == static_cast<unsigned char>(number);
  });
  be_met(world, from);
  for (char what; (what = hear<char>(from)) != '.';) {
    world.answer();
    say(to, taken);
  }
  return true;
}

class Holder {
 public:
  explicit Holder() : child_(job_, take_all), world(World::join({job_, 0, 2}, 1 << 20, 1 << 20)) {
    world->passing.take_with([](auto...) { return false; });
    meet(*world, child_);
  }
  ~Holder() { say(child_.to(), '.'); }
  /// Lets the child look, and returns how much it has been passed so far.
  int look() {
    say(child_.to(), 'l');
    return hear<int>(child_.from());
  }
  Hold hold(const Allocation& memory, int number) {
    decltype(Label::bytes) bytes{};
    bytes[0] = static_cast<unsigned char>(number);
    return world->holds(1, memory, bytes, [&] { return ++made, number < 0 ? base::Descriptor() : file_with(number); });
  }
  bool holds(const Allocation& memory, int number) { return hold(memory, number) != nullptr; }

 private:
  const std::uint64_t job_ = new_job();
  Child child_;

 public:
  const std::unique_ptr<World> world;
  int made = 0;
};

TEST(Passing, NothingIsNamedBeforeItIsHeld) {
  Holder other;
  const Allocation memory{4096, 4096, 1};
  EXPECT_FALSE(other.world->passing.held(1, memory)) << "never passed";
  EXPECT_FALSE(other.holds(memory, 2));
  EXPECT_FALSE(other.holds(memory, 2)) << "it has not looked";
  EXPECT_FALSE(other.world->passing.held(1, memory));
  EXPECT_EQ(other.look(), 1);
  EXPECT_TRUE(other.holds(memory, 2));
  EXPECT_EQ(other.made, 1);
  const auto operation = other.world->rendezvous.offer(1, size, 0, true, other.hold(memory, 2));
  ASSERT_TRUE(operation);
  operation->cancel();
  EXPECT_FALSE(other.holds({4096, 4096, 2}, 4)) << "other memory at the same addresses";
  EXPECT_FALSE(other.world->passing.held(1, memory)) << "which takes its place";
}

TEST(Passing, WhatIsRefusedIsNotOfferedAgain) {
  Holder other;
  EXPECT_FALSE(other.holds({0, 10, 1}, 3));
  EXPECT_FALSE(other.holds({10, 10, 2}, -1)) << "no descriptor to be had";
  EXPECT_EQ(other.look(), 1);
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(other.holds({0, 10, 1}, 3));
    EXPECT_FALSE(other.holds({10, 10, 2}, -1));
  }
  EXPECT_EQ(other.made, 2);
}

TEST(Passing, WhatAnOperationNamesKeepsItsPlace) {
  Holder other;
  const Allocation memory{0, 4096, 1}, next{0, 4096, 2};
  other.holds(memory, 2);
  other.look();
  ASSERT_TRUE(other.holds(memory, 2));
  const auto operation = other.world->rendezvous.offer(1, size, 0, true, other.hold(memory, 2));
  ASSERT_TRUE(operation);
  EXPECT_FALSE(other.holds(next, 4));
  other.look();
  EXPECT_TRUE(other.holds(next, 4)) << "at a place of its own";
  EXPECT_TRUE(other.holds(memory, 2)) << "which did not cost the other its own";
  operation->cancel();
}

TEST(Passing, MoreMemoryThanPlaces) {
  Holder other;
  constexpr std::uint64_t many = Mailbox::places + 10;
  const auto memory = [](std::uint64_t i) { return Allocation{i * 4096, 4096, i + 1}; };
  for (int round = 0; round < 3; ++round)
    for (std::uint64_t i = 0; i < many; ++i) {
      other.holds(memory(i), 2);
      other.look();  // each time, because the socket's queue is short
    }
  EXPECT_EQ(other.made, static_cast<int>(Mailbox::places)) << "the first ones keep their places";
  int held = 0;
  for (std::uint64_t i = 0; i < many; ++i) held += other.holds(memory(i), 2);
  EXPECT_EQ(held, static_cast<int>(Mailbox::places));
  // When nothing is sent from the first ones any more, the others get places.
  for (int round = 0; round < 20; ++round)
    for (std::uint64_t i = Mailbox::places; i < many; ++i) other.holds(memory(i), 2);
  other.look();
  EXPECT_TRUE(other.holds(memory(many - 1), 2));
}

TEST(Passing, AFullQueueIsTriedAgain) {
  Holder other;
  constexpr std::uint64_t many = Mailbox::places;
  const auto memory = [](std::uint64_t i) { return Allocation{i * 4096, 4096, i + 1}; };
  for (std::uint64_t i = 0; i < many; ++i) other.holds(memory(i), 2);
  other.look();
  for (int round = 0; round < 64; ++round) {
    for (std::uint64_t i = 0; i < many; ++i) other.holds(memory(i), 2);
    other.look();
  }
  for (std::uint64_t i = 0; i < many; ++i) EXPECT_TRUE(other.holds(memory(i), 2)) << i;
}

TEST(Passing, ToOneWhoTakesNothing) {
  const auto job = new_job();
  Child child(job, [](World& w, int from, int) { return be_met(w, from), hear<char>(from) == '.'; });
  const auto world = World::join({job, 0, 2}, 1 << 20, 1 << 20);
  world->passing.take_with([](auto...) { return false; });
  meet(*world, child);
  for (int i = 0; i < 5; ++i)
    EXPECT_FALSE(world->holds(1, {0, 10, 1}, {}, [] { return ADD_FAILURE(), base::Descriptor(); }));
  say(child.to(), '.');
}

TEST(Passing, ToOneWhoHasDied) {
  const auto job = new_job();
  Child child(job, take_all);
  const auto world = World::join({job, 0, 2}, 1 << 20, 1 << 20);
  world->passing.take_with([](auto...) { return false; });
  meet(*world, child);
  child.kill_it();
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(world->holds(1, {0, 10, 1}, {}, [] { return file_with(2); }));
}

// make() may work on a device. It may wait for another thread there, which waits for the same
// World.
TEST(Passing, NoLockIsHeldWhileADescriptorIsMade) {
  Holder other;
  const Allocation memory{0, 4096, 1}, next{4096, 4096, 2};
  const auto not_made = [] { return ADD_FAILURE() << "made by two threads", base::Descriptor(); };
  bool ended = false;
  EXPECT_FALSE(other.world->holds(1, memory, {}, [&] {
    ended = ends_in_another_thread([&] {
      EXPECT_FALSE(other.world->holds(1, memory, {}, not_made));
      EXPECT_FALSE(other.world->holds(1, next, {}, [] { return file_with(4); }));
      other.world->rendezvous.offer(1, size, 0, true)->cancel();
      other.world->answer();
    });
    return file_with(2);
  }));
  EXPECT_TRUE(ended);
  EXPECT_EQ(other.look(), 2);
}

TEST(Passing, WhatCannotBeMadeNowIsTriedAgain) {
  Holder other;
  const Allocation memory{0, 4096, 1};
  const auto fails = []() -> base::Descriptor { throw std::runtime_error("no device"); };
  EXPECT_THROW(other.world->holds(1, memory, {}, fails), std::runtime_error);
  EXPECT_FALSE(other.holds(memory, 2));
  other.look();
  EXPECT_TRUE(other.holds(memory, 2));
}

/// The child takes a descriptor. Meanwhile it calls its World, in this thread and in another.
bool take_beside_others(World& world, int from, int to) {
  bool ended = true;
  int taken = 0;
  world.passing.take_with([&](auto...) {
    world.answer();  // in the same thread: answers nothing
    ended = ends_in_another_thread([&] {
              world.answer();
              world.passing.take_with([](auto...) { return false; });
              world.peers.tell_scatters(0, true);
            }) &&
            ended;
    ++taken;
    return true;
  });
  be_met(world, from);
  hear<char>(from);
  world.answer();
  say(to, taken);
  return ended;
}

TEST(Passing, NoLockIsHeldWhileADescriptorIsTaken) {
  const auto job = new_job();
  Child child(job, take_beside_others);
  const auto world = World::join({job, 0, 2}, 1 << 20, 1 << 20);
  world->passing.take_with([](auto...) { return false; });
  meet(*world, child);
  EXPECT_FALSE(world->holds(1, {0, 4096, 1}, {}, [] { return file_with(2); }));
  say(child.to(), 'l');
  EXPECT_EQ(hear<int>(child.from()), 1);
  EXPECT_TRUE(world->passing.held(1, {0, 4096, 1}));
  EXPECT_TRUE(world->peers.scatters(1));
}

}  // namespace
}  // namespace dunnage::transport::peers
