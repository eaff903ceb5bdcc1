"""Our products with operands multicast to clusters of neighbouring tiles, beside the same without and the library's, in turn."""

import torch

import binding
import product_cases
import product_results
import product_timing
import run
import timing

FORMS = {"2 x 1": (2, 1), "1 x 2": (1, 2), "2 x 2": (2, 2)}


class Forms:
    """A compiler, and a context, for each form of clusters, and one without: a forced form stays in its context."""

    def __init__(self):
        self.compilers = {name: binding.Compiler() for name in ("plain", *FORMS)}

    def compile(self, text):
        """Modules by form. One that the product does not allow is left out."""
        modules = {"plain": self.compilers["plain"].compile(text)}
        for name, pairs in FORMS.items():
            try:
                modules[name] = self.compilers[name].compile(text, pairs=pairs)
            except RuntimeError as e:
                print(f"    {name}: {e}")
        return modules


def measure(case, modules):
    """Microseconds of each module and of the library's forms, and the names of those whose errors are too large."""
    torch.manual_seed(1)
    sets, launches = product_timing.settings(case.bytes, case.flops)
    w = product_timing.workload(case)
    inputs = [w.inputs() for _ in range(sets)]
    contenders, first = product_timing.library_contenders(product_timing.forms(case), inputs, launches)
    library, outputs = list(contenders), {}
    for name, module in modules.items():
        contenders[name], out = run.ours(module, w, inputs, [first], launches)
        outputs[name] = out[0]
    for name in (library[0], *modules):
        contenders[name].replays[0]()
    torch.cuda.synchronize()
    errors = product_timing.errors(case, inputs[0], {"library": first, **outputs})
    wrong = [name for name in modules if errors[name] > product_timing.ERROR_FACTOR * errors["library"] + 1e-6]
    us, _ = timing.timings(contenders, timing.SWEEP)
    return {**{name: us[name] for name in modules}, "library": min(us[name] for name in library)}, wrong


def table(cases):
    """A row for each case. Returns true if a result is wrong."""
    forms, failed = Forms(), False
    print(f"{forms.compilers['plain'].device()}; torch {torch.__version__}; microseconds, and in brackets relative to the configuration that the cost model chooses")
    print(product_results.multicast_head(FORMS))
    for case in cases:
        modules = forms.compile(case.text)
        us, wrong = measure(case, modules)
        print(product_results.multicast_row(case.key, us, FORMS), flush=True)
        for name, module in modules.items():
            strategies = "; ".join(product_results.planned(module.plan())["strategies"])
            print(f"    {name}: {strategies}{'  WRONG' if name in wrong else ''}")
            module.destroy()
        failed |= bool(wrong)
        run.free_memory()
    return failed


def multicast(sizes, layouts):
    return table([product_cases.Case("multicast", *size, layout) for size in sizes for layout in layouts])
