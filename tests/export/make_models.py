"""Makes the models of this folder: NAME.ind, NAME.core.ind, NAME.safetensors and NAME.npz, from small ones with random weights.

    pip install torch==2.11.0 torchvision==0.26.0 transformers==4.57.6
    python make_models.py [NAME]...

NAME.ind is what examples/export_graph.py writes, NAME.core.ind the same with --core-aten where that is not nearly the same. NAME.npz has, for each of two
runs at different sizes, the inputs (0.input_ids), what PyTorch gives for them in float32 (0.logits), and what buffers hold
afterwards (0.cache.after). The weights are
drawn here, none are trained; the models are as their packages define them, of two layers (or of few channels).
"""

import copy
import dataclasses
import pathlib
import sys
import warnings

import numpy as np
import torch
from torch.export import Dim

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "examples"))
from export_graph import export_graph  # noqa: E402

warnings.filterwarnings("ignore")


@dataclasses.dataclass
class Model:
    module: torch.nn.Module
    runs: list  # one tuple of tensors per run; the first is exported with
    inputs: tuple  # names
    outputs: tuple
    dynamic: tuple  # which dimensions of each input are symbolic
    export: dict = dataclasses.field(default_factory=dict)  # further options of torch.export.export
    state: tuple = ()  # buffers that are written to
    random: bool = False  # PyTorch's numbers are others: there is no .npz, test_random_numbers.py tests distributions


class Plain(torch.nn.Module):
    """A model of transformers with tensors in and a tuple of tensors out."""

    def __init__(self, model, inputs, outputs, **more):
        super().__init__()
        self.model, self.inputs, self.outputs, self.more = model, inputs, outputs, more

    def forward(self, *tensors):
        out = self.model(**dict(zip(self.inputs, tensors)), **self.more)
        return tuple(out[name] for name in self.outputs)


def randomised(model):
    """Weights spread as trained ones are: fresh models have biases of 0 and norms of 1, which would hide mistakes."""
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for name, p in list(model.named_parameters()) + list(model.named_buffers()):
            if not p.is_floating_point() or "inv_freq" in name:
                continue
            noise = torch.empty_like(p).normal_(0, 1, generator=generator)
            if "running_var" in name:
                p.copy_(1 + 0.2 * noise.abs())
            elif p.ndim < 2:
                p.add_(0.1 * noise)
            else:
                p.copy_(noise / p[0].numel() ** 0.5)
    return model.eval()


def transformer(model, runs, inputs, outputs, dynamic, export=(), **more):
    return Model(Plain(randomised(model), inputs, outputs, **more), runs, inputs, outputs, dynamic, dict(export))


def ids(*shape, below):
    return torch.randint(0, below, shape, generator=torch.Generator().manual_seed(sum(shape)))


def floats(*shape):
    """Few different values, so that the file is small."""
    return (torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape))) * 4).round() / 4


def mask(batch, length):
    """The last row has two tokens less."""
    m = torch.ones(batch, length, dtype=torch.int64)
    m[-1, length - 2 :] = 0
    return m


BATCH = {0: Dim("B", min=2, max=16)}
TEXT = {0: Dim("B", min=2, max=16), 1: Dim("S", min=2, max=40)}


def bert():
    from transformers import BertConfig, BertModel

    config = BertConfig(vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, max_position_embeddings=40)
    runs = [(ids(b, s, below=64), mask(b, s), ids(b, s, below=2)) for b, s in ((2, 7), (3, 12))]
    return transformer(BertModel(config), runs, ("input_ids", "attention_mask", "token_type_ids"), ("last_hidden_state", "pooler_output"), (TEXT,) * 3)


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=64, n_positions=48, n_embd=32, n_layer=2, n_head=4, n_inner=64)
    config._attn_implementation = "eager"  # with sdpa its export of a symbolic length fails
    runs = [(ids(b, s, below=64), mask(b, s)) for b, s in ((2, 7), (3, 12))]
    return transformer(GPT2LMHeadModel(config), runs, ("input_ids", "attention_mask"), ("logits",), (TEXT,) * 2, use_cache=False)


def llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64)
    runs = [(ids(b, s, below=64), mask(b, s)) for b, s in ((2, 7), (3, 12))]
    export = {"prefer_deferred_runtime_asserts_over_guards": True}
    return transformer(LlamaForCausalLM(config), runs, ("input_ids", "attention_mask"), ("logits",), (TEXT,) * 2, export, use_cache=False)


def vit():
    from transformers import ViTConfig, ViTModel

    config = ViTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, image_size=32, patch_size=8)
    return transformer(ViTModel(config), [(floats(2, 3, 32, 32),), (floats(3, 3, 32, 32),)], ("pixel_values",), ("last_hidden_state", "pooler_output"), (BATCH,))


