! `include 'mpif.h'` where a module can be used.
module mpif
  implicit none
  include 'mpif.h'
end module mpif
