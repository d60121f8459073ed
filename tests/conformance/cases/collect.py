"""Writes ONNX's node cases into folders: tests/conformance/node_case.h says what lies in one."""

import hashlib
import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, TypeProto, numpy_helper

# No two implementations draw the same numbers.
RANDOM = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}


def collect(home: Path, is_open: bool) -> list[Path]:
    """The folders of all cases; made if they are missing or if this file or the wheel has changed."""
    folder = home / ("open" if is_open else "nodes")
    stamp = folder / "made-from.txt"
    source = f"onnx {onnx.__version__} {hashlib.sha256(Path(__file__).read_bytes()).hexdigest()}\n"
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != source:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for number, case in enumerate(cases()):
            write(folder / case.name, case, number, is_open)
        stamp.write_text(source, encoding="utf-8")
    return sorted(path.parent for path in folder.glob("*/case.json"))


def cases() -> list:
    """What the wheel has, in its order."""
    from onnx.backend.test.case.node import collect_testcases  # makes all of them, in seconds

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the expected values of some overflow
        return collect_testcases(None)


def write(folder: Path, case, number: int, is_open: bool) -> None:
    """Writes one case. `is_open`: each extent of its inputs is a symbol of its own."""
    folder.mkdir()
    model = opened(case.model, f"c{number}") if is_open else case.model
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    [(inputs, outputs)] = case.data_sets
    described = {
        "operator": case.model.graph.node[0].op_type if "expanded" not in case.name else "(a function body)",
        "rtol": case.rtol,
        "atol": case.atol,
        "random": is_random(case.model, inputs),
        "inputs": [save(folder, f"in_{i}", value) for i, value in enumerate(inputs)],
        "outputs": [save(folder, f"out_{i}", value) for i, value in enumerate(outputs)],
    }
    (folder / "case.json").write_text(json.dumps(described), encoding="utf-8")


def save(folder: Path, name: str, value):
    """Writes a tensor, or each of a sequence. Returns the form of it that case.json has."""
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return [save(folder, f"{name}_{i}", part) for i, part in enumerate(value)]
    tensor = value if isinstance(value, TensorProto) else numpy_helper.from_array(np.asarray(value))
    (folder / f"{name}.pb").write_bytes(tensor.SerializeToString())
    return f"{name}.pb"


def opened(model: ModelProto, prefix: str) -> ModelProto:
    """The model with symbols for the extents of its inputs, and nothing said of other shapes."""
    out = ModelProto()
    out.CopyFrom(model)
    for i, value in enumerate(out.graph.input):
        if tensor := tensor_type_of(value.type):
            for axis, dim in enumerate(tensor.shape.dim):
                dim.dim_param = f"{prefix}_{i}_{axis}"
    for value in out.graph.output:
        if tensor := tensor_type_of(value.type):
            tensor.ClearField("shape")
    del out.graph.value_info[:]
    return out


def tensor_type_of(kind: TypeProto) -> TypeProto.Tensor | None:
    """The type of the tensors in a value; nothing if it says none."""
    while (form := kind.WhichOneof("value")) in ("sequence_type", "optional_type"):
        kind = getattr(kind, form).elem_type
    return kind.tensor_type if form == "tensor_type" and kind.tensor_type.HasField("shape") else None


def is_random(model: ModelProto, inputs: list) -> bool:
    """True if its elements are drawn: by an operator, or by a Dropout in training that drops something."""
    given = dict(zip([value.name for value in model.graph.input], inputs))
    nodes = [*model.graph.node, *(node for function in model.functions for node in function.node)]
    return any(node.op_type in RANDOM or (node.op_type == "Dropout" and drops(node, given)) for node in nodes)


def drops(node, given: dict) -> bool:
    """True if a Dropout may drop elements: it has a third input, "training", which is true, and its ratio is not 0."""
    if len(node.input) < 3 or not np.any(given.get(node.input[2], True)):
        return False
    return bool(np.any(given.get(node.input[1], 0.5)))
