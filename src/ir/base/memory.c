/* ------------------------------------------------------------------------------------------------ >>memory */

const char *ind_status_text(ind_status status) {
    static const char *const text[] = {
#define X(status, text) text,
        IND_STATUSES(X)
#undef X
    };
    return (size_t)status < sizeof text / sizeof *text ? text[status] : "unknown status";
}

/* Returns zeroed memory. calloc need not touch pages that come fresh from the system. */
static void *ir__default_alloc(size_t bytes, void *user) {
    (void)user;
    return calloc(1, bytes);
}

static void ir__default_free(void *memory, void *user) {
    (void)user;
    free(memory);
}

void *ind__alloc(ind_context *c, size_t bytes) {
    void *p = bytes > PTRDIFF_MAX ? NULL : c->desc.allocator.alloc(bytes ? bytes : 1, c->desc.allocator.user);
    if (!p) {
        ind__fail(c, IND_ERROR_OUT_OF_MEMORY, "out of memory: the allocator refused %zu bytes", bytes);
        return NULL;
    }
    return c->desc.allocator.alloc == ir__default_alloc ? p : memset(p, 0, bytes);
}

void ind__free(ind_context *c, void *p) {
    if (p) c->desc.allocator.free(p, c->desc.allocator.user);
}

void *ind__resize(ind_context *c, void *p, size_t old_bytes, size_t new_bytes) {
    void *q = ind__alloc(c, new_bytes);
    if (!q) return NULL;
    if (p) memcpy(q, p, old_bytes < new_bytes ? old_bytes : new_bytes);
    ind__free(c, p);
    return q;
}

bool ind__size_mul(size_t a, size_t b, size_t *out) {
    if (b && a > SIZE_MAX / b) return false;
    *out = a * b;
    return true;
}

void *ind__grow(ind_context *c, void **items, uint32_t *num, uint32_t *capacity, size_t item_bytes, uint32_t more) {
    if (more > UINT32_MAX / 2 - *num) {
        ind__fail(c, IND_ERROR_LIMIT, "more than %u elements in one table", UINT32_MAX / 2);
        return NULL;
    }
    if (*num + more > *capacity) {
        uint32_t want = *capacity ? *capacity * 2 : 8;
        while (want < *num + more) want *= 2;
        size_t bytes;
        if (!ind__size_mul(want, item_bytes, &bytes)) return NULL;
        void *grown = ind__resize(c, *items, *num * item_bytes, bytes);
        if (!grown) return NULL;
        *items = grown;
        *capacity = want;
    }
    void *at = (char *)*items + *num * item_bytes;
    memset(at, 0, more * item_bytes);
    *num += more;
    return at;
}

struct ind__arena_block {
    struct ind__arena_block *next;
    size_t bytes;
};
#define IND__ARENA_HEADER ((sizeof(struct ind__arena_block) + 15) & ~(size_t)15)

void *ind__arena_alloc(ind__arena *a, size_t bytes) {
    if (bytes > PTRDIFF_MAX / 2) {
        ind__fail(a->context, IND_ERROR_OUT_OF_MEMORY, "out of memory: %zu bytes asked for", bytes);
        return NULL;
    }
    bytes = (bytes + 15) & ~(size_t)15;
    if (!a->head || a->capacity - a->used < bytes) {
        size_t block = a->head && a->capacity < (1u << 20) ? a->capacity * 2 : 1u << 12;
        if (a->head && a->capacity >= (1u << 20)) block = 1u << 20;
        if (block < bytes) block = bytes;
        struct ind__arena_block *b = (struct ind__arena_block *)ind__alloc(a->context, IND__ARENA_HEADER + block);
        if (!b) return NULL;
        b->next = a->head;
        a->head = b;
        a->used = 0;
        a->capacity = block;
    }
    void *p = (char *)a->head + IND__ARENA_HEADER + a->used;
    a->used += bytes;
    return p; /* fresh blocks are zeroed, and no byte is handed out twice */
}

void *ind__arena_copy(ind__arena *a, const void *data, size_t bytes) {
    void *p = ind__arena_alloc(a, bytes);
    if (p && bytes) memcpy(p, data, bytes);
    return p;
}

char *ind__arena_string(ind__arena *a, const char *text, size_t length) {
    char *p = (char *)ind__arena_alloc(a, length + 1);
    if (p && length) memcpy(p, text, length);
    return p;
}

void ind__arena_free(ind__arena *a) {
    while (a->head) {
        struct ind__arena_block *next = a->head->next;
        ind__free(a->context, a->head);
        a->head = next;
    }
    a->used = a->capacity = 0;
}

ind_status ind__fail(ind_context *c, ind_status status, const char *format, ...) {
    ind__state *s = ind__state_of(c);
    s->overflows += status == IND_ERROR_OVERFLOW;
    if (s->quiet && (status == IND_ERROR_OVERFLOW || status == IND_ERROR_INVALID_ARGUMENT || status == IND_ERROR_LIMIT))
        return status;
    char text[sizeof s->text]; /* a copy: the old text may be an argument of the new one */
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    s->failures++;
    s->refusals += status == IND_ERROR_OUT_OF_MEMORY;
    s->status = status;
    memcpy(s->text, text, strlen(text) + 1);
    ind__log(c, 3, IND_LOG_ERROR, "%s", text);
    return status;
}

