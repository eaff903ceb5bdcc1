"""What TorchInductor makes of our graphs: elements moved, kernels launched, peak memory. Needs a GPU and torch.

    python3 tests/schedule/torch_counts.py > tests/schedule/torch_counts.json

Per graph: `bytes` as Inductor's scheduler counts them (metrics.num_bytes_accessed: every buffer that a kernel reads or writes, once
per kernel), `launches` as the profiler saw them on the device in one call after warm-up (kernels, copies and fills),
`generated` (Triton kernels made), and `peak`: bytes allocated at the most during a call beyond its inputs, results included."""

import json
import sys

import torch
import torch._inductor.config as config
from torch._inductor import metrics
from torch.fx.experimental.proxy_tensor import make_fx

from graphs import graphs
from to_torch import function, random_inputs



def launches(call):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        call()
        torch.cuda.synchronize()
    return sum(1 for e in profile.events() if e.device_type == torch.autograd.DeviceType.CUDA)


def peak(call):
    call()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    result = call()
    torch.cuda.synchronize()
    del result
    return torch.cuda.max_memory_allocated() - before


def counts(text, sizes):
    torch._dynamo.reset()
    metrics.reset()
    fn, inputs = function(text, sizes)
    values = random_inputs(inputs, 2, "cuda")
    compiled = torch.compile(make_fx(fn)(*values), dynamic=False)

    def call():
        return compiled(*values)

    with torch.no_grad():
        for _ in range(3):
            call()
        return {"bytes": metrics.num_bytes_accessed, "generated": metrics.generated_kernel_count,
                "launches": launches(call), "peak": peak(call)}  # fmt: skip


def main():
    config.force_disable_caches = True
    torch._logging.set_logs(inductor_metrics=True)  # it counts bytes only then
    config.trace.enabled = False
    torch.set_float32_matmul_precision("highest")

    result = {"torch": torch.__version__, "device": torch.cuda.get_device_name(), "graphs": {}}
    for name, (text, sizes) in graphs().items():
        try:
            result["graphs"][name] = counts(text, sizes)
        except Exception as e:  # a graph it cannot take is worth knowing, the others go on
            result["graphs"][name] = {"error": f"{type(e).__name__}: {e}"[:300]}
            print(name, result["graphs"][name], file=sys.stderr)
    json.dump(result, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
