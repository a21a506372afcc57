! A word goes round all ranks, by streams of the simulated device that start the messages. The
! argument is the way that the exchange must take.
#include "interface.h"
module cuda
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    integer(c_int) function cuInit(flags) bind(c, name='cuInit')
      import
      integer(c_int), value :: flags
    end function
    integer(c_int) function cuDevicePrimaryCtxRetain(context, device) bind(c, name='cuDevicePrimaryCtxRetain')
      import
      type(c_ptr), intent(out) :: context
      integer(c_int), value :: device
    end function
    integer(c_int) function cuCtxSetCurrent(context) bind(c, name='cuCtxSetCurrent')
      import
      type(c_ptr), value :: context
    end function
    integer(c_int) function cuCtxSynchronize() bind(c, name='cuCtxSynchronize')
      import
    end function
    integer(c_int) function cuStreamCreate(stream, flags) bind(c, name='cuStreamCreate')
      import
      type(c_ptr), intent(out) :: stream
      integer(c_int), value :: flags
    end function
    integer(c_int) function cuStreamSynchronize(stream) bind(c, name='cuStreamSynchronize')
      import
      type(c_ptr), value :: stream
    end function
    integer(c_int) function cuMemAlloc(address, bytes) bind(c, name='cuMemAlloc_v2')
      import
      type(c_ptr), intent(out) :: address
      integer(c_size_t), value :: bytes
    end function
    integer(c_int) function cuMemcpyHtoD(to, from, bytes) bind(c, name='cuMemcpyHtoD_v2')
      import
      type(c_ptr), value :: to
      integer(c_int), intent(in) :: from
      integer(c_size_t), value :: bytes
    end function
    integer(c_int) function cuMemcpyDtoH(to, from, bytes) bind(c, name='cuMemcpyDtoH_v2')
      import
      integer(c_int), intent(out) :: to
      type(c_ptr), value :: from
      integer(c_size_t), value :: bytes
    end function
    integer(c_int) function cuMemcpyAsync(to, from, bytes, stream) bind(c, name='cuMemcpyAsync')
      import
      type(c_ptr), value :: to, from, stream
      integer(c_size_t), value :: bytes
    end function
  end interface
end module

program triggered
  use cuda
  use dunnage
  USE_MPI
  implicit none
  integer, parameter :: steps = 20
  integer(c_size_t), parameter :: bytes = 4
  integer :: rank, ranks, ierror, way, step, error, got, expected
  character(len=200) :: why, wanted
  REQUEST :: requests(2)
  type(DNG_Exchange) :: exchange
  type(DNG_Queue) :: queue
  type(c_ptr) :: context, stream, word_at, next_at
  integer, pointer :: word(:), next(:)

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call get_command_argument(1, wanted)
  call right(cuInit(0_c_int), 'cuInit')
  call right(cuDevicePrimaryCtxRetain(context, int(rank, c_int)), 'context')
  call right(cuCtxSetCurrent(context), 'cuCtxSetCurrent')
  call right(cuStreamCreate(stream, 1_c_int), 'cuStreamCreate')
  call right(cuMemAlloc(word_at, bytes), 'cuMemAlloc')
  call right(cuMemAlloc(next_at, bytes), 'cuMemAlloc')
  call right(cuMemcpyHtoD(word_at, rank, bytes), 'cuMemcpyHtoD')
  call right(cuMemcpyHtoD(next_at, -1, bytes), 'cuMemcpyHtoD')
  call right(cuCtxSynchronize(), 'cuCtxSynchronize')
  call c_f_pointer(word_at, word, [1])
  call c_f_pointer(next_at, next, [1])

  call MPI_Recv_init(next, 1, MPI_INTEGER, modulo(rank - 1, ranks), 0, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Send_init(word, 1, MPI_INTEGER, modulo(rank + 1, ranks), 0, MPI_COMM_WORLD, requests(2), ierror)
  call DNG_Match(2, VALUE_OF(requests), exchange, ierror)
  call right(ierror, 'DNG_Match')
  if (any(VALUE_OF(requests) /= VALUE_OF(MPI_REQUEST_NULL))) call right(1, 'the requests are the exchange''s')
  call DNG_Queue_create(stream, queue, ierror)
  call right(ierror, 'DNG_Queue_create')
  call DNG_Exchange_query(exchange, way, why, ierror)
  call right(ierror, 'DNG_Exchange_query')
  if (way /= merge(DNG_WAY_KERNELS, DNG_WAY_MPI, wanted == 'kernels')) call right(1, why)
  do step = 1, steps
    call DNG_Start_enqueue(exchange, queue, ierror)
    call right(ierror, 'DNG_Start_enqueue')
    call DNG_Wait_enqueue(exchange, queue)
    call right(cuMemcpyAsync(word_at, next_at, bytes, stream), 'cuMemcpyAsync')
  end do
  call right(cuStreamSynchronize(stream), 'cuStreamSynchronize')
  call DNG_Wait_enqueue(exchange, queue, ierror)
  if (ierror == MPI_SUCCESS) call right(1, 'a wait without a start')
  call DNG_Exchange_error(exchange, error, ierror)
  call right(error, 'DNG_Exchange_error')
  call right(cuMemcpyDtoH(got, word_at, bytes), 'cuMemcpyDtoH')
  expected = modulo(rank - steps, ranks)
  if (got /= expected) call right(1, 'the word')
  call DNG_Exchange_free(exchange, ierror)
  call right(ierror, 'DNG_Exchange_free')
  call DNG_Queue_free(queue, ierror)
  call right(ierror, 'DNG_Queue_free')
  if (rank == 0) print '(a)', 'triggered: verified'
  call MPI_Finalize(ierror)

contains

  subroutine right(code, what)
    integer, intent(in) :: code
    character(*), intent(in) :: what
    integer :: ignored
    if (code == 0) return
    print '(a,i0,2a)', 'FAIL ', code, ' ', trim(what)
    call MPI_Abort(MPI_COMM_WORLD, 1, ignored)
  end subroutine
end program
