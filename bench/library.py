"""The shared library of bench/library.c, and contexts of it. Needs no torch."""

import contextlib
import ctypes as C
import functools
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "build" / "libinductor_bench.so"
PLAN = 5  # IND_STAGE_PLAN


@functools.cache
def load():
    subprocess.run(["make", "-s", "-j8", str(LIBRARY.relative_to(ROOT))], cwd=ROOT, check=True)
    lib = C.CDLL(str(LIBRARY))
    for name in ("ind_error", "ind_instance_error", "ind_device_text", "ind_module_text", "ind_module_json",
                 "bench_figure_name", "bench_strategy_name"):  # fmt: skip
        getattr(lib, name).restype = C.c_char_p
    lib.ind_graph_parse.restype = C.c_void_p
    return lib


class Context:
    def __init__(self):
        self.lib = load()
        self.context = C.c_void_p()
        if self.lib.ind_context_create(None, C.byref(self.context)):
            raise RuntimeError("no context")

    def error(self):
        return RuntimeError(self.lib.ind_error(self.context).decode())

    def check(self, status):
        if status:
            raise self.error()

    @contextlib.contextmanager
    def graph(self, text):
        """A graph for the calls of the block."""
        graph = C.c_void_p(self.lib.ind_graph_parse(self.context, text.encode(), None))
        if not graph:
            raise self.error()
        try:
            yield graph
        finally:
            self.lib.ind_graph_destroy(graph)

    def compiled(self, text, batch_invariant=False, cublaslt=False, persistent=False, pairs=(0, 0)):
        """A module's handle. pairs: tiles of a cluster of products along m and n. All modules that the context compiles later
        have them too."""
        module = C.c_void_p()
        with self.graph(text) as graph:
            self.check(self.lib.bench_compile(graph, C.c_bool(batch_invariant), C.c_bool(cublaslt), C.c_bool(persistent), *pairs, C.byref(module)))
        return module

    def destroy(self, module):
        self.lib.ind_module_destroy(module)

    def plan(self, module):
        """The plan of a module's handle, as ind_module_json describes it."""
        text = self.lib.ind_module_json(module, PLAN)
        if not text:
            raise self.error()
        return json.loads(text)
