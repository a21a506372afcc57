#include "cuda_aware/nccl_comm.hpp"

#include <dlfcn.h>
#include <mpi.h>

#include <array>
#include <stdexcept>

#include "cuda_aware/gpu.hpp"

namespace bench {
namespace {

/// Returns whether `well` is true on all ranks.
bool everywhere(bool well) {
  int mine = well, all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all != 0;
}

}  // namespace

struct NcclComm::Library {
  // Declarations of nccl.h, which need not be installed. NCCL has kept them since version 2.7.
  struct UniqueId {
    std::array<char, 128> bytes;
  };
  using Comm = struct ncclComm*;
  using Result = int;  // 0 means success
  static constexpr int type_int8 = 0, type_float64 = 8, sum = 0;

  void* handle = nullptr;
  Result (*get_unique_id)(UniqueId*) = nullptr;
  Result (*init_rank)(Comm*, int, UniqueId, int) = nullptr;
  Result (*destroy)(Comm) = nullptr;
  Result (*send)(const void*, std::size_t, int, int, Comm, CUstream) = nullptr;
  Result (*recv)(void*, std::size_t, int, int, Comm, CUstream) = nullptr;
  Result (*broadcast)(const void*, void*, std::size_t, int, int, Comm, CUstream) = nullptr;
  Result (*all_gather)(const void*, void*, std::size_t, int, Comm, CUstream) = nullptr;
  Result (*all_reduce)(const void*, void*, std::size_t, int, int, Comm, CUstream) = nullptr;
  Result (*reduce)(const void*, void*, std::size_t, int, int, int, Comm, CUstream) = nullptr;
  Result (*reduce_scatter)(const void*, void*, std::size_t, int, int, Comm, CUstream) = nullptr;
  Result (*group_start)() = nullptr;
  Result (*group_end)() = nullptr;
  const char* (*error_string)(Result) = nullptr;
  Comm comm = nullptr;

  template <class F>
  void look_up(F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(handle, name));
    if (!function) throw std::runtime_error(std::string("NCCL has no ") + name);
  }
  void check(Result result, const char* what) const {
    if (result != 0) throw std::runtime_error(std::string(what) + ": " + error_string(result));
  }
  void open(const std::string& path) {
    handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) throw std::runtime_error("cannot open " + path);
    look_up(get_unique_id, "ncclGetUniqueId");
    look_up(init_rank, "ncclCommInitRank");
    look_up(destroy, "ncclCommDestroy");
    look_up(send, "ncclSend");
    look_up(recv, "ncclRecv");
    look_up(broadcast, "ncclBroadcast");
    look_up(all_gather, "ncclAllGather");
    look_up(all_reduce, "ncclAllReduce");
    look_up(reduce, "ncclReduce");
    look_up(reduce_scatter, "ncclReduceScatter");
    look_up(group_start, "ncclGroupStart");
    look_up(group_end, "ncclGroupEnd");
    look_up(error_string, "ncclGetErrorString");
  }
};

NcclComm::NcclComm(const std::string& path, int rank, int ranks) : library_(std::make_unique<Library>()) {
  std::string why;
  const auto together = [&why](const auto& step) {
    try {
      step();
    } catch (const std::runtime_error& error) {
      why = error.what();
    }
    if (!everywhere(why.empty())) throw std::runtime_error(why.empty() ? "another rank cannot use NCCL" : why);
  };
  Library::UniqueId id{};
  together([&] {
    if (Gpu::count() < ranks) throw std::runtime_error("NCCL needs a GPU for each rank");
    library_->open(path);
    if (rank == 0) library_->check(library_->get_unique_id(&id), "ncclGetUniqueId");
  });
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  together([&] { library_->check(library_->init_rank(&library_->comm, ranks, id, rank), "ncclCommInitRank"); });
}

NcclComm::~NcclComm() {
  if (library_->comm) library_->destroy(library_->comm);
}

void NcclComm::send(const void* from, std::size_t bytes, int peer, CUstream stream) const {
  library_->check(library_->send(from, bytes, Library::type_int8, peer, library_->comm, stream), "ncclSend");
}
void NcclComm::recv(void* to, std::size_t bytes, int peer, CUstream stream) const {
  library_->check(library_->recv(to, bytes, Library::type_int8, peer, library_->comm, stream), "ncclRecv");
}
void NcclComm::broadcast(void* buffer, std::size_t bytes, int root, CUstream stream) const {
  library_->check(library_->broadcast(buffer, buffer, bytes, Library::type_int8, root, library_->comm, stream),
                  "ncclBroadcast");
}
void NcclComm::all_gather(const void* from, void* to, std::size_t bytes, CUstream stream) const {
  library_->check(library_->all_gather(from, to, bytes, Library::type_int8, library_->comm, stream), "ncclAllGather");
}
void NcclComm::all_reduce(const void* from, void* to, std::size_t count, CUstream stream) const {
  library_->check(library_->all_reduce(from, to, count, Library::type_float64, Library::sum, library_->comm, stream),
                  "ncclAllReduce");
}
void NcclComm::reduce(const void* from, void* to, std::size_t count, int root, CUstream stream) const {
  library_->check(library_->reduce(from, to, count, Library::type_float64, Library::sum, root, library_->comm, stream),
                  "ncclReduce");
}
void NcclComm::reduce_scatter(const void* from, void* to, std::size_t count, CUstream stream) const {
  library_->check(
      library_->reduce_scatter(from, to, count, Library::type_float64, Library::sum, library_->comm, stream),
      "ncclReduceScatter");
}
void NcclComm::group_start() const { library_->check(library_->group_start(), "ncclGroupStart"); }
void NcclComm::group_end() const { library_->check(library_->group_end(), "ncclGroupEnd"); }

}  // namespace bench
