#!/usr/bin/python3
"""What a model says of itself, and models that are read from memory."""

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
