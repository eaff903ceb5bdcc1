/* ---- evaluator: runs instructions of a body for a block of up to IND__LANES points ---- */

#define IND__LANES 256
typedef union ind__lanes { /* by the value's dtype: f for f32, d for f64, i for integers and bool */
    float f[IND__LANES];
    double d[IND__LANES];
    int64_t i[IND__LANES];
} ind__lanes;

typedef struct ind__eval_buffer {
    void *data;
    int64_t numel; /* addressable elements: accesses outside are an IND_ERROR_VERIFY error, not a crash */
    ind_dtype dtype;
} ind__eval_buffer;

typedef struct ind__eval {
    const ind_body *body;
    const ind__eval_buffer *buffer; /* by buffer number */
    uint32_t num_buffers;
    ind__lanes *value; /* one per instruction */
    /* compiled index expressions; inputs: the sizes, then var[], then indirect symbols */
    ind__program program;
    uint32_t num_sizes;
    uint32_t *index_slot; /* per body->index entry */
    int64_t (*slots)[IND__LANES];
    uint8_t *varying;            /* per slot: true if it differs between lanes */
    uint32_t *cone, *cone_begin; /* per body->index entry: the program ops that it depends on, in order */
    uint32_t *stamp, epoch;   /* per program op: epoch in which it was last computed; every new point starts an epoch */
    uint32_t *indirect_input; /* per instruction: input slot of its index symbol */
    int lanes;
    struct {
        uint32_t inst;
        int64_t value, size;
        bool set;
    } bad_index; /* first failed check */
    bool bad_access;
} ind__eval;
/* size_symbols and size_values: all sizes that the body uses; further ones are allowed. */
ind_status ind__eval_init(ind__eval *e, ind_context *c, const ind_body *body, const ind_expr *size_symbols,
                          const int64_t *size_values, uint32_t num_sizes, const ind__eval_buffer *buffers,
                          uint32_t num_buffers);
/* Without memory for values: value, slots, varying and stamp are NULL, and the caller sets them in a copy. */
ind_status ind__eval_compile(ind__eval *e, ind_context *c, const ind_body *body, const ind_expr *size_symbols,
                             uint32_t num_sizes, uint32_t num_buffers);
void ind__eval_free(ind__eval *e);
/* Sets loop variable `var` (0-based in body->var) for the next blocks: value + step * lane. */
void ind__eval_set_var(ind__eval *e, int var, int64_t value, int64_t step);
void ind__eval_set_var_lanes(ind__eval *e, int var, const int64_t *values, int lanes);

/* Copies the value in lane 0 to the first `lanes` lanes. */
void ind__eval_spread(ind__lanes *v, ind_dtype d, int lanes);
/* The value of index expression `index` of the body in lane 0. It may not depend on values. */
int64_t ind__eval_index(ind__eval *e, uint32_t index);
/* Runs the listed instructions in order for `lanes` points. The caller must fill in REDUCE, SCAN, STATE and PART before
   their use; STOREs write memory. The caller records IND_ERROR_VERIFY (e->bad_access): worker threads run this function
   and record no failure. */
ind_status ind__eval_run(ind__eval *e, const uint32_t *inst, uint32_t num, int lanes);
/* Initialises the partial results of runs of rows with the neutral element. */
void ind__eval_begin_runs(ind__eval *e);
/* Compares two elements in memory: < 0, 0 or > 0; NaN is larger than every number and equal to NaN. */
int ind__element_order(const ind__eval_buffer *m, int64_t a, int64_t b);
int64_t ind__wrap_int(ind_dtype d, int64_t v); /* v converted to the integer type: wraps around; bool is v != 0 */
float ind__f16_to_f32(uint16_t h);
uint16_t ind__f32_to_f16(float f); /* to nearest, ties to even */
float ind__bf16_to_f32(uint16_t h);
uint16_t ind__f32_to_bf16(float f);
/* The 8-bit floats, rounded to nearest even. Above 464 e4m3fn is NaN; from 61440 on e5m2 is infinite. */
float ind__f8e4m3fn_to_f32(uint8_t x);
float ind__f8e5m2_to_f32(uint8_t x);
uint8_t ind__f32_to_f8e4m3fn(float f);
uint8_t ind__f32_to_f8e5m2(float f);
