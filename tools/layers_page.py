#!/usr/bin/python3
"""Writes the table of docs/architecture.md: the folders of bazel/layers.bzl. `./dev update` runs this."""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[1]
HEAD = "| folder | may include | what it is for |\n|---|---|---|\n"


def layers(root):
    """LAYERS and TOP of bazel/layers.bzl, which is Python as far as they go."""
    names = {}
    exec(compile((root / "bazel/layers.bzl").read_text(encoding="utf-8"), "layers.bzl", "exec"), names)
    return names["LAYERS"], names["TOP"]


def below(package, table):
    """All that the package may include: what its row names, and what that stands on."""
    seen, todo = set(), [package]
    while todo:
        for p in table[todo.pop()][0]:
            if p not in seen:
                seen.add(p)
                todo.append(p)
    return seen


def row(*cells):
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in cells)


def page(root):
    """docs/architecture.md with the table as it should be."""
    table, top = layers(root)
    rows = [row(f"`{folder}`", " ".join(f"`{p}`" for p in arrows), doc) for folder, (arrows, doc) in table.items()]
    rows += [row(f"`{folder}`", "all", doc) for folder, doc in top.items() if (root / folder).is_dir()]
    text = (root / "docs/architecture.md").read_text(encoding="utf-8")
    before, _, rest = text.partition(HEAD)
    after = "\n".join(line for line in rest.splitlines() if not line.startswith("| `"))
    return before + HEAD + "\n".join(rows) + "\n\n" + after.strip("\n") + "\n"


if __name__ == "__main__":
    (ROOT / "docs/architecture.md").write_text(page(ROOT), encoding="utf-8")
