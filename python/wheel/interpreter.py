"""The Python that a wheel is for.

WORKSPACE builds the extension with the headers of Debian's Python and of Debian's pybind11. Of another Python Bazel gets a
repository that takes the place of that one, with the headers of that Python, and those of the pybind11 of PyPI: Debian 12 has 2.10,
which knows no Python after 3.11.
"""

import os
import subprocess
import sys
from pathlib import Path

from harness import environment, options as settings

DEFAULT = "/usr/bin/python3"
OLDEST = (3, 11)
REQUIREMENTS = Path(__file__).resolve().with_name("pybind11_requirements.txt")
BUILD = """cc_library(
    name = "pybind11",
    hdrs = glob(["python/**", "pybind11/**"]),
    includes = [".", "python"],
    visibility = ["//visibility:public"],
)
"""


def version(python: str) -> tuple[int, int]:
    """Such as 3 and 13: an extension is for this version alone."""
    major, minor = ask(python, "print(*sys.version_info[:2])").split()
    return int(major), int(minor)


def options(python: str, install: bool) -> list[str]:
    """What Bazel builds the extension for this Python with; nothing for Debian's own."""
    if os.path.samefile(ask(python, "print(sys.executable)"), DEFAULT):
        return []
    name = "{}.{}".format(*version(python))
    if version(python) < OLDEST:
        sys.exit(f"wheel: {python} is Python {name}, and the package is for 3.11 and newer")
    headers = Path(ask(python, "print(sysconfig.get_path('include'))"))
    if not (headers / "Python.h").exists():
        sys.exit(f"wheel: {python} has no headers in {headers}: its package with them is called python{name}-dev or python{name}-devel")
    programs = environment.programs("pybind11", REQUIREMENTS, install, f"`./dev wheel DIR --python {python}`")
    pybind11 = Path(ask(str(programs / "python"), "import pybind11; print(pybind11.get_include())"))
    folder = settings.home() / f"python-{name}"
    folder.mkdir(parents=True, exist_ok=True)
    for link, target in {"python": headers, "pybind11": pybind11 / "pybind11"}.items():
        (folder / link).unlink(missing_ok=True)
        (folder / link).symlink_to(target)
    (folder / "WORKSPACE").write_text("")
    (folder / "BUILD").write_text(BUILD)
    return [f"--override_repository=pybind11={folder}"]


def ask(python: str, program: str) -> str:
    """What this Python prints."""
    try:
        ended = subprocess.run([python, "-c", f"import sys, sysconfig; {program}"], capture_output=True, text=True)
    except OSError as error:
        sys.exit(f"wheel: cannot run {python}: {error.strerror}")
    if ended.returncode:
        sys.exit(f"{ended.stderr}wheel: {python} failed, as above")
    return ended.stdout.strip()
