#include <stdexcept>

#include "halo/exchange.hpp"

namespace bench::halo {

void wait_for(std::vector<MPI_Request>& requests, const std::string& manner) {
  const int count = static_cast<int>(requests.size());
  int index = 0, done = 0;
  if (manner == "all") {
    MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE);
  } else if (manner == "each") {
    for (auto& request : requests) MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (manner == "any") {
    do MPI_Waitany(count, requests.data(), &index, MPI_STATUS_IGNORE);
    while (index != MPI_UNDEFINED);
  } else if (manner == "some") {
    std::vector<int> indices(requests.size());
    do MPI_Waitsome(count, requests.data(), &done, indices.data(), MPI_STATUSES_IGNORE);
    while (done != MPI_UNDEFINED);
  } else if (manner == "test all") {
    while (!done) MPI_Testall(count, requests.data(), &done, MPI_STATUSES_IGNORE);
  } else if (manner == "test any") {
    do MPI_Testany(count, requests.data(), &index, &done, MPI_STATUS_IGNORE);
    while (!done || index != MPI_UNDEFINED);
  } else {
    throw std::invalid_argument("no such manner of waiting: " + manner);
  }
}

}  // namespace bench::halo
