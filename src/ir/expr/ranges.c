/* ---- ranges of memory */

/* The maximum in a term that is nondecreasing in it: Max(..) or c * Max(..) with c >= 0; else invalid. */
static ind_expr ir__max_of_term(ind_expr term) {
    ind_expr none = ir__expr_none(term.context), most = none;
    if (ind_expr_query_kind(term) == IND_EXPR_MAX) return term;
    if (ind_expr_query_kind(term) != IND_EXPR_MUL) return none;
    for (int i = 0; i < ind_expr_num_args(term); i++) {
        ind_expr factor = ind_expr_arg(term, i);
        int64_t lo;
        ind__known_bounds(factor, &lo, NULL);
        if (ind_expr_query_kind(factor) == IND_EXPR_MAX && !ind__ok(most))
            most = factor;
        else if (lo < 0)
            return none;
    }
    return most;
}

/* The first term of e (or e itself) with such a maximum, which is returned in *most; else invalid. */
static ind_expr ir__max_term(ind_expr e, ind_expr *most) {
    bool sum = ind_expr_query_kind(e) == IND_EXPR_ADD;
    for (int i = 0; i < (sum ? ind_expr_num_args(e) : 1); i++) {
        ind_expr term = sum ? ind_expr_arg(e, i) : e;
        *most = ir__max_of_term(term);
        if (ind__ok(*most)) return term;
    }
    return ir__expr_none(e.context);
}

/* e with the maximum of its term replaced by its i-th argument. */
static ind_expr ir__at_argument(ind_expr e, ind_expr term, ind_expr most, int i) {
    return ir__exchange(e, ir__remove_factor(term, most), most, ind_expr_arg(most, i));
}

enum { IR__MOST_REPLACED = 3 }; /* maxima in each other, as in the bytes of an arena */

/* Proves a <= b with a maximum in a term of b replaced by one of its arguments, a lower bound. Up to `depth`
   replacements; hints refute most of them at once. */
static bool ir__le_some(ind_expr a, ind_expr b, int depth) {
    if (ind_hint(a) > ind_hint(b)) return false;
    if (ind_known_le(a, b)) return true;
    ind_expr most, term = depth ? ir__max_term(b, &most) : ir__expr_none(b.context);
    for (int i = 0; ind__ok(term) && i < ind_expr_num_args(most); i++)
        if (ir__le_some(a, ir__at_argument(b, term, most, i), depth - 1)) return true;
    return false;
}

/* The divisor if t is a quotient by a positive number; else 0. */
static int64_t ir__divisor_of(ir__term t) {
    int64_t n = 0;
    bool quotient = ind__ok(t.m) && ind_expr_query_kind(t.m) == IND_EXPR_FLOORDIV;
    return quotient && ind_expr_is_int(ind_expr_arg(t.m, 1), &n) && n > 0 ? n : 0;
}

/* b with the coefficient of its quotient u = k * (y // n), y >= 0, reduced to c*n/m, if that is less than k: as much as
   the term t = c * (x // m) of a requires. */
static ind_expr ir__with_part(ind_expr b, ir__term t, ir__term u) {
    int64_t m = ir__divisor_of(t), n = ir__divisor_of(u), part, least;
    if (!m || !n || n % m || t.c <= 0 || ind__mul_overflow(t.c, n / m, &part) || part >= u.c)
        return ir__expr_none(b.context);
    ind_expr_bounds(u.m, &least, NULL);
    if (least < 0) return ir__expr_none(b.context);
    return ind_expr_sub(b, ind_expr_mul(ind_int(b.context, u.c - part), u.m));
}

/* Proves a <= b if b has more of a quotient than a requires: CeilDiv(x, 8) <= 3 * CeilDiv(x, 16), as 2 of them are
   enough. */
static bool ir__le_by_part(ind_expr a, ind_expr b) {
    enum { IR__MOST_PAIRS = 64 };
    if (ir__num_terms(a) * ir__num_terms(b) > IR__MOST_PAIRS) return false;
    for (int i = 0; i < ir__num_terms(a); i++)
        for (int k = 0; k < ir__num_terms(b); k++) {
            ind_expr less = ir__with_part(b, ir__term_of(ir__term_at(a, i)), ir__term_of(ir__term_at(b, k)));
            if (ind__ok(less) && ind_known_le(a, less)) return true;
        }
    return false;
}

/* A maximum in a equals one of its arguments, so each must be <= b. Hints refute most pairs at once. */
bool ind__known_le_max(ind_expr a, ind_expr b) {
    if (!ind__ok(a) || !ind__ok(b) || ind_hint(a) > ind_hint(b)) return false;
    if (ir__le_some(a, b, IR__MOST_REPLACED) || ir__le_by_part(a, b)) return true;
    ind_expr most, term = ir__max_term(a, &most);
    for (int i = 0; ind__ok(term) && i < ind_expr_num_args(most); i++)
        if (!ir__le_some(ir__at_argument(a, term, most, i), b, IR__MOST_REPLACED)) return false;
    return ind__ok(term);
}

