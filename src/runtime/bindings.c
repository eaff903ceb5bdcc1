/* ---- memory that a run writes overlaps no other bound memory: ranges are sorted by address and compared in order */

static bool rt__is_donated(const ind_module *m, uint32_t binding) {
    return binding < m->num_bindings && m->binding[binding].donated;
}

/* Sets the range of a binding from `pointer`, which lists all bindings. An output bound to the donated input that it
   takes over gets an empty range: it is no longer than the input. */
static void rt__bound_range(const ind_instance *n, void *const *pointer, rt__range *r) {
    const ind_module *m = n->module;
    const uint32_t i = r->binding;
    const ind_binding_info *info = &m->binding[i];
    const int64_t bytes = n->sizes.slot[m->executable->memory.binding_bytes[i]];
    const bool takes_over = info->takes_over >= 0 && pointer[info->takes_over] == pointer[i];
    r->from = (uintptr_t)pointer[i];
    r->to = pointer[i] && bytes > 0 && !takes_over ? r->from + (uint64_t)bytes : r->from;
    if (r->to < r->from) r->to = UINT64_MAX;
    r->written = info->kind == IND_BINDING_OUTPUT || info->mutated || info->donated;
}

static void rt__workspace_range(const ind_instance *n, rt__range *r) {
    const int64_t bytes = n->sizes.slot[n->module->executable->memory.arena_slot];
    r->from = (uintptr_t)n->workspace.memory;
    r->to = n->workspace.given && bytes > 0 ? r->from + (uint64_t)bytes : r->from;
    r->written = true;
}

/* Sifts down element `at` of the heap r[0 .. num), which has the highest address on top. */
static void rt__sift_down(rt__range *r, uint32_t at, uint32_t num) {
    const rt__range sinking = r[at];
    for (uint32_t child = 2 * at + 1; child < num; child = 2 * at + 1) {
        if (child + 1 < num && r[child + 1].from > r[child].from) child++;
        if (r[child].from <= sinking.from) break;
        r[at] = r[child];
        at = child;
    }
    r[at] = sinking;
}

/* Heap sort: O(n log n) steps, no allocation. The order of the previous launch is usually still right. */
static void rt__sort_ranges(rt__range *r, uint32_t num) {
    uint32_t sorted = 1;
    while (sorted < num && r[sorted - 1].from <= r[sorted].from) sorted++;
    if (sorted >= num) return;
    for (uint32_t i = num / 2; i-- > 0;) rt__sift_down(r, i, num);
    for (uint32_t last = num; last-- > 1;) {
        const rt__range highest = r[0];
        r[0] = r[last];
        r[last] = highest;
        rt__sift_down(r, 0, last);
    }
}

/* Reports both, the one that causes the error first. */
static ind_status rt__ranges_overlap(const ind_instance *n, const rt__range *a, const rt__range *b) {
    const ind_module *m = n->module;
    const bool swap = rt__is_donated(m, b->binding) ? !rt__is_donated(m, a->binding) : !a->written;
    const uint32_t first = swap ? b->binding : a->binding, second = swap ? a->binding : b->binding;
    char *const *text = m->executable->memory.binding_text;
    if (first == m->num_bindings || second == m->num_bindings)
        return ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT, "run: %s shares memory with the workspace",
                         text[first == m->num_bindings ? second : first]);
    return ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT, "run: %s is %s, but shares memory with %s", text[first],
                     rt__is_donated(m, first) ? "donated" : "written", text[second]);
}

/* Sorted by address, a range overlaps an earlier one if it begins before the largest end so far. */
static ind_status rt__check_ranges(const ind_instance *n, const rt__range *r, uint32_t num) {
    const rt__range none = {0};
    const rt__range *furthest = &none, *written = &none;
    for (uint32_t i = 0; i < num; i++) {
        if (r[i].from == r[i].to) continue;
        if (r[i].from < written->to) return rt__ranges_overlap(n, written, &r[i]);
        if (r[i].written && r[i].from < furthest->to) return rt__ranges_overlap(n, furthest, &r[i]);
        if (r[i].to > furthest->to) furthest = &r[i];
        if (r[i].written && r[i].to > written->to) written = &r[i];
    }
    return IND_OK;
}

