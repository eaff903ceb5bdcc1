#ifdef INDUCTOR_IMPLEMENTATION
#define INDUCTOR_CODEGEN_CUDA_IMPLEMENTATION
#endif
/* inductor_codegen_cuda.h - turns a kernel of the schedule into a plan (plain data) and the plan into CUDA C.

   In: an ind_kernel (inductor_sched.h) and a target. Out: a printable ind_kernel_plan with every decision, and one
   self-contained source text per variant, without includes.

   Do this in *one* .c file (C11) to create the implementation:

       #define INDUCTOR_CODEGEN_CUDA_IMPLEMENTATION
       #include "inductor_codegen_cuda.h"

   It has no options. It does not compile or run anything (inductor_runtime.h), change the computation or the order
   of kernels (inductor_sched.h), or measure.

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

   Code generation. A kernel's body is one list of instructions over P (output) and R (reduced) variables. First
   the domain is simplified: variables of extent 1 are dropped, adjacent ones that every access treats as one are
   merged, and the P variable that is contiguous in memory moves last. Then a strategy is chosen from the
   contiguous accesses and from the bounds of the sizes. The emitters iterate over the list several times. An
   instruction is emitted at the outermost level where its operands are available: before a loop, in it, or per
   element of a vector. In reductions it is emitted in each pass over the row that needs it.

   Misaligned rows. Rows whose length is not a multiple of the vector width start misaligned. Each row is split into
   a scalar head, aligned vectors and a scalar tail; head and tail take one lane per element. Operands with a
   different misalignment are loaded as two aligned vectors and shifted. In pointwise kernels, vectors continue
   across the ends of such rows.

   Masks. A mask that compares indices with multiples of the vector width is the same for all elements of a vector.
   The parts of a concatenation and padding often have such masks. One test then guards the vector. Other masks are
   tested for each element.

   Split reductions. If a reduction has too few rows or columns to fill the GPU, several blocks share each (*_SPLIT).
   A launch formula in the sizes gives their number, which may be one. Each block stores its partial results in
   memory of the instance. One block then combines them in a fixed order, resets the counters to 0 and does the rest:
   for columns the last block to finish, for rows the last to start. So it is one launch for any size, which can be
   captured, recomputed and be a part of another launch. A reduction of the results of a few rows is computed the same
   way in the launch of the rows (FINISH).

   Column partials. If a kernel combines columns over runs of rows (ind_kernel.run), each block has its passes in a
   loop over the rows of its run. After the loop it stores the partial results.

   Variants. Every kernel has a variant that always works. Before it there may be a faster one, guarded by
   conditions that are likely but not proven: sizes that are multiples of the vector width, aligned pointers,
   offsets that fit into 32 bits. Its rows have about the hinted length and are register-resident. In between there
   are variants with fewer guards: vectors for misaligned rows; rows in other ranges of lengths, each compiled as
   if its length were known (cg__narrow_ranges), with as many warps per block as the row of the launch needs (fitted);
   rows that are read again in each pass. A launch takes the first variant whose guards hold, and compiles it if no
   launch has before.

   Row storage. A row that is used several times is read once, if it fits into the registers of a warp or a block.
   Longer rows use persistent blocks, which copy the next row to shared memory while they compute; up to 16 blocks
   of a cluster share a row. Of misaligned rows, the aligned vectors are copied in this manner, and the edges are
   loaded to registers. Operands that all rows use have a different misalignment. They are shifted once and reused
   for all rows of the same misalignment, which a block processes one after another. A row that fits into neither
   is read again in each pass. The blocks of a cluster share it if that keeps the active rows in the L2, or if
   there are few rows. A row may consist of separate segments (a channel of a batch has one per sample), if each
   vector is within one segment. Each iteration takes whole segments, so that a lane has a fixed offset in its
   segment.

   Masked rows. If a mask rejects most rows, a warp tests it for 32 rows at once and iterates only over the rows that
   pass (MASKED).

   Fallback variants. The register count of a kernel is known after compiling. If fewer registers allow more resident
   blocks, a variant limits them and names a fallback variant, which is compiled instead if the first one spills. The
   capacity of a device for a cluster is known then, too; the last fallback variant uses no cluster.

   Contents: >>target >>strategies >>plan >>source >>internal
   implementation: >>prelude >>op-templates >>writer >>index >>values >>domain >>vectors >>launch >>pointwise
   >>transpose
   >>reduction >>scan >>matmul >>attention >>choose >>assemble >>combine >>finish >>with-next >>persistent >>predict
   >>architectures >>devices >>thresholds >>verify >>print
*/
#include "inductor_sched.h"
#ifndef INDUCTOR_CODEGEN_CUDA_H
#define INDUCTOR_CODEGEN_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

//@ cuda/prefix.h
//@ cuda/target.h
//@ cuda/strategies.h
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

