"""The configurations of a matrix product and their estimated times, by the library at hand. Needs no torch and no GPU.

A configuration is a dict: template, tile, warps, stages, blocks_per_sm, splits, cluster, pair; cost_ns, the estimate,
or None where the product does not have it; only_tuned, true if estimates do not choose it, only ind_tune does."""

import contextlib
import ctypes as C
import functools

import library
import product_results

MOST = 4096  # configurations of a product
FAR = 4  # times the least estimate, above which a configuration is not worth a measurement
PAIRS = ((2, 1), (1, 2))


class Values(C.Structure):
    """ind__tile_choice"""

    _fields_ = [(n, C.c_int) for n in ("strategy", "m", "n", "k", "warps_m", "warps_n", "stages", "blocks_per_sm",
                                       "splits", "cluster", "pair_m", "pair_n")]  # fmt: skip


class Choice(C.Structure):
    """bench_choice"""

    _fields_ = [("values", Values), ("cost_ns", C.c_double), ("only_tuned", C.c_int)]


# ---- names of the library


def names_of(function):
    found = []
    while name := function(len(found)):
        found.append(name.decode())
    return found


@functools.cache
def strategies():
    return names_of(library.load().bench_strategy_name)


@functools.cache
def figures():
    """The names of the figures of a target, in the order of ind_thresholds."""
    return names_of(library.load().bench_figure_name)


# ---- targets

NUMBERS = ("num_sms", "shared_per_block", "shared_per_sm", "l2_bytes", "max_cluster", "registers_per_thread", "memory_bytes_per_ns",
           "f32_flops_per_ns", "tensor_flops_per_ns", "launch_ns", "sm_registers", "sm_threads", "block_shared", "l1_bytes", "cublas_bytes")  # fmt: skip


@functools.cache
def target_type():
    class Target(C.Structure):
        """ind_target"""

        _fields_ = [("sm", C.c_int), ("specific", C.c_bool), *((n, C.c_int) for n in NUMBERS)] + [
            ("thresholds", C.c_int * len(figures()))
        ]

    return Target


def described(target):
    """A target without its figures, for a record."""
    return {name: getattr(target, name) for name in ("sm", "specific", *NUMBERS)}


def target_of(described, changes):
    """The target of a record, with the library's figures except for `changes`, by name."""
    target = target_type()(**described)
    for name, value in changes.items():
        target.thresholds[figures().index(name)] = value
    return target


def named(context, arch):
    """The target of an architecture or a device, such as sm_90a or H100, for a record."""
    target = target_type()()
    context.check(context.lib.ind_target_named(context.context, arch.encode(), C.byref(target)))
    return described(target)


def target(context, module):
    """The target of a module, for a record."""
    found = context.lib.bench_target
    found.restype = C.POINTER(target_type())
    return described(found(module).contents)


# ---- configurations


def configuration(choice):
    v = choice.values
    return {
        "template": strategies()[v.strategy].removeprefix(product_results.PRODUCT),
        "tile": [v.m, v.n, v.k],
        "warps": [v.warps_m, v.warps_n],
        "stages": v.stages,
        "blocks_per_sm": v.blocks_per_sm,
        "splits": v.splits,
        "cluster": v.cluster,
        "pair": [v.pair_m, v.pair_n],
        "cost_ns": round(choice.cost_ns, 1) if choice.cost_ns >= 0 else None,
        "only_tuned": choice.only_tuned != 0,
    }


def values(c):
    """The library's form of a configuration. A template that it does not have is none."""
    name = product_results.PRODUCT + c["template"]
    strategy = strategies().index(name) if name in strategies() else 0
    return Values(strategy, *c["tile"], *c["warps"], c["stages"], c["blocks_per_sm"], c["splits"], c["cluster"], *c["pair"])


def identity(c):
    """What two configurations differ in. The blocks of an SM follow from the rest."""
    return (c["template"], *c["tile"], *c["warps"], c["stages"], c["splits"], c["cluster"], *c["pair"])


