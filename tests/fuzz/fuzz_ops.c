/* fuzz_ops: random graphs over the whole op table, each run in many configs that must agree.
 *
 *     fuzz_ops [--seed N] [--graphs N] [--seconds N] [--ops N] [--device host|cuda|emulated] [--op NAME] [--all]
 *              [--keep] [--plans]
 *
 * A graph grows by trial: an op of the table with operands and attributes drawn from the schema alone is parsed as a
 * graph of one op; what the library refuses is drawn again, so what is legal is written nowhere but there, and a new op
 * is drawn without being told. An accepted op runs at once, alone and unfused, on the values of its operands. These
 * eager values are the reference for the whole graph: fused, unfused, without passes, with everything stored, with a
 * random policy, with one switch of the policy on and off (then both must have the same bits, but for what is rounded
 * where it is stored and for sums in another order), and with --device cuda on the GPU, also unfused, or on its
 * emulation, in two orders of threads. --plans: nothing runs; more alive than unfused is a disagreement.
 *
 * Beside the table's ops there are those of a user (own_ops.h). Sizes are symbols in most graphs, with facts and guards
 * between them. An op in place is tried with all that was done before to the memory it writes to; what else shows that
 * memory goes on under new names. A size that comes from data is declared in the trials of the ops behind it, as n0,
 * n1, ..
 *
 * What may differ, and by how much: a value is exact if every way computes the same bits: inputs, what only moves,
 * selects or compares exact values, integers. Ops that jump (comparisons, rounding, sorting, argmax ..) take exact
 * floats only; all ops not listed as smooth count as such. The others are measured: beside the value itself each smooth
 * op runs SAMPLES times on operands with relative noise of many units of rounding, which goes on through the ops that
 * follow. The spread so found holds both the rounding of each op and its amplification, element by element; SPREAD
 * times that is the tolerance. An element whose spread has no bound (noise turns it into NaN or infinity) is not
 * compared; how many are is counted, and has to be most. A value of 16 bits is rounded where it is stored, which within
 * an op that expands to others is up to the schedule (test_rounding.c): such ops run with noise on each of them.
 *
 * The first disagreement is shrunk (ops become inputs that hold their values, outputs are left out) and printed. Last
 * line: counts. Exit status 1 after a disagreement, 2 where an op was never drawn. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#define INDUCTOR_IMPLEMENTATION
#include "inductor.h"

#include "own_ops.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    CASES = 2,   /* sets of sizes that a symbolic graph runs at */
    SAMPLES = 4, /* noisy runs beside the true one */
    MOST_VALUES = 160,
    MOST_OPS = 40,
    MOST_ELEMENTS = 3000,
    MOST_MEMORY = 1 << 21, /* elements that a result may have whose size comes from data */
    MOST_BLOCKS = 512,
    MOST_SIZES = 8,   /* that come from data */
    MOST_ALIASES = 8, /* tensors that show the memory an op in place writes to */
    MOST_CONDITIONS = 3,
    TEXT = 16384,
    ARGUMENTS = 1024,
    DIM = 96,
    WHY = 8192,
    OFTEN = 30, /* an op is tried before another is drawn */
};
#define SPREAD 8.0

/* ---- what is told about ops; all else follows from the op table */

/* Made by statements of their own or by literals. */
static const char refused[] = " input const scalar ";

/* Continuous in their float operands (but for poles): may take what is known up to rounding. */
static const char smooth[] =
    " add sub mul div pow maximum minimum neg exp log sqrt rsqrt reciprocal tanh erf sigmoid relu gelu silu where"
    " cast sin cos tan asin acos atan sinh cosh asinh acosh atanh exp2 expm1 log2 log10 log1p erfc sinc logit abs"
    " square hypot logaddexp clamp lerp addcmul addcdiv masked_fill hardtanh relu6 hardsigmoid hardswish leaky_relu"
    " elu celu selu softplus mish log_sigmoid copy clone alias sum mean amax amin prod var std var_mean std_mean"
    " logsumexp linalg_vector_norm norm cdist _cdist_forward _pdist_forward _softmax _log_softmax mse_loss l1_loss"
    " nll_loss cross_entropy softmax log_softmax layer_norm rms_norm native_layer_norm group_norm native_group_norm"
    " batch_norm _native_batch_norm_legit _native_batch_norm_legit_no_training _native_batch_norm_legit_functional"
    " instance_norm native_layer_norm_backward native_group_norm_backward cat stack select_scatter slice_scatter"
    " diagonal_scatter tril triu constant_pad_nd pad reflection_pad1d reflection_pad2d reflection_pad3d"
    " replication_pad1d replication_pad2d replication_pad3d avg_pool1d avg_pool2d avg_pool3d max_pool1d max_pool2d"
    " max_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d convolution conv1d conv2d conv3d"
    " conv_transpose1d conv_transpose2d conv_transpose3d _convolution_phases _adaptive_avg_pool2d _adaptive_avg_pool3d"
    " upsample_linear1d"
    " upsample_bilinear2d upsample_trilinear3d interpolate im2col col2im convolution_backward embedding gather"
    " index_select index take index_put put scatter scatter_add scatter_reduce index_add index_copy index_fill"
    " embedding_dense_backward avg_pool2d_backward _adaptive_avg_pool2d_backward max_pool2d_with_indices_backward"
    " cumsum cumprod logcumsumexp masked_scatter matmul mm bmm addmm linear scaled_dot_product_attention i0"
    " special_i0e special_i1 special_i1e special_bessel_j0 special_bessel_j1 native_dropout masked_select"
    " repeat_interleave ";

/* Give the same bits in every way, of the same bits; so do views and what moves data. Strict if not smooth, too. */
static const char same_bits[] =
    " neg abs relu sign floor ceil trunc maximum minimum clamp where cast copy clone fill masked_fill nan_to_num"
    " threshold hardtanh relu6 copysign nextafter full_like zeros_like ones_like empty_like new_full new_zeros"
    " new_ones new_empty full zeros ones empty empty_strided scalar_tensor eye bernoulli amax amin max min aminmax"
    " max_pool1d max_pool2d max_pool3d max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices"
    " adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d embedding gather index_select index take put"
    " scatter index_copy index_fill masked_scatter cummax cummin sort topk im2col msort kthvalue median nanmedian"
    " mode masked_select unique unique_consecutive repeat_interleave arange_of_item ";

/* Matrix products: their rows are often scattered. */
static const char products[] = " matmul mm linear addmm grouped_mm scaled_mm int_mm ";

/* Computes, though it has the flag of what moves data. */
static const char rounds[] = " diff ";

/* Leave open which of several values stays where two meet. */
static const char one_of_several[] = " index_put put scatter index_copy ";

/* Alternatives for attributes by name, before those by kind. */
static const struct {
    const char *name, *choices;
} by_name[] = {
    {"rounding_mode", "none|\"trunc\"|\"floor\""},
    {"approximate", "\"none\"|\"tanh\""},
    {"reduction", "\"none\"|\"mean\"|\"sum\""},
    {"mode", "\"constant\"|\"reflect\"|\"replicate\"|\"circular\"|\"sum\"|\"mean\"|\"max\"|\"nearest\"|"
             "\"nearest-exact\"|\"linear\"|\"bilinear\"|\"trilinear\"|\"bicubic\"|\"area\""},
    {"reduce", "\"sum\"|\"prod\"|\"mean\"|\"amax\"|\"amin\""},
    {"equation",
     "\"ij,jk->ik\"|\"ij->ji\"|\"ij->i\"|\"i,j->ij\"|\"ij,ij->ij\"|\"bij,bjk->bik\"|\"ij,ij->\"|\"...i->...\""},
    {"indexing", "\"ij\"|\"xy\""},
    {"format", "\"q8_0\"|\"q4_k\"|\"iq4_nl\"|\"f16\"|\"int4\"|\"mxfp4\"|\"nvfp4\""},
    {"side", "\"left\"|\"right\""},
    {"norm", "none|\"ortho\"|\"forward\"|\"backward\""},
    {"stream", "0|1|7"},
    {"eps", "0.1|0.01|1e-05"},
    {"p", "0.5|1|2|3|0"},
    {"ord", "1|2|3|0|inf|-inf|0.5"},
    {"groups", "1|1|2|3"},
    {"group", "1|2|3"},
    {"num_groups", "1|2|3"},
    {"output_mask", "[1, 1, 1]|[1, 0, 1]|[0, 1, 0]|[1, 1, 0]"},
    {"dropout_p", "0"},
    {"bias_sizes", "none|[1]|[2]|[3]|[4]"},
    {"kernel_size", "[1]|[2]|[3]|[2, 1]|[1, 3]|[2, 2]|[3, 2]|[1, 2, 2]|[2, 1, 3]|[2, 2, 2]"},
    {"stride", "[1]|[2]|[1, 1]|[2, 1]|[2, 2]|[1, 1, 1]|[1, 2, 1]|[2, 1]"},
    {"dilation", "[1]|[1]|[2]|[1, 1]|[1, 2]|[1, 1, 1]|[2, 1, 1]"},
    {"output_padding", "[0]|[0]|[1]|[0, 0]|[0, 1]|[0, 0, 0]"},
    {"scale_factors", "[2]|[0.5]|[1.5]|[2, 1]|[1.5, 0.5]|[2, 2]|[1, 2, 1.5]"},
    {"scale_factor", "[2]|[0.5]|[1.5]|[2, 1]|[1.5, 0.5]|[2, 2]|[1, 2, 1.5]"},
    {"output_size", "[1]|[2]|[3]|[5]|[1, 2]|[3, 2]|[4, 4]|[2, 1, 2]|[3, 2, 2]|none"},
    {"upscale_factor", "1|2"},
    {"downscale_factor", "1|2"},
    {"correction", "0|1|2|0.5"},
    {"max_output_size", "20|100"},
    {"train", "true|false"},
    {"fill_value", "0|1|-2|0.5|true"},
    {"n_fft", "1|2|3|4|8"},
};

/* Lists of one number for each dimension that a window moves along. */
static const char per_window_dimension[] = " kernel_size stride padding dilation output_padding ";

/* Operands that are not just any tensor. */
static const struct {
    const char *name;
    char kind; /* i indices, o where bags begin or groups end, b bool, s a seed */
} operand_kinds[] = {{"index", 'i'}, {"indices", 'i'}, {"target", 'i'},  {"mask", 'b'},    {"condition", 'b'},
                     {"seed", 's'},  {"sorter", 'i'},  {"offsets", 'o'}, {"repeats", 'i'}, {"offs", 'o'}};

/* Whose operand `target` is no index. */
static const char float_targets[] = " binary_cross_entropy binary_cross_entropy_with_logits kl_div ";

/* ---- chance */

static uint64_t random_state;

