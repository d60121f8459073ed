#!/usr/bin/python3
"""What tools/count_tests.py says of the events of a run."""

import json
import re
import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path

from sources import ROOT

XML = """<testsuites name="AllTests"><testsuite>
<testcase classname="A" name="Works" status="run"/>
<testcase classname="A" name="Breaks" status="run"><failure message="no"/></testcase>
<testcase classname="A" name="Waits" status="run"><skipped message="file:1&#10;%s"/></testcase>
</testsuite></testsuites>"""
ALLOWED = "permissions do not bind this user"  # tools/skips.toml

# What unittest prints, tersely and verbosely.
TERSE = """\
.s
----------------------------------------------------------------------
Ran 2 tests in 0.001s

OK (skipped=1)
"""
VERBOSE = """\
test_inputs (__main__.TorchTest.test_inputs) ... skipped 'PyTorch is not installed for this Python'
test_ints (__main__.Ints.test_ints)
What a docstring says. ... skipped "it's late"
""" + TERSE.replace("skipped=1", "expected failures=1, skipped=2")


def asked(label):
    return {"id": {"targetConfigured": {"label": label}}, "configured": {"testSize": "SMALL"}}


def built(label):
    return {
        "id": {"targetCompleted": {"label": label}},
        "children": [{"testSummary": {}}],
        "completed": {"success": True},
    }


def shard(label, number, **event):
    return {"id": {"testResult": {"label": label, "shard": number}}, **event}


class CountTest(unittest.TestCase):
    def count(self, *events):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "events"
            path.write_text("\n".join(map(json.dumps, events)), encoding="utf-8")
            done = subprocess.run(
                [sys.executable, ROOT / "tools/count_tests.py", path], capture_output=True, text=True, check=False
            )
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout

    def of_file(self, name, text, status="PASSED"):
        """What is said of a target that left this file."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_text(text, encoding="utf-8")
            files = [{"name": name, "uri": path.as_uri()}]
            return self.count(
                asked("//a"), built("//a"), shard("//a", 1, testResult={"status": status, "testActionOutput": files})
            )

    def test_each_test_of_googletest_is_counted(self):
        code, said = self.of_file("test.xml", XML % ALLOWED, "FAILED")
        self.assertEqual(code, 1)
        self.assertIn(f"skipped 1 (A.Waits): {ALLOWED}", said)
        self.assertNotIn("not allowed", said)
        self.assertIn("failed //a A.Breaks", said)
        self.assertIn("1 passed, 1 failed, 1 skipped", said)

    def test_a_reason_that_is_not_listed_fails(self):
        passes = XML.replace('<failure message="no"/>', "")
        self.assertEqual(self.of_file("test.xml", passes % ALLOWED)[0], 0)
        code, said = self.of_file("test.xml", passes % "it is late")
        self.assertEqual(code, 1)
        self.assertIn("not allowed: A.Waits: tools/skips.toml has no such reason to skip: it is late", said)
        code, said = self.of_file("test.xml", passes.replace('status="run"/>', 'status="notrun"/>') % ALLOWED)
        self.assertEqual(code, 1)
        self.assertIn("reason to skip: disabled", said)

    def test_what_the_machines_here_lack_is_listed(self):
        passes = XML.replace('<failure message="no"/>', "")
        for target in ("cpu:avx512-vnni", "cpu:avx512-bf16"):  # target/host.cc says it
            reason = f"this processor has no avx512f, which the target `{target}` needs"
            self.assertEqual(self.of_file("test.xml", passes % reason)[0], 0)

    def test_more_skips_than_are_listed_fail(self):
        case = XML[XML.index('<testcase classname="A" name="Waits"') : XML.index("</testsuite>")] % ALLOWED
        text = '<testsuites name="AllTests"><testsuite>' + case * 4 + "</testsuite></testsuites>"
        code, said = self.of_file("test.xml", text)
        self.assertEqual(code, 1)
        self.assertIn(f"not allowed: 4 tests are skipped for `{ALLOWED}`; tools/skips.toml allows 3", said)

    def test_what_unittest_skips_is_counted(self):
        code, said = self.of_file("test.log", VERBOSE)
        self.assertEqual(code, 1)
        self.assertIn("skipped 1 (//a): PyTorch is not installed for this Python", said)
        self.assertIn("reason to skip: it's late", said)
        self.assertIn("1 passed, 0 failed, 2 skipped", said)
        code, said = self.of_file("test.log", VERBOSE.replace("it's late", "ml_dtypes is installed"))
        self.assertEqual(code, 0, said)

    def test_unittest_has_to_say_why(self):
        code, said = self.of_file("test.log", TERSE)
        self.assertEqual(code, 1)
        self.assertIn("unittest.main(verbosity=2)", said)

    def test_the_list_is_one_of_expressions(self):
        allowed = tomllib.loads((ROOT / "tools/skips.toml").read_text(encoding="utf-8"))["skip"]
        for entry in allowed:
            self.assertEqual(set(entry), {"reason", "most", "why"})
            self.assertIsNone(re.fullmatch(entry["reason"], "anything", re.DOTALL))
            self.assertTrue(entry["most"] > 0 and entry["why"])

    def test_a_shard_that_was_interrupted_has_failed(self):
        code, said = self.count(
            asked("//a"),
            built("//a"),
            shard("//a", 1, testResult={"status": "PASSED"}),
            shard("//a", 2, aborted={"reason": "USER_INTERRUPTED"}),
        )
        self.assertEqual(code, 1)
        self.assertIn("failed //a: aborted", said)
        self.assertIn("1 passed, 1 failed, 0 skipped", said)

    def test_what_was_not_built_has_failed(self):
        self.assertEqual(self.count(asked("//a"))[0], 1)

    def test_a_run_without_tests_is_no_success(self):
        code, said = self.count()
        self.assertEqual(code, 1)
        self.assertIn("no test matched", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
