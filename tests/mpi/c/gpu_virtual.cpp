// Large messages from memory that the virtual memory functions made: sent again and again, mapped
// anew, in several allocations, in more allocations than anyone keeps. With `private` as its
// argument no descriptors of it can be had. Crashes on an MPI that knows nothing of GPUs.
#include <string_view>

#include "mirror.hpp"
#include "peers.hpp"

namespace gpu_virtual_contract {

const MPI_Comm world = MPI_COMM_WORLD;
constexpr int tag = 3;
bool passable = true;

/// Such memory, for who sends.
std::unique_ptr<VirtualMemory> memory_of(const Pair& p, std::size_t part, std::size_t parts = 1) {
  return p.sends ? std::make_unique<VirtualMemory>(part, parts, passable) : nullptr;
}

MPI_Datatype strided(int n) { return make::vector(n, 1, 2, MPI_DOUBLE); }
MPI_Datatype plain(int n) { return make::contiguous(n, MPI_DOUBLE); }

Bytes doubles(int n, unsigned seed, bool gaps) {
  Region r(gaps ? strided(n) : plain(n), 1, "doubles");
  r.fill(seed);
  return r.packed();
}

/// What is sent: a region's bytes somewhere in such memory.
struct Source {
  Source(VirtualMemory& memory, int n, bool gaps, std::size_t offset = 768)
      : region(gaps ? strided(n) : plain(n), 1, "source"), at(memory.address() + offset) {}
  void* fill(unsigned seed) {
    region.fill(seed);
    cuda(cuMemcpyHtoD(at, region.bytes().data(), region.bytes().size()), "cuMemcpyHtoD");
    cuda(cuStreamSynchronize(nullptr), "cuStreamSynchronize");
    return reinterpret_cast<void*>(at +
                                   CUdeviceptr(static_cast<unsigned char*>(region.address) - region.bytes().data()));
  }
  Region region;
  CUdeviceptr at;
};

/// What receives.
struct Target {
  Target(int n, bool gaps, Kind kind)
      : region(gaps ? make::vector(n / 4, 4, 7, MPI_DOUBLE) : plain(n), 1, "target"), mirror(region, kind) {}
  void* poison() {
    region.poison();
    mirror.write();
    return mirror.address();
  }
  void expect(const Bytes& packed, const std::string& what) {
    mirror.read_back();
    region.expect(packed, what);
  }
  Region region;
  Mirror mirror;
};

/// One message, after which both know of each other what there is to know.
void message(const Pair& p, const std::unique_ptr<VirtualMemory>& memory, int n, bool gaps_out, bool gaps_in, Kind to,
             unsigned seed, const std::string& what, std::size_t offset = 768) {
  if (p.sends) {
    Source source(*memory, n, gaps_out, offset);
    check_ok(MPI_Send(source.fill(seed), 1, source.region.type, p.peer, tag, world), what);
    take_token(p.peer);
  } else {
    Target target(n, gaps_in, to);
    check_ok(MPI_Recv(target.poison(), 1, target.region.type, p.peer, tag, world, MPI_STATUS_IGNORE), what);
    target.expect(doubles(n, seed, gaps_out), what);
    give_token(p.peer);
  }
}

void again_and_again(const Pair& p) {
  for (const Kind to : {Kind::device, Kind::mapped, Kind::pool, Kind::host, Kind::other_device})
    for (const bool gaps_out : {false, true})
      for (const bool gaps_in : {false, true}) {
        if (!there(to)) continue;
        const std::string what = std::string("again, ") + (gaps_out ? "strided" : "plain") + " to " +
                                 (gaps_in ? "strided " : "plain ") + name_of(to);
        contract().section(what);
        const auto memory = memory_of(p, 2 << 20);
        for (unsigned i = 0; i < 6; ++i)
          message(p, memory, 40000, gaps_out, gaps_in, to, 10 + i, what + ", " + std::to_string(i));
      }
}

// The same addresses, other memory: by what the receiver has mapped it would get the old bytes.
void remapped(const Pair& p) {
  const auto memory = memory_of(p, 1 << 20);
  for (unsigned i = 0; i < 15; ++i) {
    const auto what = "remapped, " + std::to_string(i);
    contract().section(what);
    if (memory && i % 5 == 4) memory->remap();
    message(p, memory, 20000, i % 2, i % 3 == 0, Kind::device, i, what);
  }
}

void freed_and_made_again(const Pair& p) {
  for (unsigned i = 0; i < 6; ++i) {
    const auto what = "made again, " + std::to_string(i);
    contract().section(what);
    const auto memory = memory_of(p, std::size_t(1 + i % 2) << 21);
    for (unsigned k = 0; k < 3; ++k) message(p, memory, 20000, true, false, Kind::device, 3 * i + k, what);
  }
}

// A buffer over the end of one allocation and the beginning of the next.
void in_two_mappings(const Pair& p) {
  const auto memory = memory_of(p, 2 << 20, 2);
  for (const bool gaps : {false, true})
    for (unsigned i = 0; i < 4; ++i) {
      const auto what = std::string("in two mappings, ") + (gaps ? "strided, " : "plain, ") + std::to_string(i);
      contract().section(what);
      message(p, memory, 30000, gaps, false, Kind::device, i, what, (memory ? memory->part() : 0) - 65536);
    }
  // In the second one alone.
  for (unsigned i = 0; i < 4; ++i)
    message(p, memory, 30000, true, true, Kind::device, i, "in the second mapping",
            (memory ? memory->part() : 0) + 1024);
}

// All of them under way at a time, in more allocations than the receiver holds for anyone.
void many(const Pair& p) {
  constexpr int messages = 48, n = 5000;
  std::vector<std::unique_ptr<VirtualMemory>> memories;
  for (int i = 0; i < messages; ++i) memories.push_back(memory_of(p, 1 << 20));
  for (unsigned round = 0; round < 5; ++round) {
    const auto what = "many, " + std::to_string(round);
    contract().section(what);
    std::vector<std::unique_ptr<Source>> sources;
    std::vector<std::unique_ptr<Target>> targets;
    std::vector<MPI_Request> requests(messages);
    for (int i = 0; i < messages; ++i) {
      const bool gaps = i % 3 == 0;
      if (p.sends) {
        sources.push_back(std::make_unique<Source>(*memories[std::size_t(i)], n, gaps));
        auto& source = *sources.back();
        check_ok(MPI_Isend(source.fill(100 * round + unsigned(i)), 1, source.region.type, p.peer, i, world,
                           &requests[std::size_t(i)]),
                 what);
      } else {
        targets.push_back(std::make_unique<Target>(n, i % 2, Kind::device));
        check_ok(MPI_Irecv(targets.back()->poison(), 1, targets.back()->region.type, p.peer, i, world,
                           &requests[std::size_t(i)]),
                 what);
      }
    }
    check_ok(MPI_Waitall(messages, requests.data(), MPI_STATUSES_IGNORE), what);
    for (int i = 0; i < int(targets.size()); ++i)
      targets[std::size_t(i)]->expect(doubles(n, 100 * round + unsigned(i), i % 3 == 0),
                                      what + ", message " + std::to_string(i));
  }
}

// The receiver has the ticket, but not the time. The sender must get on, and its memory is its own
// again.
void late_receivers(const Pair& p) {
  constexpr int n = 30000;
  const auto memory = memory_of(p, 1 << 20);
  for (unsigned i = 0; i < 4; ++i) message(p, memory, n, true, false, Kind::device, i, "before late ones");
  for (const bool gaps : {false, true}) {
    const std::string what = std::string("late") + (gaps ? ", strided" : "");
    contract().section(what);
    MPI_Request request;
    int word = 1;
    if (p.sends) {
      take_token(p.peer);
      Source source(*memory, n, gaps);
      check_ok(MPI_Isend(source.fill(77), 1, source.region.type, p.peer, tag, world, &request), what);
      check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), what);
      memory->remap();
      source.fill(78);
      check_ok(MPI_Send(&word, 1, MPI_INT, p.peer, tag + 1, world), what);
    } else {
      Target target(n, false, Kind::device);
      check_ok(MPI_Irecv(target.poison(), 1, target.region.type, p.peer, tag, world, &request), what);
      give_token(p.peer);
      check_ok(MPI_Recv(&word, 1, MPI_INT, p.peer, tag + 1, world, MPI_STATUS_IGNORE), what);
      check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), what);
      target.expect(doubles(n, 77, gaps), what);
    }
  }
}

