"""Decoder-only models in NumPy, in float64: what examples/llama_graph.h builds, written from the models' papers. Also writes small random models as
GGUF files, with the package gguf. test_reference.py compares this file with transformers."""

import dataclasses
import math

import gguf
import numpy as np

WIDTH, HEADS, KV_HEADS, HEAD, FFN, CONTEXT, EPSILON = 64, 4, 2, 16, 96, 64, 1e-5
EXPERTS, USED, EXPERT_FFN = 8, 2, 32
VOCABULARY = 256 + 4


@dataclasses.dataclass(frozen=True)
class Model:
    architecture: str
    tied: bool = True
    layers: int = 2
    context: int = CONTEXT
    rotary: int = HEAD
    base: float = 10000.0
    scaling: tuple = ()  # ("linear", factor), ("yarn", factor, original context), ("divided",), ("longrope", original context, factor of sine and cosine)
    window: int = 0
    period: int = 0  # every period-th layer sees all keys; 0: the window is of all layers
    cap: float = 0  # of attention's scores
    logit_cap: float = 0
    scale: float = HEAD**-0.5

    @property
    def is_gemma(self):
        return self.architecture.startswith("gemma")

    @property
    def has_experts(self):
        return self.architecture in ("qwen3moe", "olmoe")

    def slides(self, layer):
        return self.window > 0 and (self.period == 0 or (layer + 1) % self.period != 0)


