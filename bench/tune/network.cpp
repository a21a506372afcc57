// The MPI's own messages, past Dunnage, in the way in which a broadcast between hosts uses them:
// contiguous and begun together, one alone or many in a row. An empty answer ends each exchange.
#include <mpi.h>

#include "bcast/buffers.hpp"
#include "common/past.hpp"
#include "tune/case.hpp"
#include "tune/vector.hpp"

namespace bench::tune {

namespace {

class Row : public Case {
 public:
  Row(const Memory& memory, int rank, long bytes, long messages)
      : memory_(memory), rank_(rank), bytes_(bytes), requests_(static_cast<std::size_t>(messages), MPI_REQUEST_NULL) {}

  void sample(int) final {
    const int times = batch(all_bytes());
    exchange();
    const auto start = Clock::now();
    for (int i = 0; i < times; ++i) exchange();
    seconds_.push_back(since(start) / times);
  }

  bool right() final {
    static unsigned salt = 0;  // makes values that no leftover can pass for
    fill(from(), all_bytes(), ++salt);
    exchange();
    return agreed(holds(to(), all_bytes(), salt), 1);
  }

  AllSeries series() const final { return {&seconds_}; }

  nlohmann::json record() const final {
    return {{"record", "result"},
            {"kind", "network"},
            {"bytes", bytes_},
            {"messages", requests_.size()},
            {"series", {{"plain", to_json(seconds_)}}}};
  }

 private:
  char* from() const { return reinterpret_cast<char*>(memory_.from.data()); }
  char* to() const { return reinterpret_cast<char*>(memory_.to.data()); }
  long all_bytes() const { return bytes_ * static_cast<long>(requests_.size()); }

  void exchange() {
    static const auto isend = BENCH_PAST(MPI_Isend);
    static const auto irecv = BENCH_PAST(MPI_Irecv);
    static const auto waitall = BENCH_PAST(MPI_Waitall);
    static const auto send = BENCH_PAST(MPI_Send);
    static const auto recv = BENCH_PAST(MPI_Recv);
    char* data = rank_ == 0 ? from() : to();
    for (auto& request : requests_) {
      if (rank_ == 0)
        isend(data, static_cast<int>(bytes_), MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
      else
        irecv(data, static_cast<int>(bytes_), MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
      data += bytes_;
    }
    waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    if (rank_ == 0)
      recv(nullptr, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
      send(nullptr, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
  }

  const Memory& memory_;
  const int rank_;
  const long bytes_;
  std::vector<MPI_Request> requests_;
  std::vector<double> seconds_;
};

}  // namespace

void add_network(Cases& cases, const Memory& memory, int rank, long most) {
  constexpr long messages = 16;
  for (long bytes = 8; bytes <= most; bytes *= 4) {
    cases.push_back(std::make_unique<Row>(memory, rank, bytes, 1));
    if (messages * bytes <= most) cases.push_back(std::make_unique<Row>(memory, rank, bytes, messages));
  }
}

}  // namespace bench::tune