// Halos: all ranks to all others at once, from the same memory.
void around() {
  const int ranks = contract().ranks, rank = contract().rank;
  constexpr int n = 20000;
  VirtualMemory memory(1 << 20, 1, passable);
  for (unsigned round = 0; round < 5; ++round) {
    const auto what = "around, " + std::to_string(round);
    contract().section(what);
    std::vector<std::unique_ptr<Target>> in;
    std::vector<MPI_Request> requests;
    Source out(memory, n, true);
    void* from = out.fill(unsigned(rank) + 50 + round);
    for (int i = 1; i < ranks; ++i) {
      in.push_back(std::make_unique<Target>(n, round % 2, i % 2 ? Kind::mapped : Kind::device));
      requests.emplace_back();
      check_ok(
          MPI_Irecv(in.back()->poison(), 1, in.back()->region.type, (rank + i) % ranks, tag, world, &requests.back()),
          what);
    }
    for (int i = 1; i < ranks; ++i) {
      requests.emplace_back();
      check_ok(MPI_Isend(from, 1, out.region.type, (rank + i) % ranks, tag, world, &requests.back()), what);
    }
    check_ok(MPI_Waitall(int(requests.size()), requests.data(), MPI_STATUSES_IGNORE), what);
    for (int i = 1; i < ranks; ++i)
      in[std::size_t(i - 1)]->expect(doubles(n, unsigned((rank + i) % ranks) + 50 + round, true), what);
  }
}

// Messages that go the MPI's way until both know what the other can do.
void introduce(const Pair& p) {
  for (unsigned i = 0; i < 4; ++i) {
    Target out(40000, false, Kind::device), in(40000, false, Kind::device);
    out.region.fill(unsigned(p.rank));
    out.mirror.write();
    MPI_Sendrecv(out.mirror.address(), 1, out.region.type, p.peer, tag, in.poison(), 1, in.region.type, p.peer, tag,
                 world, MPI_STATUS_IGNORE);
    in.expect(doubles(40000, unsigned(p.peer), false), "introduction");
  }
}

CONTRACT_PROGRAM(virtual) {
  Contract c("gpu_virtual", &argc, &argv);
  passable = argc < 2 || std::string_view(argv[1]) != "private";
  const Pair p;
  devices();
  if (p.active) {
    introduce(p);
    again_and_again(p);
    remapped(p);
    freed_and_made_again(p);
    in_two_mappings(p);
    many(p);
    late_receivers(p);
  }
  around();
  return c.finish();
}

}  // namespace gpu_virtual_contract