static uint32_t rnd(uint32_t n) {
    uint64_t z = (random_state += 0x9e3779b97f4a7c15u); /* splitmix64 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return n ? (uint32_t)(z >> 32) % n : 0;
}

static bool chance(int percent) {
    return rnd(100) < (uint32_t)percent;
}

static double unit(void) {
    return (double)rnd(1u << 30) / (double)(1 << 29) - 1;
}

/* Alternative k, counted round, in "a|b|c". */
static void choose_number(const char *choices, uint32_t k, char *out, size_t size) {
    uint32_t n = 1;
    for (const char *s = choices; *s; s++) n += *s == '|';
    for (k %= n; k; k--) choices = strchr(choices, '|') + 1;
    snprintf(out, size, "%.*s", (int)strcspn(choices, "|"), choices);
}

static void choose(const char *choices, char *out, size_t size) {
    choose_number(choices, rnd(0x10000), out, size);
}

static bool listed(const char *list, const char *word) {
    char key[80];
    snprintf(key, sizeof key, " %s ", word);
    return strstr(list, key) != NULL;
}

/* ---- numbers in memory */

static double get(const void *data, ind_dtype dtype, int64_t i) {
    switch (dtype) {
    case IND_BOOL:
    case IND_U8: return ((const uint8_t *)data)[i];
    case IND_I8: return ((const int8_t *)data)[i];
    case IND_I16: return ((const int16_t *)data)[i];
    case IND_I32: return ((const int32_t *)data)[i];
    case IND_I64: return (double)((const int64_t *)data)[i];
    case IND_F16: return (double)ind__f16_to_f32(((const uint16_t *)data)[i]);
    case IND_BF16: return (double)ind__bf16_to_f32(((const uint16_t *)data)[i]);
    case IND_F8E4M3FN: return (double)ind__f8e4m3fn_to_f32(((const uint8_t *)data)[i]);
    case IND_F8E5M2: return (double)ind__f8e5m2_to_f32(((const uint8_t *)data)[i]);
    case IND_F32: return (double)((const float *)data)[i];
    default: return ((const double *)data)[i];
    }
}

static void put(void *data, ind_dtype dtype, int64_t i, double v) {
    switch (dtype) {
    case IND_BOOL: ((uint8_t *)data)[i] = v != 0; break;
    case IND_U8: ((uint8_t *)data)[i] = (uint8_t)v; break;
    case IND_I8: ((int8_t *)data)[i] = (int8_t)v; break;
    case IND_I16: ((int16_t *)data)[i] = (int16_t)v; break;
    case IND_I32: ((int32_t *)data)[i] = (int32_t)v; break;
    case IND_I64: ((int64_t *)data)[i] = (int64_t)v; break;
    case IND_F16: ((uint16_t *)data)[i] = ind__f32_to_f16((float)v); break;
    case IND_BF16: ((uint16_t *)data)[i] = ind__f32_to_bf16((float)v); break;
    case IND_F8E4M3FN: ((uint8_t *)data)[i] = ind__f32_to_f8e4m3fn((float)v); break;
    case IND_F8E5M2: ((uint8_t *)data)[i] = ind__f32_to_f8e5m2((float)v); break;
    case IND_F32: ((float *)data)[i] = (float)v; break;
    default: ((double *)data)[i] = v; break;
    }
}

/* Relative noise: some hundred units of rounding of f32 (f64: of the narrower constants within), four of bf16. */
static double noise_of(ind_dtype dtype) {
    switch (dtype) {
    case IND_F64: return 0x1p-20;
    case IND_F32: return 0x1p-17;
    case IND_F16: return 0x1p-9;
    case IND_BF16: return 0x1p-6;
    default: return 0x1p-2;
    }
}

static double largest_of(ind_dtype dtype) {
    return dtype == IND_F16 ? 500.0 : ind_dtype_bytes(dtype) == 1 ? 16.0 : 1e5;
}

/* Sample k of element i: of two samples one goes up and the other down, so that the ends of domains show. */
static double with_noise(double v, ind_dtype dtype, int64_t i, int k) {
    uint64_t up = ((uint64_t)i * 0x9e3779b97f4a7c15u) >> (20 + k / 2);
    double size = noise_of(dtype) * (5 + unit()) / 6;
    return v * (1 + ((up ^ (uint64_t)k) & 1 ? size : -size));
}

/* ---- a graph */

typedef struct value {
    char name[16];
    ind_dtype dtype;
    int rank;
    char dim[IND_MAX_RANK][DIM];
    bool exact; /* every way has these bits */
    bool is_const;
    char fill;      /* of inputs: i indices, d different indices, o ascending ones from 0, s a seed, 0 any */
    int limit;      /* indices below this */
    int made_by;    /* statement; -1 input */
    int mutated_to; /* value that an input holds afterwards by a statement `mutate`; -1 none */
    int root;       /* the value whose memory it shows, as far as its op alone tells; itself: its own */
    bool whole;     /* all of that memory, as it lies there */
    bool donated;   /* an input whose memory may be written over */
    bool stale;     /* written to since by an op in place: its name now means the new value */
    int64_t count[CASES];
    void *data[CASES][1 + SAMPLES]; /* [0] the value itself; the others NULL where exact */
} value;

typedef struct statement {
    ind_graph_op op;
    char call[ARGUMENTS]; /* "add(x1, x2)" */
    int operand[64], num_operands;
    int result, num_results;
    int alias[MOST_ALIASES], num_aliases; /* in place: what its last results are new names for */
    bool in_place;
    int size;            /* number of the size that comes from its data; -1 none */
    int own;             /* row of own_kinds' table; -1 an op of the table of ops */
    size_t operands_end; /* in the call: attributes follow */
    bool gone;           /* shrunk away: its results are inputs */
} statement;

/* A size that comes from data: n0, n1, .. */
typedef struct data_size {
    int made_by;
    int64_t most, count[CASES];
} data_size;

typedef struct graph {
    ind_context *ctx;
    char sizes_text[512];  /* declarations */
    char sizes[CASES][64]; /* "B=3, S=5" */
    char symbol[3][4];
    int num_symbols, num_cases;
    data_size size[MOST_SIZES];
    int num_sizes;
    ind_dtype main;
    value v[MOST_VALUES];
    int num_values, num_fresh; /* fresh: operands of a trial behind the values */
    statement s[MOST_OPS];
    int num_statements, next_name;
    int output[8], num_outputs;
    int switched;    /* the switch that is tried on and off .. */
    uint32_t choice; /* .. and as what */
    bool plans;      /* nothing runs */
} graph;

static struct {
    long graphs, statements, trials, runs, elements, compared, disagreements, plans, larger;
    long in_place, conditions, sizes, own, same_bits;
    long drawn[IND_NUM_OPS];
} counts;

static void free_value(value *v) {
    for (int c = 0; c < CASES; c++) {
        for (int k = 0; k <= SAMPLES; k++) free(v->data[c][k]);
    }
    memset(v, 0, sizeof *v);
}

static void add_type(char *out, size_t size, const value *v) {
    size_t n = strlen(out);
    n += (size_t)snprintf(out + n, size - n, "%s[", ind_dtype_name(v->dtype));
    for (int d = 0; d < v->rank; d++) n += (size_t)snprintf(out + n, size - n, "%s%s", d ? ", " : "", v->dim[d]);
    snprintf(out + n, size - n, "]");
}

static void add_input(char *out, size_t size, const value *v) {
    size_t n = strlen(out);
    snprintf(out + n, size - n, "  %s %s : ", v->is_const ? "const" : "input", v->name);
    add_type(out, size, v);
    n = strlen(out);
    snprintf(out + n, size - n, "\n");
}

/* A result whose size comes from data names it by its type. */
static void add_statement(char *out, size_t size, const graph *g, const statement *s) {
    int num = s->num_results - s->num_aliases;
    size_t n = strlen(out);
    n += (size_t)snprintf(out + n, size - n, "  ");
    for (int i = 0; i < num; i++) {
        const value *v = &g->v[s->result + i];
        snprintf(out + n, size - n, "%s%s%s", i ? ", " : "", v->name, s->size >= 0 ? " : " : "");
        if (s->size >= 0) add_type(out, size, v);
        n = strlen(out);
    }
    n += (size_t)snprintf(out + n, size - n, " = %s\n", s->call);
    for (int i = 0; i < s->num_aliases; i++)
        n += (size_t)snprintf(out + n, size - n, "  %s = alias(%s)\n", g->v[s->result + num + i].name,
                              g->v[s->alias[i]].name);
}

static bool is_input(const graph *g, const value *v) {
    return v->made_by < 0 || g->s[v->made_by].gone;
}

/* What an input's memory holds after a run; -1: what it held before. */
static int held_after(const graph *g, const value *v) {
    int at = (int)(v - g->v), last = v->mutated_to;
    for (int i = 0; i < g->num_statements; i++) {
        const statement *s = &g->s[i];
        for (int k = 0; s->in_place && !s->gone && k < s->num_results; k++) {
            if (g->v[s->result + k].root == at && g->v[s->result + k].whole) last = s->result + k;
        }
    }
    return last;
}

/* Declared sizes, and those that come from data as if they were declared too, if `all` or their op is gone. */
static void add_sizes(char *out, size_t size, const graph *g, bool all) {
    size_t n = strlen(out);
    n += (size_t)snprintf(out + n, size - n, "%s", g->sizes_text);
    for (int i = 0; i < g->num_sizes; i++) {
        if (all || g->s[g->size[i].made_by].gone)
            n += (size_t)snprintf(out + n, size - n, "  size n%d in [0, %lld]\n", i, (long long)g->size[i].most);
    }
}

/* Their values, "B=3, n0=2". */
static void run_sizes(char *out, size_t size, const graph *g, int c, bool all) {
    size_t n = (size_t)snprintf(out, size, "%s", g->sizes[c]);
    for (int i = 0; i < g->num_sizes; i++) {
        if (all || g->s[g->size[i].made_by].gone)
            n += (size_t)snprintf(out + n, size - n, "%sn%d=%lld", n ? ", " : "", i, (long long)g->size[i].count[c]);
    }
}

/* What the graph, as far as it is not shrunk away, reads. */
static void find_used(const graph *g, bool *used) {
    for (int i = 0; i < g->num_values; i++) used[i] = g->v[i].mutated_to >= 0;
    for (int i = 0; i < g->num_values; i++) {
        if (g->v[i].mutated_to >= 0) used[g->v[i].mutated_to] = true;
    }
    for (int i = 0; i < g->num_outputs; i++) used[g->output[i]] = true;
    for (int i = 0; i < g->num_statements; i++) {
        const statement *s = &g->s[i];
        for (int k = 0; !s->gone && k < s->num_operands; k++) used[s->operand[k]] = true;
        for (int k = 0; !s->gone && k < s->num_aliases; k++) used[s->alias[k]] = true;
    }
}

static void graph_text(const graph *g, char *out, size_t size) {
    bool used[MOST_VALUES];
    find_used(g, used);
    snprintf(out, size, "graph random {\n");
    add_sizes(out, size, g, false);
    for (int i = 0; i < g->num_values; i++) {
        if (used[i] && is_input(g, &g->v[i])) add_input(out, size, &g->v[i]);
    }
    for (int i = 0; i < g->num_statements; i++) {
        if (!g->s[i].gone) add_statement(out, size, g, &g->s[i]);
    }
    for (int i = 0; i < g->num_values; i++) {
        const value *v = &g->v[i];
        size_t n = strlen(out);
        if (v->mutated_to >= 0) snprintf(out + n, size - n, "  mutate %s = %s\n", v->name, g->v[v->mutated_to].name);
        if (v->donated && used[i]) snprintf(out + n, size - n, "  donate %s\n", v->name);
    }
    size_t n = strlen(out);
    for (int i = 0; i < g->num_outputs; i++) {
        const char *name = g->v[g->output[i]].name;
        n += (size_t)snprintf(out + n, size - n, "%s%s = %s", i ? ", o" : "  output o", name, name);
    }
    snprintf(out + n, size - n, "\n}\n");
}

/* ---- drawing types and inputs */

static const ind_dtype any_dtype[] = {IND_F32, IND_F32, IND_F32, IND_F64,  IND_F16, IND_BF16, IND_I64,    IND_I32,
                                      IND_I16, IND_I8,  IND_U8,  IND_BOOL, IND_F32, IND_I64,  IND_F8E5M2, IND_F8E4M3FN};

static ind_dtype draw_dtype(void) {
    return any_dtype[rnd(sizeof any_dtype / sizeof *any_dtype)];
}

static void draw_size(const graph *g, char *out) {
    static const char usual[] = "1|2|2|3|3|4|4|5|6|7|8|9|12|16|17|33", rare[] = "0|1|40|64|65|130";
    static const char *const forms[] = {"%s", "%s", "%s", "%s", "%s + 1", "2*%s", "%s*%s", "%s + %s"};
    if (g->num_sizes && chance(5)) {
        snprintf(out, DIM, "n%u", rnd((uint32_t)g->num_sizes));
    } else if (g->num_symbols && chance(25)) {
        const char *a = g->symbol[rnd((uint32_t)g->num_symbols)], *b = g->symbol[rnd((uint32_t)g->num_symbols)];
        snprintf(out, DIM, forms[rnd(sizeof forms / sizeof *forms)], a, b);
    } else {
        choose(chance(4) ? rare : usual, out, DIM);
    }
}

static void draw_shape(const graph *g, value *v) {
    static const int ranks[] = {0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 4, 5};
    v->rank = ranks[rnd(sizeof ranks / sizeof *ranks)];
    for (int d = 0; d < v->rank; d++) {
        draw_size(g, v->dim[d]);
        if (v->rank > 2 && strlen(v->dim[d]) > 1) snprintf(v->dim[d], DIM, "%u", 1 + rnd(4));
    }
}

/* A shape that has to do with that of x: what operands of one op usually have. */
static void draw_related_shape(const graph *g, value *v, const value *x) {
    static const char small[] = "1|1|2|2|3|4|5|8";
    uint32_t kind = rnd(12);
    v->rank = x->rank;
    memcpy(v->dim, x->dim, sizeof v->dim);
    if (kind < 4 || !x->rank) return;
    if (kind == 4) { /* broadcast */
        for (int d = 0; d < v->rank; d++) {
            if (chance(40)) snprintf(v->dim[d], DIM, "1");
        }
    } else if (kind == 5) { /* the last dimensions */
        int first = (int)rnd((uint32_t)v->rank);
        v->rank -= first;
        memmove(v->dim[0], v->dim[first], sizeof v->dim[0] * (size_t)v->rank);
    } else if (kind == 6) { /* one dimension alone */
        memmove(v->dim[0], v->dim[v->rank > 1 && chance(50) ? 1 : (int)rnd((uint32_t)v->rank)], DIM);
        v->rank = 1;
    } else if (kind == 7) { /* another size somewhere */
        choose(small, v->dim[rnd((uint32_t)v->rank)], DIM);
    } else if (kind == 8 && v->rank >= 2) { /* a right side of a product */
        memcpy(v->dim[v->rank - 2], x->dim[x->rank - 1], DIM);
        if (chance(50))
            memcpy(v->dim[v->rank - 1], x->dim[x->rank - 2], DIM);
        else
            draw_size(g, v->dim[v->rank - 1]);
    } else if (kind == 9 && v->rank >= 3) { /* weights of a convolution */
        for (int d = 0; d < v->rank; d++) choose(d < 2 ? small : "1|2|3", v->dim[d], DIM);
        memcpy(v->dim[rnd(2)], x->dim[1], DIM);
    } else if (kind == 10) { /* what a norm reduces to: one element for each of the first ones, or for groups */
        int kept = 1 + (int)rnd((uint32_t)v->rank);
        for (int d = kept; d < v->rank; d++) snprintf(v->dim[d], DIM, "1");
        if (chance(50) && v->rank >= 2) choose(small, v->dim[1], DIM), v->rank = 2;
    } else { /* any of these sizes, or small ones */
        v->rank = 1 + (int)rnd((uint32_t)x->rank + 1 < 5 ? (uint32_t)x->rank + 1 : 5);
        for (int d = 0; d < v->rank; d++) {
            if (chance(50))
                choose(small, v->dim[d], DIM);
            else
                memcpy(v->dim[d], x->dim[rnd((uint32_t)x->rank)], DIM);
        }
    }
}

/* An input behind the values, which becomes one of them if the trial is accepted. */
static value *fresh(graph *g) {
    int at = g->num_values + g->num_fresh;
    if (at >= MOST_VALUES) return NULL;
    value *v = &g->v[at];
    free_value(v);
    snprintf(v->name, sizeof v->name, "x%d", g->next_name + g->num_fresh++);
    v->made_by = v->mutated_to = -1;
    v->root = at;
    v->exact = v->whole = true;
    return v;
}

static double draw_element(const value *v, int style, int64_t i) {
    if (v->fill == 's') return (double)rnd(1000);
    if (v->fill == 'd') return (double)i; /* shuffled afterwards */
    if (v->fill == 'o') return chance(2); /* the first: ever 0, but for a bad one; the others follow from it */
    if (v->fill == 'i') return (double)rnd((uint32_t)v->limit) - (chance(5) ? v->limit : 0);
    if (!ind_dtype_is_float(v->dtype)) return v->dtype == IND_U8 || v->dtype == IND_BOOL ? rnd(9) : (double)rnd(17) - 8;
    if (style == 3 && chance(4)) return rnd(2) ? (double)NAN : rnd(2) ? (double)INFINITY : -(double)INFINITY;
    if (style == 0 || ind_dtype_bytes(v->dtype) == 1) return ((double)rnd(32) - 15.5) / 8; /* with ties */
    return style == 1 ? (unit() + 1.01) / 2 : unit();
}

static void fill(value *v, int c) {
    int style = (int)rnd(12);
    size_t bytes = (size_t)ind_dtype_bytes(v->dtype);
    if (style > 3) style = 2;
    v->data[c][0] = calloc((size_t)v->count[c] + !v->count[c], bytes);
    for (int64_t i = 0; i < v->count[c]; i++) {
        double x = draw_element(v, style, i);
        put(v->data[c][0], v->dtype, i, v->dtype == IND_BOOL ? (int)x & 1 : x);
    }
    for (int64_t i = 1; v->fill == 'o' && i < v->count[c]; i++)
        put(v->data[c][0], v->dtype, i, get(v->data[c][0], v->dtype, i - 1) + chance(40));
    for (int64_t i = v->count[c] - 1; v->fill == 'd' && i > 0; i--) {
        int64_t k = (int64_t)rnd((uint32_t)i + 1);
        double a = get(v->data[c][0], v->dtype, i), b = get(v->data[c][0], v->dtype, k);
        put(v->data[c][0], v->dtype, i, b);
        put(v->data[c][0], v->dtype, k, a);
    }
}

/* ---- drawing operands */

typedef struct trial {
    graph *g;
    ind_graph_op op;
    const ind__schema *schema;
    const own_op *own; /* of a user; NULL: of the table */
    statement s;
    bool strict, exact_only;
} trial;

static void add(trial *t, const char *text) {
    size_t n = strlen(t->s.call);
    snprintf(t->s.call + n, sizeof t->s.call - n, "%s", text);
}

static void add_operand(trial *t, int at) {
    if (t->s.num_operands == 64) return;
    t->s.operand[t->s.num_operands++] = at;
    add(t, t->g->v[at].name);
}

static char operand_kind(ind_graph_op op, const char *name, int length) {
    if (listed(float_targets, ind__op_name(op)) && length == 6 && !memcmp(name, "target", 6)) return 'f';
    for (size_t i = 0; i < sizeof operand_kinds / sizeof *operand_kinds; i++) {
        const char *known = operand_kinds[i].name;
        if (strlen(known) == (size_t)length && !memcmp(known, name, (size_t)length)) return operand_kinds[i].kind;
    }
    return 0;
}

static bool same_shape(const value *a, const value *b) {
    bool same = a->rank == b->rank;
    for (int d = 0; same && d < a->rank; d++) same = !strcmp(a->dim[d], b->dim[d]);
    return same;
}

/* Loop functions and scans take operands of one shape, but for what is looked up. */
static bool wants_same_shape(const trial *t, char kind) {
    return (t->op == IND_OP_CUSTOM || t->op == IND_OP_ASSOCIATIVE_SCAN) && kind != 'b' && kind != 'v' &&
           t->s.num_operands;
}

static bool takes(const trial *t, ind_dtype dtype, char kind) {
    bool narrow = ind_dtype_is_float(dtype) && ind_dtype_bytes(dtype) == 1;
    if (kind == 'i' || kind == 'o') return dtype == IND_I64 || dtype == IND_I32;
    if (kind == 'b') return dtype == IND_BOOL;
    if (kind == 'f')
        return ind_dtype_is_float(dtype) && !narrow && (!t->own || t->op != IND_OP_CALL || dtype != IND_F64);
    return kind != 'n' || (dtype != IND_BOOL && !narrow);
}

static bool fits(const trial *t, const value *v, char kind) {
    const value *first = t->s.num_operands ? &t->g->v[t->s.operand[0]] : NULL;
    if (v->stale) return false;
    if (kind == 's' || kind == 'o') return v->fill == kind;
    if (v->fill == 's' || (ind_dtype_is_float(v->dtype) && t->exact_only && !v->exact)) return false;
    if (!takes(t, v->dtype, kind)) return false;
    if (kind && kind != 'f' && kind != 'n') return true;
    if (wants_same_shape(t, kind) && !same_shape(v, first)) return false;
    return !first || v->dtype == first->dtype || chance(10);
}

/* One of the values that fit, the later the likelier; -1 none. */
static int draw_old(const trial *t, char kind) {
    for (int tries = 0; t->g->num_values && tries < 12; tries++) {
        uint32_t n = (uint32_t)t->g->num_values, a = rnd(n), b = rnd(n);
        int at = (int)(a > b ? a : b);
        if (fits(t, &t->g->v[at], kind)) return at;
    }
    return -1;
}

/* Shaped like the operand before, after the first, or as weights between the two. */
static bool draw_like_last(const trial *t, value *v) {
    const value *first = &t->g->v[t->s.operand[0]], *last = &t->g->v[t->s.operand[t->s.num_operands - 1]];
    if (t->s.num_operands < 2 || !last->rank || chance(65)) return false;
    v->rank = last->rank;
    memcpy(v->dim, last->dim, sizeof v->dim);
    if (last->rank < 3 || first->rank != last->rank || chance(60)) return true;
    memcpy(v->dim[0], first->dim[1], DIM);
    memcpy(v->dim[1], last->dim[1], DIM);
    for (int d = 2; d < v->rank; d++) snprintf(v->dim[d], DIM, "1");
    return true;
}

static void set_kind(const trial *t, value *v, char kind) {
    const value *first = t->s.num_operands ? &t->g->v[t->s.operand[0]] : NULL;
    v->dtype = first && chance(85) ? first->dtype : chance(60) ? t->g->main : draw_dtype();
    if (kind == 'b') v->dtype = IND_BOOL;
    if (!takes(t, v->dtype, kind)) v->dtype = IND_F32;
    if (!strchr("ios", kind)) return;
    v->fill = kind;
    if (kind) v->dtype = kind != 's' && chance(20) ? IND_I32 : IND_I64;
    v->limit = 1 + (int)rnd(4);
    if (kind == 'i' && chance(listed(one_of_several, ind__op_name(t->op)) ? 95 : 30)) v->fill = 'd';
}

/* Operands whose shape is nearly fixed: matrices of affine maps of the plane. */
static void set_theta(value *v) {
    static const char *const sizes[] = {"2", "2", "3"};
    v->rank = 3;
    for (int d = 0; d < 3; d++) snprintf(v->dim[d], DIM, "%s", sizes[d]);
}

/* Complex numbers for each frequency and frame. */
static void set_spectrum(value *v) {
    v->rank = 3 + (int)rnd(2);
    for (int d = 0; d < v->rank; d++) choose(d == v->rank - 3 ? "2|3|5" : "1|2|3|4", v->dim[d], DIM);
    snprintf(v->dim[v->rank - 1], DIM, "2");
}

/* The scale of a matrix whose dimension `along` is not summed: one number, or one for each element of that dimension or
   for 128 of them, and for each 128 of the other. */
static void set_block_scale(const value *of, int along, value *v) {
    v->rank = 2;
    memcpy(v->dim[along], of->dim[along], sizeof v->dim[along]);
    if (chance(50)) snprintf(v->dim[along], DIM, "%d", (atoi(of->dim[along]) + 127) / 128);
    snprintf(v->dim[1 - along], DIM, "%d", (atoi(of->dim[1 - along]) + 127) / 128);
}

/* Two matrices of 8-bit floats, then their scales. */
static void set_scaled(const trial *t, value *v) {
    const uint32_t k = t->s.num_operands;
    v->rank = k < 2 ? 2 : 0;
    v->dtype = k >= 2 ? IND_F32 : chance(50) ? IND_F8E4M3FN : IND_F8E5M2;
    for (int d = 0; d < v->rank; d++) choose("1|3|16|17|33|40|130|256", v->dim[d], DIM);
    if (k == 1) memcpy(v->dim[0], t->g->v[t->s.operand[0]].dim[1], sizeof v->dim[0]);
    if (k >= 2 && chance(60)) set_block_scale(&t->g->v[t->s.operand[k - 2]], (int)k - 2, v);
}

/* Rows, a matrix for each group, where groups end, and a bias for each group. */
static void set_grouped(const trial *t, value *v) {
    const uint32_t k = t->s.num_operands;
    const value *rows = k > 0 ? &t->g->v[t->s.operand[0]] : NULL, *all = k > 1 ? &t->g->v[t->s.operand[1]] : NULL;
    v->rank = k == 1 ? 3 : k == 2 ? 1 : 2;
    if (k == 2) v->dtype = IND_I32;
    if (k == 1 || k == 3) v->dtype = rows->dtype;
    for (int d = 0; d < v->rank; d++) choose(k == 1 && d == 0 ? "1|2|3|5" : "1|3|8|16|17|33", v->dim[d], DIM);
    if (k == 1) memcpy(v->dim[1], rows->dim[1], sizeof v->dim[1]);
    if (k > 1) memcpy(v->dim[0], all->dim[0], sizeof v->dim[0]);
    if (k == 3) memcpy(v->dim[1], all->dim[2], sizeof v->dim[1]);
}

/* The number whose power this is; 0: there is none. */
static int power_root(int n, int power) {
    for (int r = 1; r <= n; r++)
        if ((power == 1 ? r : r * r) == n) return r;
    return 0;
}

/* Images of one or two dimensions, then weights of phases: stride and taps are the same in both. */
static void set_phases(const trial *t, value *v) {
    const value *x = t->s.num_operands ? &t->g->v[t->s.operand[0]] : NULL;
    if (!x) {
        v->rank = 3 + (int)rnd(2);
        for (int d = 0; d < v->rank; d++) choose(d < 2 ? "1|2|3|4" : "3|4|5|7", v->dim[d], DIM);
        return;
    }
    const int dims = x->rank - 2, stride = 1 + (int)rnd(3), taps = 1 + (int)rnd(2);
    v->rank = 3;
    v->dtype = x->dtype;
    snprintf(v->dim[0], DIM, "%d", dims == 1 ? stride : stride * stride);
    choose("1|2|3|5", v->dim[1], DIM);
    snprintf(v->dim[2], DIM, "%d", (dims == 1 ? taps : taps * taps) * atoi(x->dim[1]));
}

/* A list for such operands. */
static void draw_phases(const trial *t, const char *name, char *text, size_t size) {
    const value *x = &t->g->v[t->s.operand[0]], *w = &t->g->v[t->s.operand[1]];
    const int dims = x->rank - 2, stride = power_root(atoi(w->dim[0]), dims), channels = atoi(x->dim[1]);
    const int taps = channels > 0 ? power_root(atoi(w->dim[2]) / channels, dims) : 0;
    int n[2] = {stride, stride};
    for (int d = 0; d < dims; d++) {
        if (*name == 'k') n[d] = (taps - 1) * stride + 1 + (int)rnd(stride > 0 ? (uint32_t)stride : 1);
        if (*name == 'p') n[d] = (int)rnd(4);
        if (*name == 'o') n[d] = stride * (1 + (int)rnd(5));
    }
    snprintf(text, size, dims == 1 ? "[%d]" : "[%d, %d]", n[0], n[1]);
}

static bool draw_operand(trial *t, char kind) {
    const value *first = t->s.num_operands ? &t->g->v[t->s.operand[0]] : NULL;
    bool pointwise = ind__op_has(t->op, 'P') && (first || !(ind__op_has(t->op, 'T') || t->s.in_place));
    char number[16];
    if (pointwise && (!kind || t->op == IND_OP_CALL) && chance(first ? 15 : 3)) {
        choose("0|1|2|-1|0.5|-1.25|3|true", number, sizeof number);
        add(t, number);
        return true;
    }
    const bool scaled = t->op == IND_OP_SCALED_MM && t->s.num_operands < 4;
    const bool grouped = t->op == IND_OP_GROUPED_MM, phases = t->op == IND_OP_CONVOLUTION_PHASES;
    int old = !scaled && !grouped && !phases && chance(kind == 's' || (t->s.in_place && !first) ? 90 : 55)
                  ? draw_old(t, kind)
                  : -1;
    if (old >= 0) return add_operand(t, old), true;
    value *v = fresh(t->g);
    if (!v) return false;
    set_kind(t, v, kind);
    v->is_const = chance(20) && !(t->s.in_place && !first);
    if (scaled)
        set_scaled(t, v);
    else if (grouped)
        set_grouped(t, v);
    else if (phases)
        set_phases(t, v);
    else if (kind == 's')
        v->rank = 0;
    else if (wants_same_shape(t, kind))
        v->rank = first->rank, memcpy(v->dim, first->dim, sizeof v->dim);
    else if (kind == 'v' && first)
        v->rank = 1, draw_size(t->g, v->dim[0]);
    else if (t->op == IND_OP_AFFINE_GRID)
        set_theta(v);
    else if (t->op == IND_OP_ISTFT && !first)
        set_spectrum(v);
    else if (first && draw_like_last(t, v))
        ;
    else if (first && chance(90))
        draw_related_shape(t->g, v, first);
    else
        draw_shape(t->g, v);
    return add_operand(t, (int)(v - t->g->v)), true;
}

/* The result of the last statement if that is a product, and its rows can be the source of this op; else -1. */
static int product_of(const trial *t) {
    const statement *last = t->g->num_statements ? &t->g->s[t->g->num_statements - 1] : NULL;
    if (!last || last->gone || !listed(products, ind__op_name(last->op))) return -1;
    const value *v = &t->g->v[last->result];
    if ((t->op != IND_OP_INDEX_ADD && t->op != IND_OP_INDEX_COPY) || v->rank != 2 || v->stale) return -1;
    return t->exact_only && !v->exact ? -1 : last->result;
}

/* A tensor, the rows of it that change, and the product. Copied rows are a permutation. */
static bool draw_scattered(trial *t, int product) {
    const value *y = &t->g->v[product];
    for (int k = 0; k < 2; k++) {
        value *v = fresh(t->g);
        if (!v) return false;
        set_kind(t, v, k ? 'i' : 0);
        v->rank = 2 - k;
        if (k || t->op == IND_OP_INDEX_COPY)
            memcpy(v->dim[0], y->dim[0], sizeof v->dim[0]);
        else
            choose("4|5|9|33", v->dim[0], DIM);
        if (!k) v->dtype = y->dtype, memcpy(v->dim[1], y->dim[1], sizeof v->dim[1]);
        if (k && t->op == IND_OP_INDEX_COPY) v->fill = 'd';
        add_operand(t, (int)(v - t->g->v));
        add(t, ", ");
    }
    return add_operand(t, product), true;
}

static bool draw_operands(trial *t) {
    bool ok = true;
    const int product = product_of(t);
    if (product >= 0 && chance(80)) return draw_scattered(t, product);
    for (uint32_t k = 0; ok && k < t->schema->num_operands; k++) {
        const ind__operand_schema *o = &t->schema->operand[k];
        char kind = operand_kind(t->op, o->name, o->length);
        uint32_t n = o->list ? 1 + rnd(3) : 1;
        if (k) add(t, ", ");
        if (o->list) add(t, "[");
        for (uint32_t i = 0; ok && i < n; i++) {
            if (i) add(t, ", ");
            if (o->optional && chance(40))
                add(t, "none");
            else
                ok = draw_operand(t, kind);
        }
        if (o->list) add(t, "]");
    }
    return ok;
}

/* ---- drawing attributes */

static const value *first_operand(const trial *t) {
    return t->s.num_operands ? &t->g->v[t->s.operand[0]] : NULL;
}

static int draw_dim(int rank) {
    int n = rank ? rank : 1;
    return (int)rnd((uint32_t)n) - (chance(40) ? n : 0);
}

/* A permutation of all dimensions, or some of them. */
static void draw_dims(char *out, size_t size, int rank, bool all) {
    int order[IND_MAX_RANK], n = all ? rank : rank ? 1 + (int)rnd((uint32_t)rank) : 0;
    size_t at = (size_t)snprintf(out, size, "[");
    for (int d = 0; d < rank; d++) order[d] = d;
    for (int d = 0; d < n; d++) {
        int k = d + (int)rnd((uint32_t)(rank - d)), dim = order[k];
        order[k] = order[d];
        at += (size_t)snprintf(out + at, size - at, "%s%d", d ? ", " : "", dim - (chance(30) ? rank : 0));
    }
    snprintf(out + at, size - at, "]");
}

/* The sizes of x, some joined with their neighbour, some split in two, sometimes one left to be found. */
static void draw_view(char *out, size_t size, const value *x) {
    int open = chance(30) && x->rank ? (int)rnd((uint32_t)x->rank) : -1;
    size_t at = (size_t)snprintf(out, size, "[");
    for (int d = 0; d < x->rank; d++) {
        const char *comma = at > 1 ? ", " : "";
        long n = strtol(x->dim[d], NULL, 10);
        if (d == open)
            at += (size_t)snprintf(out + at, size - at, "%s-1", comma);
        else if (n > 2 && n % 2 == 0 && chance(30))
            at += (size_t)snprintf(out + at, size - at, "%s2, %ld", comma, n / 2);
        else if (d + 1 < x->rank && chance(35)) {
            at += (size_t)snprintf(out + at, size - at, "%s(%s)*(%s)", comma, x->dim[d], x->dim[d + 1]);
            d++;
        } else
            at += (size_t)snprintf(out + at, size - at, "%s%s", comma, x->dim[d]);
    }
    snprintf(out + at, size - at, "]");
}

/* A list of n sizes: those of x, or small ones. */
static void draw_sizes(char *out, size_t size, const trial *t, const value *x, bool from_end) {
    int n = x && chance(85) ? x->rank : (int)rnd(4), first = from_end && n ? (int)rnd((uint32_t)n) : 0;
    size_t at = (size_t)snprintf(out, size, "[");
    for (int d = first; d < n; d++) {
        char dim[DIM];
        draw_size(t->g, dim);
        if (x && d < x->rank && chance(from_end ? 100 : 70)) snprintf(dim, sizeof dim, "%s", x->dim[d]);
        at += (size_t)snprintf(out + at, size - at, "%s%s", d > first ? ", " : "", dim);
    }
    snprintf(out + at, size - at, "]");
}

static void draw_numbers(char *out, size_t size, int n, const char *choices) {
    size_t at = (size_t)snprintf(out, size, "[");
    for (int i = 0; i < n; i++) {
        char one[16];
        choose(choices, one, sizeof one);
        at += (size_t)snprintf(out + at, size - at, "%s%s", i ? ", " : "", one);
    }
    snprintf(out + at, size - at, "]");
}

/* A product of the sizes of x from `first` on. */
static void draw_product(char *out, size_t size, const value *x, int first) {
    size_t at = (size_t)snprintf(out, size, "1");
    for (int d = first; d < x->rank; d++) at += (size_t)snprintf(out + at, size - at, "*(%s)", x->dim[d]);
}

static void draw_list(char *out, size_t size, const trial *t, const char *name) {
    const value *x = first_operand(t);
    int rank = x ? x->rank : 1;
    if (t->op == IND_OP_AFFINE_GRID) { /* as theta is */
        choose("[2, 1, 3, 4]|[2, 3, 1, 2]", out, size);
    } else if (listed(" pad padding ", name)) {
        draw_numbers(out, size, chance(50) ? 1 + (int)rnd(3) : 2 * (int)rnd(4), chance(80) ? "0|1|1|2" : "0|-1|1");
    } else if (listed(" repeats dims ", name) && !strcmp(ind__op_name(t->op), "permute")) {
        draw_dims(out, size, rank, true);
    } else if (!strcmp(name, "repeats") || !strcmp(ind__op_name(t->op), "tile")) {
        draw_numbers(out, size, rank + (int)rnd(2), "1|1|2|3");
    } else if (listed(" dim dims source destination ", name)) {
        draw_dims(out, size, rank, chance(15));
    } else if (!strcmp(name, "normalized_shape")) {
        draw_sizes(out, size, t, x, true);
    } else if (listed(" split_sizes sizes shifts ", name)) {
        long n = x && rank ? strtol(x->dim[rnd((uint32_t)rank)], NULL, 10) : 2;
        if (name[1] == 'p')
            snprintf(out, size, "[%ld, %ld]", n / 3, n - n / 3);
        else if (name[1] == 'i')
            snprintf(out, size, n % 2 ? "[1, -1]" : "[2, %ld]", n / 2);
        else
            draw_numbers(out, size, 1 + (int)rnd(2), "0|1|-1|3|-7");
    } else if (x && listed(" view reshape ", ind__op_name(t->op))) {
        draw_view(out, size, x);
    } else {
        draw_sizes(out, size, t, x, false);
    }
}

static void draw_one_size(char *out, size_t size, const trial *t, const char *name) {
    const value *x = first_operand(t);
    if (x && x->rank && listed(" N C ", name)) {
        snprintf(out, size, "%s", x->dim[name[0] == 'C' && x->rank > 1]);
    } else if (x && !strcmp(name, "HxW")) {
        draw_product(out, size, x, 2);
    } else if (x && x->rank > 1 && !strcmp(name, "last_dim_size")) { /* what a one-sided spectrum comes from */
        snprintf(out, size, "2*(%s) - %d", x->dim[rnd((uint32_t)x->rank - 1)], 1 + (int)rnd(2));
    } else if (x && x->rank && chance(15)) {
        snprintf(out, size, "%s", x->dim[rnd((uint32_t)x->rank)]);
    } else if (t->g->num_symbols && chance(15)) {
        snprintf(out, size, "%s", t->g->symbol[rnd((uint32_t)t->g->num_symbols)]);
    } else {
        choose("0|1|1|2|2|3|4|5|-1|-2|8", out, size);
    }
}

static void draw_by_kind(char *out, size_t size, const trial *t, const ind__attr_schema *a, const char *name) {
    const value *x = first_operand(t);
    switch (a->kind) {
    case IND__ATTR_INT:
        if (strstr(name, "dim"))
            snprintf(out, size, "%d", draw_dim(x ? x->rank + (listed(" unsqueeze stack ", ind__op_name(t->op))) : 1));
        else
            choose("0|1|2|3|-1", out, size);
        break;
    case IND__ATTR_FLOAT: choose("0.5|1|2|0.25|0.1", out, size); break;
    case IND__ATTR_BOOL: choose("true|false", out, size); break;
    case IND__ATTR_DTYPE: snprintf(out, size, "%s", ind_dtype_name(draw_dtype())); break;
    case IND__ATTR_FLOATS: draw_numbers(out, size, 1 + (int)rnd(3), "0.5|1|1.5|2"); break;
    case IND__ATTR_INTS:
    case IND__ATTR_SIZES: draw_list(out, size, t, name); break;
    case IND__ATTR_SIZE: draw_one_size(out, size, t, name); break;
    case IND__ATTR_SCALAR: choose("0|1|2|-1|0.5|-1.25|3", out, size); break;
    default: snprintf(out, size, "none"); break;
    }
}

static void draw_attribute(trial *t, const ind__attr_schema *a) {
    char name[64], text[512] = "";
    if (!a->required && chance(45)) return;
    snprintf(name, sizeof name, "%.*s", a->length, a->name);
    if (ind__op_has(t->op, 'Z') && !strcmp(name, "length")) return; /* the symbol */
    if (ind__op_has(t->op, 'Z') && !strcmp(name, "output_size") && chance(90)) return;
    for (size_t i = 0; i < sizeof by_name / sizeof *by_name; i++) {
        if (!strcmp(by_name[i].name, name) && (a->kind != IND__ATTR_SIZES || chance(80)))
            choose(by_name[i].choices, text, sizeof text);
    }
    const value *x = first_operand(t);
    if (x && x->rank > 2 && listed(per_window_dimension, name) && !ind__op_has(t->op, 'D') && chance(80)) {
        bool zero = *name == 'p' || *name == 'o', plain = chance(60) && *name != 'k';
        int n = x->rank - 2 + (x->rank == 3 && *name == 'k' && chance(20));
        draw_numbers(text, sizeof text, n, plain ? (zero ? "0" : "1") : zero ? "0|1" : "1|2|3");
    }
    if (t->op == IND_OP_CONVOLUTION_PHASES && a->kind != IND__ATTR_INT) draw_phases(t, name, text, sizeof text);
    if (!*text) draw_by_kind(text, sizeof text, t, a, name);
    if (t->s.call[strlen(t->s.call) - 1] != '(') add(t, ", ");
    add(t, name);
    add(t, "=");
    add(t, text);
}

static bool is_smooth(const trial *t) {
    if (t->own) return t->own->smooth;
    return listed(smooth, ind__op_name(t->op)) || ind__op_has(t->op, 'V') || ind__op_has(t->op, 'D');
}

/* An op of a user: which, and how its line begins. */
static void draw_own(trial *t) {
    char text[64];
    for (int i = 0; i < OWN_KINDS; i++) {
        if (own_kinds[i].op != t->op) continue;
        t->s.own = (int)rnd((uint32_t)own_kinds[i].num);
        t->own = &own_kinds[i].row[t->s.own];
    }
    if (!t->own) return;
    if (t->op == IND_OP_CALL)
        snprintf(text, sizeof text, "%s(", t->own->name);
    else if (t->op == IND_OP_EXTERN)
        snprintf(text, sizeof text, "extern(\"%s\", ", t->own->name);
    else
        snprintf(text, sizeof text, "%s%d(", t->op == IND_OP_CUSTOM ? "pointwise" : "scan", t->s.own);
    snprintf(t->s.call, sizeof t->s.call, "%s", text);
}

static bool draw_own_operands(trial *t) {
    bool ok = true;
    for (const char *kind = t->own->operands; ok && *kind; kind++) {
        if (t->s.num_operands) add(t, ", ");
        ok = draw_operand(t, *kind);
    }
    t->s.num_results = t->op == IND_OP_ASSOCIATIVE_SCAN ? t->s.num_operands : 1;
    if (t->op == IND_OP_EXTERN && t->s.num_operands == 1) t->s.num_results = 2;
    if (t->op == IND_OP_EXTERN && t->s.num_operands == 2) add(t, ", mutates=[0]");
    if (!ok || t->op != IND_OP_ASSOCIATIVE_SCAN) return ok;
    char text[64];
    const int rank = t->g->v[t->s.operand[0]].rank;
    snprintf(text, sizeof text, "; dim=%d reverse=%u exclusive=%u segments=", draw_dim(rank), rnd(2), rnd(2));
    add(t, text);
    if (chance(60)) return add(t, "none"), true;
    return draw_operand(t, 'b');
}

/* A call; `again`: with the operands of that one. */
static bool draw_call(trial *t, const statement *again) {
    if (again) { /* what differs in attributes alone must not be taken for the same */
        t->s = *again;
        t->s.call[t->s.operands_end] = 0;
    } else {
        t->s.in_place = ind__op_has(t->op, '_') && chance(20);
        snprintf(t->s.call, sizeof t->s.call, "%s%s(", ind__op_name(t->op), t->s.in_place ? "_" : "");
        t->s.op = t->op;
        t->s.num_operands = t->s.num_aliases = 0;
        t->s.size = t->s.own = -1;
        draw_own(t);
    }
    t->strict = !is_smooth(t);
    t->exact_only = t->strict || chance(20); /* exact operands make exact results, and these are what strict ops need */
    t->g->num_fresh = 0;
    if (!again && !(t->own ? draw_own_operands(t) : draw_operands(t))) return false;
    if (!again) t->s.operands_end = strlen(t->s.call);
    for (uint32_t k = 0; !t->own && k < t->schema->num_attrs; k++) draw_attribute(t, &t->schema->attr[k]);
    add(t, ")");
    if (strstr(t->s.call, "rounding_mode=\"")) t->strict = true;
    return true;
}

/* ---- running */

static int fail(const graph *g, const char *way, const char *text, const char *why) {
    (void)g;
    printf("%s\n(%s)\n%s\n", why, way, text);
    return 1;
}

/* Elements of a binding, for sizes from data as they were, or (NULL) the most they can be. */
static bool count_elements(ind_module *m, int i, const char *sizes, const int64_t *data_sizes, int64_t *count) {
    int64_t shape[IND_MAX_RANK];
    const ind_binding_info *b = ind_module_query_binding(m, i);
    const int64_t most = !data_sizes && ind_module_num_data_sizes(m) ? MOST_MEMORY : MOST_ELEMENTS;
    *count = 1;
    if (ind_module_shape(m, i, sizes, data_sizes, shape)) return false;
    for (int d = 0; d < b->rank; d++) {
        if (shape[d] > most) return false;
        *count *= shape[d];
        if (*count > most) return false;
    }
    return true;
}

static value *value_named(graph *g, const char *name) {
    for (int i = 0; i < g->num_values + g->num_fresh; i++) {
        if (!strcmp(g->v[i].name, name)) return &g->v[i];
    }
    return NULL;
}

/* Block for an operand: its value, or sample k of it. */
static void *copy_operand(const value *v, int c, int k, bool strict) {
    const void *from = k && v->data[c][k] && !strict ? v->data[c][k] : v->data[c][0];
    size_t bytes = (size_t)v->count[c] * (size_t)ind_dtype_bytes(v->dtype);
    void *out = malloc(bytes + !bytes);
    if (bytes) memcpy(out, from, bytes);
    if (k && v->exact && !strict && ind_dtype_is_float(v->dtype)) {
        for (int64_t i = 0; i < v->count[c]; i++)
            put(out, v->dtype, i, with_noise(get(out, v->dtype, i), v->dtype, i, k));
    }
    return out;
}

typedef struct blocks {
    int n;
    char sizes[256];
    ind_binding io[MOST_BLOCKS];
    int64_t count[MOST_BLOCKS];
    int64_t data_sizes[MOST_SIZES]; /* of the module, once it ran */
} blocks;

static void free_blocks(blocks *b) {
    for (int i = 0; i < b->n; i++) {
        bool shared = false;
        for (int k = 0; k < i; k++) shared = shared || b->io[k].data == b->io[i].data;
        if (!shared) free(b->io[i].data);
    }
    b->n = 0;
}

/* Noise alone: what an intermediate is multiplied by. */
static void *make_noise(ind_dtype dtype, int64_t count, int k) {
    void *data = calloc((size_t)count + !count, (size_t)ind_dtype_bytes(dtype));
    for (int64_t i = 0; i < count; i++) put(data, dtype, i, with_noise(1, dtype, i, k));
    return data;
}

static bool make_blocks(graph *g, ind_module *m, int c, int k, bool strict, blocks *b) {
    int n = ind_module_num_bindings(m);
    if (n > MOST_BLOCKS || ind_module_num_data_sizes(m) > MOST_SIZES) return false;
    for (b->n = 0; b->n < n; b->n++) {
        const ind_binding_info *info = ind_module_query_binding(m, b->n);
        int64_t *count = &b->count[b->n];
        void *data;
        if (!count_elements(m, b->n, b->sizes, NULL, count)) return false;
        value *v = info->kind == IND_BINDING_OUTPUT ? NULL : value_named(g, info->name);
        if (info->kind == IND_BINDING_OUTPUT) {
            size_t bytes = (size_t)*count * (size_t)ind_dtype_bytes(info->dtype);
            bool there = info->takes_over >= 0 && (g->num_statements + b->n) % 2;
            data = there ? b->io[info->takes_over].data : malloc(bytes + !bytes);
            if (!there) memset(data, 0xa5, bytes);
        } else if (!v) {
            data = make_noise(info->dtype, *count, k);
        } else {
            if (!v->data[c][0]) {
                v->count[c] = *count;
                fill(v, c);
            }
            data = copy_operand(v, c, k, strict);
        }
        b->io[b->n] = (ind_binding){info->name, data};
    }
    return true;
}

/* Results whose size comes from data are as long as they turned out. */
static ind_status count_results(ind_module *m, blocks *b) {
    for (int i = 0; ind_module_num_data_sizes(m) && i < b->n; i++) {
        if (!count_elements(m, i, b->sizes, b->data_sizes, &b->count[i])) return IND_ERROR_OUT_OF_RANGE;
    }
    return IND_OK;
}

static ind_status run_copied(ind_module *m, blocks *b) {
    ind_run_desc d = {.bindings = b->io, .num_bindings = b->n, .sizes = b->sizes, .memory = IND_MEMORY_HOST};
    d.data_sizes = b->data_sizes;
    counts.runs++;
    ind_status status = ind_run(m, &d);
    return status ? status : count_results(m, b);
}

/* Where in the workspace a buffer lies, and the kernels between which it is needed. */
typedef struct place {
    size_t at, bytes;
    uint32_t first, last;
} place;

/* From what the kernels read and write, not from the memory plan. */
static ind_status find_places(ind_instance *n, const char *sizes, const char *workspace, place *p) {
    const ind_schedule *s = n->module->desc.schedule;
    const ind__lowered *l = s->program;
    for (uint32_t b = 1; b < l->num_buffers; b++) {
        const ind__buffer *info = &l->buffer[b];
        int64_t bytes;
        if (!ind__ok(s->offset[b])) continue;
        ind_status status = ind_formula_eval(n->module, ind__buffer_most_bytes(l, info), sizes, &bytes);
        if (status) return status;
        size_t at = (size_t)((const char *)n->bindings.address[b] - workspace);
        uint32_t changed = info->mutated_by ? s->first_use[info->mutated_by] : UINT32_MAX;
        p[b] = (place){at, (size_t)bytes, s->first_use[b], s->last_use[b]};
        if (changed != UINT32_MAX && changed > p[b].last) p[b].last = changed;
    }
    for (uint32_t u = 0; u < l->num_unbacked; u++) p[l->unbacked[u].buffer].last = s->num_kernels;
    return IND_OK;
}

/* Kernel by kernel; before each, all that was not made yet or is no longer needed becomes NaN. */
static ind_status run_steps(ind_instance *n, const ind_launch_desc *d, char *workspace, size_t size) {
    uint32_t steps = n->module->executable->launches.num_steps, buffers = n->module->desc.lowered->num_buffers;
    place *p = calloc(buffers, sizeof *p);
    char *kept = malloc(size);
    ind_status status = p && kept ? rt__instance_prepare(n, d) : IND_ERROR_OUT_OF_MEMORY;
    if (!status) status = find_places(n, d->sizes, workspace, p);
    if (!status) status = rt__launch_prepared(n, NULL);
    for (uint32_t k = 0; k < steps && !status; k++) {
        memset(kept, 0xff, size);
        for (uint32_t b = 1; b < buffers; b++)
            if (p[b].bytes && p[b].first < k && p[b].last >= k) memcpy(kept + p[b].at, workspace + p[b].at, p[b].bytes);
        memcpy(workspace, kept, size);
        status = rt__launch_steps(n, k, 1, NULL);
    }
    free(kept);
    free(p);
    return status;
}

/* On the host device, in a workspace of NaN wherever nothing is needed: nothing may hang on what was there before, or
   read what is dead. */
static ind_status run_poisoned(ind_module *m, blocks *b) {
    ind_instance *instance = NULL;
    int64_t bytes = 0;
    ind_status status = ind_formula_eval(m, ind_module_workspace(m), b->sizes, &bytes);
    size_t size = ((size_t)bytes + 255) / 256 * 256 + 256;
    char *workspace = status ? NULL : aligned_alloc(256, size);
    ind_instance_desc d = {workspace, size};
    ind_launch_desc launch = {.bindings = b->io, .num_bindings = b->n, .sizes = b->sizes};
    if (!status) status = workspace ? ind_instance_create(m, &d, &instance) : IND_ERROR_OUT_OF_MEMORY;
    if (!status) status = run_steps(instance, &launch, workspace, size);
    if (!status) status = ind_instance_check(instance);
    if (!status) status = ind_instance_data_sizes(instance, b->data_sizes, MOST_SIZES);
    ind_instance_destroy(instance);
    free(workspace);
    counts.runs++;
    return status ? status : count_results(m, b);
}

/* ---- a trial */

static void add_input_once(const graph *g, char *out, size_t size, int at, bool *seen) {
    if (!seen[at]) add_input(out, size, &g->v[at]);
    seen[at] = true;
}

static bool makes_root(const graph *g, const statement *s, int root) {
    for (int i = 0; i < s->num_results; i++) {
        if (g->v[s->result + i].root == root && s->result + i != root) return true;
    }
    return false;
}

/* In place the whole history of that memory counts: the views of it, and what was written before. */
static void add_history(const trial *t, char *out, size_t size, int root, bool *seen) {
    const graph *g = t->g;
    add_input_once(g, out, size, root, seen);
    for (int i = 0; i < g->num_statements; i++) {
        const statement *s = &g->s[i];
        if (!makes_root(g, s, root)) continue;
        for (int k = 0; k < s->num_operands; k++) {
            if (g->v[s->operand[k]].root != root) add_input_once(g, out, size, s->operand[k], seen);
        }
        add_statement(out, size, g, s);
    }
}

static void trial_text(const trial *t, char *out, size_t size) {
    const graph *g = t->g;
    bool seen[MOST_VALUES] = {false};
    int root = t->s.in_place ? g->v[t->s.operand[0]].root : -1;
    int num = t->s.num_results - t->s.num_aliases;
    snprintf(out, size, "graph one {\n");
    add_sizes(out, size, g, true);
    if (root >= 0) add_history(t, out, size, root, seen);
    for (int k = 0; k < t->s.num_operands; k++) {
        if (root < 0 || g->v[t->s.operand[k]].root != root) add_input_once(g, out, size, t->s.operand[k], seen);
    }
    size_t n = strlen(out);
    for (int i = 0; i < num; i++) n += (size_t)snprintf(out + n, size - n, "%s r%d", i ? "," : " ", i);
    n += (size_t)snprintf(out + n, size - n, " = %s\n", t->s.call);
    for (int i = 0; i < t->s.num_aliases; i++)
        n += (size_t)snprintf(out + n, size - n, "  r%d = alias(%s)\n", num + i, g->v[t->s.alias[i]].name);
    for (int i = 0; i < t->s.num_results; i++)
        n += (size_t)snprintf(out + n, size - n, "%s o%d = r%d", i ? "," : "  output", i, i);
    snprintf(out + n, size - n, "\n}\n");
}

/* What else shows the memory that is written to, under new names afterwards. */
static bool draw_aliases(trial *t) {
    const graph *g = t->g;
    const int target = t->s.operand[0];
    t->s.num_aliases = 0;
    for (int i = 0; i < g->num_values; i++) {
        if (i == target || g->v[i].stale || g->v[i].root != g->v[target].root) continue;
        if (t->s.num_aliases == MOST_ALIASES) return false;
        t->s.alias[t->s.num_aliases++] = i;
    }
    return true;
}

/* The number of results is the parser's to know: it is asked with one, then with what it says. */
static ind_graph *parse_trial(trial *t, char *text, size_t size) {
    static const int tries[] = {2, 3, 4, 5, 6};
    uint32_t known = t->own ? (uint32_t)t->s.num_results : ind__op_rows[t->op].results;
    t->s.num_results = known ? (int)known : 1;
    if (t->s.in_place && !draw_aliases(t)) return NULL;
    t->s.num_results += t->s.num_aliases;
    trial_text(t, text, size);
    ind_graph *g = own_parse(t->g->ctx, text);
    for (int i = 0; !g && !known && i < 5 && strstr(ind_error(t->g->ctx), "result"); i++) {
        t->s.num_results = tries[i];
        trial_text(t, text, size);
        g = own_parse(t->g->ctx, text);
    }
    return g;
}

static bool declared(const graph *g, const char *dim) {
    for (const char *s = dim; *s; s++) {
        bool starts = strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", *s) &&
                      (s == dim || !strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789", s[-1]));
        if (!starts) continue;
        bool known = *s == 'n' && s[1] >= '0' && s[1] <= '9';
        for (int i = 0; i < g->num_symbols; i++) known = known || *s == g->symbol[i][0];
        if (!known && strncmp(s, "Min", 3) && strncmp(s, "Max", 3) && strncmp(s, "Where", 5) &&
            strncmp(s, "CeilDiv", 7) && strncmp(s, "ModularIndexing", 15))
            return false;
    }
    return true;
}

/* The value whose memory tensor `x` of a trial shows; `self` if that is its own. */
static int root_of(const graph *g, const ind_graph *parsed, const ind__tensor_info *x, int self) {
    const value *v = x->root ? value_named((graph *)g, parsed->tensor[x->root].name) : NULL;
    return v ? v->root : self;
}

static void set_result(const trial *t, int i, const ind_graph *parsed, const ind__tensor_info *x) {
    graph *g = t->g;
    const int at = t->s.result + i, old = !t->s.in_place ? at : i ? t->s.alias[i - 1] : t->s.operand[0];
    value *v = &g->v[at];
    free_value(v);
    snprintf(v->name, sizeof v->name, "x%d", g->next_name + g->num_fresh + i);
    v->dtype = x->dtype;
    v->rank = x->rank;
    v->made_by = g->num_statements;
    v->mutated_to = -1;
    v->root = t->s.in_place ? g->v[old].root : root_of(g, parsed, x, at);
    v->whole = t->s.in_place ? g->v[old].whole : v->root == at;
}

/* A size that comes from data gets a name of its own. */
static bool set_dim(const trial *t, const ind_graph *parsed, ind_expr size, char out[DIM]) {
    if (parsed->data_sizes.num && ind_expr_same(size, parsed->data_sizes.unbacked[0].symbol))
        return snprintf(out, DIM, "n%d", t->s.size), true;
    return ind_expr_print(size, out, DIM) < DIM && declared(t->g, out);
}

/* The results' types, behind the fresh operands. */
static bool make_results(trial *t, const ind_graph *parsed) {
    graph *g = t->g;
    int first = g->num_values + g->num_fresh;
    if (first + t->s.num_results > MOST_VALUES || (int)parsed->outputs.num != t->s.num_results) return false;
    if (parsed->data_sizes.num > 1 || (parsed->data_sizes.num && g->num_sizes == MOST_SIZES)) return false;
    t->s.size = parsed->data_sizes.num ? g->num_sizes : -1;
    if (t->s.size >= 0) g->size[t->s.size] = (data_size){.made_by = g->num_statements, .most = g->plans ? 64 : 0};
    t->s.result = first;
    for (int i = 0; i < t->s.num_results; i++) {
        const ind__tensor_info *x = &parsed->tensor[parsed->outputs.output[i].tensor];
        set_result(t, i, parsed, x);
        for (int d = 0; d < x->rank; d++) {
            if (!set_dim(t, parsed, x->size[d], g->v[first + i].dim[d])) return false;
        }
    }
    return true;
}

/* Whether several values may meet at one element of which any may stay. */
static bool leaves_choice(const trial *t) {
    if (!listed(one_of_several, ind__op_name(t->op)) || strstr(t->s.call, "accumulate=true")) return false;
    for (int k = 1, indices = 0; k < t->s.num_operands; k++) {
        const value *v = &t->g->v[t->s.operand[k]];
        if (v->dtype != IND_I64 && v->dtype != IND_I32) continue;
        if (v->made_by >= 0 || v->fill != 'd' || indices++) return true;
    }
    return false;
}

static bool exact_results(const trial *t) {
    for (int k = 0; k < t->s.num_operands; k++) {
        if (!t->g->v[t->s.operand[k]].exact) return false;
    }
    for (int k = 0; k < t->s.num_aliases; k++) {
        if (!t->g->v[t->s.alias[k]].exact) return false;
    }
    return true;
}

/* Of exact operands: are these the same bits in every way? */
static bool same_bits_of(const trial *t, const value *result) {
    const char *name = ind__op_name(t->op);
    if (!ind_dtype_is_float(result->dtype)) return true;
    if (listed(rounds, name) || (t->own && !t->own->same_bits)) return false;
    if (!t->own && !listed(same_bits, name) && !ind__op_has(t->op, 'V') && !ind__op_has(t->op, 'D')) return false;
    if (strstr(t->s.call, "accumulate=true")) return false;
    for (int k = 0; k < t->s.num_operands; k++) { /* narrowed: when it is rounded is left open */
        ind_dtype from = t->g->v[t->s.operand[k]].dtype;
        if (ind_dtype_bytes(result->dtype) <= 2 && from != result->dtype && from != IND_BOOL &&
            !(ind__op_has(t->op, 'G') && !ind_dtype_is_float(from)))
            return false;
    }
    return true;
}

/* Values in a range where much can follow; sometimes others. */
static bool moderate(const value *v, int c, bool any) {
    int64_t bad = 0;
    for (int64_t i = 0; i < v->count[c]; i++) {
        double x = get(v->data[c][0], v->dtype, i);
        if (ind_dtype_is_float(v->dtype)) bad += !(fabs(x) <= largest_of(v->dtype));
    }
    return any || bad * 10 <= v->count[c];
}

/* Narrows the range of floats that have a value as integers of this type. */
static void narrow_range(ind_dtype d, double *least, double *most) {
    int bits = 8 * ind_dtype_bytes(d) - (d != IND_U8);
    *most = fmin(*most, ldexp(1, bits) - 1);
    *least = fmax(*least, d == IND_U8 ? 0 : -ldexp(1, bits));
}

/* C and PyTorch leave open what becomes of floats beyond the integers: those that the call computes in, as an op in
   place on floats may, or results. */
static bool cast_is_open(const trial *t, int c) {
    const char *named = strstr(t->s.call, "dtype=");
    if (!named) return false;
    named += strlen("dtype=");
    const ind_dtype computed = ind_dtype_parse(named, strcspn(named, ",)"));
    bool to_integer = ind_dtype_is_integer(computed);
    double most = 0x1p62, least = -0x1p62;
    if (to_integer) narrow_range(computed, &least, &most);
    for (int i = 0; i < t->s.num_results; i++) {
        ind_dtype d = t->g->v[t->s.result + i].dtype;
        if (!ind_dtype_is_integer(d)) continue;
        to_integer = true;
        narrow_range(d, &least, &most);
    }
    for (int k = 0; to_integer && k < t->s.num_operands; k++) {
        const value *v = &t->g->v[t->s.operand[k]];
        for (int64_t i = 0; ind_dtype_is_float(v->dtype) && i < v->count[c]; i++) {
            double x = get(v->data[c][0], v->dtype, i);
            if (!(x > least - 1 && x < most)) return true;
        }
    }
    return false;
}

static double spread_of(const value *v, int c, int64_t i) {
    double x = get(v->data[c][0], v->dtype, i), most = 0;
    for (int k = 1; k <= SAMPLES; k++) {
        double y = get(v->data[c][k], v->dtype, i);
        if (x == y || (x != x && y != y)) continue;
        most = fmax(most, fabs(x - y) == fabs(x - y) ? fabs(x - y) : (double)INFINITY);
    }
    return most;
}

/* Most elements must be known to some digits. */
static bool well_conditioned(const value *v, int c) {
    int64_t bad = 0;
    if (v->exact) return true;
    for (int64_t i = 0; i < v->count[c]; i++) {
        double x = get(v->data[c][0], v->dtype, i), s = spread_of(v, c, i);
        bad += !(s * SPREAD < 0.25 * (1 + fabs(x)));
    }
    return bad * 4 <= v->count[c];
}

/* ---- noise between the ops that one expands to */

/* "name : f32[4, B]", of which there may be several with commas between; what follows it. */
static const char *read_result(const char *at, char name[64], char type[256]) {
    size_t n = strspn(at, " ,"), length = strcspn(at + n, " ");
    snprintf(name, 64, "%.*s", (int)length, at + n);
    at += n + length + 3;
    n = strcspn(at, "]") + 1;
    snprintf(type, 256, "%.*s", (int)n, at);
    return at + n;
}

/* What is rounded where it is stored, and nowhere else. */
static bool narrow_type(const char *type) {
    return !strncmp(type, "f16[", 4) || !strncmp(type, "bf16[", 5);
}

/* One line of a graph: `a : f32[4] = exp(x)` becomes `a_raw : ..` and `a = mul(a_raw, noise_a)`. */
static size_t add_noisy_line(const char *line, size_t length, char *out, size_t size) {
    char text[2048], name[64], type[256];
    size_t n = 0;
    snprintf(text, sizeof text, "%.*s", (int)length, line);
    const char *call = strstr(text, "] = ");
    if (!call || length >= sizeof text) return 0;
    for (const char *at = text; at < call;) {
        at = read_result(at, name, type);
        if (narrow_type(type)) n += (size_t)snprintf(out + n, size - n, "  input noise_%s : %s\n", name, type);
    }
    for (const char *at = text; at < call;) {
        bool first = at == text;
        at = read_result(at, name, type);
        n += (size_t)snprintf(out + n, size - n, "%s%s%s", first ? "  " : ", ", name, narrow_type(type) ? "_raw" : "");
    }
    n += (size_t)snprintf(out + n, size - n, " = %s\n", call + 4);
    for (const char *at = text; at < call;) {
        at = read_result(at, name, type);
        if (narrow_type(type))
            n += (size_t)snprintf(out + n, size - n, "  %s = mul(%s_raw, noise_%s)\n", name, name, name);
    }
    return n;
}

/* The graph of an op that expands to others, with noise on each value that may be stored between them: what is stored
 * in 16 bits is rounded to them, what is fused is not. False: one op is all there is. */
static bool noisy_text(ind_graph *parsed, char *out, size_t size) {
    static const char *const kept[] = {"graph ",   "  input ",  "  const ",  "  size ",     "  fact ",
                                       "  guard ", "  output ", "  mutate ", "  function ", "}"};
    const char *text = ind_graph_text(parsed);
    int num_ops = 0;
    size_t n = 0;
    for (const char *line = text; line && *line && n < size;) {
        size_t length = strcspn(line, "\n");
        bool keep = false;
        for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) keep = keep || !strncmp(line, kept[i], strlen(kept[i]));
        if (keep)
            n += (size_t)snprintf(out + n, size - n, "%.*s\n", (int)length, line);
        else
            n += add_noisy_line(line, length, out + n, size - n);
        num_ops += !keep;
        line += length + (line[length] == '\n');
    }
    return num_ops > 1 && n < size && !parsed->data_sizes.num;
}

/* A module of that, NULL if there is none; false: the library failed. */
static bool compile_noisy(trial *t, ind_graph *parsed, const ind_compile_desc *desc, ind_module **m) {
    static char text[1 << 17];
    *m = NULL;
    if (t->own || !noisy_text(parsed, text, sizeof text)) return true;
    ind_graph *g = ind_graph_parse(t->g->ctx, text, NULL);
    bool ok = g && !ind_compile(g, desc, m);
    if (!ok) fail(t->g, "with noise between", text, ind_error(t->g->ctx));
    ind_graph_destroy(g);
    return ok;
}

/* The size that came from the op's data. */
static ind_status set_size(trial *t, ind_module *m, int c, const blocks *b) {
    int64_t most;
    if (t->s.size < 0 || !ind_module_num_data_sizes(m)) return IND_OK;
    data_size *n = &t->g->size[t->s.size];
    ind_status status = ind_formula_eval(m, ind_module_data_size_most(m, 0), b->sizes, &most);
    if (!status && most > n->most) n->most = most;
    n->count[c] = b->data_sizes[0];
    return status;
}

/* Runs the op alone: sample k, 0 the values themselves. */
static ind_status run_trial(trial *t, ind_module *m, int c, int k) {
    blocks *b = calloc(1, sizeof *b);
    run_sizes(b->sizes, sizeof b->sizes, t->g, c, true);
    ind_status status = make_blocks(t->g, m, c, k, t->strict, b) ? run_copied(m, b) : IND_ERROR_OUT_OF_RANGE;
    if (!status) status = set_size(t, m, c, b);
    for (int i = 0; !status && i < b->n; i++) {
        const ind_binding_info *info = ind_module_query_binding(m, i);
        if (info->kind != IND_BINDING_OUTPUT) continue;
        value *v = &t->g->v[t->s.result + (int)strtol(info->name + 1, NULL, 10)];
        v->count[c] = b->count[i];
        free(v->data[c][k]);
        v->data[c][k] = b->io[i].data;
        b->io[i].data = NULL;
        for (int64_t e = 0; k && e < v->count[c]; e++)
            put(v->data[c][k], v->dtype, e, with_noise(get(v->data[c][k], v->dtype, e), v->dtype, e, k));
    }
    free_blocks(b);
    free(b);
    return status;
}

/* A result that is not a float is only taken where it cannot jump. */
static bool set_exactness(trial *t) {
    bool exact = exact_results(t);
    for (int i = 0; i < t->s.num_results; i++) {
        value *v = &t->g->v[t->s.result + i];
        v->exact = exact && same_bits_of(t, v);
        if (!v->exact && !ind_dtype_is_float(v->dtype)) return false;
    }
    return true;
}

static bool exact_values(const trial *t) {
    bool exact = true;
    for (int i = 0; i < t->s.num_results; i++) exact = exact && t->g->v[t->s.result + i].exact;
    return exact;
}

/* Where bags begin is checked by the kernel that makes them: without elements there is none, but where all is stored.
 */
static bool bags_are_open(const trial *t, int c) {
    bool bags = false;
    for (int i = 0; i < t->s.num_operands; i++) bags = bags || t->g->v[t->s.operand[i]].fill == 'o';
    return bags && !t->g->v[t->s.result].count[c];
}

static ind_status run_values(trial *t, ind_module *m, ind_module *noisy, bool any) {
    ind_status status = IND_OK;
    for (int c = 0; !status && c < t->g->num_cases; c++) {
        bool inexact = false;
        status = run_trial(t, m, c, 0);
        if (!status && (cast_is_open(t, c) || bags_are_open(t, c))) status = IND_ERROR_OUT_OF_RANGE;
        for (int i = 0; !status && i < t->s.num_results; i++) {
            const value *v = &t->g->v[t->s.result + i];
            inexact = inexact || !v->exact;
            if (!moderate(v, c, any)) status = IND_ERROR_OUT_OF_RANGE;
        }
        for (int k = 1; !status && inexact && k <= SAMPLES; k++) status = run_trial(t, noisy ? noisy : m, c, k);
        for (int i = 0; !status && inexact && i < t->s.num_results; i++) {
            value *v = &t->g->v[t->s.result + i];
            for (int k = 1; v->exact && k <= SAMPLES; k++) {
                free(v->data[c][k]);
                v->data[c][k] = NULL;
            }
            if (!any && !well_conditioned(v, c)) status = IND_ERROR_OUT_OF_RANGE;
        }
    }
    return status;
}

static void set_stale(graph *g, const statement *s, bool stale) {
    if (!s->in_place) return;
    g->v[s->operand[0]].stale = stale;
    for (int k = 0; k < s->num_aliases; k++) g->v[s->alias[k]].stale = stale;
}

static void accept(trial *t) {
    graph *g = t->g;
    g->next_name += g->num_fresh + t->s.num_results;
    g->num_values += g->num_fresh + t->s.num_results;
    g->num_fresh = 0;
    g->num_sizes += t->s.size >= 0;
    g->s[g->num_statements++] = t->s;
    set_stale(g, &t->s, true);
}

static void count_accepted(const trial *t) {
    counts.drawn[t->op]++;
    counts.statements++;
    counts.in_place += t->s.in_place;
    counts.sizes += t->s.size >= 0;
    counts.own += t->own != NULL;
}

static bool is_refusal(ind_status s) {
    return s == IND_ERROR_OUT_OF_RANGE || s == IND_ERROR_NOT_SUPPORTED || s == IND_ERROR_INDEX_OUT_OF_RANGE ||
           s == IND_ERROR_OVERFLOW || s == IND_ERROR_LIMIT;
}

/* Sizes that come from data are declared in a trial, and then known better than in the whole graph, which may refuse
 * the op for that: with the statement taken, does the graph compile? */
static int whole_compiles(graph *g, const statement *s) {
    char text[TEXT];
    ind_module *m = NULL;
    for (int i = 0; i < s->num_results && i < 8; i++) g->output[g->num_outputs++] = s->result + i;
    graph_text(g, text, sizeof text);
    g->num_outputs = 0;
    ind_graph *parsed = own_parse(g->ctx, text);
    ind_status status = parsed ? ind_compile(parsed, &(ind_compile_desc){.device = IND_DEVICE_HOST}, &m) : IND_OK;
    bool fits_memory = !status;
    for (int c = 0; m && c < g->num_cases && fits_memory; c++) {
        for (int i = 0; i < ind_module_num_bindings(m); i++) {
            int64_t count;
            fits_memory = fits_memory && count_elements(m, i, g->sizes[c], NULL, &count);
        }
    }
    ind_module_destroy(m);
    ind_graph_destroy(parsed);
    if (status && !is_refusal(status)) return fail(g, "the whole graph", text, ind_error(g->ctx)), -1;
    return parsed && fits_memory;
}

/* 1: stays; 0: taken back; -1: the library failed. */
static int accept_checked(trial *t) {
    graph *g = t->g;
    const int num_values = g->num_values, num_sizes = g->num_sizes, name = g->next_name;
    accept(t);
    int ok = g->num_sizes ? whole_compiles(g, &t->s) : 1;
    if (ok > 0) return count_accepted(t), 1;
    set_stale(g, &t->s, false);
    g->num_statements--;
    g->num_values = num_values;
    g->num_sizes = num_sizes;
    g->next_name = name;
    return ok;
}

/* A norm of order 0 counts what is not 0. */
static bool counts_elements(const trial *t) {
    const char *of[] = {"p=0,", "p=0)", "ord=0,", "ord=0)"};
    bool found = false;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) found = found || strstr(t->s.call, of[i]);
    return found;
}

