/* ---------------------------------------------------------------------------------------------- >>instance */

#define IND__STEP_SKIPPED 0xff

/* One parallel worker of the host device. Its memory fits the module's largest kernel. */
typedef struct rt__host_worker {
    ind__eval eval;
    ind_status status;
    void *block;
    struct rt__host_accumulator *accumulator; /* max_reduces entries */
    void *panel_a, *panel_b, *tile;           /* matmul */
    unsigned char *eval_memory;
    struct rt__host_sorted *row; /* for a sort; capacity: the longest row so far */
    int64_t row_capacity;
} rt__host_worker;

typedef struct rt__captured {
    bool valid, own; /* own: reads prepared constants of the instance */
    void **constant; /* own: the constants that the launch bound; NULL: the one of the module */
    void *graph, *executable;
    void **pointer; /* host: arguments of the launches of a replay */
    int64_t *size;
    int num; /* host: these launches */
} rt__captured;

#define IND__RT_LOOKBACKS 48 /* number of blocks; their sizes at least double, from 4 KiB */

/* Address range that a run reads or writes through a binding. */
typedef struct rt__range {
    uint64_t from, to; /* equal: empty */
    uint32_t binding;  /* num_bindings: the workspace */
    bool written;
} rt__range;

struct ind_instance {
    ind_instance *prev, *next; /* list of the module's instances; ind_run's instance is in no list */
    ind_module *module;
    void *arrays; /* one allocation for all arrays of rt__instance_arrays */
    char error[512];
    struct rt__instance_sizes {
        int64_t *value, *next; /* of the last launch; of the current call */
        int64_t *slot;         /* values of the module's program */
        int64_t *scratch;      /* values of the programs of the conditions */
        bool evaluated;
    } sizes;
    struct rt__instance_bindings {
        void **pointer, **next;  /* per binding: of the last launch; of the current call */
        struct rt__range *range; /* per binding, and one for a workspace given by the caller */
        uint64_t *address;       /* per buffer */
        bool bound;
    } bindings;
    struct rt__instance_workspace {
        void *memory, *block, *retired_block;
        size_t bytes;
        bool given;
    } workspace;
    struct rt__instance_launch {
        uint64_t *cell; /* argument values, one per exec_arg */
        void **param;   /* pointers to them, as the driver requires */
        rt__map_key *map_key;
        unsigned char *map; /* tensor maps, in map_memory */
        void *map_memory;
        uint8_t *chosen;
        unsigned *grid; /* IND__RT_LAUNCH per step */
        void *stream;   /* of the last launch */
        bool launched;
    } launch;
    struct rt__instance_errors {
        uint64_t *host; /* 4 words per step */
        void *device;
    } index_errors;
    void *counters, *counters_block; /* counters; then, 256-byte aligned, partial results of blocks that share rows */
    struct rt__instance_lookback {
        uint64_t words;                 /* address of words that kernels leave at 0, in the last block */
        void *block[IND__RT_LOOKBACKS]; /* each has at least twice the size of the previous one */
        int num_blocks;
        size_t bytes;
    } lookback;
    rt__captured captured;
    struct rt__instance_calls {
        ind_extern_tensor *tensor; /* operands of extern calls, and their sizes and strides */
        int64_t *dim;
    } calls;
    struct rt__instance_prepared {
        bool own;               /* the last launch has prepared constants of its own, from constants that it binds */
        bool current;           /* its memory holds the values of these constants */
        uint32_t version;       /* of the module's constants when they were bound */
        ind_instance *instance; /* of the prepare module; NULL: no launch has needed it */
        void **pointer, *data, *block; /* its bindings; memory of the values */
        void **given;                  /* constants of the last launch that had own values */
    } prepared;
    struct rt__instance_host { /* device host */
        ind__eval_buffer *buffer;
        rt__host_worker *worker;
        int num_workers;
    } host;
};

static ind_status rt__host_launch(ind_instance *n, uint32_t first, uint32_t count);
static ind_status rt__cuda_launch(ind_instance *n, uint32_t first, uint32_t count, void *stream);
static ind_status rt__host_instance(ind_instance *n);

