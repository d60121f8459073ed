#!/usr/bin/python3
"""`await f.run_async(x)`: the run ends when the future is cancelled, whatever the reason."""

import asyncio
import os
import signal
import threading
import time
import unittest

import numpy as np

import relay

# Counts up to %n: for ever, if that is large.
COUNT = """def @main(%n: int64, %x: int64) -> int64 {
  if (equal(%n, 0i64)) { %x } else { @main(subtract(%n, 1i64), %x) }
}"""
WITH_DATA = """type Box { Box(int64) }
def @count(%n: int64, %b: Box) -> Box { if (equal(%n, 0i64)) { %b } else { @count(subtract(%n, 1i64), %b) } }
def @main(%n: int64, %b: Box) -> Box { @count(%n, %b) }"""
FOR_EVER = 2**62
SOON = 20  # seconds, on a busy machine


class AsyncTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        model = relay.parse(COUNT)
        cls.ways = [relay.jit(model), relay.compile(model, level=1)]

    def setUp(self):
        # A shell ignores SIGINT for what it runs in the background, and then Python does, too.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        self.begun = time.monotonic()

    def ended_soon(self):
        """`asyncio.run` waits for the threads of its executor, so it has returned only if the run has ended."""
        self.assertLess(time.monotonic() - self.begun, SOON)


    def test_a_timeout(self):
        async def limited(f):
            await asyncio.wait_for(f.run_async(FOR_EVER, 1), 0.2)

        for f in self.ways:
            with self.assertRaises(TimeoutError):
                asyncio.run(limited(f))
            self.ended_soon()
            self.assertEqual(int(f(10, 5)), 5)  # usable afterwards

    def test_a_timeout_of_a_program_with_data(self):
        async def limited(f):
            await asyncio.wait_for(f.run_async(FOR_EVER, relay.Data("Box", (1,))), 0.2)

        model = relay.parse(WITH_DATA)
        for f in (relay.jit(model), relay.compile(model, level=1)):
            with self.assertRaises(TimeoutError):
                asyncio.run(limited(f))
            self.ended_soon()
            self.assertEqual(int(f(10, relay.Data("Box", (5,))).fields[0]), 5)

    def test_several_runs(self):
        """Runs of an Executable wait for each other: a run that waits is cancelled, too. Others are not."""
        async def several(f):
            endless = [asyncio.create_task(f.run_async(FOR_EVER, 1)) for _ in range(2)]
            await asyncio.sleep(0.1)
            other = asyncio.create_task(f.run_async(10, 7))
            for task in endless:
                task.cancel()
            return int(await other)

        for f in self.ways:
            self.assertEqual(asyncio.run(several(f)), 7)
            self.ended_soon()

    def test_a_task(self):
        async def run(f):
            return await f.run_async(FOR_EVER, 1)

        async def cancelled(f):
            task = asyncio.create_task(run(f))
            await asyncio.sleep(0.1)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            return int(await f.run_async(10, 3))

        for f in self.ways:
            self.assertEqual(asyncio.run(cancelled(f)), 3)
            self.ended_soon()

    def test_ctrl_c(self):
        async def run(f):
            await f.run_async(FOR_EVER, 1)

        for f in self.ways:
            timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
            timer.start()
            with self.assertRaises(KeyboardInterrupt):
                asyncio.run(run(f))
            timer.join()
            self.ended_soon()
            self.assertEqual(int(f(10, 5)), 5)

    def test_a_run_that_ended_before(self):
        async def late(f):
            task = asyncio.create_task(f.run_async(10, 7))
            result = await task
            self.assertFalse(task.cancel())
            return int(result), int(await f.run_async(10, 8))

        for f in self.ways:
            self.assertEqual(asyncio.run(late(f)), (7, 8))

    def test_what_is_wrong_arrives(self):
        async def wrong(f):
            with self.assertRaisesRegex(TypeError, "argument `x` is missing"):
                await f.run_async(1)
            with self.assertRaisesRegex(TypeError, "`n`.*float64"):
                await f.run_async(np.float64(1), 2)

        for f in self.ways:
            asyncio.run(wrong(f))

    def test_without_a_loop(self):
        for f in self.ways:
            self.assertEqual(int(asyncio.run(f.run_async(10, 7))), 7)

    def test_runs_that_nobody_awaits(self):
        """They are cancelled when the loop ends: `asyncio.run` would wait for ever for their threads."""
        async def left_behind(f):
            f.kept = asyncio.create_task(f.run_async(FOR_EVER, 1))  # or it may be collected
            await asyncio.sleep(0.1)

        async def one_fails(f):
            async def fails():
                await asyncio.sleep(0.1)
                raise KeyError("this one")

            await asyncio.gather(f.run_async(FOR_EVER, 1), fails())

        class Holder:
            def __init__(self, f):
                self.run_async = f.run_async

        for f in self.ways:
            asyncio.run(left_behind(Holder(f)))
            with self.assertRaisesRegex(KeyError, "this one"):
                asyncio.run(one_fails(f))
            self.ended_soon()
            self.assertEqual(int(f(10, 5)), 5)

    def test_a_run_that_is_never_begun(self):
        for f in self.ways:
            run = f.run_async(FOR_EVER, 1)  # nothing runs
            run.close()


if __name__ == "__main__":
    unittest.main()
