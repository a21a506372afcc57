! Every call that Dunnage hooks, through one Fortran interface, on strided data around a ring of
! ranks.
#include "interface.h"
program contract
  use checks
  use other_interface
  USE_MPI
  implicit none

  integer, parameter :: most = 6000
  double precision, asynchronous :: a(most + 20), b(most + 20), packed(most + 20)
  double precision, parameter :: untouched = -1
  integer :: ierror, ranks, next, previous, blocks, i, all_failed, total_failed, all_made
  integer :: handler_calls = 0
  logical :: flag
  character, allocatable :: attached(:)
  DATATYPE :: column

  call MPI_Init(ierror)
  call expect(ierror == MPI_SUCCESS, 'init')
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  next = modulo(rank + 1, ranks)
  previous = modulo(rank - 1, ranks)
  allocate (attached(1000000))
  call MPI_Buffer_attach(attached, size(attached), ierror)

  do i = 1, 2
    blocks = merge(20, most / 2, i == 1)
    call MPI_Type_vector(blocks, 1, 2, MPI_DOUBLE_PRECISION, column, ierror)
    call MPI_Type_commit(column, ierror)
    call expect(ierror == MPI_SUCCESS, 'commit')
    call modes
    call blocking
    call completions
    call persistent
    call both_ways
    call probes
    call packing
    call types
    call sentinels
    call collectives
    call interfaces
    call errors
#if defined(F08)
    call without_ierror
    call sections
#endif
    call MPI_Type_free(column, ierror)
    call expect(ierror == MPI_SUCCESS, 'free')
    call expect(column == MPI_DATATYPE_NULL, 'a freed type is null')
  end do
  call null_handles

  call MPI_Reduce(made, all_made, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierror)
  call MPI_Reduce(failed, total_failed, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierror)
  call MPI_Allreduce(failed, all_failed, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierror)
  if (rank == 0) print '(3a,i0,a,i0,a)', 'contract ', 'fortran', ': ', all_made, ' checks, ', total_failed, ' failed'
  call MPI_Finalize(ierror)
  if (all_failed > 0) stop 1

