/* -------------------------------------------------------------------------------------------------- >>expr */

/* An integer expression: immutable, interned, so equal expressions of one context have equal ids. id 0 is "invalid":
   every function here accepts it and returns it, and the context has the reason; so a long computation is checked once.
   A module has a context of its own, made by ind_compile; operands of it and of the user's context give a result in the
   user's context. Existing expressions are read by any thread at any time; making new ones is for one thread at a time.
   `//` and `%` are Python's: they round down for every sign.
   Errors of every constructor: IND_OVERFLOW (an integer in it exceeds 64 bits), IND_LIMIT (nested more than 160 levels
   deep, more than 65,536 terms, a product of more than 60 factors), IND_OUT_OF_MEMORY, IND_INVALID_ARGUMENT (of two
   contexts). */
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
    X(INDEX, "index")       /* loop index, in [0, extent) */                                                           \
    X(INDIRECT, "indirect") /* loop index read from memory, in [0, extent) after its check */

typedef enum ind_symbol_kind {
#define X(name, text) IND_SYMBOL_##name,
    IND_SYMBOL_KINDS(X)
#undef X
} ind_symbol_kind;

/* All fields make the identity of a symbol: the same name with another range is another symbol. */
typedef struct ind_symbol {
    ind_symbol_kind kind;
    int slot;            /* INDEX: which loop; INDIRECT: which value of the body; SIZE: position in its graph */
    const char *name;    /* printed; interned copy */
    int64_t lo, hi;      /* inclusive range; filled from extent for loop indices */
    int64_t multiple_of; /* >= 1 */
    int64_t hint;        /* a likely value: for heuristics only */
    ind_expr extent;     /* loop indices: one past the largest value; else invalid */
} ind_symbol;

IND_API ind_expr ind_int(ind_context *context, int64_t value);
/* Interns a symbol; the name is copied. Errors (invalid expr): empty range, multiple_of < 0, hint outside the range. */
IND_API ind_expr ind_symbol_expr(ind_context *context, const ind_symbol *symbol);