def resnet18():
    from torchvision.models.resnet import BasicBlock, ResNet

    class Narrow(ResNet):
        """A sixteenth of the channels."""

        def _make_layer(self, block, planes, *more, **options):
            if planes == 64:
                self.inplanes, self.conv1, self.bn1 = 4, torch.nn.Conv2d(3, 4, 7, 2, 3, bias=False), torch.nn.BatchNorm2d(4)
            return super()._make_layer(block, planes // 16, *more, **options)

    model = Narrow(BasicBlock, [2, 2, 2, 2])
    model.fc = torch.nn.Linear(32, 10)
    return Model(randomised(model), [(floats(2, 3, 48, 48),), (floats(3, 3, 48, 48),)], ("x",), ("logits",), (BATCH,))


def mobilenet_v3():
    from torchvision.models.mobilenetv3 import MobileNetV3, _mobilenet_v3_conf

    rows, _ = _mobilenet_v3_conf("mobilenet_v3_small", width_mult=0.1)
    model = MobileNetV3(rows, 32, num_classes=10)
    return Model(randomised(model), [(floats(2, 3, 48, 48),), (floats(3, 3, 48, 48),)], ("x",), ("logits",), (BATCH,))


def whisper_encoder():
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    config = WhisperConfig(d_model=32, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=48, num_mel_bins=16, max_source_positions=30)
    return transformer(WhisperEncoder(config), [(floats(2, 16, 60),), (floats(3, 16, 60),)], ("input_features",), ("last_hidden_state",), (BATCH,))


def t5():
    from transformers import T5Config, T5Model

    config = T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=32, num_layers=2, num_heads=2, relative_attention_num_buckets=8, relative_attention_max_distance=20)
    runs = [(ids(b, s, below=64), mask(b, s), ids(b, t, below=64)) for b, s, t in ((2, 7, 5), (3, 12, 9))]
    dynamic = (TEXT, TEXT, {0: TEXT[0], 1: Dim("T", min=2, max=40)})
    inputs, outputs = ("input_ids", "attention_mask", "decoder_input_ids"), ("last_hidden_state", "encoder_last_hidden_state")
    return transformer(T5Model(config), runs, inputs, outputs, dynamic, use_cache=False)


# ---- no models: one op after the other, and what else a program can have


class Calls(torch.nn.Module):
    def __init__(self, calls):
        super().__init__()
        self.calls = calls

    def forward(self, *tensors):
        return tuple(t for call in self.calls for t in results(call(*tensors)))


