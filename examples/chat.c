/* chat.c: a conversation with a language model in a GGUF file, or in a directory of Hugging Face's form. The model is
 * built through the C API, compiled once, and run on the host or on a GPU.
 *
 *     build/chat --model FILE                      a conversation: Ctrl-C ends an answer, an empty line or Ctrl-D all
 *     build/chat --model FILE "A question."        one answer; more texts are further messages of the conversation
 *     build/chat --model FILE --raw "Once upon"    continues a text, without the model's chat template
 *     build/chat --model FILE --parallel 4 A B C   each text is a conversation of its own; up to four at once
 *     build/chat --model FILE --perplexity TEXT    how well the model predicts the text in this file
 *
 * Tokens are the most probable ones, or drawn with --temperature T, --top-k N, --top-p P, --min-p P and --seed N.
 * --repeat-penalty X makes tokens less probable that occurred before. --stop TEXT ends an answer before this text.
 * --drafts N: speculative decoding with up to N draft tokens, found by prompt lookup.
 * Further options: --system TEXT, --tokens N, --context N, --memory MB, --dtype f32|f16|bf16, --device host|cuda|auto,
 * --weights f32|f16|bf16|q8_0 (converts the matrices), --ids, --multi-step N, --persistent, --watchdog MS, --emit
 * STAGE.
 */
#define INDUCTOR_IMPLEMENTATION
#include "bpe_gguf.h"
#include "chat_template.h"
#include "gguf_convert.h"
#include "hf_model.h"
#include "inductor.h"
#include "llama_engine.h"
#include <signal.h>
#include <time.h>

enum { MAX_STOPS = 8 };

typedef struct options {
    const char *model, *system, *perplexity;
    const char *weights;          /* format that the matrices are converted to; NULL: that of the file */
    const char *stops[MAX_STOPS]; /* texts that end an answer */
    int num_stops;
    const char *const *prompts;
    int num_prompts;
    long tokens, context, parallel; /* of an answer at most; of a conversation at most, 0: the model's or 2048 */
    long watchdog;                  /* ms that a task of a persistent launch waits at most, 0: no limit */
    long memory, drafts;            /* MB at most, 0: what the device has left; draft tokens of a step */
    long steps;                     /* of a call of llama_engine_step, on a GPU */
    llama_sampling sampling;
    ind_device device;
    ind_dtype dtype;
    bool raw, ids, emit, persistent;
    ind_stage stage;
} options;

typedef struct chat {
    const options *options;
    hf_model directory; /* owns the data of `file` and `tokenizer` if the model is a directory */
    gguf file;
    gguf_conversion converted; /* data of tensors of `file` */
    llama_config config;
    bpe tokenizer;
    const chat_template *template_; /* NULL: the text is continued */
    char system[2048];
    bool cut; /* the last answer did not end by itself: its last token has not been fed */
    llama_engine engine;
} chat;

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
#ifdef TIME_UTC
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
#else
    return (double)clock() * 1e3 / CLOCKS_PER_SEC; /* on Windows the time since the process began */
#endif
}

/* ---- opening */

static bool draws(const options *o) {
    return o->sampling.temperature > 0 || o->sampling.penalty != 1;
}

static int open_template(chat *c) {
    const options *o = c->options;
    gguf_text text;
    if (o->raw || o->perplexity || o->emit) return 0;
    if (!gguf_string(&c->file, "tokenizer.chat_template", &text))
        return fail("the model has no chat template: use --raw");
    c->template_ = chat_template_find(text.at, text.bytes);
    if (!c->template_)
        return fail("the chat template has none of the known forms: use --raw. ChatML, Llama 3, Gemma, Mistral and Phi "
                    "are known");
    chat_template_system(text.at, text.bytes, c->system, sizeof c->system);
    if (o->system && strlen(o->system) >= sizeof c->system)
        return fail("--system: more than %zu bytes", sizeof c->system - 1);
    if (o->system) strcpy(c->system, o->system);
    return 0;
}

