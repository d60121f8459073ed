"""A program and its weights as `relay` reads them."""

import json
import struct
from pathlib import Path

import numpy as np

from .catalogue import Arrays, Program


def write(program: Program, weights: Arrays, folder: Path) -> Path:
    """The text, with the weights beside it."""
    path = folder / f"{program.name}.relay"
    path.write_text(program.text, encoding="utf-8")
    write_safetensors(weights, path.with_suffix(".safetensors"))
    return path


def write_safetensors(arrays: Arrays, path: Path) -> None:
    """Float32 tensors as the file beside a program holds them."""
    head, at = {}, 0
    for name, array in arrays.items():
        head[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(head).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in arrays.values():
            file.write(np.ascontiguousarray(array, np.float32).tobytes())
