#include <dlfcn.h>
#include <mpi.h>

#include <array>
#include <stdexcept>

#include "cuda_aware/exchange.hpp"
#include "cuda_aware/gpu.hpp"

namespace bench {
namespace {

// Of nccl.h, which need not be there; NCCL has kept these since version 2.7.
struct UniqueId {
  std::array<char, 128> bytes;
};
using Comm = struct ncclComm*;
using Result = int;  // 0: success
constexpr int type_int8 = 0;

}  // namespace

struct Nccl::Library {
  void* handle = nullptr;
  Result (*get_unique_id)(UniqueId*) = nullptr;
  Result (*init_rank)(Comm*, int, UniqueId, int) = nullptr;
  Result (*destroy)(Comm) = nullptr;
  Result (*send)(const void*, std::size_t, int, int, Comm, CUstream) = nullptr;
  Result (*recv)(void*, std::size_t, int, int, Comm, CUstream) = nullptr;
  Result (*group_start)() = nullptr;
  Result (*group_end)() = nullptr;
  const char* (*error_string)(Result) = nullptr;
  Comm comm = nullptr;
  Stream stream;

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
    look_up(group_start, "ncclGroupStart");
    look_up(group_end, "ncclGroupEnd");
    look_up(error_string, "ncclGetErrorString");
  }
};

namespace {

/// Whether all is well on both ranks.
bool both(bool well) {
  int mine = well, all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all != 0;
}

}  // namespace

Nccl::Nccl(const std::string& path, int rank) : library_(std::make_unique<Library>()), rank_(rank) {
  std::string why;
  const auto together = [&why](const auto& step) {
    try {
      step();
    } catch (const std::runtime_error& error) {
      why = error.what();
    }
    if (!both(why.empty())) throw std::runtime_error(why.empty() ? "the other rank cannot use NCCL" : why);
  };
  UniqueId id{};
  together([&] {
    if (Gpu::count() < 2) throw std::runtime_error("NCCL wants a GPU for each rank");
    library_->open(path);
    if (rank == 0) library_->check(library_->get_unique_id(&id), "ncclGetUniqueId");
  });
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  together([&] { library_->check(library_->init_rank(&library_->comm, 2, id, rank), "ncclCommInitRank"); });
}

Nccl::~Nccl() {
  if (library_->comm) library_->destroy(library_->comm);
}

std::unique_ptr<Exchange> Nccl::exchange(Operation operation, const Buffers& buffers, const Window& window) {
  class NcclExchange final : public Exchange {
   public:
    NcclExchange(Operation o, int r, const Buffers& b, const Window& w, const Library& l) : Exchange(o, r, b, w), nccl_(l) {}

    void run() override {
      if (operation == Operation::latency) {
        if (rank == 0) send(0);
        receive(0);
        nccl_.stream.wait();
        if (rank == 1) send(0);
      } else {
        nccl_.check(nccl_.group_start(), "ncclGroupStart");
        for (int k = 0; k < window.length; ++k) {
          if (sends()) send(k);
          if (receives()) receive(k);
        }
        nccl_.check(nccl_.group_end(), "ncclGroupEnd");
      }
      nccl_.stream.wait();
      if (operation == Operation::one_way) answer();
    }

   private:
    void send(int k) {
      nccl_.check(nccl_.send(buffers.mpi_send(window, k), window.shape.bytes, type_int8, 1 - rank, nccl_.comm, nccl_.stream.get()),
                  "ncclSend");
    }
    void receive(int k) {
      nccl_.check(nccl_.recv(buffers.mpi_recv(window, k), window.shape.bytes, type_int8, 1 - rank, nccl_.comm, nccl_.stream.get()),
                  "ncclRecv");
    }
    /// By MPI and from host memory: that is what an application would do.
    void answer() {
      char byte = 0;
      if (rank == 1)
        MPI_Send(&byte, 1, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
      else
        MPI_Recv(&byte, 1, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    const Library& nccl_;
  };
  return std::make_unique<NcclExchange>(operation, rank_, buffers, window, *library_);
}

}  // namespace bench
