#!/usr/bin/python3
"""The part of LLVM that goes into a wheel: what programs were linked with Debian's whole libLLVM for, it has."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import llvm
import relay

PACKAGE = pathlib.Path(relay.__file__).parent
COMPILES = """
import numpy as np, relay
f = relay.jit(relay.parse("def @main(%x: Tensor[(n, 4), float32]) { nn.softmax(multiply(%x, 2f)) }"))
print(f(np.zeros((3, 4), np.float32)).sum())
print(*{line.split()[-1] for line in open("/proc/self/maps") if "LLVM" in line})
"""


class LlvmPartTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()

    def test_it_compiles_models(self):
        library = llvm.link([PACKAGE / "_relay.so"], self.folder)
        environ = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "LD_LIBRARY_PATH": str(self.folder)}
        ended = subprocess.run([sys.executable, "-c", COMPILES], env=environ, capture_output=True, text=True)
        self.assertEqual(ended.stdout.splitlines(), ["3.0", str(library)], ended.stderr)
        with self.subTest("the newest function of the C library that LLVM asks for is replaced"):
            names = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True).stdout
            self.assertNotIn("arc4random", names)
        with self.subTest("it is a part"):
            self.assertLess(library.stat().st_size, 80e6)

    def test_a_missing_component_is_refused(self):
        with mock.patch.object(llvm, "COMPONENTS", ("orcjit", "passes", "x86")):
            with self.assertRaisesRegex(SystemExit, "no component of orcjit, passes, x86 has .*AArch64.*llvm.py lists"):
                llvm.link([PACKAGE / "_relay.so"], self.folder)


if __name__ == "__main__":
    unittest.main()
