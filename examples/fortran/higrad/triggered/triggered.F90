! Exchanges that the stream of the program starts, in one of three ways (options 3, 4 and 5). The
! host waits for the stream in one place, and only because the program measures.
#include "../interface.inc"
module triggered
  USE_MPI
  use, intrinsic :: iso_c_binding, only: c_associated, c_int, c_loc, c_null_ptr, c_ptr
  use, intrinsic :: iso_fortran_env, only: error_unit, real64
  use device, only: device_begin_capture, device_end_capture, device_free_graph, device_launch_graph, &
    device_prepare_send, device_send, device_stream, device_wait
  use dunnage
  use grid, only: grid_t, tag
  use mesh, only: mesh_t
  use options, only: by_graph, by_kernels
  use shape_of_mesh, only: low, high
  implicit none
  private
  public :: triggered_t, make_triggered, free_triggered, exchange_triggered, describe_triggered

  ! Requests name a buffer, and the two buffers of a mesh change places in each step. So each buffer
  ! has exchanges of its own.
  type triggered_t
    integer :: way
    logical :: possible = .true.
    integer :: variables
    type(DNG_Queue) :: queue
    type(c_ptr) :: buffer(2)
    type(DNG_Exchange) :: exchange(3, 2)  ! of each dimension and buffer
    type(c_ptr) :: device(3, 2)           ! these exchanges as kernels know them (option 5)
    type(c_ptr) :: graph(2) = c_null_ptr  ! of each buffer (option 4)
  end type triggered_t

contains

  ! Collective. The types are those of a message, or of a partition in option 5. If the way is not
  ! possible on some rank, writes why, and the result can only be freed.
  function make_triggered(m, g, way, inner, ghost, variables_each) result(t)
    type(mesh_t), intent(in) :: m
    type(grid_t), intent(in) :: g
    integer, intent(in) :: way
    DATATYPE, intent(in) :: inner(low:high, 3), ghost(low:high, 3)
    integer, intent(in) :: variables_each  ! of a message
    type(triggered_t) :: t
    integer :: b, ierror
    t%way = way
    t%variables = m%shape%variables
    t%buffer = [c_loc(m%now), c_loc(m%next)]
    call DNG_Queue_create(device_stream(), t%queue, ierror)
    call check(ierror, 'DNG_Queue_create')
    call match_all(m%now, 1)
    call match_all(m%next, 2)
    if (way == by_graph) then
      do b = 1, 2
        if (t%possible) call capture(t, b, g)
      end do
    else if (way == by_kernels) then
      call give_to_kernels(t, g)
    end if

  contains

    subroutine match_all(cells, b)
      real(real64), contiguous, asynchronous, intent(inout) :: cells(:, :, :, :)
      integer, intent(in) :: b
      integer :: d
      do d = 1, 3
        if (way /= by_kernels) call match(cells, d, t%exchange(d, b))
#ifdef PARTITIONED
        if (way == by_kernels) call match_partitioned(cells, d, t%exchange(d, b))
#endif
      end do
    end subroutine match_all

    ! Makes the requests that exchange.F90 makes for option 1, but persistent ones.
    subroutine match(cells, d, exchange)
      real(real64), contiguous, asynchronous, intent(inout) :: cells(:, :, :, :)
      integer, intent(in) :: d
      type(DNG_Exchange), intent(inout) :: exchange
      REQUEST :: requests(4 * t%variables)
      integer :: v, end, n
      n = 0
      do v = 1, t%variables, variables_each
        do end = low, high
          call MPI_Send_init(cells(1, 1, 1, v), 1, inner(end, d), g%neighbour(end, d), tag(v, end), g%comm, &
                             requests(n + 1), ierror)
          call MPI_Recv_init(cells(1, 1, 1, v), 1, ghost(end, d), g%neighbour(end, d), tag(v, low + high - end), &
                             g%comm, requests(n + 2), ierror)
          n = n + 2
        end do
      end do
      call DNG_Match(n, VALUE_OF(requests), exchange, ierror)
      call check(ierror, 'DNG_Match')
    end subroutine match

#ifdef PARTITIONED
    ! Each request has a partition for each variable. The extent of the types is one variable.
    subroutine match_partitioned(cells, d, exchange)
      real(real64), contiguous, asynchronous, intent(inout) :: cells(:, :, :, :)
      integer, intent(in) :: d
      type(DNG_Exchange), intent(inout) :: exchange
      integer(MPI_COUNT_KIND), parameter :: one = 1
      REQUEST :: requests(4)
      integer :: end
      do end = low, high
        call MPI_Psend_init(cells(1, 1, 1, 1), t%variables, one, inner(end, d), g%neighbour(end, d), tag(1, end), &
                            g%comm, MPI_INFO_NULL, requests(end), ierror)
        call MPI_Precv_init(cells(1, 1, 1, 1), t%variables, one, ghost(end, d), g%neighbour(end, d), &
                            tag(1, low + high - end), g%comm, MPI_INFO_NULL, requests(high + end), ierror)
      end do
      call DNG_Match(4, VALUE_OF(requests), exchange, ierror)
      call check(ierror, 'DNG_Match')
    end subroutine match_partitioned
