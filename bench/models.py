"""Workloads of bench/run.py --models: an encoder as large as BERT-base, and layers of Llama-like decoders, all with random weights."""

import math

import torch
import torch.nn.functional as F

import bert
import llama
from workloads import Workload, attention_library, encoder, randn

BF16 = torch.bfloat16


def rotated(x, heads, cosine, sine):
    """Heads of x[tokens, heads * head] as [1, heads, tokens, head], with rotary embedding."""
    t = x.view(1, x.shape[0], heads, -1).transpose(1, 2)
    low, high = t.chunk(2, -1)
    return t * cosine + torch.cat((-high, low), -1) * sine


def llama_torch(size, cache):
    """The graph of llama.text."""

    def attention(w, i, q, k, v):
        if not cache:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        keys = w[f"k_cache{i}"].index_copy_(2, w["position"], k)
        values = w[f"v_cache{i}"].index_copy_(2, w["position"], v)
        return F.scaled_dot_product_attention(q, keys, values, enable_gqa=True)

    def forward(x0, cosine, sine, **w):
        x, tokens = x0, x0.shape[0]
        norm = lambda x, n: F.rms_norm(x, (size.width,), w[n], 1e-5)
        for i in range(size.layers):
            h = norm(x, f"norm{i}")
            q = rotated(F.linear(h, w[f"q{i}"]), size.heads, cosine, sine)
            k = rotated(F.linear(h, w[f"k{i}"]), size.kv_heads, cosine, sine)
            v = F.linear(h, w[f"v{i}"]).view(1, tokens, size.kv_heads, size.head).transpose(1, 2)
            a = attention(w, i, q, k, v).transpose(1, 2).reshape(tokens, -1)
            y = F.linear(a, w[f"o{i}"]) + x
            m = norm(y, f"mlp_norm{i}")
            x = F.linear(F.silu(F.linear(m, w[f"gate{i}"])) * F.linear(m, w[f"up{i}"]), w[f"down{i}"]) + y
        return x

    return forward


def decoder(name, size, tokens, cache=0):
    """Tokens after a cache of so many entries, the last ones of which they write; or a prompt."""

    def inputs():
        weights = {n: randn(*s, dtype=BF16, scale=s[-1] ** -0.5) if len(s) > 1 else 1 + randn(*s, dtype=BF16, scale=0.05) for n, s in llama.shapes(size).items()}
        angle = torch.rand(tokens, size.head // 2, device="cuda") * 2 * math.pi
        turns = {n: torch.cat((f(angle), f(angle)), -1).to(BF16) for n, f in (("cosine", torch.cos), ("sine", torch.sin))}
        caches = {f"{n}_cache{i}": randn(1, size.kv_heads, cache, size.head, dtype=BF16) for i in range(size.layers) for n in "kv"} if cache else {}
        positions = {"position": torch.arange(cache - tokens, cache, device="cuda")} if cache else {}
        return {"x0": randn(tokens, size.width, dtype=BF16), **turns, **weights, **positions, **caches}

    weights = sum(math.prod(s) for s in llama.shapes(size).values())
    entries = 2 * size.layers * size.kv_heads * size.head * cache
    what = f"decode {tokens}, cache {cache}" if cache else f"prefill {tokens}"
    return Workload(f"{name} bf16, {what}", llama.text(size, "decoder", tokens, cache), llama_torch(size, cache), inputs, [], 2 * (weights + entries),
                    (f"x{size.layers}",), by_bytes=False)


def models():
    return [encoder("BERT-base", bert.BASE, 32, 128, attention_library, "SDPA"), decoder("8 layers of Llama 8B", llama.LLAMA_8B, 1, 2048),
            decoder("8 layers of Llama 8B", llama.LLAMA_8B, 2048), decoder("SmolLM2 135M", llama.SMOLLM2_135M, 1, 2048)]
