"""The networks of examples/train_*: their programs, and their batches."""

import importlib.util
import os
import sys
from typing import Any

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
FOLDERS = {"mlp": "train_digits", "cnn": "train_digits", "lstm": "train_char_rnn", "tree_lstm": "train_tree_lstm"}


def program_of(network: str) -> Any:
    """The example's train.py."""
    path = os.path.join(ROOT, "examples", FOLDERS[network])
    sys.path.insert(0, os.path.join(ROOT, "examples", "train_digits"))
    spec = importlib.util.spec_from_file_location(FOLDERS[network], os.path.join(path, "train.py"))
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program


def batches_of(network: str, program: Any, digits: str | None = None) -> Any:
    """All batches, one after the other; of the images in a file, or those of scikit-learn."""
    if network == "lstm":
        return program.batches(program.read(os.path.join(ROOT, "docs", "*.md")), 1, 0)
    if network == "tree_lstm":
        return program.batches(1, 0)
    return program.batches(*program.split(*(program.read(digits) if digits else program.digits()))[0], 1, 0)


def parameters_of(network: str) -> int:
    return {"tree_lstm": 5, "mlp": 4}.get(network, 6)
