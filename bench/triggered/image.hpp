// kernels.cu as nvcc compiled it (image.S). Without nvcc its first byte is 0.
#pragma once

extern "C" const char bench_triggered_image[];
