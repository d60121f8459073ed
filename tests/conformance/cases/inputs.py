"""Inputs for a model of a wheel: drawn, the same each time."""

import urllib.parse
import zlib
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, ValueInfoProto

from .wheels import Model

SAFE = "_-.:+=@,()[] "  # what a file's name keeps: frontend/data/inputs.h, file_name_of


def inputs_of(model: ModelProto) -> list[ValueInfoProto]:
    """What a run has to give: the inputs without a default."""
    defaults = {tensor.name for tensor in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in defaults]


def axis_name(value: ValueInfoProto, number: int) -> str:
    """The name of an open axis; an empty text if its extent is known."""
    dim = value.type.tensor_type.shape.dim[number]
    if dim.WhichOneof("value") == "dim_value" and dim.dim_value >= 0:
        return ""
    unnamed = not dim.dim_param or dim.dim_param in ("?", "-1")
    return f"{value.name}.{number}" if unnamed else dim.dim_param


def shape_of(value: ValueInfoProto, about: Model, run: int) -> tuple[int, ...]:
    """The extents of an input in a run. Raises KeyError for an open axis that wheels.toml does not know."""
    out = []
    for number, dim in enumerate(value.type.tensor_type.shape.dim):
        name = axis_name(value, number)
        out.append(about.axes[name][run] if name else dim.dim_value)
    return tuple(out)


def draw(model: ModelProto, about: Model, run: int) -> dict[str, np.ndarray]:
    """The inputs of a run, by name."""
    out = {}
    for value in inputs_of(model):
        shape = shape_of(value, about, run)
        dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type))
        random = np.random.default_rng([zlib.crc32(value.name.encode()), run])
        if value.name in about.fixed:
            out[value.name] = np.full(shape, about.fixed[value.name], dtype)
            continue
        is_float = dtype.kind == "f"
        low, high = about.draw.get(value.name, [-1, 1] if is_float else [0, 2])
        whole = not is_float or value.name in about.integral
        drawn = random.integers(low, high, shape) if whole else random.uniform(low, high, shape)
        out[value.name] = np.asarray(drawn, dtype)
    return out


def write(folder: Path, arrays: dict[str, np.ndarray]) -> None:
    """Writes NAME.npy for each, as `relay` reads them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        np.save(folder / f"{urllib.parse.quote(name, safe=SAFE)}.npy", array)
