/* ---- the primary context: the device is queried before the context exists, and kernels compile without it. So the
   driver creates it while kernels compile (100 ms of 230 on an H200) */

static IND__RT_THREAD_CALL rt__cuda_retain(void *arg) {
    rt__runtime *r = (rt__runtime *)arg;
    r->gpu.retained = r->driver.cuDevicePrimaryCtxRetain(&r->gpu.context, r->gpu.ordinal);
    return IND__RT_THREAD_END;
}

static void rt__cuda_join_retainer(rt__runtime *r) {
    if (!r->gpu.retaining) return;
    const double start = ind__now_ms();
    rt__thread_join(r->gpu.retainer);
    r->gpu.retaining = false;
    r->gpu.primary = !r->gpu.retained;
    if (!r->gpu.primary) r->gpu.context = NULL;
    r->gpu.device_ms += ind__now_ms() - start;
}

static void rt__cuda_release_device(rt__runtime *r) {
    rt__cuda_join_retainer(r);
    if (r->gpu.primary) (void)r->driver.cuDevicePrimaryCtxRelease_v2(r->gpu.ordinal);
    r->gpu.primary = r->gpu.open = false;
    r->gpu.context = NULL;
}

/* Waits for the driver context: on return it exists, or the device is closed. */
static ind_status rt__cuda_retained(ind_context *c, rt__runtime *r) {
    rt__cuda_join_retainer(r);
    if (!r->gpu.retained) return IND_OK;
    const ind_status status = rt__cuda_check(c, &r->driver, r->gpu.retained, "cuDevicePrimaryCtxRetain");
    rt__cuda_release_device(r);
    r->gpu.retained = 0;
    return status;
}

void ind__device_settle(ind_context *c) {
    ind__lists_lock(c);
    rt__runtime *r = (rt__runtime *)c->root->runtime;
    ind__lists_unlock(c);
    if (!r) return;
    rt__mutex_lock(&r->mutex);
    rt__cuda_join_retainer(r);
    rt__mutex_unlock(&r->mutex);
}

/* Starts creating the driver context, unless the user has given one. */
static ind_status rt__cuda_begin_retaining(ind_context *c, rt__runtime *r) {
    if (r->gpu.context) return IND_OK;
    r->gpu.retaining = r->pool.wanted > 0 && rt__thread_start(&r->gpu.retainer, rt__cuda_retain, r);
    if (r->gpu.retaining) return IND_OK;
    (void)rt__cuda_retain(r);
    r->gpu.primary = !r->gpu.retained;
    return rt__cuda_check(c, &r->driver, r->gpu.retained, "cuDevicePrimaryCtxRetain");
}

/* Opens the driver and queries the device. Code that needs the driver context calls rt__cuda_retained first. */
static ind_status rt__cuda_open_device(ind_context *c, rt__runtime *r) {
    if (r->gpu.open) return IND_OK;
    const double start = ind__now_ms();
    ind_status status = rt__cuda_open_driver(c, r);
    if (!status) status = rt__cuda_pick_device(c, r);
    if (!status) status = IND__CUDA_CALL(c, r, cuDeviceGetName, (r->gpu.name, (int)sizeof r->gpu.name, r->gpu.ordinal));
    if (!status) status = rt__cuda_query_target(c, r);
    if (!status) status = rt__cuda_begin_retaining(c, r);
    if (status)
        rt__cuda_release_device(r);
    else
        r->gpu.open = true;
    r->gpu.device_ms = ind__now_ms() - start;
    return status;
}

/* True if NVRTC is already loaded in the process. */
static bool rt__cuda_nvrtc_is_open(const ind_context *c) {
    if (c->desc.cuda.nvrtc_path) return rt__library_is_open(c->desc.cuda.nvrtc_path);
    for (int i = 0; rt__nvrtc_names[i]; i++)
        if (rt__library_is_open(rt__nvrtc_names[i])) return true;
    return false;
}