/* Beside what the types say: as_strided needs memory of its own, which of several values stays is open, and what jumps
 * takes exact values only. */
static bool may_be_drawn(const trial *t) {
    const bool strict = t->strict || counts_elements(t);
    if (t->op == IND_OP_AS_STRIDED && t->s.num_operands && t->g->v[t->s.operand[0]].made_by >= 0) return false;
    for (int k = 0; strict && k < t->s.num_operands; k++) {
        const value *v = &t->g->v[t->s.operand[k]];
        if (ind_dtype_is_float(v->dtype) && !v->exact) return false;
    }
    if (t->s.in_place && t->g->v[t->s.operand[0]].is_const) return false;
    return !leaves_choice(t);
}

/* Compiles and runs the op alone. */
static int run_alone(trial *t, ind_graph *parsed, const char *text) {
    ind_module *m = NULL, *noisy = NULL;
    ind_compile_desc desc = {
        .device = IND_DEVICE_HOST, .fusion = {.disable = true, .disable_inplace = true}, .disabled_passes = ~0u};
    ind_status status = ind_compile(parsed, &desc, &m);
    if (!status && !t->g->plans && !exact_values(t) && !compile_noisy(t, parsed, &desc, &noisy)) return -1;
    if (!status && !t->g->plans) status = run_values(t, m, noisy, chance(2));
    int taken = !status ? 1 : is_refusal(status) ? 0 : -1;
    if (taken < 0) fail(t->g, "one op", text, ind_error(t->g->ctx));
    ind_module_destroy(m);
    ind_module_destroy(noisy);
    return taken;
}