/* Places arrays one after another in a block. base NULL: only counts the bytes. */
typedef struct rt__layout {
    char *base;
    size_t used;
} rt__layout;

static void rt__host_arrays(ind_instance *n, rt__layout *l);

/* Copies the message to the instance, so that other threads cannot overwrite it. */
static ind_status rt__instance_failed(ind_instance *n, ind_status status) {
    if (status) snprintf(n->error, sizeof n->error, "%.500s", ind_error(n->module->context));
    return status;
}

static void *rt__instance_array(ind_instance *n, size_t count, size_t item, bool *ok) {
    void *p = *ok ? ind__alloc(n->module->context, count * item) : NULL;
    *ok = *ok && p;
    return p;
}

static size_t rt__counter_bytes(const ind__executable *x) {
    return (x->launches.num_counters * sizeof(uint32_t) + 255) & ~(size_t)255;
}

static ind_status rt__instance_errors(ind_instance *n) {
    ind_module *m = n->module;
    ind__executable *x = m->executable;
    if (!x->launches.checked || m->desc.device != IND_DEVICE_CUDA) return IND_OK;
    void *block;
    size_t bytes = (size_t)x->launches.num_steps * 32;
    ind_status status = rt__device_alloc(m, bytes, &n->index_errors.device, &block);
    if (status) return status;
    status = IND__CUDA_CALL(m->context, x->runtime, cuMemsetD8Async, ((rt__cuda_ptr)(uintptr_t)block, 0, bytes, NULL));
    if (!status) status = IND__CUDA_CALL(m->context, x->runtime, cuStreamSynchronize, (NULL));
    return status;
}

/* Allocates the counters of blocks that share rows. Each launch finds the counters at 0 and leaves them at 0. Launches
   of an instance run in sequence, so one set is enough. */
static ind_status rt__instance_counters(ind_instance *n) {
    ind_module *m = n->module;
    ind__executable *x = m->executable;
    size_t bytes = rt__counter_bytes(x);
    if (!x->launches.num_counters) return IND_OK;
    ind_status status = rt__device_alloc(m, bytes + x->launches.partial_bytes, &n->counters, &n->counters_block);
    if (status) return status;
    rt__cuda_ptr at = (rt__cuda_ptr)(uintptr_t)n->counters;
    status = IND__CUDA_CALL(m->context, x->runtime, cuMemsetD8Async, (at, 0, bytes, NULL));
    if (!status) status = IND__CUDA_CALL(m->context, x->runtime, cuStreamSynchronize, (NULL));
    return status;
}

/* Grows the words through which the blocks of a scan exchange state (decoupled look-back). Each launch finds them at 0
   and leaves them at 0, so each instance needs its own. Blocks that became too small are not freed, as a captured graph
   may still use them. */
static ind_status rt__instance_lookback(ind_instance *n) {
    ind_module *m = n->module;
    ind__executable *x = m->executable;
    int64_t words = 0;
    for (uint32_t i = 0; x->launches.looks_back && i < x->launches.num_args; i++)
        if (x->launches.arg[i].kind == IND__ARG_LOOKBACK && n->sizes.slot[x->launches.arg[i].slot] > words)
            words = n->sizes.slot[x->launches.arg[i].slot];
    if ((uint64_t)words * 8 <= n->lookback.bytes) return IND_OK;
    size_t bytes = n->lookback.bytes ? n->lookback.bytes * 2 : 4096;
    while (bytes < (uint64_t)words * 8 && bytes < SIZE_MAX / 2) bytes *= 2;
    void *data, *block;
    ind_status status = rt__device_alloc(m, bytes, &data, &block);
    if (status) return status;
    rt__cuda_ptr at = (rt__cuda_ptr)(uintptr_t)data;
    status = IND__CUDA_CALL(m->context, x->runtime, cuMemsetD8Async, (at, 0, bytes, NULL));
    if (!status) status = IND__CUDA_CALL(m->context, x->runtime, cuStreamSynchronize, (NULL));
    if (status) return rt__device_free(m, block), status;
    n->lookback.block[n->lookback.num_blocks++] = block;
    n->lookback.words = (uintptr_t)data;
    n->lookback.bytes = bytes;
    n->bindings.bound = false;
    return IND_OK;
}

