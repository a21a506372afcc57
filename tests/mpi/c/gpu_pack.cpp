// MPI_Pack, MPI_Unpack and MPI_Pack_size where buffers are in a GPU's memory: every kind of memory
// on either side, every type, errors, and what the program finds of its contexts afterwards.
// Crashes on an MPI that knows nothing of GPUs.
#include <dlfcn.h>

#include <chrono>
#include <thread>

#include "mirror.hpp"
#include "random_type.hpp"

namespace gpu_pack_contract {

const MPI_Comm comm = MPI_COMM_SELF;
constexpr unsigned char kPoison = Region::kPoison;

bool pack(Region& r, Kind user, Kind packed, int lead, const std::string& what) {
  Mirror from(r, user);
  r.fill(unsigned(lead + 1));
  from.write();
  const Bytes expected = r.packed();
  CudaMemory to(packed, std::size_t(lead + r.size() + 16));
  to.write(Bytes(to.size(), kPoison).data());
  int position = lead;
  check_ok(MPI_Pack(from.address(), r.count, r.type, to.data(), lead + r.size(), &position, comm), what);
  check_equal(position, lead + r.size(), what + ", position");
  const Bytes got = to.read();
  const auto differs = std::mismatch(expected.begin(), expected.end(), got.begin() + lead).first;
  check(differs == expected.end(), what + ", bytes",
        "first at " + std::to_string(differs - expected.begin()) + " of " + std::to_string(expected.size()));
  check(std::all_of(got.begin(), got.begin() + lead, [](auto b) { return b == kPoison; }) &&
            std::all_of(got.end() - 16, got.end(), [](auto b) { return b == kPoison; }),
        what + ", nothing written around it");
  return differs == expected.end();
}

void unpack(Region& r, Kind user, Kind packed, int lead, const std::string& what) {
  Bytes stream(std::size_t(r.size()));
  scramble(stream.data(), stream.size(), unsigned(lead + 3));
  Mirror to(r, user);
  r.poison();
  to.write();
  CudaMemory from(packed, std::size_t(lead + r.size() + 1));
  Bytes all(from.size());
  std::copy(stream.begin(), stream.end(), all.begin() + lead);
  from.write(all.data());
  int position = lead;
  check_ok(MPI_Unpack(from.data(), lead + r.size(), &position, to.address(), r.count, r.type, comm), what);
  check_equal(position, lead + r.size(), what + ", position");
  to.read_back();
  r.expect(stream, what + ", bytes");
}

bool both(Region& r, Kind user, Kind packed, int lead) {
  const std::string what = r.name + " from " + name_of(user) + " to " + name_of(packed) + " memory";
  contract().section(what);
  const bool right = pack(r, user, packed, lead, "pack " + what);
  if (!overlaps(r.map())) unpack(r, user, packed, lead, "unpack " + what);
  return right;
}

void every_type_and_memory() {
  for (const Sample& sample : samples()) {
    if (sample.absolute) continue;
    for (const Kind user : kinds())
      for (const Kind packed : kinds()) {
        if ((!on_gpu(user) && !on_gpu(packed)) || !there(user) || !there(packed)) continue;
        Region r(sample, 100, 2);
        both(r, user, packed, user == packed ? 5 : 0);
      }
    Region larger(sample, 3000, 1);
    both(larger, Kind::device, Kind::device, 0);
  }
  // More than one piece of staging memory.
  for (const Sample& sample : all_samples()) {
    const std::string name = sample.name;
    if (name != "vector" && name != "struct" && name != "indexed" && name != "contiguous") continue;
    for (const auto& [user, packed] : {std::pair{Kind::device, Kind::host},
                                       {Kind::host, Kind::device},
                                       {Kind::device, Kind::other_device},
                                       {Kind::managed, Kind::host}}) {
      if (!there(packed)) continue;
      Region r(sample, 20000, 2);
      both(r, user, packed, 3);
    }
  }
}

void predefined_types() {
  for (const auto& [type, name] :
       {std::pair{MPI_DOUBLE, "double"}, {MPI_BYTE, "byte"}, {MPI_DOUBLE_INT, "double_int"}, {MPI_INT, "int"}}) {
    MPI_Datatype copy;
    MPI_Type_dup(type, &copy);
    Region r(copy, 37, name);
    both(r, Kind::device, Kind::device, 1);
    both(r, Kind::device, Kind::host, 0);
  }
}

void random_types(double seconds) {
  unsigned long seed =
      static_cast<unsigned long>(std::chrono::steady_clock::now().time_since_epoch().count() % 100000000);
  if (const char* given = std::getenv("CONTRACT_SEED")) seed = std::strtoul(given, nullptr, 10);
  std::printf("seed %lu (CONTRACT_SEED)\n", seed);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (; std::chrono::steady_clock::now() < end; ++seed) {
    RandomType random(seed, false, true);
    const int count = random.pick(1, 3);
    MPI_Datatype type = random.make(random.pick(1, 4));
    const std::string about = describe(type);
    Region r(type, count, "random type " + std::to_string(seed));
    if (r.quirky()) continue;  // the MPI may read outside of it, and what it finds there is anybody's
    const auto pick = [&] {
      for (;;)
        if (const Kind kind = kinds()[std::size_t(random.pick(0, int(kinds().size()) - 1))]; there(kind)) return kind;
    };
    Kind user = pick(), packed = pick();
    if (!on_gpu(user) && !on_gpu(packed)) user = Kind::device;
    if (!both(r, user, packed, random.pick(0, 17))) std::fprintf(stderr, "%d of %s\n", r.count, about.c_str());
  }
}

// Parts of one buffer in different memories, by absolute addresses.
void mixed_memories() {
  contract().section("parts in different memories");
  CudaMemory device(Kind::device, 4096), packed(Kind::device, 4096);
  Bytes on_device(4096), on_host(4096);
  scramble(on_device.data(), 4096, 1);
  scramble(on_host.data(), 4096, 2);
  device.write(on_device.data());
  packed.write(Bytes(4096, kPoison).data());
  MPI_Datatype type = make::owned(make::vector(50, 1, 3, MPI_DOUBLE), [&](MPI_Datatype v) {
    return make::structure(
        {1, 1, 1}, {MPI_Aint(on_host.data()), MPI_Aint(device.data()), MPI_Aint(on_host.data() + 2000)}, {v, v, v});
  });
  MPI_Type_commit(&type);
  Bytes expected;
  for (const auto* from : {on_host.data(), on_device.data(), on_host.data() + 2000})
    for (int i = 0; i < 50; ++i) expected.insert(expected.end(), from + 24 * i, from + 24 * i + 8);
  int position = 0;
  check_ok(MPI_Pack(MPI_BOTTOM, 1, type, packed.data(), 4096, &position, comm), "pack parts in different memories");
  check_equal(position, 1200, "pack parts in different memories, position");
  const Bytes got = packed.read();
  check(std::equal(expected.begin(), expected.end(), got.begin()), "pack parts in different memories, bytes");
  position = 0;
  Bytes in_host(4096);
  check_ok(MPI_Pack(MPI_BOTTOM, 1, type, in_host.data(), 4096, &position, comm),
           "pack parts in different memories into host memory");
  check(std::equal(expected.begin(), expected.end(), in_host.begin()),
        "pack parts in different memories into host memory, bytes");
  device.write(Bytes(4096, kPoison).data());
  on_host.assign(4096, kPoison);
  position = 0;
  check_ok(MPI_Unpack(packed.data(), 1200, &position, MPI_BOTTOM, 1, type, comm), "unpack parts in different memories");
  const Bytes back = device.read();
  bool right = true;
  for (int i = 0; i < 50; ++i)
    right = right && !std::memcmp(&on_host[std::size_t(24 * i)], &expected[std::size_t(8 * i)], 8) &&
            !std::memcmp(&back[std::size_t(24 * i)], &expected[std::size_t(400 + 8 * i)], 8) &&
            !std::memcmp(&on_host[std::size_t(2000 + 24 * i)], &expected[std::size_t(800 + 8 * i)], 8);
  check(right, "unpack parts in different memories, bytes");
  MPI_Type_free(&type);
}

void large_counts() {
#if MPI_VERSION >= 4
  contract().section("large counts");
  Region r(make::vector(70, 2, 5, MPI_INT), 3, "vector");
  Mirror from(r, Kind::device);
  r.fill(9);
  from.write();
  CudaMemory to(Kind::device, 4096);
  to.write(Bytes(4096, kPoison).data());
  MPI_Count position = 0, room = 0;
  check_ok(MPI_Pack_size_c(3, r.type, comm, &room), "pack size, large counts");
  check_equal(room, r.size(), "pack size, large counts, bytes");
  check_ok(MPI_Pack_c(from.address(), 3, r.type, to.data(), 4096, &position, comm), "pack, large counts");
  check_equal(position, r.size(), "pack, large counts, position");
  const Bytes expected = r.packed(), got = to.read();
  check(std::equal(expected.begin(), expected.end(), got.begin()), "pack, large counts, bytes");
#endif
}

// What the program had current and under way is as it was.
void left_as_found() {
  contract().section("contexts and captures");
  Region r(make::vector(100, 1, 2, MPI_DOUBLE), 1, "vector");
  const auto still = [&](CUcontext expected, const std::string& what) {
    CUcontext now = nullptr;
    cuda(cuCtxGetCurrent(&now), "cuCtxGetCurrent");
    check(now == expected, what + ": the current context is as before");
  };
  auto* const first = devices().context[0];
  both(r, Kind::device, Kind::host, 0);
  still(first, "device");
  if (devices().count > 1) {
    both(r, Kind::other_device, Kind::other_device, 0);
    still(first, "other device");
  }
  Mirror from(r, Kind::device);
  r.fill(5);
  from.write();
  const Bytes expected = r.packed();
  std::thread([&] {  // a thread without a context
    Bytes got(expected.size());
    int position = 0;
    if (contract().provided == MPI_THREAD_MULTIPLE) {
      check_ok(MPI_Pack(from.address(), 1, r.type, got.data(), int(got.size()), &position, comm),
               "pack without a current context");
      check(got == expected, "pack without a current context, bytes");
      CUcontext now = nullptr;
      cuCtxGetCurrent(&now);
      check(now == nullptr, "no context is current afterwards");
    }
  })
      .join();

  CUstream stream;
  cuda(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  for (const auto mode :
       {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_RELAXED}) {
    cuda(cuStreamBeginCapture(stream, mode), "cuStreamBeginCapture");
    Bytes got(expected.size());
    int position = 0;
    check_ok(MPI_Pack(from.address(), 1, r.type, got.data(), int(got.size()), &position, comm),
             "pack during a capture");
    check(got == expected, "pack during a capture, bytes");
    CUgraph graph = nullptr;
    check_equal(cuStreamEndCapture(stream, &graph), CUDA_SUCCESS, "the capture is as before");
    if (graph) cuGraphDestroy(graph);
  }
  cuStreamDestroy(stream);
}

// Frees and allocates the same addresses again and again, with a different datatype each time.
void reused_addresses() {
  contract().section("reused addresses");
  for (int i = 0; i < 50; ++i) {
    Region r(make::indexed(
                 Ints(std::size_t(2 + i), 3),
                 [&] {
                   Ints at;
                   for (int k = 0; k < 2 + i; ++k) at.push_back(5 * k + k % 3 * i);
                   return at;
                 }(),
                 MPI_FLOAT),
             1, "indexed " + std::to_string(i));
    if (overlaps(r.map())) continue;
    both(r, Kind::device, Kind::device, 0);
  }
}

void errors() {
  contract().section("errors");
  MPI_Datatype type = make::vector(100, 1, 2, MPI_DOUBLE);
  MPI_Type_commit(&type);
  CudaMemory user(Kind::device, 1592), small(Kind::device, 1000), packed(Kind::device, 800);
  int position = 0;
  check_equal(error_class(MPI_Pack(user.data(), 1, type, packed.data(), 799, &position, comm)), MPI_ERR_TRUNCATE,
              "a packed buffer that is too short");
  check_equal(position, 0, "a packed buffer that is too short, position");
  position = 0;
  position = 0;
  MPI_Datatype long_type = make::vector(2, 1, 1 << 26, MPI_DOUBLE);
  MPI_Type_commit(&long_type);
  const int code = MPI_Pack(small.data(), 1, long_type, packed.data(), 800, &position, comm);
  check_error(code, MPI_ERR_BUFFER, "data that reaches outside the memory");
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  check(std::strstr(text, "outside the device memory") != nullptr, "data that reaches outside the memory, text", text);
  MPI_Type_free(&long_type);

  // Memory that is no more: an error, and no crash.
  {
    auto gone = std::make_unique<CudaMemory>(Kind::device, 1592);
    gone->write(Bytes(1592).data());
    auto* address = gone->data();
    position = 0;
    check_ok(MPI_Pack(address, 1, type, packed.data(), 800, &position, comm), "memory that will be freed");
    gone.reset();
    Bytes host(800);
    position = 0;
    check_error(MPI_Pack(address, 1, type, host.data(), 800, &position, comm), MPI_ERR_BUFFER, "memory that was freed");
    position = 0;
    check_error(MPI_Unpack(host.data(), 800, &position, address, 1, type, comm), MPI_ERR_BUFFER,
                "memory that was freed, to unpack into");
  }

  // Failures that only the simulated device can produce.
  using Fail = void (*)(const char*, int, int, int);
  if (auto* fail = reinterpret_cast<Fail>(dlsym(RTLD_DEFAULT, "dunnageSimFail"))) {
    Bytes host(800);
    const auto expect = [&](const char* function, int failure, int cls, void* to, const std::string& what) {
      MPI_Datatype fresh =
          make::indexed({1, 2, 3}, {0, 5 + failure % 7, 90}, MPI_DOUBLE);  // whose tables are not there yet
      MPI_Type_commit(&fresh);
      fail(function, 0, failure, 0);
      position = 0;
      const int rc = MPI_Pack(user.data(), 1, fresh, to, 800, &position, comm);
      check_error(rc, cls, what);
      reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "dunnageSimFailClear"))();
      position = 0;
      check_ok(MPI_Pack(user.data(), 1, fresh, to, 800, &position, comm), what + ", and the next call works");
      MPI_Type_free(&fresh);
    };
    expect("cuMemAlloc", CUDA_ERROR_OUT_OF_MEMORY, MPI_ERR_NO_MEM, packed.data(), "out of device memory");
    expect("launch", CUDA_ERROR_LAUNCH_FAILED, MPI_ERR_OTHER, packed.data(), "a launch that fails");
    expect("cuStreamSynchronize", CUDA_ERROR_UNKNOWN, MPI_ERR_OTHER, packed.data(), "a wait that fails");
    // The context dies under a kernel: an error now, errors later, no crash.
    fail("kernel", 0, CUDA_ERROR_ILLEGAL_ADDRESS, 1);
    position = 0;
    check_error(MPI_Pack(user.data(), 1, type, packed.data(), 800, &position, comm), MPI_ERR_OTHER,
                "a kernel that fails");
    reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "dunnageSimFailClear"))();
    position = 0;
    check_error(MPI_Pack(user.data(), 1, type, packed.data(), 800, &position, comm), MPI_ERR_OTHER, "a dead context");
    MPI_Type_free(&type);
    cuDevicePrimaryCtxReset(0);
    cuda(cuDevicePrimaryCtxRetain(&devices().context[0], 0), "cuDevicePrimaryCtxRetain");
    cuda(cuCtxSetCurrent(devices().context[0]), "cuCtxSetCurrent");
    Region r(make::vector(100, 1, 2, MPI_DOUBLE), 1, "vector after a reset");
    both(r, Kind::device, Kind::device, 0);
    return;
  }
  MPI_Type_free(&type);
}

