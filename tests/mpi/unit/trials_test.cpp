// Messages of host memory try who packs. The fake MPI is slow with data of one kind, so each trial
// has one right result.
#include "hooked.hpp"

namespace dunnage::mpi::test {
namespace {

using Slow = fake::Habits::Slow;

class Trials : public Hooked {
 protected:
  static constexpr int peer = 1, tag = 7, calls = 30;

  Trials() {
    process->settings.force = base::Force::automatic;
    process->settings.trials = true;
  }
  ~Trials() override { process->settings.trials = true; }

  /// A datatype of 64 blocks of so many integers. Each test has a length of its own, because trials
  /// outlive tests.
  MPI_Datatype rows(int blocklength) const { return commit(fake::vector(64, blocklength, 2 * blocklength, MPI_INT)); }

  /// Sends again and again. Returns whether the last message was packed by Dunnage.
  template <class Send>
  bool packs_at_last(MPI_Datatype type, Send&& send) {
    for (int i = 0; i < calls; ++i) {
      const Memory data(1, type, static_cast<unsigned>(i) + 1);
      EXPECT_EQ(send(data.data()), MPI_SUCCESS);
      EXPECT_EQ(fake::taken_by(peer), (std::vector<fake::Message>{{tag, data.packed()}}));
      if (i == calls - 1) return fake::last_send_buffer() != data.data();
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
    const auto type = rows(slow == Slow::strided ? 5 : 6);
    EXPECT_EQ(packs_at_last(type,
                            [&](const void* data) {
                              MPI_Request request;
                              const int rc = mpi.MPI_Isend(data, 1, type, peer, tag, MPI_COMM_WORLD, &request);
                              return rc == MPI_SUCCESS ? mpi.MPI_Wait(&request, MPI_STATUS_IGNORE) : rc;
                            }),
              slow == Slow::strided);
  }
}

TEST_F(Trials, LongNonblockingSendsFollowTheBlockingOnes) {
  for (const auto slow : {Slow::strided, Slow::contiguous}) {
    fake::habits.slow = slow;
    const auto type = rows(slow == Slow::strided ? 100 : 101);
    EXPECT_EQ(sends_packed(type), slow == Slow::strided);
    const Memory data(1, type, 1);
    MPI_Request request;
    ASSERT_EQ(mpi.MPI_Isend(data.data(), 1, type, peer, tag, MPI_COMM_WORLD, &request), MPI_SUCCESS);
    EXPECT_EQ(fake::last_send_buffer() != data.data(), slow == Slow::strided);
    EXPECT_EQ(fake::taken_by(peer), (std::vector<fake::Message>{{tag, data.packed()}}));
    ASSERT_EQ(mpi.MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
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
  fake::habits.slow = Slow::contiguous;
  EXPECT_TRUE(sends_packed(rows(15)));  // a short message in blocks of 60 bytes
}

}  // namespace
}  // namespace dunnage::mpi::test
