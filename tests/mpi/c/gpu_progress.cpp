// MPI_THREAD_MULTIPLE with device memory: what a receive brings is there without a call, where a
// thread of the library's looks after it; and threads of the program that complete, cancel and free
// what that thread may be looking at.
#include <chrono>
#include <thread>

#include "cuda_memory.hpp"
#include "make.hpp"
#include "mirror.hpp"
#include "typemap.hpp"

namespace gpu_progress_contract {

constexpr int tag = 7;

// CONTRACT_PROGRESS: whether there is such a thread. Without one the data are not there before
// MPI_Wait, which shows that the check can fail.
void without_a_call() {
  const bool thread = std::getenv("CONTRACT_PROGRESS") != nullptr;
  for (const bool strided : {false, true})
    for (const int n : {4000, 300000})
      for (int round = 0; round < 4; ++round) {  // the first ones may go another way
        const std::string what =
            std::string(strided ? "strided" : "contiguous") + " without a call, n " + std::to_string(n);
        contract().section(what);
        Region data(strided ? make::vector(n, 1, 2, MPI_INT) : make::contiguous(n, MPI_INT), 1, "data");
        data.fill(unsigned(n + round));
        const Bytes expected = data.packed();
        PMPI_Barrier(MPI_COMM_WORLD);
        if (contract().rank == 0) {
          Mirror from(data, Kind::device);
          from.write();
          check_ok(MPI_Send(from.address(), 1, data.type, 1, tag, MPI_COMM_WORLD), what);
        } else if (contract().rank == 1) {
          data.poison();
          Mirror to(data, Kind::device);
          to.write();
          MPI_Request request;
          check_ok(MPI_Irecv(to.address(), 1, data.type, 0, tag, MPI_COMM_WORLD, &request), what);
          const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(thread ? 20000 : 300);
          bool there = false;
          while (!there && std::chrono::steady_clock::now() < end) {
            to.read_back();
            there = data.packed() == expected;
          }
          check(there == thread, what + ", there before MPI_Wait");
          check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), what);
          to.read_back();
          data.expect(expected, what);
        }
      }
}

// Before anything makes the primary contexts: memory of a pool has no context of its own, and only
// the one that was current where the receive was begun can say where its data belong.
void in_a_context_of_its_own() {
  contract().section("in a context of its own");
  constexpr int n = 500;
  cuda(cuInit(0), "cuInit");
  CUcontext context;
  cuda(cuCtxCreate(&context, nullptr, 0, 0), "cuCtxCreate");
  CUdeviceptr at;
  cuda(cuMemAllocAsync(&at, n * sizeof(int), nullptr), "cuMemAllocAsync");
  for (int round = 0; round < 10; ++round) {
    std::vector<int> values(n, contract().rank == 0 ? round : -1);
    cuda(cuMemcpy(at, reinterpret_cast<CUdeviceptr>(values.data()), n * sizeof(int)), "cuMemcpy");
    cuda(cuStreamSynchronize(nullptr), "cuStreamSynchronize");
    MPI_Request request;
    if (contract().rank == 1)
      check_ok(MPI_Irecv(reinterpret_cast<void*>(at), n, MPI_INT, 0, tag, MPI_COMM_WORLD, &request), "its own context");
    PMPI_Barrier(MPI_COMM_WORLD);
    if (contract().rank == 0)
      check_ok(MPI_Send(reinterpret_cast<void*>(at), n, MPI_INT, 1, tag, MPI_COMM_WORLD), "its own context");
    if (contract().rank != 1) continue;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // for the other thread to be first
    check_ok(MPI_Wait(&request, MPI_STATUS_IGNORE), "its own context");
    cuda(cuMemcpy(reinterpret_cast<CUdeviceptr>(values.data()), at, n * sizeof(int)), "cuMemcpy");
    cuda(cuStreamSynchronize(nullptr), "cuStreamSynchronize");
    check(values == std::vector<int>(n, round), "its own context, the data");
  }
  cuda(cuMemFreeAsync(at, nullptr), "cuMemFreeAsync");
  cuda(cuCtxDestroy(context), "cuCtxDestroy");
}

