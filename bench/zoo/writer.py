"""Puts a network into a file, whole or not at all."""

from pathlib import Path

from .catalogue import Network


def write(network: Network, folder: Path) -> Path:
    """Writes FOLDER/NAME.onnx and gives back its path; an interrupted write leaves no such file."""
    path = folder / f"{network.name}.onnx"
    part = folder / f"{network.name}.onnx.part"
    try:
        part.write_bytes(network.graph().model().SerializeToString(deterministic=True))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return path
