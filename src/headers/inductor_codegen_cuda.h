#ifdef INDUCTOR_IMPLEMENTATION
#define INDUCTOR_CODEGEN_CUDA_IMPLEMENTATION
#endif
/* inductor_codegen_cuda.h - turns a kernel of the schedule into a plan (plain data) and the plan into CUDA C.

   In: an ind_kernel (inductor_sched.h) and a target. Out: an ind_kernel_plan, which holds every decision and can be
   printed, and one self-contained source text per variant that includes nothing.

   Do this in *one* .c file (C11) to create the implementation:

       #define INDUCTOR_CODEGEN_CUDA_IMPLEMENTATION
       #include "inductor_codegen_cuda.h"

   It has no options of its own. What it does not do: compile or run anything (inductor_runtime.h), change what is
   computed or in which order kernels run (inductor_sched.h), measure.

   From a schedule to text:

       ind_target target;
       ind_plan *plan;
       ind__text text = {.context = ctx};
       if (ind__target_parse(ctx, "sm_90a", &target)) return ind_error_status(ctx);
       if (ind__plan_create(ctx, schedule, &target, &plan)) return ind_error_status(ctx);
       ind__plan_print(&text, plan, NULL, NULL, NULL); // what was decided for each kernel, and why
       ind__plan_print_source(&text, plan, NULL, NULL, NULL); // every distinct source
       puts(text.data);
       ind__text_free(&text);
       ind__plan_free(plan);

   How a source is made. A kernel's body is one list of instructions over P (output) and R (reduced) variables. First
   the domain is tidied: variables of extent 1 go, neighbours that every access treats as one are merged, the P variable
   that is contiguous in memory moves last. Then a strategy is chosen from which accesses are contiguous along what, and
   from the bounds of the sizes. The emitters walk the list several times: an instruction is written where all it varies
   with is known (before a loop, in it, per element of a vector) and, in reductions, in each sweep over the row that
   needs it.

   Rows whose length no vector divides start anywhere between the boundaries of vectors. Their vectors start at the
   first boundary in the row, and the few elements at both ends go to neighbouring lanes, one each; what lies otherwise
   between boundaries is put together from two vectors. Points of such rows are cut into vectors through all rows.

   A mask that compares indices with multiples of the vector width is the same for all elements of a vector, as those of
   the parts of a concatenation and of padding often are. One test guards the vector then. Masks with other edges are
   tested for each element.

   Where a reduction has too few rows, or columns, to fill the machine, several blocks share each (*_SPLIT): so many as
   a launch formula in the sizes says, one of them too. Each leaves what it found in memory of the instance; the last
   one, to be done with columns or to begin with rows, joins all of it, always in the same order, sets what they met by
   back to 0 and does the rest. So it is one launch for any size, which can be captured, repeated and be a part of
   another launch. What is reduced of the results of a few rows is done likewise in the launch of the rows (FINISH).

   A block whose kernel joins columns along runs of rows (ind_kernel.run) has the sweeps in a loop over its rows, and
   behind it stores what it has joined.

   Every kernel has a variant that always works. In front of it there may be a faster one that needs conditions which
   are likely but not proven: sizes that vectors divide, aligned pointers, offsets that fit into 32 bits, rows of about
   the hinted length, which a block then holds in as many registers as they take. Between the two there are variants
   that do without the one or the other: vectors that lie between boundaries, wherever a row starts; rows in other
   ranges of lengths, each made as if its length were known (cg__row_ranges), by blocks of as many warps as the row of
   the launch needs (fitted); rows that are walked along. A launch takes the first whose conditions hold, and is the
   first to build it if no other has.

   A row that is used several times is read once, if it fits: into the registers of a warp or a block; beyond, blocks
   stay and take row after row, the next of which is copied to shared memory meanwhile, that of up to 16 blocks of a
   cluster. Of rows that start anywhere the vectors between boundaries are copied so, and edges wait in registers. What
   all rows use lies otherwise between boundaries: it is put together for a row and kept for those that start equally
   far behind one, which a block takes one after another. A row that fits nowhere is walked along in each sweep, by the
   blocks of a cluster together if that keeps the rows in work in the L2, or if rows are few. What lies in pieces is a
   row all the same, as a channel of a batch that has a piece in each sample, if a vector lies in one piece: each round
   takes whole pieces, so that a lane has its place in a piece once and for all.

   Of rows that a mask seldom lets through a warp asks for 32 at once, and walks along those where it holds (MASKED).

   How many registers a kernel takes is known once it is built. Where fewer of them let more blocks run side by side,
   a variant asks for few and names another way that is built in its place if that build spills (otherwise). Whether a
   device has a place for a cluster is known then, too; the last of these ways do without.

   Contents: >>target >>plan >>source >>internal
   implementation: >>prelude >>spellings >>writer >>index >>values >>domain >>vectors >>launch >>pointwise >>transpose
   >>reduction >>scan >>matmul >>choose >>assemble >>combine >>finish >>predict >>architectures
   >>devices >>thresholds >>verify >>print
*/
#include "inductor_sched.h"
#ifndef INDUCTOR_CODEGEN_CUDA_H
#define INDUCTOR_CODEGEN_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

