/* vision.c: what is in a picture. EfficientNet-Lite0 with its real weights, trained on the 1,000 classes of ImageNet,
 * built through the C API: pictures of any size are resized in the graph, which is compiled once.
 *
 *     make vision                            builds this, fetches weights, labels and pictures, and classifies them
 *     make vision PICTURES="a.jpg b.png"     your own pictures, converted by Pillow
 *     build/vision --model DIR picture.ppm   a binary PPM file
 *     build/vision --json --dtype bf16 --device cuda ...
 *     build/vision --emit schedule           what the model becomes: graph, loops, schedule, kernels, plan, cuda, ptx,
 * cubin
 *
 * DIR holds model.safetensors and labels.txt, a line for each class.
 */
#define INDUCTOR_IMPLEMENTATION
#include "inductor.h"
#include "weights.h"
#include <math.h>
#include <time.h>

enum { SIDE = 224, CLASSES = 1000, TOP = 5 };
#define SHOWN (224.0 / 256) /* of the shorter side of a picture: what the model was trained to see */

typedef struct options {
    ind_device device;
    ind_dtype dtype;
    const char *model;
    bool json, emit;
    ind_stage stage;
    char **pictures;
    int num_pictures;
} options;

typedef struct program {
    safetensors weights;
    char *labels, *label[CLASSES];
    ind_context *context;
    ind_module *module;
    double build_ms, compile_ms;
} program;

/* Rows of R, G, B from the top. */
typedef struct picture {
    int64_t height, width;
    unsigned char *pixels;
} picture;

static int fail(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("vision: ", stderr);
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
    return (double)clock() * 1e3 / CLOCKS_PER_SEC;
#endif
}

/* ---- the network */

/* Borders of zeros so that there are CeilDiv(size, stride) results; of an odd number the last line is one more. */
static ind_tensor same_padding(ind_tensor x, int64_t kernel, int stride) {
    ind_context *c = ind_graph_context(x.graph);
    ind_expr pad[4];
    for (int d = 0; d < 2; d++) {
        int64_t size = 0;
        ind_expr_is_int(ind_tensor_size(x, 3 - d), &size);
        const int64_t all = ((size + stride - 1) / stride - 1) * stride + kernel - size;
        pad[2 * d] = ind_int(c, all > 0 ? all / 2 : 0);
        pad[2 * d + 1] = ind_int(c, all > 0 ? all - all / 2 : 0);
    }
    return ind_pad(x, pad, 4, IND_PAD_CONSTANT, 0);
}

/* A convolution and a batch norm with the statistics of the training. `norm`: the prefix of its weights. */
static ind_tensor convolution(weights_builder *b, ind_tensor x, const char *name, const char *norm, int stride,
                              bool depthwise) {
    const ind_tensor w = weights_constant(b, "%s.weight", name);
    if (*b->missing) return x;
    int64_t kernel = 1, channels = 1;
    ind_expr_is_int(ind_tensor_size(w, 3), &kernel);
    ind_expr_is_int(ind_tensor_size(w, 0), &channels);
    const ind_conv_desc conv = {.stride = {stride, stride}, .groups = depthwise ? (int)channels : 1};
    if (kernel > 1) x = same_padding(x, kernel, stride);
    x = ind_convolution(x, w, IND_NO_TENSOR, &conv);
    const ind_tensor weight = weights_constant(b, "%s.weight", norm), bias = weights_constant(b, "%s.bias", norm);
    return ind_batch_norm(x, weight, bias, weights_constant(b, "%s.running_mean", norm),
                          weights_constant(b, "%s.running_var", norm), 1e-3);
}

/* Expands the channels, mixes neighbours in each of them, and reduces the channels again. */
static ind_tensor block(weights_builder *b, ind_tensor x, int number, int stride, bool expand, bool residual) {
    char name[64], norm[64];
    ind_tensor y = x;
    if (expand) {
        snprintf(name, sizeof name, "_blocks.%d._expand_conv", number);
        snprintf(norm, sizeof norm, "_blocks.%d._bn0", number);
        y = ind_relu6(convolution(b, y, name, norm, 1, false));
    }
    snprintf(name, sizeof name, "_blocks.%d._depthwise_conv", number);
    snprintf(norm, sizeof norm, "_blocks.%d._bn1", number);
    y = ind_relu6(convolution(b, y, name, norm, stride, true));
    snprintf(name, sizeof name, "_blocks.%d._project_conv", number);
    snprintf(norm, sizeof norm, "_blocks.%d._bn2", number);
    y = convolution(b, y, name, norm, 1, false);
    return residual ? ind_add(y, x) : y;
}

