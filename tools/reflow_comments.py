#!/usr/bin/python3
"""Reflows comments of C++ that are wider than 100 columns.

Usage: reflow_comments.py FILE...            rewrites the files; `./dev format` does this
       reflow_comments.py --check FILE...    lists the lines that are too wide; lint does this

Only whole lines `// ...` change, and of a paragraph only what follows its first line over 100 columns:

  prose    the paragraph is filled anew. A line that ends early, though the next word would have fitted, keeps its
           end: somebody broke it there on purpose
  lists    `* `, `- `, `1. `: an item is filled anew, its further lines aligned under its text
  C1:      constraints of operators: likewise; several on one line get a line each (bazel/op_rules.py reads them)
  rulers   `// --- title -----`: dashes are dropped at the end

Everything else stays as it is: comments behind code and their further lines, indented lines (code, formulas, drawings),
lines with two blanks in a row or that begin with `|` (tables), formulas `name(...) = ...` or `name(...): ...` and what is
below them, signatures `(...) -> ...`, NOLINT, what stands between `clang-format off` and `on`, words that are too long
by themselves (addresses), strings and blank lines.
"""

import bisect
import re
import sys

WIDTH = 100
# What is kept as it is may be as wide as code (.clang-format).
CODE_WIDTH = 110
# A last line with fewer characters than this is joined by words of the line above.
SHORT = 16
# A line that could have taken the next word and this many columns more was ended on purpose.
EARLY = 20

TOKEN = re.compile(r"""
    (?P<comment>//(?:\\\n|[^\n])*)
  | /\*.*?\*/
  | (?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"
  | "(?:\\.|[^"\\\n])*"
  | '(?:\\.|[^'\\\n])*'
  | \d(?:'?[\w.])*
  | [A-Za-z_]\w*
""", re.X | re.S)
ITEM = re.compile(r"( *)([*+-]|\d{1,2}[.)]|C\d+:)( +)(?=\S)")
LABEL = re.compile(r"\s{3,}(?=C\d+: )")
RULER = re.compile(r"( ?-{2,} .*? )-{3,}$")
FORMULA = re.compile(r"[a-z_][\w.]*\(.*\)(\[.*\])?(:| \+?=) |[A-Za-z_][\w.]*\[.*\] \+?= |\(.*\) -> ")
SIGNATURE = re.compile(r" +\(.*\) -> ")
# What reads as something else at the beginning of a line: a bullet, a label, the formula or the signature of an operator.
NEVER_FIRST = re.compile(r"([*+=|-]|--+|->|\d{1,2}[.)]|C\d+:|[a-z_][\w.]*\(.*|\(Tensor.*)$")
# Pieces that are not broken: code between backticks, if it is not long.
WORD = re.compile(r"(?:`[^`]{1,40}`|[^\s`]|`)+")


class Line:
    """A whole line of comment."""

    def __init__(self, number, indent, text):
        self.number = number  # from 0
        self.indent = indent  # what stands before `//`
        self.text = text      # what stands behind it

    def width(self):
        return len(self.indent) + 2 + len(self.text)

    def kind(self):
        """How the line is treated: blank, ruler, item, kept or prose."""
        text = self.text
        if not text.strip():
            return "blank"
        if not text.startswith(" ") or re.search(r"NOLINT|clang-format", text):
            return "kept"
        if RULER.match(text):
            return "ruler"
        if ITEM.match(text):
            return "item"
        words = text[1:]
        if words.startswith(" ") or "  " in words.rstrip() or words.startswith("|") or FORMULA.match(words):
            return "kept"
        return "prose"


def comments_of(text):
    """Every comment `//` outside of strings: its line from 0, what stands before it on that line, and its text."""
    starts = [0] + [m.end() for m in re.finditer("\n", text)]
    for match in TOKEN.finditer(text):
        if match["comment"]:
            number = bisect.bisect_right(starts, match.start()) - 1
            yield number, text[starts[number]:match.start()], match["comment"].rstrip("\r")


def comments_behind_code(text):
    """(line, its width) of lines with code and a comment behind it."""
    return [(number, len(before) + len(comment)) for number, before, comment in comments_of(text) if before.strip()]


