# CUDA's driver API as a header, and its compiler; no library of CUDA is linked. DUNNAGE_CUDA_INCLUDE is the folder with cuda.h,
# empty where there is none; DUNNAGE_NVCC the compiler, without which there are no kernels and only the simulated device works.
set(DUNNAGE_CUDA_ARCHITECTURES "75;80;90;100;120" CACHE STRING "Compute capabilities to compile kernels for, the oldest first")
if(NOT DUNNAGE_CUDA_INCLUDE)
  find_package(CUDAToolkit QUIET)
  find_path(DUNNAGE_CUDA_INCLUDE cuda.h HINTS ${CUDAToolkit_INCLUDE_DIRS} PATHS /usr/local/cuda/include
            "${DUNNAGE_CUDA_WHEELS}/include" PATH_SUFFIXES include DOC "Folder with CUDA's cuda.h")
endif()
if(DUNNAGE_CUDA_INCLUDE AND EXISTS "${DUNNAGE_CUDA_INCLUDE}/cuda.h")
  message(STATUS "CUDA: ${DUNNAGE_CUDA_INCLUDE}/cuda.h")
else()
  set(DUNNAGE_CUDA_INCLUDE "")
  message(STATUS "CUDA: no cuda.h found, built without GPUs")
endif()

find_program(DUNNAGE_NVCC nvcc HINTS "${DUNNAGE_CUDA_WHEELS}/bin" /usr/local/cuda/bin DOC "CUDA's compiler")
if(DUNNAGE_CUDA_INCLUDE AND DUNNAGE_NVCC)
  message(STATUS "CUDA: ${DUNNAGE_NVCC}, for ${DUNNAGE_CUDA_ARCHITECTURES}")
endif()
