// Calls of MPI_Pack and MPI_Unpack that come again and again: the first of them are done in turns
// by the MPI and by Dunnage, and the rest by whoever was faster. The bytes are right in all.
#include "samples.hpp"

namespace pack_trials_contract {

constexpr int calls = 30;  // of each kind

void again_and_again(const Sample& sample, int n, bool new_types) {
  const std::string name = std::string(sample.name) + ", n " + std::to_string(n) + (new_types ? ", new types" : "");
  contract().section(name);
  auto region = std::make_unique<Region>(sample, n, 2);
  for (int i = 0; i < calls; ++i) {
    const auto what = name + ", call " + std::to_string(i);
    if (new_types && i > 0) region = std::make_unique<Region>(sample, n, 2);
    auto& r = *region;
    r.fill(i);
    const Bytes expected = r.packed();
    Bytes out(r.size() + 16, Region::kPoison);
    int position = 3;
    check_ok(MPI_Pack(r.address, r.count, r.type, out.data(), r.size() + 16, &position, MPI_COMM_SELF), what);
    check_equal(position, r.size() + 3, what + ", position");
    Bytes around(r.size() + 16, Region::kPoison);
    std::copy(expected.begin(), expected.end(), around.begin() + 3);
    check(out == around, what + ", packed bytes, and nothing around them");
    position = 3;
    r.poison();
    check_ok(MPI_Unpack(out.data(), r.size() + 3, &position, r.address, r.count, r.type, MPI_COMM_SELF), what);
    check_equal(position, r.size() + 3, what + ", position after unpacking");
    r.expect(expected, what + ", unpacked");
  }
}

CONTRACT_PROGRAM(pack_trials) {
  Contract c("pack_trials", &argc, &argv);
  for (const Sample& sample : samples())
    if (!sample.absolute)  // MPICH 4.0 refuses to pack at MPI_BOTTOM
      for (const int n : {40, 3000, 60000}) again_and_again(sample, n, n == 40);
  const Sample vector{"vector", [](int n) { return make::vector(n, 1, 2, MPI_DOUBLE); }};
  again_and_again(vector, 400000, false);  // enough for helpers
  return c.finish();
}

}  // namespace pack_trials_contract