/* 1: taken; 0: refused; -1: the library failed. */
static int try_call(trial *t) {
    char text[TEXT];
    int taken = 0;
    counts.trials++;
    ind_graph *parsed = may_be_drawn(t) ? parse_trial(t, text, sizeof text) : NULL;
    if (!parsed) return 0;
    if (make_results(t, parsed) && set_exactness(t)) taken = run_alone(t, parsed, text);
    ind_graph_destroy(parsed);
    return taken > 0 ? accept_checked(t) : taken;
}

static bool may_be_repeated(const graph *g, const statement *s) {
    bool may = !s->in_place && s->own < 0;
    for (int k = 0; k < s->num_operands; k++) may = may && !g->v[s->operand[k]].stale;
    return may;
}

/* Adds one statement of this op, if one is found in so many tries. */
static int grow(graph *g, const ind__schema *schemas, ind_graph_op op, int tries) {
    int taken = 0;
    for (; !taken && tries && g->num_statements < MOST_OPS; tries--) {
        const statement *again =
            tries <= OFTEN && g->num_statements && chance(5) ? &g->s[rnd((uint32_t)g->num_statements)] : NULL;
        if (again && !may_be_repeated(g, again)) again = NULL;
        trial t = {.g = g, .op = again ? again->op : op};
        t.schema = &schemas[t.op];
        if (draw_call(&t, again)) taken = try_call(&t);
        for (int i = g->num_values; taken <= 0 && i < MOST_VALUES; i++) free_value(&g->v[i]);
        g->num_fresh = 0;
    }
    return taken;
}

