/* ------------------------------------------------------------------------------------------------ >>intern */

/* An interned symbol. `key` orders symbols by name: length, then the first characters. `number` is its sequence
   number. */
typedef struct ir__symbol {
    ind_symbol symbol; /* must be first */
    uint64_t key;
    uint32_t number;
} ir__symbol;

/* A node takes 32 bytes, and 4 bytes per argument if there are more than two; the hash table adds 7 to 10. Nodes and
   symbols never move or change, so one thread may read existing expressions while another creates new ones. */
typedef struct ir__expr_node {
    int64_t lo, hi; /* bounds; INT: the value */
    union {
        uint32_t few[2];
        const uint32_t *many;     /* num_args > 2 */
        const ir__symbol *symbol; /* SYM */
    } arg;
    uint32_t symbols; /* Bloom mask of the symbols in it, including those in the extents of loop indices */
    uint32_t num_args : 19, kind : 5, depth : 8;
} ir__expr_node;
_Static_assert(sizeof(ir__expr_node) == 32, "the memory of a node is part of what this header promises");

#define IND__NODE_BITS   10 /* log2 of the nodes per segment; the next: of segments per group and of groups */
#define IND__GROUP_BITS  11
#define IND__MAX_DEPTH   160 /* nesting of expressions; bounds recursion */
#define IND__MAX_TERMS   65536
#define IND__MAX_FACTORS 60
#define IND__MAX_RULES   64    /* nested applications of rules; beyond, a division stays unsimplified */
#define IND__MAX_EXPAND  64    /* terms that a product of sums may be expanded to */
#define IND__MAX_CACHE   32768 /* cached results */
#define IND__MIN_CACHE   16384 /* with fewer, every level of a nested expression recomputes the same results */
#define IND__WORD_BLOCK  4096  /* size in words of a block of argument lists */

/* Cached besides results of operations: whether a <= b, whether a < b, the hint of a, the loop index of an extent, the
   result of substitution number b in a; the coefficient and the remainder of a as affine in b (0: not affine). */
enum {
    IND__CACHED_BELOW = IND_EXPR_WHERE + 1,
    IND__CACHED_HINT = IND__CACHED_BELOW + 2,
    IND__CACHED_INDEX,
    IND__CACHED_SUBSTITUTE,
    IND__CACHED_COEFFICIENT,
    IND__CACHED_REST,
    IND__NUM_CACHED
};
_Static_assert(IND__NUM_CACHED < 32, "the key of a cached result has five bits for it");

/* A recent substitution. The layers of a network repeat the same ones. */
#define IND__SUBSTITUTIONS 64
#define IND__MAX_REPLACED  16
typedef struct ir__substitution_made {
    uint32_t number; /* 0: free */
    uint32_t num, pair[2 * IND__MAX_REPLACED];
} ir__substitution_made;

typedef struct ir__op_cache_entry {
    uint32_t key; /* operation and fact set (ir__cache_key) */
    uint32_t a, b, result;
} ir__op_cache_entry;

/* The value of a node at one of the sample points that are tried before a proof (>>assume). */
typedef struct ir__sample {
    uint32_t id; /* 0: empty */
    uint16_t point;
    bool valid;
    int64_t value;
} ir__sample;
#define IND__SAMPLES  2048
#define X(name, text) +1
enum { IND__NUM_SYMBOL_KINDS = 0 IND_SYMBOL_KINDS(X) };
#undef X
#define IND__MAX_COMBINING 3

/* Integers found without a hash lookup: coefficients, divisors, strides. */
#define IND__LEAST_SMALL (-64)
#define IND__NUM_SMALL   320

struct ind__interner {
    ind_context *context;
    ir__expr_node **group[1 << IND__GROUP_BITS]; /* each has 1 << IND__GROUP_BITS segments */
    uint32_t num_nodes;                          /* ids 1..num_nodes-1 */
    /* Hash table of the nodes: open addressing, linear probing, 58 to 88 % full. A lookup reads the tags first: 16 bits
       of the hash, 0 if the slot is empty. So a node whose tag matches is nearly always the one searched for. */
    uint32_t *slot;
    uint16_t *tag;
    uint32_t table_size;
    uint32_t small_int[IND__NUM_SMALL]; /* ids of small integers; 0: not yet interned */
    ind__arena arena;                   /* symbols, blocks of words */
    uint32_t *word;
    uint32_t words_left;
    struct ir__term_block *free_terms;
    uint32_t num_symbols;
    ir__op_cache_entry *cache; /* cached results of simplifying constructors; as many as buckets, up to a limit */
    uint32_t cache_size;
    ir__sample sample[IND__SAMPLES];
    ir__substitution_made substitution[IND__SUBSTITUTIONS];
    uint32_t num_substitutions;                   /* the last number given to one */
    uint32_t kind_symbols[IND__NUM_SYMBOL_KINDS]; /* Bloom masks of all symbols, by ind_symbol_kind */
    uint32_t combining;                           /* nesting of ir__sum_combine */
    uint32_t fired[IND__NUM_EXPR_RULES];          /* how often each rule applied */
    ind_facts *facts;                             /* in force; NULL: none */
    int proving;                                  /* > 0: a proof is in progress */
    int dividing;                                 /* nesting of divisions that rules on divisions built */
    uint32_t num_generations;                     /* the last generation given to a state of a fact set; even */
};