/* Sets the pointers to the arguments. */
static void rt__instance_params(ind_instance *n) {
    const ind__executable *x = n->module->executable;
    n->launch.map = (unsigned char *)n->launch.map_memory + (64 - ((uintptr_t)n->launch.map_memory & 63));
    for (uint32_t i = 0; i < x->launches.num_args; i++) {
        const bool map = x->launches.arg[i].kind == IND__ARG_TENSOR_MAP;
        n->launch.param[i] = map ? (void *)(n->launch.map + (size_t)x->launches.arg[i].slot * IND__RT_MAP_BYTES)
                                 : (void *)&n->launch.cell[i];
    }
}

/* Returns the place of the next array. */
static void *rt__place_array(rt__layout *l, size_t count, size_t item) {
    void *at = l->base ? l->base + l->used : NULL;
    l->used += (count * item + 15) & ~(size_t)15;
    return at;
}

static void rt__instance_arrays(ind_instance *n, rt__layout *l) {
    const ind_module *m = n->module;
    const ind__executable *x = m->executable;
    const size_t steps = x->launches.num_steps, sizes = m->desc.num_sizes, bindings = m->num_bindings;
    const size_t slots = (size_t)x->sizes.program.num_inputs + x->sizes.program.num_ops;
    n->sizes.value = (int64_t *)rt__place_array(l, sizes, sizeof(int64_t));
    n->sizes.next = (int64_t *)rt__place_array(l, sizes, sizeof(int64_t));
    n->sizes.slot = (int64_t *)rt__place_array(l, slots, sizeof(int64_t));
    n->sizes.scratch = (int64_t *)rt__place_array(l, x->conditions.num_scratch, sizeof(int64_t));
    n->bindings.pointer = (void **)rt__place_array(l, bindings, sizeof(void *));
    n->bindings.next = (void **)rt__place_array(l, bindings, sizeof(void *));
    n->bindings.range = (rt__range *)rt__place_array(l, bindings + 1, sizeof(rt__range));
    n->bindings.address = (uint64_t *)rt__place_array(l, x->memory.num_buffers, sizeof(uint64_t));
    n->launch.cell = (uint64_t *)rt__place_array(l, x->launches.num_args, sizeof(uint64_t));
    n->launch.param = (void **)rt__place_array(l, x->launches.num_args, sizeof(void *));
    n->launch.map_key = (rt__map_key *)rt__place_array(l, x->launches.num_maps, sizeof(rt__map_key));
    n->launch.map_memory = rt__place_array(l, (size_t)x->launches.num_maps + 1, IND__RT_MAP_BYTES);
    n->launch.chosen = (uint8_t *)rt__place_array(l, steps, sizeof(uint8_t));
    n->launch.grid = (unsigned *)rt__place_array(l, steps * IND__RT_LAUNCH, sizeof(unsigned));
    n->index_errors.host = (uint64_t *)rt__place_array(l, x->launches.checked ? steps * 4 : 0, sizeof(uint64_t));
    n->calls.tensor = (ind_extern_tensor *)rt__place_array(l, x->launches.num_tensors, sizeof(ind_extern_tensor));
    n->calls.dim = (int64_t *)rt__place_array(l, (size_t)x->launches.num_tensors * 2 * IND_MAX_RANK, sizeof(int64_t));
    if (m->desc.device != IND_DEVICE_CUDA) rt__host_arrays(n, l);
}

