"""What a run said of each case, and what that amounts to. Standard library only."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

VERDICTS = ("pass", "skipped", "refused", "wrong")
IMPORT = "import"  # in the place of a setting: the case has no program


@dataclass(frozen=True)
class Said:
    """What one engine, or the importer, said of a case."""

    verdict: str
    slug: str = ""
    reason: str = ""
    blames_model: bool = False
    weaker: bool = False


@dataclass
class Case:
    """One case: how it ended for each setting."""

    name: str
    operator: str = ""
    is_random: bool = False
    said: dict[str, Said] = field(default_factory=dict)

    def verdict(self, settings: Sequence[str]) -> str:
        """Wrong on any engine is wrong, and refused by any is refused. A case must have been tried everywhere."""
        found = {s.verdict for s in self.said.values()}
        for graver in ("wrong", "refused"):
            if graver in found:
                return graver
        if missing := [s for s in settings if s not in self.said]:
            raise RuntimeError(f"{self.name} has no verdict of {', '.join(missing)}")
        return "pass"

    def refusals(self) -> list[tuple[str, Said]]:
        """Where it was refused, and why."""
        return [(setting, said) for setting, said in self.said.items() if said.verdict == "refused"]


def add_lines(cases: dict[str, Case], lines: Iterable[dict], seconds: Counter[str]) -> None:
    """Enters what the runner printed: docs are at the head of run_cases.cc."""
    for line in lines:
        if "case" not in line:
            seconds[line["setting"]] += line["seconds"]
            continue
        cases[line["case"]].said[line["setting"]] = Said(
            verdict=line["verdict"],
            slug=line.get("slug", ""),
            reason=line.get("reason", ""),
            blames_model=line.get("blames_model", False),
            weaker=line.get("weaker", False),
        )


def tally(cases: Iterable[Case], settings: Sequence[str]) -> dict[str, Counter[str]]:
    """How often each setting came to which verdict; the key IMPORT has those without a program."""
    out: dict[str, Counter[str]] = {setting: Counter() for setting in (IMPORT, *settings)}
    for case in cases:
        for setting, said in case.said.items():
            out[setting][said.verdict] += 1
    return out


def by_slug(cases: Iterable[Case]) -> dict[str, list[Case]]:
    """The refused cases by the slug of their first refusal, the most frequent first."""
    out = defaultdict(list)
    for case in cases:
        if refusals := case.refusals():
            out[refusals[0][1].slug or "no slug"].append(case)
    return dict(sorted(out.items(), key=lambda item: (-len(item[1]), item[0])))
