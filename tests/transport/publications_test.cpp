// Data that one process publishes and others read.
#include "transport/shm/publications.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

namespace dunnage::transport::shm {
namespace {

struct Host {
  std::unique_ptr<Memory> memory = Memory::make({static_cast<std::uint64_t>(getpid()), 0, 2});
  Regions regions{*memory, 1 << 20, 1 << 20};
  Publications publications{*memory, regions};
  Publication* at(std::uint64_t begin) const { return reinterpret_cast<Publication*>(memory->data() + begin); }
};

TEST(Publications, RoomIsUsedAgainWhenAllHaveRead) {
  Host host;
  ASSERT_TRUE(host.memory);
  const auto begin = host.publications.make(7, 5000, 2);
  ASSERT_TRUE(begin);
  host.publications.written(*begin);
  EXPECT_FALSE(host.publications.collect());
  { const Reading one(host.at(*begin), host.memory.get()); }
  EXPECT_FALSE(host.publications.collect());
  const auto other = host.publications.make(8, 5000, 1);
  ASSERT_TRUE(other);
  EXPECT_NE(*other, *begin);
  host.publications.written(*other);
  { const Reading another(host.at(*begin), host.memory.get()); }
  EXPECT_FALSE(host.publications.collect());  // the second
  EXPECT_EQ(host.publications.make(9, 5000, 1), begin);
  EXPECT_EQ(host.at(*begin)->serial, 9u);
}

TEST(Publications, ReadersFollowTheWriter) {
  Host host;
  const auto begin = host.publications.make(1, 3, 1);
  ASSERT_TRUE(begin);
  auto& publication = *host.at(*begin);
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

// A reader that wants nothing more of it does not make room for others while the publisher writes.
TEST(Publications, RoomIsTheWritersUntilItHasWritten) {
  Host host;
  const auto begin = host.publications.make(1, 100, 1);
  { const Reading hasty(host.at(*begin), host.memory.get()); }
  EXPECT_FALSE(host.publications.collect());
  host.publications.written(*begin);
  EXPECT_TRUE(host.publications.collect());
}

// The root must not wait for memory: others may wait for what it does next.
TEST(Publications, MayExceedWhatIsAllowed) {
  Host host;
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(host.publications.make(static_cast<std::uint64_t>(i) + 1, 3 << 20, 1));
  EXPECT_TRUE(host.regions.take(1 << 20));  // and others' room is not counted with it
  host.publications.forget();
  EXPECT_TRUE(host.publications.collect());
}

}  // namespace
}  // namespace dunnage::transport::shm
