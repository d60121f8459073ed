#!/usr/bin/python3
"""Tensors of a program under NumPy's notation: parts and operators give what they give of arrays."""

import unittest

import numpy as np

import relay
from relay import ops

KEYS = (
    0, -1, np.int64(2), slice(None), slice(1, None), slice(None, -1), slice(None, None, -1), slice(2, 0, -1),
    slice(-100, 100), slice(3, 1), slice(None, None, 2), slice(10**20), ..., None, (0, 1), (-1, ..., 0), (..., None),
    (None, slice(None), None), (slice(None), 0), (slice(1, 3), slice(None, None, -2)), (0, None, slice(1, 2)), (),
    (..., slice(-2, None), -1), (np.array(1), 1), (1, -2, 0),
)  # fmt: skip
X = np.arange(24, dtype=np.float32).reshape(3, 4, 2)


def run(function, *args, specs=None):
    return relay.interpret(relay.trace(function, specs or list(args)), *args)


class IndexingTest(unittest.TestCase):
    def test_parts_are_those_of_numpy(self):
        for spec in (X, "Tensor[(a, b, c), float32]", "Tensor[(a, 4, c), float32]"):
            for key in KEYS:
                with self.subTest(spec=str(spec)[:20], key=key):
                    found = run(lambda x: x[key], X, specs=[spec])
                    np.testing.assert_array_equal(found, X[key])
                    self.assertEqual(found.shape, X[key].shape)

    def test_shapes_are_known(self):
        shapes = []
        relay.trace(lambda x: (shapes.append(x[1:, 0, None].shape), x)[1], [X])
        self.assertEqual(shapes, [(2, 1, 2)])

    def test_compiled_code_agrees(self):
        model = relay.trace(lambda x: (x[::-1, -1], x[-2:, 1:3, 0]), ["Tensor[(n, 4, 2), float32]"])
        for found, expected in zip(relay.jit(model)(X), (X[::-1, -1], X[-2:, 1:3, 0]), strict=True):
            np.testing.assert_array_equal(found, expected)

    def test_bounds_may_be_extents(self):
        np.testing.assert_array_equal(run(lambda x: x[1 : x.shape[0] - 1], X, specs=["Tensor[(n, 4, 2), float32]"]), X[1:-1])

    def test_there_is_no_such_element(self):
        for key, says in ((3, "index 3 is out of bounds for axis 0 with size 3"), ((0, -5), "axis 1 with size 4"),
                          ((0, 0, 0, 0), "too many indices"), ((..., ...), "not two")):
            with self.assertRaisesRegex(IndexError, says):
                relay.trace(lambda x: x[key], [X])
        for key in (3, -4):  # only the run knows
            model = relay.trace(lambda x: x[key], ["Tensor[(n, 4, 2), float32]"])
            for f in (lambda *a: relay.interpret(model, *a), relay.jit(model)):
                with self.assertRaises(relay.TrapError) as caught:
                    f(X)
                self.assertEqual(caught.exception.slug, "index-out-of-range")

    def test_what_is_no_index(self):
        for key in (True, 1.5, "a", [0, 1], np.array([0, 1]), np.array([True, False, True])):
            with self.assertRaisesRegex(TypeError, "relay.ops.take"):
                relay.trace(lambda x: x[key], [X])
        with self.assertRaisesRegex(TypeError, "relay.ops.take"):
            relay.trace(lambda x, i: x[i], [X, "int64"])
        with self.assertRaisesRegex(ValueError, "step of a slice is 0"):
            relay.trace(lambda x: x[::0], [X])
        for key, says in ((slice(1.5), "bound of a slice is a float"), (slice(0, 1, "a"), "step of a slice is a str")):
            with self.assertRaisesRegex(TypeError, says):
                relay.trace(lambda x: x[key], [X])
        with self.assertRaisesRegex(TypeError, "a tuple of a program is indexed by an integer"):
            relay.trace(lambda pair: pair[:1], ["(int32, int32)"])
        with self.assertRaisesRegex(TypeError, "is no tensor"):
            relay.trace(lambda f: f[0], ["fn(int32) -> int32"])

    def test_a_tensor_goes_through_its_rows(self):
        np.testing.assert_array_equal(run(lambda x: sum(x) * len(x), X), X.sum(axis=0) * 3)
        with self.assertRaisesRegex(TypeError, "only known when the program runs"):
            relay.trace(lambda x: sum(x), ["Tensor[(n, 2), float32]"])
        with self.assertRaisesRegex(TypeError, "a scalar has no length"):
            relay.trace(lambda x: len(x), ["float32"])

    def test_rows_are_made_as_they_are_asked_for(self):
        model = relay.trace(lambda x: [row for _, row in zip(range(2), x)][1], ["Tensor[(1000000000, 8), float32]"])
        self.assertIn("begin=[1], end=[2]", str(model))  # all rows would take longer than any test may
        self.assertEqual(run(lambda x: sum(x), X[:, 0, 0].copy()), X[:, 0, 0].sum())

    def test_gradients_go_through_parts(self):
        b = relay.Builder()

        @b.function("Tensor[(3, 4), float32]", name="loss")
        def loss(x):
            return ops.sum(x[1:, -1] * x[0, 0])

        @b.function("Tensor[(3, 4), float32]")
        def main(x):
            return relay.grad(loss)(x)

        x = np.arange(12, dtype=np.float32).reshape(3, 4) + 1
        value, (gradient,) = relay.interpret(b.module(), x)
        expected = np.zeros_like(x)
        expected[1:, -1] = x[0, 0]
        expected[0, 0] = x[1:, -1].sum()
        self.assertEqual(value, (x[1:, -1] * x[0, 0]).sum())
        np.testing.assert_array_equal(gradient, expected)


