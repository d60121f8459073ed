"""The virtual environment that the benchmark and tests/outside run in. Standard library only."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

from . import options

BENCH = Path(__file__).resolve().parents[1]
REQUIREMENTS = BENCH / "requirements.txt"
OPTIONAL = {"openvino": "180 MB", "torch": "6 GB"}  # what a peer's requirements take of the disk


def enter(script: Path, peers: tuple[str, ...]) -> None:
    """Returns inside the environment: makes it if need be and starts `script` again with its Python."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # or ONNX Runtime reports each session, from a thread beside ours
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(options.home() / "torchinductor")
    folder = options.home() / "venv"
    if Path(sys.prefix) == folder:
        return
    try:
        if not up_to_date(folder, REQUIREMENTS):
            make(folder)
        for peer in peers:
            if peer in OPTIONAL:
                add(folder, peer)
    except OSError as error:
        fail(f"cannot write {error.filename or folder}: {error.strerror}")
    python = str(folder / "bin" / "python")
    os.environ["PYTHONPYCACHEPREFIX"] = str(options.home() / "pycache")  # nothing is written beside the sources
    sys.stdout.flush()
    os.execv(python, [python, str(script), *sys.argv[1:]])


def is_made() -> bool:
    """True if the environment is there and `enter` has nothing to install."""
    return up_to_date(options.home() / "venv", REQUIREMENTS)


def programs(name: str, requirements: Path, install_missing: bool, remedy: str) -> Path:
    """The folder with the programs of an environment of its own, which is made if it is not there."""
    folder = options.home() / name
    if not up_to_date(folder, requirements):
        if not install_missing:
            sys.exit(f"{name}: its programs are not installed: {remedy} gets them from PyPI once")
        print(f"{name}: installing {requirements.name} into {folder}", file=sys.stderr)
        folder.parent.mkdir(parents=True, exist_ok=True)
        if quietly([sys.executable, "-m", "venv", "--clear", str(folder)]).returncode:
            sys.exit(f"{name}: cannot make a virtual environment; the Debian package python3-venv may be missing")
        if why := install(folder, requirements):
            sys.exit(f"{name}: {why}")
    return folder / "bin"


def stamp(folder: Path, requirements: Path) -> Path:
    """Holds the requirements that the environment was finished with."""
    return folder / f"made-from-{requirements.stem}.txt"


def up_to_date(folder: Path, requirements: Path) -> bool:
    """True if the environment was finished with the present requirements."""
    made_from = stamp(folder, requirements)
    return made_from.is_file() and made_from.read_bytes() == requirements.read_bytes()


def make(folder: Path) -> None:
    """Makes the environment anew with what every run needs."""
    print(f"bench: installing onnx, onnxruntime and numpy into {folder}", file=sys.stderr)
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = quietly([sys.executable, "-m", "venv", "--clear", str(folder)])
    if made.returncode:
        fail("cannot make a virtual environment; the Debian package python3-venv may be missing")
    if why := install(folder, REQUIREMENTS):
        fail(why)


def add(folder: Path, peer: str) -> None:
    """Installs what one peer needs besides. Without it the others are compared all the same."""
    requirements = BENCH / f"requirements-{peer}.txt"
    if up_to_date(folder, requirements):
        return
    print(f"bench: installing {peer} into {folder} ({OPTIONAL[peer]}, once)", file=sys.stderr)
    if why := install(folder, requirements):
        print(f"bench: no peer {peer}: {why}", file=sys.stderr)


def install(folder: Path, requirements: Path) -> str:
    """Installs from PyPI what the file lists, beside the versions that every run needs. Why not, if it fails."""
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    installed = quietly([*pip, "--requirement", str(requirements), "--constraint", str(REQUIREMENTS)])
    if installed.returncode:
        return f"pip cannot install {requirements.name}: {last_line(installed.stdout)}"
    stamp(folder, requirements).write_bytes(requirements.read_bytes())
    return ""


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
