#!/usr/bin/python3
"""What tools/count_tests.py says of the events of a run."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from sources import ROOT

XML = """<testsuites name="AllTests"><testsuite>
<testcase classname="A" name="Works" status="run"/>
<testcase classname="A" name="Breaks" status="run"><failure message="no"/></testcase>
<testcase classname="A" name="Waits" status="run"><skipped message="file:1&#10;no GPU"/></testcase>
</testsuite></testsuites>"""


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

    def test_each_test_of_googletest_is_counted(self):
        with tempfile.TemporaryDirectory() as folder:
            xml = Path(folder) / "test.xml"
            xml.write_text(XML, encoding="utf-8")
            files = [{"name": "test.xml", "uri": xml.as_uri()}]
            code, said = self.count(
                asked("//a"), built("//a"), shard("//a", 1, testResult={"status": "FAILED", "testActionOutput": files})
            )
        self.assertEqual(code, 1)
        self.assertIn("skipped 1 (A.Waits): no GPU", said)
        self.assertIn("failed //a A.Breaks", said)
        self.assertIn("1 passed, 1 failed, 1 skipped", said)

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