/* Opens the file or the directory, and the tokenizer. */
static int open_model(chat *c, char *why, size_t why_size) {
    const char *path = c->options->model;
    if (!hf_is_model(path))
        return gguf_open(path, &c->file, why, why_size) || bpe_gguf_open(&c->file, &c->tokenizer, why, why_size);
    if (hf_open(path, &c->directory, why, why_size)) return 1;
    c->file = c->directory.file, c->tokenizer = c->directory.tokenizer;
    memset(&c->directory.file, 0, sizeof c->directory.file);
    memset(&c->directory.tokenizer, 0, sizeof c->directory.tokenizer);
    return 0;
}

static int convert(chat *c, char *why, size_t why_size) {
    return c->options->weights && gguf_convert(&c->file, c->options->weights, &c->converted, why, why_size);
}

static volatile sig_atomic_t interrupted;

static void interrupt(int number) {
    signal(number, interrupt); /* in strict ISO C a handler is used once */
    interrupted = 1;
}

/* Shows how many kernels are compiled; Ctrl-C ends the compile. */
static bool show_compile(int done, int num, void *user) {
    (void)user;
    fprintf(stderr, "\r[compiling: %d of %d kernels]%s", done, num, done == num || interrupted ? "\n" : "");
    return !interrupted;
}

static bool is_conversation(const options *o) {
    return !o->num_prompts && !o->perplexity && !o->emit;
}

static int open_chat(chat *c) {
    const options *o = c->options;
    char why[512];
    if (open_model(c, why, sizeof why) || convert(c, why, sizeof why) ||
        llama_read_config(&c->file, o->context, &c->config, why, sizeof why))
        return fail("%s", why);
    if (c->tokenizer.num_tokens > c->config.vocabulary)
        return fail("%ld tokens; the embedding has %lld", (long)c->tokenizer.num_tokens,
                    (long long)c->config.vocabulary);
    if (open_template(c)) return 1;
    const llama_engine_desc desc = {.file = &c->file,
                                    .config = &c->config,
                                    .device = o->device,
                                    .dtype = o->dtype,
                                    .persistent = o->persistent,
                                    .watchdog_ms = (uint32_t)o->watchdog,
                                    .background_variants = is_conversation(o), /* while the first message is typed */
                                    .slots = (int)o->parallel,
                                    .samples = draws(o),
                                    .targets = o->perplexity,
                                    .emit_only = o->emit,
                                    .progress = {is_conversation(o) ? show_compile : NULL, NULL},
                                    .memory = (int64_t)o->memory << 20,
                                    .drafts = (int)o->drafts,
                                    .multi_step = o->drafts || o->sampling.penalty != 1 ? 1 : (int)o->steps};
    if (is_conversation(o)) signal(SIGINT, interrupt);
    const double start = now_ms();
    if (!o->emit)
        fprintf(stderr, "[%s: %s, %lld layers; compiling]\n", o->model, c->config.architecture,
                (long long)c->config.layers);
    if (llama_engine_open(&c->engine, &desc)) return fail("%s", c->engine.why);
    if (interrupted) return fail("interrupted");
    if (!o->emit)
        fprintf(stderr, "[%s, %s, %d kernels, %lld MB of weights, %lld MB of caches; ready after %.0f ms]\n",
                ind_device_text(c->engine.context), ind_dtype_name(c->engine.desc.dtype),
                ind_module_query_stats(c->engine.module).num_kernels, (long long)c->engine.bytes.weights >> 20,
                (long long)c->engine.bytes.state >> 20, now_ms() - start);
    return 0;
}

static void close_chat(chat *c) {
    llama_engine_close(&c->engine);
    bpe_close(&c->tokenizer);
    gguf_close(&c->file);
    gguf_end_conversion(&c->converted);
    hf_close(&c->directory);
}

/* Begins conversation `number` of those of the command line. Each has a seed of its own. */
static int start(chat *c, int slot, int number) {
    llama_sampling s = c->options->sampling;
    s.seed += number;
    return llama_engine_start(&c->engine, slot, draws(c->options) ? &s : NULL) ? fail("%s", c->engine.why) : 0;
}

/* ---- messages */

