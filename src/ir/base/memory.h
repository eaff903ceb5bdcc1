/* ---- memory: all through the context's allocator; NULL on failure, with IND_ERROR_OUT_OF_MEMORY set ---- */

void *ind__alloc(ind_context *c, size_t bytes);                                 /* zeroed */
void ind__free(ind_context *c, void *p);                                        /* NULL allowed */
void *ind__resize(ind_context *c, void *p, size_t old_bytes, size_t new_bytes); /* p survives failure */
bool ind__size_mul(size_t a, size_t b, size_t *out);                            /* false on overflow */

/* Bump allocator: freed as a whole. Zero-initialise with the context set. */
typedef struct ind__arena {
    ind_context *context;
    struct ind__arena_block *head;
    size_t used, capacity; /* of the head block */
} ind__arena;
void *ind__arena_alloc(ind__arena *a, size_t bytes); /* zeroed, 16-byte aligned */
void *ind__arena_copy(ind__arena *a, const void *data, size_t bytes);
char *ind__arena_string(ind__arena *a, const char *text, size_t length);
void ind__arena_free(ind__arena *a);

/* Growing array. The owner has `T *items; uint32_t num, capacity;`. IND__PUSH evaluates to a pointer to the new zeroed
   element or NULL. Growing may move the array: a push invalidates all pointers into it. */
void *ind__grow(ind_context *c, void **items, uint32_t *num, uint32_t *capacity, size_t item_bytes, uint32_t more);
#define IND__PUSH(c, T, items, num, capacity)                                                                          \
    ((T *)ind__grow((c), (void **)&(items), &(num), &(capacity), sizeof(T), 1))

/* Records the failure and returns status. printf format, with the limits of ind__textf. */
ind_status ind__fail(ind_context *c, ind_status status, const char *format, ...) IND__PRINTF(3, 4);
ind_status ind__failed(ind_context *c); /* the recorded status; IND_ERROR_VERIFY if none was recorded */
void ind__log(ind_context *c, int level, ind_log_category category, const char *format, ...) IND__PRINTF(4, 5);
bool ind__verifying(ind_context *c); /* true if the verifier is on */

/* Error state of a thread in a context: its last failure, and counters by which a caller sees what happened in a
   callee. Each thread has its own, so no thread sees a failure of another. */
typedef struct ind__state {
    uint32_t quiet;     /* > 0: failures of arithmetic are not recorded, as the caller handles them */
    uint32_t failures;  /* recorded so far */
    uint32_t refusals;  /* allocations refused, among these failures */
    uint32_t overflows; /* results beyond 64 bits, also while quiet: forms may then depend on how they were built */
    ind_status status;  /* of the last failure */
    char text[4096];
} ind__state;
ind__state *ind__state_of(const ind_context *c); /* the calling thread's; never NULL */
uint32_t ind__refusals(const ind_context *c);    /* ind__state_of(c)->refusals */
/* IND_ERROR_OUT_OF_MEMORY if an allocation was refused to this thread since ind__refusals was `before`. A proof that
   runs out of memory returns "not proven", and the result of a stage must not depend on that. */
ind_status ind__refused_since(const ind_context *c, uint32_t before);

/* Exclusive use of a context's expressions, facts and caches. Recursive: a thread may lock it again. */
void ind__lock(ind_context *c);
void ind__unlock(ind_context *c);

/* A context with its own expressions. It shares the allocator, logger, device, functions and errors of `root`. Every
   module is compiled and queried in one, so different modules share no expression table, and destroying a module frees
   its expressions. NULL on failure; freed with ind__context_leave. */
ind_context *ind__context_fork(ind_context *root);
void ind__context_leave(ind_context *c); /* NULL allowed */

/* Objects that a context owns: freed by ind_context_destroy in reverse order of creation. */
typedef struct ind__owned {
    struct ind__owned *prev, *next;
    void (*destroy)(struct ind__owned *self);
} ind__owned;
void ind__own(ind_context *c, ind__owned *o, void (*destroy)(ind__owned *));
void ind__disown(ind_context *c, ind__owned *o);

/* ---- string builder: grows, indents, sticky failure ---- */

typedef struct ind__text {
    ind_context *context;
    char *data; /* NULL before the first write, then always NUL-terminated */
    size_t size, capacity;
    int indent; /* levels of 4 spaces that ind__textf puts before each non-empty line */
    bool failed;
    bool mid_line;
} ind__text;
/* snprintf, faster for what texts consist of: %s, %.*s, %d, %u, %lld, %c and %%. */
int ind__format(char *out, size_t capacity, const char *format, ...) IND__PRINTF(3, 4);
int ind__format_list(char *out, size_t capacity, const char *format, va_list list);
/* printf without floating point (its text depends on the locale); numbers through ind__text_double. */
void ind__textf(ind__text *t, const char *format, ...) IND__PRINTF(2, 3);
void ind__text_raw(ind__text *t, const char *s, size_t n);
void ind__text_double(ind__text *t, double v);    /* shortest form that reads back exactly; inf, -inf, nan */
void ind__text_expr(ind__text *t, ind_expr e);    /* as ind_expr_print */
void ind__text_json(ind__text *t, const char *s); /* as a quoted JSON string */
void ind__text_free(ind__text *t);
ind_status ind__text_status(const ind__text *t);
bool ind__parse_double(const char *s, size_t n, double *out); /* locale-free */

uint64_t ind__hash(const void *data, size_t n, uint64_t seed);
