#!/usr/bin/python3
"""Ctrl-C, the end of Python, and forks, in the middle of whatever goes on."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import numpy as np

import relay

LOOP = "def @main(%x: int64) -> int64 { @main(add(%x, 1i64)) }"
ADD = "def @main(%x: Tensor[(4096), float32]) { add(%x, 1f) }"
X = np.arange(4096, dtype=np.float32)

# What scripts below begin with.
BEGIN = f"""
import os, signal, sys, threading, time
sys.path[:0] = {sys.path!r}
import numpy as np
import relay
LOOP = {LOOP!r}
signal.signal(signal.SIGINT, signal.default_int_handler)
def interrupt(seconds):
    timer = threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.daemon = True
    timer.start()
"""

# A compiler of C++ that takes its time, and leaves the file $ENDED at its end.
SLOW_COMPILER = """#!/bin/sh
case "$*" in *--version*) exec g++ --version ;; esac
sleep "$SLEEPS"
touch "$ENDED"
exec g++ "$@"
"""


def ended(program, first="", **environ):
    """The script's end, in at most a minute. `first` comes before `import relay`."""
    quiet = "ignore:This process:DeprecationWarning"  # Python 3.12 and later warn of forks, which are what is tried here
    return subprocess.run([sys.executable, "-W", quiet, "-c", first + BEGIN + program], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "RELAY_CACHE": "off", **environ})


@contextlib.contextmanager
def slow_compiler(seconds):
    """The environment for it."""
    with tempfile.TemporaryDirectory() as folder:
        compiler = pathlib.Path(folder) / "c++"
        compiler.write_text(SLOW_COMPILER)
        compiler.chmod(0o755)
        yield {"RELAY_CXX": str(compiler), "SLEEPS": str(seconds), "ENDED": str(pathlib.Path(folder) / "ended")}


