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
    bool valid;
    void *graph, *executable;
    void **pointer; /* host: arguments of a replay */
    int64_t *size;
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
    char error[512];
    int64_t *size, *next_size; /* of the last launch; of the current call */
    int64_t *slot;             /* values of the module's program */
    int64_t *scratch;          /* values of the programs of the conditions */
    bool evaluated, bound;
    void **pointer, **next_pointer; /* per binding */
    struct rt__range *range;        /* per binding, and one for a workspace given by the caller */
    uint64_t *address;              /* per buffer */
    void *workspace, *workspace_block, *retired_block;
    size_t workspace_bytes;
    bool workspace_given;
    uint64_t *cell; /* argument values, one per exec_arg */
    void **param;   /* pointers to them, as the driver requires */
    uint8_t *chosen;
    unsigned *grid;        /* IND__RT_LAUNCH per step */
    uint64_t *index_error; /* host: 4 words per step */
    void *index_error_device;
    void *counters, *counters_block; /* counters; then, 256-byte aligned, partial results of blocks that share rows */
    uint64_t lookback; /* words that kernels leave at 0, in the last block; each block has at least twice the size of
                          the previous one */
    void *lookback_block[IND__RT_LOOKBACKS];
    int num_lookbacks;
    size_t lookback_bytes;
    void *stream; /* of the last launch */
    bool launched;
    rt__captured captured;
    ind_extern_tensor *tensor; /* operands of extern calls, and their sizes and strides */
    int64_t *tensor_dim;
    ind__eval_buffer *buffer; /* host */
    rt__host_worker *worker;
    int num_workers;
};

static ind_status rt__host_launch(ind_instance *n, uint32_t first, uint32_t count);
static ind_status rt__cuda_launch(ind_instance *n, uint32_t first, uint32_t count, void *stream);
static ind_status rt__host_instance(ind_instance *n);

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
    return (x->num_counters * sizeof(uint32_t) + 255) & ~(size_t)255;
}

static ind_status rt__instance_errors(ind_instance *n) {
    ind_module *m = n->module;
    ind__executable *x = m->executable;
    if (!x->checked || m->desc.device != IND_DEVICE_CUDA) return IND_OK;
    void *block;
    size_t bytes = (size_t)x->num_steps * 32;
    ind_status status = rt__device_alloc(m, bytes, &n->index_error_device, &block);
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
    if (!x->num_counters) return IND_OK;
    ind_status status = rt__device_alloc(m, bytes + x->partial_bytes, &n->counters, &n->counters_block);
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
    for (uint32_t i = 0; x->looks_back && i < x->num_args; i++)
        if (x->arg[i].kind == IND__ARG_LOOKBACK && n->slot[x->arg[i].slot] > words) words = n->slot[x->arg[i].slot];
    if ((uint64_t)words * 8 <= n->lookback_bytes) return IND_OK;
    size_t bytes = n->lookback_bytes ? n->lookback_bytes * 2 : 4096;
    while (bytes < (uint64_t)words * 8 && bytes < SIZE_MAX / 2) bytes *= 2;
    void *data, *block;
    ind_status status = rt__device_alloc(m, bytes, &data, &block);
    if (status) return status;
    rt__cuda_ptr at = (rt__cuda_ptr)(uintptr_t)data;
    status = IND__CUDA_CALL(m->context, x->runtime, cuMemsetD8Async, (at, 0, bytes, NULL));
    if (!status) status = IND__CUDA_CALL(m->context, x->runtime, cuStreamSynchronize, (NULL));
    if (status) return rt__device_free(m, block), status;
    n->lookback_block[n->num_lookbacks++] = block;
    n->lookback = (uintptr_t)data;
    n->lookback_bytes = bytes;
    n->bound = false;
    return IND_OK;
}