def results(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def calls(shapes, *functions):
    """Each function gets all inputs: of dimensions -1 the first symbolic size, B. The outputs are numbered."""
    module = Calls(functions)
    runs = [tuple(make(*[b if s == -1 else s for s in shape]) for make, shape in shapes) for b in (3, 5)]
    inputs = tuple("xyzuv"[i] for i in range(len(shapes)))
    outputs = tuple(f"output_{i}" for i in range(len(module(*runs[0]))))
    dynamic = tuple({d: Dim("B", min=3, max=20) for d, s in enumerate(shape) if s == -1} for _, shape in shapes)
    return Model(module, runs, inputs, outputs, dynamic)


def unit(*shape):
    """In (0, 1)."""
    return (torch.rand(*shape, generator=torch.Generator().manual_seed(sum(shape))) * 60).round() / 64 + 1 / 64


def whole(*shape):
    return torch.randint(-9, 20, shape, generator=torch.Generator().manual_seed(sum(shape)))


def below_three(*shape):
    return ids(*shape, below=3)


F = torch.nn.functional


def ops_pointwise():
    names = "acos asin atan sinh cosh tan asinh atanh erfc lgamma digamma erfinv i0 exp2 expm1 log10 log1p log2 floor ceil trunc round sign square isnan reciprocal"
    plain = [getattr(torch, n) for n in names.split()]
    functional = [getattr(F, n) for n in "hardsigmoid hardswish relu6 celu selu softplus mish logsigmoid silu gelu leaky_relu elu softsign".split()]
    return calls(((unit, (-1, 6)), (floats, (-1, 6)), (whole, (6,))), *[lambda x, y, z, f=f: f(x) for f in plain], *[lambda x, y, z, f=f: f(y) for f in functional],
                 lambda x, y, z: torch.atan2(y, x), lambda x, y, z: torch.hypot(x, y), lambda x, y, z: torch.copysign(x, y), lambda x, y, z: torch.xlogy(x, x),
                 lambda x, y, z: torch.logaddexp(x, y), lambda x, y, z: torch.lerp(x, y, 0.25), lambda x, y, z: torch.addcmul(x, y, y, value=0.5),
                 lambda x, y, z: y.clamp(-0.5), lambda x, y, z: y.clamp(max=x), lambda x, y, z: y.clamp(-1, 1), lambda x, y, z: y.round(decimals=1),
                 lambda x, y, z: torch.where(y > 0, y, 2), lambda x, y, z: y.masked_fill(y < x, float("-inf")), lambda x, y, z: 1 - y, lambda x, y, z: 2.0**x,
                 lambda x, y, z: y**2, lambda x, y, z: x**x, lambda x, y, z: y // 0.25, lambda x, y, z: y % 0.75, lambda x, y, z: torch.fmod(y, 0.75),
                 lambda x, y, z: z // 4, lambda x, y, z: torch.div(z, 4, rounding_mode="trunc"), lambda x, y, z: z % 5, lambda x, y, z: z / 4, lambda x, y, z: z**2,
                 lambda x, y, z: (z << 2) | (z >> 1), lambda x, y, z: z & 6 ^ 3, lambda x, y, z: ~z, lambda x, y, z: z > y, lambda x, y, z: (z > 3).logical_xor(y > 0),
                 lambda x, y, z: torch.nan_to_num(y / (y > 0)), lambda x, y, z: y.half().float(), lambda x, y, z: z.to(torch.uint8), lambda x, y, z: (z > 2) + y)


def ops_reductions():
    return calls(((floats, (-1, 6)), (below_three, (-1, 6))), lambda x, y: x.sum(), lambda x, y: x.sum(0), lambda x, y: y.sum(1), lambda x, y: x.mean((0, 1), keepdim=True),
                 lambda x, y: x.prod(1), lambda x, y: x.var(1), lambda x, y: torch.var_mean(x, 0, correction=0), lambda x, y: x.std(), lambda x, y: x.amax(1), lambda x, y: x.max(),
                 lambda x, y: x.max(1), lambda x, y: y.min(0), lambda x, y: x.argmax(), lambda x, y: y.argmin(1, keepdim=True), lambda x, y: torch.aminmax(x, dim=1),
                 lambda x, y: (x > 0).all(1), lambda x, y: (x > 0).any(), lambda x, y: torch.logsumexp(x, 1), lambda x, y: torch.linalg.vector_norm(x, 3, dim=1),
                 lambda x, y: x.norm(dim=0), lambda x, y: torch.count_nonzero(y, 1), lambda x, y: x.softmax(0), lambda x, y: x.log_softmax(1),
                 lambda x, y: x.cumsum(1), lambda x, y: y.cumsum(0), lambda x, y: x.cumprod(1), lambda x, y: x.cummax(1), lambda x, y: torch.logcumsumexp(x, 1),
                 lambda x, y: x.sort(1), lambda x, y: torch.sort(y, dim=1, stable=True, descending=True), lambda x, y: x.argsort(1), lambda x, y: x.topk(2), lambda x, y: torch.searchsorted(x.sort(1)[0], x),
                 lambda x, y: torch.bucketize(x, torch.tensor([-1.0, 0.0, 0.5])), lambda x, y: F.layer_norm(x, (6,)), lambda x, y: F.rms_norm(x, (6,)),
                 lambda x, y: F.group_norm(x.view(-1, 2, 3), 2), lambda x, y: torch.cdist(x, x * 2), lambda x, y: torch.einsum("ij,kj->ik", x, x))


def ops_shapes():
    return calls(((floats, (-1, 6)), (floats, (2, -1, 4))), lambda x, y: x.t(), lambda x, y: y.permute(2, 0, 1), lambda x, y: y.reshape(-1), lambda x, y: y.flatten(1), lambda x, y: x.view(-1, 2, 3),
                 lambda x, y: x[1:], lambda x, y: x[:, ::2], lambda x, y: x[-1], lambda x, y: y[..., None, 1:3], lambda x, y: x.split([1, 2, 3], 1), lambda x, y: x.chunk(4, 1), lambda x, y: y.unbind(0),
                 lambda x, y: torch.cat([x, x[:2]]), lambda x, y: torch.stack([x, x], 1), lambda x, y: x.expand(2, -1, -1), lambda x, y: x.repeat(2, 1, 3), lambda x, y: x.repeat_interleave(2, 1),
                 lambda x, y: x.flip(1), lambda x, y: x.roll(2, 1), lambda x, y: x.unfold(1, 3, 2), lambda x, y: torch.diagonal(y, 1, 1, 2), lambda x, y: x.tril(1), lambda x, y: x.triu(),
                 lambda x, y: F.pad(x, (1, 2), value=0.5), lambda x, y: F.pad(y, (1, 2), mode="circular"), lambda x, y: torch.meshgrid(x[0], y[0, 0], indexing="ij"),
                 lambda x, y: torch.arange(x.shape[0]), lambda x, y: torch.arange(0.0, 3.0, 0.5), lambda x, y: torch.linspace(0, 1, 6), lambda x, y: torch.eye(4, 3), lambda x, y: torch.ones_like(x),
                 lambda x, y: x.new_full((2, x.shape[0]), 7), lambda x, y: torch.tensor(2.5), lambda x, y: x * x.shape[0], lambda x, y: x / (x.shape[0] + 0.5), lambda x, y: x.shape[0] * 2 - 1,
                 lambda x, y: x.new_ones(x.shape[0] // 2 + 1, 2), lambda x, y: x.new_zeros(max(x.shape[0] - 1, 3)))


def ops_windows():
    return calls(((floats, (-1, 4, 9)), (floats, (-1, 2, 8, 7)), (floats, (-1, 2, 4, 5, 4)), (floats, (4, 2, 3)), (floats, (2, 3, 3, 3))),
                 lambda x, y, z, u, v: F.conv1d(x, u, groups=2), lambda x, y, z, u, v: F.conv2d(y, v.transpose(0, 1), stride=2, padding=1), lambda x, y, z, u, v: F.conv_transpose2d(y, v, stride=2, output_padding=1),
                 lambda x, y, z, u, v: F.conv3d(z, v[None, :, :, :, :]), lambda x, y, z, u, v: F.avg_pool1d(x, 3, 2), lambda x, y, z, u, v: F.avg_pool2d(y, 3, 2, 1, count_include_pad=False),
                 lambda x, y, z, u, v: F.avg_pool3d(z, 2), lambda x, y, z, u, v: F.max_pool1d(x, 2), lambda x, y, z, u, v: F.max_pool2d(y, 3, 2, ceil_mode=True, return_indices=True),
                 lambda x, y, z, u, v: F.max_pool3d(z, 2), lambda x, y, z, u, v: F.adaptive_avg_pool1d(x, 4), lambda x, y, z, u, v: F.adaptive_avg_pool2d(y, (3, 5)), lambda x, y, z, u, v: F.adaptive_max_pool2d(y, 3),
                 lambda x, y, z, u, v: F.pad(x, (1, 2), mode="reflect"), lambda x, y, z, u, v: F.pad(y, (1, 2, 0, 1), mode="replicate"), lambda x, y, z, u, v: F.pixel_shuffle(x.view(-1, 4, 3, 3), 2),
                 lambda x, y, z, u, v: F.interpolate(y, scale_factor=2, mode="bilinear"), lambda x, y, z, u, v: F.interpolate(y, size=(5, 11)), lambda x, y, z, u, v: F.interpolate(x, size=7, mode="linear", align_corners=True),
                 lambda x, y, z, u, v: F.interpolate(y, size=(6, 9), mode="bicubic"), lambda x, y, z, u, v: F.unfold(y, 3, padding=1), lambda x, y, z, u, v: F.instance_norm(x), lambda x, y, z, u, v: F.batch_norm(x, None, None, training=True),
                 lambda x, y, z, u, v: F.grid_sample(y, y[:, :, :3, :2].permute(0, 2, 1, 3).clamp(-1, 1), align_corners=False))


def put(x, i):
    y = x.clone()
    y[1:3] = 0.5
    y[:, 0] += 1
    y[i[:2, 0], 2] = 7.0
    return y


def ops_indexing():
    index = torch.tensor([0, 2])
    return calls(((floats, (-1, 6)), (below_three, (-1, 6))), lambda x, i: x[i[:, 0]], lambda x, i: x[i, i + 1], lambda x, i: x[:, i[0]], lambda x, i: x.index_select(1, i[:, 1]), lambda x, i: x.gather(0, i),
                 lambda x, i: torch.take(x, i), lambda x, i: F.embedding(i, x), lambda x, i: x.gather(1, x.argsort(1)), lambda x, i: F.one_hot(i, 4),
                 lambda x, i: x.scatter(1, i[:, :1], 0.5), lambda x, i: x.scatter_add(1, i, x), lambda x, i: x.scatter_reduce(1, i, x, "amax"), lambda x, i: x.scatter_reduce(0, i, x, "mean", include_self=False),
                 lambda x, i: x.index_add(0, i[:, 0], x), lambda x, i: x.index_copy(0, index, x[:2]), lambda x, i: x.index_fill(1, index, 2.0), lambda x, i: x.index_put((i[:2, 0], i[:2, 1] + 1), x[:2, 0], accumulate=True),
                 lambda x, i: x.masked_scatter(x > 0, x.abs()), lambda x, i: F.cross_entropy(x, i[:, 0]), put,
                 lambda x, i: F.embedding_bag(i, x), lambda x, i: F.embedding_bag(i, x, mode="sum", per_sample_weights=x),
                 lambda x, i: F.embedding_bag(i[:, 0], x, torch.tensor([0, 0, 2]), mode="max"), lambda x, i: F.embedding_bag(i[:, 0], x, torch.arange(x.shape[0] + 1), include_last_offset=True))


def ops_fft():
    window, real = torch.hann_window(20), torch.view_as_real
    return calls(((floats, (-1, 12)), (floats, (-1, 4, 10)), (floats, (2, 90))),
                 lambda x, y, s: torch.fft.rfft(x).abs(), lambda x, y, s: torch.fft.irfft(torch.fft.rfft(x) * torch.conj(torch.fft.rfft(x))), lambda x, y, s: torch.fft.fft2(y).real,
                 lambda x, y, s: real(torch.fft.ifft(torch.fft.fft(y, dim=1).transpose(1, 2))), lambda x, y, s: real(torch.fft.rfftn(y, s=(6, 8), dim=(1, 2), norm="ortho")),
                 lambda x, y, s: torch.fft.irfft2(torch.fft.rfft2(y) * 0.5, s=(4, 10)), lambda x, y, s: torch.stft(s, 20, 5, window=window, return_complex=True).abs() ** 2,
                 lambda x, y, s: torch.angle(torch.fft.rfft(x)[:, 1:3].unsqueeze(1)), lambda x, y, s: real(torch.polar(x.abs(), x)), lambda x, y, s: real(torch.fft.fft(x, 200)),
                 lambda x, y, s: torch.fft.hfft(torch.complex(x, x.sin())), lambda x, y, s: real(torch.fft.ihfft(x).resolve_conj()), lambda x, y, s: real(torch.view_as_complex(y.reshape(-1, 20, 2)) + torch.fft.fft(y[:, 0].repeat(1, 2))))


def at_most_nine(i):
    counts = torch.bincount(i[:, 0])
    torch._check(counts.shape[0] <= 9)
    return counts * 2


def ops_counts():
    """And resampling in which many elements meet, and whole slices."""
    window = torch.hann_window(8) + 0.125
    return calls(((floats, (-1, 6)), (below_three, (-1, 3)), (floats, (-1, 2, 9, 8)), (floats, (2, 5, 6, 2)), (floats, (-1, 2, 4, 5, 3))),
                 lambda x, i, y, s, z: torch.histc(x, 5, -1, 1), lambda x, i, y, s, z: at_most_nine(i), lambda x, i, y, s, z: torch.unique(i, dim=0, return_inverse=True, return_counts=True),
                 lambda x, i, y, s, z: torch.unique_consecutive(i, dim=1), lambda x, i, y, s, z: torch.trapezoid(x, x.cumsum(1)), lambda x, i, y, s, z: torch.cumulative_trapezoid(x, dx=0.5),
                 lambda x, i, y, s, z: x * torch.kaiser_window(6), lambda x, i, y, s, z: torch.fft.fftshift(x) * torch.fft.fftfreq(6, 0.5), lambda x, i, y, s, z: torch.fft.rfftfreq(11),
                 lambda x, i, y, s, z: torch.istft(torch.view_as_complex(s), 8, window=window), lambda x, i, y, s, z: F.interpolate(y, size=(4, 5), mode="bilinear", antialias=True),
                 lambda x, i, y, s, z: F.interpolate(y, scale_factor=(0.4, 1.5), mode="bicubic", antialias=True),
                 lambda x, i, y, s, z: F.grid_sample(z, z[:, :1, :3].permute(0, 2, 3, 4, 1).repeat(1, 1, 1, 1, 3).clamp(-1, 1), align_corners=False),
                 lambda x, i, y, s, z: F.grid_sample(y, y[:, :, :3, :5].permute(0, 2, 3, 1), mode="bicubic", padding_mode="reflection", align_corners=True))


def in_place(x, call):
    y = x.clone()
    call(y)
    return y


def ops_special():
    """Functions that need no more than one kernel, and sums of products."""
    s, ends = torch.special, torch.tensor([0.0, -0.0, float("inf"), -float("inf"), float("nan"), 1e-42, -3e38, 1.0, 2.0, 0.99999994, 4.0000005])
    wide = torch.tensor([5e-324, 1.7e308, -1e-310, 0.5, 1 - 2.0**-53, -8.0], dtype=torch.float64)
    return calls(((unit, (-1, 6)), (floats, (-1, 6)), (whole, (6,)), (floats, (-1, 2, 4)), (floats, (-1, 4, 5))),
                 lambda x, y, z, u, v: torch.polygamma(2, x), lambda x, y, z, u, v: s.zeta(x + 2, x), lambda x, y, z, u, v: s.zeta(2.5, x), lambda x, y, z, u, v: s.zeta(x + 1.5, 2.0),
                 lambda x, y, z, u, v: torch.igamma(x, y.abs()), lambda x, y, z, u, v: in_place(y.abs(), lambda t: t.igammac_(x)), lambda x, y, z, u, v: s.bessel_j0(y), lambda x, y, z, u, v: s.bessel_j1(y),
                 lambda x, y, z, u, v: s.bessel_y0(x), lambda x, y, z, u, v: s.bessel_y1(x), lambda x, y, z, u, v: s.modified_bessel_i0(y), lambda x, y, z, u, v: s.modified_bessel_i1(y),
                 lambda x, y, z, u, v: torch.fmax(x, (y - 0.25).sqrt()), lambda x, y, z, u, v: torch.fmin((y - 0.25).sqrt(), x), lambda x, y, z, u, v: torch.ldexp(x, z), lambda x, y, z, u, v: in_place(x, lambda t: t.ldexp_(z)),
                 lambda x, y, z, u, v: torch.gcd(z, (y * 4).long()), lambda x, y, z, u, v: torch.lcm((y * 4).int(), z.int()), lambda x, y, z, u, v: in_place(z, lambda t: t.gcd_(torch.full_like(z, 12))),
                 lambda x, y, z, u, v: torch.lcm(z, z + 1, out=torch.empty_like(z)), lambda x, y, z, u, v: torch.gcd(z.to(torch.uint8), z.to(torch.uint8) + 60),
                 lambda x, y, z, u, v: torch.frexp(y * 3), lambda x, y, z, u, v: torch.frexp(ends * 1.0), lambda x, y, z, u, v: torch.frexp(wide * 1.0), lambda x, y, z, u, v: torch.frexp(y.half())[1],
                 lambda x, y, z, u, v: torch.dist(x, y), lambda x, y, z, u, v: torch.dist(x, y, 3), lambda x, y, z, u, v: torch.dist(x, y, float("inf")), lambda x, y, z, u, v: torch.addbmm(u[0, :, :1] + v[0, 0], u, v, beta=0.5, alpha=2),
                 lambda x, y, z, u, v: F.bilinear(x, y, z[:, None, None] * x[0, :, None] * y[0, None, :], x[0]), lambda x, y, z, u, v: F.bilinear(u, u[:, :, :3], v[0, None, :, :3].contiguous()),
                 lambda x, y, z, u, v: torch._trilinear(x, y, x, [1], [1], [0], [2], 2), lambda x, y, z, u, v: torch._trilinear(x, y, x, [], [], [], []))


def without_one(x):
    """A NaN in each row."""
    y = x.clone()
    y[:, 1] = float("nan")
    return y


def segments(x, reduce, **more):
    return torch.segment_reduce(x, reduce, lengths=torch.tensor([2, 0, 3, 1]), axis=0, **more)


def segments_of_rows(x, reduce, **more):
    """Which have lengths of their own, or do not hold all elements."""
    lengths = torch.tensor([[1, 2, 0], [3, 0, 0], [0, 1, 2]])
    return torch.segment_reduce(x, reduce, lengths=lengths, axis=1, unsafe=True, **more)


def segments_between(x, reduce):
    return torch.segment_reduce(x, reduce, offsets=torch.tensor([1, 2, 2, 6]), unsafe=True)


def ops_selections():
    """Order statistics, and what is written by index."""
    index, offsets = torch.tensor([2, 0, 2]), torch.tensor([0.0, 0.5, 2.0, 2.25])
    distinct = lambda x: x + torch.arange(6) / 64
    return calls(((floats, (-1, 6)), (below_three, (-1, 6)), (floats, (6, -1)), (floats, (3, 4, 2))),
                 lambda x, i, y, z: torch.median(x), lambda x, i, y, z: torch.median(distinct(x), 1), lambda x, i, y, z: torch.nanmedian(without_one(x)), lambda x, i, y, z: torch.median(without_one(x)),
                 lambda x, i, y, z: torch.nanmedian(without_one(distinct(x)), 1, keepdim=True), lambda x, i, y, z: torch.mode(i, 1)[0], lambda x, i, y, z: torch.kthvalue(distinct(x), 2, 1), lambda x, i, y, z: torch.kthvalue(x, x.shape[0] - 1, 0)[0],
                 lambda x, i, y, z: torch.scatter(x, 1, i, x, reduce="add"), lambda x, i, y, z: torch.scatter(x, 0, i[:, :2], 0.5, reduce="multiply"), lambda x, i, y, z: in_place(x, lambda t: t.scatter_(1, i[:, :3], x + 1, reduce="multiply")),
                 lambda x, i, y, z: in_place(x, lambda t: t.scatter_(1, i, 2.0, reduce="add")),
                 *[lambda x, i, y, z, r=r: y.index_reduce(0, index, y[:3], r) for r in ("prod", "mean", "amax", "amin")], lambda x, i, y, z: in_place(x, lambda t: t.index_reduce_(-1, index, x[:, 1:4], "mean", include_self=False)),
                 *[lambda x, i, y, z, r=r: segments(y, r) for r in ("sum", "mean", "prod", "max", "min")], *[lambda x, i, y, z, r=r: segments(y, r, initial=2.0) for r in ("mean", "max")],
                 *[lambda x, i, y, z, r=r: segments_of_rows(z, r) for r in ("sum", "mean", "min")], lambda x, i, y, z: segments_of_rows(z, "mean", initial=1.0), lambda x, i, y, z: segments(without_one(y.t()).t(), "max"),
                 *[lambda x, i, y, z, r=r: segments_between(y, r) for r in ("sum", "mean", "max")],
                 lambda x, i, y, z: torch.put(x, i[0] * 2, x[1]), lambda x, i, y, z: in_place(x, lambda t: t.put_(i, x, accumulate=True)), lambda x, i, y, z: torch.diagonal_scatter(z, z[:, 0, :].t()[:, :3], 1, 0, 1),
                 lambda x, i, y, z: in_place(z, lambda t: t.diagonal(0, 0, 2).mul_(3)), lambda x, i, y, z: in_place(z.view(6, 4), lambda t: t.fill_diagonal_(7)), lambda x, i, y, z: torch.as_strided_scatter(x, x[:2, :3] + 1, (2, 3), (4, 1), 2),
                 lambda x, i, y, z: torch.histogram(z, 5), lambda x, i, y, z: torch.histogram(z, 4, range=(-1.0, 1.0)), lambda x, i, y, z: torch.histogram(z, offsets, weight=z.abs(), density=True), lambda x, i, y, z: torch.histogram(z[0, :1, :1], 2),
                 lambda x, i, y, z: torch.histogram(z, 3, range=(0.5, 0.5), density=True),
                 *[lambda x, i, y, z, f=f, k=k: f(4, 6, k) for f in (torch.tril_indices, torch.triu_indices) for k in (0, 2, -2, 7, -9)], lambda x, i, y, z: torch.tril_indices(3, 2, dtype=torch.int32))


def views_copied(op, *arguments):
    return lambda x, y: getattr(torch.ops.aten, op)(x, *arguments)


def ops_copies():
    """Views as copies, and tensors that are not filled: what they hold is not read."""
    real, aten, pair = torch.view_as_real, torch.ops.aten, lambda x: torch.complex(x, x + 1)
    fill = lambda x, empty: torch.where(x < 100, x, empty)
    return calls(((floats, (-1, 6)), (floats, (3, 6))),
                 views_copied("alias_copy"), views_copied("detach_copy"), views_copied("diagonal_copy", 1), views_copied("expand_copy", [2, -1, 6]), views_copied("permute_copy", [1, 0]), views_copied("slice_copy", 1, 1, 6, 2),
                 views_copied("select_copy", 1, 2), views_copied("split_copy", 4, 1), views_copied("split_with_sizes_copy", [1, 5], 1), views_copied("unbind_copy", 1), views_copied("t_copy"), views_copied("transpose_copy", 0, 1),
                 views_copied("unsqueeze_copy", 1), views_copied("unfold_copy", 1, 2, 2), views_copied("view_copy", [-1]), views_copied("_reshape_copy", [-1, 3]), views_copied("narrow_copy", 1, 2, 3), views_copied("_neg_view_copy"),
                 lambda x, y: aten.as_strided_copy(y, [6, 3], [1, 6]), lambda x, y: aten.squeeze_copy(x[:, :1]), lambda x, y: aten.squeeze_copy.dim(x[:1], 0), lambda x, y: aten.squeeze_copy.dims(x[:1], [0]),
                 lambda x, y: aten.view_as_real_copy(pair(x)), lambda x, y: real(aten._conj_copy(pair(x))), lambda x, y: real(aten.view_as_complex_copy(x.reshape(-1, 3, 2))), lambda x, y: real(aten.view_copy(pair(x), [-1])),
                 lambda x, y: fill(y, torch.empty_permuted((3, 6), (1, 0))), lambda x, y: fill(x, torch.empty_like(x)), lambda x, y: fill(x, x.new_empty(x.shape)), lambda x, y: fill(y, y.new_empty_strided((3, 6), (1, 3))),
                 lambda x, y: fill(y, torch.empty_strided((3, 6), (6, 1))), lambda x, y: fill(x, torch.empty(x.shape)))


def ops_resampled():
    """The overloads with one scale per dimension."""
    aten, none = torch.ops.aten, (None,) * 3
    return calls(((floats, (-1, 2, 9)), (floats, (-1, 2, 5, 6)), (floats, (-1, 1, 4, 5, 3))),
                 *[lambda x, y, z, op=op: op(x, [13], None) for op in (aten.upsample_nearest1d, aten._upsample_nearest_exact1d)], lambda x, y, z: aten.upsample_nearest1d(x, [13], 1.5), lambda x, y, z: aten.upsample_linear1d(x, [13], False, None),
                 *[lambda x, y, z, op=op: op(y, [7, 4], None, None) for op in (aten.upsample_nearest2d, aten._upsample_nearest_exact2d)], lambda x, y, z: aten._upsample_nearest_exact2d(y, [8, 3], 1.7, 0.5),
                 lambda x, y, z: aten.upsample_bilinear2d(y, [7, 4], True, None, None), lambda x, y, z: aten.upsample_bilinear2d(y, [8, 3], False, 1.7, 0.5), lambda x, y, z: aten.upsample_bicubic2d(y, [7, 4], False, None, None),
                 *[lambda x, y, z, op=op: op(z, [3, 7, 6], *none) for op in (aten.upsample_nearest3d, aten._upsample_nearest_exact3d)], lambda x, y, z: aten.upsample_nearest3d(z, [6, 2, 3], 1.5, 0.5, 1.0),
                 lambda x, y, z: aten.upsample_trilinear3d(z, [3, 7, 6], False, *none), lambda x, y, z: aten.upsample_trilinear3d(z, [3, 7, 6], True, *none), lambda x, y, z: aten.upsample_trilinear3d(z, [6, 2, 3], False, 1.5, 0.5, 1.0))


def define_grouped_product():
    """The op by which transformers 5 writes the products of experts; version 4 does not have it."""
    if hasattr(torch.ops.transformers, "grouped_mm_fallback"):
        return

    def product(input: torch.Tensor, weight: torch.Tensor, offs: torch.Tensor) -> torch.Tensor:
        output, begin = input.new_zeros(input.shape[0], weight.shape[2]), 0
        for i, end in enumerate(offs.tolist()):
            output[begin:end] = input[begin:end] @ weight[i]
            begin = end
        return output

    torch.library.custom_op("transformers::grouped_mm_fallback", product, mutates_args=(), schema="(Tensor input, Tensor weight, Tensor offs) -> Tensor")
    torch.library.register_fake("transformers::grouped_mm_fallback", lambda input, weight, offs: input.new_empty(input.shape[0], weight.shape[2]))


class Experts(torch.nn.Module):
    """A layer of a mixture of experts as transformers computes it: the rows sorted by expert, products of groups of rows."""

    def __init__(self, experts=5, top=2, hidden=8, inner=12):
        super().__init__()
        self.top, self.experts = top, experts
        self.router = torch.nn.Linear(hidden, experts)
        self.up = torch.nn.Parameter(torch.randn(experts, 2 * inner, hidden))
        self.down = torch.nn.Parameter(torch.randn(experts, hidden, inner))

    def forward(self, x, w, b):
        weight, expert = torch.topk(self.router(x).softmax(-1), self.top)
        order = expert.view(-1).argsort(stable=True)
        counts = F.one_hot(expert.view(-1), self.experts).sum(0)
        ends = counts.cumsum(0, dtype=torch.int32)
        gate, up = self.product(x[order // self.top], self.up.transpose(1, 2), ends).chunk(2, -1)
        y = self.product(F.silu(gate) * up, self.down.transpose(1, 2), ends) * weight.view(-1, 1)[order]
        mixed = y[order.argsort()].view(-1, self.top, x.shape[1]).sum(1)
        few = torch.tensor([1, 1, 3], dtype=torch.int32)  # no row of the second group, and rows of none
        half = torch.nn.functional.grouped_mm(w.bfloat16(), b.bfloat16(), offs=few)[:3].float()
        return mixed, self.product(x, self.up[:3, :8], few), self.product(x.double(), self.up[:3, :8].double(), few.long()), half, F.grouped_mm(b.bfloat16(), b.bfloat16()).float()

    @staticmethod
    def product(rows, matrices, ends):
        return torch.ops.transformers.grouped_mm_fallback(rows, matrices, ends)


def experts():
    define_grouped_product()
    outputs = ("mixed", "few", "few64", "few16", "batches")
    rows = {0: Dim("B", min=4, max=64)}
    return Model(randomised(Experts()), [(floats(b, 8), floats(b, 8), floats(3, 8, 8)) for b in (7, 11)], ("x", "w", "b"), outputs, (rows, rows, {}))


RANDOM = {  # name of the output: from a tensor f32[B, 50], and one in (0, 1)
    "normal": lambda x, p: torch.normal(1.5, 0.5, x.shape),
    "normal_of_both": lambda x, p: (torch.normal(x, p) - x) / p,
    "normal_of_mean": lambda x, p: torch.normal(x, 2.0) - x,
    "normal_of_std": lambda x, p: (torch.normal(1.0, p) - 1) / p,
    "normal_in_place": lambda x, p: in_place(x, lambda t: t.normal_(-1, 3)),
    "normal_f16": lambda x, p: in_place(x.half(), lambda t: t.normal_()),
    "normal_f64": lambda x, p: in_place(x.double(), lambda t: t.normal_(5, 0.25)),
    "log_normal": lambda x, p: in_place(x, lambda t: t.log_normal_(0.5, 0.25)),
    "uniform": lambda x, p: in_place(x, lambda t: t.uniform_(-2, 3)),
    "uniform_f16": lambda x, p: in_place(x.half(), lambda t: t.uniform_(0, 1)),
    "uniform_f64": lambda x, p: in_place(x.double(), lambda t: t.uniform_(1e6, 1e6 + 1e-3)),
    "uniform_empty": lambda x, p: torch.empty(x.shape).uniform_(),
    "exponential": lambda x, p: in_place(x, lambda t: t.exponential_(2.0)),
    "exponential_f64": lambda x, p: in_place(x.double(), lambda t: t.exponential_()),
    "geometric": lambda x, p: in_place(x, lambda t: t.geometric_(0.3)),
    "geometric_i64": lambda x, p: in_place(x.long(), lambda t: t.geometric_(0.05)),
    "cauchy": lambda x, p: in_place(x, lambda t: t.cauchy_(1, 2)),
    "cauchy_f64": lambda x, p: in_place(x.double(), lambda t: t.cauchy_()),
    "bernoulli": lambda x, p: torch.bernoulli(x, 0.3),
    "bernoulli_i64": lambda x, p: in_place(x.long(), lambda t: t.bernoulli_(0.75)),
    "bernoulli_bool": lambda x, p: in_place(x > 0, lambda t: t.bernoulli_(0.125)),
    "bernoulli_of": lambda x, p: in_place(x, lambda t: t.bernoulli_(p)),
    "bernoulli_of_row": lambda x, p: in_place(x, lambda t: t.bernoulli_(p[0])),
    "randint": lambda x, p: torch.randint(7, x.shape),
    "randint_like": lambda x, p: torch.randint_like(x, 5),
    "randint_like_low": lambda x, p: torch.randint_like(x, 2, 9),
    "randint_of_size": lambda x, p: torch.randint(x.shape[0], x.shape),
    "random": lambda x, p: in_place(x.long(), lambda t: t.random_()),
    "random_to": lambda x, p: in_place(x, lambda t: t.random_(10)),
    "random_f32": lambda x, p: in_place(x, lambda t: t.random_()),
    "random_u8": lambda x, p: in_place(x.to(torch.uint8), lambda t: t.random_()),
    "multinomial": lambda x, p: torch.multinomial(p[0, :6], 4000, replacement=True),
    "multinomial_rows": lambda x, p: torch.multinomial(p[:, :6], 3),
}


def random_numbers():
    runs = [(floats(b, 50), unit(b, 50)) for b in (8, 9)]
    return Model(Calls(tuple(RANDOM.values())), runs, ("x", "p"), tuple(RANDOM), ({0: Dim("B", min=4, max=4000)},) * 2, random=True)


class Stateful(torch.nn.Module):
    """Buffers that are written to, tied weights, sizes and numbers computed from sizes as results and operands."""

    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(4, 8))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.weight = self.tied = torch.nn.Parameter(torch.randn(8, 8))
        self.norm = torch.nn.BatchNorm1d(8)

    def forward(self, x):
        self.cache[1:3] = x[:2]
        self.count += 1
        n = x.shape[0]
        h = self.norm(x @ self.weight @ self.tied)
        return h * 2 + n * 0.5, n, h.reshape(-1)[: n * 2], x, None, h.sum() * n, torch.full((n,), n, dtype=torch.float32), self.cache.sum(0) + self.count


def stateful():
    """The state at the start of a run is the one in the file of weights."""
    outputs = ("h", "n", "flat", "same", "total", "full", "seen")
    return Model(randomised(Stateful()), [(floats(6, 8),), (floats(9, 8),)], ("x",), outputs, ({0: Dim("B", min=3, max=64)},), state=("cache", "count"))


MODELS = {f.__name__: f for f in (bert, gpt2, llama, vit, resnet18, mobilenet_v3, whisper_encoder, t5, ops_pointwise, ops_reductions, ops_shapes, ops_windows, ops_indexing, ops_fft,
                                  ops_counts, ops_special, ops_selections, ops_copies, ops_resampled, experts, random_numbers, stateful)}


def exported(model):
    dynamic = {"tensors": model.dynamic} if isinstance(model.module, (Plain, Calls)) else model.dynamic
    return torch.export.export(model.module, model.runs[0], dynamic_shapes=dynamic, strict=False, **model.export)


def make(name, folder):
    torch.manual_seed(0)
    model = MODELS[name]()
    program, weights = exported(model), folder / f"{name}.safetensors"
    export_graph(program, folder / f"{name}.ind", weights, name, model.inputs, model.outputs)
    if isinstance(model.module, Plain):
        export_graph(program, folder / f"{name}.core.ind", weights, name, model.inputs, model.outputs, core_aten=True)
    if model.random:
        return
    data = {}
    with torch.no_grad():
        for i, tensors in enumerate(model.runs):
            module = copy.deepcopy(model.module)
            found = module(*(t.clone() for t in tensors))
            found = tuple(torch.as_tensor(t) for t in results(found) if t is not None)
            assert len(found) == len(model.outputs), f"{name}: {len(found)} results"
            data |= {f"{i}.{n}": t.numpy() for n, t in zip(model.inputs + model.outputs, tensors + found)}
            data |= {f"{i}.{n}.after": getattr(module, n).numpy() for n in model.state}
    np.savez_compressed(folder / f"{name}.npz", **data)


def main():
    for name in sys.argv[1:] or MODELS:
        make(name, HERE)
        print(name, {p.name: p.stat().st_size for p in sorted(HERE.glob(f"{name}.*"))})


if __name__ == "__main__":
    main()
