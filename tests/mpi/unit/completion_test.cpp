// Calls that complete requests: which are ended, what is delivered, and what the statuses tell.
#include "hooked.hpp"
#include "mpi/message/attach.hpp"

namespace dunnage::mpi::test {
namespace {

/// Four receives into strided memory with the tags 0 to 3, a receive into contiguous memory with
/// tag 4, and a null request.
class Completions : public Hooked {
 protected:
  static constexpr int n = 6, source = 1;
  static constexpr std::size_t bytes = 480;

  void SetUp() override {
    const auto strided = commit(columns()), dense = commit(fake::contiguous(480, MPI_BYTE));
    for (int i = 0; i < 5; ++i) {
      into_.emplace_back(1, i < 4 ? strided : dense, 0);
      empty_.push_back(into_.back());
    }
    for (int i = 0; i < 5; ++i)
      ASSERT_EQ(
          mpi.MPI_Irecv(into_[at(i)].data(), 1, i < 4 ? strided : dense, source, i, MPI_COMM_WORLD, &requests_[i]),
          MPI_SUCCESS);
    requests_[5] = MPI_REQUEST_NULL;
  }
  void arrive(int i) {
    fake::arrive(source, i, message(bytes, static_cast<unsigned>(i)));
    arrived_[i] = true;
  }
  bool delivered(int i) const { return into_[at(i)] == empty_[at(i)].with(message(bytes, static_cast<unsigned>(i))); }
  bool untouched(int i) const { return into_[at(i)] == empty_[at(i)]; }
  /// Ends all that is left.
  void rest() {
    for (int i = 0; i < 5; ++i)
      if (!arrived_[i]) arrive(i);
    ASSERT_EQ(mpi.MPI_Waitall(n, requests_, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(delivered(i)) << i;
  }
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  std::vector<Memory> into_, empty_;
  MPI_Request requests_[n];
  bool arrived_[5] = {};
};

TEST_F(Completions, WaitallDeliversAllAndFillsEveryStatus) {
  for (int i = 4; i >= 0; --i) arrive(i);
  MPI_Status statuses[n];
  ASSERT_EQ(mpi.MPI_Waitall(n, requests_, statuses), MPI_SUCCESS);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(delivered(i)) << i;
    EXPECT_EQ(statuses[i].MPI_TAG, i);
    EXPECT_EQ(fake::bytes_of(statuses[i]), 480);
  }
  for (const auto request : requests_) EXPECT_EQ(request, MPI_REQUEST_NULL);
}

TEST_F(Completions, CallsThatFailAndReportSuccessBeginNothing) {
  fake::habits.hides_errors = true;
  const auto strided = commit(columns());
  Memory memory(1, strided, 0);
  const auto never_begun = [&](const char* function, auto&& call) {
    for (const auto before : {MPI_REQUEST_NULL, MPI_Request(0x12345678)}) {
      auto request = before;
      fake::fail(function, MPI_ERR_BUFFER);
      EXPECT_EQ(call(&request), MPI_SUCCESS) << function;
      EXPECT_EQ(request, before) << function;
      EXPECT_EQ(process->requests.find(key_of(MPI_REQUEST_NULL)), nullptr) << function;
      EXPECT_EQ(process->requests.find(key_of(before)), nullptr) << function;
    }
  };
  never_begun("Irecv", [&](auto* r) { return mpi.MPI_Irecv(memory.data(), 1, strided, source, 9, MPI_COMM_WORLD, r); });
  never_begun("Isend", [&](auto* r) { return mpi.MPI_Isend(memory.data(), 1, strided, source, 9, MPI_COMM_WORLD, r); });
  never_begun("Recv_init",
              [&](auto* r) { return mpi.MPI_Recv_init(memory.data(), 1, strided, source, 9, MPI_COMM_WORLD, r); });
  never_begun("Send_init",
              [&](auto* r) { return mpi.MPI_Send_init(memory.data(), 1, strided, source, 9, MPI_COMM_WORLD, r); });
  fake::habits.hides_errors = false;
  rest();
}

TEST_F(Completions, TestallEndsNothingBeforeAllHaveCome) {
  for (int i = 0; i < 4; ++i) arrive(i);
  int flag = 1;
  ASSERT_EQ(mpi.MPI_Testall(n, requests_, &flag, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  EXPECT_FALSE(flag);
  for (int i = 0; i < 5; ++i) EXPECT_NE(requests_[i], MPI_REQUEST_NULL);
  arrive(4);
  ASSERT_EQ(mpi.MPI_Testall(n, requests_, &flag, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  EXPECT_TRUE(flag);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(delivered(i)) << i;
}

TEST_F(Completions, WaitanyEndsOne) {
  arrive(2);
  int index = -1;
  MPI_Status status;
  ASSERT_EQ(mpi.MPI_Waitany(n, requests_, &index, &status), MPI_SUCCESS);
  EXPECT_EQ(index, 2);
  EXPECT_TRUE(delivered(2));
  EXPECT_EQ(status.MPI_TAG, 2);
  EXPECT_EQ(requests_[2], MPI_REQUEST_NULL);
  for (const int i : {0, 1, 3, 4}) EXPECT_TRUE(untouched(i));
  rest();
}

TEST_F(Completions, TestanyTellsThatNoneHasCome) {
  int index = -1, flag = 1;
  ASSERT_EQ(mpi.MPI_Testany(n, requests_, &index, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_FALSE(flag);
  rest();
}

TEST_F(Completions, WaitsomeEndsWhatHasCome) {
  arrive(3);
  arrive(1);
  arrive(4);
  int count = 0, indices[n];
  MPI_Status statuses[n];
  ASSERT_EQ(mpi.MPI_Waitsome(n, requests_, &count, indices, statuses), MPI_SUCCESS);
  ASSERT_EQ(count, 3);
  for (int k = 0; k < count; ++k) {
    EXPECT_TRUE(delivered(indices[k])) << indices[k];
    EXPECT_EQ(statuses[k].MPI_TAG, indices[k]);
    EXPECT_EQ(requests_[indices[k]], MPI_REQUEST_NULL);
  }
  for (const int i : {0, 2}) EXPECT_TRUE(untouched(i));
  ASSERT_EQ(mpi.MPI_Testsome(n, requests_, &count, indices, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(count, 0);
  rest();
}

TEST_F(Completions, WithoutActiveRequestsTheCallsSayUndefined) {
  rest();
  int index = 0, count = 0, flag = 0, indices[n];
  ASSERT_EQ(mpi.MPI_Waitany(n, requests_, &index, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(index, MPI_UNDEFINED);
  ASSERT_EQ(mpi.MPI_Testany(n, requests_, &index, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_TRUE(flag);
  ASSERT_EQ(mpi.MPI_Waitsome(n, requests_, &count, indices, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(count, MPI_UNDEFINED);
}

TEST_F(Completions, ATruncatedMessageLeavesTheOthersRight) {
  for (const int i : {0, 1, 3, 4}) arrive(i);
  fake::arrive(source, 2, message(481, 2));
  MPI_Status statuses[n];
  for (auto& status : statuses) status.MPI_ERROR = MPI_ERR_PENDING;
  int count = 0, indices[n];
  ASSERT_EQ(mpi.MPI_Waitsome(n, requests_, &count, indices, statuses), MPI_ERR_IN_STATUS);
  ASSERT_EQ(count, 5);
  for (int k = 0; k < count; ++k) {
    const bool truncated = indices[k] == 2;
    EXPECT_EQ(statuses[k].MPI_ERROR, truncated ? MPI_ERR_TRUNCATE : MPI_SUCCESS) << indices[k];
    if (!truncated) {
      EXPECT_TRUE(delivered(indices[k])) << indices[k];
    }
  }
  EXPECT_TRUE(untouched(2));
}

TEST_F(Completions, AskingForTheStatusDeliversAndKeepsTheRequest) {
  arrive(0);
  int flag = 0;
  for (int again = 0; again < 2; ++again) {
    MPI_Status status;
    ASSERT_EQ(mpi.MPI_Request_get_status(requests_[0], &flag, &status), MPI_SUCCESS);
    EXPECT_TRUE(flag);
    EXPECT_TRUE(delivered(0));
    EXPECT_EQ(fake::bytes_of(status), 480);
    EXPECT_NE(requests_[0], MPI_REQUEST_NULL);
  }
  MPI_Status status;
  ASSERT_EQ(mpi.MPI_Wait(&requests_[0], &status), MPI_SUCCESS);
  EXPECT_EQ(fake::bytes_of(status), 480);
  EXPECT_EQ(status.MPI_TAG, 0);
  ASSERT_EQ(mpi.MPI_Request_get_status(requests_[1], &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_FALSE(flag);
  rest();
}

TEST_F(Completions, ACallThatFailsEndsNothing) {
  for (int i = 0; i < 5; ++i) arrive(i);
  int index = 0;
  fake::fail("Waitany", MPI_ERR_REQUEST);
  EXPECT_EQ(mpi.MPI_Waitany(n, requests_, &index, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
  fake::fail("Waitall", MPI_ERR_REQUEST);
  EXPECT_EQ(mpi.MPI_Waitall(n, requests_, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(untouched(i));
  rest();
}

// --- Persistent requests -------------------------------------------------------------------------

class Persistent : public Hooked {
 protected:
  static constexpr int source = 1;
};

TEST_F(Persistent, EveryStartSendsWhatTheBufferHolds) {
  const auto type = commit(columns());
  Memory data(2, type, 1);
  MPI_Request request;
  ASSERT_EQ(mpi.MPI_Send_init(data.data(), 2, type, source, 6, MPI_COMM_WORLD, &request), MPI_SUCCESS);
  const auto handle = request;
  for (unsigned round = 1; round < 4; ++round) {
    data.fill(round);
    ASSERT_EQ(mpi.MPI_Start(&request), MPI_SUCCESS);
    ASSERT_EQ(mpi.MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(request, handle);
    EXPECT_EQ(fake::taken_by(source), (std::vector<fake::Message>{{6, data.packed()}}));
  }
  ASSERT_EQ(mpi.MPI_Request_free(&request), MPI_SUCCESS);
}

TEST_F(Persistent, EveryStartReceives) {
  const auto type = commit(columns());
  for (const bool forgets : {false, true}) {
    fake::habits.forgets_ended_persistent = forgets;
    Memory into[2] = {Memory(1, type, 0), Memory(1, type, 0)};
    MPI_Request requests[2];
    for (int i = 0; i < 2; ++i)
      ASSERT_EQ(mpi.MPI_Recv_init(into[i].data(), 1, type, source, i, MPI_COMM_WORLD, &requests[i]), MPI_SUCCESS);
    for (unsigned round = 0; round < 3; ++round) {
      const auto expected = into[0].with(message(480, round)), expected_second = into[1].with(message(480, round + 9));
      ASSERT_EQ(mpi.MPI_Startall(2, requests), MPI_SUCCESS);
      fake::arrive(source, 0, message(480, round));
      fake::arrive(source, 1, message(480, round + 9));
      int flag = 0;
      MPI_Status status, statuses[2];
      ASSERT_EQ(mpi.MPI_Request_get_status(requests[0], &flag, &status), MPI_SUCCESS);
      EXPECT_TRUE(flag);
      ASSERT_EQ(mpi.MPI_Waitall(2, requests, statuses), MPI_SUCCESS);
      EXPECT_EQ(into[0], expected);
      EXPECT_EQ(into[1], expected_second);
      for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(fake::bytes_of(statuses[i]), 480) << "round " << round << " of request " << i;
        EXPECT_EQ(statuses[i].MPI_TAG, i);
        EXPECT_NE(requests[i], MPI_REQUEST_NULL);
      }
    }
    for (auto& request : requests) ASSERT_EQ(mpi.MPI_Request_free(&request), MPI_SUCCESS);
  }
}

TEST_F(Persistent, InactiveRequestsAreEmpty) {
  const auto type = commit(columns());
  Memory into(1, type, 0);
  const auto empty = into;
  MPI_Request request;
  ASSERT_EQ(mpi.MPI_Recv_init(into.data(), 1, type, source, 0, MPI_COMM_WORLD, &request), MPI_SUCCESS);
  MPI_Status status;
  ASSERT_EQ(mpi.MPI_Wait(&request, &status), MPI_SUCCESS);
  EXPECT_EQ(fake::bytes_of(status), 0);
  EXPECT_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
  int flag = 0;
  ASSERT_EQ(mpi.MPI_Test(&request, &flag, &status), MPI_SUCCESS);
  EXPECT_TRUE(flag);
  EXPECT_EQ(into, empty);
  ASSERT_EQ(mpi.MPI_Request_free(&request), MPI_SUCCESS);
}

TEST_F(Persistent, AStartThatFailsLeavesTheRequestInactive) {
  const auto type = commit(columns());
  Memory into(1, type, 0);
  const auto expected = into.with(message(480, 1));
  MPI_Request request;
  ASSERT_EQ(mpi.MPI_Recv_init(into.data(), 1, type, source, 0, MPI_COMM_WORLD, &request), MPI_SUCCESS);
  fake::fail("Start", MPI_ERR_OTHER);
  EXPECT_EQ(mpi.MPI_Start(&request), MPI_ERR_OTHER);
  ASSERT_EQ(mpi.MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  fake::arrive(source, 0, message(480, 1));
  ASSERT_EQ(mpi.MPI_Start(&request), MPI_SUCCESS);
  ASSERT_EQ(mpi.MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(into, expected);
  ASSERT_EQ(mpi.MPI_Request_free(&request), MPI_SUCCESS);
}

class AskedFirst : public Hooked {};

/// What becomes of an operation whose handle another one gets while the MPI is asked about it.
TEST_F(AskedFirst, AHandleThatIsUsedAgainMeanwhileHidesNoOperation) {
  const auto request = static_cast<MPI_Request>(0x77000001);
  const auto begin = [&] {
    auto operation = std::make_unique<Request>(errors_of_comm(MPI_COMM_SELF));
    operation->persistent = true;  // so that the MPI is not asked
    auto* const kept = operation.get();
    attach(request, std::move(operation));
    return kept;
  };
  auto* const first = begin();
  {
    const Asking asking;
    auto* const second = begin();
    {
      const Asking inner;
      EXPECT_EQ(inner.taken_out(key_of(request)).get(), second);
    }
    EXPECT_EQ(asking.taken_out(key_of(request)).get(), first);
    EXPECT_EQ(asking.taken_out(key_of(request)), nullptr);
    begin();
    begin();
  }
  EXPECT_NE(std::unique_ptr<Request>(process->requests.erase(key_of(request))), nullptr);
  EXPECT_EQ(special_requests.load(), 0u);
}

TEST_F(AskedFirst, TestsOfManyReceives) {
  constexpr int n = 40;
  const auto type = commit(columns());
  for (const int how : {0, 1, 2}) {
    std::vector<Memory> into(n, Memory(1, type, 0));
    std::vector<MPI_Request> requests(n);
    const auto bytes = into[0].packed().size();
    for (int i = 0; i < n; ++i)
      ASSERT_EQ(mpi.MPI_Irecv(into[i].data(), 1, type, 1, i, MPI_COMM_WORLD, &requests[i]), MPI_SUCCESS);
    const auto test = [&](std::vector<int>& ended) {
      int index = 0, flag = 0, count = 0;
      std::vector<int> indices(n);
      if (how == 0) {
        ASSERT_EQ(mpi.MPI_Testany(n, requests.data(), &index, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
        if (flag && index != MPI_UNDEFINED) ended.push_back(index);
      } else if (how == 1) {
        ASSERT_EQ(mpi.MPI_Testsome(n, requests.data(), &count, indices.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
        ended.assign(indices.begin(), indices.begin() + (count == MPI_UNDEFINED ? 0 : count));
      } else {
        ASSERT_EQ(mpi.MPI_Testall(n, requests.data(), &flag, MPI_STATUSES_IGNORE), MPI_SUCCESS);
        for (int i = 0; flag && i < n; ++i) ended.push_back(i);
      }
    };
    std::vector<int> ended;
    test(ended);
    EXPECT_TRUE(ended.empty());
    for (int k = 0; k < n; ++k) {
      const int i = k * 7 % n;
      const auto data = message(bytes, static_cast<unsigned>(i) + 1);
      const auto expected = into[i].with(data);
      fake::arrive(1, i, data);
      ended.clear();
      test(ended);
      if (how == 2) {
        EXPECT_EQ(ended.size(), k + 1 == n ? n : 0);
        if (k + 1 < n) continue;
      } else {
        EXPECT_EQ(ended, std::vector<int>{i});
        EXPECT_EQ(requests[i], MPI_REQUEST_NULL);
      }
      EXPECT_EQ(into[i], expected);
    }
    for (int i = 0; how == 2 && i < n; ++i) {
      EXPECT_EQ(into[i].packed(), message(bytes, static_cast<unsigned>(i) + 1));
    }
  }
}

}  // namespace
}  // namespace dunnage::mpi::test