/* NVRTC, opened by a separate thread. */
typedef struct rt__cuda_warm_up_state {
    const char *given;    /* path given by the user, or NULL */
    rt__cuda_nvrtc nvrtc; /* library NULL: not found */
} rt__cuda_warm_up_state;

/* Compiles an empty kernel, so that NVRTC initialises itself before the first kernel of a process. Failures are
   ignored. */
static IND__RT_THREAD_CALL rt__cuda_warm_up(void *arg) {
    static const char source[] = "extern \"C\" __global__ void ind_warm() {}\n";
    static const char *const options[] = {"--gpu-architecture=sm_80"};
    rt__cuda_warm_up_state *w = (rt__cuda_warm_up_state *)arg;
    rt__cuda_nvrtc *n = &w->nvrtc;
    void *program = NULL;
    n->library = rt__cuda_find_library(w->given, rt__nvrtc_names, NULL, n->path, sizeof n->path);
    if (!n->library || rt__cuda_load_nvrtc(n->library, n)) return IND__RT_THREAD_END;
    if (!n->nvrtcCreateProgram(&program, source, "ind_warm", 0, NULL, NULL)) {
        (void)n->nvrtcCompileProgram(program, 1, options);
        (void)n->nvrtcDestroyProgram(&program);
    }
    return IND__RT_THREAD_END;
}

/* Opens driver and NVRTC concurrently, if a second thread is allowed. The driver takes 200 ms to create its context.
   NVRTC takes 6 ms to open, and the first kernel of a process takes about 40 ms longer than later ones. */
static ind_status rt__cuda_open_both(ind_context *c, rt__runtime *r) {
    const bool fresh = !r->nvrtc.library && !rt__cuda_nvrtc_is_open(c);
    rt__cuda_warm_up_state w = {.given = c->desc.cuda.nvrtc_path};
    rt__thread thread;
    double start = ind__now_ms();
    ind_status status = rt__cuda_open_driver(c, r);
    const double driver_ms = ind__now_ms() - start;
    if (status) return status;
    const bool warming = fresh && r->pool.wanted > 0 && rt__thread_start(&thread, rt__cuda_warm_up, &w);
    status = rt__cuda_open_device(c, r);
    r->gpu.device_ms += driver_ms;
    start = ind__now_ms();
    if (warming) rt__thread_join(thread);
    const double waited_ms = ind__now_ms() - start;
    if (!status) status = rt__cuda_open_nvrtc(c, r);
    r->gpu.library_ms += waited_ms;
    return status; /* the library that the thread opened stays open: see rt__runtime_destroy */
}

/* The pack that the context reads. NULL: none. */
static const char *rt__pack_path(const ind_context *c) {
    return c->desc.cuda.source_folder ? NULL : c->desc.pack.path;
}

/* Opens the GPU and a source of kernels: NVRTC or a pack. A GPU without either is unusable. */
static ind_status rt__cuda_open_all(ind_context *c, rt__runtime *r) {
    if (!r->gpu.open && !rt__pack_path(c)) return rt__cuda_open_both(c, r);
    ind_status status = rt__cuda_open_device(c, r);
    return status || rt__pack_path(c) ? status : rt__cuda_open_nvrtc(c, r);
}

static ind_status rt__pack_read(ind_context *c, rt__runtime *r);
static const ind_target *rt__planned_target(const rt__runtime *r, const ind_target *device);

/* Like ind__device_resolve, with the runtime's mutex locked. `ready`: also waits for the driver context. */
static ind_status rt__device_resolve(ind_context *c, rt__runtime *r, ind_device wanted, bool ready, ind_device *device,
                                     ind_target *target) {
    *device = IND_DEVICE_HOST;
    ind_status status = rt__cuda_open_all(c, r);
    if (!status && (ready || wanted == IND_DEVICE_AUTO))
        status = rt__cuda_retained(c, r); /* on failure AUTO selects the host */
    if (!status && target) status = rt__pack_read(c, r);
    if (!status && target) *target = *rt__planned_target(r, &r->gpu.target);
    r->why_not.size = 0;
    if (!status) {
        *device = IND_DEVICE_CUDA;
        return IND_OK;
    }
    ind__textf(&r->why_not, "%s", ind_error(c));
    if (wanted == IND_DEVICE_CUDA || status == IND_ERROR_OUT_OF_MEMORY) return status;
    ind__log(c, 2, IND_LOG_DEVICE, "the host device is used: %s", r->why_not.data ? r->why_not.data : "");
    return IND_OK;
}

