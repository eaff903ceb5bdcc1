"""ctypes bindings for the library calls that the benchmarks use. Tensors are torch's, on the same device and stream."""

import ctypes as C
import functools

import torch

import library

DTYPES = {"bool": torch.bool, "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
          "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}


class LaunchDesc(C.Structure):
    _fields_ = [("stream", C.c_void_p), ("bindings", C.c_void_p), ("num_bindings", C.c_int), ("pointers", C.POINTER(C.c_void_p)),
                ("sizes", C.c_char_p), ("sizes_v", C.POINTER(C.c_int64))]


class BindingInfo(C.Structure):
    """The beginning of ind_binding_info: only the name is read."""

    _fields_ = [("name", C.c_char_p)]


class Stats(C.Structure):
    _fields_ = [(n, C.c_int) for n in ("device", "num_kernels", "num_distinct", "num_sources", "num_from_pack", "num_late", "num_changes", "num_fusions",
                                   "num_prepared", "num_prepare_kernels", "num_prepares")] + \
               [(n, C.c_double) for n in ("lower_ms", "schedule_ms", "emit_ms", "compile_ms", "load_ms", "device_ms", "library_ms", "late_ms")]


class Tuned(C.Structure):
    _fields_ = [("name", C.c_char_p), ("why", C.c_char_p), ("first_threads", C.c_int), ("threads", C.c_int), ("first_us", C.c_double),
                ("us", C.c_double), ("least_us", C.c_double), ("num_tried", C.c_int)]


@functools.cache
def load():
    lib = library.load()
    lib.ind_module_query_binding.restype = C.POINTER(BindingInfo)
    lib.ind_module_query_stats.restype = Stats
    return lib


class Compiler(library.Context):
    def __init__(self):
        load()
        super().__init__()

    def compile(self, text, **options):
        """The options of library.Context.compiled."""
        return Module(self, self.compiled(text, **options))

    def device(self):
        return self.lib.ind_device_text(self.context).decode()


class Module:
    def __init__(self, compiler, handle):
        self.compiler, self.lib, self.handle = compiler, compiler.lib, handle
        self.stats = self.lib.ind_module_query_stats(handle)

    def names(self):
        n = self.lib.ind_module_num_bindings(self.handle)
        return [self.lib.ind_module_query_binding(self.handle, i).contents.name.decode() for i in range(n)]

    def plan(self):
        return self.compiler.plan(self.handle)

    def destroy(self):
        """Frees the module, its instances and their memory. Graphs that contain its launches may not be replayed afterwards."""
        self.lib.ind_module_destroy(self.handle)
        self.handle = None

    def prepare(self, tensors, sizes):
        """Creates an instance and runs it once with these tensors (by name). Returns it with the arguments of a launch."""
        instance = C.c_void_p()
        self.compiler.check(self.lib.ind_instance_create(self.handle, None, C.byref(instance)))
        pointers = (C.c_void_p * 4096)(*[tensors[n].data_ptr() for n in self.names()])
        values = (C.c_int64 * 8)(*sizes)
        desc = LaunchDesc(None, None, 0, pointers, None, values)
        self.compiler.check(self.lib.ind_launch(instance, C.byref(desc)))
        self.compiler.check(self.lib.ind_instance_check(instance))
        return instance, desc, [pointers, values, tensors]

    def tune(self, tensors, sizes, repeats=15):
        """Measures alternatives for the kernels. Modules compiled later use those that are faster."""
        instance, desc, keep = self.prepare(tensors, sizes)
        found, num = (Tuned * 256)(), C.c_int()
        self.compiler.check(self.lib.ind_tune(instance, C.byref(desc), repeats, found, len(found), C.byref(num)))
        assert keep
        return found[: num.value]

    def launcher(self, tensors, sizes):
        """Returns a function that launches on torch's stream, for capture by torch."""
        instance, desc, keep = self.prepare(tensors, sizes)

        def launch():
            assert keep
            desc.stream = torch.cuda.current_stream().cuda_stream
            self.compiler.check(self.lib.ind_launch(instance, C.byref(desc)))

        return launch

    def capture(self, tensors, sizes):
        """Captures one launch with these tensors (by name) as a CUDA graph. Returns a function that replays it on torch's stream."""
        instance, desc, keep = self.prepare(tensors, sizes)
        self.compiler.check(self.lib.ind_capture(instance, C.byref(desc)))

        def replay():
            assert keep
            self.compiler.check(self.lib.ind_replay(instance, C.c_void_p(torch.cuda.current_stream().cuda_stream)))

        return replay
