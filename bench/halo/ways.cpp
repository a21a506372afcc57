#include "halo/exchange.hpp"

namespace bench::halo {

std::vector<Way> ways() {
  std::vector<Way> all = {
      {"direct", [](Domain& d, Mover& m, const Order&) { return make_direct(d, m); }},
      {"stream", [](Domain& d, Mover& m, const Order&) { return make_triggered(d, m, false); }},
      {"graph", [](Domain& d, Mover& m, const Order&) { return make_triggered(d, m, true); }},
      {"isend", [](Domain& d, Mover&, const Order& o) { return make_isend(d, o); }},
      {"persistent", [](Domain& d, Mover&, const Order& o) { return make_persistent(d, o); }},
      {"implicit", [](Domain& d, Mover&, const Order& o) { return make_implicit(d, o); }},
      {"neighbour", [](Domain& d, Mover&, const Order&) { return make_neighbour(d, Call::blocking); }},
      {"neighbour, nonblocking", [](Domain& d, Mover&, const Order&) { return make_neighbour(d, Call::nonblocking); }},
      {"packed by a kernel each",
       [](Domain& d, Mover& m, const Order&) { return make_packed(d, m, Packing::kernel_each); }},
      {"packed by one kernel",
       [](Domain& d, Mover& m, const Order&) { return make_packed(d, m, Packing::one_kernel); }},
      {"packed, one message a peer",
       [](Domain& d, Mover& m, const Order&) { return make_packed(d, m, Packing::message_a_peer); }},
  };
#if MPI_VERSION >= 4
  all.push_back(
      {"neighbour, persistent", [](Domain& d, Mover&, const Order&) { return make_neighbour(d, Call::persistent); }});
#endif
#ifdef BENCH_HALO_PARTITIONED
  all.push_back({"partitioned", [](Domain& d, Mover&, const Order&) { return make_partitioned(d); }});
#endif
  return all;
}

}  // namespace bench::halo