/* `pointer` has one pointer per binding; a run with IND_MEMORY_HOST passes host pointers. */
static ind_status rt__check_overlaps(ind_instance *n, void *const *pointer) {
    const uint32_t num = n->module->num_bindings + 1;
    for (uint32_t i = 0; i < num; i++) {
        if (n->bindings.range[i].binding == num - 1)
            rt__workspace_range(n, &n->bindings.range[i]);
        else
            rt__bound_range(n, pointer, &n->bindings.range[i]);
    }
    rt__sort_ranges(n->bindings.range, num);
    return rt__check_ranges(n, n->bindings.range, num);
}

static ind_status rt__bind_prepared(ind_instance *n, void *stream);
static ind_status rt__launch_prepared(ind_instance *n, void *stream);

static ind_status rt__instance_workspace(ind_instance *n) {
    ind_module *m = n->module;
    int64_t need = n->sizes.slot[m->executable->memory.arena_slot];
    if (need < 0 || (uint64_t)need > SIZE_MAX / 2)
        return ind__fail(m->context, IND_ERROR_OVERFLOW, "run: a workspace of %lld bytes cannot be", (long long)need);
    if ((size_t)need <= n->workspace.bytes) return IND_OK;
    if (n->workspace.given)
        return ind__fail(m->context, IND_ERROR_OUT_OF_MEMORY,
                         "run: graph \"%s\" needs a workspace of %lld bytes, it was given %zu", m->desc.name,
                         (long long)need, n->workspace.bytes);
    void *data, *block;
    ind_status status = rt__device_alloc(m, (size_t)need, &data, &block);
    if (status) return status;
    if (n->captured.valid && !n->workspace.retired_block)
        n->workspace.retired_block = n->workspace.block; /* the graph still uses it */
    else
        rt__device_free(m, n->workspace.block);
    n->workspace.memory = data;
    n->workspace.block = block;
    n->workspace.bytes = (size_t)need;
    n->bindings.bound = false;
    return IND_OK;
}

static void rt__bind_addresses(ind_instance *n) {
    ind__executable *x = n->module->executable;
    for (uint32_t i = 1; i < x->memory.num_buffers; i++) {
        n->bindings.address[i] = 0;
        if (x->memory.buffer_binding[i] != IND__RT_NONE)
            n->bindings.address[i] = (uintptr_t)n->bindings.pointer[x->memory.buffer_binding[i]];
        else if (x->memory.buffer_offset[i] != IND__RT_NONE)
            n->bindings.address[i] =
                (uintptr_t)n->workspace.memory + (uint64_t)n->sizes.slot[x->memory.buffer_offset[i]];
        if (!n->host.buffer) continue;
        n->host.buffer[i].data = (void *)(uintptr_t)n->bindings.address[i];
        n->host.buffer[i].numel = n->bindings.address[i] ? n->sizes.slot[x->memory.buffer_numel[i]] : 0;
    }
}

static int rt__map_type(const ind__tensor_map *plan) {
    if (plan->tf32) return IND__CUDA_MAP_TFLOAT32;
    if (ind_dtype_bytes(plan->dtype) == 1) return IND__CUDA_MAP_UINT8;
    return plan->dtype == IND_F16 ? IND__CUDA_MAP_FLOAT16 : IND__CUDA_MAP_BFLOAT16;
}

static bool rt__encode_map(const ind_instance *n, const ind__tensor_map *plan, const rt__map_key *key, void *map) {
    rt__map_form form = {
        .type = rt__map_type(plan), .rank = plan->rank, .swizzle = plan->swizzle, .windows = plan->windows.rank};
    for (int i = 0; i < plan->rank; i++) form.box[i] = (unsigned)plan->box[i];
    for (int i = 0; i < plan->windows.rank; i++) {
        form.lower[i] = plan->windows.lower[i];
        form.upper[i] = plan->windows.upper[i];
        form.step[i] = plan->windows.step[i];
    }
    return rt__cuda_encode_map(&n->module->executable->runtime->driver, key, &form, map);
}

