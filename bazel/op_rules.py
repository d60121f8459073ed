#!/usr/bin/python3
"""Prints a C++ table of what the comments of the operators' files say: formula, signature, constraints, notes.

Usage: op_rules.py FILE...        the sources and headers of op/*/

The comments are the one source of these texts. Of the comments that begin in the first column:
  formula      a line that begins with the operator's name and `(`, up to the end of its paragraph, to
               another formula, a signature or a constraint: `// nn.relu(x) = max(x, 0)`. Paragraphs of
               the same comment that are indented belong to it, line by line
  signature    a line that begins with `(` and has `) -> `: `// (Tensor[s, d]) -> Tensor[s, d]`
  constraints  `C1: ...` at the beginning of a line or behind three blanks
  notes        the other paragraphs of the comment that has the formula, but the first one of a file,
               which says what the file is
Signature and constraints stand in the comment that has the formula; or above the operator's `relate`; or in
the first comment of the file; or in that of a header of the family that the file includes. There `<domain>`
stands for what the operator's definition says: `.domain = Domain::kFloat` is "floating-point".

The build ends with a message if an operator has no formula, or if a label `// C1` in code has no text.
"""

import re
import sys

DEFINITION = re.compile(r"^(?:extern )?const OpDef (k\w+)", re.M)
NAME = re.compile(r'\.name = "([^"]+)"|"([a-z][\w.]*)"')
RELATE = re.compile(r"\.relate = (\w+)")
DOMAIN = re.compile(r"\bdomain = Domain::k(\w+)")
DOMAINS = {"Any": "any dtype", "Number": "numeric", "Float": "floating-point", "Integer": "an integer",
           "IntegerOrBool": "an integer or a boolean", "Bool": "a boolean"}
CONSTRAINT = re.compile(r"(?:^|(?<=\s{3}))(?=C\d+: )")
LABELS = re.compile(r"\S.*// ((?:C\d+(?:, )?)+)\s*$")
INCLUDE = re.compile(r'^#include "(op/\w+/\w+\.h)"', re.M)


class Comment:
    """A comment that begins in the first column: its paragraphs, and the line of code below it."""

    def __init__(self, lines, below):
        self.below = below
        self.paragraphs = [[]]
        for line in lines:
            line = line.removeprefix("//").removeprefix(" ").rstrip()
            if line.startswith("---"):  # a heading
                line = ""
            if line:
                self.paragraphs[-1].append(line)
            elif self.paragraphs[-1]:
                self.paragraphs.append([])


class Rule:
    def __init__(self):
        self.formula, self.signature, self.constraints, self.notes = "", "", {}, []


def comments_of(text):
    found, lines = [], []
    for line in text.split("\n"):
        if line.startswith("//"):
            lines.append(line)
        elif lines and not line.startswith("template <"):
            found.append(Comment(lines, line))
            lines = []
    return found


def pieces_of(paragraph, names):
    """The paragraph as [kind, operator, text]: kinds are formula, signature, constraint, shown and note."""
    pieces = []
    other = "shown" if paragraph and paragraph[0].startswith("  ") else "note"
    for line in paragraph:
        for part in CONSTRAINT.split(line):
            part = part.strip()
            if not part:
                continue
            name = part.split("(")[0]
            if re.match(r"C\d+: ", part):
                pieces.append(["constraint", "", part])
            elif part.startswith("(") and ") -> " in part:
                pieces.append(["signature", "", part])
            elif name in names and "(" in part:
                pieces.append(["formula", name, part])
            elif pieces:
                pieces[-1][2] += {"formula": "\n    ", "shown": "\n"}.get(pieces[-1][0], " ") + part
            else:
                pieces.append([other, "", part])
    return pieces


def read_comment(comment, names, name, rule, wants, skipped=0):
    for paragraph in comment.paragraphs[skipped:]:
        pieces = pieces_of(paragraph, names)
        # Of several formulas in one paragraph, what follows each is about it alone.
        owners, owner = [], None
        for kind, operator, _ in pieces:
            owner = operator or owner
            owners.append(owner)
        for (kind, _, text), owner in zip(pieces, owners):
            if kind not in wants or owner not in (None, name):
                continue
            if kind in ("formula", "shown"):
                rule.formula += ("\n" if rule.formula else "") + text
            elif kind == "signature":
                rule.signature = rule.signature or text
            elif kind == "constraint":
                label, _, meaning = text.partition(": ")
                rule.constraints.setdefault(label, meaning)
            else:
                rule.notes.append(text)