def byte_tokens():
    """GPT-2's printable code points for the 256 bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    other = iter(range(256, 512))
    return [chr(b) if b in plain else chr(next(other)) for b in range(256)]


# ---- weights


def attention_shapes(m, b):
    found = {b + "attn_output.weight": (WIDTH, HEADS * HEAD)}
    if m.architecture == "phi3":
        return found | {b + "attn_qkv.weight": ((HEADS + 2 * KV_HEADS) * HEAD, WIDTH)}
    for name, rows in (("q", HEADS * HEAD), ("k", KV_HEADS * HEAD), ("v", KV_HEADS * HEAD)):
        found[f"{b}attn_{name}.weight"] = (rows, WIDTH)
        if m.architecture == "qwen2":
            found[f"{b}attn_{name}.bias"] = (rows,)
    if m.architecture in ("qwen3", "qwen3moe", "gemma3"):
        found[b + "attn_q_norm.weight"] = found[b + "attn_k_norm.weight"] = (HEAD,)
    if m.architecture == "olmoe":
        found |= {b + "attn_q_norm.weight": (HEADS * HEAD,), b + "attn_k_norm.weight": (KV_HEADS * HEAD,)}
    return found


def mlp_shapes(m, b):
    if m.has_experts:
        wide = {f"{b}ffn_{name}_exps.weight": (EXPERTS, EXPERT_FFN, WIDTH) for name in ("gate", "up")}
        return wide | {b + "ffn_gate_inp.weight": (EXPERTS, WIDTH), b + "ffn_down_exps.weight": (EXPERTS, WIDTH, EXPERT_FFN)}
    if m.architecture == "phi3":
        return {b + "ffn_up.weight": (2 * FFN, WIDTH), b + "ffn_down.weight": (WIDTH, FFN)}
    return {b + "ffn_gate.weight": (FFN, WIDTH), b + "ffn_up.weight": (FFN, WIDTH), b + "ffn_down.weight": (WIDTH, FFN)}


def shapes(m):
    found = {"token_embd.weight": (VOCABULARY, WIDTH), "output_norm.weight": (WIDTH,)}
    if not m.tied:
        found["output.weight"] = (VOCABULARY, WIDTH)
    for i in range(m.layers):
        b = f"blk.{i}."
        found |= attention_shapes(m, b) | mlp_shapes(m, b) | {b + "attn_norm.weight": (WIDTH,), b + "ffn_norm.weight": (WIDTH,)}
        if m.is_gemma:
            found |= {b + "post_attention_norm.weight": (WIDTH,), b + "post_ffw_norm.weight": (WIDTH,)}
    return found


def divisors(m):
    """Tensors of a file whose angles are divided."""
    steps = np.linspace(1, 8, m.rotary // 2).astype(np.float32)
    if m.scaling[:1] == ("divided",):
        return {"rope_freqs.weight": steps}
    if m.scaling[:1] == ("longrope",):
        return {"rope_factors_short.weight": 1 + steps / 64, "rope_factors_long.weight": steps}
    return {}


def weights(m, seed):
    rng = np.random.default_rng(seed)
    found = {}
    for name, shape in shapes(m).items():
        x = rng.standard_normal(shape)
        if m.is_gemma and "embd" in name:
            x /= WIDTH**0.5  # which the model multiplies by it
        found[name] = (1 + x / 8 if "norm" in name else x if "bias" in name or "embd" in name else x * 2 / shape[-1] ** 0.5).astype(np.float32)
    return found | divisors(m)


# ---- files


def add_metadata(w, m):
    w.add_block_count(m.layers), w.add_context_length(m.context), w.add_embedding_length(WIDTH), w.add_feed_forward_length(FFN)
    w.add_head_count(HEADS), w.add_head_count_kv(KV_HEADS), w.add_key_length(HEAD), w.add_value_length(HEAD)
    w.add_layer_norm_rms_eps(EPSILON), w.add_rope_freq_base(m.base), w.add_rope_dimension_count(m.rotary)
    if m.has_experts:
        w.add_expert_count(EXPERTS), w.add_expert_used_count(USED), w.add_expert_feed_forward_length(EXPERT_FFN)
    if m.window:
        w.add_sliding_window(m.window)
    if m.architecture == "gemma3" and m.period != 6:
        w.add_sliding_window_pattern(m.period)
    if m.cap:
        w.add_attn_logit_softcapping(m.cap)
    if m.logit_cap:
        w.add_final_logit_softcapping(m.logit_cap)
    if m.scale != HEAD**-0.5:
        w.add_attention_scale(m.scale)
    if m.scaling and m.scaling[0] in ("linear", "yarn"):
        w.add_rope_scaling_type(gguf.RopeScalingType(m.scaling[0])), w.add_rope_scaling_factor(m.scaling[1])
    if m.scaling[:1] == ("yarn",):
        w.add_rope_scaling_orig_ctx_len(m.scaling[2])
    if m.scaling[:1] == ("longrope",):
        w.add_rope_scaling_orig_ctx_len(m.scaling[1]), w.add_rope_scaling_attn_factors(m.scaling[2])


def write(path, m, tensors, format, change=lambda w: None, template=None):
    """Writes the file; returns the tensors as the file has them, in float64. Norms and biases are f32."""
    w = gguf.GGUFWriter(path, m.architecture)
    add_metadata(w, m)
    w.add_tokenizer_model("gpt2"), w.add_tokenizer_pre("gpt-2")
    w.add_token_list([*byte_tokens(), "<|endoftext|>", "<|im_start|>", "<|im_end|>", "ab"]), w.add_token_types([1] * 256 + [3] * 3 + [1])
    w.add_token_merges(["a b"]), w.add_eos_token_id(258)
    if template:
        w.add_chat_template(template)
    change(w)
    kind = gguf.GGMLQuantizationType[format]
    read = {}
    for name, x in tensors.items():
        if x.ndim == 1 or kind == gguf.GGMLQuantizationType.F32:
            w.add_tensor(name, x)
            read[name] = x.astype(np.float64)
        else:
            packed = gguf.quants.quantize(x, kind)
            w.add_tensor(name, packed, raw_dtype=kind)
            read[name] = gguf.quants.dequantize(packed, kind).astype(np.float64)
    w.write_header_to_file(), w.write_kv_data_to_file(), w.write_tensors_to_file(), w.close()
    return read


# ---- angles


def yarn(m, frequencies, factor, original):
    """Peng et al. 2023, section 3.2: pair i turns original * frequency / 2 pi times; pairs of 32 turns and more are kept, of one and less scaled."""
    pair_of = lambda turns: m.rotary * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(m.base))  # noqa: E731
    low, high = max(math.floor(pair_of(32)), 0), min(math.ceil(pair_of(1)), m.rotary - 1)
    kept = 1 - np.clip((np.arange(m.rotary // 2) - low) / max(high - low, 0.001), 0, 1)
    return frequencies * kept + frequencies / factor * (1 - kept), 0.1 * math.log(factor) + 1


def frequencies(m, w, slides, capacity):
    """Angle per position of each pair, and the factor of sine and cosine."""
    if slides and m.architecture == "gemma3":
        return 10000.0 ** (-2 * np.arange(m.rotary // 2) / m.rotary), 1
    f = m.base ** (-2 * np.arange(m.rotary // 2) / m.rotary)
    match m.scaling:
        case ("linear", factor):
            return f / factor, 1
        case ("yarn", factor, original):
            return yarn(m, f, factor, original)
        case ("divided",):
            return f / w["rope_freqs.weight"], 1
        case ("longrope", original, factor):
            return f / w[f"rope_factors_{'long' if capacity > original else 'short'}.weight"], factor
    return f, 1


def rotate(m, w, x, slides, capacity):
    """x[T, heads, HEAD]: features 2i and 2i + 1 (llama), or i and i + rotary / 2."""
    f, factor = frequencies(m, w, slides, capacity)
    angle = np.arange(len(x))[:, None] * f
    c, s = factor * np.cos(angle)[:, None], factor * np.sin(angle)[:, None]
    pairs, r = m.architecture == "llama", m.rotary
    first, second = (slice(0, r, 2), slice(1, r, 2)) if pairs else (slice(0, r // 2), slice(r // 2, r))
    y = x.copy()
    y[..., first] = x[..., first] * c - x[..., second] * s
    y[..., second] = x[..., second] * c + x[..., first] * s
    return y


# ---- layers


def norm(x, w):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * w


def softmax(x):
    p = np.exp(x - x.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True)


def heads_of(m, w, b, h):
    """Queries, keys and values: [T, heads, HEAD]."""
    if m.architecture == "phi3":
        found = np.split(h @ w[b + "attn_qkv.weight"].T, [HEADS * HEAD, (HEADS + KV_HEADS) * HEAD], axis=-1)
    else:
        found = [h @ w[f"{b}attn_{n}.weight"].T + w.get(f"{b}attn_{n}.bias", 0) for n in "qkv"]
    if m.architecture == "olmoe":
        found[:2] = (norm(x, w[f"{b}attn_{n}_norm.weight"]) for x, n in zip(found, "qk"))
    found = [x.reshape(len(h), -1, HEAD) for x in found]
    if m.architecture != "olmoe" and b + "attn_q_norm.weight" in w:
        found[:2] = (norm(x, w[f"{b}attn_{n}_norm.weight"]) for x, n in zip(found, "qk"))
    return found


def attention(m, w, layer, h, capacity):
    b = f"blk.{layer}."
    q, k, v = heads_of(m, w, b, h)
    q, k = (rotate(m, w, x, m.slides(layer), capacity) for x in (q, k))
    k, v = (np.repeat(x, HEADS // KV_HEADS, axis=1) for x in (k, v))
    scores = np.einsum("qhd,khd->hqk", q, k) * m.scale
    if m.cap:
        scores = m.cap * np.tanh(scores / m.cap)
    query, key = np.mgrid[: len(h), : len(h)]
    scores[:, (key > query) | (m.slides(layer) & (key <= query - m.window))] = -np.inf
    y = np.einsum("hqk,khd->qhd", softmax(scores), v).reshape(len(h), HEADS * HEAD)
    return y @ w[b + "attn_output.weight"].T


def activate(m, gate):
    if m.is_gemma:
        return gate / 2 * (1 + np.tanh((2 / np.pi) ** 0.5 * (gate + 0.044715 * gate**3)))
    return gate / (1 + np.exp(-gate))


def experts(m, w, b, h):
    p = softmax(h @ w[b + "ffn_gate_inp.weight"].T)
    y = np.zeros_like(h)
    for t in range(len(h)):
        chosen = np.argsort(-p[t], kind="stable")[:USED]
        total = p[t, chosen].sum() if m.architecture == "qwen3moe" else 1
        for e in chosen:
            gate, up = (w[f"{b}ffn_{n}_exps.weight"][e] @ h[t] for n in ("gate", "up"))
            y[t] += p[t, e] / total * (w[b + "ffn_down_exps.weight"][e] @ (activate(m, gate) * up))
    return y


def mlp(m, w, b, h):
    if m.has_experts:
        return experts(m, w, b, h)
    if m.architecture == "phi3":
        gate, up = np.split(h @ w[b + "ffn_up.weight"].T, 2, axis=-1)
    else:
        gate, up = h @ w[b + "ffn_gate.weight"].T, h @ w[b + "ffn_up.weight"].T
    return (activate(m, gate) * up) @ w[b + "ffn_down.weight"].T


def logits(m, w, tokens, capacity=None):
    """Of each token's successor: [T, vocabulary]. capacity: as of llama_read_config; None: the context."""
    capacity = capacity or m.context
    x = w["token_embd.weight"][tokens] * (WIDTH**0.5 if m.is_gemma else 1)
    for i in range(m.layers):
        b = f"blk.{i}."
        y = attention(m, w, i, norm(x, w[b + "attn_norm.weight"]), capacity)
        x = x + (norm(y, w[b + "post_attention_norm.weight"]) if m.is_gemma else y)
        y = mlp(m, w, b, norm(x, w[b + "ffn_norm.weight"]))
        x = x + (norm(y, w[b + "post_ffw_norm.weight"]) if m.is_gemma else y)
    y = norm(x, w["output_norm.weight"]) @ w.get("output.weight", w["token_embd.weight"]).T
    return m.logit_cap * np.tanh(y / m.logit_cap) if m.logit_cap else y


