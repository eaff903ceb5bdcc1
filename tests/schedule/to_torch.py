"""A graph in the text form as a Python function of torch: what the peer compiles is what we compile.

    fn, inputs = function(text, sizes={"B": 8})   # inputs: name -> (dtype, shape), in order; constants count as inputs

An output is returned under its name; `mutate x = y` is x.copy_(y), after everything else."""

import re

import torch

DTYPES = {
    "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64, "bool": torch.bool,
    "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
}  # fmt: skip


def split(text):
    """At the commas that stand in no brackets."""
    parts, depth, start = [], 0, 0
    for at, c in enumerate(text):
        depth += c in "[(" or -(c in "])")
        if c == "," and not depth:
            parts.append(text[start:at])
            start = at + 1
    return [p.strip() for p in [*parts, text[start:]] if p.strip()]


def slice_(x, dim=0, start=None, end=None, step=1):
    index = [slice(None)] * x.dim()
    index[dim] = slice(start, end, step)
    return x[tuple(index)]


def index(x, indices):
    return x[tuple(slice(None) if i is None else i for i in indices)]


def norm(fn):
    return lambda x, *rest, normalized_shape=None, **kw: (
        fn(x, normalized_shape, *rest, **kw) if normalized_shape else fn(x, *rest, **kw)
    )


def any_(x, dim=None, keepdim=False):
    return torch.any(x) if dim is None else torch.any(x, dim, keepdim)


def var(fn):
    return lambda x, dim=None, correction=1, keepdim=False: fn(x, dim, correction=correction, keepdim=keepdim)


OPS = {
    "slice": slice_,
    "index": index,
    "any": any_,
    "view": lambda x, size: x.reshape(size),
    "cast": lambda x, dtype: x.to(dtype),
    "expand": lambda x, size: x.expand(size),
    "embedding": lambda weight, indices: torch.nn.functional.embedding(indices, weight),
    "layer_norm": norm(torch.nn.functional.layer_norm),
    "batch_norm": lambda x, w, b, mean, var, training: torch.nn.functional.batch_norm(x, mean, var, w, b, training),
    "group_norm": lambda x, groups, w, b: torch.nn.functional.group_norm(x, groups, w, b),
    "cat": lambda *x, dim=0: torch.cat(x[0] if isinstance(x[0], list) else x, dim),
    "var": var(torch.var),
    "std": var(torch.std),
    "convolution": lambda x, w, bias=None, **named: torch.ops.aten.convolution(x, w, bias, **named),
    "maximum": lambda x, other: x.clamp(min=other) if isinstance(other, (int, float)) else torch.maximum(x, other),
}
HOMES = (torch, torch.nn.functional, torch.ops.aten)


class Graph:
    def __init__(self, text, sizes):
        self.sizes = dict(sizes)
        self.inputs, self.steps, self.outputs, self.mutations = {}, [], {}, []
        for line in text.splitlines():
            self.statement(line.split("#")[0].strip())

    def statement(self, line):
        word, _, rest = line.partition(" ")
        if word == "size":
            hint = re.search(r"hint (-?\d+)", rest)
            self.sizes.setdefault(rest.split()[0], int(hint[1]) if hint else 8)
        elif word in ("input", "const"):
            name, dtype, shape = re.match(r"([\w.]+)\s*:\s*(\w+)\[(.*)\]", rest).groups()
            self.inputs[name] = (DTYPES[dtype], [self.size(s) for s in split(shape)])
        elif word == "output":
            for item in split(rest):
                name, _, value = item.partition("=")
                self.outputs[name.strip()] = (value or name).strip()
        elif word == "mutate":
            self.mutations.append([part.strip() for part in rest.split("=")])
        elif "(" in line and word not in ("graph", "guard", "fact"):
            names, op, args = re.match(r"(.*?) = (\w+)\((.*)\)$", line).groups()
            names = [n.split(":")[0].strip() for n in split(names)]
            self.steps.append((names, op, split(args)))

    def size(self, text):
        return int(eval(text, {"Min": min, "Max": max}, self.sizes))

    def value(self, text, env):
        if text in env:
            return env[text]
        if text in DTYPES:
            return DTYPES[text]
        if text[0] == "[":
            return [self.value(part, env) for part in split(text[1:-1])]
        if text[0] == '"':
            return text[1:-1]
        named = {"true": True, "false": False, "none": None, "inf": float("inf"), "-inf": float("-inf")}
        if text in named:
            return named[text]
        return eval(text, {"Min": min, "Max": max}, self.sizes)

    def call(self, op, args, env, device):
        positional, named = [], {}
        for arg in args:
            key = re.match(r"(\w+)=", arg)
            if key:
                named[key[1]] = self.value(arg[key.end() :], env)
            else:
                positional.append(self.value(arg, env))
        if op in ("full", "arange", "zeros", "ones"):
            named["device"] = device
        fn = OPS.get(op) or next(getattr(home, op) for home in HOMES if hasattr(home, op))
        return fn(*positional, **named)

    def run(self, *inputs):
        env = dict(zip(self.inputs, inputs, strict=True))
        for names, op, args in self.steps:
            result = self.call(op, args, env, inputs[0].device)
            results = result if len(names) > 1 or isinstance(result, (list, tuple)) else [result]
            env.update(zip(names, results, strict=False))
        outputs = [env[value] for value in self.outputs.values()]
        for name, value in self.mutations:
            env[name].copy_(env[value])
        return outputs


def function(text, sizes=()):
    graph = Graph(text, dict(sizes))
    return graph.run, graph.inputs


def random_inputs(inputs, most_index, device):
    """Floats normal, integers in [0, most_index), booleans either way."""
    made = []
    for dtype, shape in inputs.values():
        if dtype.is_floating_point:
            made.append(torch.randn(shape, device=device).to(dtype))
        else:
            made.append(torch.randint(0, 2 if dtype == torch.bool else most_index, shape, device=device).to(dtype))
    return made
