/* kernels.cu as nvcc compiled it. It is part of the program, so no file beside the program can be
   lost. Without nvcc the image is empty, and the program works in host memory only. */
        .section .rodata
        .balign 64
        .global higrad_image
        .type higrad_image, @object
higrad_image:
#ifdef KERNEL_IMAGE
        .incbin KERNEL_IMAGE
#endif
        .byte 0
        .size higrad_image, . - higrad_image
        .section .note.GNU-stack, "", @progbits
