"""Random graphs in the text form, valid by construction, for check_graphs.c.

    build/python tests/fuzz/random_graphs.py SEED COUNT [MOST_OPS [MOST_ELEMENTS]] > graphs.txt

Each graph is preceded by comments that the checker reads: `# sizes B=3, S=5; B=1, S=7` (what to run it at) and `# tolerance 1e-3`.
An input named xN_L holds integers in [0, L). Values stay moderate: every tensor carries a bound on its magnitude, and
is sent through tanh where that grows; ops that amplify errors get arguments far from their poles; ops that jump
(comparisons, argmax, casts to integers) get only values that every device computes exactly."""

import random
import sys

FLOATS = ["f32", "f32", "f32", "bf16", "f16", "f64"]
INTEGERS = ["i64", "i32", "i16", "i8", "u8"]
MOST_MAGNITUDE = {"f32": 64.0, "f64": 64.0, "f16": 8.0, "bf16": 8.0}
TOLERANCE = {"f64": 1e-5, "f32": 2e-4, "f16": 0.02, "bf16": 0.15}  # f64: constants and erf may be narrower
STATIC = [1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 24, 32, 33, 40, 64, 65]
LARGE = [96, 128, 200, 257, 1030]  # with more than the usual number of elements
MOST_ELEMENTS = 6000
SAFE_UNARY = {  # name: magnitude of the result from that of x
    "neg": lambda m: m,
    "relu": lambda m: m,
    "tanh": lambda m: 1.0,
    "erf": lambda m: 1.0,
    "sigmoid": lambda m: 1.0,
    "silu": lambda m: m,
    "gelu": lambda m: m,
    "abs": lambda m: m,
    "square": lambda m: m * m,
    "sin": lambda m: 1.0,
    "cos": lambda m: 1.0,
    "sinc": lambda m: 1.0,
    "atan": lambda m: 2.0,
    "asinh": lambda m: m,
    "erfc": lambda m: 2.0,
    "relu6": lambda m: 6.0,
    "hardtanh": lambda m: 1.0,
    "hardsigmoid": lambda m: 1.0,
    "hardswish": lambda m: m,
    "leaky_relu": lambda m: m,
    "elu": lambda m: m + 1,
    "celu": lambda m: m + 1,
    "selu": lambda m: 2 * m + 2,
    "softplus": lambda m: m + 1,
    "mish": lambda m: m,
    "log_sigmoid": lambda m: m + 1,
    "clone": lambda m: m,
    "nan_to_num": lambda m: m,
}
EXACT_UNARY = {"neg", "relu", "abs", "relu6", "hardtanh", "clone", "nan_to_num"}


class Tensor:
    def __init__(self, name, dtype, shape, magnitude=1.0, exact=True):
        self.name, self.dtype, self.shape, self.magnitude, self.exact = name, dtype, list(shape), magnitude, exact

    @property
    def is_float(self):
        return self.dtype in MOST_MAGNITUDE


