"""The virtual environment that the benchmark runs in. Standard library only."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

from . import options

REQUIREMENTS = Path(__file__).resolve().parents[1] / "requirements.txt"


def enter(script: Path) -> None:
    """Returns inside the environment: makes it if need be and starts `script` again with its Python."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # or ONNX Runtime reports each session, from a thread beside ours
    folder = options.home() / "venv"
    if Path(sys.prefix) == folder:
        return
    try:
        if not up_to_date(folder):
            make(folder)
    except OSError as error:
        fail(f"cannot write {error.filename or folder}: {error.strerror}")
    python = str(folder / "bin" / "python")
    os.environ["PYTHONPYCACHEPREFIX"] = str(options.home() / "pycache")  # nothing is written beside the sources
    sys.stdout.flush()
    os.execv(python, [python, str(script), *sys.argv[1:]])


def up_to_date(folder: Path) -> bool:
    """True if the environment was finished with the present requirements."""
    stamp = folder / "made-from.txt"
    return stamp.is_file() and stamp.read_bytes() == REQUIREMENTS.read_bytes()


def make(folder: Path) -> None:
    """Makes the environment anew and installs the requirements."""
    print(f"bench: installing onnx, onnxruntime and numpy into {folder}", file=sys.stderr)
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = quietly([sys.executable, "-m", "venv", "--clear", str(folder)])
    if made.returncode:
        fail("cannot make a virtual environment; the Debian package python3-venv may be missing")
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    installed = quietly([*pip, "--requirement", str(REQUIREMENTS)])
    if installed.returncode:
        fail(f"pip cannot install {REQUIREMENTS.name}: {last_line(installed.stdout)}")
    (folder / "made-from.txt").write_bytes(REQUIREMENTS.read_bytes())


def quietly(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Runs a command and keeps what it prints."""
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")


def last_line(text: str) -> str:
    """The last line that says something, its blanks made single."""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it printed nothing"


def fail(message: str) -> NoReturn:
    """Ends with one line."""
    print(f"bench: {message}", file=sys.stderr)
    sys.exit(1)
