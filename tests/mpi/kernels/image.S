/* kernels.cu as nvcc compiled it. Without nvcc the image is empty, and the programs need the
   simulated device. */
        .section .rodata
        .balign 64
        .global triggered_kernels_image
        .type triggered_kernels_image, @object
triggered_kernels_image:
#ifdef KERNEL_IMAGE
        .incbin KERNEL_IMAGE
#endif
        .byte 0
        .size triggered_kernels_image, . - triggered_kernels_image
        .section .note.GNU-stack, "", @progbits
