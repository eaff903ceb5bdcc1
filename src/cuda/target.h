/* ------------------------------------------------------------------------------------------------ >>target */

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
} ind_target;
void ind__target_defaults(ind_target *t);
/* "sm_90a" -> target. Error: IND_INVALID_ARGUMENT names what is allowed (sm_80, sm_86, sm_90a, sm_100, ...). */
ind_status ind__target_parse(ind_context *c, const char *arch, ind_target *t);
void ind__target_name(const ind_target *t, char out[16]); /* "sm_90a": as NVRTC's --gpu-architecture wants it */