class OperatorsOfPythonTest(unittest.TestCase):
    def test_bits(self):
        x, y = np.array([1, 6, -4], np.int32), np.array([3, 2, 1], np.int32)
        for f in (lambda x, y: x & y, lambda x, y: x | y, lambda x, y: x ^ y, lambda x, y: x << y, lambda x, y: x >> y,
                  lambda x, y: 5 & x, lambda x, y: 1 << y, lambda x, y: ~x):
            np.testing.assert_array_equal(run(f, x, y), f(x, y))

    def test_truth_values(self):
        f = lambda x: (x > 1) & ~(x > 5) | (x == 0)  # noqa: E731
        x = np.arange(8, dtype=np.float32)
        np.testing.assert_array_equal(run(f, x), f(x))
        with self.assertRaises(relay.DiagnosticError):
            relay.trace(lambda x: x & 1, [x])

    def test_products(self):
        random = np.random.default_rng(0)
        shapes = (((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4)),
                  ((6, 1, 2, 3), (5, 3, 4)), ((2, 3), (5, 3, 4)), ((3,), (5, 3, 4)), ((5, 2, 3), (3,)), ((1, 1, 2, 3), (5, 6, 3, 4)))  # fmt: skip
        for a, b in shapes:
            x, y = random.standard_normal(a).astype(np.float32), random.standard_normal(b).astype(np.float32)
            with self.subTest(a=a, b=b):
                for f in (lambda x, y: x @ y, np.matmul):
                    found = run(lambda x, y: f(x, y), x, y)  # a ufunc says what it takes since NumPy 2.4
                    np.testing.assert_allclose(found, x @ y, rtol=1e-5, atol=1e-6)
                    self.assertEqual(found.shape, (x @ y).shape)
                np.testing.assert_allclose(run(lambda x: x @ y, x), x @ y, rtol=1e-5, atol=1e-6)
                np.testing.assert_allclose(run(lambda y: x @ y, y), x @ y, rtol=1e-5, atol=1e-6)
        attention = relay.trace(lambda q, k: q @ ops.transpose(k, axes=(0, 1, 3, 2)), ["Tensor[(b, 2, n, 4), float32]"] * 2)
        q = random.standard_normal((3, 2, 5, 4)).astype(np.float32)
        np.testing.assert_allclose(relay.jit(attention)(q, q), q @ q.transpose(0, 1, 3, 2), rtol=1e-5, atol=1e-6)

    def test_products_that_do_not_fit(self):
        wide, column = np.ones((5, 3, 4), np.float32), np.ones((2, 1), np.float32)
        with self.assertRaisesRegex(ValueError, "the length of the sums is 1 in .* and 3 in"):
            relay.trace(lambda x: x @ wide, [column])
        with self.assertRaises(relay.DiagnosticError):
            relay.trace(lambda x: x @ wide, [np.ones((2, 4), np.float32)])
        with self.assertRaisesRegex(TypeError, "is a scalar: `\\*` multiplies"):
            relay.trace(lambda x: x @ 2.0, [wide])

    def test_a_run_compares_lengths_of_sums(self):
        for left, right in (("2, n", "5, m, 2"), ("2, 1", "5, m, 2"), ("2, n", "5, 1, 2"), ("2, ?", "5, m, 2"), ("2, n", "5, ?, 2")):
            model = relay.trace(lambda x, w: x @ w, [f"Tensor[({left}), float32]", f"Tensor[({right}), float32]"])
            for run_it in (lambda *a: relay.interpret(model, *a), relay.jit(model)):
                x, w = np.full((2, 1), 3, np.float32), np.full((5, 1, 2), 2, np.float32)
                np.testing.assert_array_equal(run_it(x, w), x @ w)
                if "1" not in right:
                    with self.subTest(left=left, right=right), self.assertRaises(relay.TrapError) as caught:
                        run_it(x, np.ones((5, 3, 2), np.float32))
                    self.assertEqual(caught.exception.slug, "shape-mismatch")
                if "1" not in left:
                    with self.subTest(left=left, right=right), self.assertRaises(relay.TrapError):
                        run_it(np.ones((2, 3), np.float32), w)
        with self.assertRaisesRegex(ValueError, "is \\? in .* and \\? in .*: relay.match_shape gives one"):
            relay.trace(lambda x, w: x @ w, ["Tensor[(2, ?), float32]", "Tensor[(5, ?, 2), float32]"])

    def test_parts_of_arrays(self):
        x = np.array([[0.5, 1.5, -2.5], [1, 2, 3]], np.float32)
        np.testing.assert_array_equal(run(lambda x: x.T, x), x.T)
        np.testing.assert_array_equal(run(lambda x: x.astype(np.int32), x), x.astype(np.int32))
        np.testing.assert_array_equal(run(lambda x: round(x), x), np.round(x))
        self.assertEqual(run(lambda x: x * 0 + x.ndim, x)[0, 0], 2)

    def test_methods_of_arrays_that_are_functions_here(self):
        for name, says in (("reshape", "relay.ops.reshape"), ("softmax", "relay.ops.nn.softmax"), ("mean", "relay.ops.mean")):
            with self.assertRaisesRegex(AttributeError, f"no attribute `{name}`: {says}"):
                relay.trace(lambda x: getattr(x, name), [X])
        with self.assertRaisesRegex(AttributeError, "no attribute `nothing`$"):
            relay.trace(lambda x: x.nothing, [X])


