#include "mpi/neighbours/own_copies.hpp"

#include "mpi/message/copy_within.hpp"
#include "mpi/process/failure.hpp"

namespace dunnage::mpi {

int copy_own(const EdgeBuffers& from, const EdgeBuffers& to) {
  int first = MPI_SUCCESS;
  for (std::size_t i = 0; i < from.count() && i < to.count(); ++i) {
    const auto bytes = from.bytes(i);
    if (bytes == 0) continue;
    const memory::Landing landing{to[i]};
    const int code = bytes > to.bytes(i) ? MPI_ERR_TRUNCATE : guarded([&] {
      landing.restart();
      copy_by_host(from[i], landing, bytes);
      landing.finish();
    });
    if (first == MPI_SUCCESS) first = code;
  }
  return first;
}

}  // namespace dunnage::mpi