/* A text with marks of the bytes where names of control tokens count, and its tokens. */
typedef struct prompt {
    char *text, *marks;
    size_t bytes;
    int32_t *ids;
    int64_t num;
} prompt;

/* Appends a part of a message. */
static int add_part(void *user, const char *text, size_t bytes, bool control) {
    prompt *p = user;
    char *grown = realloc(p->text, p->bytes + bytes + 1), *marks = realloc(p->marks, p->bytes + bytes + 1);
    if (grown) p->text = grown;
    if (marks) p->marks = marks;
    if (!grown || !marks) return fail("no memory for a text of %zu bytes", bytes);
    memcpy(p->text + p->bytes, text, bytes);
    memset(p->marks + p->bytes, control, bytes);
    p->bytes += bytes;
    return 0;
}

static void free_prompt(prompt *p) {
    free(p->text), free(p->marks), free(p->ids);
}

/* Makes the tokens of the text, after `first` if that is none of -1. */
static int make_tokens(const bpe *t, prompt *p, int32_t first) {
    const int64_t num = p->bytes ? bpe_encode_marked(t, p->text, p->marks, p->bytes, NULL, 0) : 0;
    p->ids = num < 0 ? NULL : malloc((size_t)(num + 1) * sizeof *p->ids);
    if (!p->ids) return fail("no memory for the tokens of %zu bytes", p->bytes);
    if (first >= 0) p->ids[p->num++] = first;
    if (num) bpe_encode_marked(t, p->text, p->marks, p->bytes, p->ids + p->num, num);
    p->num += num;
    return 0;
}

static int32_t bos(const chat *c) {
    return c->tokenizer.add_bos ? c->tokenizer.bos : -1;
}

/* The tokens of a message up to where the answer begins. follows: it is not the first of its conversation; then `first`
   is the last token of the answer before, if it has not been fed, or -1. */
static int make_message(const chat *c, prompt *p, const char *text, bool follows, int32_t first) {
    const chat_writer writer = {add_part, p};
    const int failed = c->template_
                           ? chat_template_write(c->template_, follows ? NULL : c->system, follows, text, &writer)
                           : add_part(p, text, strlen(text), false);
    return failed || make_tokens(&c->tokenizer, p, follows ? first : bos(c));
}

/* ---- answers */

static bool ends_answer(const chat *c, int32_t id) {
    return id == c->tokenizer.eos || id == bpe_find(&c->tokenizer, "<|endoftext|>") ||
           (c->template_ && id == bpe_find(&c->tokenizer, c->template_->stop));
}

/* An answer while it is made. */
typedef struct answer {
    char *text; /* bytes of it; NULL at first */
    size_t bytes, room;
    size_t printed; /* of these bytes */
    int64_t tokens;
    bool ended;
} answer;

/* Appends bytes. Returns 0, or 1 without memory. */
static int append(answer *a, const char *bytes, size_t num) {
    if (!num) return 0; /* as of a control token */
    if (a->bytes + num > a->room) {
        char *grown = realloc(a->text, 2 * (a->bytes + num));
        if (!grown) return fail("no memory for the answer");
        a->text = grown;
        a->room = 2 * (a->bytes + num);
    }
    memcpy(a->text + a->bytes, bytes, num);
    a->bytes += num;
    return 0;
}

/* Ends the answer before the first stop text. Returns how many bytes of it can be shown: the rest may begin one. */
static size_t cut_at_stop(const options *o, answer *a) {
    for (size_t at = a->printed; at < a->bytes; at++)
        for (int k = 0; k < o->num_stops; k++) {
            const size_t length = strlen(o->stops[k]), have = a->bytes - at;
            if (memcmp(a->text + at, o->stops[k], have < length ? have : length)) continue;
            if (have >= length) {
                a->bytes = at;
                a->ended = true;
            }
            return at;
        }
    return a->bytes;
}

/* Adds a token to the answer, or ends it. */
static int add_token(const chat *c, answer *a, int32_t id) {
    char bytes[512];
    if (ends_answer(c, id)) {
        a->ended = true;
        return 0;
    }
    const bool numbers = c->options->ids;
    const size_t length = numbers ? (size_t)snprintf(bytes, sizeof bytes, "%ld ", (long)id)
                                  : bpe_decode(&c->tokenizer, id, false, bytes, sizeof bytes);
    a->tokens++;
    return append(a, bytes, length < sizeof bytes ? length : sizeof bytes);
}

