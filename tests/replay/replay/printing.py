"""Prints the texts of programs into a folder, several at a time."""

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from . import programs
from .options import Options
from .programs import Model, Program
from .texts import Text, texts

LONGEST_S = 900  # that one text may take
INTERNAL_ERROR = 6  # an exit code of `relay`
OPTIMISED = "optimised.relay"  # what the passes of a program make of it
FAILED = -1  # in the place of an exit code: a signal, or no end


@dataclass
class Tally:
    """What was printed."""

    texts: int = 0
    refused: int = 0
    failed: int = 0


def print_all(options: Options, chosen: list[Program]) -> Tally:
    """Prints all texts of the programs, and says how far it is."""
    total = Tally()
    for number, program in enumerate(chosen, 1):
        print(f"replay: {number} of {len(chosen)}: {program.path}", file=sys.stderr)
        with tempfile.TemporaryDirectory(prefix="replay-") as scratch:
            print_program(options, program, Path(scratch), total)
    return total


def print_program(options: Options, program: Program, scratch: Path, total: Tally) -> None:
    """Prints one program's texts. `relay` runs where the model is, so that no text has the path of a machine."""
    model = programs.write(program, scratch)
    if model.passes and not optimise(options.relay, model, scratch / OPTIMISED):
        total.failed += 1
        return
    if model.passes:
        model = Model(scratch / OPTIMISED)
    folder = options.folder / program.path
    folder.mkdir(parents=True)
    with ThreadPoolExecutor(options.jobs) as pool:
        for code in pool.map(lambda text: print_text(options.relay, model, text, folder), texts(program, model)):
            total.texts += 1
            total.refused += code != 0
            total.failed += code in (INTERNAL_ERROR, FAILED)


def optimise(relay: Path, model: Model, written: Path) -> bool:
    """Runs the passes that the model asks for, and says what goes wrong."""
    command = [str(relay), "-q", "opt", str(model.path), "-o", str(written), "--passes", model.passes]
    command += [word for shape in model.shapes for word in ("--input-shapes", shape)]
    environment = {**os.environ, "RELAY_CACHE": "off"}
    try:
        ended = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment, timeout=LONGEST_S
        )
    except subprocess.TimeoutExpired:
        print(f"replay: {' '.join(command)} did not end within {LONGEST_S} s", file=sys.stderr)
        return False
    if ended.returncode != 0:
        print(f"replay: {' '.join(command)} ended with {ended.returncode}\n{ended.stderr}", file=sys.stderr)
    return ended.returncode == 0


def print_text(relay: Path, model: Model, text: Text, folder: Path) -> int:
    """Prints one text. What `relay` refuses has its message and its exit code as text: that should stay, too."""
    command = [str(relay), "-q", text.verb, model.path.name, *text.arguments]
    command += [word for shape in model.shapes for word in ("--input-shapes", shape)]
    path = folder / text.name
    try:
        with path.open("wb") as out:
            ended = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.PIPE,
                cwd=model.path.parent,
                env={**os.environ, "RELAY_CACHE": "off"},
                timeout=LONGEST_S,
            )
    except subprocess.TimeoutExpired:
        path.write_text(f"not printed within {LONGEST_S} s\n", encoding="utf-8")
        return FAILED
    if ended.returncode == 0:
        return 0
    with path.open("ab") as out:
        out.write(b"exit code %d\n" % ended.returncode + ended.stderr)
    if ended.returncode < 0 or ended.returncode == INTERNAL_ERROR:
        print(f"replay: {text.name} ended with {ended.returncode}: {' '.join(command)}", file=sys.stderr)
    return max(ended.returncode, FAILED)
