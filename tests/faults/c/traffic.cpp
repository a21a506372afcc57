// Random traffic whose bytes are all checked, for tests of faults and for long runs.
//
//   traffic STEP ROUNDS [SECONDS]
//
// STEP names what is exchanged: tickets, short, broadcast, ring, channels, finalize, or all; with
// device memory also streams (which start an exchange) or match (likewise, and each round makes the
// exchange anew). Ends after so many rounds or seconds. Rank 0 prints `traffic: ROUNDS rounds` at
// the end, and the resident memory of all ranks from time to time. A wrong byte prints WRONG and
// ends the rank.
//
// FAULT_RANK and FAULT_HOW make one rank suffer FAULT_AFTER microseconds after the round FAULT_AT
// has begun: `kill` ends it, `launcher` ends the launcher, and `stop` stops the rank for a second.
// If FAULT_CALL is set, gdb attaches to the rank instead, and FAULT_SCRIPT lets it suffer.
#include <mpi.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#ifdef CONTRACT_GPU
#include "device/cuda_driver_api.h"
#include "dunnage.h"
#endif

namespace {

using Clock = std::chrono::steady_clock;

int rank = 0, ranks = 1;

const char* variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value ? value : otherwise;
}

[[noreturn]] void wrong(const char* what, long round) {
  std::fprintf(stderr, "WRONG rank %d: %s in round %ld\n", rank, what, round);
  std::_Exit(9);
}

/// What rank 0 of these processes was started by, directly or not, below the test's own process.
pid_t launcher() {
  const auto test = static_cast<pid_t>(std::atol(variable("FAULT_PARENT", "0")));
  for (pid_t process = getppid(); process > 1;) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string text((std::istreambuf_iterator<char>(file)), {});
    const auto end = text.rfind(')');
    if (end == text.npos) return 0;
    const auto parent = static_cast<pid_t>(std::atol(text.c_str() + end + 4));
    if (parent == test) return process;
    process = parent;
  }
  return 0;
}

/// The fault that this rank suffers. A process of its own does what is to be done to this rank: it
/// is made before MPI_Init, and waits until it is told the time.
class Fault {
 public:
  Fault() {
    if (std::getenv("FAULT_HOW") == nullptr) return;
    if (pipe(pipe_) != 0) std::abort();
    const auto victim = getpid(), starter = launcher();
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    helper_ = fork();
    if (helper_ == 0) {
      close(pipe_[1]);
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (at_call_) attach(victim);
      wait_and_act(victim, starter);
      std::_Exit(0);
    }
    close(pipe_[0]);
  }
  /// A round begins.
  void round(long number) {
    if (pipe_[1] < 0 || rank != std::atoi(variable("FAULT_RANK", "0"))) return;
    if (number != std::atol(variable("FAULT_AT", "0"))) return;
    if (write(pipe_[1], "x", 1) != 1) std::abort();
    while (at_call_ && !is_traced() && waitpid(helper_, nullptr, WNOHANG) == 0) usleep(1000);
  }

 private:
  static bool is_traced() {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);)
      if (line.rfind("TracerPid:", 0) == 0) return std::atol(line.c_str() + line.find(':') + 1) != 0;
    return false;
  }
  void attach(pid_t victim) const {
    char ignored;
    if (read(pipe_[0], &ignored, 1) != 1) std::_Exit(0);
    unsetenv("LD_PRELOAD");
    execlp("gdb", "gdb", "-nx", "-batch", "-iex", "set auto-solib-add off", "-iex", "set debuginfod enabled off", "-p",
           std::to_string(victim).c_str(), "-x", variable("FAULT_SCRIPT", ""), static_cast<char*>(nullptr));
    std::abort();
  }
  void wait_and_act(pid_t victim, pid_t starter) const {
    char ignored;
    if (read(pipe_[0], &ignored, 1) != 1) return;
    const auto end = Clock::now() + std::chrono::microseconds(std::atol(variable("FAULT_AFTER", "0")));
    while (Clock::now() < end) {
    }
    const std::string how = variable("FAULT_HOW", "kill");
    if (how == "launcher") {
      kill(starter, SIGKILL);
    } else if (how == "stop") {
      kill(victim, SIGSTOP);
      sleep(1);
      kill(victim, SIGCONT);
    } else {
      kill(victim, SIGKILL);
    }
  }
  const bool at_call_ = std::getenv("FAULT_CALL") != nullptr;
  pid_t helper_ = -1;
  int pipe_[2] = {-1, -1};
};

