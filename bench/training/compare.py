"""Trains the networks of examples/train_* beside PyTorch, from the same weights: the losses, and the time of a step.

    python3 -m venv venv && venv/bin/pip install -r bench/requirements-training.txt      # 6 GB
    venv/bin/python bench/training/compare.py [mlp cnn lstm tree_lstm]

PyTorch runs eagerly, and by torch.compile, which needs g++. All have one thread, and take their steps in turns. The first
steps of torch.compile compile; how long they took is printed beside its fastest step. Exits with 1 if a loss of the
first 100 steps differs by 1e-3 or more.
"""

import argparse
import math
import os
import shutil
import sys
import tempfile
import time

import peer
import torch
from networks import ROOT, batches_of, parameters_of, program_of

STEPS, BOUND = 100, 1e-3
# Of each network: the schedule (rate, least rate, steps), and the steps of warming up.
NETWORKS = {
    "mlp": ((0.1, 0.001, 880), 20),
    "cnn": ((0.005, 0.0001, 880), 20),
    "lstm": ((0.005, 0.0005, 1000), 20),
    "tree_lstm": ((0.01, 0.001, 600), 1),
}


def rate_of(network: str, t: int) -> float:
    (rate, least, steps), warm = NETWORKS[network]
    return (least + (rate - least) * (1 + math.cos(math.pi * t / steps)) / 2) * min(1, (t + 1) / warm)


def compare(network: str, options: argparse.Namespace, made: str) -> bool:
    program = program_of(network)
    training = program.training
    compiler = training.Compiler(options.relay, os.path.dirname(program.__file__), made)
    step = training.Step(compiler.step(network), 1)
    count = parameters_of(network)
    training.initialise(step, count, 1)
    peers = {"PyTorch": peer.Peer(network, step.now[:count], compiled=False)}
    if not options.eager:
        peers["torch.compile"] = peer.Peer(network, step.now[:count], compiled=True)
    differences: list[float] = []
    times: dict[str, list[float]] = {name: [] for name in ["relay", *peers]}
    for t, batch in zip(range(options.steps), batches_of(network, program, options.data)):
        tensors = [torch.from_numpy(array) for array in batch]
        begin = time.perf_counter()
        loss = float(step.run(*batch))
        times["relay"].append(time.perf_counter() - begin)
        for name, other in peers.items():
            begin = time.perf_counter()
            expected = other.step(rate_of(network, t), tensors)
            times[name].append(time.perf_counter() - begin)
            differences.append(abs(loss - expected))
    fastest = ", ".join(f"{name} {min(all_of) * 1e3:.3f} ms" for name, all_of in times.items())
    print(f"{network:10} loss {loss:.6f}, largest difference {max(differences):.1e}; fastest step: {fastest}")
    if not options.eager:
        # What is compiled again for other shapes counts in whichever step it falls.
        most = max(times["torch.compile"])
        print(f"{'':10} torch.compile: {sum(times['torch.compile']):.1f} s in all, {most:.1f} s in its longest step")
    return max(differences) < BOUND


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", help=f"{', '.join(NETWORKS)}; all unless some are named")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--eager", action="store_true", help="without torch.compile")
    parser.add_argument("--data", help="a .npz file in the place of scikit-learn's digits: see examples/train_digits/README.md")
    parser.add_argument("--relay", default=os.environ.get("RELAY", os.path.join(ROOT, "relay")), help="the command")
    options = parser.parse_args()
    if unknown := [name for name in options.networks if name not in NETWORKS]:
        parser.error(f"there is no network {unknown[0]}: there are {', '.join(NETWORKS)}")
    if options.steps < 1:
        parser.error("--steps is at least 1")
    if not options.eager and not shutil.which("g++"):
        parser.error("torch.compile needs g++ (`apt-get install g++`), or --eager leaves it out")
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as made:
        if not all([compare(network, options, made) for network in options.networks or NETWORKS]):
            sys.exit(f"compare.py: a loss differs by {BOUND} or more")


if __name__ == "__main__":
    main()