static bool is_refused(ind_graph_op op) {
    return listed(refused, ind__op_name(op));
}

/* ---- a graph */

/* A condition on the sizes that holds in every case, out of some forms; false: this one does not. */
static bool draw_condition(const graph *g, int values[CASES][3], char *out, size_t size) {
    static const char *const forms[] = {"%s <= %s",           "%s < %s",      "%s == %s",
                                        "%s == 2*%s",         "%s == %s + 1", "%s != %s",
                                        "(%s + %s) % 2 == 0", "%s % %s == 0", "%s + %s <= 12"};
    const uint32_t form = rnd(sizeof forms / sizeof *forms);
    const int a = (int)rnd((uint32_t)g->num_symbols), b = (int)rnd((uint32_t)g->num_symbols);
    bool holds = a != b;
    for (int c = 0; c < g->num_cases && holds; c++) {
        const int x = values[c][a], y = values[c][b];
        const bool now[] = {x <= y,           x < y,           x == y,     x == 2 * y, x == y + 1, x != y,
                            (x + y) % 2 == 0, y && x % y == 0, x + y <= 12};
        holds = now[form];
    }
    size_t n = 0;
    for (const char *at = forms[form], *name = g->symbol[a]; *at && n + 4 < size; at++) {
        if (at[0] == '%' && at[1] == 's')
            n += (size_t)snprintf(out + n, size - n, "%s", name), name = g->symbol[b], at++;
        else
            out[n++] = *at;
    }
    out[n] = 0;
    return holds;
}

