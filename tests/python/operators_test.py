#!/usr/bin/python3
"""relay.ops: each operator is a function of Python, made from the table of operators."""

import inspect
import os
import pickle
import signal
import subprocess
import sys
import unittest

import numpy as np

import relay
from relay import ops

VECTOR = "Tensor[(3), float32]"


def traced(function, *specs):
    """What the function gives is the result of the module."""
    return str(relay.trace(function, specs))


class OperatorsTest(unittest.TestCase):
    def test_functions_say_what_the_table_says(self):
        self.assertEqual(ops.nn.conv2d.__name__, "conv2d")
        self.assertEqual(ops.nn.conv2d.__module__, "relay.ops.nn")
        self.assertIn("C4: groups divides the input and the output channels.", ops.nn.conv2d.__doc__)
        self.assertIn("attribute strides: ints = [1, 1]", ops.nn.conv2d.__doc__)
        signature = inspect.signature(ops.nn.conv2d)
        self.assertEqual(list(signature.parameters)[:3], ["data", "weight", "strides"])
        self.assertEqual(signature.parameters["strides"].default, [1, 1])
        self.assertEqual(signature.parameters["strides"].kind, inspect.Parameter.KEYWORD_ONLY)

    def test_families_are_modules(self):
        import relay.ops.nn as nn

        self.assertIs(nn, ops.nn)
        self.assertIn("resize2d", dir(ops.dyn.image))

    def test_attributes_have_types_of_python(self):
        def function(x):
            y = ops.sum(x, axis=(np.int64(0),), keepdims=True)
            z = ops.cast(ops.clip(y, a_min=0, a_max=np.float32(1.5)), dtype=np.float16)
            return ops.reshape(z, newshape=np.array([1, 1])), ops.cast(x, dtype="int8")

        text = traced(function, VECTOR)
        self.assertIn("axis=[0], keepdims=True", text)
        self.assertIn('dtype="float16"', text)
        self.assertIn("newshape=[1, 1]", text)

    def test_extents_are_attributes(self):
        def function(x):
            n = x.shape[0]
            return ops.zeros(shape=(n, 2 * n), dtype="int64"), ops.ones(shape=("n + 1",), dtype="bool")

        module = relay.trace(function, {"x": relay.Tensor(("n",), "float32")})
        zeros, ones = relay.interpret(module, np.zeros(3, np.float32))
        self.assertEqual((zeros.shape, ones.shape), ((3, 6), (4,)))

    def test_numbers_take_the_dtype_beside_them(self):
        text = traced(lambda x: (x + 1, 2 * x, x < 0, ops.where(x > 1, x, 0)), "Tensor[(3), float64]")
        self.assertEqual([text.count(number) for number in ("1f64", "2f64", "0f64")], [2, 1, 2])
        self.assertIn("True", traced(lambda x: ops.logical_and(x, True), "Tensor[(3), bool]"))

    def test_arrays_stand_on_either_side(self):
        w = np.ones((3, 3), np.float32)
        text = traced(lambda x: (w @ x, x @ w, w - x), "Tensor[(3, 3), float32]")
        self.assertEqual(text.count("nn.matmul"), 2)
        self.assertNotIn("None", text)

    def test_operators_of_python(self):
        module = relay.trace(
            lambda x, y: (x + y, x - y, x * y, x / y, x // y, x % y, x**y, -x, abs(y)), ["float32", "float32"]
        )
        for got, wanted in zip(relay.interpret(module, 7.0, -2.0), (5, 9, -14, -3.5, -4, -1, 7.0**-2, -7, 2)):
            self.assertAlmostEqual(float(got), wanted, places=6)
        module = relay.trace(lambda x, y: (x < y, x <= y, x > y, x >= y, x == y, x != y), ["int32", "int32"])
        self.assertEqual([bool(b) for b in relay.interpret(module, 1, 2)], [True, True, False, False, False, True])


class MistakesTest(unittest.TestCase):
    def refused(self, function, *specs, error=TypeError):
        with self.assertRaises(error) as caught:
            relay.trace(function, specs or [VECTOR])
        return str(caught.exception)

    def test_attributes(self):
        said = self.refused(lambda x: ops.nn.softmax(x, axes=1))
        self.assertEqual(said, "`nn.softmax` has no attribute `axes`: did you mean `axis`?")
        said = self.refused(lambda x: ops.nn.relu(x, alpha=1))
        self.assertEqual(said, "`nn.relu` has no attributes, and `alpha` is given")
        said = self.refused(lambda x: ops.sum(x, axis="first"))
        self.assertIn("`sum`: attribute `axis` must be a list of integers", said)
        said = self.refused(lambda x: ops.reshape(x))
        self.assertIn("`reshape`: attribute `newshape` is missing", said)
        said = self.refused(lambda x: ops.sum(x, axis=x))
        self.assertIn("attribute `axis` is an expression", said)
        said = self.refused(lambda x: ops.cast(x, dtype="floaty"))
        self.assertIn("`cast`: attribute `dtype` must be the name of a dtype", said)
        said = self.refused(lambda x: ops.sum(x, axis=object()))
        self.assertIn("attribute `axis` is of the type object", said)
        said = self.refused(lambda x: ops.sum(x, axis=1 << 70), error=OverflowError)
        self.assertEqual(said, "`sum`: attribute `axis` has a number that 64 bits do not hold")

        class Fails:
            def __index__(self):
                raise ZeroDivisionError("mine")

        self.assertEqual(self.refused(lambda x: ops.sum(x, axis=Fails()), error=ZeroDivisionError), "mine")

    def test_attributes_that_use_the_program(self):
        """To read an attribute runs the caller's code."""
        net = relay.parse("def @main(%x: Tensor[(2, 3), float32]) { nn.relu(%x) }")
        (call,) = [e for e in net.expressions() if e.kind == "call"]

        class Number:
            def __index__(self):
                return len(ops.negative(call).shape) - 1

        class Rate:
            def __float__(self):
                return 1.0 / len(ops.negative(call).shape)

        class Axes(np.ndarray):
            def tolist(self):
                return [len(ops.negative(call).shape) - 1]

        def late(*_):
            raise TimeoutError("it waits for itself")

        before = signal.signal(signal.SIGALRM, late)
        signal.alarm(30)
        try:
            for given in (Number(), [Number()], np.zeros(1, int).view(Axes)):
                self.assertEqual(ops.sum(call, axis=given).attributes["axis"], ops.sum(call, axis=[1]).attributes["axis"])
            self.assertEqual(ops.nn.leaky_relu(call, alpha=Rate()).attributes["alpha"], "0.5")
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)

    @unittest.skipIf("asan" in os.environ.get("LD_PRELOAD", ""), "its allocator ends the process")
    def test_a_lack_of_memory(self):
        program = f"""
import resource, sys
sys.path[:0] = {sys.path!r}
import relay
from relay import ops
def transposed(x):
    axes = [0] * 4_000_000
    pages = int(open("/proc/self/statm").read().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (48 << 20), resource.RLIM_INFINITY))
    try:
        ops.transpose(x, axes=axes)
    except MemoryError:
        print("MemoryError")
    return x
relay.trace(transposed, ["Tensor[(3), float32]"])
"""
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "MemoryError\n", ""))

    def test_arguments(self):
        said = self.refused(lambda x: ops.add(x))
        self.assertEqual(said, "`add` takes 2 arguments (lhs, rhs), and 1 is given: `rhs` is missing")
        said = self.refused(lambda x: ops.nn.relu(x, x))
        self.assertEqual(said, "`nn.relu` takes 1 argument (data), and 2 are given")
        said = self.refused(lambda x: ops.nn.relu(data=x))
        self.assertEqual(said, "`nn.relu`: the argument `data` is given by its position")
        said = self.refused(lambda x: ops.add(x, None))
        self.assertIn("argument `rhs` is None", said)
        said = self.refused(lambda x: ops.add(x, {}))
        self.assertIn("argument `rhs` is of the type dict", said)
        said = self.refused(lambda x: x + 1.5, "int32")
        self.assertIn("argument `rhs` is the number 1.5, which no int32 is", said)
        said = self.refused(lambda x: x + 300, "uint8", error=ValueError)
        self.assertIn("the number 300, which is beyond what uint8 holds", said)
        said = self.refused(lambda x: x + 10**400, error=ValueError)
        self.assertIn("`add`: argument `rhs` is the number 1000000000000000000000000000000000000000..., which is beyond what float32", said)
        said = self.refused(lambda x: x + 10**5000, error=ValueError)
        self.assertIn("`add`: argument `rhs` is the number of too many digits to show, which is beyond what float32 holds", said)
        said = self.refused(lambda x: x * -1e39, error=ValueError)
        self.assertIn("`multiply`: argument `rhs` is the number -1e+39, which is beyond what float32 holds", said)

    def test_extents_have_no_truth_value(self):
        def odd(x):
            return x + 1 if x.shape[0] % 2 else x

        def endless(x):
            while x.shape[0] - 1:
                x = x[:1]
            return x

        for function, shown in ((odd, "n % 2"), (lambda x: x if not x.shape[0] else x + 1, "n"), (endless, "n - 1"),
                                (lambda x: x if x.shape[0] and x.ndim else x + 1, "n")):
            with self.assertRaises(TypeError) as caught:
                relay.trace(function, ["Tensor[(n), float32]"])
            self.assertEqual(str(caught.exception), "an extent that only a run knows has no truth value, and this one is "
                             f"{shown}: relay.if_ decides when it runs")
        for extent, value in (("3", True), ("0", False), ("n - n", False), ("2*n - 2*n + 3", True)):
            self.assertIs(bool(relay.Dim(extent)), value, extent)
        for n in (4, 5):  # what is known decides
            result = relay.interpret(relay.trace(odd, [f"Tensor[({n}), float32]"]), np.zeros(n, np.float32))
            np.testing.assert_array_equal(result, np.full(n, n % 2))
        with self.assertRaisesRegex(TypeError, "has no truth value, and this one is \\?:"):
            bool(relay.Dim("?"))

    def test_values_that_contain_themselves(self):
        loop = []
        loop.append(loop)
        self.refused(lambda x: ops.concatenate(loop, axis=0), error=RecursionError)
        self.refused(lambda x: ops.sum(x, axis=loop), error=RecursionError)

    def test_names(self):
        with self.assertRaises(AttributeError) as caught:
            ops.nn.rellu  # noqa: B018
        self.assertEqual(str(caught.exception), "there is no operator `nn.rellu`; did you mean nn.relu or nn.prelu?")
        with self.assertRaises(AttributeError):
            ops.softmax  # noqa: B018

    def test_types_that_do_not_fit(self):
        with self.assertRaises(relay.DiagnosticError) as caught:
            relay.trace(lambda x: ops.nn.relu(x) + np.ones(4, np.float32), [VECTOR])
        error = caught.exception
        self.assertEqual(error.slug, "not-broadcastable")
        # The place is that of the addition, in this file.
        self.assertTrue(error.span.file.endswith("operators_test.py"))
        self.assertIn("ops.nn.relu(x) + np.ones(4, np.float32)", error.text)

    def test_nowhere(self):
        with self.assertRaises(TypeError) as caught:
            ops.add(1, 2)
        self.assertIn("there is no program to make an expression in", str(caught.exception))

    def test_operators_are_not_pickled(self):
        with self.assertRaises(TypeError):
            pickle.dumps(ops.add)


if __name__ == "__main__":
    unittest.main()
