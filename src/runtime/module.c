/* ------------------------------------------------------------------------------------------------ >>module */

#define IND__RT_NONE UINT32_MAX

#define IND__RT_LAUNCH 5 /* values per launch: blocks along x, y, z, bytes of shared memory, threads per block */

typedef struct rt__exec_arg {
    ind__arg_kind kind;
    uint32_t buffer; /* BUFFER, TENSOR_MAP */
    uint32_t slot;   /* SIZE; TENSOR_MAP: position in `map` */
    bool wide;       /* SIZE: passed as long long */
    uint32_t part;   /* ERROR: step to report to, relative to the launched one */
    int64_t offset;  /* COUNTERS, PARTIALS: byte offset */
} rt__exec_arg;

/* Slots of a tensor map's sizes, strides and offset, in elements. */
typedef struct rt__exec_map {
    const ind__tensor_map *plan;
    uint32_t size[IND__MAX_MAP_RANK], stride[IND__MAX_MAP_RANK], offset;
} rt__exec_map;

typedef struct rt__exec_variant {
    const ind__variant *plan;
    /* The variant that a launch runs: this one or one of its fallbacks; NULL until it is built. All later fields are
       known before the build, except `function` and `resident`. */
    _Atomic(struct rt__exec_variant *) built;
    struct rt__exec_variant *fallback;
    void *function;
    uint32_t first_arg, num_args; /* in the executable's args, and likewise in an instance's cells */
    uint32_t guard_slot;          /* RT_NONE: always valid */
    uint32_t fitted_slot;         /* RT_NONE: threads per block are `threads` */
    bool aligned, dependent;
    uint32_t num_taken;   /* steps after its own that the launch runs too */
    bool reads_constants; /* its constants must not change while it runs */
    bool reads_early;     /* it reads inputs before it waits for the previous launch */
    unsigned threads;
    uint32_t grid_slot[3], shared_slot;
    int64_t most_shared; /* maximum dynamic shared memory */
    /* Clusters that loop over rows: number of work items; else RT_NONE. `resident`: clusters that the device runs at
       once, known after the build; grids of clusters that loop over rows or tiles have no more. */
    uint32_t items_slot;
    int resident;
} rt__exec_variant;

typedef struct rt__exec_step {
    const char *name;
    rt__exec_variant *variant; /* in the module's arena */
    int num_variants;
    const ind__extern_call *call; /* NULL: a kernel */
    struct rt__exec_tensor *tensor;
    uint32_t first_tensor, workspace_slot; /* first in the instance's tensors; slot of the workspace bytes, RT_NONE: no
                                              workspace */
} rt__exec_step;

/* Slots of the sizes and strides of a call's operand. */
typedef struct rt__exec_tensor {
    uint32_t size[IND_MAX_RANK], stride[IND_MAX_RANK];
    uint32_t count;  /* buffer that stores the size of dimension 0; RT_NONE: not data-dependent */
    uint32_t offset; /* elements before the view; RT_NONE: none */
} rt__exec_tensor;

typedef struct rt__exec_condition {
    uint32_t slot; /* in the program `check` */
    bool guard;
    const char *text;
    uint32_t *size; /* indices of the sizes it uses */
    uint32_t num_sizes;
} rt__exec_condition;

typedef struct rt__host_kernel rt__host_kernel;

/* A module prepared for its device. All sizes are slots of one program over the declared sizes, which an instance runs
   when the sizes change. Immutable after creation, except for the list of instances and for variants built on demand
   by a launch. */
typedef struct ind__executable {
    rt__runtime *runtime;
    struct rt__exec_sizes {
        ind__program program; /* computes all slots */
        ind_symbol *size;     /* own copies: launches never read the context's tables */
        ind_expr *symbol;     /* inputs of the program: the declared sizes, then the data-dependent ones */
        uint32_t num_symbols, num_declared;
        ind__program most; /* computes the maximum of each data-dependent size from the same inputs */
        struct rt__data_size {
            ind_symbol symbol;
            uint32_t most_slot, step; /* step: the step that writes it */
        } data_size[IND__MAX_UNBACKED];
    } sizes;
    /* Conditions have their own program: they may exclude a division by zero in the other one. */
    struct rt__exec_conditions {
        ind__program check, derive;
        rt__exec_condition *condition;
        ind_expr *size_formula; /* by size: formula from the facts, invalid if the size is free */
        uint32_t *size_slot;    /* slot of the formula in `derive`, RT_NONE if the size is free */
        uint32_t num_scratch;   /* slots needed by the largest of `check`, `derive` and `most` */
    } conditions;
    struct rt__exec_memory {
        uint32_t arena_slot;
        uint32_t num_buffers;
        uint32_t *buffer_binding, *buffer_offset, *buffer_numel; /* RT_NONE: none; offset and numel are slots */
        uint32_t *binding_bytes, *binding_used;                  /* slots: maximum bytes; bytes of the actual shape */
        char **binding_text;                                     /* for example: input "x" f32[B, 256] */
    } memory;
    struct rt__exec_launches {
        rt__exec_step *step;
        uint32_t num_steps;
        rt__exec_arg *arg;
        uint32_t num_args, cap_args;
        rt__exec_map *map;
        uint32_t num_maps, cap_maps;
        uint32_t num_tensors;               /* operands of extern calls */
        bool checked;                       /* some kernel checks data-dependent indices */
        bool looks_back;                    /* some kernel has IND__ARG_LOOKBACK */
        size_t num_counters, partial_bytes; /* maximum over the launches whose blocks share rows: see ind__variant */
    } launches;
    struct rt__exec_host { /* device host */
        rt__host_kernel *kernel;
        uint32_t max_reduces;
        size_t max_eval_bytes;
        bool any_matmul;
    } on_host;
    struct rt__exec_ahead { /* builds variants that no launch has needed yet */
        rt__thread thread;
        bool started;
        _Atomic(uint32_t) stop;
    } ahead;
    ind_instance *instances; /* guarded by the context's lists lock */
} ind__executable;

