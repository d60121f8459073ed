#!/usr/bin/python3
"""Generic functions from Python, and forms of docs/language.md that programs_test.py has not."""

import unittest
import warnings

import numpy as np

import relay
from relay import ops


def f32(*values):
    return np.array(values, np.float32)


class GenericTest(unittest.TestCase):
    """Functions with type parameters."""

    def run_everywhere(self, model, *args):
        results = [f(*args) for f in (lambda *a: relay.interpret(model, *a), relay.jit(model))]
        self.assertEqual(str(results[0]), str(results[1]))
        return results[0]

    def test_each_use_chooses_types(self):
        b = relay.Builder()

        @b.function("A", "B", result="(B, A)", type_parameters=["A", "B"])
        def pair(x, y):
            return y, x

        b.function(name="main")(lambda: (pair(1, True), pair(2.0, pair(3, 4))))
        model = b.module()
        self.assertEqual(model["pair"].type, "fn[A, B](A, B) -> (B, A)")
        (yes, one), ((four, three), two) = self.run_everywhere(model)
        self.assertEqual([x.item() for x in (yes, one, four, three, two)], [True, 1, 4, 3, 2.0])

    def test_operators_of_type_parameters(self):
        b = relay.Builder()

        @b.function("A", "B", result="C", type_parameters=["A", "B", "C"], where="Broadcast(A, B, C)")
        def scale(x, y):
            return x * y

        b.function("Tensor[(2), float32]", name="main")(lambda x: (scale(x, 3.0), scale(4, 5)))
        x, twenty = self.run_everywhere(b.module(), f32(1, 2))
        np.testing.assert_array_equal(x, [3, 6])
        self.assertEqual(twenty, 20)

    def test_recursion_over_a_generic_data_type(self):
        b = relay.Builder()
        List = b.data("List", "A", Nil=(), Cons=("A", "List[A]"))
        types = []

        @b.function("fn(A) -> B", "List[A]", result="List[B]", type_parameters=["A", "B"])
        def map_(f, xs):
            types.append((str(f.type), str(xs.type)))
            return relay.match(xs, {List.Nil: List.Nil, List.Cons: lambda x, rest: List.Cons(f(x), map_(f, rest))})

        @b.function("List[int32]", name="main")
        def _(xs):
            return map_(lambda x: x * relay.const(2), xs), map_(lambda x: x > relay.const(1), xs)

        model = b.module()
        self.assertEqual(types, [("fn(A) -> B", "List[A]")])
        doubled, large = self.run_everywhere(model, [1, 2])
        self.assertEqual(([int(x) for x in doubled], [bool(x) for x in large]), ([2, 4], [False, True]))

    def test_functions_of_python_get_the_types_of_the_other_arguments(self):
        b = relay.Builder()
        b.library("prelude", "map", "foldl")
        types = []

        def more(x):
            types.append(str(x.type))
            return x + 1

        @b.function("List[int64]", name="main")
        def _(xs):
            pairs = b["map"](lambda x: (x * 2, 0.5), xs)
            return b["foldl"](lambda sum, pair: sum + pair[0], relay.const(0, "int64"), pairs), b["map"](more, xs)

        total, larger = self.run_everywhere(b.module(), [1, 2])
        self.assertEqual((int(total), [int(x) for x in larger], types), (6, [2, 3], ["int64"]))

    def test_types_of_the_function_around(self):
        b = relay.Builder()
        b.library("prelude", "map")

        @b.function("A", "List[A]", result="List[(A, A)]", type_parameters=["A"])
        def beside(x, xs):  # the library's @map has an A of its own
            return b["map"](lambda y: (x, y), xs)

        b.function("List[int8]", name="main")(lambda xs: beside(True, b["map"](lambda x: x > 1, xs)))
        pairs = self.run_everywhere(b.module(), np.array([1, 2], np.int8).tolist())
        self.assertEqual([(bool(a), bool(c)) for a, c in pairs], [(True, False), (True, True)])

    def test_a_local_function(self):
        def twice(x):
            @relay.function("A", result="A", type_parameters=["A"])
            def same(y):
                return y

            return same(x), same(True)

        one, yes = self.run_everywhere(relay.trace(twice, ["int32"]), 1)
        self.assertEqual((int(one), bool(yes)), (1, True))

    def test_shape_variables_are_chosen_by_each_call(self):
        b = relay.Builder()

        @b.function("Tensor[(n), float32]", "Tensor[(n), float32]", result="float32")
        def dot(x, y):
            return ops.sum(x * y, axis=[0])

        b.function("Tensor[(k), float32]", name="main")(lambda x: (dot(x, x), dot(f32(1, 2), f32(3, 4))))
        self.assertEqual([float(x) for x in self.run_everywhere(b.module(), f32(1, 2, 3))], [14, 11])

    def test_types_of_every_kind(self):
        b = relay.Builder()
        n = relay.Dim("n")

        @b.function("A", relay.Tensor((n,)), f32(1), None, result="(A, Tensor[(n), float32])", type_parameters="A")
        def f(x, y, z, c):
            return x, relay.if_(c, y + z, y)

        b.function("int8", name="main")(lambda x: f(x, f32(1, 2), f32(3), True))
        model = b.module()
        self.assertEqual(model["f"].type, "fn[A](A, Tensor[(n), float32], Tensor[(1), float32], bool) -> (A, Tensor[(n), float32])")
        x, y = self.run_everywhere(model, 7)
        self.assertEqual((int(x), y.tolist()), (7, [4, 5]))

    def test_what_is_wrong(self):
        b = relay.Builder()

        def refused(error, *specs, function=lambda x: x, **options):
            with self.assertRaises(error) as caught:
                b.function(*specs, **options)(function)
            return str(caught.exception)

        self.assertIn("types for 0 are given", refused(TypeError, name="f", type_parameters=["A"]))
        self.assertIn("`where` is about type parameters", refused(TypeError, "int8", name="f", where=["Identity(A, A)"]))
        self.assertIn("argument `type_parameters` is a int", refused(TypeError, "A", name="f", type_parameters=3))
        self.assertIn("argument `where` has a int", refused(TypeError, "A", name="f", type_parameters=["A"], where=[1]))
        self.assertIn("is no type of a function with 1 parameters",
                      refused(TypeError, "A, A", name="f", type_parameters=["A"]))
        self.assertIn("<the type of f>:1:", refused(relay.DiagnosticError, "Tensor[(", name="f", type_parameters=["A"]))
        # The body may do with an A what `where` says, and nothing else.
        b.function("A", result="A", name="g", type_parameters=["A"])(lambda x: x * x)
        with self.assertRaises(relay.DiagnosticError) as caught:
            b.module("g")
        self.assertEqual(caught.exception.slug, "missing-relation")
        b = relay.Builder()
        b.function("B", name="main", type_parameters=["A"])(lambda x: x)
        with self.assertRaisesRegex(relay.DiagnosticError, "there is no type `B`"):
            b.module()


