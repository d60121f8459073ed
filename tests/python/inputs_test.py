#!/usr/bin/python3
"""Bad arguments: each is a Python exception that names the argument, on every way to run a model."""

import unittest

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

    def test_shape(self):
        self.refused(ValueError, "`x`", "(3, 2)", "(2, 3)", args=(self.x.reshape(3, 2), self.y))
        self.refused(ValueError, "`y`", "(1, 3)", "(3,)", args=(self.x, self.y.reshape(1, 3)))

    def test_shape_variables(self):
        model = relay.parse("def @main(%x: Tensor[(n), float32], %y: Tensor[(n), float32]) { add(%x, %y) }")
        for f in (lambda *a: relay.interpret(model, *a), relay.jit(model), relay.compile(model, level=1)):
            with self.assertRaisesRegex(ValueError, "`y`.*n"):
                f(np.ones(3, np.float32), np.ones(4, np.float32))
            np.testing.assert_array_equal(f(np.ones(4, np.float32), np.ones(4, np.float32)), [2] * 4)

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

    def test_alignment(self):
        memory = np.zeros(13, np.uint8)
        self.refused(ValueError, "`y`", "not aligned", args=(self.x, memory[1:].view(np.float32)))

    def test_sizes_of_zero(self):
        self.refused(ValueError, "`x`", "(0, 3)", args=(np.ones((0, 3), np.float32), self.y))

    def test_objects(self):
        self.refused(TypeError, "`x`", "object", args=(np.array([[None] * 3] * 2), self.y))
        self.refused(TypeError, "`x`", "list", "numpy.array", args=([[1, 2, 3]] * 2, self.y))
        self.refused(TypeError, "`x`", "NoneType", args=(None, self.y))
        self.refused(TypeError, "`y`", "number", args=(self.x, 1.5))

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
        x = self.x.copy()
        with self.assertRaisesRegex(ValueError, "shares memory with `x`"):
            self.ways[2](x, self.y, out=x)

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
