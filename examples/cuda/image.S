/* kernels.cu as nvcc compiled it. Without nvcc the image is empty. */
        .section .rodata
        .balign 64
        .global persistent_stencil_image
        .type persistent_stencil_image, @object
persistent_stencil_image:
#ifdef KERNEL_IMAGE
        .incbin KERNEL_IMAGE
#endif
        .byte 0
        .size persistent_stencil_image, . - persistent_stencil_image
        .section .note.GNU-stack, "", @progbits
