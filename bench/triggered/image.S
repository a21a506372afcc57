/* kernels.cu as nvcc compiled it. Without nvcc the image is empty. */
        .section .rodata
        .balign 64
        .global bench_triggered_image
        .type bench_triggered_image, @object
bench_triggered_image:
#ifdef KERNEL_IMAGE
        .incbin KERNEL_IMAGE
#endif
        .byte 0
        .size bench_triggered_image, . - bench_triggered_image
        .section .note.GNU-stack, "", @progbits
