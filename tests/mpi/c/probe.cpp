// Probe, Iprobe, Mprobe and Improbe see the true size of a strided message, and matched receives
// get it.
#include "peers.hpp"

namespace probe_contract {

const MPI_Comm world = MPI_COMM_WORLD;

// The four ways to find a message and the receive that goes with each.
struct Way {
  const char* name;
  bool matched, polls, waits;
};
const Way ways[] = {
    {"Probe, Recv", false, false, false},  {"Iprobe, Recv", false, true, false},  {"Mprobe, Mrecv", true, false, false},
    {"Improbe, Mrecv", true, true, false}, {"Mprobe, Imrecv", true, false, true}, {"Improbe, Imrecv", true, true, true},
};

MPI_Message find(const Way& way, int source, int tag, MPI_Status* status, const std::string& what) {
  MPI_Message message = MPI_MESSAGE_NULL;
  int flag = 0;
  if (way.matched && way.polls)
    while (!flag) MPI_Improbe(source, tag, world, &flag, &message, status);
  else if (way.matched)
    check_ok(MPI_Mprobe(source, tag, world, &message, status), what);
  else if (way.polls)
    while (!flag) MPI_Iprobe(source, tag, world, &flag, status);
  else
    check_ok(MPI_Probe(source, tag, world, status), what);
  return message;
}

void receive(const Way& way, MPI_Message& message, Region& r, int source, int tag, MPI_Status* status,
             const std::string& what) {
  if (!way.matched) {
    check_ok(MPI_Recv(r.address, r.count, r.type, source, tag, world, status), what);
  } else if (!way.waits) {
    check_ok(MPI_Mrecv(r.address, r.count, r.type, &message, status), what);
  } else {
    MPI_Request request;
    check_ok(MPI_Imrecv(r.address, r.count, r.type, &message, &request), what);
    check_ok(MPI_Wait(&request, status), what);
  }
  if (way.matched) check(message == MPI_MESSAGE_NULL, what + ", message null");
}

void every_type(const Pair& p) {
  for (const Sample& sample : samples())
    for (int n : {2, 1100, 40000}) {
      if (!p.active) continue;
      Region r(sample, n);
      int round = 0;
      for (const Way& way : ways) {
        const std::string what = std::string(way.name) + " of " + sample.name + ", n " + std::to_string(n);
        contract().section(what);
        const int tag = ++round;
        r.fill(seed_of(p.sends ? p.rank : p.peer, round));
        if (p.sends) {
          check_ok(MPI_Send(r.address, r.count, r.type, p.peer, tag, world), what);
          continue;
        }
        const Bytes expected = r.packed();
        r.poison();
        MPI_Status status = blank_status();
        MPI_Message message = find(way, MPI_ANY_SOURCE, tag, &status, what);
        check_status(status, p.peer, tag, r, what + ", probe");
        status = blank_status();
        receive(way, message, r, p.peer, tag, &status, what);
        check_status(status, p.peer, tag, r, what);
        r.expect(expected, what);
      }
    }
}

// The usual idiom: probe, learn the size, then receive so many elements.
void unknown_size(const Pair& p) {
  for (int n : {1, 33, 5000, 70000}) {
    if (!p.active) continue;
    const std::string what = "size learned by a probe, n " + std::to_string(n);
    contract().section(what);
    const Sample pair = {"pairs", [](int) { return make::vector(2, 1, 2, MPI_DOUBLE); }};
    Region all(pair, 1, n);
    all.fill(seed_of(0, n));
    if (p.sends) {
      check_ok(MPI_Send(all.address, n, all.type, p.peer, 1, world), what);
      continue;
    }
    MPI_Status status = blank_status();
    check_ok(MPI_Probe(p.peer, MPI_ANY_TAG, world, &status), what);
    int count = -1, elements = -1, wrong = 0;
    MPI_Get_count(&status, all.type, &count);
    MPI_Get_elements(&status, all.type, &elements);
    MPI_Get_count(&status, MPI_DOUBLE, &wrong);
    check_equal(count, n, what + ", Get_count");
    check_equal(elements, 2 * n, what + ", Get_elements");
    check_equal(wrong, 2 * n, what + ", Get_count of the basic type");
    const Bytes expected = all.packed();
    all.poison();
    check_ok(MPI_Recv(all.address, count, all.type, p.peer, status.MPI_TAG, world, MPI_STATUS_IGNORE), what);
    all.expect(expected, what);
  }
}

// A matched message is out of the way of everything else.
void matched_out_of_order(const Pair& p) {
  if (!p.active) return;
  for (int n : {5, 60000}) {
    contract().section("matched out of order");
    Region a(every_other_double(), n), b(every_other_double(), n);
    a.fill(1);
    b.fill(2);
    if (p.sends) {
      MPI_Request request;
      MPI_Isend(a.address, 1, a.type, p.peer, 1, world, &request);
      MPI_Send(b.address, 1, b.type, p.peer, 1, world);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      continue;
    }
    const Bytes first = a.packed(), second = b.packed();
    a.poison();
    b.poison();
    MPI_Message message;
    check_ok(MPI_Mprobe(p.peer, 1, world, &message, MPI_STATUS_IGNORE), "matched out of order");
    check_ok(MPI_Recv(b.address, 1, b.type, p.peer, 1, world, MPI_STATUS_IGNORE), "matched out of order");
    check_ok(MPI_Mrecv(a.address, 1, a.type, &message, MPI_STATUS_IGNORE), "matched out of order");
    a.expect(first, "matched out of order, the first");
    b.expect(second, "matched out of order, the second");
  }
}

void shorter_and_truncated(const Pair& p) {
  for (int n : {4, 60000}) {
    if (!p.active) continue;
    const std::string what = "matched, n " + std::to_string(n);
    contract().section(what);
    Region message_of(every_other_double(), n), longer(every_other_double(), n + 3),
        shorter(every_other_double(), n - 2);
    message_of.fill(7);
    const Bytes sent = message_of.packed();
    if (p.sends) {
      for (int tag : {1, 2}) MPI_Send(message_of.address, 1, message_of.type, p.peer, tag, world);
      continue;
    }
    MPI_Message message;
    MPI_Status status = blank_status();
    int elements = -1;
    MPI_Mprobe(p.peer, 1, world, &message, &status);
    check_ok(MPI_Mrecv(longer.address, 1, longer.type, &message, &status), what + ", shorter than posted");
    MPI_Get_elements(&status, longer.type, &elements);
    check_equal(elements, n, what + ", shorter than posted, Get_elements");
    longer.expect(sent, what + ", shorter than posted");
    MPI_Mprobe(p.peer, 2, world, &message, &status);
    check_class(MPI_Mrecv(shorter.address, 1, shorter.type, &message, &status), MPI_ERR_TRUNCATE, what + ", truncated");
    shorter.expect_gaps(what + ", truncated, nothing written elsewhere");
  }
}

void no_process() {
  contract().section("no process");
  Region r(every_other_double(), 20);
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status = blank_status();
  int count = -1, flag = 0;
  check_ok(MPI_Mprobe(MPI_PROC_NULL, 1, world, &message, &status), "Mprobe of PROC_NULL");
  check(message == MPI_MESSAGE_NO_PROC, "Mprobe of PROC_NULL, message");
  status = blank_status();
  check_ok(MPI_Mrecv(r.address, 1, r.type, &message, &status), "Mrecv of NO_PROC");
  MPI_Get_count(&status, r.type, &count);
  check(status.MPI_SOURCE == MPI_PROC_NULL && count == 0, "Mrecv of NO_PROC, status");
  check(message == MPI_MESSAGE_NULL, "Mrecv of NO_PROC, message null");
  check_ok(MPI_Improbe(MPI_PROC_NULL, 1, world, &flag, &message, &status), "Improbe of PROC_NULL");
  check(flag && message == MPI_MESSAGE_NO_PROC, "Improbe of PROC_NULL, message");
  MPI_Request request;
  check_ok(MPI_Imrecv(r.address, 1, r.type, &message, &request), "Imrecv of NO_PROC");
  check_ok(MPI_Wait(&request, &status), "Imrecv of NO_PROC");
  r.expect_untouched("Mrecv of NO_PROC, buffer");
}

CONTRACT_PROGRAM(probe) {
  Contract c("probe", &argc, &argv);
  const Pair p;
  every_type(p);
  unknown_size(p);
  matched_out_of_order(p);
  shorter_and_truncated(p);
  no_process();
  return c.finish();
}

}  // namespace probe_contract