static ir__expr_node *ir__node_at(const struct ind__interner *in, uint32_t id) {
    const uint32_t group = id >> (IND__NODE_BITS + IND__GROUP_BITS);
    const uint32_t segment = id >> IND__NODE_BITS & ((1u << IND__GROUP_BITS) - 1);
    return &in->group[group][segment][id & ((1u << IND__NODE_BITS) - 1)];
}

static const ir__expr_node *ir__node_of(ind_expr e) {
    return ir__node_at(e.context->interner, e.id);
}

static const uint32_t *ir__node_args(const ir__expr_node *n) {
    return n->num_args > 2 ? n->arg.many : n->arg.few;
}

static bool ir__interner_create(ind_context *c) {
    struct ind__interner *in = (struct ind__interner *)ind__alloc(c, sizeof *in);
    if (!in) return false;
    c->interner = in;
    in->context = in->arena.context = c;
    in->table_size = 4096;
    in->slot = (uint32_t *)ind__alloc(c, in->table_size * sizeof *in->slot);
    in->tag = (uint16_t *)ind__alloc(c, in->table_size * sizeof *in->tag);
    in->cache_size = IND__MIN_CACHE;
    in->cache = (ir__op_cache_entry *)ind__alloc(c, in->cache_size * sizeof *in->cache);
    in->num_nodes = 1;
    return in->slot && in->tag && in->cache;
}

static void ir__interner_destroy(ind_context *c) {
    struct ind__interner *in = c->interner;
    if (!in) return;
    for (uint32_t g = 0; g < 1u << IND__GROUP_BITS && in->group[g]; g++) {
        for (uint32_t i = 0; i < 1u << IND__GROUP_BITS; i++) ind__free(c, in->group[g][i]);
        ind__free(c, in->group[g]);
    }
    ind__free(c, in->slot);
    ind__free(c, in->tag);
    ind__free(c, in->cache);
    ind__arena_free(&in->arena);
    ind__free(c, in);
}

uint32_t ind__num_exprs(const ind_context *c) {
    return c->interner->num_nodes - 1;
}

static uint16_t ir__hash_tag(uint32_t hash) {
    return (uint16_t)(hash & 0xffffu ? hash : 1u);
}

static void ir__table_put(struct ind__interner *in, uint32_t id, uint32_t hash) {
    uint32_t at = (uint32_t)((uint64_t)hash * in->table_size >> 32);
    while (in->tag[at]) at = at + 1 == in->table_size ? 0 : at + 1;
    in->tag[at] = ir__hash_tag(hash);
    in->slot[at] = id;
}

/* The next node from slot *at on whose tag is that of the hash; 0 if there is none. To continue, advance *at by one. */
static uint32_t ir__table_next(const struct ind__interner *in, uint32_t hash, uint32_t *at) {
    const uint16_t tag = ir__hash_tag(hash);
    for (; *at < in->table_size || (*at = 0, true); ++*at) {
        if (in->tag[*at] == tag) return in->slot[*at];
        if (!in->tag[*at]) return 0;
    }
    return 0;
}

static uint32_t ir__hash_args(ind_expr_kind kind, const uint32_t *arg, uint32_t n, int64_t value) {
    uint64_t h = ((uint64_t)value ^ kind) * 0x9e3779b97f4a7c15ull;
    for (uint32_t i = 0; i < n; i++) h = ((h ^ arg[i]) * 0xff51afd7ed558ccdull) ^ (h >> 29);
    h = (h ^ h >> 32) * 0xc4ceb9fe1a85ec53ull;
    return (uint32_t)(h >> 32);
}

