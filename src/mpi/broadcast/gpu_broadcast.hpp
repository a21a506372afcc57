// Broadcasts of data in a GPU's memory among ranks of one host: everyone's GPU reads them where
// they are, or where another rank already has them.
//
// The root tells where its data are, and who reads from whom (collective/readers.hpp). A rank that
// others read from says where its own buffer is, and how much of the data is there, piece by piece
// as it gets them (transport/shm/broadcast_ring.hpp); those whose source cannot be read, or has
// failed, read from the root.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "mpi/ways/gpu_offer.hpp"
#include "transport/shm/broadcast_ring.hpp"

namespace dunnage::mpi {

enum class Publish {
  in_place,  // where they are, or not at all
  anyhow,    // a copy in our own memory, where theirs cannot be read
  copy,      // a copy in any case: the program's buffer may change before they have read
};

/// What a rank knows of the others that take part with it in a window.
struct WindowRanks {
  transport::shm::BroadcastRing& window;
  std::span<const std::uint32_t> others;  // all but this one in MPI_COMM_WORLD, in the window's order
  std::uint32_t in_world(std::uint32_t process) const {
    return others[process < window.self() ? process : process - 1];
  }
};

using LetGoOn = std::function<void()>;

/// Of one of the others.
struct Fetched {
  int code;                // the MPI's
  bool read_from = false;  // whether others read from this rank's buffer
  bool along = false;      // whether this rank has read from another one's than the root's
};

/// For several receivers of one content, who all read the data where they are: what
/// gpu_read_published() needs, and what must live until all have them. Nothing where the data are
/// not in a GPU's memory that all can read, as far as that is known; goes a step towards it.
std::optional<GpuOffer> gpu_publish(const memory::Buffer& content, std::span<const std::uint32_t> receivers,
                                    Publish how);
/// Brings such data to their place, wherever that is. Calls let_go_on() while it waits. Returns an
/// error code of the MPI.
int gpu_read_published(const char* head, const memory::Landing& landing, const LetGoOn& let_go_on);
/// What the root of a window's broadcast tells the others of its offer; nothing where there is no
/// memory for it.
std::vector<char> gpu_tell(const memory::Buffer& content, const GpuOffer& offer, const WindowRanks& ranks);
/// The part of one of the others, in operation `at` of the window.
Fetched gpu_receive_told(const char* head, std::uint64_t at, const WindowRanks& ranks, const memory::Landing& landing,
                         const LetGoOn& let_go_on);

}  // namespace dunnage::mpi
