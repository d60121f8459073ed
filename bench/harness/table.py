"""The one table, printed row by row as networks finish."""

import math
from collections.abc import Iterable

from .duel import Row

WIDTHS = (22, 7, 9, 9, 6, 12, 6, 5, 9, 9, 9)
TITLES = (
    "network", "threads", "ort ms", "relay ms", "ratio", "least..most", "others", "runs", "compile s", "abs err", "rel err",
)  # fmt: skip
DISTURBED = 0.05  # share of our cores' time; above it a row is worth repeating


def header() -> str:
    """The titles, with a rule below."""
    line = cells(TITLES) + "  status"
    return f"{line}\n{'-' * len(line)}"


def line(row: Row) -> str:
    """One row; a hyphen where there is no number."""
    texts = (
        row.network,
        str(row.threads),
        significant(row.ort_ms),
        significant(row.relay_ms),
        fixed(row.ratio),
        f"{fixed(row.ratio_least)}..{fixed(row.ratio_most)}" if row.ratio else "-",
        "-" if row.others is None else f"{row.others:.0%}",
        str(row.runs),
        "-" if row.compile_s is None else f"{row.compile_s:.1f}",
        scientific(row.max_abs_error),
        scientific(row.max_rel_error),
    )
    return f"{cells(texts)}  {row.status}"


def cells(texts: Iterable[str]) -> str:
    """The name to the left, everything else to the right."""
    name, *rest = zip(texts, WIDTHS)
    return " ".join([name[0].ljust(name[1]), *(text.rjust(width) for text, width in rest)])


def significant(number: float | None) -> str:
    """Three or four digits that mean something."""
    if number is None:
        return "-"
    digits = 4 if number < 1 else 3 if number < 10 else 2 if number < 100 else 1
    return f"{number:.{digits}f}"


def fixed(number: float | None) -> str:
    """A ratio."""
    return "-" if number is None else f"{number:.2f}" if number < 100 else f"{number:.0f}"


def scientific(number: float | None) -> str:
    """An error."""
    return "-" if number is None else f"{number:.1e}"


def counted(rows: Iterable[Row]) -> list[float]:
    """The ratios that count: of networks that ran and whose results agree."""
    return [row.ratio for row in rows if row.ratio is not None and row.status == "ok"]


def disturbed(rows: Iterable[Row]) -> int:
    """How many rows were measured while others used our cores."""
    return sum(row.others is not None and row.others > DISTURBED for row in rows)


def geometric_mean(ratios: list[float]) -> float | None:
    """The mean that treats twice as fast and half as fast as opposites."""
    return math.exp(math.fsum(map(math.log, ratios)) / len(ratios)) if ratios else None


def summary(rows: list[Row], threads: int) -> str:
    """The last line for one thread count."""
    mine = [row for row in rows if row.threads == threads]
    ratios = counted(mine)
    mean = geometric_mean(ratios)
    word = "thread" if threads == 1 else "threads"
    told = "no ratio" if mean is None else f"geometric mean of relay / ort {mean:.3f}"
    return f"{threads} {word}: {told}, over {len(ratios)} of {len(mine)} networks"
