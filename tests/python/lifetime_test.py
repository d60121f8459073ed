#!/usr/bin/python3
"""How long compiled models live, how they travel, and what long work says of itself."""

import copy
import gc
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import threading
import unittest
import weakref

import numpy as np

import relay

TEXT = "def @main(%x: Tensor[(4), float32]) { add(%x, 1f) }"
LOOP = """def @main(%n: int64, %x: int64) -> int64 {
  if (equal(%n, 0i64)) { %x } else { @main(subtract(%n, 1i64), %x) }
}"""
X = np.arange(4, dtype=np.float32)


class LifetimeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = relay.parse(TEXT)
        cls.compiled = relay.compile(cls.model, level=1)

    def both(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / "m.so"
        self.compiled.save(path)
        return relay.open(path), relay.jit(self.model)

    def test_with(self):
        for f in self.both():
            with f as inside:
                self.assertIs(inside, f)
                np.testing.assert_array_equal(f(X), X + 1)
                self.assertFalse(f.closed)
            self.assertTrue(f.closed)
            self.assertIn("closed", repr(f))
            for use in (lambda: f(X), lambda: f.inputs, f.__enter__, lambda: pickle.dumps(f)):
                with self.assertRaisesRegex(ValueError, "the model is closed"):
                    use()
            f.close()  # once more does nothing

    def test_with_an_exception(self):
        for f in self.both():
            with self.assertRaises(ZeroDivisionError):
                with f:
                    raise ZeroDivisionError
            self.assertTrue(f.closed)

    def test_close_while_a_call_runs(self):
        f = relay.jit(relay.parse(LOOP))
        results = []
        thread = threading.Thread(target=lambda: results.append(int(f(300_000, 7))))
        thread.start()
        while not results and thread.is_alive():
            f.close()
        thread.join()
        self.assertIn(results, ([7], []))  # it had begun, or found the model closed

    def test_weak_references(self):
        f = relay.jit(self.model)
        for value in (f, relay.parse(TEXT), self.compiled, relay.debug(self.model, X), relay.pattern("tanh(_)")):
            self.assertIs(weakref.ref(value)(), value)
        gone = []
        weakref.finalize(f, gone.append, 1)
        del f, value
        gc.collect()
        self.assertEqual(gone, [1])

    def test_pickled_models(self):
        for f in self.both():
            for again in (pickle.loads(pickle.dumps(f)), copy.deepcopy(f)):
                np.testing.assert_array_equal(again(X), X + 1)
                self.assertEqual((again.inputs, again.outputs), (f.inputs, f.outputs))
                self.assertEqual(type(again), type(f))

    def test_copies_are_of_what_was_opened(self):
        other = relay.compile(relay.parse(TEXT.replace("add", "multiply")), level=1)
        for lose in (other.save, os.unlink):  # another file is at its path then, or none
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "m.so"
                self.compiled.save(path)
                f = relay.open(path)
                lose(path)
                saved = path.with_name("saved.so")
                f.save(saved)
                for again in (f, pickle.loads(pickle.dumps(f)), copy.copy(f), copy.deepcopy(f), relay.open(saved)):
                    np.testing.assert_array_equal(again(X), X + 1)

    def test_files_are_let_go(self):
        def count():
            return len(os.listdir("/proc/self/fd"))

        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "m.so"
            self.compiled.save(path)
            relay.open(path)
            before = count()
            with relay.open(path, threads=1):
                self.assertEqual(count(), before + 1)
            self.assertEqual(count(), before)

    def test_a_pickle_in_another_process(self):
        program = f"""
import sys, pickle
sys.path[:0] = {sys.path!r}
import numpy as np
f = pickle.load(sys.stdin.buffer)
print(f(np.zeros(4, np.float32)).tolist())
"""
        ended = subprocess.run([sys.executable, "-c", program], input=pickle.dumps(self.compiled), capture_output=True)
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, b"[1.0, 1.0, 1.0, 1.0]\n", b""))

    def test_a_pickle_that_is_damaged(self):
        kind, state = self.compiled.__reduce_ex__(2)[1][0], self.compiled.__getstate__()
        again = kind.__new__(kind)
        with self.assertRaises(relay.DiagnosticError) as caught:
            again.__setstate__((b"no library", *state[1:]))
        self.assertEqual(caught.exception.slug, "cannot-load")

    def test_a_pickle_writes_into_no_other_folder(self):
        state = self.compiled.__getstate__()
        with tempfile.TemporaryDirectory() as folder:
            target = pathlib.Path(folder) / "victim"
            again = relay.Compiled.__new__(relay.Compiled)
            again.__setstate__((state[0], str(target), b"bytes", *state[3:]))
            self.assertFalse(target.exists())

    def test_pickled_errors(self):
        def caught_by(call):
            try:
                call()
            except relay.Error as error:
                return error
            raise AssertionError("nothing was raised")

        divide = relay.parse("def @main(%x: int32) {\n  divide(1i32, %x)\n}", name="net.relay")
        errors = [
            caught_by(lambda: relay.parse("def @main(%x: int64) { add(%x, %y) }", name="net.relay")),
            caught_by(lambda: relay.interpret(divide, 0)),
            caught_by(lambda: relay.interpret(relay.parse(LOOP), 10**9, 1, fuel=100)),
        ]
        for error in errors:
            again = pickle.loads(pickle.dumps(error))
            self.assertIs(type(again), type(error))
            self.assertEqual(str(again), str(error))
            self.assertEqual((again.slug, again.message, again.notes), (error.slug, error.message, error.notes))
            self.assertEqual(repr(again.span), repr(error.span))
            self.assertEqual([d.text for d in again.diagnostics], [d.text for d in error.diagnostics])
        self.assertEqual(len(errors[0].diagnostics), 1)
        self.assertEqual(pickle.loads(pickle.dumps(errors[0].span)).column, errors[0].span.column)


