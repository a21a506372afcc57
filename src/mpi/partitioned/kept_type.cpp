#include "mpi/partitioned/kept_type.hpp"

namespace dunnage::mpi {

KeptType::KeptType(MPI_Datatype type) : handle_(type) {
  const auto& own = process->own;
  int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;
  MPI_Count bytes = 0, begin = 0, extent = 0;
  code_ = own.Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  if (code_ == MPI_SUCCESS) code_ = own.Type_size_x(type, &bytes);
  if (code_ == MPI_SUCCESS) code_ = own.Type_get_extent_x(type, &begin, &extent);
  bytes_ = bytes;
  extent_ = extent;
  if (code_ != MPI_SUCCESS || combiner == MPI_COMBINER_NAMED) return;
  code_ = own.Type_contiguous(1, type, &handle_);
  owned_ = code_ == MPI_SUCCESS;
  if (owned_) code_ = type_commit(Hook::MPI_Type_commit, own.Type_commit, &handle_);
}

KeptType::~KeptType() {
  if (owned_ && process->initialized.load(std::memory_order_relaxed))
    type_free(Hook::MPI_Type_free, process->own.Type_free, &handle_);
}

}  // namespace dunnage::mpi