/* Facts and guards; one that the library calls a contradiction of the ranges, or known, is left out again. */
static void draw_conditions(graph *g, int values[CASES][3]) {
    char condition[64], text[1024];
    for (int tries = 0; g->num_symbols > 1 && tries < MOST_CONDITIONS; tries++) {
        size_t n = strlen(g->sizes_text);
        if (chance(40) || !draw_condition(g, values, condition, sizeof condition)) continue;
        snprintf(g->sizes_text + n, sizeof g->sizes_text - n, "  %s %s\n", chance(60) ? "fact" : "guard", condition);
        snprintf(text, sizeof text, "graph sizes {\n%s  x = zeros(size=[1])\n  output x\n}\n", g->sizes_text);
        ind_graph *parsed = ind_graph_parse(g->ctx, text, NULL);
        if (!parsed) g->sizes_text[n] = 0;
        counts.conditions += parsed != NULL;
        ind_graph_destroy(parsed);
    }
}

/* The second size is often what a condition makes of the first. */
static int draw_size_value(int low, int high, int multiple, int other) {
    const int wanted[] = {other, 2 * other, other + 1, other / 2};
    const int w = wanted[rnd(4)];
    if (chance(50) && w >= low && w <= high && w % multiple == 0) return w;
    return chance(30) ? low : low + multiple * (int)rnd((uint32_t)((high - low) / multiple) + 1);
}

