# What is taken from a CUDA toolkit, if there is one. No library of CUDA is linked, and no header is
# needed: the driver's prototypes are in src/device/cuda_driver_api.h.
#   DUNNAGE_NVCC          CUDA's compiler. It compiles the kernels. Without kernels only the simulated device is used.
#   DUNNAGE_CUDA_INCLUDE  The folder with the real <cuda.h>, or empty. A test compares our prototypes with that file,
#                         and the NVTX header in that folder makes DUNNAGE_NVTX work.
set(DUNNAGE_CUDA_ARCHITECTURES "75;80;90;100;120" CACHE STRING "Compute capabilities to compile kernels for, the oldest first")
if(NOT DEFINED DUNNAGE_CUDA_INCLUDE)
  find_package(CUDAToolkit QUIET)
endif()
find_path(DUNNAGE_CUDA_INCLUDE cuda.h HINTS ${CUDAToolkit_INCLUDE_DIRS} PATHS /usr/local/cuda/include
          "${DUNNAGE_CUDA_WHEELS}/include" PATH_SUFFIXES include DOC "Folder with CUDA's cuda.h, or empty")
if(NOT EXISTS "${DUNNAGE_CUDA_INCLUDE}/cuda.h")
  set(DUNNAGE_CUDA_INCLUDE "")
endif()

find_program(DUNNAGE_NVCC nvcc HINTS "${DUNNAGE_CUDA_WHEELS}/bin" /usr/local/cuda/bin DOC "CUDA's compiler")
if(DUNNAGE_NVCC)
  message(STATUS "CUDA: ${DUNNAGE_NVCC} compiles the kernels for ${DUNNAGE_CUDA_ARCHITECTURES}")
else()
  message(STATUS "CUDA: no nvcc was found. Dunnage is built without kernels and leaves device memory to the MPI")
endif()

# What nothing runs is not optimised: it compiles in a third of the time.
set(DUNNAGE_QUICK_KERNELS -Xcicc -O1 -Xptxas -O0)

# dunnage_kernel_image(HEADERS...): kernels.cu of this folder, which includes these headers, as the
# image that image.S puts into the program.
function(dunnage_kernel_image)
  set(code -gencode arch=compute_90,code=sm_90)
  if(DUNNAGE_QUICK_TESTS)  # the oldest shows that they compile
    set(code -gencode arch=compute_75,code=sm_75 ${DUNNAGE_QUICK_KERNELS})
  endif()
  set(image "${CMAKE_CURRENT_BINARY_DIR}/kernels.fatbin")
  add_custom_command(
    OUTPUT "${image}"
    COMMAND "${DUNNAGE_NVCC}" -std=c++17 -O3 -fatbin -ccbin "${CMAKE_CXX_COMPILER}" -Werror all-warnings
            ${code} -gencode arch=compute_75,code=compute_75
            "-I${PROJECT_SOURCE_DIR}/include" "${CMAKE_CURRENT_SOURCE_DIR}/kernels.cu" -o "${image}"
    DEPENDS kernels.cu ${ARGN} VERBATIM)
  set_property(SOURCE image.S PROPERTY OBJECT_DEPENDS "${image}")
  set_property(SOURCE image.S PROPERTY COMPILE_DEFINITIONS "KERNEL_IMAGE=\"${image}\"")
endfunction()
