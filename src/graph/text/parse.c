/* ------------------------------------------------------------------------------------------------ >>parser */
/* A recursive-descent parser without recursion: statements contain calls, calls contain values, lists do not nest. The
   first error is final: every later function returns at once. */

struct ind__parser;
struct ind__parsed_call;

/* Reads the names of a pattern in place of those of a graph. `operand` and `attr` return false if they leave the token
   to the parser. */
typedef struct ind__parse_scope {
    bool (*operand)(struct ind__parser *p, const struct ind__parsed_call *call, uint32_t k, uint32_t *id);
    bool (*attr)(struct ind__parser *p, struct ind__parsed_call *call, uint32_t i);
    ind_expr (*size)(struct ind__parser *p, const char *name, size_t length);
    void *user;
} ind__parse_scope;

typedef struct ind__parser {
    ind_graph *g;
    const ind__parse_scope *scope; /* NULL: the names of g */
    const char *text, *at;
    const ind_tensor *given; /* $0, $1, .. of ind_apply */
    int num_given;
    bool as_written;     /* expressions are not simplified under the graph's facts */
    const char *unknown; /* name of an undeclared size in an expression */
    size_t unknown_length;
    int brackets;        /* lines may break inside ( or [ */
    const char *counted; /* position up to which lines are counted */
    int lines;
    ind_status status;
    const char *error_at;
    char error[900];
} ind__parser;

static bool ind__parse_error(ind__parser *p, const char *at, ind_status status, const char *format, ...)
    IND__PRINTF(4, 5);
static bool ind__parse_error(ind__parser *p, const char *at, ind_status status, const char *format, ...) {
    if (p->status) return false;
    va_list args;
    va_start(args, format);
    vsnprintf(p->error, sizeof p->error, format, args);
    va_end(args);
    p->status = status;
    p->error_at = at;
    return false;
}
