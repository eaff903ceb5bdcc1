"""The motifs of pass_graphs.py: each is a function that adds some ops to a graph, with parts drawn."""

from graph_writer import EPS, Size, Tensor, elements, sizes


def several(g, call, operands, results):
    """An op with several results: [(dtype, shape, most, error)]."""
    made = [Tensor(g.name(), d, s, m, e if d in EPS else 0.0, [o.name for o in operands]) for d, s, m, e in results]
    names = [t.name for t in made]
    g.lines.append((f"  {', '.join(names)} = {call}", names, made[0].needs))
    g.read.update(made[0].needs)
    g.tensors += made
    return made


# ---- attention


def attention_mask(g, scores):
    b, h, s, t = scores.shape
    return g.pick([s, t], [1, 1, s, t], [b, 1, 1, t], [b, 1, s, t], [t])


def masked(g, p):
    kind = g.pick("none", "none", "add", "add", "where", "fill", "causal", "bool")
    if kind == "add":
        return g.add(p, g.input(attention_mask(g, p), p.dtype, g.pick("m", "x")))
    if kind == "bool":
        return g.binary("add", p, g.input(attention_mask(g, p), "bool"))
    if kind in ("where", "fill"):
        c = g.input(attention_mask(g, p), "bool")
        low = g.pick("-inf", "-1e9" if p.dtype in ("f32", "f64", "bf16") else "-1e4")
        if kind == "fill":
            return g.add_op(f"masked_fill({p.name}, {c.name}, {low})", [p, c], p.dtype, p.shape, p.most, p.error)
        return g.where(c, p, low) if g.chance(0.7) else g.where(c, low, p)
    if kind == "causal":
        ones = g.number("1", "bool", p.shape[-2:])
        low = g.add_op(f"tril({ones.name})", [ones], "bool", p.shape[-2:], 1, 0)
        return g.where(low, p, "-inf")
    return p


def written_softmax(g, x, dim):
    m = g.reduce("amax", x, [dim % x.rank])
    e = g.unary("exp", g.binary("sub", x, m), most=1.0)
    e.error = min(3 * x.error + g.eps(x) * (8 + 4 * x.most), 1.0)
    s = g.reduce("sum", e, [dim % x.rank])
    n = float(x.shape[dim])
    return g.add_op(f"div({e.name}, {s.name})", [e, s], x.dtype, x.shape, 1.0, (2 + n) * e.error + g.eps(x) * (8 + n))


def scores_softmax(g, p):
    dim = g.pick(-1, -1, -1, -1, -1, -1, -1, 2 - p.rank)
    if g.chance(0.2) and g.symbolic is False:
        return written_softmax(g, p, dim)
    w = g.softmax(p, dim)
    if g.chance(0.25):  # 0 in rows of -inf, as PyTorch decomposes it
        e = g.add_op(f"eq({p.name}, -inf)", [p], "bool", p.shape, 1, 0)
        n = g.add_op(f"logical_not({e.name})", [e], "bool", p.shape, 1, 0)
        h = g.reduce("any", n, [p.rank - 1])
        o = g.add_op(f"logical_not({h.name})", [h], "bool", h.shape, 1, 0)
        return g.where(o, g.number("0", w.dtype, w.shape), w) if g.chance(0.6) else g.where(o, 0, w)
    return w


def heads(g, b, h, s, e):
    """[b, h, s, e], maybe by a permutation of [b, s, h, e]."""
    if g.chance(0.5):
        return g.permute(g.input([b, s, h, e]), [0, 2, 1, 3])
    return g.input([b, h, s, e])


def batched_product(g, a, b):
    """By matmul, or by views to three dimensions and bmm."""
    if g.chance(0.6):
        return g.matmul(a, b)
    n = a.shape[0] * a.shape[1]
    y = g.matmul(g.view(a, [n, *a.shape[2:]]), g.view(b, [n, *b.shape[2:]]), "bmm")
    return g.view(y, a.shape[:2] + y.shape[1:])


def repeated(g, x, groups):
    """Each head of x several times."""
    b, k, s, e = x.shape
    u = g.moved(f"unsqueeze({x.name}, dim=2)", x, [b, k, 1, s, e])
    wide = [b, k, groups, s, e]
    return g.view(g.moved(f"expand({u.name}, size={sizes(wide)})", u, wide), [b, k * groups, s, e])


def attention(g):
    b, s, t = g.size(), g.size(), g.size()
    k, groups, e, v = g.pick(Size(1), Size(2), Size(3)), Size(g.pick(1, 1, 2)), g.fixed(), g.fixed()
    q, key, value = heads(g, b, k * groups, s, e), heads(g, b, k, t, e), heads(g, b, k, t, v)
    if groups > 1:
        key, value = repeated(g, key, groups), repeated(g, value, groups)
    scale = g.pick("none", "query", "key", "both", "scores", "scores", "div", "div_query", "tensor")
    kt = g.permute(key, [0, 1, 3, 2])
    if scale in ("query", "both"):
        q = g.mul(q, g.pick("0.25", "0.5"))
    if scale == "div_query":
        q = g.binary("div", q, "2.0")
    if scale in ("key", "both"):
        kt = g.mul(kt, g.pick("0.25", "0.5"))
    p = batched_product(g, q, kt)
    if scale == "scores":
        p = g.mul(p, g.pick("0.35", "0.125"))
    if scale == "div":
        p = g.binary("div", p, "2.828")
    if scale == "tensor":
        p = g.mul(p, g.input([k * groups, 1, 1]))
    wide = p.dtype in ("f16", "bf16") and g.chance(0.7)
    p = masked(g, p) if g.chance(0.5) or not wide else g.cast(masked(g, p), "f32")
    narrow = p.dtype
    w = scores_softmax(g, g.cast(p, "f32") if wide else p)
    w = g.cast(w, g.dtype) if w.dtype != g.dtype else w
    if g.chance(0.1):
        w = g.moved(f"clone({w.name})", w, w.shape)
    y = batched_product(g, w, value)
    if g.chance(0.4):
        y = g.permute(y, [0, 2, 1, 3])
        if g.chance(0.6):
            y = g.view(y, [b, s, k * groups * v])
    return y, narrow


