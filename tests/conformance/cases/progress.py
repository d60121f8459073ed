"""One line of progress on a terminal, with the time that is left; nothing elsewhere. Standard library only."""

import sys
import threading
import time
from typing import TextIO


def left(done: int, total: int, seconds: float) -> str:
    """How long the rest is going to take, if it takes as long as what is done."""
    if not done:
        return ""
    rest = seconds * (total - done) / done
    return f", {rest:.0f} s left" if rest < 120 else f", {rest / 60:.0f} min left"


class Progress:
    """Says how many of how many are done. Any thread may say so."""

    def __init__(self, what: str, total: int, stream: TextIO = sys.stderr) -> None:
        self._what, self._total, self._stream = what, total, stream
        self._done = 0
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._shows = stream.isatty()

    def add(self, count: int, now: str = "") -> None:
        """So many more are done; `now` is what is at work."""
        with self._lock:
            self._done += count
            if self._shows:
                rest = left(self._done, self._total, time.monotonic() - self._began)
                line = f"{self._what}: {self._done} of {self._total}{rest} {now}"
                self._stream.write(f"\r\033[K{line[:110]}")
                self._stream.flush()

    def end(self) -> None:
        """Clears the line."""
        if self._shows:
            self._stream.write("\r\033[K")
            self._stream.flush()
