"""The peers, by the names of their columns: one file each, imported only where it is used."""

import importlib
import importlib.util
from pathlib import Path

from ..engine import Arrays, Engine

REFERENCE = "ort"  # the one that results are compared with
_PEERS = {
    "ort": ("onnxruntime", "onnx_runtime"),
    "openvino": ("openvino", "openvino_cpu"),
    "torch": ("torch", "torch_compile"),
}  # the package that it needs, and the file here
NAMES = tuple(_PEERS)


def why_missing(name: str) -> str:
    """Why a peer cannot be used on this machine; empty if it can."""
    package, _ = _PEERS[name]
    return "" if importlib.util.find_spec(package) else f"the package {package} is not installed"


def version(name: str) -> str:
    """Of the peer's package."""
    from importlib import metadata

    return metadata.version(_PEERS[name][0])


def make(name: str, model: Path, inputs: Arrays, threads: int) -> Engine:
    """The peer with the model loaded. Raises whatever the peer does if it cannot run it."""
    module = importlib.import_module(f"{__name__}.{_PEERS[name][1]}")
    return module.Peer(model, inputs, threads)
