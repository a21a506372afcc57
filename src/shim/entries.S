/* The exported entry points: each is one jump through a slot. Until the first MPI call every slot
   leads to the binder. The binder keeps the arguments, fills all slots and continues at the right
   function. Prototypes play no part here, so one library serves every MPI ABI. */
#if !defined(__x86_64__)
#error "entries.S supports x86-64 only; add the few lines that this processor needs"
#endif

#if defined(__CET__)
#include <cet.h>
#else
#define _CET_ENDBR
#endif

.macro entry name, index
  .pushsection .text
  .globl \name
  .type \name, @function
\name:
  _CET_ENDBR
  jmp *dunnage_slots+8*\index(%rip)
  .size \name, .-\name
bind_\name:
  pushq $\index
  jmp dunnage_bind_entry
  .popsection
  .pushsection .data.rel.local, "aw"
  .quad bind_\name
  .popsection
.endm

  .section .data.rel.local, "aw"
  .balign 8
  .globl dunnage_slots
  .hidden dunnage_slots
dunnage_slots:
#include "shim/entries.inc"

  .text
dunnage_bind_entry:
  /* On entry the stack has the index, then the return address. Integer arguments in registers are
     kept. MPI passes no others. */
  pushq %rax
  pushq %rdi
  pushq %rsi
  pushq %rdx
  pushq %rcx
  pushq %r8
  pushq %r9
  subq $8, %rsp
  movq 64(%rsp), %rdi
  call dunnage_bind
  movq %rax, %r11
  addq $8, %rsp
  popq %r9
  popq %r8
  popq %rcx
  popq %rdx
  popq %rsi
  popq %rdi
  popq %rax
  addq $8, %rsp
  jmp *%r11

  .section .note.GNU-stack, "", @progbits
