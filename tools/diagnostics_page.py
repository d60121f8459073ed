#!/usr/bin/python3
"""Writes docs/diagnostics.md: every diagnostic by its slug, with the golden test that shows it. `./dev update` runs this."""

import pathlib
import re
import sys

HEAD = """# Diagnostics

Every message of Relay about a program or a file ends in a slug, such as `[unknown-variable]`, which stays when words change.
This page is generated from the golden tests (`./dev update`): what each slug means, a text that has it, and what is said.

"""
OTHERS = """## Without an example here

These are about files, machines and limits; the tests beside the code that reports them show each.

| slug | reported by |
|---|---|
"""
EMITTED = re.compile(r'(?:error|warning|expected|fail|refuse)\(\s*[^;]*?"([a-z]+(?:-[a-z]+)+)"')
SHOWN = re.compile(r"(?:error|warning): .*\[([a-z]+(?:-[a-z]+)+)\]$", re.M)
LONGEST_EXAMPLE = 1500


def sources(root):
    """C++ files that may report: no tests."""
    for path in sorted(root.rglob("*.cc")):
        name = path.relative_to(root).as_posix()
        if not name.startswith(("bazel-", "tests/")) and not name.endswith("_test.cc"):
            yield name, path.read_text(encoding="utf-8")


def examples(root):
    """slug -> (about, input, output): the test that is named after it, or else the shortest of those that show it with the fewest others."""
    found = {}
    for path in sorted((root / "tests/golden").rglob("*.relay")):
        parts = re.split(r"^---- (?:input|pattern|output)\n", path.read_text(encoding="utf-8"), flags=re.M)
        if len(parts) != 3:
            continue
        head, text, output = parts
        about = " ".join(head.splitlines()[1:]).strip()
        slugs = set(SHOWN.findall(output))
        for slug in slugs:
            named = path.stem == "fail_" + slug.replace("-", "_")
            if len(text) + len(output) > LONGEST_EXAMPLE or not about:
                continue
            rank = (not named, len(slugs), len(text) + len(output))
            if slug not in found or rank < found[slug][0]:
                found[slug] = (rank, about, text, output)
    return {slug: example[1:] for slug, example in found.items()}


def page(root):
    shown = examples(root)
    where = {}
    for name, text in sources(root):
        for slug in EMITTED.findall(text):
            where.setdefault(slug, set()).add(name.rsplit("/", 1)[0])
    out = HEAD
    for slug, (about, text, output) in sorted(shown.items()):
        out += f"## {slug}\n\n{about}\n\n```\n{text}```\n```\n{output}```\n\n"
    out += OTHERS
    for slug in sorted(set(where) - set(shown)):
        out += f"| `{slug}` | {', '.join(f'`{folder}`' for folder in sorted(where[slug]))} |\n"
    return out


if __name__ == "__main__":
    checkout = pathlib.Path(__file__).resolve().parents[1]
    (checkout / "docs/diagnostics.md").write_text(page(checkout), encoding="utf-8")
    sys.exit(0)
