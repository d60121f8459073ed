#!/usr/bin/python3
"""Every operator that the importer takes is drawn by graphs from outside, or left out for a reason.

The table needs NumPy. What it makes nodes of is the package `onnx`, which a table of names does not need.
"""

import sys
import unittest
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.modules["onnx"] = mock.MagicMock()

from graphs import complete

RELAY = Path("tools/relay")


class CompleteTest(unittest.TestCase):
    def test_all_operators_of_the_importer_are_in_the_table(self):
        self.assertEqual(complete.missing_operators(RELAY), [])

    def test_what_is_missing_is_named(self):
        without = {name: row for name, row in complete.OPERATORS.items() if name != "Abs"}
        with mock.patch.object(complete, "OPERATORS", without):
            (found,) = complete.missing_operators(RELAY)
        self.assertIn("Abs is imported, and neither drawn nor excluded", found)

        with mock.patch.object(complete, "EXCLUDED_DOMAINS", {}):
            found = complete.missing_operators(RELAY)
        self.assertTrue(any("the domain com.microsoft is imported" in line for line in found), found)

        with mock.patch.dict(complete.EXCLUDED, {"Abs": "no reason", "Gone": "likewise"}):
            found = complete.missing_operators(RELAY)
        self.assertEqual(found, ["Gone is not imported any more", "Abs is both drawn and excluded"])

    def test_reasons_are_sentences(self):
        for reason in [*complete.EXCLUDED.values(), *complete.EXCLUDED_DOMAINS.values()]:
            self.assertGreater(len(reason.split()), 1, reason)


if __name__ == "__main__":
    unittest.main(verbosity=2)
