/* The kernels.cu of this folder, as nvcc compiled it. */
#include "../image.S"
