/* ---- expressions ---- */

/* The rules of simplification: enumerator, name, law. The function that applies a rule has its proof;
   tests/unit/test_rules.c has a test for each. b > 0 unless stated otherwise. */
#define IND__EXPR_RULES(X)                                                                                             \
    X(COMBINE, "combine", "q*(x % m) + q*m*(x // m) = q*x")                                                            \
    X(COMBINE_MODULAR, "combine-modular", "q*(y % m) + q*m*((y // m) % n) = q*(y % (m*n))")                            \
    X(MOD_FROM_DIFFERENCE, "mod-from-difference", "q*x - q*m*(x // m) = q*(x % m)")                                    \
    X(FLOOR_FROM_DIFFERENCE, "floor-from-difference", "q*x - q*(x % m) = q*m*(x // m)")                                \
    X(EXACT_QUOTIENT, "exact-quotient", "b*(x // b) = x where b divides x")                                            \
    X(COMBINE_QUOTIENTS, "combine-quotients", "(x // a)*(y // b) = x*y // (a*b) where a divides x and b divides y")    \
    X(DIVIDE_ZERO, "divide-zero", "0 // b = 0 % b = 0")                                                                \
    X(DIVIDE_BY_ONE, "divide-by-one", "x // 1 = x, x % 1 = 0")                                                         \
    X(MULTIPLES, "multiples", "(b*q + r) // b = q + r // b, (b*q + r) % b = r % b, any sign of b")                     \
    X(LONG_DIVISION, "long-division", "the same for a divisor that is a sum")                                          \
    X(REDUCE, "reduce", "c*x % b = (c % b)*x % b for integers")                                                        \
    X(COMMON_FACTOR, "common-factor", "(g*r) // (g*b) = r // b, (g*r) % (g*b) = g*(r % b)")                            \
    X(IN_RANGE, "in-range", "a // b = 0 and a % b = a where 0 <= a < b")                                               \
    X(CONSTANT, "constant", "a // b = q where the bounds of a / b lie in [q, q + 1)")                                  \
    X(RESIDUE, "residue", "a % b = r where a fact says so")                                                            \
    X(NESTED, "nested", "(x // d + c) // b = (x + c*d) // (d*b)")                                                      \
    X(FLOOR_OF_MOD, "floor-of-mod", "(x % (b*m)) // b = (x // b) % m")                                                 \
    X(EXACT_COEFFICIENT, "exact-coefficient", "c*x // b = c*(x // b) where b divides x")                               \
    X(FLOOR_MULTIPLES, "floor-multiples", "((y + d*b*j) // d) % b = (y // d) % b")                                     \
    X(UNNEST, "unnest", "(c*(x % m) + r) % b = (c*x + r) % b where b divides c*m")                                     \
    X(SMALL_PART, "small-part", "(g*u + s) // (g*b) = u // b, (g*u + s) % (g*b) = g*(u % b) + s where 0 <= s < g")     \
    X(EXACT_SCALE, "exact-scale", "s // (s // k) = k, (s // k)*y // s = y // k where k divides s")                     \
    X(FLIP, "flip", "-a // b = -1 - (a - 1) // b, -a % b = b - 1 - (a - 1) % b")                                       \
    X(DOMINATED, "dominated", "Max(a, b) = b where a <= b")                                                            \
    X(LATTICE_COMMON_TERM, "lattice-common-term", "Min(a + c, b + c) = Min(a, b) + c")                                 \
    X(LATTICE_FACTOR, "lattice-factor", "Min(g*a, g*b) = g*Min(a, b), g*Max(a, b) for g < 0")                          \
    X(LATTICE_DIFFERENCE, "lattice-difference",                                                                        \
      "q*a - q*Min(a, b) = q*Max(0, a - b), q*a - q*Max(a, b) = q*Min(0, a - b)")                                      \
    X(LATTICE_PAIR, "lattice-pair", "Min(a, b) + Max(a, b) = a + b")                                                   \
    X(WHERE_NESTED, "where-nested", "Where(c, Where(c, x, y), z) = Where(c, x, z)")                                    \
    X(WHERE_LATTICE, "where-lattice", "Where(a < b, a, b) = Min(a, b)")

typedef enum ind__expr_rule {
#define X(id, name, law) IND__EXPR_RULE_##id,
    IND__EXPR_RULES(X)
#undef X
        IND__NUM_EXPR_RULES
} ind__expr_rule;
/* Name of rule 0 .. IND__NUM_EXPR_RULES - 1, with its law in *law (may be NULL); and the number of times it applied in
   this context. */
const char *ind__expr_rule_name(int rule, const char **law);
uint32_t ind__expr_rule_fired(const ind_context *c, int rule);

