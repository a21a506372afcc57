# CUDA's driver API as a header; no library of CUDA is linked. DUNNAGE_CUDA_INCLUDE is the folder with cuda.h, empty where there
# is none.
if(NOT DUNNAGE_CUDA_INCLUDE)
  find_package(CUDAToolkit QUIET)
  find_path(DUNNAGE_CUDA_INCLUDE cuda.h HINTS ${CUDAToolkit_INCLUDE_DIRS} PATHS /usr/local/cuda/include
            PATH_SUFFIXES include DOC "Folder with CUDA's cuda.h")
endif()
if(DUNNAGE_CUDA_INCLUDE AND EXISTS "${DUNNAGE_CUDA_INCLUDE}/cuda.h")
  message(STATUS "CUDA: ${DUNNAGE_CUDA_INCLUDE}/cuda.h")
else()
  set(DUNNAGE_CUDA_INCLUDE "")
  message(STATUS "CUDA: no cuda.h found, built without GPUs")
endif()