/* One kernel of the host device; see >>host-device. */
typedef struct rt__host_list {
    uint32_t *inst;
    uint32_t num;
} rt__host_list;

/* An operand of a matrix product that is one plain load whose offset is linear in the loop variables. */
typedef struct rt__host_direct {
    bool valid;
    bool evaluated; /* not linear in the batch: the offset of a batch is the value of index expression `index` */
    uint32_t index, buffer, base_slot, stride_slot[2 * IND_MAX_RANK];
} rt__host_direct;

/* True if blocks are decoded with vectors, whose lanes are halves of words: else the evaluator computes each element.
 */
#if IND__GNU && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define IND__HOST_DECODES 1
#else
#define IND__HOST_DECODES 0
#endif

/* An operand of a product whose elements are in blocks of a packed tensor. */
typedef struct rt__host_packed {
    bool valid;
    ind__quantised format;
    int elements, bytes;    /* of a block */
    ind_dtype round;        /* elements are rounded to f16 or bf16; f32: they are not */
    rt__host_direct blocks; /* byte 0 of a block; the stride along K is that of one block */
} rt__host_packed;

/* Lists of a pass over the row. once: values that do not depend on R; empty: `once` for an empty row; spread: `once`
   values used in `loop`; loop: values per element of the row; scan: scans of the pass; reduce: reductions of the pass;
   part: PARTs of these. The last stage has no reductions. */
typedef struct rt__host_stage {
    rt__host_list once, empty, spread, loop, scan, reduce, part;
} rt__host_stage;

struct rt__host_kernel {
    const ind_kernel *kernel;
    const ind_body *body;
    rt__host_stage *stage;
    uint32_t num_stages, max_reduces, num_live;
    bool full_lanes; /* `loop` uses an index symbol that `once` computes, so every lane needs it */
    bool in_order;   /* points may write the same element: they run sequentially, on one worker */
    uint32_t extent_slot[2 * IND_MAX_RANK];
    ind__eval eval;         /* compiled index expressions; workers add the memory for values */
    uint32_t element_stage; /* the stage with the stores per element */
    struct rt__host_kernel_scan {
        uint32_t first, part[IND__MAX_STATES]; /* the first SCAN; with a combine function: its PARTs, 0: none */
        rt__host_list before, after;           /* the loop of element_stage, split at the SCAN */
        rt__host_list combine;                 /* instructions of its combine function */
        uint32_t num_states, state[2 * IND__MAX_STATES], element[IND__MAX_STATES], combined[IND__MAX_STATES];
    } scan;
    struct rt__host_kernel_sort {
        uint32_t scan, stage; /* the SCAN that sorts, 0: none; stage - 1 computes its operand */
        ind_dtype dtype;      /* the dtype to which its keys are rounded */
    } sort;
    bool matmul;
    struct rt__host_kernel_product {
        uint32_t dot[2]; /* with the same a; 0: none */
        int row[IND_MAX_RANK], col[IND_MAX_RANK], batch[IND_MAX_RANK], num_row, num_col, num_batch;
        rt__host_list a, b[2], epilogue;
        rt__host_direct direct_a, direct_b[2];
        rt__host_packed packed_b[2];
    } product;
};

/* Prepared constants: the outputs of desc.prepare. */
typedef struct rt__prepared {
    ind_module *module;
    uint32_t *constant; /* by constant of `module`: the binding of the main module */
    bool *released;     /* likewise: ind_module_release was called */
    size_t *offset;     /* by value, in the block */
    size_t bytes;
    ind_expr formula; /* bytes */
    rt__mutex mutex;  /* held while the values are computed */
    bool has_mutex;
    /* Number of times that a constant was set, and its value when the values were computed. They are valid if both are
       equal. */
    _Atomic(uint32_t) wanted, done;
    void *data, *block; /* NULL: not allocated */
} rt__prepared;

static void rt__trace_begin(const ind_context *c, const char *name) {
    if (c->desc.trace.begin) c->desc.trace.begin(name, c->desc.trace.user);
}

static void rt__trace_end(const ind_context *c) {
    if (c->desc.trace.end) c->desc.trace.end(c->desc.trace.user);
}

