/* --------------------------------------------------------------------------------------------------- >>arch */

/* Shared memory in bytes per block (opt-in) and per multiprocessor (CUDA C Programming Guide, table of technical
   specifications), blocks of a cluster (8 everywhere; more if the device is asked for it); number of multiprocessors of
   the common board, its L2, and its rates as NVIDIA's data sheets state them:
   GB/s of memory (bytes a nanosecond), GFLOP/s of f32 and, without sparsity, of bf16 tensor cores summing in f32. */
static const struct {
    int sm;
    bool specific; /* has an "a" form */
    int num_sms, shared_per_block, shared_per_sm, l2_bytes, max_cluster;
    int memory_bytes_per_ns, f32_flops_per_ns, tensor_flops_per_ns;
} cg__archs[] = {
    {80, false, 108, 166912, 167936, 40 << 20, 1, 2039, 19500, 312000},    /* A100 80 GB SXM */
    {86, false, 84, 101376, 102400, 6 << 20, 1, 768, 38700, 154800},       /* RTX A6000 */
    {87, false, 16, 166912, 167936, 4 << 20, 1, 204, 5300, 42500},         /* Jetson AGX Orin */
    {89, false, 142, 101376, 102400, 96 << 20, 1, 864, 91600, 362000},     /* L40S */
    {90, true, 132, 232448, 233472, 50 << 20, 16, 4800, 67000, 989000},    /* H200 SXM */
    {100, true, 148, 232448, 233472, 126 << 20, 16, 8000, 75000, 2250000}, /* B200 */
    {103, true, 148, 232448, 233472, 126 << 20, 16, 8000, 75000, 2250000}, /* B300 */
    {120, true, 170, 101376, 102400, 96 << 20, 8, 1792, 104800, 209500},   /* RTX 5090 */
};
#define IND__CG_NUM_ARCHS (sizeof cg__archs / sizeof cg__archs[0])

void ind__target_defaults(ind_target *t) {
    if (!t->sm) {
        t->sm = 90;
        t->specific = true;
    }
    size_t a = 0;
    for (size_t i = 0; i < IND__CG_NUM_ARCHS; i++)
        if (cg__archs[i].sm <= t->sm) a = i;
    if (!t->num_sms) t->num_sms = cg__archs[a].num_sms;
    if (!t->shared_per_block) t->shared_per_block = cg__archs[a].shared_per_block;
    if (!t->shared_per_sm) t->shared_per_sm = cg__archs[a].shared_per_sm;
    if (!t->l2_bytes) t->l2_bytes = cg__archs[a].l2_bytes;
    if (!t->max_cluster) t->max_cluster = cg__archs[a].max_cluster;
    if (!t->registers_per_thread) t->registers_per_thread = 255;
    if (!t->memory_bytes_per_ns) t->memory_bytes_per_ns = cg__archs[a].memory_bytes_per_ns;
    if (!t->f32_flops_per_ns) t->f32_flops_per_ns = cg__archs[a].f32_flops_per_ns;
    if (!t->tensor_flops_per_ns) t->tensor_flops_per_ns = cg__archs[a].tensor_flops_per_ns;
    if (!t->launch_ns) t->launch_ns = 1000;
}

void ind__target_name(const ind_target *t, char out[16]) {
    snprintf(out, 16, "sm_%d%s", t->sm % 10000, t->specific ? "a" : "");
}

ind_status ind__target_parse(ind_context *c, const char *arch, ind_target *t) {
    for (size_t i = 0; arch && t && i < IND__CG_NUM_ARCHS; i++)
        for (int specific = 0; specific <= cg__archs[i].specific; specific++) {
            ind_target one = {.sm = cg__archs[i].sm, .specific = specific};
            char name[16];
            ind__target_name(&one, name);
            if (strcmp(name, arch)) continue;
            ind__target_defaults(&one);
            *t = one;
            return IND_OK;
        }
    return ind__fail(c, IND_INVALID_ARGUMENT,
                     "unknown architecture \"%s\": allowed are sm_80, sm_86, sm_87, sm_89, sm_90, "
                     "sm_90a, sm_100, sm_100a, sm_103, sm_103a, sm_120 and sm_120a",
                     arch ? arch : "");
}