def comment_blocks(text):
    """The runs of adjacent whole lines `//` with one indentation, as lists of Line."""
    blocks, off = [], False
    behind = (-2, 0)  # the line and the column of the last comment behind code
    for number, before, comment in comments_of(text):
        switch = re.match(r"//\s*clang-format (on|off)", comment)
        if switch:
            off = switch[1] == "off"
        elif before.strip() or behind == (number - 1, len(before)):
            behind = (number, len(before))  # or goes on with one
        elif not off and "\n" not in comment and not comment.endswith("\\"):
            line = Line(number, before, comment[2:])
            last = blocks[-1][-1] if blocks else None
            if last and last.number == number - 1 and last.indent == before:
                blocks[-1].append(line)
            else:
                blocks.append([line])
    return blocks


def indentation(text):
    return len(text) - len(text.lstrip())


def belongs(line, first):
    """Is the line a further one of the item that begins with `first`?"""
    words = LABEL.sub(" ", line.text.strip())
    if "  " in words or "NOLINT" in words or FORMULA.match(words):
        return False
    item = ITEM.match(first.text)
    # The further lines of a constraint may stand under its label.
    return indentation(line.text) >= item.end(1) + (0 if item[2].startswith("C") else 1)


def paragraphs_of(block):
    """The block as (kind, lines); of prose and items, all lines that are filled together."""
    paragraphs = []
    formula = False  # the lines below a formula belong to it: bazel/op_rules.py shows them line by line
    for line in block:
        kind = line.kind()
        last, lines = paragraphs[-1] if paragraphs else ("", [])
        if last == "item" and kind in ("kept", "prose") and belongs(line, lines[0]):
            lines.append(line)
            continue
        if kind == "prose" and last == "kept" and formula:
            kind = "kept"
        formula = kind == "kept" and (formula or bool(FORMULA.match(line.text.strip())))
        if kind == last and kind in ("kept", "prose"):
            lines.append(line)
        else:
            paragraphs.append((kind, [line]))
    return paragraphs


def units_of(text):
    """The words of a text, each with the words behind it that must not begin a line."""
    units = []
    for word in WORD.findall(text):
        if units and NEVER_FIRST.match(word):
            units[-1] += " " + word
        else:
            units.append(word)
    return units


def breakable(line):
    """Can a line end be put anywhere between two words?"""
    item = ITEM.match(line.text)
    return len(units_of(line.text[item.end():] if item else line.text)) > 1


def too_wide(line):
    return line.width() > WIDTH and breakable(line)


def filled(units, first, rest):
    """Lines of at most that many characters where units allow it."""
    lines = []
    for unit in units:
        width = first if len(lines) <= 1 else rest
        if lines and len(lines[-1]) + 1 + len(unit) <= width:
            lines[-1] += " " + unit
        else:
            lines.append(unit)
    return lines


def fill(text, first, rest):
    """Likewise; the last line gets company if it would be short."""
    units = units_of(text)
    greedy = filled(units, first, rest)
    if len(greedy) > 1 and len(greedy[-1]) < SHORT:
        for less in range(1, 40):
            lines = filled(units, first - less, rest - less)
            if len(lines) > len(greedy):
                break
            if len(lines[-1]) >= SHORT:
                return lines
    return greedy


def reflowed_prose(lines, first_prefix, prefix):
    """The texts of the lines, filled anew from the first one that is too wide."""
    start = next(n for n, line in enumerate(lines) if too_wide(line))
    out = [line.text for line in lines[:start]]
    widest = max(line.width() for line in lines)
    indent = len(lines[0].indent) + 2
    while start < len(lines):
        end = start + 1
        while end < len(lines):
            word = WORD.search(lines[end].text)
            if lines[end - 1].width() + 1 + len(word[0]) <= widest - EARLY:
                break
            end += 1
        before = first_prefix if start == 0 else prefix
        words = [line.text.strip() for line in lines[start:end]]
        if start == 0:
            words[0] = lines[0].text[len(first_prefix):]
        if any(too_wide(line) for line in lines[start:end]):
            texts = fill(" ".join(words), WIDTH - indent - len(before), WIDTH - indent - len(prefix))
            out += [(before if n == 0 else prefix) + text for n, text in enumerate(texts)]
        else:
            out += [line.text for line in lines[start:end]]
        start = end
    return out


