"""Compares image models with random weights, bf16, with torch in eager mode (channels last) and torch.compile, in one process on one GPU.

    python3 bench/vision.py [resnet50 ..] [--batches 64,1]

All contenders of a model are replayed in turn. Weights of our graph are constants in torch's order; torch gets them with channels last. Errors
are relative to the same model in f32.
"""

import argparse

import torch
import torch.nn.functional as F

import binding
import run
import timing
import vision_models

BF16 = torch.bfloat16
FUNCTIONS = {
    "conv2d": lambda x, w, b=None, *, stride, padding, groups: F.conv2d(x, w, b, stride, padding, 1, groups),
    "batch_norm": lambda x, g, h, m, v: F.batch_norm(x, m, v, g, h),
    "layer_norm": lambda x, w, b, *, normalized_shape, eps: F.layer_norm(x, normalized_shape, w, b, eps),
    "permute": lambda x, *, dims: x.permute(dims),
    "mean": lambda x, *, dim, keepdim: x.mean(dim, keepdim=keepdim),
    "max_pool2d": F.max_pool2d, "linear": F.linear, "relu": F.relu, "hardswish": F.hardswish, "hardsigmoid": F.hardsigmoid, "gelu": F.gelu,
    "add": torch.add, "mul": torch.mul,
}  # fmt: skip


def values_of(model):
    """Weights that keep the size of values; statistics near 0 and 1."""
    found = {}
    for n, s in model.shapes.items():
        random = torch.randn(s, device="cuda") * (2 / torch.Size(s[1:]).numel()) ** 0.5 if len(s) > 1 else torch.rand(s, device="cuda") * 0.2 + 0.9
        found[n] = random.to(BF16)
    return found


def measure(compiler, model, batch):
    torch.manual_seed(1)
    weights = values_of(model)
    last = {n: w.to(memory_format=torch.channels_last) if w.dim() == 4 else w for n, w in weights.items()}
    x = torch.randn(batch, model.size, model.size, 3, device="cuda").to(BF16)
    image = x.permute(0, 3, 1, 2)
    function = lambda image, weights: model.run(FUNCTIONS, image, weights)
    want = function(image.float(), {n: w.float() for n, w in last.items()})
    torch.compiler.reset()
    compiled = torch.compile(function, dynamic=False)
    with torch.no_grad():
        found = {"eager": timing.contender([lambda: function(image, last)], 1), "compile": timing.contender([lambda: compiled(image, last)], 1)}
        module = compiler.compile(model.text(batch))
        w = run.workloads.Workload(model.name, "", None, None, [], 0)
        contender, out = run.ours(module, w, [{"x": x, **weights}], [found["compile"][1]], 1)
        found = {"ours": (contender, out[0])} | found
        for c, _ in found.values():
            c.replays[0]()
        torch.cuda.synchronize()
        errors = {name: run.error(o, want) for name, (_, o) in found.items()}
        us, _ = timing.timings({name: c for name, (c, _) in found.items()}, timing.TABLE)
    print(f"{model.name:20s} batch {batch:3d} {us['ours']:9.1f} us  {us['ours'] / us['compile']:.3f} of torch.compile  "
          f"({', '.join(f'{n} {v:.1f}' for n, v in us.items() if n != 'ours')})  {module.stats.num_kernels} kernels  "
          f"errors {', '.join(f'{n} {e:.1e}' for n, e in errors.items())}", flush=True)  # fmt: skip
    module.destroy()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="*", help=", ".join(vision_models.MODELS))
    p.add_argument("--batches", default="64,1")
    args = p.parse_args()
    torch.backends.cudnn.benchmark = True
    compiler = binding.Compiler()
    print(compiler.device(), f"torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}")
    for name in args.names or vision_models.MODELS:
        for batch in map(int, args.batches.split(",")):
            measure(compiler, vision_models.MODELS[name](), batch)


if __name__ == "__main__":
    main()
