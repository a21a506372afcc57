// Messages with gaps in host memory, again and again between the same ranks with the same tags, in
// orders in which a receiver that learns which receive gets which message could be misled. Each
// message must come to the receive that MPI's order gives it.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
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

/// Rank 0 starts three messages with one tag by one call, in any order. Rank 1 begins its receives
/// one after the other.
void three_started_together(Contract& c, MPI_Datatype type) {
  c.section("three messages by one MPI_Startall");
  constexpr int three_tag = tag + 4;
  std::array<Row, 3> rows;
  std::array<MPI_Request, 3> requests{};
  for (std::size_t i = 0; c.rank == 0 && i < 3; ++i)
    check_ok(MPI_Send_init(rows[i].data(), 1, type, 1, three_tag, MPI_COMM_WORLD, &requests[i]), "init");
  for (int round = 0; round < times; ++round) {
    const auto value = [&](std::size_t i) { return 3000.0 * round + 1000.0 * double(i); };
    for (std::size_t i = 0; i < 3; ++i) rows[i].write(c.rank == 0 ? value(i) : -5.0);
    if (c.rank == 0) check_ok(MPI_Startall(3, requests.data()), "start");
    for (std::size_t i = 0; c.rank == 1 && i < 3; ++i)
      check_ok(MPI_Irecv(rows[i].data(), 1, type, 0, three_tag, MPI_COMM_WORLD, &requests[i]), "receive");
    check_ok(MPI_Waitall(3, requests.data(), MPI_STATUSES_IGNORE), "wait");
    for (std::size_t sent = 0; c.rank == 1 && sent < 3; ++sent) {
      const auto holds = [&](const Row& row) { return row.holds(value(sent)); };
      c.check(std::count_if(rows.begin(), rows.end(), holds) == 1, "round " + std::to_string(round));
    }
  }
  for (auto& request : requests)
    if (c.rank == 0) MPI_Request_free(&request);
}

/// Between messages with gaps come messages of another datatype, whose elements the MPI must see:
/// some MPIs take no packed bytes for such elements.
void mixed_between(Contract& c, MPI_Datatype type) {
  c.section("structs between messages with gaps");
  constexpr int mixed_tag = tag + 5, structs = 1000;
  struct Mixed {
    double value;
    int first, second;
  };
  const int counts[] = {1, 2};
  const MPI_Aint places[] = {0, offsetof(Mixed, first)};
  const MPI_Datatype parts[] = {MPI_DOUBLE, MPI_INT};
  MPI_Datatype mixed;
  MPI_Type_create_struct(2, counts, places, parts, &mixed);
  MPI_Type_commit(&mixed);
  Row row;
  std::vector<Mixed> all(structs);
  for (int round = 0; round < times; ++round) {
    row.write(c.rank == 0 ? round : -5);
    for (int i = 0; i < structs; ++i) all[std::size_t(i)] = {c.rank == 0 ? round + 0.5 : -1, i, round};
    MPI_Request requests[2];
    const auto begin = [&](void* data, int count, MPI_Datatype of, MPI_Request* request) {
      return c.rank == 0 ? MPI_Isend(data, count, of, 1, mixed_tag, MPI_COMM_WORLD, request)
                         : MPI_Irecv(data, count, of, 0, mixed_tag, MPI_COMM_WORLD, request);
    };
    check_ok(begin(row.data(), 1, type, &requests[0]), "row");
    check_ok(begin(all.data(), structs, mixed, &requests[1]), "structs");
    check_ok(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), "wait");
    const auto right = [&](const Mixed& one) {
      return one.value == round + 0.5 && one.first == int(&one - all.data()) && one.second == round;
    };
    c.check(row.holds(round), "row, round " + std::to_string(round));
    c.check(std::all_of(all.begin(), all.end(), right), "structs, round " + std::to_string(round));
  }
  MPI_Type_free(&mixed);
}

/// After many short messages come long ones with the same tag.
void long_after_short(Contract& c, MPI_Datatype type) {
  c.section("long messages after short ones");
  constexpr int long_tag = tag + 6, longs = 1 << 20;
  Row row;
  std::vector<int> all(longs);
  MPI_Request start;
  check_ok((c.rank == 0 ? MPI_Send_init(all.data(), longs, MPI_INT, 1, long_tag, MPI_COMM_WORLD, &start)
                        : MPI_Recv_init(all.data(), longs, MPI_INT, 0, long_tag, MPI_COMM_WORLD, &start)),
           "init");
  for (int round = 0; round < times; ++round) {
    MPI_Request request;
    row.write(c.rank == 0 ? round : -5);
    if (c.rank == 0)
      check_ok(MPI_Isend(row.data(), 1, type, 1, long_tag, MPI_COMM_WORLD, &request), "send");
    else
      check_ok(MPI_Irecv(row.data(), 1, type, 0, long_tag, MPI_COMM_WORLD, &request), "receive");
    const bool with_long = round > times - 20;
    for (int i = 0; with_long && i < longs; ++i) all[std::size_t(i)] = c.rank == 0 ? round + i : -1;
    if (with_long) check_ok(MPI_Start(&start), "start");
    check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), "wait");
    if (with_long) check_ok(MPI_Wait(&start, MPI_STATUS_IGNORE), "wait");
    c.check(row.holds(round), "row, round " + std::to_string(round));
    int wrong = 0;
    for (int i = 0; with_long && i < longs; ++i) wrong += all[std::size_t(i)] != round + i;
    c.check(wrong == 0, "long, round " + std::to_string(round));
  }
  MPI_Request_free(&start);
}

/// Both ranks wait for their sends before their receives begin. That is right only on an MPI that
/// buffers messages of that length.
void sent_before_received(Contract& c, MPI_Datatype type) {
  c.section("sends that end before receives begin");
  constexpr int head_on_tag = tag + 7;
  Row mine, theirs;
  for (int round = 0; round < times; ++round) {
    MPI_Request request;
    mine.write(10.0 * round + c.rank);
    theirs.write(-5);
    check_ok(MPI_Isend(mine.data(), 1, type, 1 - c.rank, head_on_tag, MPI_COMM_WORLD, &request), "send");
    check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), "wait");
    check_ok(MPI_Irecv(theirs.data(), 1, type, 1 - c.rank, head_on_tag, MPI_COMM_WORLD, &request), "receive");
    check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), "wait");
    c.check(theirs.holds(10.0 * round + 1 - c.rank), "round " + std::to_string(round));
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
    three_started_together(c, type);
    mixed_between(c, type);
    long_after_short(c, type);
    if (std::getenv("CONTRACT_MPI_BUFFERS")) sent_before_received(c, type);
    received_late(c, type);
  }
  MPI_Type_free(&type);
  return c.finish();
}

}  // namespace host_channels_contract
