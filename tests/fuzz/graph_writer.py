"""Builders of random graphs whose ops know type, shape, magnitude and error of their results: for pass_graphs.py."""


import random
import re

EPS = {"f64": 2.0**-36, "f32": 2.0**-22, "f16": 2.0**-10, "bf16": 2.0**-7}
INTEGERS = ("i64", "i32", "i16", "i8", "u8")
STATIC = (1, 2, 3, 4, 4, 6, 8, 12)
SYMBOLS = {"B": 5, "S": 7}


class Size(int):
    """A size with its text: "B" has the value that is drawn for B."""

    def __new__(cls, value, text=None):
        size = super().__new__(cls, value)
        size.text = text or str(value)
        return size

    def __mul__(self, other):
        other = other if isinstance(other, Size) else Size(other)
        product = int(self) * int(other)
        text = str(product) if self.text.isdigit() and other.text.isdigit() else f"{self.text}*{other.text}"
        return other if int(self) == 1 else self if int(other) == 1 else Size(product, text)

    def __add__(self, other):
        other = other if isinstance(other, Size) else Size(other)
        total = int(self) + int(other)
        return Size(total, str(total) if self.text.isdigit() and other.text.isdigit() else f"{self.text} + {other.text}")

    @property
    def fixed(self):
        return self.text.isdigit()


def sizes(shape):
    return "[" + ", ".join(s.text if isinstance(s, Size) else str(s) for s in shape) + "]"


def elements(shape):
    n = Size(1)
    for s in shape:
        n = n * s
    return n


class Tensor:
    def __init__(self, name, dtype, shape, most, error, needs=()):
        self.name, self.dtype, self.shape = name, dtype, [s if isinstance(s, Size) else Size(s) for s in shape]
        self.most, self.error, self.needs = most, error, needs

    @property
    def is_float(self):
        return self.dtype in EPS

    @property
    def rank(self):
        return len(self.shape)


