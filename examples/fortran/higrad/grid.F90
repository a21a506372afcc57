! The ranks as a periodic grid in three dimensions, and how the mesh is divided among them.
#include "interface.inc"
module grid
  USE_MPI
  use, intrinsic :: iso_fortran_env, only: error_unit
  use options, only: options_t
  use shape_of_mesh, only: shape_t, low, high
  implicit none
  private
  public :: grid_t, make_grid, free_grid, tag

  type grid_t
    COMM :: comm
    integer :: rank, ranks
    integer :: shape(3), place(3)      ! the grid of ranks, and the place of this rank in it
    integer :: neighbour(low:high, 3)  ! at each end of each dimension
    type(shape_t) :: part              ! of this rank
    integer :: first(3)                ! the place of its first cell in the whole mesh, from 0
  end type grid_t

contains

  ! Collective. Ends the program if a rank would have fewer cells than a neighbour needs.
  function make_grid(o) result(g)
    type(options_t), intent(in) :: o
    type(grid_t) :: g
    integer :: d, ierror
    call MPI_Comm_size(MPI_COMM_WORLD, g%ranks, ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, g%rank, ierror)
    g%shape = o%shape
    if (any(g%shape == 0)) then
      call MPI_Dims_create(g%ranks, 3, g%shape, ierror)
    else if (product(g%shape) /= g%ranks) then
      call refuse('the grid needs another number of ranks')
    end if
    call MPI_Cart_create(MPI_COMM_WORLD, 3, g%shape, [.true., .true., .true.], .false., g%comm, ierror)
    call MPI_Cart_coords(g%comm, g%rank, 3, g%place, ierror)
    do d = 1, 3
      call MPI_Cart_shift(g%comm, d - 1, 1, g%neighbour(low, d), g%neighbour(high, d), ierror)
    end do
    ! The first ranks have one cell more if the mesh cannot be divided evenly.
    g%part%cells = o%mesh / g%shape + merge(1, 0, g%place < mod(o%mesh, g%shape))
    g%first = g%place * (o%mesh / g%shape) + min(g%place, mod(o%mesh, g%shape))
    g%part%ghost = o%ghost
    g%part%variables = o%variables
    if (any(o%mesh / g%shape < o%ghost)) call refuse('the mesh is too small for that many ranks and ghost cells')

  contains

    subroutine refuse(why)
      character(*), intent(in) :: why
      if (g%rank == 0) write (error_unit, '(a)') 'higrad: ' // why
      call MPI_Abort(MPI_COMM_WORLD, 2, ierror)
    end subroutine refuse

  end function make_grid

  subroutine free_grid(g)
    type(grid_t), intent(inout) :: g
    integer :: ierror
    call MPI_Comm_free(g%comm, ierror)
  end subroutine free_grid

  ! Returns the tag of a message: the face as its sender sees it. A rank may be its own neighbour,
  ! or the neighbour of another rank at both ends.
  pure integer function tag(variable, end)
    integer, intent(in) :: variable, end
    tag = 2 * variable + end
  end function tag

end module grid
