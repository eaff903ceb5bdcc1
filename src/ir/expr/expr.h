/* -------------------------------------------------------------------------------------------------- >>expr */

/* An integer expression: immutable and interned, so equal expressions of one context have equal ids. id 0 is "invalid":
   every function here accepts it and returns it, and the context has the reason. So one check at the end of a long
   computation is enough. A module has its own context, created by ind_compile. An operation on its expressions and the
   user's gives a result in the user's context. Any thread may read existing expressions at any time; only one thread at
   a time may create new ones. `//` and `%` are Python's: they round down for every sign.
   Errors of every constructor: IND_ERROR_OVERFLOW (an integer in it exceeds 64 bits), IND_ERROR_LIMIT (nested more than
   160 levels deep, more than 65,536 terms, a product of more than 60 factors), IND_ERROR_OUT_OF_MEMORY,
   IND_ERROR_INVALID_ARGUMENT (operands of unrelated contexts). */
typedef struct ind_expr {
    ind_context *context;
    uint32_t id;
} ind_expr;

/* Node kinds: enumerator, text, arity (0 leaf, -1 any number). CeilDiv(a, b) is built as -((-a) // b), and
   ModularIndexing(x, d, m) as (x // d) % m. Canonical form:
   Add holds no Add; at most one integer, first; every other argument is a distinct term c * m.
   Mul holds no Mul and no Add unless expanding it would exceed a limit; at most one integer, first, never 0 or 1. */
#define IND_EXPRS(X)                                                                                                   \
    X(NONE, "none", 0)                                                                                                 \
    X(INT, "int", 0)                                                                                                   \
    X(SYM, "sym", 0)                                                                                                   \
    X(ADD, "+", -1)                                                                                                    \
    X(MUL, "*", -1)                                                                                                    \
    X(FLOORDIV, "//", 2)                                                                                               \
    X(MOD, "%", 2)                                                                                                     \
    X(MIN, "Min", -1)                                                                                                  \
    X(MAX, "Max", -1)                                                                                                  \
    X(EQ, "==", 2)                                                                                                     \
    X(NE, "!=", 2)                                                                                                     \
    X(LT, "<", 2)                                                                                                      \
    X(LE, "<=", 2)                                                                                                     \
    X(AND, "and", -1)                                                                                                  \
    X(OR, "or", -1)                                                                                                    \
    X(NOT, "not", 1)                                                                                                   \
    X(WHERE, "Where", 3)

typedef enum ind_expr_kind {
#define X(name, text, arity) IND_EXPR_##name,
    IND_EXPRS(X)
#undef X
} ind_expr_kind;

#define IND_SYMBOL_KINDS(X)                                                                                            \
    X(SIZE, "size")         /* declared: range, multiple-of, hint */                                                   \
    X(UNBACKED, "unbacked") /* known only at run time, from data */                                                    \
    X(INDEX, "index")       /* loop index in [0, extent) */                                                            \
    X(INDIRECT, "indirect") /* loop index read from memory, in [0, extent) after its check */

typedef enum ind_symbol_kind {
#define X(name, text) IND_SYMBOL_##name,
    IND_SYMBOL_KINDS(X)
#undef X
} ind_symbol_kind;

/* All fields together identify a symbol: the same name with another range is another symbol. */
typedef struct ind_symbol {
    ind_symbol_kind kind;
    int slot;            /* INDEX: which loop; INDIRECT: which value of the body; SIZE: position in its graph */
    const char *name;    /* as printed; interned copy */
    int64_t lo, hi;      /* inclusive range; derived from the extent for loop indices */
    int64_t multiple_of; /* >= 1 */
    int64_t hint;        /* a likely value, for heuristics only */
    ind_expr extent;     /* loop indices: one past the largest value; else invalid */
} ind_symbol;

IND_API ind_expr ind_int(ind_context *context, int64_t value);
/* Interns a symbol; the name is copied. Errors (invalid expr): empty range, multiple_of < 0, hint outside the range. */
IND_API ind_expr ind_symbol_expr(ind_context *context, const ind_symbol *symbol);