class InterruptTest(unittest.TestCase):
    def setUp(self):
        # A shell ignores SIGINT for what it runs in the background, and then Python does, too.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)

    def interrupted(self, call):
        """Ctrl-C after a while: KeyboardInterrupt, and how many seconds later it came."""
        sent = []

        def send():
            time.sleep(0.3)
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=send)
        thread.start()
        try:
            with self.assertRaises(KeyboardInterrupt):
                call()
        finally:
            thread.join()
        return time.monotonic() - sent[0]

    def test_runs(self):
        model = relay.parse(LOOP)
        for f in (lambda x: relay.interpret(model, x), relay.jit(model), relay.compile(model, level=1)):
            self.assertLess(self.interrupted(lambda: f(1)), 5)
            self.assertLess(self.interrupted(lambda: f(1)), 5)

    def test_the_model_is_usable_afterwards(self):
        text = """def @main(%n: int64, %x: int64) -> int64 {
          if (equal(%n, 0i64)) { %x } else { @main(subtract(%n, 1i64), %x) }
        }"""
        model = relay.parse(text)
        for f in (relay.jit(model), relay.compile(model, level=1)):
            self.interrupted(lambda: f(2**62, 1))
            self.assertEqual(int(f(10, 5)), 5)

    def test_a_handler_of_the_users_own(self):
        calls = []
        before = signal.signal(signal.SIGINT, lambda *_: calls.append(1))
        try:
            f = relay.jit(relay.parse(LOOP))
            thread = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
            thread.start()
            with self.assertRaises(relay.LimitError):
                f(1)
            thread.join()
            self.assertEqual(calls, [1])
        finally:
            signal.signal(signal.SIGINT, before)

    def test_rewriting(self):
        """It lets other threads run, and may be left behind; the module is usable when it has ended."""
        chain = "".join(f"%{i} = tanh({f'%{i - 1}' if i else '%x'}); " for i in range(2000))
        model = relay.parse("def @main(%x: Tensor[(2), float32]) { " + chain + "%1999 }")
        self.assertLess(self.interrupted(lambda: relay.pattern("tanh(%x)").rewrite(model, "tanh(negative(%x))")), 5)
        self.assertEqual(len(model.expressions("main")), 4002)

    def test_daemons_at_the_end_of_python(self):
        """They are in the middle of work, or of functions of Python's, and begin anew for as long as they live."""
        for work in ('tanh.rewrite(net, lambda m: "exp(%x)")', "relay.trace(lambda x: relay.ops.tanh(x), ['float32'])",
                     "net.run(lambda m: m)", "relay.jit(net)", "relay.jit(net, progress=lambda *_: None)"):
            with self.subTest(work):
                end = ended(f"""
net = relay.parse("def @main(%x: Tensor[(64), float32]) {{ " + "".join(
    f"%{{i}} = tanh({{'%x' if i == 0 else f'%{{i-1}}'}}); " for i in range(20)) + "%19 }}")
tanh = relay.pattern("tanh(%x)")
def run():
    while True:
        {work}
for _ in range(3):
    threading.Thread(target=run, daemon=True).start()
time.sleep(0.5)
""")
                self.assertEqual((end.returncode, end.stderr), (0, ""))

    def test_a_daemon_that_the_end_of_python_waits_for(self):
        """It cannot begin anything, and ends."""
        end = ended("""
import queue
wanted = queue.Queue()
def work():
    while (x := wanted.get()) is not None:
        relay.jit(net)
        time.sleep(0.05)
net = relay.parse("def @main(%x: int64) { %x }")
thread = threading.Thread(target=work, daemon=True)
thread.start()
for _ in range(10):
    wanted.put(1)
""", first="import atexit; atexit.register(lambda: (wanted.put(None), thread.join(), print('joined')))\n")
        self.assertEqual((end.returncode, end.stdout, end.stderr), (0, "joined\n", ""))

    def test_a_thread_with_a_small_stack(self):
        end = ended("""
threading.stack_size(65536)
model = relay.parse("def @main(%x: Tensor[(8, 8), float32]) { nn.softmax(%x) }")
made = []
thread = threading.Thread(target=lambda: made.append(relay.jit(model)))
thread.start()
thread.join()
print(made[0](np.zeros((8, 8), np.float32)).sum())
""")
        self.assertEqual((end.returncode, end.stdout, end.stderr), (0, "8.0\n", ""))

    def test_work_that_is_abandoned_ends_before_python(self):
        # The compiler of C++ takes longer than 0.3 s, unless it has compiled the program before.
        end = ended("""
model = relay.parse("def @main(%x: Tensor[(8, 8), float32]) { nn.softmax(nn.dense(%x, %x)) }")
try:
    interrupt(0.3)
    relay.compile(model)
except KeyboardInterrupt:
    print("interrupted", model["main"].name)
""")
        self.assertEqual((end.returncode, end.stdout, end.stderr), (0, "interrupted main\n", ""))

    def test_verifying_an_endless_program_ends(self):
        for engine in ("interp", "jit", "aot-cpp"):
            end = ended(f"""
def progress(done, total, what):
    if what.startswith("the reference"):
        interrupt(0.5)
try:
    relay.verify(relay.parse(LOOP), 1, engines=["{engine}"], levels=[0], progress=progress)
except KeyboardInterrupt:
    print("interrupted")
""")
            self.assertEqual((end.returncode, end.stdout, end.stderr), (0, "interrupted\n", ""), engine)

    def test_an_exception_of_progress_ends_verifying_too(self):
        end = ended("""
def progress(done, total, what):
    if what.startswith("the reference"):
        raise StopIteration
try:
    relay.verify(relay.parse(LOOP), 1, engines=["interp"], progress=progress)
except StopIteration:
    print("stopped")
""")
        self.assertEqual((end.returncode, end.stdout, end.stderr), (0, "stopped\n", ""))

    def test_ctrl_c_ends_the_wait_for_what_was_abandoned(self):
        """The end of Python waits for the compiler, unless it is told again."""
        for again, seconds, code in (False, 1.5, 0), (True, 8, -signal.SIGINT):
            with slow_compiler(seconds) as environ:
                end = ended(f"""
try:
    interrupt(0.5)
    relay.compile(relay.parse("def @main(%x: int64) {{ %x }}"))
except KeyboardInterrupt:
    print("interrupted")
    if {again}:
        interrupt(0.5)
""", **environ)
                self.assertEqual((end.returncode, end.stdout, end.stderr), (code, "interrupted\n", ""))
                self.assertEqual(os.path.exists(environ["ENDED"]), not again)

    def test_python_ends_while_threads_run_models(self):
        program = """
model = relay.parse("def @main(%x: Tensor[(64, 64), float32]) { nn.softmax(nn.dense(%x, %x)) }")
x = np.ones((64, 64), np.float32)
f = relay.jit(model)
def work():
    while True:
        f(x)
        relay.interpret(model, x[:, :]) if threading.current_thread().name == "slow" else None
for name in ("fast", "other", "slow"):
    threading.Thread(target=work, name=name, daemon=True).start()
time.sleep(0.3)
"""
        for _ in range(3):
            end = ended(program)
            self.assertEqual((end.returncode, end.stderr), (0, ""))

    def test_python_ends_while_threads_run_a_library(self):
        end = ended("""
import asyncio
f = relay.compile(relay.parse("def @main(%x: Tensor[(64, 64), float32]) { nn.dense(%x, %x) }"), level=1, threads=2)
x = np.ones((64, 64), np.float32)
def work():
    while True:
        f(x)
async def begin():
    for _ in range(8):
        asyncio.create_task(f.run_async(x))  # nobody waits for it
for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
asyncio.run(begin())
""")
        self.assertEqual((end.returncode, end.stderr), (0, ""))


