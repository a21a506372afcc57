// A datatype of the program for as long as an operation needs it. The program may free its handle.
#pragma once

#include "mpi/process/types.hpp"

namespace dunnage::mpi {

class KeptType {
 public:
  /// Calls no callback of the program's attributes, as MPI_Type_dup would.
  explicit KeptType(MPI_Datatype type);
  KeptType(const KeptType&) = delete;
  KeptType& operator=(const KeptType&) = delete;
  ~KeptType();
  /// An MPI error code: if it is not MPI_SUCCESS, there is no type.
  int code() const { return code_; }
  MPI_Datatype handle() const { return handle_; }
  std::int64_t bytes() const { return bytes_; }
  std::int64_t extent() const { return extent_; }

 private:
  MPI_Datatype handle_;
  bool owned_ = false;
  int code_ = MPI_SUCCESS;
  std::int64_t bytes_ = 0, extent_ = 0;
};

}  // namespace dunnage::mpi
