#ifdef INDUCTOR_IMPLEMENTATION
#define INDUCTOR_GRAPH_IMPLEMENTATION
#endif
/* inductor.h - a compiler for tensor graphs: ops in through a C API, fused CUDA C out, compiled at run time by NVRTC.

   Do this in *one* .c file (C11) to create the implementation of all five headers:

       #define INDUCTOR_IMPLEMENTATION
       #include "inductor.h"

   and include it plainly (C99, C++11) everywhere else. Link with -lm -lpthread -ldl. The manual stands at >>overview.

   Optional macros, defined before the implementation
       IND_API        linkage of every public function (default: extern)

   Contents: >>overview >>version >>graph >>ops >>text >>compile >>explain >>formula >>internal
   implementation: >>op-table >>shapes >>builder >>composites >>conditions >>printer >>parser >>import >>passes
   >>lowerings >>pipeline >>raise >>explain >>page >>formula >>solve
*/
#include "inductor_runtime.h"
#ifndef INDUCTOR_H
#define INDUCTOR_H

#ifdef __cplusplus
extern "C" {
#endif

//@ graph/manual.h
//@ graph/version.h
//@ graph/graph.h
//@ graph/op_table.h
//@ graph/ops.h
//@ graph/text.h
//@ graph/compile.h
//@ graph/explain.h
//@ graph/formula.h
//@ graph/internal.h
#ifdef __cplusplus
}
#endif
#endif /* INDUCTOR_H */

/* ====================================================================================================================
 */
#ifdef INDUCTOR_GRAPH_IMPLEMENTATION
#ifndef INDUCTOR_GRAPH_IMPLEMENTATION_DONE
#define INDUCTOR_GRAPH_IMPLEMENTATION_DONE

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

//@ graph/op_table.c
//@ graph/shapes/common.c
//@ graph/shapes/promotion.c
//@ graph/shapes/dims.c
//@ graph/shapes/sources.c
//@ graph/shapes/pointwise.c
//@ graph/shapes/reductions.c
//@ graph/shapes/views.c
//@ graph/shapes/movement.c
//@ graph/shapes/windows.c
//@ graph/shapes/resampling.c
//@ graph/shapes/indexing.c
//@ graph/shapes/sorting.c
//@ graph/shapes/data_sizes.c
//@ graph/shapes/products.c
//@ graph/shapes/table.c
//@ graph/shapes/infer.c
//@ graph/build/graph.c
//@ graph/build/masks.c
//@ graph/build/attributes.c
//@ graph/build/aliases.c
//@ graph/build/as_strided.c
//@ graph/build/inputs.c
//@ graph/build/in_place.c
//@ graph/build/query.c
//@ graph/build/ops.c
//@ graph/build/more_ops.c
//@ graph/build/custom.c
//@ graph/build/extern.c
//@ graph/composites/common.c
//@ graph/composites/losses.c
//@ graph/composites/pointwise.c
//@ graph/composites/counts.c
//@ graph/composites/products.c
//@ graph/composites/einsum.c
//@ graph/composites/movement.c
//@ graph/composites/fourier.c
//@ graph/composites/signal.c
//@ graph/composites/embedding.c
//@ graph/composites/images.c
//@ graph/composites/resampling.c
//@ graph/composites/table.c
//@ graph/text/conditions.c
//@ graph/text/print.c
//@ graph/text/parse.c
//@ graph/text/tokens.c
//@ graph/text/values.c
//@ graph/text/calls.c
//@ graph/text/statements.c
//@ graph/text/combine.c
//@ graph/text/strings.c
//@ graph/text/verify.c
//@ graph/import.c
//@ graph/passes/passes.c
//@ graph/passes/fold.c
//@ graph/passes/noop.c
//@ graph/passes/cse.c
//@ graph/passes/run.c
//@ graph/lowerings/common.c
//@ graph/lowerings/pointwise.c
//@ graph/lowerings/cat.c
//@ graph/lowerings/gathers.c
//@ graph/lowerings/scatters.c
//@ graph/lowerings/deterministic.c
//@ graph/lowerings/extern.c
//@ graph/lowerings/embedding.c
//@ graph/lowerings/views.c
//@ graph/lowerings/movement.c
//@ graph/lowerings/reductions.c
//@ graph/lowerings/norms.c
//@ graph/lowerings/losses.c
//@ graph/lowerings/normalisations.c
//@ graph/lowerings/pools.c
//@ graph/lowerings/products.c
//@ graph/lowerings/scans.c
//@ graph/lowerings/ranks.c
//@ graph/lowerings/data_sizes.c
//@ graph/lowerings/unique.c
//@ graph/lowerings/resampling.c
//@ graph/lowerings/windows.c
//@ graph/lowerings/attention.c
//@ graph/lowerings/convolutions.c
//@ graph/lowerings/parts.c
//@ graph/lowerings/table.c
//@ graph/lowerings/run.c
//@ graph/compile.c
//@ graph/raise/raise.c
//@ graph/raise/ops.c
//@ graph/raise/index.c
//@ graph/raise/accesses.c
//@ graph/raise/instructions.c
//@ graph/raise/reductions.c
//@ graph/raise/stores.c
//@ graph/raise/body.c
//@ graph/raise/sizes.c
//@ graph/raise/kernel.c
//@ graph/raise/custom.c
//@ graph/explain/explain.c
//@ graph/explain/texts.c
//@ graph/explain/page.c
//@ graph/formula/formula.c
//@ graph/formula/solve.c
#endif /* INDUCTOR_GRAPH_IMPLEMENTATION_DONE */
#endif /* INDUCTOR_GRAPH_IMPLEMENTATION */