def has_formula(comment, names, name):
    return any(["formula", name] == piece[:2] for p in comment.paragraphs for piece in pieces_of(p, names))


def has_constraints(comment, names, name):
    rule = Rule()
    read_comment(comment, names, name, rule, ("constraint",))
    return bool(rule.constraints)


def labels_in(text):
    """label -> the first line that has it, behind code."""
    found = {}
    for number, line in enumerate(text.split("\n"), 1):
        match = None if line.startswith("//") else LABELS.search(line)
        for label in match[1].split(", ") if match else ():
            found.setdefault(label, number)
    return found


def body_of(text, function):
    """The text of a function that begins in the first column; empty if it is not here."""
    match = re.search(r"^(?:template <.*>\n)?Type %s\(.*?^(?:\}|.*\}  // C\d+$)" % function, text, re.M | re.S)
    return match[0] if match else ""


def rules_of(path, text, headers):
    starts = list(DEFINITION.finditer(text))
    operators = []
    for start, end in zip(starts, starts[1:] + [None]):
        definition = text[start.end():end.start() if end else len(text)]
        match = NAME.search(definition)
        if not match:
            sys.exit("%s: %s has no name that bazel/op_rules.py finds" % (path, start[1]))
        relate = RELATE.search(definition)
        operators.append((match[1] or match[2], relate[1] if relate else "", DOMAIN.search(definition)))
    names = [name for name, *_ in operators]
    comments = comments_of(text)
    included = [headers[h] for h in INCLUDE.findall(text) if h in headers]
    family = [c for header in included for c in comments_of(header)[:1]]
    # What the family's struct says for operators that say nothing.
    default = DOMAIN.search("\n".join([text[:starts[0].start()] if starts else "", *included]))
    rules = {}
    for name, relate, domain in operators:
        own = [c for c in comments if has_formula(c, names, name)]
        if not own:
            sys.exit("%s: no comment has the formula of `%s`: a line that begins `// %s(`" % (path, name, name))
        rule = rules[name] = Rule()
        # The first paragraph of a file may be its title.
        title = own[0] is comments[0] and not any(p[0] == "formula" for p in pieces_of(own[0].paragraphs[0], names))
        read_comment(own[0], names, name, rule, ("formula", "shown", "note"), 1 if title else 0)
        above = [c for c in comments if relate and re.search(r"\b%s\(" % relate, c.below)]
        for comment in [own[0], *above, *comments[:1], *family]:
            if has_constraints(comment, names, name):
                read_comment(comment, names, name, rule, ("constraint", "signature"))
                break
        else:
            read_comment(own[0], names, name, rule, ("signature",))
        for label, meaning in rule.constraints.items():
            if "<domain>" in meaning:
                rule.constraints[label] = meaning.replace("<domain>", DOMAINS[(domain or default)[1]])
        if relate:
            require_texts(path, name, labels_in(body_of(text, relate)), rule.constraints)
    # What operators share is labelled in files without operators, too.
    shared = Rule()
    for comment in family:
        read_comment(comment, [], "", shared, ("constraint",))
    known = {label for rule in [shared, *rules.values()] for label in rule.constraints}
    require_texts(path, "any operator here", labels_in(text), known)
    return rules


def require_texts(path, owner, labels, known):
    for label in labels:
        if label not in known:
            sys.exit("%s: code is labelled %s, and no comment says what %s of %s is: add `// %s: ...`"
                     % (path, label, label, owner, label))


def literal(text):
    return 'R"~(%s)~"' % text


def main():
    texts = {}
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            texts[path] = file.read()
    headers = {path: text for path, text in texts.items() if path.endswith(".h")}
    rules = {}
    for path, text in sorted(texts.items()):
        if path.endswith(".cc"):
            rules.update(rules_of(path, text, headers))
    print("// Generated by bazel/op_rules.py from the comments of the operators' files.")
    print("namespace relay::op {")
    print("constexpr OpRule kOpRules[] = {")
    for name, rule in sorted(rules.items()):
        constraints = ["%s: %s" % c for c in sorted(rule.constraints.items(), key=lambda c: int(c[0][1:]))]
        print("    {%s}," % ", ".join(map(literal, (name, rule.formula, rule.signature, "\n".join(constraints),
                                                  "\n".join(rule.notes)))))
    print("};")
    print("}  // namespace relay::op")


if __name__ == "__main__":
    main()
