#include <mpi.h>

#include "cuda_aware/exchange.hpp"
#include "cuda_aware/gpu.hpp"

namespace bench {

std::unique_ptr<Exchange> Nccl::exchange(Operation operation, const Buffers& buffers, const Window& window) {
  class NcclExchange final : public Exchange {
   public:
    NcclExchange(Operation o, int r, const Buffers& b, const Window& w, const NcclComm& comm)
        : Exchange(o, r, b, w), nccl_(comm) {}

    void run() override {
      if (operation == Operation::latency) {
        if (rank == 0) send(0);
        receive(0);
        stream_.wait();
        if (rank == 1) send(0);
      } else {
        nccl_.group_start();
        for (int k = 0; k < window.length; ++k) {
          if (sends()) send(k);
          if (receives()) receive(k);
        }
        nccl_.group_end();
      }
      stream_.wait();
      if (operation == Operation::one_way) answer();
    }

   private:
    void send(int k) { nccl_.send(buffers.mpi_send(window, k), window.shape.bytes, 1 - rank, stream_.get()); }
    void receive(int k) { nccl_.recv(buffers.mpi_recv(window, k), window.shape.bytes, 1 - rank, stream_.get()); }
    /// The answer goes by MPI from host memory, as an application would do it.
    void answer() {
      char byte = 0;
      if (rank == 1)
        MPI_Send(&byte, 1, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
      else
        MPI_Recv(&byte, 1, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    const NcclComm& nccl_;
    Stream stream_;
  };
  return std::make_unique<NcclExchange>(operation, rank_, buffers, window, comm_);
}

}  // namespace bench
