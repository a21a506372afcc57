// Sends to other ranks: what the MPI is given, and what the call returns.
#include "hooked.hpp"

namespace dunnage::mpi::test {
namespace {

class Sends : public Hooked {
 protected:
  static constexpr int dest = 1, tag = 7;
};

TEST_F(Sends, StridedDataArePackedOnce) {
  const auto type = commit(columns());
  const Memory data(5, type, 1);
  using Send = decltype(mpi.MPI_Send);
  for (const Send send : {mpi.MPI_Send, mpi.MPI_Rsend, mpi.MPI_Bsend}) {  // MPI_Ssend would wait for the test
    ASSERT_EQ(send(data.data(), 5, type, dest, tag, MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_NE(fake::last_send_buffer(), data.data());
    EXPECT_EQ(fake::taken_by(dest), (std::vector<fake::Message>{{tag, data.packed()}}));
  }
}

TEST_F(Sends, NonblockingSendsOfStridedDataMayReuseTheBufferAfterTheWait) {
  const auto type = commit(columns());
  fake::habits.sends_wait = true;
  using Send = decltype(mpi.MPI_Isend);
  for (const Send send : {mpi.MPI_Isend, mpi.MPI_Issend, mpi.MPI_Irsend, mpi.MPI_Ibsend}) {
    const Memory data(5, type, 2);
    MPI_Request request;
    ASSERT_EQ(send(data.data(), 5, type, dest, tag, MPI_COMM_WORLD, &request), MPI_SUCCESS);
    int done = 1;
    ASSERT_EQ(mpi.MPI_Test(&request, &done, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_FALSE(done);
    EXPECT_EQ(fake::taken_by(dest), (std::vector<fake::Message>{{tag, data.packed()}}));
    ASSERT_EQ(mpi.MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
  }
}

TEST_F(Sends, ContiguousDataStayWhereTheyAre) {
  const auto type = commit(fake::contiguous(50, MPI_DOUBLE));
  const Memory data(3, type, 3);
  ASSERT_EQ(mpi.MPI_Send(data.data(), 3, type, dest, tag, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(fake::last_send_buffer(), data.data());
  EXPECT_EQ(fake::taken_by(dest), (std::vector<fake::Message>{{tag, data.packed()}}));
}

TEST_F(Sends, TypesThatWereNeverCommittedAreLeftToTheMpi) {
  const auto type = columns();
  const Memory data(2, type, 4);
  ASSERT_EQ(mpi.MPI_Send(data.data(), 2, type, dest, tag, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(fake::last_send_buffer(), data.data());
  EXPECT_EQ(fake::taken_by(dest), (std::vector<fake::Message>{{tag, data.packed()}}));
}

TEST_F(Sends, OverlappingAndDescendingBlocksKeepTheirOrder) {
  const auto type = commit(fake::hindexed({2, 3, 1}, {40, 0, 4}, MPI_INT));
  const Memory data(3, type, 5);
  ASSERT_EQ(mpi.MPI_Send(data.data(), 3, type, dest, tag, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(fake::taken_by(dest), (std::vector<fake::Message>{{tag, data.packed()}}));
}

TEST_F(Sends, NothingGoesToANullProcess) {
  const auto type = commit(columns());
  const Memory data(2, type, 6);
  ASSERT_EQ(mpi.MPI_Send(data.data(), 2, type, MPI_PROC_NULL, tag, MPI_COMM_WORLD), MPI_SUCCESS);
  MPI_Request request;
  ASSERT_EQ(mpi.MPI_Isend(data.data(), 2, type, MPI_PROC_NULL, tag, MPI_COMM_WORLD, &request), MPI_SUCCESS);
  ASSERT_EQ(mpi.MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

TEST_F(Sends, ZeroElementsAreAMessage) {
  const auto type = commit(columns());
  ASSERT_EQ(mpi.MPI_Send(nullptr, 0, type, dest, tag, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(fake::taken_by(dest), (std::vector<fake::Message>{{tag, ""}}));
}

TEST_F(Sends, AnErrorOfTheMpiIsReturnedAndHandledOnce) {
  const auto type = commit(columns());
  const Memory data(2, type, 7);
  fake::fail("Send", MPI_ERR_TAG);
  EXPECT_EQ(mpi.MPI_Send(data.data(), 2, type, dest, -5, MPI_COMM_WORLD), MPI_ERR_TAG);
  fake::fail("Isend", MPI_ERR_RANK);
  MPI_Request request = MPI_REQUEST_NULL;
  EXPECT_EQ(mpi.MPI_Isend(data.data(), 2, type, 99, tag, MPI_COMM_WORLD, &request), MPI_ERR_RANK);
  fake::fail("Send_init", MPI_ERR_COMM);
  EXPECT_EQ(mpi.MPI_Send_init(data.data(), 2, type, dest, tag, MPI_COMM_NULL, &request), MPI_ERR_COMM);
  // TearDown() asserts that Dunnage has called no handler: the MPI has called it.
}

TEST_F(Sends, AMessageBeyondTheLimitOfStagingIsLeftToTheMpi) {
  const auto type = commit(columns());
  const Memory data(5, type, 8);
  const auto limit = std::exchange(process->settings.staging_limit, 100);
  EXPECT_EQ(mpi.MPI_Send(data.data(), 5, type, dest, tag, MPI_COMM_WORLD), MPI_SUCCESS);
  process->settings.staging_limit = limit;
  EXPECT_EQ(fake::last_send_buffer(), data.data());
  EXPECT_EQ(fake::taken_by(dest), (std::vector<fake::Message>{{tag, data.packed()}}));
}

TEST_F(Sends, WhatFillsStagingMemoryIsLeftToTheMpi) {
  const auto type = commit(columns());
  const Memory data(5, type, 12);
  const auto size = static_cast<std::uint64_t>(data.packed().size());
  const auto most = std::exchange(process->settings.staging_memory, 2 * size);
  fake::habits.sends_wait = true;
  MPI_Request requests[4];
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(mpi.MPI_Isend(data.data(), 5, type, dest, tag, MPI_COMM_WORLD, &requests[i]), MPI_SUCCESS);
    EXPECT_EQ(fake::last_send_buffer() == data.data(), i >= 2) << i;
  }
  EXPECT_EQ(process->staged_sends.used(), 2 * size);
  EXPECT_EQ(fake::taken_by(dest), (std::vector<fake::Message>(4, {tag, data.packed()})));
  ASSERT_EQ(mpi.MPI_Waitall(4, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(process->staged_sends.used(), 0u);

  ASSERT_EQ(mpi.MPI_Send_init(data.data(), 5, type, dest, tag, MPI_COMM_WORLD, &requests[0]), MPI_SUCCESS);
  EXPECT_EQ(process->staged_sends.used(), size);
  ASSERT_EQ(mpi.MPI_Request_free(&requests[0]), MPI_SUCCESS);
  EXPECT_EQ(process->staged_sends.used(), 0u);
  process->settings.staging_memory = most;
}

TEST_F(Sends, OneHandleForAllEndedSendsHidesNoOtherRequest) {
  fake::habits.one_handle_for_ended_sends = true;
  const auto type = commit(columns());
  const Memory data(2, type, 9);
  Memory into(2, type, 0);
  MPI_Request requests[3];
  ASSERT_EQ(mpi.MPI_Isend(data.data(), 2, type, dest, 1, MPI_COMM_WORLD, &requests[0]), MPI_SUCCESS);
  ASSERT_EQ(mpi.MPI_Irecv(into.data(), 2, type, dest, 3, MPI_COMM_WORLD, &requests[1]), MPI_SUCCESS);
  ASSERT_EQ(mpi.MPI_Isend(data.data(), 2, type, dest, 2, MPI_COMM_WORLD, &requests[2]), MPI_SUCCESS);
  const auto expected = into.with(data.packed());
  fake::arrive(dest, 3, data.packed());
  ASSERT_EQ(mpi.MPI_Waitall(3, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(into, expected);
  EXPECT_EQ(fake::taken_by(dest).size(), 2u);
}

/// The MPI is not asked whether long sends have ended when they begin, so an operation may stand
/// behind the handle of all ended sends. An array of requests has that handle more than once.
TEST_F(Sends, LongSendsOfOneHandleEndOnce) {
  fake::habits.one_handle_for_ended_sends = true;
  const auto type = commit(columns());
  const int count = static_cast<int>(never_asked);
  const Memory data(count, type, 13);
  const std::string small = "small";
  using End = std::function<void(MPI_Request*)>;
  const End at_once = [this](MPI_Request* r) { ASSERT_EQ(mpi.MPI_Waitall(4, r, MPI_STATUSES_IGNORE), MPI_SUCCESS); };
  const End one_by_one = [this](MPI_Request* r) {
    for (int i = 3; i >= 0; --i) ASSERT_EQ(mpi.MPI_Wait(&r[i], MPI_STATUS_IGNORE), MPI_SUCCESS);
  };
  const End by_testall = [this](MPI_Request* r) {
    int flag = 0;
    ASSERT_EQ(mpi.MPI_Testall(4, r, &flag, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_TRUE(flag);
  };
  const End by_waitany = [this](MPI_Request* r) {
    for (int i = 0, index = 0; i < 4; ++i) {
      ASSERT_EQ(mpi.MPI_Waitany(4, r, &index, MPI_STATUS_IGNORE), MPI_SUCCESS);
      ASSERT_NE(index, MPI_UNDEFINED);
    }
  };
  const End by_waitsome = [this](MPI_Request* r) {
    int indices[4], all = 0;
    for (int some = 0; all < 4; all += some) {
      ASSERT_EQ(mpi.MPI_Waitsome(4, r, &some, indices, MPI_STATUSES_IGNORE), MPI_SUCCESS);
      ASSERT_GT(some, 0);
    }
  };
  for (const auto& end : {at_once, one_by_one, by_testall, by_waitany, by_waitsome}) {
    const int asked = fake::calls("Request_get_status");
    MPI_Request requests[4];
    const auto send_small = [&](MPI_Request* request) {
      return mpi.MPI_Isend(small.data(), static_cast<int>(small.size()), MPI_BYTE, dest, 3, MPI_COMM_WORLD, request);
    };
    ASSERT_EQ(send_small(&requests[0]), MPI_SUCCESS);
    ASSERT_EQ(mpi.MPI_Isend(data.data(), count, type, dest, 1, MPI_COMM_WORLD, &requests[1]), MPI_SUCCESS);
    ASSERT_EQ(send_small(&requests[2]), MPI_SUCCESS);
    ASSERT_EQ(mpi.MPI_Isend(data.data(), count, type, dest, 2, MPI_COMM_WORLD, &requests[3]), MPI_SUCCESS);
    EXPECT_NE(fake::last_send_buffer(), data.data());
    EXPECT_FALSE(process->requests.empty());
    EXPECT_EQ(requests[0], requests[3]);
    EXPECT_EQ(fake::calls("Request_get_status"), asked);
    end(requests);
    for (const auto request : requests) EXPECT_EQ(request, MPI_REQUEST_NULL);
    EXPECT_TRUE(process->requests.empty());
    EXPECT_EQ(process->staged_sends.used(), 0u);
    const std::vector<fake::Message> expected{{3, small}, {1, data.packed()}, {3, small}, {2, data.packed()}};
    EXPECT_EQ(fake::taken_by(dest), expected);
  }
}

TEST_F(Sends, ASendThatIsFreedStillArrives) {
  const auto type = commit(columns());
  const Memory data(2, type, 10);
  fake::habits.sends_wait = true;
  MPI_Request request;
  ASSERT_EQ(mpi.MPI_Isend(data.data(), 2, type, dest, tag, MPI_COMM_WORLD, &request), MPI_SUCCESS);
  ASSERT_EQ(mpi.MPI_Request_free(&request), MPI_SUCCESS);
  EXPECT_EQ(request, MPI_REQUEST_NULL);
  EXPECT_EQ(fake::taken_by(dest), (std::vector<fake::Message>{{tag, data.packed()}}));
  // Any call lets what was freed come to its end.
  int flag = 0;
  ASSERT_EQ(mpi.MPI_Iprobe(dest, tag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

TEST_F(Sends, ASendThatIsCancelledIsNeverReceived) {
  const auto type = commit(columns());
  const Memory data(2, type, 11);
  fake::habits.sends_wait = true;
  MPI_Request request;
  MPI_Status status;
  ASSERT_EQ(mpi.MPI_Isend(data.data(), 2, type, dest, tag, MPI_COMM_WORLD, &request), MPI_SUCCESS);
  ASSERT_EQ(mpi.MPI_Cancel(&request), MPI_SUCCESS);
  ASSERT_EQ(mpi.MPI_Wait(&request, &status), MPI_SUCCESS);
  EXPECT_TRUE(fake::cancelled(status));
}

}  // namespace
}  // namespace dunnage::mpi::test
