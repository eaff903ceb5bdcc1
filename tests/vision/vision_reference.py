"""EfficientNet-Lite0 in float64 with NumPy, and the picture resized by Pillow: what examples/vision.c is measured against."""

import json
import struct

import numpy as np
from PIL import Image

SIDE, SHOWN, EPSILON = 224, 224 / 256, 1e-3
STAGES = [(1, 1), (2, 2), (2, 2), (3, 2), (3, 1), (4, 2), (1, 1)]  # blocks, stride of the first


def read_weights(path):
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    found = {}
    for name, entry in json.loads(raw[8 : 8 + length]).items():
        first, last = (8 + length + at for at in entry["data_offsets"])
        found[name] = np.frombuffer(raw[first:last], "<f4").reshape(entry["shape"]).astype(np.float64)
    return found


def read_picture(path):
    """The middle of a picture, resized without rounding: [3, SIDE, SIDE]."""
    with Image.open(path) as image:
        pixels = np.asarray(image.convert("RGB"), np.float32)
    height, width = pixels.shape[:2]
    half = SHOWN * min(height, width) / 2
    box = (width / 2 - half, height / 2 - half, width / 2 + half, height / 2 + half)
    return np.stack([np.asarray(Image.fromarray(pixels[:, :, c]).resize((SIDE, SIDE), Image.Resampling.BICUBIC, box), np.float64) for c in range(3)])


def convolution(weights, name, norm, x, stride=1):
    """x: [C, H, W]. With a batch norm."""
    w = weights[f"{name}.weight"]
    kernel = w.shape[2]
    sizes = [-(-n // stride) for n in x.shape[1:]]
    pads = [max((n - 1) * stride + kernel - have, 0) for n, have in zip(sizes, x.shape[1:])]
    x = np.pad(x, [(0, 0)] + [(p // 2, p - p // 2) for p in pads])
    y = np.zeros((w.shape[0], *sizes))
    for i in range(kernel):
        for j in range(kernel):
            part = x[:, i : i + (sizes[0] - 1) * stride + 1 : stride, j : j + (sizes[1] - 1) * stride + 1 : stride]
            depthwise = w.shape[1] == 1
            y += part * w[:, 0, i, j, None, None] if depthwise else np.tensordot(w[:, :, i, j], part, 1)
    scale = weights[f"{norm}.weight"] / np.sqrt(weights[f"{norm}.running_var"] + EPSILON)
    return y * scale[:, None, None] + (weights[f"{norm}.bias"] - weights[f"{norm}.running_mean"] * scale)[:, None, None]


def relu6(x):
    return np.clip(x, 0, 6)


def block(weights, number, x, stride):
    of, y = f"_blocks.{number}", x
    if f"{of}._expand_conv.weight" in weights:
        y = relu6(convolution(weights, f"{of}._expand_conv", f"{of}._bn0", y))
    y = relu6(convolution(weights, f"{of}._depthwise_conv", f"{of}._bn1", y, stride))
    y = convolution(weights, f"{of}._project_conv", f"{of}._bn2", y)
    return y + x if stride == 1 and x.shape == y.shape else y


def probabilities(weights, path):
    x = relu6(convolution(weights, "_conv_stem", "_bn0", (read_picture(path) - 127) / 128, 2))
    number = 0
    for blocks, stride in STAGES:
        for i in range(blocks):
            x = block(weights, number, x, 1 if i else stride)
            number += 1
    x = relu6(convolution(weights, "_conv_head", "_bn1", x)).mean((1, 2))
    scores = weights["_fc.weight"] @ x + weights["_fc.bias"]
    e = np.exp(scores - scores.max())
    return e / e.sum()
