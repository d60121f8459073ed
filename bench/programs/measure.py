"""Compiles each program, holds its results against PyTorch's, times both in turns and prints a table."""

import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from harness import compiling, noise, options, timing
from harness.engine import Arrays
from relay_so import Model, RelayError
from relay_values import Data, Values

from . import files, peer
from .catalogue import PROGRAMS, Program, items_of

LARGEST_DIFFERENCE = 1e-5  # of any element: all states are below one in magnitude
RUNS, ROUNDS, SECONDS = 50, 9, 4.0
COLUMNS = (("program", -12), ("relay ms", 9), ("torch ms", 9), ("/torch", 7), ("least..most", 12), ("/before", 7),
           ("others", 6), ("comp s", 6), ("error", 8), ("status", -1))  # fmt: skip


class Compiled:
    """Our program as the harness times engines."""

    def __init__(self, artifact: Path, arguments: list[Any]) -> None:
        model = Model(artifact, 1)
        self._call = Values(model.context(), model.describe()).bind(arguments)

    def run(self) -> None:
        """Runs once."""
        self._call()

    def outputs(self) -> Arrays:
        """What the last run gave."""
        return flattened(self._call.result())


class Peer:
    """PyTorch's."""

    def __init__(self, name: str, weights: Arrays, arguments: list[Any]) -> None:
        self._run = peer.make(name, weights, arguments)
        self._last: Any = None

    def run(self) -> None:
        """Runs once."""
        self._last = self._run()

    def outputs(self) -> Arrays:
        """What the last run gave."""
        return flattened(self._last)


def run(only: tuple[str, ...], relay: Path, earlier: Path | None, keep: bool) -> int:
    """0 is good, 1 says that a program did not run or results differ, 2 is a wrong name."""
    if refused := compiling.cannot_begin(only, list(PROGRAMS), relay):
        return refused
    torch.set_num_threads(1)
    options.home().mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="programs-", dir=options.home()))
    print(cells([title for title, _ in COLUMNS]), flush=True)
    good = True
    for program in PROGRAMS.values():
        if not only or program.name in only:
            texts, ok = measure(program, relay, earlier, folder)
            print(cells(texts), flush=True)
            good &= ok
    if keep:
        print(f"bench: the compiled programs are in {folder}", file=sys.stderr)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return 0 if good else 1


def measure(program: Program, relay: Path, earlier: Path | None, folder: Path) -> tuple[list[str], bool]:
    """The cells of a row, and whether all is well."""
    rng = program.random()
    weights, arguments = program.weights(rng), program.arguments(rng)
    model = files.write(program, weights, folder)
    made = compiling.compile_model(relay, model, folder / f"{program.name}.so", 1, [])
    if made.artifact is None:
        return [program.name, *["-"] * 8, made.reason], False
    before = compiling.compile_model(earlier, model, folder / f"{program.name}-before.so", 1, []) if earlier else None
    try:
        ours = Compiled(made.artifact, arguments)
        ours.run()
        old = [Compiled(before.artifact, arguments)] if before and before.artifact else []
    except RelayError as error:
        return [program.name, *["-"] * 8, f"run: {error}"], False
    theirs = Peer(program.torch, weights, arguments)
    theirs.run()
    error_of = difference(theirs.outputs(), ours.outputs())
    reading = noise.read()
    engines = [theirs, ours, *old]
    seconds = timing.measure(engines, timing.plan(engines, RUNS, ROUNDS, SECONDS))
    others = noise.others(reading, noise.read())
    ratios = [statistics.median(mine) / statistics.median(peers) for peers, mine in zip(seconds[0], seconds[1])]
    torch_ms, relay_ms, *old_ms = (1e3 * statistics.median(s for turn in rounds for s in turn) for rounds in seconds)
    ok = error_of <= LARGEST_DIFFERENCE
    texts = [
        program.name,
        f"{relay_ms:.3g}",
        f"{torch_ms:.3g}",
        f"{relay_ms / torch_ms:.3f}",
        f"{min(ratios):.3f}..{max(ratios):.3f}",
        f"{relay_ms / old_ms[0]:.3f}" if old_ms else "-",
        "-" if others is None else f"{others:.0%}",
        f"{made.seconds:.1f}",
        f"{error_of:.1e}",
        "ok" if ok else "results differ",
    ]
    return texts, ok


def cells(texts: list[str]) -> str:
    """One line of the table."""
    out = [text.ljust(-width) if width < 0 else text.rjust(width) for text, (_, width) in zip(texts, COLUMNS)]
    return " ".join(out).rstrip()


def flattened(value: Any) -> Arrays:
    """The tensors in a value, in order."""
    found: list[np.ndarray] = []
    pending = [value]
    while pending:
        now = pending.pop()
        if isinstance(now, Data) and now.constructor in ("Cons", "Nil"):
            pending.extend(reversed(items_of(now)))
        elif isinstance(now, (tuple, list)):
            pending.extend(reversed(now))
        else:
            found.append(np.asarray(now))
    return {str(i): array for i, array in enumerate(found)}


def difference(expected: Arrays, found: Arrays) -> float:
    """The largest of any element; infinite where something is missing or has another shape."""
    if expected.keys() != found.keys() or any(expected[key].shape != found[key].shape for key in expected):
        return float("inf")
    worst = [np.abs(expected[key].astype(np.float64) - found[key]).max(initial=0.0) for key in expected]
    return float(max(worst, default=0.0))
