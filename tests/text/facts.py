"""Facts: what a case checks of a compiled graph without its whole text. One fact a line, or several with ` ; ` between.

Facts are about decisions (the JSON of the plan and of the schedule) and about the written CUDA C. Names that the code
generator gives to its functions stand here only, in TERMS: a rename changes one line here and no case.

    kernels 2                               of the whole module: any key of the schedule's JSON, a count, or
    variants 3 x 1                          of each kernel
    plan arch sm_80                         a key of the plan's JSON
    edge add -> layer_norm FUSED_VERTICAL   producer -> consumer, or `reader and reader`; then the bytes, if they matter
    buffer buf6 storage buf5                a key of a buffer
    kernel 0                                of a kernel, indented: a key of its JSON, `variants`
      variants 2
    kernel 0 variant 1                      of a variant, as they are counted in the text: from 1
      strategy row per warp                 a key of its JSON; lists are joined by ' x ', null is none
      accesses x 1                          places in the text where the kernel's argument for x is used
      fallback_clusters 8 x none            of each fallback: blocks of its cluster
      loops 0                               loops with a number of iterations that only a launch knows
      divisions 0                           divisions and remainders by a size that only a launch knows
      count 3 vector load of 8              TERMS, or text in quotes
    every variant                           of every variant of every kernel
      not local memory                      `not` before any fact
"""

import functools
import json
import re
import shlex

TERMS = {
    "vector load": r"\bind_load(?:_past|_once)?<N>\(",  # N: `of 8`, or any width
    "load past the L1": r"\bind_load_past<N>\(",
    "load once": r"\bind_load_once<N>\(",  # evict_first: the line is not read again
    "byte run": r"\bind_load_run<N, \d+>\(",  # adjacent elements, in loads of any alignment
    "vector store": r"\bind_store\(",
    "combined load": r"\bind_load_across<N>\(",  # misaligned: from two aligned vectors
    "combined store": r"\bind_store_across\(",
    "misalignment": r"\bind_misalignment<N>\(",  # computed from a pointer, at run time
    "asynchronous copy": r"\bind_cp_async16(?:_by|_partial|_before)?\(",
    "evict_last": r"\bind_evict_last(?:_policy)?\(",
    "shuffle": r"\bind_combine_lanes<N>\(",  # states of N lanes are combined
    "combine in shared memory": r"\bind_combine_shared<N, \d+>\(",
    "cluster exchange": r"\bind_cluster_send\(",
    "last block": r"\bind_last_block\(",
    "partial result left": r"\bind_split_leave\(",  # by a block, for the last of those that share a row
    "partial result taken": r"\bind_split_take\(",
    "result left": r"\bind_leave<",  # FINISH: for the block that reduces the results
    "result awaited": r"\bind_take<",
    "wait at entry": r"\bind_dependency_wait\(",
    "quotient": r"\bind_quotient\(",  # by a size, as a multiplication
    "index check": r"\bind_index(?:_wrapped)?\(",
    "vector atomic": r"\bind_add_(?:b?f16|f32)\(",
    "pairs of 16-bit elements": r"\bind_combine_b?f16\(",
    "fast exp2": r"\bind_exp2\(",
    "reciprocal": r"\bind_reciprocal_of_sum\(",
    "shared words": r"__shared__ unsigned \w+\[",  # elements of fewer bytes, four bytes a word
    "look back": r"\bind_scan_tile<\d+>\(",  # at the tiles of a row before this one, in global memory
    "scan of columns": r"\bind_scan_team<\d+, \d+>\(",  # by rows and threads of each
    "scan of threads": r"\bind_scan_threads<",
    "arrival at a block": r"\bind_barrier_arrive_at\(",  # of the cluster
    "arrival": r"\bind_barrier_arrive\(",  # at an mbarrier of the block
    "approximate sigmoid": r"\bind_approx_sigmoid\(",
    "wgmma": r"\bind_wgmma_(?:tile|bytes)<",
    "tcgen05": r"\bind_tcgen05_tile<",
    "tensor memory read": r"\bind_tcgen05_load\(",
    "mma.sync": r"\bind_mma_tile<",
    "tile shared": r"\bind_add_(sums|fragments|slices|rows)\b",
    "box copied": r"\bind_bulk_copy<",  # asynchronously, by a tensor map
    "windows copied": r"\bind_copy_windows<",  # the same by a tensor map of windows
    "lines gathered": r"= lines\[row_at \+",  # of windows, from shared memory
    "box multicast": r"\bind_bulk_multicast<",  # to blocks of the cluster
    "tile copied": r"\bind_tile_copy<",  # asynchronously, in vectors
    "sort": r"\bind_sort<",
    "sort of any length": r"\bind_sort_long<",
    "user function": r"\bind_user_\d+\((?!float|int|double|bool)",
    "user function defined": r"^static IND_INLINE \w+ ind_user_\d+\([^;]*\{$",
}

