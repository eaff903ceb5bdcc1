#ifdef INDUCTOR_IMPLEMENTATION
#define INDUCTOR_SCHED_IMPLEMENTATION
#endif
/* inductor_sched.h - decides which loops become one kernel, in which order they run and where their results lie.

   In: a lowered program (inductor_ir.h), loops over buffers. Out: a schedule, kernels in order, each with one fused
   body; a memory plan, offsets into one arena as formulas; and a record of every edge that was fused or not, and why.

   Do this in *one* .c file (C11) to create the implementation:

       #define INDUCTOR_SCHED_IMPLEMENTATION
       #include "inductor_sched.h"

   How the fusion works: every kernel has a *domain*, P dimensions (outputs) and R dimensions (reduced). A loop joins a
   kernel if its ranges can be laid over the domain, row-major or in the order in which a shared access walks through
   memory, and every element that it reads from the kernel is the one that the same thread has just made (equal index
   expressions). The fused body is then made by replaying
   the bodies one after another under one recorder: common loads and values are shared by hash-consing, loads of
   what the kernel itself stored become the value, and stores that nobody else reads disappear.

   How the memory plan works: results live from the kernel that makes them to the last one that reads them. They are
   placed one after another into one arena, each at the lowest place that is *proven* to be free for all sizes; where
   sizes cannot be compared, an offset is a maximum. A result takes over the memory of an input that dies in its
   kernel, if every point reads exactly the element that it writes.

   How mutation works: a loop that changes a buffer in place writes a new version of it (ind__buffer.mutates). It
   depends on the whole old version and waits for all that reads that. It joins a kernel that reads the old version or
   the new one if all that is read is the very element that the same point stores: the old one is in a register by then,
   as is the new one. Rows are no exception: what is stored for each of their elements is stored in the last pass, and
   what is stored once for a row behind it. With the writer of the old version it is never in one kernel. All versions
   have one place: that of the input or output they end up in, else one in the arena. The parts of a concatenation are
   versions of one buffer (ind__lowered_fix_layouts).

   How donated inputs work: what lies in the arena may lie in the memory of an input that the caller gives away instead,
   if it fits and is made after the last reader of all that was there; in that reader's kernel if each point reads
   exactly the element that it writes. So may an output, if the caller wants: from then on nothing else lies there.

   How prologues work: when all else is fused, a pointwise kernel whose results only a matrix product reads, as
   operands, is computed where the product loads them, if that moves fewer bytes: its dimensions become expressions in
   those of the product, found by taking the read element's place in memory apart.

   How columns join rows: sums of columns (the gradient of a weight or bias) over data that another kernel reads or
   makes row by row are made in two stages, as one loop before anything is fused: the first has the rows' domain, and
   joins the values of a column along a run of rows in a store of its own kind (IND__INST_RUN); the second reduces what
   was stored for the runs. One block walks over a run. If the first then meets no rows, it is a kernel by itself.

   How rows work: a kernel passes over its rows as often as reductions follow one another. Scans run in every pass that
   needs them, behind those whose results they scan; a sort ends a pass, and those after it find the sorted row. What
   works on the first elements of sorted rows (topk) is computed for all elements, but stored and reduced under a mask.

   How launches are combined: once the kernels and their order stand, a small one that needs nothing of an earlier small
   one, nor of what runs in between, moves up to it and becomes a part of its launch, where other blocks work on it.
   What the parts of a launch hold is live together; where that would take more memory, they stay apart. The kernels
   that store the parts of a concatenation may share a launch, though each makes a version of the one before.

   What it does not do: no reduction follows a matrix product in the same kernel; no loop is split in two; a scan with a
   function of the user shares its kernel with no other scan, and a sort with no other sort.
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
//@ sched/split.c
//@ sched/accesses.c
//@ sched/loop_order.c
//@ sched/fusion/can_fuse.c
//@ sched/fusion/scans.c
//@ sched/fusion/reorder.c
//@ sched/fusion/prefixes.c
//@ sched/fusion/prologues.c
//@ sched/fusion/score.c
//@ sched/fusion/candidates.c
//@ sched/fusion/fuse.c
//@ sched/fusion/explain.c
//@ sched/fused_body.c
//@ sched/kernels.c
//@ sched/memory/order.c
//@ sched/memory/lifetimes.c
//@ sched/memory/donated.c
//@ sched/memory/places.c
//@ sched/combine.c
//@ sched/verify.c
//@ sched/print.c
//@ sched/json.c
//@ sched/run.c
//@ sched/memory/limit.c

#endif /* INDUCTOR_SCHED_IMPLEMENTATION_DONE */
#endif /* INDUCTOR_SCHED_IMPLEMENTATION */
