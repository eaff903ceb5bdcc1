/* chat.c: a conversation with a language model in a GGUF file. The model is built through the C API, compiled once, and
 * run on the host or on a GPU. Each answer takes the most probable token at every step.
 *
 *     build/chat --model FILE                      a conversation: Ctrl-C ends an answer, an empty line or Ctrl-D all
 *     build/chat --model FILE "A question."        one answer
 *     build/chat --model FILE --raw "Once upon"    continues a text, without the model's chat template
 *     build/chat --model FILE --perplexity TEXT    how well the model predicts the text in this file
 *
 * Further options: --system TEXT, --tokens N, --context N, --dtype f32|f16|bf16, --device host|cuda|auto, --ids,
 * --emit STAGE.
 */
#define INDUCTOR_IMPLEMENTATION
#include "bpe.h"
#include "inductor.h"
#include "llama_graph.h"
#include <signal.h>
#include <time.h>

enum { CHUNK = 256, ENTRIES = 64 }; /* tokens of a prompt that one run takes; steps of entries of the caches */

typedef struct options {
    const char *model, *system, *perplexity;
    const char *const *prompts;
    int num_prompts;
    long tokens, context; /* of an answer at most; of the conversation at most, 0: the model's or 2048 */
    ind_device device;
    ind_dtype dtype;
    bool raw, ids, emit;
    ind_stage stage;
} options;

typedef struct engine {
    gguf file;
    llama_config config;
    bpe tokenizer;
    ind_context *context;
    ind_module *module;
    ind_instance *instance;
    void **pointers;                                   /* by binding; NULL: a constant */
    int tokens, position, last, next, targets, losses; /* bindings; -1: none */
    int64_t used, capacity;                            /* entries of the caches */
    double compile_ms;
} engine;

