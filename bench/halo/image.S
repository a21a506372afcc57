/* kernels.cu as nvcc compiled it. It is part of the program, so no file beside the program can be
   lost. Without nvcc the image is empty, and the program measures host memory only. */
        .section .rodata
        .balign 64
        .global bench_halo_image
        .type bench_halo_image, @object
bench_halo_image:
#ifdef KERNEL_IMAGE
        .incbin KERNEL_IMAGE
#endif
        .byte 0
        .size bench_halo_image, . - bench_halo_image
        .section .note.GNU-stack, "", @progbits
