// Messages with gaps in host memory, again and again between the same ranks with the same tags, in
// orders in which a receiver that learns which receive gets which message could be misled. Each
// message must come to the receive that MPI's order gives it.
#include <array>
#include <vector>

#include "samples.hpp"

namespace host_channels_contract {

constexpr int tag = 5, times = 150, words = 800;

/// Every other double of a buffer.
class Row {
 public:
  Row() : data_(2 * words, -1.0) {}
  void write(double value) {
    for (int i = 0; i < words; ++i) data_[std::size_t(2 * i)] = value + i;
  }
  bool holds(double value) const {
    for (int i = 0; i < words; ++i)
      if (data_[std::size_t(2 * i)] != value + i || data_[std::size_t(2 * i + 1)] != -1.0) return false;
    return true;
  }
  void* data() { return data_.data(); }

 private:
  std::vector<double> data_;
};

/// Ranks 0 and 1 wait for each other.
void together() {
  static MPI_Comm pair = [] {
    MPI_Group world, two;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    const int ranks[] = {0, 1};
    MPI_Group_incl(world, 2, ranks, &two);
    MPI_Comm made;
    MPI_Comm_create_group(MPI_COMM_WORLD, two, 0, &made);
    MPI_Group_free(&world);
    MPI_Group_free(&two);
    return made;
  }();
  MPI_Barrier(pair);
}

/// Rank 1 receives the messages of rank 0, which rank 0 starts by one call. Any order of them is
/// right.
void started_together(Contract& c, MPI_Datatype type) {
  c.section("different modes by one MPI_Startall");
  std::array<Row, 2> rows;
  std::array<MPI_Request, 2> requests{};
  for (int i = 0; i < 2; ++i) {
    auto* const data = rows[std::size_t(i)].data();
    auto* const request = &requests[std::size_t(i)];
    if (c.rank == 1)
      check_ok(MPI_Recv_init(data, 1, type, 0, tag, MPI_COMM_WORLD, request), "init");
    else
      check_ok((i == 0 ? MPI_Ssend_init : MPI_Send_init)(data, 1, type, 1, tag, MPI_COMM_WORLD, request), "init");
  }
  for (int round = 0; round < times; ++round) {
    for (int i = 0; i < 2; ++i) rows[std::size_t(i)].write(c.rank == 0 ? 1000.0 * (2 * round + i) : -5.0);
    check_ok(MPI_Startall(2, requests.data()), "start");
    check_ok(MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE), "wait");
    if (c.rank == 0) continue;
    const bool in_order = rows[0].holds(2000.0 * round) && rows[1].holds(2000.0 * round + 1000);
    const bool swapped = rows[1].holds(2000.0 * round) && rows[0].holds(2000.0 * round + 1000);
    c.check(in_order || swapped, "round " + std::to_string(round));
  }
  for (auto& request : requests) MPI_Request_free(&request);
}

/// A receive from any rank that begins now and then among others, once there is a channel.
void any_source_between(Contract& c, MPI_Datatype type, bool persistent) {
  c.section(persistent ? "persistent receives from any rank between others" : "receives from any rank between others");
  const int other_tag = persistent ? tag + 2 : tag + 1;
  Row any, named;
  MPI_Request receive_any = MPI_REQUEST_NULL;
  if (c.rank == 1 && persistent)
    MPI_Recv_init(any.data(), 1, type, MPI_ANY_SOURCE, other_tag, MPI_COMM_WORLD, &receive_any);
  for (int round = 0; round < times; ++round) {
    // The receive from any rank begins before the other one, so it gets the first message.
    const bool with_any = round > times / 2 && round % 3 == 2;
    MPI_Request request = MPI_REQUEST_NULL;
    if (c.rank == 1) {
      any.write(-5);
      named.write(-5);
      if (with_any && persistent) check_ok(MPI_Start(&receive_any), "start");
      if (with_any && !persistent)
        check_ok(MPI_Irecv(any.data(), 1, type, MPI_ANY_SOURCE, other_tag, MPI_COMM_WORLD, &receive_any), "any");
      check_ok(MPI_Irecv(named.data(), 1, type, 0, other_tag, MPI_COMM_WORLD, &request), "receive");
    }
    together();  // most receives begin first
    if (c.rank == 0) {
      for (int i = 0; i < (with_any ? 2 : 1); ++i) {
        named.write(10.0 * round + i);
        check_ok(MPI_Isend(named.data(), 1, type, 1, other_tag, MPI_COMM_WORLD, &request), "send");
        check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), "wait");
      }
      continue;
    }
    if (with_any) check_ok(MPI_Wait(&receive_any, MPI_STATUS_IGNORE), "wait");
    check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), "wait");
    c.check(named.holds(10.0 * round + (with_any ? 1 : 0)), "round " + std::to_string(round));
    if (with_any) c.check(any.holds(10.0 * round), "from any rank, round " + std::to_string(round));
  }
  if (c.rank == 1 && persistent) MPI_Request_free(&receive_any);
}

/// A program may end after its sends have ended, long before they are received.
void received_late(Contract& c, MPI_Datatype type) {
  c.section("received late");
  constexpr int late_tag = tag + 3;
  Row row;
  MPI_Request request = MPI_REQUEST_NULL;
  for (int round = 0; round < 8; ++round) {
    if (c.rank == 0) {
      row.write(round);
      check_ok(MPI_Isend(row.data(), 1, type, 1, late_tag, MPI_COMM_WORLD, &request), "send");
      check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), "wait");
    }
    if (round == 7 && c.rank == 1) usleep(200000);
    if (c.rank == 0) continue;
    check_ok(MPI_Irecv(row.data(), 1, type, 0, late_tag, MPI_COMM_WORLD, &request), "receive");
    check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), "wait");
    c.check(row.holds(round), "round " + std::to_string(round));
  }
}

CONTRACT_PROGRAM(host_channels) {
  Contract c("host_channels", &argc, &argv);
  MPI_Datatype type = make::vector(words, 1, 2, MPI_DOUBLE);
  MPI_Type_commit(&type);
  if (c.rank < 2) {
    started_together(c, type);
    any_source_between(c, type, false);
    any_source_between(c, type, true);
    received_late(c, type);
  }
  MPI_Type_free(&type);
  return c.finish();
}

}  // namespace host_channels_contract
