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

void ind__target_figures(ind_target *t, const ind_thresholds *figures) {
#define X(field, value, meaning, source)                                                                               \
    if (figures->field) t->thresholds.field = figures->field;
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

/* A device of the same architecture; NULL: there is none. Of several, the one with the nearest rate of memory. */
static const cg__device *cg__device_like(int sm, int memory_bytes_per_ns) {
    const cg__device *found = NULL;
    double least = 0;
    for (size_t i = 0; i < sizeof cg__devices / sizeof *cg__devices; i++) {
        const cg__device *d = &cg__devices[i];
        const double apart = fabs((double)d->memory_bytes_per_ns - memory_bytes_per_ns);
        if (d->sm != sm || (found && apart >= least)) continue;
        found = d;
        least = apart;
    }
    return found;
}

void ind__target_rates(ind_target *t, int memory_bytes_per_ns) {
    const cg__device *d = cg__device_like(t->sm, memory_bytes_per_ns);
    if (d && memory_bytes_per_ns > 0) cg__device_defaults(t, d);
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
    cg__set_default(&t->cublas_bytes, a->cublas_mib << 20);
    cg__device_defaults(t, cg__device_named(a->device));
    cg__set_default(&t->thresholds.packed_mma_percent, a->mma_percent);
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

/* The figure quantised_rows of a target. (wgmma, q4_0 14336 x 4096, H200: 128 rows 40 us, with a separate kernel 79;
   512 rows 156 us, estimated with a separate kernel 130.) */
static int cg__quantised_rows(const ind_target *t) {
    return t->specific && t->sm == 90 ? 256 : 64;
}

/* The figure narrow_sums of a target (PTX ISA, red: f16 from sm_70 on, bf16 from sm_90 on). */
static int cg__narrow_sums(const ind_target *t) {
    return t->sm >= 90 ? 3 : t->sm >= 70 ? 2 : 1;
}

void ind__target_fusion(const ind_target *t, ind_fusion_policy *p) {
    if (p->row_blocks <= 0) p->row_blocks = t->max_cluster;
    if (p->narrow_sums <= 0) p->narrow_sums = cg__narrow_sums(t);
    if (p->quantised_rows <= 0) p->quantised_rows = cg__quantised_rows(t);
    if (p->attention <= 0) p->attention = t->sm >= 80 ? 3 : 1;
#define X(type, field, value, scale, meaning, source)                                                                  \
    if (p->field <= 0) p->field = (type)cg__scaled(t, value, IND__CG_SCALE_##scale);
    IND_FUSION_FIGURES(X)
#undef X
}

void ind__target_name(const ind_target *t, char out[16]) {
    snprintf(out, 16, "%s%d%s", t->ptx ? "compute_" : "sm_", t->sm % 10000, t->specific ? "a" : "");
}

/* PTX for devices of its architecture and of all later ones: with the least memory per block and SM of these, no
   clusters, and the SMs of a small device. */
static ind_target cg__ptx_target(const cg__architecture *a) {
    const cg__architecture *end = cg__architectures + sizeof cg__architectures / sizeof *cg__architectures;
    ind_target t = {.sm = a->sm,
                    .ptx = true,
                    .num_sms = 16,
                    .shared_per_block = a->shared_per_block,
                    .shared_per_sm = a->shared_per_sm,
                    .sm_threads = a->sm_threads,
                    .max_cluster = 1};
    for (const cg__architecture *later = a; later < end; later++) {
        if (later->shared_per_block < t.shared_per_block) t.shared_per_block = later->shared_per_block;
        if (later->shared_per_sm < t.shared_per_sm) t.shared_per_sm = later->shared_per_sm;
        if (later->sm_threads < t.sm_threads) t.sm_threads = later->sm_threads;
    }
    ind__target_defaults(&t);
    return t;
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
    for (size_t i = 0; i < archs; i++) ind__textf(t, "compute_%d, ", cg__architectures[i].sm);
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
    for (size_t i = 0; arch && t && i < sizeof cg__architectures / sizeof *cg__architectures; i++) {
        const ind_target one = cg__ptx_target(&cg__architectures[i]);
        char name[16];
        ind__target_name(&one, name);
        if (strcmp(name, arch)) continue;
        *t = one;
        return IND_OK;
    }
    ind__text names = {.context = c};
    cg__target_names(&names);
    ind_status status = ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "unknown target \"%s\": allowed are %s",
                                  arch ? arch : "", names.data && !names.failed ? names.data : "sm_80 and above");
    ind__text_free(&names);
    return status;
}
