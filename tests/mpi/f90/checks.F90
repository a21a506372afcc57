! What every check of the contract is told to, in the words that tests/mpi/conftest.py reads.
module checks
  use, intrinsic :: iso_fortran_env, only: error_unit
  implicit none
  integer :: made = 0, failed = 0, rank = -1
contains
  subroutine expect(right, name)
    logical, intent(in) :: right
    character(*), intent(in) :: name
    made = made + 1
    if (right) return
    failed = failed + 1
    write (error_unit, '(a,i0,3a)') 'FAIL rank=', rank, ' check="', name, '"'
  end subroutine expect

  ! For the compiler: this may have changed.
  subroutine touch(buffer)
    double precision, intent(inout) :: buffer(*)
    if (rank < -1) buffer(1) = 0
  end subroutine touch
end module checks
