/* ---------------------------------------------------------------------------------------------- >>internal */

/* Kinds of attributes: enumerator, name in the op table, name in errors. */
#define IND__ATTR_KINDS(X)                                                                                             \
    X(NONE, "none", "none") /* not given, and the default is none */                                                   \
    X(INT, "int", "an integer")                                                                                        \
    X(FLOAT, "float", "a number")                                                                                      \
    X(BOOL, "bool", "true or false")                                                                                   \
    X(STR, "str", "a string")                                                                                          \
    X(DTYPE, "dtype", "an element type")                                                                               \
    X(INTS, "ints", "a list of integers")                                                                              \
    X(FLOATS, "floats", "a list of numbers")                                                                           \
    X(SIZES, "sizes", "a list of sizes")                                                                               \
    X(SIZE, "size", "a size")                                                                                          \
    X(EXPRS, "exprs", "a list of expressions")                                                                         \
    X(SCALAR, "scalar", "a number") /* i if is_int, else f */

typedef enum ind__attr_kind {
#define X(name, text, description) IND__ATTR_##name,
    IND__ATTR_KINDS(X)
#undef X
        IND__NUM_ATTR_KINDS
} ind__attr_kind;

typedef struct ind__attr {
    ind__attr_kind kind;
    bool is_int;
    int64_t i; /* INT, BOOL, DTYPE, SCALAR */
    double f;  /* FLOAT, SCALAR */
    const char *s;
    ind_expr e;           /* SIZE */
    const ind_expr *list; /* INTS (integer expressions) and SIZES */
    const double *floats; /* FLOATS */
    int count;
} ind__attr;

/* One op. Operands are in the order of the op table; an absent optional operand is 0. */
typedef struct ind__node {
    ind_graph_op op;
    uint32_t *operand; /* tensor ids */
    uint32_t num_operands;
    ind__attr *attr; /* one per attribute of the table */
    uint32_t num_attrs;
    uint32_t result; /* first tensor id; the others follow */
    uint32_t num_results;
    ind_body *body;   /* CUSTOM: loads have source = operand position. ASSOCIATIVE_SCAN: loads are the left and right
                         values, stores the combined ones. Owned by the graph */
    const char *name; /* CUSTOM, ASSOCIATIVE_SCAN: the op's name */
    const char *composite; /* the composite op that this node is a part of; NULL: none */
    const char *file;      /* caller's position or NULL */
    int line;
} ind__node;

typedef struct ind__tensor_info {
    const char *name;
    ind_dtype dtype;
    int rank;
    ind_expr size[IND_MAX_RANK];
    uint32_t node;
    bool weak;    /* SCALAR: a Python number; it has no name */
    bool named;   /* the name was given, not generated */
    bool donated; /* an input whose memory may be overwritten */
    /* Memory, for ops in place (only while a graph is built): */
    uint32_t viewed, root;  /* the operand whose memory it shares, and the tensor that owns that memory; 0: its own */
    const ind_expr *stride; /* strides in the root's memory, in elements, in the graph's arena; NULL: contiguous */
    uint32_t writes;        /* of a root: number of writes to its memory */
    uint32_t now, seen;     /* tensor with its value since write `seen`; 0: itself */
    uint32_t unsure,
        since; /* of a root: the tensor whose memory it shares for some sizes only, and the number of writes to that */
} ind__tensor_info;

struct ind_graph {
    ind__owned owned; /* first member */
    ind_context *context;
    ind__arena arena;
    const char *name;
    ind__node *node; /* [0] unused; topological by construction */
    uint32_t num_nodes, cap_nodes;
    ind__tensor_info *tensor; /* [0] unused */
    uint32_t num_tensors, cap_tensors;
    struct ind__graph_sizes {
        ind_expr *symbol; /* declared sizes in order */
        uint32_t num, cap;
        bool *used; /* by size: one of the first num_scanned nodes uses it */
        uint32_t num_used, cap_used, num_scanned;
    } sizes;
    struct ind__graph_conditions {
        ind__condition *condition; /* facts and guards in order, as given */
        uint32_t num, cap;
        ind_facts *facts; /* the conditions as a fact set */
        bool borrowed;    /* a rewritten copy uses the facts of its source graph */
    } conditions;
    struct ind__graph_data_sizes {
        ind__unbacked unbacked[IND__MAX_UNBACKED]; /* data-dependent sizes, in order */
        uint32_t num;
        const char *wanted_name; /* of the next one; NULL: the first free of u0, u1, .. */
    } data_sizes;
    struct ind__graph_outputs {
        struct ind__output {
            uint32_t tensor;
            const char *name;
        } * output;
        uint32_t num, cap;
    } outputs;
    struct ind__graph_in_place {
        struct ind__mutation {
            uint32_t input, value; /* tensors: after a run, the input's memory holds the value */
        } * mutation;
        uint32_t num, cap;
        uint32_t num_writes; /* ops in place so far */
    } in_place;
    struct ind__graph_functions {
        const ind__function **function; /* of the user, which CALLs of this graph may name */
        uint32_t num, cap;
    } functions;
    struct ind__graph_names {
        struct ind__name {
            const char *name; /* NULL: free */
            uint32_t tensor;  /* 0: the name is released */
            uint32_t hash;
        } * slot; /* open addressing, cap a power of two */
        uint32_t num, cap;
        bool follow;                     /* the caller names the results of the op that is being added */
        uint32_t unnamed, unnamed_count; /* first result of an op whose names follow, 0: none; number of its name */
        uint32_t op_count[IND_NUM_OPS];  /* for generated names: gelu, gelu_1, .. */
    } names;
    const struct ind__pattern *patterns; /* declared in the text, newest first; in the arena */
    const struct ind__schema *schema;    /* the op table's strings, parsed; by op */
    ind_status status;
    char error[1024];
    struct ind__graph_caller {
        const char *file; /* of the builder call that is running; NULL: unknown */
        int line, depth;  /* depth: of the expressions of IND_AT that are open */
        struct ind__position {
            const char *file;
            int line;
        } expression[16];
    } caller;
    uint32_t last_results; /* of the op added last, which may be a composite */
    const char *composite; /* the outermost op that is being expanded to other ops; NULL: none */
    ind__text text;
};

