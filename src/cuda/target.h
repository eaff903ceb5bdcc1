/* ------------------------------------------------------------------------------------------------ >>target */

/* Thresholds of the code generator: field, value, what it is, source. All were measured on an H200, or follow from its
   data sheet. No other device was measured: the values are the same for all targets. */
#define IND_THRESHOLDS(X)                                                                                              \
    X(flight_bytes, 32, "bytes that a thread should have in flight",                                                   \
      "three times rate / SMs x latency (4275 B/ns, 132, 700 ns), over 2048 threads; sums, norms, softmax of short "   \
      "rows")                                                                                                          \
    X(lane_registers, 32, "registers of a lane for its part of a short row",                                           \
      "half of all threads resident; sums, norms, softmax of short rows")                                              \
    X(edge_rounds, 4, "iterations in which the lanes of a misaligned row take its edges", "rows of 3 to 1024")         \
    X(kept_registers, 64, "registers of a thread for its part of a row", "1024 threads of 64 registers fill an SM")    \
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
    X(joined_vectors, 64, "vectors of a row from which on misaligned loads are combined from two aligned vectors",     \
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
    X(sort_run, 4, "contiguous elements that a thread scans in a kernel that sorts", "topk with cumsum")

/* 0: the value of the table. */
typedef struct ind_thresholds {
#define X(field, value, meaning, source) int field;
    IND_THRESHOLDS(X)
#undef X
} ind_thresholds;

/* What the code is made for. Zero fields are filled with the values of an H200 by ind__target_defaults. */
typedef struct ind_target {
    int sm;               /* compute capability times 10: 80, 90, 100 */
    bool specific;        /* architecture-specific features (sm_90a) may be used */
    int num_sms;          /* multiprocessors */
    int shared_per_block; /* bytes that one block may have (opt-in limit) */
    int shared_per_sm;
    int l2_bytes;             /* cache that all multiprocessors share */
    int max_cluster;          /* blocks that can see each other's shared memory; 1: no clusters */
    int registers_per_thread; /* 255 */
    /* What the predicted times are made of: rates of the vendor's data sheet, and what a kernel takes at the least.
       Copies reach 0.89 of the memory's rate (4275 of the 4800 GB/s of an H200, measured), so that is counted on. */
    int memory_bytes_per_ns;
    int f32_flops_per_ns;
    int tensor_flops_per_ns; /* f16 and bf16 products without sparsity */
    int launch_ns;           /* 1000 */
    int sm_registers;        /* 32-bit registers of a multiprocessor */
    int sm_threads;          /* resident threads of a multiprocessor, at most */
    int block_shared;        /* bytes of shared memory that CUDA takes for itself for each block */
    ind_thresholds thresholds;
} ind_target;
void ind__target_defaults(ind_target *t);
/* An architecture ("sm_90a") or a device ("L4") -> target. Error: IND_INVALID_ARGUMENT names what is allowed. */
ind_status ind__target_parse(ind_context *c, const char *arch, ind_target *t);
void ind__target_name(const ind_target *t, char out[16]); /* "sm_90a": as NVRTC's --gpu-architecture wants it */
