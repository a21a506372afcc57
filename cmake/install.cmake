# What `make install` puts where. The tool finds the other parts from its own place
# (src/tool/paths.hpp), so the installed folder may be moved. `lib` is DUNNAGE_LIBDIR.
#
#   bin/dunnage  include/{dunnage.h,dunnage.f90,dunnage_device.cuh}  include/compat/{mpi-acx.h,mpix-stream.h}
#   lib/libdunnage.so -> libdunnage.so.0  lib/libdunnage-api.so -> libdunnage-api.so.0
#   lib/dunnage/{backends and what they need}  lib/cmake/dunnage  lib/pkgconfig
#   libexec/dunnage/mpi/<flavour>/{benchmark programs}  libexec/dunnage/two-hosts.sh
#   share/dunnage/{python,experiments}  share/{man,bash-completion,zsh,fish} (cmake/manual.cmake)
include(CMakePackageConfigHelpers)

# A file of the build folder has the library path of the installed one. Otherwise CMake pads the
# path with empty entries, and the loader takes an empty entry for the current directory.
function(link_as_installed target)
  set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON)
endfunction()

link_as_installed(dunnage_sim_kernels)
link_as_installed(dunnage_tool)
install(TARGETS dunnage_tool RUNTIME DESTINATION bin)

# The preload library stands in lib, where the linker looks; what it loads itself is out of the way
# in lib/dunnage.
get_property(shim_targets DIRECTORY "${PROJECT_SOURCE_DIR}/src/shim" PROPERTY BUILDSYSTEM_TARGETS)
foreach(target IN LISTS shim_targets)
  get_target_property(type ${target} TYPE)
  if(NOT type MATCHES "^(SHARED|MODULE)_LIBRARY$")
    continue()
  endif()
  link_as_installed(${target})
  get_target_property(folder ${target} LIBRARY_OUTPUT_DIRECTORY)
  if(folder MATCHES "/lib/dunnage$")
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN")
    install(TARGETS ${target} LIBRARY DESTINATION ${DUNNAGE_LIBDIR}/dunnage)
  else()
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/dunnage")
    install(TARGETS ${target} LIBRARY DESTINATION ${DUNNAGE_LIBDIR})
  endif()
endforeach()

# What programs of include/dunnage.h are linked with.
install(FILES include/dunnage.h include/dunnage.f90 include/dunnage_device.cuh DESTINATION include)
install(DIRECTORY include/compat DESTINATION include)
link_as_installed(dunnage-api)
install(TARGETS dunnage-api LIBRARY DESTINATION ${DUNNAGE_LIBDIR})
foreach(family IN LISTS DUNNAGE_FAMILIES)
  link_as_installed(dunnage-api-${family})
  install(TARGETS dunnage-api-${family} LIBRARY DESTINATION ${DUNNAGE_LIBDIR}/dunnage)
endforeach()
# The prefix, seen from the folder of pkg-config's files. The loader needs no path to the folders in
# which it looks itself.
string(REGEX REPLACE "[^/]+" ".." to_prefix "${DUNNAGE_LIBDIR}/pkgconfig")
set(run_path "")
if(DUNNAGE_LIBDIR STREQUAL "lib")
  set(run_path "-Wl,-rpath,\${libdir} ")
endif()
configure_file(cmake/dunnage-api.pc.in "${CMAKE_BINARY_DIR}/dunnage-api.pc" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/dunnage-api.pc" DESTINATION ${DUNNAGE_LIBDIR}/pkgconfig)

# Benchmark programs, one per MPI they were built for.
if(DUNNAGE_BENCH)
  get_property(folders DIRECTORY "${PROJECT_SOURCE_DIR}/bench" PROPERTY SUBDIRECTORIES)
  foreach(folder IN LISTS folders)
    get_property(targets DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
    foreach(target IN LISTS targets)
      get_target_property(folder ${target} RUNTIME_OUTPUT_DIRECTORY)
      if(folder MATCHES "^${CMAKE_BINARY_DIR}/(mpi/.+)")
        link_as_installed(${target})
        install(TARGETS ${target} RUNTIME DESTINATION "libexec/dunnage/${CMAKE_MATCH_1}")
      endif()
    endforeach()
  endforeach()
endif()

install(DIRECTORY python/ DESTINATION share/dunnage/python
        FILES_MATCHING PATTERN "*.py" PATTERN "*.css" PATTERN "requirements.txt" PATTERN "__pycache__" EXCLUDE)

install(DIRECTORY bench/experiments DESTINATION share/dunnage)
install(PROGRAMS scripts/two-hosts.sh DESTINATION libexec/dunnage)

configure_package_config_file(cmake/dunnageConfig.cmake.in "${CMAKE_BINARY_DIR}/dunnageConfig.cmake"
  INSTALL_DESTINATION ${DUNNAGE_LIBDIR}/cmake/dunnage NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file("${CMAKE_BINARY_DIR}/dunnageConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/dunnageConfig.cmake" "${CMAKE_BINARY_DIR}/dunnageConfigVersion.cmake"
        DESTINATION ${DUNNAGE_LIBDIR}/cmake/dunnage)
configure_file(cmake/dunnage.pc.in "${CMAKE_BINARY_DIR}/dunnage.pc" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/dunnage.pc" DESTINATION ${DUNNAGE_LIBDIR}/pkgconfig)