/* Encodes a tensor map for the launch's pointer and sizes, unless it is. False: the driver does not take it. */
static bool rt__bind_map(const ind_instance *n, const rt__exec_arg *arg) {
    const ind__executable *x = n->module->executable;
    const rt__exec_map *map = &x->launches.map[arg->slot];
    const int64_t *slot = n->sizes.slot;
    const uint64_t bytes = (uint64_t)ind_dtype_bytes(map->plan->dtype);
    rt__map_key key = {.address = n->bindings.address[arg->buffer] + (uint64_t)slot[map->offset] * bytes, .encoded = 1};
    for (int d = 0; d < map->plan->rank; d++) {
        key.size[d] = (uint64_t)slot[map->size[d]];
        key.stride[d] = (uint64_t)slot[map->stride[d]] * bytes;
    }
    rt__map_key *last = &n->launch.map_key[arg->slot];
    if (!memcmp(last, &key, sizeof key)) return true;
    *last = key;
    last->encoded = rt__encode_map(n, map->plan, &key, n->launch.map + (size_t)arg->slot * IND__RT_MAP_BYTES);
    return last->encoded;
}

static bool rt__bind_maps(const ind_instance *n, const rt__exec_variant *v) {
    const rt__exec_arg *arg = &n->module->executable->launches.arg[v->first_arg];
    for (uint32_t i = 0; i < v->num_args; i++)
        if (arg[i].kind == IND__ARG_TENSOR_MAP && !rt__bind_map(n, &arg[i])) return false;
    return true;
}

static bool rt__variant_fits(const ind_instance *n, const rt__exec_variant *v) {
    if (v->guard_slot != IND__RT_NONE && !n->sizes.slot[v->guard_slot]) return false;
    const rt__exec_arg *arg = &n->module->executable->launches.arg[v->first_arg];
    for (uint32_t i = 0; v->aligned && i < v->num_args; i++)
        if (arg[i].kind == IND__ARG_BUFFER && (n->bindings.address[arg[i].buffer] & 15)) return false;
    return rt__bind_maps(n, v);
}

/* Writes an argument's value into its cell: a pointer, an int or a long long. */
static void rt__fill_cell(ind_instance *n, const rt__exec_arg *a, uint32_t step, uint64_t *cell) {
    if (a->kind == IND__ARG_BUFFER)
        *cell = n->bindings.address[a->buffer];
    else if (a->kind == IND__ARG_ERROR)
        *cell = (uintptr_t)n->index_errors.device + ((uint64_t)step + a->part) * 32;
    else if (a->kind == IND__ARG_COUNTERS)
        *cell = (uintptr_t)n->counters + (uint64_t)a->offset;
    else if (a->kind == IND__ARG_PARTIALS)
        *cell = (uintptr_t)n->counters + rt__counter_bytes(n->module->executable) + (uint64_t)a->offset;
    else if (a->kind == IND__ARG_LOOKBACK)
        *cell = n->lookback.words;
    else if (a->kind == IND__ARG_TENSOR_MAP)
        return; /* rt__bind_map */
    else if (a->wide)
        memcpy(cell, &n->sizes.slot[a->slot], 8);
    else {
        int32_t narrow = (int32_t)n->sizes.slot[a->slot];
        memcpy(cell, &narrow, 4);
    }
}

/* Checks the number of blocks against CUDA's maximum in dimension d. */
static ind_status rt__check_grid(ind_context *c, const char *kernel, int d, int64_t blocks) {
    static const int64_t limit[3] = {INT32_MAX, 65535, 65535};
    if (blocks >= 0 && blocks <= limit[d]) return IND_OK;
    return ind__fail(c, IND_ERROR_LIMIT,
                     "kernel %s needs a grid of %lld blocks in dimension %d, at most %lld are possible", kernel,
                     (long long)blocks, d, (long long)limit[d]);
}

static const rt__exec_variant *rt__built(rt__exec_variant *v) {
    return atomic_load_explicit(&v->built, memory_order_acquire);
}

/* Blocks along dimension d of the grid. */
static int64_t rt__grid_blocks(const ind_instance *n, const rt__exec_variant *v, int d) {
    const int64_t blocks = n->sizes.slot[v->grid_slot[d]];
    if (d > 0 || (v->items_slot == IND__RT_NONE && !ind__tile_of(v->plan)->pair_m)) return blocks;
    const int cluster = ind__cluster_of(v->plan);
    const int64_t clusters = v->items_slot == IND__RT_NONE ? blocks / cluster : n->sizes.slot[v->items_slot];
    return (clusters < v->resident ? clusters : v->resident) * cluster;
}