/* Prints what is known of the answer; `all`: it is complete. */
static void show(const options *o, answer *a, bool all) {
    size_t to = cut_at_stop(o, a);
    if (all || a->ended) to = a->bytes;
    if (to > a->printed) fwrite(a->text + a->printed, 1, to - a->printed, stdout);
    fflush(stdout);
    a->printed = to;
}

static bool is_full(const chat *c, int slot) {
    return c->engine.sequence[slot].used >= c->config.capacity;
}

/* Adds tokens to the answer until it ends. The sequence has been fed the message. */
static int make_answer(chat *c, answer *a) {
    const options *o = c->options;
    const llama_sequence *s = &c->engine.sequence[0];
    for (bool done = false; !done;) {
        for (int i = 0; i < s->num_found && !done; i++) {
            if (add_token(c, a, s->found[i])) return 1;
            c->cut = !a->ended;
            done = a->ended || interrupted || a->tokens >= o->tokens || (i + 1 == s->num_found && is_full(c, 0));
            show(o, a, done);
            done |= a->ended; /* by a stop text */
            if (done) llama_engine_truncate(&c->engine, 0, s->num_found - 1 - i);
        }
        if (!done && llama_engine_step(&c->engine)) return fail("%s", c->engine.why);
    }
    return 0;
}

/* ms in which the GPU's memory delivers the weights that a token reads, at the rate of a copy; 0: not known. */
static double weights_ms(const chat *c) {
    const ind_module *m = c->engine.module;
    const ind_target *t = ind_module_query_target(m);
    const bool tied = !gguf_find(&c->file, "output.weight");
    int64_t prepared = 0;
    if (!t || c->config.experts) return 0; /* a token reads a few of the experts */
    (void)ind_expr_is_int(ind_module_prepared_bytes(m), &prepared);
    double bytes = (double)prepared;
    for (int i = 0; i < ind_module_num_bindings(m); i++) {
        const ind_binding_info *b = ind_module_query_binding(m, i);
        const gguf_tensor *w = b->kind == IND_BINDING_CONST ? gguf_find(&c->file, b->name) : NULL;
        const bool row = !tied && !strcmp(b->name, "token_embd.weight"); /* a token reads one */
        if (w && !b->prepare_only && !row) bytes += (double)w->num_bytes;
    }
    return bytes / t->memory_bytes_per_ns * 100 / t->thresholds.copy_percent * 1e-6;
}

static void print_speed(const chat *c, int64_t fed, double fed_ms, int64_t made, double made_ms) {
    fprintf(stderr, "[prompt %lld tokens, %.1f a second; answer %lld tokens, %.1f a second; context %lld of %lld]\n",
            (long long)fed, (double)fed / fed_ms * 1e3, (long long)made,
            made > 1 ? (double)(made - 1) / made_ms * 1e3 : 0, (long long)c->engine.sequence[0].used,
            (long long)c->config.capacity);
    const double least = weights_ms(c);
    if (least > 0 && made > 1 && !c->engine.drafted)
        fprintf(stderr, "[%.0f us a token; the weights alone take %.0f us at the rate of a copy: %.0f %%]\n",
                made_ms / (double)(made - 1) * 1e3, least * 1e3, 100 * least * (double)(made - 1) / made_ms);
    if (c->engine.drafted)
        fprintf(stderr, "[%lld of %lld draft tokens accepted]\n", (long long)c->engine.accepted,
                (long long)c->engine.drafted);
}