static ind_status rt__prepared_init(ind_module *m);
static void rt__prepared_free(ind_module *m);
static ind_status rt__host_prepare(ind_module *m);
static void rt__host_free(ind_module *m);
static ind_status rt__cuda_prepare(ind_module *m);
static ind_status rt__cuda_build_late(const ind_instance *n, uint32_t at, rt__exec_variant *first);
static void rt__end_ahead(ind_module *m);

static ind_status rt__exec_slot(ind__executable *x, ind_expr e, uint32_t *slot) {
    *slot = ind__program_add(&x->sizes.program, e);
    return *slot == IND__RT_NONE ? ind__failed(x->sizes.program.context) : IND_OK;
}

static uint32_t rt__num_data_sizes(const ind_module *m) {
    return m->desc.lowered->num_unbacked;
}

/* 0 input, 1 constant, 2 output, -1 neither. */
static int rt__binding_kind(const ind__buffer *b) {
    if (b->kind == IND__BUFFER_INPUT) return IND_BINDING_INPUT;
    if (b->kind == IND__BUFFER_CONST) return IND_BINDING_CONST;
    return b->output ? IND_BINDING_OUTPUT : -1;
}

static ind_status rt__module_binding(ind_module *m, uint32_t at, uint32_t buffer) {
    ind__executable *x = m->executable;
    const ind__buffer *b = &m->desc.lowered->buffer[buffer];
    ind_binding_info *info = &m->binding[at];
    info->name = ind__arena_string(&m->arena, b->name, strlen(b->name));
    info->kind = (ind_binding_kind)rt__binding_kind(b);
    info->dtype = b->dtype;
    info->rank = b->layout.rank;
    memcpy(info->size, b->layout.size, sizeof info->size);
    info->mutated = info->kind == IND_BINDING_INPUT && b->mutated_by && !b->donated;
    info->donated = b->donated;
    info->takes_over = -1;
    x->memory.buffer_binding[buffer] = at;
    static const char *const kinds[] = {"input", "constant", "output", "prepared constant"};
    ind__text t = {.context = m->context};
    ind__textf(&t, "%s \"%s\" %s[", kinds[at < m->num_public ? (int)info->kind : 3], b->name, ind_dtype_name(b->dtype));
    for (int d = 0; d < b->layout.rank; d++) {
        if (d) ind__textf(&t, ", ");
        ind__text_expr(&t, b->layout.size[d]);
    }
    ind__textf(&t, "]");
    ind_status status = ind__text_status(&t);
    if (!status) x->memory.binding_text[at] = ind__arena_string(&m->arena, t.data, t.size);
    ind__text_free(&t);
    if (!status) status = rt__exec_slot(x, ind__buffer_most_bytes(m->desc.lowered, b), &x->memory.binding_bytes[at]);
    if (!status) status = rt__exec_slot(x, ind__buffer_bytes(b), &x->memory.binding_used[at]);
    return !status && (!info->name || !x->memory.binding_text[at]) ? IND_ERROR_OUT_OF_MEMORY : status;
}

/* Sets the outputs that may be bound to the memory of donated inputs. */
static void rt__module_take_over(ind_module *m) {
    const ind__executable *x = m->executable;
    for (uint32_t i = 1; i < m->desc.lowered->num_buffers; i++) {
        uint32_t input = m->desc.schedule->takes_over[i];
        if (input) m->binding[x->memory.buffer_binding[i]].takes_over = (int)x->memory.buffer_binding[input];
    }
}

/* Inputs and constants in order of declaration, outputs by their position, then the prepared constants. */
static ind_status rt__module_bindings(ind_module *m) {
    ind__executable *x = m->executable;
    const ind__lowered *p = m->desc.lowered;
    uint32_t count[3] = {0};
    for (uint32_t i = 1; i < p->num_buffers; i++)
        if (rt__binding_kind(&p->buffer[i]) >= 0) count[rt__binding_kind(&p->buffer[i])]++;
    const uint32_t prepared = m->desc.prepare ? m->desc.prepare->num_public - m->desc.prepare->num_consts : 0;
    if (prepared > count[1])
        return ind__fail(m->context, IND_ERROR_VERIFY, "graph \"%s\" lacks a constant", m->desc.name);
    count[1] -= prepared;
    m->num_inputs = count[0];
    m->num_consts = count[1];
    m->num_public = count[0] + count[1] + count[2];
    m->num_bindings = m->num_public + prepared;
    m->binding = (ind_binding_info *)ind__arena_alloc(&m->arena, m->num_bindings * sizeof *m->binding);
    m->constant = (void **)ind__arena_alloc(&m->arena, m->num_bindings * sizeof *m->constant);
    m->constant_block = (void **)ind__arena_alloc(&m->arena, m->num_bindings * sizeof *m->constant_block);
    x->memory.binding_bytes =
        (uint32_t *)ind__arena_alloc(&m->arena, m->num_bindings * sizeof *x->memory.binding_bytes);
    x->memory.binding_used = (uint32_t *)ind__arena_alloc(&m->arena, m->num_bindings * sizeof *x->memory.binding_used);
    x->memory.binding_text = (char **)ind__arena_alloc(&m->arena, m->num_bindings * sizeof *x->memory.binding_text);
    if (!m->binding || !m->constant || !m->constant_block || !x->memory.binding_bytes || !x->memory.binding_used ||
        !x->memory.binding_text)
        return IND_ERROR_OUT_OF_MEMORY;
    uint32_t next[2] = {0, count[0]};
    for (uint32_t i = 1; i < p->num_buffers; i++) {
        int kind = rt__binding_kind(&p->buffer[i]);
        if (kind < 0) continue;
        uint32_t at = kind < 2 ? next[kind]++ : count[0] + count[1] + p->buffer[i].output - 1;
        if (kind == 1 && at >= count[0] + count[1]) at += count[2];
        if (at >= m->num_bindings || m->binding[at].name)
            return ind__fail(m->context, IND_ERROR_VERIFY, "output position %u of \"%s\" is not one of %u",
                             p->buffer[i].output, p->buffer[i].name, count[2]);
        ind_status status = rt__module_binding(m, at, i);
        if (status) return status;
    }
    rt__module_take_over(m);
    return IND_OK;
}

