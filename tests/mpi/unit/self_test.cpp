// Messages of a rank to itself that the way `self` carries: the MPI matches a short announcement,
// and the data go from layout to layout.
#include <algorithm>
#include <random>

#include "hooked.hpp"

namespace dunnage::mpi::test {
namespace {

/// Long enough for an announcement: 3,000 blocks of 12 bytes.
class Self : public Hooked {
 protected:
  Self() {
    process->settings.tickets = base::Tickets::always;
    out = commit(fake::vector(3000, 3, 5, MPI_INT));
    in = commit(fake::hindexed({1000, 2000, 6000}, {80000, 100, 20000}, MPI_INT));
  }
  static constexpr std::int64_t bytes = 36000;
  static constexpr int tag = 3;

  MPI_Request begin(const Memory& data, decltype(NextTable::MPI_Isend) send) {
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(send(data.data(), 1, out, 0, tag, MPI_COMM_WORLD, &request), MPI_SUCCESS);
    return request;
  }

  MPI_Datatype out, in;  // of equal signatures
};

TEST_F(Self, DataGoFromLayoutToLayoutInEitherOrderOfTheCalls) {
  for (const bool send_first : {false, true}) {
    const Memory data(2, out, 1);
    Memory into(2, in, 0);
    const auto expected = into.with(data.packed());
    MPI_Request requests[2];
    const auto send = [&] { return mpi.MPI_Isend(data.data(), 2, out, 0, tag, MPI_COMM_WORLD, &requests[0]); };
    const auto receive = [&] { return mpi.MPI_Irecv(into.data(), 2, in, 0, tag, MPI_COMM_WORLD, &requests[1]); };
    ASSERT_EQ(send_first ? send() : receive(), MPI_SUCCESS);
    ASSERT_EQ(send_first ? receive() : send(), MPI_SUCCESS);
    MPI_Status statuses[2];
    ASSERT_EQ(mpi.MPI_Waitall(2, requests, statuses), MPI_SUCCESS);
    EXPECT_EQ(into, expected);
    EXPECT_EQ(fake::bytes_of(statuses[1]), 2 * bytes);
    EXPECT_EQ(statuses[1].MPI_SOURCE, 0);
    EXPECT_EQ(statuses[1].MPI_TAG, tag);
    EXPECT_LT(fake::last_send_bytes(), 17000) << "the MPI has carried the data";
  }
}

TEST_F(Self, ABufferMayBeUsedAgainWhenItsSendHasEnded) {
  Memory data(1, out, 2);
  Memory into(1, in, 0);
  const auto expected = into.with(data.packed());
  ASSERT_EQ(mpi.MPI_Send(data.data(), 1, out, 0, tag, MPI_COMM_SELF), MPI_SUCCESS);
  data.fill(9);
  ASSERT_EQ(mpi.MPI_Recv(into.data(), 1, in, 0, tag, MPI_COMM_SELF, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(into, expected);
}

TEST_F(Self, MessagesAreNotOvertaken) {
  constexpr int n = 5;
  std::vector<Memory> data, into, expected;
  MPI_Request requests[n];
  for (int i = 0; i < n; ++i) {
    data.emplace_back(1, out, static_cast<unsigned>(i + 1));
    into.emplace_back(1, in, 0);
    expected.push_back(into.back().with(data.back().packed()));
  }
  for (int i = 0; i < n; ++i)
    ASSERT_EQ(mpi.MPI_Isend(data[static_cast<std::size_t>(i)].data(), 1, out, 0, tag, MPI_COMM_WORLD, &requests[i]),
              MPI_SUCCESS);
  for (int i = 0; i < n; ++i)
    ASSERT_EQ(mpi.MPI_Recv(into[static_cast<std::size_t>(i)].data(), 1, in, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE),
              MPI_SUCCESS);
  ASSERT_EQ(mpi.MPI_Waitall(n, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(into, expected);
}

TEST_F(Self, ProbesTellTheSizeOfTheData) {
  const Memory data(1, out, 3);
  Memory into(1, in, 0);
  const auto expected = into.with(data.packed());
  auto request = begin(data, mpi.MPI_Isend);
  MPI_Status status;
  int flag = 0;
  ASSERT_EQ(mpi.MPI_Iprobe(0, tag, MPI_COMM_WORLD, &flag, &status), MPI_SUCCESS);
  EXPECT_TRUE(flag);
  EXPECT_EQ(fake::bytes_of(status), bytes);
  ASSERT_EQ(mpi.MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status), MPI_SUCCESS);
  EXPECT_EQ(fake::bytes_of(status), bytes);
  MPI_Message found;
  ASSERT_EQ(mpi.MPI_Improbe(0, tag, MPI_COMM_WORLD, &flag, &found, &status), MPI_SUCCESS);
  EXPECT_EQ(fake::bytes_of(status), bytes);
  ASSERT_EQ(mpi.MPI_Mrecv(into.data(), 1, in, &found, &status), MPI_SUCCESS);
  EXPECT_EQ(fake::bytes_of(status), bytes);
  EXPECT_EQ(into, expected);
  ASSERT_EQ(mpi.MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

TEST_F(Self, AReceiveThatIsTooShortIsAnErrorAndWritesNothingBeyond) {
  // Long enough for the announcement, and too short for the data.
  const auto short_in = commit(fake::vector(2500, 3, 5, MPI_INT));
  const Memory data(1, out, 4);
  Memory into(1, short_in, 0);
  const auto before = into, filled = into.with(data.packed().substr(0, 30000));
  MPI_Request requests[2];
  MPI_Status statuses[2];
  ASSERT_EQ(mpi.MPI_Irecv(into.data(), 1, short_in, 0, tag, MPI_COMM_WORLD, &requests[0]), MPI_SUCCESS);
  ASSERT_EQ(mpi.MPI_Isend(data.data(), 1, out, 0, tag, MPI_COMM_WORLD, &requests[1]), MPI_SUCCESS);
  ASSERT_EQ(mpi.MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS);
  EXPECT_EQ(statuses[0].MPI_ERROR, MPI_ERR_TRUNCATE);
  EXPECT_EQ(statuses[1].MPI_ERROR, MPI_SUCCESS);
  // Bytes between the blocks stay as they were. What the blocks hold is undefined.
  EXPECT_EQ(into.with(filled.packed()), filled);
  EXPECT_EQ(into.with(before.packed()), before);
  EXPECT_EQ(fake::errors(), std::vector<int>{MPI_ERR_IN_STATUS});
}

TEST_F(Self, ASynchronousSendWaitsForItsReceive) {
  const Memory data(1, out, 5);
  Memory into(1, in, 0);
  const auto expected = into.with(data.packed());
  auto request = begin(data, mpi.MPI_Issend);
  int flag = 1;
  ASSERT_EQ(mpi.MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_FALSE(flag);
  ASSERT_EQ(mpi.MPI_Recv(into.data(), 1, in, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
  ASSERT_EQ(mpi.MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_TRUE(flag);
  EXPECT_EQ(into, expected);
}

/// The receive is posted, so the MPI completes the send at once, with a handle that is all sends'.
TEST_F(Self, ASendThatEndsAtOnceIsFinishedByTheCallThatTells) {
  using How = int (*)(const NextTable&, MPI_Request*);
  const How hows[] = {
      [](const NextTable& mpi, MPI_Request* send) { return mpi.MPI_Wait(send, MPI_STATUS_IGNORE); },
      [](const NextTable& mpi, MPI_Request* send) {
        int flag = 0;
        return mpi.MPI_Test(send, &flag, MPI_STATUS_IGNORE);
      },
      [](const NextTable& mpi, MPI_Request* send) { return mpi.MPI_Waitall(1, send, MPI_STATUSES_IGNORE); },
      [](const NextTable& mpi, MPI_Request* send) {
        int index = 0;
        return mpi.MPI_Waitany(1, send, &index, MPI_STATUS_IGNORE);
      },
      [](const NextTable& mpi, MPI_Request* send) {
        int count = 0, index = 0;
        return mpi.MPI_Testsome(1, send, &count, &index, MPI_STATUSES_IGNORE);
      },
      [](const NextTable& mpi, MPI_Request* send) {
        int flag = 0;
        return mpi.MPI_Request_get_status(*send, &flag, MPI_STATUS_IGNORE);
      },
  };
  fake::habits.one_handle_for_ended_sends = true;
  for (const auto how : hows) {
    Memory data(1, out, 5);
    Memory into(1, in, 0);
    const auto expected = into.with(data.packed());
    MPI_Request receive;
    ASSERT_EQ(mpi.MPI_Irecv(into.data(), 1, in, 0, tag, MPI_COMM_WORLD, &receive), MPI_SUCCESS);
    auto send = begin(data, mpi.MPI_Isend);
    EXPECT_LT(fake::last_send_bytes(), 17000);
    ASSERT_EQ(how(mpi, &send), MPI_SUCCESS);
    data.fill(9);  // the program's again
    ASSERT_EQ(mpi.MPI_Wait(&receive, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(into, expected);
  }
}

TEST_F(Self, ACancelledSendGivesItsAnnouncementBack) {
  const Memory data(1, out, 6);
  for (int i = 0; i < 300; ++i) {  // more than there are announcements at a time
    auto request = begin(data, mpi.MPI_Isend);
    MPI_Status status;
    ASSERT_LT(fake::last_send_bytes(), 17000) << "at send " << i;
    ASSERT_EQ(mpi.MPI_Cancel(&request), MPI_SUCCESS);
    ASSERT_EQ(mpi.MPI_Wait(&request, &status), MPI_SUCCESS);
    ASSERT_TRUE(fake::cancelled(status));
  }
}

TEST_F(Self, AnyNumberOfMessagesIsAnnounced) {
  constexpr std::size_t n = 1000;
  std::vector<Memory> into;
  const Memory data(1, out, 7);
  std::vector<MPI_Request> requests(2 * n);
  for (std::size_t i = 0; i < n; ++i) into.emplace_back(1, in, 0);
  const auto expected = into[0].with(data.packed());
  for (std::size_t i = 0; i < n; ++i)
    ASSERT_EQ(mpi.MPI_Isend(data.data(), 1, out, 0, tag, MPI_COMM_WORLD, &requests[i]), MPI_SUCCESS);
  EXPECT_LT(fake::last_send_bytes(), 17000);
  MPI_Status status;
  ASSERT_EQ(mpi.MPI_Probe(0, tag, MPI_COMM_WORLD, &status), MPI_SUCCESS);
  EXPECT_EQ(fake::bytes_of(status), bytes);
  for (std::size_t i = 0; i < n; ++i)
    ASSERT_EQ(mpi.MPI_Irecv(into[i].data(), 1, in, 0, tag, MPI_COMM_WORLD, &requests[n + i]), MPI_SUCCESS);
  ASSERT_EQ(mpi.MPI_Waitall(2 * n, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
  for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(into[i], expected) << i;
}

TEST_F(Self, SendrecvAndItsReplacingForm) {
  const Memory data(1, out, 8);
  Memory into(1, in, 0), both(1, out, 11);
  const auto expected = into.with(data.packed()), same = both;
  MPI_Status status;
  ASSERT_EQ(mpi.MPI_Sendrecv(data.data(), 1, out, 0, tag, into.data(), 1, in, 0, tag, MPI_COMM_WORLD, &status),
            MPI_SUCCESS);
  EXPECT_EQ(into, expected);
  EXPECT_EQ(fake::bytes_of(status), bytes);
  ASSERT_EQ(mpi.MPI_Sendrecv_replace(both.data(), 1, out, 0, tag, 0, tag, MPI_COMM_WORLD, &status), MPI_SUCCESS);
  EXPECT_EQ(both, same);
  EXPECT_EQ(fake::bytes_of(status), bytes);
}

TEST_F(Self, PersistentRequestsMayBeStartedAgain) {
  Memory data(1, out, 0), into(1, in, 0);
  MPI_Request requests[2];
  ASSERT_EQ(mpi.MPI_Send_init(data.data(), 1, out, 0, tag, MPI_COMM_WORLD, &requests[0]), MPI_SUCCESS);
  ASSERT_EQ(mpi.MPI_Recv_init(into.data(), 1, in, 0, tag, MPI_COMM_WORLD, &requests[1]), MPI_SUCCESS);
  for (unsigned round = 1; round < 5; ++round) {
    data.fill(round);
    const auto expected = into.with(data.packed());
    ASSERT_EQ(mpi.MPI_Startall(2, requests), MPI_SUCCESS);
    MPI_Status statuses[2];
    ASSERT_EQ(mpi.MPI_Waitall(2, requests, statuses), MPI_SUCCESS);
    EXPECT_EQ(into, expected);
    EXPECT_EQ(fake::bytes_of(statuses[1]), bytes);
    EXPECT_LT(fake::last_send_bytes(), 17000);
  }
  for (auto& request : requests) ASSERT_EQ(mpi.MPI_Request_free(&request), MPI_SUCCESS);
}

TEST_F(Self, AnErrorOfTheMpiGivesTheAnnouncementBack) {
  const Memory data(1, out, 12);
  for (int i = 0; i < 300; ++i) {
    MPI_Request request = MPI_REQUEST_NULL;
    fake::fail("Issend", MPI_ERR_INTERN);
    ASSERT_EQ(mpi.MPI_Isend(data.data(), 1, out, 0, tag, MPI_COMM_WORLD, &request), MPI_ERR_INTERN);
  }
  auto request = begin(data, mpi.MPI_Isend);
  EXPECT_LT(fake::last_send_bytes(), 17000);
  ASSERT_EQ(mpi.MPI_Cancel(&request), MPI_SUCCESS);
  ASSERT_EQ(mpi.MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

/// Sends and receives of random kinds, sizes, tags and order. By the standard a receive gets the
/// oldest message of its tag.
class RandomExchange {
 public:
  RandomExchange(const NextTable& mpi, unsigned seed, MPI_Datatype out, MPI_Datatype in)
      : mpi_(mpi), random_(seed), out_(out), in_(in), n_(any(1, 12)) {
    for (std::size_t i = 0; i < n_; ++i) {
      tags_.push_back(static_cast<int>(any(0, 1)));
      counts_.push_back(static_cast<int>(any(0, 3)));
      data_.emplace_back(counts_[i], out, seed * 20 + static_cast<unsigned>(i) + 1);
      into_.emplace_back(3, in, 0);
    }
    wanted_ = tags_;  // by the receives, in another order
    std::shuffle(wanted_.begin(), wanted_.end(), random_);
    requests_.resize(2 * n_, MPI_REQUEST_NULL);
  }

  void run() {
    const auto all = static_cast<int>(requests_.size());
    while (sent_ < n_ || expected_.size() < n_) {
      if (sent_ < n_ && (expected_.size() == n_ || any(0, 1)))
        send();
      else
        receive();
      int index, flag;
      if (any(0, 2) == 0) {
        ASSERT_EQ(mpi_.MPI_Testany(all, requests_.data(), &index, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
      }
    }
    ASSERT_EQ(mpi_.MPI_Waitall(all, requests_.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(into_, expected_);
  }

 private:
  std::size_t any(std::size_t least, std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(least, most)(random_);
  }
  void send() {
    const auto i = sent_++;
    const auto begin = any(0, 3) == 0 ? mpi_.MPI_Issend : mpi_.MPI_Isend;
    ASSERT_EQ(begin(data_[i].data(), counts_[i], out_, 0, tags_[i], MPI_COMM_WORLD, &requests_[i]), MPI_SUCCESS);
  }
  void receive() {
    const auto k = expected_.size();
    const auto tag = wanted_[k];
    auto& i = next_of_[tag];  // the oldest send of that tag
    while (tags_[i] != tag) ++i;
    expected_.push_back(into_[k].with(data_[i++].packed()));
    ASSERT_EQ(mpi_.MPI_Irecv(into_[k].data(), 3, in_, any(0, 1) ? 0 : MPI_ANY_SOURCE, tag, MPI_COMM_WORLD,
                             &requests_[n_ + k]),
              MPI_SUCCESS);
  }

  const NextTable& mpi_;
  std::mt19937 random_;
  const MPI_Datatype out_, in_;
  const std::size_t n_;
  std::vector<int> tags_, wanted_, counts_;
  std::vector<Memory> data_, into_, expected_;
  std::vector<MPI_Request> requests_;
  std::size_t sent_ = 0, next_of_[2] = {0, 0};
};

TEST_F(Self, RandomExchanges) {
  for (unsigned seed = 0; seed < 60 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomExchange(mpi, seed, out, in).run();
  }
}

}  // namespace
}  // namespace dunnage::mpi::test