static bool rt__is_empty(const ind_instance *n, const rt__exec_variant *v) {
    return !n->sizes.slot[v->grid_slot[0]] || !n->sizes.slot[v->grid_slot[1]] || !n->sizes.slot[v->grid_slot[2]];
}

/* The first variant of a step for the instance's sizes and pointers; the number of variants if there is none. */
static int rt__fitting_variant(const ind_instance *n, const rt__exec_step *s) {
    int k = 0;
    while (k < s->num_variants && !rt__variant_fits(n, &s->variant[k])) k++;
    return k;
}

/* Selects the variant of a step and fills its arguments and grid. Builds the variant if no launch has needed it. Steps
   are bound in order. *taken: the launches of earlier steps run all steps before this one. */
static ind_status rt__bind_step(ind_instance *n, uint32_t at, uint32_t *taken) {
    ind__executable *x = n->module->executable;
    ind_context *c = n->module->context;
    rt__exec_step *s = &x->launches.step[at];
    if (!s->num_variants || at < *taken) { /* another step's launch runs it */
        n->launch.chosen[at] = IND__STEP_SKIPPED;
        return IND_OK;
    }
    const int k = rt__fitting_variant(n, s);
    if (k == s->num_variants)
        return ind__fail(c, IND_ERROR_VERIFY, "kernel %s has no variant for these sizes and pointers", s->name);
    const rt__exec_variant *v = rt__built(&s->variant[k]);
    *taken = at + 1 + s->variant[k].num_taken;
    n->launch.chosen[at] = rt__is_empty(n, &s->variant[k]) ? IND__STEP_SKIPPED : (uint8_t)k;
    if (n->launch.chosen[at] == IND__STEP_SKIPPED) return IND_OK;
    if (!v) {
        ind_status status = rt__cuda_build_late(n, at, &s->variant[k]);
        if (status) return status;
        v = rt__built(&s->variant[k]);
    }
    if (v != &s->variant[k] && !rt__bind_maps(n, v)) /* a fallback has maps of its own */
        return ind__fail(c, IND_ERROR_VERIFY, "kernel %s: the driver refuses a tensor map of its fallback variant",
                         s->name);
    for (int d = 0; d < 3; d++) {
        int64_t g = rt__grid_blocks(n, v, d);
        ind_status status = rt__check_grid(c, s->name, d, g);
        if (status) return status;
        n->launch.grid[at * IND__RT_LAUNCH + (uint32_t)d] = (unsigned)g;
    }
    n->launch.grid[at * IND__RT_LAUNCH + 3] = (unsigned)n->sizes.slot[v->shared_slot];
    n->launch.grid[at * IND__RT_LAUNCH + 4] =
        v->fitted_slot == IND__RT_NONE ? v->threads : (unsigned)n->sizes.slot[v->fitted_slot];
    for (uint32_t i = 0; i < v->num_args; i++)
        rt__fill_cell(n, &x->launches.arg[v->first_arg + i], at, &n->launch.cell[v->first_arg + i]);
    return IND_OK;
}

static const int64_t *rt__count_address(const ind_instance *n, uint32_t buffer) {
    return buffer == IND__RT_NONE ? NULL : (const int64_t *)(uintptr_t)n->bindings.address[buffer];
}

/* Fills the operands of an extern call. */
static void rt__bind_call(ind_instance *n, const rt__exec_step *s) {
    for (uint32_t k = 0; k < s->call->num_inputs + s->call->num_outputs; k++) {
        const ind__call_arg *a = &s->call->arg[k];
        int64_t *dim = n->calls.dim + (size_t)(s->first_tensor + k) * 2 * IND_MAX_RANK;
        const int64_t offset = s->tensor[k].offset == IND__RT_NONE ? 0 : n->sizes.slot[s->tensor[k].offset];
        const uint64_t base = n->bindings.address[a->buffer];
        const uint64_t data = base ? base + (uint64_t)offset * (uint64_t)ind_dtype_bytes(a->type.dtype) : 0;
        n->calls.tensor[s->first_tensor + k] = (ind_extern_tensor){.data = (void *)(uintptr_t)data,
                                                                   .dtype = a->type.dtype,
                                                                   .rank = a->type.rank,
                                                                   .size = dim,
                                                                   .stride = dim + IND_MAX_RANK,
                                                                   .count = rt__count_address(n, s->tensor[k].count)};
        for (int d = 0; d < a->type.rank; d++) {
            dim[d] = n->sizes.slot[s->tensor[k].size[d]];
            dim[IND_MAX_RANK + d] = n->sizes.slot[s->tensor[k].stride[d]];
        }
    }
}

