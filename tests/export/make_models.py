"""Makes the models of this folder: NAME.ind, NAME.core.ind, NAME.safetensors and NAME.npz, from small ones with random weights.

    pip install torch==2.11.0 torchvision==0.26.0 transformers==4.57.6
    python make_models.py [NAME]...

NAME.ind is what examples/export_graph.py writes, NAME.core.ind the same with --core-aten where that is not nearly the same. NAME.npz has, for each of two
runs at different sizes, the inputs (0.input_ids) and what PyTorch gives for them in float32 (0.logits). The weights are
drawn here, none are trained; the models are as their packages define them, of two layers (or of few channels).
"""

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

    rows, _ = _mobilenet_v3_conf("mobilenet_v3_small", width_mult=0.2)
    model = MobileNetV3(rows, 32, num_classes=10)
    return Model(randomised(model), [(floats(2, 3, 48, 48),), (floats(3, 3, 48, 48),)], ("x",), ("logits",), (BATCH,))


def whisper_encoder():
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    config = WhisperConfig(d_model=32, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=48, num_mel_bins=16, max_source_positions=30)
    return transformer(WhisperEncoder(config), [(floats(2, 16, 60),), (floats(3, 16, 60),)], ("input_features",), ("last_hidden_state",), (BATCH,))


def t5():
    from transformers import T5Config, T5Model

    config = T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, relative_attention_num_buckets=8, relative_attention_max_distance=20)
    runs = [(ids(b, s, below=64), mask(b, s), ids(b, t, below=64)) for b, s, t in ((2, 7, 5), (3, 12, 9))]
    dynamic = (TEXT, TEXT, {0: TEXT[0], 1: Dim("T", min=2, max=40)})
    inputs, outputs = ("input_ids", "attention_mask", "decoder_input_ids"), ("last_hidden_state", "encoder_last_hidden_state")
    return transformer(T5Model(config), runs, inputs, outputs, dynamic, use_cache=False)


MODELS = {f.__name__: f for f in (bert, gpt2, llama, vit, resnet18, mobilenet_v3, whisper_encoder, t5)}


def exported(model):
    dynamic = model.dynamic if not isinstance(model.module, Plain) else {"tensors": model.dynamic}
    return torch.export.export(model.module, model.runs[0], dynamic_shapes=dynamic, strict=False, **model.export)


def make(name, folder):
    model = MODELS[name]()
    program, weights = exported(model), folder / f"{name}.safetensors"
    export_graph(program, folder / f"{name}.ind", weights, name, model.inputs, model.outputs)
    if isinstance(model.module, Plain):
        export_graph(program, folder / f"{name}.core.ind", weights, name, model.inputs, model.outputs, core_aten=True)
    data = {}
    with torch.no_grad():
        for i, tensors in enumerate(model.runs):
            results = model.module(*tensors)
            results = results if isinstance(results, tuple) else (results,)
            data |= {f"{i}.{n}": t.numpy() for n, t in zip(model.inputs + model.outputs, tensors + results)}
    np.savez_compressed(folder / f"{name}.npz", **data)


def main():
    for name in sys.argv[1:] or MODELS:
        make(name, HERE)
        print(name, {p.name: p.stat().st_size for p in sorted(HERE.glob(f"{name}.*"))})


if __name__ == "__main__":
    main()
