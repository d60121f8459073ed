"""The ONNX files: made once, made again when the generator has changed."""

import hashlib
from pathlib import Path

from zoo.catalogue import NETWORKS
from zoo.writer import write

from . import options


def onnx_file(name: str) -> Path:
    """The file of a network of the zoo, made if it is missing or stale."""
    folder = options.home() / "models"
    path, stamp = folder / f"{name}.onnx", folder / f"{name}.made-from"
    source = generator_hash()
    if path.is_file() and stamp.is_file() and stamp.read_text() == source:
        return path
    folder.mkdir(parents=True, exist_ok=True)
    stamp.unlink(missing_ok=True)
    write(NETWORKS[name], folder)
    stamp.write_text(source)
    return path


def fixed_shapes(name: str) -> list[str]:
    """NAME:[DIMS] of the inputs with dynamic axes, as they are measured: an artifact has one shape."""
    graph = NETWORKS[name].graph()
    dynamic = {value.name for value in graph.inputs if any(isinstance(dim, str) for dim in value.shape)}
    samples = graph.sample_inputs() if dynamic else {}
    return [f"{name}:{list(array.shape)}".replace(" ", "") for name, array in samples.items() if name in dynamic]


def generator_hash() -> str:
    """Changes when any file of the generator does."""
    folder = Path(__file__).resolve().parents[1] / "zoo"
    total = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        total.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()
