#!/usr/bin/python3
"""Runs tests/exec through the Python package, on the engine `jit`, in this process.

`exec_test.py PART...` runs the files whose path contains one of the parts. Bazel runs each shard by itself.
"""

import importlib.util
import os
import pathlib
import sys
import unittest

import exec_files

import relay

PARTS = sys.argv[1:]
# Files with calls that are left out: their bfloat16 and 8-bit floats need the package ml_dtypes.
SMALL_FLOATS = set()
# An empty tensor in them has extents whose product no array of NumPy has.
TOO_LARGE = set()


def files():
    """The files of this shard."""
    part, parts = int(os.environ.get("TEST_SHARD_INDEX", 0)), int(os.environ.get("TEST_TOTAL_SHARDS", 1))
    if "TEST_SHARD_STATUS_FILE" in os.environ:  # tells Bazel that shards are understood
        pathlib.Path(os.environ["TEST_SHARD_STATUS_FILE"]).touch()
    paths = exec_files.files_beneath("tests/exec")
    return [p for p in paths if not PARTS or any(part in p for part in PARTS)][part::parts]


class ExecTest(unittest.TestCase):
    def test_every_file(self):
        ran, left_out = 0, set()
        for path in files():
            with self.subTest(path):
                modules = {}

                def make(function, denormals):
                    if function not in modules:
                        modules[function] = relay.parse(file.text, path, function)
                    return relay.jit(modules[function], denormals=denormals)

                file = exec_files.ExecFile(path, make)
                if file.is_rejected:
                    with self.assertRaises(relay.DiagnosticError):
                        relay.parse(file.text, path)
                for line in file.calls:
                    wrong = file.run(line)
                    if wrong is None:
                        left_out.add(path)
                    ran += wrong is not None
                    self.assertFalse(wrong, f"{path}: {line}")
        print(f"{ran} calls ran")
        self.assertGreater(ran, 0)
        expected = TOO_LARGE if importlib.util.find_spec("ml_dtypes") else TOO_LARGE | SMALL_FLOATS
        self.assertEqual(left_out, expected & set(files()))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