IND_API ind_expr ind_expr_add(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_sub(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_mul(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_neg(ind_expr a);
/* Division by what may be zero is IND_INVALID_ARGUMENT: b's bounds, its form (a product of such) or the facts in force
   have to exclude it. */
IND_API ind_expr ind_expr_floordiv(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_mod(ind_expr a, ind_expr b); /* as floordiv; the result has b's sign */
IND_API ind_expr ind_expr_ceildiv(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_modular(ind_expr x, ind_expr d, ind_expr m); /* (x // d) % m */
IND_API ind_expr ind_expr_min(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_max(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_eq(ind_expr a, ind_expr b); /* conditions are expressions with value 0 or 1 */
IND_API ind_expr ind_expr_ne(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_lt(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_le(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_and(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_or(ind_expr a, ind_expr b);
IND_API ind_expr ind_expr_not(ind_expr a);
IND_API ind_expr ind_expr_where(ind_expr condition, ind_expr a, ind_expr b);

/* Many at once: linear in n, where n calls above would copy n times. n == 0: 0 for the sum, 1 for the product; Min and
   Max need n >= 1. */
IND_API ind_expr ind_expr_sum(ind_context *context, const ind_expr *v, int n);
IND_API ind_expr ind_expr_product(ind_context *context, const ind_expr *v, int n);
IND_API ind_expr ind_expr_min_of(ind_context *context, const ind_expr *v, int n);
IND_API ind_expr ind_expr_max_of(ind_context *context, const ind_expr *v, int n);

/* Structure. Args are valid for argument numbers below the count. */
IND_API ind_expr_kind ind_expr_query_kind(ind_expr e);
IND_API int ind_expr_num_args(ind_expr e);
IND_API ind_expr ind_expr_arg(ind_expr e, int i);
IND_API const ind_symbol *ind_expr_symbol(ind_expr e);    /* NULL unless e is a symbol */
IND_API bool ind_expr_is_int(ind_expr e, int64_t *value); /* value may be NULL */
IND_API bool ind_expr_same(ind_expr a, ind_expr b);       /* equal, and valid; those of modules compare with others */

/* Value with every symbol given by `value(symbol, user, &out)`, which returns false if it has none.
   Errors: IND_NOT_FOUND (names the symbol), IND_OVERFLOW, IND_INVALID_ARGUMENT (division by zero). */
typedef bool (*ind_symbol_value_fn)(const ind_symbol *symbol, void *user, int64_t *out);
IND_API ind_status ind_expr_eval(ind_expr e, ind_symbol_value_fn value, void *user, int64_t *out);

/* Three families of questions, never mixed: *known* asks what is proven and changes nothing; *guard* settles a
   condition and, where it is not proven, writes down that it was needed; *hint* is a likely value, for heuristics
   alone.

   Known, from the symbols' own ranges (and the fact set that is in force). false means "not proven". ind_expr_bounds
   takes the symbols' own ranges alone and only reads; ind_bounds heeds facts. INT64_MIN and INT64_MAX: unbounded. */
IND_API void ind_expr_bounds(ind_expr e, int64_t *lo, int64_t *hi);
IND_API bool ind_known_true(ind_expr condition);
IND_API bool ind_known_eq(ind_expr a, ind_expr b);
IND_API bool ind_known_le(ind_expr a, ind_expr b);
IND_API bool ind_known_lt(ind_expr a, ind_expr b);
IND_API bool ind_known_multiple(ind_expr e, int64_t of);
IND_API int64_t ind_known_divisor(ind_expr e); /* the largest integer proven to divide e; 0 for the constant 0 */

/* Hint: a likely value; loop indices count as 0. An unbacked symbol needs none: then its lower bound stands in. */
IND_API int64_t ind_hint(ind_expr e);

/* A fact set: what holds of symbols beyond their own ranges. Declared facts are promises; guards are conditions that
   hold for the hints and were needed to go on. Both simplify what is built under the set. Belongs to the context, may
   be destroyed before it; not for two threads at once. */
typedef struct ind_facts ind_facts;
IND_API ind_status ind_facts_create(ind_context *context, ind_facts **facts);
IND_API void ind_facts_destroy(ind_facts *facts); /* NULL allowed */

/* Declares that a condition holds: s0 == 4*s1, s0 <= s1, s0 % 8 == 0, s0 != 0, i0 < s0, `and` of such; anything else is
   remembered as it stands. Equalities that can be solved for a symbol replace it; bounds of one symbol narrow it.
   Errors: IND_INVALID_ARGUMENT if it contradicts what is known (nothing is added), IND_OUT_OF_MEMORY. */
IND_API ind_status ind_facts_assume(ind_facts *facts, ind_expr condition);

/* Puts a fact set in force: until another call, the known-queries, the divisors (x // n needs n != 0) and the rules
   that need a proof heed it in all that is built in the context. Symbols stay as they are given; ind_simplify also puts
   what replaces them. facts may be NULL: none. Returns the set that was in force, to be put back; what was built under
   a set is valid only where its facts hold. NULL context: nothing happens, NULL. A set of another context is
   IND_INVALID_ARGUMENT (ind_error_status) and is not put in force. */
IND_API ind_facts *ind_facts_enter(ind_context *context, ind_facts *facts);

/* Known under a fact set (NULL: none). simplify builds e anew under the facts until nothing changes; the result has the
   same value wherever the facts hold, and simplifying it again gives the same id. Where a form on the way would hold an
   integer beyond 64 bits, the expression stays as far as it came: then equal values may have different ids. */
IND_API ind_expr ind_simplify(ind_facts *facts, ind_expr e);
IND_API bool ind_known(ind_facts *facts, ind_expr condition);
IND_API void ind_bounds(ind_facts *facts, ind_expr e, int64_t *lo, int64_t *hi);

/* Guard: *holds says which way a condition goes. Proven either way: nothing is recorded. Else it is decided by the
   hints, and the condition (or its negation) becomes a guard: true from here on, checked by ind_facts_check. Where the
   hints contradict what is known, the answer is the one that does not. Errors, with nothing recorded: IND_NOT_SUPPORTED
   if it hangs on an unbacked symbol or a loop index: no hint may stand for data; IND_INVALID_ARGUMENT (a condition of
   another context, holds NULL, for the hints a division by zero), IND_OVERFLOW (its value for the hints), IND_LIMIT
   (too many consequences), IND_OUT_OF_MEMORY. */
IND_API ind_status ind_guard(ind_facts *facts, ind_expr condition, bool *holds);
IND_API int ind_facts_num_guards(const ind_facts *facts);
IND_API ind_expr ind_facts_query_guard(const ind_facts *facts, int i); /* as given; invalid past the end */
IND_API int ind_facts_num_declared(const ind_facts *facts);
IND_API ind_expr ind_facts_query_declared(const ind_facts *facts, int i);
/* Do all declared facts and guards hold for these values? IND_OK; IND_OUT_OF_RANGE names the first that does not, which
   goes to *failed (may be NULL); IND_NOT_FOUND, IND_OVERFLOW as ind_expr_eval. */
IND_API ind_status ind_facts_check(const ind_facts *facts, ind_symbol_value_fn value, void *user, ind_expr *failed);

/* Text. IND_PRINT_TEXT reads back to the same id (ind_expr_parse) and is the smallest form known, counted in
   operations, then in characters: common factors are taken out, ceilings are CeilDiv. LATEX writes the same form. C and
   CUDA round down for every sign; they call ind_floordiv, ind_floormod, ind_min and ind_max (int or long long, defined
   by whoever includes the text) where no plain operator does; / and % stand between operands that are proven not to be
   negative. A rewritten form is only taken there if no result on the way can leave the type. Literals of C and CUDA64
   end in ll. */
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
   without the terminator, as snprintf; "<invalid>" for the invalid expression, "<too long>" for more than 1 MiB, "<no
   memory>". Any thread may print what a module returned; printing others makes expressions, as the constructors do. */
IND_API size_t ind_expr_print(ind_expr e, char *buffer, size_t size);
IND_API size_t ind_expr_print_as(ind_expr e, ind_print form, char *buffer, size_t size);

/* Reads the text form, all of it. Names are [A-Za-z_][A-Za-z0-9_]*, looked up by find (invalid expr: unknown).
   Operators bind as in Python; a chain of comparisons is refused. Also read: + before a value, x ** n (n from 0 to 64),
   True, False, FloorDiv, CleanDiv, Mod, PythonMod, Abs, Identity, Eq, Ne, Lt, Le, Gt, Ge, And, Or, Not. The invalid
   expression on failure, with the reason in ind_error and the 1-based column of the offence in *column (may be NULL; 0
   if it is no matter of the text). Errors: IND_PARSE, IND_LIMIT (more than 1 MiB, nested more than 1000 levels deep,
   what is built exceeds a limit), IND_OVERFLOW, IND_INVALID_ARGUMENT (a divisor that may be 0). */
typedef ind_expr (*ind_find_symbol_fn)(const char *name, size_t length, void *user);
IND_API ind_expr ind_expr_parse(ind_context *context, const char *text, ind_find_symbol_fn find, void *user,
                                int *column);

/* Equations, substitution, and what a loop needs to know of an index. */
/* The value of `symbol` that makes a == b, if there is exactly one integer expression for it that is proven exact:
   affine in the symbol, with a coefficient that divides the rest. Invalid (without an error) if there is none. */
IND_API ind_expr ind_expr_solve(ind_expr a, ind_expr b, ind_expr symbol);
IND_API ind_expr ind_expr_substitute(ind_expr e, const ind_expr *symbols, const ind_expr *values, int n); /* at once */
/* How far e moves when the loop index grows by one, if that is the same everywhere; else invalid, without an error. */
IND_API ind_expr ind_expr_stride(ind_expr e, ind_expr index);
/* For vector access: how many neighbouring values of `index`, from every multiple of that number on, give neighbouring
   values of e (a power of two up to `most`; 1: none), and the proven alignment of the first of each group, in elements.
 */
IND_API int ind_expr_contiguity(ind_expr e, ind_expr index, int most, int *alignment);
/* Are [a, a + a_size) and [b, b + b_size) proven to have no element in common, for all values of the symbols? */
IND_API bool ind_known_disjoint(ind_expr a, ind_expr a_size, ind_expr b, ind_expr b_size);
