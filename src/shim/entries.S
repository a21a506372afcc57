/* The exported entry points: each is one jump through a slot. Until the first MPI call every slot
   leads to the binder. The binder keeps the arguments, fills all slots and continues at the right
   function. Prototypes play no part here, so one library serves every MPI ABI.

   A processor's file has the macros `jump_through` and `bind`, and dunnage_bind_entry. */
#if defined(__x86_64__)
#include "shim/x86_64/entry.inc"
#elif defined(__aarch64__)
#include "shim/aarch64/entry.inc"
#else
#error "Dunnage supports x86-64 and aarch64; others need a file such as src/shim/aarch64/entry.inc"
#endif

.macro entry name, index
  .pushsection .text
  .globl \name
  .type \name, %function
\name:
  jump_through \index
  .size \name, .-\name
bind_\name:
  bind \index
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

  .section .note.GNU-stack, "", %progbits