bool ind_known_disjoint(ind_expr a, ind_expr a_size, ind_expr b, ind_expr b_size) {
    if (!ir__both_ok(&a, &a_size) || !ir__both_ok(&b, &b_size)) return false;
    if (a.context != b.context) {
        ind_context *c = a.context->root;
        a = ind__in_context(c, a), a_size = ind__in_context(c, a_size);
        b = ind__in_context(c, b), b_size = ind__in_context(c, b_size);
        if (!ind__ok(a) || !ind__ok(a_size) || !ind__ok(b) || !ind__ok(b_size)) return false;
    }
    ind_expr zero = ind_int(a.context, 0);
    if (ind_known_le(a_size, zero) || ind_known_le(b_size, zero)) return true;
    return ind__known_le_max(ind_expr_add(a, a_size), b) || ind__known_le_max(ind_expr_add(b, b_size), a);
}

/* --------------------------------------------------------------------------------------------- >>expr-text */

/* Printing has two steps. First an expression becomes a form, a tree of the text to write, chosen by the number of
   operations, then by the number of characters. Then a table of operator formats writes the form. A form is used for
   text only if the constructors turn it back into the same expression, so no rule below has to be trusted for that. */

enum { /* forms beyond the kinds of expressions */
       IR__FORM_NEG = IND_EXPR_WHERE + 1,
       IR__FORM_CEILDIV,
       IR__FORM_DIV_CALL, /* quotients in C whose operands may be negative */
       IR__FORM_MOD_CALL,
       IR__FORM_OTHERWISE, /* format only: the text before the last operand of Where */
       IR__NUM_FORM_OPS
};

#define IR__MAX_FORM_TERMS  256       /* longer sums are written as stored, to stay linear in time */
#define IR__MAX_FORM_DEPTH  400       /* nesting of forms; deeper ones are written as stored; bounds recursion */
#define IR__MAX_TEXT        (1 << 20) /* maximum characters written and read */
#define IR__MINUS_CHARS     12        /* extra characters counted for -x // 4 and x // -4: CeilDiv is clearer */
#define IR__CALL_OPS        4         /* cost of ind_floordiv over a plain division, in operations */
#define IR__FACTOR_TRIES    8         /* common factors compared before one is chosen */
#define IR__MAX_TERMS_SPLIT 32        /* terms of a numerator that may be rewritten */

typedef struct ir__form ir__form;

/* c * f[0] * f[1] * ..: equal factors are the same pointer. */
typedef struct ir__mono {
    int64_t c;
    int n;
    const ir__form **f;
} ir__mono;

typedef struct ir__poly {
    int n;
    ir__mono *t;
} ir__poly;

struct ir__form {
    uint8_t op;     /* ind_expr_kind or one of the above */
    bool fits;      /* C: no intermediate result can leave the type */
    uint16_t depth; /* of the tree below */
    uint32_t id;    /* the stored expression of the form; 0: none */
    int num;        /* operands */
    int ops, chars; /* cost to compute; length as text */
    int64_t value;  /* INT */
    int64_t lo, hi; /* bounds of the value */
    const ir__form **arg;
    const ir__poly *poly; /* the same as a sum, after roundings were rewritten; NULL: a single term */
};

/* Parameters of one printing. */
typedef struct ir__expr_style {
    ind_print form;
    bool stored; /* as stored: no factoring, no CeilDiv */
    ind__symbol_name_fn name;
    void *user;
} ir__expr_style;

/* One row per op: binding strength; texts before, between and after the operands; the strengths that the first and the
   other operands need to have no parentheses. Strength, as in Python: or 1, and 2, not 3, comparison 4, sum 5, product
   and quotient 6, unary minus 7, the rest 8. */
typedef struct ir__op_format {
    int strength;
    const char *open, *between, *close;
    int first, other;
} ir__op_format;

/* Formats common to text and the C forms. */
#define IR__FORMAT_COMMON                                                                                              \
    [IND_EXPR_ADD] = {5, "", " + ", "", 5, 5}, [IND_EXPR_MUL] = {6, "", "*", "", 7, 7},                                \
    [IND_EXPR_MOD] = {6, "", " % ", "", 6, 7}, [IND_EXPR_EQ] = {4, "", " == ", "", 5, 5},                              \
    [IND_EXPR_NE] = {4, "", " != ", "", 5, 5}, [IND_EXPR_LT] = {4, "", " < ", "", 5, 5},                               \
    [IND_EXPR_LE] = {4, "", " <= ", "", 5, 5}, [IR__FORM_NEG] = {7, "-", "", "", 7, 7}