// MPIs give the handle of a request that has ended to the next one, which is another kind of
// operation. In host memory, where it is fastest.
void handles_used_again() {
  contract().section("handles used again");
  constexpr int n = 1000, rounds = 2000;
  const int peer = contract().rank ^ 1;
  Region out(make::vector(n, 1, 2, MPI_INT), 1, "out"), in(make::vector(n, 1, 2, MPI_INT), 1, "in");
  for (int round = 0; round < rounds; ++round) {
    out.fill(unsigned(round));
    MPI_Request first, again;
    in.poison();
    MPI_Irecv(in.address, 1, in.type, peer, tag, MPI_COMM_WORLD, &first);
    MPI_Send(out.address, 1, out.type, peer, tag, MPI_COMM_WORLD);
    MPI_Wait(&first, MPI_STATUS_IGNORE);
    in.poison();
    MPI_Recv_init(in.address, 1, in.type, peer, tag, MPI_COMM_WORLD, &again);
    MPI_Start(&again);
    MPI_Send(out.address, 1, out.type, peer, tag, MPI_COMM_WORLD);
    MPI_Wait(&again, MPI_STATUS_IGNORE);
    check(in.packed() == out.packed(), "a persistent receive by a handle used again");
    MPI_Request_free(&again);
  }
}

void work(int thread, MPI_Comm comm) {
  const int peer = contract().rank ^ 1;
  cuda(cuCtxSetCurrent(devices().context[0]), "cuCtxSetCurrent");
  for (int round = 0; round < 30; ++round) {
    const std::string what = "threads and ours, way " + std::to_string(round % 5);
    const int n = round % 10 == 9 ? 60000 : 300 + 900 * (round % 4);
    Region out(make::vector(n, 1, 2, MPI_INT), 1, "out"), in(make::vector(n, 1, 3, MPI_INT), 1, "in");
    out.fill(unsigned(100 * thread + round + 7 * peer));
    const Bytes expected = out.packed();
    out.fill(unsigned(100 * thread + round + 7 * contract().rank));
    in.poison();
    Mirror from(out, Kind::device), to(in, round % 3 ? Kind::device : Kind::host);
    from.write();
    to.write();
    MPI_Request request[2];
    check_ok(MPI_Irecv(to.address(), 1, in.type, peer, tag, comm, &request[0]), what);
    check_ok(MPI_Isend(from.address(), 1, out.type, peer, tag, comm, &request[1]), what);
    int flag = 0, index = 0;
    switch (round % 5) {
      case 0: check_ok(MPI_Waitall(2, request, MPI_STATUSES_IGNORE), what); break;
      case 1:
        while (!flag) MPI_Testall(2, request, &flag, MPI_STATUSES_IGNORE);
        break;
      case 2:
        for (int k = 0; k < 2; ++k) check_ok(MPI_Waitany(2, request, &index, MPI_STATUS_IGNORE), what);
        break;
      case 3:
        while (!flag) MPI_Request_get_status(request[0], &flag, MPI_STATUS_IGNORE);
        to.read_back();
        in.expect(expected, what + ", by its status");
        check_ok(MPI_Waitall(2, request, MPI_STATUSES_IGNORE), what);
        break;
      default: {
        check_ok(MPI_Waitall(2, request, MPI_STATUSES_IGNORE), what);
        MPI_Request never;
        check_ok(MPI_Irecv(to.address(), 1, in.type, peer, tag + 1, comm, &never), what + ", cancelled");
        check_ok(MPI_Cancel(&never), what + ", cancelled");
        check_ok(MPI_Wait(&never, MPI_STATUS_IGNORE), what + ", cancelled");
      }
    }
    to.read_back();
    in.expect(expected, what);
  }
}

CONTRACT_PROGRAM(progress) {
  Contract contract("gpu_progress", &argc, &argv, MPI_THREAD_MULTIPLE);
  if (contract.provided < MPI_THREAD_MULTIPLE || contract.ranks != 2) {
    contract.skip("needs MPI_THREAD_MULTIPLE and two ranks");
    return contract.finish();
  }
  in_a_context_of_its_own();
  devices();
  handles_used_again();
  without_a_call();
  contract.section("threads and ours");
  constexpr int threads = 3;
  std::vector<std::thread> all;
  std::vector<MPI_Comm> comms(threads);
  for (auto& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int i = 0; i < threads; ++i) all.emplace_back(work, i, comms[i]);
  for (auto& thread : all) thread.join();
  for (auto& comm : comms) MPI_Comm_free(&comm);
  return contract.finish();
}

}  // namespace gpu_progress_contract
