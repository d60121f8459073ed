#!/usr/bin/python3
"""Writes docs/diagnostics.md: the registry of slugs, with a golden test that shows each. `./dev update` runs this."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bazel"))
import slugs  # noqa: E402

HEAD = """# Diagnostics

Every message of Relay about a program or a file ends in a slug, such as `[unknown-variable]`, which stays when words change.
For each slug, this page has the cause, the remedy, and the smallest example with its message. `relay explain SLUG` prints the same.
The page is generated (`./dev update`): causes and remedies are those of `base/slugs.txt`, and examples are golden tests.
The line of options above an example says how it was read. `<<N|text>>` in an example stands for N times the text.

"""
SHOWN = re.compile(r"(?:error|warning): .*\[([a-z]+(?:-[a-z0-9]+)+)\]$", re.M)
SECTION = re.compile(r"^---- (\w+)\n", re.M)
LONGEST_EXAMPLE = 1500
LONGEST_LINE = 260


def registered(root):
    return slugs.read(root / "base/slugs.txt")


def shortened(text):
    return "".join(line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE] + "...\n" for line in text.splitlines(True))


def examples(root):
    """slug -> (run, input, output): the golden test that is named after it, or else the shortest of those that show it with the
    fewest others."""
    found = {}
    for path in sorted((root / "tests/golden").rglob("*.relay")):
        parts = SECTION.split(path.read_text(encoding="utf-8"))
        head, sections = parts[0], dict(zip(parts[1::2], parts[2::2]))
        output = sections.pop("output", "")
        run = head.splitlines()[0].removeprefix("RUN ")
        shown = set(SHOWN.findall(output))
        text, output = shortened("\n".join(sections.values())), shortened(output)
        for slug in shown:
            named = path.stem in ("fail_" + slug.replace("-", "_"), slug.replace("-", "_"))
            if not named and len(text) + len(output) > LONGEST_EXAMPLE:
                continue
            rank = (not named, len(shown), len(text) + len(output))
            if slug not in found or rank < found[slug][0]:
                found[slug] = (rank, run, text, output)
    return {slug: example[1:] for slug, example in found.items()}


def page(root):
    out = HEAD
    shown = examples(root)
    for slug, entry in registered(root).items():
        out += f"## {slug}\n\n**Cause:** {entry['cause']}\n\n**Remedy:** {entry['remedy']}\n\n"
        if "test" in entry:
            out += f"`{entry['test']}` shows it.\n\n"
        elif slug in shown:
            run, text, output = shown[slug]
            # How an example was read is part of what went wrong.
            asked = "" if run in ("check", "parse") else run + "\n"
            out += f"```\n{asked}{text}```\n```\n{output}```\n\n"
    return out.rstrip("\n") + "\n"


if __name__ == "__main__":
    (ROOT / "docs/diagnostics.md").write_text(page(ROOT), encoding="utf-8")
    sys.exit(0)
