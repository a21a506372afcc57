// Messages that are longer than their receives, many of them, between messages that fit.
//
// How long a receive must be for a large message to be noticed differs between libraries. These
// receives have room for 4 KiB, so the MPI itself truncates whatever comes.
#include <vector>

#include "contract.hpp"
#include "make.hpp"

namespace truncated_contract {

constexpr int doubles = 8 << 10, room = 4 << 10, rounds = 300;  // room: bytes
constexpr int tag = 5;

int class_of(int code) {
  int cls = MPI_SUCCESS;
  PMPI_Error_class(code, &cls);
  return cls;
}

/// Columns of a matrix: what one rank sends, or what it has received.
struct Columns {
  explicit Columns(int seed) : memory(2 * doubles, -1.0), type(make::vector(doubles, 1, 2, MPI_DOUBLE)) {
    MPI_Type_commit(&type);
    for (int i = 0; seed >= 0 && i < doubles; ++i) memory[2 * std::size_t(i)] = seed + i;
  }
  Columns(const Columns&) = delete;
  Columns& operator=(const Columns&) = delete;
  ~Columns() { MPI_Type_free(&type); }
  std::vector<double> memory;
  MPI_Datatype type;
};

/// Receives a message that does not fit, in one of several ways. Returns the error's class.
int receive_truncated(int way, MPI_Comm comm) {
  // Open MPI 4.1 writes contiguous messages past the end of their receives.
  static std::vector<char> into(2 * doubles * sizeof(double));
  MPI_Request request;
  MPI_Status status;
  switch (way) {
    case 0: return class_of(MPI_Recv(into.data(), room, MPI_BYTE, 1, tag, comm, MPI_STATUS_IGNORE));
    case 1:
      MPI_Irecv(into.data(), room, MPI_BYTE, MPI_ANY_SOURCE, tag, comm, &request);
      return class_of(MPI_Wait(&request, MPI_STATUS_IGNORE));
    case 2: {
      MPI_Irecv(into.data(), room, MPI_BYTE, 1, MPI_ANY_TAG, comm, &request);
      const int code = MPI_Waitall(1, &request, &status);
      return class_of(code) == MPI_ERR_IN_STATUS ? class_of(status.MPI_ERROR) : class_of(code);
    }
    case 3:
      return class_of(MPI_Sendrecv(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, tag, into.data(), room, MPI_BYTE, 1, tag, comm,
                                   MPI_STATUS_IGNORE));
    default: {
      MPI_Message message;
      MPI_Mprobe(1, tag, comm, &message, MPI_STATUS_IGNORE);
      return class_of(MPI_Mrecv(into.data(), room, MPI_BYTE, &message, MPI_STATUS_IGNORE));
    }
  }
}
constexpr int ways = 5;

void check_columns(const Columns& got, const Columns& sent, const char* what) {
  check(got.memory == sent.memory, what);
}

/// One message after the other; the MPI tells each truncation, and what fits arrives.
void many(MPI_Comm comm) {
  for (int i = 0; i < rounds; ++i) {
    const Columns sent(i);
    if (contract().rank == 1) {
      MPI_Send(sent.memory.data(), 1, sent.type, 0, tag, comm);
      MPI_Send(sent.memory.data(), 1, sent.type, 0, tag, comm);
    } else if (contract().rank == 0) {
      check_equal(receive_truncated(i % ways, comm), int(MPI_ERR_TRUNCATE), "truncated message is told");
      Columns got(-1);
      check_ok(MPI_Recv(got.memory.data(), 1, got.type, 1, tag, comm, MPI_STATUS_IGNORE), "message that fits");
      check_columns(got, sent, "message that fits: data");
    }
    PMPI_Barrier(comm);  // the sender is not ahead
  }
}

/// Messages of many lengths are truncated while a large message with their tag is under way.
void others_under_way(MPI_Comm other) {
  const Columns sent(7);
  constexpr int least = 12 << 10, most = 16 << 10, step = 32;
  std::vector<char> bytes(most, 'x');
  MPI_Request large;
  if (contract().rank == 1) MPI_Isend(sent.memory.data(), 1, sent.type, 0, tag, MPI_COMM_WORLD, &large);
  for (int length = least; length < most; length += step) {
    if (contract().rank == 1)
      MPI_Send(bytes.data(), length, MPI_BYTE, 0, tag, other);
    else if (contract().rank == 0)
      check_equal(receive_truncated(length / step % ways, other), int(MPI_ERR_TRUNCATE),
                  "shorter message is truncated");
  }
  if (contract().rank == 1) {
    check_ok(MPI_Wait(&large, MPI_STATUS_IGNORE), "large message under way");
  } else if (contract().rank == 0) {
    Columns got(-1);
    check_ok(MPI_Recv(got.memory.data(), 1, got.type, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "large message");
    check_columns(got, sent, "large message after truncated ones: data");
  }
}

CONTRACT_PROGRAM(truncated) {
  Contract c("truncated", &argc, &argv);
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  MPI_Comm_set_errhandler(other, MPI_ERRORS_RETURN);
  c.section("one after the other");
  many(MPI_COMM_WORLD);
  c.section("others under way");
  for (int i = 0; i < 3; ++i) others_under_way(other);
  MPI_Comm_free(&other);
  return c.finish();
}

}  // namespace truncated_contract