static ind_status rt__instance_init(ind_instance *n, ind_module *m, const ind_instance_desc *desc) {
    rt__layout layout = {NULL, 0};
    n->module = m;
    rt__instance_arrays(n, &layout);
    n->arrays = layout.base = (char *)ind__alloc(m->context, layout.used);
    layout.used = 0;
    rt__instance_arrays(n, &layout);
    if (!n->arrays) return IND_ERROR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i <= m->num_bindings; i++) n->bindings.range[i].binding = i;
    rt__instance_params(n);
    if (desc && desc->workspace) {
        if ((uintptr_t)desc->workspace & 255)
            return ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT,
                             "the workspace must be aligned to 256 bytes, %p is not", desc->workspace);
        n->workspace.memory = desc->workspace;
        n->workspace.bytes = desc->workspace_bytes;
        n->workspace.given = true;
    }
    ind_status status = rt__instance_errors(n);
    if (!status) status = rt__instance_counters(n);
    return status || m->desc.device == IND_DEVICE_CUDA ? status : rt__host_instance(n);
}

static void rt__captured_clear(ind_instance *n) {
    const rt__cuda_driver *d = &n->module->executable->runtime->driver;
    if (n->captured.executable) (void)d->cuGraphExecDestroy(n->captured.executable);
    if (n->captured.graph) (void)d->cuGraphDestroy(n->captured.graph);
    ind__free(n->module->context, n->captured.pointer);
    ind__free(n->module->context, n->captured.size);
    ind__free(n->module->context, n->captured.constant);
    memset(&n->captured, 0, sizeof n->captured);
    rt__device_free(n->module, n->workspace.retired_block);
    n->workspace.retired_block = NULL;
}

/* Frees the members that instance_init created, also after a partial init. Runs inside the device's context. */
static void rt__instance_clear(ind_instance *n) {
    ind_context *c = n->module->context;
    rt__captured_clear(n);
    rt__device_free(n->module, n->workspace.block);
    ind_instance_destroy(n->prepared.instance);
    rt__device_free(n->module, n->prepared.block);
    if (n->index_errors.device) rt__device_free(n->module, n->index_errors.device);
    rt__device_free(n->module, n->counters_block);
    for (int i = 0; i < n->lookback.num_blocks; i++) rt__device_free(n->module, n->lookback.block[i]);
    for (int i = 0; n->host.worker && i < n->host.num_workers; i++) {
        ind__free(c, n->host.worker[i].block);
        ind__free(c, n->host.worker[i].row);
    }
    ind__free(c, n->prepared.pointer);
    ind__free(c, n->prepared.given);
    ind__free(c, n->arrays);
}

ind_status ind_instance_create(ind_module *m, const ind_instance_desc *desc, ind_instance **instance) {
    if (!m || !instance) return IND_ERROR_INVALID_ARGUMENT;
    *instance = NULL;
    ind_instance *n = (ind_instance *)ind__alloc(m->context, sizeof *n);
    if (!n) return IND_ERROR_OUT_OF_MEMORY;
    ind_status status = rt__module_enter(m);
    if (!status) {
        status = rt__instance_init(n, m, desc);
        if (status) rt__instance_clear(n);
        rt__module_leave(m);
    }
    if (status) {
        ind__free(m->context, n);
        return status;
    }
    ind__executable *x = m->executable;
    ind__lists_lock(m->context);
    n->next = x->instances;
    if (x->instances) x->instances->prev = n;
    x->instances = n;
    ind__lists_unlock(m->context);
    *instance = n;
    return IND_OK;
}

static void rt__instance_unlink(ind_instance *n) {
    ind__executable *x = n->module->executable;
    ind__lists_lock(n->module->context);
    if (n->prev) n->prev->next = n->next;
    if (n->next) n->next->prev = n->prev;
    if (x->instances == n) x->instances = n->next;
    ind__lists_unlock(n->module->context);
}

void ind_instance_destroy(ind_instance *n) {
    if (!n) return;
    ind_module *m = n->module;
    rt__instance_unlink(n);
    bool inside = !rt__module_enter(m);
    rt__instance_clear(n);
    if (inside) rt__module_leave(m);
    ind__free(m->context, n);
}

const char *ind_instance_error(const ind_instance *n) {
    return n ? n->error : "no instance";
}