static uint32_t ir__hash_symbol(const ind_symbol *s) {
    int64_t key[7] = {s->kind, s->slot, s->lo, s->hi, s->multiple_of, s->hint, s->extent.id};
    return (uint32_t)ind__hash(s->name, strlen(s->name), ind__hash(key, sizeof key, 7));
}

static uint32_t ir__hash_node(const struct ind__interner *in, uint32_t id) {
    const ir__expr_node *n = ir__node_at(in, id);
    if (n->kind == IND_EXPR_SYM) return ir__hash_symbol(&n->arg.symbol->symbol);
    return ir__hash_args((ind_expr_kind)n->kind, ir__node_args(n), n->num_args, n->kind == IND_EXPR_INT ? n->lo : 0);
}

/* The cache grows with the nodes, up to its limit. */
static bool ir__cache_grow(struct ind__interner *in) {
    if (in->num_nodes < in->cache_size || in->cache_size >= IND__MAX_CACHE) return true;
    ir__op_cache_entry *cache =
        (ir__op_cache_entry *)ind__alloc(in->context, 2 * (size_t)in->cache_size * sizeof *cache);
    if (!cache) return false;
    ind__free(in->context, in->cache);
    in->cache = cache;
    in->cache_size *= 2;
    return true;
}

static bool ir__interner_rehash(struct ind__interner *in) {
    uint32_t want = in->table_size + (in->table_size < 1u << 17 ? in->table_size : in->table_size / 2);
    if (want < in->table_size) want = UINT32_MAX;
    uint32_t *slot = (uint32_t *)ind__alloc(in->context, (size_t)want * sizeof *slot);
    uint16_t *tag = slot ? (uint16_t *)ind__alloc(in->context, (size_t)want * sizeof *tag) : NULL;
    if (!tag) {
        ind__free(in->context, slot);
        return false;
    }
    ind__free(in->context, in->slot);
    ind__free(in->context, in->tag);
    in->slot = slot;
    in->tag = tag;
    in->table_size = want;
    for (uint32_t id = 1; id < in->num_nodes; id++) ir__table_put(in, id, ir__hash_node(in, id));
    return ir__cache_grow(in);
}

/* Allocates memory for node `id`, which starts a segment or follows an existing node. */
static bool ir__interner_reserve(struct ind__interner *in, uint32_t id) {
    ir__expr_node ***group = &in->group[id >> (IND__NODE_BITS + IND__GROUP_BITS)];
    if (!*group) *group = (ir__expr_node **)ind__alloc(in->context, sizeof **group << IND__GROUP_BITS);
    if (!*group) return false;
    ir__expr_node **segment = &(*group)[id >> IND__NODE_BITS & ((1u << IND__GROUP_BITS) - 1)];
    if (!*segment) *segment = (ir__expr_node *)ind__alloc(in->context, sizeof **segment << IND__NODE_BITS);
    return *segment != NULL;
}

/* A new zeroed node; 0 on failure. */
static uint32_t ir__interner_append(struct ind__interner *in) {
    uint32_t id = in->num_nodes;
    if (id == UINT32_MAX) {
        ind__fail(in->context, IND_ERROR_LIMIT, "too many different size expressions (%u)", id);
        return 0;
    }
    if (id / 7 >= in->table_size / 8 && !ir__interner_rehash(in)) return 0;
    if (!ir__interner_reserve(in, id)) return 0;
    in->num_nodes++;
    return id;
}

/* n words with the lifetime of the context. */
static uint32_t *ir__alloc_words(struct ind__interner *in, uint32_t n) {
    if (n > in->words_left) {
        uint32_t block = n > IND__WORD_BLOCK ? n : IND__WORD_BLOCK;
        in->word = (uint32_t *)ind__arena_alloc(&in->arena, (size_t)block * sizeof *in->word);
        in->words_left = in->word ? block : 0;
        if (!in->word) return NULL;
    }
    uint32_t *words = in->word;
    in->word += n;
    in->words_left -= n;
    return words;
}

static ind_expr ir__expr_make(ind_context *c, uint32_t id) {
    ind_expr e = {c, id};
    return e;
}

static ind_expr ir__expr_none(ind_context *c) {
    return ir__expr_make(c, 0);
}

/* Interval arithmetic. lo == INT64_MIN or hi == INT64_MAX means unbounded. No value exceeds 64 bits, so an end may
   saturate. */
typedef struct ir__range {
    int64_t lo, hi;
} ir__range;

static const ir__range ir__full_range = {INT64_MIN, INT64_MAX};

static int64_t ir__clamped_add(int64_t a, int64_t b) {
    int64_t r;
    return ind__add_overflow(a, b, &r) ? (a < 0 ? INT64_MIN : INT64_MAX) : r;
}

