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
   captured, repeated and be a part of another launch. A reduction of the results of a few rows is computed the same
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
   >>reduction >>scan >>matmul >>choose >>assemble >>combine >>finish >>predict >>architectures
   >>devices >>thresholds >>verify >>print
*/
#include "inductor_sched.h"
#ifndef INDUCTOR_CODEGEN_CUDA_H
#define INDUCTOR_CODEGEN_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

/* ================================================================================================ src/cuda/target.h */
/* ------------------------------------------------------------------------------------------------ >>target */

/* Thresholds of the code generator: field, value, meaning, source. The sources name kernels that were timed on an H200,
   its data sheet, or a compiler's version. Other devices were not measured: they have the same values. */
#define IND_THRESHOLDS(X)                                                                                              \
    X(flight_bytes, 32, "bytes that a thread should have in flight",                                                   \
      "three times rate / SMs x latency (4275 B/ns, 132, 700 ns), over 2048 threads; sums, norms, softmax of short "   \
      "rows")                                                                                                          \
    X(lane_registers, 32, "registers of a lane for its part of a short row",                                           \
      "half of all threads resident; sums, norms, softmax of short rows")                                              \
    X(edge_rounds, 4, "iterations in which the lanes of a misaligned row take its edges", "rows of 3 to 1024")         \
    X(row_registers, 64, "registers of a thread for its part of a row", "1024 threads of 64 registers fill an SM")     \
    X(full_threads, 1024, "threads of 64 registers that fill an SM", "65,536 registers")                               \
    X(few_elements, 16, "elements of a row in a thread, at least",                                                     \
      "layer_norm of 4096 bf16: NVRTC 61 ms with 32 elements, 47 with 16; 99 and 100 % of a copy")                     \
    X(few_threads, 256, "threads of a block whose threads hold so few elements", "layer_norm of 4096 and 8192 bf16")   \
    X(warp_registers, 32, "registers of a lane of an aligned row beside those that hold it", "rows of 256 to 1024")    \
    X(warp_blocks, 6, "resident blocks of 128 threads that keep enough loads in flight", "rows of 256 to 1024")        \
    X(staged_registers, 20, "registers of a thread that are not for a staged row",                                     \
      "NVRTC 13.0, layer_norm and softmax")                                                                            \
    X(edge_registers, 14, "more of them if rows are misaligned", "NVRTC 13.0, layer_norm and softmax")                 \
    X(most_found, 128, "registers of vectors whose elements are found by index arithmetic",                            \
      "of 255 a thread may have")                                                                                      \
    X(combined_vectors, 64, "vectors of a row from which on misaligned loads are combined from two aligned vectors",   \
      "layer_norm of 257 bf16: 91 % of a copy by elements, 79 % combined")                                             \
    X(shifted_vectors, 8, "vectors of a row from which on its edges are peeled",                                       \
      "rows of 67 bf16 gain, of 35 lose; with 4 vectors half of the lanes have an edge")                               \
    X(shared_row, 8192, "elements of a row that all rows share, from which on it is read misaligned",                  \
      "up to 256 threads share such rows")                                                                             \
    X(unconditional_vectors, 64, "vectors of a row from which on every load is an aligned vector",                     \
      "edges cost a twentieth of a row there")                                                                         \
    X(least_registers, 72, "registers of a thread of misaligned rows, at least", "28 resident warps per SM")           \
    X(across_registers, 7, "registers of each misaligned load that is combined from two vectors", "NVRTC 13.0")        \
    X(other_registers, 24, "registers of a thread for addresses, states and temporaries", "NVRTC 13.0")                \
    X(memory_ns, 800, "latency of memory, ns", "pointer chase with a busy memory")                                     \
    X(looped_bytes, (128 << 10), "bytes of a looped row per block of a cluster, at least",                             \
      "an SM moves them in 4 us, the time of two first loads and the cluster synchronisation")                         \
    X(run_registers, 96, "registers of a thread for its part of a row and of the columns of a run",                    \
      "layer_norm backward")                                                                                           \
    X(scan_words, 32, "registers of a thread for its part of a scanned row", "cumsum of 1024 to 16,384")               \
    X(few_words, 12, "registers of loaded vectors up to which a pointwise kernel takes 32 registers by itself",        \
      "NVRTC 13.0, sums of two and three vectors of 16 bytes")                                                         \
    X(full_words, 20, "registers of loaded vectors up to which it can do with 32",                                     \
      "rotary embedding, 336 MiB: 93.7 us with 36 registers, 89.1 us with 30")                                         \
    X(gather_steps, 4, "gathered rows that a thread has in flight", "embedding and index_select")                      \
    X(scan_flight, 32768, "bytes of the next chunk of a scan in flight per SM", "what an SM moves in a microsecond")   \
    X(run, 8, "contiguous elements that make an access along a variable worthwhile", "32-byte sectors of f32")         \
    X(trip_ns, 500, "time of a word from one block to another through the L2, ns", "two blocks, one word")             \
    X(most_looks, 2, "rows that a lane of a warp waits for in the finish of a launch", "mean of losses")               \
    X(ahead, 16, "registers of a thread for loads ahead of the barrier of a tile", "transposes")                       \
    X(combo_threads, 512, "threads of a block in a launch of several kernels", "registers per thread")                 \
    X(split_threads, 512, "threads of a block that shares rows",                                                       \
      "sum of 2^28 f32, us: 1, 2, 4 blocks per SM 235.6, 234.0, 235.1; 4 of 256 threads 236.4")                        \
    X(split_per_sm, 2, "blocks per SM that share rows", "sums of few rows")                                            \
    X(split_flight, 128, "bytes that a thread has in flight there",                                                    \
      "rate x latency is 29 KB per SM; sum of 2^28 f32, us: 128 bytes 234.0, 64 bytes 236.0")                          \
    X(split_bytes, (32 << 10), "bytes that a block reads of a shared row, at least",                                   \
      "what an SM moves in a microsecond")                                                                             \
    X(fma_rate, 128, "FMA products: multiply-adds per cycle and SM", "CUDA C++ Programming Guide, sm_90")              \
    X(mma_rate, 800, "mma.sync products: multiply-adds per cycle and SM",                                              \
      "480 timings of 16 products, 30 configurations")                                                                 \
    X(wgmma_rate, 2048, "wgmma products: multiply-adds per cycle and SM", "data sheet of the H200")                    \
    X(byte_speed, 2, "rate of tensor cores with 8-bit operands, times that with 16 bits",                              \
      "data sheets of all devices")                                                                                    \
    X(tf32_percent, 50, "rate of tensor cores with tf32 operands, percent of that with 16 bits",                       \
      "data sheets of A100, H100 and H200")                                                                            \
    X(product_l2_rate, 60, "bytes per cycle and SM from the L2, all SMs at once", "480 timings of 16 products")        \
    X(product_shared_rate, 128, "bytes per cycle and SM of shared memory", "32 banks of 4 bytes")                      \
    X(product_busy, 85, "percent of the time in which the busiest unit of a product works",                            \
      "480 timings of 16 products")                                                                                    \
    X(product_latency, 900, "cycles of a copy from the L2 in a product", "480 timings of 16 products")                 \
    X(product_start, 800, "cycles of a product's block besides its steps", "480 timings of 16 products")               \
    X(product_epilogue, 12, "hundredths of a cycle per sum in the epilogue", "12 bytes per sum, 100 bytes per cycle")  \
    X(computed_instructions, 12, "instructions per computed weight of a product of one or two rows",                   \
      "i8 with a scale per column, 14336 x 4096: 51 us, H100")                                                         \
    X(unpack_instructions, 32, "the same for an element of a packed format", "PTX of 14 formats, 166 to 272 per 8")    \
    X(packed_instructions, 30, "instructions per 8 packed weights of a product of up to 8 rows",                       \
      "SASS of 8 formats, 19 to 38")                                                                                   \
    X(packed_warps, 28, "warps of an SM that keep its units busy with packed weights", "14 to 28 warps, 8 formats")    \
    X(product_exchange, 4500, "cycles of an exchange of sums between blocks, besides moving them",                     \
      "60 timings of 13 products, H100")                                                                               \
    X(product_cluster, 3600, "cycles of an exchange of sums in a cluster, besides sending them",                       \
      "70 timings of 7 products, H100: 0.8 us less than through memory")                                               \
    X(product_large_cluster, 5000, "cycles that clusters of more than two blocks take longer",                         \
      "16 x 4096 x 14336, the same tiles and splits: 50.4 us with 4 blocks, 44.8 us with 2, H100")                     \
    X(product_cluster_sms, 132, "SMs for which these cycles hold; they are in proportion to the SMs",                  \
      "the timed GPU; the proportion is estimated, not measured")                                                      \
    X(product_cluster_rate, 16, "bytes per cycle that an SM sends to others of its cluster",                           \
      "estimated, not measured: 3.3 TB/s of all SMs (arXiv 2402.13499)")                                               \
    X(product_streams, 4, "percent by which a block more per SM slows the memory down",                                \
      "60 timings of 13 products, H100")                                                                               \
    X(product_clock, 175, "hundredths of a cycle per ns in products", "H200 and H100, under load")                     \
    X(full_registers, 64, "registers of a thread with which full_threads are resident", "65,536 registers")            \
    X(bounded_elements, 32, "elements of a row in a thread up to which the registers of its block are bounded",        \
      "NVRTC 13.0, layer_norm")                                                                                        \
    X(most_elements, 64, "elements of a row in a thread, at most", "cross entropy of 10007 to 16001 bf16")             \
    X(register_row, 65536, "elements of the longest row in the registers of a block", "1024 threads of most_elements") \
    X(likely_part, 8, "a variant is made for rows of up to so many times the likely length", "not measured")           \
    X(block_threads, 512, "threads of a block with a row, first choice", "half of all threads resident in two blocks") \
    X(block_elements, 32, "elements of a row in a thread for which that is chosen",                                    \
      "sums, norms, softmax of long rows")                                                                             \
    X(block_warps, 2, "warps of a block with a row, at least", "rows of 1025 elements and more")                       \
    X(small_block, 256, "threads of a block, of which several are resident without a register limit",                  \
      "embedding + layer_norm of 2048 bf16: 0.93 and 0.98 of a copy")                                                  \
    X(small_warps, 4, "warps of such a block for rows that are only reduced, at least", "cross entropy of 10007 bf16") \
    X(run_wide_registers, 40, "registers of a thread for its part of a row beside the columns of a run, 1024 threads", \
      "layer_norm backward")                                                                                           \
    X(run_block_registers, 88, "the same of fewer threads", "layer_norm backward")                                     \
    X(wide_registers, 48, "registers of a thread for its part of a row, 1024 threads", "NVRTC 13.0")                   \
    X(length_step, 256, "the hinted length of rows is rounded up to a multiple of it",                                 \
      "vectors of 8 elements in 32 lanes")                                                                             \
    X(length_quarters, 3, "quarters of that length from which on the variant for it is used",                          \
      "all but the last of four iterations are whole")                                                                 \
    X(alone_elements, 32, "elements of a row in a thread above which its block is alone on an SM",                     \
      "group_norm of 32768")                                                                                           \
    X(waiting_elements, 16, "elements of a row in a thread above which rows wait in shared memory",                    \
      "softmax, rms_norm, layer_norm of 8192 to 32768")                                                                \
    X(shifted_threads, 128, "threads of a block that reads misaligned operands after the last combine",                \
      "layer_norm of 5003 to 20011 bf16")                                                                              \
    X(shifted_blocks, 8, "such blocks on an SM", "layer_norm of 5003 bf16")                                            \
    X(shifted_registers, 48, "registers of a thread with two such operands of f16",                                    \
      "layer_norm of 4093 f16: 77.6 % of a copy with 72, 96.2 with 48")                                                \
    X(shifted_wide_registers, 64, "the same of other types",                                                           \
      "layer_norm of 4093 bf16: 94.3 % of a copy with 48, 96.4 with 64")                                               \
    X(misaligned_registers, 40, "registers of a thread of misaligned rows besides what it holds", "NVRTC 13.0")        \
    X(index_sectors, 50, "sectors of a row from which on an indexed element may be read again",                        \
      "cross entropy of 128 f32: 96 % of a copy in the L1, 90 past it")                                                \
    X(segment_extra, 3, "idle lanes of a segment are at most 1 / this of its vectors", "channels of 7 x 7")            \
    X(segment_idle, 16, "lanes without a segment are at most 1 / this of all lanes", "channels of 7 x 7")              \
    X(loop_steps, 4, "steps of a thread along a looped row, at least", "softmax and sums of long rows")                \
    X(loop_threads, 512, "threads of a block that loops over a row", "softmax and sums of long rows")                  \
    X(loop_small, 256, "the same where states are combined chunk by chunk", "cross entropy of 36007 to 120011")        \
    X(loop_idle, 10, "percent more of idle blocks that this may cost",                                                 \
      "671 rows of 200003 bf16: 89 % with 512 threads, 77 with 256")                                                   \
    X(loop_flight, 64, "bytes of loads of a thread in flight there", "NVRTC 13.0, cross entropy")                      \
    X(loop_registers, 48, "registers of a thread of a loop whose launch runs a second kernel, at least", "NVRTC 13.0") \
    X(turn_threads, 256, "threads of a block that takes turns with others on an SM",                                   \
      "softmax, rms_norm of 12288 to 65536")                                                                           \
    X(turn_blocks, 3, "such blocks on an SM", "softmax, rms_norm of 12288 to 65536")                                   \
    X(weights_share, 3, "with operands that all rows share, rows take 1 / this of shared memory",                      \
      "layer_norm of 12288 to 32768 bf16")                                                                             \
    X(four_share, 3, "four blocks of rows leave 1 / this of shared memory to the L1",                                  \
      "layer_norm of 9001 to 20011 bf16")                                                                              \
    X(three_share, 4, "the same of three blocks", "layer_norm of 9001 to 20011 bf16")                                  \
    X(turn_cluster, 4, "blocks of a cluster that takes turns, at most", "softmax of 32768 to 131072")                  \
    X(wide_cluster, 8, "blocks of a cluster above which only the next row is staged",                                  \
      "softmax of 262147 f32: 86 and 90 % of a copy")                                                                  \
    X(trim_percent, 90, "a block of a cluster has fewer threads if these suffice, in percent", "layer_norm of 200003") \
    X(staged_row, (1 << 24), "elements of the longest row in shared memory", "index arithmetic")                       \
    X(warp_threads, 128, "threads of a block of short rows", "sums, norms, softmax of short rows")                     \
    X(lane_elements, 32, "elements of a row in a lane, at most", "sums, norms, softmax of short rows")                 \
    X(row_cost, 16, "cost of the combines of a row, in instructions of a lane",                                        \
      "rows of 3 to 1024 with 1 to 32 lanes")                                                                          \
    X(load_cost, 18, "the same of a load per line", "rows of 3 to 1024 with 1 to 32 lanes")                            \
    X(store_cost, 20, "the same of a store per line", "rows of 3 to 1024 with 1 to 32 lanes")                          \
    X(sector_cost, 16, "the same of a store per sector", "rows of 3 to 1024 with 1 to 32 lanes")                       \
    X(edge_cost, 6, "the same of an iteration over the edges", "rows of 3 to 1024 with 1 to 32 lanes")                 \
    X(step_percent, 25, "cost of each further step of a lane if there are few rows, in percent",                       \
      "rows of 3 to 1024 with 1 to 32 lanes")                                                                          \
    X(scan_lines, 16, "vectors of a scanned row in a thread, at most", "cumsum of 1024 to 16,384")                     \
    X(scan_lanes, 8, "lanes of a scanned row in several steps, at least", "cumsum of short rows")                      \
    X(scan_threads, 512, "threads of a block that scans a row", "cumsum of 1024 to 16,384")                            \
    X(scan_small, 256, "the same where it loops and there are two rows or more per SM", "cumsum of long rows")         \
    X(scan_least, 128, "threads of a block that loops over a scanned row, at least", "cumsum of long rows")            \
    X(scan_columns_fill, 75, "percent of the SMs that should have a block that scans columns", "cumsum of columns")    \
    X(scan_columns_words, 48, "registers of a thread for the states and the next chunk of columns",                    \
      "cumsum of columns")                                                                                             \
    X(lookback_gain, 2, "times by which sharing rows must be faster", "cumsum of few rows")                            \
    X(lookback_launches, 2, "launches that waiting for previous blocks costs", "cumsum of few rows")                   \
    X(sort_threads, 512, "threads of a block that sorts in shared memory", "topk, sort")                               \
    X(sort_warps, 16, "warps for which its scans have shared memory", "sort_threads")                                  \
    X(column_outputs, 1024, "columns per SM from which on each has a thread of its own", "sums of columns")            \
    X(column_threads, 128, "threads of a block of columns then", "sums of columns")                                    \
    X(column_rows, 32, "rows of columns that several blocks share, at least, if there are so many columns",            \
      "sums of columns")                                                                                               \
    X(column_few_rows, 8, "the same for fewer columns; rows per thread of a block of columns", "sums of columns")      \
    X(column_states, 128, "bytes of the states of neighbouring columns in a thread, at most", "sums of columns")       \
    X(split_registers, 40, "registers of a thread for loads in flight and states of lanes",                            \
      "of 128; u8 values that are added as i64")                                                                       \
    X(pointwise_threads, 256, "threads of a block of a pointwise kernel", "eight blocks per SM")                       \
    X(tile_side, 128, "elements of the side of a transposed tile, at most", "transposes of 8192^2")                    \
    X(tile_side_bytes, 256, "bytes of it that suffice", "two lines of the L2")                                         \
    X(tiles_per_sm, 2, "tiles per SM, at least", "all SMs are busy")                                                   \
    X(tile_narrow, 64, "side of a tile without vectors, 1 and 2 bytes", "transposes of 8192^2")                        \
    X(tile_wide, 32, "the same of wider elements", "transposes of 8192^2")                                             \
    X(copy_percent, 89, "percent of the rate of the memory that copies reach", "4275 of 4800 GB/s")                    \
    X(sort_run, 4, "contiguous elements that a thread scans in a kernel that sorts", "topk with cumsum")

/* 0: the value of the table. */
typedef struct ind_thresholds {
#define X(field, value, meaning, source) int field;
    IND_THRESHOLDS(X)
#undef X
} ind_thresholds;

/* The device that code is generated for. ind__target_defaults fills zero fields with the values of an H200. */
typedef struct ind_target {
    int sm;               /* compute capability times 10: 80, 90, 100 */
    bool specific;        /* architecture-specific features (sm_90a) may be used */
    int num_sms;          /* SMs */
    int shared_per_block; /* bytes that one block may have (opt-in limit) */
    int shared_per_sm;
    int l2_bytes;             /* cache that all SMs share */
    int max_cluster;          /* blocks that can see each other's shared memory; 1: no clusters */
    int registers_per_thread; /* 255 */
    /* Inputs of predicted times: rates of the vendor's data sheet, and the shortest time of a kernel. Copies reach
       copy_percent of the memory's rate. */
    int memory_bytes_per_ns;
    int f32_flops_per_ns;
    int tensor_flops_per_ns; /* f16 and bf16 products without sparsity */
    int launch_ns;           /* 1000 */
    int sm_registers;        /* 32-bit registers per SM */
    int sm_threads;          /* most resident threads per SM */
    int block_shared;        /* bytes of shared memory that CUDA reserves in each block */
    int l1_bytes;            /* per SM: L1 cache and shared memory together */
    ind_thresholds thresholds;
} ind_target;
void ind__target_defaults(ind_target *t);
/* Fills the zero figures of a fusion policy with the target's. */
void ind__target_fusion(const ind_target *t, ind_fusion_policy *p);
/* Parses an architecture ("sm_90a") or a device ("L4"). Error: IND_INVALID_ARGUMENT names what is allowed. */
ind_status ind__target_parse(ind_context *c, const char *arch, ind_target *t);
void ind__target_name(const ind_target *t, char out[16]); /* "sm_90a": as in NVRTC's --gpu-architecture */

/* ============================================================================================ src/cuda/strategies.h */
/* ------------------------------------------------------------------------------------------- >>strategies */

/* The strategies of kernels, a row each: name, text, family, member of ind__variant.of, file of src/cuda that decides,
   function that writes the kernel's body, features. */
#define IND_STRATEGIES(X)                                                                                              \
    /* one element or vector per thread, grid over P */                                                                \
    X(POINTWISE, "pointwise", POINTWISE, NONE, "decide/pointwise.c", cg__emit_pointwise,                               \
      IND__HAS_VECTORS | IND__HAS_MISALIGNED | IND__HAS_THREADS | IND__HAS_BATCH)                                      \
    /* a warp tests the mask of 32 rows and loops over those where it holds */                                         \
    X(MASKED, "masked rows", POINTWISE, NONE, "decide/masked_rows.c", cg__emit_masked, IND__HAS_VECTORS)               \
    /* 2-D tiles through shared memory */                                                                              \
    X(TRANSPOSE, "tiled transpose", POINTWISE, TILE, "decide/pointwise.c", cg__emit_transpose,                         \
      IND__HAS_VECTORS | IND__HAS_EVICT_LAST)                                                                          \
    /* a row in the registers of a warp, several rows a block */                                                       \
    X(ROW_WARP, "row per warp", REDUCTION, ROW, "decide/row_warp.c", cg__emit_reduction,                               \
      IND__HAS_VECTORS | IND__HAS_MISALIGNED | IND__HAS_REGISTERS | IND__HAS_RANGES | IND__HAS_EVICT_LAST |            \
          IND__HAS_THREADS | IND__HAS_BATCH | IND__HAS_FINISH)                                                         \
    /* a row in the registers of a block */                                                                            \
    X(ROW_BLOCK, "row per block", REDUCTION, ROW, "decide/row_block.c", cg__emit_reduction,                            \
      IND__HAS_VECTORS | IND__HAS_MISALIGNED | IND__HAS_REGISTERS | IND__HAS_RANGES | IND__HAS_EVICT_LAST |            \
          IND__HAS_THREADS | IND__HAS_ANY_THREADS | IND__HAS_FITTED | IND__HAS_SEGMENTS | IND__HAS_FINISH)             \
    /* persistent blocks, or clusters of blocks, copy the next row meanwhile */                                        \
    X(ROW_STAGED, "staged rows", REDUCTION, ROW, "decide/row_staged.c", cg__emit_reduction,                            \
      IND__HAS_VECTORS | IND__HAS_MISALIGNED | IND__HAS_REGISTERS | IND__HAS_RANGES | IND__HAS_EVICT_LAST |            \
          IND__HAS_FITTED | IND__HAS_SEGMENTS | IND__HAS_CLUSTER | IND__HAS_PERSISTENT)                                \
    /* a block, or a cluster of blocks, loops over the row, once per pass */                                           \
    X(ROW_LOOPED, "looped rows", REDUCTION, ROW, "decide/row_memory.c", cg__emit_reduction,                            \
      IND__HAS_VECTORS | IND__HAS_MISALIGNED | IND__HAS_RANGES | IND__HAS_ANY_LENGTH | IND__HAS_THREADS |              \
          IND__HAS_FITTED | IND__HAS_CLUSTER | IND__HAS_FINISH)                                                        \
    /* threads along the contiguous P dimension, loop over R */                                                        \
    X(COLUMN, "column reduction", REDUCTION, NONE, "decide/pointwise.c", cg__emit_reduction,                           \
      IND__HAS_VECTORS | IND__HAS_COLUMNS | IND__HAS_THREADS)                                                          \
    /* blocks share a row; the last one combines partial results */                                                    \
    X(ROW_SPLIT, "split rows", REDUCTION, SPLIT, "decide/split.c", cg__emit_reduction,                                 \
      IND__HAS_VECTORS | IND__HAS_SPLIT | IND__HAS_ANY_LENGTH)                                                         \
    /* the same with columns: threads along P, blocks share R */                                                       \
    X(COLUMN_SPLIT, "split columns", REDUCTION, SPLIT, "decide/split.c", cg__emit_reduction,                           \
      IND__HAS_VECTORS | IND__HAS_COLUMNS | IND__HAS_SPLIT)                                                            \
    /* adjacent elements per lane, combined by shuffles, in chunks */                                                  \
    X(SCAN_WARP, "scan, row per warp", SCAN, NONE, "decide/scan.c", cg__emit_scan_kernel,                              \
      IND__HAS_VECTORS | IND__HAS_RANGES | IND__HAS_EVICT_LAST)                                                        \
    /* the same, warps combined through shared memory */                                                               \
    X(SCAN_BLOCK, "scan, row per block", SCAN, NONE, "decide/scan.c", cg__emit_scan_kernel,                            \
      IND__HAS_VECTORS | IND__HAS_RANGES | IND__HAS_EVICT_LAST)                                                        \
    /* a tile of a row per block, combined through global memory */                                                    \
    X(SCAN_LOOKBACK, "scan, decoupled lookback", SCAN, NONE, "decide/scan.c", cg__emit_scan_kernel,                    \
      IND__HAS_VECTORS | IND__HAS_ANY_LENGTH)                                                                          \
    /* threads along the contiguous P dimension, each loops over its row */                                            \
    X(SCAN_COLUMN, "scan, row per thread", SCAN, NONE, "decide/scan.c", cg__emit_scan_kernel,                          \
      IND__HAS_VECTORS | IND__HAS_COLUMNS)                                                                             \
    /* a block sorts a row: bitonic network on (element, position) */                                                  \
    X(SORT_SHARED, "sort in shared memory", SORT, NONE, "decide/sort.c", cg__emit_sort, 0)                             \
    /* the same network in global memory, for rows of any length */                                                    \
    X(SORT_LONG, "sort in global memory", SORT, NONE, "decide/sort.c", cg__emit_sort, 0)                               \
    X(MATMUL_SIMT, "matmul, FMA tiles", MATMUL, TILE, "templates/gemm/fma.c", cg__emit_matmul,                         \
      IND__HAS_VECTORS | IND__HAS_CLUSTER)                                                                             \
    X(MATMUL_MMA, "matmul, mma.sync tiles", MATMUL, TILE, "templates/gemm/mma.c", cg__emit_matmul,                     \
      IND__HAS_VECTORS | IND__HAS_TENSOR_CORES | IND__HAS_CLUSTER)                                                     \
    X(MATMUL_WGMMA, "matmul, wgmma tiles", MATMUL, TILE, "templates/gemm/wgmma.c", cg__emit_matmul,                    \
      IND__HAS_VECTORS | IND__HAS_TENSOR_CORES | IND__HAS_CLUSTER)                                                     \
    /* b is read once, for few rows of a: by vectors into registers, without tensor cores */                           \
    X(MATMUL_ROWS, "matmul, few rows", MATMUL, TILE, "templates/gemm/rows.c", cg__emit_matmul, IND__HAS_VECTORS)       \
    /* packed weights are dequantised in registers, for few rows of a */                                               \
    X(MATMUL_PACKED, "matmul, packed weights", MATMUL, TILE, "templates/gemm/packed.c", cg__emit_matmul,               \
      IND__HAS_VECTORS | IND__HAS_TENSOR_CORES)                                                                        \
    X(MATMUL_TMA, "matmul, bulk-copied wgmma tiles", MATMUL, TILE, "templates/gemm/tma.c", cg__emit_matmul,            \
      IND__HAS_VECTORS | IND__HAS_TENSOR_CORES | IND__HAS_CLUSTER)                                                     \
    /* several kernels in one launch; each part has its own strategy */                                                \
    X(COMBO, "several kernels in one launch", LAUNCH, NONE, "combine.c", NULL, 0)                                      \
    /* two kernels: the last block of the first runs the second */                                                     \
    X(FINISH, "row reductions, final reduction", LAUNCH, NONE, "finish.c", NULL, IND__HAS_VECTORS | IND__HAS_MISALIGNED)

typedef enum ind_strategy {
#define X(name, text, family, of, file, emit, features) IND_STRATEGY_##name,
    IND_STRATEGIES(X)
#undef X
} ind_strategy;

/* Families of strategies: the kernels that they compute. */
typedef enum ind__family {
    IND__FAMILY_POINTWISE,
    IND__FAMILY_REDUCTION,
    IND__FAMILY_SCAN,
    IND__FAMILY_SORT,
    IND__FAMILY_MATMUL,
    IND__FAMILY_LAUNCH /* several kernels */
} ind__family;

/* The member of ind__variant.of that a strategy uses. */
typedef enum ind__plan_of { IND__PLAN_OF_NONE, IND__PLAN_OF_ROW, IND__PLAN_OF_SPLIT, IND__PLAN_OF_TILE } ind__plan_of;

/* Features of the variants of a strategy; a set. */
typedef enum ind__feature {
    IND__HAS_VECTORS = 1,         /* accesses of several elements */
    IND__HAS_MISALIGNED = 2,      /* aligned vectors and peeled edges for misaligned rows or outputs */
    IND__HAS_REGISTERS = 4,       /* a thread keeps its part of a row from one pass to the next */
    IND__HAS_ANY_LENGTH = 8,      /* loops over rows of any length */
    IND__HAS_RANGES = 16,         /* with row lengths known only at launch: a variant per range of lengths */
    IND__HAS_COLUMNS = 32,        /* threads along a contiguous P dimension */
    IND__HAS_SEGMENTS = 64,       /* rows of inner dimensions: whole segments per iteration */
    IND__HAS_FITTED = 128,        /* a launch sets the active threads of a block from its row length */
    IND__HAS_CLUSTER = 256,       /* a cluster of blocks shares a row or a tile */
    IND__HAS_PERSISTENT = 512,    /* persistent blocks */
    IND__HAS_SPLIT = 1024,        /* blocks along y of the grid share rows or columns */
    IND__HAS_EVICT_LAST = 2048,   /* inputs are loaded with L2 evict_last if they exceed the L2 */
    IND__HAS_THREADS = 4096,      /* tuning may change the threads of a block .. */
    IND__HAS_ANY_THREADS = 8192,  /* .. to a number that is not a power of two */
    IND__HAS_BATCH = 16384,       /* tuning may change the vectors or rows that a thread has in flight */
    IND__HAS_FINISH = 32768,      /* its last block can run the next kernel */
    IND__HAS_TENSOR_CORES = 65536 /* products on tensor cores */
} ind__feature;

typedef struct ind__strategy_row {
    const char *text;
    ind__family family;
    ind__plan_of of;
    int features;
} ind__strategy_row;

const ind__strategy_row *ind__strategy_row_of(ind_strategy s);
bool ind__strategy_has(ind_strategy s, ind__feature feature);
const char *ind__strategy_text(ind_strategy s);

/* ================================================================================================== src/cuda/plan.h */
/* -------------------------------------------------------------------------------------------------- >>plan */

/* An argument of a kernel, in the order of its parameters. */
typedef enum ind__arg_kind {
    IND__ARG_BUFFER,
    IND__ARG_SIZE,
    IND__ARG_ERROR,
    IND__ARG_LOOKBACK,  /* 64-bit words, 0 before and after each launch, through which blocks exchange states:
                           SCAN_LOOKBACK, FINISH */
    IND__ARG_COUNTERS,  /* block counters, and words between them, 0 before and after each launch:
                           ind__variant.num_counters */
    IND__ARG_PARTIALS,  /* memory for partial results that blocks pass to the last block */
    IND__ARG_TENSOR_MAP /* a CUtensorMap, by value: bulk copies of boxes of a buffer */
} ind__arg_kind;

#define IND__MAX_MAP_RANK 5 /* cuTensorMapEncodeTiled */

/* What a tensor map describes; the launch encodes it. Dimension 0 is contiguous. Elements outside are copied as 0. */
typedef struct ind__tensor_map {
    ind_dtype dtype;
    int rank;                                                    /* 2 .. IND__MAX_MAP_RANK */
    ind_expr offset;                                             /* of element 0, .. in the buffer, in elements */
    ind_expr size[IND__MAX_MAP_RANK], stride[IND__MAX_MAP_RANK]; /* in elements; stride[0] is 1 */
    int box[IND__MAX_MAP_RANK];                                  /* of a copy, in elements */
    int swizzle;                                                 /* bytes: 128, 64, 32 or 0 */
} ind__tensor_map;

typedef struct ind__kernel_arg {
    ind__arg_kind kind;
    uint32_t buffer; /* BUFFER: number in the lowered program; passed as a pointer to element 0. TENSOR_MAP */
    const ind__tensor_map *map; /* TENSOR_MAP: in the plan's arena */
    ind_expr size;       /* SIZE: value passed, as int or, in a plan with 64-bit indices, long long. LOOKBACK: words */
    bool reciprocal;     /* SIZE: the reciprocal for ind_quotient, passed as unsigned long long */
    ind_expr divisor;    /* of a reciprocal */
    const char *meaning; /* SIZE in a COMBO: printed before the value; NULL: the value says enough */
    bool computed;       /* SIZE: depends on data: not an argument, but a constant that the kernel computes at entry */
    bool wide;           /* in the argument table of a COMBO, where each argument takes 8 bytes */
    uint32_t part;       /* ERROR in a COMBO: number of the kernel in the launch. TENSOR_MAP: number of the operand */
    int64_t offset;      /* COUNTERS, PARTIALS: in bytes, after those of the other kernels of a COMBO */
} ind__kernel_arg;

/* Likely but unproven facts that a variant may assume, as a set. The facts that it uses become its guards. */
typedef enum ind__assume {
    IND__ASSUME_NOTHING = 0,
    IND__ASSUME_ALIGNED = 1,   /* pointers are aligned, indices are small */
    IND__ASSUME_DIVISIBLE = 2, /* divisors of the hints of sizes divide the sizes */
    IND__ASSUME_LENGTH = 4,    /* rows have about the hinted length, or a length in a range */
    IND__ASSUME_FEW_ROWS = 16, /* a product has few rows, by a guard */
    IND__ASSUME_MAPS = 8       /* the driver encodes tensor maps of the operands */
} ind__assume;

/* A configuration of a product, by its values. */
typedef struct ind__tile_choice {
    int strategy;         /* ind_strategy of the template */
    int m, n, k;          /* tile; m 0: no choice */
    int warps_m, warps_n; /* FMA: warps_m is the side of a thread's tile */
    int stages, blocks_per_sm;
    int splits;  /* blocks that share a tile at the hinted sizes; 1: none do */
    int cluster; /* of these, blocks of a cluster; 0: no clusters */
} ind__tile_choice;

/* Measured choices that replace those of the formulas; 0: no choice. */
typedef struct ind__tuning {
    int threads;     /* per block */
    int alternative; /* position in the list of fallbacks: other registers, blocks per SM, or values kept in registers
                      */
    int together;    /* vectors (POINTWISE) or rows (ROW_WARP) per thread whose loads are in flight together */
    ind__tile_choice tile; /* MATMUL_*: ignored if the templates do not have it or it does not fit */
} ind__tuning;

/* Row lengths in elements, both inclusive; `to` 0: any length, or about the hint. */
typedef struct ind__row_range {
    int64_t from, to;
} ind__row_range;

#define IND_MAX_VARIANTS 30 /* per kernel */

/* Rows in shared memory: ROW_STAGED. A block, or a cluster of blocks that share a row, computes one row, or is
   persistent and loops over rows. A persistent block has two stages in shared memory, for this row and the next one, or
   one stage, which is free once the row is in registers. */
typedef struct ind__stage_plan {
    int num;          /* stages */
    int in_registers; /* in registers: 2 the row, 1 values computed from it, 0 nothing (each pass reads shared memory)
                       */
    bool persistent;  /* blocks loop over rows */
    bool once;        /* operands that all rows share are loaded into registers before the first row */
    int resident;     /* persistent blocks: rows computed at the same time */
    ind_expr items;   /* rows; grid = min(resident, items) * cluster */
} ind__stage_plan;

/* A reduction along rows: ROW_*. */
typedef struct ind__row_plan {
    /* ROW_BLOCK, ROW_LOOPED, ROW_STAGED without clusters: threads per block of a launch, at most `threads`, from its
       row length; invalid: all. */
    ind_expr fitted;
    int batch;   /* ROW_WARP: rows per group of lanes whose loads are in flight together; 0: one */
    int cluster; /* ROW_STAGED, ROW_LOOPED: blocks that share a row; 0 and 1: one */
    /* ROW_BLOCK, ROW_STAGED: for rows that consist of segments (inner dimensions): whole segments per iteration, and
       lanes per segment; 0: consecutive lanes load consecutive vectors of the row. */
    int segments, segment_lanes;
    ind__stage_plan stage; /* ROW_STAGED */
} ind__row_plan;

/* Blocks that share a row, or a group of columns: ROW_SPLIT, COLUMN_SPLIT. */
typedef struct ind__split_plan {
    ind_expr num;       /* blocks per row, along y of the grid */
    int64_t max_blocks; /* most blocks that share results; 0: none do */
} ind__split_plan;

/* Tiles in shared memory: MATMUL_*; TRANSPOSE uses only m and n. */
typedef struct ind__tile_plan {
    int m, n, k;          /* elements */
    int products;         /* MATMUL_*: 2 if half of the n columns are of each of two products with the same a */
    int warps_m, warps_n; /* mma.sync and wgmma: warps along m and n */
    int stages;           /* of the pipeline along k */
    double cost_ns;       /* of the configuration at the hinted sizes, as estimated when it was chosen; TRANSPOSE: 0 */
    ind_expr splits;      /* blocks that share the steps of k of a tile; invalid: none do */
    int cluster;          /* above 1: `splits` is 1, or whole clusters of so many blocks, which exchange sums through
                             distributed shared memory; clusters of a tile, if there are several, through memory */
    const ind__tile_choice *others; /* configurations that tuning measures, in the plan's arena .. */
    int num_others;                 /* .. at most IND__MAX_TUNED */
} ind__tile_plan;

/* Memory of a launch besides buffers. */
typedef struct ind__launch_memory {
    ind_expr shared;       /* bytes of dynamic shared memory per block */
    int static_shared;     /* upper bound in bytes; only for a kernel in a COMBO */
    uint32_t num_counters; /* 32-bit words that IND__ARG_COUNTERS points to, for all sizes */
    int64_t partial_bytes; /* bytes that IND__ARG_PARTIALS points to, for all sizes */
} ind__launch_memory;

/* The text of a kernel. */
typedef struct ind__kernel_text {
    char *text; /* CUDA C; `entry` is its only kernel. Deterministic; names of the graph occur in comments only */
    size_t bytes;
    char entry[72];
} ind__kernel_text;

/* A variant of a kernel. A launch takes the first variant whose guards hold; the last variant has no guards. */
typedef struct ind__variant {
    ind_strategy strategy;
    int index_bits;    /* 32 if every offset is proven to fit, else 64 */
    int vector;        /* elements per memory access; 1: scalar */
    bool misaligned;   /* aligned vectors and peeled edges: of each row, ROW_*; of the output, POINTWISE */
    int threads;       /* per block */
    int blocks_per_sm; /* minimum of resident blocks per SM, as in __launch_bounds__; 0: one */
    int rows;          /* ROW_*: rows per block */
    int per_thread;    /* elements of a row (or of P) per thread */
    /* The strategy's row of IND_STRATEGIES names the member. */
    union {
        ind__row_plan row;
        ind__split_plan split;
        ind__tile_plan tile;
    } of;
    ind_expr grid[3]; /* blocks; 0 blocks: no launch. More than the device allows is a launch error */
    ind__launch_memory memory;
    int assume;           /* IND__ASSUME_* */
    ind__row_range range; /* row lengths that the guards of this variant and of earlier ones leave */
    ind_expr guard;       /* condition on sizes, valid and not 1: the variant may only run if it holds */
    bool guard_aligned;   /* all pointers must be multiples of 16 bytes */
    bool dependent;       /* programmatic dependent launch: the source begins with ind_dependency_wait */
    ind__tuning tuned;    /* measured choices; 0: chosen by formula */
    int alternative;      /* 0: the first choice; 1, ..: position among its fallbacks */
    ind__kernel_arg *arg; /* in the plan's arena */
    uint32_t num_args;
    const char *why; /* one sentence: why this strategy */
    ind__kernel_text source;
    /* The fallback: replaces this variant if it spills and the fallback spills less; or NULL. A fallback without a
       cluster of a variant with one replaces it only if the cluster does not fit the device. */
    struct ind__variant *fallback;
    struct ind__variant *alone; /* a fallback without a cluster that spills as much, if there is no other */
    struct {
        int local_bytes; /* local memory per thread of the replaced variant; 0: none was replaced */
        int cluster;     /* blocks of the cluster that did not fit the device; 0: none was replaced */
    } replaced;
} ind__variant;

/* The row or tile plan of a variant; zeros if its strategy has none. */
const ind__row_plan *ind__row_of(const ind__variant *v);
const ind__tile_plan *ind__tile_of(const ind__variant *v);
int ind__cluster_of(const ind__variant *v); /* blocks of its clusters; 0 and 1: none */
/* True if the variant's launch may run the next kernel too, which then has no launch. */
bool ind__takes_next(const ind__variant *v);

typedef struct ind_kernel_plan {
    const ind_kernel *kernel;
    ind__variant *variant; /* in the plan's arena */
    int num_variants;      /* 0: an extern call, or part of an earlier kernel's launch */
    uint32_t first;        /* the kernel whose launch runs this one: itself, except for the parts of a COMBO */
    uint32_t num_parts;    /* kernels in this one's launch; 0: it runs in another launch */
    ind__variant *part;    /* in a COMBO: this kernel's plan in the launch's first variant; no source */
    const char *alone;     /* why it cannot be a part of a launch; NULL: it can */
    ind_expr time_ns;      /* predicted: the longest of launch, memory traffic and arithmetic at the target's rates */
} ind_kernel_plan;

/* Plans of a whole schedule, in its order, with their sources. */
typedef struct ind_plan {
    ind_context *context;
    const ind_schedule *schedule;
    ind_target target;
    ind__arena arena;
    ind_kernel_plan *kernel;
    uint32_t num_kernels, num_launches;
    ind_expr time_ns;   /* predicted, of all kernels */
    ind__tuning tuning; /* for the variant that is being planned */
    int64_t from, to;   /* the elements of its rows */
} ind_plan;

/* Error IND_NOT_SUPPORTED names the kernel and the reason. */
ind_status ind__plan_create(ind_context *c, const ind_schedule *s, const ind_target *target, ind_plan **plan);
void ind__plan_free(ind_plan *p);

/* Tuning: other choices for a variant; the rest of its plan follows from them. */
#define IND__MAX_TUNED 12
/* Writes the choices worth measuring, at most IND__MAX_TUNED; returns their number, 0 if the kernel allows no other. */
int ind__plan_candidates(const ind__variant *v, ind__tuning tuning[IND__MAX_TUNED]);
/* Plans the kernel's variant with this choice, in *out. If the choice is impossible, the formulas decide and `tuned` is
   empty. */
ind_status ind__plan_tuned(ind_plan *p, uint32_t kernel, int variant, ind__tuning tuning, ind__variant *out);
bool ind__is_tuned(const ind__variant *v);
ind_status ind__plan_verify(const ind_plan *p);
/* With names of the graph's ops and their results (may be NULL) both texts name the results of each kernel. */
void ind__plan_print(ind__text *t, const ind_plan *p, ind__node_name_fn origin_name, ind__node_name_fn result_name,
                     void *user);
void ind__plan_print_json(ind__text *t, const ind_plan *p);

/* ================================================================================================ src/cuda/source.h */
/* ------------------------------------------------------------------------------------------------ >>source */

/* Prints all distinct sources of the plan in order, each after a comment: the output of `ind emit --stage cuda`. */
void ind__plan_print_source(ind__text *t, const ind_plan *p, ind__node_name_fn origin_name,
                            ind__node_name_fn result_name, void *user);

/* ============================================================================================== src/cuda/internal.h */
/* ---------------------------------------------------------------------------------------------- >>internal */

bool ind__same_source(const ind__variant *a, const ind__variant *b);
/* The variant that runs at the hints, with aligned pointers. */
int ind__plan_likely(const ind_kernel_plan *k);
/* ROW_STAGED: the grid; persistent blocks: enough for `resident` rows at the same time. */
ind_expr ind__staged_grid(const ind__variant *v);
/* The distinct sources of a plan, each with the kernels whose launches have it, ascending. A kernel's launch is that of
   `first`. */
typedef struct ind__source_user {
    uint32_t kernel, next; /* position in `user`; 0: the last one */
} ind__source_user;
typedef struct ind__source {
    uint32_t kernel; /* its first variant */
    int variant;
    uint32_t first, last; /* positions in `user` */
} ind__source;
typedef struct ind__source_users {
    ind__arena memory;
    ind__source *source; /* in the order of their first variants */
    uint32_t num_sources;
    uint32_t *number;        /* by variant, counted through the kernels: its source */
    uint32_t *first_variant; /* by kernel: position of its first variant in `number` */
    ind__source_user *user;  /* [0] unused */
    uint32_t num_users;
} ind__source_users;
bool ind__source_users_init(ind__source_users *u, const ind_plan *p); /* false: out of memory. Free it anyway */
void ind__source_users_free(ind__source_users *u);

#define IND__CG_MAX_PRELUDE 128

/* A set of prelude functions. */
typedef struct ind__prelude_set {
    uint64_t word[IND__CG_MAX_PRELUDE / 64];
} ind__prelude_set;

/* How a kernel's body is computed: analysis of the body, and how its accesses are vectorised. Variant, target and body
   plan determine the text. Arrays have an entry per instruction. */
typedef struct ind__body_plan {
    ind__loops domain; /* the body's loops: neighbours that every access treats as one are merged, the variable that is
                          contiguous in memory is last; indices are numbered as in the body */
    uint32_t *varies;  /* bit d set if it depends on domain.var[d] */
    uint8_t *only_check;    /* IND__CG_CHECK_* of an INDIRECT whose only use is its check */
    uint8_t *rooted;        /* stored or checked even if the row has no elements */
    uint8_t *stage;         /* number of reductions that must be finished before it can be computed */
    uint8_t *level;         /* number of scans before it in one pass over the row, itself included */
    uint8_t *resident;      /* of a LOAD: kept in registers from one pass over the row to the next, or in a tile */
    uint8_t *vector;        /* of a LOAD or STORE: elements per access; 1: scalar */
    uint8_t *uniform;       /* a mask, or an operand of one, that is constant within each vector */
    uint8_t *across;        /* of a LOAD: its vectors may be misaligned */
    uint8_t *evict_last;    /* of a LOAD: the L2 evicts the input last */
    uint8_t *through;       /* of a LOAD or STORE: its index advances by one per point, also from row to row */
    int scan_stage;         /* SCAN: number of reductions that must be finished before its last pass over the row */
    bool starts_misaligned; /* rows start misaligned, or may */
    uint32_t leader;        /* misaligned rows: access whose aligned addresses the vectors start at */
    int64_t row_from;       /* least elements of a row, by the guard */
    uint32_t shift;    /* SCAN_*: the access whose aligned addresses the vectors of each row start at; 0: all rows are
                          aligned */
    ind_expr lookback; /* SCAN_LOOKBACK, FINISH: words of IND__ARG_LOOKBACK */
    int tile_y;        /* TRANSPOSE: the variable along which the tiled loads are contiguous */
    uint32_t mask;     /* POINTWISE, MASKED: the mask that all stores share and that holds for whole vectors; 0: none */
    bool wide;         /* 64-bit indices */
    bool part;         /* the kernel is a part of a launch */
    struct cg__mm_problem *matmul;       /* MATMUL: the product */
    const struct cg__handover *handover; /* FINISH: results that the first part passes to the second; else NULL */
} ind__body_plan;

/* Functions of the user that a kernel's body calls: number k is ind_user_<k>. */
typedef struct ind__called {
    const ind__function **function;
    uint32_t num;
} ind__called;

/* Arguments of a kernel: buffers in the order of kernel->arg, then sizes in the order of use, then the error record. */
typedef struct ind__arg_list {
    ind__kernel_arg *arg;
    uint32_t num, cap;
    bool needs_error;
} ind__arg_list;

/* Shared by the emitters in this header: the text of one kernel while it is written. The contract:
   - Every variable of the domain has a text in `var`: an identifier or a parenthesised expression.
   - Instruction i is named v<i>. `value[i]` overrides that (an accumulator, a reduction's result: then it is never
     emitted); `memory[i]` overrides the memory element that a LOAD reads or a STORE writes ("x3.at[j]").
   - cg__need marks the instructions that a point needs. cg__emit writes the marked ones that are not yet written, as
     `const float v12 = ...;`. Names written between cg__begin and cg__end are invalid after cg__end, as their C scope
     ends there. */
typedef struct ind__writer {
    ind_context *context;
    const ind_target *target;
    const ind_schedule *schedule;
    const ind_kernel *kernel;
    const ind_body *body; /* kernel->body */
    const ind__variant *variant;
    const ind__body_plan *plan;
    ind__arena *arena;                 /* the plan's */
    ind__arena scratch;                /* freed with the writer */
    const char *var[2 * IND_MAX_RANK]; /* text of domain.var[d] */
    ind_expr linear[IND_MAX_RANK]; /* position in the P variables 0 .. d together, if indices are computed from it */
    const char *linear_name[IND_MAX_RANK];
    const char **value;  /* per instruction, NULL: v<number> */
    const char **memory; /* per LOAD and STORE, NULL: buffer[index] */
    uint8_t *known;      /* per instruction: depth of the scope that wrote it, 0: not written */
    uint8_t *needed;     /* per instruction */
    int combine_step;    /* ROW_STAGED: combine steps of a cluster written so far */
    uint8_t *runs;       /* per SCAN: it runs in the pass that is being written */
    int scope;           /* depth of cg__begin, 1 outermost */
    struct {
        int lanes;            /* neighbours with separate states in the loop over a row: l<number>[j] */
        int steps;            /* steps k of the loop's iteration that is being written; else 0 */
    } split;                  /* *_SPLIT */
    ind__text code;           /* body of the kernel function */
    ind__prelude_set prelude; /* functions that the source needs */
    ind__called calls;
    ind__arg_list args;
    bool failed; /* the context has the reason */
} ind__writer;

/* State while a kernel's variant is decided. */
typedef struct cg__decider {
    ind__writer w; /* first member: read by analysis functions; refers to the undecided variant and plan */
    ind__variant *variant;
    ind__body_plan *plan;
    int assume;             /* IND__ASSUME_*: likely conditions may become guards */
    int used;               /* assumptions that did, except ALIGNED */
    int alternative;        /* 0: the variant itself, 1: its fallback, 2: the fallback if that spills too .. */
    bool more_alternatives; /* there is another fallback after this one */
    int max_cluster;        /* the target's, or 1: for a device that cannot run the cluster */
    int part_threads;       /* threads of a pointwise part's blocks; 0: as many as alone */
    ind__tuning tuning;     /* replaces the choice of the formulas */
    bool force_wide;        /* 64-bit indices, because 32 bits were tried and do not suffice */
} cg__decider;

/* ============================================================================== src/headers/inductor_codegen_cuda.h */
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

/* ======================================================================================= src/cuda/prelude/types.cuh */
// Storage types of 8 and 16 bits, their conversions, and vectors.
/* clang-format off */
static const char *const cg__prelude_F16[] = {
    "#ifndef IND_EMULATION\n",
    "static IND_INLINE float ind_f16_to_f32(unsigned short h) {\n",
    "    float f;\n",
    "    asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(f) : \"h\"(h));\n",
    "    return f;\n",
    "}\n",
    "static IND_INLINE unsigned short ind_f32_to_f16(float f) {\n",
    "    unsigned short h;\n",
    "    asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(h) : \"f\"(f));\n",
    "    return h;\n",
    "}\n",
    "#endif\n",
    NULL,
};
static const char *const cg__prelude_BF16[] = {
    "#ifndef IND_EMULATION\n",
    "static IND_INLINE float ind_bf16_to_f32(unsigned short h) {\n",
    "    return __uint_as_float((unsigned)h << 16);\n",
    "}\n",
    "static IND_INLINE unsigned short ind_f32_to_bf16(float f) {\n",
    "    unsigned short h;\n",
    "    asm(\"cvt.rn.bf16.f32 %0, %1;\" : \"=h\"(h) : \"f\"(f));\n",
    "    return h;\n",
    "}\n",
    "#endif\n",
    NULL,
};
static const char *const cg__prelude_F8E4M3FN[] = {
    "// f8 e4m3fn: exponent bias 7, 3 mantissa bits, no infinity, 0x7f is NaN. Values of magnitude above 464 become NaN.\n",
    "static IND_INLINE float ind_f8e4m3fn_to_f32(unsigned char x) {\n",
    "    const float v = __uint_as_float((x & 127u) << 20) * 1.329227995784916e+36f;\n",
    "    return __uint_as_float(((x & 127) == 127 ? 0x7fffffffu : __float_as_uint(v)) | (x & 128u) << 24);\n",
    "}\n",
    "static IND_INLINE unsigned char ind_f32_to_f8e4m3fn(float f) {\n",
    "    const unsigned bits = __float_as_uint(f), u = bits & 0x7fffffffu, sign = bits >> 24 & 128u;\n",
    "    if (!(u <= 0x43e80000u)) return (unsigned char)(sign | 127u);\n",
    "    if (u < 0x3c800000u) return (unsigned char)(sign | (__float_as_uint(__uint_as_float(u) + 16384.0f) - 0x46800000u));\n",
    "    return (unsigned char)(sign | ((u - 0x3c000000u + 0x7ffffu + (u >> 20 & 1)) >> 20));\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_F8E5M2[] = {
    "// f8 e5m2: the upper half of an f16. Values of magnitude from 61440 on become infinite.\n",
    "static IND_INLINE float ind_f8e5m2_to_f32(unsigned char x) {\n",
    "    const unsigned u = x & 127u;\n",
    "    const float v = __uint_as_float(u << 21) * 5.192296858534828e+33f;\n",
    "    return __uint_as_float((u > 124 ? 0x7fffffffu : u == 124 ? 0x7f800000u : __float_as_uint(v)) | (x & 128u) << 24);\n",
    "}\n",
    "static IND_INLINE unsigned char ind_f32_to_f8e5m2(float f) {\n",
    "    const unsigned bits = __float_as_uint(f), u = bits & 0x7fffffffu, sign = bits >> 24 & 128u;\n",
    "    if (u >= 0x47700000u) return (unsigned char)(sign | (u > 0x7f800000u ? 127u : 124u));\n",
    "    if (u < 0x38800000u) return (unsigned char)(sign | (__float_as_uint(__uint_as_float(u) + 128.0f) - 0x43000000u));\n",
    "    return (unsigned char)(sign | ((u - 0x38000000u + 0xfffffu + (u >> 21 & 1)) >> 21));\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_VEC[] = {
    "// N adjacent elements, loaded and stored by one access.\n",
    "template <typename T, int N> struct __align__(sizeof(T) * N < 16 ? sizeof(T) * N : 16) ind_vec {\n",
    "    T at[N];\n",
    "};\n",
    "// 16-bit elements are also words: the compiler produces the same instructions in less time.\n",
    "template <int N> struct __align__(N < 8 ? N * 2 : 16) ind_vec<unsigned short, N> {\n",
    "    union {\n",
    "        unsigned word[N / 2];\n",
    "        unsigned short at[N];\n",
    "    };\n",
    "};\n",
    "template <int N, typename T> static IND_INLINE ind_vec<T, N> ind_load(const T *p) {\n",
    "    return *reinterpret_cast<const ind_vec<T, N> *>(p);\n",
    "}\n",
    "template <typename T, int N> static IND_INLINE void ind_store(T *p, const ind_vec<T, N> &v) {\n",
    "    *reinterpret_cast<ind_vec<T, N> *>(p) = v;\n",
    "}\n",
    NULL,
};
/* clang-format on */

/* ====================================================================================== src/cuda/prelude/memory.cuh */
// Loads and stores: misaligned vectors, cache hints, copies into shared memory.
/* clang-format off */
static const char *const cg__prelude_BOUNDARY[] = {
    "// Elements from the last N-element boundary at or before p to p.\n",
    "template <int N, typename T> static IND_INLINE int ind_misalignment(const T *p) {\n",
    "    return (int)((unsigned long long)p / sizeof(T) & (N - 1));\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_LOAD_ACROSS[] = {
    "// Loads N elements from a misaligned p: aligned 8-byte loads, combined by shifts. `misalignment`: elements from the\n",
    "// last boundary of N elements to p. Reads at most N elements past the last one.\n",
    "template <int N, typename T> static IND_INLINE ind_vec<T, N> ind_load_across(const T *p, int misalignment) {\n",
    "    const int ALL = N * sizeof(T) / 4, W = ALL < 2 ? ALL : 2, M = W * 4 / sizeof(T);\n",
    "    const int before = misalignment & (M - 1), bytes = before * (int)sizeof(T);\n",
    "    union {\n",
    "        ind_vec<T, M> part[ALL / W + 1];\n",
    "        ind_vec<T, N> made;\n",
    "        unsigned word[ALL + W];\n",
    "    } x;\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int i = 0; i <= ALL / W; i++) x.part[i] = ind_load<M>(p - before + i * M);\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int i = 0; i + 1 < ALL + W && W > 1; i++) {\n",
    "        const unsigned here = x.word[i], there = x.word[i + 1];\n",
    "        x.word[i] = sizeof(T) < 4 ? __funnelshift_rc(here, there, bytes / 4 * 32) : bytes & 4 ? there : here;\n",
    "    }\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int i = 0; i < ALL && sizeof(T) < 4; i++)\n",
    "        x.word[i] = __funnelshift_r(x.word[i], x.word[i + 1], bytes % 4 * 8);\n",
    "    return x.made;\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_LOAD_WORDS[] = {
    "// Loads N elements from a misaligned p: aligned 4-byte loads. Reads less than 4 bytes past the last one.\n",
    "template <int N, typename T> static IND_INLINE ind_vec<T, N> ind_load_words(const T *p) {\n",
    "    union {\n",
    "        ind_vec<T, N> made;\n",
    "        unsigned word[(N * sizeof(T) + 3) / 4];\n",
    "    } x;\n",
    "    const int bits = (int)((unsigned long long)p % 4) * 8;\n",
    "    const unsigned *word = reinterpret_cast<const unsigned *>((unsigned long long)p / 4 * 4);\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int i = 0; i < (int)(N * sizeof(T) / 4); i++)\n",
    "        x.word[i] = sizeof(T) < 4 ? __funnelshift_r(word[i], word[i + 1], bits) : word[i];\n",
    "    return x.made;\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_STORE_ACROSS[] = {
    "// Stores a vector: one access if p is aligned, else one per element.\n",
    "template <typename T, int N> static IND_INLINE void ind_store_across(T *p, const ind_vec<T, N> &v) {\n",
    "    if ((unsigned long long)p % alignof(ind_vec<T, N>) == 0) {\n",
    "        ind_store(p, v);\n",
    "        return;\n",
    "    }\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int j = 0; j < N; j++) p[j] = v.at[j];\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_LOAD_PAST[] = {
    "// Loads 16 bytes that are read once: L1::no_allocate.\n",
    "template <int N, typename T> static IND_INLINE ind_vec<T, N> ind_load_past(const T *p) {\n",
    "#ifdef IND_EMULATION\n",
    "    return ind_load<N>(p);\n",
    "#else\n",
    "    union {\n",
    "        unsigned word[4];\n",
    "        ind_vec<T, N> elements;\n",
    "    } v;\n",
    "    asm volatile(\"ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];\"\n",
    "                 : \"=r\"(v.word[0]), \"=r\"(v.word[1]), \"=r\"(v.word[2]), \"=r\"(v.word[3])\n",
    "                 : \"l\"(__cvta_generic_to_global(p)));\n",
    "    return v.elements;\n",
    "#endif\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_LOAD_ONCE[] = {
    "// Loads data that is not read again: L2 evict_first.\n",
    "template <int N, typename T> static IND_INLINE ind_vec<T, N> ind_load_once(const T *p) {\n",
    "    if constexpr (sizeof(T) * N == 16) {\n",
    "        union {\n",
    "            uint4 words;\n",
    "            ind_vec<T, N> elements;\n",
    "        } v = {__ldcs((const uint4 *)p)};\n",
    "        return v.elements;\n",
    "    } else {\n",
    "        return ind_load<N>(p);\n",
    "    }\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_LOAD_RUN[] = {
    "// Loads N adjacent elements from a multiple of A of them on.\n",
    "template <int N, int A, typename T> static IND_INLINE ind_vec<T, N> ind_load_run(const T *p) {\n",
    "    ind_vec<T, N> v;\n",
    "    #pragma unroll\n",
    "    for (int i = 0; i < N; i += A) {\n",
    "        const ind_vec<T, A> part = ind_load<A>(p + i);\n",
    "        #pragma unroll\n",
    "        for (int k = 0; k < A; k++) v.at[i + k] = part.at[k];\n",
    "    }\n",
    "    return v;\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_EVICT_LAST_POLICY[] = {
    "// The L2 cache policy evict_last: lines loaded with it are evicted after written lines.\n",
    "static IND_INLINE unsigned long long ind_evict_last_policy(void) {\n",
    "    unsigned long long policy = 0;\n",
    "#ifndef IND_EMULATION\n",
    "    asm(\"createpolicy.fractional.L2::evict_last.b64 %0, 1.0;\" : \"=l\"(policy));\n",
    "#endif\n",
    "    return policy;\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_EVICT_LAST[] = {
    "#ifndef IND_EMULATION\n",
    "// Compiler intrinsic: attaches a cache policy to the loads through a pointer (as cuda::access_property in libcu++).\n",
    "extern \"C\" __device__ void *__nv_associate_access_property(const void *, unsigned long long);\n",
    "#endif\n",
    "// Returns p; loads through it use that policy.\n",
    "template <typename T> static IND_INLINE const T *ind_evict_last(const T *p) {\n",
    "#ifdef IND_EMULATION\n",
    "    return p;\n",
    "#else\n",
    "    return static_cast<const T *>(__nv_associate_access_property(p, ind_evict_last_policy()));\n",
    "#endif\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_BF16_AT[] = {
    "// Element j of a vector of bf16. An odd element is the upper half of its word, as in the f32.\n",
    "template <int N> static IND_INLINE float ind_bf16_at(const ind_vec<unsigned short, N> &v, int j) {\n",
    "    const unsigned word = v.word[j / 2];\n",
    "    return __uint_as_float(j % 2 ? word & 0xffff0000u : word << 16);\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_OPAQUE[] = {
    "// Hides the value of x from the compiler: it keeps x in registers as loaded, and converts it again in every pass.\n",
    "template <typename T, int N, int K> static IND_INLINE void ind_opaque(ind_vec<T, N> (&x)[K]) {\n",
    "#ifndef IND_EMULATION\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int i = 0; i < (int)sizeof x / 4; i++) asm volatile(\"\" : \"+r\"(reinterpret_cast<unsigned *>(&x)[i]));\n",
    "#endif\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_VEC_PART[] = {
    "// N elements from position r of a row of n elements. Elements before and after the row are skipped.\n",
    "template <int N, typename T, typename I> static IND_INLINE bool ind_whole(const T *p, I r, I n) {\n",
    "    return r >= 0 && r <= n - N && (unsigned long long)p % sizeof(ind_vec<T, N>) % 16 == 0;\n",
    "}\n",
    "template <int N, typename T, typename I> static IND_INLINE ind_vec<T, N> ind_load_part(const T *p, I r, I n) {\n",
    "    if (ind_whole<N>(p, r, n)) return ind_load<N>(p);\n",
    "    ind_vec<T, N> v;\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int j = 0; j < N; j++) v.at[j] = r + j >= 0 && r + j < n ? p[j] : T(0);\n",
    "    return v;\n",
    "}\n",
    "template <typename T, int N, typename I> static IND_INLINE void ind_store_part(T *p, const ind_vec<T, N> &v, I r, I n) {\n",
    "    if (ind_whole<N>(p, r, n)) {\n",
    "        ind_store(p, v);\n",
    "        return;\n",
    "    }\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int j = 0; j < N; j++)\n",
    "        if (r + j >= 0 && r + j < n) p[j] = v.at[j];\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_CP_ASYNC[] = {
    "#ifndef IND_EMULATION\n",
    "// Asynchronous copy of `bytes` (0 to 16) into 16 bytes of shared memory. The rest is set to zero.\n",
    "static IND_INLINE void ind_cp_async16(void *smem, const void *global, int bytes) {\n",
    "    asm volatile(\"cp.async.cg.shared.global [%0], [%1], 16, %2;\"\n",
    "                 :: \"r\"((unsigned)__cvta_generic_to_shared(smem)), \"l\"(global), \"r\"(bytes)\n",
    "                 : \"memory\");\n",
    "}\n",
    "static IND_INLINE void ind_cp_async_commit(void) {\n",
    "    asm volatile(\"cp.async.commit_group;\" ::: \"memory\");\n",
    "}\n",
    "template <int N> static IND_INLINE void ind_cp_async_wait(void) {\n",
    "    asm volatile(\"cp.async.wait_group %0;\" :: \"n\"(N) : \"memory\");\n",
    "}\n",
    "#endif\n",
    NULL,
};
static const char *const cg__prelude_CP_ASYNC_BY[] = {
    "#ifdef IND_EMULATION\n",
    "static IND_INLINE char *ind_lane_address(uint4 *p) { return reinterpret_cast<char *>(p); }\n",
    "static IND_INLINE void ind_cp_async16_by(char *to, const void *global, unsigned long long policy) {\n",
    "    ind_cp_async16(to, global, 16);\n",
    "}\n",
    "#else\n",
    "// The shared address p of a lane. It goes through a shuffle, which hides from ptxas that it is a sum. ptxas folds the sum\n",
    "// of a register and a uniform register into the copy, which with a cache policy is an illegal instruction.\n",
    "static IND_INLINE unsigned ind_lane_address(const uint4 *p) {\n",
    "    return __shfl_sync(0xffffffffu, (unsigned)__cvta_generic_to_shared(p), threadIdx.x % 32);\n",
    "}\n",
    "// Asynchronous copy of 16 bytes with an L2 cache policy.\n",
    "static IND_INLINE void ind_cp_async16_by(unsigned to, const void *global, unsigned long long policy) {\n",
    "    asm volatile(\"cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;\"\n",
    "                 :: \"r\"(to), \"l\"(global), \"l\"(policy) : \"memory\");\n",
    "}\n",
    "#endif\n",
    NULL,
};
/* clang-format on */

/* ======================================================================================== src/cuda/prelude/math.cuh */
// Arithmetic that CUDA lacks or that PyTorch defines differently.
/* clang-format off */
static const char *const cg__prelude_MAXMIN[] = {
    "// NaN if either is NaN.\n",
    "template <typename T> static IND_INLINE T ind_max(T a, T b) {\n",
    "    return a != a || a > b ? a : b;\n",
    "}\n",
    "template <typename T> static IND_INLINE T ind_min(T a, T b) {\n",
    "    return a != a || a < b ? a : b;\n",
    "}\n",
    "#ifndef IND_EMULATION\n",
    "static IND_INLINE float ind_max(float a, float b) {\n",
    "    float m;\n",
    "    asm(\"max.NaN.f32 %0, %1, %2;\" : \"=f\"(m) : \"f\"(a), \"f\"(b));\n",
    "    return m;\n",
    "}\n",
    "static IND_INLINE float ind_min(float a, float b) {\n",
    "    float m;\n",
    "    asm(\"min.NaN.f32 %0, %1, %2;\" : \"=f\"(m) : \"f\"(a), \"f\"(b));\n",
    "    return m;\n",
    "}\n",
    "#endif\n",
    NULL,
};
static const char *const cg__prelude_DIV[] = {
    "// Rounds toward zero. x / 0 is 0. The smallest integer / -1 wraps around.\n",
    "template <typename T> static IND_INLINE T ind_div(T a, T b) {\n",
    "    if (b == 0) return 0;\n",
    "    if (T(-1) < T(0) && b == T(-1)) return (T)(0ull - (unsigned long long)a);\n",
    "    return (T)(a / b);\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_MOD[] = {
    "// The remainder has the sign of a. x % 0 is x.\n",
    "template <typename T> static IND_INLINE T ind_mod(T a, T b) {\n",
    "    if (b == 0) return a;\n",
    "    return T(-1) < T(0) && b == T(-1) ? T(0) : (T)(a % b);\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_SHIFT[] = {
    "// A shift count that is negative or at least the width gives 0, or -1 for a negative number shifted right.\n",
    "template <typename T> static IND_INLINE T ind_shift_left(T a, T by) {\n",
    "    return by < 0 || by >= T(sizeof(T) * 8) ? T(0) : (T)((unsigned long long)a << by);\n",
    "}\n",
    "template <typename T> static IND_INLINE T ind_shift_right(T a, T by) {\n",
    "    if (by < 0 || by >= T(sizeof(T) * 8)) return a < 0 ? T(-1) : T(0);\n",
    "    return (T)(a >> by);\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_GCD[] = {
    "// Euclid's algorithm, on magnitudes; 64 bits wide only where the type is.\n",
    "template <typename U, typename T> static IND_INLINE U ind_gcd_of(T x, T y) {\n",
    "    U a = x < 0 ? 0 - (U)x : (U)x, b = y < 0 ? 0 - (U)y : (U)y;\n",
    "    while (b != 0) {\n",
    "        U rest = a % b;\n",
    "        a = b;\n",
    "        b = rest;\n",
    "    }\n",
    "    return a;\n",
    "}\n",
    "template <typename T> static IND_INLINE T ind_gcd(T a, T b) {\n",
    "    return (T)(sizeof(T) < 8 ? ind_gcd_of<unsigned>(a, b) : ind_gcd_of<unsigned long long>(a, b));\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_POW[] = {
    "// Exponentiation by squaring, which wraps around. A negative exponent gives 0, except for bases 1 and -1.\n",
    "template <typename T> static IND_INLINE T ind_pow(T base, T exponent) {\n",
    "    if (exponent < 0) return base == 1 ? 1 : base == T(-1) ? (exponent % 2 != 0 ? T(-1) : T(1)) : T(0);\n",
    "    unsigned long long result = 1, square = (unsigned long long)base;\n",
    "    for (unsigned long long e = (unsigned long long)exponent; e != 0; e >>= 1) {\n",
    "        if (e & 1) result *= square;\n",
    "        square *= square;\n",
    "    }\n",
    "    return (T)result;\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_QUOTIENT[] = {
    "// x / d for 0 <= x < 2^31 and 1 <= d < 2^31, with m = ceil(2^62 / d). With e = m * d - 2^62 < d, x * m / 2^62 is\n",
    "// x / d + x * e / (d * 2^62); the second term is less than 1 / d.\n",
    "static IND_INLINE unsigned ind_quotient(unsigned x, unsigned long long m) {\n",
    "    const unsigned long long low = (unsigned long long)x * (unsigned)m >> 32;\n",
    "    return (unsigned)(((unsigned long long)x * (unsigned)(m >> 32) + low) >> 30);\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_FLOORDIV[] = {
    "// Division that rounds toward minus infinity, and its remainder.\n",
    "template <typename T> static IND_INLINE T ind_floordiv(T a, T b) {\n",
    "    return a / b - (a % b != 0 && (a % b < 0) != (b < 0));\n",
    "}\n",
    "template <typename T> static IND_INLINE T ind_floormod(T a, T b) {\n",
    "    return a - ind_floordiv(a, b) * b;\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_EXP_BELOW[] = {
    "// exp(x - m) for x <= m, in sums whose largest term is 1. The error of ex2.approx, 2^-22, is below their rounding.\n",
    "#ifndef IND_EMULATION\n",
    "static IND_INLINE float ind_exp2(float x) {\n",
    "    float y;\n",
    "    asm(\"ex2.approx.ftz.f32 %0, %1;\" : \"=f\"(y) : \"f\"(x));\n",
    "    return y;\n",
    "}\n",
    "#else\n",
    "static IND_INLINE float ind_exp2(float x) { return exp2f(x); }\n",
    "#endif\n",
    "static IND_INLINE float ind_exp_below(float x, float m) { return ind_exp2((x - m) * 1.44269504f); }\n",
    "static IND_INLINE double ind_exp_below(double x, double m) { return exp(x - m); }\n",
    "// The maximum to subtract: m, or 0 if m is -inf, because -inf - -inf is NaN.\n",
    "template <typename T> static IND_INLINE T ind_exp_base(T m) {\n",
    "    return m == T(__uint_as_float(0xff800000u)) ? T(0) : m;\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_RECIPROCAL_OF_SUM[] = {
    "// 1 / x for 1 <= x < 2^126: rcp.approx and one Newton step, without the branches of a division. 1 / 0 is NaN.\n",
    "static IND_INLINE float ind_reciprocal_of_sum(float x) {\n",
    "#ifndef IND_EMULATION\n",
    "    float y;\n",
    "    asm(\"rcp.approx.ftz.f32 %0, %1;\" : \"=f\"(y) : \"f\"(x));\n",
    "    return fmaf(y, fmaf(-x, y, 1.0f), y);\n",
    "#else\n",
    "    return 1.0f / x;\n",
    "#endif\n",
    "}\n",
    NULL,
};
/* clang-format on */

/* ===================================================================================== src/cuda/prelude/special.cuh */
// Special functions.
/* clang-format off */
static const char *const cg__prelude_DIGAMMA[] = {
    "// By recurrence to x >= 10 and the asymptotic series there; for negative x by reflection.\n",
    "static IND_INLINE double ind_digamma(double x) {\n",
    "    double sum = 0;\n",
    "    if (x == 0) return copysign((double)__uint_as_float(0x7f800000u), -x);\n",
    "    if (x < 0) {\n",
    "        const double fraction = x - rint(x);\n",
    "        if (fraction == 0) return (double)__uint_as_float(0x7fc00000u);\n",
    "        sum = -3.14159265358979323846 * cospi(fraction) / sinpi(fraction);\n",
    "        x = 1 - x;\n",
    "    }\n",
    "    for (; x < 10; x += 1) sum -= 1 / x;\n",
    "    const double z = 1 / (x * x);\n",
    "    const double low = 1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12));\n",
    "    return sum + (log(x) - 0.5 / x - z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * low))));\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_BESSEL_IE[] = {
    "// exp(-|x|) I_n(x): power series up to 30, asymptotic series beyond.\n",
    "template <int N> static IND_INLINE double ind_bessel_ie(double x) {\n",
    "    const double y = fabs(x);\n",
    "    double term = N ? y / 2 : 1, sum = term;\n",
    "    if (y <= 30) {\n",
    "        for (int k = 1; k < 100 && term > sum * 1e-18; k++) sum += term *= y * y / (4.0 * k * (k + N));\n",
    "        sum *= exp(-y);\n",
    "    } else {\n",
    "        sum = term = 1;\n",
    "        for (int k = 1; k < 30; k++) sum += term *= ((2.0 * k - 1) * (2 * k - 1) - 4 * N) / (8 * y * k);\n",
    "        sum /= sqrt(2 * 3.14159265358979323846 * y);\n",
    "    }\n",
    "    return N ? copysign(sum, x) : sum;\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_BESSEL_JY[] = {
    "// J0 J1 Y0 Y1: Miller's backward recurrence and Neumann's series; Hankel's asymptotic series from 25 on.\n",
    "template <int KIND> static IND_INLINE double ind_bessel_far(double y) {\n",
    "    double p = 1, q = 0, term = 1;\n",
    "    for (int k = 1; k <= 30; k++) {\n",
    "        term *= ((KIND & 1 ? 4 : 0) - (2.0 * k - 1) * (2 * k - 1)) / (8 * y * k);\n",
    "        const double signed_term = k & 2 ? -term : term;\n",
    "        if (k & 1) q += signed_term;\n",
    "        else p += signed_term;\n",
    "    }\n",
    "    const double root = sqrt(1 / (3.14159265358979323846 * y));\n",
    "    const double plus = root * (sin(y) + cos(y)), minus = root * (sin(y) - cos(y));\n",
    "    return KIND == 0 ? p * plus - q * minus : KIND == 3 ? q * minus - p * plus : p * minus + q * plus;\n",
    "}\n",
    "template <int KIND> static IND_INLINE double ind_bessel_near(double y) {\n",
    "    const double l = log(y / 2) + 0.57721566490153286061, f = 2 / 3.14159265358979323846;\n",
    "    double above = 0, j = 1e-30, total = 0, even = 0, odd = 0;\n",
    "    if (y < 1e-8) return KIND == 0 ? 1 : KIND == 1 ? y / 2 : KIND == 2 ? f * l : -f / y;\n",
    "    for (int n = 40 + 2 * (int)(0.75 * y); n > 0; n--) {\n",
    "        const double k = n / 2, sign = n & 2 ? -1 : 1;\n",
    "        if (n % 2 == 0) total += 2 * j, even += sign * j / k;\n",
    "        if (n % 2 == 1 && n > 1) odd += sign * n / (k * (k + 1)) * j;\n",
    "        const double below = 2 * n / y * j - above;\n",
    "        above = j, j = below;\n",
    "        if (fabs(j) > 1e100) j *= 1e-100, above *= 1e-100, total *= 1e-100, even *= 1e-100, odd *= 1e-100;\n",
    "    }\n",
    "    total += j;\n",
    "    if (KIND < 2) return (KIND ? above : j) / total;\n",
    "    return f * (KIND == 2 ? l * j - 2 * even : (l - 1) * above - j / y - odd) / total;\n",
    "}\n",
    "template <int KIND> static IND_INLINE double ind_bessel_jy(double x) {\n",
    "    const double y = fabs(x);\n",
    "    if (KIND >= 2 && !(x > 0)) return (double)__uint_as_float(x == 0 ? 0xff800000u : 0x7fc00000u);\n",
    "    const double v = y < 25 ? ind_bessel_near<KIND>(y) : ind_bessel_far<KIND>(y);\n",
    "    return KIND == 1 && x < 0 ? -v : v;\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_ZETA[] = {
    "// Hurwitz zeta function: ten terms, then the Euler-Maclaurin formula.\n",
    "static IND_INLINE double ind_zeta_positive(double x, double a) {\n",
    "    double sum = 0;\n",
    "    #pragma unroll 1\n",
    "    for (int k = 0; k < 10; k++, a++) sum += pow(a, -x);\n",
    "    const double term = pow(a, -x), z = 1 / (a * a);\n",
    "    if (term == 0) return sum;\n",
    "    double rest = 43867.0 / 5109094217170944000.0;\n",
    "    rest = -3617.0 / 10670622842880000.0 + rest * ((x + 15) * (x + 16) * z);\n",
    "    rest = 1.0 / 74724249600.0 + rest * ((x + 13) * (x + 14) * z);\n",
    "    rest = -691.0 / 1307674368000.0 + rest * ((x + 11) * (x + 12) * z);\n",
    "    rest = 1.0 / 47900160.0 + rest * ((x + 9) * (x + 10) * z);\n",
    "    rest = -1.0 / 1209600.0 + rest * ((x + 7) * (x + 8) * z);\n",
    "    rest = 1.0 / 30240.0 + rest * ((x + 5) * (x + 6) * z);\n",
    "    rest = -1.0 / 720.0 + rest * ((x + 3) * (x + 4) * z);\n",
    "    rest = 1.0 / 12.0 + rest * ((x + 1) * (x + 2) * z);\n",
    "    return sum + (term * a / (x - 1) + term / 2) + rest * (term * x / a);\n",
    "}\n",
    "// For a < 0, the terms below 0 are the terms from f in (0, 1) to -a, with the sign of (-1)^x.\n",
    "static IND_INLINE double ind_zeta(double x, double a) {\n",
    "    const bool negative = a <= 0;\n",
    "    if (x == 1 || (!(x < 1) && negative && a == floor(a))) return (double)__uint_as_float(0x7f800000u);\n",
    "    if (x < 1 || (negative && x != floor(x))) return (double)__uint_as_float(0x7fc00000u);\n",
    "    const double f = -a - floor(-a), sign = fmod(x, 2.0) == 1 ? -1 : 1;\n",
    "    double sum = 0;\n",
    "    #pragma unroll 1\n",
    "    for (int part = negative ? 0 : 2; part < 3; part++) {\n",
    "        const double from = part == 0 ? f : part == 1 ? 1 - a : negative ? 1 - f : a;\n",
    "        const double v = ind_zeta_positive(x, from);\n",
    "        sum += part == 0 ? sign * v : part == 1 ? -sign * v : v;\n",
    "    }\n",
    "    return sum;\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_IGAMMA[] = {
    "// Temme's uniform expansion for large a and x = a (1 + mu) near it.\n",
    "template <bool UPPER> static IND_INLINE double ind_igamma_large(double a, double mu) {\n",
    "    double half_square = 0, power = mu;\n",
    "    for (int k = 2; k < 14; k++) power *= -mu, half_square -= power / k;\n",
    "    const double eta = copysign(sqrt(2 * half_square), mu);\n",
    "    const double c0 = -1.0 / 3 + eta * (1.0 / 12 + eta * (-2.0 / 135 + eta * (1.0 / 864 + eta / 2835)));\n",
    "    const double c1 = -1.0 / 540 - eta / 288;\n",
    "    const double rest = exp(-a * half_square) / sqrt(2 * 3.14159265358979323846 * a) * (c0 + c1 / a);\n",
    "    return UPPER ? erfc(eta * sqrt(a / 2)) / 2 + rest : erfc(-eta * sqrt(a / 2)) / 2 - rest;\n",
    "}\n",
    "// Regularised incomplete gamma functions: the series of P, or the continued fraction of Q = 1 - P.\n",
    "template <bool UPPER> static IND_INLINE double ind_igamma(double a, double x) {\n",
    "    const double tiny = 1e-300;\n",
    "    double sum = 1, term = 1;\n",
    "    if (!(a >= 0 && x >= 0) || (isinf(a) && isinf(x)) || (a == 0 && x == 0)) return (double)__uint_as_float(0x7fc00000u);\n",
    "    if (x == 0 || isinf(a)) return UPPER ? 1 : 0;\n",
    "    if (isinf(x) || a == 0) return UPPER ? 0 : 1;\n",
    "    if (a > 1e5 && fabs(x - a) < 0.03 * a) return ind_igamma_large<UPPER>(a, (x - a) / a);\n",
    "    const double scale = exp(a * log(x) - x - lgamma(a));\n",
    "    if (x <= 1 || x <= a) {\n",
    "        for (int k = 1; k < 5000 && term > sum * 1e-17; k++) sum += term *= x / (a + k);\n",
    "        return UPPER ? 1 - scale * sum / a : scale * sum / a;\n",
    "    }\n",
    "    double b = x + 1 - a, c = 1 / tiny, d = 1 / b, h = d, change = 0;\n",
    "    for (int k = 1; k < 5000 && fabs(change - 1) > 1e-16; k++) {\n",
    "        const double factor = k * (a - k);\n",
    "        b += 2;\n",
    "        d = factor * d + b, d = 1 / (fabs(d) < tiny ? tiny : d);\n",
    "        c = b + factor / c, c = fabs(c) < tiny ? tiny : c;\n",
    "        change = c * d;\n",
    "        h *= change;\n",
    "    }\n",
    "    return UPPER ? scale * h : 1 - scale * h;\n",
    "}\n",
    NULL,
};
/* clang-format on */

/* ====================================================================================== src/cuda/prelude/random.cuh */
// Philox, the counter-based generator of random bits.
/* clang-format off */
static const char *const cg__prelude_PHILOX[] = {
    "// Half of the 128 bits of Philox 4x32-10 (Salmon et al. 2011).\n",
    "template <int HALF> static IND_INLINE unsigned long long ind_philox(unsigned long long key, unsigned long long stream,\n",
    "                                                                    unsigned long long position) {\n",
    "    unsigned x0 = (unsigned)position, x1 = (unsigned)(position >> 32), x2 = (unsigned)stream, x3 = (unsigned)(stream >> 32);\n",
    "    unsigned k0 = (unsigned)key, k1 = (unsigned)(key >> 32);\n",
    "    #pragma unroll\n",
    "    for (int round = 0; round < 10; round++, k0 += 0x9e3779b9u, k1 += 0xbb67ae85u) {\n",
    "        const unsigned long long a = x0 * 0xd2511f53ull, b = x2 * 0xcd9e8d57ull;\n",
    "        x0 = (unsigned)(b >> 32) ^ x1 ^ k0;\n",
    "        x1 = (unsigned)b;\n",
    "        x2 = (unsigned)(a >> 32) ^ x3 ^ k1;\n",
    "        x3 = (unsigned)a;\n",
    "    }\n",
    "    return HALF ? x2 | (unsigned long long)x3 << 32 : x0 | (unsigned long long)x1 << 32;\n",
    "}\n",
    NULL,
};
/* clang-format on */

/* ====================================================================================== src/cuda/prelude/checks.cuh */
// Checks of indices that come from data.
/* clang-format off */
static const char *const cg__prelude_INDEX[] = {
    "// Checks an index read from memory: one outside [0, size) is reported once and replaced by 0.\n",
    "static IND_INLINE long long ind_index(long long i, long long size, unsigned long long id,\n",
    "                                                      unsigned long long *error) {\n",
    "    if (i >= 0 && i < size) return i;\n",
    "    if (atomicCAS(error, 0ull, id) == 0ull) {\n",
    "        error[1] = (unsigned long long)i;\n",
    "        error[2] = (unsigned long long)size;\n",
    "    }\n",
    "    return 0;\n",
    "}\n",
    "// The same, with negative indices counted from the end.\n",
    "static IND_INLINE long long ind_index_wrapped(long long i, long long size, unsigned long long id,\n",
    "                                                              unsigned long long *error) {\n",
    "    const long long at = i < 0 ? i + size : i;\n",
    "    return at >= 0 && at < size ? at : ind_index(i, size, id, error);\n",
    "}\n",
    NULL,
};
/* clang-format on */

/* ===================================================================================== src/cuda/prelude/atomics.cuh */
// Atomic updates of memory.
/* clang-format off */
static const char *const cg__prelude_ATOMIC[] = {
    "// Atomic *p = f(*p). Compare and swap, on the aligned 4-byte word that contains a smaller element.\n",
    "template <typename W, typename T> union ind_word {\n",
    "    W whole;\n",
    "    T value;\n",
    "};\n",
    "template <typename W, typename T, typename F> static IND_INLINE void ind_atomic_word(T *p, F f) {\n",
    "    W *const word = (W *)p;\n",
    "    for (W old = *(volatile W *)word;;) {\n",
    "        ind_word<W, T> next;\n",
    "        next.whole = old;\n",
    "        next.value = f(next.value);\n",
    "        if (next.whole == old) return;\n",
    "        const W seen = atomicCAS(word, old, next.whole);\n",
    "        if (seen == old) return;\n",
    "        old = seen;\n",
    "    }\n",
    "}\n",
    "template <typename T, typename F> static IND_INLINE void ind_atomic(T *p, F f) {\n",
    "    if constexpr (sizeof(T) == 8) {\n",
    "        ind_atomic_word<unsigned long long>(p, f);\n",
    "    } else if constexpr (sizeof(T) == 4) {\n",
    "        ind_atomic_word<unsigned>(p, f);\n",
    "    } else {\n",
    "        const unsigned long long at = (unsigned long long)p;\n",
    "        const unsigned shift = (unsigned)(at & 3) * 8, mask = ((1u << 8 * sizeof(T)) - 1) << shift;\n",
    "        const auto part = [=](unsigned old) {\n",
    "            return (old & ~mask) | ((unsigned)f((T)(old >> shift)) << shift & mask);\n",
    "        };\n",
    "        ind_atomic_word<unsigned>((unsigned *)(at & ~3ull), part);\n",
    "    }\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_ADD_F32[] = {
    "// Atomic p[j] += v.at[j]: one instruction for up to 16 bytes.\n",
    "#ifndef IND_EMULATION\n",
    "template <int N> static IND_INLINE void ind_add_f32(float *p, const ind_vec<float, N> &v) {\n",
    "    if constexpr (N % 4 == 0) {\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int j = 0; j < N; j += 4)\n",
    "            asm volatile(\"red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};\" :: \"l\"(p + j), \"f\"(v.at[j]),\n",
    "                         \"f\"(v.at[j + 1]), \"f\"(v.at[j + 2]), \"f\"(v.at[j + 3]) : \"memory\");\n",
    "    } else {\n",
    "        asm volatile(\"red.relaxed.gpu.global.add.v2.f32 [%0], {%1, %2};\" :: \"l\"(p), \"f\"(v.at[0]), \"f\"(v.at[1]) : \"memory\");\n",
    "    }\n",
    "}\n",
    "#endif\n",
    NULL,
};
static const char *const cg__prelude_ADD_F16[] = {
    "#ifndef IND_EMULATION\n",
    "template <int N> static IND_INLINE void ind_add_f16(unsigned short *p, const ind_vec<unsigned short, N> &v) {\n",
    "    unsigned w[N / 2];\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int j = 0; j < N / 2; j++) w[j] = v.at[2 * j] | (unsigned)v.at[2 * j + 1] << 16;\n",
    "    if constexpr (N == 8)\n",
    "        asm volatile(\"red.relaxed.gpu.global.add.noftz.v4.f16x2 [%0], {%1, %2, %3, %4};\" :: \"l\"(p), \"r\"(w[0]), \"r\"(w[1]),\n",
    "                     \"r\"(w[2]), \"r\"(w[3]) : \"memory\");\n",
    "    else if constexpr (N == 4)\n",
    "        asm volatile(\"red.relaxed.gpu.global.add.noftz.v2.f16x2 [%0], {%1, %2};\" :: \"l\"(p), \"r\"(w[0]), \"r\"(w[1]) : \"memory\");\n",
    "    else\n",
    "        asm volatile(\"red.relaxed.gpu.global.add.noftz.f16x2 [%0], %1;\" :: \"l\"(p), \"r\"(w[0]) : \"memory\");\n",
    "}\n",
    "static IND_INLINE void ind_add_f16(unsigned short *p, unsigned short v) {\n",
    "    asm volatile(\"red.relaxed.gpu.global.add.noftz.f16 [%0], %1;\" :: \"l\"(p), \"h\"(v) : \"memory\");\n",
    "}\n",
    "#endif\n",
    NULL,
};
static const char *const cg__prelude_ADD_BF16[] = {
    "#ifndef IND_EMULATION\n",
    "template <int N> static IND_INLINE void ind_add_bf16(unsigned short *p, const ind_vec<unsigned short, N> &v) {\n",
    "    unsigned w[N / 2];\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int j = 0; j < N / 2; j++) w[j] = v.at[2 * j] | (unsigned)v.at[2 * j + 1] << 16;\n",
    "    if constexpr (N == 8)\n",
    "        asm volatile(\"red.relaxed.gpu.global.add.noftz.v4.bf16x2 [%0], {%1, %2, %3, %4};\" :: \"l\"(p), \"r\"(w[0]), \"r\"(w[1]),\n",
    "                     \"r\"(w[2]), \"r\"(w[3]) : \"memory\");\n",
    "    else if constexpr (N == 4)\n",
    "        asm volatile(\"red.relaxed.gpu.global.add.noftz.v2.bf16x2 [%0], {%1, %2};\" :: \"l\"(p), \"r\"(w[0]), \"r\"(w[1]) : \"memory\");\n",
    "    else\n",
    "        asm volatile(\"red.relaxed.gpu.global.add.noftz.bf16x2 [%0], %1;\" :: \"l\"(p), \"r\"(w[0]) : \"memory\");\n",
    "}\n",
    "static IND_INLINE void ind_add_bf16(unsigned short *p, unsigned short v) {\n",
    "    asm volatile(\"red.relaxed.gpu.global.add.noftz.bf16 [%0], %1;\" :: \"l\"(p), \"h\"(v) : \"memory\");\n",
    "}\n",
    "#endif\n",
    NULL,
};
/* clang-format on */

/* ====================================================================================== src/cuda/prelude/states.cuh */
// States of reductions, and how two states are combined.
/* clang-format off */
static const char *const cg__prelude_SUM[] = {
    "// State of a reduction. `combine` combines two states; `lane` reads that of the lane whose number differs in bits d.\n",
    "template <typename T> struct ind_sum {\n",
    "    T value;\n",
    "    IND_INLINE void combine(const ind_sum &o) { value = value + o.value; }\n",
    "    IND_INLINE ind_sum lane(int d) const { return {__shfl_xor_sync(0xffffffffu, value, d)}; }\n",
    "};\n",
    NULL,
};
static const char *const cg__prelude_PROD[] = {
    "template <typename T> struct ind_prod {\n",
    "    T value;\n",
    "    IND_INLINE void combine(const ind_prod &o) { value = value * o.value; }\n",
    "    IND_INLINE ind_prod lane(int d) const { return {__shfl_xor_sync(0xffffffffu, value, d)}; }\n",
    "};\n",
    NULL,
};
static const char *const cg__prelude_MAX[] = {
    "template <typename T> struct ind_maximum {\n",
    "    T value;\n",
    "    IND_INLINE void combine(const ind_maximum &o) { value = ind_max(value, o.value); }\n",
    "    IND_INLINE ind_maximum lane(int d) const { return {__shfl_xor_sync(0xffffffffu, value, d)}; }\n",
    "};\n",
    NULL,
};
static const char *const cg__prelude_MAX_WARP[] = {
    "// Maximum of a warp by redux.sync on integers that have the order of the floats. NaN is the largest.\n",
    "#ifndef IND_EMULATION\n",
    "template <int LANES> static IND_INLINE void ind_combine_lanes(ind_maximum<float> &s) {\n",
    "    if (LANES == 32) {\n",
    "        const int i = __float_as_int(s.value), key = i ^ (i >> 31 & 0x7fffffff);\n",
    "        const int m = __reduce_max_sync(0xffffffffu, key);\n",
    "        s.value = __int_as_float(m ^ (m >> 31 & 0x7fffffff));\n",
    "    } else {\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int d = LANES / 2; d > 0; d /= 2) s.combine(s.lane(d));\n",
    "    }\n",
    "}\n",
    "#endif\n",
    NULL,
};
static const char *const cg__prelude_MAX_BF16[] = {
    "// Combines a state with the maximum of N bf16, by packed 2-element instructions.\n",
    "#ifndef IND_EMULATION\n",
    "static IND_INLINE unsigned ind_max_bf16x2(unsigned a, unsigned b) {\n",
    "    unsigned m;\n",
    "    asm(\"max.NaN.bf16x2 %0, %1, %2;\" : \"=r\"(m) : \"r\"(a), \"r\"(b));\n",
    "    return m;\n",
    "}\n",
    "#else\n",
    "static IND_INLINE unsigned ind_max_bf16x2(unsigned a, unsigned b) {\n",
    "    unsigned m[2];\n",
    "    for (int i = 0; i < 2; i++)\n",
    "        m[i] = ind_f32_to_bf16(ind_max(ind_bf16_to_f32((unsigned short)(a >> 16 * i)), ind_bf16_to_f32((unsigned short)(b >> 16 * i))));\n",
    "    return m[0] | m[1] << 16;\n",
    "}\n",
    "#endif\n",
    "template <int N> static IND_INLINE void ind_combine_bf16(ind_maximum<float> &s, const ind_vec<unsigned short, N> &v) {\n",
    "    unsigned m = v.word[0];\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int i = 1; i < N / 2; i++) m = ind_max_bf16x2(m, v.word[i]);\n",
    "    s.combine({ind_bf16_to_f32((unsigned short)m)});\n",
    "    s.combine({ind_bf16_to_f32((unsigned short)(m >> 16))});\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_MAX_F16[] = {
    "// Combines a state with the maximum of N f16, by packed 2-element instructions.\n",
    "#ifndef IND_EMULATION\n",
    "static IND_INLINE unsigned ind_max_f16x2(unsigned a, unsigned b) {\n",
    "    unsigned m;\n",
    "    asm(\"max.NaN.f16x2 %0, %1, %2;\" : \"=r\"(m) : \"r\"(a), \"r\"(b));\n",
    "    return m;\n",
    "}\n",
    "#else\n",
    "static IND_INLINE unsigned ind_max_f16x2(unsigned a, unsigned b) {\n",
    "    unsigned m[2];\n",
    "    for (int i = 0; i < 2; i++)\n",
    "        m[i] = ind_f32_to_f16(ind_max(ind_f16_to_f32((unsigned short)(a >> 16 * i)), ind_f16_to_f32((unsigned short)(b >> 16 * i))));\n",
    "    return m[0] | m[1] << 16;\n",
    "}\n",
    "#endif\n",
    "template <int N> static IND_INLINE void ind_combine_f16(ind_maximum<float> &s, const ind_vec<unsigned short, N> &v) {\n",
    "    unsigned m = v.word[0];\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int i = 1; i < N / 2; i++) m = ind_max_f16x2(m, v.word[i]);\n",
    "    s.combine({ind_f16_to_f32((unsigned short)m)});\n",
    "    s.combine({ind_f16_to_f32((unsigned short)(m >> 16))});\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_MIN[] = {
    "template <typename T> struct ind_minimum {\n",
    "    T value;\n",
    "    IND_INLINE void combine(const ind_minimum &o) { value = ind_min(value, o.value); }\n",
    "    IND_INLINE ind_minimum lane(int d) const { return {__shfl_xor_sync(0xffffffffu, value, d)}; }\n",
    "};\n",
    NULL,
};
static const char *const cg__prelude_ANY[] = {
    "template <typename T> struct ind_any {\n",
    "    T value;\n",
    "    IND_INLINE void combine(const ind_any &o) { value = value | o.value; }\n",
    "    IND_INLINE ind_any lane(int d) const { return {__shfl_xor_sync(0xffffffffu, value, d)}; }\n",
    "};\n",
    NULL,
};
static const char *const cg__prelude_ARGMAX[] = {
    "// Maximum and the first position that holds it. NaN is the largest. at < 0: no element yet.\n",
    "template <typename T> struct ind_argmax {\n",
    "    T value;\n",
    "    long long at;\n",
    "    IND_INLINE void combine(const ind_argmax &o) {\n",
    "        const bool nan = value != value, other_nan = o.value != o.value;\n",
    "        const bool more = other_nan ? !nan : o.value > value;\n",
    "        const bool same = other_nan ? nan : o.value == value;\n",
    "        if (o.at >= 0 && (at < 0 || more || (same && o.at < at))) *this = o;\n",
    "    }\n",
    "    IND_INLINE ind_argmax lane(int d) const {\n",
    "        return {__shfl_xor_sync(0xffffffffu, value, d), __shfl_xor_sync(0xffffffffu, at, d)};\n",
    "    }\n",
    "};\n",
    NULL,
};
static const char *const cg__prelude_WELFORD[] = {
    "// Count, mean and sum of squared deviations (Welford 1962), combined as in Chan et al. 1979.\n",
    "template <typename T> struct ind_welford {\n",
    "    T count, mean, m2;\n",
    "    template <int N> IND_INLINE void add(const T (&x)[N]) {\n",
    "        T sum = x[0], squares = 0;\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int i = 1; i < N; i++) sum += x[i];\n",
    "        const T middle = sum / N;\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int i = 0; i < N; i++) squares += (x[i] - middle) * (x[i] - middle);\n",
    "        combine({T(N), middle, squares});\n",
    "    }\n",
    "    IND_INLINE void combine(const ind_welford &o) {\n",
    "        const T total = count + o.count;\n",
    "        if (total == 0) return;\n",
    "        const T delta = o.mean - mean, part = o.count / total;\n",
    "        mean += delta * part;\n",
    "        m2 += o.m2 + delta * delta * count * part;\n",
    "        count = total;\n",
    "    }\n",
    "    IND_INLINE ind_welford lane(int d) const {\n",
    "        return {__shfl_xor_sync(0xffffffffu, count, d), __shfl_xor_sync(0xffffffffu, mean, d),\n",
    "                __shfl_xor_sync(0xffffffffu, m2, d)};\n",
    "    }\n",
    "};\n",
    NULL,
};
static const char *const cg__prelude_SOFTMAX[] = {
    "// Maximum m and sum of exp(x - m) in one pass (Milakov and Gimelshein 2018).\n",
    "template <typename T> struct ind_softmax {\n",
    "    T max, sum;\n",
    "    template <int N> IND_INLINE void add(const T (&x)[N]) {\n",
    "        T m = max;\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int i = 0; i < N; i++) m = ind_max(m, x[i]);\n",
    "        const T base = ind_exp_base(m);\n",
    "        sum *= ind_exp_below(max, base);\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int i = 0; i < N; i++) sum += ind_exp_below(x[i], base);\n",
    "        max = m;\n",
    "    }\n",
    "    IND_INLINE void combine(const ind_softmax &o) {\n",
    "        const T m = ind_max(max, o.max), base = ind_exp_base(m);\n",
    "        sum = sum * ind_exp_below(max, base) + o.sum * ind_exp_below(o.max, base);\n",
    "        max = m;\n",
    "    }\n",
    "    IND_INLINE ind_softmax lane(int d) const {\n",
    "        return {__shfl_xor_sync(0xffffffffu, max, d), __shfl_xor_sync(0xffffffffu, sum, d)};\n",
    "    }\n",
    "};\n",
    NULL,
};
/* clang-format on */

/* ===================================================================================== src/cuda/prelude/combine.cuh */
// Combining states across lanes, warps, blocks and clusters.
/* clang-format off */
static const char *const cg__prelude_DEPENDENCY[] = {
    "// Programmatic dependent launch: waits until the previous kernel in the stream has finished and its writes are visible.\n",
    "#ifndef IND_EMULATION\n",
    "static IND_INLINE void ind_dependency_wait() {\n",
    "    asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n",
    "}\n",
    "#endif\n",
    NULL,
};
static const char *const cg__prelude_COMBINE_LANES[] = {
    "// Combines the states of LANES adjacent lanes. Every lane gets the result.\n",
    "template <int LANES, class S> static IND_INLINE void ind_combine_lanes(S &s) {\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int d = LANES / 2; d > 0; d /= 2) s.combine(s.lane(d));\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_COMBINE_MOMENTS[] = {
    "// Combines N states, STEP apart, of each of LANES lanes. They are of `count` values in all: one division is enough.\n",
    "template <int N, int STEP, int LANES, typename T>\n",
    "static IND_INLINE ind_welford<T> ind_combine_moments(const ind_welford<T> *shared, T count) {\n",
    "    ind_welford<T> part[N];\n",
    "    ind_sum<T> sum = {0}, squares = {0};\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int i = 0; i < N; i++) {\n",
    "        part[i] = shared[i * STEP];\n",
    "        sum.combine({part[i].count * part[i].mean});\n",
    "    }\n",
    "    ind_combine_lanes<LANES>(sum);\n",
    "    const T mean = sum.value / count;\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int i = 0; i < N; i++)\n",
    "        squares.combine({part[i].m2 + part[i].count * (part[i].mean - mean) * (part[i].mean - mean)});\n",
    "    ind_combine_lanes<LANES>(squares);\n",
    "    return {count, mean, squares.value};\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_COMBINE_SHARED[] = {
    "// Combines N states in shared memory, STEP apart, in a fixed order.\n",
    "template <int N, int STEP, class S> static IND_INLINE S ind_combine_shared(const S *shared) {\n",
    "    S s = shared[0];\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int i = 1; i < N; i++) s.combine(shared[i * STEP]);\n",
    "    return s;\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_COMBINE_WARPS[] = {
    "// Combines the states of the given number of warps, at most MOST, in a fixed order. All loads are issued first.\n",
    "template <int MOST, class S> static IND_INLINE S ind_combine_warps(const S *shared, int warps) {\n",
    "    S s[MOST];\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int i = 0; i < MOST; i++) s[i] = shared[i];\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int i = 1; i < MOST; i++)\n",
    "        if (i < warps) s[0].combine(s[i]);\n",
    "    return s[0];\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_COMBINE_STRIDED[] = {
    "// Combines the states of a warp's lanes that are STEP apart. Every lane gets the result.\n",
    "template <int STEP, class S> static IND_INLINE void ind_combine_strided(S &s) {\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int d = 16; d >= STEP; d /= 2) s.combine(s.lane(d));\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_COMBINE_NEIGHBOURS[] = {
    "// Combines N states pairwise.\n",
    "template <int N, class S> static IND_INLINE S ind_combine_neighbours(S (&s)[N]) {\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int d = 1; d < N; d *= 2)\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int i = 0; i < N; i += 2 * d) s[i].combine(s[i + d]);\n",
    "    return s[0];\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_LAST_BLOCK[] = {
    "// All threads of a block call this after the block has written its partial results. Returns true in the last of the\n",
    "// blocks that share the counter. That block sees all partial results. It resets the counter to 0.\n",
    "static IND_INLINE bool ind_last_block(unsigned *counter, unsigned blocks) {\n",
    "    __shared__ bool last;\n",
    "    __syncthreads();\n",
    "    if (threadIdx.x == 0) {\n",
    "#ifdef IND_EMULATION\n",
    "        __threadfence();\n",
    "        const unsigned before = atomicInc(counter, blocks - 1);\n",
    "        __threadfence();\n",
    "#else\n",
    "        unsigned before;\n",
    "        asm volatile(\"atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;\"\n",
    "                     : \"=r\"(before) : \"l\"(__cvta_generic_to_global(counter)), \"r\"(blocks - 1) : \"memory\");\n",
    "#endif\n",
    "        last = before == blocks - 1;\n",
    "    }\n",
    "    __syncthreads();\n",
    "    return last;\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_LAST_WARP[] = {
    "// The same among warps that share the counter.\n",
    "static IND_INLINE bool ind_last_warp(unsigned *counter, unsigned warps) {\n",
    "    unsigned before = 0;\n",
    "    __syncwarp();\n",
    "    if ((threadIdx.x & 31) == 0) {\n",
    "#ifdef IND_EMULATION\n",
    "        __threadfence();\n",
    "        before = atomicInc(counter, warps - 1);\n",
    "        __threadfence();\n",
    "#else\n",
    "        asm volatile(\"atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;\"\n",
    "                     : \"=r\"(before) : \"l\"(__cvta_generic_to_global(counter)), \"r\"(warps - 1) : \"memory\");\n",
    "#endif\n",
    "    }\n",
    "    return __shfl_sync(0xffffffffu, before, 0) == warps - 1;\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_TURN[] = {
    "// A block's number in the order in which blocks start, in thread 0. A block may wait for blocks with lower numbers:\n",
    "// they have started. The last block resets the counter to 0.\n",
    "static IND_INLINE unsigned ind_turn(unsigned *counter, unsigned blocks) {\n",
    "    unsigned turn = 0;\n",
    "#ifdef IND_EMULATION\n",
    "    if (threadIdx.x == 0) turn = atomicInc(counter, blocks - 1);\n",
    "#else\n",
    "    asm volatile(\"{\\n\"\n",
    "                 \".reg .pred p;\\n\"\n",
    "                 \"setp.eq.u32 p, %2, 0;\\n\"\n",
    "                 \"@p atom.relaxed.gpu.global.inc.u32 %0, [%1], %3;\\n\"\n",
    "                 \"}\" : \"+r\"(turn) : \"l\"(__cvta_generic_to_global(counter)), \"r\"(threadIdx.x), \"r\"(blocks - 1)\n",
    "                 : \"memory\");\n",
    "#endif\n",
    "    return turn;\n",
    "}\n",
    "// The number in every thread of the block.\n",
    "static IND_INLINE bool ind_began_last(unsigned turn, unsigned blocks) {\n",
    "    return __syncthreads_or(threadIdx.x == 0 && turn == blocks - 1);\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_SPLIT_WORDS[] = {
    "// A state that is sent to another block: a 64-bit word per 4 bytes. A word is valid if its upper half is not 0.\n",
    "template <class S> union ind_split_state {\n",
    "    unsigned part[sizeof(S) / 4];\n",
    "    S state;\n",
    "};\n",
    "template <class S> static IND_INLINE void ind_split_leave(volatile unsigned long long *to, const S &s) {\n",
    "    ind_split_state<S> u = {};\n",
    "    u.state = s;\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int k = 0; k < (int)(sizeof(S) / 4); k++) to[k] = 1ull << 32 | u.part[k];\n",
    "}\n",
    "template <class S> static IND_INLINE void ind_split_take(volatile unsigned long long *from, S &s) {\n",
    "    ind_split_state<S> u = {};\n",
    "    unsigned long long word[sizeof(S) / 4]; // all words are loaded before the first wait\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int k = 0; k < (int)(sizeof(S) / 4); k++) word[k] = from[k];\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int k = 0; k < (int)(sizeof(S) / 4); k++) {\n",
    "        while (word[k] >> 32 == 0) word[k] = from[k];\n",
    "        from[k] = 0;\n",
    "        u.part[k] = (unsigned)word[k];\n",
    "    }\n",
    "    s = u.state;\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_CLUSTER[] = {
    "// The blocks of a cluster exchange states through distributed shared memory: each block sends its state to all. An\n",
    "// mbarrier counts the bytes received. Stores to global memory that are in flight are not waited for.\n",
    "#ifndef IND_EMULATION\n",
    "static IND_INLINE unsigned ind_shared_address(const void *p) {\n",
    "    return (unsigned)__cvta_generic_to_shared(p);\n",
    "}\n",
    "static IND_INLINE void ind_cluster_begin(unsigned long long *barrier, int count) {\n",
    "    if (threadIdx.x == 0)\n",
    "        for (int i = 0; i < count; i++)\n",
    "            asm volatile(\"mbarrier.init.shared::cta.b64 [%0], 1;\" :: \"r\"(ind_shared_address(barrier + i)) : \"memory\");\n",
    "    asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\");\n",
    "    asm volatile(\"barrier.cluster.arrive.aligned;\" ::: \"memory\");\n",
    "}\n",
    "static IND_INLINE void ind_cluster_begun(void) {\n",
    "    asm volatile(\"barrier.cluster.wait.aligned;\" ::: \"memory\");\n",
    "}\n",
    "template <class S>\n",
    "static IND_INLINE void ind_cluster_send(S *at, unsigned long long *barrier, int block, const S &s) {\n",
    "    unsigned to, signal;\n",
    "    asm(\"mapa.shared::cluster.u32 %0, %1, %2;\" : \"=r\"(to) : \"r\"(ind_shared_address(at)), \"r\"(block));\n",
    "    asm(\"mapa.shared::cluster.u32 %0, %1, %2;\" : \"=r\"(signal) : \"r\"(ind_shared_address(barrier)), \"r\"(block));\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int i = 0; i < (int)(sizeof(S) / 4); i++)\n",
    "        asm volatile(\"st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];\"\n",
    "                     :: \"r\"(to + 4 * i), \"r\"(reinterpret_cast<const unsigned *>(&s)[i]), \"r\"(signal) : \"memory\");\n",
    "}\n",
    "static IND_INLINE void ind_cluster_expect(unsigned long long *barrier, int bytes) {\n",
    "    asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\"\n",
    "                 :: \"r\"(ind_shared_address(barrier)), \"r\"(bytes) : \"memory\");\n",
    "}\n",
    "static IND_INLINE void ind_cluster_wait(unsigned long long *barrier, int phase) {\n",
    "    unsigned done;\n",
    "    do\n",
    "        asm volatile(\"{\\n\"\n",
    "                     \".reg .pred p;\\n\"\n",
    "                     \"mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\\n\"\n",
    "                     \"selp.u32 %0, 1, 0, p;\\n\"\n",
    "                     \"}\" : \"=r\"(done) : \"r\"(ind_shared_address(barrier)), \"r\"(phase) : \"memory\");\n",
    "    while (!done);\n",
    "}\n",
    "#endif\n",
    NULL,
};
/* clang-format on */

/* ====================================================================================== src/cuda/prelude/matrix.cuh */
// Tiles of matrix products: copies, tensor cores, FMA.
/* clang-format off */
static const char *const cg__prelude_LDMATRIX[] = {
    "#ifndef IND_EMULATION\n",
    "static IND_INLINE void ind_ldmatrix_x4(unsigned (&r)[4], const void *smem) {\n",
    "    asm volatile(\"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\"\n",
    "                 : \"=r\"(r[0]), \"=r\"(r[1]), \"=r\"(r[2]), \"=r\"(r[3])\n",
    "                 : \"r\"((unsigned)__cvta_generic_to_shared(smem)) : \"memory\");\n",
    "}\n",
    "static IND_INLINE void ind_ldmatrix_x4_trans(unsigned (&r)[4], const void *smem) {\n",
    "    asm volatile(\"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\"\n",
    "                 : \"=r\"(r[0]), \"=r\"(r[1]), \"=r\"(r[2]), \"=r\"(r[3])\n",
    "                 : \"r\"((unsigned)__cvta_generic_to_shared(smem)) : \"memory\");\n",
    "}\n",
    "#endif\n",
    NULL,
};
static const char *const cg__prelude_MMA_F16[] = {
    "#ifndef IND_EMULATION\n",
    "static IND_INLINE void ind_mma_f16(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {\n",
    "    asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, \"\n",
    "                 \"{%8, %9}, {%0, %1, %2, %3};\"\n",
    "                 : \"+f\"(c[0]), \"+f\"(c[1]), \"+f\"(c[2]), \"+f\"(c[3])\n",
    "                 : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"r\"(b[0]), \"r\"(b[1]));\n",
    "}\n",
    "#endif\n",
    NULL,
};
static const char *const cg__prelude_MMA_BF16[] = {
    "#ifndef IND_EMULATION\n",
    "static IND_INLINE void ind_mma_bf16(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {\n",
    "    asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, \"\n",
    "                 \"{%8, %9}, {%0, %1, %2, %3};\"\n",
    "                 : \"+f\"(c[0]), \"+f\"(c[1]), \"+f\"(c[2]), \"+f\"(c[3])\n",
    "                 : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"r\"(b[0]), \"r\"(b[1]));\n",
    "}\n",
    "#endif\n",
    NULL,
};
static const char *const cg__prelude_MMA_HALVES[] = {
    "// The mma.sync of 16-bit operands.\n",
    "template <bool BF16> struct ind_mma_halves {\n",
    "    enum { WORDS = 0 };\n",
    "    static IND_INLINE void round(unsigned (&)[4]) {}\n",
    "    static IND_INLINE void multiply(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {\n",
    "        if (BF16) {\n",
    "            ind_mma_bf16(c, a, b);\n",
    "        } else {\n",
    "            ind_mma_f16(c, a, b);\n",
    "        }\n",
    "    }\n",
    "};\n",
    NULL,
};
static const char *const cg__prelude_MMA_BYTES[] = {
    "#ifndef IND_EMULATION\n",
    "#define IND_MMA_F8(A, B)                                                                                               \\\n",
    "    asm volatile(\"mma.sync.aligned.m16n8k32.row.col.f32.\" A \".\" B \".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, \"          \\\n",
    "                 \"{%8, %9}, {%0, %1, %2, %3};\"                                                                         \\\n",
    "                 : \"+f\"(c[0]), \"+f\"(c[1]), \"+f\"(c[2]), \"+f\"(c[3])                                                      \\\n",
    "                 : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"r\"(b[0]), \"r\"(b[1]))\n",
    "template <bool A_E5M2, bool B_E5M2>\n",
    "static IND_INLINE void ind_mma_f8(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {\n",
    "    if constexpr (A_E5M2 && B_E5M2) {\n",
    "        IND_MMA_F8(\"e5m2\", \"e5m2\");\n",
    "    } else if constexpr (A_E5M2) {\n",
    "        IND_MMA_F8(\"e5m2\", \"e4m3\");\n",
    "    } else if constexpr (B_E5M2) {\n",
    "        IND_MMA_F8(\"e4m3\", \"e5m2\");\n",
    "    } else {\n",
    "        IND_MMA_F8(\"e4m3\", \"e4m3\");\n",
    "    }\n",
    "}\n",
    "static IND_INLINE void ind_mma_s8(unsigned (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {\n",
    "    asm volatile(\"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, \"\n",
    "                 \"{%8, %9}, {%0, %1, %2, %3};\"\n",
    "                 : \"+r\"(c[0]), \"+r\"(c[1]), \"+r\"(c[2]), \"+r\"(c[3])\n",
    "                 : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"r\"(b[0]), \"r\"(b[1]));\n",
    "}\n",
    "#endif\n",
    "// The mma.sync of 8-bit operands: floats with sums in f32, or i8. The lanes have the bytes that they would have of half as\n",
    "// many 16-bit elements.\n",
    "template <bool A_E5M2, bool B_E5M2> struct ind_mma_bytes {\n",
    "    enum { WORDS = 0 };\n",
    "    static IND_INLINE void round(unsigned (&)[4]) {}\n",
    "    static IND_INLINE void multiply(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {\n",
    "        ind_mma_f8<A_E5M2, B_E5M2>(c, a, b);\n",
    "    }\n",
    "    static IND_INLINE void multiply(unsigned (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {\n",
    "        ind_mma_s8(c, a, b);\n",
    "    }\n",
    "};\n",
    NULL,
};
static const char *const cg__prelude_MMA_WORDS[] = {
    "#ifndef IND_EMULATION\n",
    "static IND_INLINE unsigned ind_round_tf32(unsigned x) {\n",
    "    unsigned y;\n",
    "    asm(\"cvt.rna.tf32.f32 %0, %1;\" : \"=r\"(y) : \"f\"(__uint_as_float(x)));\n",
    "    return y;\n",
    "}\n",
    "static IND_INLINE void ind_mma_tf32(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {\n",
    "    asm volatile(\"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, \"\n",
    "                 \"{%8, %9}, {%0, %1, %2, %3};\"\n",
    "                 : \"+f\"(c[0]), \"+f\"(c[1]), \"+f\"(c[2]), \"+f\"(c[3])\n",
    "                 : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"r\"(b[0]), \"r\"(b[1]));\n",
    "}\n",
    "#endif\n",
    "// The mma.sync of f32 operands, which are rounded to tf32. The lanes have the bytes that they would have of twice as many\n",
    "// 16-bit elements.\n",
    "struct ind_mma_words {\n",
    "    enum { WORDS = 1 };\n",
    "    static IND_INLINE void round(unsigned (&r)[4]) {\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int i = 0; i < 4; i++) r[i] = ind_round_tf32(r[i]);\n",
    "    }\n",
    "    static IND_INLINE void multiply(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) { ind_mma_tf32(c, a, b); }\n",
    "};\n",
    NULL,
};
static const char *const cg__prelude_PROMOTE[] = {
    "// Adds sums that tensor cores have rounded.\n",
    "template <int N> static IND_INLINE void ind_promote(float (&acc)[N][4], const float (&part)[N][4]) {\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int i = 0; i < N * 4; i++) acc[i / 4][i % 4] += part[i / 4][i % 4];\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_HALF_TILE[] = {
    "// Offset of 8 adjacent 16-bit elements in a shared tile of ROWS rows of COLS elements. The tile consists of panels of 64\n",
    "// columns. The chunks of a panel's row are permuted: one phase of ldmatrix reads 8 rows from 8 different groups of 4\n",
    "// banks. These layouts are wgmma's 128-byte and 64-byte swizzle. ACROSS: 4 adjacent 32-bit elements of a tile [k][x]. A warp\n",
    "// reads 8 columns of 4 rows, which are in 4 different groups of 8 banks.\n",
    "template <int ROWS, int COLS, bool ACROSS = false> static IND_INLINE int ind_tile_at(int row, int chunk) {\n",
    "    constexpr int W = COLS > 64 ? 64 : COLS;\n",
    "    const int panel = COLS > 64 ? (chunk >> 3) * (ROWS * 64) : 0, in = COLS > 64 ? chunk & 7 : chunk;\n",
    "    const int across = W >= 64 ? (row & 3) << 1 : row & 2, along = W >= 64 ? row & 7 : W == 32 ? row >> 1 & 3 : row >> 2 & 1;\n",
    "    return panel + row * W + ((in ^ (ACROSS ? across : along)) << 3);\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_TILE_COPY[] = {
    "// Bytes to copy of N adjacent elements, 16 bytes, if `left` of them are before the edge.\n",
    "template <int N> static IND_INLINE int ind_chunk_bytes(long long left) {\n",
    "    return left >= N ? 16 : left > 0 ? (int)left * (16 / N) : 0;\n",
    "}\n",
    "// Starts the copy of a tile. A thread copies one chunk of every THREADS / (COLS / 8)-th row, from from[at[0]],\n",
    "// from[at[1]], ... It copies `bytes` of each chunk and sets the rest to zero. Rows from num_rows on, and rows whose bit in\n",
    "// `in` is 0, are set to zero.\n",
    "template <int ROWS, int COLS, int THREADS, bool ACROSS = false, typename T, typename Index, int N>\n",
    "static IND_INLINE void ind_tile_copy(unsigned short *tile, const T *from, const Index (&at)[N],\n",
    "                                                     long long num_rows, int bytes, unsigned in) {\n",
    "    constexpr int APART = THREADS / (COLS / 8), W = COLS > 64 ? 64 : COLS;\n",
    "    const int first = threadIdx.x / (COLS / 8), chunk = threadIdx.x % (COLS / 8);\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int i = 0; i < N; i++) {\n",
    "        const int row = i * APART + first;\n",
    "        const int place = APART % 8 == 0 ? ind_tile_at<ROWS, COLS, ACROSS>(first, chunk) + i * APART * W\n",
    "                                         : ind_tile_at<ROWS, COLS, ACROSS>(row, chunk);\n",
    "        if (ROWS * COLS / 8 % THREADS == 0 || row < ROWS) {\n",
    "            const bool inside = (num_rows >= ROWS || row < num_rows) && (in >> i & 1);\n",
    "            ind_cp_async16(tile + place, from + at[i], inside ? bytes : 0);\n",
    "        }\n",
    "    }\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_CHUNK_COPY[] = {
    "#ifndef IND_EMULATION\n",
    "static IND_INLINE void ind_cp_async8(void *smem, const void *global, int bytes) {\n",
    "    asm volatile(\"cp.async.ca.shared.global [%0], [%1], 8, %2;\"\n",
    "                 :: \"r\"((unsigned)__cvta_generic_to_shared(smem)), \"l\"(global), \"r\"(bytes)\n",
    "                 : \"memory\");\n",
    "}\n",
    "#else\n",
    "static IND_INLINE void ind_cp_async8(void *smem, const void *global, int bytes) {\n",
    "    for (int i = 0; i < 8; i++) ((char *)smem)[i] = i < bytes ? ((const char *)global)[i] : 0;\n",
    "}\n",
    "#endif\n",
    "// Starts the copy of 8 adjacent elements, or of the `left` elements before the edge; the rest is set to zero.\n",
    "template <typename T> static IND_INLINE void ind_chunk_copy(T *to, const T *from, long long left) {\n",
    "    const int bytes = (left < 8 ? (int)left : 8) * (int)sizeof(T);\n",
    "    if (sizeof(T) == 1) {\n",
    "        ind_cp_async8(to, from, bytes);\n",
    "    } else {\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int c = 0; c < (int)sizeof(T) * 8; c += 16)\n",
    "            ind_cp_async16((char *)to + c, (const char *)from + c, bytes <= c ? 0 : bytes - c < 16 ? bytes - c : 16);\n",
    "    }\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_MMA_TILE[] = {
    "// The element at (k, x) of a tile [k][x] of TK / 2 rows of 32-bit elements.\n",
    "template <int TX, int TK> static IND_INLINE unsigned ind_tile_word(const unsigned short *tile, int k, int x) {\n",
    "    return reinterpret_cast<const unsigned *>(tile + ind_tile_at<TK / 2, TX * 2, true>(k, x >> 2))[x & 3];\n",
    "}\n",
    "// The 16 x 16 fragment of A at (m, k) of a tile [m][k] if K_MAJOR, else [k][m]. WORDS: 16 x 8 elements of 32 bits.\n",
    "template <bool WORDS, int TM, int TK, bool K_MAJOR>\n",
    "static IND_INLINE void ind_fragment_a(unsigned (&r)[4], const unsigned short *tile, int m, int k) {\n",
    "    const int lane = threadIdx.x & 31;\n",
    "    if (K_MAJOR) {\n",
    "        ind_ldmatrix_x4(r, tile + ind_tile_at<TM, TK>(m + (lane & 15), (k >> 3) + (lane >> 4)));\n",
    "    } else if (WORDS) {\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int i = 0; i < 4; i++) r[i] = ind_tile_word<TM, TK>(tile, k / 2 + i / 2 * 4 + (lane & 3), m + i % 2 * 8 + (lane >> 2));\n",
    "    } else {\n",
    "        ind_ldmatrix_x4_trans(r, tile + ind_tile_at<TK, TM>(k + (lane >> 4 << 3) + (lane & 7), (m >> 3) + (lane >> 3 & 1)));\n",
    "    }\n",
    "}\n",
    "// Two adjacent 16 x 8 fragments of B at (k, n) of a tile [n][k] if K_MAJOR, else [k][n]. WORDS: 8 x 8 elements of 32 bits.\n",
    "template <bool WORDS, int TN, int TK, bool K_MAJOR>\n",
    "static IND_INLINE void ind_fragment_b(unsigned (&r)[4], const unsigned short *tile, int n, int k) {\n",
    "    const int lane = threadIdx.x & 31;\n",
    "    if (K_MAJOR) {\n",
    "        ind_ldmatrix_x4(r, tile + ind_tile_at<TN, TK>(n + (lane >> 4 << 3) + (lane & 7), (k >> 3) + (lane >> 3 & 1)));\n",
    "    } else if (WORDS) {\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int i = 0; i < 4; i++) r[i] = ind_tile_word<TN, TK>(tile, k / 2 + i % 2 * 4 + (lane & 3), n + i / 2 * 8 + (lane >> 2));\n",
    "    } else {\n",
    "        ind_ldmatrix_x4_trans(r, tile + ind_tile_at<TK, TN>(k + (lane & 15), (n >> 3) + (lane >> 4)));\n",
    "    }\n",
    "}\n",
    "// acc += A[m.., TK] * B[TK, n..] of one pair of tiles, for the warp's 16 MI x 8 NI block at (m, n). The next 16 values of\n",
    "// k are loaded into registers while the current ones are multiplied. TK and k: pairs of bytes.\n",
    "template <typename MMA, int TM, int TN, int TK, bool A_K_MAJOR, bool B_K_MAJOR, typename T, int MI, int NI>\n",
    "static IND_INLINE void ind_mma_tile(T (&acc)[MI][NI][4], const unsigned short *tile_a,\n",
    "                                                    const unsigned short *tile_b, int m, int n) {\n",
    "    unsigned a[2][MI][4], b[2][NI / 2][4];\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int k = 0; k <= TK; k += 16) {\n",
    "        const int load = k / 16 & 1, use = load ^ 1;\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int i = 0; i < MI && k < TK; i++) ind_fragment_a<MMA::WORDS, TM, TK, A_K_MAJOR>(a[load][i], tile_a, m + i * 16, k);\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int j = 0; j < NI / 2 && k < TK; j++) ind_fragment_b<MMA::WORDS, TN, TK, B_K_MAJOR>(b[load][j], tile_b, n + j * 16, k);\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int i = 0; i < MI && k > 0; i++) MMA::round(a[use][i]);\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int j = 0; j < NI / 2 && k > 0; j++) MMA::round(b[use][j]);\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int ij = 0; ij < MI * NI && k > 0; ij++) {\n",
    "            const int i = ij / NI, j = ij % NI;\n",
    "            const unsigned pair[2] = {b[use][j / 2][j % 2 * 2], b[use][j / 2][j % 2 * 2 + 1]};\n",
    "            MMA::multiply(acc[i][j], a[use][i], pair);\n",
    "        }\n",
    "    }\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_WGMMA[] = {
    "#ifndef IND_EMULATION\n",
    "// The matrix descriptor of a wgmma operand (PTX ISA): address of element (x, k) in the tile of ROWS rows of COLS elements,\n",
    "// stride of panels, stride of groups of 8 rows, swizzle mode.\n",
    "template <int ROWS, int COLS, bool K_MAJOR>\n",
    "static IND_INLINE unsigned long long ind_wgmma_operand(const unsigned short *tile, int x, int k) {\n",
    "    constexpr int W = COLS > 64 ? 64 : COLS;\n",
    "    const int row = K_MAJOR ? x : k, col = K_MAJOR ? k : x;\n",
    "    const unsigned at = (unsigned)__cvta_generic_to_shared(tile + (col / W * ROWS + row) * W + col % W);\n",
    "    return (at & 0x3ffffu) >> 4 | (unsigned long long)(ROWS * W * 2 >> 4) << 16 | (unsigned long long)(8 * W * 2 >> 4) << 32 |\n",
    "           (W == 64 ? 1ull : 2ull) << 62;\n",
    "}\n",
    "// Waits until at most N wgmma groups are in flight. The accumulators may be read if N is 0.\n",
    "template <int N, int NI> static IND_INLINE void ind_wgmma_wait(float (&c)[NI][4]) {\n",
    "    asm volatile(\"wgmma.wait_group.sync.aligned %0;\" :: \"n\"(N) : \"memory\");\n",
    "    if (N == 0) {\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int i = 0; i < NI * 4; i++) asm volatile(\"\" : \"+f\"(c[i / 4][i % 4]) :: \"memory\");\n",
    "    }\n",
    "}\n",
    "template <int N, int NI> static IND_INLINE void ind_wgmma_wait(unsigned (&c)[NI][4]) {\n",
    "    asm volatile(\"wgmma.wait_group.sync.aligned %0;\" :: \"n\"(N) : \"memory\");\n",
    "    if (N == 0) {\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int i = 0; i < NI * 4; i++) asm volatile(\"\" : \"+r\"(c[i / 4][i % 4]) :: \"memory\");\n",
    "    }\n",
    "}\n",
    "// Makes this thread's writes to shared memory visible to wgmma.\n",
    "static IND_INLINE void ind_wgmma_publish(void) {\n",
    "    asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n",
    "}\n",
    "#endif\n",
    NULL,
};
static const char *const cg__prelude_BULK_COPY[] = {
    "// A CUtensorMap, encoded by the driver before the launch.\n",
    "struct alignas(64) ind_tensor_map {\n",
    "    unsigned long long word[16];\n",
    "};\n",
    "#ifndef IND_EMULATION\n",
    "static IND_INLINE void ind_barrier_init(unsigned long long *barrier, int count) {\n",
    "    asm volatile(\"mbarrier.init.shared::cta.b64 [%0], %1;\"\n",
    "                 :: \"r\"((unsigned)__cvta_generic_to_shared(barrier)), \"r\"(count) : \"memory\");\n",
    "}\n",
    "// Makes initialised mbarriers visible to bulk copies; a __syncthreads follows.\n",
    "static IND_INLINE void ind_barrier_publish(void) {\n",
    "    asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\");\n",
    "    asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n",
    "}\n",
    "static IND_INLINE void ind_barrier_arrive(unsigned long long *barrier) {\n",
    "    asm volatile(\"mbarrier.arrive.shared::cta.b64 _, [%0];\"\n",
    "                 :: \"r\"((unsigned)__cvta_generic_to_shared(barrier)) : \"memory\");\n",
    "}\n",
    "// Arrives, and lets the phase wait for `bytes` of bulk copies.\n",
    "static IND_INLINE void ind_barrier_expect(unsigned long long *barrier, int bytes) {\n",
    "    asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\"\n",
    "                 :: \"r\"((unsigned)__cvta_generic_to_shared(barrier)), \"r\"(bytes) : \"memory\");\n",
    "}\n",
    "// Waits for the end of the phase of this parity.\n",
    "static IND_INLINE void ind_barrier_wait(unsigned long long *barrier, int parity) {\n",
    "    unsigned done;\n",
    "    do\n",
    "        asm volatile(\"{\\n\"\n",
    "                     \".reg .pred p;\\n\"\n",
    "                     \"mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\\n\"\n",
    "                     \"selp.u32 %0, 1, 0, p;\\n\"\n",
    "                     \"}\" : \"=r\"(done) : \"r\"((unsigned)__cvta_generic_to_shared(barrier)), \"r\"(parity) : \"memory\");\n",
    "    while (!done);\n",
    "}\n",
    "static IND_INLINE void ind_map_prefetch(const ind_tensor_map &map) {\n",
    "    asm volatile(\"prefetch.tensormap [%0];\" :: \"l\"(&map) : \"memory\");\n",
    "}\n",
    "// All warps of a warpgroup give registers to the block, or take some.\n",
    "template <int N> static IND_INLINE void ind_fewer_registers(void) {\n",
    "    asm volatile(\"setmaxnreg.dec.sync.aligned.u32 %0;\" :: \"n\"(N));\n",
    "}\n",
    "template <int N> static IND_INLINE void ind_more_registers(void) {\n",
    "    asm volatile(\"setmaxnreg.inc.sync.aligned.u32 %0;\" :: \"n\"(N));\n",
    "}\n",
    "// Starts the copy of a box of the tensor, from element (x, y, ..), to shared memory. Its bytes count on the mbarrier.\n",
    "template <int RANK>\n",
    "static IND_INLINE void ind_bulk_copy(void *tile, const ind_tensor_map &map, unsigned long long *barrier, int x, int y,\n",
    "                                     int z = 0, int u = 0, int v = 0) {\n",
    "    const unsigned to = (unsigned)__cvta_generic_to_shared(tile), on = (unsigned)__cvta_generic_to_shared(barrier);\n",
    "    if (RANK == 2)\n",
    "        asm volatile(\"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];\"\n",
    "                     :: \"r\"(to), \"l\"(&map), \"r\"(on), \"r\"(x), \"r\"(y) : \"memory\");\n",
    "    if (RANK == 3)\n",
    "        asm volatile(\"cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];\"\n",
    "                     :: \"r\"(to), \"l\"(&map), \"r\"(on), \"r\"(x), \"r\"(y), \"r\"(z) : \"memory\");\n",
    "    if (RANK == 4)\n",
    "        asm volatile(\"cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];\"\n",
    "                     :: \"r\"(to), \"l\"(&map), \"r\"(on), \"r\"(x), \"r\"(y), \"r\"(z), \"r\"(u) : \"memory\");\n",
    "    if (RANK == 5)\n",
    "        asm volatile(\"cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, %7}], [%2];\"\n",
    "                     :: \"r\"(to), \"l\"(&map), \"r\"(on), \"r\"(x), \"r\"(y), \"r\"(z), \"r\"(u), \"r\"(v) : \"memory\");\n",
    "}\n",
    "#endif\n",
    NULL,
};
static const char *const cg__prelude_SUM_TILE[] = {
    "// Offset of a sum in the shared tile between main loop and epilogue. Rows are padded by 8. In every second segment of 32\n",
    "// columns, groups of 4 are swapped in pairs. Writes of mma fragments and reads of 8 adjacent sums per thread then have no\n",
    "// bank conflicts (T of 4 bytes).\n",
    "template <int TN> static IND_INLINE int ind_sum_at(int row, int col) {\n",
    "    return row * (TN + 8) + (col ^ (col >> 5 & 1) << 2);\n",
    "}\n",
    "// V adjacent sums.\n",
    "template <int TN, int V, typename T> static IND_INLINE void ind_sum_read(T (&x)[V], const T *sum, int row, int col) {\n",
    "    constexpr int G = V < (int)(16 / sizeof(T)) ? V : (int)(16 / sizeof(T));\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int g = 0; g < V; g += G) {\n",
    "        const ind_vec<T, G> v = ind_load<G>(sum + ind_sum_at<TN>(row, col + g));\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int j = 0; j < G; j++) x[g + j] = v.at[j];\n",
    "    }\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_ADD_PARTS[] = {
    "// total = the sum of `splits` parts that are `apart` elements apart, in their order. N vectors that are STEP elements apart.\n",
    "// AHEAD parts are in flight.\n",
    "template <int AHEAD, int N, int STEP, typename T, int G>\n",
    "static IND_INLINE void ind_add_parts(ind_vec<T, G> (&total)[N], const T *from, long long apart, unsigned splits) {\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int i = 0; i < N; i++) total[i] = {};\n",
    "    _Pragma(\"unroll 1\")\n",
    "    for (unsigned first = 0; first < splits; first += AHEAD) {\n",
    "        ind_vec<T, G> more[AHEAD][N];\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int a = 0; a < AHEAD; a++)\n",
    "            _Pragma(\"unroll\")\n",
    "            for (int i = 0; i < N; i++)\n",
    "                if (first + a < splits) more[a][i] = ind_load<G>(from + (first + a) * apart + i * STEP);\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int a = 0; a < AHEAD; a++)\n",
    "            _Pragma(\"unroll\")\n",
    "            for (int ij = 0; ij < N * G; ij++)\n",
    "                if (first + a < splits) total[ij / G].at[ij % G] += more[a][ij / G].at[ij % G];\n",
    "    }\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_ADD_SUMS[] = {
    "// The blocks that share a tile write their sums to `partials`. Returns true in the last one, whose `sum` is then the sum of\n",
    "// all, added in the order of `split`.\n",
    "template <int TM, int TN, int THREADS, typename T>\n",
    "static IND_INLINE bool ind_add_sums(T *sum, T *partials, unsigned *counter, unsigned tile, unsigned split, unsigned splits) {\n",
    "    constexpr int G = 16 / sizeof(T), ROW = TN / G, N = TM * ROW / THREADS;\n",
    "    if (splits == 1) return true;\n",
    "    T *const all = partials + (long long)tile * splits * (TM * TN) + threadIdx.x * G;\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int i = 0; i < N; i++) {\n",
    "        const int at = threadIdx.x + i * THREADS;\n",
    "        ind_store(all + (long long)split * (TM * TN) + i * THREADS * G, ind_load<G>(sum + ind_sum_at<TN>(at / ROW, at % ROW * G)));\n",
    "    }\n",
    "    if (!ind_last_block(counter, splits)) return false;\n",
    "    ind_vec<T, G> total[N];\n",
    "    ind_add_parts<(N < 16 ? 16 / N : 1), N, THREADS * G>(total, all, TM * TN, splits);\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int i = 0; i < N; i++) {\n",
    "        const int at = threadIdx.x + i * THREADS;\n",
    "        ind_store(sum + ind_sum_at<TN>(at / ROW, at % ROW * G), total[i]);\n",
    "    }\n",
    "    __syncthreads();\n",
    "    return true;\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_ADD_FRAGMENTS[] = {
    "// The same for the accumulators of a warp; `part` numbers the warps of all tiles.\n",
    "template <int NI, typename T>\n",
    "static IND_INLINE bool ind_add_fragments(T (&acc)[NI][4], T *partials, unsigned *counters, unsigned part, unsigned split,\n",
    "                                         unsigned splits) {\n",
    "    if (splits == 1) return true;\n",
    "    T *const all = partials + (long long)part * splits * (NI * 128) + (threadIdx.x & 31) * 4;\n",
    "    ind_vec<T, 4> total[NI];\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int i = 0; i < NI; i++)\n",
    "        ind_store(all + (long long)split * (NI * 128) + i * 128, ind_vec<T, 4>{{acc[i][0], acc[i][1], acc[i][2], acc[i][3]}});\n",
    "    if (!ind_last_warp(counters + part, splits)) return false;\n",
    "    ind_add_parts<(NI <= 8 ? 32 / NI : 1), NI, 128>(total, all, NI * 128, splits);\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int i = 0; i < NI * 4; i++) acc[i / 4][i % 4] = total[i / 4].at[i % 4];\n",
    "    return true;\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_ADD_ROWS[] = {
    "#ifndef IND_EMULATION\n",
    "static IND_INLINE void ind_cluster_arrive(void) {\n",
    "    asm volatile(\"barrier.cluster.arrive.aligned;\" ::: \"memory\");\n",
    "}\n",
    "#endif\n",
    "// The 16 bytes of a block of the cluster whose address in this block is `p`.\n",
    "template <int G, typename T> static IND_INLINE ind_vec<T, G> ind_cluster_load(const T *p, int block) {\n",
    "#ifdef IND_EMULATION\n",
    "    return ind_load<G>(ind_cluster_at(p, block));\n",
    "#else\n",
    "    union {\n",
    "        unsigned word[4];\n",
    "        ind_vec<T, G> vector;\n",
    "    } u;\n",
    "    unsigned from;\n",
    "    asm(\"mapa.shared::cluster.u32 %0, %1, %2;\" : \"=r\"(from) : \"r\"(ind_shared_address(p)), \"r\"(block));\n",
    "    asm volatile(\"ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];\"\n",
    "                 : \"=r\"(u.word[0]), \"=r\"(u.word[1]), \"=r\"(u.word[2]), \"=r\"(u.word[3]) : \"r\"(from) : \"memory\");\n",
    "    return u.vector;\n",
    "#endif\n",
    "}\n",
    "// Adds the sums of the C blocks of a cluster in the order of the blocks: in each block TM / C rows, of which `rows` - first\n",
    "// row exist. All threads call this after they have written the tile of sums. ind_cluster_begun must follow.\n",
    "template <int C, int TM, int TN, int THREADS, typename T>\n",
    "static IND_INLINE void ind_add_rows(T *sum, unsigned rank, long long rows) {\n",
    "    constexpr int G = 16 / sizeof(T), ROW = TN / G, N = TM / C * ROW / THREADS;\n",
    "    ind_cluster_arrive();\n",
    "    ind_cluster_begun();\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int i = 0; i < N; i++) {\n",
    "        const int at = threadIdx.x + i * THREADS, row = (int)rank * (TM / C) + at / ROW;\n",
    "        T *const own = sum + ind_sum_at<TN>(row, at % ROW * G);\n",
    "        ind_vec<T, G> part[C], total = {};\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int block = 0; block < C && row < rows; block++) part[block] = ind_cluster_load<G>(own, block);\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int j = 0; j < C * G && row < rows; j++) total.at[j % G] += part[j / G].at[j % G];\n",
    "        ind_store(own, total);\n",
    "    }\n",
    "    ind_cluster_arrive();\n",
    "    __syncthreads();\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_ADD_SLICES[] = {
    "// Sends N fragments of the accumulators, from block N on, to a block of the cluster. `to` and `barrier` are this block's addresses.\n",
    "template <int N, int NI>\n",
    "static IND_INLINE void ind_send_slice(float *to, unsigned long long *barrier, int block, const float (&acc)[NI][4]) {\n",
    "#ifdef IND_EMULATION\n",
    "    for (int i = 0; i < N; i++)\n",
    "        ind_cluster_send(reinterpret_cast<float(*)[4]>(to + i * 128), barrier, block, acc[block * N + i]);\n",
    "#else\n",
    "    unsigned at, signal;\n",
    "    asm(\"mapa.shared::cluster.u32 %0, %1, %2;\" : \"=r\"(at) : \"r\"(ind_shared_address(to)), \"r\"(block));\n",
    "    asm(\"mapa.shared::cluster.u32 %0, %1, %2;\" : \"=r\"(signal) : \"r\"(ind_shared_address(barrier)), \"r\"(block));\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int i = 0; i < N; i++)\n",
    "        asm volatile(\"st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];\"\n",
    "                     :: \"r\"(at + i * 512), \"f\"(acc[block * N + i][0]), \"f\"(acc[block * N + i][1]),\n",
    "                        \"f\"(acc[block * N + i][2]), \"f\"(acc[block * N + i][3]), \"r\"(signal) : \"memory\");\n",
    "#endif\n",
    "}\n",
    "// Adds the accumulators of the same warp of the C blocks of a cluster, in the order of the blocks. Each block gets a slice:\n",
    "// fragments rank N .. of NI. `sent`: NI * 128 floats of shared memory of the warp, which no other tile uses.\n",
    "template <int C, int N, int NI>\n",
    "static IND_INLINE void ind_add_slices(float (&slice)[N][4], const float (&acc)[NI][4], float *sent, unsigned long long *barrier,\n",
    "                                      unsigned rank) {\n",
    "    const int lane = threadIdx.x & 31;\n",
    "    if (lane == 0) ind_cluster_expect(barrier, C * N * 512);\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int block = 0; block < C; block++) ind_send_slice<N>(sent + (rank * N * 32 + lane) * 4, barrier, block, acc);\n",
    "    ind_cluster_wait(barrier, 0);\n",
    "    ind_vec<float, 4> total[N];\n",
    "    ind_add_parts<(N < 8 ? 8 / N : 1), N, 128>(total, sent + lane * 4, N * 128, C);\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int i = 0; i < N * 4; i++) slice[i / 4][i % 4] = total[i / 4].at[i % 4];\n",
    "}\n",
    "// Puts a slice back to its place among the accumulators. The others are not used any more.\n",
    "template <int N, int NI> static IND_INLINE void ind_put_slice(float (&acc)[NI][4], const float (&slice)[N][4], unsigned rank) {\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int i = 0; i < NI * 4; i++) acc[i / 4][i % 4] = i / 4 / N == (int)rank ? slice[i / 4 % N][i % 4] : 0;\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_MMA_SUMS[] = {
    "// Writes the warp's accumulators into the tile of sums at (m, n).\n",
    "template <int TN, typename T, int MI, int NI>\n",
    "static IND_INLINE void ind_mma_sums(T *sum, const T (&acc)[MI][NI][4], int m, int n) {\n",
    "    const int lane = threadIdx.x & 31;\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int ij = 0; ij < MI * NI; ij++) {\n",
    "        const int i = ij / NI, j = ij % NI;\n",
    "        T *const at = sum + ind_sum_at<TN>(m + i * 16 + (lane >> 2), n + j * 8 + (lane & 3) * 2);\n",
    "        ind_store(at, ind_vec<T, 2>{{acc[i][j][0], acc[i][j][1]}});\n",
    "        ind_store(at + 8 * (TN + 8), ind_vec<T, 2>{{acc[i][j][2], acc[i][j][3]}});\n",
    "    }\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_STRIP_SUMS[] = {
    "// Writes one strip of the accumulators of a wgmma tile into the warp's 8 x COLS sums: rows 8 (strip % 2) .. + 7 of the\n",
    "// warp's 16 rows, columns COLS (strip / 2) .. of the tile.\n",
    "template <int COLS, typename T, int NI> static IND_INLINE void ind_strip_sums(T *sum, const T (&acc)[NI][4], int strip) {\n",
    "    const int lane = threadIdx.x & 31;\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int s = 0; s < NI * 16 / COLS; s++) {\n",
    "        if (s != strip) continue;\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int j = 0; j < COLS / 8; j++) {\n",
    "            const int i = s / 2 * (COLS / 8) + j, at = s % 2 * 2;\n",
    "            ind_store(sum + ind_sum_at<COLS>(lane >> 2, j * 8 + (lane & 3) * 2), ind_vec<T, 2>{{acc[i][at], acc[i][at + 1]}});\n",
    "        }\n",
    "    }\n",
    "}\n",
    "// Copies the accumulators of one strip of 8 N columns, all 16 rows of the warp.\n",
    "template <int N, typename T, int NI>\n",
    "static IND_INLINE void ind_strip_part(T (&part)[N][4], const T (&acc)[NI][4], int strip) {\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int s = 0; s < NI / N; s++) {\n",
    "        if (s != strip) continue;\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int i = 0; i < N * 4; i++) part[i / 4][i % 4] = acc[s * N + i / 4][i % 4];\n",
    "    }\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_FMA_TILE[] = {
    "// acc += A * B of tiles a[TK][TM + 4] and b[TK][TN + 4]. A thread's RM x RN block consists of 16-byte groups that are\n",
    "// TM / RM (TN / RN) groups apart: adjacent threads read adjacent groups.\n",
    "template <int TM, int TN, int TK, typename T, int RM, int RN>\n",
    "static IND_INLINE void ind_fma_tile(T (&acc)[RM][RN], const T *tile_a, const T *tile_b) {\n",
    "    constexpr int G = 16 / sizeof(T), ACROSS = TN / RN, DOWN = TM / RM;\n",
    "    const int x = threadIdx.x % ACROSS * G, y = threadIdx.x / ACROSS * G;\n",
    "    _Pragma(\"unroll 4\")\n",
    "    for (int k = 0; k < TK; k++) {\n",
    "        ind_vec<T, G> a[RM / G], b[RN / G];\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int i = 0; i < RM / G; i++) a[i] = ind_load<G>(tile_a + k * (TM + 4) + y + i * DOWN * G);\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int j = 0; j < RN / G; j++) b[j] = ind_load<G>(tile_b + k * (TN + 4) + x + j * ACROSS * G);\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int ij = 0; ij < RM * RN; ij++) {\n",
    "            const int i = ij / RN, j = ij % RN;\n",
    "            acc[i][j] += a[i / G].at[i % G] * b[j / G].at[j % G];\n",
    "        }\n",
    "    }\n",
    "}\n",
    "// Writes the thread's accumulators into the tile of sums.\n",
    "template <int TM, int TN, typename T, int RM, int RN>\n",
    "static IND_INLINE void ind_fma_sums(T *sum, const T (&acc)[RM][RN]) {\n",
    "    constexpr int G = 16 / sizeof(T), ACROSS = TN / RN, DOWN = TM / RM;\n",
    "    const int x = threadIdx.x % ACROSS * G, y = threadIdx.x / ACROSS * G;\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int ij = 0; ij < RM * RN; ij++) {\n",
    "        const int i = ij / RN, j = ij % RN;\n",
    "        sum[ind_sum_at<TN>(y + i / G * DOWN * G + i % G, x + j / G * ACROSS * G + j % G)] = acc[i][j];\n",
    "    }\n",
    "}\n",
    NULL,
};
/* clang-format on */

/* ====================================================================================== src/cuda/prelude/packed.cuh */
// Products of few rows with packed weights. Tensor cores multiply 16 rows of weights, which a warp turns into 16-bit
// numbers in registers, by up to 8 rows of a at a time: D[weight row][row of a]. Sums of a group of weights are
// multiplied by the group's scale in f32.
/* clang-format off */
static const char *const cg__prelude_PACKED[] = {
    "#ifndef IND_EMULATION\n",
    "static IND_INLINE unsigned ind_fma_bf16x2(unsigned a, unsigned b, unsigned c) {\n",
    "    unsigned r;\n",
    "    asm(\"fma.rn.bf16x2 %0, %1, %2, %3;\" : \"=r\"(r) : \"r\"(a), \"r\"(b), \"r\"(c));\n",
    "    return r;\n",
    "}\n",
    "static IND_INLINE unsigned ind_fma_f16x2(unsigned a, unsigned b, unsigned c) {\n",
    "    unsigned r;\n",
    "    asm(\"fma.rn.f16x2 %0, %1, %2, %3;\" : \"=r\"(r) : \"r\"(a), \"r\"(b), \"r\"(c));\n",
    "    return r;\n",
    "}\n",
    "// (a & b) | c and (a & b) ^ c, in one instruction also if b and c are constants.\n",
    "static IND_INLINE unsigned ind_and_or(unsigned a, unsigned b, unsigned c) {\n",
    "    unsigned r;\n",
    "    asm(\"lop3.b32 %0, %1, %2, %3, 0xea;\" : \"=r\"(r) : \"r\"(a), \"r\"(b), \"r\"(c));\n",
    "    return r;\n",
    "}\n",
    "static IND_INLINE unsigned ind_and_xor(unsigned a, unsigned b, unsigned c) {\n",
    "    unsigned r;\n",
    "    asm(\"lop3.b32 %0, %1, %2, %3, 0x6a;\" : \"=r\"(r) : \"r\"(a), \"r\"(b), \"r\"(c));\n",
    "    return r;\n",
    "}\n",
    "#else\n",
    "static IND_INLINE unsigned ind_fma_bf16x2(unsigned a, unsigned b, unsigned c) {\n",
    "    unsigned r = 0;\n",
    "    for (int i = 0; i < 32; i += 16)\n",
    "        r |= (unsigned)ind_f32_to_bf16(fmaf(ind_bf16_to_f32(a >> i), ind_bf16_to_f32(b >> i), ind_bf16_to_f32(c >> i))) << i;\n",
    "    return r;\n",
    "}\n",
    "static IND_INLINE unsigned ind_fma_f16x2(unsigned a, unsigned b, unsigned c) {\n",
    "    unsigned r = 0;\n",
    "    for (int i = 0; i < 32; i += 16)\n",
    "        r |= (unsigned)ind_f32_to_f16(fmaf(ind_f16_to_f32(a >> i), ind_f16_to_f32(b >> i), ind_f16_to_f32(c >> i))) << i;\n",
    "    return r;\n",
    "}\n",
    "static IND_INLINE unsigned ind_and_or(unsigned a, unsigned b, unsigned c) {\n",
    "    return (a & b) | c;\n",
    "}\n",
    "static IND_INLINE unsigned ind_and_xor(unsigned a, unsigned b, unsigned c) {\n",
    "    return (a & b) ^ c;\n",
    "}\n",
    "#endif\n",
    "// Two 16-bit numbers at once. Every result here is exact.\n",
    "template <bool BF16> static IND_INLINE unsigned ind_fma2(unsigned a, unsigned b, unsigned c) {\n",
    "    return BF16 ? ind_fma_bf16x2(a, b, c) : ind_fma_f16x2(a, b, c);\n",
    "}\n",
    "template <bool BF16> static IND_INLINE unsigned ind_sub2(unsigned a, unsigned b) {\n",
    "    return ind_fma2<BF16>(b, BF16 ? 0xbf80bf80u : 0xbc00bc00u, a);\n",
    "}\n",
    "// Bytes below 128 in the low half of a 16-bit float: 128 + byte in bf16, 1024 + byte in f16.\n",
    "template <bool BF16> static IND_INLINE unsigned ind_magic(int byte) {\n",
    "    return (BF16 ? 0x43004300u : 0x64006400u) + (unsigned)byte * 0x10001u;\n",
    "}\n",
    "// 4 bytes from an address of alignment A, 2 or 4.\n",
    "template <int A> static IND_INLINE unsigned ind_word(const unsigned char *p) {\n",
    "    if (A % 4 == 0) return *reinterpret_cast<const unsigned *>(p);\n",
    "    const unsigned short *half = reinterpret_cast<const unsigned short *>(p);\n",
    "    return __byte_perm(half[0], half[1], 0x5410);\n",
    "}\n",
    "static IND_INLINE float ind_f16_at(const unsigned char *p) {\n",
    "    return ind_f16_to_f32(*reinterpret_cast<const unsigned short *>(p));\n",
    "}\n",
    "// Byte i of a word minus BIAS, in f32, and twice in 16 bits (a byte below 128).\n",
    "template <int BIAS> static IND_INLINE float ind_byte_float(unsigned x, int i) {\n",
    "    return __uint_as_float(__byte_perm(x, 0x4b000000u, 0x7650u | (unsigned)i)) - (8388608.0f + BIAS);\n",
    "}\n",
    "template <bool BF16, int BIAS> static IND_INLINE unsigned ind_byte_pair(unsigned x, int i) {\n",
    "    const unsigned both = __byte_perm(x, ind_magic<BF16>(0) >> 8, 0x4040u | (unsigned)i | (unsigned)i << 8);\n",
    "    return ind_sub2<BF16>(both, ind_magic<BF16>(BIAS));\n",
    "}\n",
    "// An integer of up to 8 bits and sign, twice in 16 bits.\n",
    "template <bool BF16> static IND_INLINE unsigned ind_int_pair(int x) {\n",
    "    if (BF16) return __byte_perm(__float_as_uint((float)x), 0, 0x3232);\n",
    "    return ind_f32_to_f16((float)x) * 0x10001u;\n",
    "}\n",
    "// 4 bytes of a table of 16, for the 4 indices in the low 16 bits of n.\n",
    "static IND_INLINE unsigned ind_lookup(unsigned n, unsigned t0, unsigned t1, unsigned t2, unsigned t3) {\n",
    "    const unsigned at = n & 0x7777u, low = __byte_perm(t0, t1, at), high = __byte_perm(t2, t3, at);\n",
    "    return __byte_perm(low, high, ind_and_or(n >> 1, 0x4444u, 0x3210u));\n",
    "}\n",
    "// 4 bits to the low bits of 4 bytes.\n",
    "static IND_INLINE unsigned ind_spread_bits(unsigned x) {\n",
    "    return (x & 15u) * 0x00204081u & 0x01010101u;\n",
    "}\n",
    "// A format of packed weights. A block has ELEMENTS elements in BYTES bytes; GROUP of them have one scale. `bytes` returns\n",
    "// the 4 elements that lane t of 4 multiplies in step j of 16 of a block, as bytes: below 128, BIAS more than the weight\n",
    "// over its scale, or, if WIDE, in two's complement. They are elements at(j, t) .. at(j, t) + 3. A is the alignment of the\n",
    "// block. Of a format with OFFSET, lowest() * low() is added to each element of a group; low() is twice in 16 bits. If\n",
    "// SCALED, the bytes are multiplied by factor(), exactly, and all groups of a block have one scale(). If ZERO, zero() is\n",
    "// added to the bytes.\n",
    "struct ind_packed_format {\n",
    "    static constexpr int BIAS = 0, STEP = 256;\n",
    "    static constexpr bool WIDE = false, OFFSET = false, SCALED = false, ZERO = false, BESIDE = false;\n",
    "    struct side {};\n",
    "    static IND_INLINE side load(const unsigned char *, const unsigned char *, int) {\n",
    "        return side();\n",
    "    }\n",
    "    IND_INLINE float scale(int) const {\n",
    "        return 1.0f;\n",
    "    }\n",
    "    IND_INLINE float lowest() const {\n",
    "        return 0.0f;\n",
    "    }\n",
    "    template <bool BF16> IND_INLINE unsigned low(int) const {\n",
    "        return 0;\n",
    "    }\n",
    "    template <bool BF16> IND_INLINE unsigned factor(int) const {\n",
    "        return 0;\n",
    "    }\n",
    "    template <bool BF16> IND_INLINE unsigned zero(int) const {\n",
    "        return 0;\n",
    "    }\n",
    "    static IND_INLINE int at(int j, int t) {\n",
    "        return 16 * j + 4 * t;\n",
    "    }\n",
    "};\n",
    "// Two pairs of 16-bit numbers from 4 bytes, minus BIAS; RAW: as ind_magic has them.\n",
    "template <typename F, bool BF16, bool RAW> static IND_INLINE void ind_expand(unsigned x, unsigned &p0, unsigned &p1) {\n",
    "    const unsigned magic = ind_magic<BF16>(0) >> 8;\n",
    "    if (F::WIDE && BF16) {\n",
    "        // 7 bits of fraction: 128 + the low 7 bits, minus 128 or 256 by the sign.\n",
    "        const unsigned q0 = __byte_perm(x, 0, 0x4140), q1 = __byte_perm(x, 0, 0x4342), one = 0x43004300u;\n",
    "        p0 = ind_sub2<true>(ind_and_or(q0, 0x7f007fu, one), ind_and_or(q0, 0x800080u, one));\n",
    "        p1 = ind_sub2<true>(ind_and_or(q1, 0x7f007fu, one), ind_and_or(q1, 0x800080u, one));\n",
    "        return;\n",
    "    }\n",
    "    if (F::WIDE) x ^= 0x80808080u;\n",
    "    p0 = __byte_perm(x, magic, 0x4140), p1 = __byte_perm(x, magic, 0x4342);\n",
    "    if (RAW) return;\n",
    "    p0 = ind_sub2<BF16>(p0, ind_magic<BF16>(F::WIDE ? 128 : F::BIAS));\n",
    "    p1 = ind_sub2<BF16>(p1, ind_magic<BF16>(F::WIDE ? 128 : F::BIAS));\n",
    "}\n",
    "template <bool BF16> static IND_INLINE void ind_mma(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {\n",
    "    if (BF16)\n",
    "        ind_mma_bf16(c, a, b);\n",
    "    else\n",
    "        ind_mma_f16(c, a, b);\n",
    "}\n",
    "// The sums of a block: of TILES * 8 rows of a with 16 rows of weights per warp along n. WARPS_K warps share the steps of\n",
    "// k. Each warp has a ring of STAGES steps in shared memory, which bulk copies fill. A row of a step begins at a multiple\n",
    "// of 16 bytes in memory, up to 14 bytes before its first block. The slots of rows are odd multiples of 16 bytes apart:\n",
    "// lanes of 8 rows read different banks.\n",
    "template <typename F, bool BF16, int ROWS, int WARPS_N, int WARPS_K, int STAGES> struct ind_packed_product {\n",
    "    static constexpr int TILES = ROWS > 8 ? ROWS / 8 : 1, COLS = WARPS_N * 16;\n",
    "    static constexpr int BLOCKS = F::STEP / F::ELEMENTS, BYTES = BLOCKS * F::BYTES;\n",
    "    static constexpr int ALIGNMENT = BYTES % 16 == 0 ? 16 : BYTES % 8 == 0 ? 8 : BYTES % 4 == 0 ? 4 : 2;\n",
    "    static constexpr int CHUNKS = (BYTES + 31 - ALIGNMENT) / 16, SLOT = (CHUNKS | 1) * 16, STAGE = SLOT * 16;\n",
    "    // The bias is a product with tensor cores while these have time.\n",
    "    static constexpr bool FOLD = BF16 && !F::WIDE && !F::OFFSET && !F::SCALED && !F::ZERO && TILES == 1;\n",
    "    static constexpr bool RAW = FOLD || (F::SCALED && F::BIAS == 0 && BF16);\n",
    "    unsigned char *ring;\n",
    "    unsigned long long *full;\n",
    "    const unsigned char *scales[2], *zeros[2];\n",
    "    typename F::side ahead[2];\n",
    "    float acc[TILES][4];\n",
    "    int first_n, step, copied, stage, phase;\n",
    "    IND_INLINE void copy(const ind_tensor_map &map, int steps) {\n",
    "        const int to = copied / WARPS_K % STAGES;\n",
    "        if (copied < steps && (threadIdx.x & 31) == 0) {\n",
    "            ind_barrier_expect(full + to, STAGE);\n",
    "            ind_bulk_copy<2>(ring + to * STAGE, map, full + to, (copied * BYTES & -16) / 2, first_n);\n",
    "        }\n",
    "        copied += WARPS_K;\n",
    "    }\n",
    "    // Starts the first copies. `memory`: the rings of all warps, then their mbarriers.\n",
    "    IND_INLINE void start(const ind_tensor_map &map, unsigned char *memory, int first, int steps) {\n",
    "        const int warp = threadIdx.x / 32;\n",
    "        ring = memory + warp * (STAGES * STAGE);\n",
    "        full = reinterpret_cast<unsigned long long *>(memory + WARPS_N * WARPS_K * STAGES * STAGE) + warp * STAGES;\n",
    "        first_n = first + warp / WARPS_K * 16;\n",
    "        step = copied = warp % WARPS_K;\n",
    "        stage = phase = 0;\n",
    "        if ((threadIdx.x & 31) == 0) {\n",
    "            ind_map_prefetch(map);\n",
    "            for (int i = 0; i < STAGES; i++) ind_barrier_init(full + i, 1);\n",
    "            ind_barrier_publish();\n",
    "        }\n",
    "        __syncwarp();\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int i = 0; i < STAGES - 1; i++) copy(map, steps);\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int i = 0; i < TILES * 4; i++) acc[i / 4][i % 4] = 0.0f;\n",
    "    }\n",
    "    // The rows of scales and zero points, for formats that have them in tensors of their own.\n",
    "    template <typename At> IND_INLINE void beside(int size_n, const At &at) {\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int r = 0; r < 2; r++) {\n",
    "            const int row = first_n + r * 8 + (threadIdx.x & 31) / 4;\n",
    "            at(row < size_n ? row : size_n - 1, scales[r], zeros[r]);\n",
    "        }\n",
    "    }\n",
    "    // Steps below `end`, of `steps`. a: elements of k from step `begin` on, rows `stride` apart.\n",
    "    IND_INLINE void run(const ind_tensor_map &map, int begin, int end, int steps, const unsigned short *a, int stride) {\n",
    "        const int lane = threadIdx.x & 31;\n",
    "        a += (ROWS < 8 ? lane / 4 % ROWS : lane / 4) * stride;\n",
    "        if (F::BESIDE && step < end)\n",
    "            for (int r = 0; r < 2; r++) ahead[r] = F::load(scales[r], zeros[r], step);\n",
    "        _Pragma(\"unroll 1\")\n",
    "        for (; step < end; step += WARPS_K) {\n",
    "            __syncwarp();\n",
    "            copy(map, steps);\n",
    "            typename F::side now[2] = {ahead[0], ahead[1]};\n",
    "            if (F::BESIDE && step + WARPS_K < end)\n",
    "                for (int r = 0; r < 2; r++) ahead[r] = F::load(scales[r], zeros[r], step + WARPS_K);\n",
    "            ind_barrier_wait(full + stage, phase);\n",
    "            multiply(ring + stage * STAGE + (ALIGNMENT == 16 ? 0 : step * BYTES & 15), now, a + (step - begin) * F::STEP, stride);\n",
    "            stage++;\n",
    "            if (stage == STAGES) {\n",
    "                stage = 0;\n",
    "                phase ^= 1;\n",
    "            }\n",
    "        }\n",
    "    }\n",
    "    IND_INLINE void multiply(const unsigned char *at, const typename F::side (&side)[2], const unsigned short *a, int stride) {\n",
    "        const int lane = threadIdx.x & 31, g = lane / 4, t = lane & 3;\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int block = 0; block < BLOCKS; block++) {\n",
    "            const unsigned char *const row = at + g * SLOT + block * F::BYTES;\n",
    "            F of[2];\n",
    "            float low[TILES][4] = {}, sum[TILES][4] = {};\n",
    "            _Pragma(\"unroll\")\n",
    "            for (int r = 0; r < 2; r++) {\n",
    "                if (ALIGNMENT % 4 || block * F::BYTES % 4)\n",
    "                    of[r].template read<2>(row + r * 8 * SLOT, side[r], t);\n",
    "                else\n",
    "                    of[r].template read<4>(row + r * 8 * SLOT, side[r], t);\n",
    "            }\n",
    "            _Pragma(\"unroll\")\n",
    "            for (int j = 0; j < F::ELEMENTS / 16; j++) {\n",
    "                const int group = j / (F::GROUP / 16);\n",
    "                if (!F::SCALED && j % (F::GROUP / 16) == 0)\n",
    "                    for (int i = 0; i < TILES * 4; i++) sum[i / 4][i % 4] = 0.0f;\n",
    "                unsigned weight[4];\n",
    "                if (ALIGNMENT % 4 || block * F::BYTES % 4)\n",
    "                    weights<2>(weight, of, row, j, t);\n",
    "                else\n",
    "                    weights<4>(weight, of, row, j, t);\n",
    "                accumulate(sum, low, weight, of, group, a + block * F::ELEMENTS + F::at(j, t), stride);\n",
    "                if ((j + 1) % (F::GROUP / 16) == 0 && (!F::SCALED || j + 1 == F::ELEMENTS / 16)) add(sum, of[0].scale(group), of[1].scale(group));\n",
    "            }\n",
    "            if (F::OFFSET) add(low, of[0].lowest(), of[1].lowest());\n",
    "        }\n",
    "    }\n",
    "    template <int A> static IND_INLINE void weights(unsigned (&weight)[4], const F (&of)[2], const unsigned char *row, int j, int t) {\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int r = 0; r < 2; r++) {\n",
    "            ind_expand<F, BF16, RAW>(F::template bytes<A>(row + r * 8 * SLOT, j, t), weight[r], weight[r + 2]);\n",
    "            if (!F::SCALED) continue;\n",
    "            const unsigned factor = of[r].template factor<BF16>(j / (F::GROUP / 16));\n",
    "            const unsigned less = RAW ? ind_fma2<BF16>(factor, ind_magic<BF16>(0) | 0x80008000u, 0x80008000u) : 0x80008000u;\n",
    "            weight[r] = ind_fma2<BF16>(weight[r], factor, less);\n",
    "            weight[r + 2] = ind_fma2<BF16>(weight[r + 2], factor, less);\n",
    "        }\n",
    "    }\n",
    "    static IND_INLINE void accumulate(float (&sum)[TILES][4], float (&low)[TILES][4], const unsigned (&weight)[4], const F (&of)[2], int group, const unsigned short *a, int stride) {\n",
    "        const unsigned bias = ind_magic<BF16>(F::BIAS) | 0x80008000u, biases[4] = {bias, bias, bias, bias};\n",
    "        unsigned other[2] = {};\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int r = 0; r < 2 && (F::OFFSET || F::ZERO); r++) other[r] = F::ZERO ? of[r].template zero<BF16>(group) : of[r].template low<BF16>(group);\n",
    "        const unsigned others[4] = {other[0], other[1], other[0], other[1]};\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int tile = 0; tile < TILES; tile++) {\n",
    "            const ind_vec<unsigned short, 4> v = ind_load<4>(a + tile * 8 * stride);\n",
    "            const unsigned from_a[2] = {v.word[0], v.word[1]};\n",
    "            if (F::OFFSET) ind_mma<BF16>(low[tile], others, from_a);\n",
    "            if (F::ZERO) ind_mma<BF16>(sum[tile], others, from_a);\n",
    "            if (FOLD) ind_mma<BF16>(sum[tile], biases, from_a);\n",
    "            ind_mma<BF16>(sum[tile], weight, from_a);\n",
    "        }\n",
    "    }\n",
    "    // Adds sums times the factors of the lane's two rows of weights. Of one row of a, the even columns are enough.\n",
    "    IND_INLINE void add(const float (&sum)[TILES][4], float s0, float s1) {\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int tile = 0; tile < TILES; tile++) {\n",
    "            _Pragma(\"unroll\")\n",
    "            for (int i = 0; i < 4; i += ROWS == 1 ? 2 : 1) acc[tile][i] += (i < 2 ? s0 : s1) * sum[tile][i];\n",
    "        }\n",
    "    }\n",
    "    // Spreads the sums: part[warp along k][row of a][column].\n",
    "    IND_INLINE void finish(float *part) {\n",
    "        const int warp = threadIdx.x / 32, lane = threadIdx.x & 31, col = warp / WARPS_K * 16 + lane / 4;\n",
    "        __syncthreads();\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int i = 0; i < TILES * 4; i++) {\n",
    "            const int row = i / 4 * 8 + lane % 4 * 2 + i % 2;\n",
    "            if (row < ROWS) part[(warp % WARPS_K * ROWS + row) * COLS + col + (i & 2) * 4] = acc[i / 4][i % 4];\n",
    "        }\n",
    "        __syncthreads();\n",
    "    }\n",
    "};\n",
    NULL,
};
static const char *const cg__prelude_PACKED_I8[] = {
    "// Bytes in two's complement.\n",
    "struct ind_packed_i8 : ind_packed_format {\n",
    "    static constexpr int ELEMENTS = 256, BYTES = 256, GROUP = 256;\n",
    "    static constexpr bool WIDE = true;\n",
    "    template <int A> IND_INLINE void read(const unsigned char *, side, int) {\n",
    "    }\n",
    "    template <int A> static IND_INLINE unsigned bytes(const unsigned char *block, int j, int t) {\n",
    "        return ind_word<4>(block + j / 2 * 32 + 8 * t + j % 2 * 4);\n",
    "    }\n",
    "    static IND_INLINE int at(int j, int t) {\n",
    "        return j / 2 * 32 + 8 * t + j % 2 * 4;\n",
    "    }\n",
    "};\n",
    NULL,
};
static const char *const cg__prelude_PACKED_Q8_0[] = {
    "struct ind_packed_q8_0 : ind_packed_format {\n",
    "    static constexpr int ELEMENTS = 32, BYTES = 34, GROUP = 32;\n",
    "    static constexpr bool WIDE = true;\n",
    "    float d;\n",
    "    template <int A> IND_INLINE void read(const unsigned char *block, side, int) {\n",
    "        d = ind_f16_at(block);\n",
    "    }\n",
    "    IND_INLINE float scale(int) const {\n",
    "        return d;\n",
    "    }\n",
    "    template <int A> static IND_INLINE unsigned bytes(const unsigned char *block, int j, int t) {\n",
    "        return ind_word<A + 2>(block + 2 + 16 * j + 4 * t);\n",
    "    }\n",
    "};\n",
    NULL,
};
static const char *const cg__prelude_PACKED_Q4[] = {
    "// q4_0 and q4_1, q5_0 and q5_1: d, for some the lowest value, for some a fifth bit of each element.\n",
    "template <bool LOWEST, bool FIFTH> struct ind_packed_q4 : ind_packed_format {\n",
    "    static constexpr int FIRST = 2 + 2 * LOWEST + 4 * FIFTH, ELEMENTS = 32, BYTES = FIRST + 16, GROUP = 32;\n",
    "    static constexpr int BIAS = LOWEST ? 0 : FIFTH ? 16 : 8;\n",
    "    static constexpr bool OFFSET = LOWEST;\n",
    "    float d, m;\n",
    "    template <int A> IND_INLINE void read(const unsigned char *block, side, int) {\n",
    "        d = ind_f16_at(block);\n",
    "        m = LOWEST ? ind_f16_at(block + 2) : 0.0f;\n",
    "    }\n",
    "    IND_INLINE float scale(int) const {\n",
    "        return d;\n",
    "    }\n",
    "    IND_INLINE float lowest() const {\n",
    "        return m;\n",
    "    }\n",
    "    template <bool BF16> IND_INLINE unsigned low(int) const {\n",
    "        return BF16 ? 0x3f803f80u : 0x3c003c00u;\n",
    "    }\n",
    "    template <int A> static IND_INLINE unsigned bytes(const unsigned char *block, int j, int t) {\n",
    "        const unsigned low = ind_word<A + FIRST>(block + FIRST + 4 * t) >> 4 * j & 0x0f0f0f0fu;\n",
    "        if (!FIFTH) return low;\n",
    "        return low | ind_spread_bits(ind_word<A + FIRST>(block + FIRST - 4) >> (16 * j + 4 * t)) << 4;\n",
    "    }\n",
    "};\n",
    NULL,
};
static const char *const cg__prelude_PACKED_Q45_K[] = {
    "// q4_k and, with a fifth bit, q5_k: scales and lowest values of 6 bits.\n",
    "template <bool FIFTH> struct ind_packed_q45_k : ind_packed_format {\n",
    "    static constexpr int FIRST = 16 + 32 * FIFTH, ELEMENTS = 256, BYTES = FIRST + 128, GROUP = 32;\n",
    "    static constexpr bool OFFSET = true;\n",
    "    float d, m;\n",
    "    unsigned s[2], o[2];\n",
    "    template <int A> IND_INLINE void read(const unsigned char *block, side, int) {\n",
    "        const unsigned x = ind_word<4>(block + 4), y = ind_word<4>(block + 8), z = ind_word<4>(block + 12);\n",
    "        d = ind_f16_at(block);\n",
    "        m = -ind_f16_at(block + 2);\n",
    "        s[0] = x & 0x3f3f3f3fu;\n",
    "        o[0] = y & 0x3f3f3f3fu;\n",
    "        s[1] = (z & 0x0f0f0f0fu) | (x >> 2 & 0x30303030u);\n",
    "        o[1] = (z >> 4 & 0x0f0f0f0fu) | (y >> 2 & 0x30303030u);\n",
    "    }\n",
    "    IND_INLINE float scale(int group) const {\n",
    "        return d * ind_byte_float<0>(s[group / 4], group % 4);\n",
    "    }\n",
    "    IND_INLINE float lowest() const {\n",
    "        return m;\n",
    "    }\n",
    "    template <bool BF16> IND_INLINE unsigned low(int group) const {\n",
    "        return ind_byte_pair<BF16, 0>(o[group / 4], group % 4);\n",
    "    }\n",
    "    template <int A> static IND_INLINE unsigned bytes(const unsigned char *block, int j, int t) {\n",
    "        const int in = j % 2 * 16 + 4 * t;\n",
    "        const unsigned low = ind_word<4>(block + FIRST + j / 4 * 32 + in) >> j / 2 % 2 * 4 & 0x0f0f0f0fu;\n",
    "        return FIFTH ? low | (ind_word<4>(block + 16 + in) >> j / 2 & 0x01010101u) << 4 : low;\n",
    "    }\n",
    "};\n",
    NULL,
};
static const char *const cg__prelude_PACKED_Q2_K[] = {
    "// The elements of a lane in 4 steps are one group of 16.\n",
    "struct ind_packed_q2_k : ind_packed_format {\n",
    "    static constexpr int ELEMENTS = 256, BYTES = 84, GROUP = 64, STEP = 512;\n",
    "    static constexpr bool OFFSET = true, SCALED = true;\n",
    "    float d, m;\n",
    "    unsigned s[4];\n",
    "    template <int A> IND_INLINE void read(const unsigned char *block, side, int t) {\n",
    "        d = ind_f16_at(block + 80);\n",
    "        m = -ind_f16_at(block + 82);\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int i = 0; i < 4; i++) s[i] = ind_word<A>(block + 4 * i) >> 8 * t;\n",
    "    }\n",
    "    IND_INLINE float scale(int) const {\n",
    "        return d;\n",
    "    }\n",
    "    IND_INLINE float lowest() const {\n",
    "        return m;\n",
    "    }\n",
    "    template <bool BF16> IND_INLINE unsigned factor(int group) const {\n",
    "        return ind_byte_pair<BF16, 0>(s[group] & 15u, 0);\n",
    "    }\n",
    "    template <bool BF16> IND_INLINE unsigned low(int group) const {\n",
    "        return ind_byte_pair<BF16, 0>(s[group] >> 4 & 15u, 0);\n",
    "    }\n",
    "    template <int A> static IND_INLINE unsigned bytes(const unsigned char *block, int j, int t) {\n",
    "        const unsigned word = ind_word<A>(block + 16 + j / 8 * 32 + t % 2 * 16 + j % 4 * 4) >> t / 2 * 2;\n",
    "        return word >> j / 4 % 2 * 4 & 0x03030303u;\n",
    "    }\n",
    "    static IND_INLINE int at(int j, int t) {\n",
    "        return j / 4 * 64 + 16 * t + j % 4 * 4;\n",
    "    }\n",
    "};\n",
    NULL,
};
static const char *const cg__prelude_PACKED_Q3_K[] = {
    "// The same; |byte - 4| times a scale of 6 bits has at most 8 bits.\n",
    "struct ind_packed_q3_k : ind_packed_format {\n",
    "    static constexpr int ELEMENTS = 256, BYTES = 110, GROUP = 64, BIAS = 4;\n",
    "    static constexpr bool SCALED = true;\n",
    "    float d;\n",
    "    unsigned s[4];\n",
    "    template <int A> IND_INLINE void read(const unsigned char *block, side, int t) {\n",
    "        const unsigned x = ind_word<2>(block + 96), y = ind_word<2>(block + 100), z = ind_word<2>(block + 104);\n",
    "        d = ind_f16_at(block + 108);\n",
    "        s[0] = ((x & 0x0f0f0f0fu) | (z << 4 & 0x30303030u)) >> 8 * t;\n",
    "        s[1] = ((y & 0x0f0f0f0fu) | (z << 2 & 0x30303030u)) >> 8 * t;\n",
    "        s[2] = ((x >> 4 & 0x0f0f0f0fu) | (z & 0x30303030u)) >> 8 * t;\n",
    "        s[3] = ((y >> 4 & 0x0f0f0f0fu) | (z >> 2 & 0x30303030u)) >> 8 * t;\n",
    "    }\n",
    "    IND_INLINE float scale(int) const {\n",
    "        return d;\n",
    "    }\n",
    "    template <bool BF16> IND_INLINE unsigned factor(int group) const {\n",
    "        return ind_byte_pair<BF16, 32>(s[group], 0);\n",
    "    }\n",
    "    template <int A> static IND_INLINE unsigned bytes(const unsigned char *block, int j, int t) {\n",
    "        const unsigned word = ind_word<2>(block + 32 + j / 8 * 32 + t % 2 * 16 + j % 4 * 4) >> t / 2 * 2;\n",
    "        const unsigned high = ind_word<2>(block + t % 2 * 16 + j % 4 * 4) >> t / 2;\n",
    "        return (word >> j / 4 % 2 * 4 & 0x03030303u) | (high >> j / 4 * 2 & 0x01010101u) << 2;\n",
    "    }\n",
    "    static IND_INLINE int at(int j, int t) {\n",
    "        return j / 4 * 64 + 16 * t + j % 4 * 4;\n",
    "    }\n",
    "};\n",
    NULL,
};
static const char *const cg__prelude_PACKED_Q6_K[] = {
    "struct ind_packed_q6_k : ind_packed_format {\n",
    "    static constexpr int ELEMENTS = 256, BYTES = 210, GROUP = 16, BIAS = 32;\n",
    "    float d;\n",
    "    unsigned s[4];\n",
    "    template <int A> IND_INLINE void read(const unsigned char *block, side, int) {\n",
    "        d = ind_f16_at(block + 208);\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int i = 0; i < 4; i++) s[i] = ind_word<2>(block + 192 + 4 * i) ^ 0x80808080u;\n",
    "    }\n",
    "    IND_INLINE float scale(int group) const {\n",
    "        return d * ind_byte_float<128>(s[group / 4], group % 4);\n",
    "    }\n",
    "    template <int A> static IND_INLINE unsigned bytes(const unsigned char *block, int j, int t) {\n",
    "        const int quarter = j % 8 / 2, in = j % 2 * 16 + 4 * t;\n",
    "        const unsigned low = ind_word<2>(block + j / 8 * 64 + quarter % 2 * 32 + in) >> quarter / 2 * 4 & 0x0f0f0f0fu;\n",
    "        const unsigned high = ind_word<2>(block + 128 + j / 8 * 32 + in);\n",
    "        return ind_and_or(quarter < 2 ? high << (4 - 2 * quarter) : high >> (2 * quarter - 4), 0x30303030u, low);\n",
    "    }\n",
    "};\n",
    NULL,
};
static const char *const cg__prelude_PACKED_IQ4[] = {
    "// The 16 values of IQ4_NL, in two's complement.\n",
    "static IND_INLINE unsigned ind_iq4_values(unsigned n) {\n",
    "    return ind_lookup(n, 0xbfad9881u, 0xf6eaddcfu, 0x26190d01u, 0x71594535u);\n",
    "}\n",
    "// Bytes of a word's low or high halves.\n",
    "static IND_INLINE unsigned ind_iq4_bytes(unsigned word, int high) {\n",
    "    return __byte_perm(ind_iq4_values(word), ind_iq4_values(word >> 16), high ? 0x7531 : 0x6420);\n",
    "}\n",
    "struct ind_packed_iq4_nl : ind_packed_format {\n",
    "    static constexpr int ELEMENTS = 32, BYTES = 18, GROUP = 32;\n",
    "    static constexpr bool WIDE = true;\n",
    "    float d;\n",
    "    template <int A> IND_INLINE void read(const unsigned char *block, side, int) {\n",
    "        d = ind_f16_at(block);\n",
    "    }\n",
    "    IND_INLINE float scale(int) const {\n",
    "        return d;\n",
    "    }\n",
    "    template <int A> static IND_INLINE unsigned bytes(const unsigned char *block, int j, int t) {\n",
    "        return ind_iq4_bytes(ind_word<A + 2>(block + 2 + 4 * t), j);\n",
    "    }\n",
    "};\n",
    "struct ind_packed_iq4_xs : ind_packed_format {\n",
    "    static constexpr int ELEMENTS = 256, BYTES = 136, GROUP = 32;\n",
    "    static constexpr bool WIDE = true;\n",
    "    float d;\n",
    "    unsigned low_bits, high_bits;\n",
    "    template <int A> IND_INLINE void read(const unsigned char *block, side, int) {\n",
    "        d = ind_f16_at(block);\n",
    "        high_bits = *reinterpret_cast<const unsigned short *>(block + 2);\n",
    "        low_bits = ind_word<4>(block + 4);\n",
    "    }\n",
    "    IND_INLINE float scale(int group) const {\n",
    "        return d * (float)((int)((low_bits >> 4 * group & 15u) | (high_bits >> 2 * group & 3u) << 4) - 32);\n",
    "    }\n",
    "    template <int A> static IND_INLINE unsigned bytes(const unsigned char *block, int j, int t) {\n",
    "        return ind_iq4_bytes(ind_word<4>(block + 8 + j / 2 * 16 + 4 * t), j % 2);\n",
    "    }\n",
    "};\n",
    NULL,
};
static const char *const cg__prelude_PACKED_INT4[] = {
    "// 4 elements of a word of 8 that lie in the order of their bits.\n",
    "struct ind_packed_nibbles : ind_packed_format {\n",
    "    static constexpr int ELEMENTS = 256, BYTES = 128;\n",
    "    static constexpr bool BESIDE = true;\n",
    "    static IND_INLINE int at(int j, int t) {\n",
    "        return j / 2 * 32 + 8 * t + j % 2 * 4;\n",
    "    }\n",
    "};\n",
    "// Two's complement, or minus a zero point of type Z. SCALE: 4 f32, 2 f16, 1 bf16.\n",
    "template <int SCALE, int SIZE, typename Z> struct ind_packed_int4 : ind_packed_nibbles {\n",
    "    static constexpr int GROUP = SIZE, GROUPS = ELEMENTS / SIZE;\n",
    "    static constexpr bool ZERO = sizeof(Z) == 1;\n",
    "    static constexpr int BIAS = ZERO ? 0 : 8;\n",
    "    struct side {\n",
    "        float scale[GROUPS];\n",
    "        int zero[GROUPS];\n",
    "    } with;\n",
    "    static IND_INLINE side load(const unsigned char *scales, const unsigned char *zeros, int step) {\n",
    "        side s = {};\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int i = 0; i < GROUPS; i++) {\n",
    "            const int at = step * GROUPS + i;\n",
    "            const unsigned short half = SCALE == 4 ? 0 : reinterpret_cast<const unsigned short *>(scales)[at];\n",
    "            s.scale[i] = SCALE == 4 ? reinterpret_cast<const float *>(scales)[at] : SCALE == 2 ? ind_f16_to_f32(half) : ind_bf16_to_f32(half);\n",
    "            s.zero[i] = ZERO ? reinterpret_cast<const Z *>(zeros)[at] : 0;\n",
    "        }\n",
    "        return s;\n",
    "    }\n",
    "    template <int A> IND_INLINE void read(const unsigned char *, const side &x, int) {\n",
    "        with = x;\n",
    "    }\n",
    "    IND_INLINE float scale(int group) const {\n",
    "        return with.scale[group];\n",
    "    }\n",
    "    template <bool BF16> IND_INLINE unsigned zero(int group) const {\n",
    "        return ind_int_pair<BF16>(-with.zero[group]);\n",
    "    }\n",
    "    template <int A> static IND_INLINE unsigned bytes(const unsigned char *block, int j, int t) {\n",
    "        const unsigned word = ind_word<4>(block + j / 2 * 16 + 4 * t), flip = ZERO ? 0 : 0x08080808u;\n",
    "        const unsigned even = ind_and_xor(word, 0x0f0f0f0fu, flip), odd = ind_and_xor(word >> 4, 0x0f0f0f0fu, flip);\n",
    "        return __byte_perm(even, odd, j % 2 ? 0x7362 : 0x5140);\n",
    "    }\n",
    "};\n",
    NULL,
};
static const char *const cg__prelude_PACKED_E2M1[] = {
    "// Twice the values of e2m1, plus 12.\n",
    "static IND_INLINE unsigned ind_e2m1_bytes(unsigned word) {\n",
    "    return ind_lookup(word, 0x0f0e0d0cu, 0x18141210u, 0x090a0b0cu, 0x00040608u);\n",
    "}\n",
    "struct ind_packed_mxfp4 : ind_packed_nibbles {\n",
    "    static constexpr int GROUP = 32, BIAS = 12;\n",
    "    typedef ind_vec<unsigned char, 8> side;\n",
    "    side exponent;\n",
    "    static IND_INLINE side load(const unsigned char *scales, const unsigned char *, int step) {\n",
    "        return ind_load<8>(scales + step * 8);\n",
    "    }\n",
    "    template <int A> IND_INLINE void read(const unsigned char *, const side &x, int) {\n",
    "        exponent = x;\n",
    "    }\n",
    "    // 2^(e - 127) / 2; 255 is NaN.\n",
    "    IND_INLINE float scale(int group) const {\n",
    "        const unsigned e = exponent.at[group], bits = e ? e << 23 : 0x400000u;\n",
    "        return 0.5f * __uint_as_float(e == 255 ? 0x7fc00000u : bits);\n",
    "    }\n",
    "    template <int A> static IND_INLINE unsigned bytes(const unsigned char *block, int j, int t) {\n",
    "        return ind_e2m1_bytes(ind_word<4>(block + j / 2 * 16 + 4 * t) >> j % 2 * 16);\n",
    "    }\n",
    "};\n",
    NULL,
};
static const char *const cg__prelude_PACKED_NVFP4[] = {
    "struct ind_packed_nvfp4 : ind_packed_nibbles {\n",
    "    static constexpr int GROUP = 16, BIAS = 12;\n",
    "    typedef ind_vec<unsigned char, 16> side;\n",
    "    side with;\n",
    "    static IND_INLINE side load(const unsigned char *scales, const unsigned char *, int step) {\n",
    "        return ind_load<16>(scales + step * 16);\n",
    "    }\n",
    "    template <int A> IND_INLINE void read(const unsigned char *, const side &x, int) {\n",
    "        with = x;\n",
    "    }\n",
    "    IND_INLINE float scale(int group) const {\n",
    "        return 0.5f * ind_f8e4m3fn_to_f32(with.at[group]);\n",
    "    }\n",
    "    template <int A> static IND_INLINE unsigned bytes(const unsigned char *block, int j, int t) {\n",
    "        return ind_e2m1_bytes(*reinterpret_cast<const unsigned short *>(block + 8 * j + 2 * t));\n",
    "    }\n",
    "    static IND_INLINE int at(int j, int t) {\n",
    "        return 16 * j + 4 * t;\n",
    "    }\n",
    "};\n",
    NULL,
};
/* clang-format on */

/* ======================================================================================== src/cuda/prelude/scan.cuh */
// Scans along rows and across blocks.
/* clang-format off */
static const char *const cg__prelude_SCAN_SUM[] = {
    "// States of a scan. `combine` combines this state with the state of the elements that follow.\n",
    "template <typename T> struct ind_scan_sum {\n",
    "    T value;\n",
    "    IND_INLINE void combine(const ind_scan_sum &o) { value += o.value; }\n",
    "    IND_INLINE ind_scan_sum up(int d) const { return {__shfl_up_sync(0xffffffffu, value, d)}; }\n",
    "    IND_INLINE ind_scan_sum lane(int l) const { return {__shfl_sync(0xffffffffu, value, l)}; }\n",
    "};\n",
    NULL,
};
static const char *const cg__prelude_SCAN_PROD[] = {
    "template <typename T> struct ind_scan_prod {\n",
    "    T value;\n",
    "    IND_INLINE void combine(const ind_scan_prod &o) { value *= o.value; }\n",
    "    IND_INLINE ind_scan_prod up(int d) const { return {__shfl_up_sync(0xffffffffu, value, d)}; }\n",
    "    IND_INLINE ind_scan_prod lane(int l) const { return {__shfl_sync(0xffffffffu, value, l)}; }\n",
    "};\n",
    NULL,
};
static const char *const cg__prelude_SCAN_LOG[] = {
    "static IND_INLINE float ind_scan_exp(float x) { return expf(x); }\n",
    "static IND_INLINE double ind_scan_exp(double x) { return exp(x); }\n",
    "static IND_INLINE float ind_scan_ln(float x) { return logf(x); }\n",
    "static IND_INLINE double ind_scan_ln(double x) { return log(x); }\n",
    "// Maximum and sum of exp(x - maximum): one exp combines two states. Equal infinities and NaN are preserved.\n",
    "template <typename T> struct ind_scan_log {\n",
    "    T max, sum;\n",
    "    IND_INLINE T value() const { return max + ind_scan_ln(sum); }\n",
    "    IND_INLINE void combine(const ind_scan_log &o) {\n",
    "        const bool less = max < o.max;\n",
    "        const T high = less ? o.max : max, low = less ? max : o.max;\n",
    "        const T scale = low == high ? T(1) : ind_scan_exp(low - high);\n",
    "        sum = less ? o.sum + sum * scale : sum + o.sum * scale;\n",
    "        max = high;\n",
    "    }\n",
    "    IND_INLINE ind_scan_log up(int d) const {\n",
    "        return {__shfl_up_sync(0xffffffffu, max, d), __shfl_up_sync(0xffffffffu, sum, d)};\n",
    "    }\n",
    "    IND_INLINE ind_scan_log lane(int l) const {\n",
    "        return {__shfl_sync(0xffffffffu, max, l), __shfl_sync(0xffffffffu, sum, l)};\n",
    "    }\n",
    "};\n",
    NULL,
};
static const char *const cg__prelude_SCAN_EXTREME[] = {
    "// Largest (smallest) value and its position, or -1. The later of equal values wins. NaN is preserved.\n",
    "template <typename T, typename I, bool UP> struct ind_scan_extreme {\n",
    "    T value;\n",
    "    I at;\n",
    "    IND_INLINE void combine(const ind_scan_extreme &o) {\n",
    "        const bool wins = value == value && (UP ? o.value >= value : o.value <= value);\n",
    "        if (o.at < 0 || !(at < 0 || wins || o.value != o.value)) return;\n",
    "        value = o.value;\n",
    "        at = o.at;\n",
    "    }\n",
    "    IND_INLINE ind_scan_extreme up(int d) const {\n",
    "        return {__shfl_up_sync(0xffffffffu, value, d), __shfl_up_sync(0xffffffffu, at, d)};\n",
    "    }\n",
    "    IND_INLINE ind_scan_extreme lane(int l) const {\n",
    "        return {__shfl_sync(0xffffffffu, value, l), __shfl_sync(0xffffffffu, at, l)};\n",
    "    }\n",
    "};\n",
    NULL,
};
static const char *const cg__prelude_SCAN[] = {
    "// Inclusive scan over LANES adjacent lanes.\n",
    "template <int LANES, class S> static IND_INLINE void ind_scan_lanes(S &s) {\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int d = 1; d < LANES; d *= 2) {\n",
    "        S before = s.up(d);\n",
    "        before.combine(s);\n",
    "        if (threadIdx.x % LANES >= d) s = before;\n",
    "    }\n",
    "}\n",
    "// Exclusive scan of a warp. Its part of the row has K lines; a line has one segment per lane. s[k]: in, the state of this\n",
    "// lane's segment of line k; out, the state of all segments before it. Returns the state of all lines.\n",
    "template <int LANES, int K, class S> static IND_INLINE S ind_scan_lines(S (&s)[K], const S &none) {\n",
    "    S all = none;\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int k = 0; k < K; k++) {\n",
    "        ind_scan_lanes<LANES>(s[k]);\n",
    "        S before = s[k].up(1), line = s[k].lane((threadIdx.x & 31 & ~(LANES - 1)) + LANES - 1);\n",
    "        if (threadIdx.x % LANES == 0) before = none;\n",
    "        s[k] = all;\n",
    "        s[k].combine(before);\n",
    "        all.combine(line);\n",
    "    }\n",
    "    return all;\n",
    "}\n",
    "// The same for a block; each warp has a part of the row. carry: in, the state before the block's chunk; out, the state\n",
    "// before the next chunk. shared[WARPS] alternates: it is not written while warps may read the last chunk's.\n",
    "template <int LANES, int WARPS, int K, class S>\n",
    "static IND_INLINE void ind_scan_threads(S (&s)[K], const S &none, S *shared, S &carry) {\n",
    "    const S all = ind_scan_lines<LANES>(s, none);\n",
    "    S front = carry;\n",
    "    if (WARPS > 1) {\n",
    "        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;\n",
    "        if (lane == 0) shared[warp] = all;\n",
    "        __syncthreads();\n",
    "        S warps = lane < WARPS ? shared[lane] : none;\n",
    "        ind_scan_lanes<32>(warps);\n",
    "        const S previous = warps.lane(warp > 0 ? warp - 1 : 0);\n",
    "        if (warp > 0) front.combine(previous);\n",
    "        carry.combine(warps.lane(WARPS - 1));\n",
    "    } else {\n",
    "        carry.combine(all);\n",
    "    }\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int k = 0; k < K; k++) {\n",
    "        S before = front;\n",
    "        before.combine(s[k]);\n",
    "        s[k] = before;\n",
    "    }\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_SCAN_TEAM[] = {
    "// TEAM threads, LANES apart, have consecutive parts of N rows. s[j]: in, the state of this thread's part of row j; out, the\n",
    "// state before it. The first LANES * N threads each scan the parts of one row, or of carry[] rows. carry: in, the state\n",
    "// before the chunk; out, before the next one. shared[TEAM * N * LANES] alternates between chunks.\n",
    "template <int LANES, int TEAM, int N, int ROWS, class S>\n",
    "static IND_INLINE void ind_scan_team(S (&s)[N], S *shared, S (&carry)[ROWS]) {\n",
    "    const int x = threadIdx.x % LANES, y = threadIdx.x / LANES;\n",
    "    if (TEAM == 1) {\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int j = 0; j < N; j++) {\n",
    "            const S part = s[j];\n",
    "            s[j] = carry[j];\n",
    "            carry[j].combine(part);\n",
    "        }\n",
    "        return;\n",
    "    }\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int j = 0; j < N; j++) shared[(y * N + j) * LANES + x] = s[j];\n",
    "    __syncthreads();\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int k = 0; k < ROWS; k++) {\n",
    "        const int row = k * LANES * TEAM + threadIdx.x;\n",
    "        if (row >= LANES * N) break;\n",
    "        _Pragma(\"unroll 4\")\n",
    "        for (int i = 0; i < TEAM; i++) {\n",
    "            const S part = shared[i * N * LANES + row];\n",
    "            shared[i * N * LANES + row] = carry[k];\n",
    "            carry[k].combine(part);\n",
    "        }\n",
    "    }\n",
    "    __syncthreads();\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int j = 0; j < N; j++) s[j] = shared[(y * N + j) * LANES + x];\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_LOOKBACK[] = {
    "// A state in global memory: a 64-bit word per 4 bytes. A word is valid if its upper half is not 0.\n",
    "template <class S> struct ind_scan_words {\n",
    "    static constexpr int N = sizeof(S) / 4;\n",
    "    unsigned long long word[N];\n",
    "    static IND_INLINE void publish(unsigned long long *to, const S &s) {\n",
    "        union {\n",
    "            S state;\n",
    "            unsigned part[N];\n",
    "        } u = {s};\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int k = 0; k < N; k++) ((volatile unsigned long long *)to)[k] = 1ull << 32 | u.part[k];\n",
    "    }\n",
    "    // All words are loaded before the first wait.\n",
    "    IND_INLINE void look(const unsigned long long *from) {\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int k = 0; k < N; k++) word[k] = ((const volatile unsigned long long *)from)[k];\n",
    "    }\n",
    "    IND_INLINE S await(const unsigned long long *from) {\n",
    "        union {\n",
    "            unsigned part[N];\n",
    "            S state;\n",
    "        } u = {};\n",
    "        _Pragma(\"unroll\")\n",
    "        for (int k = 0; k < N; k++) {\n",
    "            while (word[k] >> 32 == 0) word[k] = ((const volatile unsigned long long *)from)[k];\n",
    "            u.part[k] = (unsigned)word[k];\n",
    "        }\n",
    "        return u.state;\n",
    "    }\n",
    "};\n",
    "// Decoupled lookback by one warp: the state before a tile of its row. Tiles form groups of 32; the last tile of a group\n",
    "// computes the state before the next group. States are combined in a fixed order, whichever tile finishes first. A tile\n",
    "// publishes a state only if another tile waits for it: no word is in flight when the last reader clears the words.\n",
    "template <class S>\n",
    "static IND_INLINE S ind_scan_look_back(unsigned long long *total, unsigned long long *group, int tile, int tiles, const S &all,\n",
    "                                              const S &none) {\n",
    "    typedef ind_scan_words<S> words;\n",
    "    const int lane = threadIdx.x % 32, in = tile % 32;\n",
    "    const bool last = tile == tiles - 1;\n",
    "    words totals, groups;\n",
    "    total += (tile - in + lane) * (long long)words::N;\n",
    "    group += tile / 32 * (long long)words::N;\n",
    "    if (lane == in && in < 31 && !last) words::publish(total, all);\n",
    "    if (lane < in) totals.look(total);\n",
    "    if (tile >= 32) groups.look(group);\n",
    "    S front = none;\n",
    "    if (lane < in) front = totals.await(total);\n",
    "    ind_scan_lanes<32>(front);\n",
    "    const S before = front.lane(31);\n",
    "    front = tile >= 32 ? groups.await(group) : none;\n",
    "    front.combine(before);\n",
    "    if (lane == 0 && in == 31 && !last) {\n",
    "        S next = front;\n",
    "        next.combine(all);\n",
    "        words::publish(group + words::N, next);\n",
    "    }\n",
    "    return front;\n",
    "}\n",
    "// As ind_scan_threads, for a tile of the row. shared[WARPS + 1].\n",
    "template <int WARPS, int K, class S>\n",
    "static IND_INLINE void ind_scan_tile(S (&s)[K], const S &none, S *shared, unsigned long long *total, unsigned long long *group, int tile,\n",
    "                                             int tiles) {\n",
    "    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;\n",
    "    const S all = ind_scan_lines<32>(s, none);\n",
    "    if (lane == 0) shared[warp] = all;\n",
    "    __syncthreads();\n",
    "    S warps = lane < WARPS ? shared[lane] : none;\n",
    "    ind_scan_lanes<32>(warps);\n",
    "    const S previous = warps.lane(warp > 0 ? warp - 1 : 0);\n",
    "    if (warp == 0) {\n",
    "        const S before = ind_scan_look_back(total, group, tile, tiles, warps.lane(WARPS - 1), none);\n",
    "        if (lane == 0) shared[WARPS] = before;\n",
    "    }\n",
    "    __syncthreads();\n",
    "    S front = shared[WARPS];\n",
    "    if (warp > 0) front.combine(previous);\n",
    "    _Pragma(\"unroll\")\n",
    "    for (int k = 0; k < K; k++) {\n",
    "        S before = front;\n",
    "        before.combine(s[k]);\n",
    "        s[k] = before;\n",
    "    }\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_SCAN_MAYBE[] = {
    "// A state of a combine function without an identity element, with a flag: is there a state?\n",
    "template <class S> struct ind_scan_maybe {\n",
    "    S state;\n",
    "    int any;\n",
    "    IND_INLINE void combine(const ind_scan_maybe &o) {\n",
    "        if (any && o.any)\n",
    "            state.combine(o.state);\n",
    "        else if (o.any)\n",
    "            *this = o;\n",
    "    }\n",
    "    IND_INLINE ind_scan_maybe up(int d) const { return {state.up(d), __shfl_up_sync(0xffffffffu, any, d)}; }\n",
    "    IND_INLINE ind_scan_maybe lane(int l) const { return {state.lane(l), __shfl_sync(0xffffffffu, any, l)}; }\n",
    "};\n",
    NULL,
};
/* clang-format on */

/* ======================================================================================== src/cuda/prelude/sort.cuh */
// Sorts of rows.
/* clang-format off */
static const char *const cg__prelude_SORT_F16[] = {
    "struct ind_key_f16 {\n",
    "    static IND_INLINE float of(unsigned short x) { return ind_f16_to_f32(x); }\n",
    "};\n",
    NULL,
};
static const char *const cg__prelude_SORT_BF16[] = {
    "struct ind_key_bf16 {\n",
    "    static IND_INLINE float of(unsigned short x) { return ind_bf16_to_f32(x); }\n",
    "};\n",
    NULL,
};
static const char *const cg__prelude_SORT[] = {
    "template <typename T> struct ind_key {\n",
    "    static IND_INLINE T of(T x) { return x; }\n",
    "};\n",
    "// Does element a at position i belong before b at position j? NaN is larger than every number. Equal elements are ordered\n",
    "// by position.\n",
    "template <bool DOWN, typename T, typename P> static IND_INLINE bool ind_sorts_before(T a, P i, T b, P j) {\n",
    "    if (a < b || (b != b && a == a)) return !DOWN;\n",
    "    if (a > b || (a != a && b == b)) return DOWN;\n",
    "    return i < j;\n",
    "}\n",
    "// One step of Batcher's bitonic network, in the form whose comparators all have the same direction. Elements beyond the\n",
    "// last one would never move, so n need not be a power of two. Pairs are `gap` apart, or mirrored in their block if gap ==\n",
    "// half.\n",
    "template <class KEY, bool DOWN, typename U, typename T, typename P>\n",
    "static IND_INLINE void ind_sort_step(T *key, U key_step, P *at, U at_step, U n, U half, U gap, int threads) {\n",
    "    __syncthreads();\n",
    "    for (U q = threadIdx.x;; q += threads) {\n",
    "        const U in = q & (gap - 1), low = (q - in) * 2 + in, high = gap == half ? low - in + 2 * gap - 1 - in : low + gap;\n",
    "        if (low >= n) break;\n",
    "        if (high >= n) continue;\n",
    "        const T a = key[low * key_step], b = key[high * key_step];\n",
    "        const P i = at[low * at_step], j = at[high * at_step];\n",
    "        if (!ind_sorts_before<DOWN>(KEY::of(b), j, KEY::of(a), i)) continue;\n",
    "        key[low * key_step] = b;\n",
    "        key[high * key_step] = a;\n",
    "        at[low * at_step] = j;\n",
    "        at[high * at_step] = i;\n",
    "    }\n",
    "}\n",
    "// A block sorts n elements and their positions in place.\n",
    "template <class KEY, bool DOWN, typename U, typename T, typename P>\n",
    "static IND_INLINE void ind_sort(T *key, P *at, U n, int threads) {\n",
    "    for (U half = 1; half < n; half *= 2)\n",
    "        for (U gap = half; gap > 0; gap /= 2) ind_sort_step<KEY, DOWN, U>(key, 1, at, 1, n, half, gap, threads);\n",
    "    __syncthreads();\n",
    "}\n",
    NULL,
};
static const char *const cg__prelude_SORT_LONG[] = {
    "// The same for a row in global memory: steps within CHUNK elements run in shared memory.\n",
    "template <class KEY, bool DOWN, int CHUNK, typename U, typename T, typename P, typename I>\n",
    "static IND_INLINE void ind_sort_long(T *key, U key_step, P *at, U at_step, U n, T *keys, I *places, int threads) {\n",
    "    for (U size = CHUNK;; size *= 2) {\n",
    "        for (U gap = size / 2; gap >= CHUNK; gap /= 2)\n",
    "            ind_sort_step<KEY, DOWN, U>(key, key_step, at, at_step, n, size / 2, gap, threads);\n",
    "        for (U begin = 0; begin < n; begin += CHUNK) {\n",
    "            const U m = n - begin < CHUNK ? n - begin : (U)CHUNK;\n",
    "            __syncthreads();\n",
    "            for (U i = threadIdx.x; i < m; i += threads) {\n",
    "                keys[i] = key[(begin + i) * key_step];\n",
    "                places[i] = (I)at[(begin + i) * at_step];\n",
    "            }\n",
    "            if (size == CHUNK) ind_sort<KEY, DOWN, U>(keys, places, m, threads);\n",
    "            for (U gap = CHUNK / 2; gap > 0 && size > CHUNK; gap /= 2)\n",
    "                ind_sort_step<KEY, DOWN, U>(keys, 1, places, 1, m, 0, gap, threads);\n",
    "            __syncthreads();\n",
    "            for (U i = threadIdx.x; i < m; i += threads) {\n",
    "                key[(begin + i) * key_step] = keys[i];\n",
    "                at[(begin + i) * at_step] = places[i];\n",
    "            }\n",
    "        }\n",
    "        if (size >= n) break;\n",
    "    }\n",
    "}\n",
    NULL,
};
/* clang-format on */

/* ======================================================================================= src/cuda/prelude/prelude.c */
/* ------------------------------------------------------------------------------------------------ >>prelude */

/* The functions that a source may use: name, and the functions that they call. The .cuh files have their text. A source
   contains the functions that it uses, in this order. Under IND_EMULATION inline PTX is excluded; the including file
   defines those functions. */
/* clang-format off */
#define IND__CG_NEEDS(...) __VA_ARGS__
#define IND__CG_PRELUDE(X)                                                                             \
    X(DEPENDENCY, 0)                                                                                   \
    X(F16, 0)                                                                                          \
    X(BF16, 0)                                                                                         \
    X(VEC, 0)                                                                                          \
    X(BOUNDARY, 0)                                                                                     \
    X(LOAD_ACROSS, IND__CG_NEEDS(IND__CG_VEC))                                                         \
    X(LOAD_WORDS, IND__CG_NEEDS(IND__CG_VEC))                                                          \
    X(STORE_ACROSS, IND__CG_NEEDS(IND__CG_VEC))                                                        \
    X(LOAD_PAST, IND__CG_NEEDS(IND__CG_VEC))                                                           \
    X(LOAD_ONCE, IND__CG_NEEDS(IND__CG_VEC))                                                           \
    X(LOAD_RUN, IND__CG_NEEDS(IND__CG_VEC))                                                            \
    X(EVICT_LAST_POLICY, 0)                                                                            \
    X(EVICT_LAST, IND__CG_NEEDS(IND__CG_EVICT_LAST_POLICY))                                            \
    X(MAXMIN, 0)                                                                                       \
    X(DIV, 0)                                                                                          \
    X(MOD, 0)                                                                                          \
    X(SHIFT, 0)                                                                                        \
    X(GCD, 0)                                                                                          \
    X(DIGAMMA, 0)                                                                                      \
    X(BESSEL_IE, 0)                                                                                    \
    X(BESSEL_JY, 0)                                                                                    \
    X(ZETA, 0)                                                                                         \
    X(IGAMMA, 0)                                                                                       \
    X(POW, 0)                                                                                          \
    X(F8E4M3FN, 0)                                                                                     \
    X(F8E5M2, 0)                                                                                       \
    X(PHILOX, 0)                                                                                       \
    X(QUOTIENT, 0)                                                                                     \
    X(FLOORDIV, 0)                                                                                     \
    X(INDEX, 0)                                                                                        \
    X(ATOMIC, 0)                                                                                       \
    X(ADD_F32, IND__CG_NEEDS(IND__CG_VEC))                                                             \
    X(ADD_F16, IND__CG_NEEDS(IND__CG_VEC))                                                             \
    X(ADD_BF16, IND__CG_NEEDS(IND__CG_VEC))                                                            \
    X(SUM, 0)                                                                                          \
    X(PROD, 0)                                                                                         \
    X(MAX, IND__CG_NEEDS(IND__CG_MAXMIN))                                                              \
    X(MAX_WARP, IND__CG_NEEDS(IND__CG_MAX))                                                            \
    X(MAX_BF16, IND__CG_NEEDS(IND__CG_VEC, IND__CG_BF16, IND__CG_MAX))                                 \
    X(MAX_F16, IND__CG_NEEDS(IND__CG_VEC, IND__CG_F16, IND__CG_MAX))                                   \
    X(MIN, IND__CG_NEEDS(IND__CG_MAXMIN))                                                              \
    X(ANY, 0)                                                                                          \
    X(ARGMAX, 0)                                                                                       \
    X(WELFORD, 0)                                                                                      \
    X(EXP_BELOW, 0)                                                                                    \
    X(RECIPROCAL_OF_SUM, 0)                                                                            \
    X(SOFTMAX, IND__CG_NEEDS(IND__CG_MAXMIN, IND__CG_EXP_BELOW))                                       \
    X(COMBINE_LANES, 0)                                                                                   \
    X(COMBINE_MOMENTS, IND__CG_NEEDS(IND__CG_WELFORD, IND__CG_SUM, IND__CG_COMBINE_LANES))                   \
    X(COMBINE_SHARED, 0)                                                                                  \
    X(COMBINE_WARPS, 0)                                                                                   \
    X(COMBINE_STRIDED, 0)                                                                                   \
    X(COMBINE_NEIGHBOURS, 0)                                                                              \
    X(LAST_BLOCK, 0)                                                                                   \
    X(LAST_WARP, 0)                                                                                    \
    X(TURN, 0)                                                                                         \
    X(SPLIT_WORDS, IND__CG_NEEDS(IND__CG_TURN))                                                        \
    X(CLUSTER, 0)                                                                                      \
    X(CP_ASYNC, 0)                                                                                     \
    X(CP_ASYNC_BY, IND__CG_NEEDS(IND__CG_CP_ASYNC))                                                    \
    X(BF16_AT, IND__CG_NEEDS(IND__CG_VEC))                                                             \
    X(OPAQUE, IND__CG_NEEDS(IND__CG_VEC))                                                                \
    X(LDMATRIX, 0)                                                                                     \
    X(MMA_F16, 0)                                                                                      \
    X(MMA_BF16, 0)                                                                                     \
    X(MMA_HALVES, IND__CG_NEEDS(IND__CG_MMA_F16, IND__CG_MMA_BF16))                                    \
    X(MMA_BYTES, 0)                                                                                    \
    X(MMA_WORDS, 0)                                                                                    \
    X(PROMOTE, 0)                                                                                      \
    X(HALF_TILE, 0)                                                                                    \
    X(TILE_COPY, IND__CG_NEEDS(IND__CG_CP_ASYNC, IND__CG_HALF_TILE))                                   \
    X(CHUNK_COPY, IND__CG_NEEDS(IND__CG_CP_ASYNC))                                                     \
    X(MMA_TILE, IND__CG_NEEDS(IND__CG_HALF_TILE, IND__CG_LDMATRIX))                                    \
    X(WGMMA, IND__CG_NEEDS(IND__CG_HALF_TILE))                                                         \
    X(BULK_COPY, 0)                                                                                    \
    X(SUM_TILE, IND__CG_NEEDS(IND__CG_VEC))                                                            \
    X(ADD_PARTS, IND__CG_NEEDS(IND__CG_VEC))                                                           \
    X(ADD_SUMS, IND__CG_NEEDS(IND__CG_ADD_PARTS, IND__CG_SUM_TILE, IND__CG_LAST_BLOCK))                \
    X(ADD_FRAGMENTS, IND__CG_NEEDS(IND__CG_ADD_PARTS, IND__CG_LAST_WARP))                              \
    X(ADD_ROWS, IND__CG_NEEDS(IND__CG_SUM_TILE, IND__CG_CLUSTER))                                      \
    X(ADD_SLICES, IND__CG_NEEDS(IND__CG_ADD_PARTS, IND__CG_CLUSTER))                                   \
    X(MMA_SUMS, IND__CG_NEEDS(IND__CG_VEC, IND__CG_SUM_TILE))                                          \
    X(STRIP_SUMS, IND__CG_NEEDS(IND__CG_VEC, IND__CG_SUM_TILE))                                        \
    X(FMA_TILE, IND__CG_NEEDS(IND__CG_VEC, IND__CG_SUM_TILE))                                          \
    X(PACKED, IND__CG_NEEDS(IND__CG_VEC, IND__CG_F16, IND__CG_BF16, IND__CG_BULK_COPY, IND__CG_MMA_F16,  \
                            IND__CG_MMA_BF16))                                                           \
    X(PACKED_I8, 0)                                                                                    \
    X(PACKED_Q8_0, 0)                                                                                  \
    X(PACKED_Q4, 0)                                                                                    \
    X(PACKED_Q45_K, 0)                                                                                 \
    X(PACKED_Q2_K, 0)                                                                                  \
    X(PACKED_Q3_K, 0)                                                                                  \
    X(PACKED_Q6_K, 0)                                                                                  \
    X(PACKED_IQ4, 0)                                                                                   \
    X(PACKED_INT4, 0)                                                                                  \
    X(PACKED_E2M1, IND__CG_NEEDS(IND__CG_PACKED_INT4))                                                 \
    X(PACKED_NVFP4, IND__CG_NEEDS(IND__CG_PACKED_E2M1, IND__CG_F8E4M3FN))                              \
    X(SCAN_SUM, 0)                                                                                     \
    X(SCAN_PROD, 0)                                                                                    \
    X(SCAN_LOG, 0)                                                                                     \
    X(SCAN_EXTREME, 0)                                                                                 \
    X(SCAN, 0)                                                                                         \
    X(VEC_PART, IND__CG_NEEDS(IND__CG_VEC))                                                            \
    X(SCAN_TEAM, 0)                                                                                    \
    X(LOOKBACK, IND__CG_NEEDS(IND__CG_SCAN))                                                           \
    X(SCAN_MAYBE, 0)                                                                                   \
    X(SORT_F16, IND__CG_NEEDS(IND__CG_F16))                                                            \
    X(SORT_BF16, IND__CG_NEEDS(IND__CG_BF16))                                                          \
    X(SORT, 0)                                                                                         \
    X(SORT_LONG, IND__CG_NEEDS(IND__CG_SORT))
/* clang-format on */

enum {
    IND__CG_NO_PIECE,
#define X(name, needs) IND__CG_##name,
    IND__CG_PRELUDE(X)
#undef X
        IND__CG_NUM_PRELUDE
};
_Static_assert(IND__CG_NUM_PRELUDE <= IND__CG_MAX_PRELUDE, "prelude functions are bits of ind__prelude_set");

static const struct {
    uint8_t needs[6];        /* up to the first IND__CG_NO_PIECE */
    const char *const *line; /* up to NULL */
} cg__prelude[] = {{{0}, NULL},
#define X(name, needs) {{needs}, cg__prelude_##name},
                   IND__CG_PRELUDE(X)
#undef X
};

/* Adds a prelude function and the functions that it calls. */
static void cg__add_prelude(ind__prelude_set *set, int function) {
    set->word[function / 64] |= 1ull << function % 64;
    for (size_t i = 0; i < sizeof cg__prelude[function].needs && cg__prelude[function].needs[i]; i++)
        cg__add_prelude(set, cg__prelude[function].needs[i]);
}

static void cg__add_prelude_set(ind__prelude_set *set, const ind__prelude_set *more) {
    for (size_t i = 0; i < sizeof set->word / sizeof set->word[0]; i++) set->word[i] |= more->word[i];
}

/* Adds a prelude function to the source. */
static void cg__use(ind__writer *w, int function) {
    cg__add_prelude(&w->prelude, function);
}

/* ===================================================================================== src/cuda/emit/op_templates.c */
/* ------------------------------------------------------------------------------------------- >>op-templates */

/* Op templates: the source of every op that computes a value, by the type of its operands. $0 $1 $2: operands, $t: the
   C type, $u: its unsigned type (integers wrap around, which signed C arithmetic does not guarantee), $h $f $m: half,
   first bit and mask of PHILOX. NULL: the op does not exist for the type, or code writes it (ops of class s). Order:
   IND_LOOP_OPS. */
typedef struct cg__op_template {
    ind_loop_op op;
    const char *f32, *f64, *integer, *boolean;
} cg__op_template;

static const cg__op_template cg__op_templates[] = {
    {IND_LOOP_NONE, NULL, NULL, NULL, NULL},
    {IND_LOOP_CONSTANT, NULL, NULL, NULL, NULL},
    {IND_LOOP_INDEX, NULL, NULL, NULL, NULL},
    {IND_LOOP_LOAD, NULL, NULL, NULL, NULL},
    {IND_LOOP_STORE, NULL, NULL, NULL, NULL},
    {IND_LOOP_INDIRECT, NULL, NULL, NULL, NULL},
    {IND_LOOP_REDUCE, NULL, NULL, NULL, NULL},
    {IND_LOOP_PART, NULL, NULL, NULL, NULL},
    {IND_LOOP_SCAN, NULL, NULL, NULL, NULL},
    {IND_LOOP_STATE, NULL, NULL, NULL, NULL},
    {IND_LOOP_PAIR, NULL, NULL, NULL, NULL},
    {IND_LOOP_PACKED, "$0", NULL, NULL, NULL},
    {IND_LOOP_CAST, NULL, NULL, NULL, NULL},
    {IND_LOOP_ROUND_F16, "ind_f16_to_f32(ind_f32_to_f16($0))", "ind_f16_to_f32(ind_f32_to_f16((float)$0))", NULL, NULL},
    {IND_LOOP_ROUND_F8E4M3FN, "ind_f8e4m3fn_to_f32(ind_f32_to_f8e4m3fn($0))",
     "ind_f8e4m3fn_to_f32(ind_f32_to_f8e4m3fn((float)$0))", NULL, NULL},
    {IND_LOOP_ROUND_F8E5M2, "ind_f8e5m2_to_f32(ind_f32_to_f8e5m2($0))",
     "ind_f8e5m2_to_f32(ind_f32_to_f8e5m2((float)$0))", NULL, NULL},
    {IND_LOOP_ROUND_BF16, "ind_bf16_to_f32(ind_f32_to_bf16($0))", "ind_bf16_to_f32(ind_f32_to_bf16((float)$0))", NULL,
     NULL},
    {IND_LOOP_NEG, "-$0", "-$0", "($t)(($u)0 - ($u)$0)", NULL},
    {IND_LOOP_ABS, "fabsf($0)", "fabs($0)", "($t)($0 < 0 ? ($u)0 - ($u)$0 : ($u)$0)", NULL},
    {IND_LOOP_EXP, "expf($0)", "exp($0)", NULL, NULL},
    {IND_LOOP_LOG, "logf($0)", "log($0)", NULL, NULL},
    {IND_LOOP_SQRT, "sqrtf($0)", "sqrt($0)", NULL, NULL},
    {IND_LOOP_RSQRT, "rsqrtf($0)", "rsqrt($0)", NULL, NULL},
    {IND_LOOP_RECIPROCAL, "1.0f / $0", "1.0 / $0", NULL, NULL},
    {IND_LOOP_TANH, "tanhf($0)", "tanh($0)", NULL, NULL},
    {IND_LOOP_ERF, "erff($0)", "erf($0)", NULL, NULL},
    {IND_LOOP_SIGMOID, "1.0f / (1.0f + expf(-$0))", "1.0 / (1.0 + exp(-$0))", NULL, NULL},
    {IND_LOOP_SIN, "sinf($0)", "sin($0)", NULL, NULL},
    {IND_LOOP_COS, "cosf($0)", "cos($0)", NULL, NULL},
    {IND_LOOP_TAN, "tanf($0)", "tan($0)", NULL, NULL},
    {IND_LOOP_ASIN, "asinf($0)", "asin($0)", NULL, NULL},
    {IND_LOOP_ACOS, "acosf($0)", "acos($0)", NULL, NULL},
    {IND_LOOP_ATAN, "atanf($0)", "atan($0)", NULL, NULL},
    {IND_LOOP_SINH, "sinhf($0)", "sinh($0)", NULL, NULL},
    {IND_LOOP_COSH, "coshf($0)", "cosh($0)", NULL, NULL},
    {IND_LOOP_ASINH, "asinhf($0)", "asinh($0)", NULL, NULL},
    {IND_LOOP_ACOSH, "acoshf($0)", "acosh($0)", NULL, NULL},
    {IND_LOOP_ATANH, "atanhf($0)", "atanh($0)", NULL, NULL},
    {IND_LOOP_EXP2, "exp2f($0)", "exp2($0)", NULL, NULL},
    {IND_LOOP_EXPM1, "expm1f($0)", "expm1($0)", NULL, NULL},
    {IND_LOOP_LOG2, "log2f($0)", "log2($0)", NULL, NULL},
    {IND_LOOP_LOG10, "log10f($0)", "log10($0)", NULL, NULL},
    {IND_LOOP_LOG1P, "log1pf($0)", "log1p($0)", NULL, NULL},
    {IND_LOOP_FLOOR, "floorf($0)", "floor($0)", NULL, NULL},
    {IND_LOOP_CEIL, "ceilf($0)", "ceil($0)", NULL, NULL},
    {IND_LOOP_TRUNC, "truncf($0)", "trunc($0)", NULL, NULL},
    {IND_LOOP_RINT, "rintf($0)", "rint($0)", NULL, NULL},
    {IND_LOOP_ERFC, "erfcf($0)", "erfc($0)", NULL, NULL},
    {IND_LOOP_LGAMMA, "lgammaf($0)", "lgamma($0)", NULL, NULL},
    {IND_LOOP_ERFINV, "erfinvf($0)", "erfinv($0)", NULL, NULL},
    {IND_LOOP_DIGAMMA, "(float)ind_digamma($0)", "ind_digamma($0)", NULL, NULL},
    {IND_LOOP_I0E, "(float)ind_bessel_ie<0>($0)", "ind_bessel_ie<0>($0)", NULL, NULL},
    {IND_LOOP_I1E, "(float)ind_bessel_ie<1>($0)", "ind_bessel_ie<1>($0)", NULL, NULL},
    {IND_LOOP_J0, "(float)ind_bessel_jy<0>($0)", "ind_bessel_jy<0>($0)", NULL, NULL},
    {IND_LOOP_J1, "(float)ind_bessel_jy<1>($0)", "ind_bessel_jy<1>($0)", NULL, NULL},
    {IND_LOOP_Y0, "(float)ind_bessel_jy<2>($0)", "ind_bessel_jy<2>($0)", NULL, NULL},
    {IND_LOOP_Y1, "(float)ind_bessel_jy<3>($0)", "ind_bessel_jy<3>($0)", NULL, NULL},
    {IND_LOOP_NOT, NULL, NULL, NULL, "!$0"},
    {IND_LOOP_ADD, "$0 + $1", "$0 + $1", "($t)(($u)$0 + ($u)$1)", NULL},
    {IND_LOOP_SUB, "$0 - $1", "$0 - $1", "($t)(($u)$0 - ($u)$1)", NULL},
    {IND_LOOP_MUL, "$0 * $1", "$0 * $1", "($t)(($u)$0 * ($u)$1)", NULL},
    {IND_LOOP_DIV, "$0 / $1", "$0 / $1", "ind_div<$t>($0, $1)", NULL},
    {IND_LOOP_POW, "powf($0, $1)", "pow($0, $1)", "ind_pow<$t>($0, $1)", NULL},
    {IND_LOOP_MAXIMUM, "ind_max($0, $1)", "ind_max($0, $1)", "ind_max<$t>($0, $1)", NULL},
    {IND_LOOP_MINIMUM, "ind_min($0, $1)", "ind_min($0, $1)", "ind_min<$t>($0, $1)", NULL},
    {IND_LOOP_FMOD, "fmodf($0, $1)", "fmod($0, $1)", "ind_mod<$t>($0, $1)", NULL},
    {IND_LOOP_ATAN2, "atan2f($0, $1)", "atan2($0, $1)", NULL, NULL},
    {IND_LOOP_HYPOT, "hypotf($0, $1)", "hypot($0, $1)", NULL, NULL},
    {IND_LOOP_COPYSIGN, "copysignf($0, $1)", "copysign($0, $1)", NULL, NULL},
    {IND_LOOP_NEXTAFTER, "nextafterf($0, $1)", "nextafter($0, $1)", NULL, NULL},
    {IND_LOOP_ZETA, "(float)ind_zeta($0, $1)", "ind_zeta($0, $1)", NULL, NULL},
    {IND_LOOP_IGAMMA, "(float)ind_igamma<false>($0, $1)", "ind_igamma<false>($0, $1)", NULL, NULL},
    {IND_LOOP_IGAMMAC, "(float)ind_igamma<true>($0, $1)", "ind_igamma<true>($0, $1)", NULL, NULL},
    {IND_LOOP_BIT_AND, NULL, NULL, "($t)($0 & $1)", NULL},
    {IND_LOOP_BIT_OR, NULL, NULL, "($t)($0 | $1)", NULL},
    {IND_LOOP_BIT_XOR, NULL, NULL, "($t)($0 ^ $1)", NULL},
    {IND_LOOP_SHIFT_LEFT, NULL, NULL, "ind_shift_left<$t>($0, $1)", NULL},
    {IND_LOOP_SHIFT_RIGHT, NULL, NULL, "ind_shift_right<$t>($0, $1)", NULL},
    {IND_LOOP_GCD, NULL, NULL, "ind_gcd<$t>($0, $1)", NULL},
    {IND_LOOP_EQ, "$0 == $1", "$0 == $1", "$0 == $1", "$0 == $1"},
    {IND_LOOP_NE, "$0 != $1", "$0 != $1", "$0 != $1", "$0 != $1"},
    {IND_LOOP_LT, "$0 < $1", "$0 < $1", "$0 < $1", "$0 < $1"},
    {IND_LOOP_LE, "$0 <= $1", "$0 <= $1", "$0 <= $1", "$0 <= $1"},
    {IND_LOOP_GT, "$0 > $1", "$0 > $1", "$0 > $1", "$0 > $1"},
    {IND_LOOP_GE, "$0 >= $1", "$0 >= $1", "$0 >= $1", "$0 >= $1"},
    {IND_LOOP_AND, NULL, NULL, NULL, "$0 && $1"},
    {IND_LOOP_OR, NULL, NULL, NULL, "$0 || $1"},
    {IND_LOOP_WHERE, "$0 ? $1 : $2", "$0 ? $1 : $2", "$0 ? $1 : $2", "$0 ? $1 : $2"},
    {IND_LOOP_PHILOX, NULL, NULL, "ind_philox<$h>($0, $1, $2) >> $f & $m", NULL},
    {IND_LOOP_CALL, NULL, NULL, NULL, NULL}, /* cg__call */
};
_Static_assert(sizeof(cg__op_templates) / sizeof(cg__op_templates[0]) == IND_NUM_LOOP_OPS,
               "one row of cg__op_templates per loop op");

/* C types: of elements in memory, of values in registers, and the unsigned type used for wrapping arithmetic on values.
 */
static const struct {
    const char *memory, *value, *wrapping;
} cg__types[IND_NUM_DTYPES] = {
    [IND_DTYPE_NONE] = {"void", "void", "void"},
    [IND_BOOL] = {"unsigned char", "bool", "unsigned"},
    [IND_U8] = {"unsigned char", "unsigned char", "unsigned"},
    [IND_I8] = {"signed char", "signed char", "unsigned"},
    [IND_I16] = {"short", "short", "unsigned"},
    [IND_I32] = {"int", "int", "unsigned"},
    [IND_I64] = {"long long", "long long", "unsigned long long"},
    [IND_F16] = {"unsigned short", "float", "unsigned"},
    [IND_BF16] = {"unsigned short", "float", "unsigned"},
    [IND_F32] = {"float", "float", "unsigned"},
    [IND_F64] = {"double", "double", "unsigned long long"},
    [IND_F8E4M3FN] = {"unsigned char", "float", "unsigned"},
    [IND_F8E5M2] = {"unsigned char", "float", "unsigned"},
};

static const char *cg__find_op_template(ind_loop_op op, ind_dtype operand) {
    const cg__op_template *s = &cg__op_templates[op];
    if (operand == IND_BOOL) return s->boolean;
    if (operand == IND_F64) return s->f64;
    return ind_dtype_is_float(operand) ? s->f32 : s->integer;
}

/* ============================================================================================ src/cuda/strategies.c */
/* The table of strategies, and lookups of a variant's row in it. */

const ind__strategy_row *ind__strategy_row_of(ind_strategy s) {
    static const ind__strategy_row rows[] = {
#define X(name, text, family, of, file, emit, features) {text, IND__FAMILY_##family, IND__PLAN_OF_##of, features},
        IND_STRATEGIES(X)
#undef X
    };
    return &rows[s];
}

bool ind__strategy_has(ind_strategy s, ind__feature feature) {
    return (ind__strategy_row_of(s)->features & (int)feature) != 0;
}

const char *ind__strategy_text(ind_strategy s) {
    return ind__strategy_row_of(s)->text;
}

static bool cg__has(const ind__writer *w, ind__feature feature) {
    return ind__strategy_has(w->variant->strategy, feature);
}

const ind__row_plan *ind__row_of(const ind__variant *v) {
    static const ind__row_plan none = {0};
    return ind__strategy_row_of(v->strategy)->of == IND__PLAN_OF_ROW ? &v->of.row : &none;
}

static const ind__row_plan *cg__row(const ind__writer *w) {
    return ind__row_of(w->variant);
}

const ind__tile_plan *ind__tile_of(const ind__variant *v) {
    static const ind__tile_plan none = {0};
    return ind__strategy_row_of(v->strategy)->of == IND__PLAN_OF_TILE ? &v->of.tile : &none;
}

int ind__cluster_of(const ind__variant *v) {
    return ind__row_of(v)->cluster + ind__tile_of(v)->cluster; /* a variant has one of these plans */
}

bool ind__takes_next(const ind__variant *v) {
    return v->strategy == IND_STRATEGY_FINISH;
}

/* =========================================================================================== src/cuda/emit/writer.c */
/* ------------------------------------------------------------------------------------------------- >>writer */

/* Records that the kernel cannot be written. The step that failed has left its message. */
static void cg__fail(ind__writer *w) {
    w->failed = true;
}

static const char *cg__format(ind__writer *w, const char *format, va_list list) {
    va_list again;
    va_copy(again, list);
    char local[256];
    int n = ind__format_list(local, sizeof local, format, again);
    va_end(again);
    char *s = n >= 0 ? (char *)ind__arena_alloc(&w->scratch, (size_t)n + 1) : NULL;
    if (s && (size_t)n < sizeof local)
        memcpy(s, local, (size_t)n + 1);
    else if (s)
        ind__format_list(s, (size_t)n + 1, format, list);
    else
        cg__fail(w);
    return s ? s : "";
}

/* Returns a formatted string that lives as long as the writer; "" on failure. Used for op templates and names. */
IND__PRINTF(2, 3) static const char *cg__string(ind__writer *w, const char *format, ...) {
    va_list list;
    va_start(list, format);
    const char *s = cg__format(w, format, list);
    va_end(list);
    return s;
}

/* Opens a scope: "text {". cg__end forgets the values written inside. */
IND__PRINTF(2, 3) static void cg__begin(ind__writer *w, const char *format, ...) {
    va_list list;
    va_start(list, format);
    ind__textf(&w->code, "%s {\n", cg__format(w, format, list));
    va_end(list);
    w->code.indent++;
    w->scope++;
}

static void cg__forget(ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (w->known[i] >= w->scope) w->known[i] = 0;
}

static void cg__end(ind__writer *w) {
    cg__forget(w);
    w->scope--;
    w->code.indent--;
    ind__textf(&w->code, "}\n");
}

/* Writes "} else {" for the open scope. */
static void cg__else(ind__writer *w, const char *line) {
    cg__forget(w);
    w->code.indent--;
    ind__textf(&w->code, "} %s {\n", line);
    w->code.indent++;
}

static const char *cg__int(const ind__writer *w) {
    return w->plan->wide ? "long long" : "int";
}

/* True if two buffers have the same storage. Also true for an output that may alias a donated input. */
static bool cg__same_storage(const ind_schedule *s, uint32_t a, uint32_t b) {
    if (a == b || !s->storage) return a == b;
    uint32_t x = s->takes_over[a] ? s->takes_over[a] : s->storage[a];
    uint32_t y = s->takes_over[b] ? s->takes_over[b] : s->storage[b];
    return x == y;
}

/* True if the argument shares memory with another one (an output that took over its input's). Then neither may be
   __restrict__. */
static bool cg__shares_memory(const ind__writer *w, uint32_t arg) {
    for (uint32_t i = 0; i < w->kernel->num_args; i++)
        if (i != arg && cg__same_storage(w->schedule, w->kernel->arg[i], w->kernel->arg[arg])) return true;
    return false;
}

/* Returns the position of a buffer among the kernel's arguments. UINT32_MAX: not an argument, a bug in the schedule. */
static uint32_t cg__arg_of(const ind_kernel *k, uint32_t buffer) {
    for (uint32_t i = 0; i < k->num_args; i++)
        if (k->arg[i] == buffer) return i;
    return UINT32_MAX;
}

/* Returns the name of a buffer in the source: "in0" or "out0". */
static const char *cg__buffer(ind__writer *w, uint32_t buffer) {
    const ind_kernel *k = w->kernel;
    uint32_t i = cg__arg_of(k, buffer);
    if (i == UINT32_MAX) {
        ind__fail(w->context, IND_VERIFY, "kernel %s uses buffer %u, which is not among its arguments", k->name,
                  buffer);
        cg__fail(w);
        return "";
    }
    return i < k->num_reads ? cg__string(w, "in%u", i) : cg__string(w, "out%u", i - k->num_reads);
}

/* ============================================================================================ src/cuda/emit/index.c */
/* -------------------------------------------------------------------------------------------------- >>index */

/* Returns the number of a size argument, or of a reciprocal, with the value of `a`. Equal values share one argument. */
static uint32_t cg__value_arg(ind__writer *w, ind__kernel_arg a) {
    uint32_t number = 0;
    for (uint32_t i = 0; i < w->args.num; i++) {
        if (w->args.arg[i].kind != IND__ARG_SIZE || w->args.arg[i].reciprocal != a.reciprocal) continue;
        if (ind_expr_same(w->args.arg[i].size, a.size)) return number;
        number++;
    }
    ind__kernel_arg *added = IND__PUSH(w->context, ind__kernel_arg, w->args.arg, w->args.num, w->args.cap);
    if (!added) {
        cg__fail(w);
        return 0;
    }
    a.computed = ind__expr_has_kind(a.size, IND_SYMBOL_UNBACKED);
    *added = a;
    return number;
}

static uint32_t cg__size_arg(ind__writer *w, ind_expr size) {
    return cg__value_arg(w, (ind__kernel_arg){.kind = IND__ARG_SIZE, .size = size});
}

/* Returns a symbol that stands for a size argument while an index is printed. It has the range of the size, which tells
   the printer if a plain C division is enough. */
static ind_expr cg__size_symbol(ind__writer *w, ind_expr size) {
    if (ind_expr_is_int(size, NULL)) return size;
    int64_t lo, hi;
    ind__known_bounds(size, &lo, &hi);
    int64_t hint = ind_hint(size);
    ind_symbol s = {.kind = IND_SYMBOL_SIZE,
                    .slot = -1,
                    .name = cg__string(w, "n%u", cg__size_arg(w, size)),
                    .lo = lo,
                    .hi = hi,
                    .multiple_of = 1,
                    .hint = hint < lo   ? lo
                            : hint > hi ? hi
                                        : hint};
    return ind_symbol_expr(w->context, &s);
}

#define IND__CG_MAX_DEPTH                                                                                              \
    64 /* of an index expression; deeper ones are refused, as the recursion would need a deep stack */

static ind_expr cg__sizes_to_args(ind__writer *w, ind_expr e, int depth);

/* Splits a sum or product: its arguments that consist of sizes become one size argument. */
static ind_expr cg__split_nary(ind__writer *w, ind_expr e, int depth) {
    ind_expr sizes = {0}, rest = {0};
    for (int i = 0; i < ind_expr_num_args(e); i++) {
        ind_expr a = ind_expr_arg(e, i);
        ind_expr *into = ind__expr_is_size(a) ? &sizes : &rest;
        if (into == &rest) a = cg__sizes_to_args(w, a, depth + 1);
        *into = into->id ? ind__expr_rebuild(e, (ind_expr[]){*into, a}, 2) : a;
    }
    if (!sizes.id) return rest;
    return ind__expr_rebuild(e, (ind_expr[]){cg__size_symbol(w, sizes), rest}, 2);
}

/* Returns e with every maximal subexpression of sizes replaced by the symbol of a size argument. */
static ind_expr cg__sizes_to_args(ind__writer *w, ind_expr e, int depth) {
    ind_expr_kind kind = ind_expr_query_kind(e);
    if (kind == IND_EXPR_NONE) return e;
    if (depth > IND__CG_MAX_DEPTH) {
        ind__fail(w->context, IND_LIMIT, "kernel %s: an index expression is nested more than %d deep", w->kernel->name,
                  IND__CG_MAX_DEPTH);
        return (ind_expr){0};
    }
    if (ind__expr_is_size(e)) return cg__size_symbol(w, e);
    if (kind == IND_EXPR_SYM) return e;
    if (kind == IND_EXPR_ADD || kind == IND_EXPR_MUL) return cg__split_nary(w, e, depth);
    const int n = ind_expr_num_args(e);
    ind_expr *a = (ind_expr *)ind__arena_alloc(&w->scratch, (size_t)n * sizeof *a);
    for (int i = 0; a && i < n; i++) a[i] = cg__sizes_to_args(w, ind_expr_arg(e, i), depth + 1);
    return a ? ind__expr_rebuild(e, a, n) : (ind_expr){0};
}

static void cg__symbol_name(ind__text *t, ind_expr symbol, void *user) {
    ind__writer *w = (ind__writer *)user;
    for (int d = 0; d < w->plan->domain.rank + w->plan->domain.rrank; d++) {
        if (!ind_expr_same(symbol, w->plan->domain.var[d])) continue;
        ind__textf(t, "%s", w->var[d] ? w->var[d] : "");
        if (!w->var[d]) {
            ind__fail(w->context, IND_VERIFY, "kernel %s: loop variable %d is used where it has no value",
                      w->kernel->name, d);
            cg__fail(w);
        }
        return;
    }
    for (int d = 0; d < w->plan->domain.rank; d++) {
        if (!ind_expr_same(symbol, w->linear[d])) continue;
        ind__textf(t, "%s", w->linear_name[d]);
        return;
    }
    const ind_symbol *s = ind_expr_symbol(symbol);
    if (s && s->kind == IND_SYMBOL_INDIRECT)
        ind__textf(t, "t%d", s->slot);
    else
        ind__textf(t, "%s", s ? s->name : "");
}

/* Writes an index expression: loop variables by their names in the source, subexpressions of sizes as arguments n0, n1,
   .. */
static void cg__expr(ind__writer *w, ind_expr e) {
    ind_expr split = cg__sizes_to_args(w, e, 0);
    if (!split.id) {
        cg__fail(w);
        return;
    }
    size_t from = w->code.size;
    ind__text_expr_c(&w->code, split, w->plan->wide, cg__symbol_name, w);
    const char *text = w->code.data ? w->code.data + from : "";
    if (strstr(text, "ind_floor")) cg__use(w, IND__CG_FLOORDIV);
    if (strstr(text, "ind_m")) cg__use(w, IND__CG_MAXMIN);
}

/* Returns the same as a string that lives as long as the writer, for scope headers and names. */
static const char *cg__expr_string(ind__writer *w, ind_expr e) {
    ind__text keep = w->code;
    w->code = (ind__text){.context = w->context, .mid_line = true};
    cg__expr(w, e);
    const char *s = w->code.data ? ind__arena_string(&w->scratch, w->code.data, w->code.size) : NULL;
    if (!s || w->code.failed) cg__fail(w);
    ind__text_free(&w->code);
    w->code = keep;
    return s ? s : "";
}

/* =========================================================================================== src/cuda/emit/values.c */
/* ------------------------------------------------------------------------------------------------- >>values */

static const ind__inst *cg__inst(const ind__writer *w, uint32_t i) {
    return &w->body->inst[i];
}

/* Returns the index of a LOAD or STORE (linear, elements) or of an INDEX, in the variables of the domain. */
static ind_expr cg__index_of(const ind__writer *w, uint32_t i) {
    return w->plan->domain.index[cg__inst(w, i)->index];
}

static ind_dtype cg__memory_dtype(const ind__writer *w, uint32_t i) {
    return w->schedule->program->buffer[cg__inst(w, i)->source].dtype;
}

/* True if the decimal text of v, read as f32, differs from (float)v. Decimal to double to float rounds twice, which
   matters near the midpoint of two floats. */
static bool cg__double_rounding(double v) {
    float f = (float)v;
    float next = nextafterf(f, v > (double)f ? INFINITY : -INFINITY);
    double middle = ((double)f + (double)next) / 2;
    return v != (double)f && fabs(v - middle) <= fabs(v) * 1e-15;
}

static void cg__float_literal(ind__writer *w, double v, bool single) {
    if (single && !isnan(v)) v = cg__double_rounding(v) || isinf((float)v) ? (double)(float)v : v;
    if (isnan(v) || isinf(v)) {
        const char *bits = isnan(v) ? "7fc00000" : v > 0 ? "7f800000" : "ff800000";
        ind__textf(&w->code, "%s__uint_as_float(0x%su)", single ? "" : "(double)", bits);
        return;
    }
    ind__text t = {.context = w->context, .mid_line = true};
    ind__text_double(&t, v);
    bool plain = t.data && !strpbrk(t.data, ".eE");
    if (!t.data)
        cg__fail(w);
    else
        ind__textf(&w->code, v < 0 || signbit(v) ? "(%s%s%s)" : "%s%s%s", t.data, plain ? ".0" : "", single ? "f" : "");
    ind__text_free(&t);
}

static void cg__literal(ind__writer *w, const ind__inst *inst) {
    int64_t i = inst->imm.i;
    if (ind_dtype_is_float((ind_dtype)inst->dtype))
        cg__float_literal(w, inst->imm.f, inst->dtype != IND_F64);
    else if (inst->dtype == IND_BOOL)
        ind__textf(&w->code, i ? "true" : "false");
    else if (i == INT64_MIN)
        ind__textf(&w->code, "(-9223372036854775807LL - 1)");
    else if (inst->dtype == IND_I32 && i == INT32_MIN)
        ind__textf(&w->code, "(-2147483647 - 1)");
    else
        ind__textf(&w->code, i < 0 ? "(%lld%s)" : "%lld%s", (long long)i, inst->dtype == IND_I64 ? "LL" : "");
}

/* Writes the value of instruction i as an operand. */
static void cg__value(ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    if (w->value[i])
        ind__textf(&w->code, "%s", w->value[i]);
    else if (inst->op == IND_LOOP_CONSTANT)
        cg__literal(w, inst);
    else
        ind__textf(&w->code, "v%u", i);
}

/* Types that exist in memory only: prelude function, rounding op, conversions to and from a value. */
typedef struct cg__narrow_type {
    int function;
    ind_loop_op rounding;
    const char *load, *store;
} cg__narrow_type;

static const cg__narrow_type *cg__narrow_of(ind_dtype memory) {
    static const cg__narrow_type rows[IND_NUM_DTYPES] = {
        [IND_F16] = {IND__CG_F16, IND_LOOP_ROUND_F16, "ind_f16_to_f32(", "ind_f32_to_f16("},
        [IND_BF16] = {IND__CG_BF16, IND_LOOP_ROUND_BF16, "ind_bf16_to_f32(", "ind_f32_to_bf16("},
        [IND_F8E4M3FN] = {IND__CG_F8E4M3FN, IND_LOOP_ROUND_F8E4M3FN, "ind_f8e4m3fn_to_f32(", "ind_f32_to_f8e4m3fn("},
        [IND_F8E5M2] = {IND__CG_F8E5M2, IND_LOOP_ROUND_F8E5M2, "ind_f8e5m2_to_f32(", "ind_f32_to_f8e5m2("},
    };
    return rows[memory].load ? &rows[memory] : NULL;
}

/* Writes an element in memory as a value: "ind_bf16_to_f32(" element ")". */
static void cg__from_memory(ind__writer *w, ind_dtype memory, const char *element) {
    const cg__narrow_type *narrow = cg__narrow_of(memory);
    if (narrow) cg__use(w, narrow->function);
    const char *before = narrow ? narrow->load : memory == IND_BOOL ? "(0 != " : "";
    ind__textf(&w->code, "%s%s%s", before, element, before[0] ? ")" : "");
}

/* Elements that the first part of a FINISH passes to the second: one element per row of each of these buffers. */
#define IND__CG_MAX_HANDED 4
typedef struct cg__handover {
    uint32_t buffer[IND__CG_MAX_HANDED];
    uint32_t num;
    ind_expr rows;
    int threads; /* threads that read them: a whole block, or a warp */
    int looks;   /* elements that each thread polls before it waits for one */
    bool takes;  /* true while the second part is written */
} cg__handover;

/* Returns the index of the access's buffer among the handed-over ones; -1: not handed over. */
static int cg__handed(const ind__writer *w, uint32_t i) {
    const cg__handover *h = w->plan->handover;
    for (uint32_t k = 0; h && k < h->num; k++)
        if (h->buffer[k] == cg__inst(w, i)->source) return (int)k;
    return -1;
}

/* Returns the arguments that locate a handed-over element: "lookback, 0, r0, n0". */
static const char *cg__handover_args(ind__writer *w, uint32_t i) {
    return cg__string(w, "lookback, %d, %s, %s", cg__handed(w, i), cg__expr_string(w, cg__index_of(w, i)),
                      cg__expr_string(w, w->plan->handover->rows));
}

/* Returns "ind_take<float>(ahead1[k], lookback, 0, r0, n0)": the handed-over element, which has been polled. */
static const char *cg__take(ind__writer *w, uint32_t i) {
    return cg__string(w, "ind_take<%s>(ahead%u[k], %s)", cg__types[cg__memory_dtype(w, i)].memory, i,
                      cg__handover_args(w, i));
}

/* Returns buffer[index] of a LOAD or STORE, or the expression in `memory` if it is set. */
static const char *cg__element(ind__writer *w, uint32_t i) {
    if (w->memory[i]) return w->memory[i];
    if (cg__inst(w, i)->op == IND_LOOP_LOAD && cg__handed(w, i) >= 0) return cg__take(w, i);
    const char *index = cg__expr_string(w, cg__index_of(w, i));
    size_t n = strlen(index) + 24;
    char *s = (char *)ind__arena_alloc(&w->scratch, n);
    if (!s) {
        cg__fail(w);
        return "";
    }
    ind__format(s, n, "%s[%s]", cg__buffer(w, cg__inst(w, i)->source), index);
    return s;
}

/* Writes "const float v12 = ", the declaration of the instruction's result; the caller ends the line. */
static void cg__declare(ind__writer *w, uint32_t i) {
    ind__textf(&w->code, "const %s v%u = ", cg__types[cg__inst(w, i)->dtype].value, i);
}

/* Returns the name of the vector whose element j is LOAD i; NULL: not an element of a vector. */
static const char *cg__vector_of(ind__writer *w, uint32_t i) {
    const char *at = w->memory[i] ? strstr(w->memory[i], ".at[j]") : NULL;
    return at && !at[6] ? cg__string(w, "%.*s", (int)(at - w->memory[i]), w->memory[i]) : NULL;
}

/* Like cg__vector_of, but NULL unless the vector is bf16. Half of the elements are then extracted by one instruction
   instead of two (layer_norm of 65536: 17 percent fewer instructions). */
static const char *cg__vector_of_bf16(ind__writer *w, uint32_t i) {
    return cg__memory_dtype(w, i) == IND_BF16 ? cg__vector_of(w, i) : NULL;
}

static ind_expr cg__r_numel(const ind__writer *w);
static uint32_t cg__r_mask(const ind__writer *w);

/* True if the index of the LOAD may be outside its buffer. All conditions must hold: the LOAD is the same for a whole
   row, only the row's elements use it, and both row and buffer may be empty. The index may rely on a row element:
   mask[r % B] of B elements is mask[0] if B is 0 or 1. */
static bool cg__may_be_outside(const ind__writer *w, uint32_t load) {
    int64_t least = 1, elements = 1;
    if (!w->plan->domain.rrank || w->plan->rooted[load] || w->plan->varies[load] & cg__r_mask(w)) return false;
    ind__known_bounds(cg__r_numel(w), &least, NULL);
    if (least > 0) return false;
    const ind_expr numel = ind__buffer_numel(&w->schedule->program->buffer[cg__inst(w, load)->source]);
    ind__known_bounds(numel, &elements, NULL);
    return elements < 1 && !ind_known_lt(cg__index_of(w, load), numel);
}

/* Writes "v1 ? ": the LOAD's mask, and the check that the row is not empty if the index needs one. A vector with a
   false mask is 0. */
static bool cg__load_condition(ind__writer *w, uint32_t i) {
    const uint32_t mask = w->memory[i] ? 0 : cg__inst(w, i)->arg[0];
    const bool maybe = cg__may_be_outside(w, i);
    if (maybe) ind__textf(&w->code, "%s != 0%s", cg__expr_string(w, cg__r_numel(w)), mask ? " && " : "");
    if (mask) cg__value(w, mask);
    if (maybe || mask) ind__textf(&w->code, " ? ");
    return maybe || mask;
}

static void cg__load(ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    const char *vector = cg__vector_of_bf16(w, i);
    cg__declare(w, i);
    const bool condition = cg__load_condition(w, i);
    if (vector) {
        cg__use(w, IND__CG_BF16_AT);
        ind__textf(&w->code, "ind_bf16_at(%s, j)", vector);
    } else {
        cg__from_memory(w, cg__memory_dtype(w, i), cg__element(w, i));
    }
    ind__textf(&w->code, condition ? " : (%s)0;\n" : ";\n", cg__types[inst->dtype].value);
}

/* Returns the value that a STORE writes. Skips a rounding to the type in memory, as rounding twice equals rounding
   once. */
static uint32_t cg__stored_value(const ind__writer *w, uint32_t store) {
    uint32_t x = cg__inst(w, store)->arg[0];
    if (cg__inst(w, store)->reduction) return x;
    const cg__narrow_type *narrow = cg__narrow_of(cg__memory_dtype(w, store));
    bool rounds = narrow && cg__inst(w, x)->op == narrow->rounding && !w->value[x];
    return rounds ? cg__inst(w, x)->arg[0] : x;
}

/* Returns the text before a value that is combined with `old`. If the text ends in the "(" of a function, a ")" must
   follow. */
static const char *cg__combination(ind__writer *w, ind_reduction mode, ind_dtype type) {
    const bool sum = mode == IND_REDUCE_SUM, prod = mode == IND_REDUCE_PROD, max = mode == IND_REDUCE_MAX;
    if (type == IND_BOOL) return sum || max ? "old | " : "old & ";
    if (!sum && !prod) {
        cg__use(w, IND__CG_MAXMIN);
        const char *of = ind_dtype_is_float(type) ? "" : cg__string(w, "<%s>", cg__types[type].value);
        return cg__string(w, "%s%s(old, ", max ? "ind_max" : "ind_min", of);
    }
    if (ind_dtype_is_float(type)) return sum ? "old + " : "old * ";
    return cg__string(w, "(%s)old %c (%s)", cg__types[type].wrapping, sum ? '+' : '*', cg__types[type].wrapping);
}

/* True if an atomic instruction adds this type to memory. */
static bool cg__adds_natively(const ind__inst *store, ind_dtype memory) {
    return store->reduction == IND_REDUCE_SUM &&
           (memory == IND_I32 || memory == IND_I64 || memory == IND_F32 || memory == IND_F64);
}

/* Prelude functions that add to memory, and the first architecture with their instructions: for one element, and for up
   to 16 bytes of neighbours (PTX ISA, red: f16 from sm_70 on, bf16 from sm_90, several elements from sm_90). A value
   that is not of the narrow type is excluded: it would be rounded before the sum, once more than necessary. */
typedef struct cg__adder_row {
    ind_dtype type;
    int function, scalar_from, vector_from;
    const char *name;
} cg__adder_row;

static bool cg__is_of_type(const ind__writer *w, uint32_t value, ind_dtype memory) {
    const cg__narrow_type *narrow = cg__narrow_of(memory);
    const ind_loop_op op = (ind_loop_op)cg__inst(w, value)->op;
    return !narrow || op == narrow->rounding || (op == IND_LOOP_LOAD && cg__memory_dtype(w, value) == memory);
}

static const cg__adder_row *cg__adder(const ind__writer *w, uint32_t i, int elements) {
    static const cg__adder_row rows[] = {{IND_F32, IND__CG_ADD_F32, INT_MAX, 90, "ind_add_f32"}, /* scalar: atomicAdd */
                                         {IND_F16, IND__CG_ADD_F16, 70, 90, "ind_add_f16"},
                                         {IND_BF16, IND__CG_ADD_BF16, 90, 90, "ind_add_bf16"}};
    if (cg__inst(w, i)->reduction != IND_REDUCE_SUM) return NULL;
    if (!cg__is_of_type(w, cg__inst(w, i)->arg[0], cg__memory_dtype(w, i))) return NULL;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        if (rows[k].type != cg__memory_dtype(w, i)) continue;
        bool there = w->target->sm >= (elements > 1 ? rows[k].vector_from : rows[k].scalar_from);
        return there ? &rows[k] : NULL;
    }
    return NULL;
}

/* Writes "ind_add_bf16(&out0[i], ind_f32_to_bf16(value));". */
static void cg__add_narrow(ind__writer *w, uint32_t i, const cg__adder_row *adder) {
    const cg__narrow_type *narrow = cg__narrow_of(cg__memory_dtype(w, i));
    cg__use(w, narrow->function);
    cg__use(w, adder->function);
    ind__textf(&w->code, "%s(&%s, %s", adder->name, cg__element(w, i), narrow->store);
    cg__value(w, cg__inst(w, i)->arg[0]);
    ind__textf(&w->code, "));\n");
}

/* Writes "ind_atomic(&out0[i], [=](T element) { return element combined with the value; });". */
static void cg__atomic(ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    const ind_dtype memory = cg__memory_dtype(w, i), type = (ind_dtype)inst->dtype;
    const cg__adder_row *adder = cg__adder(w, i, 1);
    if (adder) {
        cg__add_narrow(w, i, adder);
        return;
    }
    const char *element = cg__element(w, i);
    if (cg__adds_natively(inst, memory)) {
        const char *word = memory == IND_I64 ? "unsigned long long" : NULL;
        ind__textf(&w->code, word ? "atomicAdd((%s *)&%s, (%s)" : "atomicAdd(%s&%s, %s", word ? word : "", element,
                   word ? word : "");
        cg__value(w, inst->arg[0]);
        ind__textf(&w->code, ");\n");
        return;
    }
    const bool least = inst->reduction == IND_REDUCE_MIN;
    if (memory == IND_I32 && type == IND_I32 && (least || inst->reduction == IND_REDUCE_MAX)) {
        ind__textf(&w->code, "atomic%s(&%s, ", least ? "Min" : "Max", element);
        cg__value(w, inst->arg[0]);
        ind__textf(&w->code, ");\n");
        return;
    }
    const char *how = cg__combination(w, (ind_reduction)inst->reduction, type);
    cg__use(w, IND__CG_ATOMIC);
    ind__textf(&w->code, "ind_atomic(&%s, [=](%s element) {\n", element, cg__types[memory].memory);
    ind__textf(&w->code, "    const %s old = ", cg__types[type].value);
    cg__from_memory(w, memory, "element");
    ind__textf(&w->code, ";\n    return (%s)%s(%s", cg__types[memory].memory,
               memory == IND_F16    ? "ind_f32_to_f16"
               : memory == IND_BF16 ? "ind_f32_to_bf16"
                                    : "",
               how);
    cg__value(w, inst->arg[0]);
    ind__textf(&w->code, how[0] == 'i' ? "));\n});\n" : ");\n});\n");
}

/* True if store i writes exactly the element that load x has read. */
static bool cg__copies(const ind__writer *w, uint32_t i, uint32_t x) {
    const ind__inst *load = cg__inst(w, x);
    return load->op == IND_LOOP_LOAD && !load->arg[0] && !w->value[x] && w->memory[x] &&
           cg__memory_dtype(w, x) == cg__memory_dtype(w, i);
}

/* Writes "element = value;", rounded to the type in memory. */
static void cg__plain_store(ind__writer *w, uint32_t i) {
    uint32_t x = cg__stored_value(w, i);
    const cg__narrow_type *narrow = cg__narrow_of(cg__memory_dtype(w, i));
    if (narrow && cg__copies(w, i, x)) {
        ind__textf(&w->code, "%s = %s;\n", cg__element(w, i), w->memory[x]);
        return;
    }
    if (narrow) cg__use(w, narrow->function);
    ind__textf(&w->code, "%s = %s", cg__element(w, i), narrow ? narrow->store : "");
    cg__value(w, x);
    ind__textf(&w->code, narrow ? ");\n" : ";\n");
}

/* Writes "ind_leave<float>(block, lookback, 0, i0, n0, v19);". */
static void cg__leave(ind__writer *w, uint32_t i) {
    const ind_dtype memory = cg__memory_dtype(w, i);
    const cg__narrow_type *narrow = cg__narrow_of(memory);
    if (narrow) cg__use(w, narrow->function);
    ind__textf(&w->code, "ind_leave<%s>(block, %s, %s", cg__types[memory].memory, cg__handover_args(w, i),
               narrow ? narrow->store : "");
    cg__value(w, cg__stored_value(w, i));
    ind__textf(&w->code, narrow ? "));\n" : ");\n");
}

static bool cg__combines_run(const ind__writer *w, uint32_t i) {
    return cg__inst(w, i)->op == IND_LOOP_STORE && (cg__inst(w, i)->flags & IND__INST_RUN);
}
static void cg__combine_column(ind__writer *w, uint32_t i);

/* Writes "if (v3)" on its own line, and indents the next one. */
static void cg__write_mask(ind__writer *w, uint32_t mask) {
    if (!mask) return;
    ind__textf(&w->code, "if (");
    cg__value(w, mask);
    ind__textf(&w->code, ")\n");
    w->code.indent++;
}

/* Writes a STORE: under its mask, and combined with the element in memory if it is a reduction. */
static void cg__store(ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    if (cg__combines_run(w, i)) {
        cg__combine_column(w, i);
        return;
    }
    if (w->memory[i] && w->plan->vector[i] > 1) { /* collected for cg__vector_stores */
        cg__plain_store(w, i);
        return;
    }
    if (cg__handed(w, i) >= 0) cg__leave(w, i); /* first, as the second part waits for it */
    cg__write_mask(w, inst->arg[1]);
    if (inst->reduction)
        cg__atomic(w, i);
    else
        cg__plain_store(w, i);
    if (inst->arg[1]) w->code.indent--;
}

/* Writes "const int t12 = ...": an index read from memory that an earlier kernel has checked. */
static void cg__checked(ind__writer *w, uint32_t i, const char *extent) {
    const uint32_t x = cg__inst(w, i)->arg[0];
    ind__textf(&w->code, "const %s t%u = (%s)(", cg__int(w), i, cg__int(w));
    cg__value(w, x);
    if (cg__inst(w, i)->flags & IND__INST_WRAP) {
        ind__textf(&w->code, " < 0 ? ");
        cg__value(w, x);
        ind__textf(&w->code, " + %s : ", extent);
        cg__value(w, x);
    }
    ind__textf(&w->code, ");\n");
}

static bool cg__may_be_unused(const ind__writer *w, uint32_t indirect);

/* Writes "const int t12 = ...": an index read from memory and checked. It is 0 if it may be unused and its row is
   empty. */
static void cg__indirect(ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    const char *extent = cg__expr_string(w, w->plan->domain.index[inst->index]);
    const bool maybe = cg__may_be_unused(w, i);
    const char *used = maybe ? cg__string(w, "%s == 0 ? 0 : ", cg__expr_string(w, cg__r_numel(w))) : "";
    const char *check = inst->flags & IND__INST_WRAP ? "ind_index_wrapped" : "ind_index";
    if (inst->flags & IND__INST_CHECKED) {
        cg__checked(w, i, extent);
        return;
    }
    if (w->plan->only_check[i])
        ind__textf(&w->code, "(void)%s(", check);
    else
        ind__textf(&w->code, "const %s t%u = %s(%s)%s(", cg__int(w), i, used, cg__int(w), check);
    cg__value(w, inst->arg[0]);
    ind__textf(&w->code, ", %s, %uull, error);\n", extent, i + 1);
    cg__use(w, IND__CG_INDEX);
    w->args.needs_error = true;
}

static void cg__index_value(ind__writer *w, uint32_t i) {
    ind_dtype dtype = (ind_dtype)cg__inst(w, i)->dtype;
    const char *index = cg__expr_string(w, cg__index_of(w, i));
    cg__declare(w, i);
    if (dtype == IND_BOOL)
        ind__textf(&w->code, "(%s) != 0;\n", index);
    else
        ind__textf(&w->code, "(%s)(%s);\n", cg__types[dtype].value, index);
}

/* Writes a cast. Floats are cast to narrow integers through int, as on the host; to bool by comparison with 0. */
static void cg__cast(ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    ind_dtype to = (ind_dtype)inst->dtype, from = (ind_dtype)cg__inst(w, inst->arg[0])->dtype;
    bool narrow = ind_dtype_is_float(from) && ind_dtype_is_integer(to) && ind_dtype_bytes(to) < 4;
    cg__declare(w, i);
    if (to != IND_BOOL) ind__textf(&w->code, narrow ? "(%s)(int)" : "(%s)", cg__types[to].value);
    cg__value(w, inst->arg[0]);
    ind__textf(&w->code, to == IND_BOOL ? " != 0;\n" : ";\n");
}

static void cg__call(ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    uint32_t n = 0;
    while (n + 1 < w->calls.num && w->calls.function[n] != inst->imm.function) n++;
    cg__declare(w, i);
    ind__textf(&w->code, "ind_user_%u(", (unsigned)n);
    for (int k = 0; k < inst->imm.function->num_args; k++) {
        ind__textf(&w->code, k ? ", " : "");
        cg__value(w, inst->arg[k]);
    }
    ind__textf(&w->code, ");\n");
}

static uint32_t cg__softmax_term(const ind__writer *w, uint32_t reduce);

/* True if the op preserves the relative error of its operand. */
static bool cg__preserves_relative(const ind__inst *inst) {
    switch ((ind_loop_op)inst->op) {
    case IND_LOOP_MUL:
    case IND_LOOP_DIV:
    case IND_LOOP_RECIPROCAL:
    case IND_LOOP_NEG:
    case IND_LOOP_ABS: return true;
    default: return false;
    }
}

/* True if every result of the value is rounded to 16 bits before its relative error can grow. */
static bool cg__is_used_narrow(ind__writer *w, uint32_t from) {
    uint8_t *reached = (uint8_t *)ind__arena_alloc(&w->scratch, w->body->num_inst);
    if (!reached) return false;
    memset(reached, 0, w->body->num_inst);
    reached[from] = 1;
    for (uint32_t i = from + 1; i < w->body->num_inst; i++) {
        const ind__inst *inst = cg__inst(w, i);
        const ind_dtype memory = inst->op == IND_LOOP_STORE ? cg__memory_dtype(w, i) : IND_F32;
        for (int k = 0; k < IND__MAX_ARGS; k++) reached[i] |= inst->arg[k] && reached[inst->arg[k]];
        if (!reached[i]) continue;
        if (inst->op == IND_LOOP_ROUND_F16 || inst->op == IND_LOOP_ROUND_BF16 || memory == IND_F16 ||
            memory == IND_BF16)
            reached[i] = 0;
        else if (!cg__preserves_relative(inst))
            return false;
    }
    return true;
}

/* True if the hardware ex2 may compute the terms of a softmax. For x - m <= 0 its result is off by at most |x - m| *
   2^-24. That is 5e-6 if the result is not 0, a hundredth of the rounding to 16 bits. Terms below 2^-126 are 0 instead
   of subnormal. expf takes twice the instructions of the rest of the kernel, which bounds rows of 16-bit elements in
   clusters: softmax of 65536 and 262144 bf16 reaches 84 and 84 % of copy bandwidth with expf, 87 and 88 without. expf
   also takes a fifth of NVRTC's time for these kernels. */
static bool cg__is_rough_exp(ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    if (inst->op != IND_LOOP_EXP || inst->dtype != IND_F32) return false;
    for (uint32_t r = 1; r < i; r++)
        if (cg__inst(w, r)->op == IND_LOOP_REDUCE && cg__inst(w, r)->reduction == IND_REDUCE_ONLINE_SOFTMAX &&
            cg__softmax_term(w, r) == i)
            return cg__is_used_narrow(w, i);
    return false;
}

/* Writes an op from its op template. */
static void cg__compute(ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    uint32_t typed = inst->arg[inst->op == IND_LOOP_WHERE ? 1 : 0];
    ind_dtype type = (ind_dtype)cg__inst(w, typed)->dtype;
    const char *s =
        cg__is_rough_exp(w, i) ? "ind_exp2($0 * 1.44269504f)" : cg__find_op_template((ind_loop_op)inst->op, type);
    if (!s) {
        ind__fail(w->context, IND_NOT_SUPPORTED, "kernel %s: op %s does not exist for %s", w->kernel->name,
                  ind__loop_op_name((ind_loop_op)inst->op), ind_dtype_name(type));
        cg__fail(w);
        return;
    }
    static const struct {
        const char *in_text;
        int function;
    } functions[] = {{"f16(", IND__CG_F16},
                     {"_bf16(", IND__CG_BF16},
                     {"ind_max", IND__CG_MAXMIN},
                     {"ind_min", IND__CG_MAXMIN},
                     {"ind_div", IND__CG_DIV},
                     {"ind_pow", IND__CG_POW},
                     {"ind_mod", IND__CG_MOD},
                     {"ind_shift", IND__CG_SHIFT},
                     {"ind_gcd", IND__CG_GCD},
                     {"ind_philox", IND__CG_PHILOX},
                     {"f8e4m3fn(", IND__CG_F8E4M3FN},
                     {"f8e5m2(", IND__CG_F8E5M2},
                     {"ind_digamma", IND__CG_DIGAMMA},
                     {"ind_bessel_ie", IND__CG_BESSEL_IE},
                     {"ind_bessel_jy", IND__CG_BESSEL_JY},
                     {"ind_zeta", IND__CG_ZETA},
                     {"ind_exp2", IND__CG_EXP_BELOW},
                     {"ind_igamma", IND__CG_IGAMMA}};
    for (size_t k = 0; k < sizeof functions / sizeof functions[0]; k++)
        if (strstr(s, functions[k].in_text) && !(k == 0 && strstr(s, "bf16"))) cg__use(w, functions[k].function);
    cg__declare(w, i);
    for (; *s; s++) {
        if (*s != '$')
            ind__text_raw(&w->code, s, 1);
        else if (*++s == 't')
            ind__textf(&w->code, "%s", cg__types[type].value);
        else if (*s == 'u')
            ind__textf(&w->code, "%s", cg__types[type].wrapping);
        else if (*s == 'h' || *s == 'f')
            ind__textf(&w->code, "%d", (int)(*s == 'h' ? (inst->imm.i & 255) / 64 : (inst->imm.i & 255) % 64));
        else if (*s == 'm')
            ind__textf(&w->code, "0x%llxull", (1ull << (inst->imm.i >> 8)) - 1);
        else
            cg__value(w, inst->arg[*s - '0']);
    }
    ind__textf(&w->code, ";\n");
}

static bool cg__is_softmax_part(const ind__writer *w, uint32_t i, int which) {
    const ind__inst *inst = cg__inst(w, i);
    return inst->op == IND_LOOP_PART && inst->imm.i == which &&
           cg__inst(w, inst->arg[0])->reduction == IND_REDUCE_ONLINE_SOFTMAX;
}

/* True if i is the sum of an online softmax, with or without max - max added (which propagates NaN and infinity). */
static bool cg__is_softmax_sum(const ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    if (inst->op != IND_LOOP_ADD) return cg__is_softmax_part(w, i, 1);
    for (int k = 0; k < 2; k++) {
        const ind__inst *zero = cg__inst(w, inst->arg[k]);
        if (zero->op == IND_LOOP_SUB && zero->arg[0] == zero->arg[1] && cg__is_softmax_part(w, zero->arg[0], 0))
            return cg__is_softmax_part(w, inst->arg[1 - k], 1);
    }
    return false;
}

/* True if i divides a whole row by that sum. The sum is at least 1, so its reciprocal cannot overflow. Multiplying by
   the reciprocal costs one more rounding and takes a tenth of the instructions. It also avoids a division, which alone
   takes NVRTC 3 ms. */
static bool cg__divides_by_softmax_sum(const ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    return inst->op == IND_LOOP_DIV && inst->dtype == IND_F32 && cg__is_softmax_sum(w, inst->arg[1]) &&
           w->plan->varies[i] != w->plan->varies[inst->arg[1]];
}

static void cg__divide_by_softmax_sum(ind__writer *w, uint32_t i) {
    cg__declare(w, i);
    cg__value(w, cg__inst(w, i)->arg[0]);
    ind__textf(&w->code, " * ind_reciprocal_of_sum(");
    cg__value(w, cg__inst(w, i)->arg[1]);
    ind__textf(&w->code, ");\n");
    cg__use(w, IND__CG_RECIPROCAL_OF_SUM);
}

/* Writes one instruction on its own line. Its operands must have been written before. */
static void cg__instruction(ind__writer *w, uint32_t i) {
    switch (cg__inst(w, i)->op) {
    case IND_LOOP_NONE:
    case IND_LOOP_CONSTANT: break; /* written where it is used */
    case IND_LOOP_LOAD: cg__load(w, i); break;
    case IND_LOOP_STORE: cg__store(w, i); break;
    case IND_LOOP_INDIRECT: cg__indirect(w, i); break;
    case IND_LOOP_INDEX: cg__index_value(w, i); break;
    case IND_LOOP_CAST: cg__cast(w, i); break;
    case IND_LOOP_CALL: cg__call(w, i); break;
    case IND_LOOP_REDUCE:
    case IND_LOOP_PART:
    case IND_LOOP_SCAN:
    case IND_LOOP_STATE:
    case IND_LOOP_PAIR:
        ind__fail(w->context, IND_VERIFY, "kernel %s: value %u of a reduction or scan is used before it is known",
                  w->kernel->name, i);
        cg__fail(w);
        break;
    default:
        if (cg__divides_by_softmax_sum(w, i))
            cg__divide_by_softmax_sum(w, i);
        else
            cg__compute(w, i);
    }
}

/* Returns w->variant and replaces it by *scalar, a copy without vectors. The caller sets it back. *scalar must last
   until then. */
static const ind__variant *cg__write_scalars(ind__writer *w, ind__variant *scalar) {
    const ind__variant *before = w->variant;
    *scalar = *before;
    scalar->vector = 1;
    w->variant = scalar;
    return before;
}

/* Calls f for every value that the instruction uses: its arguments and the values in its indices. */
static void cg__each_use(const ind__writer *w, uint32_t i, void (*f)(void *self, uint32_t user, uint32_t used),
                         void *self) {
    const ind__inst *inst = cg__inst(w, i);
    if (inst->op == IND_LOOP_STORE) f(self, i, cg__stored_value(w, i));
    const int args = inst->op == IND_LOOP_PACKED ? 1 : IND__MAX_ARGS; /* the others are there for templates */
    for (int k = inst->op == IND_LOOP_STORE; k < args; k++)
        if (inst->arg[k]) f(self, i, inst->arg[k]);
    uint32_t num =
        inst->op == IND_LOOP_INDIRECT ? 1 : inst->num_index; /* an INDIRECT's second entry is its own symbol */
    for (uint32_t k = 0; k < num; k++) {
        ind_expr e = w->plan->domain.index[inst->index + k];
        if (!ind__expr_has_kind(e, IND_SYMBOL_INDIRECT)) continue;
        ind_expr symbol[64];
        int n = ind__expr_symbols(e, symbol, 64);
        for (int s = 0; s < n && s < 64; s++) {
            const ind_symbol *sym = ind_expr_symbol(symbol[s]);
            if (sym && sym->kind == IND_SYMBOL_INDIRECT && (uint32_t)sym->slot < i) f(self, i, (uint32_t)sym->slot);
        }
    }
}

static void cg__mark_needed(void *self, uint32_t user, uint32_t used) {
    ind__writer *w = (ind__writer *)self;
    (void)user;
    w->needed[used] = 1;
}

#define IND__CG_CHECK_ONCE    1 /* once per element of the result */
#define IND__CG_CHECK_REDUCED 2 /* once per reduced element */

/* True if the kernel must execute i for each of its elements, even if no result uses it. */
static bool cg__is_root(const ind__writer *w, uint32_t i) {
    return cg__inst(w, i)->op == IND_LOOP_STORE || w->plan->only_check[i] == IND__CG_CHECK_ONCE;
}

/* Marks instruction `root` as needed; cg__close_needed then adds its transitive operands. */
static void cg__need(ind__writer *w, uint32_t root) {
    w->needed[root] = 1;
}

static void cg__need_none(ind__writer *w) {
    memset(w->needed, 0, w->body->num_inst);
}

static void cg__close_needed(ind__writer *w) {
    for (uint32_t i = w->body->num_inst; i-- > 1;)
        if (w->needed[i] && !w->known[i] && !w->value[i]) cg__each_use(w, i, cg__mark_needed, w);
}

/* Writes, in order, the needed instructions that are not yet known. They may need at most `stage` finished reductions
   and depend only on variables in `allowed` (bits of ind__writer.varies). */
static void cg__emit(ind__writer *w, uint32_t allowed, int stage) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!w->needed[i] || w->known[i] || w->value[i] || (w->plan->varies[i] & ~allowed) || w->plan->stage[i] > stage)
            continue;
        cg__instruction(w, i);
        w->known[i] = (uint8_t)w->scope;
    }
}

#define IND__CG_ALL_VARS   0xffffffffu
#define IND__CG_ALL_STAGES 255

/* Writes all STOREs of the body and everything they need: an epilogue. Results of reductions must have names. */
static void cg__emit_stores(ind__writer *w) {
    cg__need_none(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_root(w, i)) cg__need(w, i);
    cg__close_needed(w);
    cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
}

/* ========================================================================================= src/cuda/decide/domain.c */
/* ------------------------------------------------------------------------------------------------- >>domain */

static int cg__num_vars(const ind__writer *w) {
    return w->plan->domain.rank + w->plan->domain.rrank;
}

static uint32_t cg__p_mask(const ind__writer *w) {
    return (1u << w->plan->domain.rank) - 1;
}

static uint32_t cg__r_mask(const ind__writer *w) {
    return ((1u << cg__num_vars(w)) - 1) & ~cg__p_mask(w);
}

/* Number of index expressions that an instruction's value depends on. */
static uint32_t cg__num_index(const ind__inst *inst) {
    if (inst->op == IND_LOOP_INDIRECT) return 1;
    return inst->op == IND_LOOP_LOAD || inst->op == IND_LOOP_STORE || inst->op == IND_LOOP_INDEX ? inst->num_index : 0;
}

/* Copies the domain of the body. */
static void cg__domain_init(cg__decider *d) {
    const ind_body *body = d->w.body;
    ind_expr *index = (ind_expr *)ind__arena_alloc(&d->w.scratch, (body->num_index + 1) * sizeof *index);
    if (!index)
        cg__fail(&d->w);
    else
        ind__loops_init(&d->plan->domain, body, index);
}

static void cg__merge_vars(cg__decider *d) {
    for (int v = cg__num_vars(&d->w) - 2; v >= 0; v--)
        if (v + 1 != d->plan->domain.rank) ind__loops_merge(&d->plan->domain, v);
    if (d->plan->domain.failed) cg__fail(&d->w);
}

/* Splits loops if that saves indices a division by a size known only at run time. Division by a constant costs an index
   no more than a position. The range of a scan remains one loop. */
static void cg__split_vars(cg__decider *d) {
    bool scan = ind__body_scan(d->w.body) != 0;
    for (int v = 0; v < (scan ? d->plan->domain.rank : cg__num_vars(&d->w)); v++) {
        ind_expr size = ind__loops_split_size(&d->plan->domain, v, NULL);
        while (ind__ok(size) && !ind_expr_is_int(size, NULL) && ind__loops_split(&d->plan->domain, v, size))
            size = ind__loops_split_size(&d->plan->domain, v, NULL);
    }
}

/* Makes P variable v the innermost one: the order of P is free, as its points are independent. */
static void cg__move_last(cg__decider *d, int v) {
    ind__loops *x = &d->plan->domain;
    ind_expr var = x->var[v], extent = x->extent[v];
    for (int i = v; i + 1 < x->rank; i++) {
        x->var[i] = x->var[i + 1];
        x->extent[i] = x->extent[i + 1];
    }
    x->var[x->rank - 1] = var;
    x->extent[x->rank - 1] = extent;
}

static void cg__propagate_use(void *self, uint32_t user, uint32_t used) {
    cg__decider *d = (cg__decider *)self;
    d->plan->varies[user] |= d->plan->varies[used];
    if (d->plan->stage[used] > d->plan->stage[user]) d->plan->stage[user] = d->plan->stage[used];
}

static void cg__mark_used(void *self, uint32_t user, uint32_t used) {
    cg__decider *d = (cg__decider *)self;
    (void)user;
    d->plan->only_check[used] = 0;
}

static void cg__find_only_checks(cg__decider *d) {
    for (uint32_t i = 1; i < d->w.body->num_inst; i++) {
        bool reduced = d->plan->varies[i] & cg__r_mask(&d->w);
        d->plan->only_check[i] = 0;
        if (cg__inst(&d->w, i)->op == IND_LOOP_INDIRECT && !(cg__inst(&d->w, i)->flags & IND__INST_CHECKED))
            d->plan->only_check[i] = reduced ? IND__CG_CHECK_REDUCED : IND__CG_CHECK_ONCE;
    }
    for (uint32_t i = 1; i < d->w.body->num_inst; i++) cg__each_use(&d->w, i, cg__mark_used, d);
}

static void cg__mark_rooted(void *self, uint32_t user, uint32_t used) {
    cg__decider *d = (cg__decider *)self;
    (void)user;
    d->plan->rooted[used] = 1;
}

static void cg__find_rooted(cg__decider *d) {
    memset(d->plan->rooted, 0, d->w.body->num_inst);
    for (uint32_t i = d->w.body->num_inst; i-- > 1;) {
        const ind_loop_op op = (ind_loop_op)cg__inst(&d->w, i)->op;
        const bool root = op == IND_LOOP_STORE || (op == IND_LOOP_INDIRECT && !cg__may_be_unused(&d->w, i));
        if (d->plan->varies[i] & cg__r_mask(&d->w) || op == IND_LOOP_REDUCE) continue;
        if (root || d->plan->rooted[i]) cg__each_use(&d->w, i, cg__mark_rooted, d);
    }
}

/* Marks the operands of values per row element and of REDUCEs. */
static void cg__mark_per_element(void *self, uint32_t user, uint32_t used) {
    cg__decider *d = (cg__decider *)self;
    (void)user;
    d->plan->resident[used] = 1;
}

static bool cg__is_scan(const ind__writer *w, uint32_t i) {
    return cg__inst(w, i)->op == IND_LOOP_SCAN && !ind__scan_sorts((ind_scan)cg__inst(w, i)->reduction);
}

/* A sort is its own stage, like a reduction: later passes over the row read its results. */
static bool cg__is_sort(const ind__writer *w, uint32_t i) {
    return cg__inst(w, i)->op == IND_LOOP_SCAN && ind__scan_sorts((ind_scan)cg__inst(w, i)->reduction);
}

/* Origin of a value: nothing scanned (0), a scan's results, or a reduction of these. */
enum { IND__CG_SCANNED = 1, IND__CG_AFTER_REDUCE = 2 };

static void cg__propagate_origin(void *self, uint32_t user, uint32_t used) {
    cg__decider *d = (cg__decider *)self;
    if (d->plan->resident[used] > d->plan->resident[user]) d->plan->resident[user] = d->plan->resident[used];
}

/* True if a value per element, a reduction or a scan needs a reduction of a scan's results. The scan then runs in
   several passes. */
static bool cg__rescans(cg__decider *d) {
    bool again = false;
    memset(d->plan->resident, 0, d->w.body->num_inst);
    for (uint32_t i = 1; i < d->w.body->num_inst; i++) {
        bool reduces = cg__inst(&d->w, i)->op == IND_LOOP_REDUCE;
        cg__each_use(&d->w, i, cg__propagate_origin, d);
        if (d->plan->resident[i] == IND__CG_AFTER_REDUCE && (reduces || d->plan->varies[i] & cg__r_mask(&d->w)))
            again = true;
        if (cg__is_scan(&d->w, i)) d->plan->resident[i] = IND__CG_SCANNED;
        if (reduces && d->plan->resident[i]) d->plan->resident[i] = IND__CG_AFTER_REDUCE;
    }
    memset(d->plan->resident, 0, d->w.body->num_inst);
    return again;
}

static void cg__propagate_level(void *self, uint32_t user, uint32_t used) {
    cg__decider *d = (cg__decider *)self;
    if (d->plan->level[used] > d->plan->level[user]) d->plan->level[user] = d->plan->level[used];
}

static void cg__find_levels(cg__decider *d) {
    for (uint32_t i = 1; i < d->w.body->num_inst; i++) {
        d->plan->level[i] = 0;
        cg__each_use(&d->w, i, cg__propagate_level, d);
        if (cg__is_scan(&d->w, i) && d->plan->level[i] < 255) d->plan->level[i]++;
        if (cg__is_sort(&d->w, i) || cg__inst(&d->w, i)->op == IND_LOOP_REDUCE) d->plan->level[i] = 0;
    }
}

/* With scans: REDUCEs that only results per row need can wait for their pass, the last one; so must REDUCEs of scan
   results. These REDUCEs, and the values computed from them, get the stage after it. */
static void cg__defer_reductions(cg__decider *d) {
    uint32_t num = d->w.body->num_inst;
    d->plan->scan_stage = 0;
    memset(d->plan->resident, 0, num);
    for (uint32_t i = num; i-- > 1;) {
        bool reduce = cg__inst(&d->w, i)->op == IND_LOOP_REDUCE;
        if (d->plan->resident[i] || reduce || d->plan->varies[i] & cg__r_mask(&d->w))
            cg__each_use(&d->w, i, cg__mark_per_element, d);
    }
    for (uint32_t i = 1; i < num; i++) {
        bool early = cg__inst(&d->w, i)->op == IND_LOOP_REDUCE && d->plan->resident[i];
        if (early && d->plan->stage[i] > d->plan->scan_stage) d->plan->scan_stage = d->plan->stage[i];
    }
    for (uint32_t i = 1; i < num; i++) {
        const ind__inst *inst = cg__inst(&d->w, i);
        d->plan->stage[i] = 0;
        cg__each_use(&d->w, i, cg__propagate_use, d);
        if (inst->op == IND_LOOP_REDUCE) {
            d->plan->varies[i] &= cg__p_mask(&d->w);
            d->plan->stage[i] = (uint8_t)(d->plan->resident[i] ? d->plan->stage[i] + 1 : d->plan->scan_stage + 1);
        }
    }
    memset(d->plan->resident, 0, num);
}

/* The part of a sort that is sorted in the buffer to which instruction i stores it; -1: none. */
static int cg__sorts_in_place(const ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i), *value = cg__inst(w, inst->arg[0]);
    if (w->variant->strategy != IND_STRATEGY_SORT_LONG || inst->op != IND_LOOP_STORE) return -1;
    if (value->op != IND_LOOP_PART || !cg__is_sort(w, value->arg[0])) return -1;
    for (uint32_t k = 1; k < i; k++) /* only its first store */
        if (cg__inst(w, k)->op == IND_LOOP_STORE && cg__inst(w, k)->arg[0] == inst->arg[0]) return -1;
    return (int)value->imm.i;
}

static bool cg__stores_per_element(const ind__writer *w, uint32_t i) {
    bool varies = w->plan->varies[i] & cg__r_mask(w) || cg__combines_run(w, i);
    return cg__inst(w, i)->op == IND_LOOP_STORE && varies && cg__sorts_in_place(w, i) < 0;
}

static int cg__last_stage(const ind__writer *w) {
    int last = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        bool ends = cg__inst(w, i)->op == IND_LOOP_REDUCE || cg__is_sort(w, i);
        const bool checks = w->plan->only_check[i] == IND__CG_CHECK_REDUCED;
        int s = checks || cg__stores_per_element(w, i) ? w->plan->stage[i] : ends ? w->plan->stage[i] - 1 : 0;
        last = s > last ? s : last;
    }
    return last;
}

/* Fills `varies`, `stage`, `only_check` and the analysis of scans, once the domain is final. */
static void cg__analyse(cg__decider *d) {
    bool reduces = false;
    for (uint32_t i = 1; i < d->w.body->num_inst; i++) {
        const ind__inst *inst = cg__inst(&d->w, i);
        d->plan->varies[i] = 0;
        d->plan->stage[i] = 0;
        for (uint32_t k = inst->index; k < inst->index + cg__num_index(inst); k++)
            for (int v = 0; v < cg__num_vars(&d->w); v++)
                if (ind__expr_depends(d->plan->domain.index[k], d->plan->domain.var[v])) d->plan->varies[i] |= 1u << v;
        cg__each_use(&d->w, i, cg__propagate_use, d);
        if (inst->op == IND_LOOP_STORE && inst->reduction)
            d->plan->varies[i] |= cg__p_mask(&d->w); /* each point counts */
        if (cg__combines_run(&d->w, i)) d->plan->varies[i] |= cg__r_mask(&d->w);
        bool scanned = inst->op == IND_LOOP_SCAN || inst->op == IND_LOOP_STATE || inst->op == IND_LOOP_PAIR;
        if (scanned) d->plan->varies[i] |= cg__r_mask(&d->w);
        if (cg__is_sort(&d->w, i) && d->plan->stage[i] < 254) d->plan->stage[i]++;
        if (inst->op != IND_LOOP_REDUCE) continue;
        reduces = true;
        d->plan->varies[i] &= cg__p_mask(&d->w);
        if (d->plan->stage[i] < 254) d->plan->stage[i]++;
    }
    cg__find_only_checks(d);
    if (ind__body_scan(d->w.body)) {
        cg__find_levels(d);
        d->plan->scan_stage = ind__body_sort(d->w.body) || cg__rescans(d) ? cg__last_stage(&d->w) : 0;
        if (reduces && !ind__body_sort(d->w.body) && !cg__rescans(d)) cg__defer_reductions(d);
    }
    if (d->plan->domain.rrank) cg__find_rooted(d);
}

static bool cg__uses_index(const ind__writer *w, uint32_t user, uint32_t indirect) {
    const ind__inst *inst = cg__inst(w, user);
    const ind_expr own = w->body->index[cg__inst(w, indirect)->index + 1];
    for (int k = 0; k < IND__MAX_ARGS; k++)
        if (inst->arg[k] == indirect) return true;
    for (uint32_t k = inst->index; k < inst->index + cg__num_index(inst); k++)
        if (ind__expr_depends(w->plan->domain.index[k], own)) return true;
    return false;
}

/* True if the INDIRECT is the same for a whole row and only elements of the row use it, of which there may be none. The
   check is then skipped, as when the indexing op runs unfused: it computes no element. */
static bool cg__may_be_unused(const ind__writer *w, uint32_t indirect) {
    int64_t least = 1;
    bool used = false;
    if (w->plan->domain.rrank && !(w->plan->varies[indirect] & cg__r_mask(w)))
        ind__known_bounds(cg__r_numel(w), &least, NULL);
    for (uint32_t i = indirect + 1; i < w->body->num_inst && least < 1; i++) {
        if (!cg__uses_index(w, i, indirect)) continue;
        if (!(w->plan->varies[i] & cg__r_mask(w)) && cg__inst(w, i)->op != IND_LOOP_REDUCE) return false;
        used = true;
    }
    return used;
}

static bool cg__is_access(const ind__writer *w, uint32_t i) {
    return cg__inst(w, i)->op == IND_LOOP_LOAD || cg__inst(w, i)->op == IND_LOOP_STORE;
}

/* True if access i moves by exactly one element whenever variable v moves by one. */
static bool cg__contiguous(const ind__writer *w, uint32_t i, int v) {
    int64_t one;
    return cg__is_access(w, i) && ind_expr_is_int(ind_expr_stride(cg__index_of(w, i), w->plan->domain.var[v]), &one) &&
           one == 1;
}

/* True if it does so at least within runs, as in heads of 64 columns, whose offset is found by division. */
static bool cg__in_runs(const ind__writer *w, uint32_t i, int v) {
    return cg__is_access(w, i) &&
           ind__ok(ind__run_base(cg__index_of(w, i), w->plan->domain.var[v], w->target->thresholds.run));
}

/* Bytes per point of the accesses that vary with some variable in `among` (0: of all). Those contiguous along v, or, if
   `scattered`, the others that change along v. Stores count twice, as scattered writes cost more. */
static int cg__bytes_along(const ind__writer *w, int v, uint32_t among, bool scattered) {
    int sum = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__is_access(w, i) || (among && !(w->plan->varies[i] & among)) || cg__in_runs(w, i, v) == scattered)
            continue;
        if (scattered && !(w->plan->varies[i] >> v & 1)) continue;
        int bytes = ind_dtype_bytes(cg__memory_dtype(w, i));
        sum += cg__inst(w, i)->op == IND_LOOP_STORE ? 2 * bytes : bytes;
    }
    return sum;
}

/* Share of the domain's points for which access i moves an element: points along a variable that it does not depend on
   share one element, as all columns share an index of a row. */
static double cg__share(const ind__writer *w, uint32_t i) {
    double share = 1;
    ind_expr index = cg__index_of(w, i);
    if (ind__expr_has_kind(index, IND_SYMBOL_INDIRECT)) return share;
    for (int v = 0; v < w->plan->domain.rank; v++) {
        const double extent = (double)ind_hint(w->plan->domain.extent[v]);
        if (extent > 1 && !ind__expr_depends(index, w->plan->domain.var[v])) share /= extent;
    }
    return share;
}

/* The P variable along which most bytes are contiguous (the innermost of equals); -1: none. */
static int cg__best_p(const ind__writer *w, uint32_t among) {
    int best = -1, most = 0;
    for (int v = w->plan->domain.rank - 1; v >= 0; v--) {
        int bytes = cg__bytes_along(w, v, among, false);
        if (bytes <= most) continue;
        most = bytes;
        best = v;
    }
    return best;
}

/* ======================================================================================== src/cuda/decide/vectors.c */
/* ------------------------------------------------------------------------------------------------ >>vectors */

/* The slack of an inequality, which holds if the slack is >= 0: right minus left side, minus 1 for x < y. */
static ind_expr cg__slack(ind_expr condition) {
    ind_expr slack = ind_expr_sub(ind_expr_arg(condition, 1), ind_expr_arg(condition, 0));
    bool less = ind_expr_query_kind(condition) == IND_EXPR_LT;
    return less ? ind_expr_sub(slack, ind_int(condition.context, 1)) : slack;
}

/* True if g implies the condition. Inequalities are compared by the known bounds of their slack. */
static bool cg__implies(ind_expr g, ind_expr condition) {
    if (ind_expr_same(g, condition)) return true;
    const ind_expr_kind a = ind_expr_query_kind(g), b = ind_expr_query_kind(condition);
    if ((a != IND_EXPR_LE && a != IND_EXPR_LT) || (b != IND_EXPR_LE && b != IND_EXPR_LT)) return false;
    return ind_known_le(cg__slack(g), cg__slack(condition));
}

/* The number of conditions of a guard, which is one condition or an `and` of several. */
static int cg__num_conditions(ind_expr guard) {
    return !ind__ok(guard) ? 0 : ind_expr_query_kind(guard) == IND_EXPR_AND ? ind_expr_num_args(guard) : 1;
}

static ind_expr cg__condition(ind_expr guard, int i) {
    return ind_expr_query_kind(guard) == IND_EXPR_AND ? ind_expr_arg(guard, i) : guard;
}

/* Adds a condition to a variant's guard; false if the condition can never hold. */
static bool cg__guard(ind__variant *v, ind_expr condition) {
    int64_t value;
    if (!ind__ok(condition)) return false;
    if (ind_expr_is_int(condition, &value)) return value != 0;
    if (ind__expr_has_kind(condition, IND_SYMBOL_UNBACKED)) return false; /* unknown before the launch */
    for (int i = 0; i < cg__num_conditions(v->guard); i++)
        if (cg__implies(cg__condition(v->guard, i), condition)) return true;
    v->guard = ind__ok(v->guard) ? ind_expr_and(v->guard, condition) : condition;
    return true;
}

/* True if the guard implies that e % n is 0: for e itself, or for a factor or all terms of it. */
static bool cg__promised(ind_expr guard, ind_expr e, int n, int depth) {
    ind_context *c = e.context;
    ind_expr_kind kind = ind_expr_query_kind(e);
    ind_expr wanted = ind_expr_eq(ind_expr_mod(e, ind_int(c, n)), ind_int(c, 0));
    for (int i = 0; i < cg__num_conditions(guard); i++)
        if (ind_expr_same(cg__condition(guard, i), wanted)) return true;
    if ((kind != IND_EXPR_MUL && kind != IND_EXPR_ADD) || depth > IND__CG_MAX_DEPTH) return false;
    int promised = 0;
    for (int i = 0; i < ind_expr_num_args(e); i++) {
        ind_expr a = ind_expr_arg(e, i);
        promised += ind_known_multiple(a, n) || cg__promised(guard, a, n, depth + 1);
    }
    return kind == IND_EXPR_MUL ? promised > 0 : promised == ind_expr_num_args(e);
}

/* True if `e` is a multiple of n: proven, or likely if this may be assumed; the condition is then added to *guard. */
static bool cg__multiple(const cg__decider *d, ind_expr e, int n, ind_expr *guard) {
    if (ind_known_multiple(e, n)) return true;
    if (!(d->assume & IND__ASSUME_DIVISIBLE) || !ind__expr_is_size(e) || ind_expr_is_int(e, NULL)) return false;
    if (ind_hint(e) % n != 0) return false;
    if (ind__expr_has_kind(e, IND_SYMBOL_UNBACKED)) return false;
    if (ind_hint(e) < 0) e = ind_expr_neg(e); /* -s and s are one condition */
    if (cg__promised(*guard, e, n, 0)) return true;
    ind_expr condition = ind_expr_eq(ind_expr_mod(e, ind_int(d->w.context, n)), ind_int(d->w.context, 0));
    int64_t value;
    if (!ind__ok(condition) || (ind_expr_is_int(condition, &value) && !value)) return false;
    if (!ind_expr_is_int(condition, NULL)) *guard = ind__ok(*guard) ? ind_expr_and(*guard, condition) : condition;
    return true;
}

/* True if an index without the vectorised variable is always a multiple of n. If the whole is not proven, every stride
   must be. */
static bool cg__multiple_index(const cg__decider *d, ind_expr rest, int n, ind_expr *guard) {
    if (ind_known_multiple(rest, n)) return true;
    ind_expr symbol[32];
    int num = ind__expr_symbols(rest, symbol, 32);
    if (num > 32) return false;
    for (int s = 0; s < num; s++) {
        const ind_symbol *sym = ind_expr_symbol(symbol[s]);
        if (sym->kind != IND_SYMBOL_INDEX && sym->kind != IND_SYMBOL_INDIRECT) continue;
        ind_expr stride, others;
        if (!ind__affine(rest, symbol[s], &stride, &others) || !cg__multiple(d, stride, n, guard)) return false;
        rest = others;
    }
    return cg__multiple(d, rest, n, guard);
}

/* True if values in this index that were loaded from memory vary along variable v. */
static bool cg__indirect_varies(const ind__writer *w, ind_expr index, int v) {
    ind_expr symbol[32];
    if (!ind__expr_has_kind(index, IND_SYMBOL_INDIRECT)) return false;
    int num = ind__expr_symbols(index, symbol, 32);
    for (int s = 0; s < num && s < 32; s++) {
        const ind_symbol *sym = ind_expr_symbol(symbol[s]);
        if (sym->kind == IND_SYMBOL_INDIRECT && w->plan->varies[sym->slot] >> v & 1) return true;
    }
    return num > 32;
}

/* Buffers in the arena start at multiples of 256 bytes; the caller's buffers are only likely to be aligned. */
static bool cg__in_arena(const ind__writer *w, uint32_t buffer) {
    return w->schedule->offset && ind__ok(w->schedule->offset[buffer]);
}

/* ---- masks that hold for all elements of a vector or for none, such as those of a concatenation's parts if the vector
   width divides the parts' edges. One test then guards the vector. */

/* The mask of a LOAD or STORE; 0: none. */
static uint32_t cg__mask_of(const ind__writer *w, uint32_t access) {
    const ind__inst *inst = cg__inst(w, access);
    return inst->arg[inst->op == IND_LOOP_STORE];
}

static bool cg__varies_along(const ind__writer *w, uint32_t i, int v) {
    return w->plan->varies[i] >> v & 1;
}

/* An inequality is the same for all lanes if its slack is n*x + lane or n*x - 1 - lane: the sign is that of x, or of
   x - 1. */
static bool cg__uniform_inequality(const cg__decider *d, ind_expr condition, ind_expr lane, int n, ind_expr *guard) {
    ind_expr step, rest;
    int64_t by;
    if (!ind__affine(cg__slack(condition), lane, &step, &rest) || !ind_expr_is_int(step, &by)) return false;
    if (by != 1 && by != -1) return false;
    return cg__multiple_index(d, by > 0 ? rest : ind_expr_add(rest, ind_int(d->w.context, 1)), n, guard);
}

/* True if e is the same for all lanes of a vector of n. */
static bool cg__uniform_expr(const cg__decider *d, ind_expr e, ind_expr lane, int n, ind_expr *guard, int depth) {
    const ind_expr_kind kind = ind_expr_query_kind(e);
    if (!ind__ok(e) || depth > IND__CG_MAX_DEPTH) return false;
    if (!ind__expr_depends(e, lane)) return true;
    if (kind == IND_EXPR_LT || kind == IND_EXPR_LE) return cg__uniform_inequality(d, e, lane, n, guard);
    if (kind != IND_EXPR_AND && kind != IND_EXPR_OR && kind != IND_EXPR_NOT) return false;
    for (int i = 0; i < ind_expr_num_args(e); i++)
        if (!cg__uniform_expr(d, ind_expr_arg(e, i), lane, n, guard, depth + 1)) return false;
    return true;
}

/* True if the value is the same for n neighbours along variable v, from each multiple of n on, given that its operands
   are. Values from memory and of reductions are not. */
static bool cg__uniform_value(const cg__decider *d, uint32_t i, int v, int n, ind_expr *guard) {
    const ind_loop_op op = (ind_loop_op)cg__inst(&d->w, i)->op;
    ind_expr lane = {0};
    if (op != IND_LOOP_INDEX) return op == IND_LOOP_CAST || !strchr("sru", ind__loop_op_class(op));
    if (cg__indirect_varies(&d->w, cg__index_of(&d->w, i), v)) return false;
    const ind_expr e = ind__by_vectors(cg__index_of(&d->w, i), d->plan->domain.var[v], n, &lane);
    return cg__uniform_expr(d, e, lane, n, guard, 0);
}

enum { IND__CG_UNIFORM = 1, IND__CG_ASKED = 2 };

/* True if the mask, which varies along v, is the same for n neighbours. Marks its operands in `uniform` then. */
static bool cg__uniform_mask(cg__decider *d, uint32_t mask, int v, int n, ind_expr *guard) {
    bool uniform = true;
    if (!d->plan->uniform[mask]) d->plan->uniform[mask] = IND__CG_ASKED;
    for (uint32_t i = mask; i > 0 && uniform; i--) {
        if (d->plan->uniform[i] != IND__CG_ASKED) continue;
        uniform = cg__uniform_value(d, i, v, n, guard);
        for (int k = 0; k < IND__MAX_ARGS; k++) {
            const uint32_t used = cg__inst(&d->w, i)->arg[k];
            if (used && cg__varies_along(&d->w, used, v) && !d->plan->uniform[used])
                d->plan->uniform[used] = IND__CG_ASKED;
        }
    }
    for (uint32_t i = 1; i <= mask; i++)
        if (d->plan->uniform[i] == IND__CG_ASKED) d->plan->uniform[i] = uniform ? IND__CG_UNIFORM : 0;
    return uniform;
}

static void cg__no_vectors(cg__decider *d) {
    memset(d->plan->vector, 1, d->w.body->num_inst);
    memset(d->plan->uniform, 0, d->w.body->num_inst);
}

/* True if one test of the mask can guard n neighbours of the access along v. Kernels over points and rows compute such
   masks before the neighbours. */
static bool cg__masks_vector(cg__decider *d, uint32_t i, int v, int n, ind_expr *guard) {
    const uint32_t mask = cg__mask_of(&d->w, i);
    const bool loops = d->w.kernel->kind == IND_KERNEL_POINTWISE || d->w.kernel->kind == IND_KERNEL_REDUCTION;
    if (!mask) return true;
    if (!cg__varies_along(&d->w, mask, v)) return loops || cg__inst(&d->w, i)->op == IND_LOOP_STORE;
    return loops && cg__uniform_mask(d, mask, v, n, guard);
}

/* True if STORE i can write n neighbours at once; one that reduces into memory needs an instruction for so many. */
static bool cg__vector_store(const ind__writer *w, uint32_t i, int n) {
    const ind__inst *inst = cg__inst(w, i);
    if (!inst->arg[1] && !inst->reduction) return true;
    if (w->kernel->kind == IND_KERNEL_MATMUL || cg__combines_run(w, i)) return false;
    return !inst->reduction || (ind_dtype_bytes(cg__memory_dtype(w, i)) * n <= 32 && cg__adder(w, i, n));
}

/* True if LOAD or STORE i can move n neighbours along variable v in one access. Conditions are added to *guard. An
   access under a mask that varies along v adds none to an empty guard: such masks never cause another variant. */
static bool cg__vector_access(cg__decider *d, uint32_t i, int v, int n, ind_expr *guard, bool *aligned) {
    const ind__inst *inst = cg__inst(&d->w, i);
    ind_expr keep = *guard;
    if (!cg__is_access(&d->w, i) || (inst->op == IND_LOOP_STORE && !cg__vector_store(&d->w, i, n))) return false;
    bool once =
        inst->op == IND_LOOP_STORE && !(d->plan->varies[i] & cg__r_mask(&d->w)); /* per column, by its own thread */
    if (once && d->variant->strategy == IND_STRATEGY_COLUMN_SPLIT) return false;
    if (!cg__in_arena(&d->w, inst->source) && !(d->assume & IND__ASSUME_ALIGNED)) return false;
    ind_expr base = ind__run_base(cg__index_of(&d->w, i), d->plan->domain.var[v], n);
    if (!ind__ok(base) || cg__indirect_varies(&d->w, base, v)) return false;
    const int assume = d->assume;
    if (cg__varies_along(&d->w, cg__mask_of(&d->w, i), v) && !ind__ok(keep)) d->assume &= ~IND__ASSUME_DIVISIBLE;
    const bool fits = cg__multiple_index(d, base, n, guard) && cg__masks_vector(d, i, v, n, guard);
    d->assume = assume;
    if (!fits) {
        *guard = keep;
        return false;
    }
    if (!cg__in_arena(&d->w, inst->source)) *aligned = true;
    return true;
}

/* True if the elements that n neighbours along v gather by separate indices fit in registers. The compiler loads all of
   them before it uses the first (six bicubic samples of a grid, 16 each, by 8 neighbours: 255 registers, and
   spills). */
static bool cg__finds_few(const ind__writer *w, int v, int n) {
    int found = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__inst(w, i)->op == IND_LOOP_LOAD && cg__indirect_varies(w, cg__index_of(w, i), v))
            found += (ind_dtype_bytes((ind_dtype)cg__inst(w, i)->dtype) + 3) / 4;
    return found * n <= w->target->thresholds.most_found;
}

/* True if the access alone justifies vectors. A masked load of a reduction does only if it loads elements of the row:
   for the weights of a window a thread would take neighbours whose elements may be scattered. */
static bool cg__suggests_vectors(const ind__writer *w, uint32_t i) {
    bool element = !w->plan->domain.rrank || !cg__mask_of(w, i);
    for (int d = w->plan->domain.rank; d < cg__num_vars(w) && !element; d++)
        element = ind__expr_depends(cg__index_of(w, i), w->plan->domain.var[d]);
    return element;
}

/* Tries vectors of n elements along variable v; false if no access allows them. Narrow elements move 16 bytes at once;
   elements up to twice as wide then take two accesses. `tail`: the emitter handles a remainder of the extent. */
static bool cg__try_vector(cg__decider *d, int v, int n, bool tail) {
    ind_expr guard = {0};
    bool aligned = false, any = false;
    int narrowest = 16, widest = 0;
    if (!cg__finds_few(&d->w, v, n)) return false;
    if (!tail && !cg__multiple(d, d->plan->domain.extent[v], n, &guard)) return false;
    cg__no_vectors(d);
    for (uint32_t i = 1; i < d->w.body->num_inst; i++) {
        if (!cg__is_access(&d->w, i) || !cg__vector_access(d, i, v, n, &guard, &aligned)) continue;
        int bytes = ind_dtype_bytes(cg__memory_dtype(&d->w, i));
        narrowest = bytes < narrowest ? bytes : narrowest;
        widest = bytes > widest ? bytes : widest;
        d->plan->vector[i] = (uint8_t)n;
        any |= cg__suggests_vectors(&d->w, i);
    }
    if (!any || narrowest * n > 16 || widest * n > (n == 16 ? 16 : 32)) return false;
    if (ind__ok(guard)) cg__guard(d->variant, guard);
    if (ind__ok(guard)) d->used |= IND__ASSUME_DIVISIBLE;
    d->variant->guard_aligned |= aligned;
    return true;
}

/* Chooses the elements along v per thread, and which accesses are vectors. */
static int cg__choose_vector(cg__decider *d, int v, bool tail) {
    for (int n = d->w.kernel->kind == IND_KERNEL_POINTWISE ? 16 : 8; n >= 2; n /= 2)
        if (cg__try_vector(d, v, n, tail)) return n;
    cg__no_vectors(d);
    return 1;
}

/* =========================================================================================== src/cuda/emit/launch.c */
/* ------------------------------------------------------------------------------------------------- >>launch */

/* Returns the largest value of e. e must grow with every variable in it: a sum of products of nonnegative terms. */
static ind_expr cg__upper(const ind__writer *w, ind_expr e) {
    ind_expr symbol[32], top[32];
    int num = ind__expr_symbols(e, symbol, 32), n = 0;
    if (num > 32) return (ind_expr){0};
    for (int s = 0; s < num; s++) {
        const ind_symbol *sym = ind_expr_symbol(symbol[s]);
        if (!ind__ok(sym->extent)) continue;
        symbol[n] = symbol[s];
        top[n++] = ind_expr_sub(sym->extent, ind_int(w->context, 1));
    }
    return ind__substitute(e, symbol, top, n);
}

static bool cg__fits(ind_expr e, int64_t limit) {
    int64_t lo, hi;
    ind__known_bounds(e, &lo, &hi);
    return lo >= -limit - 1 && hi <= limit;
}

/* True if e grows with every symbol in it: it has only nonnegative sums and products, and their quotients by sizes. */
static bool cg__monotone(ind_expr e, int depth) {
    ind_expr_kind kind = ind_expr_query_kind(e);
    int64_t lo, hi;
    ind__known_bounds(e, &lo, &hi);
    if (lo < 0 || depth > IND__CG_MAX_DEPTH) return false;
    if (kind == IND_EXPR_INT || kind == IND_EXPR_SYM || ind__expr_is_size(e)) return true;
    if (kind != IND_EXPR_ADD && kind != IND_EXPR_MUL && kind != IND_EXPR_FLOORDIV) return false;
    if (kind == IND_EXPR_FLOORDIV && !ind__expr_is_size(ind_expr_arg(e, 1))) return false;
    for (int i = 0; i < ind_expr_num_args(e); i++)
        if (!cg__monotone(ind_expr_arg(e, i), depth + 1)) return false;
    return true;
}

#define IND__CG_SLACK (1 << 20) /* the largest distance of a thread's index beyond the domain */

static ind_expr cg__p_numel(const ind__writer *w) {
    return ind_expr_product(w->context, w->plan->domain.extent, w->plan->domain.rank);
}

static ind_expr cg__r_numel(const ind__writer *w) {
    return ind_expr_product(w->context, w->plan->domain.extent + w->plan->domain.rank, w->plan->domain.rrank);
}

static int64_t cg__upper_bound(ind_expr e) {
    int64_t lo, hi;
    ind__known_bounds(e, &lo, &hi);
    return hi;
}

static bool cg__power_of_two(int n) {
    return n > 0 && !(n & (n - 1));
}

static int cg__pow2_at_least(int64_t n, int lo, int hi) {
    int p = lo;
    while (p < hi && p < n) p *= 2;
    return p;
}

/* Returns "unsigned" in the width of the indices, the type of linear positions when they are divided into variables. */
static const char *cg__unsigned(const ind__writer *w) {
    return w->plan->wide ? "unsigned long long" : "unsigned";
}

/* Returns a size as a divisor of a linear position: "384u" or "(unsigned)n1". */
static const char *cg__divisor(ind__writer *w, ind_expr size) {
    int64_t value;
    if (ind_expr_is_int(size, &value)) return cg__string(w, w->plan->wide ? "%lldull" : "%lldu", (long long)value);
    return cg__string(w, "(%s)%s", cg__unsigned(w), cg__expr_string(w, size));
}

/* True if positions below this many points, plus IND__CG_SLACK, are below 2^31. */
static bool cg__narrow(const ind__writer *w, ind_expr points) {
    return !w->plan->wide || cg__fits(ind_expr_add(points, ind_int(w->context, IND__CG_SLACK)), IND__CG_INT32_MAX);
}

/* Returns the argument that ind_quotient multiplies by: the reciprocal of a divisor. */
static ind__kernel_arg cg__reciprocal(ind_expr size) {
    ind_context *c = size.context;
    int64_t least;
    ind__known_bounds(size, &least, NULL);
    ind_expr divisor = least < 1 ? ind_expr_max(size, ind_int(c, 1)) : size;
    ind_expr all = ind_expr_floordiv(ind_int(c, ((int64_t)1 << 62) - 1), divisor);
    return (ind__kernel_arg){
        .kind = IND__ARG_SIZE, .size = ind_expr_add(all, ind_int(c, 1)), .reciprocal = true, .divisor = size};
}

/* Returns the expression "position / size". If the size is known only at run time, a position below 2^31 (`narrow`) is
   divided by a multiplication. */
static const char *cg__quotient(ind__writer *w, const char *position, ind_expr size, bool narrow) {
    int64_t value;
    if (ind_expr_is_int(size, &value))
        return cg__string(w, narrow ? "(unsigned)%s / %lldu" : "(unsigned long long)%s / %lldull", position,
                          (long long)value);
    if (!narrow) return cg__string(w, "(%s)%s / %s", cg__unsigned(w), position, cg__divisor(w, size));
    cg__use(w, IND__CG_QUOTIENT);
    return cg__string(w, "ind_quotient(%s, m%u)", position, cg__value_arg(w, cg__reciprocal(size)));
}

/* ---- blocks along three axes: x, which runs fastest, y and z. An axis is folded into x if it may have more blocks
   than y or z of a grid allows. */

#define IND__CG_MAX_GRID_YZ 65535 /* CUDA C Programming Guide, compute capabilities */

static bool cg__own_axis(ind_expr blocks) {
    return ind_known_le(blocks, ind_int(blocks.context, IND__CG_MAX_GRID_YZ));
}

/* Declares the block's position along each axis and returns its name in at[]. */
static void cg__write_axes(ind__writer *w, const ind_expr blocks[3], const char *at[3]) {
    static const char *const axis[] = {"blockIdx.x", "blockIdx.y", "blockIdx.z"};
    for (int d = 0; d < 3; d++) at[d] = axis[d];
    for (int d = 2; d > 0; d--) {
        if (cg__own_axis(blocks[d])) continue;
        ind_expr faster = d == 2 && !cg__own_axis(blocks[1]) ? ind_expr_mul(blocks[0], blocks[1]) : blocks[0];
        at[d] = cg__string(w, "block_%c", "xyz"[d]);
        ind__textf(&w->code, "const unsigned %s = %s;\n", at[d], cg__quotient(w, at[0], faster, true));
        const char *rest = cg__string(w, "in_block_%c", "xyz"[d]);
        ind__textf(&w->code, "const unsigned %s = %s - %s * %s;\n", rest, at[0], at[d], cg__divisor(w, faster));
        at[0] = rest;
    }
}

/* Declares the P variables, except those in `skip` (bits), as the digits of a position below 2^31. */
static void cg__write_outer_vars(ind__writer *w, const char *position, uint32_t skip) {
    int first = 0;
    while (first < w->plan->domain.rank && skip >> first & 1) first++;
    for (int v = w->plan->domain.rank - 1; v >= first; v--) {
        if (skip >> v & 1) continue;
        w->var[v] = cg__string(w, "i%d", v);
        if (v == first) {
            ind__textf(&w->code, "const %s i%d = %s;\n", cg__int(w), v, position);
            break;
        }
        const char *rest = cg__string(w, "outside_%d", v);
        ind_expr extent = w->plan->domain.extent[v];
        ind__textf(&w->code, "const unsigned %s = %s;\n", rest, cg__quotient(w, position, extent, true));
        ind__textf(&w->code, "const %s i%d = %s - %s * %s;\n", cg__int(w), v, position, rest, cg__divisor(w, extent));
        position = rest;
    }
}

/* ---- digits of a linear position */

/* True if an index uses the variable, or the linear position symbol. */
static bool cg__is_used(const ind__writer *w, ind_expr symbol) {
    for (uint32_t k = 0; k < w->body->num_index; k++)
        if (ind__expr_depends(w->plan->domain.index[k], symbol)) return true;
    return false;
}

/* Returns e with its terms in the P variables 0 .. last replaced by c * position. Returns e unchanged if those terms
   are not c times the linear position. */
static ind_expr cg__by_position(const ind__writer *w, ind_expr e, int last, ind_expr position) {
    const ind__loops *d = &w->plan->domain;
    ind_expr c, stride, rest;
    if (!ind__affine(e, d->var[last], &c, &rest) || ind_known_eq(c, ind_int(w->context, 0))) return e;
    stride = c;
    for (int v = last - 1; v >= 0; v--) {
        ind_expr own;
        stride = ind_expr_mul(stride, d->extent[v + 1]);
        if (!ind__affine(rest, d->var[v], &own, &rest) || !ind_expr_same(own, stride)) return e;
    }
    for (int v = 0; v <= last; v++)
        if (ind__expr_depends(c, d->var[v])) return e;
    return ind_expr_add(ind_expr_mul(c, position), rest);
}

/* Rewrites indices in linear positions: 384 * p instead of 384 * S * i0 + 384 * i1. A position is known before its
   digits, and the digits are then often unused. */
static void cg__use_positions(ind__writer *w) {
    for (int last = w->plan->domain.rank - 1; last > 0; last--) {
        ind_expr points = ind_expr_product(w->context, w->plan->domain.extent, last + 1);
        w->linear[last] = ind__index_symbol(w->context, 'p', last, points);
        for (uint32_t k = 0; k < w->body->num_index && ind__ok(w->linear[last]); k++) {
            ind_expr e = cg__by_position(w, w->plan->domain.index[k], last, w->linear[last]);
            if (ind__ok(e)) w->plan->domain.index[k] = e;
        }
    }
}

/* True if an index uses the position in the variables from .. v. */
static bool cg__needs_position(const ind__writer *w, int from, int v) {
    for (int k = from; k <= v; k++)
        if (cg__is_used(w, w->plan->domain.var[k]) || (k < w->plan->domain.rank && cg__is_used(w, w->linear[k])))
            return true;
    return false;
}

/* Declares the variables from + 0 .. from + n - 1 of the domain as i0, i1 .. or r0, r1 ..: the digits of `linear`.
   Unused digits are left out. */
static void cg__split_linear(ind__writer *w, const char *linear, int from, int n) {
    bool parallel = from < w->plan->domain.rank;
    if (parallel && n > 1 && !ind__ok(w->linear[n - 1])) cg__use_positions(w); /* for a batch of rows, once */
    const char *position = linear;
    for (int v = from + n - 1; v >= from; v--) {
        ind_expr extent = w->plan->domain.extent[v];
        ind_expr points = ind_expr_product(w->context, w->plan->domain.extent + from, v - from + 1);
        bool digit = cg__is_used(w, w->plan->domain.var[v]), outer = v > from && cg__needs_position(w, from, v - 1);
        w->var[v] = cg__string(w, parallel ? "i%d" : "r%d", v - from);
        if (parallel) w->linear_name[v] = position;
        if (v == from) break;
        const char *rest =
            v - 1 == from ? cg__string(w, parallel ? "i0" : "r0") : cg__string(w, "%s_%d", linear, v - 1);
        if (outer || (digit && !ind_expr_is_int(extent, NULL)))
            ind__textf(&w->code, "const %s %s = %s;\n", cg__int(w), rest,
                       cg__quotient(w, position, extent, cg__narrow(w, points)));
        else if (digit)
            ind__textf(&w->code, "const %s %s = (%s)%s %% %s;\n", cg__int(w), w->var[v], cg__unsigned(w), position,
                       cg__divisor(w, extent));
        if (digit && (outer || !ind_expr_is_int(extent, NULL)))
            ind__textf(&w->code, "const %s %s = %s - %s * %s;\n", cg__int(w), w->var[v], position, rest,
                       cg__expr_string(w, extent));
        position = rest;
    }
}

/* ========================================================================================= src/cuda/decide/launch.c */
/* ---- decisions of every strategy: the reason, the width of indices, the grid ---- */

/* Sets the reason that the plan prints; it lives as long as the plan. */
IND__PRINTF(2, 3) static void cg__why(cg__decider *d, const char *format, ...) {
    va_list list;
    va_start(list, format);
    const char *s = cg__format(&d->w, format, list);
    va_end(list);
    d->variant->why = ind__arena_string(d->w.arena, s, strlen(s));
    if (!d->variant->why) cg__fail(&d->w);
}

/* True if e and its subexpressions fit in 32 bits: proven, or with a guard on the sizes if assumptions are allowed. */
static bool cg__expr_fits(cg__decider *d, ind_expr e, int depth) {
    if (!ind__ok(e) || depth > IND__CG_MAX_DEPTH) return false;
    if (!cg__fits(e, IND__CG_INT32_MAX)) {
        if (!d->assume || !cg__monotone(e, 0)) return false;
        ind_expr upper = cg__upper(&d->w, e), limit = ind_int(d->w.context, IND__CG_INT32_MAX);
        return ind_hint(upper) <= IND__CG_INT32_MAX && cg__guard(d->variant, ind_expr_le(upper, limit));
    }
    if (ind__expr_is_size(e)) return true; /* passed as one argument */
    for (int i = 0; i < ind_expr_num_args(e); i++)
        if (!cg__expr_fits(d, ind_expr_arg(e, i), depth + 1)) return false;
    return true;
}

static bool cg__extent_fits(cg__decider *d, int from, int n) {
    ind_expr points = ind_expr_product(d->w.context, d->plan->domain.extent + from, n);
    return cg__expr_fits(d, ind_expr_add(points, ind_int(d->w.context, IND__CG_SLACK)), 0);
}

/* Chooses 32-bit indices if every offset and extent fits: proven, or with a guard if assumptions are allowed. */
static void cg__choose_index_bits(cg__decider *d) {
    ind_expr keep = d->variant->guard;
    bool fits = !d->force_wide && cg__extent_fits(d, 0, d->plan->domain.rank) &&
                cg__extent_fits(d, d->plan->domain.rank, d->plan->domain.rrank);
    for (uint32_t i = 1; i < d->w.body->num_inst && fits; i++) {
        const ind__inst *inst = cg__inst(&d->w, i);
        for (uint32_t k = inst->index; k < inst->index + cg__num_index(inst) && fits; k++)
            fits = cg__expr_fits(d, d->plan->domain.index[k], 0);
    }
    if (!fits) d->variant->guard = keep;
    d->plan->wide = !fits;
    d->variant->index_bits = fits ? 32 : 64;
}

static void cg__grid(cg__decider *d, ind_expr points, int64_t per_block) {
    d->variant->grid[0] = ind_expr_ceildiv(points, ind_int(d->w.context, per_block));
    d->variant->grid[1] = d->variant->grid[2] = ind_int(d->w.context, 1);
    d->variant->memory.shared = ind_int(d->w.context, 0);
}

static void cg__set_axes(cg__decider *d, const ind_expr blocks[3]) {
    ind_expr *grid = d->variant->grid;
    grid[0] = blocks[0];
    for (int k = 1; k < 3; k++) {
        bool own = cg__own_axis(blocks[k]);
        grid[k] = own ? blocks[k] : ind_int(d->w.context, 1);
        if (!own) grid[0] = ind_expr_mul(grid[0], blocks[k]);
    }
}

/* ===================================================================================== src/cuda/decide/misaligned.c */
/* ---- misaligned rows: their vectors start at the first vector boundary in the row, for any length and start. Both
   ends have fewer elements than a vector, the edges, which are loaded and stored one by one: one per neighbouring
   lane. */

/* True if the variant can tell the misalignment of access i. */
static bool cg__start_known(const ind__writer *w, uint32_t i) {
    return w->variant->assume & IND__ASSUME_ALIGNED || cg__in_arena(w, cg__inst(w, i)->source);
}

/* True if LOAD or STORE i moves along the row one element at a time. */
static bool cg__accesses_row(const ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    int v = cg__num_vars(w) - 1;
    if (!cg__is_access(w, i) || inst->arg[inst->op == IND_LOOP_STORE] || inst->reduction || !cg__contiguous(w, i, v))
        return false;
    return !cg__indirect_varies(w, cg__index_of(w, i), v);
}

/* The value of an index at 0 for all variables. */
static ind_expr cg__least(const ind__writer *w, ind_expr e) {
    ind_expr symbol[32], zero[32];
    int num = ind__expr_symbols(e, symbol, 32), n = 0;
    if (num > 32) return (ind_expr){0};
    for (int s = 0; s < num; s++) {
        if (!ind__ok(ind_expr_symbol(symbol[s])->extent)) continue;
        symbol[n] = symbol[s];
        zero[n++] = ind_int(w->context, 0);
    }
    return ind__substitute(e, symbol, zero, n);
}

/* Index of the start of access i's row; a linear access has one row. */
static ind_expr cg__row_start(const ind__writer *w, uint32_t i) {
    ind_expr zero = ind_int(w->context, 0), r = w->plan->domain.var[cg__num_vars(w) - 1];
    if (!w->plan->domain.rrank && w->plan->through[i]) return cg__least(w, cg__index_of(w, i));
    return ind__substitute(cg__index_of(w, i), &r, &zero, 1);
}

/* True if the rows of accesses i and k have equal misalignment to a boundary of n elements. */
static bool cg__same_shift(const ind__writer *w, uint32_t i, uint32_t k, int n) {
    if (!w->plan->domain.rrank && !(w->plan->through[i] && w->plan->through[k])) return false;
    if (cg__inst(w, i)->source != cg__inst(w, k)->source && !(cg__start_known(w, i) && cg__start_known(w, k)))
        return false;
    return ind_known_multiple(ind_expr_sub(cg__row_start(w, i), cg__row_start(w, k)), n);
}

/* Bytes per element of the accesses with the misalignment of `leader`. Stores count twice, as they cannot be combined
   from two vectors. */
static int cg__bytes_of_shift(const ind__writer *w, uint32_t leader, int n) {
    int sum = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__accesses_row(w, i) || !cg__same_shift(w, i, leader, n)) continue;
        int bytes = ind_dtype_bytes(cg__memory_dtype(w, i));
        sum += cg__inst(w, i)->op == IND_LOOP_STORE ? 2 * bytes : bytes;
    }
    return sum;
}

/* The access whose misalignment most bytes share; 0: none. */
static uint32_t cg__shift_leader(const ind__writer *w, int n) {
    uint32_t leader = 0;
    int most = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__accesses_row(w, i) || ind__expr_has_kind(cg__index_of(w, i), IND_SYMBOL_INDIRECT)) continue;
        if (!(w->plan->varies[i] & cg__p_mask(w))) continue;
        int bytes = cg__bytes_of_shift(w, i, n);
        if (bytes <= most) continue;
        most = bytes;
        leader = i;
    }
    return leader;
}

/* Elements of the widest vectors that suit all accesses along the row, or, for points, through all rows; 1: none. */
static int cg__misaligned_width(const ind__writer *w) {
    int narrowest = 16, widest = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__accesses_row(w, i) || !(w->plan->domain.rrank || w->plan->through[i])) continue;
        int bytes = ind_dtype_bytes(cg__memory_dtype(w, i));
        narrowest = bytes < narrowest ? bytes : narrowest;
        widest = bytes > widest ? bytes : widest;
    }
    int n = 8;
    while (n > 1 && (narrowest * n > 16 || widest * n > 32)) n /= 2;
    return widest && narrowest * n >= 4 ? n : 1;
}

/* True if an access uses vectors narrower than n that could be n wide. */
static bool cg__has_narrow_access(const ind__writer *w, int n) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (w->plan->vector[i] < n && cg__accesses_row(w, i) && (w->plan->domain.rrank || w->plan->through[i]))
            return true;
    return false;
}

/* Likely and greatest length of a row in elements. For a variant of a range of lengths, the end of the range. */
static int64_t cg__likely_row(const ind__writer *w) {
    const int64_t hint = ind_hint(cg__r_numel(w)), from = w->variant->range.from;
    return w->variant->range.to ? w->variant->range.to : hint < from ? from : hint;
}

static int64_t cg__longest_row(const ind__writer *w) {
    const int64_t most = cg__upper_bound(cg__r_numel(w));
    return w->variant->range.to && w->variant->range.to < most ? w->variant->range.to : most;
}

/* Chooses vectors of n elements that start at the leader's boundaries. Loads of other misalignment are combined from
   two aligned vectors if rows have several vectors per lane. For shorter rows, and for points, they are scalar. */
static void cg__set_misaligned(cg__decider *d, int n, ind_expr guard, bool aligned) {
    ind__variant *v = d->variant;
    v->guard = guard;
    v->guard_aligned = aligned;
    v->misaligned = true;
    d->used &= ~IND__ASSUME_DIVISIBLE;
    const bool combined =
        d->plan->domain.rrank && cg__likely_row(&d->w) >= d->w.target->thresholds.combined_vectors * (int64_t)n;
    d->plan->starts_misaligned =
        !cg__start_known(&d->w, d->plan->leader) || !ind_known_multiple(cg__row_start(&d->w, d->plan->leader), n);
    cg__no_vectors(d);
    for (uint32_t i = 1; i < d->w.body->num_inst; i++) {
        const bool in_row = cg__accesses_row(&d->w, i), same = in_row && cg__same_shift(&d->w, i, d->plan->leader, n);
        const bool store = cg__inst(&d->w, i)->op == IND_LOOP_STORE;
        const bool across = d->plan->domain.rrank ? in_row && (combined || store) : d->plan->through[i] && store;
        d->plan->vector[i] = (uint8_t)(same || across ? n : 1);
        d->plan->across[i] = across && !same;
        if (d->plan->vector[i] > 1 && d->assume & IND__ASSUME_ALIGNED &&
            !cg__in_arena(&d->w, cg__inst(&d->w, i)->source))
            v->guard_aligned = true;
    }
}

/* True if a load along the row, in vectors of n elements, has another misalignment than the leader. */
static bool cg__loads_across(const ind__writer *w, int n) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__accesses_row(w, i) && cg__inst(w, i)->op == IND_LOOP_LOAD && !cg__same_shift(w, i, w->plan->leader, n))
            return true;
    return false;
}

/* True if aligned vectors of n elements with peeled edges pay. For elements of 4 bytes and more, scalar loads of a warp
   also read whole lines. If some loads are combined, which takes three loads each, scalar loads are faster as long as a
   thread's registers, one per element in flight, leave the capacity for several blocks per SM. */
static bool cg__shift_pays(const ind__writer *w, int n, bool narrow) {
    const int64_t length = cg__likely_row(w), longest = cg__longest_row(w);
    if (length <
        (int64_t)(narrow ? w->target->thresholds.shifted_vectors : w->target->thresholds.unconditional_vectors) * n)
        return false;
    if (!cg__loads_across(w, n)) return true;
    const bool wide = ind_dtype_bytes(cg__memory_dtype(w, w->plan->leader)) >= 4;
    const bool known = ind_expr_is_int(cg__r_numel(w), NULL);
    return !(wide && known && longest <= w->target->thresholds.shared_row);
}

/* Treats the rows of a reduction as misaligned if that allows vectors wider than `n`. In a part of a launch, which has
   no variant for other row lengths, also if it allows the same width without a condition on the length. Returns the
   width. A variant for misaligned pointers finds the boundaries from its leader's address. Other loads along the row
   are combined from two vectors, and other stores are scalar. */
static int cg__shift_rows(cg__decider *d, int n, ind_expr guard, bool aligned) {
    if (d->plan->domain.rrank != 1 || d->w.kernel->run) return n;
    const int wide = cg__misaligned_width(&d->w);
    const bool narrow = cg__has_narrow_access(&d->w, wide), conditional = !ind_known_multiple(cg__r_numel(&d->w), n);
    if (wide < 2 || wide < n || !(narrow || (conditional && d->plan->part))) return n;
    if (!narrow && cg__longest_row(&d->w) > d->w.target->thresholds.shared_row)
        return n; /* longer rows are staged in shared memory */
    d->plan->leader = cg__shift_leader(&d->w, wide);
    if (!d->plan->leader || !cg__shift_pays(&d->w, wide, narrow)) return n;
    cg__set_misaligned(d, wide, guard, aligned);
    return wide;
}

/* True if the index of access i moves by one from each point of the domain to the next. */
static bool cg__is_linear(const ind__writer *w, uint32_t i) {
    if (!cg__accesses_row(w, i)) return false;
    ind_expr rest = cg__index_of(w, i), step, wanted = ind_int(w->context, 1);
    for (int v = w->plan->domain.rank - 1; v >= 0; v--) {
        if (!ind__affine(rest, w->plan->domain.var[v], &step, &rest) || !ind_expr_same(step, wanted)) return false;
        wanted = ind_expr_mul(wanted, w->plan->domain.extent[v]);
    }
    return ind__expr_is_size(rest);
}

/* Like cg__shift_rows for points: they are split into chunks that start at boundaries of a linear store, through all
   rows. */
static int cg__shift_points(cg__decider *d, int n, ind_expr guard, bool aligned) {
    int most = 0;
    if (d->plan->part) return n;
    for (uint32_t i = 1; i < d->w.body->num_inst; i++) {
        d->plan->through[i] = cg__is_linear(&d->w, i);
        int bytes = d->plan->through[i] && cg__inst(&d->w, i)->op == IND_LOOP_STORE
                        ? ind_dtype_bytes(cg__memory_dtype(&d->w, i))
                        : 0;
        if (bytes <= most) continue;
        most = bytes;
        d->plan->leader = i;
    }
    const int wide = cg__misaligned_width(&d->w);
    if (!d->plan->leader || wide < 2 || wide < n || !cg__has_narrow_access(&d->w, wide)) return n;
    if (!cg__finds_few(&d->w, d->plan->domain.rank - 1, wide)) return n;
    cg__set_misaligned(d, wide, guard, aligned);
    return wide;
}

/* 32-bit registers for a misaligned row in its memory format, with at least `least` bytes per element. */
static int cg__misaligned_words(const ind__writer *w, int per_thread, int least) {
    int sum = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (cg__inst(w, i)->op != IND_LOOP_LOAD || !(w->plan->varies[i] >> w->plan->domain.rank)) continue;
        if (w->plan->across[i] && !(w->plan->varies[i] & cg__p_mask(w))) continue;
        const int bytes = w->plan->vector[i] > 1 ? ind_dtype_bytes(cg__memory_dtype(w, i)) : 4;
        sum += bytes < least ? least : bytes;
    }
    return per_thread * sum / 4;
}

/* The fewest registers per thread for these rows. With two or more misaligned loads, rows wait for the L2 once more
   after the last combine step, and more warps pay. f16 is unpacked where it is used, with none kept, and nothing spills
   at 48 (layer_norm of 4093, % of copy bandwidth: f16 77.6 at 72, 96.2 at 48; bf16, which spills there, 94.3 and 96.4
   at 64, H200). */
static int cg__least_registers(const ind__writer *w) {
    int across = 0, halves = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!w->plan->across[i] || cg__inst(w, i)->op != IND_LOOP_LOAD) continue;
        across++;
        halves += cg__memory_dtype(w, i) == IND_F16;
    }
    if (across < 2) return w->target->thresholds.least_registers;
    return halves == across ? w->target->thresholds.shifted_registers : w->target->thresholds.shifted_wide_registers;
}

/* Blocks per SM for these rows. While one waits at a combine step or for shared operands, others proceed. Registers are
   bounded by a thread's need (40 and its kept words: compiled with NVRTC 13, nothing spills), but not below
   w->target->thresholds.least_registers if they need more than `least`. */
static int cg__misaligned_blocks(const ind__writer *w, int least) {
    const ind__variant *v = w->variant;
    int registers = w->target->thresholds.misaligned_registers + cg__misaligned_words(w, v->per_thread, 1);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (w->plan->across[i] && cg__inst(w, i)->op == IND_LOOP_LOAD)
            registers += w->target->thresholds.across_registers;
    registers = registers <= w->target->thresholds.least_registers ? least : (registers + 7) / 8 * 8;
    return w->target->sm_registers / (registers * v->threads);
}

/* Elements after the first of a vector that must lie inside the row: ind_load_across reads past the vector. */
static int cg__misaligned_reach(const ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (w->plan->across[i] && cg__inst(w, i)->op == IND_LOOP_LOAD) return 2 * w->variant->vector;
    return w->variant->vector;
}

static int cg__num_combine_steps(const ind__writer *w);

/* Elements from one boundary to the next. Rows in shared memory start at lines: a warp's 512 bytes are then four lines
   instead of five, and none of their sectors is stored in two parts (softmax on an H200, % of copy bandwidth at
   boundaries of vectors and of lines: 65537 bf16 84 and 90, f32 88 and 91; 262147 83 and 91, 81 and 86). If shared
   operands are in registers with a row's misalignment, rows of equal misalignment are computed one after another. There
   are at most as many misalignments as blocks, or clusters, so each has at most two of them (rms_norm, at boundaries of
   vectors and these: 131101, 200003, 230003 bf16 87, 87, 87 and 91, 90, 91; f32 131101, 230003, 262111 88, 85, 85 and
   93, 91, 92). */
static int cg__boundary(const ind__writer *w) {
    const ind__variant *v = w->variant;
    if (v->strategy != IND_STRATEGY_ROW_STAGED || !w->plan->starts_misaligned) return v->vector;
    int n = IND__CG_LINE_BYTES / ind_dtype_bytes(cg__memory_dtype(w, w->plan->leader));
    while (ind__row_of(v)->stage.persistent && ind__row_of(v)->stage.once && n > ind__row_of(v)->stage.resident &&
           n > v->vector)
        n /= 2;
    return n > v->vector ? n : v->vector;
}

static int cg__row_threads(const ind__writer *w);
static int cg__round_lanes(const ind__writer *w);
static bool cg__in_registers(const ind__writer *w);

/* 32-bit registers for all that a thread loads of a row: without a branch, its loads start together. */
static int cg__waiting_registers(const ind__writer *w) {
    int sum = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (cg__inst(w, i)->op != IND_LOOP_LOAD || !(w->plan->varies[i] >> w->plan->domain.rank)) continue;
        const int bytes = ind_dtype_bytes(cg__memory_dtype(w, i));
        sum += w->variant->per_thread * (w->plan->vector[i] > 1 || bytes > 4 ? bytes : 4);
    }
    return sum / 4;
}

/* Elements of a row that may lie outside its whole iterations, or be loaded past them. */
static int cg__round_slack(const ind__writer *w) {
    const ind__variant *v = w->variant;
    return v->misaligned ? (w->plan->starts_misaligned ? cg__boundary(w) - 1 : 0) + cg__misaligned_reach(w) - v->vector
                         : 0;
}

/* Iterations of a register-resident row that surely lie inside the row and need no branch; 0 if a thread lacks the
   registers for the loads then in flight. A fitted block for a row of n elements has at most (n - 1) / per_thread + 32
   threads, of which k iterations are whole if k * vector times that many elements are in the row. */
static int64_t cg__whole_rounds(const ind__writer *w) {
    const ind__variant *v = w->variant;
    const int each = w->target->sm_registers / v->threads, registers = each < 255 ? each : 255;
    int64_t least;
    const bool waits = v->strategy != IND_STRATEGY_ROW_STAGED; /* in registers, not in shared memory */
    if (waits && cg__waiting_registers(w) + w->target->thresholds.other_registers > registers) return 0;
    ind__known_bounds(cg__r_numel(w), &least, NULL);
    if (least < w->plan->row_from) least = w->plan->row_from;
    least -= cg__round_slack(w);
    if (ind__ok(ind__row_of(v)->fitted) && least > 0)
        return least * v->per_thread / v->vector / (least + cg__round_slack(w) + 32 * v->per_thread - 1);
    return least > 0 ? least / ((int64_t)cg__round_lanes(w) * v->vector) : 0;
}

static bool cg__is_staged(const ind__writer *w, uint32_t i);
static const char *cg__staged_element(ind__writer *w, uint32_t i);
static bool cg__holds_across(const ind__writer *w);
static int cg__looped_passes(const ind__writer *w);
static int cg__row_threads(const ind__writer *w);

/* Bytes that must be in flight to keep memory busy: 3.8 MB on an H200, 29 KB per SM. */
static int64_t cg__bytes_in_flight(const ind__writer *w) {
    return (int64_t)w->target->memory_bytes_per_ns * w->target->thresholds.memory_ns;
}

/* Lanes of a reduction whose vectors are neighbours in memory. */
static int cg__lanes_abreast(const ind__writer *w) {
    const ind__variant *v = w->variant;
    const bool columns = cg__has(w, IND__HAS_COLUMNS);
    return columns ? v->rows / v->vector : cg__row_threads(w);
}

/* True if LOAD i is the only load of a row, reads each element once, and the kernel only reduces. Loads that do not
   allocate in the L1 arrive sooner (% of copy bandwidth on an H200: cross entropy of 1000 bf16 99 and 107, of 65536 93
   and 95; sum of 1024 rows of 4096 f32 5.73 us and 5.46), if the lanes of a line load it together (sum of 128 bf16 fell
   from 103 to 91). An element at an index from memory is then read again from the L2: only in rows of which its sector
   is at most 2 % (of 128 f32, cross entropy fell from 96 to 90). Not if most of the data is in flight at once, so that
   nothing arrives later (256 rows), and not if per-element results are stored: rms_norm fell from 97 to 92. */
static bool cg__passes_l1(ind__writer *w, uint32_t i) {
    const uint32_t all = (1u << cg__num_vars(w)) - 1;
    const double row = (double)ind_hint(cg__r_numel(w)) * ind_dtype_bytes(cg__memory_dtype(w, i));
    const uint32_t arg = cg__arg_of(w->kernel, cg__inst(w, i)->source);
    if (w->plan->vector[i] * ind_dtype_bytes(cg__memory_dtype(w, i)) != 16 || w->plan->across[i] ||
        (w->plan->varies[i] & all) != all)
        return false;
    if (arg >= w->kernel->num_reads || cg__shares_memory(w, arg) || cg__looped_passes(w) != 1) return false;
    if (cg__lanes_abreast(w) * 16 < IND__CG_LINE_BYTES) return false;
    if (row * (double)ind_hint(cg__p_numel(w)) < 2.0 * (double)cg__bytes_in_flight(w)) return false;
    for (uint32_t k = 1; k < w->body->num_inst; k++) {
        const ind__inst *inst = cg__inst(w, k);
        if (inst->op == IND_LOOP_STORE && w->plan->varies[k] & cg__r_mask(w)) return false;
        const bool again = k != i && inst->op == IND_LOOP_LOAD && inst->source == cg__inst(w, i)->source;
        if (again &&
            (w->plan->varies[k] & cg__r_mask(w) || row < IND__CG_SECTOR_BYTES * w->target->thresholds.index_sectors))
            return false;
    }
    return w->plan->domain.rrank && !ind__expr_has_kind(cg__index_of(w, i), IND_SYMBOL_INDIRECT);
}

/* ======================================================================================= src/cuda/emit/misaligned.c */
/* ---- misaligned rows: edges, and loads of vectors */

/* Writes "const int head = ..", the elements before the first aligned address in the current row, and `edges`, the
   number of elements in head and tail. */
static void cg__emit_edges(ind__writer *w) {
    const int n = w->variant->vector, reach = cg__misaligned_reach(w) - n, boundary = cg__boundary(w);
    const ind_expr row = cg__r_numel(w);
    const char *length = cg__expr_string(w, row), *start = cg__expr_string(w, cg__row_start(w, w->plan->leader));
    if (!cg__start_known(w, w->plan->leader)) {
        cg__use(w, IND__CG_BOUNDARY);
        ind__textf(&w->code, "const int head = -ind_misalignment<%d>(&%s[%s]) & %d;\n", boundary,
                   cg__buffer(w, cg__inst(w, w->plan->leader)->source), start, boundary - 1);
    } else {
        ind__textf(&w->code,
                   w->plan->starts_misaligned ? "const int head = (int)(-(%s) & %d);\n" : "const int head = 0;\n",
                   start, boundary - 1);
    }
    ind__textf(&w->code, "const int edges = ");
    if (!ind_known_le(ind_int(w->context, boundary + reach - 1), row))
        ind__textf(&w->code, "%s < head + %d ? (int)%s : ", length, reach, length);
    ind__textf(&w->code, "head + %d + ((int)(%s - head - %d) & %d);\n", reach, length, reach, n - 1);
}

/* Writes "const int shift = ...": the distance of the first point from the aligned address before it, in elements. */
static void cg__emit_shift(ind__writer *w) {
    const int n = w->variant->vector;
    const char *start = cg__expr_string(w, cg__row_start(w, w->plan->leader));
    if (!w->plan->starts_misaligned) return;
    if (cg__start_known(w, w->plan->leader)) {
        ind__textf(&w->code, "const int shift = (int)((%s) & %d);\n", start, n - 1);
        return;
    }
    cg__use(w, IND__CG_BOUNDARY);
    ind__textf(&w->code, "const int shift = ind_misalignment<%d>(&%s[%s]);\n", n,
               cg__buffer(w, cg__inst(w, w->plan->leader)->source), start);
}

/* Returns the misalignment of the vectors that LOAD i reads in the current row. It is the same for all of them. */
static const char *cg__misalignment(ind__writer *w, uint32_t i) {
    const int n = w->plan->vector[i];
    const ind_expr start = cg__row_start(w, i);
    if (cg__start_known(w, i) && ind_known_multiple(start, n)) return "head";
    const char *from = cg__expr_string(w, start);
    if (cg__start_known(w, i)) return cg__string(w, "(int)((%s) & %d) + head", from, n - 1);
    cg__use(w, IND__CG_BOUNDARY);
    return cg__string(w, "ind_misalignment<%d>(&%s[%s]) + head", n, cg__buffer(w, cg__inst(w, i)->source), from);
}

/* Returns the expression that loads the current vector of LOAD i. Operands shared by all rows are loaded rarely, while
   a thread holds its row in registers. They are then loaded as words: two vectors and the combined one take too many
   registers (layer_norm of 262147 f32 spilled because of these). */
static const char *cg__load_expression(ind__writer *w, uint32_t i) {
    const bool words = w->plan->across[i] && cg__holds_across(w), past = !cg__is_staged(w, i) && cg__passes_l1(w, i);
    cg__use(w, words                ? IND__CG_LOAD_WORDS
               : w->plan->across[i] ? IND__CG_LOAD_ACROSS
               : past               ? IND__CG_LOAD_PAST
                                    : IND__CG_VEC);
    const char *element = cg__is_staged(w, i) ? cg__staged_element(w, i) : cg__element(w, i);
    if (w->plan->across[i] && !words)
        return cg__string(w, "ind_load_across<%d>(&%s, %s)", w->plan->vector[i], element, cg__misalignment(w, i));
    return cg__string(w, "ind_load%s<%d>(&%s)", words ? "_words" : past ? "_past" : "", w->plan->vector[i], element);
}

/* ======================================================================================== src/cuda/emit/pointwise.c */
/* ---------------------------------------------------------------------------------------------- >>pointwise */

/* True if load i is read with evict_first: it is added to memory and read once. Then the sums stay in the L2. This
   saves 7 percent of the time for 128 MB added to 64 MB on an H200. Storing the 64 MB with evict_last saved another 6
   percent. But unused lines then stayed in the L2, and the next kernel that used the L2 took 10 percent longer. */
static bool cg__reads_once(const ind__writer *w, uint32_t i) {
    bool sums = false;
    for (uint32_t k = 1; k < w->body->num_inst; k++)
        sums |= cg__inst(w, k)->op == IND_LOOP_STORE && cg__inst(w, k)->reduction && w->plan->vector[k] > 1;
    const bool each = (w->plan->varies[i] & cg__p_mask(w)) == cg__p_mask(w);
    return sums && each && !ind__expr_has_kind(cg__index_of(w, i), IND_SYMBOL_INDIRECT);
}

/* Writes the masks that apply to whole vectors along variable v. */
static void cg__emit_uniform(ind__writer *w, int v) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!w->plan->uniform[i] || !w->needed[i] || w->known[i] || w->value[i] || !cg__varies_along(w, i, v)) continue;
        cg__instruction(w, i);
        w->known[i] = (uint8_t)w->scope;
    }
}

/* Writes the vector loads of the w->variant->vector neighbours along variable v, from the current base on, after the
   masks that apply to whole vectors. */
static void cg__vector_loads(ind__writer *w, int v) {
    cg__emit_uniform(w, v);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (cg__inst(w, i)->op != IND_LOOP_LOAD || !w->needed[i] || w->known[i] || w->value[i] ||
            w->plan->vector[i] < 2)
            continue;
        if (!(w->plan->varies[i] >> v & 1) || w->memory[i]) continue;
        const char *type = cg__types[cg__memory_dtype(w, i)].memory;
        const uint32_t mask = cg__inst(w, i)->arg[0];
        ind__textf(&w->code, "%sind_vec<%s, %d> x%u = ", mask ? "" : "const ", type, w->plan->vector[i], i);
        if (mask) {
            ind__textf(&w->code, "{};\n");
            cg__write_mask(w, mask);
            ind__textf(&w->code, "x%u = ", i);
        }
        const bool once = cg__reads_once(w, i) && !cg__is_staged(w, i);
        if (once) cg__use(w, IND__CG_LOAD_ONCE);
        if (once)
            ind__textf(&w->code, "ind_load_once<%d>(&%s);\n", w->plan->vector[i], cg__element(w, i));
        else
            ind__textf(&w->code, "%s;\n", cg__load_expression(w, i));
        if (mask) w->code.indent--;
        w->memory[i] = cg__string(w, "x%u.at[j]", i);
        cg__use(w, IND__CG_VEC);
    }
}

/* Declares the vectors that collect the elements of each vector store. */
static void cg__vector_sinks(ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (cg__inst(w, i)->op != IND_LOOP_STORE || !w->needed[i] || w->plan->vector[i] < 2) continue;
        ind__textf(&w->code, "ind_vec<%s, %d> y%u;\n", cg__types[cg__memory_dtype(w, i)].memory, w->plan->vector[i], i);
        w->memory[i] = cg__string(w, "y%u.at[j]", i);
        cg__use(w, IND__CG_VEC);
    }
}

static void cg__vector_stores(ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (cg__inst(w, i)->op != IND_LOOP_STORE || !w->needed[i] || w->plan->vector[i] < 2) continue;
        const ind__inst *inst = cg__inst(w, i);
        w->memory[i] = NULL;
        cg__write_mask(w, inst->arg[1]);
        const cg__adder_row *adder = inst->reduction ? cg__adder(w, i, w->plan->vector[i]) : NULL;
        if (adder) cg__use(w, adder->function);
        if (w->plan->across[i]) cg__use(w, IND__CG_STORE_ACROSS);
        const char *store = w->plan->across[i] ? "ind_store_across" : "ind_store";
        ind__textf(&w->code, "%s(&%s, y%u);\n", adder ? adder->name : store, cg__element(w, i), i);
        if (inst->arg[1]) w->code.indent--;
    }
}

static void cg__forget_vectors(ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (w->plan->vector[i] > 1) w->memory[i] = NULL;
}

static void cg__unroll(ind__writer *w) {
    ind__textf(&w->code, "#pragma unroll\n");
}

static void cg__emit_vector_body(ind__writer *w, int v, const char *base) {
    w->var[v] = base;
    cg__emit(w, ~(1u << v), IND__CG_ALL_STAGES);
    cg__vector_loads(w, v);
    cg__vector_sinks(w);
    cg__unroll(w);
    cg__begin(w, "for (int j = 0; j < %d; j++)", w->variant->vector);
    w->var[v] = cg__string(w, "(%s + j)", base);
    if (w->linear_name[v]) w->linear_name[v] = "(p + j)";
    cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    cg__end(w);
    w->var[v] = base;
    if (w->linear_name[v]) w->linear_name[v] = "p";
    cg__vector_stores(w);
    cg__forget_vectors(w);
}

static void cg__need_stores(ind__writer *w) {
    cg__need_none(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_root(w, i)) cg__need(w, i);
    cg__close_needed(w);
}

/* Returns "(blockIdx.x * 256 + threadIdx.x) * 4". */
static const char *cg__thread_position(ind__writer *w, int threads, int vector) {
    const char *block = w->plan->wide ? "(long long)blockIdx.x" : "blockIdx.x";
    if (vector == 1) return cg__string(w, "%s * %d + threadIdx.x", block, threads);
    return cg__string(w, "(%s * %d + threadIdx.x) * %d", block, threads, vector);
}

/* Writes a domain of one variable: full vectors, then single elements at its end. */
static void cg__emit_pointwise_line(ind__writer *w) {
    int n = w->variant->vector, t = w->variant->threads;
    const char *extent = w->plan->part ? cg__string(w, "n%u", cg__size_arg(w, w->plan->domain.extent[0]))
                                       : cg__expr_string(w, w->plan->domain.extent[0]);
    ind__textf(&w->code, "const %s i0 = %s;\n", cg__int(w), cg__thread_position(w, t, n));
    w->var[0] = "i0";
    if (n == 1) {
        cg__begin(w, "if (i0 < %s)", extent);
        cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
        cg__end(w);
        return;
    }
    bool full = !w->plan->part &&
                ind_known_multiple(w->plan->domain.extent[0], n); /* the function of a part also serves other sizes */
    cg__begin(w, "if (i0 + %d <= %s)", n, extent);
    cg__emit_vector_body(w, 0, "i0");
    if (!full) {
        cg__else(w, "else");
        ind__textf(&w->code, "#pragma unroll 1\n");
        cg__begin(w, "for (%s i = i0; i < %s; i++)", cg__int(w), extent);
        w->var[0] = "i";
        cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
        cg__end(w);
    }
    cg__end(w);
}

static void cg__end_tile(ind__writer *w) {
    cg__end(w);
    cg__end(w);
}

/* True if load i is a vector at an index read from memory: two dependent accesses. */
static bool cg__gathers(const ind__writer *w, uint32_t i) {
    return cg__inst(w, i)->op == IND_LOOP_LOAD && w->plan->vector[i] > 1 &&
           ind__expr_has_kind(cg__index_of(w, i), IND_SYMBOL_INDIRECT);
}

/* Opens the loop over a thread's vectors. Consecutive ones are a block's vectors apart. */
static void cg__begin_steps(ind__writer *w) {
    const ind__variant *v = w->variant;
    const char *block = w->plan->wide ? "(long long)blockIdx.x" : "blockIdx.x";
    cg__unroll(w);
    cg__begin(w, "for (int k = 0; k < %d; k++)", v->per_thread / v->vector);
    ind__textf(&w->code, "const %s p = (%s * %d + k * %d + threadIdx.x) * %d;\n", cg__int(w), block,
               v->threads * (v->per_thread / v->vector), v->threads, v->vector);
    cg__begin(w, "if (p < %s)", cg__expr_string(w, cg__p_numel(w)));
    cg__split_linear(w, "p", 0, w->plan->domain.rank);
}

/* Writes threads with several vectors each. A thread starts all gathered loads before it waits for the first. */
static void cg__emit_pointwise_steps(ind__writer *w) {
    const int n = w->variant->vector, last = w->plan->domain.rank - 1;
    cg__need_none(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__gathers(w, i)) continue;
        cg__need(w, i);
        ind__textf(&w->code, "ind_vec<%s, %d> x%u[%d];\n", cg__types[cg__memory_dtype(w, i)].memory, n, i,
                   w->variant->per_thread / n);
    }
    cg__use(w, IND__CG_VEC);
    cg__close_needed(w);
    cg__begin_steps(w);
    cg__emit(w, ~(1u << last), IND__CG_ALL_STAGES);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__gathers(w, i)) ind__textf(&w->code, "x%u[k] = ind_load<%d>(&%s);\n", i, n, cg__element(w, i));
    cg__end_tile(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__gathers(w, i)) w->memory[i] = cg__string(w, "x%u[k].at[j]", i);
    cg__need_stores(w);
    cg__begin_steps(w);
    cg__emit_vector_body(w, last, w->var[last]);
    cg__end_tile(w);
}

/* Threads that store nothing return before they compute the values. */
static void cg__leave_masked(ind__writer *w) {
    const int last = w->plan->domain.rank - 1;
    const uint32_t mask = w->plan->mask;
    if (!mask) return;
    cg__need_none(w);
    cg__need(w, mask);
    cg__close_needed(w);
    cg__emit(w, w->variant->vector > 1 ? ~(1u << last) : IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    cg__emit_uniform(w, last);
    ind__textf(&w->code, "if (!");
    cg__value(w, mask);
    ind__textf(&w->code, ") return;\n");
    cg__need_stores(w);
}

/* Writes one vector (or point) per thread, in a domain of several variables. */
static void cg__emit_pointwise_grid(ind__writer *w) {
    int n = w->variant->vector, last = w->plan->domain.rank - 1;
    const char *points = cg__expr_string(w, cg__p_numel(w));
    ind__textf(&w->code, "const %s p = %s;\n", cg__int(w), cg__thread_position(w, w->variant->threads, n));
    ind__textf(&w->code, "if (p >= %s) return;\n", points);
    cg__split_linear(w, "p", 0, w->plan->domain.rank);
    cg__leave_masked(w);
    if (n > 1)
        cg__emit_vector_body(w, last, w->var[last]);
    else
        cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
}

/* Writes a chunk of consecutive points that may cross rows. Each point computes its position in its row. Accesses that
   are contiguous across rows are vectors. */
static void cg__emit_flat_body(ind__writer *w) {
    const int n = w->variant->vector, last = w->plan->domain.rank - 1;
    const bool rows = last > 0;
    w->var[last] = "p";
    if (rows) cg__use_positions(w);
    w->linear_name[last] = "p";
    cg__vector_loads(w, last);
    cg__vector_sinks(w);
    cg__unroll(w);
    cg__begin(w, "for (int j = 0; j < %d; j++)", n);
    w->var[last] = "(p + j)";
    if (rows) ind__textf(&w->code, "const %s q = p + j;\n", cg__int(w));
    if (rows) cg__split_linear(w, "q", 0, w->plan->domain.rank);
    cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    cg__end(w);
    w->var[last] = w->linear_name[last] = "p";
    cg__vector_stores(w);
    cg__forget_vectors(w);
}

/* Writes the points of a partial chunk at either end of the domain, one after another. */
static void cg__emit_edge_points(ind__writer *w, const char *points) {
    const int n = w->variant->vector;
    ind__textf(&w->code, "#pragma unroll 1\n");
    cg__begin(w, "for (%s q = %s; q < p + %d && q < %s; q++)", cg__int(w),
              w->plan->starts_misaligned ? "p < 0 ? 0 : p" : "p", n, points);
    if (w->plan->domain.rank == 1)
        w->var[0] = "q";
    else
        cg__split_linear(w, "q", 0, w->plan->domain.rank);
    cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    cg__end(w);
}

/* Writes the domain as chunks of consecutive points, independent of row boundaries. */
static void cg__emit_shifted_points(ind__writer *w) {
    const int n = w->variant->vector;
    const char *points = cg__expr_string(w, cg__p_numel(w)), *position = cg__thread_position(w, w->variant->threads, n);
    cg__emit_shift(w);
    ind__textf(&w->code, "const %s p = %s%s;\n", cg__int(w), position, w->plan->starts_misaligned ? " - shift" : "");
    ind__textf(&w->code, "if (p >= %s) return;\n", points);
    cg__begin(w, "if (%sp <= %s - %d)", w->plan->starts_misaligned ? "p >= 0 && " : "", points, n);
    cg__emit_flat_body(w);
    cg__else(w, "else");
    cg__emit_edge_points(w, points);
    cg__end(w);
}

/* ====================================================================================== src/cuda/emit/masked_rows.c */
/* ---- rows that a mask seldom selects. With one thread per point, almost all threads only evaluate the mask, and all
   threads of a row evaluate the same one. Here a warp evaluates it for 32 rows at once, one per lane, and loops over
   the selected rows. A lane does one access per row, so that several warps share a long row. Time of a segment sum over
   index lists, 65536 rows of 512 f32, H200, us in addition to a launch, one thread per point and this variant: 21.2 and
   0.7 if the lists have all rows, 21.4 and 3.5 if they lack a tenth, 84 and 87 if they have none. With four accesses
   per lane: 0.6, 7.9 and 92. */

#define IND__CG_MASKED_ROWS 32 /* one per lane */

/* Returns the number of segments of a row. A warp takes one segment. */
static ind_expr cg__masked_segments(const ind__writer *w) {
    return ind_expr_ceildiv(w->plan->domain.extent[w->plan->domain.rank - 1],
                            ind_int(w->context, 32 * w->variant->per_thread));
}

static ind_expr cg__masked_rows(const ind__writer *w) {
    return ind_expr_product(w->context, w->plan->domain.extent, w->plan->domain.rank - 1);
}

/* Writes "const int segment = .., first = ..": the warp's segment of a row, and its first row. */
static void cg__emit_masked_position(ind__writer *w) {
    const ind_expr segments = cg__masked_segments(w);
    const char *type = cg__int(w), *block = w->plan->wide ? "(long long)blockIdx.x" : "blockIdx.x";
    const bool one = ind_known_eq(segments, ind_int(w->context, 1));
    const char *warp = cg__string(w, "(%s * %d + threadIdx.x / 32)", block, w->variant->threads / 32);
    ind__textf(&w->code, "const int lane = threadIdx.x %% 32;\n");
    if (one) {
        ind__textf(&w->code, "const %s first = %s * %d;\n", type, warp, IND__CG_MASKED_ROWS);
        return;
    }
    ind__textf(&w->code, "const %s warp = %s, group = warp / %s, first = group * %d;\n", type, warp,
               cg__expr_string(w, segments), IND__CG_MASKED_ROWS);
    ind__textf(&w->code, "const %s segment = (warp - group * %s) * %d;\n", type, cg__expr_string(w, segments),
               32 * w->variant->per_thread);
}

/* Writes "holds": the mask's value for the row of this lane. */
static void cg__emit_masked_question(ind__writer *w, const char *row, uint32_t mask) {
    ind__textf(&w->code, "bool holds = false;\n");
    cg__begin(w, "if (first + lane < %s)", cg__expr_string(w, cg__masked_rows(w)));
    ind__textf(&w->code, "const %s %s = first + lane;\n", cg__int(w), row);
    cg__split_linear(w, row, 0, w->plan->domain.rank - 1);
    cg__need_none(w);
    cg__need(w, mask);
    cg__close_needed(w);
    cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    ind__textf(&w->code, "holds = ");
    cg__value(w, mask);
    ind__textf(&w->code, ";\n");
    cg__end(w);
}

/* Writes the work of the warp on its segment of the current row. */
static void cg__emit_masked_segment(ind__writer *w, const char *row) {
    const int n = w->variant->vector, last = w->plan->domain.rank - 1;
    const char *length = cg__expr_string(w, w->plan->domain.extent[last]), *at = cg__string(w, "i%d", last);
    const bool one = ind_known_eq(cg__masked_segments(w), ind_int(w->context, 1));
    ind__textf(&w->code, "const %s %s = %slane", cg__int(w), at, one ? "" : "segment + ");
    ind__textf(&w->code, n > 1 ? " * %d;\n" : ";\n", n);
    cg__begin(w, "if (%s < %s)", at, length);
    if (cg__is_used(w, w->linear[last]))
        ind__textf(&w->code, "const %s p = %s * %s + %s;\n", cg__int(w), row, length, at);
    w->var[last] = at;
    w->linear_name[last] = "p";
    if (n > 1)
        cg__emit_vector_body(w, last, at);
    else
        cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    cg__end(w);
}

static ind_status cg__emit_masked(ind__writer *w) {
    const int last = w->plan->domain.rank - 1;
    const char *row = last == 1 ? "i0" : "row";
    const uint32_t mask = w->plan->mask;
    cg__use_positions(w);
    cg__emit_masked_position(w);
    cg__emit_masked_question(w, row, mask);
    cg__begin(w, "for (unsigned those = __ballot_sync(0xffffffffu, holds); those; those &= those - 1)");
    ind__textf(&w->code, "const %s %s = first + __ffs(those) - 1;\n", cg__int(w), row);
    cg__split_linear(w, row, 0, last);
    cg__need_stores(w);
    cg__emit(w, ~(1u << last), IND__CG_ALL_STAGES);
    cg__emit_masked_segment(w, row);
    cg__end(w);
    return IND_OK;
}

static ind_status cg__emit_pointwise(ind__writer *w) {
    cg__need_stores(w);
    if (w->variant->misaligned) {
        cg__emit_shifted_points(w);
        return IND_OK;
    }
    if (w->plan->domain.rank == 0) {
        ind__textf(&w->code, "if (threadIdx.x != 0) return;\n");
        cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    } else if (w->plan->domain.rank == 1) {
        cg__emit_pointwise_line(w);
    } else if (w->variant->per_thread > w->variant->vector) {
        cg__emit_pointwise_steps(w);
    } else {
        cg__emit_pointwise_grid(w);
    }
    return IND_OK;
}

/* ==================================================================================== src/cuda/decide/masked_rows.c */
/* Returns the mask of all stores, if they share one that holds for whole vectors. 0: they do not, or an index is
   checked where it is used. */
static uint32_t cg__only_mask(const ind__writer *w, int last) {
    uint32_t mask = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        const ind__inst *x = cg__inst(w, i);
        if (x->op == IND_LOOP_INDIRECT && !(x->flags & IND__INST_CHECKED)) return 0;
        if (x->op != IND_LOOP_STORE) continue;
        if (!x->arg[1] || (mask && mask != x->arg[1])) return 0;
        mask = x->arg[1];
    }
    return w->variant->vector > 1 && cg__varies_along(w, mask, last) && !w->plan->uniform[mask] ? 0 : mask;
}

static bool cg__stores_seldom(const ind__writer *w) {
    bool seldom = false;
    for (uint32_t i = 1; i < w->body->num_inst; i++) seldom |= (cg__inst(w, i)->flags & IND__INST_SELDOM) != 0;
    return seldom;
}

/* Replaces POINTWISE, with the same vectors, if a mask that is the same for a whole row seldom holds. */
static void cg__choose_masked(cg__decider *d) {
    ind__variant *v = d->variant;
    const int last = d->plan->domain.rank - 1;
    if (last < 1 || d->plan->part || v->misaligned || !cg__stores_seldom(&d->w)) return;
    const uint32_t mask = cg__only_mask(&d->w, last);
    if (!mask || d->plan->varies[mask] >> last & 1) return;
    v->strategy = IND_STRATEGY_MASKED;
    v->rows = IND__CG_MASKED_ROWS;
    v->per_thread = v->vector;
    ind_expr groups = ind_expr_ceildiv(cg__masked_rows(&d->w), ind_int(d->w.context, IND__CG_MASKED_ROWS));
    cg__grid(d, ind_expr_mul(groups, cg__masked_segments(&d->w)), v->threads / 32);
    cg__why(d, "%s; a warp tests the mask of %d rows at once", v->why, v->rows);
}

/* ======================================================================================== src/cuda/emit/transpose.c */
/* ---------------------------------------------------------------------------------------------- >>transpose */

/* True if LOAD i is read through the tile: contiguous along y, neither contiguous nor constant along x. */
static bool cg__through_tile(const ind__writer *w, uint32_t i, int x, int y) {
    const ind__inst *inst = cg__inst(w, i);
    return inst->op == IND_LOOP_LOAD && !inst->arg[0] && w->plan->varies[i] >> x & 1 && !cg__contiguous(w, i, x) &&
           cg__contiguous(w, i, y) && !ind__expr_has_kind(cg__index_of(w, i), IND_SYMBOL_INDIRECT);
}

/* Returns the variable along which loads are contiguous although they are strided along the innermost one. -1: none, or
   it is too short for tiles. */
static int cg__transposed_var(const ind__writer *w) {
    int x = w->plan->domain.rank - 1, best = -1, most = 0;
    for (int y = 0; y < x; y++) {
        int bytes = 0;
        for (uint32_t i = 1; i < w->body->num_inst; i++)
            if (cg__through_tile(w, i, x, y)) bytes += ind_dtype_bytes(cg__memory_dtype(w, i));
        bool long_enough = ind_hint(w->plan->domain.extent[y]) >= 8 && ind_hint(w->plan->domain.extent[x]) >= 8;
        if (bytes > most && long_enough) {
            most = bytes;
            best = y;
        }
    }
    return best;
}

/* Sets the grid: tiles of x (fastest), tiles of y, and the other variables. */
static void cg__tile_blocks(const ind__writer *w, int x, int y, ind_expr blocks[3]) {
    ind_expr tile = ind_int(w->context, w->variant->of.tile.m);
    blocks[0] = ind_expr_ceildiv(w->plan->domain.extent[x], tile);
    blocks[1] = ind_expr_ceildiv(w->plan->domain.extent[y], tile);
    blocks[2] = ind_int(w->context, 1);
    for (int v = 0; v < w->plan->domain.rank; v++)
        if (v != x && v != y) blocks[2] = ind_expr_mul(blocks[2], w->plan->domain.extent[v]);
}

static void cg__emit_tile_position(ind__writer *w, int x, int y) {
    int tile = w->variant->of.tile.m;
    const char *at[3];
    ind_expr blocks[3];
    cg__tile_blocks(w, x, y, blocks);
    ind__textf(&w->code, "const int tx = threadIdx.x %% %d, ty = threadIdx.x / %d;\n", tile, tile);
    cg__write_axes(w, blocks, at);
    ind__textf(&w->code, "const %s x0 = (%s)%s * %d, y0 = (%s)%s * %d;\n", cg__int(w), cg__int(w), at[0], tile,
               cg__int(w), at[1], tile);
    cg__write_outer_vars(w, at[2], 1u << x | 1u << y);
}

/* Opens the loop over a thread's elements of the tile. `along_y`: consecutive threads are neighbours in y, else in x.
 */
static void cg__begin_tile(ind__writer *w, int x, int y, bool along_y) {
    int step = w->variant->threads / w->variant->of.tile.m;
    cg__unroll(w);
    cg__begin(w, "for (int k = 0; k < %d; k++)", w->variant->per_thread);
    ind__textf(&w->code,
               along_y ? "const %s x = x0 + ty + k * %d, y = y0 + tx;\n"
                       : "const %s x = x0 + tx, y = y0 + ty + k * %d;\n",
               cg__int(w), step);
    w->var[x] = "x";
    w->var[y] = "y";
    cg__begin(w, "if (x < %s && y < %s)", cg__expr_string(w, w->plan->domain.extent[x]),
              cg__expr_string(w, w->plan->domain.extent[y]));
}

/* Source of a load's element, in ind__writer.resident. */
enum { IND__CG_DIRECTLY, IND__CG_THROUGH_TILE, IND__CG_BESIDE_TILE };

#define IND__CG_MAX_TILE_BYTES 49152 /* shared memory available without opt-in (CUDA C Programming Guide) */

#define IND__CG_MAX_TILES 4 /* of at most 8.5 KB; further loads are direct */

/* Declares the tiles. Their rows are padded so that the elements of a column are in different banks. */
static void cg__emit_tile_arrays(ind__writer *w) {
    int tile = w->variant->of.tile.m;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (w->plan->resident[i] == IND__CG_DIRECTLY) continue;
        const char *type = cg__types[cg__memory_dtype(w, i)].memory;
        int bytes = ind_dtype_bytes(cg__memory_dtype(w, i)), pad = bytes < 4 ? 4 / bytes : 1;
        if (w->plan->resident[i] == IND__CG_THROUGH_TILE)
            ind__textf(&w->code, "__shared__ %s tile%u[%d][%d];\n", type, i, tile, tile + pad);
        else
            ind__textf(&w->code, "%s x%u[%d];\n", type, i, w->variant->per_thread);
    }
}

static void cg__emit_tile_loads(ind__writer *w, int x, int y, uint8_t which) {
    int step = w->variant->threads / w->variant->of.tile.m;
    bool tile = which == IND__CG_THROUGH_TILE, any = false;
    for (uint32_t i = 1; i < w->body->num_inst; i++) any |= w->plan->resident[i] == which;
    if (!any) return;
    cg__begin_tile(w, x, y, tile);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (w->plan->resident[i] != which) continue;
        const char *element = cg__element(w, i);
        if (tile)
            ind__textf(&w->code, "tile%u[ty + k * %d][tx] = %s;\n", i, step, element);
        else
            ind__textf(&w->code, "x%u[k] = %s;\n", i, element);
    }
    cg__end_tile(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (w->plan->resident[i] == which)
            w->memory[i] = tile ? cg__string(w, "tile%u[tx][ty + k * %d]", i, step) : cg__string(w, "x%u[k]", i);
}

static ind_status cg__emit_scalar_transpose(ind__writer *w, int y) {
    int x = w->plan->domain.rank - 1;
    cg__emit_tile_arrays(w);
    cg__emit_tile_position(w, x, y);
    cg__emit_tile_loads(w, x, y, IND__CG_BESIDE_TILE);
    cg__emit_tile_loads(w, x, y, IND__CG_THROUGH_TILE);
    ind__textf(&w->code, "__syncthreads();\n");
    cg__begin_tile(w, x, y, false);
    cg__need_stores(w);
    cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    cg__end_tile(w);
    return IND_OK;
}

/* ---- tiles moved by vectors. Memory is read in vectors of n along y and written in vectors of n along x. A tile in
   shared memory has the layout in which it is read, x by x. A unit has `group` neighbours in y that fill 4 bytes (one
   element, if it is that wide). One unit of padding follows each x. A thread writes one vector for each y of a group:
   it reads n units, each from another x, and takes one element of each per y. Lanes of a warp have no bank conflicts. A
   warp stores 8 vectors of 4 units for 4 neighbours in x (x * (odd) + 4 * vector). It reads 32 / n vectors of n
   neighbours, in units of y (n * (odd) * vector + unit). */

typedef struct cg__tiling {
    int x, y, size, n, group;
    bool full_x, full_y;         /* no tile crosses the end */
    int load_steps, load_rows;   /* iterations of the loop that fills the tile, and the x of each */
    int store_steps, store_rows; /* iterations of the loop that writes results, and the units of y of each */
} cg__tiling;

static int cg__widest_tile(const ind__writer *w, int x, int y) {
    int widest = 1;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__through_tile(w, i, x, y)) continue;
        const int bytes = ind_dtype_bytes(cg__memory_dtype(w, i));
        widest = bytes > widest ? bytes : widest;
    }
    return widest;
}

static cg__tiling cg__tiling_of(const ind__writer *w, int x, int y) {
    const ind__variant *v = w->variant;
    cg__tiling t = {.x = x, .y = y, .size = v->of.tile.m, .n = v->vector};
    const int widest = cg__widest_tile(w, x, y), warps_x = t.size / 32;
    t.group = widest < 4 ? 4 / widest : 1;
    t.full_x = ind_known_multiple(w->plan->domain.extent[x], t.size);
    t.full_y = ind_known_multiple(w->plan->domain.extent[y], t.size);
    t.load_rows = v->threads / (t.size / t.n);
    t.load_steps = t.size / t.load_rows;
    t.store_rows = v->threads / 32 / warps_x * t.n;
    t.store_steps = t.size / t.group / t.store_rows;
    return t;
}

/* Returns the type of a group of neighbours of load i, as "unsigned short". */
static const char *cg__tile_unit(const ind__writer *w, const cg__tiling *t, uint32_t i) {
    ind_dtype type = cg__memory_dtype(w, i);
    const int bytes = t->group * ind_dtype_bytes(type);
    return t->group == 1 ? cg__types[type].memory : bytes == 4 ? "unsigned" : "unsigned short";
}

static void cg__emit_vector_tile_arrays(ind__writer *w, const cg__tiling *t) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        const int units = t->size / t->group;
        if (w->plan->resident[i] == IND__CG_THROUGH_TILE) {
            ind__textf(&w->code, "__shared__ %s tile%u[%d][%d];\n", cg__tile_unit(w, t, i), i, t->size, units + 1);
            ind__textf(&w->code, "ind_vec<%s, %d> z%u[%d];\n", cg__tile_unit(w, t, i), t->n / t->group, i,
                       t->load_steps);
        }
        if (w->plan->resident[i] == IND__CG_BESIDE_TILE)
            ind__textf(&w->code, "ind_vec<%s, %d> x%u[%d];\n", cg__types[cg__memory_dtype(w, i)].memory, t->n, i,
                       t->store_steps * t->group);
    }
}

/* Declares the thread's positions in the tile, for the vectors that it reads and for those that it writes. */
static void cg__emit_vector_tile_position(ind__writer *w, const cg__tiling *t) {
    const int vectors = t->size / t->n / 8, across = 32 / t->n, warps_x = t->size / 32;
    const char *at[3];
    ind_expr blocks[3];
    cg__tile_blocks(w, t->x, t->y, blocks);
    ind__textf(&w->code, "const int lane = threadIdx.x %% 32, warp = threadIdx.x / 32;\n");
    ind__textf(&w->code, "const int from_x = lane / 8 + warp / %d * 4, from_y = (lane %% 8 + warp %% %d * 8) * %d;\n",
               vectors, vectors, t->n);
    ind__textf(&w->code, "const int to_x = (lane %% %d + warp %% %d * %d) * %d, to_y = lane / %d + warp / %d * %d;\n",
               across, warps_x, across, t->n, across, warps_x, t->n);
    cg__write_axes(w, blocks, at);
    ind__textf(&w->code, "const %s x0 = (%s)%s * %d, y0 = (%s)%s * %d;\n", cg__int(w), cg__int(w), at[0], t->size,
               cg__int(w), at[1], t->size);
    cg__write_outer_vars(w, at[2], 1u << t->x | 1u << t->y);
}

/* Opens "if (x < 100 && y < 60)", without the conditions that always hold. */
static void cg__begin_inside(ind__writer *w, const cg__tiling *t) {
    const ind_expr *extent = w->plan->domain.extent;
    const char *in_x = t->full_x ? "" : cg__string(w, "x < %s", cg__expr_string(w, extent[t->x]));
    const char *in_y = t->full_y ? "" : cg__string(w, "y < %s", cg__expr_string(w, extent[t->y]));
    if (t->full_x && t->full_y) return;
    cg__begin(w, "if (%s%s%s)", in_x, t->full_x || t->full_y ? "" : " && ", in_y);
}

static void cg__end_vector_tile(ind__writer *w, const cg__tiling *t) {
    if (!t->full_x || !t->full_y) cg__end(w);
    cg__end(w);
}

static void cg__begin_tile_load(ind__writer *w, const cg__tiling *t) {
    cg__unroll(w);
    cg__begin(w, "for (int k = 0; k < %d; k++)", t->load_steps);
    ind__textf(&w->code, "const %s x = x0 + from_x + k * %d, y = y0 + from_y;\n", cg__int(w), t->load_rows);
    cg__begin_inside(w, t);
}

/* Writes the loop that fills the tile. All loads are in flight before the first one is waited for. */
static void cg__emit_vector_tile_loads(ind__writer *w, const cg__tiling *t) {
    for (int pass = 0; pass < 2; pass++) {
        cg__begin_tile_load(w, t);
        for (uint32_t i = 1; i < w->body->num_inst; i++) {
            if (w->plan->resident[i] != IND__CG_THROUGH_TILE) continue;
            const char *unit = cg__tile_unit(w, t, i);
            const int units = t->n / t->group;
            if (pass == 0) {
                ind__textf(&w->code, "z%u[k] = ind_load<%d>((const %s *)&%s);\n", i, units, unit, cg__element(w, i));
                continue;
            }
            cg__unroll(w);
            ind__textf(&w->code, "for (int j = 0; j < %d; j++) tile%u[from_x + k * %d][from_y / %d + j] = ", units, i,
                       t->load_rows, t->group);
            ind__textf(&w->code, "z%u[k].at[j];\n", i);
        }
        cg__end_vector_tile(w, t);
    }
}

/* Opens the loop over the vectors that a thread writes; cg__end_vector_tile closes it. */
static void cg__begin_tile_store(ind__writer *w, const cg__tiling *t) {
    cg__unroll(w);
    cg__begin(w, "for (int k = 0; k < %d; k++)", t->store_steps * t->group);
    if (t->group == 1)
        ind__textf(&w->code, "const %s x = x0 + to_x, y = y0 + to_y + k * %d;\n", cg__int(w), t->store_rows);
    else
        ind__textf(&w->code, "const %s x = x0 + to_x, y = y0 + (to_y + k / %d * %d) * %d + k %% %d;\n", cg__int(w),
                   t->group, t->store_rows, t->group, t->group);
    cg__begin_inside(w, t);
}

static void cg__emit_vector_loads_beside(ind__writer *w, const cg__tiling *t) {
    bool any = false;
    for (uint32_t i = 1; i < w->body->num_inst; i++) any |= w->plan->resident[i] == IND__CG_BESIDE_TILE;
    if (!any) return;
    cg__begin_tile_store(w, t);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (w->plan->resident[i] == IND__CG_BESIDE_TILE)
            ind__textf(&w->code, "x%u[k] = ind_load<%d>(&%s);\n", i, t->n, cg__element(w, i));
    cg__end_vector_tile(w, t);
}

/* Sets the expression with which each load reads element j of the vector that is written. */
static void cg__set_tile_elements(ind__writer *w, const cg__tiling *t) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (w->plan->resident[i] == IND__CG_BESIDE_TILE) w->memory[i] = cg__string(w, "x%u[k].at[j]", i);
        if (w->plan->resident[i] != IND__CG_THROUGH_TILE) continue;
        const ind_dtype type = cg__memory_dtype(w, i);
        w->memory[i] = t->group == 1 ? cg__string(w, "tile%u[to_x + j][to_y + k * %d]", i, t->store_rows)
                                     : cg__string(w, "(%s)(tile%u[to_x + j][to_y + k / %d * %d] >> k %% %d * %d)",
                                                  cg__types[type].memory, i, t->group, t->store_rows, t->group,
                                                  8 * ind_dtype_bytes(type));
    }
}

static ind_status cg__emit_vector_transpose(ind__writer *w, int y) {
    const cg__tiling t = cg__tiling_of(w, w->plan->domain.rank - 1, y);
    w->var[t.x] = "x";
    w->var[t.y] = "y";
    cg__use(w, IND__CG_VEC);
    cg__emit_vector_tile_arrays(w, &t);
    cg__emit_vector_tile_position(w, &t);
    cg__emit_vector_loads_beside(w, &t);
    cg__emit_vector_tile_loads(w, &t);
    ind__textf(&w->code, "__syncthreads();\n");
    cg__set_tile_elements(w, &t);
    cg__begin_tile_store(w, &t);
    cg__need_stores(w);
    cg__emit_vector_body(w, t.x, "x");
    cg__end_vector_tile(w, &t);
    return IND_OK;
}

static ind_status cg__emit_transpose(ind__writer *w) {
    const int y = w->plan->tile_y;
    return w->variant->vector > 1 ? cg__emit_vector_transpose(w, y) : cg__emit_scalar_transpose(w, y);
}

/* ===================================================================================== src/cuda/decide/tile_loads.c */
/* Unmasked loads along x start before the barrier, so that they are in flight while the tile is filled. */
static void cg__choose_tile_loads(cg__decider *d, int x, int y) {
    int ahead = 0, tiles = 0;
    for (uint32_t i = 1; i < d->w.body->num_inst; i++) {
        const ind__inst *inst = cg__inst(&d->w, i);
        bool plain = inst->op == IND_LOOP_LOAD && !inst->arg[0] && cg__contiguous(&d->w, i, x) &&
                     !ind__expr_has_kind(cg__index_of(&d->w, i), IND_SYMBOL_INDIRECT);
        d->plan->resident[i] =
            tiles < IND__CG_MAX_TILES && cg__through_tile(&d->w, i, x, y) ? IND__CG_THROUGH_TILE : IND__CG_DIRECTLY;
        tiles += d->plan->resident[i] == IND__CG_THROUGH_TILE;
        if (!plain || d->plan->vector[i] != d->variant->vector) continue;
        const int bytes = ind_dtype_bytes(cg__memory_dtype(&d->w, i)), words = bytes < 4 ? 4 / bytes : 1;
        const int registers = d->variant->per_thread / (d->variant->vector > 1 ? words : 1);
        if (ahead + registers > d->w.target->thresholds.ahead) continue;
        d->plan->resident[i] = IND__CG_BESIDE_TILE;
        ahead += registers;
    }
}

/* ============================================================================== src/cuda/emit/reduction/reduction.c */
/* ---------------------------------------------------------------------------------------------- >>reduction */

/* A reduction kernel runs over its row in passes. Pass A of stage s computes every reduction whose operand needs s
   finished ones. If the row is in registers, welford and online softmax take two exact steps: the mean (or maximum) in
   A, the sum around it in B. The last pass also stores the results per element. */
typedef struct cg__pass {
    int stage;
    bool second; /* B */
    bool stores;
    bool halves; /* 16-bit maxima are already combined */
} cg__pass;

#define IND__CG_MAX_PASSES 64

/* Marks of cg__choose_resident in ind__writer.resident while it works. */
enum { IND__CG_MADE = 1, IND__CG_FRONT = 2, IND__CG_RESIDENT = 4, IND__CG_READ = 8, IND__CG_RESIDENT_LOAD = 16 };

static bool cg__sorts_rows(const ind__writer *w) {
    return ind__strategy_row_of(w->variant->strategy)->family == IND__FAMILY_SORT;
}

static bool cg__looks_back(const ind__writer *w) {
    return w->variant->strategy == IND_STRATEGY_SCAN_LOOKBACK;
}

static bool cg__scans_rows(const ind__writer *w) {
    return ind__strategy_row_of(w->variant->strategy)->family == IND__FAMILY_SCAN || cg__sorts_rows(w);
}

static bool cg__in_registers(const ind__writer *w) {
    return cg__has(w, IND__HAS_REGISTERS);
}

static bool cg__two_step(const ind__inst *inst) {
    return inst->reduction == IND_REDUCE_WELFORD || inst->reduction == IND_REDUCE_ONLINE_SOFTMAX;
}

/* True if pass s computes the REDUCE at i. */
static bool cg__reduces_in(const ind__writer *w, uint32_t i, const cg__pass *s) {
    const ind__inst *inst = cg__inst(w, i);
    if (inst->op != IND_LOOP_REDUCE || w->plan->stage[i] != s->stage + 1) return false;
    return !s->second || (cg__in_registers(w) && cg__two_step(inst));
}

static bool cg__reduces_any(const ind__writer *w, const cg__pass *s) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__reduces_in(w, i, s)) return true;
    return false;
}

static int cg__passes(const ind__writer *w, cg__pass *pass) {
    int n = 0, last = cg__last_stage(w);
    for (int s = 0; s <= last && n + 2 <= IND__CG_MAX_PASSES; s++) {
        bool second = false;
        pass[n++] = (cg__pass){.stage = s, .stores = s == last};
        for (uint32_t i = 1; i < w->body->num_inst; i++)
            second |= cg__reduces_in(w, i, &(cg__pass){.stage = s, .second = true});
        if (second) pass[n++] = (cg__pass){.stage = s, .second = true};
    }
    return n;
}

/* Returns the EXP of the body that is a term exp(x - m) of a softmax's sum. In registers, pass B computes this EXP,
   adds it to the sum and keeps it for the result. 0: the body has no such EXP. */
static uint32_t cg__softmax_term(const ind__writer *w, uint32_t reduce) {
    for (uint32_t i = reduce + 1; i < w->body->num_inst; i++) {
        const ind__inst *difference = cg__inst(w, cg__inst(w, i)->arg[0]);
        if (cg__inst(w, i)->op != IND_LOOP_EXP || difference->op != IND_LOOP_SUB) continue;
        const ind__inst *part = cg__inst(w, difference->arg[1]);
        if (difference->arg[0] == cg__inst(w, reduce)->arg[0] && part->op == IND_LOOP_PART && part->imm.i == 0 &&
            part->arg[0] == reduce)
            return i;
    }
    return 0;
}

static void cg__need_pass(ind__writer *w, const cg__pass *s) {
    cg__need_none(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (s->stores && cg__stores_per_element(w, i)) cg__need(w, i);
        if (w->plan->only_check[i] == IND__CG_CHECK_REDUCED && w->plan->stage[i] == s->stage && !s->second)
            cg__need(w, i);
        if (!cg__reduces_in(w, i, s)) continue;
        bool terms = s->second && cg__inst(w, i)->reduction == IND_REDUCE_ONLINE_SOFTMAX && cg__softmax_term(w, i);
        cg__need(w, terms ? cg__softmax_term(w, i) : cg__inst(w, i)->arg[0]);
        if (cg__inst(w, i)->arg[1]) cg__need(w, cg__inst(w, i)->arg[1]);
    }
    cg__close_needed(w);
}

static bool cg__expensive(const ind__inst *inst) {
    if (inst->op == IND_LOOP_DIV || inst->op == IND_LOOP_POW) return true;
    bool rounding = inst->op >= IND_LOOP_ROUND_F16 && inst->op <= IND_LOOP_ROUND_BF16;
    return ind__loop_op_class((ind_loop_op)inst->op) == 'f' && !rounding;
}

/* True if the load is the same in every row of a run. It is then repeated, from a cache, as the columns need the
   registers. */
static bool cg__repeats(const ind__writer *w, uint32_t i) {
    return w->kernel->run && cg__inst(w, i)->op == IND_LOOP_LOAD && !(w->plan->varies[i] & cg__p_mask(w));
}

/* Returns the 32-bit registers per element of a row: for loads, which stay in registers as they are in memory until
   their pass; for other kept instructions, as values; and for the columns that a run of rows combines. */
static double cg__resident_words(const ind__writer *w) {
    double words = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        bool load = cg__inst(w, i)->op == IND_LOOP_LOAD && w->plan->varies[i] & cg__r_mask(w);
        bool vector = load && !cg__mask_of(w, i) && w->plan->vector[i] > 1 &&
                      w->plan->vector[i] == w->variant->vector && !cg__repeats(w, i);
        if (cg__combines_run(w, i)) words += ind_dtype_bytes((ind_dtype)cg__inst(w, i)->dtype) > 4 ? 2 : 1;
        if (!w->plan->resident[i] && !vector) continue;
        int bytes = ind_dtype_bytes(vector ? cg__memory_dtype(w, i) : (ind_dtype)cg__inst(w, i)->dtype);
        words += (vector || bytes > 4 ? bytes : 4) /
                 (w->plan->resident[i] ? 4.0 : 8.0); /* others are kept for one pass only */
    }
    return words;
}

/* ================================================================================ src/cuda/decide/resident_values.c */
static void cg__mark_front(void *self, uint32_t user, uint32_t used) {
    cg__decider *d = (cg__decider *)self;
    (void)user;
    if (d->plan->resident[used] & IND__CG_MADE) d->plan->resident[used] |= IND__CG_FRONT;
}

/* The front of a pass: values of earlier passes (IND__CG_MADE) that it uses directly. They are kept in registers if
   that takes fewer registers than the loads that they are computed from, or saves expensive work. */
static void cg__mark_resident_front(cg__decider *d, const cg__pass *s) {
    int values = 0, loads = 0;
    bool expensive = false;
    for (uint32_t i = 1; i < d->w.body->num_inst; i++) {
        const ind__inst *inst = cg__inst(&d->w, i);
        if (cg__reduces_in(&d->w, i, s)) cg__each_use(&d->w, i, cg__mark_front, d);
        if (!d->w.needed[i] || !(d->plan->varies[i] & cg__r_mask(&d->w))) continue;
        if (!(d->plan->resident[i] & IND__CG_MADE))
            cg__each_use(&d->w, i, cg__mark_front, d);
        else
            expensive |= cg__expensive(inst);
        loads += inst->op == IND_LOOP_LOAD && !cg__repeats(&d->w, i);
    }
    for (uint32_t i = 1; i < d->w.body->num_inst; i++)
        values += d->plan->resident[i] & IND__CG_FRONT && cg__inst(&d->w, i)->op != IND_LOOP_LOAD && !d->w.value[i];
    for (uint32_t i = 1; i < d->w.body->num_inst; i++) {
        bool able = d->plan->resident[i] & IND__CG_FRONT && cg__inst(&d->w, i)->op != IND_LOOP_LOAD &&
                    cg__inst(&d->w, i)->op != IND_LOOP_INDIRECT;
        d->plan->resident[i] &= (uint8_t)~IND__CG_FRONT;
        if (!able || d->w.value[i] || !(expensive || values < loads)) continue;
        d->plan->resident[i] |= IND__CG_RESIDENT;
        d->w.value[i] = ""; /* later passes search no further */
    }
}

/* Chooses which values of the row stay in registers between passes: fronts (see above), and loads that several passes
   still need. The search from the values that a pass computes stops at finished reductions. */
static void cg__choose_resident(cg__decider *d) {
    cg__pass pass[IND__CG_MAX_PASSES];
    int n = cg__passes(&d->w, pass);
    uint32_t innermost = d->plan->domain.rrank ? 1u << (cg__num_vars(&d->w) - 1) : 0, num = d->w.body->num_inst;
    memset(d->plan->resident, 0, num);
    for (uint32_t i = 1; i < num; i++)
        if (cg__inst(&d->w, i)->op == IND_LOOP_REDUCE) d->w.value[i] = "";
    for (int s = 0; s < n; s++) {
        cg__need_pass(&d->w, &pass[s]);
        cg__mark_resident_front(d, &pass[s]);
        for (uint32_t i = 1; i < num; i++)
            if (d->w.needed[i] && d->plan->varies[i] & innermost && cg__inst(&d->w, i)->op != IND_LOOP_STORE)
                d->plan->resident[i] |= IND__CG_MADE;
    }
    for (int s = 0; s < n; s++) {
        for (uint32_t i = 1; i < num; i++)
            if (d->plan->resident[i] & IND__CG_RESIDENT)
                d->w.value[i] = d->plan->resident[i] & IND__CG_READ ? "" : NULL;
        cg__need_pass(&d->w, &pass[s]);
        for (uint32_t i = 1; i < num; i++) {
            if (!d->w.needed[i]) continue;
            bool load = cg__inst(&d->w, i)->op == IND_LOOP_LOAD && d->plan->varies[i] & innermost;
            if (load && d->plan->resident[i] & IND__CG_READ && !cg__repeats(&d->w, i))
                d->plan->resident[i] |= IND__CG_RESIDENT_LOAD;
            d->plan->resident[i] |= IND__CG_READ;
        }
    }
    for (uint32_t i = 1; i < num; i++) {
        if (cg__inst(&d->w, i)->op == IND_LOOP_REDUCE || d->plan->resident[i] & IND__CG_RESIDENT) d->w.value[i] = NULL;
        d->plan->resident[i] = (d->plan->resident[i] & (IND__CG_RESIDENT | IND__CG_RESIDENT_LOAD)) != 0;
    }
}

/* ================================================================================= src/cuda/emit/reduction/states.c */
/* ---- states */

/* The type of each reduction's state in the source, and its results; %u is the number of the REDUCE. */
static const struct {
    int function;
    const char *state, *result[2];
} cg__states[IND_NUM_REDUCTIONS] = {
    [IND_REDUCE_SUM] = {IND__CG_SUM, "ind_sum", {"s%u.value", NULL}},
    [IND_REDUCE_PROD] = {IND__CG_PROD, "ind_prod", {"s%u.value", NULL}},
    [IND_REDUCE_MAX] = {IND__CG_MAX, "ind_maximum", {"s%u.value", NULL}},
    [IND_REDUCE_MIN] = {IND__CG_MIN, "ind_minimum", {"s%u.value", NULL}},
    [IND_REDUCE_ANY] = {IND__CG_ANY, "ind_any", {"s%u.value", NULL}},
    [IND_REDUCE_ARGMAX] = {IND__CG_ARGMAX, "ind_argmax", {"s%u.at", NULL}},
    [IND_REDUCE_WELFORD] = {IND__CG_WELFORD, "ind_welford", {"s%u.mean", "s%u.m2"}},
    [IND_REDUCE_ONLINE_SOFTMAX] = {IND__CG_SOFTMAX, "ind_softmax", {"s%u.max", "s%u.sum"}},
    [IND_REDUCE_DOT] = {IND__CG_SUM, "ind_sum", {"s%u.value", NULL}},
};

/* Returns the reduction that pass s computes for REDUCE i, and the letter of its state's name. */
static ind_reduction cg__step(const ind__writer *w, uint32_t i, const cg__pass *s, char *letter) {
    ind_reduction r = (ind_reduction)cg__inst(w, i)->reduction;
    *letter = s->second ? 'd' : 's';
    if (!cg__in_registers(w)) return r;
    if (r == IND_REDUCE_WELFORD) return IND_REDUCE_SUM;
    if (r == IND_REDUCE_ONLINE_SOFTMAX) return s->second ? IND_REDUCE_SUM : IND_REDUCE_MAX;
    return r;
}

/* True if integers wrap around in this reduction. They are then unsigned, whose overflow is defined in C++. */
static bool cg__wraps(const ind__writer *w, uint32_t i) {
    ind_reduction r = (ind_reduction)cg__inst(w, i)->reduction;
    bool grows = r == IND_REDUCE_SUM || r == IND_REDUCE_PROD || r == IND_REDUCE_DOT;
    return grows && !ind_dtype_is_float((ind_dtype)cg__inst(w, i)->dtype);
}

/* Returns the type of a state's value. Narrow integers are reduced as int (and truncated where they are used). ANY
   counts as int. */
static const char *cg__state_type(const ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    bool operand = inst->reduction == IND_REDUCE_ARGMAX || inst->reduction == IND_REDUCE_ANY;
    ind_dtype t = (ind_dtype)(operand ? cg__inst(w, inst->arg[0])->dtype : inst->dtype);
    if (cg__wraps(w, i)) return ind_dtype_bytes(t) < 8 ? "unsigned" : "unsigned long long";
    if (inst->reduction == IND_REDUCE_ANY || (!ind_dtype_is_float(t) && ind_dtype_bytes(t) < 4)) return "int";
    return cg__types[t].value;
}

/* Returns the neutral element of MAX and MIN: the far end of the type. */
static const char *cg__far_end(const ind__writer *w, uint32_t i, bool lowest) {
    switch (cg__inst(w, i)->dtype) {
    case IND_BOOL: return lowest ? "0" : "1";
    case IND_U8: return lowest ? "0" : "255";
    case IND_I8: return lowest ? "-128" : "127";
    case IND_I16: return lowest ? "-32768" : "32767";
    case IND_I32: return lowest ? "-2147483647 - 1" : "2147483647";
    case IND_I64: return lowest ? "-9223372036854775807LL - 1" : "9223372036854775807LL";
    default: return lowest ? "__uint_as_float(0xff800000u)" : "__uint_as_float(0x7f800000u)";
    }
}

static const char *cg__neutral(ind__writer *w, uint32_t i, ind_reduction r) {
    switch (r) {
    case IND_REDUCE_PROD: return "1";
    case IND_REDUCE_MAX: return cg__far_end(w, i, true);
    case IND_REDUCE_MIN: return cg__far_end(w, i, false);
    case IND_REDUCE_ARGMAX: return "0, -1";
    case IND_REDUCE_WELFORD: return "0, 0, 0";
    case IND_REDUCE_ONLINE_SOFTMAX: return "__uint_as_float(0xff800000u), 0";
    default: return "0";
    }
}

/* Returns the state type of REDUCE i, or of a reduction over columns: "ind_sum<float>". */
static const char *cg__state_type_text(ind__writer *w, uint32_t i) {
    ind_reduction r = (ind_reduction)cg__inst(w, i)->reduction;
    cg__use(w, cg__states[r].function);
    return cg__string(w, "%s<%s>", cg__states[r].state, cg__state_type(w, i));
}

/* Returns the size of that type. */
static int cg__state_bytes_of(const ind__writer *w, uint32_t i) {
    ind_reduction r = (ind_reduction)cg__inst(w, i)->reduction;
    const char *type = cg__state_type(w, i);
    int bytes = strstr(type, "long") || strstr(type, "double") ? 8 : 4;
    return r == IND_REDUCE_ARGMAX           ? 16
           : r == IND_REDUCE_WELFORD        ? 3 * bytes
           : r == IND_REDUCE_ONLINE_SOFTMAX ? 2 * bytes
                                            : bytes;
}

/* True if the blocks of a cluster share a row. */
static bool cg__has_cluster(const ind__writer *w) {
    return cg__row(w)->cluster > 1;
}

static int cg__row_threads(const ind__writer *w) {
    const ind__variant *v = w->variant;
    bool several = v->strategy == IND_STRATEGY_ROW_WARP || cg__scans_rows(w);
    if (v->strategy == IND_STRATEGY_ROW_STAGED || cg__has_cluster(w)) return v->threads * ind__row_of(v)->cluster;
    return several ? v->threads * (ind__row_of(v)->batch ? ind__row_of(v)->batch : 1) / v->rows : v->threads;
}

/* True for ROW_STAGED: the states of even and odd rows have separate memory. Persistent blocks then synchronise once
   per combine step, not again before the next one. */
static bool cg__is_parted(const ind__writer *w) {
    return w->variant->strategy == IND_STRATEGY_ROW_STAGED;
}

#define IND__CG_WARP_STATES 128 /* per row: four per lane of a warp */

/* True if each warp of a cluster sends its states to all blocks, and combines those of all warps itself. That is one
   wait. Otherwise there is a block barrier, a combine step of the block's warps, and a wait for other blocks. With only
   one combine step, as in rms_norm, this gives 81 to 87 % of copy bandwidth with 4 or 8 blocks (131072 f32). With two
   blocks the wait is short. More than four states per lane cost more than the barrier. Both of these lost 2 to 10 %.
   Blocks that loop over a row synchronise only once per pass. */
static bool cg__exchanges_by_warp(const ind__writer *w) {
    return cg__is_parted(w) && cg__row(w)->cluster > 2 && cg__row_threads(w) / 32 <= IND__CG_WARP_STATES;
}

/* Returns the lanes of a warp that combine the states of warps. cg__exchange_states is the number of states of all
   these lanes, padded with neutral ones. */
static int cg__exchange_lanes(const ind__writer *w) {
    const int warps = cg__row_threads(w) / 32;
    return warps > 16 ? 32 : cg__pow2_at_least(warps, 1, 16);
}

static int cg__exchange_states(const ind__writer *w) {
    const int lanes = cg__exchange_lanes(w);
    return (cg__row_threads(w) / 32 + lanes - 1) / lanes * lanes;
}

/* True if warps exchange a mean and its squared deviations in one state. Each warp has its own mean, and deviations
   from it (Chan et al. 1979), so that warps wait for each other once (layer_norm of 98317 bf16 on an H200: 83 and 86 %
   of copy bandwidth, of 200003 f16 77 and 80; others vary by 1 %). */
static bool cg__exchanges_moments(const ind__writer *w, uint32_t i) {
    return cg__inst(w, i)->reduction == IND_REDUCE_WELFORD && cg__exchanges_by_warp(w);
}

/* True if warps exchange a state of REDUCE i after this pass. */
static bool cg__exchanges(const ind__writer *w, uint32_t i, const cg__pass *s) {
    return cg__reduces_in(w, i, s) && (!cg__exchanges_moments(w, i) || s->second);
}

/* Returns the reduction of the exchanged state, and the letter of its name. */
static ind_reduction cg__exchanged(const ind__writer *w, uint32_t i, const cg__pass *s, char *letter) {
    const ind_reduction r = cg__step(w, i, s, letter);
    if (!cg__exchanges_moments(w, i)) return r;
    *letter = 'w';
    return IND_REDUCE_WELFORD;
}

static void cg__emit_states(ind__writer *w, const cg__pass *s) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        char letter;
        if (!cg__reduces_in(w, i, s)) continue;
        ind_reduction r = cg__step(w, i, s, &letter);
        cg__use(w, cg__states[r].function);
        ind__textf(&w->code, "%s<%s> %c%u = {%s};\n", cg__states[r].state, cg__state_type(w, i), letter, i,
                   cg__neutral(w, i, r));
        if (cg__exchanges_moments(w, i) && !s->second) ind__textf(&w->code, "ind_sum<int> count%u = {0};\n", i);
    }
}

/* True for reductions that take a whole chunk of elements at once. An array a<number> collects it: neighbours, or the
   reads of a thread in one group of steps (ind__writer.steps). */
static bool cg__takes_chunks(const ind__writer *w, uint32_t i, const cg__pass *s) {
    return !cg__in_registers(w) && cg__reduces_in(w, i, s) && cg__two_step(cg__inst(w, i));
}

/* True if its states are in an array with one state per neighbour. This is so for columns. For sums and products of a
   row, chains of additions are shorter and more accurate that way. */
static bool cg__has_lanes(const ind__writer *w, uint32_t i) {
    ind_reduction r = (ind_reduction)cg__inst(w, i)->reduction;
    return w->split.lanes > 1 &&
           (w->variant->strategy == IND_STRATEGY_COLUMN_SPLIT || r == IND_REDUCE_SUM || r == IND_REDUCE_PROD);
}

/* Returns the subscript of an element in a<number>: "[j]". */
static const char *cg__chunk_subscript(ind__writer *w, uint32_t i) {
    int n = w->variant->vector;
    if (!w->split.steps) return n > 1 ? "[j]" : "[0]";
    if (cg__has_lanes(w, i)) return "[j][k]";
    return n > 1 ? cg__string(w, "[k * %d + j]", n) : "[k]";
}

static void cg__emit_chunk_arrays(ind__writer *w, const cg__pass *s) {
    for (uint32_t i = 1; i < w->body->num_inst && !w->split.steps; i++)
        if (cg__takes_chunks(w, i, s))
            ind__textf(&w->code, "%s a%u[%d];\n", cg__state_type(w, i), i, w->variant->vector);
}

static void cg__emit_chunk_adds(ind__writer *w, const cg__pass *s) {
    for (uint32_t i = 1; i < w->body->num_inst && !w->split.steps; i++)
        if (cg__takes_chunks(w, i, s))
            ind__textf(&w->code, cg__has_lanes(w, i) ? "l%u[j].add(a%u);\n" : "s%u.add(a%u);\n", i, i);
}

/* Writes the term that an element adds to the sum of pass B. */
static void cg__emit_second_term(ind__writer *w, uint32_t i) {
    uint32_t x = cg__inst(w, i)->arg[0], term = cg__softmax_term(w, i);
    if (cg__inst(w, i)->reduction == IND_REDUCE_WELFORD) {
        const char *mean = cg__exchanges_moments(w, i) ? "near" : "mean";
        ind__textf(&w->code, "(");
        cg__value(w, x);
        ind__textf(&w->code, " - %s%u) * (", mean, i);
        cg__value(w, x);
        ind__textf(&w->code, " - %s%u)", mean, i);
    } else if (term) {
        cg__value(w, term);
    } else {
        cg__use(w, IND__CG_EXP_BELOW);
        ind__textf(&w->code, "ind_exp_below(");
        cg__value(w, x);
        ind__textf(&w->code, ", ind_exp_base(s%u.value))", i);
    }
}

/* ========================================================================= src/cuda/emit/reduction/combine_states.c */
/* ---- combining the states of threads into the row's state */

/* True if the number of threads that share a row depends on the row length of the launch. The text names it `threads`.
 */
static bool cg__is_fitted(const ind__writer *w) {
    return ind__ok(cg__row(w)->fitted);
}

/* Returns the number of threads that share a row, as a constant or as `threads`. */
static const char *cg__row_threads_text(ind__writer *w) {
    return cg__is_fitted(w) ? "threads" : cg__string(w, "%d", cg__row_threads(w));
}

/* Vectors per segment of a row; 0: the row has one segment, or the length of segments is unknown. */
static int64_t cg__segment_vectors(const ind__writer *w) {
    int64_t length;
    if (w->plan->domain.rrank != 2 || !ind_expr_is_int(w->plan->domain.extent[w->plan->domain.rank + 1], &length))
        return 0;
    return length % w->variant->vector ? 0 : length / w->variant->vector;
}

/* Lanes of a row that take a vector in each iteration. */
static int cg__round_lanes(const ind__writer *w) {
    const int segments = cg__row(w)->segments;
    return segments ? segments * (int)cg__segment_vectors(w) : cg__row_threads(w);
}

/* True if the lanes of a segment begin at a sector boundary instead of at the start of the segment. */
static bool cg__begins_at_sector(const ind__writer *w) {
    return cg__row(w)->segments && cg__row(w)->segment_lanes > cg__segment_vectors(w);
}

static bool cg__shares_states(const ind__writer *w) {
    if (w->variant->strategy == IND_STRATEGY_COLUMN) return w->variant->threads > w->variant->rows;
    return cg__row_threads(w) > 32;
}

static const char *cg__part_of(const ind__writer *w) {
    return cg__is_parted(w) ? "[turn & 1]" : "";
}

static void cg__emit_shared_states(ind__writer *w, const cg__pass *s) {
    if (!cg__shares_states(w)) return;
    const ind__variant *v = w->variant;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        char letter;
        if (!cg__exchanges(w, i, s)) continue;
        ind_reduction r = cg__exchanged(w, i, s, &letter);
        if (!cg__exchanges_by_warp(w))
            ind__textf(&w->code, "__shared__ %s<%s> shared_%c%u", cg__states[r].state, cg__state_type(w, i), letter, i);
        if (v->strategy == IND_STRATEGY_COLUMN)
            ind__textf(&w->code, "[%d][%d];\n", v->threads / v->rows, v->rows);
        else if (!cg__exchanges_by_warp(w))
            ind__textf(&w->code, cg__is_parted(w) ? "[2][%d];\n" : "[%d];\n", v->threads / 32);
        if (cg__has_cluster(w)) {
            ind__textf(&w->code, "__shared__ %s<%s> cluster_%c%u", cg__states[r].state, cg__state_type(w, i), letter,
                       i);
            ind__textf(&w->code, cg__is_parted(w) ? "[2][%d];\n" : "[%d];\n",
                       cg__exchanges_by_warp(w) ? cg__exchange_states(w) : ind__row_of(v)->cluster);
        }
        cg__use(w, cg__states[r].function);
    }
}

/* Calls f for every state of the pass. */
static void cg__each_state(ind__writer *w, const cg__pass *s, void (*f)(ind__writer *w, uint32_t i, char letter)) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        char letter;
        if (!cg__reduces_in(w, i, s)) continue;
        cg__step(w, i, s, &letter);
        f(w, i, letter);
    }
}

/* Calls f for every state that warps exchange. */
static void cg__each_exchanged(ind__writer *w, const cg__pass *s, void (*f)(ind__writer *w, uint32_t i, char letter)) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        char letter;
        if (!cg__exchanges(w, i, s)) continue;
        cg__exchanged(w, i, s, &letter);
        f(w, i, letter);
    }
}

static void cg__combine_lanes_line(ind__writer *w, uint32_t i, char letter) {
    int lanes = cg__row_threads(w) < 32 ? cg__row_threads(w) : 32;
    if (lanes > 1) ind__textf(&w->code, "ind_combine_lanes<%d>(%c%u);\n", lanes, letter, i);
    if (lanes > 1) cg__use(w, IND__CG_COMBINE_LANES);
}

static void cg__warp_to_shared_line(ind__writer *w, uint32_t i, char letter) {
    const char *lane = cg__has_cluster(w) ? "threadIdx.x" : "lane";
    ind__textf(&w->code, "shared_%c%u%s[%s / 32] = %c%u;\n", letter, i, cg__part_of(w), lane, letter, i);
}

static void cg__column_to_shared_line(ind__writer *w, uint32_t i, char letter) {
    ind__textf(&w->code, "shared_%c%u[y][x] = %c%u;\n", letter, i, letter, i);
}

/* True if lanes combine the states of warps as a tree, instead of each thread all of them as a chain. Combining
   softmaxes or means takes ten times the instructions of sums: for 16 warps, a tenth of NVRTC's work for cross entropy
   of 128256. */
static bool cg__lanes_combine_warps(const ind__writer *w, uint32_t i) {
    const int warps = w->variant->threads / 32;
    if (w->variant->strategy == IND_STRATEGY_COLUMN || warps < 4 || warps > 32 || warps & (warps - 1)) return false;
    return !cg__in_registers(w) && cg__two_step(cg__inst(w, i));
}

static void cg__from_shared_line(ind__writer *w, uint32_t i, char letter) {
    const ind__variant *v = w->variant;
    const int warps = v->threads / 32;
    const char *part = cg__part_of(w);
    if (cg__is_fitted(w)) {
        cg__use(w, IND__CG_COMBINE_WARPS);
        ind__textf(&w->code, "%c%u = ind_combine_warps<%d>(shared_%c%u%s, threads / 32);\n", letter, i, warps, letter,
                   i, part);
        return;
    }
    if (cg__lanes_combine_warps(w, i)) {
        ind__textf(&w->code, "%c%u = shared_%c%u%s[threadIdx.x %% %d];\nind_combine_lanes<%d>(%c%u);\n", letter, i,
                   letter, i, part, warps, warps, letter, i);
        return;
    }
    cg__use(w, IND__CG_COMBINE_SHARED);
    if (v->strategy == IND_STRATEGY_COLUMN)
        ind__textf(&w->code, "%c%u = ind_combine_shared<%d, %d>(&shared_%c%u[0][x]);\n", letter, i,
                   v->threads / v->rows, v->rows, letter, i);
    else
        ind__textf(&w->code, "%c%u = ind_combine_shared<%d, 1>(shared_%c%u%s);\n", letter, i, warps, letter, i, part);
}

static void cg__to_cluster_line(ind__writer *w, uint32_t i, char letter) {
    const char *part = cg__part_of(w);
    ind__textf(&w->code, "ind_cluster_send(&cluster_%c%u%s[block], &barrier[%d]%s, threadIdx.x, %c%u);\n", letter, i,
               part, w->combine_step, part, letter, i);
}

static void cg__from_cluster_line(ind__writer *w, uint32_t i, char letter) {
    cg__use(w, IND__CG_COMBINE_SHARED);
    ind__textf(&w->code, "%c%u = ind_combine_shared<%d, 1>(cluster_%c%u%s);\n", letter, i, cg__row(w)->cluster, letter,
               i, cg__part_of(w));
}

static void cg__state_size(ind__writer *w, uint32_t i, char letter) {
    ind__textf(&w->code, " + sizeof %c%u", letter, i);
}

static void cg__emit_cluster_wait(ind__writer *w) {
    ind__textf(&w->code, "ind_cluster_wait(&barrier[%d]%s, %s);\n", w->combine_step, cg__part_of(w),
               cg__is_parted(w) ? "turn >> 1 & 1" : "0");
}

/* Combines the states of a cluster's blocks. Persistent blocks have separate barriers for even and odd rows, whose
   phase changes every other row. No block can be two rows ahead of another, as it needs that block's states for each
   row. */
static void cg__emit_cluster_combine(ind__writer *w, const cg__pass *s) {
    const int cluster = cg__row(w)->cluster;
    const char *part = cg__part_of(w);
    cg__use(w, IND__CG_CLUSTER);
    ind__textf(&w->code, "if (threadIdx.x == 0) ind_cluster_expect(&barrier[%d]%s, %d * (0", w->combine_step, part,
               cluster);
    cg__each_state(w, s, cg__state_size);
    ind__textf(&w->code, "));\n");
    cg__begin(w, "if (threadIdx.x < %d)", cluster);
    cg__each_state(w, s, cg__to_cluster_line);
    cg__end(w);
    cg__emit_cluster_wait(w);
    cg__each_state(w, s, cg__from_cluster_line);
    w->combine_step++;
}

static void cg__warp_to_cluster_line(ind__writer *w, uint32_t i, char letter) {
    const char *part = cg__part_of(w);
    ind__textf(&w->code, "ind_cluster_send(&cluster_%c%u%s[lane / 32], &barrier[%d]%s, threadIdx.x %% 32, %c%u);\n",
               letter, i, part, w->combine_step, part, letter, i);
}

/* Each lane combines every 32nd state, then lanes combine theirs, in the same order in all blocks. */
static void cg__from_warps_line(ind__writer *w, uint32_t i, char letter) {
    const int lanes = cg__exchange_lanes(w), each = cg__exchange_states(w) / lanes;
    if (letter == 'w') {
        cg__use(w, IND__CG_COMBINE_MOMENTS);
        ind__textf(&w->code, "w%u = ind_combine_moments<%d, %d, %d>(&cluster_w%u%s[threadIdx.x %% %d], (%s)(%s));\n", i,
                   each, lanes, lanes, i, cg__part_of(w), lanes, cg__state_type(w, i),
                   cg__expr_string(w, cg__r_numel(w)));
        return;
    }
    ind__textf(&w->code, "%c%u = ind_combine_shared<%d, %d>(&cluster_%c%u%s[threadIdx.x %% %d]);\n", letter, i, each,
               lanes, letter, i, cg__part_of(w), lanes);
    ind__textf(&w->code, "ind_combine_lanes<%d>(%c%u);\n", lanes, letter, i);
    cg__use(w, IND__CG_COMBINE_SHARED);
}

/* Writes a warp's moments, if warps synchronise once: count, mean, and squared deviations from this mean. */
static void cg__warp_moments_line(ind__writer *w, uint32_t i, char letter) {
    const char *type = cg__state_type(w, i);
    if (!cg__exchanges_moments(w, i)) return;
    if (letter == 'd') {
        ind__textf(&w->code, "ind_welford<%s> w%u = {(%s)count%u.value, near%u, d%u.value};\n", type, i, type, i, i, i);
        return;
    }
    ind__textf(&w->code, "ind_combine_lanes<32>(count%u);\n", i);
    ind__textf(&w->code, "const %s near%u = s%u.value / (%s)(count%u.value ? count%u.value : 1);\n", type, i, i, type,
               i, i);
}

static bool cg__exchanges_any(const ind__writer *w, const cg__pass *s) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__exchanges(w, i, s)) return true;
    return false;
}

/* Combines the states of a cluster's warps. No warp can be two rows ahead of another, as it needs that warp's states
   for each row. */
static void cg__emit_warps_combine(ind__writer *w, const cg__pass *s) {
    const char *part = cg__part_of(w);
    cg__use(w, IND__CG_CLUSTER);
    ind__textf(&w->code, "if (threadIdx.x == 0) ind_cluster_expect(&barrier[%d]%s, %d * (0", w->combine_step, part,
               cg__row_threads(w) / 32);
    cg__each_exchanged(w, s, cg__state_size);
    ind__textf(&w->code, "));\n");
    cg__begin(w, "if (threadIdx.x %% 32 < %d)", cg__row(w)->cluster);
    cg__each_exchanged(w, s, cg__warp_to_cluster_line);
    cg__end(w);
    cg__emit_cluster_wait(w);
    cg__each_exchanged(w, s, cg__from_warps_line);
    w->combine_step++;
}

static void cg__emit_combine(ind__writer *w, const cg__pass *s) {
    bool column = w->variant->strategy == IND_STRATEGY_COLUMN;
    if (!cg__reduces_any(w, s)) return;
    if (!column) cg__each_state(w, s, cg__combine_lanes_line);
    if (!cg__shares_states(w)) return;
    if (cg__exchanges_by_warp(w)) {
        cg__each_state(w, s, cg__warp_moments_line);
        if (cg__exchanges_any(w, s)) cg__emit_warps_combine(w, s);
        return;
    }
    if (!column) cg__begin(w, "if (lane %% 32 == 0)");
    cg__each_state(w, s, column ? cg__column_to_shared_line : cg__warp_to_shared_line);
    if (!column) cg__end(w);
    ind__textf(&w->code, "__syncthreads();\n");
    cg__each_state(w, s, cg__from_shared_line);
    if (cg__has_cluster(w)) cg__emit_cluster_combine(w, s);
}

static void cg__set_parts(ind__writer *w, uint32_t reduce, const char *first, const char *second) {
    if (second) w->value[reduce] = first;
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__inst(w, i)->op == IND_LOOP_PART && cg__inst(w, i)->arg[0] == reduce)
            w->value[i] = cg__inst(w, i)->imm.i ? second : first;
}

/* Sets the names of the pass's results. */
static void cg__emit_results(ind__writer *w, const cg__pass *s) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        const ind__inst *inst = cg__inst(w, i);
        if (!cg__reduces_in(w, i, s)) continue;
        const char *const *result = cg__states[inst->reduction].result;
        if (cg__in_registers(w) && cg__two_step(inst)) {
            bool welford = inst->reduction == IND_REDUCE_WELFORD;
            if (cg__exchanges_moments(w, i)) {
                if (s->second) cg__set_parts(w, i, cg__string(w, "w%u.mean", i), cg__string(w, "w%u.m2", i));
                continue;
            }
            if (welford && !s->second)
                ind__textf(&w->code, "const %s mean%u = s%u.value / (%s)(%s);\n", cg__state_type(w, i), i, i,
                           cg__state_type(w, i), cg__expr_string(w, cg__r_numel(w)));
            if (!welford && !s->second) cg__set_parts(w, i, cg__string(w, "s%u.value", i), NULL);
            if (s->second)
                cg__set_parts(w, i, cg__string(w, welford ? "mean%u" : "s%u.value", i), cg__string(w, "d%u.value", i));
            continue;
        }
        const char *type = cg__types[inst->dtype].value;
        bool cut = strcmp(type, cg__state_type(w, i)) != 0 && inst->reduction != IND_REDUCE_ARGMAX;
        const char *first = cg__string(w, "s%u%s", i, strchr(result[0], '.'));
        if (cut) first = cg__string(w, "((%s)%s)", type, first);
        if (inst->reduction == IND_REDUCE_ARGMAX && !ind_known_le(ind_int(w->context, 1), cg__r_numel(w)))
            first = cg__string(w, "(%s < 0 ? 0 : %s)", first, first); /* of an empty row */
        cg__set_parts(w, i, first, result[1] ? cg__string(w, "s%u%s", i, strchr(result[1], '.')) : "");
    }
}

/* =================================================================================== src/cuda/emit/reduction/pass.c */
/* ---- one pass */

/* True if a loop along the row combines each chunk before the next one. */
static bool cg__combines_chunks(const ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__inst(w, i)->op == IND_LOOP_REDUCE && cg__two_step(cg__inst(w, i))) return true;
    return false;
}

/* Unrolled steps of a loop along the row, for about 32 bytes per thread in flight, or 64 if each chunk is combined
   before the next one, which takes time (cross entropy of 65536 bf16: 79 and 87 % of copy bandwidth). */
static int cg__unroll_steps(const ind__writer *w) {
    int bytes = 0, steps = 8;
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__inst(w, i)->op == IND_LOOP_LOAD && w->plan->varies[i] & cg__r_mask(w))
            bytes += w->variant->vector * ind_dtype_bytes(cg__memory_dtype(w, i));
    const int in_flight = w->variant->strategy == IND_STRATEGY_ROW_LOOPED && cg__combines_chunks(w)
                              ? w->target->thresholds.loop_flight
                              : w->target->thresholds.flight_bytes;
    while (steps > 2 && steps * bytes > in_flight) steps /= 2;
    return steps;
}

/* ---- iterations of whole segments: a lane has the same offset in a segment in each of them, so its loads have a
   constant stride, and their offsets take no registers. */

static void cg__emit_segment(ind__writer *w) {
    const int n = w->variant->vector, lanes = cg__row(w)->segment_lanes;
    if (!cg__row(w)->segments) return;
    ind__textf(&w->code, "const int segment = (unsigned)lane / %du", lanes);
    if (!cg__begins_at_sector(w))
        ind__textf(&w->code, n > 1 ? ", within = (lane - segment * %d) * %d" : ", within = lane - segment * %d", lanes,
                   n);
    ind__textf(&w->code, ";\n");
}

/* The store to whose sector boundaries the lanes are aligned. */
static uint32_t cg__segment_store(const ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__inst(w, i)->op == IND_LOOP_STORE && cg__accesses_row(w, i)) return i;
    return 0;
}

/* The index of access i at the start of segment `segment` of the row. */
static ind_expr cg__segment_start(const ind__writer *w, uint32_t i, int segment) {
    const ind_expr at[2] = {ind_int(w->context, segment), ind_int(w->context, 0)};
    return ind__substitute(cg__index_of(w, i), w->plan->domain.var + w->plan->domain.rank, at, 2);
}

static int cg__sector_elements(const ind__writer *w, uint32_t i) {
    return IND__CG_SECTOR_BYTES / ind_dtype_bytes(cg__memory_dtype(w, i));
}

/* Writes "within" for lanes aligned to sectors, once the row is known. */
static void cg__emit_within(ind__writer *w) {
    if (!cg__begins_at_sector(w)) return;
    const uint32_t i = cg__segment_store(w);
    ind__textf(&w->code, "const int within = lane %% %d - (int)((%s) & %d);\n", cg__row(w)->segment_lanes,
               cg__expr_string(w, cg__segment_start(w, i, 0)), cg__sector_elements(w, i) - 1);
}

/* The condition that a lane has a vector of a segment in the current iteration; "" if all have. */
static const char *cg__segment_condition(ind__writer *w, int rounds) {
    const int lanes = cg__row(w)->segments * cg__row(w)->segment_lanes;
    const long long whole = (long long)cg__whole_rounds(w);
    const char *all = cg__expr_string(w, w->plan->domain.extent[w->plan->domain.rank]), *live = "", *inside = "",
               *last = "";
    if (lanes < cg__row_threads(w)) live = cg__string(w, "lane < %d", lanes);
    if (cg__begins_at_sector(w))
        inside = cg__string(w, "%s(unsigned)within < %lldu", *live ? " && " : "", (long long)cg__segment_vectors(w));
    const char *conjunction = *live || *inside ? " && " : "";
    if (!whole)
        last = cg__string(w, "%sr0 < %s", conjunction, all);
    else if (whole < rounds)
        last = cg__string(w, "%s(k < %lld || r0 < %s)", conjunction, whole, all);
    return cg__string(w, "%s%s%s", live, inside, last);
}

/* Opens the loop over the iterations; returns the number of scopes. */
static int cg__begin_segments(ind__writer *w) {
    const ind__variant *v = w->variant;
    const int rounds = v->per_thread / v->vector, first = w->plan->domain.rank;
    const char *condition = cg__segment_condition(w, rounds);
    cg__unroll(w);
    cg__begin(w, "for (int k = 0; k < %d; k++)", rounds);
    ind__textf(&w->code, "const %s r0 = k * %d + segment;\n", cg__int(w), ind__row_of(v)->segments);
    w->var[first] = "r0";
    w->var[first + 1] = "within";
    if (!*condition) return 1;
    cg__begin(w, "if (%s)", condition);
    return 2;
}

/* True in the second part of a FINISH, which loops over the results of the first. All lanes have the same number of
   iterations and reconverge in each. If they reconverged only after the loop, the shuffles after it took a slow path
   for diverged lanes, 0.5 us. */
static bool cg__takes_rows(const ind__writer *w) {
    return w->plan->handover && w->plan->handover->takes;
}

/* Opens the loop over the rows that a thread polls together; returns the number of scopes. */
static int cg__begin_polls(ind__writer *w) {
    cg__unroll(w);
    const char *r = w->plan->domain.rrank == 1 ? "r0" : "r";
    cg__begin(w, "for (int k = 0; k < %d; k++)", w->plan->handover->looks);
    ind__textf(&w->code, "const %s %s = from + k * %d + lane;\n", cg__int(w), r, w->plan->handover->threads);
    cg__begin(w, "if (%s < %s)", r, cg__expr_string(w, cg__r_numel(w)));
    return 2;
}

/* Names the row's variables at the current position of the loop. */
static void cg__name_position(ind__writer *w) {
    if (w->plan->domain.rrank == 1)
        w->var[w->plan->domain.rank] = "r0";
    else
        cg__split_linear(w, "r", w->plan->domain.rank, w->plan->domain.rrank);
}

/* True for a handed-over element, or a load beside it, whose index is not from memory. */
static bool cg__is_ahead(const ind__writer *w, uint32_t i) {
    return w->needed[i] && cg__inst(w, i)->op == IND_LOOP_LOAD && !cg__inst(w, i)->arg[0] &&
           w->plan->varies[i] & cg__r_mask(w) && !ind__expr_has_kind(cg__index_of(w, i), IND_SYMBOL_INDIRECT);
}

/* Starts all loads from the L2 before it waits for any. */
static void cg__emit_polls(ind__writer *w) {
    const int looks = w->plan->handover->looks;
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_ahead(w, i))
            ind__textf(&w->code, "%s ahead%u[%d];\n",
                       cg__handed(w, i) < 0 ? cg__types[cg__memory_dtype(w, i)].memory : "unsigned long long", i,
                       looks);
    int scopes = cg__begin_polls(w);
    cg__name_position(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__is_ahead(w, i)) continue;
        if (cg__handed(w, i) >= 0) {
            ind__textf(&w->code, "ahead%u[k] = ind_look(%s);\n", i, cg__handover_args(w, i));
            continue;
        }
        ind__textf(&w->code, "ahead%u[k] = %s;\n", i, cg__element(w, i));
        w->memory[i] = cg__string(w, "ahead%u[k]", i);
    }
    while (scopes--) cg__end(w);
}

/* Opens the loops over the row; returns the number of scopes. */
static int cg__emit_pass_loops(ind__writer *w) {
    const ind__variant *v = w->variant;
    int threads = cg__row_threads(w), n = v->vector;
    bool one_r = w->plan->domain.rrank == 1;
    const char *r = one_r ? "r0" : "r", *type = cg__int(w);
    const char *extent = cg__expr_string(w, cg__r_numel(w)), *times = n > 1 ? cg__string(w, " * %d", n) : "";
    int scopes = 1;
    if (v->strategy == IND_STRATEGY_COLUMN) {
        int step = v->threads / v->rows;
        const char *start = step > 1 ? cg__string(w, "live ? y : (%s)(%s)", type, extent) : "0";
        ind__textf(&w->code, "#pragma unroll %d\n", cg__unroll_steps(w));
        cg__begin(w, "for (%s %s = %s; %s < %s; %s += %d)", type, r, start, r, extent, r, step);
    } else if (cg__takes_rows(w)) {
        ind__textf(&w->code, "#pragma unroll 1\n");
        cg__begin(w, "for (%s from = 0; from < %s; from += %d)", type, extent, threads * w->plan->handover->looks);
        cg__emit_polls(w);
        scopes += cg__begin_polls(w);
    } else if (v->strategy == IND_STRATEGY_ROW_LOOPED || cg__scans_rows(w)) {
        const char *step = cg__is_fitted(w) ? cg__string(w, "threads * %d", n) : cg__string(w, "%d", threads * n);
        ind__textf(&w->code, "#pragma unroll %d\n", cg__unroll_steps(w));
        if (v->misaligned)
            cg__begin(w, "for (%s %s = head + lane%s; %s + %d <= %s; %s += %s)", type, r, times, r,
                      cg__misaligned_reach(w), extent, r, step);
        else
            cg__begin(w, "for (%s %s = lane%s; %s < %s; %s += %s)", type, r, times, r, extent, r, step);
    } else if (ind__row_of(v)->segments) {
        return cg__begin_segments(w);
    } else {
        int64_t row = 0;
        bool exact = ind_expr_is_int(cg__r_numel(w), &row) && row == (int64_t)threads * v->per_thread;
        cg__unroll(w);
        cg__begin(w, "for (int k = 0; k < %d; k++)", v->per_thread / n);
        ind__textf(&w->code, n > 1 ? "const %s %s = (k * %s + lane)%s%s;\n" : "const %s %s = k * %s + lane%s%s;\n",
                   type, r, cg__row_threads_text(w), times, v->misaligned ? " + head" : "");
        exact &= !v->misaligned;
        const char *sure = cg__whole_rounds(w) ? cg__string(w, "k < %lld || ", (long long)cg__whole_rounds(w)) : "";
        const char *end = v->misaligned ? cg__string(w, " + %d <=", cg__misaligned_reach(w)) : " <";
        if (!exact) cg__begin(w, "if (%s%s%s %s)", sure, r, end, extent);
        scopes += !exact;
    }
    cg__name_position(w);
    return scopes;
}

/* True if operands that all rows share are combined from two vectors only when the misalignment of rows changes. */
static bool cg__holds_across(const ind__writer *w) {
    return w->variant->strategy == IND_STRATEGY_ROW_STAGED && cg__row(w)->stage.once;
}

/* True if the load is the same for all neighbours in a vector, as the weight of a channel for its elements. */
static bool cg__is_broadcast(const ind__writer *w, uint32_t i) {
    return w->plan->domain.rrank > 1 && !(w->plan->varies[i] >> (cg__num_vars(w) - 1) & 1);
}

/* True for an unmasked load along the row of full vector width, whose index depends on no element of the row. */
static bool cg__is_row_load(const ind__writer *w, uint32_t i) {
    uint32_t r = cg__r_mask(w);
    if (!cg__in_registers(w) || cg__inst(w, i)->op != IND_LOOP_LOAD || cg__inst(w, i)->arg[0] ||
        !(w->plan->varies[i] & r))
        return false;
    if (cg__repeats(w, i) || (w->plan->across[i] && !(w->plan->varies[i] & cg__p_mask(w)) && !cg__holds_across(w)))
        return false;
    if (cg__is_broadcast(w, i)) return false;
    for (int v = w->plan->domain.rank; v < cg__num_vars(w); v++)
        if (cg__indirect_varies(w, cg__index_of(w, i), v)) return false;
    return w->plan->vector[i] == w->variant->vector;
}

/* True for a load of the row that is copied to shared memory while the block computes the previous row. */
static bool cg__is_staged(const ind__writer *w, uint32_t i) {
    if (w->variant->strategy != IND_STRATEGY_ROW_STAGED || !cg__is_row_load(w, i) || w->plan->across[i]) return false;
    if (!(w->plan->varies[i] & cg__p_mask(w)) || ind__expr_has_kind(cg__index_of(w, i), IND_SYMBOL_INDIRECT))
        return false;
    return w->variant->vector * ind_dtype_bytes(cg__memory_dtype(w, i)) == 16;
}

/* True if the load starts before the pass, with the row's other loads, and stays in registers in its memory format;
   false if the registers do not suffice. */
static bool cg__loads_ahead(const ind__writer *w, uint32_t i) {
    const ind__variant *v = w->variant;
    if (!cg__is_row_load(w, i)) return false;
    if (v->strategy != IND_STRATEGY_ROW_STAGED) return true;
    const bool full = ind__row_of(v)->stage.num == 1 && !ind__row_of(v)->stage.once &&
                      !cg__is_staged(w, i); /* the row has the registers */
    return ind__row_of(v)->stage.in_registers > cg__is_staged(w, i) && !full;
}

/* True if this pass is the first to need the load. */
static bool cg__starts_here(const ind__writer *w, uint32_t i) {
    return w->needed[i] && !w->value[i] && !w->memory[i] && cg__loads_ahead(w, i);
}

/* True for a load of the row that is the same for all rows. */
static bool cg__is_common(const ind__writer *w, uint32_t i) {
    return cg__is_row_load(w, i) && !cg__is_staged(w, i);
}

/* Iterations in which the lanes of a row take all of its edges; 0: no edges. */
static int cg__edge_rounds(const ind__writer *w) {
    if (!w->variant->misaligned) return 0;
    const int lanes = cg__row_threads(w), most = cg__boundary(w) + cg__misaligned_reach(w) - 2;
    return (most + lanes - 1) / lanes;
}

/* Opens the scopes of the lanes that have an edge; returns the number of scopes. An edge is element 0 of a vector after
   those of the row. */
static int cg__begin_edge(ind__writer *w) {
    const ind__variant *v = w->variant;
    const int rounds = cg__edge_rounds(w);
    const char *length = cg__expr_string(w, cg__r_numel(w)), *at = rounds > 1 ? "edge" : "lane";
    if (rounds > 1) {
        cg__unroll(w);
        cg__begin(w, "for (int e = 0; e < %d; e++)", rounds);
        ind__textf(&w->code, "const int edge = e * %d + lane;\n", cg__row_threads(w));
    }
    cg__begin(w, "if (%s < edges)", at);
    if (cg__in_registers(w))
        ind__textf(&w->code, "const int k = %d%s, j = 0;\n", v->per_thread / v->vector, rounds > 1 ? " + e" : "");
    ind__textf(&w->code, "const %s r0 = %s < head ? %s : %s - edges + %s;\n", cg__int(w), at, at, length, at);
    w->var[w->plan->domain.rank] = "r0";
    return rounds > 1 ? 2 : 1;
}

static void cg__emit_edge_loads(ind__writer *w, bool (*chosen)(const ind__writer *w, uint32_t i)) {
    int scopes = cg__begin_edge(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (chosen(w, i))
            ind__textf(&w->code, "x%u[k].at[j] = %s;\n", i,
                       cg__is_staged(w, i) ? cg__string(w, "e%u", i) : cg__element(w, i));
    while (scopes--) cg__end(w);
}

/* Declares the variables of the chosen loads; returns their number. */
static int cg__declare_loads(ind__writer *w, bool (*chosen)(const ind__writer *w, uint32_t i)) {
    int n = w->variant->vector, vectors = w->variant->per_thread / n, loads = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!chosen(w, i)) continue;
        const char *type = cg__types[cg__memory_dtype(w, i)].memory;
        if (n > 1)
            ind__textf(&w->code, "ind_vec<%s, %d> x%u[%d];\n", type, n, i, vectors + cg__edge_rounds(w));
        else
            ind__textf(&w->code, "%s x%u[%d];\n", type, i, vectors);
        loads++;
    }
    return loads;
}

/* Writes the loop that starts the chosen loads. */
static void cg__start_loads(ind__writer *w, bool (*chosen)(const ind__writer *w, uint32_t i)) {
    const int n = w->variant->vector;
    if (w->variant->misaligned) cg__emit_edge_loads(w, chosen);
    int scopes = cg__emit_pass_loops(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!chosen(w, i)) continue;
        const char *vector = n > 1 ? cg__load_expression(w, i) : cg__element(w, i);
        ind__textf(&w->code, "x%u[k] = %s;\n", i, vector);
        w->memory[i] = cg__string(w, n > 1 ? "x%u[k].at[j]" : "x%u[k]", i);
        if (n > 1) cg__use(w, IND__CG_VEC);
    }
    while (scopes--) cg__end(w);
}

static void cg__emit_loads(ind__writer *w, bool (*chosen)(const ind__writer *w, uint32_t i)) {
    if (cg__declare_loads(w, chosen)) cg__start_loads(w, chosen);
}

/* ============================================================================ src/cuda/emit/reduction/staged_rows.c */
/* ---- rows in shared memory */

/* 16-byte words per thread of ROW_STAGED in shared memory for one row; only those of the loads before `load`. */
static int cg__staged_words(const ind__writer *w, uint32_t load) {
    int loads = 0;
    for (uint32_t i = 1; i < load; i++) loads += cg__is_staged(w, i);
    return loads * (w->variant->per_thread / w->variant->vector);
}

/* "(turn & 1) * 4096 + ": words before the stage of even or odd iterations. */
static const char *cg__staged_part(ind__writer *w, const char *turn) {
    const int words = cg__staged_words(w, w->body->num_inst);
    return cg__row(w)->stage.num == 1 ? "" : cg__string(w, "(%s & 1) * %d + ", turn, words * w->variant->threads);
}

/* "k * 512", "(8 + k) * 512": offset of word k of a load from the thread's first word, in 1 / scale words. */
static const char *cg__staged_offset(ind__writer *w, uint32_t load, int scale) {
    const int before = cg__staged_words(w, load), each = (cg__is_fitted(w) ? 32 : w->variant->threads) * scale;
    return before ? cg__string(w, "(%d + k) * %d", before, each) : cg__string(w, "k * %d", each);
}

/* Returns the first word of a thread in a stage. The words of a fitted block are in groups of one per lane of a warp,
   as the number of its threads is no constant. */
static const char *cg__first_word(const ind__writer *w) {
    return cg__is_fitted(w) ? "first_word" : "(int)threadIdx.x";
}

/* The slot of word k of a row, in even or odd iterations. The same thread copies and reads it, so threads need not
   synchronise. The constant part of the index stands last and everything is signed, so that it becomes the immediate
   offset of the instruction. A separate address for each k would take registers (layer_norm of 65537 bf16 spilled). */
static const char *cg__staged_slot(ind__writer *w, uint32_t load, const char *turn) {
    return cg__string(w, "staged[%s%s + %s]", cg__staged_part(w, turn), cg__first_word(w),
                      cg__staged_offset(w, load, 1));
}

static const char *cg__staged_element(ind__writer *w, uint32_t i) {
    return cg__string(w, "reinterpret_cast<const %s &>(%s)", cg__types[cg__memory_dtype(w, i)].memory,
                      cg__staged_slot(w, i, "turn"));
}

/* The element that LOAD i reads in memory, in the row of w->var. The current row's may be in registers. */
static const char *cg__element_in_memory(ind__writer *w, uint32_t i) {
    const char *at_hand = w->memory[i];
    w->memory[i] = NULL;
    const char *element = cg__element(w, i);
    w->memory[i] = at_hand;
    return element;
}

/* True if the row of LOAD i is copied with an L2 eviction policy. */
static bool cg__copied_by_policy(const ind__writer *w, uint32_t i) {
    return cg__is_staged(w, i) && w->plan->evict_last[i];
}

/* Declares "own", the thread's first slot, before copies with an eviction policy. */
static void cg__declare_own_slot(ind__writer *w, const char *turn) {
    bool any = false;
    for (uint32_t i = 1; i < w->body->num_inst; i++) any |= cg__copied_by_policy(w, i);
    if (!any) return;
    cg__use(w, IND__CG_CP_ASYNC_BY);
    ind__textf(&w->code, "const auto own = ind_lane_address(&staged[%s%s]);\n", cg__staged_part(w, turn),
               cg__first_word(w));
}

/* Writes the copies of the current vectors, of the row of w->var. */
static void cg__emit_copies(ind__writer *w, const char *turn) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__is_staged(w, i)) continue;
        const char *from = cg__element_in_memory(w, i);
        if (cg__copied_by_policy(w, i))
            ind__textf(&w->code, "ind_cp_async16_by(own + %s, &%s, evict_last);\n", cg__staged_offset(w, i, 16), from);
        else
            ind__textf(&w->code, "ind_cp_async16(&%s, &%s, 16);\n", cg__staged_slot(w, i, turn), from);
    }
}

/* True if two rows are in flight, for clusters whose blocks wait longest for one another. Vector by vector, the row
   after the next overwrites the row whose results are stored (rms_norm and layer_norm of 262144 f32 in 16 blocks: 81 to
   88 and 89 to 93 % of copy bandwidth, group_norm 75 to 82; in 2 to 4 blocks up to 3 % slower; in 8 blocks, rows of one
   segment -3 to 2 %, of several 2 to 3 % faster). Finding that row in more than one dimension takes registers, which a
   thread has if its block is alone on an SM. Not for misaligned rows, whose last iteration may have one vector more or
   less: copies started after these rows took 2 % longer than copies started before them. */
static bool cg__copies_beside(const ind__writer *w) {
    const ind__variant *v = w->variant;
    if (ind__row_of(v)->cluster <= (w->plan->domain.rrank > 1 ? 4 : 8) || ind__row_of(v)->stage.num != 2 ||
        v->misaligned)
        return false;
    return w->plan->domain.rank == 1 || v->blocks_per_sm == 1;
}

static void cg__name_rows(ind__writer *w, const char *name);

static void cg__emit_copies_beside(ind__writer *w) {
    const char *var[2 * IND_MAX_RANK], *linear_name[IND_MAX_RANK];
    memcpy(var, w->var, sizeof var);
    memcpy(linear_name, w->linear_name, sizeof linear_name);
    cg__begin(w, "if (next < %s)", cg__expr_string(w, cg__p_numel(w)));
    cg__name_rows(w, "next");
    cg__emit_copies(w, "turn");
    cg__end(w);
    memcpy(w->var, var, sizeof var);
    memcpy(w->linear_name, linear_name, sizeof linear_name);
}

/* ---- misaligned rows: only aligned vectors are copied asynchronously. An edge is loaded as early into a register of
   its lane, next_e<number>, and becomes e<number> when its row is computed. */

static void cg__declare_next_edges(ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_staged(w, i))
            ind__textf(&w->code, "%s next_e%u = 0;\n", cg__types[cg__memory_dtype(w, i)].memory, i);
}

static void cg__load_next_edges(ind__writer *w) {
    cg__emit_edges(w);
    cg__begin(w, "if (lane < edges)");
    ind__textf(&w->code, "const %s r0 = lane < head ? lane : %s - edges + lane;\n", cg__int(w),
               cg__expr_string(w, cg__r_numel(w)));
    w->var[w->plan->domain.rank] = "r0";
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_staged(w, i)) ind__textf(&w->code, "next_e%u = %s;\n", i, cg__element_in_memory(w, i));
    cg__end(w);
}

/* Makes the next row the current one. Loads the operands that all rows share if this row's misalignment differs from
   the previous row's. */
static void cg__use_next_edges(ind__writer *w) {
    cg__emit_edges(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_staged(w, i))
            ind__textf(&w->code, "const %s e%u = next_e%u;\n", cg__types[cg__memory_dtype(w, i)].memory, i, i);
    if (!cg__row(w)->stage.once) return;
    cg__begin(w, "if (head != held_head)");
    cg__start_loads(w, cg__is_common);
    ind__textf(&w->code, "held_head = head;\n");
    cg__end(w);
}

/* True if operands that all rows share are in registers with a row's misalignment. Rows that are one vector's number of
   elements apart have equal misalignment. Each block takes an equal share of all rows, and computes those of equal
   misalignment one after another. */
static bool cg__orders_rows(const ind__writer *w) {
    return cg__row(w)->stage.persistent && w->variant->misaligned && cg__row(w)->stage.once;
}

/* Writes "first" and "end", the share of a block or cluster as positions in that order; "start", the row at the first
   position; next_row(row), the row at the position after that of a row. */
static void cg__emit_row_order(ind__writer *w) {
    const int n = cg__boundary(w), cluster = cg__row(w)->cluster;
    const char *type = cg__int(w), *rows = cg__expr_string(w, cg__p_numel(w));
    ind__textf(&w->code, "const int share = blockIdx.x / %d, shares = gridDim.x / %d;\n", cluster, cluster);
    ind__textf(&w->code, "const %s first = (long long)(%s) * share / shares, step = 1;\n", type, rows);
    ind__textf(&w->code, "const %s end = (long long)(%s) * (share + 1) / shares;\n", type, rows);
    ind__textf(&w->code, "const %s each = (%s) / %d, longer = (%s) %% %d * (each + 1);\n", type, rows, n, rows, n);
    ind__textf(&w->code, "const %s start = first < longer ? first / (each + 1) + first %% (each + 1) * %d\n", type, n);
    ind__textf(&w->code, "    : (%s) %% %d + (first - longer) / each + (first - longer) %% each * %d;\n", rows, n, n);
    ind__textf(&w->code, "const auto next_row = [&](%s row) { return row + %d < %s ? row + %d : row %% %d + 1; };\n",
               type, n, rows, n, n);
    ind__textf(&w->code, "%s to = start;\n", type);
}

/* Declares the P variables of the row whose number is `name`. */
static void cg__name_rows(ind__writer *w, const char *name) {
    if (w->plan->domain.rank == 1)
        w->var[0] = name;
    else
        cg__split_linear(w, name, 0, w->plan->domain.rank);
}

/* Starts the copies of row `row`, if it exists; in a different order, of the row `to` at that position. */
static void cg__emit_stage(ind__writer *w, const char *row, const char *turn) {
    const char *var[2 * IND_MAX_RANK], *linear_name[IND_MAX_RANK];
    memcpy(var, w->var, sizeof var);
    memcpy(linear_name, w->linear_name, sizeof linear_name);
    cg__use(w, IND__CG_CP_ASYNC);
    cg__begin(w, "if (%s < %s)", row, cg__orders_rows(w) ? "end" : cg__expr_string(w, cg__p_numel(w)));
    if (cg__orders_rows(w)) row = "to";
    cg__name_rows(w, row);
    if (w->variant->misaligned) cg__load_next_edges(w);
    cg__declare_own_slot(w, turn);
    int scopes = cg__emit_pass_loops(w);
    cg__emit_copies(w, turn);
    while (scopes--) cg__end(w);
    cg__end(w);
    ind__textf(&w->code, "ind_cp_async_commit();\n");
    if (cg__orders_rows(w)) ind__textf(&w->code, "to = next_row(to);\n");
    memcpy(w->var, var, sizeof var);
    memcpy(w->linear_name, linear_name, sizeof linear_name);
}

/* True if a row must move to registers when its turn comes, to free the stage for the next row. */
static bool cg__frees_stage_early(const ind__writer *w) {
    return cg__row(w)->stage.persistent && cg__row(w)->stage.num == 1;
}

/* Number of passes that reduce. A combine step follows each of them, except one of two where warps synchronise once. */
static int cg__num_combine_steps(const ind__writer *w) {
    cg__pass pass[IND__CG_MAX_PASSES];
    int steps = 0, n = cg__passes(w, pass);
    for (int s = 0; s < n; s++) steps += cg__reduces_any(w, &pass[s]);
    return steps;
}

/* Fills the slots of states that no warp sends. */
static void cg__emit_idle_states(ind__writer *w, const cg__pass *s) {
    const int warps = cg__row_threads(w) / 32, idle = cg__exchange_states(w) - warps;
    if (!cg__exchanges_by_warp(w) || !idle) return;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        char letter;
        if (!cg__exchanges(w, i, s)) continue;
        const char *neutral = cg__neutral(w, i, cg__exchanged(w, i, s, &letter));
        ind__textf(&w->code, "if (threadIdx.x < %d) cluster_%c%u[threadIdx.x %% 2][%d + threadIdx.x / 2] = {%s};\n",
                   2 * idle, letter, i, warps, neutral);
    }
}

/* Writes the barriers for the combine steps, and the thread's lane in the cluster. */
static void cg__begin_cluster(ind__writer *w) {
    const ind__variant *v = w->variant;
    cg__pass pass[IND__CG_MAX_PASSES];
    const bool parted = cg__is_parted(w);
    int steps = 0;
    for (int s = cg__passes(w, pass) - 1; s >= 0; s--) {
        steps += cg__exchanges_any(w, &pass[s]);
        cg__emit_idle_states(w, &pass[s]);
    }
    ind__textf(&w->code, "__shared__ unsigned long long barrier[%d]%s;\n", steps, parted ? "[2]" : "");
    ind__textf(&w->code, "ind_cluster_begin(barrier%s, %d);\n", parted ? "[0]" : "", parted ? 2 * steps : steps);
    ind__textf(&w->code, "const int block = blockIdx.x %% %d, lane = block * %d + threadIdx.x;\n",
               ind__row_of(v)->cluster, v->threads);
    cg__emit_segment(w);
}

/* Keeps shared operands of narrow types in registers (ind_opaque). */
static void cg__emit_opaque_shared(ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__is_common(w, i) || ind_dtype_bytes(cg__memory_dtype(w, i)) >= 4) continue;
        cg__use(w, IND__CG_OPAQUE);
        ind__textf(&w->code, "ind_opaque(x%u);\n", i);
    }
}

/* Loads the operands that all rows share before the loop. For misaligned rows it only declares them, and
   cg__use_next_edges loads them. */
static void cg__emit_first_common(ind__writer *w) {
    if (!cg__row(w)->stage.once) return;
    if (!w->variant->misaligned) {
        cg__emit_loads(w, cg__is_common);
        return;
    }
    cg__declare_loads(w, cg__is_common);
    ind__textf(&w->code, "int held_head = -1;\n");
}

/* Opens the loop over the rows, up to the point where the copies of the next row have been started. */
static void cg__begin_turn(ind__writer *w, const char *name, bool beside) {
    const ind__variant *v = w->variant;
    const bool orders = cg__orders_rows(w);
    const char *type = cg__int(w), *rows = cg__expr_string(w, cg__p_numel(w));
    if (orders)
        cg__begin(w, "for (%s place = first, %s = start, turn = 0; place < end; place++, %s = next_row(%s), turn++)",
                  type, name, name, name);
    else
        cg__begin(w, "for (%s %s = first, turn = 0; %s < %s; %s += step, turn++)", type, name, name, rows, name);
    if (v->misaligned) cg__name_rows(w, name);
    if (v->misaligned) cg__use_next_edges(w);
    ind__textf(&w->code, "ind_cp_async_wait<%d>();\n", beside);
    if (cg__frees_stage_early(w)) cg__emit_loads(w, cg__is_staged);
    ind__textf(&w->code, "const %s next = %s + %sstep;\n", type, orders ? "place" : name, beside ? "2 * " : "");
    if (!beside && ind__row_of(v)->stage.persistent) cg__emit_stage(w, "next", "(turn + 1)");
}

static void cg__end_turn(ind__writer *w) {
    if (!cg__row(w)->stage.persistent) cg__emit_stage(w, "next", "0");
    cg__end(w);
}

/* Opens the loop over the rows of a block or cluster: `name` is the row, `turn` counts them. A row that has moved to
   registers frees its stage for the next one. Otherwise the next row takes the stage of the previous row, or, if there
   is only one stage, follows when this row is done. Operands that all rows share are loaded before the loop even if
   most blocks compute one row: ptxas moves loads after the combine steps that do not need them. Rows are aligned to
   lines in shared memory as in global memory: if they began 16 bytes after a line, after other variables, twice as many
   sectors were read from the L2 as rows have (ncu; % of copy bandwidth, so and aligned: rms_norm of 131072, 200000,
   262144 bf16 88, 86, 89 and 92, 93, 95; of 65536, 200000 f32 90, 85 and 95, 96; softmax of 262144 f32 90 and 94). */
static void cg__begin_staged_rows(ind__writer *w, const char *name) {
    const ind__variant *v = w->variant;
    const char *type = cg__int(w);
    ind__textf(&w->code, "extern __shared__ __align__(%d) uint4 staged[];\n", IND__CG_LINE_BYTES);
    if (cg__has_cluster(w)) {
        cg__begin_cluster(w);
    } else {
        ind__textf(&w->code, "const int lane = threadIdx.x%s;\n", cg__is_fitted(w) ? ", threads = blockDim.x" : "");
        if (cg__is_fitted(w))
            ind__textf(&w->code, "const int first_word = lane / 32 * %d + lane %% 32;\n",
                       32 * cg__staged_words(w, w->body->num_inst));
        cg__emit_segment(w);
    }
    if (cg__orders_rows(w))
        cg__emit_row_order(w);
    else
        ind__textf(&w->code, "const %s first = blockIdx.x / %d, step = gridDim.x / %d;\n", type,
                   ind__row_of(v)->cluster, ind__row_of(v)->cluster);
    const bool beside = cg__copies_beside(w);
    if (v->misaligned) cg__declare_next_edges(w);
    cg__emit_stage(w, "first", "0");
    if (beside) cg__emit_stage(w, "(first + step)", "1");
    cg__emit_first_common(w);
    if (cg__has_cluster(w)) ind__textf(&w->code, "ind_cluster_begun();\n");
    cg__begin_turn(w, name, beside);
    if (ind__row_of(v)->stage.once) cg__emit_opaque_shared(w);
}

/* True if i is another value that several passes need: it is kept in registers as a value. */
static bool cg__is_resident_value(const ind__writer *w, uint32_t i) {
    return w->plan->resident[i] && !cg__is_row_load(w, i);
}

static void cg__emit_resident_arrays(ind__writer *w) {
    const int edges = cg__edge_rounds(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_resident_value(w, i))
            ind__textf(&w->code, "%s k%u[%d];\n", cg__types[cg__inst(w, i)->dtype].value, i,
                       w->variant->per_thread + (edges ? (edges - 1) * w->variant->vector + 1 : 0));
}

static const char *cg__resident_slot(ind__writer *w) {
    return w->variant->vector > 1 ? cg__string(w, "k * %d + j", w->variant->vector) : "k";
}

static void cg__save_resident(ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_resident_value(w, i) && w->needed[i] && !w->value[i])
            ind__textf(&w->code, "k%u[%s] = v%u;\n", i, cg__resident_slot(w), i);
}

/* From here on, the kept values that this pass read are found in their arrays. */
static void cg__use_resident(ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_resident_value(w, i) && w->needed[i] && !w->value[i])
            w->value[i] = cg__string(w, "k%u[%s]", i, cg__resident_slot(w));
}

/* Forgets vectors that were read or gathered in this chunk; those in arrays remain. */
static void cg__forget_chunk_vectors(ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (w->plan->vector[i] > 1 && !cg__loads_ahead(w, i)) w->memory[i] = NULL;
}

/* Writes the needed loads from memory except handed-over elements, before the wait for those. */
static void cg__emit_beside_handed(ind__writer *w, int stage) {
    uint8_t *needed = (uint8_t *)ind__arena_copy(&w->scratch, w->needed, w->body->num_inst);
    if (!needed) {
        cg__fail(w);
        return;
    }
    cg__need_none(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (needed[i] && cg__inst(w, i)->op == IND_LOOP_LOAD && cg__handed(w, i) < 0) cg__need(w, i);
    cg__close_needed(w);
    cg__emit(w, IND__CG_ALL_VARS, stage);
    memcpy(w->needed, needed, w->body->num_inst);
}

/* Returns the prelude function for a maximum of 16-bit values that are in registers in their memory format, else 0. It
   takes two values with one instruction; conversion and maximum take three or four. The maximum of the floats equals
   that of the 16-bit values, so the result is the same. */
static int cg__combines_halves(const ind__writer *w, uint32_t i, const cg__pass *s) {
    char letter;
    if (!cg__in_registers(w) || s->second || w->variant->vector % 2 || !cg__reduces_in(w, i, s)) return 0;
    const uint32_t load = cg__inst(w, i)->arg[0];
    if (cg__step(w, i, s, &letter) != IND_REDUCE_MAX || cg__inst(w, load)->op != IND_LOOP_LOAD) return 0;
    if (!cg__is_row_load(w, load) || strcmp(cg__state_type(w, i), "float") != 0) return 0;
    const ind_dtype memory = cg__memory_dtype(w, load);
    return memory == IND_BF16 ? IND__CG_MAX_BF16 : memory == IND_F16 ? IND__CG_MAX_F16 : 0;
}

static void cg__emit_halves(ind__writer *w, const cg__pass *s) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        const int function = cg__combines_halves(w, i, s);
        if (!function) continue;
        const char *vector = cg__vector_of(w, cg__inst(w, i)->arg[0]);
        if (!vector) {
            cg__fail(w);
            return;
        }
        cg__use(w, function);
        ind__textf(&w->code, "ind_combine_%s(s%u, %s);\n", function == IND__CG_MAX_BF16 ? "bf16" : "f16", i, vector);
    }
}

/* True if the pass computes only such maxima. */
static bool cg__only_halves(const ind__writer *w, const cg__pass *s) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (cg__reduces_in(w, i, s) && !cg__combines_halves(w, i, s)) return false;
        if (cg__is_resident_value(w, i) && w->needed[i]) return false;
        if (w->needed[i] && (w->plan->only_check[i] || (s->stores && cg__stores_per_element(w, i)))) return false;
    }
    return true;
}

/* Combines one element with the states of the pass. position: index of the element in the row, for ARGMAX. */
static void cg__emit_accumulate(ind__writer *w, const cg__pass *s, const char *position) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        const ind__inst *inst = cg__inst(w, i);
        char letter;
        if (!cg__reduces_in(w, i, s) || (s->halves && cg__combines_halves(w, i, s))) continue;
        ind_reduction r = cg__step(w, i, s, &letter);
        if (cg__takes_chunks(w, i, s)) {
            ind__textf(&w->code, "a%u%s = ", i, cg__chunk_subscript(w, i));
            cg__value(w, inst->arg[0]);
            ind__textf(&w->code, ";\n");
            continue;
        }
        if (cg__has_lanes(w, i))
            ind__textf(&w->code, "l%u[j].combine({", i);
        else
            ind__textf(&w->code, "%c%u.combine({", letter, i);
        if (cg__wraps(w, i)) ind__textf(&w->code, "(%s)", cg__state_type(w, i));
        if (s->second)
            cg__emit_second_term(w, i);
        else
            cg__value(w, inst->arg[0]);
        if (r == IND_REDUCE_ANY) ind__textf(&w->code, " != 0");
        if (r == IND_REDUCE_ARGMAX) ind__textf(&w->code, ", (long long)(%s)", position);
        if (r == IND_REDUCE_DOT) {
            ind__textf(&w->code, " * ");
            cg__value(w, inst->arg[1]);
        }
        ind__textf(&w->code, "});\n");
        if (cg__exchanges_moments(w, i) && !s->second) ind__textf(&w->code, "count%u.combine({1});\n", i);
    }
}

/* Writes the elements of a vector, one after another. */
static void cg__emit_elements(ind__writer *w, const cg__pass *s, int stage) {
    const int v = cg__num_vars(w) - 1;
    const char *base = w->var[v];
    cg__pass rest = *s;
    rest.halves = true;
    cg__unroll(w);
    cg__begin(w, "for (int j = 0; j < %d; j++)", w->variant->vector);
    w->var[v] = cg__string(w, "(%s + j)", base);
    cg__emit(w, IND__CG_ALL_VARS, stage);
    cg__save_resident(w);
    cg__emit_accumulate(w, &rest, w->plan->domain.rrank == 1 ? w->var[v] : "r + j");
    cg__end(w);
    w->var[v] = base;
}

/* The innermost part of a pass: one vector (or one element) of the row, whose first position is w->var. */
static void cg__emit_chunk(ind__writer *w, const cg__pass *s) {
    int v = cg__num_vars(w) - 1, n = w->variant->vector;
    bool one_r = w->plan->domain.rrank == 1;
    const char *base = w->var[v];
    int stage = s->stage + s->second; /* the terms of a softmax need its maximum */
    cg__emit_chunk_arrays(w, s);
    if (n == 1) {
        if (w->plan->handover && w->plan->handover->takes) cg__emit_beside_handed(w, stage);
        cg__emit(w, IND__CG_ALL_VARS, stage);
        cg__save_resident(w);
        cg__emit_accumulate(w, s, one_r ? base : "r");
        cg__emit_chunk_adds(w, s);
        return;
    }
    cg__emit(w, ~(1u << v), stage);
    cg__vector_loads(w, v);
    cg__vector_sinks(w);
    cg__emit_halves(w, s);
    if (!cg__only_halves(w, s)) cg__emit_elements(w, s, stage);
    cg__emit_chunk_adds(w, s);
    cg__vector_stores(w);
    cg__forget_chunk_vectors(w);
}

/* Edges of operands in shared memory are in the registers that cg__use_next_edges filled, unless they are in arrays. */
static void cg__set_staged_edges(ind__writer *w, bool at_edge) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_staged(w, i) && !cg__loads_ahead(w, i)) w->memory[i] = at_edge ? cg__string(w, "e%u", i) : NULL;
}

/* Like cg__emit_chunk for an edge: one element. */
static void cg__emit_edge(ind__writer *w, const cg__pass *s) {
    const ind__variant *rows = w->variant;
    ind__variant scalar;
    int scopes = cg__begin_edge(w);
    cg__set_staged_edges(w, true);
    if (!cg__in_registers(w)) cg__write_scalars(w, &scalar);
    cg__emit_chunk_arrays(w, s);
    cg__emit(w, IND__CG_ALL_VARS, s->stage + s->second);
    cg__save_resident(w);
    cg__emit_accumulate(w, s, "r0");
    cg__emit_chunk_adds(w, s);
    w->variant = rows;
    cg__set_staged_edges(w, false);
    while (scopes--) cg__end(w);
}

static void cg__need_all(ind__writer *w) {
    cg__need_none(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        const ind__inst *inst = cg__inst(w, i);
        if (cg__is_root(w, i)) cg__need(w, i);
        if (inst->op == IND_LOOP_REDUCE && inst->arg[0]) cg__need(w, inst->arg[0]);
        if (inst->op == IND_LOOP_REDUCE && inst->arg[1]) cg__need(w, inst->arg[1]);
    }
    cg__close_needed(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__inst(w, i)->op == IND_LOOP_STORE) w->needed[i] = 0;
}

/* "// Pass: s2 = maximum, s5 = any." */
static void cg__emit_pass_comment(ind__writer *w, const cg__pass *s) {
    const char *before = "// Pass: ";
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        const ind__inst *inst = cg__inst(w, i);
        char letter;
        if (!cg__reduces_in(w, i, s)) continue;
        ind_reduction r = cg__step(w, i, s, &letter);
        bool welford = inst->reduction == IND_REDUCE_WELFORD, steps = cg__in_registers(w) && cg__two_step(inst);
        const char *what =
            !steps ? ind__reduction_name(r)
            : cg__exchanges_moments(w, i)
                ? (s->second ? "sum of squared deviations from the mean of the warp" : "sum for the mean of the warp")
            : s->second ? (welford ? "sum of squared deviations" : "sum of exp")
                        : (welford ? "sum for the mean" : "max");
        ind__textf(&w->code, "%s%c%u = %s", before, letter, i, what);
        before = ", ";
    }
    ind__textf(&w->code, before[0] == '/' ? "// Pass: results.\n" : s->stores ? "; results.\n" : ".\n");
}

/* True if loads of the row start before other reads of the row, and depend on none of them. An index read from memory
   that another load needs is such a read. */
static bool cg__loads_come_first(ind__writer *w, const cg__pass *s) {
    bool loads = false, others = false;
    cg__need_all(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        others |= w->needed[i] && !w->known[i] && !w->value[i] && cg__inst(w, i)->op == IND_LOOP_LOAD &&
                  !(w->plan->varies[i] & ~cg__p_mask(w)) && w->plan->stage[i] <= s->stage;
    cg__need_pass(w, s);
    for (uint32_t i = 1; i < w->body->num_inst && others; i++) {
        if (!cg__starts_here(w, i)) continue;
        if (ind__expr_has_kind(cg__index_of(w, i), IND_SYMBOL_INDIRECT)) return false;
        loads = true;
    }
    return loads;
}

/* ========================================================================== src/cuda/emit/reduction/vector_shared.c */
/* ---- operands shared by all elements of a vector, as a channel's weight. They are loaded before the states of a row
   are combined: after that, no other work hides their latency (group_norm of 262144 bf16: 79 to 83 % of copy
   bandwidth). */

static int cg__spare_registers(const ind__writer *w);

static bool cg__is_shared_load(const ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    return inst->op == IND_LOOP_LOAD && !inst->arg[0] && w->plan->varies[i] & cg__r_mask(w) && cg__is_broadcast(w, i) &&
           !w->memory[i] && !ind__expr_has_kind(cg__index_of(w, i), IND_SYMBOL_INDIRECT);
}

/* True if there is a register for each of them in every iteration. */
static bool cg__shared_come_ahead(const ind__writer *w) {
    int num = 0;
    if (w->variant->strategy != IND_STRATEGY_ROW_STAGED) return false;
    for (uint32_t i = 1; i < w->body->num_inst; i++) num += cg__is_shared_load(w, i);
    return num && num * (w->variant->per_thread / w->variant->vector) <= cg__spare_registers(w);
}

static void cg__emit_shared_loads(ind__writer *w) {
    if (!cg__shared_come_ahead(w)) return;
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_shared_load(w, i))
            ind__textf(&w->code, "%s b%u[%d];\n", cg__types[cg__memory_dtype(w, i)].memory, i,
                       w->variant->per_thread / w->variant->vector);
    int scopes = cg__emit_pass_loops(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__is_shared_load(w, i)) continue;
        ind__textf(&w->code, "b%u[k] = %s;\n", i, cg__element(w, i));
        w->memory[i] = cg__string(w, "b%u[k]", i);
    }
    while (scopes--) cg__end(w);
}

/* True if operands shared by all rows are loaded at their use, while the row is in shared memory. ptxas would start all
   these loads at once, and lacks the registers. It moves few loads before a possible barrier. (layer_norm of 24576
   bf16, three blocks of 256 threads: 80 registers and a spill, and 64 and none.) */
static bool cg__reads_apart(const ind__writer *w) {
    return w->variant->strategy == IND_STRATEGY_ROW_STAGED && !cg__row(w)->stage.persistent && !cg__row(w)->stage.once;
}

/* Unmarks `user` if it is computed once for a row from a load of the row, as it would wait for that load. A check whose
   index is unused is still done early, as no result needs it. */
static void cg__unmark_waiting(void *self, uint32_t user, uint32_t used) {
    ind__writer *w = (ind__writer *)self;
    const bool row = !((w->plan->varies[user] | w->plan->varies[used]) & ~cg__p_mask(w)),
               there = w->known[used] || w->value[used];
    if (!row || there || cg__is_root(w, user)) return;
    if (cg__inst(w, used)->op == IND_LOOP_LOAD || !w->needed[used]) w->needed[user] = 0;
}

/* Marks the values that are computed once for a row before its pass. A block that loops over the row once starts the
   load of an index but does not wait for it. The elements at that index are read together with the results (cross
   entropy of 160001 f32: 84 and 98 % of copy bandwidth, H200). Exception: values that the pass itself uses. */
static void cg__need_ahead(ind__writer *w) {
    cg__need_all(w);
    if (w->variant->strategy != IND_STRATEGY_ROW_LOOPED || cg__looped_passes(w) != 1) return;
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (w->needed[i]) cg__each_use(w, i, cg__unmark_waiting, w);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__stores_per_element(w, i)) cg__each_use(w, i, cg__mark_needed, w);
    cg__close_needed(w);
}

/* A row of 16-bit elements in registers is converted again in each pass. As f32 it takes twice as many registers
   (layer_norm of 200003 bf16: 88 bytes spilled, and none). */
static void cg__emit_opaque_row(ind__writer *w) {
    const ind__variant *v = w->variant;
    if (v->strategy != IND_STRATEGY_ROW_STAGED || !ind__row_of(v)->stage.persistent ||
        ind__row_of(v)->stage.in_registers < 2)
        return;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__is_staged(w, i) || !w->memory[i] || ind_dtype_bytes(cg__memory_dtype(w, i)) >= 4) continue;
        cg__use(w, IND__CG_OPAQUE);
        ind__textf(&w->code, "ind_opaque(x%u);\n", i);
    }
}

static void cg__emit_pass(ind__writer *w, const cg__pass *s) {
    const bool first = cg__loads_come_first(w, s);
    if (s->stage || s->second) cg__emit_opaque_row(w);
    cg__emit_shared_loads(w);
    cg__need_pass(w, s);
    if (first) cg__emit_loads(w, cg__starts_here);
    cg__need_ahead(w);
    cg__emit(w, cg__p_mask(w), s->stage);
    cg__emit_pass_comment(w, s);
    cg__need_pass(w, s);
    if (!first) cg__emit_loads(w, cg__starts_here);
    cg__emit_states(w, s);
    const bool beside = s->stores && cg__copies_beside(w);
    if (beside) cg__declare_own_slot(w, "turn");
    int scopes = cg__emit_pass_loops(w);
    cg__emit_chunk(w, s);
    if (beside) cg__emit_copies_beside(w);
    const bool apart = s->stores && cg__reads_apart(w);
    if (apart && scopes == 1) ind__textf(&w->code, "__syncwarp();\n");
    while (scopes--) {
        cg__end(w);
        if ((scopes == 1 && apart) || (scopes == 2 && cg__takes_rows(w))) ind__textf(&w->code, "__syncwarp();\n");
    }
    if (beside) ind__textf(&w->code, "ind_cp_async_commit();\n");
    if (w->variant->misaligned) cg__emit_edge(w, s);
    cg__use_resident(w);
    cg__emit_combine(w, s);
    cg__emit_results(w, s);
}

/* True if the instruction stores to memory that the kernel also reads. */
static bool cg__stores_over(const ind__writer *w, uint32_t i) {
    for (uint32_t a = w->kernel->num_reads; a < w->kernel->num_args; a++)
        if (w->kernel->arg[a] == cg__inst(w, i)->source) return cg__shares_memory(w, a);
    return false;
}

/* Writes values stored once per row, in its first thread after all passes, and remaining checks. If other threads may
   still read the memory, a barrier comes first. */
static void cg__emit_row_stores(ind__writer *w) {
    bool any = false, over = false;
    cg__need_none(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        const bool store = cg__inst(w, i)->op == IND_LOOP_STORE;
        if (!cg__is_root(w, i) || w->known[i] || (w->plan->varies[i] & cg__r_mask(w))) continue;
        cg__need(w, i);
        any = true;
        over = over || (store && cg__stores_over(w, i));
    }
    if (!any) return;
    cg__close_needed(w);
    bool column = w->variant->strategy == IND_STRATEGY_COLUMN;
    bool alone = column ? !cg__shares_states(w) : cg__row_threads(w) == 1;
    if (over && !alone) ind__textf(&w->code, cg__row_threads(w) > 32 ? "__syncthreads();\n" : "__syncwarp();\n");
    if (!alone) cg__begin(w, "%s", column ? "if (live && y == 0)" : "if (lane == 0)");
    cg__emit(w, cg__p_mask(w), IND__CG_ALL_STAGES);
    if (!alone) cg__end(w);
}

/* ============================================================================ src/cuda/emit/reduction/column_runs.c */
/* ---- columns that a block combines over its run of rows (ind_kernel.run). Each thread has the same columns in every
   row. Their states stay in its registers, or in memory if a row is too long. */

/* Returns the partial result of the current column: "out0[run * 1024 + r0]". */
static const char *cg__column_element(ind__writer *w, uint32_t i) {
    ind_expr zero[IND_MAX_RANK];
    for (int v = 0; v < w->plan->domain.rank; v++) zero[v] = ind_int(w->context, 0);
    ind_expr column = ind__substitute(cg__index_of(w, i), w->plan->domain.var, zero, w->plan->domain.rank);
    const char *columns = cg__expr_string(w, cg__r_numel(w));
    return cg__string(w, "%s[run * %s + %s]", cg__buffer(w, cg__inst(w, i)->source), columns,
                      cg__expr_string(w, column));
}

static void cg__combine_column(ind__writer *w, uint32_t i) {
    const char *state = cg__state_type_text(w, i), *element = NULL;
    const char *neutral = cg__neutral(w, i, (ind_reduction)cg__inst(w, i)->reduction);
    if (!cg__in_registers(w)) {
        element = cg__column_element(w, i);
        ind__textf(&w->code, "%s c%u = {%s};\n", state, i, neutral);
        ind__textf(&w->code, "if (row != 0) c%u.value = %s;\n", i, element);
        ind__textf(&w->code, "c%u.combine({", i);
    } else {
        ind__textf(&w->code, "c%u[%s].combine({", i, cg__resident_slot(w));
    }
    if (cg__wraps(w, i)) ind__textf(&w->code, "(%s)", cg__state_type(w, i));
    cg__value(w, cg__inst(w, i)->arg[0]);
    ind__textf(&w->code, "});\n");
    if (element) ind__textf(&w->code, "%s = c%u.value;\n", element, i);
}

static bool cg__has_teams(const ind__writer *w) {
    return w->kernel->run && w->variant->strategy == IND_STRATEGY_ROW_WARP;
}

/* Returns the columns of a team's states in shared memory. */
static int cg__team_columns(const ind__writer *w) {
    return w->variant->per_thread * cg__row_threads(w);
}

/* Declares the states of all columns, before the first row. */
static void cg__emit_columns(ind__writer *w) {
    const ind__variant *v = w->variant;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__combines_run(w, i) || !cg__in_registers(w)) continue;
        ind__textf(&w->code, "%s c%u[%d];\n", cg__state_type_text(w, i), i, v->per_thread);
        cg__unroll(w);
        ind__textf(&w->code, "for (int k = 0; k < %d; k++) c%u[k] = {%s};\n", v->per_thread, i,
                   cg__neutral(w, i, (ind_reduction)cg__inst(w, i)->reduction));
    }
}

/* Opens the loop over the rows of the block's run, and declares the row. Warps take rows in turn; without teams the
   block takes one row after the other. */
static void cg__begin_run(ind__writer *w) {
    bool one = w->plan->domain.rank == 1, teams = cg__has_teams(w);
    const char *name = one ? "i0" : "p", *type = cg__int(w), *rows = cg__expr_string(w, cg__p_numel(w));
    ind__textf(&w->code, "const %s run = blockIdx.x;\n", type);
    cg__emit_columns(w);
    ind__textf(&w->code, "#pragma unroll 1\n");
    cg__begin(w, "for (int row = %s; row < %lld; row += %d)", teams ? cg__string(w, "threadIdx.x / 32") : "0",
              (long long)w->kernel->run, teams ? w->variant->rows : 1);
    ind__textf(&w->code, "const %s %s = run * %lld + row;\n", type, name, (long long)w->kernel->run);
    ind__textf(&w->code, "if (%s >= %s) break;\n", name, rows);
}

/* Stores the partial results from the registers of a block. */
static void cg__store_columns(ind__writer *w) {
    int n = w->variant->vector, last = cg__num_vars(w) - 1, scopes = cg__emit_pass_loops(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__combines_run(w, i)) continue;
        ind_dtype memory = cg__memory_dtype(w, i);
        bool vector = n > 1 && w->plan->domain.rrank == 1 && n * ind_dtype_bytes(memory) <= 32;
        const char *base = w->var[last], *element = cg__column_element(w, i);
        if (vector) ind__textf(&w->code, "ind_vec<%s, %d> y%u;\n", cg__types[memory].memory, n, i);
        if (n > 1) cg__unroll(w);
        if (n > 1) cg__begin(w, "for (int j = 0; j < %d; j++)", n);
        if (n > 1) w->var[last] = cg__string(w, "(%s + j)", base);
        if (vector) cg__use(w, IND__CG_VEC);
        ind__textf(&w->code, "%s = c%u[%s].value;\n", vector ? cg__string(w, "y%u.at[j]", i) : cg__column_element(w, i),
                   i, cg__resident_slot(w));
        if (n > 1) cg__end(w);
        if (vector) ind__textf(&w->code, "ind_store(&%s, y%u);\n", element, i);
        w->var[last] = base;
    }
    while (scopes--) cg__end(w);
}

/* Stores the partial results of the warps of a block, combined in shared memory in a fixed order. */
static void cg__store_team_columns(ind__writer *w, uint32_t i) {
    const ind__variant *v = w->variant;
    int n = v->vector, columns = cg__team_columns(w);
    bool one_r = w->plan->domain.rrank == 1;
    const char *r = one_r ? "r0" : "r";
    int scopes = cg__emit_pass_loops(w);
    if (n > 1) cg__unroll(w);
    if (n > 1) ind__textf(&w->code, "for (int j = 0; j < %d; j++) ", n);
    ind__textf(&w->code, "team_%u[threadIdx.x / 32][%s%s] = c%u[%s];\n", i, r, n > 1 ? " + j" : "", i,
               cg__resident_slot(w));
    while (scopes--) cg__end(w);
    ind__textf(&w->code, "__syncthreads();\n");
    cg__begin(w, "for (int %s = threadIdx.x; %s < %s; %s += %d)", r, r, cg__expr_string(w, cg__r_numel(w)), r,
              v->threads);
    if (one_r)
        w->var[w->plan->domain.rank] = "r0";
    else
        cg__split_linear(w, "r", w->plan->domain.rank, w->plan->domain.rrank);
    cg__use(w, IND__CG_COMBINE_SHARED);
    ind__textf(&w->code, "%s = ind_combine_shared<%d, %d>(&team_%u[0][%s]).value;\n", cg__column_element(w, i), v->rows,
               columns, i, r);
    cg__end(w);
}

static void cg__end_run(ind__writer *w) {
    bool reduces = false;
    for (uint32_t i = 1; i < w->body->num_inst; i++) reduces |= cg__inst(w, i)->op == IND_LOOP_REDUCE;
    if (reduces && cg__shares_states(w))
        ind__textf(&w->code, "__syncthreads();\n"); /* the next row's states go to the same memory */
    cg__end(w);
    if (!cg__in_registers(w)) return;
    ind__textf(&w->code, "// Results of each column over the block's rows.\n");
    if (!cg__has_teams(w)) {
        cg__store_columns(w);
        return;
    }
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__combines_run(w, i)) cg__store_team_columns(w, i);
}

static void cg__emit_team_columns(ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst && cg__has_teams(w); i++)
        if (cg__combines_run(w, i))
            ind__textf(&w->code, "__shared__ %s team_%u[%d][%d];\n", cg__state_type_text(w, i), i, w->variant->rows,
                       cg__team_columns(w));
}

/* Declares the row (P point) that this thread works on, and its part of it. */
static void cg__emit_row_position(ind__writer *w) {
    const ind__variant *v = w->variant;
    bool one = w->plan->domain.rank == 1, column = v->strategy == IND_STRATEGY_COLUMN;
    const char *name = one ? "i0" : "p", *type = cg__int(w);
    const char *rows = cg__expr_string(w, cg__p_numel(w)),
               *block = w->plan->wide ? "(long long)blockIdx.x" : "blockIdx.x";
    int per_row = column ? v->rows : cg__row_threads(w);
    if (column) {
        ind__textf(&w->code, "const int x = threadIdx.x %% %d, y = threadIdx.x / %d;\n", per_row, per_row);
        ind__textf(&w->code, "const %s column = %s * %d + x;\n", type, block, per_row);
        ind__textf(&w->code, "const bool live = column < %s;\n", rows);
        if (!cg__shares_states(w)) ind__textf(&w->code, "if (!live) return;\n");
        if (w->plan->domain.rank)
            ind__textf(&w->code, "const %s %s = live ? column : (%s)(%s) - 1;\n", type, name, type, rows);
    } else if (w->kernel->run) {
        ind__textf(&w->code,
                   per_row < v->threads ? "const int lane = threadIdx.x %% %d;\n" : "const int lane = threadIdx.x;\n",
                   per_row);
        cg__begin_run(w);
    } else if (v->strategy == IND_STRATEGY_ROW_WARP) {
        ind__textf(&w->code, "const int lane = threadIdx.x %% %d;\n", per_row);
        ind__textf(&w->code, "const %s %s = %s * %d + threadIdx.x / %d;\n", type,
                   ind__row_of(v)->batch ? "first" : name, block, v->rows, per_row);
        if (ind__row_of(v)->batch) return; /* cg__begin_batch declares each */
        ind__textf(&w->code, "if (%s >= %s) return;\n", name, rows);
    } else if (v->strategy == IND_STRATEGY_ROW_STAGED) {
        cg__begin_staged_rows(w, name);
        if (v->misaligned) return;
    } else if (cg__has_cluster(w)) {
        cg__begin_cluster(w);
        if (w->plan->domain.rank)
            ind__textf(&w->code, "const %s %s = blockIdx.x / %d;\n", type, name, ind__row_of(v)->cluster);
        ind__textf(&w->code, "ind_cluster_begun();\n");
    } else {
        ind__textf(&w->code, "const int lane = threadIdx.x%s;\n", cg__is_fitted(w) ? ", threads = blockDim.x" : "");
        cg__emit_segment(w);
        if (w->plan->domain.rank) ind__textf(&w->code, "const %s %s = blockIdx.x;\n", type, name);
    }
    if (one)
        w->var[0] = "i0";
    else
        cg__split_linear(w, "p", 0, w->plan->domain.rank);
    cg__emit_within(w);
}

/* ================================================================================== src/cuda/emit/reduction/split.c */
/* ---- several blocks share rows or columns. Each block reduces its part and stores its states. The last block (to
   finish for columns, to begin for a row) combines these in a fixed order and does the rest alone. So one launch
   suffices, and results are equal in every run. */

static bool cg__splits_rows(const ind__writer *w) {
    return cg__has(w, IND__HAS_SPLIT);
}

/* True if a row may have several blocks. If not, a launch formula chose this variant for the whole row. */
static bool cg__shares_results(const ind__writer *w) {
    return cg__upper_bound(w->variant->of.split.num) > 1;
}

static bool cg__is_reduce(const ind__writer *w, uint32_t i) {
    return cg__inst(w, i)->op == IND_LOOP_REDUCE;
}

/* Returns the bytes loaded per element of a row. */
static int cg__element_bytes(const ind__writer *w) {
    int bytes = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__inst(w, i)->op == IND_LOOP_LOAD && w->plan->varies[i] & cg__r_mask(w))
            bytes += ind_dtype_bytes(cg__memory_dtype(w, i));
    return bytes ? bytes : 1;
}

/* Returns the unrolled steps of the loop over the row. A thread then has split_flight bytes (ind_thresholds) in flight,
   at most as many in chunks, and at most 40 registers for loads in flight and the states of lanes. Of 128 registers,
   the rest is for addresses and for 64-bit values that are being added to the states (u8 values that are added and
   multiplied as i64). */
static int cg__split_steps(const ind__writer *w, const cg__pass *s) {
    int n = w->variant->vector, bytes = n * cg__element_bytes(w), kept = 0, states = 0, steps = 16;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        const int state = n * ind_dtype_bytes((ind_dtype)cg__inst(w, i)->dtype);
        if (cg__takes_chunks(w, i, s)) kept += state;
        if (cg__reduces_in(w, i, s) && cg__has_lanes(w, i)) states += state;
    }
    while (steps > 1 &&
           (steps * bytes > w->target->thresholds.split_flight || steps * kept > w->target->thresholds.split_flight ||
            steps * bytes + states > w->target->thresholds.split_registers * 4))
        steps /= 2;
    return steps;
}

/* Writes one step of the loop over a row, at `r`. */
static void cg__emit_split_step(ind__writer *w, const cg__pass *s, void (*chunk)(ind__writer *, const cg__pass *)) {
    if (w->plan->domain.rrank == 1)
        w->var[w->plan->domain.rank] = "r";
    else
        cg__split_linear(w, "r", w->plan->domain.rank, w->plan->domain.rrank);
    chunk(w, s);
}

/* Declares the chunks of one group of unrolled steps; columns have one chunk per lane. */
static void cg__emit_round_arrays(ind__writer *w, const cg__pass *s) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__takes_chunks(w, i, s)) continue;
        bool columns = cg__has_lanes(w, i);
        int n = columns || w->variant->strategy == IND_STRATEGY_COLUMN_SPLIT ? 1 : w->variant->vector;
        ind__textf(&w->code, columns ? "%s a%u[%d][%d];\n" : "%s a%u[%d];\n", cg__state_type(w, i), i,
                   columns ? w->split.lanes : w->split.steps * n, w->split.steps);
    }
}

static void cg__emit_round_adds(ind__writer *w, const cg__pass *s) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__takes_chunks(w, i, s)) continue;
        if (cg__has_lanes(w, i)) {
            cg__unroll(w);
            ind__textf(&w->code, "for (int j = 0; j < %d; j++) l%u[j].add(a%u[j]);\n", w->split.lanes, i, i);
        } else {
            ind__textf(&w->code, "s%u.add(a%u);\n", i, i);
        }
    }
}

/* Writes a loop over a row from `first` on, `step` at a time. It is unrolled by the loads that a thread has in flight.
   The remainder is unrolled too, as short rows consist of nothing else. */
static void cg__emit_split_loop(ind__writer *w, const cg__pass *s, const char *first, const char *step,
                                const char *extent, void (*chunk)(ind__writer *, const cg__pass *)) {
    const char *type = cg__int(w);
    int steps = cg__split_steps(w, s);
    ind__textf(&w->code, "const %s step = %s, end = %s;\n%s next = %s;\n", type, step, extent, type, first);
    ind__textf(&w->code, "#pragma unroll 1\n");
    cg__begin(w, "for (; next < end - %d * step; next += %d * step)", steps - 1, steps);
    w->split.steps = steps;
    cg__emit_round_arrays(w, s);
    cg__unroll(w);
    cg__begin(w, "for (int k = 0; k < %d; k++)", steps);
    ind__textf(&w->code, "const %s r = next + k * step;\n", type);
    cg__emit_split_step(w, s, chunk);
    cg__end(w);
    cg__emit_round_adds(w, s);
    w->split.steps = 0;
    cg__end(w);
    if (steps == 1) return;
    cg__unroll(w);
    cg__begin(w, "for (int k = 0; k < %d; k++)", steps - 1);
    ind__textf(&w->code, "const %s r = next + k * step;\n", type);
    cg__begin(w, "if (r < end)");
    cg__emit_split_step(w, s, chunk);
    cg__end(w);
    cg__end(w);
}

/* Declares the states of the lanes, with neutral values. */
static void cg__emit_lanes(ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__is_reduce(w, i) || !cg__has_lanes(w, i)) continue;
        ind__textf(&w->code, "%s l%u[%d];\n", cg__state_type_text(w, i), i, w->split.lanes);
        cg__unroll(w);
        ind__textf(&w->code, "for (int j = 0; j < %d; j++) l%u[j] = {%s};\n", w->split.lanes, i,
                   cg__neutral(w, i, (ind_reduction)cg__inst(w, i)->reduction));
    }
}

/* Returns the bytes of the states that all blocks store for one reduction, with `own` results each. */
static int64_t cg__partial_bytes(const ind__writer *w, uint32_t i, int own) {
    return (w->variant->of.split.max_blocks * own * cg__state_bytes_of(w, i) + 15) / 16 * 16;
}

/* Writes the states of a block's `own` results, indexed by its position along y and x of the grid. */
static void cg__leave_partials(ind__writer *w, int own, const char *mine, const char *at) {
    int64_t offset = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__is_reduce(w, i)) continue;
        const char *type = cg__state_type_text(w, i);
        ind__textf(&w->code, "%s *const partial_%u = reinterpret_cast<%s *>(partials + %lld);\n", type, i, type,
                   (long long)offset);
        ind__textf(&w->code, "if (%s) partial_%u[%s] = s%u;\n", mine, i, at, i);
        offset += cg__partial_bytes(w, i, own);
    }
    cg__use(w, IND__CG_LAST_BLOCK);
    ind__textf(&w->code, "if (!ind_last_block(&counters[blockIdx.x], %s)) return;\n",
               cg__expr_string(w, w->variant->of.split.num));
}

/* Combines the states of all blocks, which the threads of a group divide among themselves. A thread has 4 loads in
   flight if it takes at least 4 states. With fewer, unrolling would only cost NVRTC time (a seventh of it for the sum
   of 4096 columns). */
static void cg__take_partials(ind__writer *w, const char *group, int groups, const char *at) {
    const bool several = ind_hint(w->variant->of.split.num) >= 4 * groups;
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_reduce(w, i))
            ind__textf(&w->code, "s%u = {%s};\n", i, cg__neutral(w, i, (ind_reduction)cg__inst(w, i)->reduction));
    ind__textf(&w->code, "#pragma unroll %d\n", several ? 4 : 1);
    cg__begin(w, "for (int i = %s; i < %s; i += %d)", group, cg__expr_string(w, w->variant->of.split.num), groups);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_reduce(w, i)) ind__textf(&w->code, "s%u.combine(partial_%u[%s]);\n", i, i, at);
    cg__end(w);
}

/* =================================================================================== src/cuda/emit/reduction/rows.c */
/* ---- rows */

/* Writes the elements after the last whole vector; the first block takes them. */
static void cg__emit_row_rest(ind__writer *w, const cg__pass *s) {
    int n = w->variant->vector, last = w->plan->domain.rank;
    ind_expr row = cg__r_numel(w);
    ind__variant scalar;
    if (n == 1 || ind_known_multiple(row, n) || cg__promised(w->variant->guard, row, n, 0)) return;
    const char *extent = cg__expr_string(w, row);
    cg__begin(w, "if (blockIdx.y == 0 && lane < %s %% %d)", extent, n);
    ind__textf(&w->code, "const %s r = %s / %d * %d + lane;\n", cg__int(w), extent, n, n);
    w->var[last] = "r";
    const ind__variant *rows = cg__write_scalars(w, &scalar);
    w->split.lanes = 1;
    cg__emit_chunk(w, s);
    w->variant = rows;
    w->split.lanes = n;
    cg__end(w);
}

/* True if the blocks of a row exchange states through words in memory (a mailbox). The last block then has at least one
   thread per block. */
static bool cg__exchanges_by_mailbox(const ind__writer *w) {
    return cg__shares_results(w) && w->variant->of.split.max_blocks <= w->variant->threads;
}

/* Returns the offset of the 8-byte words, after the 4-byte counters. */
static int cg__words_from(int64_t blocks) {
    return (int)(blocks + 1) / 2 * 2;
}

/* Returns the number of words of a block's states. */
static int cg__split_words(const ind__writer *w) {
    int words = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_reduce(w, i)) words += cg__state_bytes_of(w, i) / 4;
    return words;
}

/* Writes the exchange through words. The block that began last combines the states of all others, one per thread, with
   its own in the form that lane 0 would send. (Lanes that combine means or softmaxes differ in the last bits, and any
   block may be the last.) A word is valid if its upper half is not 0, as in FINISH. So no counter is needed at the end
   of a block, which would take a fence and two more trips to the L2. */
static void cg__combine_row_words(ind__writer *w, const cg__pass *s) {
    const char *splits = cg__expr_string(w, w->variant->of.split.num);
    const int64_t blocks = w->variant->of.split.max_blocks;
    const int words = cg__split_words(w), from = cg__words_from(blocks);
    cg__use(w, IND__CG_SPLIT_WORDS);
    cg__begin(w, "if (%s > 1)", splits);
    ind__textf(&w->code,
               "unsigned long long *word = reinterpret_cast<unsigned long long *>(counters + %d) + "
               "blockIdx.x * (%s) * %d;\n",
               from, splits, words);
    ind__textf(&w->code, "const bool last = ind_began_last(turn, %s);\n", splits);
    cg__begin(w, "if (!last)");
    cg__begin(w, "if (lane == 0)");
    ind__textf(&w->code, "word += blockIdx.y * %d;\n", words);
    for (uint32_t i = 1, at = 0; i < w->body->num_inst; i++) {
        if (!cg__is_reduce(w, i)) continue;
        ind__textf(&w->code, "ind_split_leave(word + %u, s%u);\n", at, i);
        at += (uint32_t)cg__state_bytes_of(w, i) / 4;
    }
    cg__end(w);
    ind__textf(&w->code, "return;\n");
    cg__end(w);
    ind__textf(&w->code, "word += lane * %d;\n", words);
    for (uint32_t i = 1, at = 0; i < w->body->num_inst; i++) {
        if (!cg__is_reduce(w, i)) continue;
        if (cg__lanes_combine_warps(w, i)) ind__textf(&w->code, "s%u = s%u.lane(blockIdx.y %% 32);\n", i, i);
        ind__textf(&w->code, "if (lane >= %s) s%u = {%s};\n", splits, i,
                   cg__neutral(w, i, (ind_reduction)cg__inst(w, i)->reduction));
        ind__textf(&w->code, "else if (lane != (int)blockIdx.y) ind_split_take(word + %u, s%u);\n", at, i);
        at += (uint32_t)cg__state_bytes_of(w, i) / 4;
    }
    cg__emit_combine(w, s);
    cg__end(w);
}

static void cg__combine_row_splits(ind__writer *w, const cg__pass *s) {
    const char *splits = cg__expr_string(w, w->variant->of.split.num);
    if (cg__exchanges_by_mailbox(w)) {
        cg__combine_row_words(w, s);
        return;
    }
    cg__begin(w, "if (%s > 1)", splits);
    cg__leave_partials(w, 1, "lane == 0", cg__string(w, "blockIdx.x * %s + blockIdx.y", splits));
    cg__take_partials(w, "lane", w->variant->threads, cg__string(w, "blockIdx.x * %s + i", splits));
    cg__emit_combine(w, s);
    cg__end(w);
}

static void cg__emit_row_split(ind__writer *w, const cg__pass *s) {
    int n = w->variant->vector;
    bool one = w->plan->domain.rank == 1, whole = n == 1 || w->plan->domain.rrank > 1;
    const char *extent = cg__expr_string(w, cg__r_numel(w)), *type = cg__int(w);
    const char *splits = cg__expr_string(w, w->variant->of.split.num);
    whole = whole || ind_known_multiple(cg__r_numel(w), n) || cg__promised(w->variant->guard, cg__r_numel(w), n, 0);
    ind__textf(&w->code, "const int lane = threadIdx.x;\n");
    if (cg__exchanges_by_mailbox(w))
        ind__textf(&w->code, "const unsigned turn = %s > 1 ? ind_turn(&counters[blockIdx.x], %s) : 0;\n", splits,
                   splits);
    if (w->plan->domain.rank) ind__textf(&w->code, "const %s %s = blockIdx.x;\n", type, one ? "i0" : "p");
    if (one)
        w->var[0] = "i0";
    else
        cg__split_linear(w, "p", 0, w->plan->domain.rank);
    cg__need_all(w);
    cg__emit(w, cg__p_mask(w), s->stage);
    cg__emit_pass_comment(w, s);
    cg__need_pass(w, s);
    cg__emit_states(w, s);
    cg__emit_lanes(w);
    ind__textf(&w->code, "// The blocks of a row read it interleaved: together they read consecutive memory.\n");
    cg__emit_split_loop(w, s, cg__string(w, "((%s)blockIdx.y * %d + lane) * %d", type, w->variant->threads, n),
                        cg__string(w, "%s * %d", splits, w->variant->threads * n),
                        whole ? extent : cg__string(w, "%s / %d * %d", extent, n, n), cg__emit_chunk);
    cg__emit_row_rest(w, s);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__is_reduce(w, i) || !cg__has_lanes(w, i)) continue;
        cg__use(w, IND__CG_COMBINE_NEIGHBOURS);
        ind__textf(&w->code, "s%u.combine(ind_combine_neighbours(l%u));\n", i, i);
    }
    cg__emit_combine(w, s);
    cg__combine_row_splits(w, s);
    cg__emit_results(w, s);
    cg__emit_row_stores(w);
}

/* ================================================================================ src/cuda/emit/reduction/columns.c */
/* ---- columns */

/* Returns the columns of a block. */
static int cg__split_columns(const ind__writer *w) {
    return w->variant->rows;
}

/* Returns the rows of the arrays in shared memory: warps, and, if the columns are at least as many as lanes, threads
   per column. */
static int cg__split_shared_rows(const ind__writer *w) {
    return w->variant->threads / 32;
}

/* Writes one row: the vector of neighbouring columns that start at `column`. */
static void cg__emit_column_chunk(ind__writer *w, const cg__pass *s) {
    int v = w->plan->domain.rank - 1, n = w->variant->vector;
    const char *base = w->var[v];
    ind__variant scalar;
    if (n > 1) {
        cg__emit(w, ~(1u << v), s->stage);
        cg__vector_loads(w, v);
        cg__vector_sinks(w);
        cg__unroll(w);
        cg__begin(w, "for (int j = 0; j < %d; j++)", n);
        w->var[v] = cg__string(w, "(%s + j)", base);
        if (w->linear_name[v]) w->linear_name[v] = "(column + j)";
    }
    const ind__variant *columns = cg__write_scalars(w, &scalar); /* along the row */
    cg__emit_chunk_arrays(w, s);
    cg__emit(w, IND__CG_ALL_VARS, s->stage);
    cg__emit_accumulate(w, s, "r");
    cg__emit_chunk_adds(w, s);
    w->variant = columns;
    if (n == 1) return;
    cg__end(w);
    w->var[v] = base;
    if (w->linear_name[v]) w->linear_name[v] = "column";
    cg__vector_stores(w);
    cg__forget_vectors(w);
}

/* Writes the loop of a thread over its rows. Rows are interleaved within a block and between blocks. */
static void cg__emit_column_rows(ind__writer *w, const cg__pass *s) {
    const ind__variant *v = w->variant;
    int rows = v->threads / (cg__split_columns(w) / v->vector);
    cg__begin(w, "if (live)");
    if (w->plan->domain.rank == 1)
        w->var[0] = "column";
    else
        cg__split_linear(w, "column", 0, w->plan->domain.rank);
    cg__need_pass(w, s);
    cg__emit(w, cg__p_mask(w) & ~(v->vector > 1 ? 1u << (w->plan->domain.rank - 1) : 0), s->stage);
    cg__emit_split_loop(w, s, cg__string(w, "(%s)blockIdx.y * %d + y", cg__int(w), rows),
                        cg__string(w, "%s * %d", cg__expr_string(w, v->of.split.num), rows),
                        cg__expr_string(w, cg__r_numel(w)), cg__emit_column_chunk);
    cg__end(w);
}

/* Combines states through shared memory. The state of column c of the block is then in the threads that are c modulo
   the number of columns. */
static void cg__combine_columns(ind__writer *w) {
    const ind__variant *v = w->variant;
    int columns = cg__split_columns(w), x = columns / v->vector;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__is_reduce(w, i)) continue;
        const char *lane = w->split.lanes > 1 ? cg__string(w, "l%u[j]", i) : cg__string(w, "s%u", i);
        if (w->split.lanes > 1) cg__unroll(w);
        if (w->split.lanes > 1) cg__begin(w, "for (int j = 0; j < %d; j++)", w->split.lanes);
        if (x < 32) ind__textf(&w->code, "ind_combine_strided<%d>(%s);\n", x, lane);
        if (x < 32) cg__use(w, IND__CG_COMBINE_STRIDED);
        ind__textf(&w->code, "%sshared_s%u[threadIdx.x / 32][x%s] = %s;\n",
                   x < 32 ? cg__string(w, "if (threadIdx.x %% 32 < %d) ", x) : "", i,
                   w->split.lanes > 1 ? cg__string(w, " * %d + j", w->split.lanes) : "", lane);
        if (w->split.lanes > 1) cg__end(w);
    }
    ind__textf(&w->code, "__syncthreads();\n");
    cg__use(w, IND__CG_COMBINE_SHARED);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_reduce(w, i))
            ind__textf(&w->code, "s%u = ind_combine_shared<%d, %d>(&shared_s%u[0][threadIdx.x %% %d]);\n", i,
                       cg__split_shared_rows(w), columns, i, columns);
}

/* Combines the states of all blocks in the last block. All threads are divided among the columns. */
static void cg__combine_column_splits(ind__writer *w) {
    int columns = cg__split_columns(w), groups = w->variant->threads / columns;
    const char *splits = cg__expr_string(w, w->variant->of.split.num);
    if (!cg__shares_results(w)) return;
    cg__begin(w, "if (%s > 1)", splits);
    ind__textf(&w->code, "const int c = threadIdx.x %% %d, group = threadIdx.x / %d;\n", columns, columns);
    cg__leave_partials(w, columns, "group == 0",
                       cg__string(w, "(blockIdx.x * %s + blockIdx.y) * %d + c", splits, columns));
    cg__take_partials(w, "group", groups, cg__string(w, "(blockIdx.x * %s + i) * %d + c", splits, columns));
    if (columns < 32) groups = cg__split_shared_rows(w);
    for (uint32_t i = 1; i < w->body->num_inst && groups > 1; i++) {
        if (!cg__is_reduce(w, i)) continue;
        if (columns < 32) ind__textf(&w->code, "ind_combine_strided<%d>(s%u);\n", columns, i);
        if (columns < 32) cg__use(w, IND__CG_COMBINE_STRIDED);
        ind__textf(&w->code,
                   columns < 32 ? "shared_s%u[threadIdx.x / 32][c] = s%u;\n" : "shared_s%u[group][c] = s%u;\n", i, i);
    }
    if (groups > 1) ind__textf(&w->code, "__syncthreads();\n");
    for (uint32_t i = 1; i < w->body->num_inst && groups > 1; i++)
        if (cg__is_reduce(w, i))
            ind__textf(&w->code, "s%u = ind_combine_shared<%d, %d>(&shared_s%u[0][c]);\n", i, groups, columns, i);
    cg__end(w);
}

/* Writes the values that are stored once per column, one thread for each. */
static void cg__emit_column_stores(ind__writer *w) {
    int columns = cg__split_columns(w);
    const char *type = cg__int(w);
    ind__textf(&w->code, "const %s own = %s * %d + threadIdx.x;\n", type,
               w->plan->wide ? "(long long)blockIdx.x" : "blockIdx.x", columns);
    cg__begin(w, "if (threadIdx.x < %d && own < %s)", columns, cg__expr_string(w, cg__p_numel(w)));
    if (w->plan->domain.rank == 1)
        w->var[0] = "own";
    else
        cg__split_linear(w, "own", 0, w->plan->domain.rank);
    cg__need_none(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_root(w, i) && !(w->plan->varies[i] & cg__r_mask(w))) cg__need(w, i);
    cg__close_needed(w);
    cg__emit(w, cg__p_mask(w), IND__CG_ALL_STAGES);
    cg__end(w);
}

static void cg__emit_column_split(ind__writer *w, const cg__pass *s) {
    const ind__variant *v = w->variant;
    int x = cg__split_columns(w) / v->vector;
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_reduce(w, i))
            ind__textf(&w->code, "__shared__ %s shared_s%u[%d][%d];\n", cg__state_type_text(w, i), i,
                       cg__split_shared_rows(w), cg__split_columns(w));
    ind__textf(&w->code, "const int x = threadIdx.x %% %d, y = threadIdx.x / %d;\n", x, x);
    ind__textf(&w->code, v->vector > 1 ? "const %s column = (%s * %d + x) * %d;\n" : "const %s column = %s * %d + x;\n",
               cg__int(w), w->plan->wide ? "(long long)blockIdx.x" : "blockIdx.x", x, v->vector);
    ind__textf(&w->code, "const bool live = column < %s;\n", cg__expr_string(w, cg__p_numel(w)));
    cg__emit_pass_comment(w, s);
    cg__emit_states(w, s);
    cg__emit_lanes(w);
    cg__emit_column_rows(w, s);
    cg__combine_columns(w);
    cg__combine_column_splits(w);
    cg__emit_results(w, s);
    cg__emit_column_stores(w);
}

static ind_status cg__emit_split(ind__writer *w, const cg__pass *s) {
    w->split.lanes = w->variant->vector;
    if (w->variant->strategy == IND_STRATEGY_COLUMN_SPLIT) {
        cg__emit_column_split(w, s);
    } else {
        cg__emit_shared_states(w, s);
        cg__emit_row_split(w, s);
    }
    return IND_OK;
}

/* ================================================================================== src/cuda/emit/reduction/batch.c */
/* ---- a batch: several rows of the same lanes, neighbours in the grid's rows. All their loads start before the first
   row is reduced. */

/* Opens the loop over the rows of the batch, and declares the row. */
static void cg__begin_batch(ind__writer *w, bool loads) {
    const ind__variant *v = w->variant;
    const char *name = w->plan->domain.rank == 1 ? "i0" : "p", *rows = cg__expr_string(w, cg__p_numel(w));
    cg__unroll(w);
    cg__begin(w, "for (int b = 0; b < %d; b++)", ind__row_of(v)->batch);
    ind__textf(&w->code, "const %s %s = first + b * %d;\n", cg__int(w), name, v->rows / ind__row_of(v)->batch);
    if (loads)
        cg__begin(w, "if (%s < %s)", name, rows);
    else
        ind__textf(&w->code, "if (%s >= %s) return;\n", name, rows);
    if (w->plan->domain.rank == 1)
        w->var[0] = "i0";
    else
        cg__split_linear(w, "p", 0, w->plan->domain.rank);
}

/* Writes the loads of pass s that need no result of other passes, for all rows of the batch. */
static void cg__emit_batch_loads(ind__writer *w, const cg__pass *s) {
    int n = w->variant->vector, vectors = w->variant->per_thread / n, num = 0;
    cg__need_pass(w, s);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        w->needed[i] = w->needed[i] && cg__loads_ahead(w, i);
        if (!w->needed[i]) continue;
        const char *type = cg__types[cg__memory_dtype(w, i)].memory;
        if (n > 1) type = cg__string(w, "ind_vec<%s, %d>", type, n);
        ind__textf(&w->code, "%s x%u[%d][%d];\n", type, i, cg__row(w)->batch, vectors);
        num++;
    }
    if (!num) return;
    cg__close_needed(w);
    cg__begin_batch(w, true);
    cg__emit(w, cg__p_mask(w), 0);
    int scopes = cg__emit_pass_loops(w) + 2;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!w->needed[i] || !cg__loads_ahead(w, i)) continue;
        const char *element = cg__element(w, i);
        if (n > 1) element = cg__load_expression(w, i);
        ind__textf(&w->code, "x%u[b][k] = %s;\n", i, element);
        w->memory[i] = cg__string(w, n > 1 ? "x%u[b][k].at[j]" : "x%u[b][k]", i);
        if (n > 1) cg__use(w, IND__CG_VEC);
    }
    while (scopes--) cg__end(w);
}

static ind_status cg__emit_reduction(ind__writer *w) {
    cg__pass pass[IND__CG_MAX_PASSES];
    int n = cg__passes(w, pass);
    if (cg__splits_rows(w)) return cg__emit_split(w, &pass[0]);
    for (int s = 0; s < n; s++) cg__emit_shared_states(w, &pass[s]);
    cg__emit_team_columns(w);
    cg__emit_row_position(w);
    if (w->variant->misaligned && w->variant->strategy != IND_STRATEGY_ROW_STAGED) cg__emit_edges(w);
    if (cg__row(w)->batch) cg__emit_batch_loads(w, &pass[0]);
    if (cg__row(w)->batch) cg__begin_batch(w, false);
    cg__emit_resident_arrays(w);
    for (int s = 0; s < n; s++) cg__emit_pass(w, &pass[s]);
    cg__emit_row_stores(w);
    if (cg__row(w)->batch) cg__end(w);
    if (w->kernel->run) cg__end_run(w);
    if (w->variant->strategy == IND_STRATEGY_ROW_STAGED) cg__end_turn(w);
    return IND_OK;
}

/* ======================================================================================== src/cuda/emit/scan/scan.c */
/* --------------------------------------------------------------------------------------------------- >>scan */

/* State of each kind of scan: prelude function, template, neutral element. */
static const struct {
    int function;
    const char *state, *none;
} cg__scans[IND_NUM_SCANS] = {
    [IND_SCAN_SUM] = {IND__CG_SCAN_SUM, "ind_scan_sum", "0"},
    [IND_SCAN_PROD] = {IND__CG_SCAN_PROD, "ind_scan_prod", "1"},
    [IND_SCAN_LOGADDEXP] = {IND__CG_SCAN_LOG, "ind_scan_log", "__uint_as_float(0xff800000u), 0"},
    [IND_SCAN_MAX] = {IND__CG_SCAN_EXTREME, "ind_scan_extreme", "0, -1"},
    [IND_SCAN_MIN] = {IND__CG_SCAN_EXTREME, "ind_scan_extreme", "0, -1"},
    [IND_SCAN_COMBINE] = {IND__CG_SCAN_MAYBE, "ind_scan_maybe", ""},
};

static ind_scan cg__scan_kind(const ind__writer *w, uint32_t scan) {
    return (ind_scan)cg__inst(w, scan)->reduction;
}

static bool cg__combines(const ind__writer *w) {
    return cg__scan_kind(w, ind__body_scan(w->body)) == IND_SCAN_COMBINE;
}

static bool cg__finds_positions(const ind__writer *w, uint32_t scan) {
    return ind__scan_results(cg__scan_kind(w, scan)) > 1;
}

static bool cg__adds_exp(const ind__writer *w, uint32_t scan) {
    return cg__scan_kind(w, scan) == IND_SCAN_LOGADDEXP;
}

/* The PAIR after p; after 0 the first. They are the scan's values in order. 0: none. */
static uint32_t cg__next_pair(const ind__writer *w, uint32_t p) {
    return p ? cg__inst(w, p)->arg[2] : cg__inst(w, ind__body_scan(w->body))->arg[0];
}

/* Type of a value in a state: int for narrower integers, as shuffles take no less. */
static const char *cg__member_type(ind_dtype t) {
    return !ind_dtype_is_float(t) && ind_dtype_bytes(t) < 4 ? "int" : cg__types[t].value;
}

/* 4-byte words of ind_scan_maybe<ind_state>: values of 8 bytes are aligned, and so is the whole. */
static int cg__combine_words(const ind__writer *w) {
    int words = 0, wide = 1;
    for (uint32_t p = cg__next_pair(w, 0); p; p = cg__next_pair(w, p)) {
        int own = ind_dtype_bytes((ind_dtype)cg__inst(w, p)->dtype) == 8 ? 2 : 1;
        if (own == 2) wide = 2, words += words % 2;
        words += own;
    }
    words += words % wide + 1; /* of the state as a whole */
    return words + words % wide;
}

/* Value k of a state, converted to a value of the body. */
static const char *cg__member(ind__writer *w, ind_dtype t, const char *state, int k) {
    if (t == IND_BOOL) return cg__string(w, "(%sx%d != 0)", state, k);
    bool same = ind_dtype_is_float(t) || ind_dtype_bytes(t) >= 4;
    return same ? cg__string(w, "%sx%d", state, k) : cg__string(w, "((%s)%sx%d)", cg__types[t].value, state, k);
}

/* Type in which a scan is computed: integers wrap around in sums and products; types too narrow for shuffles are
   int. */
static const char *cg__scan_type(const ind__writer *w, uint32_t scan) {
    ind_dtype t = (ind_dtype)cg__inst(w, scan)->dtype;
    bool extreme = cg__scan_kind(w, scan) == IND_SCAN_MAX || cg__scan_kind(w, scan) == IND_SCAN_MIN;
    if (ind_dtype_is_float(t)) return cg__types[t].value;
    if (!extreme) return cg__types[t].wrapping;
    return ind_dtype_bytes(t) < 4 ? "int" : cg__types[t].value;
}

/* The type of a scan's state. */
static const char *cg__scan_state(ind__writer *w, uint32_t scan) {
    ind_scan kind = cg__scan_kind(w, scan);
    cg__use(w, cg__scans[kind].function);
    if (cg__finds_positions(w, scan))
        return cg__string(w, "ind_scan_extreme<%s, %s, %s>", cg__scan_type(w, scan), cg__int(w),
                          kind == IND_SCAN_MAX ? "true" : "false");
    return cg__string(w, "%s<%s>", cg__scans[kind].state,
                      kind == IND_SCAN_COMBINE ? "ind_state" : cg__scan_type(w, scan));
}

/* A name of the scan; with its number if there are several scans. */
static const char *cg__of_scan(ind__writer *w, const char *name, uint32_t scan) {
    uint32_t scans = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) scans += cg__is_scan(w, i);
    return scans > 1 ? cg__string(w, "%s%u", name, scan) : name;
}

/* Marks the operands of an element of the scan. */
static void cg__need_element(ind__writer *w, uint32_t scan) {
    if (cg__scan_kind(w, scan) != IND_SCAN_COMBINE) {
        cg__need(w, cg__inst(w, scan)->arg[0]);
        return;
    }
    for (uint32_t p = cg__next_pair(w, 0); p; p = cg__next_pair(w, p)) cg__need(w, cg__inst(w, p)->arg[0]);
}

/* Writes "{ind_state{v1, v2}, 1};". */
static void cg__combine_element(ind__writer *w, const char *into) {
    ind__textf(&w->code, "%s{ind_state{", into);
    for (uint32_t p = cg__next_pair(w, 0), first = p; p; p = cg__next_pair(w, p)) {
        ind__textf(&w->code, "%s(%s)", p == first ? "" : ", ", cg__member_type((ind_dtype)cg__inst(w, p)->dtype));
        cg__value(w, cg__inst(w, p)->arg[0]);
    }
    ind__textf(&w->code, "}, 1};\n");
}

/* Writes the state of one element: "{v7}" or "{v7, r}". */
static void cg__scan_element(ind__writer *w, uint32_t scan, const char *into) {
    if (cg__scan_kind(w, scan) == IND_SCAN_COMBINE) {
        cg__combine_element(w, into);
        return;
    }
    ind__textf(&w->code, "%s{(%s)", into, cg__scan_type(w, scan));
    cg__value(w, cg__inst(w, scan)->arg[0]);
    ind__textf(&w->code, cg__finds_positions(w, scan) ? ", r};\n" : cg__adds_exp(w, scan) ? ", 1};\n" : "};\n");
}

/* Names the results of the scan, element and position (NULL: none), as values of the body. */
static void cg__scan_results(ind__writer *w, uint32_t scan, const char *element, const char *position) {
    ind_dtype t = (ind_dtype)cg__inst(w, scan)->dtype;
    const char *value = t == IND_BOOL           ? cg__string(w, "(%s != 0)", element)
                        : ind_dtype_is_float(t) ? element
                                                : cg__string(w, "((%s)%s)", cg__types[t].value, element);
    w->value[scan] = value;
    for (uint32_t i = scan + 1; i < w->body->num_inst; i++) {
        const ind__inst *inst = cg__inst(w, i);
        if (inst->op == IND_LOOP_PART && inst->arg[0] == scan)
            w->value[i] = inst->imm.i ? cg__string(w, "((long long)%s)", position ? position : "0") : value;
    }
}

/* Names the results as members of the state called `name`. */
static void cg__scan_results_of(ind__writer *w, uint32_t scan, const char *name) {
    if (cg__scan_kind(w, scan) == IND_SCAN_COMBINE) {
        w->value[scan] = "";
        for (uint32_t i = scan + 1; i < w->body->num_inst; i++) {
            const ind__inst *inst = cg__inst(w, i);
            if (inst->op == IND_LOOP_PART && inst->arg[0] == scan)
                w->value[i] = cg__member(w, (ind_dtype)inst->dtype, cg__string(w, "%s.state.", name), (int)inst->imm.i);
        }
        return;
    }
    cg__scan_results(w, scan, cg__string(w, cg__adds_exp(w, scan) ? "%s.value()" : "%s.value", name),
                     cg__finds_positions(w, scan) ? cg__string(w, "%s.at", name) : NULL);
}

/* True if a value per row is stored or reduced. */
static bool cg__has_row_values(const ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        ind_loop_op op = (ind_loop_op)cg__inst(w, i)->op;
        if (op == IND_LOOP_REDUCE || (op == IND_LOOP_STORE && !(w->plan->varies[i] & cg__r_mask(w)))) return true;
    }
    return false;
}

/* True if there is one pass over the rows, and no value per row. */
static bool cg__scans_only(const ind__writer *w) {
    return w->plan->scan_stage == 0 && !cg__has_row_values(w);
}

/* SCAN_COLUMN: true if threads share rows. */
static bool cg__scans_team(const ind__writer *w) {
    return w->variant->strategy == IND_STRATEGY_SCAN_COLUMN && cg__scans_only(w);
}

/* Writes the member function that combines the state with the following state o. */
static void cg__emit_combine_member(ind__writer *w) {
    int n = 0, k = 0;
    cg__need_none(w);
    for (uint32_t p = cg__next_pair(w, 0); p; p = cg__next_pair(w, p), n++) cg__need(w, cg__inst(w, p)->arg[1]);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (cg__inst(w, i)->op != IND_LOOP_STATE) continue;
        int which = (int)cg__inst(w, i)->imm.i;
        w->value[i] =
            cg__member(w, (ind_dtype)cg__inst(w, i)->dtype, which < n ? "" : "o.", which < n ? which : which - n);
    }
    cg__close_needed(w);
    cg__begin(w, "IND_INLINE void combine(const ind_state &o)");
    cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    for (uint32_t p = cg__next_pair(w, 0); p; p = cg__next_pair(w, p), k++) {
        ind__textf(&w->code, "const %s to%d = ", cg__member_type((ind_dtype)cg__inst(w, p)->dtype), k);
        cg__value(w, cg__inst(w, p)->arg[1]);
        ind__textf(&w->code, ";\n");
    }
    for (k = 0; k < n; k++) ind__textf(&w->code, "x%d = to%d;\n", k, k);
    cg__end(w);
}

static void cg__emit_shuffle(ind__writer *w, const char *head, const char *shuffle) {
    int k = 0;
    ind__textf(&w->code, "%s { return {", head);
    for (uint32_t p = cg__next_pair(w, 0); p; p = cg__next_pair(w, p), k++)
        ind__textf(&w->code, "%s%s(0xffffffffu, x%d, n)", k ? ", " : "", shuffle, k);
    ind__textf(&w->code, "}; }\n");
}

/* Writes the scan's state as a type of the kernel. */
static void cg__emit_combine_state(ind__writer *w) {
    int k = 0;
    cg__begin(w, "struct ind_state");
    for (uint32_t p = cg__next_pair(w, 0); p; p = cg__next_pair(w, p), k++)
        ind__textf(&w->code, "%s x%d;\n", cg__member_type((ind_dtype)cg__inst(w, p)->dtype), k);
    cg__emit_combine_member(w);
    cg__emit_shuffle(w, "IND_INLINE ind_state up(int n) const", "__shfl_up_sync");
    cg__emit_shuffle(w, "IND_INLINE ind_state lane(int n) const", "__shfl_sync");
    cg__end(w);
    ind__textf(&w->code, ";\n");
}

/* Declares the row that the thread computes: one per block, warp or thread. */
static void cg__emit_scan_position(ind__writer *w) {
    const ind__variant *v = w->variant;
    bool one = w->plan->domain.rank == 1;
    const char *name = one ? "i0" : "p", *type = cg__int(w),
               *block = w->plan->wide ? "(long long)blockIdx.x" : "blockIdx.x";
    if (w->plan->domain.rank && v->rows == 1)
        ind__textf(&w->code, "const %s %s = %s;\n", type, name, cg__looks_back(w) ? "row" : "blockIdx.x");
    if (cg__scans_team(w)) {
        const char *place = cg__string(w, "threadIdx.x %% %d", v->rows / v->vector),
                   *size = cg__expr_string(w, cg__r_numel(w));
        ind__textf(&w->code,
                   v->vector > 1 ? "const %s column = (%s * %d + %s) * %d;\n" : "const %s column = %s * %d + %s;\n",
                   type, block, v->rows / v->vector, place, v->vector);
        ind__textf(&w->code, "const %s p = column < %s ? column : 0, limit = column < %s ? %s : 0;\n", type,
                   cg__expr_string(w, cg__p_numel(w)), cg__expr_string(w, cg__p_numel(w)), size);
    } else if (v->rows > 1) {
        ind__textf(&w->code, "const %s p = %s * %d + threadIdx.x", type, block, v->rows);
        ind__textf(&w->code, v->threads > v->rows ? " / %d;\n" : ";\n", v->threads / v->rows);
        ind__textf(&w->code, "if (p >= %s) return;\n", cg__expr_string(w, cg__p_numel(w)));
    }
    if (one)
        w->var[0] = v->rows > 1 ? "p" : "i0";
    else
        cg__split_linear(w, "p", 0, w->plan->domain.rank);
    w->var[w->plan->domain.rank] = "r";
}

/* =============================================================================== src/cuda/emit/scan/shared_kernel.c */
/* ---- other work of a kernel with scans: reductions of the same rows, and uses of their results and the scans' */

/* The last pass over the row, which stores elements. */
static cg__pass cg__last_scan_pass(const ind__writer *w) {
    return (cg__pass){.stage = w->plan->scan_stage, .stores = true};
}

/* Declares what passes with scans and sorts share: memory for the states of reductions, and the thread's lane in the
   row. */
static void cg__emit_row_values(ind__writer *w) {
    if (!cg__has_row_values(w)) return;
    for (int s = 0; s <= w->plan->scan_stage; s++) cg__emit_shared_states(w, &(cg__pass){.stage = s});
    bool block = w->variant->strategy == IND_STRATEGY_SCAN_BLOCK || cg__sorts_rows(w);
    if (w->variant->strategy == IND_STRATEGY_SCAN_COLUMN)
        ind__textf(&w->code, "const int lane = 0;\n");
    else
        ind__textf(&w->code, block ? "const int lane = threadIdx.x;\n" : "const int lane = threadIdx.x %% %d;\n",
                   w->variant->threads / w->variant->rows);
}

/* Writes the values that are the same for the whole row, and declares the states of this pass's reductions. */
static void cg__begin_pass_states(ind__writer *w, const cg__pass *s) {
    w->var[w->plan->domain.rank] = "r";
    if (!cg__has_row_values(w)) return;
    cg__need_all(w);
    cg__emit(w, cg__p_mask(w), s->stage);
    cg__emit_states(w, s);
}

static void cg__end_pass_states(ind__writer *w, const cg__pass *s) {
    cg__emit_combine(w, s);
    cg__emit_results(w, s);
}

/* True if the pass computes the operand of the sort at i. */
static bool cg__sorts_in(const ind__writer *w, uint32_t i, const cg__pass *s) {
    return cg__is_sort(w, i) && w->plan->stage[i] == s->stage + 1;
}

/* Marks the values that the pass computes per element: stored, checked, reduced or sorted ones. */
static void cg__need_scanned(ind__writer *w, const cg__pass *s) {
    cg__need_none(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (s->stores && (cg__stores_per_element(w, i) || w->plan->only_check[i])) cg__need(w, i);
        if (cg__reduces_in(w, i, s) || cg__sorts_in(w, i, s)) cg__need(w, cg__inst(w, i)->arg[0]);
    }
    cg__close_needed(w);
}

static void cg__emit_sort_element(ind__writer *w);

/* Writes these values of one element, once the scans' results have names. */
static void cg__emit_scanned_element(ind__writer *w, const cg__pass *s) {
    cg__need_scanned(w, s);
    cg__emit(w, IND__CG_ALL_VARS, s->stores ? IND__CG_ALL_STAGES : s->stage);
    cg__emit_accumulate(w, s, "r");
}

static void cg__emit_scanned(ind__writer *w, const cg__pass *s) {
    cg__emit_chunk_arrays(w, s);
    cg__emit_scanned_element(w, s);
    cg__emit_chunk_adds(w, s);
    if (ind__body_sort(w->body) && cg__sorts_in(w, ind__body_sort(w->body), s)) cg__emit_sort_element(w);
}

/* Writes the values that are known after the row's last element. */
static void cg__emit_scan_end(ind__writer *w) {
    cg__pass last = cg__last_scan_pass(w);
    cg__end_pass_states(w, &last);
    cg__emit_row_stores(w);
}

/* ---- passes with scans: a level needs only scans of lower levels */

/* Finds the scans that the pass needs; returns the number of their levels. */
static int cg__find_runs(ind__writer *w, const cg__pass *s) {
    int levels = 0;
    cg__need_scanned(w, s);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        w->runs[i] = w->needed[i] && cg__is_scan(w, i);
        if (w->runs[i] && w->plan->level[i] > levels) levels = w->plan->level[i];
    }
    return levels;
}

static bool cg__runs_at(const ind__writer *w, uint32_t i, int level) {
    return w->runs[i] && w->plan->level[i] == level;
}

/* Marks the elements of the scans of a level. */
static void cg__need_elements_at(ind__writer *w, int level) {
    cg__need_none(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__runs_at(w, i, level)) cg__need_element(w, i);
    cg__close_needed(w);
}

/* Writes the operands of the scans' elements and of the uses of their results that are the same for the whole row. */
static void cg__emit_scanned_rows(ind__writer *w, const cg__pass *s) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (w->runs[i]) cg__scan_results_of(w, i, cg__of_scan(w, "t", i));
    cg__need_scanned(w, s);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (w->runs[i]) cg__need_element(w, i);
    cg__close_needed(w);
    bool beside = w->variant->strategy == IND_STRATEGY_SCAN_COLUMN && w->variant->vector > 1;
    cg__emit(w, beside ? cg__p_mask(w) & ~(1u << (w->plan->domain.rank - 1)) : cg__p_mask(w), s->stage);
}

/* Forgets the scans' results, as the next pass scans again. */
static void cg__forget_scans(ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        const ind__inst *inst = cg__inst(w, i);
        if (w->runs[i] || (inst->op == IND_LOOP_PART && w->runs[inst->arg[0]])) w->value[i] = NULL;
    }
}

static int cg__scan_warps(const ind__writer *w) {
    bool block = w->variant->strategy == IND_STRATEGY_SCAN_BLOCK || cg__looks_back(w) || cg__sorts_rows(w);
    return block ? w->variant->threads / 32 : 1;
}

static bool cg__has_scans(const ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_scan(w, i)) return true;
    return false;
}

/* How a pass iterates along the row: in chunks. A chunk has a part for each warp, one after another. A part consists of
   lines, one after another. A line has a vector of `run` neighbours for each lane. */
typedef struct cg__scan_pass {
    const cg__pass *pass;
    const char *size;         /* elements of the row that the thread works on */
    const char *size_value;   /* the same in the type of indices */
    int levels;               /* of scans that depend on one another */
    int run, lines, lanes;    /* neighbours of a thread in a line, lines in a warp's part, lanes in a line */
    int team;                 /* SCAN_COLUMN: threads, each with `lines` of the row; `run` adjacent rows */
    bool single, exact, turn; /* one chunk covers every row; it is full; shared memory alternates */
    bool pads;                /* elements outside the row are computed too, then excluded: see cg__pads */
    uint8_t *ahead;           /* per LOAD: IND__CG_LOADED_* */
    const char *base;         /* SCAN_COLUMN: name of the variable along which rows are adjacent */
} cg__scan_pass;

/* All loads of a chunk start together: during the previous chunk, or, if they are also needed for its results, at its
   beginning. */
enum { IND__CG_LOADED_AHEAD = 1, IND__CG_LOADED_FIRST = 2 };

/* The most elements before a row at which its first vector may start. */
static int cg__most_shift(const ind__writer *w) {
    return w->plan->shift ? w->variant->vector - 1 : 0;
}

/* True if elements outside the row are computed like others. Vectors of misaligned rows are partly outside the row. For
   narrow elements a test of each element costs as much as the scan. If all loads and stores are such vectors, elements
   outside are loaded as 0, their states are reset, and they are not stored. */
static bool cg__pads(const ind__writer *w) {
    const int n = w->variant->vector;
    if (!w->plan->shift) return false;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        const ind__inst *inst = cg__inst(w, i);
        if (!(w->plan->varies[i] & cg__r_mask(w))) continue;
        if (inst->op == IND_LOOP_INDIRECT || inst->op == IND_LOOP_CALL) return false;
        if (cg__is_access(w, i) && w->plan->vector[i] != n) return false;
    }
    return true;
}

/* Elements of a row in one chunk. */
static int cg__scan_chunk(const ind__writer *w, const cg__scan_pass *p) {
    if (p->team) return p->team * p->lines;
    return cg__scan_warps(w) * p->lanes * p->lines * p->run;
}

static cg__scan_pass cg__begin_scan_pass(ind__writer *w, const cg__pass *s, int levels, const char *size) {
    const ind__variant *v = w->variant;
    bool sorts = cg__sorts_rows(w);
    cg__scan_pass p = {.pass = s, .size = size, .levels = levels, .run = v->vector, .lanes = 32};
    if (sorts) p.run = w->target->thresholds.sort_run;
    p.lines = sorts ? 1 : v->per_thread / v->vector;
    if (v->strategy == IND_STRATEGY_SCAN_WARP) p.lanes = v->threads / v->rows;
    if (cg__scans_team(w)) {
        p.lanes = v->rows / v->vector;
        p.team = v->threads / p.lanes;
    }
    int64_t row = 0, columns = 0, chunk = cg__scan_chunk(w, &p);
    p.single = !cg__looks_back(w) && cg__longest_row(w) <= chunk - cg__most_shift(w);
    p.exact = !w->plan->shift && ind_expr_is_int(cg__r_numel(w), &row) && row % chunk == 0;
    if (p.team) {
        p.size = "limit";
        p.exact = p.exact && ind_expr_is_int(cg__p_numel(w), &columns) && columns % v->rows == 0;
        p.turn = p.team > 1 && !p.single;
    }
    p.turn |= cg__scan_warps(w) > 1 && !cg__looks_back(w) && (!p.single || w->plan->scan_stage > 0);
    p.ahead = (uint8_t *)ind__arena_alloc(&w->scratch, w->body->num_inst);
    p.size_value = cg__string(w, "(%s)(%s)", cg__int(w), size);
    if (w->plan->domain.rank) p.base = w->var[w->plan->domain.rank - 1];
    if (!p.ahead) cg__fail(w);
    return p;
}

/* Declares the shared memory through which the warps of a block exchange the states of their parts. */
static void cg__emit_scan_shared(ind__writer *w, const char *size) {
    cg__scan_pass p = cg__begin_scan_pass(w, NULL, 0, size);
    int states = p.team > 1 ? w->variant->threads * p.run : cg__scan_warps(w) + cg__looks_back(w);
    if (states == 1) return;
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_scan(w, i))
            ind__textf(&w->code, p.turn ? "__shared__ %s %s[2][%d];\n" : "__shared__ %s %s[%d];\n",
                       cg__scan_state(w, i), cg__of_scan(w, "shared", i), states);
}

/* Declares the position of the thread's first vector in a chunk. */
static void cg__emit_first_scan_vector(ind__writer *w, const char *size) {
    cg__scan_pass p = cg__begin_scan_pass(w, NULL, 0, size);
    bool loops = w->variant->strategy == IND_STRATEGY_SCAN_COLUMN && !p.team;
    if (loops || (cg__sorts_rows(w) && !cg__has_scans(w))) return;
    if (w->plan->shift) {
        w->var[w->plan->domain.rank] = "0";
        ind__textf(&w->code, "const int shift = (unsigned long long)&%s / %d %% %d;\n", cg__element(w, w->plan->shift),
                   ind_dtype_bytes(cg__memory_dtype(w, w->plan->shift)), p.run);
        w->var[w->plan->domain.rank] = "r";
    }
    ind__textf(&w->code, "const int first = ");
    if (p.team)
        ind__textf(&w->code, p.team > 1 ? "threadIdx.x / %d * %d" : "0", p.lanes, p.lines);
    else if (cg__scan_warps(w) == 1)
        ind__textf(&w->code, "threadIdx.x %% %d * %d", p.lanes, p.run);
    else if (p.lines == 1)
        ind__textf(&w->code, "threadIdx.x * %d", p.run);
    else
        ind__textf(&w->code, "threadIdx.x / 32 * %d + threadIdx.x %% 32 * %d", 32 * p.lines * p.run, p.run);
    ind__textf(&w->code, w->plan->shift ? " - shift;\n" : ";\n");
    if (p.turn) ind__textf(&w->code, "int turn = 0;\n");
}

/* Opens the loop over the lines; r0 is the start of a thread's vector. */
static void cg__begin_lines(ind__writer *w, const cg__scan_pass *p, const char *begin) {
    cg__unroll(w);
    cg__begin(w, "for (int k = 0; k < %d; k++)", p->lines);
    if (p->team) {
        ind__textf(&w->code, "const %s r = %sfirst + k;\n", cg__int(w), begin);
        return;
    }
    ind__textf(&w->code, "const %s r0 = %sfirst + k * %d;\n", cg__int(w), begin, p->lanes * p->run);
    w->var[w->plan->domain.rank] = "r0";
}

/* Moves the row variable to base + j, if adjacent rows form a vector. */
static void cg__move_row(ind__writer *w, const cg__scan_pass *p, bool back) {
    int v = w->plan->domain.rank - 1;
    if (p->run == 1) return;
    w->var[v] = back ? p->base : cg__string(w, "(%s + j)", p->base);
    if (w->linear_name[v]) w->linear_name[v] = back ? "p" : "(p + j)";
}

static void cg__move_back(ind__writer *w, const cg__scan_pass *p) {
    if (p->team) cg__move_row(w, p, true);
}

/* Opens the loop over a vector's elements, or over adjacent rows. */
static void cg__begin_neighbours(ind__writer *w, const cg__scan_pass *p) {
    cg__unroll(w);
    cg__begin(w, "for (int j = 0; j < %d; j++)", p->run);
    if (p->team) {
        cg__move_row(w, p, false);
        return;
    }
    ind__textf(&w->code, "const %s r = r0 + j;\n", cg__int(w));
    w->var[w->plan->domain.rank] = "r";
}

/* ======================================================================================= src/cuda/emit/scan/chunk.c */
/* ---- loads of a chunk */

static bool cg__loads_chunk(const ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    return inst->op == IND_LOOP_LOAD && !inst->arg[0] && w->plan->varies[i] & cg__r_mask(w) && !w->value[i] &&
           w->plan->vector[i] == w->variant->vector &&
           !cg__indirect_varies(w, cg__index_of(w, i), w->plan->domain.rank);
}

static void cg__mark_chunk_loads(ind__writer *w, const cg__scan_pass *p, uint8_t mark) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (w->needed[i] && cg__loads_chunk(w, i)) p->ahead[i] = mark;
}

/* Finds the loads that start together, once the scans' results have names. Sorted rows are read from shared memory. */
static void cg__find_chunk_loads(ind__writer *w, const cg__scan_pass *p) {
    memset(p->ahead, 0, w->body->num_inst);
    if (cg__sorts_rows(w)) return;
    for (int level = 1; level <= p->levels; level++) {
        cg__need_elements_at(w, level);
        cg__mark_chunk_loads(
            w, p, level == 1 && !p->single && !cg__looks_back(w) ? IND__CG_LOADED_AHEAD : IND__CG_LOADED_FIRST);
    }
    cg__need_scanned(w, p->pass);
    cg__mark_chunk_loads(w, p, IND__CG_LOADED_FIRST);
}

static void cg__declare_chunk_loads(ind__writer *w, const cg__scan_pass *p, uint8_t which) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (p->ahead[i] != which) continue;
        const char *type = cg__types[cg__memory_dtype(w, i)].memory;
        if (p->run > 1)
            ind__textf(&w->code, "ind_vec<%s, %d> x%u[%d];\n", type, p->run, i, p->lines);
        else
            ind__textf(&w->code, "%s x%u[%d];\n", type, i, p->lines);
    }
}

/* Writes "x1[k] = ind_load<8>(&in0[4096*i0 + r0]);". Misaligned rows load only elements inside the row: whole vectors,
   or with `parts` partial ones. */
static void cg__start_chunk_load(ind__writer *w, const cg__scan_pass *p, uint32_t i, bool parts) {
    w->memory[i] = NULL;
    const char *element = cg__element(w, i);
    if (w->plan->shift)
        ind__textf(&w->code, "if (%sind_whole<%d>(&%s, r0, %s)) ", parts ? "!" : "", p->run, element, p->size_value);
    if (w->plan->shift && parts)
        ind__textf(&w->code, "x%u[k] = ind_load_part<%d>(&%s, r0, %s);\n", i, p->run, element, p->size_value);
    else if (p->run > 1)
        ind__textf(&w->code, "x%u[k] = ind_load<%d>(&%s);\n", i, p->run, element);
    else
        ind__textf(&w->code, "x%u[k] = %s;\n", i, element);
    w->memory[i] = cg__string(w, p->run > 1 ? "x%u[k].at[j]" : "x%u[k]", i);
    if (p->run > 1) cg__use(w, w->plan->shift ? IND__CG_VEC_PART : IND__CG_VEC);
}

/* Starts the loads of a chunk. Partial vectors come last: they are assembled from scalar loads, for which the warp
   waits. */
static void cg__start_chunk_loads(ind__writer *w, const cg__scan_pass *p, uint8_t which, const char *begin) {
    bool any = false;
    for (uint32_t i = 1; i < w->body->num_inst; i++) any = any || p->ahead[i] == which;
    for (int parts = 0; any && parts <= (w->plan->shift != 0); parts++) {
        cg__begin_lines(w, p, begin);
        bool guarded = !w->plan->shift && (!p->exact || !p->single);
        if (guarded)
            cg__begin(w, p->team ? "if (r < %s)" : "if (r0 < %s)",
                      p->exact ? cg__expr_string(w, cg__r_numel(w)) : p->size);
        for (uint32_t i = 1; i < w->body->num_inst; i++)
            if (p->ahead[i] == which) cg__start_chunk_load(w, p, i, parts);
        if (guarded) cg__end(w);
        cg__end(w);
    }
}

/* ---- a chunk */

static bool cg__is_exclusive(const ind__writer *w, uint32_t scan) {
    return cg__inst(w, scan)->flags & IND__INST_EXCLUSIVE;
}

/* Writes the results of the scans up to a level, at element j of vector k of the thread. */
static void cg__emit_run_results(ind__writer *w, const cg__scan_pass *p, int levels) {
    const char *line = p->team ? "j" : "k", *step = p->team ? "k" : "j";
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!w->runs[i] || w->plan->level[i] > levels) continue;
        const char *t = cg__of_scan(w, "t", i), *s = cg__of_scan(w, "s", i);
        ind__textf(&w->code, "%s %s = %s[%s];\n", cg__scan_state(w, i), t, cg__of_scan(w, "before", i), line);
        if (cg__is_exclusive(w, i))
            ind__textf(&w->code, "if (%s > 0) %s.combine(%s[%s > 0 ? k * %d + j - %d : 0]);\n", step, t, s, step,
                       p->run, p->team ? p->run : 1);
        else
            ind__textf(&w->code, "%s.combine(%s[k * %d + j]);\n", t, s, p->run);
        cg__scan_results_of(w, i, t);
    }
}

/* Writes the states s[] of element j of vector k of the thread. */
static void cg__emit_run_elements(ind__writer *w, const cg__scan_pass *p, int level) {
    const bool guarded = !p->exact && !p->pads;
    uint32_t num = w->body->num_inst;
    const char *at = cg__string(w, "k * %d + j", p->run);
    for (uint32_t i = 1; i < num && guarded; i++)
        if (cg__runs_at(w, i, level))
            ind__textf(&w->code, "%s[%s] = %s;\n", cg__of_scan(w, "s", i), at, cg__of_scan(w, "none", i));
    if (guarded) cg__begin(w, w->plan->shift ? "if (r >= 0 && r < %s)" : "if (r < %s)", p->size);
    cg__emit_run_results(w, p, level - 1);
    cg__need_elements_at(w, level);
    cg__emit(w, IND__CG_ALL_VARS, p->pass->stage);
    for (uint32_t i = 1; i < num; i++)
        if (cg__runs_at(w, i, level))
            cg__scan_element(w, i, cg__string(w, "%s[%s] = %s", cg__of_scan(w, "s", i), at, cg__scan_state(w, i)));
    if (guarded) cg__end(w);
}

/* Resets the states of elements outside the row. */
static void cg__leave_out(ind__writer *w, const cg__scan_pass *p, int level) {
    cg__begin(w, "if (r0 < 0 || r0 > %s - %d)", p->size_value, p->run);
    cg__unroll(w);
    cg__begin(w, "for (int j = 0; j < %d; j++)", p->run);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__runs_at(w, i, level))
            ind__textf(&w->code, "if (r0 + j < 0 || r0 + j >= %s) %s[k * %d + j] = %s;\n", p->size_value,
                       cg__of_scan(w, "s", i), p->run, cg__of_scan(w, "none", i));
    cg__end(w);
    cg__end(w);
}

/* Combines each state with the previous element's. */
static void cg__emit_run_combine(ind__writer *w, const cg__scan_pass *p, int level) {
    uint32_t num = w->body->num_inst;
    const char *at = cg__string(w, "k * %d + j", p->run);
    if ((p->team ? p->lines : p->run) == 1) return;
    const char *step = p->team ? "k" : "j";
    ind__textf(&w->code, "if (%s > 0) {\n", step);
    for (uint32_t i = 1; i < num; i++) {
        if (!cg__runs_at(w, i, level)) continue;
        const char *s = cg__of_scan(w, "s", i), *t = cg__of_scan(w, "t", i);
        ind__textf(&w->code, "    %s %s = %s[%s > 0 ? %s - %d : 0];\n    %s.combine(%s[%s]);\n    %s[%s] = %s;\n",
                   cg__scan_state(w, i), t, s, step, at, p->team ? p->run : 1, t, s, at, s, at, t);
    }
    ind__textf(&w->code, "}\n");
}

/* ==================================================================================== src/cuda/emit/scan/lookback.c */
/* ---- blocks that share rows

   Decoupled look-back (Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016), combined
   in an order that does not depend on timing. A block takes a ticket. Blocks with earlier tickets have begun and do not
   wait for it, so it may wait for them. It scans the tile of its ticket and publishes the total. The prefix of a tile
   has two parts: the prefix of its group of 32 tiles, which the last tile of the previous group has published, and the
   totals of the group's earlier tiles, one per lane of a warp. (Groups of 64 and 128 were slower on an H200: a tile
   then waits for more of the tiles that began at the same time.)

   Words: the ticket, the number of blocks that are done, then for each scan and row the totals of tiles and of groups.
   The last block clears them, so that each launch finds zeros. */

#define IND__CG_SCAN_GROUP 32

/* Declares the block's row and tile, and pointers to the row's words. */
static void cg__emit_lookback_position(ind__writer *w, const char *size) {
    cg__scan_pass p = cg__begin_scan_pass(w, NULL, 0, size);
    int chunk = cg__scan_chunk(w, &p);
    cg__use(w, IND__CG_LOOKBACK);
    ind__textf(&w->code,
               "__shared__ unsigned ticket;\nif (threadIdx.x == 0) ticket = atomicAdd((unsigned *)lookback, 1u);\n"
               "__syncthreads();\nconst unsigned tiles = ((unsigned long long)(%s) + %d) / %d;\n",
               size, chunk - 1 + cg__most_shift(w), chunk);
    ind__textf(&w->code,
               "const int tile = ticket %% tiles;\nconst unsigned row = ticket / tiles, rows = gridDim.x / tiles;\n");
    ind__textf(&w->code,
               "const long long per_row = tiles + tiles / %d + 1;\nunsigned long long *word = lookback + 2;\n",
               IND__CG_SCAN_GROUP);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__is_scan(w, i)) continue;
        const char *totals = cg__of_scan(w, "totals", i), *groups = cg__of_scan(w, "groups", i);
        const char *words = cg__string(w, "(sizeof(%s) / 4)", cg__scan_state(w, i));
        ind__textf(&w->code, "unsigned long long *const %s = word + row * per_row * %s;\n", totals, words);
        ind__textf(&w->code, "unsigned long long *const %s = %s + tiles * %s;\n", groups, totals, words);
        ind__textf(&w->code, "word += rows * per_row * %s;\n", words);
    }
}

/* Counts the block as done. The result of the atomic is not waited for before the results are stored. */
static void cg__emit_tile_done(ind__writer *w) {
    ind__textf(&w->code,
               "unsigned done = 0;\nif (threadIdx.x == 0) done = atomicAdd((unsigned *)(lookback + 1), 1u);\n");
}

static void cg__emit_tiles_done(ind__writer *w) {
    cg__begin(w, "if (threadIdx.x < 32 && __shfl_sync(0xffffffffu, done, 0) == gridDim.x - 1)");
    ind__textf(&w->code, "for (long long i = threadIdx.x; i < word - lookback; i += 32) lookback[i] = 0;\n");
    cg__end(w);
}

/* Computes the prefix of each of the thread's vectors. */
static void cg__emit_scan_combine(ind__writer *w, const cg__scan_pass *p, int level) {
    int warps = cg__scan_warps(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__runs_at(w, i, level)) continue;
        if (cg__looks_back(w)) {
            ind__textf(&w->code, "ind_scan_tile<%d>(%s, %s, %s, %s, %s, tile, tiles);\n", warps,
                       cg__of_scan(w, "before", i), cg__of_scan(w, "none", i), cg__of_scan(w, "shared", i),
                       cg__of_scan(w, "totals", i), cg__of_scan(w, "groups", i));
            continue;
        }
        const char *shared = cg__of_scan(w, "shared", i);
        if (p->team) {
            shared = p->team == 1 ? cg__string(w, "(%s *)0", cg__scan_state(w, i))
                     : p->turn    ? cg__string(w, "%s[turn]", shared)
                                  : shared;
            ind__textf(&w->code, "ind_scan_team<%d, %d>(%s, %s, %s);\n", p->lanes, p->team, cg__of_scan(w, "before", i),
                       shared, cg__of_scan(w, "carry", i));
            continue;
        }
        if (warps == 1) shared = cg__string(w, "(%s *)0", cg__scan_state(w, i));
        if (p->turn) shared = cg__string(w, "%s[turn]", shared);
        ind__textf(&w->code, "ind_scan_threads<%d, %d>(%s, %s, %s, %s);\n", p->lanes, warps,
                   cg__of_scan(w, "before", i), cg__of_scan(w, "none", i), shared, cg__of_scan(w, "carry", i));
    }
}

/* Writes the scans of one level in one chunk of the row: each thread combines its elements, then their prefix. */
static void cg__emit_scan_level(ind__writer *w, const cg__scan_pass *p, int level) {
    uint32_t num = w->body->num_inst;
    const char *begin = p->single ? "" : "begin + ";
    for (uint32_t i = 1; i < num; i++)
        if (cg__runs_at(w, i, level))
            ind__textf(&w->code, "%s %s[%d], %s[%d];\n", cg__scan_state(w, i), cg__of_scan(w, "s", i),
                       p->lines * p->run, cg__of_scan(w, "before", i), p->team ? p->run : p->lines);
    cg__begin_lines(w, p, begin);
    cg__begin_neighbours(w, p);
    cg__emit_run_elements(w, p, level);
    if (p->pads) {
        cg__end(w);
        cg__leave_out(w, p, level);
        cg__begin_neighbours(w, p);
    }
    cg__emit_run_combine(w, p, level);
    cg__end(w);
    cg__move_back(w, p);
    for (uint32_t i = 1; i < num && !p->team; i++)
        if (cg__runs_at(w, i, level))
            ind__textf(&w->code, "%s[k] = %s[k * %d + %d];\n", cg__of_scan(w, "before", i), cg__of_scan(w, "s", i),
                       p->run, p->run - 1);
    cg__end(w);
    for (uint32_t i = 1; i < num && p->team; i++)
        if (cg__runs_at(w, i, level))
            ind__textf(&w->code, "#pragma unroll\nfor (int j = 0; j < %d; j++) %s[j] = %s[%d + j];\n", p->run,
                       cg__of_scan(w, "before", i), cg__of_scan(w, "s", i), (p->lines - 1) * p->run);
    if (level == 1 && !p->single && !cg__looks_back(w))
        cg__start_chunk_loads(
            w, p, IND__CG_LOADED_AHEAD,
            cg__string(w, "begin + %d + ", cg__scan_chunk(w, p))); /* in flight while this chunk is combined */
    cg__emit_scan_combine(w, p, level);
}

/* Like cg__vector_stores, for the elements inside the row. */
static void cg__store_parts(ind__writer *w, const cg__scan_pass *p) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (cg__inst(w, i)->op != IND_LOOP_STORE || !w->needed[i] || w->plan->vector[i] < 2) continue;
        w->memory[i] = NULL;
        ind__textf(&w->code, "ind_store_part(&%s, y%u, r0, %s);\n", cg__element(w, i), i, p->size_value);
        cg__use(w, IND__CG_VEC_PART);
    }
}

/* Writes the values computed from the scans' results in one chunk. */
static void cg__emit_scan_results(ind__writer *w, const cg__scan_pass *p) {
    bool vectors = p->run == w->variant->vector && p->run > 1;
    cg__begin_lines(w, p, p->single ? "" : "begin + ");
    if (!p->exact && !w->plan->shift && (vectors || p->team))
        ind__textf(&w->code, p->team ? "if (r >= %s) continue;\n" : "if (r0 >= %s) continue;\n", p->size);
    cg__need_scanned(w, p->pass);
    if (vectors) cg__emit_chunk_arrays(w, p->pass);
    if (vectors) cg__vector_sinks(w);
    cg__begin_neighbours(w, p);
    if (w->plan->shift && !p->pads)
        ind__textf(&w->code, "if (r < 0 || r >= %s) continue;\n", p->size);
    else if (!p->exact && !p->pads && !vectors && !p->team)
        ind__textf(&w->code, "if (r >= %s) continue;\n", p->size);
    cg__emit_run_results(w, p, p->levels);
    if (vectors)
        cg__emit_scanned_element(w, p->pass);
    else
        cg__emit_scanned(w, p->pass);
    cg__end(w);
    cg__move_back(w, p);
    if (!p->team) w->var[w->plan->domain.rank] = "r0";
    if (vectors) cg__emit_chunk_adds(w, p->pass);
    if (w->plan->shift)
        cg__store_parts(w, p);
    else if (vectors)
        cg__vector_stores(w);
    cg__end(w);
    w->var[w->plan->domain.rank] = "r";
}

static void cg__emit_scan_chunk(ind__writer *w, const cg__scan_pass *p) {
    const char *begin = p->single ? "" : "begin + ";
    cg__declare_chunk_loads(w, p, IND__CG_LOADED_FIRST);
    cg__start_chunk_loads(w, p, IND__CG_LOADED_FIRST, begin);
    for (int level = 1; level <= p->levels; level++) cg__emit_scan_level(w, p, level);
    if (p->turn) ind__textf(&w->code, "turn ^= 1;\n");
    if (cg__looks_back(w)) cg__emit_tile_done(w);
    cg__emit_scan_results(w, p);
    if (cg__looks_back(w)) cg__emit_tiles_done(w);
}

/* Writes a pass over the row, chunk by chunk. While a chunk is combined and stored, the loads of the next are in
   flight. */
static void cg__emit_scan_chunks(ind__writer *w, const cg__pass *s, int levels, const char *size) {
    cg__scan_pass p = cg__begin_scan_pass(w, s, levels, size);
    if (w->failed) return;
    cg__use(w, p.team ? IND__CG_SCAN_TEAM : IND__CG_SCAN);
    cg__emit_scanned_rows(w, s);
    cg__find_chunk_loads(w, &p);
    p.pads = cg__pads(w);
    int carried = p.team ? (p.run + p.team - 1) / p.team : 1;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!w->runs[i]) continue;
        const char *state = cg__scan_state(w, i), *none = cg__of_scan(w, "none", i);
        ind__textf(&w->code, "const %s %s = {%s};\n", state, none, cg__scans[cg__scan_kind(w, i)].none);
        if (p.team)
            ind__textf(&w->code, "%s %s[%d];\n#pragma unroll\nfor (int j = 0; j < %d; j++) %s[j] = %s;\n", state,
                       cg__of_scan(w, "carry", i), carried, carried, cg__of_scan(w, "carry", i), none);
        else if (!cg__looks_back(w))
            ind__textf(&w->code, "%s %s = %s;\n", state, cg__of_scan(w, "carry", i), none);
    }
    if (cg__looks_back(w)) {
        ind__textf(&w->code, "const %s begin = (%s)tile * %d;\n", cg__int(w), cg__int(w), cg__scan_chunk(w, &p));
    } else if (!p.single) {
        cg__declare_chunk_loads(w, &p, IND__CG_LOADED_AHEAD);
        cg__start_chunk_loads(w, &p, IND__CG_LOADED_AHEAD, "");
        ind__textf(&w->code, "#pragma unroll 1\n");
        cg__begin(w, "for (%s begin = 0; begin < %s%s; begin += %d)", cg__int(w), size,
                  w->plan->shift ? " + shift" : "", cg__scan_chunk(w, &p));
    }
    cg__emit_scan_chunk(w, &p);
    if (!p.single && !cg__looks_back(w)) cg__end(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (p.ahead[i]) w->memory[i] = NULL;
}

/* Writes a pass in which each thread loops over its row. */
static void cg__emit_scan_loop(ind__writer *w, const cg__pass *s, int levels, const char *size) {
    cg__emit_scanned_rows(w, s);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (w->runs[i])
            ind__textf(&w->code, "%s %s = {%s};\n", cg__scan_state(w, i), cg__of_scan(w, "s", i),
                       cg__scans[cg__scan_kind(w, i)].none);
    ind__textf(&w->code, "#pragma unroll 4\n");
    cg__begin(w, "for (%s r = 0; r < %s; r++)", cg__int(w), size);
    for (int level = 1; level <= levels; level++) {
        cg__need_elements_at(w, level);
        cg__emit(w, IND__CG_ALL_VARS, s->stage);
        for (uint32_t i = 1; i < w->body->num_inst; i++) {
            if (!cg__runs_at(w, i, level)) continue;
            const char *state = cg__of_scan(w, "s", i), *x = cg__of_scan(w, "x", i);
            cg__scan_element(w, i, cg__string(w, "const %s %s = ", cg__scan_state(w, i), x));
            const char *result = cg__is_exclusive(w, i) ? cg__of_scan(w, "t", i) : state;
            if (cg__is_exclusive(w, i))
                ind__textf(&w->code, "const %s %s = %s;\n", cg__scan_state(w, i), result, state);
            ind__textf(&w->code, "%s.combine(%s);\n", state, x);
            cg__scan_results_of(w, i, result);
        }
    }
    cg__emit_scanned(w, s);
    cg__end(w);
}

/* Writes a pass with scans. In C it is a scope, except for the last pass, as the next pass scans again. */
static void cg__emit_scan_pass(ind__writer *w, const cg__pass *s, int levels, const char *size) {
    if (!s->stores) {
        ind__textf(&w->code, "{\n");
        w->code.indent++;
        w->scope++;
    }
    if (w->variant->strategy == IND_STRATEGY_SCAN_COLUMN && !cg__scans_team(w))
        cg__emit_scan_loop(w, s, levels, size);
    else
        cg__emit_scan_chunks(w, s, levels, size);
    if (!s->stores) cg__end(w);
    cg__forget_scans(w);
}

static ind_status cg__emit_scan_kernel(ind__writer *w) {
    const char *size = cg__expr_string(w, w->plan->domain.extent[w->plan->domain.rank]);
    cg__pass last = cg__last_scan_pass(w);
    if (cg__combines(w)) cg__emit_combine_state(w);
    cg__emit_scan_shared(w, size);
    if (cg__looks_back(w)) cg__emit_lookback_position(w, size);
    cg__emit_scan_position(w);
    cg__emit_first_scan_vector(w, size);
    cg__emit_row_values(w);
    for (int stage = 0; stage < last.stage; stage++) {
        cg__pass s = {.stage = stage};
        int levels = cg__find_runs(w, &s);
        if (!levels) {
            cg__emit_pass(w, &s);
            continue;
        }
        cg__begin_pass_states(w, &s);
        cg__emit_scan_pass(w, &s, levels, size);
        cg__end_pass_states(w, &s);
    }
    cg__begin_pass_states(w, &last);
    cg__emit_scan_pass(w, &last, cg__find_runs(w, &last), size);
    cg__emit_scan_end(w);
    return IND_OK;
}

/* ======================================================================================== src/cuda/emit/scan/sort.c */
/* ---- sort */

/* Number of the first STORE of a part of the sort; 0: not stored. */
static uint32_t cg__sorted_store(const ind__writer *w, int part) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        const ind__inst *value = cg__inst(w, cg__inst(w, i)->arg[0]);
        bool sorted = value->op == IND_LOOP_PART && value->imm.i == part && cg__is_sort(w, value->arg[0]);
        if (cg__inst(w, i)->op == IND_LOOP_STORE && sorted) return i;
    }
    return 0;
}

/* The type of the keys in memory, which is the stored type if they are stored, and the function that reads them. */
static ind_dtype cg__sorted_dtype(ind__writer *w, const char **key) {
    uint32_t store = cg__sorted_store(w, 0);
    ind_dtype t = store ? cg__memory_dtype(w, store) : (ind_dtype)cg__inst(w, ind__body_sort(w->body))->dtype;
    if (t == IND_F16) cg__use(w, IND__CG_SORT_F16);
    if (t == IND_BF16) cg__use(w, IND__CG_SORT_BF16);
    *key = t == IND_F16    ? "ind_key_f16"
           : t == IND_BF16 ? "ind_key_bf16"
                           : cg__string(w, "ind_key<%s>", cg__types[t].memory);
    return t;
}

/* The row in memory in which result `part` of the sort is stored: "out0 + base" and the stride of its elements. */
static void cg__sorted_row(ind__writer *w, int part, const char **begin, const char **step) {
    uint32_t store = cg__sorted_store(w, part);
    ind_expr stride, base;
    *begin = *step = "";
    if (!store || !ind__affine(cg__index_of(w, store), w->plan->domain.var[w->plan->domain.rank], &stride, &base)) {
        ind__fail(w->context, IND_VERIFY, "kernel %s: a sorted row does not lie at one stride", w->kernel->name);
        cg__fail(w);
        return;
    }
    *begin = cg__string(w, "%s + (%s)", cg__buffer(w, cg__inst(w, store)->source), cg__expr_string(w, base));
    *step = cg__string(w, "(%s)(%s)", cg__unsigned(w), cg__expr_string(w, stride));
}

static void cg__begin_row_loop(ind__writer *w, const char *size, int steps) {
    ind__textf(&w->code, "#pragma unroll %d\n", steps);
    cg__begin(w, "for (%s r = threadIdx.x; r < %s; r += %d)", cg__int(w), size, w->variant->threads);
}

/* Names the sort's results: the elements of the row in memory, and their positions. */
static void cg__sorted_results(ind__writer *w, ind_dtype t, const char *key, const char *position) {
    ind__text from = {.context = w->context, .mid_line = true}, keep = w->code;
    w->code = from;
    cg__from_memory(w, t, key);
    from = w->code;
    w->code = keep;
    const char *element = from.data ? ind__arena_string(&w->scratch, from.data, from.size) : NULL;
    ind__text_free(&from);
    if (!element) cg__fail(w);
    cg__scan_results(w, ind__body_sort(w->body), element ? element : "", position);
}

/* Writes the element at r to the memory in which it is sorted. */
static void cg__emit_sort_element(ind__writer *w) {
    const char *key;
    uint32_t x = cg__inst(w, ind__body_sort(w->body))->arg[0];
    ind_dtype t = cg__sorted_dtype(w, &key);
    if (w->variant->strategy == IND_STRATEGY_SORT_SHARED) {
        if (t == IND_F16) cg__use(w, IND__CG_F16);
        if (t == IND_BF16) cg__use(w, IND__CG_BF16);
        ind__textf(&w->code, "keys[r] = %s(", t == IND_F16 ? "ind_f32_to_f16" : t == IND_BF16 ? "ind_f32_to_bf16" : "");
        cg__value(w, x);
        ind__textf(&w->code, ");\nat[r] = (int)r;\n");
        return;
    }
    ind__textf(&w->code, "const %s element = ", cg__types[cg__inst(w, x)->dtype].value);
    cg__value(w, x);
    ind__textf(&w->code, ";\n");
    cg__scan_results(w, ind__body_sort(w->body), "element", "r");
    cg__need_none(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__sorts_in_place(w, i) >= 0) cg__need(w, i);
    cg__close_needed(w);
    cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
}

/* Sorts the row, once all of its elements are in that memory. */
static void cg__emit_sort_row(ind__writer *w, const char *size) {
    const char *key, *begin[2], *step[2];
    const char *down = cg__scan_kind(w, ind__body_sort(w->body)) == IND_SCAN_DESCENDING ? "true" : "false";
    ind_dtype t = cg__sorted_dtype(w, &key);
    if (w->variant->strategy == IND_STRATEGY_SORT_SHARED) {
        ind__textf(&w->code, "ind_sort<%s, %s, unsigned>(keys, at, (unsigned)%s, %d);\n", key, down, size,
                   w->variant->threads);
        cg__sorted_results(w, t, "keys[r]", "at[r]");
        return;
    }
    cg__use(w, IND__CG_SORT_LONG);
    for (int k = 0; k < 2; k++) cg__sorted_row(w, k, &begin[k], &step[k]);
    ind__textf(&w->code, "ind_sort_long<%s, %s, %d, %s>(%s, %s, %s, %s, (%s)%s, keys, places, %d);\n", key, down,
               w->variant->per_thread, cg__unsigned(w), begin[0], step[0], begin[1], step[1], cg__unsigned(w), size,
               w->variant->threads);
    cg__sorted_results(w, t, cg__string(w, "(%s)[(%s)r * %s]", begin[0], cg__unsigned(w), step[0]),
                       cg__string(w, "(%s)[(%s)r * %s]", begin[1], cg__unsigned(w), step[1]));
}

/* True if the pass uses the sorted row in memory. */
static bool cg__uses_sorted(ind__writer *w, const cg__pass *s) {
    bool any = false;
    cg__need_scanned(w, s);
    for (uint32_t i = 1; i < w->body->num_inst; i++) any = any || w->needed[i];
    return any;
}

/* Writes one pass of a kernel with a sort. */
static void cg__emit_sort_pass(ind__writer *w, const cg__pass *s, const char *size) {
    uint32_t sort = ind__body_sort(w->body);
    bool fills = cg__sorts_in(w, sort, s), reduces = false;
    int levels = cg__find_runs(w, s);
    if (!fills && !cg__uses_sorted(w, s)) return;
    for (uint32_t i = 1; i < w->body->num_inst; i++) reduces = reduces || cg__reduces_in(w, i, s);
    cg__begin_pass_states(w, s);
    if (levels) {
        cg__emit_scan_pass(w, s, levels, size);
    } else {
        if (fills) {
            cg__need_scanned(w, s);
            cg__emit(w, cg__p_mask(w), s->stage);
        }
        cg__begin_row_loop(w, size, reduces ? cg__unroll_steps(w) : 1);
        cg__emit_scanned(w, s);
        cg__end(w);
    }
    cg__end_pass_states(w, s);
    if (!fills) return;
    cg__emit_sort_row(w, size);
    if (w->variant->strategy == IND_STRATEGY_SORT_LONG && w->plan->scan_stage > s->stage)
        ind__textf(&w->code, "__syncthreads();\n");
}

static ind_status cg__emit_sort(ind__writer *w) {
    const char *key, *size = cg__expr_string(w, w->plan->domain.extent[w->plan->domain.rank]);
    const char *type = cg__types[cg__sorted_dtype(w, &key)].memory;
    bool shared = w->variant->strategy == IND_STRATEGY_SORT_SHARED;
    cg__use(w, IND__CG_SORT);
    ind__textf(&w->code, "__shared__ %s keys[%d];\n__shared__ %s %s[%d];\n", type, w->variant->per_thread,
               shared ? "int" : cg__int(w), shared ? "at" : "places", w->variant->per_thread);
    cg__emit_scan_shared(w, size);
    cg__emit_scan_position(w);
    cg__emit_first_scan_vector(w, size);
    cg__emit_row_values(w);
    for (int stage = 0; stage <= w->plan->scan_stage; stage++) {
        cg__pass s = {.stage = stage, .stores = stage == w->plan->scan_stage};
        cg__emit_sort_pass(w, &s, size);
    }
    cg__emit_row_stores(w);
    return IND_OK;
}

/* ================================================================================ src/cuda/templates/gemm/problem.c */
/* ------------------------------------------------------------------------------------------------- >>matmul */

/* out[batch, m, n] = epilogue(sum over k of a[batch, m, k] * b[batch, k, n]). A block computes a tile of TM x TN sums:
   it loops over k in steps of TK, for which both operands' tiles are brought into shared memory ahead of time, spreads
   the sums out in shared memory and runs the epilogue from there, V neighbouring columns a thread at a time. The way
   through shared memory costs 8 bytes per sum and gives an epilogue that exists once in the code and whose accesses are
   whole 16-byte ones, whatever the layout of the accumulators.

   An operand may be computed: a prologue. FMA keeps what it is computed from in registers while the step before is
   multiplied. For tensor cores that is copied to shared memory, stages ahead like an operand, each thread what it will
   need itself; when its step comes, the thread computes from it 8 neighbours at a time for the one tile that is then
   multiplied. What does not lie in rows of 16 bytes (a scale per row) is read when it is needed.

   Two products with the same a, out[..] = epilogue(a * b, a * b2), are computed like one of a wider b: half of the
   columns of each tile are of b, the others of b2. So the tile of a is brought in once. In device code the operand b2
   is named c, and its sums are dot2. */

/* How an operand's elements are found. x is its other dimension: m for a, n for b. */
typedef struct cg__mm_operand {
    uint32_t value;   /* the instruction that DOT multiplies */
    uint32_t load;    /* the LOAD it is, 0: it is computed from something */
    ind_dtype memory; /* of load */
    int x;            /* domain variable, -1: none */
    bool k_major;     /* the tile has rows along k; else along x, which is contiguous in memory */
    bool across;      /* 8 bits on tensor cores: neighbours in memory lie along x, but k_major is set */
    bool copy;        /* tiles are copied in chunks of 16 bytes, in the background */
    bool computed;    /* a prologue: value is more than a LOAD and its conversion */
    int staged_bytes; /* computed, 16 bits: what is copied in the background for one element, in stages of its own */
    int run_bits;     /* computed, 16 bits: what is read in runs of bytes for one element (cg__mm_run) */
} cg__mm_operand;

/* Packed weights, as b; see packed.c. LOADs: 0: none. */
typedef struct cg__mm_packed {
    const char *no;       /* why it is none; NULL: it is */
    int unpacks;          /* instructions per element of packed weights for other templates; 0: b is none */
    int format;           /* ind__quantised, or IND__NUM_QUANTISED for i8 */
    int group;            /* elements per scale, if scales have a tensor of their own */
    int elements, bytes;  /* of a block */
    uint32_t load;        /* of the first byte of a block */
    uint32_t scale, zero; /* of the element's scale and zero point */
    uint32_t factor;      /* value that a column's sums are multiplied by */
    ind__tensor_map map;  /* of the bytes */
} cg__mm_packed;

typedef struct cg__mm_problem {
    cg__mm_operand a, b, b2; /* b2: of the second product */
    int m, n, k;             /* domain variables, -1: none */
    uint32_t dot, dot2;      /* dot2 0: there is one product */
    ind_expr size_m, size_n, size_k, batch;
    ind_dtype sum;           /* type of the result of DOT */
    int tensor_bytes;        /* of an element that tensor cores multiply: 4, 2 or 1; 0: they do not take the operands */
    bool allow_tf32;         /* f32 operands may be rounded to tf32 */
    bool converts;           /* mma.sync of the target converts 8-bit floats to f16, which takes registers */
    bool promotes;           /* the sums of 128 products are added in f32, outside the tensor cores */
    ind__tensor_map *map[3]; /* of a, b and b2; not set if there is a reason: */
    const char *no_maps;
    bool rounded; /* with maps: the epilogue stores one 16-bit tensor and computes on accumulators (fragments.c) */
    const cg__mm_packed *packed; /* of b */
    bool unsplit;                /* blocks cannot share a tile */
    int max_cluster;             /* blocks of a cluster, at most; 1: no clusters */
    int few_rows;  /* rows of a tile that has them all: up to 2, of packed weights up to 64; 0: there may be more */
    bool involved; /* an operand is found by conditions or divisions, as a convolution's: they take registers */
} cg__mm_problem;

static int cg__mm_products(const cg__mm_problem *p) {
    return p->dot2 ? 2 : 1;
}

/* The right operand of a product. */
static const cg__mm_operand *cg__mm_right(const cg__mm_problem *p, int product) {
    return product ? &p->b2 : &p->b;
}

/* ---- the problem ---- */

/* Joins the R variables into one, k: by merging where the accesses allow it, else by division. */
static void cg__mm_merge_depth(cg__decider *d) {
    ind__loops *x = &d->plan->domain;
    for (int v = x->rank + x->rrank - 2; v >= x->rank; v--) ind__loops_merge(x, v);
    if (x->rrank < 2 || d->w.failed) return;
    ind_expr part[2 * IND_MAX_RANK], size = ind_expr_product(d->w.context, x->extent + x->rank, x->rrank);
    ind_expr k = ind__index_symbol(d->w.context, 'r', 0, size);
    ind__delinearise(d->w.context, k, x->extent + x->rank, x->rrank, part);
    for (uint32_t i = 0; i < d->w.body->num_index; i++)
        x->index[i] = ind__substitute(x->index[i], x->var + x->rank, part, x->rrank);
    x->var[x->rank] = k;
    x->extent[x->rank] = size;
    x->rrank = 1;
}

/* A batch variable that only a knows, next to m and merging with it, makes more rows: [batch, row] x [column] products
   with one weight become a single one. */
static void cg__mm_merge_rows(cg__decider *d, cg__mm_problem *p) {
    while (p->m > 0 && p->m - 1 != p->n) {
        ind_expr outer = d->plan->domain.var[p->m - 1];
        const uint32_t varies = d->plan->varies[p->b.value] | (p->dot2 ? d->plan->varies[p->b2.value] : 0);
        if (!ind__ok(outer) || varies >> (p->m - 1) & 1 || !ind__loops_merge(&d->plan->domain, p->m - 1)) return;
        if (p->n > p->m) p->n--;
        if (p->k > p->m) p->k--;
        p->m--;
        cg__analyse(d);
    }
}

static bool cg__mm_contiguous(const ind__writer *w, uint32_t i, int v) {
    return v >= 0 && !ind__expr_has_kind(cg__index_of(w, i), IND_SYMBOL_INDIRECT) && cg__contiguous(w, i, v);
}

/* Is some STORE contiguous along variable v? */
static bool cg__mm_stores_along(const ind__writer *w, int v) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__inst(w, i)->op == IND_LOOP_STORE && cg__mm_contiguous(w, i, v)) return true;
    return false;
}

static void cg__mm_swap_operands(cg__mm_problem *p) {
    cg__mm_operand a = p->a;
    p->a = p->b;
    p->b = a;
    int m = p->m;
    p->m = p->n;
    p->n = m;
}

static bool cg__mm_is_half(const cg__mm_operand *o) {
    return o->memory == IND_F16 || o->memory == IND_BF16;
}

/* Marks what the operand is computed from. */
static void cg__mm_need_operand(ind__writer *w, const cg__mm_operand *o) {
    cg__need_none(w);
    cg__need(w, o->value);
    cg__close_needed(w);
}

/* Is it a LOAD of a prologue that can be read ahead, wherever the operand has an element? */
static bool cg__mm_is_early_load(const ind__writer *w, uint32_t i) {
    const ind__inst *in = cg__inst(w, i);
    if (!w->needed[i] || in->op != IND_LOOP_LOAD || in->arg[0]) return false;
    return !ind__expr_has_kind(cg__index_of(w, i), IND_SYMBOL_INDIRECT);
}

/* Has the LOAD other elements in every row and column of the operand? */
static bool cg__mm_is_tile(const ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, uint32_t i) {
    return p->k >= 0 && o->x >= 0 && w->plan->varies[i] >> p->k & w->plan->varies[i] >> o->x & 1;
}

/* A prologue: rounded to 16 bits it is for tensor cores. The tile's rows lie along what most of the bytes lie along. */
static void cg__mm_find_computed(ind__writer *w, const cg__mm_problem *p, cg__mm_operand *o) {
    const ind__inst *last = cg__inst(w, o->value);
    int along_k = 0, along_x = 0;
    o->computed = true;
    o->memory = last->op == IND_LOOP_ROUND_F16    ? IND_F16
                : last->op == IND_LOOP_ROUND_BF16 ? IND_BF16
                                                  : (ind_dtype)last->dtype;
    cg__mm_need_operand(w, o);
    for (uint32_t i = 1; i <= o->value; i++) {
        if (!cg__mm_is_early_load(w, i) || !cg__mm_is_tile(w, p, o, i)) continue;
        int bytes = ind_dtype_bytes(cg__memory_dtype(w, i));
        along_k += cg__mm_contiguous(w, i, p->k) ? bytes : 0;
        along_x += cg__mm_contiguous(w, i, o->x) ? bytes : 0;
    }
    o->k_major = along_k >= along_x;
}

/* Is it the cast of an i8 from memory to i32? */
static bool cg__is_widened_i8(const ind__writer *w, uint32_t i) {
    const uint32_t from = cg__inst(w, i)->arg[0];
    return cg__inst(w, i)->op == IND_LOOP_CAST && cg__inst(w, i)->dtype == IND_I32 &&
           cg__inst(w, from)->op == IND_LOOP_LOAD && cg__memory_dtype(w, from) == IND_I8;
}

static void cg__mm_find_operand(ind__writer *w, const cg__mm_problem *p, cg__mm_operand *o, int x) {
    uint32_t i = o->value, source;
    o->x = x;
    o->k_major = true;
    for (source = i; cg__inst(w, source)->op == IND_LOOP_CAST;) source = cg__inst(w, source)->arg[0];
    if (cg__inst(w, source)->op != IND_LOOP_LOAD) {
        cg__mm_find_computed(w, p, o);
        return;
    }
    /* A cast to the type that the value has changes nothing. */
    while (cg__inst(w, i)->op == IND_LOOP_CAST && cg__inst(w, i)->dtype == cg__inst(w, cg__inst(w, i)->arg[0])->dtype)
        i = cg__inst(w, i)->arg[0];
    if (p->sum == IND_I32 && cg__is_widened_i8(w, i)) i = source;
    if (cg__inst(w, i)->op != IND_LOOP_LOAD) return;
    o->load = i;
    o->memory = cg__memory_dtype(w, i);
    o->k_major = cg__mm_contiguous(w, i, p->k) || !cg__mm_contiguous(w, i, x);
}

/* The tiles of two right operands have one layout, and both are copied or both computed. */
static void cg__mm_find_second(ind__writer *w, cg__mm_problem *p) {
    if (!p->dot2) return;
    cg__mm_find_operand(w, p, &p->b2, p->n);
    p->b2.k_major = p->b.k_major;
    if (p->b.computed == p->b2.computed) return;
    cg__mm_operand *loaded = p->b.computed ? &p->b2 : &p->b;
    loaded->computed = true;
    loaded->load = 0;
}

/* Is the operand found by conditions or divisions? */
static bool cg__mm_is_involved(const ind__writer *w, const cg__mm_operand *o) {
    if (!o->load || cg__inst(w, o->load)->arg[0]) return true;
    ind_expr stride, rest = cg__index_of(w, o->load);
    for (int v = 0; v < w->plan->domain.rank + w->plan->domain.rrank; v++)
        if (!ind__affine(rest, w->plan->domain.var[v], &stride, &rest)) return true;
    return false;
}

static bool cg__mm_is_f8(const cg__mm_operand *o) {
    return o->load && (o->memory == IND_F8E4M3FN || o->memory == IND_F8E5M2);
}

static bool cg__mm_is_f32(const cg__mm_operand *o) {
    return o->load && o->memory == IND_F32;
}

/* Bytes of the elements if tensor cores multiply them as exactly as the graph asks for: two operands of one 16-bit
   type, of i8, 8-bit floats whose sums may have fewer bits, or f32 that may be rounded; as in memory. A LOAD under a
   mask qualifies: its value is 0 or the value in memory. */
static int cg__mm_tensor_bytes(const ind__writer *w, const cg__mm_problem *p) {
    const cg__mm_operand *a = &p->a, *b = &p->b;
    if (p->dot2 && p->b2.memory != b->memory) return 0;
    if (cg__mm_is_half(a)) return p->sum == IND_F32 && a->memory == b->memory ? 2 : 0;
    if (p->allow_tf32 && cg__mm_is_f32(a) && cg__mm_is_f32(b)) return p->sum == IND_F32 ? 4 : 0;
    if (a->load && b->load && a->memory == IND_I8 && b->memory == IND_I8)
        return (p->sum == IND_I32 || p->sum == IND_I8) && w->target->sm >= 80;
    return cg__mm_is_f8(a) && cg__mm_is_f8(b) && p->sum == IND_F32 && w->target->sm >= 89 &&
           cg__inst(w, p->dot)->flags & IND__INST_TENSOR_SUMS;
}

/* Tiles of 8-bit elements have rows along k: tensor cores read no others. */
static void cg__mm_set_tensor(const ind__writer *w, cg__mm_problem *p) {
    p->tensor_bytes = cg__mm_tensor_bytes(w, p);
    if (p->tensor_bytes != 1) return;
    p->converts = p->sum == IND_F32 && w->target->sm >= 90 && w->target->sm < 120;
    p->promotes = p->sum == IND_F32 && !(cg__inst(w, p->dot)->flags & IND__INST_FAST_SUMS);
    p->a.across = !p->a.k_major;
    p->b.across = !p->b.k_major;
    p->a.k_major = p->b.k_major = true;
}

static ind_expr cg__mm_extent(const ind__writer *w, int v) {
    return v < 0 ? ind_int(w->context, 1) : w->plan->domain.extent[v];
}

static bool cg__mm_is_batch(const cg__mm_problem *p, int v) {
    return v != p->m && v != p->n;
}

static void cg__mm_find_sizes(const cg__decider *d, cg__mm_problem *p) {
    p->size_m = cg__mm_extent(&d->w, p->m);
    p->size_n = cg__mm_extent(&d->w, p->n);
    p->size_k = cg__mm_extent(&d->w, p->k);
    p->batch = ind_int(d->w.context, 1);
    for (int v = 0; v < d->plan->domain.rank; v++)
        if (cg__mm_is_batch(p, v)) p->batch = ind_expr_mul(p->batch, d->plan->domain.extent[v]);
}

/* Reads the problem off the kernel. If only m is contiguous in the results, the transposed product is computed, so
   that neighbouring columns of a tile are always contiguous in memory. Two products share the left operand, and are
   not transposed. */
static void cg__mm_find_problem(cg__decider *d, cg__mm_problem *p) {
    const ind_kernel *k = d->w.kernel;
    const ind__inst *dot = cg__inst(&d->w, k->matmul.dot), *dot2 = cg__inst(&d->w, k->matmul.dot2);
    cg__mm_merge_depth(d);
    if (d->w.failed) return;
    cg__analyse(d);
    *p = (cg__mm_problem){.a.value = dot->arg[0],
                          .b.value = dot->arg[1],
                          .m = k->matmul.m,
                          .n = k->matmul.n,
                          .k = d->plan->domain.rrank ? d->plan->domain.rank : -1,
                          .dot = k->matmul.dot,
                          .dot2 = k->matmul.dot2,
                          .sum = (ind_dtype)dot->dtype,
                          .allow_tf32 = d->w.schedule->program->allow_tf32};
    p->b2.value = p->dot2 ? dot2->arg[1] : 0;
    cg__mm_merge_rows(d, p);
    if (!p->dot2 && !cg__mm_stores_along(&d->w, p->n) && cg__mm_stores_along(&d->w, p->m)) cg__mm_swap_operands(p);
    cg__mm_find_operand(&d->w, p, &p->a, p->m);
    cg__mm_find_operand(&d->w, p, &p->b, p->n);
    cg__mm_find_second(&d->w, p);
    cg__mm_set_tensor(&d->w, p);
    p->involved = cg__mm_is_involved(&d->w, &p->a) || cg__mm_is_involved(&d->w, &p->b);
    cg__mm_find_sizes(d, p);
}

/* Elements of 16 bytes of an operand in memory. */
static int cg__mm_chunk(const cg__mm_problem *p) {
    return 16 / p->tensor_bytes;
}

/* 16-bit units of a tile of so many elements. */
static int cg__mm_units(const cg__mm_problem *p, int elements) {
    return elements * p->tensor_bytes / 2;
}

/* May the operand's tiles be copied in chunks of 16 bytes? */
static bool cg__mm_can_copy(cg__decider *d, const cg__mm_problem *p, const cg__mm_operand *o) {
    ind_expr guard = {0};
    bool aligned = false;
    int along = o->k_major ? p->k : o->x;
    if (!o->load || !cg__mm_contiguous(&d->w, o->load, along) ||
        !cg__vector_access(d, o->load, along, cg__mm_chunk(p), &guard, &aligned))
        return false;
    if (ind__ok(guard)) cg__guard(d->variant, guard);
    d->variant->guard_aligned |= aligned;
    return true;
}

/* Bits of ind__writer.resident: a LOAD of operand a is copied in the background; it is read as a vector when it is
   needed. Those of b are the next two, then those of b2. */
#define MM_STAGED 1
#define MM_VECTOR 2

static int cg__mm_resident_shift(const cg__mm_problem *p, const cg__mm_operand *o) {
    return o == &p->a ? 0 : o == &p->b ? 2 : 4;
}

static bool cg__mm_is_resident(const ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, uint32_t i,
                               int bit) {
    return cg__inst(w, i)->op == IND_LOOP_LOAD && w->plan->resident[i] & bit << cg__mm_resident_shift(p, o);
}

/* The size of what neighbours lie along. */
static ind_expr cg__mm_along_size(const cg__mm_problem *p, const cg__mm_operand *o) {
    return o->k_major ? p->size_k : o == &p->a ? p->size_m : p->size_n;
}

/* Chooses the LOADs of a prologue that move 8 neighbours at a time: in the background, unless all rows of the tile have
   the same ones, which the nearest cache holds. A rounding at the end is then that to the tile. */
static void cg__mm_choose_staged(cg__decider *d, const cg__mm_problem *p, cg__mm_operand *o) {
    int along = o->k_major ? p->k : o->x;
    if (cg__inst(&d->w, o->value)->op != IND_LOOP_LOAD) o->value = cg__inst(&d->w, o->value)->arg[0];
    cg__mm_need_operand(&d->w, o);
    for (uint32_t i = 1; i <= o->value; i++) {
        ind_expr guard = {0};
        bool aligned = false, tile = cg__mm_is_tile(&d->w, p, o, i);
        if (!cg__mm_is_early_load(&d->w, i) || !cg__mm_contiguous(&d->w, i, along)) continue;
        int bytes = ind_dtype_bytes(cg__memory_dtype(&d->w, i));
        if (bytes > 4 || (!tile && !ind_known_multiple(cg__mm_along_size(p, o), 8))) continue;
        if (!cg__vector_access(d, i, along, 8, &guard, &aligned)) continue;
        if (ind__ok(guard)) cg__guard(d->variant, guard);
        d->variant->guard_aligned |= aligned;
        d->plan->resident[i] |= (uint8_t)((tile ? MM_STAGED : MM_VECTOR) << cg__mm_resident_shift(p, o));
        o->staged_bytes += tile ? bytes : 0;
    }
}

/* =============================================================================== src/cuda/templates/gemm/template.c */
/* The interface of a template of products, and the formulas that all of them share. A new kind of product is one file
   with its row, and the row's place in cg__mm_templates. The epilogue and the way that a block finds its tile are
   common: epilogue.c, load.c. */

/* A configuration: tile of the sums of all products, warps along m and n (FMA: the side of a thread's tile in warps_m),
   stages of the pipeline, and registers per thread that suffice without spilling (NVRTC 13.0, sm_80, sm_90a, sm_100;
   32-bit indices, an epilogue of three ops). */
typedef struct cg__mm_config {
    int tile_m, tile_n, tile_k, warps_m, warps_n, stages, registers;
    int splits;  /* blocks that share a tile at the hinted sizes; 1: none do */
    int cluster; /* of these, blocks of a cluster; 0: the blocks exchange sums through memory */
} cg__mm_config;

/* What a block does per element of depth. */
typedef struct cg__mm_work {
    double rate; /* multiply-adds per cycle and SM */
    double rows; /* elements read from shared memory */
    int bytes;   /* of an element of the tiles */
} cg__mm_work;

typedef struct cg__mm_template {
    ind_strategy strategy;
    /* match: NULL if the template takes the product, else the reason */
    const char *(*match)(const cg__mm_problem *p, const ind_target *t);
    const cg__mm_config *configs;
    size_t num_configs;
    /* configurations: fits one to a depth of at most `depth` .. */
    void (*fit)(cg__mm_config *c, const cg__mm_problem *p, int64_t depth, int index_bits);
    /* .. and says if the registers and the layouts of the operands allow it */
    bool (*allows)(const cg__mm_config *c, const cg__mm_problem *p, int index_bits);
    int (*threads)(const cg__mm_config *c);
    int64_t (*tile_bytes)(const cg__mm_config *c, const cg__mm_problem *p); /* shared memory of the pipeline */
    int idle_stages;                                                        /* stages that no copy is in flight for */
    cg__mm_work (*work)(const cg__mm_config *c, const cg__mm_problem *p, const ind_thresholds *t); /* cost */
    int alignment;       /* of shared memory, bytes */
    bool reads_pointers; /* in a launch of several kernels: reads pointers at each use, to save registers */
    /* prologues, main loop, and the sums to shared memory */
    void (*main_loop)(ind__writer *w, const cg__mm_problem *p);
    bool alone;      /* a block shares its tile with no other */
    bool persistent; /* at most one block per SM, which loops over tiles */
    /* in place of the common position, main loop and epilogue; NULL: those */
    void (*body)(ind__writer *w, const cg__mm_problem *p);
    /* fits the configuration to clusters of c->cluster blocks along k, or returns false; NULL:
       cg__mm_fit_cluster */
    bool (*fit_cluster)(cg__mm_config *c, const cg__mm_problem *p, const ind_target *t);
    /* estimated cycles; NULL: cg__mm_cost */
    double (*cost)(const struct cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *c,
                   const ind_target *target);
    /* device functions before the kernel; NULL: none */
    void (*functions)(ind__writer *w, ind__text *t);
} cg__mm_template;

/* Sums in shared memory that the epilogue reads, and the threads that do: `thread` is the text of a thread's number. */
typedef struct cg__mm_area {
    int rows, cols, threads;
    const char *thread;
    const char *first_row, *end_row; /* those that the block has of the sums; NULL: all */
    int pitch;                       /* columns of a row in shared memory */
    const char *second;              /* where ind_sum_read finds those of a second product */
} cg__mm_area;

static void cg__mm_write_epilogue(ind__writer *w, const cg__mm_problem *p, const cg__mm_area *area);
static double cg__mm_split_cost(const cg__mm_problem *p, const cg__mm_config *c, const ind_target *target);
static uint32_t cg__mm_rounded_store(ind__writer *w, const cg__mm_problem *p);
static uint32_t cg__mm_rounded_load(ind__writer *w, const cg__mm_problem *p);
static void cg__mm_write_fetch(ind__writer *w, const cg__mm_problem *p, uint32_t load, int cols);
static void cg__mm_write_rounded_strips(ind__writer *w, const cg__mm_problem *p, uint32_t store, int cols);

#define MM_CONFIGS(list) .configs = list, .num_configs = sizeof list / sizeof *list

/* NULL if tensor cores take the operands, else the reason. */
static const char *cg__mm_no_tensor(const cg__mm_problem *p, const ind_target *t) {
    if (p->tensor_bytes) return NULL;
    if (cg__mm_is_f8(&p->a) && cg__mm_is_f8(&p->b) && t->sm < 89)
        return "tensor cores multiply 8-bit floats from sm_89 on";
    if (p->allow_tf32 && p->sum == IND_F32) return "tensor cores multiply tf32 if both operands are f32 in memory";
    return "tensor cores would round the operands";
}

/* Columns of each product in a tile. */
static int cg__mm_columns(const ind__variant *v) {
    return v->of.tile.n / v->of.tile.products;
}

/* Rows or columns of the tile that an operand has. */
static int cg__mm_edge(const ind__variant *v, char name) {
    return name == 'a' ? v->of.tile.m : cg__mm_columns(v);
}

/* Elements from a stage of an operand's tile to the next one: the tiles of b and b2 are adjacent. */
static int cg__mm_stage_elements(const ind__variant *v, char name) {
    return (name == 'a' ? v->of.tile.m : v->of.tile.n) * v->of.tile.k;
}

/* Returns the type of sums and of FMA tiles: unsigned for integers, which wrap around. */
static const char *cg__mm_sum_type(const cg__mm_problem *p) {
    return ind_dtype_is_float(p->sum) ? cg__types[p->sum].value : cg__types[p->sum].wrapping;
}

static int cg__mm_sum_bytes(const cg__mm_problem *p) {
    return ind_dtype_bytes(p->sum) == 8 ? 8 : 4;
}

/* Rate of tensor cores, times that with 16-bit elements. */
static double cg__mm_tensor_speed(const cg__mm_problem *p, const ind_thresholds *t) {
    return p->tensor_bytes == 1 ? t->byte_speed : p->tensor_bytes == 4 ? t->tf32_percent / 100.0 : 1;
}

static bool cg__mm_has_prologue(const cg__mm_problem *p) {
    return p->a.computed || p->b.computed;
}

/* Shared memory: the tiles of the pipeline, reused for the sums (rows padded as in ind_sum_at). */
static int64_t cg__mm_shared(const cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *c) {
    const int64_t sums = (int64_t)c->tile_m * (c->tile_n + 8) * cg__mm_sum_bytes(p), tiles = x->tile_bytes(c, p);
    return sums > tiles ? sums : tiles;
}

/* Resident blocks of an SM. Its registers belong to four partitions, among which the warps are distributed. FMA on 8
   bytes takes twice the registers. */
static int cg__mm_occupancy(const cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *c,
                            const ind_target *t) {
    const int64_t threads = x->threads(c), registers = cg__mm_sum_bytes(p) == 8 ? 2 * c->registers : c->registers;
    const int64_t by_shared = t->shared_per_sm / (cg__mm_shared(x, p, c) + t->block_shared);
    const int64_t by_registers = t->sm_registers / 4 / (32 * registers) * 4 * 32 / threads;
    const int64_t by_threads = t->sm_threads / threads;
    int64_t n = by_shared < by_registers ? by_shared : by_registers;
    n = n < by_threads ? n : by_threads;
    return n < 1 ? 1 : n > 16 ? 16 : (int)n;
}

/* Cycles per element of depth, of the busiest unit: multipliers; L2, which loads TM + TN elements; shared memory, which
   writes what was loaded and is read by warps. */
static double cg__mm_depth_cost(const cg__mm_template *x, const cg__mm_config *c, const cg__mm_problem *p,
                                const ind_thresholds *t) {
    const cg__mm_work work = x->work(c, p, t);
    const double edge = (double)c->tile_m + c->tile_n;
    const double multiply = (double)c->tile_m * c->tile_n / work.rate;
    const double fetch = edge * work.bytes / t->product_l2_rate;
    const double feed = (work.rows + edge) * work.bytes / t->product_shared_rate;
    const double slowest = multiply > fetch ? multiply : fetch;
    return (slowest > feed ? slowest : feed) / (t->product_busy / 100.0);
}

/* Rows of a launch: those of the hint, or as many as the variant's guard allows. */
static double cg__mm_hinted_rows(const cg__mm_problem *p) {
    const int64_t m = ind_hint(p->size_m);
    return (double)(p->few_rows && m > p->few_rows ? p->few_rows : m);
}

/* Tiles at the hinted sizes. */
static int64_t cg__mm_hinted_tiles(const cg__mm_problem *p, const cg__mm_config *c) {
    const int64_t m = (int64_t)ceil(cg__mm_hinted_rows(p) / c->tile_m), n = ind_hint(p->size_n);
    const int64_t columns = c->tile_n / cg__mm_products(p);
    return ind_hint(p->batch) * m * ((n + columns - 1) / columns);
}

/* Blocks of the busiest SM. */
static double cg__mm_blocks_per_sm(const cg__mm_problem *p, const cg__mm_config *c, const ind_target *target) {
    return ceil((double)cg__mm_hinted_tiles(p, c) * c->splits / target->num_sms);
}

/* Steps of k of a block. */
static double cg__mm_hinted_steps(const cg__mm_problem *p, const cg__mm_config *c) {
    const int64_t k = ind_hint(p->size_k);
    return ceil((double)((k + c->tile_k - 1) / c->tile_k) / c->splits);
}

/* Estimated cycles. The blocks of an SM share its units, so their work adds up: the steps of k and the epilogue. A step
   takes at least the latency of a copy from L2, divided by the copies in flight. The latency of a block (start, first
   copies, epilogue) counts once for all resident blocks. (For the ten fastest configurations of each of 16 problems the
   estimates are off by 11 % on average, H200.) */
static double cg__mm_tile_cost(const cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *c,
                               const ind_target *target) {
    const ind_thresholds *t = &target->thresholds;
    const double per_sm = cg__mm_blocks_per_sm(p, c, target), steps = cg__mm_hinted_steps(p, c);
    const double fit = cg__mm_occupancy(x, p, c, target), together = per_sm < fit ? per_sm : fit;
    const double latency = (double)t->product_latency / (c->stages - x->idle_stages);
    double step = cg__mm_depth_cost(x, c, p, t) * c->tile_k;
    if (step * together < latency) step = latency / together;
    return per_sm * (steps * step + (double)c->tile_m * c->tile_n * (t->product_epilogue / 100.0)) +
           (t->product_start + latency) * ceil(per_sm / fit);
}

/* Bytes per cycle and SM of global memory, if all SMs read. */
static double cg__mm_memory_rate(const ind_target *t) {
    const double rate = (double)t->memory_bytes_per_ns * t->thresholds.copy_percent / 100;
    return rate * 100 / t->thresholds.product_clock / t->num_sms;
}

/* Cycles in which the operands are read, if nothing else limits the product. Each time that the copies in flight are
   replaced, an SM waits for a third of a latency. With more blocks per SM, which read more rows at once, the memory is
   slower. (Chosen by hand for timings of 13 products, most of them of 1 to 64 rows, H100.) */
static double cg__mm_read_cost(const cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *c,
                               const ind_target *target) {
    const ind_thresholds *t = &target->thresholds;
    const double m = cg__mm_hinted_rows(p), k = (double)ind_hint(p->size_k);
    const double n = (double)ind_hint(p->size_n) * cg__mm_products(p);
    const double bytes = (m * ind_dtype_bytes(p->a.memory) + n * ind_dtype_bytes(p->b.memory)) * k;
    const double read = bytes * (double)ind_hint(p->batch) / cg__mm_memory_rate(target) / target->num_sms;
    const double per_sm = cg__mm_blocks_per_sm(p, c, target), fit = cg__mm_occupancy(x, p, c, target);
    const double together = per_sm < fit ? per_sm : fit;
    const double replaced = per_sm * cg__mm_hinted_steps(p, c) / together / (c->stages - x->idle_stages);
    return t->product_start + read * (1 + t->product_streams / 100.0 * (together - 1)) +
           replaced * t->product_latency / 3;
}

/* Cycles in which the blocks of an SM compute their tiles of packed weights, of 128 instructions per cycle; their warps
   wait as long again. (14336 x 4096: 1 row of i8 takes 82 us, in rows.c 51, H100; 16 rows of q8_0 161 us, H200.) */
static double cg__mm_unpack_cost(const cg__mm_problem *p, const cg__mm_config *c, const ind_target *target) {
    const double steps = cg__mm_blocks_per_sm(p, c, target) * cg__mm_hinted_steps(p, c);
    return steps * c->tile_k * c->tile_n * p->packed->unpacks * 2 / 128;
}

/* Estimated cycles: the larger of cg__mm_tile_cost and cg__mm_read_cost, plus the exchange of sums. Of configurations
   that memory limits equally, the one with less work is cheaper. */
static double cg__mm_cost(const cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *c,
                          const ind_target *target) {
    const double floor = cg__mm_read_cost(x, p, c, target);
    const double cost = cg__mm_tile_cost(x, p, c, target) + cg__mm_unpack_cost(p, c, target);
    return (cost > floor ? cost : floor + cost / 64) + cg__mm_split_cost(p, c, target);
}

static ind_expr cg__mm_tiles(ind_expr size, int tile) {
    return ind_expr_ceildiv(size, ind_int(size.context, tile));
}

/* Blocks that share a tile, or clusters of them. */
static ind_expr cg__mm_groups(const ind__tile_plan *tile) {
    return tile->cluster > 1 ? cg__mm_tiles(tile->splits, tile->cluster) : tile->splits;
}

static ind_expr cg__mm_all_tiles(const cg__mm_problem *p, const ind__variant *v) {
    const ind_expr rows = cg__mm_tiles(p->size_m, v->of.tile.m), columns = cg__mm_tiles(p->size_n, cg__mm_columns(v));
    return ind_expr_mul(ind_expr_mul(rows, columns), p->batch);
}

/* Tiles along n, then along m, then the batch. With many columns of tiles the order is in stripes of up to 8 rows,
   column by column: resident blocks then read the fewest different rows and columns. */
static void cg__mm_tile_axes(const cg__mm_problem *p, const ind__variant *v, int *stripe, ind_expr tiles[3]) {
    ind_expr rows = cg__mm_tiles(p->size_m, v->of.tile.m), columns = cg__mm_tiles(p->size_n, cg__mm_columns(v));
    const bool few = v->strategy == IND_STRATEGY_MATMUL_ROWS || v->strategy == IND_STRATEGY_MATMUL_PACKED;
    if (few && v->of.tile.m >= p->few_rows) rows = ind_int(columns.context, 1);
    *stripe = 1;
    while (*stripe < 8 && ind_hint(columns) > 8 && 2 * *stripe <= ind_hint(rows)) *stripe *= 2;
    tiles[0] = ind_expr_mul(columns, ind_int(columns.context, *stripe));
    tiles[1] = cg__mm_tiles(rows, *stripe);
    tiles[2] = p->batch;
}

/* The blocks of a launch. Those that share a tile are neighbours: in a cluster along x, else, and the clusters of a
   tile, along z. If no tile is shared, the blocks of a cluster have different tiles. */
static void cg__mm_blocks(const cg__mm_problem *p, const ind__variant *v, int *stripe, ind_expr blocks[3]) {
    const ind__tile_plan *tile = &v->of.tile;
    cg__mm_tile_axes(p, v, stripe, blocks);
    if (!ind__ok(tile->splits)) return;
    if (tile->cluster > 1) {
        const ind_expr cluster = ind_int(tile->splits.context, tile->cluster);
        const ind_expr wide = ind_expr_mul(blocks[0], ind_expr_min(tile->splits, cluster));
        blocks[0] = ind_expr_mul(ind_expr_ceildiv(wide, cluster), cluster);
    }
    blocks[2] = ind_expr_mul(p->batch, cg__mm_groups(tile));
}

/* ================================================================================== src/cuda/templates/gemm/split.c */
/* Products whose tiles are too few to fill the GPU: several blocks share the steps of k of a tile. Each block writes
   its sums to memory. The last one of a tile adds them in the order of k, whichever block it is, and runs the epilogue.
   So equal launches give equal results. In persistent blocks each warp does so for its rows of the tile.

   The blocks of a cluster send their sums to one another's shared memory instead. Each of them adds a slice of the
   columns in the order of k, and runs the epilogue of that slice. If a tile has several clusters, their slices are
   added through memory, in the order of k too. */

/* ---- decisions */

#define MM_LEAST_STEPS     4  /* steps of k that a block has at least */
#define MM_MAX_CLUSTER     8  /* blocks of a cluster along k, at most: the portable size */
#define MM_EXCHANGE_SHARED 16 /* bytes of static shared memory of ind_last_block */

/* Blocks of a cluster, 1 without clusters. */
static int cg__mm_cluster(const cg__mm_config *c) {
    return c->cluster > 1 ? c->cluster : 1;
}

/* SMs that clusters of so many blocks fill. A cluster lies in a GPC. These have 16 or 18 SMs (H100, H200), so that
   clusters of 4 and 8 leave some of them idle. */
static int cg__mm_cluster_sms(int cluster, const ind_target *t) {
    const int sms = cluster > 2 && t->num_sms >= 16 ? t->num_sms / 16 * 16 : t->num_sms;
    return sms / cluster * cluster;
}

/* The number of blocks per tile with which each SM has `waves` blocks, at the hinted sizes; 1: none share a tile. */
static int cg__mm_splits_of(const cg__mm_problem *p, const cg__mm_config *c, int waves, const ind_target *t) {
    const int cluster = cg__mm_cluster(c);
    const int64_t tiles = cg__mm_hinted_tiles(p, c), steps = ind_hint(p->size_k) / c->tile_k / MM_LEAST_STEPS / cluster;
    if (p->unsplit || tiles < 1) return 1;
    const int64_t fill = (int64_t)waves * cg__mm_cluster_sms(cluster, t) / cluster / tiles;
    const int64_t clusters = fill > steps ? steps : fill;
    return clusters < 1 ? 1 : (int)clusters * cluster;
}

/* Rows of a tile whose sums may be sent: those of warps that have rows. */
static int cg__mm_sent_rows(const cg__mm_problem *p, int tile_m) {
    int64_t least, most;
    ind__known_bounds(p->size_m, &least, &most);
    return most > tile_m - 16 ? tile_m : most < 16 ? 16 : (int)(most + 15) / 16 * 16;
}

/* Bytes of shared memory for the sums that other blocks of the cluster send, and an mbarrier per warp. */
static int64_t cg__mm_cluster_bytes(const cg__mm_config *c, const cg__mm_problem *p) {
    return c->cluster > 1 ? (int64_t)cg__mm_sent_rows(p, c->tile_m) * c->tile_n * 4 + c->warps_m * 8 : 0;
}

/* Cycles of the exchange through memory: fences and counters; each block of an SM writes its sums, the last one reads
   those of all. `parts`: blocks that share a tile, or a slice of it. */
static double cg__mm_memory_cost(double bytes, double parts, double per_sm, const ind_thresholds *t) {
    return t->product_exchange + bytes * (parts + per_sm) / t->product_l2_rate;
}

/* Cycles of the exchange. Warps without rows send nothing. Each block of a cluster has a slice. */
static double cg__mm_split_cost(const cg__mm_problem *p, const cg__mm_config *c, const ind_target *target) {
    const ind_thresholds *t = &target->thresholds;
    if (c->splits < 2) return 0;
    const double row = (double)c->tile_n * cg__mm_sum_bytes(p), per_sm = cg__mm_blocks_per_sm(p, c, target);
    if (c->cluster < 2) return cg__mm_memory_cost(c->tile_m * row, c->splits, per_sm, t);
    const double m = ceil(cg__mm_hinted_rows(p) / 16) * 16, rows = m < c->tile_m ? m : c->tile_m;
    const double sent = rows * row * (c->cluster - 1) / c->cluster * per_sm;
    const double memory = c->splits == c->cluster
                              ? 0
                              : cg__mm_memory_cost(rows * row / c->cluster, (double)c->splits / c->cluster, per_sm, t);
    const double start = t->product_cluster + (c->cluster > 2 ? t->product_large_cluster : 0);
    return start * target->num_sms / t->product_cluster_sms + sent / t->product_cluster_rate + memory;
}

/* Sets the blocks per tile of a launch: as many as give it the blocks that the hinted sizes have, in whole clusters, or
   1. A counter is of a tile, in persistent blocks of a warp's rows, in clusters of a slice of them. A single cluster
   per tile needs no memory: tiles are shared as long as the SMs run the clusters of all at once. */
static void cg__mm_set_splits(cg__decider *d, const cg__mm_problem *p, const cg__mm_config *c, bool persistent) {
    ind__variant *v = d->variant;
    if (c->splits < 2) return;
    ind_context *x = d->w.context;
    const int cluster = cg__mm_cluster(c);
    const ind_expr one = ind_int(x, 1), deep = ind_int(x, (int64_t)c->tile_k * MM_LEAST_STEPS * cluster);
    int stripe;
    ind_expr blocks[3];
    cg__mm_tile_axes(p, v, &stripe, blocks);
    const ind_expr tiles = persistent ? cg__mm_all_tiles(p, v) : ind_expr_product(x, blocks, 3);
    const int64_t clusters = c->splits / cluster, hinted = clusters * ind_hint(tiles);
    const bool in_cluster = cluster > 1 && clusters == 1;
    const int64_t room = in_cluster ? cg__mm_cluster_sms(cluster, d->w.target) / cluster : 0;
    const int64_t fill = room > hinted ? room : hinted;
    const ind_expr fills = ind_expr_floordiv(ind_int(x, fill), ind_expr_max(tiles, one));
    ind_expr each = ind_expr_min(fills, ind_expr_floordiv(p->size_k, deep));
    if (in_cluster) each = ind_expr_min(each, one);
    v->of.tile.splits = ind_expr_max(ind_expr_mul(each, ind_int(x, cluster)), one);
    v->of.tile.cluster = c->cluster;
    if (in_cluster) return;
    v->memory.num_counters = (uint32_t)(fill * cluster * (persistent ? c->warps_m : 1));
    v->memory.partial_bytes = fill * c->tile_m * c->tile_n * cg__mm_sum_bytes(p);
}

static bool cg__mm_is_split(const ind__variant *v) {
    return ind__ok(v->of.tile.splits);
}

/* Each thread of a block adds whole vectors of the slice. */
static bool cg__mm_fit_cluster(cg__mm_config *c, const cg__mm_template *x, const cg__mm_problem *p) {
    const int vectors = c->tile_m * c->tile_n * cg__mm_sum_bytes(p) / 16 / c->cluster;
    return c->tile_m % c->cluster == 0 && vectors % x->threads(c) == 0;
}

/* ---- writing */

/* "rank", the block's number in its cluster, and the position of the tile along x. */
static void cg__mm_write_rank(ind__writer *w, const char *at[3]) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    ind__textf(&w->code, "const unsigned spread = %s == 1 ? 1 : %d, column = %s / spread, rank = %s %% spread;\n",
               cg__divisor(w, tile->splits), tile->cluster, at[0], at[0]);
    at[0] = "column";
}

/* "split", the block's number among those of its tile, and "tile". In clusters "cluster", the number of the cluster
   among those of the tile. at[]: positions along the axes of blocks, then along those of tiles. */
static void cg__mm_write_split(ind__writer *w, const cg__mm_problem *p, const char *at[3]) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const char *name = tile->cluster > 1 ? "cluster" : "split";
    int64_t batch;
    int stripe;
    ind_expr tiles[3];
    const bool single = ind_expr_is_int(p->batch, &batch) && batch == 1;
    if (tile->cluster > 1) cg__mm_write_rank(w, at);
    cg__mm_tile_axes(p, w->variant, &stripe, tiles);
    const char *columns = cg__divisor(w, tiles[0]);
    if (single) {
        ind__textf(&w->code, "const unsigned %s = %s, tile = %s + %s * %s;\n", name, at[2], at[0], columns, at[1]);
    } else {
        const ind_expr groups = cg__mm_groups(tile);
        ind__textf(&w->code, "const unsigned outer = %s, %s = %s - outer * %s;\n", cg__quotient(w, at[2], groups, true),
                   name, at[2], cg__divisor(w, groups));
        ind__textf(&w->code, "const unsigned tile = %s + %s * (%s + %s * outer);\n", at[0], columns, at[1],
                   cg__divisor(w, tiles[1]));
    }
    at[2] = single ? "0" : "outer";
    if (tile->cluster > 1) ind__textf(&w->code, "const unsigned split = cluster * %d + rank;\n", tile->cluster);
}

/* The steps of the block: the first ones of a tile have one more if they do not divide. */
static void cg__mm_write_steps(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const char *type = cg__int(w);
    if (!cg__mm_is_split(w->variant)) {
        ind__textf(&w->code, "const %s steps = (size_k + %d) / %d;\n", type, tile->k - 1, tile->k);
        return;
    }
    const ind_expr steps = cg__mm_tiles(p->size_k, tile->k), each = ind_expr_floordiv(steps, tile->splits);
    const ind_expr more = ind_expr_sub(steps, ind_expr_mul(each, tile->splits));
    const char *each_text = cg__expr_string(w, each), *more_text = cg__expr_string(w, more);
    ind__textf(&w->code, "const %s first_step = split * %s + (split < %s ? split : %s);\n", type, each_text, more_text,
               more_text);
    ind__textf(&w->code, "const %s steps = %s + (split < %s);\n", type, each_text, more_text);
}

/* "first_k" of a step of the block. */
static void cg__mm_write_first_k(ind__writer *w, const char *step) {
    if (cg__mm_is_split(w->variant)) step = cg__string(w, "(first_step + %s)", step);
    ind__textf(&w->code, "const %s first_k = %s * %d;\n", cg__int(w), step, w->variant->of.tile.k);
}

/* In clusters: adds the sums of a slice of rows, from the shared memory of all blocks. Of several clusters per tile,
   the last one has the sums of all. The rows of the block: `slice` to `slice_end`. No block may exit before the others
   have read its sums. */
static void cg__mm_write_row_exchange(ind__writer *w, const cg__mm_problem *p) {
    const ind__variant *v = w->variant;
    const ind__tile_plan *tile = &v->of.tile;
    const char *splits = cg__divisor(w, tile->splits), *type = cg__mm_sum_type(p);
    const int rows = tile->m / tile->cluster;
    ind__textf(&w->code, "const int slice = (int)rank * %d, slice_end = %s == 1 ? %d : slice + %d;\n", rows, splits,
               tile->m, rows);
    cg__begin(w, "if (%s > 1)", splits);
    ind__textf(&w->code, "ind_add_rows<%d, %d, %d, %d>(sum, rank, size_m - first_m);\n", tile->cluster, tile->m,
               tile->n, v->threads);
    if (v->memory.partial_bytes) {
        ind__textf(&w->code, "const unsigned at = tile * %d + rank;\n", tile->cluster);
        cg__begin(w,
                  "if (!ind_add_sums<%d, %d, %d>(sum + slice * %d, reinterpret_cast<%s *>(partials), "
                  "&counters[at], at, cluster, %s))",
                  rows, tile->n, v->threads, tile->n + 8, type, cg__divisor(w, cg__mm_groups(tile)));
        ind__textf(&w->code, "ind_cluster_begun();\nreturn;\n");
        cg__end(w);
        cg__use(w, IND__CG_ADD_SUMS);
    }
    cg__end(w);
    cg__use(w, IND__CG_ADD_ROWS);
}

/* The other half of the barrier after which the block may exit. */
static void cg__mm_end_row_exchange(ind__writer *w) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    if (tile->cluster > 1) ind__textf(&w->code, "if (%s > 1) ind_cluster_begun();\n", cg__divisor(w, tile->splits));
}

/* Adds the sums of a tile's blocks, in the last of them. The others return. */
static void cg__mm_write_exchange(ind__writer *w, const cg__mm_problem *p) {
    const ind__variant *v = w->variant;
    if (!cg__mm_is_split(v)) return;
    if (v->of.tile.cluster > 1) {
        cg__mm_write_row_exchange(w, p);
        return;
    }
    ind__textf(
        &w->code,
        "if (!ind_add_sums<%d, %d, %d>(sum, reinterpret_cast<%s *>(partials), &counters[tile], tile, split, %s)) "
        "return;\n",
        v->of.tile.m, v->of.tile.n, v->threads, cg__mm_sum_type(p), cg__divisor(w, v->of.tile.splits));
    cg__use(w, IND__CG_ADD_SUMS);
}

/* In persistent blocks: "split" and "tile" of the number `share`. In clusters, consecutive shares are of a tile; if no
   tile is shared, each is a tile. "rank": the block's number in the cluster. "cluster": the cluster's number in the
   tile. */
static void cg__mm_write_share(ind__writer *w) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    if (tile->cluster < 2) {
        ind__textf(&w->code, "const unsigned split = share / tiles, tile = share - split * tiles;\n");
        return;
    }
    const char *splits = cg__divisor(w, tile->splits);
    ind__textf(&w->code, "const unsigned rank = %s == 1 ? 0 : share %% %d, pass = %s == 1 ? share : share / %d;\n",
               splits, tile->cluster, splits, tile->cluster);
    ind__textf(&w->code,
               "const unsigned cluster = pass / tiles, tile = pass - cluster * tiles, split = cluster * %d + rank;\n",
               tile->cluster);
}

/* The strips of a tile whose epilogue the block computes: all of them, or those of its slice. */
static void cg__mm_write_strip_range(ind__writer *w, int strips) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    if (tile->cluster < 2) return;
    const char *splits = cg__divisor(w, tile->splits);
    ind__textf(&w->code, "const int first_strip = (int)rank * %d, end_strip = %s == 1 ? %d : first_strip + %d;\n",
               strips / tile->cluster, splits, strips, strips / tile->cluster);
}

static const char *cg__mm_first_strip(const ind__writer *w) {
    return w->variant->of.tile.cluster > 1 ? "first_strip" : "0";
}

static const char *cg__mm_end_strip(ind__writer *w, int strips) {
    return w->variant->of.tile.cluster > 1 ? "end_strip" : cg__string(w, "%d", strips);
}

/* That memory, from byte `offset` on, and the first half of a barrier of the cluster. Threads wait for the other half
   before they send sums, or exit. */
static void cg__mm_begin_cluster(ind__writer *w, const cg__mm_problem *p, int offset) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    if (tile->cluster < 2) return;
    ind__textf(&w->code,
               "float *const sent = reinterpret_cast<float *>(ind_smem + %d);\n"
               "unsigned long long *const arrived = reinterpret_cast<unsigned long long *>(sent + %d);\n",
               offset, cg__mm_sent_rows(p, tile->m) * tile->n);
    ind__textf(&w->code, "ind_cluster_begin(arrived, %d);\n", tile->warps_m);
    cg__use(w, IND__CG_ADD_SLICES);
}

static void cg__mm_wait_for_cluster(ind__writer *w) {
    if (w->variant->of.tile.cluster > 1) ind__textf(&w->code, "__syncwarp();\nind_cluster_begun();\n");
}

/* The sums of a warp's rows: the slice of the block, of all blocks of the tile. */
static void cg__mm_write_cluster_exchange(ind__writer *w) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const char *splits = cg__divisor(w, tile->splits);
    cg__begin(w, "if (%s > 1)", splits);
    ind__textf(&w->code, "float slice[%d][4];\n", tile->n / 8 / tile->cluster);
    ind__textf(&w->code, "ind_add_slices<%d>(slice, acc, sent + warp * %d, arrived + warp, rank);\n", tile->cluster,
               tile->n * 16);
    if (w->variant->memory.partial_bytes) {
        ind__textf(&w->code,
                   "if (!ind_add_fragments(slice, reinterpret_cast<float *>(partials), counters, (tile * %d + warp) * "
                   "%d + rank, cluster, %s)) continue;\n",
                   tile->warps_m, tile->cluster, cg__divisor(w, cg__mm_groups(tile)));
        cg__use(w, IND__CG_ADD_FRAGMENTS);
    }
    ind__textf(&w->code, "ind_put_slice(acc, slice, rank);\n");
    cg__end(w);
}

/* The same for the rows of a warp, in a loop over tiles. */
static void cg__mm_write_warp_exchange(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    if (!cg__mm_is_split(w->variant)) return;
    ind__textf(&w->code, "if (tile_m + warp * 16 >= size_m) continue;\n");
    if (tile->cluster > 1) {
        cg__mm_write_cluster_exchange(w);
        return;
    }
    ind__textf(&w->code,
               "if (!ind_add_fragments(acc, reinterpret_cast<%s *>(partials), counters, tile * %d + warp, split, %s)) "
               "continue;\n",
               cg__mm_sum_type(p), tile->warps_m, cg__divisor(w, tile->splits));
    cg__use(w, IND__CG_ADD_FRAGMENTS);
}

/* =================================================================================== src/cuda/templates/gemm/load.c */
/* ---- writing: where a block works ---- */

static void cg__mm_set_text(ind__writer *w, int v, const char *text) {
    if (v >= 0) w->var[v] = text;
}

/* The domain's variables under their plain names: i0, i1, .. and r0. */
static void cg__mm_set_plain_names(ind__writer *w) {
    for (int v = 0; v < w->plan->domain.rank; v++) w->var[v] = cg__string(w, "i%d", v);
    if (w->plan->domain.rrank) w->var[w->plan->domain.rank] = "r0";
}

/* The sizes, and the block's tile and batch. The last stripe may have rows of tiles that do not exist. */
static void cg__mm_write_tile_position(ind__writer *w, const cg__mm_problem *p) {
    const ind__variant *v = w->variant;
    const char *type = cg__int(w), *wide = w->plan->wide ? "(long long)" : "", *at[3];
    int stripe;
    ind_expr blocks[3];
    cg__mm_blocks(p, v, &stripe, blocks);
    ind__textf(&w->code, "const %s size_m = %s, size_n = %s, size_k = %s;\n", type, cg__expr_string(w, p->size_m),
               cg__expr_string(w, p->size_n), cg__expr_string(w, p->size_k));
    cg__write_axes(w, blocks, at);
    if (cg__mm_is_split(v)) cg__mm_write_split(w, p, at);
    if (stripe == 1) {
        ind__textf(&w->code, "const %s first_m = %s%s * %d, first_n = %s%s * %d;\n", type, wide, at[1], v->of.tile.m,
                   wide, at[0], cg__mm_columns(v));
    } else {
        ind__textf(&w->code, "const %s first_m = (%s%s * %d + %s %% %d) * %d;\n", type, wide, at[1], stripe, at[0],
                   stripe, v->of.tile.m);
        ind__textf(&w->code, "const %s first_n = %s%s / %d * %d;\n", type, wide, at[0], stripe, cg__mm_columns(v));
        ind__textf(&w->code, "if (first_m >= size_m) return;\n");
    }
    if (v->of.tile.cluster > 1) ind__textf(&w->code, "if (first_n >= size_n) return;\n");
    uint32_t skip = (p->m >= 0 ? 1u << p->m : 0) | (p->n >= 0 ? 1u << p->n : 0);
    cg__write_outer_vars(w, at[2], skip);
}

/* ---- writing: bringing in the operands ---- */

/* `staged`: into one of several stages in shared memory; else into registers. */
static void cg__mm_begin_load(ind__writer *w, bool staged) {
    ind__textf(&w->code, "const auto load = [&](%s step%s) {\n", cg__int(w), staged ? ", int stage" : "");
    w->code.indent++;
    w->scope++;
    cg__mm_write_first_k(w, "step");
}

static void cg__mm_end_lambda(ind__writer *w) {
    cg__forget(w);
    w->scope--;
    w->code.indent--;
    ind__textf(&w->code, "};\n");
}

/* Rows, and elements in a row, of an operand's tile. */
static int cg__mm_tile_rows(const ind__variant *v, const cg__mm_operand *o, char name) {
    return !o->k_major ? v->of.tile.k : cg__mm_edge(v, name);
}

static int cg__mm_tile_cols(const ind__variant *v, const cg__mm_operand *o, char name) {
    return o->k_major ? v->of.tile.k : cg__mm_edge(v, name);
}

/* Is an operand with rows along m or n, `size` of them, made up of whole tiles? */
static bool cg__mm_is_whole(const ind__variant *v, const cg__mm_operand *o, ind_expr size, char name) {
    return ind_known_multiple(size, cg__mm_tile_rows(v, o, name));
}

/* By how much the operand's elements move when k grows by 1, if that is the same everywhere. */
static bool cg__mm_step_of(const ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, ind_expr *stride) {
    ind_expr rest;
    *stride = ind_int(w->context, 0);
    return p->k < 0 || ind__affine(cg__index_of(w, o->load), w->plan->domain.var[p->k], stride, &rest);
}

/* Writes at_a[] or at_b[]: the offsets in memory of the chunks that a thread copies, without the part by which all of
   them advance from step to step. `first_k`: the step's first k if that part is not separable. A chunk outside the
   operand has an offset inside it, but is not read: bit i of in_a or in_b tells if the i-th row along m or n exists. */
static void cg__mm_write_addresses(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name,
                                   const char *first_k) {
    const ind__variant *v = w->variant;
    char x = name == 'a' ? 'm' : 'n';
    int rows = cg__mm_tile_rows(v, o, name), chunks = cg__mm_tile_cols(v, o, name) / cg__mm_chunk(p);
    int apart = v->threads / chunks, n = (rows + apart - 1) / apart;
    bool mask = o->k_major && !cg__mm_is_whole(v, o, x == 'm' ? p->size_m : p->size_n, name);
    ind__textf(&w->code, "%s at_%c[%d];\n", cg__int(w), name, n);
    if (mask) ind__textf(&w->code, "unsigned in_%c = 0;\n", name);
    cg__unroll(w);
    cg__begin(w, "for (int i = 0; i < %d; i++)", n);
    ind__textf(&w->code, "const %s row = i * %d + (int)threadIdx.x / %d%s%s;\n", cg__int(w), apart, chunks,
               *first_k ? " + " : "", first_k);
    const char *row = cg__string(w, "(row < size_k ? row : 0)");
    if (o->k_major && o->x >= 0) {
        ind__textf(&w->code, "const %s x = first_%c + row < size_%c ? first_%c + row : first_%c;\n", cg__int(w), x, x,
                   x, x);
    } else if (o->x >= 0) {
        ind__textf(&w->code,
                   "const %s col = first_%c + (int)threadIdx.x %% %d * %d, x = col < size_%c ? col : first_%c;\n",
                   cg__int(w), x, chunks, cg__mm_chunk(p), x, x);
    }
    if (mask) ind__textf(&w->code, "in_%c |= (unsigned)(first_%c + row < size_%c) << i;\n", name, x, x);
    cg__mm_set_text(w, o->x, "x");
    cg__mm_set_text(w, p->k, o->k_major ? "0" : row);
    ind__textf(&w->code, "at_%c[i] = %s;\n", name, cg__expr_string(w, cg__index_of(w, o->load)));
    cg__end(w);
    cg__use(w, IND__CG_TILE_COPY);
}

/* Writes the offsets of the chunks of copied operands, before the loop. */
static void cg__mm_write_all_addresses(ind__writer *w, const cg__mm_problem *p) {
    ind_expr stride;
    if (p->a.copy && cg__mm_step_of(w, p, &p->a, &stride)) cg__mm_write_addresses(w, p, &p->a, 'a', "");
    if (p->b.copy && cg__mm_step_of(w, p, &p->b, &stride)) cg__mm_write_addresses(w, p, &p->b, 'b', "");
    if (p->b2.copy && cg__mm_step_of(w, p, &p->b2, &stride)) cg__mm_write_addresses(w, p, &p->b2, 'c', "");
}

/* Has the tile rows along m or n of 32-bit elements? ldmatrix does not transpose these: lanes read them one by one. */
static bool cg__mm_is_across(const cg__mm_problem *p, const cg__mm_operand *o) {
    return p->tensor_bytes == 4 && !o->k_major;
}

/* One asynchronous copy of an operand's tile. */
static void cg__mm_write_copy(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    const ind__variant *v = w->variant;
    char x = name == 'a' ? 'm' : 'n';
    int rows = cg__mm_tile_rows(v, o, name), cols = cg__mm_tile_cols(v, o, name);
    ind_expr stride, step;
    bool separable = cg__mm_step_of(w, p, o, &stride);
    if (!separable) cg__mm_write_addresses(w, p, o, name, "first_k");
    cg__mm_set_text(w, p->k, "first_k");
    step = separable && p->k >= 0 ? ind_expr_mul(stride, w->plan->domain.var[p->k]) : ind_int(w->context, 0);
    bool whole = ind_known_multiple(p->size_k, v->of.tile.k);
    const char *from = cg__string(w, "%s + %s", cg__buffer(w, cg__inst(w, o->load)->source), cg__expr_string(w, step));
    const int size = cg__mm_chunk(p), units = cg__mm_units(p, cols);
    const char *chunk = cg__string(w, "(int)threadIdx.x %% %d * %d", cols / size, size);
    ind__textf(&w->code, "ind_tile_copy<%d, %d, %d%s>(tile_%c + stage * %d,\n", rows, units, v->threads,
               cg__mm_is_across(p, o) ? ", true" : "", name, cg__mm_units(p, cg__mm_stage_elements(v, name)));
    if (o->k_major) {
        ind__textf(&w->code, "    %s + %s, at_%c, %d, ", from, chunk, name, rows);
        if (whole)
            ind__textf(&w->code, "16, ");
        else
            ind__textf(&w->code, "ind_chunk_bytes<%d>(size_k - first_k - %s), ", size, chunk);
        bool all = cg__mm_is_whole(v, o, name == 'a' ? p->size_m : p->size_n, name);
        ind__textf(&w->code, all ? "~0u);\n" : "in_%c);\n", name);
    } else {
        ind__textf(&w->code, "    %s, at_%c, %s, ", from, name, whole ? cg__string(w, "%d", rows) : "size_k - first_k");
        ind__textf(&w->code, "ind_chunk_bytes<%d>(size_%c - first_%c - %s), ~0u);\n", size, x, x, chunk);
    }
}

/* "value = ..." for the operand's element at the variables' present values, in a scope of its own. */
static void cg__mm_write_element(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    char x = name == 'a' ? 'm' : 'n';
    const char *type = cg__types[cg__inst(w, o->value)->dtype].value;
    if (o->x >= 0) ind__textf(&w->code, "const %s i%d = first_%c + x;\n", cg__int(w), o->x, x);
    if (p->k >= 0) ind__textf(&w->code, "const %s r0 = first_k + k;\n", cg__int(w));
    ind__textf(&w->code, "%s value = 0;\n", type);
    cg__begin(w, "if (first_%c + x < size_%c && first_k + k < size_k)", x, x);
    cg__need_none(w);
    cg__need(w, o->value);
    cg__close_needed(w);
    cg__emit(w, IND__CG_ALL_VARS, 0);
    ind__textf(&w->code, "value = ");
    cg__value(w, o->value);
    ind__textf(&w->code, ";\n");
    cg__end(w);
}

/* A loop over the elements of an operand's tile that fall to this thread: neighbours in memory go to neighbours. */
static void cg__mm_begin_elements(ind__writer *w, const cg__mm_operand *o, char name, bool unroll) {
    const ind__variant *v = w->variant;
    const bool rows = o->k_major && !o->across;
    int tile_x = cg__mm_edge(v, name), along = rows ? v->of.tile.k : tile_x;
    ind__textf(&w->code, unroll ? "#pragma unroll\n" : "#pragma unroll 4\n");
    cg__begin(w, "for (int i = 0; i < %d; i++)", tile_x * v->of.tile.k / v->threads);
    ind__textf(&w->code, "const int at = i * %d + (int)threadIdx.x, %c = at / %d, %c = at %% %d;\n", v->threads,
               rows ? 'x' : 'k', along, rows ? 'k' : 'x', along);
}

/* Stores "value" as an element of 8 bits. */
static void cg__mm_write_byte(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    const ind__variant *v = w->variant;
    const int tile_x = name == 'a' ? v->of.tile.m : v->of.tile.n, units = cg__mm_units(p, v->of.tile.k);
    const char *value = "(unsigned char)value";
    if (cg__mm_is_f8(o)) {
        value = cg__string(w, "ind_f32_to_%s(value)", ind_dtype_name(o->memory));
        cg__use(w, o->memory == IND_F8E5M2 ? IND__CG_F8E5M2 : IND__CG_F8E4M3FN);
    }
    ind__textf(
        &w->code,
        "reinterpret_cast<unsigned char *>(tile_%c + stage * %d + ind_tile_at<%d, %d>(x, k >> 4))[k & 15] = %s;\n",
        name, tile_x * units, tile_x, units, value);
}

/* Stores "value" as an element of 32 bits. */
static void cg__mm_write_word(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    const int rows = cg__mm_tile_rows(w->variant, o, name),
              units = cg__mm_units(p, cg__mm_tile_cols(w->variant, o, name));
    const char row = o->k_major ? 'x' : 'k', col = o->k_major ? 'k' : 'x';
    ind__textf(
        &w->code,
        "reinterpret_cast<float *>(tile_%c + stage * %d + ind_tile_at<%d, %d%s>(%c, %c >> 2))[%c & 3] = value;\n", name,
        cg__mm_units(p, cg__mm_stage_elements(w->variant, name)), rows, units, cg__mm_is_across(p, o) ? ", true" : "",
        row, col, col);
}

/* An operand's tile brought in element by element. */
static void cg__mm_write_units(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    const ind__variant *v = w->variant;
    cg__mm_set_plain_names(w);
    cg__mm_begin_elements(w, o, name, false);
    cg__mm_write_element(w, p, o, name);
    cg__use(w, IND__CG_HALF_TILE);
    if (p->tensor_bytes != 2) {
        if (p->tensor_bytes == 1)
            cg__mm_write_byte(w, p, o, name);
        else
            cg__mm_write_word(w, p, o, name);
        cg__end(w);
        return;
    }
    char row = o->k_major ? 'x' : 'k', col = o->k_major ? 'k' : 'x';
    ind__textf(&w->code, "tile_%c[stage * %d + ind_tile_at<%d, %d>(%c, %c >> 3) + (%c & 7)] = ind_f32_to_%s(value);\n",
               name, cg__mm_stage_elements(v, name), cg__mm_tile_rows(v, o, name), cg__mm_tile_cols(v, o, name), row,
               col, col, ind_dtype_name(o->memory));
    cg__use(w, o->memory == IND_F16 ? IND__CG_F16 : IND__CG_BF16);
    cg__end(w);
}

/* ================================================================================= src/cuda/templates/gemm/chunks.c */
/* ---- writing: 8 neighbours of a computed operand ---- */

/* Returns e at 8*g + l in place of the variable; *lane is l. If 8 divides d, (8*g + l) // d does not depend on l. */
static ind_expr cg__mm_in_chunk(const ind__writer *w, ind_expr e, int along, ind_expr *lane) {
    return ind__by_vectors(e, w->plan->domain.var[along], 8, lane);
}

/* True if instruction i has one value for 8 neighbours from a multiple of 8 on. `same` has this for those before it. */
static bool cg__mm_is_same_in_chunk(const ind__writer *w, uint32_t i, int along, const uint8_t *same) {
    const ind__inst *inst = cg__inst(w, i);
    if (!(w->plan->varies[i] >> along & 1)) return true;
    if (inst->op == IND_LOOP_INDIRECT || inst->op == IND_LOOP_STORE || w->plan->stage[i]) return false;
    for (int k = 0; k < IND__MAX_ARGS; k++)
        if (inst->arg[k] && !same[inst->arg[k]]) return false;
    for (uint32_t k = 0; k < inst->num_index; k++) {
        ind_expr lane, e = w->plan->domain.index[inst->index + k];
        if (ind__expr_has_kind(e, IND_SYMBOL_INDIRECT)) return false;
        e = cg__mm_in_chunk(w, e, along, &lane);
        if (!ind__ok(e) || ind__expr_depends(e, lane)) return false;
    }
    return true;
}

/* Writes the needed instructions that have one value for 8 neighbours: a scale of a block of 32 elements is read and
   converted once. The loop variable stands for the first neighbour. */
static void cg__mm_emit_chunk(ind__writer *w, int along) {
    uint8_t *same = (uint8_t *)ind__arena_alloc(&w->scratch, w->body->num_inst);
    if (!same) {
        cg__fail(w);
        return;
    }
    memset(same, 0, w->body->num_inst);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!w->needed[i] || w->plan->stage[i]) continue;
        same[i] = cg__mm_is_same_in_chunk(w, i, along, same);
        if (!same[i] || w->known[i] || w->value[i]) continue;
        cg__instruction(w, i);
        w->known[i] = (uint8_t)w->scope;
    }
}

/* What 8 neighbours read: adjacent bytes, each of them by 1, 2 or 4 neighbours. */
typedef struct cg__mm_run {
    int bytes, per_byte, alignment;
} cg__mm_run;

/* The largest power of two up to `most` that divides the offset of a run, if the pointer has this alignment. */
static int cg__mm_run_alignment(const ind__writer *w, uint32_t load, ind_expr base, int most) {
    int n = 1;
    if (!w->variant->guard_aligned && !cg__in_arena(w, cg__inst(w, load)->source)) return 1;
    while (n < most && ind_known_multiple(base, 2 * (int64_t)n)) n *= 2;
    return n;
}

/* Finds out if LOAD i of bytes reads a run. */
static bool cg__mm_find_run(const ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, uint32_t i,
                            cg__mm_run *run) {
    const int along = o->k_major ? p->k : o->x;
    if (i > o->value || along < 0 || !cg__mm_is_early_load(w, i) || ind_dtype_bytes(cg__memory_dtype(w, i)) != 1)
        return false;
    if (!ind_known_multiple(cg__mm_along_size(p, o), 8)) return false;
    ind_expr lane, e = cg__mm_in_chunk(w, cg__index_of(w, i), along, &lane);
    if (!ind__ok(e) || !ind__expr_depends(e, lane)) return false;
    for (int n = 1; n < 8; n *= 2) {
        ind_expr base = ind_expr_sub(e, ind_expr_floordiv(lane, ind_int(w->context, n)));
        if (!ind__ok(base) || ind__expr_depends(base, lane)) continue;
        *run = (cg__mm_run){8 / n, n, cg__mm_run_alignment(w, i, base, 8 / n)};
        return true;
    }
    return false;
}

/* The byte of a run that neighbour j reads. */
static const char *cg__mm_run_element(ind__writer *w, const cg__mm_run *run) {
    return run->per_byte > 1 ? cg__string(w, "j / %d", run->per_byte) : "j";
}

/* Sets o->run_bits. */
static void cg__mm_measure_runs(ind__writer *w, const cg__mm_problem *p, cg__mm_operand *o) {
    cg__mm_run run;
    cg__mm_need_operand(w, o);
    for (uint32_t i = 1; i <= o->value; i++)
        if (!cg__mm_is_resident(w, p, o, i, MM_STAGED | MM_VECTOR) && cg__mm_find_run(w, p, o, i, &run))
            o->run_bits += run.bytes;
}

/* Writes "const ind_vec<unsigned char, 4> x12 = ind_load_run<4, 2>(&in0[..]);" for each run of the operand. */
static void cg__mm_write_runs(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o) {
    cg__mm_run run;
    for (uint32_t i = 1; i <= o->value; i++) {
        if (w->memory[i] || !cg__mm_find_run(w, p, o, i, &run)) continue;
        ind__textf(&w->code, "const ind_vec<%s, %d> x%u = ind_load_run<%d, %d>(&%s);\n",
                   cg__types[cg__memory_dtype(w, i)].memory, run.bytes, i, run.bytes, run.alignment, cg__element(w, i));
        w->memory[i] = cg__string(w, "x%u.at[%s]", i, cg__mm_run_element(w, &run));
        cg__use(w, IND__CG_LOAD_RUN);
    }
}

/* =============================================================================== src/cuda/templates/gemm/prologue.c */
/* ---- writing: prologues for tensor cores ---- */

/* A loop over the chunks of 8 neighbours of an operand's tile that fall to this thread, as long as they have elements:
   their variables, with the chunk's first neighbour. A scope that is open afterwards; the one around it too. */
static void cg__mm_begin_chunks(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    const ind__variant *v = w->variant;
    int rows = cg__mm_tile_rows(v, o, name), chunks = cg__mm_tile_cols(v, o, name) / 8, total = rows * chunks;
    char x = name == 'a' ? 'm' : 'n';
    cg__mm_set_plain_names(w);
    cg__unroll(w);
    cg__begin(w, "for (int i = 0; i < %d; i++)", (total + v->threads - 1) / v->threads);
    ind__textf(&w->code, "const int at = i * %d + (int)threadIdx.x, %c = at / %d, %c = at %% %d * 8;\n", v->threads,
               o->k_major ? 'x' : 'k', chunks, o->k_major ? 'k' : 'x', chunks);
    if (total % v->threads) ind__textf(&w->code, "if (at >= %d) break;\n", total);
    if (o->x >= 0) ind__textf(&w->code, "const %s i%d = first_%c + x;\n", cg__int(w), o->x, x);
    if (p->k >= 0) ind__textf(&w->code, "const %s r0 = first_k + k;\n", cg__int(w));
}

/* Where the operand's neighbours end. */
static const char *cg__mm_left(const cg__mm_operand *o, char name) {
    return o->k_major ? "size_k - first_k - k" : name == 'a' ? "size_m - first_m - x" : "size_n - first_n - x";
}

/* raw_a12: the stages of what LOAD 12 reads for a, chunks in the order in which the threads work on them. */
static void cg__mm_write_raw_arrays(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name,
                                    int *offset) {
    const ind__variant *v = w->variant;
    int elements = cg__mm_edge(v, name) * v->of.tile.k;
    for (uint32_t i = 1; o->computed && i <= o->value; i++) {
        if (!cg__mm_is_resident(w, p, o, i, MM_STAGED)) continue;
        const char *type = cg__types[cg__memory_dtype(w, i)].memory;
        ind__textf(&w->code, "%s *const raw_%c%u = reinterpret_cast<%s *>(ind_smem + %d);\n", type, name, i, type,
                   *offset);
        *offset += v->of.tile.stages * elements * ind_dtype_bytes(cg__memory_dtype(w, i));
    }
}

/* Starts the copies of what a step of the operand is computed from. */
static void cg__mm_write_raw(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    const ind__variant *v = w->variant;
    char x = name == 'a' ? 'm' : 'n';
    int elements = cg__mm_edge(v, name) * v->of.tile.k;
    if (!o->staged_bytes) return;
    cg__mm_begin_chunks(w, p, o, name);
    cg__begin(w, "if (first_%c + x < size_%c && first_k + k < size_k)", x, x);
    for (uint32_t i = 1; i <= o->value; i++) {
        if (!cg__mm_is_resident(w, p, o, i, MM_STAGED)) continue;
        ind__textf(&w->code, "ind_chunk_copy(raw_%c%u + stage * %d + at * 8, &%s, %s);\n", name, i, elements,
                   cg__element(w, i), cg__mm_left(o, name));
    }
    cg__end(w);
    cg__end(w);
    cg__use(w, IND__CG_CHUNK_COPY);
}

/* The values of one chunk, into `made`. */
static void cg__mm_write_chunk(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    int along = o->k_major ? p->k : o->x, elements = cg__mm_edge(w->variant, name);
    const char *base = w->var[along], *to = ind_dtype_name(o->memory);
    elements *= w->variant->of.tile.k;
    cg__mm_need_operand(w, o);
    cg__mm_emit_chunk(w, along);
    for (uint32_t i = 1; i <= o->value; i++) {
        bool staged = cg__mm_is_resident(w, p, o, i, MM_STAGED);
        if (!staged && !cg__mm_is_resident(w, p, o, i, MM_VECTOR)) continue;
        const char *from = staged ? cg__string(w, "raw_%c%u + stage * %d + at * 8", name, i, elements)
                                  : cg__string(w, "&%s", cg__element(w, i));
        ind__textf(&w->code, "const ind_vec<%s, 8> x%u = ind_load<8>(%s);\n", cg__types[cg__memory_dtype(w, i)].memory,
                   i, from);
        w->memory[i] = cg__string(w, "x%u.at[j]", i);
    }
    cg__mm_write_runs(w, p, o);
    cg__unroll(w);
    cg__begin(w, "for (int j = 0; j < 8; j++)");
    w->var[along] = cg__string(w, "(%s + j)", base);
    if (!ind_known_multiple(cg__mm_along_size(p, o), 8))
        ind__textf(&w->code, "if (j >= %s) break;\n", cg__mm_left(o, name));
    cg__emit(w, IND__CG_ALL_VARS, 0);
    ind__textf(&w->code, "made.at[j] = ind_f32_to_%s(", to);
    cg__value(w, o->value);
    ind__textf(&w->code, ");\n");
    cg__end(w);
    w->var[along] = base;
    for (uint32_t i = 1; i <= o->value; i++)
        if (cg__inst(w, i)->op == IND_LOOP_LOAD) w->memory[i] = NULL;
}

/* A computed operand's tile, from what has arrived for it. */
static void cg__mm_write_made(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    const ind__variant *v = w->variant;
    char x = name == 'a' ? 'm' : 'n', row = o->k_major ? 'x' : 'k', col = o->k_major ? 'k' : 'x';
    if (!o->computed) return;
    cg__mm_begin_chunks(w, p, o, name);
    ind__textf(&w->code, "ind_vec<unsigned short, 8> made = {};\n");
    cg__begin(w, "if (first_%c + x < size_%c && first_k + k < size_k)", x, x);
    cg__mm_write_chunk(w, p, o, name);
    cg__end(w);
    ind__textf(&w->code, "ind_store(tile_%c + ind_tile_at<%d, %d>(%c, %c >> 3), made);\n", name,
               cg__mm_tile_rows(v, o, name), cg__mm_tile_cols(v, o, name), row, col);
    cg__end(w);
    cg__use(w, o->memory == IND_F16 ? IND__CG_F16 : IND__CG_BF16);
    cg__use(w, IND__CG_HALF_TILE);
    cg__use(w, IND__CG_VEC);
}

/* "make": all threads compute the tiles of one step. */
static void cg__mm_write_make(ind__writer *w, const cg__mm_problem *p) {
    if (!cg__mm_has_prologue(p)) return;
    ind__textf(&w->code, "const auto make = [&](%s step, int stage) {\n", cg__int(w));
    w->code.indent++;
    w->scope++;
    cg__mm_write_first_k(w, "step");
    cg__mm_write_made(w, p, &p->a, 'a');
    cg__mm_write_made(w, p, &p->b, 'b');
    cg__mm_write_made(w, p, &p->b2, 'c');
    cg__mm_end_lambda(w);
}

/* ==================================================================================== src/cuda/templates/gemm/mma.c */
/* Products on tensor cores with mma.sync, and the pipeline that wgmma shares. */

/* The loop over the steps of k. A step is multiplied from `stage`; the copies of the step `ahead` steps later go to
   `into`. Both are counted up and reset: a remainder would be slower. */
static void cg__mm_begin_stages(ind__writer *w, int ahead) {
    ind__textf(&w->code, "int stage = 0, into = %d;\n#pragma unroll 1\n", ahead);
    cg__begin(w, "for (%s step = 0; step < steps; step++)", cg__int(w));
}

static void cg__mm_end_stages(ind__writer *w) {
    int last = w->variant->of.tile.stages - 1;
    ind__textf(&w->code, "stage = stage == %d ? 0 : stage + 1;\ninto = into == %d ? 0 : into + 1;\n", last, last);
    cg__end(w);
}

/* Returns the offset of the tile of `stage`. A computed operand has a single tile, written when it is needed. */
static const char *cg__mm_stage_of(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, int tile_x) {
    return o->computed ? "" : cg__string(w, " + stage * %d", cg__mm_units(p, tile_x * w->variant->of.tile.k));
}

/* The class of the instruction: its first template arguments tell the types of the operands. */
static const char *cg__mm_instruction(ind__writer *w, const cg__mm_problem *p) {
    if (p->tensor_bytes == 4) return "ind_mma_words";
    if (p->tensor_bytes == 2) return cg__string(w, "ind_mma_halves<%s>", p->a.memory == IND_BF16 ? "true" : "false");
    return cg__string(w, "ind_mma_bytes<%s, %s>", p->a.memory == IND_F8E5M2 ? "true" : "false",
                      p->b.memory == IND_F8E5M2 ? "true" : "false");
}

/* Multiplies the tiles of a stage. */
static void cg__mm_write_mma_tile(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const char *a = cg__mm_stage_of(w, p, &p->a, tile->m), *b = cg__mm_stage_of(w, p, &p->b, tile->n);
    const int mi = tile->m / tile->warps_m / 16, ni = tile->n / tile->warps_n / 8;
    if (p->promotes) ind__textf(&w->code, "float part[%d][%d][4] = {};\n", mi, ni);
    ind__textf(&w->code, "ind_mma_tile<%s, %d, %d, %d, %s, %s>(%s, tile_a%s, tile_b%s,\n", cg__mm_instruction(w, p),
               tile->m, tile->n, cg__mm_units(p, tile->k), p->a.k_major ? "true" : "false",
               p->b.k_major ? "true" : "false", p->promotes ? "part" : "acc", a, b);
    ind__textf(&w->code, "    warp_m, warp_n);\n");
    cg__use(w, p->tensor_bytes == 1   ? IND__CG_MMA_BYTES
               : p->tensor_bytes == 2 ? IND__CG_MMA_HALVES
                                      : IND__CG_MMA_WORDS);
    cg__use(w, IND__CG_MMA_TILE);
    if (!p->promotes) return;
    cg__unroll(w);
    ind__textf(&w->code, "for (int i = 0; i < %d; i++) ind_promote(acc[i], part[i]);\n", mi);
    cg__use(w, IND__CG_PROMOTE);
}

static void cg__mm_write_mma_loop(ind__writer *w, const cg__mm_problem *p) {
    const ind__variant *v = w->variant;
    cg__unroll(w);
    cg__begin(w, "for (int step = 0; step < %d; step++)", v->of.tile.stages - 1);
    ind__textf(&w->code, "if (step < steps) load(step, step);\nind_cp_async_commit();\n");
    cg__end(w);
    cg__mm_begin_stages(w, v->of.tile.stages - 1);
    ind__textf(&w->code, "ind_cp_async_wait<%d>();\n__syncthreads();\n", v->of.tile.stages - 2);
    ind__textf(&w->code, "if (step + %d < steps) load(step + %d, into);\nind_cp_async_commit();\n",
               v->of.tile.stages - 1, v->of.tile.stages - 1);
    if (cg__mm_has_prologue(p)) ind__textf(&w->code, "make(step, stage);\n__syncthreads();\n");
    cg__mm_write_mma_tile(w, p);
    cg__mm_end_stages(w);
    ind__textf(&w->code, "ind_cp_async_wait<0>();\n__syncthreads();\n");
    cg__use(w, IND__CG_CP_ASYNC);
}

/* The part of "load" for one operand. */
static void cg__mm_write_tile(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    if (o->computed)
        cg__mm_write_raw(w, p, o, name);
    else if (o->copy)
        cg__mm_write_copy(w, p, o, name);
    else
        cg__mm_write_units(w, p, o, name);
}

/* Tiles, copies and prologues of an iteration, and the accumulators of a warp. */
static void cg__mm_begin_tensor_tiles(ind__writer *w, const cg__mm_problem *p, int warp_m) {
    const ind__variant *v = w->variant;
    const int warp_n = v->of.tile.n / v->of.tile.warps_n;
    ind__textf(&w->code, "unsigned short *const tile_a = reinterpret_cast<unsigned short *>(ind_smem);\n");
    const int k = cg__mm_units(p, v->of.tile.k);
    int in_a = (p->a.computed ? 1 : v->of.tile.stages) * v->of.tile.m * k;
    int offset = 2 * (in_a + (p->b.computed ? 1 : v->of.tile.stages) * v->of.tile.n * k);
    ind__textf(&w->code, "unsigned short *const tile_b = tile_a + %d;\n", in_a);
    cg__mm_write_raw_arrays(w, p, &p->a, 'a', &offset);
    if (p->dot2)
        ind__textf(&w->code, "unsigned short *const tile_c = tile_b + %d;\n", cg__mm_columns(v) * v->of.tile.k);
    cg__mm_write_raw_arrays(w, p, &p->b, 'b', &offset);
    cg__mm_write_raw_arrays(w, p, &p->b2, 'c', &offset);
    cg__mm_write_all_addresses(w, p);
    cg__mm_begin_load(w, true);
    cg__mm_write_tile(w, p, &p->a, 'a');
    cg__mm_write_tile(w, p, &p->b, 'b');
    if (p->dot2) cg__mm_write_tile(w, p, &p->b2, 'c');
    cg__mm_end_lambda(w);
    cg__mm_write_make(w, p);
    ind__textf(&w->code, "const int warp = threadIdx.x / 32, warp_m = warp / %d * %d, warp_n = warp %% %d * %d;\n",
               v->of.tile.warps_n, warp_m, v->of.tile.warps_n, warp_n);
    ind__textf(&w->code, "%s acc[%d][%d][4] = {};\n", cg__mm_sum_type(p), warp_m / 16, warp_n / 8);
}

/* The sums to shared memory. */
static void cg__mm_end_tensor_tiles(ind__writer *w, const cg__mm_problem *p) {
    const char *type = cg__mm_sum_type(p);
    ind__textf(&w->code, "%s *const sum = reinterpret_cast<%s *>(ind_smem);\n", type, type);
    ind__textf(&w->code, "ind_mma_sums<%d>(sum, acc, warp_m, warp_n);\n__syncthreads();\n", w->variant->of.tile.n);
    cg__use(w, IND__CG_MMA_SUMS);
}

/* ---- the template ---- */

static const cg__mm_config cg__mm_mma_configs[] = {
    {128, 128, 64, 2, 2, 3, 255, 1, 0}, {128, 128, 32, 2, 2, 4, 255, 1, 0}, {128, 128, 32, 2, 4, 4, 128, 1, 0},
    {128, 96, 64, 2, 2, 3, 240, 1, 0},  {128, 64, 64, 2, 2, 3, 168, 1, 0},  {64, 128, 64, 2, 2, 3, 200, 1, 0},
    {64, 64, 64, 2, 2, 4, 128, 1, 0},   {64, 64, 64, 2, 2, 3, 128, 1, 0},   {128, 32, 64, 4, 1, 3, 96, 1, 0},
    {64, 32, 64, 4, 1, 3, 96, 1, 0},    {32, 128, 64, 1, 4, 3, 128, 1, 0},  {32, 64, 64, 2, 2, 4, 96, 1, 0},
    {16, 64, 64, 1, 4, 4, 96, 1, 0},
};

static const char *cg__mm_mma_match(const cg__mm_problem *p, const ind_target *t) {
    return cg__mm_no_tensor(p, t);
}

/* Limits the depth of a step and the stages to a known depth. The sums of a single step need not all be in registers at
   once. A prologue takes registers. */
static void cg__mm_fit_stages(cg__mm_config *c, const cg__mm_problem *p, int64_t depth, int idle) {
    c->tile_k = c->tile_k * 2 / p->tensor_bytes; /* rows of the same bytes */
    if (depth <= 64 / p->tensor_bytes) c->tile_k = 64 / p->tensor_bytes;
    const int64_t steps = (depth + c->tile_k - 1) / c->tile_k;
    if (c->stages > steps + idle) c->stages = steps < 1 ? idle + 1 : (int)steps + idle;
    if (steps <= 1 && c->registers > 160) c->registers = 160;
    if (cg__mm_has_prologue(p)) c->registers = c->registers > 207 ? 255 : c->registers + 48;
}

/* Sums of a thread. */
static int cg__mm_thread_sums(const cg__mm_config *c) {
    return c->tile_m / c->warps_m * (c->tile_n / c->warps_n) / 32;
}

/* Converted 8-bit floats take registers, and more of them if a step is deeper; so does f32. */
static void cg__mm_mma_fit(cg__mm_config *c, const cg__mm_problem *p, int64_t depth, int index_bits) {
    (void)index_bits;
    cg__mm_fit_stages(c, p, depth, 1);
    if (p->converts) {
        c->registers += 48;
        c->tile_k = 64;
    }
    if (p->promotes) c->registers += cg__mm_thread_sums(c);
    if (p->tensor_bytes == 4 && c->tile_k > 16) c->registers += 16;
}

/* True if the tiles of two right operands are one tile of twice the columns: they consist of whole panels of 64
   columns, or of whole groups of rows. */
static bool cg__mm_tiles_join(const cg__mm_config *c, const cg__mm_problem *p) {
    return !p->dot2 || c->tile_n / 2 % (p->b.k_major ? 16 : 64) == 0;
}

/* A tile of b with rows along k is one narrow panel, or several of 64 columns: its width is a power of two. */
static bool cg__mm_has_panels(const cg__mm_config *c, const cg__mm_problem *p) {
    return cg__mm_tiles_join(c, p) && (p->b.k_major || !(c->tile_n & (c->tile_n - 1)));
}

/* 64-bit indices leave no registers for the largest tiles per thread, nor do two sets of sums. */
static bool cg__mm_mma_allows(const cg__mm_config *c, const cg__mm_problem *p, int index_bits) {
    if (c->registers > 255 || (p->converts && cg__mm_thread_sums(c) > 64)) return false;
    return cg__mm_has_panels(c, p) && (c->registers <= (cg__mm_has_prologue(p) ? 216 : 168) || index_bits == 32);
}

static int cg__mm_warp_threads(const cg__mm_config *c) {
    return c->warps_m * c->warps_n * 32;
}

/* Shared memory of an operand: a tile in each stage, or one tile of 16 bits and the stages that it is computed from. */
static int64_t cg__mm_operand_bytes(const cg__mm_problem *p, const cg__mm_operand *o, int64_t elements, int stages) {
    return elements * (o->computed ? stages * o->staged_bytes + 2 : stages * p->tensor_bytes);
}

static int64_t cg__mm_stage_bytes(const cg__mm_config *c, const cg__mm_problem *p) {
    return cg__mm_operand_bytes(p, &p->a, c->tile_m * c->tile_k, c->stages) +
           cg__mm_operand_bytes(p, &p->b, c->tile_n / cg__mm_products(p) * c->tile_k, c->stages) +
           (p->dot2 ? cg__mm_operand_bytes(p, &p->b2, c->tile_n / 2 * c->tile_k, c->stages) : 0);
}

/* Each warp reads its rows of both tiles. */
static cg__mm_work cg__mm_mma_work(const cg__mm_config *c, const cg__mm_problem *p, const ind_thresholds *t) {
    return (cg__mm_work){.rate = (double)t->mma_rate * (p->converts ? 1 : cg__mm_tensor_speed(p, t)),
                         .rows = (double)c->tile_m * c->warps_n + (double)c->tile_n * c->warps_m,
                         .bytes = p->tensor_bytes};
}

static void cg__mm_mma_main_loop(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const int warp_m = tile->m / tile->warps_m;
    cg__mm_begin_tensor_tiles(w, p, warp_m);
    cg__mm_write_mma_loop(w, p);
    cg__mm_end_tensor_tiles(w, p);
}

static const cg__mm_template cg__mm_mma = {.strategy = IND_STRATEGY_MATMUL_MMA,
                                           .match = cg__mm_mma_match,
                                           MM_CONFIGS(cg__mm_mma_configs),
                                           .fit = cg__mm_mma_fit,
                                           .allows = cg__mm_mma_allows,
                                           .threads = cg__mm_warp_threads,
                                           .tile_bytes = cg__mm_stage_bytes,
                                           .idle_stages = 1,
                                           .work = cg__mm_mma_work,
                                           .alignment = 16,
                                           .main_loop = cg__mm_mma_main_loop};

/* ================================================================================== src/cuda/templates/gemm/wgmma.c */
/* Products on tensor cores with wgmma: sm_90a. */

/* The steps of k with wgmma, which is asynchronous. The copies of a step overwrite the tiles of the step before the
   previous one: all threads have waited for its products before the barrier. */
static void cg__mm_write_wgmma_loop(ind__writer *w, const cg__mm_problem *p) {
    const ind__variant *v = w->variant;
    int a = v->of.tile.m * v->of.tile.k, b = v->of.tile.n * v->of.tile.k;
    cg__unroll(w);
    cg__begin(w, "for (int step = 0; step < %d; step++)", v->of.tile.stages - 2);
    ind__textf(&w->code, "if (step < steps) load(step, step);\nind_cp_async_commit();\n");
    cg__end(w);
    cg__mm_begin_stages(w, v->of.tile.stages - 2);
    ind__textf(&w->code, "ind_cp_async_wait<%d>();\nind_wgmma_publish();\n__syncthreads();\n", v->of.tile.stages - 3);
    ind__textf(&w->code,
               "ind_wgmma_tile<%s, %d, %d, %d, %s, %s>(acc[0], tile_a + stage * %d, tile_b + stage * %d, first_row);\n",
               p->a.memory == IND_BF16 ? "true" : "false", v->of.tile.m, v->of.tile.n, v->of.tile.k,
               p->a.k_major ? "true" : "false", p->b.k_major ? "true" : "false", a, b);
    ind__textf(&w->code,
               "if (step + %d < steps) load(step + %d, into);\nind_cp_async_commit();\nind_wgmma_wait<1>(acc[0]);\n",
               v->of.tile.stages - 2, v->of.tile.stages - 2);
    cg__mm_end_stages(w);
    ind__textf(&w->code, "ind_wgmma_wait<0>(acc[0]);\nind_cp_async_wait<0>();\n__syncthreads();\n");
    cg__use(w, IND__CG_CP_ASYNC);
    cg__use(w, IND__CG_WGMMA);
}

static const char *cg__mm_wgmma_type(const cg__mm_operand *o) {
    switch (o->memory) {
    case IND_BF16: return "bf16";
    case IND_F16: return "f16";
    case IND_F8E5M2: return "e5m2";
    case IND_F8E4M3FN: return "e4m3";
    default: return "s8";
    }
}

/* The instruction of one wgmma; its operands include the n / 2 sums of a thread. */
static void cg__mm_write_wgmma_instruction(ind__text *t, const cg__mm_problem *p, int n) {
    const char *sum = p->sum == IND_F32 ? "f32" : "s32";
    if (p->tensor_bytes == 1)
        ind__textf(t, "asm volatile(\"{\\n.reg .pred p;\\nsetp.ne.b32 p, %%%d, 0;\\n\"\n", n / 2 + 2);
    else
        ind__textf(t, "asm volatile(\"{\\n.reg .pred p;\\nsetp.ne.b32 p, 1, 0;\\n\"\n");
    ind__textf(t, "             \"wgmma.mma_async.sync.aligned.m64n%dk%d.%s.%s.%s {\"\n", n, 32 / p->tensor_bytes, sum,
               cg__mm_wgmma_type(&p->a), cg__mm_wgmma_type(&p->b));
    for (int i = 0; i < n / 2; i += 8) {
        ind__textf(t, "             \"");
        for (int j = i; j < i + 8 && j < n / 2; j++) ind__textf(t, "%%%d%s", j, j + 1 < n / 2 ? ", " : "");
        ind__textf(t, "\"\n");
    }
    ind__textf(t, "             \"}, %%%d, %%%d, p%s", n / 2, n / 2 + 1, p->sum == IND_F32 ? ", 1, 1" : "");
    if (p->tensor_bytes == 2) ind__textf(t, ", %d, %d", !p->a.k_major, !p->b.k_major);
    ind__textf(t, ";\\n}\"\n             : ");
    for (int i = 0; i < n / 2; i++) {
        ind__textf(t, "\"+%c\"(c[%d][%d])%s", p->sum == IND_F32 ? 'f' : 'r', i / 4, i % 4,
                   i + 1 == n / 2 ? "\n"
                   : i % 8 == 7   ? ",\n               "
                                  : ", ");
    }
    ind__textf(t, "             : \"l\"(a), \"l\"(b)%s);\n",
               p->tensor_bytes == 1 ? ", \"r\"((int)(!FRESH || k > 0))" : "");
}

/* The device function ind_wgmma_tile. Its instruction lists n / 2 registers. */
static void cg__mm_write_wgmma(ind__writer *w, ind__text *t) {
    const cg__mm_problem *p = w->plan->matmul;
    int n = w->variant->of.tile.n;
    const char *place = "ind_wgmma_operand<%c_K_MAJOR ? T%c : TK, %c_K_MAJOR ? TK : T%c, %c_K_MAJOR>(tile_%c, %s, k)%s";
    ind__textf(t, "#ifndef IND_EMULATION\n// c += A[m .. m + 63, TK] * B[TK, TN] of a pair of tiles: "
                  "asynchronous, one warpgroup.\n");
    if (p->tensor_bytes == 1)
        ind__textf(t, "// TK: pairs of 8-bit elements. FRESH: c = A * B.\n"
                      "template <bool A_E5M2, bool B_E5M2, bool FRESH, int TM, int TN, int TK, bool A_K_MAJOR = true, "
                      "bool B_K_MAJOR = true>\n");
    else
        ind__textf(t, "template <bool BF16, int TM, int TN, int TK, bool A_K_MAJOR, bool B_K_MAJOR>\n");
    ind__textf(t, "static __device__ __forceinline__ void ind_wgmma_%s(%s (&c)[%d][4], const unsigned short *tile_a,\n",
               p->tensor_bytes == 1 ? "bytes" : "tile", cg__mm_sum_type(p), n / 8);
    ind__textf(t, "                                                      const unsigned short *tile_b, int m) {\n");
    t->indent++;
    ind__textf(t, "asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n_Pragma(\"unroll\")\nfor (int k = 0; k "
                  "< TK; k += 16) {\n");
    t->indent++;
    ind__textf(t, "const unsigned long long a = ");
    ind__textf(t, place, 'A', 'M', 'A', 'M', 'A', 'a', "m", ";\n");
    ind__textf(t, "const unsigned long long b = ");
    ind__textf(t, place, 'B', 'N', 'B', 'N', 'B', 'b', "0", ";\n");
    cg__mm_write_wgmma_instruction(t, p, n);
    t->indent--;
    ind__textf(t, "}\nasm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");\n");
    t->indent--;
    ind__textf(t, "}\n#endif\n\n");
}

/* ---- the template ---- */

static const cg__mm_config cg__mm_wgmma_configs[] = {
    {256, 128, 64, 16, 1, 4, 128, 1, 0}, {128, 256, 64, 8, 1, 4, 255, 1, 0}, {128, 192, 64, 8, 1, 4, 255, 1, 0},
    {128, 128, 64, 8, 1, 4, 255, 1, 0},  {128, 128, 64, 8, 1, 3, 128, 1, 0}, {128, 96, 64, 8, 1, 8, 255, 1, 0},
    {128, 96, 64, 8, 1, 4, 128, 1, 0},   {128, 64, 64, 8, 1, 8, 255, 1, 0},  {128, 64, 64, 8, 1, 4, 128, 1, 0},
    {128, 32, 64, 8, 1, 4, 80, 1, 0},    {64, 192, 64, 4, 1, 4, 255, 1, 0},  {64, 128, 64, 4, 1, 4, 168, 1, 0},
    {64, 128, 64, 4, 1, 3, 168, 1, 0},   {64, 96, 64, 4, 1, 4, 168, 1, 0},   {64, 96, 64, 4, 1, 3, 168, 1, 0},
    {64, 64, 64, 4, 1, 8, 255, 1, 0},    {64, 64, 64, 4, 1, 4, 128, 1, 0},   {64, 32, 64, 4, 1, 4, 96, 1, 0},
};

static const char *cg__mm_wgmma_match(const cg__mm_problem *p, const ind_target *t) {
    if (!t->specific || t->sm != 90) return "wgmma exists on sm_90a only";
    if (!p->tensor_bytes) return cg__mm_no_tensor(p, t);
    if (p->tensor_bytes == 4) return "wgmma truncates f32 operands to tf32";
    if (p->a.across || p->b.across) return "wgmma takes 8-bit operands that are contiguous along k only";
    const bool copied = p->a.copy && p->b.copy && (!p->dot2 || p->b2.copy);
    return copied ? NULL : "wgmma needs all operands copied in 16-byte vectors";
}

/* wgmma on tiles that the multiplying threads copy. */
static const char *cg__mm_copied_wgmma_match(const cg__mm_problem *p, const ind_target *t) {
    return p->tensor_bytes == 1 ? "wgmma of 8-bit operands needs tensor maps" : cg__mm_wgmma_match(p, t);
}

static void cg__mm_wgmma_fit(cg__mm_config *c, const cg__mm_problem *p, int64_t depth, int index_bits) {
    (void)index_bits;
    cg__mm_fit_stages(c, p, depth, 2);
}

static bool cg__mm_wgmma_allows(const cg__mm_config *c, const cg__mm_problem *p, int index_bits) {
    (void)index_bits;
    return cg__mm_has_panels(c, p);
}

/* Each wgmma reads its 64 rows of a and all of b. */
static cg__mm_work cg__mm_wgmma_work(const cg__mm_config *c, const cg__mm_problem *p, const ind_thresholds *t) {
    return (cg__mm_work){.rate = (double)t->wgmma_rate * cg__mm_tensor_speed(p, t),
                         .rows = (double)c->tile_m * c->tile_n / 64 + c->tile_m,
                         .bytes = p->tensor_bytes};
}

static void cg__mm_wgmma_main_loop(ind__writer *w, const cg__mm_problem *p) {
    cg__mm_begin_tensor_tiles(w, p, 16);
    ind__textf(&w->code, "const int first_row = warp_m & ~63;\n");
    cg__mm_write_wgmma_loop(w, p);
    cg__mm_end_tensor_tiles(w, p);
}

static const cg__mm_template cg__mm_wgmma = {.strategy = IND_STRATEGY_MATMUL_WGMMA,
                                             .match = cg__mm_copied_wgmma_match,
                                             MM_CONFIGS(cg__mm_wgmma_configs),
                                             .fit = cg__mm_wgmma_fit,
                                             .allows = cg__mm_wgmma_allows,
                                             .threads = cg__mm_warp_threads,
                                             .tile_bytes = cg__mm_stage_bytes,
                                             .idle_stages = 2,
                                             .work = cg__mm_wgmma_work,
                                             .alignment = 1024,
                                             .main_loop = cg__mm_wgmma_main_loop,
                                             .functions = cg__mm_write_wgmma};

/* ==================================================================================== src/cuda/templates/gemm/tma.c */
/* Products with wgmma on tiles that bulk tensor copies bring in, by persistent blocks: sm_90a. */

/* A block has warps that multiply, four of them (a warpgroup) per 64 rows of the tile, and one warpgroup that copies
   and gives its registers to the others. One thread of it starts the copies of all steps of all of the block's tiles,
   as far ahead as there are stages. The mbarrier full[stage] completes when the bytes of a step are there, empty[stage]
   when all warps have multiplied them. So the copies of the next tile are in flight while the warps run the epilogue. A
   warp spreads its sums in shared memory of its own, a strip of 8 rows at a time, and waits for no other warp.

   The copies need tensor maps of the operands (CUtensorMap). The driver encodes them before the launch. Elements
   outside an operand are copied as 0. */

/* ---- the maps ---- */

static bool cg__is_declared(ind_expr e);

/* Adds a dimension of `box` elements: the one along variable v, with the stride that its index has. */
static const char *cg__mm_add_dim(ind__tensor_map *map, ind_expr size, ind_expr stride, int box) {
    int64_t known;
    if (map->rank == IND__MAX_MAP_RANK) return "an operand has more than five dimensions that do not merge";
    if (ind_expr_is_int(stride, &known) && known <= 0) return "an operand is broadcast or reversed along a dimension";
    if (!cg__is_declared(stride) || !cg__is_declared(size)) return "a stride of an operand depends on data";
    map->size[map->rank] = size;
    map->stride[map->rank] = stride;
    map->box[map->rank++] = box;
    return NULL;
}

/* The map of an operand: the dimension along which neighbours are contiguous, the other one of the tile, then the batch
   variables that its index has. Boxes are set by the configuration. */
static const char *cg__mm_find_map(const ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o,
                                   ind__tensor_map *map) {
    const ind__loops *x = &w->plan->domain;
    const int along = o->k_major ? p->k : o->x, other = o->k_major ? o->x : p->k;
    ind_expr stride[2 * IND_MAX_RANK], rest;
    if (!o->copy || along < 0 || other < 0 || cg__inst(w, o->load)->arg[0])
        return "an operand is not copied in vectors, or under a mask";
    rest = cg__index_of(w, o->load);
    for (int v = 0; v < x->rank + x->rrank; v++)
        if (!ind__affine(rest, x->var[v], &stride[v], &rest)) return "an operand's index is not a sum of strides";
    *map = (ind__tensor_map){.dtype = o->memory, .offset = rest, .swizzle = 128};
    const char *no = cg__is_declared(rest) ? NULL : "an operand's offset depends on data";
    if (!no) no = cg__mm_add_dim(map, x->extent[along], stride[along], 128 / p->tensor_bytes);
    if (!no) no = cg__mm_add_dim(map, x->extent[other], stride[other], 64);
    for (int v = x->rank - 1; v >= 0 && !no; v--)
        if (cg__mm_is_batch(p, v) && !ind_known_eq(stride[v], ind_int(w->context, 0)))
            no = cg__mm_add_dim(map, x->extent[v], stride[v], 1);
    return no;
}

/* Sets the maps of the operands, or the reason why there are none. */
static void cg__mm_find_maps(cg__decider *d, cg__mm_problem *p) {
    cg__mm_operand *const o[3] = {&p->a, &p->b, &p->b2};
    if (!(d->assume & IND__ASSUME_MAPS)) p->no_maps = "the variant assumes no tensor maps";
    if (ind__body_unbacked(d->w.schedule->program, d->w.body)) p->no_maps = "sizes depend on data";
    for (int i = 0; i < 1 + cg__mm_products(p) && !p->no_maps; i++) {
        ind__tensor_map *map = (ind__tensor_map *)ind__arena_alloc(d->w.arena, sizeof *map);
        if (!map) {
            cg__fail(&d->w);
            return;
        }
        p->no_maps = cg__mm_find_map(&d->w, p, o[i], map);
        p->map[i] = map;
    }
    p->rounded = !p->no_maps && cg__mm_rounded_store(&d->w, p);
}

/* The rows of a box of a: all rows of the tile, or so many that few rows at the hint fit in one box. Boxes of
   rows that do not exist are not copied. (With boxes of 64 rows, 4 rows x 4096 x 14336 take 40.4 us and 64 rows 33.8,
   H200. Smaller boxes were not measured.) */
static int cg__mm_box_rows(const cg__mm_problem *p, int tile_m) {
    const int64_t m = ind_hint(p->size_m);
    int rows = 8;
    while (rows < m && rows < tile_m) rows *= 2;
    return tile_m % rows ? tile_m : rows;
}

/* The rows of a box, of an operand with rows along m or n. */
static void cg__mm_set_boxes(cg__decider *d, cg__mm_problem *p) {
    d->used |= IND__ASSUME_MAPS;
    if (p->a.k_major) p->map[0]->box[1] = cg__mm_box_rows(p, d->variant->of.tile.m);
    for (int i = 0; p->b.k_major && i < cg__mm_products(p); i++) p->map[1 + i]->box[1] = cg__mm_columns(d->variant);
    d->variant->guard_aligned = true;
}

/* The argument of operand number i; its map is NULL if the kernel has none. */
static ind__kernel_arg cg__tensor_map(const ind__writer *w, int i) {
    const cg__mm_problem *p = w->plan->matmul;
    if (w->variant->strategy == IND_STRATEGY_MATMUL_PACKED && i == 1)
        return (ind__kernel_arg){.kind = IND__ARG_TENSOR_MAP,
                                 .buffer = cg__inst(w, p->packed->load)->source,
                                 .map = &p->packed->map,
                                 .part = 1};
    if (w->variant->strategy != IND_STRATEGY_MATMUL_TMA || i > cg__mm_products(p)) return (ind__kernel_arg){0};
    const uint32_t load = i == 2 ? p->b2.load : i ? p->b.load : p->a.load;
    return (ind__kernel_arg){
        .kind = IND__ARG_TENSOR_MAP, .buffer = cg__inst(w, load)->source, .map = p->map[i], .part = (uint32_t)i};
}

/* ---- shared memory: stages of a, stages of b, the strips of the warps, the mbarriers ---- */

/* Strips of a warp in shared memory: one for results, or one for the sums of each product. */
static int cg__mm_num_strips(const cg__mm_problem *p) {
    return p->dot2 && !p->rounded ? 2 : 1;
}

/* Columns of a strip: with 64, a row of 16-bit results is a whole line of 128 bytes. The slice of a block in a cluster
   consists of whole strips. */
static int cg__mm_strip_cols(const cg__mm_problem *p, int tile_n, int warps, int cluster) {
    const int slice = tile_n / cg__mm_products(p) / (cluster > 1 ? cluster : 1);
    if (cluster > 1 && slice % 32) return slice % 16 ? 8 : 16;
    return slice % 64 || warps > 8 || cg__mm_num_strips(p) > 1 ? 32 : 64;
}

static int cg__mm_strip_bytes(const cg__mm_problem *p, int tile_n, int warps, int cluster) {
    return cg__mm_num_strips(p) * 8 * (cg__mm_strip_cols(p, tile_n, warps, cluster) + 8) * 4;
}

static int64_t cg__mm_tma_bytes(const cg__mm_config *c, const cg__mm_problem *p) {
    return (int64_t)c->stages * ((c->tile_m + c->tile_n) * c->tile_k * p->tensor_bytes + 16) +
           c->warps_m * cg__mm_strip_bytes(p, c->tile_n, c->warps_m, c->cluster) + cg__mm_cluster_bytes(c, p);
}

/* ---- writing ---- */

/* The tile's first row and column, and the batch variables, for the number `tile`. Tiles are in groups of `stripe` rows
   of tiles, column by column: resident blocks then read the fewest different rows and columns. */
static void cg__mm_write_tile_of(ind__writer *w, const cg__mm_problem *p) {
    const ind__variant *v = w->variant;
    const uint32_t skip = 1u << p->m | 1u << p->n;
    const int stripe = 8;
    int64_t batch;
    const bool single = ind_expr_is_int(p->batch, &batch) && batch == 1;
    const char *type = cg__int(w);
    if (!single) ind__textf(&w->code, "const unsigned batch = tile / (rows * columns);\n");
    ind__textf(&w->code, "const unsigned in_batch = tile%s, group = in_batch / (columns * %d);\n",
               single ? "" : " - batch * (rows * columns)", stripe);
    ind__textf(&w->code,
               "const unsigned in_group = in_batch - group * (columns * %d), left = rows - group * %d, high = left < "
               "%d ? left : %d, column = in_group / high;\n",
               stripe, stripe, stripe, stripe);
    ind__textf(&w->code, "const %s tile_m = (%s)(group * %d + in_group - column * high) * %d;\n", type, type, stripe,
               v->of.tile.m);
    ind__textf(&w->code, "const %s tile_n = (%s)column * %d;\n", type, type, cg__mm_columns(v));
    if (!single) cg__write_outer_vars(w, "batch", skip);
}

static void cg__mm_begin_tiles(ind__writer *w, const cg__mm_problem *p) {
    ind__textf(&w->code, "int stage = 0, phase = 0;\n#pragma unroll 1\n");
    if (!cg__mm_is_split(w->variant)) {
        cg__begin(w, "for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x)");
    } else {
        const char *splits = cg__divisor(w, w->variant->of.tile.splits);
        cg__begin(w, "for (unsigned share = blockIdx.x; share < tiles * %s; share += gridDim.x)", splits);
        cg__mm_write_share(w);
        cg__mm_write_steps(w, p);
    }
    cg__mm_write_tile_of(w, p);
}

static void cg__mm_write_next_stage(ind__writer *w) {
    ind__textf(&w->code, "stage++;\nif (stage == %d) {\n    stage = 0;\n    phase ^= 1;\n}\n",
               w->variant->of.tile.stages);
}

/* One copy of a box of an operand: at element `offset` of the stage's tile, at coordinates first and second. */
static void cg__mm_write_box(ind__writer *w, const cg__mm_problem *p, char name, const char *offset, const char *first,
                             const char *second) {
    const cg__mm_operand *o = name == 'a' ? &p->a : name == 'b' ? &p->b : &p->b2;
    ind__textf(&w->code, "ind_bulk_copy<%d>(tile_%c + stage * %d%s, map_%c, full + stage, (int)%s, (int)%s",
               p->map[name - 'a']->rank, name, cg__mm_units(p, cg__mm_stage_elements(w->variant, name)), offset, name,
               first, second);
    for (int u = w->plan->domain.rank - 1; u >= 0; u--) {
        ind_expr stride, rest;
        if (!cg__mm_is_batch(p, u) || !ind__affine(cg__index_of(w, o->load), w->plan->domain.var[u], &stride, &rest) ||
            ind_known_eq(stride, ind_int(w->context, 0)))
            continue;
        ind__textf(&w->code, ", (int)i%d", u);
    }
    ind__textf(&w->code, ");\n");
}

/* Rows of a box of a, if it has fewer than the tile; else 0. */
static int cg__mm_few_box_rows(const ind__writer *w, const cg__mm_problem *p) {
    return p->a.k_major && p->map[0]->box[1] < w->variant->of.tile.m ? p->map[0]->box[1] : 0;
}

/* The copies of one operand's tile: boxes of 128 bytes along the contiguous dimension. */
static void cg__mm_write_boxes(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    const ind__variant *v = w->variant;
    const int x = cg__mm_edge(v, name), cols = o->k_major ? v->of.tile.k : x;
    const int rows = o->k_major ? x : v->of.tile.k, few = name == 'a' ? cg__mm_few_box_rows(w, p) : 0;
    const char *tile = name == 'a' ? "tile_m" : "tile_n";
    if (few) {
        cg__unroll(w);
        cg__begin(w, "for (int row = 0; row < %d; row += %d)", rows, few);
        ind__textf(&w->code, "if (tile_m + row < size_m) ");
        cg__mm_write_box(w, p, name, cg__string(w, " + row * %d", cg__mm_units(p, cols)), "first_k", "(tile_m + row)");
        cg__end(w);
        return;
    }
    for (int col = 0; col < cols; col += 128 / p->tensor_bytes) {
        const char *first = o->k_major ? "first_k" : tile, *second = o->k_major ? tile : "first_k";
        const char *at = col ? cg__string(w, " + %d", cg__mm_units(p, col * rows)) : "";
        cg__mm_write_box(w, p, name, at, col ? cg__string(w, "%s + %d", first, col) : first, second);
    }
}

/* The bytes of a step. */
static void cg__mm_write_expect(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const int few = cg__mm_few_box_rows(w, p);
    const char *rows = cg__string(w, "%d", tile->m);
    if (few)
        rows = cg__string(w, "(size_m - tile_m < %d ? (int)(size_m - tile_m + %d) / %d * %d : %d)", tile->m, few - 1,
                          few, few, tile->m);
    if (few)
        ind__textf(&w->code, "ind_barrier_expect(full + stage, (%s + %d) * %d);\n", rows, tile->n,
                   tile->k * p->tensor_bytes);
    else
        ind__textf(&w->code, "ind_barrier_expect(full + stage, %d);\n",
                   (tile->m + tile->n) * tile->k * p->tensor_bytes);
}

/* Registers of a thread that copies, and of one that multiplies: multiples of 8. A block begins with the same number
   for all threads, at most 64 K together. */
static void cg__mm_write_registers(ind__writer *w, bool copies) {
    const int warps = w->variant->of.tile.warps_m, all = 65536 / ((warps + 4) * 32) / 8 * 8, few = 24;
    if (all > 248) return;
    if (copies)
        ind__textf(&w->code, "ind_fewer_registers<%d>();\n", few);
    else
        ind__textf(&w->code, "ind_more_registers<%d>();\n", (all + (all - few) * 4 / warps) / 8 * 8);
}

/* The warpgroup that copies. */
static void cg__mm_write_producer(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    cg__begin(w, "if (warp >= %d)", tile->warps_m);
    cg__mm_write_registers(w, true);
    cg__begin(w, "if (threadIdx.x == %d)", tile->warps_m * 32);
    cg__mm_begin_tiles(w, p);
    cg__begin(w, "for (int step = 0; step < steps; step++)");
    cg__mm_write_first_k(w, cg__string(w, "(%s)step", cg__int(w)));
    ind__textf(&w->code, "ind_barrier_wait(empty + stage, phase ^ 1);\n");
    cg__mm_write_expect(w, p);
    cg__mm_write_boxes(w, p, &p->a, 'a');
    cg__mm_write_boxes(w, p, &p->b, 'b');
    if (p->dot2) cg__mm_write_boxes(w, p, &p->b2, 'c');
    cg__mm_write_next_stage(w);
    for (int i = 0; i < 3; i++) cg__end(w);
    cg__mm_wait_for_cluster(w);
    cg__end(w);
}

/* Multiplies the tiles of a stage; `fresh`: into sums that are 0. */
static void cg__mm_write_tma_tile(ind__writer *w, const cg__mm_problem *p, const char *sums, bool fresh) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const int k = cg__mm_units(p, tile->k);
    if (p->tensor_bytes == 2)
        ind__textf(&w->code, "ind_wgmma_tile<%s, %d, %d, %d, %s, %s>(%s,", p->a.memory == IND_BF16 ? "true" : "false",
                   tile->m, tile->n, k, p->a.k_major ? "true" : "false", p->b.k_major ? "true" : "false", sums);
    else
        ind__textf(&w->code, "ind_wgmma_bytes<%s, %s, %s, %d, %d, %d>(%s,",
                   p->a.memory == IND_F8E5M2 ? "true" : "false", p->b.memory == IND_F8E5M2 ? "true" : "false",
                   fresh ? "true" : "false", tile->m, tile->n, k, sums);
    ind__textf(&w->code, " tile_a + stage * %d, tile_b + stage * %d, first_row);\n", tile->m * k, tile->n * k);
}

/* The steps of k, whose sums of 128 products leave the tensor cores: a second set of accumulators. While a warpgroup
   adds them, another one multiplies. */
static void cg__mm_write_promoted_steps(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    ind__textf(&w->code, "float acc[%d][4] = {}, part[%d][4] = {};\n#pragma unroll 1\n", tile->n / 8, tile->n / 8);
    cg__begin(w, "for (int step = 0; step < steps; step++)");
    ind__textf(&w->code, "ind_barrier_wait(full + stage, phase);\n");
    cg__mm_write_tma_tile(w, p, "part", true);
    ind__textf(&w->code, "ind_wgmma_wait<0>(part);\nif (lane == 0) ind_barrier_arrive(empty + stage);\n");
    ind__textf(&w->code, "ind_promote(acc, part);\n");
    cg__mm_write_next_stage(w);
    cg__end(w);
    cg__use(w, IND__CG_PROMOTE);
}

/* The steps of k. A stage is given back one step later, when its products are complete. */
static void cg__mm_write_tma_steps(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    if (p->promotes) {
        cg__mm_write_promoted_steps(w, p);
        return;
    }
    ind__textf(&w->code, "%s acc[%d][4] = {};\nint last = 0;\n#pragma unroll 1\n", cg__mm_sum_type(p), tile->n / 8);
    cg__begin(w, "for (int step = 0; step < steps; step++)");
    ind__textf(&w->code, "ind_barrier_wait(full + stage, phase);\n");
    cg__mm_write_tma_tile(w, p, "acc", false);
    ind__textf(&w->code, "ind_wgmma_wait<1>(acc);\nif (step && lane == 0) ind_barrier_arrive(empty + last);\n");
    ind__textf(&w->code, "last = stage;\n");
    cg__mm_write_next_stage(w);
    cg__end(w);
    ind__textf(&w->code, "ind_wgmma_wait<0>(acc);\nif (lane == 0) ind_barrier_arrive(empty + last);\n");
}

/* A tile: the steps of k, then the epilogue, strip by strip. */
static void cg__mm_write_strips(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const int columns = cg__mm_columns(w->variant);
    const int cols = cg__mm_strip_cols(p, tile->n, tile->warps_m, tile->cluster);
    const uint32_t store = cg__mm_rounded_store(w, p), load = store ? cg__mm_rounded_load(w, p) : 0;
    cg__mm_write_strip_range(w, (store ? 1 : 2) * tile->n / cols);
    if (load) cg__mm_write_fetch(w, p, load, cols);
    cg__mm_write_tma_steps(w, p);
    cg__mm_write_warp_exchange(w, p);
    if (store) {
        cg__mm_write_rounded_strips(w, p, store, cols);
        return;
    }
    ind__textf(&w->code, "#pragma unroll 1\n");
    const int strips = 2 * columns / cols, apart = 8 * (cols + 8);
    cg__begin(w, "for (int strip = %s; strip < %s; strip++)", cg__mm_first_strip(w), cg__mm_end_strip(w, strips));
    ind__textf(&w->code, "ind_strip_sums<%d>(sum, acc, strip);\n", cols);
    if (p->dot2) ind__textf(&w->code, "ind_strip_sums<%d>(sum + %d, acc, strip + %d);\n", cols, apart, strips);
    ind__textf(&w->code, "__syncwarp();\n");
    ind__textf(&w->code, "const %s first_m = tile_m + warp * 16 + strip %% 2 * 8, first_n = tile_n + strip / 2 * %d;\n",
               cg__int(w), cols);
    const char *second = cg__string(w, "sum + %d, row, col", apart);
    cg__mm_write_epilogue(
        w, p,
        &(cg__mm_area){.rows = 8, .cols = cols, .threads = 32, .thread = "lane", .pitch = cols, .second = second});
    ind__textf(&w->code, "__syncwarp();\n");
    cg__end(w);
}

static void cg__mm_write_tma(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *tile = &w->variant->of.tile;
    const char *type = cg__int(w);
    const int k = cg__mm_units(p, tile->k), in_a = tile->stages * tile->m * k, in_b = tile->stages * tile->n * k;
    const int strips = 2 * (in_a + in_b),
              barriers = strips + tile->warps_m * cg__mm_strip_bytes(p, tile->n, tile->warps_m, tile->cluster);
    ind__textf(&w->code, "const %s size_m = %s, size_n = %s, size_k = %s;\n", type, cg__expr_string(w, p->size_m),
               cg__expr_string(w, p->size_n), cg__expr_string(w, p->size_k));
    ind__textf(&w->code, "const int warp = threadIdx.x / 32, lane = threadIdx.x %% 32;\n");
    if (!cg__mm_is_split(w->variant)) cg__mm_write_steps(w, p);
    ind__textf(&w->code,
               "const unsigned rows = (unsigned)((size_m + %d) / %d), columns = (unsigned)((size_n + %d) / %d);\n",
               tile->m - 1, tile->m, cg__mm_columns(w->variant) - 1, cg__mm_columns(w->variant));
    ind__textf(&w->code, "const unsigned tiles = rows * columns * (unsigned)(%s);\n", cg__expr_string(w, p->batch));
    ind__textf(&w->code,
               "unsigned short *const tile_a = reinterpret_cast<unsigned short *>(ind_smem), *const tile_b = "
               "tile_a + %d;\n",
               in_a);
    if (p->dot2)
        ind__textf(&w->code, "unsigned short *const tile_c = tile_b + %d;\n", cg__mm_columns(w->variant) * tile->k);
    ind__textf(&w->code,
               "unsigned long long *const full = reinterpret_cast<unsigned long long *>(ind_smem + %d), *const "
               "empty = full + %d;\n",
               barriers, tile->stages);
    cg__begin(w, "if (threadIdx.x == 0)");
    ind__textf(&w->code, "for (int i = 0; i < %d; i++) {\n    ind_barrier_init(full + i, 1);\n", tile->stages);
    ind__textf(&w->code, "    ind_barrier_init(empty + i, %d);\n}\nind_barrier_publish();\n", tile->warps_m);
    cg__end(w);
    ind__textf(&w->code, "if (threadIdx.x == %d) {\n    ind_map_prefetch(map_a);\n    ind_map_prefetch(map_b);\n%s}\n",
               tile->warps_m * 32, p->dot2 ? "    ind_map_prefetch(map_c);\n" : "");
    cg__mm_begin_cluster(w, p, barriers + tile->stages * 16);
    ind__textf(&w->code, "__syncthreads();\n");
    cg__mm_write_producer(w, p);
    cg__begin(w, "else");
    cg__mm_write_registers(w, false);
    ind__textf(&w->code, "%s *const sum = reinterpret_cast<%s *>(ind_smem + %d) + warp * %d;\n", cg__mm_sum_type(p),
               cg__mm_sum_type(p), strips, cg__mm_strip_bytes(p, tile->n, tile->warps_m, tile->cluster) / 4);
    ind__textf(&w->code, "const int first_row = warp / 4 * 64;\n");
    cg__mm_wait_for_cluster(w);
    cg__mm_begin_tiles(w, p);
    cg__mm_write_strips(w, p);
    cg__end(w);
    cg__end(w);
    cg__use(w, IND__CG_WGMMA);
    cg__use(w, IND__CG_BULK_COPY);
    cg__use(w, IND__CG_STRIP_SUMS);
}

/* ---- the template ---- */

static const cg__mm_config cg__mm_tma_configs[] = {
    {256, 128, 64, 16, 1, 4, 112, 1, 0}, {192, 128, 64, 12, 1, 5, 160, 1, 0}, {128, 256, 64, 8, 1, 4, 240, 1, 0},
    {128, 224, 64, 8, 1, 4, 240, 1, 0},  {128, 192, 64, 8, 1, 4, 240, 1, 0},  {128, 160, 64, 8, 1, 5, 240, 1, 0},
    {128, 128, 64, 8, 1, 6, 240, 1, 0},  {128, 96, 64, 8, 1, 7, 240, 1, 0},   {128, 64, 64, 8, 1, 8, 240, 1, 0},
    {64, 256, 64, 4, 1, 5, 255, 1, 0},   {64, 192, 64, 4, 1, 6, 255, 1, 0},   {64, 128, 64, 4, 1, 8, 255, 1, 0},
    {64, 64, 64, 4, 1, 12, 255, 1, 0},
};

static const char *cg__mm_tma_match(const cg__mm_problem *p, const ind_target *t) {
    const char *no = cg__mm_wgmma_match(p, t);
    return no ? no : p->no_maps;
}

static void cg__mm_tma_fit(cg__mm_config *c, const cg__mm_problem *p, int64_t depth, int index_bits) {
    (void)depth, (void)index_bits;
    if (p->tensor_bytes == 1) c->tile_k *= 2; /* rows of 128 bytes */
}

/* Boxes of 64 columns fill the rows of a tile of b along n. A strip has columns of one product. Two sets of sums fit in
   the registers of a thread. */
static bool cg__mm_tma_allows(const cg__mm_config *c, const cg__mm_problem *p, int index_bits) {
    (void)index_bits;
    if (p->promotes && c->tile_n + 32 > c->registers) return false;
    return c->tile_n / cg__mm_products(p) % (p->b.k_major ? 32 : 64) == 0;
}

/* The slices of a cluster are of whole fragments of 8 columns. Their sums take the memory of some stages. */
static bool cg__mm_tma_fit_cluster(cg__mm_config *c, const cg__mm_problem *p, const ind_target *t) {
    if (p->sum != IND_F32) return false;
    while (c->stages > 3 && cg__mm_tma_bytes(c, p) > t->shared_per_block) c->stages--;
    return c->tile_n % (8 * c->cluster) == 0 && cg__mm_tma_bytes(c, p) <= t->shared_per_block;
}

static int cg__mm_tma_threads(const cg__mm_config *c) {
    return (c->warps_m + 4) * 32;
}

static const cg__mm_template cg__mm_tma = {.strategy = IND_STRATEGY_MATMUL_TMA,
                                           .match = cg__mm_tma_match,
                                           MM_CONFIGS(cg__mm_tma_configs),
                                           .fit = cg__mm_tma_fit,
                                           .allows = cg__mm_tma_allows,
                                           .threads = cg__mm_tma_threads,
                                           .tile_bytes = cg__mm_tma_bytes,
                                           .idle_stages = 1,
                                           .work = cg__mm_wgmma_work,
                                           .alignment = 1024,
                                           .persistent = true,
                                           .body = cg__mm_write_tma,
                                           .fit_cluster = cg__mm_tma_fit_cluster,
                                           .functions = cg__mm_write_wgmma};

/* ==================================================================================== src/cuda/templates/gemm/fma.c */
/* Products with FMA, for types that tensor cores do not multiply exactly. */

/* Loads the sources of an operand's next tile into registers. */
static void cg__mm_write_next_raw(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    char x = name == 'a' ? 'm' : 'n';
    if (o->x >= 0) ind__textf(&w->code, "const %s i%d = first_%c + x;\n", cg__int(w), o->x, x);
    if (p->k >= 0) ind__textf(&w->code, "const %s r0 = first_k + k;\n", cg__int(w));
    ind__textf(&w->code, "const bool inside = first_%c + x < size_%c && first_k + k < size_k;\n", x, x);
    cg__mm_need_operand(w, o);
    for (uint32_t i = 1; i <= o->value; i++)
        if (cg__mm_is_early_load(w, i))
            ind__textf(&w->code, "if (inside) next_%c%u[i] = %s;\n", name, i, cg__element(w, i));
}

/* Loads an operand's next tile into registers. */
static void cg__mm_write_next(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    cg__mm_set_plain_names(w);
    cg__mm_begin_elements(w, o, name, true);
    if (o->computed) {
        cg__mm_write_next_raw(w, p, o, name);
        cg__end(w);
        return;
    }
    cg__mm_write_element(w, p, o, name);
    ind__textf(&w->code, "next_%c[i] = (%s)value;\n", name, cg__mm_sum_type(p));
    cg__end(w);
}

/* Makes the LOADs of a prologue read the registers of cg__mm_write_next_raw; name 0: memory again. */
static void cg__mm_set_next_loads(ind__writer *w, const cg__mm_operand *o, char name) {
    cg__mm_need_operand(w, o);
    for (uint32_t i = 1; i <= o->value; i++)
        if (cg__mm_is_early_load(w, i)) w->memory[i] = name ? cg__string(w, "next_%c%u[i]", name, i) : NULL;
}

/* Declares registers for the sources of an operand's next tile. */
static void cg__mm_declare_next(ind__writer *w, const cg__mm_operand *o, char name) {
    const ind__variant *v = w->variant;
    int n = (name == 'a' ? v->of.tile.m : v->of.tile.n) * v->of.tile.k / v->threads;
    cg__mm_need_operand(w, o);
    for (uint32_t i = 1; o->computed && i <= o->value; i++)
        if (cg__mm_is_early_load(w, i))
            ind__textf(&w->code, "%s next_%c%u[%d];\n", cg__types[cg__memory_dtype(w, i)].memory, name, i, n);
}

/* Stores an operand's tile from registers to the half of the shared memory that is not being read. */
static void cg__mm_write_put(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, char name) {
    const ind__variant *v = w->variant;
    int pitch = (name == 'a' ? v->of.tile.m : v->of.tile.n) + 4;
    cg__mm_set_plain_names(w);
    cg__mm_begin_elements(w, o, name, true);
    if (o->computed) {
        cg__mm_set_next_loads(w, o, name);
        cg__mm_write_element(w, p, o, name);
        cg__mm_set_next_loads(w, o, 0);
    }
    const char *value =
        o->computed ? cg__string(w, "(%s)value", cg__mm_sum_type(p)) : cg__string(w, "next_%c[i]", name);
    ind__textf(&w->code, "tile_%c[half * %d + k * %d + x] = %s;\n", name, v->of.tile.k * pitch, pitch, value);
    cg__end(w);
}

static void cg__mm_write_fma_loop(ind__writer *w, const cg__mm_problem *p) {
    const ind__variant *v = w->variant;
    ind__textf(&w->code, "if (steps > 0) load(0);\n#pragma unroll 1\n");
    cg__begin(w, "for (%s step = 0; step < steps; step++)", cg__int(w));
    ind__textf(&w->code, "const int half = (int)(step & 1);\nput(half%s);\n__syncthreads();\n",
               cg__mm_has_prologue(p) ? ", step" : "");
    ind__textf(&w->code, "if (step + 1 < steps) load(step + 1);\n");
    ind__textf(&w->code, "ind_fma_tile<%d, %d, %d>(acc, tile_a + half * %d, tile_b + half * %d);\n", v->of.tile.m,
               v->of.tile.n, v->of.tile.k, v->of.tile.k * (v->of.tile.m + 4), v->of.tile.k * (v->of.tile.n + 4));
    cg__end(w);
    ind__textf(&w->code, "__syncthreads();\n");
    cg__use(w, IND__CG_FMA_TILE);
}

static void cg__mm_write_fma(ind__writer *w, const cg__mm_problem *p) {
    const ind__variant *v = w->variant;
    const char *type = cg__mm_sum_type(p);
    ind__textf(&w->code, "%s *const tile_a = reinterpret_cast<%s *>(ind_smem), *const tile_b = tile_a + %d;\n", type,
               type, 2 * v->of.tile.k * (v->of.tile.m + 4));
    ind__textf(&w->code, "%s ", type);
    if (!p->a.computed) ind__textf(&w->code, "next_a[%d], ", v->of.tile.m * v->of.tile.k / v->threads);
    if (!p->b.computed) ind__textf(&w->code, "next_b[%d], ", v->of.tile.n * v->of.tile.k / v->threads);
    ind__textf(&w->code, "acc[%d][%d] = {};\n", v->per_thread, v->per_thread);
    cg__mm_declare_next(w, &p->a, 'a');
    cg__mm_declare_next(w, &p->b, 'b');
    cg__mm_begin_load(w, false);
    cg__mm_write_next(w, p, &p->a, 'a');
    cg__mm_write_next(w, p, &p->b, 'b');
    cg__mm_end_lambda(w);
    bool prologue = cg__mm_has_prologue(p);
    const char *step = prologue ? cg__string(w, ", %s step", cg__int(w)) : "";
    ind__textf(&w->code, "const auto put = [&](int half%s) {\n", step);
    w->code.indent++;
    w->scope++;
    if (prologue) cg__mm_write_first_k(w, "step");
    cg__mm_write_put(w, p, &p->a, 'a');
    cg__mm_write_put(w, p, &p->b, 'b');
    cg__mm_end_lambda(w);
    cg__mm_write_fma_loop(w, p);
    ind__textf(&w->code, "%s *const sum = reinterpret_cast<%s *>(ind_smem);\n", type, type);
    ind__textf(&w->code, "ind_fma_sums<%d, %d>(sum, acc);\n__syncthreads();\n", v->of.tile.m, v->of.tile.n);
}

/* ---- the template ---- */

static const cg__mm_config cg__mm_fma_configs[] = {
    {128, 128, 8, 8, 0, 2, 128, 1, 0},
    {64, 64, 16, 4, 0, 2, 128, 1, 0},
    {32, 32, 16, 4, 0, 2, 128, 1, 0},
};

static const char *cg__mm_fma_match(const cg__mm_problem *p, const ind_target *t) {
    (void)t;
    if (p->dot2) return "it has two products";
    return p->tensor_bytes ? "tensor cores multiply these types" : NULL;
}

/* The addresses of elements in flight take registers with 64-bit indices, and with conditions or divisions. */
static void cg__mm_fma_fit(cg__mm_config *c, const cg__mm_problem *p, int64_t depth, int index_bits) {
    (void)depth;
    if (index_bits == 64) c->registers += 48;
    if (p->involved) c->registers += 48;
}

/* Sums of 8 bytes leave no registers for the largest tiles per thread. */
static bool cg__mm_fma_allows(const cg__mm_config *c, const cg__mm_problem *p, int index_bits) {
    (void)index_bits;
    return c->warps_m * cg__mm_sum_bytes(p) <= 32;
}

static int cg__mm_fma_threads(const cg__mm_config *c) {
    return c->tile_m * c->tile_n / (c->warps_m * c->warps_m);
}

static int64_t cg__mm_fma_bytes(const cg__mm_config *c, const cg__mm_problem *p) {
    return (int64_t)2 * (c->tile_m + c->tile_n + 8) * c->tile_k * cg__mm_sum_bytes(p);
}

static cg__mm_work cg__mm_fma_work(const cg__mm_config *c, const cg__mm_problem *p, const ind_thresholds *t) {
    const int sum_bytes = cg__mm_sum_bytes(p);
    return (cg__mm_work){.rate = (double)t->fma_rate * 4 / sum_bytes,
                         .rows = 2.0 * c->tile_m * c->tile_n / c->warps_m,
                         .bytes = sum_bytes};
}

static const cg__mm_template cg__mm_fma = {.strategy = IND_STRATEGY_MATMUL_SIMT,
                                           .match = cg__mm_fma_match,
                                           MM_CONFIGS(cg__mm_fma_configs),
                                           .fit = cg__mm_fma_fit,
                                           .allows = cg__mm_fma_allows,
                                           .threads = cg__mm_fma_threads,
                                           .tile_bytes = cg__mm_fma_bytes,
                                           .idle_stages = 1,
                                           .work = cg__mm_fma_work,
                                           .alignment = 16,
                                           .reads_pointers = true,
                                           .main_loop = cg__mm_write_fma};

/* =================================================================================== src/cuda/templates/gemm/rows.c */
/* Products of few rows, which are limited by reading b. A thread reads b in vectors of 8 elements along its contiguous
   dimension, several of them before the first is multiplied. All rows of a are in shared memory. The first vectors are
   requested before a is copied there.

   b with rows along k: a warp computes columns, its lanes share k. b with rows along n: a lane computes 8 columns, the
   other lanes and warps share k. Sums of lanes are added by shuffles, those of warps through shared memory, in a fixed
   order. Of two products a lane computes the same columns. */

/* What a warp computes. */
typedef struct cg__mm_strip {
    int rows, cols;     /* sums of a lane */
    int each;           /* columns of each product among them */
    int lanes_n;        /* lanes along n; b with rows along k: 1, all lanes share k */
    int warps_k;        /* warps that share k */
    int apart;          /* from a vector of a lane to its next one: vectors, b with rows along n: elements of k */
    int flight;         /* vectors per column that are requested together */
    int64_t k, vectors; /* elements of k; vectors of a lane's columns, all lanes and warps together */
} cg__mm_strip;

static cg__mm_strip cg__mm_strip_of(const cg__mm_problem *p, const ind__tile_plan *t) {
    cg__mm_strip s = {.rows = t->m, .flight = t->stages, .warps_k = t->warps_m, .lanes_n = 1};
    (void)ind_expr_is_int(p->size_k, &s.k);
    if (p->b.k_major) {
        s.cols = t->n / t->warps_n;
        s.each = s.cols / t->products;
        s.apart = 32 * t->warps_m;
        s.vectors = s.k / 8;
    } else {
        s.each = 8;
        s.cols = 8 * t->products;
        s.lanes_n = t->n / s.cols;
        s.apart = 32 / s.lanes_n * t->warps_m;
        s.vectors = s.k;
    }
    return s;
}

/* True for a LOAD of an operand that is read in vectors. */
static bool cg__mm_in_vectors(const ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, uint32_t i) {
    if (!o->computed) return o->copy && i == o->load;
    return i <= o->value && cg__mm_is_resident(w, p, o, i, MM_STAGED | MM_VECTOR);
}

/* The same for a LOAD that is read in vectors or in a run of bytes. */
static bool cg__mm_find_vector(const ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, uint32_t i,
                               cg__mm_run *run) {
    *run = (cg__mm_run){8, 1, 8};
    return cg__mm_in_vectors(w, p, o, i) || (o->computed && cg__mm_find_run(w, p, o, i, run));
}

/* Ends of the value that an operand's ops compute: it is rounded to the operand's type, as in a tile. */
static void cg__mm_write_rounded(ind__writer *w, const cg__mm_operand *o, bool as_float) {
    const char *type = ind_dtype_name(o->memory);
    if (as_float && o->computed) ind__textf(&w->code, "ind_%s_to_f32(", type);
    if (!as_float || o->computed) ind__textf(&w->code, "ind_f32_to_%s(", type);
    cg__value(w, o->value);
    if (!as_float || o->computed) ind__textf(&w->code, ")");
    if (as_float && o->computed) ind__textf(&w->code, ")");
    cg__use(w, o->memory == IND_F16 ? IND__CG_F16 : IND__CG_BF16);
}

static void cg__mm_forget_memory(ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__inst(w, i)->op == IND_LOOP_LOAD) w->memory[i] = NULL;
}

/* ---- a, to shared memory ---- */

/* The 8 elements of a row of a from k on, into `made`. */
static void cg__mm_write_row_chunk(ind__writer *w, const cg__mm_problem *p) {
    const cg__mm_operand *o = &p->a;
    cg__mm_need_operand(w, o);
    cg__emit(w, ~(1u << p->k), 0);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!w->needed[i] || !o->k_major || !cg__mm_in_vectors(w, p, o, i)) continue;
        ind__textf(&w->code, "const ind_vec<%s, 8> x%u = ind_load<8>(&%s);\n", cg__types[cg__memory_dtype(w, i)].memory,
                   i, cg__element(w, i));
        w->memory[i] = cg__string(w, "x%u.at[j]", i);
    }
    cg__unroll(w);
    cg__begin(w, "for (int j = 0; j < 8; j++)");
    cg__mm_set_text(w, p->k, "(r0 + j)");
    cg__emit(w, IND__CG_ALL_VARS, 0);
    ind__textf(&w->code, "made.at[j] = ");
    cg__mm_write_rounded(w, o, false);
    ind__textf(&w->code, ";\n");
    cg__end(w);
    cg__mm_forget_memory(w);
}

static void cg__mm_write_row_copy(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    const int64_t chunks = s->k / 8;
    cg__mm_set_plain_names(w);
    cg__begin(w, "for (int at = threadIdx.x; at < %lld; at += %d)", (long long)(s->rows * chunks), w->variant->threads);
    ind__textf(&w->code, "const int x = at / %lld, r0 = at %% %lld * 8;\n", (long long)chunks, (long long)chunks);
    if (p->m >= 0) ind__textf(&w->code, "const %s i%d = first_m + x;\n", cg__int(w), p->m);
    ind__textf(&w->code, "ind_vec<unsigned short, 8> made = {};\n");
    cg__begin(w, "if (first_m + x < size_m)");
    cg__mm_write_row_chunk(w, p);
    cg__end(w);
    ind__textf(&w->code, "ind_store(row_a + x * %lld + r0, made);\n", (long long)s->k);
    cg__end(w);
    ind__textf(&w->code, "__syncthreads();\n");
}

/* ---- b ---- */

/* The position of vector u of a lane: r0 and i<n>, in a loop over u, and over the columns r if lanes share k. Open
   afterwards: the loops, and the test that the vector exists. */
static void cg__mm_begin_vectors(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    cg__mm_set_plain_names(w);
    cg__unroll(w);
    cg__begin(w, "for (int u = 0; u < %d; u++)", s->flight);
    ind__textf(&w->code, "const int r0 = (first + u * %d)%s;\n", s->apart, p->b.k_major ? " * 8" : "");
    cg__begin(w, "if (r0 < %lld)", (long long)s->k);
}

static void cg__mm_end_vectors(ind__writer *w) {
    cg__end(w);
    cg__end(w);
}

/* A loop over the columns r of a lane. A column outside b is read at the last one. */
static void cg__mm_begin_strip_columns(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    const char *type = cg__int(w);
    cg__unroll(w);
    cg__begin(w, "for (int r = 0; r < %d; r++)", p->b.k_major ? s->each : 1);
    if (p->b.k_major)
        ind__textf(&w->code, "const %s i%d = column + r < size_n ? column + r : size_n - 1;\n", type, p->n);
    else
        ind__textf(&w->code, "const %s i%d = column < size_n ? column : 0;\n", type, p->n);
}

static void cg__mm_declare_vectors(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o,
                                   const cg__mm_strip *s) {
    cg__mm_run run;
    cg__mm_need_operand(w, o);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__mm_find_vector(w, p, o, i, &run))
            ind__textf(&w->code, "ind_vec<%s, %d> y%u[%d][%d];\n", cg__types[cg__memory_dtype(w, i)].memory, run.bytes,
                       i, s->flight, o->k_major ? s->each : 1);
}

static void cg__mm_load_vectors(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o) {
    cg__mm_run run;
    cg__mm_need_operand(w, o);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__mm_in_vectors(w, p, o, i))
            ind__textf(&w->code, "y%u[u][r] = ind_load_once<8>(&%s);\n", i, cg__element(w, i));
        else if (cg__mm_find_vector(w, p, o, i, &run))
            ind__textf(&w->code, "y%u[u][r] = ind_load_run<%d, %d>(&%s);\n", i, run.bytes, run.alignment,
                       cg__element(w, i));
    if (o->run_bits) cg__use(w, IND__CG_LOAD_RUN);
}

/* "load": requests the vectors of b from `first` on, and those of b2. */
static void cg__mm_write_strip_load(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    const int products = cg__mm_products(p);
    for (int i = 0; i < products; i++) cg__mm_declare_vectors(w, p, cg__mm_right(p, i), s);
    ind__textf(&w->code, "const auto load = [&](int first) {\n");
    w->code.indent++;
    w->scope++;
    cg__mm_begin_vectors(w, p, s);
    cg__mm_begin_strip_columns(w, p, s);
    for (int i = 0; i < products; i++) cg__mm_load_vectors(w, p, cg__mm_right(p, i));
    cg__end(w);
    cg__mm_end_vectors(w);
    cg__mm_end_lambda(w);
    cg__use(w, IND__CG_LOAD_ONCE);
}

/* Multiplies one vector of an operand: 8 elements of k with a column's sums, or 8 columns with one element of k.
   `first` is the first sum of its product. */
static void cg__mm_write_strip_products(ind__writer *w, const cg__mm_problem *p, const cg__mm_operand *o, int first) {
    const bool along_k = o->k_major;
    const int along = along_k ? p->k : p->n;
    const char *base = w->var[along], *sum = along_k ? "r" : "j";
    cg__mm_run run;
    cg__mm_need_operand(w, o);
    cg__mm_emit_chunk(w, along);
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__mm_find_vector(w, p, o, i, &run))
            w->memory[i] = cg__string(w, "y%u[u][r].at[%s]", i, cg__mm_run_element(w, &run));
    cg__unroll(w);
    cg__begin(w, "for (int j = 0; j < 8; j++)");
    w->var[along] = cg__string(w, "(%s + j)", base);
    cg__emit(w, IND__CG_ALL_VARS, 0);
    ind__textf(&w->code, "const float weight = ");
    cg__mm_write_rounded(w, o, true);
    ind__textf(&w->code, ";\n");
    cg__unroll(w);
    ind__textf(&w->code, "for (int m = 0; m < %d; m++) acc[m][%s] += value[m]%s * weight;\n", w->variant->of.tile.m,
               first ? cg__string(w, "%d + %s", first, sum) : sum, along_k ? "[j]" : "");
    cg__end(w);
    w->var[along] = base;
    cg__mm_forget_memory(w);
}

/* The elements of a that a vector of b is multiplied by, as f32. */
static void cg__mm_write_row_values(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    const char *type = ind_dtype_name(p->a.memory);
    ind__textf(&w->code, p->b.k_major ? "float value[%d][8];\n" : "float value[%d];\n", s->rows);
    cg__unroll(w);
    cg__begin(w, "for (int m = 0; m < %d; m++)", s->rows);
    if (p->b.k_major) {
        ind__textf(&w->code, "const ind_vec<unsigned short, 8> of_a = ind_load<8>(row_a + m * %lld + r0);\n",
                   (long long)s->k);
        cg__unroll(w);
        ind__textf(&w->code, "for (int j = 0; j < 8; j++) value[m][j] = ind_%s_to_f32(of_a.at[j]);\n", type);
    } else {
        ind__textf(&w->code, "value[m] = ind_%s_to_f32(row_a[m * %lld + r0]);\n", type, (long long)s->k);
    }
    cg__end(w);
}

static void cg__mm_write_strip_loop(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    ind__textf(&w->code, "float acc[%d][%d] = {};\n#pragma unroll 1\n", s->rows, s->cols);
    cg__begin(w, "for (int first = start; first < %lld; first += %d)", (long long)s->vectors, s->apart * s->flight);
    cg__mm_begin_vectors(w, p, s);
    cg__mm_write_row_values(w, p, s);
    cg__mm_begin_strip_columns(w, p, s);
    for (int i = 0; i < cg__mm_products(p); i++) cg__mm_write_strip_products(w, p, cg__mm_right(p, i), i * s->each);
    cg__end(w);
    cg__mm_end_vectors(w);
    ind__textf(&w->code, "load(first + %d);\n", s->apart * s->flight);
    cg__end(w);
}

/* ---- sums ---- */

/* The column of the tile that sum number `at` of a lane is of. The columns of a second product are the second half. */
static const char *cg__mm_strip_column(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    const ind__tile_plan *t = &w->variant->of.tile;
    const char *lanes = p->b.k_major ? cg__string(w, "warp %% %d * %d", t->warps_n, s->each) : "lane * 8";
    if (t->products == 1) return cg__string(w, "%s + at %% %d", lanes, s->cols);
    return cg__string(w, "at %% %d / %d * %d + %s + at %% %d", s->cols, s->each, t->n / t->products, lanes, s->each);
}

/* Adds the sums of lanes and warps, into the tile that the epilogue reads. */
static void cg__mm_write_strip_sums(ind__writer *w, const cg__mm_problem *p, const cg__mm_strip *s) {
    const ind__tile_plan *t = &w->variant->of.tile;
    const int sums = t->m * t->n;
    const char *column = cg__mm_strip_column(w, p, s);
    cg__unroll(w);
    cg__begin(w, "for (int at = 0; at < %d; at++)", s->rows * s->cols);
    ind__textf(&w->code, "float x = acc[at / %d][at %% %d];\n", s->cols, s->cols);
    cg__unroll(w);
    ind__textf(&w->code, "for (int d = 16; d >= %d; d /= 2) x += __shfl_xor_sync(0xffffffffu, x, d);\n", s->lanes_n);
    if (p->b.k_major)
        ind__textf(&w->code, "if (lane == 0) part[warp / %d * %d + at / %d * %d + %s] = x;\n", t->warps_n, sums,
                   s->cols, t->n, column);
    else
        ind__textf(&w->code, "if (lane < %d) part[warp * %d + at / %d * %d + %s] = x;\n", s->lanes_n, sums, s->cols,
                   t->n, column);
    cg__end(w);
    ind__textf(&w->code, "__syncthreads();\n");
    cg__begin(w, "for (int at = threadIdx.x; at < %d; at += %d)", sums, w->variant->threads);
    ind__textf(&w->code, "float total = part[at];\n");
    cg__unroll(w);
    ind__textf(&w->code, "for (int k = 1; k < %d; k++) total += part[k * %d + at];\n", s->warps_k, sums);
    ind__textf(&w->code, "sum[ind_sum_at<%d>(at / %d, at %% %d)] = total;\n", t->n, t->n, t->n);
    cg__end(w);
    ind__textf(&w->code, "__syncthreads();\n");
    cg__use(w, IND__CG_SUM_TILE);
}

static void cg__mm_rows_main_loop(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *t = &w->variant->of.tile;
    const cg__mm_strip s = cg__mm_strip_of(p, t);
    ind__textf(&w->code, "unsigned short *const row_a = reinterpret_cast<unsigned short *>(ind_smem);\n");
    ind__textf(&w->code, "float *const part = reinterpret_cast<float *>(ind_smem + %lld), *const sum = part + %d;\n",
               (long long)s.rows * s.k * 2, s.warps_k * t->m * t->n);
    ind__textf(&w->code, "const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;\n");
    if (p->b.k_major)
        ind__textf(&w->code, "const int start = warp / %d * 32 + lane;\nconst %s column = first_n + warp %% %d * %d;\n",
                   t->warps_n, cg__int(w), t->warps_n, s.each);
    else
        ind__textf(&w->code, "const int start = warp * %d + lane / %d;\nconst %s column = first_n + lane %% %d * 8;\n",
                   32 / s.lanes_n, s.lanes_n, cg__int(w), s.lanes_n);
    cg__mm_write_strip_load(w, p, &s);
    ind__textf(&w->code, "load(start);\n");
    cg__mm_write_row_copy(w, p, &s);
    cg__mm_write_strip_loop(w, p, &s);
    cg__mm_write_strip_sums(w, p, &s);
    cg__use(w, IND__CG_VEC);
}

/* ---- the template ---- */

/* b with rows along k: warps along k, warps along n. Along n: warps_n is 0; all warps share k. The rows of the tile are
   set by `fit`. */
static const cg__mm_config cg__mm_rows_configs[] = {
    {1, 8, 8, 4, 2, 2, 96, 1, 0},   {1, 8, 8, 2, 4, 4, 96, 1, 0},   {1, 16, 8, 1, 8, 4, 96, 1, 0},
    {1, 8, 8, 1, 8, 4, 64, 1, 0},   {1, 8, 8, 1, 8, 8, 96, 1, 0},   {1, 32, 8, 1, 8, 2, 96, 1, 0},
    {1, 8, 8, 4, 4, 2, 64, 1, 0},   {1, 8, 8, 8, 2, 2, 96, 1, 0},   {1, 16, 8, 8, 0, 8, 96, 1, 0},
    {1, 32, 8, 32, 0, 2, 64, 1, 0}, {1, 32, 8, 16, 0, 4, 96, 1, 0}, {1, 16, 8, 16, 0, 4, 96, 1, 0},
    {1, 64, 8, 8, 0, 4, 96, 1, 0},  {1, 64, 8, 16, 0, 4, 96, 1, 0}, {1, 128, 8, 8, 0, 4, 96, 1, 0},
};

/* Most rows, and bytes of shared memory for a. With 8 rows of 4096 x 4096 bf16 tensor cores were faster: 20 us, 23 here
   (H100). */
enum { MM_MOST_ROWS = 2, MM_ROW_BYTES = 96 << 10, MM_PACKED_ROWS = 64 };

/* Sets p->few_rows: from the bound of m, or from its hint or the variant's range, if the variant may have a guard. */
static void cg__mm_find_rows(const cg__decider *d, cg__mm_problem *p) {
    const int64_t few = p->packed->no ? MM_MOST_ROWS : MM_PACKED_ROWS, hint = ind_hint(p->size_m);
    const int64_t range = p->packed->no ? 0 : d->variant->range.to;
    const bool guard = d->assume & IND__ASSUME_FEW_ROWS && !d->w.schedule->program->batch_invariant;
    int64_t least, most;
    ind__known_bounds(p->size_m, &least, &most);
    if (least > few || (most > few && !guard)) return;
    if (guard && range && most > range)
        most = range;
    else if (most > few)
        most = hint <= few ? hint : 1;
    if (most < least) most = least; /* else no launch meets the guard */
    p->few_rows = 1;
    while (p->few_rows < most) p->few_rows *= 2;
}

/* The guard of a variant with few rows, if m has no such bound. */
static void cg__mm_guard_rows(cg__decider *d, const cg__mm_problem *p) {
    int64_t least, most;
    ind__known_bounds(p->size_m, &least, &most);
    if (most <= p->few_rows) return;
    d->used |= IND__ASSUME_FEW_ROWS;
    cg__guard(d->variant, ind_expr_le(p->size_m, ind_int(d->w.context, p->few_rows)));
}

static bool cg__mm_reads_vectors(const cg__mm_operand *o) {
    return o->copy || o->staged_bytes || o->run_bits;
}

static const char *cg__mm_rows_match(const cg__mm_problem *p, const ind_target *t) {
    int64_t k;
    (void)t;
    if (!p->few_rows || p->few_rows > MM_MOST_ROWS) return "it may have more than 2 rows";
    if (p->tensor_bytes != 2) return "its operands are not f16 or bf16";
    if (p->n < 0 || p->k < 0) return "it has no columns or no depth";
    if (!ind_expr_is_int(p->size_k, &k) || k < 8 || k % 8) return "its depth is not a constant multiple of 8";
    if (2 * k * p->few_rows > MM_ROW_BYTES) return "its rows exceed shared memory";
    if (p->a.computed) return "a is computed as it is loaded";
    for (int i = 0; i < cg__mm_products(p); i++)
        if (!cg__mm_reads_vectors(cg__mm_right(p, i))) return "b is read neither in vectors nor in runs of bytes";
    return p->b.k_major || ind_known_multiple(p->size_n, 8) ? NULL : "its columns are no multiple of 8";
}

static void cg__mm_rows_fit(cg__mm_config *c, const cg__mm_problem *p, int64_t depth, int index_bits) {
    (void)depth;
    (void)index_bits;
    const int products = cg__mm_products(p);
    c->tile_m = p->few_rows;
    const int sums = c->tile_m * (c->warps_n ? c->tile_n / c->warps_n : 8 * products);
    const int second = c->warps_n ? 0 : (products - 1) * c->stages * 4;
    c->registers += (c->tile_m - 1) * (c->warps_n ? 8 : 1) + sums + second + (p->b.computed ? 32 * products : 0);
}

/* A lane has columns of each product, and the epilogue has vectors of 8. Computed weights: the configurations that were
   fastest for i8 with a scale per column, 1 x 14336 x 4096 (H100: 51 us along k, 65 along n; tensor cores 82). */
static bool cg__mm_rows_allows(const cg__mm_config *c, const cg__mm_problem *p, int index_bits) {
    (void)index_bits;
    const int products = cg__mm_products(p);
    if (c->tile_n % ((c->warps_n > 8 ? c->warps_n : 8) * products)) return false;
    const bool fastest = c->warps_n ? c->warps_n == 8 && c->tile_n == 8 * products && c->stages == 4 : c->warps_m == 32;
    if (p->b.computed && !(fastest && p->few_rows == 1)) return false;
    return (c->warps_n > 0) == p->b.k_major && c->registers <= 200;
}

static int cg__mm_rows_threads(const cg__mm_config *c) {
    return 32 * c->warps_m * (c->warps_n ? c->warps_n : 1);
}

static int64_t cg__mm_rows_bytes(const cg__mm_config *c, const cg__mm_problem *p) {
    int64_t k = 0;
    (void)ind_expr_is_int(p->size_k, &k);
    return 2 * k * c->tile_m + (int64_t)4 * c->tile_m * (c->warps_m * c->tile_n + c->tile_n + 8);
}

/* Bytes of an element of b in memory: the mean of two products. */
static double cg__mm_weight_bytes(const cg__mm_problem *p) {
    const cg__mm_operand *const o[2] = {&p->b, p->dot2 ? &p->b2 : &p->b};
    double bytes = 0;
    for (int i = 0; i < 2; i++)
        bytes += o[i]->computed ? o[i]->staged_bytes + o[i]->run_bits / 8.0 : ind_dtype_bytes(o[i]->memory);
    return bytes / 2;
}

/* Estimated cycles: those of the busiest SM. It reads b at its share of the memory's rate, or as fast as the vectors in
   flight arrive, or multiplies: a conversion and an FMA per row. */
static double cg__mm_rows_cost(const cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *c,
                               const ind_target *target) {
    const ind_thresholds *t = &target->thresholds;
    const double n = (double)ind_hint(p->size_n), k = (double)ind_hint(p->size_k);
    const int products = cg__mm_products(p);
    const double per_sm = ceil(ceil(n * products / c->tile_n) * (double)ind_hint(p->batch) / target->num_sms);
    const double fit = cg__mm_occupancy(x, p, c, target), together = per_sm < fit ? per_sm : fit;
    const double elements = per_sm * c->tile_n * k, bytes = elements * cg__mm_weight_bytes(p);
    const double flight = together * cg__mm_rows_threads(c) * c->stages * 8 * cg__mm_weight_bytes(p) *
                          (c->warps_n ? c->tile_n / c->warps_n : products);
    const double read = bytes / cg__mm_memory_rate(target), wait = bytes / flight * t->product_latency;
    const double unpack = p->packed->unpacks ? p->packed->unpacks : 4;
    const double multiply = elements * (1 + c->tile_m + (p->b.computed ? unpack : 0)) / t->fma_rate;
    const double slowest = read > wait ? read : wait;
    return (slowest > multiply ? slowest : multiply) + (t->product_start + t->product_latency) * ceil(per_sm / fit);
}

static const cg__mm_template cg__mm_rows = {.strategy = IND_STRATEGY_MATMUL_ROWS,
                                            .match = cg__mm_rows_match,
                                            MM_CONFIGS(cg__mm_rows_configs),
                                            .fit = cg__mm_rows_fit,
                                            .allows = cg__mm_rows_allows,
                                            .threads = cg__mm_rows_threads,
                                            .tile_bytes = cg__mm_rows_bytes,
                                            .cost = cg__mm_rows_cost,
                                            .alone = true,
                                            .alignment = 16,
                                            .main_loop = cg__mm_rows_main_loop};

/* ================================================================================= src/cuda/templates/gemm/packed.c */
/* Products of up to 64 rows with packed weights: b is a PACKED value, or i8, with rows along k, perhaps times a factor
   of the column. Bulk copies bring the bytes of 16 rows of b and a step of k to a ring of each warp. Tensor cores
   multiply what the warp dequantises in registers. The weights are not rounded to the operand's type: an integer times
   its group's scale, which is multiplied in f32. */

/* ---- the problem ---- */

/* The type of a format in the prelude, the function that declares it, the elements of a step, registers of a thread for
   up to 8 rows, and whether elements have a lowest value (OFFSET); see packed.cuh. Registers: NVRTC 13.0, sm_90a. */
static const struct {
    const char *type;
    int function, step, registers;
    bool lowest;
} cg__packed_formats[IND__NUM_QUANTISED + 1] = {
    [IND__QUANTISED_Q8_0] = {"ind_packed_q8_0", IND__CG_PACKED_Q8_0, 256, 72, false},
    [IND__QUANTISED_Q4_0] = {"ind_packed_q4<false, false>", IND__CG_PACKED_Q4, 256, 72, false},
    [IND__QUANTISED_Q4_1] = {"ind_packed_q4<true, false>", IND__CG_PACKED_Q4, 256, 72, true},
    [IND__QUANTISED_Q5_0] = {"ind_packed_q4<false, true>", IND__CG_PACKED_Q4, 256, 72, false},
    [IND__QUANTISED_Q5_1] = {"ind_packed_q4<true, true>", IND__CG_PACKED_Q4, 256, 72, true},
    [IND__QUANTISED_Q2_K] = {"ind_packed_q2_k", IND__CG_PACKED_Q2_K, 512, 80, true},
    [IND__QUANTISED_Q3_K] = {"ind_packed_q3_k", IND__CG_PACKED_Q3_K, 256, 72, false},
    [IND__QUANTISED_Q4_K] = {"ind_packed_q45_k<false>", IND__CG_PACKED_Q45_K, 256, 72, true},
    [IND__QUANTISED_Q5_K] = {"ind_packed_q45_k<true>", IND__CG_PACKED_Q45_K, 256, 72, true},
    [IND__QUANTISED_Q6_K] = {"ind_packed_q6_k", IND__CG_PACKED_Q6_K, 256, 80, false},
    [IND__QUANTISED_IQ4_NL] = {"ind_packed_iq4_nl", IND__CG_PACKED_IQ4, 256, 72, false},
    [IND__QUANTISED_IQ4_XS] = {"ind_packed_iq4_xs", IND__CG_PACKED_IQ4, 256, 72, false},
    [IND__QUANTISED_INT4] = {"ind_packed_int4", IND__CG_PACKED_INT4, 256, 72, false},
    [IND__QUANTISED_MXFP4] = {"ind_packed_mxfp4", IND__CG_PACKED_E2M1, 256, 80, false},
    [IND__QUANTISED_NVFP4] = {"ind_packed_nvfp4", IND__CG_PACKED_NVFP4, 256, 96, false},
    [IND__NUM_QUANTISED] = {"ind_packed_i8", IND__CG_PACKED_I8, 256, 72, false},
};

/* Elements of k in a step. */
static int cg__mm_packed_step(const cg__mm_packed *b) {
    return cg__packed_formats[b->format].step;
}

/* Bytes from one row to the next in a ring; see ind_packed_product. */
static int cg__mm_packed_slot(const cg__mm_packed *b) {
    const int bytes = cg__mm_packed_step(b) / b->elements * b->bytes;
    const int alignment = bytes % 16 == 0 ? 16 : bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : 2;
    return ((bytes + 31 - alignment) / 16 | 1) * 16;
}

/* The LOAD whose value i is, converted or not; 0: it is none, or under a mask. */
static uint32_t cg__mm_plain_load(const ind__writer *w, uint32_t i) {
    while (cg__inst(w, i)->op == IND_LOOP_CAST) i = cg__inst(w, i)->arg[0];
    return cg__inst(w, i)->op == IND_LOOP_LOAD && !cg__inst(w, i)->arg[0] ? i : 0;
}

/* The LOAD of i8 whose value i is: conversions to 16-bit floats are exact. 0: it is none. */
static uint32_t cg__mm_byte_load(const ind__writer *w, uint32_t i) {
    while (cg__inst(w, i)->op == IND_LOOP_ROUND_BF16 || cg__inst(w, i)->op == IND_LOOP_ROUND_F16)
        i = cg__inst(w, i)->arg[0];
    i = cg__mm_plain_load(w, i);
    return i && cg__memory_dtype(w, i) == IND_I8 ? i : 0;
}

/* Steps over products with a factor that is the same along k; *factor: 0: none. */
static uint32_t cg__mm_without_factor(const ind__writer *w, const cg__mm_problem *p, uint32_t i, uint32_t *factor) {
    *factor = 0;
    if (cg__inst(w, i)->op != IND_LOOP_MUL || p->k < 0) return i;
    for (int side = 0; side < 2; side++) {
        if (w->plan->varies[cg__inst(w, i)->arg[side]] >> p->k & 1) continue;
        *factor = cg__inst(w, i)->arg[side];
        return cg__inst(w, i)->arg[!side];
    }
    return i;
}

/* The index of a LOAD as row(n) + k / elements * each: its stride along n and its value at 0. False: it has another
   form. */
static bool cg__mm_packed_index(const ind__writer *w, const cg__mm_problem *p, uint32_t load, int elements, int each,
                                ind_expr *stride, ind_expr *offset) {
    const ind__loops *x = &w->plan->domain;
    const ind_expr k = x->var[p->k];
    ind_expr e = cg__index_of(w, load), of_k = ind_expr_mul(k, ind_int(w->context, elements)), step;
    if (ind__expr_has_kind(e, IND_SYMBOL_INDIRECT)) return false;
    e = ind__substitute(e, &k, &of_k, 1);
    if (!ind__affine(e, k, &step, &e) || !ind_known_eq(step, ind_int(w->context, each))) return false;
    if (!ind__affine(e, x->var[p->n], stride, &e)) return false;
    for (int v = 0; v < x->rank + x->rrank; v++)
        if (ind__expr_depends(e, x->var[v])) return false;
    *offset = e;
    return true;
}

/* The map of the bytes, as 16-bit words: along k, then the rows. */
static const char *cg__mm_packed_map(const ind__writer *w, const cg__mm_problem *p, const cg__mm_packed *b,
                                     ind__tensor_map *map) {
    const ind_expr two = ind_int(w->context, 2);
    ind_expr stride, offset, row;
    if (!cg__mm_packed_index(w, p, b->load, b->elements, b->bytes, &stride, &offset))
        return "the packed weights are no rows of blocks along k";
    if (!ind_known_multiple(stride, 16) || !ind_known_multiple(offset, 2))
        return "the rows of packed weights are not aligned to 16 bytes";
    row = ind_expr_mul(ind_expr_floordiv(p->size_k, ind_int(w->context, b->elements)), ind_int(w->context, b->bytes));
    *map = (ind__tensor_map){.dtype = IND_F16, .offset = ind_expr_floordiv(offset, two)};
    const char *no = cg__is_declared(offset) ? NULL : "the offset of the packed weights depends on data";
    if (!no) no = cg__mm_add_dim(map, ind_expr_floordiv(row, two), ind_int(w->context, 1), cg__mm_packed_slot(b) / 2);
    if (!no) no = cg__mm_add_dim(map, p->size_n, ind_expr_floordiv(stride, two), 16);
    return no;
}

/* Checks a tensor of scales or zero points: one element per group, in rows along k. */
static bool cg__mm_packed_beside(const ind__writer *w, const cg__mm_problem *p, const cg__mm_packed *b, uint32_t load,
                                 int64_t bytes) {
    ind_expr stride, offset;
    if (!load || !cg__mm_packed_index(w, p, load, b->group, 1, &stride, &offset)) return false;
    return ind_known_multiple(stride, bytes) && ind_known_multiple(offset, bytes);
}

/* Finds the LOADs of a PACKED value. */
static const char *cg__mm_packed_value(const ind__writer *w, const cg__mm_problem *p, uint32_t i, cg__mm_packed *b) {
    static const struct {
        int elements, bytes;
    } block[] = {
#define X(name, text, elements, bytes, scaled) {elements, bytes},
        IND__QUANTISED_FORMATS(X)
#undef X
    };
    const ind__inst *inst = cg__inst(w, i);
    b->format = (int)(inst->imm.i & 255);
    b->group = (int)(inst->imm.i >> 8);
    b->elements = block[b->format].elements;
    b->bytes = block[b->format].bytes;
    b->load = cg__mm_plain_load(w, inst->arg[1]);
    if (!b->load || cg__memory_dtype(w, b->load) != IND_U8) return "the bytes of the weights are computed";
    if (!cg__packed_formats[b->format].type) return "the format has no blocks";
    if (!inst->arg[2]) return NULL;
    b->scale = cg__mm_plain_load(w, inst->arg[2]);
    b->zero = inst->arg[3] ? cg__mm_plain_load(w, inst->arg[3]) : 0;
    const int64_t groups = cg__packed_formats[b->format].step / b->group;
    const bool vector = b->format != IND__QUANTISED_INT4;
    if (!cg__mm_packed_beside(w, p, b, b->scale, vector ? groups : 1)) return "the scales are no rows along k";
    if (inst->arg[3] &&
        (!cg__mm_packed_beside(w, p, b, b->zero, 1) || ind_dtype_bytes(cg__memory_dtype(w, b->zero)) > 1))
        return "the zero points are no rows of 8-bit integers along k";
    return ind_known_multiple(p->size_k, cg__packed_formats[b->format].step) ? NULL : "its depth is no multiple of 256";
}

/* Finds out if b is packed weights that the target can take; the reason if not. */
static const char *cg__mm_match_packed(const cg__decider *d, const cg__mm_problem *p, cg__mm_packed *b) {
    const ind__writer *w = &d->w;
    const ind_thresholds *t = &d->w.target->thresholds;
    const char *no = NULL;
    if (p->tensor_bytes != 2 || !p->b.computed || p->k < 0 || p->n < 0) return "its weights are not packed";
    const uint32_t i = cg__mm_without_factor(w, p, p->b.value, &b->factor);
    if (cg__inst(w, i)->op == IND_LOOP_PACKED) {
        b->unpacks = t->unpack_instructions;
        no = cg__mm_packed_value(w, p, i, b);
    } else {
        b->load = cg__mm_byte_load(w, i);
        if (!b->load) return "its weights are not packed";
        b->unpacks = t->computed_instructions;
    }
    if (no) return no;
    if (p->dot2) return "it has two products";
    if (d->w.target->sm < 90) return "tensor maps exist from sm_90 on";
    if (!(d->assume & IND__ASSUME_MAPS)) return "the variant assumes no tensor maps";
    return cg__mm_packed_map(w, p, b, &b->map);
}

static void cg__mm_find_packed(cg__decider *d, cg__mm_problem *p) {
    cg__mm_packed *b = (cg__mm_packed *)ind__arena_alloc(d->w.arena, sizeof *b);
    if (!b) {
        cg__fail(&d->w);
        return;
    }
    *b = (cg__mm_packed){.format = IND__NUM_QUANTISED, .group = 1, .elements = 1, .bytes = 1};
    b->no = cg__mm_match_packed(d, p, b);
    p->packed = b;
}

/* ---- decisions ---- */

/* Rows along n (warps_n x 16), warps along k in warps_m. `fit` sets rows and registers. */
static const cg__mm_config cg__mm_packed_configs[] = {
    {1, 112, 8, 4, 7, 2, 0, 1, 0}, {1, 112, 8, 3, 7, 2, 0, 1, 0}, {1, 112, 8, 2, 7, 2, 0, 1, 0},
    {1, 128, 8, 4, 8, 2, 0, 1, 0}, {1, 128, 8, 2, 8, 3, 0, 1, 0}, {1, 128, 8, 2, 8, 2, 0, 1, 0},
    {1, 64, 8, 4, 4, 2, 0, 1, 0},  {1, 64, 8, 2, 4, 2, 0, 1, 0},  {1, 32, 8, 8, 2, 2, 0, 1, 0},
    {1, 112, 8, 1, 7, 2, 0, 1, 0}, {1, 128, 8, 1, 8, 2, 0, 1, 0}, {1, 64, 8, 1, 4, 2, 0, 1, 0},
    {1, 32, 8, 4, 2, 2, 0, 1, 0},  {1, 48, 8, 8, 3, 2, 0, 1, 0},  {1, 16, 8, 8, 1, 2, 0, 1, 0},
};

static const char *cg__mm_packed_match(const cg__mm_problem *p, const ind_target *t) {
    (void)t;
    int64_t k, batch;
    if (p->dot2) return "it has two products";
    if (p->packed->no) return p->packed->no;
    if (!p->few_rows) return "it may have more than 64 rows";
    if (!ind_expr_is_int(p->size_k, &k)) return "its depth is not constant";
    if (!ind_expr_is_int(p->batch, &batch) || batch != 1) return "it has batches";
    return p->a.computed ? "a is computed as it is loaded" : NULL;
}

static int cg__mm_packed_threads(const cg__mm_config *c) {
    return 32 * c->warps_m * c->warps_n;
}

/* The rings and their mbarriers. */
static int64_t cg__mm_packed_ring(const cg__mm_problem *p, int warps, int stages) {
    return (int64_t)warps * stages * (cg__mm_packed_slot(p->packed) * 16 + 8);
}

/* Elements of k of which a is in shared memory: all, or as many steps of all warps as fit. */
static int64_t cg__mm_packed_depth(const cg__mm_problem *p, int rows, int warps_m, int warps_n, int stages,
                                   int64_t shared) {
    const int64_t step = cg__mm_packed_step(p->packed),
                  left = shared - cg__mm_packed_ring(p, warps_m * warps_n, stages);
    int64_t k = 0;
    (void)ind_expr_is_int(p->size_k, &k);
    const int64_t all = (k + step - 1) / step * step, round = step * warps_m;
    const int64_t fits = (left / (2 * rows) - 16) / round * round;
    return fits < all ? (fits < 0 ? 0 : fits) : all;
}

enum { MM_PACKED_SHARED = 224 << 10 }; /* of a block; sums and counters of the epilogue need some, too */

static int64_t cg__mm_packed_bytes(const cg__mm_config *c, const cg__mm_problem *p) {
    const int64_t ring = cg__mm_packed_ring(p, c->warps_m * c->warps_n, c->stages);
    const int64_t depth = cg__mm_packed_depth(p, c->tile_m, c->warps_m, c->warps_n, c->stages, MM_PACKED_SHARED);
    const int64_t main = ring + 2 * c->tile_m * (depth + 16), parts = (int64_t)4 * c->warps_m * c->tile_m * c->tile_n;
    const int64_t sums = parts + (int64_t)4 * c->tile_m * (c->tile_n + 8);
    return main > sums ? main : sums;
}

static void cg__mm_packed_fit(cg__mm_config *c, const cg__mm_problem *p, int64_t depth, int index_bits) {
    (void)depth;
    (void)index_bits;
    c->tile_k = cg__mm_packed_step(p->packed);
    const int most = cg__packed_formats[p->packed->format].lowest ? 32 : 64; /* 64 rows would spill */
    c->tile_m = p->few_rows < most ? p->few_rows : most;
    c->registers = c->tile_m > 32   ? 255
                   : c->tile_m > 16 ? 168
                   : c->tile_m > 8  ? 128
                                    : cg__packed_formats[p->packed->format].registers;
}

static bool cg__mm_packed_allows(const cg__mm_config *c, const cg__mm_problem *p, int index_bits) {
    (void)index_bits;
    const bool fits = cg__mm_packed_depth(p, c->tile_m, c->warps_m, c->warps_n, c->stages, MM_PACKED_SHARED) > 0;
    return fits && cg__mm_packed_threads(c) * c->registers <= 65536 && cg__mm_packed_threads(c) <= 1024;
}

/* Estimated cycles: those of the busiest SM. It reads b at its share of the memory's rate, or dequantises and
   multiplies it; then a, which every block copies to shared memory. */
static double cg__mm_packed_cost(const cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *c,
                                 const ind_target *target) {
    const ind_thresholds *t = &target->thresholds;
    const double n = (double)ind_hint(p->size_n), k = (double)ind_hint(p->size_k);
    const double rows = ceil(cg__mm_hinted_rows(p) / c->tile_m);
    const double per_sm = ceil(rows * ceil(n / c->tile_n) / target->num_sms), fit = cg__mm_occupancy(x, p, c, target);
    const double together = per_sm < fit ? per_sm : fit, warps = together * cg__mm_packed_threads(c) / 32;
    const double elements = per_sm * c->tile_n * k, tiles = c->tile_m > 8 ? c->tile_m / 8 : 1;
    const double bytes = elements * p->packed->bytes / p->packed->elements;
    const double read = bytes / cg__mm_memory_rate(target);
    const double issue = elements * (t->packed_instructions + 4 * (tiles - 1)) / 8 / 128;
    const double busy = warps < t->packed_warps ? warps / t->packed_warps : 1;
    const double copies = per_sm * c->tile_m * k * 2 / t->product_l2_rate, multiply = issue / busy;
    return (read > multiply ? read : multiply) + copies + (t->product_start + t->product_latency) * ceil(per_sm / fit);
}

/* The variant needs the map of the bytes. */
static void cg__mm_use_packed_map(cg__decider *d) {
    d->used |= IND__ASSUME_MAPS;
    d->variant->guard_aligned = true;
}

/* ---- writing ---- */

/* The type of the format in the prelude. */
static const char *cg__mm_packed_type(ind__writer *w, const cg__mm_packed *b) {
    const char *type = cg__packed_formats[b->format].type;
    if (b->format != IND__QUANTISED_INT4) return type;
    const ind_dtype scale = cg__memory_dtype(w, b->scale);
    return cg__string(w, "%s<%d, %d, %s>", type,
                      scale == IND_F32   ? 4
                      : scale == IND_F16 ? 2
                                         : 1,
                      b->group, b->zero ? cg__types[cg__memory_dtype(w, b->zero)].memory : "int");
}

/* One tensor of scales or zero points: its row as bytes. */
static void cg__mm_write_beside_row(ind__writer *w, const char *name, uint32_t load) {
    if (load)
        ind__textf(&w->code, "%s = reinterpret_cast<const unsigned char *>(&%s);\n", name, cg__element(w, load));
    else
        ind__textf(&w->code, "%s = nullptr;\n", name);
}

static void cg__mm_write_beside(ind__writer *w, const cg__mm_problem *p) {
    if (!p->packed->scale) return;
    cg__mm_set_plain_names(w);
    ind__textf(&w->code,
               "product.beside(size_n, [&](int i%d, const unsigned char *&scales, const unsigned char *&zeros) {\n",
               p->n);
    w->code.indent++;
    w->scope++;
    cg__mm_set_text(w, p->k, "0");
    cg__mm_write_beside_row(w, "scales", p->packed->scale);
    cg__mm_write_beside_row(w, "zeros", p->packed->zero);
    cg__forget(w);
    w->scope--;
    w->code.indent--;
    ind__textf(&w->code, "});\n");
}

/* The rows of a, from `begin` on, for as many elements of k as are in shared memory. */
static void cg__mm_write_packed_rows(ind__writer *w, const cg__mm_problem *p, int64_t depth) {
    const ind__tile_plan *t = &w->variant->of.tile;
    cg__mm_set_plain_names(w);
    ind__textf(&w->code, "#pragma unroll 4\n");
    cg__begin(w, "for (int at = threadIdx.x; at < %lld; at += %d)", (long long)(t->m * depth / 8), w->variant->threads);
    ind__textf(&w->code, "const int x = at / %lld, col = at %% %lld * 8, r0 = begin * %d + col;\n",
               (long long)(depth / 8), (long long)(depth / 8), cg__mm_packed_step(p->packed));
    if (p->m >= 0) ind__textf(&w->code, "const %s i%d = first_m + x;\n", cg__int(w), p->m);
    ind__textf(&w->code, "ind_vec<unsigned short, 8> made = {};\n");
    cg__begin(w, "if (first_m + x < size_m && r0 < size_k)");
    cg__mm_write_row_chunk(w, p);
    cg__end(w);
    ind__textf(&w->code, "ind_store(row_a + x * %lld + col, made);\n", (long long)(depth + 16));
    cg__end(w);
}

/* The sums of the warps that share k, times the factor of the column. */
static void cg__mm_write_packed_sums(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *t = &w->variant->of.tile;
    ind__textf(&w->code, "float *const part = reinterpret_cast<float *>(ind_smem), *const sum = part + %d;\n",
               t->warps_m * t->m * t->n);
    ind__textf(&w->code, "product.finish(part);\n");
    cg__begin(w, "for (int at = threadIdx.x; at < %d; at += %d)", t->m * t->n, w->variant->threads);
    ind__textf(&w->code, "float total = part[at];\n");
    cg__unroll(w);
    ind__textf(&w->code, "for (int k = 1; k < %d; k++) total += part[k * %d + at];\n", t->warps_m, t->m * t->n);
    if (p->packed->factor) {
        cg__mm_set_plain_names(w);
        ind__textf(&w->code, "const %s i%d = first_n + at %% %d;\n", cg__int(w), p->n, t->n);
        cg__begin(w, "if (i%d < size_n)", p->n);
        cg__need_none(w);
        cg__need(w, p->packed->factor);
        cg__close_needed(w);
        cg__emit(w, IND__CG_ALL_VARS, 0);
        ind__textf(&w->code, "total *= ");
        cg__value(w, p->packed->factor);
        ind__textf(&w->code, ";\n");
        cg__end(w);
    }
    ind__textf(&w->code, "sum[ind_sum_at<%d>(at / %d, at %% %d)] = total;\n", t->n, t->n, t->n);
    cg__end(w);
    ind__textf(&w->code, "__syncthreads();\n");
    cg__use(w, IND__CG_SUM_TILE);
}

static void cg__mm_packed_main_loop(ind__writer *w, const cg__mm_problem *p) {
    const ind__tile_plan *t = &w->variant->of.tile;
    const int64_t step = cg__mm_packed_step(p->packed);
    const int64_t depth = cg__mm_packed_depth(p, t->m, t->warps_m, t->warps_n, t->stages, MM_PACKED_SHARED);
    ind__textf(&w->code, "unsigned short *const row_a = reinterpret_cast<unsigned short *>(ind_smem + %lld);\n",
               (long long)cg__mm_packed_ring(p, t->warps_m * t->warps_n, t->stages));
    ind__textf(&w->code, "ind_packed_product<%s, %s, %d, %d, %d, %d> product;\n", cg__mm_packed_type(w, p->packed),
               p->a.memory == IND_BF16 ? "true" : "false", t->m, t->warps_n, t->warps_m, t->stages);
    ind__textf(&w->code, "product.start(map_b, ind_smem, (int)first_n, (int)steps);\n");
    cg__mm_write_beside(w, p);
    ind__textf(&w->code, "#pragma unroll 1\n");
    cg__begin(w, "for (int begin = 0; begin < steps; begin += %lld)", (long long)(depth / step));
    ind__textf(&w->code, "if (begin) __syncthreads();\n");
    cg__mm_write_packed_rows(w, p, depth);
    ind__textf(&w->code, "__syncthreads();\n");
    ind__textf(&w->code, "const int end = begin + %lld < steps ? begin + %lld : (int)steps;\n",
               (long long)(depth / step), (long long)(depth / step));
    ind__textf(&w->code, "product.run(map_b, begin, end, (int)steps, row_a, %lld);\n", (long long)(depth + 16));
    cg__end(w);
    cg__mm_write_packed_sums(w, p);
    cg__use(w, IND__CG_PACKED);
    cg__use(w, cg__packed_formats[p->packed->format].function);
}

static const cg__mm_template cg__mm_packed_rows = {.strategy = IND_STRATEGY_MATMUL_PACKED,
                                                   .match = cg__mm_packed_match,
                                                   MM_CONFIGS(cg__mm_packed_configs),
                                                   .fit = cg__mm_packed_fit,
                                                   .allows = cg__mm_packed_allows,
                                                   .threads = cg__mm_packed_threads,
                                                   .tile_bytes = cg__mm_packed_bytes,
                                                   .cost = cg__mm_packed_cost,
                                                   .alone = true,
                                                   .alignment = 128,
                                                   .main_loop = cg__mm_packed_main_loop};

/* ============================================================================= src/cuda/templates/gemm/candidates.c */
/* The configurations of a product that fit, and the cheapest of them. */

/* The templates, in the order in which they are asked. */
static const cg__mm_template *const cg__mm_templates[] = {&cg__mm_packed_rows, &cg__mm_rows, &cg__mm_tma,
                                                          &cg__mm_wgmma,       &cg__mm_mma,  &cg__mm_fma};
#define MM_NUM_TEMPLATES (sizeof cg__mm_templates / sizeof *cg__mm_templates)

static const cg__mm_template *cg__mm_template_of(ind_strategy s) {
    for (size_t i = 0; i < MM_NUM_TEMPLATES; i++)
        if (cg__mm_templates[i]->strategy == s) return cg__mm_templates[i];
    return NULL;
}

typedef struct cg__mm_choice {
    const cg__mm_template *from;
    cg__mm_config config;
    double cost;
    ind__tile_choice values;
} cg__mm_choice;

enum { MM_MEASURED = 8 }; /* choices that tuning measures */
_Static_assert(MM_MEASURED + 2 <= IND__MAX_TUNED, "cg__mm_others lists more choices than there is space for");

/* The cheapest choices: distinct, in the order of their costs. */
typedef struct cg__mm_choices {
    cg__mm_choice item[MM_MEASURED + 1];
    int num;
} cg__mm_choices;

static bool cg__mm_same_values(const ind__tile_choice *a, const ind__tile_choice *b) {
    return !memcmp(a, b, sizeof *a);
}

static cg__mm_choice cg__mm_choice_of(const cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *c,
                                      const ind_target *t) {
    return (cg__mm_choice){.from = x,
                           .config = *c,
                           .cost = (x->cost ? x->cost : cg__mm_cost)(x, p, c, t),
                           .values = {.strategy = (int)x->strategy,
                                      .m = c->tile_m,
                                      .n = c->tile_n,
                                      .k = c->tile_k,
                                      .warps_m = c->warps_m,
                                      .warps_n = c->warps_n,
                                      .stages = c->stages,
                                      .blocks_per_sm = cg__mm_occupancy(x, p, c, t),
                                      .splits = c->splits,
                                      .cluster = c->cluster}};
}

/* Adds the configuration if it is among the cheapest. Of equal costs, the one tried first comes first. */
static void cg__mm_try_config(const cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *c,
                              const ind_target *t, cg__mm_choices *all) {
    const cg__mm_choice choice = cg__mm_choice_of(x, p, c, t);
    int at = 0;
    while (at < all->num && !cg__mm_same_values(&all->item[at].values, &choice.values)) at++;
    if (at > MM_MEASURED) at = MM_MEASURED; /* replaces the most expensive one */
    if (at < all->num && all->item[at].cost <= choice.cost) return;
    if (at == all->num) all->num++;
    for (; at && choice.cost < all->item[at - 1].cost; at--) all->item[at] = all->item[at - 1];
    all->item[at] = choice;
}

/* True if the template has the configuration for the product, which it is fitted to. */
static bool cg__mm_fits(const cg__mm_template *x, const cg__mm_problem *p, cg__mm_config *c, int index_bits,
                        const ind_target *t) {
    int64_t least, depth;
    ind__known_bounds(p->size_k, &least, &depth);
    x->fit(c, p, depth, index_bits);
    return x->allows(c, p, index_bits) && cg__mm_shared(x, p, c) <= t->shared_per_block;
}

/* True if blocks can share tiles of the configuration, in clusters of c->cluster, to which it is fitted. */
static bool cg__mm_fits_shared(const cg__mm_template *x, const cg__mm_problem *p, cg__mm_config *c,
                               const ind_target *t) {
    if (x->alone || p->unsplit) return false;
    if (c->cluster && !(x->fit_cluster ? x->fit_cluster(c, p, t) : cg__mm_fit_cluster(c, x, p))) return false;
    return cg__mm_shared(x, p, c) + MM_EXCHANGE_SHARED <= t->shared_per_block;
}

/* Tries the configuration with clusters of each size, and without. */
static void cg__mm_try_splits(const cg__mm_template *x, const cg__mm_problem *p, const cg__mm_config *config,
                              const ind_target *t, int cluster, cg__mm_choices *all) {
    cg__mm_config c = *config;
    c.cluster = cluster;
    if (!cg__mm_fits_shared(x, p, &c, t)) return;
    const int most = cg__mm_occupancy(x, p, &c, t);
    for (int waves = 1; waves <= most; waves++) {
        c.splits = cg__mm_splits_of(p, &c, waves, t);
        if (c.splits > 1) cg__mm_try_config(x, p, &c, t, all);
    }
}

static void cg__mm_try_template(const cg__mm_template *x, const cg__mm_problem *p, int index_bits, const ind_target *t,
                                cg__mm_choices *all) {
    for (size_t i = 0; i < x->num_configs; i++) {
        cg__mm_config c = x->configs[i];
        if (!cg__mm_fits(x, p, &c, index_bits, t)) continue;
        cg__mm_try_config(x, p, &c, t, all);
        for (int cluster = 2; cluster <= p->max_cluster && cluster <= MM_MAX_CLUSTER; cluster *= 2)
            cg__mm_try_splits(x, p, &c, t, cluster, all);
        cg__mm_try_splits(x, p, &c, t, 0, all);
    }
}

/* Finds the cheapest configurations of the templates that take the product; *reason: why the last one that does not
   take it does not. */
static void cg__mm_choose(const cg__mm_problem *p, int index_bits, const ind_target *t, cg__mm_choices *all,
                          const char **reason) {
    all->num = 0;
    *reason = NULL;
    for (size_t i = 0; i < MM_NUM_TEMPLATES; i++) {
        const char *no = cg__mm_templates[i]->match(p, t);
        if (no && !all->num) *reason = no;
        if (!no) cg__mm_try_template(cg__mm_templates[i], p, index_bits, t, all);
    }
}

/* The same without clusters, for the fallback of a variant that has them: of the same template, whose guards are the
   same. */
static void cg__mm_choose_fallback(cg__mm_problem *p, int index_bits, const ind_target *t, cg__mm_choices *all) {
    const cg__mm_template *x = all->item[0].from;
    all->num = 0;
    p->max_cluster = 1;
    cg__mm_try_template(x, p, index_bits, t, all);
}

/* ---- configurations for tuning ---- */

/* True if as many blocks as the configuration says can share a tile. A persistent block has one share at most. */
static bool cg__mm_allows_splits(const cg__mm_template *x, const cg__mm_problem *p, cg__mm_config *c,
                                 const ind_target *t) {
    const int cluster = cg__mm_cluster(c), most_waves = x->persistent ? 1 : 1 << 16;
    if (c->splits == 1) return !c->cluster;
    if (c->cluster && (c->cluster < 2 || c->cluster > p->max_cluster || c->cluster > MM_MAX_CLUSTER)) return false;
    if (c->splits < 2 || cluster & (cluster - 1) || c->splits % cluster || !cg__mm_fits_shared(x, p, c, t))
        return false;
    return c->splits <= cg__mm_splits_of(p, c, most_waves, t);
}

/* Finds the configuration with these values. False: no template that takes the product has it, or it does not fit. */
static bool cg__mm_find_values(const cg__mm_problem *p, int index_bits, const ind_target *t,
                               const ind__tile_choice *values, cg__mm_choice *found) {
    const cg__mm_template *x = cg__mm_template_of((ind_strategy)values->strategy);
    if (!x || x->match(p, t)) return false;
    for (size_t i = 0; i < x->num_configs; i++) {
        cg__mm_config c = x->configs[i];
        if (!cg__mm_fits(x, p, &c, index_bits, t)) continue;
        c.splits = values->splits;
        c.cluster = values->cluster;
        if (!cg__mm_allows_splits(x, p, &c, t)) continue;
        *found = cg__mm_choice_of(x, p, &c, t);
        if (cg__mm_same_values(&found->values, values)) return true;
    }
    return false;
}

static bool cg__mm_has_values(const cg__mm_choices *all, const ind__tile_choice *values) {
    for (int i = 0; i < all->num; i++)
        if (cg__mm_same_values(&all->item[i].values, values)) return true;
    return false;
}

/* Writes the choices after the first one, and the first one with one share of a tile more and less. Returns their
   number. `only`: those of this template, unless it is NULL. */
static int cg__mm_others(const cg__mm_problem *p, const cg__mm_choices *all, const cg__mm_template *only,
                         const ind_target *t, ind__tile_choice others[MM_MEASURED + 2]) {
    const cg__mm_template *x = all->item[0].from;
    int num = 0;
    for (int i = 1; i < all->num; i++)
        if (!only || all->item[i].from == only) others[num++] = all->item[i].values;
    for (int sign = -1; sign <= 1; sign += 2) {
        cg__mm_config c = all->item[0].config;
        c.splits += sign * cg__mm_cluster(&c);
        if (!cg__mm_allows_splits(x, p, &c, t)) continue;
        const cg__mm_choice choice = cg__mm_choice_of(x, p, &c, t);
        if (!cg__mm_has_values(all, &choice.values)) others[num++] = choice.values;
    }
    return num;
}

/* ================================================================================= src/cuda/templates/gemm/choose.c */
/* ---- the choice of a vector width ---- */

/* Sets the text of a finished sum, for the body's REDUCE and its PART. */
static void cg__mm_set_text_of_sum(ind__writer *w, uint32_t dot, const char *text) {
    w->value[dot] = text;
    for (uint32_t i = dot + 1; i < w->body->num_inst; i++)
        if (cg__inst(w, i)->op == IND_LOOP_PART && cg__inst(w, i)->arg[0] == dot) w->value[i] = text;
}

static void cg__mm_set_sum_text(ind__writer *w, const cg__mm_problem *p) {
    const char *text = p->n < 0 ? "dot[0]" : "dot[j]";
    if (!ind_dtype_is_float(p->sum)) text = cg__string(w, "((%s)%s)", cg__types[p->sum].value, text);
    cg__mm_set_text_of_sum(w, p->dot, text);
    if (p->dot2) cg__mm_set_text_of_sum(w, p->dot2, "dot2[j]");
}

/* The sum differs from column to column, even where b does not depend on the column. */
static void cg__mm_vary_sum(cg__decider *d, const cg__mm_problem *p) {
    if (p->n < 0) return;
    d->plan->varies[p->dot] |= 1u << p->n;
    if (p->dot2) d->plan->varies[p->dot2] |= 1u << p->n;
    for (uint32_t i = p->dot + 1; i < d->w.body->num_inst; i++) cg__each_use(&d->w, i, cg__propagate_use, d);
}

/* Can all STOREs write n neighbouring columns at once, without a rest at the edge? LOADs of the epilogue do the same
   where they can, as long as none would need more than 16 bytes at once: 32 bytes of what all rows share, such as a f32
   scale per column. w->needed marks the epilogue. */
static bool cg__mm_try_vector(cg__decider *d, const cg__mm_problem *p, int n) {
    ind_expr guard = {0};
    bool aligned = false;
    cg__no_vectors(d);
    if (p->n < 0 || !cg__multiple(d, p->size_n, n, &guard)) return false;
    for (uint32_t i = 1; i < d->w.body->num_inst; i++) {
        if (!d->w.needed[i] || !cg__is_access(&d->w, i)) continue;
        bool fits = cg__mm_contiguous(&d->w, i, p->n) && cg__vector_access(d, i, p->n, n, &guard, &aligned);
        const bool shared = cg__inst(&d->w, i)->op == IND_LOOP_LOAD && (p->m < 0 || !(d->plan->varies[i] >> p->m & 1));
        if (fits && ind_dtype_bytes(cg__memory_dtype(&d->w, i)) * n > (shared ? 32 : 16)) return false;
        if (!fits && cg__inst(&d->w, i)->op == IND_LOOP_STORE) return false;
        if (fits) d->plan->vector[i] = (uint8_t)n;
    }
    if (ind__ok(guard)) cg__guard(d->variant, guard);
    d->variant->guard_aligned |= aligned;
    return true;
}

static int cg__mm_choose_vector(cg__decider *d, const cg__mm_problem *p) {
    cg__mm_set_sum_text(&d->w, p); /* which ends what the epilogue needs */
    cg__mm_vary_sum(d, p);
    cg__need_stores(&d->w);
    for (int n = 8; n >= 2; n /= 2)
        if (cg__mm_try_vector(d, p, n)) return n;
    cg__no_vectors(d);
    return 1;
}

/* ---- the plan ---- */

/* Persistent blocks: one per SM, or per share of a tile if there are fewer; in whole clusters. A tile that is shared
   has at most one share per block: no more shares than cg__mm_splits_of gives the hinted sizes. */
static void cg__mm_set_persistent(cg__decider *d, cg__mm_problem *p) {
    ind__variant *v = d->variant;
    ind_context *c = d->w.context;
    ind_expr tiles = cg__mm_all_tiles(p, v);
    if (cg__mm_is_split(v)) tiles = ind_expr_mul(tiles, v->of.tile.splits);
    const int cluster = v->of.tile.cluster > 1 ? v->of.tile.cluster : 1;
    tiles = ind_expr_mul(ind_expr_ceildiv(tiles, ind_int(c, cluster)), ind_int(c, cluster));
    v->grid[0] = ind_expr_min(tiles, ind_int(c, cg__mm_cluster_sms(cluster, d->w.target)));
    v->grid[1] = v->grid[2] = ind_int(c, 1);
    v->blocks_per_sm = 1;
    cg__mm_set_boxes(d, p);
}

static void cg__mm_explain(cg__decider *d, const cg__mm_problem *p, const char *reason) {
    const bool tensor = cg__has(&d->w, IND__HAS_TENSOR_CORES);
    const char *copied = p->a.copy && p->b.copy ? "both operands" : p->a.copy ? "a" : p->b.copy ? "b" : "no operand";
    const char *computed = p->a.computed && p->b.computed ? "both operands" : p->a.computed ? "a" : "b";
    if (d->variant->strategy == IND_STRATEGY_MATMUL_ROWS)
        cg__why(d, "at most %d rows: %s is read once, in vectors; accumulates in f32", p->few_rows,
                p->b.computed ? "what b is computed from" : "b");
    else if (d->variant->strategy == IND_STRATEGY_MATMUL_PACKED)
        cg__why(d, "at most %d rows: packed weights are dequantised in registers for tensor cores; accumulates in f32",
                p->few_rows);
    else if (cg__mm_has_prologue(p))
        cg__why(d, "%s computed in the operand load of %s; accumulates in %s", computed,
                tensor ? "tensor cores" : "FMA tiles", ind_dtype_name(p->sum));
    else if (tensor)
        cg__why(d, "%s operands%s on tensor cores; %s copied in %s%s",
                p->a.memory == p->b.memory ? ind_dtype_name(p->a.memory) : "8-bit float",
                p->tensor_bytes == 4 ? " rounded to tf32" : "", copied,
                d->variant->strategy == IND_STRATEGY_MATMUL_TMA ? "boxes by tensor maps" : "16-byte vectors",
                p->promotes ? "; sums of 128 products are added in f32" : "");
    else
        cg__why(d, "%s; accumulates in %s", reason, ind_dtype_name(p->sum));
}

static void cg__mm_explain_all(cg__decider *d, const cg__mm_problem *p, const char *reason) {
    cg__mm_explain(d, p, reason);
    if (p->dot2 && d->variant->why) cg__why(d, "two products with the same a; %s", d->variant->why);
}

/* True if the strategy is of products of few rows, which may have a guard. */
static bool cg__mm_has_few_rows(ind_strategy s) {
    return s == IND_STRATEGY_MATMUL_ROWS || s == IND_STRATEGY_MATMUL_PACKED;
}

/* Sets the tile, its shares, and the grid. */
static void cg__mm_set_tile(cg__decider *d, cg__mm_problem *p, const cg__mm_choice *choice) {
    const cg__mm_template *x = choice->from;
    const cg__mm_config *c = &choice->config;
    ind__variant *v = d->variant;
    const bool fma = x->strategy == IND_STRATEGY_MATMUL_SIMT;
    v->strategy = x->strategy;
    v->threads = x->threads(c);
    v->of.tile = (ind__tile_plan){.m = c->tile_m,
                                  .n = c->tile_n,
                                  .k = c->tile_k,
                                  .products = cg__mm_products(p),
                                  .warps_m = fma ? 0 : c->warps_m,
                                  .warps_n = fma ? 0 : c->warps_n,
                                  .stages = c->stages};
    v->of.tile.cost_ns = choice->cost * 100 / d->w.target->thresholds.product_clock;
    v->per_thread = fma ? c->warps_m : 1;
    v->rows = 1;
    v->blocks_per_sm = cg__mm_occupancy(x, p, c, d->w.target);
    v->memory.shared = ind_int(d->w.context, cg__mm_shared(x, p, c));
    int stripe;
    ind_expr blocks[3];
    cg__mm_set_splits(d, p, c, x->persistent);
    cg__mm_blocks(p, v, &stripe, blocks);
    cg__set_axes(d, blocks);
    if (x->persistent) cg__mm_set_persistent(d, p);
    if (x->strategy == IND_STRATEGY_MATMUL_PACKED) cg__mm_use_packed_map(d);
}

/* The template that tuning keeps, or NULL. A batch_invariant module keeps it, as the guards of variants may depend on
   the number of rows, and another template may sum in another order. */
static const cg__mm_template *cg__mm_kept_template(const cg__decider *d, const cg__mm_choices *all) {
    return d->w.schedule->program->batch_invariant ? all->item[0].from : NULL;
}

/* Lists the configurations that tuning measures. A part of a launch is not tuned, nor a product whose sizes depend on
   data. */
static void cg__mm_set_others(cg__decider *d, const cg__mm_problem *p, const cg__mm_choices *all) {
    ind__tile_choice others[MM_MEASURED + 2];
    ind__tile_plan *tile = &d->variant->of.tile;
    if (d->plan->part || ind__body_unbacked(d->w.schedule->program, d->w.body)) return;
    const int num = cg__mm_others(p, all, cg__mm_kept_template(d, all), d->w.target, others);
    tile->others = (const ind__tile_choice *)ind__arena_copy(d->w.arena, others, (size_t)num * sizeof *others);
    tile->num_others = tile->others ? num : 0;
    if (!tile->others) cg__fail(&d->w);
}

/* A tuned configuration has the guard of the formulas' choice: it replaces that variant. */
static ind_status cg__mm_set_config(cg__decider *d, cg__mm_problem *p, ind__variant *v) {
    const ind__tile_choice *tuned = &d->tuning.tile;
    const char *reason;
    cg__mm_choices all;
    cg__mm_choice choice;
    cg__mm_choose(p, v->index_bits, d->w.target, &all, &reason);
    if (!all.num)
        return ind__fail(d->w.context, IND_NOT_SUPPORTED, "kernel %s: no configuration of a product fits the target",
                         d->w.kernel->name);
    if (all.item[0].config.cluster > d->max_cluster) cg__mm_choose_fallback(p, v->index_bits, d->w.target, &all);
    const cg__mm_template *kept = cg__mm_kept_template(d, &all);
    const bool take = tuned->m && tuned->cluster <= d->max_cluster && !d->plan->part &&
                      cg__mm_find_values(p, v->index_bits, d->w.target, tuned, &choice) &&
                      (!kept || choice.from == kept);
    if (!take) choice = all.item[0];
    cg__mm_set_tile(d, p, &choice);
    cg__mm_set_others(d, p, &all);
    if (cg__mm_has_few_rows(all.item[0].from->strategy) || cg__mm_has_few_rows(v->strategy)) cg__mm_guard_rows(d, p);
    cg__mm_explain_all(d, p, reason);
    if (!take) return IND_OK;
    v->tuned.tile = *tuned;
    cg__why(d, "%s; tuned: tile %d x %d x %d", v->why, tuned->m, tuned->n, tuned->k);
    return IND_OK;
}

/* Decides how operands of tensor cores are loaded. */
static void cg__mm_choose_loads(cg__decider *d, cg__mm_problem *p) {
    cg__mm_operand *const o[3] = {&p->a, &p->b, &p->b2};
    const int num = 1 + cg__mm_products(p);
    if (!p->tensor_bytes) return;
    for (int i = 0; i < num; i++) o[i]->copy = cg__mm_can_copy(d, p, o[i]);
    for (int i = 0; i < num; i++)
        if (o[i]->computed) cg__mm_choose_staged(d, p, o[i]);
    for (int i = 1; i < num; i++)
        if (o[i]->computed) cg__mm_measure_runs(&d->w, p, o[i]);
}

/* Decides everything; w->plan->matmul keeps what was found out about the kernel. Error: IND_NOT_SUPPORTED. */
static ind_status cg__choose_matmul(cg__decider *d, ind__variant *v) {
    cg__mm_problem *p = (cg__mm_problem *)ind__arena_alloc(&d->w.scratch, sizeof *p);
    if (!p) return ind__failed(d->w.context);
    d->plan->matmul = p;
    cg__mm_find_problem(d, p);
    if (d->w.failed) return ind__failed(d->w.context);
    if (p->sum == IND_BOOL)
        return ind__fail(d->w.context, IND_NOT_SUPPORTED, "kernel %s: a matrix product of bool", d->w.kernel->name);
    cg__choose_index_bits(d);
    cg__mm_choose_loads(d, p);
    cg__mm_find_packed(d, p);
    v->vector = cg__mm_choose_vector(d, p);
    cg__mm_find_maps(d, p);
    if (d->w.failed) return ind__failed(d->w.context);
    cg__mm_find_rows(d, p);
    p->unsplit = d->w.schedule->program->batch_invariant || ind__body_unbacked(d->w.schedule->program, d->w.body);
    p->max_cluster = d->plan->part || p->dot2 ? 1 : d->w.target->max_cluster; /* a slice is of one product */
    ind_status status = cg__mm_set_config(d, p, v);
    return status || !d->w.failed ? status : ind__failed(d->w.context);
}

/* =============================================================================== src/cuda/templates/gemm/epilogue.c */
/* ---- writing: the epilogue ---- */

/* The column group that a thread handles in round u, in a scope that is open afterwards: two cg__end. */
static void cg__mm_begin_columns(ind__writer *w, const cg__mm_problem *p, const cg__mm_area *area, int rounds) {
    const ind__variant *v = w->variant;
    int groups = area->cols / v->vector;
    cg__unroll(w);
    cg__begin(w, "for (int u = 0; u < %d; u++)", rounds);
    ind__textf(&w->code, "const int at = first + u * %d, row = at / %d, col = at %% %d * %d;\n", area->threads, groups,
               groups, v->vector);
    if (p->m >= 0) ind__textf(&w->code, "const %s i%d = first_m + row;\n", cg__int(w), p->m);
    if (p->n >= 0) ind__textf(&w->code, "const %s i%d = first_n + col;\n", cg__int(w), p->n);
    cg__begin(w, "if (first_m + row < size_m && first_n + col < size_n)");
}

static bool cg__mm_is_vector_load(const ind__writer *w, uint32_t i) {
    return cg__inst(w, i)->op == IND_LOOP_LOAD && w->needed[i] && w->plan->vector[i] > 1;
}

/* All vectors that all rounds read, before anything is written: so the reads overlap, even where the compiler could not
   reorder them because input and output may be one buffer. */
static void cg__mm_write_vector_loads(ind__writer *w, const cg__mm_problem *p, const cg__mm_area *area, int rounds) {
    int n = w->variant->vector;
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__mm_is_vector_load(w, i))
            ind__textf(&w->code, "ind_vec<%s, %d> x%u[%d];\n", cg__types[cg__memory_dtype(w, i)].memory, n, i, rounds);
    cg__mm_begin_columns(w, p, area, rounds);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__mm_is_vector_load(w, i)) continue;
        ind__textf(&w->code, "x%u[u] = ind_load<%d>(&%s);\n", i, n, cg__element(w, i));
        w->memory[i] = cg__string(w, "x%u[u].at[j]", i);
        cg__use(w, IND__CG_VEC);
    }
    cg__end(w);
    cg__end(w);
}

/* V columns of one row of the tile. What does not depend on the column is computed once, the rest for each j. */
static void cg__mm_write_columns(ind__writer *w, const cg__mm_problem *p, const cg__mm_area *area) {
    const ind__variant *v = w->variant;
    ind__textf(&w->code, "%s dot[%d];\nind_sum_read<%d>(dot, sum, row, col);\n", cg__mm_sum_type(p), v->vector,
               area->pitch);
    if (p->dot2)
        ind__textf(&w->code, "float dot2[%d];\nind_sum_read<%d>(dot2, %s);\n", v->vector, area->pitch, area->second);
    if (p->n < 0) {
        cg__emit_stores(w);
        return;
    }
    cg__emit(w, ~(1u << p->n), IND__CG_ALL_STAGES);
    cg__vector_sinks(w);
    cg__unroll(w);
    cg__begin(w, "for (int j = 0; j < %d; j++)", v->vector);
    cg__mm_set_text(w, p->n, cg__string(w, "(i%d + j)", p->n));
    cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    cg__end(w);
    cg__mm_set_plain_names(w);
    cg__vector_stores(w);
}

/* How many rounds a thread does together: up to 4, fewer if they would read more vectors than registers should hold. */
static int cg__mm_epilogue_rounds(const ind__writer *w, const cg__mm_area *area) {
    const int vectors = area->rows * area->cols / w->variant->vector;
    int loads = 0, rounds = vectors % area->threads ? 1 : vectors / area->threads, together = 4;
    for (uint32_t i = 1; i < w->body->num_inst; i++) loads += cg__mm_is_vector_load(w, i);
    while (together > 1 && (rounds < together || rounds % together || together * loads > 8)) together /= 2;
    return together;
}

static void cg__mm_write_epilogue(ind__writer *w, const cg__mm_problem *p, const cg__mm_area *area) {
    const ind__variant *v = w->variant;
    cg__mm_set_plain_names(w);
    cg__need_stores(w);
    int rounds = cg__mm_epilogue_rounds(w, area);
    ind__textf(&w->code, "#pragma unroll 1\n");
    const int groups = area->cols / v->vector;
    const char *from = area->first_row ? cg__string(w, "%s * %d + ", area->first_row, groups) : "";
    const char *to =
        area->end_row ? cg__string(w, "%s * %d", area->end_row, groups) : cg__string(w, "%d", area->rows * groups);
    cg__begin(w, "for (int first = %s%s%s; first < %s; first += %d)", from, *from ? "(int)" : "", area->thread, to,
              area->threads * rounds);
    bool any = false;
    for (uint32_t i = 1; i < w->body->num_inst; i++) any |= cg__mm_is_vector_load(w, i);
    if (any) cg__mm_write_vector_loads(w, p, area, rounds);
    cg__mm_begin_columns(w, p, area, rounds);
    cg__mm_write_columns(w, p, area);
    cg__end(w);
    cg__end(w);
    cg__end(w);
    cg__forget_vectors(w);
}

/* The body of the kernel function, as cg__choose_matmul decided. */
static ind_status cg__emit_matmul(ind__writer *w) {
    const cg__mm_problem *p = w->plan->matmul;
    const cg__mm_template *x = cg__mm_template_of(w->variant->strategy);
    cg__mm_set_sum_text(w, p);
    cg__mm_set_plain_names(w);
    ind__textf(&w->code, "extern __shared__ __align__(%d) unsigned char ind_smem[];\n", x->alignment);
    if (x->body) {
        x->body(w, p);
        return w->failed ? ind__failed(w->context) : IND_OK;
    }
    const ind__tile_plan *tile = &w->variant->of.tile;
    cg__mm_write_tile_position(w, p);
    cg__mm_write_steps(w, p);
    x->main_loop(w, p);
    cg__mm_write_exchange(w, p);
    const int columns = cg__mm_columns(w->variant);
    cg__mm_area area = {.rows = tile->m,
                        .cols = columns,
                        .threads = w->variant->threads,
                        .thread = "threadIdx.x",
                        .pitch = tile->n,
                        .second = cg__string(w, "sum, row, col + %d", columns)};
    if (tile->cluster > 1) {
        area.rows /= tile->cluster;
        area.first_row = "slice";
        area.end_row = "slice_end";
    }
    cg__mm_write_epilogue(w, p, &area);
    cg__mm_end_row_exchange(w);
    return w->failed ? ind__failed(w->context) : IND_OK;
}

/* Device functions of the kernel's template, before the kernel. */
static void cg__write_template_functions(ind__writer *w, ind__text *t) {
    const cg__mm_template *x = cg__mm_template_of(w->variant->strategy);
    if (x && x->functions) x->functions(w, t);
}

static bool cg__reads_pointers(const ind__writer *w) {
    const cg__mm_template *x = cg__mm_template_of(w->variant->strategy);
    return x && x->reads_pointers;
}

/* ============================================================================== src/cuda/templates/gemm/fragments.c */
/* Writes an epilogue that computes on accumulators in registers and exchanges its 16-bit results. */

/* ---- writing: the epilogue of 16-bit results ---- */

/* A thread of a wgmma has two adjacent sums of a row at a time. An epilogue that stores one 16-bit tensor computes on
   these pairs. Only its results pass through shared memory, on the way to accesses of 16 bytes: half the bytes of the
   sums. One 16-bit tensor of the shape of the results may be read, such as a residual: the same way back, in vectors
   that are loaded before the product, or while the previous strip is computed. */

static bool cg__mm_is_2d(const ind__writer *w, const cg__mm_problem *p, uint32_t i) {
    return w->needed[i] && cg__inst(w, i)->op == IND_LOOP_LOAD &&
           w->plan->varies[i] >> p->m & w->plan->varies[i] >> p->n & 1;
}

/* True for a 16-bit LOAD or STORE of 8 elements without a mask. */
static bool cg__mm_is_rounded(const ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    const uint32_t mask = inst->op == IND_LOOP_STORE ? inst->arg[1] : inst->arg[0];
    const ind_dtype dtype = cg__memory_dtype(w, i);
    return w->plan->vector[i] == 8 && !mask && !inst->reduction && (dtype == IND_F16 || dtype == IND_BF16);
}

/* The LOAD of the shape of the results; 0: none. The epilogue is marked as needed. */
static uint32_t cg__mm_rounded_load(ind__writer *w, const cg__mm_problem *p) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__mm_is_2d(w, p, i)) return i;
    return 0;
}

/* The only STORE of such an epilogue; 0: it is another one. */
static uint32_t cg__mm_rounded_store(ind__writer *w, const cg__mm_problem *p) {
    uint32_t store = 0, loads = 0;
    if (w->variant->vector != 8) return 0;
    cg__need_stores(w);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (cg__is_root(w, i) && (store || cg__inst(w, i)->op != IND_LOOP_STORE)) return 0;
        if (cg__is_root(w, i)) store = i;
        if (!cg__mm_is_2d(w, p, i)) continue;
        if (loads++ || !cg__mm_is_rounded(w, i)) return 0;
    }
    return store && cg__mm_is_rounded(w, store) ? store : 0;
}

/* Vectors of a strip per lane, and the condition under which a lane has one. */
static int cg__mm_strip_vectors(int cols) {
    return cols < 16 ? 1 : cols / 16;
}

static const char *cg__mm_has_vector(int cols) {
    return cols < 16 ? "lane < 16 && " : "";
}

/* "fetch": loads the vectors of a strip of the LOAD into "held". */
static void cg__mm_write_fetch(ind__writer *w, const cg__mm_problem *p, uint32_t load, int cols) {
    ind__textf(&w->code, "ind_vec<unsigned short, 8> held[%d];\n", cg__mm_strip_vectors(cols));
    ind__textf(&w->code, "const auto fetch = [&](int strip) {\n");
    w->code.indent++;
    w->scope++;
    cg__mm_set_plain_names(w);
    cg__unroll(w);
    cg__begin(w, "for (int u = 0; u < %d; u++)", cg__mm_strip_vectors(cols));
    ind__textf(&w->code, "const int at = u * 32 + lane;\n");
    ind__textf(&w->code, "const %s i%d = tile_m + warp * 16 + at / %d, i%d = tile_n + strip * %d + at %% %d * 8;\n",
               cg__int(w), p->m, cols / 8, p->n, cols, cols / 8);
    ind__textf(&w->code, "if (%si%d < size_m && i%d < size_n) held[u] = ind_load<8>(&%s);\n", cg__mm_has_vector(cols),
               p->m, p->n, cg__element(w, load));
    cg__end(w);
    cg__mm_end_lambda(w);
    ind__textf(&w->code, "fetch(%s);\n", cg__mm_first_strip(w));
}

/* The vectors of the strip to shared memory; those of the next one are fetched. */
static void cg__mm_write_held(ind__writer *w, int cols) {
    cg__unroll(w);
    ind__textf(&w->code,
               "for (int u = 0; u < %d; u++)\n    %sind_store(rounded + (u * 32 + lane) / %d * %d + lane %% %d * 8, "
               "held[u]);\n",
               cg__mm_strip_vectors(cols), cols < 16 ? "if (lane < 16) " : "", cols / 8, cols + 8, cols / 8);
    ind__textf(&w->code, "__syncwarp();\nif (strip + 1 < %s) fetch(strip + 1);\n",
               cg__mm_end_strip(w, cg__mm_columns(w->variant) / cols));
}

/* Two adjacent results of a row: "y". */
static void cg__mm_write_pair(ind__writer *w, const cg__mm_problem *p, uint32_t store, int cols) {
    cg__emit(w, ~(1u << p->n), IND__CG_ALL_STAGES);
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__mm_is_vector_load(w, i)) continue;
        const char *from = cg__mm_is_2d(w, p, i) ? cg__string(w, "rounded + row * %d + col", cols + 8)
                                                 : cg__string(w, "&%s", cg__element(w, i));
        ind__textf(&w->code, "const ind_vec<%s, 2> x%u = ind_load<2>(%s);\n", cg__types[cg__memory_dtype(w, i)].memory,
                   i, from);
        w->memory[i] = cg__string(w, "x%u.at[j]", i);
    }
    w->memory[store] = "y.at[j]";
    cg__unroll(w);
    cg__begin(w, "for (int j = 0; j < 2; j++)");
    cg__mm_set_text(w, p->n, cg__string(w, "(i%d + j)", p->n));
    cg__emit(w, IND__CG_ALL_VARS, IND__CG_ALL_STAGES);
    cg__end(w);
    cg__mm_set_plain_names(w);
    cg__forget_vectors(w);
}

/* The results of a strip of 16 rows: from registers to shared memory. Sums beyond the edges have the indices of others,
   without a branch: the pairs are then computed together. Their results are not stored. */
static void cg__mm_write_pairs(ind__writer *w, const cg__mm_problem *p, uint32_t store, int cols) {
    cg__unroll(w);
    cg__begin(w, "for (int u = 0; u < %d; u++)", cols / 4);
    ind__textf(&w->code, "const int row = u %% 2 * 8 + lane / 4, col = u / 2 * 8 + lane %% 4 * 2;\n");
    ind__textf(&w->code, "const %s i%d = first_m + row < size_m ? first_m + row : 0;\n", cg__int(w), p->m);
    ind__textf(&w->code, "const %s i%d = first_n + col < size_n ? first_n + col : 0;\n", cg__int(w), p->n);
    ind__textf(&w->code, "const %s dot[2] = {part[u / 2][u %% 2 * 2], part[u / 2][u %% 2 * 2 + 1]};\n",
               cg__mm_sum_type(p));
    if (p->dot2)
        ind__textf(&w->code, "const float dot2[2] = {part2[u / 2][u %% 2 * 2], part2[u / 2][u %% 2 * 2 + 1]};\n");
    ind__textf(&w->code, "ind_vec<unsigned short, 2> y;\n");
    cg__mm_write_pair(w, p, store, cols);
    ind__textf(&w->code, "ind_store(rounded + row * %d + col, y);\n", cols + 8);
    cg__end(w);
}

/* Writes the epilogue of all strips of a warp, whose shared memory is `sum`. */
static void cg__mm_write_rounded_strips(ind__writer *w, const cg__mm_problem *p, uint32_t store, int cols) {
    ind__textf(&w->code,
               "unsigned short *const rounded = reinterpret_cast<unsigned short *>(sum);\n#pragma unroll 1\n");
    const int strips = cg__mm_columns(w->variant) / cols;
    cg__begin(w, "for (int strip = %s; strip < %s; strip++)", cg__mm_first_strip(w), cg__mm_end_strip(w, strips));
    ind__textf(&w->code, "%s part[%d][4];\nind_strip_part(part, acc, strip);\n", cg__mm_sum_type(p), cols / 8);
    if (p->dot2)
        ind__textf(&w->code, "float part2[%d][4];\nind_strip_part(part2, acc, strip + %d);\n", cols / 8, strips);
    ind__textf(&w->code, "const %s first_m = tile_m + warp * 16, first_n = tile_n + strip * %d;\n", cg__int(w), cols);
    cg__mm_set_plain_names(w);
    if (cg__mm_rounded_load(w, p)) cg__mm_write_held(w, cols);
    cg__mm_write_pairs(w, p, store, cols);
    ind__textf(&w->code, "__syncwarp();\n");
    cg__unroll(w);
    cg__begin(w, "for (int u = 0; u < %d; u++)", cg__mm_strip_vectors(cols));
    ind__textf(&w->code, "const int at = u * 32 + lane, row = at / %d, col = at %% %d * 8;\n", cols / 8, cols / 8);
    ind__textf(&w->code, "const %s i%d = first_m + row, i%d = first_n + col;\n", cg__int(w), p->m, p->n);
    ind__textf(&w->code, "if (%si%d < size_m && i%d < size_n) ind_store(&%s, ind_load<8>(rounded + row * %d + col));\n",
               cg__mm_has_vector(cols), p->m, p->n, cg__element(w, store), cols + 8);
    cg__end(w);
    ind__textf(&w->code, "__syncwarp();\n");
    cg__end(w);
    cg__use(w, IND__CG_STRIP_SUMS);
}

/* ====================================================================================== src/cuda/decide/pointwise.c */
/* -------------------------------------------------------------------------------------------------- >>choose */

/* True if tiled loads vectorise by n along y, and at least one store by n along x. */
static bool cg__try_tile_vector(cg__decider *d, int x, int y, int n, int size) {
    ind_expr guard = {0};
    bool aligned = false, stores = false;
    int narrowest = 16, widest = 0, tiles = 0, shared = 0;
    cg__no_vectors(d);
    for (uint32_t i = 1; i < d->w.body->num_inst; i++) {
        const bool tiled = cg__through_tile(&d->w, i, x, y);
        if (!cg__is_access(&d->w, i)) continue;
        const bool fits = cg__vector_access(d, i, tiled ? y : x, n, &guard, &aligned);
        if (tiled && !fits) return false;
        if (!fits) continue;
        d->plan->vector[i] = (uint8_t)n;
        const int bytes = ind_dtype_bytes(cg__memory_dtype(&d->w, i));
        tiles += tiled;
        shared += tiled ? size * (size * bytes + 8) : 0; /* 8: most bytes of padding per row */
        stores |= cg__inst(&d->w, i)->op == IND_LOOP_STORE;
        narrowest = bytes < narrowest ? bytes : narrowest;
        widest = bytes > widest ? bytes : widest;
    }
    if (!stores || tiles > IND__CG_MAX_TILES || shared > IND__CG_MAX_TILE_BYTES) return false;
    if (narrowest * n > 16 || widest * n > 32) return false;
    for (int k = 0; k < 2; k++)
        if (!cg__multiple(d, d->plan->domain.extent[k ? y : x], n, &guard)) return false;
    if (ind__ok(guard)) cg__guard(d->variant, guard);
    d->variant->guard_aligned |= aligned;
    return true;
}

/* True if tiles of this size are full, and enough of them keep all SMs busy. */
static bool cg__suits_tile(const ind__writer *w, int x, int y, int size) {
    const double tiles = (double)ind_hint(cg__p_numel(w)) / ((double)size * size);
    const bool full = ind_hint(w->plan->domain.extent[x]) >= size && ind_hint(w->plan->domain.extent[y]) >= size;
    return full && tiles >= (double)w->target->thresholds.tiles_per_sm * w->target->num_sms;
}

/* The side of tiles for vectors of n; 0: none suits. A warp reads 8 vectors side by side, and each thread writes at
   least one vector per y of a group. 256 bytes along either side, two lines of the L2, are better while shared memory
   has the capacity for several tiles. */
static int cg__vector_tile(const ind__writer *w, int x, int y, int n, int group, int bytes) {
    int size = 32;
    while (size < 8 * n || size * size < 256 * n * group) size *= 2;
    if (!cg__suits_tile(w, x, y, size)) return 0;
    const ind_thresholds *t = &w->target->thresholds;
    while (size < t->tile_side && size * bytes < t->tile_side_bytes && cg__suits_tile(w, x, y, 2 * size)) size *= 2;
    return size;
}

static bool cg__choose_tile_vector(cg__decider *d, int x, int y) {
    ind__variant *v = d->variant;
    const ind_thresholds *t = &d->w.target->thresholds;
    const int bytes = cg__widest_tile(&d->w, x, y), group = bytes < 4 ? 4 / bytes : 1;
    for (int n = 16; n >= group && n >= 2 && v->threads == t->pointwise_threads; n /= 2) {
        const int size = cg__vector_tile(&d->w, x, y, n, group, bytes);
        if (!size || !cg__try_tile_vector(d, x, y, n, size)) continue;
        v->vector = n;
        v->of.tile.m = v->of.tile.n = size;
        /* 64 x 64 x f32: 1024 threads with one vector each are faster than 256 with four, 189 and 193 us for 8192^2. */
        if (!d->part_threads)
            v->threads = cg__pow2_at_least(size * size / (n * group), t->pointwise_threads, IND__CG_MAX_THREADS);
        return true;
    }
    cg__no_vectors(d);
    return false;
}

static void cg__choose_transpose(cg__decider *d, int x, int y) {
    ind__variant *v = d->variant;
    ind_expr blocks[3];
    v->strategy = IND_STRATEGY_TRANSPOSE;
    const bool vectors = cg__choose_tile_vector(d, x, y);
    if (!vectors)
        v->of.tile.m = v->of.tile.n =
            cg__widest_tile(&d->w, x, y) <= 2 ? d->w.target->thresholds.tile_narrow : d->w.target->thresholds.tile_wide;
    v->per_thread = v->of.tile.m * v->of.tile.n / v->threads;
    cg__tile_blocks(&d->w, x, y, blocks);
    cg__set_axes(d, blocks);
    v->memory.shared = ind_int(d->w.context, 0);
    cg__why(d, "some loads are contiguous along another dimension than the stores: transposed through shared memory%s",
            vectors ? ", in vectors" : "");
}

/* The variable along which most bytes are contiguous (the innermost of equals); -1: none. Stores count twice, as
   scattered writes cost more. */
static int cg__best_pointwise(const ind__writer *w) {
    int best = -1;
    double most = 0;
    for (int v = w->plan->domain.rank - 1; v >= 0; v--) {
        double bytes = 0;
        for (uint32_t i = 1; i < w->body->num_inst; i++) {
            if (!cg__is_access(w, i) || !cg__in_runs(w, i, v)) continue;
            const int times = cg__inst(w, i)->op == IND_LOOP_STORE ? 2 : 1;
            bytes += times * ind_dtype_bytes(cg__memory_dtype(w, i)) * cg__share(w, i);
        }
        if (bytes <= most) continue;
        most = bytes;
        best = v;
    }
    return best;
}

/* The variable along which all stores are contiguous, if all loads that are contiguous along `other` fit in tiles; -1:
   none. A tile costs less than scalar stores, however many loads these would speed up. */
static int cg__stored_var(const ind__writer *w, int other) {
    for (int v = w->plan->domain.rank - 1; v >= 0; v--) {
        int tiles = 0;
        bool all = ind_hint(w->plan->domain.extent[v]) >= 8 && ind_hint(w->plan->domain.extent[other]) >= 8;
        for (uint32_t i = 1; all && i < w->body->num_inst; i++) {
            const bool along = cg__is_access(w, i) && cg__contiguous(w, i, v);
            if (cg__inst(w, i)->op == IND_LOOP_STORE)
                all = along;
            else if (cg__is_access(w, i) && !along && cg__contiguous(w, i, other))
                tiles += ind__expr_depends(cg__index_of(w, i), w->plan->domain.var[v]);
        }
        if (all && tiles > 0 && tiles <= IND__CG_MAX_TILES) return v;
    }
    return -1;
}

/* True if a store rounds to a type of 8 or 16 bits. */
static bool cg__rounds(const ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (cg__inst(w, i)->op != IND_LOOP_STORE || !cg__narrow_of(cg__memory_dtype(w, i))) continue;
        const uint32_t x = cg__stored_value(w, i);
        if (cg__inst(w, x)->op != IND_LOOP_LOAD || cg__memory_dtype(w, x) != cg__memory_dtype(w, i)) return true;
    }
    return false;
}

/* Vectors per thread. One keeps the memory busy, unless the thread waits for an index first: then too few bytes are in
   flight most of the time (embedding of 65536 rows of 512 f32 on an H200: 69.5 us, with four 65.2). If elements are
   rounded, four cost more than that (bf16: 69.8 and 74.2). If there are few blocks, one vector per thread spreads them
   over more SMs. */
static int cg__pointwise_steps(const ind__writer *w) {
    bool gathers = false;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        gathers |= cg__gathers(w, i);
        if (cg__inst(w, i)->op == IND_LOOP_LOAD && cg__inst(w, i)->arg[0]) return 1;
    }
    const double vectors = (double)ind_hint(cg__p_numel(w)) / w->variant->vector;
    const bool busy =
        vectors >= (double)w->target->thresholds.gather_steps * w->target->sm_threads * w->target->num_sms;
    return gathers && busy && !w->plan->part && w->plan->domain.rank > 1 && !cg__rounds(w)
               ? w->target->thresholds.gather_steps
               : 1;
}

/* True if the op takes one or two instructions, and no registers besides its result. */
static bool cg__is_simple(const ind__inst *in) {
    const ind_loop_op op = (ind_loop_op)in->op;
    switch (op) {
    case IND_LOOP_NEG:
    case IND_LOOP_ABS:
    case IND_LOOP_ADD:
    case IND_LOOP_SUB:
    case IND_LOOP_MUL:
    case IND_LOOP_MAXIMUM:
    case IND_LOOP_MINIMUM:
    case IND_LOOP_CAST:
    case IND_LOOP_ROUND_F16:
    case IND_LOOP_ROUND_BF16:
    case IND_LOOP_NOT:
    case IND_LOOP_WHERE: return true;
    default: return ind__loop_op_class(op) == 'c' || (ind__loop_op_class(op) == 's' && op != IND_LOOP_INDIRECT);
    }
}

/* Resident blocks per SM in __launch_bounds__; 0: chosen by the compiler. For five vectors of 16 bytes the compiler
   takes 36 registers without a limit, which allows six blocks of 256 threads per SM; 30 suffice, for eight blocks. */
static int cg__pointwise_blocks(const ind__writer *w) {
    const ind_thresholds *t = &w->target->thresholds;
    const ind__variant *v = w->variant;
    int words = 0;
    if (v->vector == 1 || v->misaligned || v->per_thread != v->vector) return 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        const ind__inst *in = cg__inst(w, i);
        const bool index = in->op == IND_LOOP_INDEX || in->op == IND_LOOP_CONSTANT;
        if (!cg__is_simple(in) || (!index && ind_dtype_bytes((ind_dtype)in->dtype) > 4)) return 0;
        if (in->op != IND_LOOP_LOAD ||
            !ind__expr_depends(cg__index_of(w, i), w->plan->domain.var[w->plan->domain.rank - 1]))
            continue;
        if (w->plan->vector[i] != v->vector) return 0;
        words += v->vector * ind_dtype_bytes(cg__memory_dtype(w, i)) / 4;
    }
    return words > t->few_words && words <= t->full_words ? w->target->sm_threads / v->threads : 0;
}

static void cg__choose_pointwise(cg__decider *d) {
    ind__variant *v = d->variant;
    int best = cg__best_pointwise(&d->w);
    const int stored = best >= 0 ? cg__stored_var(&d->w, best) : -1;
    if (stored >= 0) best = stored;
    if (best >= 0 && best != d->plan->domain.rank - 1) cg__move_last(d, best);
    cg__merge_vars(d);
    cg__analyse(d);
    cg__choose_index_bits(d);
    v->threads = d->part_threads ? d->part_threads : d->w.target->thresholds.pointwise_threads;
    v->vector = v->rows = v->per_thread = 1;
    d->plan->tile_y = cg__transposed_var(&d->w);
    if (d->plan->tile_y >= 0) {
        cg__choose_transpose(d, d->plan->domain.rank - 1, d->plan->tile_y);
        return;
    }
    v->strategy = IND_STRATEGY_POINTWISE;
    const ind_expr guard = v->guard;
    const bool aligned = v->guard_aligned;
    if (d->plan->domain.rank > 0) {
        v->vector = cg__choose_vector(d, d->plan->domain.rank - 1, d->plan->domain.rank == 1);
        v->vector = cg__shift_points(d, v->vector, guard, aligned);
    }
    v->per_thread = v->vector * (v->misaligned ? 1 : cg__pointwise_steps(&d->w));
    v->blocks_per_sm = cg__pointwise_blocks(&d->w);
    ind_expr points = cg__p_numel(&d->w);
    if (d->plan->starts_misaligned) points = ind_expr_add(points, ind_int(d->w.context, v->vector - 1));
    cg__grid(d, points, (int64_t)v->threads * v->per_thread);
    if (v->misaligned)
        cg__why(d, "%d elements per thread: vectors aligned to the stores, peeled edges", v->vector);
    else if (v->vector > 1)
        cg__why(d, "%d elements per thread: %s", v->vector,
                v->guard_aligned ? "vectors, as the pointers are aligned" : "vectors are proven to be aligned");
    else
        cg__why(d, "one element per thread: %s",
                d->assume ? "the accesses do not vectorise" : "alignment is not assumed");
    cg__choose_masked(d);
}

/* Bytes of shared memory per thread for the states of all reductions. */
static int cg__state_bytes(const ind__writer *w) {
    int sum = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__inst(w, i)->op == IND_LOOP_REDUCE) sum += cg__state_bytes_of(w, i);
    return sum;
}

/* Threads along the contiguous P variable, and as many rows of threads as fill the GPU. */
static void cg__choose_column(cg__decider *d) {
    ind__variant *v = d->variant;
    int64_t outputs = ind_hint(cg__p_numel(&d->w)), length = ind_hint(cg__r_numel(&d->w));
    const ind_thresholds *t = &d->w.target->thresholds;
    bool enough = outputs >= (int64_t)d->w.target->num_sms * t->column_outputs || length < t->column_few_rows;
    v->strategy = IND_STRATEGY_COLUMN;
    v->rows = enough ? t->column_threads : 32;
    v->threads = enough ? t->column_threads : 32 * cg__pow2_at_least(length / t->column_few_rows, 4, 32);
    while (v->threads > v->rows && v->threads * cg__state_bytes(&d->w) > IND__CG_STATIC_SHARED) v->threads /= 2;
    v->vector = 1;
    v->per_thread = 1;
    cg__grid(d, cg__p_numel(&d->w), v->rows);
    cg__why(d, "loads are contiguous along an output dimension: %d columns per block, %d threads per column", v->rows,
            v->threads / v->rows);
}

/* ======================================================================================= src/cuda/decide/row_warp.c */
/* ---- short rows: lanes per row, and rows whose loads the same lanes have in flight together */

#define IND__CG_MAX_BATCH 8 /* rows per group of lanes whose loads are in flight together */

/* Work of a kernel per row. */
typedef struct cg__row_work {
    int loads, stores; /* per element */
    int bytes;         /* loaded per vector of a row */
    int once;          /* instructions per row */
    double words;      /* cg__resident_words */
    bool few;          /* one warp per row does not fill the GPU */
} cg__row_work;

/* Likely number of rows. Rows of another length than the hinted one are assumed to have as many elements in total. */
static int64_t cg__likely_rows(const ind__writer *w) {
    const int64_t rows = ind_hint(cg__p_numel(w)), likely = cg__likely_row(w);
    return w->variant->range.to ? (int64_t)((double)rows * (double)ind_hint(cg__r_numel(w)) / (double)likely) : rows;
}

static cg__row_work cg__find_row_work(const ind__writer *w) {
    cg__row_work x = {.words = cg__resident_words(w)};
    x.few = cg__likely_rows(w) < (int64_t)w->target->num_sms * w->target->sm_threads / 32;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        const uint8_t op = cg__inst(w, i)->op;
        x.once += op != IND_LOOP_CONSTANT && !(w->plan->varies[i] & cg__r_mask(w));
        if (!cg__is_access(w, i) || !(w->plan->varies[i] & cg__r_mask(w))) continue;
        x.stores += op == IND_LOOP_STORE;
        if (op == IND_LOOP_STORE || !(w->plan->varies[i] & cg__p_mask(w))) continue; /* the same for all rows: cached */
        x.bytes += w->plan->vector[i] * ind_dtype_bytes(cg__memory_dtype(w, i));
        x.loads++;
    }
    if (!x.loads) x.loads = 1, x.bytes = w->target->thresholds.flight_bytes; /* rows without loads */
    return x;
}

/* Units of `unit` bytes (lines, sectors) that a step of a row's lanes touches, if rows are adjacent in memory. */
static double cg__touched(double run, double row, int unit) {
    return run > unit ? run / unit : row < unit ? row / unit : 1;
}

/* Cost of a row of so many vectors with so many lanes. With few rows: the steps of a lane, which are sequential, and
   idle lanes. With many rows, whose threads compete: the instructions of all lanes, idle ones too, per element and per
   row, to which combine steps add about 16; per access of a step the lines that the L1 looks up, and for stores the
   sectors that go to the L2. Weights: sums, losses, norms and softmax of rows of 3 to 1024 bf16 and f32 with 1 to 32
   lanes on an H200. */
static double cg__lanes_cost(const ind_thresholds *t, const cg__row_work *x, int64_t vectors, int vector, int lanes) {
    const int64_t steps = (vectors + lanes - 1) / lanes;
    if (x->few) return (double)(steps * lanes) * (1 + t->step_percent / 100.0 * (double)(steps - 1));
    const double bytes = (double)x->bytes / x->loads, row = bytes * (double)vectors;
    const double run = lanes < vectors ? bytes * lanes : row;
    const double lines = cg__touched(run, row, IND__CG_LINE_BYTES),
                 sectors = cg__touched(run, row, IND__CG_SECTOR_BYTES);
    return (double)lanes * (double)(t->row_cost + x->once + steps * vector) +
           (double)steps *
               (lines * (t->load_cost * x->loads + t->store_cost * x->stores) + sectors * t->sector_cost * x->stores);
}

/* The same for the edges of a row: iterations of one element per lane, which touch two lines. */
static double cg__edges_cost(const ind_thresholds *t, const cg__row_work *x, int most, int lanes) {
    const int rounds = (most + lanes - 1) / lanes;
    return rounds * (double)(lanes * t->edge_cost + 2 * (t->load_cost * x->loads + t->store_cost * x->stores));
}

/* True if a lane can keep so many vectors of a row while enough other lanes are resident. */
static bool cg__lane_holds(const ind_thresholds *t, const cg__row_work *x, int64_t vectors, int vector) {
    if (vectors * vector > t->lane_elements) return false;
    if (x->few || vectors == 1) return true;
    return vectors * x->bytes <= (x->stores ? 1 : 2) * t->flight_bytes &&
           x->words * (double)(vectors * vector) <= t->lane_registers;
}

/* Rows per group of lanes whose loads start together: as many as give a thread FLIGHT_BYTES in flight, as long as there
   are rows for all threads of the GPU. */
static int cg__choose_batch(const ind__writer *w, int lanes, int bytes) {
    const int64_t rows = cg__likely_rows(w), fill = (int64_t)w->target->num_sms * w->target->sm_threads / lanes;
    int batch = 1;
    while (batch < IND__CG_MAX_BATCH && 2 * batch * bytes <= w->target->thresholds.flight_bytes &&
           rows / (2 * batch) >= fill)
        batch *= 2;
    return batch > 1 && !w->kernel->run ? batch : 0;
}

/* Plans a row in the registers of up to 32 lanes, within the limit per lane. */
static void cg__choose_row_warp(cg__decider *d, int64_t longest) {
    ind__variant *v = d->variant;
    const int rest = v->misaligned ? 0 : v->vector - 1; /* elements that need another vector, unless they are edges */
    const int edges = v->misaligned ? v->vector + cg__misaligned_reach(&d->w) - 2 : 0; /* at most */
    const int64_t vectors = (longest + rest) / v->vector;
    const int64_t likely = (cg__likely_row(&d->w) + rest) / v->vector;
    const cg__row_work x = cg__find_row_work(&d->w);
    const ind_thresholds *t = &d->w.target->thresholds;
    int best = 32;
    const bool exchange =
        d->w.kernel->run ||
        d->plan->handover; /* warps synchronise at the end of a run, or of the first part of a launch */
    double least = cg__lanes_cost(t, &x, likely, v->vector, best) + cg__edges_cost(t, &x, edges, best);
    for (int lanes = 16; lanes * t->edge_rounds >= edges && lanes && !exchange; lanes /= 2) {
        if (!cg__lane_holds(t, &x, (vectors + lanes - 1) / lanes, v->vector)) break;
        const double cost = cg__lanes_cost(t, &x, likely, v->vector, lanes) + cg__edges_cost(t, &x, edges, lanes);
        if (cost < least) best = lanes, least = cost;
    }
    v->strategy = IND_STRATEGY_ROW_WARP;
    v->threads = t->warp_threads;
    v->rows = v->threads / best;
    v->per_thread = (int)((vectors + best - 1) / best) * v->vector;
    cg__why(d, "rows of at most %lld elements fit into the registers of %d lanes", (long long)longest, best);
    if (!v->misaligned && !exchange)
        v->of.row.batch = cg__choose_batch(&d->w, best, v->per_thread / v->vector * x.bytes);
    if (!v->of.row.batch) return;
    v->rows *= v->of.row.batch;
    cg__why(d, "%s; each group of lanes has %d rows in flight", v->why, v->of.row.batch);
}

/* Registers of a thread for its part of a row, of 65536 per SM. A run's columns and their addresses take registers
   too. */
static int cg__row_registers(const ind__writer *w, int threads) {
    const ind_thresholds *t = &w->target->thresholds;
    const bool wide = threads == IND__CG_MAX_THREADS;
    if (w->kernel->run) return wide ? t->run_wide_registers : t->run_block_registers;
    return wide ? t->wide_registers : t->row_registers;
}

/* The fewest threads, in whole warps, for so many vectors in so many iterations. */
static int cg__threads_of(int64_t vectors, int rounds) {
    return (int)((vectors + 32 * (int64_t)rounds - 1) / (32 * (int64_t)rounds)) * 32;
}

/* True if rows are gathered by an index from memory: two dependent loads precede a block's work. */
static bool cg__gathers_rows(const ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__inst(w, i)->op == IND_LOOP_LOAD && w->plan->varies[i] & cg__r_mask(w) &&
            ind__expr_has_kind(cg__index_of(w, i), IND_SYMBOL_INDIRECT))
            return true;
    return false;
}

/* ====================================================================================== src/cuda/decide/row_block.c */
/* Passes that a block makes over memory if it does not keep the row. */
static int cg__looped_passes(const ind__writer *w) {
    cg__pass pass[IND__CG_MAX_PASSES];
    ind__variant looped = *w->variant;
    ind__writer view = *w;
    looped.strategy = IND_STRATEGY_ROW_LOOPED;
    view.variant = &looped;
    return cg__passes(&view, pass);
}

/* True if few elements per thread suit the row: 16-bit elements that are used again after a combine step. NVRTC takes
   less time (layer_norm of 4096 bf16: 61 ms with 32 elements, 47 with 16). As many rows are in flight if a thread has
   no more registers than its kept values need: layer_norm of 4096, 3000, 2560 and 2304 bf16 99, 95, 92, 90 % of copy
   bandwidth with 32 or 24 elements, and with 16 100, 98, 100, 97 in 40 registers, but 92, 90, 94, 93 in 64 (H200). More
   than 256 threads are slower (of 8192 100 and 93); so are gathered rows (embedding and layer_norm 95 and 93) and f32
   (3000 101 and 98). */
static bool cg__may_have_few(ind__writer *w) {
    const ind__variant *v = w->variant;
    return v->vector > 4 && v->vector <= w->target->thresholds.few_elements && !v->misaligned && !w->plan->part &&
           !w->kernel->run && cg__looped_passes(w) > 1 && !cg__gathers_rows(w);
}

/* True if the variant has few elements per thread. Some row lengths and tuned variants have more. */
static bool cg__has_few(ind__writer *w) {
    return cg__may_have_few(w) && w->variant->per_thread <= w->target->thresholds.few_elements &&
           w->variant->threads <= w->target->thresholds.few_threads;
}

/* Registers per thread, rounded up to the allocation unit of 8: the loads of a row that is only reduced, or the kept
   values of few elements, and the rest of the kernel. Else half of the registers that each of 512 threads may have. */
static int cg__needed_registers(ind__writer *w, bool reduces) {
    const int resident = (int)ceil(cg__resident_words(w) * w->variant->per_thread);
    if (!reduces && !cg__has_few(w)) return w->target->thresholds.full_registers;
    const int needed =
        ((reduces ? cg__waiting_registers(w) : resident) + w->target->thresholds.other_registers + 7) / 8 * 8;
    return reduces || needed < w->target->thresholds.full_registers ? needed : w->target->thresholds.full_registers;
}

/* Blocks for which an SM has the registers and threads. A quarter of an SM allocates registers to whole warps. */
static int cg__blocks_of(const ind__writer *w, int registers) {
    const int most = w->target->sm_threads / 32;
    const int warps = w->target->sm_registers / 4 / (32 * registers) * 4;
    return (warps < most ? warps : most) / (w->variant->threads / 32);
}

/* True if several blocks fit on an SM without a register limit. */
static bool cg__fit_anyway(ind__writer *w) {
    return w->variant->threads < w->target->thresholds.small_block && !cg__gathers_rows(w) && !cg__has_few(w);
}

/* Sets the register limit of a block with a misaligned row, one fallback after another; the first limits come from a
   formula. False: all have been tried, or the row is better looped over, as below (cross entropy of 36007 bf16: 65 % of
   copy bandwidth, 92 by a loop; sum 86 and 105). */
static bool cg__limit_shifted_blocks(cg__decider *d) {
    ind__variant *v = d->variant;
    if (2 * v->threads > d->w.target->thresholds.full_threads && !d->plan->part && cg__looped_passes(&d->w) == 1)
        return false;
    const int many = cg__misaligned_blocks(&d->w, cg__least_registers(&d->w)),
              some = cg__misaligned_blocks(&d->w, d->w.target->thresholds.least_registers);
    const int bounded = many > some ? 2 : 1; /* fallbacks with a limit */
    v->blocks_per_sm = d->alternative == 0 ? many : some;
    if (d->plan->part || v->blocks_per_sm < 2) return true;
    d->more_alternatives = d->alternative < bounded + 1;
    if (d->alternative >= bounded) v->blocks_per_sm = 1;
    if (d->alternative >= bounded) cg__why(d, "%s; one block per SM, without a register limit", v->why);
    return d->alternative < bounded + 1;
}

/* Sets the register limit of a block with a row, one fallback after another; false: all have been tried. A block that
   waits at a combine step moves no data, so other blocks should be resident: with 64 registers per thread an SM has
   1024 threads, in several blocks, and more if the row is only reduced or a thread has few elements, which take fewer
   registers. The build shows whether they suffice.

   A row that is only reduced is not kept if its block would be alone on an SM: a loop also reads it once, and does not
   wait (cross entropy of 40000 bf16 74 and 92 % of copy bandwidth, of 36008, two blocks, 101 and 94). A part of a
   launch, which may have few rows, loops only if it takes all 1024 threads. Below 256 threads several blocks fit
   without a limit, which suffices unless rows are gathered (embedding and layer_norm of 2048 bf16: 0.93 and 0.98 of
   copy bandwidth, H200). */
static bool cg__limit_blocks(cg__decider *d) {
    ind__variant *v = d->variant;
    if (v->misaligned) return cg__limit_shifted_blocks(d);
    const bool reduces = cg__looped_passes(&d->w) == 1;
    const ind_thresholds *t = &d->w.target->thresholds;
    const int least = cg__needed_registers(&d->w, reduces),
              fewest = least < t->full_registers ? 2 : 1; /* fallbacks with a limit */
    const bool alone = d->plan->part ? v->threads == t->full_threads : cg__blocks_of(&d->w, least) < 2;
    if (reduces && !d->w.kernel->run && alone) return false;
    if (d->plan->part || d->w.kernel->run || cg__fit_anyway(&d->w)) return true;
    const bool may = v->threads < t->full_threads && (reduces || v->per_thread <= t->bounded_elements);
    const bool few = may && least <= t->full_registers && d->alternative < fewest;
    const int registers = d->alternative == 0 ? least : t->full_registers;
    d->more_alternatives = d->alternative < (may ? fewest + 1 : 1);
    if (few) v->blocks_per_sm = cg__blocks_of(&d->w, registers);
    if (few)
        cg__why(d, "%s; %d registers per thread for %d resident blocks per SM", v->why, registers, v->blocks_per_sm);
    else if (may)
        cg__why(d, "%s; without the limit of %d registers per thread", v->why, t->full_registers);
    return few || d->more_alternatives;
}

/* Fits the warps of a block for a range of row lengths to the launch's row, with as many elements per thread as in the
   longest row. So rows of any length fill the iterations of a block, and SMs have as many threads. */
static void cg__fit_threads(cg__decider *d) {
    ind__variant *v = d->variant;
    ind_context *c = d->w.context;
    if (!v->range.to || d->plan->part || v->of.row.segments) return;
    ind_expr vectors = v->misaligned ? ind_expr_floordiv(cg__r_numel(&d->w), ind_int(c, v->vector))
                                     : ind_expr_ceildiv(cg__r_numel(&d->w), ind_int(c, v->vector));
    if (d->plan->row_from < v->vector)
        vectors = ind_expr_max(vectors, ind_int(c, 1)); /* edges and results need a warp too */
    v->of.row.fitted =
        ind_expr_mul(ind_expr_ceildiv(vectors, ind_int(c, (int64_t)32 * v->per_thread / v->vector)), ind_int(c, 32));
    if (!ind__ok(v->of.row.fitted)) cg__fail(&d->w);
    cg__why(d, "%s; each launch has as many warps as its rows need", v->why);
}

/* True if the row length is known at launch, but not when the plan is made. */
static bool cg__knows_at_launch(const ind__writer *w) {
    const ind_expr row = cg__r_numel(w);
    return !w->plan->part && !w->plan->handover && !w->kernel->run && ind__expr_is_size(row) &&
           !ind_expr_is_int(row, NULL) && !ind__expr_has_kind(row, IND_SYMBOL_UNBACKED);
}

/* Fits the warps to the launch's row: four iterations per thread, or the maximum of threads. */
static void cg__fit_loop_threads(cg__decider *d) {
    ind__variant *v = d->variant;
    ind_context *c = d->w.context;
    const ind_expr warps =
        ind_expr_ceildiv(cg__r_numel(&d->w), ind_int(c, (int64_t)32 * d->w.target->thresholds.loop_steps * v->vector));
    if (v->threads < d->w.target->thresholds.loop_threads) v->threads = d->w.target->thresholds.loop_threads;
    v->of.row.fitted =
        ind_expr_max(ind_int(c, 32), ind_expr_min(ind_int(c, v->threads), ind_expr_mul(warps, ind_int(c, 32))));
    if (!ind__ok(v->of.row.fitted)) cg__fail(&d->w);
}

/* True if a reduction returns positions along the row. */
static bool cg__returns_positions(const ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__inst(w, i)->op == IND_LOOP_REDUCE && cg__inst(w, i)->reduction == IND_REDUCE_ARGMAX) return true;
    return false;
}

/* Lanes per segment. With scalar accesses a warp's elements begin and end inside a sector, which is then written twice.
   With a few idle lanes they begin at a sector boundary, if it has the same offset in all segments. (7 x 7: f32 58 to
   63 % of copy bandwidth, bf16 47 to 52.) */
static int64_t cg__lanes_of_segment(const ind__writer *w) {
    const int64_t vectors = cg__segment_vectors(w);
    const uint32_t i = cg__segment_store(w);
    if (w->variant->vector > 1 || w->variant->strategy != IND_STRATEGY_ROW_BLOCK || !i) return vectors;
    const ind_expr apart = ind_expr_sub(cg__segment_start(w, i, 1), cg__segment_start(w, i, 0));
    const int sector = cg__sector_elements(w, i);
    const int64_t lanes = (vectors + sector - 1 + 31) / 32 * 32;
    return ind_known_multiple(apart, sector) && (lanes - vectors) * w->target->thresholds.segment_extra <= vectors
               ? lanes
               : vectors;
}

/* Assigns `each` lanes to a segment, if that leaves at most a sixteenth of the lanes idle. */
static bool cg__take_segments(cg__decider *d, int lanes, int64_t each) {
    const int64_t segments = lanes / each;
    if (!segments || (lanes - segments * each) * d->w.target->thresholds.segment_idle > lanes) return false;
    d->variant->of.row.segments = (int)segments;
    d->variant->of.row.segment_lanes = (int)each;
    return true;
}

/* Chooses whole segments per iteration of so many lanes, if possible; returns the vectors per iteration. (A channel of
   256 segments of 7 x 7 f32 in 512 threads: 96 registers and one block per SM; with whole segments 48 and two. 54 and
   58 % of copy bandwidth, bf16 36 and 47.) */
static int64_t cg__choose_segments(cg__decider *d, int lanes) {
    const int64_t vectors = cg__segment_vectors(&d->w);
    d->variant->of.row.segments = d->variant->of.row.segment_lanes = 0;
    if (!vectors || d->variant->misaligned || d->w.kernel->run || d->plan->handover || cg__returns_positions(&d->w))
        return lanes;
    const bool taken = cg__take_segments(d, lanes, cg__lanes_of_segment(&d->w)) || cg__take_segments(d, lanes, vectors);
    return taken ? cg__row(&d->w)->segments * vectors : lanes;
}

/* 32-bit words per element of the row: staged loads, computed values that are used again, and operands that all rows
   share. */
typedef struct cg__row_value_words {
    double staged, values, common;
} cg__row_value_words;

static cg__row_value_words cg__count_value_words(const ind__writer *w) {
    cg__row_value_words words = {0};
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        double memory = ind_dtype_bytes(cg__inst(w, i)->op == IND_LOOP_LOAD ? cg__memory_dtype(w, i) : IND_F32) / 4.0;
        if (cg__is_staged(w, i))
            words.staged += memory;
        else if (cg__is_row_load(w, i))
            words.common += memory;
        else if (w->plan->resident[i])
            words.values += ind_dtype_bytes((ind_dtype)cg__inst(w, i)->dtype) > 4 ? 2 : 1;
    }
    return words;
}

/* True if the blocks of warp_blocks fit on an SM when a lane keeps its part of the row in words of at least `least`
   bytes. */
static bool cg__warp_blocks_fit(const ind__writer *w, int least) {
    const ind__variant *v = w->variant;
    const int words =
        (int)(cg__count_value_words(w).values * v->per_thread) + cg__misaligned_words(w, v->per_thread, least);
    return (w->target->thresholds.warp_registers + words) * v->threads * w->target->thresholds.warp_blocks <=
           w->target->sm_registers;
}

/* Sets the register limit for rows in the registers of lanes. Without a limit ptxas may also keep values that it
   converted to f32. Then too few blocks are resident to hide memory latency (layer_norm of 1000: bf16 97.9 and 93.6 %
   of copy bandwidth with and without a limit, f16 97.5 and 91.6, H200). The limit is set only if values fit in their
   memory format, but not as f32 (f32: 97.2 % without, 76.6 with a limit). */
static void cg__limit_warp_blocks(cg__decider *d) {
    ind__variant *v = d->variant;
    if (v->misaligned) {
        v->blocks_per_sm =
            d->alternative == 0 ? cg__misaligned_blocks(&d->w, d->w.target->thresholds.least_registers) : 1;
        d->more_alternatives = !d->plan->part && d->alternative == 0 && v->blocks_per_sm > 1;
        if (d->alternative > 0) cg__why(d, "%s; one block per SM, without a register limit", v->why);
        return;
    }
    if (v->of.row.batch || d->w.kernel->run || d->plan->part || !cg__warp_blocks_fit(&d->w, 1) ||
        cg__warp_blocks_fit(&d->w, 4))
        return;
    d->more_alternatives = d->alternative == 0;
    if (d->alternative > 0) return;
    v->blocks_per_sm = d->w.target->thresholds.warp_blocks;
    cg__why(d, "%s; %d resident blocks per SM", v->why, v->blocks_per_sm);
}

/* The fewest threads to try for a row in the registers of a block. For 16-bit elements that are only reduced, two per
   register, a thread has up to 64, so that several blocks fit on an SM, each with its whole row in flight (cross
   entropy of 10007, 12289 and 16001 bf16: 84, 91, 84 % of copy bandwidth with 32 per thread, 103, 104, 102 with 40 to
   64; sum of 10007: 99 and 108; cross entropy of 10000 84 and 104, H200). Not for rows of whole vectors that need fewer
   than 512 threads. For 16-bit elements that are used again a thread has few, if so many threads are allowed:
   cg__may_have_few. */
static int cg__least_threads(ind__writer *w, int64_t longest) {
    const ind__variant *v = w->variant;
    const ind_thresholds *t = &w->target->thresholds;
    const int threads = cg__pow2_at_least(longest / t->block_elements, 32 * t->block_warps, t->block_threads);
    if (cg__may_have_few(w)) {
        const int few = cg__threads_of((longest + v->vector - 1) / v->vector, t->few_elements / v->vector);
        if (few >= 32 * t->block_warps && few <= t->few_threads) return few;
    }
    if (v->vector <= 4 || threads < (v->misaligned ? t->small_block : t->block_threads) || cg__looped_passes(w) > 1)
        return threads;
    const int fewest = cg__threads_of(longest / v->vector, t->most_elements / v->vector);
    return fewest > t->small_block ? fewest : cg__pow2_at_least(fewest, 32 * t->small_warps, t->small_block);
}

/* Plans a row in the registers of a block; false if it is too long. */
static bool cg__choose_row_block(cg__decider *d, int64_t longest) {
    ind__variant *v = d->variant;
    const ind_thresholds *t = &d->w.target->thresholds;
    double words = cg__resident_words(&d->w);
    if (longest > t->register_row || cg__likely_row(&d->w) * t->likely_part < longest) return false;
    for (int threads = cg__least_threads(&d->w, longest); threads <= IND__CG_MAX_THREADS; threads *= 2) {
        v->strategy = IND_STRATEGY_ROW_BLOCK;
        int64_t per_vector = cg__choose_segments(d, threads) * v->vector;
        int64_t per_thread = (longest + (v->misaligned ? -v->vector : -1) + per_vector) / per_vector * v->vector;
        if (per_thread > t->most_elements || words * (double)per_thread > cg__row_registers(&d->w, threads)) continue;
        if (v->misaligned &&
            cg__misaligned_words(&d->w, (int)per_thread, 3) + t->other_registers > d->w.target->sm_registers / threads)
            continue;
        v->strategy = IND_STRATEGY_ROW_BLOCK;
        v->threads = threads;
        v->rows = 1;
        v->per_thread = (int)per_thread;
        if (v->misaligned) v->threads = cg__threads_of(longest / v->vector, (int)per_thread / v->vector);
        cg__why(d, "rows of at most %lld elements fit into the registers of a block", (long long)longest);
        cg__fit_threads(d);
        if (cg__limit_blocks(d)) return true;
        v->of.row.fitted = (ind_expr){0};
        break;
    }
    v->of.row.segments = 0;
    return false;
}

/* ===================================================================================== src/cuda/decide/row_staged.c */
static bool cg__reads_broadcast(const ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__inst(w, i)->op == IND_LOOP_LOAD && w->plan->varies[i] & cg__r_mask(w) && cg__is_broadcast(w, i))
            return true;
    return false;
}

/* True if every load that varies along the row and from row to row is copied by cp.async. Broadcast loads, of which all
   vectors of a warp take one element, are read where they are used: one sector bypasses shared memory for 512 bytes
   that are copied. */
static bool cg__can_stage(const ind__writer *w) {
    const bool whole_warps = ind_hint(w->plan->domain.extent[cg__num_vars(w) - 1]) >= 32 * w->variant->vector;
    bool any = false;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        const ind__inst *inst = cg__inst(w, i);
        if (inst->op == IND_LOOP_STORE && !(w->plan->varies[i] & cg__r_mask(w)) && cg__stores_over(w, i)) return false;
        bool row = w->plan->varies[i] & cg__r_mask(w) && w->plan->varies[i] & cg__p_mask(w);
        if (inst->op != IND_LOOP_LOAD || !row) continue;
        if (!cg__is_staged(w, i) && !(cg__is_broadcast(w, i) && whole_warps)) return false;
        any |= cg__is_staged(w, i);
    }
    return any && !ind__expr_has_kind(cg__p_numel(w), IND_SYMBOL_UNBACKED);
}

static int64_t cg__staged_bytes(const ind__writer *w) {
    return (int64_t)cg__row(w)->stage.num * 16 * cg__staged_words(w, w->body->num_inst) * w->variant->threads;
}

/* Bytes of a block's shared memory besides the rows: states of even and of odd rows, its own and the received ones, and
   barriers. */
static int64_t cg__exchange_bytes(const ind__writer *w) {
    const ind__variant *v = w->variant;
    const int states = cg__exchanges_by_warp(w) ? cg__exchange_states(w) : v->threads / 32 + v->of.row.cluster;
    const int64_t bytes = (int64_t)2 * states * cg__state_bytes(w) + 16 * cg__num_combine_steps(w);
    return (bytes + IND__CG_LINE_BYTES - 1) / IND__CG_LINE_BYTES * IND__CG_LINE_BYTES;
}

/* Sets the elements of a row per thread of the cluster. */
static void cg__share_row(cg__decider *d, int64_t longest) {
    ind__variant *v = d->variant;
    const int64_t per_vector = cg__choose_segments(d, v->threads * v->of.row.cluster) * v->vector;
    const int rest = v->misaligned ? v->vector : 1; /* the last elements of a misaligned row are edges */
    v->per_thread = (int)((longest + per_vector - rest) / per_vector) * v->vector;
}

/* True if each block has the capacity for its part of `stages` rows, and a lane for each edge of a row. */
static bool cg__has_stage_capacity(const ind__writer *w) {
    int64_t capacity = w->target->shared_per_sm / w->variant->blocks_per_sm - w->target->block_shared;
    if (capacity > w->target->shared_per_block) capacity = w->target->shared_per_block;
    return cg__staged_bytes(w) + cg__exchange_bytes(w) <= capacity && cg__edge_rounds(w) < 2;
}

/* The smallest cluster whose blocks have the capacity for `stages` rows each, with `blocks` of them on an SM and a lane
   for each edge of a row; false: none. */
static bool cg__choose_cluster(cg__decider *d, int64_t longest, int threads, int blocks, int stages) {
    ind__variant *v = d->variant;
    v->threads = threads;
    v->blocks_per_sm = blocks;
    v->of.row.stage.num = stages;
    for (v->of.row.cluster = 1; v->of.row.cluster <= d->max_cluster; v->of.row.cluster *= 2) {
        cg__share_row(d, longest);
        if (cg__has_stage_capacity(&d->w)) return true;
    }
    return false;
}

/* 32-bit words per element that a thread keeps in registers. Values replace the elements that they are computed
   from. */
static double cg__staged_resident_words(const cg__row_value_words *words, int in_registers, bool once) {
    double sum = in_registers ? words->values : 0;
    if (in_registers == 2 && sum < words->staged) sum = words->staged;
    return once ? sum + words->common : sum;
}

/* Registers per thread of ROW_STAGED for kept words. */
static int cg__staged_registers(const ind__writer *w) {
    const ind__variant *v = w->variant;
    const int other =
        w->target->thresholds.staged_registers + (v->misaligned ? w->target->thresholds.edge_registers : 0);
    const int warps = (v->threads / 32 * v->blocks_per_sm + 3) / 4; /* per quarter of an SM */
    const int each = w->target->sm_registers / 4 / (32 * warps);
    return (each < 255 ? each : 255) - other;
}

/* Registers left of these. */
static int cg__spare_registers(const ind__writer *w) {
    const ind__variant *v = w->variant;
    const cg__row_value_words words = cg__count_value_words(w);
    return cg__staged_registers(w) -
           (int)ceil(cg__staged_resident_words(&words, v->of.row.stage.in_registers, v->of.row.stage.once) *
                     v->per_thread);
}

/* Chooses the values that a thread keeps in registers, the most useful first. Otherwise operands that all rows share
   are read again from the L2 for each row, which for a norm's weights is as much as the row itself. Values are computed
   again. The row is read again from shared memory, which costs least. For misaligned 16-bit rows, a cluster's block
   that is alone on its SM uses too many registers with both row and shared operands (layer_norm of 200003 f16 83 and 85
   % of copy bandwidth, bf16 86 and 86). */
static bool cg__choose_staged_resident(cg__decider *d) {
    static const struct {
        int in_registers;
        bool once;
    } order[] = {{2, true}, {1, true}, {2, false}, {1, false}, {0, false}};
    enum { N = sizeof order / sizeof *order };
    ind__variant *v = d->variant;
    const cg__row_value_words words = cg__count_value_words(&d->w);
    const int registers = cg__staged_registers(&d->w);
    const bool crowded = v->misaligned && v->vector > 4 && v->blocks_per_sm == 1 && v->of.row.stage.num > 1 &&
                         cg__exchanges_by_warp(&d->w) && cg__num_combine_steps(&d->w) > 1;
    int seen = 0;
    for (int o = 0; o < N; o++) {
        const double needed = cg__staged_resident_words(&words, order[o].in_registers, order[o].once);
        if (cg__frees_stage_early(&d->w) ? order[o].in_registers < 2 || needed * v->per_thread > registers
                                         : needed * v->per_thread > registers && o < N - 1)
            continue;
        if (!v->of.row.stage.persistent && (order[o].in_registers == 2 || (order[o].once && v->misaligned))) continue;
        if (crowded && order[o].in_registers == 2 && order[o].once) continue;
        if (order[o].once ? words.common == 0 : order[o].in_registers == 1 && words.values == 0) continue;
        if (seen <= d->alternative)
            v->of.row.stage.in_registers = order[o].in_registers, v->of.row.stage.once = order[o].once;
        d->more_alternatives = seen++ > d->alternative;
    }
    if (v->of.row.stage.persistent && v->of.row.stage.num > 1) return true;
    d->more_alternatives = seen > d->alternative; /* the next fallback is another strategy */
    if (!d->more_alternatives && !v->of.row.stage.persistent) d->alternative -= seen;
    return d->more_alternatives;
}

/* True if a thread has the registers for `words` words per element. */
static bool cg__holds(const ind__writer *w, double words) {
    return words * w->variant->per_thread <= cg__staged_registers(w);
}

/* Doubles the blocks per row until their threads can keep `words` per element. Read from the L2 for each row,
   layer_norm's weights take as long as the row (99991 f32 on an H200: 70 and 85 % of copy bandwidth). */
static void cg__widen_cluster(cg__decider *d, int64_t longest, double words) {
    ind__variant *v = d->variant;
    const ind__variant before = *v;
    while (!cg__holds(&d->w, words) && v->of.row.cluster < d->max_cluster) {
        v->of.row.cluster *= 2;
        cg__share_row(d, longest);
    }
    if (!cg__holds(&d->w, words)) *v = before;
}

/* Clusters of 2 or 4 blocks for rows with several combine steps and without weights. Of these it takes the one that
   uses most shared memory of an SM, and of equal ones that with more blocks. (Softmax, % of copy bandwidth, with
   persistent blocks and with these: 65536 bf16 90 and 96, f32 96 and 96, 32768 f32 93 and 97, 98304 bf16 89 and 97,
   131072 bf16 91 and 94. With 8 blocks, which wait longer for one another, it is 1 % faster to 1 % slower. With
   weights, which each block reads, 94 to 96 and 80 to 88; with one combine step 88 to 91 and 81 to 88.) */
static bool cg__fit_clusters(cg__decider *d, int64_t longest) {
    const cg__row_value_words words = cg__count_value_words(&d->w);
    const ind_thresholds *t = &d->w.target->thresholds;
    ind__variant best = *d->variant;
    int64_t most = 0;
    if (words.common > 0 || cg__num_combine_steps(&d->w) < 2) return false;
    for (int blocks = 4; blocks > 1; blocks--) {
        if (!cg__choose_cluster(d, longest, blocks > 2 ? t->turn_threads : t->block_threads, blocks, 1)) continue;
        if (cg__row(&d->w)->cluster < 2 || cg__row(&d->w)->cluster > t->turn_cluster ||
            blocks * cg__staged_bytes(&d->w) <= most)
            continue;
        most = blocks * cg__staged_bytes(&d->w);
        best = *d->variant;
    }
    *d->variant = best;
    return most > 0;
}

/* True if one block of `threads` has the capacity for a row of `least` bytes or more, and an SM for `blocks` such
   blocks. */
static bool cg__fits_block(cg__decider *d, int64_t longest, int threads, int blocks, int64_t least) {
    return cg__choose_cluster(d, longest, threads, blocks, 1) && cg__row(&d->w)->cluster == 1 &&
           cg__staged_bytes(&d->w) >= least;
}

/* True if rows are misaligned and have weights, which are then loaded where they are used and combined from two
   vectors. */
static bool cg__loads_at_use(const ind__writer *w) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (w->plan->across[i] && cg__inst(w, i)->op == IND_LOOP_LOAD && !(w->plan->varies[i] & cg__p_mask(w)))
            return w->variant->misaligned;
    return false;
}

/* True if the L1 has so many bytes besides the rows of the blocks. L1 and shared memory are one memory, 28 KB larger
   than the part that blocks may use (H200: 256 and 228, A100: 192 and 164, L4: 128 and 100). */
static bool cg__l1_holds(const ind__writer *w, double bytes) {
    return bytes <= (double)w->target->l1_bytes - (double)(w->variant->blocks_per_sm * cg__staged_bytes(w));
}

/* Misaligned rows with weights, of 16-bit elements or with several combine steps: small blocks at 64 registers per
   thread, as many as an SM has the registers for, so that others work while one waits for a combine step and then for
   its weights. A third of the memory must remain as L1 for the weights; or three blocks, and a quarter. % of copy
   bandwidth on an H200, in registers or in two blocks of 512, and with these: layer_norm of 5003, 6151, 9001, 10007,
   12289, 16001 and 20011 bf16 80, 87, 71, 67, 76, 83, 89 and 93, 95, 91, 94, 94, 91, 91, of 8209 and 12289 f32 82, 89
   and 95, 94; rms_norm of 14009 and 16001 bf16 90, 93 and 99, 98. */
static bool cg__fit_loads_at_use(cg__decider *d, int64_t longest) {
    const int64_t capacity = d->w.target->shared_per_sm;
    const ind_thresholds *t = &d->w.target->thresholds;
    const bool several = cg__num_combine_steps(&d->w) > 1;
    if (!several && d->variant->vector <= 4) return false;
    if (longest <= t->shifted_threads * t->most_elements &&
        cg__fits_block(d, longest, t->shifted_threads, t->shifted_blocks, 0))
        return true;
    if (cg__fits_block(d, longest, t->turn_threads, 4, 0) &&
        4 * cg__staged_bytes(&d->w) <= capacity - capacity / t->four_share)
        return true;
    return several && cg__fits_block(d, longest, t->turn_threads, 3, 0) &&
           3 * cg__staged_bytes(&d->w) <= capacity - capacity / t->three_share;
}

/* One block per row, two or three of which fit on an SM: while one waits for loads, combine steps or stores, the rows
   of others are in flight, and registers wait for nothing. The hardware gives the next row to the block that finishes
   first, while some persistent blocks have one row more than others (4096 rows on 132 SMs: 32 and 31). Three blocks of
   256 threads have twice the bytes that must be in flight, two of 512 four times. With one combine step each has as
   many, as weights are in flight with the row, in registers. With weights in half of its registers such a block may be
   alone. Weights that are read late should be in the L1, which then has a third of the memory. % of copy bandwidth on
   an H200, in registers or with persistent blocks, and with these: softmax of 12288, 16384, 24576 and 32768 bf16 88,
   97, 88, 88 and 100, 100, 99, 99; rms_norm of 24576 and 32768 bf16 88, 96 and 100, 100, of 65536 92 and 97; layer_norm
   of 12288, 24576 and 32768 bf16 89, 89, 90 and 100, 95, 97, of 16384 f32 88 and 98. Not layer_norm of 49152 bf16,
   whose weights then come from the L2 (94 and 88), and rms_norm of 49152 f32 (96 and 92).
     Misaligned rows read weights where they are used: with one combine step rms_norm of 32771 bf16 86 and 96, of
     12289 f32 84 and 99. But rows that fit in registers remain there if their weights are not in the L1 (of 20011 f32
   93 and 96, of 24593 96 and 85). */
static bool cg__fit_row(cg__decider *d, int64_t longest) {
    const ind_thresholds *t = &d->w.target->thresholds;
    const bool late = cg__loads_at_use(&d->w);
    const cg__row_value_words words = cg__count_value_words(&d->w);
    const ind__variant before = *d->variant;
    const bool several = cg__num_combine_steps(&d->w) > 1, weights = words.common > 0, shifted = before.misaligned;
    const int64_t in_flight = cg__bytes_in_flight(&d->w) / d->w.target->num_sms;
    const bool across = several && weights && shifted;
    if (late && cg__fit_loads_at_use(d, longest)) return true;
    if ((!across || before.vector <= 4) &&
        cg__fits_block(d, longest, t->block_threads, 2, several && !across ? 2 * in_flight : in_flight) &&
        (several && weights ? cg__staged_bytes(&d->w) <= d->w.target->shared_per_sm / t->weights_share
         : late             ? longest > (int64_t)t->full_threads * t->alone_elements ||
                      cg__l1_holds(&d->w, words.common * 4 * (double)longest)
                : several || shifted || cg__holds(&d->w, words.common)))
        return true;
    if (!across && cg__fits_block(d, longest, t->turn_threads, t->turn_blocks, 2 * in_flight / 3)) return true;
    if (!several && !shifted && cg__fits_block(d, longest, t->block_threads, 1, in_flight) &&
        words.common * d->variant->per_thread <= t->row_registers)
        return true;
    if (cg__fit_clusters(d, longest)) return true;
    *d->variant = before;
    return false;
}

/* Clusters of 4 for misaligned 16-bit rows with several combine steps and weights, if a thread has four vectors of
   each, which it keeps in registers with the weights. Blocks then wait for others once, and others on the same SM work
   meanwhile. As many threads as have the registers: two weights are 32 words, for which three blocks of 288 threads
   have 72 registers each; with the row 48 words, for which two of 320 have 96. (layer_norm on an H200, % of copy
   bandwidth, two blocks of 256 in clusters of 2 and these: 32003, 36007 and 40009 bf16 85, 85, 85 and 89, 87, 90, f16
   85, 79, 85 and 88, 87, 89. With five vectors 49157 bf16 89 and 66; with three, instead of one block per row, 24593 88
   and 78. So not if rows of a variant may be shorter.) */
static bool cg__fit_four(cg__decider *d, int64_t longest, int threads, int blocks) {
    ind__variant *v = d->variant;
    const cg__row_value_words words = cg__count_value_words(&d->w);
    const int cluster = d->w.target->thresholds.turn_cluster;
    if (d->max_cluster < cluster || !cg__choose_cluster(d, longest, threads, blocks, 2) || v->of.row.cluster > cluster)
        return false;
    v->of.row.cluster = cluster;
    cg__share_row(d, longest);
    return v->per_thread == d->w.target->thresholds.loop_steps * v->vector && cg__has_stage_capacity(&d->w) &&
           cg__holds(&d->w, words.values + words.common);
}

/* One block of 512 threads per SM, whose registers can keep the operands that all rows share. But threads take as long
   for 16-bit elements as for 32-bit ones, so copies hide less of the wait at combine steps. With several of these and
   no shared operands, three blocks of 256 threads alternate, in clusters of twice the size. (Rows with weights: two
   blocks of 512 threads took 1 to 7 % longer than one, layer_norm of 65536 to 262144 bf16. Misaligned rows with
   weights: two blocks of 256 threads in clusters of 4 took 2 % less than one in clusters of 2, and 4 % longer in larger
   ones. Of 16-bit elements in clusters of 2 they took less than one alone: layer_norm of 32003, 36007 and 40009 bf16
   85, 75, 84 and 87, 87, 87 % of copy bandwidth. With one combine step they took 2 to 4 % less than one in clusters of
   4, and as much longer than one in clusters of 2: rms_norm of 98317 f32 84 and 87, of 40009 90 and 88. Without weights
   one block is as fast there, 65537 to 262147.) If more than 8 blocks would wait for one another and registers can keep
   a row, one row is in registers and one in shared memory, with half the blocks: softmax of 262147 f32 86 and 90 % of
   copy bandwidth. */
static bool cg__fit_staged(cg__decider *d, int64_t longest) {
    const cg__row_value_words words = cg__count_value_words(&d->w);
    const bool several = cg__num_combine_steps(&d->w) > 1;
    const ind_thresholds *t = &d->w.target->thresholds;
    if (!cg__choose_cluster(d, longest, t->block_threads, 1, 2))
        return cg__choose_cluster(d, longest, t->block_threads, 1, 1);
    const ind__variant one = *d->variant;
    if (words.common > 0) {
        const bool turns =
            one.misaligned &&
            (several ? one.of.row.cluster == 2 || (one.of.row.cluster < 2 && one.vector > 4) : one.of.row.cluster > 2);
        if (turns && several && one.vector > 4 && ind_expr_is_int(cg__r_numel(&d->w), NULL) &&
            (cg__fit_four(d, longest, 288, 3) || cg__fit_four(d, longest, 320, 2)))
            return true;
        if (turns && cg__choose_cluster(d, longest, t->turn_threads, 2, 2) &&
            cg__holds(&d->w, words.values + words.common))
            return true;
        *d->variant = one;
        cg__widen_cluster(d, longest, words.values + words.common);
        return true;
    }
    if (!one.misaligned && one.vector > 4 && one.of.row.cluster > 1 && several &&
        cg__choose_cluster(d, longest, t->turn_threads, t->turn_blocks, 2))
        return true;
    *d->variant = one;
    if (one.of.row.cluster <= t->wide_cluster || cg__copies_beside(&d->w)) return true;
    if (!cg__choose_cluster(d, longest, t->block_threads, 1, 1) ||
        !cg__holds(&d->w, words.values > words.staged ? words.values : words.staged))
        *d->variant = one;
    return true;
}

/* Treats rows of whole vectors, whose length is not a multiple of a line, as misaligned rows whose vectors start at
   lines, with elements of vectors as edges (softmax of 65544 bf16 on an H200: 75 and 88 % of copy bandwidth). False if
   that is impossible. */
static bool cg__start_at_lines(cg__decider *d) {
    ind__variant *v = d->variant;
    if (v->misaligned || v->vector == 1 || d->plan->domain.rrank != 1 || !d->assume ||
        !ind_expr_is_int(cg__r_numel(&d->w), NULL))
        return false;
    const uint32_t leader = cg__shift_leader(&d->w, v->vector);
    if (!leader || !cg__start_known(&d->w, leader)) return false;
    const int line = IND__CG_LINE_BYTES / ind_dtype_bytes(cg__memory_dtype(&d->w, leader));
    if (ind_known_multiple(cg__row_start(&d->w, leader), line)) return false;
    d->plan->leader = leader;
    return v->misaligned = d->plan->starts_misaligned = true;
}

/* Reduces the threads of a cluster's block to those that its iterations need, if that saves a tenth. 200003 elements
   are 6.1 vectors for each of 4096 lanes: one block takes the seventh, and the others wait for it (layer_norm, f16 80
   and 85 % of copy bandwidth, bf16 82 and 86; 100000 bf16 88 and 90). */
static void cg__trim_cluster(cg__decider *d, int64_t longest) {
    ind__variant *v = d->variant;
    const ind__variant before = *v;
    if (v->of.row.cluster < 2 || v->of.row.segments) return;
    const int64_t vectors = (longest - (v->misaligned ? v->vector : 1)) / v->vector + 1; /* the rest are edges */
    v->threads = cg__threads_of((vectors + v->of.row.cluster - 1) / v->of.row.cluster, v->per_thread / v->vector);
    cg__share_row(d, longest);
    if (v->threads * 100 > before.threads * d->w.target->thresholds.trim_percent || v->per_thread > before.per_thread ||
        !cg__has_stage_capacity(&d->w))
        *v = before;
}

/* A block for a range of row lengths has as many warps as the row of the launch needs, at least a lane for each edge,
   and as much shared memory. */
static void cg__fit_staged_threads(cg__decider *d) {
    ind__variant *v = d->variant;
    if (v->of.row.stage.persistent || v->of.row.cluster > 1) return;
    cg__fit_threads(d);
    if (!ind__ok(v->of.row.fitted)) return;
    const int edges = v->misaligned ? cg__boundary(&d->w) + cg__misaligned_reach(&d->w) - 2 : 1;
    const ind_expr least = ind_int(d->w.context, (edges + 31) / 32 * 32), most = ind_int(d->w.context, v->threads);
    v->of.row.fitted = ind_expr_max(least, ind_expr_min(most, v->of.row.fitted));
}

static bool cg__stage_rows(cg__decider *d, int64_t longest, bool persistent) {
    ind__variant *v = d->variant;
    const ind__variant before = *v;
    const ind_thresholds *t = &d->w.target->thresholds;
    if (longest > t->staged_row || cg__likely_row(&d->w) * t->likely_part < longest || d->plan->part ||
        d->w.kernel->run)
        return false;
    v->strategy = IND_STRATEGY_ROW_STAGED;
    v->of.row.stage.persistent = persistent;
    v->of.row.stage.once = v->misaligned; /* assumed while fitting; cg__choose_staged_resident decides */
    v->rows = 1;
    const bool fits = v->vector > 1 && cg__looped_passes(&d->w) >= 2 && cg__can_stage(&d->w) &&
                      (persistent ? cg__fit_staged(d, longest) : cg__fit_row(d, longest));
    if (fits) cg__trim_cluster(d, longest);
    if (!fits || !cg__choose_staged_resident(d)) {
        *v = before;
        return false;
    }
    v->of.row.stage.resident = persistent ? d->w.target->num_sms * v->blocks_per_sm / v->of.row.cluster : 0;
    v->of.row.stage.items = cg__p_numel(&d->w);
    const int64_t bytes = cg__staged_bytes(&d->w);
    v->grid[0] = ind__staged_grid(v);
    v->grid[1] = v->grid[2] = ind_int(d->w.context, 1);
    static const char *const part[] = {"nothing", "values computed from the row", "the row"};
    char owner[32] = "a block";
    if (v->of.row.cluster > 1) snprintf(owner, sizeof owner, "a cluster of %d blocks", v->of.row.cluster);
    cg__why(d, "rows of at most %lld elements are staged in the shared memory of %s; %s; in registers: %s%s",
            (long long)longest, owner,
            persistent ? "persistent blocks copy the next row meanwhile" : "other blocks of the SM compute meanwhile",
            part[v->of.row.stage.in_registers], v->of.row.stage.once ? ", operands that all rows share" : "");
    cg__fit_staged_threads(d);
    v->memory.shared = ind__ok(v->of.row.fitted)
                           ? ind_expr_mul(v->of.row.fitted, ind_int(d->w.context, bytes / v->threads))
                           : ind_int(d->w.context, bytes);
    return true;
}

static bool cg__choose_row_staged(cg__decider *d, int64_t longest, bool persistent) {
    const ind__variant before = *d->variant;
    if (cg__start_at_lines(d)) {
        if (cg__stage_rows(d, longest, persistent) && cg__boundary(&d->w) > d->variant->vector) return true;
        *d->variant = before;
    }
    return cg__stage_rows(d, longest, persistent);
}

/* ===================================================================================== src/cuda/decide/row_memory.c */
/* True if a block with a misaligned row would be alone on an SM, or lacks the registers, and should stage the row in
   shared memory. With one combine step a block alone is as fast in registers (rms_norm of 32771, in registers and
   staged: bf16 0.91 and 0.83 of copy bandwidth, f32 0.94 and 0.85, H200). With two it is not (softmax of 16411: f32,
   alone, 0.83 and 0.89; bf16, two blocks, 0.91 and 0.74). */
static bool cg__misaligned_alone(cg__decider *d, int64_t longest) {
    const ind__variant before = *d->variant;
    const int alternative = d->alternative;
    const bool several = cg__num_combine_steps(&d->w) > 1;
    d->alternative = 0;
    const bool resident = cg__choose_row_block(d, longest), alone = d->variant->blocks_per_sm < 2;
    *d->variant = before;
    d->alternative = alternative;
    d->more_alternatives = false;
    return !resident || (alone && several);
}

/* True if one block has the shared memory for two rows. */
static bool cg__stages_alone(cg__decider *d, int64_t longest) {
    const ind__variant before = *d->variant;
    d->variant->strategy = IND_STRATEGY_ROW_STAGED;
    const bool one =
        cg__choose_cluster(d, longest, d->w.target->thresholds.block_threads, 1, 2) && cg__row(&d->w)->cluster == 1;
    *d->variant = before;
    return one;
}

/* Plans a row that is loaded once. Two blocks of 512 threads with 32 elements each fill the registers of an SM. With
   longer rows a block is alone there, and no data moves during its combine steps. With several of these that costs more
   than copying the next row meanwhile. Not if the copy takes a cluster and broadcast loads bypass it (group_norm of
   32768: f32 92 % of copy bandwidth in registers, 89 in clusters of two; bf16 83 and, in one block, 90). Above 32768
   elements 1024 threads lack the registers. */
static bool cg__choose_row_shared(cg__decider *d, int64_t longest) {
    const ind_thresholds *t = &d->w.target->thresholds;
    const int64_t largest = (int64_t)t->full_threads * t->alone_elements;
    bool alone = longest > largest ||
                 (longest > (int64_t)t->block_threads * t->alone_elements && cg__num_combine_steps(&d->w) > 1);
    if (d->variant->misaligned) alone = cg__misaligned_alone(d, longest);
    if (alone && cg__reads_broadcast(&d->w)) alone = longest > largest || cg__stages_alone(d, longest);
    if (alone && cg__choose_row_staged(d, longest, true)) return true;
    return cg__choose_row_block(d, longest) || cg__choose_row_staged(d, longest, true);
}

/* Rows with more than 16 elements per thread of 512 threads are staged in shared memory, beside those of other blocks,
   instead of kept in registers: shorter rows are as fast in registers (of 8192, 99 to 100 % of copy bandwidth), and
   with longer ones registers allow few blocks. Misaligned 16-bit rows with late operands and several combine steps are
   staged above 32 elements per thread of 128 (layer_norm of 4099 and 5003 bf16: 99 and 80 in registers). Fallbacks that
   are not staged come after those that differ in the values kept in registers. */
static bool cg__choose_row_known(cg__decider *d, int64_t longest) {
    const int alternative = d->alternative;
    const bool late = d->variant->vector > 4 && cg__num_combine_steps(&d->w) > 1 && cg__loads_at_use(&d->w);
    const ind_thresholds *t = &d->w.target->thresholds;
    const bool waits = longest > (late ? t->shifted_threads * t->alone_elements + 2 * d->variant->vector
                                       : t->block_threads * t->waiting_elements);
    const bool found = (waits && cg__choose_row_staged(d, longest, false)) || cg__choose_row_shared(d, longest);
    d->alternative = alternative;
    return found;
}

/* True if the row, which is too long for a warp, may be assumed to have about the hinted length. */
static bool cg__assumes_length(const cg__decider *d) {
    const ind_expr row = cg__r_numel(&d->w);
    return d->assume & IND__ASSUME_LENGTH && !d->w.kernel->run && ind__expr_is_size(row) &&
           !ind_expr_is_int(row, NULL) && !ind__expr_has_kind(row, IND_SYMBOL_UNBACKED) &&
           (d->variant->range.to || ind_hint(row) > IND__WARP_ROW);
}

/* Adds this assumption as a guard and returns the longest row under it: the range of the variant, or up to the hinted
   length in whole warps of vectors, and at least so much that of up to four iterations all but the last are whole. The
   guard is the same for all fallbacks. */
static int64_t cg__guard_length(cg__decider *d) {
    ind_context *c = d->w.context;
    const ind_expr row = cg__r_numel(&d->w), before = d->variant->guard;
    const ind_thresholds *t = &d->w.target->thresholds;
    int64_t longest = (ind_hint(row) + t->length_step - 1) / t->length_step * t->length_step,
            most = cg__upper_bound(row);
    if (d->variant->range.to) longest = d->variant->range.to;
    if (longest > most) longest = most;
    d->plan->row_from = d->variant->range.to ? d->variant->range.from
                                             : longest / 4 * t->length_quarters +
                                                   16; /* elements before the first boundary and after the last */
    if (!cg__guard(d->variant, ind_expr_le(row, ind_int(c, longest))) ||
        !cg__guard(d->variant, ind_expr_le(ind_int(c, d->plan->row_from), row)))
        cg__fail(&d->w);
    if (before.id != d->variant->guard.id) d->used |= IND__ASSUME_LENGTH;
    return longest;
}

/* If the number of iterations is known, all loads of a thread start at once, and only the last iteration's are
   conditional. If a row may have fewer iterations, each is a branch, and threads idle. Then looping over the row is
   faster; later passes find it in a cache (symbolic rows of up to 8192 bf16 on an H200, 4096 long, softmax, rms_norm,
   layer_norm: in registers 79, 72, 45 % of copy bandwidth, looped 88, 98, 73). */
static bool cg__choose_row_resident(cg__decider *d, int64_t longest) {
    const ind__variant before = *d->variant;
    const bool known =
        ind_expr_is_int(cg__r_numel(&d->w), NULL) || cg__assumes_length(d) || d->w.kernel->run || d->plan->part;
    if (!cg__choose_row_known(d, longest)) return false;
    if (known || d->variant->strategy == IND_STRATEGY_ROW_STAGED ||
        cg__whole_rounds(&d->w) + 1 >= d->variant->per_thread / d->variant->vector)
        return true;
    *d->variant = before;
    d->more_alternatives = false;
    return false;
}

/* True if a cluster of blocks may loop over a row. All its blocks must run, and none may store a row result over
   elements that others still read. */
static bool cg__can_cluster(const cg__decider *d) {
    if (d->plan->part || d->w.kernel->run || d->max_cluster < 2 || !d->plan->domain.rrank) return false;
    for (uint32_t i = 1; i < d->w.body->num_inst; i++)
        if (cg__inst(&d->w, i)->op == IND_LOOP_STORE && !(d->plan->varies[i] & cg__r_mask(&d->w)) &&
            cg__stores_over(&d->w, i))
            return false;
    return cg__num_combine_steps(&d->w) > 0;
}

/* Blocks that share a looped row: the fewest that give nearly all SMs a block. */
static int cg__looped_cluster(const cg__decider *d) {
    const int64_t rows = ind_hint(cg__p_numel(&d->w)), fill = d->w.target->num_sms - d->w.target->num_sms / 8;
    const double bytes = (double)ind_hint(cg__r_numel(&d->w)) * cg__element_bytes(&d->w);
    int n = 1;
    if (!cg__can_cluster(d)) return 1;
    while (2 * n <= d->max_cluster && rows < fill / n && bytes / (2 * n) >= d->w.target->thresholds.looped_bytes)
        n *= 2;
    return n;
}

/* Registers of a thread that loops over a row in one pass and combines chunk by chunk: 64 bytes of loads in flight, as
   32-bit values, and the rest (bf16 56, f32 40, or 48 in a launch that runs a second kernel). */
static double cg__loop_registers(const ind__writer *w) {
    const ind_thresholds *t = &w->target->thresholds;
    const double registers = t->other_registers + (double)t->loop_flight / cg__element_bytes(w);
    return w->plan->handover && registers < t->loop_registers ? t->loop_registers : registers;
}

/* Average share of occupied slots for blocks of so many threads, if the rows take several waves; 1 if all rows are
   resident at once. */
static double cg__occupied_slots(const ind__writer *w, double rows, int threads) {
    const double blocks = floor(w->target->sm_registers / (cg__loop_registers(w) * threads));
    const double turns = rows / (blocks * w->target->num_sms);
    return turns > 1 ? turns / ceil(turns) : 1;
}

/* The most threads of a block that loops over a row. With one pass that combines chunk by chunk, more and smaller
   blocks wait less for last iterations and combine steps (cross entropy with 512 and 256 threads, % of copy bandwidth
   on an H200: 36007, 57601, 65536 bf16 85, 87, 97 and 92, 96, 100; 120011 f32 88 and 98), unless many slots are idle in
   the last wave (671 rows of 200003 bf16 89 and 77, 1118 of 120011 91 and 85, 838 of 80021 f32 90 and 80; but 291 of
   230003 f32, which are all resident at once, 79 and 94). */
static int cg__most_loop_threads(ind__writer *w, int64_t rows) {
    const ind_thresholds *t = &w->target->thresholds;
    if (rows < 2 * w->target->num_sms) return IND__CG_MAX_THREADS;
    if (cg__looped_passes(w) > 1 || !cg__combines_chunks(w)) return t->loop_threads;
    const double few = cg__occupied_slots(w, (double)rows, t->loop_threads),
                 many = cg__occupied_slots(w, (double)rows, t->loop_small);
    return many + t->loop_idle / 100.0 < few ? t->loop_threads : t->loop_small;
}

/* Why a row is not kept in registers. */
static const char *cg__too_long(const ind__writer *w) {
    return ind_expr_is_int(cg__r_numel(w), NULL) ? "rows do not fit into registers" : "rows may not fit into registers";
}

/* Plans a block that loops over each row, with at least four iterations per thread. */
static void cg__choose_row_looped(cg__decider *d) {
    ind__variant *v = d->variant;
    int64_t length = cg__likely_row(&d->w), rows = ind_hint(cg__p_numel(&d->w));
    v->strategy = IND_STRATEGY_ROW_LOOPED;
    v->rows = 1;
    v->per_thread = v->vector;
    v->threads = cg__pow2_at_least(length / (v->vector * d->w.target->thresholds.loop_steps), 32,
                                   cg__most_loop_threads(&d->w, rows));
    if (cg__knows_at_launch(&d->w)) cg__fit_loop_threads(d);
    cg__why(d, "%s: a block loops over each", cg__too_long(&d->w));
    if (rows < d->w.target->num_sms) cg__why(d, "%s; there are fewer rows than SMs", v->why);
    v->of.row.cluster = cg__looped_cluster(d);
    if (v->of.row.cluster < 2) return;
    v->of.row.fitted = (ind_expr){0};
    cg__why(d, "%s: a cluster of %d blocks loops over each", cg__too_long(&d->w), v->of.row.cluster);
}

/* ========================================================================================== src/cuda/decide/split.c */
/* ---- several blocks share rows or columns */

/* True if blocks can share the kernel's reductions: there must be one pass over the rows, and the sizes must be known
   at launch. */
static bool cg__can_split(cg__decider *d, ind_strategy strategy) {
    cg__pass pass[IND__CG_MAX_PASSES];
    d->variant->strategy = strategy;
    if (d->w.kernel->run || ind__body_unbacked(d->w.schedule->program, d->w.body)) return false;
    if (d->w.schedule->program->batch_invariant && strategy == IND_STRATEGY_ROW_SPLIT) return false;
    return d->plan->domain.rrank > 0 && cg__passes(&d->w, pass) == 1;
}

/* Sets the memory through which blocks share results: counters, with words after them or partial results. */
static void cg__set_split_memory(cg__decider *d) {
    ind__variant *v = d->variant;
    const int own = v->strategy == IND_STRATEGY_COLUMN_SPLIT ? cg__split_columns(&d->w) : 1;
    v->memory.num_counters = (uint32_t)v->of.split.max_blocks;
    v->memory.partial_bytes = 0;
    if (!v->of.split.max_blocks) return;
    if (v->strategy == IND_STRATEGY_ROW_SPLIT && cg__exchanges_by_mailbox(&d->w)) {
        v->memory.num_counters =
            (uint32_t)(cg__words_from(v->of.split.max_blocks) + 2 * v->of.split.max_blocks * cg__split_words(&d->w));
        return;
    }
    for (uint32_t i = 1; i < d->w.body->num_inst; i++)
        if (cg__is_reduce(&d->w, i)) v->memory.partial_bytes += cg__partial_bytes(&d->w, i, own);
}

/* Sets the grid: `groups` of rows or columns, with so many blocks each that all together fill the GPU, but none has
   less than `least` elements of a row. */
static void cg__set_splits(cg__decider *d, ind_expr groups, int64_t least) {
    ind__variant *v = d->variant;
    ind_context *c = d->w.context;
    ind_expr one = ind_int(c, 1),
             all = ind_int(c, (int64_t)d->w.target->num_sms * d->w.target->thresholds.split_per_sm);
    ind_expr fill = ind_expr_floordiv(all, ind_expr_max(one, groups));
    ind_expr useful = ind_expr_ceildiv(cg__r_numel(&d->w), ind_int(c, least > 1 ? least : 1));
    v->of.split.num = ind_expr_max(one, ind_expr_min(fill, useful));
    v->grid[0] = groups, v->grid[1] = v->of.split.num, v->grid[2] = one;
    v->memory.shared = ind_int(c, 0);
    int64_t most = cg__upper_bound(ind_expr_mul(groups, v->of.split.num)),
            limit = d->w.target->num_sms * d->w.target->thresholds.split_per_sm;
    if (cg__shares_results(&d->w)) v->of.split.max_blocks = most < limit ? most : limit;
    cg__set_split_memory(d);
    if (!ind__ok(v->of.split.num)) cg__fail(&d->w);
}

/* Sets 64-bit indices if a thread's position along the row, an iteration past the end, might not fit in 32 bits. */
static void cg__fit_split_steps(cg__decider *d, int64_t step) {
    int64_t blocks = (int64_t)d->w.target->num_sms * d->w.target->thresholds.split_per_sm;
    ind_expr keep = d->variant->guard, end = ind_int(d->w.context, blocks * step * 16);
    if (d->plan->wide || cg__expr_fits(d, ind_expr_add(cg__r_numel(&d->w), end), 0)) return;
    d->variant->guard = keep;
    d->plan->wide = true;
    d->variant->index_bits = 64;
}

/* Plans several blocks per row, for rows that may not fit in the registers of a block and are likely too few to fill
   the GPU. */
static bool cg__choose_row_split(cg__decider *d, int64_t longest) {
    ind__variant *v = d->variant;
    int64_t least = d->w.target->thresholds.split_bytes / cg__element_bytes(&d->w);
    if (longest <= d->w.target->thresholds.register_row &&
        cg__likely_row(&d->w) * d->w.target->thresholds.likely_part >= longest)
        return false;
    if (!cg__can_split(d, IND_STRATEGY_ROW_SPLIT) || longest < 2 * least) return false;
    if (ind_hint(cg__p_numel(&d->w)) * 2 > (int64_t)d->w.target->num_sms * d->w.target->thresholds.split_per_sm)
        return false;
    v->threads = d->w.target->thresholds.split_threads;
    cg__fit_split_steps(d, (int64_t)v->threads * 8);
    v->vector = cg__choose_vector(d, cg__num_vars(&d->w) - 1, d->plan->domain.rrank == 1);
    v->rows = 1;
    v->per_thread = v->vector;
    cg__set_splits(d, cg__p_numel(&d->w), least);
    cg__why(d, "%s: several blocks share each row if there are few rows", cg__too_long(&d->w));
    return true;
}

/* Neighbouring columns per thread. Their states stay in registers, then pass through shared memory; a warp's columns
   must not exceed the threads of the block. */
static int cg__column_vector(cg__decider *d, int states) {
    for (int n = 8; n >= 2; n /= 2) {
        bool fits = n * states <= d->w.target->thresholds.column_states &&
                    d->variant->threads * n * states <= IND__CG_STATIC_SHARED;
        if (fits && 32 * n <= d->variant->threads && cg__try_vector(d, d->plan->domain.rank - 1, n, false)) return n;
    }
    cg__no_vectors(d);
    return 1;
}

/* Plans lanes across the columns and threads along the rows: the more columns, the fewer threads. */
static bool cg__choose_column_split(cg__decider *d) {
    ind__variant *v = d->variant;
    int64_t outputs = ind_hint(cg__p_numel(&d->w)), length = ind_hint(cg__r_numel(&d->w));
    int states = cg__state_bytes(&d->w);
    const ind_thresholds *t = &d->w.target->thresholds;
    bool enough = outputs >= (int64_t)d->w.target->num_sms * t->column_outputs; /* to fill the GPU with a thread each */
    if (length < (enough ? t->column_rows : t->column_few_rows) || !cg__can_split(d, IND_STRATEGY_COLUMN_SPLIT))
        return false;
    v->threads = enough ? t->column_threads : t->split_threads;
    if (v->threads * states > IND__CG_STATIC_SHARED) return false;
    cg__fit_split_steps(d, v->threads);
    v->vector = v->per_thread = cg__column_vector(d, states);
    int x = cg__pow2_at_least((outputs + v->vector - 1) / v->vector, 2, 32);
    v->rows = x * v->vector;
    int64_t least = t->split_bytes / (v->rows * cg__element_bytes(&d->w));
    cg__set_splits(d, ind_expr_ceildiv(cg__p_numel(&d->w), ind_int(d->w.context, v->rows)), least);
    cg__why(d, "loads are contiguous along an output dimension: %d columns per block, %d threads per %d columns%s",
            v->rows, v->threads / x, v->vector,
            cg__shares_results(&d->w) ? "; several blocks share columns if there are few columns" : "");
    return true;
}

/* Plans the second part of a FINISH: one block, as large as the first part's blocks, loops over their results. */
static void cg__choose_finish(cg__decider *d) {
    ind__variant *v = d->variant;
    v->strategy = IND_STRATEGY_ROW_LOOPED;
    v->threads = d->plan->handover->threads;
    v->vector = v->rows = v->per_thread = 1;
    cg__why(d, "the last block to start reduces the results of all blocks");
    cg__grid(d, cg__p_numel(&d->w), 1);
}

/* Elements of the longest row in the registers of one warp. Twice as many for misaligned 16-bit rows, unless loads are
   combined from two vectors, for which registers do not suffice (1501 bf16 by a warp and by a block of 64 threads:
   cross entropy 0.97 and 0.85 of copy bandwidth, H200). */
static int64_t cg__warp_row(const ind__writer *w) {
    const bool narrow = w->variant->misaligned && ind_dtype_bytes(cg__memory_dtype(w, w->plan->leader)) <= 2;
    return narrow && cg__misaligned_reach(w) == w->variant->vector ? 2 * IND__WARP_ROW : IND__WARP_ROW;
}

/* Plans a reduction along rows. If warps combine columns (a run), four blocks fit on an SM with run_registers for the
   row and the columns, and the columns of a block's four warps, at most 96 * 32 * 4 words, fit in 48 KiB of shared
   memory. */
static void cg__choose_row(cg__decider *d) {
    ind__variant *v = d->variant;
    int64_t longest = cg__assumes_length(d) ? cg__guard_length(d) : cg__upper_bound(cg__r_numel(&d->w));
    if (d->plan->handover && d->plan->handover->takes) {
        cg__choose_finish(d);
        return;
    }
    if (cg__choose_row_split(d, longest)) return;
    const ind_expr guard = v->guard;
    const bool aligned = v->guard_aligned;
    v->vector = d->plan->domain.rrank ? cg__choose_vector(d, cg__num_vars(&d->w) - 1, false) : 1;
    v->vector = cg__shift_rows(d, v->vector, guard, aligned);
    v->strategy = IND_STRATEGY_ROW_BLOCK; /* assumed while the kept loads are chosen */
    cg__choose_resident(d);
    if (longest < 1) longest = 1;
    int registers = d->w.kernel->run ? d->w.target->thresholds.run_registers : d->w.target->thresholds.row_registers;
    if (longest <= cg__warp_row(&d->w) && cg__resident_words(&d->w) * (double)longest / 32 <= registers)
        cg__choose_row_warp(d, longest);
    else if (!cg__choose_row_resident(d, longest))
        cg__choose_row_looped(d);
    if (v->strategy == IND_STRATEGY_ROW_WARP) cg__limit_warp_blocks(d);
    if (d->w.kernel->run)
        cg__why(d, "%s; a block combines the columns of %lld rows", v->why, (long long)d->w.kernel->run);
    if (v->strategy != IND_STRATEGY_ROW_STAGED)
        cg__grid(d, cg__p_numel(&d->w), d->w.kernel->run ? d->w.kernel->run : v->rows);
    if (v->strategy == IND_STRATEGY_ROW_LOOPED && ind__row_of(v)->cluster > 1)
        v->grid[0] = ind_expr_mul(v->grid[0], ind_int(d->w.context, ind__row_of(v)->cluster));
}

/* Neighbouring threads iterate along the row, unless fewer bytes are scattered along an output variable. */
static void cg__choose_reduction(cg__decider *d) {
    cg__analyse(d);
    uint32_t r = cg__r_mask(&d->w);
    int best = cg__best_p(&d->w, r);
    bool column = !d->w.kernel->run && best >= 0 && r &&
                  cg__bytes_along(&d->w, best, r, true) < cg__bytes_along(&d->w, cg__num_vars(&d->w) - 1, r, true);
    if (column && best != d->plan->domain.rank - 1) cg__move_last(d, best);
    cg__merge_vars(d);
    cg__analyse(d);
    cg__choose_index_bits(d);
    if (!column)
        cg__choose_row(d);
    else if (!cg__choose_column_split(d))
        cg__choose_column(d);
}

/* =========================================================================================== src/cuda/decide/scan.c */
/* 4-byte words of a scan's state: ind_scan_words in the prelude. */
static int cg__state_words(const ind__writer *w, uint32_t scan) {
    bool wide = ind_dtype_bytes((ind_dtype)cg__inst(w, scan)->dtype) == 8;
    if (cg__scan_kind(w, scan) == IND_SCAN_COMBINE) return cg__combine_words(w);
    if (!cg__finds_positions(w, scan)) return (wide ? 2 : 1) * (cg__adds_exp(w, scan) ? 2 : 1);
    return wide || w->variant->index_bits == 64 ? 4 : 2;
}

/* Registers for the states of one element of the row. */
static int cg__scan_states(const ind__writer *w) {
    int words = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_scan(w, i)) words += cg__state_words(w, i);
    return words;
}

/* Registers for one element of the row: its states and its loads, or, with `ahead`, also those of the next chunk. */
static double cg__scan_registers(const ind__writer *w, bool ahead) {
    double states = cg__scan_states(w), loads = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        int bytes = ind_dtype_bytes(cg__memory_dtype(w, i));
        if (cg__loads_chunk(w, i)) loads += w->plan->vector[i] > 1 || bytes > 4 ? bytes / 4.0 : 1;
    }
    return ahead ? states + loads : states > loads ? states : loads;
}

/* Vectors per thread that fit in so many registers, a power of 2. */
static int cg__scan_lines(const ind__writer *w, bool ahead, int words) {
    int lines = w->target->thresholds.scan_lines;
    if (w->plan->shift && !cg__pads(w)) words /= 2; /* elements outside the row take registers too */
    while (lines > 1 && lines * w->variant->vector * cg__scan_registers(w, ahead) > words) lines /= 2;
    return lines;
}

/* The widest vectors along variable v, at most n, whose states fit in a thread's registers: loads are as wide as
   possible. */
static void cg__choose_scan_vector(cg__decider *d, int v, int n) {
    while (n > 1 && n * cg__scan_states(&d->w) > d->w.target->thresholds.scan_words) n /= 2;
    while (n > 1 && !cg__try_vector(d, v, n, false)) n /= 2;
    if (n == 1) cg__no_vectors(d);
    d->variant->vector = n;
}

/* True if LOAD or STORE i moves neighbours of the row, at any misalignment. */
static bool cg__moves_neighbours(const ind__writer *w, uint32_t i) {
    const ind__inst *inst = cg__inst(w, i);
    ind_expr stride, base;
    int64_t one;
    if (!cg__is_access(w, i) || !(w->plan->varies[i] & cg__r_mask(w)) || inst->reduction) return false;
    if (inst->arg[inst->op == IND_LOOP_LOAD ? 0 : 1]) return false; /* masked */
    return ind__affine(cg__index_of(w, i), w->plan->domain.var[w->plan->domain.rank], &stride, &base) &&
           ind_expr_is_int(stride, &one) && one == 1 && !cg__indirect_varies(w, base, w->plan->domain.rank);
}

/* Rows that are misaligned or of any length: vectors start at the aligned address at or before each row's start, and
   their elements outside the row are excluded. One access determines the alignment; others with another misalignment
   are scalar. */
static void cg__choose_scan_shift(cg__decider *d) {
    int narrowest = 16, widest = 1, n = 1;
    for (uint32_t i = 1; i < d->w.body->num_inst; i++) {
        if (!cg__moves_neighbours(&d->w, i)) continue;
        int bytes = ind_dtype_bytes(cg__memory_dtype(&d->w, i));
        if (!d->plan->shift && !ind__expr_has_kind(cg__index_of(&d->w, i), IND_SYMBOL_INDIRECT)) d->plan->shift = i;
        narrowest = bytes < narrowest ? bytes : narrowest;
        widest = bytes > widest ? bytes : widest;
    }
    while (n < 8 && 2 * n * narrowest <= 16 && 2 * n * widest <= 32 &&
           2 * n * cg__scan_states(&d->w) <= d->w.target->thresholds.scan_words)
        n *= 2;
    if (n == 1) d->plan->shift = 0;
    if (!d->plan->shift) return;
    d->variant->vector = n;
    for (uint32_t i = 1; i < d->w.body->num_inst; i++)
        if (cg__moves_neighbours(&d->w, i)) d->plan->vector[i] = (uint8_t)n;
}

/* Bytes moved per element of the row. */
static int cg__scan_bytes_moved(const ind__writer *w) {
    int bytes = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_access(w, i) && w->plan->varies[i] & cg__r_mask(w)) bytes += ind_dtype_bytes(cg__memory_dtype(w, i));
    return bytes;
}

/* True if blocks should share rows (decoupled lookback): there are too few rows to give all SMs an equal part, and
   memory at full rate takes less than half the time of the SM with the most rows, at its share of the rate. Waiting for
   previous blocks takes as long as a launch or two. There must be one pass over the rows, and no value per row. */
static bool cg__prefers_lookback(const ind__writer *w) {
    const ind_target *t = w->target;
    int64_t rows = ind_hint(cg__p_numel(w)), length = ind_hint(cg__r_numel(w));
    if (rows < 1 || !cg__scans_only(w)) return false;
    if (ind__expr_has_kind(cg__r_numel(w), IND_SYMBOL_UNBACKED)) return false;
    if (ind__expr_has_kind(cg__p_numel(w), IND_SYMBOL_UNBACKED)) return false;
    double row =
        (double)length * cg__scan_bytes_moved(w) / (t->thresholds.copy_percent / 100.0 * t->memory_bytes_per_ns);
    double looped = row * t->num_sms * (double)((rows + t->num_sms - 1) / t->num_sms);
    return looped >
           t->thresholds.lookback_gain * (row * (double)rows + (double)t->thresholds.lookback_launches * t->launch_ns);
}

/* Plans tiles so large that each SM has one, or as large as its registers allow. */
static void cg__choose_lookback(cg__decider *d) {
    ind__variant *v = d->variant;
    int lines = cg__scan_lines(&d->w, false, d->w.target->thresholds.scan_words);
    int64_t points = ind_hint(cg__p_numel(&d->w)) * ind_hint(cg__r_numel(&d->w)) / d->w.target->num_sms;
    v->threads = cg__pow2_at_least(points / (lines * v->vector), d->w.target->thresholds.scan_small,
                                   d->w.target->thresholds.scan_threads);
    while (lines > 1 && (int64_t)v->threads * lines / 2 * v->vector >= points) lines /= 2;
    v->strategy = IND_STRATEGY_SCAN_LOOKBACK;
    v->rows = 1;
    v->per_thread = lines * v->vector;
    int64_t chunk = (int64_t)v->threads * v->per_thread;
    ind_expr places = ind_expr_add(cg__r_numel(&d->w), ind_int(d->w.context, cg__most_shift(&d->w)));
    ind_expr tiles = ind_expr_ceildiv(places, ind_int(d->w.context, chunk));
    ind_expr groups =
        ind_expr_add(ind_expr_floordiv(tiles, ind_int(d->w.context, IND__CG_SCAN_GROUP)), ind_int(d->w.context, 1));
    ind_expr per_row = ind_expr_mul(ind_expr_add(tiles, groups), ind_int(d->w.context, cg__scan_states(&d->w)));
    d->plan->lookback = ind_expr_add(ind_expr_mul(cg__p_numel(&d->w), per_row), ind_int(d->w.context, 2));
    cg__why(d, "too few rows for one block per row: blocks share rows, %lld elements per block", (long long)chunk);
    cg__grid(d, ind_expr_mul(cg__p_numel(&d->w), tiles), 1);
}

/* Plans a row of at most `longest` elements in the registers of lanes, with up to `lines` vectors each: the number of
   lanes that leaves the fewest elements unused. Fewer than 8 lanes with several vectors would access too few neighbours
   at once. */
static void cg__choose_scan_warp(cg__decider *d, int64_t longest, int lines) {
    ind__variant *v = d->variant;
    int64_t covered = INT64_MAX;
    int best = 32;
    for (int lanes = 32; lanes >= 1; lanes /= 2) {
        const int64_t line = (int64_t)lanes * v->vector, needed = (longest + line - 1) / line;
        if (needed > lines || (needed > 1 && lanes < d->w.target->thresholds.scan_lanes && covered < INT64_MAX)) break;
        if (needed * line >= covered && needed > 1) continue;
        best = lanes;
        covered = needed * line;
        v->per_thread = (int)needed * v->vector;
    }
    v->strategy = IND_STRATEGY_SCAN_WARP;
    v->threads = d->w.target->thresholds.warp_threads;
    v->rows = v->threads / best;
    cg__why(d, "rows of at most %lld elements fit into the registers of %d lanes", (long long)longest, best);
}

/* Threads of a block that loops over a row with per_thread elements each, in whole warps from `least` to `most`: the
   number that idles least in the last iteration; of equals the largest. */
static int cg__scan_threads(int64_t length, int per_thread, int least, int most) {
    int best = most;
    int64_t covered = INT64_MAX;
    for (int threads = most; threads >= least; threads -= 32) {
        const int64_t chunk = (int64_t)threads * per_thread, all = (length + chunk - 1) / chunk * chunk;
        if (all < covered) best = threads, covered = all;
    }
    return best;
}

/* Plans a row of at most `longest` elements in the registers of a block, with so many vectors per thread, up to
   `lines`, that the fewest threads idle; false: it is too long. If 512 threads need more than half of `lines`, 1024
   threads with half as many are as fast and compile sooner, if registers allow two blocks: with 8 and 4 vectors 280 and
   168 instructions, 61 and 32 registers, 58 and 48 ms (cumsum of 16384 f32, 100 % of copy bandwidth, H200). */
static bool cg__choose_scan_block(cg__decider *d, int64_t longest, int lines) {
    ind__variant *v = d->variant;
    const bool any = cg__scans_only(&d->w); /* any number of threads; else powers of two */
    int64_t covered = INT64_MAX;
    int most = d->w.target->thresholds.scan_threads;
    if (longest > most * (int64_t)lines * v->vector) return false;
    if (longest > most * (int64_t)(lines / 2) * v->vector && lines > 1 && cg__scan_states(&d->w) == 1)
        most *= 2, lines /= 2;
    for (int n = lines; n >= (any ? (lines + 1) / 2 : lines); n--) {
        const int per_thread = n * v->vector;
        const int64_t needed = (longest + per_thread - 1) / per_thread, threads = (needed + 31) / 32 * 32;
        if (threads > most || threads * per_thread >= covered) continue;
        covered = threads * per_thread;
        v->per_thread = per_thread;
        v->threads = any ? (int)threads : cg__pow2_at_least(needed, 64, most);
    }
    cg__why(d, "rows of at most %lld elements fit into the registers of a block", (long long)longest);
    return true;
}

/* Plans a row of at most `longest` elements in the registers of up to 32 lanes, or of a block; else a block loops over
   it. */
static void cg__choose_scan_rows(cg__decider *d, int64_t longest) {
    ind__variant *v = d->variant;
    const int run = v->vector, lines = cg__scan_lines(&d->w, false, d->w.target->thresholds.scan_words);
    if (longest <= 32 * (int64_t)lines * run) {
        cg__choose_scan_warp(d, longest, lines);
        return;
    }
    v->strategy = IND_STRATEGY_SCAN_BLOCK;
    v->rows = 1;
    if (cg__choose_scan_block(d, longest, lines)) return;
    const ind_thresholds *t = &d->w.target->thresholds;
    const int most = ind_hint(cg__p_numel(&d->w)) < 2 * d->w.target->num_sms ? t->scan_threads : t->scan_small;
    const int64_t length = ind_hint(cg__r_numel(&d->w)) + cg__most_shift(&d->w);
    v->per_thread = cg__scan_lines(&d->w, true, d->w.target->thresholds.scan_words) * run;
    v->threads = cg__pow2_at_least(length / v->per_thread, t->scan_least, most);
    if (cg__scans_only(&d->w)) v->threads = cg__scan_threads(length, v->per_thread, t->scan_least, v->threads);
    cg__why(d, "a block loops over each row, %d elements per iteration", v->threads * v->per_thread);
}

/* Plans rows that are adjacent in memory (columns), with threads across them. Vectors are as wide as give most SMs a
   block of 32 threads, or fewer threads that still load whole sectors. Along the rows a block has as many such groups
   of threads as keep enough bytes in flight, and whose states fit in shared memory. */
static void cg__choose_scan_team(cg__decider *d) {
    ind__variant *v = d->variant;
    const ind_thresholds *t = &d->w.target->thresholds;
    int64_t rows = ind_hint(cg__p_numel(&d->w)), length = ind_hint(cg__r_numel(&d->w)),
            most = d->w.target->num_sms * t->scan_columns_fill / 100;
    int lanes = 32, n = 8, bytes = 0, widest = 0;
    while (n > 1 && rows / (lanes * n) < most) n /= 2;
    cg__choose_scan_vector(d, d->plan->domain.rank - 1, n);
    for (uint32_t i = 1; i < d->w.body->num_inst; i++) {
        int own = cg__loads_chunk(&d->w, i) ? ind_dtype_bytes(cg__memory_dtype(&d->w, i)) : 0;
        bytes += own;
        widest = own > widest ? own : widest;
    }
    while (rows / (lanes * v->vector) < most && lanes / 2 * v->vector * widest >= IND__CG_SECTOR_BYTES) lanes /= 2;
    int lines = cg__scan_lines(&d->w, true, t->scan_columns_words),
        line = lanes * lines * v->vector * (bytes ? bytes : 1);
    int64_t blocks = (rows + lanes * v->vector - 1) / (lanes * v->vector), flight = t->scan_flight;
    int team = cg__pow2_at_least(flight * d->w.target->num_sms / (blocks > 0 ? blocks : 1) / line,
                                 t->scan_least / lanes, t->scan_threads / lanes);
    while (team > 1 && (int64_t)team / 2 * lines >= length) team /= 2;
    while (team > 1 && 2 * team * lanes * v->vector * 4 * cg__scan_states(&d->w) > IND__CG_STATIC_SHARED) team /= 2;
    if (team * lanes < t->scan_least) lanes = t->scan_least / team;
    v->per_thread = lines * v->vector;
    v->rows = lanes * v->vector;
    v->threads = lanes * team;
    cg__why(d, "loads are contiguous along an output dimension: %d threads per row", team);
}

static void cg__choose_scan(cg__decider *d) {
    ind__variant *v = d->variant;
    cg__analyse(d);
    uint32_t r = cg__r_mask(&d->w);
    int best = cg__best_p(&d->w, r);
    bool column = best >= 0 && ind_hint(cg__p_numel(&d->w)) >= IND__SCAN_COLUMNS &&
                  cg__bytes_along(&d->w, best, r, true) < cg__bytes_along(&d->w, cg__num_vars(&d->w) - 1, r, true);
    if (column && best != d->plan->domain.rank - 1) cg__move_last(d, best);
    cg__merge_vars(d);
    cg__analyse(d);
    cg__choose_index_bits(d);
    v->vector = v->per_thread = 1;
    cg__no_vectors(d);
    v->strategy = IND_STRATEGY_SCAN_COLUMN;
    if (column && cg__scans_only(&d->w)) {
        cg__choose_scan_team(d);
    } else if (column) {
        v->threads = v->rows = d->w.target->thresholds.warp_threads;
        cg__why(d, "loads are contiguous along an output dimension: one thread per row");
    } else {
        int64_t longest =
            v->range.to && cg__assumes_length(d) ? cg__guard_length(d) : cg__upper_bound(cg__r_numel(&d->w));
        cg__choose_scan_vector(d, cg__num_vars(&d->w) - 1, 8);
        if (v->vector == 1 && cg__scans_only(&d->w)) cg__choose_scan_shift(d);
        if (cg__prefers_lookback(&d->w)) {
            cg__choose_lookback(d);
            return;
        }
        cg__choose_scan_rows(d, longest > 0 ? longest + cg__most_shift(&d->w) : 1);
    }
    cg__grid(d, cg__p_numel(&d->w), v->rows);
}

/* =========================================================================================== src/cuda/decide/sort.c */
static int cg__pow2_below(int n) {
    int p = 1;
    while (p <= n / 2) p *= 2;
    return p;
}

/* Bytes of shared memory for the scans of a kernel with a sort, with 16 warps. */
static int cg__scan_bytes(const ind__writer *w) {
    int scans = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) scans += cg__is_scan(w, i);
    return scans * 16 * w->target->thresholds.sort_warps;
}

/* Sorts in shared memory if the longest row fits, or the likely one under a guard; else in the result buffers. */
static void cg__choose_sort(cg__decider *d) {
    ind__variant *v = d->variant;
    const char *key;
    cg__analyse(d);
    cg__merge_vars(d);
    cg__analyse(d);
    cg__choose_index_bits(d);
    ind_expr n = cg__r_numel(&d->w);
    int bytes = ind_dtype_bytes(cg__sorted_dtype(&d->w, &key));
    int64_t most =
        (IND__CG_STATIC_SHARED - d->w.target->thresholds.sort_warps * cg__state_bytes(&d->w) - cg__scan_bytes(&d->w)) /
        (bytes + 4);
    int64_t longest = cg__upper_bound(n);
    bool fits = longest <= most;
    if (!fits && d->assume && ind_hint(n) <= most) fits = cg__guard(v, ind_expr_le(n, ind_int(d->w.context, most)));
    if (longest > most) longest = most;
    v->strategy = fits ? IND_STRATEGY_SORT_SHARED : IND_STRATEGY_SORT_LONG;
    v->vector = v->rows = 1;
    v->per_thread = (int)(longest > 0 ? longest : 1);
    if (!fits) {
        int states = 32 * cg__state_bytes(&d->w) + 2 * cg__scan_bytes(&d->w);
        v->per_thread = cg__pow2_below((IND__CG_STATIC_SHARED - states) / (bytes + v->index_bits / 8));
    }
    v->threads =
        cg__pow2_at_least(ind_hint(n) / 2, 32, fits ? d->w.target->thresholds.sort_threads : IND__CG_MAX_THREADS);
    cg__analyse(d); /* results sorted in place need no stores */
    if (fits)
        cg__why(d, "rows of at most %lld elements fit into shared memory", (long long)longest);
    else
        cg__why(d, "rows may exceed the %lld elements that fit into shared memory", (long long)most);
    cg__grid(d, cg__p_numel(&d->w), 1);
}

/* ============================================================================================== src/cuda/assemble.c */
/* ------------------------------------------------------------------------------------------------ >>assemble */

static void cg__free(ind__writer *w) {
    if (!w->context) return; /* never begun */
    ind__text_free(&w->code);
    ind__free(w->context, w->args.arg);
    ind__arena_free(&w->scratch);
    memset(w, 0, sizeof *w);
}

/* The user's functions that the body calls, in order of their first call. */
static bool cg__find_functions(ind__writer *w) {
    const ind_body *b = w->body;
    uint32_t most = 0;
    for (uint32_t i = 1; i < b->num_inst; i++) most += b->inst[i].op == IND_LOOP_CALL;
    if (most)
        w->calls.function = (const ind__function **)ind__arena_alloc(&w->scratch, most * sizeof *w->calls.function);
    if (most && !w->calls.function) return false;
    for (uint32_t i = 1; most && i < b->num_inst; i++) {
        if (b->inst[i].op != IND_LOOP_CALL) continue;
        uint32_t n = 0;
        while (n < w->calls.num && w->calls.function[n] != b->inst[i].imm.function) n++;
        w->calls.function[n] = b->inst[i].imm.function;
        if (n == w->calls.num) w->calls.num++;
    }
    return true;
}

static void cg__function_head(ind__text *t, const ind__function *f, uint32_t number) {
    ind__textf(t, "static IND_INLINE %s ind_user_%u(", cg__types[ind_dtype_compute(f->dtype)].value, (unsigned)number);
    for (int k = 0; k < f->num_args; k++)
        ind__textf(t, "%s%s %s", k ? ", " : "", cg__types[ind_dtype_compute(f->arg_dtype[k])].value, f->arg[k]);
    ind__textf(t, ")");
}

/* Declares the user's functions. They are defined after the kernel, so that #line numbers their lines as the user wrote
   them. */
static void cg__declare_functions(const ind__writer *w, ind__text *t) {
    for (uint32_t n = 0; n < w->calls.num; n++) {
        cg__function_head(t, w->calls.function[n], n);
        ind__textf(t, ";\n");
    }
    if (w->calls.num) ind__textf(t, "\n");
}

static void cg__define_functions(const ind__writer *w, ind__text *t) {
    for (uint32_t n = 0; n < w->calls.num; n++) {
        const ind__function *f = w->calls.function[n];
        ind__textf(t, "\n/* function %s */\n", f->name);
        cg__function_head(t, f, n);
        ind__textf(t, strchr(f->cuda, ';') ? " {\n#line 1 \"%s\"\n" : " { return (\n#line 1 \"%s\"\n", f->name);
        ind__text_raw(t, f->cuda, strlen(f->cuda));
        ind__textf(t, strchr(f->cuda, ';') ? "\n}\n" : "\n); }\n");
    }
}

/* The arrays of a body plan, allocated from an arena. */
typedef struct cg__plan_array {
    size_t offset, element; /* in ind__body_plan; bytes of an entry */
} cg__plan_array;

static const cg__plan_array cg__plan_arrays[] = {
    {offsetof(ind__body_plan, varies), sizeof(uint32_t)},
    {offsetof(ind__body_plan, only_check), 1},
    {offsetof(ind__body_plan, rooted), 1},
    {offsetof(ind__body_plan, stage), 1},
    {offsetof(ind__body_plan, level), 1},
    {offsetof(ind__body_plan, resident), 1},
    {offsetof(ind__body_plan, vector), 1},
    {offsetof(ind__body_plan, uniform), 1},
    {offsetof(ind__body_plan, across), 1},
    {offsetof(ind__body_plan, evict_last), 1},
    {offsetof(ind__body_plan, through), 1},
};

/* A new body plan for a body, with copies of the arrays of `from`, or zeroed ones if it is NULL. NULL on failure. */
static ind__body_plan *cg__new_body_plan(ind__arena *arena, const ind__body_plan *from, const ind_body *body) {
    const size_t n = body->num_inst + 1;
    ind__body_plan *plan = (ind__body_plan *)ind__arena_alloc(arena, sizeof *plan);
    if (!plan) return NULL;
    if (from) *plan = *from;
    for (size_t i = 0; i < sizeof cg__plan_arrays / sizeof *cg__plan_arrays; i++) {
        const cg__plan_array *a = &cg__plan_arrays[i];
        void *array = ind__arena_alloc(arena, n * a->element), *source = NULL;
        if (!array) return NULL;
        if (from) memcpy(&source, (const char *)from + a->offset, sizeof source);
        if (source) memcpy(array, source, n * a->element);
        memcpy((char *)plan + a->offset, &array, sizeof array);
    }
    if (from) {
        plan->domain.index =
            (ind_expr *)ind__arena_copy(arena, from->domain.index, (body->num_index + 1) * sizeof *plan->domain.index);
        if (!plan->domain.index) return NULL;
    }
    if (from && from->matmul) {
        plan->matmul = (struct cg__mm_problem *)ind__arena_copy(arena, from->matmul, sizeof *from->matmul);
        if (!plan->matmul) return NULL;
    }
    return plan;
}

/* Initialises a writer for the text of a decided variant. The buffers are its first arguments. */
static ind_status cg__init(ind__writer *w, ind_plan *p, const ind_kernel *k, const ind__variant *v,
                           const ind__body_plan *plan) {
    const uint32_t n = k->body->num_inst + 1;
    *w = (ind__writer){.context = p->context,
                       .target = &p->target,
                       .schedule = p->schedule,
                       .kernel = k,
                       .body = k->body,
                       .variant = v,
                       .plan = plan,
                       .arena = &p->arena,
                       .scope = 1};
    w->scratch.context = w->code.context = p->context;
    w->code.indent = 1;
    w->value = (const char **)ind__arena_alloc(&w->scratch, n * sizeof *w->value);
    w->memory = (const char **)ind__arena_alloc(&w->scratch, n * sizeof *w->memory);
    w->known = (uint8_t *)ind__arena_alloc(&w->scratch, n);
    w->needed = (uint8_t *)ind__arena_alloc(&w->scratch, n);
    w->runs = (uint8_t *)ind__arena_alloc(&w->scratch, n);
    if (!w->value || !w->memory || !w->known || !w->needed || !w->runs) return ind__failed(p->context);
    for (uint32_t i = 0; i < k->num_args; i++) {
        ind__kernel_arg *a = IND__PUSH(p->context, ind__kernel_arg, w->args.arg, w->args.num, w->args.cap);
        if (!a) return ind__failed(p->context);
        *a = (ind__kernel_arg){.kind = IND__ARG_BUFFER, .buffer = k->arg[i]};
    }
    return cg__find_functions(w) ? IND_OK : ind__failed(p->context);
}

/* cg__free of its writer frees it. */
static ind_status cg__init_decider(cg__decider *d, ind_plan *p, const ind_kernel *k, ind__variant *v, int assume) {
    *d = (cg__decider){.variant = v, .max_cluster = p->target.max_cluster, .assume = assume, .tuning = p->tuning};
    ind_status status = cg__init(&d->w, p, k, v, NULL);
    if (status) return status;
    d->w.plan = d->plan = cg__new_body_plan(&d->w.scratch, NULL, k->body);
    if (!d->plan) return ind__failed(p->context);
    memset(d->plan->vector, 1, k->body->num_inst + 1);
    cg__domain_init(d);
    return d->w.failed ? ind__failed(p->context) : IND_OK;
}

/* Arguments that point to an instance's own memory. */
static const struct {
    const char *type, *name, *text;
} cg__memory_args[] = {
    [IND__ARG_ERROR] = {"unsigned long long *", "error", "record of index errors"},
    [IND__ARG_LOOKBACK] = {"unsigned long long *", "lookback", "words to look back"},
    [IND__ARG_COUNTERS] = {"unsigned *", "counters", "counters"},
    [IND__ARG_PARTIALS] = {"unsigned char *", "partials", "partial results"},
};

/* True if the previous launch may write this argument while this launch has begun. With `const __restrict__` the
   compiler may treat the memory as read-only for the whole kernel, and load it before the wait (PTX ISA, ld.global.nc;
   NVRTC 13.0 did in a matmul). Written buffers remain `__restrict__`. */
static bool cg__written_beside(const ind__writer *w, uint32_t arg) {
    const ind__buffer *b = &w->schedule->program->buffer[w->args.arg[arg].buffer];
    return w->variant->dependent && arg < w->kernel->num_reads && b->kind != IND__BUFFER_CONST;
}

/* Writes the parameters, one per line, and the opening brace. In a launch of several products a part takes its pointers
   by reference, which are loaded where they are used: by value they would occupy registers that the sums need. In a
   kernel they are constants. */
static void cg__write_params(ind__writer *w, ind__text *t) {
    const bool late = w->plan->part && cg__reads_pointers(w);
    uint32_t size = 0, reciprocal = 0, last = w->args.num - 1;
    while (w->args.arg[last].computed) last--; /* buffers come first */
    for (uint32_t i = 0; i < w->args.num; i++) {
        const ind__kernel_arg *a = &w->args.arg[i];
        if (a->computed) {
            *(a->reciprocal ? &reciprocal : &size) += 1;
            continue;
        }
        if (a->kind == IND__ARG_BUFFER) {
            const char *type = cg__types[w->schedule->program->buffer[a->buffer].dtype].memory;
            const bool free = !cg__shares_memory(w, i) && !cg__written_beside(w, i);
            const char *how = late ? "const &" : free ? "__restrict__ " : "";
            ind__textf(t, "%s%s *%s%s", i < w->kernel->num_reads ? "const " : "", type, how, cg__buffer(w, a->buffer));
        } else if (a->reciprocal) {
            ind__textf(t, "unsigned long long m%u", reciprocal++);
        } else if (a->kind == IND__ARG_SIZE) {
            ind__textf(t, "%s n%u", cg__int(w), size++);
        } else if (a->kind == IND__ARG_TENSOR_MAP) {
            ind__textf(t, "const __grid_constant__ ind_tensor_map map_%c", "abc"[a->part]);
        } else {
            ind__textf(t, "%s%s", cg__memory_args[a->kind].type, cg__memory_args[a->kind].name);
        }
        ind__textf(t, i < last ? ",\n" : ") {\n");
    }
}

/* "1": without a minimum of blocks per SM ptxas spills a few registers to reach a minimum of its own choice. */
static void cg__assemble_signature(ind__writer *w, ind__text *t) {
    ind__textf(t, "extern \"C\" __global__ void ");
    const int cluster = ind__cluster_of(w->variant);
    if (cluster > 1) ind__textf(t, "__cluster_dims__(%d, 1, 1) ", cluster);
    ind__textf(t, "__launch_bounds__(%d, %d) %s(\n", w->variant->threads,
               w->variant->blocks_per_sm ? w->variant->blocks_per_sm : 1, w->variant->source.entry);
    t->indent++;
    cg__write_params(w, t);
    t->indent--;
}

static ind_status cg__push_arg(ind__writer *w, ind__kernel_arg arg) {
    ind__kernel_arg *a = IND__PUSH(w->context, ind__kernel_arg, w->args.arg, w->args.num, w->args.cap);
    if (!a) return ind__failed(w->context);
    *a = arg;
    return IND_OK;
}

/* Adds the arguments that are no buffers or sizes, last: error record, lookback words, counters, partial results, and
   tensor maps. */
static ind_status cg__push_other_args(ind__writer *w) {
    ind_status status = IND_OK;
    if (w->args.needs_error) status = cg__push_arg(w, (ind__kernel_arg){.kind = IND__ARG_ERROR});
    if (!status && ind__ok(w->plan->lookback))
        status = cg__push_arg(w, (ind__kernel_arg){.kind = IND__ARG_LOOKBACK, .size = w->plan->lookback});
    if (!status && w->variant->memory.num_counters)
        status = cg__push_arg(w, (ind__kernel_arg){.kind = IND__ARG_COUNTERS});
    if (!status && w->variant->memory.partial_bytes)
        status = cg__push_arg(w, (ind__kernel_arg){.kind = IND__ARG_PARTIALS});
    for (int i = 0; i < 3 && !status; i++)
        if (cg__tensor_map(w, i).map) status = cg__push_arg(w, cg__tensor_map(w, i));
    return status;
}

/* ---- sizes that come from data */

/* Replaces every maximal part of e that does not depend on data by the symbol of a size argument. */
static ind_expr cg__known_to_args(ind__writer *w, ind_expr e, int depth) {
    ind_expr a[32];
    const int n = ind_expr_num_args(e);
    if (!ind__expr_has_kind(e, IND_SYMBOL_UNBACKED)) return cg__size_symbol(w, e);
    if (n == 0) return e;
    if (n > 32 || depth > IND__CG_MAX_DEPTH) {
        ind__fail(w->context, IND_LIMIT, "kernel %s: a size from data is nested too deep", w->kernel->name);
        return (ind_expr){0};
    }
    for (int i = 0; i < n; i++) a[i] = cg__known_to_args(w, ind_expr_arg(e, i), depth + 1);
    return ind__expr_rebuild(e, a, n);
}

static void cg__data_size_name(ind__text *t, ind_expr symbol, void *user) {
    const ind__writer *w = (const ind__writer *)user;
    const ind__lowered *p = w->schedule->program;
    for (uint32_t u = 0; u < p->num_unbacked; u++) {
        if (!ind_expr_same(symbol, p->unbacked[u].symbol)) continue;
        ind__textf(t, "u%u", u);
        return;
    }
    ind__textf(t, "(long long)%s", ind_expr_symbol(symbol)->name);
}

/* Writes a formula with sizes from data in C. It is computed in 64 bits, the type of these sizes. */
static void cg__data_formula(ind__writer *w, ind__text *t, ind_expr e) {
    ind_expr known = cg__known_to_args(w, e, 0);
    if (!ind__ok(known)) {
        cg__fail(w);
        return;
    }
    size_t from = t->size;
    ind__text_expr_c(t, known, true, cg__data_size_name, w);
    const char *text = t->data ? t->data + from : "";
    if (strstr(text, "ind_floor")) cg__use(w, IND__CG_FLOORDIV);
    if (strstr(text, "ind_m")) cg__use(w, IND__CG_MAXMIN);
}

/* The largest value of a formula of the launch for any data. */
static ind_expr cg__most(ind__writer *w, ind_expr e, const char *what) {
    const ind__lowered *p = w->schedule->program;
    ind_expr most = ind__most(p->unbacked, p->num_unbacked, e);
    if (ind__ok(e) && !ind__ok(most)) {
        ind__fail(w->context, IND_NOT_SUPPORTED, "kernel %s: no bound in the declared sizes is found for its %s",
                  w->kernel->name, what);
        cg__fail(w);
    }
    return most;
}

/* The grid is for the largest sizes: blocks beyond the actual ones return at entry. */
static void cg__leave_beyond(ind__writer *w, ind__text *t) {
    const ind__variant *v = w->variant;
    for (int d = 0; d < 3; d++) {
        if (!ind__ok(v->grid[d]) || !ind__expr_has_kind(v->grid[d], IND_SYMBOL_UNBACKED)) continue;
        ind__textf(t, "if (blockIdx.%c >= ", "xyz"[d]);
        cg__data_formula(w, t, v->grid[d]);
        ind__textf(t, ") return;\n");
    }
}

/* Replaces grid and shared memory by their bounds, which are known before the launch. */
static void cg__bound_launch(ind__writer *w, ind__variant *v) {
    if (!ind__body_unbacked(w->schedule->program, w->body)) return;
    for (int d = 0; d < 3; d++)
        if (ind__ok(v->grid[d]) && ind__expr_has_kind(v->grid[d], IND_SYMBOL_UNBACKED))
            v->grid[d] = cg__most(w, v->grid[d], "grid");
    if (ind__ok(v->memory.shared)) v->memory.shared = cg__most(w, v->memory.shared, "shared memory");
}

/* Writes the start of a kernel with sizes from data: loads the sizes that an earlier kernel counted, and computes the
   arguments that depend on them. */
static void cg__write_data_sizes(ind__writer *w, ind__text *t) {
    const ind__lowered *p = w->schedule->program;
    uint64_t sizes = ind__body_unbacked(p, w->body);
    uint32_t number[2] = {0, 0};
    if (!sizes) return;
    t->indent++;
    for (uint32_t u = 0; u < p->num_unbacked; u++) {
        if (!(sizes >> u & 1)) continue;
        ind__textf(t, "const long long u%u = *%s;\n", u, cg__buffer(w, p->unbacked[u].buffer));
    }
    for (uint32_t i = 0; i < w->args.num; i++) { /* formulas may add arguments, but no computed ones */
        const ind__kernel_arg a = w->args.arg[i];
        if (a.kind != IND__ARG_SIZE) continue;
        uint32_t k = number[a.reciprocal]++;
        if (!a.computed) continue;
        const char *type = a.reciprocal ? "unsigned long long" : cg__int(w);
        ind__textf(t, "const %s %c%u = (%s)(", type, "nm"[a.reciprocal], k, type);
        cg__data_formula(w, t, a.size);
        ind__textf(t, ");\n");
    }
    cg__leave_beyond(w, t);
    t->indent--;
}

static bool cg__has_prelude_set(const ind__prelude_set *set) {
    uint64_t any = 0;
    for (size_t i = 0; i < sizeof set->word / sizeof set->word[0]; i++) any |= set->word[i];
    return any;
}

static bool cg__has_prelude(const ind__prelude_set *set, int function) {
    return set->word[function / 64] >> function % 64 & 1;
}

static void cg__write_prelude(ind__text *t, const ind__prelude_set *functions) {
    for (int i = 0; i < IND__CG_NUM_PRELUDE; i++) {
        if (!cg__has_prelude(functions, i)) continue;
        for (const char *const *line = cg__prelude[i].line; *line; line++) ind__text_raw(t, *line, strlen(*line));
        ind__text_raw(t, "\n", 1);
    }
}

/* Programmatic dependent launch (CUDA C++ Programming Guide, "Programmatic Dependent Launch and Synchronization"; PTX
   ISA, griddepcontrol). Every kernel of a schedule of several launches begins with the wait, before it touches memory.
   So launches complete in order, and waiting for the previous one is waiting for all earlier ones.

   No kernel calls griddepcontrol.launch_dependents: the next launch may begin when the last block ends, which hides the
   launch latency, 0.3 us on an H200. Called at the wait, it saved no more, and chains of column sums and softmax of
   4096 rows took 1.4 times as long: blocks of the next launch fill the free slots beside blocks that still run, so that
   a few blocks crowd on a few SMs. */
static bool cg__launches_dependent(const ind_plan *p) {
    return p->schedule->dependent_launch && p->target.sm >= 90;
}

/* ---- inputs with L2 evict_last */

/* True if an input is copied to shared memory asynchronously. */
static bool cg__stages_arg(const ind__writer *w, uint32_t arg) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (cg__is_staged(w, i) && cg__inst(w, i)->source == w->args.arg[arg].buffer) return true;
    return false;
}

/* True if an input is loaded with L2 evict_last. */
static bool cg__evicts_last(const ind__writer *w, uint32_t arg) {
    for (uint32_t i = 1; i < w->body->num_inst; i++)
        if (w->plan->evict_last[i] && cg__inst(w, i)->source == w->args.arg[arg].buffer) return true;
    return false;
}

/* Writes "in0 = ind_evict_last(in0);" for such inputs, and creates the cache policy for those that are copied
   asynchronously. */
static void cg__write_evictions(ind__writer *w, ind__text *t) {
    bool copies = false;
    t->indent++;
    for (uint32_t i = 0; i < w->kernel->num_reads; i++) {
        if (!cg__evicts_last(w, i)) continue;
        const char *name = cg__buffer(w, w->args.arg[i].buffer);
        const bool copied = cg__stages_arg(w, i);
        copies |= copied;
        cg__use(w, copied ? IND__CG_EVICT_LAST_POLICY : IND__CG_EVICT_LAST);
        if (!copied) ind__textf(t, "%s = ind_evict_last(%s);\n", name, name);
    }
    if (copies) ind__textf(t, "const unsigned long long evict_last = ind_evict_last_policy();\n");
    t->indent--;
}

#define IND__CG_DEPENDENCY_CALL "    ind_dependency_wait();\n"

/* Assembles the variant's source from prelude, signature and body. */
static ind_status cg__assemble(ind__writer *w, ind__variant *v) {
    if (v->dependent) cg__use(w, IND__CG_DEPENDENCY);
    ind__text t = {.context = w->context}, first = t;
    cg__write_data_sizes(w, &first);
    cg__write_evictions(w, &first);
    if (cg__push_other_args(w)) return ind__failed(w->context);
    if (cg__has_prelude_set(&w->prelude) || w->calls.num)
        ind__textf(&t, "#define IND_INLINE __device__ __forceinline__\n\n");
    cg__write_prelude(&t, &w->prelude);
    cg__write_template_functions(w, &t);
    snprintf(v->source.entry, sizeof v->source.entry, "ind_k_%s", w->kernel->name);
    cg__declare_functions(w, &t);
    cg__assemble_signature(w, &t);
    if (v->dependent) ind__textf(&t, "%s", IND__CG_DEPENDENCY_CALL);
    if (first.size) ind__text_raw(&t, first.data, first.size);
    if (w->code.size) ind__text_raw(&t, w->code.data, w->code.size);
    ind__text_raw(&t, "}\n", 2);
    cg__define_functions(w, &t);
    cg__bound_launch(w, v);
    v->arg = (ind__kernel_arg *)ind__arena_copy(w->arena, w->args.arg, w->args.num * sizeof *w->args.arg);
    for (uint32_t i = 0; v->arg && i < w->args.num; i++)
        if (!w->args.arg[i].computed) v->arg[v->num_args++] = w->args.arg[i];
    v->source.text = t.data ? ind__arena_string(w->arena, t.data, t.size) : NULL;
    v->source.bytes = t.size;
    bool failed = t.failed || first.failed || w->code.failed || w->failed || !v->arg || !v->source.text;
    ind__text_free(&t);
    ind__text_free(&first);
    return failed ? ind__failed(w->context) : IND_OK;
}

/* ========================================================================================== src/cuda/decide/tuned.c */
/* ---- tuning: measured choices replace those of the formulas */

/* Sets the elements per thread so that all threads together have the row; like the formulas' choice they must fit in
   registers. */
static bool cg__retune_row_block(cg__decider *d, int threads) {
    ind__variant *v = d->variant;
    const int64_t vectors = (int64_t)v->per_thread / v->vector * cg__round_lanes(&d->w);
    const ind__variant before = *v;
    const int64_t lanes = cg__choose_segments(d, threads), per_thread = (vectors + lanes - 1) / lanes * v->vector;
    if (per_thread > d->w.target->thresholds.most_elements ||
        cg__resident_words(&d->w) * (double)per_thread + d->w.target->thresholds.other_registers >
            d->w.target->sm_registers / threads) {
        *v = before;
        return false;
    }
    v->per_thread = (int)per_thread;
    v->threads = threads;
    if (v->blocks_per_sm > 1)
        v->blocks_per_sm = cg__fit_anyway(&d->w)
                               ? 0
                               : cg__blocks_of(&d->w, cg__needed_registers(&d->w, cg__looped_passes(&d->w) == 1));
    return true;
}

/* Sets another number of threads per block, if the other choices suit any number or follow from it. */
static bool cg__retune_threads(cg__decider *d, int threads) {
    ind__variant *v = d->variant;
    const int lanes = v->rows ? v->threads / v->rows : 0;
    bool fits = false;
    const bool any = cg__has(&d->w, IND__HAS_ANY_THREADS) || cg__power_of_two(threads);
    if (threads < 32 || threads > IND__CG_MAX_THREADS || threads % 32 || !any || d->w.kernel->run || v->misaligned)
        return false;
    switch (v->strategy) {
    case IND_STRATEGY_POINTWISE: fits = true; break;
    case IND_STRATEGY_ROW_WARP: fits = threads >= lanes && ind__row_of(v)->batch < 2; break;
    case IND_STRATEGY_ROW_BLOCK:
        fits = threads >= 32 * d->w.target->thresholds.block_warps && !ind__ok(ind__row_of(v)->fitted) &&
               cg__retune_row_block(d, threads);
        break;
    case IND_STRATEGY_ROW_LOOPED: fits = true; break;
    case IND_STRATEGY_COLUMN:
        fits = threads >= v->rows && threads * cg__state_bytes(&d->w) <= IND__CG_STATIC_SHARED;
        break;
    default: break;
    }
    if (!fits) return false;
    v->threads = threads;
    v->of.row.fitted = (ind_expr){0};
    if (v->strategy == IND_STRATEGY_ROW_WARP) v->rows = threads / lanes;
    return true;
}

/* Sets the vectors or rows per thread whose loads are in flight together, if there may be several. */
static bool cg__retune_together(cg__decider *d, int num) {
    ind__variant *v = d->variant;
    if (!cg__power_of_two(num) || num > IND__CG_MAX_BATCH || d->w.kernel->run || v->misaligned) return false;
    if (v->strategy == IND_STRATEGY_POINTWISE && v->per_thread > v->vector) {
        v->per_thread = num * v->vector;
        return true;
    }
    if (v->strategy != IND_STRATEGY_ROW_WARP) return false;
    v->rows = v->threads / cg__row_threads(&d->w) * num;
    v->of.row.batch = num > 1 ? num : 0;
    return true;
}

static void cg__retune(cg__decider *d) {
    ind__variant *v = d->variant;
    const ind__tuning t = d->tuning;
    if (t.threads && cg__retune_threads(d, t.threads)) {
        v->tuned.threads = t.threads;
        cg__why(d, "%s; tuned: %d threads", v->why, t.threads);
    }
    if (t.together && cg__retune_together(d, t.together)) {
        v->tuned.together = t.together;
        cg__why(d, "%s; tuned: %d in flight", v->why, t.together);
    }
    if (t.alternative) {
        v->tuned.alternative = t.alternative;
        cg__why(d, "%s; tuned: this variant", v->why);
    }
    if (!v->tuned.threads && !v->tuned.together) return;
    if (v->strategy == IND_STRATEGY_ROW_WARP) cg__grid(d, cg__p_numel(&d->w), v->rows);
    if (v->strategy == IND_STRATEGY_POINTWISE) cg__grid(d, cg__p_numel(&d->w), (int64_t)v->threads * v->per_thread);
}

/* ==================================================================================== src/cuda/decide/l2_eviction.c */
/* ---- L2 eviction priority */

/* True if the kernel's part of a buffer is larger than the L2, and each element is used once. Only the computation
   decides this, as a kernel with equal computations on other buffers has the same text. */
static bool cg__streams(const ind__writer *w, uint32_t arg) {
    bool streams = false;
    if (w->args.arg[arg].kind != IND__ARG_BUFFER || cg__shares_memory(w, arg)) return false;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        if (!cg__is_access(w, i) || cg__inst(w, i)->source != w->args.arg[arg].buffer) continue;
        double bytes = ind_dtype_bytes(cg__memory_dtype(w, i));
        for (int d = 0; d < cg__num_vars(w); d++)
            if (w->plan->varies[i] >> d & 1) bytes *= (double)ind_hint(w->plan->domain.extent[d]);
        const bool once = (w->plan->varies[i] & cg__p_mask(w)) == cg__p_mask(w) &&
                          !ind__expr_has_kind(cg__index_of(w, i), IND_SYMBOL_INDIRECT);
        if (bytes <= w->target->l2_bytes || !once) return false;
        streams = true;
    }
    return streams;
}

/* Chooses the loads with L2 evict_last. Rows and tiles are read, waited for, and written, so the L2 fills with
   lines already read and lines waiting to be written. A buffer larger than the L2 and used once is not hit again, so
   only the eviction order matters. If read lines are evicted last, written lines go to memory sooner (% of copy
   bandwidth, H200: rms_norm of 4096 f32 96.4 and 100.2, bf16 96.7 and 100.6; softmax of 2048 f32 97.0 and 100.6; add
   and layer_norm of 4096 bf16 96.4 and 100.3; cumsum of 16384 f32 96.7 and 99.7; a transpose 100.8 and 101.8). Four
   tensors in turn gain as much as one, so cache hits are not the cause. A later kernel that uses the L2 takes the same
   time (eight copies of 16 MB: 60.1 us and 60.7). No gain: pointwise kernels, and kernels that write little. */
static void cg__choose_evictions(cg__decider *d) {
    const ind__writer *w = &d->w;
    bool writes = false, any = false;
    memset(d->plan->evict_last, 0, w->body->num_inst);
    if (!cg__has(w, IND__HAS_EVICT_LAST)) return;
    for (uint32_t i = w->kernel->num_reads; i < w->args.num; i++) writes |= cg__streams(w, i);
    for (uint32_t i = 1; writes && i < w->body->num_inst; i++) {
        const ind__inst *x = cg__inst(w, i);
        if (x->op != IND_LOOP_LOAD) continue;
        const uint32_t arg = cg__arg_of(w->kernel, x->source);
        any |= d->plan->evict_last[i] = arg < w->kernel->num_reads && cg__streams(w, arg);
    }
    if (any && !d->plan->part)
        cg__why(d, "%s; inputs and outputs exceed the L2: inputs are loaded with evict_last", w->variant->why);
}

/* ========================================================================================= src/cuda/decide/decide.c */
/* Chooses which values stay in registers, or which loads pass through a tile, once the strategy is chosen. */
static void cg__choose_resident_loads(cg__decider *d) {
    const ind__variant *v = d->variant;
    if (v->strategy == IND_STRATEGY_TRANSPOSE) cg__choose_tile_loads(d, d->plan->domain.rank - 1, d->plan->tile_y);
    if (d->w.kernel->kind != IND_KERNEL_REDUCTION) return;
    memset(d->plan->resident, 0, d->w.body->num_inst);
    if (cg__splits_rows(&d->w)) return;
    if (cg__in_registers(&d->w) && (v->strategy != IND_STRATEGY_ROW_STAGED || ind__row_of(v)->stage.in_registers))
        cg__choose_resident(d);
}

static void cg__choose_strategy(cg__decider *d) {
    switch (d->w.kernel->kind) {
    case IND_KERNEL_REDUCTION: cg__choose_reduction(d); break;
    case IND_KERNEL_SCAN: cg__choose_scan(d); break;
    case IND_KERNEL_SORT: cg__choose_sort(d); break;
    default: cg__choose_pointwise(d); break;
    }
}

/* Decides how the kernel is computed: fills the body plan and all of the variant except its text. */
static ind_status cg__decide(cg__decider *d) {
    if (d->w.kernel->kind == IND_KERNEL_MATMUL) {
        cg__analyse(d);
        cg__choose_index_bits(d);
        return cg__choose_matmul(d, d->variant);
    }
    if (!ind__loops_drop_ones(&d->plan->domain)) cg__fail(&d->w);
    cg__split_vars(d);
    if (d->w.failed) return ind__failed(d->w.context);
    cg__choose_strategy(d);
    if (!d->plan->part) cg__retune(d);
    if (d->w.failed) return ind__failed(d->w.context);
    cg__choose_resident_loads(d);
    if (d->w.kernel->kind == IND_KERNEL_POINTWISE) d->plan->mask = cg__only_mask(&d->w, d->plan->domain.rank - 1);
    cg__choose_evictions(d);
    return d->w.failed ? ind__failed(d->w.context) : IND_OK;
}

/* ============================================================================================ src/cuda/emit/write.c */
static ind_status cg__emit_body(ind__writer *w) {
    static ind_status (*const emit[])(ind__writer *) = {
#define X(name, text, family, of, file, emit, features) emit,
        IND_STRATEGIES(X)
#undef X
    };
    return emit[w->variant->strategy](w);
}

static ind_status cg__write_once(ind__writer *w, ind_plan *p, const ind_kernel *k, const ind__variant *v,
                                 const ind__body_plan *plan) {
    ind_status status = cg__init(w, p, k, v, plan);
    if (!status) status = cg__emit_body(w);
    if (status) return status;
    return w->failed || w->code.failed ? ind__failed(w->context) : IND_OK;
}

static bool cg__same_text(const ind__writer *a, const ind__writer *b) {
    return a->code.size == b->code.size && (!a->code.size || !memcmp(a->code.data, b->code.data, a->code.size)) &&
           !memcmp(&a->prelude, &b->prelude, sizeof a->prelude) && a->args.num == b->args.num;
}

/* If stages are verified: writes the text again, from a copy of the decided plan. Both texts must be equal. */
static ind_status cg__check_text(ind_plan *p, const ind__writer *first) {
    ind__arena arena = {.context = p->context};
    const ind__variant variant = *first->variant;
    const ind__body_plan *plan = cg__new_body_plan(&arena, first->plan, first->body);
    ind__writer again = {0};
    const uint32_t refusals = ind__refusals(p->context);
    ind_status status = plan ? cg__write_once(&again, p, first->kernel, &variant, plan) : ind__failed(p->context);
    if (!status) status = ind__refused_since(p->context, refusals);
    if (!status && !cg__same_text(&again, first))
        status =
            ind__fail(p->context, IND_VERIFY, "kernel %s: a copy of its plan gives another text", first->kernel->name);
    cg__free(&again);
    ind__arena_free(&arena);
    return status;
}

/* Writes the body of the kernel that d has decided. *w must be fresh; the caller frees it. */
static ind_status cg__write_body(ind__writer *w, ind_plan *p, const cg__decider *d) {
    ind_status status = cg__write_once(w, p, d->w.kernel, d->variant, d->plan);
    return !status && ind__verifying(p->context) ? cg__check_text(p, w) : status;
}

/* ======================================================================================= src/cuda/decide/variants.c */
/* ---- the variants of a kernel */

/* True if the sizes passed as arguments fit the index type too; false: 64 bits must be used. */
static bool cg__sizes_fit(cg__decider *d, const ind__writer *w) {
    if (d->plan->wide) return true;
    for (uint32_t i = 0; i < w->args.num; i++)
        if (w->args.arg[i].kind == IND__ARG_SIZE && !w->args.arg[i].reciprocal &&
            !cg__expr_fits(d, w->args.arg[i].size, 0))
            return false;
    return true;
}

#define IND__CG_ALONE                                                                                                  \
    64 /* fallbacks from this number on have no cluster: 64 is the first variant without one, and so on */

/* Plans the variant or one of its fallbacks, by its position `alternative`; *more: there is another fallback. */
static ind_status cg__plan_alternative(ind_plan *p, const ind_kernel *k, ind__variant *v, int assume, int alternative,
                                       bool *more, int *used) {
    const bool alone = alternative >= IND__CG_ALONE;
    for (int attempt = 0; attempt < 2; attempt++) {
        cg__decider d;
        ind__writer w = {0};
        *v = (ind__variant){.assume = assume,
                            .vector = assume ? 8 : 1,
                            .range = {p->from, p->to},
                            .dependent = cg__launches_dependent(p)};
        ind_status status = cg__init_decider(&d, p, k, v, assume);
        d.force_wide = attempt == 1;
        v->alternative = alternative;
        d.alternative = alone ? alternative - IND__CG_ALONE : alternative;
        if (alone) d.max_cluster = 1;
        if (!status) status = cg__decide(&d);
        if (!status) status = cg__write_body(&w, p, &d);
        bool fits = status || cg__sizes_fit(&d, &w);
        if (!status && fits) status = cg__assemble(&w, v);
        *more = d.more_alternatives;
        *used |= d.used;
        cg__free(&w);
        cg__free(&d.w);
        if (status || fits) return status;
    }
    return ind__fail(p->context, IND_VERIFY, "kernel %s: sizes do not fit into 64 bits", k->name);
}

/* Fallbacks of a variant. NVRTC 13.0 compiled 370 variants of norms and softmax for sm_90a: 20 spilled. The first
   fallback of 19 does not. */
enum { IND__CG_MAX_FALLBACKS = 2 };

/* Plans a variant and its fallbacks. The last fallback of a variant with a cluster has none. *used: the assumptions
   that became guards, except IND__ASSUME_ALIGNED. */
static ind_status cg__plan_variant(ind_plan *p, const ind_kernel *k, ind__variant *v, int assume, int *used) {
    bool tried = false; /* a fallback without clusters was planned */
    int fallbacks = 0;
    *used = 0;
    for (int alternative = p->tuning.alternative;; alternative++, v = v->fallback) {
        bool more = false;
        ind_status status = cg__plan_alternative(p, k, v, assume, alternative, &more, used);
        tried |= ind__cluster_of(v) < 2;
        if (more ? fallbacks + 1 == IND__CG_MAX_FALLBACKS : ind__cluster_of(v) > 1) {
            more = true;
            alternative = IND__CG_ALONE + (tried ? alternative : -1);
        }
        if (status || !more || fallbacks++ == IND__CG_MAX_FALLBACKS) return status;
        v->fallback = (ind__variant *)ind__arena_alloc(&p->arena, sizeof *v);
        if (!v->fallback) return IND_OUT_OF_MEMORY;
    }
}

static bool cg__has_guard(const ind__variant *v) {
    return ind__ok(v->guard) || v->guard_aligned;
}

/* True if rows of any length are looped over. */
static bool cg__is_looped(const ind__variant *v) {
    if (v->strategy == IND_STRATEGY_SCAN_BLOCK) return v->range.to > (int64_t)v->threads * v->per_thread;
    return ind__strategy_has(v->strategy, IND__HAS_ANY_LENGTH);
}

#define IND__CG_COUNT(list) (sizeof(list) / sizeof *(list))

/* The variants of a kernel while they are planned. */
typedef struct cg__variants {
    ind_plan *plan;
    const ind_kernel *kernel;
    ind__variant variant[IND_MAX_VARIANTS];
    int num;
    int used; /* assumptions of the variant planned last */
} cg__variants;

/* Plans the next variant, variant[num]; the caller keeps it by incrementing num. */
static ind_status cg__next_variant(cg__variants *x, int assume) {
    if (x->num >= IND_MAX_VARIANTS)
        return ind__fail(x->plan->context, IND_LIMIT, "kernel %s: it needs more than %d variants", x->kernel->name,
                         IND_MAX_VARIANTS);
    return cg__plan_variant(x->plan, x->kernel, &x->variant[x->num], assume, &x->used);
}

/* After a variant that requires rows to be multiples of the vector width, adds one without this guard, if it has
   vectors too (misaligned rows). For a range of lengths always, as it then has at least the right number of threads. */
static ind_status cg__plan_undivided(cg__variants *x, int assume) {
    const int used = x->used;
    if (!(used & IND__ASSUME_DIVISIBLE)) return IND_OK;
    ind_status status = cg__next_variant(x, assume & ~IND__ASSUME_DIVISIBLE);
    const ind__variant *made = &x->variant[x->num];
    const bool looped = x->used & IND__ASSUME_LENGTH && cg__is_looped(made);
    x->num += !status && x->used == (used & ~IND__ASSUME_DIVISIBLE) && (made->vector > 1 || made->range.to) && !looped;
    return status;
}

/* The last row length of each range: 1024 in the lanes of a warp, 8192 in the registers of a block, 32768 in its shared
   memory, more in that of a cluster. Each launch has as many threads and bytes of shared memory as its row length
   needs. Fewer ranges are slower. Measured on the H200, layer_norm, softmax, rms_norm and cross entropy of any length:
   without 128 and 512 up to 2.0 and 1.5 times; with as many lanes as the row of the launch needs instead of 512 and
   1024, up to 1.3 times; undivided rows without 4096 and 8192 1.3 times; a cluster of 8 for rows of 131072 1.4 to 1.9
   times. */
static const int64_t cg__narrow_ranges[] = {128,   512,   1024,   8192, /* elements of 1 or 2 bytes */
                                            32768, 65536, 131072, 262144};
static const int64_t cg__wide_ranges[] = {128, 512, 1024, 8192, 16384, 32768, 65536, 131072, 262144};
/* The same if vectors may not divide the rows. */
static const int64_t cg__undivided_ranges[] = {128, 512, 1024, 4096, 8192, 16384, 32768, 65536, 131072, 262144};
/* The same for unaligned pointers, which are rare. */
static const int64_t cg__unaligned_ranges[] = {16384};

/* The number of points of `num` variables of a kernel. */
static ind_expr cg__points_of(const ind_kernel *k, int from, int num) {
    ind_expr extent[2 * IND_MAX_RANK];
    const ind_body *b = k->body;
    for (int v = 0; v < num; v++) extent[v] = ind_expr_symbol(b->var[from + v])->extent;
    return ind_expr_product(b->context, extent, num);
}

/* Elements of a row of a reduction or a scan. */
static ind_expr cg__reduced_numel(const ind_kernel *k) {
    return cg__points_of(k, k->body->rank, k->body->rrank);
}

/* Adds a variant for each range of row lengths, so that a launch is as fast as if its row length were known. The first
   launch that needs a variant builds it. A variant for all row lengths has no guard. For unaligned pointers it is the
   last variant if rows do not fit into a warp. Otherwise the variant for any length takes its place. *rest: there are
   rows that no range has. *divisible: some of the variants assume that vectors divide the rows. */
static ind_status cg__plan_ranges(cg__variants *x, int assume, const int64_t *end, size_t num, bool *rest,
                                  bool *divisible) {
    ind_status status = IND_OK;
    int64_t least, most;
    ind__known_bounds(cg__reduced_numel(x->kernel), &least, &most);
    ind_plan *p = x->plan;
    p->from = 0;
    *rest = true;
    for (size_t i = 0; i < num && *rest && !status; i++) {
        p->to = end[i];
        if (p->to >= least) status = cg__next_variant(x, assume);
        const bool last = most <= p->to && !(assume & IND__ASSUME_ALIGNED) && most > IND__WARP_ROW;
        if (p->to >= least && (status || !(x->used & IND__ASSUME_LENGTH || last) || cg__is_looped(&x->variant[x->num])))
            break;
        if (p->to >= least) x->num++, *divisible |= x->used & IND__ASSUME_DIVISIBLE;
        *rest = most > p->to;
        p->from = p->to + 1;
    }
    p->to = 0;
    return status;
}

/* True if the kernel gets a variant per range of row lengths: the length is known only at launch, and the likely
   variant keeps rows in registers or in shared memory. With fewer rows than SMs, most of the time is not a block's own
   work. */
static bool cg__has_ranges(const ind_plan *p, const ind_kernel *k, const ind__variant *likely) {
    if ((k->kind != IND_KERNEL_REDUCTION && k->kind != IND_KERNEL_SCAN) || k->run) return false;
    return ind__strategy_has(likely->strategy, IND__HAS_RANGES) && !ind_expr_is_int(cg__reduced_numel(k), NULL) &&
           ind_hint(cg__points_of(k, 0, k->body->rank)) >= p->target.num_sms;
}

/* The most variants that cg__plan_variants adds: two for each range, two for any length, one for each range of
   unaligned pointers, the last one. cg__plan_finish adds two. */
_Static_assert(IND__CG_COUNT(cg__wide_ranges) + IND__CG_COUNT(cg__undivided_ranges) + 2 +
                       IND__CG_COUNT(cg__unaligned_ranges) + 1 + 2 <=
                   IND_MAX_VARIANTS,
               "IND_MAX_VARIANTS is below what a kernel with all ranges needs");

/* Adds the variants for ranges of row lengths: first those with divided rows. */
static ind_status cg__plan_all_ranges(cg__variants *x, int assume, bool *rest) {
    bool divisible = false, undivided_rest = false;
    const bool narrow = x->variant->vector > 4;
    ind_status status =
        narrow ? cg__plan_ranges(x, assume, cg__narrow_ranges, IND__CG_COUNT(cg__narrow_ranges), rest, &divisible)
               : cg__plan_ranges(x, assume, cg__wide_ranges, IND__CG_COUNT(cg__wide_ranges), rest, &divisible);
    if (status || !divisible) return status;
    status = cg__plan_ranges(x, assume & ~IND__ASSUME_DIVISIBLE, cg__undivided_ranges,
                             IND__CG_COUNT(cg__undivided_ranges), &undivided_rest, &divisible);
    *rest |= undivided_rest;
    return status;
}

/* Adds the variants for any row length, with and without divided rows. */
static ind_status cg__plan_any_length(cg__variants *x, int assume) {
    const bool vectors = x->kernel->kind == IND_KERNEL_POINTWISE || x->kernel->kind == IND_KERNEL_REDUCTION;
    ind_status status = cg__next_variant(x, assume);
    x->num++;
    return !status && vectors ? cg__plan_undivided(x, assume) : status;
}

/* True for a product whose number of rows a guard can bound: a size that is no constant. */
static bool cg__may_have_few_rows(const ind_kernel *k) {
    bool constant = true;
    for (int v = 0; v < k->body->rank; v++)
        constant = constant && ind_expr_is_int(ind_expr_symbol(k->body->var[v])->extent, NULL);
    return k->kind == IND_KERNEL_MATMUL && !constant;
}

/* The last numbers of rows of the variants of a product with packed weights. */
static const int64_t cg__packed_ranges[] = {1, 4, 16, 64};

/* Adds the variants of a product with packed weights that assume few rows, one for each range. *packed: it has such
   weights, and may have few rows. */
static ind_status cg__plan_packed_rows(cg__variants *x, int assume, bool *packed) {
    ind_status status = IND_OK;
    bool more = true;
    for (size_t i = 0; i < IND__CG_COUNT(cg__packed_ranges) && more && !status; i++) {
        x->plan->to = cg__packed_ranges[i];
        status = cg__next_variant(x, assume);
        more = !status && x->variant[x->num].strategy == IND_STRATEGY_MATMUL_PACKED;
        *packed |= more;
        more = more && x->used & IND__ASSUME_FEW_ROWS; /* else it never has more rows */
        x->num += more;
    }
    x->plan->to = 0;
    return status;
}

/* Adds the variants of a product that assume few rows, if they gain. */
static ind_status cg__plan_few_rows(cg__variants *x, int all) {
    bool packed = false;
    if (!cg__may_have_few_rows(x->kernel)) return IND_OK;
    ind_status status = cg__plan_packed_rows(x, all | IND__ASSUME_FEW_ROWS | IND__ASSUME_MAPS, &packed);
    if (status || packed) return status;
    status = cg__next_variant(x, all | IND__ASSUME_FEW_ROWS);
    x->num += !status && x->used & IND__ASSUME_FEW_ROWS ? 1 : 0;
    return status;
}

/* Adds the variants of a product that assume few rows, or tensor maps, if they gain. */
static ind_status cg__plan_product(cg__variants *x, int all) {
    ind_status status = cg__plan_few_rows(x, all);
    if (!status) status = cg__next_variant(x, all | IND__ASSUME_MAPS);
    x->num += !status && x->used & IND__ASSUME_MAPS ? 1 : 0;
    return status;
}

/* Adds the variants in the order in which a launch selects: for ranges of row lengths, or for the hinted length, if it
   is of use; for any length. If the last of these has a guard, adds a variant without any. */
static ind_status cg__plan_variants(cg__variants *x) {
    const int all = IND__ASSUME_ALIGNED | IND__ASSUME_DIVISIBLE | IND__ASSUME_LENGTH, any = all & ~IND__ASSUME_LENGTH;
    bool rest = true, unaligned = true, divisible = false;
    ind_status status = cg__plan_product(x, all);
    if (status) return status;
    const bool ranges = cg__has_ranges(x->plan, x->kernel, x->variant);
    if (ranges)
        status = cg__plan_all_ranges(x, all, &rest);
    else if (x->used & IND__ASSUME_LENGTH && !cg__is_looped(x->variant))
        x->num++, status = cg__plan_undivided(x, all);
    if (!status && rest) status = cg__plan_any_length(x, any);
    x->plan->from = 0;
    if (status || !cg__has_guard(&x->variant[x->num - 1])) return status;
    if (ranges && x->variant[x->num - 1].guard_aligned)
        status = cg__plan_ranges(x, IND__ASSUME_LENGTH, cg__unaligned_ranges, IND__CG_COUNT(cg__unaligned_ranges),
                                 &unaligned, &divisible);
    x->plan->from = 0;
    if (status || !cg__has_guard(&x->variant[x->num - 1])) return status;
    status = cg__next_variant(x, IND__ASSUME_NOTHING);
    x->num++;
    return status;
}

static bool cg__store_variants(ind_plan *p, ind_kernel_plan *kp, const ind__variant *v, int num) {
    kp->variant = (ind__variant *)ind__arena_copy(&p->arena, v, (size_t)num * sizeof *v);
    kp->num_variants = kp->variant ? num : 0;
    return kp->variant != NULL;
}

static ind_status cg__plan_kernel(ind_plan *p, const ind_kernel *k, ind_kernel_plan *kp) {
    if (k->kind == IND_KERNEL_EXTERN) return IND_OK; /* nothing to write */
    cg__variants x = {.plan = p, .kernel = k};
    ind_status status = cg__plan_variants(&x);
    if (!status && !cg__store_variants(p, kp, x.variant, x.num)) status = ind__failed(p->context);
    return status;
}

/* =============================================================================================== src/cuda/combine.c */
/* ------------------------------------------------------------------------------------------------- >>combine */

/* One launch for several kernels. Each kernel becomes a function of the source, called its part; parts with the same
   text share one function. The launch's only parameter is a table with a row per kernel: its arguments and its range of
   blocks. A block finds its row by its index. So the source of a loop over many tensors does not grow with their
   number. */

#define IND__CG_COMBO_WORDS 512 /* words of 8 bytes: 4 KiB of parameters, which every launch may have */

/* A kernel planned as a part of a launch. */
typedef struct cg__part {
    uint32_t kernel;
    ind__variant variant; /* without a source */
    const char *why_not;  /* why the kernel cannot be a part; NULL: it can */
    const char *params;   /* of its function, after the block index */
    const char *code;     /* of its function */
    const char *outside;  /* text before it: ind_wgmma_tile */
    ind__prelude_set prelude;
    bool barrier; /* all threads of the block must reach its barriers */
    bool narrow;  /* few enough threads that other parts have enough registers */
    uint32_t function;
} cg__part;

static char *cg__copy_text(ind__arena *arena, const ind__text *t) {
    return t->failed ? NULL : ind__arena_string(arena, t->data ? t->data : "", t->size);
}

/* Replaces blockIdx by the parameter `block` in the code of a part. */
static void cg__part_code(ind__text *t, const char *code) {
    static const char whole[] = "blockIdx.";
    for (const char *at; (at = strstr(code, whole)) != NULL; code = at + sizeof whole - 1) {
        ind__text_raw(t, code, (size_t)(at - code));
        ind__text_raw(t, "block.", 6);
    }
    ind__text_raw(t, code, strlen(code));
}

/* Upper bound in bytes of the shared arrays that the part's code declares: tiles, states of reductions and scans. */
static int cg__part_shared(const ind__writer *w) {
    const ind__variant *v = w->variant;
    int bytes = 0;
    for (uint32_t i = 1; v->strategy == IND_STRATEGY_TRANSPOSE && i < w->body->num_inst; i++)
        if (w->plan->resident[i] == IND__CG_THROUGH_TILE)
            bytes += (v->of.tile.m + 4) * v->of.tile.m * ind_dtype_bytes(cg__memory_dtype(w, i));
    if (v->strategy == IND_STRATEGY_COLUMN) bytes = v->threads * cg__state_bytes(w);
    if (v->strategy == IND_STRATEGY_COLUMN_SPLIT) bytes = v->threads * v->vector * cg__state_bytes(w) + 16;
    if (v->strategy == IND_STRATEGY_ROW_SPLIT) bytes = v->threads / 32 * cg__state_bytes(w) + 16;
    if (v->strategy == IND_STRATEGY_ROW_BLOCK || v->strategy == IND_STRATEGY_ROW_LOOPED)
        bytes = v->threads / 32 * cg__state_bytes(w);
    if (cg__scans_team(w)) bytes = 2 * v->threads * v->vector * 4 * cg__scan_states(w);
    if (v->strategy == IND_STRATEGY_SCAN_BLOCK)
        bytes = v->threads / 32 * (cg__state_bytes(w) + 2 * 4 * cg__scan_states(w));
    return bytes;
}

/* True for a product with packed weights, which need a tensor map: it has a separate launch. */
static bool cg__needs_map(const ind__writer *w) {
    const cg__mm_problem *p = w->plan->matmul;
    return p && p->packed->unpacks && w->target->sm >= 90;
}

/* Saves the texts of a part; corresponds to cg__assemble. */
static ind_status cg__copy_part_texts(ind__writer *w, cg__part *part) {
    ind__text params = {.context = w->context}, code = params, outside = params;
    cg__write_template_functions(w, &outside);
    ind_status status = cg__push_other_args(w);
    params.indent = 1;
    cg__write_params(w, &params);
    if (w->code.size) cg__part_code(&code, w->code.data);
    part->variant = *w->variant;
    part->variant.memory.static_shared = cg__part_shared(w);
    part->prelude = w->prelude;
    part->why_not = w->calls.num                 ? "it calls a function of the user"
                    : ind__ok(w->plan->lookback) ? "its blocks wait for one another"
                    : cg__needs_map(w)           ? "its packed weights need a tensor map"
                                                 : NULL;
    part->params = cg__copy_text(w->arena, &params);
    part->code = cg__copy_text(w->arena, &code);
    part->outside = cg__copy_text(w->arena, &outside);
    bool in_prelude = w->variant->strategy == IND_STRATEGY_SCAN_BLOCK || cg__scans_team(w) ||
                      cg__sorts_rows(w); /* their barriers are in prelude functions */
    part->narrow = w->variant->threads <= w->target->thresholds.combo_threads;
    part->barrier = part->code && (in_prelude || strstr(part->code, "__syncthreads()"));
    part->variant.arg = (ind__kernel_arg *)ind__arena_copy(w->arena, w->args.arg, w->args.num * sizeof *w->args.arg);
    part->variant.num_args = w->args.num;
    ind__text_free(&params);
    ind__text_free(&code);
    ind__text_free(&outside);
    bool ok = !status && !w->failed && part->params && part->code && part->outside && part->variant.arg;
    return ok ? IND_OK : ind__failed(w->context);
}

/* State while the source of a launch's variant is written. */
typedef struct cg__combo {
    ind_plan *plan;
    cg__part **part;
    uint32_t num_parts, num_functions;
    ind__variant *variant;
    ind__text text;
    ind__kernel_arg *arg;
    uint32_t num_args, cap_args;
    ind_expr blocks; /* of the parts so far */
    bool failed;
} cg__combo;

/* Axes of the part's own grid that can have more than one block; the block's index along them is computed. */
static int cg__num_axes(const ind__variant *v) {
    int64_t blocks;
    int axes = 3;
    while (axes > 1 && ind_expr_is_int(v->grid[axes - 1], &blocks) && blocks == 1) axes--;
    return axes;
}

/* 8-byte words in the part's row: arguments, blocks along all axes but the last with their reciprocals, and the range
   of its blocks. */
static uint32_t cg__row_words(const ind__variant *v) {
    return v->num_args + 2 * (uint32_t)(cg__num_axes(v) - 1) + 2;
}

static bool cg__same_part(const cg__part *a, const cg__part *b) {
    return a->variant.threads == b->variant.threads && cg__num_axes(&a->variant) == cg__num_axes(&b->variant) &&
           a->variant.num_args == b->variant.num_args && !strcmp(a->params, b->params) && !strcmp(a->code, b->code);
}

/* Numbers the functions; equal parts share one. */
static void cg__number_functions(cg__combo *x) {
    x->num_functions = 0;
    for (uint32_t i = 0; i < x->num_parts; i++) {
        uint32_t same = 0;
        while (same < i && !cg__same_part(x->part[same], x->part[i])) same++;
        x->part[i]->function = same < i ? x->part[same]->function : x->num_functions++;
    }
}

static void cg__combo_arg(cg__combo *x, ind__kernel_arg a) {
    ind__kernel_arg *to = IND__PUSH(x->plan->context, ind__kernel_arg, x->arg, x->num_args, x->cap_args);
    x->failed |= !to || (a.kind == IND__ARG_SIZE && !ind__ok(a.size));
    a.wide = true;
    if (to) *to = a;
}

/* Fills a part's row of arguments, in the order of cg__write_function. */
static void cg__fill_row(cg__combo *x, const cg__part *part) {
    const ind__variant *v = &part->variant;
    ind_expr first = x->blocks, blocks = ind_expr_product(x->plan->context, v->grid, 3);
    for (uint32_t i = 0; i < v->num_args; i++) {
        ind__kernel_arg a = v->arg[i];
        a.part = part->kernel - x->part[0]->kernel;
        if (a.kind == IND__ARG_COUNTERS) a.offset = (int64_t)x->variant->memory.num_counters * 4;
        if (a.kind == IND__ARG_PARTIALS) a.offset = x->variant->memory.partial_bytes;
        cg__combo_arg(x, a);
    }
    x->variant->memory.num_counters += (v->memory.num_counters + 1) / 2 * 2; /* 8-byte words may follow */
    x->variant->memory.partial_bytes += v->memory.partial_bytes;
    for (int d = 0; d + 1 < cg__num_axes(v); d++) {
        static const char *const meaning[] = {"blocks along x: ", "blocks along y: "};
        cg__combo_arg(x, (ind__kernel_arg){.kind = IND__ARG_SIZE, .size = v->grid[d], .meaning = meaning[d]});
        cg__combo_arg(x, cg__reciprocal(v->grid[d]));
    }
    x->blocks = ind_expr_add(first, blocks);
    cg__combo_arg(x, (ind__kernel_arg){.kind = IND__ARG_SIZE, .size = first, .meaning = "first block: "});
    cg__combo_arg(
        x, (ind__kernel_arg){.kind = IND__ARG_SIZE, .size = x->blocks, .meaning = "first block of the next part: "});
}

/* Calls visit with the name of each argument of the part. */
static void cg__each_arg(cg__combo *x, const cg__part *part,
                         void (*visit)(cg__combo *, const ind__kernel_arg *, const char *)) {
    const ind__variant *v = &part->variant;
    const ind_kernel *k = &x->plan->schedule->kernel[part->kernel];
    uint32_t number[2] = {0, 0};
    char name[24];
    for (uint32_t i = 0; i < v->num_args; i++) {
        const ind__kernel_arg *a = &v->arg[i];
        if (a->kind == IND__ARG_BUFFER)
            snprintf(name, sizeof name, i < k->num_reads ? "in%u" : "out%u", i < k->num_reads ? i : i - k->num_reads);
        else if (a->kind == IND__ARG_SIZE)
            snprintf(name, sizeof name, a->reciprocal ? "m%u" : "n%u", number[a->reciprocal]++);
        visit(x, a, a->kind == IND__ARG_BUFFER || a->kind == IND__ARG_SIZE ? name : cg__memory_args[a->kind].name);
    }
}

static void cg__row_member(cg__combo *x, const ind__kernel_arg *a, const char *name) {
    const char *type = a->reciprocal ? "unsigned long long " : "long long ";
    if (a->kind == IND__ARG_BUFFER)
        ind__textf(&x->text, "%s *", cg__types[x->plan->schedule->program->buffer[a->buffer].dtype].memory);
    else
        ind__textf(&x->text, "%s", a->kind == IND__ARG_SIZE ? type : cg__memory_args[a->kind].type);
    ind__textf(&x->text, "%s;\n", name);
}

static void cg__row_argument(cg__combo *x, const ind__kernel_arg *a, const char *name) {
    (void)a;
    ind__textf(&x->text, ", row.%s", name);
}

/* The first part with this function, and the number of parts that have it. */
static const cg__part *cg__first_part(const cg__combo *x, uint32_t function, uint32_t *num) {
    const cg__part *first = NULL;
    *num = 0;
    for (uint32_t i = x->num_parts; i-- > 0;)
        if (x->part[i]->function == function) first = x->part[i], ++*num;
    return first;
}

/* Writes the function and the struct of its table rows: members of 8 bytes each. */
static void cg__write_function(cg__combo *x, uint32_t function) {
    uint32_t num;
    const cg__part *part = cg__first_part(x, function, &num);
    ind__text *t = &x->text;
    ind__textf(t, "// %s\n", ind__strategy_text(part->variant.strategy));
    ind__textf(t, "static __device__ void ind_part_%u(const ind_block block,\n", (unsigned)function);
    ind__text_raw(t, part->params, strlen(part->params));
    ind__text_raw(t, part->code, strlen(part->code));
    ind__textf(t, "}\n\nstruct ind_row_%u {\n", (unsigned)function);
    t->indent++;
    cg__each_arg(x, part, cg__row_member);
    for (int d = 0; d + 1 < cg__num_axes(&part->variant); d++)
        ind__textf(t, "long long %c;\nunsigned long long m%c;\n", "xy"[d], "xy"[d]);
    ind__textf(t, "long long first, end;\n");
    t->indent--;
    ind__textf(t, "};\n\n");
}

/* Begins the call with the block's index in the grid of its part, computed from its linear index `at`. */
static void cg__write_block_index(ind__text *t, int axes, uint32_t function) {
    static const char *const index[] = {"at", "at - line * (unsigned)row.x, line",
                                        "at - line * (unsigned)row.x, line - z * (unsigned)row.y, z"};
    if (axes > 1) ind__textf(t, "const unsigned line = ind_quotient(at, row.mx);\n");
    if (axes > 2) ind__textf(t, "const unsigned z = ind_quotient(line, row.my);\n");
    ind__textf(t, "ind_part_%u({%s%s}", (unsigned)function, index[axes - 1],
               axes == 1   ? ", 0, 0"
               : axes == 2 ? ", 0"
                           : "");
}

/* Writes the branch of the blocks that run the function, and their index in the part's own grid. */
static void cg__write_dispatch(cg__combo *x, uint32_t function) {
    uint32_t num;
    const cg__part *part = cg__first_part(x, function, &num);
    ind__text *t = &x->text;
    ind__textf(t, "if (block < (unsigned)rows.part_%u[%u].end) {\n", (unsigned)function, (unsigned)num - 1);
    t->indent++;
    if (part->variant.threads < x->variant->threads)
        ind__textf(t, "if (threadIdx.x >= %d) return;\n", part->variant.threads);
    if (num == 1)
        ind__textf(t, "const ind_row_%u &row = rows.part_%u[0];\n", (unsigned)function, (unsigned)function);
    else
        ind__textf(t, "const ind_row_%u &row = rows.part_%u[ind_row_of(rows.part_%u, %u, block)];\n",
                   (unsigned)function, (unsigned)function, (unsigned)function, (unsigned)num);
    ind__textf(t, "const unsigned at = block - (unsigned)row.first;\n");
    cg__write_block_index(t, cg__num_axes(&part->variant), function);
    cg__each_arg(x, part, cg__row_argument);
    ind__textf(t, ");\nreturn;\n");
    t->indent--;
    ind__textf(t, "}\n");
}

static void cg__write_table(cg__combo *x) {
    ind__text *t = &x->text;
    uint32_t num;
    ind__textf(t, "struct ind_rows {\n");
    for (uint32_t f = 0; f < x->num_functions; f++) {
        cg__first_part(x, f, &num);
        ind__textf(t, "    ind_row_%u part_%u[%u];\n", (unsigned)f, (unsigned)f, (unsigned)num);
    }
    ind__textf(
        t, "};\n\nextern \"C\" __global__ void __launch_bounds__(%d, %d) %s(const __grid_constant__ ind_rows rows) {\n",
        x->variant->threads, x->variant->blocks_per_sm ? x->variant->blocks_per_sm : 1, x->variant->source.entry);
    if (x->variant->dependent) ind__textf(t, "%s", IND__CG_DEPENDENCY_CALL);
    t->indent++;
    ind__textf(t, "const unsigned block = blockIdx.x;\n");
    for (uint32_t f = 0; f < x->num_functions; f++) cg__write_dispatch(x, f);
    t->indent--;
    ind__textf(t, "}\n");
}

static const char cg__row_of[] =
    "// The table row of a block: the first row whose `end` is greater.\n"
    "template <typename T> static IND_INLINE int ind_row_of(const T *row, int num, unsigned block) {\n"
    "    int low = 0;\n"
    "    for (int high = num - 1; low < high;) {\n"
    "        const int middle = (low + high) / 2;\n"
    "        if (block < (unsigned)row[middle].end) high = middle;\n"
    "        else low = middle + 1;\n"
    "    }\n"
    "    return low;\n"
    "}\n\n";

static void cg__write_combo(cg__combo *x) {
    ind__text *t = &x->text;
    ind__prelude_set prelude = {0};
    if (x->variant->dependent) cg__add_prelude(&prelude, IND__CG_DEPENDENCY);
    for (uint32_t i = 0; i < x->num_parts; i++) {
        cg__add_prelude_set(&prelude, &x->part[i]->prelude);
        if (cg__num_axes(&x->part[i]->variant) > 1) cg__add_prelude(&prelude, IND__CG_QUOTIENT);
    }
    ind__textf(t, "#define IND_INLINE __device__ __forceinline__\n\n");
    cg__write_prelude(t, &prelude);
    ind__text_raw(t, x->part[0]->outside, strlen(x->part[0]->outside));
    ind__textf(t, "// Index of a block in its kernel.\nstruct ind_block {\n    unsigned x, y, z;\n};\n\n");
    if (x->num_functions < x->num_parts) ind__text_raw(t, cg__row_of, sizeof cg__row_of - 1);
    for (uint32_t f = 0; f < x->num_functions; f++) cg__write_function(x, f);
    cg__write_table(x);
}

/* Combines the properties of all parts into the variant. Table rows are ordered by function. */
static void cg__merge_parts(cg__combo *x) {
    ind_context *c = x->plan->context;
    ind__variant *v = x->variant;
    *v = (ind__variant){.strategy = IND_STRATEGY_COMBO, .index_bits = 32, .vector = 1, .rows = 1, .per_thread = 1};
    v->dependent = cg__launches_dependent(x->plan);
    v->memory.shared = x->blocks = ind_int(c, 0);
    v->blocks_per_sm = x->part[0]->variant.blocks_per_sm;
    for (uint32_t i = 0; i < x->num_parts; i++) {
        const ind__variant *p = &x->part[i]->variant;
        if (p->threads > v->threads) v->threads = p->threads;
        if (p->index_bits > v->index_bits) v->index_bits = p->index_bits;
        if (p->blocks_per_sm != v->blocks_per_sm) v->blocks_per_sm = 0;
        v->guard_aligned |= p->guard_aligned;
        v->memory.shared = ind_expr_max(v->memory.shared, p->memory.shared);
        for (int g = 0; g < cg__num_conditions(p->guard); g++) cg__guard(v, cg__condition(p->guard, g));
    }
    cg__number_functions(x);
    for (uint32_t f = 0; f < x->num_functions; f++)
        for (uint32_t i = 0; i < x->num_parts; i++)
            if (x->part[i]->function == f) cg__fill_row(x, x->part[i]);
    v->grid[0] = x->blocks;
    v->grid[1] = v->grid[2] = ind_int(c, 1);
}

/* Plans the parts as one variant of the first part's kernel. */
static ind_status cg__plan_combo_variant(ind_plan *p, cg__part **part, uint32_t num, ind__variant *v) {
    cg__combo x = {.plan = p, .part = part, .num_parts = num, .variant = v, .text = {.context = p->context}};
    ind__text why = {.context = p->context};
    cg__merge_parts(&x);
    snprintf(v->source.entry, sizeof v->source.entry, "ind_k_combo_%.50s", p->schedule->kernel[part[0]->kernel].name);
    cg__write_combo(&x);
    ind__textf(&why, "%u independent kernels, %u device %s", (unsigned)num, (unsigned)x.num_functions,
               x.num_functions == 1 ? "function" : "functions");
    v->why = cg__copy_text(&p->arena, &why);
    v->source.text = cg__copy_text(&p->arena, &x.text);
    v->source.bytes = x.text.size;
    v->arg = (ind__kernel_arg *)ind__arena_copy(&p->arena, x.arg, x.num_args * sizeof *x.arg);
    v->num_args = x.num_args;
    bool ok = !x.failed && v->why && v->source.text && v->arg && ind__ok(v->grid[0]) && ind__ok(v->memory.shared);
    ind__text_free(&why);
    ind__text_free(&x.text);
    ind__free(p->context, x.arg);
    return ok ? IND_OK : ind__failed(p->context);
}

/* ---- which parts share a launch */

#define IND__CG_ASSUME_PART (IND__ASSUME_ALIGNED | IND__ASSUME_DIVISIBLE)

/* Like cg__plan_variant, for a part. */
static ind_status cg__plan_part(ind_plan *p, cg__part *part, int assume, int threads) {
    const ind_kernel *k = &p->schedule->kernel[part->kernel];
    for (int attempt = 0; attempt < 2; attempt++) {
        cg__decider d;
        ind__writer w = {0};
        ind__variant v = {.assume = assume, .vector = assume ? 8 : 1};
        ind_status status = cg__init_decider(&d, p, k, &v, assume);
        d.force_wide = attempt == 1, d.part_threads = threads;
        if (!status) d.plan->part = true, status = cg__decide(&d);
        if (!status) status = cg__write_body(&w, p, &d);
        bool fits = status || cg__sizes_fit(&d, &w);
        if (!status && fits) status = cg__copy_part_texts(&w, part);
        cg__free(&w);
        cg__free(&d.w);
        if (status || fits) return status;
    }
    return ind__fail(p->context, IND_VERIFY, "kernel %s: sizes do not fit into 64 bits", k->name);
}

/* Two forms of each kernel of a launch: a fast one, which may have guards, and a general one without guards. */
typedef struct cg__parts {
    cg__part *fast, *general;
    uint32_t num;
    uint8_t *done;
    cg__part **chosen, **chosen_general;
    uint32_t num_chosen;
} cg__parts;

static bool cg__is_product(const cg__part *part) {
    return ind__strategy_row_of(part->variant.strategy)->family == IND__FAMILY_MATMUL;
}

/* True if the part fits a launch with `first` and so many threads. A part with barriers needs exactly its own number; a
   pointwise part takes any number. */
static bool cg__suits(const cg__part *first, int threads, const cg__part *part) {
    if (part->why_not || cg__is_product(first) != cg__is_product(part)) return false;
    if (cg__is_product(first))
        return part->variant.threads == threads && part->variant.strategy == first->variant.strategy &&
               !strcmp(first->outside, part->outside);
    if (part->barrier) return part->variant.threads == threads && part->narrow;
    return part->variant.strategy == IND_STRATEGY_POINTWISE || part->variant.threads <= threads;
}

/* Threads of a launch with part i: the number that suits most parts from i on. */
static int cg__combo_threads(const cg__part *part, const uint8_t *done, uint32_t i, uint32_t num) {
    int best = part[i].variant.threads;
    uint32_t most = 0;
    for (uint32_t k = i; k < num; k++) {
        const int threads = part[k].variant.threads;
        uint32_t count = 0;
        if (done[k] || !cg__suits(&part[i], threads, &part[k]) || !cg__suits(&part[i], threads, &part[i])) continue;
        for (uint32_t j = i; j < num; j++) count += !done[j] && cg__suits(&part[i], threads, &part[j]);
        if (count > most) best = threads, most = count;
    }
    return best;
}

/* True if the shared memory and arguments of the chosen parts and one more fit a launch. */
static bool cg__combo_fits(cg__parts *x, const cg__part *more, bool general) {
    cg__part **chosen = general ? x->chosen_general : x->chosen;
    int64_t bytes = more->variant.memory.static_shared;
    uint32_t words = cg__row_words(&more->variant);
    for (uint32_t i = 0; i < x->num_chosen; i++) {
        bytes += chosen[i]->variant.memory.static_shared, words += cg__row_words(&chosen[i]->variant);
        if (cg__same_part(chosen[i], more)) bytes -= more->variant.memory.static_shared;
    }
    return bytes <= IND__CG_STATIC_SHARED && words <= IND__CG_COMBO_WORDS;
}

/* Chooses the parts from `first` on that share its launch; none if `first` itself does not fit. */
static void cg__choose_parts(cg__parts *x, uint32_t first) {
    int fast = cg__combo_threads(x->fast, x->done, first, x->num);
    int general = cg__combo_threads(x->general, x->done, first, x->num);
    x->num_chosen = 0;
    for (uint32_t i = first; i < x->num; i++) {
        if (x->done[i] || !cg__suits(&x->fast[first], fast, &x->fast[i]) ||
            !cg__suits(&x->general[first], general, &x->general[i]) || !cg__combo_fits(x, &x->fast[i], false) ||
            !cg__combo_fits(x, &x->general[i], true)) {
            if (i == first) return;
            continue;
        }
        x->done[i] = 1;
        x->chosen[x->num_chosen] = &x->fast[i];
        x->chosen_general[x->num_chosen++] = &x->general[i];
    }
}

/* Plans pointwise parts again with the number of threads of the other parts. */
static ind_status cg__level_threads(ind_plan *p, cg__part **part, uint32_t num, int assume) {
    int threads = 0;
    for (uint32_t i = 0; i < num; i++)
        if (part[i]->variant.threads > threads &&
            (part[i]->barrier || part[i]->variant.strategy != IND_STRATEGY_POINTWISE))
            threads = part[i]->variant.threads;
    for (uint32_t i = 0; i < num && threads; i++) {
        if (part[i]->variant.strategy != IND_STRATEGY_POINTWISE || part[i]->variant.threads == threads) continue;
        ind_status status = cg__plan_part(p, part[i], assume, threads);
        if (status) return status;
    }
    return IND_OK;
}

/* Plans the chosen kernels as one launch, the launch of the first of them. */
static ind_status cg__plan_chosen(ind_plan *p, cg__parts *x) {
    const uint32_t first = x->chosen[0]->kernel;
    ind_kernel_plan *kp = &p->kernel[first];
    bool guarded = false;
    if (x->num_chosen == 1) return cg__plan_kernel(p, kp->kernel, kp);
    for (uint32_t i = 0; i < x->num_chosen; i++) guarded |= cg__has_guard(&x->chosen[i]->variant);
    ind_status status = cg__level_threads(p, x->chosen, x->num_chosen, IND__CG_ASSUME_PART);
    kp->variant = (ind__variant *)ind__arena_alloc(&p->arena, 2 * sizeof *kp->variant);
    if (!kp->variant) return IND_OUT_OF_MEMORY;
    if (!status) status = cg__plan_combo_variant(p, x->chosen, x->num_chosen, &kp->variant[0]);
    kp->num_variants = guarded ? 2 : 1;
    if (!status && guarded) status = cg__level_threads(p, x->chosen_general, x->num_chosen, IND__ASSUME_NOTHING);
    if (!status && guarded) status = cg__plan_combo_variant(p, x->chosen_general, x->num_chosen, &kp->variant[1]);
    for (uint32_t i = 0; i < x->num_chosen && !status; i++) {
        ind_kernel_plan *part = &p->kernel[x->chosen[i]->kernel];
        part->first = first, part->num_parts = i ? 0 : x->num_chosen;
        part->part = (ind__variant *)ind__arena_copy(&p->arena, &x->chosen[i]->variant, sizeof *part->part);
        if (!part->part) status = ind__failed(p->context);
    }
    return status;
}

static ind_status cg__plan_parts(ind_plan *p, cg__parts *x, uint32_t first) {
    ind_status status = IND_OK;
    for (uint32_t i = 0; i < x->num && !status; i++) {
        x->fast[i].kernel = x->general[i].kernel = first + i;
        status = cg__plan_part(p, &x->fast[i], IND__CG_ASSUME_PART, 0);
        if (status) break;
        if (cg__has_guard(&x->fast[i].variant))
            status = cg__plan_part(p, &x->general[i], IND__ASSUME_NOTHING, 0);
        else
            x->general[i] = x->fast[i];
    }
    for (uint32_t i = 0; i < x->num && !status; i++) {
        if (x->done[i]) continue;
        cg__choose_parts(x, i);
        if (!x->done[i]) { /* fits no launch as a part: planned alone */
            p->kernel[first + i].alone = x->fast[i].why_not;
            x->chosen[0] = &x->fast[i];
            x->done[i] = 1, x->num_chosen = 1;
        }
        status = cg__plan_chosen(p, x);
    }
    return status;
}

/* Plans the kernels of a launch of the schedule: one launch, or several if their numbers of threads differ or they
   exceed the shared memory or parameters of one launch. */
static ind_status cg__plan_launch(ind_plan *p, uint32_t first, uint32_t num) {
    if (num == 1) return cg__plan_kernel(p, p->kernel[first].kernel, &p->kernel[first]);
    ind__arena memory = {.context = p->context};
    cg__parts x = {.num = num};
    x.fast = (cg__part *)ind__arena_alloc(&memory, num * sizeof *x.fast);
    x.general = (cg__part *)ind__arena_alloc(&memory, num * sizeof *x.general);
    x.chosen = (cg__part **)ind__arena_alloc(&memory, num * sizeof *x.chosen);
    x.chosen_general = (cg__part **)ind__arena_alloc(&memory, num * sizeof *x.chosen_general);
    x.done = (uint8_t *)ind__arena_alloc(&memory, num);
    bool ok = x.fast && x.general && x.chosen && x.chosen_general && x.done;
    ind_status status = ok ? cg__plan_parts(p, &x, first) : ind__failed(p->context);
    ind__arena_free(&memory);
    return status;
}

/* ================================================================================================ src/cuda/finish.c */
/* -------------------------------------------------------------------------------------------------- >>finish */

/* Computes rows and a reduction over the rows' results, such as a mean of losses, in one launch. For a few rows the
   second kernel takes less time than its launch.

   Each result passes from block to block as a word whose upper half marks it as valid. That takes one trip to the L2.
   Counting finished blocks takes three (the fence, the count, the load of the results). The block with the last ticket
   reads the results; its own are in shared memory. All other blocks have begun before it and end without it, so there
   is no deadlock. Each result has its own word, so the order in which blocks end has no effect. The reader sets each
   word back to 0.

   A thread waits for one word after another, one trip each. A few iterations take as long as a launch, which bounds the
   rows. With more rows the two kernels run in separate launches. Up to two rows per lane are read by one warp: it needs
   no barrier before or after, and polls both words before it waits for one.

   Cross entropy of 1, 16, 32, 64 and 128 rows of 4096 bf16, us above an empty kernel on an H200: 1.2, 1.5, 1.5, 1.6 and
   1.9 by a warp, 1.2, 1.6, 1.5, 1.7 and 1.8 by the block, with one row per lane of the warp; 2.5 to 3.2 with a kernel
   for the mean. Hand-written, 64 rows: 2.5 with a kernel for the mean, 2.1 with a count of finished blocks, 3.0 and
   more in a cluster of 16. Without gain: all words at once through shared memory (0.4 more: it takes instructions that
   are fetched for the first time, some 5 cycles each), polling words twice, a pause before polling, prefetching the
   other operands into the L1 (0.3 more for 256 rows). */

static const char cg__finish_text[] =
    "// Results of the block's own rows.\n"
    "static IND_INLINE unsigned *ind_own() {\n"
    "    __shared__ unsigned own[IND_HANDED * IND_ROWS];\n"
    "    return own;\n"
    "}\n"
    "template <typename T> union ind_handed {\n"
    "    unsigned bits;\n"
    "    T value;\n"
    "};\n"
    "// Index of a block in its kernel, and its number in the order in which blocks start (ind_turn).\n"
    "struct ind_block {\n"
    "    unsigned x, y, z, turn;\n"
    "};\n"
    "// If a block has one row, the thread with its result knows the turn.\n"
    "template <typename T>\n"
    "static IND_INLINE void ind_leave(const ind_block block, unsigned long long *lookback, int which, int row, "
    "int rows, T value) {\n"
    "    ind_handed<T> u = {0};\n"
    "    u.value = value;\n"
    "    if (IND_ROWS == 1 && block.turn != gridDim.x - 1)\n"
    "        ((volatile unsigned long long *)lookback)[1 + which * rows + row] = 1ull << 32 | u.bits;\n"
    "    else\n"
    "        ind_own()[which * IND_ROWS + row - (int)blockIdx.x * IND_ROWS] = u.bits;\n"
    "}\n"
    "// All threads of a block call this at its end. Returns true in the threads of the last block that read the "
    "results\n"
    "// of all rows. The other blocks store their results: 64-bit words, valid if the upper half is not 0.\n"
    "static IND_INLINE bool ind_finishes(unsigned long long *lookback, unsigned turn, int rows) {\n"
    "    bool last;\n"
    "    if (IND_TAKERS > 32 || IND_ROWS > 1) {\n"
    "        last = ind_began_last(turn, gridDim.x);\n"
    "    } else { // the first thread has stored the result\n"
    "        if (threadIdx.x >= 32) return false;\n"
    "        last = __shfl_sync(0xffffffffu, turn, 0) == gridDim.x - 1;\n"
    "        __syncwarp();\n"
    "    }\n"
    "    const int i = threadIdx.x, row = (int)blockIdx.x * IND_ROWS + i % IND_ROWS;\n"
    "    if (IND_ROWS > 1 && !last && i < IND_HANDED * IND_ROWS && row < rows)\n"
    "        ((volatile unsigned long long *)lookback)[1 + i / IND_ROWS * rows + row] = 1ull << 32 | ind_own()[i];\n"
    "    return last && threadIdx.x < IND_TAKERS;\n"
    "}\n"
    "// ind_look: the word, valid or not. ind_take: its value, when it is valid.\n"
    "static IND_INLINE unsigned long long ind_look(unsigned long long *lookback, int which, int row, int rows) {\n"
    "    const unsigned own = row - blockIdx.x * IND_ROWS;\n"
    "    volatile unsigned long long *const from = lookback + 1 + which * rows + row;\n"
    "    return own < IND_ROWS ? 1ull << 32 | ind_own()[which * IND_ROWS + own] : *from;\n"
    "}\n"
    "template <typename T>\n"
    "static IND_INLINE T ind_take(unsigned long long word, unsigned long long *lookback, int which, int row, "
    "int rows) {\n"
    "    const unsigned own = row - blockIdx.x * IND_ROWS;\n"
    "    volatile unsigned long long *const from = lookback + 1 + which * rows + row;\n"
    "    while (word >> 32 == 0) word = *from;\n"
    "    if (own >= IND_ROWS) *from = 0;\n"
    "    const ind_handed<T> u = {(unsigned)word};\n"
    "    return u.value;\n"
    "}\n\n";

/* True if the next kernel may write while blocks of this one still run. Memory in the arena that this kernel uses is
   free only once this kernel has completed. */
static bool cg__writes_apart(const ind_schedule *s, const ind_kernel *rows, const ind_kernel *next,
                             const cg__handover *h) {
    for (uint32_t i = next->num_reads; i < next->num_args; i++) {
        const bool placed = s->offset && ind__ok(s->offset[next->arg[i]]);
        for (uint32_t k = 0; k < rows->num_args; k++) {
            bool handed = false;
            for (uint32_t j = 0; j < h->num; j++) handed |= h->buffer[j] == rows->arg[k];
            if (cg__same_storage(s, next->arg[i], rows->arg[k])) return false;
            if (placed && !handed && s->offset && ind__ok(s->offset[rows->arg[k]])) return false;
        }
    }
    return true;
}

/* Finds the buffers that the rows pass to the next kernel. False: there are none, or an element does not fit in a
   word. */
static bool cg__find_handover(const ind_schedule *s, const ind_kernel *rows, const ind_kernel *next, cg__handover *h) {
    for (uint32_t i = 0; i < next->num_reads; i++) {
        for (uint32_t k = rows->num_reads; k < rows->num_args; k++) {
            const uint32_t buffer = next->arg[i];
            if (!cg__same_storage(s, buffer, rows->arg[k])) continue;
            if (buffer != rows->arg[k] || h->num == IND__CG_MAX_HANDED) return false;
            if (ind_dtype_bytes(s->program->buffer[buffer].dtype) > 4) return false;
            h->buffer[h->num++] = buffer;
        }
    }
    return h->num > 0;
}

/* True if kernels k and k + 1 are candidates for one launch. */
static bool cg__may_finish(const ind_plan *p, uint32_t k, cg__handover *h) {
    const ind_schedule *s = p->schedule;
    if (k + 1 >= p->num_kernels || !s->finishes) return false;
    for (uint32_t i = k; i < k + 2; i++) {
        const ind_kernel *kernel = &s->kernel[i];
        const ind_kernel_plan *kp = &p->kernel[i];
        if (kernel->kind != IND_KERNEL_REDUCTION || kernel->run || kp->first != i || kp->num_parts != 1) return false;
        if (ind__body_unbacked(s->program, kernel->body)) return false;
    }
    return cg__find_handover(s, &s->kernel[k], &s->kernel[k + 1], h) &&
           cg__writes_apart(s, &s->kernel[k], &s->kernel[k + 1], h);
}

/* True if each handed-over buffer has exactly one LOAD or STORE, and that of element `place`. */
static bool cg__hands_each(const ind__writer *w, ind_loop_op op, ind_expr place) {
    uint32_t found = 0;
    for (uint32_t i = 1; i < w->body->num_inst; i++) {
        const ind__inst *inst = cg__inst(w, i);
        if (!cg__is_access(w, i) || cg__handed(w, i) < 0) continue;
        const bool whole = inst->op == op && !inst->arg[op == IND_LOOP_LOAD ? 0 : 1] && !inst->reduction;
        if (!whole || w->plan->vector[i] != 1 || !ind_expr_same(cg__index_of(w, i), place)) return false;
        found++;
    }
    return found == w->plan->handover->num;
}

/* The first part must have one row per point, computed by a block, and at most one result per thread. The second part
   must be one pass over all rows that reads the results. */
static bool cg__suits_finish(const ind__writer *w) {
    const cg__handover *h = w->plan->handover;
    cg__pass pass[IND__CG_MAX_PASSES];
    if (w->calls.num || w->plan->wide || (int64_t)h->num * w->variant->rows > w->variant->threads) return false;
    if (h->takes)
        return w->plan->domain.rank == 0 && w->plan->domain.rrank == 1 && cg__passes(w, pass) == 1 &&
               ind_expr_same(cg__r_numel(w), h->rows) && cg__hands_each(w, IND_LOOP_LOAD, w->plan->domain.var[0]);
    return cg__has(w, IND__HAS_FINISH) && w->plan->domain.rank == 1 &&
           cg__hands_each(w, IND_LOOP_STORE, w->plan->domain.var[0]);
}

/* Plans one of the two parts; *able: it is possible. */
static ind_status cg__plan_handed(ind_plan *p, cg__part *part, cg__handover *h, bool *able) {
    cg__decider d;
    ind__writer w = {0};
    ind__variant v = {.assume = IND__CG_ASSUME_PART, .vector = 8};
    ind_status status = cg__init_decider(&d, p, &p->schedule->kernel[part->kernel], &v, v.assume);
    d.tuning = (ind__tuning){0};
    *able = false;
    if (!status) {
        d.plan->part = true;
        d.plan->handover = h;
        if (!h->takes) h->rows = cg__p_numel(&d.w);
        d.plan->lookback = ind_expr_add(ind_int(p->context, 1), ind_expr_mul(ind_int(p->context, h->num), h->rows));
        status = cg__decide(&d);
    }
    if (!status) *able = cg__suits_finish(&d.w);
    if (!status && *able) status = cg__write_body(&w, p, &d);
    *able = *able && !status && cg__sizes_fit(&d, &w);
    if (*able) status = cg__copy_part_texts(&w, part);
    cg__free(&w);
    cg__free(&d.w);
    return status;
}

/* Most rows that the finish reads. A warp reads in one iteration; a block reads at most as many rows as there are
   resident blocks. */
static int64_t cg__most_finished(const ind_plan *p, const cg__handover *h) {
    const int rounds = h->threads > 32 ? p->target.launch_ns / p->target.thresholds.trip_ns : 1;
    const int64_t most = (int64_t)h->threads * h->looks * (rounds > 1 ? rounds : 1);
    const int64_t blocks = (int64_t)p->target.num_sms * (p->target.sm_threads / h->threads);
    return h->threads > 32 && most > blocks ? blocks : most;
}

static void cg__call_part(cg__combo *x, int part, const char *member, const char *block) {
    ind__textf(&x->text, "{\n");
    x->text.indent++;
    ind__textf(&x->text, "const ind_row_%d &row = of.%s;\nind_part_%d({%s}", part, member, part, block);
    cg__each_arg(x, x->part[part], cg__row_argument);
    ind__textf(&x->text, ");\n");
    x->text.indent--;
    ind__textf(&x->text, "}\n");
}

/* Writes the source: both parts, and the kernel that calls them. */
static void cg__write_finish(cg__combo *x, const cg__handover *h) {
    ind__text *t = &x->text;
    const ind__variant *v = x->variant;
    ind__prelude_set prelude = x->part[0]->prelude;
    cg__add_prelude_set(&prelude, &x->part[1]->prelude);
    cg__add_prelude(&prelude, IND__CG_TURN);
    if (cg__has_prelude(&prelude, IND__CG_MAX)) cg__add_prelude(&prelude, IND__CG_MAX_WARP);
    if (v->dependent) cg__add_prelude(&prelude, IND__CG_DEPENDENCY);
    ind__textf(t, "#define IND_INLINE __device__ __forceinline__\n\n");
    cg__write_prelude(t, &prelude);
    ind__textf(t, "// Results of a row, rows of a block, threads of the last block that read all results.\n");
    ind__textf(t, "enum { IND_HANDED = %u, IND_ROWS = %d, IND_TAKERS = %d };\n", (unsigned)h->num, v->rows, h->threads);
    ind__text_raw(t, cg__finish_text, sizeof cg__finish_text - 1);
    for (uint32_t f = 0; f < 2; f++) cg__write_function(x, f);
    ind__textf(t, "struct ind_rows {\n    ind_row_0 rows;\n    ind_row_1 finish;\n    long long num_rows;\n};\n\n");
    ind__textf(t, "extern \"C\" __global__ void __launch_bounds__(%d, 1) %s(const __grid_constant__ ind_rows of) {\n",
               v->threads, v->source.entry);
    if (v->dependent) ind__textf(t, "%s", IND__CG_DEPENDENCY_CALL);
    t->indent++;
    ind__textf(t, "const unsigned turn = ind_turn(reinterpret_cast<unsigned *>(of.rows.lookback), gridDim.x);\n");
    cg__call_part(x, 0, "rows", "blockIdx.x, 0, 0, turn");
    ind__textf(t, "if (!ind_finishes(of.rows.lookback, turn, of.num_rows)) return;\n");
    cg__call_part(x, 1, "finish", "0, 0, 0, turn");
    t->indent--;
    ind__textf(t, "}\n");
}

/* Adds the guard. Without rows there is no block. The bound comes first, as it implies most guards of the parts. False:
   there are never so few rows. */
static bool cg__guard_finish(ind__variant *v, ind_expr rows, int64_t most) {
    const ind_expr parts = v->guard;
    v->guard = (ind_expr){0};
    bool able = cg__guard(v, ind_expr_le(ind_int(rows.context, 1), rows)) &&
                cg__guard(v, ind_expr_le(rows, ind_int(rows.context, most)));
    for (int g = 0; g < cg__num_conditions(parts); g++) able = able && cg__guard(v, cg__condition(parts, g));
    return able;
}

/* Plans both parts as one variant of the first part's kernel. */
static ind_status cg__plan_finish_variant(ind_plan *p, cg__part **part, const cg__handover *h, ind__variant *v,
                                          bool *able) {
    ind_context *c = p->context;
    cg__combo x = {.plan = p, .part = part, .num_parts = 2, .variant = v, .text = {.context = c}};
    ind__text why = {.context = c};
    const ind__variant *rows = &part[0]->variant;
    cg__merge_parts(&x);
    v->strategy = IND_STRATEGY_FINISH;
    v->grid[0] = rows->grid[0];
    v->rows = rows->rows, v->vector = rows->vector, v->per_thread = rows->per_thread, v->misaligned = rows->misaligned;
    *able = cg__guard_finish(v, h->rows, cg__most_finished(p, h));
    snprintf(v->source.entry, sizeof v->source.entry, "ind_k_finish_%.50s", p->schedule->kernel[part[0]->kernel].name);
    cg__combo_arg(&x, (ind__kernel_arg){.kind = IND__ARG_SIZE, .size = h->rows});
    cg__write_finish(&x, h);
    ind__textf(&why, "%s; %sthe last block to start reduces the results: no second launch", rows->why,
               h->threads < v->threads ? "a warp of " : "");
    v->why = cg__copy_text(&p->arena, &why);
    v->source.text = cg__copy_text(&p->arena, &x.text);
    v->source.bytes = x.text.size;
    v->arg = (ind__kernel_arg *)ind__arena_copy(&p->arena, x.arg, x.num_args * sizeof *x.arg);
    v->num_args = x.num_args;
    bool ok = !x.failed && v->why && v->source.text && v->arg && ind__ok(v->grid[0]);
    ind__text_free(&why);
    ind__text_free(&x.text);
    ind__free(c, x.arg);
    return ok ? IND_OK : ind__failed(c);
}

/* The variant has no guard: it becomes the only variant of both kernels. */
static ind_status cg__always_finish(ind_plan *p, ind_kernel_plan *kp, const ind__variant *v, const ind__variant *next) {
    if (!cg__store_variants(p, kp, v, 1)) return ind__failed(p->context);
    kp[1].part = (ind__variant *)ind__arena_copy(&p->arena, next, sizeof *next);
    kp[1].first = kp->first;
    kp[1].num_parts = 0;
    kp[1].num_variants = 0;
    p->num_launches--;
    return kp[1].part ? IND_OK : ind__failed(p->context);
}

/* Adds a first variant to kernel k that also runs the next kernel. */
static ind_status cg__add_finish(ind_plan *p, cg__part *rows, cg__handover *h) {
    ind_kernel_plan *kp = &p->kernel[rows->kernel];
    cg__part next = {.kernel = rows->kernel + 1}, *part[2] = {rows, &next};
    ind__variant v;
    bool able = false;
    if (kp->num_variants >= IND_MAX_VARIANTS) return IND_OK;
    h->takes = true;
    ind_status status = cg__plan_handed(p, &next, h, &able);
    if (status || !able) return status;
    status = cg__plan_finish_variant(p, part, h, &v, &able);
    if (status || !able) return status;
    if (!cg__has_guard(&v)) return cg__always_finish(p, kp, &v, &next.variant);
    ind__variant list[IND_MAX_VARIANTS];
    memcpy(&list[1], kp->variant, (size_t)kp->num_variants * sizeof v);
    list[0] = v;
    return cg__store_variants(p, kp, list, kp->num_variants + 1) ? IND_OK : ind__failed(p->context);
}

/* Lets kernel k also run the next one if the likely number of rows is small enough: with a block that reads the
   results, and with one warp, which needs no barrier, if it can read them in one iteration. */
static ind_status cg__plan_finish(ind_plan *p, uint32_t k) {
    cg__handover h = {0};
    cg__part rows = {.kernel = k};
    bool able = false;
    if (!cg__may_finish(p, k, &h)) return IND_OK;
    ind_status status = cg__plan_handed(p, &rows, &h, &able);
    if (status || !able) return status;
    const int64_t likely = ind_hint(h.rows);
    const bool warp = likely <= 32 * p->target.thresholds.most_looks;
    cg__handover few = h;
    h.threads = rows.variant.threads, h.looks = 1;
    few.threads = 32, few.looks = likely > 32 ? (int)((likely + 31) / 32) : 1;
    if (!warp && likely > cg__most_finished(p, &h)) return IND_OK;
    if (!warp || (h.threads > 32 && cg__upper_bound(h.rows) > cg__most_finished(p, &few)))
        status = cg__add_finish(p, &rows, &h);
    return status || !warp ? status : cg__add_finish(p, &rows, &few);
}

/* ========================================================================================== src/cuda/cost/predict.c */
/* ------------------------------------------------------------------------------------------------- >>predict */

/* Whole nanoseconds for an amount at a rate. */
static ind_expr cg__duration(ind_context *c, ind_expr amount, int64_t rate) {
    return ind_expr_ceildiv(amount, ind_int(c, rate > 0 ? rate : 1));
}

/* Time to read and write at the rate of copies. If the sum in bytes may exceed 64 bits, each is rounded up
   separately. */
static ind_expr cg__moved_duration(ind_context *c, const ind_kernel *k, int64_t rate) {
    int64_t lo, read, written;
    ind__known_bounds(k->bytes_read, &lo, &read);
    ind__known_bounds(k->bytes_written, &lo, &written);
    if (read <= INT64_MAX / 4 && written <= INT64_MAX / 4)
        return cg__duration(c, ind_expr_add(k->bytes_read, k->bytes_written), rate);
    return ind_expr_add(cg__duration(c, k->bytes_read, rate), cg__duration(c, k->bytes_written, rate));
}

/* Bytes of an element in memory of the operands that the kernel multiplies; 2 if they are computed or differ. */
static int cg__multiplied_bytes(const ind_plan *p, const ind_kernel *k) {
    int bytes[2];
    if (k->kind != IND_KERNEL_MATMUL) return 2;
    for (int i = 0; i < 2; i++) {
        const ind__inst *x = &k->body->inst[k->body->inst[k->matmul.dot].arg[i]];
        while (x->op == IND_LOOP_CAST) x = &k->body->inst[x->arg[0]];
        if (x->op != IND_LOOP_LOAD) return 2;
        bytes[i] = ind_dtype_bytes(p->schedule->program->buffer[x->source].dtype);
    }
    return bytes[0] == bytes[1] ? bytes[0] : 2;
}

/* Operations of tensor cores per nanosecond. */
static int64_t cg__tensor_rate(const ind_plan *p, const ind_kernel *k) {
    const ind_target *t = &p->target;
    const int bytes = cg__multiplied_bytes(p, k);
    if (bytes == 1) return (int64_t)t->tensor_flops_per_ns * t->thresholds.byte_speed;
    return bytes == 4 ? (int64_t)t->tensor_flops_per_ns * t->thresholds.tf32_percent / 100 : t->tensor_flops_per_ns;
}

/* Lower bound of a kernel's time, which a good kernel approaches: each byte is moved once, and memory traffic and
   arithmetic overlap. Transcendental functions and f64 count as f32 operations. */
static void cg__predict_work(const ind_plan *p, const ind_kernel_plan *kp, ind_expr *moving, ind_expr *computing) {
    const ind_target *t = &p->target;
    const int64_t copy = (int64_t)t->memory_bytes_per_ns * t->thresholds.copy_percent / 100;
    const ind__variant *first = kp->part ? kp->part : kp->num_variants ? kp->variant : NULL;
    const bool tensor = first && ind__strategy_has(first->strategy, IND__HAS_TENSOR_CORES);
    *moving = ind_expr_add(*moving, cg__moved_duration(p->context, kp->kernel, copy));
    const int64_t rate = tensor ? cg__tensor_rate(p, kp->kernel) : t->f32_flops_per_ns;
    *computing = ind_expr_add(*computing, cg__duration(p->context, kp->kernel->flops, rate));
}

/* Predicts the time of a whole launch; its parts have no separate time. */
static ind_status cg__predict(ind_plan *p, uint32_t kernel) {
    ind_context *c = p->context;
    ind_kernel_plan *kp = &p->kernel[kernel];
    ind_expr longest[3] = {ind_int(c, p->target.launch_ns), ind_int(c, 0), ind_int(c, 0)};
    kp->time_ns = longest[1];
    if (kp->first != kernel) return IND_OK;
    for (uint32_t k = kernel, more = kp->num_parts; more > 0; k++) {
        if (p->kernel[k].first != kernel) continue;
        cg__predict_work(p, &p->kernel[k], &longest[1], &longest[2]);
        more--;
    }
    kp->time_ns = ind_expr_max_of(c, longest, 3);
    return ind__ok(kp->time_ns) ? IND_OK : ind__failed(c);
}

static ind_status cg__predict_all(ind_plan *p) {
    ind_context *c = p->context;
    ind_expr *term = (ind_expr *)ind__alloc(c, ((size_t)p->num_kernels + 1) * sizeof *term);
    if (!term || p->num_kernels > INT32_MAX) return ind__free(c, term), ind__failed(c);
    for (uint32_t i = 0; i < p->num_kernels; i++) term[i] = p->kernel[i].time_ns;
    p->time_ns = ind_expr_sum(c, term, (int)p->num_kernels);
    ind__free(c, term);
    return ind__ok(p->time_ns) ? IND_OK : ind__failed(c);
}

/* ======================================================================================== src/cuda/equal_launches.c */
/* ---- equal launches */

/* The layers of a network are the same kernels with other buffers. A plan and its text depend on the kernel's body and
   its arguments: their types, which are constant, which are in the arena, and which share memory. If all of these equal
   an earlier launch's, its plan is copied and the buffers are exchanged. The verifier plans the
   copies 1, 2, 4, 8 and so on of a launch again and compares. */
typedef struct cg__launch_table {
    ind__arena memory;
    uint32_t *first;  /* by hash: 1 + the first kernel of a launch, 0: free */
    uint64_t *hash;   /* by first kernel */
    uint32_t *copies; /* by first kernel: later launches that equal it */
    uint32_t size;
} cg__launch_table;

static bool cg__launch_table_init(cg__launch_table *t, const ind_plan *p) {
    t->memory.context = p->context;
    t->size = 16;
    while (t->size / 2 < p->schedule->num_kernels) t->size *= 2;
    t->first = (uint32_t *)ind__arena_alloc(&t->memory, t->size * sizeof *t->first);
    t->hash = (uint64_t *)ind__arena_alloc(&t->memory, (p->schedule->num_kernels + 1) * sizeof *t->hash);
    t->copies = (uint32_t *)ind__arena_alloc(&t->memory, (p->schedule->num_kernels + 1) * sizeof *t->copies);
    return t->first && t->hash && t->copies;
}

static uint64_t cg__hash_kernel(const ind_kernel *k, uint64_t hash) {
    const ind_body *b = k->body;
    hash = ind__hash(k->name, strlen(k->name), hash);
    for (uint32_t i = 1; i < b->num_inst; i++) {
        const ind__inst *inst = &b->inst[i];
        const uint32_t word[] = {inst->op, inst->dtype, inst->reduction, inst->arg[0], inst->arg[1], inst->index};
        hash = ind__hash(word, sizeof word, hash);
    }
    return hash;
}

/* True if the instructions of two kernels are equal, with buffers compared by their position among the arguments. */
static bool cg__same_inst(const ind_kernel *ka, const ind__inst *a, const ind_kernel *kb, const ind__inst *b) {
    const bool access = a->op == IND_LOOP_LOAD || a->op == IND_LOOP_STORE;
    return a->op == b->op && a->dtype == b->dtype && a->reduction == b->reduction && a->flags == b->flags &&
           !memcmp(a->arg, b->arg, sizeof a->arg) && !memcmp(&a->imm, &b->imm, sizeof a->imm) && a->index == b->index &&
           a->num_index == b->num_index &&
           (access ? cg__arg_of(ka, a->source) == cg__arg_of(kb, b->source) : a->source == b->source);
}

static bool cg__same_exprs(const ind_expr *a, const ind_expr *b, uint32_t num) {
    for (uint32_t i = 0; i < num; i++)
        if (ind__ok(a[i]) != ind__ok(b[i]) || (ind__ok(a[i]) && !ind_expr_same(a[i], b[i]))) return false;
    return true;
}

/* True if two bodies are equal. False if sizes depend on data, as these are read from particular buffers. */
static bool cg__same_body(const ind_plan *p, const ind_kernel *ka, const ind_kernel *kb) {
    const ind_body *a = ka->body, *b = kb->body;
    if (a->rank != b->rank || a->rrank != b->rrank || a->num_inst != b->num_inst || a->num_index != b->num_index ||
        a->call || b->call || !cg__same_exprs(a->var, b->var, (uint32_t)(a->rank + a->rrank)) ||
        !cg__same_exprs(a->index, b->index, a->num_index) || ind__body_unbacked(p->schedule->program, a))
        return false;
    for (uint32_t i = 1; i < a->num_inst; i++)
        if (!cg__same_inst(ka, &a->inst[i], kb, &b->inst[i])) return false;
    return true;
}

static bool cg__same_args(const ind_schedule *s, const ind_kernel *a, const ind_kernel *b) {
    for (uint32_t i = 0; i < a->num_args; i++) {
        const uint32_t x = a->arg[i], y = b->arg[i];
        const ind__buffer *of_x = &s->program->buffer[x], *of_y = &s->program->buffer[y];
        const bool constant = of_x->kind == IND__BUFFER_CONST; /* no earlier launch writes it */
        if (of_x->dtype != of_y->dtype || constant != (of_y->kind == IND__BUFFER_CONST)) return false;
        if (s->offset && ind__ok(s->offset[x]) != ind__ok(s->offset[y])) return false;
        for (uint32_t j = 0; j < i; j++)
            if (cg__same_storage(s, x, a->arg[j]) != cg__same_storage(s, y, b->arg[j])) return false;
    }
    return true;
}

static bool cg__same_kernel(const ind_plan *p, const ind_kernel *a, const ind_kernel *b) {
    return a->kind == b->kind && a->num_args == b->num_args && a->num_reads == b->num_reads && a->run == b->run &&
           a->matmul.dot == b->matmul.dot && a->matmul.dot2 == b->matmul.dot2 && a->matmul.m == b->matmul.m &&
           a->matmul.n == b->matmul.n && a->matmul.batch_mask == b->matmul.batch_mask && !strcmp(a->name, b->name) &&
           cg__same_body(p, a, b) && cg__same_args(p->schedule, a, b);
}

/* The buffer in the launch at `to` that corresponds to `buffer` in the launch at `from`; both have num kernels.
   UINT32_MAX: none, or more than one. */
static uint32_t cg__buffer_there(const ind_plan *p, uint32_t from, uint32_t to, uint32_t num, uint32_t buffer) {
    uint32_t found = UINT32_MAX;
    for (uint32_t k = 0; k < num; k++) {
        const ind_kernel *a = &p->schedule->kernel[from + k], *b = &p->schedule->kernel[to + k];
        const uint32_t i = cg__arg_of(a, buffer);
        if (i == UINT32_MAX || b->arg[i] == found) continue;
        if (found != UINT32_MAX) return UINT32_MAX;
        found = b->arg[i];
    }
    return found;
}

static bool cg__same_launch(const ind_plan *p, uint32_t from, uint32_t to, uint32_t num) {
    const ind_schedule *s = p->schedule;
    if (from + num < s->num_kernels && s->launch[from + num] == from) return false;
    for (uint32_t k = 0; k < num; k++)
        if (s->launch[from + k] != from || !cg__same_kernel(p, &s->kernel[from + k], &s->kernel[to + k])) return false;
    for (uint32_t k = 0; k < num && num > 1; k++)
        for (uint32_t i = 0; i < s->kernel[from + k].num_args; i++)
            if (cg__buffer_there(p, from, to, num, s->kernel[from + k].arg[i]) == UINT32_MAX) return false;
    return true;
}

/* Returns an earlier launch that equals the one at `first`; if none, adds `first` to the table and returns it. */
static uint32_t cg__find_launch(cg__launch_table *t, const ind_plan *p, uint32_t first, uint32_t num) {
    uint64_t hash = num;
    for (uint32_t k = 0; k < num; k++) hash = cg__hash_kernel(&p->schedule->kernel[first + k], hash);
    uint32_t at = (uint32_t)hash & (t->size - 1);
    for (; t->first[at]; at = (at + 1) & (t->size - 1)) {
        const uint32_t other = t->first[at] - 1;
        if (t->hash[other] == hash && cg__same_launch(p, other, first, num)) return other;
    }
    t->first[at] = first + 1;
    t->hash[first] = hash;
    return first;
}

/* Replaces the buffers of a variant and of its fallbacks, from the launch at `from` to the one at `to`. */
static bool cg__exchange_buffers(ind_plan *p, uint32_t from, uint32_t to, uint32_t num, ind__variant *v) {
    for (;; v = v->fallback) {
        v->arg = (ind__kernel_arg *)ind__arena_copy(&p->arena, v->arg, v->num_args * sizeof *v->arg);
        for (uint32_t i = 0; v->arg && i < v->num_args; i++)
            if (v->arg[i].kind == IND__ARG_BUFFER || v->arg[i].kind == IND__ARG_TENSOR_MAP)
                v->arg[i].buffer = cg__buffer_there(p, from, to, num, v->arg[i].buffer);
        if (!v->arg || !v->fallback) return v->arg != NULL;
        v->fallback = (ind__variant *)ind__arena_copy(&p->arena, v->fallback, sizeof *v->fallback);
        if (!v->fallback) return false;
    }
}

static ind_status cg__copy_launch(ind_plan *p, uint32_t from, uint32_t to, uint32_t num) {
    for (uint32_t k = 0; k < num; k++) {
        ind_kernel_plan *kp = &p->kernel[to + k];
        *kp = p->kernel[from + k];
        kp->kernel = &p->schedule->kernel[to + k];
        kp->first += to - from;
        if (kp->num_variants && !cg__store_variants(p, kp, kp->variant, kp->num_variants))
            return ind__failed(p->context);
        for (int i = 0; i < kp->num_variants; i++)
            if (!cg__exchange_buffers(p, from, to, num, &kp->variant[i])) return ind__failed(p->context);
        if (!kp->part) continue;
        kp->part = (ind__variant *)ind__arena_copy(&p->arena, kp->part, sizeof *kp->part);
        if (!kp->part || !cg__exchange_buffers(p, from, to, num, kp->part)) return ind__failed(p->context);
    }
    return IND_OK;
}

static bool cg__same_map(const ind__tensor_map *a, const ind__tensor_map *b) {
    return a->dtype == b->dtype && a->rank == b->rank && a->swizzle == b->swizzle &&
           !memcmp(a->box, b->box, sizeof a->box) && cg__same_exprs(&a->offset, &b->offset, 1) &&
           cg__same_exprs(a->size, b->size, (uint32_t)a->rank) &&
           cg__same_exprs(a->stride, b->stride, (uint32_t)a->rank);
}

/* True if y, a variant of the launch at `to`, equals x, the one at `from`, with the buffers exchanged. */
static bool cg__same_variant(const ind_plan *p, uint32_t from, uint32_t to, uint32_t num, const ind__variant *x,
                             const ind__variant *y) {
    bool same = x->strategy == y->strategy && x->threads == y->threads && x->num_args == y->num_args &&
                !x->source.text == !y->source.text && (!x->source.text || !strcmp(x->source.text, y->source.text)) &&
                cg__same_exprs(x->grid, y->grid, 3) && cg__same_exprs(&x->memory.shared, &y->memory.shared, 1) &&
                cg__same_exprs(&x->guard, &y->guard, 1) && x->guard_aligned == y->guard_aligned;
    for (uint32_t j = 0; same && j < x->num_args; j++) {
        const ind__kernel_arg *a = &x->arg[j], *b = &y->arg[j];
        const bool buffer = a->kind == IND__ARG_BUFFER || a->kind == IND__ARG_TENSOR_MAP;
        same = a->kind == b->kind && (buffer ? cg__buffer_there(p, from, to, num, a->buffer) == b->buffer
                                             : cg__same_exprs(&a->size, &b->size, 1));
        if (same && a->kind == IND__ARG_TENSOR_MAP) same = cg__same_map(a->map, b->map);
    }
    return same;
}

/* Verifies that the plan of the launch at `to` equals the one that cg__copy_launch derives from the launch at
   `from`. */
static ind_status cg__compare_launches(const ind_plan *p, uint32_t from, uint32_t to, uint32_t num) {
    for (uint32_t k = 0; k < num; k++) {
        const ind_kernel_plan *a = &p->kernel[from + k], *b = &p->kernel[to + k];
        bool same = a->num_variants == b->num_variants && a->first - from == b->first - to && !a->part == !b->part;
        for (int i = 0; same && i < a->num_variants; i++) {
            const ind__variant *x = &a->variant[i], *y = &b->variant[i];
            for (; same && x && y; x = x->fallback, y = y->fallback)
                same = cg__same_variant(p, from, to, num, x, y) && !x->fallback == !y->fallback;
        }
        if (!same)
            return ind__fail(p->context, IND_VERIFY, "kernels %u and %u (%s) are equal, but their plans differ",
                             from + k, to + k, b->kernel->name);
    }
    return IND_OK;
}

/* Plans the launch at `to` in memory of its own and compares that plan with the launch at `from`. */
static ind_status cg__check_launch(ind_plan *p, uint32_t from, uint32_t to, uint32_t num) {
    const ind__arena kept = p->arena;
    const uint32_t refusals = ind__refusals(p->context);
    p->arena = (ind__arena){.context = p->context};
    ind_status status = cg__plan_launch(p, to, num);
    if (!status) status = ind__refused_since(p->context, refusals);
    if (!status) status = cg__compare_launches(p, from, to, num);
    ind__arena_free(&p->arena);
    p->arena = kept;
    for (uint32_t k = 0; k < num; k++)
        p->kernel[to + k] = (ind_kernel_plan){.kernel = p->kernel[to + k].kernel, .first = to + k, .num_parts = 1};
    return status;
}

/* Does the verifier plan this copy of a launch again? */
static bool cg__is_checked(const ind_plan *p, uint32_t copy) {
    return ind__verifying(p->context) && !(copy & (copy - 1));
}

/* ================================================================================================ src/cuda/create.c */
static ind_status cg__plan_next(ind_plan *p, cg__launch_table *t, uint32_t first, uint32_t num) {
    const uint32_t other = cg__find_launch(t, p, first, num);
    if (other == first) return cg__plan_launch(p, first, num);
    ind_status status = IND_OK;
    if (cg__is_checked(p, ++t->copies[other])) status = cg__check_launch(p, other, first, num);
    return status ? status : cg__copy_launch(p, other, first, num);
}

static ind_status cg__plan_all(ind_plan *p) {
    const ind_schedule *s = p->schedule;
    cg__launch_table table = {0};
    ind_status status = cg__launch_table_init(&table, p) ? IND_OK : ind__failed(p->context);
    for (uint32_t k = 0; k < s->num_kernels; k++)
        p->kernel[k] = (ind_kernel_plan){.kernel = &s->kernel[k], .first = k, .num_parts = 1};
    for (uint32_t first = 0, next; first < s->num_kernels && !status; first = next) {
        for (next = first + 1; next < s->num_kernels && s->launch[next] == first;) next++;
        status = cg__plan_next(p, &table, first, next - first);
        p->num_kernels = next;
    }
    for (uint32_t k = 0; k < p->num_kernels; k++) p->num_launches += p->kernel[k].first == k;
    for (uint32_t k = 0; k < p->num_kernels && !status; k++) status = cg__plan_finish(p, k);
    ind__arena_free(&table.memory);
    return status;
}

/* Candidates of a product: the configurations that its plan lists. */
static int cg__product_candidates(const ind__tile_plan *tile, ind__tuning tuning[IND__MAX_TUNED]) {
    for (int i = 0; i < tile->num_others; i++) tuning[i] = (ind__tuning){.tile = tile->others[i]};
    return tile->num_others;
}

/* Candidates: half and twice as many threads, and once more; beyond these a block has too little to do, or an SM too
   few blocks. Then all remaining fallbacks, which a build without enough spills does not reach, and other numbers of
   vectors or rows in flight. */
int ind__plan_candidates(const ind__variant *v, ind__tuning tuning[IND__MAX_TUNED]) {
    const bool warps = v->strategy == IND_STRATEGY_ROW_WARP, points = v->strategy == IND_STRATEGY_POINTWISE;
    const bool threads = !v->replaced.cluster && ind__strategy_has(v->strategy, IND__HAS_THREADS);
    const int candidate[] = {v->threads / 2, v->threads * 2, v->threads / 4, v->threads * 4};
    const int together = warps                 ? (ind__row_of(v)->batch ? ind__row_of(v)->batch : 1)
                         : points && v->vector ? v->per_thread / v->vector
                                               : 1;
    int num = 0;
    if (ind__strategy_row_of(v->strategy)->family == IND__FAMILY_MATMUL)
        return cg__product_candidates(ind__tile_of(v), tuning);
    for (int i = 0; threads && !v->misaligned && ind__row_of(v)->batch < 2 && i < 4; i++)
        if (candidate[i] >= 32 && candidate[i] <= 1024) tuning[num++] = (ind__tuning){.threads = candidate[i]};
    for (const ind__variant *fallback = v->fallback; fallback && num < IND__MAX_TUNED; fallback = fallback->fallback)
        tuning[num++] = (ind__tuning){.alternative = fallback->alternative};
    for (int n = 1; (warps || together > 1) && !v->misaligned && n <= IND__CG_MAX_BATCH && num < IND__MAX_TUNED; n *= 2)
        if (n != together) tuning[num++] = (ind__tuning){.together = n};
    return num;
}

/* A launch takes the first variant whose guards hold, so a tuned variant must have the same conditions as the one that
   it replaces. */
static bool cg__same_conditions(const ind__variant *a, const ind__variant *b) {
    return a->guard_aligned == b->guard_aligned && a->index_bits == b->index_bits &&
           cg__same_exprs(&a->guard, &b->guard, 1);
}

bool ind__is_tuned(const ind__variant *v) {
    return v->tuned.threads || v->tuned.alternative || v->tuned.together || v->tuned.tile.m;
}

/* Products with other numbers of blocks per tile may have one source: an argument says how many. */
ind_status ind__plan_tuned(ind_plan *p, uint32_t kernel, int variant, ind__tuning tuning, ind__variant *out) {
    const ind__variant *first = &p->kernel[kernel].variant[variant];
    int used;
    p->tuning = tuning, p->from = first->range.from, p->to = first->range.to;
    ind_status status = cg__plan_variant(p, p->kernel[kernel].kernel, out, first->assume, &used);
    p->tuning = (ind__tuning){0}, p->from = p->to = 0;
    const bool same = !status && !out->tuned.tile.m && ind__same_source(first, out);
    if (!status && (!cg__same_conditions(first, out) || same)) *out = *first;
    return status;
}

void ind__plan_free(ind_plan *p) {
    if (!p) return;
    ind_context *c = p->context;
    ind__arena_free(&p->arena);
    ind__free(c, p);
}

ind_status ind__plan_create(ind_context *c, const ind_schedule *s, const ind_target *target, ind_plan **plan) {
    if (!c || !s || !plan) return c ? ind__fail(c, IND_INVALID_ARGUMENT, "plan: NULL argument") : IND_INVALID_ARGUMENT;
    *plan = NULL;
    ind_plan *p = (ind_plan *)ind__alloc(c, sizeof *p);
    if (!p) return ind__failed(c);
    p->context = p->arena.context = c;
    p->schedule = s;
    if (target) p->target = *target;
    ind__target_defaults(&p->target);
    p->kernel = (ind_kernel_plan *)ind__arena_alloc(&p->arena, (s->num_kernels + 1) * sizeof *p->kernel);
    ind_status status = p->kernel ? IND_OK : ind__failed(c);
    const uint32_t refusals = ind__refusals(c);
    if (!status) status = cg__plan_all(p);
    for (uint32_t k = 0; !status && k < p->num_kernels; k++) status = cg__predict(p, k);
    if (!status) status = cg__predict_all(p);
    if (!status) status = ind__refused_since(c, refusals);
    if (!status && ind__verifying(c)) status = ind__plan_verify(p);
    if (status)
        ind__plan_free(p);
    else
        *plan = p;
    return status;
}

/* ==================================================================================== src/cuda/cost/architectures.c */
/* ------------------------------------------------------------------------------------------- >>architectures */

/* Limits per SM and per block (CUDA C++ Programming Guide, "Compute Capabilities", table of technical specifications).
   Clusters of 16 blocks need the non-portable size, which launches request. */
typedef struct cg__architecture {
    int sm;
    bool specific; /* has an "a" form with architecture-specific instructions */
    int sm_registers, sm_threads, shared_per_sm, shared_per_block, block_shared, l1_bytes, max_cluster;
    const char *device; /* default device of the architecture: a row of cg__devices */
} cg__architecture;

static const cg__architecture cg__architectures[] = {
    {80, false, 65536, 2048, 167936, 166912, 1024, 192 << 10, 1, "A100"},
    {86, false, 65536, 1536, 102400, 101376, 1024, 128 << 10, 1, "RTX A6000"},
    {87, false, 65536, 1536, 167936, 166912, 1024, 192 << 10, 1, "Jetson AGX Orin"},
    {89, false, 65536, 1536, 102400, 101376, 1024, 128 << 10, 1, "L40S"},
    {90, true, 65536, 2048, 233472, 232448, 1024, 256 << 10, 16, "H200"},
    {100, true, 65536, 2048, 233472, 232448, 1024, 256 << 10, 16, "B200"},
    {103, true, 65536, 2048, 233472, 232448, 1024, 256 << 10, 16, "B300"},
    {120, true, 65536, 1536, 102400, 101376, 1024, 128 << 10, 8, "RTX 5090"},
};

/* The row of the compute capability, or the closest lower one. */
static const cg__architecture *cg__architecture_of(int sm) {
    const cg__architecture *found = cg__architectures;
    for (size_t i = 0; i < sizeof cg__architectures / sizeof *cg__architectures; i++)
        if (cg__architectures[i].sm <= sm) found = &cg__architectures[i];
    return found;
}

/* ========================================================================================== src/cuda/cost/devices.c */
/* ------------------------------------------------------------------------------------------------- >>devices */

/* Devices by name, for compilation without one, from NVIDIA's data sheets: SMs, bytes of L2, GB/s of memory (bytes per
   ns), GFLOP/s of f32 and of dense 16-bit tensor cores that sum in f32. For an opened device, its SMs, shared memory
   and L2 are queried. */
typedef struct cg__device {
    const char *name;
    int sm, num_sms, l2_bytes, memory_bytes_per_ns, f32_flops_per_ns, tensor_flops_per_ns;
} cg__device;

static const cg__device cg__devices[] = {
    {"A100", 80, 108, 40 << 20, 2039, 19500, 312000}, /* 80 GB SXM */
    {"RTX A6000", 86, 84, 6 << 20, 768, 38700, 154800},     {"Jetson AGX Orin", 87, 16, 4 << 20, 204, 5300, 42500},
    {"L4", 89, 58, 48 << 20, 300, 30300, 121000},           {"L40S", 89, 142, 96 << 20, 864, 91600, 362000},
    {"RTX 4090", 89, 128, 72 << 20, 1008, 82600, 165200},   {"H100", 90, 132, 50 << 20, 3350, 67000, 989000}, /* SXM */
    {"H200", 90, 132, 50 << 20, 4800, 67000, 989000},                                                         /* SXM */
    {"B200", 100, 148, 126 << 20, 8000, 75000, 2250000},    {"B300", 103, 148, 126 << 20, 8000, 75000, 2250000},
    {"RTX 5090", 120, 170, 96 << 20, 1792, 104800, 209500},
};

static const cg__device *cg__device_named(const char *name) {
    for (size_t i = 0; i < sizeof cg__devices / sizeof *cg__devices; i++)
        if (!strcmp(cg__devices[i].name, name)) return &cg__devices[i];
    return NULL;
}

/* =========================================================================================== src/cuda/cost/target.c */
/* ---------------------------------------------------------------------------------------------- >>thresholds */

static const ind_thresholds cg__default_thresholds = {
#define X(field, value, meaning, source) .field = value,
    IND_THRESHOLDS(X)
#undef X
};

static void cg__set_default(int *field, int value) {
    if (!*field) *field = value;
}

static void cg__threshold_defaults(ind_thresholds *t) {
#define X(field, value, meaning, source) cg__set_default(&t->field, cg__default_thresholds.field);
    IND_THRESHOLDS(X)
#undef X
}

static void cg__device_defaults(ind_target *t, const cg__device *d) {
    cg__set_default(&t->num_sms, d->num_sms);
    cg__set_default(&t->l2_bytes, d->l2_bytes);
    cg__set_default(&t->memory_bytes_per_ns, d->memory_bytes_per_ns);
    cg__set_default(&t->f32_flops_per_ns, d->f32_flops_per_ns);
    cg__set_default(&t->tensor_flops_per_ns, d->tensor_flops_per_ns);
    cg__set_default(&t->launch_ns, 1000);
}

void ind__target_defaults(ind_target *t) {
    if (!t->sm) {
        t->sm = 90;
        t->specific = true;
    }
    const cg__architecture *a = cg__architecture_of(t->sm);
    cg__set_default(&t->shared_per_block, a->shared_per_block);
    cg__set_default(&t->shared_per_sm, a->shared_per_sm);
    cg__set_default(&t->max_cluster, a->max_cluster);
    cg__set_default(&t->registers_per_thread, 255);
    cg__set_default(&t->sm_registers, a->sm_registers);
    cg__set_default(&t->sm_threads, a->sm_threads);
    cg__set_default(&t->block_shared, a->block_shared);
    cg__set_default(&t->l1_bytes, a->l1_bytes);
    cg__device_defaults(t, cg__device_named(a->device));
    cg__threshold_defaults(&t->thresholds);
}

/* A figure of the H200 times the ratio of two numbers of the target and of the H200. */
static int64_t cg__by_ratio(int64_t figure, double number, double of_h200) {
    const double scaled = (double)figure * number / of_h200;
    return scaled < 1 ? 1 : (int64_t)(scaled + 0.5);
}

typedef enum cg__scale {
    IND__CG_SCALE_NONE,
    IND__CG_SCALE_BANDWIDTH,
    IND__CG_SCALE_OPERATIONS,
    IND__CG_SCALE_PRODUCTS,
    IND__CG_SCALE_L2,
    IND__CG_SCALE_SMS,
    IND__CG_SCALE_SHARED
} cg__scale;

static int64_t cg__scaled(const ind_target *t, int64_t figure, cg__scale scale) {
    const cg__device *h200 = cg__device_named("H200");
    const double bytes = t->memory_bytes_per_ns, h200_bytes = h200->memory_bytes_per_ns;
    switch (scale) {
    case IND__CG_SCALE_BANDWIDTH: return cg__by_ratio(figure, bytes, h200_bytes);
    case IND__CG_SCALE_OPERATIONS:
        return cg__by_ratio(figure, t->f32_flops_per_ns / bytes, h200->f32_flops_per_ns / h200_bytes);
    case IND__CG_SCALE_PRODUCTS:
        return cg__by_ratio(figure, t->tensor_flops_per_ns / bytes, h200->tensor_flops_per_ns / h200_bytes);
    case IND__CG_SCALE_L2: return cg__by_ratio(figure, t->l2_bytes, h200->l2_bytes);
    case IND__CG_SCALE_SMS: return cg__by_ratio(figure, t->num_sms, h200->num_sms);
    case IND__CG_SCALE_SHARED:
        return cg__by_ratio(figure, t->shared_per_block, cg__architecture_of(h200->sm)->shared_per_block);
    case IND__CG_SCALE_NONE: break;
    }
    return figure;
}

void ind__target_fusion(const ind_target *t, ind_fusion_policy *p) {
    if (p->row_blocks <= 0) p->row_blocks = t->max_cluster;
#define X(type, field, value, scale, meaning, source)                                                                  \
    if (p->field <= 0) p->field = (type)cg__scaled(t, value, IND__CG_SCALE_##scale);
    IND_FUSION_FIGURES(X)
#undef X
}

void ind__target_name(const ind_target *t, char out[16]) {
    snprintf(out, 16, "sm_%d%s", t->sm % 10000, t->specific ? "a" : "");
}

/* The names that ind__target_parse takes. */
static void cg__target_names(ind__text *t) {
    const size_t archs = sizeof cg__architectures / sizeof *cg__architectures;
    const size_t devices = sizeof cg__devices / sizeof *cg__devices;
    for (size_t i = 0; i < archs; i++) {
        const cg__architecture *a = &cg__architectures[i];
        ind__textf(t, "sm_%d, ", a->sm);
        if (a->specific) ind__textf(t, "sm_%da, ", a->sm);
    }
    for (size_t i = 0; i < devices; i++)
        ind__textf(t, "%s%s%s", i + 1 < devices ? "" : "and ", cg__devices[i].name, i + 1 < devices ? ", " : "");
}

ind_status ind__target_parse(ind_context *c, const char *arch, ind_target *t) {
    const cg__device *device = arch && t ? cg__device_named(arch) : NULL;
    if (device) {
        *t = (ind_target){.sm = device->sm, .specific = cg__architecture_of(device->sm)->specific};
        cg__device_defaults(t, device);
        ind__target_defaults(t);
        return IND_OK;
    }
    for (size_t i = 0; arch && t && i < sizeof cg__architectures / sizeof *cg__architectures; i++)
        for (int specific = 0; specific <= cg__architectures[i].specific; specific++) {
            ind_target one = {.sm = cg__architectures[i].sm, .specific = specific};
            char name[16];
            ind__target_name(&one, name);
            if (strcmp(name, arch)) continue;
            ind__target_defaults(&one);
            *t = one;
            return IND_OK;
        }
    ind__text names = {.context = c};
    cg__target_names(&names);
    ind_status status = ind__fail(c, IND_INVALID_ARGUMENT, "unknown target \"%s\": allowed are %s", arch ? arch : "",
                                  names.data && !names.failed ? names.data : "sm_80 and above");
    ind__text_free(&names);
    return status;
}

/* ================================================================================================ src/cuda/verify.c */
/* -------------------------------------------------------------------------------------------------- >>verify */

/* True if e consists of declared sizes, which are known before the launch. */
static bool cg__is_declared(ind_expr e) {
    return ind__ok(e) && ind__expr_is_size(e) && !ind__expr_has_kind(e, IND_SYMBOL_UNBACKED);
}

/* The functions below return the rule that a variant breaks, or NULL. */

static const char *cg__broken_split(const ind__variant *v) {
    const ind_expr num = v->of.split.num;
    if (!ind__strategy_has(v->strategy, IND__HAS_SPLIT)) return NULL;
    if (!ind__ok(num) || !ind_expr_same(v->grid[1], num) || !cg__own_axis(num))
        return "the blocks that share a row do not lie along y of the grid";
    return NULL;
}

/* True if the kernel's first statement waits for the previous launch. */
static bool cg__waits_first(const ind__variant *v) {
    const char *kernel = strstr(v->source.text, "extern \"C\" __global__"),
               *body = kernel ? strstr(kernel, ") {\n") : NULL;
    return body && !strncmp(body + 4, IND__CG_DEPENDENCY_CALL, sizeof IND__CG_DEPENDENCY_CALL - 1);
}

/* A variant that also runs the next kernel needs that kernel's arguments, and words for at least one value per row. */
static const char *cg__broken_finish(const ind_plan *p, const ind_kernel_plan *k, const ind__variant *v) {
    const ind_kernel_plan *next = k + 1;
    uint32_t buffers = 0, words = 0;
    if (!ind__takes_next(v)) return NULL;
    const bool exists = next < p->kernel + p->num_kernels;
    if (!exists || (next->num_variants ? next->first != next - p->kernel : next->first != k - p->kernel))
        return "it runs a next kernel that does not exist";
    if (!next->num_variants != ind__takes_next(&k->variant[k->num_variants - 1]))
        return "no launch runs the next kernel for some sizes";
    for (uint32_t i = 0; i < v->num_args; i++) {
        const ind__kernel_arg *a = &v->arg[i];
        for (uint32_t n = 0; a->kind == IND__ARG_BUFFER && n < next->kernel->num_args; n++)
            buffers += i >= k->kernel->num_args && next->kernel->arg[n] == a->buffer;
        words += a->kind == IND__ARG_LOOKBACK;
    }
    if (buffers < next->kernel->num_args || words != 2) return "it lacks arguments of the next kernel";
    return NULL;
}

static const char *cg__broken_shape(const ind__variant *v) {
    if (v->threads < 1 || v->threads > 1024 || v->threads % 32)
        return "threads per block are not a multiple of 32 up to 1024";
    if (v->index_bits != 32 && v->index_bits != 64) return "indices have neither 32 nor 64 bits";
    if (!cg__power_of_two(v->vector) || v->vector > 16) return "the vector width is not a power of two up to 16";
    if (v->vector > 1 && !ind__strategy_has(v->strategy, IND__HAS_VECTORS)) return "the strategy has no vectors";
    if (v->misaligned && (v->vector < 2 || !ind__strategy_has(v->strategy, IND__HAS_MISALIGNED)))
        return "only vectors can be misaligned";
    return NULL;
}

/* A launch may evaluate only formulas of declared sizes. */
static const char *cg__broken_launch(const ind_plan *p, const ind__variant *v) {
    if (!v->source.text || !v->source.bytes || !v->source.entry[0] || !v->why)
        return "source, name or reason is missing";
    if (v->dependent != cg__waits_first(v)) return "the kernel does not wait first for the previous launch";
    for (int d = 0; d < 3; d++)
        if (!cg__is_declared(v->grid[d])) return "the grid is not a formula of the sizes";
    if (ind__ok(v->guard) && !cg__is_declared(v->guard)) return "the guard is not a condition on the sizes";
    if (!cg__is_declared(v->memory.shared)) return "shared memory is not a formula of the sizes";
    if (cg__upper_bound(v->memory.shared) > p->target.shared_per_block)
        return "shared memory exceeds the limit of a block";
    return NULL;
}

static const char *cg__broken_stage(const ind__variant *v) {
    const ind__stage_plan *s = &v->of.row.stage;
    if (!s->persistent) return NULL;
    if (!ind__strategy_has(v->strategy, IND__HAS_PERSISTENT)) return "the strategy has no persistent blocks";
    if (s->resident < 1) return "persistent blocks compute no rows at the same time";
    return s->num == 2 || (s->num == 1 && s->in_registers == 2) ? NULL : "the next row has no shared memory";
}

static const char *cg__broken_row(const ind_plan *p, const ind__variant *v) {
    const ind__row_plan *row = &v->of.row;
    if (ind__strategy_row_of(v->strategy)->of != IND__PLAN_OF_ROW) return NULL;
    if (ind__ok(row->fitted) && (!ind__strategy_has(v->strategy, IND__HAS_FITTED) || row->cluster > 1))
        return "a launch cannot set the active threads of this strategy";
    if (ind__ok(row->fitted) && !cg__is_declared(row->fitted))
        return "the active threads are not a formula of the sizes";
    if (row->cluster && !ind__strategy_has(v->strategy, IND__HAS_CLUSTER)) return "the strategy has no clusters";
    if (row->cluster && (!cg__power_of_two(row->cluster) || row->cluster > p->target.max_cluster))
        return "the target has no clusters of this size";
    if (row->cluster > 1 && !v->fallback) return "a variant with a cluster has no fallback without one";
    if (row->segments &&
        (v->misaligned || row->segment_lanes < 1 || !ind__strategy_has(v->strategy, IND__HAS_SEGMENTS)))
        return "the strategy has no segments of rows";
    if (row->batch && (!ind__strategy_has(v->strategy, IND__HAS_BATCH) || v->rows % row->batch))
        return "the rows of a block are not a multiple of the batch";
    return cg__broken_stage(v);
}

/* Sums of a cluster's blocks need clusters, and a fallback for devices that they do not fit. */
static const char *cg__broken_tile(const ind_plan *p, const ind__variant *v) {
    const int cluster = ind__tile_of(v)->cluster;
    if (cluster < 2) return NULL;
    if (!ind__strategy_has(v->strategy, IND__HAS_CLUSTER) || !ind__ok(ind__tile_of(v)->splits))
        return "the strategy has no clusters";
    if (!cg__power_of_two(cluster) || cluster > p->target.max_cluster) return "the target has no clusters of this size";
    return v->fallback ? NULL : "a variant with a cluster has no fallback without one";
}

static const char *cg__broken_guards(const ind__variant *v, bool last) {
    const ind__variant *other = v->fallback;
    if (last && (ind__ok(v->guard) || v->guard_aligned)) return "the last variant has a guard";
    if (!last && !ind__ok(v->guard) && !v->guard_aligned) return "a variant without a guard precedes another one";
    if (other && (other->guard_aligned != v->guard_aligned || ind__ok(other->guard) != ind__ok(v->guard)))
        return "the fallback has another guard";
    if (other && ind__ok(v->guard) && !ind_expr_same(other->guard, v->guard)) return "the fallback has another guard";
    return NULL;
}

static const char *cg__broken_map(const ind_plan *p, const ind__kernel_arg *a) {
    const ind__tensor_map *m = a->map;
    if (a->kind != IND__ARG_TENSOR_MAP) return NULL;
    if (!m || a->buffer >= p->schedule->program->num_buffers) return "a tensor map has no buffer";
    if (m->rank < 2 || m->rank > IND__MAX_MAP_RANK) return "the rank of a tensor map is not 2 to 5";
    if (!cg__is_declared(m->offset)) return "the offset of a tensor map is not a formula of the sizes";
    for (int d = 0; d < m->rank; d++) {
        if (!cg__is_declared(m->size[d]) || !cg__is_declared(m->stride[d]))
            return "a size or stride of a tensor map is not a formula of the sizes";
        if (m->box[d] < 1 || m->box[d] > 256)
            return "a box of a tensor map has not 1 to 256 elements in each dimension";
    }
    if (m->swizzle && m->box[0] * ind_dtype_bytes(m->dtype) > m->swizzle)
        return "a row of the box of a tensor map is longer than the swizzle's span";
    return NULL;
}

static const char *cg__broken_arg(const ind_plan *p, const ind__variant *v, const ind__kernel_arg *a) {
    const bool size = a->kind == IND__ARG_SIZE || a->kind == IND__ARG_LOOKBACK;
    if (a->kind == IND__ARG_BUFFER && a->buffer >= p->schedule->program->num_buffers)
        return "an argument is a buffer that does not exist";
    if (size && !cg__is_declared(a->size)) return "a size argument is not a formula of the sizes";
    if (a->kind == IND__ARG_COUNTERS && a->offset / 4 >= (int64_t)v->memory.num_counters)
        return "the counters are not allocated";
    if (a->kind == IND__ARG_PARTIALS && (a->offset >= v->memory.partial_bytes || a->offset % 16))
        return "the memory of partial results is not allocated, or misaligned";
    return cg__broken_map(p, a);
}

static const char *cg__broken_args(const ind_plan *p, const ind_kernel_plan *k, const ind__variant *v) {
    const char *rule = NULL;
    const bool one = ind__strategy_row_of(v->strategy)->family != IND__FAMILY_LAUNCH;
    if ((v->strategy == IND_STRATEGY_COMBO) != (k->num_parts > 1))
        return "the kernels of the launch are not the parts of the variant";
    if (v->strategy == IND_STRATEGY_COMBO && v->num_args > IND__CG_COMBO_WORDS)
        return "the arguments of its parts take more than 4 KiB";
    if (v->num_args < k->kernel->num_args) return "a buffer of the kernel is not an argument";
    for (uint32_t i = 0; i < v->num_args && !rule; i++) {
        rule = cg__broken_arg(p, v, &v->arg[i]);
        if (!rule && i && one && v->arg[i - 1].kind > v->arg[i].kind)
            rule = "arguments are not in the order buffers, sizes, memory of the instance, tensor maps";
    }
    return rule;
}

static const char *cg__broken_rule(const ind_plan *p, const ind_kernel_plan *k, const ind__variant *v, bool last) {
    const char *rule = cg__broken_guards(v, last);
    if (!rule) rule = cg__broken_shape(v);
    if (!rule) rule = cg__broken_launch(p, v);
    if (!rule) rule = cg__broken_row(p, v);
    if (!rule) rule = cg__broken_tile(p, v);
    if (!rule) rule = cg__broken_split(v);
    if (!rule) rule = cg__broken_finish(p, k, v);
    return rule ? rule : cg__broken_args(p, k, v);
}

ind_status ind__plan_verify(const ind_plan *p) {
    for (uint32_t i = 0; i < p->num_kernels; i++) {
        const ind_kernel_plan *k = &p->kernel[i];
        for (int v = 0; v < k->num_variants; v++) {
            const char *rule = NULL;
            for (const ind__variant *one = &k->variant[v]; one && !rule; one = one->fallback)
                rule = cg__broken_rule(p, k, one, v + 1 == k->num_variants);
            if (rule)
                return ind__fail(p->context, IND_VERIFY, "plan of kernel %u (%s), variant %d: %s", i, k->kernel->name,
                                 v, rule);
        }
    }
    return IND_OK;
}

/* ========================================================================================== src/cuda/source_users.c */
/* ---- sources and the kernels that run them */

/* Copies of a launch share the text of its variants. So a source is found by its address first; the characters are
   compared once per address. */
typedef struct cg__source_finder {
    const ind_plan *plan;
    ind__source_users *users;
    uint32_t *by_address, *by_text; /* open addressing: 1 + number of the source, 0: free */
    const char **address;           /* by slot of by_address */
    uint32_t size;
} cg__source_finder;

static const ind__variant *cg__source_variant(const ind_plan *p, const ind__source *s) {
    return &p->kernel[s->kernel].variant[s->variant];
}

static uint32_t *cg__slot_of_text(const cg__source_finder *f, const ind__variant *v) {
    uint32_t at = (uint32_t)ind__hash(v->source.text, v->source.bytes, 0) & (f->size - 1);
    for (; f->by_text[at]; at = (at + 1) & (f->size - 1))
        if (ind__same_source(cg__source_variant(f->plan, &f->users->source[f->by_text[at] - 1]), v)) break;
    return &f->by_text[at];
}

/* Number of the source of a variant, which may be a new one. */
static uint32_t cg__find_source(const cg__source_finder *f, uint32_t kernel, int variant) {
    const ind__variant *v = &f->plan->kernel[kernel].variant[variant];
    const char *const address = v->source.text;
    uint32_t at = (uint32_t)ind__hash(&address, sizeof address, 0) & (f->size - 1);
    for (; f->by_address[at]; at = (at + 1) & (f->size - 1))
        if (f->address[at] == address) return f->by_address[at] - 1;
    uint32_t *slot = cg__slot_of_text(f, v);
    if (!*slot) {
        f->users->source[f->users->num_sources] = (ind__source){.kernel = kernel, .variant = variant};
        *slot = ++f->users->num_sources;
    }
    f->address[at] = address;
    f->by_address[at] = *slot;
    return *slot - 1;
}

/* Adds a kernel to the end of a source's list, unless it is there. Kernels are added in ascending order. */
static void cg__add_user(ind__source_users *u, uint32_t source, uint32_t kernel) {
    ind__source *s = &u->source[source];
    if (s->last && u->user[s->last].kernel == kernel) return;
    const uint32_t item = ++u->num_users;
    u->user[item].kernel = kernel;
    if (s->last)
        u->user[s->last].next = item;
    else
        s->first = item;
    s->last = item;
}

bool ind__source_users_init(ind__source_users *u, const ind_plan *p) {
    uint32_t variants = 0, users = 1;
    for (uint32_t k = 0; k < p->num_kernels; k++) {
        variants += (uint32_t)p->kernel[k].num_variants;
        users += (uint32_t)p->kernel[p->kernel[k].first].num_variants;
    }
    *u = (ind__source_users){.memory = {.context = p->context}};
    cg__source_finder f = {.plan = p, .users = u, .size = 16};
    while (f.size / 2 < variants) f.size *= 2;
    ind__arena scratch = {.context = p->context};
    f.by_address = (uint32_t *)ind__arena_alloc(&scratch, f.size * sizeof *f.by_address);
    f.by_text = (uint32_t *)ind__arena_alloc(&scratch, f.size * sizeof *f.by_text);
    f.address = (const char **)ind__arena_alloc(&scratch, f.size * sizeof *f.address);
    u->source = (ind__source *)ind__arena_alloc(&u->memory, (variants + (size_t)1) * sizeof *u->source);
    u->number = (uint32_t *)ind__arena_alloc(&u->memory, (variants + (size_t)1) * sizeof *u->number);
    u->first_variant = (uint32_t *)ind__arena_alloc(&u->memory, (p->num_kernels + (size_t)1) * sizeof *u->number);
    u->user = (ind__source_user *)ind__arena_alloc(&u->memory, users * sizeof *u->user);
    const bool ok = f.by_address && f.by_text && f.address && u->source && u->number && u->first_variant && u->user;
    for (uint32_t k = 0, n = 0; ok && k < p->num_kernels; k++) {
        u->first_variant[k] = n;
        for (int v = 0; v < p->kernel[k].num_variants; v++) u->number[n++] = cg__find_source(&f, k, v);
        const uint32_t launch = p->kernel[k].first;
        for (int v = 0; v < p->kernel[launch].num_variants; v++)
            cg__add_user(u, u->number[u->first_variant[launch] + (uint32_t)v], k);
    }
    ind__arena_free(&scratch);
    return ok;
}

void ind__source_users_free(ind__source_users *u) {
    ind__arena_free(&u->memory);
}

/* ================================================================================================= src/cuda/print.c */
/* --------------------------------------------------------------------------------------------------- >>print */

static void cg__print_expr_field(ind__text *t, const char *name, ind_expr e) {
    ind__textf(t, "%s", name);
    ind__text_expr(t, e);
}

/* "[K, M]" */
static void cg__print_list(ind__text *t, const ind_expr *e, int n) {
    for (int d = 0; d < n; d++) {
        ind__textf(t, d ? ", " : "[");
        ind__text_expr(t, e[d]);
    }
    ind__textf(t, "]");
}

static void cg__print_map(ind__text *t, const ind_plan *p, const ind__kernel_arg *a) {
    const ind__tensor_map *m = a->map;
    int64_t offset;
    ind__textf(t, "tensor map of %s ", p->schedule->program->buffer[a->buffer].name);
    cg__print_list(t, m->size, m->rank);
    ind__textf(t, " strides ");
    cg__print_list(t, m->stride, m->rank);
    if (!ind_expr_is_int(m->offset, &offset) || offset) cg__print_expr_field(t, " offset ", m->offset);
    ind__textf(t, " box");
    for (int d = 0; d < m->rank; d++) ind__textf(t, d ? ", %d" : " [%d", m->box[d]);
    ind__textf(t, "] swizzle %d", m->swizzle);
}

static void cg__print_args(ind__text *t, const ind_plan *p, const ind__variant *v) {
    ind__textf(t, "arguments:");
    for (uint32_t i = 0; i < v->num_args; i++) {
        const ind__kernel_arg *a = &v->arg[i];
        ind__textf(t, i ? ", " : " ");
        if (a->kind == IND__ARG_BUFFER)
            ind__textf(t, "%s", p->schedule->program->buffer[a->buffer].name);
        else if (a->kind == IND__ARG_SIZE) {
            if (a->reciprocal) ind__textf(t, "multiplier for division by ");
            if (a->meaning) ind__textf(t, "%s", a->meaning);
            ind__text_expr(t, a->reciprocal ? a->divisor : a->size);
        } else if (a->kind == IND__ARG_TENSOR_MAP)
            cg__print_map(t, p, a);
        else
            ind__textf(t, "%s", cg__memory_args[a->kind].text);
    }
    ind__textf(t, "\n");
}

/* Prints the fields that the strategy has. Vectors of a variant for any pointers are only of buffers in the workspace,
   which are aligned. */
static void cg__print_block(ind__text *t, const ind__variant *v) {
    const bool several = v->strategy == IND_STRATEGY_COMBO || v->strategy == IND_STRATEGY_FINISH;
    const bool tiled = ind__tile_of(v)->k > 0, rows = ind__strategy_row_of(v->strategy)->of == IND__PLAN_OF_ROW;
    ind__textf(t, "threads %d, ", v->threads);
    if (!several && !tiled) ind__textf(t, "elements per thread %d, ", v->per_thread);
    if (!several)
        ind__textf(t, "vector %d%s, ", v->vector,
                   v->vector > 1 && !v->guard_aligned && !v->misaligned ? " (workspace buffers only)" : "");
    if (rows) ind__textf(t, "rows per block %d, ", v->rows);
    ind__textf(t, "%d-bit indices\n", v->index_bits);
    if (v->misaligned)
        ind__textf(t, "%s may start misaligned: aligned vectors, peeled edges\n", rows ? "rows" : "the output");
}

static void cg__print_tile(ind__text *t, const ind__tile_plan *tile) {
    if (!tile->m) return;
    ind__textf(t, "tile %d x %d", tile->m, tile->n);
    if (tile->k) ind__textf(t, " x %d", tile->k);
    if (tile->products > 1) ind__textf(t, ", half of the columns of each product");
    if (tile->warps_m) ind__textf(t, ", warps %d x %d", tile->warps_m, tile->warps_n);
    ind__textf(t, tile->stages ? ", stages %d\n" : "\n", tile->stages);
}

/* Returns the part of a fallback's reason that its variant's reason does not have. */
static const char *cg__other_reason(const char *why, const char *fallback) {
    size_t same = 0, from = 0;
    for (; why[same] && why[same] == fallback[same]; same++)
        if (same && why[same] == ' ' && why[same - 1] == ';') from = same + 1;
    if (!why[same] && fallback[same] == ';') from = same + 2;
    return fallback[from] ? fallback + from : fallback;
}

static void cg__print_fallbacks(ind__text *t, const ind__variant *v) {
    for (const ind__variant *last = v, *fallback; (fallback = last->fallback) != NULL; last = fallback) {
        const bool leaves = ind__cluster_of(last) > 1 && ind__cluster_of(fallback) < 2;
        const bool same = fallback->strategy == v->strategy;
        ind__textf(t, "fallback if %s: %s%s %s\n", leaves ? "the cluster does not fit" : "registers spill",
                   same ? "the same strategy" : ind__strategy_text(fallback->strategy), same ? "," : ":",
                   same ? cg__other_reason(v->why, fallback->why) : fallback->why);
    }
}

static void cg__print_variant(ind__text *t, const ind_plan *p, const ind__variant *v) {
    ind__textf(t, "%s: %s\n", ind__strategy_text(v->strategy), v->why);
    t->indent++;
    cg__print_block(t, v);
    if (ind__row_of(v)->segments)
        ind__textf(t, "%d whole segments of a row per iteration, %d lanes each\n", ind__row_of(v)->segments,
                   ind__row_of(v)->segment_lanes);
    cg__print_tile(t, ind__tile_of(v));
    if (ind__ok(ind__row_of(v)->fitted)) {
        cg__print_expr_field(t, "active threads ", ind__row_of(v)->fitted);
        ind__textf(t, "\n");
    }
    cg__print_expr_field(t, "grid ", v->grid[0]);
    cg__print_expr_field(t, " x ", v->grid[1]);
    cg__print_expr_field(t, " x ", v->grid[2]);
    cg__print_expr_field(t, ", dynamic shared memory ", v->memory.shared);
    ind__textf(t, " bytes\n");
    const ind_expr splits = ind__tile_of(v)->splits;
    if (ind__ok(splits)) cg__print_expr_field(t, "blocks that share a tile ", splits);
    if (ind__tile_of(v)->cluster > 1) ind__textf(t, ", in clusters of %d", ind__tile_of(v)->cluster);
    if (v->memory.num_counters)
        ind__textf(t, "%s: %u counters, at most %lld bytes of partial results\n",
                   ind__ok(splits) ? "" : "blocks along y combine their results", v->memory.num_counters,
                   (long long)v->memory.partial_bytes);
    else if (ind__ok(splits))
        ind__textf(t, "\n");
    if (ind__ok(v->guard)) {
        cg__print_expr_field(t, "requires ", v->guard);
        ind__textf(t, "\n");
    }
    if (v->guard_aligned) ind__textf(t, "requires 16-byte aligned base pointers\n");
    if (v->dependent) ind__textf(t, "programmatic dependent launch (waits at entry)\n");
    cg__print_args(t, p, v);
    if (v->replaced.local_bytes)
        ind__textf(t, "replaces a variant that spilled %d bytes per thread\n", v->replaced.local_bytes);
    if (v->replaced.cluster)
        ind__textf(t, "replaces a variant with clusters of %d, too large for the device\n", v->replaced.cluster);
    cg__print_fallbacks(t, v);
    t->indent--;
}

/* Prints the kernel's plan as a part of a launch, or that it is not in the launch that the schedule chose. */
static void cg__print_part(ind__text *t, const ind_plan *p, uint32_t kernel) {
    const ind_kernel_plan *k = &p->kernel[kernel];
    const uint32_t wanted = p->schedule->launch[kernel];
    if (k->part)
        ind__textf(t, "part of the launch of kernel %u; %s: %s\n", k->first, ind__strategy_text(k->part->strategy),
                   k->part->why);
    else if (wanted != kernel)
        ind__textf(t, "not in the launch of kernel %u: %s\n", wanted,
                   k->alone ? k->alone : "their threads, shared memory and arguments do not fit into one launch");
}

void ind__plan_print(ind__text *t, const ind_plan *p, ind__node_name_fn origin_name, ind__node_name_fn result_name,
                     void *user) {
    char arch[16];
    ind__target_name(&p->target, arch);
    ind__textf(t, "plan for %s: %u kernels", arch, p->num_kernels);
    if (p->num_launches < p->num_kernels)
        ind__textf(t, " in %u launch%s", p->num_launches, p->num_launches > 1 ? "es" : "");
    ind__textf(t, "\n");
    for (uint32_t i = 0; i < p->num_kernels; i++) {
        const ind_kernel *k = p->kernel[i].kernel;
        ind__textf(t, "kernel %u %s%s", i, k->name, origin_name ? ": computes " : "");
        if (origin_name) ind__print_made(t, k->origin, k->num_origins, origin_name, result_name, user);
        ind__textf(t, "\n");
        t->indent++;
        if (k->body->call) ind__textf(t, "extern call of %s\n", k->body->call->name);
        cg__print_part(t, p, i);
        for (int v = 0; v < p->kernel[i].num_variants; v++) cg__print_variant(t, p, &p->kernel[i].variant[v]);
        if (p->kernel[i].first == i)
            cg__print_expr_field(t, "predicted ns: ", p->kernel[i].time_ns);
        else
            ind__textf(t, "predicted ns: part of kernel %u", p->kernel[i].first);
        ind__textf(t, "\n");
        t->indent--;
    }
    cg__print_expr_field(t, "predicted ns, total: ", p->time_ns);
    ind__textf(t,
               "; device: %d bytes of memory per ns (copies reach %d %%), %d f32 and %d "
               "tensor-core flops per ns; %d ns "
               "per launch\n",
               p->target.memory_bytes_per_ns, p->target.thresholds.copy_percent, p->target.f32_flops_per_ns,
               p->target.tensor_flops_per_ns, p->target.launch_ns);
}

static void cg__print_json_expr(ind__text *t, ind_expr e) {
    ind__text s = {.context = t->context};
    ind__text_expr(&s, e);
    ind__text_json(t, s.data ? s.data : "");
    t->failed |= s.failed;
    ind__text_free(&s);
}

static void cg__print_json_map(ind__text *t, const ind_plan *p, const ind__kernel_arg *a) {
    const ind__tensor_map *m = a->map;
    ind__textf(t, "\"tensor_map\": ");
    ind__text_json(t, p->schedule->program->buffer[a->buffer].name);
    ind__textf(t, ", \"dtype\": \"%s\", \"offset\": ", ind_dtype_name(m->dtype));
    cg__print_json_expr(t, m->offset);
    for (int i = 0; i < 2; i++) {
        ind__textf(t, i ? "], \"strides\": [" : ", \"sizes\": [");
        for (int d = 0; d < m->rank; d++) {
            if (d) ind__textf(t, ", ");
            cg__print_json_expr(t, i ? m->stride[d] : m->size[d]);
        }
    }
    ind__textf(t, "], \"box\": [");
    for (int d = 0; d < m->rank; d++) ind__textf(t, d ? ", %d" : "%d", m->box[d]);
    ind__textf(t, "], \"swizzle\": %d", m->swizzle);
}

static void cg__print_json_args(ind__text *t, const ind_plan *p, const ind__variant *v) {
    ind__textf(t, "\"args\": [");
    for (uint32_t i = 0; i < v->num_args; i++) {
        const ind__kernel_arg *a = &v->arg[i];
        ind__textf(t, i ? ", {" : "{");
        if (a->kind == IND__ARG_BUFFER) {
            ind__textf(t, "\"buffer\": ");
            ind__text_json(t, p->schedule->program->buffer[a->buffer].name);
        } else if (a->kind == IND__ARG_SIZE) {
            ind__textf(t, "\"size\": ");
            cg__print_json_expr(t, a->size);
        } else if (a->kind == IND__ARG_LOOKBACK) {
            ind__textf(t, "\"lookback_words\": ");
            cg__print_json_expr(t, a->size);
        } else if (a->kind == IND__ARG_TENSOR_MAP) {
            cg__print_json_map(t, p, a);
        } else {
            ind__textf(t, "\"%s\": true", cg__memory_args[a->kind].name);
        }
        ind__textf(t, "}");
    }
    ind__textf(t, "]");
}

static void cg__print_json_variant(ind__text *t, const ind_plan *p, const ind__variant *v) {
    const ind__tile_plan *tile = ind__tile_of(v);
    ind__textf(t, "{\"strategy\": ");
    ind__text_json(t, ind__strategy_text(v->strategy));
    ind__textf(t, ", \"why\": ");
    ind__text_json(t, v->why);
    ind__textf(t,
               ", \"threads\": %d, \"blocks_per_sm\": %d, \"per_thread\": %d, \"vector\": %d, \"misaligned\": %s, "
               "\"rows\": %d, ",
               v->threads, v->blocks_per_sm, v->per_thread, v->vector, v->misaligned ? "true" : "false", v->rows);
    ind__textf(t, "\"segments\": %d, \"segment_lanes\": %d, ", ind__row_of(v)->segments, ind__row_of(v)->segment_lanes);
    ind__textf(t,
               "\"index_bits\": %d, \"cluster\": %d, \"persistent\": %d, \"replaced_local_bytes\": %d, "
               "\"replaced_cluster\": %d, \"fallbacks\": [",
               v->index_bits, ind__cluster_of(v), ind__row_of(v)->stage.persistent, v->replaced.local_bytes,
               v->replaced.cluster);
    for (const ind__variant *f = v->fallback; f; f = f->fallback) {
        ind__textf(t, f == v->fallback ? "{\"strategy\": " : ", {\"strategy\": ");
        ind__text_json(t, ind__strategy_text(f->strategy));
        ind__textf(t, ", \"cluster\": %d, \"why\": ", ind__cluster_of(f));
        ind__text_json(t, f->why);
        ind__textf(t, "}");
    }
    ind__textf(t, "], \"tile\": [%d, %d, %d], \"warps\": [%d, %d], \"stages\": %d, \"products\": %d, \"splits\": ",
               tile->m, tile->n, tile->k, tile->warps_m, tile->warps_n, tile->stages, tile->products);
    if (ind__ok(tile->splits))
        cg__print_json_expr(t, tile->splits);
    else
        ind__textf(t, "null");
    ind__textf(t, ", \"cost_ns\": %.0f, \"grid\": [", tile->cost_ns);
    for (int d = 0; d < 3; d++) {
        if (d) ind__textf(t, ", ");
        cg__print_json_expr(t, v->grid[d]);
    }
    ind__textf(t, "], \"shared_bytes\": ");
    cg__print_json_expr(t, v->memory.shared);
    ind__textf(t, ", \"counters\": %u, \"partial_bytes\": %lld", v->memory.num_counters,
               (long long)v->memory.partial_bytes);
    ind__textf(t, ", \"fitted_threads\": ");
    if (ind__ok(ind__row_of(v)->fitted))
        cg__print_json_expr(t, ind__row_of(v)->fitted);
    else
        ind__textf(t, "null");
    ind__textf(t, ", \"guard\": ");
    if (ind__ok(v->guard))
        cg__print_json_expr(t, v->guard);
    else
        ind__textf(t, "null");
    ind__textf(t, ", \"guard_aligned\": %s, \"dependent\": %s, \"entry\": ", v->guard_aligned ? "true" : "false",
               v->dependent ? "true" : "false");
    ind__text_json(t, v->source.entry);
    ind__textf(t, ", ");
    cg__print_json_args(t, p, v);
    ind__textf(t, "}");
}

static void cg__print_json_part(ind__text *t, const ind__variant *part) {
    ind__textf(t, ", \"part\": {\"strategy\": ");
    ind__text_json(t, ind__strategy_text(part->strategy));
    ind__textf(t, ", \"why\": ");
    ind__text_json(t, part->why);
    ind__textf(t, "}");
}

void ind__plan_print_json(ind__text *t, const ind_plan *p) {
    char arch[16];
    ind__target_name(&p->target, arch);
    ind__textf(t, "{\"arch\": ");
    ind__text_json(t, arch);
    ind__textf(t, ", \"memory_bytes_per_ns\": %d, \"copy_percent\": %d, \"f32_flops_per_ns\": %d, ",
               p->target.memory_bytes_per_ns, p->target.thresholds.copy_percent, p->target.f32_flops_per_ns);
    ind__textf(t, "\"tensor_flops_per_ns\": %d, \"launch_ns\": %d, \"time_ns\": ", p->target.tensor_flops_per_ns,
               p->target.launch_ns);
    cg__print_json_expr(t, p->time_ns);
    ind__textf(t, ", \"kernels\": [\n");
    for (uint32_t i = 0; i < p->num_kernels; i++) {
        ind__textf(t, "{\"name\": ");
        ind__text_json(t, p->kernel[i].kernel->name);
        if (p->kernel[i].kernel->body->call) {
            ind__textf(t, ", \"call\": ");
            ind__text_json(t, p->kernel[i].kernel->body->call->name);
        }
        ind__textf(t, ", \"launch\": %u", p->kernel[i].first);
        if (p->kernel[i].part) cg__print_json_part(t, p->kernel[i].part);
        ind__textf(t, ", \"time_ns\": ");
        cg__print_json_expr(t, p->kernel[i].time_ns);
        ind__textf(t, ", \"variants\": [\n");
        for (int v = 0; v < p->kernel[i].num_variants; v++) {
            cg__print_json_variant(t, p, &p->kernel[i].variant[v]);
            ind__textf(t, v + 1 < p->kernel[i].num_variants ? ",\n" : "\n");
        }
        ind__textf(t, i + 1 < p->num_kernels ? "]},\n" : "]}\n");
    }
    ind__textf(t, "]}\n");
}

ind_expr ind__staged_grid(const ind__variant *v) {
    ind_context *c = ind__row_of(v)->stage.items.context;
    const ind_expr rows = ind__row_of(v)->stage.persistent
                              ? ind_expr_min(ind__row_of(v)->stage.items, ind_int(c, ind__row_of(v)->stage.resident))
                              : ind__row_of(v)->stage.items;
    return ind_expr_mul(rows, ind_int(c, ind__row_of(v)->cluster));
}

int ind__plan_likely(const ind_kernel_plan *k) {
    int at = 0;
    while (at + 1 < k->num_variants && ind__ok(k->variant[at].guard) && !ind_hint(k->variant[at].guard)) at++;
    return at;
}

bool ind__same_source(const ind__variant *a, const ind__variant *b) {
    return a->source.bytes == b->source.bytes && !memcmp(a->source.text, b->source.text, a->source.bytes);
}

/* Prints the comment above a source: the kernels that run it. */
static void cg__print_source_heading(ind__text *t, const ind_plan *p, const ind__source_users *u, uint32_t source) {
    const ind__source *s = &u->source[source];
    const uint32_t kernel = s->kernel;
    const int variant = s->variant;
    const ind__variant *v = &p->kernel[kernel].variant[variant];
    const char *before = "// kernel ";
    for (uint32_t at = s->first; at; at = u->user[at].next) {
        const uint32_t i = u->user[at].kernel;
        for (int k = 0; k < p->kernel[i].num_variants; k++) {
            if (u->number[u->first_variant[i] + (uint32_t)k] != source) continue;
            ind__textf(t, "%s%u", before, i);
            before = ", ";
            if (p->kernel[i].num_parts > 1) ind__textf(t, " with %u more", p->kernel[i].num_parts - 1);
        }
    }
    ind__textf(t, ": %s, %s, variant %d of %d", p->kernel[kernel].kernel->name, ind__strategy_text(v->strategy),
               variant + 1, p->kernel[kernel].num_variants);
    if (ind__ok(v->guard)) cg__print_expr_field(t, ", only if ", v->guard);
    if (v->guard_aligned) ind__textf(t, ", only for aligned pointers");
    ind__textf(t, "\n// %s\n", v->why);
}

/* Prints "// kernel 3 computes h (add), y (layer_norm): in0 x, in1 buf4 (z), out0 h, out1 y". in0 and out0 are argument
   names in the source, which several kernels may share. */
static void cg__print_made(ind__text *t, const ind_plan *p, uint32_t number, ind__node_name_fn origin_name,
                           ind__node_name_fn result_name, void *user) {
    const ind_kernel *k = p->kernel[number].kernel;
    ind__textf(t, "// kernel %u computes ", (unsigned)number);
    ind__print_made(t, k->origin, k->num_origins, origin_name, result_name, user);
    for (uint32_t i = 0; i < k->num_args; i++) {
        bool in = i < k->num_reads;
        ind__textf(t, "%s %s%u ", i ? "," : ":", in ? "in" : "out", (unsigned)(in ? i : i - k->num_reads));
        ind__schedule_print_buffer(t, p->schedule, k->arg[i], result_name, user);
    }
    ind__textf(t, "\n");
}

void ind__plan_print_source(ind__text *t, const ind_plan *p, ind__node_name_fn origin_name,
                            ind__node_name_fn result_name, void *user) {
    ind__source_users u;
    t->failed |= !ind__source_users_init(&u, p);
    for (uint32_t i = 0; i < u.num_sources && !t->failed; i++) {
        const ind__kernel_text *source = &p->kernel[u.source[i].kernel].variant[u.source[i].variant].source;
        cg__print_source_heading(t, p, &u, i);
        for (uint32_t at = u.source[i].first; origin_name && result_name && at; at = u.user[at].next)
            cg__print_made(t, p, u.user[at].kernel, origin_name, result_name, user);
        ind__textf(t, "\n");
        ind__text_raw(t, source->text, source->bytes);
        ind__textf(t, "\n");
    }
    ind__source_users_free(&u);
}

/* ============================================================================== src/headers/inductor_codegen_cuda.h */
#endif /* INDUCTOR_CODEGEN_CUDA_IMPLEMENTATION_DONE */
#endif /* INDUCTOR_CODEGEN_CUDA_IMPLEMENTATION */