class BuilderTest(unittest.TestCase):
    def test_a_decorator_does_not_keep_the_program(self):
        b = relay.Builder()
        unused, late = b.function("int64", result="int64"), b.function("int64", result="int64")

        def body(n):
            return late, n  # a circle, if the decorator keeps the program

        gone = [weakref.ref(b), weakref.ref(body)]
        b.function("int64", result="int64", name="power")(body)
        del b
        self.assertIsNone(gone[0]())
        with self.assertRaisesRegex(ValueError, "the relay.Builder of the decorator is gone"):
            late(body)
        del body, late
        gc.collect()
        self.assertIsNone(gone[1]())
        self.assertTrue(callable(unused))

    def test_what_is_decorated_is_a_function(self):
        b = relay.Builder()
        with self.assertRaisesRegex(TypeError, "a value of the type int is decorated"):
            b.function("int64")(3)


class ProgressTest(unittest.TestCase):
    def setUp(self):
        self.model = relay.parse(TEXT)
        self.steps = []

    def note(self, done, total, what):
        self.assertIs(threading.current_thread(), self.thread)
        self.steps.append((done, total, what))

    def check(self, call):
        """What `call` says of itself, on the thread that calls it: the main one, and another."""
        found = []
        for on_main in (True, False):
            self.steps = []
            failed = []

            def run():
                self.thread = threading.current_thread()
                try:
                    call()
                except BaseException as error:
                    failed.append(error)

            if on_main:
                run()
            else:
                thread = threading.Thread(target=run)
                thread.start()
                thread.join()
            self.assertEqual(failed, [])
            done, total, _ = self.steps[-1]
            self.assertEqual(done, total)
            self.assertEqual({t for _, t, _ in self.steps}, {total})
            self.assertEqual([d for d, _, _ in self.steps], sorted(d for d, _, _ in self.steps))
            found.append([what for _, _, what in self.steps])
        return found[0]

    def test_passes(self):
        def mine(module):
            return module

        said = self.check(lambda: self.model.run(["inline,fuse", mine, "lower"], progress=self.note))
        self.assertEqual(said, ["inline", "fuse", "mine", "lower"])

    def test_engines(self):
        self.assertIn("lower", self.check(lambda: relay.jit(self.model, progress=self.note)))
        said = self.check(lambda: relay.compile(self.model, level=1, progress=self.note))
        self.assertEqual(said, ["passes and kernels", "C++ compiler", "opening", "done"])

    def test_load(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "net.relay"
            path.write_text(TEXT)
            said = self.check(lambda: relay.load(path, progress=self.note))
            self.assertEqual(said, ["reading", "types", "inputs and outputs", "done"])
            self.steps, self.thread = [], threading.current_thread()
            self.assertEqual(relay.load(path, progress=self.note).text(), relay.parse(TEXT).text())
            self.steps = []
            path.write_text("def @main(%x: int64) { %y }")
            with self.assertRaises(relay.DiagnosticError) as caught:
                relay.load(path, progress=self.note)
            self.assertEqual((caught.exception.slug, caught.exception.span.column), ("unknown-variable", 24))
            self.assertNotIn("done", [what for _, _, what in self.steps])

    def test_verify(self):
        said = self.check(
            lambda: relay.verify(self.model, X, engines=["interp", "jit"], levels=[0, 1], progress=self.note))
        self.assertIn("preparing jit -O1", said)

    def test_an_exception_ends_the_call(self):
        def stop(done, total, what):
            raise StopIteration(what)

        for call in (lambda: self.model.run(progress=stop), lambda: relay.jit(self.model, progress=stop),
                     lambda: relay.verify(self.model, X, engines=["jit"], progress=stop)):
            with self.assertRaises(StopIteration):
                call()
        np.testing.assert_array_equal(relay.jit(self.model)(X), X + 1)  # the model is usable

    def test_what_is_no_function(self):
        for call in (self.model.run, lambda **o: relay.load("nowhere.relay", **o), lambda **o: relay.jit(self.model, **o),
                     lambda **o: relay.compile(self.model, **o)):
            with self.assertRaisesRegex(TypeError, "argument `progress` is no function"):
                call(progress=3)


if __name__ == "__main__":
    unittest.main()
