// MPI_Psend_init and MPI_Precv_init by Dunnage's own messages.
//
// Whether a message is ours is decided alike by its two ranks, without a message: by the setting,
// and by whether the communicator's lineage is known (mpi/process/lineage.hpp). Buffers, datatypes
// and numbers of partitions may differ between the ranks.
#pragma once

#include <optional>

#include "mpi/partitioned/request.hpp"

namespace dunnage::mpi {

class PartitionedInit {
 public:
  /// Whether any may be ours. One load.
  static bool possible() { return private_world_serves_partitioned(); }
  PartitionedInit(const PartitionedInit&) = delete;
  PartitionedInit& operator=(const PartitionedInit&) = delete;
  /// Whether it has been done, and its result.
  bool done() const { return code_.has_value(); }
  int code() const { return *code_; }

 protected:
  PartitionedInit() = default;
  void init(PartitionedCall call, bool sends, MPI_Request* request);

 private:
  std::optional<int> code_;
};

struct PartitionedSendInit : PartitionedInit {
  PartitionedSendInit(Hook hook, MPI_Comm comm, MPI_Info, MPI_Request* request, const void* buffer, int partitions,
                      MPI_Count count, MPI_Datatype type, int dest, int tag) {
    init({hook, static_cast<char*>(const_cast<void*>(buffer)), partitions, count, type, dest, tag, comm}, true,
         request);
  }
};

struct PartitionedReceiveInit : PartitionedInit {
  PartitionedReceiveInit(Hook hook, MPI_Comm comm, MPI_Info, MPI_Request* request, void* buffer, int partitions,
                         MPI_Count count, MPI_Datatype type, int source, int tag) {
    init({hook, static_cast<char*>(buffer), partitions, count, type, source, tag, comm}, false, request);
  }
};

}  // namespace dunnage::mpi
