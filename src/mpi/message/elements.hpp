// A program's buffer that may be in a GPU's memory: which bytes of it a count of a datatype covers,
// and a copy of them in host memory.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "device/place.hpp"
#include "mpi/process/types.hpp"
#include "pack/gpu/pack.hpp"

namespace dunnage::mpi {

/// As the program gave it to the MPI.
struct Elements {
  const void* buffer;
  std::int64_t count;
  MPI_Datatype type;

  const char* byte(std::int64_t offset) const {
    return reinterpret_cast<const char*>(reinterpret_cast<std::uintptr_t>(buffer) +
                                         static_cast<std::uintptr_t>(offset));
  }
};

/// Where its bytes are, relative to the buffer.
struct Extent {
  std::int64_t size = 0;           // packed bytes
  std::int64_t first = 0;          // the first byte of the stream
  std::int64_t low = 0, high = 0;  // all of them: [low, high)
};
/// Nothing where there are none, or where that is for the MPI to judge. `recipe`: null where the
/// datatype is contiguous, packed the MPI's way, or unknown.
std::optional<Extent> extent_of(const Elements& user, const KnownType* known, const pack::gpu::GpuRecipe* recipe);

/// Whether any of it is in a GPU's memory. A buffer begins where its data are, but absolute
/// addresses may be of several memories. `place`: of the first byte.
bool any_on_gpu(const device::Driver& driver, const Elements& user, const device::Place& place,
                const pack::gpu::GpuRecipe* recipe);

/// Of contiguous bytes.
std::shared_ptr<const pack::gpu::GpuRecipe> contiguous_recipe(std::int64_t size);

/// Host memory in place of a user's buffer on a device: for the MPI, which packs by itself there.
/// `quirk`: it may reach further than it should. Open MPI takes blocks that fall and overlap for
/// contiguous ones.
class InHost {
 public:
  InHost(const device::Driver& driver, const Elements& user, const Extent& extent, const device::Place& place,
         bool quirk);
  InHost(const InHost&) = delete;
  InHost& operator=(const InHost&) = delete;
  /// As the MPI is to be given it.
  void* base() const { return base_; }
  void write_back() const;

 private:
  const device::Driver& driver_;
  std::vector<char> bytes_;
  std::span<char> copied_;
  char* original_ = nullptr;
  void* base_;
};

}  // namespace dunnage::mpi
