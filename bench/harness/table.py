"""The one table, printed row by row as networks finish."""

import math
from collections.abc import Iterable, Sequence

from .roof import Roof
from .row import BEFORE, Row, Versus

BEST = "best"  # a column: the best peer of each row
DISTURBED = 0.05  # share of our cores' time; above it a row is worth repeating


def columns(peers: Sequence[str]) -> list[tuple[str, int]]:
    """Titles and widths; a negative width is a column to the left."""
    return [
        ("network", -22), ("thr", 3), ("relay ms", 9), *((f"/{name}", max(6, len(name) + 1)) for name in peers),
        ("best peer", 14), ("least..most", 11), ("GFLOP/s", 7), ("of roof", 11), ("others", 6), ("comp s", 6),
        ("rel err", 7), ("status", -1),
    ]  # fmt: skip


def header(peers: Sequence[str]) -> str:
    """The titles, with a rule below."""
    line = cells([title for title, _ in columns(peers)], peers)
    return f"{line}\n{'-' * len(line)}"


def line(row: Row, peers: Sequence[str]) -> str:
    """One row; a hyphen where there is no number."""
    best = row.best_peer()
    against = row.versus[best] if best else Versus()
    rate = row.flops / row.relay_ms / 1e6 if row.relay_ms and row.flops else None
    texts = [
        row.network,
        str(row.threads),
        significant(row.relay_ms),
        *(ratio_text(row.versus.get(name)) for name in peers),
        f"{fixed(against.ratio)} {best}" if best and against.ratio else best or "-",
        f"{fixed(against.least)}..{fixed(against.most)}" if against.ratio else "-",
        "-" if rate is None else f"{rate:.1f}",
        "-" if row.roof_share is None else f"{row.roof_share:.0%} {row.roof_limit:<6}",
        "-" if row.others is None else f"{row.others:.0%}",
        "-" if row.compile_s is None else f"{row.compile_s:.1f}",
        scientific(row.max_rel_error),
        row.status,
    ]
    return cells(texts, peers)


def ratio_text(versus: Versus | None) -> str:
    """The ratio that counts; a mark where results differ or the peer does not run it."""
    if versus is None or versus.ms is None:
        return "no"
    return "wrong" if versus.status != "ok" else fixed(versus.ratio)


def roof_line(roof: Roof) -> str:
    """What the shares are of."""
    everyone = f", {roof.peak(roof.cores):.1f} on {roof.cores}" if roof.cores > 1 else ""
    largest = roof.reads[-1]
    return (
        f"roof: {roof.peak(1):.1f} GFLOP/s on one core{everyone}; "
        f"memory read {largest['one_core_gbs']:.1f} GB/s on one core, {largest['all_cores_gbs']:.1f} on all"
    )


def cells(texts: Iterable[str], peers: Sequence[str]) -> str:
    """Names to the left, numbers to the right."""
    sized = zip(texts, (width for _, width in columns(peers)))
    return " ".join(text.ljust(-width) if width < 0 else text.rjust(width) for text, width in sized).rstrip()


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
    return "-" if number is None else f"{number:.0e}"


def counted(rows: Iterable[Row], peer: str) -> list[float]:
    """The ratios that count: of networks that ran and whose results agree, ours and the peer's."""
    ratios = []
    for row in rows:
        versus = row.versus.get((row.best_peer() or "") if peer == BEST else peer)
        if versus and versus.ratio is not None and versus.status == "ok" and row.status == "ok":
            ratios.append(versus.ratio)
    return ratios


def disturbed(rows: Iterable[Row]) -> int:
    """How many rows were measured while others used our cores."""
    return sum(row.others is not None and row.others > DISTURBED for row in rows)


def geometric_mean(ratios: list[float]) -> float | None:
    """The mean that treats twice as fast and half as fast as opposites."""
    return math.exp(math.fsum(map(math.log, ratios)) / len(ratios)) if ratios else None


def summary(rows: list[Row], threads: int, peers: Sequence[str]) -> str:
    """The last line for one thread count: the geometric means, each over the networks that both ran."""
    mine = [row for row in rows if row.threads == threads]
    told = []
    for peer in (*peers, BEST):
        ratios = counted(mine, peer)
        mean = geometric_mean(ratios)
        name = "best peer" if peer == BEST else peer
        told.append(f"{name} -" if mean is None else f"{name} {mean:.3f} ({len(ratios)} of {len(mine)})")
    compiled = [row.compile_s / row.before_compile_s for row in mine if row.compile_s and row.before_compile_s]
    if compiled:
        told.append(f"{BEFORE} to compile {geometric_mean(compiled):.3f} ({len(compiled)} of {len(mine)})")
    word = "thread" if threads == 1 else "threads"
    return f"{threads} {word}: geometric means of relay by " + ", ".join(told)


def notes(rows: Iterable[Row]) -> list[str]:
    """Why a peer has no ratio in some row, each reason once."""
    told = {}
    for row in rows:
        for name, versus in row.versus.items():
            if versus.status != "ok":
                told.setdefault((name, row.network), versus.status)
    return [f"bench: {name} on {network}: {why}" for (name, network), why in told.items()]
