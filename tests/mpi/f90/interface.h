! One source, three interfaces: what differs between `include 'mpif.h'`, `use mpi` and `use mpi_f08` stands here.
! Compiled with -DMPIF, -DMPI_MODULE or -DF08.
#if defined(F08)
#define USE_MPI use mpi_f08
#define COMM type(MPI_Comm)
#define REQUEST type(MPI_Request)
#define DATATYPE type(MPI_Datatype)
#define MESSAGE type(MPI_Message)
#define ERRHANDLER type(MPI_Errhandler)
#define STATUS(name) type(MPI_Status) :: name
#define STATUSES(name,n) type(MPI_Status) :: name(n)
#define SOURCE_OF(s) s%MPI_SOURCE
#define TAG_OF(s) s%MPI_TAG
#define SOURCE_AT(s,i) s(i)%MPI_SOURCE
#define ONE_STATUS(s,i) s(i)
#define VALUE_OF(handle) handle%MPI_VAL
#else
#if defined(MPI_MODULE)
#define USE_MPI use mpi
#else
#define USE_MPI use mpif
#endif
#define COMM integer
#define REQUEST integer
#define DATATYPE integer
#define MESSAGE integer
#define ERRHANDLER integer
#define STATUS(name) integer :: name(MPI_STATUS_SIZE)
#define STATUSES(name,n) integer :: name(MPI_STATUS_SIZE, n)
#define SOURCE_OF(s) s(MPI_SOURCE)
#define TAG_OF(s) s(MPI_TAG)
#define SOURCE_AT(s,i) s(MPI_SOURCE, i)
#define ONE_STATUS(s,i) s(:, i)
#define VALUE_OF(handle) handle
#endif