/* [H, W, 3] bytes to [1, 3, SIDE, SIDE] in about [-1, 1]: two products, with a row of factors for each line and column.
 */
static ind_tensor resized(weights_builder *b) {
    static const int first[] = {2, 0, 1};
    ind_graph *g = b->graph;
    ind_size(g, "H in [16, 16384] hint 480");
    ind_size(g, "W in [16, 16384] hint 640");
    ind_tensor image = ind_input(g, "image", "u8[H, W, 3]");
    ind_tensor lines = ind_input(g, "lines", "f32[224, H]"), columns = ind_input(g, "columns", "f32[224, W]");
    ind_tensor x = ind_permute(ind_cast(image, IND_F32), first, 3);
    x = ind_matmul(ind_matmul(lines, x), ind_transpose(columns, 0, 1));
    x = ind_mul(ind_sub(x, ind_scalar(g, 127)), ind_scalar(g, 1.0 / 128));
    return ind_cast(ind_unsqueeze(x, 0), b->dtype);
}

static void build_graph(weights_builder *b) {
    static const struct { int blocks, stride; } stages[] = {{1, 1}, {2, 2}, {2, 2}, {3, 2}, {3, 1}, {4, 2}, {1, 1}};
    static const int area[] = {2, 3};
    int number = 0;
    ind_tensor x = ind_relu6(convolution(b, resized(b), "_conv_stem", "_bn0", 2, false));
    for (size_t s = 0; s < sizeof stages / sizeof *stages; s++)
        for (int i = 0; i < stages[s].blocks; i++, number++)
            x = block(b, x, number, i ? 1 : stages[s].stride, number > 0, i > 0);
    x = ind_relu6(convolution(b, x, "_conv_head", "_bn1", 1, false));
    x = ind_mean(x, area, 2, false, IND_DTYPE_NONE);
    x = ind_linear(x, weights_constant(b, "_fc.weight"), weights_constant(b, "_fc.bias"));
    ind_output(b->graph, "probabilities", ind_softmax(ind_cast(x, IND_F32), 1));
}

static int compile(program *p, const options *o) {
    const double start = now_ms();
    weights_builder b = {.graph = ind_graph_create(p->context, "vision"), .file = &p->weights, .dtype = o->dtype};
    if (!b.graph) return fail("%s", ind_error(p->context));
    build_graph(&b);
    if (*b.missing) return fail("the model lacks the tensor %s", b.missing);
    const double built = now_ms();
    const ind_compile_desc desc = {.emit_only = o->emit};
    if (ind_compile(b.graph, &desc, &p->module)) return fail("%s", ind_error(p->context));
    ind_graph_destroy(b.graph);
    p->build_ms = built - start;
    p->compile_ms = now_ms() - built;
    return 0;
}

/* ---- files */

static char *read_file(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    char *bytes = NULL;
    if (f && !fseek(f, 0, SEEK_END)) {
        const long end = ftell(f);
        bytes = end >= 0 ? malloc((size_t)end + 1) : NULL;
        rewind(f);
        *size = bytes ? fread(bytes, 1, (size_t)end, f) : 0;
        if (bytes) bytes[*size] = 0;
    }
    if (f) fclose(f);
    return bytes;
}

static int read_labels(program *p, const char *path) {
    size_t size;
    int num = 0;
    p->labels = read_file(path, &size);
    if (!p->labels) return fail("%s cannot be read", path);
    for (char *at = p->labels; *at && num < CLASSES; num++) {
        p->label[num] = at;
        at += strcspn(at, "\n");
        if (*at) *at++ = 0;
    }
    return num == CLASSES ? 0 : fail("%s has %d lines; %d are needed", path, num, CLASSES);
}

/* The next number of a PPM header, after spaces and comments; -1: there is none. */
static int64_t ppm_number(const char **at) {
    while (**at == '#' || (**at && strchr(" \t\r\n", **at))) *at += **at == '#' ? strcspn(*at, "\n") : 1;
    if (**at < '0' || **at > '9') return -1;
    int64_t n = 0;
    for (; **at >= '0' && **at <= '9' && n < 1000000; (*at)++) n = n * 10 + (**at - '0');
    return n;
}

