#!/usr/bin/python3
"""A word that base/slugs.txt lacks does not compile as a slug, and a registry that is wrong does not build."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import sources

PROGRAM = """#include "base/slug.h"
relay::Slug made() { return "%s"; }
bool compared(relay::Slug slug) { return slug == "%s"; }
"""
GOOD = """# Words about the file.
bad-axis
  cause: An axis is bad.
  remedy: Take another one.

bad-rank
  cause: A rank is bad.
  remedy: Take another one.
  test: some/test.cc
"""


class SlugsTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "base").mkdir()

    def generate(self, registry):
        """What bazel/slugs.py says about the registry; empty if it is right."""
        (self.folder / "slugs.txt").write_text(registry, encoding="utf-8")
        command = ["/usr/bin/python3", sources.ROOT / "bazel/slugs.py", self.folder / "slugs.txt",
                   self.folder / "base/slug_names.inc", self.folder / "base/slug_texts.inc"]
        ended = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(ended.returncode == 0, not ended.stderr, ended.stderr)
        return ended.stderr

    def compile(self, made, compared):
        """What the compiler says about a program with these slugs; empty if it takes them."""
        (self.folder / "program.cc").write_text(PROGRAM % (made, compared), encoding="utf-8")
        compiler = os.environ.get("CXX", "g++")
        return subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-I", self.folder, "-I", sources.ROOT,
                               self.folder / "program.cc"], capture_output=True, text=True).stderr

    def test_a_word_that_is_not_registered_does_not_compile(self):
        self.assertEqual(self.generate(sources.read("base/slugs.txt")), "")
        self.assertEqual(self.compile("unknown-variable", "missing-comma"), "")
        for made, compared in (("unknown-varaible", "missing-comma"), ("unknown-variable", "missing-coma")):
            self.assertIn("this_word_is_not_in_base_slugs_txt", self.compile(made, compared))

    def test_a_wrong_registry_does_not_build(self):
        self.assertEqual(self.generate(GOOD), "")
        for old, new, said in (
                ("  cause: An axis is bad.\n", "", "`bad-axis` has no cause"),
                ("  remedy: Take another one.\n\n", "\n", "`bad-axis` has no remedy"),
                ("  cause: An axis is bad.\n", "  cause: An axis is bad\n", "the cause of `bad-axis` is a sentence"),
                ("  cause: An axis is bad.\n", "  cause: \n", "slugs.txt:3: expected"),
                ("  cause: An axis is bad.\n", "  why: An axis is bad.\n", "slugs.txt:3: expected"),
                ("  cause: A rank", "  cause: A.\n  cause: A rank", "`bad-rank` has two lines `cause`"),
                ("  remedy: Take another one.\n", "  remedy: Take another one.\n  fault: nobody\n", "the fault is one of: usage"),
                ("bad-axis\n", "", "slugs.txt:2: expected"),
                ("bad-axis", "bad_axis", "`bad_axis` is no slug"),
                ("bad-axis", "worse-axis", "`bad-rank` has to stand before `worse-axis`"),
                ("bad-axis", "bad-rank", "`bad-rank` is registered twice")):
            self.assertIn(old, GOOD)
            self.assertIn(said, self.generate(GOOD.replace(old, new, 1)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