/* Sets the location of every buffer: a binding, or an offset in the arena. A buffer may share the offset of one that it
   overwrites in place. */
static ind_status rt__module_buffers(ind_module *m) {
    ind__executable *x = m->executable;
    const ind_schedule *s = m->desc.schedule;
    for (uint32_t i = 1; i < x->memory.num_buffers; i++) {
        uint32_t root = i;
        while (s->storage && s->storage[root] && s->storage[root] != root && !ind__ok(s->offset[root]) &&
               x->memory.buffer_binding[root] == IND__RT_NONE)
            root = s->storage[root];
        if (x->memory.buffer_binding[i] == IND__RT_NONE) x->memory.buffer_binding[i] = x->memory.buffer_binding[root];
        ind_status status = IND_OK;
        if (x->memory.buffer_binding[i] == IND__RT_NONE && ind__ok(s->offset[root]))
            status = rt__exec_slot(x, s->offset[root], &x->memory.buffer_offset[i]);
        if (!status)
            status = rt__exec_slot(x, ind__buffer_numel(&m->desc.lowered->buffer[i]), &x->memory.buffer_numel[i]);
        if (status) return status;
    }
    return rt__exec_slot(x, s->arena_bytes, &x->memory.arena_slot);
}

/* Creates the facts for later queries of the module, from its conditions alone. The graph may be freed by then. */
static ind_status rt__module_facts(ind_module *m) {
    if (m->desc.num_conditions == 0) return IND_OK;
    ind_facts *before = ind_facts_enter(m->context, NULL);
    ind_status status = ind_facts_create(m->context, &m->facts);
    for (uint32_t i = 0; i < m->desc.num_conditions && !status; i++)
        status = ind_facts_assume(m->facts, m->desc.condition[i].e);
    (void)ind_facts_enter(m->context, before);
    return status;
}

/* Finds the indices of the sizes in e, for the failure message. */
static ind_status rt__condition_sizes(ind_module *m, ind_expr e, rt__exec_condition *out) {
    out->size = (uint32_t *)ind__arena_alloc(&m->arena, m->desc.num_sizes * sizeof *out->size);
    if (!out->size) return IND_ERROR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < m->desc.num_sizes; i++)
        if (ind__expr_depends(e, m->desc.sizes[i])) out->size[out->num_sizes++] = i;
    return IND_OK;
}

static ind_status rt__module_condition(ind_module *m, const ind__condition *c, rt__exec_condition *out) {
    ind__executable *x = m->executable;
    out->guard = c->guard;
    out->slot = ind__program_add(&x->conditions.check, c->e);
    if (out->slot == IND__RT_NONE) return ind__failed(m->context);
    out->text = ind__arena_string(&m->arena, c->text, strlen(c->text));
    return out->text ? rt__condition_sizes(m, c->e, out) : IND_ERROR_OUT_OF_MEMORY;
}

static ind_status rt__module_derived(ind_module *m) {
    ind__executable *x = m->executable;
    for (uint32_t i = 0; i < m->desc.num_sizes; i++) {
        ind_expr e = m->facts ? ind_simplify(m->facts, m->desc.sizes[i]) : m->desc.sizes[i];
        if (!ind__ok(e)) return ind__failed(m->context);
        const ind_symbol *s = ind_expr_symbol(e);
        x->conditions.size_slot[i] = IND__RT_NONE;
        x->sizes.size[i].hint = ind_hint(e);                        /* a value that the facts allow */
        if (s && !strcmp(s->name, x->sizes.size[i].name)) continue; /* free, perhaps with a narrower range */
        x->conditions.size_formula[i] = e;
        x->conditions.size_slot[i] = ind__program_add(&x->conditions.derive, e);
        if (x->conditions.size_slot[i] == IND__RT_NONE) return ind__failed(m->context);
    }
    return IND_OK;
}

