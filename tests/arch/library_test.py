#!/usr/bin/python3
"""The standard library: every definition says what it does, is in docs/library.md, and is called by a test.

`python3 tests/arch/library_test.py --update` writes the tables of docs/library.md.
"""

import re
import sys
import unittest

import sources

DOC = "docs/library.md"
BEGIN, END = "<!-- from the comments of ir/text/library -->\n", "<!-- end -->\n"
LIBRARIES = [
    ("prelude", "ir/text/library/prelude.relay"),
    ("nat", "ir/text/library/nat.relay"),
    ("sequence", "ir/text/library/sequence.relay"),
    ("tensor_array", "ir/text/library/tensor_array.relay"),
    ("tensor_array/DTYPE", "ir/text/library/tensor_array_of.relay"),
    ("training", "ir/text/library/training.relay"),
]


def definitions(path):
    """(kind, name, what follows the name, comment) for each type and function; a section's title is a kind too."""
    found, comment = [], []
    text = sources.read(path).replace("\n    (", "(")  # type parameters may have a line of their own
    for line in text.splitlines():
        if title := re.fullmatch(r"// ---- (.*) ----", line):
            found.append(("section", title[1], "", ""))
        elif line.startswith("// "):
            comment.append(line[3:])
            continue
        elif definition := re.match(r"def (@\w+)(.*)", line):
            found.append(("def", definition[1], definition[2].split(" {")[0], " ".join(comment)))
        elif definition := re.match(r"type (\w+)(.*)", line):
            found.append(("type", definition[1], definition[2], " ".join(comment)))
        comment = []
    return found


def tables():
    out = []
    for name, path in LIBRARIES:
        out.append(f"\n## {name}\n")
        in_table = False
        for kind, word, rest, comment in definitions(path):
            if kind == "section":
                out.append(f"\n### {word}\n")
                in_table = False
                continue
            if not in_table:
                out.append("\n| | |\n|---|---|\n")
                in_table = True
            out.append(f"| `{'type ' if kind == 'type' else ''}{word}{rest}` | {comment} |\n")
    return "".join(out) + "\n"


class LibraryTest(unittest.TestCase):
    def test_every_text_is_here(self):
        self.assertEqual(sorted(path for _, path in LIBRARIES),
                         [p for p in sources.files(".relay") if p.startswith("ir/text/library/")])

    def test_every_definition_says_what_it_does(self):
        for _, path in LIBRARIES:
            for kind, name, _, comment in definitions(path):
                if kind != "section":
                    self.assertTrue(comment.endswith("."), f"{path}: {name} needs a comment above it")

    def test_every_function_says_its_type(self):
        for _, path in LIBRARIES:
            text = sources.read(path)
            for kind, name, rest, _ in definitions(path):
                if kind == "def":
                    self.assertIn("->", rest, f"{path}: {name} does not say its result's type")
                    self.assertNotRegex(rest, r"%\w+[,)]", f"{path}: {name} has a parameter without a type")
            self.assertEqual(len(re.findall(r"^\s*def ", text, re.M)), sum(d[0] == "def" for d in definitions(path)))

    def test_the_tables_are_those_of_the_texts(self):
        text = sources.read(DOC)
        self.assertEqual(text[text.index(BEGIN) + len(BEGIN):text.index(END)], tables(),
                         "run python3 tests/arch/library_test.py --update")

    def test_every_function_is_called_by_a_test(self):
        programs = "\n".join(sources.read(p) for p in sources.files(".relay") if p.startswith("tests/exec/library/"))
        called = set(re.findall(r"@\w+", programs))
        for _, path in LIBRARIES:
            for kind, name, _, _ in definitions(path):
                if kind == "def":
                    with_dtype = re.compile(name.replace("DTYPE", "[a-z]+[0-9]*"))
                    self.assertTrue(any(with_dtype.fullmatch(c) for c in called), f"{path}: no test calls {name}")


if __name__ == "__main__":
    if "--update" in sys.argv:
        doc = sources.read(DOC)
        head, tail = doc[:doc.index(BEGIN) + len(BEGIN)], doc[doc.index(END):]
        (sources.ROOT / DOC).write_text(head + tables() + tail, encoding="utf-8")
    else:
        unittest.main(verbosity=2)