static void draw_symbols(graph *g) {
    static const char *const names[] = {"B", "S", "T"};
    static const int how_many[] = {0, 0, 1, 1, 2, 2, 3};
    int values[CASES][3] = {{0}}, low[3], high[3], multiple[3];
    g->num_symbols = how_many[rnd(7)];
    g->num_cases = g->num_symbols ? CASES : 1;
    for (int i = 0; i < g->num_symbols; i++) {
        static const int multiples[] = {1, 1, 1, 2, 4}, lows[] = {0, 1, 1, 2, 2, 3};
        multiple[i] = multiples[rnd(5)], low[i] = lows[rnd(6)];
        low[i] = (low[i] + multiple[i] - 1) / multiple[i] * multiple[i];
        high[i] = low[i] + multiple[i] * (1 + (int)rnd(8));
        snprintf(g->symbol[i], sizeof g->symbol[i], "%s", names[i]);
        for (int c = 0; c < CASES; c++)
            values[c][i] = draw_size_value(low[i], high[i], multiple[i], values[c][i ? i - 1 : 0]);
        size_t n = strlen(g->sizes_text); /* a guard must hold for the hints */
        snprintf(g->sizes_text + n, sizeof g->sizes_text - n, "  size %s in [%d, %d] multiple_of %d hint %d\n",
                 names[i], low[i], high[i], multiple[i], values[0][i]);
        for (int c = 0; c < CASES; c++) {
            n = strlen(g->sizes[c]);
            snprintf(g->sizes[c] + n, sizeof g->sizes[c] - n, "%s%s=%d", i ? ", " : "", names[i], values[c][i]);
        }
    }
    draw_conditions(g, values);
}

static void draw_outputs(graph *g) {
    for (int tries = 0; tries < 24 && g->num_outputs < 1 + (int)rnd(5); tries++) {
        uint32_t n = (uint32_t)g->num_values, a = rnd(n), b = rnd(n);
        int at = (int)(a > b ? a : b);
        bool known = (is_input(g, &g->v[at]) && chance(90)) || g->v[at].stale;
        for (int i = 0; i < g->num_outputs; i++) known = known || g->output[i] == at;
        if (!known) g->output[g->num_outputs++] = at;
    }
    if (!g->num_outputs) g->output[g->num_outputs++] = g->s[g->num_statements - 1].result;
}

/* Some of the inputs that nothing changes. */
static void draw_donations(graph *g) {
    for (int i = 0; i < g->num_values; i++) {
        value *v = &g->v[i];
        bool kept = v->is_const || v->fill == 's' || v->mutated_to >= 0 || v->stale;
        for (int k = 0; k < g->num_values; k++) kept = kept || (g->v[k].stale && g->v[k].root == i);
        v->donated = is_input(g, v) && !kept && chance(30);
    }
}

static void draw_mutations(graph *g) {
    for (int i = 0; i < g->num_values; i++) {
        if (!is_input(g, &g->v[i]) || g->v[i].is_const || g->v[i].fill == 's' || chance(50)) continue;
        if (held_after(g, &g->v[i]) >= 0) continue; /* written to in place */
        for (int k = g->num_values - 1; k > i; k--) {
            if (is_input(g, &g->v[k]) || g->v[k].stale || g->v[k].dtype != g->v[i].dtype ||
                !same_shape(&g->v[i], &g->v[k]) || chance(30))
                continue;
            g->v[i].mutated_to = k;
            break;
        }
    }
}

static void free_graph(graph *g) {
    for (int i = 0; i < MOST_VALUES; i++) free_value(&g->v[i]);
    ind_context_destroy(g->ctx);
    free(g);
}

/* ---- configs to run a graph */

typedef struct way {
    const char *name;
    ind_compile_desc desc;
    const char *order; /* of threads, in the emulation */
} way;

static way configs[] = {
    {"host", {.device = IND_DEVICE_HOST}, NULL},
    {"host, no fusion", {.device = IND_DEVICE_HOST, .fusion = {.disable = true, .disable_inplace = true}}, NULL},
    {"host, no passes", {.device = IND_DEVICE_HOST, .disabled_passes = ~0u}, NULL},
    {"host, all stored",
     {.device = IND_DEVICE_HOST, .realise = {.max_reads_shared = 1, .max_ops_shared = 1, .max_reads = 1, .max_ops = 1}},
     NULL},
    {"host, any policy", {.device = IND_DEVICE_HOST}, NULL},
    {"cuda", {.device = IND_DEVICE_CUDA}, "forward"},
    {"cuda, threads reversed", {.device = IND_DEVICE_CUDA}, "reverse"},
    {"cuda, no fusion", {.device = IND_DEVICE_CUDA, .fusion = {.disable = true}}, "forward"},
    {"host, a switch", {.device = IND_DEVICE_HOST}, NULL},
    {"cuda, a switch", {.device = IND_DEVICE_CUDA}, "forward"},
};
enum { ANY_POLICY = 4, SWITCHED = 8, SWITCHED_CUDA, NUM_CONFIGS = sizeof configs / sizeof *configs };
enum { ON_HOST = 0x11f, ON_GPU = ON_HOST | 0x2a0, EMULATED = ON_HOST | 0x60, PLANS = 0x119 }; /* bit per way */

/* Every field of the policies, and what else it may be than the default: all are tried in turn on and off. So is when
   variants of kernels are built. */
