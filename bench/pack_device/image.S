/* kernels.cu as nvcc compiled it. It is part of the program, so no file beside the program can be
   lost. */
        .section .rodata
        .balign 64
        .global bench_pack_device_image
        .type bench_pack_device_image, @object
bench_pack_device_image:
        .incbin KERNEL_IMAGE
        .size bench_pack_device_image, . - bench_pack_device_image
        .section .note.GNU-stack, "", @progbits