class Generator:
    def __init__(self, seed, most_ops=14, most_elements=MOST_ELEMENTS):
        self.random = random.Random(seed)
        self.seed, self.most_ops, self.most_elements = seed, most_ops, most_elements
        self.static = STATIC + (LARGE * 2 if most_elements > MOST_ELEMENTS else [])
        self.inputs, self.lines, self.tensors, self.count = [], [], [], 0
        self.symbols = {}
        for name in self.random.sample(["B", "S"], self.random.choice([0, 1, 1, 2])):
            low = self.random.choice([1, 1, 1, 2, 8])
            multiple = self.random.choice([1, 1, 1, 4, 8])
            low = -(-low // multiple) * multiple
            high = low + multiple * self.random.choice([3, 7, 15])
            self.symbols[name] = (low, high, multiple)
        self.main = self.random.choice(FLOATS)
        self.used = {self.main}

    # ---- sizes

    def largest(self, size):
        if isinstance(size, int):
            return size
        return self.symbols[size][1]

    def smallest(self, size):
        return size if isinstance(size, int) else self.symbols[size][0]

    def elements(self, shape):
        n = 1
        for size in shape:
            n *= self.largest(size)
        return n

    def size(self):
        names = list(self.symbols)
        if names and self.random.random() < 0.4:
            return self.random.choice(names)
        return self.random.choice(self.static)

    def shape(self, rank=None):
        rank = self.random.choice([1, 2, 2, 3, 3, 4]) if rank is None else rank
        shape = [self.size() for _ in range(rank)]
        while shape and self.elements(shape) > self.most_elements:
            shape[self.random.randrange(len(shape))] = self.random.choice([1, 2, 3, 4])
        return shape

    # ---- statements

    def name(self):
        self.count += 1
        return f"x{self.count}"

    def input(self, dtype, shape, limit=None):
        name = self.name() + (f"_{limit}" if limit else "")
        kind = "const" if self.random.random() < 0.25 and not any(isinstance(s, str) for s in shape) else "input"
        self.inputs.append(f"  {kind} {name} : {dtype}[{', '.join(map(str, shape))}]")
        t = Tensor(name, dtype, shape, 1.0 if dtype in MOST_MAGNITUDE else float(limit or 8))
        self.tensors.append(t)
        return t

    def emit(self, text, dtype, shape, magnitude=1.0, exact=False):
        name = self.name()
        self.lines.append(f"  {name} = {text}")
        if dtype in MOST_MAGNITUDE:
            self.used.add(dtype)
        t = Tensor(name, dtype, shape, magnitude, exact)
        if t.is_float and magnitude > MOST_MAGNITUDE[dtype]:
            return self.emit(f"tanh({name})", dtype, shape)
        self.tensors.append(t)
        return t

    def pick(self, test=lambda t: True):
        """A tensor, a recent one more likely; a new input if none fits."""
        fitting = [t for t in self.tensors if test(t)]
        if not fitting or self.random.random() < 0.1:
            return None
        weights = [i + 1 for i in range(len(fitting))]
        return self.random.choices(fitting, weights)[0]

    def float_tensor(self, rank=None):
        fits = lambda t: t.is_float and (rank is None or len(t.shape) == rank)
        return self.pick(fits) or self.input(self.main, self.shape(rank))

    def partner(self, t):
        """Something that broadcasts with t without changing its shape."""
        if self.random.random() < 0.5:
            found = self.pick(lambda o: o.dtype == t.dtype and o.shape == t.shape)
            if found:
                return found
        shape = [1 if self.random.random() < 0.3 else s for s in t.shape]
        return self.input(t.dtype, shape[self.random.randrange(len(shape) + 1) :] if self.random.random() < 0.4 else shape)

    def one_plus_square(self, t):
        square = self.emit(f"mul({t.name}, {t.name})", t.dtype, t.shape, t.magnitude**2)
        return self.emit(f"add({square.name}, 1.0)", t.dtype, t.shape, square.magnitude + 1)

    # ---- one op each

    def op_unary(self):
        t = self.float_tensor()
        name = self.random.choice(list(SAFE_UNARY))
        suffix = ', approximate="tanh"' if name == "gelu" and self.random.random() < 0.5 else ""
        self.emit(f"{name}({t.name}{suffix})", t.dtype, t.shape, SAFE_UNARY[name](t.magnitude), t.exact and name in EXACT_UNARY)

    def op_positive(self):
        t = self.float_tensor()
        p = self.one_plus_square(t)
        kind = self.random.choice(["log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal", "exp", "pow", "acosh", "small"])
        if kind in ("exp", "small"):
            b = self.emit(f"tanh({t.name})", t.dtype, t.shape)
            b = self.emit(f"mul({b.name}, 0.5)", t.dtype, t.shape)
            op = "exp" if kind == "exp" else self.random.choice(["exp2", "expm1", "sinh", "cosh", "tan", "asin", "acos", "atanh", "erfinv", "i0", "special_i1"])
            self.emit(f"{op}({b.name})", t.dtype, t.shape, 3)
        elif kind == "acosh":
            b = self.emit(f"add({p.name}, 1)", p.dtype, p.shape, p.magnitude + 1)
            self.emit(f"acosh({b.name})", p.dtype, p.shape, p.magnitude)
        elif kind == "pow":
            self.emit(f"pow({p.name}, {self.random.choice(['0.5', '1.5', '-0.5', '2'])})", p.dtype, p.shape, p.magnitude**2)
        else:
            self.emit(f"{kind}({p.name})", p.dtype, p.shape, p.magnitude * 1.5)

    def op_rounding(self):
        """Ops that jump: of values that every device computes exactly."""
        t = self.pick(lambda t: t.is_float and t.exact) or self.input(self.main, self.shape())
        kind = self.random.choice(["floor", "ceil", "trunc", "round", "sign", "fmod", "remainder", "floor_divide", "isnan", "isfinite", "signbit", "logical_not"])
        if kind in ("floor", "ceil", "trunc", "round", "sign"):
            self.emit(f"{kind}({t.name})", t.dtype, t.shape, t.magnitude + 1, True)
        elif kind in ("isnan", "isfinite", "signbit", "logical_not"):
            self.emit(f"{kind}({t.name})", "bool", t.shape, 1, True)
        else:
            number = self.random.choice(["0.75", "-1.5", "2"])
            self.emit(f"{kind}({t.name}, {number})", t.dtype, t.shape, 2 * t.magnitude + 2, t.dtype in ("f32", "f64"))

    def op_several(self):
        t = self.float_tensor()
        a, b = self.partner(t), self.partner(t)
        larger = t.magnitude + a.magnitude + b.magnitude
        exact = t.exact and a.exact and b.exact
        kind = self.random.choice(["lerp", "clamp", "addcmul", "addcdiv", "masked_fill", "atan2", "hypot", "logaddexp", "copysign", "xlogy"])
        if kind == "clamp":
            text = self.random.choice([f"clamp({t.name}, -0.5, 0.75)", f"clamp({t.name}, {a.name}, {b.name})", f"clamp({t.name}, max={a.name})"])
            self.emit(text, t.dtype, t.shape, larger, exact)
        elif kind == "lerp":
            self.emit(f"lerp({t.name}, {a.name}, {self.random.choice(['0.25', '0.75'])})", t.dtype, t.shape, larger)
        elif kind == "addcmul":
            self.emit(f"addcmul({t.name}, {a.name}, {b.name}, value=0.5)", t.dtype, t.shape, t.magnitude + a.magnitude * b.magnitude)
        elif kind == "masked_fill":
            c = self.pick(lambda c: c.dtype == "bool" and c.shape == t.shape) or self.input("bool", t.shape)
            self.emit(f"masked_fill({t.name}, {c.name}, 0.5)", t.dtype, t.shape, t.magnitude + 1, t.exact)
        elif kind == "copysign":
            if a.exact:
                self.emit(f"copysign({t.name}, {a.name})", t.dtype, t.shape, t.magnitude)
        elif kind in ("hypot", "logaddexp"):
            p = self.one_plus_square(a) if kind == "hypot" else a
            self.emit(f"{kind}({t.name}, {p.name})", t.dtype, t.shape, t.magnitude + p.magnitude + 1)
        else:
            p = self.one_plus_square(a)
            text = f"addcdiv({t.name}, {b.name}, {p.name})" if kind == "addcdiv" else f"{kind}({t.name}, {p.name})"
            self.emit(text, t.dtype, t.shape, t.magnitude * p.magnitude + b.magnitude)

    def op_binary(self):
        t = self.float_tensor()
        if self.random.random() < 0.2:
            value = self.random.choice(["0", "1", "0.5", "-1.25", "2"])
            op = self.random.choice(["add", "sub", "mul", "maximum", "minimum"])
            self.emit(f"{op}({t.name}, {value})", t.dtype, t.shape, t.magnitude * 2 + 2, t.exact and op.endswith("imum"))
            return
        o = self.partner(t)
        a, b = (t, o) if self.random.random() < 0.5 else (o, t)
        op = self.random.choice(["add", "sub", "mul", "maximum", "minimum"])
        magnitude = t.magnitude * o.magnitude if op == "mul" else t.magnitude + o.magnitude
        alpha = ", alpha=2" if op in ("add", "sub") and self.random.random() < 0.1 else ""
        self.emit(f"{op}({a.name}, {b.name}{alpha})", t.dtype, t.shape, magnitude * (2 if alpha else 1), a.exact and b.exact and op.endswith("imum"))

    def op_div(self):
        t = self.float_tensor()
        p = self.one_plus_square(self.partner(t))
        self.emit(f"div({t.name}, {p.name})", t.dtype, t.shape, t.magnitude)

    def op_integer(self):
        t = self.pick(lambda t: t.dtype in INTEGERS) or self.input(self.random.choice(INTEGERS), self.shape())
        o = self.partner(t)
        op = self.random.choice(["add", "sub", "mul", "maximum", "minimum", "neg", "abs", "sign", "bitwise_not", "bitwise_and", "bitwise_or", "bitwise_xor", "shift",
                                 "fmod", "remainder", "floor_divide", "trunc_divide"])
        if op in ("neg", "abs", "sign", "bitwise_not"):
            self.emit(f"{op}({t.name})", t.dtype, t.shape, t.magnitude + 1, True)
        elif op.startswith("bitwise"):
            self.emit(f"{op}({t.name}, {o.name})", t.dtype, t.shape, 2 * (t.magnitude + o.magnitude), True)
        elif op == "shift":
            direction = self.random.choice(["left", "right"])
            self.emit(f"bitwise_{direction}_shift({t.name}, {self.random.choice([1, 2, 3])})", t.dtype, t.shape, 8 * t.magnitude, True)
        elif op == "trunc_divide":
            self.emit(f'div({t.name}, {o.name}, rounding_mode="trunc")', t.dtype, t.shape, t.magnitude, True)
        elif op in ("fmod", "remainder", "floor_divide"):
            self.emit(f"{op}({t.name}, {o.name})", t.dtype, t.shape, t.magnitude + o.magnitude, True)
        elif t.magnitude * o.magnitude < 1e9:
            self.emit(f"{op}({t.name}, {o.name})", t.dtype, t.shape, t.magnitude * o.magnitude + t.magnitude + o.magnitude, True)

    def op_compare(self):
        t = self.pick(lambda t: t.exact and t.dtype != "bool") or self.input(self.main, self.shape())
        o = self.partner(t)
        if not o.exact:
            o = self.input(t.dtype, t.shape)
        self.emit(f"{self.random.choice(['eq', 'ne', 'lt', 'le', 'gt', 'ge'])}({t.name}, {o.name})", "bool", t.shape, 1, True)

    def op_where(self):
        t = self.float_tensor()
        c = self.pick(lambda c: c.dtype == "bool" and c.shape == t.shape) or self.input("bool", [1 if self.random.random() < 0.3 else s for s in t.shape])
        o = self.partner(t)
        self.emit(f"where({c.name}, {t.name}, {o.name})", t.dtype, t.shape, t.magnitude + o.magnitude, t.exact and o.exact)

    def op_cast(self):
        t = self.pick(lambda t: t.is_float or t.exact) or self.input(self.main, self.shape())
        if t.exact and self.random.random() < 0.3:
            to = self.random.choice(["i32", "i64", "i16", "bool"] if t.magnitude < 1e4 else ["i64"])
            self.emit(f"cast({t.name}, dtype={to})", to, t.shape, t.magnitude, True)
        elif t.is_float or t.magnitude <= 64:
            to = self.random.choice(FLOATS)
            self.emit(f"cast({t.name}, dtype={to})", to, t.shape, t.magnitude, False)

    def dims(self, t):
        chosen = sorted(self.random.sample(range(len(t.shape)), self.random.randint(1, len(t.shape))))
        written = [d - len(t.shape) if self.random.random() < 0.5 else d for d in chosen]
        keep = self.random.random() < 0.5
        shape = [(1 if keep else None) if d in chosen else s for d, s in enumerate(t.shape)]
        arguments = f"dim=[{', '.join(map(str, written))}], keepdim={'true' if keep else 'false'}"
        return arguments, [s for s in shape if s is not None], self.elements([t.shape[d] for d in chosen])

    def op_reduce(self):
        t = self.pick(lambda t: t.is_float and t.shape) or self.input(self.main, self.shape(2))
        arguments, shape, n = self.dims(t)
        op = self.random.choice(["sum", "mean", "amax", "amin", "var", "logsumexp", "norm"])
        if op in ("var", "logsumexp", "norm"):
            self.other_reduction(op, t, arguments, shape, n)
            return
        if op == "sum" and n > 16:
            t = self.emit(f"mul({t.name}, {1 / n})", t.dtype, t.shape, t.magnitude / n)
        self.emit(f"{op}({t.name}, {arguments})", t.dtype, shape, t.magnitude * (min(n, 16) if op == "sum" else 1), t.exact and op[0] == "a")

    def other_reduction(self, op, t, arguments, shape, n):
        if t.magnitude * n > 64:
            t = self.emit(f"mul({t.name}, {1 / (n * t.magnitude)})", t.dtype, t.shape, 1)
        if op == "norm":
            self.emit(f"norm({t.name}, {self.random.choice(['1', '2', 'inf'])}, {arguments})", t.dtype, shape, max(t.magnitude, 1) * min(n, 64))
        else:
            more = ", correction=0" if op == "var" else ""
            self.emit(f"{op}({t.name}, {arguments}{more})", t.dtype, shape, t.magnitude**2 if op == "var" else t.magnitude + 16)

    def op_any(self):
        t = self.pick(lambda t: t.dtype == "bool" and t.shape) or self.input("bool", self.shape(2))
        arguments, shape, _ = self.dims(t)
        self.emit(f"{self.random.choice(['any', 'all'])}({t.name}, {arguments})", "bool", shape, 1, True)

    def op_argmax(self):
        t = self.pick(lambda t: t.exact and t.is_float and t.shape) or self.input(self.main, self.shape(2))
        d = self.random.randrange(len(t.shape))
        shape = t.shape[:d] + t.shape[d + 1 :]
        if self.random.random() < 0.5:
            self.emit(f"{self.random.choice(['argmax', 'argmin'])}({t.name}, dim={d})", "i64", shape, float(self.largest(t.shape[d])), True)
        else:
            value, index = self.name(), self.name()
            self.lines.append(f"  {value}, {index} = {self.random.choice(['max', 'min'])}({t.name}, dim={d})")
            self.tensors += [Tensor(value, t.dtype, shape, t.magnitude, True), Tensor(index, "i64", shape, float(self.largest(t.shape[d])), True)]

    def op_scan(self):
        t = self.pick(lambda t: t.is_float and t.shape) or self.input(self.main, self.shape(2))
        d = self.random.randrange(len(t.shape))
        n = self.largest(t.shape[d])
        if self.random.random() < 0.5:
            if n > 16:
                t = self.emit(f"mul({t.name}, {1 / n})", t.dtype, t.shape, t.magnitude / n)
            self.emit(f"cumsum({t.name}, dim={d - len(t.shape)})", t.dtype, t.shape, t.magnitude * min(n, 16))
            return
        if not t.exact:  # an order must not hang on rounding
            t = self.input(t.dtype, t.shape)
        value, index, shape, k = self.name(), self.name(), list(t.shape), self.smallest(t.shape[d])
        op = self.random.choice(["cummax({}, dim={})", "cummin({}, dim={})", "sort({}, dim={})", "sort({}, dim={}, descending=true)", "topk({}, k={k}, dim={})"])
        if op.startswith("topk"):
            shape[d] = k = self.random.randint(1, k)
        self.lines.append(f"  {value}, {index} = {op.format(t.name, d, k=k)}")
        self.tensors += [Tensor(value, t.dtype, shape, t.magnitude, True), Tensor(index, "i64", shape, float(n), True)]

    def op_softmax(self):
        t = self.pick(lambda t: t.is_float and t.shape) or self.input(self.main, self.shape(2))
        op = self.random.choice(["softmax", "softmax", "log_softmax"])
        d = self.random.choice([-1, -1, self.random.randrange(len(t.shape))])
        self.emit(f"{op}({t.name}, dim={d})", t.dtype, t.shape, 1 if op == "softmax" else 2 * t.magnitude + 8)

    def op_norm(self):
        t = self.pick(lambda t: t.is_float and t.shape) or self.input(self.main, self.shape(2))
        n = self.random.choice([1, 1, min(2, len(t.shape))])
        shape = t.shape[-n:]
        op = self.random.choice(["layer_norm", "rms_norm"])
        parameters = [t.name]
        if self.random.random() < 0.7:
            parameters.append(self.input(t.dtype, shape).name)
            if op == "layer_norm" and self.random.random() < 0.8:
                parameters.append(self.input(t.dtype, shape).name)
        self.emit(f"{op}({', '.join(parameters)}, normalized_shape=[{', '.join(map(str, shape))}], eps=0.1)", t.dtype, t.shape, 8)

    def op_channel_norm(self):
        t = self.pick(lambda t: t.is_float and 2 <= len(t.shape) < 8) or self.input(self.main, self.shape(3))
        if len(t.shape) < 2:
            return
        groups = [g for g in (1, 2, 3, 4) if isinstance(t.shape[1], int) and t.shape[1] % g == 0]
        choices = ["batch_norm(%s, training=true, eps=0.1)"] + [f"group_norm(%s, num_groups={g}, eps=0.1)" for g in groups[-1:]]
        choices += ["instance_norm(%s, eps=0.1)"] if len(t.shape) > 2 else []
        self.emit(self.random.choice(choices) % t.name, t.dtype, t.shape, 8)

    def op_view(self):
        t = self.pick(lambda t: t.shape and all("*" not in str(s) for s in t.shape)) or self.input(self.main, self.shape(3))
        self.random.choice([self.permute, self.transpose, self.expand, self.unsqueeze, self.slice, self.select, self.reshape, self.reshape])(t)

    def same(self, t, text, shape):
        return self.emit(text, t.dtype, shape, t.magnitude, t.exact)

    def permute(self, t):
        order = self.random.sample(range(len(t.shape)), len(t.shape))
        self.same(t, f"permute({t.name}, dims=[{', '.join(map(str, order))}])", [t.shape[d] for d in order])

    def transpose(self, t):
        a, b = self.random.randrange(len(t.shape)), self.random.randrange(len(t.shape))
        shape = list(t.shape)
        shape[a], shape[b] = shape[b], shape[a]
        self.same(t, f"transpose({t.name}, dim0={a}, dim1={b - len(shape)})", shape)

    def expand(self, t):
        shape = [self.random.choice([2, 3, 5]) if s == 1 else s for s in t.shape]
        if len(shape) < 5:
            shape = [self.random.choice([2, 3])] + shape
        if self.elements(shape) <= self.most_elements:
            self.same(t, f"expand({t.name}, size=[{', '.join(map(str, shape))}])", shape)

    def unsqueeze(self, t):
        d = self.random.randrange(len(t.shape) + 1)
        if len(t.shape) < 6:
            u = self.same(t, f"unsqueeze({t.name}, dim={d})", t.shape[:d] + [1] + t.shape[d:])
            if self.random.random() < 0.3:
                self.same(u, f"squeeze({u.name}, dim=[{d}])", t.shape)

    def slice(self, t):
        d = self.random.randrange(len(t.shape))
        low = self.smallest(t.shape[d])
        if not isinstance(t.shape[d], int) or low < 2:
            return
        start, step = self.random.randrange(low // 2 + 1), self.random.choice([1, 1, 2, 3])
        end = self.random.randint(start + 1, low)
        shape = list(t.shape)
        shape[d] = -(-(end - start) // step)
        self.same(t, f"slice({t.name}, dim={d}, start={start}, end={end}, step={step})", shape)

    def select(self, t):
        d = self.random.randrange(len(t.shape))
        at = self.random.randrange(self.smallest(t.shape[d]))
        self.same(t, f"select({t.name}, dim={d}, index={at})", t.shape[:d] + t.shape[d + 1 :])

    def reshape(self, t):
        """Splits a static dimension or joins two neighbours."""
        d = self.random.randrange(len(t.shape))
        s = t.shape[d]
        factors = [f for f in (2, 3, 4, 8) if isinstance(s, int) and s > f and s % f == 0]
        if factors and len(t.shape) < 6:
            f = self.random.choice(factors)
            self.same(t, f"view({t.name}, size=[{', '.join(map(str, t.shape[:d] + [s // f, f] + t.shape[d + 1:]))}])", t.shape[:d] + [s // f, f] + t.shape[d + 1 :])
        elif d + 1 < len(t.shape) and isinstance(s, int) and isinstance(t.shape[d + 1], int):
            shape = t.shape[:d] + [s * t.shape[d + 1]] + t.shape[d + 2 :]
            self.same(t, f"view({t.name}, size=[{', '.join(map(str, shape))}])", shape)
        elif d + 1 < len(t.shape):  # symbolic: joined, used once, and split again
            joined = [str(x) for x in t.shape[:d]] + [f"{s}*{t.shape[d + 1]}"] + [str(x) for x in t.shape[d + 2 :]]
            a, b, c = self.name(), self.name(), self.name()
            self.lines.append(f"  {a} = view({t.name}, size=[{', '.join(joined)}])")
            self.lines.append(f"  {b} = maximum({a}, {a})" if t.dtype != "bool" else f"  {b} = ne({a}, false)".replace("false", a))
            self.lines.append(f"  {c} = view({b}, size=[{', '.join(map(str, t.shape))}])")
            self.tensors.append(Tensor(c, t.dtype, t.shape, t.magnitude, t.exact))

    def op_cat(self):
        t = self.pick(lambda t: t.shape and any(isinstance(s, int) for s in t.shape)) or self.input(self.main, [4, 3])
        d = self.random.choice([d for d, s in enumerate(t.shape) if isinstance(s, int)] or [None])
        if d is None:
            return
        shape = list(t.shape)
        shape[d] = self.random.choice([1, 2, 5])
        parts = [t, self.input(t.dtype, shape)] + ([t] if self.random.random() < 0.2 else [])
        total = t.shape[:d] + [sum(p.shape[d] for p in parts)] + t.shape[d + 1 :]
        self.random.shuffle(parts)
        if self.elements(total) <= self.most_elements:
            self.emit(f"cat([{', '.join(p.name for p in parts)}], dim={d})", t.dtype, total, max(p.magnitude for p in parts), all(p.exact for p in parts))

    def op_lookup(self):
        kind = self.random.choice(["embedding", "embedding", "index_select", "gather"])
        t = self.float_tensor(2) if kind == "embedding" else (self.pick(lambda t: t.is_float and t.shape) or self.input(self.main, self.shape(2)))
        d = 0 if kind == "embedding" else self.random.randrange(len(t.shape))
        limit = self.smallest(t.shape[d])
        index_type = self.random.choice(["i64", "i64", "i32"])
        if kind == "gather":
            shape = [min(self.smallest(s), 4) if k != d else self.random.choice([1, 3, 8]) for k, s in enumerate(t.shape)]
            index = self.input("i64", shape, limit)
            self.same(t, f"gather({t.name}, {index.name}, dim={d})", shape)
            return
        index_shape = self.shape(1) if kind == "index_select" else self.shape(self.random.choice([1, 2]))
        shape = t.shape[:d] + index_shape + t.shape[d + 1 :]
        if self.elements(shape) <= 2 * self.most_elements:
            index = self.input(index_type, index_shape, limit)
            arguments = f"{t.name}, {index.name}" + (f", dim={d}" if kind == "index_select" else "")
            self.same(t, f"{kind}({arguments})", shape)

    def op_scatter(self):
        """Elements that several values meet at are combined, never replaced: which one stays is left open on a GPU."""
        t = self.pick(lambda t: t.is_float and t.shape) or self.input(self.main, self.shape(2))
        d = self.random.randrange(len(t.shape))
        limit, count = self.smallest(t.shape[d]), self.random.choice([1, 2, 6])
        along = lambda n: t.shape[:d] + [n] + t.shape[d + 1 :]
        kind = self.random.choice(["scatter_add", "amax", "amin", "index_add", "index_fill", "index_put", "index_copy"])
        if t.magnitude * (count + 1) > MOST_MAGNITUDE[t.dtype]:
            t = self.emit(f"tanh({t.name})", t.dtype, t.shape, 1.0)
        if kind in ("scatter_add", "amax", "amin"):
            index, source = self.input("i64", along(count), limit), self.input(t.dtype, along(count))
            reduce = f', reduce="{kind}", include_self={self.random.choice(["true", "false"])}' if kind[0] == "a" else ""
            call = f"{'scatter_reduce' if reduce else kind}({t.name}, {d}, {index.name}, {source.name}{reduce})"
        elif kind == "index_fill":
            call = f"index_fill({t.name}, {d}, {self.input('i64', [count], limit).name}, 0.5)"
        elif kind == "index_copy":
            call = f"index_copy({t.name}, {d}, {self.input('i64', [1], limit).name}, {self.input(t.dtype, along(1)).name})"
        elif kind == "index_put":
            indices = ["none"] * d + [self.input(self.random.choice(["i64", "i32"]), [count], limit).name]
            call = f"index_put({t.name}, [{', '.join(indices)}], {self.input(t.dtype, along(count)).name}, accumulate=true)"
        else:
            call = f"index_add({t.name}, {d}, {self.input('i32', [count], limit).name}, {self.input(t.dtype, along(count)).name})"
        self.emit(call, t.dtype, t.shape, t.magnitude * (count + 1))

    def op_matmul(self):
        dtype = self.random.choice(["f32", "f32", "bf16", "f16", self.main])
        t = self.pick(lambda t: t.dtype == dtype and len(t.shape) in (2, 3) and all(self.largest(s) <= 128 for s in t.shape))
        t = t or self.input(dtype, self.shape(self.random.choice([2, 3])))
        k, n = t.shape[-1], self.random.choice([1, 2, 3, 8, 16, 17, 24, 40])
        kind = self.random.choice(["linear", "matmul", "bmm"] if len(t.shape) == 3 else ["linear", "matmul", "mm", "addmm"])
        if self.random.random() < 0.3:
            x = self.input(dtype, t.shape[:-2] + [k, n] if kind == "bmm" else [k, n])
            x = self.emit(f"neg({x.name})", dtype, x.shape, 1.0, True)
        shape = t.shape[:-1] + [n]
        magnitude = t.magnitude * self.largest(k)
        if kind == "linear":
            w = self.input(dtype, [n, k])
            bias = [self.input(dtype, [n]).name] if self.random.random() < 0.6 else []
            text = f"linear({', '.join([t.name, w.name] + bias)})"
        elif kind == "addmm":
            text = f"addmm({self.input(dtype, self.random.choice([[n], [t.shape[0], n], [1, n]])).name}, {t.name}, {self.input(dtype, [k, n]).name})"
        else:
            other = [t.shape[0], k, n] if kind == "bmm" else ([t.shape[0], k, n] if len(t.shape) == 3 and self.random.random() < 0.5 else [k, n])
            if self.random.random() < 0.3:  # a transposed right side
                w = self.input(dtype, other[:-2] + [n, k])
                w = self.same(w, f"transpose({w.name}, dim0=-1, dim1=-2)", other)
            else:
                w = self.input(dtype, other)
            text = f"{kind}({t.name}, {w.name})"
        if magnitude > MOST_MAGNITUDE[dtype] / 2:  # keep the product itself moderate: scale the left side
            scaled = self.emit(f"mul({t.name}, {1 / max(1, magnitude):.6g})", dtype, t.shape, 1 / self.largest(k))
            text = text.replace(f"({t.name},", f"({scaled.name},").replace(f", {t.name},", f", {scaled.name},")
            magnitude = 2.0
        self.emit(text, dtype, shape, magnitude + 1)

    def op_source(self):
        shape = self.shape()
        if self.random.random() < 0.5:
            self.emit(f"full(size=[{', '.join(map(str, shape))}], fill_value={self.random.choice(['0', '0.5', '-2'])})", "f32", shape, 2, True)
        else:
            size = self.size()
            self.emit(f"arange(end={size})", "i64", [size], float(self.largest(size)), True)

    # ---- the whole

    def graph(self):
        ops = {
            self.op_unary: 5,
            self.op_positive: 2,
            self.op_binary: 8,
            self.op_div: 1,
            self.op_integer: 3,
            self.op_rounding: 2,
            self.op_several: 3,
            self.op_compare: 2,
            self.op_where: 2,
            self.op_cast: 3,
            self.op_reduce: 5,
            self.op_any: 1,
            self.op_argmax: 1,
            self.op_scan: 2,
            self.op_softmax: 3,
            self.op_norm: 3,
            self.op_channel_norm: 1,
            self.op_view: 8,
            self.op_cat: 2,
            self.op_lookup: 2,
            self.op_scatter: 3,
            self.op_matmul: 3,
            self.op_source: 1,
        }
        wanted = self.random.randint(1, self.most_ops)
        while len(self.lines) < wanted:
            self.random.choices(list(ops), list(ops.values()))[0]()
        return self.text()

    def text(self):
        results = [line.split("=")[0].strip().split(", ") for line in self.lines]
        names = [n for group in results for n in group]
        body = "\n".join(self.lines)
        last = [n for n in names if f"({n}," not in body and f"({n})" not in body and f", {n}," not in body and f", {n})" not in body]
        outputs = self.random.sample(last, min(len(last), 3)) or [names[-1]]
        if self.random.random() < 0.3:
            extra = self.random.choice(names)
            outputs += [extra] if extra not in outputs else []
        sizes = [f"  size {n} in [{low}, {high}] multiple_of {m}" for n, (low, high, m) in self.symbols.items()]
        runs = "; ".join(
            ", ".join(f"{n}={self.random.randrange(low, high + 1, m)}" for n, (low, high, m) in self.symbols.items()) for _ in range(2 if self.symbols else 1)
        )
        tolerance = max(TOLERANCE[d] for d in self.used)
        return (
            f"# seed {self.seed}\n# sizes {runs}\n# tolerance {tolerance:g}\ngraph random {{\n"
            + "\n".join(sizes + self.inputs + self.lines)
            + f"\n  output {', '.join(outputs)}\n}}\n"
        )


def graphs(seed, count, most_ops=14, most_elements=MOST_ELEMENTS):
    return [Generator(seed + i, most_ops, most_elements).graph() for i in range(count)]


if __name__ == "__main__":
    print("---\n".join(graphs(*map(int, sys.argv[1:]))), end="")
