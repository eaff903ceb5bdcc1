"""Layers of a Llama-like decoder as a graph in the text form: tokens after a cache, or a prompt without one. The hidden states and the rotary
embedding's cosines and sines are inputs."""

import dataclasses


@dataclasses.dataclass
class Size:
    layers: int
    width: int
    heads: int
    kv_heads: int
    head: int
    ffn: int


LLAMA_8B = Size(layers=8, width=4096, heads=32, kv_heads=8, head=128, ffn=14336)
SMOLLM2_135M = Size(layers=30, width=576, heads=9, kv_heads=3, head=64, ffn=1536)


def shapes(size):
    """Shapes of the weights, by name."""
    q, kv = size.heads * size.head, size.kv_heads * size.head
    found = {}
    for i in range(size.layers):
        found |= {f"q{i}": (q, size.width), f"k{i}": (kv, size.width), f"v{i}": (kv, size.width), f"o{i}": (size.width, q), f"gate{i}": (size.ffn, size.width),
                  f"up{i}": (size.ffn, size.width), f"down{i}": (size.width, size.ffn), f"norm{i}": (size.width,), f"mlp_norm{i}": (size.width,)}
    return found


def rotated(x, heads, tokens, size):
    """x * cosine + rotate_half(x) * sine, of x[tokens, heads * head], as in transformers."""
    half = size.head // 2
    return [f"{x}v = view({x}, size=[1, {tokens}, {heads}, {size.head}])", f"{x}t = transpose({x}v, dim0=1, dim1=2)",
            f"{x}lo = slice({x}t, dim=3, start=0, end={half})", f"{x}hi = slice({x}t, dim=3, start={half}, end={size.head})", f"{x}n = neg({x}hi)",
            f"{x}h = cat([{x}n, {x}lo], dim=3)", f"{x}c = mul({x}t, cosine)", f"{x}s = mul({x}h, sine)", f"{x}r = add({x}c, {x}s)"]


def layer(size, i, tokens, cache):
    norm = f"normalized_shape=[{size.width}], eps=1e-5"
    lines = [f"h{i} = rms_norm(x{i}, norm{i}, {norm})", f"ql{i} = linear(h{i}, q{i})", f"kl{i} = linear(h{i}, k{i})", f"vl{i} = linear(h{i}, v{i})",
             *rotated(f"ql{i}", size.heads, tokens, size), *rotated(f"kl{i}", size.kv_heads, tokens, size),
             f"vlv{i} = view(vl{i}, size=[1, {tokens}, {size.kv_heads}, {size.head}])", f"vlt{i} = transpose(vlv{i}, dim0=1, dim1=2)"]
    keys, values, causal = f"kl{i}r", f"vlt{i}", "true"
    if cache:
        keys, values, causal = f"keys{i}", f"values{i}", "false"
        lines += [f"{keys} = index_copy(k_cache{i}, dim=2, index=position, source=kl{i}r)", f"mutate k_cache{i} = {keys}",
                  f"{values} = index_copy(v_cache{i}, dim=2, index=position, source=vlt{i})", f"mutate v_cache{i} = {values}"]
    return lines + [f"a{i} = scaled_dot_product_attention(ql{i}r, {keys}, {values}, is_causal={causal}, enable_gqa=true)", f"at{i} = transpose(a{i}, dim0=1, dim1=2)",
                    f"av{i} = view(at{i}, size=[{tokens}, {size.heads * size.head}])", f"ol{i} = linear(av{i}, o{i})", f"y{i} = add(ol{i}, x{i})",
                    f"m{i} = rms_norm(y{i}, mlp_norm{i}, {norm})", f"gl{i} = linear(m{i}, gate{i})", f"gs{i} = silu(gl{i})", f"ul{i} = linear(m{i}, up{i})",
                    f"gu{i} = mul(gs{i}, ul{i})", f"dl{i} = linear(gu{i}, down{i})", f"x{i + 1} = add(dl{i}, y{i})"]


def text(size, name, tokens, cache=0):
    """`tokens` rows of hidden states x0; with a cache of so many entries, keys and values are written at `position`, and all entries are read."""
    lines = [f"input x0 : bf16[{tokens}, {size.width}]", f"input cosine : bf16[{tokens}, {size.head}]", f"input sine : bf16[{tokens}, {size.head}]"]
    lines += [f"const {n} : bf16[{', '.join(map(str, shape))}]" for n, shape in shapes(size).items()]
    if cache:
        lines.append(f"input position : i64[{tokens}]")
        lines += [f"input {n}_cache{i} : bf16[1, {size.kv_heads}, {cache}, {size.head}]" for i in range(size.layers) for n in "kv"]
    for i in range(size.layers):
        lines += layer(size, i, tokens, cache)
    mutations = [line for line in lines if line.startswith("mutate")]
    lines = [line for line in lines if not line.startswith("mutate")]
    return f"graph {name} {{\n" + "\n".join("  " + line for line in [*lines, *mutations, f"output x{size.layers}"]) + "\n}"
