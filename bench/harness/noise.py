"""How much of our cores others used while we measured: the one number that says how far to trust a row."""

import os
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Reading:
    """The clock, the time that our cores were busy and the time that this process used, all in seconds."""

    clock: float
    busy: float
    own: float


def read() -> Reading | None:
    """The present state, or None where the system does not tell."""
    try:
        lines = Path("/proc/stat").read_text().splitlines()
    except OSError:
        return None
    cores = {f"cpu{core}" for core in os.sched_getaffinity(0)}
    busy = sum(busy_ticks(line) for line in lines if line.split(" ", 1)[0] in cores)
    return Reading(time.perf_counter(), busy / os.sysconf("SC_CLK_TCK"), time.process_time())


def busy_ticks(line: str) -> int:
    """Everything but idle and waiting: user, nice, system, interrupts, and what the machine's host took away."""
    user, nice, system, _idle, _waiting, *rest = map(int, line.split()[1:9])
    return user + nice + system + sum(rest)


def others(before: Reading | None, after: Reading | None) -> float | None:
    """The share of our cores' time that went to others, as far as it is certain: the system counts in ticks."""
    if not before or not after:
        return None
    cores, tick = len(os.sched_getaffinity(0)), 1 / os.sysconf("SC_CLK_TCK")
    available = (after.clock - before.clock) * cores
    used = (after.busy - before.busy) - (after.own - before.own) - cores * tick
    return min(1.0, max(0.0, used / available)) if available else None