/* Answers one message of the conversation in slot 0: prints tokens as they are found, and then how long it took. */
static int answer_message(chat *c, const char *text) {
    llama_sequence *s = &c->engine.sequence[0];
    prompt p = {0};
    answer a = {0};
    int failed = s->used == 0 && start(c, 0, 0);
    failed = failed || make_message(c, &p, text, s->used > 0, c->cut ? s->next : -1);
    if (!failed && !p.num) failed = fail("an empty text");
    const double begin = now_ms();
    if (!failed && llama_engine_feed(&c->engine, 0, p.ids, p.num)) failed = fail("%s", c->engine.why);
    const double fed = now_ms();
    interrupted = 0;
    failed = failed || make_answer(c, &a);
    llama_engine_stop(&c->engine, 0);
    if (!failed) puts("");
    if (!failed) print_speed(c, p.num, fed - begin, a.tokens, now_ms() - fed);
    free_prompt(&p);
    free(a.text);
    return failed;
}

/* Reads messages until an empty line or the end. */
static int converse(chat *c) {
    char line[1 << 16];
    for (;;) {
        fputs("> ", stderr);
        if (!fgets(line, sizeof line, stdin)) return 0;
        line[strcspn(line, "\n")] = 0;
        if (!*line) return 0;
        if (answer_message(c, line)) return 1;
    }
}

/* ---- conversations side by side */

typedef struct side {
    answer *answers;     /* of each prompt */
    int of[LLAMA_SLOTS]; /* the prompt that a slot answers; -1: free */
    int begun, printed;  /* prompts so far, in order */
    int64_t fed, made;   /* tokens */
} side;

/* Begins the next prompt in a free slot. */
static int begin_prompt(chat *c, side *s, int slot) {
    prompt p = {0};
    const int number = s->begun++;
    int failed = start(c, slot, number) || make_message(c, &p, c->options->prompts[number], false, -1);
    if (!failed && !p.num) failed = fail("an empty text");
    if (!failed && llama_engine_feed(&c->engine, slot, p.ids, p.num)) failed = fail("%s", c->engine.why);
    free_prompt(&p);
    s->of[slot] = number;
    s->fed += p.num;
    return failed;
}

/* Takes the tokens that were found for a slot. If its answer ends, it becomes free. */
static int take_tokens(chat *c, side *s, int slot) {
    const options *o = c->options;
    const llama_sequence *found = &c->engine.sequence[slot];
    answer *a = &s->answers[s->of[slot]];
    for (int i = 0; i < found->num_found && !a->ended; i++) {
        if (add_token(c, a, found->found[i])) return 1;
        cut_at_stop(o, a);
        s->made++;
        a->ended |= a->tokens >= o->tokens || (i + 1 == found->num_found && is_full(c, slot));
    }
    if (!a->ended) return 0;
    llama_engine_stop(&c->engine, slot);
    s->of[slot] = -1;
    return 0;
}

/* Prints the answers that are complete, in the order of their prompts. */
static void print_complete(const options *o, side *s) {
    for (; s->printed < s->begun && s->answers[s->printed].ended; s->printed++) {
        answer *a = &s->answers[s->printed];
        if (!o->ids) printf("%s> %s\n", s->printed ? "\n" : "", o->prompts[s->printed]);
        if (a->bytes) fwrite(a->text, 1, a->bytes, stdout);
        puts("");
    }
}

