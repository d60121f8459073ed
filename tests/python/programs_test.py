#!/usr/bin/python3
"""Programs from Python: relay.trace, relay.Builder, and what their functions are made of."""

import gc
import unittest
import weakref

import numpy as np

import relay
from relay import ops


def f32(*values):
    return np.array(values, np.float32)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class TraceTest(unittest.TestCase):
    def test_a_layer_of_a_network(self):
        random = np.random.default_rng(1)
        weight, bias = (random.standard_normal(s).astype(np.float32) for s in ((4, 3, 3, 3), (4,)))

        def layer(image):
            y = ops.nn.conv2d(image, weight, strides=(2, 2), padding=(1, 1))
            y = ops.nn.relu(ops.nn.bias_add(y, bias))
            return ops.nn.max_pool2d(y, pool_size=(2, 2), strides=(2, 2))

        model = relay.trace(layer, ["Tensor[(n, 3, 8, 8), float32]"])
        x = random.standard_normal((2, 3, 8, 8)).astype(np.float32)
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::2, ::2]
        y = np.einsum("ncyxuv,ocuv->noyx", windows, weight) + bias[:, None, None]
        wanted = np.maximum(y, 0).reshape(2, 4, 2, 2, 2, 2).max((3, 5))
        np.testing.assert_allclose(relay.interpret(model, x), wanted, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(relay.jit(model)(x), wanted, rtol=1e-5, atol=1e-5)

    def test_types_of_parameters(self):
        def pair(x, y):
            return x, y

        for specs in (
            ["Tensor[(2, n), float32]", "int64"],
            (relay.Tensor((2, "n")), relay.Type("int64")),
            {"y": np.int64(3), "x": relay.Tensor([2, relay.Dim("n")], np.float32)},
        ):
            model = relay.trace(pair, specs)
            self.assertEqual(model.inputs, ["x", "y"])
            self.assertIn("fn(Tensor[(2, n), float32], int64)", model["main"].type)

    def test_operators_and_functions_with_defaults_are_traced(self):
        self.assertEqual(float(relay.interpret(relay.trace(ops.add, ["float32", "float32"]), 1.0, 2.0)), 3)
        model = relay.trace(lambda x, factor=3, *, shift=1: x * factor + shift, "float32")
        self.assertEqual((model.inputs, float(relay.interpret(model, 2.0))), (["x"], 7))

    def test_weights_are_copied(self):
        weight = f32(1, 2, 3)
        model = relay.trace(lambda x: x + weight, ["Tensor[(3), float32]"])
        weight[:] = 0
        np.testing.assert_array_equal(relay.interpret(model, f32(0, 0, 0)), [1, 2, 3])

    def test_types_are_there_when_they_are_asked_for(self):
        seen = []

        def function(x):
            half, rest = ops.split(x, indices_or_sections=2, axis=0)
            seen.append((half.shape, half.dtype, str(rest.type), x.kind, rest.kind, x.span.line > 0))
            return (half, (rest, x))

        model = relay.trace(function, relay.Tensor((4, "m")))
        shape, dtype, rest, *others = seen[0]
        self.assertEqual((shape[0], str(shape[1]), dtype, rest), (2, "m", "float32", "Tensor[(2, m), float32]"))
        self.assertEqual(others, ["var", "projection", True])
        result = "(Tensor[(2, m), float32], (Tensor[(2, m), float32], Tensor[(4, m), float32]))"
        self.assertIn(result, model["main"].type)

    def test_extents_are_values(self):
        n, three = relay.Dim("n"), relay.Dim("3")
        self.assertEqual([n + 1 == relay.Dim("n + 1"), n == relay.Dim("m"), n == 3], [True, False, False])
        self.assertEqual([three == 3, three == 2**70, three == np.int64(3)], [True, False, True])
        self.assertEqual([n == "n", n == "a b"], [False, False])
        self.assertEqual({three: 1, n: 2}, {3: 1, relay.Dim("n"): 2})

    def test_equal_types_have_one_hash(self):
        equal = [
            ("fn[A](A) -> A", "fn[B](B) -> B"),
            ("fn[A, B where Broadcast(A, B, A)](A, B) -> A", "fn[P, Q where Broadcast(P, Q, P)](P, Q) -> P"),
            ("Tensor[(n + 1), float32]", "Tensor[(1 + n), float32]"),
            ("(int64, fn (int8) -> ())", "(int64, fn (int8) -> ())"),
        ]
        for a, b in equal:
            self.assertEqual(relay.Type(a), relay.Type(b))
            self.assertEqual(hash(relay.Type(a)), hash(relay.Type(b)), a)
        different = ["fn[A, B](A) -> B", "fn[A, B](B) -> A", "fn[A](A) -> A", "int64", "Tensor[(n), int64]"]
        self.assertEqual(len({relay.Type(t) for t in different}), len(different))

    def test_a_trap_points_at_the_line(self):
        model = relay.trace(lambda x, y: x // y, ["int32", "int32"])
        with self.assertRaises(relay.TrapError) as caught:
            relay.interpret(model, 1, 0)
        self.assertIn("x // y", str(caught.exception))
        self.assertTrue(caught.exception.span.file.endswith("programs_test.py"))


class BuilderTest(unittest.TestCase):
    def test_a_recursive_sum_of_a_list(self):
        b = relay.Builder()
        List = b.data("List", "A", Nil=(), Cons=("A", "List[A]"))

        @b.function("List[int64]", result="int64")
        def total(xs):
            return relay.match(xs, {List.Nil: 0, List.Cons: lambda x, rest: 2 * x + total(rest)})

        @b.function("List[int64]", name="main")
        def _(xs):
            return total(xs), total(List.Cons(relay.const(5, "int64"), List.Nil()))

        model = b.module()
        for run in (lambda xs: relay.interpret(model, xs), relay.jit(model)):
            self.assertEqual([int(x) for x in run([1, 2, 3])], [12, 10])

    def test_a_tree_lstm(self):
        size = 3
        random = np.random.default_rng(2)
        names = [g + p for g in "iofu" for p in "wx"]
        w = {n: random.standard_normal((size, size)).astype(np.float32) for n in names}

        b = relay.Builder()
        Tree = b.data("Tree", Leaf=(), Node=("Tree", f"Tensor[(1, {size}), float32]", "Tree"))
        state = f"(Tensor[(1, {size}), float32], Tensor[(1, {size}), float32])"

        def node(left, x, right):
            (left_h, left_c), (right_h, right_c) = cell(left), cell(right)
            h = left_h + right_h
            i, o, u = (f(x @ w[g + "x"] + h @ w[g + "w"]) for g, f in zip("iou", (ops.sigmoid, ops.sigmoid, ops.tanh)))
            left_f, right_f = (ops.sigmoid(x @ w["fx"] + g @ w["fw"]) for g in (left_h, right_h))
            c = i * u + left_f * left_c + right_f * right_c
            return o * ops.tanh(c), c

        @b.function("Tree", result=state, name="main")
        def cell(tree):
            nothing = np.zeros((1, size), np.float32)
            return relay.match(tree, {Tree.Leaf: (nothing, nothing), Tree.Node: node})

        def reference(tree):
            if tree.constructor == "Leaf":
                return np.zeros((1, size), np.float32), np.zeros((1, size), np.float32)
            left, x, right = tree.fields
            (left_h, left_c), (right_h, right_c) = reference(left), reference(right)
            h = left_h + right_h
            i, o, u = (f(x @ w[g + "x"] + h @ w[g + "w"]) for g, f in zip("iou", (sigmoid, sigmoid, np.tanh)))
            left_f, right_f = (sigmoid(x @ w["fx"] + g @ w["fw"]) for g in (left_h, right_h))
            c = i * u + left_f * left_c + right_f * right_c
            return o * np.tanh(c), c

        def tree(depth):
            if depth == 0:
                return relay.Data("Leaf")
            x = random.standard_normal((1, size)).astype(np.float32)
            return relay.Data("Node", (tree(depth - 1), x, tree(depth - 2 if depth > 1 else 0)))

        value = tree(4)
        for got, wanted in zip(relay.interpret(b.module(), value), reference(value)):
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)

    def test_branches_are_evaluated_when_they_are_taken(self):
        b = relay.Builder()

        @b.function("int64", result="int64", name="main")
        def factorial(n):
            return relay.if_(n <= 1, 1, lambda: n * factorial(n - 1))

        self.assertEqual(int(relay.interpret(b.module(), 5)), 120)

    def test_references_change_in_the_order_of_the_program(self):
        def count(n):
            total = relay.ref(0)

            @relay.function("int32", result="int32")
            def loop(i):
                total.write(total.read() + i)
                return relay.if_(i >= n, 0, lambda: loop(i + 1))

            before = total.read()
            loop(0)
            after = total.read()
            relay.if_(n > 3, lambda: (total.write(-1), 0)[1], 0)
            return before, after, total.read()

        model = relay.trace(count, ["int32"])
        self.assertEqual([int(x) for x in relay.interpret(model, 4)], [0, 10, -1])
        self.assertEqual([int(x) for x in relay.interpret(model, 3)], [0, 6, 6])

    def test_a_call_in_the_last_place_takes_no_space(self):
        def count(n):
            @relay.function("int32", "int32", result="int32")
            def loop(i, sum):
                return relay.if_(i >= n, sum, lambda: loop(i + 1, sum + 1))

            return loop(0, 0)

        self.assertEqual(int(relay.interpret(relay.trace(count, ["int32"]), 5000, max_depth=100)), 5000)

    def test_functions_are_values(self):
        b = relay.Builder()
        b.library("prelude", "map", "foldl")

        @b.function("List[int64]", "int64")
        def main(xs, n):
            more = b["map"](lambda x: x + n, xs)
            return b["foldl"](lambda sum, x: sum + x, relay.const(0, "int64"), more)

        self.assertEqual(int(relay.interpret(b.module(), [1, 2, 3], 10)), 36)

    def test_a_function_that_calls_itself_may_be_a_result(self):
        b = relay.Builder()

        @b.function("int64", result="fn(int64) -> int64")
        def times(n):
            @relay.function("int64", result="int64")
            def loop(k):
                return relay.if_(k <= 0, 0, lambda: n + loop(k - 1))

            return loop

        b.function("int64", "int64", name="main")(lambda n, k: times(n)(k))
        self.assertEqual(int(relay.interpret(b.module(), 3, 4)), 12)

    def test_constructors_are_values_of_branches(self):
        b = relay.Builder()
        List = b.data("List", "A", Nil=(), Cons=("A", "List[A]"))

        @b.function("List[int64]", "bool", result="List[int64]", name="main")
        def rest(xs, all_of_it):
            return relay.if_(all_of_it, relay.match(xs, {List.Nil: List.Nil, List.Cons: lambda x, rest: rest}), List.Nil)

        model = b.module()
        self.assertEqual([relay.interpret(model, [1, 2], c) for c in (True, False)], [[2], []])

    def test_patterns(self):
        b = relay.Builder('import "prelude"\ndef @first(%xs: List[int64]) -> int64 { @hd(%xs) }')
        List = b.data_type("List")

        @b.function("List[int64]", "(int64, int64)")
        def main(xs, pair):
            second = relay.match(xs, {(List.Cons, ..., (List.Cons, "x", ...)): lambda x: x, ...: -1})
            last = relay.match(xs, {(List.Cons, "x", List.Nil): lambda x: b["first"](xs)}, partial=True)
            return second, last, relay.match(pair, {("a", "b"): lambda a, b: a - b})

        model = b.module()
        self.assertEqual([int(x) for x in relay.interpret(model, [7], (5, 3))], [-1, 7, 2])
        with self.assertRaises(relay.TrapError):
            relay.interpret(model, [7, 8], (5, 3))

    def test_constants_have_the_dtype_that_is_said(self):
        for value, dtype, wanted in ((np.ones(2), "float16", "Tensor[(2), float16]"), (5, "int4", "int4")):
            model = relay.trace(lambda x: relay.const(value, dtype), ["int32"])
            self.assertIn(f"-> {wanted}", model["main"].type)
        with self.assertRaisesRegex(TypeError, "argument `dtype`: NumPy has no arrays of int4"):
            relay.trace(lambda x: relay.const(np.ones(2), "int4"), ["int32"])

    def test_let_computes_once_where_it_stands(self):
        model = relay.trace(lambda x: relay.let(x + 1, "y") * 2, ["float32"])
        self.assertIn("let %y = add(%x, 1f);", str(model))
        model = relay.trace(lambda x: relay.let(1, "y", type="int64"), ["float32"])
        self.assertIn("let %y: int64 = 1i64;", str(model))


class MistakesTest(unittest.TestCase):
    def refused(self, function, *specs, error=TypeError):
        with self.assertRaises(error) as caught:
            relay.trace(function, list(specs) or ["int32"])
        return str(caught.exception)

    def test_conditions_of_python(self):
        self.assertIn("relay.if_ decides", self.refused(lambda x: 1 if x > 0 else 2))
        self.assertIn("relay.if_ decides", self.refused(lambda x: 0 < x < 3))

    def test_branches(self):
        said = self.refused(lambda x: relay.if_(x > 0, x, (x, x)), error=relay.DiagnosticError)
        self.assertIn("relay.if_(x > 0, x, (x, x))", said)
        self.refused(lambda x: relay.if_(x, x, x), error=relay.DiagnosticError)

    def test_scopes(self):
        def leaks(x):
            kept = []
            relay.if_(x > 0, lambda: kept.append(relay.let(x * 2)) or kept[0], 0)
            return kept[0]

        self.assertIn("used outside", self.refused(leaks))

    def test_two_programs(self):
        kept = []
        relay.trace(lambda x: kept.append(x) or x, ["int32"])
        self.assertIn("of two programs", self.refused(lambda x: x + kept[0]))
        self.assertIn("of another program", self.refused(lambda x: kept[0]))

    def test_results(self):
        self.assertEqual(
            self.refused(lambda x: None), "the result of `main` is None, and a program has no such value"
        )
        with self.assertRaises(relay.DiagnosticError):
            relay.trace(lambda x: x, ["int32"], result="int64")

    def test_parameters(self):
        self.assertIn("has 2 parameters, and types for 1 are given", self.refused(lambda x, y: x))
        self.assertIn("there is no type `Tenso`", self.refused(lambda x: x, "Tenso", error=relay.DiagnosticError))
        self.assertIn("give a type as a text", self.refused(lambda x: x, 3))
        self.assertIn("argument `x` is a type: give a type", self.refused(lambda x: x, np.float32))
        with self.assertRaises(TypeError):
            relay.trace(lambda x: x, {"y": "int32"})
        with self.assertRaises(TypeError):
            relay.trace(lambda x: x, {"x": "int32", "y": "int32"})

    def test_extents(self):
        with self.assertRaisesRegex(ValueError, "argument `shape` has the extent -1, and none is negative"):
            relay.Tensor((-1, 3))
        with self.assertRaises(relay.DiagnosticError):
            relay.Tensor(("-1",))
        with self.assertRaisesRegex(TypeError, "argument `shape` is the text 'nm': give a tuple of extents"):
            relay.Tensor("nm")
        n = relay.Dim("n")
        with self.assertRaisesRegex(ValueError, "beyond what 64 bits hold"):
            n * 2**62 * 4
        for divide in (lambda: n // 0, lambda: 3 % (n - n)):
            with self.assertRaises(ZeroDivisionError):
                divide()
        self.assertEqual(str(relay.Tensor(("?", 0))), "Tensor[(?, 0), float32]")

    def test_types_that_are_not_known_here(self):
        def function(x):
            return relay.const(1) + relay.let(lambda y: y + 1)(x)

        self.assertIn("the type of `lhs` is not known here", self.refused(function))

    def test_patterns(self):
        cases = [
            (lambda t: {t.Node: lambda left: left}, TypeError, "binds 2 variables, and the function of its arm"),
            (lambda t: {(t.Node, ...): 0}, TypeError, "has 1 fields for the constructor Node, which has 2"),
            (lambda t: {1: 0}, TypeError, "a pattern is of the type int"),
            (lambda t: {t.Leaf: 0}, relay.DiagnosticError, "does not cover `Node(_, _)`"),
            (lambda t: {}, relay.DiagnosticError, "does not cover"),
        ]
        for arms, error, said in cases:
            with self.subTest(said):
                b = relay.Builder()
                Tree = b.data("Tree", Leaf=(), Node=("Tree", "Tree"))

                wrong = arms(Tree)

                @b.function("Tree", name="main")
                def main(tree):
                    return relay.match(tree, wrong)

                with self.assertRaises(error) as caught:
                    b.module()
                self.assertIn(said, str(caught.exception))
        with self.assertRaises(AttributeError) as caught:
            Tree.Lief  # noqa: B018
        self.assertEqual(str(caught.exception), "Tree has no constructor Lief; there are Leaf, Node")

    def test_calls(self):
        self.assertIn("is no function", self.refused(lambda x: x(1)))
        self.assertIn("has no fields", self.refused(lambda f: f[0], "fn(int32) -> int32"))
        self.assertIn("has no length", self.refused(lambda x: tuple(x)))
        self.assertIn("no reference", self.refused(lambda x: x.write(1)))
        self.assertIn("field 2 of a tuple of 2", self.refused(lambda x: x[2], "(int32, int32)", error=IndexError))

        def function(x):
            f = relay.function("int32", result="int32")(lambda y: y)
            return f(x, x)

        self.assertIn("is called with 2 arguments", self.refused(function))

    def test_definitions(self):
        b = relay.Builder()
        b.function("int32", name="f")(lambda x: x)
        with self.assertRaises(ValueError):
            b.function("int32", name="f")(lambda x: x)
        b.library("prelude", "rev")
        b.function("int32", name="map")(lambda x: x)
        b.library("prelude", "map")
        with self.assertRaises(ValueError):
            b.module()
        with self.assertRaises(KeyError):
            b["g"]
        with self.assertRaises(KeyError):
            b.data_type("Tree")
        with self.assertRaises(relay.DiagnosticError):
            b.data("Wrong", Case=("Tensor[(", "int32"))
        for case in (None, ("int64", None)):
            with self.assertRaisesRegex(TypeError, "a field of the constructor Case is None"):
                b.data("Wrong", Case=case)
        with self.assertRaises(relay.DiagnosticError):
            b.library("prelude", "mop")
        with self.assertRaisesRegex(TypeError, "say which to add"):
            b.library("prelude")
        with self.assertRaises(relay.DiagnosticError):
            relay.Builder().module("main")

    def test_outside_of_functions(self):
        for make in (lambda: relay.const(1), lambda: relay.ref(1), lambda: relay.if_(True, 1, 2)):
            with self.assertRaises(TypeError) as caught:
                make()
            self.assertIn("is for functions of programs", str(caught.exception))

    def test_exceptions_of_a_function(self):
        def function(x):
            raise KeyError("mine")

        self.refused(function, error=KeyError)
        with self.assertRaises(TypeError):  # nothing is left open
            relay.const(1)

    def test_programs_whose_module_is_never_made_are_freed(self):
        gone = []

        def begin():
            b = relay.Builder()

            def body(n):  # the program has this function, and it has the expression `power`
                return power(n - 1)

            gone.append(weakref.ref(body))
            power = b.function("int64", result="int64", name="power")(body)

        def begin_with_builder():
            b = relay.Builder()

            def body(n):
                return b["power"](n - 1)

            gone.append(weakref.ref(body))
            b.function("int64", result="int64", name="power")(body)
            return b

        begin()
        self.assertIsNone(gone[0]())
        b = begin_with_builder()
        gc.collect()
        self.assertIsNotNone(gone[1]())
        del b
        gc.collect()
        self.assertIsNone(gone[1]())
        kept = relay.Builder()
        kept.function("int64", name="main")(lambda x: x)
        gc.collect()
        self.assertEqual(int(relay.interpret(kept.module(), 3)), 3)  # what is referred to stays

    def test_a_trace_that_failed_is_freed(self):
        kept, gone = [], []

        def function(x):
            kept.append(x)  # a circle: the program has the function, and the function this expression
            raise KeyError

        gone.append(weakref.ref(function))
        self.refused(function, error=KeyError)
        gone.append(weakref.ref(kept[0]))
        del function, kept
        gc.collect()
        self.assertEqual([ref() for ref in gone], [None, None])

    def test_programs_that_failed_are_freed(self):
        class Kept:
            pass

        def function(x):
            kept = Kept()
            gone.append(weakref.ref(kept))

            @relay.function("int32", result="int32")
            def loop(i):
                return (kept, x + i)[1]

            raise KeyError("before the body of `loop` has run")

        gone = []
        self.refused(function, error=KeyError)
        gc.collect()
        self.assertIsNone(gone[0]())


if __name__ == "__main__":
    unittest.main()
