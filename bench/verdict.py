"""verdict.py [sweep.json...]: lists the points of `run.py --sweep` and `--batch` at which the library misses a target. Targets: 85 %
of the speed of a copy for rows of 1,000 to 262,144 elements of tensors of 256 MB or more; never more than 3 % slower than
torch.compile. Needs no torch."""

import json
import pathlib
import sys

BUILD = pathlib.Path(__file__).resolve().parent.parent / "build"
DEFAULT = ("sweep.json", "batch.json")
BYTES = {"f32": 4, "bf16": 2, "f16": 2}
LEAST_OF_COPY, LENGTHS, TENSOR_BYTES = 0.85, (1000, 262144), 256e6
MOST_OF_COMPILE = 1.03


def at_hand():
    return [path for path in map(BUILD.joinpath, DEFAULT) if path.exists()]


def rows_of(paths):
    return [r for path in paths for r in json.loads(pathlib.Path(path).read_text())["rows"]]


def of_copy(r):
    """Our speed as a share of the copy's."""
    return r["us"]["copy"] / r["us"]["ours"]


def of_compile(r):
    """Our time as a share of torch.compile's."""
    return r["us"]["ours"] / r["us"]["compile"]


def measured_by_copy(r):
    return LENGTHS[0] <= r["cols"] <= LENGTHS[1] and r["rows"] * r["cols"] * BYTES[r["dtype"]] >= TENSOR_BYTES


def below_copy(rows):
    found = [r for r in rows if measured_by_copy(r) and of_copy(r) < LEAST_OF_COPY]
    return [f"{r['name']}: {100 * of_copy(r):.1f} %" for r in sorted(found, key=of_copy)]


def behind_compile(rows):
    found = [r for r in rows if "compile" in r["us"] and of_compile(r) > MOST_OF_COMPILE]
    return [f"{r['name']}: {of_compile(r):.3f}" for r in sorted(found, key=of_compile, reverse=True)]


def wrong(rows):
    return [f"{r['name']}: error {r['errors']['ours']:.1e}" for r in rows if r["wrong"]]


def text(rows):
    """For each target, a count and a list, worst first."""
    copied, compiled = sum(map(measured_by_copy, rows)), sum("compile" in r["us"] for r in rows)
    low, high = LENGTHS
    parts = [(f"wrong, of {len(rows)}", wrong(rows)),
             (f"below {100 * LEAST_OF_COPY:.0f} % of a copy, of {copied} (rows of {low} to {high}, 256 MB or more)", below_copy(rows)),
             (f"above {MOST_OF_COMPILE} of torch.compile's time, of {compiled}", behind_compile(rows))]  # fmt: skip
    return "\n".join(line for title, found in parts for line in [f"{len(found)} {title}", *("    " + f for f in found)])


def main():
    print(text(rows_of(sys.argv[1:] or at_hand())))


if __name__ == "__main__":
    main()
