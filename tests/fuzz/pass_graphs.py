"""Random graphs that hold the shapes which the graph passes and the built-in patterns look for, for check_passes.c.

    build/python tests/fuzz/pass_graphs.py SEED COUNT > graphs.txt

A graph is a few motifs one after the other: attention as exporters write it, convolution and batch norm, products of one
input, chains of casts and of views, slices of cat, .. with a part drawn wrong now and then, so that it must not match.
pattern_graphs.py draws the ops of each built-in pattern.

Each graph has comments for the checker: `# sizes B=5, S=7; B=1, S=2` (what to run it at) and `# bound NAME X`: the most
that an output may differ. The bound is from forward error analysis, for each op: a tensor has a bound of its magnitude and
one of its error; 0 where all ways give the same bits. `# tolerance X` is one for all outputs, times their largest
magnitude. The first letter of an input tells what it holds: x from -1 to 1,
v from 0.5 to 1.5, m 0 or -inf, z as x with some inf and NaN, iN_L integers below L, pN_L different ones, b bool. After a
line of +++ there is the same graph with its ops in another order."""

import sys

import pattern_graphs
from graph_writer import Graph
from pass_motifs import MOTIFS


def graphs(seed, count):
    patterns = pattern_graphs.builtin()
    for i in range(count):
        g = Graph(seed * 1000003 + i)
        if patterns and g.chance(0.15):
            yield pattern_graphs.text(g, g.random.choice(patterns))
            continue
        motifs = g.pick(1, 1, 2, 3)
        while motifs > 0 or not g.lines:
            motifs -= 1
            g.random.choice(MOTIFS)(g)
        yield g.text()


def main():
    for i, text in enumerate(graphs(int(sys.argv[1]), int(sys.argv[2]))):
        sys.stdout.write(("---\n" if i else "") + text)


if __name__ == "__main__":
    main()
