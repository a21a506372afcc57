# Finds for each MPI a Fortran compiler wrapper, and with which of the three interfaces it compiles:
# mpif (`include 'mpif.h'`), mpi_module (`use mpi`) and f08 (`use mpi_f08`). For each MPI this sets
#   DUNNAGE_<mpi>_FC             the wrapper
#   DUNNAGE_<mpi>_FC_FLAGS       what the wrapper needs besides
#   DUNNAGE_<mpi>_FC_INTERFACES  the interfaces; empty if there is no compiler that works
#   DUNNAGE_<mpi>_FC_PARTITIONED whether the newest interface has MPI 4's partitioned messages
#   DUNNAGE_<mpi>_FC_STATIC      options that link Fortran's own libraries into the program, if that works
set(statement_mpif "include 'mpif.h'")
set(statement_mpi_module "use mpi")
set(statement_f08 "use mpi_f08")

foreach(mpi IN LISTS DUNNAGE_MPIS)
  get_filename_component(bin "${DUNNAGE_${mpi}_CC}" DIRECTORY)
  find_program(DUNNAGE_${mpi}_FC NAMES mpif90.${mpi} mpifort mpif90 HINTS "${bin}" NO_DEFAULT_PATH)
  set(DUNNAGE_${mpi}_FC_FLAGS "")
  set(DUNNAGE_${mpi}_FC_INTERFACES "")
  set(DUNNAGE_${mpi}_FC_STATIC "")
  set(DUNNAGE_${mpi}_FC_PARTITIONED OFF)
  if(NOT DUNNAGE_${mpi}_FC)
    message(STATUS "Fortran with ${mpi}: no compiler wrapper; its Fortran programs are left out")
    continue()
  endif()
  if(mpi STREQUAL "impi")
    # Its wrapper looks for the compiler's modules in another place than where the wheel has them.
    execute_process(COMMAND "${DUNNAGE_${mpi}_FC}" -dumpversion OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE)
    file(GLOB modules "${bin}/../include/mpi/gfortran/${version}*")
    list(TRANSFORM modules PREPEND -I OUTPUT_VARIABLE DUNNAGE_${mpi}_FC_FLAGS)
    # Without this, libmpi, which libmpifort needs, would not be found beside it.
    list(APPEND DUNNAGE_${mpi}_FC_FLAGS -Wl,--no-as-needed)
  endif()
  set(probe "${CMAKE_BINARY_DIR}/probe_fortran/${mpi}")
  # -static-libgfortran leaves libquadmath out. In a folder that has only the static one, the linker
  # takes that.
  execute_process(COMMAND "${DUNNAGE_${mpi}_FC}" -print-file-name=libquadmath.a
                  OUTPUT_VARIABLE quadmath OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(EXISTS "${quadmath}")
    file(MAKE_DIRECTORY "${probe}/static")
    file(CREATE_LINK "${quadmath}" "${probe}/static/libquadmath.a" SYMBOLIC)
  endif()
  foreach(interface mpif mpi_module f08)
    file(WRITE "${probe}/${interface}.F90" "${statement_${interface}}\ninteger ierror\ncall MPI_Init(ierror)\nend\n")
    foreach(static "-static-libgfortran;-L${probe}/static" "")
      execute_process(
        COMMAND "${DUNNAGE_${mpi}_FC}" ${DUNNAGE_${mpi}_FC_FLAGS} ${static} ${interface}.F90 -o ${interface}
        WORKING_DIRECTORY "${probe}" OUTPUT_QUIET ERROR_QUIET RESULT_VARIABLE failed)
      if(NOT failed)
        list(APPEND DUNNAGE_${mpi}_FC_INTERFACES ${interface})
        set(DUNNAGE_${mpi}_FC_STATIC ${static})
        break()
      endif()
    endforeach()
  endforeach()
  set(statement "use mpi\ninteger request")
  if("f08" IN_LIST DUNNAGE_${mpi}_FC_INTERFACES)
    set(statement "use mpi_f08\ntype(MPI_Request) request")
  endif()
  file(WRITE "${probe}/partitioned.F90" "${statement}
integer buffer(2), ierror
call MPI_Psend_init(buffer, 2, 1_MPI_COUNT_KIND, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, request, ierror)
end
")
  execute_process(
    COMMAND "${DUNNAGE_${mpi}_FC}" ${DUNNAGE_${mpi}_FC_FLAGS} partitioned.F90 -o partitioned
    WORKING_DIRECTORY "${probe}" OUTPUT_QUIET ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    set(DUNNAGE_${mpi}_FC_PARTITIONED ON)
  endif()
  if(DUNNAGE_${mpi}_FC_INTERFACES)
    message(STATUS "Fortran with ${mpi}: ${DUNNAGE_${mpi}_FC}: ${DUNNAGE_${mpi}_FC_INTERFACES}")
  else()
    message(STATUS "Fortran with ${mpi}: no compiler that works; its Fortran programs are left out")
  endif()
endforeach()
