! The exchange of ghost rows. The ranks stand in a ring. Each has a matrix, and sends its lowest and
! its highest inner row to the neighbour on that side. A row of a Fortran matrix is not contiguous:
! MPI_Type_vector describes it. Every ghost cell is checked.
program rows
  use mpi
  implicit none
  integer, parameter :: height = 66, width = 4096  ! the first and the last row are ghosts
  double precision :: cell(height, width)
  integer :: rank, ranks, below, above, row, request(4), error, wrong, all_wrong

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  below = modulo(rank - 1, ranks)
  above = modulo(rank + 1, ranks)
  cell = rank
  cell(1, :) = -1
  cell(height, :) = -1

  call MPI_Type_vector(width, 1, height, MPI_DOUBLE_PRECISION, row, error)
  call MPI_Type_commit(row, error)
  call MPI_Irecv(cell(1, 1), 1, row, below, 0, MPI_COMM_WORLD, request(1), error)
  call MPI_Irecv(cell(height, 1), 1, row, above, 1, MPI_COMM_WORLD, request(2), error)
  call MPI_Isend(cell(height - 1, 1), 1, row, above, 0, MPI_COMM_WORLD, request(3), error)
  call MPI_Isend(cell(2, 1), 1, row, below, 1, MPI_COMM_WORLD, request(4), error)
  call MPI_Waitall(4, request, MPI_STATUSES_IGNORE, error)

  wrong = count(nint(cell(1, :)) /= below) + count(nint(cell(height, :)) /= above)
  wrong = wrong + count(nint(cell(2:height - 1, :)) /= rank)
  call MPI_Allreduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (rank == 0) print '(a, i0, a, i0)', 'rows: ', ranks, ' ranks, wrong cells: ', all_wrong
  call MPI_Type_free(row, error)
  call MPI_Finalize(error)
  if (all_wrong /= 0) stop 1
end program rows
