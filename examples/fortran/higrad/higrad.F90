! A program with the structure of Higrad, an application in Fortran of Los Alamos National
! Laboratory. D. Schafer and P. Bridges describe Higrad in "Evaluation using Higrad". It has several
! variables on a regular mesh in three dimensions. A periodic grid of ranks divides the mesh. Before
! each step the faces are exchanged by MPI's derived datatypes. Edges and corners come with them.
! What the description does not tell, like the computation itself, is ours.
!
! Higrad's three options, in which the exchange differs:
!
!   0  the faces are copied to host memory, exchanged by MPI, and copied back
!   1  MPI takes derived datatypes on the mesh itself, also if the mesh is in device memory
!   2  kernels pack the faces into contiguous buffers in the mesh's memory; one message for a face
!
! higrad_triggered has three options more, in device memory only. There a stream starts the messages
! and waits for them, by the calls of dunnage.f90:
!
!   3  the stream starts the messages of option 1, as persistent requests
!   4  these starts and waits are captured once, and launched as one graph in each step
!   5  kernels send: a face is a partitioned message, and a block sends one variable of it
!
! The options are run one after the other from the same beginning. Their checksums must agree, and
! are those of one rank too. Exit status 0: done; 1: the checksums differ; 2: a wrong option; 3:
! device memory was asked for and there is no GPU; 4: option 4 or 5 cannot run here, and was left
! out; 5: a call of Dunnage's failed.
#include "interface.inc"
program higrad
  USE_MPI
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use device, only: device_open
  use exchange, only: exchange_t, make_exchange, free_exchange, exchange_ghosts
  use grid, only: grid_t, make_grid, free_grid
  use mesh, only: mesh_t, make_mesh, free_mesh, fill, advance, checksum
  use options, only: options_t, read_options, rank_before_init
  use report, only: write_head, write_result
#ifdef TRIGGERED
  use options, only: by_stream
  use triggered, only: make_triggered, describe_triggered
#endif
  implicit none
  type(options_t) :: o
  type(grid_t) :: g
  type(mesh_t) :: m
  integer(int64), allocatable :: sums(:)  ! of the options that have run
  integer :: i, ierror
#ifdef TRIGGERED
  integer :: provided
#endif

  o = read_options()
  ! The GPU is chosen before MPI_Init, as CUDA-aware MPIs ask.
  if (o%on_device) call device_open(rank_before_init())
#ifdef TRIGGERED
  ! Between hosts a thread of Dunnage's own sends for the stream.
  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided, ierror)
#else
  call MPI_Init(ierror)
#endif
  g = make_grid(o)
  m = make_mesh(g%part, o%on_device)
  if (g%rank == 0) call write_head(o, g)
  sums = [integer(int64) ::]
  do i = 1, size(o%ways)
    call run(o%ways(i))
  end do
  call free_mesh(m)
  call free_grid(g)
  call MPI_Finalize(ierror)
  if (any(sums /= minval(sums))) then
    if (g%rank == 0 .and. .not. o%json) print '(a)', 'WRONG: the checksums differ'
    stop 1, quiet=.true.
  end if
  if (size(sums) < size(o%ways)) stop 4, quiet=.true.

contains

  subroutine run(way)
    integer, intent(in) :: way
    integer(int64) :: sum
    type(exchange_t) :: e
    real(real64), dimension(o%steps) :: compute, communicate, slowest_compute, slowest_communicate
    double precision :: begun, exchanged, advanced
    character(:), allocatable :: ways, why
    integer :: step
    e = make_exchange(m, way, o%joined)
    ways = ''
    why = ''
#ifdef TRIGGERED
    if (way >= by_stream) then
      e%triggered = make_triggered(m, g, way, e%inner, e%ghost, e%variables_each)
      if (.not. e%triggered%possible) then
        call free_exchange(e, m)
        return
      end if
    end if
#endif
    call fill(m, g)
    do step = 1 - o%warm_up, o%steps
      ! The wait for a rank that computes longer is no part of the exchange.
      call MPI_Barrier(g%comm, ierror)
      begun = MPI_Wtime()
      call exchange_ghosts(e, m, g)
      exchanged = MPI_Wtime()
      call advance(m)
      advanced = MPI_Wtime()
      if (step < 1) cycle
      communicate(step) = exchanged - begun
      compute(step) = advanced - exchanged
    end do
#ifdef TRIGGERED
    if (way >= by_stream) call describe_triggered(e%triggered, g, ways, why)
#endif
    call free_exchange(e, m)
    sum = checksum(m, g, o%mesh)
    sums = [sums, sum]
    call MPI_Reduce(compute, slowest_compute, o%steps, MPI_DOUBLE_PRECISION, MPI_MAX, 0, g%comm, ierror)
    call MPI_Reduce(communicate, slowest_communicate, o%steps, MPI_DOUBLE_PRECISION, MPI_MAX, 0, g%comm, ierror)
    if (g%rank == 0) call write_result(o, g, way, slowest_compute, slowest_communicate, sum, ways, why)
  end subroutine run

end program higrad
