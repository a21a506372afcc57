! Arrays of cells in host or device memory.
!
! An array in device memory has an address on the GPU. Fortran and C code of this program passes
! such an array on, and never touches its elements.
module memory
  use, intrinsic :: iso_c_binding, only: c_size_t, c_loc, c_f_pointer
  use, intrinsic :: iso_fortran_env, only: real64
  use device, only: device_allocate, device_free
  implicit none
  private
  public :: new_cells, free_cells, bytes_of

contains

  function new_cells(on_device, extents) result(cells)
    logical, intent(in) :: on_device
    integer, intent(in) :: extents(4)
    real(real64), pointer, contiguous :: cells(:, :, :, :)
    if (on_device) then
      call c_f_pointer(device_allocate(product(int(extents, c_size_t)) * 8_c_size_t), cells, extents)
    else
      allocate (cells(extents(1), extents(2), extents(3), extents(4)))
    end if
  end function new_cells

  subroutine free_cells(on_device, cells)
    logical, intent(in) :: on_device
    real(real64), pointer, contiguous, intent(inout) :: cells(:, :, :, :)
    if (on_device) then
      call device_free(c_loc(cells))
      nullify (cells)
    else
      deallocate (cells)
    end if
  end subroutine free_cells

  pure integer(c_size_t) function bytes_of(cells)
    real(real64), intent(in) :: cells(:, :, :, :)
    bytes_of = size(cells, kind=c_size_t) * 8
  end function bytes_of

end module memory