//@ cuda/target.h
//@ cuda/plan.h
//@ cuda/source.h
//@ cuda/internal.h
#ifdef __cplusplus
}
#endif
#endif /* INDUCTOR_CODEGEN_CUDA_H */

#ifdef INDUCTOR_CODEGEN_CUDA_IMPLEMENTATION
#ifndef INDUCTOR_CODEGEN_CUDA_IMPLEMENTATION_DONE
#define INDUCTOR_CODEGEN_CUDA_IMPLEMENTATION_DONE

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define IND__CG_INT32_MAX 2147483647

#define IND__CG_SECTOR_BYTES 32   /* that memory and the L2 move at the least */
#define IND__CG_LINE_BYTES   128  /* that the L1 looks up at once */

//@ cg__prelude = cuda/prelude/types.cuh
//@ cg__prelude = cuda/prelude/memory.cuh
//@ cg__prelude = cuda/prelude/math.cuh
//@ cg__prelude = cuda/prelude/special.cuh
//@ cg__prelude = cuda/prelude/random.cuh
//@ cg__prelude = cuda/prelude/checks.cuh
//@ cg__prelude = cuda/prelude/atomics.cuh
//@ cg__prelude = cuda/prelude/states.cuh
//@ cg__prelude = cuda/prelude/combine.cuh
//@ cg__prelude = cuda/prelude/matrix.cuh
//@ cg__prelude = cuda/prelude/scan.cuh
//@ cg__prelude = cuda/prelude/sort.cuh
//@ cuda/prelude/prelude.c
//@ cuda/emit/op_templates.c
//@ cuda/emit/writer.c
//@ cuda/emit/index.c
//@ cuda/emit/values.c
//@ cuda/decide/domain.c
//@ cuda/decide/vectors.c
//@ cuda/emit/launch.c
//@ cuda/decide/launch.c
//@ cuda/decide/misaligned.c
//@ cuda/emit/misaligned.c
//@ cuda/emit/pointwise.c
//@ cuda/emit/masked_rows.c
//@ cuda/decide/masked_rows.c
//@ cuda/emit/transpose.c
//@ cuda/decide/tile_loads.c
//@ cuda/emit/reduction/reduction.c
//@ cuda/decide/kept.c
//@ cuda/emit/reduction/states.c
//@ cuda/emit/reduction/combine_states.c
//@ cuda/emit/reduction/pass.c
//@ cuda/emit/reduction/l2.c
//@ cuda/emit/reduction/staged_rows.c
//@ cuda/emit/reduction/vector_shared.c
//@ cuda/emit/reduction/column_runs.c
//@ cuda/emit/reduction/split.c
//@ cuda/emit/reduction/rows.c
//@ cuda/emit/reduction/columns.c
//@ cuda/emit/reduction/batch.c
//@ cuda/emit/scan/scan.c
//@ cuda/emit/scan/shared_kernel.c
//@ cuda/emit/scan/chunk.c
//@ cuda/emit/scan/lookback.c
//@ cuda/emit/scan/sort.c
//@ cuda/templates/gemm/problem.c
//@ cuda/templates/gemm/tile.c
//@ cuda/templates/gemm/plan.c
//@ cuda/templates/gemm/load.c
//@ cuda/templates/gemm/prologue.c
//@ cuda/templates/gemm/main_loop.c
//@ cuda/templates/gemm/epilogue.c
//@ cuda/decide/pointwise.c
//@ cuda/decide/row_warp.c
//@ cuda/decide/row_block.c
//@ cuda/decide/row_staged.c
//@ cuda/decide/row_kept.c
//@ cuda/decide/split.c
//@ cuda/decide/scan.c
//@ cuda/decide/sort.c
//@ cuda/assemble.c
//@ cuda/decide/tuned.c
//@ cuda/decide/decide.c
//@ cuda/emit/write.c
//@ cuda/decide/variants.c
//@ cuda/combine.c
//@ cuda/finish.c
//@ cuda/cost/predict.c
//@ cuda/equal_launches.c
//@ cuda/create.c
//@ cuda/cost/architectures.c
//@ cuda/cost/devices.c
//@ cuda/cost/target.c
//@ cuda/verify.c
//@ cuda/print.c
#endif /* INDUCTOR_CODEGEN_CUDA_IMPLEMENTATION_DONE */
#endif /* INDUCTOR_CODEGEN_CUDA_IMPLEMENTATION */
