#ifdef INDUCTOR_IMPLEMENTATION
#define INDUCTOR_SCHED_IMPLEMENTATION
#endif
/* inductor_sched.h - decides which loops become one kernel, their order and the memory of their results.

   In: a lowered program (inductor_ir.h): loops over buffers. Out: a schedule of kernels in order, each with one fused
   body; a memory plan with offsets into one arena as formulas; and for every edge the reason why it was fused or not.

   Do this in *one* .c file (C11) to create the implementation:

       #define INDUCTOR_SCHED_IMPLEMENTATION
       #include "inductor_sched.h"

   Fusion. Every kernel has a *domain*: P dimensions (outputs) and R dimensions (reduced). A loop is fused into a
   kernel under two conditions. Its ranges must map onto the domain, row-major or in the memory order of a shared
   access. Every element that it reads from the kernel must be the one that the same thread has just computed
   (equal index expressions). The fused body is recorded by replaying the bodies one after another under one
   recorder. Hash-consing shares common loads and values. Loads of the kernel's own stores become the value, and
   stores without another reader disappear.

   Memory plan. Results live from the kernel that computes them to the last one that reads them. They are placed one
   after another into one arena, each at the lowest offset that is *proven* to be free for all sizes. If sizes cannot
   be compared, the offset is a maximum. A result reuses the memory of an input that dies in its kernel, if every
   point reads exactly the element that it writes.

   Mutation. A loop that changes a buffer in place writes a new version of it (ind__buffer.mutates). It depends on
   the whole old version and comes after all its readers. It may share a kernel with readers of the old or the new
   version, if each point reads exactly the element that it stores; both values are then in registers. The same
   holds for rows: per-element stores are in the last pass, per-row stores come after it. It never shares a kernel
   with the writer of the old version. All versions have the same memory: that of the input or output that they end
   in, else one slot in the arena. The parts of a concatenation are versions of one buffer
   (ind__lowered_fix_layouts).

   Donated inputs. A buffer of the arena may use the memory of a donated input instead. It must fit, and be written
   after the last reader of the earlier contents. It may be written in that reader's kernel if each point reads
   exactly the element that it writes. The same holds for an output, if the caller requests it; later buffers then
   cannot use that memory.

   Prologues. After all other fusion, a pointwise kernel may move into the operand load of a matrix product. Only the
   product may read its results, as operands, and the fusion must save bytes. Its dimensions become expressions in
   those of the product: the linear index of the loaded element is decomposed. A kernel that reduces rows and computes
   the operand from them (a norm, a softmax) may do so too, if the rows are few: each block of the product computes its
   rows again. A residual sum that a product's epilogue can compute is computed there.

   Column reductions in row kernels. Sums of columns (the gradient of a weight or bias) may use data that another
   kernel reads or computes row by row. They are then turned into two-stage reductions before any fusion. The first
   stage has the rows' domain and combines the values of a column over a run of rows, in a special store
   (IND__INST_RUN). The second stage reduces the partial results of the runs. One block iterates over a run. If the
   first stage is not fused with rows, it is a separate kernel.

   Reductions of several rows (the maximum of all elements of a layer_norm). They become two-stage reductions before
   any fusion if their data is computed from the rows of another loop, or read by it. The first stage has that loop's
   domain and stores a partial result per row, so it is fused by the ordinary rules. The data is then not read again,
   and not stored if nothing else reads it. A variance stores mean and sum of squared deviations per row. The second
   stage reduces the partial results, in a fixed order.

   Few long rows. A reduction of a row that several blocks share may also store elements of the row, if one pass
   computes all.

   Rows. A kernel makes one pass over its rows per level of dependent reductions. Scans run in every pass that
   needs them, after those whose results they scan. A sort ends a pass, and later passes read the sorted row. Work on
   the first elements of sorted rows (topk) is computed for all elements, but stored and reduced under a mask.

   Combined launches. After the kernels and their order are chosen, a small kernel may move up into the launch of an
   earlier small one, in which other blocks compute it. It must not depend on that one, nor on any kernel in between.
   The buffers of all parts of a launch are live together; if that would take more memory, the kernels stay separate.
   Kernels that store the parts of a concatenation may share a launch, though each writes a new version of one buffer.

   Attention. Two products with a softmax between them are one kernel: its blocks keep scores and probabilities, of
   which no buffer reaches memory. The product of queries and keys is an inner reduction of its body.

   Limits. Otherwise no reduction follows a matrix product in the same kernel. No loop is split in two. A scan with a
   user function shares its kernel with no other scan, and a sort with no other sort.
   It has no compile-time options; thresholds are in ind_fusion_policy.

   Contents: >>deps >>kernel >>policy >>explain >>schedule >>text >>internal
   implementation: >>accesses >>split >>loop-order >>can-fuse >>score >>candidates >>fuse >>order >>memory >>combine
   >>verify >>print
*/
#include "inductor_ir.h"
#ifndef INDUCTOR_SCHED_H
#define INDUCTOR_SCHED_H

#ifdef __cplusplus
extern "C" {
#endif

//@ sched/prefix.h
//@ sched/schedule.h
//@ sched/internal.h
#ifdef __cplusplus
}
#endif
#endif /* INDUCTOR_SCHED_H */

#ifdef INDUCTOR_SCHED_IMPLEMENTATION
#ifndef INDUCTOR_SCHED_IMPLEMENTATION_DONE
#define INDUCTOR_SCHED_IMPLEMENTATION_DONE

#include <math.h>
#include <string.h>

//@ sched/fuser.c
//@ sched/split_rows.c
//@ sched/split.c
//@ sched/accesses.c
//@ sched/loop_order.c
//@ sched/fusion/can_fuse.c
//@ sched/fusion/products.c
//@ sched/fusion/scatter_epilogues.c
//@ sched/fusion/scans.c
//@ sched/fusion/reorder.c
//@ sched/fusion/prefixes.c
//@ sched/fusion/prologues.c
//@ sched/fusion/row_prologues.c
//@ sched/fusion/score.c
//@ sched/fusion/candidates.c
//@ sched/fusion/reserved_rows.c
//@ sched/fusion/attention.c
//@ sched/fusion/fuse.c
//@ sched/fusion/explain.c
//@ sched/fused_body.c
//@ sched/kernels.c
//@ sched/memory/order.c
//@ sched/memory/lifetimes.c
//@ sched/memory/donated.c
//@ sched/memory/offsets.c
//@ sched/combine.c
//@ sched/few_rows.c
//@ sched/verify.c
//@ sched/print.c
//@ sched/json.c
//@ sched/run.c
//@ sched/memory/limit.c

#endif /* INDUCTOR_SCHED_IMPLEMENTATION_DONE */
#endif /* INDUCTOR_SCHED_IMPLEMENTATION */
