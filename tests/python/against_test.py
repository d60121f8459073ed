#!/usr/bin/python3
"""Other runtimes as references: relay.verify(..., against=NAME)."""

import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

import numpy as np

import relay

TEXT = """def @main(%x: Tensor[(2, 2), float32], %y: Tensor[(2, 2), float32]) {
  (add(%x, %y), nn.relu(%x))
}"""
X, Y = np.array([[-1, 2], [3, 4]], np.float32), np.ones((2, 2), np.float32)


def fake_onnxruntime(outputs):
    """A module that stands for onnxruntime and notes what it was given."""
    fake = types.ModuleType("onnxruntime")
    fake.given = []
    fake.__version__ = "0.0"

    class InferenceSession:
        def __init__(self, model, providers):
            fake.given.append(model)

        def run(self, names, feeds):
            fake.given.append(feeds)
            return outputs

    fake.InferenceSession = InferenceSession
    return mock.patch.dict(sys.modules, {"onnxruntime": fake}), fake


class AgainstTest(unittest.TestCase):
    def verify(self, inputs=(X, Y), **options):
        return relay.verify(relay.parse(TEXT), inputs, engines=["interp"], **options)

    def test_the_outputs_are_compared(self):
        patch, fake = fake_onnxruntime([X + Y, np.maximum(X, 0)])
        with patch:
            report = self.verify(against="onnxruntime")
        self.assertTrue(report.ok)
        self.assertEqual([r.engine for r in report.rows], ["interp", "expected"])
        model, feeds = fake.given
        self.assertIn(b"Relu", model)
        self.assertEqual(report.notes, ["`expected` is of onnxruntime 0.0"])
        self.assertIn("note: `expected` is of onnxruntime 0.0", str(report))
        self.assertEqual(sorted(feeds), ["x", "y"])

    def test_a_difference_is_found(self):
        patch, _ = fake_onnxruntime([X + Y, X])
        with patch:
            report = self.verify({"y": Y, "x": X}, against="onnxruntime")
        self.assertFalse(report.ok)
        self.assertEqual((report.worst.engine, report.worst.verdict), ("expected", "differs"))

    def test_a_wrong_shape_or_count(self):
        patch, _ = fake_onnxruntime([X])
        with patch, self.assertRaisesRegex(ValueError, "gives 1 outputs, and the program 2"):
            self.verify(against="onnxruntime")

    def test_a_runtime_that_is_not_installed(self):
        for name in ("onnxruntime", "openvino"):
            with mock.patch.dict(sys.modules, {name: None}):
                with self.assertRaisesRegex(ImportError, f"pip install {name}") as caught:
                    self.verify(against=name)
            self.assertEqual(caught.exception.name, name)

    def test_what_is_wrong(self):
        with self.assertRaisesRegex(ValueError, "'tensorflow', and it is one of onnxruntime, openvino"):
            self.verify(against="tensorflow")
        with self.assertRaisesRegex(TypeError, "not both"):
            self.verify(against="onnxruntime", expected=[X, X])
        for expected in ({"x": X}, [X], [X, X, X], {"output_0": X}):
            with self.assertRaisesRegex(TypeError, "argument `expected` has other outputs than the program"):
                self.verify(expected=expected)
        with self.assertRaisesRegex(ValueError, "argument `expected.*` has the shape"):
            self.verify(expected=[X + Y, X[0]])
        patch, _ = fake_onnxruntime([X + Y, X])
        with patch, self.assertRaisesRegex(TypeError, "1 arguments are given and the program takes 2"):
            self.verify([X], against="onnxruntime")
        with patch, self.assertRaises(relay.DiagnosticError):  # ONNX has no such form
            relay.verify(relay.parse("def @main(%x: int64) -> int64 { @main(%x) }"), [1], against="onnxruntime")


    def test_a_model_of_a_file_is_run_as_the_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "net.onnx"
            path.write_bytes(relay.parse(TEXT).to_onnx())
            model = relay.load(path)
            patch, fake = fake_onnxruntime([X + Y, np.maximum(X, 0)])
            with patch:
                report = relay.verify(model, [X, Y], engines=["interp"], against="onnxruntime")
        self.assertTrue(report.ok)
        self.assertEqual(fake.given[0], str(path))


class OnnxTest(unittest.TestCase):
    def test_a_module_as_an_onnx_model(self):
        self.assertIn(b"Relu", relay.parse(TEXT).to_onnx())
        with self.assertRaises(relay.DiagnosticError) as caught:
            relay.parse("def @main(%x: int64) -> int64 { @main(%x) }").to_onnx()
        self.assertEqual(caught.exception.slug, "not-static-dataflow")


if __name__ == "__main__":
    unittest.main()