def text(c):
    """As product_results.strategy describes a variant."""
    variant = {**c, "strategy": c["template"], "splits": c["splits"] if c["splits"] > 1 else None, "pairs": c["pair"]}
    return product_results.strategy(variant) + (f" in clusters of {c['cluster']}" if c["cluster"] else "")


def listed(context, module):
    """All configurations of a module's product: the first choice, then the others in the order of their estimates."""
    found, num = (Choice * MOST)(), C.c_int()
    context.check(context.lib.bench_list(module, found, MOST, C.byref(num)))
    return [configuration(c) for c in found[: num.value]]


def estimated(context, module, given):
    """These configurations with the estimates of a module's product."""
    choices = (Choice * len(given))(*[Choice(values(c)) for c in given])
    context.check(context.lib.bench_estimate(module, choices, len(given)))
    new = map(configuration, choices)
    return [{**c, "cost_ns": n["cost_ns"], "only_tuned": n["only_tuned"]} for c, n in zip(given, new)]


def forced(context, graph_text, first, c):
    """Compiles the graph with this configuration. first: the module of the first choice. Returns a module's handle."""
    module = C.c_void_p()
    with context.graph(graph_text) as graph:
        context.check(context.lib.bench_force(graph, first, C.byref(values(c)), C.byref(module)))
    return module


@contextlib.contextmanager
def emitted(context, graph_text, target):
    """A module's handle, planned for a target; it does not run."""
    module = C.c_void_p()
    with context.graph(graph_text) as graph:
        context.check(context.lib.bench_emit(graph, C.byref(target), C.byref(module)))
    try:
        yield module
    finally:
        context.destroy(module)


def replan(context, module, c):
    """Plans the product of an emitted module again with this configuration."""
    context.check(context.lib.bench_plan(module, C.byref(values(c))))


# ---- the configurations to measure


def spread(found, most):
    """At most `most` configurations of those in `found`: the first choice, the cheapest in each form of multicast, and the
    cheapest others. For each configuration that precedes another one of its template and tile, the estimate of the other
    counts half as much more, so that tiles are many and variants of a tile are few."""
    near = [c for c in found if c["cost_ns"] <= FAR * found[0]["cost_ns"]]
    chosen = near[:1]
    chosen += [c for pair in PAIRS if (c := next((c for c in near[1:] if tuple(c["pair"]) == pair), None))]
    before, rest = {}, []
    for c in near:
        tile = (c["template"], *c["tile"][:2])
        rest.append((c["cost_ns"] * (1 + before.get(tile, 0) / 2), c))
        before[tile] = before.get(tile, 0) + 1
    rest.sort(key=lambda item: item[0])
    chosen += [c for _, c in rest if c not in chosen]
    return chosen[: max(1, most)]


# ---- modules with them


def same(variant, c):
    """True if the variant of a plan has the configuration: a device may replace it, as its clusters may not fit."""
    found = [variant[name] for name in ("strategy", "tile", "stages", "pairs")]
    if c["template"] == product_results.BULK and variant["warps"] != c["warps"]:
        return False
    return found == [product_results.PRODUCT + c["template"], c["tile"], c["stages"], c["pair"]]


def compile_spread(context, graph_text, most):
    """Compiles the graph with each of at most `most` configurations. Returns a pair for each: the configuration, with its
    strategy as text, and a module's handle, or None with the configuration's error. The first one is the first choice."""
    first = context.compiled(graph_text)
    found = []
    for c in spread(listed(context, first), most):
        c["strategy"] = text(c)
        module = first
        try:
            if found:
                module = forced(context, graph_text, first, c)
        except RuntimeError as e:
            found.append(({**c, "error": str(e)}, None))
            continue
        variant = product_results.product_of(context.plan(module))
        if not same(variant, c):
            c["ran"] = product_results.strategy(variant)
        found.append((c, module))
    return found
