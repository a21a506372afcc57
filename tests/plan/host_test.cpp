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
  EXPECT_EQ(choose(default_model(Library::open_mpi), row.shape, row.operation), row.open_mpi) << row.what;
  EXPECT_EQ(choose(default_model(Library::mpich), row.shape, row.operation), row.mpich) << row.what;
}

INSTANTIATE_TEST_SUITE_P(
    Table, Golden,
    testing::Values(
        Row{"one double of two, 32 KiB", {32768, 4096}, Operation::pack, yes, yes},
        Row{"the same, unpacked", {32768, 4096}, Operation::unpack, yes, yes},
        Row{"one double of two, 8 MiB", {8 << 20, 1 << 20, true}, Operation::pack, yes, yes},
        Row{"16 bytes in two blocks", {16, 2}, Operation::pack, no, no},
        Row{"long blocks in cache", {24576, 32}, Operation::pack, no, yes},
        Row{"long blocks beyond the caches", {4 << 20, 1024, true}, Operation::pack, yes, yes},
        Row{"tiny message", {64, 8}, Operation::send, no, no},
        Row{"eager message", {2048, 256}, Operation::send, yes, no},
        Row{"medium message of doubles", {65536, 8192}, Operation::send, untrusted, yes},
        Row{"the same, received", {65536, 8192}, Operation::receive, untrusted, yes},
        Row{"mixed elements", {65536, 8192, false, true}, Operation::send, untrusted, untrusted},
        Row{"medium message of long rows", {65536, 32}, Operation::send, no, no},
        Row{"large message of doubles", {4 << 20, 1 << 19}, Operation::receive, no, yes}));

TEST(Predict, GrowsWithTheWork) {
  const auto model = default_model(Library::open_mpi);
  for (const auto operation : {Operation::pack, Operation::send}) {
    const auto small = predict(model, {8192, 64}, operation), more_blocks = predict(model, {8192, 128}, operation),
               more_bytes = predict(model, {16384, 64}, operation);
    EXPECT_LT(small.engine, more_blocks.engine);
    EXPECT_LT(small.library, more_blocks.library);
    EXPECT_LT(small.engine, more_bytes.engine);
    EXPECT_LT(small.library, more_bytes.library);
  }
}

}  // namespace
}  // namespace dunnage::plan
