/* Several steps in a call (llama_engine_desc.multi_step): conversations of two messages, beside another sequence, have
 * the tokens that they have with one step in a call.
 *
 *     multi_step MODEL CONVERSATIONS STEPS host|cuda
 *
 * Prints how many agreed, calls with one step and with several, and the part of the latter that were replays. */
#include "inductor.h"
#include "llama_engine.h"

enum { MESSAGE = 12, ANSWERS = 2, MAX_ANSWER = 40 };

typedef struct conversation {
    int32_t message[ANSWERS][MESSAGE], answer[ANSWERS][MAX_ANSWER];
    int length[ANSWERS];
    llama_sampling sampling;
} conversation;

static uint64_t state;

static int64_t draw(int64_t low, int64_t high) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return low + (int64_t)((state >> 33) % (uint64_t)(high - low + 1));
}

static void make_conversation(conversation *c, int64_t vocabulary) {
    *c = (conversation){
        .sampling = {
            .temperature = draw(0, 1) ? 1.5f : 0, .top_p = 1, .penalty = draw(0, 5) ? 1 : 1.2f, .seed = draw(0, 1000)}};
    for (int k = 0; k < ANSWERS; k++) {
        for (int i = 0; i < MESSAGE; i++) c->message[k][i] = (int32_t)draw(0, vocabulary - 1);
        c->length[k] = (int)draw(1, MAX_ANSWER);
    }
}

static void fail(const llama_engine *e) {
    fprintf(stderr, "multi_step: %s\n", e->why);
    exit(1);
}

/* Begins the other sequence, again if its context is full. */
static void begin_other(llama_engine *e, int slot) {
    static const int32_t ids[2] = {1, 2};
    const llama_sequence *s = &e->sequence[slot];
    if (s->running && s->used < e->desc.config->capacity) return;
    if (llama_engine_start(e, slot, NULL) || llama_engine_feed(e, slot, ids, 2)) fail(e);
}

/* An answer of so many tokens. Those that a step found after them are removed. */
static void make_answer(llama_engine *e, int slot, int32_t *out, int length) {
    const llama_sequence *s = &e->sequence[slot];
    for (int made = 0;;) {
        for (int i = 0; i < s->num_found; i++) {
            out[made++] = s->found[i];
            if (made < length) continue;
            llama_engine_truncate(e, slot, s->num_found - 1 - i);
            return;
        }
        begin_other(e, !slot);
        if (llama_engine_step(e)) fail(e);
    }
}

static void converse(llama_engine *e, conversation *c, int slot) {
    llama_engine_stop(e, 0);
    llama_engine_stop(e, 1);
    if (llama_engine_start(e, slot, &c->sampling)) fail(e);
    for (int k = 0; k < ANSWERS; k++) {
        if (llama_engine_feed(e, slot, c->message[k], MESSAGE)) fail(e);
        make_answer(e, slot, c->answer[k], c->length[k]);
    }
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    const int num = atoi(argv[2]), steps = atoi(argv[3]);
    llama_engine e;
    llama_config config;
    gguf file;
    if (gguf_open(argv[1], &file, e.why, sizeof e.why) || llama_read_config(&file, 0, &config, e.why, sizeof e.why))
        fail(&e);
    conversation *one = calloc((size_t)num, sizeof *one), *several = calloc((size_t)num, sizeof *several);
    if (!one || !several) return 2;
    for (int i = 0; i < num; i++) make_conversation(&one[i], config.vocabulary);
    memcpy(several, one, (size_t)num * sizeof *one);
    llama_engine_desc desc = {.file = &file, .config = &config, .dtype = IND_F32, .slots = 2, .samples = true};
    desc.device = strcmp(argv[4], "cuda") ? IND_DEVICE_HOST : IND_DEVICE_CUDA;
    desc.batch_invariant = true;
    long calls[2];
    double replayed = 0;
    for (int k = 0; k < 2; k++) {
        desc.multi_step = k ? steps : 1;
        if (llama_engine_open(&e, &desc)) fail(&e);
        for (int i = 0; i < num; i++) converse(&e, k ? &several[i] : &one[i], i % 2);
        calls[k] = (long)e.num_steps;
        replayed = (double)e.num_replays / (double)e.num_steps;
        llama_engine_close(&e);
    }
    int agree = 0;
    for (int i = 0; i < num; i++) agree += !memcmp(&one[i], &several[i], sizeof *one);
    printf("%d %ld %ld %.3f\n", agree, calls[0], calls[1], replayed);
    gguf_close(&file);
    free(one), free(several);
    return 0;
}
