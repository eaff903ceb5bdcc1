"""The graphs whose schedules are counted: name -> (text, sizes)."""

import pathlib

from patterns import COMBOS, MIXED, PATTERNS

HERE = pathlib.Path(__file__).parent
EXPORTED = HERE.parent / "export"
MODELS = {
    "bert": (EXPORTED / "bert.core.ind", {"s26": 2, "s0": 7}),
    "gpt2": (EXPORTED / "gpt2.core.ind", {"s87": 2, "s85": 7}),
    "llama": (EXPORTED / "llama.core.ind", {"s87": 2, "s85": 7}),
    "t5": (EXPORTED / "t5.core.ind", {"s26": 2, "s85": 7, "s0": 5}),
    "vit": (EXPORTED / "vit.core.ind", {"s95": 2}),
    "whisper encoder": (EXPORTED / "whisper_encoder.core.ind", {"s95": 2}),
    "resnet18": (EXPORTED / "resnet18.ind", {"s77": 2}),
    "mobilenet_v3": (EXPORTED / "mobilenet_v3.ind", {"s77": 2}),
    "minilm": (HERE / "minilm.ind", {"B": 32, "S": 128}),
}


def graphs():
    found = {name: (text, {}) for name, text, *_ in PATTERNS + MIXED + COMBOS}
    found.update({name: (path.read_text(), sizes) for name, (path, sizes) in MODELS.items()})
    return found
