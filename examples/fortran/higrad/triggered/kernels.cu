// The kernels of higrad_triggered: those of higrad, and the one that sends.
#include "../kernels.cu"
#include "send.cuh"