def losses(m, w, tokens, capacity=None):
    """-log of the probability of each token after the first."""
    rows = logits(m, w, tokens, capacity)[:-1]
    top = rows.max(-1)
    return top + np.log(np.exp(rows - top[:, None]).sum(-1)) - rows[range(len(rows)), tokens[1:]]


# ---- models of the tests

TEXT = "".join(chr(32 + (7 * i * i + 3 * i + 5) % 95) for i in range(60))
SHORT = 30  # bytes of it for which LongRoPE takes its short factors
YARN = ("yarn", 4.0, 16)
LONG = ("longrope", 32, 1.25)
GEMMA = {"tied": False, "window": 20, "cap": 5.0, "logit_cap": 8.0, "period": 2, "scale": 0.2}
MODELS = {
    "llama": Model("llama", tied=False),
    "llama, linear scaling": Model("llama", scaling=("linear", 4.0)),
    "llama, divided angles": Model("llama", scaling=("divided",)),
    "llama, YaRN": Model("llama", scaling=YARN),
    "mistral": Model("llama", window=20, tied=False),
    "qwen2": Model("qwen2"),
    "qwen2, YaRN": Model("qwen2", scaling=YARN),
    "qwen3": Model("qwen3", base=1000000.0),
    "qwen3moe": Model("qwen3moe", tied=False),
    "olmoe": Model("olmoe", tied=False),
    "gemma2": Model("gemma2", **GEMMA),
    "gemma3": Model("gemma3", tied=False, layers=3, window=20, period=2, base=1000000.0, scaling=("linear", 8.0)),
    "gemma3, six layers": Model("gemma3", layers=6, window=20, period=6, base=1000000.0),
    "phi3": Model("phi3", tied=False, window=30),
    "phi3, a part rotated": Model("phi3", rotary=12),
    "phi3, LongRoPE": Model("phi3", tied=False, scaling=LONG),
}
