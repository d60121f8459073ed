"""One network at one thread count, in a process of its own: a crash costs one row, and nothing lingers.

python3 -m harness.duel REQUEST: reads the request, a JSON file, and writes the row to the file that it names.
"""

import json
import os
import statistics
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
from relay_so import RelayError
from zoo.catalogue import NETWORKS

from . import noise, peers, timing
from .engine import Arrays, Engine
from .ours import Ours
from .row import BEFORE, OURS, Request, Row, Versus

LARGEST_DIFFERENCE = 1e-3  # of the largest magnitude of an output; the bound proper is `relay verify`'s business


def main() -> None:
    """Reads the request, measures, answers."""
    request = Request(**json.loads(Path(sys.argv[1]).read_text()))
    row = duel(request)
    Path(request.answer).write_text(json.dumps(asdict(row)))


def duel(request: Request) -> Row:
    """Compares the results first and then the speed."""
    pin(request.threads)
    row = Row(request.network, request.threads)
    graph = NETWORKS[request.network].graph()
    row.flops, row.bytes = graph.flops(), graph.traffic_bytes()
    inputs = graph.sample_inputs()
    engines = start_peers(request, inputs, row)
    if request.before:
        row.versus[BEFORE] = Versus()
        engines[BEFORE] = Ours(Path(request.before), inputs, request.threads)
    reference = results(engines[peers.REFERENCE])
    for name, engine in engines.items():
        if name != peers.REFERENCE and relative_error(reference, results(engine)) > LARGEST_DIFFERENCE:
            row.versus[name].status = "results differ"
    if request.artifact:
        try:
            engines[OURS] = Ours(Path(request.artifact), inputs, request.threads)
            compare(row, reference, results(engines[OURS]))
        except RelayError as error:
            row.status = f"run: {error}"
            engines.pop(OURS, None)
    work = timing.plan(list(engines.values()), request.runs, request.rounds, request.seconds)
    row.runs, row.repeats = work.rounds * work.samples, work.repeats
    before = noise.read()
    seconds = dict(zip(engines, timing.measure(list(engines.values()), work)))
    row.others = noise.others(before, noise.read())
    summarise(row, seconds)
    return row


def pin(threads: int) -> None:
    """Leaves the process as many cores as threads, so that no engine can use more."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores[-threads:])


def start_peers(request: Request, inputs: Arrays, row: Row) -> dict[str, Engine]:
    """The peers that take the network; why others do not is noted in the row. The reference must."""
    engines: dict[str, Engine] = {}
    for name in request.peers:
        row.versus[name] = Versus()
        try:
            engines[name] = peers.make(name, Path(request.model), inputs, request.threads)
            engines[name].run()
        except Exception as error:  # whatever another project raises
            if name == peers.REFERENCE:
                raise
            engines.pop(name, None)
            lines = str(error).strip().splitlines() or [""]
            row.versus[name].status = f"{type(error).__name__}: {lines[0][:200]}"
    return engines


def results(engine: Engine) -> Arrays:
    """What the engine computes."""
    engine.run()
    return engine.outputs()


def compare(row: Row, expected: Arrays, found: Arrays) -> None:
    """Notes the largest difference of any output, and a status if it is too large to be rounding."""
    row.max_abs_error = max((largest_difference(a, found.get(name)) for name, a in expected.items()), default=0.0)
    row.max_rel_error = relative_error(expected, found)
    if not row.max_rel_error <= LARGEST_DIFFERENCE:
        row.status = "results differ"


def relative_error(expected: Arrays, found: Arrays) -> float:
    """The largest difference of any output by the largest magnitude of that output."""
    worst = 0.0
    for name, reference in expected.items():
        difference = largest_difference(reference, found.get(name))
        magnitude = float(np.abs(reference.astype(np.float64)).max(initial=0.0))
        worst = max(worst, difference / magnitude if magnitude else difference)
    return worst


def largest_difference(reference: np.ndarray, found: np.ndarray | None) -> float:
    """The largest absolute difference; infinite without a counterpart of that shape, or where one is not a number."""
    if found is None or reference.shape != found.shape:
        return float("inf")
    difference = np.abs(reference.astype(np.float64) - found.astype(np.float64))
    return float(np.nan_to_num(difference, nan=np.inf).max(initial=0.0))


def summarise(row: Row, seconds: dict[str, list[list[float]]]) -> None:
    """Medians over all samples, and the spread of the rounds' own ratios."""
    row.samples_ms = {
        name: [[1e3 * sample for sample in turn] for turn in rounds] for name, rounds in seconds.items()
    }
    ours = row.samples_ms.get(OURS)
    row.relay_ms = overall(ours) if ours else None
    for name, against in row.versus.items():
        theirs = row.samples_ms.get(name)
        if not theirs:
            continue
        against.ms = overall(theirs)
        if not ours or row.relay_ms is None:
            continue
        against.ratio = row.relay_ms / against.ms
        ratios = [statistics.median(mine) / statistics.median(peer) for mine, peer in zip(ours, theirs)]
        against.least, against.most = min(ratios), max(ratios)


def overall(rounds: list[list[float]]) -> float:
    """The median of all samples of all rounds."""
    return statistics.median(sample for turn in rounds for sample in turn)


if __name__ == "__main__":
    main()
