#ifdef INDUCTOR_IMPLEMENTATION
#define INDUCTOR_GRAPH_IMPLEMENTATION
#endif
/* inductor.h - a compiler for tensor graphs: ops in through a C API, fused CUDA C out, compiled at run time by NVRTC.

   Do this in *one* .c file (C11) to create the implementation of all five headers:

       #define INDUCTOR_IMPLEMENTATION
       #include "inductor.h"

   and include it without the macro (C99, C++11) everywhere else. Link with -lm -lpthread -ldl. The manual is at
   >>overview.

   Optional macros, defined before the implementation
       IND_API        linkage of every public function (default: extern)

   Contents: >>overview >>version >>graph >>ops >>text >>compile >>patterns >>user-passes >>explain >>formula >>export
   >>internal
   implementation: >>op-table >>shapes >>builder >>composites >>lowerings >>families >>conditions >>printer >>parser
   >>import >>passes >>pipeline >>raise >>explain >>page >>formula >>solve >>export
*/
#include "inductor_runtime.h"
#ifndef INDUCTOR_H
#define INDUCTOR_H

#ifdef __cplusplus
extern "C" {
#endif

//@ graph/prefix.h
//@ graph/manual.h
//@ graph/version.h
//@ graph/graph.h
//@ graph/op_table.h
//@ graph/ops/data/sources.h
//@ graph/ops/data/random.h
//@ graph/ops/data/copies.h
//@ graph/ops/data/quantised.h
//@ graph/ops/elementwise/arithmetic.h
//@ graph/ops/elementwise/math.h
//@ graph/ops/elementwise/special.h
//@ graph/ops/elementwise/logic.h
//@ graph/ops/elementwise/activations.h
//@ graph/ops/rows/reductions.h
//@ graph/ops/rows/norms.h
//@ graph/ops/rows/softmax.h
//@ graph/ops/rows/losses.h
//@ graph/ops/rows/normalisations.h
//@ graph/ops/rows/scans.h
//@ graph/ops/rows/sorting.h
//@ graph/ops/rows/ranks.h
//@ graph/ops/rows/searches.h
//@ graph/ops/indexing/gathers.h
//@ graph/ops/indexing/scatters.h
//@ graph/ops/indexing/embedding.h
//@ graph/ops/indexing/data_sizes.h
//@ graph/ops/indexing/unique.h
//@ graph/ops/movement/views.h
//@ graph/ops/movement/moves.h
//@ graph/ops/movement/concatenation.h
//@ graph/ops/movement/triangles.h
//@ graph/ops/movement/pads.h
//@ graph/ops/movement/view_scatters.h
//@ graph/ops/windows/pools.h
//@ graph/ops/windows/convolutions.h
//@ graph/ops/windows/convolution_phases.h
//@ graph/ops/windows/resampling.h
//@ graph/ops/windows/grids.h
//@ graph/ops/windows/columns.h
//@ graph/ops/products/matmul.h
//@ graph/ops/products/eight_bit.h
//@ graph/ops/products/grouped.h
//@ graph/ops/products/einsum.h
//@ graph/ops/products/attention.h
//@ graph/ops/signal/fourier.h
//@ graph/ops/signal/frames.h
//@ graph/ops/signal/complex.h
//@ graph/ops/user/custom.h
//@ graph/ops/user/associative_scan.h
//@ graph/ops/user/extern.h
//@ graph/ops/table.h
//@ graph/text.h
//@ graph/compile.h
//@ graph/patterns/patterns.h
//@ graph/passes/user.h
//@ graph/explain.h
//@ graph/formula.h
//@ graph/export/export.h
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
#include <stdlib.h>
#include <string.h>

//@ graph/patterns/internal.h
//@ graph/op_table.c
//@ graph/ops/implementation.c
//@ graph/shapes/common.c
//@ graph/shapes/promotion.c
//@ graph/shapes/dims.c
//@ graph/shapes/views.c
//@ graph/shapes/windows.c
//@ graph/shapes/reductions.c
//@ graph/shapes/pointwise.c
//@ graph/shapes/infer.c
//@ graph/build/graph.c
//@ graph/build/masks.c
//@ graph/build/attributes.c
//@ graph/build/aliases.c
//@ graph/build/as_strided.c
//@ graph/build/inputs.c
//@ graph/build/in_place.c
//@ graph/build/query.c
//@ graph/build/numbers.c
//@ graph/build/calls.c
//@ graph/composites/common.c
//@ graph/composites/expand.c
//@ graph/lowerings/common.c
//@ graph/lowerings/pointwise.c
//@ graph/lowerings/views.c
//@ graph/lowerings/reductions.c
//@ graph/lowerings/scans.c
//@ graph/lowerings/scatters.c
//@ graph/lowerings/deterministic.c
/* --------------------------------------------------------------------------------------------- >>families */

/* Each family of ops has its shape rules, builders, expansions and lowerings together, and at the end a table row for
   each op (>>ops has their names and operands). */

//@ graph/ops/data/sources.c
//@ graph/ops/data/random.c
//@ graph/ops/data/copies.c
//@ graph/ops/elementwise/arithmetic.c
//@ graph/ops/elementwise/math.c
//@ graph/ops/elementwise/special.c
//@ graph/ops/elementwise/logic.c
//@ graph/ops/elementwise/activations.c
//@ graph/ops/rows/reductions.c
//@ graph/ops/rows/norms.c
//@ graph/ops/rows/softmax.c
//@ graph/ops/rows/losses.c
//@ graph/ops/rows/normalisations.c
//@ graph/ops/rows/scans.c
//@ graph/ops/rows/sorting.c
//@ graph/ops/rows/ranks.c
//@ graph/ops/rows/searches.c
//@ graph/ops/indexing/gathers.c
//@ graph/ops/indexing/scatters.c
//@ graph/ops/indexing/embedding.c
//@ graph/ops/indexing/data_sizes.c
//@ graph/ops/indexing/unique.c
//@ graph/ops/movement/views.c
//@ graph/ops/movement/moves.c
//@ graph/ops/movement/concatenation.c
//@ graph/ops/movement/triangles.c
//@ graph/ops/movement/pads.c
//@ graph/ops/movement/view_scatters.c
//@ graph/ops/data/quantised.c
//@ graph/ops/windows/pools.c
//@ graph/ops/windows/convolutions.c
//@ graph/ops/windows/convolution_phases.c
//@ graph/ops/windows/resampling.c
//@ graph/ops/windows/grids.c
//@ graph/ops/windows/columns.c
//@ graph/ops/products/matmul.c
//@ graph/ops/products/eight_bit.c
//@ graph/ops/products/grouped.c
//@ graph/ops/products/einsum.c
//@ graph/ops/products/attention.c
//@ graph/ops/signal/fourier.c
//@ graph/ops/signal/frames.c
//@ graph/ops/signal/complex.c
//@ graph/ops/user/custom.c
//@ graph/ops/user/associative_scan.c
//@ graph/ops/user/extern.c
//@ graph/ops/table.c
//@ graph/text/conditions.c
//@ graph/text/print.c
//@ graph/text/parse.c
//@ graph/text/tokens.c
//@ graph/text/values.c
//@ graph/text/calls.c
//@ graph/text/statements.c
//@ graph/text/combine.c
//@ graph/text/strings.c
//@ graph/passes/constants.c
//@ graph/patterns/conditions.c
//@ graph/patterns/parse.c
//@ graph__builtin_patterns = graph/patterns/builtin.ind
//@ graph__convolution_patterns = graph/patterns/convolutions.ind
//@ graph__product_patterns = graph/patterns/products.ind
//@ graph__written_patterns = graph/patterns/written_out.ind
//@ graph/patterns/register.c
//@ graph/text/verify.c
//@ graph/import.c
//@ graph/passes/log.c
//@ graph/passes/passes.c
//@ graph/passes/bounds.c
//@ graph/passes/fold.c
//@ graph/passes/cse.c
//@ graph/passes/canonical.c
//@ graph/passes/views.c
//@ graph/passes/noop.c
//@ graph/passes/algebra.c
//@ graph/passes/reinplace.c
//@ graph/patterns/match.c
//@ graph/patterns/find.c
//@ graph/patterns/apply.c
//@ graph/passes/user.c
//@ graph/passes/products.c
//@ graph/passes/merge.c
//@ graph/passes/batches.c
//@ graph/passes/pad_products.c
//@ graph/passes/transposed_convolutions.c
//@ graph/passes/convolution_weights.c
//@ graph/passes/block_maps.c
//@ graph/passes/library_products.c
//@ graph/passes/run.c
//@ graph/passes/optimise.c
//@ graph/passes/prepare.c
//@ graph/lowerings/layouts.c
//@ graph/lowerings/epilogues.c
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
//@ graph__page = graph/page/page.html
//@ graph__page_style = graph/page/page.css
//@ graph__page_formulas = graph/page/formulas.js
//@ graph__page_graph = graph/page/graph.js
//@ graph__page_kernels = graph/page/kernels.js
//@ graph__page_tables = graph/page/tables.js
//@ graph__page_fold = graph/page/fold.js
//@ graph__page_layout = graph/page/layout.js
//@ graph__page_drawing = graph/page/drawing.js
//@ graph__page_steps = graph/page/steps.js
//@ graph__page_select = graph/page/select.js
//@ graph/page/page.c
//@ graph/formula/formula.c
//@ graph/formula/solve.c
//@ graph/export/export.c
//@ graph/export/files.c
#endif /* INDUCTOR_GRAPH_IMPLEMENTATION_DONE */
#endif /* INDUCTOR_GRAPH_IMPLEMENTATION */
