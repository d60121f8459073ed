#!/usr/bin/python3
"""Compiled models whose weights are a file beside the library."""

import copy
import os
import pathlib
import pickle
import subprocess
import tempfile
import unittest

import numpy as np

import relay

COMMAND = pathlib.Path("tools").absolute()  # where Bazel puts `relay` for this test; else it is found as a shell finds it
X = np.arange(4, dtype=np.float32)


class WeightsTest(unittest.TestCase):
    def compiled(self, weights):
        """The path of a library, in a folder of its own, that adds the weights."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / "net.so"
        text = f"def @main(%x: Tensor[(4), float32]) {{ add(%x, tensor({weights}, float32, (4))) }}"
        path.with_suffix(".relay").write_text(text)
        environ = {**os.environ, "PATH": f"{COMMAND}:{os.environ['PATH']}"}
        command = ["relay", "compile", path.with_suffix(".relay"), "-o", path, "--weights-file"]
        subprocess.run(command, env=environ, check=True, capture_output=True)
        self.assertTrue(path.with_suffix(".safetensors").exists())
        return path

    def copies(self, f, folder):
        """Copies of the model, each made in another way."""
        yield pickle.loads(pickle.dumps(f))
        yield copy.deepcopy(f)
        saved = pathlib.Path(folder) / "saved.so"
        f.save(saved)
        yield relay.open(saved)

    def test_copies_have_the_weights_that_were_opened(self):
        mine, other = self.compiled([1, 2, 3, 4]), self.compiled([5, 6, 7, 8])
        f = relay.open(mine)
        for change in (lambda: None, lambda: relay.open(other).save(mine),
                       lambda: (mine.unlink(), mine.with_suffix(".safetensors").unlink())):
            change()
            with tempfile.TemporaryDirectory() as folder:
                for again in (f, *self.copies(f, folder)):
                    np.testing.assert_array_equal(again(X), X + [1, 2, 3, 4])


if __name__ == "__main__":
    unittest.main()