/// Memory in the host, or in a device for programs that are built for one.
class Memory {
 public:
  explicit Memory(std::size_t bytes) : host_(bytes) {
#ifdef CONTRACT_GPU
    if (cuMemAlloc(&device_, bytes) != CUDA_SUCCESS) std::abort();
#endif
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
#ifdef CONTRACT_GPU
  ~Memory() { cuMemFree(device_); }
  void* data() { return reinterpret_cast<void*>(device_); }
  /// A copy from pageable memory may return before the device has the data.
  void write() {
    cuMemcpyHtoD(device_, host_.data(), host_.size());
    cuCtxSynchronize();
  }
  void read() { cuMemcpyDtoH(host_.data(), device_, host_.size()); }

 private:
  CUdeviceptr device_ = 0;

 public:
#else
  ~Memory() = default;
  void* data() { return host_.data(); }
  void write() {}
  void read() {}
#endif
  /// Fills all bytes by a number, or by 0 with what no message may touch.
  void fill(unsigned seed) {
    for (std::size_t i = 0; i < host_.size(); ++i) host_[i] = byte(seed, i);
    write();
  }
  static unsigned char byte(unsigned seed, std::size_t i) {
    return seed == 0 ? 0xA5 : static_cast<unsigned char>(seed * 37 + i * 11 + i / 251);
  }
  /// Whether blocks of `length` bytes at distances of `stride` are those of `seed`, and all else is
  /// untouched.
  bool has(unsigned seed, std::size_t length, std::size_t stride) {
    read();
    for (std::size_t i = 0; i < host_.size(); ++i)
      if (host_[i] != byte(i % stride < length ? seed : 0, i)) return false;
    return true;
  }

 private:
  std::vector<unsigned char> host_;
};

/// A strided type of about so many bytes. It is made for one round, or for a whole run.
struct Strided {
  Strided(int blocks, int length, int stride) : length(std::size_t(length)), stride(std::size_t(stride)) {
    MPI_Type_vector(blocks, length, stride, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    span = std::size_t(blocks - 1) * this->stride + this->length;
  }
  Strided(const Strided&) = delete;
  Strided& operator=(const Strided&) = delete;
  ~Strided() { MPI_Type_free(&type); }
  std::size_t length, stride, span = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

#ifdef CONTRACT_GPU
/// Every rank sends to the next one, by a stream.
class StreamRing {
 public:
  StreamRing() : next_((rank + 1) % ranks), previous_((rank + ranks - 1) % ranks) {
    cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING);
    MPI_Request requests[2];
    MPI_Recv_init(in_.data(), 1, type_.type, previous_, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(out_.data(), 1, type_.type, next_, 5, MPI_COMM_WORLD, &requests[1]);
    if (DNG_Match(2, requests, &exchange_) || DNG_Queue_create(stream_, &queue_)) std::abort();
  }
  StreamRing(const StreamRing&) = delete;
  StreamRing& operator=(const StreamRing&) = delete;
  ~StreamRing() {
    DNG_Exchange_free(&exchange_);
    DNG_Queue_free(&queue_);
    cuStreamDestroy(stream_);
    MPI_Barrier(MPI_COMM_WORLD);  // others may still read
  }
  template <class Seed>
  void round(long number, Seed seed) {
    out_.fill(seed(rank));
    in_.fill(0);
    if (DNG_Start_enqueue(exchange_, queue_) || DNG_Wait_enqueue(exchange_, queue_)) std::abort();
    cuStreamSynchronize(stream_);
    if (!in_.has(seed(previous_), type_.length, type_.stride)) wrong("message by a stream", number);
  }

 private:
  const int next_, previous_;
  const Strided type_{40, 512, 768};
  Memory out_{type_.span}, in_{type_.span};
  CUstream stream_{};
  DNG_Exchange exchange_ = DNG_EXCHANGE_NULL;
  DNG_Queue queue_ = DNG_QUEUE_NULL;
};
#endif

class Traffic {
 public:
  explicit Traffic(unsigned seed) : random_(seed) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    const int size = ranks, periodic = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring_);
  }
  void end() {
    MPI_Comm_free(&ring_);
    MPI_Comm_free(&comm_);
  }
  void round(const std::string& step, long number) {
    number_ = number;
    if (step == "all") {
      static const char* const steps[] = {"tickets", "short", "broadcast", "ring", "communicators"};
      return round(steps[pick(0, 4)], number);
    }
    if (step == "tickets") return exchange({pick(200, 400), 512, 768}, comm_);
    if (step == "short") return exchange({pick(1, 40), 16, 24}, comm_);
    if (step == "broadcast") return broadcast();
    if (step == "ring") return neighbours();
    if (step == "channels") return exchange(kept_, comm_);
    if (step == "finalize") return late();
#ifdef CONTRACT_GPU
    if (step == "match") streams_ = nullptr;
    if (step == "match" || step == "streams") return by_streams();
#endif
    communicators();
  }

 private:
  int pick(int from, int to) { return std::uniform_int_distribution<int>(from, to)(random_); }
  unsigned seed(int of) const { return 1 + unsigned(of) * 101 + unsigned(number_ % 1000); }

