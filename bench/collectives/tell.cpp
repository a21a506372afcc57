#include "collectives/tell.hpp"

#include <mpi.h>

#include <iostream>

#include "common/record.hpp"
#include "common/statistics.hpp"

namespace bench::collectives {

bool tell(const std::string& program, const std::string& operation, const std::string& memory, std::int64_t bytes,
          int verified, const std::vector<double>& seconds, const std::vector<double>& limit,
          const std::vector<double>& nccl) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Allreduce(MPI_IN_PLACE, &verified, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank != 0) return verified;
  const auto s = summarize(seconds);
  nlohmann::json record({{"record", "result"},
                         {"operation", operation},
                         {"memory", memory},
                         {"ranks", ranks},
                         {"bytes", bytes},
                         {"verified", verified != 0},
                         {"seconds", {{"median", s.median}, {"p10", s.p10}, {"p90", s.p90}}},
                         {"limit", summarize(limit).median}});
  if (!nccl.empty()) record["nccl"] = summarize(nccl).median;
  print(record);
  if (!verified) std::cerr << program << ": wrong bytes: " << operation << ", " << bytes << " bytes\n";
  return verified;
}

}  // namespace bench::collectives
