#include "mpi/process/other_side.hpp"

#include "mpi/process/communicators.hpp"

namespace dunnage::mpi {

using Told = plan::Chooser::Told;

Told told_by(const OtherSide& other, const plan::Chooser& trial) noexcept try {
  // To look for a rank takes as long as some hundred short messages.
  constexpr std::int64_t worth_a_look = 4 << 10;
  if (!process->world || other.rank < 0 || trial.other_rank()[0] == 0) return Told::nothing;
  const auto rank = world_rank(other.comm, other.rank);
  if (rank < 0 || rank == process->rank) return Told::nothing;
  const bool look = other.bytes >= worth_a_look;
  for (const auto name : trial.other_rank()) {
    const auto told = Told{process->world->choice_of(static_cast<std::uint32_t>(rank), name, look)};
    if (told != Told::nothing) return told;
  }
  return Told::nothing;
} catch (const std::exception&) {
  return Told::nothing;  // no memory
}

}  // namespace dunnage::mpi
