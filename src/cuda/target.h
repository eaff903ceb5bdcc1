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
    X(task_blocks, 8, "blocks of a launch for each SM, at most, if it becomes a phase of a persistent one",            \
      "chosen, not measured")                                                                                          \
    X(task_ns, 4000, "time in which it moves its bytes, at most, ns",                                                  \
      "layers of Llama 8B: 1.22 of the time of separate launches with phases of 10 us and more")                       \
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
    X(tcgen05_rate, 4096, "tcgen05.mma products: multiply-adds per cycle and SM", "data sheet of the B200")            \
    X(byte_speed, 2, "rate of tensor cores with 8-bit operands, times that with 16 bits",                              \
      "data sheets of all devices")                                                                                    \
    X(tf32_percent, 50, "rate of tensor cores with tf32 operands, percent of that with 16 bits",                       \
      "data sheets of A100, H100 and H200")                                                                            \
    X(product_l2_rate, 60, "bytes per cycle and SM from the L2, all SMs at once", "480 timings of 16 products")        \
    X(product_shared_rate, 128, "bytes per cycle and SM of shared memory", "32 banks of 4 bytes")                      \
    X(product_busy, 85, "percent of the time in which the busiest unit of a product works",                            \
      "480 timings of 16 products")                                                                                    \
    X(product_latency, 900, "cycles of a copy from the L2 in a product", "480 timings of 16 products")                 \
    X(product_barrier, 200, "cycles of an exchange of sums between warps in a product of few rows", "estimated")       \
    X(product_start, 1200, "cycles of a product's block besides its steps", "2,149 timings of 180 products, H100")     \
    X(product_epilogue, 25, "hundredths of a cycle per sum in the epilogue", "1,758 timings of 140 products, H100")    \
    X(product_epilogue_call, 16, "the same for each op of the epilogue that takes many instructions, such as erfc",    \
      "the same timings")                                                                                              \
    X(product_element, 76, "hundredths of a cycle per element that an SM loads into a tile one by one",                \
      "4097 x 4095 x 4103, bf16, H100: 3,788 us for 1.09e9 elements, about 200 us if copied")                          \
    X(product_realigned, 2, "the same for an element of a misaligned row, which is copied and shifted",                \
      "estimated; SASS of 20 instructions per 8 elements")                                                             \
    X(product_window, 4, "the same for an element of a window, whose address and borders threads compute",             \
      "estimated; SASS of 40 instructions per 8 elements")                                                             \
    X(realigned_step, 700, "cycles of a step of k in which a block realigns its tiles and multiplies nothing",         \
      "2,149 timings of 180 products, H100")                                                                           \
    X(computed_step, 700, "cycles of a step of k in which a block normalises its tile of a and multiplies nothing",    \
      "estimated; of 8-bit weights 0.4 us")                                                                            \
    X(row_instructions, 12, "instructions per element of a row that a product's block normalises",                     \
      "estimated; PTX of rms_norm")                                                                                    \
    X(computed_instructions, 12, "instructions per computed weight of a product of one or two rows",                   \
      "i8 with a scale per column, 14336 x 4096: 51 us, H100")                                                         \
    X(unpack_instructions, 32, "the same for an element of a packed format", "PTX of 14 formats, 166 to 272 per 8")    \
    X(packed_instructions, 27, "instructions per 8 packed weights of a product of up to 8 rows",                       \
      "SASS of 20 formats, 17 to 36: bench/product_instructions.py")                                                   \
    X(packed_row_instructions, 3, "the same per packed weight of a product of one row without tensor cores",           \
      "SASS of q4_1")                                                                                                  \
    X(packed_row_load, 16, "multiply-adds in whose time a load of 8 packed weights is issued",                         \
      "steps of SmolLM2 135M and Llama 1B, q4_1 and q8_0, H200")                                                       \
    X(packed_tile_instructions, 62, "cycles of an SM's 128 lanes per 8 packed weights that wgmma multiplies",          \
      "timings of 4 formats, 16 to 128 rows and 4 sizes, H200")                                                        \
    X(packed_tile_rows, 50, "the same per 8 elements of a row that a block puts into the order of the weights",        \
      "the same timings")                                                                                              \
    X(packed_tile_warps, 9, "warps of an SM that keep its units busy with these weights", "the same timings")          \
    X(packed_start, 1800, "cycles of a block of packed weights and tensor cores besides those of other products",      \
      "the same")                                                                                                      \
    X(packed_mma_percent, 60, "percent of the tensor cores' rate that mma.sync reaches beside packed weights",         \
      "estimated, not measured; architectures without wgmma: 85, estimated, not measured")                             \
    X(packed_warps, 28, "warps of an SM that keep its units busy with packed weights", "14 to 28 warps, 8 formats")    \
    X(scale_instructions, 4, "instructions per scale of a thread and 128 products",                                    \
      "address, bound, load, product; estimated, not measured")                                                        \
    X(product_exchange, 3900, "cycles of an exchange of sums between blocks, besides moving them",                     \
      "2,149 timings of 180 products, H100")                                                                           \
    X(product_cluster, 3600, "cycles of an exchange of sums in a cluster, besides sending them",                       \
      "70 timings of 7 products, H100: 0.8 us less than through memory")                                               \
    X(product_large_cluster, 5000, "cycles that clusters of more than two blocks take longer",                         \
      "16 x 4096 x 14336, the same tiles and splits: 50.4 us with 4 blocks, 44.8 us with 2, H100")                     \
    X(product_cluster_sms, 132, "SMs for which these cycles hold; they are in proportion to the SMs",                  \
      "the timed GPU; the proportion is estimated, not measured")                                                      \
    X(product_cluster_rate, 16, "bytes per cycle that an SM sends to others of its cluster",                           \
      "estimated, not measured: 3.3 TB/s of all SMs (arXiv 2402.13499)")                                               \
    X(trigger_blocks, 0,                                                                                               \
      "blocks per SM of a grid that lets a product with early loads start before it has completed, at most; 0: none",  \
      "not measured on a GPU")                                                                                         \
    X(product_multicast, 2,                                                                                            \
      "percent by which a step of a product with multicast is slower, apart from its reads of the L2; below 0: only "  \
      "tuning uses it",                                                                                                \
      "8192^3, 4096^3, 2048 x 14336 x 4096, 1024 x 4096 x 4096: -0.6 to 0.7, H100")                                    \
    X(product_pairs, 400,                                                                                              \
      "cycles in which the blocks of a cluster with multicast wait for each other to start and end",                   \
      "estimated; 20 small products, H100: 0.94 to 1.10 of the time without")                                          \
    X(product_turn_epilogue, 160,                                                                                      \
      "percent of the cycles of an epilogue in which four warps run it while others multiply", "the same timings")     \
    X(product_received, 60, "percent of the time of a read of the L2 in which an SM receives as much by multicast",    \
      "4016 x 1032 x 6152, 3840 x 1712 x 5480, H100: 3.0 to 3.7 cycles per row of 128 bytes")                          \
    X(product_lines, 60, "percent more time of the L2 for tiles whose rows are no multiple of 128 bytes apart",        \
      "904 x 5632 x 7504, H100: 3.3 to 3.8 cycles per row of 128 bytes, 2.1 if aligned")                               \
    X(product_sectors, 130, "the same, if they are no multiple of 32 bytes apart",                                     \
      "4016 x 1032 x 6152, H100: 4.7 to 5.7 cycles per row of 128 bytes, 2.1 if aligned")                              \
    X(cluster_sms_percent, 91, "percent of the SMs on which clusters of more than two blocks run at once",             \
      "an H100 with 132 SMs runs 30 clusters of 4 blocks, of one block per SM")                                        \
    X(product_streams, 2, "percent by which a block more per SM slows the memory down",                                \
      "2,149 timings of 180 products, H100")                                                                           \
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
    bool ptx;             /* compiled to PTX, which the driver of this or of a later architecture compiles on */
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
    int cublas_bytes;        /* workspace that cuBLAS recommends */
    ind_thresholds thresholds;
} ind_target;
void ind__target_defaults(ind_target *t);
/* Sets zero rates of memory and arithmetic to those of the known device of the same sm with the nearest rate of memory.
 */
void ind__target_rates(ind_target *t, int memory_bytes_per_ns);
/* Replaces the thresholds that `figures` has: those that are not 0. */
void ind__target_figures(ind_target *t, const ind_thresholds *figures);
/* Fills the zero figures of a fusion policy with the target's. */
void ind__target_fusion(const ind_target *t, ind_fusion_policy *p);
/* Parses an architecture ("sm_90a"), a device ("L4"), or PTX ("compute_80") for the smallest device of any architecture
   from sm_80 on. Error: IND_ERROR_INVALID_ARGUMENT names what is allowed. */
ind_status ind__target_parse(ind_context *c, const char *arch, ind_target *t);
void ind__target_name(const ind_target *t, char out[16]); /* as in NVRTC's --gpu-architecture: "sm_90a", "compute_80" */