void several_threads() {
  if (contract().provided < MPI_THREAD_MULTIPLE) return contract().skip("no MPI_THREAD_MULTIPLE");
  contract().section("several threads");
  Region r(make::indexed({3, 1, 4}, {0, 7, 20}, MPI_DOUBLE), 200, "indexed");
  r.fill(3);
  const Bytes expected = r.packed();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      cuda(cuCtxSetCurrent(devices().context[0]), "cuCtxSetCurrent");
      Mirror from(r, Kind::device);
      from.write();
      for (int i = 0; i < 20; ++i) {
        CudaMemory to(i % 2 ? Kind::host : Kind::device, expected.size());
        int position = 0;
        check_ok(MPI_Pack(from.address(), r.count, r.type, to.data(), int(to.size()), &position, comm),
                 "pack in several threads");
        check(to.read() == expected, "pack in several threads, bytes", "thread " + std::to_string(t));
      }
    });
  for (auto& thread : threads) thread.join();
}

CONTRACT_PROGRAM(pack) {
  Contract c("gpu_pack", &argc, &argv, MPI_THREAD_MULTIPLE);
  const double seconds = argc > 1 ? std::atof(argv[1]) : 3;
  every_type_and_memory();
  predefined_types();
  mixed_memories();
  large_counts();
  left_as_found();
  reused_addresses();
  several_threads();
  random_types(seconds);
  errors();
  return c.finish();
}

}  // namespace gpu_pack_contract