class ForkTest(unittest.TestCase):
    def forked(self, call):
        """What becomes of the call in a child: "works", "refused", "fails", or the number of the signal that ended it."""
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(30)  # ends a child that waits for ever
            code = 1
            try:
                call()
                code = 2
            except RuntimeError as error:
                code = 3 if "the process was forked" in str(error) else 1
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return {1: "fails", 2: "works", 3: "refused"}.get(code, code)

    def test_a_fork_while_another_thread_uses_the_model(self):
        model = relay.parse("""def @main(%n: int64, %x: int64) -> int64 {
          if (equal(%n, 0i64)) { %x } else { @main(subtract(%n, 1i64), %x) }
        }""")
        f = relay.jit(model)
        for use, again in ((lambda: f(100_000, 7), lambda: f(1, 7)), (lambda: model.run(level=2), lambda: str(model)),
                           (lambda: model.run(level=2), lambda: model.run("fuse"))):
            self.assertEqual(self.forked(again), "works")
            ends = threading.Event()

            def work(use=use, ends=ends):
                while not ends.is_set():
                    use()

            thread = threading.Thread(target=work)
            thread.start()
            try:
                # The thread uses it most of the time.
                found = {self.forked(again) for _ in range(10)}
            finally:
                ends.set()
                thread.join()
            self.assertIn("refused", found)
            self.assertLessEqual(found, {"refused", "works"})
            again()  # the parent goes on

    def test_a_child_runs_libraries(self):
        """Their loops have one thread there."""
        compiled = relay.compile(relay.parse(ADD), level=1, threads=2)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "add.so"
            compiled.save(path)
            for f in (compiled, relay.open(path), relay.open(path, threads=1), relay.open(path, threads=2)):
                np.testing.assert_array_equal(f(X), X + 1)

                def again(f=f):
                    np.testing.assert_array_equal(f(X), X + 1)

                self.assertEqual(self.forked(again), "works")
                again()

    def test_a_child_has_no_threads_of_the_engine(self):
        model = relay.parse(ADD)
        f = relay.jit(model, threads=2)
        np.testing.assert_array_equal(f(X), X + 1)
        self.assertEqual(self.forked(lambda: f(X)), "refused")
        self.assertEqual(self.forked(lambda: np.testing.assert_array_equal(relay.jit(model, threads=2)(X), X + 1)), "works")
        np.testing.assert_array_equal(f(X), X + 1)

    def test_a_child_waits_for_what_it_abandoned(self):
        """It does not wait for what its parent did."""
        with slow_compiler(1.5) as environ:
            end = ended("""
def abandon():
    try:
        interrupt(0.5)
        relay.compile(relay.parse("def @main(%x: int64) { %x }"))
    except KeyboardInterrupt:
        pass
abandon()
for name in ("idle", "busy"):
    ended = os.environ["ENDED"] + name
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        os.environ["ENDED"] = ended
        if name == "busy":
            abandon()
        sys.exit()
    code = os.waitpid(child, 0)[1]
    print(os.waitstatus_to_exitcode(code), os.path.exists(ended), flush=True)
""", **environ)
        self.assertEqual((end.returncode, end.stdout, end.stderr), (0, "0 False\n0 True\n", ""))

    def test_ctrl_c_in_a_child_of_another_thread(self):
        """That thread is the main one of the child, and what the parent's was about is nobody's there."""
        end = ended("""
f, g = (relay.jit(relay.parse(LOOP)) for _ in range(2))
one = relay.jit(relay.parse("def @main(%x: int64) { %x }"))
def work():
    one(1)  # the thread is known as one that Ctrl-C does not reach
    time.sleep(0.3)
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        interrupt(0.3)
        try:
            g(1)
        except KeyboardInterrupt:
            os._exit(0)
        os._exit(1)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    interrupt(0)
threading.Thread(target=work).start()
try:
    f(1)
except KeyboardInterrupt:
    print("interrupted")
""")
        self.assertEqual((end.returncode, end.stdout, end.stderr), (0, "0\ninterrupted\n", ""))


if __name__ == "__main__":
    unittest.main()
