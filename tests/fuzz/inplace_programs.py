"""Random programs of views and ops in place, each with what NumPy makes of it.

NumPy's arrays share memory as PyTorch's tensors do: a view is the array's own view, an op in place an assignment to it. All
numbers are integers, so that results are exact. Sizes are symbols in half of the programs.
"""

import random

import numpy as np

MOST_ELEMENTS = 2000


class Program:
    def __init__(self, seed, most_ops):
        self.r = random.Random(seed)
        self.symbolic = self.r.random() < 0.5
        self.sizes = {"B": self.r.randint(1, 4), "S": self.r.randint(4, 9), "P": self.r.randint(0, 3)}
        self.dtype = self.r.choice(["i64", "i32"])
        self.lines, self.tensors, self.inputs, self.count = [], [], {}, 0
        for k in range(self.r.randint(1, 2)):
            self.input(f"x{k}", [self.r.choice([self.sizes["B"], self.sizes["S"], 3, 4, 1, 2]) for _ in range(self.r.randint(1, 4))])
        for _ in range(self.r.randint(2, most_ops)):
            self.step()
        self.outputs = {}
        for k, (name, a) in enumerate(self.r.sample(self.tensors, min(3, len(self.tensors)))):
            self.lines.append(f"output out{k} = {name}")
            self.outputs[f"out{k}"] = a.copy()

    # ---- pieces of text

    def size(self, n, one_value=[0]):
        """A number, or the symbol that has this value."""
        if self.symbolic:
            for s in ("B", "S"):
                if self.sizes[s] == n and self.r.random() < 0.7:
                    return s
        return str(n)

    def name(self):
        self.count += 1
        return f"t{self.count}"

    def input(self, name, shape):
        text = [self.size(n) for n in shape]
        a = np.arange(np.prod(shape, dtype=np.int64), dtype=np.int64).reshape(shape) % 17 - 5
        a = a.astype(np.int64 if self.dtype == "i64" else np.int32)
        self.lines.append(f"input {name} : {self.dtype}[{', '.join(text)}]")
        self.inputs[name] = a
        self.before = getattr(self, "before", {})
        self.before[name] = a.copy()
        self.tensors.append((name, a))

    @property
    def text(self):
        head = ["size B in [1, 4]", "size S in [4, 9]", "size P in [0, 3]"] if self.symbolic else []
        return "graph g {\n" + "".join(f"  {line}\n" for line in head + self.lines) + "}\n"

    def add(self, line, a):
        name = self.name()
        self.lines.append(f"{name} = {line}")
        self.tensors.append((name, a))

    # ---- one statement

    def step(self):
        name, a = self.r.choice(self.tensors[-8:] if self.r.random() < 0.7 else self.tensors)
        kind = self.r.random()
        if kind < 0.45:
            self.view(name, a)
        elif kind < 0.6:
            self.pure(name, a)
        else:
            self.write(name, a)

    def view(self, name, a):
        d = self.r.randrange(a.ndim) if a.ndim else 0
        n = a.shape[d] if a.ndim else 1
        kinds = ["unsqueeze", "flatten", "alias"]
        if a.ndim:
            kinds += ["slice", "slice", "select", "select", "transpose", "reshape", "unbind", "split", "narrow", "squeeze", "permute", "step", "unfold", "movedim"]
        if a.ndim > 1:
            kinds += ["diagonal"]
        kind = self.r.choice(kinds)
        if kind == "unsqueeze" and a.ndim < 5:
            e = self.r.randint(0, a.ndim)
            self.add(f"unsqueeze({name}, {e})", np.expand_dims(a, e))
        elif kind == "alias":
            self.add(f"alias({name})", a[...])
        elif kind == "squeeze" and a.shape[d] == 1 and not self.symbolic:
            self.add(f"squeeze({name}, {d})", a.squeeze(d))
        elif kind == "flatten":
            self.add(f"flatten({name})", a.reshape(-1))
        elif kind == "reshape" and not self.symbolic and n % 2 == 0 and n and a.ndim < 5:
            shape = [*a.shape[:d], 2, n // 2, *a.shape[d + 1 :]]
            self.add(f"reshape({name}, {shape})", a.reshape(shape))
        elif kind == "slice" and n:
            first = self.r.randint(0, n - 1)
            last = self.r.randint(first, n)
            if self.symbolic and n >= 4 and self.r.random() < 0.7:
                if self.symbolic and self.text_size(name, d) not in (None, "B"):
                    p = self.sizes["P"]
                    self.add(f"slice({name}, {d}, P, P + 1)", self.cut(a, d, slice(p, p + 1)))
                return
            if not self.symbolic:
                self.add(f"slice({name}, {d}, {first}, {last})", self.cut(a, d, slice(first, last)))
        elif kind == "step" and n:
            self.add(f"slice({name}, {d}, 1, none, 2)", self.cut(a, d, slice(1, None, 2)))
        elif kind == "narrow" and n and not self.symbolic:
            first = self.r.randint(0, n - 1)
            self.add(f"narrow({name}, {d}, {first}, {n - first})", self.cut(a, d, slice(first, n)))
        elif kind == "select" and n:
            k = 0 if self.symbolic else self.r.randint(-n, n - 1)
            if self.symbolic and self.zero_possible(name):
                return
            self.add(f"select({name}, {d}, {k})", np.moveaxis(a, d, 0)[k, ...])
        elif kind == "transpose":
            e = self.r.randrange(a.ndim)
            self.add(f"transpose({name}, {d}, {e - a.ndim})", a.swapaxes(d, e))
        elif kind == "movedim":
            e = self.r.randrange(a.ndim)
            self.add(f"movedim({name}, [{d}], [{e}])", np.moveaxis(a, d, e))
        elif kind == "permute":
            order = self.r.sample(range(a.ndim), a.ndim)
            self.add(f"permute({name}, {order})", a.transpose(order))
        elif kind == "diagonal" and not self.symbolic and a.size:
            e = self.r.choice([k for k in range(a.ndim) if k != d])
            offset = self.r.randint(-a.shape[d] + 1, a.shape[e] - 1)
            v = np.diagonal(a, offset, d, e)
            v.flags.writeable = True
            self.add(f"diagonal({name}, {offset}, {d}, {e})", v)
        elif kind == "unfold" and not self.symbolic and n >= 2 and a.ndim < 5:
            m = n // 2 * 2
            v = np.lib.stride_tricks.sliding_window_view(a, 2, axis=d, writeable=True)
            self.add(f"unfold({name}, {d}, 2, 2)", self.cut(v, d, slice(0, m, 2)))
        elif kind == "unbind" and 0 < n < 5 and not self.symbolic:
            names = [self.name() for _ in range(n)]
            self.lines.append(f"{', '.join(names)} = unbind({name}, {d})")
            self.tensors += [(names[k], np.moveaxis(a, d, 0)[k, ...]) for k in range(n)]
        elif kind == "split" and n >= 3 and not self.symbolic:
            pieces = [self.cut(a, d, slice(k, k + 2)) for k in range(0, n, 2)]
            names = [self.name() for _ in pieces]
            self.lines.append(f"{', '.join(names)} = split({name}, 2, {d})")
            self.tensors += list(zip(names, pieces))

    def text_size(self, name, d):
        """What dimension d of an input is written as; None for anything else."""
        for line in self.lines:
            if line.startswith(f"input {name} :"):
                return line[line.index("[") + 1 : -1].split(", ")[d]
        return None

    def zero_possible(self, name):
        return self.text_size(name, 0) is None

    def cut(self, a, d, s):
        return a[(slice(None),) * d + (s,)]

    def pure(self, name, a):
        k = self.r.random()
        same = [(n, b) for n, b in self.tensors if b.shape == a.shape]
        other, b = self.r.choice(same)
        if self.symbolic:
            other, b = name, a
        with np.errstate(over="ignore"):
            if k < 0.5:
                self.add(f"add({name}, {other})", np.ascontiguousarray(a + b).reshape(a.shape))
            elif k < 0.8:
                self.add(f"sub({name}, 3)", np.ascontiguousarray(a - a.dtype.type(3)).reshape(a.shape))
            else:
                self.add(f"maximum({name}, 0)", np.ascontiguousarray(np.maximum(a, a.dtype.type(0))).reshape(a.shape))

    def write(self, name, a):
        kind = self.r.choice(["add", "mul", "fill", "copy", "clamp", "self", "shift", "index_copy", "index_fill", "masked_fill", "broadcast", "index_add"])
        d = self.r.randrange(a.ndim) if a.ndim else 0
        n = a.shape[d] if a.ndim else 1
        one = a.dtype.type
        with np.errstate(over="ignore"):
            if kind == "add":
                self.lines.append(f"add_({name}, {self.count})")
                a += one(self.count)
            elif kind == "mul":
                self.lines.append(f"mul_({name}, 3)")
                a *= one(3)
            elif kind == "fill":
                self.lines.append(f"fill_({name}, 7)")
                a[...] = 7
            elif kind == "clamp":
                self.lines.append(f"clamp_({name}, -4, 40)")
                a[...] = np.clip(a, -4, 40)
            elif kind == "self":
                self.lines.append(f"add_({name}, {name})")
                a += a.copy()
            elif kind == "masked_fill":
                mask = self.name()
                self.lines += [f"{mask} = gt({name}, 5)", f"masked_fill_({name}, {mask}, -2)"]
                a[a > 5] = -2
            elif kind in ("copy", "broadcast", "index_copy", "index_add", "index_fill", "shift"):
                if self.symbolic:
                    return
                self.write_from(kind, name, a, d, n)

    def write_from(self, kind, name, a, d, n):
        if kind == "copy":
            other, b = self.r.choice([(m, b) for m, b in self.tensors if b.shape == a.shape])
            op = self.r.choice(["copy_", "sub_"])
            self.lines.append(f"{op}({name}, {other})")
            a[...] = b.copy() if op == "copy_" else a - b.copy()
        elif kind == "broadcast":
            fits = [(m, b) for m, b in self.tensors if b.ndim <= a.ndim and all(x in (1, y) for x, y in zip(b.shape[::-1], a.shape[::-1]))]
            other, b = self.r.choice(fits)
            self.lines.append(f"copy_({name}, {other})")
            a[...] = b.copy()
        elif kind == "shift" and a.ndim and n >= 2:
            to, of = self.name(), self.name()
            self.lines += [f"{to} = slice({name}, {d}, 1)", f"{of} = slice({name}, {d}, 0, {n - 1})", f"copy_({to}, {of})"]
            self.cut(a, d, slice(1, None))[...] = self.cut(a, d, slice(0, n - 1)).copy()
        elif a.ndim and n >= 1 and kind.startswith("index"):
            at = self.r.sample(range(n), self.r.randint(1, n))
            index, of = self.name(), self.name()
            scale = 1 if len(at) == 1 else at[1] - at[0]
            if len(at) > 1 and any(y - x != scale for x, y in zip(at, at[1:])):
                at, scale = at[:1], 1
            if scale < 1:
                at, scale = at[:1], 1
            self.lines.append(f"{index} = arange({at[0]}, {at[-1] + 1}, {scale})")
            m = np.moveaxis(a, d, 0)
            if kind == "index_fill":
                self.lines.append(f"index_fill_({name}, {d}, {index}, 9)")
                m[at] = 9
                return
            self.lines.append(f"{of} = slice({name}, {d}, 0, {len(at)})")
            b = m[: len(at)].copy()
            self.lines.append(f"{kind}_({name}, {d}, {index}, {of})")
            if kind == "index_copy":
                m[at] = b
            else:
                m[at] += b


def programs(seed, count, most_ops):
    return [Program(f"{seed} {k}", most_ops) for k in range(count)]
