// A duplicate of MPI_COMM_WORLD for messages of Dunnage's own, which no call of the program can
// match. It is made in MPI_Init, where all ranks meet. So calls that must not wait for other ranks
// have a communicator.
#pragma once

#include "mpi/process/process.hpp"

namespace dunnage::mpi {

/// MPI_COMM_NULL if there is none. All ranks get one answer.
MPI_Comm private_world();
/// What this process may want it for, as bits. To be asked before MPI_Init has ended.
std::uint64_t private_world_wants();
/// In MPI_Init: makes it, if all ranks want it by facts that they share. `somewhere`: the bits that
/// any rank has told, if all have told theirs.
void make_private_world(std::optional<std::uint64_t> somewhere);
/// In MPI_Finalize.
void free_private_world();

/// Whether it serves partitioned messages: only if they gain by that.
bool private_world_serves_partitioned();

/// Whether exchanges that streams start may be matched there, which is not so if it was only made
/// for collectives.
bool private_world_serves_matching();

/// The shared memory in which all ranks may agree on something without waiting
/// (transport/shm/agreement.hpp). Null if there is none. All ranks get one answer.
const transport::shm::Memory* agreements();

/// The tag of messages by which two ranks introduce their operations.
inline constexpr int introduction_tag = 0;
/// The largest tag of partitioned messages.
int largest_tag();
/// The tag of messages by which ranks match exchanges (mpi/triggered). It is larger.
int match_tag();
/// The first tag of messages that the ranks have agreed on, by the number of the agreement. It is
/// larger still. Each agreement has so many tags.
int agreed_tag(std::uint32_t number);
inline constexpr int few_tags = 2;

/// Consecutive tags for messages from this rank to another, which nobody else uses as long as this
/// object lives. Movable. Thread-safe.
class Tags {
 public:
  Tags() = default;
  /// Empty if there are not so many.
  Tags(int dest, int count);
  Tags(Tags&& other) noexcept : dest_(other.dest_), first_(std::exchange(other.first_, -1)) {}
  Tags& operator=(Tags&&) = delete;
  ~Tags();
  explicit operator bool() const { return first_ >= 0; }
  int first() const { return first_; }
  /// Nobody ever gets the tags again.
  void keep() { first_ = -1; }

 private:
  int dest_ = 0, first_ = -1;
};

}  // namespace dunnage::mpi
