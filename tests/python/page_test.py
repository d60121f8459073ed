#!/usr/bin/python3
"""Runs the blocks of docs/python.md, one after the other."""

import contextlib
import io
import os
import pathlib
import re
import tempfile
import unittest
from unittest import mock

PAGE = pathlib.Path("docs/python.md").absolute()
MODELS = pathlib.Path("examples").absolute()


class PageTest(unittest.TestCase):
    def test_the_blocks_run(self):
        text = PAGE.read_text(encoding="utf-8")
        blocks = list(re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
        self.assertGreater(len(blocks), 5)
        names = {}
        with tempfile.TemporaryDirectory() as folder:  # blocks write files
            os.symlink(MODELS, pathlib.Path(folder) / "examples")
            with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
                for block in blocks:
                    line = text[: block.start(1)].count("\n")
                    exec(compile("\n" * line + block[1], PAGE, "exec"), names)
                self.check_bar(names)

    def check_bar(self, names):
        """What the page gives to a bar of tqdm moves it to its end."""
        said = []
        bar = mock.Mock(spec=["set_description"], total=None, n=0)
        bar.set_description.side_effect = lambda what: said.append((bar.n, bar.total, what))
        names["relay"].compile(names["model"], level=1, progress=names["moves"](bar))
        self.assertEqual([what for _, _, what in said], ["passes and kernels", "C++ compiler", "opening", "done"])
        self.assertEqual([(n, total) for n, total, _ in said], [(0, 3), (1, 3), (2, 3), (3, 3)])


if __name__ == "__main__":
    unittest.main()
