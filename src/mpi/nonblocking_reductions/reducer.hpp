// Reduces data of several ranks that have come to memory of this rank.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "mpi/message/fetch_batch.hpp"
#include "mpi/process/gpu_use.hpp"
#include "mpi/reductions/kinds.hpp"

namespace dunnage::mpi {

/// One reduction of `count` elements of the ranks 0 to `sources` - 1, in their order. It is done on
/// the GPU if that reaches this rank's own data and the result, and if there is room on it. Else
/// the data come to host memory and are reduced there, to the same bits.
///
/// If the data of all other ranks are about to be fetched together, the kernel reads them where
/// they are, in place of the fetches. That needs memory for the result that no other rank reads.
///
/// Not thread-safe. Members and the constructor throw device::Error, std::bad_alloc.
class Reducer final : public JointFetch {
 public:
  struct Data {
    const KernelOf kernel;
    const MPI_Datatype type;
    const void* own;  // this rank's elements
    void* result;     // may overlap `own`
    const std::int64_t count;
    const std::uint32_t sources, rank;
    const bool apart;  // no rank reads the memory of the result
  };
  explicit Reducer(const Data& data);

  /// Where the elements of another rank are to come, laid out as `type`.
  void* room_for(std::uint32_t rank) const { return slot(rank < data_.rank ? rank : rank - 1); }
  /// A persistent operation starts again.
  void restart() { reduced_ = false; }
  bool needs(const DeviceFetch& fetch) const override;
  std::unique_ptr<DeviceWork> begin(std::span<const DeviceFetch* const> fetches) override;
  /// When the elements of all ranks have come: writes the result, if that has not been done. Waits
  /// for the GPU. Returns an MPI error code.
  int reduce() const;

 private:
  void choose_memory();
  bool has_own() const { return data_.rank < data_.sources; }
  /// Whether the result is not written in one go with reading this rank's elements.
  bool overlaps() const;
  std::uint32_t others() const { return data_.sources - (has_own() ? 1 : 0); }
  /// A slot for each other rank, and one for this rank's own elements or the result.
  char* slot(std::uint32_t i) const { return room_ + i * step_; }
  char* spare() const { return slot(others()); }
  /// Where the elements of each rank are, those of the other ranks in their slots.
  std::vector<std::uintptr_t> sources(std::uintptr_t own) const;
  void reduce_on_device() const;
  int reduce_on_host() const;
  int copy(const void* from, void* to) const;

  const Data data_;
  const std::int64_t bytes_, step_;  // of the elements, and from one slot to the next
  CUcontext context_ = nullptr;      // null: on the host
  std::shared_ptr<const device::Arena::Block> block_;
  std::unique_ptr<char[]> host_;
  char* room_ = nullptr;
  bool reduced_ = false;  // since the start
};

}  // namespace dunnage::mpi
