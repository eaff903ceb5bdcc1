"""Measures matrix products beside cuBLAS (through torch), torch.compile and copies of the same bytes.

    products.py sweep --out FILE      random bf16 products beside the library's; a second call continues FILE
    products.py summary FILE          the tables of such a file; needs no GPU
    products.py rms                   errors against float64, ours and the library's
    products.py quantised             quantised weights beside a copy of their bytes and torch's kernels
    products.py rows --out FILE       the weights of an 8B Llama over the number of rows; bench/plot.py draws FILE
    products.py invariant             the cost of batch_invariant
    products.py multicast             operands multicast to clusters of tiles, beside the chosen configuration
    products.py candidates --out FILE several configurations of random products, beside the library's; continues FILE
    products.py fit FILE...           how well the cost model chose, of such files; --predict: the model at hand; needs no GPU
    products.py compile               a product with an epilogue from text to loaded kernels, and NVRTC's time for each

All contenders of a case run in one process, in turn, on the same tensors; see bench/run.py."""

import argparse
import pathlib
import sys

import product_cases
import product_fit
import product_results
import product_weights

GROUPS = tuple(product_cases.RANGES)
MULTICAST = "8192x8192x8192,4096x4096x4096,2048x14336x4096,1024x4096x4096,1000x1000x1000"


def names(allowed):
    def parse(text):
        found = text.split(",")
        if bad := [n for n in found if n not in allowed]:
            raise argparse.ArgumentTypeError(f"{bad[0]} is none of {', '.join(allowed)}")
        return found

    return parse


def numbers(text):
    return [int(n) for n in text.split(",")]


def shape(text):
    """n and k of "14336x4096"."""
    n, k = map(int, text.split("x"))
    return n, k


def sizes(text):
    """m, n and k of each product of "8192x8192x8192,1000x1000x1000"."""
    return [tuple(map(int, size.split("x"))) for size in text.split(",")]


def cases(text):
    """The cases of "4096x4096x4096:kn:tanh,1x4096x4096:nk": m, n and k, the layout, and the form of gelu, if any."""
    found = []
    for case in text.split(","):
        size, layout, *gelu = case.split(":")
        if layout not in product_cases.LAYOUTS or any(g not in product_cases.EPILOGUES for g in gelu):
            raise argparse.ArgumentTypeError(f"{case}: MxNxK:LAYOUT or MxNxK:LAYOUT:GELU is needed")
        found.append(product_cases.Case("given", *map(int, size.split("x")), layout, *gelu))
    return found


def figure(text):
    """The name and the value of "product_start=700"."""
    name, _, value = text.partition("=")
    if name not in product_fit.configurations.figures():
        raise argparse.ArgumentTypeError(f"the target has no figure {name}")
    if not int(value):
        raise argparse.ArgumentTypeError(f"{name}: an integer other than 0 is needed")
    return name, int(value)


def run_sweep(args):
    import product_timing

    cases = args.cases or product_cases.generate(args.groups, args.seed, args.count, args.weights)
    file = product_results.File(args.out)
    jobs = args.jobs or product_timing.default_jobs()
    autotuned = product_cases.compiled_too(cases, args.seed, args.compile)
    product_timing.sweep(cases, file, autotuned, args.cublaslt, jobs, args.seconds)
    found = [file.records[c.key] for c in cases if c.key in file.records]
    print(product_results.summary(found))
    return any("error" in r or r["wrong"] for r in found)


def run_summary(args):
    print(product_results.summary(list(product_results.File(args.file).records.values())))
    return False


def run_candidates(args):
    import product_candidates

    cases = product_cases.generate(args.groups, args.seed, args.count)
    file = product_results.File(args.out)
    jobs = args.jobs or product_candidates.product_timing.default_jobs()
    product_candidates.sweep(cases, file, args.most, jobs, args.seconds)
    found = [file.records[c.key] for c in cases if c.key in file.records]
    print(product_fit.tables(found))
    return any("error" in r or any(c.get("wrong") for c in r["candidates"]) for r in found)


def run_fit(args):
    records = [r for path in args.files for r in product_results.File(path).records.values()]
    changes = dict(args.figure)
    if args.predict or changes or args.arch:
        records = product_fit.predict(records, changes, args.arch)
    print(product_fit.tables(records, args.worst))
    return False


def run_rms(args):
    import product_checks

    return product_checks.rms(args.seed, args.count, args.jobs or product_checks.product_timing.default_jobs())


def run_invariant(args):
    import product_checks

    return product_checks.invariant(args.rows, *args.shape)


def run_multicast(args):
    import product_multicast

    return product_multicast.multicast(args.sizes, args.layouts)


