"""The command line of tests/replay/run. Standard library only: it is read before the virtual environment exists."""

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Options:
    """What to print and where to, or two folders to compare."""

    folder: Path  # that is written; or the newer one of a comparison
    before: Path | None  # of a comparison: the older one
    relay: Path
    programs: tuple[str, ...]  # parts of their names; all if there are none
    jobs: int


def parse() -> Options:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        prog="tests/replay/run",
        description="Prints kernels, plans and generated sources of the networks of bench/, of examples/models and of "
        "the tests of whole programs, for each target; and says where two such folders differ.",
    )
    parser.add_argument("folder", type=Path, help="where the texts go: a new folder, or one that was written before")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="only those whose name contains this (all)")
    parser.add_argument("--since", metavar="FOLDER", type=Path, help="print nothing: compare with this older folder")
    binary = ROOT / "bazel-bin" / "tools" / "relay"
    parser.add_argument("--relay", metavar="PATH", type=Path, default=binary, help="the binary (that of this checkout)")
    parser.add_argument("--jobs", metavar="N", type=int, default=os.cpu_count(), help="processes at a time (all cores)")
    given = parser.parse_args()
    if given.since is not None and given.programs:
        parser.error("--since compares whole folders: name no programs")
    if given.since is None and not given.relay.is_file():
        parser.error(f"there is no {given.relay}: ./dev replay builds it")
    return Options(
        folder=given.folder.absolute(),
        before=given.since.absolute() if given.since is not None else None,
        relay=given.relay.absolute(),
        programs=tuple(given.programs),
        jobs=max(1, given.jobs),
    )
