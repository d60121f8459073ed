"""relay.verify, which may ask another runtime."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from relay import _relay, peers
from relay._relay import Module, Report


def _listed(value: Any, one: type) -> Any:
    """A list of what is given. What is neither one nor many, the extension module refuses by its name."""
    if isinstance(value, one):
        return [value]
    return list(value) if isinstance(value, Iterable) else value


def verify(
    module: Module,
    inputs: Any,
    *,
    engines: str | Sequence[str] = (),
    levels: int | Sequence[int] = (0, 1, 2, 3),
    threads: int = 1,
    target: str = "native",
    denormals: Literal["flush", "keep"] = "flush",
    expected: Mapping[str, Any] | Sequence[Any] | Any | None = None,
    against: peers.Reference | None = None,
    progress: Callable[[int, int, str], object] | None = None,
) -> Report:
    """Compares engines with the reference interpreter, within the bounds of docs/semantics.md.

    `inputs` is a dict by name, a sequence, or one array. No `engines` means all. `expected` has the outputs of
    another program, which are compared too. `against` computes them: a runtime that is installed
    ("onnxruntime", "openvino", "torch", "tract", "tvm", "iree"), a function that takes the inputs' arrays in order and
    gives the outputs, or a torch.nn.Module, which is given tensors.
    `progress(done, total, what)` is called for each step.
    """
    source = ""
    if against is not None:
        if expected is not None:
            raise TypeError("give `expected` or `against`, not both")
        expected = peers.outputs(against, module, inputs)
        source = peers.description(against)
    return _relay.verify(
        module,
        inputs,
        engines=_listed(engines, str),
        levels=_listed(levels, int),
        threads=threads,
        target=target,
        denormals=denormals,
        expected=expected,
        expected_from=source,
        progress=progress,
    )
