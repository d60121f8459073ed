#!/usr/bin/python3
"""A wheel as a stranger has it: wheel_test.py WHEEL.

It goes into a fresh virtual environment of the Python that runs this. Programs have none of our folders and variables in their
environment, and no compiler. Where that Python has NumPy, as Debian's does, the wheel comes beside it and nothing is downloaded. Else
NumPy comes from PyPI."""

import base64
import csv
import hashlib
import importlib.util
import io
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LESSONS = ROOT / "tests/python/lessons_test.py"
HAS_NUMPY = importlib.util.find_spec("numpy") is not None
MOST_BYTES = 80e6
MOST_SECONDS = 60
# What PEP 600 promises of a machine, as far as it is used here.
PROMISED = ("ld-linux", "libc.", "libdl.", "libgcc_s.", "libm.", "libpthread.", "librt.", "libstdc++.", "libz.")

FIVE_LINES = """
import numpy as np
import relay
model = relay.load("mnist_8/model.onnx")
x = np.load("mnist_8/inputs/Input3.npy")
print(relay.jit(model)(x).argmax())
"""
LIBRARIES = """
def libraries():
    return {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line and "/lib-dynload/" not in line}
import numpy
before = libraries()
import relay
print(*sorted(libraries() - before))
"""
WITHOUT_COMPILER = """
import relay
try:
    relay.compile(relay.load("mnist_8/model.onnx"))
except relay.DiagnosticError as error:
    print(error.slug, error)
"""
WITH_COMPILER = FIVE_LINES.replace("relay.jit(", "relay.compile(")

DIGIT = "6"  # of outputs/Plus214_Output_0.npy, which came with the model

wheel = pathlib.Path()


class Stranger:
    """A home with the model, and an environment with the wheel."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.home = pathlib.Path(self.folder.name).resolve()
        self.venv = self.home / "venv"
        shutil.copytree(ROOT / "examples/models/mnist_8", self.home / "mnist_8")
        self.run(sys.executable, "-m", "venv", *["--system-site-packages"] * HAS_NUMPY, self.venv, path="/usr/bin:/bin")
        begun = time.monotonic()
        offline = ["--no-index"] * HAS_NUMPY
        self.run(self.venv / "bin/pip", "install", "--quiet", "--disable-pip-version-check", *offline, wheel)
        self.prediction = self.python(FIVE_LINES)
        self.seconds = time.monotonic() - begun  # from a fresh environment to a digit

    def run(self, *command, path="/nowhere", folder=None, **more):
        environ = {"HOME": str(self.home), "PATH": f"{self.venv}/bin:{path}", **more}
        ended = subprocess.run(
            command, cwd=folder or self.home, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        if ended.returncode:
            raise AssertionError(f"{' '.join(map(str, command))}\n{ended.stdout}")
        return ended.stdout.strip()

    def python(self, text, **more):
        return self.run(self.venv / "bin/python", "-c", text, **more)


class WheelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stranger = Stranger()
        cls.addClassCleanup(cls.stranger.folder.cleanup)

    def is_promised_or_in_the_wheel(self, library):
        path = pathlib.Path(library)
        self.assertTrue(path.name.startswith(PROMISED) or self.stranger.venv in path.resolve().parents, library)

    def test_pip_and_five_lines_give_a_prediction_in_a_minute(self):
        self.assertEqual(self.stranger.prediction, DIGIT)
        self.assertLess(self.stranger.seconds, MOST_SECONDS)

    def test_it_is_small(self):
        self.assertLess(wheel.stat().st_size, MOST_BYTES)

    def test_the_record_is_right(self):
        with zipfile.ZipFile(wheel) as files:
            (record,) = [name for name in files.namelist() if name.endswith(".dist-info/RECORD")]
            rows = list(csv.reader(io.StringIO(files.read(record).decode())))
            self.assertEqual([row[0] for row in rows], files.namelist())
            for name, digest, size in rows:
                if name != record:
                    found = base64.urlsafe_b64encode(hashlib.sha256(files.read(name)).digest()).rstrip(b"=").decode()
                    self.assertEqual((digest, size), (f"sha256={found}", str(files.getinfo(name).file_size)), name)

    def test_the_metadata_name_the_python_of_the_tag(self):
        with zipfile.ZipFile(wheel) as files:
            (metadata,) = [name for name in files.namelist() if name.endswith(".dist-info/METADATA")]
            lines = files.read(metadata).decode().splitlines()
        major, minor = map(int, self.stranger.python("import sys; print(*sys.version_info[:2])").split())
        self.assertIn(f"-cp{major}{minor}-", wheel.name)
        self.assertIn(f"Requires-Python: >={major}.{minor},<{major}.{minor + 1}", lines)
        self.assertNotIn("@", "".join(lines))

    def test_each_library_has_its_licence(self):
        with zipfile.ZipFile(wheel) as files:
            names = files.namelist()
        libraries = [name for name in names if name.startswith("relay.libs/")]
        licences = [name for name in names if "/licenses/" in name]
        self.assertGreater(len(libraries), 5)
        self.assertEqual(len(licences), len(libraries) + 1)

    def test_no_library_of_this_machine_is_loaded(self):
        loaded = self.stranger.python(LIBRARIES).split()
        self.assertTrue(any("libLLVM" in library for library in loaded))
        for library in loaded:
            self.is_promised_or_in_the_wheel(library)

    def test_the_command_loads_none_either(self):
        (command,) = self.stranger.venv.glob("lib/python*/site-packages/relay.scripts/relay")
        lines = self.stranger.run(command, LD_TRACE_LOADED_OBJECTS="1").splitlines()
        loaded = [line.split()[2] for line in lines if "=>" in line]
        self.assertTrue(any("libLLVM" in library for library in loaded))
        for library in loaded:
            self.is_promised_or_in_the_wheel(library)

    def test_the_command_runs_and_verifies(self):
        self.assertIn("code generator LLVM", self.stranger.run("relay", "--version"))
        report = self.stranger.run("relay", "verify", "mnist_8/model.onnx", "--inputs", "mnist_8/inputs", "--engines", "jit,graph")
        self.assertEqual(report.count("  ok"), 8, report)  # two engines, four levels

    def test_without_a_compiler_it_says_what_to_install(self):
        said = self.stranger.python(WITHOUT_COMPILER)
        self.assertIn("there is no C++ compiler: install g++ (apt-get install g++)", said)

    def test_with_a_compiler_it_compiles(self):
        self.assertEqual(self.stranger.python(WITH_COMPILER, path="/usr/bin:/bin"), DIGIT)

    def test_the_lessons_run(self):
        self.stranger.run(self.stranger.venv / "bin/python", LESSONS, path="/usr/bin:/bin", folder=ROOT)

    def test_types_are_there(self):
        (package,) = self.stranger.venv.glob("lib/python*/site-packages/relay")
        self.assertLessEqual({"py.typed", "_relay.pyi"}, {file.name for file in package.iterdir()})


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("wheel_test.py: say which wheel: ./dev wheel DIR makes one")
    wheel = pathlib.Path(sys.argv.pop(1)).absolute()
    unittest.main()