def run_quantised(args):
    import product_quantised

    return product_quantised.quantised(
        args.rows, *args.shape, args.formats, args.jobs or product_quantised.product_timing.default_jobs()
    )


def run_rows(args):
    import product_quantised

    file = product_results.File(args.out)
    product_quantised.rows(file, args.jobs or product_quantised.product_timing.default_jobs(), args.seconds)
    return False


def run_compile(args):
    import product_compile

    return product_compile.table(args.size, args.arch, args.repeats)


def add_cases(p):
    """The arguments of commands that measure random products and continue a file."""
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--out", type=pathlib.Path, required=True)
    p.add_argument("--groups", type=names(GROUPS), default=list(GROUPS), help="some of " + ",".join(GROUPS))
    p.add_argument("--count", type=int, default=100, help="cases of each group")
    p.add_argument("--seconds", type=float, help="start no case after so many seconds")
    add_jobs(p)


def add_sweep(commands):
    p = commands.add_parser("sweep")
    add_cases(p)
    p.add_argument(
        "--compile", type=int, default=0, metavar="K", help="K of the cases also with torch.compile, mode max-autotune"
    )
    p.add_argument(
        "--weights", choices=("const", "input"), default="const", help="input: nothing is prepared from the weights"
    )
    p.add_argument(
        "--cases", type=cases, metavar="MxNxK:LAYOUT[:GELU],..", help="these, of layout kn or nk, in place of random ones"
    )
    p.add_argument("--cublaslt", action="store_true", help="also ours with ind_compile_desc.cublaslt")
    p.set_defaults(run=run_sweep)


def add_candidates(commands):
    """The commands about the cost model."""
    p = commands.add_parser("candidates")
    add_cases(p)
    p.add_argument("--most", type=int, default=12, metavar="K", help="configurations of a case")
    p.set_defaults(run=run_candidates)
    p = commands.add_parser("fit")
    p.add_argument("files", type=pathlib.Path, nargs="+", metavar="FILE")
    p.add_argument("--worst", type=int, default=10, metavar="N", help="cases of each group to list")
    p.add_argument("--predict", action="store_true", help="estimates of the library at hand, not those of the file")
    p.add_argument("--arch", help="for this target, such as sm_90a or H200; default: each case's own")
    p.add_argument("--figure", type=figure, action="append", default=[], metavar="NAME=VALUE", help="of ind_thresholds")
    p.set_defaults(run=run_fit)


def add_jobs(p):
    p.add_argument("--jobs", type=int, help="threads that compile; default: the cores less two, at most 14")


def add_weights(commands):
    """The commands about weights and rows."""
    p = commands.add_parser("quantised")
    p.add_argument("--rows", type=numbers, default=[1, 4, 16])
    p.add_argument("--shape", type=shape, default=(14336, 4096), help="NxK: columns of the result x depth")
    p.add_argument(
        "--formats", type=names(product_weights.FORMATS), help="some of " + ", ".join(product_weights.FORMATS)
    )
    add_jobs(p)
    p.set_defaults(run=run_quantised)
    p = commands.add_parser("rows")
    p.add_argument("--out", type=pathlib.Path, required=True)
    p.add_argument("--seconds", type=float, help="start no point after so many seconds")
    add_jobs(p)
    p.set_defaults(run=run_rows)


def add_checks(commands):
    p = commands.add_parser("rms")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--count", type=int, default=20, help="products of each dtype")
    add_jobs(p)
    p.set_defaults(run=run_rms)
    p = commands.add_parser("invariant")
    p.add_argument("--rows", type=numbers, default=[1, 8, 64, 512])
    p.add_argument("--shape", type=shape, default=(4096, 4096))
    p.set_defaults(run=run_invariant)
    p = commands.add_parser("multicast")
    p.add_argument("--sizes", type=sizes, default=sizes(MULTICAST), help="MxNxK,..")
    p.add_argument("--layouts", type=names(product_cases.LAYOUTS), default=["nk"], help="some of kn,nk")
    p.set_defaults(run=run_multicast)
    p = commands.add_parser("compile")
    p.add_argument("--size", type=numbers, default=[1024, 4096, 4096], help="M,N,K")
    p.add_argument("--arch", default="sm_90a", help="of the times of NVRTC")
    p.add_argument("--repeats", type=int, default=7)
    p.set_defaults(run=run_compile)


def arguments(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    add_sweep(commands)
    add_candidates(commands)
    add_weights(commands)
    add_checks(commands)
    p = commands.add_parser("summary")
    p.add_argument("file", type=pathlib.Path)
    p.set_defaults(run=run_summary)
    return parser.parse_args(argv)


def main():
    args = arguments()
    return args.run(args)


if __name__ == "__main__":
    sys.exit(main())
