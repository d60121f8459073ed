#!/usr/bin/python3
"""Writes docs/passes.md: what the files of passes say of them, their levels, options and an example. `./dev update` runs this."""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]

HEAD = """# Passes

A pass makes a module of a module. `relay opt MODEL --passes=NAME,NAME{option=1}` runs those that you name, in this order.
`-O0` to `-O3` run the pipelines below. This page is generated (`./dev update`): from the files of `passes/`, the levels of
`passes/pipeline.cc`, and a golden test of each pass. How to write one: [adding-a-pass.md](adding-a-pass.md).

## Levels

| level | what it adds | the price |
|---|---|---|
| `-O0` | the program as it is written: each operator is a kernel of its own | none |
| `-O1` | what is free: results have the same bits, or those of an engine's usual rounding | little compile time |
| `-O2` | layouts, joined and packed products, for the vectors and caches of the target; normalisation in the weights; the default | compile time, one more rounding of each such weight |
| `-O3` | static loops unrolled, rules that trade rounding within the bounds that they name, fusion that the cost model chooses | compile time, code size, rounding |

A level runs all that the one below runs. `relay bench MODEL --opt-levels` times them, and `relay bench MODEL --passes-ablation`
says what each pass contributes; `bench/shares` does so for four networks, and keeps it for this page. `relay opt MODEL -O2 --report` lists what each pass made of a program, and which rules applied.

No level takes Winograd's F(6x6, 3x3): `-O3` trades rounding within the bounds, and that one breaks them. It enlarges the error of a sum by
15, and the bound of a whole network is 4 ([semantics.md](semantics.md), "Numbers"). F(4x4), with 3.5, is taken from `-O2` on.
`--passes '...,block-channels{winograd-error=20},...'` admits F(6x6) ([cpu.md](cpu.md#algorithm-winograds-filtering)); measure the error of your network then.

The pipelines, in order:

"""
LAW = "**Law:** the interpreter gives the same answer before and after it, and the module still type checks (`passes` in\n" \
      "`tests/property`).\n\n"
OTHER_LAW = "**Law:** the module still type checks. Answers may be farther away than an engine's, so none after it is compared with one\n" \
            "before it; a test of its own bounds the error.\n\n"
DEFINITION = re.compile(r"^const Pass (k\w+)\s*=?\s*\{(.*?)^\};", re.M | re.S)
ROW = re.compile(r"^    \{&(k\w+), (\d)(?:, For::k(\w+))?\},", re.M)
LITERAL = r'"((?:[^"\\]|\\.)*)"'
SECTION = re.compile(r"^---- (\w+)\n", re.M)
LONGEST_EXAMPLE = 3000
LONGEST_LINE = 200
LEVELS = 4


def joined(text):
    """The text of string literals that stand beside each other."""
    return "".join(re.findall(LITERAL, text))


def number(text, sources):
    """The value of a number as C++ writes it, or of a constant that one of the sources defines."""
    text = text.strip().replace("int64_t{1}", "1").rsplit("::", 1)[-1]
    if re.fullmatch(r"k\w+", text):
        for source in sources:
            if found := re.search(rf"\b{text} = ([^;]+);", source):
                return number(found[1], sources)
        raise ValueError(f"the constant {text} is not found")
    shift = re.fullmatch(r"(\d+) << (\d+)", text)
    return int(shift[1]) << int(shift[2]) if shift else int(text)


def parameters(body, text, sources):
    """(name, default, doc) of each parameter of a pass."""
    found = re.search(r"\.parameters = \{(.*?)\},\n    \.", body, re.S)
    if not found:
        return []
    listed = found[1]
    if named := re.fullmatch(r"(k\w+)", listed):
        listed = re.search(rf"constexpr Parameter {named[1]} = (.*?);\n", text, re.S)[1]
    part = re.compile(rf'\{{{LITERAL},\s*([^,"]+),((?:\s*"(?:[^"\\]|\\.)*")+)', re.S)
    return [(name, number(value, sources), joined(doc)) for name, value, doc in part.findall(listed)]


