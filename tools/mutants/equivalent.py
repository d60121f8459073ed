"""Mistakes that change nothing anybody can notice: equivalent.toml. Standard library alone.

An entry is about one place: a line of a file, by its text, and what stands there. Of places that are equal in all of that, `nth`
says which one, from 0 on. So an entry excuses no other literal of the file, and lines elsewhere may come and go.
"""
import dataclasses
import pathlib
import tomllib

LIST = pathlib.Path(__file__).resolve().parent / "equivalent.toml"


def short(text):
    return " ".join(text.split())


def key_of(path, kind, text, wrong, line, nth):
    """Which place this is; `line` is the text of the line where it begins."""
    return "|".join([path, kind, short(text), short(wrong), short(line), str(nth)])


@dataclasses.dataclass(frozen=True)
class Entry:
    path: str
    line: str
    kind: str
    text: str
    wrong: str
    reason: str
    nth: int = 0

    @property
    def key(self):
        return key_of(self.path, self.kind, self.text, self.wrong, self.line, self.nth)


def read(path=LIST):
    """The entries, by their keys."""
    out = {}
    for given in tomllib.loads(path.read_text(encoding="utf-8")).get("equivalent", []):
        try:
            entry = Entry(**given)
        except TypeError as wrong:
            raise ValueError(f"{path.name}: {wrong}: {given}") from wrong
        if not entry.reason.strip():
            raise ValueError(f"{path.name}: no reason: {entry.key}")
        if entry.key in out:
            raise ValueError(f"{path.name}: twice: {entry.key}")
        out[entry.key] = entry
    return out


def begin_in_line(lines, text):
    """How often the text begins in the first of the lines: a place may go on in the others."""
    whole, first = short(" ".join(lines)), short(lines[0])
    return sum(whole.startswith(text, at) for at in range(len(first)))


def stale(entries, root):
    """What is wrong with entries whose line, or whose text in that line, is no longer there. Sees less than clang does: the study
    itself asks whether the line has a place with that text."""
    out = []
    for entry in entries:
        file = pathlib.Path(root) / entry.path
        if not file.exists():
            out.append(f"{entry.key}: there is no such file")
            continue
        lines = file.read_text(encoding="utf-8").splitlines()
        at = [n for n, line in enumerate(lines) if short(line) == short(entry.line)]
        here = sum(begin_in_line(lines[n : n + 8], short(entry.text)) for n in at)
        if not at:
            out.append(f"{entry.key}: the file has no such line")
        elif here <= entry.nth:
            out.append(f"{entry.key}: the line does not have that, or not so often")
    return out
