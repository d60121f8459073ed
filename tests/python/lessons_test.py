#!/usr/bin/python3
"""Runs the lessons of docs/tutorial: each page's blocks of Python and of commands, in order, in a folder of their own.

A block of text behind a block of Python is what that one prints. In a block of commands, the lines that begin with `$` are the
commands, and the others what they print, on both streams. Blanks may be of any number, and in a block that `varies`, behind
its language, the numbers may be others: they are times. `lessons_test.py --update` rewrites what differs.
"""

import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

LESSONS = pathlib.Path("docs/tutorial").absolute()
EXAMPLES = pathlib.Path("examples").absolute()
COMMAND = pathlib.Path("tools").absolute()  # where Bazel puts `relay` for this test; else it is found as a shell finds it
FEWEST_LESSONS, FEWEST_BLOCKS = 6, 5
BLOCK = re.compile(r"^```(python|console|text)( varies)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"\d+(\.\d+)?(e[+-]?\d+)?")
UPDATE = "--update" in sys.argv


def words_of(text, varies):
    """What is compared."""
    return (NUMBER.sub("0", text) if varies else text).split()


def run_python(code, line, page, names):
    """What the block prints. Lines are counted as in the page, so that errors name its line."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile("\n" * line + code, page, "exec"), names)
    return printed.getvalue()


def run_commands(block):
    """The block with what its commands print now."""
    out = ""
    for line in block.splitlines():
        if line.startswith("$ "):
            environ = {**os.environ, "PATH": f"{COMMAND}:{os.environ['PATH']}", "RELAY_CACHE": "off"}
            ended = subprocess.run(
                ["bash", "-c", line[2:]], env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
            out += f"{line}\n{ended.stdout}"
            out += "" if out.endswith("\n") else "\n"
    return out


class LessonsTest(unittest.TestCase):
    def test_there_are_lessons(self):
        self.assertGreaterEqual(len(list(LESSONS.glob("*.md"))), FEWEST_LESSONS)

    def test_they_print_what_they_show(self):
        for page in sorted(LESSONS.glob("*.md")):
            with self.subTest(page.name), tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
                os.symlink(EXAMPLES, "examples")
                self.run_lesson(page)

    def run_lesson(self, page):
        text = page.read_text(encoding="utf-8")
        names, printed, edits = {"__name__": page.stem}, None, []
        blocks = list(BLOCK.finditer(text))
        self.assertGreaterEqual(len(blocks), FEWEST_BLOCKS)
        for block in blocks:
            kind, varies, body = block.groups()
            if kind == "python":
                self.assertFalse(printed, f"{page.name}: nothing shows what a block printed:\n{printed}")
                printed = run_python(body, text[: block.start(3)].count("\n"), str(page), names)
                continue
            found = run_commands(body) if kind == "console" else printed
            if kind == "text":
                printed = None
            if words_of(body, varies) != words_of(found, varies):
                edits.append((block, found))
                if not UPDATE:
                    self.assertEqual(body, found, f"{page.name}, line {text[: block.start()].count(chr(10)) + 1}")
        self.assertFalse(printed, f"{page.name}: nothing shows what the last block printed:\n{printed}")
        for block, found in reversed(edits):
            text = text[: block.start(3)] + found.rstrip() + "\n" + text[block.end(3) :]
        if edits:
            page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.argv = [word for word in sys.argv if word != "--update"]
    if UPDATE and "BUILD_WORKSPACE_DIRECTORY" in os.environ:
        LESSONS = pathlib.Path(os.environ["BUILD_WORKSPACE_DIRECTORY"], "docs/tutorial")
    unittest.main()
