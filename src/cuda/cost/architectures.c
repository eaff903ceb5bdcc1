/* ------------------------------------------------------------------------------------------- >>architectures */

/* Limits per SM and per block (CUDA C++ Programming Guide, "Compute Capabilities", table of technical specifications).
   Clusters of 16 blocks need the non-portable size, which launches request. */
typedef struct cg__architecture {
    int sm;
    bool specific; /* has an "a" form with architecture-specific instructions */
    int sm_registers, sm_threads, shared_per_sm, shared_per_block, block_shared, l1_bytes, max_cluster;
    bool tensor_memory; /* its "a" form has tcgen05.mma (PTX ISA) */
    int mma_percent;    /* packed_mma_percent of thresholds: estimated, not measured */
    int cublas_mib;     /* workspace of cuBLAS: its manual, cublasSetWorkspace, "Default Workspace" */
    const char *device; /* default device of the architecture: a row of cg__devices */
} cg__architecture;

static const cg__architecture cg__architectures[] = {
    {80, false, 65536, 2048, 167936, 166912, 1024, 192 << 10, 1, false, 85, 4, "A100"},
    {86, false, 65536, 1536, 102400, 101376, 1024, 128 << 10, 1, false, 85, 4, "RTX A6000"},
    {87, false, 65536, 1536, 167936, 166912, 1024, 192 << 10, 1, false, 85, 4, "Jetson AGX Orin"},
    {89, false, 65536, 1536, 102400, 101376, 1024, 128 << 10, 1, false, 85, 4, "L40S"},
    {90, true, 65536, 2048, 233472, 232448, 1024, 256 << 10, 16, false, 60, 32, "H200"},
    {100, true, 65536, 2048, 233472, 232448, 1024, 256 << 10, 16, true, 60, 32, "B200"},
    {103, true, 65536, 2048, 233472, 232448, 1024, 256 << 10, 16, true, 60, 32, "B300"},
    {120, true, 65536, 1536, 102400, 101376, 1024, 128 << 10, 8, false, 85, 12, "RTX 5090"},
};

/* The row of the compute capability, or the closest lower one. */
static const cg__architecture *cg__architecture_of(int sm) {
    const cg__architecture *found = cg__architectures;
    for (size_t i = 0; i < sizeof cg__architectures / sizeof *cg__architectures; i++)
        if (cg__architectures[i].sm <= sm) found = &cg__architectures[i];
    return found;
}

/* True if the target has tensor memory and tcgen05 instructions. */
static bool cg__has_tensor_memory(const ind_target *t) {
    return t->specific && cg__architecture_of(t->sm)->tensor_memory;
}