static int64_t ir__sat_add(int64_t a, int64_t b) {
    if (a == INT64_MIN || b == INT64_MIN) return INT64_MIN;
    if (a == INT64_MAX || b == INT64_MAX) return INT64_MAX;
    return ir__clamped_add(a, b);
}

static int64_t ir__sat_mul(int64_t a, int64_t b) {
    if (!a || !b) return 0;
    int64_t r;
    bool negative = (a < 0) != (b < 0);
    bool infinite = a == INT64_MIN || a == INT64_MAX || b == INT64_MIN || b == INT64_MAX;
    return infinite || ind__mul_overflow(a, b, &r) ? (negative ? INT64_MIN : INT64_MAX) : r;
}

static int64_t ir__floor_div(int64_t a, int64_t b) {
    int64_t q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}

/* Python's a % b, without the overflow of a - b * (a // b). */
static int64_t ir__floor_mod(int64_t a, int64_t b) {
    int64_t r = b == -1 ? 0 : a % b;
    return r && (r < 0) != (b < 0) ? r + b : r;
}

static ir__range ir__range_hull(ir__range a, ir__range b) {
    ir__range r = {a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
    return r;
}

static ir__range ir__range_add(ir__range a, ir__range b) {
    ir__range r = {a.lo == INT64_MIN || b.lo == INT64_MIN ? INT64_MIN : ir__clamped_add(a.lo, b.lo),
                   a.hi == INT64_MAX || b.hi == INT64_MAX ? INT64_MAX : ir__clamped_add(a.hi, b.hi)};
    return r;
}

static ir__range ir__range_neg(ir__range a) {
    ir__range r = {a.hi == INT64_MAX   ? INT64_MIN
                   : a.hi == INT64_MIN ? INT64_MAX
                                       : -a.hi,
                   a.lo == INT64_MIN ? INT64_MAX : -a.lo};
    return r;
}

/* A product is bilinear, so its extremes are at the corners. */
static ir__range ir__range_mul(ir__range a, ir__range b) {
    int64_t v[4] = {ir__sat_mul(a.lo, b.lo), ir__sat_mul(a.lo, b.hi), ir__sat_mul(a.hi, b.lo), ir__sat_mul(a.hi, b.hi)};
    ir__range r = {v[0], v[0]};
    for (int i = 1; i < 4; i++) {
        ir__range corner = {v[i], v[i]};
        r = ir__range_hull(r, corner);
    }
    if (r.hi == INT64_MIN) r.hi++; /* -1 times INT64_MAX: here INT64_MAX is a number, not "unbounded" */
    return r;
}

/* a to the power k >= 1. An odd power is monotone. An even power is that of |a|, which reaches 0 only if a does. */
static ir__range ir__range_power(ir__range a, int k) {
    if (k % 2 == 0) {
        ir__range minus = ir__range_neg(a);
        if (a.hi <= 0) a = minus;
        if (a.lo < 0) a.hi = minus.hi > a.hi ? minus.hi : a.hi, a.lo = 0;
    }
    ir__range r = a;
    for (int i = 1; i < k; i++) r.lo = ir__sat_mul(r.lo, a.lo), r.hi = ir__sat_mul(r.hi, a.hi);
    return r;
}

/* The positive part of a divisor's range (or of its negation's): empty if lo > hi. */
static ir__range ir__range_positive(ir__range b) {
    if (b.lo < 1) b.lo = 1;
    return b;
}

/* a // b for 0 < b.lo <= b.hi: increasing in a; increasing in b if a < 0, decreasing if a >= 0. */
static ir__range ir__range_div_positive(ir__range a, ir__range b) {
    ir__range r = a;
    if (a.lo != INT64_MIN) r.lo = ir__floor_div(a.lo, a.lo < 0 ? b.lo : b.hi);
    if (a.hi != INT64_MAX) r.hi = ir__floor_div(a.hi, a.hi < 0 ? b.hi : b.lo);
    return r;
}

/* a // b = (-a) // (-b), so the negative and the positive part of a divisor's range are handled separately. */
static ir__range ir__range_div(ir__range a, ir__range b) {
    ir__range above = ir__range_positive(b), below = ir__range_positive(ir__range_neg(b));
    if (below.lo > below.hi) return above.lo > above.hi ? ir__full_range : ir__range_div_positive(a, above);
    ir__range low = ir__range_div_positive(ir__range_neg(a), below);
    return above.lo > above.hi ? low : ir__range_hull(low, ir__range_div_positive(a, above));
}

/* a % b for 0 < b.lo <= b.hi: in [0, b); equal to a if a is in [0, b); at most a if a >= 0. If b is constant and both
   ends of a have the same quotient, it is a minus a constant. */
static ir__range ir__range_mod_positive(ir__range a, ir__range b) {
    ir__range r = {0, b.hi == INT64_MAX ? b.hi : b.hi - 1};
    if (a.lo >= 0 && a.hi < b.lo) return a;
    if (b.lo == b.hi && b.hi != INT64_MAX && a.lo != INT64_MIN && a.hi != INT64_MAX) {
        int64_t q = ir__floor_div(a.lo, b.lo);
        if (q == ir__floor_div(a.hi, b.lo)) {
            r.lo = ir__floor_mod(a.lo, b.lo);
            r.hi = ir__floor_mod(a.hi, b.lo);
            return r;
        }
    }
    if (a.lo >= 0 && a.hi < r.hi) r.hi = a.hi;
    return r;
}

/* a % b = -((-a) % (-b)). For b = -2^63 the negation saturates to INT64_MAX, which means unbounded. */
static ir__range ir__range_mod(ir__range a, ir__range b) {
    ir__range above = ir__range_positive(b), below = ir__range_positive(ir__range_neg(b));
    if (below.lo > below.hi) return above.lo > above.hi ? ir__full_range : ir__range_mod_positive(a, above);
    ir__range low = ir__range_neg(ir__range_mod_positive(ir__range_neg(a), below));
    return above.lo > above.hi ? low : ir__range_hull(low, ir__range_mod_positive(a, above));
}

static ir__range ir__range_extreme(bool max, ir__range a, ir__range b) {
    ir__range r = a;
    if (max ? b.lo > a.lo : b.lo < a.lo) r.lo = b.lo;
    if (max ? b.hi > a.hi : b.hi < a.hi) r.hi = b.hi;
    return r;
}

/* The range of a node of this kind (no leaf) from the ranges of its arguments, which `of` returns. */
typedef ir__range (*ir__range_fn)(ind_context *c, uint32_t id, void *user);

static ir__range ir__range_product(ind_context *c, const uint32_t *arg, int n, ir__range_fn of, void *user) {
    ir__range r = {1, 1};
    for (int i = 0, power; i < n; i += power) { /* equal factors are adjacent */
        for (power = 1; i + power < n && arg[i + power] == arg[i];) power++;
        r = ir__range_mul(r, ir__range_power(of(c, arg[i], user), power));
    }
    return r;
}

static int64_t ir__structural_residue(ind_expr e, int64_t m, int64_t *r);

/* The range of a % m for an integer m. If a is r more than a multiple of g, the ends are moved inwards to such
   numbers. */
static ir__range ir__range_residue(ind_context *c, const uint32_t *arg, ir__range range) {
    const ir__expr_node *m = ir__node_at(c->interner, arg[1]);
    int64_t r;
    if (m->kind != IND_EXPR_INT || m->lo < 2 || range.lo < 0) return range;
    int64_t g = ir__structural_residue(ir__expr_make(c, arg[0]), m->lo, &r);
    if (g < 2) return range;
    ir__range inside = {range.lo + ir__floor_mod(r - range.lo, g), range.hi - ir__floor_mod(range.hi - r, g)};
    return inside.lo <= inside.hi ? inside : range;
}

static ir__range ir__range_node(ind_context *c, ind_expr_kind kind, const uint32_t *arg, int n, ir__range_fn of,
                                void *user) {
    ir__range r = {0, 1};
    switch (kind) {
    case IND_EXPR_ADD:
        r.hi = 0;
        for (int i = 0; i < n; i++) r = ir__range_add(r, of(c, arg[i], user));
        return r;
    case IND_EXPR_MUL: return ir__range_product(c, arg, n, of, user);
    case IND_EXPR_FLOORDIV: return ir__range_div(of(c, arg[0], user), of(c, arg[1], user));
    case IND_EXPR_MOD: return ir__range_residue(c, arg, ir__range_mod(of(c, arg[0], user), of(c, arg[1], user)));
    case IND_EXPR_MIN:
    case IND_EXPR_MAX:
        r = of(c, arg[0], user);
        for (int i = 1; i < n; i++) r = ir__range_extreme(kind == IND_EXPR_MAX, r, of(c, arg[i], user));
        return r;
    case IND_EXPR_WHERE: return ir__range_hull(of(c, arg[1], user), of(c, arg[2], user));
    default: return r; /* conditions */
    }
}

static ir__range ir__stored_range(ind_context *c, uint32_t id, void *user) {
    (void)user;
    const ir__expr_node *n = ir__node_at(c->interner, id);
    ir__range r = {n->lo, n->hi};
    return r;
}

static void ir__node_bounds(ind_context *c, ir__expr_node *n) {
    ir__range r = ir__range_node(c, (ind_expr_kind)n->kind, ir__node_args(n), (int)n->num_args, ir__stored_range, NULL);
    n->lo = r.lo;
    n->hi = r.hi;
}

/* Ends rounded inwards to multiples of m; an unbounded end stays unbounded. Empty (lo > hi) if there is no multiple. */
static ir__range ir__range_multiples(ir__range r, int64_t m) {
    if (m < 2) return r;
    int64_t up = r.lo == INT64_MIN ? 0 : -ir__floor_div(-r.lo, m), down = ir__floor_div(r.hi, m);
    if (r.lo != INT64_MIN && ind__mul_overflow(up, m, &r.lo)) r.lo = INT64_MAX;
    if (r.hi != INT64_MAX && ind__mul_overflow(down, m, &r.hi)) r.hi = INT64_MIN;
    return r;
}

static uint32_t ir__find_node(const struct ind__interner *in, ind_expr_kind kind, const uint32_t *arg,
                              uint32_t num_args, int64_t value, uint32_t hash) {
    uint32_t at = (uint32_t)((uint64_t)hash * in->table_size >> 32), id;
    for (; (id = ir__table_next(in, hash, &at)); at++) {
        const ir__expr_node *n = ir__node_at(in, id);
        if (n->kind == kind && n->num_args == num_args &&
            (kind == IND_EXPR_INT ? n->lo == value : !memcmp(ir__node_args(n), arg, num_args * sizeof *arg)))
            break;
    }
    return id;
}

/* The node with this kind and these arguments (INT: this value); not for symbols. */
static ind_expr ir__intern(ind_context *c, ind_expr_kind kind, const uint32_t *arg, int count, int64_t value) {
    struct ind__interner *in = c->interner;
    uint32_t num_args = (uint32_t)count, hash = ir__hash_args(kind, arg, num_args, value), *list = NULL;
    uint32_t id = ir__find_node(in, kind, arg, num_args, value, hash);
    if (id) return ir__expr_make(c, id);
    uint32_t depth = 0, symbols = 0;
    for (uint32_t i = 0; i < num_args; i++) {
        const ir__expr_node *a = ir__node_at(in, arg[i]);
        if (a->depth >= depth) depth = a->depth + 1u;
        symbols |= a->symbols;
    }
    if (depth > IND__MAX_DEPTH || num_args > IND__MAX_TERMS) {
        ind__fail(c, IND_ERROR_LIMIT, "a size expression is nested more than %d levels deep or has more than %d terms",
                  IND__MAX_DEPTH, IND__MAX_TERMS);
        return ir__expr_none(c);
    }
    if (num_args > 2 && !(list = ir__alloc_words(in, num_args))) return ir__expr_none(c);
    if (!(id = ir__interner_append(in))) return ir__expr_none(c);
    ir__expr_node *n = ir__node_at(in, id);
    n->kind = (uint32_t)kind & 31u;
    n->num_args = num_args & 0x7ffffu;
    n->depth = depth & 255u;
    n->symbols = symbols;
    n->lo = n->hi = value;
    if (num_args) memcpy(list ? list : n->arg.few, arg, num_args * sizeof *arg);
    if (list) n->arg.many = list;
    ir__table_put(in, id, hash);
    if (kind != IND_EXPR_INT) ir__node_bounds(c, n);
    return ir__expr_make(c, id);
}

ind_expr ind_int(ind_context *c, int64_t value) {
    if (!c) return ir__expr_none(c);
    const uint64_t at = (uint64_t)value - (uint64_t)IND__LEAST_SMALL;
    if (at >= IND__NUM_SMALL) return ir__intern(c, IND_EXPR_INT, NULL, 0, value);
    uint32_t *id = &c->interner->small_int[at];
    if (!*id) *id = ir__intern(c, IND_EXPR_INT, NULL, 0, value).id;
    return ir__expr_make(c, *id);
}

static bool ir__same_symbol(const ind_symbol *a, const ind_symbol *b) {
    return a->kind == b->kind && a->slot == b->slot && a->lo == b->lo && a->hi == b->hi &&
           a->multiple_of == b->multiple_of && a->hint == b->hint && a->extent.id == b->extent.id &&
           !strcmp(a->name, b->name);
}

/* Looks up a symbol by the hash of its fields. */
static uint32_t ir__find_symbol(const struct ind__interner *in, const ind_symbol *s, uint32_t hash) {
    uint32_t at = (uint32_t)((uint64_t)hash * in->table_size >> 32), id;
    for (; (id = ir__table_next(in, hash, &at)); at++) {
        const ir__expr_node *n = ir__node_at(in, id);
        if (n->kind == IND_EXPR_SYM && ir__same_symbol(&n->arg.symbol->symbol, s)) break;
    }
    return id;
}

/* Orders by length, so that s2 comes before s10, then by the first characters. */
static uint64_t ir__symbol_key(const char *name) {
    size_t length = strlen(name);
    uint64_t key = length < 255 ? length : 255;
    for (size_t i = 0; i < 7; i++) key = key << 8 | (i < length ? (unsigned char)name[i] : 0);
    return key;
}

static ind_status ir__check_symbol(ind_context *c, const ind_symbol *s) {
    if (ind__ok(s->extent) && ir__node_of(s->extent)->depth >= IND__MAX_DEPTH)
        return ind__fail(c, IND_ERROR_LIMIT, "the extents of loop indices are nested more than %d levels deep",
                         IND__MAX_DEPTH);
    if (!s->name || !*s->name) return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "a symbol needs a name");
    if (s->lo > s->hi)
        return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "size %s: the range [%lld, %lld] is empty", s->name,
                         (long long)s->lo, (long long)s->hi);
    if (s->multiple_of < 1)
        return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "size %s: multiple_of is %lld, must be at least 1", s->name,
                         (long long)s->multiple_of);
    if (s->hint < s->lo || s->hint > s->hi)
        return ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "size %s: hint %lld is outside [%lld, %lld]", s->name,
                         (long long)s->hint, (long long)s->lo, (long long)s->hi);
    return IND_OK;
}

