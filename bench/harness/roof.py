"""What the machine can do at best, as `relay doctor --measure` finds it in the run that compares."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LONGEST_S = 600


@dataclass(frozen=True)
class Roof:
    """Rates in 1e9 a second."""

    peaks: list[dict[str, Any]]
    reads: list[dict[str, Any]]
    cores: int

    def peak(self, threads: int) -> float:
        """float32 operations, of the best feature set there is: the last one listed."""
        found = [peak for peak in self.peaks if peak["operation"].startswith("float32")][-1]
        return of_threads(found["one_core_gops"], found["all_cores_gops"], threads)

    def bandwidth(self, size: float, threads: int) -> float:
        """Bytes read again and again from a set of this size: the best of no smaller ones, and the next smaller."""
        smaller = [read["bytes"] for read in self.reads if read["bytes"] <= size]
        least = max(smaller, default=0)
        rates = [of_threads(r["one_core_gbs"], r["all_cores_gbs"], threads) for r in self.reads if r["bytes"] >= least]
        return max(rates)

    def share(self, flops: float, size: float, ms: float, threads: int) -> tuple[float, str]:
        """How close a time comes to the least that is possible, and what limits it."""
        arithmetic = flops / self.peak(threads) / 1e6
        memory = size / self.bandwidth(size, threads) / 1e6
        return max(arithmetic, memory) / ms, "arith" if arithmetic >= memory else "memory"


def of_threads(one: float, everyone: float, threads: int) -> float:
    """The rate of so many cores."""
    return one if threads == 1 else min(one * threads, everyone)


def measure(relay: Path) -> tuple[Roof | None, str]:
    """The roof and an empty text, or None and the reason."""
    command = [str(relay), "doctor", "--measure", "--json", "--quiet"]
    try:
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LONGEST_S)
        found = json.loads(ended.stdout)
        return Roof(found["peaks"], found["reads"], found["cores"]), ""
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError) as error:
        return None, f"`relay doctor --measure` failed: {error}"