static int read_picture(const char *path, picture *x) {
    size_t size = 0;
    char *bytes = read_file(path, &size);
    const char *at = bytes ? bytes + 2 : NULL;
    *x = (picture){0};
    if (!bytes) return fail("%s cannot be read", path);
    if (size < 3 || memcmp(bytes, "P6", 2)) return free(bytes), fail("%s is no binary PPM file (P6)", path);
    x->width = ppm_number(&at), x->height = ppm_number(&at);
    const int64_t most = ppm_number(&at);
    if (x->width < 16 || x->height < 16 || x->width > 16384 || x->height > 16384 || most != 255)
        return free(bytes), fail("%s has no 16 to 16384 pixels each way, of 8 bits", path);
    const size_t start = (size_t)(at - bytes) + 1, wanted = (size_t)(x->width * x->height * 3);
    if (start > size || size - start < wanted)
        return free(bytes), fail("%s is cut short: %zu of %zu bytes", path, start > size ? 0 : size - start, wanted);
    x->pixels = malloc(wanted);
    if (x->pixels) memcpy(x->pixels, bytes + start, wanted);
    free(bytes);
    return x->pixels ? 0 : fail("no memory for %s", path);
}

static int open_program(program *p, const options *o) {
    char path[1024], why[1200];
    snprintf(path, sizeof path, "%s/model.safetensors", o->model);
    if (safetensors_open(path, &p->weights, why, sizeof why)) return fail("%s", why);
    snprintf(path, sizeof path, "%s/labels.txt", o->model);
    if (read_labels(p, path)) return 1;
    if (ind_context_create(&(ind_context_desc){.device = o->device}, &p->context))
        return fail("no memory for a context");
    if (compile(p, o)) return 1;
    if (o->emit) return 0;
    return weights_upload(p->context, p->module, &p->weights, o->dtype, why, sizeof why) ? fail("%s", why) : 0;
}

/* ---- pictures */

/* The bicubic filter, a = -0.5. */
static double bicubic(double x) {
    x = fabs(x);
    return x < 1 ? (1.5 * x - 2.5) * x * x + 1 : x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0;
}

/* Factors [SIDE, size] that resize the `shown` middle elements of a line to SIDE. A shorter line widens the filter, so
 * that every element counts. */
static void resize_factors(float *factor, int64_t size, double shown) {
    const double scale = shown / SIDE, wide = scale > 1 ? scale : 1, first = ((double)size - shown) / 2;
    for (int y = 0; y < SIDE; y++, factor += size) {
        const double center = first + (y + 0.5) * scale;
        double sum = 0;
        for (int64_t i = 0; i < size; i++) {
            const double f = bicubic(((double)i + 0.5 - center) / wide);
            factor[i] = (float)f, sum += f;
        }
        for (int64_t i = 0; i < size; i++) factor[i] = (float)(factor[i] / sum);
    }
}

static int classify(program *p, const picture *x, float *probabilities, double *ms) {
    const size_t lines = (size_t)(SIDE * x->height), columns = (size_t)(SIDE * x->width);
    float *factors = malloc((lines + columns) * sizeof *factors);
    if (!factors) return fail("no memory for a picture");
    const double shown = SHOWN * (double)(x->height < x->width ? x->height : x->width);
    resize_factors(factors, x->height, shown);
    resize_factors(factors + lines, x->width, shown);
    const ind_binding io[] = {{"image", x->pixels, (size_t)(x->height * x->width * 3)},
                              {"lines", factors, lines * sizeof *factors},
                              {"columns", factors + lines, columns * sizeof *factors},
                              {"probabilities", probabilities, CLASSES * sizeof *probabilities}};
    const int64_t sizes[] = {x->height, x->width};
    const ind_run_desc run = {.bindings = io, .num_bindings = 4, .sizes_v = sizes, .memory = IND_MEMORY_HOST};
    const double start = now_ms();
    const ind_status status = ind_run(p->module, &run);
    *ms = now_ms() - start;
    free(factors);
    return status ? fail("%s", ind_error(p->context)) : 0;
}

/* Finds the TOP largest. */
static void find_top(const float *probabilities, int top[TOP]) {
    for (int k = 0; k < TOP; k++) {
        top[k] = -1;
        for (int i = 0; i < CLASSES; i++) {
            bool taken = false;
            for (int j = 0; j < k; j++) taken = taken || top[j] == i;
            if (!taken && (top[k] < 0 || probabilities[i] > probabilities[top[k]])) top[k] = i;
        }
    }
}

static void print_json(const program *p, const char *path, const float *probabilities, const int top[TOP], bool first) {
    printf("%s{\"picture\": \"%s\", \"top\": [", first ? "[" : ",\n ", path);
    for (int k = 0; k < TOP; k++)
        printf("%s[%d, \"%s\", %.6f]", k ? ", " : "", top[k], p->label[top[k]], (double)probabilities[top[k]]);
    printf("],\n  \"probabilities\": [");
    for (int i = 0; i < CLASSES; i++) printf("%s%.9g", i ? ", " : "", (double)probabilities[i]);
    printf("]}");
}

