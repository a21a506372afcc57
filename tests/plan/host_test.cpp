// The golden table: what is chosen for shapes that stand for the cases users meet.
#include "plan/host.hpp"

#include <gtest/gtest.h>

namespace dunnage::plan {
namespace {

struct Row {
  const char* what;
  Shape shape;
  Operation operation;
  Reason open_mpi, mpich;
};

constexpr auto yes = Reason::accelerated, no = Reason::no_gain, untrusted = Reason::untrusted;

class Golden : public testing::TestWithParam<Row> {};

TEST_P(Golden, Gain) {
  const auto& row = GetParam();
  EXPECT_EQ(choose(default_model({Library::Kind::open_mpi, 4, 1}), row.shape, row.operation), row.open_mpi) << row.what;
  EXPECT_EQ(choose(default_model({Library::Kind::mpich, 4, 0}), row.shape, row.operation), row.mpich) << row.what;
}

INSTANTIATE_TEST_SUITE_P(
    Table, Golden,
    testing::Values(Row{"one double of two, 32 KiB", {32768, 4096}, Operation::pack, yes, yes},
                    Row{"the same, unpacked", {32768, 4096}, Operation::unpack, yes, yes},
                    Row{"one double of two, 8 MiB", {8 << 20, 1 << 20, true}, Operation::pack, yes, yes},
                    Row{"16 bytes in two blocks", {16, 2}, Operation::pack, no, no},
                    Row{"long blocks in cache", {24576, 32}, Operation::pack, no, yes},
                    Row{"long blocks beyond the caches", {4 << 20, 1024, true}, Operation::pack, yes, yes},
                    Row{"tiny message", {64, 8}, Operation::send, no, no},
                    Row{"eager message", {2048, 256}, Operation::send, yes, yes},
                    Row{"medium message of doubles", {65536, 8192}, Operation::send, yes, yes},
                    Row{"the same, received", {65536, 8192}, Operation::receive, yes, yes},
                    Row{"mixed elements", {65536, 8192, false, true}, Operation::send, yes, untrusted},
                    Row{"medium message of long rows", {65536, 32}, Operation::send, no, no},
                    Row{"large message of doubles", {4 << 20, 1 << 19}, Operation::receive, yes, yes},
                    Row{"large message of rows of 64 bytes", {4 << 20, 1 << 16}, Operation::send, no, no},
                    Row{"medium message of doubles, buffered", {65536, 8192}, Operation::buffered_send, yes, no},
                    Row{"one byte, shifted", {1, 1}, Operation::receive, no, no}));

TEST(OpenMpi5, PacksLongMessagesFastItself) {
  const auto model = default_model({Library::Kind::open_mpi, 5});
  EXPECT_EQ(choose(model, {2048, 256}, Operation::send), yes);
  EXPECT_EQ(choose(model, {4096, 512}, Operation::send), no);
  EXPECT_EQ(choose(model, {65536, 8192}, Operation::receive), no);
  EXPECT_EQ(choose(model, {1 << 20, 1 << 17}, Operation::receive), no);
  EXPECT_EQ(choose(model, {32768, 4096}, Operation::pack), yes);
}

TEST(OtherHost, WhoPacksWhileItSends) {
  const auto open_mpi = default_model({Library::Kind::open_mpi, 4, 1}),
             mpich = default_model({Library::Kind::mpich, 4, 0});
  for (const auto operation : {Operation::send, Operation::receive}) {
    EXPECT_EQ(choose(open_mpi, {4 << 20, 1 << 19}, operation, Peers::same_host), yes);
    EXPECT_EQ(choose(open_mpi, {4 << 20, 1 << 19}, operation, Peers::other_host), no);
    for (const auto& model : {open_mpi, mpich}) EXPECT_EQ(choose(model, {2048, 256}, operation, Peers::other_host), no);
    EXPECT_EQ(choose(default_model({Library::Kind::intel, 0, 0}), {4 << 20, 1 << 19}, operation, Peers::other_host),
              no);
    EXPECT_EQ(choose(mpich, {4 << 20, 1 << 19}, operation, Peers::other_host), yes);
  }
}

TEST(Sides, EachHasItsPrices) {
  auto model = default_model({Library::Kind::mpich, 4, 0});
  model.messages[0].receive.library = {};
  EXPECT_EQ(choose(model, {65536, 8192}, Operation::send), yes);
  EXPECT_EQ(choose(model, {65536, 8192}, Operation::receive), no);
}

TEST(Ticket, FromASizeOfTheMpis) {
  const auto open_mpi = default_model({Library::Kind::open_mpi, 4, 1}),
             open_mpi_5 = default_model({Library::Kind::open_mpi, 5}),
             mpich = default_model({Library::Kind::mpich, 4, 0});
  for (const auto& model : {open_mpi, mpich}) {
    EXPECT_FALSE(choose_ticket(model, {64 << 10, 8192}));
    EXPECT_TRUE(choose_ticket(model, {128 << 10, 16384}));
  }
  EXPECT_FALSE(choose_ticket(open_mpi_5, {512 << 10, 65536}));
  EXPECT_TRUE(choose_ticket(open_mpi_5, {1 << 20, 1 << 17}));
}

TEST(Ticket, NotWhereAnotherWayCostsLess) {
  auto model = default_model({Library::Kind::open_mpi, 4, 1});
  model.ticket = {1000, 0, 0.05, 0.05};
  EXPECT_TRUE(choose_ticket(
      model, {1 << 20, 1 << 17}));  // the MPI takes 177 us beyond a contiguous message's time, a ticket 53
  EXPECT_FALSE(choose_ticket(model, {1 << 20, 1 << 10}));   // the MPI takes 1.4 us
  EXPECT_FALSE(choose_ticket(model, {16 << 10, 1 << 11}));  // whatever it costs
  EXPECT_TRUE(choose_ticket(model, {1 << 20, 1}));          // contiguous: it is the receiver that gains
}

TEST(Contiguous, OnlyWhereTheMpiKeepsToTheBuffer) {
  const auto open_mpi = default_model({Library::Kind::open_mpi, 4, 1}),
             mpich = default_model({Library::Kind::mpich, 4, 0});
  EXPECT_TRUE(contiguous(open_mpi, Operation::send, 4000));
  EXPECT_FALSE(contiguous(open_mpi, Operation::send, 4001));
  EXPECT_FALSE(contiguous(open_mpi, Operation::receive, 8));
  EXPECT_TRUE(contiguous(mpich, Operation::send, 1 << 30));
  EXPECT_TRUE(contiguous(mpich, Operation::receive, 1 << 30));
}

TEST(Predict, GrowsWithTheWork) {
  const auto model = default_model({Library::Kind::open_mpi, 4, 1});
  for (const auto operation : {Operation::pack, Operation::send}) {
    const auto small = predict(model, {16384, 64}, operation), more_blocks = predict(model, {16384, 128}, operation),
               more_bytes = predict(model, {32768, 64}, operation);
    EXPECT_LT(small.engine, more_blocks.engine);
    EXPECT_LT(small.library, more_blocks.library);
    EXPECT_LT(small.engine, more_bytes.engine);
    EXPECT_LE(small.library, more_bytes.library);  // a message's are prices beyond the contiguous one's
  }
}

}  // namespace
}  // namespace dunnage::plan
