"""One line on a terminal that says what is done and how long is left; nothing elsewhere."""

import sys
import time


class Progress:
    """Of work whose parts differ: `total` is that of the weights that `step` is told."""

    def __init__(self, what: str, total: float) -> None:
        self.what, self.total = what, total
        self.done = 0.0
        self.begun = self.shown = time.monotonic()
        self.watched = sys.stderr.isatty()

    def step(self, weight: float, now: str) -> None:
        """A part of that weight is done."""
        self.done += weight
        at = time.monotonic()
        if not self.watched or at - self.shown < 1:
            return
        self.shown = at
        print(f"\r\033[K{self.what}: {now}, {self.left(at - self.begun)}", end="", file=sys.stderr, flush=True)

    def left(self, so_far: float) -> str:
        """An estimate, from the time that the work so far took."""
        seconds = so_far * (self.total - self.done) / self.done
        return f"about {seconds:.0f} s left" if seconds < 90 else f"about {seconds / 60:.0f} min left"

    def end(self) -> None:
        """Wipes the line, so that what follows starts in the first column."""
        if self.watched:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def say(what: str) -> None:
    """What begins and cannot say how long it takes: a line on a terminal."""
    if sys.stderr.isatty():
        print(what, file=sys.stderr, flush=True)
