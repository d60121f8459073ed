"""Compares two folders of texts byte by byte."""

from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

SHOWN = 20  # differences; the rest is counted


@dataclass
class Comparison:
    """The names of texts, by what is the matter with them."""

    same: int = 0
    differ: list[str] = field(default_factory=list)
    only_before: list[str] = field(default_factory=list)
    only_after: list[str] = field(default_factory=list)

    @property
    def is_same(self) -> bool:
        """No difference at all. Two empty folders are not the same: nothing was compared."""
        return self.same > 0 and not (self.differ or self.only_before or self.only_after)


def compare(before: Path, after: Path) -> Comparison:
    """Every file of either folder."""
    old, new = files(before), files(after)
    out = Comparison(only_before=sorted(old - new), only_after=sorted(new - old))
    for name in sorted(old & new):
        if (before / name).read_bytes() == (after / name).read_bytes():
            out.same += 1
        else:
            out.differ.append(name)
    return out


def files(folder: Path) -> set[str]:
    """The names of all files below."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def report(found: Comparison, before: Path, after: Path) -> str:
    """What differs, with the first line of each difference."""
    out = []
    for name in found.differ[:SHOWN]:
        out.append(f"{name}: {first_difference(before / name, after / name)}")
    if len(found.differ) > SHOWN:
        out.append(f"and {len(found.differ) - SHOWN} more that differ")
    for folder, names in ((before, found.only_before), (after, found.only_after)):
        out += [f"{name}: only in {folder}" for name in names[:SHOWN]]
        if len(names) > SHOWN:
            out.append(f"and {len(names) - SHOWN} more that are only in {folder}")
    alone = len(found.only_before) + len(found.only_after)
    out.append(f"{found.same} texts are the same, {len(found.differ)} differ, {alone} are in one folder only")
    return "\n".join(out)


def first_difference(before: Path, after: Path) -> str:
    """The first line that differs, in both."""
    old, new = (path.read_text(encoding="utf-8", errors="replace").splitlines() for path in (before, after))
    for number, (left, right) in enumerate(zip_longest(old, new, fillvalue="(the end)"), 1):
        if left != right:
            return f"line {number}\n  - {shortened(left)}\n  + {shortened(right)}"
    return "the ends of lines"


def shortened(line: str) -> str:
    """As much of a line as is good to read."""
    return line if len(line) <= 200 else line[:200] + "..."
