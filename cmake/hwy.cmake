# Highway's headers as the target hwy_headers. Its library is not needed: src/pack/cpu/targets.cpp
# stands in for it.
find_path(DUNNAGE_HWY_INCLUDE hwy/highway.h REQUIRED)
file(STRINGS "${DUNNAGE_HWY_INCLUDE}/hwy/base.h" major REGEX "define HWY_MAJOR ")
if(NOT major)
  file(STRINGS "${DUNNAGE_HWY_INCLUDE}/hwy/highway.h" major REGEX "define HWY_MAJOR ")
endif()
if(NOT major MATCHES "HWY_MAJOR [1-9]")
  message(FATAL_ERROR "Highway in ${DUNNAGE_HWY_INCLUDE} is too old: install version 1.0 or later")
endif()
add_library(hwy_headers INTERFACE)
target_include_directories(hwy_headers SYSTEM INTERFACE "${DUNNAGE_HWY_INCLUDE}")
