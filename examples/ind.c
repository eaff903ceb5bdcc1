/* ind: runs, prints and times graphs in the text form (inductor.h, >>text). A thin user of the public API.
 *
 *     ind run   FILE.ind [--size B=4]... [--input x=x.npy]... [--weights FILE.safetensors] [--random SEED]
 *                        [--device host|cuda|auto] [--output DIR]
 *     ind emit  FILE.ind --stage graph|passes|loops|schedule|kernels|plan|cuda|ptx|cubin [--arch sm_90a]
 *                        [--device L4] [--json] [--output DIR]
 *     ind emit  FILE.ind --html [--size B=4]... [--arch sm_90a] [--sass DIR]
 *                        one page about it all: redirect to a file, open it. ind_page.h
 *     ind profile FILE.ind [--size B=4]... [--device ..] [--repeat N] [--json] [--html [--sass DIR]]
 *                        times every launch: ind_profile.h
 *     ind bisect FILE.ind [as run] [--tolerance T]
 *                        finds the first change of a pass, or the first fusion, that gives other results than none
 *     ind pack  FILE.ind... --arch sm_80,H200,... --output FILE.pack
 *     ind pack  FILE.pack... --list|--verify|--merge
 *                        compiles all kernels of the graphs without a GPU, or shows and joins packs: ind_pack.h
 *     ind ops   [--json] the ops of the text form, and how each fuses
 *     ind size  EXPR... [--var "s0 in [LO, HI]"]... [--at s0=5]...    a calculator for sizes: ind_size.h
 *
 * run, emit, profile and pack take --deterministic: scatters that give the same bits on every run; --batch-invariant:
 * rows whose bits do not depend on their number; --allow-tf32: products of f32 on tensor cores; --tcgen05: products on
 * tcgen05.mma, not run on hardware; --persistent: one launch for consecutive small ones (all of ind_compile_desc);
 * --cublaslt: matrix products run by cuBLASLt, on the GPU;
 * --disable NAME, a graph pass or a pattern to be left out; --enable NAME, a pattern that is off by default; and
 * --channels-last and --channels-first, strides of images in memory (ind_realise_policy); --figure NAME=VALUE replaces
 * a figure of the target's cost model (ind_thresholds). Sizes not given are read off the shapes of the --input arrays,
 * else they are at their hints. Inputs and constants not given are random, the same for the same seed and name: floats
 * uniform in [-1, 1), bool 0 or 1, integers in [0, n), where n is 8 or, if smaller, the smallest dimension above 1 of
 * any floating-point input or constant; so they are valid indices into every such table. With --weights every constant
 * is the tensor of that name in the file, of the same type and shape, unless an --input gives it, and so is every input
 * that the file has (a state at the start). Results are written as NAME.npy; bf16 travels as uint16, 8-bit floats as
 * uint8. Exit status 0, or 1 with one line on stderr.
 */
#define INDUCTOR_IMPLEMENTATION
#include "inductor.h"

#include "ind_size.h"
#include "npy.h"
#include "safetensors.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _WIN32
#include <direct.h>
#else
#include <sys/stat.h>
#endif

#define MAX_GIVEN 256  /* --size and --input options */
#define MAX_NAMES 1024 /* bytes of names of patterns */

typedef struct options {
    const char *command, *file, *stage, *arch, *output, *weights, *sass;
    const char *input[MAX_GIVEN]; /* NAME=FILE */
    int num_inputs;
    const char *size[MAX_GIVEN], *figure[MAX_GIVEN]; /* NAME=VALUE */
    int num_sizes, num_figures;
    uint64_t seed;
    int repeat;
    ind_device device;
    uint32_t disabled; /* ind_compile_desc.disabled_passes */
    char enabled_patterns[MAX_NAMES], disabled_patterns[MAX_NAMES];
    uint32_t max_changes, max_fusions; /* limits of a bisection; 0: none */
    double tolerance;                  /* of a bisection; negative: by element type */
    bool json, html, deterministic, batch_invariant, allow_tf32, tcgen05, cublaslt, unfused, quiet, channels_last,
        channels_first, persistent;
} options;

