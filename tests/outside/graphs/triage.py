"""The list of known differences. Standard library only."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ANY_OPERATOR = "*"
KINDS = ("differs", "engine differs", "relay refuses", "relay unsupported", "peer refuses", "peer crashes")
RIGHT = ("relay", "peer", "both", "neither")
FIXED = "(the axes had to be fixed)"
LIMITED = (FIXED, "both refuse")  # outcomes that no entry explains, and that may not become many either
PER = 10_000  # graphs: what `most` is of


@dataclass
class Entry:
    """A difference that is known: which findings it explains, and who is right."""

    operators: tuple[str, ...]  # `*` is any
    kind: str
    reason: str
    right: str
    spec: str  # where ONNX says so, or that it does not
    node: re.Pattern[str]  # found in the text of the node
    message: re.Pattern[str]  # found in what is said of the difference
    within: float | None = None  # how far values may be apart, as a share of the larger of 1 and the value
    most: int | None = None  # how many of PER graphs it may explain
    count: int = field(default=0)

    @property
    def title(self) -> str:
        return f"{', '.join(self.operators)} ({self.kind}): {self.reason}"

    def explains(self, kind: str, node: str, message: str) -> bool:
        is_operator = ANY_OPERATOR in self.operators or node.split(" ", 1)[0] in self.operators
        found = self.node.search(node) and self.message.search(message)
        return kind == self.kind and is_operator and bool(found) and self._is_close(message)

    def _is_close(self, message: str) -> bool:
        if self.within is None:
            return True
        values = re.search(r"\bgot (\S+), wanted (\S+),", message)
        if not values:
            return False  # it is no difference of numbers
        got, wanted = float(values[1]), float(values[2])
        return abs(got - wanted) <= self.within * max(1.0, abs(wanted))


def read(path: Path) -> list[Entry]:
    """Reads the list. An entry that says too little, or something unknown, is an error."""
    entries = []
    for i, given in enumerate(tomllib.loads(path.read_text(encoding="utf-8")).get("difference", []), 1):
        where = f"{path.name}: difference {i}"
        missing = {"operator", "kind", "reason", "right", "spec"} - set(given)
        unknown = set(given) - {"operator", "kind", "reason", "right", "spec", "node", "message", "within", "most"}
        if missing or unknown:
            raise ValueError(f"{where}: missing {sorted(missing)}, unknown {sorted(unknown)}")
        if given["kind"] not in KINDS or given["right"] not in RIGHT:
            raise ValueError(f"{where}: its kind is one of {KINDS}, and right is one of {RIGHT}")
        if not {"node", "message", "within"} & set(given):
            raise ValueError(
                f"{where}: without `node`, `message` and `within` it would excuse everything that the operator does"
            )
        names = given.pop("operator")
        operators = (names,) if isinstance(names, str) else tuple(names)
        if ANY_OPERATOR in operators and "most" not in given:
            raise ValueError(f"{where}: it excuses any operator, and has to say how many graphs at `most`")
        patterns = {key: re.compile(given.pop(key, "")) for key in ("node", "message")}
        entries.append(Entry(operators=operators, **given, **patterns))
    return entries


def explain(entries: list[Entry], kind: str, node: str, message: str) -> Entry | None:
    """The first entry that explains the finding, which is counted; None if it is new."""
    for entry in entries:
        if entry.explains(kind, node, message):
            entry.count += 1
            return entry
    return None


def read_limits(path: Path) -> dict[str, int]:
    """Of how many graphs out of PER an outcome may be at most, for outcomes that no entry explains."""
    limits = {}
    for given in tomllib.loads(path.read_text(encoding="utf-8")).get("limit", []):
        if set(given) != {"outcome", "most", "reason"} or given["outcome"] not in LIMITED:
            raise ValueError(f"{path.name}: a limit has an outcome of {LIMITED}, `most` and a reason: {given}")
        limits[given["outcome"]] = given["most"]
    return limits


def exceeded(entries: list[Entry], limits: dict[str, int], outcomes: Mapping[str, int], graphs: int) -> list[str]:
    """What there was more of than is allowed in so many graphs. `outcomes`: how many graphs had each."""
    counts = [(e.title, e.count, e.most) for e in entries if e.most is not None]
    counts += [(outcome, outcomes.get(outcome, 0), most) for outcome, most in limits.items()]
    return [
        f"{count} of {graphs} graphs, and at most {most} of {PER} are allowed: {title}"
        for title, count, most in counts
        if count * PER > most * graphs
    ]
