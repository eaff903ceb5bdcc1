/* ------------------------------------------------------------------------------------------------- >>check */

/* Turns a CUresult into a status with the driver's error text. */
static ind_status rt__cuda_check(ind_context *c, const rt__cuda_driver *d, int result, const char *call) {
    if (!result) return IND_OK;
    const char *name = NULL, *text = NULL;
    if (d->cuGetErrorName(result, &name) || !name) name = "unknown error";
    if (d->cuGetErrorString(result, &text) || !text) text = "the driver has no description";
    return ind__fail(
        c, result == IND__CUDA_ERROR_OUT_OF_MEMORY_ ? IND_ERROR_OUT_OF_MEMORY : IND_ERROR_DEVICE,
        "cuda: %s: %s (%d: %s)%s", call, name, result, text,
        rt__cuda_is_sticky(result) ? "; every later CUDA call of this process will fail: restart the process" : "");
}
#define IND__CUDA_CALL(c, r, name, args) rt__cuda_check((c), &(r)->driver, (r)->driver.name args, #name)

/* Public calls run between enter and leave, which restore the caller's current context. */
static ind_status rt__cuda_enter(ind_context *c, rt__runtime *r) {
    return IND__CUDA_CALL(c, r, cuCtxPushCurrent_v2, (r->gpu.context));
}

static void rt__cuda_leave(rt__runtime *r) {
    void *previous;
    (void)r->driver.cuCtxPopCurrent_v2(&previous);
}

static ind_status rt__cuda_pick_device(ind_context *c, rt__runtime *r) {
    int count = 0, result = r->driver.cuInit(0);
    if (!result) result = r->driver.cuDeviceGetCount(&count);
    if (result) {
        const char *text = NULL;
        if (r->driver.cuGetErrorString(result, &text) || !text) text = "unknown error";
        return ind__fail(c, IND_ERROR_DEVICE, "cuda: no usable device: %s (error %d); IND_DEVICE_HOST runs without one",
                         text, result);
    }
    (void)r->driver.cuDriverGetVersion(&r->driver.version);
    if (c->desc.cuda.context) {
        r->gpu.context = c->desc.cuda.context;
        ind_status status = rt__cuda_enter(c, r);
        if (status) return status;
        status = IND__CUDA_CALL(c, r, cuCtxGetDevice, (&r->gpu.ordinal));
        rt__cuda_leave(r);
        return status;
    }
    int ordinal = c->desc.cuda.ordinal;
    if (ordinal < 0 || ordinal >= count)
        return ind__fail(c, IND_ERROR_DEVICE,
                         "cuda: device %d asked for, there are %d; IND_DEVICE_HOST runs without one", ordinal, count);
    return IND__CUDA_CALL(c, r, cuDeviceGet, (&r->gpu.ordinal, ordinal));
}

/* Sets the rates of the target to those of the known device with the nearest rate of memory: clock in kHz times the
   bytes of the bus, twice. A driver may not tell them. */
static void rt__cuda_query_rates(const rt__runtime *r, ind_target *t) {
    int khz = 0, bits = 0;
    if (r->driver.cuDeviceGetAttribute(&khz, IND__CUDA_ATTRIBUTE_MEMORY_KHZ, r->gpu.ordinal) ||
        r->driver.cuDeviceGetAttribute(&bits, IND__CUDA_ATTRIBUTE_BUS_BITS, r->gpu.ordinal) || khz <= 0 || bits <= 0)
        return;
    const double rate = 2.0 * khz * bits / 8 / 1e6;
    ind__target_rates(t, rate < INT32_MAX ? (int)rate : INT32_MAX);
}

static ind_status rt__cuda_query_target(ind_context *c, rt__runtime *r) {
    int major = 0, minor = 0;
    ind_target *t = &r->gpu.target;
    const struct {
        int attribute, *value;
    } query[] = {{IND__CUDA_ATTRIBUTE_MAJOR, &major},
                 {IND__CUDA_ATTRIBUTE_MINOR, &minor},
                 {IND__CUDA_ATTRIBUTE_NUM_SMS, &t->num_sms},
                 {IND__CUDA_ATTRIBUTE_SHARED_PER_BLOCK, &t->shared_per_block},
                 {IND__CUDA_ATTRIBUTE_SHARED_PER_SM, &t->shared_per_sm},
                 {IND__CUDA_ATTRIBUTE_L2_BYTES, &t->l2_bytes}};
    for (size_t i = 0; i < sizeof query / sizeof *query; i++) {
        ind_status status =
            IND__CUDA_CALL(c, r, cuDeviceGetAttribute, (query[i].value, query[i].attribute, r->gpu.ordinal));
        if (status) return status;
    }
    int clusters = 0; /* stays 0 if an older driver does not know the attribute */
    bool able =
        !r->driver.cuDeviceGetAttribute(&clusters, IND__CUDA_ATTRIBUTE_CLUSTER_LAUNCH, r->gpu.ordinal) && clusters;
    t->sm = major * 10 + minor;
    t->specific = t->sm >= 90;
    if (!able || !r->driver.cuOccupancyMaxActiveClusters) t->max_cluster = 1;
    rt__cuda_query_rates(r, t);
    ind__target_defaults(t);
    while (t->max_cluster > 1 && t->max_cluster * 8 > t->num_sms) t->max_cluster /= 2; /* fewer SMs on a MIG slice */
    if (t->sm < 80)
        return ind__fail(c, IND_ERROR_NOT_SUPPORTED,
                         "cuda: %s is sm_%d, sm_80 or later is needed; IND_DEVICE_HOST runs "
                         "without it",
                         r->gpu.name, t->sm);
    return IND_OK;
}