ind_expr ind_symbol_expr(ind_context *c, const ind_symbol *symbol) {
    if (!c || !symbol) return ir__expr_none(c);
    struct ind__interner *in = c->interner;
    ind_symbol s = *symbol;
    if (!s.multiple_of) s.multiple_of = 1;
    if (ind__ok(s.extent)) {
        int64_t lo, hi;
        ind_expr_bounds(s.extent, &lo, &hi);
        s.lo = s.hint = 0;
        s.hi = hi == INT64_MAX ? hi : hi > 0 ? hi - 1 : 0;
    }
    if (ir__check_symbol(c, &s)) return ir__expr_none(c);
    ir__range given = {s.lo, s.hi}, range = ir__range_multiples(given, s.multiple_of);
    if (range.lo > range.hi) {
        ind__fail(c, IND_ERROR_INVALID_ARGUMENT, "size %s: no multiple of %lld is in the range [%lld, %lld]", s.name,
                  (long long)s.multiple_of, (long long)s.lo, (long long)s.hi);
        return ir__expr_none(c);
    }
    uint32_t hash = ir__hash_symbol(&s);
    uint32_t id = ir__find_symbol(in, &s, hash);
    if (id) return ir__expr_make(c, id);
    ir__symbol *copy = (ir__symbol *)ind__arena_alloc(&in->arena, sizeof *copy);
    const char *name = copy ? ind__arena_string(&in->arena, s.name, strlen(s.name)) : NULL;
    if (!name || !(id = ir__interner_append(in))) return ir__expr_none(c);
    copy->symbol = s;
    copy->symbol.name = name;
    copy->key = ir__symbol_key(name);
    copy->number = in->num_symbols++;
    ir__expr_node *n = ir__node_at(in, id);
    n->kind = IND_EXPR_SYM;
    n->arg.symbol = copy;
    n->symbols = 1u << (copy->number & 31);
    in->kind_symbols[(unsigned)s.kind % IND__NUM_SYMBOL_KINDS] |= n->symbols;
    if (ind__ok(s.extent)) { /* traversals continue into the extent, as a proof may need it */
        n->symbols |= ir__node_of(s.extent)->symbols;
        n->depth = (ir__node_of(s.extent)->depth + 1u) & 255u;
    }
    n->lo = range.lo;
    n->hi = range.hi;
    ir__table_put(in, id, hash);
    return ir__expr_make(c, id);
}