#define REALISE(name, kind, choices)                                                                                   \
    { "realise." #name, offsetof(ind_compile_desc, realise.name), kind, choices }
#define FUSION(name, kind, choices)                                                                                    \
    { "fusion." #name, offsetof(ind_compile_desc, fusion.name), kind, choices }
static const struct {
    const char *name;
    size_t at;
    char kind; /* b bool, i int, l int64_t */
    const char *choices;
} switches[] = {
    {"all_variants", offsetof(ind_compile_desc, all_variants), 'b', "1"},
    REALISE(max_reads_shared, 'i', "1|2|30"),
    REALISE(max_ops_shared, 'i', "1|4|500"),
    REALISE(max_reads, 'i', "1|3|40"),
    REALISE(max_ops, 'i', "1|8|1000"),
    REALISE(look_steps, 'l', "1|1000"),
    REALISE(list_bytes, 'l', "-1099511627776|1|1099511627776"),
    REALISE(disable_parts, 'b', "1"),
    REALISE(disable_rows, 'b', "1"),
    REALISE(channels_last, 'i', "1|-1"),
    FUSION(disable, 'b', "1"),
    FUSION(disable_attention, 'b', "1"),
    FUSION(attention, 'i', "1|2|3"),
    FUSION(attention_step, 'l', "1|1000000000"),
    FUSION(attention_f32_step, 'l', "1|1000000000"),
    FUSION(max_loops, 'i', "1|2|3|5"),
    FUSION(max_args, 'i', "1|3|6|12"),
    FUSION(min_saved, 'l', "1|1000000"),
    FUSION(max_distance, 'i', "1|2|4"),
    FUSION(disable_inplace, 'b', "1"),
    FUSION(disable_reorder, 'b', "1"),
    FUSION(disable_scans, 'b', "1"),
    FUSION(disable_mutation, 'b', "1"),
    FUSION(max_scan_stride, 'i', "1|4|1000"),
    FUSION(disable_split, 'b', "1"),
    FUSION(split_share, 'l', "1|2|100"),
    FUSION(launch_bytes, 'l', "1|1099511627776"),
    FUSION(disable_prologue, 'b', "1"),
    FUSION(disable_row_prologues, 'b', "1"),
    FUSION(disable_product_pairs, 'b', "1"),
    FUSION(disable_scatter_epilogues, 'b', "1"),
    FUSION(narrow_sums, 'i', "1|2|3"),
    FUSION(l2_bytes, 'l', "1|1099511627776"),
    FUSION(reread_percent, 'i', "1|100|1000"),
    FUSION(product_tile, 'i', "1|1000"),
    FUSION(whole_rows, 'i', "1|64"),
    FUSION(packed_rows, 'i', "1|1000"),
    FUSION(quantised_rows, 'i', "1|1000"),
    FUSION(whole_bytes, 'l', "1|1099511627776"),
    FUSION(ops_per_byte, 'i', "1|1000"),
    FUSION(fill_blocks, 'i', "1|100000"),
    FUSION(macs_per_byte, 'i', "1|100000"),
    FUSION(group_rows, 'i', "1|100000"),
    FUSION(step_bytes, 'l', "1|1099511627776"),
    FUSION(max_scans, 'i', "1|2|6"),
    FUSION(disable_row_mutation, 'b', "1"),
    FUSION(disable_sorts, 'b', "1"),
    FUSION(disable_rescans, 'b', "1"),
    FUSION(disable_prefixes, 'b', "1"),
    FUSION(disable_mix, 'b', "1"),
    FUSION(mix_rows, 'i', "2|5|100"),
    FUSION(mix_columns, 'i', "1|100000"),
    FUSION(mix_from, 'l', "1|1000"),
    FUSION(mix_flight, 'l', "1|1099511627776"),
    FUSION(disable_combo, 'b', "1"),
    FUSION(max_parts, 'i', "1|2|5"),
    FUSION(max_functions, 'i', "1|2|5"),
    FUSION(row_blocks, 'i', "1|8"),
    FUSION(long_run, 'i', "4|1000"),
    FUSION(small_tile, 'i', "1|1000"),
    FUSION(product_depth, 'i', "1|1000"),
    FUSION(function_ops, 'i', "1|1000"),
    FUSION(random_ops, 'i', "1|1000"),
    FUSION(few_rows, 'i', "1|1000"),
    FUSION(long_row, 'i', "1|1000000"),
    FUSION(block_row, 'i', "1|1000000"),
    FUSION(kept_row, 'i', "1|1000000"),
    FUSION(disable_dependent_launch, 'b', "1"),
    FUSION(disable_finish, 'b', "1"),
    FUSION(persistent, 'b', "1"),
    FUSION(watchdog_ms, 'i', "100000"),
};
enum { NUM_SWITCHES = sizeof switches / sizeof *switches };
static long switched[NUM_SWITCHES];

static void set_switch(ind_compile_desc *d, int s, uint32_t choice) {
    char text[32], *at = (char *)d + switches[s].at;
    choose_number(switches[s].choices, choice, text, sizeof text);
    const int64_t value = strtoll(text, NULL, 10);
    if (switches[s].kind == 'b') *(bool *)at = value != 0;
    if (switches[s].kind == 'i') *(int *)at = (int)value;
    if (switches[s].kind == 'l') *(int64_t *)at = value;
}

static void draw_policy(ind_compile_desc *d) {
    *d = (ind_compile_desc){.device = IND_DEVICE_HOST, .disabled_passes = rnd(1u << IND_NUM_PASSES)};
    d->deterministic = chance(30);
    for (int s = 0; s < NUM_SWITCHES; s++) {
        if (chance(!strcmp(switches[s].name, "fusion.disable") ? 5 : 40)) set_switch(d, s, rnd(100));
    }
}

static double mean_spread(const value *v, int c) {
    double sum = 0;
    int64_t n = 0;
    for (int64_t i = 0; i < v->count[c]; i++) {
        double s = spread_of(v, c, i);
        if (s < (double)INFINITY) sum += s, n++;
    }
    return n ? sum / (double)n : 0;
}

/* Element i of what a way gave. The tolerance is a multiple of the spread there, or on average. */
static bool agrees(const value *v, int c, int64_t i, double got, double mean) {
    double want = get(v->data[c][0], v->dtype, i), spread = 0;
    counts.elements++;
    if (!v->exact) {
        spread = spread_of(v, c, i);
        if (!(spread < (double)INFINITY) || (!isfinite(want) && v->dtype == IND_F16)) return true;
        spread = SPREAD * (fmax(spread, mean) + noise_of(v->dtype) * fabs(want)) + 1e-37;
        if (ind_dtype_bytes(v->dtype) == 1) spread += 0.25 * fabs(want);
    }
    counts.compared++;
    return want == got || (want != want && got != got) || fabs(want - got) <= spread;
}

static int compare(const value *v, int c, const void *got, const char *what, char why[WHY]) {
    double mean = v->exact ? 0 : mean_spread(v, c);
    for (int64_t i = 0; i < v->count[c]; i++) {
        double g = get(got, v->dtype, i);
        if (agrees(v, c, i, g, mean)) continue;
        snprintf(why, WHY, "%s%s[%lld of %lld]: %.9g, unfused %.9g, spread %.3g, mean spread %.3g", what, v->name,
                 (long long)i, (long long)v->count[c], g, get(v->data[c][0], v->dtype, i),
                 v->exact ? 0 : spread_of(v, c, i), mean);
        return 1;
    }
    return 0;
}

/* Outputs, inputs that are mutated, and those that are not. */
static int compare_blocks(graph *g, ind_module *m, int c, const blocks *b, char why[WHY]) {
    int failed = 0;
    for (int i = 0; !failed && i < b->n; i++) {
        const ind_binding_info *info = ind_module_query_binding(m, i);
        bool output = info->kind == IND_BINDING_OUTPUT;
        const value *v = value_named(g, info->name + output);
        const int held = output ? -1 : held_after(g, v);
        if (output && b->count[i] != v->count[c]) {
            snprintf(why, WHY, "%s has %lld elements, unfused %lld", v->name, (long long)b->count[i],
                     (long long)v->count[c]);
            failed = 1;
        } else if (held >= 0) {
            failed = compare(&g->v[held], c, b->io[i].data, "mutated input holds ", why);
        } else if (output) {
            failed = compare(v, c, b->io[i].data, "", why);
        } else if (v->count[c] && !v->donated &&
                   memcmp(v->data[c][0], b->io[i].data, (size_t)v->count[c] * (size_t)ind_dtype_bytes(v->dtype))) {
            snprintf(why, WHY, "%s: an input is changed that is not mutated", v->name);
            failed = 1;
        }
    }
    return failed;
}

/* Two configs that only differ in where values are stored compute the same bits. */
static int compare_bits(graph *g, ind_module *m, int c, const blocks *a, const blocks *b, char why[WHY]) {
    counts.same_bits++;
    for (int i = 0; i < b->n; i++) {
        const ind_binding_info *info = ind_module_query_binding(m, i);
        const value *v = value_named(g, info->name + (info->kind == IND_BINDING_OUTPUT));
        for (int64_t k = 0; !info->donated && k < v->count[c]; k++) {
            double x = get(a->io[i].data, info->dtype, k), y = get(b->io[i].data, info->dtype, k);
            if (x == y || (x != x && y != y)) continue;
            return snprintf(why, WHY, "%s[%lld]: %.17g, %.17g without the switch: not the same bits", v->name,
                            (long long)k, y, x);
        }
    }
    return 0;
}

/* At any sizes the live results may take no more than unfused. Nor may the arena; but where sizes cannot be compared,
   it may have gaps at sizes that are neither the hints nor the ends of the ranges: those are counted. */
static int check_memory(ind_module *m, const char *sizes, char why[WHY]) {
    int64_t peak, arena, most;
    const ind_schedule *s = m->desc.schedule;
    if (ind_formula_eval(m, s->peak_bytes, sizes, &peak) || ind_formula_eval(m, s->arena_bytes, sizes, &arena) ||
        ind_formula_eval(m, s->op_by_op_bytes, sizes, &most))
        return snprintf(why, WHY, "%s", ind_error(m->context)), 1;
    counts.plans++;
    counts.larger += arena > most;
    if (peak <= most) return 0;
    return snprintf(why, WHY, "peak memory %lld bytes, unfused %lld (%s)", (long long)peak, (long long)most, sizes);
}

/* One case in one way; the blocks are the caller's to free. */
static int run_case(graph *g, ind_module *m, const way *w, int c, blocks *b, char why[WHY]) {
    ind_status status = IND_OK;
    run_sizes(b->sizes, sizeof b->sizes, g, c, false);
    if (check_memory(m, b->sizes, why)) return 1;
    if (g->plans) return 0;
    if (!make_blocks(g, m, c, 0, true, b)) status = IND_ERROR_OUT_OF_RANGE;
    if (!status) status = w->order ? run_copied(m, b) : run_poisoned(m, b);
    if (status) return snprintf(why, WHY, "%s (%s)", ind_error(g->ctx), b->sizes), 1;
    return compare_blocks(g, m, c, b, why);
}

static int check_run(graph *g, ind_graph *parsed, const way *w, char why[WHY]) {
    ind_module *m;
    int failed = 0;
    if (ind_compile(parsed, &w->desc, &m)) return snprintf(why, WHY, "%s", ind_error(g->ctx)), 1;
    if (w->order) setenv("IND_EMULATION_ORDER", w->order, 1);
    for (int c = 0; !failed && c < g->num_cases; c++) {
        blocks *b = calloc(1, sizeof *b);
        failed = run_case(g, m, w, c, b, why);
        free_blocks(b);
        free(b);
    }
    ind_module_destroy(m);
    return failed;
}

/* Reductions in two stages join their terms in another order, and what is stored in 16 bits or fewer is rounded. */
static bool keeps_bits(const graph *g, int s) {
    if (strstr(switches[s].name, "split")) return false;
    for (int i = 0; i < g->num_values; i++) {
        ind_dtype d = g->v[i].dtype;
        if (ind_dtype_is_float(d) && ind_dtype_bytes(d) <= 2) return false;
    }
    return true;
}

/* With one switch of the policy changed and without. */
static int check_switch(graph *g, ind_graph *parsed, const way *w, int s, char why[WHY]) {
    way on = *w;
    ind_module *m[2] = {NULL, NULL};
    set_switch(&on.desc, s, g->choice);
    switched[s]++;
    int failed = ind_compile(parsed, &w->desc, &m[0]) || ind_compile(parsed, &on.desc, &m[1]);
    if (failed) snprintf(why, WHY, "%s", ind_error(g->ctx));
    for (int c = 0; !failed && c < g->num_cases; c++) {
        blocks *b = calloc(2, sizeof *b);
        for (int k = 0; k < 2 && !failed; k++) failed = run_case(g, m[k], w, c, &b[k], why);
        if (!failed && !g->plans && !w->order && keeps_bits(g, s)) failed = compare_bits(g, m[0], c, &b[0], &b[1], why);
        for (int k = 0; k < 2; k++) free_blocks(&b[k]);
        free(b);
    }
    for (int k = 0; k < 2; k++) ind_module_destroy(m[k]);
    if (failed) snprintf(why + strlen(why), WHY - strlen(why), " (%s)", switches[s].name);
    return failed;
}

static int check_text(graph *g, ind_graph *parsed, char why[WHY]) {
    const char *first = ind_graph_text(parsed);
    for (int i = 0; i < g->num_statements; i++) { /* these are C functions */
        const ind_graph_op op = g->s[i].op;
        if (!g->s[i].gone && (op == IND_OP_CUSTOM || op == IND_OP_ASSOCIATIVE_SCAN)) return 0;
    }
    ind_graph *again = first ? ind_graph_parse(g->ctx, first, NULL) : NULL;
    const char *second = again ? ind_graph_text(again) : NULL;
    int failed = !second || strcmp(first, second);
    if (failed) snprintf(why, WHY, "printed and parsed: %s", second ? "the text changes" : ind_error(g->ctx));
    ind_graph_destroy(again);
    return failed;
}

/* Runs these configs; the one that fails in *at. */
static int check(graph *g, unsigned mask, int *at, char why[WHY]) {
    char text[TEXT];
    graph_text(g, text, sizeof text);
    ind_graph *parsed = own_parse(g->ctx, text);
    for (*at = 0; !(mask >> *at & 1);) ++*at;
    if (!parsed) return snprintf(why, WHY, "parse: %s", ind_error(g->ctx)), 1;
    int failed = check_text(g, parsed, why);
    for (int k = *at; !failed && k < NUM_CONFIGS; k++) {
        if (!(mask >> k & 1)) continue;
        if (k == SWITCHED || k == SWITCHED_CUDA)
            failed = check_switch(g, parsed, &configs[k], g->switched, why);
        else
            failed = check_run(g, parsed, &configs[k], why);
        *at = k;
    }
    ind_graph_destroy(parsed);
    return failed;
}

/* ---- shrinking */

static bool still_fails(graph *g, unsigned mask, char why[WHY]) {
    char other[WHY];
    int at;
    if (!check(g, mask, &at, other)) return false;
    if (!strncmp(other, "parse: ", 7)) return false;
    memcpy(why, other, sizeof other);
    return true;
}

static bool drop_unused(graph *g) {
    bool used[MOST_VALUES], any = false;
    find_used(g, used);
    for (int i = 0; i < g->num_statements; i++) {
        bool needed = g->s[i].gone;
        for (int k = 0; k < g->s[i].num_results; k++) needed = needed || used[g->s[i].result + k];
        if (g->s[i].in_place) needed = needed || is_input(g, &g->v[g->v[g->s[i].operand[0]].root]);
        if (needed) continue;
        g->s[i].gone = true;
        any = true;
    }
    return any;
}

/* What shows memory that is written to in place keeps showing it. */
static bool may_go(const graph *g, int at) {
    bool may = !g->s[at].gone;
    for (int i = at + 1; i < g->num_statements && may; i++) {
        const statement *s = &g->s[i];
        may = !s->in_place || s->gone || !makes_root(g, &g->s[at], g->v[s->operand[0]].root);
    }
    return may;
}

static void shrink(graph *g, unsigned mask, char why[WHY]) {
    bool smaller = true;
    for (int k = 0; k < g->num_values; k++) {
        int was = g->v[k].mutated_to;
        g->v[k].mutated_to = -1;
        if (was >= 0 && !still_fails(g, mask, why)) g->v[k].mutated_to = was;
    }
    for (int k = g->num_outputs - 1; k >= 0 && g->num_outputs > 1; k--) {
        int was = g->output[k];
        g->output[k] = g->output[--g->num_outputs];
        if (still_fails(g, mask, why)) continue;
        g->output[g->num_outputs++] = g->output[k];
        g->output[k] = was;
    }
    while (smaller) {
        smaller = false;
        for (int i = g->num_statements - 1; i >= 0; i--) {
            if (!may_go(g, i)) continue;
            g->s[i].gone = true;
            if (still_fails(g, mask, why))
                smaller = true;
            else
                g->s[i].gone = false;
        }
        if (drop_unused(g)) {
            smaller = true;
            if (!still_fails(g, mask, why)) return;
        }
    }
}

/* ---- the whole */

typedef struct options {
    uint64_t seed;
    long graphs;
    double seconds;
    int most_ops;
    unsigned configs;
    const char *op;
    bool keep;  /* go on after a disagreement */
    bool all;   /* an op or a switch that is never drawn fails */
    bool plans; /* nothing runs; plans with more alive than unfused fail */
} options;

static graph *make_graph(const options *o, uint64_t seed, ind_graph_op wanted) {
    graph *g = calloc(1, sizeof *g);
    if (!g) return NULL;
    random_state = seed * 0x9e3779b97f4a7c15u + 11;
    if (ind_context_create(&(ind_context_desc){.verify = 1, .num_threads = o->configs == ON_GPU ? 0 : 1}, &g->ctx))
        return free(g), NULL;
    if (!own_register(g->ctx)) return free_graph(g), NULL;
    g->plans = o->plans;
    g->switched = (int)(seed % NUM_SWITCHES);
    g->choice = rnd(100);
    g->main = any_dtype[rnd(6)];
    g->next_name = 1;
    draw_symbols(g);
    ind_graph *empty = ind_graph_create(g->ctx, "schemas");
    int most = 1 + (int)rnd((uint32_t)o->most_ops), before = (int)rnd((uint32_t)most), failed = 0;
    for (int i = 0; i < 3 * most && failed >= 0 && g->num_statements < most; i++) {
        ind_graph_op op = i == before ? wanted : (ind_graph_op)rnd(IND_NUM_OPS);
        if (!is_refused(op)) failed = grow(g, empty->schema, op, i == before ? 1000 * OFTEN : OFTEN);
        if (failed > 0 && listed(products, ind__op_name(op)) && chance(50))
            failed = grow(g, empty->schema, chance(70) ? IND_OP_INDEX_ADD : IND_OP_INDEX_COPY, OFTEN);
    }
    if (failed < 0) counts.disagreements++;
    if (failed >= 0 && g->num_statements) return draw_outputs(g), draw_mutations(g), draw_donations(g), g;
    free_graph(g);
    return NULL;
}

static void one_graph(const options *o, uint64_t seed, ind_graph_op wanted) {
    char why[WHY], text[TEXT];
    int at;
    graph *g = make_graph(o, seed, wanted);
    if (!g) return;
    draw_policy(&configs[ANY_POLICY].desc);
    counts.graphs++;
    if (check(g, o->configs, &at, why)) {
        counts.disagreements++;
        shrink(g, 1u << at, why);
        graph_text(g, text, sizeof text);
        printf("seed %llu: ", (unsigned long long)seed);
        fail(g, configs[at].name, text, why);
    }
    free_graph(g);
}

static double now(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static unsigned device_runs(const char *name) {
    return !strcmp(name, "cuda") ? ON_GPU : !strcmp(name, "emulated") ? EMULATED : ON_HOST;
}

static bool read_options(int argc, char **argv, options *o) {
    *o = (options){.seed = 1, .graphs = 1000000000, .seconds = 1e9, .most_ops = 12, .configs = ON_HOST};
    for (int i = 1; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--keep"))
            o->keep = true;
        else if (!strcmp(argv[i], "--all"))
            o->all = true;
        else if (!strcmp(argv[i], "--plans"))
            o->plans = true, o->configs = PLANS;
        else if (!*next)
            return false;
        else if (!strcmp(argv[i], "--seed"))
            o->seed = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--graphs"))
            o->graphs = strtol(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--seconds"))
            o->seconds = strtod(argv[++i], NULL);
        else if (!strcmp(argv[i], "--ops"))
            o->most_ops = (int)strtol(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--device"))
            o->configs = device_runs(argv[++i]);
        else if (!strcmp(argv[i], "--op"))
            o->op = argv[++i];
        else
            return false;
    }
    return o->most_ops > 0 && o->most_ops <= MOST_OPS;
}

static int report(const options *o) {
    int num_drawn = 0, num_ops = 0, num_switched = 0;
    for (int op = 0; op < IND_NUM_OPS; op++) {
        if (is_refused((ind_graph_op)op)) continue;
        num_ops++;
        num_drawn += counts.drawn[op] > 0;
        if (!counts.drawn[op] && o->all) printf("never drawn: %s\n", ind__op_name((ind_graph_op)op));
    }
    for (int s = 0; s < NUM_SWITCHES; s++) num_switched += switched[s] > 0;
    printf(
        "%ld statements in place, %ld of a user's ops, %ld sizes from data, %ld conditions on sizes, %d of %d switches "
        "on and off, %ld times with the same bits\n",
        counts.in_place, counts.own, counts.sizes, counts.conditions, num_switched, NUM_SWITCHES, counts.same_bits);
    printf("%ld graphs, %ld statements of %ld tried, %d of %d ops drawn, %ld runs, %.1f %% of %ld elements compared, "
           "%ld of %ld arenas larger than unfused, %ld disagreements\n",
           counts.graphs, counts.statements, counts.trials, num_drawn, num_ops, counts.runs,
           100.0 * (double)counts.compared / (double)(counts.elements + !counts.elements), counts.elements,
           counts.larger, counts.plans, counts.disagreements);
    if (counts.disagreements) return 1;
    return o->all && (num_drawn < num_ops || num_switched < NUM_SWITCHES) ? 2 : 0;
}

int main(int argc, char **argv) {
    options o;
    double start = now();
    if (!read_options(argc, argv, &o)) return puts("usage: see the head of fuzz_ops.c"), 3;
    for (long i = 0; i < o.graphs && now() - start < o.seconds && (o.keep || !counts.disagreements); i++) {
        ind_graph_op wanted = (ind_graph_op)((o.seed + (uint64_t)i) % IND_NUM_OPS);
        for (int op = 0; o.op && op < IND_NUM_OPS; op++) {
            if (!strcmp(ind__op_name((ind_graph_op)op), o.op)) wanted = (ind_graph_op)op;
        }
        one_graph(&o, o.seed + (uint64_t)i, wanted);
    }
    return report(&o);
}
