#!/usr/bin/python3
"""Functions of NumPy on tensors of a program give what they give of arrays, or are refused with a remedy."""

import unittest

import numpy as np

import relay

CLIP = (getattr(np, "_core", None) or np.core).umath.clip  # numpy.clip itself takes any object
X = np.arange(24, dtype=np.float32).reshape(3, 4, 2)


def run(function, *args, specs=None):
    return relay.interpret(relay.trace(function, specs or list(args)), *args)


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def layer_norm(x):
    return (x - np.mean(x, -1, keepdims=True)) / np.sqrt(np.var(x, axis=-1, keepdims=True) + 1e-5)


class ElementByElementTest(unittest.TestCase):
    def test_they_are_operators(self):
        x, y = np.array([0.1, 0.5, 0.9], np.float32), np.array([3, 1, 2], np.float32)
        for f in (np.exp, np.arcsin, np.absolute, np.rint, np.tanh, np.isnan, np.negative):
            np.testing.assert_allclose(run(lambda x: f(x), x), f(x), rtol=1e-6)
        for g in (np.add, np.true_divide, np.maximum, np.power, np.remainder, np.less):
            np.testing.assert_allclose(run(lambda x, y: g(x, y), x, y), g(x, y), rtol=1e-6)
        np.testing.assert_allclose(run(lambda x, y: np.matmul(x, y), X[0], X[0].T.copy()), X[0] @ X[0].T)

    def test_an_array_may_be_an_operand(self):
        x = np.array([1, 2, 3], np.float32)
        np.testing.assert_array_equal(run(lambda e: x + e * np.float32(2) - np.maximum(x, e), x), x + x * 2 - x)

    def test_a_function_that_does_not_say_what_it_takes(self):
        with self.assertRaisesRegex(TypeError, r"`max` does not say what its parameters are: .* lambda x: max\(x\)"):
            relay.trace(max, ["float32"])

    def test_integers_of_which_numpy_gives_floats(self):
        x = np.array([7, -2], np.int32)
        for f, op in ((np.divide, "divide"), (np.true_divide, "divide"), (np.fabs, "abs"), (np.rint, "round")):
            says = f'gives floats of integers, .* int32\\]: x.astype\\("float64"\\) .* relay.ops.{op} keeps integers'
            call = (lambda x: f(x, 2)) if f.nin == 2 else (lambda x: f(x))
            with self.assertRaisesRegex(TypeError, says):
                relay.trace(call, [x])
            np.testing.assert_array_equal(run(lambda x: call(x.astype("float64")), x), call(x))  # noqa: B023

    def test_what_is_no_operator(self):
        out = np.zeros(3, np.float32)
        for f, says in ((np.hypot, "numpy.hypot is no operator"), (np.frexp, "numpy.frexp is no operator"),
                        (np.add.reduce, "numpy.add.reduce is no operator"),
                        (lambda x: np.exp(x, out=out), "no argument `out`"),
                        (lambda x: CLIP(x, 0, 1), "`clip` takes 1 argument .data., and 3 are given"), (np.asarray, "no array of NumPy")):
            with self.assertRaisesRegex(TypeError, says):
                relay.trace(lambda x: f(x, x) if f is np.hypot else f(x), ["Tensor[(3), float32]"])