  /// Every rank sends to the next one, nonblocking or by one call.
  void exchange(const Strided& type, MPI_Comm comm) {
    Memory out(type.span), in(type.span);
    out.fill(seed(rank));
    in.fill(0);
    const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
    if (number_ % 2) {
      MPI_Sendrecv(out.data(), 1, type.type, next, 3, in.data(), 1, type.type, previous, 3, comm, MPI_STATUS_IGNORE);
    } else {
      MPI_Request requests[2];
      MPI_Irecv(in.data(), 1, type.type, previous, 3, comm, &requests[0]);
      MPI_Isend(out.data(), 1, type.type, next, 3, comm, &requests[1]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    if (!in.has(seed(previous), type.length, type.stride)) wrong("message", number_);
  }
  void broadcast() {
    const Strided type(pick(1, 200), 512, 768);
    const int root = int(number_ % ranks);
    Memory data(type.span);
    data.fill(rank == root ? seed(root) : 0);
    MPI_Bcast(data.data(), 1, type.type, root, comm_);
    if (rank != root && !data.has(seed(root), type.length, type.stride)) wrong("broadcast", number_);
  }
  void neighbours() {
    const Strided type(pick(1, 40), 64, 96);
    Memory out(type.span), left(type.span), right(type.span);
    out.fill(seed(rank));
    left.fill(0);
    right.fill(0);
    const auto address = [](Memory& memory) {
      MPI_Aint at;
      MPI_Get_address(memory.data(), &at);
      return at;
    };
    const int counts[] = {1, 1};
    const MPI_Aint from[] = {address(out), address(out)}, to[] = {address(left), address(right)};
    const MPI_Datatype types[] = {type.type, type.type};
    MPI_Neighbor_alltoallw(MPI_BOTTOM, counts, from, types, MPI_BOTTOM, counts, to, types, ring_);
    if (!left.has(seed((rank + ranks - 1) % ranks), type.length, type.stride) ||
        !right.has(seed((rank + 1) % ranks), type.length, type.stride))
      wrong("neighbours", number_);
  }
  void communicators() {
    MPI_Comm fresh;
    MPI_Comm_dup(MPI_COMM_WORLD, &fresh);
    exchange({pick(1, 300), 512, 768}, fresh);
    MPI_Comm_free(&fresh);
  }
#ifdef CONTRACT_GPU
  void by_streams() {
    if (!streams_) streams_ = std::make_unique<StreamRing>();
    streams_->round(number_, [&](int of) { return seed(of); });
  }
#endif
  /// Rank 1 receives late, so that what rank 0 sends is under way when rank 0 comes to
  /// MPI_Finalize.
  void late() {
    if (rank > 1 || ranks < 2) return;
    static const Strided& type = *new Strided(300, 512, 768);
    static Memory& memory = *new Memory(type.span);
    if (rank == 0) {
      memory.fill(seed(0));
      MPI_Send(memory.data(), 1, type.type, 1, 4, comm_);
    } else {
      usleep(20000);
      memory.fill(0);
      MPI_Recv(memory.data(), 1, type.type, 0, 4, comm_, MPI_STATUS_IGNORE);
      if (!memory.has(seed(0), type.length, type.stride)) wrong("late message", number_);
    }
  }

  std::mt19937 random_;
  MPI_Comm comm_ = MPI_COMM_NULL, ring_ = MPI_COMM_NULL;
  const Strided kept_{100, 512, 768};
#ifdef CONTRACT_GPU
  std::unique_ptr<StreamRing> streams_;
#endif
  long number_ = 0;
};

/// Resident memory but for files, in KiB.
long resident() {
  std::ifstream file("/proc/self/status");
  long sum = 0;
  for (std::string line; std::getline(file, line);)
    if (line.rfind("RssAnon:", 0) == 0 || line.rfind("RssShmem:", 0) == 0)
      sum += std::atol(line.c_str() + line.find(':') + 1);
  return sum;
}

void tell_memory(long round) {
  const long mine = resident();
  std::vector<long> all(static_cast<std::size_t>(ranks));
  MPI_Gather(&mine, 1, MPI_LONG, all.data(), 1, MPI_LONG, 0, MPI_COMM_WORLD);
  if (rank != 0) return;
  std::printf("memory after %ld rounds, KiB:", round);
  for (const long one : all) std::printf(" %ld", one);
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  Fault fault;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
#ifdef CONTRACT_GPU
  CUcontext context;
  if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
      cuCtxSetCurrent(context) != CUDA_SUCCESS)
    std::abort();
#endif
  const std::string step = argc > 1 ? argv[1] : "all";
  const long rounds = argc > 2 ? std::atol(argv[2]) : 100;
  const double seconds = argc > 3 ? std::atof(argv[3]) : 1e9;
  const auto begin = Clock::now();
  auto* traffic = new Traffic(unsigned(std::atol(variable("TRAFFIC_SEED", "1"))));
  long done = 0;
  for (int enough = 0; !enough; ++done) {
    fault.round(done);
    traffic->round(step, done);
    for (const long power : {10000L, 30000L, 100000L, 300000L, 1000000L})
      if (done + 1 == power) tell_memory(power);
    enough = done + 1 >= rounds;
    if (seconds < 1e9 && done % 100 == 99) {  // all ranks end in one round
      const std::chrono::duration<double> spent = Clock::now() - begin;
      enough |= spent.count() >= seconds;
      MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
  }
  if (step != "finalize") {
    tell_memory(done);
    traffic->end();
  }
  delete traffic;
  if (rank == 0) std::printf("traffic: %ld rounds\n", done);
  std::fflush(stdout);
  MPI_Finalize();
  return 0;
}
