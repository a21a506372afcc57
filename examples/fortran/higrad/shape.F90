! The part of the mesh that a rank has, and boxes of cells in it. shape.hpp has the same layouts.
module shape_of_mesh
  use, intrinsic :: iso_c_binding, only: c_int
  implicit none
  private
  public :: shape_t, box_t, sides, inner_face, ghost_face

  ! Cells along each dimension without ghost cells, how many ghost cells deep, and variables.
  type, bind(c) :: shape_t
    integer(c_int) :: cells(3), ghost, variables
  end type shape_t

  ! Places count from 0 and begin with the ghost cells.
  type, bind(c) :: box_t
    integer(c_int) :: first(3), length(3)
  end type box_t

  integer, parameter, public :: low = 1, high = 2

contains

  ! Returns the cells along each dimension, with ghost cells.
  pure function sides(shape)
    type(shape_t), intent(in) :: shape
    integer :: sides(3)
    sides = shape%cells + 2 * shape%ghost
  end function sides

  ! Returns the cells that go to the neighbour at one end of dimension d.
  pure type(box_t) function inner_face(shape, d, end)
    type(shape_t), intent(in) :: shape
    integer, intent(in) :: d, end
    inner_face = face(shape, d, merge(shape%ghost, shape%cells(d), end == low))
  end function inner_face

  ! Returns the ghost cells that come from the neighbour at one end of dimension d.
  pure type(box_t) function ghost_face(shape, d, end)
    type(shape_t), intent(in) :: shape
    integer, intent(in) :: d, end
    ghost_face = face(shape, d, merge(0, shape%cells(d) + shape%ghost, end == low))
  end function ghost_face

  ! Along the dimensions before its own, which are exchanged already, a face has its ghost cells
  ! too. Edges and corners come by way of neighbours therefore, without messages of their own.
  pure type(box_t) function face(shape, d, first)
    type(shape_t), intent(in) :: shape
    integer, intent(in) :: d, first
    face%first = shape%ghost
    face%length = shape%cells
    face%first(:d - 1) = 0
    face%length(:d - 1) = shape%cells(:d - 1) + 2 * shape%ghost
    face%first(d) = first
    face%length(d) = shape%ghost
  end function face

end module shape_of_mesh
