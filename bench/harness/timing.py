"""Times engines in turns. Whatever disturbs the machine for a while disturbs all of them."""

import math
import time
from dataclasses import dataclass

from .engine import Engine

SHORTEST_SAMPLE = 2e-4  # a faster run is repeated within one sample, so that the clock and the call weigh little
SLOW_RUN = 1.0  # above this, fewer runs than asked for
FEWEST_RUNS = 5
MOST_RUNS = 300
SETTLED = 0.1  # share of one core that the process may still use before the next engine starts
LONGEST_SETTLING = 0.5


@dataclass(frozen=True)
class Plan:
    """How much is measured: `rounds` turns of `samples` samples of `repeats` runs each."""

    rounds: int
    samples: int
    repeats: int


def plan(engines: list[Engine], runs: int, rounds: int, seconds: float) -> Plan:
    """Warms the engines and decides from their speed: at least `runs` samples, more while they fit in `seconds`."""
    times = [probe(engine) for engine in engines]
    slowest, fastest = max(times), min(times)
    wanted = max(FEWEST_RUNS, math.ceil(runs / slowest)) if slowest > SLOW_RUN else runs
    repeats = max(1, math.ceil(SHORTEST_SAMPLE / fastest))
    affordable = min(MOST_RUNS, int(seconds / (slowest * repeats)))
    rounds = min(rounds, max(wanted, affordable))
    return Plan(rounds, math.ceil(max(wanted, affordable) / rounds), repeats)


def probe(engine: Engine) -> float:
    """The faster of two runs after a first one."""
    engine.run()
    return min(timed(engine, 1), timed(engine, 1))


def measure(engines: list[Engine], work: Plan) -> list[list[list[float]]]:
    """Seconds a run, by engine, round and sample."""
    results: list[list[list[float]]] = [[] for _ in engines]
    for _ in range(work.rounds):
        for engine, rounds in zip(engines, results):
            settle()
            engine.run()  # brings the engine's own data back into the caches
            rounds.append([timed(engine, work.repeats) for _ in range(work.samples)])
    return results


def timed(engine: Engine, repeats: int) -> float:
    """Seconds of one run, as the mean of `repeats`."""
    begin = time.perf_counter()
    for _ in range(repeats):
        engine.run()
    return (time.perf_counter() - begin) / repeats


def settle() -> None:
    """Waits until the worker threads of the engine before have stopped spinning for work."""
    step = 0.01
    for _ in range(int(LONGEST_SETTLING / step)):
        before = time.process_time()
        time.sleep(step)
        if time.process_time() - before < SETTLED * step:
            return