static ir__op_cache_entry *ir__cache_slot(ind_context *c, uint32_t kind, ind_expr a, ind_expr b);

ind_expr ind__index_symbol(ind_context *c, char prefix, int slot, ind_expr extent) {
    if (!ind__ok(extent)) return ir__expr_none(c);
    const uint32_t key = slot >= 0 && slot < 1 << 24 ? IND__CACHED_INDEX + 1 : 0;
    const uint32_t which = (uint32_t)(unsigned char)prefix << 24 | ((uint32_t)slot & 0xffffff);
    const ir__op_cache_entry *had = ir__cache_slot(c, IND__CACHED_INDEX, extent, (ind_expr){c, which});
    if (key && had->key == key && had->a == extent.id && had->b == which) return ir__expr_make(c, had->result);
    char name[16];
    ind__format(name, sizeof name, "%c%d", prefix, slot);
    ind_symbol s = {0};
    s.kind = IND_SYMBOL_INDEX;
    s.slot = slot;
    s.name = name;
    s.extent = extent;
    ind_expr made = ind_symbol_expr(c, &s);
    ir__op_cache_entry entry = {key, extent.id, which, made.id};
    if (key && ind__ok(made)) *ir__cache_slot(c, IND__CACHED_INDEX, extent, (ind_expr){c, which}) = entry;
    return made;
}

