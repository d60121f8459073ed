"""Trains the networks of examples/train_* beside PyTorch, from the same weights: the losses, and the time of a step.

    python3 -m venv venv && venv/bin/pip install numpy scikit-learn -r bench/requirements-torch.txt      # 6 GB
    venv/bin/python bench/training/compare.py [mlp cnn lstm tree_lstm]

Both have one thread. Exits with 1 if a loss of the first 100 steps differs by 1e-3 or more.
"""

import importlib.util
import math
import os
import sys
import tempfile
import time
from typing import Any

import numpy as np
import peer
import torch

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
STEPS, BOUND = 100, 1e-3
# Of each network: its folder, the schedule (rate, least rate, steps), and the steps of warming up.
NETWORKS = {
    "mlp": ("train_digits", (0.1, 0.001, 880), 20),
    "cnn": ("train_digits", (0.005, 0.0001, 880), 20),
    "lstm": ("train_char_rnn", (0.005, 0.0005, 1000), 20),
    "tree_lstm": ("train_tree_lstm", (0.01, 0.001, 600), 1),
}


def program_of(folder: str) -> Any:
    """The example's train.py."""
    path = os.path.join(ROOT, "examples", folder)
    sys.path.insert(0, os.path.join(ROOT, "examples", "train_digits"))
    spec = importlib.util.spec_from_file_location(folder, os.path.join(path, "train.py"))
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program


def batches_of(network: str, program: Any) -> Any:
    if network == "lstm":
        return program.batches(program.read(os.path.join(ROOT, "docs", "*.md")), 1, 0)
    if network == "tree_lstm":
        return program.batches(1, 0)
    return program.batches(*program.split(*program.digits())[0], 1, 0)


def rate_of(network: str, t: int) -> float:
    (rate, least, steps), warm = NETWORKS[network][1:]
    return (least + (rate - least) * (1 + math.cos(math.pi * t / steps)) / 2) * min(1, (t + 1) / warm)


def compare(network: str, relay: str, made: str) -> bool:
    program = program_of(NETWORKS[network][0])
    training = program.training
    compiler = training.Compiler(relay, os.path.dirname(program.__file__), made)
    step = training.Step(compiler.step(network), 1)
    count = {"tree_lstm": 5, "mlp": 4}.get(network, 6)
    training.initialise(step, count, 1)
    parameters = [torch.nn.Parameter(torch.from_numpy(array.copy())) for array in step.now[:count]]
    optimiser = peer.optimiser(network, parameters)
    differences, ours, theirs = [], [], []
    for t, batch in zip(range(STEPS), batches_of(network, program)):
        tensors = [torch.from_numpy(array) for array in batch]
        begin = time.perf_counter()
        loss = float(step.run(*batch))
        middle = time.perf_counter()
        expected = peer.step(network, parameters, optimiser, rate_of(network, t), tensors)
        differences.append(abs(loss - expected))
        ours.append(middle - begin)
        theirs.append(time.perf_counter() - middle)
    print(f"{network:10} loss {loss:.6f}, largest difference {max(differences):.1e}; fastest step: "
          f"relay {min(ours) * 1e3:.3f} ms, PyTorch {min(theirs) * 1e3:.3f} ms")
    return max(differences) < BOUND


def main() -> None:
    chosen = sys.argv[1:] or list(NETWORKS)
    if unknown := [name for name in chosen if name not in NETWORKS]:
        sys.exit(f"compare.py: there is no network {unknown[0]}: there are {', '.join(NETWORKS)}")
    torch.set_num_threads(1)
    relay = os.environ.get("RELAY", os.path.join(ROOT, "relay"))
    with tempfile.TemporaryDirectory() as made:
        if not all([compare(network, relay, made) for network in chosen]):
            sys.exit(f"compare.py: a loss differs by {BOUND} or more")


if __name__ == "__main__":
    main()
