#!/usr/bin/python3
"""What goes wrong in a model or in a run is an exception with its slug, place, notes and carets."""

import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest
import warnings
from unittest import mock

import numpy as np

import relay

LOOP = "def @main(%x: int64) -> int64 { @main(add(%x, 1i64)) }"
INDEX = """def @main(%x: int32, %y: int32) {
  divide(%x, %y)
}"""

WARNED = """type Color { Red, Green }
def @main(%c: Color) -> int64 { match (%c) { Red => 1i64, _ => 2i64, Green => 3i64 } }"""

ROOT = """kernel @root(x: float32[2]) -> (y: float32[2]) {
  for i in 2 {
    block y {
      spatial vi in 2 = i;
      reads x[vi];
      writes y[vi];
      require(x[vi] >= 0f, "negative");
      y[vi] = sqrt(x[vi]);
    }
  }
}
"""

KERNEL = ROOT + """def @main(%x: Tensor[(2), float32]) { @root(%x) }"""

# A kernel of the user on integers, with one statement.
def kernel_on_integers(statement):
    return f"""kernel @root(x: int64[2]) -> (y: int64[2]) {{
  for i in 2 {{
    block y {{
      spatial vi in 2 = i;
      reads x[0:2];
      writes y[vi];
      {statement}
    }}
  }}
}}
def @main(%x: Tensor[(2), int64]) {{ @root(%x) }}"""


# The function is no kernel, as the user's kernel may fail in its middle.
WEAK = ROOT + """def @main(%x: Tensor[(2), float32]) {
  fn (%p: Tensor[(2), float32], Primitive=True) -> Tensor[(2), float32] { negative(@root(%p)) }(%x)
}"""