IND_API ind_expr ind_expr_add(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_sub(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_mul(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_neg(ind_expr a);
/* Division by a value that may be zero is IND_ERROR_INVALID_ARGUMENT: b must be proven nonzero by its bounds, its form
   (a product of nonzero factors) or the facts in force. */
IND_API ind_expr ind_expr_floordiv(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_mod(ind_expr a, ind_expr b); /* as floordiv; the result has b's sign */
IND_API ind_expr ind_expr_ceildiv(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_modular(ind_expr x, ind_expr d, ind_expr m); /* (x // d) % m */
IND_API ind_expr ind_expr_min(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_max(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_eq(ind_expr a, ind_expr b); /* conditions are expressions with the value 0 or 1 */
IND_API ind_expr ind_expr_ne(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_lt(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_le(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_and(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_or(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_not(ind_expr a);
IND_API ind_expr ind_expr_where(ind_expr condition, ind_expr a, ind_expr b);

/* Operations on n operands in linear time; n calls of the functions above would copy n times. n == 0 gives 0 for the
   sum, 1 for the product; Min and Max need n >= 1. */
IND_API ind_expr ind_expr_sum(ind_context *context, const ind_expr *v, int n);
IND_API ind_expr ind_expr_product(ind_context *context, const ind_expr *v, int n);
IND_API ind_expr ind_expr_min_of(ind_context *context, const ind_expr *v, int n);
IND_API ind_expr ind_expr_max_of(ind_context *context, const ind_expr *v, int n);

/* Structure. An argument number must be below the count. */
IND_API ind_expr_kind ind_expr_query_kind(ind_expr e);
IND_API int ind_expr_num_args(ind_expr e);
IND_API ind_expr ind_expr_arg(ind_expr e, int i);
IND_API const ind_symbol *ind_expr_symbol(ind_expr e);    /* NULL unless e is a symbol */
IND_API bool ind_expr_is_int(ind_expr e, int64_t *value); /* value may be NULL */
IND_API bool ind_expr_same(ind_expr a, ind_expr b);       /* valid and equal, also across module contexts */

/* Evaluates e. `value(symbol, user, &out)` gives the value of each symbol and returns false if it has none. Errors:
   IND_ERROR_NOT_FOUND (names the symbol), IND_ERROR_OVERFLOW, IND_ERROR_INVALID_ARGUMENT (division by zero). */
typedef bool (*ind_symbol_value_fn)(const ind_symbol *symbol, void *user, int64_t *out);
IND_API ind_status ind_expr_eval(ind_expr e, ind_symbol_value_fn value, void *user, int64_t *out);

/* Three families of queries. *known* returns proven facts and changes nothing. *guard* decides a condition and, if it
   is not proven, records that it was needed. *hint* is a likely value, for heuristics only.

   Known: proven from the symbols' own ranges and the fact set in force. false means "not proven". ind_expr_bounds uses
   the symbols' own ranges alone and only reads; ind_bounds also uses facts. INT64_MIN and INT64_MAX: unbounded. */
IND_API void ind_expr_bounds(ind_expr e, int64_t *lo, int64_t *hi);
IND_API bool ind_known_true(ind_expr condition);
IND_API bool ind_known_eq(ind_expr a, ind_expr b);
IND_API bool ind_known_le(ind_expr a, ind_expr b);
IND_API bool ind_known_lt(ind_expr a, ind_expr b);
IND_API bool ind_known_multiple(ind_expr e, int64_t of);
IND_API int64_t ind_known_divisor(ind_expr e); /* the largest integer proven to divide e; 0 for the constant 0 */

/* Hint: a likely value; loop indices count as 0. An unbacked symbol without a hint counts as its lower bound. */
IND_API int64_t ind_hint(ind_expr e);

/* A fact set: facts on symbols beyond their own ranges. Declared facts are promises of the caller. Guards are
   conditions that hold for the hints and that later decisions depend on. Both simplify expressions built under the set.
   It belongs to the context and may be destroyed before it. Not for two threads at once. */
typedef struct ind_facts ind_facts;
IND_API ind_status ind_facts_create(ind_context *context, ind_facts **facts);
IND_API void ind_facts_destroy(ind_facts *facts); /* NULL allowed */

/* Declares that a condition holds: s0 == 4*s1, s0 <= s1, s0 % 8 == 0, s0 != 0, i0 < s0, or an `and` of these; any other
   condition is stored as it is. An equality that can be solved for a symbol replaces the symbol; a bound of one symbol
   narrows its range. Errors: IND_ERROR_INVALID_ARGUMENT if it contradicts known facts (nothing is added),
   IND_ERROR_OUT_OF_MEMORY. */
IND_API ind_status ind_facts_assume(ind_facts *facts, ind_expr condition);

/* Puts a fact set in force. Until the next call it applies to everything built in the context: the known queries, the
   divisors (x // n needs n != 0) and the rules that need a proof. Symbols are not replaced; ind_simplify also replaces
   them. facts may be NULL: none. Returns the set that was in force, which the caller restores. An expression built
   under a set is valid only if its facts hold. NULL context: does nothing, returns NULL. A set of another context is
   IND_ERROR_INVALID_ARGUMENT (ind_error_status) and is not put in force. */
IND_API ind_facts *ind_facts_enter(ind_context *context, ind_facts *facts);

/* Known under a fact set (NULL: none). simplify rebuilds e under the facts until nothing changes. The result has the
   same value wherever the facts hold, and simplifying it again gives the same id. If an intermediate form has an
   integer beyond 64 bits, simplification stops there; then equal values may have different ids. */
IND_API ind_expr ind_simplify(ind_facts *facts, ind_expr e);
IND_API bool ind_known(ind_facts *facts, ind_expr condition);
IND_API void ind_bounds(ind_facts *facts, ind_expr e, int64_t *lo, int64_t *hi);

/* Guard: sets *holds to the truth of a condition. Proven true or false: nothing is recorded. Otherwise the hints
   decide, and the condition (or its negation) becomes a guard: true from here on, checked by ind_facts_check. If the
   hints contradict known facts, the facts decide. Errors, with nothing recorded: IND_ERROR_NOT_SUPPORTED if it depends
   on an unbacked symbol or a loop index, as no hint may stand for data; IND_ERROR_INVALID_ARGUMENT (a condition of
   another context, holds NULL, a division by zero at the hints), IND_ERROR_OVERFLOW (its value at the hints),
   IND_ERROR_LIMIT (too many consequences), IND_ERROR_OUT_OF_MEMORY. */
IND_API ind_status ind_guard(ind_facts *facts, ind_expr condition, bool *holds);
IND_API int ind_facts_num_guards(const ind_facts *facts);
IND_API ind_expr ind_facts_query_guard(const ind_facts *facts, int i); /* as given; invalid past the end */
IND_API int ind_facts_num_declared(const ind_facts *facts);
IND_API ind_expr ind_facts_query_declared(const ind_facts *facts, int i);
/* Checks that all declared facts and guards hold for these values. IND_OK if so. IND_ERROR_OUT_OF_RANGE names the first
   that does not and returns it in *failed (may be NULL). IND_ERROR_NOT_FOUND, IND_ERROR_OVERFLOW as ind_expr_eval. */
IND_API ind_status ind_facts_check(const ind_facts *facts, ind_symbol_value_fn value, void *user, ind_expr *failed);

/* Printing. IND_PRINT_TEXT reads back to the same id (ind_expr_parse). It is the smallest form found, counted in
   operations, then in characters: common factors are taken out, ceilings are CeilDiv. LATEX prints the same form. C and
   CUDA round down for every sign. If no plain operator does, they call ind_floordiv, ind_floormod, ind_min and ind_max
   (int or long long), which the including code defines. They use / and % only if both operands are proven nonnegative,
   and a rewritten form only if no intermediate result can leave the type. Literals of C and CUDA64 end in ll. */
#define IND_PRINTS(X)                                                                                                  \
    X(TEXT, "text")     /* // % CeilDiv(a, b) Min(..) Max(..) Where(c, a, b) and or not */                             \
    X(C, "c")           /* int64_t */                                                                                  \
    X(CUDA32, "cuda32") /* int */                                                                                      \
    X(CUDA64, "cuda")   /* long long */                                                                                \
    X(LATEX, "latex")   /* for documents */

typedef enum ind_print {
#define X(name, text) IND_PRINT_##name,
    IND_PRINTS(X)
#undef X
} ind_print;

/* Prints into buffer (size bytes, always terminated if size > 0; NULL allowed). Returns the length of the whole text
   without the terminator, as snprintf. Special texts: "<invalid>" for the invalid expression, "<too long>" for more
   than 1 MiB, "<no memory>". Any thread may print expressions that a module returned; printing others creates
   expressions, as the constructors do. */
IND_API size_t ind_expr_print(ind_expr e, char *buffer, size_t size);
IND_API size_t ind_expr_print_as(ind_expr e, ind_print form, char *buffer, size_t size);

/* Parses the whole text. Names are [A-Za-z_][A-Za-z0-9_]*, looked up by find (invalid expr: unknown). Operators bind as
   in Python; a chain of comparisons is refused. Also read: + before a value, x ** n (n from 0 to 64), True, False,
   FloorDiv, CleanDiv, Mod, PythonMod, Abs, Identity, Eq, Ne, Lt, Le, Gt, Ge, And, Or, Not. On failure returns the
   invalid expression, with the reason in ind_error and the 1-based column of the error in *column (may be NULL; 0 if
   the text is not at fault). Errors: IND_ERROR_PARSE, IND_ERROR_LIMIT (more than 1 MiB, nested more than 1000 levels
   deep, the result exceeds a limit), IND_ERROR_OVERFLOW, IND_ERROR_INVALID_ARGUMENT (a divisor that may be 0). */
typedef ind_expr (*ind_find_symbol_fn)(const char *name, size_t length, void *user);
IND_API ind_expr ind_expr_parse(ind_context *context, const char *text, ind_find_symbol_fn find, void *user,
                                int *column);

/* Equations, substitution, and properties of an index in a loop. */
/* The value of `symbol` that makes a == b, if there is exactly one integer expression for it that is proven exact:
   affine in the symbol, with a coefficient that divides the rest. Else invalid, without an error. */
IND_API ind_expr ind_expr_solve(ind_expr a, ind_expr b, ind_expr symbol);
IND_API ind_expr ind_expr_substitute(ind_expr e, const ind_expr *symbols, const ind_expr *values, int n); /* at once */
/* The change of e when the loop index grows by one, if it is the same at every index; else invalid, without an
   error. */
IND_API ind_expr ind_expr_stride(ind_expr e, ind_expr index);
/* For vector access: the largest power of two n up to `most` such that n consecutive values of `index`, from any
   multiple of n on, give n consecutive values of e (1: none). *alignment: proven alignment, in elements, of the first
   of each group. */
IND_API int ind_expr_contiguity(ind_expr e, ind_expr index, int most, int *alignment);
/* True if [a, a + a_size) and [b, b + b_size) are proven disjoint for all values of the symbols. */
IND_API bool ind_known_disjoint(ind_expr a, ind_expr a_size, ind_expr b, ind_expr b_size);