# The plan's text says what a staged row leaves in registers; its JSON does not.
HELD = {"nothing": "none", "the row": "row", "values computed from the row": "values", "operands that all rows share": "operands"}

ENTRY = r'^extern "C" __global__ (?:__\w+\([^)]*\) |void )*\w+\((.*?)\) \{$'


def sections(text):
    """{name: text} of a case, in their order; the first one, without a name, has the title and the command."""
    parts = re.split(r"^==== (.*)\n", text, flags=re.M)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def command_of(head):
    return head.splitlines()[1].removeprefix("$ ")


class Wrong(AssertionError):
    """A fact that does not hold."""


class Unknown(Exception):
    """A line that is no fact, or is about what is not there."""


class Compiled:
    """A graph at every stage; `run` prints it by a command."""

    def __init__(self, command, run):
        self.words, self.run = shlex.split(re.sub(r" --stage \w+| --json", "", command)), run

    def printed(self, *more):
        return self.run(shlex.join([*self.words, "--stage", *more]))

    @functools.cached_property
    def plan(self):
        return json.loads(self.printed("plan", "--json"))

    @functools.cached_property
    def schedule(self):
        return json.loads(self.printed("schedule", "--json"))

    @functools.cached_property
    def sources(self):
        """(kernel, variant): source text. Equal texts are printed once, for the first."""
        text = self.printed("cuda")
        starts = list(re.finditer(r"^// kernel (\d+)\b.*: .* variant (\d+) of \d+", text, re.M))
        ends = [m.start() for m in starts[1:]] + [len(text)]
        found = {(int(m[1]), int(m[2])): text[m.start() : end] for m, end in zip(starts, ends, strict=True)}
        assert all(len(re.findall(ENTRY, t, re.M | re.S)) == 1 for t in found.values())
        for at in self.places:
            if at not in found:
                found[at] = found[next(other for other in self.places if other in found and self.alike(at) == self.alike(other))]
        return found

    def alike(self, at):
        keys = ("strategy", "entry", "threads", "vector", "per_thread", "misaligned", "rows", "blocks_per_sm", "index_bits")
        return [self.variant(at)[key] for key in keys]

    @functools.cached_property
    def places(self):
        return [(k, v) for k, kernel in enumerate(self.plan["kernels"]) for v in range(1, 1 + len(kernel.get("variants", [])))]

    def variant(self, at):
        if at not in self.places:
            raise Unknown(f"no kernel {at[0]} variant {at[1]}")
        return self.plan["kernels"][at[0]]["variants"][at[1] - 1]

    def code(self, at):
        """The functions written for a variant: without the prelude, comments and empty lines."""
        text = self.sources[at]
        text = text[re.search(r'^(?:static __device__ void |extern "C" __global__ )', text, re.M).start() :]
        text = re.sub(r"//.*|/\*.*?\*/", "", text)
        return "".join(line.rstrip() + "\n" for line in text.splitlines() if line.strip())


def shown(value):
    if isinstance(value, list):
        return " x ".join(map(shown, value)) or "none"
    return {None: "none", True: "true", False: "false"}[value] if value is None or isinstance(value, bool) else str(value)


def same(name, found, wanted):
    if found != wanted:
        raise Wrong(f"{name} is {found}, not {wanted}")


def loops(code):
    """Of each line: the (variable, unrolled) of the loops around it. The written text is indented by its braces."""
    around, unrolled, stack = [], False, []
    for line in code.splitlines():
        indent = len(line) - len(line.lstrip())
        stack = [loop for loop in stack if loop[0] < indent]
        if found := re.match(r"for \((?:(?:const )?[\w ]*?\b(\w+) = [^;]*)?;", line.strip()):
            stack.append((indent, found[1], unrolled))
        unrolled = line.strip() in ("#pragma unroll", '_Pragma("unroll")')
        around.append([loop[1:] for loop in stack])
    return around


