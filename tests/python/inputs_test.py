#!/usr/bin/python3
"""Bad arguments: each is a Python exception that names the argument, on every way to run a model."""

import array
import gc
import threading
import unittest
import unittest.mock

import numpy as np

import relay

SUM = "def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(3), float32]) { add(%x, %y) }"


class InputsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        model = relay.parse(SUM)
        cls.ways = [lambda *a, **n: relay.interpret(model, *a, **n), relay.jit(model), relay.compile(model, level=1)]
        cls.x = np.ones((2, 3), np.float32)
        cls.y = np.array([1, 2, 3], np.float32)

    def refused(self, kind, *says, args=None, **named):
        for f in self.ways:
            with self.assertRaises(kind) as caught:
                f(*((self.x, self.y) if args is None else args), **named)
            for text in says:
                self.assertIn(text, str(caught.exception))
            # The model is usable afterwards.
            np.testing.assert_array_equal(f(self.x, self.y), self.x + self.y)

    def test_dtype(self):
        self.refused(TypeError, "`x`", "float64", 'x.astype("float32")', args=(self.x.astype(np.float64), self.y))
        self.refused(TypeError, "`y`", "int32", args=(self.x, self.y.astype(np.int32)))
        self.refused(TypeError, "`x`", "complex64", args=(self.x.astype(np.complex64), self.y))
        self.refused(TypeError, "`y`", "<U1", args=(self.x, np.array(["1", "2", "3"])))
        self.refused(TypeError, "`y`", "datetime64", args=(self.x, np.zeros(3, "datetime64[s]")))
        self.refused(TypeError, "`y`", "'a'", args=(self.x, np.zeros(3, [("a", np.float32)])))

    def test_shape(self):
        self.refused(ValueError, "`x`", "(3, 2)", "(2, 3)", args=(self.x.reshape(3, 2), self.y))
        self.refused(ValueError, "`y`", "(1, 3)", "(3,)", args=(self.x, self.y.reshape(1, 3)))

    def test_shape_variables(self):
        model = relay.parse("def @main(%x: Tensor[(n), float32], %y: Tensor[(n), float32]) { add(%x, %y) }")
        for f in (lambda *a: relay.interpret(model, *a), relay.jit(model), relay.compile(model, level=1)):
            with self.assertRaisesRegex(ValueError, "`y`.*n"):
                f(np.ones(3, np.float32), np.ones(4, np.float32))
            np.testing.assert_array_equal(f(np.ones(4, np.float32), np.ones(4, np.float32)), [2] * 4)

    def test_names_that_are_no_texts(self):
        with self.assertRaisesRegex(TypeError, "the names of inputs are texts"):
            relay.verify(relay.parse(SUM), {1: self.x, 2: self.y})

    def test_names_and_numbers_of_arguments(self):
        self.refused(TypeError, "`z`", "`x`, `y`", args=(self.x,), z=self.y)
        self.refused(TypeError, "`x`", "by its place and by its name", args=(self.x, self.y), x=self.x)
        self.refused(TypeError, "`y` is missing", args=(self.x,))
        self.refused(TypeError, "3 arguments", args=(self.x, self.y, self.y))

    def test_byte_order(self):
        self.refused(TypeError, "`x`", "byte order", args=(self.x.astype(">f4"), self.y))

    def test_memory_order(self):
        self.refused(ValueError, "`x`", "not contiguous", args=(np.asfortranarray(self.x), self.y))
        self.refused(ValueError, "`y`", "numpy.ascontiguousarray(y)", args=(self.x, np.ones(6, np.float32)[::2]))

    def test_device(self):
        class OnDevice:
            def __dlpack_device__(self):
                return 2, 0  # CUDA

            def __dlpack__(self, **options):
                raise AssertionError("the memory of the device is not asked for")

        self.refused(ValueError, "`x`", "memory of a device (DLPack's number 2)", "x.cpu() of PyTorch's", "x.get() of CuPy's",
                     args=(OnDevice(), self.y))
        self.refused(ValueError, "`out`", "memory of a device (DLPack's number 2)", out=OnDevice())

    def test_tensors_of_other_packages(self):
        class Foreign:
            def __init__(self, array):
                self.__dlpack_device__, self.__dlpack__ = array.__dlpack_device__, lambda **options: array.__dlpack__()

        self.refused(TypeError, "`x`", "DLPack's code 2 with 64 bits", args=(Foreign(self.x.astype(np.float64)), self.y))
        self.refused(ValueError, "`x`", "(3, 2)", args=(Foreign(self.x.reshape(3, 2)), self.y))
        self.refused(ValueError, "`x`", "not contiguous", "x.contiguous()", args=(Foreign(np.asfortranarray(self.x)), self.y))
        wrong = Foreign(self.x)
        wrong.__dlpack__ = lambda **options: "a text"
        self.refused(TypeError, "`x`", "no tensor of DLPack", args=(wrong, self.y))
        wrong.__dlpack__ = lambda **options: 1 // 0
        self.refused(ZeroDivisionError, args=(wrong, self.y))

    def test_masked_arrays(self):
        masked = np.ma.array([1, 2, 3], np.float32, mask=[False, True, False])
        self.refused(TypeError, "`y` is a masked array", ".filled(0)", args=(self.x, masked))
        self.refused(TypeError, "`out` is a masked array", "give the array of its elements, .data", out=np.ma.zeros((2, 3), np.float32))
        for f in self.ways:
            np.testing.assert_array_equal(f(self.x, masked.filled(0)), self.x + [1, 0, 3])
        with self.assertRaisesRegex(TypeError, "masked array.*filled"):
            relay.trace(lambda x: x + masked, ["Tensor[(3), float32]"])

    def test_subclasses_of_arrays(self):
        class Mine(np.ndarray):
            pass

        for f in self.ways:
            np.testing.assert_array_equal(f(self.x.view(Mine), self.y.view(Mine)), self.x + self.y)

    def test_alignment(self):
        memory = np.zeros(13, np.uint8)
        self.refused(ValueError, "`y`", "not aligned", args=(self.x, memory[1:].view(np.float32)))

    def test_buffers(self):
        bits = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
        for f in self.ways:
            np.testing.assert_array_equal(f(memoryview(bits), self.y), bits + self.y)
            np.testing.assert_array_equal(f(memoryview(bits.tobytes()).cast("f", (2, 3)), self.y), bits + self.y)
        image = relay.parse("def @main(%x: Tensor[(3), uint8]) { %x }")
        for given in (b"abc", bytearray(b"abc"), array.array("B", b"abc")):
            np.testing.assert_array_equal(relay.interpret(image, given), list(b"abc"))
        self.refused(ValueError, "`x`", "not contiguous", args=(memoryview(np.ones((2, 6), np.float32)[:, ::2]), self.y))
        self.refused(TypeError, "`x`", "float64", args=(memoryview(np.ones((2, 3))), self.y))
        self.refused(ValueError, "`x`", "(3,)", args=(array.array("f", [1, 2, 3]), self.y))

    def test_arrays_of_other_packages(self):
        class Column:
            def __array__(self, *_, **__):
                return np.ones((2, 3), np.float32)

        self.refused(TypeError, "`x`", "Column", "numpy.array(x", args=(Column(), self.y))
        self.refused(TypeError, "`x`", "range", "numpy.array(x", args=(range(3), self.y))

    def test_a_lack_of_memory_is_no_wrong_type(self):
        for f in self.ways:
            with unittest.mock.patch("numpy.asarray", side_effect=MemoryError), self.assertRaises(MemoryError):
                f(memoryview(np.ones((2, 3), np.float32)), self.y)

    def test_a_name_that_is_no_option(self):
        with self.assertRaisesRegex(TypeError, "no input `max_mem`: .*its options `fuel`, .*`max_memory`, `out`"):
            relay.interpret(relay.trace(lambda x: x, ["float32"]), 1.0, max_mem=1)
        with self.assertRaisesRegex(TypeError, "no input `max_memry`; did you mean `max_memory`"):
            relay.interpret(relay.trace(lambda x: x, ["float32"]), 1.0, max_memry=1)

    def test_all_inputs_in_one(self):
        both = {"x": self.x, "y": self.y}
        self.refused(TypeError, "`y` is missing", "a dict of inputs is given as f(**inputs)", args=(both,))
        self.refused(TypeError, "`y` is missing", "a list of inputs is given as f(*inputs)", args=([self.x, self.y],))
        self.refused(TypeError, "`y` is missing", "its inputs are `x`, `y`", args=({"x": self.x},))
        self.refused(TypeError, "`x` is of the type dict", "f(**inputs)", args=({"x": self.x}, self.y))

    def test_sizes_of_zero(self):
        self.refused(ValueError, "`x`", "(0, 3)", args=(np.ones((0, 3), np.float32), self.y))

    def test_objects(self):
        self.refused(TypeError, "`x`", "object", args=(np.array([[None] * 3] * 2), self.y))
        self.refused(TypeError, "`x`", "list", "numpy.array", args=([[1, 2, 3]] * 2, self.y))
        self.refused(TypeError, "`x`", "NoneType", args=(None, self.y))
        self.refused(TypeError, "`y`", "number", args=(self.x, 1.5))
        self.refused(TypeError, "`out`", "object", out=np.empty((2, 3), object))

    def test_truth_values(self):
        model = relay.parse("def @main(%x: Tensor[(3), bool]) { logical_not(%x) }")
        for f in (lambda *a: relay.interpret(model, *a), relay.jit(model), relay.compile(model, level=1)):
            np.testing.assert_array_equal(f(np.array([True, False, True])), [False, True, False])
            with self.assertRaisesRegex(ValueError, "`x` has the element 2, and bool goes from 0 to 1"):
                f(np.array([1, 2, 0], np.uint8).view(np.bool_))

    def test_an_output_may_hold_anything_before(self):
        anything = np.array([200, 100, 50], np.uint8)
        booleans = relay.parse("def @main(%x: Tensor[(3), bool]) { logical_not(%x) }")
        small = relay.parse("def @main(%x: Tensor[(3), int4]) { %x }")
        for f in (lambda *a, **n: relay.interpret(booleans, *a, **n), relay.jit(booleans), relay.compile(booleans, level=1)):
            out = f(np.array([True, False, True]), out=anything.copy().view(np.bool_))
            np.testing.assert_array_equal(out.view(np.uint8), [0, 1, 0])
        out = relay.jit(small)(np.array([-8, 0, 7], np.int8), out=anything.copy().view(np.int8))
        np.testing.assert_array_equal(out, [-8, 0, 7])

    def test_inputs_may_be_read_only(self):
        x = self.x.copy()
        x.flags.writeable = False
        for f in self.ways:
            np.testing.assert_array_equal(f(x, self.y), self.x + self.y)

    def test_outputs(self):
        out = np.empty((2, 3), np.float32)
        out.flags.writeable = False
        self.refused(ValueError, "`out`", "read-only", out=out)
        self.refused(ValueError, "`out`", "(3, 2)", out=np.empty((3, 2), np.float32))
        self.refused(TypeError, "`out`", "float64", out=np.empty((2, 3)))
        self.refused(TypeError, "`out`", "list", out=[[0] * 3])
        self.refused(ValueError, "`out`", "2 arrays", out=[np.empty((2, 3), np.float32)] * 2)

    def test_an_output_that_is_an_input(self):
        both = np.zeros((3, 3), np.float32)
        x, below = both[:2], both[1:]
        x[...] = self.x
        expected = self.x + self.y
        with self.assertRaisesRegex(ValueError, "shares memory with `x`"):
            self.ways[2](x, self.y, out=below)
        self.assertIs(self.ways[2](x, self.y, out=x), x)
        np.testing.assert_array_equal(x, expected)
        transposed = relay.compile(relay.parse("def @main(%x: Tensor[(2, 2), float32]) { transpose(%x, axes=[1, 0]) }"), level=1)
        self.assertNotIn("aliased", transposed.description)
        square = np.ones((2, 2), np.float32)
        with self.assertRaisesRegex(ValueError, "shares memory with `x`"):
            transposed(square, out=square)

    def test_numbers(self):
        model = relay.parse("def @main(%b: bool, %i: int8, %f: float32) { (%b, %i, %f) }")
        for f in (lambda *a: relay.interpret(model, *a), relay.jit(model), relay.compile(model, level=1)):
            self.assertEqual([v.item() for v in f(True, -128, 0.5)], [True, -128, 0.5])
            self.assertEqual([v.item() for v in f(np.True_, np.int8(3), np.float32(2))], [True, 3, 2])
            for wrong, kind, says in (((1, 1, 1.0), TypeError, "`b`"), ((True, 128, 1.0), ValueError, "`i` is beyond"),
                                      ((True, 1.5, 1.0), TypeError, "`i`"), ((True, 1, "1"), TypeError, "`f`"),
                                      ((True, 2**70, 1.0), ValueError, "`i` is beyond")):
                with self.assertRaisesRegex(kind, says):
                    f(*wrong)

    def test_numbers_that_only_infinity_is_near(self):
        model = relay.parse("def @main(%h: float16, %f: float32, %d: float64) { (%h, %f, %d) }")
        for f in (lambda *a: relay.interpret(model, *a), relay.jit(model), relay.compile(model, level=1)):
            for good in ((65519.0, 3.4e38, 1.7e308), (65504, 10**38, 10**308), (float("inf"), float("-inf"), float("inf")),
                         (1e-300, 1e-300, 5e-324)):
                expected = [np.float16(good[0]), np.float32(good[1]), np.float64(good[2])]
                self.assertEqual([v.item() for v in f(*good)], [v.item() for v in expected])
            self.assertTrue(all(np.isnan(v) for v in f(float("nan"), float("nan"), float("nan"))))
            for i, number, name in ((0, 65520.0, "`h` .* float16"), (0, 70000, "`h` .* float16"), (1, 1e39, "`f` .* float32"),
                                    (1, -1e300, "`f` .* float32"), (1, np.float64(1e300), "`f` .* float32"),
                                    (1, 10**400, "`f` .* float32"), (2, -(10**400), "`d` .* float64")):
                wrong = [1.0, 1.0, 1.0]
                wrong[i] = number
                with self.assertRaisesRegex(ValueError, f"argument {name.replace('.*', 'is beyond what')} holds"):
                    f(*wrong)

    def test_values_of_data_types(self):
        model = relay.parse("""
        type Tree { Leaf, Node(Tree, int64, Tree) }
        def @main(%t: Tree, %p: (int64, int64)) { (%t, %p) }""")
        leaf, pair = relay.Data("Leaf"), (1, 2)
        for f in (relay.jit(model), relay.compile(model, level=1)):
            f(leaf, pair)
            for t, p, kind, says in ((None, pair, TypeError, "relay.Data"), (relay.Data("Bud"), pair, ValueError, "Leaf, Node"),
                                     (relay.Data("Node", (leaf,)), pair, ValueError, "`t` has 1 fields"),
                                     (relay.Data("Node", (leaf, 1.5, leaf)), pair, TypeError, "`t`"),
                                     (relay.Data("Node", 5), pair, TypeError, "`t` has a int .* fields of Node as a tuple"),
                                     (leaf, [1, 2], TypeError, "`p` has a list"), (leaf, (1,), ValueError, "a tuple of 1")):
                with self.assertRaisesRegex(kind, says):
                    f(t, p)

    def test_a_list_that_contains_itself(self):
        model = relay.parse("""import "prelude"
        type Thorn { Thorn(List[Thorn]) }
        def @main(%t: Thorn) { %t }""")
        children = []
        children.append(relay.Data("Thorn", (children,)))
        for f in (relay.jit(model), relay.compile(model, level=1)):
            with self.assertRaisesRegex(ValueError, "`t` contains itself"):
                f(children[0])
            self.assertEqual(f(relay.Data("Thorn", ([],))).fields, ([],))

    def test_arrays_that_change_during_a_run(self):
        """Another thread lets go of the inputs, resizes them or writes to them."""
        model = relay.parse("""def @main(%n: int64, %x: Tensor[(1000), float32]) -> Tensor[(1000), float32] {
          if (equal(%n, 0i64)) { %x } else { @main(subtract(%n, 1i64), maximum(%x, negative(%x))) }
        }""")
        for f in (relay.jit(model), relay.compile(model, level=1)):
            arrays, results, begun = [np.ones(1000, np.float32)], [], threading.Event()

            def run(f=f, arrays=arrays, results=results, begun=begun):
                given = arrays[0]
                begun.set()
                results.append(f(100_000, given))

            thread = threading.Thread(target=run)
            thread.start()
            begun.wait()
            x = arrays[0]
            refused = written = 0
            while thread.is_alive():
                x[::2] = 2
                written += 1
                try:
                    x.resize(1_000_000)
                except ValueError:
                    refused += 1
            thread.join()
            self.assertGreater(written, 0)
            self.assertGreater(refused, 0)
            self.assertTrue(np.isin(results[0], [1, 2]).all())
            # Nobody but the call has the array.
            gone = f(1000, np.full(1000, 3, np.float32))
            gc.collect()
            self.assertTrue((gone == 3).all())

    def test_options(self):
        model = relay.parse(SUM)
        for call, says in ((lambda: relay.jit(model, level=7), "`level`"), (lambda: relay.jit(model, target="pdp11"), "`target`"),
                           (lambda: relay.compile(model, target="cuda:sm_90"), "`target`: `cuda:sm_90` is a GPU"),
                           (lambda: relay.compile(model, denormals="some"), "`denormals`"),
                           (lambda: relay.compile(model, threads=-1), "`threads`"),
                           (lambda: relay.jit(model, threads=2**30), "`threads` is 1073741824, and it goes from 0 to 1024"),
                           (lambda: relay.open("model.so", threads=1025), "`threads`"),
                           (lambda: relay.interpret(model, self.x, self.y, fuel=0), "`fuel`"),
                           (lambda: relay.verify(model, [self.x, self.y], engines=["none"]), "`engines`")):
            with self.assertRaisesRegex(ValueError, says):
                call()


if __name__ == "__main__":
    unittest.main()