static ind_status rt__run_call(ind_instance *n, const rt__exec_step *s, void *stream) {
    const ind_module *m = n->module;
    const ind__extern_call *c = s->call;
    bool cuda = m->desc.device == IND_DEVICE_CUDA;
    char message[IND_EXTERN_MESSAGE] = "";
    ind_extern_call call = {.name = c->name,
                            .device = m->desc.device,
                            .stream = cuda ? stream : NULL,
                            .input = n->calls.tensor + s->first_tensor,
                            .num_inputs = (int)c->num_inputs,
                            .output = n->calls.tensor + s->first_tensor + c->num_inputs,
                            .num_outputs = (int)c->num_outputs,
                            .size = m->executable->sizes.size,
                            .size_value = n->sizes.value,
                            .num_sizes = (int)m->desc.num_sizes,
                            .message = message,
                            .user = c->op->desc.user};
    if (c->workspace) {
        call.workspace_bytes = n->sizes.slot[s->workspace_slot];
        call.workspace = call.workspace_bytes ? (void *)(uintptr_t)n->bindings.address[c->workspace] : NULL;
    }
    ind_status status = (cuda ? c->op->desc.cuda : c->op->desc.host)(&call);
    message[IND_EXTERN_MESSAGE - 1] = 0;
    if (status && *message) return ind__fail(m->context, status, "%s: %s", c->name, message);
    return status ? ind__fail(m->context, status, "%s: the callback of this extern call failed: %s", c->name,
                              ind_status_text(status))
                  : IND_OK;
}

/* Binds the pointers in next_pointer if they or the sizes changed since the last launch. */
static ind_status rt__instance_bind(ind_instance *n, void *stream) {
    ind_module *m = n->module;
    ind_status status = rt__bind_prepared(n, stream);
    if (!status) status = rt__bind_complete(n, n->bindings.next);
    if (!status) status = rt__instance_workspace(n);
    if (!status) status = rt__instance_lookback(n);
    if (status) return status;
    if (n->bindings.bound &&
        !memcmp(n->bindings.pointer, n->bindings.next, m->num_bindings * sizeof *n->bindings.pointer))
        return IND_OK;
    n->bindings.bound = false;
    memcpy(n->bindings.pointer, n->bindings.next, m->num_bindings * sizeof *n->bindings.pointer);
    status = rt__check_overlaps(n, n->bindings.pointer);
    if (status) return status;
    rt__bind_addresses(n);
    for (uint32_t i = 0, taken = 0; i < m->executable->launches.num_steps; i++) {
        if (m->executable->launches.step[i].call) rt__bind_call(n, &m->executable->launches.step[i]);
        if (m->executable->launches.step[i].call || m->desc.device != IND_DEVICE_CUDA) continue;
        status = rt__bind_step(n, i, &taken);
        if (status) return status;
    }
    n->bindings.bound = true;
    return IND_OK;
}

static ind_status rt__instance_prepare(ind_instance *n, const ind_launch_desc *d) {
    ind_module *m = n->module;
    if (!d) return ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT, "run: desc is NULL");
    ind_status status = rt__instance_sizes(n, d->sizes, d->sizes_v);
    if (status) return status;
    if (d->pointers)
        memcpy(n->bindings.next, d->pointers, m->num_public * sizeof *n->bindings.next);
    else
        status = rt__bind_names(n, d->bindings, d->num_bindings, n->bindings.next);
    return status ? status : rt__instance_bind(n, d->stream);
}

