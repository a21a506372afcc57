// Receives from other ranks: what reaches the program's memory, and what the status tells.
#include "hooked.hpp"

namespace dunnage::mpi::test {
namespace {

class Receives : public Hooked {
 protected:
  static constexpr int source = 2, tag = 5;

  /// A receive of two elements, begun.
  MPI_Request begin(Memory& into, MPI_Datatype type) {
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(mpi.MPI_Irecv(into.data(), 2, type, source, tag, MPI_COMM_WORLD, &request), MPI_SUCCESS);
    return request;
  }
};

TEST_F(Receives, StridedMemoryGetsTheDataAndNothingElseChanges) {
  const auto type = commit(columns());
  const auto data = message(3 * 480);
  Memory into(3, type, 0);
  const auto expected = into.with(data);
  fake::arrive(source, tag, data);
  MPI_Status status;
  ASSERT_EQ(mpi.MPI_Recv(into.data(), 3, type, source, tag, MPI_COMM_WORLD, &status), MPI_SUCCESS);
  EXPECT_EQ(into, expected);
  EXPECT_EQ(fake::bytes_of(status), 3 * 480);
  EXPECT_EQ(status.MPI_SOURCE, source);
  EXPECT_EQ(status.MPI_TAG, tag);
}

TEST_F(Receives, AShorterMessageLeavesTheRest) {
  const auto type = commit(columns());
  for (const std::size_t bytes : {0u, 4u, 13u, 480u, 1000u}) {
    const auto data = message(bytes);
    Memory into(3, type, 0);
    const auto expected = into.with(data);
    fake::arrive(source, tag, data);
    MPI_Status status;
    ASSERT_EQ(mpi.MPI_Recv(into.data(), 3, type, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status), MPI_SUCCESS);
    EXPECT_EQ(into, expected) << bytes;
    EXPECT_EQ(fake::bytes_of(status), static_cast<std::int64_t>(bytes));
  }
}

TEST_F(Receives, ATruncatedMessageIsAnErrorAndWritesNothingElsewhere) {
  const auto type = commit(columns());
  Memory into(1, type, 0);
  const auto filled = into.with(message(480));
  const auto before = into;
  fake::arrive(source, tag, message(481));
  EXPECT_EQ(mpi.MPI_Recv(into.data(), 1, type, source, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
  EXPECT_TRUE(into == before || into == filled);
}

TEST_F(Receives, NonblockingReceivesDeliverWhenTheyAreCompleted) {
  const auto type = commit(columns());
  const auto data = message(2 * 480);
  Memory into(2, type, 0);
  const auto empty = into, expected = into.with(data);
  auto request = begin(into, type);
  int done = 1;
  ASSERT_EQ(mpi.MPI_Test(&request, &done, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_FALSE(done);
  fake::arrive(source, tag, data);
  EXPECT_EQ(into, empty);
  MPI_Status status;
  ASSERT_EQ(mpi.MPI_Test(&request, &done, &status), MPI_SUCCESS);
  EXPECT_TRUE(done);
  EXPECT_EQ(into, expected);
  EXPECT_EQ(fake::bytes_of(status), 2 * 480);
  EXPECT_EQ(request, MPI_REQUEST_NULL);
}

TEST_F(Receives, MessagesAreNotOvertaken) {
  const auto type = commit(columns());
  Memory first(1, type, 0), second(1, type, 0);
  const auto expect_first = first.with(message(480, 1)), expect_second = second.with(message(480, 2));
  MPI_Request requests[2];
  mpi.MPI_Irecv(first.data(), 1, type, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &requests[0]);
  mpi.MPI_Irecv(second.data(), 1, type, source, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1]);
  fake::arrive(source, tag, message(480, 1));
  fake::arrive(source, tag, message(480, 2));
  // The program may end the second receive first.
  ASSERT_EQ(mpi.MPI_Wait(&requests[1], MPI_STATUS_IGNORE), MPI_SUCCESS);
  ASSERT_EQ(mpi.MPI_Wait(&requests[0], MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(first, expect_first);
  EXPECT_EQ(second, expect_second);
}

TEST_F(Receives, ACancelledReceiveWritesNothing) {
  const auto type = commit(columns());
  Memory into(2, type, 0);
  const auto empty = into;
  auto request = begin(into, type);
  MPI_Status status;
  ASSERT_EQ(mpi.MPI_Cancel(&request), MPI_SUCCESS);
  ASSERT_EQ(mpi.MPI_Wait(&request, &status), MPI_SUCCESS);
  EXPECT_TRUE(fake::cancelled(status));
  EXPECT_EQ(into, empty);
}

TEST_F(Receives, FromANullProcessNothingComes) {
  const auto type = commit(columns());
  Memory into(2, type, 0);
  const auto empty = into;
  MPI_Status status;
  ASSERT_EQ(mpi.MPI_Recv(into.data(), 2, type, MPI_PROC_NULL, tag, MPI_COMM_WORLD, &status), MPI_SUCCESS);
  EXPECT_EQ(into, empty);
  EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
  EXPECT_EQ(fake::bytes_of(status), 0);
}

TEST_F(Receives, AFreedReceiveStillDelivers) {
  const auto type = commit(columns());
  const auto data = message(2 * 480);
  Memory into(2, type, 0);
  const auto expected = into.with(data);
  auto request = begin(into, type);
  ASSERT_EQ(mpi.MPI_Request_free(&request), MPI_SUCCESS);
  fake::arrive(source, tag, data);
  int flag = 0;
  ASSERT_EQ(mpi.MPI_Iprobe(source, tag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_FALSE(flag);
  EXPECT_EQ(into, expected);
}

TEST_F(Receives, MatchedMessagesAreUnpackedToo) {
  const auto type = commit(columns());
  const auto data = message(2 * 480);
  for (const bool blocking : {true, false}) {
    Memory into(2, type, 0);
    const auto expected = into.with(data);
    fake::arrive(source, tag, data);
    MPI_Message found;
    MPI_Status status;
    ASSERT_EQ(mpi.MPI_Mprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &found, &status), MPI_SUCCESS);
    EXPECT_EQ(fake::bytes_of(status), 2 * 480);
    status = {};
    if (blocking) {
      ASSERT_EQ(mpi.MPI_Mrecv(into.data(), 2, type, &found, &status), MPI_SUCCESS);
    } else {
      MPI_Request request;
      ASSERT_EQ(mpi.MPI_Imrecv(into.data(), 2, type, &found, &request), MPI_SUCCESS);
      ASSERT_EQ(mpi.MPI_Wait(&request, &status), MPI_SUCCESS);
    }
    EXPECT_EQ(found, MPI_MESSAGE_NULL);
    EXPECT_EQ(into, expected);
    EXPECT_EQ(fake::bytes_of(status), 2 * 480);
  }
}

TEST_F(Receives, SendrecvPacksAndUnpacks) {
  const auto out = commit(columns()), in = commit(fake::vector(10, 1, 3, MPI_DOUBLE));
  const Memory data(2, out, 3);
  Memory into(2, in, 0);
  const auto received = message(2 * 80);
  const auto expected = into.with(received);
  fake::arrive(source, 8, received);
  MPI_Status status;
  ASSERT_EQ(mpi.MPI_Sendrecv(data.data(), 2, out, 1, 9, into.data(), 2, in, source, 8, MPI_COMM_WORLD, &status),
            MPI_SUCCESS);
  EXPECT_EQ(into, expected);
  EXPECT_EQ(fake::bytes_of(status), 2 * 80);
  EXPECT_EQ(fake::taken_by(1), (std::vector<fake::Message>{{9, data.packed()}}));
}

TEST_F(Receives, SendrecvReplaceSendsTheOldData) {
  const auto type = commit(columns());
  Memory memory(2, type, 4);
  const auto sent = memory.packed();
  const auto received = message(480);  // shorter than what was sent
  const auto expected = memory.with(received);
  fake::arrive(source, 8, received);
  MPI_Status status;
  ASSERT_EQ(mpi.MPI_Sendrecv_replace(memory.data(), 2, type, 1, 9, source, 8, MPI_COMM_WORLD, &status), MPI_SUCCESS);
  EXPECT_EQ(memory, expected);
  EXPECT_EQ(fake::bytes_of(status), 480);
  EXPECT_EQ(fake::taken_by(1), (std::vector<fake::Message>{{9, sent}}));
}

}  // namespace
}  // namespace dunnage::mpi::test
