/* ---- patterns: internal declarations */

#define IND__MAX_PATTERN_NAMES      64
#define IND__MAX_PATTERN_STEPS      48
#define IND__MAX_PATTERN_CONDITIONS 16 /* guards; conditions on values */
#define IND__PATTERN_NO_NAME        UINT32_MAX

typedef enum pattern__kind {
    PATTERN__TENSOR,
    PATTERN__NUMBER, /* a literal, which has no name */
    PATTERN__SIZE,
    PATTERN__DTYPE,
    PATTERN__ATTR /* the value of an attribute of another kind */
} pattern__kind;

/* A size expression in the pattern's text. */
typedef struct pattern__size {
    uint32_t at;   /* position in the text */
    uint32_t name; /* a single name; IND__PATTERN_NO_NAME: any other expression */
} pattern__size;

typedef enum pattern__class {
    PATTERN__ANY,
    PATTERN__FLOAT,
    PATTERN__INTEGER,
    PATTERN__UNIFORM, /* "number" */
    PATTERN__FIXED,   /* one dtype */
    PATTERN__NAMED    /* a name for a dtype */
} pattern__class;

typedef struct pattern__type {
    pattern__class class_of;
    ind_dtype dtype;   /* FIXED */
    uint32_t name;     /* NAMED */
    bool shaped, rest; /* a shape is given; it begins with ".." */
    const pattern__size *size;
    int rank; /* without the dimensions of ".." */
} pattern__type;

typedef struct pattern__name {
    const char *name;
    pattern__kind kind;
    uint32_t step;   /* 1 + the first step of which it is a result; 0: an input */
    uint32_t result; /* its number */
    bool optional;   /* the operand may be absent */
    bool constant;   /* the operand depends on constants alone */
    bool varying;    /* it does not */
    bool output;     /* both parts assign it */
    bool shared;     /* may have other users */
    bool made;       /* only the replacement assigns it */
    bool used;
    pattern__type type;
    ind__attr number;         /* NUMBER */
    ind__attr_kind attr_kind; /* ATTR */
} pattern__name;

typedef enum pattern__attr_form {
    PATTERN__DEFAULT,
    PATTERN__VALUE,
    PATTERN__BOUND, /* a name */
    PATTERN__SIZES  /* a list of sizes or integers */
} pattern__attr_form;

typedef struct pattern__attr {
    pattern__attr_form form;
    ind__attr value;
    uint32_t name;
    const pattern__size *size;
    int count;
} pattern__attr;

/* One op of the first part, or another name of a tensor. */
typedef struct pattern__step {
    uint32_t other; /* 1 + the next alternative for the same result; 0: none */
    bool alias;     /* the result is operand 0 */
    ind_graph_op op;
    const ind__function *function; /* CALL */
    uint32_t *operand;             /* 1 + name; 0: absent */
    uint32_t num_operands;
    pattern__attr *attr; /* by position in the op's schema */
    uint32_t num_attrs;
    uint32_t first, num_results; /* names */
    bool commutative, root;      /* root: an output is a result of it */
} pattern__step;

/* "where": a condition that is not on sizes. */
typedef struct pattern__condition {
    uint32_t test; /* position in pattern__tests */
    uint32_t name[2];
} pattern__condition;

typedef struct ind__pattern {
    const struct ind__pattern *next; /* declared earlier */
    const char *name, *text;
    const char *off; /* why it is off by default; NULL: it is on */
    pattern__name *names;
    uint32_t num_names;
    pattern__step *step;
    uint32_t num_steps, root;                    /* root: the last step with an output */
    uint32_t guard[IND__MAX_PATTERN_CONDITIONS]; /* positions of the expressions */
    uint32_t num_guards;
    pattern__condition condition[IND__MAX_PATTERN_CONDITIONS];
    uint32_t num_conditions;
    uint32_t made[IND__MAX_PATTERN_STEPS]; /* positions of the statements of the replacement */
    uint32_t num_made;
} ind__pattern;

/* What a name stands for in one match. */
typedef struct pattern__binding {
    bool set;
    uint32_t tensor; /* 0: absent */
    ind_expr size;
    ind_dtype dtype;
    const ind__attr *attr;
} pattern__binding;

/* The users of every tensor of a graph, and what earlier applications replace. */
typedef struct pattern__uses {
    uint32_t *first, *user; /* users of tensor t: nodes user[first[t]] .. user[first[t + 1] - 1] */
    bool *kept;             /* by tensor: an output, or the new value of an input */
    bool *constant;         /* by tensor: depends on constants alone */
    uint32_t *taken;        /* by node: 1 + the application that replaces it */
} pattern__uses;

/* A match that is to be replaced. */
typedef struct pattern__application {
    const ind__pattern *pattern;
    const pattern__binding *bound; /* by name; tensors of the matched graph */
    const uint32_t *node;          /* by step; 0: not matched, another alternative was */
    uint32_t *made;                /* by name: tensors of the rewritten graph, once applied */
    bool done, refused;
} pattern__application;
