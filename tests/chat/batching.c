/* Continuous batching with llama_engine.h: requests of random lengths and parameters arrive at random steps, and share
 * a batch. Each must have the tokens, and the bits of all logits, that it has alone.
 *
 *     batching MODEL REQUESTS SLOTS SEED host|cuda
 *
 * Prints how many requests agreed, steps, the largest number of sequences in one step, late compiles, and the part of
 * steps that were replays of a captured graph. */
#include "inductor.h"
#include "llama_engine.h"

enum { MAX_PROMPT = 300, MAX_ANSWER = 24 };

typedef struct request {
    int32_t prompt[MAX_PROMPT];
    int64_t prompt_length, fed, length, made;
    llama_sampling sampling;
    long arrives; /* at this step */
    int slot;     /* -1: it waits, or is done */
    bool begun;
    int32_t answer[MAX_ANSWER];
    uint64_t bits; /* hash of all logits */
} request;

static uint64_t state;

static int64_t draw(int64_t low, int64_t high) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return low + (int64_t)((state >> 33) % (uint64_t)(high - low + 1));
}

static void make_request(request *r, int num, int64_t vocabulary) {
    *r = (request){
        .prompt_length = draw(0, 19) ? draw(1, 30) : draw(257, MAX_PROMPT), .length = draw(1, MAX_ANSWER), .slot = -1};
    for (int64_t i = 0; i < r->prompt_length; i++) r->prompt[i] = (int32_t)draw(0, vocabulary - 1);
    r->sampling = (llama_sampling){.temperature = draw(0, 2) ? (float)draw(1, 30) / 10 : 0,
                                   .top_p = (float)draw(5, 10) / 10,
                                   .min_p = (float)draw(0, 2) / 100,
                                   .penalty = (float)draw(10, 15) / 10,
                                   .top_k = draw(0, 1) * draw(1, 100),
                                   .seed = draw(0, 1000)};
    r->arrives = (long)draw(0, 2 * num);
}

static void fail(const llama_engine *e) {
    fprintf(stderr, "batching: %s\n", e->why);
    exit(1);
}

/* Records the token that was found for a request. */
static void take(llama_engine *e, request *r, float *logits) {
    const size_t bytes = (size_t)e->desc.config->vocabulary * sizeof *logits;
    if (llama_engine_logits(e, r->slot, logits)) fail(e);
    for (size_t i = 0; i < bytes; i++) r->bits = (r->bits ^ ((unsigned char *)logits)[i]) * 1099511628211u;
    r->answer[r->made++] = e->sequence[r->slot].next;
    if (r->made < r->length) return;
    llama_engine_stop(e, r->slot);
    r->slot = -1;
}

/* Begins or continues the prompt of a request, one chunk. */
static void feed(llama_engine *e, request *r, float *logits) {
    int64_t done;
    if (!r->begun && llama_engine_start(e, r->slot, &r->sampling)) fail(e);
    r->begun = true;
    if (llama_engine_feed_some(e, r->slot, r->prompt + r->fed, r->prompt_length - r->fed, &done)) fail(e);
    r->fed += done;
    if (r->fed == r->prompt_length) take(e, r, logits);
}

/* Answers all requests. Returns the number of steps. */
static long serve(llama_engine *e, request *r, int num, float *logits, int *most) {
    int left = num;
    bool taken[LLAMA_SLOTS] = {0};
    long step = 0;
    for (; left; step++) {
        int running = 0;
        for (int i = 0; i < num; i++) {
            for (int s = 0; r[i].slot < 0 && !r[i].begun && r[i].arrives <= step && s < e->desc.slots; s++)
                if (!taken[s]) taken[r[i].slot = s] = true;
            const int slot = r[i].slot;
            if (slot >= 0 && r[i].fed < r[i].prompt_length) feed(e, &r[i], logits);
            if (slot >= 0 && r[i].slot < 0) taken[slot] = false, left--;
            running += r[i].slot >= 0 && r[i].fed == r[i].prompt_length;
        }
        *most = running > *most ? running : *most;
        if (llama_engine_step(e)) fail(e);
        for (int i = 0; i < num; i++) {
            const int slot = r[i].slot;
            if (slot >= 0 && e->sequence[slot].running) take(e, &r[i], logits);
            if (slot >= 0 && r[i].slot < 0) taken[slot] = false, left--;
        }
    }
    return step;
}

int main(int argc, char **argv) {
    if (argc != 6) return 2;
    const int num = atoi(argv[2]);
    llama_engine e;
    llama_config config;
    gguf file;
    if (gguf_open(argv[1], &file, e.why, sizeof e.why) || llama_read_config(&file, 0, &config, e.why, sizeof e.why))
        fail(&e);
    request *all = calloc((size_t)num, sizeof *all), *alone = calloc((size_t)num, sizeof *alone);
    float *logits = malloc((size_t)config.vocabulary * sizeof *logits);
    if (!all || !alone || !logits) return 2;
    state = strtoull(argv[4], NULL, 10);
    for (int i = 0; i < num; i++) make_request(&all[i], num, config.vocabulary);
    memcpy(alone, all, (size_t)num * sizeof *all);
    llama_engine_desc desc = {
        .file = &file, .config = &config, .dtype = IND_F32, .slots = atoi(argv[3]), .samples = true};
    desc.device = strcmp(argv[5], "cuda") ? IND_DEVICE_HOST : IND_DEVICE_CUDA;
    desc.batch_invariant = desc.all_variants = true;
    int most = 0, unused = 0, agree = 0;
    if (llama_engine_open(&e, &desc)) fail(&e);
    const int sources = ind_module_query_stats(e.module).num_sources;
    const long steps = serve(&e, all, num, logits, &most);
    const double replayed = (double)e.num_replays / (double)e.num_steps;
    const int late = ind_module_query_stats(e.module).num_sources - sources;
    llama_engine_close(&e);
    desc.slots = 1;
    if (llama_engine_open(&e, &desc)) fail(&e);
    for (int i = 0; i < num; i++) {
        alone[i].arrives = 0;
        serve(&e, &alone[i], 1, logits, &unused);
        agree += alone[i].bits == all[i].bits && !memcmp(alone[i].answer, all[i].answer, sizeof all[i].answer);
    }
    llama_engine_close(&e);
    gguf_close(&file);
    printf("%d %ld %d %d %.3f\n", agree, steps, most, late, replayed);
    free(all), free(alone), free(logits);
    return 0;
}
