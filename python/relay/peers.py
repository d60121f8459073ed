"""Other programs as references for `relay.verify(..., against=...)`: runtimes by name, or a function.

A model that was loaded from a .onnx file is given to a runtime as that file, so that the importer is compared, too.
Any other is exported by `Module.to_onnx`.
"""

import functools
import pathlib
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from relay import _relay
from relay._relay import Module

if TYPE_CHECKING:
    from relay.runtimes import Runtime

Array = np.ndarray[Any, Any]
Reference = str | Callable[..., Any]


def _named(name: str) -> "Runtime":
    from relay import runtimes  # its modules of the standard library would make `import relay` slower

    name = runtimes.ALIASES.get(name, name)
    if name not in runtimes.RUNTIMES:
        known = ", ".join(runtimes.RUNTIMES)
        raise ValueError(
            f"argument `against` is {name!r}, and the runtimes known by name are {known}: give a function "
            "that calls it, from the arrays of the inputs to those of the outputs, or a torch.nn.Module"
        )
    return runtimes.RUNTIMES[name]


def _array(value: Any) -> Array:
    if hasattr(value, "detach"):  # a tensor of PyTorch, which may be on a device or have a gradient
        value = value.detach().cpu()
    if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        value = np.from_dlpack(value)
    array = np.asarray(value, order="C")
    if array.dtype == object:
        raise TypeError(f"argument `against` gives a {type(value).__name__}, and outputs are compared as arrays")
    return array


def _run(runtime: "Runtime", module: Module, feeds: dict[str, Array]) -> Any:
    is_onnx = bool(module.files) and pathlib.Path(module.files[0]).suffix == ".onnx"
    return runtime.run(module.files[0] if is_onnx else module.to_onnx(), feeds)


def _call(function: Callable[..., Any], feeds: dict[str, Array]) -> Any:
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(function, torch.nn.Module):
        return function(*feeds.values())
    from relay import runtimes

    return runtimes.call_torch(torch, function, feeds)


def outputs(reference: Reference, module: Module, inputs: Any) -> dict[str, Array]:
    """What the reference computes, by the names of the module's outputs."""
    run: Callable[[dict[str, Array]], Any]
    if isinstance(reference, str):
        runtime = _named(reference)
        name, run = runtime.name, functools.partial(_run, runtime, module)
    else:
        name, run = description(reference), functools.partial(_call, reference)
    results = run(_relay._input_arrays(module, inputs))
    if isinstance(results, Mapping):
        return {str(key): _array(value) for key, value in results.items()}
    if not isinstance(results, list | tuple):
        results = [results]
    if len(results) != len(module.outputs):
        raise ValueError(f"{name} gives {len(results)} outputs, and the program {len(module.outputs)}")
    return dict(zip(module.outputs, map(_array, results)))


def description(reference: Reference) -> str:
    """The runtime with its version, or the function by its name."""
    if isinstance(reference, str):
        runtime = _named(reference)
        return f"{runtime.name} {runtime.version()}"
    if not callable(reference):
        raise TypeError(f"argument `against` is a {type(reference).__name__}: give the name of a runtime, or a function")
    return f"the function {getattr(reference, '__name__', type(reference).__name__)}"
