#!/usr/bin/python3
"""Writes docs/diagnostics.md: every diagnostic by its slug, with the golden test that shows it. `./dev update` runs this."""

import pathlib
import re
import sys

HEAD = """# Diagnostics

Every message of Relay about a program or a file ends in a slug, such as `[unknown-variable]`, which stays when words change.
This page is generated from the golden tests (`./dev update`): what each slug means, a text that has it, and what is said,
with the remedy where there is one. `<<N|text>>` in a text stands for N times the text.

"""
WORD = re.compile(r'"([a-z]+(?:-[a-z0-9]+)+)"')
SHOWN = re.compile(r"(?:error|warning): .*\[([a-z]+(?:-[a-z0-9]+)+)\]$", re.M)
SECTION = re.compile(r"^---- (\w+)\n", re.M)
# What is written like a slug and is none: passes, their parameters, engines, LLVM's attributes, words of documentation.
OTHER_WORDS = """
aot-cpp aot-cuda block-channels dead-code expand-operators floating-point fold-constants hoist-invariants inline-lets join-products
least-bytes max-bytes max-instances max-nodes max-ops no-trapping-math output-fusable pack-weights pair-steps prefer-vector-width simplify-inference target-cpu target-features widen-floats winograd-cycles winograd-error
""".split()
# Those that no golden test can show, because what is said depends on the machine or on files: where it is tested, and what it means.
ELSEWHERE = {
    "function-too-large": ("aot/limits_test.cc", "A function computes more values than C++ compilers take in one function of theirs. Functions are compiled one by one."),
    "input-not-fixed": ("tests/cli/fixed_input_test.cc", "Another function calls the one whose input should become a constant, and gives it all of its inputs."),
    "input-value-conflict": ("tests/cli/fixed_input_test.cc", "A file of inputs holds another value for an input than the one it was fixed to."),
    "output-is-input": ("tests/cli/overwriting_test.cc", "An output would replace the model or another file that was read for it."),
    "unresolved-symbol": ("tests/cli/external_test.cc", "No file that `--library` or `--link` names has the C function of an external kernel."),
    "cannot-load": ("tests/cli/machine_test.cc", "What was compiled is no library that this machine or this version of Relay can load."),
}
LONGEST_EXAMPLE = 1500
LONGEST_LINE = 260


def emitted(root):
    """slug -> the files that may report it: all words like it in code that is no test."""
    found = {}
    for path in sorted(root.rglob("*.cc")) + sorted(root.rglob("*.h")):
        name = path.relative_to(root).as_posix()
        if name.startswith(("bazel-", "tests/", "bench/", "docs/", "examples/", "third_party/")) or name.endswith("_test.cc"):
            continue
        for slug in WORD.findall(path.read_text(encoding="utf-8")):
            if slug not in OTHER_WORDS:
                found.setdefault(slug, set()).add(name)
    return found


def shortened(text):
    return "".join(line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE] + "...\n" for line in text.splitlines(True))


def examples(root):
    """slug -> (about, run, input, output): the test that is named after it, or else the shortest of those that show it with the fewest
    others."""
    found = {}
    for path in sorted((root / "tests/golden").rglob("*.relay")):
        parts = SECTION.split(path.read_text(encoding="utf-8"))
        head, sections = parts[0], dict(zip(parts[1::2], parts[2::2]))
        output = sections.pop("output", "")
        run = head.splitlines()[0]
        about = " ".join(head.splitlines()[1:]).strip()
        slugs = set(SHOWN.findall(output))
        text, output = shortened("\n".join(sections.values())), shortened(output)
        for slug in slugs:
            named = path.stem in ("fail_" + slug.replace("-", "_"), slug.replace("-", "_"))
            if not about or (not named and len(text) + len(output) > LONGEST_EXAMPLE):
                continue
            rank = (not named, len(slugs), len(text) + len(output))
            if slug not in found or rank < found[slug][0]:
                found[slug] = (rank, about, run, text, output)
    return {slug: example[1:] for slug, example in found.items()}


def page(root):
    out = HEAD
    shown = examples(root)
    for slug in sorted(set(shown) | set(ELSEWHERE)):
        if slug in ELSEWHERE:
            out += f"## {slug}\n\n{ELSEWHERE[slug][1]} Tested by `{ELSEWHERE[slug][0]}`.\n\n"
            continue
        about, run, text, output = shown[slug]
        # How the readers were asked is part of what went wrong.
        asked = f"{run.removeprefix('RUN ')}\n" if run.split()[1] in ("read", "write", "import", "build") else ""
        out += f"## {slug}\n\n{about}\n\n```\n{asked}{text}```\n```\n{output}```\n\n"
    return out.rstrip("\n") + "\n"


if __name__ == "__main__":
    checkout = pathlib.Path(__file__).resolve().parents[1]
    (checkout / "docs/diagnostics.md").write_text(page(checkout), encoding="utf-8")
    sys.exit(0)
