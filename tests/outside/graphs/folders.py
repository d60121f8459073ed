"""Models in folders, as `relay verify` reads them; and a process that composes many."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from onnx import ModelProto

from . import peer, text
from .compose import Composed, Step, compose, part_of


def write(
    folder: Path, model: ModelProto, inputs: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray] | None
) -> None:
    """Writes a model with its inputs, and what the peer gives, if it gives something."""
    (folder / "inputs").mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    for name, array in inputs.items():
        np.save(folder / "inputs" / f"{name}.npy", array)
    if outputs is not None:
        (folder / "outputs").mkdir()
        for name, array in outputs.items():
            np.save(folder / "outputs" / f"{name}.npy", array)


def write_graph(folder: Path, composed: Composed, symbolic: bool = True) -> None:
    """Writes a graph and what the peer gives for the whole of it."""
    model = composed.model(symbolic)
    inputs = {v.name: v.array for v in composed.graph.inputs}
    outputs = None
    refusal = composed.refusal
    if not refusal:
        try:
            outputs = dict(zip([v.name for v in composed.outputs], peer.run(model, inputs)))
        except (peer.Refused, peer.NotImplementedByPeer) as error:
            refusal = str(error)
    write(folder, model, inputs, outputs)
    about = {
        "seed": composed.seed,
        "operators": composed.operators,
        "refusal": refusal,
        "symbolic": bool(composed.names) and symbolic,
        "nodes": {s.node.name: text.of_step(s, composed.graph.opset) for s in composed.steps},
    }
    (folder / "about.json").write_text(json.dumps(about), encoding="utf-8")


def write_part(folder: Path, opset: int, steps: Sequence[Step]) -> str:
    """Writes some nodes of a graph with the values that they had there. Returns why the peer refuses them."""
    model, inputs = part_of(opset, steps)
    try:
        arrays = peer.run(model, inputs)
    except (peer.Refused, peer.NotImplementedByPeer) as error:
        write(folder, model, inputs, None)
        return str(error)
    write(folder, model, inputs, dict(zip([o.name for o in model.graph.output], arrays)))
    return ""


def name_of(seed: int) -> str:
    return f"{seed:08d}"


def compose_all(home: Path, first: int, last: int, only: Sequence[str]) -> None:
    """Writes the graphs [first, last) into folders of `home`. The file `trying` says what the peer is about to run."""
    trying = home / "trying"
    for seed in range(first, last):
        composed = compose(seed, only, lambda name, seed=seed: trying.write_text(f"{seed} {name}"))
        if composed.steps:
            write_graph(home / name_of(seed), composed)
    trying.write_text(f"{last} -")


if __name__ == "__main__":
    compose_all(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), [n for n in sys.argv[4].split(",") if n])
