// Messages of host memory try who packs. The fake MPI is slow with data of one kind, so each trial
// has one right result.
#include "hooked.hpp"
#include "mpi/message/progress.hpp"
#include "plan/host.hpp"

namespace dunnage::mpi::test {
namespace {

using Slow = fake::Habits::Slow;

class Trials : public Hooked {
 protected:
  static constexpr int peer = 1, tag = 7, calls = 30;
  /// After so many exchanges, which come each 3 ms, a trial is over.
  static constexpr int exchanges = 1000;
  static void compute() { fake::pass(3'000'000); }

  Trials() {
    process->settings.force = base::Force::automatic;
    process->settings.trials = true;
    process->settings.tickets = base::Tickets::automatic;
    process->exchanges.use_clock(fake::now);
  }
  ~Trials() override { process->settings.trials = true; }

  /// A datatype of 64 blocks of so many integers. Each test has a length of its own, because trials
  /// outlive tests.
  MPI_Datatype rows(int blocklength) const { return commit(fake::vector(64, blocklength, 2 * blocklength, MPI_INT)); }
  /// Likewise, of enough blocks for nonblocking messages to be tried.
  MPI_Datatype many_rows(int blocklength) const {
    return commit(fake::vector(1024, blocklength, 2 * blocklength, MPI_INT));
  }

