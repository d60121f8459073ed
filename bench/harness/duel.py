"""One network at one thread count, in a process of its own: a crash costs one row, and nothing lingers.

python3 -m harness.duel REQUEST: reads the request, a JSON file, and writes the row to the file that it names.
"""

import json
import os
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from relay_so import RelayError
from zoo.catalogue import NETWORKS

from . import noise, timing
from .engines import Arrays, Engine, Ours, Peer

LARGEST_DIFFERENCE = 1e-3  # of the largest magnitude of an output; the bound proper is `relay verify`'s business


@dataclass(frozen=True)
class Request:
    """What to measure. Without `artifact` only the peer runs."""

    network: str
    threads: int
    model: str
    artifact: str | None
    runs: int
    rounds: int
    seconds: float
    answer: str


@dataclass
class Row:
    """What was found. Times are medians in milliseconds; `ratio` is ours by the peer's; `others` is a share of time."""

    network: str
    threads: int
    ort_ms: float | None = None
    relay_ms: float | None = None
    ratio: float | None = None
    ratio_least: float | None = None
    ratio_most: float | None = None
    runs: int = 0
    repeats: int = 0
    compile_s: float | None = None
    max_abs_error: float | None = None
    max_rel_error: float | None = None
    others: float | None = None
    status: str = "ok"
    samples_ms: dict[str, list[list[float]]] | None = None


def main() -> None:
    """Reads the request, measures, answers."""
    request = Request(**json.loads(Path(sys.argv[1]).read_text()))
    row = duel(request)
    Path(request.answer).write_text(json.dumps(asdict(row)))


def duel(request: Request) -> Row:
    """Compares the results first and then the speed."""
    pin(request.threads)
    row = Row(request.network, request.threads)
    inputs = NETWORKS[request.network].graph().sample_inputs()
    engines: list[Engine] = [Peer(Path(request.model), inputs, request.threads)]
    if request.artifact:
        try:
            engines.append(Ours(Path(request.artifact), inputs, request.threads))
            compare(row, *(results(engine) for engine in engines))
        except RelayError as error:
            row.status = f"run: {error}"
            del engines[1:]
    work = timing.plan(engines, request.runs, request.rounds, request.seconds)
    row.runs, row.repeats = work.rounds * work.samples, work.repeats
    before = noise.read()
    seconds = timing.measure(engines, work)
    row.others = noise.others(before, noise.read())
    summarise(row, seconds)
    return row


def pin(threads: int) -> None:
    """Leaves the process as many cores as threads, so that no engine can use more."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores[-threads:])


def results(engine: Engine) -> Arrays:
    """What the engine computes."""
    engine.run()
    return engine.outputs()


def compare(row: Row, expected: Arrays, found: Arrays) -> None:
    """Notes the largest difference of any output, and a status if it is too large to be rounding."""
    absolute = relative = 0.0
    for name, reference in expected.items():
        difference = largest_difference(reference, found.get(name))
        magnitude = float(np.abs(reference.astype(np.float64)).max(initial=0.0))
        absolute = max(absolute, difference)
        relative = max(relative, difference / magnitude if magnitude else difference)
    row.max_abs_error, row.max_rel_error = absolute, relative
    if not relative <= LARGEST_DIFFERENCE:
        row.status = "results differ"


def largest_difference(reference: np.ndarray, found: np.ndarray | None) -> float:
    """The largest absolute difference; infinite without a counterpart of that shape, or where one is not a number."""
    if found is None or reference.shape != found.shape:
        return float("inf")
    difference = np.abs(reference.astype(np.float64) - found.astype(np.float64))
    return float(np.nan_to_num(difference, nan=np.inf).max(initial=0.0))


def summarise(row: Row, seconds: Sequence[list[list[float]]]) -> None:
    """Medians over all samples, and the spread of the rounds' own ratios."""
    milliseconds = [[[1e3 * sample for sample in turn] for turn in engine] for engine in seconds]
    row.samples_ms = dict(zip(("ort", "relay"), milliseconds))
    row.ort_ms = overall(milliseconds[0])
    if len(milliseconds) == 1:
        return
    row.relay_ms = overall(milliseconds[1])
    row.ratio = row.relay_ms / row.ort_ms
    ratios = [statistics.median(ours) / statistics.median(peer) for peer, ours in zip(*milliseconds)]
    row.ratio_least, row.ratio_most = min(ratios), max(ratios)


def overall(rounds: list[list[float]]) -> float:
    """The median of all samples of all rounds."""
    return statistics.median(sample for turn in rounds for sample in turn)


if __name__ == "__main__":
    main()
