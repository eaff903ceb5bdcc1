/* ---- bodies ---- */

#define IND__MAX_ARGS IND_MAX_FUNCTION_ARGS

typedef struct ind__inst {
    uint8_t op;        /* ind_loop_op */
    uint8_t dtype;     /* of the result; for STORE and LOAD, source's dtype is the type in memory */
    uint8_t reduction; /* REDUCE: ind_reduction; SCAN: ind_scan; STORE: NONE replaces the element, SUM PROD MAX MIN
                          combine with it atomically */
    uint8_t flags;     /* IND__INST_* */
    uint32_t arg[IND__MAX_ARGS]; /* instruction numbers, 0: none; always lower than this one's */
    union {
        double f;
        int64_t i;
        const struct ind__function *function;
    } imm;
    uint32_t source; /* LOAD, STORE: buffer number (or operand number while recording a graph op). INDIRECT: buffer of
                        the ends of groups of rows, in [0, rows], if the index is the group of a row: the number of ends
                        that are at most the row, limited to the last group; else 0 */
    uint32_t index;  /* LOAD, STORE, INDEX: first of num_index entries in body->index; INDIRECT: [extent, symbol] */
    uint32_t num_index; /* LOAD, STORE: rank until layouts are fixed, then 1 (linear offset in elements) */
} ind__inst;
#define IND__INST_WRAP      1 /* INDIRECT: negative values count from the end */
#define IND__INST_EXCLUSIVE 4 /* SCAN: of all earlier points; zeros at the first */
#define IND__INST_INNER     4 /* REDUCE: over the inner R variables alone (ind_body.inner) */
#define IND__INST_SCATTER   2 /* STORE: several points may store the same element; in order, the last one remains */
#define IND__INST_CHECKED                                                                                              \
    16 /* INDIRECT: an earlier loop has checked the index, so the check is dead if the value is not read */
#define IND__INST_SELDOM 32 /* STORE: its mask is true for few points; a hint */
#define IND__INST_RUN    8  /* STORE: the values of a run of rows of P points are combined; see ind__buffer.run */
/* REDUCE of products: every 128 of them may be added with the precision of tensor cores for 8-bit floats. */
#define IND__INST_TENSOR_SUMS 64
#define IND__INST_FAST_SUMS   128 /* all of them may */

/* Straight-line SSA over the loop indices var[0..rank) and the reduction indices var[rank..rank+rrank). inst[0] is
   none. A recorded body and its arrays are one block of memory; the arrays cannot grow. */
typedef struct ind_body {
    ind_context *context;
    int rank, rrank;
    int inner; /* number of inner R variables: the last ones. A REDUCE with IND__INST_INNER reduces only these, and has
                  a result per point of the other R variables. Any other REDUCE is over those. */
    ind_expr *var;
    ind__inst *inst;
    uint32_t num_inst, cap_inst;
    ind_expr *index;
    uint32_t num_index, cap_index;
    uint32_t result;              /* the loop's value before it is stored; 0 once STOREs exist */
    const ind__extern_call *call; /* not NULL: an extern call; the body only describes the memory that it accesses */
} ind_body;

/* A handler is a larger struct with this one as first member. emit gets an instruction whose args are the handler's own
   values and whose index expressions are at `index`; returns the value. */
struct ind_ops {
    ind_context *context;
    ind_value (*emit)(ind_ops *o, const ind__inst *inst, const ind_expr *index);
    ind_value (*load_tensor)(ind_ops *o, ind_tensor x, const ind_expr *index, int rank);
    ind_dtype (*dtype)(ind_ops *o, ind_value v);
    ind_expr (*indirect_symbol)(ind_ops *o, ind_value v); /* the index symbol of an INDIRECT value */
    ind_value mask;                                       /* mask of all loads being emitted; 0: none */
    struct ind__origins *origins; /* collects the graph nodes of inlined code; NULL: not recorded */
    struct ind__capture *capture; /* receives a scatter instead of emitting it; NULL: the scatter is emitted */
    bool checked;                 /* ind_op_indirect: an earlier loop has checked the indices in memory */
    uint32_t group_ends;          /* ind_op_indirect: the buffer from which the group of a row is found; 0: no group */
    bool seldom;                  /* ind__emit_scatter: the mask is true for few points */
};
ind_value ind__emit1(ind_ops *o, ind_loop_op op, ind_value a);
ind_value ind__emit2(ind_ops *o, ind_loop_op op, ind_value a, ind_value b);
ind_value ind__emit_load(ind_ops *o, uint32_t source, ind_dtype memory_dtype, const ind_expr *index, int rank);
void ind__emit_store(ind_ops *o, uint32_t source, const ind_expr *index, int rank, ind_value v);
/* Stores v where `mask` is true (id 0: everywhere), combined with the stored element (see ind__inst.reduction). */
void ind__emit_scatter(ind_ops *o, uint32_t source, const ind_expr *index, int rank, ind_value v, ind_value mask,
                       ind_reduction mode);
