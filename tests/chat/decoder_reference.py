"""A decoder-only model in NumPy, in float64: what examples/llama_graph.h builds, written from the models' papers. Also writes small random models as
GGUF files, with the package gguf."""

import gguf
import numpy as np

LAYERS, WIDTH, HEADS, KV_HEADS, HEAD, FFN, CONTEXT, BASE, EPSILON = 2, 64, 4, 2, 16, 96, 64, 10000.0, 1e-5


def byte_tokens():
    """GPT-2's printable code points for the 256 bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    other = iter(range(256, 512))
    return [chr(b) if b in plain else chr(next(other)) for b in range(256)]


def shapes(architecture, tied):
    vocabulary = 256 + 4
    found = {"token_embd.weight": (vocabulary, WIDTH), "output_norm.weight": (WIDTH,)}
    if not tied:
        found["output.weight"] = (vocabulary, WIDTH)
    for i in range(LAYERS):
        b = f"blk.{i}."
        for name, rows in (("q", HEADS * HEAD), ("k", KV_HEADS * HEAD), ("v", KV_HEADS * HEAD)):
            found[f"{b}attn_{name}.weight"] = (rows, WIDTH)
            if architecture == "qwen2":
                found[f"{b}attn_{name}.bias"] = (rows,)
        if architecture == "qwen3":
            found[b + "attn_q_norm.weight"] = found[b + "attn_k_norm.weight"] = (HEAD,)
        found |= {b + "attn_output.weight": (WIDTH, HEADS * HEAD), b + "ffn_gate.weight": (FFN, WIDTH), b + "ffn_up.weight": (FFN, WIDTH)}
        found |= {b + "ffn_down.weight": (WIDTH, FFN), b + "attn_norm.weight": (WIDTH,), b + "ffn_norm.weight": (WIDTH,)}
    return found


def weights(architecture, tied, seed):
    rng = np.random.default_rng(seed)
    found = {}
    for name, shape in shapes(architecture, tied).items():
        x = rng.standard_normal(shape)
        found[name] = (1 + x / 8 if "norm" in name else x if "bias" in name or "embd" in name else x * 2 / shape[-1] ** 0.5).astype(np.float32)
    return found


def write(path, architecture, tensors, format, rotary=HEAD, change=lambda w: None, template=None, context=CONTEXT):
    """Writes the file; returns the tensors as the file has them, in float64. Norms and biases are f32."""
    w = gguf.GGUFWriter(path, architecture)
    w.add_block_count(LAYERS), w.add_context_length(context), w.add_embedding_length(WIDTH), w.add_feed_forward_length(FFN)
    w.add_head_count(HEADS), w.add_head_count_kv(KV_HEADS), w.add_key_length(HEAD), w.add_value_length(HEAD)
    w.add_layer_norm_rms_eps(EPSILON), w.add_rope_freq_base(BASE), w.add_rope_dimension_count(rotary)
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


def norm(x, w):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * w


def rotate(x, rotary, pairs, scale):
    """x[T, heads, HEAD]: features 2i and 2i + 1, or i and i + rotary / 2, by the angle position * BASE^(-2i / rotary)."""
    angle = np.arange(len(x))[:, None] * BASE ** (-2 * np.arange(rotary // 2) / rotary) / scale
    c, s = np.cos(angle)[:, None], np.sin(angle)[:, None]
    first, second = (slice(0, rotary, 2), slice(1, rotary, 2)) if pairs else (slice(0, rotary // 2), slice(rotary // 2, rotary))
    y = x.copy()
    y[..., first] = x[..., first] * c - x[..., second] * s
    y[..., second] = x[..., second] * c + x[..., first] * s
    return y


def attention(w, b, h, architecture, rotary, scale):
    project = lambda name, heads: (h @ w[f"{b}attn_{name}.weight"].T + w.get(f"{b}attn_{name}.bias", 0)).reshape(len(h), heads, HEAD)  # noqa: E731
    q, k, v = project("q", HEADS), project("k", KV_HEADS), project("v", KV_HEADS)
    if architecture == "qwen3":
        q, k = norm(q, w[b + "attn_q_norm.weight"]), norm(k, w[b + "attn_k_norm.weight"])
    q, k = (rotate(x, rotary, architecture == "llama", scale) for x in (q, k))
    k, v = (np.repeat(x, HEADS // KV_HEADS, axis=1) for x in (k, v))
    scores = np.einsum("qhd,khd->hqk", q, k) / HEAD**0.5
    scores[:, np.triu(np.ones((len(h), len(h)), bool), 1)] = -np.inf
    p = np.exp(scores - scores.max(-1, keepdims=True))
    y = np.einsum("hqk,khd->qhd", p / p.sum(-1, keepdims=True), v).reshape(len(h), HEADS * HEAD)
    return y @ w[b + "attn_output.weight"].T


def logits(w, tokens, architecture, rotary=HEAD, scale=1.0):
    """Of each token's successor: [T, vocabulary]."""
    x = w["token_embd.weight"][tokens]
    for i in range(LAYERS):
        b = f"blk.{i}."
        x = x + attention(w, b, norm(x, w[b + "attn_norm.weight"]), architecture, rotary, scale)
        h = norm(x, w[b + "ffn_norm.weight"])
        gate, up = h @ w[b + "ffn_gate.weight"].T, h @ w[b + "ffn_up.weight"].T
        x = x + (gate / (1 + np.exp(-gate)) * up) @ w[b + "ffn_down.weight"].T
    return norm(x, w["output_norm.weight"]) @ w.get("output.weight", w["token_embd.weight"]).T