class NumbersTest(unittest.TestCase):
    def test_an_extent_is_a_number(self):
        spec = "Tensor[(n, 2), float32]"
        x = np.array([[1, 2], [3, 4], [5, 9]], np.float32)
        for f in (lambda x: ops.sum(x, axis=0) / x.shape[0], lambda x: x.shape[0] * x, lambda x: x - (x.shape[0] + 1),
                  lambda x: x.shape[0] - x, lambda x: x.astype("int64") % x.shape[0]):
            expected = f(x) if f.__code__.co_names[0] != "ops" else x.sum(axis=0) / 3
            model = relay.trace(f, [spec])
            for run_it in (lambda *a: relay.interpret(model, *a), relay.jit(model)):
                found = run_it(x)
                np.testing.assert_allclose(found, expected, rtol=1e-6)
        lonely = run(lambda x: x.shape[0] // 2, x, specs=[spec])  # calculated in Python, computed by the run
        self.assertEqual((lonely.dtype, int(lonely)), (np.int64, 1))
        self.assertEqual(run(lambda x: x * relay.Dim("4"), x)[0, 0], 4)
        with self.assertRaisesRegex(TypeError, "an extent that is not known"):
            relay.trace(lambda x: x * x.shape[0], ["Tensor[(?), float32]"])
        with self.assertRaises(relay.DiagnosticError):
            relay.trace(lambda x: (x > 0) & x.shape[0], ["Tensor[(n), float32]"])

        def function(x):
            @relay.function("bool", result="bool")
            def same(flag):
                return flag

            return same(x.shape[0])

        with self.assertRaisesRegex(TypeError, "is an extent, and no truth value"):
            relay.trace(function, ["Tensor[(n), float32]"])

    def test_an_extent_as_a_number_may_be_negative(self):
        x = np.arange(3, dtype=np.float32)
        for f in (lambda x: x * (x.shape[0] - 5), lambda x: x + (2 * x.shape[0] // 3 - 7), lambda x: x + x.shape[0] % 2 * -1):
            model = relay.trace(f, ["Tensor[(n), float32]"])
            for run_it in (lambda *a: relay.interpret(model, *a), relay.jit(model)):
                np.testing.assert_array_equal(run_it(x), f(x))

    def test_a_float64_of_numpy_is_a_float_of_python(self):
        x = np.array([1, 2], np.float32)
        self.assertEqual(run(lambda x: x / np.sqrt(4), x).dtype, np.float32)
        self.assertEqual(run(lambda x: (x, np.sqrt(4)), x)[1].dtype, np.float64)  # alone it is what it says
        with self.assertRaises(relay.DiagnosticError):
            relay.trace(lambda x: x * np.float64(2), [x.astype(np.int32)])
        model = relay.parse("def @main(%x: float32, %k: int8) { (%x, %k) }")
        self.assertEqual(relay.interpret(model, x.mean(dtype=np.float64), 1)[0], 1.5)
        with self.assertRaisesRegex(TypeError, "`k` is of the type float64"):
            relay.interpret(model, 1.5, np.float64(1))


if __name__ == "__main__":
    unittest.main()
