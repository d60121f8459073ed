#!/usr/bin/python3
"""What a model says of itself, and models that are read from memory."""

import json
import pathlib
import struct
import subprocess
import tempfile
import unittest
from unittest import mock

import numpy as np

import relay

LISTS = """
import "prelude"
def @main(%xs: List[Tensor[(2), float32]]) { @map(fn (%x: Tensor[(2), float32]) { add(%x, 1f) }, %xs) }
"""


class TypesTest(unittest.TestCase):
    def test_types_of_inputs_and_outputs(self):
        model = relay.parse('def @main(%x: Tensor[(n, 2), float32], %k: int8) { ((%x, %k), cast(%x, dtype="int64")) }')
        self.assertEqual(model.input_types, {"x": relay.Tensor(("n", 2), "float32"), "k": relay.Type("int8")})
        self.assertEqual(list(model.output_types), model.outputs)
        self.assertEqual([t.dtype for t in model.output_types.values()], ["float32", "int8", "int64"])
        self.assertEqual(model["main"].parameter_types, list(model.input_types.values()))
        self.assertEqual(len(model["main"].result_type.fields), 2)

    def test_inputs_can_be_made_from_them(self):
        model = relay.parse("def @main(%x: Tensor[(n, 2), float32], %k: int8) { (%x, %k) }")
        inputs = {}
        for name, t in model.input_types.items():
            inputs[name] = np.zeros([3 if isinstance(extent, relay.Dim) else extent for extent in t.shape], t.dtype)
        self.assertEqual([y.shape for y in relay.interpret(model, **inputs)], [(3, 2), ()])

    def test_data_types_and_functions_that_are_not_run(self):
        lists = relay.parse(LISTS)
        self.assertEqual(str(lists.input_types["xs"]), "List[Tensor[(2), float32]]")
        self.assertEqual((lists.output_types, str(lists["main"].result_type)), ({}, "List[Tensor[(2), float32]]"))
        other = relay.parse("def @other(%x: int64) { %x }")
        self.assertEqual((other.input_types, other.output_types), ({}, {}))

    def test_the_version(self):
        self.assertRegex(relay.__version__, r"^\d+\.\d+\.\d+")


# y = relu(x - w), as TVM writes it; `parameters` is Relay's own.
GRAPH = {
    "nodes": [
        {"op": "null", "name": "x", "inputs": []},
        {"op": "null", "name": "w", "inputs": []},
        {"op": "tvm_op", "name": "y", "inputs": [[0, 0, 0], [1, 0, 0]], "attrs": {
            "func_name": "f", "num_inputs": "2", "num_outputs": "1", "flatten_data": "0",
            "relay": "fn (%a: Tensor[(4), float32], %b: Tensor[(4), float32], Primitive=True) -> Tensor[(4), float32] "
                     "{ nn.relu(subtract(%a, %b)) }"}},
    ],
    "arg_nodes": [0, 1],
    "heads": [[2, 0, 0]],
    "node_row_ptr": [0, 1, 2, 3],
    "attrs": {"shape": ["list_shape", [[4], [4], [4]]], "dltype": ["list_str", ["float32"] * 3], "storage_id": ["list_int", [0, 1, 2]]},
}  # fmt: skip


def params(name, array):
    """A blob with one parameter."""
    head = struct.pack("<QQQQ", 0xF7E58D4F05049CB7, 0, 1, len(name)) + name.encode() + struct.pack("<Q", 1)
    record = struct.pack("<QQiiiBBHqq", 0xDD5E40F096B4A13F, 0, 1, 0, 1, 2, 32, 1, array.size, array.nbytes)
    return head + record + array.tobytes()


class FilesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_graphs(self):
        x, w = np.array([1, 5, 3, 7], np.float32), np.array([2, 2, 4, 4], np.float32)
        path = self.folder / "graph.json"
        path.write_text(json.dumps(GRAPH))
        model = relay.load(path)
        self.assertEqual(model.inputs, ["x", "w"])  # nothing says that the one is a parameter
        np.testing.assert_array_equal(relay.jit(model)(x, w), [0, 3, 0, 3])
        with self.assertRaises(relay.DiagnosticError) as caught:
            relay.load(self.folder)
        self.assertEqual(caught.exception.slug, "graph-parameter")
        (self.folder / "graph.params").write_bytes(params("w", w))
        for given in (self.folder, str(self.folder), path):
            model = relay.load(given)
            self.assertEqual(model.inputs, ["x"])
            for f in (lambda x: relay.interpret(model, x), relay.jit(model), relay.compile(model, level=1)):  # noqa: B023
                np.testing.assert_array_equal(f(x), [0, 3, 0, 3])
        path.write_text("{}")
        with self.assertRaises(relay.DiagnosticError):
            relay.load(self.folder)

    def test_c_functions_of_libraries(self):
        source, library, text = (self.folder / name for name in ("twice.cc", "libtwice.so", "net.relay"))
        source.write_text("""#include <stdint.h>
extern "C" int32_t twice(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i];
  return n == 3 ? 7 : 0;
}""")
        subprocess.run(["g++", "-shared", "-fPIC", source, "-o", library], check=True)
        text.write_text('extern kernel @twice(x: float32[n]) -> (y: float32[n]) symbol "twice";\n'
                        "def @main(%x: Tensor[(n), float32]) { @twice(add(%x, 1f)) }")
        model = relay.load(text, libraries=[library])
        for f in (lambda x: relay.interpret(model, x), relay.jit(model)):
            np.testing.assert_array_equal(f(np.array([1, 2], np.float32)), [4, 6])
            with self.assertRaisesRegex(relay.TrapError, "twice.*7"):
                f(np.zeros(3, np.float32))
        with self.assertRaises(relay.DiagnosticError) as caught:
            relay.load(text, libraries=[self.folder / "absent.so"])
        self.assertEqual(caught.exception.slug, "cannot-load")


class FromOnnxTest(unittest.TestCase):
    content = relay.parse("def @main(%x: Tensor[(n, 2), float32]) { add(%x, 1f) }").to_onnx()

    def test_bytes_and_messages(self):
        message = mock.Mock(spec=["SerializeToString"])  # as an onnx.ModelProto
        message.SerializeToString.return_value = self.content
        x = np.ones((3, 2), np.float32)
        for given in (self.content, bytearray(self.content), memoryview(self.content), message):
            model = relay.from_onnx(given)
            np.testing.assert_array_equal(relay.interpret(model, x), x + 1)
            self.assertEqual((model.inputs, model.files), (["x"], []))
        self.assertEqual(relay.from_onnx(self.content, shapes={"x": [3, 2]}).input_types["x"].shape, (3, 2))

    def test_what_is_no_model(self):
        for wrong in ("model.onnx", None, 3):
            with self.assertRaisesRegex(TypeError, "relay.from_onnx takes bytes or an onnx.ModelProto; relay.load takes a path"):
                relay.from_onnx(wrong)
        for content, slug in ((b"", "onnx-empty"), (self.content[:-5], "onnx-malformed")):
            with self.assertRaises(relay.DiagnosticError) as caught:
                relay.from_onnx(content)
            self.assertEqual(caught.exception.slug, slug)


if __name__ == "__main__":
    unittest.main()