static ind_status rt__device_open(ind_context *c, ind_device wanted, bool ready, ind_device *device,
                                  ind_target *target) {
    if (wanted == IND_DEVICE_AUTO) wanted = c->desc.device;
    *device = IND_DEVICE_HOST;
    if (wanted == IND_DEVICE_HOST) return IND_OK;
    if (wanted != IND_DEVICE_AUTO && wanted != IND_DEVICE_CUDA)
        return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "device %d is none of auto, host, cuda", (int)wanted);
    rt__runtime *r = rt__runtime_of(c);
    if (!r) return IND_ERROR_OUT_OF_MEMORY;
    rt__mutex_lock(&r->mutex);
    ind_status status = rt__device_resolve(c, r, wanted, ready, device, target);
    rt__mutex_unlock(&r->mutex);
    return status;
}

ind_status ind__device_resolve(ind_context *c, ind_device wanted, ind_device *device, ind_target *target) {
    return rt__device_open(c, wanted, false, device, target);
}

ind_status ind_device_open(ind_context *c, ind_device device) {
    if (!c) return IND_ERROR_INVALID_ARGUMENT;
    ind_device got;
    return rt__device_open(c, device, true, &got, NULL);
}

static void rt__print_cuda_device(ind__text *t, const ind_context *c, const rt__runtime *r) {
    char arch[16];
    ind__target_name(&r->gpu.target, arch);
    ind__textf(t, "cuda: %s, %s, driver %d.%d", r->gpu.name, arch, r->driver.version / 1000,
               r->driver.version % 1000 / 10);
    if (r->nvrtc.library)
        ind__textf(t, ", NVRTC %d.%d from %s", r->nvrtc.version / 100, r->nvrtc.version % 100, r->nvrtc.path);
    else
        ind__textf(t, ", kernels from %s", rt__pack_path(c));
}

static void rt__print_host_device(ind__text *t, const rt__runtime *r) {
    const char *why = r->why_not.size ? r->why_not.data : "asked for";
    size_t skip = !strncmp(why, "cuda: ", 6) ? 6 : 0; /* without the prefix */
    const char *end = strstr(why, "; IND_DEVICE_HOST");
    ind__textf(t, "host (%.*s)", (int)(end ? (size_t)(end - why) - skip : strlen(why) - skip), why + skip);
}

static void rt__print_device(ind__text *t, ind_context *c, rt__runtime *r) {
    ind_device device = IND_DEVICE_HOST, wanted = c->desc.device;
    ind_status status = wanted == IND_DEVICE_HOST ? IND_OK : rt__device_resolve(c, r, wanted, true, &device, NULL);
    if (status)
        ind__textf(t, "none (%s)", ind_error(c));
    else if (device == IND_DEVICE_HOST)
        rt__print_host_device(t, r);
    else
        rt__print_cuda_device(t, c, r);
}

/* A returned text never changes, as another thread may read it. A different text is a new string. */
const char *ind_device_text(ind_context *c) {
    if (!c) return "no context";
    rt__runtime *r = rt__runtime_of(c);
    if (!r) return "host";
    ind__text t = {.context = c};
    rt__mutex_lock(&r->mutex);
    rt__print_device(&t, c, r);
    if (!t.failed && t.data && (!r->text || strcmp(r->text, t.data) != 0)) {
        ind__lists_lock(c);
        r->text = ind__arena_string(&c->root->names, t.data, t.size);
        ind__lists_unlock(c);
    }
    const char *text = r->text;
    rt__mutex_unlock(&r->mutex);
    ind__text_free(&t);
    return text ? text : "host";
}
