! Triggered communication for Fortran (docs/reference/api.md). Compile this file with your program,
! because modules differ between compilers, and link with -ldunnage-api.
!
! Requests are integers, as mpif.h and the module mpi have them. With mpi_f08, pass
! requests%MPI_VAL. A stream is a type(c_ptr), or an integer that has its address, as
! cudaStreamCreate of CUDA Fortran and acc_get_cuda_stream give it.
module dunnage
  use, intrinsic :: iso_c_binding
  implicit none
  private

  public :: DNG_Match, DNG_Exchange_free, DNG_Queue_create, DNG_Queue_free, DNG_Start_enqueue, DNG_Wait_enqueue, &
    DNG_Pready_enqueue, DNG_Exchange_device, DNG_Exchange_query, DNG_Exchange_error

  integer, parameter, public :: DNG_WAY_MPI = 0, DNG_WAY_MEMORY_OPERATIONS = 1, DNG_WAY_KERNELS = 2, &
    DNG_WAY_PROXY = 3

  type, bind(c), public :: DNG_Exchange
    type(c_ptr) :: handle = c_null_ptr
  end type
  type, bind(c), public :: DNG_Queue
    type(c_ptr) :: handle = c_null_ptr
  end type

  interface DNG_Queue_create
    module procedure create_of_pointer, create_of_address
  end interface

  interface
    function c_match(count, requests, exchange) bind(c, name='DNG_Match_stamped_f') result(code)
      import :: c_int, DNG_Exchange
      integer(c_int), value :: count
      integer(c_int), intent(inout) :: requests(*)
      type(DNG_Exchange), intent(inout) :: exchange
      integer(c_int) :: code
    end function
    function c_exchange_free(exchange) bind(c, name='DNG_Exchange_free') result(code)
      import :: c_int, DNG_Exchange
      type(DNG_Exchange), intent(inout) :: exchange
      integer(c_int) :: code
    end function
    function c_queue_create(stream, queue) bind(c, name='DNG_Queue_create') result(code)
      import :: c_int, c_intptr_t, DNG_Queue
      integer(c_intptr_t), value :: stream
      type(DNG_Queue), intent(inout) :: queue
      integer(c_int) :: code
    end function
    function c_queue_free(queue) bind(c, name='DNG_Queue_free') result(code)
      import :: c_int, DNG_Queue
      type(DNG_Queue), intent(inout) :: queue
      integer(c_int) :: code
    end function
    function c_start_enqueue(exchange, queue) bind(c, name='DNG_Start_enqueue') result(code)
      import :: c_int, DNG_Exchange, DNG_Queue
      type(DNG_Exchange), value :: exchange
      type(DNG_Queue), value :: queue
      integer(c_int) :: code
    end function
    function c_wait_enqueue(exchange, queue) bind(c, name='DNG_Wait_enqueue') result(code)
      import :: c_int, DNG_Exchange, DNG_Queue
      type(DNG_Exchange), value :: exchange
      type(DNG_Queue), value :: queue
      integer(c_int) :: code
    end function
    function c_pready_enqueue(partition, request, exchange, queue) bind(c, name='DNG_Pready_enqueue') result(code)
      import :: c_int, DNG_Exchange, DNG_Queue
      integer(c_int), value :: partition, request
      type(DNG_Exchange), value :: exchange
      type(DNG_Queue), value :: queue
      integer(c_int) :: code
    end function
    function c_exchange_device(exchange, device) bind(c, name='DNG_Exchange_device') result(code)
      import :: c_int, c_ptr, DNG_Exchange
      type(DNG_Exchange), value :: exchange
      type(c_ptr), intent(inout) :: device
      integer(c_int) :: code
    end function
    function c_exchange_query(exchange, way, why) bind(c, name='DNG_Exchange_query') result(code)
      import :: c_int, c_ptr, DNG_Exchange
      type(DNG_Exchange), value :: exchange
      integer(c_int), intent(inout) :: way
      type(c_ptr), intent(inout) :: why
      integer(c_int) :: code
    end function
    function c_exchange_error(exchange, error) bind(c, name='DNG_Exchange_error') result(code)
      import :: c_int, DNG_Exchange
      type(DNG_Exchange), value :: exchange
      integer(c_int), intent(inout) :: error
      integer(c_int) :: code
    end function
  end interface

