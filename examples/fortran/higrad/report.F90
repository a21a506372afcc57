! What the program writes: a table, or JSON lines.
#include "interface.inc"
module report
  USE_MPI
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use grid, only: grid_t
  use options, only: options_t, names, by_stream
  implicit none
  private
  public :: write_head, write_result

contains

  subroutine write_head(o, g)
    type(options_t), intent(in) :: o
    type(grid_t), intent(in) :: g
    character(MPI_MAX_LIBRARY_VERSION_STRING) :: version
    integer :: length, ierror
    if (o%json) then
      version = ''
      call MPI_Get_library_version(version, length, ierror)
      print '(5a)', '{"record":"header","interface":"', INTERFACE_NAME, '","library_version":"', first_line(version), &
        '"}'
      return
    end if
    print '(9a)', 'higrad: ', INTERFACE_NAME, ', ', memory(o), ' memory, ', text(g%ranks), ' ranks (', &
      joined(g%shape, 'x'), ')'
    print '(8a)', 'mesh of ', joined(o%mesh, 'x'), ' cells, ', text(o%variables), ' variables, ghost cells ', &
      text(o%ghost), ' deep, median of ', text(o%steps) // ' steps'
    print '(a32,2a12,a10,2x,a)', [character(32) :: 'option'], 'compute', 'exchange', 'exchange', &
      trim(merge('checksum          way', 'checksum             ', any(o%ways >= by_stream)))
    print '(a32,2a12,a10)', '', 'ms', 'ms', '%'
  end subroutine write_head

  ! The times are seconds of each step on the slowest rank. `ways` and `why` are empty if the host
  ! starts the messages.
  subroutine write_result(o, g, way, compute, communicate, checksum, ways, why)
    type(options_t), intent(in) :: o
    type(grid_t), intent(in) :: g
    integer, intent(in) :: way
    real(real64), intent(in) :: compute(:), communicate(:)
    integer(int64), intent(in) :: checksum
    character(*), intent(in) :: ways, why
    real(real64) :: work, exchange
    work = median(compute)
    exchange = median(communicate)
    if (o%json) then
      print '(*(a))', '{"record":"result","option":', text(way), ',"interface":"', INTERFACE_NAME, '","memory":"', &
        memory(o), '","ranks":', text(g%ranks), ',"grid":[', joined(g%shape, ','), '],"mesh":[', joined(o%mesh, ','), &
        '],"variables":', text(o%variables), ',"ghost":', text(o%ghost), ',"messages":"', &
        trim(merge('face    ', 'variable', o%joined)), '","checksum":"', hexadecimal(checksum), &
        '"', described(ways, why), ',"compute":', series(compute), ',"communication":', series(communicate), '}'
    else
      print '(i0,2x,a29,2f12.3,f10.1,2x,a)', way, names(way), 1e3 * work, 1e3 * exchange, &
        100 * exchange / (work + exchange), trim(hexadecimal(checksum) // '  ' // ways)
    end if
  end subroutine write_result

  pure function described(ways, why) result(json)
    character(*), intent(in) :: ways, why
    character(:), allocatable :: json
    json = ''
    if (ways /= '') json = ',"way":"' // ways // '","why":"' // first_line(why) // '"'
  end function described

  pure function memory(o)
    type(options_t), intent(in) :: o
    character(:), allocatable :: memory
    memory = trim(merge('device', 'host  ', o%on_device))
  end function memory

  pure function text(number)
    integer, intent(in) :: number
    character(:), allocatable :: text
    character(16) :: digits
    write (digits, '(i0)') number
    text = trim(digits)
  end function text

  pure function joined(three, mark)
    integer, intent(in) :: three(3)
    character(*), intent(in) :: mark
    character(:), allocatable :: joined
    joined = text(three(1)) // mark // text(three(2)) // mark // text(three(3))
  end function joined

  pure function hexadecimal(number) result(digits)
    integer(int64), intent(in) :: number
    character(16) :: digits
    write (digits, '(z16.16)') number
  end function hexadecimal

  ! Returns the first line, without what would end a text in JSON.
  pure function first_line(lines) result(line)
    character(*), intent(in) :: lines
    character(:), allocatable :: line
    integer :: i
    line = trim(lines)
    do i = 1, len(line)
      if (line(i:i) == new_line('a')) then
        line = line(:i - 1)
        return
      end if
      if (iachar(line(i:i)) < 32) line(i:i) = ' '
      if (line(i:i) == '"' .or. line(i:i) == '\') line(i:i) = "'"
    end do
  end function first_line

  pure function series(seconds) result(json)
    real(real64), intent(in) :: seconds(:)
    character(:), allocatable :: json
    character(16) :: digits
    integer :: i
    write (digits, '(es14.6)') median(seconds)
    json = '{"median":' // trim(adjustl(digits)) // ',"samples":['
    do i = 1, size(seconds)
      write (digits, '(es14.6)') seconds(i)
      json = json // merge(',', ' ', i > 1) // trim(adjustl(digits))
    end do
    json = json // ']}'
  end function series

  pure real(real64) function median(values)
    real(real64), intent(in) :: values(:)
    real(real64) :: sorted(size(values)), one
    integer :: i, j
    sorted = values
    do i = 2, size(sorted)
      one = sorted(i)
      do j = i - 1, 1, -1
        if (sorted(j) <= one) exit
        sorted(j + 1) = sorted(j)
      end do
      sorted(j + 1) = one
    end do
    i = (size(sorted) + 1) / 2
    median = (sorted(i) + sorted(size(sorted) + 1 - i)) / 2
  end function median

end module report
