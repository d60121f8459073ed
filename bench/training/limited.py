"""Trains with little memory beside training without a limit: the bytes, the losses, and the time of a step.

    python3 -m venv venv && venv/bin/pip install numpy scikit-learn
    venv/bin/python bench/training/limited.py [--share 0.5] [--steps 100] [--most 1.35] [mlp cnn lstm]

Three steps are compiled of each network: without a limit; with one that changes nothing; with one of so large a share of the
bytes that the first one takes. The last two have to give the same losses, bit by bit. They run in turns, each with one thread.
Exits with 1 if a limit is not met, the losses differ, or a limited step takes more than --most times as long.
"""

import argparse
import os
import sys
import tempfile
import time
from typing import Any

import numpy as np
from networks import ROOT, batches_of, parameters_of, program_of

AMPLE = "1TB"  # of memory

# The loss of the unrolled network as a function of tensors; it is compiled with its gradients, and not with an optimiser.
FLAT = """
def @flat(%e: Tensor[(96, 64), float32], %w: Tensor[(512, 64), float32], %u: Tensor[(512, 128), float32], %b: Tensor[(512), float32],
          %v: Tensor[(96, 128), float32], %d: Tensor[(96), float32], %texts: Tensor[(65, 16), int32]) {
  @loss((%e, %w, %u, %b, %v, %d), %texts)
}
"""
UNROLLED = "inline,partial-evaluation{max-nodes=1000000},gradient"


class Descent:
    """Gradient descent on a compiled loss with gradients: what training.Step is for a compiled step."""

    RATE = np.float32(0.1)

    def __init__(self, training: Any, library: str, parameters: int) -> None:
        self.function = training.Function(library, 1)
        ports, results = (self.function.description[key] for key in ("inputs", "outputs"))
        self.now = [np.zeros(p["dims"], p["dtype"]) for p in ports[:parameters]]
        self.results = [np.zeros(p["dims"], p["dtype"]) for p in results]

    def run(self, *batch: np.ndarray) -> np.float32:
        """The loss before the step. The time of the descent is not the kernels', but the same for all limits."""
        self.function.run([*self.now, *batch], self.results)
        for parameter, gradient in zip(self.now, self.results[1:]):
            parameter -= self.RATE * gradient
        return self.results[0][()]


def source_of(network: str, program: Any, compiler: Any, made: str) -> tuple[str, str]:
    """The text to compile, and which function of it."""
    folder = os.path.dirname(program.__file__)
    path = os.path.join(folder, network + ".relay")
    if network != "lstm":
        return path, "step"
    flat, unrolled = (os.path.join(made, name + ".relay") for name in ("flat", "unrolled"))
    with open(path, encoding="utf-8") as text, open(flat, "w", encoding="utf-8") as out:
        out.write(text.read() + FLAT)
    compiler._relay("opt", flat, "--function", "flat", "--passes", UNROLLED, "-o", unrolled)
    return unrolled, "main"


def measure(network: str, options: argparse.Namespace, made: str) -> list[str]:
    """What is wrong with the limited step."""
    program = program_of(network)
    training = program.training
    compiler = training.Compiler(options.relay, os.path.dirname(program.__file__), made)
    path, function = source_of(network, program, compiler, made)
    count = parameters_of(network)

    def step_of(name: str, *limit: str) -> Any:
        library = os.path.join(made, f"{network}_{name}.so")
        compiler._relay("compile", path, "--function", function, "-o", library, *limit)
        step = training.Step(library, 1) if function == "step" else Descent(training, library, count)
        training.initialise(step, count, 1)
        return step

    free = step_of("free")
    most = free.function.description["workspace_bytes"]
    limit = int(most * options.share)
    steps = [free, step_of("ample", "--memory-limit", AMPLE), step_of("limited", "--memory-limit", str(limit))]
    losses, seconds = np.zeros((3, options.steps), "float32"), np.zeros((3, options.steps))
    for t, batch in zip(range(options.steps), batches_of(network, program, options.data)):
        for i, step in enumerate(steps):
            begin = time.perf_counter()
            losses[i, t] = step.run(*batch)
            seconds[i, t] = time.perf_counter() - begin
    taken = steps[2].function.description["workspace_bytes"]
    best = seconds.min(1)
    apart = np.abs(losses[0] - losses[1]).max()
    print(f"{network:5} {most} bytes, limited {taken}: {taken / most:.3f}; fastest step {best[0] * 1e3:.3f} ms, "
          f"limited {best[2] * 1e3:.3f} ms: {best[2] / best[0]:.2f}; last loss {losses[2, -1]:.6f}, "
          f"without a limit it differs by {apart:.1e} at most")
    wrong = []
    if taken > limit:
        wrong.append(f"{network} takes {taken} bytes, and the limit is {limit}")
    if losses[1].tobytes() != losses[2].tobytes():
        wrong.append(f"the losses of {network} depend on the limit")
    if best[2] > options.most * best[0]:
        wrong.append(f"a limited step of {network} takes {best[2] / best[0]:.2f} times as long, at most {options.most} is asked for")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", help="mlp, cnn, lstm; the last two unless some are named")
    parser.add_argument("--share", type=float, default=0.5, help="of the bytes without a limit")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--data", help="a .npz file in the place of scikit-learn's digits: see examples/train_digits/README.md")
    parser.add_argument("--most", type=float, default=1.35, help="so many times the time of a step without a limit")
    parser.add_argument("--relay", default=os.environ.get("RELAY", os.path.join(ROOT, "relay")), help="the command")
    options = parser.parse_args()
    known = ["mlp", "cnn", "lstm"]
    if unknown := [name for name in options.networks if name not in known]:
        parser.error(f"there is no network {unknown[0]}: there are {', '.join(known)}")
    wrong: list[str] = []
    for network in options.networks or known[1:]:
        with tempfile.TemporaryDirectory() as made:
            try:
                wrong += measure(network, options, made)
            except Exception as error:  # of examples/train_digits/training.py, which says it in a sentence
                if type(error).__name__ != "Failed":
                    raise
                wrong.append(f"{network}: {error}")
    if wrong:
        sys.exit("\n".join("limited.py: " + text for text in wrong))


if __name__ == "__main__":
    main()
