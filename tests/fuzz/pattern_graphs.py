"""Ops of the built-in patterns, drawn from the text of the patterns alone: a new pattern is drawn without being told.

What the text leaves open is guessed: an input without a shape gets that of the operand beside it, an attribute whose
value is a name one of a few values. A guess may be wrong: such a graph may be refused, or not match."""

import pathlib
import re

from graph_writer import Size, sizes

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "src/graph/patterns"
DTYPES = ("f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool")
CLASSES = ("any", "float", "integer", "number", "const", "varying")
TOLERANCE = {"f64": 1e-4, "f32": 1e-4, "f16": 0.02, "bf16": 0.15}
WORD = r"[A-Za-z_]\w*"
# Values for attributes whose value is a name; others are left out.
GUESSES = {
    "dim": ("-1", "1"), "dims": ("[0, 2, 1]", "[0, 2, 1, 3]"), "keepdim": ("true", "false"), "eps": ("0.1", "1e-05"), "is_causal": ("false", "true"), "scale": ("0.5",),
    "nan_rows": ("false", "true"), "stride": ("[1, 1]", "[2, 2]"), "padding": ("[0, 0]", "[1, 1]"), "dilation": ("[1, 1]",), "groups": ("1",), "kernel_size": ("[2, 2]", "[3, 3]"),
    "pad": ("[1, 1, 1, 1]", "[1, 1]"), "num_groups": ("2",), "value": ("0", "1"), "approximate": ('"none"', '"tanh"'), "dtype": ("f32", "bf16"), "start": ("0", "1"), "end": ("2",),
    "output_padding": ("[0, 0]",), "transposed": ("false",), "normalized_shape": ("[4]",), "alpha": ("1",), "beta": ("1",), "p": ("0.5", "0.25"), "train": ("true", "false"),
    "stream": ("0", "1"), "DIMS": ("[-1]", "[1]", "[1, 2]"),
}


def split(text, mark=","):
    """Parts between marks that no bracket holds."""
    parts, depth, part = [], 0, ""
    for c in text:
        depth += (c in "([{") - (c in ")]}")
        if c == mark and not depth:
            parts.append(part)
            part = ""
        else:
            part += c
    return [p.strip() for p in [*parts, part] if p.strip()]


class Pattern:
    """inputs: {name: (type, optional)}; steps: [(names, type, alternatives)]; guards; outputs."""

    def __init__(self, name, first, second):
        self.name, self.inputs, self.steps, self.guards = name, {}, [], []
        self.rounds = "more than rounding" not in first  # results with and without it agree
        off = re.search(r'^\s*off "(.*)"', first, re.M)
        # False: it is off because results may change, with NaN for example; or var_mean gives NaN where mean gives an infinity
        self.exact = (not off or "faster" in off[1]) and not name.startswith("mean_of_")
        for line in filter(None, (re.sub(r"#.*", "", raw).strip() for raw in first.splitlines())):
            self.read(line)
        made = {w for line in second.splitlines() if "=" in line for w in re.findall(WORD, re.sub(r":[^=]*", "", line.partition("=")[0]))}
        self.outputs = [n for names, _, _ in self.steps for n in names if n in made]

    def read(self, line):
        if line.startswith("input "):
            for one in split(line[6:]):
                name, _, kind = one.partition(":")
                words = name.split()
                self.inputs[words[0]] = (kind.replace("optional", "").strip() or "any", "optional" in one)
        elif line.startswith("where "):
            for name in re.findall(rf"\bconstant\(({WORD})\)", line):
                kind, optional = self.inputs[name]
                self.inputs[name] = (kind + " const", optional)
        elif line.startswith("guard "):
            self.guards.append(line[6:])
        elif not re.match(r"(off|shared) ", line) and "=" in line:
            left, right = re.match(r"([^=]*?)=(.*)", line).groups()
            names, _, kind = left.partition(":")
            self.steps.append((re.findall(WORD, names), kind.strip() or "any", split(right, "|")))