static ind_status rt__launch_steps(ind_instance *n, uint32_t first, uint32_t count, void *stream) {
    n->launch.stream = stream;
    n->launch.launched = true;
    return n->module->desc.device == IND_DEVICE_CUDA ? rt__cuda_launch(n, first, count, stream)
                                                     : rt__host_launch(n, first, count);
}

/* Enqueues a whole run. */
static ind_status rt__launch_all(ind_instance *n, void *stream) {
    ind_status status = rt__launch_prepared(n, stream);
    return status ? status : rt__launch_steps(n, 0, n->module->executable->launches.num_steps, stream);
}

ind_status ind_launch(ind_instance *n, const ind_launch_desc *desc) {
    if (!n) return IND_ERROR_INVALID_ARGUMENT;
    ind_status status = rt__module_enter(n->module);
    if (status) return rt__instance_failed(n, status);
    status = rt__instance_prepare(n, desc);
    if (!status) status = rt__launch_all(n, desc->stream);
    rt__module_leave(n->module);
    return rt__instance_failed(n, status);
}

/* Returns the op to name for a bad index, as the user called it: the first op of the kernel with an index word in its
   name, else the first op. */
const char *ind__index_origin(const ind_module *m, const ind_kernel *k) {
    static const char *const words[] = {"embedding", "gather", "scatter", "index", "put", "take"};
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        for (uint32_t i = 0; i < k->num_origins; i++)
            if (k->origin[i] < m->desc.num_origins && m->desc.origin_name[k->origin[i]] &&
                strstr(m->desc.origin_name[k->origin[i]], words[w]))
                return m->desc.called_name[k->origin[i]];
    for (uint32_t i = 0; i < k->num_origins; i++)
        if (k->origin[i] < m->desc.num_origins && m->desc.origin_name[k->origin[i]])
            return m->desc.called_name[k->origin[i]];
    return k->name;
}

/* The device size that the kernel reads: an input has its name. NULL: none. */
static const char *rt__device_size(const ind_module *m, const ind_kernel *k) {
    const ind__lowered *p = m->desc.lowered;
    for (uint32_t u = 0; u < p->num_unbacked; u++) {
        const char *name = ind_expr_symbol(p->unbacked[u].symbol)->name;
        const uint32_t loop = p->buffer[p->unbacked[u].buffer].loop;
        bool input = false;
        for (uint32_t i = 0; i < m->num_inputs; i++) input |= !strcmp(m->binding[i].name, name);
        for (uint32_t l = 0; input && l < k->num_loops; l++)
            if (k->loop[l] == loop) return name;
    }
    return NULL;
}

static ind_status rt__cuda_fetch_errors(ind_instance *n) {
    ind_context *c = n->module->context;
    ind__executable *x = n->module->executable;
    size_t bytes = (size_t)x->launches.num_steps * 32;
    rt__cuda_ptr from = (rt__cuda_ptr)(uintptr_t)n->index_errors.device;
    if (!x->launches.checked) return IND__CUDA_CALL(c, x->runtime, cuStreamSynchronize, (n->launch.stream));
    ind_status status =
        IND__CUDA_CALL(c, x->runtime, cuMemcpyDtoHAsync_v2, (n->index_errors.host, from, bytes, n->launch.stream));
    if (!status) status = IND__CUDA_CALL(c, x->runtime, cuMemsetD8Async, (from, 0, bytes, n->launch.stream));
    if (!status) status = IND__CUDA_CALL(c, x->runtime, cuStreamSynchronize, (n->launch.stream));
    return status;
}

/* Sets the counters, and the words of scans, to 0. After a wait of a persistent launch has timed out, tasks of several
   phases have used the same ones. The stream is idle. */
static ind_status rt__reset_counters(ind_instance *n) {
    ind__executable *x = n->module->executable;
    ind_context *c = n->module->context;
    const rt__cuda_ptr counters = (rt__cuda_ptr)(uintptr_t)n->counters, words = (rt__cuda_ptr)n->lookback.words;
    ind_status status = IND__CUDA_CALL(c, x->runtime, cuMemsetD8Async, (counters, 0, rt__counter_bytes(x), NULL));
    if (!status && words) status = IND__CUDA_CALL(c, x->runtime, cuMemsetD8Async, (words, 0, n->lookback.bytes, NULL));
    return status ? status : IND__CUDA_CALL(c, x->runtime, cuStreamSynchronize, (NULL));
}

