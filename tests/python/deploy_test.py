#!/usr/bin/python3
"""The program of examples/deploy that uses the package, as its first lines say that it is run."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import relay

PROGRAM = pathlib.Path("examples/deploy/deploy_package.py")
MNIST = pathlib.Path("examples/models/mnist_8")


class DeployTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.library = pathlib.Path(folder.name) / "mnist.so"
        relay.compile(relay.load(MNIST / "model.onnx"), level=1).save(cls.library)

    def run_program(self, library, images, number):
        environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, PROGRAM, library, images, number]
        return subprocess.run(list(map(str, command)), env=environ, capture_output=True, text=True)

    def test_digits(self):
        for number in (7, 42, 99):
            ended = self.run_program(self.library, MNIST / "digits/images.npy", number)
            self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, f"{number // 10}\n", ""))

    def test_what_is_wrong(self):
        for library, images, number, says in (("nowhere.so", MNIST / "digits/images.npy", 0, "nowhere.so"),
                                              (self.library, "nowhere.npy", 0, "nowhere.npy"),
                                              (self.library, MNIST / "digits/images.npy", 1000, "out of bounds"),
                                              (self.library, MNIST / "digits/images.npy", "x", "invalid literal")):
            ended = self.run_program(library, images, number)
            self.assertEqual((ended.returncode, ended.stdout), (1, ""))
            self.assertIn(says, ended.stderr)
            self.assertNotIn("Traceback", ended.stderr)


if __name__ == "__main__":
    unittest.main()
