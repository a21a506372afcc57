// Every call that completes, frees, cancels or looks at requests. Straight through where none of
// the requests is ours.
#pragma once

#include <optional>

#include "mpi/process/process.hpp"

namespace dunnage::mpi {

int wait(Hook, decltype(NextTable::MPI_Wait) next, MPI_Request* request, MPI_Status* status);
int waitall(Hook, decltype(NextTable::MPI_Waitall) next, int count, MPI_Request* requests, MPI_Status* statuses);
int waitany(Hook, decltype(NextTable::MPI_Waitany) next, int count, MPI_Request* requests, int* index,
            MPI_Status* status);
int waitsome(Hook, decltype(NextTable::MPI_Waitsome) next, int incount, MPI_Request* requests, int* outcount,
             int* indices, MPI_Status* statuses);
int test(Hook, decltype(NextTable::MPI_Test) next, MPI_Request* request, int* flag, MPI_Status* status);
int testall(Hook, decltype(NextTable::MPI_Testall) next, int count, MPI_Request* requests, int* flag,
            MPI_Status* statuses);
int testany(Hook, decltype(NextTable::MPI_Testany) next, int count, MPI_Request* requests, int* index, int* flag,
            MPI_Status* status);
int testsome(Hook, decltype(NextTable::MPI_Testsome) next, int incount, MPI_Request* requests, int* outcount,
             int* indices, MPI_Status* statuses);
/// Ends a request of Dunnage's own messages, if it goes by a channel and has ended. Returns an MPI
/// error code then; calls no handler.
std::optional<int> end_without_mpi(MPI_Request& request);
int cancel(Hook, decltype(NextTable::MPI_Cancel) next, MPI_Request* request);
int request_free(Hook, decltype(NextTable::MPI_Request_free) next, MPI_Request* request);
int request_get_status(Hook, decltype(NextTable::MPI_Request_get_status) next, MPI_Request request, int* flag,
                       MPI_Status* status);

int request_get_status_all(Hook, decltype(NextTable::MPI_Request_get_status_all) next, int count,
                           const MPI_Request* requests, int* flag, MPI_Status* statuses);
int request_get_status_any(Hook, decltype(NextTable::MPI_Request_get_status_any) next, int count,
                           const MPI_Request* requests, int* index, int* flag, MPI_Status* status);
int request_get_status_some(Hook, decltype(NextTable::MPI_Request_get_status_some) next, int incount,
                            const MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses);

}  // namespace dunnage::mpi