/* Waits, and reports one bad index of the launches since the last check. Runs inside the device's context. */
static ind_status rt__instance_check(ind_instance *n) {
    ind_module *m = n->module;
    ind__executable *x = m->executable;
    if (!n->launch.launched) return IND_OK;
    ind_status status = n->prepared.own ? rt__instance_check(n->prepared.instance) : IND_OK;
    if (!status && m->desc.device == IND_DEVICE_CUDA) status = rt__cuda_fetch_errors(n);
    for (uint32_t i = 0; x->launches.checked && !status && i < x->launches.num_steps; i++) {
        const uint64_t *e = n->index_errors.host + (size_t)i * 4;
        if (!e[0]) continue;
        const ind_kernel *k = &m->desc.schedule->kernel[i];
        const char *size = rt__device_size(m, k);
        if (e[0] == UINT64_MAX) {
            status = rt__reset_counters(n);
            if (!status)
                status = ind__fail(m->context, IND_ERROR_DEVICE,
                                   "the persistent launch that begins with kernel %s: a task waited for the %llu tasks "
                                   "before it for more than %u ms (watchdog_ms)",
                                   k->name, (unsigned long long)e[1], (unsigned)m->desc.lowered->options.watchdog_ms);
            break;
        }
        status = ind__fail(m->context, IND_ERROR_INDEX_OUT_OF_RANGE,
                           "%s%s: index %lld is outside [0, %lld) (kernel %s)", size ? "size " : "",
                           size ? size : ind__index_origin(m, k), (long long)e[1], (long long)e[2], k->name);
    }
    if (x->launches.checked) memset(n->index_errors.host, 0, (size_t)x->launches.num_steps * 32);
    return status;
}

ind_status ind_instance_check(ind_instance *n) {
    if (!n) return IND_ERROR_INVALID_ARGUMENT;
    ind_status status = rt__module_enter(n->module);
    if (status) return rt__instance_failed(n, status);
    status = rt__instance_check(n);
    rt__module_leave(n->module);
    return rt__instance_failed(n, status);
}

static ind_status rt__fetch_data_size(ind_instance *n, uint32_t u, int64_t *value) {
    ind_module *m = n->module;
    const void *from = (const void *)(uintptr_t)n->bindings.address[m->desc.lowered->unbacked[u].buffer];
    if (m->executable->sizes.data_size[u].step == IND__RT_NONE)
        return *value = 0, IND_OK; /* no step counts this size */
    if (m->desc.device != IND_DEVICE_CUDA) return memcpy(value, from, sizeof *value), IND_OK;
    return IND__CUDA_CALL(m->context, m->executable->runtime, cuMemcpyDtoHAsync_v2,
                          (value, (rt__cuda_ptr)(uintptr_t)from, sizeof *value, n->launch.stream));
}

/* Runs inside the device's context. */
static ind_status rt__instance_data_sizes(ind_instance *n, int64_t *values, int max) {
    ind_module *m = n->module;
    ind_status status = IND_OK;
    for (uint32_t u = 0; u < rt__num_data_sizes(m) && (int)u < max && !status; u++)
        status = rt__fetch_data_size(n, u, &values[u]);
    if (status || m->desc.device != IND_DEVICE_CUDA || !rt__num_data_sizes(m)) return status;
    return IND__CUDA_CALL(m->context, m->executable->runtime, cuStreamSynchronize, (n->launch.stream));
}

ind_status ind_instance_data_sizes(ind_instance *n, int64_t *values, int max) {
    if (!n) return IND_ERROR_INVALID_ARGUMENT;
    ind_context *c = n->module->context;
    if (max < 0 || (max && !values))
        return rt__instance_failed(n, ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "data sizes: values is NULL"));
    if (!n->launch.launched)
        return rt__instance_failed(n, ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "data sizes: nothing was launched"));
    ind_status status = rt__module_enter(n->module);
    if (status) return rt__instance_failed(n, status);
    status = rt__instance_data_sizes(n, values, max);
    rt__module_leave(n->module);
    return rt__instance_failed(n, status);
}