ind_status ind__failed(ind_context *c) {
    const ind__state *s = ind__state_of(c);
    return s->status ? s->status : ind__fail(c, IND_ERROR_VERIFY, "a step failed without a reason");
}

ind_status ind__refused_since(const ind_context *c, uint32_t before) {
    return ind__refusals(c) == before ? IND_OK : IND_ERROR_OUT_OF_MEMORY;
}

void ind__log(ind_context *c, int level, ind_log_category category, const char *format, ...) {
    static const char *const names[] = {
#define X(name, text) text ": ",
        IND_LOG_CATEGORIES(X)
#undef X
    };
    const uint32_t wanted = c->desc.log_categories;
    if (!c->desc.log.log || level > c->desc.log_level || (wanted && !(wanted >> category & 1))) return;
    char text[1024];
    const int head = snprintf(text, sizeof text, "%s", names[category]);
    va_list args;
    va_start(args, format);
    vsnprintf(text + head, sizeof text - (size_t)head, format, args);
    va_end(args);
    c->desc.log.log(level, text, c->desc.log.user);
}

bool ind__verifying(ind_context *c) {
#ifdef NDEBUG
    return c->desc.verify > 0;
#else
    return c->desc.verify >= 0;
#endif
}

void ind__own(ind_context *c, ind__owned *o, void (*destroy)(ind__owned *)) {
    ind__lists_lock(c);
    o->prev = NULL;
    o->next = c->owned;
    o->destroy = destroy;
    if (c->owned) c->owned->prev = o;
    c->owned = o;
    ind__lists_unlock(c);
}

void ind__disown(ind_context *c, ind__owned *o) {
    ind__lists_lock(c);
    if (o->prev) o->prev->next = o->next;
    if (o->next) o->next->prev = o->prev;
    if (c->owned == o) c->owned = o->next;
    o->prev = o->next = NULL;
    ind__lists_unlock(c);
}

static void ir__env_string(const char **field, const char *name) {
    const char *v = *field ? NULL : getenv(name);
    if (v && *v) *field = v;
}

static void ir__env_int(int *field, const char *name) {
    const char *v = *field ? NULL : getenv(name);
    if (v && *v) *field = (int)strtol(v, NULL, 10);
}

/* The only function that reads the environment. Returns an IND_DEVICE that names no device; NULL: there is none. */
static const char *ir__context_defaults(ind_context_desc *d) {
    if (!d->allocator.alloc) {
        d->allocator.alloc = ir__default_alloc;
        d->allocator.free = ir__default_free;
    }
    const char *device = d->device ? NULL : getenv("IND_DEVICE");
    if (device && !strcmp(device, "host")) d->device = IND_DEVICE_HOST;
    if (device && !strcmp(device, "cuda")) d->device = IND_DEVICE_CUDA;
    ir__env_string(&d->cuda.library_path, "IND_CUDA_LIBRARY");
    ir__env_string(&d->cuda.nvrtc_path, "IND_NVRTC_LIBRARY");
    ir__env_string(&d->cuda.cublaslt_path, "IND_CUBLASLT_LIBRARY");
    ir__env_string(&d->cuda.source_folder, "IND_CUDA_SOURCES");
    ir__env_string(&d->pack.path, "IND_PACK");
    ir__env_int(&d->log_level, "IND_LOG");
    ir__env_int(&d->verify, "IND_VERIFY");
    ir__env_int(&d->num_threads, "IND_THREADS");
    return device && *device && !d->device && strcmp(device, "auto") != 0 ? device : NULL;
}

static bool ir__keep_string(ind_context *c, const char **s) {
    if (!*s) return true;
    *s = ind__arena_string(&c->names, *s, strlen(*s));
    return *s != NULL;
}

static bool ir__interner_create(ind_context *c);
static void ir__interner_destroy(ind_context *c);
static void ir__record_memory_free(ind_context *c, struct ir__record_memory *m);

/* Creates the members that every context has, including a module's. */
static bool ir__context_begin(ind_context *c) {
    c->lock = ir__lock_create(c);
    return c->lock && ir__interner_create(c);
}

ind_status ind_context_create(const ind_context_desc *desc, ind_context **context) {
    if (!context) return IND_ERROR_INVALID_ARGUMENT;
    *context = NULL;
    ind_context_desc d = {0};
    if (desc) d = *desc;
    if (!d.allocator.alloc != !d.allocator.free || !d.trace.begin != !d.trace.end) return IND_ERROR_INVALID_ARGUMENT;
    const char *unknown = ir__context_defaults(&d);
    ind_context *c = (ind_context *)d.allocator.alloc(sizeof *c, d.allocator.user);
    if (!c) return IND_ERROR_OUT_OF_MEMORY;
    memset(c, 0, sizeof *c);
    c->desc = d;
    c->root = c->names.context = c;
    c->states = ir__states_create(c);
    bool ok = c->states && (c->lists = ir__lock_create(c)) != NULL && ir__context_begin(c);
    ok = ok && ir__keep_string(c, &c->desc.cuda.library_path) && ir__keep_string(c, &c->desc.cuda.nvrtc_path) &&
         ir__keep_string(c, &c->desc.cuda.cublaslt_path) && ir__keep_string(c, &c->desc.cuda.source_folder) &&
         ir__keep_string(c, &c->desc.pack.path);
    if (!ok) {
        ind_context_destroy(c);
        return IND_ERROR_OUT_OF_MEMORY;
    }
    if (unknown) ind__log(c, 1, IND_LOG_DEVICE, "IND_DEVICE=%s is none of host, cuda, auto: it is ignored", unknown);
    *context = c;
    return IND_OK;
}