bool ind__can_scatter(ind_reduction mode); /* true if it is one of the modes of a STORE */
/* The neutral element of a sum, product or extreme. */
double ind__neutral_float(ind_reduction r);
int64_t ind__neutral_int(ind_reduction r, ind_dtype d);
typedef struct ind__capture { /* the arguments of a captured scatter */
    bool checked;             /* in: an earlier loop has checked its indices */
    bool set;
    ind_expr index[IND_MAX_RANK];
    ind_value value, mask;
} ind__capture;
ind_value ind__emit_reduce(ind_ops *o, ind_reduction r, ind_value a, ind_value b, int flags);
ind_value ind__emit_part(ind_ops *o, ind_value reduce, int which);
ind_value ind__emit_scan(ind_ops *o, ind_scan kind, ind_value a);
ind_value ind__emit_scan_part(ind_ops *o, ind_value scan, int which); /* 0: the value, 1: the position */
ind_value ind__emit_state(ind_ops *o, ind_dtype dtype, int which);
/* A scan of n elements. combined[] are the combined values, computed from the states 0..n-1 (left) and n..2n-1
   (right). */
ind_value ind__emit_combine_scan(ind_ops *o, const ind_value *element, const ind_value *combined, int n,
                                 bool exclusive);

/* Recorder: the handler that writes a body; hash-conses and folds trivial identities. */
typedef struct ind__recorder {
    ind_ops ops;    /* must be first */
    ind_body *body; /* in memory of the recorder */
    uint32_t table_size;
    void *user;
} ind__recorder;
ind_status ind__record_begin(ind__recorder *r, ind_context *c, const ind_expr *ranges, int rank,
                             const ind_expr *rranges, int rrank); /* starts a body with index symbols i0.., r0.. */
ind_body *ind__record_end(ind__recorder *r); /* a copy of r->body, NULL on failure; owned by the caller */
void ind__record_abort(ind__recorder *r);
void ind__body_free(ind_body *b);
ind_body *ind__import_body(ind__import *m, const ind_body *b); /* a copy; NULL on failure */

/* The loops of a body while they are rewritten: loop indices var[0..rank), reduction indices after them, their extents,
   and every index expression of the body in terms of them. value[] gives, for each original variable of the body, its
   value in the new ones. */
typedef struct ind__loops {
    ind_context *context;
    int rank, rrank;
    ind_expr var[2 * IND_MAX_RANK], extent[2 * IND_MAX_RANK];
    ind_expr *index; /* as many as the body has, owned by the caller; all decide whether a rewriting is allowed */
    uint32_t num_index;
    int num_from;
    ind_expr value[2 * IND_MAX_RANK];
    uint32_t refusals; /* at initialisation */
    bool failed;       /* out of memory: a "no" of the functions below may be due to it */
} ind__loops;
/* Initialises the loops from the body; `index` must have capacity for body->num_index expressions. */
void ind__loops_init(ind__loops *l, const ind_body *body, ind_expr *index);
bool ind__loops_drop_ones(ind__loops *l); /* removes variables of extent 1; false on failure */
/* Merges variables v and v + 1 (both parallel or both of the reduction). Returns false, with nothing changed, if an
   index would need a division that it does not have. */
bool ind__loops_merge(ind__loops *l, int v);
/* The same with any divisions. False, with nothing changed: the extent of v + 1 may be 0. */
bool ind__loops_join(ind__loops *l, int v);
/* The best size to split variable v: v = size * outer + inner resolves `saved` (may be NULL) of the divisions in the
   indices. Invalid if no split resolves any. */
ind_expr ind__loops_split_size(const ind__loops *l, int v, int *saved);
bool ind__loops_split(ind__loops *l, int v, ind_expr size); /* false, with nothing changed: too many loops */

/* Runs a body under another handler, with its loop indices replaced by `var` (rank + rrank expressions). load, store:
   called for each LOAD / STORE to redirect it (NULL: emitted unchanged). load may return any value, for example an
   inlined one; the arguments of `inst` are values of the handler. map (num_inst entries, may be NULL) receives each
   instruction's value. Returns the value of body->result. */
typedef struct ind__replay {
    const ind_body *body;
    const ind_expr *var;
    ind_value (*load)(ind_ops *o, const ind__inst *inst, const ind_expr *index,
                      void *user); /* index already replaced */
    void (*store)(ind_ops *o, const ind__inst *inst, const ind_expr *index, void *user);
    ind_value (*reduce)(ind_ops *o, const ind__inst *inst, void *user);
    void *user;
    uint32_t *map;
} ind__replay;
ind_value ind__body_replay(ind_ops *o, const ind__replay *r);

void ind__body_print(ind__text *t, const ind_body *b, const char *(*buffer_name)(uint32_t, void *), void *user);
ind_status ind__body_verify(const ind_body *b);
/* IND_ERROR_NOT_SUPPORTED, naming it, if the body is a call or has a function without a host twin. */
ind_status ind__body_needs_host(const ind_body *b);
const char *ind__loop_op_name(ind_loop_op op);
int ind__loop_op_arity(ind_loop_op op);
char ind__loop_op_class(ind_loop_op op);
const char *ind__reduction_name(ind_reduction r);
int ind__reduction_results(ind_reduction r);
const char *ind__scan_name(ind_scan s);
int ind__scan_results(ind_scan s);
bool ind__scan_sorts(ind_scan s);
uint32_t ind__body_scan(const ind_body *b); /* its first SCAN; 0: none */
uint32_t ind__body_sort(const ind_body *b); /* its SCAN that sorts, at most one per body; 0: none */