static ind_status rt__module_conditions(ind_module *m) {
    ind__executable *x = m->executable;
    uint32_t num = m->desc.num_conditions, sizes = m->desc.num_sizes;
    x->conditions.condition = (rt__exec_condition *)ind__arena_alloc(&m->arena, num * sizeof *x->conditions.condition);
    x->conditions.size_formula = (ind_expr *)ind__arena_alloc(&m->arena, sizes * sizeof *x->conditions.size_formula);
    x->conditions.size_slot = (uint32_t *)ind__arena_alloc(&m->arena, sizes * sizeof *x->conditions.size_slot);
    if (!x->conditions.condition || !x->conditions.size_formula || !x->conditions.size_slot)
        return IND_ERROR_OUT_OF_MEMORY;
    ind_status status = ind__program_init(&x->conditions.check, m->context, m->desc.sizes, sizes);
    if (!status) status = ind__program_init(&x->conditions.derive, m->context, m->desc.sizes, sizes);
    if (!status) status = rt__module_facts(m);
    if (!status) status = rt__module_derived(m);
    for (uint32_t i = 0; i < num && !status; i++)
        status = rt__module_condition(m, &m->desc.condition[i], &x->conditions.condition[i]);
    uint32_t most = x->conditions.check.num_ops > x->conditions.derive.num_ops ? x->conditions.check.num_ops
                                                                               : x->conditions.derive.num_ops;
    if (x->sizes.most.num_ops > most) most = x->sizes.most.num_ops;
    x->conditions.num_scratch = x->sizes.num_symbols + most;
    return status;
}

static const char *const *rt__copy_names(ind__arena *a, const char *const *name, uint32_t num) {
    const char **copy = (const char **)ind__arena_alloc(a, num * sizeof *copy);
    for (uint32_t i = 0; copy && i < num; i++) {
        if (name && name[i] && !(copy[i] = ind__arena_string(a, name[i], strlen(name[i])))) return NULL;
    }
    return copy;
}

/* Copies the caller's names and arrays into the module. */
static ind_status rt__module_copy_desc(ind_module *m, const ind__module_desc *d) {
    ind__arena *a = &m->arena;
    const char *name = d->name ? d->name : "graph";
    m->desc.name = ind__arena_string(a, name, strlen(name));
    m->desc.sizes = (const ind_expr *)ind__arena_copy(a, d->sizes, d->num_sizes * sizeof *d->sizes);
    m->desc.condition = (ind__condition *)ind__arena_copy(a, d->condition, d->num_conditions * sizeof *d->condition);
    m->desc.origin_name = rt__copy_names(a, d->origin_name, d->num_origins);
    m->desc.result_name = rt__copy_names(a, d->result_name, d->num_origins);
    m->desc.called_name = rt__copy_names(a, d->called_name ? d->called_name : d->origin_name, d->num_origins);
    bool ok = m->desc.name && m->desc.sizes && m->desc.condition && m->desc.origin_name && m->desc.called_name &&
              m->desc.result_name;
    return ok ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
}

/* Returns the step that writes the buffer. */
static uint32_t rt__step_of(const ind_module *m, uint32_t buffer) {
    const ind_schedule *s = m->desc.schedule;
    for (uint32_t i = 0; i < s->num_kernels; i++)
        for (uint32_t k = s->kernel[i].num_reads; k < s->kernel[i].num_args; k++)
            if (s->kernel[i].arg[k] == buffer) return i;
    return IND__RT_NONE;
}

/* Returns the step whose launch runs this one. On the host device, the steps of a launch run in sequence. */
static uint32_t rt__launch_of(const ind_module *m, uint32_t step) {
    return m->desc.device == IND_DEVICE_CUDA ? m->desc.plan->kernel[step].first : m->desc.schedule->launch[step];
}

/* Sets the inputs of the program, and the program that bounds the data-dependent sizes. A size has no step if no kernel
   needs it: the loops that count it were eliminated. */
static ind_status rt__module_symbols(ind_module *m) {
    ind__executable *x = m->executable;
    const ind__unbacked *list = m->desc.lowered->unbacked;
    uint32_t sizes = m->desc.num_sizes, num = rt__num_data_sizes(m);
    x->sizes.num_symbols = sizes + num;
    x->sizes.num_declared = sizes;
    x->sizes.symbol =
        (ind_expr *)ind__arena_alloc(&m->arena, (x->sizes.num_symbols + (size_t)1) * sizeof *x->sizes.symbol);
    if (!x->sizes.symbol) return IND_ERROR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < sizes; i++) x->sizes.symbol[i] = m->desc.sizes[i];
    for (uint32_t u = 0; u < num; u++) {
        struct rt__data_size *d = &x->sizes.data_size[u];
        x->sizes.symbol[sizes + u] = list[u].symbol;
        d->symbol = *ind_expr_symbol(list[u].symbol);
        d->symbol.name = ind__arena_string(&m->arena, d->symbol.name, strlen(d->symbol.name));
        d->step = rt__step_of(m, list[u].buffer);
        if (!d->symbol.name) return IND_ERROR_OUT_OF_MEMORY;
    }
    ind_status status = ind__program_init(&x->sizes.program, m->context, x->sizes.symbol, x->sizes.num_symbols);
    if (!status) status = ind__program_init(&x->sizes.most, m->context, x->sizes.symbol, x->sizes.num_symbols);
    for (uint32_t u = 0; u < num && !status; u++) {
        x->sizes.data_size[u].most_slot = ind__program_add(&x->sizes.most, list[u].most);
        if (x->sizes.data_size[u].most_slot == IND__RT_NONE) status = ind__failed(m->context);
    }
    return status;
}

