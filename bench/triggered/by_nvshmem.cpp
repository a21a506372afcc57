#include "by_nvshmem.hpp"

#include <dlfcn.h>

#include <stdexcept>

#include "nvshmem_library.hpp"

namespace triggered {

using namespace bench;

namespace {

void well(int code, const char* what) {
  if (code) throw std::runtime_error("NVSHMEM: " + std::string(what) + " gave " + std::to_string(code));
}

/// NVSHMEM, from its start to its end.
class Nvshmem {
 public:
  explicit Nvshmem(const std::string& library) {
    void* const opened = dlopen(library.c_str(), RTLD_NOW);
    if (!opened) throw std::runtime_error(dlerror());
    calls_ = static_cast<const NvshmemLibrary*>(dlsym(opened, "bench_nvshmem"));
    if (!calls_) throw std::runtime_error(library + " has no bench_nvshmem: it is not made of nvshmem.cu");
    std::vector<char> id(calls_->id_size());
    if (rank == 0) well(calls_->make_id(id.data()), "nvshmemx_get_uniqueid");
    MPI_Bcast(id.data(), static_cast<int>(id.size()), MPI_BYTE, 0, MPI_COMM_WORLD);
    well(calls_->start(rank, ranks, id.data()), "nvshmemx_init_attr");
  }
  ~Nvshmem() { calls_->end(); }
  Nvshmem(const Nvshmem&) = delete;
  Nvshmem& operator=(const Nvshmem&) = delete;
  const NvshmemLibrary* operator->() const { return calls_; }

 private:
  const NvshmemLibrary* calls_ = nullptr;
};

/// Memory that both ranks reach.
class Symmetric {
 public:
  Symmetric(const Nvshmem& nvshmem, std::size_t bytes) : nvshmem_(nvshmem), memory_(nvshmem->allocate(bytes)) {
    if (!memory_) throw std::runtime_error("NVSHMEM: no symmetric memory");
  }
  ~Symmetric() { nvshmem_->release(memory_); }
  Symmetric(const Symmetric&) = delete;
  Symmetric& operator=(const Symmetric&) = delete;
  CUdeviceptr address() const { return reinterpret_cast<CUdeviceptr>(memory_); }

 private:
  const Nvshmem& nvshmem_;
  void* const memory_;
};

void run_shape(const Nvshmem& nvshmem, const Shape& shape, int rounds) {
  constexpr int legs_each = 20, legs_of_a_kernel = 200;
  const Symmetric memory(nvshmem, Legs::bytes_of_in(shape));
  const Legs legs(shape, memory.address());
  NvshmemTrips trips{
      legs.in(), legs.out(), legs.flag(),     static_cast<std::size_t>(shape.blocks) * shape.block, 0, Legs::other(),
      rank,      ranks == 1, legs_of_a_kernel};
  const auto legs_by_stream = [&] {
    for (int i = 0; i < legs_each; ++i) {
      ++trips.epoch;
      if (Legs::sends(i % 2)) well(nvshmem->put(trips, stream), "a put on a stream");
      if (Legs::receives(i % 2)) well(nvshmem->wait(trips, stream), "a wait on a stream");
    }
  };
  measure(legs, "NVSHMEM, stream", "", rounds, legs_each, [&] {
    legs_by_stream();
    BENCH_CU(cuStreamSynchronize, stream);
  });
  measure(legs, "NVSHMEM, kernel", "", rounds, legs_of_a_kernel, [&] {
    well(nvshmem->launch_trips(trips, stream), "a kernel");
    trips.epoch += legs_of_a_kernel;
    BENCH_CU(cuStreamSynchronize, stream);
  });
}

}  // namespace

void trips_by_nvshmem(const std::string& library, const std::vector<Shape>& shapes, int rounds) {
  const Nvshmem nvshmem(library);
  for (const auto& shape : shapes)
    if (shape.block == shape.stride) run_shape(nvshmem, shape, rounds);
}

}  // namespace triggered