class ErrorsTest(unittest.TestCase):
    def test_diagnostics(self):
        with self.assertRaises(relay.DiagnosticError) as caught:
            relay.parse("def @main(%x: Tensor[(2), float32]) {\n  add(%x, %z)\n}", name="net.relay")
        error = caught.exception
        self.assertIsInstance(error, relay.Error)
        self.assertEqual(error.slug, "unknown-variable")
        self.assertEqual((error.span.file, error.span.line, error.span.column), ("net.relay", 2, 11))
        self.assertEqual(error.text, str(error))
        self.assertIn("net.relay:2:11: error:", error.text)
        self.assertIn("^~", error.text)
        self.assertEqual(error.diagnostics[0].severity, "error")
        self.assertIsInstance(error.notes, list)

    def test_files(self):
        for path, slug in (("/nowhere/net.relay", "file-unreadable"), ("net.txt", "model-form-unknown")):
            with self.assertRaises(relay.DiagnosticError) as caught:
                relay.load(path)
            self.assertEqual((caught.exception.slug, caught.exception.span), (slug, None))

    def test_what_another_function_is_for(self):
        with tempfile.TemporaryDirectory() as folder:
            library = pathlib.Path(folder) / "net.so"
            library.write_bytes(b"")
            with self.assertRaisesRegex(ValueError, "compiled already: relay.open opens it"):
                relay.load(library)
            with self.assertRaisesRegex(ValueError, "not compiled: relay.load loads it"):
                relay.open(pathlib.Path(folder) / "net.onnx")

    def test_messages_name_arguments_and_no_options_of_the_command(self):
        with self.assertRaises(relay.DiagnosticError) as caught:
            relay.parse("def @main(%x: int64) { %x }", function="mian")
        self.assertEqual(caught.exception.notes[-1], "choose another with `function`; there are: main")
        self.assertIn("choose another with `function`", str(caught.exception))
        model = relay.parse("def @main(%x: int64) { %x }")
        with self.assertRaisesRegex(ValueError, "^argument `levels`: there is no level 9, they go from 0 to 3$"):
            relay.verify(model, [1], levels=9)
        with self.assertRaisesRegex(ValueError, "^argument `level`: there is no level 4"):
            relay.jit(model, level=4)
        with self.assertRaisesRegex(ValueError, "^argument `max_time` is no number$"):
            relay.interpret(model, 1, max_time=float("nan"))

    def test_an_error_that_a_user_makes(self):
        for kind in (relay.Error, relay.DiagnosticError, relay.TrapError, relay.LimitError):
            error = kind("mine")
            self.assertEqual((str(error), error.slug, error.span, list(error.notes)), ("mine", None, None, []))

    def test_a_compiler_that_comes_later(self):
        """Who is told to install one goes on in the same process."""
        model = relay.parse("def @main(%x: int64) { %x }")
        for variables in ({"PATH": "/nowhere"}, {"RELAY_CXX": "/nowhere/c++"}):
            with mock.patch.dict(os.environ, {"RELAY_CACHE": "off", **variables}):
                if "PATH" in variables:
                    os.environ.pop("RELAY_CXX", None)
                with self.assertRaisesRegex(relay.DiagnosticError, "C\\+\\+ compiler|cannot be run"):
                    relay.compile(model)
            self.assertEqual(int(relay.compile(model)(3)), 3)

    def test_a_text_that_is_not_utf_8(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "net.relay"
            path.write_bytes(b"def @main(%x: int64) { \xff\xfe }")
            with self.assertRaises(relay.DiagnosticError) as caught:
                relay.load(path)
        self.assertIn("\ufffd\ufffd }", str(caught.exception))

    def test_paths_that_are_not_utf_8(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.fsdecode(os.fsencode(folder) + b"/caf\xe9.relay")
            pathlib.Path(path).write_text(INDEX)
            model = relay.load(path)
            self.assertEqual(model.files, [path])
            with self.assertRaises(relay.TrapError) as caught:
                relay.interpret(model, 1, 0)
            self.assertTrue(caught.exception.span.file.endswith("/caf\ufffd.relay"))
            script = os.fsencode(folder) + b"/caf\xe9.py"
            pathlib.Path(os.fsdecode(script)).write_text(f"""
import sys
sys.path[:0] = {sys.path!r}
import relay
model = relay.trace(lambda x, y: x // y, ["int32", "int32"])
try:
    relay.interpret(model, 1, 0)
except relay.TrapError as error:
    print(ascii(error.span.file.rpartition("/")[2]), "lambda x, y: x // y" in str(error))
""")
            ended = subprocess.run([sys.executable, script], capture_output=True, text=True)
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "'caf\\ufffd.py' True\n", ""))

    def test_passes(self):
        with self.assertRaises(relay.DiagnosticError) as caught:
            relay.parse(INDEX).run("fuse,fold")
        self.assertEqual(caught.exception.slug, "bad-pipeline")

    def test_no_function_to_run(self):
        model = relay.parse("def @other(%x: int64) { %x }")
        for call in (lambda: relay.jit(model), lambda: relay.interpret(model, 1), lambda: relay.compile(model)):
            with self.assertRaises(relay.DiagnosticError) as caught:
                call()
            self.assertEqual(caught.exception.slug, "no-such-function")
        with self.assertRaises(relay.DiagnosticError):
            relay.parse("def @other(%x: int64) { %x }", function="main")

    def test_functions_are_no_values_of_python(self):
        model = relay.parse("def @main(%f: fn(int64) -> int64) { %f(1i64) }")
        with self.assertRaisesRegex(TypeError, "cannot be called from Python"):
            relay.jit(model)

    def test_traps(self):
        model = relay.parse(INDEX, name="net.relay")
        for f in (lambda *a: relay.interpret(model, *a), relay.jit(model), relay.compile(model, level=1)):
            with self.assertRaises(relay.TrapError) as caught:
                f(1, 0)
            self.assertIn("zero", caught.exception.message)
            self.assertEqual(int(f(6, 3)), 2)
        with self.assertRaises(relay.TrapError) as caught:
            relay.interpret(model, 1, 0)
        self.assertEqual((caught.exception.span.line, caught.exception.span.column), (2, 3))
        self.assertIn("net.relay:2:3: trap: ", str(caught.exception))
        self.assertIn("  ^~~~", str(caught.exception))

    def test_limits(self):
        model = relay.parse(LOOP)
        for options in ({"fuel": 1000}, {"max_time": 0.05}):
            with self.assertRaises(relay.LimitError):
                relay.interpret(model, 1, **options)
        deep = relay.parse("def @main(%x: int64) -> int64 { add(1i64, @main(%x)) }")
        with self.assertRaises(relay.LimitError):
            relay.interpret(deep, 1, max_depth=100)

    def test_traps_have_slugs(self):
        cases = (
            ("def @main(%x: int32, %y: int32) { divide(%x, %y) }", (1, 0), "division-by-zero"),
            ("def @main(%x: int32, %y: int32) { divide(%x, %y) }", (-(2**31), -1), "integer-overflow"),
            ("def @main(%x: int32, %y: int32) { left_shift(%x, %y) }", (1, 32), "shift-out-of-range"),
            ("def @main(%i: Tensor[(1), int64]) { adv_index((tensor([1, 2], int32, (2)), %i)) }", (np.array([2]),), "index-out-of-range"),
            ('import "prelude"\ndef @main(%l: List[int32]) { @hd(%l) }', ([],), "match-not-exhaustive"),
            (KERNEL, (np.full(2, -1, np.float32),), "requirement-failed"),
            ("def @main(%n: int64) { dyn.full(1f, reshape(%n, newshape=[1])) }", (-1,), "requirement-failed"),
        )
        for text, args, slug in cases:
            model = relay.parse(text)
            for f in (lambda *a: relay.interpret(model, *a), relay.jit(model)):
                with self.subTest(slug), self.assertRaises(relay.TrapError) as caught:
                    f(*args)
                self.assertEqual(caught.exception.slug, slug, str(caught.exception))
        with self.assertRaises(relay.TrapError) as caught:
            relay.compile(relay.parse(INDEX), level=0)(1, 0)  # a library tells its message alone
        self.assertEqual((caught.exception.slug, caught.exception.span), ("division-by-zero", None))

    def test_kernels_of_the_user_have_slugs_too(self):
        for statement, given, slug in (
            ("y[vi] = 60 // x[vi];", 0, "division-by-zero"),
            ("y[vi] = trunc_div(x[vi] - 9223372036854775807, -1);", -1, "integer-overflow"),
            ("y[vi] = shift_left(x[vi], x[vi]);", 64, "shift-out-of-range"),
            ("y[vi] = x[x[vi]];", 2, "index-out-of-range"),
            ('require(x[vi] > 0, "the temperature is out of range"); y[vi] = x[vi];', 0, "requirement-failed"),
            ('require(x[vi] > 0, "it is a division by zero"); y[vi] = x[vi];', 0, "requirement-failed"),
        ):
            model = relay.parse(kernel_on_integers(statement))
            for f in (lambda *a: relay.interpret(model, *a), relay.jit(model)):
                with self.subTest(slug), self.assertRaises(relay.TrapError) as caught:
                    f(np.full(2, given))
                self.assertEqual(caught.exception.slug, slug, str(caught.exception))

    def test_limits_have_slugs_and_places(self):
        loop, deep = LOOP, "def @main(%x: int64) -> int64 {\n  add(1i64, @main(%x)) }"
        for text, options, slug, argument in (
            (loop, {"fuel": 1000}, "limit-fuel", "(fuel)"),
            (deep, {"max_depth": 100}, "limit-depth", "(max_depth)"),
            (loop, {"max_time": 0.01}, "limit-time", "(max_time)"),
            (loop, {"max_memory": 1}, "limit-memory", "(max_memory)"),
        ):
            with self.subTest(slug), self.assertRaises(relay.LimitError) as caught:
                relay.interpret(relay.parse(text, name="net.relay"), 1, **options)
            error = caught.exception
            self.assertEqual(error.slug, slug)
            self.assertIn(argument, str(error))  # an argument of Python, not an option of the command
            self.assertNotIn("--", str(error))
            if slug != "limit-memory":  # which is looked at before the first expression
                self.assertEqual((error.span.file, error.span.line), ("net.relay", 2 if text is deep else 1))
            again = pickle.loads(pickle.dumps(error))
            self.assertEqual((again.slug, str(again.span)), (error.slug, str(error.span)))

    def test_warnings_name_the_line_of_the_caller(self):
        with self.assertWarns(relay.DiagnosticWarning) as caught:
            relay.parse(WARNED)
        self.assertIn("[unreachable-arm]", str(caught.warning))
        self.assertEqual(caught.filename, __file__)
        # One of a function of the package that is written in Python names the caller, too.
        text = """def @main(%c: bool, %x: Tensor[(n), float32]) {
          if (%c) { add(%x, ones(shape=[4], dtype="float32")) } else { ones(shape=[4], dtype="float32") }
        }"""
        with self.assertWarns(relay.DiagnosticWarning) as caught:
            relay.verify(relay.parse(text), [False, np.ones(3, np.float32)], engines=["interp"])
        self.assertEqual(caught.filename, __file__)

    def test_a_weaker_form_is_a_warning(self):
        with self.assertWarnsRegex(relay.DiagnosticWarning, "engine `jit` compiles operators one by one: cannot lower"):
            compiled = relay.jit(relay.parse(WEAK))
        self.assertEqual(compiled(np.float32([4, 9])).tolist(), [-2, -3])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            relay.jit(relay.parse("def @main(%x: Tensor[(2), float32]) { negative(sqrt(%x)) }"))

    def test_warnings_may_be_errors(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            relay.parse(INDEX)  # has none
            with self.assertRaises(relay.DiagnosticWarning):
                relay.parse(WARNED)


if __name__ == "__main__":
    unittest.main()