def builtin():
    """All built-in patterns."""
    text = "\n".join(re.sub(r"^//.*", "", p.read_text(encoding="utf-8"), flags=re.M) for p in sorted(FOLDER.glob("*.ind")))
    return [Pattern(*m.groups()) for m in re.finditer(rf"^pattern ({WORD}) \{{\n(.*?)^\}} => \{{\n(.*?)^\}}", text, re.M | re.S)]


class Drawn:
    """One choice of types, sizes and alternatives of a pattern."""

    def __init__(self, g, pattern):
        self.g, self.pattern, self.size, self.type, self.tensor, self.lines, self.declared = g, pattern, {}, {}, {}, [], []
        self.used = {}

    def expression(self, text):
        """A size of the pattern: a name, a number or arithmetic of them; None: unknown."""
        for name in re.findall(WORD, text):
            if name not in self.size:
                return None
        return Size(int(eval(text, {}, {n: int(s) for n, s in self.size.items()})))

    def draw_sizes(self):
        names = {w for kind, _ in self.pattern.inputs.values() for shape in re.findall(r"\[(.*?)\]", kind) for w in re.findall(WORD, shape)}
        names |= {w for guard in self.pattern.guards for w in re.findall(WORD, guard)} - {"and", "or", "not"}
        for _ in range(50):
            self.size = {n: Size(self.g.pick(1, 2, 2, 3, 4, 4, 8)) for n in sorted(names)}
            if all(self.holds(guard) for guard in self.pattern.guards):
                return

    def holds(self, guard):
        return bool(eval(guard, {"Min": min, "Max": max}, {n: int(s) for n, s in self.size.items()}))

    def dtype(self, kind):
        words = [w for w in re.findall(WORD, kind.partition("[")[0]) if w != "const"]
        name = words[0] if words else "any"
        if name in DTYPES:
            return name
        if name == "integer":
            return "i64"
        return self.g.dtype if name in CLASSES else self.type.setdefault(name, self.g.dtype)

    def shape(self, kind):
        m = re.search(r"\[(.*)\]", kind)
        if not m:
            return None
        parts = split(m.group(1))
        rest = [Size(2), Size(3)][: self.g.random.randint(0, 2)] if parts[:1] == [".."] else []
        return rest + [self.expression(p) for p in parts if p != ".."]

    def operand(self, word, beside):
        """The text of an operand. beside: the shape of another operand."""
        if re.match(r"[-\d]", word) or word in ("inf", "nan", "true", "false", "none") or word.startswith('"'):
            return word
        if word not in self.tensor:
            self.declare(word, beside)
        return self.tensor[word][0]

    def declare(self, name, beside):
        kind, _ = self.pattern.inputs[name]
        if "number" in kind:
            self.tensor[name] = (self.g.pick("0.5", "0.25", "2", "1"), [])
            return
        if name == "seed":
            self.tensor[name] = (self.g.input([], "i64", const=False).name, [])
            return
        shape = self.shape(kind) or beside or [self.g.fixed() for _ in range(3)]
        if shape is beside and beside and self.g.chance(0.4):
            shape = beside[self.g.random.randrange(len(beside)) :]
        t = self.g.input([s or Size(2) for s in shape], self.dtype(kind), const=True if "const" in kind else None)
        self.tensor[name] = (t.name, t.shape)

    def attribute(self, name, value, kind, source):
        """The text of an attribute; None: it is left out."""
        if value.startswith("["):
            parts = [(self.expression(p) if re.search(WORD, p) else None) or p for p in split(value[1:-1])]
            return f"{name}=[{', '.join(map(str, parts))}]"
        if not re.fullmatch(WORD, value) or value in ("true", "false", "none", "inf") or value in DTYPES:
            return f"{name}={value}"
        if value in self.type:
            return f"{name}={self.type[value]}"
        if value in self.size:
            return f"{name}={self.size[value]}"
        if value not in self.used:
            self.used[value] = self.view_size(kind, source) if name == "size" else self.g.pick(*GUESSES[name]) if name in GUESSES else None
        return f"{name}={self.used[value]}" if self.used[value] else None

    def view_size(self, kind, source):
        """The shape of a result as its type states it; one unknown size follows from the number of elements."""
        shape = self.shape(kind)
        if not shape and source and len(source) > 2:
            shape = [source[0] * source[1], *source[2:]]
        if not shape or shape.count(None) > 1:
            return None
        if None in shape:
            total = known = 1
            for s in source or []:
                total *= int(s)
            for s in shape:
                known *= int(s or 1)
            at = shape.index(None)
            shape[at] = Size(total // known or 1)
            names = split(re.search(r"\[(.*)\]", kind).group(1))
            if re.fullmatch(WORD, names[at]):
                self.size[names[at]] = shape[at]
        return sizes(shape)

    def choose(self, kind, alternatives):
        """An alternative; another name of a tensor only if it has the rank that the type states."""
        shape = self.shape(kind)
        fits = lambda a: not re.fullmatch(WORD, a) or not shape or a not in self.tensor or not self.tensor[a][1] or len(self.tensor[a][1]) == len(shape)
        return self.g.pick(*([a for a in alternatives if fits(a)] or alternatives))

    def step(self, names, kind, alternatives):
        alternative = self.choose(kind, alternatives)
        if re.fullmatch(WORD, alternative):
            self.operand(alternative, None)
            self.tensor[names[0]] = self.tensor[alternative]
            return
        op, arguments = re.match(rf"({WORD})\((.*)\)$", alternative).groups()
        words = split(arguments)
        operands = [w for w in words if not re.match(rf"{WORD}\s*=", w)]
        flat = [w for o in operands for w in (split(o[1:-1]) if o.startswith("[") else [o])]
        known = [self.tensor[w][1] for w in flat if w in self.tensor and self.tensor[w][1]]
        beside = max(known, key=len) if known else None
        texts = [f"[{', '.join(self.operand(w, beside) for w in split(o[1:-1]))}]" if o.startswith("[") else self.operand(o, beside) for o in operands]
        source = self.tensor[flat[0]][1] if flat and flat[0] in self.tensor else None
        for word in words[len(operands) :]:
            name, _, value = word.partition("=")
            texts.append(self.attribute(name.strip(), value.strip(), kind, source))
        made = [self.g.name() for _ in names]
        call = f"{op}({', '.join(t for t in texts if t)})"
        needs = [self.tensor[w][0] for w in flat if w in self.tensor and not re.match(r"[-\d]", self.tensor[w][0])]
        self.g.lines.append((f"  {', '.join(made)} = {call}", made, needs))
        stated = re.search(r"\bsize=\[([\d, ]+)\]", call)
        shape = [Size(int(n)) for n in stated[1].split(",")] if stated else self.shape(kind)
        shape = shape if shape and None not in shape else max((s for s in [beside, source] if s), key=len, default=None)
        for n, name in zip(names, made):
            self.tensor[n] = (name, shape)


def text(g, pattern):
    """A graph of the ops of a pattern."""
    g.special = g.special and pattern.exact
    d = Drawn(g, pattern)
    d.draw_sizes()
    for name, (kind, _) in pattern.inputs.items():
        if "[" in kind:
            d.declare(name, None)
    for step in pattern.steps:
        d.step(*step)
    outputs = list(dict.fromkeys(d.tensor[n][0] for n in pattern.outputs))
    tolerance = max(TOLERANCE[t] for t in TOLERANCE if t == "f64" or any(f" {t}[" in line or f"dtype={t}" in line for line in [*g.inputs, *[line[0] for line in g.lines]]))
    return g.whole_text(outputs, [f"# tolerance {tolerance}", "# may be refused"])
