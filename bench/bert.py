"""A BERT-like encoder as a graph in the text form, followed by mean pooling over the tokens and normalisation."""

import dataclasses


@dataclasses.dataclass
class Size:
    layers: int
    width: int
    heads: int
    ffn: int
    vocabulary: int
    positions: int

    @property
    def scale(self):
        return (self.width // self.heads) ** -0.5


BASE = Size(layers=12, width=768, heads=12, ffn=3072, vocabulary=30522, positions=512)


def shapes(size):
    """Shapes of the weights, by name."""
    wide, ffn = size.width, size.ffn
    found = {"word": (size.vocabulary, wide), "position": (size.positions, wide), "type": (2, wide), "norm_w": (wide,), "norm_b": (wide,)}
    for i in range(size.layers):
        for name, rows, cols in (("q", wide, wide), ("k", wide, wide), ("v", wide, wide), ("o", wide, wide), ("up", ffn, wide), ("down", wide, ffn)):
            found[f"{name}{i}_w"], found[f"{name}{i}_b"] = (rows, cols), (rows,)
        for norm in ("n", "m"):
            found[f"{norm}{i}_w"], found[f"{norm}{i}_b"] = (wide,), (wide,)
    return found


def layer(size, i):
    norm = f"normalized_shape=[{size.width}], eps=1e-12"
    lines = []
    for n in "qkv":
        lines += [f"{n}l{i} = linear(x{i}, {n}{i}_w, {n}{i}_b)", f"{n}v{i} = view({n}l{i}, size=[B, S, {size.heads}, {size.width // size.heads}])",
                  f"{n}t{i} = transpose({n}v{i}, dim0=1, dim1=2)"]
    return lines + [f"kk{i} = transpose(kt{i}, dim0=2, dim1=3)", f"qk{i} = matmul(qt{i}, kk{i})", f"sc{i} = mul(qk{i}, {size.scale!r})",
                    f"sm{i} = add(sc{i}, bias)", f"a{i} = softmax(sm{i}, dim=-1)", f"c{i} = matmul(a{i}, vt{i})", f"ct{i} = transpose(c{i}, dim0=1, dim1=2)",
                    f"cv{i} = view(ct{i}, size=[B, S, {size.width}])", f"ol{i} = linear(cv{i}, o{i}_w, o{i}_b)", f"or{i} = add(ol{i}, x{i})",
                    f"y{i} = layer_norm(or{i}, n{i}_w, n{i}_b, {norm})", f"ul{i} = linear(y{i}, up{i}_w, up{i}_b)", f"ug{i} = gelu(ul{i})",
                    f"dl{i} = linear(ug{i}, down{i}_w, down{i}_b)", f"dr{i} = add(dl{i}, y{i})", f"x{i + 1} = layer_norm(dr{i}, m{i}_w, m{i}_b, {norm})"]


def text(size, name, dtype):
    lines = ["size B in [1, 1024] hint 32", f"size S in [1, {size.positions}] hint 128", "input ids : i64[B, S]", f"input mask : {dtype}[B, S]"]
    lines += [f"const {n} : {dtype}[{', '.join(map(str, shape))}]" for n, shape in shapes(size).items()]
    lines += ["e = embedding(word, ids)", "p = slice(position, dim=0, start=0, end=S)", "ep = add(e, p)", "t = select(type, dim=0, index=0)",
              "et = add(ep, t)", f"x0 = layer_norm(et, norm_w, norm_b, normalized_shape=[{size.width}], eps=1e-12)",
              "m0 = sub(mask, 1.0)", "m1 = mul(m0, 10000.0)", "bias = view(m1, size=[B, 1, 1, S])"]
    for i in range(size.layers):
        lines += layer(size, i)
    lines += ["mu = unsqueeze(mask, dim=2)", f"xm = mul(x{size.layers}, mu)", "xs = sum(xm, dim=[1])", "ms = sum(mask, dim=[1], keepdim=true)",
              "mean = div(xs, ms)", "sq = mul(mean, mean)", "ss = sum(sq, dim=[1], keepdim=true)", "norm = sqrt(ss)", "out = div(mean, norm)", "output out"]
    return f"graph {name} {{\n" + "\n".join("  " + line for line in lines) + "\n}"