ind_expr ind__indirect_symbol(ind_context *c, uint32_t value, ind_expr extent) {
    if (!ind__ok(extent)) return ir__expr_none(c);
    char name[16];
    ind__format(name, sizeof name, "t%u", value);
    ind_symbol s = {0};
    s.kind = IND_SYMBOL_INDIRECT;
    s.slot = (int)value;
    s.name = name;
    s.extent = extent;
    return ind_symbol_expr(c, &s);
}

ind_expr_kind ind_expr_query_kind(ind_expr e) {
    return ind__ok(e) ? (ind_expr_kind)ir__node_of(e)->kind : IND_EXPR_NONE;
}

int ind_expr_num_args(ind_expr e) {
    return ind__ok(e) ? (int)ir__node_of(e)->num_args : 0;
}

ind_expr ind_expr_arg(ind_expr e, int i) {
    return i >= 0 && i < ind_expr_num_args(e) ? ir__expr_make(e.context, ir__node_args(ir__node_of(e))[i])
                                              : ir__expr_none(e.context);
}

const ind_symbol *ind_expr_symbol(ind_expr e) {
    return ind_expr_query_kind(e) == IND_EXPR_SYM ? &ir__node_of(e)->arg.symbol->symbol : NULL;
}

bool ind_expr_is_int(ind_expr e, int64_t *value) {
    if (ind_expr_query_kind(e) != IND_EXPR_INT) return false;
    if (value) *value = ir__node_of(e)->lo;
    return true;
}