/* One line: of a longer message, as NVRTC's with the source around an error, the first. */
static int fail(const char *format, ...) {
    char message[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    fprintf(stderr, "ind: %.*s\n", (int)strcspn(message, "\n"), message);
    return 1;
}

/* ---- command line */

static const char *const device_names[] = {
#define X(name, text) text,
    IND_DEVICES(X)
#undef X
};

static const char *const stage_names[] = {
#define X(name, text) text,
    IND_STAGES(X)
#undef X
};
static const char *const pass_names[] = {
#define X(name, text) text,
    IND_PASSES(X)
#undef X
};

static int find_word(const char *const *words, int count, const char *word) {
    for (int i = 0; i < count; i++) {
        if (!strcmp(words[i], word)) return i;
    }
    return -1;
}

static int usage(void) {
    return fail(
        "usage: ind run|emit|profile|bisect FILE.ind [--size B=4]... [--input x=x.npy]... [--weights FILE.safetensors] "
        "[--random SEED] [--device host|cuda|auto] [--output DIR] [--stage "
        "graph|passes|loops|schedule|kernels|plan|cuda|ptx|cubin] [--html] [--sass DIR] [--disable NAME]... [--enable "
        "NAME]... "
        "[--arch sm_90a] [--figure NAME=VALUE]... [--repeat N] [--tolerance T] [--json] [--deterministic] "
        "[--batch-invariant] [--allow-tf32] [--tcgen05] "
        "[--cublaslt] [--channels-last] [--channels-first] [--persistent]; or ind pack FILE.ind... --arch "
        "sm_80,H200,... --output "
        "FILE.pack; or ind export FILE.ind --arch sm_80,H200,... --output PREFIX [--weights FILE.safetensors]; or ind "
        "pack "
        "FILE.pack... --list|--verify|--merge; or ind ops [--json]; or ind size EXPR... (ind size --help)");
}

static int number_option(const char *option, const char *value, uint64_t most, uint64_t *out) {
    char *end;
    errno = 0;
    *out = strtoull(value, &end, 10);
    if (*end || end == value || *value == '-' || errno || *out > most) {
        return fail("%s %s: a whole number up to %llu is needed", option, value, (unsigned long long)most);
    }
    return 0;
}

static int pair_option(const char *option, const char *value, const char **list, int *count) {
    if (!strchr(value, '=') || *value == '=') return fail("%s %s: NAME=VALUE is needed", option, value);
    size_t name = strcspn(value, "=") + 1;
    for (int i = 0; i < *count; i++) {
        if (!strncmp(list[i], value, name)) return fail("%s %s: was given before, as %s", option, value, list[i]);
    }
    if (*count == MAX_GIVEN) return fail("%s: given more than %d times", option, MAX_GIVEN);
    list[(*count)++] = value;
    return 0;
}

static int device_option(const char *value, options *o) {
    int device = find_word(device_names, sizeof device_names / sizeof *device_names, value);
    if (device < 0 && !strcmp(o->command, "emit")) return o->arch = value, 0; /* a device to emit code for */
    if (device < 0) return fail("--device %s: allowed are auto, host, cuda", value);
    o->device = (ind_device)device;
    return 0;
}

/* Appends a name to a list separated by spaces. */
static int list_name(const char *option, const char *name, char list[MAX_NAMES]) {
    const size_t used = strlen(list);
    const int more = snprintf(list + used, MAX_NAMES - used, " %s", name);
    return more < 0 || (size_t)more >= MAX_NAMES - used ? fail("%s: too many names", option) : 0;
}

/* A graph pass, or a pattern. */
static int disable_option(const char *value, options *o) {
    const int pass = find_word(pass_names, IND_NUM_PASSES, value);
    if (pass < 0) return list_name("--disable", value, o->disabled_patterns);
    o->disabled |= 1u << pass;
    return 0;
}

static int read_option(const char *option, const char *value, options *o) {
    uint64_t number;
    if (!strcmp(option, "--size")) return pair_option(option, value, o->size, &o->num_sizes);
    if (!strcmp(option, "--input")) return pair_option(option, value, o->input, &o->num_inputs);
    if (!strcmp(option, "--figure")) return pair_option(option, value, o->figure, &o->num_figures);
    if (!strcmp(option, "--random")) return number_option(option, value, UINT64_MAX, &o->seed);
    if (!strcmp(option, "--device")) return device_option(value, o);
    if (!strcmp(option, "--disable")) return disable_option(value, o);
    if (!strcmp(option, "--tolerance")) {
        char *end;
        o->tolerance = strtod(value, &end);
        return *end || end == value || !(o->tolerance >= 0) ? fail("--tolerance %s: a number is needed", value) : 0;
    }
    if (!strcmp(option, "--enable")) return list_name(option, value, o->enabled_patterns);
    if (!strcmp(option, "--repeat")) {
        if (number_option(option, value, 1000000, &number)) return 1;
        o->repeat = number ? (int)number : 1;
        return 0;
    }
    if (!strcmp(option, "--output")) return o->output = value, 0;
    if (!strcmp(option, "--stage")) return o->stage = value, 0;
    if (!strcmp(option, "--arch")) return o->arch = value, 0;
    if (!strcmp(option, "--weights")) return o->weights = value, 0;
    if (!strcmp(option, "--sass")) return o->sass = value, 0;
    return fail("unknown option %s; allowed: --size --input --weights --random --device --output --stage --arch "
                "--figure --disable --enable --tolerance --html --sass --repeat --json --deterministic "
                "--batch-invariant --allow-tf32 "
                "--tcgen05 --cublaslt --channels-last --channels-first --persistent",
                option);
}

/* An option without a value. */
static bool read_flag(const char *option, options *o) {
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {{"--json", &o->json},
                 {"--html", &o->html},
                 {"--deterministic", &o->deterministic},
                 {"--batch-invariant", &o->batch_invariant},
                 {"--allow-tf32", &o->allow_tf32},
                 {"--tcgen05", &o->tcgen05},
                 {"--cublaslt", &o->cublaslt},
                 {"--channels-last", &o->channels_last},
                 {"--channels-first", &o->channels_first},
                 {"--persistent", &o->persistent}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (!strcmp(option, flags[i].name)) return *flags[i].flag = true;
    return false;
}

/* What the options say of the compile. */
static ind_compile_desc desc_of(const options *o) {
    return (ind_compile_desc){
        .device = o->device,
        .deterministic = o->deterministic,
        .batch_invariant = o->batch_invariant,
        .allow_tf32 = o->allow_tf32,
        .tcgen05 = o->tcgen05,
        .disabled_passes = o->disabled,
        .enabled_patterns = o->enabled_patterns,
        .disabled_patterns = o->disabled_patterns,
        .max_changes = o->max_changes,
        .realise = {.channels_last = o->channels_last - o->channels_first},
        .fusion = {.disable = o->unfused, .persistent = o->persistent, .max_fusions = o->max_fusions},
        .cublaslt = o->cublaslt};
}

/* The folder for results, made if it is not there; its parent must be. */
static int make_directory(const char *path) {
#ifdef _WIN32
    int made = _mkdir(path);
#else
    int made = mkdir(path, 0777);
#endif
    return made && errno != EEXIST ? fail("%s: %s", path, strerror(errno)) : 0;
}

static int read_options(int argc, char **argv, options *o) {
    static const char *const commands[] = {"run", "emit", "profile", "bisect", "export"};
    if (argc < 3 || find_word(commands, 5, argv[1]) < 0) return usage();
    o->tolerance = -1;
    o->command = argv[1];
    o->file = argv[2];
    o->repeat = 20;
    for (int i = 3; i < argc; i++) {
        if (read_flag(argv[i], o)) continue;
        if (i + 1 == argc) return fail("%s: a value must follow, or the option is unknown", argv[i]);
        if (read_option(argv[i], argv[i + 1], o)) return 1;
        i++;
    }
    if (!strcmp(o->command, "emit") && !o->stage == !o->html) return fail("emit: --stage or --html is needed");
    return o->output && strcmp(o->command, "export") != 0 ? make_directory(o->output) : 0;
}

/* ---- the graph */

static int check_text(const char *file, const char *text, size_t size) {
    const char *nul = memchr(text, 0, size);
    if (!nul) return 0;
    int line = 1, column = 1;
    for (const char *s = text; s < nul; s++) {
        column = *s == '\n' ? 1 : column + 1;
        line += *s == '\n';
    }
    return fail("%s:%d:%d: a zero byte; text is expected", file, line, column);
}

/* All of a stream, with a zero byte after it. NULL: no memory. */
static char *read_stream(FILE *f, size_t *size) {
    size_t capacity = 1 << 16;
    char *text = malloc(capacity);
    *size = 0;
    while (text) {
        *size += fread(text + *size, 1, capacity - 1 - *size, f);
        if (*size < capacity - 1) break;
        char *grown = capacity < SIZE_MAX / 2 ? realloc(text, capacity *= 2) : NULL;
        if (!grown) free(text);
        text = grown;
    }
    if (text) text[*size] = 0;
    return text;
}

static char *read_text(const char *file) {
    FILE *f = fopen(file, "rb");
    if (!f) return fail("%s: %s", file, strerror(errno)), NULL;
    size_t size;
    char *text = read_stream(f, &size);
    bool bad = ferror(f) != 0;
    fclose(f);
    if (!text) return fail("%s: no memory for it", file), NULL;
    if (bad) fail("%s: cannot be read", file);
    if (!bad && !check_text(file, text, size)) return text;
    free(text);
    return NULL;
}

static int load_graph(ind_context *ctx, const char *file, ind_graph **g) {
    char *text = read_text(file);
    if (!text) return 1;
    *g = ind_graph_parse(ctx, text, file);
    free(text);
    return *g ? 0 : fail("%s", ind_error(ctx));
}

/* ---- emit */

#include "ind_page.h"

/* One file per compiled kernel. */
static int write_cubins(ind_context *ctx, ind_module *m, const char *dir) {
    ind_cubin cubin;
    ind_status status;
    char path[4096];
    for (int i = 0; !(status = ind_module_cubin(m, i, &cubin)); i++) {
        const int failed = write_cubin(dir, i, &cubin, path);
        ind_cubin_free(m, &cubin);
        if (failed) return 1;
        printf("%s\n", path);
    }
    return status == IND_ERROR_NOT_FOUND ? 0 : fail("%s", ind_error(ctx));
}

/* Prints the page with the --size options as initial sizes. */
static int emit_page(ind_context *ctx, ind_module *m, const options *o) {
    char sizes[8192] = "";
    size_t used = 0;
    for (int i = 0; i < o->num_sizes && used < sizeof sizes; i++)
        used += (size_t)snprintf(sizes + used, sizeof sizes - used, "%s%s", i ? "," : "", o->size[i]);
    return print_page(ctx, m, o, (ind_page_desc){.sizes = sizes});
}

static int set_figure(ind_thresholds *t, const char *pair) {
    const char *value = strchr(pair, '=') + 1;
    const size_t length = (size_t)(value - pair) - 1;
    char *end;
    const long number = strtol(value, &end, 10);
    if (*end || end == value || !number) return fail("--figure %s: an integer other than 0 is needed", pair);
#define X(field, ...)                                                                                                  \
    if (length == strlen(#field) && !strncmp(pair, #field, length)) return t->field = (int)number, 0;
    IND_THRESHOLDS(X)
#undef X
    return fail("--figure %s: the target has no such figure", pair);
}

/* The target `arch`, NULL: none, with the figures of --figure. */
static int set_target(ind_context *ctx, const options *o, const char *arch, ind_target *t) {
    if (arch && ind_target_named(ctx, arch, t)) return fail("--arch: %s", ind_error(ctx));
    for (int i = 0; i < o->num_figures; i++)
        if (set_figure(&t->thresholds, o->figure[i])) return 1;
    return 0;
}

static int emit(ind_context *ctx, ind_graph *g, const options *o) {
    ind_compile_desc desc = desc_of(o);
    ind_module *m;
    desc.emit_only = true;
    int stage = o->html ? 0 : find_word(stage_names, IND_NUM_STAGES, o->stage);
    if (stage < 0)
        return fail("--stage %s: allowed are graph, passes, loops, schedule, kernels, plan, cuda, ptx, cubin",
                    o->stage);
    if (set_target(ctx, o, o->arch, &desc.target)) return 1;
    if (ind_compile(g, &desc, &m)) return fail("%s: %s", o->file, ind_error(ctx));
    if (stage == IND_STAGE_CUBIN && o->output) return write_cubins(ctx, m, o->output);
    if (o->html) return emit_page(ctx, m, o);
    const char *text = o->json ? ind_module_json(m, (ind_stage)stage) : ind_module_text(m, (ind_stage)stage);
    if (!text) return fail("%s: %s", o->file, ind_error(ctx));
    fputs(text, stdout);
    return 0;
}

/* ---- element types in files */

static const struct element {
    ind_dtype dtype;
    const char *descr; /* in a .npy file */
    const char *name;  /* in a .safetensors file */
} elements[] = {{IND_BOOL, "b1", "BOOL"},
                {IND_U8, "u1", "U8"},
                {IND_I8, "i1", "I8"},
                {IND_I16, "i2", "I16"},
                {IND_I32, "i4", "I32"},
                {IND_I64, "i8", "I64"},
                {IND_F16, "f2", "F16"},
                {IND_BF16, "u2", "BF16"},
                {IND_F32, "f4", "F32"},
                {IND_F64, "f8", "F64"},
                {IND_F8E4M3FN, "u1", "F8_E4M3"},
                {IND_F8E5M2, "u1", "F8_E5M2"}};

static const struct element *element_of(ind_dtype dtype) {
    size_t i = 0;
    while (i + 1 < sizeof elements / sizeof *elements && elements[i].dtype != dtype) i++;
    return &elements[i];
}

static const char *descr_of(ind_dtype dtype) {
    return element_of(dtype)->descr;
}

/* Both only for values that the type holds exactly, which the random ones are. */
static uint16_t to_half(float v, bool bf16) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    if (bf16) return (uint16_t)(bits >> 16);
    if (v == 0) return 0;
    return (uint16_t)((bits >> 16 & 0x8000) | (((bits >> 23 & 255) - 112) << 10) | (bits >> 13 & 0x3ff));
}

static double from_half(uint16_t h, bool bf16) {
    int exponent = bf16 ? h >> 7 & 255 : h >> 10 & 31, mantissa = bf16 ? h & 127 : h & 1023;
    int bias = bf16 ? 127 : 15, digits = bf16 ? 7 : 10, most = bf16 ? 255 : 31;
    double v = exponent == most
                   ? (mantissa ? NAN : INFINITY)
                   : ldexp(mantissa + (exponent ? 1 << digits : 0), (exponent ? exponent : 1) - bias - digits);
    return h & 0x8000 ? -v : v;
}

/* e4m3fn has no infinity: only 127 is NaN. */
static double from_eighth(uint8_t x, bool e5m2) {
    int digits = e5m2 ? 2 : 3, bias = e5m2 ? 15 : 7, exponent = (x & 127) >> digits, mantissa = x & ((1 << digits) - 1);
    double v = ldexp(mantissa + (exponent ? 1 << digits : 0), (exponent ? exponent : 1) - bias - digits);
    if (e5m2 ? exponent == 31 : (x & 127) == 127) v = !e5m2 || mantissa ? NAN : INFINITY;
    return x & 128 ? -v : v;
}

static double element_at(const void *data, ind_dtype dtype, int64_t i) {
    switch (dtype) {
    case IND_BOOL:
    case IND_U8: return ((const uint8_t *)data)[i];
    case IND_I8: return ((const int8_t *)data)[i];
    case IND_I16: return ((const int16_t *)data)[i];
    case IND_I32: return ((const int32_t *)data)[i];
    case IND_I64: return (double)((const int64_t *)data)[i];
    case IND_F32: return (double)((const float *)data)[i];
    case IND_F64: return ((const double *)data)[i];
    case IND_F8E4M3FN:
    case IND_F8E5M2: return from_eighth(((const uint8_t *)data)[i], dtype == IND_F8E5M2);
    default: return from_half(((const uint16_t *)data)[i], dtype == IND_BF16);
    }
}

/* ---- random data */

/* splitmix64 (Steele, Lea, Flood 2014): one step per element, so that values depend on seed, name and position alone.
 */
static uint64_t next_random(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void fill_random(void *data, ind_dtype dtype, int64_t count, uint64_t state, int64_t below) {
    for (int64_t i = 0; i < count; i++) {
        uint64_t r = next_random(&state);
        int64_t small = (int64_t)(r % (uint64_t)below);
        switch (dtype) {
        case IND_BOOL: ((uint8_t *)data)[i] = r & 1; break;
        case IND_U8:
        case IND_I8: ((int8_t *)data)[i] = (int8_t)small; break;
        case IND_I16: ((int16_t *)data)[i] = (int16_t)small; break;
        case IND_I32: ((int32_t *)data)[i] = (int32_t)small; break;
        case IND_I64: ((int64_t *)data)[i] = small; break;
        case IND_F32: ((float *)data)[i] = (float)(r >> 40) / (1 << 23) - 1; break;
        case IND_F64: ((double *)data)[i] = (double)(r >> 11) / ((int64_t)1 << 52) - 1; break;
        case IND_F16: ((uint16_t *)data)[i] = to_half((float)(r >> 53) / 1024 - 1, false); break;
        case IND_F8E4M3FN: /* both below 1 in magnitude */
        case IND_F8E5M2: ((uint8_t *)data)[i] = (uint8_t)((r & 128) | (r >> 8) % 56); break;
        default: ((uint16_t *)data)[i] = to_half((float)(r >> 56) / 128 - 1, true); break;
        }
    }
}

/* ---- what a run binds */

typedef struct tensor {
    const ind_binding_info *info;
    int64_t shape[IND_MAX_RANK], count;
    npy_array given; /* of --input, until its elements are in data */
    void *data;      /* host */
    void *device;    /* profile: memory of the device */
    bool set;        /* a constant of the module, not bound by each run */
} tensor;

static size_t tensor_bytes(const tensor *t) {
    return (size_t)t->count * (size_t)ind_dtype_bytes(t->info->dtype);
}

typedef struct session {
    ind_context *ctx;
    const options *o;
    ind_module *m;
    char sizes[8192]; /* "B=4,S=7": what was given or found, and hints for the rest */
    safetensors weights;
    tensor *t;
    ind_binding *binding;
    int n;
} session;

static bool given_size(const options *o, const char *name) {
    size_t length = strlen(name);
    for (int i = 0; i < o->num_sizes; i++) {
        if (!strncmp(o->size[i], name, length) && o->size[i][length] == '=') return true;
    }
    return false;
}

/* The name of the size S of which a dimension is S or factor * S; NULL for any other formula. */
static const char *scaled_size(ind_formula dimension, int64_t *factor) {
    *factor = 1;
    bool scaled = ind_expr_query_kind(dimension) == IND_EXPR_MUL && ind_expr_num_args(dimension) == 2 &&
                  ind_expr_is_int(ind_expr_arg(dimension, 0), factor);
    const ind_symbol *size = ind_expr_symbol(scaled ? ind_expr_arg(dimension, 1) : dimension);
    return size && *factor > 0 ? size->name : NULL;
}

/* The value that the first --input array with a fitting dimension gives to a size, else its hint. What contradicts it
 * is found when the shapes are compared. */
static int64_t size_from_inputs(const session *s, const ind_symbol *size) {
    for (int i = 0; i < s->n; i++) {
        const tensor *t = &s->t[i];
        for (int d = 0; d < t->info->rank && d < t->given.rank; d++) {
            int64_t factor;
            const char *name = scaled_size(t->info->size[d], &factor);
            if (name && !strcmp(name, size->name) && t->given.shape[d] % factor == 0) return t->given.shape[d] / factor;
        }
    }
    return size->hint;
}

static int make_sizes(session *s) {
    size_t used = 0;
    for (int i = 0; i < s->o->num_sizes && used < sizeof s->sizes; i++) {
        used += (size_t)snprintf(s->sizes + used, sizeof s->sizes - used, "%s%s", used ? "," : "", s->o->size[i]);
    }
    for (int i = 0; i < ind_module_num_sizes(s->m) && used < sizeof s->sizes; i++) {
        const ind_symbol *size = ind_module_query_size(s->m, i);
        if (given_size(s->o, size->name) || ind_module_size_formula(s->m, i).id) continue; /* it follows by a fact */
        used += (size_t)snprintf(s->sizes + used, sizeof s->sizes - used, "%s%s=%lld", used ? "," : "", size->name,
                                 (long long)size_from_inputs(s, size));
    }
    return used < sizeof s->sizes ? 0 : fail("--size: too long in all");
}

static int make_shape(session *s, tensor *t) {
    t->count = 1;
    if (ind_module_shape(s->m, (int)(t - s->t), s->sizes, NULL, t->shape)) return fail("%s", ind_error(s->ctx));
    for (int d = 0; d < t->info->rank; d++) {
        t->count *= t->shape[d]; /* fits: the graph's check of overflow covers the whole range of the sizes */
    }
    t->data = calloc((size_t)t->count + 1, (size_t)ind_dtype_bytes(t->info->dtype));
    return t->data ? 0 : fail("%s: no memory for %lld elements", t->info->name, (long long)t->count);
}

static void print_shape(char *out, size_t bytes, const int64_t *shape, int rank) {
    size_t used = (size_t)snprintf(out, bytes, "[");
    for (int d = 0; d < rank && used < bytes; d++) {
        used += (size_t)snprintf(out + used, bytes - used, "%s%lld", d ? ", " : "", (long long)shape[d]);
    }
    if (used < bytes) snprintf(out + used, bytes - used, "]");
}

/* The elements of the --input array, if its shape and type are the tensor's. */
static int take_given(const session *s, tensor *t, const char *path) {
    const npy_array *a = &t->given;
    char have[256], want[256];
    bool fits = a->rank == t->info->rank && !strcmp(a->descr, descr_of(t->info->dtype));
    for (int d = 0; fits && d < a->rank; d++) fits = a->shape[d] == t->shape[d];
    print_shape(have, sizeof have, a->shape, a->rank);
    print_shape(want, sizeof want, t->shape, t->info->rank);
    if (!fits)
        return fail("%s: holds %s%s, %s needs %s%s (%s)%s%s", path, a->descr, have, t->info->name,
                    descr_of(t->info->dtype), want, ind_dtype_name(t->info->dtype), *s->sizes ? " at " : "", s->sizes);
    memcpy(t->data, a->data, (size_t)a->count * (size_t)a->item_size);
    npy_free(&t->given);
    return 0;
}

/* Integers below this are valid indices into every table given from outside. */
static int64_t index_range(const session *s) {
    int64_t below = 8;
    for (int i = 0; i < s->n; i++) {
        const tensor *t = &s->t[i];
        if (t->info->kind == IND_BINDING_OUTPUT || !ind_dtype_is_float(t->info->dtype)) continue;
        for (int d = 0; d < t->info->rank; d++) {
            if (t->shape[d] > 1 && t->shape[d] < below) below = t->shape[d];
        }
    }
    return below;
}

static const char *input_file(const options *o, const char *name) {
    size_t length = strlen(name);
    for (int i = 0; i < o->num_inputs; i++) {
        if (!strncmp(o->input[i], name, length) && o->input[i][length] == '=') return o->input[i] + length + 1;
    }
    return NULL;
}

static int read_given(session *s) {
    char why[512];
    if (s->o->weights && safetensors_open(s->o->weights, &s->weights, why, sizeof why)) return fail("%s", why);
    for (int i = 0; i < s->n; i++) {
        tensor *t = &s->t[i];
        const char *path = t->info->kind == IND_BINDING_OUTPUT ? NULL : input_file(s->o, t->info->name);
        if (path && npy_read(path, &t->given, why, sizeof why)) return fail("%s", why);
    }
    return 0;
}

/* The constant's elements from the weights, if there is such a tensor of its type and shape. */
static int take_weight(const session *s, tensor *t) {
    const safetensors_tensor *w = safetensors_find(&s->weights, t->info->name);
    const char *dtype = element_of(t->info->dtype)->name;
    char have[256], want[256];
    print_shape(want, sizeof want, t->shape, t->info->rank);
    if (!w) return fail("%s: has no tensor %s; %s%s is needed", s->o->weights, t->info->name, dtype, want);
    bool fits = w->rank == t->info->rank && !strcmp(w->dtype, dtype);
    for (int d = 0; fits && d < w->rank; d++) fits = w->shape[d] == t->shape[d];
    print_shape(have, sizeof have, w->shape, w->rank);
    if (!fits)
        return fail("%s: tensor %s is %s%s, the graph needs %s%s", s->o->weights, t->info->name, w->dtype, have, dtype,
                    want);
    memcpy(t->data, w->data, w->num_bytes);
    return 0;
}

static int fill_tensor(session *s, tensor *t, int64_t below) {
    if (t->info->kind == IND_BINDING_OUTPUT) return 0;
    const char *path = input_file(s->o, t->info->name);
    if (path) return take_given(s, t, path);
    bool constant = t->info->kind == IND_BINDING_CONST;
    if (s->o->weights && (constant || safetensors_find(&s->weights, t->info->name))) return take_weight(s, t);
    uint64_t state = s->o->seed;
    for (const char *c = t->info->name; *c; c++) state = (state ^ (unsigned char)*c) * 0x100000001b3u;
    fill_random(t->data, t->info->dtype, t->count, state, below);
    return 0;
}

static int check_inputs(const session *s) {
    for (int k = 0; k < s->o->num_inputs; k++) {
        size_t length = strcspn(s->o->input[k], "=");
        bool known = false;
        for (int i = 0; i < s->n; i++) {
            const ind_binding_info *info = s->t[i].info;
            known |= info->kind != IND_BINDING_OUTPUT && strlen(info->name) == length &&
                     !strncmp(info->name, s->o->input[k], length);
        }
        if (!known) return fail("--input %s: the graph has no such input or constant", s->o->input[k]);
    }
    return 0;
}

/* Sets a constant whose sizes are numbers, as an engine does with its weights; the others are bound in each run. */
static int set_constant(session *s, tensor *t) {
    int64_t size;
    t->set = t->info->kind == IND_BINDING_CONST;
    for (int d = 0; d < t->info->rank; d++) t->set &= ind_expr_is_int(t->info->size[d], &size);
    if (t->set && ind_module_constant(s->m, t->info->name, t->data, tensor_bytes(t), IND_MEMORY_HOST))
        return fail("%s", ind_error(s->ctx));
    return 0;
}

static int open_session(session *s, ind_graph *g) {
    ind_compile_desc desc = desc_of(s->o);
    if (set_target(s->ctx, s->o, NULL, &desc.target)) return 1;
    if (ind_compile(g, &desc, &s->m)) return fail("%s: %s", s->o->file, ind_error(s->ctx));
    s->n = ind_module_num_bindings(s->m);
    s->t = calloc((size_t)s->n + 1, sizeof *s->t);
    s->binding = calloc((size_t)s->n + 1, sizeof *s->binding);
    if (!s->t || !s->binding) return fail("no memory");
    for (int i = 0; i < s->n; i++) s->t[i].info = ind_module_query_binding(s->m, i);
    if (check_inputs(s) || read_given(s) || make_sizes(s)) return 1;
    for (int i = 0; i < s->n; i++) {
        if (make_shape(s, &s->t[i])) return 1;
    }
    int64_t below = index_range(s);
    for (int i = 0; i < s->n; i++) {
        if (fill_tensor(s, &s->t[i], below) || set_constant(s, &s->t[i])) return 1;
        s->binding[i] = (ind_binding){s->t[i].info->name, s->t[i].set ? NULL : s->t[i].data, tensor_bytes(&s->t[i])};
    }
    return 0;
}

static void close_session(session *s) {
    for (int i = 0; s->t && i < s->n; i++) {
        free(s->t[i].data);
        npy_free(&s->t[i].given);
        ind_module_free(s->m, s->t[i].device);
    }
    free(s->t);
    free(s->binding);
    safetensors_close(&s->weights);
}

/* ---- run */

static void print_tensor(const tensor *t) {
    char shape[256];
    print_shape(shape, sizeof shape, t->shape, t->info->rank);
    printf("%s %s%s", t->info->name, ind_dtype_name(t->info->dtype), shape);
    for (int64_t i = 0; i < t->count && i < 6; i++) printf(" %.6g", element_at(t->data, t->info->dtype, i));
    printf(t->count > 6 ? " ..\n" : "\n");
}

static int write_tensor(const tensor *t, const char *dir) {
    char path[4096], why[512];
    snprintf(path, sizeof path, "%s/%s.npy", dir, t->info->name);
    if (npy_write(path, descr_of(t->info->dtype), t->info->rank, t->shape, t->data, why, sizeof why))
        return fail("%s", why);
    return 0;
}

/* The tensor as the run left it: where its shape came from data, the elements that there are. */
static int take_shape(session *s, tensor *t, const int64_t *data_sizes) {
    t->count = 1;
    if (ind_module_shape(s->m, (int)(t - s->t), s->sizes, data_sizes, t->shape)) return fail("%s", ind_error(s->ctx));
    for (int d = 0; d < t->info->rank; d++) t->count *= t->shape[d];
    return 0;
}

static int run(session *s) {
    ind_run_desc desc = {.bindings = s->binding, .num_bindings = s->n, .sizes = s->sizes, .memory = IND_MEMORY_HOST};
    desc.data_sizes = calloc((size_t)ind_module_num_data_sizes(s->m) + 1, sizeof *desc.data_sizes);
    if (!desc.data_sizes) return fail("no memory");
    int failed = ind_run(s->m, &desc) ? fail("%s: %s", s->o->file, ind_error(s->ctx)) : 0;
    for (int i = 0; i < s->n && !failed; i++) failed = take_shape(s, &s->t[i], desc.data_sizes);
    free(desc.data_sizes);
    for (int i = 0; i < s->n && !failed; i++) {
        if (s->t[i].info->kind != IND_BINDING_OUTPUT && !s->t[i].info->mutated) continue;
        if (s->o->output && !s->o->quiet && write_tensor(&s->t[i], s->o->output)) failed = 1;
        if (!s->o->output && !s->o->quiet) print_tensor(&s->t[i]);
    }
    return failed;
}

#include "ind_bisect.h"
#include "ind_export.h"
#include "ind_pack.h"
#include "ind_profile.h"

/* ---- ops */

static const struct op_row {
    const char *name, *operands, *attributes;
    int results; /* 0: as many as the operands or sizes say */
    const char *flags;
} op_rows[] = {
#define X(name, text, operands, attributes, results, flags) {text, operands, attributes, results, flags},
    IND_OPS(X) IND_COMPOSITES(X)
#undef X
};

/* The first flag that an op has says how it becomes kernels. */
static const struct op_class {
    char flag;
    const char *text;
} op_classes[] = {
    {'E', "other ops: as those"},
    {'Z', "several loops: the size of the result comes from data"},
    {'V', "view: nothing is moved"},
    {'S', "source: computed where it is read"},
    {'U', "source: computed where it is read"},
    {'M', "matrix product: with what follows"},
    {'C', "several loops: with what comes before and follows"},
    {'R', "reduction: with what comes before and follows"},
    {'N', "random numbers: as pointwise"},
    {'G', "reads or writes by index"},
    {'D', "data movement: as pointwise"},
    {'P', "pointwise: with what comes before and follows"},
};

static const char *op_class(const char *flags) {
    for (size_t i = 0; i < sizeof op_classes / sizeof *op_classes; i++) {
        if (strchr(flags, op_classes[i].flag)) return op_classes[i].text;
    }
    return "";
}

/* Words separated by blanks, as a list with commas. */
static void print_words(const char *words) {
    for (const char *w = words; *w; w += strspn(w, " ")) {
        size_t n = strcspn(w, " ");
        printf("%s%.*s", w == words ? "" : ", ", (int)n, w);
        w += n;
    }
}

static void print_quoted(const char *name, const char *text) {
    printf("\"%s\": \"", name);
    for (; *text; text++) printf(*text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    printf("\", ");
}

static void print_op_json(const struct op_row *r) {
    printf("{");
    print_quoted("name", r->name);
    print_quoted("operands", r->operands);
    print_quoted("attributes", r->attributes);
    print_quoted("fuses", op_class(r->flags));
    printf("\"results\": %d}\n", r->results);
}

static void print_op(const struct op_row *r) {
    printf("%s(", r->name);
    print_words(r->operands);
    if (*r->operands && *r->attributes) printf("; ");
    print_words(r->attributes);
    printf(r->results == 1 ? ")" : r->results ? ") -> %d results" : ") -> several results", r->results);
    printf("   %s\n", op_class(r->flags));
}

/* One line an op: what it takes (? may be none, * a list; kind or kind=default of the rest) and how it fuses. */
static int list_ops(int argc, char **argv) {
    bool json = argc > 0 && !strcmp(argv[0], "--json");
    if (argc > json) return fail("ops: unknown option %s; allowed: --json", argv[json]);
    for (int i = 0; i < IND_NUM_OPS; i++) {
        bool called = i != IND_OP_INPUT && i != IND_OP_CONST && i != IND_OP_SCALAR;
        bool of_user = i == IND_OP_CUSTOM || i == IND_OP_ASSOCIATIVE_SCAN || i == IND_OP_CALL || i == IND_OP_EXTERN;
        if (called && !of_user) (json ? print_op_json : print_op)(&op_rows[i]);
    }
    return fflush(stdout) || ferror(stdout) ? fail("stdout: cannot be written") : 0;
}

int main(int argc, char **argv) {
    options o = {0};
    ind_context *ctx;
    ind_graph *g;
    if (argc > 1 && !strcmp(argv[1], "size")) return size_command(argc - 2, argv + 2);
    if (argc > 1 && !strcmp(argv[1], "ops")) return list_ops(argc - 2, argv + 2);
    if (argc > 1 && !strcmp(argv[1], "pack")) return pack_command(argc - 2, argv + 2);
    if (read_options(argc, argv, &o)) return 1;
    if (ind_context_create(NULL, &ctx)) return fail("no memory");
    session s = {.ctx = ctx, .o = &o};
    int failed = load_graph(ctx, o.file, &g);
    if (!failed && !strcmp(o.command, "emit")) {
        failed = emit(ctx, g, &o);
    } else if (!failed && !strcmp(o.command, "bisect")) {
        failed = bisect(ctx, g, &o);
    } else if (!failed && !strcmp(o.command, "export")) {
        failed = export_graph(ctx, g, &o);
    } else if (!failed) {
        failed = open_session(&s, g);
        if (!failed) failed = !strcmp(o.command, "run") ? run(&s) : profile(&s);
        close_session(&s);
    }
    if (!failed && (fflush(stdout) || ferror(stdout))) failed = fail("stdout: cannot be written");
    ind_context_destroy(ctx);
    return failed;
}