/* Runs the module's program on sizes, with data-dependent sizes at their maximum. */
static ind_status rt__run_program(const ind__executable *x, const int64_t *sizes, int64_t *slot, int64_t *scratch) {
    const uint32_t num = x->sizes.num_symbols, declared = x->sizes.num_declared;
    memcpy(slot, sizes, declared * sizeof *slot);
    if (num > declared) {
        memcpy(scratch, sizes, declared * sizeof *scratch);
        memset(scratch + declared, 0, (num - declared) * sizeof *scratch);
        ind_status status = ind__program_run(&x->sizes.most, scratch);
        if (status) return status;
    }
    for (uint32_t u = declared; u < num; u++) slot[u] = scratch[x->sizes.data_size[u - declared].most_slot];
    return ind__program_run(&x->sizes.program, slot);
}

static ind_status rt__module_tables(ind_module *m) {
    ind_context *c = m->context;
    ind__arena *a = &m->arena;
    ind__executable *x = m->executable;
    uint32_t n = x->memory.num_buffers = m->desc.lowered->num_buffers;
    x->launches.num_steps = m->desc.schedule->num_kernels;
    x->sizes.size = (ind_symbol *)ind__arena_alloc(a, m->desc.num_sizes * sizeof *x->sizes.size);
    x->memory.buffer_binding = (uint32_t *)ind__arena_alloc(a, (n + 1) * sizeof *x->memory.buffer_binding);
    x->memory.buffer_offset = (uint32_t *)ind__arena_alloc(a, (n + 1) * sizeof *x->memory.buffer_offset);
    x->memory.buffer_numel = (uint32_t *)ind__arena_alloc(a, (n + 1) * sizeof *x->memory.buffer_numel);
    x->launches.step = (rt__exec_step *)ind__arena_alloc(a, x->launches.num_steps * sizeof *x->launches.step);
    if (!x->sizes.size || !x->memory.buffer_binding || !x->memory.buffer_offset || !x->memory.buffer_numel ||
        !x->launches.step)
        return IND_ERROR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < n; i++)
        x->memory.buffer_binding[i] = x->memory.buffer_offset[i] = x->memory.buffer_numel[i] = IND__RT_NONE;
    for (uint32_t i = 0; i < m->desc.num_sizes; i++) {
        const ind_symbol *s = ind_expr_symbol(m->desc.sizes[i]);
        if (!s)
            return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "size %u of graph \"%s\" is no symbol", i, m->desc.name);
        x->sizes.size[i] = *s;
        if (!(x->sizes.size[i].name = ind__arena_string(a, s->name, strlen(s->name)))) return IND_ERROR_OUT_OF_MEMORY;
    }
    for (uint32_t i = 0; i < x->launches.num_steps; i++) x->launches.step[i].name = m->desc.schedule->kernel[i].name;
    return rt__module_symbols(m);
}

/* True if the body reads indices from memory. Such indices are checked. */
static bool rt__body_checked(const ind_body *b) {
    for (uint32_t i = 1; i < b->num_inst; i++)
        if (b->inst[i].op == IND_LOOP_INDIRECT) return true;
    return false;
}

static ind_status rt__call_tensor(ind_module *m, const ind__call_arg *a, rt__exec_tensor *out) {
    const ind__lowered *p = m->desc.lowered;
    const ind_extern_type *t = &a->type;
    const bool view = a->offset.context != NULL;
    ind_expr stride = ind_int(m->context, 1);
    out->count = out->offset = IND__RT_NONE;
    ind_status status = view ? rt__exec_slot(m->executable, a->offset, &out->offset) : IND_OK;
    for (uint32_t u = 0; t->rank && u < p->num_unbacked; u++)
        if (ind_expr_same(t->size[0], p->unbacked[u].symbol)) out->count = p->unbacked[u].buffer;
    for (int d = t->rank; d-- > 0 && !status;) {
        status = rt__exec_slot(m->executable, ind__most(p->unbacked, p->num_unbacked, t->size[d]), &out->size[d]);
        if (!status) status = rt__exec_slot(m->executable, view ? a->stride[d] : stride, &out->stride[d]);
        stride = ind_expr_mul(stride, t->size[d]);
    }
    return status;
}

/* Sets sizes and strides of an extern call's operands. */
static ind_status rt__module_call(ind_module *m, uint32_t at) {
    ind__executable *x = m->executable;
    rt__exec_step *s = &x->launches.step[at];
    const ind__extern_call *call = s->call = m->desc.schedule->kernel[at].body->call;
    if (!call) return IND_OK;
    uint32_t n = call->num_inputs + call->num_outputs;
    s->first_tensor = x->launches.num_tensors;
    x->launches.num_tensors += n;
    s->workspace_slot = call->workspace ? x->memory.buffer_numel[call->workspace] : IND__RT_NONE;
    s->tensor = (rt__exec_tensor *)ind__arena_alloc(&m->arena, n * sizeof *s->tensor);
    ind_status status = s->tensor ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
    for (uint32_t k = 0; k < n && !status; k++) status = rt__call_tensor(m, &call->arg[k], &s->tensor[k]);
    return status;
}

