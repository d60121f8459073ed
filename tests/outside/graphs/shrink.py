"""Finds the nodes to blame for a difference, and makes them and their values smaller while the difference stays."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from . import folders
from .compose import Composed, Step
from .draw import Value
from .relay import Relay, Verdict

MOST_TRIES = 60


class Shrinker:
    """Tries parts of one graph in a folder of its own."""

    def __init__(self, composed: Composed, relay: Relay, home: Path) -> None:
        self.opset = composed.graph.opset
        self.steps = composed.steps
        self.relay = relay
        self.home = home
        self.tries = 0

    def blame(self) -> tuple[list[Step], Verdict] | None:
        """The smallest part that Relay does not agree with, one node if that is enough; None if there is none."""
        alone = [[s] for s in self.steps if not s.refusal]
        for steps, verdict in zip(alone, self._verdicts(alone)):
            if verdict.kind != "agrees":
                return self._smaller_values(steps, verdict)
        steps = [s for s in self.steps if not s.refusal]
        verdict = self._verdict(steps)
        return None if verdict.kind == "agrees" else self._fewer_nodes(steps, verdict)

    def write(self, folder: Path, steps: Sequence[Step]) -> None:
        """Keeps a part where people find it."""
        folders.write_part(folder, self.opset, steps)

    def _verdicts(self, parts: Sequence[Sequence[Step]]) -> list[Verdict]:
        """What Relay says to each; `agrees` also where the peer refuses, since there is nothing to compare then."""
        written, refused = [], []
        for steps in parts:
            self.tries += 1
            folder = self.home / f"{self.tries:04d}"
            written.append(folder)
            refused.append(folders.write_part(folder, self.opset, steps))
        verdicts = self.relay.verify([f for f, why in zip(written, refused) if not why])
        shutil.rmtree(self.home, ignore_errors=True)
        return [Verdict("agrees") if why else verdicts[f] for f, why in zip(written, refused)]

    def _verdict(self, steps: Sequence[Step]) -> Verdict:
        return self._verdicts([steps])[0]

    def _fewer_nodes(self, steps: list[Step], verdict: Verdict) -> tuple[list[Step], Verdict]:
        """Drops nodes: what they gave becomes an input."""
        for s in list(steps):
            fewer = [k for k in steps if k is not s]
            if not fewer or self.tries > MOST_TRIES:
                break
            found = self._verdict(fewer)
            if found.kind == verdict.kind:
                steps, verdict = fewer, found
        return steps, verdict

    def _smaller_values(self, steps: list[Step], verdict: Verdict) -> tuple[list[Step], Verdict]:
        """Cuts the extents of what one node reads."""
        again = True
        while again and self.tries < MOST_TRIES:
            again = False
            extents = sorted({e for v in steps[0].reads for e in v.shape if e > 1}, reverse=True)
            for extent in extents:
                for fewer in sorted({1, 2, extent // 2} - {extent}):
                    smaller = cut(steps[0], extent, fewer)
                    found = self._verdict([smaller])
                    if found.kind == verdict.kind:
                        steps, verdict, again = [smaller], found, True
                        break
        return steps, verdict


def cut(step: Step, extent: int, fewer: int) -> Step:
    """The node with the first few elements along every axis of this extent."""
    reads = []
    for v in step.reads:
        if v.rank == 1 and v.constant and v.array.dtype == np.int64:  # a list of extents or of axes
            reads.append(v)
            continue
        reads.append(
            Value(v.name, v.array[tuple(slice(fewer if e == extent else e) for e in v.shape)], v.exact, v.constant)
        )
    return replace(step, reads=reads)