def head_of(text):
    """The comment that a file begins with, as Markdown: what is indented is a block."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        lines.append(line[2:].removeprefix(" "))
    out, block = [], False
    for k, line in enumerate(lines):
        listed = re.match(r"  +[-*] ", line) or (block is None and line.startswith("    "))
        if listed:
            block = None
            out.append(line)
            continue
        indented = line.startswith("  ")
        goes_on = block and not line and any(lines[k + 1:]) and next(x for x in lines[k + 1:] if x).startswith("  ")
        if indented and not block:
            out.append("```")
            block = True
        elif block and not indented and not goes_on:
            if out[-1] == "":
                out.pop()
            out += ["```"]
            block = False
            if line:
                out.append("")
        elif block is None and not line.startswith(" "):
            block = False
        out.append(line.removeprefix("  ") if block else line)
    if block:
        out.append("```")
    text = "\n".join(out)
    return re.sub(r"\b(Before|After)(:|,)", r"**\1**\2", text)


def levels(root):
    """The rows of passes/pipeline.cc: (constant, least level, where)."""
    rows = ROW.findall((root / "passes/pipeline.cc").read_text(encoding="utf-8"))
    return [(name, int(level), where) for name, level, where in rows]


def examples(root, names):
    """pass -> (file, run, input, output): the golden test that is named after the pass, or else the shortest of the pass alone."""
    found = {}
    for path in sorted((root / "tests/golden/passes").glob("*.relay")):
        parts = SECTION.split(path.read_text(encoding="utf-8"))
        run = parts[0].splitlines()[0].removeprefix("RUN ")
        sections = dict(zip(parts[1::2], parts[2::2]))
        if path.stem.startswith("fail_") or not run.startswith("opt ") or set(sections) != {"input", "output"}:
            continue
        named = path.stem.replace("_", "-")
        alone = re.match(r"opt --passes=([\w-]+)(?:\{[^}]*\})?(?: |$)", run)
        name = named if named in names else alone[1] if alone else None
        if name not in names:
            continue
        text, output = shortened(sections["input"]), shortened(sections["output"])
        rank = (name != named, len(text) + len(output))
        if name not in found or rank < found[name][0]:
            found[name] = (rank, path.name, run, text, output)
    return {name: example[1:] for name, example in found.items()}


def shortened(text):
    lines = [line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE] + "...\n" for line in text.splitlines(True)]
    out = "".join(lines)
    return out if len(out) <= LONGEST_EXAMPLE else out[:out.rfind("\n", 0, LONGEST_EXAMPLE) + 1] + "...\n"


def passes(root):
    """name -> (constant, body, head, text) of all passes."""
    found = {}
    for path in sorted((root / "passes").glob("*.cc")):
        text = path.read_text(encoding="utf-8")
        if path.stem.endswith("_test"):
            continue
        for constant, body in DEFINITION.findall(text):
            found[re.search(r'\.name = "([^"]+)"', body)[1]] = (constant, body, text, path.name)
    return found


def level_text(constant, rows):
    mine = sorted({(level, where) for name, level, where in rows if name == constant})
    if not mine:
        return "in no level: name it in `--passes`"
    level, where = mine[0]
    at = "all levels" if level == 0 else f"`-O{level}` and above"
    return at + (", for processors" if where == "Processors" else "")


def shares(root):
    """The table of what each pass contributes: bench/shares.json, which `bench/shares` writes. Empty if it was not measured."""
    path = root / "bench/shares.json"
    if not path.exists():
        return ""
    found = json.loads(path.read_text(encoding="utf-8"))
    networks = found["networks"]
    out = "## Shares of the gain\n\n"
    out += f"What goes of the gain of `-O{found['level']}` over `-O0` if a pass is left out, in percent: medians of {found['repeat']} runs, each in turns\n" \
           f"with all passes, on the engine `graph` with {found['threads']} thread{'s' if found['threads'] > 1 else ''} of an {found['processor']}. " \
           f"Passes that need each other count in each, so\nshares need not sum up to 100. A pass without a number changed nothing. " \
           "`bench/shares` measures it again.\n\n"
    out += f"| pass | {' | '.join(f'`{name}`' for name in networks)} |\n|---|{'---|' * len(networks)}\n"
    out += f"| time: `-O0` to `-O{found['level']}` | " + " | ".join(f"{n['least_ms']:g} to {n['all_ms']:g} ms" for n in networks.values()) + " |\n"
    names = {name for n in networks.values() for name in n["shares"]}
    for name in sorted(names, key=lambda p: (-sum(n["shares"].get(p, 0) for n in networks.values()), p)):
        cells = [f"{100 * n['shares'][name]:.1f}" if name in n["shares"] else "" for n in networks.values()]
        out += f"| [{name}](#{name}) | {' | '.join(cells)} |\n"
    return out + "\n"


def page(root):
    rows, found = levels(root), passes(root)
    shown = examples(root, found)
    sources = [text for _, _, text, _ in found.values()]
    sources += [(root / header).read_text(encoding="utf-8") for header in ("kernel/schedule/cost.h", "analysis/kernel_groups.h")]
    names = {constant: name for name, (constant, *_) in found.items()}
    out = HEAD
    for level in range(LEVELS):
        steps = [names[constant] + (" *" if where else "") for constant, least, where in rows if least <= level]
        out += f"* `-O{level}`: {', '.join(steps)}\n"
    out += "\n`*`: for processors, not for GPUs. `flush-denormals` runs unless `--denormals keep` is given.\n\n"
    out += "| pass | level | what it does |\n|---|---|---|\n"
    for name, (constant, body, _, _) in sorted(found.items()):
        doc = joined(re.search(r"\.doc =((?:\s*\"(?:[^\"\\]|\\.)*\")+)", body)[1])
        out += f"| [{name}](#{name}) | {level_text(constant, rows)} | {doc} |\n"
    out += "\n" + shares(root)
    for name, (constant, body, text, file) in sorted(found.items()):
        out += f"## {name}\n\n{head_of(text)}\n\n**Level:** {level_text(constant, rows)}. `passes/{file}`.\n\n"
        out += OTHER_LAW if ".approximates = true" in body else LAW
        if options := parameters(body, text, sources):
            out += "| option | default | |\n|---|---|---|\n"
            out += "".join(f"| `{option}` | {value} | {doc} |\n" for option, value, doc in options) + "\n"
        if name in shown:
            golden, run, before, after = shown[name]
            out += f"`tests/golden/passes/{golden}`, `relay {run}`:\n\n```\n{before}```\n\nbecomes\n\n```\n{after}```\n\n"
        else:
            out += "Its output is no Relay text: `relay opt --emit kernel` shows it.\n\n"
    return out.rstrip("\n") + "\n"


if __name__ == "__main__":
    (ROOT / "docs/passes.md").write_text(page(ROOT), encoding="utf-8")
    sys.exit(0)