static ind_status rt__module_prepare(ind_module *m) {
    ind__executable *x = m->executable;
    ind_status status = rt__module_tables(m);
    if (!status) status = rt__module_bindings(m);
    if (!status) status = rt__module_buffers(m);
    if (!status) status = rt__module_conditions(m);
    if (!status && m->desc.prepare) status = rt__prepared_init(m);
    for (uint32_t i = 0; i < x->launches.num_steps && !status; i++) status = rt__module_call(m, i);
    for (uint32_t i = 0; i < x->launches.num_steps && !status; i++)
        x->launches.checked |= rt__body_checked(m->desc.schedule->kernel[i].body);
    m->desc.stats.device = m->desc.device;
    m->desc.stats.num_kernels = (int)m->desc.schedule->num_launches;
    if (status) return status;
    return m->desc.device == IND_DEVICE_CUDA ? rt__cuda_prepare(m) : rt__host_prepare(m);
}

static void rt__lowered_destroy(ind_context *c, ind__lowered *p) {
    if (p) ind__lowered_free(p);
    ind__free(c, p);
}

static void rt__desc_destroy(ind_context *c, const ind__module_desc *d) {
    if (d->plan) ind__plan_free(d->plan);
    if (d->schedule) ind__schedule_free(d->schedule);
    rt__lowered_destroy(c, d->lowered);
    ind_module_destroy(d->prepare);
}

/* Frees everything except the context. */
static void rt__module_clear(ind_module *m) {
    ind_context *c = m->context;
    ind__executable *x = m->executable;
    if (x) {
        rt__end_ahead(m);
        while (x->instances) ind_instance_destroy(x->instances);
        const uint32_t blocks = m->constant_block ? m->num_bindings : 0;
        bool owns = false;
        for (uint32_t i = 0; i < blocks; i++) owns |= m->constant_block[i] != NULL;
        bool inside = owns && m->desc.device == IND_DEVICE_CUDA && !rt__cuda_enter(c, x->runtime);
        for (uint32_t i = 0; i < blocks; i++) {
            if (!m->constant_block[i]) continue;
            if (m->desc.device == IND_DEVICE_HOST)
                ind__free(c, m->constant_block[i]);
            else if (inside)
                (void)x->runtime->driver.cuMemFree_v2((rt__cuda_ptr)(uintptr_t)m->constant_block[i]);
        }
        if (inside) rt__cuda_leave(x->runtime);
        rt__prepared_free(m);
        rt__host_free(m);
        ind__program_free(&x->sizes.program);
        ind__program_free(&x->conditions.check);
        ind__program_free(&x->conditions.derive);
        ind__program_free(&x->sizes.most);
        ind__free(c, x->launches.arg);
        ind__free(c, x->launches.map);
        ind__free(c, x);
    }
    for (size_t i = 0; i < sizeof m->stage_text / sizeof *m->stage_text; i++) ind__free(c, m->stage_text[i]);
    for (size_t i = 0; i < m->num_names; i++) ind__free(c, m->name[i]);
    ind__free(c, m->name);
    ind__free(c, m->html);
    rt__desc_destroy(c, &m->desc);
    ind_facts_destroy(m->facts);
    ind__arena_free(&m->arena);
    ind__free(c, m);
}

static void rt__module_free(ind__owned *owned) {
    ind_module *m = (ind_module *)owned;
    ind_context *c = m->context;
    rt__module_clear(m);
    if (c != c->root) ind__context_leave(c);
}

ind__query ind__query_begin(const ind_module *m) {
    const ind__query q = {m->context, ind__refusals(m->context)};
    ind__lock(m->context);
    return q;
}

ind_status ind__query_end(const ind__query *q, ind_status status) {
    ind__unlock(q->context);
    return status ? status : ind__refused_since(q->context, q->refusals);
}

ind_status ind__module_create(ind_context *c, const ind__module_desc *d, ind_module **module) {
    *module = NULL;
    rt__runtime *r = rt__runtime_of(c);
    ind_module *m = r ? (ind_module *)ind__alloc(c, sizeof *m) : NULL;
    if (!m) {
        rt__desc_destroy(c, d);
        return IND_ERROR_OUT_OF_MEMORY;
    }
    m->context = m->arena.context = c;
    m->desc = *d;
    m->executable = (ind__executable *)ind__alloc(c, sizeof *m->executable);
    ind_status status = m->executable ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
    if (!status) {
        m->executable->runtime = r;
        atomic_init(&m->executable->ahead.stop, 0);
        m->executable->sizes.program.context = c;
        status = rt__module_copy_desc(m, d);
    }
    if (!status) status = rt__module_prepare(m);
    m->desc.progress.call.report = NULL;
    if (status) {
        rt__module_clear(m);
        return status;
    }
    ind__own(c->root, &m->owned, rt__module_free);
    *module = m;
    return IND_OK;
}