def runtime_loops(code):
    """Loops without `#pragma unroll`, or with a number of iterations after it."""
    found = 0
    before = ""
    for line in code.splitlines():
        found += bool(re.match(r"(?:for|while|do)\b", line.strip())) and before not in ("#pragma unroll", '_Pragma("unroll")')
        before = line.strip()
    return found


def divisions(code):
    """Divisions and remainders by an integer parameter of a function, cast or not."""
    integers = set(re.findall(r"\b(?:int|long long|unsigned(?: long long)?) (\w+)(?=[,);])", code))
    divisors = re.findall(r" [/%]=? (?:\((?:unsigned |long )*(?:int|long|unsigned)\)|ind_max\(1ll, |\()*(?:\w+\.)?([A-Za-z_]\w*)", code)
    return sum(name in integers for name in divisors)


def local_memory(code):
    """Accesses to arrays of a thread whose index is not known when the loops are unrolled: these are no registers."""
    arrays, constants, found = set(), set(), []
    for line, around in zip(code.splitlines(), loops(code), strict=True):
        declared = re.match(r"\s*(?!return|extern|__shared__)(?:const )?[\w:]+(?:<[^;=]*>)? (\w+)\[\w+\](?:\[\w+\])*(?:;| =)", line)
        if declared:
            arrays.add(declared[1])
        known = {name for name, unrolled in around if unrolled} - {name for name, unrolled in around if not unrolled}
        known |= constants - {name for name, _ in around}
        if re.match(r"\s*const int (\w+ = [\w +*]+(, |;))+$", line):
            constants -= set(re.findall(r"(\w+) =", line))
            values = re.findall(r"(\w+) = ([\w +*]+)", line)
            constants |= {name for name, value in values if not set(re.findall(r"[A-Za-z_]\w*", value)) - known}
        for name, index in re.findall(r"\b(\w+)\[([^\[\]]*)\]", line):
            if name in arrays and not declared and set(re.findall(r"[A-Za-z_]\w*", index)) - known:
                found.append(line.strip())
    return found


def accesses(code, variant, buffer):
    """How often the functions use the parameter that the buffer is passed to."""
    parameters = [p.split()[-1].lstrip("*") for p in re.search(ENTRY, code, re.M | re.S)[1].split(",")]
    if len(parameters) != len(variant["args"]):
        raise Unknown("arguments come in a table: several kernels in one launch")
    names = [n for n, a in zip(parameters, variant["args"], strict=True) if a.get("buffer") == buffer]
    if not names:
        raise Unknown(f"no argument {buffer}")
    body = code[re.search(ENTRY, code, re.M | re.S).end() :]
    return sum(len(re.findall(rf"\b{name}\b", body)) for name in names), re.search(rf"^.*\b{names[0]}\b", code, re.M)[0]


def number_of(code, term):
    if re.fullmatch(r'".+"', term):
        return code.count(term[1:-1])
    name, _, width = term.partition(" of ") if term not in TERMS else (term, "", "")
    if name not in TERMS:
        raise Unknown(f"no such term: {name}")
    return len(re.findall(TERMS[name].replace("<N", "<" + (width or r"\d+")), code, re.M))


def held(why):
    """What a staged row leaves in registers, in the words of HELD."""
    words = re.search(r"in registers: ([^;]*)", why)
    return " + ".join(HELD[word] for word in words[1].split(", ")) if words else ""


def fallbacks(variant):
    found = [(f["strategy"], held(f["why"])) for f in variant["fallbacks"]]
    return "; ".join(f"{strategy}, {what}" if what else strategy for strategy, what in found) or "none"


def fallback_clusters(variant):
    """Of each fallback: the blocks of its cluster, None: it has none."""
    return [f["cluster"] if f["cluster"] > 1 else None for f in variant["fallbacks"]]