class OtherFunctionsTest(unittest.TestCase):
    def agrees(self, f, x, spec=None):
        expected = f(x)
        model = relay.trace(lambda x: f(x), [x if spec is None else spec])
        for run_it in (lambda x: relay.interpret(model, x), relay.jit(model)):
            found = run_it(x)
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
            self.assertEqual((found.shape, found.dtype), (np.shape(expected), np.asarray(expected).dtype))

    def test_reductions(self):
        x = np.random.default_rng(0).standard_normal((3, 4, 2)).astype(np.float32)
        for f in (np.sum, np.prod, np.mean, np.var, np.std, np.max, np.min, np.amax, np.amin):
            for named in ({}, {"axis": 1}, {"axis": (0, -1)}, {"axis": 1, "keepdims": True}, {"axis": None}):
                with self.subTest(f=f.__name__, named=named):
                    self.agrees(lambda x: f(x, **named), x)  # noqa: B023
        for f in (np.argmax, np.argmin):
            self.agrees(f, x)
            self.agrees(lambda x: f(x, axis=1), x)  # noqa: B023
        for f in (np.all, np.any):
            self.agrees(lambda x: f(x, 0), x > 0)  # noqa: B023
        for f in (np.cumsum, np.cumprod):
            self.agrees(lambda x: f(x, axis=1), x)  # noqa: B023
            self.agrees(f, x)

    def test_movements(self):
        for f in (np.transpose, lambda x: np.transpose(x, (2, 0, 1)), lambda x: np.reshape(x, (4, -1)), lambda x: np.squeeze(x[:1]),
                  lambda x: np.squeeze(x[:, :1], axis=1), lambda x: np.expand_dims(x, 1), lambda x: np.broadcast_to(x, (5, 3, 4, 2)),
                  lambda x: np.concatenate([x, x * 2]), lambda x: np.concatenate((x, x), axis=-1), lambda x: np.stack([x, x], 1),
                  lambda x: np.split(x, 2, axis=1)[1], lambda x: np.split(x, [1, 3], 1)[1], lambda x: np.flip(x, 1),
                  lambda x: np.repeat(x, 2, axis=0), lambda x: np.repeat(x, 2), lambda x: np.tile(x, (2, 1, 1))):
            self.agrees(f, X)
        keyword = "newshape" if np.lib.NumpyVersion(np.__version__) < "2.1.0" else "shape"
        self.agrees(lambda x: np.reshape(x, **{keyword: (2, 12)}), X)

    def test_others(self):
        x = np.array([-2.5, 0.5, 1.5], np.float32)
        for f in (lambda x: np.where(x > 0, x, -x), lambda x: np.where(x > 0, x, np.float32(1)), lambda x: np.clip(x, -1, 1),
                  lambda x: np.clip(x, None, x * 2), lambda x: np.zeros_like(x), np.ones_like, lambda x: np.full_like(x, 3), np.round,
                  lambda x: np.einsum("i,i->", x, x), lambda x: x * np.ndim(x) + np.shape(x)[0]):
            self.agrees(f, x)

    def test_a_function_of_arrays_is_traced(self):
        x = np.random.default_rng(1).standard_normal((5, 8)).astype(np.float32)
        for f in (softmax, layer_norm):
            self.agrees(f, x)
            self.agrees(f, x, "Tensor[(n, 8), float32]")

    def test_integers_of_which_numpy_makes_another_dtype(self):
        x = np.array([7, -2], np.int32)
        for f, says, dtype in ((np.mean, "numpy.mean gives floats of integers", "float64"), (np.var, "numpy.var gives floats", "float64"),
                               (np.sum, "numpy.sum gives 64 bits of fewer", "int64"), (np.cumprod, "gives 64 bits of fewer", "int64")):
            with self.assertRaisesRegex(TypeError, f'{says}.*int32.*astype\\("{dtype}"\\)'):
                relay.trace(lambda x: f(x), [x])  # noqa: B023
            self.agrees(lambda x: f(x.astype(dtype)), x)  # noqa: B023
        with self.assertRaisesRegex(TypeError, 'uint8.*astype\\("uint64"\\)'):
            relay.trace(lambda x: np.sum(x), ["Tensor[(3), uint8]"])

    def test_what_a_program_cannot_give(self):
        out = np.zeros(3, np.float32)
        for f, says in ((lambda x: np.sum(x, dtype="float64"), "numpy.sum takes no argument `dtype`"),
                        (lambda x: np.sum(x, out=out), "no argument `out`"),
                        (lambda x: np.sum(x, where=x > 0), "no argument `where`"),
                        (lambda x: np.std(x, ddof=1), "numpy.std takes no argument `ddof`"),
                        (lambda x: np.max(x, 0, None, False, 1), "takes at most 4 arguments by position"),
                        (lambda x: np.where(x), "numpy.where needs its argument `x`"),
                        (lambda x: np.reshape(x, (3,), order="F"), "no argument `order`"),
                        (lambda x: np.sort(x), "numpy.sort takes no expressions: relay.ops.sort is the operator"),
                        (lambda x: np.linalg.norm(x), "numpy.linalg.norm takes no expressions: relay.ops has"),
                        (lambda x: np.concatenate([x, x], axis=None), "axis")):
            with self.assertRaisesRegex(TypeError, says):
                relay.trace(f, ["Tensor[(3), float32]"])


if __name__ == "__main__":
    unittest.main()
