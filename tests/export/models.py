"""Small models with random weights, as torch.export programs: what `make_models.py` commits and compares.

Each function returns an exported program. All are of two layers and of widths that keep their files small; none of the
weights come from a trained model. Needs torch, transformers and torchvision.
"""

import warnings

import torch
from torch.export import Dim, export

warnings.filterwarnings("ignore")


class Plain(torch.nn.Module):
    """A transformers model with tensors in and a tuple of tensors out."""

    def __init__(self, model, names, results):
        super().__init__()
        self.model, self.names, self.results = model, names, results

    def forward(self, *inputs):
        out = self.model(**dict(zip(self.names, inputs)), **self.more())
        return tuple(getattr(out, name) for name in self.results)

    def more(self):
        return {}


class NoCache(Plain):
    def more(self):
        return {"use_cache": False}


def randomise(model):
    """Weights as trained ones are spread: fresh models have biases of 0 and norms of 1, which would hide mistakes."""
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for name, p in list(model.named_parameters()) + list(model.named_buffers()):
            if not p.is_floating_point() or "inv_freq" in name or "mask" in name:
                continue
            noise = torch.empty_like(p).normal_(0, 1, generator=generator)
            if "running_var" in name:
                p.copy_(1 + 0.2 * noise.abs())
            elif p.ndim < 2:
                p.add_(0.1 * noise)
            else:
                p.copy_(noise * (0.7 / max(1, p[0].numel()) ** 0.5))
    return model.eval()


def ids(*shape, below):
    return torch.randint(0, below, shape, generator=torch.Generator().manual_seed(3))


def floats(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(5))


def bert():
    from transformers import BertConfig, BertModel

    config = BertConfig(vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, max_position_embeddings=40)
    model = Plain(randomise(BertModel(config)), ("input_ids", "attention_mask", "token_type_ids"), ("last_hidden_state", "pooler_output"))
    mask = torch.ones(2, 7, dtype=torch.int64)
    mask[1, 5:] = 0
    b, s = Dim("B", min=2, max=16), Dim("S", min=2, max=40)
    shape = {0: b, 1: s}
    return export(model, (ids(2, 7, below=64), mask, ids(2, 7, below=2)), dynamic_shapes={"inputs": (shape, shape, shape)}, strict=False)


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=64, n_positions=48, n_embd=32, n_layer=2, n_head=4)
    config._attn_implementation = "eager"
    model = NoCache(randomise(GPT2LMHeadModel(config)), ("input_ids", "attention_mask"), ("logits",))
    shape = {0: Dim("B", min=2, max=16), 1: Dim("S", min=2, max=40)}
    return export(model, (ids(2, 7, below=64), torch.ones(2, 7, dtype=torch.int64)), dynamic_shapes={"inputs": (shape, shape)}, strict=False)


def llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64)
    config._attn_implementation = "eager"
    model = NoCache(randomise(LlamaForCausalLM(config)), ("input_ids", "attention_mask"), ("logits",))
    shape = {0: Dim("B", min=2, max=16), 1: Dim("S", min=2, max=40)}
    return export(model, (ids(2, 7, below=64), torch.ones(2, 7, dtype=torch.int64)), dynamic_shapes={"inputs": (shape, shape)}, strict=False, prefer_deferred_runtime_asserts_over_guards=True)


def vit():
    from transformers import ViTConfig, ViTModel

    config = ViTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, image_size=32, patch_size=8)
    model = Plain(randomise(ViTModel(config)), ("pixel_values",), ("last_hidden_state", "pooler_output"))
    return export(model, (floats(2, 3, 32, 32),), dynamic_shapes={"inputs": ({0: Dim("B", min=2, max=16)},)}, strict=False)


def resnet18():
    from torchvision.models.resnet import BasicBlock, ResNet

    class Small(ResNet):
        """ResNet-18 with an eighth of its channels."""

        def _make_layer(self, block, planes, blocks, stride=1, dilate=False):
            if planes == 64:
                self.inplanes = 8
                self.conv1 = torch.nn.Conv2d(3, 8, 7, 2, 3, bias=False)
                self.bn1 = torch.nn.BatchNorm2d(8)
            return super()._make_layer(block, planes // 8, blocks, stride, dilate)

    model = Small(BasicBlock, [2, 2, 2, 2], num_classes=10)
    model.fc = torch.nn.Linear(64, 10)
    return export(randomise(model), (floats(2, 3, 64, 64),), dynamic_shapes={"x": {0: Dim("B", min=2, max=16)}})


def mobilenet_v3():
    from torchvision.models.mobilenetv3 import MobileNetV3, _mobilenet_v3_conf

    rows, last = _mobilenet_v3_conf("mobilenet_v3_small", width_mult=0.25)
    model = MobileNetV3(rows, 32, num_classes=10)
    return export(randomise(model), (floats(2, 3, 64, 64),), dynamic_shapes={"x": {0: Dim("B", min=2, max=16)}})


def whisper_encoder():
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    config = WhisperConfig(d_model=32, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=64, num_mel_bins=16, max_source_positions=30)
    model = Plain(randomise(WhisperEncoder(config)), ("input_features",), ("last_hidden_state",))
    return export(model, (floats(2, 16, 60),), dynamic_shapes={"inputs": ({0: Dim("B", min=2, max=16)},)}, strict=False)


def t5():
    from transformers import T5Config, T5Model

    config = T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, relative_attention_num_buckets=8, relative_attention_max_distance=20)
    names = ("input_ids", "attention_mask", "decoder_input_ids")
    model = NoCache(randomise(T5Model(config)), names, ("last_hidden_state", "encoder_last_hidden_state"))
    mask = torch.ones(2, 7, dtype=torch.int64)
    mask[1, 5:] = 0
    b = Dim("B", min=2, max=16)
    shape = {0: b, 1: Dim("S", min=2, max=40)}
    return export(model, (ids(2, 7, below=64), mask, ids(2, 5, below=64)), dynamic_shapes={"inputs": (shape, shape, {0: b, 1: Dim("T", min=2, max=40)})}, strict=False)


MODELS = {f.__name__: f for f in (bert, gpt2, llama, vit, resnet18, mobilenet_v3, whisper_encoder, t5)}