def check_variant(made, at, word, rest):
    variant = made.variant(at)
    if word == "accesses":
        buffer, number = rest.rsplit(" ", 1)
        same(f"accesses {buffer}", accesses(made.code(at), variant, buffer)[0], int(number))
    elif word == "read-only":
        if "__restrict__" not in accesses(made.code(at), variant, rest)[1]:
            raise Wrong(f"{rest} is not read-only")
    elif word == "loops":
        same("loops", runtime_loops(made.code(at)), int(rest))
    elif word == "divisions":
        same("divisions", divisions(made.code(at)), int(rest))
    elif word == "count":
        number, term = rest.split(" ", 1)
        same(term, number_of(made.code(at), term), int(number))
    elif word == "has":
        if not number_of(made.code(at), rest):
            raise Wrong(f"no {rest}")
    elif (word, rest) == ("local", "memory"):
        if not local_memory(made.code(at)):
            raise Wrong("no local memory")
    elif word == "registers":
        same(word, held(variant["why"]), rest)
    elif word == "fallbacks":
        same(word, fallbacks(variant), rest)
    elif word == "fallback_clusters":
        same(word, shown(fallback_clusters(variant)), rest)
    elif word == "args":
        same(word, ", ".join(str(a.get("buffer") or a.get("size") or next(iter(a))) for a in variant["args"]), rest)
    elif word in variant:
        same(word, shown(variant[word]), rest)
    else:
        raise Unknown(f"no such fact of a variant: {word}")


def check_kernel(made, kernel, word, rest):
    if kernel >= len(made.schedule["kernels"]):
        raise Unknown(f"no kernel {kernel}")
    found = made.schedule["kernels"][kernel]
    if word == "variants":
        same(word, len(made.plan["kernels"][kernel].get("variants", [])), int(rest))
    elif word in found:
        same(word, shown(found[word]).replace(" x ", ", "), rest)
    else:
        raise Unknown(f"no such fact of a kernel: {word}")


def check_module(made, word, rest):
    found = made.schedule
    if word == "plan":  # a key of the plan's JSON
        key, value = rest.split(" ", 1)
        if key not in made.plan or isinstance(made.plan[key], list):
            raise Unknown(f"no such fact of a plan: {key}")
        same(key, shown(made.plan[key]), value)
    elif word in ("kernels", "buffers", "edges"):
        same(word, len(found[word]), int(rest))
    elif word == "variants":
        same(word, " x ".join(str(len(kernel.get("variants", []))) for kernel in made.plan["kernels"]), rest)
    elif word == "launches":
        same(word, len({kernel["launch"] for kernel in found["kernels"]}), int(rest))
    elif word == "edge":
        named = [(f"{e['from']} {'->' if e['vertical'] else 'and'} {e['to']} {e['code']}", e["bytes"]) for e in found["edges"]]
        edges = {edge + more for edge, size in named for more in ("", " " + size)}
        if rest not in edges:
            raise Wrong("edges are " + "; ".join(sorted(edges)))
    elif word == "buffer":
        name, key, value = rest.split(" ", 2)
        buffers = [b for b in found["buffers"] if b["name"] == name]
        if not buffers or key not in buffers[0]:
            raise Unknown(f"no such buffer, or key: {rest}")
        same(f"{name} {key}", shown(buffers[0][key]), value)
    elif word in found:
        same(word, shown(found[word]).replace(" x ", ", "), rest)
    else:
        raise Unknown(f"no such fact: {word}")


def lines_of(text):
    """(scope, fact) of each line: the scope is None, (kernel,), (kernel, variant) or 'every'."""
    scope, found = None, []
    for line in text.splitlines():
        fact = line.partition(" #")[0].strip()
        if not fact:
            continue
        if line[0] != " ":
            named = re.fullmatch(r"kernel (\d+)(?: variant (\d+))?", fact)
            scope = "every" if fact == "every variant" else tuple(int(n) for n in named.groups() if n) if named else None
            if scope is not None:
                continue
        elif scope is None:
            raise Unknown(f"indented, but under no kernel: {fact}")
        found += [(scope, one.strip()) for one in fact.split(" ; ")]
    return found


def check(made, scope, fact):
    """Raises Wrong if the fact does not hold."""
    if scope == "every":
        for at in made.places:
            check(made, at, fact)
        return
    if fact.startswith("not "):
        try:
            check(made, scope, fact[4:])
        except Wrong:
            return
        raise Wrong(fact)
    word, _, rest = fact.partition(" ")
    if scope is None:
        check_module(made, word, rest)
    elif len(scope) == 1:
        check_kernel(made, *scope, word, rest)
    else:
        check_variant(made, scope, word, rest)
