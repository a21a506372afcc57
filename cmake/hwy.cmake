# Highway as the target hwy::hwy. Before 1.0.3 (Ubuntu 22.04 has 0.16) it came without files for
# CMake.
find_package(hwy QUIET)
if(NOT TARGET hwy::hwy)
  find_path(DUNNAGE_HWY_INCLUDE hwy/highway.h REQUIRED)
  find_library(DUNNAGE_HWY_LIBRARY hwy REQUIRED)
  file(REAL_PATH "${DUNNAGE_HWY_LIBRARY}" library)
  string(REGEX MATCH "libhwy[.]so[.][0-9]+" soname "${library}")
  add_library(hwy::hwy SHARED IMPORTED)
  set_target_properties(hwy::hwy PROPERTIES
    IMPORTED_LOCATION "${library}"
    IMPORTED_SONAME "${soname}"
    INTERFACE_COMPILE_DEFINITIONS HWY_SHARED_DEFINE
    INTERFACE_INCLUDE_DIRECTORIES "${DUNNAGE_HWY_INCLUDE}")
endif()