class Graph:
    """Statements so far, and builders of ops that know type, shape, magnitude and error of their results."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.seed, self.inputs, self.lines, self.extra = seed, [], [], []
        self.tensors, self.read, self.count, self.mutated = [], set(), 0, {}
        self.dtype = self.random.choice(["f32"] * 6 + ["f64", "f64", "bf16", "f16"])
        self.symbolic = self.chance(0.4)
        self.special = self.chance(0.15)

    # ---- chance

    def chance(self, p):
        return self.random.random() < p

    def pick(self, *choices):
        return self.random.choice(choices)

    def size(self, symbols=True):
        if symbols and self.symbolic and self.chance(0.35):
            name = self.pick(*SYMBOLS)
            return Size(SYMBOLS[name], name)
        return Size(self.pick(*STATIC))

    def fixed(self):
        return self.size(False)

    def shape(self, low=1, high=4):
        shape = [self.size() for _ in range(self.random.randint(low, high))]
        while elements(shape) > 2000:
            shape[self.random.randrange(len(shape))] = Size(2)
        return shape

    # ---- inputs and ops

    def name(self, letter="t"):
        self.count += 1
        return f"{letter}{self.count}"

    def input(self, shape, dtype=None, kind="x", const=None, limit=None):
        dtype = dtype or self.dtype
        fixed = all(not isinstance(s, Size) or s.fixed for s in shape)
        keyword = "const" if fixed and (self.chance(0.3) if const is None else const) else "input"
        if kind == "x" and self.special and self.chance(0.4) and dtype in EPS and keyword == "input":
            kind = "z"  # constants are finite
        if dtype == "bool":
            kind = "b"
        name = self.name(kind) + (f"_{limit}" if limit else "")
        self.inputs.append(f"  {keyword} {name} : {dtype}{sizes(shape)}")
        most = {"x": 1.0, "z": 1.0, "v": 1.5, "m": 1.0}.get(kind, float(limit or 8))
        t = Tensor(name, dtype, shape, most, 0.0)
        if kind != "m":
            self.tensors.append(t)
        return t

    def add_op(self, call, operands, dtype, shape, most, error, named=None):
        """One statement. The error of an op that only moves or selects is that of its operands."""
        t = Tensor(named or self.name(), dtype, shape, most, error if dtype in EPS else 0.0, [o.name for o in operands])
        self.lines.append((f"  {t.name} = {call}", [t.name], t.needs))
        self.read.update(t.needs)
        self.tensors.append(t)
        return t

    def eps(self, t):
        return EPS.get(t if isinstance(t, str) else t.dtype, 0.0)

    def unary(self, op, x, most=None, slope=1.0, exact=False, more=""):
        """slope: the most that the op amplifies an error."""
        most = x.most if most is None else most
        return self.add_op(f"{op}({x.name}{more})", [x], x.dtype, x.shape, most, slope * x.error + (0 if exact else self.eps(x) * (most + 1)))

    def broadcast(self, a, b):
        rank = max(a.rank, b.rank)
        sides = [[Size(1)] * (rank - t.rank) + t.shape for t in (a, b)]
        return [y if x == 1 else x for x, y in zip(*sides)]

    def wider(self, a, b):
        order = ["bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"]
        if {a.dtype, b.dtype} == {"f16", "bf16"}:
            return "f32"
        return max(a.dtype, b.dtype, key=order.index)

    def binary(self, op, a, b):
        """b: a tensor or a number."""
        if not isinstance(b, Tensor):
            b_name, m, e, dtype, shape, operands = b, abs(float(b)), 0.0, a.dtype, a.shape, [a]
        else:
            b_name, m, e, dtype, shape, operands = b.name, b.most, b.error, self.wider(a, b), self.broadcast(a, b), [a, b]
        eps = EPS.get(dtype, 0.0)
        if op == "mul":
            most, error = a.most * m, a.most * e + m * a.error + a.error * e + eps * a.most * m
        elif op == "div":  # only by numbers and by what is at least 0.5
            least = m if not isinstance(b, Tensor) else 0.5
            most = a.most / least
            error = a.error / least + most * e / least + eps * most
        elif op in ("maximum", "minimum"):
            most, error = max(a.most, m), a.error + e
        else:
            most, error = a.most + m, a.error + e + eps * (a.most + m)
        left, right = (b_name, a.name) if op in ("add", "mul") and self.chance(0.5) else (a.name, b_name)
        return self.add_op(f"{op}({left}, {right})", operands, dtype, shape, most, error)

    def add(self, a, b):
        return self.binary("add", a, b)

    def mul(self, a, b):
        return self.binary("mul", a, b)

    def moved(self, call, x, shape):
        return self.add_op(call, [x], x.dtype, shape, x.most, x.error)

    def view(self, x, shape):
        return self.moved(f"view({x.name}, size={sizes(shape)})", x, shape)

    def permute(self, x, dims):
        shape = [x.shape[d] for d in dims]
        if x.rank > 1 and sum(d != i for i, d in enumerate(dims)) == 2 and self.chance(0.4):
            i, j = (i for i, d in enumerate(dims) if d != i)
            return self.moved(f"transpose({x.name}, dim0={i}, dim1={self.pick(j, j - x.rank)})", x, shape)
        written = [self.pick(d, d - x.rank) if self.chance(0.2) else d for d in dims]
        return self.moved(f"permute({x.name}, dims=[{', '.join(map(str, written))}])", x, shape)

    def cast(self, x, dtype):
        if dtype == x.dtype and not self.chance(0.05):
            return x
        exact = not x.error or EPS.get(dtype, 0) <= self.eps(x)
        return self.add_op(f"cast({x.name}, dtype={dtype})", [x], dtype, x.shape, x.most, x.error + (0 if exact else EPS.get(dtype, 0) * x.most))

    def product(self, call, a, b, k, dtype, shape, more=()):
        k = float(k)
        most = k * a.most * b.most
        error = k * (a.most * b.error + b.most * a.error + a.error * b.error) + (EPS[dtype] + k * EPS["f32"]) * most
        for t in more:
            most, error = most + t.most, error + t.error + EPS[dtype] * (most + t.most)
        return self.add_op(call, [a, b, *more], dtype, shape, most, error)

    def matmul(self, a, b, op="matmul"):
        left, right = a.shape[:-2], b.shape[:-2]
        rank = max(len(left), len(right))
        sides = [[Size(1)] * (rank - len(s)) + list(s) for s in (left, right)]
        batch = [y if x == 1 else x for x, y in zip(*sides)]
        return self.product(f"{op}({a.name}, {b.name})", a, b, a.shape[-1], a.dtype, batch + [a.shape[-2], b.shape[-1]])

    def linear(self, x, w, b=None):
        call = f"linear({x.name}, {w.name}{', ' + b.name if b else ''})"
        return self.product(call, x, w, x.shape[-1], x.dtype, x.shape[:-1] + [w.shape[0]], [b] if b else [])

    def reduce(self, op, x, dims, keepdim=True, most=None, error=None):
        n = elements([x.shape[d] for d in dims])
        shape = [(Size(1) if d in dims else s) for d, s in enumerate(x.shape) if keepdim or d not in dims]
        scale = float(n) if op == "sum" else 1.0
        most = x.most * scale if most is None else most
        exact = op in ("amax", "amin", "any", "all")
        error = scale * x.error + (0 if exact else EPS.get(x.dtype, 0) * most + EPS["f32"] * float(n) * most) if error is None else error
        written = [self.pick(d, d - x.rank) for d in dims]
        return self.add_op(f"{op}({x.name}, dim=[{', '.join(map(str, written))}], keepdim={str(keepdim).lower()})", [x], x.dtype, shape, most, error)

    def softmax(self, x, dim, op="softmax"):
        error = 2 * x.error + self.eps(x) * (4 + 2 * x.most)
        return self.add_op(f"{op}({x.name}, dim={self.pick(dim, dim % x.rank)})", [x], x.dtype, x.shape, 1.0 if op == "softmax" else 2 * x.most + 4, error)

    def where(self, c, a, b):
        """a or b may be a number."""
        tensors = [t for t in (a, b) if isinstance(t, Tensor)]
        shape = c.shape
        for t in tensors:
            shape = self.broadcast(Tensor("", "bool", shape, 0, 0), t)
        names = [t.name if isinstance(t, Tensor) else str(t) for t in (a, b)]
        most = max([t.most for t in tensors] + [abs(float(t)) for t in (a, b) if not isinstance(t, Tensor) and "inf" not in str(t)])
        return self.add_op(f"where({c.name}, {names[0]}, {names[1]})", [c, *tensors], tensors[0].dtype, shape, most, max(t.error for t in tensors))

    def number(self, value, dtype, shape):
        """A tensor of one value."""
        call = f"full({sizes(shape)}, {value}, dtype={dtype})"
        if value in ("0", "1") and self.chance(0.3):
            call = f"{'zeros' if value == '0' else 'ones'}({sizes(shape)}, dtype={dtype})"
        return self.add_op(call, [], dtype, shape, 1.0 if "inf" in value else abs(float({"true": 1, "false": 0}.get(value, value))), 0.0)

    def tensor(self, test=lambda t: True, make=None):
        """A tensor with a moderate magnitude: an earlier one, or a new input."""
        fitting = [t for t in self.tensors if t.dtype == self.dtype and t.most <= 64 and t.error < 0.02 * (1 + t.most) and test(t)]
        if fitting and self.chance(0.75):
            t = self.random.choice(fitting[-8:])
            return t if t.most <= 3 else self.unary("tanh", t, most=1.0)
        return self.input(make() if make else self.shape())

    # ---- the text

    def outputs(self):
        free = [t for t in self.tensors if t.needs and t.name not in self.read and t.name not in self.mutated.values()]
        also = [t for t in self.tensors if t.needs and t.name in self.read and self.chance(0.06)]
        return (free + also) or [t for t in self.tensors if t.needs][-1:]

    def in_another_order(self):
        done, order, left = set(), [], list(self.lines)
        made = {name for line in self.lines for name in line[1]}
        while left:
            ready = [line for line in left if not any(n in made and n not in done for n in line[2])]
            line = self.random.choice(ready)
            left.remove(line)
            done.update(line[1])
            order.append(line)
        return order

    def whole_text(self, outputs, notes):
        """The graph in two orders of its ops. outputs: names."""
        used = {n for line in self.lines for n in line[2]}
        statements = "\n".join([*self.inputs, *[line[0] for line in self.lines]])
        symbols = [name for name in SYMBOLS if f"{name}" in re.findall(r"\w+", statements)]
        head = [f"graph passes_{self.seed} {{"]
        head += [f"  size {name} in [1, 64] hint {SYMBOLS[name]}" for name in symbols]
        head += [line for line in self.inputs if line.split()[1] in used]
        tail = [f"  mutate {i} = {v}" for i, v in self.mutated.items()] + [f"  output {', '.join(outputs)}", "}"]
        runs = ", ".join(f"{name}={SYMBOLS[name]}" for name in symbols)
        if symbols:
            runs += "; " + ", ".join(f"{name}={1 + i}" for i, name in enumerate(symbols))
        plain = [f"# sizes {runs}", *notes, *head, *[line[0] for line in self.lines], *tail]
        other = [*head, *[line[0] for line in self.in_another_order()], *tail]
        return "\n".join([*plain, "+++", *other]) + "\n"

    def text(self):
        outputs, values = self.outputs(), {t.name: t for t in self.tensors}
        bounds = [(t.name, t) for t in outputs] + [(i, values[v]) for i, v in self.mutated.items()]
        notes = [f"# bound {name} {4 * t.error + (16 * self.eps(t) * t.most if t.error else 0):.3g}" for name, t in bounds]
        return self.whole_text([t.name for t in outputs], notes)
