#!/usr/bin/python3
"""What counts as an assertion that a change removes (tools/removed_assertions.py)."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

import sources

SCRIPT = sources.ROOT / "tools/removed_assertions.py"
sys.path.insert(0, str(SCRIPT.parent))  # its import of change.py
spec = importlib.util.spec_from_file_location("removed_assertions", SCRIPT)
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)


def diff(before, after, *lines):
    """A diff of one file; None: it is not there."""
    return "\n".join([f"diff --git a/{before or after} b/{after or before}",
                      f"--- a/{before}" if before else "--- /dev/null",
                      f"+++ b/{after}" if after else "+++ /dev/null", "@@ -1 +1 @@", *lines]) + "\n"


def removed(*diffs, new_files=()):
    return script.removed_assertions("".join(diffs), new_files)


class RemovedAssertionsTest(unittest.TestCase):
    def test_a_line_that_goes_is_printed(self):
        self.assertEqual(removed(diff("op/x_test.cc", "op/x_test.cc", "-  EXPECT_EQ(a,   b);", "+  (void)a;")),
                         ["op/x_test.cc: EXPECT_EQ(a, b);"])

    def test_a_changed_expectation_is_printed(self):
        self.assertEqual(removed(diff("a_test.cc", "a_test.cc", "-  EXPECT_LT(e, 4);", "+  EXPECT_LT(e, 8);")),
                         ["a_test.cc: EXPECT_LT(e, 4);"])

    def test_every_kind_of_assertion_counts(self):
        for path, line in (("tests/cli/a.cc", "ASSERT_TRUE(x);"), ("tests/cli/a.cc", "refused({}, kUsage, {});"),
                           ("a_test.cc", "TEST_F(Limits, Hold) {"), ("a_test.cc", "ADD_FAILURE() << x;"),
                           ("tests/arch/a.py", "self.assertEqual(a, b)"), ("tests/arch/a.py", "def test_it(self):"),
                           ("tests/exec/op/add.relay", '@f(1) traps "by zero"'),
                           ("tests/exec/op/add.relay", "@f(1, 2) == 3"), ("tests/exec/op/add.relay", "@f(1f) ~ 2f")):
            self.assertEqual(removed(diff(path, path, "-" + line)), [f"{path}: {line}"])

    def test_what_asserts_nothing_is_not(self):
        self.assertEqual(removed(diff("op/x.cc", "op/x.cc", "-  EXPECT_EQ(a, b);"),
                                 diff("x_test.cc", "x_test.cc", "-  int expect = 1;"),
                                 diff("tests/exec/a.relay", "tests/exec/a.relay", "-def @f(%x: int32) { %x }")), [])

    def test_what_is_added_elsewhere_is_not_removed(self):
        gone = diff("a_test.cc", "a_test.cc", "-  EXPECT_EQ(a, b);", "-  EXPECT_EQ(a, b);")
        come = diff("b_test.cc", "b_test.cc", "+    EXPECT_EQ(a, b);")
        self.assertEqual(removed(gone, come), ["a_test.cc: EXPECT_EQ(a, b);"])
        self.assertEqual(removed(gone, come, new_files=[("c_test.cc", "EXPECT_EQ(a, b);\n")]), [])
        self.assertEqual(removed(gone, new_files=[("c.cc", "EXPECT_EQ(a, b);\nEXPECT_EQ(a, b);\n")]),
                         ["a_test.cc: EXPECT_EQ(a, b);"] * 2)

    def test_a_deleted_file_is_one_line(self):
        self.assertEqual(removed(diff("tests/golden/x/fail_a.relay", None, "-RUN check", "-@f() == 1"),
                                 diff("docs/a.relay", None, "-x")), ["tests/golden/x/fail_a.relay: deleted"])

    def test_a_test_that_need_not_fail_any_more_is_printed(self):
        def renamed(before, after):
            return f"diff --git a/{before} b/{after}\nsimilarity index 100%\nrename from {before}\nrename to {after}\n"
        self.assertEqual(removed(renamed("tests/golden/x/fail_a.relay", "tests/golden/x/a.relay"),
                                 renamed("tests/golden/x/b.relay", "docs/b.relay"),
                                 renamed("tests/golden/x/fail_c.relay", "tests/golden/y/fail_c.relay")),
                         ["tests/golden/x/fail_a.relay: deleted", "tests/golden/x/b.relay: deleted"])

    def test_a_line_like_a_header_is_a_line(self):
        self.assertEqual(removed(diff("a_test.cc", "a_test.cc", "--- a/EXPECT_EQ(1, 2)", "+++ b/x")),
                         ["a_test.cc: -- a/EXPECT_EQ(1, 2)"])

    def test_the_working_tree_is_compared(self):
        with tempfile.TemporaryDirectory() as folder:
            def git(*arguments):
                subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=folder, check=True,
                               capture_output=True, env={**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"})

            def write(name, text):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)

            def says():
                return subprocess.run([sys.executable, str(SCRIPT)], cwd=folder, check=True, capture_output=True,
                                      text=True).stdout

            git("init", "-q", "-b", "main")
            write("a_test.cc", "EXPECT_EQ(1, 1);\nEXPECT_EQ(2, 2);\nEXPECT_EQ(3, 3);\n")
            git("add", ".")
            git("commit", "-qm", "first")
            self.assertEqual(says(), "")
            git("checkout", "-qb", "work")
            write("a_test.cc", "EXPECT_EQ(2, 2);\nEXPECT_EQ(3, 3);\n")
            git("commit", "-qam", "second")
            write("a_test.cc", "EXPECT_EQ(3, 3);\n")
            write("b_test.cc", "EXPECT_EQ(2, 2);\n")
            self.assertIn("removes", says())
            self.assertEqual(says().splitlines()[1:], ["  a_test.cc: EXPECT_EQ(1, 1);"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
