// Broadcasts of which one rank has a null pointer for a buffer. That rank is told, and all go on.
// Open MPI by itself crashes, so this program is run only if Dunnage does all broadcasts from the
// fourth on.
#include "samples.hpp"

namespace bcast_null_contract {

constexpr int n = 100000;

/// The error of a nonblocking broadcast, from whichever call tells it.
int nonblocking(void* buffer, int root) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int begun = MPI_Ibcast(buffer, n, MPI_DOUBLE, root, MPI_COMM_WORLD, &request);
  return begun != MPI_SUCCESS ? begun : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int blocking(void* buffer, int root) { return MPI_Bcast(buffer, n, MPI_DOUBLE, root, MPI_COMM_WORLD); }

template <class Broadcast>
void one_has_none(Broadcast&& broadcast, const std::string& name) {
  std::vector<double> data(n);
  for (int root = 0; root < contract().ranks; ++root)
    for (int who = 0; who < contract().ranks; ++who) {
      const auto what = name + ", root " + std::to_string(root) + ", no buffer on " + std::to_string(who);
      contract().section(what);
      data.assign(n, contract().rank == root ? 3.5 : -1);
      const int code = broadcast(contract().rank == who ? nullptr : data.data(), root);
      if (contract().rank == who)
        check_class(code, MPI_ERR_BUFFER, what);
      else if (who == root)
        check(code != MPI_SUCCESS, what + ", the others hear of it");
      else
        check_ok(code, what + ", the others");
      if (who != root && contract().rank != who) check(data == std::vector<double>(n, 3.5), what + ", the data");
      data.assign(n, contract().rank == root ? 7.5 : -1);
      check_ok(broadcast(data.data(), root), what + ", the next broadcast");
      check(data == std::vector<double>(n, 7.5), what + ", data of the next broadcast");
    }
}

/// With absolute addresses MPI_BOTTOM, a null pointer, is right.
template <class Broadcast>
void absolute(Broadcast&& broadcast, const std::string& name) {
  std::vector<double> data(n, contract().rank == 0 ? 2.5 : -1);
  MPI_Aint address;
  MPI_Get_address(data.data(), &address);
  MPI_Datatype type;
  MPI_Type_create_hindexed_block(1, n, &address, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  check_ok(broadcast(type), name + ", absolute addresses");
  check(data == std::vector<double>(n, 2.5), name + ", absolute addresses, the data");
  MPI_Type_free(&type);
}

CONTRACT_PROGRAM(bcast_null) {
  Contract c("bcast_null", &argc, &argv);
  std::vector<double> data(n);
  for (int i = 0; i < 4; ++i) check_ok(blocking(data.data(), 0), "the first ones");
  one_has_none(blocking, "Bcast");
  one_has_none(nonblocking, "Ibcast");
  absolute([](MPI_Datatype type) { return MPI_Bcast(MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD); }, "Bcast");
  absolute(
      [](MPI_Datatype type) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Ibcast(MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD, &request);
        return MPI_Wait(&request, MPI_STATUS_IGNORE);
      },
      "Ibcast");
  return c.finish();
}

}  // namespace bcast_null_contract
