! The exchange of ghost cells: x, then y, then z, by one of the options.
#include "interface.inc"
module exchange
  USE_MPI
  use, intrinsic :: iso_c_binding, only: c_loc
  use, intrinsic :: iso_fortran_env, only: real64
  use device, only: device_copy_in, device_copy_out, device_pack, device_pin, device_unpack, device_unpin, device_wait
  use grid, only: grid_t, tag
  use host, only: host_copy, host_pack, host_unpack
  use memory, only: new_cells, free_cells, bytes_of
  use mesh, only: mesh_t
  use options, only: copied, derived, packed, by_stream, by_kernels
  use shape_of_mesh, only: box_t, ghost_face, inner_face, sides, low, high
#ifdef TRIGGERED
  use triggered, only: triggered_t, free_triggered, exchange_triggered
#endif
  implicit none
  private
  public :: exchange_t, make_exchange, free_exchange, exchange_ghosts

  type exchange_t
    integer :: way
    integer :: variables_each                  ! of a message
    DATATYPE :: inner(low:high, 3), ghost(low:high, 3)
    ! A mesh in host memory, of which the faces are used (option 0), or the packed faces of both
    ! ends (option 2).
    real(real64), pointer, contiguous :: mirror(:, :, :, :), out(:, :, :, :), in(:, :, :, :)
#ifdef TRIGGERED
    type(triggered_t) :: triggered             ! of options 3 to 5, for which the caller makes it
#endif
  end type exchange_t

contains

  function make_exchange(m, way, joined) result(e)
    type(mesh_t), intent(in) :: m
    integer, intent(in) :: way
    logical, intent(in) :: joined  ! one message for all variables of a face
    type(exchange_t) :: e
    integer :: d, end, most
    e%way = way
    ! A partition of option 5 has one variable, and the partitions begin one variable apart.
    e%variables_each = merge(m%shape%variables, 1, joined .and. way /= by_kernels)
    most = 0
    do d = 1, 3
      do end = low, high
        e%inner(end, d) = type_of(inner_face(m%shape, d, end))
        e%ghost(end, d) = type_of(ghost_face(m%shape, d, end))
      end do
      most = max(most, cells_of(m, inner_face(m%shape, d, low)))
    end do
    nullify (e%mirror, e%out, e%in)
    if (way == copied) then
      e%mirror => new_cells(.false., [sides(m%shape), m%shape%variables])
      e%mirror = 0
      if (m%on_device) call device_pin(c_loc(e%mirror), bytes_of(e%mirror))
    else if (way == packed) then
      e%out => new_cells(m%on_device, [most, 1, 1, high])
      e%in => new_cells(m%on_device, [most, 1, 1, high])
    end if

  contains

    function type_of(box) result(type)
      type(box_t), intent(in) :: box
      DATATYPE :: type
      integer :: ierror
      call MPI_Type_create_subarray(4, [sides(m%shape), e%variables_each], [box%length, e%variables_each], &
                                    [box%first, 0], MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, type, ierror)
      call MPI_Type_commit(type, ierror)
    end function type_of

  end function make_exchange

  subroutine free_exchange(e, m)
    type(exchange_t), intent(inout) :: e
    type(mesh_t), intent(in) :: m
    integer :: d, end, ierror
#ifdef TRIGGERED
    if (e%way >= by_stream) call free_triggered(e%triggered)
#endif
    do d = 1, 3
      do end = low, high
        call MPI_Type_free(e%inner(end, d), ierror)
        call MPI_Type_free(e%ghost(end, d), ierror)
      end do
    end do
    if (associated(e%mirror)) then
      if (m%on_device) call device_unpin(c_loc(e%mirror))
      call free_cells(.false., e%mirror)
    end if
    if (associated(e%out)) call free_cells(m%on_device, e%out)
    if (associated(e%in)) call free_cells(m%on_device, e%in)
  end subroutine free_exchange

  ! Collective. Fills the ghost cells.
  subroutine exchange_ghosts(e, m, g)
    type(exchange_t), intent(inout) :: e
    type(mesh_t), intent(inout) :: m
    type(grid_t), intent(in) :: g
    integer :: d
#ifdef TRIGGERED
    if (e%way >= by_stream) then
      call exchange_triggered(e%triggered, m)
      return
    end if
