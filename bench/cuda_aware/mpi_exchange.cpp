#include <mpi.h>

#include <vector>

#include "cuda_aware/exchange.hpp"

namespace bench {

std::string name(Operation operation) {
  switch (operation) {
    case Operation::latency: return "latency";
    case Operation::one_way: return "one way";
    case Operation::both_ways: return "both ways";
  }
  return "";
}

namespace {

constexpr int data_tag = 0, answer_tag = 1;

/// A datatype: bytes, or a vector of 4-byte words.
class Type {
 public:
  explicit Type(const Shape& shape)
      : count_(shape.block ? 1 : static_cast<int>(shape.bytes)), derived_(shape.block != 0) {
    if (!derived_) return;
    const int words = static_cast<int>(shape.block / 4);
    MPI_Type_vector(static_cast<int>(shape.bytes / shape.block), words, 2 * words, MPI_INT, &type_);
    MPI_Type_commit(&type_);
  }
  ~Type() {
    if (derived_) MPI_Type_free(&type_);
  }
  Type(const Type&) = delete;
  Type& operator=(const Type&) = delete;
  MPI_Datatype get() const { return type_; }
  int count() const { return count_; }

 private:
  MPI_Datatype type_ = MPI_BYTE;
  const int count_;
  const bool derived_;
};

class MpiExchange final : public Exchange {
 public:
  MpiExchange(Operation o, int r, const Buffers& b, const Window& w)
      : Exchange(o, r, b, w), type_(w.shape), requests_(2 * static_cast<std::size_t>(w.length)) {}

  void run() override {
    if (operation == Operation::latency)
      ping_pong();
    else
      windows();
  }

 private:
  int other() const { return 1 - rank; }

  void ping_pong() {
    if (rank == 0) send();
    MPI_Recv(buffers.mpi_recv(window, 0), type_.count(), type_.get(), other(), data_tag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    buffers.stage_in(window, 0);
    if (rank == 1) send();
  }

  void send() {
    buffers.stage_out(window, 0);
    MPI_Send(buffers.mpi_send(window, 0), type_.count(), type_.get(), other(), data_tag, MPI_COMM_WORLD);
  }

  void windows() {
    std::size_t n = 0;
    if (receives())
      for (int k = 0; k < window.length; ++k)
        MPI_Irecv(buffers.mpi_recv(window, k), type_.count(), type_.get(), other(), data_tag, MPI_COMM_WORLD,
                  &requests_[n++]);
    if (sends())
      for (int k = 0; k < window.length; ++k) {
        buffers.stage_out(window, k);
        MPI_Isend(buffers.mpi_send(window, k), type_.count(), type_.get(), other(), data_tag, MPI_COMM_WORLD,
                  &requests_[n++]);
      }
    MPI_Waitall(static_cast<int>(n), requests_.data(), MPI_STATUSES_IGNORE);
    if (receives())
      for (int k = 0; k < window.length; ++k) buffers.stage_in(window, k);
    answer();
  }

  void answer() {
    char byte = 0;
    if (receives() && !sends())
      MPI_Send(&byte, 1, MPI_BYTE, other(), answer_tag, MPI_COMM_WORLD);
    else if (sends() && !receives())
      MPI_Recv(&byte, 1, MPI_BYTE, other(), answer_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
      MPI_Sendrecv(&byte, 1, MPI_BYTE, other(), answer_tag, &got_, 1, MPI_BYTE, other(), answer_tag, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
  }

  const Type type_;
  std::vector<MPI_Request> requests_;
  char got_ = 0;
};

}  // namespace

std::unique_ptr<Exchange> mpi_exchange(Operation operation, int rank, const Buffers& buffers, const Window& window) {
  return std::make_unique<MpiExchange>(operation, rank, buffers, window);
}

}  // namespace bench
