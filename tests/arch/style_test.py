#!/usr/bin/python3
"""`./dev test` and `./dev check` look at format and lint before they build, say what is wrong, and name the remedy."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import sources

COPIED = ("dev", ".clang-format", ".shellcheckrc", "tools/packages.sh", "tools/reflow_comments.py")
BUILDS = "what builds and tests was called"


class StyleTest(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        self.checkout = self.root / "checkout"
        for path in COPIED:
            (self.checkout / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(sources.ROOT / path, self.checkout / path)
        for packages in ("packages", "test_packages"):
            self.write(f"third_party/{packages}.txt", "")
        self.write("tools/count_tests.py", "")
        self.write("tools/removed_assertions.py", "")
        self.write("tools/compile_commands.py", "")
        self.write("tools/tidy.py", "")
        self.write("good.cc", "int x;  // one\n")
        self.write("good.sh", 'echo "$1"\n', mode=0o755, first="#!/bin/bash\n")
        (self.root / "bin").mkdir()
        bazel = self.root / "bin/bazel"
        bazel.write_text(f"#!/bin/sh\necho {BUILDS}\n")
        bazel.chmod(0o755)
        subprocess.run(["git", "init", "-q", self.checkout], check=True)

    def write(self, path, text, mode=0o644, first=""):
        file = self.checkout / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(first + text)
        file.chmod(mode)

    def dev(self, *arguments):
        environment = dict(os.environ, PATH=f"{self.root / 'bin'}:/usr/bin:/bin", GIT_CEILING_DIRECTORIES=str(self.root))
        return subprocess.run([self.checkout / "dev", *arguments], capture_output=True, text=True, env=environment)

    def refused(self, *says):
        for command in ("test", "check"):
            ended = self.dev(command)
            self.assertEqual(ended.returncode, 2, ended.stderr)
            self.assertNotIn(BUILDS, ended.stdout)
            for text in (*says, "relay: format and lint failed, nothing was built"):
                self.assertIn(text, ended.stderr)

    def passes(self, *arguments):
        ended = self.dev(*arguments)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertIn(BUILDS, ended.stdout)

    def test_what_is_in_order_is_built(self):
        self.passes("test")
        self.passes("test", "--config=asan")
        self.passes("check")

    def test_format(self):
        self.write("bad.cc", "int   x;\n")
        self.refused("bad.cc:1:4: error: code should be clang-formatted", "not formatted: ./dev format")
        self.assertEqual(self.dev("format").returncode, 0)
        self.passes("test")

    def test_wide_comments(self):
        self.write("bad.h", "int x;\n\n// " + "word " * 19 + "words\nint y;\n")
        self.refused("bad.h:3: a comment of 103 columns, at most 100: ./dev format", "the comments above are too wide: ./dev format")
        self.assertEqual(self.dev("format").returncode, 0)
        self.passes("test")

    def test_scripts_are_found_by_name_and_by_first_line(self):
        for path, first in (("folder/bad", "#!/usr/bin/env bash\n"), (".hidden/bad", "#!/bin/sh\n"), ("bad.sh", "")):
            self.write(path, "echo $1\n", first=first)
            self.refused(f"In {path} line", "shellcheck has objections")
            (self.checkout / path).unlink()
        self.write("python", "print($1\n", first="#!/usr/bin/python3\n")
        self.write("bytes", "#!/bin/sh is not at the beginning\n", first="\0\n")
        self.passes("test")

    def test_blanks_at_ends_of_lines(self):
        self.write("bad.py", "x = 1 \n")
        self.refused("bad.py:1:x = 1 ", "end in blanks: remove them")

    def test_all_complaints_come_at_once(self):
        self.write("bad.cc", "int   x;\n")
        self.write("bad.sh", "echo $1 \n", first="#!/bin/sh\n")
        self.refused("not formatted", "shellcheck has objections", "end in blanks")

    def test_single_tests_run_whatever_the_format(self):
        self.write("bad.cc", "int   x;\n")
        ended = self.dev("test", "some_test")
        self.assertNotIn("not formatted", ended.stderr)
        self.assertIn(BUILDS, ended.stdout)

    def test_a_file_that_is_gone_is_not_missed(self):
        self.write("gone.cc", "int x;\n")
        subprocess.run(["git", "-C", self.checkout, "add", "gone.cc"], check=True)
        (self.checkout / "gone.cc").unlink()
        self.passes("test")

    def test_what_is_ignored_is_not_looked_at(self):
        self.write(".gitignore", "/build\n")
        self.write("build/bad.cc", "int   x;\n")
        self.passes("test")

    def test_without_git_there_is_a_note(self):
        shutil.rmtree(self.checkout / ".git")
        ended = self.dev("test")
        self.assertEqual(ended.returncode, 0)
        self.assertIn("relay: this folder is no git checkout, so format and lint are not checked", ended.stderr)
        self.assertIn(BUILDS, ended.stdout)


if __name__ == "__main__":
    unittest.main()