class LanguageTest(unittest.TestCase):
    """Forms of docs/language.md that stand in no other class."""

    def test_match_shape(self):
        seen = []

        def table(k):
            i = relay.match_shape(ops.arange(0, k, 1), "Tensor[(n), int32]", "i")
            column = ops.reshape(i, newshape=(i.shape[0], 1))
            seen.extend([str(i.type), str(column.type)])
            return column + i

        model = relay.trace(table, ["int32"])
        self.assertIn("match_shape %i: Tensor[(n), int32] = arange(0, %k, 1);", str(model))
        self.assertEqual(seen, ["Tensor[(n), int32]", "Tensor[(n, 1), int32]"])
        for run in (lambda *a: relay.interpret(model, *a), relay.jit(model)):
            self.assertEqual(run(3).tolist(), [[0, 1, 2], [1, 2, 3], [2, 3, 4]])
        fits = relay.trace(lambda k: relay.match_shape(ops.arange(0, k, 1), "Tensor[(2), int32]"), ["int32"])
        self.assertEqual(relay.interpret(fits, 2).tolist(), [0, 1])
        with self.assertRaises(relay.TrapError):
            relay.interpret(fits, 3)
        with self.assertRaisesRegex(TypeError, "argument `type` is None"):
            relay.trace(lambda k: relay.match_shape(k, None), ["int32"])

    def test_gradients(self):
        def squares(x, y):
            return ops.sum(x * x * y, axis=[0])

        types = ["Tensor[(2), float32]", "float32"]
        b = relay.Builder()
        f = b.function(*types, result="float32")(squares)

        @b.function(*types)
        def main(x, y):
            value, (dx, dy) = relay.grad(f)(x, y)
            return value, dx, dy

        model = b.module()
        for run in (lambda *a: relay.interpret(model, *a), relay.jit(model)):
            value, dx, dy = run(f32(1, 2), 3.0)
            self.assertEqual((float(value), dx.tolist(), float(dy)), (15, [6, 12], 5))
        with self.assertRaises(relay.DiagnosticError):
            relay.trace(lambda x: relay.grad(x), ["float32"])

    def test_attributes_of_functions(self):
        b = relay.Builder()

        @b.function("float32", result="float32", attributes={"Inline": 1})
        def next_(x):
            return x + 1.0

        @b.function("float32", "float32", result="(float32,)")
        def back(x, d):
            return (d * 10.0,)

        @b.function("float32", result="float32", attributes={"Gradient": "back"})
        def rounded(x):
            return ops.round(x)

        b.function("float32", name="main")(lambda x: relay.grad(rounded)(next_(x)))
        model = b.module()
        self.assertIn("def @next_(%x: float32, Inline=1)", model.text())
        value, (dx,) = relay.interpret(model, 1.2)
        self.assertEqual((float(value), float(dx)), (2, 10))
        with self.assertRaisesRegex(TypeError, "attribute `Inline` of a function is of the type list"):
            b.function("float32", name="h", attributes={"Inline": [1]})(lambda x: x)
        with self.assertRaisesRegex(TypeError, "argument `attributes` is a str"):
            b.function("float32", name="h", attributes="Inline")(lambda x: x)

    def test_kernels_and_texts(self):
        b = relay.Builder()
        b.parse("""kernel @twice(x: float32[n]) -> (y: float32[n]) {
          for i in n { block y { spatial vi in n = i; reads x[vi]; writes y[vi]; y[vi] = x[vi] * 2f; } }
        }""", name="kernels.relay")
        b.function("Tensor[(n), float32]", name="main")(lambda x: ops.exp(b["twice"](x)))
        model = b.module()
        np.testing.assert_allclose(relay.interpret(model, f32(0, 1)), np.exp(f32(0, 2)), rtol=1e-6)
        with self.assertRaisesRegex(ValueError, "there is a kernel @twice"):
            b.function("int8", name="twice")(lambda x: x)
        with self.assertRaisesRegex(KeyError, "no function or kernel @thrice"):
            b["thrice"]
        with self.assertRaises(relay.DiagnosticError) as caught:
            b.parse("def @g(%x: int8) { %y }", name="more.relay")
        self.assertEqual(caught.exception.span.file, "more.relay")

    def test_a_text_that_replaces_a_function_warns(self):
        b = relay.Builder("def @next(%x: int32) { add(%x, 1) }")
        with self.assertWarnsRegex(relay.DiagnosticWarning, "`@next` is defined already; this definition replaces the other"):
            b.parse("def @next(%x: int32) { add(%x, 2) }")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            b.parse('import "prelude"\ndef @main(%x: int32) { @hd(Cons(@next(%x), Nil)) }')
            b.library("prelude", "hd")
        self.assertEqual(relay.interpret(b.module(), 1), 3)


if __name__ == "__main__":
    unittest.main()
