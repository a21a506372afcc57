// Two ranks of which each finds another candidate faster (tests/support/slow_messages.c). Rank 0
// sends messages with gaps to rank 1, again and again, by blocking and nonblocking calls. The bytes
// are right, whoever packs.
#include "samples.hpp"

namespace message_sides_contract {

constexpr int tag = 3, answer_tag = 4, messages = 700;

/// Rank 1 tells rank 0 that it has the data: rank 0 does not run ahead.
void answer(Contract& c) {
  if (c.rank == 1)
    check_ok(MPI_Send(nullptr, 0, MPI_BYTE, 0, answer_tag, MPI_COMM_WORLD), "answer");
  else
    check_ok(MPI_Recv(nullptr, 0, MPI_BYTE, 1, answer_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "answer");
}

template <class Message>
void again_and_again(Contract& c, const Sample& sample, int n, const std::string& name, int times, Message&& message) {
  c.section(name);
  Region region(sample, n, 1);
  for (int i = 0; i < times; ++i) {
    region.fill(i);
    const Bytes expected = region.packed();
    if (c.rank == 1) region.poison();
    message(region);
    if (c.rank == 1) region.expect(expected, name);
    answer(c);
  }
}

CONTRACT_PROGRAM(message_sides) {
  Contract c("message_sides", &argc, &argv);
  const bool sends = c.rank == 0;
  const Sample rows{"rows", [](int n) { return make::vector(n, 2, 4, MPI_DOUBLE); }};
  again_and_again(c, rows, 400, "blocking", 60, [&](Region& r) {
    check_ok(sends ? MPI_Send(r.address, r.count, r.type, 1, tag, MPI_COMM_WORLD)
                   : MPI_Recv(r.address, r.count, r.type, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
             "blocking");
  });
  const Sample more_rows{"more rows", [](int n) { return make::vector(n, 1, 2, MPI_DOUBLE); }};
  again_and_again(c, more_rows, 800, "nonblocking", messages, [&](Region& r) {
    MPI_Request request;
    check_ok(sends ? MPI_Isend(r.address, r.count, r.type, 1, tag, MPI_COMM_WORLD, &request)
                   : MPI_Irecv(r.address, r.count, r.type, 0, tag, MPI_COMM_WORLD, &request),
             "nonblocking");
    check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), "wait");
  });
  return c.finish();
}

}  // namespace message_sides_contract
