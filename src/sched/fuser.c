/* ================================================================================================ >>accesses */

#define IND__SCHED_NONE    UINT32_MAX
#define IND__SCHED_DIMS    (2 * IND_MAX_RANK)
#define IND__SCHED_BUCKETS 4096 /* of the hash tables of domains and of fits: short chains up to a million loops */

enum {
    IND__SCHED_ROUNDS = 10,        /* of fusion, at most; TorchInductor's number */
    IND__SCHED_NEIGHBOURS = 16,    /* readers of one buffer that are tried against each other */
    IND__SCHED_VISITS = 128,       /* kernels that one cycle test may visit, in each direction */
    IND__SCHED_STEPS = 2048,       /* edges that it may follow */
    IND__SCHED_RUN_WARPS = 4,      /* warps of a block if each warp has one row */
    IND__SCHED_WINDOW = 64,        /* readers of a result are searched in so many loops after it */
    IND__SCHED_DONATED_TRIES = 16, /* donated inputs that are tried for one buffer */
    IND__SCHED_GAP_TRIES = 16,     /* gaps in the arena that are tried for one buffer */
    IND__SCHED_DOMINATORS = 16,    /* terms of a maximum that each new term is compared to */
    IND__SCHED_SORTED_LOOPS = 64,  /* with a sort: their reductions and the row share the shared memory of a block */
    IND__SCHED_SECTOR = 32,        /* bytes; smallest memory transaction */
    IND__SCHED_SCARCE =
        1, /* scarce memory: no fusion for shared reads, concatenation parts, prologues, product pairs */
    IND__SCHED_UNFUSED = 2,        /* no fusion at all */
    IND__SCHED_MEMORY_TRIES = 6,   /* schedules that are tried for less memory */
    IND__SCHED_UNBOUNDED = 1 << 16 /* value of a size without an upper bound */
};

/* Iteration space of a kernel: sizes of P, then of R, none of them 1, and their index symbols. Interned, so that equal
   spaces have one pointer. */
typedef struct sched__domain {
    struct sched__domain *next;
    uint32_t number;
    int rank, rrank;
    ind_expr size[IND__SCHED_DIMS], var[IND__SCHED_DIMS];
    ind_expr numel, rnumel;
    int64_t hint, rhint;
} sched__domain;

/* Order in which the dimensions of a domain are matched with those of another: the original one, or the memory order of
   an access. */
typedef struct sched__dim_order {
    uint8_t dim[IND__SCHED_DIMS];
} sched__dim_order;

/* Mapping of two domains onto a common domain, and the variables of both in it. */
typedef struct sched__fit {
    struct sched__fit *next;
    const sched__domain *a, *b, *domain; /* domain NULL: they do not fit */
    sched__dim_order order_a, order_b;
    bool reordered;   /* one of the orders is not the original one */
    bool elementwise; /* the points of one are the rows times the row elements of the other */
    ind_expr map_a[IND__SCHED_DIMS], map_b[IND__SCHED_DIMS];
    ind_expr bound; /* valid: b computes only the elements of a's rows below it */
} sched__fit;

/* A kernel under construction; its number is that of its first loop. */
typedef struct sched__group {
    const sched__domain *domain;
    uint32_t head, tail, count; /* loops in ascending order, linked by next_loop */
    uint32_t order;             /* position in a topological order of the groups; unique */
    uint32_t changed;           /* round of the last change */
    uint32_t dot, dot2;         /* its loops with a matrix product, or SCHED_NONE */
    uint32_t scores;            /* attention: the loop with the product of queries and keys, or SCHED_NONE */
    bool few_queries;           /* attention: blocks share keys, so each key is read once */
    bool reduces;               /* it has another reduction */
    bool mutates;               /* it changes a buffer in place */
    bool scans, sorts;          /* it has a SCAN; one that sorts */
    int64_t run;                /* as in ind_kernel */
    bool combines;              /* one with a combine function */
    int num_scans;
    bool call;     /* it is an extern call */
    bool library;  /* a product by a library */
    bool reserved; /* for a product, as its prologue: it is fused with nothing else */
    uint8_t care;  /* the largest sched__fuser.care of its loops */
} sched__group;

typedef struct sched__candidate {
    uint32_t a, b; /* groups; a runs before b */
    uint8_t magnitude, kind;
    int64_t bytes;
    uint32_t distance;
} sched__candidate;

/* Lifetime of a memory block: the steps from its first write to its last read. */
typedef struct sched__lifetime {
    uint32_t buffer, begin, end;
    ind_expr size; /* rounded up */
    int64_t hint;
} sched__lifetime;

