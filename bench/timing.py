"""Measurements of bench/run.py: graphs of launches, replayed in alternating rounds, and copies of the same bytes."""

import collections
import dataclasses
import math
import statistics

import torch

L2_BYTES = 60 << 20


@dataclasses.dataclass(frozen=True)
class Pace:
    """Milliseconds of each warm-up and of a round; number of rounds: at most `most`, fewer once every median is settled."""

    warm_ms: float
    round_ms: float
    least: int
    most: int


TABLE = Pace(50, 2, 15, 15)
SWEEP = Pace(8, 1, 7, 21)
SETTLED = 0.003
# A graph of a sweep has launches for GRAPH_US, estimated from a minimum launch time and the bytes.
GRAPH_US, LAUNCH_US, BYTES_PER_US = 100, 2, 4e6


@dataclasses.dataclass
class Contender:
    """Graphs, replayed in turn; `launches` in each."""

    replays: list
    launches: int = 1


def sets_of(num_bytes):
    """Number of sets of tensors that together exceed the L2; at most 8."""
    return 1 if num_bytes > 4 * L2_BYTES else min(8, math.ceil(2 * L2_BYTES / max(num_bytes, 1)))


def launches_of(num_bytes, sets):
    """Number of launches in a graph, the same for each set. It is large enough to hide the host time of a replay."""
    return sets * math.ceil(GRAPH_US / (sets * (LAUNCH_US + num_bytes / BYTES_PER_US)))


side = None


def graph_of(functions, launches=1):
    """Captures `launches` launches of the functions, in turn, after three runs of each. Returns the replay and the outputs of
    the first function. The last outputs of every function are kept alive: reused memory would stay in the L2. Does not use
    torch.cuda.graph, which first returns all free memory to the driver."""
    global side
    side = side or torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    graph = torch.cuda.CUDAGraph()
    outputs = collections.deque(maxlen=len(functions))
    with torch.cuda.stream(side):
        for fn in functions:
            for _ in range(3):
                fn()
        torch.cuda.synchronize()
        graph.capture_begin()
        for i in range(launches):
            outputs.append(functions[i % len(functions)]())
        graph.capture_end()
    torch.cuda.current_stream().wait_stream(side)
    return graph.replay, outputs[0]


def contender(functions, launches):
    """Captures one graph per function, or one graph of many launches in turn. Returns it with the outputs of the first function."""
    graphs = [graph_of([fn]) for fn in functions] if launches == 1 else [graph_of(functions, launches)]
    return Contender([replay for replay, _ in graphs], launches), graphs[0][1]


def elapsed(replays, passes):
    """Milliseconds of `passes` passes over the graphs. They are launched while the GPU is busy with another replay."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    replays[-1]()
    start.record()
    for _ in range(passes):
        for replay in replays:
            replay()
    end.record()
    end.synchronize()
    return start.elapsed_time(end)


def warm(replays, pace):
    """Runs the warm-up. Returns the number of passes in a round."""
    passes, left = 1, pace.warm_ms
    while True:
        ms = max(elapsed(replays, passes), 1e-3)
        left -= ms
        passes = max(1, int(passes * pace.round_ms / ms))
        if left <= 0:
            return passes


def settled(times):
    """True if the standard error of the median is at most SETTLED times the median. It is estimated from the median absolute
    deviation (MAD), so that a few outliers, which do not move the median, do not count. For n normal errors: standard deviation
    = 1.4826 MAD, standard error of the median = 1.2533 standard deviation / sqrt(n)."""
    middle = statistics.median(times)
    deviation = 1.4826 * statistics.median(abs(t - middle) for t in times)
    return 1.2533 * deviation <= SETTLED * middle * math.sqrt(len(times))


def timings(contenders, pace):
    """Microseconds per launch of each contender, and the number of rounds. Contenders alternate, so that clock drift affects all."""
    passes = {name: warm(c.replays, pace) for name, c in contenders.items()}
    rounds = {name: [] for name in contenders}
    num = 0
    while num < pace.least or (num < pace.most and not all(settled(times) for times in rounds.values())):
        num += 1
        for name, c in contenders.items():
            ms = elapsed(c.replays, passes[name])
            rounds[name].append(1000 * ms / (passes[name] * len(c.replays) * c.launches))
    return {name: statistics.median(times) for name, times in rounds.items()}, num


class Copies:
    """Copies of as many bytes as a workload moves, by the driver and by a kernel, as each is slow at some sizes. The memory is
    reused for the next workload."""

    def __init__(self):
        self.pair = None

    def pairs(self, num_bytes, sets):
        words = max(4, num_bytes // 8 // 4 * 4)
        if self.pair is None or self.pair[0].numel() < words * sets:
            self.pair = None
            self.pair = torch.empty(words * sets, device="cuda"), torch.randn(words * sets, device="cuda")
        return [[t[i * words : (i + 1) * words] for t in self.pair] for i in range(sets)]

    def contenders(self, num_bytes, sets, launches):
        pairs = self.pairs(num_bytes, sets)
        ways = {"memcpy": [lambda a=a, b=b: a.copy_(b) for a, b in pairs], "negate": [lambda a=a, b=b: torch.neg(b, out=a) for a, b in pairs]}
        return {name: contender(functions, launches)[0] for name, functions in ways.items()}