  /// Sends again and again. Returns whether the last message was packed by Dunnage.
  template <class Send>
  bool packs_at_last(MPI_Datatype type, Send&& send, int times = calls) {
    for (int i = 0; i < times; ++i) {
      const Memory data(1, type, static_cast<unsigned>(i) + 1);
      EXPECT_EQ(send(data.data()), MPI_SUCCESS);
      EXPECT_EQ(fake::taken_by(peer), (std::vector<fake::Message>{{tag, data.packed()}}));
      if (i == times - 1) return fake::last_send_buffer() != data.data();
    }
    return false;
  }
  bool sends_packed(MPI_Datatype type) {
    return packs_at_last(type,
                         [&](const void* data) { return mpi.MPI_Send(data, 1, type, peer, tag, MPI_COMM_WORLD); });
  }
};

TEST_F(Trials, ASlowMpiPacksNoSends) {
  fake::habits.slow = Slow::strided;
  EXPECT_TRUE(sends_packed(rows(3)));
}

TEST_F(Trials, AnMpiThatIsSlowWithPackedDataPacksSends) {
  fake::habits.slow = Slow::contiguous;
  EXPECT_FALSE(sends_packed(rows(1)));
}

TEST_F(Trials, ShortNonblockingSendsAreTried) {
  for (const auto slow : {Slow::strided, Slow::contiguous}) {
    fake::habits.slow = slow;
    const auto type = many_rows(slow == Slow::strided ? 1 : 2);
    const auto send = [&](const void* data) {
      compute();
      MPI_Request request;
      const int rc = mpi.MPI_Isend(data, 1, type, peer, tag, MPI_COMM_WORLD, &request);
      return rc == MPI_SUCCESS ? mpi.MPI_Wait(&request, MPI_STATUS_IGNORE) : rc;
    };
    EXPECT_EQ(packs_at_last(type, send, exchanges), slow == Slow::strided);
  }
}

/// The message of a nonblocking send is still under way when the call returns.
TEST_F(Trials, LongNonblockingSendsAreTriedInExchanges) {
  fake::habits.sends_wait = true;
  for (const auto slow : {Slow::strided, Slow::contiguous}) {
    fake::habits.slow = slow;
    const auto type = many_rows(slow == Slow::strided ? 9 : 10);
    const Memory data(1, type, 1);
    for (int i = 0; i < exchanges; ++i) {
      compute();
      MPI_Request requests[2];
      for (auto& request : requests)
        ASSERT_EQ(mpi.MPI_Isend(data.data(), 1, type, peer, tag, MPI_COMM_WORLD, &request), MPI_SUCCESS);
      EXPECT_EQ(fake::taken_by(peer), (std::vector<fake::Message>(2, {tag, data.packed()})));
      ASSERT_EQ(mpi.MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    }
    EXPECT_EQ(fake::last_send_buffer() != data.data(), slow == Slow::strided);
  }
}

TEST_F(Trials, NonblockingReceivesAreTriedInExchanges) {
  for (const auto slow : {Slow::strided, Slow::contiguous}) {
    fake::habits.slow = slow;
    const auto type = many_rows(slow == Slow::strided ? 4 : 5);
    Memory to(1, type, 0);
    for (int i = 0; i < exchanges; ++i) {
      compute();
      const auto data = message(to.packed().size(), static_cast<unsigned>(i));
      to.fill(0);
      const auto expected = to.with(data);
      MPI_Request request;
      ASSERT_EQ(mpi.MPI_Irecv(to.data(), 1, type, peer, tag, MPI_COMM_WORLD, &request), MPI_SUCCESS);
      fake::arrive(peer, tag, data);
      ASSERT_EQ(mpi.MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(to, expected);
    }
    EXPECT_EQ(fake::last_receive_buffer() != to.data(), slow == Slow::strided);
  }
}

TEST_F(Trials, BothSidesOfASendrecvAreTried) {
  for (const auto slow : {Slow::strided, Slow::contiguous}) {
    fake::habits.slow = slow;
    const auto type = many_rows(slow == Slow::strided ? 3 : 6);
    const Memory data(1, type, 1);
    Memory to(1, type, 0);
    for (int i = 0; i < exchanges; ++i) {
      compute();
      to.fill(0);
      const auto expected = to.with(data.packed());
      fake::arrive(peer, tag, data.packed());
      ASSERT_EQ(mpi.MPI_Sendrecv(data.data(), 1, type, peer, tag, to.data(), 1, type, peer, tag, MPI_COMM_WORLD,
                                 MPI_STATUS_IGNORE),
                MPI_SUCCESS);
      EXPECT_EQ(to, expected);
      EXPECT_EQ(fake::taken_by(peer), (std::vector<fake::Message>{{tag, data.packed()}}));
    }
    EXPECT_EQ(fake::last_send_buffer() != data.data(), slow == Slow::strided);
    EXPECT_EQ(fake::last_receive_buffer() != to.data(), slow == Slow::strided);
  }
}

TEST_F(Trials, StartsOfPersistentRequestsAreTried) {
  for (const auto slow : {Slow::strided, Slow::contiguous}) {
    fake::habits.slow = slow;
    const auto type = many_rows(slow == Slow::strided ? 7 : 8);
    Memory data(1, type, 1), to(1, type, 0);
    MPI_Request requests[2];
    ASSERT_EQ(mpi.MPI_Recv_init(to.data(), 1, type, peer, tag, MPI_COMM_WORLD, &requests[0]), MPI_SUCCESS);
    ASSERT_EQ(mpi.MPI_Send_init(data.data(), 1, type, peer, tag, MPI_COMM_WORLD, &requests[1]), MPI_SUCCESS);
    for (int i = 0; i < exchanges; ++i) {
      compute();
      const auto come = message(to.packed().size(), static_cast<unsigned>(i));
      data.fill(static_cast<unsigned>(i) + 1);
      to.fill(0);
      const auto expected = to.with(come);
      for (auto& request : requests) ASSERT_EQ(mpi.MPI_Start(&request), MPI_SUCCESS);
      fake::arrive(peer, tag, come);
      MPI_Status statuses[2];
      ASSERT_EQ(mpi.MPI_Waitall(2, requests, statuses), MPI_SUCCESS);
      EXPECT_EQ(to, expected);
      EXPECT_EQ(fake::bytes_of(statuses[0]), static_cast<std::int64_t>(come.size()));
      EXPECT_EQ(fake::taken_by(peer), (std::vector<fake::Message>{{tag, data.packed()}}));
    }
    EXPECT_EQ(fake::last_send_buffer() != data.data(), slow == Slow::strided);
    EXPECT_EQ(fake::last_receive_buffer() != to.data(), slow == Slow::strided);
    for (auto& request : requests) ASSERT_EQ(mpi.MPI_Request_free(&request), MPI_SUCCESS);
  }
}

/// Other calls look at receives that are under way. The program's own request is inactive while a
/// receive of ours stands in its place.
TEST_F(Trials, StartedReceivesAreNotTakenForEnded) {
  process->sends_to_self = true;  // from then on calls look
  const auto type = many_rows(11);
  Memory to(1, type, 0);
  MPI_Request request;
  ASSERT_EQ(mpi.MPI_Recv_init(to.data(), 1, type, peer, tag, MPI_COMM_WORLD, &request), MPI_SUCCESS);
  for (int i = 0; i < exchanges; ++i) {
    compute();
    const auto come = message(to.packed().size(), static_cast<unsigned>(i));
    to.fill(0);
    const auto expected = to.with(come);
    ASSERT_EQ(mpi.MPI_Start(&request), MPI_SUCCESS);
    MPI_Request other;
    ASSERT_EQ(mpi.MPI_Irecv(nullptr, 0, MPI_INT, peer, tag + 1, MPI_COMM_WORLD, &other), MPI_SUCCESS);
    int flag = 1;
    ASSERT_EQ(mpi.MPI_Test(&other, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    progress_receives();
    fake::arrive(peer, tag + 1, "");
    fake::arrive(peer, tag, come);
    ASSERT_EQ(mpi.MPI_Wait(&other, MPI_STATUS_IGNORE), MPI_SUCCESS);
    MPI_Status status;
    ASSERT_EQ(mpi.MPI_Wait(&request, &status), MPI_SUCCESS);
    EXPECT_EQ(to, expected);
    EXPECT_EQ(fake::bytes_of(status), static_cast<std::int64_t>(come.size()));
  }
  ASSERT_EQ(mpi.MPI_Request_free(&request), MPI_SUCCESS);
  process->sends_to_self = false;
}

/// Whoever's turn it is.
TEST_F(Trials, StartedRequestsAreCancelledAndFreed) {
  const auto type = many_rows(12);
  const Memory data(1, type, 1);
  Memory to(1, type, 0);
  fake::habits.sends_wait = true;
  for (int i = 0; i < exchanges; ++i) {
    compute();
    MPI_Request receive, send;
    ASSERT_EQ(mpi.MPI_Recv_init(to.data(), 1, type, peer, tag, MPI_COMM_WORLD, &receive), MPI_SUCCESS);
    ASSERT_EQ(mpi.MPI_Send_init(data.data(), 1, type, peer, tag, MPI_COMM_WORLD, &send), MPI_SUCCESS);
    for (auto* request : {&receive, &send}) {
      ASSERT_EQ(mpi.MPI_Start(request), MPI_SUCCESS);
      ASSERT_EQ(mpi.MPI_Cancel(request), MPI_SUCCESS);
      MPI_Status status;
      ASSERT_EQ(mpi.MPI_Wait(request, &status), MPI_SUCCESS);
      EXPECT_TRUE(fake::cancelled(status));
    }
    EXPECT_TRUE(fake::taken_by(peer).empty());
    // A request that is freed while it is active still does its work.
    const auto come = message(to.packed().size(), static_cast<unsigned>(i));
    to.fill(0);
    const auto expected = to.with(come);
    for (auto* request : {&receive, &send}) {
      ASSERT_EQ(mpi.MPI_Start(request), MPI_SUCCESS);
      ASSERT_EQ(mpi.MPI_Request_free(request), MPI_SUCCESS);
    }
    fake::arrive(peer, tag, come);
    EXPECT_EQ(fake::taken_by(peer), (std::vector<fake::Message>{{tag, data.packed()}}));
    int flag = 0;
    ASSERT_EQ(mpi.MPI_Iprobe(peer, tag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(to, expected);
  }
}

TEST_F(Trials, ReceivesAreTried) {
  for (const auto slow : {Slow::strided, Slow::contiguous}) {
    fake::habits.slow = slow;
    const auto type = rows(slow == Slow::strided ? 7 : 9);
    Memory to(1, type, 0);
    for (int i = 0; i < calls; ++i) {
      const auto data = message(to.packed().size(), static_cast<unsigned>(i));
      to.fill(0);
      const auto expected = to.with(data);
      fake::arrive(peer, tag, data);
      ASSERT_EQ(mpi.MPI_Recv(to.data(), 1, type, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(to, expected);
    }
    EXPECT_EQ(fake::last_receive_buffer() != to.data(), slow == Slow::strided);
  }
}

/// A request of ours costs more than so few blocks.
TEST_F(Trials, NonblockingMessagesOfFewBlocksAreLeftToTheMpi) {
  fake::habits.slow = Slow::strided;
  const auto type = rows(12);
  const auto send = [&](const void* data) {
    compute();
    MPI_Request request;
    const int rc = mpi.MPI_Isend(data, 1, type, peer, tag, MPI_COMM_WORLD, &request);
    return rc == MPI_SUCCESS ? mpi.MPI_Wait(&request, MPI_STATUS_IGNORE) : rc;
  };
  EXPECT_FALSE(packs_at_last(type, send, exchanges));
}

/// MPICH copies packed data of a buffered send once more.
TEST_F(Trials, BufferedSendsHaveOneCandidateOnMpich) {
  fake::habits.slow = Slow::strided;
  const auto type = rows(11);
  EXPECT_FALSE(
      packs_at_last(type, [&](const void* data) { return mpi.MPI_Bsend(data, 1, type, peer, tag, MPI_COMM_WORLD); }));
}

TEST_F(Trials, CallsThatFailTellNothing) {
  const auto type = rows(13);
  const Memory data(1, type, 1);
  for (int i = 0; i < calls; ++i) {
    fake::fail("Send", MPI_ERR_OTHER);
    EXPECT_EQ(mpi.MPI_Send(data.data(), 1, type, peer, tag, MPI_COMM_WORLD), MPI_ERR_OTHER);
  }
  fake::habits.slow = Slow::strided;
  EXPECT_TRUE(sends_packed(type));
}

TEST_F(Trials, WithoutTrialsTheModelDecides) {
  process->settings.trials = false;
  process->model = plan::default_model(process->library);  // on whatever processor
  fake::habits.slow = Slow::contiguous;
  EXPECT_TRUE(sends_packed(rows(15)));  // a short message in blocks of 60 bytes
}

}  // namespace
}  // namespace dunnage::mpi::test
