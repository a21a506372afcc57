! The halo update of a pencil decomposition, as 2DECOMP&FFT structures it: each pencil's halos are
! vectors, received with MPI_Irecv, sent with MPI_Issend and completed with MPI_Waitall, and the
! types live as long as one update. The halos are compared with the values that the neighbours must
! have.
#include "interface.h"
program halo
  USE_MPI
  implicit none
  ! Thin pencils: with short rows in every face, packed messages are predicted to gain on every MPI.
  integer, parameter :: level = 1, steps = 3
  integer, parameter :: extent(3) = [4, 32, 512]
  integer :: rank, ranks, ierror, step, wrong, all_wrong
  integer :: dims(2), coords(2)
  COMM :: grid
  double precision, allocatable :: pencil(:, :, :)

  call MPI_Init(ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  dims = 0
  call MPI_Dims_create(ranks, 2, dims, ierror)
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.true., .true.], .false., grid, ierror)
  call MPI_Comm_rank(grid, rank, ierror)
  call MPI_Cart_coords(grid, rank, 2, coords, ierror)
  wrong = 0
  do step = 1, steps
    call update(2, 1)  ! an x pencil: its y halos go along the grid's first dimension
    call update(1, 1)  ! a y pencil
    call update(1, 2)  ! a z pencil has both
    call update(2, 2)
  end do
  call MPI_Reduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, 0, grid, ierror)
  if (rank == 0) then
    if (all_wrong == 0) then
      print '(a,i0,a)', 'halo: ', steps, ' steps verified'
    else
      print '(a,i0,a)', 'halo: ', all_wrong, ' values wrong'
    end if
  end if
  call MPI_Finalize(ierror)
  if (wrong > 0) stop 1

contains

  ! The halos of the array's dimension `axis`, with the neighbours along the grid's dimension
  ! `along`.
  subroutine update(axis, along)
    integer, intent(in) :: axis, along
    integer :: n(3), low, high, before, after, i, j, k
    integer, parameter :: tag = 7
    DATATYPE :: face
    REQUEST :: requests(4)
    STATUSES(statuses, 4)

    call MPI_Cart_shift(grid, along - 1, 1, before, after, ierror)
    n = extent
    n(axis) = n(axis) + 2 * level
    allocate (pencil(n(1), n(2), n(3)))
    pencil = -1
    low = level
    high = level + extent(axis)
    do k = 1, n(3)
      do j = 1, n(2)
        do i = 1, n(1)
          if (inside(axis, i, j, k)) pencil(i, j, k) = number(axis, along, i, j, k)
        end do
      end do
    end do

    if (axis == 1) then
      call MPI_Type_vector(n(2) * n(3), level, n(1), MPI_DOUBLE_PRECISION, face, ierror)
    else
      call MPI_Type_vector(n(3), level * n(1), n(1) * n(2), MPI_DOUBLE_PRECISION, face, ierror)
    end if
    call MPI_Type_commit(face, ierror)
    if (axis == 1) then
      call MPI_Irecv(pencil(1, 1, 1), 1, face, before, tag, grid, requests(1), ierror)
      call MPI_Irecv(pencil(high + 1, 1, 1), 1, face, after, tag + 1, grid, requests(2), ierror)
      call MPI_Issend(pencil(high - level + 1, 1, 1), 1, face, after, tag, grid, requests(3), ierror)
      call MPI_Issend(pencil(low + 1, 1, 1), 1, face, before, tag + 1, grid, requests(4), ierror)
    else
      call MPI_Irecv(pencil(1, 1, 1), 1, face, before, tag, grid, requests(1), ierror)
      call MPI_Irecv(pencil(1, high + 1, 1), 1, face, after, tag + 1, grid, requests(2), ierror)
      call MPI_Issend(pencil(1, high - level + 1, 1), 1, face, after, tag, grid, requests(3), ierror)
      call MPI_Issend(pencil(1, low + 1, 1), 1, face, before, tag + 1, grid, requests(4), ierror)
    end if
    call MPI_Waitall(4, requests, statuses, ierror)
    call MPI_Type_free(face, ierror)

    if (SOURCE_AT(statuses, 1) /= before .or. SOURCE_AT(statuses, 2) /= after) wrong = wrong + 1
    do k = 1, n(3)
      do j = 1, n(2)
        do i = 1, n(1)
          if (pencil(i, j, k) /= number(axis, along, i, j, k)) wrong = wrong + 1
        end do
      end do
    end do
    deallocate (pencil)
  end subroutine update

  logical function inside(axis, i, j, k)
    integer, intent(in) :: axis, i, j, k
    integer :: at(3)
    at = [i, j, k]
    inside = at(axis) > level .and. at(axis) <= level + extent(axis)
  end function inside

  ! What stands at this place of the whole, periodic array.
  double precision function number(axis, along, i, j, k)
    integer, intent(in) :: axis, along, i, j, k
    integer :: at(3)
    at = [i, j, k]
    at(axis) = modulo(coords(along) * extent(axis) + at(axis) - level - 1, dims(along) * extent(axis))
    number = step + 10d0 * (at(1) + 1d3 * (at(2) + 1d3 * (at(3) + 1d3 * coords(3 - along))))
  end function number

end program halo