def reflowed_item(lines):
    """A list item; one with several constraints on a line becomes several."""
    texts = []
    for line in lines:
        texts += LABEL.split(line.text.strip())
    item = ITEM.match(lines[0].text)
    if item[2].startswith("C") and len(texts) > len(lines):
        out, number = [], lines[0].number
        for text in constraints_of(texts):
            whole = Line(number, lines[0].indent, item[1] + text)
            out += reflowed_item([whole]) if too_wide(whole) else [whole.text]
        return out
    prefix = " " * (indentation(lines[1].text) if len(lines) > 1 else item.end())
    return reflowed_prose(lines, item[0], prefix)


def constraints_of(texts):
    """Each constraint as one text, of pieces some of which go on with the constraint before."""
    constraints = []
    for text in texts:
        if re.match(r"C\d+: ", text) or not constraints:
            constraints.append(text)
        else:
            constraints[-1] += " " + text
    return constraints


def reflowed_signature(line):
    """A signature with constraints behind it: each of them gets a line."""
    if not SIGNATURE.match(line.text):
        return [line.text]
    first, *labels = LABEL.split(line.text)
    prefix = " " * indentation(line.text)
    out = [first]
    for label in labels:
        whole = Line(line.number, line.indent, prefix + label)
        out += reflowed_item([whole]) if too_wide(whole) else [whole.text]
    return out


def reflowed_ruler(line):
    text = RULER.match(line.text)[1]
    dashes = WIDTH - len(line.indent) - 2 - len(text)
    return text + "-" * dashes if dashes >= 3 else line.text


def reflow(text):
    """The text of a file with its wide comments reflowed. Again, as a line that was parted may be of another kind."""
    before = None
    while text != before:
        before, text = text, reflowed_once(text)
    return text


def reflowed_once(text):
    lines = text.split("\n")
    for block in reversed(comment_blocks(text)):
        for kind, part in reversed(paragraphs_of(block)):
            if kind == "ruler" and part[0].width() > WIDTH:
                new = [reflowed_ruler(part[0])]
            elif kind in ("prose", "item") and any(map(too_wide, part)):
                new = reflowed_item(part) if kind == "item" else reflowed_prose(part, " ", " ")
            elif kind == "kept" and any(map(too_wide, part)):
                new = [t for line in part for t in (reflowed_signature(line) if too_wide(line) else [line.text])]
            else:
                continue
            lines[part[0].number:part[-1].number + 1] = [part[0].indent + "//" + t.rstrip() for t in new]
    return "\n".join(lines)


def problems(text):
    """(line, what is wrong with it) of comments that are too wide."""
    found = []
    for block in comment_blocks(text):
        for kind, part in paragraphs_of(block):
            for line in part:
                if kind == "kept":
                    if line.width() > CODE_WIDTH and breakable(line):
                        by = "./dev format" if len(reflowed_signature(line)) > 1 else "break it by hand"
                        found.append((line.number, f"a formula or table of {line.width()} columns, at most {CODE_WIDTH}: {by}"))
                elif kind == "ruler":
                    if line.width() > WIDTH:
                        by = "./dev format" if reflowed_ruler(line) != line.text else "shorten its title"
                        found.append((line.number, f"a ruler of {line.width()} columns, at most {WIDTH}: {by}"))
                elif too_wide(line):
                    found.append((line.number, f"a comment of {line.width()} columns, at most {WIDTH}: ./dev format"))
    for number, width in comments_behind_code(text):
        if width > CODE_WIDTH:
            found.append((number, f"a line of {width} columns, at most {CODE_WIDTH}: move its comment above it"))
    return sorted((number + 1, message) for number, message in found)


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def check(paths):
    found = [f"{path}:{number}: {message}" for path in paths for number, message in problems(read(path))]
    print("".join(line + "\n" for line in found), end="", file=sys.stderr)
    return 1 if found else 0


def main():
    if sys.argv[1:2] == ["--check"]:
        sys.exit(check(sys.argv[2:]))
    for path in sys.argv[1:]:
        before = read(path)
        after = reflow(before)
        if after != before:
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write(after)


if __name__ == "__main__":
    main()
