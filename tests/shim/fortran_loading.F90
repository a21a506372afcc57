! A strided message to itself through mpi_f08, as a function for others to call and, with -DPROGRAM,
! as a program.
module loading
  use mpi_f08
  implicit none
  integer, parameter :: blocks = 4000
  double precision, save, asynchronous :: a(2 * blocks), b(2 * blocks)
contains
  integer function exchange() bind(C, name="exchange")
    type(MPI_Datatype) :: column
    type(MPI_Request) :: requests(2)
    integer :: i
    call MPI_Init()
    a = [(dble(i), i = 1, 2 * blocks)]
    b = 0
    call MPI_Type_vector(blocks, 1, 2, MPI_DOUBLE_PRECISION, column)
    call MPI_Type_commit(column)
    call MPI_Irecv(b, 1, column, 0, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(a, 1, column, 0, 1, MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call MPI_Type_free(column)
    exchange = count(b(1::2) /= a(1::2)) + count(b(2::2) /= 0)
    call MPI_Finalize()
  end function exchange
end module loading

#if defined(PROGRAM)
program main
  use loading
  if (exchange() /= 0) stop 1
end program main
#endif