static bool ir__same_symbol_elsewhere(const ind_symbol *a, const ind_symbol *b);

/* True if nodes of two contexts with one root are the same expression. */
static bool ir__same_elsewhere(ind_expr a, ind_expr b) {
    if (!a.id || !b.id) return a.id == b.id;
    const ir__expr_node *x = ir__node_of(a), *y = ir__node_of(b);
    if (x->kind != y->kind || x->num_args != y->num_args) return false;
    if (x->kind == IND_EXPR_INT) return x->lo == y->lo;
    if (x->kind == IND_EXPR_SYM) return ir__same_symbol_elsewhere(&x->arg.symbol->symbol, &y->arg.symbol->symbol);
    for (uint32_t i = 0; i < x->num_args; i++) {
        ind_expr p = {a.context, ir__node_args(x)[i]}, q = {b.context, ir__node_args(y)[i]};
        if (!ir__same_elsewhere(p, q)) return false;
    }
    return true;
}

static bool ir__same_symbol_elsewhere(const ind_symbol *a, const ind_symbol *b) {
    return a->kind == b->kind && a->slot == b->slot && a->lo == b->lo && a->hi == b->hi &&
           a->multiple_of == b->multiple_of && a->hint == b->hint && !strcmp(a->name, b->name) &&
           ir__same_elsewhere(a->extent, b->extent);
}

bool ind_expr_same(ind_expr a, ind_expr b) {
    if (!a.id || !b.id || a.context == b.context) return a.id && a.id == b.id;
    return a.context->root == b.context->root && ir__same_elsewhere(a, b);
}

void ind_expr_bounds(ind_expr e, int64_t *lo, int64_t *hi) {
    bool ok = ind__ok(e);
    if (lo) *lo = ok ? ir__node_of(e)->lo : INT64_MIN;
    if (hi) *hi = ok ? ir__node_of(e)->hi : INT64_MAX;
}
