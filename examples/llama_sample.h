/* llama_sample.h: draws the next token of each sequence from its logits, on the device.
 *
 *     input  history      u8[B, H]   1: the token occurred. H is a multiple of 16, greater than the vocabulary.
 *                                    Written in place; zeros at the start of a sequence
 *     input  penalty      f32[B]     > 0; the logit of a token that occurred is divided by it if positive,
 *                                    else multiplied
 *     input  temperature  f32[B]     logits are divided by it; 0: the most probable token
 *     input  top_k        i64[B]     number of candidates, the most probable ones; 0: LLAMA_CANDIDATES
 *     input  top_p        f32[B]     in (0, 1]; the fewest candidates whose probabilities add up to top_p
 *     input  min_p        f32[B]     in [0, 1]; candidates with at least min_p times the largest probability
 *     input  seed         i64[B]
 *
 * Order and meaning of the steps are those of transformers. The random number is a function of the seed and the
 * position of the token: it does not depend on the other sequences of the batch. At most LLAMA_CANDIDATES tokens, the
 * most probable ones, are candidates.
 */
#ifndef LLAMA_SAMPLE_H
#define LLAMA_SAMPLE_H

#include "inductor.h"

enum { LLAMA_CANDIDATES = 1024 };

typedef struct llama_sample_desc {
    ind_graph *graph;
    ind_tensor tokens; /* i64[B, T] that are recorded in the history first .. */
    ind_tensor count;  /* .. the first i64[B] of them */
    int64_t vocabulary;
} llama_sample_desc;

/* logits: f32[B, K, vocabulary]. position: i64[B, K], of the tokens to be drawn. Returns the tokens, i64[B, K]. */
static inline ind_tensor llama_sample(const llama_sample_desc *desc, ind_tensor logits, ind_tensor position);

/* A parameter of each sequence: [B, 1, 1]. */
static inline ind_tensor llama__parameter(const llama_sample_desc *desc, const char *name, const char *type) {
    return ind_unsqueeze(ind_unsqueeze(ind_input(desc->graph, name, type), -1), -1);
}

/* Tokens that do not count are recorded as one after the vocabulary. */
static inline ind_tensor llama__record(const llama_sample_desc *desc) {
    ind_graph *g = desc->graph;
    ind_context *c = ind_graph_context(g);
    char type[64];
    snprintf(type, sizeof type, "u8[B, %lld]", (long long)(desc->vocabulary / 16 + 1) * 16);
    ind_tensor before = ind_input(g, "history", type);
    ind_tensor at = ind_arange(g, ind_int(c, 0), ind_tensor_size(desc->tokens, 1), ind_int(c, 1), IND_I64);
    ind_tensor counts = ind_lt(at, ind_unsqueeze(desc->count, 1));
    ind_tensor token = ind_where(counts, desc->tokens, ind_scalar_int(g, desc->vocabulary));
    ind_tensor history = ind_scatter_value(before, 1, token, 1);
    ind_mutate(before, history);
    return ind_slice(history, 1, ind_int(c, 0), ind_int(c, desc->vocabulary), ind_int(c, 1));
}

static inline ind_tensor llama__penalise(const llama_sample_desc *desc, ind_tensor logits) {
    ind_graph *g = desc->graph;
    ind_tensor penalty = llama__parameter(desc, "penalty", "f32[B]"), positive = ind_gt(logits, ind_scalar(g, 0));
    ind_tensor penalised = ind_where(positive, ind_div(logits, penalty), ind_mul(logits, penalty));
    ind_tensor occurred = ind_ne(ind_unsqueeze(llama__record(desc), 1), ind_scalar_int(g, 0));
    return ind_where(occurred, penalised, logits);
}

/* A number in [0, 1) of each row: f32[B, K, 1]. */
static inline ind_tensor llama__random(const llama_sample_desc *desc, ind_tensor position) {
    ind_tensor seed = ind_unsqueeze(ind_input(desc->graph, "seed", "i64[B]"), -1);
    ind_tensor bits = ind_philox(seed, ind_scalar_int(desc->graph, 0), position, 40, 24);
    return ind_unsqueeze(ind_mul(ind_cast(bits, IND_F32), ind_scalar(desc->graph, 1.0 / 16777216)), -1);
}

static inline ind_tensor llama_sample(const llama_sample_desc *desc, ind_tensor logits, ind_tensor position) {
    static const int last = -1;
    ind_graph *g = desc->graph;
    ind_context *c = ind_graph_context(g);
    const int64_t num = desc->vocabulary < LLAMA_CANDIDATES ? desc->vocabulary : LLAMA_CANDIDATES;
    const ind_expr zero = ind_int(c, 0), one = ind_int(c, 1), most = ind_int(c, num);
    const ind_tensor none = ind_scalar(g, 0);
    ind_tensor ids, x = ind_topk(llama__penalise(desc, logits), most, -1, true, &ids);

    /* Weights relative to the largest: exp((x - max) / temperature). */
    ind_tensor temperature = llama__parameter(desc, "temperature", "f32[B]");
    ind_tensor divisor = ind_where(ind_gt(temperature, none), temperature, ind_scalar(g, 1));
    ind_tensor weight = ind_exp(ind_div(ind_sub(x, ind_slice(x, -1, zero, one, one)), divisor));
    ind_tensor rank = ind_arange(g, zero, most, one, IND_I64), k = llama__parameter(desc, "top_k", "i64[B]");
    k = ind_where(ind_gt(k, ind_scalar_int(g, 0)), k, ind_scalar_int(g, num));
    weight = ind_where(ind_lt(rank, k), weight, none);
    ind_tensor p = ind_div(weight, ind_sum(weight, &last, 1, true, IND_DTYPE_NONE));
    ind_tensor before = ind_sub(ind_cumsum(p, -1, IND_DTYPE_NONE), p);
    ind_tensor kept =
        ind_logical_or(ind_eq(rank, ind_scalar_int(g, 0)), ind_lt(before, llama__parameter(desc, "top_p", "f32[B]")));
    kept = ind_logical_and(kept, ind_ge(weight, llama__parameter(desc, "min_p", "f32[B]")));
    weight = ind_where(kept, weight, none);

    /* The first whose prefix sum exceeds u * (their sum): at most the last of weight > 0. */
    ind_tensor sums = ind_cumsum(weight, -1, IND_DTYPE_NONE),
               total = ind_slice(sums, -1, ind_int(c, num - 1), most, one);
    ind_tensor passed = ind_le(sums, ind_mul(llama__random(desc, position), total));
    ind_tensor chosen = ind_sum(passed, &last, 1, true, IND_I64);
    ind_tensor positive = ind_sum(ind_gt(weight, none), &last, 1, true, IND_I64);
    chosen = ind_minimum(chosen, ind_sub(positive, ind_scalar_int(g, 1)));
    chosen = ind_where(ind_gt(temperature, none), chosen, ind_scalar_int(g, 0));
    return ind_squeeze(ind_gather(ids, -1, chosen), -1);
}

#endif /* LLAMA_SAMPLE_H */
