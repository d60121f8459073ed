"""Other runtimes, as references for `relay.verify(..., against=NAME)`.

A model that was loaded from a .onnx file is given to them as that file, so that the importer is compared, too.
Any other is exported by `Module.to_onnx`.
"""

import importlib
import pathlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from relay._relay import Module

Feeds = dict[str, np.ndarray[Any, Any]]
Model = str | bytes  # a path, or what a file has


def _onnxruntime(runtime: Any, model: Model, feeds: Feeds) -> list[Any]:
    session = runtime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return list(session.run(None, feeds))


def _openvino(runtime: Any, model: Model, feeds: Feeds) -> list[Any]:
    core = runtime.Core()
    # It computes in bfloat16 on some processors unless it is told not to.
    compiled = core.compile_model(core.read_model(model), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    results = compiled(feeds)
    return [results[output] for output in compiled.outputs]


# By the name of `against`, which is the module and the package of PyPI, too.
PEERS: dict[str, Callable[[Any, Model, Feeds], list[Any]]] = {
    "onnxruntime": _onnxruntime,
    "openvino": _openvino,
}


def _runtime(name: str) -> Any:
    if name not in PEERS:
        raise ValueError(f"argument `against` is {name!r}, and it is one of {', '.join(PEERS)}")
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"`against={name!r}` needs the package {name}: pip install {name}", name=name) from error


def _array(name: str, value: Any) -> np.ndarray[Any, Any]:
    if hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray | np.generic):
        value = np.from_dlpack(value)
    array = np.asarray(value)
    if array.dtype == object:
        raise TypeError(f"argument `{name}` is no array, and other runtimes take arrays alone")
    return array


def _feeds(module: Module, inputs: Any) -> Feeds:
    if not isinstance(inputs, Mapping):
        places = inputs if isinstance(inputs, list | tuple) else [inputs]
        if len(places) != len(module.inputs):
            raise TypeError(f"{len(places)} arguments are given and the program takes {len(module.inputs)}: "
                            f"its inputs are {', '.join(module.inputs)}")
        inputs = dict(zip(module.inputs, places))
    return {name: _array(name, value) for name, value in inputs.items()}


def outputs(name: str, module: Module, inputs: Any) -> Feeds:
    """What the runtime of this name computes, by the names of the module's outputs."""
    runtime = _runtime(name)
    feeds = _feeds(module, inputs)
    is_onnx = bool(module.files) and pathlib.Path(module.files[0]).suffix == ".onnx"
    results = PEERS[name](runtime, module.files[0] if is_onnx else module.to_onnx(), feeds)
    if len(results) != len(module.outputs):
        raise ValueError(f"{name} gives {len(results)} outputs, and the program {len(module.outputs)}")
    return dict(zip(module.outputs, map(np.asarray, results)))


def description(name: str) -> str:
    """The runtime with its version."""
    return f"{name} {getattr(_runtime(name), '__version__', 'of an unknown version')}"