typedef struct sched__fuser {
    ind_context *context;
    const ind__lowered *program;
    ind_fusion_policy policy;
    ind_schedule *schedule;
    struct sched__origin {
        const char *(*name)(uint32_t node, void *user);
        void *user;
    } origin;
    ind__arena scratch;
    bool failed;
    bool keep_order;      /* of the program */
    bool tried_attention; /* until then the softmaxes of two attentions do not become one kernel */
    const uint8_t *care;  /* by loop: 0, or IND__SCHED_SCARCE or more if memory is scarce; NULL: 0 for all */

    ind__access *access;    /* of all loops, over the variables of the loop's group */
    uint32_t *first_access; /* by loop, one more than loops */
    struct sched__loop_vars {
        ind_expr *var;   /* the loops' variables, in those of the group */
        ind_expr *bound; /* by loop: first row element that it does not compute; invalid: it computes all */
        uint32_t *first; /* by loop */
    } vars;
    uint32_t *waits;      /* loops that must run before a loop, as they read data that it then changes */
    uint32_t *first_wait; /* by loop, one more than loops */
    struct sched__buffers {
        uint32_t *reader;       /* loops that read a buffer, ascending */
        uint32_t *first_reader; /* by buffer, one more than buffers */
        uint32_t *writer;       /* by buffer: 1 + the loop that writes it; 0: none */
        bool *lasting;          /* by buffer: an output, or a version of a buffer that is changed in place */
        uint32_t *written;      /* by buffer: 1 + the access that writes it; 0: no loop writes it (inputs, constants) */
        uint32_t *home;         /* by buffer: ind__buffer_home */
        int64_t *bytes_hint;    /* by buffer */
        ind_expr *bytes;        /* by buffer */
        uint32_t *value;        /* by buffer: its value in the body being recorded */
    } buffers;

    sched__group *group;
    uint32_t *group_of, *next_loop; /* by loop */
    struct sched__interned {
        sched__domain *domain[IND__SCHED_BUCKETS];
        sched__fit *fit[IND__SCHED_BUCKETS];
        uint32_t num_domains;
    } interned;

    struct sched__visits {
        uint32_t *mark;  /* by loop or buffer: equal to epoch if visited */
        uint32_t *found; /* by buffer: note of the current epoch */
        uint32_t epoch;
        uint32_t after[IND__SCHED_VISITS], before[IND__SCHED_VISITS]; /* result of the last cycle test */
        uint32_t num_after, num_before;
    } visits;

    const struct sched__splitter *splitter; /* while edges are explained */

    struct sched__donated {
        uint32_t *input; /* donated inputs */
        uint32_t num;
    } donated;
    struct sched__order {
        uint32_t *group; /* groups in execution order */
        uint32_t num;
    } order;
} sched__fuser;

static bool sched__fail(sched__fuser *f) {
    f->failed = true;
    return false;
}

static void *sched__scratch(sched__fuser *f, size_t count, size_t bytes) {
    size_t total;
    void *p = ind__size_mul(count ? count : 1, bytes, &total) ? ind__arena_alloc(&f->scratch, total) : NULL;
    if (!p) sched__fail(f);
    return p;
}

/* Copies a result to the schedule's own memory. */
static void *sched__schedule_alloc(sched__fuser *f, const void *data, size_t count, size_t bytes) {
    size_t total;
    void *p = ind__size_mul(count ? count : 1, bytes, &total) ? ind__arena_alloc(&f->schedule->arena, total) : NULL;
    if (!p) return sched__fail(f), NULL;
    if (data && count) memcpy(p, data, total);
    return p;
}

static void sched__swap(char *a, char *b, size_t bytes) {
    uint64_t x, y;
    for (; bytes >= sizeof x; a += sizeof x, b += sizeof x, bytes -= sizeof x) {
        memcpy(&x, a, sizeof x), memcpy(&y, b, sizeof y);
        memcpy(a, &y, sizeof y), memcpy(b, &x, sizeof x);
    }
    if (!bytes) return;
    memcpy(&x, a, bytes), memcpy(&y, b, bytes);
    memcpy(a, &y, bytes), memcpy(b, &x, bytes);
}

typedef int (*sched__compare)(const void *, const void *);

static void sched__heapsort(char *p, size_t count, size_t bytes, sched__compare compare) {
    for (size_t start = count / 2, end = count; end > 1;) {
        if (start)
            start--;
        else
            sched__swap(p, p + --end * bytes, bytes);
        for (size_t root = start, child; (child = 2 * root + 1) < end; root = child) {
            if (child + 1 < end && compare(p + child * bytes, p + (child + 1) * bytes) < 0) child++;
            if (compare(p + root * bytes, p + child * bytes) >= 0) break;
            sched__swap(p + root * bytes, p + child * bytes, bytes);
        }
    }
}

