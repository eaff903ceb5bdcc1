#ifdef INDUCTOR_IMPLEMENTATION
#define INDUCTOR_IR_IMPLEMENTATION
#endif
/* inductor_ir.h - the base of the inductor headers: context, symbolic integers, loop bodies, buffers.

   Do this in *one* .c file (C11) to create the implementation:

       #define INDUCTOR_IR_IMPLEMENTATION
       #include "inductor_ir.h"

   Most users include inductor.h instead, which brings all five headers.

   What is here
       - a context that owns memory, the last error and all interned symbols and expressions;
       - `ind_expr`, an immutable hash-consed integer expression: sizes, strides, offsets, loop indices;
       - loop bodies: the per-element computation of a kernel, recorded once from a C function (define by run);
       - boxes (TensorBox -> view -> storage), which turn ops on tensors into loops and choose the stored results;
       - a verifier, a printer and an evaluator of bodies.

   What it does not do: no globals, no abort, no printing, no floating-point symbols, no autograd.

   Optional macros, defined before the headers
       IND_API        linkage of every public function (default: extern)
       IND_PREFIX     all external symbols begin with it; defined in all files that include the headers

   Contents (search for the anchor)
       >>config >>status >>context >>dtype >>expr >>ops >>body >>layout >>loops >>text >>eval >>internal >>packed
       implementation: >>threads >>memory >>string >>intern >>simplify >>facts >>assume >>import >>index >>expr-text
       >>program >>simplify >>record >>replay >>boxes >>realise >>verify >>print
       >>evaluate
*/
#ifndef INDUCTOR_IR_H
#define INDUCTOR_IR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

//@ ir/prefix.h
//@ ir/base/config.h
//@ ir/base/status.h
//@ ir/base/context.h
//@ ir/base/dtype.h
//@ ir/expr/expr.h
//@ ir/loops/ops.h
//@ ir/loops/body.h
//@ ir/loops/layout.h
//@ ir/base/compilers.h
//@ ir/base/memory.h
//@ ir/expr/internal.h
//@ ir/loops/functions.h
//@ ir/loops/internal.h
//@ ir/loops/packed.h
//@ ir/loops/program.h
//@ ir/loops/evaluate.h
//@ ir/base/internal.h
#ifdef __cplusplus
}
#endif
#endif /* INDUCTOR_IR_H */

/* =============================================================================================================== */
#ifdef INDUCTOR_IR_IMPLEMENTATION
#ifndef INDUCTOR_IR_IMPLEMENTATION_DONE
#define INDUCTOR_IR_IMPLEMENTATION_DONE

#include <float.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(_WIN32)
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>
#else
#include <pthread.h>
#endif

#ifdef __cplusplus
#error "the implementation is C11: define the implementation macro in a .c file"
#endif

//@ ir/base/threads.c
//@ ir/base/memory.c
//@ ir/base/strings.c
//@ ir/expr/intern.c
//@ ir/expr/sums.c
//@ ir/expr/sum_rules.c
//@ ir/expr/sum_lattices.c
//@ ir/expr/products.c
//@ ir/expr/quotients.c
//@ ir/expr/lattices.c
//@ ir/expr/conditions.c
//@ ir/expr/facts.c
//@ ir/expr/proofs.c
//@ ir/expr/assume.c
//@ ir/expr/learn.c
//@ ir/expr/import.c
//@ ir/expr/index.c
//@ ir/expr/ranges.c
//@ ir/expr/forms.c
//@ ir/expr/factor.c
//@ ir/expr/roundings.c
//@ ir/expr/choose_form.c
//@ ir/expr/print.c
//@ ir/expr/parse.c
//@ ir/loops/program.c
//@ ir/loops/simplify.c
//@ ir/loops/record.c
//@ ir/loops/functions.c
//@ ir/loops/replay.c
//@ ir/loops/boxes.c
//@ ir/loops/realise.c
//@ ir/loops/concatenate.c
//@ ir/loops/two_stages.c
//@ ir/loops/verify.c
//@ ir/loops/print.c
//@ ir/loops/evaluate.c
//@ ir/loops/special_functions.c
#endif /* INDUCTOR_IR_IMPLEMENTATION_DONE */
#endif /* INDUCTOR_IR_IMPLEMENTATION */
