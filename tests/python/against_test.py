#!/usr/bin/python3
"""Other runtimes as references: relay.verify(..., against=NAME)."""

import contextlib
import pathlib
import re
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
    """A context with a module that stands for onnxruntime, and the module. It notes what it was given: the model's path, what is there,
    and the inputs."""
    fake = types.ModuleType("onnxruntime")
    fake.given = []
    fake.__version__ = "0.0"

    class InferenceSession:
        def __init__(self, model, providers):
            fake.given.extend([model, pathlib.Path(model).read_bytes()])

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
        _, model, feeds = fake.given
        self.assertIn(b"Relu", model)
        self.assertEqual(report.notes, ["`expected` is of onnxruntime 0.0"])
        self.assertIn("note: `expected` is of onnxruntime 0.0", str(report))
        self.assertEqual(sorted(feeds), ["x", "y"])

    def test_the_version_is_that_of_the_module_or_of_its_package(self):
        patch, fake = fake_onnxruntime([X + Y, np.maximum(X, 0)])
        del fake.__version__
        with patch, mock.patch("importlib.metadata.version", {"onnxruntime": "0.1"}.__getitem__):
            self.assertEqual(self.verify(against="onnxruntime").notes, ["`expected` is of onnxruntime 0.1"])

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
        for name, module, packages in (
            ("onnxruntime", "onnxruntime", "onnxruntime"),
            ("openvino", "openvino", "openvino"),
            ("torch", "torch", "torch onnx2torch"),
            ("tract", "tract", "tract"),
            ("tvm", "tvm", "apache-tvm onnx"),
            ("iree", "iree.compiler.tools", "iree-base-compiler[onnx] iree-base-runtime"),
        ):
            with mock.patch.dict(sys.modules, {module: None}):
                with self.assertRaisesRegex(ImportError, rf"^argument `against`: .*pip install {re.escape(packages)}$") as caught:
                    self.verify(against=name)
            self.assertEqual(caught.exception.name, module)

    def test_what_is_wrong(self):
        for name in ("tensorflow", "TVM", ""):
            with self.assertRaisesRegex(ValueError, f"'{name}', .*by name are onnxruntime, .*, tvm, iree: give a func"):
                self.verify(against=name)
        with self.assertRaisesRegex(TypeError, "argument `against` is a int"):
            self.verify(against=3)
        with self.assertRaisesRegex(TypeError, "not both"):
            self.verify(against="onnxruntime", expected=[X, X])
        for expected in ({"x": X}, [X], [X, X, X], {"output_0": X}):
            with self.assertRaisesRegex(TypeError, "argument `expected` has other outputs than the program"):
                self.verify(expected=expected)
        with self.assertRaisesRegex(ValueError, "argument `expected.*` has the shape"):
            self.verify(expected=[X + Y, X[0]])
        patch, _ = fake_onnxruntime([X + Y, X])
        with patch, self.assertRaises(relay.DiagnosticError):  # ONNX has no such form
            relay.verify(relay.parse("def @main(%x: int64) -> int64 { @main(%x) }"), [1], against="onnxruntime")

    def test_wrong_inputs_are_found_before_the_runtime_sees_them(self):
        patch, fake = fake_onnxruntime([X + Y, X])
        with patch:
            for inputs, error, said in (
                ([X], TypeError, "argument `y` is missing: its inputs are `x`, `y`"),
                ([X, Y, Y], TypeError, "3 arguments are given and the program takes 2"),
                ({"x": X, "z": Y}, TypeError, "there is no input `z`"),
                ([X, Y.astype(np.float64)], TypeError, "argument `y` has the dtype float64"),
                ([X, Y[0]], ValueError, "argument `y` has the shape"),
                ([X, None], TypeError, "argument `y` is of the type NoneType"),
            ):
                with self.assertRaisesRegex(error, said):
                    self.verify(inputs, against="onnxruntime")
        self.assertEqual(fake.given, [])
        calls = []
        same = relay.parse("def @main(%x: Tensor[(n), float32], %y: Tensor[(n), float32]) { add(%x, %y) }")
        with self.assertRaisesRegex(ValueError, "argument `y` has a wrong shape"):
            relay.verify(same, [X[0], np.ones(3, np.float32)], against=calls.append)
        lists = relay.parse('import "prelude"\ndef @main(%x: List[int64]) { @hd(%x) }')
        with self.assertRaisesRegex(TypeError, "argument `x` is of the type List.*only arrays are given"):
            relay.verify(lists, [[1]], against=calls.append)
        self.assertEqual(calls, [])

    def test_inputs_have_the_dtypes_of_the_program(self):
        patch, fake = fake_onnxruntime([np.float32(3)])
        with patch:
            report = relay.verify(relay.parse("def @main(%x: float32, %y: float32) { add(%x, %y) }"), [1, 2.0],
                                  engines="interp", levels=1, against="ort")
        self.assertTrue(report.ok)
        self.assertEqual([(a.dtype, a.shape) for a in fake.given[2].values()], [(np.float32, ())] * 2)

    def test_engines_and_levels_may_be_one(self):
        report = relay.verify(relay.parse(TEXT), [X, Y], engines="jit", levels=2)
        self.assertEqual([(r.engine, r.level) for r in report.rows], [("jit", 2)])
        with self.assertRaisesRegex(ValueError, "argument `engines`: .*jat"):
            relay.verify(relay.parse(TEXT), [X, Y], engines="jat")

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