static const ir__op_format ir__format_text[IR__NUM_FORM_OPS] = {
    IR__FORMAT_COMMON,
    [IND_EXPR_FLOORDIV] = {6, "", " // ", "", 6, 7},
    [IND_EXPR_MIN] = {8, "Min(", ", ", ")", 0, 0},
    [IND_EXPR_MAX] = {8, "Max(", ", ", ")", 0, 0},
    [IND_EXPR_AND] = {2, "", " and ", "", 3, 3},
    [IND_EXPR_OR] = {1, "", " or ", "", 2, 2},
    [IND_EXPR_NOT] = {3, "not ", "", "", 3, 3},
    [IND_EXPR_WHERE] = {8, "Where(", ", ", ")", 0, 0},
    [IR__FORM_OTHERWISE] = {0, "", ", ", "", 0, 0},
    [IR__FORM_CEILDIV] = {8, "CeilDiv(", ", ", ")", 0, 0},
};

static const ir__op_format ir__format_c[IR__NUM_FORM_OPS] = {
    IR__FORMAT_COMMON,
    [IND_EXPR_FLOORDIV] = {6, "", " / ", "", 6, 7},
    [IND_EXPR_MIN] = {8, "ind_min(", ", ", ")", 0, 0},
    [IND_EXPR_MAX] = {8, "ind_max(", ", ", ")", 0, 0},
    [IND_EXPR_AND] = {2, "", " && ", "", 3, 3},
    [IND_EXPR_OR] = {1, "", " || ", "", 2, 2},
    [IND_EXPR_NOT] = {7, "!", "", "", 8, 8},
    [IND_EXPR_WHERE] = {8, "(", " ? ", ")", 1, 1},
    [IR__FORM_OTHERWISE] = {0, "", " : ", "", 0, 0},
    [IR__FORM_DIV_CALL] = {8, "ind_floordiv(", ", ", ")", 0, 0},
    [IR__FORM_MOD_CALL] = {8, "ind_floormod(", ", ", ")", 0, 0},
};

static const ir__op_format ir__format_latex[IR__NUM_FORM_OPS] = {
    [IND_EXPR_ADD] = {5, "", " + ", "", 5, 5},
    [IND_EXPR_MUL] = {6, "", " \\cdot ", "", 7, 7},
    [IND_EXPR_FLOORDIV] = {8, "\\left\\lfloor \\frac{", "}{", "} \\right\\rfloor", 0, 0},
    [IND_EXPR_MOD] = {6, "", " \\bmod ", "", 7, 7},
    [IND_EXPR_MIN] = {8, "\\min\\left(", ", ", "\\right)", 0, 0},
    [IND_EXPR_MAX] = {8, "\\max\\left(", ", ", "\\right)", 0, 0},
    [IND_EXPR_EQ] = {4, "", " = ", "", 5, 5},
    [IND_EXPR_NE] = {4, "", " \\ne ", "", 5, 5},
    [IND_EXPR_LT] = {4, "", " < ", "", 5, 5},
    [IND_EXPR_LE] = {4, "", " \\le ", "", 5, 5},
    [IND_EXPR_AND] = {2, "", " \\land ", "", 3, 3},
    [IND_EXPR_OR] = {1, "", " \\lor ", "", 2, 2},
    [IND_EXPR_NOT] = {3, "\\lnot ", "", "", 8, 8},
    [IND_EXPR_WHERE] = {8, "\\begin{cases} ", " & \\text{if } ", " & \\text{otherwise} \\end{cases}", 0, 0},
    [IR__FORM_OTHERWISE] = {0, "", " \\\\ ", "", 0, 0},
    [IR__FORM_NEG] = {7, "-", "", "", 7, 7},
    [IR__FORM_CEILDIV] = {8, "\\left\\lceil \\frac{", "}{", "} \\right\\rceil", 0, 0},
};

static bool ir__style_is_c(const ir__expr_style *s) {
    return s->form == IND_PRINT_C || s->form == IND_PRINT_CUDA32 || s->form == IND_PRINT_CUDA64;
}

static const ir__op_format *ir__op_format_of(const ir__expr_style *s, const ir__form *f) {
    return &(ir__style_is_c(s) ? ir__format_c : s->form == IND_PRINT_LATEX ? ir__format_latex : ir__format_text)[f->op];
}

/* True if a minus is written before a product without parentheses: -a*b is (-a)*b. False if the product begins with a
   sum: the minus would be multiplied into it. */
static bool ir__minus_product(const ir__form *f) {
    const ir__form *p = f->op == IR__FORM_NEG ? f->arg[0] : f;
    if (f->op != IR__FORM_NEG || p->op != IND_EXPR_MUL) return false;
    int first = p->arg[0]->op;
    return first != IND_EXPR_ADD && first != IND_EXPR_MUL && first != IR__FORM_NEG;
}

static int ir__strength(const ir__op_format *row, const ir__form *f) {
    if (ir__minus_product(f)) return 6;
    return f->op == IND_EXPR_INT ? (f->value < 0 ? 7 : 8) : f->op == IND_EXPR_SYM ? 8 : row->strength;
}

/* The strength that operand i needs. */
static int ir__operand_strength(const ir__op_format *row, const ir__form *f, int i) {
    if (ir__minus_product(f)) return 6;
    return i ? row->other : row->first;
}
