#include "by_nvshmem.hpp"

#include <dlfcn.h>

#include <cstdio>

#include "nvshmem_library.hpp"

namespace triggered {

using namespace bench;

namespace {

/// The other rank may be waiting for this one, so an error ends the job.
void well(bool is_well, const char* what) {
  if (is_well) return;
  std::fprintf(stderr, "rank %d: NVSHMEM: %s failed\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 2);
}

/// NVSHMEM, from its start to its end.
class Nvshmem {
 public:
  explicit Nvshmem(const std::string& library) {
    void* const opened = dlopen(library.c_str(), RTLD_NOW);
    const char* const why = opened ? nullptr : dlerror();
    if (opened) calls_ = static_cast<const NvshmemLibrary*>(dlsym(opened, "bench_nvshmem"));
    objection_ = why ? why : calls_ ? "" : "the library has no bench_nvshmem";
    if (!everywhere(calls_ != nullptr)) return;
    std::vector<char> id(calls_->id_size());
    const bool made = rank != 0 || calls_->make_id(id.data()) == 0;
    MPI_Bcast(id.data(), static_cast<int>(id.size()), MPI_BYTE, 0, MPI_COMM_WORLD);
    objection_ = "nvshmemx_get_uniqueid failed";
    if (!everywhere(made)) return;
    objection_ = "nvshmemx_init_attr failed";
    there_ = everywhere(calls_->start(rank, ranks, id.data()) == 0);
  }
  ~Nvshmem() {
    if (there_) calls_->end();
  }
  Nvshmem(const Nvshmem&) = delete;
  Nvshmem& operator=(const Nvshmem&) = delete;
  const NvshmemLibrary* operator->() const { return calls_; }
  /// Whether all ranks have started it. If not, why this one has not.
  bool there() const { return there_; }
  const std::string& objection() const { return objection_; }

 private:
  static bool everywhere(bool here) {
    int mine = here, all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
  }
  const NvshmemLibrary* calls_ = nullptr;
  bool there_ = false;
  std::string objection_;
};

/// Memory that both ranks reach.
class Symmetric {
 public:
  Symmetric(const Nvshmem& nvshmem, std::size_t bytes) : nvshmem_(nvshmem), memory_(nvshmem->allocate(bytes)) {
    well(memory_, "nvshmem_malloc");
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
  measure(legs, "NVSHMEM, stream", "", rounds, legs_each, [&] {
    for (int i = 0; i < legs_each; ++i) {
      ++trips.epoch;
      if (Legs::sends(i % 2)) well(nvshmem->put(trips, stream) == 0, "a put on a stream");
      if (Legs::receives(i % 2)) well(nvshmem->wait(trips, stream) == 0, "a wait on a stream");
    }
    BENCH_CU(cuStreamSynchronize, stream);
  });
  measure(legs, "NVSHMEM, kernel", "", rounds, legs_of_a_kernel, [&] {
    well(nvshmem->launch_trips(trips, stream) == 0, "a kernel");
    trips.epoch += legs_of_a_kernel;
    BENCH_CU(cuStreamSynchronize, stream);
  });
}

}  // namespace

void trips_by_nvshmem(const std::string& library, const std::vector<Shape>& shapes, int rounds) {
  const Nvshmem nvshmem(library);
  if (!nvshmem.there()) return skip("NVSHMEM", nvshmem.objection());
  for (const auto& shape : shapes)
    if (shape.block == shape.stride) run_shape(nvshmem, shape, rounds);
}

}  // namespace triggered
