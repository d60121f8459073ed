"""The lists of what passes: a name a line, so that support is a diff. Standard library only."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Difference:
    """Where a list and a run do not agree."""

    lost: list[str]  # on the list, and does not pass
    gone: list[str]  # on the list, and there is no such case any more
    gained: list[str]  # passes, and is not on the list

    def __bool__(self) -> bool:
        return bool(self.lost or self.gone or self.gained)


def read(path: Path) -> set[str]:
    """The names of a list; none if there is no such file."""
    if not path.is_file():
        return set()
    lines = path.read_text(encoding="utf-8").splitlines()
    return {line.strip() for line in lines if line.strip() and not line.startswith("#")}


def write(path: Path, title: str, names: Iterable[str]) -> None:
    """Rewrites a list, sorted."""
    path.write_text("".join([f"# {title}\n", *(f"{name}\n" for name in sorted(names))]), encoding="utf-8")


def compare(listed: set[str], ran: set[str], passed: set[str], is_part: bool) -> Difference:
    """Compares a list with a run. `is_part`: the run was of some cases alone, and says nothing of the others."""
    return Difference(
        lost=sorted((listed & ran) - passed),
        gone=[] if is_part else sorted(listed - ran),
        gained=sorted(passed - listed),
    )