/* True if the op has this flag of the op table. */
bool ind__op_has(ind_graph_op op, char flag);
const char *ind__op_name(ind_graph_op op);
/* Appends a node (operands and attributes complete) and infers its results. Returns the first result or an invalid
   tensor. The API, the parser and the passes create all nodes through it. body: CUSTOM only, ownership passes. */
ind_tensor ind__graph_add(ind_graph *g, ind_graph_op op, const uint32_t *operands, uint32_t num_operands,
                          const ind__attr *attrs, uint32_t num_attrs, ind_body *body, const char *custom_name);
/* Adds an INPUT or CONST (their type is not an attribute) and declares a size symbol. For the passes, which copy
   graphs. */
ind_tensor ind__graph_source(ind_graph *g, ind_graph_op op, const char *name, ind_dtype dtype, const ind_expr *size,
                             int rank);
ind_status ind__graph_declare(ind_graph *g, ind_expr symbol);
/* Sets the graph's facts as the current ones of its context and returns the previous fact set, for ind_facts_enter. */
ind_facts *ind__graph_enter(const ind_graph *g);
/* Computes the elements [*first, *last) of a slice of a dimension of this size, as in Python; first <= last. */
void ind__slice_bounds(ind_expr size, const ind__attr *start, const ind__attr *end, ind_expr *first, ind_expr *last);
/* Returns the type that tensors and numbers promote to (torch.result_type); absent ones (0) do not count.
   IND_DTYPE_NONE for none. */
ind_dtype ind__result_type(const ind_graph *g, const uint32_t *tensors, uint32_t n);
/* Returns a copy of the graph in another context of the same root; g is only read. NULL on failure. */
ind_graph *ind__graph_import(ind_context *to, const ind_graph *g);
/* Creates a new graph in the same context with the passes applied (>>passes) and logs what they changed. Without a log,
   neither patterns nor passes of the user run. It uses g's facts: g must outlive it. */
typedef struct ind__pass_log ind__pass_log;
typedef struct ind__pass_options {
    uint32_t disabled;                                /* one bit per ind_pass */
    const char *enabled_patterns, *disabled_patterns; /* of ind_compile_desc */
    const struct ind__pattern *builtin;               /* NULL: none */
    bool prepared;       /* what depends on constants alone is computed once, not in every run */
    double launch_bytes; /* memory traffic in the time of a launch */
    bool product_pairs;  /* two products that share an operand and an epilogue become one kernel */
    bool tensor_cores;   /* the target multiplies 16-bit elements on tensor cores */
    int channels_last;   /* ind_realise_policy */
    /* Products run by cuBLASLt, if `library`. */
    bool library, batch_invariant, allow_tf32;
    const ind_target *target;
    ind__pass_log *log;
} ind__pass_options;
ind_status ind__graph_optimise(const ind_graph *g, const ind__pass_options *options, ind_graph **out);
/* Splits a graph in two (IND_PASS_PREPARE), if anything is worth preparing; else both are NULL. prepare computes what
   depends on constants alone. rest has its outputs as further constants, after those of g, in the order of the outputs;
   it uses g's facts. */
ind_status ind__graph_split(const ind_graph *g, const ind_prepare_policy *policy, ind__pass_log *log,
                            ind_graph **prepare, ind_graph **rest);
/* Lowers every op to loops over boxes and realises outputs (>>lowerings); layouts are fixed. */
ind_status ind__graph_lower(const ind_graph *g, const ind_realise_policy *policy, bool deterministic,
                            ind__lowered *out);
ind_status ind__graph_verify(const ind_graph *g);
