! Parts of one operation through another interface than the program's: handles are the same integers
! in all of them.
#if defined(F08)
#undef F08
#define MPIF
#else
#undef MPIF
#undef MPI_MODULE
#define F08
#endif
#include "interface.h"
module other_interface
  implicit none
contains

  subroutine other_commit(datatype)
    USE_MPI
    integer, intent(in) :: datatype
    integer :: ierror
    DATATYPE :: t
    VALUE_OF(t) = datatype
    call MPI_Type_commit(t, ierror)
  end subroutine other_commit

  subroutine other_type_free(datatype)
    USE_MPI
    integer, intent(inout) :: datatype
    integer :: ierror
    DATATYPE :: t
    VALUE_OF(t) = datatype
    call MPI_Type_free(t, ierror)
    datatype = VALUE_OF(t)
  end subroutine other_type_free

  subroutine other_irecv(buffer, count, datatype, source, tag, request)
    USE_MPI
    double precision, intent(inout), asynchronous :: buffer(*)
    integer, intent(in) :: count, datatype, source, tag
    integer, intent(out) :: request
    integer :: ierror
    DATATYPE :: t
    REQUEST :: r
    VALUE_OF(t) = datatype
    call MPI_Irecv(buffer, count, t, source, tag, MPI_COMM_WORLD, r, ierror)
    request = VALUE_OF(r)
  end subroutine other_irecv

  subroutine other_isend(buffer, count, datatype, dest, tag, request)
    USE_MPI
    double precision, intent(in), asynchronous :: buffer(*)
    integer, intent(in) :: count, datatype, dest, tag
    integer, intent(out) :: request
    integer :: ierror
    DATATYPE :: t
    REQUEST :: r
    VALUE_OF(t) = datatype
    call MPI_Isend(buffer, count, t, dest, tag, MPI_COMM_WORLD, r, ierror)
    request = VALUE_OF(r)
  end subroutine other_isend

  subroutine other_wait(request)
    USE_MPI
    integer, intent(inout) :: request
    integer :: ierror
    REQUEST :: r
    VALUE_OF(r) = request
    call MPI_Wait(r, MPI_STATUS_IGNORE, ierror)
    request = VALUE_OF(r)
  end subroutine other_wait

end module other_interface