static ind_status rt__instance_init(ind_instance *n, ind_module *m, const ind_instance_desc *desc) {
    ind__executable *x = m->executable;
    n->module = m;
    bool ok = true;
    n->size = (int64_t *)rt__instance_array(n, m->desc.num_sizes, sizeof *n->size, &ok);
    n->next_size = (int64_t *)rt__instance_array(n, m->desc.num_sizes, sizeof *n->next_size, &ok);
    n->slot =
        (int64_t *)rt__instance_array(n, (size_t)x->program.num_inputs + x->program.num_ops, sizeof *n->slot, &ok);
    n->scratch = (int64_t *)rt__instance_array(n, x->num_scratch, sizeof *n->scratch, &ok);
    n->pointer = (void **)rt__instance_array(n, m->num_bindings, sizeof *n->pointer, &ok);
    n->next_pointer = (void **)rt__instance_array(n, m->num_bindings, sizeof *n->next_pointer, &ok);
    n->range = (rt__range *)rt__instance_array(n, (size_t)m->num_bindings + 1, sizeof *n->range, &ok);
    n->address = (uint64_t *)rt__instance_array(n, x->num_buffers, sizeof *n->address, &ok);
    n->cell = (uint64_t *)rt__instance_array(n, x->num_args, sizeof *n->cell, &ok);
    n->param = (void **)rt__instance_array(n, x->num_args, sizeof *n->param, &ok);
    n->chosen = (uint8_t *)rt__instance_array(n, x->num_steps, sizeof *n->chosen, &ok);
    n->grid = (unsigned *)rt__instance_array(n, (size_t)x->num_steps * IND__RT_LAUNCH, sizeof *n->grid, &ok);
    n->index_error = (uint64_t *)rt__instance_array(n, x->checked ? (size_t)x->num_steps * 4 : 0, 8, &ok);
    n->tensor = (ind_extern_tensor *)rt__instance_array(n, x->num_tensors, sizeof *n->tensor, &ok);
    n->tensor_dim =
        (int64_t *)rt__instance_array(n, (size_t)x->num_tensors * 2 * IND_MAX_RANK, sizeof *n->tensor_dim, &ok);
    if (!ok) return IND_OUT_OF_MEMORY;
    for (uint32_t i = 0; i <= m->num_bindings; i++) n->range[i].binding = i;
    for (uint32_t i = 0; i < x->num_args; i++) n->param[i] = &n->cell[i];
    if (desc && desc->workspace) {
        if ((uintptr_t)desc->workspace & 255)
            return ind__fail(m->context, IND_INVALID_ARGUMENT, "the workspace must be aligned to 256 bytes, %p is not",
                             desc->workspace);
        n->workspace = desc->workspace;
        n->workspace_bytes = desc->workspace_bytes;
        n->workspace_given = true;
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
    memset(&n->captured, 0, sizeof n->captured);
    rt__device_free(n->module, n->retired_block);
    n->retired_block = NULL;
}

/* Frees the members that instance_init created, also after a partial init. Runs inside the device's context. */
static void rt__instance_clear(ind_instance *n) {
    ind_context *c = n->module->context;
    rt__captured_clear(n);
    rt__device_free(n->module, n->workspace_block);
    if (n->index_error_device) rt__device_free(n->module, n->index_error_device);
    rt__device_free(n->module, n->counters_block);
    for (int i = 0; i < n->num_lookbacks; i++) rt__device_free(n->module, n->lookback_block[i]);
    for (int i = 0; n->worker && i < n->num_workers; i++) {
        ind__free(c, n->worker[i].block);
        ind__free(c, n->worker[i].row);
    }
    void *const owned[] = {n->size,    n->next_size,   n->slot,   n->scratch,    n->pointer, n->next_pointer,
                           n->address, n->cell,        n->param,  n->chosen,     n->grid,    n->buffer,
                           n->worker,  n->index_error, n->tensor, n->tensor_dim, n->range};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) ind__free(c, owned[i]);
}

ind_status ind_instance_create(ind_module *m, const ind_instance_desc *desc, ind_instance **instance) {
    if (!m || !instance) return IND_INVALID_ARGUMENT;
    *instance = NULL;
    ind_instance *n = (ind_instance *)ind__alloc(m->context, sizeof *n);
    if (!n) return IND_OUT_OF_MEMORY;
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