contains

  subroutine tell(code, ierror)
    integer(c_int), intent(in) :: code
    integer, optional, intent(out) :: ierror
    if (present(ierror)) ierror = code
  end subroutine

  subroutine DNG_Match(count, requests, exchange, ierror)
    integer, intent(in) :: count
    integer, intent(inout) :: requests(*)
    type(DNG_Exchange), intent(inout) :: exchange
    integer, optional, intent(out) :: ierror
    call tell(c_match(int(count, c_int), requests, exchange), ierror)
  end subroutine

  subroutine DNG_Exchange_free(exchange, ierror)
    type(DNG_Exchange), intent(inout) :: exchange
    integer, optional, intent(out) :: ierror
    call tell(c_exchange_free(exchange), ierror)
  end subroutine

  subroutine create_of_pointer(stream, queue, ierror)
    type(c_ptr), intent(in) :: stream
    type(DNG_Queue), intent(inout) :: queue
    integer, optional, intent(out) :: ierror
    call tell(c_queue_create(transfer(stream, 0_c_intptr_t), queue), ierror)
  end subroutine

  subroutine create_of_address(stream, queue, ierror)
    integer(c_intptr_t), intent(in) :: stream
    type(DNG_Queue), intent(inout) :: queue
    integer, optional, intent(out) :: ierror
    call tell(c_queue_create(stream, queue), ierror)
  end subroutine

  subroutine DNG_Queue_free(queue, ierror)
    type(DNG_Queue), intent(inout) :: queue
    integer, optional, intent(out) :: ierror
    call tell(c_queue_free(queue), ierror)
  end subroutine

  subroutine DNG_Start_enqueue(exchange, queue, ierror)
    type(DNG_Exchange), intent(in) :: exchange
    type(DNG_Queue), intent(in) :: queue
    integer, optional, intent(out) :: ierror
    call tell(c_start_enqueue(exchange, queue), ierror)
  end subroutine

  subroutine DNG_Wait_enqueue(exchange, queue, ierror)
    type(DNG_Exchange), intent(in) :: exchange
    type(DNG_Queue), intent(in) :: queue
    integer, optional, intent(out) :: ierror
    call tell(c_wait_enqueue(exchange, queue), ierror)
  end subroutine

  ! Partitions are counted from 0, as in MPI_Pready, and requests from 1, as in Fortran's arrays.
  subroutine DNG_Pready_enqueue(partition, request, exchange, queue, ierror)
    integer, intent(in) :: partition, request
    type(DNG_Exchange), intent(in) :: exchange
    type(DNG_Queue), intent(in) :: queue
    integer, optional, intent(out) :: ierror
    call tell(c_pready_enqueue(int(partition, c_int), int(request - 1, c_int), exchange, queue), ierror)
  end subroutine

  ! `device` is an argument of kernels in CUDA C++.
  subroutine DNG_Exchange_device(exchange, device, ierror)
    type(DNG_Exchange), intent(in) :: exchange
    type(c_ptr), intent(inout) :: device
    integer, optional, intent(out) :: ierror
    call tell(c_exchange_device(exchange, device), ierror)
  end subroutine

  ! A text that is too long for `why` is cut.
  subroutine DNG_Exchange_query(exchange, way, why, ierror)
    type(DNG_Exchange), intent(in) :: exchange
    integer, intent(out) :: way
    character(*), intent(out) :: why
    integer, optional, intent(out) :: ierror
    integer(c_int) :: number, code
    type(c_ptr) :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: i
    number = 0
    text = c_null_ptr
    code = c_exchange_query(exchange, number, text)
    way = number
    why = ' '
    if (c_associated(text)) then
      call c_f_pointer(text, letters, [len(why)])
      do i = 1, len(why)
        if (letters(i) == c_null_char) exit
        why(i:i) = letters(i)
      end do
    end if
    call tell(code, ierror)
  end subroutine

  subroutine DNG_Exchange_error(exchange, error, ierror)
    type(DNG_Exchange), intent(in) :: exchange
    integer, intent(out) :: error
    integer, optional, intent(out) :: ierror
    integer(c_int) :: found
    found = 0
    call tell(c_exchange_error(exchange, found), ierror)
    error = found
  end subroutine

end module