static int fail(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("chat: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return 1;
}

static double now_ms(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- tokenizer */

/* The elements of an array of `count` texts. NULL: there is no such array, or no memory. */
static bpe_text *texts(const gguf *file, const char *key, size_t *count) {
    const gguf_value *v = gguf_find_value(file, key);
    gguf_text *from = v && v->count ? malloc((size_t)v->count * sizeof *from) : NULL;
    bpe_text *to = from && gguf_strings(v, from) ? malloc((size_t)v->count * sizeof *to) : NULL;
    for (uint64_t i = 0; to && i < v->count; i++) to[i] = (bpe_text){from[i].at, from[i].bytes};
    *count = to ? (size_t)v->count : 0;
    free(from);
    return to;
}

static int32_t special_token(const gguf *file, const char *key) {
    int64_t id;
    return gguf_integer(file, key, &id) && id >= 0 && id <= INT32_MAX ? (int32_t)id : -1;
}

/* Types and scores, one for each token. Those that are absent stay NULL. */
static int token_values(const gguf *file, size_t num, int32_t **types, float **scores) {
    const gguf_value *t = gguf_find_value(file, "tokenizer.ggml.token_type");
    const gguf_value *s = gguf_find_value(file, "tokenizer.ggml.scores");
    if ((t && t->count != num) || (s && s->count != num)) return fail("types and scores of tokens: not one for each");
    *types = t ? malloc(num * sizeof **types) : NULL;
    *scores = s ? malloc(num * sizeof **scores) : NULL;
    if ((t && !*types) || (s && !*scores)) return fail("no memory for %zu tokens", num);
    if ((t && !gguf_integers(t, *types)) || (s && !gguf_floats(s, *scores)))
        return fail("types or scores of tokens have another type");
    return 0;
}

static int open_tokenizer(engine *e) {
    const gguf *f = &e->file;
    gguf_text model = {"", 0}, pre = {"", 0};
    bpe_vocabulary v = {.bos = special_token(f, "tokenizer.ggml.bos_token_id"),
                        .eos = special_token(f, "tokenizer.ggml.eos_token_id"),
                        .unknown = special_token(f, "tokenizer.ggml.unknown_token_id")};
    int32_t *types = NULL;
    float *scores = NULL;
    char why[256];
    gguf_string(f, "tokenizer.ggml.model", &model);
    gguf_string(f, "tokenizer.ggml.pre", &pre);
    if (!gguf_text_is(model, "gpt2") && !gguf_text_is(model, "llama"))
        return fail("tokenizer %s is not supported; gpt2 and llama are", gguf_show(model).text);
    v.kind = gguf_text_is(model, "gpt2") ? BPE_BYTE_LEVEL : BPE_SENTENCEPIECE;
    v.pre = (bpe_text){pre.at, pre.bytes};
    v.add_space_prefix = v.kind == BPE_SENTENCEPIECE;
    v.add_bos = v.add_space_prefix || gguf_text_is(pre, "llama-bpe") || gguf_text_is(pre, "llama3");
    gguf_bool(f, "tokenizer.ggml.add_bos_token", &v.add_bos);
    gguf_bool(f, "tokenizer.ggml.add_space_prefix", &v.add_space_prefix);
    bpe_text *tokens = texts(f, "tokenizer.ggml.tokens", &v.num_tokens);
    bpe_text *merges = texts(f, "tokenizer.ggml.merges", &v.num_merges);
    int failed = !tokens ? fail("the model has no tokens") : token_values(f, v.num_tokens, &types, &scores);
    if (!failed && (int64_t)v.num_tokens > e->config.vocabulary)
        failed = fail("%zu tokens; the embedding has %lld", v.num_tokens, (long long)e->config.vocabulary);
    if (!failed && v.kind == BPE_BYTE_LEVEL && !merges)
        failed = fail("the tokenizer has no merges, or there is no memory for them");
    v.tokens = tokens, v.merges = merges, v.types = types;
    v.scores = v.kind == BPE_SENTENCEPIECE ? scores : NULL;
    if (!failed && bpe_open(&v, &e->tokenizer, why, sizeof why)) failed = fail("%s", why);
    free(tokens), free(merges), free(types), free(scores);
    return failed;
}

/* ---- model */

static int compile(engine *e, const options *o) {
    char why[256];
    const llama_graph_desc desc = {
        .file = &e->file, .config = &e->config, .dtype = o->dtype, .capacity = e->capacity, .targets = o->perplexity};
    const double start = now_ms();
    ind_graph *g = ind_graph_create(e->context, "chat");
    if (!g) return fail("%s", ind_error(e->context));
    int failed = llama_build(g, &desc, why, sizeof why) ? fail("%s", why) : 0;
    if (!failed && ind_compile(g, &(ind_compile_desc){.emit_only = o->emit}, &e->module))
        failed = fail("%s", ind_error(e->context));
    ind_graph_destroy(g);
    e->compile_ms = now_ms() - start;
    if (failed || o->emit) return failed;
    return llama_bind_constants(e->module, &e->file, &e->config, why, sizeof why) ? fail("%s", why) : 0;
}

/* Allocates the memory of an input or output, for CHUNK tokens of one sequence. Caches begin with zeros: entries
 * without a token are multiplied by probabilities of 0. */
static int allocate(engine *e, int index) {
    const ind_binding_info *info = ind_module_query_binding(e->module, index);
    char sizes[64];
    int64_t shape[IND_MAX_RANK], bytes = ind_dtype_bytes(info->dtype);
    snprintf(sizes, sizeof sizes, "B=1, T=%d, N=%lld", CHUNK, (long long)e->capacity);
    if (ind_module_shape(e->module, index, sizes, NULL, shape)) return fail("%s", ind_error(e->context));
    for (int d = 0; d < info->rank; d++) bytes *= shape[d];
    void *zeros = calloc(1, (size_t)bytes);
    if (!zeros || ind_module_alloc(e->module, (size_t)bytes, &e->pointers[index]) ||
        ind_module_upload(e->module, e->pointers[index], zeros, (size_t)bytes)) {
        free(zeros);
        return fail("no memory for %s: %lld bytes", info->name, (long long)bytes);
    }
    free(zeros);
    return 0;
}

static int binding(const engine *e, const char *name) {
    for (int i = 0; i < ind_module_num_bindings(e->module); i++)
        if (!strcmp(ind_module_query_binding(e->module, i)->name, name)) return i;
    return -1;
}

static int open_engine(engine *e, const options *o) {
    char why[256];
    if (gguf_open(o->model, &e->file, why, sizeof why) || llama_read_config(&e->file, &e->config, why, sizeof why))
        return fail("%s", why);
    if (open_tokenizer(e)) return 1;
    const int64_t most = e->config.context;
    e->capacity = o->context ? o->context : most < 2048 ? most : 2048;
    if (e->capacity < 2 || e->capacity > most)
        return fail("--context %lld; allowed is 2 to the model's %lld", (long long)e->capacity, (long long)most);
    if (ind_context_create(&(ind_context_desc){.device = o->device}, &e->context))
        return fail("no memory for a context");
    if (compile(e, o)) return 1;
    if (o->emit) return 0;
    e->pointers = calloc((size_t)ind_module_num_bindings(e->module), sizeof *e->pointers);
    if (!e->pointers) return fail("no memory for pointers");
    for (int i = 0; i < ind_module_num_bindings(e->module); i++)
        if (ind_module_query_binding(e->module, i)->kind != IND_BINDING_CONST && allocate(e, i)) return 1;
    e->tokens = binding(e, "tokens"), e->position = binding(e, "position"), e->last = binding(e, "last");
    e->next = binding(e, "next"), e->targets = binding(e, "targets"), e->losses = binding(e, "losses");
    if (ind_module_prepare(e->module) || ind_instance_create(e->module, NULL, &e->instance))
        return fail("%s", ind_error(e->context));
    return 0;
}

static void close_engine(engine *e) {
    ind_instance_destroy(e->instance);
    for (int i = 0; e->pointers && i < ind_module_num_bindings(e->module); i++)
        ind_module_free(e->module, e->pointers[i]);
    free(e->pointers);
    ind_context_destroy(e->context);
    bpe_close(&e->tokenizer);
    gguf_close(&e->file);
}

/* The message of a launch, or of a copy, which belongs to the context. */
static int fail_run(const engine *e) {
    const char *text = ind_instance_error(e->instance);
    return fail("%s", text && *text ? text : ind_error(e->context));
}

static ind_status put(const engine *e, int index, const int64_t *values, int64_t count) {
    return ind_module_upload(e->module, e->pointers[index], values, (size_t)count * sizeof *values);
}

static ind_status launch(engine *e, const int64_t *tokens, int64_t count) {
    /* Entries of the caches that are read: those in use, in steps. */
    const int64_t entries = (e->used + count + ENTRIES - 1) / ENTRIES * ENTRIES;
    const int64_t sizes[3] = {1, count, entries < e->capacity ? entries : e->capacity};
    ind_status status = put(e, e->tokens, tokens, count);
    if (!status) status = put(e, e->position, &e->used, 1);
    if (!status) status = ind_launch(e->instance, &(ind_launch_desc){.pointers = e->pointers, .sizes_v = sizes});
    if (!status) status = ind_instance_check(e->instance);
    if (!status) e->used += count;
    return status;
}

/* Adds tokens to the sequence, in chunks. *next is the token with the largest logit after the last one. */
static int feed(engine *e, const int32_t *ids, int64_t count, int32_t *next) {
    for (int64_t first = 0; first < count; first += CHUNK) {
        int64_t tokens[CHUNK], num = count - first < CHUNK ? count - first : CHUNK, last = num - 1, found;
        for (int64_t i = 0; i < num; i++) tokens[i] = ids[first + i];
        if (put(e, e->last, &last, 1) || launch(e, tokens, num) ||
            ind_module_download(e->module, &found, e->pointers[e->next], sizeof found))
            return fail_run(e);
        *next = (int32_t)found;
    }
    return 0;
}

/* ---- text */

typedef struct ids {
    int32_t *at;
    int64_t num;
} ids;

/* Appends the tokens of a text. special: names of control tokens in it are these tokens. */
static int add_text(const engine *e, ids *to, const char *text, size_t bytes, bool special) {
    const int64_t num = bpe_encode(&e->tokenizer, text, bytes, special, NULL, 0);
    int32_t *grown = num < 0 ? NULL : realloc(to->at, (size_t)(to->num + num + 1) * sizeof *grown);
    if (!grown) return fail("no memory for a text of %zu bytes", bytes);
    to->at = grown;
    bpe_encode(&e->tokenizer, text, bytes, special, to->at + to->num, num);
    to->num += num;
    return 0;
}

static int add_special(const engine *e, ids *to, const char *text) {
    return add_text(e, to, text, strlen(text), true);
}

/* Appends bos at the start of a sequence, if the model wants it. */
static int add_start(const engine *e, ids *to) {
    const bpe *t = &e->tokenizer;
    to->at = malloc(sizeof *to->at);
    if (!to->at) return fail("no memory");
    if (e->used == 0 && t->add_bos && t->bos >= 0) to->at[to->num++] = t->bos;
    return 0;
}

/* The system message in a ChatML template, or NULL: its text between the marks. */
static int default_system(const engine *e, char *out, size_t size) {
    static const char begin[] = "<|im_start|>system\\n", end[] = "<|im_end|>";
    gguf_text t;
    size_t used = 0;
    *out = 0;
    if (!gguf_string(&e->file, "tokenizer.chat_template", &t)) return fail("the model has no chat template: use --raw");
    char *copy = malloc(t.bytes + 1);
    if (!copy) return fail("no memory for the chat template");
    memcpy(copy, t.at, t.bytes);
    copy[t.bytes] = 0;
    const int failed =
        strstr(copy, "<|im_start|>") ? 0 : fail("the chat template is not ChatML, the only one supported: use --raw");
    const char *from = strstr(copy, begin), *to = from ? strstr(from += strlen(begin), end) : NULL;
    if (!from && (from = strstr(copy, "<|im_start|>system\n"))) /* a line break instead of its escape */
        from += strlen("<|im_start|>system\n"), to = strstr(from, end);
    for (; to && from < to && used + 1 < size; from++) out[used++] = *from;
    /* Code of the template is no text: braces, or a string that ends before the mark. */
    if (memchr(out, '{', used) || memchr(out, '}', used) || (used && strchr("'\"", *out))) used = 0;
    out[used] = 0;
    free(copy);
    return failed;
}

/* Appends a message and the start of the answer, in ChatML. */
static int add_message(const engine *e, const options *o, ids *to, const char *text) {
    char system[2048];
    if (o->raw) return add_start(e, to) || add_text(e, to, text, strlen(text), false);
    if (add_start(e, to) || default_system(e, system, sizeof system)) return 1;
    const char *first = o->system ? o->system : system;
    if (e->used == 0 && *first &&
        (add_special(e, to, "<|im_start|>system\n") || add_text(e, to, first, strlen(first), false) ||
         add_special(e, to, "<|im_end|>\n")))
        return 1;
    /* The answer before ended with <|im_end|>, which was not fed. */
    if (e->used > 0 && add_special(e, to, "<|im_end|>\n")) return 1;
    return add_special(e, to, "<|im_start|>user\n") || add_text(e, to, text, strlen(text), false) ||
           add_special(e, to, "<|im_end|>\n<|im_start|>assistant\n");
}

/* ---- answers */

static volatile sig_atomic_t interrupted;

static void interrupt(int signal) {
    (void)signal;
    interrupted = 1;
}

static bool ends_answer(const engine *e, int32_t id) {
    return id == e->tokenizer.eos || id == bpe_find(&e->tokenizer, "<|im_end|>") ||
           id == bpe_find(&e->tokenizer, "<|endoftext|>");
}

static void print_token(const engine *e, const options *o, int32_t id) {
    char bytes[512];
    if (o->ids) {
        printf("%ld ", (long)id);
    } else {
        const size_t length = bpe_decode(&e->tokenizer, id, false, bytes, sizeof bytes);
        fwrite(bytes, 1, length < sizeof bytes ? length : sizeof bytes, stdout);
    }
    fflush(stdout);
}

/* Answers one message: prints tokens as they are found, and then how long it took. */
static int answer(engine *e, const options *o, const char *text) {
    ids prompt = {0};
    int32_t next = -1;
    int64_t made = 0;
    int failed = add_message(e, o, &prompt, text);
    if (!failed && !prompt.num) failed = fail("an empty text");
    if (!failed && e->used + prompt.num > e->capacity)
        failed = fail("the context of %lld tokens is full: %lld are used, the message has %lld", (long long)e->capacity,
                      (long long)e->used, (long long)prompt.num);
    const double start = now_ms();
    failed = failed || feed(e, prompt.at, prompt.num, &next);
    const double fed = now_ms();
    interrupted = 0;
    while (!failed && !interrupted && made < o->tokens && !ends_answer(e, next)) {
        print_token(e, o, next);
        made++;
        if (e->used == e->capacity) break;
        failed = feed(e, &next, 1, &next);
    }
    if (!failed) {
        puts("");
        fprintf(stderr,
                "[prompt %lld tokens, %.1f a second; answer %lld tokens, %.1f a second; context %lld of %lld]\n",
                (long long)prompt.num, (double)prompt.num / (fed - start) * 1e3, (long long)made,
                made > 1 ? (double)(made - 1) / (now_ms() - fed) * 1e3 : 0, (long long)e->used, (long long)e->capacity);
    }
    free(prompt.at);
    return failed;
}

/* Reads messages until an empty line or the end. */
static int converse(engine *e, const options *o) {
    char line[1 << 16];
    signal(SIGINT, interrupt);
    for (;;) {
        fputs("> ", stderr);
        if (!fgets(line, sizeof line, stdin)) return 0;
        line[strcspn(line, "\n")] = 0;
        if (!*line) return 0;
        if (answer(e, o, line)) return 1;
    }
}

/* ---- perplexity */

static char *read_file(const char *path, size_t *bytes) {
    FILE *f = fopen(path, "rb");
    const long size = f && !fseek(f, 0, SEEK_END) ? ftell(f) : -1;
    char *text = size >= 0 && !fseek(f, 0, SEEK_SET) ? malloc((size_t)size + 1) : NULL;
    if (text && fread(text, 1, (size_t)size, f) != (size_t)size) {
        free(text);
        text = NULL;
    }
    if (f) fclose(f);
    if (!text) fail("%s cannot be read", path);
    *bytes = text ? (size_t)size : 0;
    return text;
}

/* Adds -log of the probability of each token after the first one of `count`. The sequence begins anew. */
static int score(engine *e, const int32_t *at, int64_t count, double *sum) {
    e->used = 0;
    for (int64_t first = 0; first + 1 < count; first += CHUNK) {
        int64_t tokens[CHUNK], targets[CHUNK], num = count - 1 - first < CHUNK ? count - 1 - first : CHUNK;
        float losses[CHUNK];
        for (int64_t i = 0; i < num; i++) tokens[i] = at[first + i], targets[i] = at[first + i + 1];
        if (put(e, e->targets, targets, num) || launch(e, tokens, num) ||
            ind_module_download(e->module, losses, e->pointers[e->losses], (size_t)num * sizeof *losses))
            return fail_run(e);
        for (int64_t i = 0; i < num; i++) *sum += (double)losses[i];
    }
    return 0;
}

/* The text is divided into parts of `capacity` tokens, each of which begins without a past. */
static int perplexity(engine *e, const options *o) {
    size_t bytes;
    ids all = {0};
    double sum = 0;
    int64_t count = 0;
    char *text = read_file(o->perplexity, &bytes);
    int failed = !text || add_start(e, &all) || add_text(e, &all, text, bytes, false);
    if (!failed && all.num < 2) failed = fail("a text of less than two tokens");
    for (int64_t first = 0; !failed && first < all.num; first += e->capacity) {
        const int64_t num = all.num - first < e->capacity ? all.num - first : e->capacity;
        failed = score(e, all.at + first, num, &sum);
        count += num - 1;
    }
    if (!failed) printf("perplexity %.6f over %lld tokens\n", exp(sum / (double)count), (long long)count);
    free(all.at);
    free(text);
    return failed;
}

/* ---- options */

static const char usage[] = "usage: chat --model FILE [--system TEXT] [--tokens N] [--context N] [--dtype "
                            "f32|f16|bf16] [--device host|cuda|auto] "
                            "[--raw] [--ids] [--perplexity FILE] [--emit STAGE] [TEXT...]\n";

static int bad_value(const char *option, const char *value, const char *allowed) {
    return fail("%s %s; allowed is %s", option, value ? value : "needs a value", allowed);
}

static int parse_number(const char *name, const char *value, long *out) {
    char *end;
    *out = value ? strtol(value, &end, 10) : 0;
    return value && *value && !*end && *out > 0 && *out < 1 << 30 ? 0 : bad_value(name, value, "a number from 1 on");
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
    return *dtype == IND_F32 || *dtype == IND_F16 || *dtype == IND_BF16
               ? 0
               : bad_value("--dtype", value, "f32, f16 or bf16");
}

static int parse_stage(const char *value, options *o) {
    o->emit = true;
#define X(name, text)                                                                                                  \
    if (value && !strcmp(value, text)) return o->stage = IND_STAGE_##name, 0;
    IND_STAGES(X)
#undef X
    return bad_value("--emit", value, "graph, passes, loops, schedule, kernels, plan, cuda, ptx or cubin");
}

static int parse_option(const char *name, const char *value, options *o) {
    const char **text = !strcmp(name, "--model")        ? &o->model
                        : !strcmp(name, "--system")     ? &o->system
                        : !strcmp(name, "--perplexity") ? &o->perplexity
                                                        : NULL;
    if (text) return *text = value, value ? 0 : bad_value(name, NULL, "a text");
    if (!strcmp(name, "--tokens")) return parse_number(name, value, &o->tokens);
    if (!strcmp(name, "--context")) return parse_number(name, value, &o->context);
    if (!strcmp(name, "--device")) return parse_device(value, &o->device);
    if (!strcmp(name, "--dtype")) return parse_dtype(value, &o->dtype);
    if (!strcmp(name, "--emit")) return parse_stage(value, o);
    return fail("unknown option %s", name);
}

/* Options come first. -1: nothing is left to do. */
static int parse_options(int argc, char **argv, options *o) {
    int i = 1;
    for (; i < argc && !strncmp(argv[i], "--", 2); i++) {
        if (!strcmp(argv[i], "--help")) return fputs(usage, stdout), -1;
        bool *flag = !strcmp(argv[i], "--raw") ? &o->raw : !strcmp(argv[i], "--ids") ? &o->ids : NULL;
        if (flag) {
            *flag = true;
            continue;
        }
        const char *name = argv[i++];
        if (parse_option(name, i < argc ? argv[i] : NULL, o)) return 1;
    }
    if (!o->model) return fail("--model is missing: a GGUF file");
    o->prompts = (const char *const *)(argv + i);
    o->num_prompts = argc > i ? argc - i : 0;
    return 0;
}

static int print_stage(engine *e, const options *o) {
    const char *text = ind_module_text(e->module, o->stage);
    return text ? puts(text) < 0 : fail("%s", ind_error(e->context));
}

static int run(engine *e, const options *o) {
    const ind_module_stats s = ind_module_query_stats(e->module);
    if (o->emit) return print_stage(e, o);
    fprintf(stderr, "[%s, %s, %d kernels, built in %.0f ms]\n", ind_device_text(e->context), ind_dtype_name(o->dtype),
            s.num_kernels, e->compile_ms);
    if (o->perplexity) return perplexity(e, o);
    if (!o->num_prompts) return converse(e, o);
    for (int i = 0; i < o->num_prompts; i++)
        if (answer(e, o, o->prompts[i])) return 1;
    return 0;
}

int main(int argc, char **argv) {
    options o = {.tokens = 512, .dtype = IND_F32};
    engine e = {0};
    const int stop = parse_options(argc, argv, &o);
    if (stop) return stop > 0 ? 2 : 0;
    const int failed = open_engine(&e, &o) || run(&e, &o);
    close_engine(&e);
    return failed;
}