void ind_module_destroy(ind_module *m) {
    if (!m) return;
    ind__disown(m->context->root, &m->owned);
    rt__module_free(&m->owned);
}

int ind_module_num_bindings(const ind_module *m) {
    return m ? (int)m->num_public : 0;
}

const ind_binding_info *ind_module_query_binding(const ind_module *m, int index) {
    return m && index >= 0 && (uint32_t)index < m->num_public ? &m->binding[index] : NULL;
}

int ind_module_num_sizes(const ind_module *m) {
    return m ? (int)m->desc.num_sizes : 0;
}

const ind_symbol *ind_module_query_size(const ind_module *m, int index) {
    return m && index >= 0 && (uint32_t)index < m->desc.num_sizes ? &m->executable->sizes.size[index] : NULL;
}

ind_expr ind_module_size_formula(const ind_module *m, int index) {
    ind_expr none = {m ? m->context : NULL, 0};
    bool derived = m && index >= 0 && (uint32_t)index < m->desc.num_sizes &&
                   ind__ok(m->executable->conditions.size_formula[index]);
    return derived ? m->executable->conditions.size_formula[index] : none;
}

int ind_module_num_data_sizes(const ind_module *m) {
    return m ? (int)rt__num_data_sizes(m) : 0;
}

static bool rt__is_data_size(const ind_module *m, int index) {
    return m && index >= 0 && (uint32_t)index < rt__num_data_sizes(m);
}

const ind_symbol *ind_module_query_data_size(const ind_module *m, int index) {
    return rt__is_data_size(m, index) ? &m->executable->sizes.data_size[index].symbol : NULL;
}

ind_expr ind_module_data_size_most(const ind_module *m, int index) {
    ind_expr none = {m ? m->context : NULL, 0};
    return rt__is_data_size(m, index) ? m->desc.lowered->unbacked[index].most : none;
}

typedef struct rt__shape_values {
    const ind__executable *x;
    const int64_t *sizes, *data_sizes;
} rt__shape_values;

static bool rt__shape_value(const ind_symbol *s, void *user, int64_t *out) {
    const rt__shape_values *v = (const rt__shape_values *)user;
    uint32_t declared = 0;
    for (uint32_t i = 0; i < v->x->sizes.num_symbols; i++) {
        const ind_symbol *own = ind_expr_symbol(v->x->sizes.symbol[i]);
        bool data = own->kind == IND_SYMBOL_UNBACKED;
        declared += !data;
        if (own->kind == s->kind && !strcmp(own->name, s->name))
            return *out = data ? v->data_sizes[i - declared] : v->sizes[i], true;
    }
    return false;
}

ind_status ind_module_shape(ind_module *m, int index, const char *sizes, const int64_t *data_sizes, int64_t *shape) {
    if (!m) return IND_ERROR_INVALID_ARGUMENT;
    if (index < 0 || (uint32_t)index >= m->num_public || !shape)
        return ind__fail(m->context, IND_ERROR_INVALID_ARGUMENT, "shape: there is no binding %d, or shape is NULL",
                         index);
    const ind__lowered *p = m->desc.lowered;
    const ind_binding_info *b = &m->binding[index];
    int64_t *values = (int64_t *)ind__alloc(m->context, (m->desc.num_sizes + (size_t)1) * sizeof *values);
    if (!values) return IND_ERROR_OUT_OF_MEMORY;
    const ind__query q = ind__query_begin(m);
    rt__shape_values v = {m->executable, values, data_sizes};
    ind_facts *before = ind_facts_enter(m->context, m->facts);
    ind_status status = ind__module_sizes(m, "run", sizes, values);
    for (int d = 0; d < b->rank && !status; d++) {
        ind_expr e = data_sizes ? b->size[d] : ind__most(p->unbacked, p->num_unbacked, b->size[d]);
        status = ind__ok(e)
                     ? ind_expr_eval(e, rt__shape_value, &v, &shape[d])
                     : ind__fail(m->context, IND_ERROR_NOT_SUPPORTED, "shape: dim %d of %s has no bound", d, b->name);
    }
    (void)ind_facts_enter(m->context, before);
    ind__free(m->context, values);
    return ind__query_end(&q, status);
}

int ind_module_num_conditions(const ind_module *m) {
    return m ? (int)m->desc.num_conditions : 0;
}

const char *ind_module_query_condition(const ind_module *m, int index, bool *guard) {
    if (guard) *guard = false;
    if (!m || index < 0 || (uint32_t)index >= m->desc.num_conditions) return NULL;
    if (guard) *guard = m->executable->conditions.condition[index].guard;
    return m->executable->conditions.condition[index].text;
}

ind_expr ind_module_workspace(const ind_module *m) {
    return m ? m->desc.schedule->arena_bytes : (ind_expr){0};
}

ind_expr ind_module_peak(const ind_module *m) {
    return m ? m->desc.schedule->peak_bytes : (ind_expr){0};
}

ind_module_stats ind_module_query_stats(const ind_module *m) {
    ind_module_stats stats = {0};
    if (!m) return stats;
    ind__lists_lock(m->context); /* launches may update the statistics */
    stats = m->desc.stats;
    ind__lists_unlock(m->context);
    return stats;
}
