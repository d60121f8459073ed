"""Runs tests with one mutant at a time, and says which tests catch it.

A test is a single TEST of GoogleTest, or a whole program that is none. The first run of each, without a mutant, says how long it
takes and which places it comes to. A mutant then has the tests that come to its place, the quickest first; the first that fails
or does not end has caught it.
"""
import concurrent.futures
import dataclasses
import json
import mmap
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time

# Of tests that come to a place, single ones run first; then those of a program together, until one fails.
SINGLY = 12


@dataclasses.dataclass(frozen=True)
class Test:
    program: str  # passes/runner_test
    name: str  # Runner.Verifies, or nothing: the whole program

    def __str__(self):
        return f"//{self.program.rpartition('/')[0]}:{self.program.rpartition('/')[2]}" + (f" {self.name}" if self.name else "")


class Runner:
    def __init__(self, tree, places):
        self.tree, self.places = pathlib.Path(tree), places
        self.local = threading.local()

    def run(self, program, arguments, limit, mutant=None, reached=None):
        """(exit status, seconds, output); the status is "hangs" for what took longer than the limit."""
        binary = self.tree / "bazel-bin" / program
        folder = pathlib.Path(str(binary) + ".runfiles") / "relay"
        with tempfile.TemporaryDirectory(prefix="relay-mutant-") as scratch:
            environment = {
                "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": scratch, "TMPDIR": scratch, "TEST_TMPDIR": scratch,
                "TEST_SRCDIR": str(folder.parent), "TEST_WORKSPACE": "relay", "RUNFILES_DIR": str(folder.parent),
                "TEST_UNDECLARED_OUTPUTS_DIR": scratch, "RELAY_CACHE": "off", "TZ": "UTC",
            }
            if mutant is not None:
                environment["RELAY_MUTANT"] = str(mutant)
            if reached is not None:
                environment["RELAY_MUTANTS_REACHED"] = str(reached)
            begin = time.monotonic()
            process = subprocess.Popen([str(binary), *arguments], cwd=folder if folder.is_dir() else scratch, env=environment,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                       start_new_session=True, preexec_fn=prepare)
            try:
                output, _ = process.communicate(timeout=limit)
                status = process.returncode
            except subprocess.TimeoutExpired:
                status, output = "hangs", b""
            end_all(scratch)
            process.wait()
            return status, time.monotonic() - begin, output.decode(errors="replace")

    def tests_of(self, program):
        status, _, output = self.run(program, ["--gtest_list_tests"], 60)
        if status != 0 or "Running main() from" not in output and not re.search(r"^\S+\.\n  \S", output, re.M):
            return [Test(program, "")]
        tests, suite = [], ""
        for line in output.splitlines():
            line = line.split("  # ")[0].rstrip()
            if re.match(r"^\S+\.$", line):
                suite = line
            elif line.startswith("  ") and suite and ".DISABLED_" not in "." + line.strip():
                tests.append(Test(program, suite + line.strip()))
        return tests

    @staticmethod
    def arguments(names):
        return ["--gtest_filter=" + ":".join(names), "--gtest_fail_fast"] if any(names) else []

    def baseline(self, test, limit):
        with tempfile.NamedTemporaryFile(prefix="relay-reached-") as file:
            file.truncate(100000)
            status, seconds, output = self.run(test.program, self.arguments([test.name]), limit, reached=file.name)
            content = pathlib.Path(file.name).read_bytes()
        reached = [number for number in range(len(self.places)) if content[number]]
        return {"status": status, "seconds": seconds, "reached": reached, "output": output[-2000:]}

    def fails(self, program, names, seconds, mutant):
        """Which of the tests fails with the mutant; None if none does. `seconds` is what they take without it."""
        status, _, output = self.run(program, self.arguments(names), 10 * seconds + 15, mutant)
        if status == 0:
            return None
        failed = re.search(r"^\[  FAILED  \] ([^\s,]+)", output, re.M)
        began = re.findall(r"^\[ RUN      \] (\S+)", output, re.M)
        which = failed[1] if failed else began[-1] if began else names[0]
        how = "hangs" if status == "hangs" else "fails" if failed or not any(names) else f"ends with {status}"
        return which, how


def end_all(folder):
    """Ends what a test has started and left behind, in whatever group of processes: it has the test's folder in its variables."""
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and folder.encode() in (entry / "environ").read_bytes():
                os.kill(int(entry.name), signal.SIGKILL)
        except (FileNotFoundError, PermissionError, ProcessLookupError):
            pass  # it has ended, or is somebody else's


def prepare():
    """No dumps; and signals as a terminal leaves them, whatever started the study."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for interruption in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(interruption, signal.SIG_DFL)


def study_one(runner, number, reaching, budget):
    """How a mutant ends: caught by which test and how, or not. `reaching` has the tests that come to it, (seconds, Test)."""
    used = 0.0
    begin = time.monotonic()
    reaching = sorted(reaching, key=lambda t: (t[0], str(t[1])))
    single = spread(reaching)[:SINGLY]
    for seconds, test in single:
        caught = runner.fails(test.program, [test.name], seconds, number)
        if caught:
            return {"caught": str(Test(test.program, caught[0])), "how": caught[1], "seconds": time.monotonic() - begin}
        used += seconds
    left = {}
    for seconds, test in reaching:
        if (seconds, test) not in single:
            left.setdefault(test.program, []).append((seconds, test))
    batches = [batch for tests in left.values() for batch in cut(tests, 10)]
    left_out = 0
    for batch in sorted(batches, key=lambda b: sum(s for s, _ in b)):
        seconds = sum(s for s, _ in batch)
        if used + seconds > budget:
            left_out += len(batch)
            continue
        program = batch[0][1].program
        caught = runner.fails(program, [test.name for _, test in batch], seconds, number)
        if caught:
            return {"caught": str(Test(program, caught[0])), "how": caught[1], "seconds": time.monotonic() - begin}
        used += seconds
    return {"caught": None, "reached": len(reaching), "not_run": left_out, "seconds": time.monotonic() - begin}


def spread(tests):
    """The tests, so that the first ones are of many programs: what is alike misses alike."""
    by_program = {}
    for test in tests:
        by_program.setdefault(test[1].program, []).append(test)
    out = []
    while by_program:
        for program in list(by_program):
            out.append(by_program[program].pop(0))
            if not by_program[program]:
                del by_program[program]
    return out


def cut(tests, most):
    """Lists of tests that take so many seconds together."""
    batch, total = [], 0.0
    for seconds, test in tests:
        if batch and (total + seconds > most or len(batch) >= 200):
            yield batch
            batch, total = [], 0.0
        batch.append((seconds, test))
        total += seconds
    if batch:
        yield batch


def baselines(runner, tests, jobs, done):
    """Runs what is not in `done`, a test's name to its record, and adds it."""
    missing = [t for t in tests if str(t) not in done]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        waiting = {pool.submit(runner.baseline, t, 900): t for t in missing}
        for ready in concurrent.futures.as_completed(waiting):
            done[str(waiting[ready])] = ready.result()
            yield len(done)
