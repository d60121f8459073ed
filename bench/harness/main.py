"""Every network in turn: make the model, compile it, let the engines run against each other, print the row."""

import json
import math
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict, replace
from pathlib import Path

import numpy
from zoo.catalogue import NETWORKS

from . import compiling, environment, models, options, peers, roof, table
from .options import Options
from .roof import Roof
from .row import BEFORE, Request, Row, Versus

BENCH = Path(__file__).resolve().parents[1]
LONGEST_DUEL_S = 1800


def run(chosen: Options) -> int:
    """The whole benchmark. 0 is good, 1 says that results differ or a file cannot be written, 2 is a wrong name."""
    unknown = [name for name in chosen.networks if name not in NETWORKS]
    if unknown:
        print(f"bench: no network named `{unknown[0]}` in the zoo", file=sys.stderr)
        return 2
    try:
        return measure_all(chosen)
    except OSError as error:
        print(f"bench: {error.filename or 'a file'}: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("bench: interrupted", file=sys.stderr)
        return 130


def measure_all(chosen: Options) -> int:
    """Prints the table, the means and, if asked for, the JSON file."""
    why_not = compiling.ready(chosen.relay)
    chosen = replace(chosen, peers=installed(chosen.peers))
    limits, no_roof = (None, why_not) if why_not else roof.measure(chosen.relay)
    if no_roof:
        print(f"bench: no shares of the roof: {no_roof}", file=sys.stderr)
    rows: list[Row] = []
    options.home().mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="artifacts-", dir=options.home()))
    if limits:
        print(table.roof_line(limits), flush=True)
    print(table.header(chosen.columns()), flush=True)
    try:
        for name in chosen.networks:
            for threads in chosen.threads:
                rows.append(measure(chosen, name, threads, folder, why_not))
                hold_against(limits, rows[-1])
                print(table.line(rows[-1], chosen.columns()), flush=True)
    finally:
        clear(folder, chosen.keep)
    finish(chosen, rows, limits)
    return 1 if any(row.status == "results differ" for row in rows) else 0


def installed(names: tuple[str, ...]) -> tuple[str, ...]:
    """The peers that can be asked; why others cannot is said."""
    missing = {name: why for name in names if (why := peers.why_missing(name))}
    for name, why in missing.items():
        print(f"bench: no peer {name}: {why}", file=sys.stderr)
    return tuple(name for name in names if name not in missing)


def hold_against(limits: Roof | None, row: Row) -> None:
    """Adds what share of the roof our time is."""
    if limits and row.relay_ms and (row.flops or row.bytes):
        row.roof_share, row.roof_limit = limits.share(row.flops, row.bytes, row.relay_ms, row.threads)


def measure(chosen: Options, name: str, threads: int, folder: Path, why_not: str) -> Row:
    """One row: ours and the peers, or the peers alone with the reason."""
    model = models.onnx_file(name)
    artifact = folder / f"{name}-t{threads}" / "model.so"
    artifact.parent.mkdir()
    made = compiling.Compiled(None, None, why_not)
    if not why_not:
        made = compiling.compile_model(chosen.relay, model, artifact, threads, models.fixed_shapes(name))
    before = compiling.Compiled(None, None)
    if chosen.before:
        earlier = artifact.with_name("before.so")
        before = compiling.compile_model(chosen.before, model, earlier, threads, models.fixed_shapes(name))
    request = Request(
        network=name,
        threads=threads,
        model=str(model),
        artifact=str(made.artifact) if made.artifact else None,
        before=str(before.artifact) if before.artifact else None,
        peers=list(chosen.peers),
        runs=chosen.runs,
        rounds=chosen.rounds,
        seconds=chosen.seconds,
        answer=str(folder / "answer.json"),
    )
    row = ask(request, folder)
    if made.artifact and not row.best_peer():  # ours took the process down: the peers have their numbers all the same
        row = replace(ask(replace(request, artifact=None), folder), status=row.status)
    row.compile_s, row.before_compile_s = made.seconds, before.seconds
    if before.reason:
        row.versus[BEFORE] = Versus(status=before.reason)
    row.status = made.reason or row.status
    if not chosen.keep:
        shutil.rmtree(artifact.parent)
    return row


def ask(request: Request, folder: Path) -> Row:
    """Lets a process of its own answer the request."""
    question, answer = folder / "request.json", Path(request.answer)
    question.write_text(json.dumps(asdict(request)))
    answer.unlink(missing_ok=True)
    command = [sys.executable, "-m", "harness.duel", str(question)]
    try:
        ended = subprocess.run(
            command, cwd=BENCH, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=LONGEST_DUEL_S
        )
    except subprocess.TimeoutExpired:
        return Row(request.network, request.threads, status=f"run: not finished after {LONGEST_DUEL_S} s")
    if ended.returncode == 0 and answer.is_file():
        return Row(**json.loads(answer.read_text()))
    return Row(request.network, request.threads, status=how_it_ended(ended))


def how_it_ended(ended: subprocess.CompletedProcess[str]) -> str:
    """Why there is no answer, in one line."""
    if ended.returncode < 0:
        return f"run: killed by {signal.Signals(-ended.returncode).name}"
    return f"run: {environment.last_line(ended.stderr)}"


def finish(chosen: Options, rows: list[Row], limits: Roof | None) -> None:
    """The means below the table, why a peer has no number, and the file with every number."""
    for threads in chosen.threads:
        print(table.summary(rows, threads, chosen.columns()), flush=True)
    for note in table.notes(rows):
        print(note, file=sys.stderr)
    disturbed = table.disturbed(rows)
    if disturbed:
        print(f"bench: others used our cores in {disturbed} of {len(rows)} rows: repeat these", file=sys.stderr)
    if chosen.json:
        chosen.json.write_text(json.dumps(everything(chosen, rows, limits), indent=1) + "\n")


def everything(chosen: Options, rows: list[Row], limits: Roof | None) -> dict[str, object]:
    """All that was measured and what it was measured with."""
    means = {}
    for threads in chosen.threads:
        mine = [row for row in rows if row.threads == threads]
        columns = {name: table.counted(mine, name) for name in (*chosen.columns(), table.BEST)}
        means[str(threads)] = {
            name: {"ratio": table.geometric_mean(ratios), "networks": len(ratios)} for name, ratios in columns.items()
        }
    versions = {name: peers.version(name) for name in chosen.peers}
    return {
        "machine": {"processor": processor(), "cores": options.cores(), "system": platform.system()},
        "roof": asdict(limits) if limits else None,
        "versions": {**versions, "numpy": numpy.__version__, "python": platform.python_version()},
        "options": {"runs": chosen.runs, "rounds": chosen.rounds, "seconds": chosen.seconds},
        "geometric_mean": means,
        "rows": [{key: finite(value) for key, value in asdict(row).items()} for row in rows],
    }


def finite(value: object) -> object:
    """JSON has no infinity: an error without bound is null there."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def processor() -> str:
    """The processor's name as the system gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()


def clear(folder: Path, keep: bool) -> None:
    """Removes what was compiled, or says where it is."""
    if keep:
        print(f"bench: the compiled models are in {folder}", file=sys.stderr)
        return
    shutil.rmtree(folder, ignore_errors=True)
