! The work on cells in host memory. kernels.cu has the same for device memory.
module host
  use, intrinsic :: iso_fortran_env, only: real64
  use shape_of_mesh, only: shape_t, box_t
  implicit none
  private
  public :: host_advance, host_pack, host_unpack, host_copy

contains

  ! One step of advection along (1, 1, 1), and of diffusion between cells that are as far apart as
  ! the ghost cells are deep. A cell needs all 26 neighbours at that distance, so every ghost cell
  ! counts.
  !
  ! All factors are powers of two. Products are exact therefore, and the result is the same to the
  ! last bit whether or not a compiler joins a product and a sum into one instruction.
  subroutine host_advance(shape, from, to)
    type(shape_t), intent(in) :: shape
    real(real64), intent(in) :: from(1 - shape%ghost:shape%cells(1) + shape%ghost, &
      1 - shape%ghost:shape%cells(2) + shape%ghost, 1 - shape%ghost:shape%cells(3) + shape%ghost, shape%variables)
    real(real64), intent(inout) :: to(1 - shape%ghost:shape%cells(1) + shape%ghost, &
      1 - shape%ghost:shape%cells(2) + shape%ghost, 1 - shape%ghost:shape%cells(3) + shape%ghost, shape%variables)
    real(real64) :: here, around
    integer :: i, j, k, v, a, b, c, h
    h = shape%ghost
    do v = 1, shape%variables
      do k = 1, shape%cells(3)
        do j = 1, shape%cells(2)
          do i = 1, shape%cells(1)
            here = from(i, j, k, v)
            around = 0
            do c = -1, 1
              do b = -1, 1
                do a = -1, 1
                  around = around + (from(i + a * h, j + b * h, k + c * h, v) - here)
                end do
              end do
            end do
            to(i, j, k, v) = here - 0.125d0 * (here - from(i - 1, j, k, v)) - 0.0625d0 * (here - from(i, j - 1, k, v)) &
              - 0.03125d0 * (here - from(i, j, k - 1, v)) + 0.00390625d0 * around
          end do
        end do
      end do
    end do
  end subroutine host_advance

  ! Copies a box of all variables into a contiguous buffer.
  subroutine host_pack(box, cells, buffer)
    type(box_t), intent(in) :: box
    real(real64), intent(in) :: cells(0:, 0:, 0:, 0:)
    real(real64), intent(inout) :: buffer(0:box%length(1) - 1, 0:box%length(2) - 1, 0:box%length(3) - 1, 0:*)
    integer :: i, j, k, v
    do v = 0, size(cells, 4) - 1
      do k = 0, box%length(3) - 1
        do j = 0, box%length(2) - 1
          do i = 0, box%length(1) - 1
            buffer(i, j, k, v) = cells(box%first(1) + i, box%first(2) + j, box%first(3) + k, v)
          end do
        end do
      end do
    end do
  end subroutine host_pack

  ! Copies a contiguous buffer into a box of all variables.
  subroutine host_unpack(box, buffer, cells)
    type(box_t), intent(in) :: box
    real(real64), intent(in) :: buffer(0:box%length(1) - 1, 0:box%length(2) - 1, 0:box%length(3) - 1, 0:*)
    real(real64), intent(inout) :: cells(0:, 0:, 0:, 0:)
    integer :: i, j, k, v
    do v = 0, size(cells, 4) - 1
      do k = 0, box%length(3) - 1
        do j = 0, box%length(2) - 1
          do i = 0, box%length(1) - 1
            cells(box%first(1) + i, box%first(2) + j, box%first(3) + k, v) = buffer(i, j, k, v)
          end do
        end do
      end do
    end do
  end subroutine host_unpack

  ! Copies a box of all variables to the same place of another mesh.
  subroutine host_copy(box, from, to)
    type(box_t), intent(in) :: box
    real(real64), intent(in) :: from(0:, 0:, 0:, 0:)
    real(real64), intent(inout) :: to(0:, 0:, 0:, 0:)
    integer :: j, k, v, first, last
    first = box%first(1)
    last = first + box%length(1) - 1
    do v = 0, size(from, 4) - 1
      do k = box%first(3), box%first(3) + box%length(3) - 1
        do j = box%first(2), box%first(2) + box%length(2) - 1
          to(first:last, j, k, v) = from(first:last, j, k, v)
        end do
      end do
    end do
  end subroutine host_copy

end module host
