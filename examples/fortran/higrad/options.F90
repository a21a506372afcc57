! What the command line asks for.
module options
  implicit none
  private
  public :: options_t, read_options, rank_before_init

  integer, parameter, public :: copied = 0, derived = 1, packed = 2, by_stream = 3, by_graph = 4, by_kernels = 5
  character(*), parameter, public :: names(copied:by_kernels) = [character(32) :: &
    'copies through host memory', 'derived datatypes', 'packing kernels', &
    'a stream starts the messages', 'a graph', 'kernels send']

  ! The options that --option knows, and the last one that can run.
#ifdef TRIGGERED
  integer, parameter :: last_known = by_kernels
#else
  integer, parameter :: last_known = packed
#endif
#if defined(TRIGGERED) && !defined(PARTITIONED)
  integer, parameter :: last = by_graph
#else
  integer, parameter :: last = last_known
#endif

  type options_t
    integer, allocatable :: ways(:)   ! the options of higrad.F90 that are run
    logical :: on_device = .false.
    integer :: mesh(3) = [60, 60, 75] ! cells of the whole mesh
    integer :: shape(3) = 0           ! ranks along each dimension; 0: the MPI chooses
    integer :: variables = 5
    integer :: ghost = 1              ! how many ghost cells deep
    integer :: steps = 20
    integer :: warm_up = 2            ! steps before these, not timed
    logical :: joined = .true.        ! one message for all variables of a face
    logical :: json = .false.
  end type options_t

contains

  ! Ends the program with status 2 if an option is wrong.
  function read_options() result(o)
    type(options_t) :: o
    integer :: i
    i = 1
    do while (i <= command_argument_count())
      select case (argument(i))
      case ('--option')
        o%ways = numbers(i, last_known + 1, copied, last_known)
      case ('--memory')
        o%on_device = chosen(i, 'host', 'device')
      case ('--mesh')
        o%mesh = triple(i, 8192)
      case ('--grid')
        o%shape = triple(i, 8192)
      case ('--variables')
        o%variables = number(i, 1, 100)
      case ('--ghost')
        o%ghost = number(i, 1, 3)
      case ('--steps')
        o%steps = number(i, 1, 1000000)
      case ('--warm-up')
        o%warm_up = number(i, 0, 1000000)
      case ('--messages')
        o%joined = .not. chosen(i, 'face', 'variable')
      case ('--json')
        o%json = .true.
      case ('--help')
        call help()
      case default
        call refuse('there is no option ' // argument(i) // '; --help lists them')
      end select
      i = i + merge(1, 2, argument(i) == '--json')
    end do
    if (.not. allocated(o%ways)) o%ways = [(i, i = copied, merge(last, packed, o%on_device))]
    if (any(o%ways >= by_stream) .and. .not. o%on_device) call refuse('options 3, 4 and 5 need --memory device')
    if (any(o%ways > last)) call refuse('option 5 needs an MPI whose Fortran interface has partitioned messages')
  end function read_options

  ! Returns the number of this process on its host, as its launcher tells it before MPI_Init, or 0.
  integer function rank_before_init()
    ! These variables are set by Open MPI; by MPICH and Intel MPI; by Slurm; by launchers with PMI.
    character(*), parameter :: variables(5) = [character(26) :: &
      'OMPI_COMM_WORLD_LOCAL_RANK', 'MPI_LOCALRANKID', 'SLURM_LOCALID', 'PMIX_RANK', 'PMI_RANK']
    character(16) :: text
    integer :: i, status
    do i = 1, size(variables)
      call get_environment_variable(trim(variables(i)), text, status=status)
      if (status /= 0) cycle
      read (text, *, iostat=status) rank_before_init
      if (status == 0) return
    end do
    rank_before_init = 0
  end function rank_before_init

  subroutine help()
    if (rank_before_init() == 0) print '(a)', &
      'higrad: advection and diffusion on a periodic mesh; the faces are exchanged in three steps', &
      '  --option 0,1,2         how: 0 copies through host memory, 1 derived datatypes,', &
      '                         2 packing kernels (default: all, one after the other)', &
#ifdef TRIGGERED
      '         3,4,5           in device memory also: 3 a stream starts the messages, 4 a graph of', &
      '                         such starts, 5 kernels send the variables of a face one by one', &
#endif
      '  --memory host|device   where the mesh is (default: host)', &
      '  --mesh NX,NY,NZ        cells of the whole mesh (default: 60,60,75)', &
      '  --grid PX,PY,PZ        ranks along each dimension, 0: the MPI chooses (default: 0,0,0)', &
      '  --variables N          variables of a cell (default: 5)', &
      '  --ghost N              how many ghost cells deep, 1 to 3 (default: 1)', &
      '  --steps N              steps that are timed (default: 20)', &
      '  --warm-up N            steps before these (default: 2)', &
      '  --messages face|variable   a message for a face, or for each variable of it; option 2', &
      '                         always has one for a face (default: face)', &
      '  --json                 JSON lines in place of the table'
    stop
  end subroutine help

  function argument(i) result(text)
    integer, intent(in) :: i
    character(:), allocatable :: text
    integer :: length
    call get_command_argument(i, length=length)
    allocate (character(length) :: text)
    call get_command_argument(i, text)
  end function argument

  ! Reads the argument after number i: whole numbers with commas between them.
  function numbers(i, most_of_them, least, most) result(found)
    integer, intent(in) :: i, most_of_them, least, most
    integer, allocatable :: found(:)
    character(:), allocatable :: text
    integer :: count, status, k
    text = argument(i + 1)
    count = 1
    do k = 1, len(text)
      if (text(k:k) == ',') count = count + 1
    end do
    allocate (found(count), source=-1)
    status = verify(text, '0123456789,')
    if (len(text) == 0 .or. count > most_of_them) status = 1
    if (status == 0) read (text, *, iostat=status) found
    if (status == 0) then
      if (all(found >= least .and. found <= most)) return
    end if
    call refuse('a wrong value of ' // argument(i) // ': ' // text)
  end function numbers

  integer function number(i, least, most)
    integer, intent(in) :: i, least, most
    integer :: found(1)
    found = numbers(i, 1, least, most)
    number = found(1)
  end function number

  function triple(i, most) result(found)
    integer, intent(in) :: i, most
    integer :: found(3)
    integer, allocatable :: all(:)
    all = numbers(i, 3, 0, most)
    if (size(all) /= 3) call refuse(argument(i) // ' needs three numbers')
    found = all
  end function triple

  ! Returns whether the argument after number i is the second of two words.
  logical function chosen(i, first, second)
    integer, intent(in) :: i
    character(*), intent(in) :: first, second
    character(:), allocatable :: word
    word = argument(i + 1)
    chosen = word == second
    if (.not. chosen .and. word /= first) &
      call refuse(argument(i) // ' is ' // first // ' or ' // second // ', not ' // word)
  end function chosen

  subroutine refuse(why)
    use, intrinsic :: iso_fortran_env, only: error_unit
    character(*), intent(in) :: why
    if (rank_before_init() == 0) write (error_unit, '(a)') 'higrad: ' // why
    stop 2, quiet=.true.
  end subroutine refuse

end module options
