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
    cg__device_defaults(t, cg__device_named(a->device));
    cg__threshold_defaults(&t->thresholds);
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