contains

  ! --- what is sent and what must have come

  double precision function element(owner, place)
    integer, intent(in) :: owner, place
    element = owner * 1d6 + place
  end function element

  subroutine fresh
    integer :: k
    a = [(element(rank, k), k = 1, size(a))]
    b = untouched
  end subroutine fresh

  ! b holds the column of `owner` from its `first` place on, and nothing else.
  logical function holds(owner, first)
    integer, intent(in) :: owner
    integer, intent(in), optional :: first
    integer :: k, begin
    begin = 1
    if (present(first)) begin = first
    holds = all([(b(k) == element(owner, k), k = begin, begin + 2 * blocks - 2, 2)]) .and. &
            all([(b(k) == untouched, k = begin + 1, begin + 2 * blocks - 1, 2)]) .and. &
            all(b(1:begin - 1) == untouched) .and. all(b(begin + 2 * blocks:) == untouched)
  end function holds

  subroutine check(status, tag, name)
    STATUS(status)
    integer, intent(in) :: tag
    character(*), intent(in) :: name
    integer :: count
    call expect(SOURCE_OF(status) == previous .and. TAG_OF(status) == tag, name // ', status')
    call MPI_Get_count(status, column, count, ierror)
    call expect(count == 1, name // ', count of the type')
    call MPI_Get_count(status, MPI_DOUBLE_PRECISION, count, ierror)
    call expect(count == blocks, name // ', count of elements')
    call expect(holds(previous), name // ', data')
  end subroutine check

  ! --- families of calls

  subroutine modes
    integer :: mode
    character(7), parameter :: names(8) = &
      ['send   ', 'ssend  ', 'rsend  ', 'bsend  ', 'isend  ', 'issend ', 'irsend ', 'ibsend ']
    REQUEST :: requests(2)
    STATUSES(statuses, 2)
    do mode = 1, 8
      call fresh
      call MPI_Irecv(b, 1, column, previous, mode, MPI_COMM_WORLD, requests(1), ierror)
      call MPI_Barrier(MPI_COMM_WORLD, ierror)  ! a ready send needs its receive
      requests(2) = MPI_REQUEST_NULL
      select case (mode)
      case (1); call MPI_Send(a, 1, column, next, mode, MPI_COMM_WORLD, ierror)
      case (2); call MPI_Ssend(a, 1, column, next, mode, MPI_COMM_WORLD, ierror)
      case (3); call MPI_Rsend(a, 1, column, next, mode, MPI_COMM_WORLD, ierror)
      case (4); call MPI_Bsend(a, 1, column, next, mode, MPI_COMM_WORLD, ierror)
      case (5); call MPI_Isend(a, 1, column, next, mode, MPI_COMM_WORLD, requests(2), ierror)
      case (6); call MPI_Issend(a, 1, column, next, mode, MPI_COMM_WORLD, requests(2), ierror)
      case (7); call MPI_Irsend(a, 1, column, next, mode, MPI_COMM_WORLD, requests(2), ierror)
      case (8); call MPI_Ibsend(a, 1, column, next, mode, MPI_COMM_WORLD, requests(2), ierror)
      end select
      call expect(ierror == MPI_SUCCESS, trim(names(mode)) // ' returns success')
      call MPI_Waitall(2, requests, statuses, ierror)
      call expect(all([requests(1) == MPI_REQUEST_NULL, requests(2) == MPI_REQUEST_NULL]), &
        trim(names(mode)) // ', requests')
      call check(ONE_STATUS(statuses, 1), mode, trim(names(mode)))
    end do
  end subroutine modes

  subroutine blocking
    REQUEST :: request
    STATUS(status)
    call fresh
    call MPI_Isend(a(5), 1, column, next, 1, MPI_COMM_WORLD, request, ierror)
    call MPI_Recv(b(5), 1, column, previous, 1, MPI_COMM_WORLD, status, ierror)
    call expect(holds(previous, 5), 'recv into the middle')
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call fresh
    call MPI_Isend(a, 1, column, next, 2, MPI_COMM_WORLD, request, ierror)
    call MPI_Recv(b, 1, column, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    call expect(holds(previous), 'recv without a status')
    call MPI_Wait(request, status, ierror)
  end subroutine blocking

  subroutine completions
    integer, parameter :: ways = 9
    character(8), parameter :: names(5:8) = ['waitany ', 'testany ', 'waitsome', 'testsome']
    logical :: before, now
    integer :: way, outcount, indices(3), place, k, done
    REQUEST :: requests(3)
    STATUS(status)
    STATUSES(statuses, 3)
    do way = 1, ways
      call fresh
      requests(1) = MPI_REQUEST_NULL
      call MPI_Irecv(b, 1, column, previous, way, MPI_COMM_WORLD, requests(2), ierror)
      call MPI_Issend(a, 1, column, next, way, MPI_COMM_WORLD, requests(3), ierror)
      flag = .false.
      select case (way)
      case (1)
        call MPI_Wait(requests(2), status, ierror)
        call check(status, way, 'wait')
      case (2)
        do while (.not. flag)
          call MPI_Test(requests(2), flag, status, ierror)
        end do
        call check(status, way, 'test')
      case (3)
        call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE, ierror)
        call expect(holds(previous), 'waitall without statuses')
      case (4)
        do while (.not. flag)
          call MPI_Testall(3, requests, flag, statuses, ierror)
        end do
        call check(ONE_STATUS(statuses, 2), way, 'testall')
      case (5, 6)
        done = 0
        do while (done < 2)
          before = requests(2) == MPI_REQUEST_NULL
          flag = .true.
          if (way == 5) call MPI_Waitany(3, requests, place, status, ierror)
          if (way == 6) call MPI_Testany(3, requests, place, flag, status, ierror)
          if (.not. flag) cycle
          done = done + 1
          now = requests(2) == MPI_REQUEST_NULL .and. .not. before
          call expect(place == merge(2, 3, now), trim(names(way)) // ' counts from 1')
          if (now) call check(status, way, trim(names(way)))
        end do
        if (way == 5) call MPI_Waitany(3, requests, place, MPI_STATUS_IGNORE, ierror)
        if (way == 6) call MPI_Testany(3, requests, place, flag, MPI_STATUS_IGNORE, ierror)
        call expect(flag .and. place == MPI_UNDEFINED, trim(names(way)) // ' of nothing')
      case (7, 8)
        done = 0
        do while (done < 2)
          before = requests(2) == MPI_REQUEST_NULL
          if (way == 7) call MPI_Waitsome(3, requests, outcount, indices, statuses, ierror)
          if (way == 8) call MPI_Testsome(3, requests, outcount, indices, statuses, ierror)
          if (outcount == 0) cycle
          now = requests(2) == MPI_REQUEST_NULL .and. .not. before
          call expect((now .eqv. any(indices(1:outcount) == 2)) .and. all(indices(1:outcount) > 1), &
                      trim(names(way)) // ' counts from 1')
          if (now) call expect(holds(previous), trim(names(way)) // ', data')
          do k = 1, outcount
            if (now .and. indices(k) == 2 .and. all(indices(1:outcount) > 1)) &
              call check(ONE_STATUS(statuses, k), way, trim(names(way)) // ' in its place')
          end do
          done = done + outcount
        end do
        if (way == 7) call MPI_Waitsome(3, requests, outcount, indices, MPI_STATUSES_IGNORE, ierror)
        if (way == 8) call MPI_Testsome(3, requests, outcount, indices, MPI_STATUSES_IGNORE, ierror)
        call expect(outcount == MPI_UNDEFINED, trim(names(way)) // ' of nothing')
      case (9)
        do while (.not. flag)
          call MPI_Request_get_status(requests(2), flag, status, ierror)
        end do
        call check(status, way, 'request_get_status')
        call expect(.not. requests(2) == MPI_REQUEST_NULL, 'request_get_status leaves the request')
      end select
      call MPI_Waitall(3, requests, statuses, ierror)
      call expect(holds(previous), 'after everything')
      call expect(all([(requests(k) == MPI_REQUEST_NULL, k = 1, 3)]), 'requests end as null')
    end do
    call fresh
    call MPI_Irecv(b, 1, column, previous, 1, MPI_COMM_WORLD, requests(1), ierror)
    call MPI_Isend(a, 1, column, next, 1, MPI_COMM_WORLD, requests(2), ierror)
    call MPI_Request_free(requests(2), ierror)
    call expect(requests(2) == MPI_REQUEST_NULL, 'a freed request is null')
    call MPI_Wait(requests(1), status, ierror)
    call check(status, 1, 'from a freed send')
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
  end subroutine completions

  subroutine persistent
    integer :: mode, round, k
    REQUEST :: requests(2)
    STATUSES(statuses, 2)
    do mode = 1, 4
      call MPI_Recv_init(b, 1, column, previous, mode, MPI_COMM_WORLD, requests(1), ierror)
      select case (mode)
      case (1); call MPI_Send_init(a, 1, column, next, mode, MPI_COMM_WORLD, requests(2), ierror)
      case (2); call MPI_Ssend_init(a, 1, column, next, mode, MPI_COMM_WORLD, requests(2), ierror)
      case (3); call MPI_Rsend_init(a, 1, column, next, mode, MPI_COMM_WORLD, requests(2), ierror)
      case (4)  ! Open MPI's own MPI_Bsend_init sends wrong data where it is large
        if (blocks > 20) then
          call MPI_Send_init(a, 1, column, next, mode, MPI_COMM_WORLD, requests(2), ierror)
        else
          call MPI_Bsend_init(a, 1, column, next, mode, MPI_COMM_WORLD, requests(2), ierror)
        end if
      end select
      do round = 1, 3
        call fresh
        if (round == 1 .and. mode /= 3) then
          call MPI_Startall(2, requests, ierror)
        else
          call MPI_Start(requests(1), ierror)
          call MPI_Barrier(MPI_COMM_WORLD, ierror)
          call MPI_Start(requests(2), ierror)
        end if
        call expect(ierror == MPI_SUCCESS, 'start')
        call MPI_Waitall(2, requests, statuses, ierror)
        call check(ONE_STATUS(statuses, 1), mode, 'persistent')
        call expect(.not. any([(requests(k) == MPI_REQUEST_NULL, k = 1, 2)]), 'persistent requests stay')
        call MPI_Test(requests(1), flag, MPI_STATUS_IGNORE, ierror)
        call expect(flag, 'an inactive request is complete')
      end do
      call MPI_Request_free(requests(1), ierror)
      call MPI_Request_free(requests(2), ierror)
    end do
  end subroutine persistent

  subroutine both_ways
    STATUS(status)
    call fresh
    call MPI_Sendrecv(a, 1, column, next, 1, b, 1, column, previous, 1, MPI_COMM_WORLD, status, ierror)
    call check(status, 1, 'sendrecv')
    call fresh
    call MPI_Sendrecv(a, 1, column, next, 1, b, 1, column, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    call expect(holds(previous), 'sendrecv without a status')
    call fresh
    b(1:2 * blocks:2) = a(1:2 * blocks:2)
    call MPI_Sendrecv_replace(b, 1, column, next, 1, previous, 1, MPI_COMM_WORLD, status, ierror)
    call check(status, 1, 'sendrecv_replace')
    call fresh
    call MPI_Sendrecv(a, 1, column, MPI_PROC_NULL, 1, b, 1, column, MPI_PROC_NULL, 1, MPI_COMM_WORLD, status, ierror)
    call expect(SOURCE_OF(status) == MPI_PROC_NULL .and. all(b == untouched), 'sendrecv with nobody')
  end subroutine both_ways

  subroutine probes
    REQUEST :: request, receive
    MESSAGE :: message
    STATUS(status)
    integer :: way, count
    do way = 1, 4
      call fresh
      call MPI_Isend(a, 1, column, next, way, MPI_COMM_WORLD, request, ierror)
      flag = .false.
      select case (way)
      case (1); call MPI_Probe(previous, way, MPI_COMM_WORLD, status, ierror)
      case (2)
        do while (.not. flag)
          call MPI_Iprobe(previous, way, MPI_COMM_WORLD, flag, status, ierror)
        end do
      case (3); call MPI_Mprobe(previous, way, MPI_COMM_WORLD, message, status, ierror)
      case (4)
        do while (.not. flag)
          call MPI_Improbe(previous, way, MPI_COMM_WORLD, flag, message, status, ierror)
        end do
      end select
      call MPI_Get_count(status, MPI_DOUBLE_PRECISION, count, ierror)
      call expect(count == blocks .and. SOURCE_OF(status) == previous, 'probed')
      select case (way)
      case (1, 2); call MPI_Recv(b, 1, column, previous, way, MPI_COMM_WORLD, status, ierror)
      case (3); call MPI_Mrecv(b, 1, column, message, status, ierror)
      case (4)
        call MPI_Imrecv(b, 1, column, message, receive, ierror)
        call MPI_Wait(receive, status, ierror)
      end select
      if (way > 2) call expect(message == MPI_MESSAGE_NULL, 'a received message is null')
      call check(status, way, 'after a probe')
      call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    end do
    call MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, message, status, ierror)
    call expect(message == MPI_MESSAGE_NO_PROC, 'mprobe of nobody')
    call MPI_Mrecv(b, 1, column, message, status, ierror)
    call expect(SOURCE_OF(status) == MPI_PROC_NULL, 'mrecv from nobody')
  end subroutine probes

  subroutine packing
    integer :: bytes, position, k
    call fresh
    packed = untouched
    call MPI_Pack_size(1, column, MPI_COMM_WORLD, bytes, ierror)
    call expect(bytes >= 8 * blocks, 'pack_size')
    position = 0
    call MPI_Pack(a, 1, column, packed, bytes, position, MPI_COMM_WORLD, ierror)
    call expect(position == 8 * blocks .and. ierror == MPI_SUCCESS, 'pack, position')
    call expect(all([(packed(k) == element(rank, 2 * k - 1), k = 1, blocks)]), 'pack, data')
    position = 0
    call MPI_Unpack(packed, bytes, position, b, 1, column, MPI_COMM_WORLD, ierror)
    call expect(position == 8 * blocks .and. holds(rank), 'unpack')
  end subroutine packing

  subroutine types
    DATATYPE :: copy, gone, other, real8, basic(3)
    REQUEST :: requests(2)
    STATUS(status)
    integer :: k, count
    call MPI_Type_dup(column, copy, ierror)
    call fresh
    call MPI_Sendrecv(a, 1, copy, next, 1, b, 1, copy, previous, 1, MPI_COMM_WORLD, status, ierror)
    call check(status, 1, 'duplicate of a type')
    call MPI_Type_free(copy, ierror)

    ! Freed while it is in use, and its handle used again for something else.
    call MPI_Type_vector(blocks, 1, 2, MPI_DOUBLE_PRECISION, gone, ierror)
    call MPI_Type_commit(gone, ierror)
    call fresh
    call MPI_Irecv(b, 1, gone, previous, 1, MPI_COMM_WORLD, requests(1), ierror)
    call MPI_Type_free(gone, ierror)
    do k = 1, 20
      call MPI_Type_vector(k, 1, 3, MPI_DOUBLE_PRECISION, other, ierror)
      call MPI_Type_commit(other, ierror)
      call pack_one(other)
      call expect(all(packed(1:k) == a(1:3 * k:3)), 'a recycled type')
      if (k < 20) call MPI_Type_free(other, ierror)
    end do
    call MPI_Type_free(other, ierror)
    call MPI_Send(a, 1, column, next, 1, MPI_COMM_WORLD, ierror)
    call MPI_Wait(requests(1), status, ierror)
    call check(status, 1, 'with a type freed in between')

    ! Fortran's own basic types, and one made for a precision.
    basic = [MPI_REAL8, MPI_DOUBLE_PRECISION, MPI_INTEGER8]
    do k = 1, 3
      call MPI_Type_vector(blocks, 1, 2, basic(k), other, ierror)
      call MPI_Type_commit(other, ierror)
      call fresh
      call MPI_Sendrecv(a, 1, other, next, 1, b, 1, other, previous, 1, MPI_COMM_WORLD, status, ierror)
      call expect(holds(previous), 'of a Fortran type')
      call MPI_Type_free(other, ierror)
    end do
    call MPI_Type_create_f90_real(15, MPI_UNDEFINED, real8, ierror)
    call MPI_Type_vector(blocks, 1, 2, real8, other, ierror)
    call MPI_Type_commit(other, ierror)
    call fresh
    call MPI_Sendrecv(a, 1, other, next, 1, b, 1, other, previous, 1, MPI_COMM_WORLD, status, ierror)
    call MPI_Get_count(status, real8, count, ierror)
    call expect(holds(previous) .and. count == blocks, 'of a type made for a precision')
    call MPI_Type_free(other, ierror)
    call MPI_Type_vector(blocks / 2, 1, 2, MPI_2DOUBLE_PRECISION, other, ierror)
    call MPI_Type_commit(other, ierror)
    packed = untouched
    call fresh
    call pack_one(other)
    call expect(all([(packed(k) == a(4 * ((k - 1) / 2) + modulo(k - 1, 2) + 1), k = 1, blocks)]), 'of pairs')
    call MPI_Type_free(other, ierror)
  end subroutine types

  subroutine pack_one(datatype)
    DATATYPE, intent(in) :: datatype
    integer :: position
    position = 0
    call MPI_Pack(a, 1, datatype, packed, 8 * most, position, MPI_COMM_WORLD, ierror)
  end subroutine pack_one

  subroutine sentinels
    DATATYPE :: absolute
    STATUS(status)
    integer :: lengths(1)
    integer(MPI_ADDRESS_KIND) :: places(1)
    REQUEST :: request
    DATATYPE :: parts(1)
    lengths = 1
    parts = column
    call fresh
    call MPI_Get_address(b, places(1), ierror)
    call MPI_Type_create_struct(1, lengths, places, parts, absolute, ierror)
    call MPI_Type_commit(absolute, ierror)
    call MPI_Isend(a, 1, column, next, 1, MPI_COMM_WORLD, request, ierror)
    call MPI_Recv(MPI_BOTTOM, 1, absolute, previous, 1, MPI_COMM_WORLD, status, ierror)
    call touch(b)
    call check(status, 1, 'recv at MPI_BOTTOM')
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call MPI_Type_free(absolute, ierror)
    call fresh
    call MPI_Get_address(a, places(1), ierror)
    call MPI_Type_create_struct(1, lengths, places, parts, absolute, ierror)
    call MPI_Type_commit(absolute, ierror)
    call MPI_Irecv(b, 1, column, previous, 1, MPI_COMM_WORLD, request, ierror)
    call MPI_Send(MPI_BOTTOM, 1, absolute, next, 1, MPI_COMM_WORLD, ierror)
    call MPI_Wait(request, status, ierror)
    call check(status, 1, 'send at MPI_BOTTOM')
    call MPI_Type_free(absolute, ierror)
  end subroutine sentinels

  subroutine collectives
    double precision :: sums(4)
    integer :: k
    call fresh
    if (rank == 0) b(1:2 * blocks:2) = a(1:2 * blocks:2)
    call MPI_Bcast(b, 1, column, 0, MPI_COMM_WORLD, ierror)
    call expect(holds(0), 'bcast')
    sums = rank + 1
    call MPI_Allreduce(MPI_IN_PLACE, sums, 4, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierror)
    call expect(all(sums == ranks * (ranks + 1) / 2), 'allreduce in place')
    packed(1:ranks) = untouched
    packed(rank + 1) = rank
    call MPI_Allgather(MPI_IN_PLACE, 1, MPI_DOUBLE_PRECISION, packed, 1, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierror)
    call expect(all([(packed(k + 1) == k, k = 0, ranks - 1)]), 'allgather in place')
  end subroutine collectives

  ! A type committed, a receive started, waited for or a type freed by the program through another
  ! interface.
  subroutine interfaces
    DATATYPE :: foreign, used
    REQUEST :: mine(2)
    integer :: way, handle, theirs(2)
    call MPI_Type_vector(blocks, 1, 2, MPI_DOUBLE_PRECISION, foreign, ierror)
    call other_commit(VALUE_OF(foreign))
    do way = 0, 7  ! by whom the type is committed, the operations are started, and they are waited for
      handle = VALUE_OF(column)
      if (btest(way, 0)) handle = VALUE_OF(foreign)
      call fresh
      if (btest(way, 1)) then
        call other_irecv(b, 1, handle, previous, 1, theirs(1))
        call other_isend(a, 1, handle, next, 1, theirs(2))
        VALUE_OF(mine(1)) = theirs(1)
        VALUE_OF(mine(2)) = theirs(2)
      else
        VALUE_OF(used) = handle
        call MPI_Irecv(b, 1, used, previous, 1, MPI_COMM_WORLD, mine(1), ierror)
        call MPI_Isend(a, 1, used, next, 1, MPI_COMM_WORLD, mine(2), ierror)
      end if
      if (btest(way, 2)) then
        theirs = [VALUE_OF(mine(1)), VALUE_OF(mine(2))]
        call other_wait(theirs(1))
        call other_wait(theirs(2))
        call touch(b)
      else
        call MPI_Waitall(2, mine, MPI_STATUSES_IGNORE, ierror)
      end if
      call expect(holds(previous), 'through several interfaces')
    end do
    handle = VALUE_OF(foreign)
    call other_type_free(handle)
    VALUE_OF(foreign) = handle
    call expect(foreign == MPI_DATATYPE_NULL, 'freed through another interface')
    ! The handle may now be another type's.
    call MPI_Type_vector(blocks, 1, 1, MPI_DOUBLE_PRECISION, foreign, ierror)
    call MPI_Type_commit(foreign, ierror)
    call pack_one(foreign)
    call expect(all(packed(1:blocks) == a(1:blocks)), 'a type recycled through another interface')
    call MPI_Type_free(foreign, ierror)
  end subroutine interfaces

  subroutine errors
    ERRHANDLER :: handler
    integer :: class, before, code
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierror)
    call MPI_Send(a, 1, column, ranks + 5, 1, MPI_COMM_WORLD, code)
    call expect(code /= MPI_SUCCESS, 'a wrong rank is returned')
    call MPI_Error_class(code, class, ierror)
    call expect(class == MPI_ERR_RANK, 'a wrong rank, class')
    call MPI_Recv(b, -1, column, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    call expect(ierror /= MPI_SUCCESS, 'a wrong count is returned')
    call MPI_Comm_create_errhandler(count_errors, handler, ierror)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler, ierror)
    before = handler_calls
    call MPI_Send(a, 1, column, ranks + 5, 1, MPI_COMM_WORLD, ierror)
    call expect(handler_calls == before + 1, 'an error handler in Fortran')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, ierror)
    call MPI_Errhandler_free(handler, ierror)
  end subroutine errors

  subroutine count_errors(comm, code)
    COMM :: comm
    integer :: code
    if (comm == MPI_COMM_WORLD .and. code /= MPI_SUCCESS) handler_calls = handler_calls + 1
  end subroutine count_errors

  subroutine null_handles
    REQUEST :: requests(2)
    STATUS(status)
    integer :: count
    call MPI_Type_vector(3, 1, 2, MPI_DOUBLE_PRECISION, column, ierror)
    call MPI_Type_commit(column, ierror)
    requests = MPI_REQUEST_NULL
    call MPI_Wait(requests(1), status, ierror)
    call MPI_Get_count(status, MPI_INTEGER, count, ierror)
    call expect(SOURCE_OF(status) == MPI_ANY_SOURCE .and. TAG_OF(status) == MPI_ANY_TAG .and. count == 0, &
      'wait for nothing')
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
    call expect(ierror == MPI_SUCCESS, 'waitall of nothing')
    call MPI_Irecv(b, 1, column, MPI_PROC_NULL, 1, MPI_COMM_WORLD, requests(1), ierror)
    call MPI_Isend(a, 1, column, MPI_PROC_NULL, 1, MPI_COMM_WORLD, requests(2), ierror)
    call MPI_Wait(requests(1), status, ierror)
    call expect(SOURCE_OF(status) == MPI_PROC_NULL, 'receive from nobody')
    call MPI_Wait(requests(2), MPI_STATUS_IGNORE, ierror)
    call MPI_Type_free(column, ierror)
  end subroutine null_handles

#if defined(F08)
  ! In mpi_f08 the last argument may be left out: a null pointer underneath.
  subroutine without_ierror
    integer :: bytes, position, k
    type(MPI_Datatype) :: other
    type(MPI_Request) :: requests(2)
    type(MPI_Message) :: message
    type(MPI_Status) :: status
    call MPI_Type_vector(blocks, 1, 2, MPI_DOUBLE_PRECISION, other)
    call MPI_Type_commit(other)
    call fresh
    call MPI_Irecv(b, 1, other, previous, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Send(a, 1, other, next, 1, MPI_COMM_WORLD)
    call MPI_Wait(requests(1), status)
    call check(status, 1, 'send without ierror')
    call fresh
    call MPI_Isend(a, 1, other, next, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Mprobe(previous, 1, MPI_COMM_WORLD, message, status)
    call MPI_Mrecv(b, 1, other, message, status)
    call check(status, 1, 'mrecv without ierror')
    call MPI_Waitall(1, requests, MPI_STATUSES_IGNORE)
    call fresh
    call MPI_Recv_init(b, 1, other, previous, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Send_init(a, 1, other, next, 1, MPI_COMM_WORLD, requests(2))
    call MPI_Startall(2, requests)
    flag = .false.
    do while (.not. flag)
      call MPI_Testall(2, requests, flag, MPI_STATUSES_IGNORE)
    end do
    call expect(holds(previous), 'persistent without ierror')
    call MPI_Request_free(requests(1))
    call MPI_Request_free(requests(2))
    call MPI_Pack_size(1, other, MPI_COMM_WORLD, bytes)
    position = 0
    call MPI_Pack(a, 1, other, packed, bytes, position, MPI_COMM_WORLD)
    call expect(all([(packed(k) == element(rank, 2 * k - 1), k = 1, blocks)]), 'pack without ierror')
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Type_free(other)
  end subroutine without_ierror

  ! Array sections that are not contiguous: the compiler copies them, or the MPI gets a descriptor.
  subroutine sections
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    integer :: count
    call fresh
    call MPI_Irecv(b, 1, column, previous, 1, MPI_COMM_WORLD, request)
    call MPI_Send(a(1:2 * blocks:2), blocks, MPI_DOUBLE_PRECISION, next, 1, MPI_COMM_WORLD)
    call MPI_Wait(request, status)
    call check(status, 1, 'send of a section')
    call fresh
    call MPI_Isend(a, 1, column, next, 1, MPI_COMM_WORLD, request)
    call MPI_Recv(b(1:2 * blocks:2), blocks, MPI_DOUBLE_PRECISION, previous, 1, MPI_COMM_WORLD, status)
    call MPI_Get_count(status, MPI_DOUBLE_PRECISION, count)
    call expect(holds(previous) .and. count == blocks, 'recv into a section')
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    if (MPI_SUBARRAYS_SUPPORTED) then
      call fresh
      call MPI_Irecv(b(1:2 * blocks:2), blocks, MPI_DOUBLE_PRECISION, previous, 1, MPI_COMM_WORLD, request)
      call MPI_Ssend(a(1:2 * blocks:2), blocks, MPI_DOUBLE_PRECISION, next, 1, MPI_COMM_WORLD)
      call MPI_Wait(request, status)
      call check(status, 1, 'irecv into a section')
    end if
  end subroutine sections
#endif

end program contract