static inline bool ind__ok(ind_expr e) {
    return e.id != 0;
}
ind_expr ind__index_symbol(ind_context *c, char prefix, int slot, ind_expr extent); /* "i0", "r1", ..: a loop index */
ind_expr ind__indirect_symbol(ind_context *c, uint32_t value, ind_expr extent);     /* "t12" */
bool ind__expr_depends(ind_expr e, ind_expr symbol);
bool ind__expr_has_kind(ind_expr e, ind_symbol_kind kind); /* a symbol of this kind occurs in e */
bool ind__expr_is_size(ind_expr e);                        /* no loop index or indirect symbol occurs in e */
/* Appends the symbols of e, each once, to out (at most max); returns their number. */
int ind__expr_symbols(ind_expr e, ind_expr *out, int max);
/* e with from[i] (symbols) replaced by to[i], simultaneously. */
ind_expr ind__substitute(ind_expr e, const ind_expr *from, const ind_expr *to, int n);
/* A node of e's kind over n other arguments, built by the simplifying constructors. */
ind_expr ind__expr_rebuild(ind_expr e, const ind_expr *arg, int n);
/* Splits e == coefficient * symbol + rest; neither part contains the symbol. False if e is not affine in it. */
bool ind__affine(ind_expr e, ind_expr symbol, ind_expr *coefficient, ind_expr *rest);
uint32_t ind__num_exprs(const ind_context *c); /* interned so far */
/* Prints for emitted code. name(symbol) writes the name of each symbol. wide: literals and helper functions are "long
   long", else "int". Divisions of operands not proven nonnegative call ind_floordiv / ind_floormod. */
typedef void (*ind__symbol_name_fn)(ind__text *t, ind_expr symbol, void *user);
void ind__text_expr_c(ind__text *t, ind_expr e, bool wide, ind__symbol_name_fn name, void *user);
/* Parses an expression; symbols through find (invalid expr: unknown, an error at that position). *end is set to the
   first character not consumed. On failure returns invalid, with the message set and *end at the error. */
typedef ind_expr (*ind__find_symbol_fn)(const char *name, size_t length, void *user);
ind_expr ind__expr_parse(ind_context *c, const char *text, const char **end, ind__find_symbol_fn find, void *user);
/* Row-major linear index of `index` in `size`, and its inverse. */
ind_expr ind__linearise(ind_context *c, const ind_expr *index, const ind_expr *size, int rank);
void ind__delinearise(ind_context *c, ind_expr linear, const ind_expr *size, int rank, ind_expr *index);
ind_expr ind__align_up(ind_expr e, int64_t to);

/* ---- index expressions and the loops they are in ---- */

/* Imports expressions, facts and bodies of one context into another of the same root. Canonical form depends on
   structure alone, so the result is the same expression over the same symbols. Freed with ind__import_end. */
typedef struct ind__import {
    ind_context *to;
    struct ind__id_map {
        ind_context *context;
        uint32_t *slot; /* pairs of key (0: free) and value */
        uint32_t num, cap;
        uint32_t lent; /* if the slots are borrowed: their capacity; they are not freed here */
    } made;            /* expressions by their ids */
} ind__import;
ind__import ind__import_begin(ind_context *to);        /* everything imported with it must come from one context */
ind_expr ind__import_expr(ind__import *m, ind_expr e); /* invalid for the invalid one */
ind_status ind__import_facts(ind__import *m, const ind_facts *f, ind_facts *to); /* adds the facts of f to `to` */
void ind__import_end(ind__import *m);
/* e in context c: e itself, or imported. Invalid, with the error set, if the contexts have different roots. */
ind_expr ind__in_context(ind_context *c, ind_expr e);

/* x / y if y is proven to divide x; else invalid, without an error. */
ind_expr ind__exact_quotient(ind_expr x, ind_expr y);
/* Substitutes n*g + l for the loop index: g is the number of the vector, *lane = l in [0, n) the element in it. Both
   are new loop indices. Invalid, without an error, if `index` is no loop index. */
ind_expr ind__by_vectors(ind_expr e, ind_expr index, int n, ind_expr *lane);
/* If e grows by one with each step of the loop index, from every multiple of n to the next: e at those multiples, in a
   new loop index. Else invalid, without an error. */
ind_expr ind__run_base(ind_expr e, ind_expr index, int n);
int ind__expr_divisions(ind_expr e); /* number of // and %, counting repeated ones each time; saturates at INT_MAX */
/* a <= b for all sizes. Also splits maxima into cases, as offsets in memory plans require. */
bool ind__known_le_max(ind_expr a, ind_expr b);
/* ind_bounds under the facts in force. All code after the IR gets bounds of extents, offsets and counts from here. */
void ind__known_bounds(ind_expr e, int64_t *lo, int64_t *hi);

/* Several expressions as one straight-line program over int64 slots: slot i < num_inputs is input i. For launch
   formulas and the evaluator. */
typedef struct ind__program_op {
    uint8_t kind; /* ind_expr_kind; INT: value in imm */
    uint32_t a, b, c;
    int64_t imm;
} ind__program_op;
typedef struct ind__program {
    ind_context *context;
    uint32_t num_inputs;
    ind_expr *input; /* the symbols, in the order of the input slots */
    ind__program_op *op;
    uint32_t num_ops, cap_ops;
    struct ind__slot {
        uint32_t expr, slot;
    } * memo; /* open addressing, expression id to slot */
    uint32_t num_memo, cap_memo;
} ind__program;
ind_status ind__program_init(ind__program *p, ind_context *c, const ind_expr *inputs, uint32_t num_inputs);
/* Adds e; returns the slot of its value, UINT32_MAX on failure (an unknown symbol or no memory). */
uint32_t ind__program_add(ind__program *p, ind_expr e);
/* slots has num_inputs + num_ops entries; the caller fills the first num_inputs. */
/* Errors: IND_ERROR_OVERFLOW, IND_ERROR_INVALID_ARGUMENT (x // 0). */
ind_status ind__program_run(const ind__program *p, int64_t *slots);
void ind__program_close(ind__program *p); /* nothing is added any more: frees the memo */
void ind__program_free(ind__program *p);
