"""Makes the deployed artifact of a model with the `relay` command, as a user does."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from .environment import last_line

LONGEST_COMPILE_S = 900
LONGEST_BUILD_S = 3600


@dataclass(frozen=True)
class Compiled:
    """An artifact and the seconds it took, or the reason why there is none."""

    artifact: Path | None
    seconds: float | None
    reason: str = ""


def ready(relay: Path) -> str:
    """Runs the command once, untimed, because it may build itself first. Gives the reason if it does not work."""
    return attempt("build", [str(relay), "--help"], LONGEST_BUILD_S)


def cannot_begin(only: tuple[str, ...], names: list[str], relay: Path) -> int:
    """Says what is in the way and gives the exit code for it: 2 for a name that there is not, 1 without the command."""
    unknown = [name for name in only if name not in names]
    if unknown:
        print(f"bench: no program named `{unknown[0]}`; there are {', '.join(names)}", file=sys.stderr)
        return 2
    why_not = ready(relay)
    if why_not:
        print(f"bench: {why_not}", file=sys.stderr)
        return 1
    return 0


def compile_model(
    relay: Path, model: Path, artifact: Path, threads: int, shapes: list[str], function: str = "main"
) -> Compiled:
    """Compiles one model for a number of threads and for inputs of the given shapes, where its own are dynamic."""
    command = [str(relay), "compile", str(model), "-o", str(artifact), "--threads", str(threads), "--function", function]
    command += [word for shape in shapes for word in ("--input-shapes", shape)]
    begin = time.perf_counter()
    reason = attempt("compile", command, LONGEST_COMPILE_S)
    seconds = time.perf_counter() - begin
    if not reason and not artifact.is_file():
        reason = "compile: ended well but wrote no file"
    return Compiled(None, None, reason) if reason else Compiled(artifact, seconds)


def attempt(what: str, command: list[str], limit: int) -> str:
    """Runs a command; gives an empty string if it ended well and else why not, in one line."""
    # What is timed does all of its work: nothing is found that was compiled before.
    environment = {**os.environ, "RELAY_CACHE": "off"}
    try:
        ended = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit,
            env=environment,
        )
    except OSError as error:
        return f"{what}: {command[0]}: {error.strerror}"
    except subprocess.TimeoutExpired:
        return f"{what}: not finished after {limit} s"
    if ended.returncode == 0:
        return ""
    return f"{what}: {telling_line(ended.stderr or ended.stdout)} (exit {ended.returncode})"


def telling_line(text: str) -> str:
    """The first line that is an error, or else the last line."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    errors = [line for line in lines if "error" in line]
    return errors[0] if errors else last_line(text)
