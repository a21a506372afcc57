#include "mpi/channels/offer_name.hpp"

#include <array>
#include <cstring>
#include <string_view>

#include "base/siphash.hpp"
#include "mpi/process/lineage.hpp"

namespace dunnage::mpi {

std::uint64_t offer_name(MPI_Comm comm, std::uint32_t sender, std::uint32_t receiver, int tag) {
  const auto* origin = origin_of(comm);
  if (!origin) return 0;
  const auto [first, second] = origin->lineage();
  const std::array<std::uint64_t, 4> words{first, second, std::uint64_t{sender} << 32 | receiver,
                                           static_cast<std::uint32_t>(tag)};
  std::array<char, sizeof words> bytes;
  std::memcpy(bytes.data(), words.data(), sizeof words);
  const auto name = base::siphash({0, 2}, std::string_view(bytes.data(), bytes.size()));
  return name != 0 ? name : 1;
}

}  // namespace dunnage::mpi
