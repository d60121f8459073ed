#!/usr/bin/python3
"""Arrays of bfloat16 and of the 8-bit floats, which are dtypes of the package ml_dtypes. Debian has no package of it; without it only what
is said of that is tested."""

import unittest

import numpy as np

import relay

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

NAMES = {"bfloat16": "bfloat16", "float8_e4m3": "float8_e4m3fn", "float8_e5m2": "float8_e5m2"}  # of the language, and of ml_dtypes


def ways(text):
    model = relay.parse(text)
    return (lambda *a, **n: relay.interpret(model, *a, **n), relay.jit(model), relay.compile(model, level=1))


@unittest.skipIf(ml_dtypes is None, "ml_dtypes is not installed: pip install ml_dtypes")
class SmallFloatsTest(unittest.TestCase):
    def test_arrays_go_in_and_out(self):
        dtypes = [np.dtype(getattr(ml_dtypes, theirs)) for theirs in NAMES.values()]
        given = [np.array([0, -1.5, 2, np.nan, 0.015625, 448], dtype) for dtype in dtypes]
        parameters = ", ".join(f"%{name}: Tensor[(6), {name}]" for name in NAMES)
        for f in ways(f"def @main({parameters}) {{ ({', '.join(f'%{name}' for name in NAMES)}) }}"):
            out = tuple(np.empty(6, dtype) for dtype in dtypes)
            self.assertIs(f(*given, out=out), out)
            for results in (f(*given), out):
                self.assertEqual([y.dtype for y in results], dtypes)
                for x, y in zip(given, results, strict=True):
                    np.testing.assert_array_equal(y.view(np.uint8), x.view(np.uint8))

    def test_casts_are_those_of_the_package(self):
        """Round to the nearest, ties to even, as ml_dtypes does. None of the values is too large for a float8."""
        x = np.linspace(-300, 300, 997, dtype=np.float32)
        casts = ", ".join(f'cast(%x, dtype="{name}")' for name in NAMES)
        for f in ways(f"def @main(%x: Tensor[(997), float32]) {{ ({casts}) }}"):
            for y, theirs in zip(f(x), NAMES.values(), strict=True):
                np.testing.assert_array_equal(y.view(np.uint8), x.astype(getattr(ml_dtypes, theirs)).view(np.uint8), theirs)

    def test_sums(self):
        x = np.array([1, 1.0078125, 300], ml_dtypes.bfloat16)
        for f in ways("def @main(%x: Tensor[(3), bfloat16]) { add(%x, %x) }"):
            np.testing.assert_array_equal(f(x).astype(np.float32), (x + x).astype(np.float32))

    def test_scalars(self):
        for f in ways("def @main(%x: bfloat16) { negative(%x) }"):
            self.assertEqual(float(f(1.5)), -1.5)
            self.assertEqual(float(f(ml_dtypes.bfloat16(2))), -2)
            self.assertEqual(f(1.5).dtype, ml_dtypes.bfloat16)

    def test_constants_and_specs(self):
        weight = np.array([1, 2, 4], ml_dtypes.bfloat16)
        module = relay.trace(lambda x: x * weight, [weight])
        self.assertIn("Tensor[(3), bfloat16]", str(module["main"].type))
        np.testing.assert_array_equal(relay.interpret(module, weight).astype(np.float32), [1, 4, 16])
        self.assertEqual(relay.Tensor((3,), ml_dtypes.float8_e5m2).dtype, "float8_e5m2")

    def test_other_dtypes_of_the_package_are_refused(self):
        model = relay.parse("def @main(%x: Tensor[(2), bfloat16]) { %x }")
        for theirs in ("float8_e4m3b11fnuz", "float8_e5m2fnuz", "float8_e4m3fn"):
            x = np.zeros(2, getattr(ml_dtypes, theirs))
            with self.assertRaisesRegex(TypeError, f'`x` has the dtype {theirs}, .*astype\\("bfloat16"\\)'):
                relay.interpret(model, x)
        with self.assertRaisesRegex(TypeError, "no dtype float8_e5m2fnuz"):
            relay.Tensor((3,), ml_dtypes.float8_e5m2fnuz)

    def test_a_transpose_is_refused(self):
        model = relay.parse("def @main(%x: Tensor[(2, 3), bfloat16]) { %x }")
        with self.assertRaisesRegex(ValueError, "not contiguous"):
            relay.interpret(model, np.zeros((3, 2), ml_dtypes.bfloat16).T)


@unittest.skipIf(ml_dtypes is not None, "ml_dtypes is installed")
class WithoutTheDtypesTest(unittest.TestCase):
    def test_results_say_what_to_install(self):
        for f in ways('def @main(%x: Tensor[(2), float32]) { cast(%x, dtype="bfloat16") }'):
            with self.assertRaisesRegex(TypeError, "ml_dtypes"):
                f(np.ones(2, np.float32))


if __name__ == "__main__":
    unittest.main(verbosity=2)  # tools/count_tests.py reads why tests are skipped
