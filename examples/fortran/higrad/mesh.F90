! The cells of a rank: two copies, one for this step and one for the next.
#include "interface.inc"
module mesh
  USE_MPI
  use, intrinsic :: iso_c_binding, only: c_loc
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use device, only: device_advance, device_download, device_upload, device_wait
  use grid, only: grid_t
  use host, only: host_advance
  use memory, only: new_cells, free_cells, bytes_of
  use shape_of_mesh, only: shape_t, sides
  implicit none
  private
  public :: mesh_t, make_mesh, free_mesh, fill, advance, checksum

  type mesh_t
    type(shape_t) :: shape
    logical :: on_device
    real(real64), pointer, contiguous :: now(:, :, :, :), next(:, :, :, :)
  end type mesh_t

  ! What ghost cells have before the first exchange. It spoils the result if a cell is forgotten.
  real(real64), parameter :: poison = -1e30_real64

contains

  function make_mesh(shape, on_device) result(m)
    type(shape_t), intent(in) :: shape
    logical, intent(in) :: on_device
    type(mesh_t) :: m
    m%shape = shape
    m%on_device = on_device
    m%now => new_cells(on_device, [sides(shape), shape%variables])
    m%next => new_cells(on_device, [sides(shape), shape%variables])
  end function make_mesh

  subroutine free_mesh(m)
    type(mesh_t), intent(inout) :: m
    call free_cells(m%on_device, m%now)
    call free_cells(m%on_device, m%next)
  end subroutine free_mesh

  ! Sets the cells to what they are at the beginning. A value depends on the place in the whole
  ! mesh, without any symmetry that could hide a wrong cell.
  subroutine fill(m, g)
    type(mesh_t), intent(inout) :: m
    type(grid_t), intent(in) :: g
    real(real64), pointer, contiguous :: image(:, :, :, :)
    integer :: i, j, k, v, x, y, z, h, number
    h = m%shape%ghost
    image => m%now
    if (m%on_device) image => new_cells(.false., [sides(m%shape), m%shape%variables])
    image = poison
    do v = 1, m%shape%variables
      do k = 1, m%shape%cells(3)
        do j = 1, m%shape%cells(2)
          do i = 1, m%shape%cells(1)
            x = g%first(1) + i
            y = g%first(2) + j
            z = g%first(3) + k
            number = x * (x + 3 * y + 7) + y * (y + 5 * z + 11) + z * (z + 13) + 17 * v
            image(h + i, h + j, h + k, v) = modulo(number, 251) / 256d0
          end do
        end do
      end do
    end do
    if (.not. m%on_device) return
    call device_upload(c_loc(m%now), c_loc(image), bytes_of(image))
    call free_cells(.false., image)
  end subroutine fill

  ! One step of time. Needs the ghost cells.
  subroutine advance(m)
    type(mesh_t), intent(inout) :: m
    real(real64), pointer, contiguous :: last(:, :, :, :)
    if (m%on_device) then
      call device_advance(m%shape, c_loc(m%now), c_loc(m%next))
      call device_wait()
    else
      call host_advance(m%shape, m%now, m%next)
    end if
    last => m%now
    m%now => m%next
    m%next => last
  end subroutine advance

  ! Collective. Returns the same number on every rank, however many there are: the exclusive or of
  ! the bits of all cells, each turned by its place in the whole mesh.
  integer(int64) function checksum(m, g, whole)
    type(mesh_t), intent(in) :: m
    type(grid_t), intent(in) :: g
    integer, intent(in) :: whole(3)  ! cells of the whole mesh
    real(real64), pointer, contiguous :: image(:, :, :, :)
    integer(int64) :: mine, place
    integer :: i, j, k, v, h, ierror
    h = m%shape%ghost
    image => m%now
    if (m%on_device) then
      image => new_cells(.false., [sides(m%shape), m%shape%variables])
      call device_download(c_loc(image), c_loc(m%now), bytes_of(image))
    end if
    mine = 0
    do v = 1, m%shape%variables
      do k = 1, m%shape%cells(3)
        do j = 1, m%shape%cells(2)
          do i = 1, m%shape%cells(1)
            place = v - 1
            place = place * whole(3) + g%first(3) + k - 1
            place = place * whole(2) + g%first(2) + j - 1
            place = place * whole(1) + g%first(1) + i - 1
            mine = ieor(mine, ishftc(transfer(image(h + i, h + j, h + k, v), mine), int(modulo(place, 61_int64))))
          end do
        end do
      end do
    end do
    if (m%on_device) call free_cells(.false., image)
    call MPI_Allreduce(mine, checksum, 1, MPI_INTEGER8, MPI_BXOR, g%comm, ierror)
  end function checksum

end module mesh
