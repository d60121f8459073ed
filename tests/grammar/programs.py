"""The programs of the data-driven suites."""

import pathlib
import re


def inputs():
    """(path, text) of each input."""
    for folder in ("tests/exec", "tests/golden"):
        for path in sorted(pathlib.Path(folder).rglob("*.relay")):
            parts = re.split(r"^---- (\w+)\n", path.read_text(encoding="utf-8"), flags=re.M)
            sections = dict(zip(parts[1::2], parts[2::2]))
            if "input" in sections:
                yield str(path), sections["input"]
