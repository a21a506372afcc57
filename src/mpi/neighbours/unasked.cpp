#include "mpi/neighbours/unasked.hpp"

#include <array>
#include <cstring>
#include <string_view>

#include "base/siphash.hpp"
#include "mpi/process/communicators.hpp"
#include "mpi/process/lineage.hpp"
#include "mpi/process/private_world.hpp"

namespace dunnage::mpi {
namespace {

/// The name of an agreement, which all ranks of a communicator make alike. Communicators that one
/// call has made share a lineage, but not the first rank.
std::uint64_t name_of(const Lineage& lineage, MPI_Comm comm, std::uint64_t kind) {
  const std::array<std::uint64_t, 4> words{lineage[0], lineage[1], static_cast<std::uint64_t>(world_rank(comm, 0)),
                                           kind};
  std::array<char, sizeof words> bytes;
  std::memcpy(bytes.data(), words.data(), sizeof words);
  const auto name = base::siphash({0, 3}, std::string_view(bytes.data(), bytes.size()));
  return name != 0 ? name : 1;
}

}  // namespace

UnaskedKind::UnaskedKind(MPI_Comm comm, std::uint64_t kind) {
  const int count = members(comm);
  int rank = 0, tag = 0;
  if (private_world() == MPI_COMM_NULL || count < 1 || process->own.Comm_rank(comm, &rank) != MPI_SUCCESS) return;
  if (count > 1) {
    const auto* origin = origin_of(comm);
    if (!origin || !agreements()) return;
    const auto number = transport::shm::find_agreement(*agreements(), name_of(origin->lineage(), comm, kind));
    if (!number) return;
    shared_ = &agreements()->agreement(*number);
    tag = agreed_tag(*number);
  }
  std::vector<int> ranks;
  for (int i = 0; i < count; ++i) ranks.push_back(world_rank(comm, i));
  messages_ = std::make_shared<MessageComm>(private_world(), rank, std::move(ranks), tag);
}

}  // namespace dunnage::mpi