#endif
    do d = 1, 3
      select case (e%way)
      case (copied)
        call copy_faces(e, m, d, out=.true.)
        call swap(e, g, d, e%mirror)
        call copy_faces(e, m, d, out=.false.)
      case (derived)
        call swap(e, g, d, m%now)
      case (packed)
        call pack_faces(e, m, d)
        call swap_packed(e, g, d, cells_of(m, inner_face(m%shape, d, low)))
        call unpack_faces(e, m, d)
      end select
    end do
  end subroutine exchange_ghosts

  ! Exchanges the faces of dimension d by derived datatypes.
  subroutine swap(e, g, d, cells)
    type(exchange_t), intent(in) :: e
    type(grid_t), intent(in) :: g
    integer, intent(in) :: d
    real(real64), contiguous, asynchronous, intent(inout) :: cells(:, :, :, :)
    REQUEST :: requests(4 * g%part%variables)
    integer :: v, end, n, ierror
    n = 0
    do v = 1, g%part%variables, e%variables_each
      do end = low, high
        call MPI_Irecv(cells(1, 1, 1, v), 1, e%ghost(end, d), g%neighbour(end, d), tag(v, low + high - end), g%comm, &
                       requests(n + 1), ierror)
        call MPI_Isend(cells(1, 1, 1, v), 1, e%inner(end, d), g%neighbour(end, d), tag(v, end), g%comm, &
                       requests(n + 2), ierror)
        n = n + 2
      end do
    end do
    call MPI_Waitall(n, requests, MPI_STATUSES_IGNORE, ierror)
  end subroutine swap

  ! Exchanges the packed faces of dimension d, which have so many cells.
  subroutine swap_packed(e, g, d, cells)
    type(exchange_t), intent(in) :: e
    type(grid_t), intent(in) :: g
    integer, intent(in) :: d, cells
    REQUEST :: requests(4)
    integer :: end, ierror
    do end = low, high
      call MPI_Irecv(e%in(1, 1, 1, end), cells, MPI_DOUBLE_PRECISION, g%neighbour(end, d), tag(1, low + high - end), &
                     g%comm, requests(2 * end - 1), ierror)
      call MPI_Isend(e%out(1, 1, 1, end), cells, MPI_DOUBLE_PRECISION, g%neighbour(end, d), tag(1, end), g%comm, &
                     requests(2 * end), ierror)
    end do
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierror)
  end subroutine swap_packed

  ! Copies the inner faces of dimension d to the mirror, or the mirror's ghost cells back.
  subroutine copy_faces(e, m, d, out)
    type(exchange_t), intent(inout) :: e
    type(mesh_t), intent(inout) :: m
    integer, intent(in) :: d
    logical, intent(in) :: out
    type(box_t) :: box
    integer :: end
    do end = low, high
      if (out) then
        box = inner_face(m%shape, d, end)
        if (m%on_device) then
          call device_copy_out(m%shape, box, c_loc(m%now), c_loc(e%mirror))
        else
          call host_copy(box, m%now, e%mirror)
        end if
      else
        box = ghost_face(m%shape, d, end)
        if (m%on_device) then
          call device_copy_in(m%shape, box, c_loc(e%mirror), c_loc(m%now))
        else
          call host_copy(box, e%mirror, m%now)
        end if
      end if
    end do
    if (m%on_device) call device_wait()
  end subroutine copy_faces

  subroutine pack_faces(e, m, d)
    type(exchange_t), intent(inout) :: e
    type(mesh_t), intent(in) :: m
    integer, intent(in) :: d
    integer :: end
    do end = low, high
      if (m%on_device) then
        call device_pack(m%shape, inner_face(m%shape, d, end), c_loc(m%now), c_loc(e%out(1, 1, 1, end)))
      else
        call host_pack(inner_face(m%shape, d, end), m%now, e%out(:, 1, 1, end))
      end if
    end do
    if (m%on_device) call device_wait()
  end subroutine pack_faces

  subroutine unpack_faces(e, m, d)
    type(exchange_t), intent(in) :: e
    type(mesh_t), intent(inout) :: m
    integer, intent(in) :: d
    integer :: end
    do end = low, high
      if (m%on_device) then
        call device_unpack(m%shape, ghost_face(m%shape, d, end), c_loc(e%in(1, 1, 1, end)), c_loc(m%now))
      else
        call host_unpack(ghost_face(m%shape, d, end), e%in(:, 1, 1, end), m%now)
      end if
    end do
    if (m%on_device) call device_wait()
  end subroutine unpack_faces

  ! Returns the cells of all variables of a face.
  pure integer function cells_of(m, box)
    type(mesh_t), intent(in) :: m
    type(box_t), intent(in) :: box
    cells_of = product(box%length) * m%shape%variables
  end function cells_of

end module exchange