#endif

  end function make_triggered

  ! Captures the exchanges of all dimensions.
  subroutine capture(t, b, g)
    type(triggered_t), intent(inout) :: t
    integer, intent(in) :: b
    type(grid_t), intent(in) :: g
    integer :: d, code, ierror
    code = MPI_SUCCESS
    call device_begin_capture()
    do d = 1, 3
      call DNG_Start_enqueue(t%exchange(d, b), t%queue, ierror)
      if (ierror == MPI_SUCCESS) call DNG_Wait_enqueue(t%exchange(d, b), t%queue, ierror)
      if (code == MPI_SUCCESS) code = ierror
    end do
    t%graph(b) = device_end_capture()
    call agree(t, g, code)
  end subroutine capture

  subroutine give_to_kernels(t, g)
    type(triggered_t), intent(inout) :: t
    type(grid_t), intent(in) :: g
    integer :: b, d, code, ierror
    code = MPI_SUCCESS
    do b = 1, 2
      do d = 1, 3
        call DNG_Exchange_device(t%exchange(d, b), t%device(d, b), ierror)
        if (code == MPI_SUCCESS) code = ierror
      end do
    end do
    call agree(t, g, code)
    if (t%possible) call device_prepare_send()
  end subroutine give_to_kernels

  ! Collective. The way is possible if no rank has an error. Else the first rank that has one writes
  ! it.
  subroutine agree(t, g, code)
    type(triggered_t), intent(inout) :: t
    type(grid_t), intent(in) :: g
    integer, intent(in) :: code
    integer :: failed, first, length, way, ierror
    character(MPI_MAX_ERROR_STRING) :: error
    character(500) :: why
    failed = merge(g%ranks, g%rank, code == MPI_SUCCESS)
    call MPI_Allreduce(failed, first, 1, MPI_INTEGER, MPI_MIN, g%comm, ierror)
    t%possible = first == g%ranks
    if (first /= g%rank) return
    call MPI_Error_string(code, error, length, ierror)
    ! Dunnage's errors say why. Without Dunnage they are the MPI's.
    call DNG_Exchange_query(t%exchange(1, 1), way, why, ierror)
    if (index(error, trim(why)) == 0) error = trim(why) // ': ' // error
    write (error_unit, '(a,i0,2a)') 'higrad: option ', t%way, ' cannot run here: ', trim(error)
  end subroutine agree

  ! Fills the ghost cells.
  subroutine exchange_triggered(t, m)
    type(triggered_t), intent(in) :: t
    type(mesh_t), intent(in) :: m
    type(c_ptr) :: now
    integer :: b, d, ierror
    now = c_loc(m%now)
    b = merge(1, 2, c_associated(now, t%buffer(1)))
    if (t%way == by_graph) then
      call device_launch_graph(t%graph(b))
    else
      do d = 1, 3
        call DNG_Start_enqueue(t%exchange(d, b), t%queue, ierror)
        call check(ierror, 'DNG_Start_enqueue')
        if (t%way == by_kernels) call device_send(t%device(d, b), int(t%variables, c_int))
        call DNG_Wait_enqueue(t%exchange(d, b), t%queue, ierror)
        call check(ierror, 'DNG_Wait_enqueue')
      end do
    end if
    ! An application leaves this out: the next computation follows in the stream.
    call device_wait()
  end subroutine exchange_triggered

  ! Collective. Returns the ways that the exchanges take on any rank, and why this rank's first one
  ! does.
  subroutine describe_triggered(t, g, ways, why)
    type(triggered_t), intent(in) :: t
    type(grid_t), intent(in) :: g
    character(:), allocatable, intent(out) :: ways, why
    character(*), parameter :: names(DNG_WAY_MPI:DNG_WAY_PROXY) = [character(17) :: &
      'mpi', 'memory-operations', 'kernels', 'proxy']
    character(500) :: text
    integer :: b, d, way, mine, all, ierror
    mine = 0
    do b = 2, 1, -1
      do d = 3, 1, -1
        call DNG_Exchange_query(t%exchange(d, b), way, text, ierror)
        call check(ierror, 'DNG_Exchange_query')
        mine = ibset(mine, way)
      end do
    end do
    why = trim(text)
    call MPI_Allreduce(mine, all, 1, MPI_INTEGER, MPI_BOR, g%comm, ierror)
    ways = ''
    do way = lbound(names, 1), ubound(names, 1)
      if (.not. btest(all, way)) cycle
      if (ways /= '') ways = ways // ', '
      ways = ways // trim(names(way))
    end do
  end subroutine describe_triggered

  ! The mesh must still be there.
  subroutine free_triggered(t)
    type(triggered_t), intent(inout) :: t
    integer :: b, d, ierror
    do b = 1, 2
      if (c_associated(t%graph(b))) call device_free_graph(t%graph(b))
      do d = 1, 3
        call DNG_Exchange_free(t%exchange(d, b), ierror)
        call check(ierror, 'DNG_Exchange_free')
      end do
    end do
    call DNG_Queue_free(t%queue, ierror)
    call check(ierror, 'DNG_Queue_free')
  end subroutine free_triggered

  ! Ends all ranks if a call has failed.
  subroutine check(code, call_name)
    integer, intent(in) :: code
    character(*), intent(in) :: call_name
    character(MPI_MAX_ERROR_STRING) :: why
    integer :: length, ierror
    if (code == MPI_SUCCESS) return
    call MPI_Error_string(code, why, length, ierror)
    write (error_unit, '(4a)') 'higrad: ', call_name, ': ', why(:length)
    call MPI_Abort(MPI_COMM_WORLD, 5, ierror)
  end subroutine check

end module triggered
