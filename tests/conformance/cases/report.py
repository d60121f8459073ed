"""The table of the node cases. Standard library only."""

from collections import Counter
from collections.abc import Sequence

from .lists import Difference
from .verdicts import IMPORT, VERDICTS, Case, by_slug, tally

MOST_SHOWN = 40  # names of one sort
MOST_OPERATORS = 8


def label(setting: str) -> str:
    """ "jit -O2" for "jit:2"."""
    return setting.replace(":", " -O")


def table(cases: Sequence[Case], settings: Sequence[str], seconds: Counter[str]) -> str:
    """A line for each engine, with how often it came to which verdict."""
    counts = tally(cases, settings)
    lines = [f"{'':<14}" + "".join(f"{verdict:>9}" for verdict in VERDICTS) + f"{'seconds':>9}"]
    for setting in (IMPORT, *settings):
        numbers = "".join(f"{counts[setting][verdict] or '.':>9}" for verdict in VERDICTS)
        took = f"{seconds[setting]:.0f}" if setting in seconds else "."
        lines.append(f"{label(setting):<14}{numbers}{took:>9}")
    return "\n".join(lines)


def refusals(cases: Sequence[Case]) -> str:
    """The refused by slug, with the operators that are refused most."""
    lines = []
    for slug, refused in by_slug(cases).items():
        operators = Counter(case.operator for case in refused)
        most = ", ".join(f"{name} {count}" for name, count in operators.most_common(MOST_OPERATORS))
        more = f", and {len(operators) - MOST_OPERATORS} others" if len(operators) > MOST_OPERATORS else ""
        lines.append(f"{len(refused):6}  {slug}: {most}{more}")
    return "\n".join(lines)


def blamed(cases: Sequence[Case]) -> list[str]:
    """Sound models that a message calls wrong."""
    return [
        f"{case.name}: [{said.slug}] {said.reason}"
        for case in cases
        for _, said in case.refusals()
        if said.blames_model
    ]


def wrong(cases: Sequence[Case]) -> list[str]:
    """What is wrong, a line a case."""
    out = []
    for case in cases:
        found = {setting: said for setting, said in case.said.items() if said.verdict == "wrong"}
        if found:
            where = ", ".join(label(setting) for setting in found)
            out.append(f"{case.name} ({where}): {next(iter(found.values())).reason}")
    return out


def some(title: str, lines: Sequence[str], most: int = MOST_SHOWN) -> str:
    """A title and the first lines; an empty text if there are none."""
    if not lines:
        return ""
    rest = [f"  ... and {len(lines) - most} more"] if len(lines) > most else []
    return "\n".join([f"\n{title}: {len(lines)}", *(f"  {line[:300]}" for line in lines[:most]), *rest])


def differences(found: Difference, path: str) -> str:
    """Where the list and the run do not agree, and what to do about it."""
    parts = [
        some(f"on {path}, and does not pass any more", found.lost),
        some(f"on {path}, and there is no such case", found.gone),
        some(f"passes, and is not on {path}", found.gained),
    ]
    if found.gained or found.gone:
        parts.append(f"\n./dev conformance --update rewrites {path}")
    return "\n".join(part for part in parts if part)