#define IND__CG_MAX_THREADS   1024  /* of a block (CUDA C++ Programming Guide, "Compute Capabilities") */
#define IND__CG_STATIC_SHARED 49152 /* bytes of shared memory of a block without opting in to more */
#define IND__CG_SECTOR_BYTES  32    /* smallest transfer of memory and L2 */
#define IND__CG_LINE_BYTES    128   /* covered by one L1 lookup */

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
//@ cg__prelude = cuda/prelude/attention.cuh
//@ cg__prelude = cuda/prelude/windows.cuh
//@ cg__prelude = cuda/prelude/packed.cuh
//@ cg__prelude = cuda/prelude/packed_rings.cuh
//@ cg__prelude = cuda/prelude/packed_beside.cuh
//@ cg__prelude = cuda/prelude/packed_tiles.cuh
//@ cg__prelude = cuda/prelude/packed_row.cuh
//@ cg__prelude = cuda/prelude/scan.cuh
//@ cg__prelude = cuda/prelude/sort.cuh
//@ cuda/prelude/prelude.c
//@ cuda/emit/op_templates.c
//@ cuda/strategies.c
//@ cuda/emit/writer.c
//@ cuda/emit/index.c
//@ cuda/emit/values.c
//@ cuda/decide/domain.c
//@ cuda/decide/vectors.c
//@ cuda/emit/launch.c
//@ cuda/decide/launch.c
//@ cuda/decide/misaligned.c
//@ cuda/emit/misaligned.c
//@ cuda/emit/runs.c
//@ cuda/emit/pointwise.c
//@ cuda/emit/masked_rows.c
//@ cuda/decide/masked_rows.c
//@ cuda/emit/transpose.c
//@ cuda/decide/tile_loads.c
//@ cuda/emit/reduction/reduction.c
//@ cuda/decide/resident_values.c
//@ cuda/emit/reduction/states.c
//@ cuda/emit/reduction/combine_states.c
//@ cuda/emit/reduction/pass.c
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
//@ cuda/templates/gemm/image_windows.c
//@ cuda/templates/gemm/windows.c
//@ cuda/templates/gemm/grouped.c
//@ cuda/templates/gemm/template.c
//@ cuda/templates/gemm/window_lines.c
//@ cuda/templates/gemm/split.c
//@ cuda/templates/gemm/load.c
//@ cuda/templates/gemm/window_copy.c
//@ cuda/templates/gemm/gather_lines.c
//@ cuda/templates/gemm/chunks.c
//@ cuda/templates/gemm/scales.c
//@ cuda/templates/gemm/realign.c
//@ cuda/templates/gemm/prologue.c
//@ cuda/templates/gemm/statistics.c
//@ cuda/templates/gemm/mma.c
//@ cuda/templates/gemm/turns.c
//@ cuda/templates/gemm/wgmma.c
//@ cuda/templates/gemm/multicast.c
//@ cuda/templates/gemm/bulk.c
//@ cuda/templates/gemm/window_maps.c
//@ cuda/templates/gemm/tma.c
//@ cuda/templates/gemm/tcgen05.c
//@ cuda/templates/gemm/fma.c
//@ cuda/templates/gemm/rows.c
//@ cuda/templates/gemm/one_row.c
//@ cuda/templates/gemm/rows_misaligned.c
//@ cuda/templates/gemm/packed.c
//@ cuda/templates/gemm/packed_tiles.c
//@ cuda/templates/gemm/packed_row.c
//@ cuda/templates/gemm/depthwise.c
//@ cuda/templates/gemm/candidates.c
//@ cuda/templates/gemm/choose.c
//@ cuda/templates/gemm/epilogue.c
//@ cuda/templates/gemm/fragments.c
//@ cuda/templates/attention/problem.c
//@ cuda/templates/attention/products.c
//@ cuda/templates/attention/computed.c
//@ cuda/templates/attention/blocks.c
//@ cuda/templates/attention/mma.c
//@ cuda/templates/attention/bulk.c
//@ cuda/templates/attention/new_rows.c
//@ cuda/templates/attention/split.c
//@ cuda/decide/pointwise.c
//@ cuda/decide/row_warp.c
//@ cuda/decide/row_block.c
//@ cuda/decide/row_staged.c
//@ cuda/decide/row_memory.c
//@ cuda/decide/split.c
//@ cuda/decide/scan.c
//@ cuda/decide/sort.c
//@ cuda/assemble.c
//@ cuda/decide/tuned.c
//@ cuda/decide/l2_eviction.c
//@ cuda/decide/decide.c
//@ cuda/emit/write.c
//@ cuda/decide/trigger.c
//@ cuda/decide/variants.c
//@ cuda/combine.c
//@ cuda/finish.c
//@ cuda/equal_launches.c
//@ cuda/with_next.c
//@ cuda/persistent.c
//@ cuda/recomputed.c
//@ cuda/cost/predict.c
//@ cuda/create.c
//@ cuda/cost/architectures.c
//@ cuda/cost/devices.c
//@ cuda/cost/target.c
//@ cuda/verify.c
//@ cuda/source_users.c
//@ cuda/print.c
#endif /* INDUCTOR_CODEGEN_CUDA_IMPLEMENTATION_DONE */
#endif /* INDUCTOR_CODEGEN_CUDA_IMPLEMENTATION */
