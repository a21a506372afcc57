// Data that one process publishes and others read.
#include "transport/shm/publications.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "processes.hpp"

namespace dunnage::transport::shm {
namespace {

using peers::ends_in_another_thread;

struct Host {
  std::unique_ptr<Memory> memory = Memory::make({static_cast<std::uint64_t>(getpid()), 0, 2});
  Room room{*memory, 1 << 20, 1 << 20};
  Publications publications{*memory, room};
  Publication* at(const Publications::Published& published) const {
    return reinterpret_cast<Publication*>(memory->data() + published.begin);
  }
};

TEST(Publications, RoomIsUsedAgainWhenAllHaveRead) {
  Host host;
  ASSERT_TRUE(host.memory);
  const auto first = host.publications.publish(5000, 2);
  ASSERT_TRUE(first);
  host.publications.end(*first);
  EXPECT_FALSE(host.publications.collect());
  { const Reading one(host.at(*first), host.memory.get()); }
  EXPECT_FALSE(host.publications.collect());
  const auto other = host.publications.publish(5000, 1);
  ASSERT_TRUE(other);
  EXPECT_NE(other->begin, first->begin);
  EXPECT_NE(other->serial, first->serial);
  host.publications.end(*other);
  { const Reading another(host.at(*first), host.memory.get()); }
  EXPECT_FALSE(host.publications.collect()) << "nobody has read the second";
  const auto third = host.publications.publish(5000, 1);
  EXPECT_EQ(third->begin, first->begin);
  EXPECT_FALSE(find_publication(*host.memory, first->begin, first->serial, 5000)) << "the first is gone";
  EXPECT_TRUE(find_publication(*host.memory, third->begin, third->serial, 5000));
  EXPECT_FALSE(find_publication(*host.memory, third->begin, third->serial, 5001));
}

TEST(Publications, ReadersFollowTheWriter) {
  Host host;
  const auto first = host.publications.publish(3, 1);
  ASSERT_TRUE(first);
  auto& publication = *host.at(*first);
  const Reading reading(&publication, host.memory.get());
  std::memcpy(const_cast<char*>(reading.data()), "abc", 3);
  publication.written.store(2);
  EXPECT_EQ(reading.more_than(0), 2);
  EXPECT_EQ(reading.more_than(1), 2);
  publication.written.store(3);
  EXPECT_EQ(reading.more_than(2), 3);
  EXPECT_EQ(std::memcmp(reading.data(), "abc", 3), 0);
  publication.written.store(Publication::lost);
  EXPECT_FALSE(reading.more_than(0));
}

// A reader may be done before the publisher has written all. The room is still the publisher's
// then.
TEST(Publications, RoomIsTheWritersUntilItHasWritten) {
  Host host;
  const auto first = host.publications.publish(100, 1);
  { const Reading hasty(host.at(*first), host.memory.get()); }
  EXPECT_FALSE(host.publications.collect());
  host.publications.end(*first);
  EXPECT_TRUE(host.publications.collect());
}

// The root of a broadcast must not wait for memory, because others may wait for what the root does
// next.
TEST(Publications, MayExceedWhatIsAllowed) {
  Host host;
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(host.publications.publish(3 << 20, 1));
  EXPECT_TRUE(host.room.regions.take(1 << 20)) << "publications do not count towards what is allowed";
  host.publications.forget();
  EXPECT_TRUE(host.publications.collect());
}

// What is kept may belong to a device. Its end may wait for another thread there, which publishes.
TEST(Publications, NoLockIsHeldWhileWhatWasKeptEnds) {
  Host host;
  int ended = 0;
  const auto kept = [&] {
    return std::shared_ptr<const void>(
        &host, [&](const void*) { ended += ends_in_another_thread([&] { host.publications.publish(100, 1); }); });
  };
  const auto read = host.publications.publish(100, 1, kept());
  host.publications.end(*read);
  { const Reading reading(host.at(*read), host.memory.get()); }
  EXPECT_EQ(ended, 0);
  host.publications.collect();
  EXPECT_EQ(ended, 1);
  host.publications.publish(100, 1, kept());
  host.publications.forget();
  EXPECT_EQ(ended, 2);
}

}  // namespace
}  // namespace dunnage::transport::shm
