#!/usr/bin/python3
"""Tensors of other packages, through DLPack: read and written where they lie, never copied."""

import ctypes
import unittest

import numpy as np

import relay

try:
    import torch
except ImportError:
    torch = None

READ_ONLY, COPIED = 1, 2  # flags of DLPack 1.1

ADD = "def @main(%x: Tensor[(2, 2), float32]) { add(%x, 1f) }"
TURN = "def @main(%x: Tensor[(2, 2), float32]) { transpose(%x, axes=[1, 0]) }"
PAIR = "def @main(%x: Tensor[(4), float32]) { (negative(%x), multiply(%x, 2f)) }"


class Foreign:
    """A tensor of another package: memory behind DLPack, and nothing else that NumPy knows."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options):
        return self.array.__dlpack__()


class Versioned(ctypes.Structure):
    """DLManagedTensorVersioned of DLPack 1.1, which NumPy makes since version 2.1."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.c_void_p),
        ("offset", ctypes.c_uint64),
    )


class Flagged:
    """A float32 tensor of two dims whose capsule has these flags."""

    def __init__(self, array, flags):
        self.array = array
        self.shape = (ctypes.c_int64 * 2)(*array.shape)
        self.tensor = Versioned(
            1, 1, None, None, flags, array.ctypes.data, 1, 0, 2, 2, 32, 1,
            ctypes.cast(self.shape, ctypes.POINTER(ctypes.c_int64)), None, 0,
        )  # fmt: skip

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **options):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(ctypes.addressof(self.tensor), b"dltensor_versioned", None)


def ways(text):
    model = relay.parse(text)
    yield lambda *args, **named: relay.interpret(model, *args, **named)
    yield relay.jit(model)
    yield relay.compile(model, level=1)


class DLPackTest(unittest.TestCase):
    def setUp(self):
        self.x = np.array([[1, 2], [3, 4]], np.float32)

    def test_an_input_is_not_copied(self):
        """The library compares pointers, so it knows a tensor by its memory."""
        turn = relay.compile(relay.parse(TURN), level=1)
        for given, out in ((Foreign(self.x), self.x), (self.x, Foreign(self.x)), (Foreign(self.x), Foreign(self.x))):
            with self.assertRaisesRegex(ValueError, "shares memory with `x`"):
                turn(given, out=out)
        np.testing.assert_array_equal(turn(Foreign(self.x)), self.x.T)

    def test_in_place(self):
        """`out` may be the memory of an input that the program updates."""
        f = relay.compile(relay.parse(ADD), level=1)
        self.assertEqual(f.description["aliased"][0]["input"], 0)
        given, expected = Foreign(self.x), self.x + 1
        self.assertIs(f(given, out=self.x), self.x)
        np.testing.assert_array_equal(self.x, expected)
        self.assertIs(f(given, out=given), given)
        np.testing.assert_array_equal(self.x, expected + 1)

    def test_outputs(self):
        x = np.arange(4, dtype=np.float32)
        for f in ways(PAIR):
            memory = [np.empty(4, np.float32), np.empty(4, np.float32)]
            out = (Foreign(memory[0]), memory[1])
            self.assertIs(f(x, out=out), out)
            np.testing.assert_array_equal(memory, [-x, 2 * x])

    def test_outputs_that_do_not_fit(self):
        for f in ways(ADD):
            for array, kind, says in ((np.empty((2, 3), np.float32), ValueError, r"`out` has the shape \(2, 3\)"),
                                      (np.empty((2, 2)), TypeError, "`out` has the dtype .* 64 bits"),
                                      (np.empty((2, 2), np.float32, "F"), ValueError, "`out` is not contiguous")):
                with self.assertRaisesRegex(kind, says):
                    f(self.x, out=Foreign(array))
            np.testing.assert_array_equal(f(self.x), self.x + 1)

    def test_what_gives_no_memory(self):
        """NumPy before 2.1 refuses to export an array that is read-only; later ones say so in the tensor."""
        memory = np.zeros((2, 2), np.float32)
        memory.flags.writeable = False
        for f in ways(ADD):
            with self.assertRaisesRegex(ValueError, "argument `out`.*read-?only"):
                f(self.x, out=Foreign(memory))
        self.assertEqual(memory.tolist(), [[0, 0], [0, 0]])

    def test_flags(self):
        """A producer may copy: an input may be a copy, and the place of a result must not."""
        for f in ways(ADD):
            memory = np.zeros((2, 2), np.float32)
            np.testing.assert_array_equal(f(Flagged(self.x, COPIED)), self.x + 1)
            np.testing.assert_array_equal(f(Flagged(self.x, READ_ONLY)), self.x + 1)
            with self.assertRaisesRegex(ValueError, "argument `out`: its __dlpack__ gives a copy"):
                f(self.x, out=Flagged(memory, COPIED))
            with self.assertRaisesRegex(ValueError, "argument `out` is read-only"):
                f(self.x, out=Flagged(memory, READ_ONLY))
            self.assertEqual(memory.tolist(), [[0, 0], [0, 0]])
            f(self.x, out=Flagged(memory, 0))
            np.testing.assert_array_equal(memory, self.x + 1)


@unittest.skipIf(torch is None, "PyTorch is not installed for this Python")
class TorchTest(unittest.TestCase):
    def test_inputs_and_outputs(self):
        for f in ways(ADD):
            x, y = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.empty(2, 2)
            self.assertIs(f(x, out=y), y)
            self.assertTrue(torch.equal(y, x + 1))
            self.assertTrue(torch.equal(torch.from_dlpack(f(x)), x + 1))

    def test_in_place(self):
        x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        before = x.clone()
        relay.compile(relay.parse(ADD), level=1)(x, out=x)
        self.assertTrue(torch.equal(x, before + 1))

    def test_what_does_not_fit(self):
        for f in ways(ADD):
            with self.assertRaisesRegex(ValueError, "argument `x`.*gradient"):
                f(torch.ones(2, 2, requires_grad=True))
            with self.assertRaisesRegex(ValueError, "argument `x` is not contiguous"):
                f(torch.ones(2, 2)[:, ::2].expand(2, 2))
            with self.assertRaisesRegex(TypeError, "argument `x` has the dtype"):
                f(torch.ones(2, 2, dtype=torch.float64))


if __name__ == "__main__":
    unittest.main(verbosity=2)  # tools/count_tests.py reads why tests are skipped