/* Parts at least 4 items by the median of the first, middle and last one. Returns where the second part begins. */
static size_t sched__partition(char *p, size_t count, size_t bytes, sched__compare compare) {
    char *first = p, *last = p + (count - 1) * bytes, *pivot = p + bytes, *middle = p + count / 2 * bytes;
    if (compare(first, middle) > 0) sched__swap(first, middle, bytes);
    if (compare(middle, last) > 0) sched__swap(middle, last, bytes);
    if (compare(first, middle) > 0) sched__swap(first, middle, bytes);
    sched__swap(pivot, middle, bytes);
    char *low = pivot, *high = last;
    for (;;) {
        do low += bytes;
        while (compare(low, pivot) < 0);
        do high -= bytes;
        while (compare(high, pivot) > 0);
        if (low >= high) break;
        sched__swap(low, high, bytes);
    }
    sched__swap(pivot, high, bytes);
    return (size_t)(high - p) / bytes + 1;
}

/* Quicksort, and heapsort where it parts badly: no allocation, no quadratic case, the same order with every C library.
   The comparison must be total. */
static void sched__sort(void *items, size_t count, size_t bytes, sched__compare compare) {
    char *p = items;
    size_t sorted = 1;
    while (sorted < count && compare(p + (sorted - 1) * bytes, p + sorted * bytes) <= 0) sorted++;
    if (sorted >= count) return;
    int parts = 0; /* at most: twice as many as halves would be */
    for (size_t n = count; n > 1; n /= 2) parts += 2;
    for (; count > 8; parts--) {
        if (!parts) {
            sched__heapsort(p, count, bytes, compare);
            return;
        }
        const size_t cut = sched__partition(p, count, bytes, compare);
        const bool second = cut > count - cut; /* the smaller part is sorted first: the stack stays short */
        sched__sort(second ? p + cut * bytes : p, second ? count - cut : cut - 1, bytes, compare);
        p += second ? 0 : cut * bytes;
        count = second ? cut - 1 : count - cut;
    }
    for (size_t i = 1; i < count; i++)
        for (size_t at = i; at && compare(p + (at - 1) * bytes, p + at * bytes) > 0; at--)
            sched__swap(p + (at - 1) * bytes, p + at * bytes, bytes);
}

static int sched__compare_u32(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static int64_t sched__hint(ind_expr e) {
    int64_t h = ind_hint(e);
    return h > 0 ? h : 0;
}

static int64_t sched__add_hint(int64_t a, int64_t b) {
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static ind_expr sched__extent(ind_expr var) {
    return ind_expr_symbol(var)->extent;
}

static bool sched__is_one(ind_expr e) {
    int64_t v;
    return ind_expr_is_int(e, &v) && v == 1;
}

static bool sched__is_access(const ind__inst *i) {
    return i->op == IND_LOOP_LOAD || i->op == IND_LOOP_STORE;
}

/* True for a store that combines the values of a run of rows. */
static bool sched__combines_run(const ind__inst *i) {
    return i->op == IND_LOOP_STORE && (i->flags & IND__INST_RUN);
}

static bool sched__has_index(const ind__inst *i) {
    return sched__is_access(i) || i->op == IND_LOOP_INDEX;
}

static void sched__policy_defaults(ind_fusion_policy *p) {
#define X(type, field, value, scale, meaning, source)                                                                  \
    if (p->field <= 0) p->field = value;
    IND_FUSION_FIGURES(X)
#undef X
    if (p->mix_rows < 2) p->mix_rows = 2;
    if (p->max_scans > IND__MAX_SCANS) p->max_scans = IND__MAX_SCANS;
}

/* True if the blocks that share a row have it in shared memory, so that few long rows are still read only once. There
   must be two waves of them on a GPU that runs twice few_rows blocks at a time, as the next row is loaded while one is
   combined. (batch_norm of 32 and 16 channels of 401408 f32 by clusters of 16: 76 and 79 % of copy bandwidth, in two
   kernels 53 and 51; rows read again in each pass: 50, in two kernels 62.) */
static bool sched__rows_fit_shared(const ind_fusion_policy *p, int64_t rows, int64_t length) {
    const int64_t most = p->row_blocks, parts = length / p->long_row, blocks = parts < most ? parts : most;
    return length <= most * p->kept_row && rows * blocks >= 4 * p->few_rows;
}

/* True if one kernel over so many rows of this length leaves multiprocessors idle if it has work after their
   reduction. */
static bool sched__few_long_rows(const ind_fusion_policy *p, int64_t rows, int64_t length) {
    return rows < p->few_rows && length > p->long_row && !sched__rows_fit_shared(p, rows, length);
}
