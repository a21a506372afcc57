# The target header_checks compiles headers of src/ and sim/ alone: each is included by one
# generated file that contains nothing else. A header that lacks an include of its own fails. A
# header with a source of its own is left out: that source includes it first, so the ordinary build
# checks it. The backends are compiled with a precompiled header, so all their headers are checked
# here.
add_custom_target(header_checks)

# dunnage_check_headers(NAME LIBS targets... HEADERS headers...): one object library that uses LIBS.
# Headers are written as an #include names them.
function(dunnage_check_headers name)
  cmake_parse_arguments(PARSE_ARGV 1 check "" "" "LIBS;HEADERS")
  if(NOT check_HEADERS)
    return()
  endif()
  set(sources "")
  foreach(header IN LISTS check_HEADERS)
    set(source "${CMAKE_BINARY_DIR}/header_checks/${name}/${header}.cpp")
    file(CONFIGURE OUTPUT "${source}" CONTENT "#include \"${header}\"\n")
    list(APPEND sources "${source}")
  endforeach()
  add_library(headers_${name} OBJECT EXCLUDE_FROM_ALL ${sources})
  target_link_libraries(headers_${name} PRIVATE ${check_LIBS})
  target_compile_options(headers_${name} PRIVATE -O0 -g0)  # only the errors matter
  set_target_properties(headers_${name} PROPERTIES UNITY_BUILD OFF)
  add_dependencies(header_checks headers_${name})
endfunction()

# dunnage_find_headers(RESULT ROOT folders...): the headers of these folders, and of all below them.
# Without those that have a source of their own, unless WITH_SOURCES is one of the folders.
function(dunnage_find_headers result root)
  list(FIND ARGN WITH_SOURCES all)
  list(REMOVE_ITEM ARGN WITH_SOURCES)
  list(TRANSFORM ARGN REPLACE "(.+)" "${root}/\\1/*.hpp" OUTPUT_VARIABLE patterns)
  file(GLOB_RECURSE headers RELATIVE "${root}" CONFIGURE_DEPENDS ${patterns})
  foreach(header IN LISTS headers)
    string(REGEX REPLACE "hpp$" "cpp" source "${root}/${header}")
    if(all EQUAL -1 AND EXISTS "${source}")
      list(REMOVE_ITEM headers "${header}")
    endif()
  endforeach()
  set(${result} "${headers}" PARENT_SCOPE)
endfunction()

set(src "${PROJECT_SOURCE_DIR}/src")
foreach(layer IN ITEMS base type plan device memory)
  dunnage_find_headers(headers "${src}" ${layer})
  dunnage_check_headers(${layer} LIBS dunnage_${layer} HEADERS ${headers})
endforeach()

foreach(layer IN ITEMS pack transport)  # their folder gpu is a library of its own
  dunnage_find_headers(headers "${src}" ${layer})
  dunnage_find_headers(gpu_headers "${src}" ${layer}/gpu)
  list(REMOVE_ITEM headers ${gpu_headers})
  dunnage_check_headers(${layer} LIBS dunnage_${layer} HEADERS ${headers})
  dunnage_check_headers(${layer}_gpu LIBS dunnage_${layer}_gpu HEADERS ${gpu_headers})
endforeach()

# One family's mpi.h stands for all: the backends themselves are compiled with each.
list(GET DUNNAGE_FAMILIES 0 family)
dunnage_find_headers(headers "${src}" collective)
dunnage_check_headers(collective
  LIBS dunnage_collective dunnage_plan mpi::${DUNNAGE_${family}_MPI}_headers HEADERS ${headers})
dunnage_find_headers(headers "${src}" WITH_SOURCES mpi shim)
list(SORT headers COMPARE FILE_BASENAME)
get_target_property(libraries dunnage-${family} LINK_LIBRARIES)
dunnage_check_headers(mpi LIBS ${libraries} HEADERS ${headers})
target_include_directories(headers_mpi PRIVATE "${CMAKE_BINARY_DIR}/generated")
add_dependencies(headers_mpi dunnage_hooks)
# They are many, and with the backend's precompiled headers they take half the time. Those hide what
# is missing of the standard library, which scripts/check_includes.py looks for.
get_target_property(precompiled dunnage-${family} PRECOMPILE_HEADERS)
target_precompile_headers(headers_mpi PRIVATE ${precompiled})
# One by one they take two processors 80 s. Six at a time take a third of that, and hide only what
# another header of the six brings: mostly one of another folder, because the names decide.
if(DUNNAGE_QUICK_TESTS)
  set_target_properties(headers_mpi PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
endif()

# The sources of the backends, one by one: where many are compiled as one file, a source finds what
# only those before it include. One by one they take two processors 120 s. Four at a time take a
# third of that. Errors are looked for, and nothing is made.
get_target_property(sources dunnage-${family} SOURCES)
list(TRANSFORM sources PREPEND "${src}/shim/")
add_library(sources_alone OBJECT EXCLUDE_FROM_ALL ${sources})
target_link_libraries(sources_alone PRIVATE ${libraries})
target_include_directories(sources_alone PRIVATE "${CMAKE_BINARY_DIR}/generated")
target_compile_options(sources_alone PRIVATE -fsyntax-only)
set_target_properties(sources_alone PROPERTIES UNITY_BUILD ${DUNNAGE_QUICK_TESTS} UNITY_BUILD_BATCH_SIZE 4)
target_precompile_headers(sources_alone PRIVATE ${precompiled})
add_dependencies(sources_alone dunnage_hooks)
add_dependencies(header_checks sources_alone)

dunnage_find_headers(headers "${src}" tool)
get_target_property(libraries dunnage_tool LINK_LIBRARIES)
dunnage_check_headers(tool LIBS ${libraries} HEADERS ${headers})

if(TARGET dunnage_sim)
  dunnage_find_headers(headers "${PROJECT_SOURCE_DIR}" sim)
  dunnage_check_headers(sim LIBS dunnage_sim HEADERS ${headers})
endif()