static void print_top(const program *p, const char *path, const picture *x, const float *probabilities,
                      const int top[TOP], double ms) {
    printf("\n%s, %lld x %lld, %.1f ms\n", path, (long long)x->width, (long long)x->height, ms);
    for (int k = 0; k < TOP; k++) {
        const double part = (double)probabilities[top[k]];
        printf("  %5.1f %%  %-24s  %.*s\n", 100 * part, p->label[top[k]], (int)(40 * part + 0.5),
               "########################################");
    }
}

static int classify_all(program *p, const options *o) {
    float probabilities[CLASSES];
    const ind_module_stats s = ind_module_query_stats(p->module);
    if (!o->json)
        printf("device   %s\nkernels  %d compiled, %d launched per picture\nms       build graph %.1f, compile %.1f\n",
               ind_device_text(p->context), s.num_distinct, s.num_kernels, p->build_ms, p->compile_ms);
    for (int i = 0; i < o->num_pictures; i++) {
        picture x;
        int top[TOP];
        double ms = 0;
        if (read_picture(o->pictures[i], &x)) return 1;
        const int failed = classify(p, &x, probabilities, &ms);
        free(x.pixels);
        if (failed) return 1;
        find_top(probabilities, top);
        if (o->json)
            print_json(p, o->pictures[i], probabilities, top, i == 0);
        else
            print_top(p, o->pictures[i], &x, probabilities, top, ms);
    }
    if (o->json) puts(o->num_pictures ? "]" : "[]");
    return 0;
}

/* ---- options */

static const char usage[] =
    "usage: vision [--json] [--dtype f32|bf16] [--device host|cuda|auto] [--model DIR] [--emit STAGE] PICTURE.ppm...\n";

static int bad_value(const char *option, const char *value, const char *allowed) {
    return fail("%s %s; allowed is %s", option, value ? value : "needs a value", allowed);
}

static int parse_option(const char *name, const char *value, options *o) {
    if (!strcmp(name, "--model")) return o->model = value, value ? 0 : bad_value(name, NULL, "a folder");
    if (!strcmp(name, "--dtype")) {
        o->dtype = value ? ind_dtype_parse(value, strlen(value)) : IND_DTYPE_NONE;
        return o->dtype == IND_F32 || o->dtype == IND_BF16 ? 0 : bad_value(name, value, "f32 or bf16");
    }
    if (!strcmp(name, "--device")) {
#define X(name, text)                                                                                                  \
    if (value && !strcmp(value, text)) return o->device = IND_DEVICE_##name, 0;
        IND_DEVICES(X)
#undef X
        return bad_value(name, value, "host, cuda or auto");
    }
    if (strcmp(name, "--emit"))
        return fail("unknown option %s; allowed are --json, --dtype, --device, --model, --emit, --help", name);
    o->emit = true;
#define X(name, text)                                                                                                  \
    if (value && !strcmp(value, text)) return o->stage = IND_STAGE_##name, 0;
    IND_STAGES(X)
#undef X
    return bad_value(name, value, "graph, loops, schedule, kernels, plan, cuda, ptx or cubin");
}

/* Options come first. -1: nothing is left to do. */
static int parse_options(int argc, char **argv, options *o) {
    int i = 1;
    for (; i < argc && !strncmp(argv[i], "--", 2); i++) {
        if (!strcmp(argv[i], "--help")) return fputs(usage, stdout), -1;
        if (!strcmp(argv[i], "--json")) {
            o->json = true;
            continue;
        }
        const char *name = argv[i++];
        if (parse_option(name, i < argc ? argv[i] : NULL, o)) return 1;
    }
    o->pictures = argv + i;
    o->num_pictures = argc > i ? argc - i : 0;
    return 0;
}

int main(int argc, char **argv) {
    options o = {.dtype = IND_F32, .model = "build/vision_model"};
    program p = {0};
    const int stop = parse_options(argc, argv, &o);
    if (stop) return stop > 0 ? 2 : 0;
    int failed = open_program(&p, &o);
    if (!failed && o.emit) {
        const char *text = ind_module_text(p.module, o.stage);
        failed = text ? puts(text) < 0 : fail("%s", ind_error(p.context));
    } else if (!failed) {
        failed = classify_all(&p, &o);
    }
    ind_context_destroy(p.context);
    safetensors_close(&p.weights);
    free(p.labels);
    return failed;
}