class Tensor:
    """Stands for a tensor of PyTorch: its elements are seen after `detach().cpu()` alone."""

    def __init__(self, array, ready=False):
        self.array, self.ready = array, ready

    def detach(self):
        return Tensor(self.array)

    def cpu(self):
        return Tensor(self.array, ready=True)

    def __array__(self, *args, **options):
        assert self.ready
        return self.array


class FunctionTest(unittest.TestCase):
    """A function as the reference."""

    def verify(self, against, inputs=(X, Y)):
        return relay.verify(relay.parse(TEXT), inputs, engines="interp", against=against)

    def test_its_outputs_are_compared(self):
        def reference(x, y):
            return x + y, np.maximum(x, 0)

        for inputs in ((X, Y), {"y": Y, "x": X}):  # in the program's order
            report = self.verify(reference, inputs)
            self.assertTrue(report.ok)
            self.assertEqual([r.engine for r in report.rows], ["interp", "expected"])
            self.assertEqual(report.notes, ["`expected` is of the function reference"])
        self.assertTrue(self.verify(lambda x, y: {"output_1": np.maximum(x, 0), "output_0": x + y}).ok)
        self.assertTrue(self.verify(lambda x, y: [Tensor(x + y), Tensor(np.maximum(x, 0))]).ok)

    def test_a_difference_is_found(self):
        report = self.verify(lambda x, y: (x + y, x))
        self.assertEqual((report.ok, report.worst.engine, report.worst.verdict), (False, "expected", "differs"))

    def test_its_outputs_may_be_views(self):
        self.assertTrue(self.verify(lambda x, y: ((x.T + y.T).T, np.maximum(x, 0)[:, ::-1][:, ::-1])).ok)

    def test_it_may_write_to_its_arguments(self):
        x = X.copy()

        def reference(x, y):
            x += y
            return x, np.maximum(x - y, 0)

        self.assertTrue(self.verify(reference, (x, Y)).ok)
        np.testing.assert_array_equal(x, X)

    def test_a_module_of_pytorch_is_given_tensors(self):
        torch = types.ModuleType("torch")
        torch.nn = types.ModuleType("torch.nn")
        torch.nn.Module = type("Module", (), {})
        torch.from_numpy = Tensor
        said = []

        @contextlib.contextmanager
        def no_grad():
            said.append("begin")
            yield
            said.append("end")

        torch.no_grad = no_grad

        class Net(torch.nn.Module):
            def __call__(self, x, y):
                said.append(type(x))
                return Tensor(x.array + y.array), Tensor(np.maximum(x.array, 0))

        with mock.patch.dict(sys.modules, {"torch": torch}):
            report = self.verify(Net())
        self.assertTrue(report.ok)
        self.assertEqual(said, ["begin", Tensor, "end"])
        self.assertEqual(report.notes, ["`expected` is of the function Net"])

    def test_what_is_wrong(self):
        for reference, error, said in (
            (lambda x, y: x, ValueError, "the function <lambda> gives 1 outputs, and the program 2"),
            (lambda x, y: {"a": x}, TypeError, "argument `against` has other outputs than the program"),
            (lambda x, y: (x, None), TypeError, "argument `against` gives a NoneType"),
            (lambda x, y: (x, y[0]), ValueError, "argument `against.*` has the shape"),
            (lambda x, y: (x, y.astype(float)), TypeError, "argument `against.*` has the dtype float64"),
            (lambda x, y: 1 // 0, ZeroDivisionError, "by zero"),
        ):
            with self.assertRaisesRegex(error, said):
                self.verify(reference)


class OnnxTest(unittest.TestCase):
    def test_a_module_as_an_onnx_model(self):
        self.assertIn(b"Relu", relay.parse(TEXT).to_onnx())
        with self.assertRaises(relay.DiagnosticError) as caught:
            relay.parse("def @main(%x: int64) -> int64 { @main(%x) }").to_onnx()
        self.assertEqual(caught.exception.slug, "not-static-dataflow")


if __name__ == "__main__":
    unittest.main()
