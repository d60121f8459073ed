#!/usr/bin/python3
"""Which files clang-tidy looks at, and what is made of its output (tools/tidy.py)."""

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import sources

SCRIPT = sources.ROOT / "tools/tidy.py"
sys.path.insert(0, str(SCRIPT.parent))  # its import of change.py
spec = importlib.util.spec_from_file_location("tidy", SCRIPT)
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)

COMPILED = {"a/x.cc", "a/y.cc", "a/x_test.cc", "b/z.cc"}
INCLUDERS = {"a/x.h": ["a/x.cc", "a/x_test.cc", "b/z.cc"], "a/only.h": ["b/z.cc", "a/y.cc"], "a/lost.h": [], "c/t.h": ["c/template.cc"]}


class FilesTest(unittest.TestCase):
    def files(self, *changed):
        return script.files_of(changed, COMPILED, INCLUDERS.__getitem__)

    def test_changed_files_that_are_compiled(self):
        self.assertEqual(self.files("b/z.cc", "a/y.cc", "docs/x.md", "tools/templates/op.cc", "x.py"), (["a/y.cc", "b/z.cc"], []))

    def test_a_header_by_its_own_file(self):
        self.assertEqual(self.files("a/x.h"), (["a/x.cc"], []))

    def test_a_header_by_a_file_that_includes_it(self):
        self.assertEqual(self.files("a/only.h"), (["a/y.cc"], []))

    def test_a_header_by_a_file_that_changed_anyway(self):
        self.assertEqual(self.files("a/x.h", "b/z.cc"), (["b/z.cc"], []))

    def test_a_header_that_nothing_includes(self):
        self.assertEqual(self.files("a/lost.h", "c/t.h"), ([], ["a/lost.h", "c/t.h"]))


class SampleTest(unittest.TestCase):
    FILES = [f"a/{i}.cc" for i in range(800)]

    def commit(self, turn):
        return f"{turn:08x}" + 32 * "f"

    def test_each_file_has_one_turn(self):
        samples = [script.sample_of(self.FILES, self.commit(turn)) for turn in range(script.SAMPLES)]
        self.assertEqual(sorted(sum(samples, [])), sorted(self.FILES))
        for sample in samples:
            self.assertGreater(len(sample), 800 / script.SAMPLES / 2)

    def test_a_new_file_moves_no_other(self):
        before = script.sample_of(self.FILES, self.commit(3))
        self.assertEqual([f for f in script.sample_of([*self.FILES, "b/new.cc"], self.commit(3)) if f != "b/new.cc"], before)

    def test_commits_have_different_turns(self):
        self.assertEqual(script.sample_of(self.FILES, self.commit(3 + script.SAMPLES)), script.sample_of(self.FILES, self.commit(3)))
        self.assertNotEqual(script.sample_of(self.FILES, self.commit(4)), script.sample_of(self.FILES, self.commit(3)))


class FindingsTest(unittest.TestCase):
    def test_a_finding_is_its_place_and_what_explains_it(self):
        output = ("12 warnings generated.\n/r/a.cc:3:7: warning: 'x' used after it was moved [bugprone-use-after-move]\n    3 |   f(x);\n"
                  "/r/a.cc:2:5: note: move occurred here\n/r/b.h:1:1: error: y [z,-warnings-as-errors]\n")
        self.assertEqual([text.split("\n") for text in script.findings_of(output)],
                         [["/r/a.cc:3:7: warning: 'x' used after it was moved [bugprone-use-after-move]", "    3 |   f(x);",
                           "/r/a.cc:2:5: note: move occurred here"], ["/r/b.h:1:1: error: y [z,-warnings-as-errors]"]])

    def test_counts_are_no_findings(self):
        self.assertEqual(script.findings_of("12 warnings generated.\nSuppressed 3 warnings (3 NOLINT).\n"), [])


class RunTest(unittest.TestCase):
    """With the real clang-tidy, and the checks of the repository."""

    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        (self.root / "tools").mkdir()
        (self.root / "base").mkdir()
        for script in (SCRIPT, SCRIPT.parent / "change.py"):
            shutil.copy(script, self.root / "tools")
        shutil.copy(sources.ROOT / ".clang-tidy", self.root)
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=self.root, check=True, capture_output=True)

    def write(self, **texts):
        for name, text in texts.items():
            (self.root / "base" / name.replace("_", ".")).write_text(text)
        files = sorted(str(p.relative_to(self.root)) for p in self.root.rglob("*.cc"))
        (self.root / "compile_commands.json").write_text(json.dumps(
            [{"directory": str(self.root), "file": f, "arguments": ["g++", "-std=c++20", "-iquote", ".", "-c", f]} for f in files]))

    def tidy(self, *arguments):
        ended = subprocess.run([sys.executable, self.root / "tools/tidy.py", *arguments], capture_output=True, text=True,
                               env=dict(os.environ, PATH="/usr/bin:/bin"))
        return ended.returncode, ended.stdout, ended.stderr

    MOVED = "#include <string>\n#include <utility>\nvoid take(std::string s);\ninline size_t f(std::string s) {\n  take(std::move(s));\n  return s.size();\n}\n"

    def test_a_finding_in_a_shared_header_is_printed_once(self):
        self.write(x_h="#pragma once\n" + self.MOVED, a_cc='#include "base/x.h"\n', b_cc='#include "base/x.h"\n')
        code, out, said = self.tidy("--all")
        self.assertEqual(code, 1)
        self.assertEqual(out.count("'s' used after it was moved"), 1)
        self.assertIn("base/x.h:7:10: error: ", out)
        self.assertIn("clang-tidy: 2 files, 1 findings", said)

    def test_changes_alone(self):
        self.write(a_cc=self.MOVED, b_cc="int x;\n")
        self.git("add", ".")
        self.git("commit", "-qm", "x")
        self.assertEqual(self.tidy()[0], 0)
        self.write(b_cc=self.MOVED, c_cc="int y;\n")
        code, out, said = self.tidy()
        self.assertEqual(code, 1)
        self.assertIn("base/b.cc:6:10: error: ", out)
        self.assertNotIn("base/a.cc", out)
        self.assertIn("clang-tidy: 2 files, 1 findings", said)

    def test_the_sample_of_a_commit(self):
        self.write(**{f"f{i}_cc": self.MOVED for i in range(48)})
        self.git("add", ".")
        self.git("commit", "-qm", "x")
        commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=self.root, check=True, capture_output=True, text=True).stdout
        expected = script.sample_of([f"base/f{i}.cc" for i in range(48)], commit)
        code, out, said = self.tidy("--sample")
        self.assertEqual(code, 1 if expected else 0)
        self.assertEqual({line.split(":")[0] for line in out.splitlines() if ": error: " in line}, set(expected))
        self.assertIn(f"clang-tidy: {len(expected)} files", said)

    def test_what_does_not_compile_is_a_finding(self):
        self.write(a_cc="int f() { return x; }\n")
        code, out, _ = self.tidy("base/a.cc")
        self.assertEqual(code, 1)
        self.assertIn("use of undeclared identifier", out)

    def test_a_file_that_is_not_compiled_is_refused(self):
        self.write(a_cc="int x;\n")
        code, _, said = self.tidy("base/b.cc")
        self.assertEqual(code, 1)
        self.assertIn("relay: Bazel compiles no base/b.cc", said)


if __name__ == "__main__":
    unittest.main()
