! The functions of device.cpp.
module device
  use, intrinsic :: iso_c_binding, only: c_int, c_ptr, c_size_t
  use shape_of_mesh, only: shape_t, box_t
  implicit none

  interface
    ! Takes GPU number `rank` modulo the number of GPUs. Ends the program with status 3 if there is
    ! no GPU. So does every other function here if CUDA's driver returns an error.
    subroutine device_open(rank) bind(c, name='higrad_open')
      import :: c_int
      integer(c_int), value :: rank
    end subroutine device_open

    type(c_ptr) function device_allocate(bytes) bind(c, name='higrad_allocate')
      import :: c_ptr, c_size_t
      integer(c_size_t), value :: bytes
    end function device_allocate

    subroutine device_free(memory) bind(c, name='higrad_free')
      import :: c_ptr
      type(c_ptr), value :: memory
    end subroutine device_free

    ! Page-locks host memory, for copies from and to the GPU.
    subroutine device_pin(memory, bytes) bind(c, name='higrad_pin')
      import :: c_ptr, c_size_t
      type(c_ptr), value :: memory
      integer(c_size_t), value :: bytes
    end subroutine device_pin

    subroutine device_unpin(memory) bind(c, name='higrad_unpin')
      import :: c_ptr
      type(c_ptr), value :: memory
    end subroutine device_unpin

    ! Copy to and from the GPU, and return when the bytes are there.
    subroutine device_upload(to, from, bytes) bind(c, name='higrad_upload')
      import :: c_ptr, c_size_t
      type(c_ptr), value :: to, from
      integer(c_size_t), value :: bytes
    end subroutine device_upload

    subroutine device_download(to, from, bytes) bind(c, name='higrad_download')
      import :: c_ptr, c_size_t
      type(c_ptr), value :: to, from
      integer(c_size_t), value :: bytes
    end subroutine device_download

    ! The stream in which all work begins.
    type(c_ptr) function device_stream() bind(c, name='higrad_stream')
      import :: c_ptr
    end function device_stream

    ! What begins between these two calls is not done, and is returned as a graph that can be
    ! launched.
    subroutine device_begin_capture() bind(c, name='higrad_begin_capture')
    end subroutine device_begin_capture

    type(c_ptr) function device_end_capture() bind(c, name='higrad_end_capture')
      import :: c_ptr
    end function device_end_capture

    subroutine device_free_graph(graph) bind(c, name='higrad_free_graph')
      import :: c_ptr
      type(c_ptr), value :: graph
    end subroutine device_free_graph

    ! To be called before the first device_send, while no kernel waits for another rank.
    subroutine device_prepare_send() bind(c, name='higrad_prepare_send')
    end subroutine device_prepare_send

    ! The other functions begin their work, and device_wait waits for all that has begun.
    subroutine device_wait() bind(c, name='higrad_wait')
    end subroutine device_wait

    subroutine device_advance(shape, from, to) bind(c, name='higrad_begin_advance')
      import :: c_ptr, shape_t
      type(shape_t), intent(in) :: shape
      type(c_ptr), value :: from, to
    end subroutine device_advance

    subroutine device_pack(shape, box, cells, buffer) bind(c, name='higrad_begin_pack')
      import :: c_ptr, shape_t, box_t
      type(shape_t), intent(in) :: shape
      type(box_t), intent(in) :: box
      type(c_ptr), value :: cells, buffer
    end subroutine device_pack

    subroutine device_unpack(shape, box, buffer, cells) bind(c, name='higrad_begin_unpack')
      import :: c_ptr, shape_t, box_t
      type(shape_t), intent(in) :: shape
      type(box_t), intent(in) :: box
      type(c_ptr), value :: buffer, cells
    end subroutine device_unpack

    ! Copy a box between a mesh on the GPU and one in host memory, at the same place.
    subroutine device_copy_out(shape, box, from, to) bind(c, name='higrad_begin_copy_out')
      import :: c_ptr, shape_t, box_t
      type(shape_t), intent(in) :: shape
      type(box_t), intent(in) :: box
      type(c_ptr), value :: from, to
    end subroutine device_copy_out

    subroutine device_copy_in(shape, box, from, to) bind(c, name='higrad_begin_copy_in')
      import :: c_ptr, shape_t, box_t
      type(shape_t), intent(in) :: shape
      type(box_t), intent(in) :: box
      type(c_ptr), value :: from, to
    end subroutine device_copy_in

    subroutine device_launch_graph(graph) bind(c, name='higrad_begin_graph')
      import :: c_ptr
      type(c_ptr), value :: graph
    end subroutine device_launch_graph

    ! Sends all variables of both faces of an exchange (DNG_Exchange_device). higrad_triggered has
    ! the kernel.
    subroutine device_send(exchange, variables) bind(c, name='higrad_begin_send')
      import :: c_int, c_ptr
      type(c_ptr), value :: exchange
      integer(c_int), value :: variables
    end subroutine device_send
  end interface
end module device
