"""Starts run_cases on many cases at once. If it dies, the list is halved until the case to blame is alone.

Standard library only.
"""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SECONDS, SECONDS_A_CASE = 120, 10  # that a process may take


@dataclass(frozen=True)
class Runner:
    """The program, and the settings that it runs cases with."""

    binary: Path
    root: Path  # of the checkout
    settings: tuple[str, ...]
    is_open: bool = False

    def run(self, folders: Sequence[Path]) -> list[dict]:
        """The lines of the runner on these cases. A case that kills it has a line that says so."""
        out: list[dict] = []
        pending = [list(folders)] if folders else []
        while pending:
            batch = pending.pop()
            lines, died = self._start(batch)
            if not died:
                out += lines
            elif len(batch) == 1:
                out += [line for line in lines if "case" in line]
                out.append(self._blame(batch[0].name, lines, died))
            else:
                middle = len(batch) // 2
                pending += [batch[:middle], batch[middle:]]
        return out

    def _blame(self, name: str, lines: Sequence[dict], died: str) -> dict:
        """A verdict for the setting that the runner died in: the first of which nothing was said."""
        said = {line["setting"] for line in lines if "case" in line}
        at = next((s for s in self.settings if s not in said), self.settings[-1]) if said else "import"
        return {"case": name, "setting": at, "verdict": "wrong", "reason": died}

    def _start(self, batch: Sequence[Path]) -> tuple[list[dict], str]:
        """What one process printed, and how it died if it did."""
        command = [str(self.binary), *(["--open"] if self.is_open else []), ",".join(self.settings), *map(str, batch)]
        environment = {**os.environ, "RELAY_ROOT": str(self.root), "RELAY_CACHE": "off"}
        limit = SECONDS + SECONDS_A_CASE * len(batch)
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, env=environment, timeout=limit, errors="replace"
            )
        except subprocess.TimeoutExpired as error:
            said = error.stdout or b""
            return read_lines(said.decode(errors="replace")), f"it did not end within {limit} s"
        if done.returncode:
            return read_lines(done.stdout), f"exit {done.returncode}: {last_line(done.stderr)}"
        return read_lines(done.stdout), ""


def read_lines(text: str) -> list[dict]:
    """The whole lines of JSON in what was printed."""
    whole = text[: text.rfind("\n") + 1]
    return [json.loads(line) for line in whole.splitlines() if line.startswith("{")]


def last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "it printed nothing"