# ---- convolutions


def image(g, spatial=None):
    n = spatial or g.pick(1, 2, 2, 2, 3)
    fits = lambda t: t.rank == n + 2 and all(s.fixed and s > 2 for s in t.shape[2:]) and t.shape[1].fixed
    return g.tensor(fits, lambda: [g.size() if n < 3 else Size(2), g.pick(Size(2), Size(4)) if n == 3 else g.fixed(), *(Size(g.pick(4, 6)) for _ in range(n))])


def each(n, value):
    return "[" + ", ".join([str(value)] * n) + "]"


def convolution(g, x):
    """Of 1 to 3 dimensions, maybe transposed; None: the image is too small."""
    n, c, kernel = x.rank - 2, x.shape[1], g.pick(1, 1, 3)
    groups = g.pick(1, 1, 1, int(c) if int(c) in (2, 3, 4) else 1)
    transposed = groups == 1 and g.chance(0.2)
    o = c if groups > 1 else g.pick(Size(2), Size(4))
    const = g.chance(0.8)
    w = g.input([c, o, *[kernel] * n] if transposed else [o, Size(int(c) // groups), *[kernel] * n], const=const)
    bias = [g.input([o], const=const)] if g.chance(0.5) else []
    padding, stride = (0 if kernel == 1 else g.pick(0, 0, 1)), g.pick(1, 1, 2)
    out = [Size((int(s) - 1) * stride - 2 * padding + kernel if transposed else (int(s) + 2 * padding - kernel) // stride + 1) for s in x.shape[2:]]
    if min(out) < 1:
        return None
    operands = ", ".join(t.name for t in [x, w, *bias])
    form = f"stride={each(n, stride)}, padding={each(n, padding)}"
    call = f"conv{'_transpose' if transposed else ''}{n}d({operands}, {form}, groups={groups})"
    if g.chance(0.3):
        none = "" if bias else ", none"
        call = f"convolution({operands}{none}, {form}, dilation={each(n, 1)}, transposed={str(transposed).lower()}, output_padding={each(n, 0)}, groups={groups})"
    return g.product(call, x, w, int(c) // groups * kernel**n, x.dtype, [x.shape[0], o, *out], bias)


def channel_op(g, y):
    """With one number for each channel, or what only looks so."""
    shape = g.pick([1, y.shape[1]] + [1] * (y.rank - 2), [y.shape[1]] + [1] * (y.rank - 2), [1] * (y.rank - 1) + [y.shape[-1]], [1])
    op, const = g.pick("add", "sub", "mul", "div"), g.chance(0.8)
    other = g.input(shape, kind="v" if op == "div" else "x", const=const)
    return g.binary(op, y, other) if op in ("div", "mul", "add") or g.chance(0.7) else g.binary(op, other, y)


def batch_norm(g, x):
    c = x.shape[1]
    parameters = [g.input([c], kind=k, const=g.chance(0.8)) for k in ("x", "x", "x", "v")]
    most = 1.5 * (x.most + 1) + 1
    error = 1.5 * x.error + 8 * g.eps(x) * most
    if g.chance(0.5):
        return g.add_op(f"batch_norm({', '.join(t.name for t in [x, *parameters])}, training=false, eps=0.001)", [x, *parameters], x.dtype, x.shape, most, error)
    weight, bias, mean, var = parameters
    up = lambda t: g.view(t, [c] + [1] * (x.rank - 2)) if g.chance(0.5) else unsqueezed(g, t, x.rank - 2)
    r = g.unary("rsqrt", g.add(var, "0.001"), most=1.5, slope=2.0)
    return g.add(g.mul(g.mul(g.binary("sub", x, up(mean)), up(r)), up(weight)), up(bias))


def unsqueezed(g, x, times):
    for _ in range(times):
        x = g.moved(f"unsqueeze({x.name}, dim=-1)", x, x.shape + [Size(1)])
    return x


def conv_bn(g):
    x = image(g)
    y = convolution(g, padded(g, x, g.pick("0", "0", "1")) if g.chance(0.3) else x)
    if not y:
        return
    for _ in range(g.pick(0, 1, 1, 2)):
        y = channel_op(g, y) if g.chance(0.4) else batch_norm(g, y)
    if g.chance(0.3):
        y = g.add(y, g.input(y.shape))
    if g.chance(0.5):
        g.unary("relu", y, exact=True)


def lone_batch_norm(g):
    x = g.tensor(lambda t: t.rank > 1 and t.shape[1].fixed, lambda: [g.size(), g.fixed(), *([g.fixed()] * g.pick(0, 0, 1, 2, 3))])
    if x.shape[1].fixed:
        batch_norm(g, x)


def padded(g, x, value):
    n = x.rank - 2
    before = g.pick([1] * (2 * n), [1] * (2 * n), [1, 1, 2, 2, 0, 0][: 2 * n], [1, 0] * n, [0, 0] * n + [1, 1])
    shape = list(x.shape)
    for d in range(len(before) // 2):
        if before[2 * d] + before[2 * d + 1]:
            shape[x.rank - 1 - d] = shape[x.rank - 1 - d] + (before[2 * d] + before[2 * d + 1])
    op = g.pick("constant_pad_nd", "pad")
    return g.add_op(f"{op}({x.name}, pad=[{', '.join(map(str, before))}], value={value})", [x], x.dtype, shape, max(x.most, 1), x.error)


def pooling(g):
    x = image(g)
    n, kind = x.rank - 2, g.pick("max", "max", "avg")
    if g.chance(0.6):
        x = padded(g, x, g.pick("-inf", "-inf", "0") if kind == "max" else "0")
    if not all(s.fixed for s in x.shape[2:]):
        return
    k, stride = g.pick(2, 3, 4), g.pick(1, 2)
    padding = g.pick(0, 0, 1)
    out = [Size((int(s) + 2 * padding - k) // stride + 1) for s in x.shape[2:]]
    if min(out) < 1:
        return
    more = ", count_include_pad=false" if kind == "avg" and g.chance(0.3) else ""
    g.add_op(f"{kind}_pool{n}d({x.name}, kernel_size={each(n, k)}, stride={each(n, stride)}, padding={each(n, padding)}{more})", [x], x.dtype, x.shape[:2] + out,
             x.most, x.error + (0 if kind == "max" else 4 * g.eps(x) * x.most))


# ---- products


def shared_products(g):
    x = g.tensor(lambda t: t.rank in (2, 3) and t.shape[-1].fixed, lambda: [g.size(), g.fixed()] if g.chance(0.5) else [g.size(), g.size(), g.fixed()])
    k, n = x.shape[-1], g.fixed()
    if not k.fixed:
        return
    made = []
    for _ in range(g.pick(2, 2, 3, 4)):
        n = n if g.chance(0.7) else g.fixed()
        const = g.chance(0.85)
        bias = g.input([n], const=const) if g.chance(0.4) else None
        if g.chance(0.7):
            made.append(g.linear(x, g.input([n, k], const=const), bias))
        elif g.chance(0.5) and x.rank == 2:
            w = g.input([k, n], const=const)
            made.append(g.product(f"addmm({bias.name}, {x.name}, {w.name})", x, w, k, x.dtype, [x.shape[0], n], [bias]) if bias else g.matmul(x, w, "mm"))
        else:
            made.append(g.matmul(x, g.input([k, n], const=const)))
    if g.chance(0.4) and made[0].shape == made[1].shape:
        a = g.unary(g.pick("silu", "gelu", "sigmoid", "relu"), made[0], slope=1.2)
        g.mul(a, made[1])
    elif g.chance(0.3):
        g.add_op(f"cat([{', '.join(t.name for t in made)}], dim=-1)", made, x.dtype, made[0].shape[:-1] + [sum((t.shape[-1] for t in made[1:]), made[0].shape[-1])],
                 max(t.most for t in made), max(t.error for t in made))


def equal_products(g):
    m, k, n, count = g.size(), g.fixed(), g.fixed(), g.pick(2, 3)
    if g.chance(0.5):
        x, w = g.input([count, m, k]), g.input([count, k, n], const=g.chance(0.6))
        for i in range(count):
            g.matmul(*(g.moved(f"select({t.name}, dim=0, index={i})", t, t.shape[1:]) for t in (x, w)), g.pick("mm", "matmul"))
    else:
        for _ in range(count):
            g.matmul(g.input([m, k]), g.input([k, n]), "mm")


def thin_product(g):
    m, k, n = g.size(), g.fixed(), g.fixed()
    m, k, n = g.pick((Size(1), k, n), (m, Size(1), n), (m, k, Size(1)), (m, Size(2), n))
    batch = [g.size()] if g.chance(0.4) else []
    y = g.matmul(g.input(batch + [m, k]), g.input(batch + [k, n]))
    if g.chance(0.6):
        g.add(y, g.input([n])) if g.chance(0.5) else g.unary("tanh", y, most=1.0)


def product_chain(g):
    a, b, c = g.input([g.size(), g.fixed()]), None, None
    b = g.input([a.shape[1], g.fixed()], const=g.chance(0.5))
    c = g.input([b.shape[1], g.fixed()], const=g.chance(0.5))
    if g.chance(0.5):
        g.matmul(g.matmul(a, b, "mm"), c, "mm")
    else:
        g.matmul(a, g.matmul(b, c))


def sum_of_products(g):
    m, n = g.size(), g.fixed()
    y = [g.matmul(g.input([m, k]), g.input([k, n]), "mm") for k in (g.fixed(), g.fixed())]
    g.add(*y)


# ---- casts, views, slices


def cast_chain(g):
    x = g.tensor() if g.chance(0.6) else g.input(g.shape(), g.pick("i32", "i16", "u8", "bool", "i64"), "i", limit=3)
    for _ in range(g.random.randint(1, 4)):
        choices = ["f32", "f64", "bf16", "f16"] + ([] if x.error or x.most > 100 or g.special else ["i32", "i64", "i16"])
        x = g.cast(x, g.pick(*choices, g.dtype))
    if x.is_float and g.chance(0.5):
        g.unary("neg", x, exact=True)


def view_step(g, x):
    kind = g.pick("permute", "permute", "view", "view", "flatten", "unsqueeze", "squeeze", "expand", "double")
    if kind == "permute" and x.rank > 1:
        dims = list(range(x.rank))
        g.random.shuffle(dims)
        return g.permute(x, dims)
    if kind == "view" and x.rank < 5:
        d = g.random.randrange(x.rank) if x.rank else 0
        halves = [f for f in (2, 3, 4) if x.rank and x.shape[d].fixed and int(x.shape[d]) % f == 0]
        if halves:
            f = g.pick(*halves)
            return g.view(x, x.shape[:d] + [Size(f), Size(int(x.shape[d]) // f)] + x.shape[d + 1 :])
    if kind == "flatten" and x.rank > 1:
        d = g.random.randrange(x.rank - 1)
        shape = x.shape[:d] + [x.shape[d] * x.shape[d + 1]] + x.shape[d + 2 :]
        return g.view(x, shape) if g.chance(0.6) else g.moved(f"flatten({x.name}, start_dim={d}, end_dim={d + 1})", x, shape)
    if kind == "unsqueeze" and x.rank < 5:
        d = g.random.randint(0, x.rank)
        return g.moved(f"unsqueeze({x.name}, dim={d})", x, x.shape[:d] + [Size(1)] + x.shape[d:])
    if kind == "squeeze" and any(s == 1 and s.fixed for s in x.shape):
        d = next(d for d, s in enumerate(x.shape) if s == 1 and s.fixed)
        return g.moved(f"squeeze({x.name}, dim=[{d}])", x, x.shape[:d] + x.shape[d + 1 :])
    if kind == "expand" and any(s == 1 and s.fixed for s in x.shape) and elements(x.shape) < 500:
        shape = [g.pick(Size(2), Size(3), s) if s == 1 and s.fixed else s for s in x.shape]
        return g.moved(f"expand({x.name}, size={sizes(shape)})", x, shape)
    return g.view(x, x.shape)


def view_chain(g):
    x = g.tensor()
    first = x
    for _ in range(g.random.randint(1, 5)):
        x = view_step(g, x)
        if g.chance(0.1):
            x = g.unary(g.pick("neg", "relu", "abs"), x, exact=True)
    if g.chance(0.3):
        g.view(x, [elements(first.shape)]) if elements(x.shape) == elements(first.shape) else None


def slice_of(g, x, d, start, end):
    shape = x.shape[:d] + [Size(end - start)] + x.shape[d + 1 :]
    if g.chance(0.3) and end > start:
        return g.moved(f"narrow({x.name}, dim={d}, start={start}, length={end - start})", x, shape)
    text = f"slice({x.name}, dim={g.pick(d, d - x.rank)}, start={start}"
    return g.moved(text + (")" if end == int(x.shape[d]) and g.chance(0.5) else f", end={end})"), x, shape)


def slice_of_cat(g):
    d = g.pick(0, 1)
    other = g.size()
    parts = []
    for _ in range(g.pick(2, 2, 3)):
        shape = [g.fixed(), other] if d == 0 else [other, g.fixed()]
        parts.append(g.input(shape) if g.chance(0.7) else g.unary("neg", g.input(shape), exact=True))
    total = sum(int(p.shape[d]) for p in parts)
    shape = list(parts[0].shape)
    shape[d] = Size(total)
    y = g.add_op(f"cat([{', '.join(p.name for p in parts)}], dim={d})", parts, g.dtype, shape, 1, 0)
    at = 0
    ends = [0]
    for p in parts:
        at += int(p.shape[d])
        ends.append(at)
    for _ in range(g.pick(1, 2, 3)):
        if g.chance(0.7):
            i = g.random.randrange(len(parts))
            slice_of(g, y, d, ends[i], ends[g.pick(i + 1, len(parts))])
        elif total > 1:
            start = g.random.randrange(total - 1)
            slice_of(g, y, d, start, g.random.randint(start + 1, total))


def cat_of_slices(g):
    x = g.tensor(lambda t: t.rank > 1 and any(s.fixed and s > 1 for s in t.shape), lambda: [g.size(), Size(8)])
    fixed = [d for d, s in enumerate(x.shape) if s.fixed and s > 1]
    if not fixed:
        return
    d = g.pick(*fixed)
    n = int(x.shape[d])
    cut = g.random.randint(1, n - 1)
    if g.chance(0.4) and n % 2 == 0:
        parts = several(g, f"split({x.name}, split_size={n // 2}, dim={d})", [x], [(x.dtype, x.shape[:d] + [Size(n // 2)] + x.shape[d + 1 :], x.most, x.error)] * 2)
    elif g.chance(0.5):
        shapes = [x.shape[:d] + [Size(s)] + x.shape[d + 1 :] for s in (cut, n - cut)]
        parts = several(g, f"split_with_sizes({x.name}, split_sizes=[{cut}, {n - cut}], dim={d})", [x], [(x.dtype, s, x.most, x.error) for s in shapes])
    else:
        parts = [slice_of(g, x, d, 0, cut), slice_of(g, x, d, cut, n)]
    if g.chance(0.2):
        parts.reverse()
    if g.chance(0.2):
        parts[0] = g.unary("relu", parts[0], exact=True)
    g.add_op(f"cat([{', '.join(p.name for p in parts)}], dim={d - x.rank if g.chance(0.3) else d})", parts, x.dtype, x.shape, x.most, x.error)


def stacked(g):
    x = g.input([3, g.size(), g.fixed()])
    parts = several(g, f"unbind({x.name}, dim=0)", [x], [(x.dtype, x.shape[1:], x.most, 0)] * 3) if g.chance(0.5) else [g.moved(f"select({x.name}, dim=0, index={i})", x, x.shape[1:]) for i in range(3)]
    if g.chance(0.3):
        parts[0] = g.unary("abs", parts[0], exact=True)
    g.add_op(f"stack([{', '.join(p.name for p in parts)}], dim=0)", parts, x.dtype, x.shape, 1, 0)


# ---- selections


def selections(g):
    x = g.tensor(lambda t: t.rank)
    y = g.input(x.shape)
    kind = g.pick("true", "same", "not", "fact", "tril", "fill", "nested", "clamp")
    if kind == "true":
        c = g.number(g.pick("1", "0"), "bool", x.shape if g.chance(0.5) else [1])
        g.where(c, x, y)
    elif kind == "same":
        g.where(g.input(x.shape, "bool"), x, x)
    elif kind == "not":
        c = g.input(x.shape, "bool")
        n = g.add_op(f"logical_not({c.name})", [c], "bool", c.shape, 1, 0)
        n = g.add_op(f"logical_not({n.name})", [n], "bool", c.shape, 1, 0) if g.chance(0.4) else n
        g.where(n, x, y)
    elif kind == "fact":
        n = x.shape[-1]
        a = g.add_op(f"arange(end={n.text})", [], "i64", [n], 64, 0)
        op, bound = g.pick("lt", "ge", "le", "gt", "eq", "ne"), g.pick("0", n.text if n.fixed else "64", "-1", "1000", "2")
        c = g.add_op(f"{op}({a.name}, {bound})", [a], "bool", [n], 1, 0)
        g.where(c, x, y)
    elif kind == "tril" and x.rank > 1:
        g.add_op(f"{g.pick('tril', 'triu')}({x.name}, diagonal={g.pick('0', '-1', '1', '-100', '100')})", [x], x.dtype, x.shape, x.most, x.error)
    elif kind == "fill":
        c = g.input(x.shape, "bool")
        g.add_op(f"masked_fill({x.name}, {c.name}, {g.pick('0', '-inf', '2')})", [x, c], x.dtype, x.shape, max(x.most, 2), x.error)
    elif kind == "nested":
        c = g.input(x.shape, "bool")
        g.where(c, g.where(c, x, y), y)
    else:
        low = g.binary("maximum", x, g.pick("-0.5", "-1.5"))
        g.binary("minimum", low, g.pick("0.5", "-0.5", "1.5"))


# ---- norms and activations


def norm(g):
    x = g.tensor(lambda t: t.rank > 1, lambda: g.shape(2, 3))
    if x.rank < 2:
        return
    kind = g.pick("rms", "rms", "layer", "layer", "softmax", "log_softmax", "logsumexp", "l2", "group")
    wide = g.cast(x, "f32") if x.dtype in ("f16", "bf16") and g.chance(0.6) else x
    last = [x.rank - 1]
    if kind in ("softmax", "log_softmax", "logsumexp"):
        return exponential_norm(g, wide, kind)
    if kind == "group":
        return group_norm(g, wide)
    if kind == "layer":
        m = g.reduce("mean", wide, last)
        wide = g.binary("sub", wide, m)
    q = g.unary("square", wide, most=wide.most**2, slope=2 * wide.most) if g.chance(0.5) else g.mul(wide, wide)
    if kind == "layer" and g.chance(0.3) or kind == "l2":
        q = g.mul(g.reduce("sum", q, last), "0.125")
    else:
        q = g.reduce("mean", q, last)
    e = g.add(q, g.pick("0.1", "0.5"))
    if g.chance(0.6):
        n = g.mul(wide, g.unary("rsqrt", e, most=3.2, slope=16))
    else:
        s = g.unary("sqrt", e, most=e.most + 1, slope=2)
        n = g.add_op(f"div({wide.name}, {s.name})", [wide, s], wide.dtype, wide.shape, 3.2 * wide.most, 4 * wide.error + 20 * wide.most * s.error + g.eps(wide) * 4 * wide.most)
    n = g.cast(n, x.dtype)
    if g.chance(0.7):
        n = g.mul(n, g.input([x.shape[-1]], x.dtype))
        if kind == "layer" and g.chance(0.7):
            g.add(n, g.input([x.shape[-1]], x.dtype))


def exponential_norm(g, x, kind):
    dim = g.pick(-1, -1, 0)
    if kind == "softmax":
        return written_softmax(g, x, dim)
    m = g.reduce("amax", x, [dim % x.rank])
    d = g.binary("sub", x, m)
    e = g.unary("exp", d, most=1.0)
    s = g.reduce("sum", e, [dim % x.rank])
    low = g.unary("log", s, most=s.most + 1)
    if kind == "logsumexp":
        return g.add(low, m)
    return g.binary("sub", d, low)


def group_norm(g, x):
    if x.rank < 3 or not x.shape[1].fixed or int(x.shape[1]) % 2:
        return
    rest = elements(x.shape[2:]) * Size(int(x.shape[1]) // 2)
    v = g.view(x, [x.shape[0], Size(2), rest])
    d = g.binary("sub", v, g.reduce("mean", v, [2]))
    q = g.reduce("mean", g.mul(d, d), [2])
    n = g.mul(d, g.unary("rsqrt", g.add(q, "0.1"), most=3.2, slope=16))
    y = g.view(n, x.shape)
    g.mul(y, g.input([x.shape[1]] + [1] * (x.rank - 2), y.dtype))


def activation(g):
    x = g.tensor()
    kind = g.pick("gelu", "gelu_tanh", "silu", "softplus", "quick", "hardswish", "relu6", "glu", "sigmoid", "mish")
    if kind == "gelu":
        e = g.unary("erf", g.mul(x, "0.7071067811865476"), most=1.0, slope=1.2)
        half = g.mul(x, "0.5")
        g.mul(half, g.add(e, "1"))
    elif kind == "gelu_tanh":
        cube = g.unary("pow", x, most=x.most**3, slope=3 * x.most**2, more=", 3") if g.chance(0.5) else g.mul(g.mul(x, x), x)
        t = g.unary("tanh", g.mul(g.add(x, g.mul(cube, "0.044715")), "0.7978845608028654"), most=1.0)
        g.mul(g.mul(x, "0.5"), g.add(t, "1"))
    elif kind in ("silu", "quick"):
        g.mul(x, g.unary("sigmoid", x if kind == "silu" else g.mul(x, "1.702"), most=1.0))
    elif kind == "softplus":
        e = g.unary("exp", x, most=25.0, slope=25)
        g.unary(*g.pick(("log1p",), ("log1p",)), e, most=4.0) if g.chance(0.5) else g.unary("log", g.add(e, "1"), most=4.0)
    elif kind == "hardswish":
        c = g.add_op(f"clamp({g.add(x, '3').name}, min=0, max=6)", [g.tensors[-1]], x.dtype, x.shape, 6, g.tensors[-1].error)
        g.binary("div", g.mul(x, c), "6")
    elif kind == "relu6":
        g.binary("minimum", g.unary("relu", x, exact=True), "6")
    elif kind == "sigmoid":
        e = g.unary("exp", g.unary("neg", x, exact=True), most=25.0, slope=25)
        d = g.add(e, "1")
        g.add_op(f"reciprocal({d.name})", [d], x.dtype, x.shape, 1.0, d.error + 4 * g.eps(x) * 26)
    elif kind == "mish":
        g.mul(x, g.unary("tanh", g.unary("softplus", x, most=4.0), most=1.0))
    elif x.shape and x.shape[-1].fixed and int(x.shape[-1]) % 2 == 0:
        n = int(x.shape[-1])
        a, b = slice_of(g, x, x.rank - 1, 0, n // 2), slice_of(g, x, x.rank - 1, n // 2, n)
        g.mul(a, g.unary("sigmoid", b, most=1.0))


def rotary(g):
    b, h, s, e = g.size(), g.fixed(), g.size(), g.pick(Size(4), Size(8))
    x = heads(g, b, h, s, e)
    cos, sin = (g.input([s, e]) if g.chance(0.5) else g.input([1, 1, s, e]) for _ in range(2))
    half = int(e) // 2
    a, c = slice_of(g, x, 3, 0, half), slice_of(g, x, 3, half, int(e))
    n = g.unary("neg", c, exact=True)
    parts = [n, a] if g.chance(0.85) else [a, n]
    r = g.add_op(f"cat([{parts[0].name}, {parts[1].name}], dim=-1)", parts, x.dtype, x.shape, 1, 0)
    g.add(g.mul(x, cos), g.mul(r, sin))


# ---- algebra


def identities(g):
    x = g.tensor()
    for _ in range(g.random.randint(1, 4)):
        kind = g.pick("add", "mul", "div", "sub", "neg", "expand", "clone", "alias", "pow", "zero", "abs", "flip", "full")
        if kind in ("add", "sub"):
            x = g.binary(kind, x, "0")
        elif kind in ("mul", "div"):
            x = g.binary(kind, x, g.pick("1", "1", "2"))
        elif kind == "neg":
            x = g.unary("neg", g.unary("neg", x, exact=True), exact=True)
        elif kind == "abs":
            x = g.unary("abs", g.unary(g.pick("abs", "neg", "square"), x, most=max(x.most**2, x.most), slope=max(1, 2 * x.most)), exact=True)
        elif kind == "expand":
            x = g.moved(f"expand({x.name}, size={sizes(x.shape)})", x, x.shape)
        elif kind in ("clone", "alias"):
            x = g.moved(f"{kind}({x.name})", x, x.shape)
        elif kind == "pow":
            x = g.unary("pow", x, most=max(x.most**2, x.most), slope=max(1, 2 * x.most), more=", " + g.pick("1", "2"))
        elif kind == "zero":
            x = g.add(x, g.mul(g.input(x.shape), "0"))
        elif kind == "flip" and x.rank:
            d = g.random.randrange(x.rank)
            x = g.moved(f"flip({x.name}, dims=[{d}])", x, x.shape)
            x = g.moved(f"flip({x.name}, dims=[{g.pick(d, d, g.random.randrange(x.rank))}])", x, x.shape)
        else:
            x = g.binary(g.pick("add", "mul"), x, g.number(g.pick("0", "1", "0.5"), x.dtype, g.pick([1], x.shape)))
        if x.most > 50:
            x = g.unary("tanh", x, most=1.0)


def constants(g):
    shape = [g.size(), g.fixed()]
    a = g.number(g.pick("2", "0.5", "3"), g.dtype, shape)
    b = g.number(g.pick("1", "0", "-2"), g.dtype, g.pick(shape, [1], [shape[1]]))
    c = g.binary(g.pick("add", "mul", "sub", "maximum"), a, b)
    kind = g.pick("cumsum", "cast", "arange", "use", "sum", "view")
    if kind == "cumsum":
        f = g.number("1", "i64", [Size(4), Size(8)])
        g.add_op(f"cumsum({f.name}, dim={g.pick(0, 1)})", [f], "i64", f.shape, 8, 0)
    elif kind == "cast":
        g.cast(g.number("3", "i32", shape), g.dtype)
    elif kind == "arange":
        r = g.add_op(f"arange(end={shape[1].text})", [], "i64", [shape[1]], 64, 0)
        g.mul(g.cast(g.add_op(f"mul({r.name}, {g.pick('1', '2', '0')})", [r], "i64", r.shape, 128, 0), "f32"), "0.125")
    elif kind == "sum":
        g.reduce("sum", c, [1])
    elif kind == "view":
        g.permute(g.view(c, [elements(shape)]), [0])
    g.add(g.input(shape), c)


def integers(g):
    dtype = g.pick("i64", "i32", "i16", "u8")
    x = g.input(g.shape(), dtype, "i", limit=g.pick(3, 9, 100))
    for _ in range(g.random.randint(1, 5)):
        kind = g.pick("add", "sub", "mul", "and", "shift", "div", "rem", "max", "cast", "cmp")
        y = x if g.chance(0.15) else g.input(x.shape, x.dtype, "i", limit=8)
        if kind in ("add", "sub", "mul", "max"):
            op = {"max": "maximum"}.get(kind, kind)
            other = g.pick("0", "1", "2", y.name)
            x = g.add_op(f"{op}({x.name}, {other})", [x] + ([y] if other == y.name else []), x.dtype, x.shape, 100, 0)
        elif kind == "and":
            x = g.add_op(f"bitwise_{g.pick('and', 'or', 'xor')}({x.name}, {y.name})", [x, y], x.dtype, x.shape, 100, 0)
        elif kind == "shift":
            x = g.add_op(f"bitwise_{g.pick('left', 'right')}_shift({x.name}, {g.pick('0', '1', '2')})", [x], x.dtype, x.shape, 100, 0)
        elif kind in ("div", "rem"):
            x = g.add_op(f"{'floor_divide' if kind == 'div' else 'remainder'}({x.name}, {g.pick('1', '2', '3', '8')})", [x], x.dtype, x.shape, 100, 0)
        elif kind == "cast":
            x = g.add_op(f"cast({x.name}, dtype={(d := g.pick('i64', 'i32', 'i16', 'u8'))})", [x], d, x.shape, 100, 0)
        else:
            c = g.add_op(f"{g.pick('eq', 'ne', 'lt', 'le', 'gt', 'ge')}({x.name}, {y.name})", [x, y], "bool", x.shape, 1, 0)
            x = g.where(c, x, y) if g.chance(0.5) else g.add_op(f"cast({c.name}, dtype={dtype})", [c], dtype, x.shape, 1, 0)


def dead_halves(g):
    x = g.input(g.shape(2, 3), kind="x")
    d = g.random.randrange(x.rank)
    rest = x.shape[:d] + x.shape[d + 1 :]
    kind = g.pick("max", "sort", "var_mean", "layer", "aminmax", "cummax")
    if kind == "max":
        v, i = several(g, f"{g.pick('max', 'min')}({x.name}, dim={d})", [x], [(x.dtype, rest, 1, 0), ("i64", rest, 64, 0)])
    elif kind in ("sort", "cummax"):
        v, i = several(g, f"{kind}({x.name}, dim={d})", [x], [(x.dtype, x.shape, 1, 0), ("i64", x.shape, 64, 0)])
    elif kind == "aminmax":
        v, i = several(g, f"aminmax({x.name}, dim={d})", [x], [(x.dtype, rest, 1, 0)] * 2)
    elif kind == "var_mean":
        e = 16 * g.eps(x) * 4
        v, i = several(g, f"var_mean({x.name}, dim=[{d}], correction=0)", [x], [(x.dtype, rest, 1, e)] * 2)
    else:
        e = 400 * g.eps(x)
        kept = x.shape[:-1] + [Size(1)]
        v, i, _ = several(g, f"native_layer_norm({x.name}, normalized_shape=[{x.shape[-1].text}], eps=0.1)", [x], [(x.dtype, x.shape, 3.2, e), (x.dtype, kept, 1, e), (x.dtype, kept, 3.2, e)])
    for t in g.pick([v], [i], [v, i]):
        if t.is_float:
            g.unary("neg", t, exact=True)
        else:
            g.add_op(f"add({t.name}, 1)", [t], t.dtype, t.shape, 64, 0)


def duplicates(g):
    x, y = g.tensor(), None
    op = g.pick("tanh", "sin", "neg", "square")
    y = [g.unary(op, x, most=max(1, x.most**2), slope=max(1, 2 * x.most), exact=op == "neg") for _ in range(2)]
    z = [g.mul(t, "0.5") for t in y]
    g.binary(g.pick("add", "sub"), *z)


# ---- writes


def scatters(g):
    n, k = g.pick(Size(6), Size(8), Size(12)), g.size()
    m = g.pick(Size(2), Size(4), Size(6))
    x = g.input([n, k], const=False)
    src = g.input([m, k])
    kind = g.pick("index_put", "index_copy", "slice", "select", "scatter", "index_add", "fill", "accumulate", "copy")
    source = g.unary("tanh", src, most=1.0) if g.chance(0.4) else src
    target = x if g.chance(0.6) else g.unary("neg", x, exact=True)
    index = g.input([m], "i64", "p", limit=int(n))
    error = max(target.error, source.error)
    if kind == "index_put":
        y = g.add_op(f"index_put({target.name}, {source.name}, [{index.name}])", [target, source, index], x.dtype, x.shape, 1, error)
    elif kind in ("index_add", "accumulate"):
        call = f"index_add({target.name}, {index.name}, {source.name}, dim=0)" if kind == "index_add" else f"index_put({target.name}, {source.name}, [{index.name}], accumulate=true)"
        y = g.add_op(call, [target, source, index], x.dtype, x.shape, 2, error + 4 * g.eps(x))
    elif kind == "index_copy":
        y = g.add_op(f"index_copy({target.name}, {index.name}, {source.name}, dim=0)", [target, index, source], x.dtype, x.shape, 1, error)
    elif kind == "slice":
        start = g.random.randint(0, int(n) - int(m))
        y = g.add_op(f"slice_scatter({target.name}, {source.name}, dim=0, start={start}, end={start + int(m)})", [target, source], x.dtype, x.shape, 1, error)
    elif kind == "select":
        row = g.input([k])
        y = g.add_op(f"select_scatter({target.name}, {row.name}, dim=0, index={g.pick(0, -1, 1)})", [target, row], x.dtype, x.shape, 1, target.error)
    elif kind == "scatter":
        wide = g.view(index, [m, 1])
        wide = g.moved(f"expand({wide.name}, size=[{m.text}, {k.text}])", wide, [m, k])
        y = g.add_op(f"scatter({target.name}, {wide.name}, {source.name}, dim=0)", [target, wide, source], x.dtype, x.shape, 1, error)
    elif kind == "fill":
        y = g.add_op(f"index_fill({target.name}, {index.name}, dim=0, value=0.5)", [target, index], x.dtype, x.shape, 1, target.error)
    else:
        y = g.add_op(f"copy({target.name}, {(s := g.input([n, k])).name})", [target, s], x.dtype, x.shape, 1, 0)
    if g.chance(0.5):
        g.mutated[x.name] = y.name
        g.read.add(y.name)
    if g.chance(0.4):
        g.unary("abs", y, exact=True)
    if g.chance(0.2):
        g.unary("tanh", x, most=1.0)


def scaled(g):
    """What dynamic quantisation does: a row kernel's result, its largest magnitude, and both."""
    x = g.tensor(lambda t: t.rank > 1, lambda: g.shape(2, 3))
    h = g.softmax(x, -1) if x.rank else x
    h = g.unary(g.pick("tanh", "neg"), h, most=1.0)
    m = g.reduce(g.pick("amax", "mean"), g.unary("abs", h, exact=True), list(range(h.rank)), keepdim=False)
    g.mul(h, "2")
    g.add(m, "0.5")


def pointwise(g):
    x = g.tensor()
    for _ in range(g.random.randint(1, 3)):
        kind = g.pick("unary", "binary", "reduce")
        if kind == "unary":
            x = g.unary(g.pick("tanh", "sigmoid", "sin", "cos", "erf"), x, most=1.0)
        elif kind == "binary":
            x = g.binary(g.pick("add", "sub", "mul", "maximum"), x, g.input(x.shape))
        elif x.rank:
            x = g.reduce(g.pick("mean", "amax", "amin"), x, [g.random.randrange(x.rank)], keepdim=g.chance(0.5))


MOTIFS = [attention, attention, attention, conv_bn, conv_bn, conv_bn, lone_batch_norm, pooling, pooling, shared_products, shared_products, equal_products, thin_product, product_chain,
          sum_of_products, cast_chain, view_chain, view_chain, slice_of_cat, cat_of_slices, stacked, selections, selections, norm, norm, activation,
          activation, rotary, identities, identities, constants, integers, dead_halves, duplicates, scatters, scatters, scaled, pointwise]
