// Ping-pongs past Dunnage and through it. One side has a vector and the other side contiguous data,
// or both have contiguous data. The answer is empty.
#include <mpi.h>

#include <algorithm>

#include "base/cache.hpp"
#include "common/past.hpp"
#include "tune/case.hpp"
#include "tune/vector.hpp"

namespace bench::tune {

namespace {

enum class Strided { neither, sender, receiver };
constexpr const char* names[] = {"contiguous", "send", "receive"};  // indexed by Strided

void barrier() {  // the barrier belongs to neither series
  static const auto function = BENCH_PAST(MPI_Barrier);
  function(MPI_COMM_WORLD);
}

class Message : public Case {
 public:
  Message(const Memory& memory, int rank, long bytes, long block, Strided strided)
      : memory_(memory),
        rank_(rank),
        bytes_(bytes),
        block_(block),
        strided_(strided),
        cold_(2 * bytes > dunnage::base::second_level_cache()),
        type_(bytes, block) {}

  void sample(int turn) final {
    for (int k = 0; k < 2; ++k) {
      const bool preloaded = (turn + k) % 2 == 0;
      if (preloaded && strided_ == Strided::neither) continue;
      const int times = cold_ ? 1 : batch(bytes_);
      if (cold_) {
        memory_.evict(rank_ == 0 ? memory_.from : memory_.to, 2 * static_cast<std::size_t>(bytes_));
        memory_.evictor.finish();
      } else {
        exchange(preloaded);
      }
      barrier();
      const auto start = Clock::now();
      for (int i = 0; i < times; ++i) exchange(preloaded);
      (preloaded ? dunnage_ : plain_).push_back(since(start) / times);
    }
  }

  bool right() final {
    static int salt = 0;  // makes values that no leftover can pass for
    ++salt;
    type_.fill(memory_.from, salt);
    type_.poison(memory_.to);
    barrier();
    exchange(true);
    bool right = true;
    if (rank_ == 1) {  // here `from` is filled in the same way
      const std::size_t count = static_cast<std::size_t>(bytes_) / sizeof(double);
      if (strided_ == Strided::neither)
        right = std::equal(memory_.from.data(), memory_.from.data() + count, memory_.to.data());
      else
        right = type_.packed_right(memory_.from, memory_.to, strided_ == Strided::receiver);
    }
    return agreed(right, 1);
  }

  AllSeries series() const final {
    return strided_ == Strided::neither ? AllSeries{&plain_} : AllSeries{&plain_, &dunnage_};
  }

  nlohmann::json record() const final {
    nlohmann::json record = {
        {"record", "result"}, {"kind", "message"}, {"direction", names[static_cast<int>(strided_)]},
        {"bytes", bytes_},    {"block", block_},   {"far", cold_}};
    record["series"]["plain"] = to_json(plain_);
    if (!dunnage_.empty()) record["series"]["dunnage"] = to_json(dunnage_);
    return record;
  }

 private:
  /// An exchange goes past Dunnage or through it as a whole, because with Dunnage a message may
  /// travel in a form of its own.
  void exchange(bool preloaded) const {
    static const auto past_send = BENCH_PAST(MPI_Send);
    static const auto past_recv = BENCH_PAST(MPI_Recv);
    const auto send = preloaded ? MPI_Send : past_send;
    const auto recv = preloaded ? MPI_Recv : past_recv;
    const bool apart = strided_ == (rank_ == 0 ? Strided::sender : Strided::receiver);
    const auto type = apart ? type_.get() : MPI_DOUBLE;
    const int count = apart ? 1 : static_cast<int>(bytes_ / static_cast<long>(sizeof(double)));
    if (rank_ == 0) {
      send(memory_.from.data(), count, type, 1, 0, MPI_COMM_WORLD);
      recv(nullptr, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      recv(memory_.to.data(), count, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      send(nullptr, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
  }

  const Memory& memory_;
  const int rank_;
  const long bytes_, block_;
  const Strided strided_;
  const bool cold_;
  const Vector type_;
  std::vector<double> plain_, dunnage_;
};

}  // namespace

bool add_messages(Cases& cases, const Memory& memory, int rank, long least, long most, double seconds, bool all) {
  const auto start = Clock::now();
  bool right = true;
  for (long bytes = least; bytes <= most && agreed(since(start) < seconds, 0); bytes *= 2) {
    const auto add = [&](long block, Strided strided) {
      cases.push_back(std::make_unique<Message>(memory, rank, bytes, block, strided));
      right &= cases.back()->right();
    };
    if (all) add(bytes, Strided::neither);
    for (const long block : blocks) {
      if (2 * block > bytes) continue;
      add(block, Strided::sender);
      if (all) add(block, Strided::receiver);
    }
  }
  return right;
}

}  // namespace bench::tune
