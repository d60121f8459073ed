"""The package that a test of this folder is given: a wheel, or a folder as `./dev python DIR` makes it."""

import contextlib
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def folder_of(package: Path, programs: Path) -> Iterator[Path]:
    """The folder for PYTHONPATH. `programs` has the environment's pip, which unpacks a wheel."""
    if not package.is_file():
        yield package
        return
    with tempfile.TemporaryDirectory(prefix="relay-wheel-") as folder:
        pip = [programs / "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index"]
        subprocess.run([*pip, "--target", folder, package], check=True)
        yield Path(folder)