static int answer_side_by_side(chat *c) {
    const options *o = c->options;
    side s = {.answers = calloc((size_t)o->num_prompts, sizeof *s.answers)};
    int failed = s.answers ? 0 : fail("no memory");
    const double begin = now_ms();
    for (int i = 0; i < LLAMA_SLOTS; i++) s.of[i] = -1;
    while (!failed && s.printed < o->num_prompts) {
        for (int slot = 0; !failed && slot < o->parallel && s.begun < o->num_prompts; slot++)
            if (s.of[slot] < 0) failed = begin_prompt(c, &s, slot);
        for (int slot = 0; !failed && slot < o->parallel; slot++)
            if (s.of[slot] >= 0) failed = take_tokens(c, &s, slot);
        if (failed) break;
        print_complete(o, &s);
        if (llama_engine_step(&c->engine)) failed = fail("%s", c->engine.why);
    }
    if (!failed)
        fprintf(stderr, "[%d conversations, %lld tokens of prompts and %lld of answers, %.1f a second]\n",
                o->num_prompts, (long long)s.fed, (long long)s.made,
                (double)(s.fed + s.made) / (now_ms() - begin) * 1e3);
    for (int i = 0; s.answers && i < o->num_prompts; i++) free(s.answers[i].text);
    free(s.answers);
    return failed;
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

/* The text is divided into parts of as many tokens as the context has, each of which begins without a past. */
static int perplexity(chat *c) {
    const int64_t most = c->config.capacity;
    size_t bytes;
    prompt all = {0};
    double sum = 0;
    int64_t count = 0;
    char *text = read_file(c->options->perplexity, &bytes);
    int failed = !text || add_part(&all, text, bytes, false) || make_tokens(&c->tokenizer, &all, bos(c));
    if (!failed && all.num < 2) failed = fail("a text of less than two tokens");
    for (int64_t first = 0; !failed && first < all.num; first += most) {
        const int64_t num = all.num - first < most ? all.num - first : most;
        if (llama_engine_score(&c->engine, all.ids + first, num, &sum)) failed = fail("%s", c->engine.why);
        count += num - 1;
    }
    if (!failed) printf("perplexity %.6f over %lld tokens\n", exp(sum / (double)count), (long long)count);
    free_prompt(&all);
    free(text);
    return failed;
}

/* ---- options */

static const char usage[] =
    "usage: chat --model FILE [OPTION...] [TEXT...]\n"
    "FILE: a GGUF file, or a directory with config.json, model.safetensors and tokenizer.json\n"
    "  --system TEXT         the system message; without it the default of the model's template\n"
    "  --raw                 continues TEXT, without a template\n"
    "  --parallel N          each TEXT is a conversation of its own; N of them are answered side by side\n"
    "  --tokens N            an answer has at most N tokens (512)\n"
    "  --context N           a conversation has at most N tokens (2048, or the model's if less)\n"
    "  --drafts N            speculative decoding with up to N draft tokens, found by prompt lookup (0)\n"
    "  --multi-step N        CUDA: N tokens are computed before the first of them is printed, at most 16 (4)\n"
    "  --memory MB           refuses a model that needs more memory (MB: 2^20 bytes; what the device has left)\n"
    "  --temperature T       draws tokens; 0: the most probable one (0)\n"
    "  --top-k N, --top-p P, --min-p P     .. of the N most probable; of those with a sum of P; of those with at least "
    "P\n"
    "                        of the largest probability (all, 1, 0)\n"
    "  --repeat-penalty X    tokens that occurred become less probable (1)\n"
    "  --seed N              of the drawn tokens (0); conversation i of --parallel has seed N + i\n"
    "  --stop TEXT           ends an answer before this text; may be repeated\n"
    "  --dtype f32|f16|bf16  of activations and caches (bf16 on a GPU, f32 on the host)\n"
    "  --weights f32|f16|bf16|q8_0     converts the matrices (they are as in the file)\n"
    "  --device host|cuda|auto\n"
    "  --persistent          CUDA: one launch for consecutive small ones\n"
    "  --watchdog MS         with --persistent: an answer fails if a task waits for longer\n"
    "  --perplexity FILE     how well the model predicts the text in FILE\n"
    "  --ids                 prints numbers of tokens\n"
    "  --emit STAGE          prints a stage of compilation: graph, passes, loops, schedule, kernels, plan, cuda\n";

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

/* A number from `least` to `most`; above `least` if `apart`. */
static int parse_real(const char *name, const char *value, double least, bool apart, double most, float *out) {
    char *end;
    const double x = value ? strtod(value, &end) : 0;
    char allowed[64];
    *out = (float)x;
    if (value && *value && !*end && (apart ? x > least : x >= least) && x <= most) return 0;
    snprintf(allowed, sizeof allowed, "a number %s %g, at most %g", apart ? "above" : "of at least", least, most);
    return bad_value(name, value, allowed);
}

static int parse_integer(const char *name, const char *value, int64_t *out) {
    char *end;
    *out = value ? strtoll(value, &end, 10) : 0;
    return value && *value && !*end && *out >= 0 ? 0 : bad_value(name, value, "a number from 0 on");
}

/* -1: it is no option of sampling. */
static int parse_sampling(const char *name, const char *value, llama_sampling *s) {
    if (!strcmp(name, "--temperature")) return parse_real(name, value, 0, false, 100, &s->temperature);
    if (!strcmp(name, "--top-p")) return parse_real(name, value, 0, true, 1, &s->top_p);
    if (!strcmp(name, "--min-p")) return parse_real(name, value, 0, false, 1, &s->min_p);
    if (!strcmp(name, "--repeat-penalty")) return parse_real(name, value, 0, true, 100, &s->penalty);
    if (!strcmp(name, "--top-k")) return parse_integer(name, value, &s->top_k);
    if (!strcmp(name, "--seed")) return parse_integer(name, value, &s->seed);
    return -1;
}

static int parse_stop(const char *value, options *o) {
    if (!value || !*value) return bad_value("--stop", NULL, "a text");
    if (o->num_stops == MAX_STOPS) return fail("more than %d times --stop", MAX_STOPS);
    o->stops[o->num_stops++] = value;
    return 0;
}

static int parse_option(const char *name, const char *value, options *o) {
    const char **text = !strcmp(name, "--model")        ? &o->model
                        : !strcmp(name, "--system")     ? &o->system
                        : !strcmp(name, "--perplexity") ? &o->perplexity
                        : !strcmp(name, "--weights")    ? &o->weights
                                                        : NULL;
    if (text) return *text = value, value ? 0 : bad_value(name, NULL, "a text");
    if (!strcmp(name, "--stop")) return parse_stop(value, o);
    if (!strcmp(name, "--tokens")) return parse_number(name, value, &o->tokens);
    if (!strcmp(name, "--context")) return parse_number(name, value, &o->context);
    if (!strcmp(name, "--memory")) return parse_number(name, value, &o->memory);
    if (!strcmp(name, "--watchdog")) return parse_number(name, value, &o->watchdog);
    if (!strcmp(name, "--multi-step")) return parse_number(name, value, &o->steps);
    if (!strcmp(name, "--drafts")) return parse_number(name, value, &o->drafts);
    if (!strcmp(name, "--parallel")) return parse_number(name, value, &o->parallel);
    if (!strcmp(name, "--device")) return parse_device(value, &o->device);
    if (!strcmp(name, "--dtype")) return parse_dtype(value, &o->dtype);
    if (!strcmp(name, "--emit")) return parse_stage(value, o);
    const int sampling = parse_sampling(name, value, &o->sampling);
    return sampling >= 0 ? sampling : fail("unknown option %s", name);
}

/* Options come first. -1: nothing is left to do. */
static int parse_options(int argc, char **argv, options *o) {
    int i = 1;
    for (; i < argc && !strncmp(argv[i], "--", 2); i++) {
        if (!strcmp(argv[i], "--help")) return fputs(usage, stdout), -1;
        bool *flag = !strcmp(argv[i], "--raw")          ? &o->raw
                     : !strcmp(argv[i], "--ids")        ? &o->ids
                     : !strcmp(argv[i], "--persistent") ? &o->persistent
                                                        : NULL;
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

static int print_stage(chat *c) {
    const char *text = ind_module_text(c->engine.module, c->options->stage);
    return text ? puts(text) < 0 : fail("%s", ind_error(c->engine.context));
}

static int run(chat *c) {
    const options *o = c->options;
    if (o->emit) return print_stage(c);
    if (o->perplexity) return perplexity(c);
    if (!o->num_prompts) return converse(c);
    if (o->parallel > 1) return answer_side_by_side(c);
    for (int i = 0; i < o->num_prompts; i++)
        if (answer_message(c, o->prompts[i])) return 1;
    return 0;
}

int main(int argc, char **argv) {
    options o = {.tokens = 512, .parallel = 1, .steps = 4, .sampling = {.top_p = 1, .penalty = 1}};
    chat c = {.options = &o};
    const int stop = parse_options(argc, argv, &o);
    if (stop) return stop > 0 ? 2 : 0;
    const int failed = open_chat(&c) || run(&c);
    close_chat(&c);
    return failed;
}