static void ir__destroy_owned(ind_context *c) {
    while (c->owned) {
        ind__owned *o = c->owned;
        ind__disown(c, o);
        o->destroy(o);
    }
}

void ind_context_destroy(ind_context *c) {
    if (!c) return;
    ir__destroy_owned(c);
    if (c->runtime_destroy) c->runtime_destroy(c);
    ir__record_memory_free(c, c->record_memory);
    ir__interner_destroy(c);
    ind__arena_free(&c->names);
    ir__lock_destroy(c, c->lock);
    ir__lock_destroy(c, c->lists);
    ir__states_destroy(c, c->states);
    c->desc.allocator.free(c, c->desc.allocator.user);
}

ind_context *ind__context_fork(ind_context *c) {
    ind_context *root = c->root, *fork = (ind_context *)ind__alloc(root, sizeof *fork);
    if (!fork) return NULL;
    fork->desc = root->desc;
    fork->root = root;
    if (ir__context_begin(fork)) return fork;
    ind__context_leave(fork);
    return NULL;
}

void ind__context_leave(ind_context *c) {
    if (!c) return;
    ind_context *root = c->root;
    ir__destroy_owned(c);
    ir__record_memory_free(c, c->record_memory);
    ir__interner_destroy(c);
    ir__lock_destroy(c, c->lock);
    ind__free(root, c);
}

const char *ind_error(const ind_context *c) {
    return c ? ind__state_of(c)->text : "no context: ind_context_create failed or was not called";
}

ind_status ind_error_status(const ind_context *c) {
    return c ? ind__state_of(c)->status : IND_ERROR_INVALID_ARGUMENT;
}

const ind_context_desc *ind_context_query_desc(const ind_context *c) {
    return c ? &c->desc : NULL;
}

/* ------------------------------------------------------------------------------------------------- types */

static const struct ir__dtype_row {
    const char *name;
    int bytes;
    char cls;
} ir__dtype_table[IND_NUM_DTYPES] = {{"none", 0, 0},
#define X(name, text, bytes, cls, ctype) {text, bytes, cls},
                                     IND_DTYPES(X)
#undef X
};

static const struct ir__dtype_row *ir__dtype_row(ind_dtype d) {
    return &ir__dtype_table[(unsigned)d < IND_NUM_DTYPES ? d : 0];
}

const char *ind_dtype_name(ind_dtype d) {
    return ir__dtype_row(d)->name;
}

int ind_dtype_bytes(ind_dtype d) {
    return ir__dtype_row(d)->bytes;
}

bool ind_dtype_is_float(ind_dtype d) {
    return ir__dtype_row(d)->cls == 'f';
}

bool ind_dtype_is_integer(ind_dtype d) {
    return ir__dtype_row(d)->cls == 'i' || ir__dtype_row(d)->cls == 'u';
}

ind_dtype ind_dtype_compute(ind_dtype d) {
    return ind_dtype_is_float(d) && ind_dtype_bytes(d) < 4 ? IND_F32 : d;
}

/* torch.promote_types: a float beats an integer, an integer beats bool. Of two types of one class the wider wins. u8
   with i8 gives i16; f16 with bf16 gives f32. */
ind_dtype ind_dtype_promote(ind_dtype a, ind_dtype b) {
    if (a == b || !b) return a;
    if (!a || a == IND_BOOL) return b;
    if (b == IND_BOOL) return a;
    bool fa = ind_dtype_is_float(a), fb = ind_dtype_is_float(b);
    if ((fa && ind_dtype_bytes(a) == 1) || (fb && ind_dtype_bytes(b) == 1)) return IND_DTYPE_NONE;
    if (fa != fb) return fa ? a : b;
    if (fa) return (a == IND_F16 && b == IND_BF16) || (a == IND_BF16 && b == IND_F16) ? IND_F32 : a > b ? a : b;
    if ((a == IND_U8 && b == IND_I8) || (a == IND_I8 && b == IND_U8)) return IND_I16;
    return a > b ? a : b;
}

ind_dtype ind_dtype_parse(const char *name, size_t length) {
    for (int d = 1; name && d < IND_NUM_DTYPES; d++)
        if (strlen(ir__dtype_table[d].name) == length && !memcmp(ir__dtype_table[d].name, name, length))
            return (ind_dtype)d;
    return IND_DTYPE_NONE;
}
