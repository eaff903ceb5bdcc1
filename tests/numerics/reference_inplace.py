"""What ops in place mean: tensors are places in a memory, which a write changes for all of them.

The places of a view follow from the view op itself: it is applied to a tensor that holds the places of its operand. So this
knows nothing of inverses of views."""

import re

import numpy as np

from reference import Tensor, cast
from reference_views import as_strided

VIEWS = {"alias", "view", "reshape", "view_as", "flatten", "unflatten", "squeeze", "unsqueeze", "permute", "transpose", "movedim", "expand", "expand_as",
         "broadcast_to", "broadcast_tensors", "meshgrid", "slice", "narrow", "select", "split", "split_with_sizes", "chunk", "unbind", "diagonal", "unfold",
         "as_strided"}
CALL = re.compile(r"(?:([\w, ]+) = )?(_?[a-z]\w*?)(_?)\((.*)\)$")


class Memories:
    """The memory of every tensor of a graph by name: (number of the memory, places in it). `run` evaluates a statement."""

    def __init__(self, tensors, inputs, run):
        self.tensors, self.inputs, self.run = tensors, inputs, run
        self.at, self.written = {}, []

    def statement(self, line):
        results, op, in_place, arguments = CALL.match(line).groups()
        names = [n for n in re.findall(r"[A-Za-z_]\w*", arguments) if isinstance(self.tensors.get(n), Tensor)]
        for name in names:
            self.at.setdefault(name, (name, np.arange(self.tensors[name].v.size).reshape(self.tensors[name].v.shape)))
        if in_place:
            self.write(f"{op}({arguments})", names[0])
            if results:
                self.tensors[results], self.at[results] = self.tensors[names[0]], self.at[names[0]]
            return
        if op == "as_strided":
            self.strided(results, line, names[0])
            return
        self.run(line, self.tensors)
        if op in VIEWS:
            self.view(results.split(", "), line, names)

    def view(self, results, line, names):
        places = {**self.tensors, **{n: Tensor(self.at[n][1], "i64") for n in names}}
        self.run(line, places)
        for k, name in enumerate(results):
            of = names[k] if line.split(" = ")[1].startswith(("broadcast_tensors", "meshgrid")) else names[0]
            self.at[name] = (self.at[of][0], places[name].v)

    def strided(self, result, line, name):
        """The places are counted in the memory, whatever shows it; by default from where the operand begins."""
        memory, places = self.at[name]
        begin = int(places.flat[0]) if places.size else 0
        counted = lambda x, size, stride, storage_offset=None: as_strided(x, size, stride, begin if storage_offset is None else storage_offset)
        owner = self.tensors[memory]
        values, at = ({**self.tensors, name: x, "as_strided": counted} for x in (owner, Tensor(np.arange(owner.v.size), "i64")))
        self.run(line, values)
        self.run(line, at)
        self.tensors[result], self.at[result] = values[result], (memory, at[result].v)

    def write(self, call, name):
        memory, places = self.at[name]
        old = self.tensors[name]
        made = {**self.tensors}
        self.run(f"written_value = {call}", made)
        value = made["written_value"]
        value = value if value.dtype == old.dtype else cast(value, old.dtype)
        assert value.v.shape == old.v.shape, f"{call}: {value.v.shape} into {old.v.shape}"
        for other, (its, at) in self.at.items():
            if its != memory:
                continue
            new = dict(zip(places.ravel(), zip(value.v.ravel(), np.broadcast_to(value.e, value.v.shape).ravel())))
            t = self.tensors[other]
            v, e = t.v.copy(), np.broadcast_to(t.e, t.v.shape).copy()
            for i, place in np.ndenumerate(at):
                if place in new:
                    v[i], e[i] = new[place]
            self.tensors[other] = Tensor(v, t.dtype, e)
        if memory in self.inputs and memory not in self.written:
            self.written.append(memory)
